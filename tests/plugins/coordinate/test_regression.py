"""dcd in regression: LIBLINEAR's objectives, one coordinate at a time against brute force, and several workers."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize_scalar
from support.liblinear import LOSSES, every_loss, in_regression
from support.problems import make
from support.regression import linear_svr, primal, quantities, regression, tube

from svmkit.kernels.functions import Linear
from svmkit.kernels.gram import Gram
from svmkit.problems.risks.linear_risk import LinearTubeDual
from svmkit.solver.loop.solve import solve
from svmkit.solver.sampler import Draws, Shuffled
from svmkit.solver.stopping import Gap

pytestmark = pytest.mark.usefixtures("one_pool")

STORAGES = {"dense": np.asarray, "csr": sp.csr_array, "float32": lambda X: X.astype(np.float32)}


@every_loss
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("bias", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("storage", STORAGES.values(), ids=STORAGES)
def test_liblinears_objective(loss, epsilon, bias, storage):
    X, t, C = quantities(120)
    X = X.astype(np.float32)
    best = primal(X, t, C, epsilon, linear_svr(X, t, C, epsilon, loss, bias), loss, bias)
    solver = make("dcd", loss=loss, bias=bias)
    found = solve(regression(solver, storage(X), t, C, epsilon), solver, stop=Gap(1e-7)).certificate
    assert 0.0 <= found.gap <= 1e-7
    assert found.primal == pytest.approx(best, rel=1e-6)
    assert found.dual == pytest.approx(best, rel=1e-6)


@every_loss
@pytest.mark.parametrize("shrinking", [True, False])
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.slow
def test_what_a_step_reports(loss, shrinking, workers):
    X, t, C = quantities(4000, 30)
    problem = LinearTubeDual(Gram(Linear(), X), t, C, tube(loss, 0.3))
    solver = make("dcd", loss=loss, shrinking=shrinking, workers=workers)
    state = solver.init(problem, None, Draws(Shuffled(), problem.y, np.random.default_rng(0)))
    assert (state.shared is not None) == (workers > 1)
    before = 0.0
    for info in itertools.islice(iter(lambda: solver.step(state), None), 25):
        d = solver.solution(state)
        assert problem.infeasible(d) is None
        assert info.objective == pytest.approx(problem.objective(d), rel=1e-9) and info.objective <= before
        assert info.n_support == np.count_nonzero(d)
        assert info.gap >= 0.0 and info.violation >= 0.0
        before = info.objective
    np.testing.assert_allclose(state.v, problem.weights(d), rtol=1e-9, atol=1e-9)


@every_loss
@pytest.mark.parametrize("epsilon", [0.0, 0.4])
def test_one_coordinate_at_a_time(loss, epsilon):
    """From any weight, on either side of the kink or at it, a step goes to the minimum along its coordinate."""
    X, t, C = quantities(40, 3)
    problem = LinearTubeDual(Gram(Linear(), X), t, C, tube(loss, epsilon))
    d, rng = problem.clip(np.random.default_rng(1).normal(size=40)), np.random.default_rng(2)
    d[::5] = 0.0
    for i in itertools.chain(range(40), rng.integers(0, 40, 80)):
        before, v = problem.objective(d), problem.weights(d)

        def along(x, i=i):
            return problem.objective(np.where(np.arange(40) == i, x, d))

        top = min(float(problem.terms.upper[i]), 1e3)
        least = min(along(0.0), *(
            minimize_scalar(along, bounds=side, method="bounded", options={"xatol": 1e-12}).fun
            for side in ((-top, 0.0), (0.0, top))
        ))  # fmt: skip
        done = problem.descend(np.array([i]), d, v, np.inf, -np.inf)
        after = problem.objective(d)
        assert problem.infeasible(d) is None and done.n == 1
        assert after <= least + 1e-9 * abs(before) and done.gain == pytest.approx(before - after, abs=1e-9)
        np.testing.assert_allclose(v, problem.weights(d), atol=1e-9)


@every_loss
@pytest.mark.parametrize("epsilon", [0.0, 0.4])
def test_the_terms_of_the_gap_add_up(loss, epsilon):
    """At weights that do not move, the sum of the points' terms is P - D."""
    X, t, C = quantities(40, 3)
    problem = LinearTubeDual(Gram(Linear(), X), t, C, tube(loss, epsilon))
    for seed in range(10):
        d = problem.clip(np.random.default_rng(seed).normal(size=40))
        d[::3] = 0.0
        v, total = problem.weights(d), 0.0
        for i in range(40):
            total += problem.descend(np.array([i]), d.copy(), v.copy(), np.inf, -np.inf).gap
        certificate = problem.certificate(d)
        assert total == pytest.approx(certificate.primal - certificate.dual, rel=1e-9)


@pytest.mark.slow
@every_loss
@pytest.mark.threads
def test_workers_reach_the_optimum_whatever_the_number_of_threads(loss):
    X, t, C = quantities(3000, 40)
    best = solve(regression(make("dcd", loss=loss), X, t, C, 0.2), make("dcd", loss=loss), stop=Gap(1e-3))
    for workers in (2, 4):
        solver = make("dcd", loss=loss, workers=workers)
        found, again = (
            solve(regression(solver, X, t, C, 0.2), solver, stop=Gap(1e-3), n_threads=n_threads) for n_threads in (1, 2)
        )
        assert found.certificate.gap <= 1e-3
        assert found.certificate.primal == pytest.approx(best.certificate.primal, rel=1e-3)
        np.testing.assert_array_equal(again.point, found.point)


@every_loss
@pytest.mark.parametrize("scale", [1e-5, 1e9])
def test_any_unit_of_the_targets(loss, scale):
    X, t, C = quantities(100)
    costs = C * (scale if loss == "hinge" else 1.0)
    solver = make("dcd", loss=loss)
    found = solve(regression(solver, X, scale * t, costs, scale * 0.2), solver, stop=Gap(1e-6)).certificate
    best = primal(X, t, C, 0.2, linear_svr(X, t, C, 0.2, loss), loss)
    assert found.gap <= 1e-6 and found.primal == pytest.approx(scale**2 * best, rel=2e-6)


@every_loss
@pytest.mark.parametrize("level", [0.0, 7.0])
def test_constant_targets(loss, level):
    X, _, C = quantities(100)
    solver, t = make("dcd", loss=loss), np.full(100, level)
    found = solve(regression(solver, X, t, C, 0.0), solver, stop=Gap(1e-6)).certificate
    best = primal(X, t, C, 0.0, linear_svr(X, t, C, 0.0, loss), loss)
    assert found.gap <= 1e-6 and found.primal == pytest.approx(best, rel=1e-6)


@every_loss
def test_starts(loss):
    X, t, C = quantities(200)
    solver = make("dcd", loss=loss)
    problem = regression(solver, X, t, C, 0.2)
    first = solve(problem, solver, stop=Gap(1e-5))
    again = solve(problem, solver, stop=Gap(1e-4), start=first.point)
    assert again.n_iter < first.n_iter and again.certificate.gap <= 1e-4


@pytest.mark.parametrize(("name", "short"), [(in_regression(loss), loss) for loss in LOSSES])
def test_losses_by_their_names_in_regression(name, short):
    X, t, C = quantities(100)
    solver = make("dcd", loss=name)
    assert solver.loss == short  # one name in tables and model files
    assert regression(solver, X, t, C).loss == tube(short, 0.1) == regression(type(solver)(loss=name), X, t, C).loss
