"""How a solve ended, and what it found."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from svmkit.problems.base import Certificate
from svmkit.solver.history import History


class Status(StrEnum):
    """How a solve ended. Every one of them returns a certified model."""

    CONVERGED = "converged"
    MAX_ITER = "max_iter"
    TIME_LIMIT = "time_limit"
    MAX_SUPPORT = "max_support"
    INTERRUPTED = "interrupted"
    STALLED = "stalled"


@dataclass
class Solution:
    """A point, how it was found and how good it is.

    point : the problem's variable (alpha, shape (m,), for SimplexQP); seconds : time in the loop, evaluation
    excluded; n_support : non-zero weights of the point; details : `Solver.details` at the end.
    """

    point: np.ndarray
    status: Status
    n_iter: int
    seconds: float
    certificate: Certificate
    history: History = field(repr=False)
    details: dict[str, float] = field(default_factory=dict)

    @property
    def n_support(self) -> int:
        return int(np.count_nonzero(self.point))
