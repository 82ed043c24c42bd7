"""Linear problems over parts: the certificate of a path, and Newton's method by sums that do not grow with the rows."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from svmkit_newton.hessian import Matrix, Products
from svmkit_newton.proximal import LEAST, LESS, is_solved

from svmkit.kernels.rounding import U
from svmkit.problems.base import DecisionFunction
from svmkit.problems.certificate import Certificate, relative_gap
from svmkit.problems.risks.certify import sum_error
from svmkit.problems.risks.linear_risk import LinearDual, LinearTubeDual
from svmkit.problems.sums import Totals, values_of
from svmkit_dask.driver.problem import ScatteredQP, join_totals, least_loss
from svmkit_dask.worker.answers import Message
from svmkit_dask.worker.linear import Side, Slopes

# steps of a look along a direction, which takes hardly longer for many of them than for one
FIRST = np.array([0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.55, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0, 4.0])
FLAT = 0.2  # part of the slope at its beginning that a step may leave
LOOKS = 6  # along a direction at the most
ROUGH = 1e-2  # accuracy of the first bias, as a part of the losses
FAR = 10.0  # how far a step may move a bias to which no sample gives a curvature, and times a step that is too short


class ScatteredLinear(ScatteredQP):
    """The problem of a LinearDual whose samples are the rows of parts, with a free bias.

    A point is a path (k, d + 2), `svmkit_dask.worker.linear`, to which dual weights of all rows belong, so that neither
    a point nor a message grows with the rows.
    """

    whole: ClassVar[Any] = LinearDual
    name: ClassVar[str] = whole.name
    is_linear: ClassVar[bool] = True
    bias_width: ClassVar[float] = 0.05  # that of a path is nearly the best one
    bias_tol: ClassVar[float] = 1e-8
    _known: tuple[np.ndarray, np.ndarray] | None = None  # the last path that was certified, and the weights (d,)

    @classmethod
    def formulation(cls, **terms: Any) -> str:
        return cls.whole.formulation(**terms | {"bias": "free"})

    @property
    def n_columns(self) -> int:
        return self.session.workers.space.width

    @property
    def width(self) -> int:
        """The number of columns, that of the bias included."""
        return self.n_columns + 1

    def infeasible(self, point: np.ndarray) -> str | None:
        shape = f"(n, {self.width + 1:,})"
        if point.ndim != 2 or point.shape[1] != self.width + 1 or not len(point) or point.dtype != np.float64:
            return f"it should be float64 of shape {shape}, not {point.dtype} of shape {point.shape}"
        if not np.isfinite(point).all() or point[:, -1].min() < 0.0:
            return "its weights are not finite, or a width is negative"
        return None

    def slopes(self, path: np.ndarray, curved: str = "none") -> list[Slopes]:
        """Return what the parts add at the end of a path; the arguments are those of `worker.linear.slopes`."""
        return self.session.ask(Message("slopes", options={"path": path, "curved": curved}))

    def certificate(self, point: np.ndarray) -> Certificate:
        """Return the certificate: P of X'beta, with the best bias, and D of the dual weights beta of a path."""
        session = self.session
        if (unproven := self.unproven()) is not None:
            return unproven
        self._mark = mark = self._mark + 1
        scales = balance_sides(*add_sides(self.slopes(point)))
        given = {"path": point, "scales": scales}
        images, pulls = zip(*session.ask(Message("reach", options=given)), strict=True)
        w = np.sum(images, axis=0)
        w[-1] = 0.0
        self._known, self._last_bias = (point.copy(), w[:-1]), float(point[-1, -2])

        def begin(parts: list[int]) -> list[Totals]:
            return session.ask(Message("gauge", options=given | {"w": w, "mark": mark}), parts=parts)

        totals, norm = join_totals(begin(session.parts)), float(w @ w)
        length = math.sqrt(norm)
        bias, best, sums = self.add_up(begin, mark, (len(w) + 2) * U * length * math.sqrt(totals.widest))
        # an error of X'beta is one of |X'beta|^2 in D; P is that of w as it is
        off = sum_error(session.m + len(images), math.fsum(pulls))
        of_norm = (2.0 * length + off) * off / totals.total if totals.total else 0.0
        sums = sums._replace(norm=norm, size=norm)
        values = values_of(totals, sums, best, of_norm, U)
        return Certificate.from_values(
            values.primal, values.dual, None, bias, errors=(values.of_primal, values.of_dual)
        )

    def decision_function(self, point: np.ndarray, certificate: Certificate) -> DecisionFunction:
        if certificate.bias is None:  # `bound` does not know the bias
            certificate = self.certificate(point)
        known = self._known
        w = known[1] if known is not None and np.array_equal(known[0], point) else point[-1, :-2].copy()
        return DecisionFunction(np.empty(0), certificate.bias, w, np.empty(0, dtype=np.int64))


class ScatteredLinearTube(ScatteredLinear):
    """The problem of a LinearTubeDual whose samples are the rows of parts."""

    whole: ClassVar[Any] = LinearTubeDual
    name: ClassVar[str] = whole.name
    task: ClassVar[str] = whole.task


def add_sides(parts: list[Slopes]) -> tuple[Side, Side]:
    """Return the sums over all dual weights above 0, and over those below."""
    both = []
    for sides in ([part.up for part in parts], [part.down for part in parts]):
        totals, linear, ridged, images = zip(*sides, strict=True)
        both.append(Side(math.fsum(totals), math.fsum(linear), math.fsum(ridged), np.sum(images, axis=0)))
    return both[0], both[1]


def balance_sides(up: Side, down: Side) -> np.ndarray:
    """Return the factors of the weights above 0 and below at which all sum to 0, and one of which is 1."""
    least = min(up.total, -down.total)
    return np.array([least / up.total if up.total else 1.0, -least / down.total if down.total else 1.0])


class _OverParts(Products):
    """The Hessian by products that the parts compute."""

    def __init__(self, state: LinearState) -> None:
        super().__init__(SimpleNamespace(m=0), state.penalty.copy())  # type: ignore[arg-type]
        self._state, self._diagonal = state, np.empty(0)

    def take(self, diagonal: np.ndarray, damping: float) -> None:
        """Let the Hessian be that of the iterate, whose X'DX has this diagonal; `damping` is added to the bias."""
        self._diagonal, self.penalty[-1] = diagonal, damping
        self.update(self.curvature)
        self.inverse[-1] = 1.0 / (diagonal[-1] + damping or 1.0)

    def diagonal(self) -> np.ndarray:
        return self._diagonal

    def times(self, p: np.ndarray) -> np.ndarray:
        asked = Message("curve", options={"path": self._state.path, "along": p})
        return self.penalty * p + np.sum(self._state.problem.session.ask(asked), axis=0)


class _AtOnce(Matrix):
    """The Hessian as a matrix that the parts add up."""

    def __init__(self, penalty: np.ndarray) -> None:
        design = SimpleNamespace(m=0, width=len(penalty), rows=None)
        super().__init__(design, penalty.copy())  # type: ignore[arg-type]

    def take(self, H: np.ndarray, damping: float) -> None:
        """Let the Hessian be I + H; `damping` is added to the bias."""
        self.H, self.factor, self.penalty[-1] = H, None, damping


class LinearState:
    """The iterate of Newton's method over parts, from a path; its attributes are those of `svmkit_newton.newton.State`.

    D rises by the dual weights of the path alone, the best of which is the answer, `best`.
    """

    def __init__(self, problem: ScatteredLinear, start: np.ndarray | None, goal: float, wide: int) -> None:
        self.problem, self.goal, self.most = problem, goal, 1
        self.is_bent = False  # whether a whole step was too long or too short the last time
        self.penalty = np.ones(problem.width)
        self.penalty[-1] = 0.0
        self.hessian = _AtOnce(self.penalty) if problem.width <= wide else _OverParts(self)
        self.path = self._first_path() if start is None else start.copy()
        self.least = LEAST * float(self.path[0, -1])
        self.best, self.dual, self.gap = self.path, -math.inf, math.inf
        self._begin()

    def _first_path(self) -> np.ndarray:
        """Return the path of the best constant, where losses change by as much as P - D if they have kinks."""
        session = self.problem.session

        def losses(biases: np.ndarray) -> np.ndarray:
            return np.sum(session.ask(Message("losses", options={"biases": biases, "mark": 0})), axis=0)

        bias, loss = least_loss(losses, 0.0, 1.0, ROUGH)
        spread = math.fsum(session.ask(Message("spread")))
        path = np.zeros((1, self.problem.width + 1))
        path[0, -2:] = bias, (loss / spread or 1.0 if spread else 0.0)
        return path

    @property
    def w(self) -> np.ndarray:
        """The weights of the columns and of the bias, (width,)."""
        return self.path[-1, :-1]

    @property
    def width(self) -> float:
        """The width by which losses with kinks are smoothed."""
        return float(self.path[-1, -1])

    def _begin(self) -> None:
        """Begin at the end of the path, with the best bias: where no sample is curved there is no good direction."""
        s = 1.0 - self.penalty
        steep = float(self._slopes_along(s, np.zeros(1))[0])
        if steep:
            s *= -np.sign(steep)
            self.path[-1, :-1] += self._search(s, -abs(steep)) * s
        self._examine()

    def _examine(self) -> None:
        """Ask for P, D, gradient and Hessian at the end of the path."""
        matrix = isinstance(self.hessian, Matrix)
        parts = self.problem.slopes(self.path, "matrix" if matrix else "diagonal")
        up, down = add_sides(parts)
        scales, size = balance_sides(up, down), self.penalty * self.w
        norm, image = 0.5 * float(size @ size), up.image + down.image
        self.g = size - image
        self.merit = norm + math.fsum(part.loss for part in parts)
        self.primal = norm + math.fsum(part.exact for part in parts)
        v = self.penalty * (scales[0] * up.image + scales[1] * down.image)
        linear = scales[0] * up.linear + scales[1] * down.linear
        dual = linear - 0.5 * (float(v @ v) + scales[0] ** 2 * up.ridged + scales[1] ** 2 * down.ridged)
        far = self.penalty * self.g
        self.excess = 0.5 * float(far @ far) + abs(float(self.g[-1]) * self.w[-1])
        self.support = sum(part.support for part in parts)
        self.hessian.take(np.sum([part.curved for part in parts], axis=0), abs(float(self.g[-1])) / FAR)
        if dual > self.dual:
            self.best, self.dual, self._image = self.path.copy(), dual, v
        self.gap = self._gap()
        self.problem.estimate = self.primal, self.problem.session.spec.centre + float(self.w[-1])

    def _gap(self) -> float:
        """Return the gap of w and the best dual weights; once it is small enough, that of the latter alone."""
        gap = relative_gap(max(self.primal - self.dual, self.excess), self.dual)
        if gap > self.goal:
            return gap
        own = np.append(self._image[:-1], self.w[-1])
        loss = math.fsum(self.problem.session.ask(Message("total", options={"w": own})))
        primal = 0.5 * float(self._image @ self._image) + loss
        return max(relative_gap(primal - self.dual, self.dual), 0.0)

    def move(self, most: int) -> tuple[int, float, np.ndarray | None]:
        """Make a step; the arguments and the result are those of `svmkit_newton.newton.State.move`."""
        s, passes = self.hessian.direction(self.g)
        begin, steep, before = self.w.copy(), float(self.g @ s), (self.merit, self.dual)
        t = self._search(s, steep) if self.is_bent else 1.0
        self._look(begin + t * s)
        if not self.is_bent and not (abs(float(self.g @ s)) <= -FLAT * steep and self.merit <= before[0]):
            self.path[-1, :-1] = begin
            t = self._search(s, steep)
            self._look(begin + t * s)
            passes += 3.0
        self.is_bent = not abs(t - 1.0) < FLAT
        is_stuck = not (self.merit < before[0] or self.dual > before[1])
        if self.width and self.gap > self.goal:
            is_due = is_stuck or is_solved(self.excess, self.merit, self.primal - self.dual)
            if is_due and self.width * LESS >= self.least:
                self.path = np.vstack([self.path, np.append(self.w, self.width * LESS)])
                self._begin()
        return 1, passes + 3.0, None

    def _look(self, w: np.ndarray) -> None:
        self.path[-1, :-1] = w
        self._examine()

    def _search(self, s: np.ndarray, steep: float) -> float:
        """Return nearly the step of the least merit along a direction, whose slope at the beginning is `steep` < 0.

        The slope never falls along the way; the step is where the line through the slopes around its zero is 0.
        """
        low, high, steps = (0.0, steep), (math.inf, math.inf), FIRST
        for _ in range(LOOKS):
            slopes = self._slopes_along(s, steps)
            k = int(np.count_nonzero(slopes < 0.0))  # they ascend
            low = (float(steps[k - 1]), float(slopes[k - 1])) if k else low
            if k == len(steps):
                steps = FAR * steps
                continue
            high = float(steps[k]), float(slopes[k])
            if k or high[1] <= -FLAT * steep:
                break
            steps = high[0] * FIRST[FIRST < 1.0]
        if high[0] == math.inf or low[1] == high[1]:
            return low[0]
        return low[0] - low[1] * (high[0] - low[0]) / (high[1] - low[1])

    def _slopes_along(self, s: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Return the derivatives of the merit by the step along a direction, at each of some steps (k,)."""
        size = self.penalty * s
        asked = Message("search", options={"path": self.path, "along": s, "steps": steps})
        slopes = np.sum(self.problem.session.ask(asked), axis=0)
        return float(self.w @ size) + float(s @ size) * steps + slopes
