"""Decoders: a file of any format as pieces of rows, in order, with the facts about all of them at the end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from svmkit.data.formats.files import open_data
from svmkit.data.formats.kinds import TABLES, kind_of
from svmkit.data.formats.npy import STORED, map_npy
from svmkit.data.formats.npz import Pieces, read_npz, read_pieces
from svmkit.data.formats.svmlight import read_blocks
from svmkit.data.parts.layout import Written, rows_of
from svmkit.data.prepare.encoding import Encoding
from svmkit.data.prepare.features import is_sparse
from svmkit.data.prepare.reading import Reading
from svmkit.data.tables import label_column, refusals
from svmkit.data.tables.columns import Trouble
from svmkit.data.tables.readers import Learnt, learn_pieces
from svmkit.data.tables.table import as_option, name_columns
from svmkit.errors import InputError
from svmkit.runtime.mapping import windows

_CELLS = 1 << 20  # cells of a table that are read together
_ROWS = 1 << 16  # rows of an archive in one piece
_ENCODE = "encode such columns as numbers first (pandas.get_dummies on all parts together)"
_HOLES = "fill them in first (--impute is not available for parts), or leave the column out: --drop COL"


class NotByPieces(InputError):
    """A table whose columns can be learnt only as a whole: texts, or holes to be filled."""


class Piece(NamedTuple):
    """Some rows of a file: their values (``rows``, or ``data`` and ``indices``), entries a row, and answers."""

    arrays: dict[str, np.ndarray]
    counts: np.ndarray | None
    answers: np.ndarray


class Decoder(ABC):
    """A file of one format. The facts about all its rows are complete once `pieces` has ended."""

    n_features = 1
    base = 0  # is subtracted from the columns of sparse rows
    written = Written()

    def __init__(self, path: Path) -> None:
        self.path = path

    @abstractmethod
    def pieces(self) -> Iterator[Piece]:
        """Yield the rows in order."""


class SvmlightDecoder(Decoder):
    """An svmlight file, whose rows stay sparse until the density of all parts is known."""

    base = 1  # unless an index 0 occurs

    def pieces(self) -> Iterator[Piece]:
        widest, first = 0, 1
        for data, indices, counts, labels in read_blocks(self.path):
            if indices.dtype != np.int32:
                raise InputError(f"{self.path}: has an index beyond 2147483646: number the columns from 1")
            widest, first = max(widest, int(indices.max(initial=0))), min(first, int(indices.min(initial=1)))
            yield Piece({"data": data, "indices": indices}, counts, labels)
        self.base, self.n_features = first, max(1, widest + 1 - first)
        self.written = Written(from_zero=first == 0, by_density=True)


class TableDecoder(Decoder):
    """A CSV or Parquet file whose feature columns are all numbers or dates."""

    def __init__(self, path: Path, kind: str, reading: Reading) -> None:
        super().__init__(path)
        if reading.categorical:
            raise NotByPieces(f"{path}: --categorical is not available for parts: {_ENCODE}")
        self._kind, self._reading = kind, reading
        self.text_labels = False

    def pieces(self) -> Iterator[Piece]:
        known: Encoding | None = None
        reading, text_labels = self._reading, self.text_labels
        decimal = None if text_labels else reading.decimal
        for learnt in learn_pieces(self.path, self._kind, reading=reading, cells=_CELLS, text_labels=text_labels):
            self._require_numbers(learnt)
            assert learnt.label is not None
            y = label_column.labels(learnt.table, learnt.label, None, True, decimal)
            assert y is not None
            encoding = learnt.encoding(y.dtype.kind == "U")
            known = known or encoding
            self._require_like(known, encoding, learnt)
            yield Piece({"rows": np.column_stack([column.values for column in learnt.columns])}, None, y)
        if known is not None:
            self.n_features, self.written = len(known.columns), Written(encoding=known)

    def _require_numbers(self, learnt: Learnt) -> None:
        """Refuse holes, which cannot be filled, and texts, since other parts may lack their categories."""
        texts = [c for c in learnt.columns if c.categories is not None and c.trouble in (None, Trouble.MANY)]
        others = [column for column in learnt.columns if column not in texts]
        refused = refusals.refusal(learnt.table, others, holes=False, decimal=self._reading.decimal, remedy=_HOLES)
        if refused is not None:
            raise NotByPieces(str(refused)) from refused
        if texts:
            names = [learnt.table.names[column.position] for column in texts]
            raise NotByPieces(
                f"{self.path}: {name_columns(names)} {'hold' if len(names) > 1 else 'holds'} text, whose categories "
                f"other parts may not share: {_ENCODE}, or --drop {as_option(names)}"
            )
        if not learnt.columns:
            raise InputError(f"{self.path}: has a label column but no features: all others are empty")

    def _require_like(self, first: Encoding, encoding: Encoding, learnt: Learnt) -> None:
        """Refuse a column that is empty, or of another kind, in only some of the rows."""
        odd = sorted(set(first.columns) ^ set(encoding.columns))
        start = learnt.table.first
        empty = [column for column in learnt.empty if learnt.table.names[column.position] in odd]
        refused = refusals.refusal(learnt.table, empty, holes=False, remedy=_HOLES)
        if refused is not None:
            raise refused
        if odd:
            rows = f"from row {start + 1:,} on" if empty else f"in the first {start:,} rows"
            raise InputError(
                f"{self.path}: {name_columns(odd)} {'have' if len(odd) > 1 else 'has'} no value {rows}: {_HOLES}"
            )
        if first.dates != encoding.dates:
            at = next(i for i, (a, b) in enumerate(zip(first.dates, encoding.dates, strict=True)) if a != b)
            raise InputError(
                f"{self.path}: {name_columns([first.columns[at]])} is read as other dates or numbers from "
                f"row {start + 1:,} on: write dates as 2024-12-31"
            )


class NpzDecoder(Decoder):
    """A NumPy archive; it is read as a whole unless it is stored by rows."""

    def pieces(self) -> Iterator[Piece]:
        found = read_pieces(self.path, 8 * _CELLS) or self._whole()
        self.n_features, self.written = found.n_features, Written(by_density=found.is_sparse)
        for rows, answers in found.rows:
            if found.is_sparse:
                indices = rows.indices.astype(np.int32, copy=False)
                yield Piece({"data": rows.data, "indices": indices}, np.diff(rows.indptr), answers)
            else:
                yield Piece({"rows": rows}, None, answers)

    def _whole(self) -> Pieces:
        X, y = read_npz(self.path, True)
        assert y is not None
        ends = [(lo, min(len(y), lo + _ROWS)) for lo in range(0, len(y), _ROWS)]
        return Pieces(X.shape[1], is_sparse(X), ((rows_of(X, lo, hi), y[lo:hi]) for lo, hi in ends))


class NpyDecoder(Decoder):
    """A NumPy array mapped to memory, with its labels in a second file; float32 is kept."""

    def pieces(self) -> Iterator[Piece]:
        X, y = map_npy(self.path, True)
        assert y is not None
        self.n_features = X.shape[1]
        step, kept = max(1, _CELLS // X.shape[1]), X.dtype in STORED
        for first, last in windows(X):
            for lo in range(first, last, step):
                rows = np.array(X[lo : min(last, lo + step)], dtype=X.dtype if kept else np.float64, order="C")
                yield Piece({"rows": rows}, None, y[lo : min(last, lo + step)])


def decoder_for(path: Path, reading: Reading) -> Decoder:
    """Return the decoder of a file; `reading` applies to tables; raise InputError if there is none."""
    kind = kind_of(path, reading.charset)
    if kind in TABLES:
        if kind == "excel":
            raise NotByPieces(f"{path}: an Excel file is no part: save it as CSV")
        if kind == "parquet" and reading.charset is not None:
            raise InputError(f"{path}: --encoding is for CSV and TSV: Parquet says itself how texts are encoded")
        return TableDecoder(path, kind, reading)
    if reading.given:
        raise InputError(f"{path}: {', '.join(reading.given)}: for CSV, TSV and Parquet only: leave it out")
    return {"npz": NpzDecoder, "npy": NpyDecoder}.get(kind, SvmlightDecoder)(path)


def is_blank(path: Path) -> bool:
    """Return whether a file exists and contains nothing but white space, like a partition without rows."""
    if not path.is_file():
        return False
    with open_data(path) as stream:
        return not any(chunk.strip() for chunk in iter(partial(stream.read, 1 << 16), b""))
