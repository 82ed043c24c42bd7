"""Solves of a problem whose kernel matrix does not fit on the device: rounds of a working set whose square does.

As in `fcsmo`, the gradient of all points follows from the changed weights, in float32, and the certificate is computed
from scratch in float64. The set may be smaller than the number of support vectors: it is drawn anew for each round.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch

from svmkit_torch.ondevice.answer import Answer, Profile
from svmkit_torch.ondevice.batch import Squares
from svmkit_torch.ondevice.forms import BIAS
from svmkit_torch.ondevice.minimise import Worth, minimise
from svmkit_torch.ondevice.posed import Posed, batch_of, certify_all
from svmkit_torch.ondevice.products import Products
from svmkit_torch.ondevice.working_set import draw
from svmkit_torch.values import DeviceRows

SQUARE = 0.75  # share of the memory for the square of the working set
FIRST, PART = 4096, 64  # points of the first working set: this number, or one in so many if that is more
INNER = 0.1  # gap of the set at which all points are examined again, relative to its own gap or to that of all points
NEAR = 0.7  # estimated gap, relative to the requested one, at which the certificate is computed
ROUNDS = 1000


def solve_by_rounds(
    rows: DeviceRows,
    problem: Posed,
    gap: float,
    memory: int,
    late: Callable[[], bool],
    profile: Profile,
    decisions: bool,
) -> Answer:
    """Solve one problem by a working set; arguments as for `svmkit_torch.ondevice.many.solve_many`.

    Parameters
    ----------
    rows, problem, gap, memory, profile, decisions : DeviceRows, Posed, float, int, Profile, bool
        As for `solve_many`.
    late : callable
        Returns whether to end.
    """
    if len(problem.rows) > 1:  # two constraints, which working sets do not support: nothing is proven
        return problem.first_answer()
    return _Rounds(rows, problem, gap, memory, profile).run(late, decisions)


class _Rounds:
    """The state of a solve: `batch` holds all points (1, m), without a source."""

    def __init__(self, rows: DeviceRows, problem: Posed, gap: float, memory: int, profile: Profile) -> None:
        self.rows, self.problem, self.gap, self.profile = rows, problem, gap, profile
        device = rows.device
        at = torch.as_tensor(problem.rows.ravel(), device=device)
        self.real = at != BIAS
        self.idx = torch.where(self.real, at, 0)
        # the distinct rows of X, and the place of each point among them; None if the points are the rows, in their
        # order
        self.distinct, self.back = self.idx.unique(return_inverse=True)
        self.all = len(self.distinct) == rows.n
        if len(self.distinct) == len(at) and bool(self.real.all()):
            self.back = None
        diag = rows.diagonal(self.idx) * self.real
        self.batch = batch_of([problem], diag[None])
        self.products = Products(rows)
        self.stored = max(256, min(math.isqrt(int(SQUARE * memory) // 4), len(at)))
        self.generator = torch.Generator(device).manual_seed(0)
        self.set = torch.empty(0, dtype=torch.int64, device=device)
        self.taken, self.worth = np.zeros(2, dtype=np.int64), Worth()
        begun = self.batch.beta[0].nonzero()[:, 0]
        if len(begun):
            self._move(begun, self.batch.beta[0, begun])

    def _move(self, moved: torch.Tensor, change: torch.Tensor) -> None:
        """Add the effect of changed weights of some points (n,) through the kernel values to v."""
        real, signed = self.real[moved], change * self.batch.y[0, moved]
        at, to = self.idx[moved[real]], None if self.all else self.distinct
        product = self.products.product(at, signed[real], to, torch.float32)
        self.batch.v[0] += product if self.back is None else torch.where(self.real, product[self.back], 0.0)

    def run(self, late: Callable[[], bool], decisions: bool) -> Answer:
        batch, answer, near = self.batch, None, NEAR * self.gap
        for _ in range(ROUNDS):
            with self.profile.timing("gaps"):
                gap = float(batch.gaps()[0])
            relative = gap / max(abs(float(batch.values()[0])), 1e-300)
            self.profile.rounds.append((relative, len(self.set)))
            over = late()
            if relative <= near or over:
                answer = self._certify(decisions)
                certificate = answer.certificate
                proven = certificate.gap is not None and certificate.gap <= self.gap
                if proven or over or certificate.flaw or certificate.is_exhausted:
                    break
                near *= 0.5
                continue
            self._round(gap, late)
            self.profile.count("rounds", 1)
        return self._certify(decisions) if answer is None else answer

    def _certify(self, decisions: bool) -> Answer:
        """Return the result at the iterate, and take v from its certificate."""
        with self.profile.timing("certificate"):
            found = certify_all([self.problem], self.products, self.batch, self.idx[None], decisions)
        self.profile.count("certificates", 1)
        [[point], [certificate], [values]] = found
        steps, spectral = self.taken.tolist()
        return Answer(point, certificate, steps, spectral, values, self.problem.problem)

    def _round(self, gap: float, late: Callable[[], bool]) -> None:
        """Choose a working set, solve for it, and update v of all points."""
        with self.profile.timing("selection"):
            self.set = self._choose()
        at, batch = self.set, self.batch
        with self.profile.timing("square"):
            square = self.rows.block(self.idx[at], self.idx[at], torch.float32, rough=True)
            beyond = (~self.real[at]).nonzero()[:, 0]
            square[beyond], square[:, beyond] = 0.0, 0.0
            square.diagonal().copy_(batch.diag[0, at])
        inner = batch.among(at, Squares(square[None]))
        goal = INNER * torch.minimum(inner.gaps(), torch.full_like(inner.gaps(), gap))
        self.taken += minimise(inner, goal, late, self.profile, self.worth)[0].cpu().numpy()
        solution = inner.beta[0]
        del inner, square  # before the products need room
        with self.profile.timing("gradient"):
            change = batch.put(at, solution)
            moved = change.nonzero()[:, 0]
            self._move(at[moved], change[moved])
        self.profile.count("changed", len(moved))

    def _choose(self) -> torch.Tensor:
        """Return the points of the next working set."""
        n = len(self.idx)
        first = min(self.stored, max(FIRST, n // PART))
        most = min(self.stored, max(first, 2 * int((self.batch.beta > 0.0).sum()), len(self.set)))
        return draw(self.batch, most, self.generator)[0]
