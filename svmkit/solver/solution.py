"""The result of a solve: the status, the point and its certificate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

import numpy as np

from svmkit.problems.certificate import Certificate
from svmkit.solver.history import History


class Status(StrEnum):
    """The reason for which a solve ended. The solution is certified for every status but one.

    Attributes
    ----------
    CONVERGED : str
        The certificate confirms the requested gap, or another rule of convergence holds.
    MAX_ITER : str
        The budget of iterations or epochs is spent.
    TIME_LIMIT : str
        The budget of time is spent.
    MAX_SUPPORT : str
        The limit of support vectors is reached, and no better choice of vectors was found.
    INTERRUPTED : str
        A signal or a callback ended the solve.
    STALLED : str
        No step makes progress any more, or rounding errors allow none, while the gap is larger than requested.
    NOT_CERTIFIED : str
        The solver's estimates hold, but no lower bound on the optimum exists: `Certificate.flaw` says why.

    Examples
    --------
    >>> from svmkit import Status
    >>> Status("time_limit") is Status.TIME_LIMIT
    True
    """

    CONVERGED = "converged"
    MAX_ITER = "max_iter"
    TIME_LIMIT = "time_limit"
    MAX_SUPPORT = "max_support"
    INTERRUPTED = "interrupted"
    STALLED = "stalled"
    NOT_CERTIFIED = "not_certified"


@dataclass
class Solution:
    """The point that a solve returns, with its certificate and its history.

    Attributes
    ----------
    point : ndarray of float64
        The problem's variable, such as alpha of shape (m,) for SimplexQP.
    status : Status
        How the solve ended.
    n_iter : int
        Iterations, as the method counts them.
    seconds : float
        Time in the loop, evaluation excluded.
    certificate : Certificate
        Primal and dual value and gap at the point, computed from scratch on all samples.
    history : History
        The points of the history.
    details : dict of str to float
        The result of `Solver.details` at the end.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit import minimize_simplex
    >>> solution = minimize_simplex(np.diag([1.0, 2.0]))
    >>> str(solution.status), solution.n_support
    ('converged', 2)
    """

    point: np.ndarray
    status: Status
    n_iter: int
    seconds: float
    certificate: Certificate
    history: History = field(repr=False)
    details: dict[str, float] = field(default_factory=dict)

    @classmethod
    def defer_history(
        cls,
        make_history: Callable[[], History],
        point: np.ndarray,
        status: Status,
        n_iter: int,
        seconds: float,
        certificate: Certificate,
    ) -> Self:
        """Return a solution whose history is made on first access: most histories of small problems are never read.

        Parameters
        ----------
        make_history : callable
            make_history() returns the history.
        point, status, n_iter, seconds, certificate : ndarray, Status, int, float, Certificate
            The attributes.

        Returns
        -------
        Solution
            The solution, with these attributes.
        """
        made = cls(point, status, n_iter, seconds, certificate, History())
        vars(made)["_make_history"] = make_history
        del made.history
        return made

    def __getattr__(self, name: str) -> Any:  # called if there is no such attribute
        own = vars(self)
        if name == "history" and (make := own.get("_make_history")) is not None:
            self.history = make()
            own.pop("_make_history", None)
        if name not in own:  # it is there if another thread has made it in the meantime
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return own[name]

    @property
    def n_support(self) -> int:
        """Number of non-zero weights of the point; if samples have several weights, of samples with a non-zero one."""
        return int(np.count_nonzero(self.point if self.point.ndim == 1 else self.point.any(axis=1)))
