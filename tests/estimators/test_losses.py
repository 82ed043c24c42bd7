"""`loss=` of the estimators and of `svmkit.fit`: what each loss estimates, and what does not go together."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import HuberRegressor

from svmkit import InputError, SVMClassifier, SVMRegressor, fit
from svmkit.kernels.functions import Linear
from svmkit.losses import Quantile
from svmkit.solver.stopping import Gap

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 2))
T = X[:, 0] + RNG.normal(size=300)


def linear(**options):
    return SVMRegressor(kernel="linear", C=10.0, tol=1e-5, **options)


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
def test_a_quantile_has_its_share_of_the_samples_below_it(tau):
    machine = linear(loss="quantile", tau=tau).fit(X, T)
    assert np.mean(machine.predict(X) > T) == pytest.approx(tau, abs=0.02)
    assert machine.gap_ <= 1e-5 and machine.model_.about["tau"] == tau


def test_a_name_with_options_is_an_instance():
    by_name = linear(loss="pinball", tau=0.9).fit(X, T)
    by_instance = linear(loss=Quantile(tau=0.9)).fit(X, T)
    direct = fit(X, T, task="regress", kernel=Linear(), C=10.0, loss=Quantile(tau=0.9), stop=Gap(1e-5))
    np.testing.assert_array_equal(by_name.coef_, by_instance.coef_)
    np.testing.assert_array_equal(by_name.coef_, direct.model.weights)


def test_huber_withstands_outliers():
    dirty = T.copy()
    dirty[:30] += 100.0
    theirs = HuberRegressor(epsilon=1.35, alpha=1e-6).fit(X, dirty)
    ours = linear(loss="huber", delta=1.35).fit(X, dirty)
    assert np.abs(ours.coef_[0] - theirs.coef_).max() < 0.1
    assert np.abs(linear(loss="squared_error").fit(X, dirty).predict(X) - T).mean() > 3.0


@pytest.mark.parametrize("name, same", [("hinge", "epsilon_insensitive"), ("squared_hinge", None)])
def test_the_tube_has_two_names(name, same):
    plain = linear(loss=same or "squared_epsilon_insensitive", epsilon=0.3).fit(X, T)
    np.testing.assert_array_equal(linear(loss=name, epsilon=0.3).fit(X, T).coef_, plain.coef_)
    assert plain.model_.about["epsilon"] == 0.3


def test_the_smoothed_hinge_is_between_the_hinge_and_its_square():
    machine = SVMClassifier(kernel="linear", loss="smoothed_hinge", delta=0.5, tol=1e-5).fit(X, T > 0)
    assert machine.gap_ <= 1e-5 and machine.score(X, T > 0) > 0.7


def test_parameters_are_cloned():
    machine = clone(linear(loss=Quantile(tau=0.9), delta=None))
    assert machine.get_params()["loss"] == Quantile(tau=0.9) and machine.get_params()["tau"] is None


@pytest.mark.parametrize(
    "options, words",
    [
        ({"loss": "hubre"}, r"did you mean huber\?"),
        ({"loss": "smoothed_hinge"}, "smoothed_hinge is for classes; losses of regression: absolute_error"),
        ({"loss": "quantile", "tau": 1.0}, "0 < tau < 1"),
        ({"loss": "huber", "delta": 0.0}, "delta must be a finite number > 0"),
        ({"loss": "huber", "tau": 0.5}, "loss huber has no option 'tau'; it has delta; with tau: expectile, quantile"),
        ({"tau": 0.5}, "tau is an option of a loss: give the loss as well"),
        ({"loss": "quantile", "solver": "fcfw"}, "solver fcfw does not take loss=quantile.*with quantile: .*dcd"),
    ],
)
def test_what_does_not_go_together_is_refused_in_one_line(options, words):
    with pytest.raises(InputError, match=words) as refused:
        linear(**options).fit(X, T)
    assert "\n" not in str(refused.value)
