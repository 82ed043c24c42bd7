"""scikit-learn's own callbacks (1.9 and newer) on our estimators, and what a fitted estimator shows in a notebook."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from svmkit import SVMClassifier, SVMOneClass, SVMRegressor
from svmkit.estimators import callbacks


@pytest.fixture
def protocol():
    return pytest.importorskip("sklearn.callback", reason="needs scikit-learn 1.9")


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def two(iris):
    X, y = iris
    return X[50:, :2], y[50:] - 1


class StopAt:
    """Ends a fit after so many tasks."""

    def __init__(self, n):
        self.n, self.ended, self.torn = n, 0, 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        self.torn += 1

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.ended += 1
        return self.ended == self.n


@pytest.mark.parametrize("kind, scoring, solver", [(SVMClassifier, "accuracy", "swap"), (SVMRegressor, "r2", "dcd")])
def test_each_step_has_a_score_and_the_last_is_the_estimators(protocol, two, kind, scoring, solver):
    X, y = two
    monitor = protocol.ScoringMonitor(scoring=scoring)
    watched = kind(solver, tol=1e-5).set_callbacks(monitor).fit(X, y)
    rows = monitor.get_logs().data
    steps = [row for row in rows if row["task_name"] == "iterations"]
    assert len(steps) > 5 and len({row[scoring] for row in steps}) > 2
    assert rows[0]["task_name"] == "fit" and rows[0][scoring] == steps[-1][scoring] == watched.score(X, y)
    plain = kind(solver, tol=1e-5).fit(X, y)
    np.testing.assert_array_equal(watched.model_.coef, plain.model_.coef)
    assert watched.n_iter_ == plain.n_iter_


def test_of_several_problems_each_is_a_task(protocol, iris):
    monitor = protocol.ScoringMonitor(scoring="accuracy")
    fitted = SVMClassifier().set_callbacks(monitor, protocol.ProgressBar()).fit(*iris)
    rows = monitor.get_logs().data
    assert [row["task_name"] for row in rows] == ["fit", "0 vs 1", "0 vs 2", "1 vs 2"]
    assert rows[1]["accuracy"] < rows[-1]["accuracy"] == fitted.score(*iris)


@pytest.mark.filterwarnings("ignore:.* rows are equal to one in another fold")
def test_calibration_is_scored_at_the_end_only(protocol, two):
    monitor = protocol.ScoringMonitor(scoring="neg_log_loss")
    SVMClassifier(calibration="sigmoid").set_callbacks(monitor).fit(*two)
    assert [row["task_name"] for row in monitor.get_logs().data] == ["fit"]


@pytest.mark.parametrize("kind", [SVMClassifier, SVMRegressor, SVMOneClass])
def test_a_callback_ends_a_fit_without_a_warning(protocol, two, kind, recwarn):
    callback = StopAt(3)
    for _ in range(2):  # the second one soon after is no Ctrl-C
        callback.ended = 0
        given = {"solver": "fcfw", "nu": 0.002} if kind is SVMOneClass else {}  # a larger nu needs no iteration
        fitted = kind(**given, tol=1e-8).set_callbacks(callback).fit(*two)
        assert fitted.status_ == "interrupted" and np.isfinite(fitted.predict(two[0])).all()
    assert callback.torn == 2 and not recwarn


def test_bars_go_through_pipelines_and_searches(protocol, iris, capsys):
    bar = protocol.ProgressBar(max_propagation_depth=None)
    pipe = make_pipeline(StandardScaler(), SVMClassifier()).set_callbacks(bar).fit(*iris)
    assert pipe.score(*iris) > 0.9
    monitor = protocol.ScoringMonitor(scoring="accuracy")
    search = GridSearchCV(SVMClassifier().set_callbacks(monitor), {"C": [1, 10]}, cv=2).set_callbacks(bar).fit(*iris)
    assert len(monitor.get_logs().data) == 5 * 4 and hasattr(search.best_estimator_, "_skl_callbacks")
    assert "SVMClassifier - fit" in capsys.readouterr().out


def test_callbacks_are_no_parameters(protocol, two):
    estimator = SVMClassifier().set_callbacks(StopAt(1))
    assert "callbacks" not in estimator.get_params()
    assert clone(estimator)._skl_callbacks == estimator._skl_callbacks
    assert not hasattr(estimator.set_callbacks(), "_skl_callbacks")
    with pytest.raises(TypeError, match="FitCallback"):
        estimator.set_callbacks(print)
    with pytest.raises(ValueError, match="NaN"):  # torn down when fit fails, and usable afterwards
        estimator.set_callbacks(StopAt(9)).fit(two[0] * np.nan, two[1])
    assert estimator.fit(*two).status_ == "interrupted" or estimator.status_ == "converged"


def test_older_scikit_learn_shows_no_trace(monkeypatch):
    monkeypatch.setattr(callbacks, "find_spec", lambda name: None)
    assert not hasattr(SVMClassifier(), "set_callbacks")
    with pytest.raises(AttributeError, match=r"1\.9 or newer"):
        SVMOneClass().set_callbacks()


@pytest.mark.parametrize("kind", [SVMClassifier, SVMRegressor, SVMOneClass])
def test_a_notebook_shows_how_training_ended(two, kind):
    estimator = kind()
    before = estimator._repr_html_()
    assert "svmkit-fit" not in before and "SV" in before
    text = repr(estimator)
    estimator.fit(*two)
    estimator.model_.about["solver"] = "<script>alert(1)</script>"
    html = estimator._repr_html_()
    assert html.count('class="svmkit-fit"') == 1 and "<b>converged</b>" in html
    assert "&lt;script&gt;alert(1)" in html and "<script>alert(1)" not in html
    assert estimator._repr_mimebundle_()["text/html"].count('class="svmkit-fit"') == 1
    assert repr(estimator) == text
