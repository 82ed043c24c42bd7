"""Newton's method on the primal of linear problems with a smooth loss."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from svmkit.errors import InputError
from svmkit.losses.base import Family, Loss
from svmkit.problems.base import NUMBER_OR_FREE, Problem
from svmkit.problems.certificate import Certificate, relative_gap
from svmkit.problems.risks.linear_risk import LinearDual, LinearTubeDual
from svmkit.solver.base import Solver
from svmkit.solver.requirements import Requires
from svmkit.solver.sampler import Draws
from svmkit.solver.step_info import StepInfo
from svmkit_newton.hessian import Matrix, Products
from svmkit_newton.samples import fill_derivatives, line_search

NEAR = 1e-3  # gap below which the point is examined where none is asked for
ROUNDING = 1e-13  # change of D, as a part of P, that rounding may make
WIDE = 1000  # columns up to which the Hessian is a matrix


class State:
    """State of a solve: the primal iterate, and the dual point that is the answer.

    w (width,) has the decision values h (m,) and the objective `primal`; `slopes` and `curvature` (m,) are the first
    and second derivatives of its losses, v = X'slopes, and g the gradient. With a free bias, which costs nothing, the
    bias is the best one for the rest of w, so that the slopes sum to 0. The dual point beta (m,) has
    image = X'beta and the objective `dual`.
    """

    def __init__(self, problem: LinearDual, start: np.ndarray | None, goal: float, wide: int) -> None:
        self.problem, self.goal = problem, goal
        d = problem.design
        self.penalty = np.ones(d.width)
        if problem.is_free:
            self.penalty[-1] = 0.0
        exact = d.width <= wide
        self.hessian: Matrix | Products = (Matrix if exact else Products)(d, self.penalty)
        self.slopes, self.curvature = np.empty(problem.m), np.empty(problem.m)
        self.beta, self.image, self.dual, self.support = np.zeros(problem.m), np.zeros(d.width), 0.0, 0
        self.w = np.zeros(d.width)
        if start is not None:
            self.beta = start.copy()
            self.image = problem.weights(start)
            self.dual, self.support = problem.dual(start, self.image), int(np.count_nonzero(start))
            self.w = self.image.copy()
        self.anew()

    def anew(self) -> None:
        """Compute everything at w from scratch."""
        self.h = self.problem.decision(self.w) if self.w.any() else np.zeros(self.problem.m)
        self.examine()

    def examine(self) -> None:
        """Set the bias, where it is free, the derivatives and P at w, and improve the dual point by them."""
        p = self.problem
        if p.is_free:
            bias = line_search(p.points, self.h, np.ones(p.m), 0.0, 0.0, 0.0)
            self.h += bias
            self.w[-1] += bias / p.bias
        sums = fill_derivatives(p.points, self.h, self.slopes, self.curvature)
        v, size = p.weights(self.slopes), self.penalty * self.w
        self.g = size - v
        if p.is_free:
            self.g[-1] = -p.bias * self.slopes.sum()
        self.primal = 0.5 * float(size @ size) + sums.loss
        self._raise(sums.linear - 0.5 * (float(v @ v) + sums.ridged), v)

    def _raise(self, dual: float, v: np.ndarray) -> None:
        """Move beta toward the slopes, whose D is `dual` and whose image is v, as far as a bound on D rises.

        D is concave along the way, and at least as curved as |w|^2: at the part t it is at least
        (1 - t) D_0 + t D_1 + t (1 - t) |v_1 - v_0|^2 / 2.
        """
        p, change = self.problem, v - self.image
        square = float(change @ change)
        t = 1.0
        if square > ROUNDING * abs(self.primal):
            t = min(max(0.5 + (dual - self.dual) / square, 0.0), 1.0)
        if t == 1.0:
            self.beta, self.slopes, self.image, self.dual = self.slopes, self.beta, v, dual
        elif t > 0.0:
            self.beta = (1.0 - t) * self.beta + t * self.slopes
            self.image = self.image + t * change
            self.dual = p.dual(self.beta, self.image)
        self.support = int(np.count_nonzero(self.beta))

    def move(self) -> float:
        """Make a step of Newton's method; return the passes over X that it took."""
        self.hessian.update(self.curvature)
        s, passes = self.hessian.direction(self.g)
        change, size = self.problem.design.margins(s), self.penalty * s
        t = line_search(
            self.problem.points, self.h, change, float(self.w @ size), float(s @ size), 1.0
        )
        self.w += t * s
        self.h += t * change
        self.examine()
        return passes + 2.0

    def gap(self) -> float:
        """Return P - D; once that is small enough, with the P of the weight vector of beta, the answer."""
        gap, p = self.primal - self.dual, self.problem
        if relative_gap(gap, self.dual) > self.goal:
            return gap
        h = p.decision(self.image)
        if p.is_free:
            h += line_search(p.points, h, np.ones(p.m), 0.0, 0.0, p.bias * self.w[-1])
        return 0.5 * float(self.image @ self.image) + p.total_loss(h) - self.dual


@dataclass(frozen=True)
class Newton(Solver):
    """Newton's method on the primal with an exact line search (Mangasarian 2002; Keerthi, DeCoste 2005).

    For losses with a derivative that is piecewise linear it ends after finitely many steps, mostly 5 to 15. The
    Hessian is a matrix where X has few columns; otherwise directions come from conjugate gradients with a
    preconditioner (Lin, Weng, Keerthi 2008; Hsia, Chiang, Lin 2018). The derivatives of the losses are the dual point.

    Parameters
    ----------
    loss : str or Loss, default="squared_hinge"
        Any piecewise linear-quadratic loss without a kink.
    bias : float or "free", default=1.0
        Value of the column added for the bias, which is regularised; 0 for no bias. "free" for a bias that is not
        regularised.
    wide : int, default=1000
        Number of columns up to which the Hessian is a matrix, the bias included.

    Raises
    ------
    InputError
        If `wide` is not an integer >= 0.
    """

    name = "newton"
    problem: ClassVar[type[Problem]] = LinearDual
    regression: ClassVar[type[Problem] | None] = LinearTubeDual
    terms = ("loss", "bias")
    losses = ("squared_hinge", Family.RIDGED, Family.SMOOTH)
    requires = (Requires.LINEAR_KERNEL,)
    frees_bias: ClassVar[bool] = True
    monotone: ClassVar[bool] = True
    recheck: ClassVar[int] = 1
    paper = "Keerthi, DeCoste 2005"

    loss: str | Loss = "squared_hinge"
    bias: float | str = field(default=1.0, metadata=NUMBER_OR_FREE)
    wide: int = WIDE

    def __post_init__(self) -> None:
        if not isinstance(self.wide, int) or self.wide < 0:
            raise InputError(f"wide must be a whole number >= 0, not {self.wide!r}")

    def patience(self, m: int) -> int:
        return 1000

    def init(self, problem: LinearDual, start: np.ndarray | None, draws: Draws) -> State:
        return State(problem, start, (draws.goal.gap if draws.goal else 0.0) or NEAR, self.wide)

    def step(self, state: State) -> StepInfo:
        before = state.primal, state.dual
        passes = state.move()
        gap = max(state.gap(), 0.0)
        return StepInfo(
            -state.dual,
            state.support,
            passes,
            gap=relative_gap(gap, state.dual),
            gap_abs=gap,
            moved=state.primal < before[0] or before[1] < state.dual,
            violation=float(np.abs(state.g).max()),
        )

    def solution(self, state: State) -> np.ndarray:
        return state.problem.balanced(state.problem.clip(state.beta))

    def resync(self, state: State, certificate: Certificate) -> None:
        state.anew()
