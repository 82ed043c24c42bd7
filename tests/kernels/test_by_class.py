"""Kernel values that pairs of classes share: the same values as a Gram's own, each computed once, within the memory."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import pairwise
from support.training import prepared, trainer

from svmkit.kernels.functions import RBF, FromFunction, Laplacian, Linear, Poly, Precomputed, Sigmoid
from svmkit.kernels.gram import Gram, by_class, class_rows
from svmkit.kernels.gram.by_class import SharedGram, SharedKernel
from svmkit.training.subproblems.one import SubproblemTrainer
from svmkit.training.train import fit

pytestmark = [pytest.mark.usefixtures("one_pool"), pytest.mark.slow]  # what they compile together takes long
MEMBERS = [np.flatnonzero(np.random.default_rng(0).integers(4, size=240) == c) for c in range(4)]
KERNELS = [Linear(), RBF(0.4), Laplacian(0.3), Poly(0.5, 2, 1.0), Sigmoid(0.1, 0.1)]
KERNELS.append(FromFunction(lambda A, B: pairwise.rbf_kernel(A, B, gamma=0.4)))
SIZES = {"small": by_class.SMALL, "large": 0}
sizes = pytest.mark.parametrize("size", SIZES)


def data(dtype=np.float64):
    rng = np.random.default_rng(1)
    return (rng.normal(size=(240, 6)) * (rng.random((240, 6)) < 0.6)).astype(dtype)


def wide(X):
    X = sp.csr_array(X)
    return sp.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape)


STORED = {
    "dense": data(),
    "fortran": np.asfortranarray(data()),
    "float32": data(np.float32),
    "csr": sp.csr_array(data()),
    "csr-float32": sp.csr_array(data(np.float32)),
    "csr-int64": wide(data()),
}


@pytest.fixture
def sized(size, monkeypatch):
    """Both ways that values come about: classes small enough for one go, and larger ones in chunks of a few rows."""
    monkeypatch.setattr(by_class, "SMALL", SIZES[size])
    if size == "large":
        monkeypatch.setattr(class_rows, "CHUNK", 3000)
        monkeypatch.setattr(by_class, "CHUNK", 3000)


def kernel_of(X, kernel=None, memory=1 << 30):
    return SharedKernel(kernel or RBF(0.4), X, MEMBERS, memory)


# --- values


@sizes
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
@pytest.mark.parametrize("storage", STORED)
def test_a_pair_has_the_values_of_a_gram_of_its_own(storage, kernel, size, sized):
    X = STORED[storage]
    kernels, rng = kernel_of(X, kernel), np.random.default_rng(2)
    tolerance = {"rtol": 1e-5, "atol": 1e-5} if X.dtype == np.float32 else {"rtol": 1e-11, "atol": 1e-11}
    for a, b in ((0, 1), (0, 3), (1, 3)):
        gram, rows = kernels.gram(a, b), np.concatenate([MEMBERS[a], MEMBERS[b]])
        own = Gram(kernel, X[rows], dtype=np.float64)
        np.testing.assert_array_equal(gram.engine.rows, rows)
        assert gram.m == own.m == len(rows)
        np.testing.assert_allclose(gram.diag, own.diag, **tolerance)
        I, J = rng.integers(gram.m, size=30), rng.integers(gram.m, size=90)
        near = np.arange(5, 12)  # columns of one class only
        for i in I[:6]:
            np.testing.assert_allclose(gram.row(i), own.row(i), **tolerance)
        for idx, sel in (
            (I, J),
            (I, np.sort(J)),
            (I[:1], J),
            (near, J),
            (I, near),
            (near, near),
            (J, np.arange(own.m)),
        ):
            np.testing.assert_allclose(gram.block(idx, sel), own.block(idx, sel), **tolerance)
        coef = rng.normal(size=(30, 2))
        tolerance["atol"] *= 100
        np.testing.assert_allclose(gram.matvec(coef, I), own.matvec(coef, I), **tolerance)
        np.testing.assert_allclose(gram.matvec(coef, I, J), own.matvec(coef, I, J), **tolerance)
        np.testing.assert_allclose(gram.matvec(coef[:, 0], I, near), own.matvec(coef[:, 0], I, near), **tolerance)
        single = {"rtol": 1e-5, "atol": 1e-4 * np.abs(own.matvec(coef, I)).max()}
        for at in (by_class.ALL, J, near):
            for _ in range(2):
                got = gram.matvec(coef, I, at, np.float32)
                np.testing.assert_allclose(got, own.matvec(coef, I, at), **single)


@sizes
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_do_not_depend_on_how_they_were_fetched(dtype, size, sized):
    """Bit for bit, from the pool or not, alone or together, in full or in part."""
    X, every = STORED["csr"], np.arange(len(MEMBERS[0]) + len(MEMBERS[2]))
    rows = np.concatenate([MEMBERS[0], MEMBERS[2]])
    own = ENGINE(RBF(0.4), X[rows])
    want = own.block(own.take(every), np.empty((len(every), len(every)), dtype))
    odd = np.r_[every[1::2], every[::7]]
    for memory in (1, 40_000, 1 << 30):
        for first in (every, every[::-1].copy(), every[::3], odd):
            engine = kernel_of(X, memory=memory).gram(0, 2).engine
            for idx in (first, every[5:6], every[40:90], every):
                got = engine.block(idx, np.empty((len(idx), len(every)), dtype))
                np.testing.assert_array_equal(got, want[idx])
                some = engine.block(idx, np.empty((len(idx), len(odd)), dtype), odd)
                np.testing.assert_array_equal(some, want[np.ix_(idx, odd)])


@sizes
@pytest.mark.parametrize("idx", [np.arange(200), np.arange(40, 190), np.r_[np.arange(70), np.arange(110, 200)]])
def test_products_of_many_points_in_float32_are_those_of_all_of_them(idx, size, sized):
    """More points of a class than are summed in one go, from segments that are kept."""
    X, rng = np.random.default_rng(4).normal(size=(200, 6)), np.random.default_rng(5)
    gram = SharedKernel(RBF(0.4), X, [np.arange(100), np.arange(100, 200)], 1 << 30).gram(0, 1)
    K, coef = Gram(RBF(0.4), X).block(np.arange(200), np.arange(200)), rng.uniform(0.5, 1.0, (len(idx), 2))
    for at in (by_class.ALL, np.arange(3, 90), rng.permutation(200)[:50]):
        for _ in range(2):
            got = gram.matvec(coef, idx, at, np.float32)
            np.testing.assert_allclose(got, K[idx][:, at if at.size else slice(None)].T @ coef, rtol=1e-5)


# --- what is computed


def counted(monkeypatch):
    """A list that grows by the number of values of every block and product that an engine of a class computes."""
    seen = []

    def engine_for(kernel, X, extent):
        engine = ENGINE(kernel, X, extent)
        block, product = engine.block, engine.product

        def counting_block(Z, out, *args):
            seen.append(out.size)
            return block(Z, out, *args)

        def counting_product(Z, coef, sel=by_class.ALL, *args):
            seen.append((sel.size or engine.n) * Z.shape[0])
            return product(Z, coef, sel, *args)

        engine.block, engine.product = counting_block, counting_product
        return engine

    monkeypatch.setattr(by_class, "engine_for", engine_for)
    return seen


ENGINE = by_class.engine_for


@sizes
@pytest.mark.parametrize("memory", [1, 40_000, 1 << 30])
def test_only_computed_values_are_counted(memory, size, sized, monkeypatch):
    seen, total = counted(monkeypatch), 0
    kernels, rng = kernel_of(STORED["csr"], memory=memory), np.random.default_rng(3)
    for a, b in ((0, 1), (0, 2), (1, 2)):
        gram = kernels.gram(a, b)
        for _ in range(30):
            gram.row(int(rng.integers(gram.m)))
            gram.block(rng.integers(gram.m, size=9), rng.integers(gram.m, size=rng.integers(1, 2 * gram.m)))
        for dtype in (np.float64, np.float32, np.float32):
            gram.matvec(np.ones(20), rng.integers(gram.m, size=20), rng.integers(gram.m, size=30), dtype)
            gram.matvec(np.ones(40), rng.integers(gram.m, size=40), dtype=dtype)
        total += gram.kernel_values
    assert total == sum(seen)


@sizes
def test_values_with_the_own_class_are_computed_once(size, sized):
    kernels, n = kernel_of(STORED["csr"]), [len(rows) for rows in MEMBERS]
    values = []
    for a, b in ((0, 1), (0, 2), (0, 3)):
        gram = kernels.gram(a, b)
        for i in range(n[0]):
            gram.row(i)
        values.append(gram.kernel_values)
    assert values == [n[0] * (n[0] + n[1]), n[0] * n[2], n[0] * n[3]]
    gram = kernels.gram(1, 2)  # class 0 is done, and what was kept for it is gone
    assert kernels.pool.memory - kernels.pool.room == 0
    gram.row(0)
    assert gram.kernel_values > 0
    assert kernels.gram(0, 1).row(3).shape == (n[0] + n[1],)  # but could be asked for again


@pytest.mark.parametrize("memory", [1, 10_000, 60_000, 1 << 20])
def test_the_pool_keeps_to_its_part(memory, monkeypatch):
    monkeypatch.setattr(by_class, "SMALL", 0)
    kernels = kernel_of(STORED["dense"], memory=memory)
    for a, b in ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)):
        gram = kernels.gram(a, b)
        for i in range(gram.m):
            gram.row(i)
        held = sum(chunk.nbytes for kept in kernels.pool._segments.values() for chunk in kept.chunks)
        assert held == kernels.pool.memory - kernels.pool.room <= memory // 2
        assert gram.budget + kernels.pool.memory + gram.engine.between <= max(memory, 2)


@pytest.mark.parametrize("storage", ["dense", "csr"])
def test_memory_is_kept_to(storage):
    """Peak of what is allocated, beyond a copy of the data and what blocks take while they are computed."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2400, 8)) * (rng.random((2400, 8)) < 0.5)
    stored, y = sp.csr_array(X) if storage == "csr" else X, np.arange(2400) % 3
    options = {"kernel": RBF(1.0), "C": 5.0, "solver": "smo", "memory": "6MB"}
    fit(stored, y, **options)  # compiles outside the measurement
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        trained = fit(stored, y, **options)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert len(trained.support) > 1600  # all rows would take 30 MB
    assert peak < (6 << 20) + 2 * X.nbytes + (8 << 20)


# --- training


@sizes
@pytest.mark.parametrize("solver", ["svmlight", "swap2o", "mfw"])
@pytest.mark.parametrize("storage", ["dense", "csr", "float32", "csr-int64"])
def test_training_gives_the_model_of_separate_grams(storage, solver, size, sized, monkeypatch):
    X, y = load_digits(return_X_y=True)
    X, y = X[:400].astype(np.float32 if storage == "float32" else np.float64), y[:400]
    X = {"csr": sp.csr_array, "csr-int64": wide}.get(storage, lambda X: X)(X)
    options = {"kernel": RBF(1e-3), "C": 3.0, "solver": solver}
    trained = fit(X, y, **options)
    assert (np.diff(y[trained.support]) >= 0).all()
    monkeypatch.setattr(SubproblemTrainer, "subproblem", lambda self, k: self.data.subproblem(k, shared=False))
    own = fit(X, y, **options)
    assert trained.objective == pytest.approx(own.objective, rel=2e-3)
    assert trained.gap <= 1e-3
    assert (trained.model.predict(X) == own.model.predict(X)).mean() > 0.995
    if size == "large":
        assert trained.kernel_values < own.kernel_values


@sizes
def test_weights_of_zero_take_no_part(size, sized):
    X, y = load_iris(return_X_y=True)
    weights = np.where(np.arange(150) % 3 == 0, 0.0, 1.0)
    zeroed = fit(X, y, kernel=RBF(0.5), C=2.0, sample_weight=weights)
    removed = fit(X[weights > 0], y[weights > 0], kernel=RBF(0.5), C=2.0)
    np.testing.assert_array_equal(zeroed.model.decision_function(X), removed.model.decision_function(X))
    assert (weights[zeroed.support] > 0).all()


def test_what_shares_nothing_keeps_the_order_of_the_data():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    X, y = X[order], y[order]
    data = prepared(X, y)
    pair = data.subproblem(1)
    assert isinstance(pair.gram, SharedGram)
    np.testing.assert_array_equal(pair.rows, np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 2)])
    np.testing.assert_array_equal(pair.y, np.where(y[pair.rows] == 0, 1.0, -1.0))
    ascending = np.flatnonzero(y != 1)
    two = prepared(X[ascending], y[ascending])
    alone = [
        trainer(two, solver="svmlight").subproblem(0),
        trainer(data, solver="svmlight", sampler="cyclic").subproblem(1),
        trainer(prepared(X, y, kernel=Linear()), solver="dcd").subproblem(1),
        trainer(prepared(pairwise.rbf_kernel(X), y, kernel=Precomputed()), solver="svmlight").subproblem(1),
    ]
    for pair in alone:
        assert type(pair.gram) is Gram
        assert (np.diff(pair.rows) > 0).all() and len(pair.rows) == 100
    assert isinstance(trainer(prepared(X, y, kernel=Linear()), solver="svmlight").subproblem(1).gram, SharedGram)


def test_a_linear_solver_may_be_given_a_shared_gram():
    X, y = load_iris(return_X_y=True)
    gram = prepared(X, y, kernel=Linear()).subproblem(2).gram
    np.testing.assert_array_equal(gram.engine.X, X[50:])
