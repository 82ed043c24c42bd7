"""Gram: rows, blocks and products agree, are counted, cached within the budget, and never copy the data whole."""

import tracemalloc
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import pairwise

from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, FromFunction, Kernel, Laplacian, Linear, Poly, Precomputed, Sigmoid
from svmkit.kernels.gram import Gram, parse_bytes
from svmkit.kernels.gram.row_cache import RowCache

pytestmark = pytest.mark.usefixtures("one_pool")
KERNELS = [Linear(), RBF(0.4), Laplacian(0.3), Poly(0.5, 2, 1.0), Sigmoid(0.1, 0.1)]


@dataclass(frozen=True)
class Tent(Kernel):
    """What a third party would write: block and diag only, dense and CSR."""

    width: float = 4.0
    name: ClassVar[str] = "tent"
    normalised: ClassVar[bool] = True

    def block(self, X, Z):
        distance = pairwise.euclidean_distances(X, Z)
        return np.maximum(0.0, 1.0 - distance / self.width)

    def diag(self, X):
        return np.ones(X.shape[0])


def data(m=300, d=5, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(m, d)) * (rng.random((m, d)) < 0.6)).astype(dtype)


def grams(m=300):
    """(name, Gram, its true kernel matrix) for every way that values can come about."""
    X = data(m)
    for kernel in KERNELS:
        K = Gram(kernel, X, dtype=np.float64).block(np.arange(m), np.arange(m))  # test_kernels.py: equals sklearn's
        for storage, stored in (("dense", X), ("csr", sp.csr_array(X))):
            yield f"{kernel.name}-{storage}", kernel, stored, K
    K = pairwise.rbf_kernel(X, gamma=0.4)
    yield "precomputed-dense", Precomputed(), K, K
    yield "precomputed-float32", Precomputed(), K.astype(np.float32), K
    yield "precomputed-csr", Precomputed(), sp.csr_array(K), K
    function = FromFunction(lambda A, B: pairwise.rbf_kernel(A, B, gamma=0.4))
    yield "callable-dense", function, X, K
    yield "callable-csr", function, sp.csr_array(X), K
    K = Tent().block(X, X)
    yield "block-dense", Tent(), X, K
    yield "block-csr", Tent(), sp.csr_array(X), K


CASES = list(grams())
cases = pytest.mark.parametrize(("kernel", "X", "K"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])


@cases
def test_rows_blocks_and_products_agree(kernel, X, K):
    gram = Gram(kernel, X, dtype=np.float64)
    m, tolerance = gram.m, {"rtol": 1e-6, "atol": 1e-6} if X.dtype == np.float32 else {"rtol": 1e-12, "atol": 1e-7}
    rng = np.random.default_rng(1)
    I, J = rng.integers(m, size=7), rng.integers(m, size=280)
    coef = rng.normal(size=(280, 3))
    np.testing.assert_allclose(gram.diag, np.diag(K), **tolerance)
    np.testing.assert_allclose([gram.row(i).copy() for i in I], K[I], **tolerance)
    np.testing.assert_allclose(gram.block(I, J), K[np.ix_(I, J)], **tolerance)
    np.testing.assert_allclose(gram.block(J, I), K[np.ix_(J, I)], **tolerance)
    tolerance["atol"] *= 300
    np.testing.assert_allclose(gram.matvec(coef, J), K[:, J] @ coef, **tolerance)
    np.testing.assert_allclose(gram.matvec(coef[:, 0], J), K[:, J] @ coef[:, 0], **tolerance)
    np.testing.assert_allclose(gram.matvec(coef[:, 0], J, I), K[np.ix_(I, J)] @ coef[:, 0], **tolerance)
    np.testing.assert_allclose(gram.matvec(coef, J, I), K[np.ix_(I, J)] @ coef, **tolerance)
    for part in (gram.block(I, J), gram.matvec(coef, J)):
        assert part.dtype == np.float64


@cases
def test_values_are_counted_exactly(kernel, X, K):
    gram = Gram(kernel, X)
    m, I, J = gram.m, np.array([1, 2, 1]), np.arange(50)
    assert gram.kernel_values == 0
    gram.row(4), gram.row(4), gram.row(5)
    assert gram.kernel_values == 2 * m
    gram.block(I, J)
    assert gram.kernel_values == 2 * m + 150
    gram.matvec(np.ones(50), J)
    assert gram.kernel_values == 2 * m + 150 + 50 * m
    gram.matvec(np.ones((50, 4)), J, I)
    assert gram.kernel_values == 2 * m + 150 + 50 * m + 150
    nobody = np.empty(0, dtype=np.int64)
    assert gram.block(nobody, J).shape == (0, 50) and gram.block(J, nobody).shape == (50, 0)
    assert gram.matvec(np.empty(0), nobody).tolist() == [0.0] * m
    assert gram.matvec(np.empty((0, 2)), nobody, I).tolist() == [[0.0, 0.0]] * 3
    assert gram.kernel_values == 2 * m + 150 + 50 * m + 150


@cases
def test_a_point_with_itself_is_the_diagonal(kernel, X, K):
    """The diagonal of A must come out the same by every way, or the line search sees two problems."""
    gram = Gram(kernel, X, dtype=np.float64)
    every = np.arange(gram.m)
    assert [gram.row(i)[i] for i in every[:20]] == gram.diag[:20].tolist()
    np.testing.assert_array_equal(np.diag(gram.block(every, every)), gram.diag)


def test_duplicates_have_the_same_row():
    X = data()
    X[9] = X[4]
    for kernel in KERNELS:
        for stored in (X, sp.csr_array(X)):
            gram = Gram(kernel, stored, dtype=np.float64)
            np.testing.assert_allclose(gram.row(4), gram.row(9), rtol=1e-13, atol=1e-15)
            assert gram.row(4)[9] == pytest.approx(gram.diag[4], rel=1e-13)


# --- cache


def test_least_recently_used_row_goes_first():
    X = data(40)
    gram = Gram(RBF(0.4), X, memory=5 * 40 * 8, dtype=np.float64)
    K = pairwise.rbf_kernel(X, gamma=0.4)
    for i in (0, 1, 2, 3):
        gram.row(i)
    assert gram.kernel_values == 4 * 40
    gram.row(0)  # now 1 is the oldest
    gram.row(4)
    assert gram.kernel_values == 5 * 40
    for i in (0, 2, 3, 4):
        np.testing.assert_allclose(gram.row(i), K[i], rtol=1e-12)
    assert gram.kernel_values == 5 * 40
    np.testing.assert_allclose(gram.row(1), K[1], rtol=1e-12)
    assert gram.kernel_values == 6 * 40


@pytest.mark.parametrize("memory", [1, "1KB", 4 * 60 * 8, "1MB"])
def test_a_budget_changes_no_value(memory):
    X = data(60)
    K = pairwise.rbf_kernel(X, gamma=0.4)
    gram = Gram(RBF(0.4), X, memory=memory, dtype=np.float64)
    rng = np.random.default_rng(0)
    for _ in range(500):
        i, j, k = rng.integers(60, size=3)
        rows = gram.row(i), gram.row(j), gram.row(k)  # three rows may be held at a time
        for row, which in zip(rows, (i, j, k), strict=True):
            np.testing.assert_allclose(row, K[which], rtol=1e-12)


def test_the_cache_keeps_to_its_budget():
    cases = (
        (1000, 80_000, 1, 9),
        (1000, 1, 32, 4),
        (3, 1 << 30, 1, 3),
        (10, 1 << 30, 32, 18),
        (1000, 2_560_000, 32, 288),
    )
    for m, budget, batch, slots in cases:
        cache = RowCache(m, budget, np.float64, batch)
        assert cache.slots == slots
        assert cache.slots + len(cache.landing) == len(cache.slab)
        assert cache.slab.nbytes <= max(budget, 5 * m * 8)


def test_likely_rows_come_along_and_change_nothing():
    X = sp.csr_array(data(80))
    alone, together = (Gram(RBF(0.4), X, dtype=np.float32) for _ in range(2))
    rows = [together.row(3, lambda: np.arange(40)).copy()]
    assert together.kernel_values == 14 * 80  # row 3 and the first 13 others: an eighth of the slab
    rows += [together.row(i).copy() for i in range(14)]
    assert together.kernel_values == 14 * 80
    for i, row in zip([3, *range(14)], rows, strict=True):
        np.testing.assert_array_equal(alone.row(i), row)  # bit for bit: a panel's width changes no value


def test_rows_are_float64_where_they_are_cheap():
    X = data(100)
    assert Gram(RBF(0.4), X, memory=32 * 100 * 100).dtype == np.float64
    assert Gram(RBF(0.4), X, memory=32 * 100 * 100 - 1).dtype == np.float32


def test_promotion_to_float64():
    X = data(50)
    K = pairwise.rbf_kernel(X, gamma=0.4)
    gram = Gram(RBF(0.4), X, dtype=np.float32)
    assert np.abs(gram.row(0) - K[0]).max() > 1e-10
    assert gram.promote() is True
    assert gram.row(0).dtype == np.float64
    np.testing.assert_allclose(gram.row(0), K[0], rtol=1e-12)
    assert gram.promote() is False


def test_rows_among_some_points_do_not_come_back_after_a_promotion():
    X = data(50)
    gram = Gram(RBF(0.4), X, dtype=np.float32)
    part = gram.restriction(np.arange(0, 50, 2))
    part.row(3)
    gram.promote()
    part.close()
    assert gram.row_table.slab.dtype == gram.row(0).dtype == np.float64
    np.testing.assert_allclose(gram.row(0), pairwise.rbf_kernel(X, gamma=0.4)[0], rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("200MB", 200 << 20),
        ("1GB", 1 << 30),
        ("1.5 GiB", 3 << 29),
        ("64k", 64 << 10),
        ("2 tb", 2 << 40),
        ("1e6", 10**6),
        ("4096", 4096),
        (12345, 12345),
        (2.5e6, 2_500_000),
        ("10 b", 10),
        (np.int64(7), 7),
    ],
)
def test_sizes(text, size):
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", ["", "MB", "0", "-1GB", "one GB", "1XB", "nan", "inf", "1 G B x", None, "1..5GB"])
def test_sizes_that_are_none(text):
    with pytest.raises(InputError, match="is not a size"):
        parse_bytes(text)


# --- no copies


def peak(action) -> int:
    """Bytes allocated at most by `action()` beyond what was there."""
    tracemalloc.start()
    try:
        base = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        action()
        return tracemalloc.get_traced_memory()[1] - base
    finally:
        tracemalloc.stop()


def use(kernel, X, budget=1 << 16):
    idx = np.arange(3)
    gram = Gram(kernel.resolve(X), X, memory=budget)
    gram.row(0)
    gram.matvec(np.ones(3), idx, idx)
    gram.matvec(np.ones(3), idx)
    gram.block(idx, idx)
    gram.promote()
    gram.row(0)


@pytest.mark.float32
@pytest.mark.parametrize("kernel", [*KERNELS[1:], Linear(), RBF("msd"), RBF("scale")], ids=lambda k: str(k)[:20])
def test_float32_data_are_never_copied_whole(kernel):
    X = np.random.default_rng(0).random((150_000, 100), dtype=np.float32)
    use(kernel, X[:300])  # compile outside the measurement
    assert peak(lambda: use(kernel, X)) < X.nbytes  # a float64 copy would take twice X.nbytes


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
def test_sparse_data_are_never_made_dense(kernel, dtype):
    X = sp.random_array((20_000, 5_000), density=2e-4, rng=np.random.default_rng(0), format="csr", dtype=np.float64)
    X = X.astype(dtype)
    use(kernel, X[:300])
    assert peak(lambda: use(kernel, X)) < 64 << 20  # dense: 400 MB or more


def test_data_are_taken_as_they_are():
    for X in (data(), data(dtype=np.float32), sp.csr_array(data())):
        assert Gram(RBF(0.4), X).engine.X is X


def test_a_block_has_the_diagonal_at_all_pairs_of_equal_samples():
    """Samples may come in any order and more than once on both sides."""
    X = np.random.default_rng(0).normal(size=(6, 3))
    gram = Gram(RBF(0.5), X)
    gram.diag = np.arange(6) + 10.0
    for I, J in (([2, 0, 2], [5, 2, 0, 2, 1]), ([4], [0, 1]), ([3, 1], [1, 3]), ([1, 3, 5], [0, 1, 2, 5])):
        I, J = np.array(I), np.array(J)
        expected = np.where(
            I[:, None] == J, gram.diag[I][:, None], np.exp(-0.5 * ((X[I][:, None] - X[J]) ** 2).sum(-1))
        )
        np.testing.assert_allclose(gram.block(I, J), expected, rtol=1e-12)
    for same in (np.array([1, 3, 4]), np.array([3, 1, 3])):
        np.testing.assert_allclose(gram.block(same, same), gram.block(same, same.copy()), rtol=1e-12)


@cases
def test_kept_values_give_the_products_of_computed_ones(kernel, X, K):
    gram, fresh = Gram(kernel, X, dtype=np.float64), Gram(kernel, X, dtype=np.float64)
    m, rng = gram.m, np.random.default_rng(1)
    kept = gram.keep()
    np.testing.assert_allclose(kept, fresh.block(np.arange(m), np.arange(m)), rtol=0, atol=2.0 * gram.engine.error)
    assert gram.keep() is kept and not kept.flags.writeable and gram.kernel_values == m * m
    exact = kept.astype(np.longdouble)
    for idx in (np.arange(m), np.arange(m)[::-1], np.array([7, 3, 5]), np.sort(rng.choice(m, 280, replace=False))):
        coef, some = rng.normal(size=(len(idx), 3)), np.array([9, 2])
        bound, product = gram.product_error(np.abs(coef).max(axis=1)), exact[idx].T @ coef
        np.testing.assert_allclose(gram.matvec(coef, idx), product, rtol=0, atol=bound)
        np.testing.assert_allclose(gram.matvec(coef[:, 0], idx), product[:, 0], rtol=0, atol=bound)
        np.testing.assert_allclose(gram.matvec(coef, idx, some), product[some], rtol=0, atol=bound)
    assert gram.kernel_values == m * m


def test_values_beyond_a_quarter_of_the_budget_are_not_kept():
    X = data(100)
    for memory, computed in ((32 * 100**2, 0), (32 * 100**2 - 1, 100 * 3)):
        gram = Gram(RBF(0.4), X, memory=memory)
        gram.keep()
        before = gram.kernel_values
        gram.matvec(np.ones(3), np.arange(3))
        assert gram.kernel_values - before == computed


def test_kept_values_of_a_matrix_that_is_not_symmetric_are_multiplied_from_the_same_side():
    K = data(6, 6)
    gram, fresh = Gram(Precomputed(), K), Gram(Precomputed(), K)
    gram.keep()
    idx = np.array([1, 4])
    np.testing.assert_array_equal(gram.matvec(np.array([1.0, 2.0]), idx), fresh.matvec(np.array([1.0, 2.0]), idx))
