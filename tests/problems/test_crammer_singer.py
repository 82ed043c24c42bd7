"""Crammer and Singer's problem: P, D and the certificate against their definitions in long double."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Linear
from svmkit.kernels.gram import Gram
from svmkit.problems import CrammerSinger
from svmkit.problems.risks.joint import all_classes as module

LONG = np.longdouble


def posed(seed=0, m=30, d=5, k=4, bias=1.0, sparse=False, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d)).astype(dtype)
    y, C = np.arange(m) % k, rng.uniform(0.5, 2.0, m)
    return CrammerSinger(Gram(Linear(), sp.csr_array(X) if sparse else X), y, C, bias=bias), X, y, C


def a_point(problem, seed=1):
    """Weights at random, within their bounds."""
    rng = np.random.default_rng(seed)
    alpha = -rng.uniform(size=problem.shape) * (rng.uniform(size=problem.shape) < 0.5)
    every = np.arange(problem.m)
    alpha[every, problem.codes] = 0.0
    alpha *= (problem.C * rng.uniform(size=problem.m) / np.maximum(-alpha.sum(axis=1), 1.0))[:, None]
    alpha[every, problem.codes] = -alpha.sum(axis=1)
    return alpha


def exact(alpha, X, y, C, bias):
    """P and D by their definitions."""
    X = np.column_stack([X.astype(LONG), np.full(len(X), LONG(bias))])
    every = np.arange(len(y))
    alpha = alpha.astype(LONG)
    alpha[every, y] = 0
    alpha[every, y] = -alpha.sum(axis=1)
    W = alpha.T @ X
    H = X @ W.T
    loss = np.maximum(0, (H + (np.arange(H.shape[1]) != y[:, None])).max(axis=1) - H[every, y])
    size = (W**2).sum() / 2
    return size + (C.astype(LONG) * loss).sum(), alpha[every, y].sum() - size


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bias", [0.0, 1.0, 2.5])
def test_the_certificate_holds_the_exact_values(sparse, dtype, bias, monkeypatch):
    monkeypatch.setattr(module, "PART", 40)  # several parts of the samples
    problem, X, y, C = posed(bias=bias, sparse=sparse, dtype=dtype)
    alpha = a_point(problem)
    assert problem.infeasible(alpha) is None
    found = problem.certificate(alpha)
    P, D = exact(alpha, X, y, C, bias)
    assert found.primal == pytest.approx(float(P), rel=1e-13) and found.dual == pytest.approx(float(D), rel=1e-11)
    assert found.dual <= D and found.gap >= (P - D) / max(abs(P), abs(D))  # whatever the rounding
    assert found.rounding < 1e-11
    assert problem.objective(alpha) == pytest.approx(-float(D), rel=1e-13)
    assert problem.bound(-3.0).dual == 3.0


def test_the_decision_functions_are_those_of_the_weights():
    problem, X, y, C = posed(bias=2.0)
    alpha = a_point(problem)
    alpha[3] = 0.0
    found = problem.decision_function(alpha, problem.certificate(alpha)).restrict(np.arange(problem.m))
    P, _ = exact(alpha, X, y, C, 2.0)
    H = X @ found.w.T + found.intercepts
    loss = np.maximum(0.0, (H + (np.arange(4) != y[:, None])).max(axis=1) - H[np.arange(len(y)), y])
    size = 0.5 * ((found.w**2).sum() + (found.intercepts**2).sum() / 4.0)
    assert size + C @ loss == pytest.approx(float(P), rel=1e-12)
    assert 3 not in found.rows and len(found.rows) == np.count_nonzero(alpha.any(axis=1))


def test_zero_is_feasible_and_its_gap_is_one():
    problem, _, _, C = posed()
    found = problem.certificate(np.zeros(problem.shape))
    assert found.primal == pytest.approx(C.sum()) and found.dual == pytest.approx(0.0, abs=1e-12)


def spoilt(alpha, problem, how):
    every = np.arange(problem.m)
    if how == "shape":
        return alpha[:-1]
    if how == "sign":
        alpha[0, 1], alpha[0, 0] = 0.5, -0.5
    if how == "cost":
        alpha[0] = 0.0
        alpha[0, 1], alpha[0, 0] = -3.0 * problem.C[0], 3.0 * problem.C[0]
    if how == "sum":
        alpha[every, problem.codes] += 0.1
    if how == "nan":
        alpha[0, 1] = math.nan
    return alpha


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("shape", "shape"),
        ("sign", "above 0"),
        ("cost", "more weight than its cost"),
        ("sum", "sum to 0"),
        ("nan", "finite"),
    ],
)
def test_what_makes_a_point_infeasible(how, reason):
    problem, *_ = posed()
    assert reason in problem.infeasible(spoilt(a_point(problem), problem, how))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_weights_of_a_sample_may_miss_a_sum_of_zero_by_a_billionth_of_its_cost(sign):
    problem, *_ = posed()
    for off, reason in ((0.8e-9, None), (1.2e-9, "the weights of a sample do not sum to 0")):
        point = a_point(problem)
        point[3, problem.codes[3]] += sign * off * problem.C[3]
        assert problem.infeasible(point) == reason


def test_bad_input_is_refused():
    X = np.eye(4)
    for y, C, bias, kernel, reason in [
        ([0, 1, 3, 3], 1.0, 1.0, Linear(), "classes"),
        ([0, 0, 0, 0], 1.0, 1.0, Linear(), "classes"),
        ([0, 1, -1, 0], 1.0, 1.0, Linear(), "classes"),
        ([0, 1, 0.5, 0], 1.0, 1.0, Linear(), "classes"),
        ([0, 1], 1.0, 1.0, Linear(), "classes"),
        ([0, 1, 2, 0], 0.0, 1.0, Linear(), "C must be"),
        ([0, 1, 2, 0], 1.0, -1.0, Linear(), "bias must be"),
        ([0, 1, 2, 0], 1.0, 1.0, RBF(1.0), "linear kernel"),
    ]:
        with pytest.raises(InputError, match=reason):
            CrammerSinger(Gram(kernel, X), np.array(y, dtype=float), C, bias=bias)


def test_the_formulation_names_the_bias():
    assert CrammerSinger.formulation() == "crammer singer, regularised bias"
    assert CrammerSinger.formulation(bias=0.0) == "crammer singer, no bias"
