"""Cutting planes in regression: LIBLINEAR's objectives, cuts that lie below the risk, and the line search of ocas."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize_scalar
from support.liblinear import every_loss
from support.problems import make
from support.regression import linear_svr, primal, quantities, regression, tube
from svmkit_cutting_plane.bundle import Bundle
from svmkit_cutting_plane.search import line_search, make_ramps

from svmkit.errors import InputError
from svmkit.kernels.functions import Linear
from svmkit.kernels.gram import Gram
from svmkit.problems.risks.linear_risk import LinearTubeRisk
from svmkit.solver.loop.solve import solve
from svmkit.solver.sampler import Draws, Shuffled
from svmkit.solver.stopping import Gap

pytestmark = pytest.mark.usefixtures("one_pool")

every_solver = pytest.mark.parametrize("name", ["bmrm", "ocas", "svmperf"])
every_epsilon = pytest.mark.parametrize("epsilon", [0.0, 0.2])


@every_solver
@every_loss
@every_epsilon
@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_liblinears_objective(name, loss, epsilon, bias, storage):
    X, t, C = quantities(120)
    best = primal(X, t, C, epsilon, linear_svr(X, t, C, epsilon, loss, bias), loss, bias)
    solver = make(name, loss=loss, bias=bias)
    found = solve(regression(solver, storage(X), t, C, epsilon), solver, stop=Gap(1e-7)).certificate
    assert 0.0 <= found.gap <= 1e-7
    assert found.primal == pytest.approx(best, rel=1e-6)
    assert found.dual == pytest.approx(best, rel=1e-6)


@every_loss
@every_epsilon
def test_cuts_touch_the_risk_and_lie_below_it(loss, epsilon):
    X, t, C = quantities(60)
    problem = LinearTubeRisk(Gram(Linear(), X), t, C, tube(loss, epsilon))
    rng = np.random.default_rng(0)
    for _ in range(20):
        w, others = rng.normal(size=6), rng.normal(size=(20, 6)) * rng.choice([0.1, 1.0, 10.0], size=(20, 1))
        bundle = Bundle(problem)
        bundle.cut(problem.decision(w))

        def risk(w):
            return float(C @ problem.loss.value(t, problem.decision(w)))

        assert bundle.b[1] - bundle.V[1] @ w == pytest.approx(risk(w), rel=1e-9)
        for other in others:
            assert bundle.b[1] - bundle.V[1] @ other <= risk(other) * (1.0 + 1e-9)


@every_solver
@every_loss
def test_bounds_close_and_the_dual_weights_prove_the_lower_one(name, loss):
    X, t, C = quantities(200)
    solver = make(name, loss=loss)
    problem = regression(solver, X, t, C, 0.2)
    state = solver.init(problem, None, Draws(Shuffled(), problem.y, np.random.default_rng(0)))
    upper, lower = np.inf, -np.inf
    for _ in range(30):
        info = solver.step(state)
        assert info.objective <= upper and lower - 1e-9 <= state.bundle.D
        assert info.objective == pytest.approx(problem.objective(state.best.w), rel=1e-9)
        upper, lower = info.objective, state.bundle.D
    beta = state.bundle.beta()
    assert (np.abs(beta) <= problem.terms.upper).all() and (beta < 0.0).any() and (beta > 0.0).any()
    assert regression(solver, X, t, C, 0.2).offer(beta) >= lower * (1.0 - 1e-5)


@every_loss
@every_epsilon
def test_the_line_search_ends_at_the_minimum(loss, epsilon):
    X, t, C = quantities(60)
    problem = LinearTubeRisk(Gram(Linear(), X), t, C, tube(loss, epsilon))
    rng = np.random.default_rng(0)
    for _ in range(40):
        w, d = rng.normal(size=6), rng.normal(size=6) * rng.choice([0.01, 1.0, 30.0])
        s = line_search(
            make_ramps(problem.points, problem.decision(w), problem.decision(d)), float(w @ d), float(d @ d)
        )

        def along(s):
            return problem.objective(w + s * d)  # noqa: B023

        far = max(2.0 * s, 1.0)
        least = minimize_scalar(along, bounds=(0.0, far), method="bounded", options={"xatol": 1e-12}).fun
        assert s >= 0.0 and along(s) <= min(least, along(0.0)) * (1.0 + 1e-9)


@pytest.mark.parametrize("scale", [1e-5, 1e32])
def test_any_unit_of_the_targets(scale):
    X, t, C = quantities(100)
    solver = make("ocas", loss="squared_hinge")
    found = solve(regression(solver, X, scale * t, C, scale * 0.2), solver, stop=Gap(1e-6)).certificate
    best = primal(X, t, C, 0.2, linear_svr(X, t, C, 0.2, "squared_hinge"), "squared_hinge")
    assert found.gap <= 1e-6 and found.primal == pytest.approx(scale**2 * best, rel=2e-6)


def test_the_l1_penalty_is_refused():
    X, t, C = quantities(60)
    problem = LinearTubeRisk(Gram(Linear(), X), t, C, penalty="l1")
    with pytest.raises(InputError, match="needs the l2 penalty, not l1"):
        solve(problem, make("bmrm"))
