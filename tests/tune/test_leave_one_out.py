"""Leave-one-out from one solution: the metric of scikit-learn's refits, for every task; and what it refuses."""

import numpy as np
import pytest
from sklearn import datasets, metrics
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.svm import SVC, SVR
from support.problems import blobs, overlapping

import svmkit
from svmkit import tune
from svmkit.errors import InputError, SvmkitWarning
from svmkit.kernels.functions import RBF
from svmkit.losses.by_name import make_loss
from svmkit.solver.stopping import Gap
from svmkit.tune.shared import leave_one_out, left_out, removal

pytestmark = [pytest.mark.filterwarnings("ignore:cv='loo'"), pytest.mark.slow]  # what they compile together takes long

CS, GAMMA = [0.1, 3.0, 100.0], 0.3


def search(X, y, *, Cs=CS, **options):
    """The candidates by C, of a search by leave-one-out to a small gap, without the line on pooled metrics."""
    options = {"kernel": RBF(GAMMA), "cv": "loo", "stop": Gap(1e-6)} | options
    found = tune.search(X, y, grid={"C": Cs}, **options)
    return {c.C: c for c in found.candidates}


@pytest.fixture
def no_refits(monkeypatch):
    """Let a row that is left out by a fit of its own fail the test."""
    monkeypatch.setattr(leave_one_out.LeaveOneOut, "_refit", None)


def peers(make, X, y, score, method="predict"):
    """The score of scikit-learn's refits without each row, by C."""
    return {C: score(y, cross_val_predict(make(C), X, y, cv=LeaveOneOut(), method=method)) for C in CS}


def svc(C, **options):
    return SVC(C=C, gamma=GAMMA, tol=1e-7, **options)


TWO = {"moons": datasets.make_moons(90, noise=0.35, random_state=0), "rare": blobs(80, share=0.15, seed=1)}


@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize("metric", ["accuracy", "balanced_accuracy"])
def test_labels_of_two_classes_are_those_of_refits(name, metric, no_refits, recwarn):
    X, y = TWO[name]
    expected = peers(svc, X, y, getattr(metrics, f"{metric}_score"))
    found = search(X, y, metric=metric)
    assert all(c.converged and c.n_rows == len(y) for c in found.values())
    assert {C: c.mean_score for C, c in found.items()} == pytest.approx(expected, abs=1e-12)
    assert bool(recwarn) == (metric != "accuracy")


def test_weights_of_classes_and_the_squared_hinge(no_refits):
    X, y = TWO["moons"]
    y = np.where(y > 0, "b", "a")
    expected = peers(lambda C: svc(C, class_weight={"a": 2.0, "b": 0.7}), X, y, metrics.accuracy_score)
    found = search(X, y, class_weight={"a": 2.0, "b": 0.7}, metric="accuracy")
    assert {C: c.mean_score for C, c in found.items()} == pytest.approx(expected, abs=1e-12)
    solver = svmkit.plugins.build("solver", "smo", {"loss": "squared_hinge"})
    found = search(X[:40], y[:40], Cs=[0.5], solver=solver)
    own = cross_val_predict(
        svmkit.SVMClassifier(solver, kernel=RBF(GAMMA), C=0.5, tol=1e-8), X[:40], y[:40], cv=LeaveOneOut()
    )
    assert found[0.5].mean_score == pytest.approx(np.mean(own == y[:40]), abs=1e-12)


def test_the_order_of_decisions_is_that_of_refits(no_refits):
    X, y = TWO["moons"]
    expected = peers(svc, X, y, metrics.roc_auc_score, "decision_function")
    with pytest.warns(SvmkitWarning, match="roc auc is not defined for a single sample: it is that of the predictions"):
        found = search(X, y, metric="roc_auc")
    assert {C: c.mean_score for C, c in found.items()} == pytest.approx(expected, abs=1e-12)


def test_many_classes(no_refits):
    X, y = datasets.load_iris(return_X_y=True)
    X, y = X[::2], y[::2]
    expected = peers(svc, X, y, metrics.accuracy_score)
    found = search(X, y)
    assert {C: c.mean_score for C, c in found.items()} == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("metric", ["r2", "neg_mean_absolute_error"])
def test_quantities(metric, no_refits, recwarn):
    X, t = datasets.make_friedman1(70, 5, noise=1.0, random_state=0)

    def make(C):
        return SVR(C=C, gamma=GAMMA, epsilon=0.3, tol=1e-8)

    score = metrics.r2_score if metric == "r2" else lambda a, b: -metrics.mean_absolute_error(a, b)
    expected = peers(make, X, t, score)
    found = search(X, t, task="regress", epsilon=0.3, metric=metric, stop=Gap(1e-8))
    assert {C: c.mean_score for C, c in found.items()} == pytest.approx(expected, abs=1e-5)
    assert bool(recwarn) == (metric == "r2")


@pytest.mark.parametrize("loss", ["squared_error", "expectile", "quantile"])
def test_other_losses_of_quantities(loss, no_refits):
    X, t = datasets.make_friedman1(40, 5, noise=1.0, random_state=0)
    options = {"loss": make_loss(loss, "regress", {} if loss == "squared_error" else {"tau": "0.8"})}
    found = search(X, t, Cs=[2.0], task="regress", metric="r2", stop=Gap(1e-8), **options)
    own = [
        svmkit.fit(
            X[train], t[train], task="regress", kernel=RBF(GAMMA), C=2.0, stop=Gap(1e-9), **options
        ).model.predict(X[held])[0]
        for train, held in LeaveOneOut().split(X)
    ]
    assert found[2.0].mean_score == pytest.approx(metrics.r2_score(t, own), abs=1e-5)


@pytest.mark.parametrize("C", [0.1, 3.0])
def test_a_row_is_refitted_only_where_its_sign_is_not_proven(C, monkeypatch):
    """Few rows need steps; and proven signs are those of refits, also where the gap is large."""
    seen, leave_out = [], left_out.Remover.leave_out

    def watched(self, problem, solved, aim):
        seen.append(leave_out(self, problem, solved, aim))
        return seen[-1]

    monkeypatch.setattr(left_out.Remover, "leave_out", watched)
    X, y = overlapping(120)
    search(X, y, Cs=[C], stop=Gap(1e-3), metric="accuracy")
    n_support = len(SVC(C=C, gamma=GAMMA).fit(X, y).support_)
    assert 0 < seen[0].n_refits < n_support < len(y)
    own = cross_val_predict(svc(C), X, y, cv=LeaveOneOut(), method="decision_function")
    far = np.abs(own) > 0.02  # a gap of 1e-3 leaves a sign open that is next to 0
    assert ((seen[0].decision > 0.0) == (own > 0.0))[far].all()


def test_a_sign_is_not_known_within_the_bound():
    """Of a decision of 0.3 whose bound is 2 sqrt(2 g): it is known for a small gap alone."""
    X, y = TWO["moons"]
    K = np.exp(-GAMMA * ((X[:, None] - X[None]) ** 2).sum(-1))
    model = svc(1.0).fit(X, y)
    signs, beta = np.where(y > 0, 1.0, -1.0), np.zeros(len(y))
    beta[model.support_] = np.abs(model.dual_coef_[0])
    v, zeros, n = K @ (signs * beta) - signs, np.zeros(len(y)), len(y)
    state = removal.Box(signs, zeros, np.ones(n), zeros, np.ones(n), beta, v, np.zeros(n, np.uint8))
    f = model.decision_function(X)
    for r in np.flatnonzero(np.abs(f) > 1e-3):
        given = state, np.ones(n)
        small, large = abs(f[r]) / 2.5, 2.0 * abs(f[r])
        assert removal.knows_sign(*given, small, r, f[r] - model.intercept_[0], bool(f[r] > 0), False)
        assert not removal.knows_sign(*given, large, r, f[r] - model.intercept_[0], bool(f[r] > 0), False)


def test_rows_are_left_out_by_fits_where_nothing_is_shared():
    """Balanced weights depend on every row, scaling is learnt without the row, and weights of 0 take no part."""
    X, y = TWO["moons"]
    X, y = X[:40], y[:40]
    balanced = cross_val_predict(svc(3.0, class_weight="balanced"), X, y, cv=LeaveOneOut())
    found = search(X, y, Cs=[3.0], class_weight="balanced", metric="accuracy")
    assert found[3.0].mean_score == pytest.approx(np.mean(balanced == y), abs=1e-12)
    weights = np.where(np.arange(40) < 5, 0.0, 1.0)
    found = search(X, y, Cs=[3.0], sample_weight=weights, metric="accuracy")
    own = cross_val_predict(svc(3.0), X[5:], y[5:], cv=LeaveOneOut())
    assert found[3.0].mean_score == pytest.approx(np.mean(own == y[5:]), abs=1e-12) and found[3.0].n_rows == 35


def test_jobs_and_a_splitter_of_scikit_learn_change_nothing():
    X, y = overlapping(150)
    one, two, splitter = (search(X, y, **how) for how in ({}, {"jobs": 2}, {"cv": LeaveOneOut()}))
    for C in CS:
        assert one[C].scores == two[C].scores == splitter[C].scores


def test_one_call_says_once_how_the_metric_is_taken(recwarn):
    X, t = datasets.make_friedman1(40, 5, noise=1.0, random_state=0)
    model = svmkit.SVMRegressor(C="cv", gamma="cv", cv="loo").fit(X, t)
    assert [str(each.message)[:16] for each in recwarn].count("cv='loo': R2 is ") == 1
    assert model.model_.about["search"]["cv"] == "loo" and model.best_score_ > 0.5


def test_a_calibration_has_folds_of_its_own():
    X, y = TWO["moons"]
    model = svmkit.SVMClassifier(C="cv", gamma=GAMMA, cv="loo", calibration="sigmoid").fit(X, y)
    assert model.predict_proba(X).shape == (len(y), 2)
    with pytest.raises(InputError, match="cv must be a number of folds"):
        svmkit.SVMClassifier(cv="loo", calibration="sigmoid").fit(X, y)


def test_bad_input():
    X, y = TWO["moons"]
    with pytest.raises(InputError, match="class 2 has 1 sample, without which no model knows the class"):
        search(X, np.where(np.arange(len(y)) == 3, 2, y))
    with pytest.raises(InputError, match="leaves out single samples: give cv a number of folds"):
        search(X, y, groups=np.arange(len(y)) // 2)
    with pytest.raises(InputError, match="needs 3 samples or more"):
        search(X[:2], np.array([0.1, 0.2]), task="regress")


@pytest.mark.usefixtures("alone")
def test_the_command(svmkit):
    found = svmkit(
        "tune", "iris", "--cv", "loo", "--grid", "C=1,10", "--grid", "gamma=0.3", "--json", "--no-track"
    ).json
    assert found["cv"] == "loo" and found["n_fits"] == 300
    assert "leave-one-out, 150 fits" in svmkit("tune", "iris", "--cv", "loo", "--grid", "C=1", "--no-track").out
    assert "or loo to leave out one row at a time" in svmkit("tune", "iris", "--cv", "1").err
