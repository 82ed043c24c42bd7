"""One product of kernel values decides for every C of a path, as each model does alone."""

import numpy as np
import pytest
import scipy.sparse as sp
from support.problems import blobs, overlapping

from svmkit import c_path
from svmkit.kernels import RBF, engine_for
from svmkit.kernels.functions import Linear, Precomputed
from svmkit.tune.estimator import decisions

CS = [0.01, 1.0, 100.0]


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize(("solver", "scale"), [("smo", None), ("swap2o", "maxabs")])
def test_decisions_are_those_of_each_model(storage, solver, scale):
    X, y = overlapping(160, names=("no", "yes"))
    train, test = storage(X[:100]), storage(X[100:])
    fits = c_path(train, y[:100], CS, solver=solver, kernel=RBF(0.2), scale=scale)
    found = decisions(fits, test, 1)
    assert len({len(fitted.support) for fitted in fits}) > 1, "the supports differ"
    for fitted, decision in zip(fits, found, strict=True):
        np.testing.assert_allclose(decision, fitted.model.decision_function(test), rtol=1e-9, atol=1e-12)
        assert np.array_equal(fitted.model.labels(decision), fitted.model.predict(test))


def test_precomputed_values_are_those_of_the_training_rows():
    X, y = overlapping(120)
    K = engine_for(RBF(0.3), X).block(X, np.empty((120, 120)))
    fits = c_path(K[:80, :80], y[:80], CS, solver="smo", kernel=Precomputed())
    for fitted, decision in zip(fits, decisions(fits, K[80:, :80], 1), strict=True):
        assert np.array_equal(fitted.model.labels(decision), fitted.model.predict(K[80:, :80]))


def test_models_that_gain_nothing_predict_alone():
    X, y = blobs(60)
    assert decisions(c_path(X, y, CS[:1], solver="smo", kernel=RBF(0.2)), X, 1) is None
    assert decisions(c_path(X, y, CS, solver="dcd", kernel=Linear()), X, 1) is None
    three = np.arange(60) % 3
    assert decisions(c_path(X, three, CS, solver="smo", kernel=RBF(0.2)), X, 1) is None
