"""Which solver trains which class pair, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from svmkit.solver.base import Solver
from svmkit.solver.task import Task


@dataclass(frozen=True)
class Choice:
    """The class pairs that one solver trains.

    There are `n_pairs` of them, the largest of `n_samples` samples; `why` is the reason in words, and `what` says what
    these problems are.
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


def choices(solver: Solver, tasks: list[Task], has_class_pairs: bool = True) -> list[Choice]:
    """Return what a solver that chooses has chosen, most class pairs first; nothing for any other solver."""
    what = "class pairs" if has_class_pairs else "classes against the rest"
    sizes: dict[tuple[str, str], list[int]] = {}
    for task in tasks:
        if why := solver.reason_for(task):
            sizes.setdefault((solver.solver_for(task).name, why), []).append(task.m)
    chosen = [Choice(name, why, len(ms), max(ms), what) for (name, why), ms in sizes.items()]
    return sorted(chosen, key=lambda choice: -choice.n_pairs)
