"""Memory-mapped arrays on local disk: written piece by piece, recognised, and kept from filling the memory.

Pages of a mapped file that have been read count as memory of the process, although the system can drop them at any
time. Such features are therefore read by `windows`, which release their pages.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import pairwise
from threading import Semaphore, Thread
from typing import Any, Protocol, Self
from weakref import WeakKeyDictionary

import numpy as np

from svmkit.errors import InputError

WINDOW = 32 << 20  # bytes of the rows that are read together
AHEAD = 3  # windows that are read ahead
CHUNK = 8 << 20  # bytes that are copied together
RUNS = 8  # number of runs that are copied together, each of which may have 2 MB of the file mapped
RUN = 64  # consecutive rows of a sample
TOUCHED = 4 << 20  # bytes whose pages are loaded together: enough that numpy releases the interpreter lock
NUMBERS = 14  # 8-byte numbers that a linear fit of two classes keeps for each row besides X and y at its peak


class Stack:
    """An array that grows in place by blocks, in a type that contains the types of all blocks.

    Parameters
    ----------
    dtype : dtype
        Type of the values.
    """

    def __init__(self, dtype: Any) -> None:
        self.array = np.empty(0, dtype)

    def add(self, block: np.ndarray) -> None:
        """Add the values of a block (n,)."""
        n = len(self.array)
        self.array = self.array.astype(np.result_type(self.array, block), copy=False)
        self.array.resize(n + len(block), refcheck=False)
        self.array[n:] = block


class DiskArray:
    """A one-dimensional array that grows at its end: in memory, and in a file after `spill`.

    The file has no name, so that it disappears however the process ends.

    Parameters
    ----------
    dtype : dtype
        Type of the values.
    folder : str or Path, default=None
        Folder of the file; None is that of temporary files.
    """

    def __init__(self, dtype: Any, folder: str | os.PathLike[str] | None = None) -> None:
        self.dtype, self.folder = np.dtype(dtype), folder
        self._held = Stack(self.dtype)  # in memory
        self._file: Any = None
        self.size = 0  # number of values

    @property
    def nbytes(self) -> int:
        """The bytes of all values."""
        return self.size * self.dtype.itemsize

    def append(self, values: np.ndarray) -> None:
        """Add values of the array's type at the end; raise InputError if the disk is full."""
        values = np.ascontiguousarray(values, dtype=self.dtype).reshape(-1)
        self.size += values.size
        if self._file is None:
            self._held.add(values)
        else:
            self._write(values)

    def spill(self) -> None:
        """Move the values to a file, to which later ones are also written."""
        if self._file is not None:
            return
        try:
            self._file = tempfile.TemporaryFile(prefix="svmkit-rows-", dir=self.folder, buffering=0)  # noqa: SIM115
        except OSError as err:
            raise InputError(f"{self._place}: cannot be written to ({err.strerror or err}): {_ROOM}") from err
        self._write(self._held.array)
        self._held = Stack(self.dtype)

    def truncate(self, size: int) -> None:
        """Drop the values from index `size` on."""
        if self._file is not None:
            self._file.truncate(size * self.dtype.itemsize)
            self._file.seek(0, os.SEEK_END)
        else:
            self._held.array.resize(size, refcheck=False)
        self.size = size

    def finish(self) -> np.ndarray:
        """Return all values, as one array in memory or mapped to the file; nothing can be added afterwards."""
        if self._file is None:
            return self._held.array
        if not self.size:
            return np.empty(0, self.dtype)
        with self._file as file:
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), self.dtype)

    @property
    def _place(self) -> str:
        return str(self.folder or tempfile.gettempdir())

    def _write(self, values: np.ndarray) -> None:
        content = values.view(np.uint8).data
        try:
            while len(content):
                content = content[self._file.write(content[:CHUNK]) :]
        except OSError as err:
            self._file.close()
            raise InputError(
                f"{self._place}: has no room for the rows ({err.strerror or err}, after {self.nbytes / 1e6:,.0f} MB): "
                f"{_ROOM}"
            ) from err


_ROOM = "make room there, or name another folder in TMPDIR"


def map_of(array: Any) -> mmap.mmap | None:
    """Return the map of a file behind an array, or None if there is none."""
    while array is not None and not isinstance(array, mmap.mmap):
        array = array.obj if isinstance(array, memoryview) else getattr(array, "base", None)
    return array


def maps_of(X: Any) -> list[mmap.mmap]:
    """Return the maps behind features, dense or sparse; an empty list if they are in memory."""
    arrays = (X,) if isinstance(X, np.ndarray) else (getattr(X, "data", None), getattr(X, "indices", None))
    return [mapped for mapped in map(map_of, arrays) if mapped is not None]


def is_mapped(X: Any) -> bool:
    """Return whether features, dense or sparse, are mapped to a file."""
    if isinstance(X, np.ndarray):
        return map_of(X) is not None
    return map_of(getattr(X, "data", None)) is not None or map_of(getattr(X, "indices", None)) is not None


# by the map of the values: their location, and the square norms of the rows that another pass has computed
_norms: WeakKeyDictionary[mmap.mmap, tuple[tuple[Any, ...], np.ndarray]] = WeakKeyDictionary()


def offer_norms(X: np.ndarray, norms: np.ndarray) -> None:
    """Keep the square norms (n,) of the rows of a read-only map until they are requested; ignore other features."""
    mapped = map_of(X)
    if mapped is not None and not X.flags.writeable:
        _norms[mapped] = _place(X), norms


def take_norms(X: np.ndarray) -> np.ndarray | None:
    """Return the square norms that were offered for these rows, once; None if there are none."""
    mapped = map_of(X) if _norms else None
    if mapped is None or mapped not in _norms or _norms[mapped][0] != _place(X):
        return None
    return _norms.pop(mapped)[1]


class Examination(Protocol):
    """An examination of rows while a pass for another purpose has them in memory.

    Attributes
    ----------
    norms : ndarray of float64, shape (n,)
        The square norms of the rows: NaN until they have been examined.
    """

    norms: np.ndarray

    def look(self, rows: np.ndarray, first: int) -> None:
        """Examine rows from index `first` on; raise InputError if they are invalid."""


# by the map of the values: their location, and the examination for the first pass over all of them
_awaited: WeakKeyDictionary[mmap.mmap, tuple[tuple[Any, ...], Examination]] = WeakKeyDictionary()
_examined: WeakKeyDictionary[mmap.mmap, tuple[Any, ...]] = WeakKeyDictionary()  # locations of examined rows


def examine_when_read(X: np.ndarray, examination: Examination) -> None:
    """Examine the rows of a read-only map (n, d) in the first pass over all of them by `windows`."""
    mapped = map_of(X)
    assert mapped is not None and not X.flags.writeable
    _awaited[mapped] = _place(X), examination


def examination_of(X: Any) -> Examination | None:
    """Return the pending examination of these rows; None if there is none."""
    mapped = map_of(X) if _awaited and isinstance(X, np.ndarray) else None
    if mapped is None or mapped not in _awaited or _awaited[mapped][0] != _place(X):
        return None
    return _awaited[mapped][1]


def is_examined(X: Any) -> bool:
    """Return whether exactly these rows have been examined in a pass for another purpose."""
    mapped = map_of(X) if _examined and isinstance(X, np.ndarray) else None
    return mapped is not None and _examined.get(mapped) == _place(X)


def examine(X: Any) -> None:
    """Examine rows that still await it, in a separate pass."""
    if examination_of(X) is not None:
        for _ in windows(X):
            pass


def _end_examination(X: np.ndarray, examination: Examination) -> None:
    """Record that all rows have been examined, and keep their norms for the first caller of `take_norms`."""
    mapped = map_of(X)
    if mapped is not None and _awaited.pop(mapped, None) is not None:
        _examined[mapped] = _place(X)
        offer_norms(X, examination.norms)


# by the map of the values: their location, the weights (d,) and the constant of a linear function, and its values (n,)
_decisions: WeakKeyDictionary[mmap.mmap, tuple[tuple[Any, ...], np.ndarray, float, np.ndarray]] = WeakKeyDictionary()


def offer_decisions(X: Any, w: np.ndarray, intercept: float, h: np.ndarray) -> None:
    """Keep the values of a linear function until they are requested, or replaced by those of another function.

    Parameters
    ----------
    X : array or CSR array of shape (n, d)
        The rows, whose values are read-only maps; for others nothing is kept.
    w, intercept, h : ndarray of shape (d,), float, ndarray of shape (n,)
        The weights and the constant of the function, and its values.
    """
    values = X if isinstance(X, np.ndarray) else X.data
    mapped = map_of(values)
    if mapped is not None and not values.flags.writeable:
        _decisions[mapped] = (*_place(values), X.shape), w, intercept, h


def take_decisions(X: Any, w: np.ndarray, intercept: float) -> np.ndarray | None:
    """Return the values that were offered for these rows and exactly this function, once; None if there are none."""
    values = X if isinstance(X, np.ndarray) else getattr(X, "data", None)
    mapped = map_of(values) if _decisions else None
    if values is None or mapped is None or mapped not in _decisions:
        return None
    place, known, constant, h = _decisions[mapped]
    if place != (*_place(values), X.shape) or constant != intercept or not np.array_equal(known, w):
        return None
    del _decisions[mapped]
    return h


def _place(X: np.ndarray) -> tuple[Any, ...]:
    return X.ctypes.data, X.strides, X.shape


def write_blocks(dtype: Any, blocks: Iterable[np.ndarray]) -> np.ndarray:
    """Return the values of some blocks as one array (size,) that is mapped to a file."""
    out = DiskArray(dtype)
    out.spill()
    for block in blocks:
        out.append(block)
    return out.finish()


def take(X: Any, rows: np.ndarray) -> Any:
    """Return some rows of features (n, d), dense or CSR, by index: on local disk if X is mapped to a file."""
    if not is_mapped(X):
        return X[rows]
    examine(X)
    is_dense = isinstance(X, np.ndarray)
    step = max(1, CHUNK * X.shape[0] // max(1, size_of(X)))
    starts = range(0, len(rows), step)
    if is_dense:
        return write_blocks(X.dtype, (X[rows[lo : lo + step]] for lo in starts)).reshape(len(rows), -1)
    data = write_blocks(X.data.dtype, (X[rows[lo : lo + step]].data for lo in starts))
    indices = write_blocks(X.indices.dtype, (X[rows[lo : lo + step]].indices for lo in starts))
    pointers = np.append(0, np.cumsum(np.diff(X.indptr)[rows], dtype=np.int64))
    return with_arrays(X, data, indices, pointers.astype(X.indptr.dtype))


def copy_rows(X: Any, rows: np.ndarray) -> Any:
    """Return some rows of features (n, d), dense or CSR, in memory, by ascending index; no page of a map stays."""
    if not is_mapped(X):
        return X[rows]
    if not isinstance(X, np.ndarray):
        copied = X[rows]
        release(X, 0, X.shape[0])
        return copied
    out = np.empty((len(rows), X.shape[1]), X.dtype)
    step = max(1, CHUNK // max(1, X.shape[1] * X.itemsize))
    for lo in range(0, len(rows), step):
        here = rows[lo : lo + step]
        runs = np.split(np.arange(lo, lo + len(here)), np.flatnonzero(np.diff(here) > 1) + 1)
        for run in runs:  # all runs at once, and no rows around them
            fetch(X, int(rows[run[0]]), int(rows[run[-1]]) + 1)
        for k in range(0, len(runs), RUNS):
            at = slice(int(runs[k][0]), int(runs[min(k + RUNS, len(runs)) - 1][-1]) + 1)
            out[at] = X[rows[at]]
            release(X, int(rows[at.start]), int(rows[at.stop - 1]) + 1)
        if examination_of(X) is not None and not np.isfinite(out[lo : lo + len(here)]).all():
            examine(X)  # reports the first of all entries that are not finite
    return out


def sample_rows(X: np.ndarray) -> np.ndarray:
    """Return rows from all over X (n, d), in runs of RUN, in memory: up to CHUNK bytes of them, or one run."""
    n = len(X)
    count = max(1, min(n, CHUNK // max(1, X.shape[1] * X.itemsize)) // RUN)
    starts = np.linspace(0, n - 1, count, dtype=np.int64)
    return copy_rows(X, np.unique(np.minimum(starts[:, None] + np.arange(RUN), n - 1)))


def with_arrays(X: Any, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray) -> Any:
    """Return a CSR array of these arrays, with the columns and canonical flags of X, without checking them.

    Parameters
    ----------
    X, data, indices, indptr : object, ndarray, ndarray, ndarray
        The CSR matrix that the arrays are made from, and the arrays.
    """
    out = type(X)((data, indices, indptr), shape=(len(indptr) - 1, X.shape[1]), copy=False)
    out.has_canonical_format = X.has_canonical_format
    return out


def size_of(X: Any) -> int:
    """Return the bytes of features (n, d), dense or CSR, without row pointers."""
    return X.data.nbytes + X.indices.nbytes if hasattr(X, "indptr") else X.nbytes


def windows(X: Any, size: int | None = None) -> Iterator[tuple[int, int]]:
    """Yield the ranges of rows, first and one past the last, in which features are to be read: all rows if in memory.

    For features that are mapped to a file, a thread reads the next windows while the caller works on one, and the pages
    of a processed window are released, so that they do not count as memory of the process. Rows with a pending
    `Examination` are examined before the caller gets them.

    Parameters
    ----------
    X : ndarray of shape (n, d), or CSR matrix or arrays
        The features.
    size : int, default=None
        The bytes of a window; None is 32 MiB, and at least one row.
    """
    n = len(X.indptr) - 1 if hasattr(X, "indptr") else len(X)
    if not is_mapped(X):
        yield 0, n
        return
    ends, examination = window_ends(X, size or WINDOW), examination_of(X)
    with _Reader(X, ends) as reader:
        for first, last in pairwise(ends.tolist()):
            reader.wait()
            if examination is not None:
                examination.look(X[first:last], first)
            yield first, last
            release(X, first, last)
            reader.free()
    if examination is not None:
        _end_examination(X, examination)


class _Reader:
    """A thread that loads windows into the page cache, up to AHEAD of them before they are processed.

    One thread reads all windows: starting one takes 2 ms while compiled loops run, and reading ahead evens out windows
    that take long to read or to process.

    Parameters
    ----------
    X, ends
        Mapped features, and the result of `window_ends` for them.
    """

    def __init__(self, X: Any, ends: np.ndarray) -> None:
        self._X, self._ends = X, ends.tolist()
        self._room, self._ready, self._is_left = Semaphore(AHEAD), Semaphore(0), False
        self._thread = Thread(target=self._work, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._is_left = True
        self.free()
        self._thread.join()

    def wait(self) -> None:
        """Wait until the next window has been read."""
        self._ready.acquire()

    def free(self) -> None:
        """Note that a window has been processed."""
        self._room.release()

    def _work(self) -> None:
        try:
            for first, last in pairwise(self._ends):
                self._room.acquire()
                if self._is_left:
                    break
                _read(self._X, first, last)
                self._ready.release()
        finally:
            self._ready.release(len(self._ends))  # unread windows must not block the caller


def window_ends(X: Any, size: int) -> np.ndarray:
    """Return the first rows of windows of `size` bytes, and the number of rows: int64, ascending."""
    if hasattr(X, "indptr"):
        ends, each = X.indptr, X.data.itemsize + X.indices.itemsize
        starts = np.searchsorted(ends, np.arange(0, int(ends[-1]), max(1, size // each)))
        return np.unique(np.append(starts, len(ends) - 1))
    return np.append(np.arange(0, len(X), max(1, size // max(1, X.shape[1] * X.itemsize))), len(X))


def _read(X: Any, first: int, last: int) -> None:
    """Bring rows `first` to `last` - 1 of mapped features from disk to the memory of the system, not of the process.

    Pages that are touched in order are read ahead by the system in large pieces, each a few page-table entries. Advice
    that a range will be needed makes the system read single pages, which takes several times the processor time.
    """
    for mapped, lo, size in _ranges(X, first, last):
        pages = np.frombuffer(mapped, np.uint8)
        for at in range(lo, lo + size, TOUCHED):
            end = min(at + TOUCHED, lo + size)
            pages[at : end : mmap.PAGESIZE].max()
            _advise_on(mapped, "MADV_DONTNEED", at, end - at)


def fetch(X: Any, first: int, last: int) -> None:
    """Make the system read rows `first` to `last` - 1 of mapped features, while the program goes on."""
    _advise(X, first, last, "MADV_WILLNEED")


def release(X: Any, first: int, last: int) -> None:
    """Allow the system to drop the pages of rows `first` to `last` - 1 of mapped features."""
    _advise(X, first, last, "MADV_DONTNEED")


def _advise(X: Any, first: int, last: int, advice: str) -> None:
    """Give the system advice on the pages of rows `first` to `last` - 1 of features, dense or sparse arrays."""
    for mapped, lo, size in _ranges(X, first, last):
        _advise_on(mapped, advice, lo, size)


def _advise_on(mapped: mmap.mmap, advice: str, lo: int, size: int) -> None:
    kind = getattr(mmap, advice, None)
    if kind is not None:
        with suppress(ValueError, OSError):
            mapped.madvise(kind, lo, size)


def _ranges(X: Any, first: int, last: int) -> Iterator[tuple[mmap.mmap, int, int]]:
    """Yield the maps behind rows `first` to `last` - 1 of features, with the first byte of whole pages and the size."""
    if isinstance(X, np.ndarray):
        arrays, ends = [X], (first * X.strides[0], last * X.strides[0])
    else:
        arrays, ends = [X.data, X.indices], (int(X.indptr[first]), int(X.indptr[last]))
    for array in arrays:
        mapped = map_of(array)
        if mapped is None:
            continue
        scale = 1 if isinstance(X, np.ndarray) else array.itemsize
        begin = array.ctypes.data - np.frombuffer(mapped, np.uint8).ctypes.data
        lo = (begin + ends[0] * scale) // mmap.PAGESIZE * mmap.PAGESIZE
        yield mapped, lo, min(begin + ends[1] * scale - lo, len(mapped) - lo)
