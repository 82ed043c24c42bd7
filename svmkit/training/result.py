"""Fit: a trained model and how it was found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmkit.model.model import SVMModel
from svmkit.solver.solution import Solution, Status

_WORST = [
    Status.CONVERGED,
    Status.MAX_SUPPORT,
    Status.STALLED,
    Status.MAX_ITER,
    Status.TIME_LIMIT,
    Status.INTERRUPTED,
]


@dataclass(frozen=True)
class Fit:
    """A trained model and how it was found; sums and worst cases run over the binary problems.

    solutions : one for each pair of classes, in the order of the model's intercepts; support : rows of X that
    became vectors, in the model's order; seconds : training, data checks and model included, validation excluded.
    """

    model: SVMModel
    solutions: list[Solution]
    support: np.ndarray
    seconds: float
    kernel_values: int

    @property
    def status(self) -> Status:
        return max((s.status for s in self.solutions), key=_WORST.index)

    @property
    def n_iter(self) -> int:
        return sum(s.n_iter for s in self.solutions)

    @property
    def objective(self) -> float:
        """Sum of the primal values."""
        return float(sum(s.certificate.primal for s in self.solutions))

    @property
    def dual_objective(self) -> float | None:
        """Sum of the dual values; None when a solver has none."""
        duals = [s.certificate.dual for s in self.solutions]
        return None if None in duals else float(sum(duals))  # type: ignore[arg-type]

    @property
    def gap(self) -> float | None:
        """The largest relative duality gap; None when a solver has none."""
        gaps = [s.certificate.gap for s in self.solutions]
        return None if None in gaps else max(gaps)  # type: ignore[type-var]
