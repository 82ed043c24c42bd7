"""The best model on given vectors: against a plain minimisation, and what a budget of vectors gives."""

import signal

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.metrics import pairwise
from support.problems import FAMILY, blobs, make, overlapping, problem_of

from svmkit import fit
from svmkit.kernels.functions import RBF, Linear
from svmkit.solver.loop.solve import solve
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Support
from svmkit.training.subproblems.refit import refit

pytestmark = pytest.mark.usefixtures("one_pool")


def primal(K, K_idx, y, C, beta, b):
    slack = np.maximum(0.0, 1.0 - y * (K @ beta + b))
    return 0.5 * beta @ K_idx @ beta + 0.5 * b * b + np.sum(C * slack**2)


@pytest.mark.parametrize("memory", ["1GB", 2000])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array, np.float32])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_equals_a_plain_minimisation(C, storage, memory):
    X, y = blobs(120, 3, seed=31)
    problem = problem_of(storage(X), y, C, memory=memory)
    idx = np.array([3, 50, 7, 99, 20])
    K = pairwise.rbf_kernel(X, X[idx], gamma=0.5)
    want = minimize(lambda v: primal(K, K[idx], y, C, v[:-1], v[-1]), np.zeros(6), options={"gtol": 1e-9})
    found, certificate = refit(problem, idx)
    assert np.flatnonzero(found.coef).tolist() == sorted(idx.tolist())
    value = primal(K, K[idx], y, C, found.coef[idx], found.intercept)
    assert certificate.primal == pytest.approx(value, rel=1e-5)
    assert value == pytest.approx(want.fun, rel=1e-4)


def test_its_certificate_bounds_the_optimum():
    X, y = blobs(150, 3, seed=32)
    problem = problem_of(X, y, 1.0)
    best = solve(problem, make("swap2o"), stop=Gap(1e-8)).certificate
    for size in (1, 10, 60):
        _, found = refit(problem, np.arange(size))
        assert found.dual <= best.primal * (1 + 1e-9) and found.primal >= best.dual * (1 - 1e-9)
        assert found.gap == pytest.approx((found.primal - found.dual) / found.primal)
    assert found.gap < 0.2


def test_on_all_support_vectors_it_is_the_optimum():
    X, y = blobs(150, 3, seed=33)
    problem = problem_of(X, y, 1.0)
    solution = solve(problem, make("swap2o"), stop=Gap(1e-8))
    _, found = refit(problem, np.flatnonzero(solution.point))
    assert found.primal == pytest.approx(solution.certificate.primal, rel=1e-5) and found.gap < 1e-2


def test_no_bias_equal_vectors_and_unequal_costs():
    X, y = blobs(80, 3, seed=34)
    X[1], X[2] = X[0], X[0]
    C = np.where(y > 0, 3.0, 0.5)
    without, certificate = refit(problem_of(X, y, C, bias=0.0), np.arange(12))
    assert without.intercept == 0.0
    K = pairwise.rbf_kernel(X, X[:12], gamma=0.5)
    want = minimize(lambda v: primal(K, K[:12], y, C, v, 0.0), np.zeros(12), options={"gtol": 1e-9})
    assert certificate.primal == pytest.approx(want.fun, rel=1e-4)


@pytest.mark.parametrize("name", FAMILY)
def test_a_budget_gives_the_best_model_on_its_vectors(name):
    X, y = overlapping(300, seed=35)
    kernel = RBF(0.5)
    whole = fit(X, y, solver="swap2o", kernel=kernel, C=1.0)
    small = fit(X, y, solver=name, kernel=kernel, C=1.0, stop=Gap(1e-3) | Support(15))
    assert small.status is Status.MAX_SUPPORT and len(small.support) <= 15 < len(whole.support) // 5
    assert whole.dual_objective <= small.objective and small.dual_objective <= whole.objective
    assert (small.model.predict(X) == y).mean() > (whole.model.predict(X) == y).mean() - 0.06


def test_more_vectors_are_a_better_model_and_the_curve_tells():
    X, y = overlapping(400, seed=36)
    held_out = overlapping(400, seed=37)
    objectives = []
    for most in (5, 20, 80):
        found = fit(X, y, kernel=RBF(0.5), stop=Gap(1e-3) | Support(most), validation=held_out)
        objectives.append(found.objective)
        measured = [(p.n_support, p.accuracy) for p in found.solutions[0].history if p.accuracy is not None]
        assert measured[-1][1] == pytest.approx((found.model.predict(held_out[0]) == held_out[1]).mean())
        sizes = [size for size, _ in measured]
        assert sizes == sorted(sizes) and sizes[-1] <= most
    assert objectives == sorted(objectives, reverse=True)


def test_every_pair_of_classes_has_its_budget():
    X, y = overlapping(300, seed=38)
    y = np.where(X[:, 0] > 1.0, 2, y)
    found = fit(X, y, kernel=RBF(0.5), stop=Gap(1e-3) | Support(6))
    assert all(s.n_support <= 6 for s in found.solutions) and len(found.support) <= 18
    assert (found.model.predict(X) == y).mean() > 0.7


def test_linear_kernel_and_one_vector():
    X, y = overlapping(60, seed=39)
    found = fit(X, y, kernel=Linear(), stop=Gap(1e-3) | Support(1))
    assert len(found.support) == 1 and np.isfinite(found.objective)


def test_a_signal_ends_it_with_what_there_is(monkeypatch):
    X, y = blobs(150, 3, seed=40)
    problem = problem_of(X, y, 1.0)
    _, whole = refit(problem, np.arange(40))

    def interrupted(*args, callback, **kwargs):
        def heed(z):
            signal.raise_signal(signal.SIGINT)
            callback(z)

        return minimize(*args, callback=heed, **kwargs)

    monkeypatch.setattr("scipy.optimize.minimize", interrupted)
    _, found = refit(problem, np.arange(40))
    assert found.primal > whole.primal and np.isfinite(found.gap)
