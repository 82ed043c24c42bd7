"""SimplexQP: objective, gradient and certificate against plain matrix algebra and a trusted QP solver."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import pairwise
from support.problems import blobs, certified, matrix, problem_of, qp_optimum

from svmkit.errors import InputError, SvmkitError
from svmkit.kernels.functions import RBF, FromFunction, Linear, Precomputed
from svmkit.kernels.gram import Gram
from svmkit.problems.certificate import Certificate
from svmkit.problems.simplex import SimplexQP, SquaredHinge

CS = [1e-4, 1e-2, 1.0, 1e2, 1e4]


def both(C=1.0, bias=1.0, m=50, seed=0, kernel=None):
    """(problem, A) for the same data."""
    X, y = blobs(m, seed=seed)
    kernel = kernel or RBF(0.5)
    K = X @ X.T if kernel.name == "linear" else pairwise.rbf_kernel(X, gamma=kernel.gamma)
    problem = problem_of(X, y, C, kernel, bias=bias)
    return problem, matrix(problem, K)


def points(m, seed=0):
    """Points of the simplex: inside, on faces, corners."""
    rng = np.random.default_rng(seed)
    yield np.full(m, 1.0 / m)
    yield rng.dirichlet(np.ones(m))
    for k in (1, 2, 5, m // 2):
        point = np.zeros(m)
        point[rng.choice(m, k, replace=False)] = rng.dirichlet(np.ones(k))
        yield point


@pytest.mark.parametrize("bias", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_gradient_and_objective_from_scratch(C, bias):
    weights = C * np.random.default_rng(3).uniform(0.5, 2.0, size=50)
    for c in (C, weights):
        problem, A = both(c, bias)
        np.testing.assert_allclose(problem.diag, np.diag(A), rtol=1e-12)
        for alpha in points(50):
            g = A @ alpha
            np.testing.assert_allclose(problem.gradient(alpha), g, rtol=1e-12, atol=1e-14)
            at = np.array([3, 40, 3])
            np.testing.assert_allclose(problem.gradient(alpha, at), g[at], rtol=1e-12, atol=1e-14)
            assert problem.objective(alpha) == pytest.approx(alpha @ g, rel=1e-12)


@pytest.mark.parametrize("kernel", [RBF(0.5), Linear()], ids=["rbf", "linear"])
@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize("C", CS)
def test_certificate_is_the_definition_and_never_negative(C, bias, kernel):
    problem, A = both(C, bias, kernel=kernel)
    for alpha in points(50):
        found = problem.certificate(alpha)
        P, D = certified(A, problem, alpha)
        assert found.primal == pytest.approx(P, rel=1e-9)
        assert found.dual == pytest.approx(D, rel=1e-9)
        assert found.gap == pytest.approx((P - D) / max(abs(P), abs(D)), abs=1e-9)
        assert found.primal - found.dual >= 0.0
        np.testing.assert_allclose(found.gradient, A @ alpha, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize("C", CS)
def test_certificate_bounds_the_suboptimality_and_vanishes_at_the_optimum(C, bias):
    for seed in range(3):
        problem, A = both(C, bias, seed=seed)
        best, f = qp_optimum(A)
        top = problem.certificate(best)
        assert -1e-12 <= top.gap <= 1e-8
        optimum = 0.5 / f
        for alpha in points(50, seed):
            found = problem.certificate(alpha)
            assert found.dual <= optimum * (1 + 1e-10) and found.primal >= optimum * (1 - 1e-8)
            assert found.gap * max(found.primal, found.dual) >= optimum - found.dual - 1e-8 * optimum
        assert (
            problem.certificate(np.eye(50)[0]).gap > 0.1
        )  # a certificate that is always zero would pass all of the above


def test_decision_function_has_margins_at_one():
    """At the optimum, squared hinge: 2 C_i xi_i = beta_i, so y_i h(x_i) = 1 - beta_i / (2 C_i) on the support."""
    weights = np.random.default_rng(3).uniform(0.5, 20.0, size=50)
    problem, A = both(weights)
    best, f = qp_optimum(A)
    found = problem.decision_function(best, problem.certificate(best))
    coef, intercept = found.coef, found.intercept
    X, y = blobs(50)
    h = pairwise.rbf_kernel(X, gamma=0.5) @ coef + intercept
    support = best > 1e-6
    np.testing.assert_allclose((y * h)[support], (1.0 - best / f / (2 * weights))[support], atol=1e-6)
    assert (y * h)[~support].min() >= 1.0 - 1e-6
    assert intercept == pytest.approx((best * y).sum() / f, rel=1e-9)


def test_without_bias_there_is_no_intercept():
    problem, A = both(bias=0.0)
    best, _ = qp_optimum(A)
    assert problem.decision_function(best, problem.certificate(best)).intercept == 0.0


@pytest.mark.float32
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_certificates_of_dense_csr_and_float32_rows_agree(dtype):
    X, y = blobs(60)
    X = X.astype(dtype)
    alpha = next(iter(points(60)))
    reference = problem_of(X.astype(np.float64), y, 5.0).certificate(alpha)
    for stored in (X, sp.csr_array(X)):
        for rows in (np.float32, np.float64):
            found = problem_of(stored, y, 5.0, dtype=rows).certificate(alpha)
            assert found.primal == pytest.approx(reference.primal, rel=1e-12)
            assert found.dual == pytest.approx(reference.dual, rel=1e-12)


def test_infeasible_points_are_named():
    problem, _ = both()
    good = np.full(50, 0.02)
    assert problem.infeasible(good) is None
    below, off, nan = good.copy(), 1.001 * good, good.copy()
    below[0], below[1], nan[3] = -1e-9, good[1] + good[0] + 1e-9, np.nan
    for bad in (below, off, nan, good[:-1], good.astype(np.float32)):
        assert problem.infeasible(bad)


@pytest.mark.parametrize("C", [0.0, -1.0, np.nan, np.inf, np.r_[np.ones(49), 0.0], np.r_[np.ones(49), np.nan]])
def test_bad_C_is_refused(C):
    X, y = blobs(50)
    with pytest.raises(InputError, match="C must be finite and > 0"):
        SquaredHinge(Gram(RBF(0.5), X), y, C)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_one_class_is_refused(sign):
    X, _ = blobs(50)
    with pytest.raises(InputError, match="one class"):
        SquaredHinge(Gram(RBF(0.5), X), np.full(50, sign), 1.0)


@pytest.mark.parametrize("y", [np.r_[0.0, np.ones(49)], np.ones(49), np.r_[2.0, -np.ones(49)]])
def test_bad_labels_are_refused(y):
    X, _ = blobs(50)
    with pytest.raises(InputError, match="-1 or"):
        SquaredHinge(Gram(RBF(0.5), X), y, 1.0)


def test_a_kernel_that_is_not_positive_has_no_certificate():
    y = np.r_[np.ones(5), -np.ones(5)]
    problem = SquaredHinge(Gram(Precomputed(), -np.eye(10)), y, 1e6, bias=0.0)
    with pytest.raises(SvmkitError, match="not positive"):
        problem.certificate(np.full(10, 0.1))


@pytest.mark.parametrize("problem", [SquaredHinge, SimplexQP])
def test_kernel_values_that_are_not_finite_are_named(problem):
    X, y = blobs(10)
    gram = Gram(FromFunction(lambda X, Z: np.where(X @ Z.T > 0.0, X @ Z.T, np.nan)), X)
    made = problem(gram, y, 1.0) if problem is SquaredHinge else problem(gram, y, ridge=1.0)
    with pytest.raises(SvmkitError, match="nan: the callable kernel has values that are not finite"):
        made.certificate(np.full(10, 0.1))


def test_the_gap_is_relative_to_the_larger_value():
    assert Certificate.from_values(3.0, 2.0).gap == pytest.approx(1 / 3)
    assert Certificate.from_values(2.0, -4.0).gap == pytest.approx(6 / 4)
