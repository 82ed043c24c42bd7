"""Quadratic programs on the unit simplex that are no SVM: smallest balls, nearest points, portfolios, mixtures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from svmkit.data.features import as_features, require_finite
from svmkit.errors import InputError
from svmkit.kernels.functions import Kernel, Precomputed
from svmkit.kernels.gram import Gram, parse_bytes
from svmkit.kernels.matrix import (
    ArrayMatrix,
    CachedMatrix,
    MatrixEngine,
    MatrixGram,
    require_curvature,
    require_mirrored,
)
from svmkit.problems.simplex import SimplexQP
from svmkit.solver import by_name
from svmkit.solver.base import Solver
from svmkit.solver.loop import solve
from svmkit.solver.recorder import Callback
from svmkit.solver.sampler import Sampler
from svmkit.solver.solution import Solution
from svmkit.solver.stopping import Absolute, Criterion, Stop, stop_rules

TILE = 1024
FLOOR = 1e-14  # gap in units of max |A_ii| + 2 max |c_i| below which only rounding is left


def minimize_simplex(
    A: Any,
    c: np.ndarray | None = None,
    *,
    diag: np.ndarray | None = None,
    solver: str | Solver = "swap2o",
    sampler: str | Sampler | None = None,
    stop: Criterion | Stop | str | None = None,
    tol: float = 1e-6,
    start: np.ndarray | None = None,
    max_iter: int | None = None,
    time_limit: float | None = None,
    memory: str | int = "1GB",
    seed: int = 0,
    callbacks: Sequence[Callback] = (),
    n_threads: int | None = None,
) -> Solution:
    """min alpha'A alpha + 2 c'alpha over the unit simplex (alpha >= 0, sum 1), with a certificate.

    The smallest ball around the rows of X is A = X X', c = -diag(A) / 2: its squared radius is minus the minimum, its
    center X'alpha (examples/minimum_enclosing_ball.py).

    Parameters
    ----------
    A : symmetric, and x'A x >= 0 for all x of sum zero (all x, if positive semidefinite). One of
        an array (m, m), dense or sparse, float32 or float64;
        a pair (kernel, X) of a name, Kernel or callable f(X, Z), and X (m, d), for A = K(X, X), or a Gram, which has
        a memory of its own;
        a callable rows(idx) -> (len(idx), m), together with `diag` (m,): asked for the rows that a solve needs, mostly
        few of the m. Rows are kept under `memory`, and asked for again only if that was too little.
    c : (m,), default zeros
    solver : name or Solver of the SimplexQP problem, default "swap2o"; cvm needs A_ii + 2 c_i to be the same for all i
    sampler : name such as "uniform:59", or Sampler; default the solver's own, mostly all points
    stop : rule instead of tol: text such as "abs:1e-6", or criteria joined with |
    tol : relative gap (P - D) / max(|P|, |D|) to certify, default 1e-6; where the minimum is next to zero, a solver
        that looks at all points also ends at P - D = 1e-14 (max |A_ii| + 2 max |c_i|)
    start : point of the simplex to begin from, (m,), default the solver's choice
    max_iter, time_limit (seconds) : budgets, default max(100,000, 10 m) iterations
    memory : of kept rows; seed : of random choices; callbacks : called with each history point; n_threads : default
        all; BLAS works in one thread meanwhile, in a callable too

    Returns
    -------
    Solution. `point` is alpha; `certificate.primal` the value there, at most `primal - dual` above the minimum.

    Raises
    ------
    InputError when A is not square, finite and symmetric (a callable's rows are looked at as they come) or shows
    negative curvature, and when c, start or an option does not fit.
    """
    gram = _gram(A, diag, parse_bytes(memory))
    problem = SimplexQP(gram, linear_term=None if c is None else _vector(c, gram.m, "c"))
    solver = by_name.solver(solver)
    sampler = by_name.sampler(sampler) or solver.sampler
    rules = stop_rules(stop, tol, max_iter=max_iter, time_limit=time_limit)
    scale = np.abs(problem.diag).max() + (
        0.0 if problem.linear_term is None else 2.0 * np.abs(problem.linear_term).max()
    )
    if stop is None and sampler.every and scale > 0.0:  # what a sample says needs the certificate, which Gap asks for
        rules = rules | Absolute(FLOOR * scale)
    if start is not None:
        start = _vector(start, gram.m, "start")
        why = problem.infeasible(start)
        if why:
            raise InputError(f"start is no point of the unit simplex: {why}")
    solution = solve(
        problem,
        solver,
        sampler=sampler,
        stop=rules,
        start=start,
        seed=seed,
        callbacks=callbacks,
        n_threads=n_threads,
    )
    _require_convex(problem, solution)
    return solution


def _gram(A: Any, diag: Any, budget: int) -> Gram:
    """What serves the values of A."""
    if diag is not None and (isinstance(A, Gram) or not callable(A)):
        raise InputError("diag belongs to a function of A's rows: leave it out for an array, a kernel or a Gram")
    if isinstance(A, Gram):
        return A
    if isinstance(A, tuple) and len(A) == 2 and (isinstance(A[0], str | Kernel) or callable(A[0])):
        X = as_features(A[1])
        require_finite(X)
        kernel = by_name.kernel(A[0]).resolve(X)
        if not isinstance(kernel, Precomputed):
            return Gram(kernel, X, memory=budget)
        A, diag = X, None
    elif callable(A):
        if diag is None:
            raise InputError("a function of A's rows needs the diagonal too: give diag, m numbers")
        diag = _vector(diag, np.size(diag), "diag")
        return MatrixGram(CachedMatrix(A, diag, budget * 3 // 4), budget // 8)
    return MatrixGram(_array(A, budget * 3 // 4), budget // 8)


def _array(A: Any, budget: int) -> MatrixEngine:
    A = as_features(A, what="A")
    m = A.shape[0]
    if A.shape != (m, m):
        raise InputError(f"A has to be square, not {m} x {A.shape[1]}: give the values of all pairs of points")
    require_finite(A, what="A")
    if hasattr(A, "toarray"):
        _require_symmetric_csr(A)
        return CachedMatrix(lambda idx: A[idx].toarray(), A.diagonal().astype(np.float64), budget)
    diag = A.diagonal()
    slack = float(np.sqrt(np.finfo(A.dtype).eps)) * max(A.max(), -A.min())
    tiles = [np.arange(lo, min(m, lo + TILE)) for lo in range(0, m, TILE)]
    for k, I in enumerate(tiles):
        for J in tiles[k:]:
            here = np.s_[I[0] : I[-1] + 1, J[0] : J[-1] + 1]
            require_mirrored(A[here], A.T[here], I, J, slack)
    for i in range(m):
        require_curvature(diag[i] + diag - 2.0 * A[i], f"e_{i} -", slack)
    return ArrayMatrix(A)


def _require_symmetric_csr(A: Any) -> None:
    apart = abs(A - A.T).tocoo()
    if apart.nnz and apart.data.max() > np.sqrt(np.finfo(A.dtype).eps) * np.abs(A.data).max():
        at = int(apart.data.argmax())
        i, j = apart.row[at], apart.col[at]
        raise InputError(f"A is not symmetric: A[{i}, {j}] is {A[i, j]:g} and A[{j}, {i}] is {A[j, i]:g}")


def _vector(values: Any, m: int, what: str) -> np.ndarray:
    """`values` as float64 (m,), or InputError."""
    try:
        vector = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        vector = np.empty(0)
    if vector.shape != (m,) or not m or not np.isfinite(vector).all():
        raise InputError(f"{what} must be {m or 'm'} finite numbers, one for each row of A")
    return vector


def _require_convex(problem: SimplexQP, solution: Solution) -> None:
    """InputError when the curvature from the solution to a vertex is negative: its certificate would be none."""
    alpha, g = solution.point, solution.certificate.gradient
    assert g is not None
    image = g if problem.linear_term is None else g - problem.linear_term
    slack = np.sqrt(np.finfo(problem.gram.dtype).eps) * max(np.abs(problem.diag).max(), np.abs(image).max())
    require_curvature(problem.diag - 2.0 * image + float(alpha @ image), "alpha -", slack)
