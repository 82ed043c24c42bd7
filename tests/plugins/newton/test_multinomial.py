"""Multinomial logistic regression by `newton`: the optimum of scikit-learn and scipy, from `fit` to probabilities."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression
from svmkit_newton import multinomial as module
from svmkit_newton.newton import Newton

from svmkit import SVMClassifier, SVMModel, fit
from svmkit.errors import InputError
from svmkit.kernels.functions import Linear
from svmkit.kernels.gram import Gram
from svmkit.model.exchange import liblinear
from svmkit.model.exchange.reading import read_text_model
from svmkit.problems import Multinomial
from svmkit.solver import Gap, Status, solve


def data(n=240, d=8, k=5, seed=0, rare=False):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) < 0.95 * n, 0, 1 + np.arange(n) % (k - 1)) if rare else np.arange(n) % k
    X = rng.normal(size=(n, d)) + rng.normal(size=(k, d))[y] + 2.0
    return X * (rng.uniform(size=X.shape) < 0.6), y, rng.uniform(0.2, 2.0, n)


def primal(W, b, X, y, C, column=None):
    """P of weights and biases, by its definition."""
    loss = -log_softmax(X @ W.T + b, axis=1)[np.arange(len(y)), y]
    return 0.5 * ((W**2).sum() + ((b / column) ** 2).sum() if column else (W**2).sum()) + C @ loss


def by_scipy(X, y, C, bias):
    """The least P by a general solver."""
    k, d = y.max() + 1, X.shape[1]

    def value(v):
        W, b = v[: k * d].reshape(k, d), v[k * d :] * (bias != 0.0)
        p = np.exp(log_softmax(X @ W.T + b, axis=1))
        R = C[:, None] * (p - np.eye(k)[y])
        of_b = R.sum(axis=0) + (b / bias**2 if bias not in ("free", 0.0) else 0.0)
        slope = np.append((W + R.T @ X).ravel(), of_b * (bias != 0.0))
        return primal(W, b, X, y, C, None if bias in ("free", 0.0) else bias), slope

    return minimize(value, np.zeros(k * (d + 1)), jac=True, method="BFGS", options={"gtol": 1e-7, "maxiter": 5000}).fun


@pytest.mark.parametrize("wide", [module.WIDE, 0])  # a factor for each class, or the diagonal
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("bias", ["free", 0.0, 1.0, 3.0])
@pytest.mark.parametrize("rare", [False, True])
def test_the_optimum_is_that_of_a_general_solver(storage, bias, rare, wide, monkeypatch):
    monkeypatch.setattr(module, "WIDE", wide)
    X, y, C = data(rare=rare)
    problem = Multinomial(Gram(Linear(), storage(X)), y, C, bias=bias)
    found = solve(problem, Newton(loss="logistic", bias=bias).joint_solver("multinomial"), stop=Gap(1e-9))
    assert found.status is Status.CONVERGED and problem.infeasible(found.point) is None
    assert found.certificate.gap <= 1e-9 and found.n_iter < 20
    assert found.certificate.primal == pytest.approx(by_scipy(X, y, C, bias), rel=1e-7)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_model_is_that_of_scikit_learn(C, dtype, tmp_path):
    X, y, weights = data()
    X, y = X.astype(dtype), np.array(["a", "b", "c", "d", "e"])[y]
    ours = SVMClassifier(multiclass="multinomial", C=C, tol=1e-8).fit(X, y, sample_weight=weights)
    theirs = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12, max_iter=500)
    theirs.fit(X.astype(np.float64), y, sample_weight=weights)
    codes = np.unique(y, return_inverse=True)[1]
    best = primal(theirs.coef_, theirs.intercept_, X.astype(np.float64), codes, C * weights)
    assert ours.certificate_[0].primal == pytest.approx(best, rel=1e-6) and ours.gap_ <= 1e-8
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-3)
    assert (ours.predict(X) == ours.classes_[ours.predict_proba(X).argmax(axis=1)]).all()
    np.testing.assert_allclose(ours.predict_proba(X), np.exp(log_softmax(ours.decision_function(X), axis=1)), rtol=1e-9)
    ours.model_.save(tmp_path / "m")
    assert np.array_equal(SVMModel.load(tmp_path / "m").predict_proba(X), ours.predict_proba(X))
    (certificate,) = ours.model_.certify(X, y, sample_weight=weights)
    assert certificate.primal == pytest.approx(ours.certificate_[0].primal, rel=1e-9) and certificate.gap <= 1e-7


def test_two_classes_are_logistic_regression_at_twice_the_cost():
    X, y, _ = data(k=2)
    ours = SVMClassifier(multiclass="multinomial", C=0.5, tol=1e-9).fit(X, y)
    theirs = LogisticRegression(C=1.0, solver="newton-cholesky", tol=1e-12).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)
    assert ours.model_.certify(X, y)[0].gap <= 1e-8


def test_a_calibration_takes_the_place_of_its_own_probabilities():
    X, y, _ = data()
    own = SVMClassifier(multiclass="multinomial").fit(X, y)
    other = SVMClassifier(multiclass="multinomial", calibration="sigmoid", cv=3).fit(X, y)
    assert np.abs(own.predict_proba(X) - other.predict_proba(X)).max() > 1e-3
    odds = other.model_.calibration.log_odds(other.model_.decision_function(X))
    p = 1.0 / (1.0 + np.exp(-odds))
    np.testing.assert_allclose(other.predict_proba(X), p / p.sum(axis=1, keepdims=True), rtol=1e-9)


def test_a_start_and_a_better_gap_change_nothing():
    X, y, C = data()
    problem, solver = (
        Multinomial(Gram(Linear(), X), y, C),
        Newton(loss="logistic", bias="free").joint_solver("multinomial"),
    )
    rough = solve(problem, solver, stop=Gap(1e-2))
    again = solve(problem, solver, stop=Gap(1e-9), start=rough.point)
    whole = solve(problem, solver, stop=Gap(1e-9))
    assert again.certificate.primal == pytest.approx(whole.certificate.primal, rel=1e-8)
    assert again.n_iter <= whole.n_iter


def test_what_does_not_go_with_it_is_one_line():
    X, y, _ = data(n=40)
    for given, words in (
        ({"solver": "smo"}, "solver smo does not take loss=logistic|solver smo has no multinomial"),
        ({"solver": "dcd"}, "solver dcd has no multinomial; those that have: auto, newton"),
        ({"loss": "hinge"}, "multinomial has the loss logistic, not hinge"),
        ({"solver": Newton()}, "multinomial has the loss logistic, not squared_hinge"),
        ({"kernel": "rbf"}, "multiclass=multinomial needs the linear kernel, not rbf; with rbf: ovo, ovr"),
        ({"penalty": "l1"}, "solver cd has no multinomial"),
        ({"nu": 0.1}, "nu goes with the hinge loss|nu is for two classes at a time"),
    ):
        with pytest.raises(InputError, match=words):
            fit(X, y, **{"multiclass": "multinomial", "kernel": Linear()} | given)


def test_liblinear_has_its_labels_and_no_probabilities(tmp_path):
    X, y, _ = data()
    model = fit(X, y, multiclass="multinomial", kernel=Linear()).model
    written = liblinear.write(model, tmp_path / "m")
    assert any("the calibration is left out" in note for note in written.notes)
    assert np.array_equal(read_text_model(tmp_path / "m", X.shape[1]).predict(X), model.predict(X))
