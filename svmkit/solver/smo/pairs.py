"""The input and the results of compiled code that solves many class pairs in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from svmkit.kernels.loops.complete_rows import FromDense, FromMatrix
    from svmkit.problems.sums import Bounds

LINES = 1024  # of history that one call may write


class Pairs(NamedTuple):
    """Class pairs of one training of more than two classes, all of whose kernel rows fit in memory."""

    source: FromMatrix | FromDense  # the kernel values of all samples, sorted by class
    where: np.ndarray  # int64 (n_pairs, 4): `a`, `n_a`, `b`, `n_b` of `FromMatrix`; the first class of a pair is +1
    C: np.ndarray  # float64 (m,): the cost and k(x, x) of each sample
    diag: np.ndarray
    order: np.ndarray  # int64 (m,): the rows of the data
    gap: float  # the relative gap at which a class pair ends
    most: float  # number of iterations after which it ends


class Answers(NamedTuple):
    """The results of class pairs, each of them certified from scratch."""

    first: np.ndarray  # int64 (n_pairs,): where the n values of a class pair begin in the arrays (total,)
    beta: np.ndarray  # float64 (total,): the points, and the gradients there
    gradient: np.ndarray
    rows: np.ndarray  # int64 (total,): the rows of the data that are support vectors, `size` of them for each pair
    coef: np.ndarray  # float64 (total,): their coefficients
    size: np.ndarray  # int64 (n_pairs,): number of support vectors
    bias: np.ndarray  # float64 (n_pairs,): the best bias
    values: np.ndarray  # float64 (n_pairs, 5): `svmkit.problems.sums.Values`
    counts: np.ndarray  # int64 (n_pairs, 2): iterations and kernel values

    @classmethod
    def empty(cls, sizes: np.ndarray) -> Answers:
        """Return room for the results of class pairs with `sizes` (n_pairs,) samples."""
        n, total = len(sizes), int(sizes.sum())
        beta, gradient, coef = np.empty(total), np.empty(total), np.empty(total)
        rows, size = np.empty(total, dtype=np.int64), np.zeros(n, dtype=np.int64)
        values, counts = np.empty((n, 5)), np.zeros((n, 2), dtype=np.int64)
        return cls(sizes.cumsum() - sizes, beta, gradient, rows, coef, size, np.empty(n), values, counts)


class Room(NamedTuple):
    """The memory of one thread."""

    rows: np.ndarray  # float64 (n * n,): kernel rows of the largest class pair
    slot_of: np.ndarray  # int64 (n,) and (2,): as for `svmkit.kernels.loops.complete_rows.Slab`
    done: np.ndarray
    vectors: np.ndarray  # float64 (7, n), for vectors of a class pair
    support: np.ndarray  # int64 (n,), for its support vectors
    side: np.ndarray  # uint8 (n,), as in `svmkit.solver.smo.box.Box`
    under_way: np.ndarray  # float64 (5,): whether the last call has left a class pair, and the state to continue it
    trail: np.ndarray  # float64 (LINES, 5): iterations, objective, gap, number of support vectors, kernel values
    pair_of: np.ndarray  # int64 (LINES,): the pair of each line of the trail; the last line of a pair is its result

    @classmethod
    def make(cls, n: int, rows: np.ndarray, done: np.ndarray) -> Room:
        """Return the memory for class pairs.

        Parameters
        ----------
        n, rows, done : int, ndarray, ndarray
            The largest number of samples of a class pair, and the attributes.
        """
        slots, side, trail = np.arange(n), np.empty(n, dtype=np.uint8), np.empty((LINES, 5))
        owners = np.empty(LINES, dtype=np.int64)
        return cls(rows, slots, done, np.empty((7, n)), np.empty_like(slots), side, np.zeros(5), trail, owners)


class SolvesPairs(Protocol):
    """Compiled code that solves class pairs with the hinge loss (BoxQP) and certifies its answers."""

    def __call__(
        self, pairs: Pairs, bounds: Bounds, answers: Answers, room: Room, at: int, budget: float, hurry: bool
    ) -> tuple[int, int]:
        """Solve class pairs from number `at` on until the budget is spent, and release the GIL meanwhile.

        Return the class pair with which to continue, and the number of lines of `room.trail` that were written.

        Parameters
        ----------
        pairs, bounds, answers, room : Pairs, Bounds, Answers, Room
            The class pairs, the inputs of bounds on the rounding errors of certificates, the results, and the memory,
            with the state of the unfinished class pair.
        at, budget : int, float
            The class pair to begin or to continue with; kernel values and entries of vectors that may be computed and
            read, roughly, before the call ends.
        hurry : bool
            Whether the unfinished class pair ends where it is, and no other one begins.
        """
        ...
