"""Samples with features that training did not have: the decisions are those of training data with columns of zeros."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC
from support.refusals import refused

from svmkit import SVMClassifier
from svmkit.data import Dataset, Encoding
from svmkit.data.prepare.preprocessing import Preprocessing
from svmkit.data.prepare.scaling import Scaling
from svmkit.kernels.functions import RBF, Laplacian, Linear, Poly, Sigmoid
from svmkit.training.train import fit

RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(60, 5)) * (RNG.random((60, 5)) < 0.7), 3)
Y = np.repeat([0, 1, 2], 20)
X[:, :3] += 2.0 * np.eye(3)[Y]
WIDE = np.round(RNG.normal(size=(30, 9)), 3)
FAR = ("rbf", "laplacian")  # kernels of x - z, to which new features matter
KERNELS = [RBF(0.2), Laplacian(0.2), Linear(), Poly(gamma=0.3, degree=2, coef0=1.0), Sigmoid(gamma=0.05, coef0=0.1)]


def padded(A, width=9):
    return np.pad(A, ((0, 0), (0, width - A.shape[1])))


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_decisions_are_those_of_padded_vectors(kernel, sparse):
    model = fit(sp.csr_array(X) if sparse else X, Y, kernel=kernel, solver="smo").model
    vectors = np.asarray(model.vectors.toarray() if sparse else model.vectors)
    by_hand = replace(model, vectors=padded(vectors), n_features=9).decision_function(WIDE)
    for test in (WIDE, sp.csr_array(WIDE)):
        found = model.widened(9).decision_function(test)
        np.testing.assert_allclose(found, by_hand, rtol=0, atol=1e-12)
    assert np.abs(by_hand - model.decision_function(WIDE[:, :5])).max() > (0.01 if kernel.name in FAR else -1.0)


def test_decisions_are_those_of_svc():
    gamma = 0.25
    ours = SVMClassifier("smo", gamma=gamma, tol=1e-10).fit(X, Y > 0).model_.widened(9)
    theirs = SVC(gamma=gamma, tol=1e-10).fit(padded(X), Y > 0)
    np.testing.assert_allclose(ours.decision_function(WIDE), theirs.decision_function(WIDE), rtol=0, atol=1e-7)
    # the same vectors and coefficients, so that only the sums differ
    ours = replace(ours, vectors=theirs.support_vectors_, coef=theirs.dual_coef_, intercept=theirs.intercept_)
    ours = replace(ours, n_support=theirs.n_support_.astype(np.int64))
    np.testing.assert_allclose(ours.decision_function(WIDE), theirs.decision_function(WIDE), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["standard", "minmax", "maxabs"])
def test_scaling_is_that_of_padded_training_data(kind):
    model = fit(X, Y, kernel=RBF(0.2), scale=kind, solver="smo").model
    found, expected = model.widened(9).scaling, Scaling.fit(kind, padded(X))
    np.testing.assert_array_equal(found.apply(WIDE), expected.apply(WIDE))
    np.testing.assert_array_equal(found.apply(WIDE)[:, 5:], WIDE[:, 5:])
    by_hand = replace(model, vectors=padded(model.vectors), n_features=9, preprocessing=Preprocessing(scaling=expected))
    np.testing.assert_allclose(model.widened(9).decision_function(WIDE), by_hand.decision_function(WIDE), atol=1e-12)


def test_new_features_have_no_weight_in_a_linear_model():
    model = SVMClassifier("dcd", kernel="linear").fit(X, Y > 0).model_
    np.testing.assert_array_equal(model.widened(9).weights, padded(model.weights))
    np.testing.assert_allclose(model.widened(9).decision_function(WIDE), model.decision_function(WIDE[:, :5]))


def test_vectors_are_shared_and_the_model_stays():
    model = fit(sp.csr_array(X), Y, kernel=RBF(0.2), solver="smo").model
    wide = model.widened(100_000)
    assert wide.vectors.shape == (model.vectors.shape[0], 100_000) and model.n_features == 5
    assert np.shares_memory(wide.vectors.data, model.vectors.data)
    assert model.widened(5) is model


def test_models_that_cannot_be_widened():
    refused("5 features cannot be used for 4", fit(X, Y, kernel=RBF(0.2)).model.widened, 4)
    table = Encoding(tuple("abcde"), (None,) * 5, True, None, None, False)
    refused(
        "cannot be used for 9", replace(fit(X, Y, kernel=RBF(0.2)).model, preprocessing=Preprocessing(table)).widened, 9
    )
    filled = fit(X, Y, kernel=RBF(0.2), impute="median").model
    refused("imputes takes no columns beyond", filled.widened, 9)
    values = SVMClassifier("smo", kernel="precomputed").fit(X @ X.T, Y).model_
    refused("cannot be used for 61", values.widened, 61)


def test_arrays_of_another_width_stay_errors():
    model = SVMClassifier("smo").fit(X, Y)
    for test in (WIDE, sp.csr_array(WIDE)):
        refused("9 features, but SVMClassifier is expecting 5", model.predict, test)
        refused("9 features, but SVMModel is expecting 5", model.model_.predict, test)
        refused("9 features, but fit is expecting 5", fit, X, Y, kernel=RBF(0.2), validation=(test, Y[:30]))


@pytest.mark.parametrize("solver, kernel", [("swap2o", RBF(0.2)), ("smo", RBF(0.2)), ("dcd", Linear())])
@pytest.mark.parametrize("shift", [0.0, 1e4], ids=["", "far"])
def test_a_wider_data_set_measures_accuracy_on_the_way(solver, kernel, shift):
    """The last accuracy of the history is that of the model, of which new features are a part."""
    wide = WIDE.copy()
    wide[:, :5] += shift
    held = Dataset(wide, np.arange(30) % 2 == 1, "held")
    fitted = fit(X + shift, Y > 0, kernel=kernel, solver=solver, validation=held)
    measured = [point.accuracy for point in fitted.solutions[0].history if point.accuracy is not None]
    predicted = fitted.model.widened(9).predict(wide)
    assert measured[-1] == pytest.approx(np.mean(predicted == held.y), abs=1e-12)
