"""Training on data with holes is training on the data that scikit-learn's imputer fills."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.problems import overlapping
from support.refusals import refused

from svmkit import c_path, fit
from svmkit.kernels.functions import RBF, Linear, Precomputed
from svmkit.model.model import SVMModel
from svmkit.training.stream.online import Online


def holed():
    X, y = overlapping(150)
    X = X * [1.0, 30.0, 0.1] + [0.0, 5.0, -2.0]
    rng = np.random.default_rng(5)
    X[rng.random(X.shape) < [0.2, 0.0, 0.3]] = np.nan
    return X, y, np.where(rng.random(X.shape) < 0.3, np.nan, X)


def theirs(impute, *, scale):
    strategy = "most_frequent" if impute == "most_frequent" else "median"
    steps = [SimpleImputer(strategy=strategy, add_indicator=impute == "indicator")]
    return make_pipeline(*steps, StandardScaler()) if scale else make_pipeline(*steps)


@pytest.mark.parametrize("impute", ["median", "most_frequent", "indicator"])
@pytest.mark.parametrize("solver", ["smo", "dcd"])
def test_a_model_fills_holes_as_scikit_learn_does(impute, solver, tmp_path):
    X, y, new = holed()
    kernel = Linear() if solver == "dcd" else RBF("scale")
    trained = fit(X, y, solver=solver, kernel=kernel, impute=impute)
    imputer = theirs(impute, scale=False).fit(X)
    plain = fit(imputer.transform(X), y, solver=solver, kernel=kernel).model
    want = plain.decision_function(imputer.transform(new))
    np.testing.assert_array_equal(trained.model.decision_function(new), want)
    assert trained.gap <= 1e-3 and trained.model.n_features == 3 and trained.model.width == plain.n_features
    trained.model.save(tmp_path / "m")
    back = SVMModel.load(tmp_path / "m")
    np.testing.assert_array_equal(back.decision_function(new), want)
    np.testing.assert_array_equal(back.predict(new), plain.labels(want))
    assert back.imputing.kind == impute
    if solver == "dcd":
        assert back.weights.shape == (1, back.width)


def test_prediction_needs_no_scikit_learn(tmp_path):
    X, y, new = holed()
    model = fit(X, y, kernel=RBF(0.5), impute="indicator", scale="standard").model
    model.save(tmp_path / "m")
    np.save(tmp_path / "new.npy", new)
    code = """
import sys
sys.modules["sklearn"] = None
import numpy as np
from svmkit.model.model import SVMModel
print(*SVMModel.load("m").predict(np.load("new.npy")))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(label) for label in model.predict(new)]


def test_imputing_comes_before_scaling():
    X, y, new = holed()
    pipeline = theirs("median", scale=True).fit(X)
    plain = fit(pipeline.transform(X), y, kernel=RBF(0.5)).model
    both = fit(X, y, kernel=RBF(0.5), impute="median", scale="standard").model
    np.testing.assert_allclose(both.decision_function(new), plain.decision_function(pipeline.transform(new)), atol=1e-9)


@pytest.mark.parametrize("impute", ["median", "indicator"])
def test_sparse_data_with_holes(impute):
    X, y, new = holed()
    X, new = np.where(np.abs(X) < 1.0, 0.0, X), np.where(np.abs(new) < 1.0, 0.0, new)
    dense = fit(X, y, kernel=RBF("scale"), impute=impute, scale="maxabs").model
    sparse = fit(sp.csr_array(X), y, kernel=RBF("scale"), impute=impute, scale="maxabs").model
    assert sp.issparse(sparse.vectors) and sparse.width == dense.width
    want = dense.decision_function(new)
    for rows in (new, sp.csr_array(new)):
        np.testing.assert_allclose(sparse.decision_function(rows), want, atol=1e-2)  # two solves at a gap of 1e-3
        np.testing.assert_allclose(dense.decision_function(rows), want, rtol=1e-9, atol=1e-9)


def test_a_dense_standard_model_takes_sparse_rows_part_by_part(monkeypatch):
    X, y, _ = holed()
    X = np.nan_to_num(X)
    model = fit(X, y, kernel=RBF(0.5), scale="standard").model
    monkeypatch.setattr("svmkit.model.model.ROWS", (64, 16))
    want = model.decision_function(X)
    np.testing.assert_array_equal(model.decision_function(sp.csr_array(X)), want)
    sparse, dense = sp.csr_array((100_000, 3)), np.empty((100_000, 3))
    assert list(model._parts(sparse, 1)) == list(model._parts(dense, 1))


def test_a_path_a_validation_set_and_a_warm_start_take_holes():
    X, y, new = holed()
    first, last = c_path(X, y, [0.1, 1.0], kernel=RBF(0.5), impute="indicator", validation=(new, y))
    alone = fit(X, y, kernel=RBF(0.5), impute="indicator", start=first.model)
    np.testing.assert_allclose(alone.model.decision_function(new), last.model.decision_function(new), atol=0.05)
    measured = [point.accuracy for point in last.solutions[0].history if point.accuracy is not None]
    assert measured[-1] == (last.model.predict(new) == y).mean()


def test_flags_are_not_scaled():
    X, y = overlapping(100)
    X[:, 1] = X[:, 1] > 0
    flags = np.array([False, True, False])
    model = fit(X, y, kernel=RBF(0.5), scale="standard", flags=flags).model
    assert (model.scaling.center[1], model.scaling.scale[1]) == (0.0, 1.0) and (
        model.scaling.scale[[0, 2]] != 1.0
    ).all()
    assert fit(X, y, kernel=RBF(0.5), scale="standard").model.scaling.scale[1] != 1.0


def test_holes_are_refused_where_nothing_fills_them():
    X, y, new = holed()
    refused("NaN at row", fit, X, y, kernel=RBF(0.5))
    refused("no imputing is called 'mean'", fit, X, y, kernel=RBF(0.5), impute="mean")
    refused(
        "infinity.* at row 1, column 1", fit, np.where(X[0, 0] == X, np.inf, X), y, kernel=RBF(0.5), impute="median"
    )
    refused("column 2 .*no value in any training row", fit, X * [1, np.nan, 1], y, kernel=RBF(0.5), impute="median")
    refused("precomputed.*impute", fit, X @ X.T, y, kernel=Precomputed(), impute="median")
    plain = fit(np.nan_to_num(X), y, kernel=RBF(0.5)).model
    refused("NaN at row", plain.predict, new)
    model = fit(X, y, kernel=RBF(0.5), impute="median").model
    refused("infinity", model.predict, np.full((1, 3), np.inf))
    refused("imputes cannot go on with a stream", Online, [-1, 1], kernel=RBF(0.5), start=model)
