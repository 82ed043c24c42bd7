"""The Frank-Wolfe family: against a trusted QP solver, against plain-numpy versions of each method, and its state."""

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import (
    FAMILY,
    SOLVERS,
    SUBLINEAR,
    blobs,
    every_fast,
    every_fw,
    every_solver,
    make,
    matrix,
    problem_of,
    qp_optimum,
    state_of,
)
from sklearn.metrics import pairwise
from svmkit_frank_wolfe.direction import line_search

from svmkit import plugins
from svmkit.kernels import RBF, Linear, Poly
from svmkit.loop import solve
from svmkit.solver import Status
from svmkit.stopping import Absolute, Gap, Iterations


def _duplicates(opposite):
    X, y = blobs(30, 3, seed=1)
    return np.repeat(X, 2, axis=0), np.repeat(y, 2) * np.tile([1.0, -1.0 if opposite else 1.0], 30)


def _constant():
    X, y = blobs(48, 2, seed=2)
    return np.column_stack([np.full(48, 1e3), X, np.zeros(48)]), y


pytestmark = pytest.mark.usefixtures("one_pool")

DATA = {
    "12x2": (*blobs(12, 2, seed=4), RBF(0.5)),
    "40x3": (*blobs(40, 3), RBF(0.5)),
    "80x3": (*blobs(80, 3, seed=3), RBF(0.5)),
    "same-twice": (*_duplicates(False), RBF(0.5)),
    "both-labels": (*_duplicates(True), RBF(0.5)),
    "one-feature": (*blobs(60, 1), RBF(0.5)),
    "constant-features": (*_constant(), RBF(0.5)),
    "97:3": (*blobs(66, 3, share=0.03, seed=5), RBF(0.5)),
    "linear": (*blobs(40, 3), Linear()),
    "poly": (*blobs(40, 3), Poly(0.5, 2, 1.0)),
}
# Up to which C a method is asked for its tolerance; beyond it only its bounds are checked, which hold at any iterate.
# fw and partan have gap O(1/k), and the constant grows with C (fw: 50,000 iterations for 1e-3 at C = 10). Where the
# kernel matrix of the data is singular (equal rows, one dimension, linear and polynomial kernels), a large C leaves
# next to no ridge, and every first-order method needs 1e5 iterations and more; swap2o gets there first.
WELL_CONDITIONED = {"12x2", "40x3", "80x3", "97:3"}
REACH = {"fw": 1.0, "partan": 1.0, "swap2o": 1e2}
BUDGET = 250_000


def reach(name, data):
    if data in WELL_CONDITIONED and name not in SUBLINEAR:
        return np.inf
    return 0.1 if name == "fw" and data in ("linear", "poly") else REACH.get(name, 1.0)


def dense_A(problem, X, kernel):
    K = {
        "rbf": lambda: pairwise.rbf_kernel(X, gamma=0.5),
        "linear": lambda: X @ X.T,
        "poly": lambda: pairwise.polynomial_kernel(X, gamma=0.5, degree=2, coef0=1.0),
    }[kernel.name]()
    return matrix(problem, K)


@pytest.mark.parametrize("C", [1e-4, 1e-1, 1.0, 1e2, 1e6])
@pytest.mark.parametrize("data", DATA)
@every_solver
def test_equals_the_trusted_qp_solver(name, data, C):
    X, y, kernel = DATA[data]
    if not all(need.holds(kernel) for need in plugins.load("solver", name).requires):
        pytest.skip(f"{name} does not take the {kernel.name} kernel")
    problem = problem_of(X, y, C, kernel)
    A = dense_A(problem, X, kernel)
    _, f = qp_optimum(A)
    tol = 1e-3 if name in SUBLINEAR else 1e-6
    reachable = reach(name, data) >= C
    stop = Gap(tol) | Iterations(BUDGET if reachable else 500)
    solution = solve(problem, make(name), stop=stop)
    alpha, certificate = solution.point, solution.certificate
    if reachable:
        assert solution.status is Status.CONVERGED
        assert certificate.gap <= tol
    assert problem.infeasible(alpha) is None
    assert -1e-12 <= certificate.gap <= 1.0
    best = 0.5 / f
    assert certificate.dual <= best * (1 + 1e-8) and certificate.primal >= best * (1 - 1e-8)
    if reachable and C < 1e4:  # beyond, the QP solver itself loses digits; the certificate speaks
        assert alpha @ A @ alpha == pytest.approx(f, rel=2 * tol)


def test_all_solvers_reach_the_same_objective():
    X, y = blobs(150, 4, seed=8)
    found = {}
    for name in SOLVERS:
        tol = 1e-3 if name in SUBLINEAR else 1e-7
        solution = solve(problem_of(X, y, 0.5), make(name), stop=Gap(tol) | Iterations(BUDGET))
        assert solution.status is Status.CONVERGED, name
        found[name] = solution.certificate.dual
    best = max(found.values())
    for name, dual in found.items():
        assert dual == pytest.approx(best, rel=1e-3 if name in SUBLINEAR else 1e-7), name


# --- every method, step by step, against itself in plain numpy


def _search(alpha, D, A, lam_max):
    slope, curvature = D @ A @ alpha, D @ A @ D
    return min(-slope / curvature, lam_max) if slope < 0 else 0.0


def _gain(alpha, D, A):
    slope = D @ A @ alpha
    return slope**2 / (D @ A @ D) if slope < 0 else 0.0


def reference(name, A, alpha, steps):
    """The iterates of math.md's method `name`, everything from scratch in every step."""
    unit = np.eye(len(A))
    before = alpha.copy()
    for _ in range(steps):
        g = A @ alpha
        f = alpha @ g
        active = np.flatnonzero(alpha > 0)
        i, j = int(np.argmin(g)), int(active[np.argmax(g[active])])
        toward, swap = unit[i] - alpha, unit[i] - unit[j]
        if name == "mfw" and not f - g[i] >= g[j] - f:
            D, lam_max = alpha - unit[j], alpha[j] / (1 - alpha[j])
        elif name == "mdm":
            D, lam_max = swap, alpha[j]
        elif name in ("swap", "swap2o"):
            if name == "swap2o":
                worse = [k for k in active if g[k] > g[i]]
                j = max(worse, key=lambda k: _gain(alpha, unit[i] - unit[k], A))
                swap = unit[i] - unit[j]
            D, lam_max = (swap, alpha[j]) if _gain(alpha, swap, A) >= _gain(alpha, toward, A) else (toward, 1.0)
        else:
            D, lam_max = toward, 1.0
        lam = _search(alpha, D, A, lam_max)
        after = np.maximum(alpha + lam * D, 0.0)
        if lam == lam_max and D is not toward:
            after[j] = 0.0
        if name == "partan":
            ahead = after - before
            down = ahead < 0
            mu_max = (-after[down] / ahead[down]).min() if down.any() else np.inf
            before = alpha
            after = after + _search(after, ahead, A, mu_max) * ahead
            after[after < 1e-15] = 0.0
        alpha = after
        yield alpha


@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("name", ["fw", "mfw", "swap", "swap2o", "partan", "mdm"])
def test_takes_the_steps_of_its_paper(name, C):
    X, y = blobs(60, 3, seed=11)
    problem = problem_of(X, y, C)
    A = dense_A(problem, X, RBF(0.5))
    start = np.zeros(60)
    start[:10] = np.random.default_rng(2).dirichlet(np.ones(10))
    solver = make(name)
    state = state_of(solver, problem, start=start)
    for k, alpha in enumerate(reference(name, A, start, 80)):
        info = solver.step(state)
        np.testing.assert_allclose(solver.solution(state), alpha, atol=1e-9, err_msg=f"step {k + 1}")
        g = A @ alpha
        assert info.objective == pytest.approx(alpha @ g, rel=1e-9)
        assert info.gap_abs == pytest.approx(2 * (alpha @ g - g.min()), rel=1e-6)
        assert info.gap == pytest.approx(info.gap_abs / info.objective, rel=1e-9)
        assert info.n_support == np.count_nonzero(alpha)


@pytest.mark.parametrize("name", [n for n in FAMILY if n != "partan"])
def test_directions_are_what_they_say(name):
    """slope = D'g, curvature = D'A D, feasible up to lam_max and not beyond; the step taken is that step."""
    X, y = blobs(50, 3, seed=12)
    problem = problem_of(X, y, 5.0)
    A = dense_A(problem, X, RBF(0.5))
    solver = make(name)
    state = state_of(solver, problem)
    clipped = 0
    for _ in range(400):
        alpha, i, d = state.point(), state.i, solver.direction(state)
        D = d.s * alpha + d.c_in * np.eye(50)[i] + d.c_out * np.eye(50)[d.j if d.j >= 0 else i]
        assert abs(D.sum()) < 1e-12
        assert d.slope == pytest.approx(D @ A @ alpha, rel=1e-6, abs=1e-12)
        assert d.curvature == pytest.approx(D @ A @ D, rel=1e-8, abs=1e-12)
        assert (alpha + d.lam_max * D).min() >= -1e-15
        if d.lam_max > 0 and D.min() < 0:
            assert (alpha + 1.01 * d.lam_max * D).min() < 0
        lam = line_search(d.slope, d.curvature, d.lam_max)
        solver.step(state)
        np.testing.assert_allclose(state.point(), alpha + lam * D, atol=1e-12)
        if 0 < lam == d.lam_max and d.c_out:
            clipped += 1
            assert state.alpha[d.j] == 0.0
    assert clipped > 0 or name == "fw"


def test_mfw_clips_the_away_step_at_the_weight():
    """One step from a point where the free step would make alpha_j negative: it must be alpha_j / (1 - alpha_j)."""
    X, y = blobs(50, 3, seed=12)
    problem, solver = problem_of(X, y, 5.0), make("mfw")
    state = state_of(solver, problem)
    seen = 0
    for _ in range(2000):
        d = solver.direction(state)
        before, j = state.point(), d.j
        unclipped = -d.slope / d.curvature
        if d.s == 1.0 and d.lam_max > 0 and unclipped > d.lam_max:
            seen += 1
            assert d.lam_max == pytest.approx(before[j] / (1 - before[j]), rel=1e-9)
            solver.step(state)
            want = before / (1 - before[j])
            want[j] = 0.0
            assert state.alpha[j] == 0.0
            np.testing.assert_allclose(state.point(), want, atol=1e-14)
        else:
            solver.step(state)
    assert seen > 0


def test_line_search():
    assert line_search(-2.0, 4.0, 1.0) == 0.5
    assert line_search(-2.0, 1.0, 1.0) == 1.0
    assert line_search(-2.0, 0.0, 0.7) == 0.7
    assert line_search(-2.0, -1.0, 0.7) == 0.7
    assert line_search(0.0, 1.0, 1.0) == line_search(3.0, 1.0, 1.0) == line_search(np.nan, 1.0, 1.0) == 0.0


def test_partan_is_not_fw_and_needs_fewer_iterations():
    X, y = blobs(100, 3, seed=6)
    fw, partan = (solve(problem_of(X, y, 1.0), make(n), stop=Gap(1e-2)) for n in ("fw", "partan"))
    assert fw.status is partan.status is Status.CONVERGED
    assert partan.n_iter < 0.8 * fw.n_iter
    states = [state_of(make(n), problem_of(X, y, 1.0)) for n in ("fw", "partan")]
    for n, state in zip(("fw", "partan"), states, strict=True):
        for _ in range(20):
            make(n).step(state)
    assert np.abs(states[0].point() - states[1].point()).max() > 1e-3


def test_partan_stays_feasible_at_the_end_of_the_ray():
    """From this start the second extrapolation would make 57 weights negative; mu_max makes them exactly 0."""
    X, y = blobs(60, 3, seed=7)
    problem, solver = problem_of(X, y, 100.0), make("partan")
    start = np.full(60, 1e-4 / 59)
    start[2] = 1 - 1e-4
    state = state_of(solver, problem, start=start)
    dropped = 0
    for _ in range(300):
        was = state.alpha > 0
        solver.step(state)
        assert state.alpha.min() >= 0.0
        assert state.alpha.sum() == pytest.approx(1.0, abs=1e-12)
        dropped += int((was & (state.alpha == 0.0)).sum())
    assert dropped > 0  # a toward step never drops a point: only mu = mu_max does


@every_fw
def test_a_single_vertex_is_a_start(name):
    """With the full sampler the oracle sees all points from the first step on, however few the start has."""
    X, y = blobs(60, 3)
    problem, solver = problem_of(X, y, 1.0), make(name)
    state = state_of(solver, problem, start=np.eye(60)[7])
    first = solver.step(state)
    assert not first.sampled
    for _ in range(50):
        info = solver.step(state)
    assert info.n_support > 2 and info.objective < 0.2 * problem.objective(np.eye(60)[7])
    stop = Absolute(1e-3) | Iterations(BUDGET)
    solution = solve(problem, solver, stop=stop, start=np.eye(60)[7])
    g = problem.gradient(solution.point)
    assert 2 * (solution.point @ g - g.min()) <= 1.1e-3


# --- what holds at every step


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@every_fw
def test_steps_are_feasible_and_never_go_up(name, C):
    X, y = blobs(70, 3, seed=9)
    problem, solver = problem_of(X, y, C), make(name)
    A = dense_A(problem, X, RBF(0.5))
    state = state_of(solver, problem)
    before = np.inf
    for _ in range(600):
        solver.step(state)
        assert state.alpha.min() >= 0.0
        assert state.alpha.sum() == pytest.approx(1.0, abs=1e-12)
        point = solver.solution(state)
        f = point @ A @ point
        assert f <= before * (1 + 1e-13)
        before = f


@pytest.mark.parametrize("C", [1.0, 1e4])
@every_fw
def test_the_maintained_gradient_does_not_drift(name, C):
    X, y = blobs(120, 4, seed=10)
    problem, solver = problem_of(X, y, C), make(name)
    A = dense_A(problem, X, RBF(0.5))
    state = state_of(solver, problem)
    for _ in range(5000):
        solver.step(state)
    assert problem.gram.dtype == np.float64
    truth = A @ state.alpha
    assert np.abs(state.g - truth).max() <= 1e-9 * np.abs(truth).max()
    assert state.f == pytest.approx(state.alpha @ truth, rel=1e-9)
    assert state.alpha.sum() == pytest.approx(1.0, abs=1e-11)


@every_fast
def test_dropped_weights_are_exactly_zero(name):
    X, y = blobs(200, 3, seed=13)
    problem = problem_of(X, y, 10.0)
    start = np.full(200, 1 / 200)
    solution = solve(problem, make(name), stop=Gap(1e-8) | Iterations(BUDGET), start=start)
    assert solution.status is Status.CONVERGED
    best, _ = qp_optimum(dense_A(problem, X, RBF(0.5)))
    outside = best < 1e-12
    assert outside.sum() > 20
    assert (solution.point[outside] == 0.0).all()
    assert solution.n_support == np.count_nonzero(solution.point) == (~outside).sum()


@every_solver
def test_history_is_monotone(name):
    X, y = blobs(100, 3, seed=14)
    solver = make(name)
    solution = solve(problem_of(X, y, 10.0), solver, stop=Iterations(3000))
    f = np.array([p.objective for p in solution.history])
    assert len(f) > 50
    if solver.monotone:
        assert (np.diff(f) <= 1e-13 * f[:-1]).all()
    assert f[-1] < f[0]


# --- storage and cache change nothing


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@every_solver
def test_the_cache_changes_nothing(name, dtype):
    X, y = blobs(90, 3, seed=15)
    tiny, large = (
        solve(problem_of(X, y, 10.0, memory=memory, dtype=dtype), make(name), stop=Iterations(400))
        for memory in (1, "1GB")
    )
    np.testing.assert_array_equal(tiny.point, large.point)
    assert [p.objective for p in tiny.history] == [p.objective for p in large.history]


@every_solver
def test_dense_and_csr_take_the_same_way(name):
    X, y = blobs(90, 6, seed=16)
    X[np.abs(X) < 0.5] = 0.0
    dense, sparse = (solve(problem_of(data, y, 1.0), make(name), stop=Iterations(60)) for data in (X, sp.csr_array(X)))
    np.testing.assert_allclose(dense.point, sparse.point, atol=1e-9)


@every_fast
def test_float32_rows_give_way_when_the_tolerance_needs_it(name):
    X, y = blobs(150, 3, seed=17)
    for tol in (1e-9, 1e-12):  # errors of 1e-7 in A are 1e-14 times a condition number in the gap
        problem = problem_of(X, y, 10.0, dtype=np.float32)
        solution = solve(problem, make(name), stop=Gap(tol) | Iterations(BUDGET))
        assert solution.status is Status.CONVERGED and solution.certificate.gap <= tol
        assert problem.certificate(solution.point).gap <= tol
    assert problem.gram.dtype == np.float64


@every_solver
def test_float32_rows_do_for_an_ordinary_tolerance(name):
    X, y = blobs(150, 3, seed=17)
    problem = problem_of(X.astype(np.float32), y, 0.1, dtype=np.float32)
    solution = solve(problem, make(name), stop=Gap(1e-3))
    assert solution.status is Status.CONVERGED and solution.certificate.gap <= 1e-3
    assert problem.gram.dtype == np.float32


# --- sampled


@pytest.mark.parametrize("sampler", ["uniform:5", "balanced:5", "permuted:5", "cyclic:5"])
@every_fw
def test_tracked_points_agree_with_scratch_at_every_step(name, sampler):
    X, y = blobs(400, 3, seed=18)
    problem, solver = problem_of(X, y, 1.0), make(name)
    A = dense_A(problem, X, RBF(0.5))
    state = state_of(solver, problem, plugins.sampler(sampler))
    tracked = everything = 0
    for _ in range(400):
        info = solver.step(state)
        idx = np.arange(400) if state.idx is None else state.idx
        for alpha, g in zip(state.alphas, state.gs, strict=True):
            full = np.zeros(400)
            full[idx] = alpha
            truth = (A @ full)[idx]
            np.testing.assert_allclose(g, truth, atol=1e-10 * np.abs(truth).max())
        point = solver.solution(state)
        assert problem.infeasible(point) is None
        assert info.objective == pytest.approx(point @ A @ point, rel=1e-9)
        assert info.n_support == np.count_nonzero(point)
        assert 0 <= state.i < len(idx) and state.alpha[state.j] > 0.0
        if state.idx is None:
            everything += 1
            assert not info.sampled
            assert info.gap_abs == pytest.approx(max(0.0, 2 * (state.f - state.g.min())), rel=1e-9)
            continue
        tracked += 1
        assert info.sampled and not everything
        assert len(np.unique(idx)) == len(idx) == state.n
        np.testing.assert_array_equal(state.position[idx], np.arange(state.n))
        assert (np.delete(state.position, idx) == -1).all()
        assert 5 * state.n <= 400 + 5
    assert tracked > 20 and everything > 20


@pytest.mark.parametrize("sampler", ["uniform:59", "balanced:59", "permuted:59", "cyclic:59", "uniform:1", "full"])
@every_solver
def test_every_sampler_reaches_the_same_objective(name, sampler):
    X, y = blobs(400, 3, seed=19)
    tol = 1e-2 if name in SUBLINEAR else 1e-4
    problem = problem_of(X, y, 0.1)
    solution = solve(problem, make(name), sampler=plugins.sampler(sampler), stop=Gap(tol) | Iterations(BUDGET))
    assert solution.status is Status.CONVERGED
    _, f = qp_optimum(dense_A(problem, X, RBF(0.5)))
    assert 0.5 / solution.certificate.dual == pytest.approx(f, rel=tol)


@every_solver
def test_sampling_saves_kernel_values(name):
    """While few points are tracked, a sampled step costs |S| times their number, not a row of all points."""
    X, y = blobs(4000, 3, seed=20)
    used = {}
    for sampler in ("full", "uniform:5"):
        problem = problem_of(X, y, 1.0)
        state = state_of(make(name), problem, plugins.sampler(sampler))
        for _ in range(50):
            make(name).step(state)
        used[sampler] = problem.gram.kernel_values
    assert used["uniform:5"] < used["full"] / 4
