"""Descriptions of parts, files and chunks of collections, from which any worker makes a part as often as it takes."""

from __future__ import annotations

import glob
import os
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from svmkit._version import __version__
from svmkit.data.formats.files import open_data
from svmkit.data.loading import kind_of
from svmkit.data.places.sources import data_files, find
from svmkit.data.prepare.labels import label_array
from svmkit.data.prepare.reading import Reading
from svmkit.errors import InputError
from svmkit_dask.parts.decoding import Decoder, NpzDecoder, SvmlightDecoder, TableDecoder, decode
from svmkit_dask.parts.disk import DiskPart, Writer, open_sound
from svmkit_dask.parts.part import Layout, MemoryPart, Part


@dataclass(frozen=True)
class Source(ABC):
    """A description of one part, `name` in messages, that travels between processes."""

    layout: Layout | None = field(default=None, kw_only=True)  # the storage of all parts, once it is known

    def load(self, cache: Path | None, most: int) -> Part:
        """Make the part.

        With a folder on local disk as `cache`, a file's decoded rows are read from there by later loads, and the blocks
        of a part whose rows take more than `most` bytes always. A part that cannot be read, or a cache that cannot be
        written, raises InputError in one line that names the part.
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
            return self._read(cache, most)
        except FileNotFoundError as err:
            raise InputError(f"{self.path}: no such file: check the path, which every worker must have") from err
        except OSError as err:
            raise InputError(f"{self.path}: cannot be opened: {err.strerror or err}") from err

    def _read(self, cache: Path | None, most: int) -> Part:
        if _is_blank(self.path):
            return MemoryPart(np.empty((0, 1)), np.empty(0))
        if cache is None:
            return decode(self._decoder(), None, most)
        part: Part | None = open_sound(cache / self._key())
        if part is None:
            part = self._decode_file(cache, most)
        if isinstance(part, DiskPart):
            if part.decoded <= most:
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
    """Return the parts that a pattern, folder, file, data set's name or a list of these names, sorted by path.

    In a list, the parts keep its order. Tables are read as `reading` says.
    """
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
        return [path.absolute() for path in matches]
    if glob.has_magic(text) and not os.path.exists(text):
        matches = [Path(path) for path in sorted(glob.glob(text, recursive=True)) if os.path.isfile(path)]
        if not matches:
            raise InputError(f"{text}: no file matches: check the pattern, from the folder {Path.cwd()}")
        return [path.absolute() for path in matches]
    path = find(pattern)
    if isinstance(path, str):
        raise InputError(f"{path}: is a built-in set of one small part: train it without --scheduler")
    return [path.absolute()]


def _is_blank(path: Path) -> bool:
    """Return whether a file is there and holds nothing but white space, as a partition without rows is written."""
    if not path.is_file():
        return False
    with open_data(path) as stream:
        while chunk := stream.read(1 << 16):
            if chunk.strip():
                return False
    return True
