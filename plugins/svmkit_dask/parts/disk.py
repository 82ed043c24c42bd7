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

from svmkit.data.prepare.encoding import Encoding
from svmkit.data.prepare.features import Features
from svmkit.errors import InputError
from svmkit_dask.parts.part import MemoryPart, Part, Written, csr, cuts

HEADER = "header.json"
CHUNK = 8 << 20  # bytes that are checked together


class LostCache(InputError):
    """The decoded rows are gone or damaged. `Source.load` makes them anew."""


class DiskPart(Part):
    """A part whose rows are in a folder of local disk; answers and row pointers are in memory.

    Parameters
    ----------
    folder : Path
        The folder, which `Writer` has written.

    Attributes
    ----------
    remake : callable or None
        Decodes the rows to the same folder again, should it be gone.

    Raises
    ------
    LostCache
        The folder is not complete.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.remake: Callable[[], Any] | None = None
        with _reading(folder):
            header = json.loads((folder / HEADER).read_bytes())
            self._files: dict[str, dict[str, Any]] = header["files"]
            self.n_rows, self.n_features, self._base = header["n_rows"], header["n_features"], header["base"]
            self.is_sparse = "counts" in self._files
            self.dtype = np.dtype(self._files["data" if self.is_sparse else "rows"]["dtype"])
            self.answers, self.weights = self._array("answers"), None
            self._indptr = np.append(0, np.cumsum(self._array("counts"))) if self.is_sparse else None
            self._require_sizes()
        written, encoding = header["written"], header["written"]["encoding"]
        self.written = Written(**written | {"encoding": encoding and Encoding.from_json(encoding)})

    def blocks(self, rows: int | None = None) -> Iterator[tuple[int, Features]]:
        bounds = list(cuts(self.n_rows, self.n_features, self.dtype.itemsize, self._indptr, rows))
        if self._indptr is None:
            buffer = np.empty((max((hi - lo for lo, hi in bounds), default=0), self.n_features), self.dtype)
            with self._opened("rows") as (stream,):
                for lo, hi in bounds:
                    _fill(stream, buffer[: hi - lo])
                    yield lo, buffer[: hi - lo]
            return
        most = max((int(self._indptr[hi] - self._indptr[lo]) for lo, hi in bounds), default=0)
        data, indices = np.empty(most, self.dtype), np.empty(most, np.int32)
        with self._opened("data", "indices") as (values, columns):
            for lo, hi in bounds:
                pointers = self._pointers(lo, hi)
                n = int(pointers[-1])
                _fill(values, data[:n])
                _fill(columns, indices[:n])
                indices[:n] -= self._base
                yield lo, csr(data[:n], indices[:n], pointers, self.n_features)

    def take(self, rows: np.ndarray) -> Features:
        rows = np.asarray(rows, dtype=np.int64)
        begins = np.flatnonzero(np.diff(rows, prepend=-2) != 1)  # of the runs of rows that follow one another
        ends = np.append(begins, len(rows))[1:]
        runs = list(zip(rows[begins].tolist(), ends.tolist(), begins.tolist(), strict=True))
        if self._indptr is None:
            out = np.empty((len(rows), self.n_features), self.dtype)
            with self._opened("rows") as (stream,):
                for row, end, begin in runs:
                    stream.seek(row * self.n_features * self.dtype.itemsize)
                    _fill(stream, out[begin:end])
            return out
        counts = self._indptr[rows + 1] - self._indptr[rows]
        pointers = np.append(0, np.cumsum(counts))
        data, indices = np.empty(int(pointers[-1]), self.dtype), np.empty(int(pointers[-1]), np.int32)
        with self._opened("data", "indices") as streams:
            for row, end, begin in runs:
                for stream, out in zip(streams, (data, indices), strict=True):
                    stream.seek(int(self._indptr[row]) * out.itemsize)
                    _fill(stream, out[pointers[begin] : pointers[end]])
        return csr(data, indices - np.int32(self._base), pointers.astype(_width(pointers)), self.n_features)

    @property
    def nbytes(self) -> int:
        return self.answers.nbytes + (0 if self._indptr is None else self._indptr.nbytes)

    @property
    def decoded(self) -> int:
        """The bytes of the rows and answers on disk."""
        return sum(facts["bytes"] for facts in self._files.values())

    def in_memory_copy(self) -> MemoryPart:
        """Return the part with its rows in memory."""
        with self._opened(*self._files) as streams:
            arrays = {name: self._whole(name, stream) for name, stream in zip(self._files, streams, strict=True)}
        if self._indptr is None:
            X = arrays["rows"].reshape(self.n_rows, self.n_features)
        else:
            arrays["indices"] -= np.int32(self._base)
            X = csr(arrays["data"], arrays["indices"], self._pointers(0, self.n_rows), self.n_features)
        return MemoryPart(X, self.answers, self.weights, self.written)

    def require_sound(self) -> None:
        """Read everything once, and raise LostCache if it is not what was written."""
        with _reading(self._folder), self._opened(*self._files) as streams:
            for (name, facts), stream in zip(self._files.items(), streams, strict=True):
                crc = 0
                while chunk := stream.read(CHUNK):
                    crc = zlib.crc32(chunk, crc)
                if crc != facts["crc"]:
                    raise ValueError(f"{name} holds other bytes than were written")

    def _require_sizes(self) -> None:
        """Raise ValueError unless the files have the sizes that the header and the row pointers say."""
        n = self.n_rows * self.n_features if self._indptr is None else int(self._indptr[-1])
        lengths = dict.fromkeys(self._files, n) | dict.fromkeys(("answers", "counts"), self.n_rows)
        for name, facts in self._files.items():
            size = (self._folder / name).stat().st_size
            if not size == facts["bytes"] == lengths[name] * np.dtype(facts["dtype"]).itemsize:
                raise ValueError(f"{name} has {size} bytes")

    def _array(self, name: str) -> np.ndarray:
        with open(self._folder / name, "rb", buffering=0) as stream:
            return self._whole(name, stream)

    def _whole(self, name: str, stream: Any) -> np.ndarray:
        facts = self._files[name]
        dtype = np.dtype(facts["dtype"])
        if dtype.kind not in "biufSU":
            raise ValueError(f"{name} holds {dtype}")
        out = np.empty(facts["bytes"] // dtype.itemsize, dtype)
        _fill(stream, out)
        return out

    def _pointers(self, lo: int, hi: int) -> np.ndarray:
        assert self._indptr is not None
        pointers = self._indptr[lo : hi + 1] - self._indptr[lo]
        return pointers.astype(_width(pointers))

    @contextmanager
    def _opened(self, *names: str) -> Iterator[list[Any]]:
        with ExitStack() as stack:
            try:
                streams = [stack.enter_context(self._file(name)) for name in names]
            except LostCache:
                if self.remake is None:
                    raise
                self.remake()
                streams = [stack.enter_context(self._file(name)) for name in names]
            yield streams

    def _file(self, name: str) -> Any:
        with _reading(self._folder):
            stream = open(self._folder / name, "rb", buffering=0)  # noqa: SIM115 - the caller closes it
            if os.fstat(stream.fileno()).st_size != self._files[name]["bytes"]:
                stream.close()
                raise ValueError(f"{name} is cut short")
            return stream


def sound(folder: Path) -> DiskPart | None:
    """Return the part in a folder of the cache if it is there and undamaged, else None."""
    try:
        part = DiskPart(folder)
        part.require_sound()
    except LostCache:
        return None
    return part


def _width(pointers: np.ndarray) -> type:
    return np.int32 if pointers[-1] <= np.iinfo(np.int32).max else np.int64


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
    """A folder of decoded rows that is being written, beside its place in the cache until it is complete.

    Parameters
    ----------
    cache : Path
        The folder of all decoded parts, which is made if it is not there.
    key : str
        The name of the folder of this part.
    name : str
        The part in messages.

    Raises
    ------
    InputError
        The cache cannot be written to, or the disk is full; nothing is left behind. So in all methods.
    """

    def __init__(self, cache: Path, key: str, name: str) -> None:
        self._cache, self._key, self._name = cache, key, name
        self._folder: Path | None = None
        self._streams: dict[str, Any] = {}
        self._files: dict[str, dict[str, Any]] = {}
        with self._writing():
            cache.mkdir(parents=True, exist_ok=True)
            _sweep(cache)
            self._folder = Path(tempfile.mkdtemp(prefix=f".{key}.{_host()}.{os.getpid()}.", dir=cache))

    def append(self, name: str, array: np.ndarray) -> None:
        """Add an array to those of this name; all have one type."""
        with self._writing():
            assert self._folder is not None
            if name not in self._streams:
                self._streams[name] = open(self._folder / name, "wb", buffering=0)  # noqa: SIM115
                self._files[name] = {"dtype": array.dtype.str, "bytes": 0, "crc": 0}
            facts, content = self._files[name], np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
            for at in range(0, len(content), CHUNK):
                chunk = content[at : at + CHUNK]
                while len(chunk):
                    chunk = chunk[self._streams[name].write(chunk) :]
                facts["crc"] = zlib.crc32(content[at : at + CHUNK], facts["crc"])
            facts["bytes"] += len(content)

    def finish(self, small: Mapping[str, np.ndarray], n_features: int, base: int, written: Written) -> DiskPart:
        """Write the answers and the header, and put the folder in its place.

        Parameters
        ----------
        small : mapping of str to ndarray
            ``answers``, and ``counts`` of the entries of sparse rows.
        n_features : int
            Number of columns.
        base : int
            What is subtracted from the columns of sparse rows.
        written : Written
            What the other parts have to settle.
        """
        for name, array in small.items():
            self.append(name, array)
        encoding = written.encoding and written.encoding.to_json()
        header = {"n_rows": len(small["answers"]), "n_features": n_features, "base": base, "files": self._files}
        header["written"] = vars(written) | {"encoding": encoding}
        with self._writing():
            assert self._folder is not None
            self._close()
            (self._folder / HEADER).write_text(json.dumps(header))
            return self._placed()

    def discard(self) -> None:
        """Remove what was written."""
        self._close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _placed(self) -> DiskPart:
        assert self._folder is not None
        place = self._cache / self._key
        try:
            os.rename(self._folder, place)
        except OSError:
            found = sound(place)
            if found is not None:  # another process was faster
                self.discard()
                return found
            aside = Path(tempfile.mkdtemp(prefix=f".{self._key}.{_host()}.{os.getpid()}.", dir=self._cache))
            os.rename(place, aside / "damaged")
            os.rename(self._folder, place)
            shutil.rmtree(aside, ignore_errors=True)
        return DiskPart(place)

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


def _host() -> str:
    return f"{zlib.crc32(platform.node().encode()):08x}"


def _sweep(cache: Path) -> None:
    """Remove what processes of this machine that were killed have left half-written."""
    from psutil import pid_exists

    for folder in cache.glob(f".*.{_host()}.*.*"):
        owner = folder.name.split(".")[3]
        if owner.isdigit() and not pid_exists(int(owner)):
            shutil.rmtree(folder, ignore_errors=True)
