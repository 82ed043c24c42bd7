"""svmkit tune --nested: the search, and its refit, on rows that they have not seen, beside scikit-learn's."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from support.cli import svmlight

from svmkit.data import load

pytestmark = pytest.mark.usefixtures("alone")

GRID = ("--grid", "C=0.1,1,30", "--grid", "gamma=0.05,2", "--no-track")


def machines(kind, **own):
    """The candidates of GRID by their parameters, in scikit-learn."""
    for C, gamma in itertools.product((0.1, 1.0, 30.0), (0.05, 2.0)):
        yield (C, gamma), make_pipeline(StandardScaler(), kind(C=C, gamma=gamma, tol=1e-6, **own))


def require_same(nested, X, y, folds, found, score):
    """Assert that each outer fold has the best score of the inner folds, and that of a refit on rows not seen."""
    assert nested["folds"] == len(nested["scores"]) == folds.n_splits
    for fold, (train, held) in zip(nested["scores"], folds.split(X, y), strict=True):
        inner = type(folds)(3, shuffle=True, random_state=7)
        scores = {key: cross_val_score(one, X[train], y[train], cv=inner).mean() for key, one in found.items()}
        key = fold["params"]["C"], fold["params"]["gamma"]
        assert fold["inner_score"] == pytest.approx(max(scores.values()), abs=score)
        assert scores[key] == pytest.approx(max(scores.values()), abs=score)
        assert fold["score"] == pytest.approx(found[key].fit(X[train], y[train]).score(X[held], y[held]), abs=score)
    for name, key in (("mean_score", "score"), ("inner_mean_score", "inner_score")):
        assert nested[name] == pytest.approx(np.mean([fold[key] for fold in nested["scores"]]))
    assert nested["std_score"] == pytest.approx(np.std([fold["score"] for fold in nested["scores"]]))


@pytest.mark.slow
def test_each_outer_fold_is_a_search_of_its_own(svmkit):
    own = ("--scale", "standard", "--cv", 3, "--seed", 7, "--tol", "1e-6", "--json")
    done = svmkit("tune", "iris", *GRID, *own, "--nested", 4).json
    X, y = load_iris(return_X_y=True)
    folds = StratifiedKFold(4, shuffle=True, random_state=7)
    require_same(done["nested"], X, y, folds, dict(machines(SVC)), 1e-9)
    alone = svmkit("tune", "iris", *GRID, *own).json  # the search of all rows and its model are as without
    assert alone["best"] == done["best"] and alone["refit"]["objective"] == done["refit"]["objective"]
    assert "nested" not in alone


@pytest.mark.slow
def test_quantities_have_folds_of_their_own(svmkit):
    own = ("--scale", "standard", "--cv", 3, "--seed", 7, "--tol", "1e-6", "--epsilon", 5, "--json")
    done = svmkit("tune", "diabetes", "--task", "regress", *GRID, *own, "--nested", 3).json
    data = load("diabetes")
    folds = KFold(3, shuffle=True, random_state=7)
    require_same(done["nested"], data.X, data.y, folds, dict(machines(SVR, epsilon=5)), 2e-4)


def test_what_it_says(svmkit):
    done = svmkit("tune", svmlight(), *GRID, "--cv", 3, "--nested", 2)
    line = next(line for line in done.out.splitlines() if line.startswith("nested: "))
    assert "on 2 outer folds that their searches had not seen; the searches said" in line
    at = done.out.splitlines().index(line)
    assert done.out.splitlines()[at + 1].split() == ["C", "gamma", "search", "rows", "not", "seen"]
    zoomed = svmkit("tune", svmlight(), "--search", "zoom", "--cv", 3, "--nested", 2, "--no-track", "--json").json
    assert zoomed["nested"]["folds"] == 2 and set(zoomed["nested"]["scores"][0]["params"]) == {"C", "gamma"}


def test_a_word_that_is_searched_is_that_of_each_fold(svmkit):
    done = svmkit("tune", svmlight(), *GRID, "--grid", "scale=none,standard", "--cv", 3, "--nested", 2, "--json").json
    assert {fold["params"]["scale"] for fold in done["nested"]["scores"]} <= {"none", "standard"}


def test_what_cannot_be_is_refused(svmkit, refused):
    refused(["--nested", "2"], "tune", svmlight(), *GRID, "--nested", 1)
    refused(["--nested", "labels"], "tune", svmlight(), "--task", "outliers", "--grid", "nu=0.1,0.2", "--nested", 3)


@pytest.mark.parametrize("error", [KeyboardInterrupt, "Interrupted"])
def test_an_interrupt_keeps_the_model_and_the_folds_so_far(svmkit, monkeypatch, error):
    from svmkit import tune as package

    calls, run = [], package.run
    raised = getattr(package, error) if isinstance(error, str) else error

    def run_twice(*args, **options):
        calls.append(None)
        if len(calls) > 2:
            raise raised
        return run(*args, **options)

    monkeypatch.setattr(package, "run", run_twice)
    done = svmkit("tune", svmlight(), *GRID, "--cv", 3, "--nested", 3, "--out", "m.svmkit", "--json")
    assert done.json["nested"]["folds"] == 1 and done.json["model"] == "m.svmkit"
    assert "the search without outer fold 2 of 3 was cut short" in done.err


def test_a_search_of_a_fold_that_is_cut_short_is_told_of_as_that(svmkit, monkeypatch):
    """Not as a search whose best candidate is refitted."""
    from svmkit import tune as package

    calls, run = [], package.run

    def run_short(*args, **options):
        calls.append(None)
        return replace(run(*args, **options), interrupted=len(calls) > 2)

    monkeypatch.setattr(package, "run", run_short)
    done = svmkit("tune", svmlight(), *GRID, "--cv", 3, "--nested", 3, "--no-track", "--json")
    assert done.json["nested"]["folds"] == 1 and not done.json["interrupted"]
    assert "outer fold 2 of 3 was cut short" in done.err and "interrupted:" not in done.err
