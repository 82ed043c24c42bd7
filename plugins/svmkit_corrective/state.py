"""State of a fully corrective solve: all points at the last look, and the working set that is solved for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from svmkit.problems.base import Certificate
from svmkit.problems.box import BoxQP
from svmkit.problems.simplex import SimplexQP
from svmkit.solver import smo_steps
from svmkit.solver.smo_steps import Box
from svmkit_corrective.square import Square

CLEAR = 0.1  # of the largest violation outside: points that are further from one than that leave the set
PARTNERS = 64  # points at each bound that always stay in the set
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
    value : the problem's objective; apart : its gap; goal : gap within the set at which that counts as solved
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
        self.round = self.n_iter = 0
        self.level = self.value = self.apart = self.goal = 0.0
        self.i = self.k = -1
        self.changed, self.change, self.done = np.flatnonzero(point), point[point != 0.0], 0
        self.ahead = np.zeros(m)  # what those of them that are done add to v
        self.all_in = self.held_up = False  # nothing outside violates; the precision of the square is in the way
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
        now = np.s_[self.done : self.done + n]
        self.ahead += self.face.sign * self.problem.image(
            self.change[now], self.changed[now], dtype=self.problem.gram.dtype
        )
        self.done = min(self.done + n, len(self.changed))
        if self.done == len(self.changed):
            self._settle()

    def _settle(self) -> None:
        """Go where the weights that have changed lead, or as far as the objective falls: `square` is not exact."""
        box, part = self.box, 1.0
        sign = self.face.sign[self.changed]
        slope = float(self.change @ (sign * box.v[self.changed]))
        curvature = float(self.change @ (sign * self.ahead[self.changed]))
        if not self.fresh and slope < 0.0 and 0.9 * curvature > -slope:
            part = -slope / curvature
            box.beta[self.changed] -= (1.0 - part) * self.change
            self.held_up = True
        box.v[:] += part * self.ahead
        self.ahead[:] = 0.0
        self.changed, self.change, self.done = self.changed[:0], self.change[:0], 0

    def take(self, certificate: Certificate) -> None:
        """Go on from the certificate's exact gradient; in float64 from now on where float32 holds us up."""
        assert certificate.gradient is not None
        exact = self.face.sign * certificate.gradient
        drift = np.abs(self.box.v - exact).max()
        self.box.v[:] = exact
        self.held_up = drift > 0.1 * self.violation()

    def refine(self) -> None:
        """Go over to a more precise matrix of the working set; where fewer points fit, those that came last stay."""
        finer = self.square.refined()
        if finer is not None:
            idx, joined = self.square.idx[-finer.most :], self.joined[-finer.most :]
            self.square, self.joined = finer, joined
            self.slot_of[:] = -1
            self.slot_of[idx] = np.arange(len(idx))
            finer.append(idx)

    def violation(self) -> float:
        """How far the maximal violating pair of all points is from optimal."""
        smo_steps.take_sides(self.box)
        i, k = smo_steps.extremes(self.box.v, self.box.side)
        return max(float(self.box.v[k] - self.box.v[i]), 0.0) if min(i, k) >= 0 else 0.0

    def depths(self) -> np.ndarray:
        """How far each point is from fulfilling its condition at `level` (m,): > 0 for those that violate it."""
        box, off = self.box, self.box.v - self.level
        below = np.where(box.side & smo_steps.UP, -off, -np.inf)
        return np.maximum(below, np.where(box.side & smo_steps.LOW, off, -np.inf))

    def grow(self, first: int, growth: float) -> None:
        """Let those points join that violate most, and those leave that need not be there."""
        self.round += 1
        if not len(self.square.idx):
            self._seed(first)
            return
        if self.held_up:
            self.refine()
            self.held_up = False
        depths = self.depths()
        outside = np.flatnonzero((depths > 0.0) & (self.slot_of < 0))
        if not len(outside):
            self.held_up = self.all_in  # the same set once more, and not solved for as asked
            self.all_in = True
            return
        self.all_in = False
        self._drop(-depths[self.square.idx], CLEAR * float(depths[outside].max()), len(outside))
        wanted = min(max(first, int(growth * self.n_support)), len(outside), self.square.most - len(self.square.idx))
        self._join(np.sort(self._worst(depths, outside, wanted)))

    def _worst(self, depths: np.ndarray, outside: np.ndarray, wanted: int) -> np.ndarray:
        """Those that violate most, as many below the level as above it while there are: weight moves across."""
        above = self.box.v[outside] > self.level
        n = max(min(int(above.sum()), wanted // 2), wanted - int((~above).sum()))
        chosen = []
        for side, count in ((outside[above], n), (outside[~above], wanted - n)):
            worst = np.argpartition(-depths[side], count - 1)[:count] if count else np.empty(0, dtype=np.int64)
            chosen.append(side[worst])
        return np.concatenate(chosen)

    def _drop(self, sure: np.ndarray, clear: float, wanted: int) -> None:
        """Leave out the points that stay at a bound by more than `clear`, and more of them where room is short.

        sure : how far each point of the set is from violating its condition
        """
        n, most = len(sure), self.square.most
        between = self.box.side[self.square.idx] == (smo_steps.UP | smo_steps.LOW)
        sure = np.where(between, 0.0, sure)
        must = min(n - (most - most // 2), wanted - (most - n))  # half of the room at most changes hands
        leaving = sure > clear
        for side in (smo_steps.UP, smo_steps.LOW):  # some that weight can come from or go to
            alone = np.flatnonzero(self.box.side[self.square.idx] == side)
            leaving[alone[np.argsort(sure[alone])[:PARTNERS]]] = False
        if leaving.sum() < must:  # the ones between by age
            leaving[np.lexsort((self.joined, -sure))[:must]] = True
        staying = np.flatnonzero(~leaving)
        if len(staying) < n:
            self.slot_of[self.square.idx] = -1
            self.square.keep(staying)
            self.slot_of[self.square.idx] = np.arange(len(staying))
            self.joined = self.joined[staying]

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
        self._join(np.sort(np.concatenate(chosen)))

    def _join(self, points: np.ndarray) -> None:
        n = len(self.square.idx)
        self.square.append(points)
        self.slot_of[points] = np.arange(n, n + len(points))
        self.joined = np.append(self.joined, np.full(len(points), self.round))

    def enter(self) -> None:
        """Begin to solve for the working set."""
        idx = self.square.idx
        self.inner = inner = Box(*(values[idx] for values in self.box))
        self.rows = self.square.rows
        self.i, self.k = smo_steps.extremes(inner.v, inner.side)

    def advance(self, most: int) -> tuple[int, float, bool]:
        """Up to `most` pairwise steps in the set: (how many, change of the objective, whether none leads on)."""
        assert self.inner is not None
        done, self.i, self.k, fell, _ = smo_steps.take_steps(self.inner, self.rows, self.i, self.k, True, most, 0.0)
        return done, fell * self.face.worth, done < most

    def middle(self, box: Box) -> float:
        """v halfway between the two of the maximal violating pair: of the points between the bounds, nearly."""
        i, k = (self.i, self.k) if box is self.inner else smo_steps.extremes(box.v, box.side)
        return 0.5 * float(box.v[i] + box.v[k]) if min(i, k) >= 0 else self.level

    def leave(self) -> None:
        """Take the working set's weights over; v of all points is behind until it is synced."""
        assert self.inner is not None
        idx, inner = self.square.idx, self.inner
        self.level = self.middle(inner)
        change = inner.beta - self.box.beta[idx]
        moved = np.flatnonzero(change)
        self.changed, self.change = idx[moved], change[moved]
        self.box.beta[idx] = inner.beta
        self.inner = None
