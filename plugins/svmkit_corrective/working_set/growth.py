"""The working set of a fully corrective solve: its kernel matrix, and which points join and leave it."""

from __future__ import annotations

import numpy as np

from svmkit.kernels.gram import Gram
from svmkit.solver.smo.box import LOW, OVER, UNDER, UP, Box, L1Part
from svmkit_corrective.working_set.sparse import SparseSquare
from svmkit_corrective.working_set.square import Square

CLEAR = 0.1  # points whose safety exceeds this share of the largest violation outside leave the set
PARTNERS = 64  # points at each bound that always stay in the set, so that weight can be exchanged with them
BOUNDS = UP, LOW  # sides of points at a bound
AT_CORNERS = UP | UNDER, LOW | OVER, UP | LOW  # with kinks; the last one is the corner at 0


class WorkingSet:
    """The working set with its matrix and the policy of its growth.

    A point violates its optimality condition if its v is on the wrong side of the level; its distance from doing so is
    its safety. The memory budget of the Gram limits the matrix, whose entries are those of `Square`.
    """

    def __init__(self, gram: Gram, signs: np.ndarray | None, bias: float, origin: bool = False) -> None:
        plain = signs is None and bias == 0.0 and not origin
        sparse = SparseSquare.fitting(gram) if plain else None
        # sparse rows if nearly all kernel values are negligible
        self.square: Square | SparseSquare = sparse or Square(gram, signs, bias, origin=origin)
        self.slot_of = np.full(gram.m, -1, dtype=np.int64)  # slot of each point, -1 outside the set
        self.joined = np.empty(0, dtype=np.int64)  # round in which the point of each slot joined
        self.round = 0

    @property
    def idx(self) -> np.ndarray:
        """The points of the set (n,), by slot."""
        return self.square.idx

    def seed(self, y: np.ndarray, weights: np.ndarray, first: int, rng: np.random.Generator) -> None:
        """Fill the empty set with the points of largest weight and with points drawn at random.

        Parameters
        ----------
        y, weights : ndarray of shape (m,)
            Labels, -1.0 or +1.0, and weights of the start, of either sign.
        first, rng : int, numpy.random.Generator
            How many points without weight it draws at most, half of them from each class if there are enough.
        """
        self.round += 1
        most = self.square.at_once
        support = np.argsort(-np.abs(weights), kind="stable")[: min(np.count_nonzero(weights), most)]
        chosen = [support]
        room = min(most - len(support), first)
        free = np.ones(len(y), dtype=np.bool_)
        free[support] = False
        # the smaller class first: the other one gets the rest
        sides = sorted((np.flatnonzero((y == sign) & free) for sign in (1.0, -1.0)), key=len)
        for n_classes, side in zip((2, 1), sides, strict=True):
            drawn = rng.permutation(side)[: room // n_classes]
            chosen.append(drawn)
            room -= len(drawn)
        self._join(np.sort(np.concatenate(chosen)))

    def refine(self) -> None:
        """Switch to a more precise matrix, if there is one; if it holds fewer points, the most recent ones stay."""
        finer = self.square.make_finer()
        if finer is not None:
            idx, joined = self.idx[-finer.most :], self.joined[-finer.most :]
            self.square, self.joined = finer, joined
            self.slot_of[:] = -1
            self.slot_of[idx] = np.arange(len(idx))
            finer.append(idx)

    def grow(self, box: Box, level: float, wanted: int, kinks: float | L1Part | None = None) -> bool:
        """Add points that violate their condition, and remove points that are safe.

        Return whether any point outside violates its condition; the set changes only then.

        Parameters
        ----------
        box, level, wanted, kinks : Box, float, int, float or L1Part or None
            All points at an iterate to which `box.v` belongs, an estimate of v at the points between their bounds, the
            maximum number of points that join, and the kinks as in `StandardForm`.
        """
        self.round += 1
        depths = violations(box, level, kinks)
        outside = np.flatnonzero((depths > 0.0) & (self.slot_of < 0))
        if not len(outside):
            return False
        clear = CLEAR * float(depths[outside].max())
        self._drop(box.side[self.idx], -depths[self.idx], clear, len(outside), kinks is not None)
        wanted = min(wanted, len(outside), self.square.most - len(self.idx), self.square.at_once)
        self._join(np.sort(_worst(depths, outside, box.v[outside] > level, wanted)))
        return True

    def _drop(self, side: np.ndarray, safety: np.ndarray, clear: float, wanted: int, with_corner: bool) -> None:
        """Leave out the points at a bound whose safety exceeds `clear`, and more if `wanted` other points need room.

        `side` and `safety` are for the points of the set. A corner at 0 is a bound, too.
        """
        square = self.square
        if not isinstance(square, Square):  # sparse rows are so short that all of them stay
            return
        bounds, n, most = AT_CORNERS if with_corner else BOUNDS, len(safety), square.most
        safety = np.where(np.isin(side, bounds), safety, 0.0)
        must = min(n - (most - most // 2), wanted - (most - n))  # at most half of the room is given to other points
        leaving = safety > clear
        for bound in bounds:
            at_bound = np.flatnonzero(side == bound)
            leaving[at_bound[np.argsort(safety[at_bound])[:PARTNERS]]] = False
        if leaving.sum() < must:  # points between the bounds leave by age
            leaving[np.lexsort((self.joined, -safety))[:must]] = True
        staying = np.flatnonzero(~leaving)
        if len(staying) < n:
            self.slot_of[self.idx] = -1
            square.keep(staying)
            self.slot_of[self.idx] = np.arange(len(staying))
            self.joined = self.joined[staying]

    def _join(self, points: np.ndarray) -> None:
        """Append these points, which must not be in the set, in the next slots."""
        n = len(self.idx)
        self.square.append(points)
        joined = self.idx[n:]
        self.slot_of[joined] = np.arange(n, len(self.idx))
        self.joined = np.append(self.joined, np.full(len(joined), self.round))


def violations(box: Box, level: float, kinks: float | L1Part | None = None) -> np.ndarray:
    """Return the violation of the optimality condition of each point (m,); a negative value is its safety."""
    off = box.v - level
    rise = fall = off
    if kinks is not None:
        width = kinks.width if isinstance(kinks, L1Part) else kinks
        rise, fall = off + np.where(box.beta < 0.0, -width, width), off + np.where(box.beta > 0.0, width, -width)
    below = np.where(box.side & UP, -rise, -np.inf)
    return np.maximum(below, np.where(box.side & LOW, fall, -np.inf))


def _worst(depths: np.ndarray, outside: np.ndarray, above: np.ndarray, wanted: int) -> np.ndarray:
    """Return `wanted` of the points `outside` with the largest violations, in equal numbers above and below the level.

    Weight moves between the two sides of the level, so a side gets more points only if the other has too few.
    """
    n = max(min(int(above.sum()), wanted // 2), wanted - int((~above).sum()))
    chosen = []
    for side, count in ((outside[above], n), (outside[~above], wanted - n)):
        worst = np.argpartition(-depths[side], count - 1)[:count] if count else np.empty(0, dtype=np.int64)
        chosen.append(side[worst])
    return np.concatenate(chosen)
