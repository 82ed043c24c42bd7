"""scale="cv", and --tune without --scale: where the scales of columns differ much, the folds decide."""

import json
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes, load_digits, load_wine
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import SVC
from support.problems import blobs

from svmkit import SVMClassifier, SVMModel, SVMOneClass, SVMRegressor, fit
from svmkit.errors import InputError, SvmkitWarning
from svmkit.tune import crossval

WINE = load_wine(return_X_y=True)


def svc_score(X, y):
    return cross_val_score(SVC(), X, y, cv=StratifiedKFold(3, shuffle=True, random_state=0)).mean()


@pytest.mark.parametrize(
    ("data", "kind", "scaler"),
    [
        (WINE, "standard", StandardScaler()),
        ((sp.csr_array(WINE[0]), WINE[1]), "maxabs", MaxAbsScaler()),
        (tuple(part[:300] for part in load_digits(return_X_y=True)), "none", StandardScaler()),
    ],
    ids=["wine", "wine, csr", "digits"],
)
def test_the_better_scaling_is_taken_by_the_scores_of_svc(data, kind, scaler):
    X, y = data
    model = SVMClassifier(C="cv", scale="cv", cv=3, tol=1e-6).fit(X, y)
    found = model.model_.about["search"]
    other = "standard" if kind == "none" else "none"
    theirs = {"none": svc_score(X, y), kind if kind != "none" else other: svc_score(scaler.fit_transform(X), y)}
    assert found["scale"] == model.best_params_["scale"] == kind == max(theirs, key=theirs.get)
    assert list(found["scale_scores"]) == [kind, other if kind == "none" else "none"]
    for name, score in found["scale_scores"].items():
        assert score == pytest.approx(theirs[name], abs=0.011)  # a row or two on the margin of several classes
    assert (model.model_.scaling.kind if model.model_.scaling else "none") == kind
    same = SVMClassifier(**model.best_params_, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), same.decision_function(X), atol=1e-9)


def test_columns_that_are_alike_stay_as_they_are():
    X, y = blobs(60, 3)
    fitted = fit(X, y, C="cv", scale="cv", cv=3)
    assert (
        fitted.model.scaling is None
        and "scale" not in fitted.chosen.facts
        and fitted.chosen.facts["names"][-1] == "scale"
    )


def test_a_search_says_that_scales_differ_unless_the_columns_are_to_stay():
    with pytest.warns(SvmkitWarning, match=r"differ 2\.53e\+03-fold .* try scale='standard', or scale='cv'"):
        SVMClassifier(C="cv", cv=3).fit(*WINE)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        SVMClassifier(C="cv", cv=3, scale="none").fit(*WINE)
    assert not [line for line in said if "differ" in str(line.message)]


def test_a_quantity_and_a_column_far_out():
    X, y = load_diabetes(return_X_y=True)
    X = X * np.where(np.arange(10) == 3, 1e6, 1.0)  # a column of noise to the others
    model = SVMRegressor(C="cv", gamma="cv", epsilon="cv", scale="cv", cv=3).fit(X[:200], y[:200])
    assert model.best_params_["scale"] == "standard" and model.best_score_ > 0.25


def test_many_rows_are_compared_on_a_few(monkeypatch):
    X, y = blobs(1500, 2)
    X, rows = X * [1.0, 1e4], []
    monkeypatch.setattr(
        crossval, "_shares", lambda *given, f=crossval._shares: rows.append(len(given[-1])) or f(*given)
    )
    fit(X, y, C="cv", scale="cv", cv=3)
    assert 400 < rows[0] < 600 and rows[0] == rows[1] and max(rows) == 1500


def test_a_limit_that_comes_first_leaves_the_columns():
    with pytest.warns(match="keep their defaults"):
        model = SVMClassifier(C="cv", scale="cv", cv=3, time_limit=1e-9).fit(*WINE)
    assert model.model_.scaling is None and model.best_params_ == {}


@pytest.mark.parametrize(
    ("make", "X", "words"),
    [
        (lambda: SVMClassifier(scale="cv", relevance="learned"), WINE[0], "with relevance"),
        (lambda: SVMClassifier(scale="cv", kernel="precomputed"), rbf_kernel(WINE[0]), "says nothing of columns"),
        (lambda: SVMOneClass(scale="cv"), WINE[0], "needs labels"),
    ],
    ids=["relevance", "precomputed", "outliers"],
)
def test_where_it_is_no_choice(make, X, words):
    with pytest.raises(InputError, match=words):
        make().fit(X, WINE[1])


def test_tune_chooses_the_scaling_unless_one_is_given(svmkit, tmp_path):
    done = svmkit("train", "wine", "--tune", "--cv", "3", "--no-track", "--json", "--out", tmp_path / "m.svmkit")
    found = json.loads(done.out)["search"]
    assert (
        found["best"]["params"]["scale"] == "standard"
        and SVMModel.load(tmp_path / "m.svmkit").scaling.kind == "standard"
    )
    assert "with --scale standard, which is taken (6" in done.err
    done = svmkit("train", "wine", "--tune", "--cv", "3", "--no-track", "--json", "--scale", "none")
    assert "scale" not in json.loads(done.out)["search"]["best"]["params"] and "try --scale standard" in done.err
