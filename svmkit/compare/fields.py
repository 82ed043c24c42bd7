"""Looking at what a YAML file holds: maps, known keys, numbers; every complaint says where."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from svmkit.errors import InputError


def read_yaml(path: str | Path) -> Any:
    """What a YAML file holds, plain types only. InputError: no such file, no YAML, with FILE:LINE."""
    import yaml

    try:
        return yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}; check the path") from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        raise InputError(f"{where}: not YAML: {getattr(error, 'problem', None) or 'not text'}") from None


def as_map(where: str, value: Any) -> dict:
    """`value`, or InputError when it is no map."""
    if not isinstance(value, dict):
        raise InputError(f"{where} should be a map of names, not {_short(value)}")
    return value


def as_list(value: Any) -> list:
    """`value` where it is a list, else a list of it alone."""
    return value if isinstance(value, list) else [value]


def keys(where: str, value: Any, must: Iterable[str], may: Iterable[str] | None = None) -> None:
    """InputError unless `value` is a map that has all keys of `must` and none beyond `may` (default `must`)."""
    known(where, as_map(where, value), sorted(must if may is None else may), what="key")
    missing = sorted(set(must) - set(value))
    if missing:
        raise InputError(f"{where} lacks {', '.join(missing)}")


def known(where: str, names: Iterable[Any], right: Iterable[Any], what: str = "name") -> None:
    """InputError naming those of `names` that are not among the `right` ones."""
    right = list(right)
    unknown = [str(name) for name in names if name not in right]
    if unknown:
        close = difflib.get_close_matches(unknown[0], [str(name) for name in right], n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        raise InputError(
            f"{where}: unknown {what} {', '.join(unknown)}{hint}; known: {', '.join(map(str, right)) or 'none'}"
        )


def number(where: str, value: Any, *, positive: bool = False) -> float:
    """`value` as a finite float; YAML reads 1e-3 as text. InputError for anything else."""
    try:
        if isinstance(value, bool):
            raise ValueError
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{where} should be a number, not {_short(value)}") from None
    if not math.isfinite(found) or (positive and not found > 0):
        raise InputError(f"{where} should be a finite number{' > 0' if positive else ''}, not {_short(value)}")
    return found


def count(where: str, value: Any, least: int = 1) -> int:
    """`value` where it is a whole number of at least `least`, else InputError."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InputError(f"{where} should be a whole number >= {least}, not {_short(value)}")
    return value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
