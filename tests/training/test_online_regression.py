"""Learning quantities from streams."""

import numpy as np
import pytest
from sklearn.metrics import r2_score

from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Linear
from svmkit.training.stream.online import OnlineRegression


def data(m=2000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 4))
    return X, X @ np.array([1.0, -2.0, 0.0, 0.5]) + 3.0 + 0.1 * rng.normal(size=m)


def test_blocks_after_the_first_do_not_matter():
    X, t = data()
    weights = []
    for size in (50, 333):
        online = OnlineRegression(solver="sgd", kernel=Linear(), C=0.01)
        online.update(X[:100], t[:100])  # it settles the unit of the targets
        for lo in range(100, len(t), size):
            online.update(X[lo : lo + size], t[lo : lo + size])
        model = online.model()
        assert model.task == "regress" and model.about["n_samples"] == len(t)
        weights.append(np.append(model.weights, model.intercept))
    np.testing.assert_allclose(weights[0], weights[1], atol=1e-9)


def test_the_score_is_that_of_predictions_before_learning():
    X, t = data()
    online, told, true = OnlineRegression(solver="sgd", kernel=Linear(), C=0.01), [], []
    for lo in range(0, len(t), 100):
        block = slice(lo, lo + 100)
        if lo:
            told.append(online.model().predict(X[block]))
            true.append(t[block])
        online.update(X[block], t[block])
    assert online.accuracy is None
    assert online.score == pytest.approx(r2_score(np.concatenate(true), np.concatenate(told)), abs=1e-12)
    assert online.history[-1].score is not None


def test_a_block_that_fails_leaves_the_model_as_it_was():
    X, t = data(300)
    online = OnlineRegression(solver="sgd", kernel=Linear())
    online.update(X[:200], t[:200])
    online.update(X[:10], np.full(10, 2.0))  # one block may be constant
    before, score = online.model().weights, online.score
    with pytest.raises(InputError, match="NaN"):
        online.update(X[200:], np.r_[np.nan, t[201:]])
    np.testing.assert_array_equal(online.model().weights, before)
    assert online.score == score


def test_a_model_of_classes_is_no_start():
    X, t = data(100)
    online = OnlineRegression(solver="sgd", kernel=Linear())
    online.update(X, t)
    model = online.model()
    again = OnlineRegression(solver="sgd", kernel=Linear(), start=model)
    again.update(X, t)
    assert again.model().about["n_samples"] == 200
    with pytest.raises(InputError, match="does not learn from streams of quantities"):
        OnlineRegression(solver="sfw", kernel=RBF(1.0))
    with pytest.raises(InputError, match="epsilon"):
        OnlineRegression(solver="sgd", kernel=Linear(), epsilon=-1.0)
