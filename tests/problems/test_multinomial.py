"""Multinomial logistic regression: P, D and the certificate against their definitions in long double."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Linear
from svmkit.kernels.gram import Gram
from svmkit.problems import Multinomial
from svmkit.problems.risks.joint import all_classes as module

LONG = np.longdouble


def posed(seed=0, m=30, d=5, k=4, bias="free", sparse=False, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d)).astype(dtype)
    y, C = np.arange(m) % k, rng.uniform(0.5, 2.0, m)
    return Multinomial(Gram(Linear(), sp.csr_array(X) if sparse else X), y, C, bias=bias), X, y, C


def a_point(problem, seed=1, sharp=3.0):
    """Probabilities at random, with those sums that free biases ask for."""
    P = problem.softmax(sharp * np.random.default_rng(seed).normal(size=problem.shape))[0]
    for _ in range(3 if problem.has_free_biases else 0):
        P = problem.balance(P)
    return problem.point(P)


def exact(alpha, X, y, C, bias, b=0.0):
    """P at the weights of alpha and biases b, and D, by their definitions."""
    X, every, C = X.astype(LONG), np.arange(len(y)), C.astype(LONG)
    X = X if bias == "free" else np.column_stack([X, np.full(len(X), LONG(bias))])
    alpha = alpha.astype(LONG)
    alpha[every, y] = 0
    rest = -alpha.sum(axis=1)
    p = -alpha / C[:, None]
    p[every, y], alpha[every, y] = 1 - rest / C, rest
    W = alpha.T @ X
    H = X @ W.T + np.asarray(b, LONG)
    top = H.max(axis=1)
    loss = np.log(np.exp(H - top[:, None]).sum(axis=1)) + top - H[every, y]
    size = (W**2).sum() / 2
    logs = np.log(np.where(p > 0, p, 1))
    return size + C @ loss, -size - C @ (p * logs).sum(axis=1), alpha.sum(axis=0)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bias", ["free", 0.0, 1.0, 2.5])
def test_the_certificate_holds_the_exact_values(sparse, dtype, bias, monkeypatch):
    monkeypatch.setattr(module, "PART", 40)  # several parts of the samples
    problem, X, y, C = posed(bias=bias, sparse=sparse, dtype=dtype)
    for sharp in (0.1, 3.0, 100.0):
        alpha = a_point(problem, sharp=sharp)
        assert problem.infeasible(alpha) is None
        found = problem.certificate(alpha)
        b = problem.best_biases(problem.scores(problem.weights(alpha))) if bias == "free" else 0.0
        P, D, sums = exact(alpha, X, y, C, bias, b)
        assert bias != "free" or np.abs(sums).max() < 1e-13
        assert found.primal == pytest.approx(float(P), rel=1e-13)
        assert found.dual == pytest.approx(float(D), rel=1e-10) and found.dual <= D
        assert found.gap >= (P - D) / max(abs(P), abs(D))  # whatever the rounding
        assert found.rounding < 1e-10
        assert problem.objective(alpha) == pytest.approx(-float(D), rel=1e-12)
    assert problem.bound(-3.0).dual == 3.0


def test_biases_are_the_best_ones_from_far_away():
    problem, *_ = posed(m=40)
    H = 3.0 * np.random.default_rng(5).normal(size=problem.shape)
    for shift in ([0.0, 0.0, 0.0, 0.0], [500.0, 0.0, -500.0, 3.0], [0.0, 1e4, 0.0, 0.0]):
        b = problem.best_biases(H + shift)
        P = problem.softmax(H + shift + b)[0]
        np.testing.assert_allclose(problem.C @ P, problem.class_costs, rtol=1e-9)
        assert abs(b.sum()) < 1e-9 * np.abs(b).max()


def test_balanced_probabilities_are_nearby():
    problem, *_ = posed()
    P = problem.softmax(np.random.default_rng(2).normal(size=problem.shape))[0]
    near = problem.balance(P)
    np.testing.assert_allclose(problem.C @ near, problem.class_costs, rtol=1e-13)
    np.testing.assert_allclose(near.sum(axis=1), 1.0, rtol=1e-13)
    moved = 0.5 * np.abs(problem.C @ P - problem.class_costs).sum()
    assert near.min() > 0.0 and 0.5 * (problem.C @ np.abs(near - P)).sum() <= moved * (1.0 + 1e-9)


def test_a_lower_bound_takes_account_of_sums_that_are_off():
    """D of a point whose sums differ from 0 by 1e-10 is lowered: with biases that are far away it would be wrong."""
    problem, *_ = posed(d=1)
    alpha = a_point(problem)
    whole = problem.certificate(alpha)
    alpha[0, 1] -= 1e-10
    alpha[0, 0] += 1e-10
    assert problem.infeasible(alpha) is None
    off = problem.certificate(alpha)
    assert 1e-10 < whole.dual - off.dual < 1e-7


@pytest.mark.parametrize("bias", ["free", 0.0, 2.0])
def test_the_decision_functions_are_those_of_the_weights(bias):
    problem, X, _, C = posed(bias=bias)
    alpha = a_point(problem)
    found = problem.decision_function(alpha, problem.certificate(alpha)).restrict(np.arange(problem.m))
    H = X @ found.w.T + found.intercepts
    of_bias = (found.intercepts**2).sum() / bias**2 if bias in (1.0, 2.0) else 0.0
    P = 0.5 * ((found.w**2).sum() + of_bias) + C @ problem.softmax(H)[1]
    assert problem.certificate(alpha).primal == pytest.approx(P, rel=1e-12)


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("shape", "shape"),
        ("sign", "above 0"),
        ("cost", "more weight than its cost"),
        ("class", "the weights of a class sum to"),
        ("nan", "finite"),
    ],
)
def test_what_makes_a_point_infeasible(how, reason):
    problem, *_ = posed()
    alpha = a_point(problem)
    assert problem.infeasible(alpha) is None
    if how == "shape":
        alpha = alpha[:-1]
    if how == "sign":
        alpha[0, 1], alpha[0, 0] = 0.5, -0.5
    if how == "cost":
        alpha[0] = [3.0 * problem.C[0], -3.0 * problem.C[0], 0.0, 0.0]
    if how == "class":
        alpha[0, :2] += [1e-6, -1e-6]
    if how == "nan":
        alpha[0, 1] = math.nan
    assert reason in problem.infeasible(alpha)


def test_bad_input_is_refused():
    X = np.eye(4)
    for y, C, bias, kernel, reason in [
        ([0, 1, 3, 3], 1.0, "free", Linear(), "classes"),
        ([0, 1, 2, 0], 0.0, "free", Linear(), "C must be"),
        ([0, 1, 2, 0], 1.0, -1.0, Linear(), "bias must be"),
        ([0, 1, 2, 0], 1.0, "free", RBF(1.0), "linear kernel"),
    ]:
        with pytest.raises(InputError, match=reason):
            Multinomial(Gram(kernel, X), np.array(y, dtype=float), C, bias=bias)


def test_the_formulation_names_the_bias():
    assert Multinomial.formulation() == "multinomial logistic, free bias"
    assert Multinomial.formulation(bias=1.0) == "multinomial logistic, regularised bias"
    assert Multinomial.formulation(bias=0.0) == "multinomial logistic, no bias"
