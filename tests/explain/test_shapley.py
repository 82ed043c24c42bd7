"""Exact Shapley values, against enumeration of all coalitions."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from support.coalitions import enumerate_coalitions

from svmkit.errors import InputError
from svmkit.explain.shapley import expansion_values, linear_values
from svmkit.kernels import RBF, Laplacian, Poly, Sigmoid
from svmkit.runtime import threads


def expansion(kernel, vectors, coef):
    def h(A):
        if kernel.name == "poly":
            return (kernel.gamma * A @ vectors.T + kernel.coef0) ** kernel.degree @ coef
        gaps = A[:, None, :] - vectors
        distance = np.square(gaps).sum(axis=2) if kernel.name == "rbf" else np.abs(gaps).sum(axis=2)
        return np.exp(-kernel.gamma * distance) @ coef

    return h


def draw(seed, d, n_functions=1, spread=1.0):
    rng = np.random.default_rng(seed)
    vectors, X, Z = (spread * rng.normal(size=(n, d)) for n in (40, 2, 5))
    return vectors, rng.normal(size=(40, n_functions)), X, Z


@pytest.mark.parametrize("kernel", [RBF(0.15), Laplacian(0.2)], ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("d", [1, 2, 3, 6, 9, 10])
def test_values_are_those_of_all_coalitions(kernel, d):
    vectors, coef, X, Z = draw(d, d, n_functions=2)
    found = expansion_values(kernel, X, Z, vectors, coef, np.arange(d))
    h = expansion(kernel, vectors, coef)
    right = np.array([enumerate_coalitions(h, x, Z, np.arange(d)) for x in X])
    assert found.error == 0.0 and found.nodes == max(1, math.ceil(d / 2))
    np.testing.assert_allclose(found.values, right, atol=1e-12 * np.abs(coef).sum())


@pytest.mark.parametrize("seed", range(8))
def test_values_of_hostile_scales(seed):
    # columns from 1e-3 to 1e3: most factors underflow, some stay 1, and a row is a vector
    d, rng = 6, np.random.default_rng(seed)
    vectors, coef, X, Z = draw(seed, d)
    scale = 10.0 ** rng.integers(-3, 4, size=d)
    vectors, X, Z = vectors * scale, X * scale, Z * scale
    X[0], Z[1] = vectors[3], vectors[7]
    Z[2, :3] = X[0, :3]
    coef *= 10.0 ** rng.integers(-6, 7, size=(40, 1))
    for kernel in (RBF(0.5), Laplacian(0.5)):
        found = expansion_values(kernel, X, Z, vectors, coef, np.arange(d))
        h = expansion(kernel, vectors, coef)
        right = np.array([enumerate_coalitions(h, x, Z, np.arange(d)) for x in X])
        assert np.abs(found.values - right).max() <= 1e-10 * max(1.0, np.abs(right).max())


@pytest.mark.slow
@pytest.mark.parametrize("degree", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("coef0", [0.0, 1.0, -0.5])
def test_values_of_powers(degree, coef0):
    kernel = Poly(gamma=0.3, degree=degree, coef0=coef0)
    vectors, coef, X, Z = draw(degree, 6, n_functions=2)
    owner = np.array([0, 1, 2, 1, 3, 4])
    X[:, 4], Z[:, 4] = 0.7, 0.7  # alike in all rows
    Z[0, 2] = X[0, 2]  # alike in one pair
    found = expansion_values(kernel, X, Z, vectors, coef, owner)
    h = expansion(kernel, vectors, coef)
    right = np.array([enumerate_coalitions(h, x, Z, owner) for x in X])
    np.testing.assert_allclose(
        found.values, right, rtol=0, atol=1e-12 * max(1.0, np.abs(h(X)).max(), np.abs(h(Z)).max())
    )
    assert found.error == 0.0 and found.nodes == max(1, math.ceil(min(degree, 4) / 2))
    sparse = expansion_values(kernel, *map(sp.csr_array, (X, Z, vectors)), coef, owner)
    np.testing.assert_allclose(sparse.values, found.values, rtol=1e-9, atol=1e-12)


def test_powers_of_many_columns_need_few_nodes():
    kernel = Poly(gamma=0.01, degree=3, coef0=1.0)
    vectors, coef, X, Z = draw(3, 200)
    found, h = expansion_values(kernel, X, Z, vectors, coef, np.arange(200)), expansion(kernel, vectors, coef)
    assert found.nodes == 2 and found.error == 0.0
    np.testing.assert_allclose(found.values.sum(axis=1), h(X) - h(Z).mean(axis=0), atol=1e-10)


def test_several_columns_are_one_player():
    vectors, coef, X, Z = draw(1, 7)
    owner = np.array([0, 1, 0, 2, 2, 2, 1])
    found = expansion_values(RBF(0.2), X, Z, vectors, coef, owner)
    right = np.array([enumerate_coalitions(expansion(RBF(0.2), vectors, coef), x, Z, owner) for x in X])
    np.testing.assert_allclose(found.values, right, atol=1e-12)
    assert found.nodes == 2


def test_columns_that_do_not_differ_have_no_part():
    vectors, coef, X, Z = draw(2, 6)
    X[:, 1], Z[:, 1] = 0.7, 0.7  # alike in all rows
    Z[0, 3] = X[0, 3]  # alike in one pair
    found = expansion_values(RBF(0.2), X, Z, vectors, coef, np.arange(6))
    right = np.array([enumerate_coalitions(expansion(RBF(0.2), vectors, coef), x, Z, np.arange(6)) for x in X])
    np.testing.assert_allclose(found.values, right, atol=1e-12)
    assert (found.values[:, 1] == 0.0).all() and found.nodes == 3


def test_a_row_that_is_the_background_has_no_values():
    vectors, coef, X, _ = draw(3, 4)
    assert not expansion_values(RBF(0.2), X[:1], X[:1], vectors, coef, np.arange(4)).values.any()


@pytest.mark.parametrize("kernel", [RBF(0.3), Laplacian(0.3)], ids=lambda kernel: kernel.name)
def test_sparse_rows_have_the_values_of_dense_ones(kernel):
    rng = np.random.default_rng(4)
    vectors, X, Z = (rng.random((n, 30)) * (rng.random((n, 30)) < 0.2) for n in (50, 3, 6))
    coef = rng.normal(size=(50, 2))
    dense = expansion_values(kernel, X, Z, vectors, coef, np.arange(30)).values
    sparse = expansion_values(kernel, *map(sp.csr_array, (X, Z, vectors)), coef, np.arange(30)).values
    np.testing.assert_allclose(sparse, dense, atol=1e-13)


@pytest.mark.parametrize("d", [60, 300])
def test_values_of_many_columns_sum_up_and_say_their_error(d):
    vectors, coef, X, Z = draw(5, d, spread=2.0 / math.sqrt(d))
    found = expansion_values(RBF(1.0), X, Z, vectors, coef, np.arange(d))
    exact = expansion_values(RBF(1.0), X, Z, vectors, coef, np.arange(d), nodes=d)
    assert exact.error == 0.0 and exact.nodes == d // 2 > found.nodes
    assert found.error <= 1e-9 * np.abs(exact.values).max()
    assert np.abs(found.values - exact.values).max() <= found.error + 1e-15
    h = expansion(RBF(1.0), vectors, coef)
    np.testing.assert_allclose(exact.values.sum(axis=1), h(X) - h(Z).mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_too_few_nodes_say_so(nodes):
    vectors, coef, X, Z = draw(6, 10)
    found = expansion_values(RBF(0.3), X, Z, vectors, coef, np.arange(10), nodes=nodes)
    exact = expansion_values(RBF(0.3), X, Z, vectors, coef, np.arange(10))
    assert found.nodes == nodes
    assert 0.0 < np.abs(found.values - exact.values).max() <= found.error


def test_linear_values_are_those_of_all_coalitions():
    rng = np.random.default_rng(7)
    weights, X, Z = rng.normal(size=(2, 5)), 100.0 + rng.normal(size=(3, 5)), 100.0 + rng.normal(size=(4, 5))
    owner = np.array([0, 1, 1, 2, 0])
    right = np.array([enumerate_coalitions(lambda A: A @ weights.T, x, Z, owner) for x in X])
    np.testing.assert_allclose(linear_values(X, Z, weights, owner, 3).values, right, atol=1e-11)
    sparse = linear_values(sp.csr_array(X), sp.csr_array(Z), weights, owner, 3).values
    np.testing.assert_allclose(sparse, right, atol=1e-11)


def test_threads_and_parts_change_nothing(monkeypatch):
    from svmkit.explain import shapley

    vectors, coef, X, Z = draw(8, 6)
    X, Z = np.tile(X, (20, 1)) + np.arange(40)[:, None] * 1e-3, np.tile(Z, (6, 1)) - np.arange(30)[:, None] * 1e-3
    find = lambda: expansion_values(RBF(0.2), X, Z, vectors, coef, np.arange(6)).values
    with threads.using(1):
        one = find()
    np.testing.assert_array_equal(find(), one)
    monkeypatch.setattr(shapley, "PART", 1)
    np.testing.assert_allclose(find(), one, atol=1e-14)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Sigmoid(gamma=1.0), r"rbf, laplacian, linear, or poly up to the degree 16, not Sigmoid"),
        (Poly(degree=17, gamma=1.0), "up to the degree 16, not Poly"),
    ],
    ids=["sigmoid", "poly"],
)
def test_other_kernels_are_refused(kernel, message):
    vectors, coef, X, Z = draw(9, 3)
    with pytest.raises(InputError, match=message):
        expansion_values(kernel, X, Z, vectors, coef, np.arange(3))
