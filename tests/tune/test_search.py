"""svmkit.tune: scikit-learn's searches over paths of C."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.metrics import pairwise
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from support.problems import blobs, overlapping

import svmkit
from svmkit import SVMClassifier, tune
from svmkit.errors import InputError, SvmkitError
from svmkit.kernels.functions import RBF, Precomputed
from svmkit.solver.stopping import Gap, Iterations
from svmkit.tune.result import from_records, reasons

CS, GAMMAS = [0.1, 1.0, 10.0], [0.1, 1.0]
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)


def scores_of(result):
    return {(c.C, c.params.get("gamma")): c.mean_accuracy for c in result.candidates}


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_the_scores_are_those_of_a_plain_grid_search(storage):
    X, y = overlapping(150, names=("no", "yes"))
    found = tune.search(storage(X), y, grid={"C": CS, "gamma": GAMMAS}, cv=3, stop=Gap(1e-6), scale="maxabs")
    plain = GridSearchCV(
        SVMClassifier(tol=1e-6, scale="maxabs"), {"C": CS, "gamma": GAMMAS}, cv=FOLDS, refit=False
    ).fit(X, y)
    expected = plain.cv_results_
    by_point = {(p["C"], p["gamma"]): k for k, p in enumerate(expected["params"])}
    for c in found.candidates:
        k = by_point[c.C, c.params["gamma"]]
        assert c.mean_accuracy == pytest.approx(expected["mean_test_score"][k], abs=0.011)  # a row or two of 150
        assert c.std_accuracy == pytest.approx(expected["std_test_score"][k], abs=0.02)
    assert found.n_fits == 18 and len(found.candidates) == 6 and not found.interrupted
    assert all(c.converged and c.n_rows == 150 and c.fit_s > 0 and c.reason is None for c in found.candidates)


@pytest.mark.filterwarnings("error")
def test_sample_weights_are_of_training_and_give_no_warning():
    X, y = overlapping(90)
    weights = np.where(np.arange(90) % 5 == 0, 9.0, 1.0)
    found = tune.search(X, y, grid={"C": CS}, cv=FOLDS, sample_weight=weights, stop=Gap(1e-6))
    for c in found.candidates:
        plain = [
            SVMClassifier(C=c.C, tol=1e-6).fit(X[train], y[train], weights[train]).score(X[held], y[held])
            for train, held in FOLDS.split(X, y)
        ]
        np.testing.assert_allclose(c.scores, plain, atol=1e-12)


def test_the_classifier_works_inside_a_plain_grid_search():
    X, y = overlapping(100, names=("no", "yes"))
    search = GridSearchCV(SVMClassifier(), {"C": CS, "gamma": ["scale", 0.1]}, cv=FOLDS).fit(X, y)
    assert search.best_params_["C"] in CS and search.best_estimator_.gap_ <= 1e-3
    assert search.best_score_ > 0.7 and set(search.predict(X)) == {"no", "yes"}


def test_the_order_and_ties():
    X, y = blobs(60, shift=8.0)  # whatever is tried is right about all
    found = tune.search(X, y, grid={"gamma": [0.01, "scale", 0.001], "C": [10.0, 1.0]}, cv=3)
    assert all(c.mean_accuracy == 1.0 for c in found.candidates)
    assert [(c.C, c.params["gamma"]) for c in found.candidates] == [
        (1.0, 0.001), (1.0, "scale" if found.candidates[1].gamma < 0.01 else 0.01),
        (1.0, 0.01 if found.candidates[1].gamma < 0.01 else "scale"),
        (10.0, 0.001), (10.0, found.candidates[1].params["gamma"]), (10.0, found.candidates[2].params["gamma"]),
    ]  # fmt: skip
    gammas = [c.gamma for c in found.candidates[:3]]
    assert gammas == sorted(gammas) and RBF("scale").resolve(X).gamma in gammas
    X, y = overlapping(90)
    accuracies = [c.mean_accuracy for c in tune.search(X, y, grid={"C": CS, "gamma": GAMMAS}, cv=3).candidates]
    assert accuracies == sorted(accuracies, reverse=True)


def test_the_best_is_what_fit_takes():
    X, y = load_iris(return_X_y=True)
    y = np.array(["setosa", "versicolor", "virginica"])[y]
    best = tune.search(X, y, solver="smo", grid={"C": CS, "gamma": ["scale", 0.1], "shrinking": [True]}, cv=3).best
    assert best.params.keys() == {"C", "gamma", "shrinking"} and best.mean_accuracy > 0.93
    fitted = svmkit.fit(X, y, solver=best.solver, kernel=best.kernel, C=best.C)
    assert fitted.gap <= 1e-3 and (fitted.model.predict(X) == y).mean() > 0.95


def test_scaling_is_fitted_within_the_fold(monkeypatch):
    seen = []
    fit = svmkit.data.prepare.scaling.Scaling.fit

    def watched(kind, X, flags):
        seen.append(X.shape[0])
        return fit(kind, X, flags)

    monkeypatch.setattr(svmkit.data.prepare.scaling.Scaling, "fit", watched)
    X, y = overlapping(90)
    tune.search(X, y, grid={"C": CS}, cv=3, scale="minmax", kernel="linear")
    assert seen == [90, 60, 60, 60]  # all rows once, to check them and for the number behind gamma


def test_imputing_is_fitted_within_the_fold(monkeypatch):
    """The median of each fold's training rows, of which one value is far out, is not that of all rows."""
    X, y = overlapping(90)
    X[::2, 0] = np.nan
    X[1::2, 0] = np.arange(45.0) ** 3
    seen, fit = [], svmkit.data.prepare.imputing.Imputing.fit

    def watched(kind, X):
        imputing = fit(kind, X)
        seen.append((X.shape[0], imputing.statistics[0], np.nanmedian(X[:, 0])))
        return imputing

    monkeypatch.setattr(svmkit.data.prepare.imputing.Imputing, "fit", watched)
    for search in ("grid", "halving"):
        found = tune.search(
            X, y, grid={"C": CS}, cv=3, impute="median", scale="standard", search=search, backend="threading"
        )
        assert not any(c.failed for c in found.candidates)
    assert [rows for rows, *_ in seen[:4]] == [90, 60, 60, 60] and all(ours == own for _, ours, own in seen)
    assert len({ours for _, ours, _ in seen[:4]}) > 1


def test_a_path_saves_iterations_and_kernel_values():
    X, y = overlapping(300)
    path = tune.search(X, y, grid={"C": [0.1, 0.3, 1.0, 3.0, 10.0]}, kernel=RBF(0.5), cv=3, solver="swap2o").candidates
    alone = [tune.search(X, y, grid={"C": [c.C]}, kernel=RBF(0.5), cv=3, solver="swap2o").best for c in path]
    assert sum(c.n_iter for c in path) < 0.9 * sum(c.n_iter for c in alone)
    assert sum(c.kernel_values for c in path) < 0.8 * sum(c.kernel_values for c in alone)


def test_halving_judges_on_ever_more_rows():
    X, y = overlapping(400)
    found = tune.search(X, y, grid={"C": CS, "gamma": [0.01, 0.1, 1.0, 10.0]}, search="halving", cv=3, factor=2)
    rows = [c.n_rows for c in found.candidates]
    assert len(found.candidates) == 12 and rows == sorted(rows, reverse=True)
    assert rows[0] >= 396 and rows[-1] <= 200  # scikit-learn rounds the folds of a round down
    best = found.best.params["gamma"]
    assert {c.params["gamma"] for c in found.candidates if c.n_rows == rows[0]} >= {best}
    of_C = tune.search(X, y, grid={"C": [0.01, 0.1, 1.0, 10.0]}, search="halving", cv=3, factor=2, kernel=RBF(0.5))
    assert len({c.n_rows for c in of_C.candidates}) > 1  # each C for itself


def test_halving_keeps_a_rare_class():
    X, y = blobs(600, share=0.03, shift=1.5)
    found = tune.search(X, y, grid={"C": CS, "gamma": [0.01, 0.1, 1.0]}, search="halving", cv=3)
    assert not any(c.failed for c in found.candidates) and min(c.n_rows for c in found.candidates) >= 200


def test_an_imbalanced_set_with_a_constant_feature():
    X, y = blobs(300, share=0.03, shift=1.5)
    X[:, 1] = 7.0
    for scale in ("standard", "minmax"):
        found = tune.search(X, y, grid={"C": CS}, cv=4, scale=scale, class_weight="balanced")
        assert not any(c.failed for c in found.candidates) and found.best.mean_accuracy > 0.8


def test_a_kernel_matrix_is_cut_both_ways():
    X, y = overlapping(90)
    given = tune.search(pairwise.rbf_kernel(X, gamma=0.5), y, kernel="precomputed", grid={"C": CS}, cv=3)
    computed = tune.search(X, y, kernel=RBF(0.5), grid={"C": CS}, cv=3)
    assert isinstance(given.best.kernel, Precomputed) and given.best.gamma is None
    for c in given.candidates:
        assert c.mean_accuracy == pytest.approx(scores_of(computed)[c.C, None], abs=0.03)


def breaks_above(limit):
    """A kernel function that fails in some training sets."""

    def values(X, Z):
        if np.abs(X).max() > limit or np.abs(Z).max() > limit:
            raise FloatingPointError("values are out of reach\nof this kernel")
        return np.exp(-0.5 * ((X[:, None] - Z[None]) ** 2).sum(-1))

    return values


def test_a_candidate_that_fails_in_one_fold_ends_nothing(monkeypatch):
    path_prepared = tune.estimator.path_prepared

    def sometimes(data, Cs, *args, **options):
        if data.kernel.gamma == 0.1 and 10.0 in Cs and data.raw[0, 0] > 0:
            raise FloatingPointError("an overflow\nsomewhere")
        return path_prepared(data, Cs, *args, **options)

    X, y = overlapping(90)
    firsts = [X[train[0], 0] > 0 for train, _ in FOLDS.split(X, y)]
    assert any(firsts) and not all(firsts)  # or the test says nothing
    monkeypatch.setattr(tune.estimator, "path_prepared", sometimes)
    found = tune.search(X, y, grid={"C": CS, "gamma": GAMMAS}, cv=3, backend="threading")
    last = found.candidates[-1]
    assert (last.C, last.gamma, last.failed) == (10.0, 0.1, True)
    assert last.reason == "FloatingPointError: an overflow somewhere"
    assert not any(c.failed or c.reason for c in found.candidates[:-1])
    whole = scores_of(tune.search(X, y, grid={"C": [1.0], "gamma": [0.1]}, cv=3))
    assert scores_of(found)[1.0, 0.1] == pytest.approx(whole[1.0, 0.1], abs=0.03)


def test_a_model_that_cannot_predict_counts_as_failed(monkeypatch):
    from svmkit.model.model import SVMModel

    predict = SVMModel.predict

    def failing(model, X, **options):
        if model.about["C"] == 1.0:
            raise MemoryError
        return predict(model, X, **options)

    def together(*args):
        raise MemoryError  # then each model decides alone

    monkeypatch.setattr(tune.estimator, "decisions", together)
    monkeypatch.setattr(SVMModel, "predict", failing)
    found = tune.search(*overlapping(60), grid={"C": CS}, cv=3)
    assert [(c.C, c.reason) for c in found.candidates if c.failed] == [(1.0, "MemoryError")]
    assert len(found.candidates) == 3


def test_when_all_fail_the_reason_is_told():
    X, y = overlapping(60)
    with pytest.raises(SvmkitError, match="every candidate failed; the first one: FloatingPointError: values are") as e:
        tune.search(X, y, grid={"C": CS}, kernel=breaks_above(0.0), cv=3)
    assert "\n" not in str(e.value) and not isinstance(e.value, InputError)


def test_what_did_not_converge_is_marked():
    X, y = overlapping(90)
    found = tune.search(X, y, grid={"C": CS}, cv=3, stop=Gap(1e-9) | Iterations(3))
    assert not any(c.converged or c.failed for c in found.candidates)


@pytest.mark.parametrize("name", ["libsvm", "dcd", "sgd", "fcsmo", "ocas"])
def test_every_kind_of_solver(name):
    X, y = overlapping(90)
    found = tune.search(X, y, solver=name, grid={"C": CS}, cv=3, stop=Gap(1e-2) | Iterations(300))
    assert len(found.candidates) == 3 and found.best.mean_accuracy > 0.7


def test_progress_is_told():
    X, y = overlapping(400)
    seen = []
    tune.search(X, y, grid={"C": CS, "gamma": GAMMAS}, cv=5, stop=Gap(1e-9), report=seen.append)
    assert all(at.of == 30 and 0 <= at.fits <= 30 for at in seen)
    assert [at.fits for at in seen] == sorted(at.fits for at in seen)


@pytest.mark.posix
def test_an_interrupt_leaves_what_is_whole(monkeypatch):
    import os
    import signal
    import time

    from svmkit.tune import estimator

    path_prepared, X, y = estimator.path_prepared, *overlapping(90)
    calls, before = [], signal.getsignal(signal.SIGINT)

    def interrupted(*args, **options):
        calls.append(1)
        if len(calls) == 5:
            os.kill(os.getpid(), signal.SIGINT)
            [ends] = options["callbacks"].on_begin(0, 1, "")
            while not ends(None):  # a fit is faster than the news of a signal
                time.sleep(0.01)
        return path_prepared(*args, **options)

    monkeypatch.setattr(estimator, "path_prepared", interrupted)
    found = tune.search(X, y, grid={"C": CS, "gamma": GAMMAS}, cv=3, backend="threading")
    assert found.interrupted and len(calls) == 5
    assert {c.gamma for c in found.candidates} == {0.1} and len(found.candidates) == 3
    calls[:] = [1, 1, 1]  # the second fit
    with pytest.raises(SvmkitError, match="interrupted before a candidate"):
        tune.search(X, y, grid={"C": CS, "gamma": GAMMAS}, cv=3, backend="threading")
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(
    "options, words",
    [
        ({"cv": 1}, "at least 2 folds"),
        ({"cv": 8}, "class yes has 6: give --cv 6"),
        ({"jobs": 0}, "jobs must be at least 1"),
        ({"backend": "mpi"}, "there are: loky, threading, dask, ray"),
        ({"search": "halving", "factor": 1}, "factor must be at least 2"),
        ({"solver": "dcd", "kernel": "rbf"}, "needs the linear kernel"),
        ({"solver": "nope"}, "there is no solver"),
        ({"memory": "much"}, "much"),
        ({"scale": "logs"}, "logs"),
        ({"class_weight": {"maybe": 2.0}}, "not for maybe"),
        ({"n_threads": 10_000}, "threads must be between"),
        ({"search": "random", "n_iter": 0}, "--n-iter must be from 1"),
    ],
)
def test_bad_options(options, words):
    X, y = overlapping(40, names=("no", "yes"), share=0.15)
    with pytest.raises(InputError) as caught:
        tune.search(X, y, **{"grid": {"C": CS}, "cv": 3} | options)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_rounds_are_told_apart_by_their_samples_in_whatever_order_they_are_read():
    def record(path, n_rows, value):
        return {"path": path, "n_rows": n_rows, "scores": {"score": value}, "reasons": {"0": f"at {n_rows}"}}

    rounds = [record(1, 40 + k % 2, 0.5) for k in range(3)] + [record(1, 120 + k % 2, 0.7) for k in range(3)]
    found = {}
    for seed in range(6):
        order = np.random.default_rng(seed).permutation(6)
        tried = from_records([rounds[i] for i in order] + [record(0, 40, 0.1)], 3)
        assert [(t.path, t.n_rows, t.scores["score"].tolist()) for t in tried] == [
            (1, 41, [0.5] * 3), (1, 121, [0.7] * 3)
        ]  # fmt: skip
        tried = from_records([rounds[i] for i in order if i != 4], 3)  # a record of the second round is lost
        assert [(t.n_rows, t.scores["score"].tolist()) for t in tried] == [(41, [0.5] * 3)]
        tried = from_records([rounds[i] for i in order if i != 1], 3)  # of the first: the rounds are not mixed
        assert [(t.n_rows, t.scores["score"].tolist()) for t in tried] == [(121, [0.7] * 3)]
        found |= reasons([rounds[i] for i in order])
        assert found == {(1, 0): "at 40"}
