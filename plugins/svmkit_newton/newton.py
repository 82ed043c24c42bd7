"""Newton's method on the primal of linear problems."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from svmkit.errors import InputError
from svmkit.losses.base import PIECEWISE, Family, Loss
from svmkit.problems.base import NUMBER_OR_FREE, Problem
from svmkit.problems.certificate import Certificate, relative_gap
from svmkit.problems.risks.linear_risk import LinearDual, LinearTubeDual
from svmkit.problems.risks.many import SolvesMany
from svmkit.problems.risks.points import Points
from svmkit.runtime.mapping import is_mapped
from svmkit.solver.base import Solver
from svmkit.solver.requirements import Requires
from svmkit.solver.sampler import Draws, Goal
from svmkit.solver.step_info import StepInfo
from svmkit_newton.carried import Carried, read_carried
from svmkit_newton.from_disk import FromDisk, is_on_disk
from svmkit_newton.hessian import Matrix, Products
from svmkit_newton.narrow import Iterate, descend, examine, is_narrow, read_data
from svmkit_newton.proximal import LEAST, LEAST_CHANGE, LESS, find_centre, is_solved, put_centre, shares_of
from svmkit_newton.samples import fill_derivatives, line_search, part_toward
from svmkit_newton.tall import Tall, is_tall

NEAR = 1e-3  # gap below which the point is examined if no gap is asked for
AT_ONCE = 50  # steps of a call on little data
WIDE = 1000  # columns up to which the Hessian is a matrix
ENOUGH = 0.5  # share of the gradient whose half square is the gap asked for, at which directions end
FAR = 0.75  # times P at w = 0, beyond which a start is left
NONE = np.empty(0)


class State:
    """State of a solve: the primal iterate, and the dual point that is the answer.

    w (width,) has the decision values h (m,) and the objective `primal`; `slopes` and `curvature` (m,) are the first
    and second derivatives of its losses, and g the gradient. With a free bias, which costs nothing, the bias is the
    best one for the rest of w, so that the slopes sum to 0. The dual point beta (m,) has image = X'beta, `dual` and
    `support`; `gap` is the relative gap of beta once w is near the optimum, and that of w and beta before. Steps lower
    `merit`: P or, for losses with kinks, P of the problem smoothed around a centre, whose P - D is `excess`, with this
    `width`, at least `least`, divided over the samples by `shares`.
    """

    def __init__(
        self, problem: LinearDual, start: np.ndarray | None, goal: float, earlier: Mapping[str, Any] | None = None
    ) -> None:
        self.problem, self.goal = problem, goal
        m, width = problem.m, problem.design.width
        self.penalty = np.ones(width)
        if problem.is_free:
            self.penalty[-1] = 0.0
        self.slopes, self.curvature, self.g = np.empty(m), np.empty(m), np.empty(width)
        self.beta = np.zeros(m) if start is None else start.copy()
        self.image = np.zeros(width) if start is None else problem.weights(start)
        self.shares = shares_of(problem.points)
        self.carried = read_carried(earlier, width, self.shares)
        self.w = self.image.copy() if self.carried is None else self.carried.w
        self.h = problem.decision(self.w) if self.w.any() else np.zeros(m)
        self.primal, self.dual, self.gap = np.inf, problem.dual(self.beta, self.image), np.inf
        self.merit, self.excess, self.width, self.least, self.first_centre = np.inf, np.inf, 0.0, 0.0, self.beta
        if self.shares.size and self.carried is not None:
            _, self.first_centre, self.width, self.least = self.carried
        elif self.shares.size:
            self.width = self._first_width()
            self.least = LEAST * self.width
        self.support = int(np.count_nonzero(self.beta))

    def _first_width(self) -> float:
        """Return the width that changes the summed losses by P - D, or by a share of P if that is more."""
        p = self.problem
        h = self.h + p.best_bias(self.h) if p.is_free else self.h
        primal = 0.5 * float(self.image @ self.image) + p.total_loss(h)
        change = max(primal - self.dual, LEAST_CHANGE * primal)
        return change / float((1.0 / self.shares[self.shares > 0.0]).sum()) or 1.0

    def anew(self) -> None:
        """Compute everything at w from scratch."""
        self.h[:] = self.problem.decision(self.w) if self.w.any() else 0.0
        self.examine()

    @property
    def centre(self) -> np.ndarray:
        """The centre (m,) around which losses with kinks are smoothed, if there are any."""
        raise NotImplementedError

    def examine(self) -> None:
        """Set the bias, where it is free, the derivatives and P at w, and raise D by them."""
        raise NotImplementedError

    def move(self, most: int) -> tuple[int, float, np.ndarray | None]:
        """Make up to `most` steps; return their number, the passes over X and what `StepInfo.trail` holds."""
        raise NotImplementedError


class Narrow(State):
    """State of a solve on little data, whose steps are compiled."""

    def __init__(
        self, problem: LinearDual, start: np.ndarray | None, goal: float, earlier: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(problem, start, goal, earlier)
        m, width = problem.m, problem.design.width
        self.data = read_data(problem, self.penalty, self.shares)
        arrays = self.w, self.h, self.slopes, self.curvature, self.g, self.beta, self.image
        values = np.array([0.0, self.dual, 0.0, self.support, 0.0, 0.0, self.width, self.least])
        self.iterate = Iterate(*arrays, values, np.zeros(m), np.zeros((width, width)))
        if self.shares.size:
            put_centre(self.data.exact, self.data.below, self.shares, self.width, self.first_centre, self.data.rows)
        self.examine()

    @property
    def centre(self) -> np.ndarray:
        return find_centre(self.data.exact, self.shares, self.width, self.data.rows)

    def examine(self) -> None:
        examine(self.data, self.iterate, self.goal)
        self._read()

    def move(self, most: int) -> tuple[int, float, np.ndarray | None]:
        trail = np.empty((most, 5))
        count = descend(self.data, self.iterate, self.goal, most, trail)
        self._read()
        return count, 3.0 * count, trail[: count - 1] if count > 1 else None

    def _read(self) -> None:
        self.primal, self.dual, self.gap, support, self.merit, _, self.width, _ = self.iterate.values.tolist()
        self.support = int(support)


class Wide(State):
    """State of a solve on much data, whose steps consist of products with X on all threads.

    Few arrays (m,) are kept: `slopes` also serves as scratch space, both derivatives are dropped for a certificate, and
    beta is shared with callers once it `is_given` to them.
    """

    def __init__(
        self,
        problem: LinearDual,
        start: np.ndarray | None,
        goal: float,
        wide: int,
        over: Callable[[], bool] = lambda: False,
        passes: float = np.inf,
        earlier: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(problem, start, goal, earlier)
        self.is_given = False
        exact = problem.design.width <= wide
        self.hessian: Matrix | Products
        given = problem.design, self.penalty
        self.hessian = Matrix(*given) if exact else Products(*given, over, passes)
        self.is_paired = not (exact or self.shares.size)  # w is the model, not the image of the dual weights
        self.is_fused = is_mapped(problem.design.rows)  # rows on disk are read once for gradient and Hessian
        self.points = problem.points
        if self.shares.size:
            self.points = Points(problem.points.rows.copy(), problem.points.below)
            self._put_centre(self.first_centre)
        if self.is_paired and start is not None and self.carried is None:
            self._leave_if_far()
        self.examine()

    def _leave_if_far(self) -> None:
        """Start at w = 0 unless P at the image of the dual weights is clearly lower: if these are far from the optimum
        and C is large, so is their image, in directions that take many steps.
        """
        p, zeros, size = self.problem, np.zeros(self.problem.m), self.penalty * self.image
        at_zero, losses = (p.total_loss(h + p.best_bias(h) if p.is_free else h) for h in (zeros, self.h))
        if 0.5 * float(size @ size) + losses > FAR * at_zero:
            self.w[:], self.h = 0.0, zeros

    @property
    def centre(self) -> np.ndarray:
        return find_centre(self.problem.points.rows, self.shares, self.width, self.points.rows)

    def _put_centre(self, centre: np.ndarray) -> None:
        put_centre(*self.problem.points, self.shares, self.width, centre, self.points.rows)

    def examine(self) -> None:
        p = self.problem
        self._make_room()
        if p.is_free:
            self.slopes.fill(1.0)
            self._shift(line_search(self.points, self.h, self.slopes, 0.0, 0.0, 0.0))
        sums = fill_derivatives(self.points, self.h, self.slopes, self.curvature)
        along = self.hessian.add_rows if self.is_fused and self.hessian.begin(self.curvature) else None
        v, size = p.weights(self.slopes, along), self.penalty * self.w
        self.g = size - v
        if p.is_free:
            self.g[-1] = -p.bias * self.slopes.sum()
        norm, image = 0.5 * float(size @ size), 0.5 * float(v @ v)
        self.primal = self.merit = norm + sums.loss
        dual = sums.linear - image - 0.5 * sums.ridged
        self.excess = self.merit - dual
        if self.shares.size:
            self.primal, dual = norm + p.total_loss(self.h), p.dual(self.slopes, v)
        self._raise(dual, v)
        self.gap = self._gap()

    def _make_room(self) -> None:
        if not self.slopes.size:
            self.slopes, self.curvature = np.empty(self.problem.m), np.empty(self.problem.m)

    def solution(self) -> np.ndarray:
        """Return the feasible dual weights (m,), which do not change after that."""
        self.slopes = self.curvature = NONE
        self.hessian.forget()
        point = self.problem.clip(self.beta, out=None if self.is_given else self.beta)
        self.is_given = self.is_given or point is self.beta
        point = self.problem.balanced(point)
        if self.is_paired:
            self.problem.pair(point, self.w.copy())
        return point

    def _shift(self, bias: float) -> None:
        self.h += bias
        self.w[-1] += bias / self.problem.bias

    def _raise(self, dual: float, v: np.ndarray) -> None:
        """Move beta toward the slopes, whose D is `dual` and whose image is v, as far as a bound on D rises."""
        p, change = self.problem, v - self.image
        t = part_toward(self.dual, dual, float(change @ change), self.primal)
        if t == 1.0:
            self._put(self.slopes.copy() if self.shares.size else self.slopes)
            self.image, self.dual = v, dual
        elif t > 0.0:
            way = self.slopes - self.beta if self.shares.size else np.subtract(self.slopes, self.beta, out=self.slopes)
            way *= t
            way += self.beta
            self._put(way)
            self.image = self.image + t * change
            self.dual = p.dual(self.beta, self.image)
        self.support = int(np.count_nonzero(self.beta))

    def _put(self, beta: np.ndarray) -> None:
        """Set the dual weights to beta (m,); if that is the scratch array, allocate another one."""
        if beta is self.slopes:
            self.slopes = np.empty(self.problem.m) if self.is_given else self.beta
        self.beta, self.is_given = beta, False

    def move(self, most: int) -> tuple[int, float, np.ndarray | None]:
        p = self.problem
        if not self.slopes.size:
            self._make_room()
            fill_derivatives(self.points, self.h, self.slopes, self.curvature)
            self.hessian.remember(self.curvature)
        if not self.is_fused:
            self.hessian.update(self.curvature)
        enough = ENOUGH * math.sqrt(2.0 * self.goal * max(self.dual, 0.0)) if self.is_paired else 0.0
        s, passes = self.hessian.direction(self.g, self.slopes, enough, self.merit)
        change, size = p.design.margins(s, out=self.slopes), self.penalty * s
        t = line_search(self.points, self.h, change, float(self.w @ size), float(s @ size), 1.0)
        self.w += t * s
        change *= t
        self.h += change
        before = self.merit, self.dual
        self.examine()
        is_stuck = not (self.merit < before[0] or self.dual > before[1])
        if self.shares.size and self.gap > self.goal:
            is_due = is_stuck or is_solved(self.excess, self.merit, self.primal - self.dual)
            if is_due and self.width * LESS >= self.least:
                self.width *= LESS
                self._put_centre(self.slopes)
                self.examine()
        return 1, passes + 3.0, None

    def _gap(self) -> float:
        """Return the gap of w and beta; once that is small enough, the gap of beta alone, which is the answer."""
        gap, p = relative_gap(self.primal - self.dual, self.dual), self.problem
        if self.is_paired:
            return max(gap, 0.0)
        if gap > self.goal:
            return gap
        if p.is_free:
            h, start = p.decision(self.image), p.bias * self.w[-1]
            if not self.shares.size:  # else the best one for losses around a centre is close to the best one
                self.slopes.fill(1.0)
                start = line_search(p.points, h, self.slopes, 0.0, 0.0, start)
            h += start
        else:
            h = p.design.margins(self.image, out=None if self.shares.size else self.slopes)
        primal = 0.5 * float(self.image @ self.image) + p.total_loss(h)
        return max(relative_gap(primal - self.dual, self.dual), 0.0)


@dataclass(frozen=True)
class Newton(Solver):
    """Newton's method on the primal with an exact line search (Mangasarian 2002; Keerthi, DeCoste 2005).

    For losses with a piecewise linear derivative it ends after finitely many steps, mostly 5 to 15. The Hessian is a
    matrix where X has few columns; otherwise directions come from conjugate gradients with a preconditioner (Lin, Weng,
    Keerthi 2008; Hsia, Chiang, Lin 2018). The derivatives of the losses are the dual point. Losses with a kink become
    smooth around a centre that moves, by the proximal point method (Rockafellar 1976).

    Parameters
    ----------
    loss : str or Loss, default="squared_hinge"
        Any piecewise linear-quadratic loss, or the logistic one.
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
    joint = ("multinomial",)
    problem: ClassVar[type[Problem]] = LinearDual
    regression: ClassVar[type[Problem] | None] = LinearTubeDual
    terms = ("loss", "bias")
    losses = ("squared_hinge", "hinge", *PIECEWISE, Family.LOGISTIC)
    requires = (Requires.LINEAR_KERNEL,)
    frees_bias: ClassVar[bool] = True
    examines: ClassVar[bool] = True
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

    def batch_code(self) -> SolvesMany:
        from svmkit_newton.many import STEPS, measure, solve  # here: not every solve needs it

        return SolvesMany(is_narrow, measure, STEPS, solve)

    def joint_solver(self, scheme: str) -> Solver | None:
        if scheme not in self.joint:
            return None
        from svmkit_newton.multinomial import MultinomialNewton  # here: most fits have two classes at a time

        if (self.loss.name if isinstance(self.loss, Loss) else self.loss) != "logistic":
            raise InputError(f"multiclass=multinomial has the loss logistic, not {self.loss}")
        return MultinomialNewton(bias=self.bias)

    def init(self, problem: LinearDual, start: np.ndarray | None, draws: Draws) -> State:
        """Return the state that suits the shape of X: `Narrow`, `Tall`, `FromDisk` or `Wide`.

        Parameters
        ----------
        problem, start, draws : LinearDual, ndarray or None, Draws
            As for `Solver.init`.
        """
        goal = draws.goal or Goal(0.0, 1.0)
        gap, most = goal.gap or NEAR, 1 if goal.watched else int(min(goal.iterations, AT_ONCE))
        state: Narrow | Tall | Wide
        on_disk = is_on_disk(problem, self.wide)
        if not on_disk:
            problem.examine()
        if is_narrow(problem.m, problem.design.width):
            state = Narrow(problem, start, gap, draws.carried)
        elif is_tall(problem, self.wide):
            state = Tall(problem, start, gap, draws.over, draws.carried)
        elif on_disk:
            state = FromDisk(problem, start, gap, draws.over, draws.carried)
        else:
            state = Wide(problem, start, gap, self.wide, draws.over, goal.passes, draws.carried)
        state.most = max(most, 1)
        return state

    def step(self, state: State) -> StepInfo:
        before = state.merit, state.dual, state.width
        count, passes, trail = state.move(state.most)
        size = max(abs(state.primal), abs(state.dual))
        return StepInfo(
            -state.dual,
            state.support,
            passes,
            gap=state.gap,
            gap_abs=state.gap * size,
            moved=state.merit < before[0] or before[1] < state.dual or state.width < before[2],
            steps=count,
            violation=float(np.abs(state.g).max()),
            trail=trail,
        )

    def solution(self, state: State) -> np.ndarray:
        if isinstance(state, Tall | Wide):
            return state.solution()
        return state.problem.balanced(state.problem.clip(state.beta))

    def carry(self, state: State) -> dict[str, Any] | None:
        centre = state.centre if state.width else NONE
        return Carried(state.w, centre, state.width, state.least).to_plain()

    def resync(self, state: State, certificate: Certificate) -> None:
        state.anew()
