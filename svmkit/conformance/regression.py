"""Checks on a solver that regresses: its iterates, its certificate and its claims, on targets of every kind."""

from __future__ import annotations

from svmkit.conformance.honesty import EPSILON, curve, judge_losses
from svmkit.conformance.result import Check, check
from svmkit.conformance.solvers import TOL, find_wrong_iterate, kernel_for
from svmkit.kernels.gram import Gram
from svmkit.problems.base import Problem
from svmkit.solver.base import Solver
from svmkit.solver.loop.solve import solve
from svmkit.solver.sampler import Full, Uniform
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap


def _regresses(solver: Solver) -> bool:
    return solver.regression_for(kernel_for(solver)) is not None


def _pose(solver: Solver, C: float = 1.0) -> Problem:
    X, t = curve()
    return solver.pose_regression(Gram(kernel_for(solver), X), t, C, EPSILON)


def _converges(solver: Solver) -> str | None:
    """With `regression` set, iterations go on until the relative duality gap of `pose_regression` is small enough."""
    if not _regresses(solver) or not solver.certified:
        return None
    solution = solve(_pose(solver), solver, stop=Gap(TOL))
    gap = solution.certificate.gap
    if solution.status is Status.CONVERGED and gap is not None and gap <= TOL:
        return None
    return f"it ended as {solution.status} at gap {gap} instead of {TOL:g}"


def _feasible(solver: Solver) -> str | None:
    """After every step solution(state) satisfies the problem's constraints, and StepInfo.objective is the problem's
    objective there (nan if the solver does not know it).
    """
    samplers = (Full(), Uniform(7)) if _regresses(solver) else ()
    wrong = (find_wrong_iterate(_pose(solver, C=10.0), solver, sampler) for sampler in samplers)
    return next(filter(None, wrong), None)


def _judge(solver: Solver) -> str | None:
    """The judge recomputes them in long double from the data and the coefficients, for every kernel that the solver
    takes, dense and sparse data, float32, weights, and targets of all sizes.
    """
    return judge_losses(solver, "regress") if _regresses(solver) else None


SOLVER: dict[str, Check] = {
    "its regressions converge, if it declares a problem of regression, and the certificate confirms it": check(
        _converges, "svmkit.solver.Solver.pose_regression"
    ),
    "its regressions keep to the constraints and report the objective": check(
        _feasible, "svmkit.solver.StepInfo, svmkit.problems.Problem.infeasible"
    ),
    "P, D, gap and predictions of its regressions are true, by the judge": check(
        _judge, "svmkit.problems.Problem.regressor"
    ),
}
