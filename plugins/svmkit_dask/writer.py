"""Decoded rows are written to local disk completely or not at all, whatever ends the process."""

from __future__ import annotations

import json
import os
import platform
import shutil
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from svmkit.errors import InputError
from svmkit_dask.disk import CHUNK, HEADER, DiskPart, sound
from svmkit_dask.part import Written


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
