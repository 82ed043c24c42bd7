"""Searches for regression: folds without classes, R2 by default, scikit-learn's scorers, epsilon in the grid."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.svm import SVR

from svmkit import tune
from svmkit.data import load
from svmkit.errors import InputError
from svmkit.solver.stopping import Gap

pytestmark = pytest.mark.usefixtures("alone")

DATA = load("diabetes")
X, Y = 20.0 * DATA.X[:150], DATA.y[:150]
GRID = ("--grid", "C=1,30", "--grid", "epsilon=1,20", "--solver", "smo", "--scale", "standard", "--no-track")


def test_the_scores_are_those_of_scikit_learn():
    grid = {"C": [1.0, 30.0], "epsilon": [1.0, 20.0], "gamma": [0.05]}
    found = tune.search(X, Y, solver="smo", kernel="rbf", grid=grid, task="regress", cv=3, seed=2, stop=Gap(1e-7))
    theirs = GridSearchCV(SVR(tol=1e-7), grid, cv=KFold(3, shuffle=True, random_state=2)).fit(X, Y)
    means = dict(zip(map(str, theirs.cv_results_["params"]), theirs.cv_results_["mean_test_score"], strict=True))
    assert found.metric.name == "r2" and len(found.candidates) == 4
    for candidate in found.candidates:
        params = {key: candidate.params[key] for key in ("C", "epsilon", "gamma")}
        assert candidate.mean_score == pytest.approx(means[str(params)], abs=1e-4)
        assert np.isnan(candidate.mean_accuracy) and not candidate.failed
    assert found.best.params["epsilon"] == theirs.best_params_["epsilon"]


@pytest.mark.parametrize("name", ["neg_median_absolute_error", "rmse"])
def test_a_search_by_another_metric(name):
    found = tune.search(X, Y, solver="smo", kernel="rbf", grid={"C": [0.1, 30.0]}, task="regress", metric=name, cv=3)
    assert found.best.C == 30.0 and found.best.mean_score < 0.0
    halved = tune.search(
        X, Y, solver="smo", kernel="rbf", grid={"C": [0.1, 30.0, 60.0]}, task="regress", metric=name, cv=3,
        search="halving",
    )  # fmt: skip
    assert halved.best.C > 1.0


def test_the_command(svmkit):
    done = svmkit("tune", "diabetes", *GRID, "--cv", "3", "--plot", "p.png", "--test-size", "0.3")
    assert done.code == 0 and "by R2" in done.out and "epsilon" in done.out and "accuracy" not in done.out
    found = svmkit("tune", "diabetes", *GRID, "--cv", "3", "--json").json
    assert found["metric"]["name"] == "r2" and found["best"]["mean_accuracy"] is None
    assert found["refit"]["task"] == "regress" and found["best"]["mean_score"] > 0.3
    assert found["refit"]["params"]["epsilon"] == found["best"]["params"]["epsilon"]


def test_what_is_refused(refused):
    with pytest.raises(InputError, match="epsilon is for quantities, and the labels are classes"):
        tune.search(X, np.arange(150) % 2, grid={"epsilon": [0.1]}, cv=3)
    with pytest.raises(InputError, match="--grid epsilon: '-1' is not a finite number >= 0"):
        tune.search(X, Y, grid={"epsilon": ["-1"]}, task="regress")
    with pytest.raises(InputError, match="cv=9 folds need as many samples, and there are 4: give --cv 4"):
        tune.search(X[:4], Y[:4], grid={"C": [1.0]}, task="regress", cv=9)
    refused(["epsilon is searched by --grid and has a value of its own"], "tune", "diabetes", *GRID, "--epsilon", "1")
