"""Linear problems over parts: the certificate of a path, and Newton's method by sums that do not grow with the rows."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from svmkit_newton import passes
from svmkit_newton.hessian import Given, Products
from svmkit_newton.passes import FEW, Look
from svmkit_newton.proximal import LEAST, shares_of
from svmkit_newton.sums import BySums, add_sides, balance_sides
from svmkit_newton.tall import ONE_IN, SAMPLE

from svmkit.kernels.rounding import U
from svmkit.problems.base import DecisionFunction
from svmkit.problems.certificate import Certificate
from svmkit.problems.risks.certify import sum_error
from svmkit.problems.risks.linear_risk import LinearDual, LinearTubeDual
from svmkit.problems.risks.points import make_points
from svmkit.problems.sums import Totals, values_of
from svmkit_dask.driver.problem import ScatteredQP
from svmkit_dask.worker.answers import Message

ROUNDINGS = 4 + passes.PARTS  # in an entry of X'beta, besides those of a sum over the rows


class ScatteredLinear(ScatteredQP):
    """The problem of a LinearDual whose samples are the rows of parts, with a free bias.

    A point is a path (k, d + 2), `svmkit_dask.worker.linear`, which determines dual weights of all rows, so neither a
    point nor a message grows with the rows.
    """

    whole: ClassVar[Any] = LinearDual
    name: ClassVar[str] = whole.name
    is_linear: ClassVar[bool] = True
    bias_width: ClassVar[float] = 1e-3  # the bias of a path is nearly the best one
    bias_tol: ClassVar[float] = 1e-7
    bias_grid: ClassVar[int] = 9
    _known: tuple[np.ndarray, np.ndarray] | None = None  # the last certified path, and its weights (d,)

    @classmethod
    def formulation(cls, **terms: Any) -> str:
        return cls.whole.formulation(**terms | {"bias": "free"})

    @property
    def n_columns(self) -> int:
        return self.session.workers.space.width

    @property
    def width(self) -> int:
        """The number of columns, including the bias."""
        return self.n_columns + 1

    def infeasible(self, point: np.ndarray) -> str | None:
        shape = f"(n, {self.width + 1:,})"
        if point.ndim != 2 or point.shape[1] != self.width + 1 or not len(point) or point.dtype != np.float64:
            return f"it should be float64 of shape {shape}, not {point.dtype} of shape {point.shape}"
        if not np.isfinite(point).all() or point[:, -1].min() < 0.0:
            return "its weights are not finite, or a width is negative"
        return None

    def certificate(self, point: np.ndarray) -> Certificate:
        """Return the certificate: P of X'beta, with the best bias, and D of the dual weights beta of a path."""
        session = self.session
        if (unproven := self.unproven()) is not None:
            return unproven
        self._mark = mark = self._mark + 1
        looks, pulls = zip(*session.ask(Message("reach", options={"path": point})), strict=True)
        up, down = add_sides(looks)
        scales = balance_sides(up, down)
        given, w = {"path": point, "scales": scales}, scales[0] * up.image + scales[1] * down.image
        w[-1] = 0.0
        self._known, self._last_bias = (point.copy(), w[:-1]), float(point[-1, -2])

        gauge = Message("gauge", options=given | {"w": w, "mark": mark})

        def begin(parts: list[int]) -> list[Totals]:
            return session.ask(gauge, parts=parts)

        both = session.ask(Message("together", options={"messages": (gauge, self.first_losses(mark))}))
        begun, losses = zip(*both, strict=True)
        totals, norm = Totals.join(begun), float(w @ w)
        length, first = math.sqrt(norm), np.sum(losses, axis=0)
        bias, best, sums = self.add_up(begin, mark, (len(w) + 2) * U * length * math.sqrt(totals.widest), first)
        # an error of X'beta is one of |X'beta|^2 in D; P is that of the computed w
        off = sum_error(session.m + len(looks) + ROUNDINGS, math.fsum(pulls))
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


class _OverParts(Products):
    """The Hessian through products that the parts compute."""

    def __init__(self, state: LinearState) -> None:
        super().__init__(SimpleNamespace(m=0), state.penalty.copy())  # type: ignore[arg-type]
        self._state, self._diagonal = state, np.empty(0)

    def take(self, diagonal: np.ndarray, damping: float) -> None:
        """Set the Hessian to that of the iterate, whose X'DX has this diagonal; `damping` is added to the bias."""
        self._diagonal, self.penalty[-1] = diagonal, damping
        self.update(self.curvature)
        self.inverse[-1] = 1.0 / (diagonal[-1] + damping or 1.0)

    def diagonal(self) -> np.ndarray:
        return self._diagonal

    def times(self, p: np.ndarray, room: np.ndarray | None = None) -> np.ndarray:
        asked = Message("curve", options={"path": self._state.path, "along": p})
        return self.penalty * p + np.sum(self._state.problem.session.ask(asked), axis=0)


class LinearState(BySums):
    """The iterate of Newton's method over parts, from a path; the result is the best path, `best`."""

    def __init__(self, problem: ScatteredLinear, start: np.ndarray | None, goal: float, wide: int) -> None:
        super().__init__(problem, problem.width, True, goal)
        self.curved = "matrix" if problem.width <= wide else "diagonal"
        self.hessian = Given(self.penalty) if problem.width <= wide else _OverParts(self)
        self.path = self._first_path() if start is None else start.copy()
        self.least = LEAST * float(self.path[0, -1])
        self.is_modelled = problem.width <= wide and not self.width
        self.best = self.path
        known = math.inf if start is not None else self._put_guess(wide)
        self.begin()
        if self.merit > known:  # the parts differ
            self.put(np.zeros(problem.width))
            self.begin()

    def _put_guess(self, wide: int) -> float:
        """Begin at the mean of the optima of samples of the parts, if all have one, and return the losses at 0 by those
        samples; infinity if the iterate does not move.
        """
        session, width = self.problem.session, self.problem.width
        if (
            self.width
            or width > min(FEW, wide)
            or session.counts.sum(axis=1)[session.parts].min() < ONE_IN * SAMPLE // 4
        ):
            return math.inf
        guesses, losses, sizes = zip(
            *session.ask(Message("guess", options={"width": width, "m": session.m})), strict=True
        )
        if not all(sizes):
            return math.inf
        self.put(np.average(guesses, axis=0, weights=sizes))
        return float(np.average(losses, weights=sizes))

    def _first_path(self) -> np.ndarray:
        """Return the path without weights, with losses smoothed by as much as P if they have kinks."""
        path = np.zeros((1, self.problem.width + 1))
        loss = self.problem.session.spec.loss
        if not shares_of(make_points(loss.terms(np.array([-1.0, 1.0]), np.ones(2)), np.ones(2))).size:
            return path
        asked = Message("spread", options={"width": self.problem.width})
        spread, total = np.sum(self.problem.session.ask(asked), axis=0)
        path[0, -1] = total / spread or 1.0 if spread else 0.0
        return path

    @property
    def w(self) -> np.ndarray:
        return self.path[-1, :-1]

    @property
    def width(self) -> float:
        return float(self.path[-1, -1])

    def put(self, w: np.ndarray) -> None:
        self.path[-1, :-1] = w

    def examine(self) -> None:
        super().examine()
        self.problem.estimate = self.primal, self.problem.session.spec.centre + float(self.w[-1])

    def looks(self) -> list[Look]:
        return self.problem.session.ask(Message("slopes", options={"path": self.path, "curved": self.curved}))

    def slopes_along(self, s: np.ndarray, steps: np.ndarray) -> np.ndarray:
        asked = Message("search", options={"path": self.path, "along": s, "steps": steps})
        return np.sum(self.problem.session.ask(asked), axis=0)

    def loss_of(self, w: np.ndarray) -> float:
        return math.fsum(self.problem.session.ask(Message("total", options={"w": w})))

    def keep(self) -> None:
        self.best = self.path.copy()

    def narrow_down(self, width: float) -> None:
        self.path = np.vstack([self.path, np.append(self.w, width)])
