"""What decomposition stands on: rows that compiled loops look up, shorter rows among some points, the passes over v."""

from collections import OrderedDict

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel
from support.problems import blobs
from svmkit_decomposition import guesses, sets

from svmkit.kernels.functions import RBF
from svmkit.kernels.gram import Gram
from svmkit.kernels.gram.row_cache import RowCache
from svmkit.kernels.loops.row_loops import find
from svmkit.problems.box import BoxQP
from svmkit.solver.smo import box as smo_box
from svmkit.solver.smo import steps as smo_steps
from svmkit.solver.smo.box import LOW, UP, Box

pytestmark = pytest.mark.usefixtures("one_pool")


def gram(m=60, memory: str | int = "1GB", sparse=False, seed=0):
    X, _ = blobs(m, 3, seed=seed)
    g = Gram(RBF(0.4), sp.csr_array(X) if sparse else X, memory=memory, dtype=np.float64)
    return g, rbf_kernel(X, gamma=0.4)


# --- rows


def test_compiled_loops_find_what_is_cached_and_count_as_users():
    g, K = gram(40, memory=5 * 40 * 8)  # four rows, and one to compute into
    assert find(g.row_table, 7) == -1
    for i in (0, 1, 2, 3):
        g.row(i)
    slot = find(g.row_table, 0)  # now 1 is the oldest
    np.testing.assert_allclose(g.row_table.slab[slot], K[0], rtol=1e-12)
    g.row(4)
    assert [find(g.row_table, i) >= 0 for i in range(5)] == [True, False, True, True, True]


def test_the_oldest_row_goes_first_whoever_asks():
    """Against a plain model of least recently used, through hundreds of evictions by row, find and bring."""
    cache, order, rng = RowCache(100, 25 * 800, np.float64, 8), OrderedDict(), np.random.default_rng(0)
    computed = []

    def compute(idx, out):
        computed.extend(idx.tolist())
        out[:] = idx[:, None]

    def use(i):
        order[i] = True
        order.move_to_end(i)
        if len(order) > cache.slots:
            order.popitem(last=False)

    for _ in range(2000):
        i, kind = int(rng.integers(100)), rng.integers(3)
        if kind == 0:
            assert cache.row(i, compute)[0] == i
            use(i)
        elif kind == 1:
            assert (find(cache.table, i) >= 0) == (i in order)
            if i in order:
                use(i)
        else:
            some = rng.permutation(100)[: cache.slots // 2]
            cache.bring(some, compute)
            for each in [*(r for r in some if r in order), *(r for r in some if r not in order)]:
                use(int(each))
            assert all(cache.table.slab[find(cache.table, r)][0] == r for r in some)
            for each in some:
                use(int(each))
        assert set(np.flatnonzero(cache.table.slot_of >= 0)) == set(order)
    assert len(computed) > 3 * cache.slots


def test_rows_are_brought_together():
    g, K = gram(80, sparse=True)
    g.row(3)
    g.bring(np.array([3, 9, 50, 51]))
    assert g.kernel_values == 4 * 80
    for i in (3, 9, 50, 51):
        np.testing.assert_allclose(g.row_table.slab[find(g.row_table, i)], K[i], rtol=1e-12)
    assert g.kernel_values == 4 * 80


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("memory", [1, 12 * 60 * 8, "1GB"])
def test_rows_among_some_points(sparse, memory):
    g, K = gram(memory=memory, sparse=sparse)
    rng = np.random.default_rng(1)
    for i in rng.integers(60, size=30):
        g.row(int(i))
    slots, known = len(g.row_table.slab), g.row_table.slot_of >= 0
    at = np.sort(rng.permutation(60)[:25])
    part = g.restriction(at)
    assert ((part.row_table.slot_of >= 0) == known[at]).all()  # gathered, not computed anew
    assert len(part.row_table.slab) >= min(slots, 25)
    before = g.kernel_values
    for p in np.flatnonzero(part.row_table.slot_of >= 0):
        np.testing.assert_allclose(part.row(p), K[at[p], at], rtol=1e-12)
    assert g.kernel_values == before
    for p in range(25):
        np.testing.assert_allclose(part.row(p, lambda: np.arange(25)), K[at[p], at], rtol=1e-12)
    assert g.kernel_values > before and (g.kernel_values - before) % 25 == 0
    part.restrict(np.arange(0, 25, 3))
    at = at[::3]
    np.testing.assert_array_equal(part.at, at)
    part.bring(np.array([0, 5]))
    for p in range(len(at)):
        np.testing.assert_allclose(part.row(p), K[at[p], at], rtol=1e-12)
    part.close()
    assert len(g.row_table.slab) == slots and (g.row_table.slot_of < 0).all()
    for i in range(60):
        np.testing.assert_allclose(g.row(i), K[i], rtol=1e-12)


def test_narrowing_stays_in_the_memory_of_the_cache():
    g, _ = gram(memory=20 * 60 * 8)
    g.row(0)
    memory = g.row_table.slab
    part = g.restriction(np.arange(0, 60, 2))
    part.row(3)
    assert np.shares_memory(memory, part.row_table.slab)
    assert part.row_table.slab.nbytes <= 20 * 60 * 8
    part.close()
    assert np.shares_memory(memory, g.row_table.slab)


# --- passes over v


def box(m, seed=0, loss="hinge"):
    """A BoxQP of m points and a Box at a feasible beta, some weights at each bound."""
    X, y = blobs(m, 3, seed=seed)
    rng = np.random.default_rng(seed)
    problem = BoxQP(Gram(RBF(0.4), X), y, rng.uniform(0.5, 2.0, size=m), loss=loss)
    upper = np.minimum(problem.upper, 2.0)
    beta = np.clip(rng.uniform(-0.5, 1.5, size=m), 0.0, 1.0) * upper
    made = smo_box.box_of(problem, beta, problem.gradient(beta))
    smo_box.take_sides(made, None)
    return problem, made, rbf_kernel(X, gamma=0.4)


@pytest.mark.parametrize("m", [5, 255, 256, 257, 1000])
@pytest.mark.slow
def test_extremes_and_moves_as_numpy_has_them(m):
    _, b, K = box(m)
    plus = b.y > 0
    up = np.where(plus, b.beta < b.upper, b.beta > 0.0)
    low = np.where(plus, b.beta > 0.0, b.beta < b.upper)
    np.testing.assert_array_equal((b.side & UP) > 0, up)
    np.testing.assert_array_equal((b.side & LOW) > 0, low)
    v = b.v.copy()
    want = np.argmin(np.where(up, v, np.inf)), np.argmax(np.where(low, v, -np.inf))
    assert smo_box.extremes(b.v, b.side, None) == want
    for dtype in (np.float32, np.float64):
        rows = K[:2].astype(dtype)
        b.v[:] = v
        found = smo_box.move(b.v, b.side, rows[0], rows[1], 0.3, None)
        np.testing.assert_allclose(b.v, v + 0.3 * (rows[0].astype(float) - rows[1]), rtol=1e-14, atol=1e-15)
        assert found == (np.argmin(np.where(up, b.v, np.inf)), np.argmax(np.where(low, b.v, -np.inf)))
    nobody = np.zeros(m, dtype=np.uint8)
    assert smo_box.extremes(b.v, nobody, None) == (-1, -1)


@pytest.mark.parametrize(("m", "seed"), [(5, 0), (257, 0), (1000, 1), (1000, 2), (1000, 3)])
@pytest.mark.slow
def test_the_second_order_rule(m, seed):
    _, b, K = box(m, seed)
    i, _ = smo_box.extremes(b.v, b.side, None)
    violation = b.v - b.v[i]
    gain = np.where(
        (b.side & LOW > 0) & (violation > 0), violation**2 / np.maximum(b.diag[i] + b.diag - 2 * K[i], 1e-12), 0.0
    )
    assert smo_steps.second_order(b.v, b.side, b.diag, K[i], i, 1.0, smo_steps.TAU, None) == np.argmax(gain)
    scores, cached = np.empty(m), np.full(m, -1)
    cached[np.argmax(gain)] = 0
    guesses.gains(b, cached, K[i], i, scores, None)
    gain[np.argmax(gain)] = 0.0
    np.testing.assert_allclose(scores, gain, rtol=1e-9, atol=1e-12)
    most = guesses.largest(scores, 7)
    assert most.tolist() == np.argsort(-scores, kind="stable")[: len(most)].tolist()
    assert len(most) == min(7, np.count_nonzero(scores > 0))


def test_guesses_are_of_points_that_may_be_chosen_and_whose_rows_are_missing():
    """The gains of points that can fall, and how far points that can rise lie below, by their definitions."""
    _, b, K = box(60)
    (i, k), cached = smo_box.extremes(b.v, b.side, None), np.full(60, -1)
    cached[::5] = 0
    scores, missing = np.empty(60), cached < 0
    violation = b.v - b.v[i]
    falls, rises = (b.side & LOW > 0) & (violation > 0.0) & missing, (b.side & UP > 0) & missing
    assert 0 < np.count_nonzero(falls) < np.count_nonzero((violation > 0.0) & missing)
    guesses.gains(b, cached, K[i], i, scores, None)
    curvature = np.maximum(b.diag[i] + b.diag - 2.0 * K[i], 1e-12)
    np.testing.assert_allclose(scores, np.where(falls, violation**2 / curvature, 0.0), rtol=1e-9)
    guesses.depths(b, cached, b.v[k], scores, None)
    np.testing.assert_allclose(scores, np.where(rises, np.maximum(b.v[k] - b.v, 0.0), 0.0), rtol=1e-12)
    for n in (1, 7, 100):
        order = np.argsort(-scores, kind="stable")[: min(n, np.count_nonzero(scores))]
        assert guesses.largest(scores, n).tolist() == order.tolist()


def test_the_second_order_rule_looks_beyond_the_largest_difference():
    v, side, row = np.zeros(600), np.full(600, UP | LOW, dtype=np.uint8), np.zeros(600)
    v[5], v[400], row[400] = 1.0, 0.9, 0.9  # gains of 1 / 2 and 0.81 / 0.2
    assert smo_steps.second_order(v, side, np.ones(600), row, 0, 1.0, smo_steps.TAU, None) == 400


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_step_is_the_best_one_on_its_pair(loss):
    problem, b, K = box(60, loss=loss)
    i, k = smo_box.extremes(b.v, b.side, None)
    before, start = problem.objective(b.beta), b.beta.copy()
    t, change = smo_steps.step(b, i, k, K[i, k])
    after = problem.objective(b.beta)
    assert t > 0.0 and change < 0.0
    assert after - before == pytest.approx(change, rel=1e-9)
    assert (b.y * b.beta).sum() == pytest.approx((b.y * start).sum(), abs=1e-12)
    for other in np.linspace(0.0, 2.0 * t, 41):
        tried = start.copy()
        tried[i] += other * b.y[i]
        tried[k] -= other * b.y[k]
        if (tried >= 0).all() and (tried <= problem.upper).all():
            assert problem.objective(tried) >= after - 1e-12


def test_a_step_to_a_bound_ends_exactly_there():
    rng = np.random.default_rng(0)
    inexact = 0
    for _ in range(500):
        y, upper = rng.choice([-1.0, 1.0], size=2), rng.uniform(0.1, 9.0, size=2)
        beta = rng.uniform(0.0, 1.0, size=2) * upper
        pair = Box(
            y, np.zeros(2), upper, np.zeros(2), np.ones(2), beta.copy(), np.array([-1e3, 1e3]), np.empty(2, np.uint8)
        )
        smo_box.take_sides(pair, None)
        t, _ = smo_steps.step(pair, 0, 1, 0.5)
        room = np.array([upper[0] - beta[0] if y[0] > 0 else beta[0], beta[1] if y[1] > 0 else upper[1] - beta[1]])
        r = int(np.argmin(room))
        assert t == room[r] and pair.beta[r] == (upper[r] if y[r] * (1 - 2 * r) > 0 else 0.0)
        inexact += beta[r] + (upper[r] - beta[r]) != upper[r]
        assert pair.side[r] == (LOW if r == 0 else UP)
        assert (pair.beta >= 0.0).all() and (pair.beta <= upper).all()
    assert inexact > 10  # where adding up would have missed it


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_gap_is_that_of_the_certificate(loss):
    problem, b, _ = box(80, loss=loss)
    beta = problem.start(b.beta * b.y)  # y'beta = 0
    b.beta[:], b.v[:] = beta, b.y * problem.gradient(beta)
    certificate = problem.certificate(beta)
    best = smo_box.gap(b, loss == "squared_hinge", certificate.bias, None)
    assert best == pytest.approx(certificate.primal - certificate.dual, rel=1e-9)
    for off in (-0.1, 0.05, 1.0):
        assert smo_box.gap(b, loss == "squared_hinge", certificate.bias + off, None) >= best * (1.0 - 1e-12)


@pytest.mark.parametrize("half", [1, 3, 40])
def test_the_steepest_direction(half):
    _, b, _ = box(300)
    i, k = smo_box.extremes(b.v, b.side, None)
    chosen = np.empty(2 * half, dtype=np.int64)
    n = sets.steepest(b.v, b.side, i, k, half, chosen)
    lows, highs = chosen[:n:2], chosen[1:n:2]
    assert n == 2 * half and len(set(chosen)) == n
    up = np.where(b.side & UP, b.v, np.inf)
    low = np.where(b.side & LOW, b.v, -np.inf)
    np.testing.assert_array_equal(b.v[lows], np.sort(up)[:half])
    np.testing.assert_array_equal(b.v[highs], np.sort(low)[::-1][:half])


def test_few_violating_points_make_a_small_working_set():
    _, b, _ = box(100)
    b.side[:] = np.where(np.arange(100) < 97, 0, UP | LOW)
    b.v[97:] = 0.0, 1.0, 0.5
    chosen = np.empty(10, dtype=np.int64)
    assert sets.steepest(b.v, b.side, 97, 98, 5, chosen) == 2
    assert chosen[:2].tolist() == [97, 98]
