"""TubeQP against LIBSVM, exact rational numbers and a trusted QP solver; its bias, feasibility and way to a model."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVR
from support.bias import best_tube_bias
from support.liblinear import LOSSES, total

from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Linear, Precomputed
from svmkit.kernels.gram import Gram
from svmkit.losses import Hinge
from svmkit.problems.tube import BiasedTubeQP, TubeQP

KINDS = [TubeQP, BiasedTubeQP]


def curve(m=60, seed=0, scale=1.0, shift=0.0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3.0, 3.0, (m, 2))
    return X, scale * (np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.standard_normal(m)) + shift


def tube(kind=TubeQP, m=60, C=1.0, epsilon=0.1, loss="hinge", seed=0, **data):
    X, t = curve(m, seed, **data)
    return X, t, kind(Gram(RBF(0.5), X), t, C, epsilon, loss=loss)


def feasible(problem, seed=0):
    d = np.random.default_rng(seed).standard_normal(problem.m) * np.minimum(problem.C, 1.0)
    return problem.start(d * (np.abs(d) > 0.3))


def in_words(problem, X, d, bias):
    """P and D as the paper writes them."""
    K, C, loss = rbf_kernel(X, gamma=0.5), problem.C, problem.loss
    slack = np.maximum(0.0, np.abs(problem.t - K @ d - bias) - problem.epsilon)
    norm, power = d @ K @ d, 1 if loss.name == "epsilon_insensitive" else 2
    square = bias**2 if isinstance(problem, BiasedTubeQP) else 0.0
    ridged = 0.0 if power == 1 else d @ (d / (2.0 * C))
    dual = problem.t @ d - problem.epsilon * np.abs(d).sum() - 0.5 * (norm + ridged + square)
    return 0.5 * (norm + square) + C @ slack**power, dual


@pytest.mark.parametrize("C", [1e-2, 1.0, 100.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5])
def test_libsvms_solution_is_certified(C, epsilon):
    X, t, problem = tube(C=C, epsilon=epsilon)
    fitted = SVR(C=C, gamma=0.5, epsilon=epsilon, tol=1e-10).fit(X, t)
    d = np.zeros(len(t))
    d[fitted.support_] = fitted.dual_coef_[0]
    certificate = problem.certificate(d)
    assert 0.0 <= certificate.gap <= 1e-4  # LIBSVM keeps kernel rows in float32
    found = problem.decision_function(d, certificate)
    assert found.w is None and found.intercept == certificate.bias
    np.testing.assert_array_equal(found.coef, d)
    assert problem.objective(d) == pytest.approx(-certificate.dual, rel=1e-9)
    own = np.maximum(0.0, np.abs(t - fitted.predict(X)) - epsilon).sum()
    slack = np.maximum(0.0, np.abs(t - rbf_kernel(X, gamma=0.5) @ d - certificate.bias) - epsilon).sum()
    assert slack <= own + 1e-7


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(3))
def test_certificate_is_the_definition(kind, loss, seed):
    C = np.random.default_rng(seed).uniform(0.1, 3.0, 60)
    X, _, problem = tube(kind, C=C, loss=loss, seed=seed)
    d = feasible(problem, seed)
    assert problem.infeasible(d) is None
    certificate = problem.certificate(d)
    primal, dual = in_words(problem, X, d, certificate.bias)
    assert certificate.primal == pytest.approx(primal, rel=1e-12)
    assert certificate.dual == pytest.approx(dual, rel=1e-11, abs=1e-11)
    assert certificate.dual < dual + 1e-13 and 0.0 <= certificate.rounding < 1e-11
    assert problem.objective(d) == pytest.approx(-dual, rel=1e-12)
    assert problem.bound(problem.objective(d)).dual == pytest.approx(dual, rel=1e-12)
    np.testing.assert_allclose(problem.gradient(d), certificate.gradient, rtol=1e-12, atol=1e-12)
    at = np.array([3, 17, 5])
    np.testing.assert_allclose(problem.gradient(d, at), certificate.gradient[at], rtol=1e-12, atol=1e-12)
    moved, idx = np.zeros(60), np.array([2, 11])
    moved[idx] = 0.1, -0.25
    change = problem.image(moved[idx], idx)
    np.testing.assert_allclose(problem.gradient(d + moved), certificate.gradient + change, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", LOSSES)
def test_gradient_by_finite_differences(kind, loss):
    _, _, problem = tube(kind, m=12, loss=loss, C=2.0)
    d = feasible(problem)
    d[d == 0.0] = 0.01  # off the kink
    slope, step = problem.gradient(d) + problem.epsilon * np.sign(d), 1e-6
    for i in range(12):
        ahead, behind = d.copy(), d.copy()
        ahead[i], behind[i] = d[i] + step, d[i] - step
        found = (problem.objective(ahead) - problem.objective(behind)) / (2.0 * step)
        # the free bias leaves a constant open, which the equality constraint takes out
        assert found == pytest.approx(slope[i], abs=1e-7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", LOSSES)
def test_no_point_lies_below_the_dual_value_of_another(kind, loss):
    _, _, problem = tube(kind, m=15, loss=loss, C=2.0, epsilon=0.05)
    found = [problem.certificate(feasible(problem, seed)) for seed in range(20)]
    assert max(c.dual for c in found) <= min(c.primal for c in found)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", LOSSES)
def test_optimum_of_a_trusted_solver_has_no_gap(kind, loss):
    X, t, problem = tube(kind, m=8, loss=loss, C=1.5, epsilon=0.2)
    m, K = 8, rbf_kernel(X, gamma=0.5) + (1.0 if kind is BiasedTubeQP else 0.0)

    def value(z):  # over 2m weights, as the paper has it
        d = z[:m] - z[m:]
        slope = K @ d + problem.ridge * d - t
        e = problem.epsilon
        return 0.5 * d @ (slope - t) + e * z.sum(), np.concatenate([slope + e, e - slope])

    equality = {"type": "eq", "fun": lambda z: z[:m].sum() - z[m:].sum()}
    found = minimize(
        value,
        np.zeros(2 * m),
        jac=True,
        method="SLSQP",
        bounds=[(0.0, None if np.isinf(u) else u) for u in np.tile(problem.upper, 2)],
        constraints=[equality] if kind is TubeQP else [],
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    d = np.clip(found.x[:m] - found.x[m:], -problem.upper, problem.upper)
    certificate = problem.certificate(d)
    assert certificate.gap <= 1e-5
    assert certificate.dual == pytest.approx(-found.fun, rel=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 5.0])
@pytest.mark.parametrize("m", [1, 2, 7, 30])
def test_bias_is_the_best(loss, epsilon, m):
    rng = np.random.default_rng(m)
    r, C = rng.standard_normal(m), rng.uniform(0.1, 2.0, m)
    r[m // 2 :] = np.round(r[m // 2 :], 1)  # ties
    b = best_tube_bias(loss, r.copy(), C, epsilon)

    def at(b):
        return total(loss, np.abs(r - b) - epsilon, C)

    others = np.concatenate(
        [r - epsilon, r + epsilon, np.linspace(r.min() - 1.0, r.max() + 1.0, 200), [b - 1e-7, b + 1e-7]]
    )
    assert at(b) <= min(map(at, others)) * (1.0 + 1e-12) + 1e-15
    if np.ptp(r) < 2.0 * epsilon:  # a whole interval has no loss
        assert b == pytest.approx(0.5 * (r.max() + r.min()))


def test_values_within_exact_numbers():
    """The bounds of rounding errors hold: P and D in rational arithmetic, on data that rounds badly."""
    rng = np.random.default_rng(5)
    X = rng.integers(-9, 9, (9, 2)).astype(float)
    t = 1e6 + rng.standard_normal(9)
    for kind in KINDS:
        problem = kind(Gram(Linear(), X), t, 0.1, 1.0 / 3.0)
        d = problem.start(0.1 * rng.standard_normal(9))
        certificate = problem.certificate(d)
        exact = [Fraction(float(v)) for v in d]
        rows = [[Fraction(float(v)) for v in row] for row in X]
        w = [sum(e * row[c] for e, row in zip(exact, rows, strict=True)) for c in range(2)]
        h = [sum(a * b for a, b in zip(w, row, strict=True)) for row in rows]
        b, epsilon, total, cost = Fraction(certificate.bias), Fraction(problem.epsilon), sum(exact), Fraction(0.1)
        square = b * b if kind is BiasedTubeQP else Fraction(0)
        norm = sum(e * v for e, v in zip(exact, h, strict=True))
        errors = [abs(Fraction(float(v)) - image - b) - epsilon for v, image in zip(t, h, strict=True)]
        primal = (norm + square) / 2 + cost * sum(max(e, Fraction(0)) for e in errors)
        square = total * total if kind is BiasedTubeQP else Fraction(0)
        lowest = sum(Fraction(float(v)) * e for v, e in zip(t, exact, strict=True)) - (norm + square) / 2
        lowest -= epsilon * sum(map(abs, exact))
        scale = max(abs(certificate.primal), abs(certificate.dual))
        assert abs(certificate.primal - primal) <= certificate.rounding * scale
        # the sum of d is not exactly 0 where it should be, and the centre of the targets stands for the bias
        assert certificate.dual <= lowest - Fraction(problem.centre) * total


@pytest.mark.parametrize("kind", KINDS)
def test_constant_targets_and_wide_tubes_have_a_gap_of_zero(kind):
    X, t = curve()
    for targets, epsilon in ((t, 50.0), (np.full(60, 1e6 / 3.0), 1e7), (np.zeros(60), 0.0)):
        certificate = kind(Gram(RBF(0.5), X), targets, 1.0, epsilon).certificate(np.zeros(60))
        assert (certificate.primal, certificate.dual, certificate.gap) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("loss", LOSSES)
def test_free_bias_takes_up_constant_targets_exactly(loss):
    X, _ = curve()
    for value, epsilon in ((1e6 / 3.0, 0.0), (-7.0, 0.1), (0.1, 1e-9)):
        problem = TubeQP(Gram(RBF(0.5), X), np.full(60, value), 3.0, epsilon, loss=loss)
        certificate = problem.certificate(np.zeros(60))
        assert (certificate.primal, certificate.dual, certificate.gap) == (0.0, 0.0, 0.0)
        assert certificate.bias == pytest.approx(value, rel=1e-15)
    binary = TubeQP(Gram(RBF(0.5), X), np.arange(60) % 2 * 1.0, 3.0, 0.5, loss=loss).certificate(np.zeros(60))
    assert binary.gap == 0.0 and binary.bias == 0.5


def test_infeasible_points_are_named():
    _, _, problem = tube(m=4, C=1.0)
    assert problem.infeasible(np.array([1.0, -1.0, 0.5, -0.5])) is None
    assert "sum to 0, not 0.5" in problem.infeasible(np.array([1.0, -1.0, 0.5, 0.0]))
    assert "row 2" in problem.infeasible(np.array([1.0, -1.0, -1.5, 1.5]))
    _, _, problem = tube(BiasedTubeQP, m=4, C=1.0)
    assert problem.infeasible(np.array([1.0, -1.0, 0.5, 0.0])) is None


@pytest.mark.parametrize("kind", KINDS)
def test_start_is_feasible_and_keeps_what_it_can(kind):
    _, _, problem = tube(kind, m=6, C=1.0)
    for coef in ([5.0, -0.5, 0.0, 0.25, 0.0, -9.0], [0.1, -0.1, 0.0, 0.0, 0.0, 0.0], [1e-9, -3.0, 0.0, 1.0, 1.0, 1.0]):
        start = problem.start(np.array(coef))
        assert problem.infeasible(start) is None
        assert (np.sign(start) == np.sign(coef)).all()
    assert problem.start(np.zeros(6)) is None
    assert (problem.start(np.ones(6)) is None) is (kind is TubeQP)


def test_formulations_name_loss_and_bias():
    assert TubeQP.formulation(loss="hinge") == "epsilon-insensitive, free bias"
    assert TubeQP.formulation(loss="epsilon_insensitive") == "epsilon-insensitive, free bias"
    assert BiasedTubeQP.formulation(loss="squared_hinge") == "squared epsilon-insensitive, regularised bias"


def test_bad_terms_and_tasks_are_refused():
    X, t = curve(m=5)
    gram = Gram(RBF(0.5), X)
    with pytest.raises(InputError, match="epsilon must be"):
        TubeQP(gram, t, 1.0, -0.1)
    with pytest.raises(InputError, match="C must be finite and > 0"):
        TubeQP(gram, t, 0.0, 0.1)
    with pytest.raises(InputError, match="5 rows"):
        TubeQP(gram, np.append(t[:4], np.nan), 1.0, 0.1)
    with pytest.raises(InputError, match="loss=hinge is for classes"):
        TubeQP.from_loss(gram, np.sign(t), 1.0, Hinge())


def test_kernel_that_is_not_semidefinite_proves_nothing():
    K = np.array([[1.0, 3.0], [3.0, 1.0]])
    problem = TubeQP(Gram(Precomputed(), K), np.array([1.0, -1.0]), 1.0, 0.1)
    certificate = problem.certificate(np.array([1.0, -1.0]))
    assert certificate.gap is None and "not positive semidefinite" in certificate.flaw
