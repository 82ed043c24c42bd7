"""A free bias for solvers of linear problems that regularise it: a search over one number, the centre of the bias."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from svmkit import plugins
from svmkit.errors import InputError
from svmkit.problems.certificate import Certificate, relative_gap
from svmkit.problems.risks.linear_problem import LinearProblem
from svmkit.problems.risks.linear_risk import LinearDual
from svmkit.solver.base import Solver
from svmkit.solver.sampler import Draws
from svmkit.solver.step_info import StepInfo

FACTS = "name paper monotone recheck reads sampler certified external"
METHODS = "reason_for check check_kernel"
SOLVED = 0.1  # gap of a neighbour, in units of the cost of its bias, at which its bias indicates the best one
WORTH = 0.02  # cost of the bias, as a share of the requested gap, below which the centre stays
FINEST = 1e-6  # that gap if none is requested
FAR = 50.0  # steps of the secant in units of the plain step
EVERY = 8  # the bias is checked again after an eighth of the steps so far


@dataclass(frozen=True)
class FreeBias(Solver):
    """A solver of problems `around` a centre, which moves the centre until its bias costs nothing.

    With the centre c, a neighbour has the penalty (b - c)^2 / (2 column^2) on the bias b. If b = c, its optimum is that
    of the free bias. Setting c = b is a step of the proximal point method (Rockafellar 1976); the distance b - c, which
    decreases in c, is a slope of the optimal value, so that secants through it need fewer steps.
    """

    inner: Solver

    def __post_init__(self) -> None:
        for own in (FACTS + " " + METHODS).split():  # which are those of the solver within
            object.__setattr__(self, own, getattr(self.inner, own))

    @property
    def params(self) -> dict[str, Any]:
        return self.inner.params

    def patience(self, m: int) -> int:
        return 10 * self.inner.patience(m)

    def init(self, problem: LinearProblem, start: np.ndarray | None, draws: Draws) -> _Search:
        """Return the state of a search for the centre, including a state of the inner solver.

        Parameters
        ----------
        problem, start, draws : LinearProblem, ndarray or None, Draws
            As for `Solver.init`.

        Raises
        ------
        InputError
            If the penalty has a share of |w|_1.
        """
        penalty = getattr(problem, "penalty", None)
        if penalty is not None and penalty.l1:
            able = ", ".join(plugins.solvers_where(lambda one: one.frees_bias and "penalty" in one.terms))
            raise InputError(f"a free bias with penalty={penalty.name} is for {able}; else give bias a number, 100 say")
        return _Search(self.inner, problem, start, draws)

    def step(self, state: _Search) -> StepInfo:
        state.problem.drop_points()  # of a certificate: not kept in addition to those of the neighbour
        info = self.inner.step(state.state)
        state.steps += info.steps
        if state.steps >= state.due:
            state.look()
        state.epochs += info.epochs
        if math.isnan(info.objective):  # the loop measures; the centre moves more and more rarely
            if state.epochs >= state.until:
                state.until *= 2.0
                state.move()
            return info
        cost = 0.5 * (state.shift / state.problem.bias) ** 2
        gap_abs = info.gap_abs + cost
        # a neighbour's P exceeds that of the point by the cost; its D is lower the farther its centre is off
        primal = gap_abs - info.objective - 2.0 * cost if state.is_dual else info.objective - cost
        dual = primal - gap_abs
        solved = info.gap_abs <= SOLVED * cost and cost > state.worth * max(abs(primal), abs(dual))
        moves = solved and not info.shrunk
        if moves:
            state.move()
        elif solved:
            self.reactivate(state)
        return info._replace(
            objective=-dual if state.is_dual else primal,
            gap_abs=gap_abs,
            gap=relative_gap(gap_abs, dual),
            moved=info.moved or moves,
        )

    def solution(self, state: _Search) -> np.ndarray:
        point = self.inner.solution(state.state)
        state.near.drop_points()
        state.problem.take_over(state.near)
        return state.problem.free(point, state.centre)

    def details(self, state: _Search) -> dict[str, float]:
        return self.inner.details(state.state)

    def reactivate(self, state: _Search) -> None:
        self.inner.reactivate(state.state)

    def resync(self, state: _Search, certificate: Certificate) -> None:
        state.move()


class _Search:
    """State of a search: the centre, the problem `near` it and the solver's state there; `shift` is the distance of the
    bias from the centre at the last look.
    """

    def __init__(self, solver: Solver, problem: LinearProblem, start: np.ndarray | None, draws: Draws) -> None:
        self.solver, self.problem, self.draws = solver, problem, draws
        self.is_dual = isinstance(problem, LinearDual)
        self.worth = WORTH * (draws.goal.gap if draws.goal else FINEST)
        self.steps, self.due, self.epochs, self.until = 0, 0, 0.0, 1.0
        self.forget()
        if start is None:
            self.begin(problem.best_bias(np.zeros(problem.m)), None)
        else:
            w = problem.weights(start) if self.is_dual else start
            centre = problem.best_bias(problem.decision(w)) if self.is_dual else problem.bias_of(w)
            self.begin(centre, problem.move(start, centre))

    def begin(self, centre: float, point: np.ndarray | None) -> None:
        """Continue the solver around another centre."""
        self.problem.drop_points()
        self.centre, self.near = centre, self.problem.around(centre)
        self.state = self.solver.init(self.near, point, self.draws)
        self.shift = 0.0 if point is None else self.near.bias_of(point)

    def look(self) -> None:
        """Measure the distance of the bias from the centre."""
        self.shift = self.near.bias_of(self.solver.solution(self.state))
        self.due = self.steps + 1 + self.steps // EVERY

    def forget(self) -> None:
        """Forget the bracket of the best bias, and the last centre with its shift."""
        self.low, self.high, self.last = -math.inf, math.inf, (math.nan, math.nan)

    def move(self) -> None:
        """Move the centre to the root of the secant of the last two shifts, or to the bias if the secant is useless."""
        self.look()
        centre, shift = self.centre, self.shift
        if not self.low < centre + shift < self.high:
            self.forget()  # an inexact shift had the wrong sign
        self.low, self.high = (centre, self.high) if shift > 0.0 else (self.low, centre)
        before, known = self.last
        step = -shift * (centre - before) / (shift - known) if shift != known else math.nan
        if not step * shift > 0.0:
            step = shift
        target = centre + float(np.clip(step, -FAR * abs(shift), FAR * abs(shift)))
        if not self.low < target < self.high:
            target = 0.5 * (self.low + self.high) if self.high - self.low < math.inf else centre + shift
        self.last = centre, shift
        point, before_move = self.solver.solution(self.state), self.near
        before_move.drop_points()
        self.state = None  # otherwise two states would determine the peak memory of a fit
        self.begin(target, self.near.move(point, target - centre))
        self.near.take_over(before_move)
