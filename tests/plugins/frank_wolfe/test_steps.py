"""The Frank-Wolfe family: each method against itself in plain numpy, and what holds at every step."""

import numpy as np
import pytest
from support.problems import (
    BUDGET,
    CLASSIC,
    blobs,
    dense_A,
    every_fast,
    every_fw,
    every_solver,
    make,
    problem_of,
    qp_optimum,
    state_of,
)
from svmkit_frank_wolfe.iterate import loops
from svmkit_frank_wolfe.iterate.state import Direction

from svmkit.kernels.functions import RBF
from svmkit.solver.exact_search import line_search
from svmkit.solver.loop.solve import solve
from svmkit.solver.selection import by_name
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Absolute, Gap, Iterations

pytestmark = pytest.mark.usefixtures("one_pool")

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


@pytest.mark.parametrize("m", [1, 255, 256, 1000])
def test_searches_find_the_first_of_the_best_vertices(m):
    rng = np.random.default_rng(m)
    for signs in (1.0, -1.0, 0.0):
        g = np.round(rng.normal(size=m), 1) + 3.0 * signs  # many ties
        alpha = np.maximum(rng.normal(size=m), 0.0)
        alpha[rng.integers(m)] = 1.0
        y, row, i = np.sign(rng.normal(size=m)), np.round(rng.uniform(size=m), 1), int(np.argmin(g))
        active = alpha > 0.0
        assert loops.away_vertex(g, alpha) == np.argmax(np.where(active, g, -np.inf))
        diag = np.full(m, 3.0)
        gain = (g - g[i]) ** 2 / (6.0 - 2.0 * y[i] * y * (row + 1.0))
        gain[~active | (g <= g[i])] = 0.0
        j = loops.second_order_away(g, alpha, y, diag, row, i, y[i], 1.0, 1e-12)
        assert gain[j] == pytest.approx(gain.max(), rel=1e-12) if gain.max() > 0.0 else j == -1


@pytest.mark.parametrize("name", [n for n in CLASSIC if n != "partan"])
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
    assert line_search(-0.0, 1.0, 1.0) == line_search(0.0, 0.0, 1.0) == line_search(np.nan, 1.0, 1.0) == 0.0
    assert line_search(3.0, 1.0, 1.0) == line_search(0.5, 1.0, 1.0) == line_search(0.5, -1.0, 1.0) == 0.0


def test_the_gain_of_a_direction():
    def gain(slope, curvature):
        return Direction(slope, curvature, 1.0, -1.0, 1.0, 0.0).gain

    assert gain(-3.0, 2.0) == 4.5 and gain(-1e-3, 1e-6) == pytest.approx(1.0, rel=1e-15)
    assert gain(0.0, 2.0) == gain(0.5, 2.0) == gain(3.0, 2.0) == gain(0.5, -1.0) == 0.0
    assert gain(-1.0, 0.0) == gain(-1.0, -1.0) == pytest.approx(1e300, rel=1e-15)
    assert Direction(0.0, 1.0, 1.0, -1.0, 1.0, 0.0).j == -1  # no vertex gives weight


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


@pytest.mark.parametrize("sampler", ["uniform:5", "balanced:5", "permuted:5", "cyclic:5"])
@every_fw
def test_tracked_points_agree_with_scratch_at_every_step(name, sampler):
    X, y = blobs(400, 3, seed=18)
    problem, solver = problem_of(X, y, 1.0), make(name)
    A = dense_A(problem, X, RBF(0.5))
    state = state_of(solver, problem, by_name.sampler(sampler))
    tracked = everything = 0
    for _ in range(400):
        info = solver.step(state)
        idx = np.arange(400) if state.tracked.idx is None else state.tracked.idx
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
        if state.tracked.idx is None:
            everything += 1
            assert not info.sampled
            assert info.gap_abs == pytest.approx(max(0.0, 2 * (state.f - state.g.min())), rel=1e-9)
            continue
        tracked += 1
        assert info.sampled and not everything
        assert len(np.unique(idx)) == len(idx) == state.tracked.n
        np.testing.assert_array_equal(state.tracked.position[idx], np.arange(state.tracked.n))
        assert (np.delete(state.tracked.position, idx) == -1).all()
        assert 5 * state.tracked.n <= 400 + 5
    assert tracked > 20 and everything > 20
