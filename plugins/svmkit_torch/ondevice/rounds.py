"""A problem whose kernel matrix does not fit on the device: rounds of a working set whose square does.

As for `fcsmo`: the gradient of all points follows from the weights that changed, in float32, and the certificate from
scratch in float64. The set is as large as the memory allows, for a device computes its square in no time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from svmkit.solver.smo.boxes import Box
from svmkit_torch.ondevice.answer import Answer, Profile
from svmkit_torch.ondevice.batch import Batch, Source, Squares
from svmkit_torch.ondevice.certify import certify
from svmkit_torch.ondevice.minimise import minimise
from svmkit_torch.ondevice.products import Computed, Products, diagonal
from svmkit_torch.values import DeviceRows

SQUARE = 0.5  # part of the memory for the square of the working set
FIRST, PART = 4096, 64  # points of the first working set: one of so many if these are more
STORED, COMPUTED = 1 << 17, 1 << 19  # points of a set whose kernel values are stored, and computed for each product
A_VALUE, A_FLOP, SHORT = 2e-12, 3e-14, 0.2  # seconds of a typical card: a kernel value, an operation, and any solve
INNER = 0.1  # gap of the set at which all points are looked at again, as a part of its own or of that of all points
NEAR = 0.7  # estimated gap, as a part of what is asked for, at which the certificate is computed
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
        self.stored = max(256, min(STORED, math.isqrt(int(SQUARE * memory) // 4), m))
        self.most = max(self.stored, min(COMPUTED, m)) if self.products.fused else self.stored
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
            source = self._source(at)
        beta, y = batch.beta[:, at], batch.y[:, at]
        sizes = torch.tensor([len(at)], dtype=torch.int32, device=at.device)
        parts = batch.upper[:, at], beta.clone(), batch.v[:, at], batch.diag[:, at]
        inner = Batch(source, y, *parts, (y * beta).sum(1, keepdim=True), sizes)
        goal = INNER * torch.minimum(inner.gaps(), torch.full_like(inner.gaps(), gap))
        # no more for the set than the gradient of all points takes: what is left of its gap is small beside theirs
        a_value = A_VALUE if self.products.fused else max(A_VALUE, 2.0 * self.rows.d * A_FLOP)
        most = max(SHORT, a_value * len(self.idx) * len(at))
        self.taken += minimise(inner, goal, late, self.profile, most)[0].cpu().numpy()
        del source
        change = (inner.beta - beta)[0]
        moved = change.nonzero()[:, 0]
        batch.beta[0, at] = inner.beta[0]
        self.profile.count("changed", len(moved))
        with self.profile.timing("gradient"):
            weights, to = (change * y[0])[moved], None if self.all else self.idx
            batch.v[0] += self.products.product(self.idx[at[moved]], weights, to, torch.float32)

    def _source(self, at: torch.Tensor) -> Source:
        """Return the kernel values of some points with one another."""
        where = self.idx[at]
        if len(at) > self.stored:
            return Computed(self.products, where)
        square = self.rows.block(where, where, torch.float32, rough=True)
        square.diagonal().copy_(self.batch.diag[0, at])
        return Squares(square[None])

    def _choose(self) -> torch.Tensor:
        """Return the points of the next working set: the free ones, and those that violate their condition most."""
        batch = self.batch
        y, upper, beta, v = batch.y[0], batch.upper[0], batch.beta[0], batch.v[0]
        below, above = beta < upper, beta > 0.0
        up, low = torch.where(y > 0.0, below, above), torch.where(y > 0.0, above, below)
        level = self._level(v, up, low)
        free = below & above
        sides = (up & (v < level), level - v), (low & (v > level), v - level)
        if not len(self.set):  # at first all violate their conditions alike
            drawn = torch.rand(len(v), generator=torch.Generator().manual_seed(0), dtype=v.dtype).to(v.device)
            sides = (sides[0][0], drawn), (sides[1][0], drawn)
        counts = [int(side.sum()) for side, _ in sides]
        first = min(self.stored, max(FIRST, len(v) // PART))
        most = min(self.most, max(first, 2 * int(above.sum()), len(self.set)))
        # weight moves between the two sides, so that a side gets more points only if the other has too few
        room = int(VIOLATING * most) if int(free.sum()) else most
        n = max(min(counts[0], room // 2), min(counts[0], room - counts[1]))
        chosen = []
        taken = torch.zeros_like(free)
        for (side, depth), count in zip(sides, (n, min(counts[1], room - n)), strict=True):
            if count:
                chosen.append(torch.where(side, depth, -torch.inf).topk(count, sorted=False).indices)
                taken[chosen[-1]] = True
        rest = free & ~taken
        kept = min(int(rest.sum()), most - sum(map(len, chosen)))
        if kept:
            chosen.append(torch.where(rest, (v - level).abs(), -1.0).topk(kept, sorted=False).indices)
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
