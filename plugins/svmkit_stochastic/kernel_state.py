"""Stochastic subgradient steps on the coefficients of the samples, for `pegasos` and `norma`, chunk by chunk."""

from __future__ import annotations

import math

import numpy as np

from svmkit.problems.risks.kernel_risk import KernelRisk
from svmkit.runtime.compiling import njit
from svmkit.solver.sampler import Draws
from svmkit_stochastic.steps import Weights, arrive, average, rate, shrink, toward
from svmkit_stochastic.stochastic import State

CHUNK = 256  # arrivals whose scores are computed together


class KernelState(State):
    """State of a solve on the coefficients (m,) of the samples, made at the times `last` (m,), at most `tau` of them
    (0: any number). With a limit the solution is the last iterate.
    """

    def __init__(
        self,
        problem: KernelRisk,
        start: np.ndarray | None,
        draws: Draws,
        *,
        average: str = "none",
        batch: int = 1,
        tau: int = 0,
    ) -> None:
        super().__init__(problem, draws, batch)
        v = np.zeros(problem.m) if start is None else start.copy()
        self.w = Weights(v, np.zeros(v.size), self.clock(start, average))
        if start is not None:
            self.w.now[0]["norm"] = float(start @ problem.decision(start))
        self.last, self.tau = np.zeros(problem.m), tau
        self.limit(tau)

    def limit(self, most: int) -> None:
        """Keep at most `most` coefficients from now on, the latest ones, and the largest of a start; 0 means no
        limit.
        """
        self.tau = min(most or self.tau, self.tau or most)
        if not self.tau:
            return
        v, idx = self.w.v, np.flatnonzero(self.w.v)
        v[idx[np.lexsort((np.abs(v[idx]), self.last[idx]))[: max(0, idx.size - self.tau)]]] = 0.0
        self.w.a[:] = 0.0
        self.w.now[0]["late"], self.w.now[0]["k"] = -1.0, 0.0

    @property
    def members(self) -> np.ndarray:
        """Samples with a coefficient, and waiting samples."""
        used = (self.w.v != 0.0) | (self.w.a != 0.0)
        used[self.waiting] = True
        return np.flatnonzero(used)

    def renew(self, problem: KernelRisk, draws: Draws) -> None:
        members = self.members
        self.waiting = np.searchsorted(members, self.waiting)
        self.bind(problem, draws)
        v, a, last = (
            np.concatenate([part[members], np.zeros(problem.m - members.size)]) for part in (*self.w[:2], self.last)
        )
        self.w, self.last = self.w._replace(v=v, a=a), last

    def walk(self, order: np.ndarray, project: bool = False) -> None:
        """Make the steps on the samples `order`, in this order; their number is a multiple of `batch`."""
        most = min(CHUNK, self.tau or CHUNK)
        step = max(most - most % self.batch, self.batch)
        for lo in range(0, order.size, step):
            self._chunk(order[lo : lo + step], project)

    def _chunk(self, chunk: np.ndarray, project: bool) -> None:
        gram, extra, v = self.problem.gram, self.problem.bias**2, self.w.v
        idx = np.flatnonzero(v)
        base = gram.matvec(v[idx], idx, chunk) + extra * v[idx].sum()
        K = gram.block(chunk, chunk) + extra
        oldest = idx[:0]
        if self.tau and idx.size + chunk.size > self.tau:  # each arrival replaces at most one of these
            oldest = idx[np.argsort(self.last[idx], kind="stable")[: chunk.size]]
        leaving = gram.block(oldest, chunk) + extra
        _walk(
            chunk, base, K, *self.problem.points, self.C, self.batch, project, self.w,
            self.last, self.tau, idx.size, oldest, leaving,
        )  # fmt: skip


@njit(cache=True)
def _walk(chunk, base, K, points, below, C, batch, project, w, last, tau, live, oldest, leaving):
    """Make the steps of one chunk of size B. base (B,) are its scores over scale, K (B, B) its kernel values, leaving
    (., B) kernel values of the oldest points.
    """
    now, v, a = w.now[0], w.v, w.a
    began, gone = now.t, 0
    h = np.empty(batch)
    for lo in range(0, chunk.size, batch):
        for j in range(batch):
            arrive(now, C[chunk[lo + j]], K[lo + j, lo + j])
            h[j] = now.scale * base[lo + j]
        r = rate(now)
        before, factor = now.scale, max(1.0 - r * batch / now.n, 0.0)
        shrink(w, factor)
        _keep(base, before * factor, now.scale)
        for j in range(batch):
            q, i = lo + j, chunk[lo + j]
            e = toward(points, below, i, h[j], r, batch * K[q, q])
            if e == 0.0:
                continue
            now.norm += e * (2.0 * now.scale * base[q] + e * K[q, q])
            e /= now.scale
            live += v[i] == 0.0
            v[i] += e
            a[i] -= now.share * e
            for p in range(lo, base.size):
                base[p] += e * K[q, p]
            last[i] = now.t
            if 0 < tau < live:
                while last[oldest[gone]] > began:  # it was set again in this chunk
                    gone += 1
                for p in range(lo, base.size):
                    base[p] -= v[oldest[gone]] * leaving[gone, p]
                v[oldest[gone]] = 0.0
                gone += 1
                live -= 1
        if project and now.norm > now.unit * now.total:
            before, factor = now.scale, math.sqrt(now.unit * now.total / now.norm)
            shrink(w, factor)
            _keep(base, before * factor, now.scale)
        average(w)


@njit(cache=True)
def _keep(base, expected, scale):
    """Rescale the scores when the scale was multiplied out or w set to 0."""
    if expected != scale:
        base[:] *= expected / scale
