"""Arrays on local disk: what they hold, how they are recognised, and the windows in which they are read."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp

from svmkit.data.dataset import Dataset
from svmkit.data.prepare.features import require_finite, require_finite_when_read
from svmkit.data.prepare.moments import Moments
from svmkit.data.prepare.scaling import Scaling, scale_hint
from svmkit.errors import InputError
from svmkit.kernels.loops.norms import square_norms
from svmkit.runtime import mapping


def mapped(X):
    """The same features on local disk."""
    if isinstance(X, np.ndarray):
        return mapping.write_blocks(X.dtype, [X]).reshape(X.shape)
    data, indices = (mapping.write_blocks(array.dtype, [array]) for array in (X.data, X.indices))
    return mapping.with_arrays(X, data, indices, X.indptr)


@pytest.fixture(params=["dense", "float32", "sparse"])
def X(request):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((500, 7)) < 0.4, rng.normal(3.0, 2.0, (500, 7)), 0.0)
    X[:, 2] *= 1e4
    X[:, 3] = 1.0
    return {"dense": X, "float32": X.astype(np.float32), "sparse": sp.csr_array(X)}[request.param]


def as_dense(X):
    return X if isinstance(X, np.ndarray) else X.toarray()


def test_an_array_that_grows():
    array = mapping.DiskArray(np.int32)
    for spills in (False, True):
        array.append(np.arange(5))
        if spills:
            array.spill()
    array.append(np.arange(3))
    array.truncate(11)
    array.append([7])
    values = array.finish()
    assert values.tolist() == [*range(5), *range(5), 0, 7] and mapping.map_of(values) is not None
    assert not mapping.is_mapped(np.arange(3)) and mapping.DiskArray(float).finish().shape == (0,)


def test_features_are_recognised(X):
    there = mapped(X)
    assert mapping.is_mapped(there) and not mapping.is_mapped(X)
    assert mapping.size_of(there) == mapping.size_of(X)


@pytest.mark.parametrize("size", [1, 1000, 1 << 30])
def test_windows_are_all_rows_once(X, size):
    there, seen = mapped(X), []
    for lo, hi in mapping.windows(there, size):
        seen += range(lo, hi)
        assert np.array_equal(as_dense(there[lo:hi]), as_dense(X[lo:hi]))
    assert seen == list(range(500)) and list(mapping.windows(X, size)) == [(0, 500)]
    assert np.array_equal(as_dense(there), as_dense(X)), "released pages are read again"


def test_windows_that_are_left_leave_no_thread(X):
    before = threading.active_count()
    for _ in mapping.windows(mapped(X), 1000):
        break
    assert threading.active_count() == before


def test_windows_are_read_ahead_in_order_and_not_too_far(X, monkeypatch):
    reading, worked_on, read, most = [], [], mapping._read, mapping.AHEAD

    def note(there, first, last):
        reading.append((first, last))
        assert len(reading) <= len(worked_on) + most
        read(there, first, last)

    monkeypatch.setattr(mapping, "_read", note)
    for window in mapping.windows(mapped(X), 1000):
        assert window in reading, "it was read before"
        worked_on.append(window)
    assert reading == worked_on and len(worked_on) > 2 * most


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_windows_come_also_where_they_cannot_be_read_ahead(X, monkeypatch):
    def fail(*given):
        raise OSError("no")

    monkeypatch.setattr(mapping, "_read", fail)
    ends = [last for _, last in mapping.windows(mapped(X), 1000)]
    assert ends[-1] == 500 and len(ends) > 2 * mapping.AHEAD


def test_rows_in_runs_are_copied(X, monkeypatch):
    monkeypatch.setattr(mapping, "CHUNK", 1 << 11)
    starts = np.arange(0, 500, 9)[:, None]
    for rows in (np.arange(500), np.arange(3, 500, 7), (starts + np.arange(4)).ravel()[:200], np.array([499])):
        copied = mapping.copy_rows(mapped(X), rows)
        np.testing.assert_array_equal(as_dense(copied), as_dense(X)[rows])
        assert not mapping.is_mapped(copied)


def test_some_rows(X):
    rows = np.random.default_rng(1).permutation(500)[:200]
    some = mapping.take(mapped(X), rows)
    assert mapping.is_mapped(some) and np.array_equal(as_dense(some), as_dense(X)[rows]) and some.dtype == X.dtype
    assert np.array_equal(as_dense(mapping.take(X, rows)), as_dense(X)[rows])


@pytest.mark.parametrize("kind", ["standard", "maxabs", "minmax"])
def test_scaling_is_the_same(X, kind):
    if kind == "minmax" and not isinstance(X, np.ndarray):
        pytest.skip("minmax fills in the zeros")
    there, here = Scaling.fit(kind, mapped(X)), Scaling.fit(kind, X)
    np.testing.assert_allclose(there.center, here.center, rtol=1e-12)
    np.testing.assert_allclose(there.scale, here.scale, rtol=1e-12)
    scaled = here.apply(mapped(X))
    assert mapping.is_mapped(scaled) and np.array_equal(as_dense(scaled), as_dense(here.apply(X)))
    assert scale_hint(mapped(X)) == scale_hint(X) is not None


@pytest.mark.parametrize("many", [0, 1 << 24])
def test_moments_of_every_window(X, many, monkeypatch):
    monkeypatch.setattr(mapping, "WINDOW", 1000)
    monkeypatch.setattr("svmkit.data.prepare.moments._MANY", many)
    monkeypatch.setattr("svmkit.data.prepare.moments._CHUNK", 40)
    there, dense = mapped(X), as_dense(X).astype(np.float64)
    found = Moments.from_rows(there)
    np.testing.assert_allclose(found.mean, dense.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.variance, dense.var(axis=0), rtol=1e-9, atol=1e-12)
    assert np.array_equal(found.low, dense.min(axis=0)) and np.array_equal(found.high, dense.max(axis=0))
    assert Moments.from_rows(there) is found, "they are computed once"
    if isinstance(there, np.ndarray):
        np.testing.assert_allclose(mapping.take_norms(there), np.square(dense).sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("many", [0, 1 << 24])
def test_what_is_not_finite_is_found(X, many, monkeypatch):
    monkeypatch.setattr("svmkit.data.prepare.moments._MANY", many)
    bad = X.copy()
    if isinstance(bad, np.ndarray):
        bad[450, 1], row = np.nan, 451
        first = bad.copy()
        first[0, 2] = np.inf
        with pytest.raises(InputError, match="at row 1, column 3"):
            require_finite(mapped(first))
    else:
        bad.data[-1] = np.nan
        row = int(np.searchsorted(bad.indptr, bad.nnz - 1, side="right"))
    with pytest.raises(InputError, match=f"NaN at row {row}"):
        require_finite(mapped(bad))
    require_finite(mapped(X))


def test_a_map_that_can_be_written_to_is_looked_at_again(tmp_path):
    X = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", np.float64, (20, 2))
    X[:] = 1.0
    require_finite(X)
    X[7, 1] = np.inf
    with pytest.raises(InputError, match="row 8, column 2"):
        require_finite(X)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_norms_come_from_the_pass_that_looks_for_holes(dtype, monkeypatch):
    """They are given away once, and those of a part of the rows, or of rows that can be written to, never."""
    X = np.random.default_rng(0).normal(size=(700, 7)).astype(dtype)
    known = np.square(X.astype(np.float64)).sum(axis=1)
    kept, windows = mapped(X), mapping.windows
    require_finite(kept)
    passes = []
    monkeypatch.setattr(mapping, "windows", lambda X: passes.append(len(X)) or windows(X))
    np.testing.assert_allclose(square_norms(kept[:100]), known[:100], rtol=1e-12)
    assert passes == [100]
    for read in ([100], [100, 700]):
        np.testing.assert_allclose(square_norms(kept), known, rtol=1e-12)
        assert passes == read
    assert mapping.take_norms(X) is None


def unexamined(X):
    kept = mapped(X)
    require_finite_when_read(kept, what="the rows")
    return kept


def test_the_first_pass_over_all_rows_looks_at_them():
    """A pass that ends before does not count, nor one over a part of the rows."""
    X = np.random.default_rng(0).normal(size=(700, 7)).astype(np.float32)
    kept, known = unexamined(X), np.square(X.astype(np.float64)).sum(axis=1)
    norms = mapping.examination_of(kept).norms
    for _ in mapping.windows(kept[:100]):
        assert np.isnan(norms).all()
    for lo, hi in mapping.windows(kept, 3000):
        np.testing.assert_allclose(norms[lo:hi], known[lo:hi], rtol=1e-12)
        assert np.isnan(norms[hi:]).all()
        if lo > 0:
            break
    assert mapping.examination_of(kept) is not None and not mapping.is_examined(kept)
    mapping.examine(kept)
    assert mapping.examination_of(kept) is None and mapping.is_examined(kept) and not mapping.is_examined(kept[:100])
    assert mapping.take_norms(kept) is norms
    np.testing.assert_allclose(norms, known, rtol=1e-12)
    mapping.examine(mapped(X))  # which awaits nothing


@pytest.mark.parametrize(
    "read",
    [
        mapping.examine,
        require_finite,
        lambda X: mapping.take(X, np.arange(5)),
        lambda X: mapping.copy_rows(X, np.arange(600, 700)),
        lambda X: list(mapping.windows(X)),
        lambda X: Moments.from_rows(X),
    ],
)
@pytest.mark.parametrize("value, word", [(np.nan, "NaN"), (-np.inf, "infinity")])
def test_whatever_reads_rows_first_names_the_first_that_is_not_finite(read, value, word):
    X = np.random.default_rng(0).normal(size=(700, 7)).astype(np.float32)
    X[650, 2], X[333, 5] = np.inf, value
    kept = unexamined(X)
    with pytest.raises(InputError, match=rf"^the rows contains {word}.* at row 334, column 6 "):
        read(kept)


def test_rows_of_other_types_are_looked_at_at_once():
    """The square of an entry of float64 may overflow."""
    X = np.full((3, 2), 1e200)
    assert mapping.examination_of(unexamined(X)) is None
    X[1, 1] = np.nan
    with pytest.raises(InputError, match="the rows contains NaN at row 2, column 2 "):
        unexamined(X)


def test_a_sample_has_runs_from_all_over():
    X = mapped(np.repeat(np.arange(5000, dtype=np.float32), 6000).reshape(5000, 6000))
    rows = mapping.sample_rows(X)[:, 0].astype(int)
    assert rows[0] == 0 and rows[-1] == 4999 and rows.size * 6000 * 4 <= mapping.CHUNK
    assert set(np.diff(rows[: mapping.RUN])) == {1} and mapping.sample_rows(X[:3]).shape == (3, 6000)


def test_a_fingerprint_is_made_by_windows(monkeypatch):
    """So that the pages of the file do not fill the memory; it is that of the rows in memory."""
    X = np.random.default_rng(0).normal(size=(700, 7)).round().astype(np.float32)
    monkeypatch.setattr(mapping, "WINDOW", 1000)
    released, release = [], mapping.release
    monkeypatch.setattr(mapping, "release", lambda X, lo, hi: released.append((lo, hi)) or release(X, lo, hi))
    here, there = Dataset(X, None, "toy"), Dataset(mapped(X), None, "toy")
    assert here.fingerprint() == there.fingerprint() and released[-1] == (700 // 35 * 35 - 35, 700)
    assert here.describe() == there.describe() and len(released) == 40
