"""State of a Frank-Wolfe solve: an iterate, its gradient, and what the oracle chose, over the tracked points.

All points are tracked with the full sampler: g costs one kernel row an iteration. With a sampler, only the points
that were ever chosen are tracked at first, and g of a sample S is computed when it is drawn, at |S| times the
number of tracked points; once that is dearer than a row, the state goes over to all points.
"""

from __future__ import annotations

import numpy as np

from svmkit.problem import Certificate, SimplexQP
from svmkit.sampler import Draws
from svmkit.solver import StepInfo
from svmkit_frank_wolfe import loops
from svmkit_frank_wolfe.direction import Direction

LIKELY = 64  # guesses handed to Gram on a miss
NEGLIGIBLE = 1e-15  # an extrapolation leaves weights of this size where exact arithmetic leaves none


class SimplexState:
    """alpha, g = A alpha, f = alpha'g; `i` is the toward vertex, `j` the away vertex, both tracked positions.

    Row 0 of `alphas` and `gs` is the current iterate; solvers that keep more have earlier ones below it.
    """

    def __init__(self, problem: SimplexQP, start: np.ndarray | None, draws: Draws, keeps: int) -> None:
        self.problem, self.draws, self.keeps = problem, draws, keeps
        point = self._first(draws.rng) if start is None else start / start.sum()
        active = np.flatnonzero(point)
        self.idx: np.ndarray | None = active  # None: all points, in order
        self.position = np.full(problem.m, -1, dtype=np.int64)
        self._adopt(np.repeat(point[active][None, :], keeps, 0), problem.gradient(point, active))
        self.look()

    def _first(self, rng: np.random.Generator) -> np.ndarray:
        """One random point of each class with the best weights for the two (one exact pairwise step)."""
        p = self.problem
        pair = np.array([rng.choice(np.flatnonzero(p.y > 0)), rng.choice(np.flatnonzero(p.y < 0))])
        cross = -(p.gram.block(pair[:1], pair[1:])[0, 0] + p.bias)
        a, b = p.diag[pair]
        weight = np.clip((b - cross) / max(a + b - 2.0 * cross, 1e-300), 0.0, 1.0)
        point = np.zeros(p.m)
        point[pair] = weight, 1.0 - weight
        return point

    def _adopt(self, alphas: np.ndarray, g: np.ndarray) -> None:
        """Track self.idx with these weights (keeps, n); every kept iterate starts as the current one."""
        p = self.problem
        self.n = alphas.shape[1]
        room = self.n if self.idx is None else 2 * self.n + 64
        self._alphas, self._gs = np.zeros((self.keeps, room)), np.zeros((self.keeps, room))
        self._alphas[:, : self.n], self._gs[:, : self.n] = alphas, g
        if self.idx is None:
            self.y, self.diag, self.ridge = p.y, p.diag, p.ridge
        else:
            self.position[self.idx] = np.arange(self.n)
            self.y, self.diag, self.ridge = p.y[self.idx], p.diag[self.idx], p.ridge[self.idx]
        self._bind()

    def _bind(self) -> None:
        self.alphas, self.gs = self._alphas[:, : self.n], self._gs[:, : self.n]
        self.alpha, self.g = self.alphas[0], self.gs[0]

    def row(self, i: int) -> np.ndarray:
        """Kernel values of the tracked point i with all tracked points."""
        if self.idx is None:
            return self.problem.gram.row(i, self._near_vertices if i == self.i else None)
        return self.problem.gram.block(self.idx[i : i + 1], self.idx)[0]

    def _near_vertices(self) -> np.ndarray:
        """Points that the oracle may choose soon: lowest g first."""
        return _lowest(self.g, LIKELY)

    def entry(self, j: int) -> float:
        """A_ij for the toward vertex i and a tracked j."""
        if j == self.i:
            return float(self.diag[j])
        return float(self.y[self.i] * self.y[j] * (self.row_i()[j] + self.problem.bias))

    @property
    def j(self) -> int:
        """The away vertex, argmax of g over the active points; looked for when a variant asks."""
        if self._j is None:
            self._j = loops.away_vertex(self.g, self.alpha)
        return self._j

    def row_i(self) -> np.ndarray:
        """Kernel row of the toward vertex, fetched once an iteration."""
        if self._row_i is None:
            self._row_i = self.row(self.i)
        return self._row_i

    def move(self, lam: float, d: Direction) -> None:
        """alpha += lam D and g += lam A D; a step to the bound leaves a weight of exactly 0."""
        if lam == 0.0:
            return
        s, c_in, c_out = 1.0 + lam * d.s, lam * d.c_in, lam * d.c_out
        i, j = self.i, d.j if d.j >= 0 else self.i
        row_in = self.row_i() if c_in else self.row(j)
        row_out = self.row(j) if c_out else row_in
        loops.move(
            self.g, self.alpha, self.y, row_in, row_out, s, c_in * self.y[i], c_out * self.y[j], self.problem.bias
        )
        self.g[i] += c_in * self.ridge[i]
        self.g[j] += c_out * self.ridge[j]
        self.alpha[i] += c_in
        self.alpha[j] += c_out
        if lam >= d.lam_max and c_out:
            self.alpha[j] = 0.0

    def look(self, moved: bool = True) -> StepInfo:
        """Survey the new iterate and ask the oracle for the next toward vertex."""
        self._row_i: np.ndarray | None = None
        self._j: int | None = None
        self.f, active = loops.survey(self.g, self.alpha)
        sampled = not self.draws.every
        sample = self.draws()
        looked = sample.size
        if self.idx is not None and looked * self.n >= self.problem.m:
            self._track_all(self.problem.gradient(self.point()))
            self.f, active = loops.survey(self.g, self.alpha)
        self.i = int(self.g.argmin())
        best = float(self.g[self.i])
        if sampled:
            self.i = self._choose(sample)
            if self.idx is not None:
                best = float(self.g[self.i])
        slack = 2.0 * (self.f - best)
        return StepInfo(
            objective=self.f,
            n_support=active,
            epochs=looked / self.problem.m,
            gap=slack / self.f,
            gap_abs=max(slack, 0.0),
            sampled=self.idx is not None,  # with all points tracked the estimate is exact, sampler or not
            moved=moved or (sampled and slack > 0.0),
        )

    def _choose(self, sample: np.ndarray) -> int:
        """Tracked position of the best point of the sample, which joins the tracked points if it is new."""
        if self.idx is None:
            return int(sample[np.argmin(self.g[sample])])
        p = self.problem
        known = self.position[sample]
        weights = np.where(known >= 0, self.alphas[:, known], 0.0)
        support = np.flatnonzero(self.alphas.any(axis=0))
        coef = (self.alphas[:, support] * self.y[support]).T
        values = p.gram.matvec(coef, self.idx[support], sample) + p.bias * coef.sum(axis=0)
        gs = p.y[sample] * values.T + weights * p.ridge[sample]
        best = int(np.argmin(gs[0]))
        if known[best] >= 0:
            return int(known[best])
        return self._append(sample[best], gs[:, best])

    def _append(self, point: int, gs: np.ndarray) -> int:
        """Track one more point; gs (keeps,) are its gradients at the kept iterates. Returns its position."""
        assert self.idx is not None
        p, n = self.problem, self.n
        if n == self._alphas.shape[1]:
            self._alphas, self._gs = (np.pad(v, ((0, 0), (0, n))) for v in (self._alphas, self._gs))
        self._alphas[:, n], self._gs[:, n] = 0.0, gs
        self.idx, self.n = np.append(self.idx, point), n + 1
        self.position[point] = n
        self.y, self.diag, self.ridge = p.y[self.idx], p.diag[self.idx], p.ridge[self.idx]
        self._bind()
        return n

    def _track_all(self, g: np.ndarray) -> None:
        """Go over to all points with an exact g (m,); earlier iterates are forgotten. `look` has to follow."""
        point = self.point()
        self.idx = None
        self._adopt(np.repeat(point[None, :], self.keeps, 0), g)

    def point(self) -> np.ndarray:
        """alpha over all m points, summing to 1."""
        point = np.zeros(self.problem.m)
        point[slice(None) if self.idx is None else self.idx] = self.alpha
        return point / point.sum()

    def resync(self, certificate: Certificate) -> None:
        """Take over the certificate's exact g; go over to float64 rows when float32 ones are what holds us up."""
        g = certificate.gradient
        assert g is not None
        kept = self.g if self.idx is None else None
        if kept is not None and np.abs(kept - g).max() > 0.1 * (self.f - kept.min()):
            self.problem.gram.promote()
        self._track_all(g)
        self.look()

    def extrapolate(self, mu: float, beyond: int) -> None:
        """alpha += mu (alpha - kept iterate `beyond`), g with it; weights that reach 0 are exactly 0."""
        loops.extrapolate(self.alpha, self.alphas[beyond], mu)
        loops.extrapolate(self.g, self.gs[beyond], mu)
        loops.drop_below(self.alpha, NEGLIGIBLE)


def _lowest(values: np.ndarray, count: int) -> np.ndarray:
    """Positions of the `count` smallest values, smallest first."""
    if len(values) > count:
        found = np.argpartition(values, count)[:count]
        return found[np.argsort(values[found], kind="stable")]
    return np.argsort(values, kind="stable")
