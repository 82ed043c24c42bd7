"""`gather`: files, or blocks of rows, of any size and number as one data set, in memory or on local disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from svmkit.data.dataset import Dataset
from svmkit.data.formats.files import split_endings
from svmkit.data.formats.layout import cast_values, integral
from svmkit.data.parts.decoders import Decoder, Piece, TableDecoder, decoder_for, is_blank
from svmkit.data.parts.layout import About, csr, layout_of, require_columns, rows_of
from svmkit.data.parts.storage import Gathered, Storage
from svmkit.data.prepare.features import as_features, is_sparse, require_finite
from svmkit.data.prepare.labels import label_array
from svmkit.data.prepare.reading import Reading
from svmkit.errors import InputError
from svmkit.runtime.mapping import DiskArray

BLOCK = 16 << 20  # bytes of the blocks in which rows change their storage


class MixedLabels(Exception):
    """Some rows of a table have numbers as labels, others text: all labels are then text."""


def gather(paths: Sequence[Path], *, reading: Reading | None = None, storage: Storage | None = None) -> Dataset:
    """Read files as one data set.

    Parameters
    ----------
    paths : sequence of Path
        The files, of any format that can be decoded row by row, with labels.
    reading : Reading, default=None
        How tables are read.
    storage : Storage, default=None
        How much may be in memory; None sets no limit.

    Returns
    -------
    Dataset
        The rows of all files, in order.

    Raises
    ------
    InputError
        A file cannot be read, or changes while it is read; files do not belong together; the disk is full.

    Examples
    --------
    >>> from svmkit.data import gather
    >>> gather([])
    Traceback (most recent call last):
    ...
    svmkit.errors.InputError: 0 files: there are no rows: check the data
    """
    storage = storage or Storage()
    rows, name = Rows(storage), f"{len(paths)} files"
    if len(paths) == 1:
        name = split_endings(paths[0].name)[0]
    for number, path in enumerate(paths, 1):
        if is_blank(path):
            continue
        before = _state(path)
        decoder, report = decoder_for(path, reading or Reading()), _reporter(storage, rows, number, len(paths))
        try:
            rows.add_part(str(path), decoder, report)
        except MixedLabels:
            assert isinstance(decoder, TableDecoder)
            decoder.text_labels = True
            rows.add_part(str(path), decoder, report)
        if _state(path) != before:
            raise InputError(f"{path}: has changed while it was read: train again once it is written")
    return rows.finish(name)


def gather_blocks(
    blocks: Iterable[Any],
    *,
    label: str | None = None,
    name: str = "blocks",
    storage: Storage | None = None,
    holes: bool = False,
) -> Dataset:
    """Read blocks of rows as one data set, as `gather` does.

    Parameters
    ----------
    blocks : iterable of (X, y), or of record batches
        X (n, d) is dense or CSR, float32 or float64, y has n labels; a batch of pyarrow has them in its column `label`.
    label : str, default=None
        The column of the labels in record batches; None is the last one.
    name : str, default="blocks"
        The name of the set.
    storage : Storage, default=None
        As for `gather`.
    holes : bool, default=False
        Whether X may contain NaN, for imputing to fill, which needs X in memory.

    Returns
    -------
    Dataset
        The rows of all blocks, in order.

    Raises
    ------
    InputError
        As for `gather`.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.data import Storage, gather_blocks
    >>> data = gather_blocks(((np.full((2, 3), k), [k, k]) for k in range(4)), storage=Storage(most=100))
    >>> data.X.shape, data.y.tolist()
    ((8, 3), [0, 0, 1, 1, 2, 2, 3, 3])
    """
    rows = Rows(storage or Storage(), holes)
    for number, block in enumerate(blocks, 1):
        decoder = _BlockDecoder(*_arrays(block, label))
        rows.add_part(f"block {number}", decoder, _reporter(rows.storage, rows, number, None))
    return rows.finish(name)


def _reporter(storage: Storage, rows: Rows, part: int, of: int | None) -> Callable[[], Any] | None:
    """Return the function that reports progress within a part."""
    report = storage.report
    return None if report is None else lambda: report(Gathered(part, of, rows.n_rows, rows.nbytes))


def _state(path: Path) -> tuple[int, int, int]:
    """Return the facts about a file that change when it is written."""
    state = path.stat()
    return state.st_size, state.st_mtime_ns, state.st_ino


def _arrays(block: Any, label: str | None) -> tuple[Any, Any]:
    """Return X and y of a block."""
    if not hasattr(block, "schema"):
        X, y = block
        return X, y
    names = list(block.schema.names)
    at = names[-1] if label is None else label
    if at not in names:
        raise InputError(f"the batches have no column {at!r}: they have {', '.join(names[:10])}")
    columns = [block.column(k).to_numpy(zero_copy_only=False) for k, one in enumerate(names) if one != at]
    return np.column_stack(columns), block.column(names.index(at)).to_numpy(zero_copy_only=False)


class _BlockDecoder(Decoder):
    """A block of rows in memory, which is copied: the caller may reuse its arrays for the next one."""

    def __init__(self, X: Any, y: Any) -> None:
        super().__init__(Path())
        self.X, self.y = as_features(X), label_array(y)
        if len(self.y) != self.X.shape[0]:
            raise InputError(f"X has {self.X.shape[0]} rows, but y has {len(self.y)}: give each row a label")

    def pieces(self) -> Iterator[Piece]:
        self.n_features = self.X.shape[1]
        if is_sparse(self.X):
            arrays = {"data": self.X.data.copy(), "indices": self.X.indices.astype(np.int32)}
            yield Piece(arrays, np.diff(self.X.indptr), self.y.copy())
        else:
            yield Piece({"rows": self.X.copy()}, None, self.y.copy())


class Rows:
    """Rows of parts, gathered one after another, with their labels."""

    def __init__(self, storage: Storage, holes: bool = False) -> None:
        self.storage, self._holes = storage, holes
        self._stores: dict[tuple[bool, str], Store] = {}  # by storage and type
        self._answers: list[np.ndarray] = []
        self._parts: list[About] = []
        self.n_rows = 0

    @property
    def nbytes(self) -> int:
        """The bytes of all rows so far."""
        return sum(store.nbytes for store in self._stores.values())

    @property
    def _is_too_much(self) -> bool:
        return self.storage.most is not None and self.nbytes > self.storage.most

    def add_part(self, name: str, decoder: Decoder, report: Callable[[], Any] | None = None) -> None:
        """Add the rows of a part; raise MixedLabels, without adding anything, if only some of its labels are text.

        Parameters
        ----------
        name, decoder, report : str, Decoder, callable
            The name of the part in messages, its decoder, and a function that is called after each piece.
        """
        begin, answers, marks = self.n_rows, len(self._answers), {k: store.mark() for k, store in self._stores.items()}
        try:
            about = self._add_pieces(name, decoder, report)
        except MixedLabels:
            for key, store in self._stores.items():
                store.truncate(marks.get(key, (0, 0)))
            self.n_rows = begin
            del self._answers[answers:]
            raise
        if about is None:
            return
        first, own = self._answers[0], self._answers[answers]
        if _is_text(own) != _is_text(first):
            kinds = ("text", "numbers") if _is_text(own) else ("numbers", "text")
            raise InputError(
                f"{name}: its labels are {kinds[0]}, but {kinds[1]} in {self._parts[0].name}: give all parts labels of "
                "one kind"
            )
        self._parts.append(about)

    def _add_pieces(self, name: str, decoder: Decoder, report: Callable[[], Any] | None) -> About | None:
        """Add the pieces of a part; return the facts about it, or None if it has no rows."""
        begin, stored, first, flags = self.n_rows, 0, None, None
        base = decoder.base  # of an svmlight file 1 until an index 0 has occurred, which `finish` corrects
        for given in decoder.pieces():
            piece = self._cast(name, given)
            first = piece if first is None else first
            if _is_text(piece.answers) != _is_text(first.answers):
                raise MixedLabels
            _require_finite(name, piece, self.n_rows - begin, self._holes)
            if piece.counts is None:
                zero_one = ((piece.arrays["rows"] == 0.0) | (piece.arrays["rows"] == 1.0)).all(axis=0)
                flags = zero_one if flags is None else flags & zero_one
            stored += next(iter(piece.arrays.values())).size
            self._add(piece, base)
            if report is not None:
                report()
        if first is None:
            return None
        encoding = decoder.written.encoding
        if encoding is not None and flags is not None:
            flags = flags & np.array([order is None for order in encoding.dates])
        return About(
            name=name,
            n_rows=self.n_rows - begin,
            n_features=decoder.n_features,
            n_stored=stored,
            is_sparse=first.counts is not None,
            dtype=first.arrays["rows" if first.counts is None else "data"].dtype.name,
            written=decoder.written,
            flags=flags if encoding is not None else None,
        )

    def _cast(self, name: str, piece: Piece) -> Piece:
        """Return a piece whose values have the type in which they are stored."""
        key = "rows" if piece.counts is None else "data"
        try:
            return piece._replace(arrays=piece.arrays | {key: cast_values(piece.arrays[key], self.storage.dtype)})
        except InputError as err:
            raise InputError(f"{name}: {err}") from err

    def _add(self, piece: Piece, base: int) -> None:
        values = piece.arrays["rows" if piece.counts is None else "data"]
        key = piece.counts is not None, values.dtype.name
        if key not in self._stores:
            self._stores[key] = Store(*key, self.storage.folder)
        self._stores[key].add(values, piece.arrays.get("indices"), piece.counts, base)
        self._answers.append(piece.answers)
        self.n_rows += len(piece.answers)
        if self._is_too_much:
            for store in self._stores.values():
                store.spill()

    def finish(self, name: str) -> Dataset:
        """Return all rows as the data set `name`, stored as if they came from one file."""
        if not self._parts:
            raise InputError(f"{name}: there are no rows: check the data")
        require_columns(self._parts)
        layout, is_on_disk = layout_of(self._parts), self._is_too_much
        stores = {key: store.finish() for key, store in self._stores.items()}
        wanted = layout.is_sparse, layout.dtype
        as_is = not any(layout.shift(one.written) or one.written.from_zero for one in self._parts)
        if set(stores) == {wanted} and as_is:
            X = stores[wanted].features(layout.n_features)
        else:
            target = Store(*wanted, self.storage.folder)
            if is_on_disk:
                target.spill()
            for one in self._parts:
                for rows in stores[one.is_sparse, one.dtype].take(one):
                    target.add_features(layout.apply(rows, one.written))
            X = target.finish().features(layout.n_features)
        y, first = np.concatenate(self._answers), self._parts[0].written.encoding
        encoding = first and replace(first, label_text=_is_text(y))
        flags = [one.flags for one in self._parts if one.flags is not None]
        common = np.logical_and.reduce(flags) if len(flags) == len(self._parts) else None
        return Dataset(X, y if _is_text(y) else integral(y), name, encoding, common)


class Store:
    """Rows of one storage, dense or CSR, and of one type, which grow at the end, in memory or on local disk."""

    def __init__(self, is_sparse: bool, dtype: str, folder: str | None) -> None:
        self._values, self._indices = DiskArray(dtype, folder), DiskArray(np.int32, folder)
        self._counts: list[np.ndarray] = []
        self._is_sparse = is_sparse
        self._arrays: tuple[np.ndarray, np.ndarray] | None = None
        self._at, self._row = 0, 0  # the position of `take`

    @property
    def nbytes(self) -> int:
        """The bytes of all rows."""
        return self._values.nbytes + self._indices.nbytes

    def mark(self) -> tuple[int, int]:
        """Return the argument with which `truncate` removes everything added later."""
        return self._values.size, len(self._counts)

    def truncate(self, mark: tuple[int, int]) -> None:
        """Remove everything added since a `mark`."""
        size, counts = mark
        self._values.truncate(size)
        self._indices.truncate(size if self._is_sparse else 0)
        del self._counts[counts:]

    def spill(self) -> None:
        """Move all rows to local disk, and later ones, too."""
        self._values.spill()
        if self._is_sparse:
            self._indices.spill()

    def add(self, values: np.ndarray, indices: np.ndarray | None, counts: np.ndarray | None, base: int = 0) -> None:
        """Add rows.

        Parameters
        ----------
        values : ndarray
            The values of dense rows, or the stored values of sparse rows.
        indices, counts : ndarray or None
            The columns of sparse rows, and the number of entries of each; None for dense rows.
        base : int, default=0
            Is subtracted from the columns.
        """
        self._values.append(values)
        if indices is not None and counts is not None:
            self._indices.append(indices - np.int32(base) if base else indices)
            self._counts.append(counts.astype(np.int64))

    def add_features(self, X: Any) -> None:
        """Add rows with this storage and type."""
        if self._is_sparse:
            self.add(X.data, X.indices, np.diff(X.indptr))
        else:
            self.add(X, None, None)

    def finish(self) -> Store:
        """Return the store after the last row was added."""
        self._arrays = self._values.finish(), self._indices.finish()
        return self

    def features(self, width: int) -> Any:
        """Return all rows as features with this number of columns."""
        assert self._arrays is not None
        values, indices = self._arrays
        if not self._is_sparse:
            return values.reshape(-1, width)
        return csr((values, indices, self._pointers(slice(None))), width)

    def take(self, one: About) -> Iterator[Any]:
        """Yield the rows of the next part, in blocks of some megabytes."""
        assert self._arrays is not None
        values, indices = self._arrays
        lo, hi = self._at, self._at + one.n_stored
        if self._is_sparse:
            pointers = self._pointers(slice(self._row, self._row + one.n_rows))
            own = indices[lo:hi] + np.int32(1) if one.written.from_zero else indices[lo:hi]
            X: Any = csr((values[lo:hi], own, pointers), one.n_features)
            self._row += one.n_rows
        else:
            X = values[lo:hi].reshape(one.n_rows, one.n_features)
        self._at = hi
        step = max(1, BLOCK * one.n_rows // max(1, 12 * one.n_stored))
        for first in range(0, one.n_rows, step):
            yield rows_of(X, first, min(one.n_rows, first + step))

    def _pointers(self, rows: slice) -> np.ndarray:
        pointers = np.append(0, np.cumsum(np.concatenate([np.empty(0, np.int64), *self._counts])[rows]))
        return pointers.astype(np.int32) if pointers[-1] <= np.iinfo(np.int32).max else pointers


def _is_text(answers: np.ndarray) -> bool:
    return answers.dtype.kind == "U"


def _require_finite(name: str, piece: Piece, before: int, holes: bool) -> None:
    """Refuse numbers and labels that are not finite, naming the row of the part, given the `before` rows that precede;
    NaN may mark `holes`.
    """
    y = piece.answers
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        row = int(np.argmin(np.isfinite(y)))
        raise InputError(f"{name}: the label of row {before + row + 1} (counted from 1) is {y[row]}: drop that row")
    X: Any = piece.arrays.get("rows")
    if X is None:
        assert piece.counts is not None
        data, indices = piece.arrays["data"], piece.arrays["indices"]
        X = csr((data, indices, np.append(0, np.cumsum(piece.counts))), int(indices.max(initial=0)) + 1)
    require_finite(X, what=name, holes=holes, first=before)
