"""The labels that an estimator returns: those of y, so that whatever is stored among them keeps its letters."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
from support.model import colours

from svmkit import SVMClassifier, SVMModel
from svmkit.model.onnx import export as onnx_export

X, NAMES = colours()


@pytest.mark.parametrize(
    "y",
    [NAMES.astype(object), pd.Series(NAMES), pd.Series(NAMES, dtype="category"), NAMES, NAMES.tolist()],
    ids=["object", "column", "category", "array", "list"],
)
def test_predictions_have_the_dtype_that_scikit_learn_gives_them(y):
    ours, theirs = SVMClassifier().fit(X, y), SVC().fit(X, y)
    assert ours.classes_.dtype == theirs.classes_.dtype and ours.predict(X).dtype == theirs.predict(X).dtype
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"multiclass": "ovr"},
        {"multiclass": "crammer_singer", "kernel": "linear"},
        {"calibration": "sigmoid"},
        {"class_weight": {"red": 2.0}},
    ],
    ids=["pairs", "rest", "joint", "calibrated", "weighted"],
)
def test_a_longer_text_fits_among_predictions_of_a_column_of_python_strings(options, tmp_path):
    y = NAMES.astype(object)
    machine = SVMClassifier(**options).fit(X, y, validation=(X, y))
    machine.model_.save(tmp_path / "m")
    machine.warm_start = options == {}
    for model in (machine, SVMModel.load(tmp_path / "m"), machine.fit(X, y)):
        predicted = model.predict(X)
        predicted[0] = "uncertain"
        assert predicted[0] == "uncertain" and predicted.dtype == object
        np.testing.assert_array_equal(predicted[1:], SVMClassifier(**options).fit(X, NAMES).predict(X)[1:])
    onnx_export.write(machine.model_, tmp_path / "m.onnx", "float64")
    assert machine.score(X, y) == machine.score(X, NAMES) > 0.7


def test_a_search_and_a_stream_keep_python_strings():
    y = NAMES.astype(object)
    assert GridSearchCV(SVMClassifier(), {"C": [1.0, 10.0]}, cv=2).fit(X, y).predict(X).dtype == object
    machine = SVMClassifier("sgd", kernel="linear").partial_fit(X, y, classes=sorted(set(y)))
    assert machine.classes_.dtype == NAMES.dtype  # those of a list
    machine = SVMClassifier("sgd", kernel="linear").partial_fit(X, y, classes=np.unique(y)).partial_fit(X, NAMES)
    assert machine.predict(X).dtype == object and set(machine.predict(X)) <= set(NAMES)


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="numpy has no text of variable width")
def test_text_of_variable_width_becomes_python_strings():
    machine = SVMClassifier().fit(X, NAMES.astype(np.dtypes.StringDType()))
    assert machine.classes_.tolist() == ["blue", "green", "red"] and machine.predict(X).dtype == object
