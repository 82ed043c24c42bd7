"""Metrics of the order of decisions: a path scores as fresh fits do, also where nobody is predicted positive."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_digits

from svmkit import fit
from svmkit.kernels.functions import RBF
from svmkit.scoring.metric import Metric
from svmkit.solver.stopping import Gap
from svmkit.training.data import TrainingData
from svmkit.training.settings import Settings, resolve
from svmkit.tune import ranking, search

CS = [2.0**k for k in range(-10, 4, 3)]


def diabetes():
    """Real rows, of which the 7.2 % of the fastest progression are the class that is looked for."""
    data = load_diabetes()
    return data.data, (data.target > np.quantile(data.target, 0.924)).astype(int)


def digits():
    """Eights among the other digits, 7.6 %, under noise."""
    data = load_digits()
    chosen = np.sort(np.r_[np.flatnonzero(data.target != 8), np.flatnonzero(data.target == 8)[:133]])
    noise = np.random.default_rng(0).normal(scale=12, size=(len(chosen), 64))
    return data.data[chosen] + noise, (data.target[chosen] == 8).astype(int)


SETS = {"diabetes": (diabetes, 1.0), "digits": (digits, 1e-4)}


def path_and_fresh(name, metric, solver="smo"):
    made, gamma = SETS[name]
    X, y = made()
    how = {"solver": solver, "kernel": "rbf", "metric": metric, "cv": 3}
    path = {c.C: c for c in search(X, y, grid={"C": CS, "gamma": [gamma]}, **how).candidates}
    fresh = {C: search(X, y, grid={"C": [C], "gamma": [gamma]}, **how).best for C in CS}
    return path, fresh


@pytest.mark.parametrize(
    ("name", "metric", "solver"),
    [
        ("diabetes", "roc_auc", "smo"),
        ("diabetes", "average_precision", "smo"),
        pytest.param("diabetes", "roc_auc", "swap2o", marks=pytest.mark.slow),
        pytest.param("digits", "roc_auc", "fcsmo", marks=pytest.mark.slow),
        pytest.param("digits", "average_precision", "smo", marks=pytest.mark.slow),
        ("diabetes", "accuracy", "smo"),
        pytest.param("digits", "balanced_accuracy", "smo", marks=pytest.mark.slow),
        pytest.param("digits", "f1", "smo", marks=pytest.mark.slow),
    ],
)
def test_scores_of_a_path_are_those_of_fresh_fits(name, metric, solver):
    path, fresh = path_and_fresh(name, metric, solver)
    for C in CS:
        assert path[C].mean_score == pytest.approx(fresh[C].mean_score, abs=0.005), C
        assert path[C].determined and fresh[C].determined
        assert metric in ("roc_auc", "average_precision") or path[C].tol is None


def test_a_carried_fit_is_near_the_optimum_and_costs_are_added_up():
    """Its decisions differ from those at a gap of 1e-9 by at most what |w - w*| <= |w| / 10 allows, from any start."""
    X, y = diabetes()
    method = resolve(Settings(solver="smo", kernel=RBF(1.0)))
    data = TrainingData.prepare(X, y, method)
    assert ranking.is_ranked(data, Metric.from_name("roc_auc", np.array([0, 1]), np.bincount(y)), method)
    loose = fit(X, y, solver="smo", kernel=RBF(1.0), C=0.01, stop=Gap(1e-3))
    carried = ranking.carry_on(loose, data, 0.01, method)
    exact = fit(X, y, solver="smo", kernel=RBF(1.0), C=0.01, stop=Gap(1e-10))
    assert carried.determined and carried.tol < 1e-5 and carried.n_iter > loose.n_iter
    assert carried.fit.seconds > loose.seconds and carried.fit.kernel_values > loose.kernel_values

    def order(fitted):
        values = fitted.model.decision_function(X)
        return values - values.mean()

    size = np.abs(order(exact)).max()
    assert np.abs(order(carried.fit) - order(exact)).max() < 0.2 * size
    assert np.abs(order(loose) - order(exact)).max() > 0.5 * size  # what the gap of 1e-3 leaves open


def test_a_ranking_without_an_optimum_to_hold_is_ranked_last_and_says_so(svmkit, alone):
    """The linear kernel's optimum is w = 0 for a rare class that no plane separates: its order is that of noise."""
    X, y = diabetes()
    np.savez("rare.npz", X=X, y=y)
    grid = ("--grid", "C=0.0001,0.125", "--cv", "3", "--metric", "roc_auc", "--no-track", "--json")
    done = svmkit("tune", "rare.npz", "--solver", "dcd", *grid)
    first, last = done.json["candidates"]
    assert (first["determined"], last["determined"]) == (True, False)
    assert "1 of 2 candidates are ranked last: the order of their decisions is not determined" in done.err


def test_the_refit_goes_as_far_as_its_folds_and_holds_on_its_own_rows(svmkit, alone):
    X, y = diabetes()
    np.savez("rare.npz", X=X, y=y)
    grid = ("--grid", "C=0.001,0.01", "--grid", "gamma=1", "--cv", "3", "--metric", "roc_auc", "--no-track", "--json")
    done = svmkit("tune", "rare.npz", "--solver", "smo", *grid)
    found = done.json
    best = found["candidates"][0]
    assert "the refit goes to a gap of" in done.err and found["refit"]["gap"] <= best["tol"] < 1e-5
    assert found["refit"]["metric"]["train"] > best["mean_score"] - 0.05
    assert "on the rows that it was trained on" not in done.err


def test_a_model_that_is_worse_on_its_own_rows_than_in_the_folds_has_a_line(svmkit, alone, monkeypatch):
    from svmkit.cli.tuning import search as tuning

    original = tuning.fit_and_finish

    def worse(*args):
        outcome = original(*args)
        outcome.result["metric"]["train"] = 0.4
        return outcome

    monkeypatch.setattr(tuning, "fit_and_finish", worse)
    done = svmkit("tune", "breast_cancer", "--solver", "smo", "--grid", "C=1", "--no-track", "--json")
    assert json.loads(done.out)["candidates"] and "accuracy 40.00% on the rows that it was trained on" in done.err
