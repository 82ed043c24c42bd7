"""Kernel rows of a working set: the values from scratch, whatever happened to the set, however little memory."""

import gc
import weakref

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import pairwise
from support.problems import blobs, make, problem_of, state_of
from svmkit_frank_wolfe.iterate.working_set import KEPT, LATE, WorkingRows

from svmkit.kernels.functions import RBF, Linear, Precomputed
from svmkit.kernels.gram import Gram
from svmkit.solver.selection import by_name

pytestmark = pytest.mark.usefixtures("one_pool")

# less than a row of 250 values, squares that overflow after 19 and 55 points, and one for all
MEMORY = ["1KB", "3KB", "24KB", "1GB"]
every_memory = pytest.mark.parametrize("memory", MEMORY)
M = 250


def gram(memory="1GB", dtype=np.float64, kernel=None, X=None):
    return Gram(kernel or RBF(0.5), blobs(M, 4, seed=3)[0] if X is None else X, memory=memory, dtype=dtype)


def exact(g: Gram) -> np.ndarray:
    """All kernel values of `g` from scratch, by a Gram of its own."""
    fresh = Gram(g.kernel, g.engine.X)
    return fresh.block(np.arange(g.m), np.arange(g.m))


def close(g: Gram) -> dict:
    return {"rtol": 0, "atol": 1e-14 if g.dtype == np.float64 else 1e-6}


# --- each operation


@every_memory
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_of_a_set_that_does_not_grow(dtype, memory):
    g = gram(memory, dtype)
    K, idx = exact(g), np.random.default_rng(0).permutation(M)[:40]
    rows = WorkingRows(g, idx)
    np.testing.assert_array_equal(rows.idx, idx)
    for p in [*range(40), *range(39, -1, -1)]:
        row = rows.row(p)
        assert row.shape == (40,) and row.dtype == dtype
        np.testing.assert_allclose(row, K[idx[p], idx], **close(g))
        assert row[p] == dtype(g.diag[idx[p]])


@every_memory
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("begin", [0, 1, 30])
def test_rows_of_a_set_that_grows(begin, known, memory):
    g = gram(memory)
    K, order = exact(g), np.random.default_rng(1).permutation(M)
    rows, rng = WorkingRows(g, order[:begin]), np.random.default_rng(2)
    for n in range(begin, M):
        assert rows.append(order[n], K[order[n], order[:n]] if known else None) == n
        assert rows.n == n + 1
        np.testing.assert_array_equal(rows.idx, order[: n + 1])
        for p in {n, int(rng.integers(n + 1))}:
            np.testing.assert_allclose(rows.row(p), K[order[p], order[: n + 1]], **close(g))
    for p in range(M):
        np.testing.assert_allclose(rows.row(p), K[order[p], order], **close(g))


@every_memory
def test_a_row_stays_valid_while_the_next_one_is_fetched(memory):
    g = gram(memory)
    K, rows = exact(g), WorkingRows(g, np.arange(30))
    rng = np.random.default_rng(3)
    for n in range(30, 200):
        i, j = rng.integers(rows.n, size=2)
        first = rows.row(int(i))
        second = rows.row(int(j))
        np.testing.assert_allclose(first, K[i, :n], **close(g))
        np.testing.assert_allclose(second, K[j, :n], **close(g))
        rows.append(n)


@every_memory
def test_replace_changes_every_kept_row(memory):
    g = gram(memory)
    K, idx, rng = exact(g), np.arange(60), np.random.default_rng(4)
    rows, outside = WorkingRows(g, idx), list(range(60, M))
    for p in range(0, 60, 2):
        rows.row(p)
    for _ in range(150):
        p, point = int(rng.integers(60)), outside.pop(0)
        outside.append(int(rows.idx[p]))
        rows.replace(p, point, K[point, rows.idx])
        assert rows.idx[p] == point and rows.n == 60
        for q in rng.integers(60, size=3):
            np.testing.assert_allclose(rows.row(int(q)), K[rows.idx[q], rows.idx], **close(g))
    for q in range(60):
        np.testing.assert_allclose(rows.row(q), K[rows.idx[q], rows.idx], **close(g))


@every_memory
def test_replace_between_appends_before_the_columns_are_level(memory):
    """Fewer than LATE points since the columns were written together: a replaced one is in rows and in late columns."""
    g = gram(memory)
    K, rows = exact(g), WorkingRows(gram(memory), np.arange(3))
    for n in range(3, LATE - 5):
        rows.append(n)
        if n % 3 == 0:
            p = (5 * n) % rows.n
            rows.replace(p, M - n, K[M - n, rows.idx])
        for q in (0, rows.n - 1, n // 2):
            np.testing.assert_allclose(rows.row(q), K[rows.idx[q], rows.idx], **close(g))


@every_memory
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("X_dtype", [np.float32, np.float64])
def test_rebind_keeps_what_is_known(X_dtype, storage, memory):
    X = blobs(M, 4, seed=5)[0].astype(X_dtype)
    g = gram(memory, X=storage(X))
    K = exact(g)
    rows = WorkingRows(g, np.array([7, 3, 11]))
    for point in range(20, 60):
        rows.append(point)
    kept = rows.idx.copy()
    every = np.concatenate([kept, np.arange(100, 150)])
    other = gram(memory, X=storage(X[every]))
    rows.rebind(other)
    np.testing.assert_array_equal(rows.idx, np.arange(len(kept)))
    for p in range(0, rows.n, 7):
        np.testing.assert_allclose(rows.row(p), K[kept[p], kept], rtol=0, atol=1e-13)
    for n in range(len(kept), len(every)):
        rows.append(n)
        np.testing.assert_allclose(rows.row(n), K[every[n], every[: n + 1]], rtol=0, atol=1e-13)
        np.testing.assert_allclose(rows.row(n // 2), K[every[n // 2], every[: n + 1]], rtol=0, atol=1e-13)
    if memory == "1GB":
        assert other.kernel_values <= sum(range(len(kept), len(every))) + 3 * len(every)  # 3 rows were never asked for


def test_rebind_to_another_precision_computes_anew():
    g = gram(dtype=np.float32)
    rows = WorkingRows(g, np.arange(30))
    rows.row(4)
    X = g.engine.X[:80]
    rows.rebind(gram(X=X, dtype=np.float64))
    assert rows.row(4).dtype == np.float64
    np.testing.assert_allclose(rows.row(4), exact(g)[4, :30], rtol=0, atol=1e-14)


@pytest.mark.float32
@every_memory
def test_promotion_drops_the_float32_values(memory):
    g = gram(memory, np.float32)
    K, rows = exact(g), WorkingRows(g, np.arange(25))
    for point in range(25, 70):
        rows.append(point)
        rows.row(point - 20)
    coarse = np.abs(rows.row(3) - K[3, :70]).max()
    assert coarse > 1e-10
    assert g.promote()
    rows.append(70)  # not asked for a row since: what is kept still has the old type
    rows.replace(2, 200, K[200, rows.idx])
    for p in (3, 70, 2, 69, 0):
        assert rows.row(p).dtype == np.float64
        np.testing.assert_allclose(rows.row(p), K[rows.idx[p], rows.idx], **close(g))
    for point in range(71, 150):
        rows.append(point)
        np.testing.assert_allclose(rows.row(point // 2), K[rows.idx[point // 2], rows.idx], **close(g))


# --- anything after anything


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@every_memory
def test_any_sequence_of_operations(memory, dtype, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 3))
    truth = pairwise.rbf_kernel(X, gamma=0.5)
    names = np.arange(400)  # of the rows of the current Gram
    g = gram(memory, dtype, X=X)
    rows = WorkingRows(g, rng.permutation(400)[: rng.integers(1, 12)])
    members = names[rows.idx].tolist()
    done = dict.fromkeys(("append", "row", "replace", "rebind", "promote"), 0)
    for _ in range(600):
        what = rng.choice(["append", "row", "replace", "rebind", "promote"], p=[0.3, 0.48, 0.19, 0.02, 0.01])
        outside = np.setdiff1d(np.arange(len(names)), rows.idx)
        if what in ("append", "replace") and not outside.size:
            continue
        done[what] += 1
        if what == "append":
            point = int(rng.choice(outside))
            row = truth[names[point], members] if rng.random() < 0.5 else None
            assert rows.append(point, row) == len(members)
            members.append(int(names[point]))
        elif what == "replace":
            p, point = int(rng.integers(len(members))), int(rng.choice(outside))
            rows.replace(p, point, truth[names[point], members])
            members[p] = int(names[point])
        elif what == "rebind":
            more = rng.permutation(np.setdiff1d(np.arange(400), members))[:80]
            names = np.concatenate([members, more])
            g = gram(memory, g.dtype if rng.random() < 0.8 else dtype, X=X[names])
            rows.rebind(g)
        elif what == "promote":
            g.promote()
        p = int(rng.integers(len(members)))
        row = rows.row(p)
        assert row.dtype == g.dtype and rows.n == len(members)
        np.testing.assert_array_equal(names[rows.idx], members)
        np.testing.assert_allclose(
            row, truth[members[p], members], rtol=0, atol=1e-13 if row.dtype == np.float64 else 1e-6
        )
    assert min(done.values()) > 0


@every_memory
def test_other_kernels(memory):
    X = blobs(M, 4, seed=6)[0]
    S = X @ X.T
    for kernel, data in ((Linear(), X), (Precomputed(), S)):
        g = gram(memory, kernel=kernel, X=data)
        rows = WorkingRows(g, np.array([5]))
        for point in range(100, 180):
            rows.append(point)
        for p in range(0, 80, 9):
            np.testing.assert_allclose(rows.row(p), S[rows.idx[p], rows.idx], rtol=0, atol=1e-12)


# --- what it costs


def test_values_are_counted_once_and_asked_for_once_where_all_fit():
    g = gram()
    rows = WorkingRows(g, np.array([9]))
    for n in range(1, 101):
        rows.append(100 + n)
    assert g.kernel_values == sum(range(1, 101))  # with those before it; the diagonal is known
    for _ in range(3):
        for p in range(101):
            rows.row(p)
    assert g.kernel_values == sum(range(1, 101)) + 101  # the first point's row, once


def test_known_values_cost_nothing():
    g = gram()
    K, rows = exact(g), WorkingRows(g, np.array([9]))
    for n in range(1, 50):
        rows.append(100 + n, K[100 + n, rows.idx])
    rows.replace(7, 60, K[60, rows.idx])
    for p in range(1, 50):
        rows.row(p)
    assert g.kernel_values == 0


@pytest.mark.parametrize("memory", ["1KB", "3KB", "24KB"])
def test_the_budget_holds(memory):
    """What is kept never exceeds the budget by more than the rows that an iteration needs."""
    g = gram(memory)
    rows, rng = WorkingRows(g, np.arange(5)), np.random.default_rng(0)
    for point in range(5, M):
        rows.append(point)
        for p in rng.integers(rows.n, size=3):
            rows.row(int(p))
        kept = rows._kept
        held = kept._K.nbytes if hasattr(kept, "_K") else sum(values.nbytes for values, _ in kept._rows.values())
        assert held <= max(g.budget, KEPT * 8 * (rows.n + rows.n // 4 + 64))
        if hasattr(kept, "_bytes"):
            assert kept._bytes == held


@pytest.mark.parametrize("memory", ["1KB", "24KB"])
def test_bytes_are_counted_through_replacements(memory):
    g = gram(memory)
    K, rows, rng = exact(g), WorkingRows(g, np.arange(80)), np.random.default_rng(1)
    for point in range(80, 200):
        rows.row(int(rng.integers(rows.n)))
        rows.replace(int(rng.integers(rows.n)), point, K[point, rows.idx])
        if point % 2:
            rows.append(int(rng.choice(np.setdiff1d(np.arange(M), rows.idx))))
        assert rows._kept._bytes == sum(values.nbytes for values, _ in rows._kept._rows.values())


def test_a_recent_row_is_extended_not_computed_again():
    g = gram("20KB")
    rows = WorkingRows(g, np.arange(100))  # 100 x 100 do not fit, some rows do
    rows.row(5)
    assert g.kernel_values == 100
    for point in range(100, 110):
        rows.append(point)
    spent = g.kernel_values
    assert spent == 100 + sum(range(100, 110))
    rows.row(5)
    assert g.kernel_values - spent == 10
    rows.row(5)
    assert g.kernel_values - spent == 10


def test_all_is_freed_with_the_set():
    """No cycle keeps the values: they go when the last name goes, without a garbage collector."""
    for memory in ("1KB", "1GB"):
        rows = WorkingRows(gram(memory), np.arange(20))
        rows.row(3)
        kept = weakref.ref(rows._kept)
        gc.disable()
        try:
            del rows
            assert kept() is None
        finally:
            gc.enable()


@pytest.mark.parametrize("name", ["sfw", "msfw", "cvm", "swap2o"])
def test_a_state_is_freed_at_once(name):
    """A square of kernel values can be a gigabyte: it must not wait for the garbage collector."""
    gc.collect()
    gc.disable()
    try:
        solver = make(name)
        state = state_of(solver, problem_of(*blobs(200, 3)), by_name.sampler("uniform:5"))
        for _ in range(20):
            solver.step(state)
        gone = weakref.ref(state), weakref.ref(state.tracked.working)
        del state
        assert [reference() for reference in gone] == [None, None]
    finally:
        gc.enable()
