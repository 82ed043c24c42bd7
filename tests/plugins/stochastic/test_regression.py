"""Stochastic methods in regression: their published steps in plain numpy, and how near they come to the optimum."""

import numpy as np
import pytest
import scipy.sparse as sp
from support.liblinear import every_loss
from support.problems import make
from support.regression import linear_svr, primal, quantities, regression, tube
from support.stochastic import Replay, state_of

from svmkit.kernels.functions import RBF, Linear
from svmkit.problems.risks.kernel_risk import KernelTubeRisk
from svmkit.problems.risks.linear_risk import LinearTubeRisk
from svmkit.solver.loop.solve import solve
from svmkit.solver.stopping import Epochs, Gap

pytestmark = pytest.mark.usefixtures("one_pool")

every_linear = pytest.mark.parametrize("name", ["sgd", "pegasos", "folos"])
EPSILON = 0.3


class TubeReplay(Replay):
    """`Replay`, where the side on which a target lies takes the place of its label."""

    def pull(self, i, w, length=None):
        t, h = self.t[i], self.X[i] @ w
        self.y[i] = 1.0 if t > h else -1.0
        over = max(abs(t - h) - EPSILON, 0.0)
        pull = self.s[i] * (float(over > 0.0) if self.loss == "hinge" else 2.0 * over)
        return min(pull, over / length) if self.loss == "squared_hinge" and pull > 0.0 and length else pull


def replay(X, t, C, **options):
    found = TubeReplay((X, np.zeros(len(t)), C), **options)
    found.t = t
    return found


def after(name, X, t, C, epochs=3, **options):
    """(state, point) after so many steps in the order of the data."""
    solver = make(name, average="none", **options)
    state = state_of(solver, regression(solver, X, t, C, EPSILON))
    for _ in range(epochs):
        solver.step(state)
    return state, solver.solution(state)


def last(iterates):
    *_, w = iterates
    return w


@every_loss
@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.slow
def test_pegasos(loss, batch):
    X, t, C = quantities(40)
    want = last(replay(X, t, C, loss=loss).pegasos(batch))
    np.testing.assert_allclose(after("pegasos", X, t, C, loss=loss, batch=batch)[1], want, rtol=1e-9, atol=1e-12)


@every_loss
@pytest.mark.parametrize("bias", [0.0, 2.0])
def test_sgd(loss, bias):
    X, t, C = quantities(40)
    state, w = after("sgd", X, t, C, loss=loss, bias=bias)
    want = last(replay(X, t, C, loss=loss, bias=bias).sgd(state.w.now[0]["t0"]))
    np.testing.assert_allclose(w, want, rtol=1e-9, atol=1e-12)


@every_loss
@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.slow
def test_folos(loss, penalty, storage):
    X, t, C = quantities(40)
    state, w = after("folos", storage(X), t, C, loss=loss, penalty=penalty)
    want = last(replay(X, t, C, loss=loss).folos(penalty, state.w.now[0]["t0"], state.eta0))
    np.testing.assert_allclose(w, want, rtol=1e-9, atol=1e-12)


@every_loss
def test_projected_pegasos_stays_in_the_ball_of_the_optimum(loss):
    """|w|^2 <= P(0) holds at the optimum; without the projection the first steps on the hinge leave the ball."""
    X, t, C = quantities(40)
    problem = regression(make("pegasos", loss=loss), X, t, C, EPSILON)
    empty = problem.objective(np.zeros(6))
    best = linear_svr(X, t, C, EPSILON, loss)
    assert best @ best <= empty
    sizes = {}
    for project in (False, True):
        solver = make("pegasos", loss=loss, average="none", project=project)
        state, sizes[project] = state_of(solver, problem), []
        for i in range(40):
            solver.walk(state, np.array([i]))
            sizes[project].append(float(np.square(solver.solution(state)).sum()))
    assert max(sizes[True]) <= empty * (1.0 + 1e-9)
    assert (max(sizes[False]) > empty) == (loss == "hinge")


@every_linear
@every_loss
@pytest.mark.parametrize("epsilon", [0.0, EPSILON])
def test_within_one_percent_of_the_optimum(name, loss, epsilon):
    X, t, C = quantities(600, 8)
    best = primal(X, t, C, epsilon, linear_svr(X, t, C, epsilon, loss), loss)
    solver = make(name, loss=loss)
    found = solve(regression(solver, X, t, C, epsilon), solver, stop=Epochs(60) | Gap(1e-3)).certificate
    assert best * (1.0 - 1e-9) <= found.primal <= 1.01 * best
    assert found.dual <= best * (1.0 + 1e-9) and found.gap <= 0.02


@every_linear
@every_loss
@pytest.mark.parametrize("scale", [1e-6, 1e9])
def test_any_unit_of_the_targets(name, loss, scale):
    """With targets and epsilon times s, and C of the epsilon-insensitive loss too, the optimum is w times s."""
    X, t, C = quantities(300)
    best = primal(X, t, C, EPSILON, linear_svr(X, t, C, EPSILON, loss), loss)
    solver, costs = make(name, loss=loss), C * (scale if loss == "hinge" else 1.0)
    problem = regression(solver, X, scale * t, costs, scale * EPSILON)
    found = solve(problem, solver, stop=Epochs(100) | Gap(1e-3)).certificate
    assert found.primal <= 1.02 * scale**2 * best


@every_linear
@every_loss
def test_targets_inside_the_tube_need_no_weights(name, loss):
    X, _, C = quantities(100)
    solver = make(name, loss=loss)
    solution = solve(regression(solver, X, np.full(100, 0.05), C, 0.1), solver, stop=Gap(1e-3))
    assert not solution.point.any() and solution.certificate.primal == 0.0 == solution.certificate.gap


@every_loss
def test_l1_leaves_columns_out(loss):
    X, t, C = quantities(300, 4)
    noise = np.random.default_rng(1).normal(size=(300, 20))
    solver = make("folos", loss=loss, penalty="l1")
    solution = solve(regression(solver, np.hstack([X, noise]), t, 0.04 * C, EPSILON), solver, stop=Epochs(100))
    assert solution.point[:4].all() and not solution.point[4:24].all()
    assert 0.0 <= solution.certificate.gap <= 0.1


@pytest.mark.parametrize("name", ["pegasos", "norma"])
@every_loss
def test_with_a_kernel(name, loss):
    X, _, C = quantities(200, 2)
    t = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1]
    solver = make(name, loss=loss)
    problem = regression(solver, X, t, C, 0.05, RBF(0.5))
    assert isinstance(problem, KernelTubeRisk)
    solution = solve(problem, solver, stop=Epochs(50))
    assert solution.certificate.primal < 0.2 * problem.objective(np.zeros(200))
    assert 0.0 <= solution.certificate.gap <= (0.05 if name == "pegasos" else 0.5)


@every_loss
def test_pegasos_with_the_linear_kernel_and_with_its_values_take_the_same_steps(loss):
    """The coefficients of the samples and w are two forms of the same iterates."""
    X, t, C = quantities(40)
    solver = make("pegasos", loss=loss, average="none", batch=4)
    linear = regression(solver, X, t, C, EPSILON)
    kernel = KernelTubeRisk(linear.gram, t, C, tube(loss, EPSILON))
    assert isinstance(linear, LinearTubeRisk) and linear.gram.kernel == Linear()
    points = []
    for problem in (linear, kernel):
        state = state_of(solver, problem)
        for _ in range(3):
            solver.step(state)
        points.append(solver.solution(state))
    np.testing.assert_allclose(linear.design.pull(points[1]), points[0], rtol=1e-9, atol=1e-12)
