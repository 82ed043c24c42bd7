"""Quadratic programs on the unit simplex beyond SVMs: smallest balls, nearest points, portfolios, mixtures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from svmkit.data.prepare.features import as_features, require_finite
from svmkit.errors import InputError
from svmkit.kernels.functions import Kernel, Precomputed
from svmkit.kernels.gram import Gram, parse_bytes
from svmkit.kernels.gram.matrix import (
    ArrayMatrix,
    CachedMatrix,
    MatrixEngine,
    MatrixGram,
    require_curvature,
    require_mirrored,
)
from svmkit.problems.simplex import SimplexQP
from svmkit.solver.base import Solver
from svmkit.solver.loop.recorder import Callback
from svmkit.solver.loop.solve import solve
from svmkit.solver.sampler import Sampler
from svmkit.solver.selection import by_name, defaults
from svmkit.solver.solution import Solution
from svmkit.solver.stopping import Absolute, Criterion, Stop, stop_rules

TILE = 1024
FLOOR = 1e-14  # gap in units of max |A_ii| + 2 max |c_i| below which only rounding is left


def minimize_simplex(
    A: Any,
    c: np.ndarray | None = None,
    *,
    diag: np.ndarray | None = None,
    solver: str | Solver = defaults.MINIMIZE,
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
    """Minimise alpha'A alpha + 2 c'alpha over the unit simplex (alpha >= 0, sum 1), with a certificate.

    Parameters
    ----------
    A : array, tuple (kernel, X), Gram or callable
        A symmetric matrix with x'A x >= 0 for all x of sum zero, such as a positive semidefinite matrix. It is given as

        - an array of shape (m, m), dense or sparse, float32 or float64;
        - a tuple (kernel, X) for A = K(X, X), with X of shape (m, d) and the kernel as a name, a `Kernel` or a callable
          f(X, Z);
        - a `Gram`, which has its own memory budget;
        - a callable rows(idx) that returns rows of A, of shape (len(idx), m), together with `diag`. It is called for
          the rows of A that a solve needs, mostly few of the m. They are kept within `memory`, and requested again only
          if the memory did not suffice.
    c : ndarray of shape (m,), default=None
        The linear term; None is zero.
    diag : ndarray of shape (m,), default=None
        The diagonal of A, for a callable A only.
    solver : str or Solver, default="swap2o"
        A solver of `SimplexQP`. Solver cvm needs A_ii + 2 c_i to be the same for all i.
    sampler : str or Sampler, default=None
        A sampler, or its name such as "uniform:59". None is the solver's own sampler, which mostly draws all points.
    stop : str, Criterion or Stop, default=None
        Stop rules instead of `tol`: text such as "abs:1e-6|iter:1000", or criteria joined with `|`.
    tol : float, default=1e-6
        Relative gap (P - D) / max(|P|, |D|) to certify. A solver that examines all points also ends at
        P - D = 1e-14 (max |A_ii| + 2 max |c_i|), which matters where the minimum is close to zero.
    start : ndarray of shape (m,), default=None
        A point of the simplex to start from; None is the solver's choice.
    max_iter : int, default=None
        Budget of iterations; without any budget it is max(100,000, 10 m).
    time_limit : float, default=None
        Budget of seconds.
    memory : str or int, default="1GB"
        Budget for the rows of A that are kept, in bytes or as text.
    seed : int, default=0
        Seed of all random choices.
    callbacks : sequence of Callback, default=()
        Called with each history point.
    n_threads : int, default=None
        Number of threads; None is all cores. Meanwhile BLAS uses one thread, also within a callable A.

    Returns
    -------
    Solution
        `point` is alpha, and `certificate.primal` the value at alpha, which exceeds the minimum by at most
        `primal - dual`.

    Raises
    ------
    InputError
        A is not square, finite and symmetric (the rows of a callable A are checked as they arrive) or shows negative
        curvature; or c, start or an option is invalid.

    Notes
    -----
    The smallest ball around the rows of X is given by A = X X' and c = -diag(A) / 2: its squared radius is minus the
    minimum, its centre X'alpha (examples/minimum_enclosing_ball.py).

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit import minimize_simplex
    >>> solution = minimize_simplex(np.array([[2.0, 0.0], [0.0, 1.0]]))
    >>> solution.point.round(4).tolist(), round(solution.certificate.primal, 4)
    ([0.3333, 0.6667], 0.6667)
    """
    gram = _gram(A, diag, parse_bytes(memory))
    problem = SimplexQP(gram, linear_term=None if c is None else _vector(c, gram.m, "c"))
    solver = by_name.solver(solver)
    sampler = by_name.sampler(sampler) or solver.sampler
    rules = stop_rules(stop, tol, max_iter=max_iter, time_limit=time_limit)
    scale = np.abs(problem.diag).max() + (
        0.0 if problem.linear_term is None else 2.0 * np.abs(problem.linear_term).max()
    )
    if stop is None and sampler.every and scale > 0.0:  # a sampled gap needs the certificate, which Gap asks for
        rules = rules | Absolute(FLOOR * scale)
    if start is not None:
        start = _vector(start, gram.m, "start")
        why = problem.infeasible(start)
        if why:
            raise InputError(f"start is infeasible on the unit simplex: {why}")
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
    """Check an array A and return the engine that serves its rows."""
    A = as_features(A, what="A")
    m = A.shape[0]
    if A.shape != (m, m):
        raise InputError(f"A has to be square, not {m} x {A.shape[1]}: give a value for every two points")
    require_finite(A, what="A")
    if hasattr(A, "toarray"):
        difference = abs(A - A.T).tocoo()
        if difference.nnz and difference.data.max() > np.sqrt(np.finfo(A.dtype).eps) * np.abs(A.data).max():
            at = int(difference.data.argmax())
            i, j = difference.row[at], difference.col[at]
            raise InputError(f"A is not symmetric: A[{i}, {j}] is {A[i, j]:g} and A[{j}, {i}] is {A[j, i]:g}")
        return CachedMatrix(lambda idx: A[idx].toarray(), A.diagonal().astype(np.float64), budget)
    diag = A.diagonal()
    slack = float(np.sqrt(np.finfo(A.dtype).eps)) * max(A.max(), -A.min())
    tiles = [np.arange(lo, min(m, lo + TILE)) for lo in range(0, m, TILE)]
    for k, I in enumerate(tiles):
        for J in tiles[k:]:
            here = np.s_[I[0] : I[-1] + 1, J[0] : J[-1] + 1]
            require_mirrored((A[here], A.T[here]), (I, J), slack)
    for i in range(m):
        require_curvature(diag[i] + diag - 2.0 * A[i], f"e_{i} -", slack)
    return ArrayMatrix(A)


def _vector(values: Any, m: int, what: str) -> np.ndarray:
    """Return `values` as float64 of shape (m,); raise InputError if they do not fit."""
    try:
        vector = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        vector = np.empty(0)
    if vector.shape != (m,) or not m or not np.isfinite(vector).all():
        raise InputError(f"{what} must be {m or 'm'} finite numbers, one for each row of A")
    return vector


def _require_convex(problem: SimplexQP, solution: Solution) -> None:
    """Raise InputError if the curvature from the solution to a vertex is negative, which voids the certificate."""
    alpha, g = solution.point, solution.certificate.gradient
    assert g is not None
    image = g if problem.linear_term is None else g - problem.linear_term
    slack = np.sqrt(np.finfo(problem.gram.dtype).eps) * max(np.abs(problem.diag).max(), np.abs(image).max())
    require_curvature(problem.diag - 2.0 * image + float(alpha @ image), "alpha -", slack)
