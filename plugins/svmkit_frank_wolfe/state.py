"""State of a Frank-Wolfe solve: an iterate, its gradient, and what the oracle chose, over the tracked points.

Tracked are all points of the problem (`idx` is None), at one kernel row an iteration, or a growing working set.
An oracle (oracle.py) says which vertex comes next and lets points join.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np

from svmkit.problems.base import Certificate
from svmkit.problems.simplex import SimplexQP
from svmkit.solver.base import StepInfo
from svmkit.solver.sampler import Draws
from svmkit_frank_wolfe import loops
from svmkit_frank_wolfe.direction import Direction
from svmkit_frank_wolfe.working_set import WorkingRows

LIKELY = 64  # guesses handed to Gram on a miss
NEGLIGIBLE = 1e-15  # an extrapolation leaves weights of this size where exact arithmetic leaves none
FRESH = 32  # steps until alpha'g is summed anew instead of updated
FAINT = 1e-60  # a smaller common factor of the weights is multiplied out
NONE = np.empty(0)


class Choice(NamedTuple):
    """What the oracle said: tracked vertex i, the lowest g it knows of, points looked at, whether it saw a sample."""

    i: int
    lowest: float
    looked: int
    sampled: bool


class SimplexState:
    """alpha, g = A alpha + c, f = alpha'g; `i` is the toward vertex, `j` the away vertex, both tracked positions.

    alpha is `scale * weights`, so that a toward step need not touch all of it. Row 0 of `gs`, `_weights` and `scales`
    is the current iterate; solvers that keep more have earlier ones below it.
    """

    def __init__(self, problem: SimplexQP, point: np.ndarray, draws: Draws, keeps: int, everything=False) -> None:
        self.problem, self.draws, self.keeps = problem, draws, keeps
        self.budget = sys.maxsize
        self.i = 0
        self.track(None if everything else np.flatnonzero(point), point)

    def track(self, idx: np.ndarray | None, point: np.ndarray, g: np.ndarray | None = None) -> None:
        """Track the points idx, None for all m, at `point` (m,); earlier iterates are forgotten."""
        p = self.problem
        self.working = None if idx is None else WorkingRows(p.gram, idx)
        alpha = point if idx is None else point[idx]
        if g is None:
            g = p.gradient(point) if idx is None else p.gradient(point, idx)
        self.n = len(alpha)
        room = self.n if idx is None else 2 * self.n + 64
        self._weights, self._gs = np.zeros((self.keeps, room)), np.zeros((self.keeps, room))
        self._weights[:, : self.n], self._gs[:, : self.n] = alpha / alpha.sum(), g
        self.scales = np.ones(self.keeps)
        self.position = np.full(0 if idx is None else p.m, -1, dtype=np.int64)
        self._describe()
        self._sum()
        self._forget()

    @property
    def idx(self) -> np.ndarray | None:
        """Rows of the tracked points, None when these are all, in order."""
        return None if self.working is None else self.working.idx

    def _describe(self) -> None:
        """What is known of each tracked point, in arrays with room to grow."""
        p, idx, room = self.problem, self.idx, self._weights.shape[1]
        about = [p.y, p.diag, p.ridge, NONE if p.linear_term is None else p.linear_term]
        if idx is not None:
            self.position[idx] = np.arange(self.n)
            about = [np.append(values[idx], np.zeros(room - self.n)) if len(values) else values for values in about]
        self._about = about
        self._bind()

    def _bind(self) -> None:
        n = self.n
        self.weights, self.gs = self._weights[:, :n], self._gs[:, :n]
        self.w, self.g = self.weights[0], self.gs[0]
        self.y, self.diag, self.ridge, self.linear = (values[:n] for values in self._about)

    def _sum(self) -> None:
        """f = alpha'g, c'alpha and the number of active points, from scratch."""
        f, self.active = loops.survey(self.g, self.w)
        self.f = f * self.scales[0]
        self.c_alpha = float(self.linear @ self.w) * self.scales[0] if self.linear.size else 0.0
        self.age = 0

    def _forget(self) -> None:
        self._row_i: np.ndarray | None = None
        self._j: int | None = None

    @property
    def alpha(self) -> np.ndarray:
        """Weights of the tracked points (n,), an array of its own."""
        return self.scales[0] * self.w

    @property
    def alphas(self) -> np.ndarray:
        """Weights of all kept iterates (keeps, n)."""
        return self.scales[:, None] * self.weights

    def weight(self, j: int) -> float:
        """alpha_j."""
        return float(self.scales[0] * self.w[j])

    def image(self, i: int) -> float:
        """(A alpha)_i."""
        return float(self.g[i] - self.linear[i]) if self.linear.size else float(self.g[i])

    def row(self, i: int) -> np.ndarray:
        """Kernel values of the tracked point i with all tracked points."""
        if self.working is None:
            return self.problem.gram.row(i, self._near_vertices if i == self.i else None)
        return self.working.row(i)

    def _near_vertices(self) -> np.ndarray:
        """Points that the oracle may choose soon: lowest g first."""
        found = np.argpartition(self.g, LIKELY)[:LIKELY] if self.n > LIKELY else np.arange(self.n)
        return found[np.argsort(self.g[found], kind="stable")]

    def entry(self, j: int) -> float:
        """A_ij for the toward vertex i and a tracked j."""
        if j == self.i:
            return float(self.diag[j])
        return float(self.y[self.i] * self.y[j] * (self.row_i()[j] + self.problem.bias))

    @property
    def j(self) -> int:
        """The away vertex, argmax of g over the active points; looked for when a variant asks."""
        if self._j is None:
            self._j = loops.away_vertex(self.g, self.w)
        return self._j

    def row_i(self) -> np.ndarray:
        """Kernel row of the toward vertex, fetched once an iteration."""
        if self._row_i is None:
            self._row_i = self.row(self.i)
        return self._row_i

    def aim(self, i: int) -> None:
        """Make i the toward vertex."""
        self.i = i
        self._forget()

    def move(self, lam: float, d: Direction) -> None:
        """alpha += lam D and g += lam A D; a step to the bound leaves a weight of exactly 0."""
        if lam == 0.0:
            return
        s, c_in, c_out = 1.0 + lam * d.s, lam * d.c_in, lam * d.c_out
        i, j = self.i, d.j if d.j >= 0 else self.i
        row_in = self.row_i() if c_in else self.row(j)
        row_out = self.row(j) if c_out else row_in
        y, bias = self.y, self.problem.bias
        loops.move(self.g, y, self.linear, row_in, row_out, s, c_in * y[i], c_out * y[j], bias)
        self.g[i] += c_in * self.ridge[i]
        self.g[j] += c_out * self.ridge[j]
        objective = self.f + self.c_alpha + lam * (2.0 * d.slope + lam * d.curvature)
        if self.linear.size:
            self.c_alpha = s * self.c_alpha + c_in * self.linear[i] + c_out * self.linear[j]
        self.f = objective - self.c_alpha
        self._reweigh(s, i, c_in, j, c_out, lam >= d.lam_max and c_out != 0.0)

    def _reweigh(self, s: float, i: int, c_in: float, j: int, c_out: float, drops: bool) -> None:
        """alpha = s alpha + c_in e_i + c_out e_j in O(1)."""
        w = self.w
        if s != 1.0:
            self.scales[0] *= s
            if not FAINT < self.scales[0] < 1.0 / FAINT:
                w *= self.scales[0]
                self.scales[0], self.age = 1.0, FRESH
        if c_in:
            self.active += w[i] == 0.0
            w[i] += c_in / self.scales[0]
        if c_out:
            w[j] += c_out / self.scales[0]
            if drops or w[j] <= 0.0:
                w[j] = 0.0
                self.active -= 1

    def report(self, choice: Choice, moved: bool = True) -> StepInfo:
        """What is known of the iterate, with the estimates that the oracle's choice gives."""
        self.aim(choice.i)
        slack = 2.0 * (self.f - choice.lowest)
        objective = self.f + self.c_alpha
        return StepInfo(
            objective=objective,
            n_support=self.active,
            epochs=choice.looked / self.problem.m,
            gap=slack / max(abs(objective), 1e-300),
            gap_abs=max(slack, 0.0),
            sampled=choice.sampled,
            moved=moved or (not self.draws.every and slack > 0.0),
        )

    def settle(self) -> None:
        """Sum f anew from time to time; call it once a step."""
        self.age += 1
        if self.age >= FRESH:
            self._sum()

    def append(self, point: int, gs: np.ndarray, row: np.ndarray | None = None) -> int:
        """Track one more point; gs (keeps,) are its gradients at the kept iterates. Returns its position."""
        assert self.working is not None
        p, n, room = self.problem, self.n, self._weights.shape[1]
        if n == room:
            self._weights, self._gs = (np.pad(v, ((0, 0), (0, n))) for v in (self._weights, self._gs))
            self._about = [np.pad(v, (0, n)) if v.size else v for v in self._about]
        self._weights[:, n], self._gs[:, n] = 0.0, gs
        for values, source in zip(self._about, (p.y, p.diag, p.ridge, p.linear_term), strict=True):
            if values.size:
                values[n] = source[point]
        self.n = n + 1
        self.position[point] = self.working.append(point, row)
        self._bind()
        return n

    def hand_over(self, j: int) -> None:
        """The toward vertex takes over all the weight of j."""
        i, weight = self.i, self.weight(j)
        curvature = self.diag[i] - 2.0 * self.entry(j) + self.diag[j]
        self.move(weight, Direction(self.g[i] - self.g[j], curvature, weight, 0.0, 1.0, -1.0, j))
        self.restart()

    def limit(self, most: int) -> None:
        """Keep to `most` active points from now on, at once to those with the largest weights."""
        self.budget = most
        if self.active > most:
            point = self.point()
            point[np.argsort(point, kind="stable")[:-most]] = 0.0
            self.track(self.idx, point / point.sum())

    def replace(self, p: int, point: int, g: float, row: np.ndarray) -> None:
        """The untracked `point`, with gradient g and kernel values `row` (n,), takes the place and weight of p."""
        assert self.working is not None and self.idx is not None
        problem, weight, y, out = self.problem, self.weight(p), self.problem.y[point], self.row(p)
        a_p = problem.bias * y * self.y[p] + y * self.y[p] * row[p]  # A between the two
        row = row.astype(out.dtype, copy=False)
        loops.move(self.g, self.y, NONE, row, out, 1.0, weight * y, -weight * self.y[p], problem.bias)
        self.position[self.idx[p]], self.position[point] = -1, p
        self.working.replace(p, point, row)
        for values, source in zip(
            self._about, (problem.y, problem.diag, problem.ridge, problem.linear_term), strict=True
        ):
            if values.size:
                values[p] = source[point]
        self.g[p] = g + weight * (self.diag[p] - a_p)
        self.restart()

    def renew(self, problem: SimplexQP, draws: Draws) -> None:
        """Go on with a problem whose first n rows are the tracked points."""
        assert self.working is not None
        self.problem, self.draws = problem, draws
        self.working.rebind(problem.gram)
        self.position = np.full(problem.m, -1, dtype=np.int64)
        self._describe()
        self._forget()

    def point(self) -> np.ndarray:
        """alpha over all m points, summing to 1."""
        point = np.zeros(self.problem.m)
        point[slice(None) if self.idx is None else self.idx] = self.w
        return point / point.sum()

    def resync(self, certificate: Certificate, everything: bool) -> None:
        """Take over the certificate's exact g, of `everything` or of the tracked points.

        Goes over to float64 rows when float32 ones are what holds us up.
        """
        g = certificate.gradient
        assert g is not None
        here = slice(None) if self.idx is None else self.idx
        if np.abs(self.g - g[here]).max() > 0.1 * (self.f - self.g.min()):
            self.problem.gram.promote()
        if everything and self.idx is not None:
            self.track(None, self.point(), g)
            return
        self.g[:] = g[here]
        self.restart()

    def restart(self) -> None:
        """Forget earlier iterates: all that are kept become the current one."""
        self.weights[1:], self.scales[1:], self.gs[1:] = self.w, self.scales[0], self.g
        self._sum()
        self._forget()

    def extrapolate(self, mu: float, beyond: int) -> None:
        """alpha += mu (alpha - kept iterate `beyond`), g with it; weights that reach 0 are exactly 0."""
        loops.extrapolate(self.w, self.weights[beyond], (1.0 + mu) * self.scales[0], mu * self.scales[beyond])
        loops.extrapolate(self.g, self.gs[beyond], 1.0 + mu, mu)
        self.scales[0] = 1.0
        loops.drop_below(self.w, NEGLIGIBLE)
        self._sum()
