"""BoxQP against LIBSVM, finite differences and a trusted QP solver; its best bias, feasibility and way to a model."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from support.liblinear import LOSSES
from support.problems import blobs

from svmkit.errors import InputError
from svmkit.kernels.functions import RBF
from svmkit.kernels.gram import Gram
from svmkit.problems.box import BoxQP


def box(m=50, C=1.0, loss="hinge", seed=0, **data):
    X, y = blobs(m, 3, seed=seed, **data)
    return X, y, BoxQP(Gram(RBF(0.5), X), y, C, loss=loss)


def libsvm(X, y, C):
    fitted = SVC(C=1.0, gamma=0.5, tol=1e-10).fit(X, y, sample_weight=np.full(len(y), C))
    beta = np.zeros(len(y))
    beta[fitted.support_] = np.abs(fitted.dual_coef_[0])
    return fitted, beta


def feasible(problem, seed=0):
    rng = np.random.default_rng(seed)
    return problem.start(problem.y * rng.random(problem.m) * np.minimum(problem.C, 1.0))


@pytest.mark.parametrize("C", [1e-2, 1.0, 100.0])
@pytest.mark.parametrize("share", [0.5, 0.1])
def test_libsvms_solution_is_certified(C, share):
    X, y, problem = box(C=C, share=share)
    fitted, beta = libsvm(X, y, C)
    certificate = problem.certificate(beta)
    assert -1e-12 <= certificate.gap <= 2e-5  # LIBSVM keeps kernel rows in float32
    found = problem.decision_function(beta, certificate)
    coef, intercept = found.coef, found.intercept
    assert found.w is None
    K = rbf_kernel(X, gamma=0.5)
    h = K @ coef + intercept
    slack = np.maximum(0.0, 1.0 - y * h)
    assert certificate.primal == pytest.approx(0.5 * coef @ K @ coef + C * slack.sum(), rel=1e-9)
    # LIBSVM's own bias is no better: the best one may be a whole interval
    own = np.maximum(0.0, 1.0 - y * fitted.decision_function(X))
    assert slack.sum() <= own.sum() + 1e-7


def test_weights_of_samples_are_bounds():
    X, y, _ = box()
    C = np.random.default_rng(1).uniform(0.1, 5.0, len(y))
    _, beta = libsvm(X, y, C)
    problem = BoxQP(Gram(RBF(0.5), X), y, C)
    assert problem.certificate(np.minimum(beta, C)).gap <= 2e-5
    np.testing.assert_array_equal(problem.upper, C)


@pytest.mark.parametrize("loss", LOSSES)
def test_gradient_is_that_of_the_objective(loss):
    _, _, problem = box(20, loss=loss, C=2.0)
    beta = feasible(problem)
    numeric = np.empty(problem.m)
    for i in range(problem.m):
        step = np.zeros(problem.m)
        step[i] = 1e-5
        numeric[i] = (problem.objective(beta + step) - problem.objective(beta - step)) / 2e-5
    np.testing.assert_allclose(problem.gradient(beta), numeric, atol=1e-6)
    np.testing.assert_allclose(problem.certificate(beta).gradient, numeric, atol=1e-6)
    at = np.array([3, 11])
    np.testing.assert_allclose(problem.gradient(beta, at), numeric[at], atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(5))
def test_bounds_hold_at_any_feasible_point(loss, seed):
    quadprog = pytest.importorskip("quadprog", reason="needs the trusted QP solver quadprog (extra `test`)")
    X, y, problem = box(24, C=1.5, loss=loss, seed=seed)
    Q = np.outer(y, y) * rbf_kernel(X, gamma=0.5) + np.diag(problem.ridge + 1e-10)
    sides = [y[:, None], np.eye(24)] + ([-np.eye(24)] if loss == "hinge" else [])
    bounds = np.zeros(25) if loss != "hinge" else np.concatenate([np.zeros(25), np.full(24, -1.5)])
    best = -quadprog.solve_qp(Q, np.ones(24), np.hstack(sides), bounds, 1)[1]
    for k in range(10):
        point = feasible(problem, k)
        assert problem.infeasible(point) is None
        certificate = problem.certificate(point)
        assert certificate.dual == pytest.approx(-problem.objective(point))
        assert certificate.dual <= best * (1 + 1e-7) and certificate.primal >= best * (1 - 1e-7)
        assert problem.bound(problem.objective(point)).dual == pytest.approx(certificate.dual)


def test_a_point_that_is_none_is_named():
    _, _, problem = box(20)
    good = feasible(problem)
    low, high, tilted = good.copy(), good.copy(), good.copy()
    low[0], high[1] = -0.5, 2.0
    tilted[np.argmax(problem.y)] = 0.0
    for point, words in (
        (low, ">= 0"),
        (high, "row 1 should be at most 1"),
        (tilted, "y'beta"),
        (good[:5], "shape"),
        (good.astype(np.float32), "float32"),
        (np.full(20, np.nan), "finite"),
    ):
        assert words in problem.infeasible(point)
    assert problem.infeasible(good) is None


def test_a_model_becomes_a_start_of_any_C():
    X, y, problem = box(C=10.0)
    _, beta = libsvm(X, y, 10.0)
    for C in (0.01, 10.0, 1000.0):
        other = BoxQP(problem.gram, y, C)
        point = other.start(beta * y)
        assert other.infeasible(point) is None and point.max() <= C
    assert problem.start(np.where(y > 0, 1.0, 0.0)) is None  # one class carries no weight
    with pytest.raises(InputError, match="cannot start from the weights"):
        problem.start_weights(np.zeros(3), 0.0)


def test_decision_without_a_certificate():
    """`bound` knows no bias: the decision function finds it."""
    X, y, problem = box()
    _, beta = libsvm(X, y, 1.0)
    known = problem.decision_function(beta, problem.certificate(beta))
    found = problem.decision_function(beta, problem.bound(problem.objective(beta)))
    np.testing.assert_array_equal(known.coef, found.coef)
    assert known.intercept == found.intercept


@pytest.mark.parametrize("loss", LOSSES)
def test_storage_changes_nothing(loss):
    X, y, problem = box(loss=loss)
    point = feasible(problem)
    expected = problem.certificate(point)
    wide = sp.csr_array(X)
    wide = sp.csr_array((wide.data, wide.indices.astype(np.int64), wide.indptr.astype(np.int64)), shape=X.shape)
    frozen = X.copy()
    frozen.flags.writeable = False
    for rows, rel in ((wide, 1e-12), (frozen, 1e-12), (X.astype(np.float32), 1e-5)):
        certificate = BoxQP(Gram(RBF(0.5), rows), y, 1.0, loss=loss).certificate(point)
        assert certificate.primal == pytest.approx(expected.primal, rel=rel)
        assert certificate.dual == pytest.approx(expected.dual, rel=rel)


def test_unknown_loss_and_one_class():
    X, y, _ = box(10)
    with pytest.raises(InputError, match="loss='log' is not known; there are: hinge, logistic, smoothed_hinge"):
        BoxQP(Gram(RBF(0.5), X), y, 1.0, loss="log")
    with pytest.raises(InputError, match="one class"):
        BoxQP(Gram(RBF(0.5), X), np.ones(10), 1.0)
