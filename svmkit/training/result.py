"""The result of training: the model and how it was found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmkit.model.model import SVMModel
from svmkit.solver.solution import Solution, Status

_FROM_BEST_TO_WORST = [
    Status.CONVERGED,
    Status.MAX_SUPPORT,
    Status.STALLED,
    Status.NOT_CERTIFIED,
    Status.MAX_ITER,
    Status.TIME_LIMIT,
    Status.INTERRUPTED,
]


@dataclass(frozen=True)
class Fit:
    """A trained model and how it was found.

    Attributes
    ----------
    model : SVMModel
        The model.
    solutions : list of Solution
        The solution of each class pair, in the order of the model's intercepts.
    support : ndarray of shape (n_support,), int
        The rows of X that are support vectors, in the order of the model's vectors.
    seconds : float
        The time of training, checks of the data and the model included, measurements on held-out rows excluded.
    kernel_values : int
        The number of kernel values that were computed.
    """

    model: SVMModel
    solutions: list[Solution]
    support: np.ndarray
    seconds: float
    kernel_values: int

    @property
    def status(self) -> Status:
        """The worst status of any class pair."""
        return max((s.status for s in self.solutions), key=_FROM_BEST_TO_WORST.index)

    @property
    def n_iter(self) -> int:
        """The iterations of all class pairs."""
        return sum(s.n_iter for s in self.solutions)

    @property
    def objective(self) -> float:
        """The sum of the primal values of all class pairs."""
        return float(sum(s.certificate.primal for s in self.solutions))

    @property
    def dual_objective(self) -> float | None:
        """The sum of the dual values of all class pairs; None for a solver without a dual value."""
        duals = [s.certificate.dual for s in self.solutions]
        return None if None in duals else float(sum(duals))  # type: ignore[arg-type]

    @property
    def gap(self) -> float | None:
        """The largest relative duality gap of any class pair; None for a solver without a dual value."""
        gaps = [s.certificate.gap for s in self.solutions]
        return None if None in gaps else max(gaps)  # type: ignore[type-var]

    @property
    def rounding(self) -> float | None:
        """The largest part of a gap that bounds rounding errors (`Certificate.rounding`); None without a gap."""
        return None if self.gap is None else max(s.certificate.rounding for s in self.solutions)

    @property
    def flaw(self) -> str | None:
        """Why the result is not certified (`Certificate.flaw`), of the first class pair that has a flaw."""
        return next((s.certificate.flaw for s in self.solutions if s.certificate.flaw is not None), None)
