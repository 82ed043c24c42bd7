"""Budgets of support vectors: kept at every step, spent well, and no trouble to a run that never reaches them."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from support.problems import CLASSIC, FAMILY, blobs, dense_A, make, problem_of, qp_optimum, state_of

from svmkit.kernels.functions import RBF
from svmkit.kernels.gram import Gram
from svmkit.problems.simplex import SimplexQP
from svmkit.solver.loop.confirmation import FULL
from svmkit.solver.loop.solve import solve
from svmkit.solver.selection import by_name
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations, Support

pytestmark = pytest.mark.usefixtures("one_pool")

every_solver = pytest.mark.parametrize("name", FAMILY)


def sampler(text):
    return by_name.sampler(text) if text else None


def many(m: int, count: int) -> np.ndarray:
    """A start with `count` weights, all different."""
    start = np.zeros(m)
    start[:: m // count][:count] = np.arange(1.0, count + 1)
    return start / start.sum()


def gap_within(A, alpha) -> float:
    """Relative Frank-Wolfe gap among the points with weight."""
    g = A @ alpha
    f = alpha @ g
    return 2 * (f - g[alpha > 0].min()) / f


def best_subset(A: np.ndarray, most: int) -> float:
    """The smallest f over all supports of `most` points or fewer: 1 / (1' A_SS^-1 1) where the weights are positive."""
    best = np.diag(A).min()
    for size in range(2, most + 1):
        for S in combinations(range(len(A)), size):
            x = np.linalg.solve(A[np.ix_(S, S)], np.ones(size))
            if x.min() >= 0.0:
                best = min(best, 1.0 / x.sum())
    return best


# --- at every step


@pytest.mark.parametrize("begin", ["afresh", "with 33 vectors"])
@pytest.mark.parametrize("draws", [None, "uniform:7", "cyclic:5"])
@pytest.mark.parametrize("N", [1, 2, 5, 20])
@every_solver
def test_never_more_than_N_vectors_and_never_up(name, N, draws, begin):
    m = 100
    X, y = blobs(m, 3, seed=41)
    problem, solver = problem_of(X, y, 1.0), make(name)
    A = dense_A(problem, X, RBF(0.5))
    start = many(m, 33) if begin != "afresh" else None
    state = state_of(solver, problem, sampler(draws) or solver.sampler, seed=2, start=start)
    solver.limit_support(state, N)
    assert np.count_nonzero(solver.solution(state)) <= N
    f, most = problem.objective(solver.solution(state)), 0
    for _ in range(80):
        info = solver.step(state)
        point = solver.solution(state)
        assert info.n_support == np.count_nonzero(point) == np.count_nonzero(state.alpha) <= N
        assert problem.infeasible(point) is None
        truth = A @ point
        idx = np.arange(m) if state.tracked.idx is None else state.tracked.idx
        np.testing.assert_allclose(state.g, truth[idx], rtol=0, atol=1e-10 * np.abs(truth).max())
        np.testing.assert_allclose(state.alpha, point[idx], rtol=0, atol=1e-14)
        assert info.objective == pytest.approx(point @ truth, rel=1e-10)
        assert info.objective <= f * (1 + 1e-13)
        f, most = info.objective, max(most, info.n_support)
    assert most == N


@pytest.mark.parametrize("draws", ["full", "uniform:7"])
@every_solver
def test_a_limit_set_in_the_middle_holds_at_once(name, draws):
    X, y = blobs(90, 3, seed=42)
    problem, solver = problem_of(X, y, 10.0), make(name)
    state = state_of(solver, problem, sampler(draws))
    for _ in range(100):
        before = solver.step(state)
    assert before.n_support > 8
    for most in (8, 4):
        solver.limit_support(state, most)
        point = solver.solution(state)
        assert 0 < np.count_nonzero(point) <= most
        for _ in range(40):
            assert solver.step(state).n_support <= most
    assert problem.infeasible(solver.solution(state)) is None


def test_a_limit_keeps_the_largest_weights():
    problem, solver, start = problem_of(*blobs(100, 3, seed=41)), make("sfw"), many(100, 33)
    state = state_of(solver, problem, start=start)
    solver.limit_support(state, 5)
    kept = np.argsort(start)[-5:]
    want = np.zeros(100)
    want[kept] = start[kept] / start[kept].sum()
    np.testing.assert_allclose(solver.solution(state), want, rtol=1e-14)


@pytest.mark.parametrize("N", [2, 5])
@pytest.mark.parametrize("draws", ["full", "uniform:7", "permuted:5"])
@pytest.mark.parametrize("name", [name for name in FAMILY if name != "cvm"])  # A_ii + 2 c_i is not constant
def test_budget_with_a_linear_term(name, draws, N):
    m = 60
    X, y = blobs(m, 3, seed=43)
    c = np.random.default_rng(5).normal(size=m)
    problem, solver = SimplexQP(Gram(RBF(0.5), X), y, ridge=0.1, linear_term=c), make(name)
    A = y[:, None] * y * problem.gram.block(np.arange(m), np.arange(m)) + 0.1 * np.eye(m)
    state = state_of(solver, problem, sampler(draws), start=many(m, 20))
    solver.limit_support(state, N)
    f = np.inf
    for _ in range(120):
        info = solver.step(state)
        point = solver.solution(state)
        truth = A @ point + c
        idx = np.arange(m) if state.tracked.idx is None else state.tracked.idx
        np.testing.assert_allclose(state.g, truth[idx], rtol=0, atol=1e-10)
        assert info.objective == pytest.approx(point @ (truth + c), abs=1e-10)
        assert info.objective <= f + 1e-12
        assert info.n_support == np.count_nonzero(point) <= N
        f = info.objective


# --- how it ends


@pytest.mark.parametrize("draws", [None, "full", "uniform:7", "cyclic:5"])
@pytest.mark.parametrize("N", [1, 2, 5, 20])
@every_solver
def test_ends_full_and_optimal_within_the_support(name, N, draws):
    X, y = blobs(100, 3, seed=44)
    problem = problem_of(X, y, 1.0)
    A = dense_A(problem, X, RBF(0.5))
    assert np.count_nonzero(qp_optimum(A)[0] > 1e-9) > 20
    limit = FULL * (2 if name in ("sfw", "msfw") else 1)  # those two report the gap before their last step
    for stop in (Support(N), Gap(1e-3) | Support(N)):
        solution = solve(problem, make(name), sampler=sampler(draws), stop=stop | Iterations(50_000))
        assert solution.status is Status.MAX_SUPPORT
        assert solution.n_support == N
        assert gap_within(A, solution.point) <= limit * (1 + 1e-6)
        assert all(p.n_support <= N for p in solution.history)


@pytest.mark.parametrize("draws", [None, "uniform:7"])
@every_solver
def test_a_budget_above_the_optimum_s_support_converges(name, draws):
    """A tight blob each: a few points carry all the weight, so that the budget leaves nothing out."""
    m = 80
    X, y = blobs(m, 2, seed=45, shift=2.0)
    problem = problem_of(X, y, 1e3, RBF(0.05))
    A = y[:, None] * y * (problem.gram.block(np.arange(m), np.arange(m)) + 1) + np.eye(m) / 2e3
    best, f = qp_optimum(A)
    needed = np.count_nonzero(best > 1e-9)
    assert needed < 20
    stop = Gap(1e-2) | Support(40) | Iterations(200_000)
    solution = solve(problem, make(name), sampler=sampler(draws), stop=stop)
    assert solution.status is Status.CONVERGED and solution.certificate.gap <= 1e-2
    assert solution.n_support <= 40 and A.dot(solution.point) @ solution.point <= f * 1.02


@every_solver
def test_a_budget_that_is_never_reached_changes_nothing(name):
    m = 80
    X, y = blobs(m, 3, seed=46)
    solver, runs = make(name), []
    for most in (None, m, 10 * m):
        problem = problem_of(X, y, 1.0)
        state = state_of(solver, problem, solver.sampler, seed=3)
        if most:
            solver.limit_support(state, most)
        runs.append([(solver.step(state), solver.solution(state)) for _ in range(150)])
    # cvm and the like have drawn nothing yet; those that prepare a vertex choose the same one again
    for first, *others in zip(*runs, strict=True):
        for info, point in others:
            np.testing.assert_array_equal(point, first[1])
            assert info == first[0]


# --- how well it is spent


@pytest.mark.parametrize("draws", [None, "uniform:20"])
@pytest.mark.parametrize("N", [2, 5, 20])
@every_solver
def test_no_worse_than_the_first_N_vertices(name, N, draws):
    X, y = blobs(100, 3, seed=47)
    solver, problem = make(name), problem_of(X, y, 1.0)
    state = state_of(solver, problem, sampler(draws) or solver.sampler, seed=1)
    plain = np.inf
    for _ in range(5000):
        info = solver.step(state)
        if info.n_support > N:
            break
        plain = info.objective
    kept = solve(problem, solver, sampler=sampler(draws), stop=Support(N) | Iterations(50_000), seed=1)
    f = problem.objective(kept.point)
    assert f <= plain * (1 + 1e-12)
    if N > 2:
        assert f < 0.99 * plain


@every_solver
def test_exchanges_come_near_the_best_support_there_is(name):
    """Nine points, three vectors, all 129 supports tried. An exchange looks at one point outside, the one with min g:
    half of the runs end at the best support or within some percent of it, and a few far from it.
    """
    ratios = []
    for seed in range(40):
        X, y = blobs(9, 2, seed=seed)
        problem = problem_of(X, y, 1.0)
        A = dense_A(problem, X, RBF(0.5))
        solution = solve(problem, make(name), stop=Support(3) | Iterations(20_000), seed=seed)
        assert solution.n_support <= 3
        ratios.append(solution.point @ A @ solution.point / best_subset(A, 3))
    assert min(ratios) >= 1.0 - 1e-9
    assert np.median(ratios) <= 1.15
    assert np.mean(ratios) <= (1.1 if name in ("sfw", "msfw") else 1.25)


@pytest.mark.parametrize("draws", ["full", "uniform:20"])
@every_solver
def test_a_larger_budget_is_never_much_worse(name, draws):
    X, y = blobs(100, 3, seed=48)
    problem = problem_of(X, y, 1.0)
    f = [
        problem.objective(
            solve(problem, make(name), sampler=sampler(draws), stop=Support(N) | Iterations(50_000)).point
        )
        for N in (1, 2, 4, 8, 16, 32)
    ]
    for small, large in pairwise(f):
        assert large <= 1.02 * small
    assert f[-1] < 0.5 * f[1]


@pytest.mark.parametrize("name", CLASSIC)
def test_no_single_exchange_is_left(name):
    """At the end the point outside with min g, given all the weight of one inside, would not improve on it."""
    X, y = blobs(100, 3, seed=49)
    problem = problem_of(X, y, 10.0)
    A = dense_A(problem, X, RBF(0.5))
    solution = solve(problem, make(name), sampler=by_name.sampler("full"), stop=Support(8) | Iterations(50_000))
    alpha = solution.point
    g, f = A @ alpha, solution.point @ A @ alpha
    i = int(np.argmin(g))
    assert alpha[i] == 0.0
    for j in np.flatnonzero(alpha):
        moved = alpha.copy()
        moved[i], moved[j] = moved[j], 0.0
        assert moved @ A @ moved >= f * (1 - 1e-9)


# --- rows and weights through replacements


@pytest.mark.parametrize("memory", ["1KB", "20KB", "1GB"])
@pytest.mark.parametrize("draws", ["uniform:7", "permuted:3"])
@every_solver
def test_kernel_rows_stay_right_through_replacements(name, draws, memory):
    m = 200
    X, y = blobs(m, 3, seed=50)
    problem = problem_of(X, y, 1.0, memory=memory, dtype=np.float64)
    K = problem.gram.block(np.arange(m), np.arange(m))
    solver, rng = make(name), np.random.default_rng(0)
    state = state_of(solver, problem, sampler(draws))
    solver.limit_support(state, 12)
    replaced, before = 0, set()
    for _ in range(90):
        solver.step(state)
        tracked, idx = state.tracked, state.tracked.idx
        if idx is None:  # all points are tracked by now: nothing is replaced any more
            break
        now = set(idx.tolist())
        replaced += bool(before - now)
        before = now
        for p in rng.integers(tracked.n, size=2):
            np.testing.assert_allclose(state.row(int(p)), K[idx[p], idx], rtol=0, atol=1e-14)
        np.testing.assert_array_equal(tracked.position[idx], np.arange(tracked.n))
        assert np.count_nonzero(tracked.position >= 0) == tracked.n
        for values, source in ((tracked.y, y), (tracked.diag, problem.diag), (tracked.ridge, problem.ridge)):
            np.testing.assert_array_equal(values, source[idx])
    assert replaced > 3
