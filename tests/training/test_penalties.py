"""Penalties as settings: who solves them, what is refused, and what estimators, models and paths make of them."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.model_selection import GridSearchCV

from svmkit import SVMClassifier, SVMRegressor, c_path, fit, plugins
from svmkit.conformance import judge_fit, judge_regression
from svmkit.errors import InputError
from svmkit.kernels import RBF, Linear
from svmkit.model import SVMModel
from svmkit.solver.stopping import Gap

X, y = load_breast_cancer(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
LINEAR = {"kernel": Linear(), "penalty": "l1"}


def test_auto_takes_the_solver_of_sparse_weights():
    done = fit(X, y, C=0.01, **LINEAR)
    assert done.model.about["solver"] == "cd"
    assert done.model.about["minimised"] == {
        "loss": "squared_hinge", "options": {}, "bias": None, "penalty": "l1"
    }  # fmt: skip
    assert done.gap <= 1e-3 and 0 < np.count_nonzero(done.model.weights) < 10


@pytest.mark.parametrize("solver", ["auto", "cd"])
@pytest.mark.parametrize("penalty", [{"penalty": "l1"}, {"penalty": "elasticnet", "l1_ratio": 1.0 / 3.0}], ids=str)
def test_a_classifier_is_what_an_independent_judge_finds(solver, penalty):
    machine = SVMClassifier(solver, kernel="linear", C=0.1, **penalty).fit(X, y)
    judged = plugins.build("solver", "cd", {"bias": "free" if solver == "auto" else 1.0, **penalty})
    done = fit(X, y, solver=judged, kernel=Linear(), C=0.1)
    assert done.gap == pytest.approx(machine.gap_, rel=1e-6, abs=1e-12)
    (verdict,) = judge_fit(done, X, y, solver=judged, C=0.1, tol=1e-3)
    assert not verdict.false
    np.testing.assert_allclose(machine.coef_, done.model.weights)


@pytest.mark.parametrize("loss", ["squared_error", "huber", "expectile", "squared_epsilon_insensitive"])
def test_a_regression_is_what_an_independent_judge_finds(loss):
    A, t = load_diabetes(return_X_y=True)
    solver = plugins.build("solver", "cd", {"loss": loss, "penalty": "elasticnet", "l1_ratio": 0.9, "bias": "free"})
    done = fit(A, t, solver=solver, kernel=Linear(), task="regress")
    assert not judge_regression(done, A, t, solver=solver, C=1.0, epsilon=0.1, tol=1e-3).false
    own = SVMRegressor(kernel="linear", loss=loss, penalty="elastic_net", l1_ratio=0.9).fit(A, t)
    np.testing.assert_allclose(own.coef_, done.model.weights)


@pytest.mark.parametrize("penalty", [{"penalty": "l1"}, {"penalty": "elasticnet", "l1_ratio": 0.7}], ids=str)
@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_a_model_is_certified_anew_with_its_penalty(penalty, multiclass, tmp_path):
    A, classes = load_iris(return_X_y=True)
    machine = SVMClassifier(kernel="linear", C=0.1, multiclass=multiclass, **penalty).fit(A, classes)
    machine.model_.save(tmp_path / "model")
    read = SVMModel.load(tmp_path / "model")
    for ours, again in zip(machine.certificate_, read.certify(A, classes), strict=True):
        assert again.primal == pytest.approx(ours.primal, rel=1e-9)
        assert again.gap == pytest.approx(ours.gap, rel=1e-3, abs=1e-8)
    read.intercept[0] += 0.5  # P is that of the model's own bias
    assert read.certify(A, classes)[0].primal > machine.certificate_[0].primal


def test_a_path_of_C_begins_where_the_last_one_ended():
    Cs = [0.01, 0.02, 0.04]
    done = c_path(X, y, Cs, stop=Gap(1e-6), **LINEAR)
    single = [fit(X, y, C=C, stop=Gap(1e-6), **LINEAR) for C in Cs]
    assert [one.objective for one in done] == pytest.approx([one.objective for one in single], rel=2e-6)
    assert done[2].n_iter < single[2].n_iter
    assert [np.count_nonzero(one.model.weights) for one in done] == [np.count_nonzero(s.model.weights) for s in single]


def test_weights_are_sparse_on_demand():
    machine = SVMClassifier(kernel="linear", penalty="l1", C=0.01).fit(X, y)
    dense, before = machine.coef_, machine.predict(X)
    assert machine.sparsify() is machine and sp.issparse(machine.coef_)
    assert machine.coef_.nnz == np.count_nonzero(dense) < 10
    np.testing.assert_array_equal(machine.coef_.toarray(), dense)
    np.testing.assert_array_equal(machine.predict(X), before)
    assert isinstance(machine.densify().coef_, np.ndarray)
    assert isinstance(machine.sparsify().fit(X, y).coef_, np.ndarray)
    with pytest.raises(AttributeError, match="no sparsify: that needs kernel='linear', not rbf"):
        SVMClassifier().fit(X, y).sparsify()


def test_a_search_goes_over_the_ratio():
    machine = SVMClassifier(kernel="linear", penalty="elasticnet", C=0.05)
    search = GridSearchCV(machine, {"l1_ratio": [0.1, 0.9]}, cv=3).fit(X, y)
    assert search.best_params_["l1_ratio"] in (0.1, 0.9)
    sparse, dense = (np.count_nonzero(machine.set_params(l1_ratio=r).fit(X, y).coef_) for r in (0.9, 0.1))
    assert sparse < dense


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"penalty": "l3"}, "penalty='l3' is not known.*; there are: l2, l1, elasticnet"),
        ({"penalty": "elasticnet", "l1_ratio": 2.0}, "l1_ratio must be a number from 0 to 1"),
        ({"penalty": "l1", "kernel": RBF(1.0)}, "penalty=l1 is for kernel=linear, not rbf"),
        ({"penalty": "l1", "loss": "hinge"}, "penalty=l1 needs a loss without a kink, not hinge: squared_hinge, "),
        ({"penalty": "l1", "solver": "dcd"}, "solver dcd has no penalty=l1; those that have one: cd, folos, liblinear"),
        ({"penalty": "l1", "nu": 0.1}, "nu goes with the penalty l2, not with penalty=l1"),
        ({"penalty": "elasticnet", "solver": "folos"}, "penalty must be l2 or l1, not 'elasticnet'"),
        ({"penalty": "l1", "task": "outliers"}, "penalty=l1 is for classes and quantities: leave it out"),
        ({"penalty": "l1", "multiclass": "crammer_singer"}, "solver cd has no crammer_singer"),
    ],
    ids=str,
)
def test_what_does_not_go_together_is_refused_in_one_line(given, says):
    with pytest.raises(InputError, match=says) as refused:
        fit(X, y, **({"kernel": Linear()} | given))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("solver", ["auto", "dcd", "newton", "folos", "liblinear"])
def test_l2_by_name_changes_nothing(solver):
    stop = Gap(0.5)
    plain, named = (fit(X, y, solver=solver, kernel=Linear(), stop=stop, **given) for given in ({}, {"penalty": "l2"}))
    assert plain.objective == named.objective and plain.model.about == named.model.about
