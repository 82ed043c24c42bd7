"""A problem whose kernel matrix does not fit on the device: rounds of a working set whose square does.

As for `fcsmo`: the gradient of all points follows from the weights that changed, in float32, and the certificate from
scratch in float64. The set may be smaller than the number of support vectors: it is drawn anew for each round.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from svmkit.solver.smo.boxes import Box
from svmkit_torch.ondevice.answer import Answer, Profile
from svmkit_torch.ondevice.batch import Batch, Squares
from svmkit_torch.ondevice.certify import certify
from svmkit_torch.ondevice.minimise import minimise
from svmkit_torch.ondevice.products import Products, diagonal
from svmkit_torch.values import DeviceRows

SQUARE = 0.75  # part of the memory for the square of the working set
FIRST, PART = 4096, 64  # points of the first working set: one of so many if these are more
INNER = 0.1  # gap of the set at which all points are looked at again, as a part of its own or of that of all points
NEAR = 0.7  # estimated gap, as a part of what is asked for, at which the certificate is computed
TINY = 1e-100  # a violation that counts as one
VIOLATING = 0.75  # part of the set for points that violate their condition, where others are free
ROUNDS = 1000


def solve_by_rounds(
    rows: DeviceRows, problem: Box, gap: float, memory: int, late: Callable[[], bool], profile: Profile, decisions: bool
) -> Any:
    """Solve one problem by a working set; arguments as for `svmkit_torch.ondevice.many.solve_many`.

    Parameters
    ----------
    rows, problem, gap, memory, profile, decisions
        As for `solve_many`.
    late : callable
        Says whether to end.
    """
    return _Rounds(rows, problem, gap, memory, profile).run(late, decisions)


class _Rounds:
    """The state of a solve: `batch` holds all points (1, m), without a source."""

    def __init__(self, rows: DeviceRows, problem: Box, gap: float, memory: int, profile: Profile) -> None:
        self.rows, self.gap, self.profile = rows, gap, profile
        device, m = rows.device, len(problem.rows)
        self.idx = torch.as_tensor(problem.rows, device=device)
        self.all = m == rows.n
        y, upper = (torch.as_tensor(values, device=device)[None] for values in (problem.y, problem.C))
        zero = torch.zeros_like(y)
        sizes = torch.tensor([m], dtype=torch.int32, device=device)
        diag = diagonal(rows, self.idx)[None]
        source: Any = None
        self.batch = Batch(source, y, upper, zero, -y, diag, zero[:, :1].clone(), sizes)
        self.products = Products(rows)
        self.stored = max(256, min(math.isqrt(int(SQUARE * memory) // 4), m))
        self.generator = torch.Generator(device).manual_seed(0)
        self.set = torch.empty(0, dtype=torch.int64, device=device)
        self.taken = np.zeros(2, dtype=np.int64)

    def run(self, late: Callable[[], bool], decisions: bool) -> Answer:
        batch, certificate, near = self.batch, None, NEAR * self.gap
        for _ in range(ROUNDS):
            with self.profile.timing("gaps"):
                gap = float(batch.gaps()[0])
            relative = gap / max(abs(float(batch.values()[0])), 1e-300)
            self.profile.rounds.append((relative, len(self.set)))
            over = late()
            if relative <= near or over:
                with self.profile.timing("certificate"):
                    [certificate], [values] = certify(self.products, batch, self.idx[None], decisions)
                self.profile.count("certificates", 1)
                proven = certificate.gap is not None and certificate.gap <= self.gap
                if proven or over or certificate.flaw or certificate.is_exhausted:
                    break
                near *= 0.5
                continue
            self._round(gap, late)
            self.profile.count("rounds", 1)
        if certificate is None:
            [certificate], [values] = certify(self.products, batch, self.idx[None], decisions)
        steps, spectral = self.taken.tolist()
        return Answer(batch.beta[0].cpu().numpy(), certificate, steps, spectral, values)

    def _round(self, gap: float, late: Callable[[], bool]) -> None:
        """Choose a working set, solve for it, and bring v of all points up to date."""
        with self.profile.timing("selection"):
            self.set = self._choose()
        at, batch = self.set, self.batch
        with self.profile.timing("square"):
            square = self.rows.block(self.idx[at], self.idx[at], torch.float32, rough=True)
            square.diagonal().copy_(batch.diag[0, at])
        beta, y = batch.beta[:, at], batch.y[:, at]
        sizes = torch.tensor([len(at)], dtype=torch.int32, device=at.device)
        parts = batch.upper[:, at], beta.clone(), batch.v[:, at], batch.diag[:, at]
        inner = Batch(Squares(square[None]), y, *parts, (y * beta).sum(1, keepdim=True), sizes)
        goal = INNER * torch.minimum(inner.gaps(), torch.full_like(inner.gaps(), gap))
        self.taken += minimise(inner, goal, late, self.profile)[0].cpu().numpy()
        solution = inner.beta[0]
        del inner, square  # before the products need room
        change = solution - beta[0]
        moved = change.nonzero()[:, 0]
        batch.beta[0, at] = solution
        self.profile.count("changed", len(moved))
        with self.profile.timing("gradient"):
            weights, to = (change * y[0])[moved], None if self.all else self.idx
            batch.v[0] += self.products.product(self.idx[at[moved]], weights, to, torch.float32)

    def _choose(self) -> torch.Tensor:
        """Return the points of the next working set: of those that violate their condition, and of the free ones.

        Violating points are drawn with probabilities that grow with the violation. Those that violate most are of one
        kind, such as wrong labels: rounds that take them alone disturb all others, and need twice as many.
        """
        batch = self.batch
        y, upper, beta, v = batch.y[0], batch.upper[0], batch.beta[0], batch.v[0]
        below, above = beta < upper, beta > 0.0
        up, low = torch.where(y > 0.0, below, above), torch.where(y > 0.0, above, below)
        level = self._level(v, up, low)
        free = below & above
        sides = (up & (v < level), level - v), (low & (v > level), v - level)
        luck = (1.0 - torch.rand(len(v), generator=self.generator, dtype=v.dtype, device=v.device)).log()
        counts = [int(side.sum()) for side, _ in sides]
        first = min(self.stored, max(FIRST, len(v) // PART))
        most = min(self.stored, max(first, 2 * int(above.sum()), len(self.set)))
        # weight moves between the two sides, so that a side gets more points only if the other has too few
        room = int(VIOLATING * most) if int(free.sum()) else most
        n = max(min(counts[0], room // 2), min(counts[0], room - counts[1]))
        chosen = []
        taken = torch.zeros_like(free)
        for (side, depth), count in zip(sides, (n, min(counts[1], room - n)), strict=True):
            if count:
                drawn = luck / depth.clamp(TINY, 1.0)
                chosen.append(torch.where(side, drawn, -torch.inf).topk(count, sorted=False).indices)
                taken[chosen[-1]] = True
        rest = free & ~taken
        kept = min(int(rest.sum()), most - sum(map(len, chosen)))
        if kept:
            chosen.append(torch.where(rest, luck, -torch.inf).topk(kept, sorted=False).indices)
        return torch.cat(chosen).sort().values

    def _level(self, v: torch.Tensor, up: torch.Tensor, low: torch.Tensor) -> torch.Tensor:
        """Return the level that makes the gap smallest, within the range of v that violates its conditions."""
        batch = self.batch
        order = v.argsort()
        passed = batch.upper[0][order].cumsum(0)
        wanted = batch.balance[0] + torch.where(batch.y[0] < 0.0, batch.upper[0], 0.0).sum()
        k = torch.searchsorted(passed, wanted).clamp_(max=len(v) - 1)
        least, largest = torch.where(up, v, torch.inf).min(), torch.where(low, v, -torch.inf).max()
        level = v[order[k[0]]]
        inside = (level > least) & (level < largest)
        return torch.where(inside, level, 0.5 * (least + largest))
