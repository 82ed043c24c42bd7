"""Checks on kernel and sampler plugins."""

from __future__ import annotations

import json

import numpy as np
import scipy.sparse as sp

from svmkit import plugins
from svmkit.conformance.solvers import problem_for, tolerance, toy
from svmkit.conformance.words import Check
from svmkit.kernels.functions import Kernel, Precomputed
from svmkit.kernels.gram import Gram
from svmkit.solver.loop import solve
from svmkit.solver.sampler import Draws, Sampler
from svmkit.solver.stopping import Gap


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
    for row in plugins.working("solver"):
        if row.plugin.external or not row.plugin.certified:
            continue  # these look at the data in ways of their own, or need more draws than a check can wait for
        name, solver = row.name, plugins.build("solver", row.name)
        tol = 10.0 * tolerance(solver)
        solution = solve(problem_for(solver), solver, sampler=sampler, stop=Gap(tol))
        if solution.certificate.gap is not None and solution.certificate.gap > tol:
            return f"{name} ended as {solution.status} at gap {solution.certificate.gap:.2g}"
    return None


KERNEL: dict[str, Check] = {
    "values are finite and symmetric; diagonal and sums agree with them": Check(
        _kernel_values,
        "block(X, Z) is float64 of (rows of X, rows of Z) with k(x, z) = k(z, x), diag(X) is k(x, x), and normalised = "
        "True only where k(x, x) is the same for all x.",
        "svmkit.kernels.Kernel.block, svmkit.kernels.Kernel.diag",
    ),
    "dense and CSR rows give the same values": Check(
        _kernel_sparse, "block and diag take both dense arrays and CSR.", "svmkit.kernels.Kernel.block"
    ),
    "its parameters can be stored with a model": Check(
        _kernel_params,
        "After resolve(X) every parameter is a number that JSON keeps, and the class builds the same kernel from it.",
        "svmkit.kernels.Kernel.resolve, svmkit.kernels.Kernel.params",
    ),
}
SAMPLER: dict[str, Check] = {
    "draws are valid, reproducible and reach every point": Check(
        _sampler_draws,
        "draws(y, rng) yields, for ever, non-empty 1-d integer arrays of indices into y; equal rng, equal arrays.",
        "svmkit.solver.Sampler.draws",
    ),
    "every solver with a dual point converges with it": Check(
        _sampler_solves,
        "Solvers reach their tolerance on the points that are drawn: none is left out for long.",
        "svmkit.solver.Sampler.draws",
    ),
}
