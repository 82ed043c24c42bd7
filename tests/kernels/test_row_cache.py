"""The row cache by itself, with rows that are numbers: which row goes, what is guessed, and what fits."""

import re

import numpy as np
import pytest

from svmkit.errors import InputError
from svmkit.kernels import RBF
from svmkit.kernels.gram import Gram, parse_bytes, row_cache
from svmkit.kernels.gram.row_cache import MIB, RowCache
from svmkit.kernels.loops.row_loops import find, in_order

M = 100


def cache_of(slots, m=M, batch=1):
    """A cache of `slots` rows of length m, and the list of the rows that it asks for."""
    cache = RowCache(m, (slots + 1) * m * 8, np.float64, batch)
    assert cache.slots == slots or batch > 1
    asked = []

    def compute(idx, out):
        asked.append(idx.tolist())
        out[:] = idx[:, None] * 1000.0 + np.arange(out.shape[1])

    return cache, asked, compute


def held(cache):
    return set(np.flatnonzero(cache.table.slot_of >= 0).tolist())


def holds_what_it_says(cache, columns=None):
    for i in held(cache):
        row = 1000.0 * (i if columns is None else columns[i]) + (np.arange(cache.m) if columns is None else columns)
        np.testing.assert_array_equal(cache.slab[cache.table.slot_of[i]], row)


# --- which row goes


@pytest.mark.parametrize("use", ["get", "row", "find", "bring"])
def test_every_kind_of_use_keeps_a_row(use):
    """Among 40 slots, five at a time are sorted by age: a row that was used since must not go."""
    cache, asked, compute = cache_of(40)
    for i in range(40):
        cache.row(i, compute)
    cache.row(40, compute)
    assert held(cache) == set(range(1, 41))  # row 0 has gone, and rows 1 to 4 are next in line
    use_row = {
        "get": cache.get,
        "row": lambda i: cache.row(i, compute),
        "find": lambda i: find(cache.table, i),
        "bring": lambda i: cache.bring(np.array([i]), compute),
    }[use]
    for i in (2, 4, 1):
        use_row(i)
    assert len(asked) == 41
    for i in range(41, 48):
        cache.row(i, compute)
    assert held(cache) == {1, 2, 4, *range(10 + 1, 48)}
    holds_what_it_says(cache)


def test_rows_go_in_the_order_of_their_last_use():
    cache, _, compute = cache_of(16)
    for i in range(16):
        cache.row(i, compute)
    order = np.random.default_rng(0).permutation(16).tolist()
    for i in order:
        cache.get(i)
    for k in range(16):
        cache.row(50 + k, compute)
        assert held(cache) == {*order[k + 1 :], *range(50, 51 + k)}


def test_a_cache_that_is_not_full_drops_nothing():
    cache, asked, compute = cache_of(16)
    rows = [M - 1, *range(15)]
    for i in rows:
        cache.row(i, compute)
        assert cache.table.slot_of[i] == len(asked) - 1
    assert held(cache) == set(rows) and len(asked) == 16


def test_a_row_that_is_not_there_is_none_and_counts_as_no_use():
    cache, _, compute = cache_of(8)
    assert cache.get(0) is None and find(cache.table, 0) == -1 and cache.table.clock[0] == 0
    cache.row(0, compute)
    assert cache.table.clock[0] == 1 and find(cache.table, 0) == cache.table.slot_of[0] == 0
    assert cache.table.clock[0] == cache.table.used[0] == 2
    assert cache.get(0) is not None and cache.table.clock[0] == cache.table.used[0] == 3


# --- rows that are computed together


def test_rows_are_brought_a_batch_at_a_time():
    cache, asked, compute = cache_of(0, batch=4)
    cache = RowCache(M, 40 * M * 8, np.float64, 4)
    cache.row(7, compute)
    cache.bring(np.array([3, 7, 9, 1, 12, 15, 18]), compute)
    assert asked == [[7], [3, 9, 1, 12], [15, 18]]
    assert held(cache) == {1, 3, 7, 9, 12, 15, 18} and not cache.table.guessed.any()
    holds_what_it_says(cache)


def test_a_guess_fills_the_batch_with_likely_rows_that_are_missing():
    cache = RowCache(M, 40 * M * 8, np.float64, 4)
    _, asked, compute = cache_of(0, batch=4)
    cache.row(0, compute)
    likely = np.array([0, 5, 6, 7, 8, 9])
    cache.row(5, compute, lambda: likely)
    assert asked[1:] == [[6, 7, 8, 5]] and held(cache) == {0, 5, 6, 7, 8}
    np.testing.assert_array_equal(np.flatnonzero(cache.table.guessed), cache.table.slot_of[[6, 7, 8]])
    cache.row(6, compute, lambda: likely)  # it is there: nothing is guessed
    assert len(asked) == 2
    cache.row(20, compute, lambda: likely[:0])
    assert asked[2:] == [[20]]
    holds_what_it_says(cache)


@pytest.mark.parametrize("way", ["get", "find"])
def test_a_guess_that_is_asked_for_counts_once(way):
    cache = RowCache(M, 40 * M * 8, np.float64, 4)
    _, _, compute = cache_of(0, batch=4)
    ask = cache.get if way == "get" else (lambda i: find(cache.table, i))
    cache.row(0, compute, lambda: np.arange(10))
    uses = float(cache.table.uses[0])
    assert uses == 99.0  # older ones count less
    for i in (0, 2, 2, 2):
        ask(i)
        assert cache.table.guessed[cache.table.slot_of[[1, 2, 3]]].tolist() == [True, i == 0, True]
    assert cache.table.uses[0] == uses + 1.0


def test_guesses_end_when_few_of_them_help_and_are_tried_again_from_time_to_time():
    cache = RowCache(1000, 40 * 1000 * 8, np.float64, 4)
    _, asked, compute = cache_of(0, batch=4)
    for i in range(100, 500):  # three wrong guesses at a time
        cache.row(i, compute, lambda i=i: np.arange(3) + 500 + 3 * (i % 100))
    sizes = [len(rows) for rows in asked]
    first = sizes.index(1)
    guesses, uses = 100.0, 100.0
    for _ in range(first):
        assert uses >= 0.25 * guesses
        guesses, uses = 0.99 * guesses + 3.0, 0.99 * uses
    assert uses < 0.25 * guesses and 50 < first < 100
    assert sizes[:first] == [4] * first
    assert [k - first for k in range(first, 400) if sizes[k] == 4] == list(range(31, 400 - first, 32))


def test_guesses_that_help_go_on():
    cache = RowCache(1000, 40 * 1000 * 8, np.float64, 4)
    _, asked, compute = cache_of(0, batch=4)
    for i in range(0, 800, 4):
        cache.row(i, compute, lambda i=i: np.arange(i + 1, i + 4))
        cache.row(i + 1, compute)
    assert all(len(rows) == 4 for rows in asked)


def test_a_guessed_row_that_went_is_not_a_guess_when_it_comes_back():
    cache = RowCache(M, 6 * M * 8, np.float64, 4)
    _, _, compute = cache_of(0, batch=4)
    assert (cache.slots, len(cache.landing)) == (5, 1)  # nothing is guessed with room for a single row
    cache.row(0, compute, lambda: np.arange(10))
    assert held(cache) == {0}
    cache = RowCache(M, 16 * M * 8, np.float64, 2)
    assert (cache.slots, len(cache.landing)) == (14, 2)
    cache.row(0, compute, lambda: np.arange(10))
    assert held(cache) == {0, 1} and cache.table.guessed.sum() == 1
    for i in range(20, 34):
        cache.row(i, compute)
    assert not held(cache) & {0, 1} and not cache.table.guessed.any()


# --- what fits


@pytest.mark.parametrize(
    ("m", "rows", "batch", "slots", "landing"),
    [(100, 1, 1, 4, 1), (100, 9, 1, 8, 1), (100, 16, 32, 14, 2), (100, 1000, 32, 116, 16), (3, 1000, 8, 5, 1)],
)
def test_slots_and_landing(m, rows, batch, slots, landing):
    cache = RowCache(m, rows * m * 8, np.float64, batch)
    assert (cache.slots, len(cache.landing)) == (slots, landing)
    assert cache.table.quantum == 0.0  # the rows are the values themselves
    assert cache.slab.shape == (slots + landing, m) and len(cache.table.slab) == slots
    assert np.shares_memory(cache.slab, cache.landing)


def test_a_table_in_order_misses_nothing():
    slab = np.arange(12.0).reshape(4, 3)
    table = in_order(slab, 3, 0.5)
    assert [find(table, i) for i in (2, 0, 1)] == [2, 0, 1]
    assert table.used.tolist() == [2, 3, 1] and table.clock.tolist() == [3] and table.uses.tolist() == [0.0]
    assert table.quantum == 0.5 and table.slab is slab


# --- fewer rows and columns


def test_restricting_keeps_values_ages_and_room():
    cache, asked, compute = cache_of(24)
    for i in (90, 3, 8, 50, 9, 70, 10):
        cache.row(i, compute)
    cache.get(8)
    among = np.array([3, 8, 9, 10, 40, 70, 90])
    memory, clock = cache.slab, cache.table.clock[0]
    cache.restrict(among)
    assert np.shares_memory(memory, cache.slab) and cache.slab.nbytes <= memory.nbytes and cache.m == 7
    assert held(cache) == {0, 1, 2, 3, 5, 6} and cache.table.clock[0] == clock
    holds_what_it_says(cache, among)
    ages = [cache.table.used[cache.table.slot_of[i]] for i in (6, 0, 2, 5, 3, 1)]  # 90, 3, 9, 70, 10, 8
    assert ages == sorted(ages) and ages[-1] == clock
    assert cache.slots == 7 and len(asked) == 7

    def compute_among(idx, out):
        out[:] = 1000.0 * among[idx][:, None] + among

    cache.row(4, compute_among)
    assert held(cache) == set(range(7))
    holds_what_it_says(cache, among)
    cache.widen(M)
    assert held(cache) == set() and cache.slots == 24 and cache.m == M
    cache.row(11, compute)
    holds_what_it_says(cache)


def test_after_restricting_the_oldest_row_still_goes_first():
    cache, _, compute = cache_of(6, m=40)
    for i in (4, 1, 7, 20, 5, 0):
        cache.row(i, compute)
    cache.get(4)
    cache.restrict(np.arange(20))
    assert cache.slots == 13 and held(cache) == {0, 1, 4, 5, 7}
    for i in range(8, 16):
        cache.row(i, compute)
    for k, gone in enumerate((1, 7, 5, 0, 4, 8)):
        assert gone in held(cache)
        cache.row((2, 3, 6, 16, 17, 18)[k], compute)
        assert gone not in held(cache) and len(held(cache)) == 13
    holds_what_it_says(cache)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_budget_without_room_for_the_fewest_rows_names_the_least_that_has(dtype):
    """The slab is not written to, so that it takes no memory here."""
    m = 6_000_000
    with pytest.raises(InputError, match=r"too little for 6,000,000 samples: give at least \d+MB") as refused:
        RowCache(m, parse_bytes("105MB"), dtype, 1)
    least = parse_bytes(re.search(r"at least (\w+)", str(refused.value))[1])
    assert len(RowCache(m, least, dtype, 1).slab) >= 4
    with pytest.raises(InputError):
        RowCache(m, least - 2 * MIB, dtype, 1)
    assert RowCache(1000, 1, dtype, 1).slots == 4  # no budget is too small for a few samples


def test_a_gram_keeps_float32_rows_where_float64_rows_have_no_room(monkeypatch):
    gram = Gram(RBF(1.0), np.zeros((100, 1)), memory=3000, dtype=np.float32)
    monkeypatch.setattr(row_cache, "SPARE", 0)
    assert gram.row(3).dtype == np.float32 and not gram.promote() and gram.dtype == np.float32
    assert Gram(RBF(1.0), np.zeros((100, 1)), memory=5000, dtype=np.float32).promote()
