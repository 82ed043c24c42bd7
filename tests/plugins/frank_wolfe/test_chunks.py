"""sfw and msfw go on from block to block: the same iterates as one batch in the same order."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from support.arrival import From, every_method, vertex
from support.problems import blobs, make, problem_of, state_of

from svmkit.kernels.functions import RBF
from svmkit.kernels.gram import Gram
from svmkit.problems.simplex import SimplexQP
from svmkit.solver.sampler import Draws

pytestmark = pytest.mark.usefixtures("one_pool")


def _learn(solver, problem, state, first, start=None, most=None):
    """`state` (None: a new one from `start`) after the rows of the problem from `first` on; each iterate's weights."""
    draws = Draws(From(first), problem.y, np.random.default_rng(0))
    if state is None:
        state = solver.init(problem, start, draws)
        if most:
            solver.limit_support(state, most)
    else:
        solver.renew(state, problem, draws)
    iterates = []
    for _ in range(problem.m - first):
        solver.step(state)
        iterates.append(solver.solution(state))
    return state, iterates


@pytest.mark.parametrize("memory", ["1GB", "8KB"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("most", [None, 6])
@every_method
def test_chunks_give_the_iterates_of_one_batch(name, options, storage, dtype, memory, most):
    m = 260
    X, y = blobs(m, 4, seed=31)
    X[np.abs(X) < 0.3] = 0.0
    X, solver = X.astype(dtype), make(name, **options)
    gram = {"memory": memory, "dtype": np.float64}
    _, whole = _learn(solver, problem_of(storage(X), y, 2.0, **gram), None, 1, vertex(m, 0), most)

    cuts = [0, 2, 3, 40, 41, 130, 199, m]
    kept, state, step = np.empty(0, dtype=int), None, 0
    for lo, hi in pairwise(cuts):
        rows = np.concatenate([kept, np.arange(lo, hi)])
        problem = SimplexQP(
            Gram(RBF(0.5), storage(X[rows]), **gram), y[rows], bias=1.0, ridge=0.25
        )  # the classifier, which one chunk of one class cannot be
        first = 1 if state is None else len(kept)
        state, iterates = _learn(solver, problem, state, first, vertex(problem.m, 0), most)
        for point in iterates:
            spread = np.zeros(m)
            spread[rows] = point
            np.testing.assert_allclose(spread, whole[step], rtol=1e-8, atol=1e-12, err_msg=f"arrival {step + 1}")
            step += 1
        kept = rows[solver.members(state)]
    assert step == m - 1
    assert state.tracked.n < m
    if most:
        assert state.tracked.n == most and max(np.count_nonzero(p) for p in whole) == most


@every_method
def test_samples_left_of_a_chunk_are_forgotten(name, options):
    """The batch that was fetched ahead belongs to the problem that is no more."""
    X, y = blobs(100, 3, seed=36)
    solver, order = make(name, **options), np.r_[:21, 60:100]
    _, whole = _learn(solver, problem_of(X[order], y[order], 2.0), None, 1, vertex(61, 0))
    first = problem_of(X[:60], y[:60], 2.0)
    state = state_of(solver, first, From(1), start=vertex(60, 0))
    for _ in range(20):
        solver.step(state)
    rows = np.concatenate([solver.members(state), np.arange(60, 100)])
    _, iterates = _learn(solver, problem_of(X[rows], y[rows], 2.0), state, state.tracked.n)
    spread, want = np.zeros(100), np.zeros(100)
    spread[rows], want[order] = iterates[-1], whole[-1]
    np.testing.assert_allclose(spread, want, rtol=1e-8, atol=1e-12)


@pytest.mark.float32
@every_method
def test_chunks_with_float32_rows(name, options):
    """The rows kept from one Gram to the next are float32: the iterates agree to that precision."""
    m = 120
    X, y = blobs(m, 3, seed=32)
    solver = make(name, **options)
    _, whole = _learn(solver, problem_of(X, y, 2.0), None, 1, vertex(m, 0))
    kept, state = np.empty(0, dtype=int), None
    for lo, hi in ((0, 50), (50, 51), (51, m)):
        rows = np.concatenate([kept, np.arange(lo, hi)])
        problem = SimplexQP(Gram(RBF(0.5), X[rows], dtype=np.float32), y[rows], bias=1.0, ridge=0.25)
        state, iterates = _learn(solver, problem, state, len(kept) or 1, vertex(problem.m, 0))
        kept = rows[solver.members(state)]
    spread = np.zeros(m)
    spread[rows] = iterates[-1]
    np.testing.assert_allclose(spread, whole[-1], rtol=0, atol=1e-5)


@every_method
def test_a_renewed_state_computes_no_kept_row_again(name, options):
    m = 200
    X, y = blobs(m, 3, seed=33)
    solver = make(name, **options)
    state, _ = _learn(solver, problem_of(X[:100], y[:100]), None, 1, vertex(100, 0))
    rows = np.concatenate([solver.members(state), np.arange(100, m)])
    problem, n = problem_of(X[rows], y[rows]), state.tracked.n
    state, _ = _learn(solver, problem, state, n)
    # each new one with the members of its batch's time, and batches
    fetched = 100 * n + (state.tracked.n - n) * 64 + 100 * 64
    assert problem.gram.kernel_values <= fetched


@every_method
def test_linear_term_in_chunks(name, options):
    m = 100
    X, y = blobs(m, 3, seed=34)
    c = np.random.default_rng(0).normal(size=m)
    solver = make(name, **options)

    def problem(rows):
        return SimplexQP(Gram(RBF(0.5), X[rows]), y[rows], ridge=0.2, linear_term=c[rows])

    _, whole = _learn(solver, problem(np.arange(m)), None, 1, vertex(m, 0))
    state, _ = _learn(solver, problem(np.arange(60)), None, 1, vertex(60, 0))
    rows = np.concatenate([solver.members(state), np.arange(60, m)])
    _, iterates = _learn(solver, problem(rows), state, state.tracked.n)
    spread = np.zeros(m)
    spread[rows] = iterates[-1]
    np.testing.assert_allclose(spread, whole[-1], rtol=1e-8, atol=1e-12)
