"""What an engine that solves box problems itself, where it keeps the rows of X, is given, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from svmkit.problems.certificate import Certificate


class Box(NamedTuple):
    """min 1/2 beta'Q beta - 1'beta, 0 <= beta <= C, y'beta = 0 on some rows of X: C-SVC with the hinge and a free bias.

    Attributes
    ----------
    rows : ndarray of int64, shape (m,)
        Which rows of X, ascending.
    y : ndarray of float64, shape (m,)
        Labels, -1.0 and 1.0; both must occur.
    C : ndarray of float64, shape (m,)
        The weight of the loss of each row, finite and > 0.
    """

    rows: np.ndarray
    y: np.ndarray
    C: np.ndarray


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
        The decision values of all rows of X without the bias, if they were asked for.
    """

    beta: np.ndarray
    certificate: Certificate
    n_iter: int
    decision: np.ndarray | None = None


class SolvesBoxes(Protocol):
    """Code of an engine that solves many box problems at once and certifies them in float64."""

    def __call__(
        self, boxes: Sequence[Box], gap: float, memory: int | None, decisions: bool, flag: Callable[[], bool]
    ) -> list[BoxAnswer]:
        """Solve the problems; an answer whose gap is not proven is one that the engine cannot give.

        Parameters
        ----------
        boxes : sequence of Box
            The problems.
        gap : float
            The relative gap that is asked for.
        memory : int or None
            Bytes that may be taken where the engine computes; None leaves it to the engine.
        decisions : bool
            Whether the decision values of all rows are wanted.
        flag : callable
            Says whether to end at once.
        """
        ...
