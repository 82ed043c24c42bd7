"""Opening data files: decompression by name or content, and one-line errors for files that cannot be read."""

from __future__ import annotations

import codecs
import io
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from svmkit.errors import InputError, one_line

COMPRESSIONS = (".bz2", ".gz", ".xz")
FORMATS = (".csv", ".tsv", ".svm", ".libsvm", ".svmlight", ".parquet", ".xlsx", ".npz", ".npy")

_BUFFER = 1 << 20
_FREE, _FOLD = 64 << 20, 200  # bytes; compression ratio allowed beyond them: real sets grow 5- to 80-fold
_MAGIC = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ\x00": ".xz"}


def split_endings(name: str) -> tuple[str, str, str]:
    """Split a file name into stem, format and compression, "" if missing: ``a``, ``.csv``, ``.gz`` of ``a.csv.gz``."""
    stem, compression = _strip(name, COMPRESSIONS)
    stem, kind = _strip(stem, FORMATS)
    return stem, kind, compression


def _strip(name: str, endings: tuple[str, ...]) -> tuple[str, str]:
    for ending in endings:
        if name.lower().endswith(ending) and len(name) > len(ending):
            return name[: -len(ending)], ending
    return name, ""


@contextmanager
def open_data(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading its decompressed bytes. Any failure to read them becomes one InputError. The compression
    is determined by the ending (.gz, .bz2, .xz) or else by the first bytes. The file is read as a stream and refused if
    it has more than 64 MiB and more than 200 times its size: only decompression bombs expand so much.
    """
    try:
        raw = open(path, "rb")  # noqa: SIM115 - closed by the `with` below, but opened under its own error message
    except OSError as err:
        raise InputError(f"{path}: cannot be opened: {err.strerror or err}") from err
    with raw:
        try:
            start = raw.read(6)
            raw.seek(0)
            by_content = next((ending for magic, ending in _MAGIC.items() if start.startswith(magic)), "")
            compression = split_endings(path.name)[2] or by_content
            with _decompress(path, raw, compression) as stream:
                yield stream
        except (EOFError, zlib.error, lzma.LZMAError, OSError) as err:
            what = "its compressed data is broken or cut short" if compression else "reading it failed"
            raise InputError(f"{path}: {what} ({one_line(err)}): copy or download it again") from err


def _decompress(path: Path, raw: IO[bytes], compression: str) -> IO[bytes]:
    stream: Any = raw
    if compression == ".gz":
        import gzip

        stream = gzip.GzipFile(fileobj=raw)
    elif compression == ".bz2":
        import bz2

        stream = bz2.BZ2File(raw)
    elif compression == ".xz":
        stream = lzma.open(raw)  # noqa: SIM115 - the caller closes it
    # a wide buffer: the decompressors' own readline runs Python code for every line
    return io.BufferedReader(_Bounded(path, stream), _BUFFER) if compression else stream


class _Bounded(io.RawIOBase):
    """The stream of a decompressor, limited to the bytes that a file of that size can reasonably contain."""

    def __init__(self, path: Path, stream: Any) -> None:
        self._path, self._stream, self._left = path, stream, max(_FREE, _FOLD * path.stat().st_size)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._stream.readinto(buffer)
        self._left -= count
        if self._left < 0:
            raise InputError(f"{self._path}: grows more than {_FOLD}-fold: if it is meant to, decompress it first")
        return count

    def close(self) -> None:
        self._stream.close()
        super().close()


def read_start(path: Path, size: int = 1 << 16) -> bytes:
    """Return the first `size` bytes, decompressed; raise InputError if it is irregular, blank or unreadable."""
    if path.is_dir():
        raise InputError(f"{path}: is a folder, not a data file: name a file in it")
    if not path.exists():
        raise InputError(f"{path}: no such file: check the path")
    if not path.is_file():
        raise InputError(f"{path}: is no regular file (it is read more than once): save it to a file first")
    with open_data(path) as stream:
        start = stream.read(size)
    if not start.strip():
        raise InputError(f"{path}: is empty: it needs one line a sample")
    return start


def refuse_binary(path: Path, start: bytes) -> None:
    """Refuse a file that cannot be text, since it contains NUL bytes, like binary files and UTF-16."""
    if b"\x00" in start and start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        remedy = "save it as UTF-8, or give --encoding utf-16 if it is a table"
        raise InputError(f"{path}: is binary, not text in UTF-8, but in UTF-16: {remedy}")
    if b"\x00" in start:
        raise InputError(f"{path}: is binary, not text: give an svmlight, CSV, Parquet or NPZ file (text in UTF-8)")


def cite(token: str | bytes) -> str:
    """Return a token of a file, for messages: printable and at most 40 characters long."""
    text = token.decode("utf-8", "backslashreplace") if isinstance(token, bytes) else token
    return repr(text if len(text) <= 40 else text[:37] + "...")
