"""The state of a solve over parts: the driver's knowledge of all rows, and SMO over its working set."""

from __future__ import annotations

import math

import numpy as np
from svmkit_corrective.corrective_state import CorrectiveState, StandardForm
from svmkit_corrective.rounds import Phase

from svmkit.problems.box import BoxQP
from svmkit.solver.sampler import Draws
from svmkit.solver.smo import box as smo_box
from svmkit.solver.smo.box import Box
from svmkit_dask.driver.candidates import CandidateGram, CandidateWorkingSet, SharedGram
from svmkit_dask.driver.problem import ScatteredQP, least_loss
from svmkit_dask.worker.answers import Message, Own, Survey

SPARE = 10_000  # rows that the candidates may keep without need
BEYOND = 0.9  # a change is followed in part once its curvature, times this, exceeds its slope


class ClusterState(CorrectiveState):
    """The iterate of a corrective solve over parts, from the weights beta of its candidates."""

    def __init__(
        self, problem: ScatteredQP | BoxQP, gram: CandidateGram | SharedGram, beta: np.ndarray, draws: Draws
    ) -> None:
        self.problem, self.gram, self.candidates, self.draws = problem, gram, gram.candidates, draws
        self.session = gram.candidates.session
        self.working: CandidateWorkingSet = CandidateWorkingSet(self.gram)
        self.box = Box(*(np.empty(0) for _ in range(7)), np.empty(0, np.uint8))  # the candidates; others have no weight
        self.inner = self.inner_l1 = None
        self.pairs = np.full((1, 2), -1)
        self.complete = self.imprecise = self.alone = False
        self.fell, self.valued, self.pause, self.paused = [0.0, 0.0], 0.0, 1, 0
        self.seen: Survey | None = None  # the sums of the last survey of all parts
        self.wanted = self._counted = 0
        self.admit(beta, np.zeros(len(beta)))
        self.changed, self.change, self.done = np.flatnonzero(beta), beta[beta != 0.0], 0

    @property
    def labels(self) -> np.ndarray:
        return self.candidates.qp.y

    def admit(self, beta: np.ndarray, v: np.ndarray) -> None:
        """Extend `box` to the candidates, whose new rows have these weights and v."""
        qp, m = self.candidates.qp, len(self.candidates)
        box = smo_box.box_of(qp, np.append(self.box.beta, beta), qp.origin)
        self.box = box._replace(v=np.append(self.box.v, v))
        smo_box.take_sides(self.box, qp.l1)
        self.form = StandardForm(qp.signs, qp.lower, qp.upper, qp.origin, None, 0.0, 1.0, kinks=qp.l1)
        self.working.widen(m)

    def count(self) -> int:
        """Return the number of kernel values that parts and driver have computed since the last call."""
        before, self._counted = self._counted, self.session.kernel_values
        return self._counted - before

    # all rows

    def _bring(self, parts: list[int], beta: np.ndarray, stamp: int) -> None:
        """Bring parts to the state with these weights of the candidates, from scratch."""
        own, change = self.candidates.weights(beta)
        self.session.ask(Message("bring", options={"stamp": stamp}), own, change, parts=parts)

    def anew(self, parts: list[int]) -> None:
        """Bring parts that have lost their rows to the weights of the last survey."""
        self._bring(parts, self.box.beta, self.session.stamp)

    def sync(self) -> None:
        """Have the parts follow the change of weights as far as the exact objective falls along it, and survey them."""
        session, slots, change = self.session, self.changed, self.change
        before = self.box.beta.copy()
        before[slots] -= change
        portion = 1.0
        if len(slots):
            asked, given = Message("propose", session.stamp), self.candidates.change(slots, change)
            replies = session.ask(asked, *given, restore=lambda parts: self._bring(parts, before, session.stamp))
            slope, curvature = (math.fsum(values) for values in zip(*replies, strict=True))
            if self.phase is not Phase.START and slope < 0.0 and BEYOND * curvature > -slope:
                portion = -slope / curvature
                self.imprecise = not self.alone  # the parts do not know each other's changes
                box, followed = self.box, before[slots] + portion * change
                box.beta[slots] = np.clip(followed, box.lower[slots], box.upper[slots])
        self.survey(slots, portion)
        self.changed, self.change, self.done = slots[:0], change[:0], 0

    def survey(self, slots: np.ndarray, portion: float = 1.0) -> None:
        """Survey all parts after they have followed the proposed change up to `portion`."""
        session, known = self.session, self.candidates
        own = [
            one._replace(inside=known.position[known.part == p])
            for p, one in enumerate(known.own(slots, self.box.beta[slots]))
        ]
        options = {"level": self.level, "wanted": self.wanted}
        after = session.stamp + (len(slots) > 0)

        def anew(parts: list[int]) -> Message:
            self._bring(parts, self.box.beta, after)
            return Message("survey", after, options=options)

        settled = Message("settle", session.stamp, options=options | {"portion": portion})
        message = settled if len(slots) else Message("survey", session.stamp, options=options)
        replies: list[Survey] = session.ask(message, own, restore=anew)
        session.stamp = after
        for p, part in zip(session.parts, replies, strict=True):
            self.box.v[known.part == p] = part.v
        low, high, values, norms = ([part[k] for part in replies] for k in range(4))
        self.seen = Survey(min(low), max(high), math.fsum(values), math.fsum(norms))
        self.joining = self._choose(replies)  # the rows of each part that join the next working set, by position

    def _choose(self, replies: list[Survey]) -> list[np.ndarray]:
        """Return the rows of each part that violate their condition most, in equal numbers on both sides of the
        level.
        """
        below = np.concatenate([part.of_below for part in replies])
        above = np.concatenate([part.of_above for part in replies])
        n_above = max(min(len(above), self.wanted // 2), self.wanted - len(below))
        chosen = []
        for depths, wanted, sides in (
            (below, self.wanted - n_above, [part.below for part in replies]),
            (above, n_above, [part.above for part in replies]),
        ):
            wanted = max(0, min(wanted, len(depths)))
            kept = np.zeros(len(depths), dtype=bool)
            kept[np.argpartition(-depths, wanted - 1)[:wanted] if wanted else []] = True
            ends = np.cumsum([len(rows) for rows in sides])[:-1]
            chosen.append([rows[mine] for rows, mine in zip(sides, np.split(kept, ends), strict=True)])
        return [np.sort(np.concatenate(both)) for both in zip(*chosen, strict=True)]

    def violation(self) -> float:
        if self.seen is None:
            self.survey(self.changed)
        return max(self.seen.high - self.seen.low, 0.0)

    def middle(self, box: Box) -> float:
        if box is self.inner:
            return super().middle(box)
        ends = [end for end in (self.seen.low, self.seen.high) if math.isfinite(end)]
        return sum(ends) / len(ends) if ends else self.level

    def total_gap(self) -> float:
        """Return P - D of all rows by the values of the rounds, at a bias that is nearly the best one."""
        session = self.session

        def sum_losses(biases: np.ndarray) -> np.ndarray:
            asked = Message("losses", session.stamp, options={"biases": biases, "mark": 0})
            return np.sum(session.ask(asked, restore=self.anew), axis=0)

        width, tol = max(self.seen.high - self.seen.low, 1e-9), max(1e-9, 0.05 * self.goal)
        _, loss = least_loss(sum_losses, -self.middle(self.box), width, tol)
        return max(0.0, 0.5 * self.seen.norm + loss + self.seen.value)

    def inner_gap(self) -> float:
        return smo_box.gap(self.inner, self.candidates.qp.is_ridged, -self.middle(self.inner), self.inner_l1)

    def objective(self) -> float:
        return self.seen.value

    def take(self, certificate) -> None:
        """Continue from exact values of v: those of the certificate, if the parts still have them."""
        session, before = self.session, self.box.v.copy()
        exact = session.ask(Message("adopt", session.stamp), restore=self.anew)
        lacking = [p for p, done in zip(session.parts, exact, strict=True) if not done]
        if lacking:
            self.anew(lacking)
        self.survey(self.changed[:0])
        drift = float(np.abs(before - self.box.v).max(initial=0.0))
        self.imprecise = drift > 0.1 * self.violation() and self.working.square.limits(drift)

    # the working set

    def parts_turn(self) -> bool:
        """Return whether it is the turn of the parts to solve for their own rows; called once a round."""
        fell, turn = self.valued - self.value, self.alone
        self.valued = self.value
        self.fell[turn] = fell
        # the working set is full while rows wait outside; rounds of blocks continue as long as the objective falls by
        # more in them than in the driver's own rounds, otherwise they are tried again after 1, 2, 4, ... rounds
        full = len(self.working.idx) >= self.working.square.most and sum(map(len, self.joining)) > 0
        if turn and self.fell[1] < self.fell[0]:
            self.pause = self.paused = 2 * self.pause
        self.paused -= not turn
        self.alone = full and (self.fell[1] >= self.fell[0] if turn else self.paused < 0)
        return self.alone

    def minimise_blocks(self, inner: float) -> int:
        """Have each part solve for its own rows; `sync` follows the sum of their changes. Return their steps."""
        session, known = self.session, self.candidates
        options = {"level": self.level, "most": self.working.square.most, "memory": self.problem.gram.budget}
        asked = Message("block", session.stamp, options=options | {"inner": inner})
        replies = session.ask(asked, restore=self.anew)
        self._admit_rows([block.positions for block in replies])
        slots = [known.slots_at(p, block.positions) for p, block in zip(session.parts, replies, strict=True)]
        self.changed, self.change = np.concatenate(slots), np.concatenate([block.values for block in replies])
        self.box.beta[self.changed] += self.change
        self.phase = Phase.SYNCING if len(self.changed) else Phase.GROWING
        return sum(block.steps for block in replies)

    def _admit_rows(self, positions: list[np.ndarray]) -> None:
        """Add rows of each part to the candidates, except those that already are."""
        known = self.candidates
        old = [known.position[known.part == p] for p in self.session.parts]
        fresh = [at[~np.isin(at, mine)] for at, mine in zip(positions, old, strict=True)]
        self.admit(*known.fetch(fresh, self.anew))

    def grow(self, first: int, growth: float) -> None:
        if not len(self.working.idx):
            self._draw(first)
        else:
            self._forget()
            self.admit(*self.candidates.fetch(self.joining, self.anew))
        super().grow(first, growth)
        self.wanted = max(first, int(growth * self.n_support))

    def _forget(self) -> None:
        """Drop candidates without weight outside the working set, once they are the majority."""
        used = (self.box.beta != 0.0) | (self.working.slot_of >= 0)
        if 2 * np.count_nonzero(used) + SPARE > len(used):
            return
        kept = np.flatnonzero(used)
        self.candidates.keep(kept)
        working = self.working  # whose rows are among the kept ones
        working.slot_of, working.square.idx = working.slot_of[kept], np.searchsorted(kept, working.square.idx)
        self.box = Box(*(values[kept] for values in self.box))
        self.admit(np.empty(0), np.empty(0))
        self.changed, self.change = self.changed[:0], self.change[:0]

    def _draw(self, first: int) -> None:
        """Add randomly drawn rows to the candidates, half of them from each class if there are enough."""
        session = self.session
        counts = session.counts[session.parts]
        sides = counts.sum(axis=0)
        plus = int(min(sides[0], max(first // 2, first - sides[1])))
        shares = [_shares(counts[:, 0], plus), _shares(counts[:, 1], min(int(sides[1]), first - plus))]
        seed = int(self.draws.rng.integers(2**31))
        own = dict(zip(session.parts, map(Own, np.column_stack(shares)), strict=True))
        self._admit_rows(session.ask(Message("draw", options={"seed": seed}), own))


def _shares(counts: np.ndarray, wanted: int) -> np.ndarray:
    """Return how many of `wanted` rows each part gives, in proportion to its rows."""
    ends = np.floor(np.cumsum(counts) * (wanted / max(1, counts.sum())) + 1e-9).astype(np.int64)
    return np.diff(ends, prepend=0)
