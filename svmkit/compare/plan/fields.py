"""Checked reading of YAML: maps, known keys, numbers; every error message names the place of the error."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from svmkit.errors import InputError, meant

BYTES, VALUES, DEPTH, DIGITS = 1 << 17, 100_000, 32, 100  # limits of a YAML file; specs have about 10 KB
_PLAIN = {f"tag:yaml.org,2002:{kind}" for kind in ("null", "bool", "int", "float", "str", "seq", "map", "merge")}


def read_yaml(path: str | Path) -> Any:
    """The contents of a YAML file, of plain types only.

    A file from a third party costs no more than a second: it is refused above `BYTES`, `VALUES` with aliases expanded,
    `DEPTH` of nesting or `DIGITS` of a number. Raises InputError: the file cannot be read, is not YAML, or is too
    large; the message says FILE:LINE.
    """
    import yaml

    try:
        with open(path, "rb") as file:
            raw = file.read(BYTES + 1)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}; check the path") from None
    if len(raw) > BYTES:
        raise InputError(f"{path} has more than {BYTES >> 10} KiB, too much for settings: give another file")
    try:
        text = raw.decode("utf-8")
        _require_flat(yaml, text)
        loader = yaml.SafeLoader(text)
        try:
            node = loader.get_single_node()
            _require_plain(node, {})
            return None if node is None else loader.construct_document(node)
        finally:
            loader.dispose()
    except (yaml.YAMLError, UnicodeDecodeError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        text = "not text in UTF-8" if isinstance(error, UnicodeDecodeError) else " ".join(str(error).split())
        raise InputError(f"{where}: not YAML: {getattr(error, 'problem', None) or text}") from None


def _require_flat(yaml: Any, text: str) -> None:
    """Raise ValueError if lists and maps are nested deeper than `DEPTH`, before any recursion."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEPTH:
            raise ValueError(f"nested more than {DEPTH} deep")


def _require_plain(node: Any, known: dict[int, tuple[int, int] | None]) -> tuple[int, int]:
    """Return the number of values and the depth below a node, with aliases expanded; ValueError above the limits."""
    if id(node) in known:
        size = known[id(node)]
        if size is None:
            raise ValueError("an alias within what it stands for")
        return size
    known[id(node)] = None
    values, depth = 1, 1
    if node is not None and node.tag not in _PLAIN:
        raise _error_at(node, f"a {node.tag.rpartition(':')[2]} is not taken: write it in quotes")
    if node is not None and isinstance(node.value, list):
        parts = [part for item in node.value for part in (item if isinstance(item, tuple) else (item,))]
        for below in (_require_plain(part, known) for part in parts):
            values, depth = values + below[0], max(depth, 1 + below[1])
            if values > VALUES or depth > DEPTH:
                raise ValueError(
                    f"more than {VALUES} values, or nested more than {DEPTH} deep, with aliases written out"
                )
    elif node is not None and node.tag.endswith((":int", ":float")) and len(node.value) > DIGITS:
        raise _error_at(node, f"a number of {len(node.value)} digits")
    known[id(node)] = values, depth
    return values, depth


def _error_at(node: Any, problem: str) -> Exception:
    """Return a YAML error with the line of the node."""
    import yaml

    return yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)


def as_map(where: str, value: Any) -> dict:
    """Return the value; raise InputError if it is not a map."""
    if not isinstance(value, dict):
        raise InputError(f"{where} should be a map of names, not {_short(value)}")
    return value


def as_list(value: Any) -> list:
    """Return the value if it is a list, else a list with the value as its only member."""
    return value if isinstance(value, list) else [value]


def require_keys(where: str, value: Any, must: Iterable[str], may: Iterable[str] | None = None) -> None:
    """Raise InputError unless `value` is a map with all keys of `must` and no others than `may` (default `must`).

    Parameters
    ----------
    where, value, must, may : str, object, iterable of str, iterable of str or None
        The place, for messages, of the value; required keys, and allowed keys.
    """
    require_known(where, as_map(where, value), sorted(must if may is None else may), what="key")
    missing = sorted(set(must) - set(value))
    if missing:
        raise InputError(f"{where} lacks {', '.join(missing)}")


def require_known(where: str, names: Iterable[Any], right: Iterable[Any], what: str = "name") -> None:
    """Raise InputError, with the unknown names and the closest match, unless all `names` are among `right`.

    Parameters
    ----------
    where, names, right, what : str, iterable, iterable, str
        The place of the names, for messages; the names, and the known ones; the noun in messages.
    """
    right = list(right)
    unknown = [str(name) for name in names if name not in right]
    if unknown:
        known = ", ".join(map(str, right)) or "none"
        raise InputError(f"{where}: unknown {what} {', '.join(unknown)}{meant(unknown[0], right)}; known: {known}")


@contextmanager
def locate(where: str) -> Iterator[None]:
    """Prefix the message of an InputError that is raised within the block with a place."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def as_entry(where: str, value: Any) -> dict[str, Any]:
    """Return NAME or {name: NAME, ...} as the latter; raise InputError for any other value."""
    entry = {"name": value} if isinstance(value, str) else dict(as_map(where, value))
    if not isinstance(entry.get("name"), str):
        raise InputError(f"{where} lacks its name")
    return entry


def positive(where: str, value: Any) -> float:
    """Return the value as a finite float > 0; raise InputError for any other value."""
    return number(where, value, positive=True)


def number(where: str, value: Any, *, positive: bool = False) -> float:
    """Return the value as a finite float (YAML reads 1e-3 as text); raise InputError for any other value."""
    try:
        if isinstance(value, bool):
            raise ValueError
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{where} should be a number, not {_short(value)}") from None
    if not math.isfinite(result) or (positive and not result > 0):
        raise InputError(f"{where} should be a finite number{' > 0' if positive else ''}, not {_short(value)}")
    return result


def count(where: str, value: Any, least: int = 1, most: float = math.inf) -> int:
    """Return the value if it is a whole number from `least` to `most`; raise InputError otherwise.

    Parameters
    ----------
    where, value, least, most : str, object, int, float
        The place, for messages, of the value, and its bounds.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InputError(f"{where} should be a whole number >= {least}, not {_short(value)}")
    if value > most:
        raise InputError(f"{where} should be a whole number <= {most:g}, not {_short(value)}")
    return value


def column(where: str, value: Any) -> str | int:
    """Return the name or the position of a column; raise InputError for any other value."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InputError(f"{where} should be names or positions of columns, not {_short(value)}")
    return value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
