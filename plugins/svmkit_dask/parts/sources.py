"""Descriptions of parts, files and chunks of collections, from which any worker makes a part as often as it takes.

A file is decoded a few megabytes at a time: in memory as long as its rows fit, else to local disk.
"""

from __future__ import annotations

import glob
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from svmkit._version import __version__
from svmkit.data.formats.files import open_data
from svmkit.data.formats.layout import integral
from svmkit.data.formats.svmlight import Stack, read_blocks
from svmkit.data.loading import kind_of
from svmkit.data.places.sources import data_files, find
from svmkit.data.prepare.encoding import Encoding
from svmkit.data.prepare.labels import label_array
from svmkit.data.prepare.reading import Reading
from svmkit.data.tables import label_column, refusals
from svmkit.data.tables.columns import Trouble
from svmkit.data.tables.readers import Learnt, learn_pieces
from svmkit.data.tables.table import name_columns
from svmkit.errors import InputError
from svmkit_dask.parts.disk import DiskPart, Writer, open_sound
from svmkit_dask.parts.part import Layout, MemoryPart, Part, Written, csr

_CELLS = 1 << 20  # cells of a table that are read together
_ENCODE = "encode such columns as numbers first (pandas.get_dummies on all parts together)"
_HOLES = "fill them in first (--impute is not available on a cluster), or leave the column out: --drop COL"


class Piece(NamedTuple):
    """Some rows of a file: their numbers (``rows``, or ``data`` and ``indices``), entries a row, and answers."""

    arrays: dict[str, np.ndarray]
    counts: np.ndarray | None
    answers: np.ndarray


class Decoder(ABC):
    """A file of one format. What is known of all its rows is there once `pieces` has ended."""

    n_features = 1
    base = 0  # what is subtracted from the columns of sparse rows
    written = Written()

    def __init__(self, path: Path) -> None:
        self.path = path

    @abstractmethod
    def pieces(self) -> Iterator[Piece]:
        """Yield the rows in order."""


class SvmlightDecoder(Decoder):
    """An svmlight file, whose rows stay sparse until the density of all parts is known."""

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
            raise InputError(f"{path}: --categorical is not available on a cluster: {_ENCODE}")
        self._kind, self._reading = kind, reading
        self.text_labels = False

    def pieces(self) -> Iterator[Piece]:
        known: Encoding | None = None
        how = {"reading": self._reading, "cells": _CELLS, "text_labels": self.text_labels}
        decimal = None if self.text_labels else self._reading.decimal
        for learnt in learn_pieces(self.path, self._kind, **how):
            self._require_numbers(learnt)
            y = label_column.labels(learnt.table, learnt.label, None, True, decimal)
            encoding = learnt.encoding(y.dtype.kind == "U")
            known = known or encoding
            self._require_like(known, encoding, learnt)
            yield Piece({"rows": np.column_stack([column.values for column in learnt.columns])}, None, y)
        if known is not None:
            self.n_features, self.written = len(known.columns), Written(encoding=known)

    def _require_numbers(self, learnt: Learnt) -> None:
        """Refuse holes, which cannot be filled, and texts, whose categories the other parts may not have."""
        texts = [c for c in learnt.columns if c.categories is not None and c.trouble in (None, Trouble.MANY)]
        others = [column for column in learnt.columns if column not in texts]
        refused = refusals.refusal(learnt.table, others, holes=False, decimal=self._reading.decimal, remedy=_HOLES)
        if refused is not None:
            raise refused
        if texts:
            names = [learnt.table.names[column.position] for column in texts]
            raise InputError(
                f"{self.path}: {name_columns(names)} {'hold' if len(names) > 1 else 'holds'} text, whose categories "
                f"other parts may not share: {_ENCODE}, or --drop {refusals.as_option(names)}"
            )
        if not learnt.columns:
            raise InputError(f"{self.path}: has a label column but no features: all others are empty")

    def _require_like(self, first: Encoding, encoding: Encoding, learnt: Learnt) -> None:
        """Refuse a column that is empty, or that is of another kind, in some of the rows only."""
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
    """A NumPy archive, which is read whole."""

    def pieces(self) -> Iterator[Piece]:
        from svmkit.data.formats.npz import read_npz

        X, y = read_npz(self.path, True)
        part = MemoryPart(X, y)
        self.n_features, self.written = part.n_features, Written(by_density=part.is_sparse)
        for first, rows in part.blocks():
            answers = y[first : first + rows.shape[0]]
            if part.is_sparse:
                yield Piece({"data": rows.data, "indices": rows.indices}, np.diff(rows.indptr), answers)
            else:
                yield Piece({"rows": rows}, None, answers)


class _MixedLabels(Exception):
    """Some rows of a table have numbers as labels, others text: all are text then."""


def decode(decoder: Decoder, writer: Callable[[], Writer] | None, most: int) -> Part:
    """Return the part in a file; InputError if it cannot be read, or the folder cannot be written.

    `writer` makes the folder on local disk, for rows of more than `most` bytes and for later loads of others.
    """
    try:
        return _decode(decoder, writer, most)
    except _MixedLabels:
        decoder.text_labels = True
        return _decode(decoder, writer, most)


def _decode(decoder: Decoder, writer: Callable[[], Writer] | None, most: int) -> Part:
    held: dict[str, Stack] = {}
    disk: Writer | None = None
    counts: list[np.ndarray] = []
    answers: list[np.ndarray] = []
    try:
        for piece in decoder.pieces():
            answers.append(piece.answers)
            if len({each.dtype.kind == "U" for each in (answers[0], piece.answers)}) > 1:
                raise _MixedLabels
            counts += [] if piece.counts is None else [piece.counts]
            for name, array in piece.arrays.items():
                if disk is not None:
                    disk.append(name, array)
                else:
                    held.setdefault(name, Stack(array.dtype)).add(array.reshape(-1))
            if disk is None and writer is not None and sum(stack.array.nbytes for stack in held.values()) > most:
                disk = _spill(writer, held)
                held.clear()
        y, d = np.concatenate(answers) if answers else np.empty(0), decoder.n_features
        small = {"answers": integral(y) if y.dtype.kind in "if" else y}
        if counts:
            small["counts"] = np.concatenate(counts).astype(np.int64)
        if disk is not None:
            return disk.finish(small, decoder)
        if writer is not None and held:
            with suppress(InputError):  # no room on disk only costs the next load its time
                _spill(writer, held).finish(small, decoder)
    except BaseException:
        if disk is not None:
            disk.discard()
        raise
    arrays = {name: stack.array for name, stack in held.items()}
    if counts:
        arrays["indices"] -= np.int32(decoder.base)
        X = csr((arrays["data"], arrays["indices"], np.append(0, np.cumsum(small["counts"]))), d)
    else:
        X = arrays["rows"].reshape(len(y), d) if held else np.empty((0, d))
    return MemoryPart(X, small["answers"], None, decoder.written)


def _spill(writer: Callable[[], Writer], held: dict[str, Stack]) -> Writer:
    """Return a folder with the rows that were in memory."""
    disk = writer()
    for name, stack in held.items():
        disk.append(name, stack.array)
    return disk


@dataclass(frozen=True)
class Source(ABC):
    """A description of one part, `name` in messages, that travels between processes."""

    layout: Layout | None = field(default=None, kw_only=True)  # the storage of all parts, once it is known

    def load(self, cache: Path | None, most: int) -> Part:
        """Make the part.

        With a folder on local disk as `cache`, a file's decoded rows are read from there by later loads, and the blocks
        of a part whose rows take more than `most` bytes always. InputError names a part that cannot be read or kept.
        """
        part = self._load(cache, most)
        return part if self.layout is None else part.with_layout(self.layout)

    @abstractmethod
    def _load(self, cache: Path | None, most: int) -> Part:
        """Make the part in a storage of its own."""

    def with_layout(self, layout: Layout) -> Source:
        """Return the description of the same part in the storage of all parts (`Summary.layout`)."""
        return replace(self, layout=layout)


@dataclass(frozen=True)
class FilePart(Source):
    """A part that is a file, which each worker has at the same path; a table is read as `reading` says."""

    path: Path
    reading: Reading

    @property
    def name(self) -> str:
        """The path."""
        return str(self.path)

    def _load(self, cache: Path | None, most: int) -> Part:
        try:
            if _is_blank(self.path):
                return MemoryPart(np.empty((0, 1)), np.empty(0))
            return decode(self._decoder(), None, most) if cache is None else self._load_cached(cache, most)
        except FileNotFoundError as err:
            raise InputError(f"{self.path}: no such file: check the path, which every worker must have") from err
        except OSError as err:
            raise InputError(f"{self.path}: cannot be opened: {err.strerror or err}") from err

    def _load_cached(self, cache: Path, most: int) -> Part:
        part: Part = open_sound(cache / self._key()) or self._decode_file(cache, most)
        if isinstance(part, DiskPart):
            if sum(facts["bytes"] for facts in part.files.values()) <= most:
                return MemoryPart(part.take(np.arange(part.n_rows)), part.answers, None, part.written)
            part.remake = partial(self._decode_file, cache, 0)
        return part

    def _decode_file(self, cache: Path, most: int) -> Part:
        return decode(self._decoder(), partial(Writer, cache, self._key(), self.name), most)

    def _key(self) -> str:
        """Return the name of the folder for the decoded rows of this state of the file."""
        state = self.path.stat()
        identity = (__version__, str(self.path.resolve()), state.st_size, state.st_mtime_ns, self.reading)
        return blake2b(repr(identity).encode(), digest_size=16).hexdigest()

    def _decoder(self) -> Decoder:
        kind = kind_of(self.path, self.reading.charset)
        if kind in ("table", "parquet"):
            if kind == "parquet" and self.reading.charset is not None:
                raise InputError(
                    f"{self.path}: --encoding is for CSV and TSV: Parquet says itself how texts are encoded"
                )
            return TableDecoder(self.path, kind, self.reading)
        if self.reading.given:
            raise InputError(
                f"{self.path}: {', '.join(self.reading.given)}: for CSV, TSV and Parquet only: leave it out"
            )
        return NpzDecoder(self.path) if kind == "npz" else SvmlightDecoder(self.path)


@dataclass(frozen=True, eq=False)
class ChunkPart(Source):
    """A part that is one chunk of Dask collections; the worker that makes it has the chunk, whatever its size."""

    name: str
    X: Any
    y: Any  # labels or targets
    weight: Any = None  # the rows' weights

    def _load(self, cache: Path | None, most: int) -> Part:
        try:
            n = self.X.shape[0]
            X = _numbers(self.X) if n else np.empty((0, max(1, self.X.shape[1])))
            y = label_array(self.y) if len(self.y) else np.empty(0)
            weights = None if self.weight is None else np.asarray(self.weight, dtype=np.float64).reshape(-1)
            for what, values in (("y", y), ("sample_weight", weights)):
                if values is not None and len(values) != n:
                    raise InputError(
                        f"X has {n} rows, but {what} has {len(values)}: give both the same chunks, or call "
                        "compute_chunk_sizes() on both first"
                    )
            return MemoryPart(X, y, weights)
        except InputError as err:
            raise InputError(f"{self.name}: {err}") from err


def _numbers(X: Any) -> Any:
    """Return the features of a chunk, those of a DataFrame with NaN where pandas has a mark for a missing value."""
    if not hasattr(X, "dtypes") or not hasattr(X, "to_numpy"):
        return X
    A = np.asarray(X)
    return X.to_numpy(dtype=np.float64, na_value=np.nan) if A.dtype.kind == "O" else A


def from_paths(pattern: Any, reading: Reading | None = None) -> list[FilePart]:
    """Return the parts that a pattern, folder, file or data set's name has, sorted by path, or those of a list."""
    named = [pattern] if isinstance(pattern, str | os.PathLike) else list(pattern)
    paths = [path for one in named for path in _matching(one)]
    if not paths:
        raise InputError("no parts are named: give a pattern such as 'parts/*.svm', a folder or a list of files")
    twice = next((path for i, path in enumerate(paths) if path in paths[:i]), None) if len(named) > 1 else None
    if twice is not None:
        raise InputError(f"{twice}: is named twice, so its rows would count twice: name each part once")
    return [FilePart(path, reading or Reading()) for path in paths]


def _matching(pattern: str | os.PathLike[str]) -> list[Path]:
    text = os.path.expanduser(os.fspath(pattern))
    if os.path.isdir(text):
        # Spark and Dask leave _SUCCESS and _metadata beside the parts
        matches = [path for path in data_files(Path(text)) if not path.name.startswith("_")]
        if not matches:
            raise InputError(f"{text}: is a folder without data files: name its parts, as in '{text}/*/*.parquet'")
    elif glob.has_magic(text) and not os.path.exists(text):
        matches = [Path(path) for path in sorted(glob.glob(text, recursive=True)) if os.path.isfile(path)]
        if not matches:
            raise InputError(f"{text}: no file matches: check the pattern, from the folder {Path.cwd()}")
    else:
        path = find(pattern)
        if isinstance(path, str):
            raise InputError(f"{path}: is a built-in set of one small part: train it without --scheduler")
        matches = [path]
    return [path.absolute() for path in matches]


def _is_blank(path: Path) -> bool:
    """Return whether a file is there and holds nothing but white space, as a partition without rows is written."""
    if not path.is_file():
        return False
    with open_data(path) as stream:
        return not any(chunk.strip() for chunk in iter(partial(stream.read, 1 << 16), b""))
