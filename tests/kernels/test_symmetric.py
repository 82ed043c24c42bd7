"""Products of points with themselves, of which each value is computed once for both of two points."""

import numpy as np
import pytest
import scipy.sparse as sp

from svmkit.kernels.engines import engine_for
from svmkit.kernels.functions import RBF, Laplacian, Linear, Poly, Sigmoid
from svmkit.kernels.gram import Gram
from svmkit.kernels.loops import tiles
from svmkit.runtime import threads

KERNELS = [Linear(), RBF(0.05), RBF(1e9), Laplacian(0.03), Poly(0.1, 3, 1.0), Sigmoid(0.02, 0.1)]
precisions = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
storages = pytest.mark.parametrize("stored", [np.ascontiguousarray, sp.csr_array], ids=["dense", "csr"])


def rows(m=1500, d=30, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, d)) * (rng.random((m, d)) < 0.5)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: f"{kernel.name}{kernel.scalars[1]:g}")
@storages
@precisions
def test_it_is_the_product(kernel, stored, dtype):
    engine, rng = engine_for(kernel, stored(rows())), np.random.default_rng(1)
    for n in (1, 255, 256, 257, 777):  # one panel, a whole one, several with a tile that is not full
        idx, coef = np.sort(rng.permutation(1500)[:n]), rng.normal(size=(n, 2))
        product = engine.product(engine.take(idx), coef, idx, dtype)
        got, computed = engine.self_product(idx, coef, dtype)
        tolerance = (1e-5 if dtype == np.float32 else 1e-13) * np.abs(product).max() * np.sqrt(n)
        np.testing.assert_allclose(got, product, rtol=0, atol=tolerance)
        assert computed <= n * n and (engine.cancels or n < 512 or computed < 0.8 * n * n)


@storages
@precisions
def test_it_does_not_depend_on_the_number_of_threads(stored, dtype):
    engine, idx = engine_for(RBF(0.05), stored(rows())), np.arange(0, 1500, 2)
    coef, found = np.random.default_rng(1).normal(size=(750, 1)), []
    for count in (1, threads.most()):
        with threads.using(count):
            found.append(engine.self_product(idx, coef, dtype)[0])
    np.testing.assert_array_equal(*found)


@storages
def test_a_gram_multiplies_many_points_by_symmetry(stored):
    gram, idx = Gram(RBF(0.05), stored(rows())), np.arange(0, 1500, 2)
    coef = np.random.default_rng(1).normal(size=750)
    whole = gram.engine.product(gram.engine.take(idx), coef[:, None])[:, 0]
    np.testing.assert_allclose(gram.matvec(coef, idx), whole, rtol=0, atol=1e-12)
    # 750 with the 750 others, and for three panels the rows from its own first point on
    assert gram.kernel_values == 750 * 750 + 256 * 750 + 256 * 494 + 238 * 238
    far, coef = np.arange(40), coef[:40]
    before = gram.kernel_values
    gram.matvec(coef, far)
    assert gram.kernel_values == before + 40 * 1500  # too few points to gain from it


def test_tiles_hold_all_rows_and_none_is_empty():
    for m in (1, tiles.TILE - 1, tiles.TILE, tiles.TILE + 1, 3 * tiles.TILE, 1000):
        n = tiles.n_tiles(m)
        assert (n - 1) * tiles.TILE < m <= n * tiles.TILE
