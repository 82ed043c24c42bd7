"""Gradients of decision functions agree with finite differences, for every form and storage."""

import numpy as np
import pytest
import scipy.sparse as sp

from svmkit.kernels import gradient
from svmkit.kernels.forms import UnknownForm
from svmkit.kernels.functions import RBF, Kernel, Laplacian, Linear, Poly, Sigmoid
from svmkit.kernels.gradient import gradients, square_gradients

KERNELS = [
    Linear(),
    RBF(0.3),
    Laplacian(0.4),
    Poly(0.5, 3, 1.0),
    Poly(0.5, 1, 0.0),
    Poly(0.5, 2, -0.3),
    Sigmoid(0.2, 0.1),
]
E = 1e-6


def sample(offset=0.0):
    rng = np.random.default_rng(0)
    X, Z, coef = rng.normal(size=(7, 4)) + offset, rng.normal(size=(5, 4)) + offset, rng.normal(size=(5, 2))
    coef[1, 0] = 0.0
    return X, Z, coef


def plain_values(kernel: Kernel, X, Z):
    """k(x, z) of all rows, from the formulas."""
    dots, differences = X @ Z.T, X[:, None, :] - Z[None, :, :]
    gamma = getattr(kernel, "gamma", 1.0)
    match kernel:
        case Linear():
            return dots
        case RBF():
            return np.exp(-gamma * (differences**2).sum(axis=2))
        case Laplacian():
            return np.exp(-gamma * np.abs(differences).sum(axis=2))
        case Poly():
            return (gamma * dots + kernel.coef0) ** kernel.degree
    return np.tanh(gamma * dots + kernel.coef0)


def differenced(kernel, X, Z, coef):
    found = np.zeros(X.shape[1])
    for j in range(X.shape[1]):
        step = E * np.eye(X.shape[1])[j]
        change = (plain_values(kernel, X + step, Z) - plain_values(kernel, X - step, Z)) @ coef / (2 * E)
        found[j] = (change**2).sum(axis=1).mean()
    return found


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_gradients_are_those_of_finite_differences(kernel, storage, monkeypatch):
    X, Z, coef = sample()
    expected = differenced(kernel, X, Z, coef)
    assert np.allclose(square_gradients(kernel, storage(X), storage(Z), coef), expected, rtol=1e-6)
    monkeypatch.setattr(gradient, "VALUES", 10)  # two rows a block
    assert np.allclose(square_gradients(kernel, storage(X), storage(Z), coef), expected, rtol=1e-6)


def test_gradients_keep_their_digits_far_from_the_origin():
    X, Z, coef = sample(offset=1e6)
    near = square_gradients(RBF(0.3), X - 1e6, Z - 1e6, coef)
    assert np.allclose(square_gradients(RBF(0.3), X, Z, coef), near, rtol=1e-6)


def test_a_constant_column_and_no_vectors_have_no_gradient():
    X, Z, coef = sample()
    X[:, 2] = Z[:, 2] = 7.0
    for kernel in (RBF(0.3), Laplacian(0.4)):
        assert square_gradients(kernel, X, Z, coef)[2] == pytest.approx(0.0, abs=1e-20)
        assert not square_gradients(kernel, X, Z[:0], coef[:0]).any()


def test_a_kernel_without_a_form_is_refused():
    with pytest.raises(UnknownForm):
        square_gradients(Kernel(), *sample())


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_gradients_of_a_function(kernel, storage):
    X, Z, coef = sample()
    found = gradients(kernel, storage(X), storage(Z), coef[:, 0])
    for j in range(X.shape[1]):
        step = E * np.eye(X.shape[1])[j]
        change = (plain_values(kernel, X + step, Z) - plain_values(kernel, X - step, Z)) @ coef[:, 0] / (2 * E)
        np.testing.assert_allclose(found[:, j], change, atol=1e-7)
