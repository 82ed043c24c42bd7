"""The format of a file, by its ending or its first bytes."""

from __future__ import annotations

import re
from pathlib import Path

from svmkit.data.formats.files import read_start, refuse_binary, split_endings
from svmkit.errors import InputError

_SVMLIGHT_LINE = re.compile(rb"\s*\S+(\s+(qid|[-+]?\d+):\S*)+\s*")
TABLES = ("table", "parquet", "excel")
_BY_ENDING = {".csv": "table", ".tsv": "table", ".parquet": "parquet", ".xlsx": "excel", ".npz": "npz", ".npy": "npy"}
_BY_MAGIC = {b"PAR1": "parquet", b"PK\x03\x04": "npz", b"\x93NUMPY": "npy"}


def kind_of(path: Path, charset: str | None = None) -> str:
    """Return the format of a file, by its ending or its first bytes: table, parquet, excel, npz, npy or svmlight."""
    if path.suffix.lower() == ".xls":
        raise InputError(f"{path}: Excel's older format is not read: save it as .xlsx or as CSV")
    start = read_start(path)
    ending = split_endings(path.name)[1]
    by_magic = next((kind for magic, kind in _BY_MAGIC.items() if start.startswith(magic)), None)
    kind = _BY_ENDING.get(ending) or by_magic
    if kind in ("parquet", "excel", "npz", "npy"):
        return kind
    if charset is not None:  # UTF-16 has NUL bytes, too
        start = start.decode(charset, "ignore").encode(errors="ignore")
    refuse_binary(path, start)
    return kind or _sniff(start)


def _sniff(start: bytes) -> str:
    """Return "table" if more of the first lines have a delimiter and no index:value than have such a pair."""
    svmlight = table = 0
    lines = (line.partition(b"#")[0] for line in start.splitlines())
    for line in [line for line in lines if line.strip()][:20]:
        if _SVMLIGHT_LINE.fullmatch(line):
            svmlight += 1
        elif any(mark in line for mark in (b",", b"\t", b";")) and not re.search(rb"\s[-+]?\d+:\S", line):
            table += 1
    return "table" if table > svmlight else "svmlight"
