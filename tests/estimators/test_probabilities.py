"""Probabilities of SVMClassifier: scikit-learn's conventions, and no contradiction with labels."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from support.problems import blobs

from svmkit import SVMClassifier
from svmkit.errors import InputError
from svmkit.estimators import expected_failures


@parametrize_with_checks(
    [SVMClassifier("auto", calibration="sigmoid"), SVMClassifier("dcd", calibration="isotonic")],
    expected_failed_checks=expected_failures,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:.* rows are equal to one in another fold")
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", ["sigmoid", "isotonic"])
def test_labels_are_those_of_the_highest_probability(kind):
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    rows = rng.uniform(X.min(axis=0), X.max(axis=0), (2000, 4))
    for names, at in ((np.array(["a", "b", "c"]), slice(None)), (np.array(["a", "b", "c"]), slice(50, None))):
        model = SVMClassifier(calibration=kind).fit(X[at], names[y[at]])
        probabilities = model.predict_proba(rows)
        assert probabilities.shape == (2000, len(model.classes_)) and probabilities.min() >= 0.0
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-12)
        np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(rows))
        decision = model.model_.decision_function(rows)
        np.testing.assert_array_equal(model.model_.labels(decision), model.predict(rows))
        np.testing.assert_array_equal(np.log(probabilities), model.predict_log_proba(rows))
        assert np.isfinite(model.predict_log_proba(rows)).all()
        told = model.decision_function(rows)
        told = told > 0.0 if told.ndim == 1 else told.argmax(axis=1)
        np.testing.assert_array_equal(model.classes_[told.astype(int)], model.predict(rows))


def test_without_a_calibration_there_are_no_probabilities():
    model = SVMClassifier().fit(*blobs(60, 3))
    for name in ("predict_proba", "predict_log_proba"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match=rf"no {name}.*calibration='sigmoid'"):
            getattr(model, name)
    assert hasattr(SVMClassifier(calibration="sigmoid"), "predict_proba")
    with pytest.raises(InputError, match="train it with a calibration"):
        model.model_.predict_proba(blobs(60, 3)[0])


def test_an_unknown_calibration_and_too_few_samples_are_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InputError, match="'platt' is not known: give sigmoid or isotonic"):
        SVMClassifier(calibration="platt").fit(X, y)
    with pytest.raises(InputError, match="5 samples of each class, but class 2 has 4"):
        SVMClassifier(calibration="sigmoid").fit(X[:104], y[:104])
    weights = np.where((y == 1) & (np.arange(150) > 51), 0.0, 1.0)
    with pytest.raises(InputError, match="but class 1 has 2"):
        SVMClassifier(calibration="sigmoid").fit(X, y, sample_weight=weights)
    with pytest.raises(InputError, match="folds of a calibration"):
        SVMClassifier("sgd", calibration="sigmoid").partial_fit(X, y, classes=[0, 1, 2])


def test_the_calibration_of_scikit_learn_works_too():
    X, y = load_breast_cancer(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    losses = {}
    for name, model in {
        "theirs": CalibratedClassifierCV(make_pipeline(StandardScaler(), SVMClassifier()), ensemble=False),
        "ours": SVMClassifier(scale="standard", calibration="sigmoid"),
    }.items():
        probabilities = model.fit(X, y).predict_proba(X_test)
        losses[name] = log_loss(y_test, probabilities)
    assert losses["ours"] == pytest.approx(losses["theirs"], abs=0.02)


def test_scores_that_need_probabilities():
    X, y = load_iris(return_X_y=True)
    found = cross_val_score(SVMClassifier(calibration="sigmoid"), X, y, scoring="neg_log_loss")
    assert found.shape == (5,) and found.mean() > -0.25


@pytest.mark.parametrize("kind", ["groups", "splitter", "pairs", "number"])
def test_a_calibration_on_given_folds(kind):
    """The calibration is that of the decisions on these folds: scikit-learn's own on the same estimator and folds."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.model_selection import GroupKFold, StratifiedKFold

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(240, 4)), np.tile([0, 1], 120)
    X[y == 1] += 1.0
    groups = np.repeat(np.arange(24), 10)
    folds = list(GroupKFold(3).split(X, y, groups))
    given, more = {
        "groups": (GroupKFold(3), {"groups": groups}),
        "splitter": (StratifiedKFold(4), {}),
        "pairs": (folds, {}),
        "number": (3, {}),
    }[kind]
    plain = {"gamma": 0.25, "tol": 1e-6}
    found = SVMClassifier(calibration="sigmoid", cv=given, **plain).fit(X, y, **more)
    if kind == "number":
        assert found.model_.about["calibration"]["folds"] == 3
        return
    theirs = folds if kind == "groups" else given
    expected = CalibratedClassifierCV(SVMClassifier(**plain), ensemble=False, cv=theirs).fit(X, y)
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=2e-3)


def test_folds_that_no_calibration_can_have():
    from sklearn.model_selection import ShuffleSplit

    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.tile([0, 1], 30)
    with pytest.raises(InputError, match="holds some rows out more than once"):
        SVMClassifier(calibration="sigmoid", cv=ShuffleSplit(3, random_state=0)).fit(X, y)
    with pytest.raises(InputError, match="groups are for a calibration"):
        SVMClassifier().fit(X, y, groups=y)
