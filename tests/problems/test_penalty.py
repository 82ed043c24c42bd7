"""Penalties of linear models: their conjugates, the best multiple of dual weights, and certificates of any model."""

from fractions import Fraction
from operator import mul

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

from svmkit import fit, plugins
from svmkit.errors import InputError
from svmkit.kernels.functions import Linear
from svmkit.kernels.gram import Gram
from svmkit.losses import Expectile, Huber, Logistic, SmoothedHinge, SquaredError, SquaredHinge
from svmkit.problems import LinearRisk, LinearTubeRisk
from svmkit.problems.risks.penalty import make_penalty, penalty_in, read_penalty
from svmkit.problems.risks.points import dual_growth, dual_sums

PENALTIES = [("l2", 0.5), ("l1", 0.5), ("elasticnet", 0.5), ("elasticnet", 0.05), ("elasticnet", 1.0)]
every_penalty = pytest.mark.parametrize("given", PENALTIES, ids=str)
LOSSES = [SquaredHinge(), SmoothedHinge(0.9), SquaredError(), Huber(0.5), Expectile(0.8)]


def pose(loss, penalty, C, seed=0, m=30, d=4, **terms):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    y = (
        np.sign(X[:, 0] + rng.normal(size=m))
        if loss.task == "classify"
        else X @ rng.normal(size=d) + rng.normal(size=m)
    )
    risk = LinearRisk if loss.task == "classify" else LinearTubeRisk
    return risk(Gram(Linear(), X), y, C, loss, penalty=penalty[0], l1_ratio=penalty[1], **terms)


@every_penalty
def test_the_image_has_half_the_square_of_the_conjugate(given):
    """Omega*(v) = max over w of v'w - Omega(w), by a search along each entry."""
    penalty = make_penalty(*given)
    for v in np.random.default_rng(0).normal(size=(20, 1)) * (1.0 if penalty.l2 else 0.2):

        def less(x, v=v):
            return penalty.value(np.array([x])) - v[0] * x

        best = minimize_scalar(less, bounds=(-99, 99), method="bounded", options={"xatol": 1e-10})
        image = penalty.image(v)
        assert 0.5 * float(image @ image) == pytest.approx(-best.fun, abs=1e-7)


@every_penalty
@pytest.mark.parametrize("ridged", [0.0, 2.0])
@pytest.mark.parametrize("most", [1.0, np.inf])
def test_no_multiple_of_dual_weights_is_better(given, ridged, most):
    penalty, rng = make_penalty(*given), np.random.default_rng(1)
    for size in (1e-3, 1.0, 1e3):
        v = rng.normal(size=7) * size

        def value(s, v=v):
            image = penalty.image(s * v)
            return 3.0 * s - 0.5 * s * s * ridged - 0.5 * float(image @ image)

        s = penalty.best_scale(3.0, ridged, v, most)
        assert 0.0 <= s <= most
        if penalty.l2 == 0.0:
            most_feasible = min(most, penalty.l1 / np.abs(v).max())
            assert s <= most_feasible * (1.0 + 1e-15)
        for other in s * np.array([0.0, 0.5, 0.9, 0.999, 1.001, 1.1, 2.0]):
            if other <= most and (penalty.l2 or other <= most_feasible):
                assert value(other) <= value(s) + 1e-9 * abs(value(s))
    assert penalty.best_scale(0.0, ridged, v, most) == 0.0


@every_penalty
@pytest.mark.parametrize("bias", [1.0, 0.0, "free"])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("C", [1e-3, 0.3])
def test_no_certificate_lies_above_the_optimum(given, bias, loss, C):
    """Of any model: the optimum is that of a smooth problem of twice the variables, w = u - v with u, v >= 0."""
    problem = pose(loss, given, C, bias=bias)
    width, free = problem.design.width, problem.is_free
    penalty, X = problem.penalty, np.column_stack([problem.gram.engine.X, np.ones(30)])[:, :width]
    if free:
        X[:, -1] = problem.design.bias

    def smooth(uv):
        w, weighs = uv[:width] - uv[width:], np.arange(width) < (width - free)
        beta = problem.suggest(X @ w)
        value = penalty.l1 * uv.reshape(2, -1)[:, weighs].sum() + 0.5 * penalty.l2 * float((w * weighs) @ w)
        slope = penalty.l2 * w * weighs - X.T @ beta
        slopes = np.append(slope, -slope) + penalty.l1 * np.tile(weighs, 2)
        return value + problem.total_loss(X @ w), slopes

    given = dict(jac=True, method="L-BFGS-B", bounds=[(0, None)] * (2 * width))
    best = minimize(smooth, np.zeros(2 * width), options={"maxiter": 9999, "ftol": 1e-16, "gtol": 1e-10}, **given)
    w = best.x[:width] - best.x[width:]
    at_best = problem.certificate(w)
    assert at_best.primal == pytest.approx(best.fun, rel=1e-9)
    assert at_best.gap <= 1e-4
    for point in [np.zeros(width), *np.random.default_rng(0).normal(size=(10, width))]:
        certificate = problem.certificate(point)
        assert certificate.flaw is None and 0.0 <= certificate.dual <= best.fun * (1.0 + 1e-9)
        beta = certificate.beta
        assert (problem.terms.lower <= beta).all() and (beta <= problem.terms.upper).all()
        assert penalty.l2 != 0.0 or np.abs(problem.weights(beta)).max() <= penalty.l1 * (1.0 + 1e-12)
        assert not free or abs(beta.sum()) <= 1e-12 * np.abs(beta).sum()


@every_penalty
def test_words_and_plain_values_name_the_penalty(given):
    penalty = make_penalty(*given)
    assert penalty_in(f"squared hinge, free bias, {penalty.words}") == penalty
    assert read_penalty(penalty.params) == penalty


@every_penalty
def test_rounding_of_the_primal_is_that_of_its_terms(given):
    """P from fractions, at weights whose squares are far larger than P with the penalty l1."""
    problem = pose(Huber(0.5), given, 2.0, bias=0.0)
    X, t, w = problem.gram.engine.X, problem.terms.target, 1e9 * np.array([1.0, -0.3, 0.7, 2.0]) / 3.0
    exact = [Fraction(one) - sum(map(mul, map(Fraction, x), map(Fraction, w))) for one, x in zip(t, X, strict=True)]
    size, half = sum(abs(Fraction(one)) for one in w), Fraction(1, 2)
    P = sum(
        2 * (abs(e) - half * half) for e in exact
    )  # Huber's C e^2 up to delta = 1/2, 2 delta (|e| - delta / 2) beyond
    P += Fraction(problem.penalty.l1) * size + half * Fraction(problem.penalty.l2) * sum(
        Fraction(one) ** 2 for one in w
    )
    found, (w, h, _, of_bias) = problem.certificate(w), problem.with_best_bias(w)
    error = problem._primal_error(w, h, of_bias)
    assert abs(Fraction(found.primal) - P) <= error <= 1e-13 * P


@pytest.mark.slow
def test_cd_says_what_is_true_of_targets_far_beyond_the_width_of_the_loss():
    X = np.random.default_rng(0).normal(size=(60, 4))
    t, cd = X @ [1.0, 2.0, 0.0, -1.0] + 0.1 * X[:, ::-1].prod(axis=1), plugins.build("solver", "cd", {"loss": Huber()})
    near = fit(X, 1e9 * t, task="regress", solver=cd, kernel=Linear())
    far = fit(X, 1e160 * t, task="regress", solver=cd, kernel=Linear())
    assert far.flaw is None and far.dual_objective <= 1e151 * near.objective * (1.0 + 1e-6)
    assert 1e151 * near.dual_objective * (1.0 - 1e-6) <= far.objective <= 1e151 * near.objective * (1.0 + 1e-2)


def test_words_without_a_penalty_are_l2():
    assert penalty_in("hinge, regularised bias of 2.5") == penalty_in("") == read_penalty({}) == make_penalty("l2")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("l3",), "penalty='l3' is not known.*l2, l1, elasticnet"),
        (("elasticnet", 1.5), "l1_ratio must be a number from 0 to 1.*not 1.5"),
        (("elasticnet", "half"), "l1_ratio must be a number from 0 to 1.*not 'half'"),
        (("elasticnet", float("nan")), "l1_ratio must be"),
        (("elasticnet", True), "l1_ratio must be"),
    ],
)
def test_what_is_no_penalty_is_refused(given, says):
    with pytest.raises(InputError, match=says):
        make_penalty(*given)


@pytest.mark.parametrize("penalty", [{"penalty": "l1"}, {"penalty": "elasticnet", "l1_ratio": 0.7}], ids=str)
@pytest.mark.parametrize("size", [1e-3, 0.3, 1.0])
def test_the_multiple_of_logistic_weights_is_the_best_power_of_a_half(size, penalty):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 6)), np.where(rng.normal(size=80) > 0.0, 1.0, -1.0)
    problem = LinearRisk(Gram(Linear(), X), y, 0.5, Logistic(), bias=0.0, **penalty)
    beta = size * problem.suggest(rng.normal(size=80))
    v = X.T @ beta
    most = min(1.0, 1.0 / np.abs(v).max()) if penalty["penalty"] == "l1" else 1.0
    scales = most * 0.5 ** np.arange(40.0)

    def value(s):  # written out: entropies, and the conjugate of the penalty
        share = s * np.abs(beta) / 0.5
        entropy = 0.5 * (share * np.log(share) + (1.0 - share) * np.log1p(-share)).sum()
        if penalty["penalty"] == "l1":
            return -entropy
        return -entropy - 0.5 * np.square(np.maximum(s * np.abs(v) - 0.7, 0.0)).sum() / 0.3

    scale, dual = problem.dual_scale(beta, v)
    best = max(map(value, scales))
    assert dual == pytest.approx(best, rel=1e-12) and value(scale) == pytest.approx(best, rel=1e-12)
    step = 1e-6
    linear, ridged, growth = dual_growth(*problem.points, beta)
    assert (linear, ridged) == pytest.approx(dual_sums(*problem.points, beta), rel=1e-13)
    far, near = (np.array(dual_sums(*problem.points, s * beta)) @ [1.0, -0.5] for s in (1.0 + step, 1.0 - step))
    assert growth == pytest.approx((far - near) / (2.0 * step), rel=1e-5)
