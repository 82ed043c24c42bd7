"""Points left out: the same optimum, exact gradients on the way back, whatever the cache holds."""

import numpy as np
import pytest
import scipy.sparse as sp
from support.decomposition import pose
from support.problems import blobs, make

from svmkit.kernels.functions import RBF
from svmkit.solver.loop.solve import solve
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations, Violation
from svmkit.training.train import fit

pytestmark = pytest.mark.usefixtures("one_pool")

SHRINKING = ["smo", "smol2", "svmlight"]
every_shrinking = pytest.mark.parametrize("name", SHRINKING)


def data(name, m=400, seed=0):
    """For smol2 most weights end at 0; for the others, whose upper bound is C, at either end."""
    return blobs(m, 2, seed=seed, shift=1.5 if name == "smol2" else 0.6)


def until_shrunk(solver, problem, most=4000):
    """A state of the solve in which points are left out."""
    state = solver.init(problem, None, None)
    for _ in range(most):
        if solver.step(state).shrunk:
            return state
    raise AssertionError("it never left a point out")


@every_shrinking
def test_points_are_left_out_and_the_optimum_is_the_same(name):
    X, y = data(name)
    solved, seen = {}, {}
    for shrinking in (True, False):
        solver = make(name, shrinking=shrinking)
        problem = pose(solver, X, y, 50.0)
        shrunk = []
        step = type(solver).step
        state = solver.init(problem, None, None)
        info = step(solver, state)
        while info.violation > 1e-7 or info.shrunk:
            if info.violation <= 1e-7:
                solver.reactivate(state)
            info = step(solver, state)
            shrunk.append(info.shrunk)
        seen[shrinking], solved[shrinking] = any(shrunk), problem.certificate(solver.solution(state))
    assert seen == {True: True, False: False}
    assert solved[True].dual == pytest.approx(solved[False].dual, rel=1e-9)
    assert 0.0 <= solved[True].gap < 1e-6


@every_shrinking
def test_what_is_left_out_keeps_its_weight_and_comes_back_exactly(name):
    solver = make(name)
    problem = pose(solver, *data(name), 50.0)
    state = until_shrunk(solver, problem)
    left_out = np.setdiff1d(np.arange(problem.m), state.at)
    before = solver.solution(state)
    assert np.isin(before[left_out], [0.0, *problem.upper]).all()
    for _ in range(3):
        info = solver.step(state)
    after = solver.solution(state)
    np.testing.assert_array_equal(after[left_out], before[left_out])
    assert np.abs(after - before).max() > 0.0
    assert info.n_support == np.count_nonzero(after)
    assert info.objective == pytest.approx(problem.objective(after), rel=1e-9)
    here = problem.y * problem.gradient(after)
    np.testing.assert_allclose(state.box.v, here[state.at], rtol=0, atol=1e-9)
    solver.reactivate(state)
    np.testing.assert_array_equal(state.box.v, here)
    np.testing.assert_array_equal(solver.solution(state), after)
    info = solver.step(state)
    assert (info.steps, info.shrunk, state.at) == (0, False, None)


@every_shrinking
def test_the_loop_certifies_on_all_points(name):
    solver = make(name)
    for stop in (Gap(1e-8), Violation(1e-5)):
        problem = pose(solver, *data(name, seed=1), 50.0)
        solution = solve(problem, solver, stop=stop)
        assert solution.status is Status.CONVERGED and solution.certificate.gap < 1e-5
    for most in (100, 600):  # a budget may run out while points are left out
        problem = pose(solver, *data(name, seed=1), 50.0)
        solution = solve(problem, solver, stop=Violation(1e-12) | Iterations(most))
        assert solution.status is Status.MAX_ITER and problem.infeasible(solution.point) is None
        again = solve(problem, solver, stop=Gap(1e-6))
        assert again.status is Status.CONVERGED


def test_a_certificate_that_fails_ends_the_shrinking():
    solver = make("smo")
    problem = pose(solver, *data("smo"), 50.0, RBF(0.1), dtype=np.float32)
    state = until_shrunk(solver, problem)
    state.box.v[1] += 1.0
    certificate = problem.certificate(solver.solution(state))
    solver.resync(state, certificate)
    assert state.at is None and problem.gram.dtype == np.float64
    np.testing.assert_array_equal(state.box.v, problem.y * certificate.gradient)
    solver.step(state), solver.step(state)
    assert problem.gram.row_table.slab.dtype == np.float64


@pytest.mark.slow
@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("name", ["smo1", "smo", "smol2", "svmlight"])
def test_the_cache_changes_no_bit(name, stored):
    X, y = blobs(150, 3)
    options = {} if name == "smo1" else {"shrinking": False}
    solver = make(name, **options)
    points, computed = [], []
    for memory in ("1GB", 60 * 150 * 4, 24 * 150 * 4):
        problem = pose(solver, stored(X), y, 10.0, RBF(0.3), memory=memory, dtype=np.float32)
        points.append(solve(problem, solver, stop=Violation(1e-4)).point)
        computed.append(problem.gram.kernel_values)
    assert computed[2] > 1.5 * computed[0]  # rows went and came back
    np.testing.assert_array_equal(points[0], points[1])
    np.testing.assert_array_equal(points[0], points[2])


@every_shrinking
def test_a_cache_of_five_rows_will_do(name):
    X, y = data(name, 200)
    solver = make(name)
    problem = pose(solver, X, y, 20.0, memory=1, dtype=np.float64)
    solution = solve(problem, solver, stop=Gap(1e-6))
    assert solution.status is Status.CONVERGED and solution.certificate.gap <= 1e-6


def test_a_path_of_C_goes_on_in_the_same_cache():
    X, y = data("smo", 300)
    solver = make("smo")
    grams = pose(solver, X, y, 1.0).gram
    for C in (1.0, 10.0, 100.0):
        solution = solve(solver.pose(grams, y, C), solver, stop=Gap(1e-6))
        ours = fit(X, y, solver="smo", kernel=RBF(0.1), C=C, stop=Gap(1e-6))
        assert solution.certificate.dual == pytest.approx(ours.dual_objective, rel=1e-6)
