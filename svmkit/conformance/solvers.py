"""Checks on solver plugins, on small problems of the supported type and with a supported kernel."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from svmkit import plugins
from svmkit.conformance.result import Check, check
from svmkit.errors import InputError, SvmkitWarning
from svmkit.kernels.functions import RBF, Kernel, Linear
from svmkit.kernels.gram import Gram
from svmkit.losses.by_name import make_loss
from svmkit.problems.base import Problem
from svmkit.problems.simplex import SimplexQP
from svmkit.solver.base import Solver
from svmkit.solver.capabilities import LearnsFromStreams, LimitsSupport
from svmkit.solver.loop.solve import solve
from svmkit.solver.requirements import Requires
from svmkit.solver.sampler import Draws, Full, Sampler, Uniform
from svmkit.solver.solution import Solution, Status
from svmkit.solver.stopping import Criterion, Gap, Iterations
from svmkit.training.stream.subproblem import Arriving

TOL = 1e-3
EPSILON = 0.1
OTHER = {"delta": 0.5, "tau": 0.8}  # options of losses to test
LOOSE = 1e-2  # for solvers without a dual point of their own, whose final convergence is slow


def tolerance(solver: Solver) -> float:
    """The relative gap that `solver` has to reach."""
    return TOL if solver.certified else LOOSE


def toy(seed: int = 0, m: int = 90, share: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """Make X (m, 3), with duplicate rows and a constant feature, and y (m,) of two overlapping classes: first +1, with
    this share and at least two samples, and then -1.
    """
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(m) < max(2, round(share * m)), 1.0, -1.0)
    X = np.column_stack([rng.normal(size=(m, 2)) + 0.8 * y[:, None], np.full(m, 3.0)])
    X[1], X[-1] = X[0], X[-2]
    return X, y


def kernel_for(solver: Solver) -> Kernel:
    """Return a kernel that the solver supports."""
    return Linear() if Requires.LINEAR_KERNEL in solver.requires else RBF(0.5)


def curve(m: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Make X (m, 3) with duplicate rows, whose targets (m,) differ, and a constant feature; a curve with noise."""
    X, _ = toy(m=m)
    noise = np.random.default_rng(3).normal(size=m)
    return X, X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.3 * noise


def regresses(solver: Solver) -> bool:
    """Return whether a solver supports regression, with the kernel of its tests."""
    return solver.regression_for(kernel_for(solver)) is not None


def with_losses(solver: Solver, task: str) -> dict[str, Solver]:
    """Return the solver with each loss of a task that it supports, by name: first its default, then those of other
    names. Losses with options have non-default values; a solver without a loss option is returned alone.
    """
    variants = {solver.loss_for(kernel_for(solver), task).name: solver}
    for name in solver.loss_names(task) if "loss" in plugins.options(type(solver)) else ():
        options = {key: value for key, value in OTHER.items() if key in plugins.options(plugins.load("loss", name))}
        given = make_loss(name, task, options) if options else name
        variants.setdefault(name, replace(solver, loss=solver.loss_option(given)))  # type: ignore[call-arg]
    return variants


def problem_for(solver: Solver, C: float = 1.0, **data: Any) -> Problem:
    """Pose a small problem of a solver's type and with its kernel; `data` are the parameters of `toy`."""
    X, y = toy(**data)
    return solver.pose(Gram(kernel_for(solver), X), y, C)


def begin(problem: Problem, solver: Solver, sampler: Sampler | None = None) -> Any:
    """Return the state of a solver at the beginning, by default with its own sampler."""
    return solver.init(problem, None, Draws(sampler or solver.sampler, problem.y, np.random.default_rng(0)))


def solve_with(sampler: Sampler, problem: Problem, solver: Solver, stop: Criterion, seed: int = 0) -> Solution:
    """Solve a problem with a sampler, without the warning that the solver looks at all points.

    Parameters
    ----------
    sampler, problem, solver, stop, seed : Sampler, Problem, Solver, Criterion, int
        As for `solve`.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* looks at all points", SvmkitWarning)
        return solve(problem, solver, sampler=sampler, stop=stop, seed=seed)


def find_wrong_iterate(problem: Problem, solver: Solver, sampler: Sampler) -> str | None:
    """Report the first iterate that is infeasible, a view of the state, or of another objective than reported."""
    state = begin(problem, solver, sampler)
    for k in range(1, 201):
        info = solver.step(state)
        point = solver.solution(state)
        reason = problem.infeasible(point)
        if reason:
            return f"after step {k} with sampler {sampler.name}, {reason}"
        objective = problem.objective(point)
        if abs(info.objective - objective) > 1e-6 * max(abs(objective), 1e-6):  # nan: it is unknown
            return f"step {k} reports objective {info.objective:.9g}; from scratch it is {objective:.9g}"
        point[:] = np.nan
        if not np.isfinite(solver.solution(state)).all():
            return "solution(state) is a view of the state: return an array of its own"
    return None


def _converges(solver: Solver) -> str | None:
    """Iterations go on until the relative duality gap, computed from scratch, is below the requested tolerance."""
    tol = tolerance(solver)
    solution = solve(problem_for(solver), solver, stop=Gap(tol))
    certificate = solution.certificate
    if certificate.gap is None:
        return None if np.isfinite(certificate.primal) else f"its primal value is {certificate.primal}"
    if solution.status is not Status.CONVERGED or certificate.gap > tol:
        return f"it ended as {solution.status} at gap {certificate.gap:.2g} instead of {tol:g}"
    return None


def _feasible(solver: Solver) -> str | None:
    """solution(state) satisfies the problem's constraints after every step and is an array of its own;
    StepInfo.objective is the problem's objective there (nan if the solver does not know it).
    """
    wrong = (find_wrong_iterate(problem_for(solver, C=10.0), solver, one) for one in (Full(), Uniform(7)))
    return next(filter(None, wrong), None)


def _monotone(solver: Solver) -> str | None:
    """With monotone = True no step makes the objective worse; leave it False if a step can."""
    if not solver.monotone:
        return None
    problem = problem_for(solver, C=10.0)
    state = begin(problem, solver, Full())
    before = np.inf
    for k in range(500):
        objective = solver.step(state).objective
        if objective > before + 1e-12 * abs(before):
            return f"declared monotone, but step {k + 1} went from {before:.12g} to {objective:.12g}"
        before = objective
    return None


def _same_seed(solver: Solver) -> str | None:
    """Random choices come from draws.rng, and nothing depends on hashes, clocks or the order of threads."""
    runs = [solve_with(Uniform(7), problem_for(solver), solver, Iterations(60), seed=3) for _ in range(2)]
    return None if np.array_equal(runs[0].point, runs[1].point) else "two runs with seed 3 gave different points"


def _counts_values(solver: Solver) -> str | None:
    """Kernel values come from problem.gram (row, block, matvec), which counts them."""
    problem = problem_for(solver)
    gram, seen = problem.gram, [0]
    engine, pause_counting = gram.engine, gram.pause_counting
    block, square, product = engine.block, engine.square, engine.product

    def counting_block(Z, out, *sel):
        seen[0] += out.size
        return block(Z, out, *sel)

    def counting_square(at, out):
        before = seen[0]
        square(at, out)
        seen[0] = before + out.size  # whether or not it has called `block`
        return out

    def counting_product(Z, coef, *sel):
        result = product(Z, coef, *sel)
        seen[0] += result.shape[0] * len(coef)
        return result

    @contextmanager
    def looking() -> Iterator[None]:
        before = seen[0]
        with pause_counting():
            yield
        seen[0] = before  # measurements are not part of the solve

    engine.block, engine.square, engine.product = counting_block, counting_square, counting_product  # type: ignore[method-assign]
    gram.pause_counting = looking  # type: ignore[method-assign]
    solve(problem, solver, stop=Gap(TOL) | Iterations(300))
    if seen[0] != gram.kernel_values:
        return f"{seen[0]} kernel values were computed but {gram.kernel_values} counted: go through Gram"
    return None


def _warm_start(solver: Solver) -> str | None:
    """From its own solution the solver needs no more iterations than without a start."""
    cold = solve(problem_for(solver), solver, stop=Gap(tolerance(solver)))
    brief = Iterations(max(1, cold.n_iter // 10))
    again = solve(problem_for(solver), solver, stop=brief).certificate
    warm = solve(problem_for(solver), solver, stop=brief, start=cold.point).certificate
    if warm.primal > min(again.primal, cold.certificate.primal * (1.0 + tolerance(solver))):
        return (
            f"after {brief.limit} iterations from its own solution (primal {cold.certificate.primal:.6g}) the primal "
            f"value is {warm.primal:.6g}; without a start {again.primal:.6g}"
        )
    return None


def _one_class(solver: Solver) -> str | None:
    """The problem, or the solver, raises svmkit.InputError."""
    X, y = toy()
    try:
        problem = solver.pose(Gram(kernel_for(solver), X), np.ones_like(y), 1.0)
        solve(problem, solver, stop=Iterations(5))
    except InputError:
        return None
    return "training on one class should raise InputError"


def _interrupts(solver: Solver) -> str | None:
    """A step is short and ends in a feasible iterate, so that the loop can stop between two steps."""
    if solver.external:
        return None
    solution = solve(problem_for(solver), solver, callbacks=[lambda point: True])
    if solution.status is not Status.INTERRUPTED:
        return f"a callback asked to stop, but the status is {solution.status}"
    return None if np.isfinite(solution.certificate.primal) else "the interrupted model has no finite primal value"


def _ugly(solver: Solver) -> str | None:
    """For all data, the primal value is finite and the gap lies between 0 and 1."""
    for C in (1e-4, 1.0, 1e6):
        for share in (0.5, 0.03):
            problem = problem_for(solver, C=C, share=share)
            solution = solve(problem, solver, stop=Gap(TOL) | Iterations(500))
            gap = solution.certificate.gap
            if not np.isfinite(solution.certificate.primal) or (gap is not None and not -1e-9 <= gap <= 1.0 + 1e-9):
                return f"C={C:g}, {share:.0%} positive: primal {solution.certificate.primal}, gap {gap}"
    return None


def _keeps_budget(solver: Solver) -> str | None:
    """With base class LimitsSupport, limit_support(state, n) keeps solution(state) at n non-zero weights or fewer."""
    if not isinstance(solver, LimitsSupport):
        return None
    for sampler in (solver.sampler, Uniform(7)):
        problem = problem_for(solver, C=10.0)
        state = begin(problem, solver, sampler)
        solver.limit_support(state, 5)
        for k in range(200):
            solver.step(state)
            count = np.count_nonzero(solver.solution(state))
            if count > 5:
                return f"limited to 5 vectors, it has {count} after step {k + 1} with sampler {sampler}"
    return None


def _streams(solver: Solver) -> str | None:
    """With base class LearnsFromStreams, members and renew carry the state from block to block, and the model is the
    one that a single block of all samples gives.
    """
    if not isinstance(solver, LearnsFromStreams):
        return None
    X, y = toy()
    order = np.random.default_rng(1).permutation(len(y))
    X, y, half = X[order], y[order], len(y) // 2
    kernel = kernel_for(solver)

    def problem(rows: np.ndarray) -> Problem:
        return solver.pose(Gram(kernel, X[rows]), y[rows], 1.0)

    every = np.arange(len(y))
    vertex = isinstance(problem(every), SimplexQP)  # all the weight is there at the start

    def learn(problem: Problem, state: Any, start: int) -> Any:
        draws = Draws(Arriving(start), problem.y, np.random.default_rng(0))
        if state is None:
            state = solver.init(problem, np.eye(problem.m)[0] if vertex else None, draws)
        else:
            solver.renew(state, problem, draws)
        left = problem.m - start
        while left > 0:
            left -= max(1, round(solver.step(state).epochs * problem.m))
        return state

    whole = solver.solution(learn(problem(every), None, int(vertex)))
    state = learn(problem(every[:half]), None, int(vertex))
    rows = np.concatenate([every[:half][solver.members(state)], every[half:]])
    last = problem(rows)
    state = learn(last, state, len(rows) - (len(y) - half))
    parts = np.zeros_like(whole)
    parts[... if last.is_linear else rows] = solver.solution(state)
    difference = np.abs(parts - whole).max()
    if difference <= 1e-6:
        return None
    return f"learnt in two blocks, weights differ by up to {difference:.2g} from the weights learnt in one"


def _pose(solver: Solver, C: float = 1.0) -> Problem:
    X, t = curve()
    return solver.pose_regression(Gram(kernel_for(solver), X), t, C, EPSILON)


def _regressions_converge(solver: Solver) -> str | None:
    """With `regression` set, iterations go on until the relative duality gap of `pose_regression` is small enough."""
    if not regresses(solver) or not solver.certified:
        return None
    solution = solve(_pose(solver), solver, stop=Gap(TOL))
    gap = solution.certificate.gap
    if solution.status is Status.CONVERGED and gap is not None and gap <= TOL:
        return None
    return f"it ended as {solution.status} at gap {gap} instead of {TOL:g}"


def _regressions_feasible(solver: Solver) -> str | None:
    """After every step solution(state) satisfies the problem's constraints, and StepInfo.objective is the problem's
    objective there (nan if the solver does not know it).
    """
    samplers = (Full(), Uniform(7)) if regresses(solver) else ()
    wrong = (find_wrong_iterate(_pose(solver, C=10.0), solver, sampler) for sampler in samplers)
    return next(filter(None, wrong), None)


SOLVER: dict[str, Check] = {
    "it reaches the tolerance, and the certificate confirms it": check(_converges, "svmkit.solver.Solver.step"),
    "each iterate is feasible, and its objective is the one reported": check(
        _feasible, "svmkit.solver.StepInfo, svmkit.problems.Problem.infeasible"
    ),
    "the objective never rises, if the solver declares itself monotone": check(
        _monotone, "svmkit.solver.Solver.monotone"
    ),
    "the same seed gives the same result": check(_same_seed, "svmkit.solver.Solver.init"),
    "every kernel value is counted": check(_counts_values, "svmkit.kernels.Gram"),
    "a start near the optimum helps": check(_warm_start, "svmkit.solver.Solver.init"),
    "training on one class is refused": check(_one_class, "svmkit.problems.Problem.from_loss"),
    "it stops when asked to, with a usable model": check(_interrupts, "svmkit.solver.Solver.step"),
    "it copes with C from 1e-4 to 1e6, classes in the ratio 97:3 and duplicate rows": check(
        _ugly, "svmkit.problems.Certificate"
    ),
    "it keeps to a limit on support vectors, if it declares that it does": check(
        _keeps_budget, "svmkit.solver.LimitsSupport.limit_support"
    ),
    "it learns from a stream as from a set, if it declares that it does": check(
        _streams, "svmkit.solver.LearnsFromStreams.renew"
    ),
}
REGRESSION: dict[str, Check] = {
    "its regressions converge, if it declares a problem of regression, and the certificate confirms it": check(
        _regressions_converge, "svmkit.solver.Solver.pose_regression"
    ),
    "its regressions keep to the constraints and report the objective": check(
        _regressions_feasible, "svmkit.solver.StepInfo, svmkit.problems.Problem.infeasible"
    ),
}
