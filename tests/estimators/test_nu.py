"""nu in SVMClassifier and SVMRegressor: scikit-learn's NuSVC and NuSVR, class pairs, weights and refusals."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.svm import NuSVC, NuSVR
from support.problems import blobs

from svmkit import InputError, Status, SVMClassifier, SVMRegressor

X, y = load_iris(return_X_y=True)


@pytest.mark.parametrize("nu", [0.31, 0.63])
@pytest.mark.parametrize("weighted", [False, True])
def test_class_pairs_equal_nu_svc(nu, weighted):  # half of nu 100 is no whole number: then rho and b are unique
    weights = np.random.default_rng(0).uniform(0.5, 1.5, len(y)) if weighted else None
    ours = SVMClassifier(nu=nu, gamma=0.5, tol=1e-9, decision_function_shape="ovo").fit(X, y, sample_weight=weights)
    theirs = NuSVC(nu=nu, gamma=0.5, tol=1e-10, decision_function_shape="ovo").fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
    assert ours.status_ is Status.CONVERGED and ours.gap_ <= 1e-9
    assert ours.model_.about["nu"] == nu


def test_c_has_no_effect_and_ovr_is_certified():
    few = SVMClassifier(nu=0.4, C=1.0, gamma=0.5, tol=1e-9).fit(X, y)
    many = SVMClassifier(nu=0.4, C=100.0, gamma=0.5, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(few.decision_function(X), many.decision_function(X), atol=1e-5)
    rest = SVMClassifier(nu=0.4, gamma=0.5, multiclass="ovr").fit(X, y)
    assert rest.gap_ <= 1e-3 and rest.score(X, y) > 0.9


@pytest.mark.parametrize("nu", [0.2, 0.7])
def test_regression_equals_nu_svr(nu):
    Z = blobs(120, 3)[0]
    t = np.sin(Z[:, 0]) + 0.2 * np.random.default_rng(1).normal(size=120)
    ours = SVMRegressor(nu=nu, C=3.0, gamma=0.5, tol=1e-9).fit(Z, t)
    theirs = NuSVR(nu=nu, C=3.0, gamma=0.5, tol=1e-10).fit(Z, t)
    np.testing.assert_allclose(ours.predict(Z), theirs.predict(Z), atol=1e-5)
    free = (np.abs(ours.dual_coef_[0]) > 1e-6) & (np.abs(ours.dual_coef_[0]) < 3.0 - 1e-6)
    outside = np.abs(t - ours.predict(Z))[ours.support_[free]]  # those vectors lie on the edge of the tube
    assert ours.gap_ <= 1e-9 and free.any()
    np.testing.assert_allclose(outside, ours.model_.about["epsilon"], atol=1e-5)


def test_the_linear_kernel_and_a_warm_start():
    model = SVMClassifier(nu=0.4, kernel="linear", tol=1e-6, warm_start=True).fit(X[50:], y[50:])
    assert model.status_ is Status.CONVERGED and model.model_.about["choice"].startswith("smo for 100 samples")
    again = model.fit(X[50:], y[50:])
    assert again.gap_ <= 1e-6


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"nu": 0.9}, r"0 vs 1: nu=0.9 is infeasible: the smaller class has 0.2 of the weight, so 0 < nu <= 0.4"),
        ({"nu": 0.0}, "nu must be a number with 0 < nu <= 1, not 0.0"),
        ({"nu": "much"}, "nu must be a number with 0 < nu <= 1, not 'much'"),
        ({"nu": 0.1, "solver": "fcfw"}, "solver fcfw solves SimplexQP, not NuBoxQP; NuBoxQP: auto, "),
        ({"nu": 0.1, "solver": "smo", "solver_options": {"loss": "squared_hinge"}}, "nu goes with the hinge loss"),
        ({"nu": 0.1, "multiclass": "crammer_singer", "kernel": "linear"}, "nu is for two classes at a time"),
    ],
)
def test_what_is_refused(options, words):
    Z, labels = blobs(100, 3, share=0.2)
    labels = np.where(labels > 0, 1, 0)
    if "multiclass" in options:
        labels[:10] = 2
    with pytest.raises(InputError, match=words):
        SVMClassifier(**options).fit(Z, labels)


def test_streams_have_no_nu():
    with pytest.raises(InputError, match="no partial_fit with nu"):
        SVMClassifier("sgd", nu=0.1).partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(InputError, match="in regression 0 < nu <= 1"):
        SVMRegressor(nu=1.5).fit(X, X[:, 0])
