"""Input of regression problems."""

import numpy as np
import pytest

from svmkit import fit, plugins
from svmkit.errors import InputError
from svmkit.kernels import RBF, Linear
from svmkit.losses import Quantile
from svmkit.problems.targets import checked_epsilon, checked_targets, sides
from svmkit.problems.weights import outside_bounds


@pytest.mark.parametrize("t", [np.zeros(2), np.array([0.0, np.nan, 1.0]), np.array([0.0, np.inf, 1.0])])
def test_targets_that_are_refused(t):
    with pytest.raises(InputError, match="a finite number for each of the 3 rows"):
        checked_targets(t, 3)


def test_targets_are_numbers_of_any_type():
    assert checked_targets(np.array([1, 2, 3]), 3).dtype == np.float64


@pytest.mark.parametrize("epsilon", [-1e-9, np.nan, np.inf])
def test_epsilon_that_is_refused(epsilon):
    with pytest.raises(InputError, match="epsilon must be a finite number >= 0"):
        checked_epsilon(epsilon)
    assert checked_epsilon(0) == 0.0


@pytest.mark.parametrize("loss", ["squared_error", "squared_epsilon_insensitive", "expectile", "huber", "quantile"])
def test_targets_whose_losses_float64_cannot_hold_are_refused_by_their_name(loss):
    X, t = np.arange(8.0)[:, None], 1e160 * np.array([1.0, 3.0, 2.0, 0.0, 1.0, 5.0, 2.0, 4.0])
    for name, kernel in (("smo", RBF(1.0)), ("dcd", Linear()), ("cd", Linear()), ("newton", Linear())):
        if loss not in plugins.load("solver", name).loss_names("regress"):
            continue
        solver = plugins.build("solver", name, {"loss": loss})
        if loss in ("huber", "quantile"):
            assert fit(X, t, task="regress", solver=solver, kernel=kernel).flaw is None
            continue
        with pytest.raises(InputError, match=r"cannot hold the losses \(.*\) of targets of up to 5e\+160: divide the"):
            fit(X, t, task="regress", solver=solver, kernel=kernel)


def test_sides_of_the_median():
    np.testing.assert_array_equal(sides(np.array([5.0, 1.0, 2.0, 9.0])), [1, -1, -1, 1])
    np.testing.assert_array_equal(sides(np.full(3, 7.0)), [-1, -1, -1])


def test_signed_weights_outside_their_box_are_named():
    terms = Quantile(tau=0.25).terms(np.zeros(2), np.array([4.0, 1e10]))
    assert outside_bounds(terms, np.array([-3.0, 1e9])) is None
    assert "row 0 should be between -3 and 1, not 1.5" in outside_bounds(terms, np.array([1.5, 0.0]))
    assert "row 0 should be between -3 and 1, not -3.5" in outside_bounds(terms, np.array([-3.5, 0.0]))
    assert "finite" in outside_bounds(terms, np.array([0.0, np.nan]))
    assert "shape" in outside_bounds(terms, np.zeros(3))
