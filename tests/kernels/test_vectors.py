"""Products in vector registers: any width and number of rows, and sums in the order of the features."""

import numpy as np
import pytest
import scipy.sparse as sp

from svmkit.kernels.engines import engine_for
from svmkit.kernels.extent import FAR, FARTHEST
from svmkit.kernels.functions import RBF
from svmkit.kernels.loops.tile_dots import csr_dots, panel_of, short_dots
from svmkit.kernels.loops.tiles import panel_width

ALL = np.empty(0, dtype=np.int64)
precisions = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@precisions
@pytest.mark.parametrize("q", [2, 15, 16, 17, 63, 64, 65, 200])
@pytest.mark.parametrize("n", [1, 3, 4, 9])
def test_products_of_dense_and_of_sparse_rows_are_the_sums_in_order(dtype, q, n):
    rng = np.random.default_rng(q + n)
    rows, Z = rng.integers(-9, 10, (n, 13)).astype(dtype), rng.integers(-9, 10, (q, 13)).astype(dtype)
    panel = panel_of(Z, panel_width(q))
    assert panel.shape[1] >= q
    dense, sparse = np.full((n + 3, panel.shape[1]), np.nan, dtype), np.full((n, panel.shape[1]), np.nan, dtype)
    short_dots(rows, panel, dense)
    X = sp.csr_array(rows)
    csr_dots(X.data, X.indices, X.indptr, np.ones(n), ALL, 0, panel, np.zeros(q, dtype), 1, sparse, np.empty(n))
    for dots in (dense[:n], sparse):
        np.testing.assert_array_equal(dots[:, :q], rows @ Z.T)  # whole numbers: every order is exact
        np.testing.assert_array_equal(dots[:, q:], 0.0)


@precisions
def test_dense_and_sparse_storage_give_the_same_sums_for_any_width(dtype):
    rng = np.random.default_rng(0)
    rows, Z = rng.normal(size=(40, 30)).astype(dtype), rng.normal(size=(70, 30)).astype(dtype)
    X, found = sp.csr_array(rows), []
    for q in (16, 70):
        panel = panel_of(Z[:q], panel_width(q))
        dense, sparse = np.empty((40, panel.shape[1]), dtype), np.empty((40, panel.shape[1]), dtype)
        short_dots(rows, panel, dense)
        csr_dots(X.data, X.indices, X.indptr, np.ones(40), ALL, 0, panel, np.zeros(q, dtype), 1, sparse, np.empty(40))
        found += [dense[:, :16], sparse[:, :16]]
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.slow
def test_sums_may_be_float32_where_stored_values_may_not(storage):
    rng = np.random.default_rng(0)
    rows = np.abs(rng.normal(size=(1500, 200)))
    rows *= np.sqrt(2.0 * FAR) / np.linalg.norm(rows, axis=1)[:, None]
    assert 2.0 * FAR < FARTHEST
    engine = engine_for(RBF(1.0), storage(rows))
    Z, coef = engine.take(np.arange(300)), rng.normal(size=(300, 1))
    exact = engine.block(Z, np.empty((300, 1500)))
    stored = engine.block(Z, np.empty((300, 1500), np.float32))
    rough = engine.block(Z, np.empty((300, 1500), np.float32), rough=True)
    assert np.abs(stored - exact).max() < 1e-6
    assert 1e-6 < np.abs(rough - exact).max() < 5e-4
    sums, size = engine.product(Z, coef, dtype=np.float32)[:, 0], np.abs(coef[:, 0]) @ exact
    off = np.abs(sums - exact.T @ coef[:, 0])
    assert (off <= 5e-4 * size).all()
    assert off.max() > 1e-9
    assert np.abs(engine.product(Z, coef)[:, 0] - exact.T @ coef[:, 0]).max() < 1e-12


def test_beyond_all_limits_sums_are_float64():
    rng = np.random.default_rng(0)
    rows = np.abs(rng.normal(size=(1500, 20)))
    rows *= np.sqrt(2.0 * FARTHEST) / np.linalg.norm(rows, axis=1)[:, None]
    engine = engine_for(RBF(1.0), sp.csr_array(rows))
    Z, coef = engine.take(np.arange(300)), rng.normal(size=(300, 1))
    np.testing.assert_array_equal(engine.product(Z, coef, dtype=np.float32), engine.product(Z, coef))
