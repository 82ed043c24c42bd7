"""The best bias from sums over parts is the exact one, within what the gap can bear."""

import numpy as np
import pytest
from support.bias import record_of
from svmkit_dask.driver.problem import _lower_bound, least_loss

from svmkit.problems.bias import best_bias


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "smoothed_hinge"])
@pytest.mark.parametrize(("around", "width"), [(0.0, 1.0), (1e3, 1e-6), (-5.0, 1e4)])
def test_the_least_loss_is_that_of_the_exact_bias(loss, around, width):
    rng = np.random.default_rng(0)
    for n in (2, 3, 50, 500):
        y = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
        h, record = rng.normal(size=n) * 3.0, record_of(loss, y, rng.uniform(0.1, 9.0, n))
        best = record.losses(h, 0.0, np.array([best_bias(record, y - h)]))[0]
        bias, least = least_loss(lambda b: record.losses(h, 0.0, b), around, width)  # noqa: B023
        assert least == record.losses(h, 0.0, np.array([bias]))[0]
        assert best * (1 - 1e-12) <= least <= best * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("around", [0.7, 1.2])
@pytest.mark.parametrize("width", [20.0, 1e3])
def test_where_many_biases_are_best_it_is_one_amid_them(around, width):
    """Two samples at 0, whose best biases are those from -1 to 1: wide grids meet one or two of them at first."""
    bias, least = least_loss(lambda b: np.maximum(0.0, 1.0 - b) + np.maximum(0.0, 1.0 + b), around, width)
    assert least == 2.0 and abs(bias) <= 0.25


def test_the_bound_of_a_convex_function_holds_between_its_values():
    x, fine = np.linspace(-2.0, 2.0, 9), np.linspace(-2.0, 2.0, 4001)
    for at in (-0.4, 0.0, 0.3):
        f, best = np.square(x - at), np.square(fine - at).min()
        k = int(f.argmin())
        assert best - 1.0 <= _lower_bound(x, f, k - 1, k + 1) <= best
    assert _lower_bound(x, x, 3, 3) == _lower_bound(x, np.square(x - 2.0), 8, 8) == -np.inf
