"""The best bias from sums over parts is the exact one, within what the gap can bear."""

import numpy as np
import pytest
from svmkit_dask.driver.problem import least_loss

from svmkit.problems.box_sums import losses_at
from svmkit.problems.loss import Loss, best_bias


@pytest.mark.parametrize("loss", Loss)
@pytest.mark.parametrize(("around", "width"), [(0.0, 1.0), (1e3, 1e-6), (-5.0, 1e4)])
def test_the_least_loss_is_that_of_the_exact_bias(loss, around, width):
    rng = np.random.default_rng(0)
    for n in (2, 3, 50, 500):
        y = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
        h, C, squared = rng.normal(size=n) * 3.0, rng.uniform(0.1, 9.0, n), loss is Loss.SQUARED_HINGE
        best = losses_at(y, h, C, np.array([best_bias(loss, y, h, C)]), squared)[0]
        bias, least = least_loss(lambda b: losses_at(y, h, C, b, squared), around, width)  # noqa: B023
        assert least == losses_at(y, h, C, np.array([bias]), squared)[0]
        assert best * (1 - 1e-12) <= least <= best * (1 + 1e-9) + 1e-12
