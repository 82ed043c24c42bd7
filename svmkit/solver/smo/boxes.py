"""The input and the results of an engine that solves box problems itself, where the rows of X are stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from svmkit.kernels.gram import Gram
from svmkit.problems.base import Problem
from svmkit.problems.certificate import Certificate


class Box(NamedTuple):
    """A problem on some rows of X: C-SVC with the hinge and a free bias, or the problem of `pose`.

    The hinge is min 1/2 beta'Q beta - 1'beta, 0 <= beta <= C, y'beta = 0.

    Attributes
    ----------
    rows : ndarray of int64, shape (m,)
        The rows of X, ascending.
    y : ndarray of float64, shape (m,)
        Labels, -1.0 and 1.0, both present, or the targets of `pose`.
    C : ndarray of float64, shape (m,)
        The weight of the loss of each row, finite and > 0.
    pose : callable, optional
        Returns the problem that is solved instead of C-SVC for the Gram of the rows: any with piecewise losses whose
        point has a weight for each row.
    """

    rows: np.ndarray
    y: np.ndarray
    C: np.ndarray
    pose: Callable[[Gram], Problem] | None = None


class BoxAnswer(NamedTuple):
    """The solution of a `Box`.

    Attributes
    ----------
    beta : ndarray of float64, shape (m,)
        The point.
    certificate : Certificate
        Its certificate, with the best bias.
    n_iter : int
        Iterations.
    decision : ndarray of float64, shape (n,), or None
        The decision values of all rows of X without the bias, if requested.
    problem : Problem or None
        The problem that `pose` returned.
    """

    beta: np.ndarray
    certificate: Certificate
    n_iter: int
    decision: np.ndarray | None = None
    problem: Problem | None = None


class SolvesBoxes(Protocol):
    """Code of an engine that solves many box problems at once and certifies them in float64."""

    def __call__(
        self, boxes: Sequence[Box], gap: float, memory: int | None, decisions: bool, flag: Callable[[], bool]
    ) -> list[BoxAnswer]:
        """Solve the problems; an answer whose gap is not proven means that the engine cannot solve the problem.

        Parameters
        ----------
        boxes : sequence of Box
            The problems.
        gap : float
            The requested relative gap.
        memory : int or None
            Bytes that may be used on the device of the engine; None leaves it to the engine.
        decisions : bool
            Whether the decision values of all rows are returned, for problems with the hinge.
        flag : callable
            Returns whether to end at once: a signal has come, or the time is over.
        """
        ...
