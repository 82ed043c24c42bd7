"""The judge's own formulas of the losses: hand-computed values, and conjugates and slopes by a search over values."""

from dataclasses import dataclass

import numpy as np
import pytest

from svmkit import losses, plugins
from svmkit.conformance.judging import definitions
from svmkit.conformance.judging.definitions import Closed, Exact, Searched, Values, define, find_maximum
from svmkit.conformance.judging.truth import Objective, Subproblem
from svmkit.losses import loss_names, make_loss

OPTIONS = {
    "smoothed_hinge": {"delta": 0.5},
    "huber": {"delta": 0.75},
    "quantile": {"tau": 0.8},
    "expectile": {"tau": 0.3},
}
BUILT_IN = [name for name in loss_names() if plugins.load("loss", name).__module__.startswith("svmkit.losses")]


def made(name):
    return plugins.build("loss", name, OPTIONS.get(name))


def posed(loss, m=80):
    rng = np.random.default_rng(1)
    t = np.where(rng.random(m) < 0.5, 1.0, -1.0) if loss.task == "classify" else rng.normal(size=m)
    return t.astype(Exact), (t - rng.normal(size=m, scale=2.0)).astype(Exact)


@pytest.mark.parametrize(
    ("name", "target", "h", "value"),
    [
        ("hinge", -1, 0.5, 1.5),
        ("squared_hinge", -1, 0.5, 2.25),
        ("smoothed_hinge", 1, 0.75, 0.0625),  # s = 1/4 < 1/2: s^2
        ("smoothed_hinge", 1, -1, 1.75),  # s = 2: s - 1/4
        ("epsilon_insensitive", 1, 0.5, 0.4),
        ("squared_epsilon_insensitive", 1, 1.5, 0.16),
        ("absolute_error", 1, 3, 2.0),
        ("squared_error", 1, 3, 4.0),
        ("huber", 0, 0.5, 0.25),
        ("huber", 0, -2, 2.4375),  # 2 * 3/4 * 2 - 9/16
        ("quantile", 0, 1, 0.2),
        ("quantile", 0, -1, 0.8),
        ("expectile", 0, 2, 2.8),
        ("expectile", 0, -2, 1.2),
    ],
)
def test_values_by_hand(name, target, h, value):
    (found,) = define(made(name)).value(np.array([target], Exact), np.array([h], Exact))
    assert float(found) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize("name", BUILT_IN)
def test_formulas_agree_with_a_search_over_the_definition(name):
    """Two ways to a slope, its bounds and the conjugate: the judge's formula, and differences and a search."""
    loss = made(name)
    (t, h), closed, searched = posed(loss), define(loss), Searched(loss)
    assert isinstance(closed, Closed) and closed.value(t, h).dtype == Exact
    np.testing.assert_allclose(closed.value(t, h), searched.value(t, h), rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(closed.slope(t, h), searched.slope(t, h), atol=1e-5)
    for ours, other in zip(closed.bounds(t), searched.bounds(t), strict=True):
        np.testing.assert_allclose(ours.astype(float), other.astype(float), rtol=1e-6, atol=1e-6)
    lower, upper = closed.bounds(t)
    rng = np.random.default_rng(2)
    b = np.clip(rng.normal(size=len(t), scale=2.0), lower, upper)
    np.testing.assert_allclose(closed.conjugate(t, b).astype(float), searched.conjugate(t, b).astype(float), atol=1e-9)


@dataclass(frozen=True)
class Mine(losses.Quantile):
    """A loss by somebody else."""


def test_a_loss_by_somebody_else_is_known_by_its_values_alone():
    assert isinstance(define(Mine(tau=0.7)), Searched) and isinstance(define(losses.Quantile(tau=0.7)), Closed)


@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("bias", [None, 0.0])
def test_the_optimum_of_two_points_has_no_gap(name, bias, monkeypatch):
    """x = 1 and -1, t = 1 and -1: w, b and beta by a search over the definition alone; P = D there."""
    monkeypatch.setattr(definitions, "STEPS", 30)
    loss = made(name)
    t, C = np.array([1.0, -1.0], Exact), np.array([0.7, 0.7], Exact)
    objective = Objective(define(loss), bias)
    values = Values("linear", {}, np.array([[1.0], [-1.0]]))

    def primal(w, b):
        return Subproblem(values, np.arange(2), t, C, None, np.array([w], Exact), Exact(b)).primal(objective)[0]

    def best_b(w):
        return 0.0 if bias == 0.0 else find_maximum(lambda b: -primal(w, b), -4.0, 4.0)

    w = find_maximum(lambda w: -primal(w, best_b(w)), -4.0, 4.0)
    given = Subproblem(values, np.arange(2), t, C, None, np.array([w], Exact), Exact(best_b(w)))
    P, h, _ = given.primal(objective)
    angles = np.linspace(0.0, 2.0 * np.pi, 65)  # of beta; the best scale is found by `dual`
    tried = [0.5 * np.array([np.cos(angle), np.sin(angle)], Exact) for angle in angles]
    D = max(given.dual(objective, beta) for beta in [*tried, given.suggest(objective, h)])
    assert -1e-15 * P <= P - D <= 2e-3 * P


def test_a_loss_of_regression_for_classes_is_refused():
    with pytest.raises(Exception, match="regression"):
        make_loss("huber", "classify")
