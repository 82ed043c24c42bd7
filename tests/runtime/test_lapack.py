"""BLAS and LAPACK in compiled code and in plain Python, in place on parts of arrays, against numpy's routines."""

import importlib.util

import numba
import numpy as np
import pytest

from svmkit.runtime import lapack as compiled

KINDS = [np.float32, np.float64]


@pytest.fixture(params=["compiled", "plain"])
def lapack(request, monkeypatch):
    """The routines as numba compiles them, and as they run where it compiles nothing (NUMBA_DISABLE_JIT)."""
    if request.param == "compiled":
        if numba.config.DISABLE_JIT:
            pytest.skip("nothing is compiled")
        return compiled
    module = importlib.util.module_from_spec(importlib.util.find_spec(compiled.__name__))
    with monkeypatch.context() as patch:
        patch.setattr(numba.config, "DISABLE_JIT", 1)
        module.__spec__.loader.exec_module(module)
    return module


def part_of_an_array(values, kind):
    """The values in the middle of an array whose rows go on beyond them, and that array."""
    whole = np.full((len(values) + 3, values.shape[1] + 5), 7.0, kind)
    part = whole[1 : 1 + len(values), 2 : 2 + values.shape[1]]
    part[:] = values
    return part, whole


@pytest.mark.parametrize("kind", KINDS)
def test_a_factor_takes_the_place_of_a_lower_triangle_and_nothing_else_changes(kind, lapack):
    rows = np.random.default_rng(0).normal(size=(70, 90))
    A = rows @ rows.T
    part, whole = part_of_an_array(A, kind)
    assert lapack.factorise_in_place(part)
    np.testing.assert_allclose(np.tril(part), np.linalg.cholesky(A), atol=1e-4 if kind is np.float32 else 1e-12)
    np.testing.assert_array_equal(np.triu(part, 1), np.triu(A.astype(kind), 1))
    part[:] = 7.0
    assert (whole == 7.0).all()


def test_a_matrix_that_is_not_positive_definite_has_no_factor(lapack):
    assert not lapack.factorise_in_place(np.array([[1.0, 2.0], [2.0, 1.0]]))
    assert lapack.factorise_in_place(np.empty((0, 0)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_rows", [0, 1, 9])
def test_rows_are_solved_in_place_by_the_lower_triangle(n_rows, kind, lapack):
    rng = np.random.default_rng(1)
    L, X = rng.normal(size=(40, 40)) + 20.0 * np.eye(40), rng.normal(size=(n_rows, 40))
    part, whole = part_of_an_array(X, kind)
    lapack.solve_rows_in_place(part_of_an_array(L, kind)[0], part)
    np.testing.assert_allclose(part @ np.tril(L).T, X, atol=1e-5 if kind is np.float32 else 1e-12)
    part[:] = 7.0
    assert (whole == 7.0).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(0, 3, 4), (3, 5, 0), (6, 4, 50)])
def test_products_of_rows_of_two_matrices(shape, kind, lapack):
    n, m, p = shape
    rng = np.random.default_rng(2)
    A, B = rng.normal(size=(n, p)), rng.normal(size=(m, p))
    found = lapack.multiply_rows(part_of_an_array(A, kind)[0], part_of_an_array(B, kind)[0])
    assert found.dtype == kind and found.shape == (n, m)
    np.testing.assert_allclose(found, A @ B.T, atol=1e-5 if kind is np.float32 else 1e-12)
