"""A pass by several workers: their parts, the sum of their steps, the line search, and the counters they meet at."""

from types import SimpleNamespace

import numpy as np
import pytest
from numba import njit
from support.liblinear import every_loss
from support.problems import blobs, linear_dual
from svmkit_coordinate import atomic, blocks, workers
from svmkit_coordinate.workers import Shared, shared_passes

from svmkit.kernels.functions import Linear
from svmkit.kernels.gram import Gram
from svmkit.losses import EpsilonInsensitive, Expectile, Quantile, SquaredEpsilonInsensitive
from svmkit.problems.risks.coordinate_descent import coordinate_pass
from svmkit.problems.risks.linear_risk import LinearTubeDual
from svmkit.runtime import threads

pytestmark = pytest.mark.usefixtures("one_pool")


def round_of(problem, K, seeds=0, beta=None, high=np.inf, low=-np.inf):
    """One pass by K workers: (Pass, beta, v, order, shared, weights before)."""
    d = problem.design
    beta = np.zeros(problem.m) if beta is None else beta.copy()
    shared, order, v, held = Shared.allocate(problem, K), np.arange(problem.m), problem.weights(beta), beta.copy()
    shared.seeds[:] = seeds
    thresholds = np.array([high, low])
    done, count, looks, gain, born = shared_passes(d, order, problem.m, beta, v, thresholds, False, (0, 1), shared)
    assert (count, looks, gain, born) == (1, problem.m, done.gain, done.born)
    return done, beta, v, order, shared, held


@every_loss
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.slow
def test_a_pass_is_a_round_of_cocoa(K, loss):
    """Each part by itself, as `coordinate_pass` goes over it with this sigma; the sum of what they add."""
    problem = linear_dual(*blobs(700, 5, shift=0.2), 0.01, loss=loss)
    d, m = problem.design, problem.m
    start = np.where(np.arange(m) % 3, problem.clip(0.01 * problem.y), 0.0)
    done, beta, v, order, shared, held = round_of(problem, K, 0, start, 0.5, -0.5)
    theirs, base = held.copy(), problem.weights(held)
    v_theirs, kept = base.copy(), []
    for k in range(K):
        part, own = np.arange(m * k // K, m * (k + 1) // K), base.copy()
        one = coordinate_pass(d.rows, d.bias, shared.points, part, len(part), theirs, own, 0.5, -0.5, shared.sigma)
        v_theirs += (own - base) / shared.sigma
        kept += part[: one.n].tolist()
    np.testing.assert_array_equal(beta, theirs)
    np.testing.assert_allclose(v, v_theirs, atol=1e-12)
    np.testing.assert_array_equal(order[: done.n], kept)
    assert done.n < m, "nothing was left out"
    np.testing.assert_allclose(v, problem.weights(beta), atol=1e-10)
    assert done.gain == pytest.approx(problem.objective(held) - problem.objective(beta), rel=1e-9)


@every_loss
def test_a_pass_that_overshoots_is_searched_exactly(loss):
    """Equal rows: the steps together go too far, and no other share of them is better than the one taken."""
    y = np.where(np.arange(900) % 3, 1.0, -1.0)
    problem = linear_dual(y[:, None] * [1.0, 2.0], y, 1.0, loss=loss, bias=0.0)
    done, beta, v, _, _, held = round_of(problem, 3)
    values = [problem.objective(held + t * (beta - held)) for t in (0.98, 1.0, 1.02)]
    assert values[1] < min(values[0], values[2])
    assert done.gain == pytest.approx(problem.objective(held) - values[1], rel=1e-9)
    assert done.born == np.count_nonzero(beta) - np.count_nonzero(held)
    np.testing.assert_allclose(v, problem.weights(beta), atol=1e-10)


@pytest.mark.parametrize(
    "loss", [EpsilonInsensitive(0.3), SquaredEpsilonInsensitive(0.3), Expectile(0.8), Quantile(0.8)]
)
def test_the_gain_of_a_search_is_true_where_weights_change_sign(loss):
    t = np.where(np.arange(900) % 3, 1.0, -1.0)
    problem = LinearTubeDual(Gram(Linear(), t[:, None] * [1.0, 2.0]), 2.0 * t, 1.0, loss, bias=0.0)
    start = problem.clip(np.random.default_rng(0).uniform(-0.2, 0.2, 900))
    done, beta, v, _, _, held = round_of(problem, 3, beta=start)
    assert ((beta > 0.0) & (held < 0.0)).any()
    assert done.gain == pytest.approx(problem.objective(held) - problem.objective(beta), rel=1e-9)
    assert done.born == np.count_nonzero(beta) - np.count_nonzero(held)
    np.testing.assert_allclose(v, problem.weights(beta), atol=1e-10)


def test_parts_are_dealt_anew():
    """With seeds, each of the next parts has as many points of every part before, in an order of its own."""
    problem = linear_dual(*blobs(900, 5))
    *_, order, shared, _ = round_of(problem, 3, [5, 6, 7])
    assert sorted(order.tolist()) == list(range(900))
    np.testing.assert_array_equal(shared.ends, [0, 300, 600, 900])
    for k in range(3):
        assert np.bincount(order[300 * k : 300 * k + 300] // 300).tolist() == [100, 100, 100]
    assert (np.diff(order) < 0).sum() > 300
    *_, order, _, _ = round_of(problem, 3)
    np.testing.assert_array_equal(order, np.arange(900))


def test_one_thread_that_the_others_leave_does_all_parts(monkeypatch):
    """Threads that come when all is done find nothing; so does one that waits in vain."""
    problem = linear_dual(*blobs(800, 5))
    d, shared = problem.design, Shared.allocate(problem, 4)
    order, beta, v = np.arange(800), np.zeros(800), np.zeros(d.width)
    given = d.rows, d.bias, order, beta, v, np.array([np.inf, -np.inf]), True, 3000, 3, shared
    workers._cut(800, shared)
    workers._work(*given)  # no part may be taken yet: it leaves
    assert not beta.any()
    shared.counters[workers.OPEN] = 4
    workers._work(*given)
    assert shared.counters[workers.OPEN] == workers.LAST and shared.sums[0] == 3
    after = beta.copy()
    workers._work(*given)
    np.testing.assert_array_equal(beta, after)
    np.testing.assert_allclose(v, problem.weights(beta), atol=1e-10)


@njit(nogil=True)
def counted(first, last, counters, taken):
    """Each thread takes numbers, one after the other, until 10,000 are gone."""
    for _ in range(first, last):
        while True:
            k = atomic.read(counters, 0)
            if k >= taken.size:
                break
            if atomic.swap(counters, 0, k, k + 1):
                taken[k] += 1
                atomic.add(counters, 8, 1)
    atomic.write(counters, 16, 7)


def test_counters_lose_nothing():
    counters, taken = np.zeros(24, dtype=np.int64), np.zeros(10_000, dtype=np.int64)
    threads.spread(counted, 4, threads.LEAST, counters, taken)
    assert (taken == 1).all()
    assert (counters[[0, 8, 16]] == [10_000, 10_000, 7]).all()


def test_each_pass_over_rows_on_disk_has_an_order_of_its_own(monkeypatch):
    seeds = []
    monkeypatch.setattr(blocks, "passes", lambda *given: seeds.append(int(given[9])))
    own = blocks.Blocks.__new__(blocks.Blocks)
    points = SimpleNamespace(rows=np.zeros((4, 5)), below=None)
    own.problem = SimpleNamespace(points=points, design=SimpleNamespace(bias=1.0))
    for rng in (np.random.default_rng(0), np.random.default_rng(0), np.random.default_rng(1), None):
        how = np.zeros(2), np.zeros(2), True, rng, (0, 1)
        for _ in range(100):
            own._pass(None, slice(None), np.arange(4), 4, np.zeros(4), how)
    first, again, other, none = (seeds[k : k + 100] for k in range(0, 400, 100))
    assert len(set(first)) == 100 and first == again and not set(first) & set(other)
    assert set(none) == {0} and 0 not in first  # which keeps the order of the rows
