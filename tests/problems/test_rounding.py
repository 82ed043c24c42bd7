"""P lies within its bound, and the D of a certificate below the exact D, in long double and on numbers of any size.

The kernel matrix is given (precomputed) or linear, so that nothing but the sums of P and D can be off.
"""

import numpy as np
import pytest
from support.problems import blobs

from svmkit.kernels import Gram, Linear, Precomputed
from svmkit.problems import BoxQP, KernelRisk, LinearDual, LinearRisk, SimplexQP, SquaredHinge

LONG = np.longdouble
SIZES = [1e-6, 1.0, 1e4, 1e8]
SCALES = [1e-8, 1.0, 1e6]


def data(scale, seed, m=60):
    """X, y, a kernel matrix of low rank, and costs that differ by a factor of 10^4."""
    rng = np.random.default_rng(seed)
    X, y = blobs(m, seed=seed)
    X = X * np.sqrt(scale) + rng.normal(size=3) * 100.0 * np.sqrt(scale)
    return X, y, X @ X.T, 10.0 ** rng.uniform(-2.0, 2.0, m)


def total(loss, slack, C):
    slack = np.maximum(slack, LONG(0))
    return (C * (slack if loss == "hinge" else slack**2)).sum()


def sound(certificate, P, D):
    """Whether the claims of a certificate hold for the exact P and D."""
    size = max(abs(certificate.primal), abs(certificate.dual))
    allowed = LONG(certificate.rounding) * size
    assert abs(LONG(certificate.primal) - P) <= allowed
    assert certificate.dual <= D <= certificate.dual + 2 * allowed
    assert (P - D) / max(abs(P), abs(D)) <= LONG(certificate.gap) * (1 + LONG(2 * certificate.rounding) + LONG(1e-15))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scale", SCALES)
def test_of_the_box(loss, size, scale):
    for seed in range(3):
        _, y, K, C = data(scale, seed)
        C = C * size
        problem = BoxQP(Gram(Precomputed(), K), y, C, loss=loss)
        beta = np.random.default_rng(seed).uniform(0.0, 1.0, len(y)) * C
        beta = problem.start(beta * y)
        found = problem.certificate(beta)
        b, K, C, v = LONG(beta), LONG(K), LONG(C), LONG(beta * y)
        norm = v @ K @ v
        P = norm / 2 + total(loss, 1 - y * (K @ v + LONG(found.bias)), C)
        ridge = 0 if loss == "hinge" else (b**2 / (2 * C)).sum()
        size_ = max(abs(found.primal), abs(found.dual))
        assert abs(LONG(found.primal) - P) <= LONG(found.rounding) * size_
        assert found.dual <= b.sum() - (norm + ridge) / 2
        assert (P - LONG(found.dual)) / size_ <= LONG(found.gap) * (1 + LONG(1e-15))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scale", SCALES)
def test_of_the_squared_hinge_on_the_simplex(size, scale):
    for seed in range(3):
        _, y, K, C = data(scale, seed)
        problem = SquaredHinge(Gram(Precomputed(), K), y, C * size)
        alpha = np.random.default_rng(seed).dirichlet(np.full(len(y), 0.2))
        found = problem.certificate(alpha)
        model = problem.decision_function(alpha, found)
        C, f = LONG(C * size), LONG(float(alpha @ found.gradient))
        v, beta = LONG(alpha * y) / f, LONG(alpha) / f
        norm = v @ (LONG(K) + 1) @ v
        P = norm / 2 + total("squared_hinge", 1 - y * ((LONG(K) + 1) @ v), C)
        sound(found, P, beta.sum() - (norm + (beta**2 / (2 * C)).sum()) / 2)
        np.testing.assert_allclose(model.coef, np.float64(v), rtol=1e-12)


@pytest.mark.parametrize("scale", SCALES)
def test_of_a_simplex_with_a_linear_term(scale):
    for seed in range(5):
        _, _, K, _ = data(scale, seed)
        c = np.random.default_rng(seed).normal(size=len(K)) * scale * 1e4
        alpha = np.random.default_rng(seed).dirichlet(np.full(len(K), 0.2))
        found = SimplexQP(Gram(Precomputed(), K), linear_term=c).certificate(alpha)
        a = LONG(alpha) / LONG(alpha).sum()
        g = LONG(K) @ a + LONG(c)
        P = a @ g + LONG(c) @ a
        sound(found, P, P - 2 * (a @ g - g.min()))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scale", SCALES)
def test_of_the_risks(loss, size, scale):
    for seed in range(3):
        X, y, K, C = data(scale, seed)
        rng, C = np.random.default_rng(seed), C * size
        coef = rng.normal(size=len(y)) * C / scale
        found = KernelRisk(Gram(Precomputed(), K), y, C, loss=loss).certificate(coef)
        v = LONG(coef)
        P = v @ (LONG(K) + 1) @ v / 2 + total(loss, 1 - y * ((LONG(K) + 1) @ v), LONG(C))
        assert abs(LONG(found.primal) - P) <= LONG(found.rounding) * max(found.primal, found.dual)

        gram, wide = Gram(Linear(), X), np.column_stack([LONG(X), np.ones(len(y), LONG)])
        beta = rng.uniform(0.0, 1.0, len(y)) * C
        found = LinearDual(gram, y, C, loss=loss).certificate(y * beta)
        sound(found, *linear(loss, wide, y, LONG(C), LONG(beta)))

        w = rng.normal(size=4)
        found = LinearRisk(gram, y, C, loss=loss).certificate(w)
        P = (LONG(w) ** 2).sum() / 2 + total(loss, 1 - y * (wide @ LONG(w)), LONG(C))
        D = linear(loss, wide, y, LONG(C), y * LONG(found.beta))[1]
        assert abs(LONG(found.primal) - P) <= LONG(found.rounding) * max(found.primal, found.dual)
        assert found.dual <= D


def linear(loss, wide, y, C, beta):
    """The exact P and D of the linear problem with a regularised bias at w = X'(y beta)."""
    w = wide.T @ (y * beta)
    ridge = 0 if loss == "hinge" else (beta**2 / (2 * C)).sum()
    return (w @ w) / 2 + total(loss, 1 - y * (wide @ w), C), beta.sum() - (w @ w + ridge) / 2
