"""Descriptions of parts, files and chunks of collections, from which any worker can make a part repeatedly.

A file is decoded a few megabytes at a time: in memory as long as its rows fit, else to local disk.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from svmkit._version import __version__
from svmkit.data.formats.layout import integral
from svmkit.data.parts.decoders import Decoder, decoder_for, is_blank
from svmkit.data.parts.layout import Layout, csr
from svmkit.data.places.sources import paths_of
from svmkit.data.prepare.labels import label_array
from svmkit.data.prepare.reading import Reading
from svmkit.errors import InputError
from svmkit.runtime.mapping import Stack
from svmkit_dask.parts.disk import DiskPart, Writer, open_sound
from svmkit_dask.parts.part import MemoryPart, Part


class _MixedLabels(Exception):
    """Some rows of a table have numbers as labels, others text: then all are text."""


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
            with suppress(InputError):  # lack of room on disk only costs the next load its time
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
    """Return a folder with the rows from memory."""
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

        With a folder on local disk as `cache`, later loads read a file's decoded rows from there, and the blocks of a
        part whose rows take more than `most` bytes are always read from there. InputError names a part that cannot be
        read or kept.
        """
        part = self._load(cache, most)
        return part if self.layout is None else part.with_layout(self.layout)

    @abstractmethod
    def _load(self, cache: Path | None, most: int) -> Part:
        """Make the part in its own storage."""

    def with_layout(self, layout: Layout) -> Source:
        """Return the description of the same part in the storage of all parts (`Summary.layout`)."""
        return replace(self, layout=layout)


@dataclass(frozen=True)
class FilePart(Source):
    """A part that is a file, at the same path on each worker; a table is read according to `reading`."""

    path: Path
    reading: Reading

    @property
    def name(self) -> str:
        """The path."""
        return str(self.path)

    def _load(self, cache: Path | None, most: int) -> Part:
        try:
            if is_blank(self.path):
                return MemoryPart(np.empty((0, 1)), np.empty(0))
            return (
                decode(decoder_for(self.path, self.reading), None, most)
                if cache is None
                else self._load_cached(cache, most)
            )
        except FileNotFoundError as err:
            raise InputError(f"{self.path}: no such file: check the path, which every worker must have") from err
        except OSError as err:
            raise InputError(f"{self.path}: cannot be opened: {err.strerror or err}") from err

    def _decode_here(self, most: int) -> Part:
        return decode(decoder_for(self.path, self.reading), None, most)

    def _load_cached(self, cache: Path, most: int) -> Part:
        part: Part = open_sound(cache / self._key()) or self._decode_file(cache, most)
        if isinstance(part, DiskPart):
            if sum(facts["bytes"] for facts in part.files.values()) <= most:
                return MemoryPart(part.take(np.arange(part.n_rows)), part.answers, None, part.written)
            part.remake = partial(self._decode_file, cache, 0)
        return part

    def _decode_file(self, cache: Path, most: int) -> Part:
        return decode(decoder_for(self.path, self.reading), partial(Writer, cache, self._key(), self.name), most)

    def _key(self) -> str:
        """Return the name of the folder for the decoded rows of this state of the file."""
        state = self.path.stat()
        identity = (__version__, str(self.path.resolve()), state.st_size, state.st_mtime_ns, self.reading)
        return blake2b(repr(identity).encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, eq=False)
class ChunkPart(Source):
    """A part that is one chunk of Dask collections; the worker that makes it holds the chunk, whatever its size."""

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
    """Return the features of a chunk, with NaN for missing values of a DataFrame."""
    if not hasattr(X, "dtypes") or not hasattr(X, "to_numpy"):
        return X
    A = np.asarray(X)
    return X.to_numpy(dtype=np.float64, na_value=np.nan) if A.dtype.kind == "O" else A


def from_paths(pattern: Any, reading: Reading | None = None) -> list[FilePart]:
    """Return the parts of a pattern, folder, file or data set's name, sorted by path, or the parts of a list."""
    named = [pattern] if isinstance(pattern, str | os.PathLike) else list(pattern)
    paths = [path for one in named for path in paths_of(one)]
    if not paths:
        raise InputError("no parts are named: give a pattern such as 'parts/*.svm', a folder or a list of files")
    twice = next((path for i, path in enumerate(paths) if path in paths[:i]), None) if len(named) > 1 else None
    if twice is not None:
        raise InputError(f"{twice}: is named twice, so its rows would count twice: name each part once")
    return [FilePart(path, reading or Reading()) for path in paths]
