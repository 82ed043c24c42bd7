"""Kernels, scaling, class weights, multiclass and nu as values of a grid: the scores are those of fresh fits."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from svmkit import SVMClassifier, SVMModel, SVMRegressor, tune
from svmkit.errors import InputError
from svmkit.kernels import RBF
from svmkit.solver import Gap
from svmkit.solver.selection import by_name
from svmkit.tune.space import WORDS, settings_of

X, Y = load_breast_cancer(return_X_y=True)
X, Y = X[::3], Y[::3]
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)


def scores(result):
    return {tuple(sorted(c.params.items())): c.scores for c in result.candidates}


def fresh(estimator, X, Y, folds, params):
    """The scores of scikit-learn's own search over our estimator."""
    found = GridSearchCV(estimator, [{k: [v] for k, v in p.items()} for p in params], cv=folds).fit(X, Y).cv_results_
    return [tuple(found[f"split{k}_test_score"][i] for k in range(3)) for i in range(len(params))]


@pytest.mark.parametrize(
    "grid",
    [
        {"scale": ["none", "standard", "minmax"], "C": [1.0, 10.0]},
        {"class_weight": ["none", "balanced"], "gamma": [1e-4, 1e-3]},
        {"nu": [0.1, 0.3]},
        {"kernel": ["rbf", "linear"], "gamma": [1e-4, 1e-3], "scale": ["maxabs"]},
    ],
    ids=lambda grid: ",".join(grid),
)
def test_scores_are_those_of_fresh_fits(grid):
    how = {"metric": "accuracy", "cv": 3, "solver": "smo", "stop": Gap(1e-6)}
    found = scores(tune.search(X, Y, grid=grid, **how))
    every = [dict(key) for key in found]
    own = [{name: None if value == "none" else value for name, value in p.items()} for p in every]
    expected = fresh(SVMClassifier("smo", tol=1e-6), X, Y, FOLDS, own)
    np.testing.assert_allclose([found[tuple(sorted(p.items()))] for p in every], expected, atol=0.006)


def test_a_parameter_counts_where_the_kernel_has_it():
    found = tune.search(
        X, Y, grid={"kernel": ["rbf", "linear"], "gamma": [0.1, 1.0], "C": [1, 10]}, cv=3, scale="standard"
    )
    assert len(found.candidates) == 6  # four of rbf, two of the linear kernel
    linear = [c for c in found.candidates if c.params["kernel"] == "linear"]
    assert len(linear) == 2 and not any("gamma" in c.params for c in linear)
    assert {c.kernel.name for c in found.candidates} == {"rbf", "linear"}


def test_multiclass_and_nu_of_quantities():
    wine = load_wine(return_X_y=True)
    found = scores(tune.search(*wine, grid={"multiclass": ["ovo", "ovr"]}, cv=3, scale="standard", solver="smo"))
    params = [{"multiclass": "ovo"}, {"multiclass": "ovr"}]
    expected = fresh(SVMClassifier("smo", scale="standard"), *wine, FOLDS, params)
    np.testing.assert_allclose([found[tuple(p.items())] for p in params], expected, atol=0.02)
    X, t = load_diabetes(return_X_y=True)
    best = tune.search(X, t, grid={"nu": [0.2, 0.5], "C": [100.0]}, task="regress", scale="standard").best
    assert set(best.params) == {"nu", "C"} and SVMRegressor(scale="standard", **best.params).fit(X, t).gap_ < 1e-3


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ({"scale": ["none", "log"]}, "scale: 'log' is not known; there are: none, standard"),
        ({"class_weight": ["uneven"]}, "class_weight: 'uneven' is not known"),
        ({"kernel": ["rbf", "rfb"]}, "there is no kernel 'rfb'"),
        ({"kernel": ["linear"], "gamma": [1.0]}, "the rbf kernel has no gamma|no gamma"),
        ({"nu": [-1.0]}, "nu: -1.0 is not a finite number > 0"),
        ({"scale": tune.Span(1.0, 2.0)}, "range"),
        ({"C": 1.0}, r"C: 1.0 is no list of values: give one, such as \[1.0\]"),
        ({"C": "0.1,1"}, "C: '0.1,1' is no list of values"),
        ({"kernel": "rbf"}, "kernel: 'rbf' is no list of values"),
    ],
)
def test_what_is_refused_before_any_fit(grid, words):
    with pytest.raises(InputError, match=words):
        tune.plan(by_name.solver("smo"), RBF("scale"), grid)


def test_preparation_once_and_a_searched_scaling_exclude_each_other():
    with pytest.raises(InputError, match="leave them out of the grid"):
        tune.search(X, Y, grid={"scale": ["none", "standard"]}, preparation="once")


def test_every_word_is_a_setting():
    assert settings_of({name: words[0] for name, words in WORDS.items()}) == {
        name: None if words[0] == "none" else words[0] for name, words in WORDS.items()
    }


def test_the_refit_has_the_settings_of_the_best(svmkit, alone):
    from svmkit.model.model import SVMModel

    grid = ("--grid", "scale=none,standard", "--grid", "kernel=rbf,linear", "--grid", "class_weight=balanced")
    done = svmkit("tune", "wine", *grid, "--cv", "3", "--no-track", "--out", "m.svmkit")
    assert done.code == 0, done.err
    model = SVMModel.load("m.svmkit")
    assert model.preprocessing.scaling.kind == "standard" and model.about["params"]["class_weight"] == "balanced"
    assert model.about["params"]["scale"] == "standard"


def test_holes_of_a_table_are_filled_as_the_grid_says(svmkit, alone):
    rows = np.random.default_rng(0).normal(size=(60, 2))
    cells = [f"{'' if k % 5 == 0 else f'{a:.3f}'},{b:.3f},{'yes' if b > 0 else 'no'}" for k, (a, b) in enumerate(rows)]
    Path("holes.csv").write_text("\n".join(["a,b,answer", *cells]) + "\n")
    args = ("--grid", "impute=median,indicator", "--grid", "C=1", "--cv", 2, "--no-track", "--out", "m.svmkit")
    found = svmkit("tune", "holes.csv", *args, "--json").json
    best = found["best"]["params"]["impute"]
    assert len(found["candidates"]) == 2 and SVMModel.load("m.svmkit").imputing.kind == best
    refused = svmkit("tune", "holes.csv", "--grid", "impute=none,median", "--no-track")
    assert refused.code == 2 and "12 holes" in refused.err


@pytest.mark.parametrize(
    ("name", "ours"), [("scoring", "metric="), ("n_jobs", "jobs="), ("random_state", "seed="), ("tol", "Gap")]
)
def test_names_of_scikit_learn_are_answered(name, ours):
    with pytest.raises(InputError, match=f"no option '{name}': write .*{ours}"):
        tune.search(X, Y, grid={"C": [1.0]}, **{name: 1})


def test_an_option_that_is_misspelt():
    with pytest.raises(InputError, match=r"no option 'class_weigth'.*class_weight"):
        tune.search(X, Y, grid={"C": [1.0]}, class_weigth="balanced")
