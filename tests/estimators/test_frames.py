"""Estimators that are fitted to tables as they are, and estimators that are made of models."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from svmkit import SVMClassifier, SVMModel, SVMOneClass, SVMRanker, SVMRegressor, fit
from svmkit.data.tables.in_memory import learn_frame
from svmkit.errors import InputError

pytestmark = pytest.mark.filterwarnings("ignore::svmkit.errors.SvmkitWarning")
NAMES = ["age", "city=", "city=Bonn", "city=Kiel", "city=Rom", "since"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, 60).astype(float),
            "city": rng.choice(["Bonn", "Kiel", "Rom"], 60),
            "since": pd.date_range("2020-01-01", periods=60),
        }
    )
    y = pd.Series(np.where(frame["age"] + 30.0 * (frame["city"] == "Rom") > 60, "yes", "no"), name="churned")
    frame.loc[3, "age"], frame.loc[5, "city"] = np.nan, None
    return frame, y


@pytest.mark.parametrize(
    "machine",
    [
        SVMClassifier(impute="median", scale="standard"),
        SVMClassifier("dcd", impute="median", scale="standard", loss="logistic"),
        pytest.param(SVMClassifier(impute="median", scale="standard", C="cv", cv=3), marks=pytest.mark.slow),
    ],
)
def test_a_classifier_is_fitted_to_a_table(table, machine):
    frame, y = table
    machine = clone(machine).fit(frame, y)
    data = learn_frame(frame, holes=True)
    params = {name: getattr(machine, name) for name in ("solver", "kernel", "C", "loss", "impute", "scale")}
    same = fit(data.X, y, **params, flags=data.flags, cv=machine.cv)
    np.testing.assert_array_equal(machine.predict(frame), same.model.predict(data.X))
    assert machine.n_features_in_ == 3 and machine.feature_names_in_.tolist() == ["age", "city", "since"]
    assert machine.get_feature_names_out().tolist() == NAMES
    arrow = pa.Table.from_pandas(frame)
    for other in (machine, pickle.loads(pickle.dumps(machine)), clone(machine).fit(arrow, y), machine.model_):
        np.testing.assert_array_equal(other.predict(arrow), machine.predict(frame))
    np.testing.assert_array_equal(machine.model_.predict(frame[["since", "city", "age"]]), machine.predict(frame))


def test_names_are_those_of_fit(table):
    frame, y = table
    machine = SVMClassifier(impute="median").fit(frame, y)
    for wrong in (frame[frame.columns[::-1]], frame.drop(columns="city"), frame.rename(columns={"city": "town"})):
        with pytest.raises(ValueError, match="feature names should match"):
            machine.predict(wrong)
    with pytest.warns(UserWarning, match="valid feature names"):
        np.testing.assert_array_equal(machine.predict(frame.to_numpy()), machine.predict(frame))
    with pytest.warns(UserWarning, match="valid feature names"), pytest.raises(InputError, match=r"2 features.*expect"):
        machine.predict(frame.to_numpy()[:, :2])
    machine.fit(np.eye(4), [0, 1, 0, 1])  # nothing is left of the table
    assert machine.n_features_in_ == 4 and machine.model_.encoding is None and not hasattr(machine, "feature_names_in_")


def test_folds_pipelines_and_blocks(table):
    frame, y = table
    assert cross_val_score(SVMClassifier(impute="median", scale="standard"), frame, y, cv=3).mean() > 0.6
    numbers = frame[["age"]].assign(two=1.0).ffill()
    pipe = make_pipeline(StandardScaler(), SVMClassifier()).set_output(transform="pandas").fit(numbers, y)
    assert pipe[-1].get_feature_names_out().tolist() == pipe.get_feature_names_out().tolist() == ["age", "two"]
    stream, whole = SVMClassifier("sgd"), frame.dropna()
    for part in (whole.index[:40], whole.index[40:]):
        stream.partial_fit(whole.loc[part], y[part], classes=["no", "yes"])
    assert stream.model_.encoding.columns == ("age", "city", "since") and len(stream.predict(whole)) == len(whole)


def test_regression_and_outliers(table):
    frame, _ = table
    target = np.arange(60.0)
    machine = SVMRegressor(impute="median", scale="standard", C=100.0).fit(frame, target)
    assert machine.score(frame, target) > 0.9
    outliers = SVMOneClass(impute="median", scale="standard", nu=0.1, loss="hinge").fit(frame)
    assert 0 < (outliers.predict(frame) == -1).sum() <= 6 and outliers.get_feature_names_out().tolist() == NAMES
    with pytest.raises(InputError, match="hole"):
        SVMOneClass().fit(frame)


def test_names_of_the_features_of_an_array():
    machine = SVMClassifier(impute="indicator").fit([[0.0, np.nan], [1.0, 2.0], [2.0, 1.0], [3.0, 0.0]], [0, 1, 0, 1])
    assert machine.get_feature_names_out().tolist() == ["x0", "x1", "x1 is a hole"]
    assert machine.get_feature_names_out(["a", "b"]).tolist() == ["a", "b", "b is a hole"]
    with pytest.raises(InputError, match="names 1 columns, and X had 2"):
        machine.get_feature_names_out(["a"])


@pytest.mark.parametrize(
    "machine",
    [
        SVMClassifier(impute="indicator", scale="standard", C=3.0),
        SVMClassifier("dcd", impute="median", scale="standard", loss="logistic"),
        pytest.param(SVMClassifier(impute="median", calibration="sigmoid"), marks=pytest.mark.slow),
        SVMRegressor(impute="median", scale="maxabs", epsilon=0.2),
        SVMOneClass(impute="median", scale="standard", nu=0.2, loss="hinge"),
    ],
)
def test_an_estimator_is_made_of_a_model(table, machine, tmp_path):
    frame, y = table
    answers = np.arange(60.0) if isinstance(machine, SVMRegressor) else y
    machine = clone(machine).fit(frame, answers)
    machine.model_.save(tmp_path / "m.svmkit")
    made = type(machine).from_model(SVMModel.load(tmp_path / "m.svmkit"))
    if not isinstance(machine, SVMRegressor):
        np.testing.assert_array_equal(made.decision_function(frame), machine.decision_function(frame))
    np.testing.assert_array_equal(made.predict(frame), machine.predict(frame))
    if hasattr(machine, "predict_proba"):
        np.testing.assert_array_equal(made.predict_proba(frame), machine.predict_proba(frame))
    assert made.feature_names_in_.tolist() == machine.feature_names_in_.tolist()
    assert made._weights_only == machine._weights_only and "solver" in made._repr_html_inner()
    for name in ("C", "nu", "impute", "scale", "epsilon"):
        assert getattr(made, name, None) == getattr(machine, name, None)
    np.testing.assert_array_equal(clone(made).fit(frame, answers).predict(frame), machine.predict(frame))


def test_a_model_of_another_task_is_refused(table):
    frame, y = table
    model = SVMClassifier(impute="median").fit(frame, y).model_
    with pytest.raises(InputError, match="one of task classify: take SVMClassifier"):
        SVMRegressor.from_model(model)
    with pytest.raises(InputError, match=r"takes an SVMModel: make one by SVMModel.from_sklearn"):
        SVMRegressor.from_model(SVR().fit([[0.0], [1.0]], [0.0, 1.0]))


@pytest.mark.parametrize("names", [["a", "a"], [1, 1]])
def test_two_columns_of_one_name_are_refused_in_one_line(names):
    X, y = pd.DataFrame(np.eye(4)[:, :2], columns=names), [0, 1, 0, 1]
    fitted = SVMClassifier().fit(X.set_axis(["a", "b"], axis=1), y)
    for use in (lambda: SVMClassifier().fit(X, y), lambda: fitted.predict(X), lambda: SVMOneClass().fit(X)):
        with pytest.raises(InputError, match=f"^X: two columns are called {names[0]!r}: rename one of them$"):
            use()


def test_a_ranker_takes_a_table():
    frame, groups = pd.DataFrame({"x": np.arange(12.0) % 5, "kind": ["a", "b"] * 6}), np.arange(12) // 6
    values = pd.Series(frame["x"] + (frame["kind"] == "a"), name="degree")
    for given in ((values, groups), (values,), (np.column_stack([np.arange(12) % 3 > 0, values]),)):
        ranker = SVMRanker(scale="standard").fit(frame, *given)
        assert ranker.score(frame, *given) > 0.9 and list(ranker.get_feature_names_out()) == ["x", "kind=a", "kind=b"]
        assert np.array_equal(ranker.model_.predict(frame[["kind", "x"]]), ranker.predict(frame))
