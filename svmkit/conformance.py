"""What every plugin must satisfy: `svmkit check NAME`, and the tests of svmkit and of plugin packages.

    from svmkit.conformance import check_plugin
    assert not [r for r in check_plugin("mine") if r.problem]

Each check is a small function that returns None, or in words what does not hold.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from svmkit import plugins
from svmkit.errors import InputError, UnknownName
from svmkit.gram import Gram
from svmkit.history import Point
from svmkit.kernels import RBF, Kernel, Linear, Precomputed
from svmkit.loop import solve
from svmkit.problem import Problem
from svmkit.sampler import Draws, Full, Sampler
from svmkit.solver import Requires, Solver, Status
from svmkit.stopping import Gap, Iterations

TOL = 1e-3


class Result(NamedTuple):
    """One check: `problem` is None when it holds."""

    check: str
    problem: str | None


def check_plugin(name: str, kind: str | None = None) -> list[Result]:
    """Run every check on the plugin `name` of `kind`, by default the first of solver, kernel, sampler that has it."""
    kinds = [kind] if kind else [k for k in ("solver", "kernel", "sampler") if name in plugins.names(k)]
    if not kinds:
        every = ", ".join(n for k in ("solver", "kernel", "sampler") for n in plugins.names(k))
        raise UnknownName(f"there is no solver, kernel or sampler {name!r}; there are: {every}")
    checks = {"solver": SOLVER, "kernel": KERNEL, "sampler": SAMPLER}
    if kinds[0] not in checks:
        raise InputError(f"--kind {kinds[0]!r} has no checks; there are: {', '.join(checks)}")
    plugin = plugins.build(kinds[0], name)  # type: ignore[arg-type]
    named = {"named, documented, plain options": lambda plugin: _named(plugin, name, kinds[0])}
    return [Result(title, _run(check, plugin)) for title, check in (named | checks[kinds[0]]).items()]


def _run(check: Callable[[Any], str | None], plugin: Any) -> str | None:
    try:
        return check(plugin)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def toy(seed: int = 0, m: int = 90, share: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """Two overlapping classes in three dimensions, with duplicate rows and a constant feature."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(m) < max(2, round(share * m)), 1.0, -1.0)
    X = np.column_stack([rng.normal(size=(m, 2)) + 0.8 * y[:, None], np.full(m, 3.0)])
    X[1], X[-1] = X[0], X[-2]
    return X, y


def problem_for(solver: Solver, C: float = 1.0, **data: Any) -> Problem:
    """A small problem of the type and with the kernel that `solver` takes."""
    X, y = toy(**data)
    kernel: Kernel = Linear() if Requires.LINEAR_KERNEL in solver.requires else RBF(0.5)
    return solver.problem.classifier(Gram(kernel, X), y, C)


def _named(plugin: Any, name: str, kind: str) -> str | None:
    if plugin.name != name:
        return f"it calls itself {plugin.name!r} but is registered as {name!r}"
    if kind == "solver" and len(name) > 10:
        return "the name is longer than 10 characters, where MLflow's comparison cuts it"
    if not (type(plugin).__doc__ or "").strip():
        return "it has no docstring"
    settings = getattr(plugin, "__dataclass_params__", None)
    if settings is None or not settings.frozen:
        return "it is not a frozen dataclass"
    json.dumps({f.name: getattr(plugin, f.name) for f in dataclasses.fields(plugin)})
    return None


def _converges(solver: Solver) -> str | None:
    solution = solve(problem_for(solver), solver, stop=Gap(TOL))
    certificate = solution.certificate
    if certificate.gap is None:
        return None if np.isfinite(certificate.primal) else f"its primal value is {certificate.primal}"
    if solution.status is not Status.CONVERGED or certificate.gap > TOL:
        return f"it ended as {solution.status} at gap {certificate.gap:.2g} instead of {TOL:g}"
    return None


def _feasible(solver: Solver) -> str | None:
    for sampler in (Full(), plugins.sampler("uniform:7")):
        problem = problem_for(solver, C=10.0)
        state = solver.init(problem, None, Draws(sampler, problem.y, np.random.default_rng(0)))
        for k in range(200):
            info = solver.step(state)
            point = solver.solution(state)
            reason = problem.infeasible(point)
            if reason:
                return f"after step {k + 1} with sampler {sampler.name}, {reason}"
            objective = problem.objective(point)
            if abs(info.objective - objective) > 1e-6 * abs(objective):
                return f"step {k + 1} reports objective {info.objective:.9g}; from scratch it is {objective:.9g}"
            point[:] = np.nan
            if not np.isfinite(solver.solution(state)).all():
                return "solution(state) is a view of the state: return an array of its own"
    return None


def _monotone(solver: Solver) -> str | None:
    if not solver.monotone:
        return None
    problem = problem_for(solver, C=10.0)
    state = solver.init(problem, None, Draws(Full(), problem.y, np.random.default_rng(0)))
    before = np.inf
    for k in range(500):
        objective = solver.step(state).objective
        if objective > before * (1 + 1e-12):
            return f"declared monotone, but step {k + 1} went from {before:.12g} to {objective:.12g}"
        before = objective
    return None


def _same_seed(solver: Solver) -> str | None:
    runs = [
        solve(problem_for(solver), solver, stop=Iterations(60), seed=3, sampler=plugins.sampler("uniform:7"))
        for _ in range(2)
    ]
    return None if np.array_equal(runs[0].point, runs[1].point) else "two runs with seed 3 gave different points"


def _counted(solver: Solver) -> str | None:
    problem = problem_for(solver)
    gram, seen = problem.gram, [0]
    block, product = gram.engine.block, gram.engine.product

    def counting_block(Z, out, *sel):
        seen[0] += out.size
        return block(Z, out, *sel)

    def counting_product(Z, coef, *sel):
        result = product(Z, coef, *sel)
        seen[0] += result.shape[0] * len(coef)
        return result

    gram.engine.block, gram.engine.product = counting_block, counting_product  # type: ignore[method-assign]
    solve(problem, solver, stop=Gap(TOL) | Iterations(300))
    if seen[0] != gram.kernel_values:
        return f"{seen[0]} kernel values were computed but {gram.kernel_values} counted: go through Gram"
    return None


def _warm_start(solver: Solver) -> str | None:
    cold = solve(problem_for(solver), solver, stop=Gap(TOL))
    brief = Iterations(max(1, cold.n_iter // 10))
    again = solve(problem_for(solver), solver, stop=brief).certificate
    warm = solve(problem_for(solver), solver, stop=brief, start=cold.point).certificate
    if warm.primal > min(again.primal, cold.certificate.primal * (1.0 + TOL)):
        return (
            f"after {brief.limit} iterations from its own solution (primal {cold.certificate.primal:.6g}) the primal "
            f"value is {warm.primal:.6g}; from nothing {again.primal:.6g}"
        )
    return None


def _one_class(solver: Solver) -> str | None:
    X, y = toy()
    try:
        problem = solver.problem.classifier(Gram(RBF(0.5), X), np.ones_like(y), 1.0)
        solve(problem, solver, stop=Iterations(5))
    except InputError:
        return None
    return "training on one class should raise InputError"


def _interrupts(solver: Solver) -> str | None:
    def stop_at_once(point: Point) -> bool:
        return True

    solution = solve(problem_for(solver), solver, callbacks=[stop_at_once])
    if solution.status is not Status.INTERRUPTED:
        return f"a callback asked to stop, but the status is {solution.status}"
    return None if np.isfinite(solution.certificate.primal) else "the interrupted model has no finite primal value"


def _ugly(solver: Solver) -> str | None:
    for C in (1e-4, 1.0, 1e6):
        for share in (0.5, 0.03):
            problem = problem_for(solver, C=C, share=share)
            solution = solve(problem, solver, stop=Gap(TOL) | Iterations(2000))
            gap = solution.certificate.gap
            if not np.isfinite(solution.certificate.primal) or (gap is not None and not -1e-9 <= gap <= 1.0 + 1e-9):
                return f"C={C:g}, {share:.0%} positive: primal {solution.certificate.primal}, gap {gap}"
    return None


def _kernel_data(kernel: Kernel) -> tuple[Kernel, np.ndarray]:
    X, _ = toy(m=20)
    X = X @ X.T if isinstance(kernel, Precomputed) else X
    return kernel.resolve(X), X


def _kernel_values(kernel: Kernel) -> str | None:
    kernel, X = _kernel_data(kernel)
    every = np.arange(len(X))
    gram = Gram(kernel, X)
    K = gram.block(every, every)
    if K.shape != (20, 20) or not np.isfinite(K).all():
        return f"values of 20 rows should be finite and (20, 20), not {K.shape}"
    if np.abs(K - K.T).max() > 1e-9 * np.abs(K).max():
        return "k(x, z) differs from k(z, x)"
    pairs = np.array([gram.block(every[i : i + 1], every[i : i + 1])[0, 0] for i in every])
    own = np.array([gram.engine.block(gram.engine.take(every[i : i + 1]), np.empty((1, 20)))[0, i] for i in every])
    if max(np.abs(gram.diag - own).max(), np.abs(pairs - gram.diag).max()) > 1e-9 * np.abs(K).max():
        return "diag(X) is not k(x, x)"
    if kernel.normalised and np.ptp(gram.diag) > 1e-12:
        return "declared normalised, but k(x, x) is not constant"
    weights = np.linspace(-1.0, 1.0, 20)
    if np.abs(gram.matvec(weights, every) - K @ weights).max() > 1e-9 * np.abs(K).max() * 20:
        return "sums of kernel values differ from the values"
    return None


def _kernel_sparse(kernel: Kernel) -> str | None:
    kernel, X = _kernel_data(kernel)
    every = np.arange(len(X))
    dense, sparse = (Gram(kernel, data).block(every, every) for data in (X, sp.csr_array(X)))
    return None if np.allclose(dense, sparse, rtol=1e-9, atol=1e-12) else "CSR and dense rows give different values"


def _kernel_params(kernel: Kernel) -> str | None:
    resolved, _ = _kernel_data(kernel)
    stored = json.loads(json.dumps(resolved.params))
    again = plugins.build("kernel", kernel.name, stored)
    return None if again == resolved else f"{again} from the stored parameters of {resolved}"


def _sampler_draws(sampler: Sampler) -> str | None:
    _, y = toy()
    runs: list[list[np.ndarray]] = []
    for _ in range(2):
        draws = Draws(sampler, y, np.random.default_rng(5))
        runs.append([draws() for _ in range(300)])
    for k, draw in enumerate(runs[0]):
        if draw.dtype.kind != "i" or draw.ndim != 1 or not len(draw):
            return f"draw {k + 1} should be a non-empty 1-d integer array, not {draw.dtype} {draw.shape}"
        if draw.min() < 0 or draw.max() >= len(y):
            return f"draw {k + 1} has indices outside 0..{len(y) - 1}"
        if sampler.every and not np.array_equal(np.unique(draw), np.arange(len(y))):
            return "declared to draw every point, but a draw lacks some"
    if any(not np.array_equal(a, b) for a, b in zip(*runs, strict=True)):
        return "two Generators of one seed gave different draws"
    if len(np.unique(np.concatenate(runs[0]))) < len(y):
        return f"300 draws never reached some of {len(y)} points: those could never be learnt from"
    return None


def _sampler_solves(sampler: Sampler) -> str | None:
    for name in _working_solvers():
        solver = plugins.build("solver", name)
        solution = solve(problem_for(solver), solver, sampler=sampler, stop=Gap(1e-2))
        if solution.certificate.gap is not None and solution.certificate.gap > 1e-2:
            return f"{name} ended as {solution.status} at gap {solution.certificate.gap:.2g}"
    return None


def _working_solvers() -> Iterator[str]:
    yield from (row.name for row in plugins.describe("solver") if row.error is None)


SOLVER: dict[str, Callable] = {
    "reaches the tolerance, certified": _converges,
    "iterates are feasible, objective as reported": _feasible,
    "objective never rises, where declared": _monotone,
    "same seed, same result": _same_seed,
    "kernel values counted": _counted,
    "warm start helps": _warm_start,
    "one class refused": _one_class,
    "stops when asked to": _interrupts,
    "C from 1e-4 to 1e6, 97:3 imbalance, duplicates": _ugly,
}
KERNEL: dict[str, Callable] = {
    "symmetric, diagonal and sums agree": _kernel_values,
    "dense and CSR agree": _kernel_sparse,
    "parameters can be stored": _kernel_params,
}
SAMPLER: dict[str, Callable] = {
    "draws are valid, reproducible, complete": _sampler_draws,
    "every solver converges with it": _sampler_solves,
}
