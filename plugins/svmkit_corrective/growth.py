"""The working set of a fully corrective solve: its kernel matrix, and which points join and leave it."""

from __future__ import annotations

import numpy as np

from svmkit.kernels.gram import Gram
from svmkit.solver import smo_steps
from svmkit.solver.smo_steps import Box
from svmkit_corrective.square import Square

CLEAR = 0.1  # part of the largest violation outside: points that are safe by more than it leave the set
PARTNERS = 64  # points at each bound that always stay in the set, so that weight can come from them or go to them


class WorkingSet:
    """The working set with its matrix and the policy of its growth.

    Parameters
    ----------
    gram : Gram
        Kernel rows of the problem; its memory budget holds for the matrix of the set.
    signs : ndarray of shape (m,) or None
        Signs of the matrix, see `Square`.
    bias : float
        Constant that is added to each kernel value, see `Square`.

    Attributes
    ----------
    square : Square
        The matrix of the set; `square.idx` are its points, by slot.
    slot_of : ndarray of shape (m,)
        Slot of each point, -1 outside the set.
    joined : ndarray of shape (n,)
        Round in which the point of each slot joined.
    round : int
        Number of rounds so far.
    """

    def __init__(self, gram: Gram, signs: np.ndarray | None, bias: float) -> None:
        self.square = Square(gram, signs, bias)
        self.slot_of = np.full(gram.m, -1, dtype=np.int64)
        self.joined = np.empty(0, dtype=np.int64)
        self.round = 0

    @property
    def idx(self) -> np.ndarray:
        """The points of the set (n,), by slot."""
        return self.square.idx

    def seed(self, y: np.ndarray, weights: np.ndarray, first: int, rng: np.random.Generator) -> None:
        """Begin with the points of largest weight, and up to `first` others of both classes, drawn at random."""
        self.round += 1
        most = self.square.most
        support = np.argsort(-weights, kind="stable")[: min(np.count_nonzero(weights), most)]
        chosen = [support]
        room = min(most - len(support), first)
        sides = [np.setdiff1d(np.flatnonzero(y == sign), support) for sign in (1.0, -1.0)]
        sides.sort(key=len)
        for rest, side in ((2, sides[0]), (1, sides[1])):
            some = rng.permutation(side)[: room // rest]
            chosen.append(some)
            room -= len(some)
        self._join(np.sort(np.concatenate(chosen)))

    def refine(self) -> None:
        """Go over to a more precise matrix; where it has room for fewer points, those that joined last stay."""
        finer = self.square.refined()
        if finer is not None:
            idx, joined = self.idx[-finer.most :], self.joined[-finer.most :]
            self.square, self.joined = finer, joined
            self.slot_of[:] = -1
            self.slot_of[idx] = np.arange(len(idx))
            finer.append(idx)

    def grow(self, box: Box, level: float, wanted: int) -> bool:
        """Let points that violate their condition join, and points that are safe leave.

        Parameters
        ----------
        box : Box
            All points of the problem, at an iterate to which `box.v` belongs.
        level : float
            v of the points between the bounds: a point violates its condition when it is on the wrong side of it.
        wanted : int
            Number of points that join at most.

        Returns
        -------
        bool
            Whether any point outside violates its condition; the set changes only then.
        """
        self.round += 1
        depths = violations(box, level)
        outside = np.flatnonzero((depths > 0.0) & (self.slot_of < 0))
        if not len(outside):
            return False
        self._drop(box.side, -depths[self.idx], CLEAR * float(depths[outside].max()), len(outside))
        wanted = min(wanted, len(outside), self.square.most - len(self.idx))
        self._join(np.sort(_worst(depths, outside, box.v[outside] > level, wanted)))
        return True

    def _drop(self, side: np.ndarray, safety: np.ndarray, clear: float, wanted: int) -> None:
        """Leave out the points at a bound whose `safety` exceeds `clear`, and more points where room is short.

        safety : how far each point of the set is from violating its condition
        """
        side, n, most = side[self.idx], len(safety), self.square.most
        safety = np.where(side == (smo_steps.UP | smo_steps.LOW), 0.0, safety)
        must = min(n - (most - most // 2), wanted - (most - n))  # half of the room at most changes hands
        leaving = safety > clear
        for bound in (smo_steps.UP, smo_steps.LOW):
            at_bound = np.flatnonzero(side == bound)
            leaving[at_bound[np.argsort(safety[at_bound])[:PARTNERS]]] = False
        if leaving.sum() < must:  # points between the bounds leave by age
            leaving[np.lexsort((self.joined, -safety))[:must]] = True
        staying = np.flatnonzero(~leaving)
        if len(staying) < n:
            self.slot_of[self.idx] = -1
            self.square.keep(staying)
            self.slot_of[self.idx] = np.arange(len(staying))
            self.joined = self.joined[staying]

    def _join(self, points: np.ndarray) -> None:
        n = len(self.idx)
        self.square.append(points)
        self.slot_of[points] = np.arange(n, n + len(points))
        self.joined = np.append(self.joined, np.full(len(points), self.round))


def violations(box: Box, level: float) -> np.ndarray:
    """Return by how much each point violates its condition at `level` (m,); a negative value is its safety."""
    off = box.v - level
    below = np.where(box.side & smo_steps.UP, -off, -np.inf)
    return np.maximum(below, np.where(box.side & smo_steps.LOW, off, -np.inf))


def _worst(depths: np.ndarray, outside: np.ndarray, above: np.ndarray, wanted: int) -> np.ndarray:
    """Return the largest violations, as many above the level as below it while there are, since weight moves across."""
    n = max(min(int(above.sum()), wanted // 2), wanted - int((~above).sum()))
    chosen = []
    for side, count in ((outside[above], n), (outside[~above], wanted - n)):
        worst = np.argpartition(-depths[side], count - 1)[:count] if count else np.empty(0, dtype=np.int64)
        chosen.append(side[worst])
    return np.concatenate(chosen)
