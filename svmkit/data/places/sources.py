"""The places of data sets by name: working directory, built-in sets, $SVMKIT_DATA, download cache."""

from __future__ import annotations

import difflib
import glob
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from svmkit.data.formats.files import COMPRESSIONS, FORMATS, cite, split_endings
from svmkit.data.places.builtin import BUILTIN
from svmkit.data.places.remote import REMOTE
from svmkit.errors import InputError

# the file name as given first, then compressed, then each format plain and compressed
_DATABASE = re.compile(r"(sqlite|postgres(ql)?|mysql|mariadb|oracle|mssql|duckdb|snowflake|bigquery)(\+\w+)?://", re.I)
_ENDINGS = [kind + packed for kind in ("", *FORMATS) for packed in ("", *COMPRESSIONS)]

_NOT_DATA = (".md", ".rst", ".html", ".json", ".yaml", ".yml", ".py", ".sha256", ".part", ".tmp", ".lock")
_NOT_DATA_STEMS = ("readme", "license", "licence", "copying", "notice", "checksums", "sha256sums", "md5sums")


@dataclass(frozen=True)
class Entry:
    """A data set that `load` finds by name.

    Attributes
    ----------
    name : str
        The name for `load`.
    origin : {"built-in", "$SVMKIT_DATA", "cache"}
    path : Path or None
        The file; None for a built-in set.

    Examples
    --------
    >>> from svmkit.data import Entry, available
    >>> available()[0]
    Entry(name='breast_cancer', origin='built-in', path=None)
    """

    name: str
    origin: str
    path: Path | None


def cache_dir() -> Path:
    """Return the folder of downloaded sets, $SVMKIT_CACHE or ~/.cache/svmkit/datasets, which may not exist.

    Examples
    --------
    >>> import os
    >>> from unittest import mock
    >>> from svmkit.data import cache_dir
    >>> with mock.patch.dict(os.environ, SVMKIT_CACHE="sets"):
    ...     cache_dir().name
    'sets'
    """
    given = os.environ.get("SVMKIT_CACHE")
    return Path(given).expanduser() if given else Path.home() / ".cache" / "svmkit" / "datasets"


def find_cached(name: str) -> Path | None:
    """Return the file of the download cache for a bare name, or None if there is none."""
    return _find_in_folder(cache_dir(), name)


def find(source: str | os.PathLike[str]) -> str | Path:
    """Return the name of a built-in set or the path of a file. A source is a path (any Path, or text with a folder in
    it), or a bare name: a file of the working directory, a built-in set, a file of $SVMKIT_DATA or of the cache. For
    the last two, endings for format and compression may be omitted. Raises InputError if nothing has this name.
    """
    text = os.fspath(source)
    if not text or "\x00" in text:
        raise InputError(f"{text!r} names no data set: give a path, or a name such as breast_cancer")
    if match := _DATABASE.match(text):
        raise InputError(
            f"{match[0]}...: a database is not read: write the rows to a file, as by pandas.read_sql(QUERY, URL)."
            "to_parquet('data.parquet'), or train on the DataFrame in Python (docs/tables.md)"
        )
    if not isinstance(source, str) or text.startswith("~") or os.sep in text or (os.altsep and os.altsep in text):
        return _existing(Path(text).expanduser())
    here = Path(text)
    if _is_file(here):
        return here
    if text in BUILTIN:
        return text
    for _, folder in _folders():
        path = _find_in_folder(folder, text)
        if path is not None:
            return path
    folders = [f"{origin} ({folder})" for origin, folder in _folders()]
    if len(folders) == 1:
        folders.insert(0, "$SVMKIT_DATA (not set)")
    cwd = Path.cwd()
    known = sorted({entry.name for entry in available()} | {path.name for path in data_files(cwd)} | set(REMOTE))
    looked = ", ".join(
        [f"the working directory ({cwd})", f"the built-in sets ({', '.join(sorted(BUILTIN))})", *folders]
    )
    hint = f" here: `svmkit datasets fetch {text}` brings it" if text in REMOTE else offer(text, known)
    raise InputError(f"no data set {cite(text)}{hint}; looked in {looked}")


def several(source: str | os.PathLike[str]) -> list[Path] | None:
    """Return the files of a pattern or of a folder; None if a source is one file or the name of a data set."""
    text = os.path.expanduser(os.fspath(source))
    if glob.has_magic(text) and not os.path.exists(text):
        return paths_of(source)
    if not os.path.isdir(text):
        return None
    if not isinstance(source, str) or os.sep in text:
        return paths_of(source)
    try:
        find(source)
    except InputError:
        return paths_of(source)
    return None


def paths_of(pattern: str | os.PathLike[str]) -> list[Path]:
    """Return the sorted files of a pattern, a folder, a file or the name of a data set.

    Raises InputError if there are none.
    """
    text = os.path.expanduser(os.fspath(pattern))
    if os.path.isdir(text):
        # Spark and Dask write _SUCCESS and _metadata into the folder of the parts
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


def available() -> list[Entry]:
    """Return the sets with bare names: built-in ones, then those of $SVMKIT_DATA and the cache.

    Examples
    --------
    >>> from svmkit.data import available
    >>> [entry.name for entry in available() if entry.origin == "built-in"]
    ['breast_cancer', 'diabetes', 'digits', 'iris', 'wine']
    """
    entries = [Entry(name, "built-in", None) for name in sorted(BUILTIN)]
    taken = set(BUILTIN)
    for origin, folder in _folders():
        for path in data_files(folder):
            name = split_endings(path.name)[0]
            # if two files share a stem, it names the file that `find` returns for it, and the other keeps its full name
            if name in taken or _find_in_folder(folder, name) != path:
                name = path.name
            if name not in taken:
                taken.add(name)
                entries.append(Entry(name, origin, path))
    return entries


def _existing(path: Path) -> Path:
    try:
        if path.exists():
            return path
    except OSError as err:  # too long a name, or a folder without access
        raise InputError(f"{path}: cannot be opened: {err.strerror}") from err
    matched = len(list(path.parent.glob(path.name))) if set(path.name) & set("*?[") else 0
    if matched:
        raise InputError(
            f"{path}: a pattern of {matched:,} files: name one of them; as the parts of one set they are read by "
            "svmkit train and evaluate"
        )
    beside = [str(p) for p in data_files(path.parent)] if path.parent.is_dir() else []
    raise InputError(f"{path}: no such file{offer(str(path), beside) or ': check the path'}")


def _folders() -> Iterator[tuple[str, Path]]:
    given = os.environ.get("SVMKIT_DATA")
    if given:
        yield "$SVMKIT_DATA", Path(given).expanduser()
    yield "cache", cache_dir()


def _find_in_folder(folder: Path, name: str) -> Path | None:
    return next((path for end in _ENDINGS if _is_file(path := folder / (name + end))), None)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # too long a name, or a folder without access
        return False


def data_files(folder: Path) -> list[Path]:
    """Return the files of a folder that may be data sets, sorted; empty for a missing or inaccessible folder."""
    try:
        files = sorted(path for path in folder.iterdir() if path.is_file())
    except OSError:
        return []
    kept = [path for path in files if not path.name.lower().endswith(_NOT_DATA)]
    return [path for path in kept if path.name.lower().partition(".")[0] not in ("", *_NOT_DATA_STEMS)]


def offer(name: str, known: list[str]) -> str:
    """Return the rest of a message that offers similar names, ": did you mean ...?", or "" if there are none."""
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    close += [k for k in known if k.lower().startswith(name.lower()) and k not in close][: 3 - len(close)]
    return f": did you mean {' or '.join(close)}?" if close else ""
