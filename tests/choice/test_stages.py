"""Searches on many rows: first on a few, then the best candidates on more and on all."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, cross_val_score
from sklearn.svm import SVC
from support.problems import blobs

from svmkit import SVMClassifier, SVMRegressor
from svmkit.choice import stages
from svmkit.choice.stages import make_stages

pytestmark = pytest.mark.filterwarnings("ignore::svmkit.errors.SvmkitWarning")


@pytest.fixture
def small(monkeypatch):
    """Stages of 60 and of 150 rows."""
    monkeypatch.setattr(stages, "SIZES", (60, 150))


def folds_of(codes, k, seed=0):
    return list(StratifiedKFold(k, shuffle=True, random_state=seed).split(codes, codes))


def test_each_class_has_its_share_in_each_fold_and_few_rows_have_no_stage():
    codes = np.repeat([0, 1, 2], [4000, 1990, 10])
    pairs = folds_of(codes, 5)
    made = make_stages(pairs, codes, 0)
    assert len(made) == 2 and all(size <= len(s.rows) < size + 20 for s, size in zip(made, (500, 2000), strict=True))
    for stage in made:
        assert (np.diff(stage.rows) > 0).all()
        for (train, held), (every, out) in zip(stage.pairs, pairs, strict=True):
            assert set(stage.rows[train]) <= set(every) and set(stage.rows[held]) <= set(out)
            assert (np.bincount(codes[stage.rows[held]], minlength=3) >= 2).all()
            share = np.bincount(codes[stage.rows[held]]) / len(held)
            assert abs(share[0] - 2 / 3) < 0.03
    again = make_stages(pairs, codes, 0)
    assert all((one.rows == other.rows).all() for one, other in zip(made, again, strict=True))
    assert make_stages(folds_of(codes[:900], 5), codes[:900], 0) == []
    assert make_stages(pairs[:1] * 2, codes, 0)  # rows that are held out twice


@pytest.mark.parametrize("kind", ["dense", "csr", "precomputed", "once", "each", "weights"])
def test_scores_on_all_rows_are_those_of_fresh_fits(kind, small):
    X, y = make_moons(400, noise=0.3, random_state=0)
    given = {"C": "cv", "gamma": "cv", "tol": 1e-6, "cv": 3}
    weights, own = None, X
    if kind == "csr":
        own = sp.csr_array(X)
    if kind == "precomputed":
        own, given = rbf_kernel(X, gamma=1.0), {"C": "cv", "kernel": "precomputed", "tol": 1e-6, "cv": 3}
    if kind in ("once", "each"):
        given["scale"] = "minmax" if kind == "once" else "standard"
    if kind == "weights":
        weights = np.where(np.arange(400) % 5, 1.0, 0.0)
    model = SVMClassifier(**given).fit(own, y, sample_weight=weights)
    rows = model.cv_results_["n_resources"]
    whole = np.flatnonzero(rows == 400)
    assert rows[0] == 400 and (np.diff(rows) <= 0).all() and 2 <= len(whole) <= 9 and set(rows) > {400}
    assert len(set(map(str, model.cv_results_["params"]))) == len(rows)
    ranks = model.cv_results_["rank_test_score"]
    assert ranks[whole].max() <= len(whole) < ranks[len(whole) :].min()
    if kind in ("dense", "csr"):
        for k in whole:
            plain = SVC(**model.cv_results_["params"][k], tol=1e-7)
            scores = cross_val_score(plain, X, y, cv=StratifiedKFold(3, shuffle=True, random_state=0))
            assert model.cv_results_["mean_test_score"][k] == pytest.approx(scores.mean(), abs=1.01 / 400)
    assert model.score(own, y) > 0.85 and model.best_score_ == model.cv_results_["mean_test_score"][0]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["moons", "blobs", "rare", "rings"])
def test_what_is_chosen_is_worth_as_much_as_the_winner_on_all_rows(name, seed, monkeypatch):
    """No worse than the winner of the same search without stages beyond doubt: two standard errors, or a thousandth."""
    rng = np.random.default_rng(seed)
    if name == "moons":
        X, y = make_moons(1500, noise=0.25, random_state=seed)
    elif name == "rings":
        X = rng.normal(size=(1500, 4))
        y = (np.sin(2.0 * np.linalg.norm(X, axis=1)) > 0.0).astype(int)
    else:
        X, y = blobs(1500, 5, share=0.1 if name == "rare" else 0.5, shift=1.0, seed=seed)
    found = SVMClassifier(C="cv", gamma="cv").fit(X, y)
    assert "n_resources" in found.cv_results_
    monkeypatch.setattr(stages, "SIZES", ())
    plain = SVMClassifier(C="cv", gamma="cv").fit(X, y)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    metric = "balanced_accuracy" if name == "rare" else "accuracy"
    one, other = (
        cross_val_score(SVC(**model.best_params_), X, y, cv=folds, scoring=metric) for model in (found, plain)
    )
    loss = other - one
    assert loss.mean() <= max(2.0 * loss.std(ddof=1) / np.sqrt(5), 0.001)


def test_groups_stay_together_and_quantities_have_stages(small):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    groups, t = np.arange(400) // 4, np.sin(X[:, 0]) + 0.1 * rng.normal(size=400)
    model = SVMRegressor(C="cv", gamma="cv", epsilon="cv", cv=GroupKFold(4)).fit(X, t, groups=groups)
    assert model.cv_results_["n_resources"][0] == 400 and model.score(X, t) > 0.9
    pairs = list(GroupKFold(4).split(X, t, groups))
    for stage in make_stages(pairs, np.zeros(400, int), 0):
        for train, held in stage.pairs:
            assert not set(groups[stage.rows[train]]) & set(groups[stage.rows[held]])
    every = [(np.arange(0, 400, 2), np.arange(1, 400, 2))] * 2 + list(KFold(2).split(X))
    assert SVMRegressor(C="cv", cv=every).fit(X, t).best_score_ > 0.5
