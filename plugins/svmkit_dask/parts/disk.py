"""Decoded rows on local disk: folders of plain arrays, written completely or not at all, read as blocks of rows.

A folder holds ``header.json``, the answers, and the rows: ``rows`` (dense), or ``data``, ``indices`` and ``counts``.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from psutil import pid_exists

from svmkit.data.parts.layout import Written, csr
from svmkit.data.prepare.encoding import Encoding
from svmkit.data.prepare.features import Features
from svmkit.errors import InputError
from svmkit_dask.parts.part import Part

HEADER = "header.json"
CHUNK = 8 << 20  # bytes that are hashed together
_HOST = f"{zlib.crc32(platform.node().encode()):08x}"


class LostCache(InputError):
    """The decoded rows are gone or damaged. `Source.load` makes them again."""


class DiskPart(Part):
    """A part whose rows are in a folder of `Writer` (LostCache unless complete); answers and row pointers in memory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.remake: Callable[[], Any] | None = None  # decodes the rows to the folder again if it is gone
        with _reading(folder):
            header = json.loads((folder / HEADER).read_bytes())
            self.files: dict[str, dict[str, Any]] = header["files"]
            self.n_rows, self.n_features, self._base = header["n_rows"], header["n_features"], header["base"]
            self.is_sparse = "counts" in self.files
            self._rows = ("data", "indices") if self.is_sparse else ("rows",)
            self.dtype = np.dtype(self.files[self._rows[0]]["dtype"])
            self.answers, self.weights = self._read("answers", [(0, self.n_rows)]), None
            self._indptr = None
            if self.is_sparse:
                self._indptr = np.append(0, np.cumsum(self._read("counts", [(0, self.n_rows)])))
            lengths = dict.fromkeys(self.files, int(self._entry(self.n_rows)))
            lengths |= dict.fromkeys(("answers", "counts"), self.n_rows)
            for name, facts in self.files.items():
                size = (folder / name).stat().st_size
                if not size == facts["bytes"] == lengths[name] * np.dtype(facts["dtype"]).itemsize:
                    raise ValueError(f"{name} has {size} bytes")
        written, encoding = header["written"], header["written"]["encoding"]
        self.written = Written(**written | {"encoding": encoding and Encoding.from_json(encoding)})

    def blocks(self, rows: int | None = None) -> Iterator[tuple[int, Features]]:
        for lo, hi in self._cuts(self._indptr, rows):
            yield lo, self._features([np.arange(lo, hi)])

    def take(self, rows: np.ndarray) -> Features:
        rows = np.asarray(rows, dtype=np.int64)  # divided into runs of consecutive rows
        return self._features(np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1))

    def _entry(self, row: Any) -> Any:
        """Return the place of the first entry of a row, or of each of several rows, in the files of the rows."""
        return row * self.n_features if self._indptr is None else self._indptr[row]

    def _features(self, runs: list[np.ndarray]) -> Features:
        """Return the rows of these runs; a missing folder is made again if possible."""
        ends = [(int(self._entry(run[0])), int(self._entry(run[-1] + 1))) for run in runs if len(run)]
        try:
            arrays = [self._read(name, ends) for name in self._rows]
        except LostCache:
            if self.remake is None:
                raise
            self.remake()
            arrays = [self._read(name, ends) for name in self._rows]
        if not self.is_sparse:
            return arrays[0].reshape(-1, self.n_features)
        rows, indices = np.concatenate(runs), arrays[1]
        pointers = np.append(0, np.cumsum(self._indptr[rows + 1] - self._indptr[rows]))
        indices -= np.int32(self._base)
        narrow = pointers[-1] <= np.iinfo(np.int32).max
        return csr((arrays[0], indices, pointers.astype(np.int32 if narrow else np.int64)), self.n_features)

    def _read(self, name: str, ends: list[tuple[int, int]]) -> np.ndarray:
        """Return the entries from each begin to its end of a file, as one array."""
        dtype, stretches = np.dtype(self.files[name]["dtype"]), []
        with _reading(self._folder):
            if dtype.kind not in "biufSU":
                raise ValueError(f"{name} holds {dtype}")
            for begin, end in ends:
                # not mapped: mapped pages would count as memory of a Dask worker
                stretch = np.fromfile(self._folder / name, dtype, end - begin, offset=begin * dtype.itemsize)
                if len(stretch) < end - begin:
                    raise ValueError(f"{name} is cut short")
                stretches.append(stretch)
        return stretches[0] if len(stretches) == 1 else np.concatenate([np.empty(0, dtype), *stretches])


def open_sound(folder: Path) -> DiskPart | None:
    """Return the part in a folder of the cache if it is complete and undamaged, else None."""
    try:
        part = DiskPart(folder)
        with _reading(folder):
            for name, facts in part.files.items():
                crc = 0
                with open(folder / name, "rb", buffering=0) as stream:
                    while chunk := stream.read(CHUNK):
                        crc = zlib.crc32(chunk, crc)
                if crc != facts["crc"]:
                    raise ValueError(f"{name} holds other bytes than were written")
    except LostCache:
        return None
    return part


@contextmanager
def _reading(folder: Path) -> Iterator[None]:
    try:
        yield
    except LostCache:
        raise
    except (OSError, ValueError, KeyError, TypeError) as err:
        raise LostCache(f"{folder}: the decoded rows are gone or damaged ({err}): load the part again") from err


class Writer:
    """A folder of decoded rows that is being written, next to its place (`key`) in the cache until it is complete.

    If the cache is not writable, all methods raise InputError, which names the part, and leave nothing behind.
    """

    def __init__(self, cache: Path, key: str, name: str) -> None:
        self._cache, self._key, self._name = cache, key, name
        self._folder: Any = None
        self._streams: dict[str, Any] = {}
        self._files: dict[str, dict[str, Any]] = {}
        with self._writing():
            cache.mkdir(parents=True, exist_ok=True)
            for left in cache.glob(f".*.{_HOST}.*.*"):  # by killed processes of this machine
                owner = left.name.split(".")[3]
                if owner.isdigit() and not pid_exists(int(owner)):
                    shutil.rmtree(left, ignore_errors=True)
            self._folder = self._new_folder()

    def append(self, name: str, array: np.ndarray) -> None:
        """Append an array under this name; all of them have one type."""
        with self._writing():
            if name not in self._streams:
                self._streams[name] = open(self._folder / name, "wb", buffering=0)  # noqa: SIM115
                self._files[name] = {"dtype": array.dtype.str, "bytes": 0, "crc": 0}
            facts, content = self._files[name], np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
            for at in range(0, len(content), CHUNK):
                chunk = content[at : at + CHUNK]
                facts["crc"] = zlib.crc32(chunk, facts["crc"])
                while len(chunk):
                    chunk = chunk[self._streams[name].write(chunk) :]
            facts["bytes"] += len(content)

    def finish(self, small: Mapping[str, np.ndarray], of: Any) -> DiskPart:
        """Write answers, counts of the entries of sparse rows and the header; move the folder of a decoder to its
        place.
        """
        for name, array in small.items():
            self.append(name, array)
        written = vars(of.written) | {"encoding": of.written.encoding and of.written.encoding.to_json()}
        header = {"n_rows": len(small["answers"]), "n_features": of.n_features, "base": of.base, "files": self._files}
        place = self._cache / self._key
        with self._writing():
            self._close()
            (self._folder / HEADER).write_text(json.dumps(header | {"written": written}))
            try:
                os.rename(self._folder, place)
            except OSError:
                part = open_sound(place)
                if part is not None:  # another process was faster
                    self.discard()
                    return part
                aside = self._new_folder()
                os.rename(place, aside / "damaged")
                os.rename(self._folder, place)
                shutil.rmtree(aside, ignore_errors=True)
            return DiskPart(place)

    def discard(self) -> None:
        """Remove the written files."""
        self._close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _new_folder(self) -> Path:
        return Path(tempfile.mkdtemp(prefix=f".{self._key}.{_HOST}.{os.getpid()}.", dir=self._cache))

    def _close(self) -> None:
        for stream in self._streams.values():
            stream.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as err:
            size = sum(facts["bytes"] for facts in self._files.values()) / 1e6
            self.discard()
            raise InputError(
                f"{self._name}: its rows cannot be decoded to {self._cache} ({err.strerror or err}, after "
                f"{size:.0f} MB): make room there, or give the workers another local directory"
            ) from err
