"""The decomposition solvers: precision of the rows, budgets, warm starts, options."""

import numpy as np
import pytest
from support.decomposition import every_solver, pose
from support.problems import blobs, make
from svmkit_decomposition.decomposition_state import _round_below

from svmkit import plugins
from svmkit.errors import InputError
from svmkit.kernels.functions import RBF
from svmkit.solver.loop.solve import solve
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations, Violation

pytestmark = pytest.mark.usefixtures("one_pool")


@pytest.mark.float32
@every_solver
def test_float32_rows_reach_any_tolerance(name):
    X, y = blobs(100, 3)
    solver = make(name)
    problem = pose(solver, X, y, 10.0, RBF(0.5), dtype=np.float32)
    solution = solve(problem, solver, stop=Gap(1e-12))  # which rounding does not allow
    assert solution.status is Status.STALLED and solution.certificate.is_exhausted
    assert solution.certificate.gap <= 2.0 * solution.certificate.rounding <= 1e-8


@pytest.mark.float32
def test_float32_rows_give_way_when_they_hold_the_solve_up():
    X, y = blobs(100, 3)
    for drift, dtype in ((0.0, np.float32), (1e-3, np.float64)):
        problem = pose(make("smo"), X, y, 10.0, RBF(0.5), dtype=np.float32)
        state = make("smo").init(problem, None, None)
        while state.violation > 1e-3:
            make("smo").step(state)
        state.box.v[3] += drift
        certificate = problem.certificate(state.point)
        make("smo").resync(state, certificate)
        assert problem.gram.dtype == dtype
        np.testing.assert_array_equal(state.box.v, y * certificate.gradient)
        assert state.objective == pytest.approx(-certificate.dual, rel=certificate.rounding)


@every_solver
def test_iterations_beyond_the_budget_are_few(name):
    X, y = blobs(200, 3, shift=0.3)
    for most in (1, 40, 500):
        problem = pose(make(name), X, y, 100.0)
        solution = solve(problem, make(name), stop=Violation(1e-12) | Iterations(most))
        assert most <= solution.n_iter <= most + most // 16 + 1
        assert solution.status is Status.MAX_ITER


@every_solver
def test_its_own_solution_needs_no_iteration(name):
    X, y = blobs(100, 3)
    solver = make(name)
    cold = solve(pose(solver, X, y), solver, stop=Gap(1e-6))
    warm = solve(pose(solver, X, y), solver, stop=Gap(1e-6), start=cold.point)
    assert cold.n_iter > 5 and warm.n_iter == 0 and warm.status is Status.CONVERGED
    np.testing.assert_array_equal(warm.point, cold.point)


def test_a_pair_is_the_smallest_working_set():
    X, y = blobs(100, 3)
    one, other = (solve(pose(s, X, y), s, stop=Iterations(30)) for s in (make("smo1"), make("svmlight", q=2)))
    assert [p.n_iter for p in one.history] == [p.n_iter for p in other.history]
    np.testing.assert_allclose([p.objective for p in one.history], [p.objective for p in other.history], rtol=1e-6)


def test_larger_working_sets_are_fewer():
    X, y = blobs(150, 3)
    solutions = [solve(pose(make("svmlight", q=q), X, y), make("svmlight", q=q), stop=Gap(1e-4)) for q in (2, 10, 40)]
    counts = [solution.n_iter for solution in solutions]
    assert counts[0] > 2 * counts[1] > 4 * counts[2]


@pytest.mark.parametrize("q", [0, 1, 3, -2, 2.5])
def test_sizes_of_a_working_set_that_are_none(q):
    with pytest.raises(InputError, match=r"q must be an even number >= 2|q=2\.5 should be a whole number"):
        make("svmlight", q=q)


def test_smol2_takes_losses_with_a_ridge():
    kind = plugins.load("solver", "smol2")
    assert kind.loss_names("classify") == ["squared_hinge", "smoothed_hinge"]
    assert set(kind.loss_names("regress")) == {"squared_epsilon_insensitive", "squared_error", "huber", "expectile"}
    with pytest.raises(InputError, match="smol2 does not take loss=hinge"):
        make("smol2", loss="hinge")
    assert pose(make("smol2"), *blobs(20)).upper.min() == np.inf


def test_the_violation_that_shrinking_aims_at_is_1_2_or_5_times_a_power_of_ten_below():
    assert [_round_below(x) for x in (0.3, 0.2, 7.0, 1.0, 1.5e-9, 60.0)] == [0.2, 0.1, 5.0, 0.5, 1e-9, 50.0]
    assert [_round_below(x) for x in (0.0, -1.0, np.inf, np.nan)] == [0.0] * 4
