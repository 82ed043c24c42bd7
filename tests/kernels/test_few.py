"""Few rows: numpy computes the values of the compiled loops, and which of the two does depends on sizes alone."""

import numpy as np
import pytest
import scipy.sparse as sp
from support.storages import frozen

from svmkit.kernels.engines import engine_for, few
from svmkit.kernels.functions import RBF, Laplacian, Linear, Poly, Sigmoid
from svmkit.kernels.loops import tiles

pytestmark = pytest.mark.usefixtures("one_pool")
KERNELS = [Linear(), RBF(0.05), Laplacian(0.03), Poly(0.1, 3, 1.0), Poly(0.5, 1), Sigmoid(0.02, 0.1)]
kernels = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
by_numpy = pytest.mark.parametrize("loops", ["numpy"], indirect=True)


def rows(m, d=5, shift=0.0):
    return np.random.default_rng(m).normal(size=(m, d)) + shift


@pytest.fixture
def calls(monkeypatch):
    """The names of the compiled loops on dense rows that are called."""
    made = []
    for name in ("dense_block", "dense_product"):
        loop = getattr(tiles, name)
        monkeypatch.setattr(tiles, name, lambda *args, name=name, loop=loop: made.append(name) or loop(*args))
    return made


@by_numpy
@pytest.mark.parametrize("shift", [0.0, 1e3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@kernels
@pytest.mark.slow
def test_values_are_those_of_the_loops(kernel, dtype, shift, loops, monkeypatch):
    X, rng = frozen(rows(300, shift=shift).astype(dtype)), np.random.default_rng(0)
    coef, picked = rng.normal(size=(270, 2)), rng.integers(300, size=70)
    got = []
    for most in (few.ROWS, 0):
        monkeypatch.setattr(few, "ROWS", most)
        engine = engine_for(kernel, X)
        Z = engine.take(np.arange(30, 300))
        values, some = engine.block(Z, np.empty((270, 300))), engine.block(Z, np.empty((270, 70)), picked)
        got.append([values, some, engine.product(Z, coef), engine.product(Z, coef, picked)])
    for one, other, weight in zip(*got, np.repeat([1.0, np.abs(coef).sum()], 2), strict=True):
        size = weight * engine.largest
        assert np.abs(one - other).max() <= 2.0 * weight * engine.error + 1e-13 * size


@by_numpy
def test_a_fit_of_few_rows_needs_no_loop_and_one_of_many_does(loops, calls):
    for m, called in ((few.ROWS, 0), (few.ROWS + 1, 2)):
        engine = engine_for(RBF(0.5), rows(m))
        Z = engine.take(np.arange(3))
        engine.block(Z, np.empty((3, m)))
        engine.product(Z, np.ones((3, 1)))
        assert len(calls) == called


@by_numpy
@pytest.mark.parametrize("at", [np.arange(150), np.arange(3, 150, 2)], ids=["all", "some"])
@kernels
def test_the_values_among_samples_are_those_of_a_block_and_symmetric(kernel, at, loops):
    engine = engine_for(kernel, rows(150, shift=3.0))
    square = engine.square(at, np.full((len(at), len(at)), np.nan))
    block = engine.block(engine.take(at), np.empty((len(at), len(at))), at)
    np.testing.assert_allclose(square, block, rtol=0, atol=2.0 * engine.error)
    assert kernel.name == "laplacian" or (square == square.T).all()  # its loops compute both sides


@by_numpy
def test_long_work_on_few_rows_is_for_the_loops(loops, calls):
    engine = engine_for(RBF(0.5), rows(few.ROWS))
    most = few.PRODUCTS // (few.ROWS * few.EXP)
    for q in (most, most + 1):
        engine.product(rows(q), np.ones((q, 1)))
        assert bool(calls) == (q > most)


@by_numpy
def test_wide_rows_are_for_the_loops(loops, calls):
    d = few.ENTRIES // 16
    for features, called in ((d, []), (d + 1, ["dense_product"])):
        engine = engine_for(Linear(), rows(16, features))
        engine.product(engine.take(np.arange(1)), np.ones((1, 1)))
        assert calls == called


@by_numpy
def test_vectors_may_be_sparse(loops, calls):
    X, Z = rows(40), rows(7)
    engine = engine_for(RBF(0.5), X)
    got = engine.block(sp.csr_array(Z), np.empty((7, 40)))
    np.testing.assert_array_equal(got, engine.block(Z, np.empty((7, 40))))
    assert not calls


@by_numpy
def test_weights_of_a_linear_model_are_multiplied_by_numpy_however_many_rows_there_are(loops, calls):
    m = few.ROWS + 1
    engine, coef = engine_for(Linear(), rows(m)), np.ones((1, 1))
    Z = engine.take(np.arange(1))
    got = engine.product(Z, coef)
    np.testing.assert_allclose(got[:, 0], engine.X @ Z[0], rtol=1e-12, atol=1e-12)
    assert not calls
    engine.product(rows(few.WEIGHTS + 1), np.ones((few.WEIGHTS + 1, 1)))
    assert calls == ["dense_product"]


@by_numpy
def test_values_beyond_one_pass_are_those_of_each_row_alone(loops, calls):
    X = rows(400)
    engine, picked = engine_for(RBF(0.05), X), np.arange(0, 400, 3)
    assert 2 * few.CHUNK < 400 * 200
    for sel in (np.empty(0, dtype=np.int64), picked):
        n = len(sel) or len(X)
        values = engine.block(X[:200], np.empty((200, n)), sel)
        alone = [engine.block(X[i : i + 1], np.empty((1, n)), sel)[0] for i in range(200)]
        np.testing.assert_allclose(values, alone, rtol=1e-13)
    assert not calls
