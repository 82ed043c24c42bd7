"""State of a fully corrective solve: all points at the last look, and the working set that is solved for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from svmkit import pairwise
from svmkit.box import BoxQP
from svmkit.pairwise import Box
from svmkit.problem import Certificate, SimplexQP
from svmkit_corrective.square import Square

WORK = 300_000_000  # kernel values that one step may take: a fraction of a second
CHUNK = 20_000_000  # values that the inner iterations of one step may go over, nearly
BETWEEN = 64  # inner iterations between two looks at the gap of the set


class Face(NamedTuple):
    """A problem as the driver takes it: min 1/2 x'Qx + origin'x, 0 <= x <= upper, sign'x constant.

    sign, upper, origin (m,); signs, bias : as for `Square`; worth : objective of the problem in units of this one
    """

    sign: np.ndarray
    upper: np.ndarray
    origin: np.ndarray
    signs: np.ndarray | None
    bias: float
    worth: float


class WorkingSet:
    """The iterate `box.beta`, and v = sign x gradient of all points where `synced` says; `square` holds the set.

    level : v of the points between the bounds, nearly: those above or below it violate the conditions
    value : the problem's objective; goal : gap within the set at which it counts as solved
    """

    def __init__(self, problem: BoxQP | SimplexQP, face: Face, point: np.ndarray, rng: np.random.Generator) -> None:
        self.problem, self.face, self.rng = problem, face, rng
        m = problem.m
        self.box = Box(
            face.sign, face.upper, problem.ridge, problem.diag, point, face.sign * face.origin, np.empty(m, np.uint8)
        )
        self.square = Square(problem.gram, face.signs, face.bias)
        self.inner: Box | None = None  # the working set, while it is solved for
        self.slot_of = np.full(m, -1, dtype=np.int64)
        self.joined = np.empty(0, dtype=np.int64)  # round in which the point of a slot came
        self.round = 0
        self.level = self.goal = self.value = 0.0
        self.i = self.k = -1
        self.changed, self.change = np.flatnonzero(point), point[point != 0.0]
        self.fresh = True

    @property
    def point(self) -> np.ndarray:
        """Weights of all m points, an array of its own."""
        point = self.box.beta.copy()
        if self.inner is not None:
            point[self.square.idx] = self.inner.beta
        return point

    @property
    def n_support(self) -> int:
        """Weights that are not 0."""
        count = int(np.count_nonzero(self.box.beta))
        if self.inner is not None:
            count += np.count_nonzero(self.inner.beta) - np.count_nonzero(self.box.beta[self.square.idx])
        return count

    @property
    def synced(self) -> bool:
        """Whether v belongs to the iterate."""
        return self.inner is None and not len(self.changed)

    def sync(self) -> None:
        """Take some of the weights that have changed into v of all points."""
        n = max(1, WORK // self.problem.m)
        now, self.changed = self.changed[:n], self.changed[n:]
        weights, self.change = self.change[:n], self.change[n:]
        self.box.v[:] += self.face.sign * self.problem.image(weights, now, dtype=self.problem.gram.dtype)

    def take(self, certificate: Certificate) -> None:
        """Go on from the certificate's exact gradient; in float64 from now on where float32 holds us up."""
        assert certificate.gradient is not None
        exact = self.face.sign * certificate.gradient
        drift = np.abs(self.box.v - exact).max()
        self.box.v[:] = exact
        if drift > 0.1 * self.violation() and self.problem.gram.promote():
            self.square = Square(self.problem.gram, self.face.signs, self.face.bias)
            self.slot_of[:], self.joined = -1, np.empty(0, dtype=np.int64)

    def violation(self) -> float:
        """How far the maximal violating pair of all points is from optimal."""
        pairwise.take_sides(self.box)
        i, k = pairwise.extremes(self.box.v, self.box.side)
        return max(float(self.box.v[k] - self.box.v[i]), 0.0) if min(i, k) >= 0 else 0.0

    def depths(self) -> np.ndarray:
        """How far each point is from fulfilling its condition at `level` (m,): > 0 for those that violate it."""
        box, off = self.box, self.box.v - self.level
        below = np.where(box.side & pairwise.UP, -off, -np.inf)
        return np.maximum(below, np.where(box.side & pairwise.LOW, off, -np.inf))

    def grow(self, first: int, growth: float) -> None:
        """Let those points join that violate most; slots of points that need them least are taken where it is full."""
        self.round += 1
        if not len(self.square.idx):
            self._seed(first)
            return
        depths = self.depths()
        outside = np.flatnonzero((depths > 0.0) & (self.slot_of < 0))
        n = len(self.square.idx)
        free = self.square.most - n
        wanted = min(max(first, int(growth * n)), len(outside), max(free, self.square.most // 2))
        if wanted <= 0:
            return
        joining = outside[np.argpartition(-depths[outside], wanted - 1)[:wanted]]
        slots = np.arange(n, n + min(free, wanted))
        if wanted > free:
            at = self.square.idx
            # first those that stay at a bound, the surest first, then the ones between by age
            sure = np.maximum(-depths[at], 0.0) * (self.box.side[at] != (pairwise.UP | pairwise.LOW))
            slots = np.append(slots, np.lexsort((self.joined, -sure))[: wanted - free])
        self._join(np.sort(joining), slots)

    def _seed(self, first: int) -> None:
        """The first set: the largest weights, and points of both signs by chance."""
        y, weights, most = self.problem.y, self.box.beta, self.square.most
        support = np.argsort(-weights, kind="stable")[: min(np.count_nonzero(weights), most)]
        chosen = [support]
        room = min(most - len(support), first)
        sides = [np.setdiff1d(np.flatnonzero(y == sign), support) for sign in (1.0, -1.0)]
        sides.sort(key=len)
        for rest, side in ((2, sides[0]), (1, sides[1])):
            some = self.rng.permutation(side)[: room // rest]
            chosen.append(some)
            room -= len(some)
        points = np.sort(np.concatenate(chosen))
        self._join(points, np.arange(len(points)))

    def _join(self, points: np.ndarray, slots: np.ndarray) -> None:
        left = self.square.idx[slots[slots < len(self.square.idx)]]
        self.slot_of[left] = -1
        self.square.put(points, slots)
        self.slot_of[points] = slots
        self.joined = np.append(self.joined, np.empty(len(self.square.idx) - len(self.joined), dtype=np.int64))
        self.joined[slots] = self.round

    def enter(self) -> None:
        """Begin to solve for the working set."""
        idx = self.square.idx
        self.inner = inner = Box(*(values[idx] for values in self.box))
        self.rows = self.square.rows
        self.i, self.k = pairwise.extremes(inner.v, inner.side)

    def advance(self) -> tuple[int, float, bool]:
        """Some pairwise steps in the working set: (how many, change of the objective, whether none leads on)."""
        assert self.inner is not None
        done, self.i, self.k, fell, _ = pairwise.pairs(self.inner, self.rows, self.i, self.k, True, BETWEEN, 0.0)
        return done, fell * self.face.worth, done < BETWEEN

    @property
    def middle(self) -> float:
        """v of the points of the working set between the bounds, nearly."""
        assert self.inner is not None
        return 0.5 * float(self.inner.v[self.i] + self.inner.v[self.k]) if min(self.i, self.k) >= 0 else self.level

    def leave(self) -> None:
        """Take the working set's weights over; v of all points is behind until it is synced."""
        assert self.inner is not None
        idx, inner = self.square.idx, self.inner
        change = inner.beta - self.box.beta[idx]
        moved = np.flatnonzero(change)
        self.changed, self.change = idx[moved], change[moved]
        self.box.beta[idx] = inner.beta
        self.inner = None
