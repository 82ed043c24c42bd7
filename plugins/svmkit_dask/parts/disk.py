"""Decoded rows on local disk: folders of plain arrays, written completely or not at all, read as blocks of rows.

A folder holds ``header.json``, the answers, and the rows: ``rows`` (dense), or ``data``, ``indices`` and ``counts``.
Rows are read into a buffer, not mapped: mapped pages would count as memory of a Dask worker.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from psutil import pid_exists

from svmkit.data.prepare.encoding import Encoding
from svmkit.data.prepare.features import Features
from svmkit.errors import InputError
from svmkit_dask.parts.part import Part, Written, csr, cuts

HEADER = "header.json"
CHUNK = 8 << 20  # bytes that are checked together
_HOST = f"{zlib.crc32(platform.node().encode()):08x}"


class LostCache(InputError):
    """The decoded rows are gone or damaged. `Source.load` makes them anew."""


class DiskPart(Part):
    """A part whose rows are in a folder that `Writer` has written; answers and row pointers are in memory.

    `remake`, where it is set, decodes the rows to the same folder again, should it be gone. LostCache is raised if the
    folder is not complete.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.remake: Callable[[], Any] | None = None
        with _reading(folder):
            header = json.loads((folder / HEADER).read_bytes())
            self.files: dict[str, dict[str, Any]] = header["files"]
            self.n_rows, self.n_features, self._base = header["n_rows"], header["n_features"], header["base"]
            self.is_sparse = "counts" in self.files
            self._rows = ("data", "indices") if self.is_sparse else ("rows",)
            self.dtype = np.dtype(self.files[self._rows[0]]["dtype"])
            self.answers, self.weights = self._array("answers"), None
            self._indptr = np.append(0, np.cumsum(self._array("counts"))) if self.is_sparse else None
            lengths = dict.fromkeys(self.files, int(self._entry(self.n_rows)))
            lengths |= dict.fromkeys(("answers", "counts"), self.n_rows)
            for name, facts in self.files.items():
                size = (folder / name).stat().st_size
                if not size == facts["bytes"] == lengths[name] * np.dtype(facts["dtype"]).itemsize:
                    raise ValueError(f"{name} has {size} bytes")
        written, encoding = header["written"], header["written"]["encoding"]
        self.written = Written(**written | {"encoding": encoding and Encoding.from_json(encoding)})

    def blocks(self, rows: int | None = None) -> Iterator[tuple[int, Features]]:
        bounds = list(cuts(self.n_rows, self.n_features, self.dtype.itemsize, self._indptr, rows))
        ends = [(int(self._entry(lo)), int(self._entry(hi))) for lo, hi in bounds]
        buffers = self._arrays(max((end - begin for begin, end in ends), default=0))
        with self.open_files(*self._rows) as streams:
            for (lo, hi), (begin, end) in zip(bounds, ends, strict=True):
                arrays = [buffer[: end - begin] for buffer in buffers]
                for stream, array in zip(streams, arrays, strict=True):
                    _fill(stream, array)
                yield lo, self._features(arrays, self._entry(np.arange(lo, hi + 1)) - begin)

    def take(self, rows: np.ndarray) -> Features:
        rows = np.asarray(rows, dtype=np.int64)
        begins = np.flatnonzero(np.diff(rows, prepend=-2) != 1)  # of the runs of rows that follow one another
        pointers = np.append(0, np.cumsum(self._entry(rows + 1) - self._entry(rows)))
        arrays = self._arrays(int(pointers[-1]))
        with self.open_files(*self._rows) as streams:
            for begin, end in zip(begins.tolist(), np.append(begins, len(rows))[1:].tolist(), strict=True):
                for stream, array in zip(streams, arrays, strict=True):
                    stream.seek(int(self._entry(rows[begin])) * array.itemsize)
                    _fill(stream, array[pointers[begin] : pointers[end]])
        return self._features(arrays, pointers)

    @property
    def decoded(self) -> int:
        """The bytes of the rows and answers on disk."""
        return sum(facts["bytes"] for facts in self.files.values())

    def _entry(self, row: Any) -> Any:
        """Return the place of the first entry of a row, or of each of several rows, in the files of the rows."""
        return row * self.n_features if self._indptr is None else self._indptr[row]

    def _arrays(self, n: int) -> list[np.ndarray]:
        """Return room for n entries of each file of the rows."""
        return [np.empty(n, self.files[name]["dtype"]) for name in self._rows]

    def _features(self, arrays: list[np.ndarray], pointers: np.ndarray) -> Features:
        """Return the rows that begin at these entries of the arrays, in whose place they stay."""
        if not self.is_sparse:
            return arrays[0].reshape(len(pointers) - 1, self.n_features)
        data, indices = arrays
        indices -= np.int32(self._base)
        narrow = pointers[-1] <= np.iinfo(np.int32).max
        return csr((data, indices, pointers.astype(np.int32 if narrow else np.int64)), self.n_features)

    def _array(self, name: str) -> np.ndarray:
        dtype = np.dtype(self.files[name]["dtype"])
        if dtype.kind not in "biufSU":
            raise ValueError(f"{name} holds {dtype}")
        out = np.empty(self.files[name]["bytes"] // dtype.itemsize, dtype)
        with open(self._folder / name, "rb", buffering=0) as stream:
            _fill(stream, out)
        return out

    @contextmanager
    def open_files(self, *names: str) -> Iterator[list[Any]]:
        """Open some files of the folder, which is made again if it is gone and can be."""
        with ExitStack() as stack:
            try:
                streams = [stack.enter_context(self._open(name)) for name in names]
            except LostCache:
                if self.remake is None:
                    raise
                self.remake()
                streams = [stack.enter_context(self._open(name)) for name in names]
            yield streams

    def _open(self, name: str) -> Any:
        with _reading(self._folder):
            stream = open(self._folder / name, "rb", buffering=0)  # noqa: SIM115 - the caller closes it
            if os.fstat(stream.fileno()).st_size != self.files[name]["bytes"]:
                stream.close()
                raise ValueError(f"{name} is cut short")
            return stream


def open_sound(folder: Path) -> DiskPart | None:
    """Return the part in a folder of the cache if all of it is there and as it was written, else None."""
    try:
        part = DiskPart(folder)
        with _reading(folder), part.open_files(*part.files) as streams:
            for (name, facts), stream in zip(part.files.items(), streams, strict=True):
                crc = 0
                while chunk := stream.read(CHUNK):
                    crc = zlib.crc32(chunk, crc)
                if crc != facts["crc"]:
                    raise ValueError(f"{name} holds other bytes than were written")
    except LostCache:
        return None
    return part


def _fill(stream: Any, out: np.ndarray) -> None:
    """Read as many bytes as the array has."""
    content = out.reshape(-1).view(np.uint8).data
    with _reading(Path(stream.name).parent):
        while len(content):
            count = stream.readinto(content)
            if not count:
                raise ValueError(f"{Path(stream.name).name} is cut short")
            content = content[count:]


@contextmanager
def _reading(folder: Path) -> Iterator[None]:
    try:
        yield
    except LostCache:
        raise
    except (OSError, ValueError, KeyError, TypeError) as err:
        raise LostCache(f"{folder}: the decoded rows are gone or damaged ({err}): load the part again") from err


class Writer:
    """A folder of decoded rows that is being written, beside its place (`key`) in the cache until it is complete.

    Where the cache cannot be written to, all methods raise InputError, which names the part, and leave nothing behind.
    """

    def __init__(self, cache: Path, key: str, name: str) -> None:
        self._cache, self._key, self._name = cache, key, name
        self._folder: Any = None
        self._streams: dict[str, Any] = {}
        self._files: dict[str, dict[str, Any]] = {}
        with self._writing():
            cache.mkdir(parents=True, exist_ok=True)
            for left in cache.glob(f".*.{_HOST}.*.*"):  # by processes of this machine that were killed
                owner = left.name.split(".")[3]
                if owner.isdigit() and not pid_exists(int(owner)):
                    shutil.rmtree(left, ignore_errors=True)
            self._folder = self._new_folder()

    def append(self, name: str, array: np.ndarray) -> None:
        """Add an array to those of this name; all have one type."""
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
        """Write the answers and the header, and put the folder in its place.

        `small` has ``answers``, and ``counts`` of the entries of sparse rows. `of` is a `Decoder` that has ended.
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
        """Remove what was written."""
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
