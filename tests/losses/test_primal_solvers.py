"""Every loss with every solver of the primal risks: against a QP solver, scikit-learn, and definitions."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize_scalar
from sklearn.linear_model import QuantileRegressor, Ridge
from sklearn.metrics.pairwise import rbf_kernel

from svmkit import plugins
from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Linear
from svmkit.kernels.gram import Gram
from svmkit.losses import (
    AbsoluteError,
    EpsilonInsensitive,
    Expectile,
    Hinge,
    Huber,
    Quantile,
    SmoothedHinge,
    SquaredEpsilonInsensitive,
    SquaredError,
    SquaredHinge,
    Terms,
)
from svmkit.losses.base import Family, Loss
from svmkit.solver.loop.solve import solve
from svmkit.solver.stopping import Gap, Iterations

pytestmark = pytest.mark.usefixtures("one_pool")


@dataclass(frozen=True)
class Lopsided(Loss):
    """A loss by somebody else: twice the residual above 0.3, its square below -0.1, where no weight is bounded."""

    name: ClassVar[str] = "lopsided"
    task: ClassVar[str] = "regress"
    family: ClassVar[Family] = Family.RIDGED

    def value(self, target, h):
        e = target - h
        return 2.0 * np.maximum(e - 0.3, 0.0) + np.square(np.maximum(-e - 0.1, 0.0))

    def terms(self, target, C):
        return Terms.fill(
            target, lower=-np.inf, upper=2.0 * C, kink_up=0.3, kink_down=0.1, ridge_up=0.0, ridge_down=0.5 / C
        )


LOSSES = [
    Hinge(), SquaredHinge(), SmoothedHinge(0.5), EpsilonInsensitive(0.3), SquaredEpsilonInsensitive(0.3),
    AbsoluteError(), SquaredError(), Huber(0.4), Quantile(0.8), Expectile(0.8), Lopsided(),
]  # fmt: skip
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
SOLVERS = {"dcd": 1e-7, "ocas": 1e-6, "bmrm": 1e-6, "svmperf": 1e-6}
SOLVERS |= {"sgd": 1e-3, "pegasos": 1e-3, "folos": 1e-3, "sgdqn": 5e-3}


def samples(task, m=60, d=4):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(m, d))
    h = X @ rng.normal(size=d) + 0.5
    target = np.sign(h + 0.7 * rng.normal(size=m)) if task == "classify" else h + 0.5 * rng.standard_t(3, size=m)
    return X, target, rng.uniform(0.1, 1.0, m)


def optimum(K, loss, target, C):
    """The signed dual weights of the optimum for kernel values K that hold the bias, and D, by quadprog."""
    quadprog = pytest.importorskip("quadprog", reason="needs the trusted QP solver quadprog (extra `test`)")
    m, t = len(target), loss.terms(target, C)
    limits = np.concatenate([t.upper, -t.lower])
    used = limits > 0.0
    split, limits = np.hstack([np.eye(m), -np.eye(m)])[:, used], limits[used]  # beta = beta_+ - beta_-
    Q = split.T @ K @ split + np.diag(np.concatenate([t.ridge_up, t.ridge_down])[used] + 1e-8)
    linear = np.concatenate([target - t.kink_up, -target - t.kink_down])[used]
    bounded = np.flatnonzero(np.isfinite(limits))
    sides = np.hstack([np.eye(len(limits)), -np.eye(len(limits))[:, bounded]])
    both, value = quadprog.solve_qp(Q, linear, sides, np.append(np.zeros(len(limits)), -limits[bounded]))[:2]
    return np.clip(split @ both, t.lower, t.upper), -value


@pytest.fixture(scope="module")
def linear_optimum():
    """(P by its definition at the QP's optimum) of each loss, once D of the QP has been found to be the same."""
    known = {}

    def look_up(loss):
        if loss not in known:
            X, target, C = samples(loss.task)
            F = np.append(X, np.ones((len(X), 1)), axis=1)
            beta, dual = optimum(F @ F.T, loss, target, C)
            w = F.T @ beta
            known[loss] = 0.5 * w @ w + C @ loss.value(target, F @ w)
            assert known[loss] == pytest.approx(dual, rel=1e-5)
        return known[loss]

    return look_up


def posed(name, loss, X, target, C, kernel=None, **options):
    solver = plugins.build("solver", name, {"loss": loss, **options})
    return solver, solver.pose(Gram((kernel or Linear()).resolve(X), X), target, C, loss)


@every_loss
@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.slow
def test_linear_solvers_reach_the_optimum(name, loss, linear_optimum):
    X, target, C = samples(loss.task)
    solver, problem = posed(name, loss, X, target, C)
    best, gap = linear_optimum(loss), SOLVERS[name]
    solution = solve(problem, solver, stop=Gap(gap))
    found, model = solution.certificate, problem.decision_function(solution.point, solution.certificate)
    assert found.gap <= gap
    assert best * (1.0 - 1e-6 - gap) <= found.dual <= best * (1.0 + 1e-6)
    h = X @ model.w + model.intercept
    P = 0.5 * (model.w @ model.w + model.intercept**2) + C @ loss.value(target, h)
    assert found.primal == pytest.approx(P, rel=1e-9) and best * (1.0 - 1e-6) <= P <= best * (1.0 + 1e-6) / (1.0 - gap)


@pytest.mark.slow
@every_loss
@pytest.mark.parametrize("options", [{"workers": 3}, {"shrinking": False}], ids=["workers", "all points"])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_coordinate_descent_in_all_its_forms(loss, options, storage):
    X, target, C = samples(loss.task, 3000, 40)
    solver, problem = posed("dcd", loss, storage(X), target, 0.02 * C, **options)
    solution = solve(problem, solver, stop=Gap(1e-4) | Iterations(3000))
    assert solution.certificate.gap <= 1e-4
    assert problem.infeasible(solution.point) is None


@every_loss
@pytest.mark.parametrize("name", ["pegasos", "norma"])
def test_solvers_in_the_space_of_a_kernel(name, loss):
    X, target, C = samples(loss.task)
    beta, best = optimum(rbf_kernel(X, gamma=0.5) + 1.0, loss, target, C)
    solver, problem = posed(name, loss, X, target, C, RBF(0.5))
    exact = problem.certificate(beta)
    assert exact.primal == pytest.approx(best, rel=1e-5) and -1e-9 <= exact.gap <= 1e-5
    found = solve(problem, solver, stop=Gap(0.01) | Iterations(1000)).certificate
    assert found.dual <= best * (1.0 + 1e-6) and best * (1.0 - 1e-6) <= found.primal <= 1.03 * best


@every_loss
def test_one_step_goes_to_the_minimum_of_its_coordinate(loss):
    """From any weight, on either side of 0, at it or at a bound; the parts of P - D add up as well."""
    X, target, C = samples(loss.task, 30, 3)
    _, problem = posed("dcd", loss, X, target, C)
    rng = np.random.default_rng(0)
    for i in rng.integers(0, 30, 90):
        beta = problem.clip(rng.normal(size=30) * rng.choice([0.0, 0.1, 10.0], 30))
        before, v = problem.objective(beta), problem.weights(beta)

        def along(x, beta=beta, i=i):
            return problem.objective(np.where(np.arange(30) == i, x, beta))

        low, high = max(problem.terms.lower[i], -50.0), min(problem.terms.upper[i], 50.0)
        least = min(along(0.0), *(
            minimize_scalar(along, bounds=side, method="bounded", options={"xatol": 1e-12}).fun
            for side in ((low, 0.0), (0.0, high)) if side[0] < side[1]
        ))  # fmt: skip
        certificate = problem.certificate(beta)
        parts = sum(problem.descend(np.array([k]), beta.copy(), v.copy(), np.inf, -np.inf).gap for k in range(30))
        assert parts == pytest.approx(certificate.primal - certificate.dual, rel=1e-9, abs=1e-9)
        done = problem.descend(np.array([i]), beta, v, np.inf, -np.inf)
        after = problem.objective(beta)
        assert problem.infeasible(beta) is None
        assert after <= least + 1e-9 * (1.0 + abs(before))
        assert done.gain == pytest.approx(before - after, abs=1e-9 * (1.0 + abs(before)))


@every_loss
def test_the_l1_penalty_is_certified(loss):
    X, target, C = samples(loss.task, 200)
    solver, problem = posed("folos", loss, X, target, 0.1 * C, penalty="l1")
    found = solve(problem, solver, stop=Gap(1e-3) | Iterations(300)).certificate
    assert found.dual is not None and 0.0 <= found.gap <= 0.1
    for w in np.random.default_rng(0).normal(size=(20, 5)):
        assert found.dual <= problem.objective(w)


def test_squared_error_is_ridge_regression():
    X, t, C = samples("regress")
    solver, problem = posed("dcd", SquaredError(), X, t, C)
    solution = solve(problem, solver, stop=Gap(1e-12) | Iterations(5000))
    model = problem.decision_function(solution.point, solution.certificate)
    peer = Ridge(alpha=0.5, fit_intercept=False).fit(np.append(X, np.ones((60, 1)), axis=1), t, sample_weight=C)
    np.testing.assert_allclose(np.append(model.w, model.intercept), peer.coef_, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
def test_a_quantile_without_a_penalty_is_scikit_learns(tau):
    X, t, _ = samples("regress")
    solver, problem = posed("ocas", Quantile(tau), X, t, 1e3)
    solution = solve(problem, solver, stop=Gap(1e-6))
    model = problem.decision_function(solution.point, solution.certificate)
    peer = QuantileRegressor(quantile=tau, alpha=0.0, solver="highs").fit(X, t)
    ours, theirs = (Quantile(tau).value(t, h).sum() for h in (X @ model.w + model.intercept, peer.predict(X)))
    assert theirs * (1.0 - 1e-9) <= ours <= theirs * (1.0 + 1e-3)


def test_the_error_about_a_loss_names_the_solvers_that_take_it():
    X, t, C = samples("regress")
    solver = plugins.build("solver", "liblinear", {})
    with pytest.raises(InputError, match=r"liblinear does not take loss=huber; .*; with huber: .*dcd.*ocas.*sgd"):
        solver.pose(Gram(Linear(), X), t, C, Huber())
