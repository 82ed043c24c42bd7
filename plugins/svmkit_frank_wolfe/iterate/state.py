"""The iterate of a Frank-Wolfe solve over the tracked points, and the moves that change it."""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np

from svmkit.problems.certificate import Certificate
from svmkit.problems.simplex import SimplexQP
from svmkit.solver.exact_search import TINY, line_search
from svmkit.solver.sampler import Draws
from svmkit_frank_wolfe.iterate import loops
from svmkit_frank_wolfe.iterate.loops import FAINT, FRESH
from svmkit_frank_wolfe.iterate.tracked_points import NONE, TrackedPoints

LIKELY = 64  # number of rows suggested to the Gram when it has to compute one
NEGLIGIBLE = 1e-15  # an extrapolation leaves weights of this size where exact arithmetic leaves none


class Direction(NamedTuple):
    """D = s alpha + c_in e_i + c_out e_j, from an iterate alpha: one formula moves alpha and g along all directions."""

    slope: float  # D'g
    curvature: float  # D'A D
    lam_max: float  # largest step along D that is feasible
    s: float
    c_in: float  # coefficient of the toward vertex i
    c_out: float
    j: int = -1  # position of the vertex that gives weight, -1 for none

    @property
    def gain(self) -> float:
        """Decrease of f by the unclipped step, slope^2 / curvature; 0 for a direction along which f does not fall."""
        return self.slope**2 / max(self.curvature, TINY) if self.slope < 0.0 else 0.0


class SimplexState:
    """The iterate: weights alpha of the tracked points, g = A alpha + c and f = alpha'g.

    alpha = scales[0] w, so that a toward step need not touch all of alpha (Ouyang, Gray 2010, end of section 3.2).
    `keeps` iterates are kept, the current one in row 0 of `weights` and `gs` (keeps, n), earlier ones below it; w and g
    are its rows. Vertices are positions among the tracked points: i is the toward vertex, chosen by the oracle. A solve
    begins at `point` (m,) of the simplex, and `draws` gives the samples for the oracle. `everything` says whether all
    points are tracked from the start, instead of those with weight in `point`.
    """

    def __init__(self, problem: SimplexQP, point: np.ndarray, draws: Draws, keeps: int, everything: bool) -> None:
        self.problem, self.draws, self.keeps = problem, draws, keeps
        self.budget = sys.maxsize  # largest number of active points allowed
        self.i, self.n_iter = 0, draws.goal.begun if draws.goal else 0  # steps, including those of an earlier solve
        self.next_report = self.n_iter + 1  # when the next history point is due, as in `Schedule`
        self.track(None if everything else np.flatnonzero(point), point)

    def track(self, idx: np.ndarray | None, point: np.ndarray, g: np.ndarray | None = None) -> None:
        """Track the rows `idx` of X, which hold all weight of `point`, or all rows for None; forget earlier iterates.

        Parameters
        ----------
        idx, point, g : ndarray or None, ndarray, ndarray or None
            The rows (n,), the iterate (m,), and the gradient (n,) of the tracked points there; None computes it from
            scratch.
        """
        self.tracked = TrackedPoints(self.problem, idx)
        self.fixed: tuple[np.ndarray, ...] | None = None  # copies of y, A_ii, ridge and linear term for compiled steps
        alpha = point[self.tracked.where]
        if g is None:
            g = self.problem.gradient(point) if idx is None else self.problem.gradient(point, idx)
        room = self.tracked.room
        self._weights, self._gs = np.zeros((self.keeps, room)), np.zeros((self.keeps, room))
        self._weights[:, : alpha.size], self._gs[:, : alpha.size] = alpha / alpha.sum(), g
        self.scales = np.ones(self.keeps)
        self._bind()
        self._sum()
        self._forget()

    def _bind(self) -> None:
        n = self.tracked.n
        self.weights, self.gs = self._weights[:, :n], self._gs[:, :n]
        self.w, self.g = self.weights[0], self.gs[0]

    def _sum(self) -> None:
        """Sum f = alpha'g and c'alpha and count the active points, from scratch."""
        f, self.active = loops.survey(self.g, self.w)
        self.f = f * self.scales[0]
        linear = self.tracked.linear
        self.c_alpha = float(linear @ self.w) * self.scales[0] if linear.size else 0.0
        self.age = 0

    def _forget(self) -> None:
        self._row_i: np.ndarray | None = None
        self._j: int | None = None

    # facts about the iterate

    @property
    def alpha(self) -> np.ndarray:
        """Weights of the tracked points (n,), an array of its own."""
        return self.scales[0] * self.w

    @property
    def alphas(self) -> np.ndarray:
        """Weights of all kept iterates (keeps, n)."""
        return self.scales[:, None] * self.weights

    @property
    def objective(self) -> float:
        """The problem's objective alpha'A alpha + 2 c'alpha."""
        return self.f + self.c_alpha

    def weight(self, j: int) -> float:
        """alpha_j."""
        return float(self.scales[0] * self.w[j])

    def image(self, i: int) -> float:
        """(A alpha)_i."""
        linear = self.tracked.linear
        return float(self.g[i] - linear[i]) if linear.size else float(self.g[i])

    def point(self) -> np.ndarray:
        """alpha over all m points, summing to 1."""
        point = np.zeros(self.problem.m)
        point[self.tracked.where] = self.w
        return point / point.sum()

    # the two vertices of a step

    def aim(self, i: int) -> None:
        """Make i the toward vertex."""
        self.i = i
        self._forget()

    @property
    def j(self) -> int:
        """The away vertex, argmax of g over the active points; searched on demand."""
        if self._j is None:
            self._j = loops.away_vertex(self.g, self.w)
        return self._j

    def row_i(self) -> np.ndarray:
        """Kernel row (n,) of the toward vertex, fetched once an iteration."""
        if self._row_i is None:
            self._row_i = self.row(self.i)
        return self._row_i

    def row(self, p: int) -> np.ndarray:
        """Return the kernel values (n,) of the tracked point p with all of them, without labels, bias and ridge."""
        return self.tracked.row(p, self._near_vertices if p == self.i else None)

    def _near_vertices(self) -> np.ndarray:
        """Points that the oracle may choose soon: lowest g first."""
        g = self.g
        found = np.argpartition(g, LIKELY)[:LIKELY] if g.size > LIKELY else np.arange(g.size)
        return found[np.argsort(g[found], kind="stable")]

    def entry(self, j: int) -> float:
        """A_ij for the toward vertex i and a tracked j."""
        y = self.tracked.y
        if j == self.i:
            return float(self.tracked.diag[j])
        return float(y[self.i] * y[j] * (float(self.row_i()[j]) + self.problem.bias))  # the row may be float32

    # directions, among which the variants choose

    def toward(self) -> Direction:
        """Return D = e_i - alpha, the Frank-Wolfe direction to the toward vertex i."""
        curvature = self.tracked.diag[self.i] - 2.0 * self.image(self.i) + self.f - self.c_alpha
        return Direction(self.g[self.i] - self.f, curvature, 1.0, -1.0, 1.0, 0.0)

    def away(self, j: int) -> Direction:
        """Return D = alpha - e_j, away from the active vertex j; its step is 0 when j is the only active vertex."""
        weight, curvature = self.weight(j), self.tracked.diag[j] - 2.0 * self.image(j) + self.f - self.c_alpha
        lam_max = weight / (1.0 - weight) if weight < 1.0 else 0.0
        return Direction(self.f - self.g[j], curvature, lam_max, 1.0, 0.0, -1.0, j)

    def toward_or_away(self) -> Direction:
        """Return the steeper of the two directions: toward i when f - g_i >= g_j - f, else away from j."""
        toward, away = self.toward(), self.away(self.j)
        return toward if toward.slope <= away.slope else away

    def pairwise(self, j: int) -> Direction:
        """Return D = e_i - e_j, which moves weight from the active vertex j to the toward vertex i."""
        i, diag = self.i, self.tracked.diag
        curvature = diag[i] - 2.0 * self.entry(j) + diag[j]
        return Direction(self.g[i] - self.g[j], curvature, self.weight(j), 0.0, 1.0, -1.0, j)

    # moves

    def move(self, lam: float, d: Direction) -> None:
        """alpha += lam D and g += lam A D; a step to the bound leaves a weight of exactly 0.

        A = y y' (K + bias) + ridge is applied from kernel rows of K, which may be float32; g and f are float64.
        """
        if lam == 0.0:
            return
        s, c_in, c_out = 1.0 + lam * d.s, lam * d.c_in, lam * d.c_out
        i, j = self.i, d.j if d.j >= 0 else self.i
        row_in = self.row_i() if c_in else self.row(j)
        row_out = self.row(j) if c_out else row_in
        tracked = self.tracked
        y, ridge, linear = tracked.y, tracked.ridge, tracked.linear
        loops.move(self.g, y, linear, row_in, row_out, s, c_in * y[i], c_out * y[j], self.problem.bias)
        self.g[i] += c_in * ridge[i]
        self.g[j] += c_out * ridge[j]
        objective = self.f + self.c_alpha + lam * (2.0 * d.slope + lam * d.curvature)
        if linear.size:
            self.c_alpha = s * self.c_alpha + c_in * linear[i] + c_out * linear[j]
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

    def advance(self, d: Direction) -> bool:
        """Make the step along d that an exact line search gives; return whether its length is above 0."""
        lam = line_search(d.slope, d.curvature, d.lam_max)
        self.move(lam, d)
        self.n_iter += 1
        self.age += 1
        if self.age >= FRESH:  # f is summed anew from time to time
            self._sum()
        return lam > 0.0

    def extrapolate(self, mu: float, beyond: int) -> None:
        """alpha += mu (alpha - kept iterate `beyond`), g with it; weights that reach 0 are exactly 0."""
        loops.extrapolate(self.w, self.weights[beyond], (1.0 + mu) * self.scales[0], mu * self.scales[beyond])
        loops.extrapolate(self.g, self.gs[beyond], 1.0 + mu, mu)
        self.scales[0] = 1.0
        loops.drop_below(self.w, NEGLIGIBLE)
        self._sum()

    def restart(self) -> None:
        """Forget earlier iterates: all kept ones become the current one."""
        self.weights[1:], self.scales[1:], self.gs[1:] = self.w, self.scales[0], self.g
        self._sum()
        self._forget()

    # other points

    def append(self, point: int, gs: np.ndarray, row: np.ndarray | None = None) -> int:
        """Track one more point, with weight 0, and return its position.

        Parameters
        ----------
        point, gs, row : int, ndarray, ndarray or None
            Row of the problem's X, not tracked yet, its gradients (keeps,) at the kept iterates, and its kernel values
            (n,) with the tracked points; None computes them.
        """
        n = self.tracked.append(point, row)
        more = self.tracked.room - self._weights.shape[1]
        if more:
            self._weights, self._gs = (np.pad(v, ((0, 0), (0, more))) for v in (self._weights, self._gs))
        self._weights[:, n], self._gs[:, n] = 0.0, gs
        self._bind()
        return n

    def replace(self, p: int, point: int, g: float, row: np.ndarray) -> None:
        """Give position and weight of the tracked p to an untracked point, and forget earlier iterates.

        Parameters
        ----------
        p, point, g, row : int, int, float, ndarray
            Position of the tracked point, row of the problem's X, and before the exchange the gradient of `point` and
            its kernel values (n,) with the tracked points.
        """
        tracked, bias = self.tracked, self.problem.bias
        weight, y, y_p, out = self.weight(p), self.problem.y[point], tracked.y[p], self.row(p)
        a_p = bias * y * y_p + y * y_p * row[p]  # A between the two
        row = row.astype(out.dtype, copy=False)
        loops.move(self.g, tracked.y, NONE, row, out, 1.0, weight * y, -weight * y_p, bias)
        tracked.replace(p, point, row)
        self.g[p] = g + weight * (tracked.diag[p] - a_p)
        self.restart()

    def limit(self, most: int) -> None:
        """Allow at most `most` active points from now on; if there are more, those with the largest weights remain."""
        self.budget = most
        if self.active > most:
            point = self.point()
            point[np.argsort(point, kind="stable")[:-most]] = 0.0
            self.track(self.tracked.idx, point / point.sum())

    def renew(self, problem: SimplexQP, draws: Draws) -> None:
        """Continue on a problem whose first n rows are the tracked points."""
        self.problem, self.draws = problem, draws
        self.tracked.renew(problem)
        self._forget()

    def resync(self, certificate: Certificate, everything: bool) -> None:
        """Take over the certificate's exact g; with `everything`, track all points from now on, as their gradient is
        known.

        Float64 kernel rows replace float32 rows that limit the solve.
        """
        g = certificate.gradient
        assert g is not None
        here = self.tracked.where
        if np.abs(self.g - g[here]).max() > 0.1 * (self.f - self.g.min()):
            self.problem.gram.promote()
        if everything and not self.tracked.everything:
            self.track(None, self.point(), g)
            return
        self.g[:] = g[here]
        self.restart()
