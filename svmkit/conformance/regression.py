"""Checks on a solver that regresses: its iterates, its certificate and its claims, on targets of every kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from svmkit.conformance.judging.judge import judge_regression
from svmkit.conformance.result import Check
from svmkit.conformance.solvers import TOL, toy, with_losses
from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Kernel, Laplacian, Linear, Poly
from svmkit.kernels.gram import Gram
from svmkit.problems.base import Problem
from svmkit.solver.base import Requires, Solver
from svmkit.solver.loop.solve import solve
from svmkit.solver.sampler import Draws, Full, Uniform
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations, Seconds
from svmkit.training.train import fit

EPSILON = 0.1
FEW = "CSR", "sample weights", "targets + 1e6"  # data for losses that are not the solver's own


def kernel_of(solver: Solver) -> Kernel | None:
    """Return a kernel with which the solver regresses; None if it does not."""
    kernel: Kernel = Linear() if Requires.LINEAR_KERNEL in solver.requires else RBF(0.5)
    return kernel if solver.regression_for(kernel) is not None else None


def curve(m: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Make m samples with duplicate rows and a constant feature, and targets that are a curve with noise.

    Returns
    -------
    X : ndarray of shape (m, 3), float64
        The features.
    t : ndarray of shape (m,), float64
        The targets; those of duplicate rows differ.
    """
    X, _ = toy(m=m)
    noise = np.random.default_rng(3).normal(size=m)
    return X, X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.3 * noise


def _pose(solver: Solver, kernel: Kernel, C: float = 1.0) -> Problem:
    X, t = curve()
    return solver.pose_regression(Gram(kernel, X), t, C, EPSILON)


def _converges(solver: Solver) -> str | None:
    kernel = kernel_of(solver)
    if kernel is None or not solver.certified:
        return None
    solution = solve(_pose(solver, kernel), solver, stop=Gap(TOL))
    gap = solution.certificate.gap
    if solution.status is Status.CONVERGED and gap is not None and gap <= TOL:
        return None
    return f"it ended as {solution.status} at gap {gap} instead of {TOL:g}"


def _feasible(solver: Solver) -> str | None:
    kernel = kernel_of(solver)
    if kernel is None:
        return None
    for sampler in (Full(), Uniform(7)):
        problem = _pose(solver, kernel, C=10.0)
        state = solver.init(problem, None, Draws(sampler, problem.y, np.random.default_rng(0)))
        for k in range(100):
            info = solver.step(state)
            point = solver.solution(state)
            reason = problem.infeasible(point)
            if reason:
                return f"after step {k + 1} with sampler {sampler.name}, {reason}"
            objective = problem.objective(point)
            if abs(info.objective - objective) > 1e-6 * max(abs(objective), 1e-6):  # nan: it is not known
                return f"step {k + 1} reports objective {info.objective:.9g}; from scratch it is {objective:.9g}"
    return None


def ordinary(solver: Solver, own: Kernel) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the arguments of trainings with their names: kernels, storages, weights and targets.

    Parameters
    ----------
    solver : Solver
        The solver, whose requirements of the kernel are kept.
    own : Kernel
        The kernel of all trainings that are about something else.
    """
    X, t = curve()
    plain = {"X": X, "t": t, "kernel": own, "C": 1.0, "epsilon": EPSILON, "sample_weight": None}
    for kernel in (Linear(), RBF(2.0), Laplacian(0.5), Poly(0.5, 2, 1.0)):
        if all(need.holds(kernel) for need in solver.requires) and solver.regression_for(kernel) is not None:
            yield f"{kernel.name} kernel", plain | {"kernel": kernel}
    weights = np.random.default_rng(1).integers(0, 4, len(t)).astype(np.float64)
    yield "CSR", plain | {"X": sp.csr_array(X * (np.abs(X) > 0.5))}
    yield "float32", plain | {"X": X.astype(np.float32)}
    yield "sample weights", plain | {"sample_weight": weights, "C": 10.0}
    yield "epsilon = 0", plain | {"epsilon": 0.0}
    yield "a tube that holds all targets", plain | {"epsilon": 100.0}
    yield "C = 1e-4", plain | {"C": 1e-4}
    yield "C = 1e6", plain | {"C": 1e6}
    yield "targets of size 1e6", plain | {"t": 1e6 * t, "epsilon": 1e5, "C": 1e6}
    yield "targets of size 1e-6", plain | {"t": 1e-6 * t, "epsilon": 1e-7, "C": 1e-6}
    yield "targets + 1e6", plain | {"t": t + 1e6}
    yield "two samples", plain | {"X": X[2:4], "t": t[2:4]}


def _judge(solver: Solver) -> str | None:
    own = kernel_of(solver)
    if own is None:
        return None
    for loss, variant in with_losses(solver, "regress").items():
        every = list(ordinary(variant, own))
        chosen = every if variant is solver else [(name, given) for name, given in every if name in FEW]
        said = false_claim(variant, chosen)
        if said is not None:
            return said if variant is solver else f"loss {loss}, {said}"
    return None


def false_claim(solver: Solver, every: Iterable[tuple[str, dict[str, Any]]]) -> str | None:
    """Return a claim of a run on some of the `ordinary` data that the judge finds false, or None."""
    for name, given in every:
        X, t, kernel = given.pop("X"), given.pop("t"), given.pop("kernel")
        stop = Gap(TOL) | Iterations(2000) | Seconds(0.3)
        try:
            done = fit(X, t, task="regress", solver=solver, kernel=kernel, stop=stop, **given)
        except InputError:
            continue
        verdict = judge_regression(done, X, t, solver=solver, tol=TOL, **given)
        if verdict is not None and verdict.false:
            return f"{name}: {verdict.false[0]}"
    return None


SOLVER: dict[str, Check] = {
    "its regressions converge, if it declares a problem of regression, and the certificate confirms it": Check(
        _converges,
        "With `regression` set, iterations go on until the relative duality gap of `pose_regression` is small enough.",
        "svmkit.solver.Solver.pose_regression",
    ),
    "its regressions keep to the constraints and report the objective": Check(
        _feasible,
        "After every step solution(state) satisfies the problem's constraints, and StepInfo.objective is the problem's "
        "objective there (nan if the solver does not know it).",
        "svmkit.solver.StepInfo, svmkit.problems.Problem.infeasible",
    ),
    "P, D, gap and predictions of its regressions are true, by the judge": Check(
        _judge,
        "The judge recomputes them in long double from the data and the coefficients, for every kernel that the solver "
        "takes, dense and sparse data, float32, weights, and targets of all sizes.",
        "svmkit.problems.Problem.regressor",
    ),
}
