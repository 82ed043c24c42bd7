"""Which solver trains which class pair, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from svmkit.solver.base import Solver
from svmkit.solver.task import Task


@dataclass(frozen=True)
class Choice:
    """The class pairs that one solver trains.

    Attributes
    ----------
    solver : str
        The name of the solver.
    why : str
        The reason, in words.
    n_pairs : int
        The number of class pairs.
    n_samples : int
        The number of samples of the largest of them.
    what : str, default="class pairs"
        What these problems are, where they are no class pairs.
    """

    solver: str
    why: str
    n_pairs: int
    n_samples: int
    what: str = "class pairs"

    def __str__(self) -> str:
        if self.n_pairs == 1:
            return f"{self.solver} for {self.n_samples:,} samples ({self.why})"
        return f"{self.solver} for {self.n_pairs:,} {self.what} of up to {self.n_samples:,} samples ({self.why})"


def in_words(choices: Sequence[Choice]) -> str | None:
    """Return the choices in one line; None if there are none."""
    return ", ".join(map(str, choices)) or None


def choices(solver: Solver, tasks: list[Task], multiclass: str = "ovo") -> list[Choice]:
    """Return what a solver that chooses has chosen, most class pairs first; nothing for any other solver."""
    what = "class pairs" if multiclass == "ovo" else "classes against the rest"
    found: dict[tuple[str, str], list[int]] = {}
    for task in tasks:
        if why := solver.reason_for(task):
            found.setdefault((solver.solver_for(task).name, why), []).append(task.m)
    told = [Choice(name, why, len(sizes), max(sizes), what) for (name, why), sizes in found.items()]
    return sorted(told, key=lambda choice: -choice.n_pairs)
