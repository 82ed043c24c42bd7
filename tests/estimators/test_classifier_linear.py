"""SVMClassifier with linear solvers: weights of the columns instead of support vectors."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from support.problems import blobs
from svmkit_coordinate.dcd import DCD
from svmkit_reference.svc import LIBSVM

from svmkit import SVMClassifier
from svmkit.errors import InputError

IRIS = load_iris(return_X_y=True)


def data(m=100, seed=0):
    X, y = blobs(m, 3, seed=seed)
    return X, np.where(y > 0, "yes", "no")


@pytest.mark.parametrize("solver", ["dcd", "liblinear"])
def test_linear_solvers_leave_weights(solver):
    X, y = data()
    model = SVMClassifier(solver, tol=1e-7).fit(X, y)
    assert model.model_.kernel.name == "linear" and model.get_params()["kernel"] is None
    assert model.coef_.shape == (1, 3) and model.intercept_.shape == (1,)
    np.testing.assert_allclose(model.decision_function(X), X @ model.coef_[0] + model.intercept_, atol=1e-12)
    assert 0 < len(model.support_) < len(y)
    within = model.decision_function(X) * np.where(y == "yes", 1, -1) <= 1.0 + 5e-2
    assert within[model.support_].all()
    for name in ("support_vectors_", "dual_coef_", "n_support_"):
        with pytest.raises(AttributeError, match=f"no {name}: solver {solver} leaves weights, in coef_"):
            getattr(model, name)
    assert clone(model).get_params() == model.get_params()
    assert pickle.loads(pickle.dumps(model)).coef_.tolist() == model.coef_.tolist()


def test_coef_of_three_classes():
    X, y = IRIS
    theirs = LinearSVC(loss="hinge", tol=1e-7, max_iter=200_000)
    model = SVMClassifier("dcd", tol=1e-6, max_iter=100_000, decision_function_shape="ovo").fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), X @ model.coef_.T + model.intercept_, atol=1e-12)
    for row, (a, b) in enumerate([(0, 1), (0, 2), (1, 2)]):
        pair = (y == a) | (y == b)
        want = theirs.fit(X[pair], y[pair] == a)
        np.testing.assert_allclose(model.coef_[row], want.coef_[0], atol=0.02)


def test_coef_with_the_linear_kernel_whatever_the_solver():
    X, y = data()
    model = SVMClassifier("smo", kernel="linear", tol=1e-6).fit(X, y)
    want = SVC(kernel="linear", tol=1e-6).fit(X, y)
    np.testing.assert_allclose(model.coef_, want.coef_, atol=1e-3)
    np.testing.assert_allclose(model.coef_[0], model.dual_coef_[0] @ model.support_vectors_, rtol=1e-12)
    with pytest.raises(AttributeError, match="no coef_: that needs the linear kernel, not rbf"):
        SVMClassifier().fit(X, y).coef_  # noqa: B018
    assert not hasattr(SVMClassifier(), "coef_") and not hasattr(SVMClassifier(), "support_vectors_")


@pytest.mark.slow
def test_attributes_follow_the_solver_of_the_last_fit():
    X, y = data()
    model = SVMClassifier().fit(X, y)
    assert len(model.support_vectors_) == len(model.support_) == model.n_support_.sum()
    model.set_params(solver="dcd")
    assert len(model.support_vectors_) == len(model.support_)  # not fitted anew yet
    assert not hasattr(model.fit(X, y), "support_vectors_") and model.coef_.shape == (1, 3)
    assert len(model.set_params(solver="libsvm").fit(X, y).support_vectors_) == len(model.support_)


@pytest.mark.slow
def test_the_kernel_is_the_one_asked_for():
    X, y = data()
    assert SVMClassifier().fit(X, y).model_.kernel.name == "rbf"
    assert SVMClassifier(LIBSVM()).fit(X, y).model_.kernel.name == "rbf"
    assert SVMClassifier(DCD()).fit(X, y).model_.kernel.name == "linear"
    with pytest.raises(InputError, match=r"solver dcd needs the linear kernel, not rbf; with rbf: .*swap2o"):
        SVMClassifier("dcd", kernel="rbf").fit(X, y)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_scaled_and_weighted_linear_solvers(loss):
    X, y = data(300)
    far = X * [1.0, 100.0, 0.01] + 5.0
    weights = np.random.default_rng(0).uniform(0.1, 3.0, 300)
    solver = DCD(loss=loss)
    model = SVMClassifier(solver, scale="standard", class_weight="balanced", tol=1e-6).fit(far, y, weights)
    want = SVMClassifier(solver, class_weight="balanced", tol=1e-6).fit(StandardScaler().fit_transform(far), y, weights)
    np.testing.assert_allclose(model.coef_, want.coef_, atol=1e-3)
    np.testing.assert_array_equal(model.predict(far), want.predict(StandardScaler().fit_transform(far)))
