"""Kernel values without a digit left: a model whose errors exceed all that it could gain is refused in one line."""

import numpy as np
import pytest

from svmkit import SVMClassifier, SVMRegressor
from svmkit.errors import LostDigits

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
T = X[:, 0] + 0.3 * RNG.normal(size=80)


@pytest.mark.parametrize("solver", ["smo", "fcsmo", "svmlight"])
@pytest.mark.parametrize(("kernel", "offset"), [("poly", 1e9), ("linear", 1e9), ("linear", 1e15)])
def test_a_model_that_is_worse_than_a_constant_is_refused(solver, kernel, offset):
    for model, target in (SVMClassifier(solver), T > 0.0), (SVMRegressor(solver), T):
        model.set_params(kernel=kernel, max_iter=20_000)
        with pytest.raises(
            LostDigits, match=r"constant decision has .* lost their digits; subtract the mean"
        ) as caught:
            model.fit(X + offset, target)
        assert "\n" not in str(caught.value)
        moved = X + offset
        assert model.fit(moved - moved.mean(0), target).gap_ <= 1e-3


@pytest.mark.parametrize("solver", ["smo", "fcsmo"])
def test_a_constant_is_no_such_model(solver):
    """The optimum is 0 but for rounding errors: the gap is all rounding, and P no more than that of a constant."""
    model = SVMRegressor(solver, kernel="linear", epsilon=0.1, max_iter=1000).fit(X, np.where(T > 0.0, 0.2, 0.4))
    assert model.certificate_[0].primal <= 1e-12
