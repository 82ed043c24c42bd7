"""Plugin discovery through entry points: built-ins and strangers use the same door.

Listing reads package metadata only; a plugin is imported when it is asked for, and one that fails to import is
reported with its error and stops nobody else.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from svmkit.errors import InputError, UnknownName

Kind = Literal["solver", "kernel", "sampler", "tracker", "command"]
KINDS: tuple[Kind, ...] = ("solver", "kernel", "sampler", "tracker", "command")


@cache
def _found(kind: Kind) -> dict[str, EntryPoint]:
    return {point.name: point for point in sorted(entry_points(group=f"svmkit.{kind}s"), key=lambda p: p.name)}


def names(kind: Kind) -> list[str]:
    """Names of all registered plugins of a kind, sorted; nothing is imported."""
    return list(_found(kind))


def load(kind: Kind, name: str) -> Any:
    """The class registered as `name`.

    Raises UnknownName, which lists the right names, or InputError when the plugin's own import fails.
    """
    found = _found(kind)
    if name not in found:
        close = difflib.get_close_matches(name, found, n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        raise UnknownName(f"there is no {kind} {name!r}{hint}; there are: {', '.join(found) or 'none'}")
    try:
        return found[name].load()
    except (Exception, SystemExit) as error:
        raise InputError(f"{kind} {name!r} ({found[name].value}) is broken: {type(error).__name__}: {error}") from error


@dataclass(frozen=True)
class Listed:
    """One row of `svmkit plugins`: `error` is None for a plugin that imports."""

    kind: Kind
    name: str
    package: str
    doc: str
    options: dict[str, Any]
    error: str | None


def describe(kind: Kind) -> list[Listed]:
    """All plugins of a kind, each imported on its own; broken ones carry their error."""
    rows = []
    for name, point in _found(kind).items():
        package = point.dist.name if point.dist else "?"
        try:
            plugin = load(kind, name)
        except InputError as error:
            rows.append(Listed(kind, name, package, "", {}, str(error)))
            continue
        doc = (plugin.__doc__ or "").strip().split("\n")[0]
        rows.append(Listed(kind, name, package, doc, options(plugin), None))
    return rows


def solvers_where(able: Callable[[Any], bool]) -> list[str]:
    """Names of the registered solvers that work here and for whose class `able` holds."""
    return [row.name for row in describe("solver") if row.error is None and able(load("solver", row.name))]


def options(plugin: Any) -> dict[str, Any]:
    """Names and defaults of a plugin's hyperparameters (its dataclass fields)."""
    if not hasattr(plugin, "__dataclass_fields__"):
        return {}
    return {f.name: f.default for f in fields(plugin)}


def build(kind: Kind, name: str, values: dict[str, Any] | None = None) -> Any:
    """An instance of plugin `name` with these options, text converted to the type of each option's default.

    Raises InputError naming the options that exist, or why a value does not do.
    """
    plugin = load(kind, name)
    known = options(plugin)
    given = dict(values or {})
    for key, value in given.items():
        if key not in known:
            has = f"has {', '.join(known)}" if known else "has none"
            raise InputError(f"{kind} {name} has no option {key!r}; it {has}")
        if isinstance(value, str) and not isinstance(known[key], str):
            given[key] = _convert(f"{kind} {name}: {key}", value, type(known[key]))
    try:
        return plugin(**given)
    except TypeError as error:
        raise InputError(f"{kind} {name}: {error}") from error


def _convert(what: str, text: str, kind: type) -> Any:
    if kind is bool:
        if text.lower() in ("true", "yes", "1", "on", "false", "no", "0", "off"):
            return text.lower() in ("true", "yes", "1", "on")
        raise InputError(f"{what}={text!r} should be true or false")
    if kind not in (int, float):
        return text
    try:
        return kind(text)
    except ValueError:
        raise InputError(f"{what}={text!r} should be {'a whole number' if kind is int else 'a number'}") from None


def sampler(text: Any) -> Any:
    """A sampler from "full" or "uniform:59" (its first option after the colon); an instance is itself."""
    if not isinstance(text, str):  # an instance, or None: the solver's own
        return text
    name, colon, size = text.partition(":")
    if colon and not size:
        raise InputError(f"sampler {text!r} lacks its size: write {name} or {name}:59")
    first = next(iter(options(load("sampler", name))), None)
    if size and first is None:
        raise InputError(f"sampler {name} takes no size: write {name}, not {text}")
    return build("sampler", name, {first: size} if size and first else {})
