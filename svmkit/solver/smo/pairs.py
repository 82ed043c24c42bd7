"""What compiled code that solves many class pairs in one call is given, and what it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from svmkit.kernels.loops.complete_rows import FromDense, FromMatrix
    from svmkit.problems.sums import Bounds

LINES = 1024  # of history that one call may write


class Pairs(NamedTuple):
    """Class pairs of one training of more than two classes, all of whose kernel rows fit in memory.

    Attributes
    ----------
    source : FromMatrix or FromDense
        The kernel values of all samples, sorted by class.
    where : ndarray of int64, shape (n_pairs, 4)
        `a`, `n_a`, `b` and `n_b` of `FromMatrix`, of each class pair; its first class is +1.
    C, diag : ndarray of float64, shape (m,)
        The cost and k(x, x) of each sample.
    order : ndarray of int64, shape (m,)
        The rows of the data.
    gap : float
        The relative gap at which a class pair ends.
    most : float
        The number of iterations after which a class pair ends.
    """

    source: FromMatrix | FromDense
    where: np.ndarray
    C: np.ndarray
    diag: np.ndarray
    order: np.ndarray
    gap: float
    most: float


class Answers(NamedTuple):
    """The results of class pairs, each of them certified from scratch.

    Attributes
    ----------
    first : ndarray of int64, shape (n_pairs,)
        Where the n values of a class pair begin in the arrays of shape (total,).
    beta, gradient : ndarray of float64, shape (total,)
        The points, and the gradients there.
    rows, coef : ndarray of int64 and of float64, shape (total,)
        The rows of the data that are support vectors, and their coefficients; `size` of them for each class pair.
    size : ndarray of int64, shape (n_pairs,)
        The number of support vectors.
    bias : ndarray of float64, shape (n_pairs,)
        The best bias.
    values : ndarray of float64, shape (n_pairs, 5)
        `svmkit.problems.sums.Values`.
    counts : ndarray of int64, shape (n_pairs, 2)
        Iterations and kernel values.
    """

    first: np.ndarray
    beta: np.ndarray
    gradient: np.ndarray
    rows: np.ndarray
    coef: np.ndarray
    size: np.ndarray
    bias: np.ndarray
    values: np.ndarray
    counts: np.ndarray

    @classmethod
    def empty(cls, sizes: np.ndarray) -> Answers:
        """Return room for the answers of class pairs with `sizes` (n_pairs,) samples."""
        n, total = len(sizes), int(sizes.sum())
        beta, gradient, coef = np.empty(total), np.empty(total), np.empty(total)
        rows, size = np.empty(total, dtype=np.int64), np.zeros(n, dtype=np.int64)
        values, counts = np.empty((n, 5)), np.zeros((n, 2), dtype=np.int64)
        return cls(np.cumsum(sizes) - sizes, beta, gradient, rows, coef, size, np.empty(n), values, counts)


class Room(NamedTuple):
    """The memory of one thread.

    Attributes
    ----------
    rows : ndarray of float64, shape (n * n,)
        Kernel rows of the largest class pair.
    slot_of, done : ndarray of int64, shape (n,) and (2,)
        As for `svmkit.kernels.loops.complete_rows.Slab`.
    vectors : ndarray of float64, shape (7, n)
        For vectors of a class pair.
    support : ndarray of int64, shape (n,)
        For the support vectors of a class pair.
    side : ndarray of uint8, shape (n,)
        As in `svmkit.solver.smo.box.Box`.
    under_way : ndarray of float64, shape (5,)
        The state of a class pair that the last call has left: whether there is one, and what the code needs to go on.
    trail : ndarray of float64, shape (LINES, 5)
        Iterates for the history: iterations, objective, gap, number of support vectors, kernel values.
    pair_of : ndarray of int64, shape (LINES,)
        The class pair of each line of the trail. The last line of each class pair is its answer.
    """

    rows: np.ndarray
    slot_of: np.ndarray
    done: np.ndarray
    vectors: np.ndarray
    support: np.ndarray
    side: np.ndarray
    under_way: np.ndarray
    trail: np.ndarray
    pair_of: np.ndarray

    @classmethod
    def make(cls, n: int, rows: np.ndarray, done: np.ndarray) -> Room:
        """Return the memory for class pairs of at most n samples, with the memory for their kernel rows."""
        slots, side, trail = np.arange(n), np.empty(n, dtype=np.uint8), np.empty((LINES, 5))
        owners = np.empty(LINES, dtype=np.int64)
        return cls(rows, slots, done, np.empty((7, n)), np.empty_like(slots), side, np.zeros(5), trail, owners)


class SolvesPairs(Protocol):
    """Compiled code that solves class pairs with the hinge loss (BoxQP) and certifies its answers."""

    def __call__(
        self, pairs: Pairs, bounds: Bounds, answers: Answers, room: Room, at: int, budget: float, hurry: bool
    ) -> tuple[int, int]:
        """Solve class pairs from number `at` on until the budget is spent, and release the GIL meanwhile.

        Parameters
        ----------
        pairs : Pairs
            The class pairs.
        bounds : Bounds
            What the rounding errors of certificates depend on.
        answers : Answers
            Where results go.
        room : Room
            Memory, and the state of the class pair that is under way.
        at : int
            The class pair to begin or to continue with.
        budget : float
            Kernel values and entries of vectors that may be computed and read, roughly, before the call ends.
        hurry : bool
            Whether the class pair that is under way ends where it is, and no other one begins.

        Returns
        -------
        at : int
            The class pair with which to continue.
        lines : int
            Number of lines of `room.trail` that were written.
        """
        ...
