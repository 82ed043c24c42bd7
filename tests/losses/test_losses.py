"""Each registered loss: its record against its definition, and its options."""

import numpy as np
import pytest

from svmkit import plugins
from svmkit.errors import InputError
from svmkit.losses import conjugates, curvatures, dual_weights, loss_names, loss_values, make_loss

NAMES = plugins.names("loss")
OPTIONS = {
    "smoothed_hinge": {"delta": 0.4},
    "huber": {"delta": 0.7},
    "quantile": {"tau": 0.8},
    "expectile": {"tau": 0.3},
}


def posed(name):
    """A loss with options that are not its defaults, and targets, residuals of all kinds, costs and decision values."""
    cls, rng = plugins.load("loss", name), np.random.default_rng(0)
    loss = plugins.build("loss", name, OPTIONS.get(name))
    m = 400
    target = np.where(rng.random(m) < 0.5, 1.0, -1.0) if cls.task == "classify" else rng.normal(size=m)
    h = target - np.where(rng.random(m) < 0.1, 0.0, rng.normal(scale=2.0, size=m))
    return loss, target, h, rng.uniform(0.1, 3.0, m)


@pytest.mark.parametrize("name", NAMES)
def test_the_record_gives_the_values_of_the_definition(name):
    loss, target, h, C = posed(name)
    terms = loss.terms(target, C)
    values = loss_values(terms, terms.target - h)
    np.testing.assert_allclose(values, C * loss.value(target, h), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_the_weights_are_minus_the_derivative_by_h(name):
    loss, target, h, C = posed(name)
    step = 1e-6
    slope = C * (loss.value(target, h + step) - loss.value(target, h - step)) / (2.0 * step)
    terms = loss.terms(target, C)
    weights = dual_weights(terms, terms.target - h)
    bends = (
        np.abs(C * (loss.value(target, h + step) + loss.value(target, h - step) - 2.0 * loss.value(target, h))) / step
    )
    smooth = bends < 1e-5  # elsewhere the loss has a kink, or a piece of another curvature begins
    assert smooth.sum() > 300
    np.testing.assert_allclose(weights[smooth], -slope[smooth], atol=2e-5)


@pytest.mark.parametrize("name", NAMES)
def test_the_curvature_is_the_derivative_of_the_weights(name):
    loss, target, h, C = posed(name)
    terms, step = loss.terms(target, C), 1e-5
    e = terms.target - h
    slope = (dual_weights(terms, e + step) - dual_weights(terms, e - step)) / (2.0 * step)
    bends = np.abs(curvatures(terms, e + step) - curvatures(terms, e - step)) > 1e-3
    # elsewhere a piece of another curvature begins, or the weight jumps
    smooth = ~bends & (np.abs(slope) < 1e3) & (e != 0.0)
    assert smooth.sum() > 300
    np.testing.assert_allclose(curvatures(terms, e)[smooth], slope[smooth], atol=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_the_conjugate_and_the_loss_meet_at_the_weights_and_nowhere_cross(name):
    loss, target, h, C = posed(name)
    terms = loss.terms(target, C)
    e = terms.target - h
    values, best = loss_values(terms, e), dual_weights(terms, e)
    np.testing.assert_allclose(best * e - conjugates(terms, best), values, rtol=1e-12, atol=1e-12)
    rng = np.random.default_rng(1)
    for _ in range(20):
        beta = np.clip(rng.normal(scale=3.0, size=len(e)), terms.lower, terms.upper)
        assert (beta * e - conjugates(terms, beta) <= values + 1e-12).all()


@pytest.mark.parametrize("name", NAMES)
def test_the_conjugate_is_finite_up_to_the_bounds_and_no_farther(name):
    loss, target, _, C = posed(name)
    terms = loss.terms(target, C)
    for bound, way in ((terms.upper, np.inf), (terms.lower, -np.inf)):
        at = np.isfinite(bound)
        inside = np.where(at, bound, 0.0)
        assert np.isfinite(conjugates(terms, inside)).all()
        np.testing.assert_allclose(conjugates(terms, np.nextafter(inside, 0.0)), conjugates(terms, inside), atol=1e-12)
        assert np.isinf(conjugates(terms, np.nextafter(inside, way))[at]).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_loss_is_convex_and_not_negative(name):
    loss, target, h, _ = posed(name)
    other = np.random.default_rng(2).normal(scale=3.0, size=len(h))
    middle = loss.value(target, 0.5 * (h + other))
    assert (middle <= 0.5 * (loss.value(target, h) + loss.value(target, other)) + 1e-12).all()
    assert (loss.value(target, h) >= 0.0).all()


@pytest.mark.parametrize("name", NAMES)
def test_the_family_says_what_the_record_has(name):
    loss, target, _, C = posed(name)
    terms = loss.terms(target, C)
    if loss.family.name == "LOGISTIC":
        assert np.isnan([terms.ridge_up, terms.ridge_down]).all()
        return
    sides = [(terms.upper, terms.ridge_up), (-terms.lower, terms.ridge_down)]
    sides = [(bound[bound > 0.0], ridge[bound > 0.0]) for bound, ridge in sides]
    bounded, ridged = (
        all(holds) for holds in zip(*((np.isfinite(b).all(), (r > 0.0).all()) for b, r in sides), strict=True)
    )
    assert (
        loss.family.name == {(True, False): "BOUNDED", (False, True): "RIDGED", (True, True): "SMOOTH"}[bounded, ridged]
    )


@pytest.mark.parametrize(
    ("name", "values", "says"),
    [
        ("quantile", {"tau": 0.0}, "tau must be a number with 0 < tau < 1, not 0"),
        ("expectile", {"tau": float("nan")}, "tau must be a number with 0 < tau < 1, not nan"),
        ("huber", {"delta": 0}, "delta must be a finite number > 0, not 0"),
        (
            "epsilon_insensitive",
            {"epsilon": -1.0},
            "epsilon must be a finite number >= 0, in units of the targets, not -1",
        ),
        ("huber", {"tau": 0.5}, "loss huber has no option 'tau'; it has delta; with tau: expectile, quantile"),
        (
            "hubert",
            {},
            "loss='hubert' is not known (did you mean huber?); there are: absolute_error, epsilon_insensitive",
        ),
        ("smoothed_hinge", {}, "loss=smoothed_hinge is for classes; losses of regression: absolute_error"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(name, values, says):
    with pytest.raises(InputError) as refusal:
        make_loss(name, "regress", values)
    assert str(refusal.value).startswith(says)
    assert "\n" not in str(refusal.value)


def test_losses_are_found_by_task():
    assert loss_names("classify") == ["hinge", "logistic", "smoothed_hinge", "squared_hinge"]
    assert "hinge" not in loss_names("regress")
    assert make_loss("hinge", "regress", epsilon=0.5).epsilon == 0.5
    assert make_loss("pinball", "regress", {"tau": "0.9"}).tau == 0.9
