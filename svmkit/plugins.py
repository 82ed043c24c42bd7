"""Plugin discovery through entry points: built-ins and strangers use the same door.

Listing reads package metadata only; a plugin is imported when it is asked for, and one that fails to import, or that
lacks the software it needs, is reported with its error and stops nobody else.

INTERFACE is the version of what plugins are written against: the base classes (`Solver`, `Kernel`, `Sampler`, ...) and
what they are handed (problem, Gram, draws). It rises when a plugin that passes `svmkit check` could stop doing so: a
method that svmkit calls, or an attribute that a plugin may read, goes, is renamed or means something else. Additions
with a default do not count. A package says which version it is written for in its metadata, so that it is known before
anything of it is imported, for all its plugins at once; the name is the version, the value the package:

    [project.entry-points."svmkit.interface"]
    1 = "my_package"

Several lines: it works with each of these. None: version 1.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from svmkit._version import __version__
from svmkit.errors import InputError, Unavailable, UnknownName

INTERFACE = 1

Kind = Literal["solver", "kernel", "sampler", "tracker", "command"]
Works = Literal["ok", "unavailable", "broken"]
KINDS: tuple[Kind, ...] = ("solver", "kernel", "sampler", "tracker", "command")


@cache
def registered(kind: Kind) -> Mapping[str, EntryPoint]:
    """The entry points of all registered plugins of a kind by name, sorted; nothing is imported."""
    return {point.name: point for point in sorted(entry_points(group=f"svmkit.{kind}s"), key=lambda p: p.name)}


def names(kind: Kind) -> list[str]:
    """Names of all registered plugins of a kind, sorted; nothing is imported."""
    return list(registered(kind))


def requirement(kind: Kind, name: str) -> str | None:
    """The distribution that registers a plugin, as package==version; None when it is not known."""
    point = registered(kind).get(name)
    return f"{point.dist.name}=={point.dist.version}" if point and point.dist else None


def load(kind: Kind, name: str) -> Any:
    """The class registered as `name`.

    Raises UnknownName, which lists the right names, Unavailable when the plugin needs software that is not installed,
    or InputError when it is written for another INTERFACE or its own import fails.
    """
    found = registered(kind)
    if name not in found:
        close = difflib.get_close_matches(name, found, n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        raise UnknownName(f"there is no {kind} {name!r}{hint}; there are: {', '.join(found) or 'none'}")
    _require_interface(kind, found[name])
    try:
        return found[name].load()
    except Unavailable as error:
        raise Unavailable(f"{kind} {name} is not available here: {error}", error.plugin) from error
    except (Exception, SystemExit) as error:
        raise InputError(f"{kind} {name!r} ({found[name].value}) is broken: {type(error).__name__}: {error}") from error


def _require_interface(kind: Kind, point: EntryPoint) -> None:
    """InputError when the package of a plugin says that it is written for other versions of the interface only."""
    package = point.dist
    if package is None:
        return
    said = sorted(found.name for found in package.entry_points if found.group == "svmkit.interface") or ["1"]
    if str(INTERFACE) in said:
        return
    what = f"{kind} {point.name!r} of package {package.name} {package.version}"
    wrong = [version for version in said if not (version.isascii() and version.isdigit() and len(version) < 10)]
    if wrong:
        raise InputError(f"{what} is broken: its svmkit.interface {wrong[0]!r} is no version: write {INTERFACE}")
    upgrade = "svmkit" if min(map(int, said)) > INTERFACE else package.name
    raise InputError(
        f"{what} is written for version {' or '.join(said)} of the plugin interface, but svmkit {__version__} has "
        f"version {INTERFACE}: upgrade {upgrade} (pip install --upgrade {upgrade})"
    )


@dataclass(frozen=True)
class Listed:
    """One row of `svmkit plugins`: `error` is None for a plugin that works here.

    plugin : the class, None for one that is broken; status : "ok", "unavailable" for one that needs software that is
    not installed (`error` says which), or "broken"
    """

    kind: Kind
    name: str
    package: str
    doc: str
    options: dict[str, Any]
    error: str | None
    status: Works = "ok"
    plugin: Any = field(default=None, repr=False, compare=False)


def describe(kind: Kind) -> list[Listed]:
    """All plugins of a kind, each imported on its own; those that do not work here carry their error."""
    return [_described(kind, name, point.dist.name if point.dist else "?") for name, point in registered(kind).items()]


def _described(kind: Kind, name: str, package: str) -> Listed:
    error: str | None = None
    status: Works = "ok"
    plugin = None
    try:
        plugin = load(kind, name)
    except Unavailable as missing:
        error, status, plugin = str(missing.__cause__), "unavailable", missing.plugin
    except InputError as failure:
        error, status = str(failure), "broken"
    said = getattr(getattr(plugin, "info", None), "help", None) if kind == "command" else getattr(plugin, "__doc__", "")
    doc = (said if isinstance(said, str) else "").strip().split("\n")[0]
    return Listed(kind, name, package, doc, options(plugin), error, status, plugin)


def working(kind: Kind) -> list[Listed]:
    """Those of `describe` that can be used here."""
    return [row for row in describe(kind) if row.status == "ok"]


def solvers_where(able: Callable[[Any], bool]) -> list[str]:
    """Names of the registered solvers that work here and for whose class `able` holds."""
    return [row.name for row in working("solver") if able(row.plugin)]


def options(plugin: Any) -> dict[str, Any]:
    """Names and defaults of a plugin's hyperparameters (its dataclass fields)."""
    if not hasattr(plugin, "__dataclass_fields__"):
        return {}
    return {f.name: f.default for f in fields(plugin)}


def build(kind: Kind, name: str, values: dict[str, Any] | None = None) -> Any:
    """An instance of plugin `name` with these options, text converted to the type of each option's default.

    Raises InputError naming the options that exist and who has the one asked for, or why a value does not do.
    """
    plugin = load(kind, name)
    known = options(plugin)
    given = dict(values or {})
    for key, value in given.items():
        if key not in known:
            raise InputError(_no_option(kind, name, plugin, key, value))
        if isinstance(value, str) and not isinstance(known[key], str):
            given[key] = _convert(f"{kind} {name}: {key}", value, type(known[key]))
    losses: tuple[str, ...] = getattr(plugin, "losses", ())
    if kind == "solver" and given.get("loss", losses) not in (losses, *losses):
        raise InputError(f"solver {name}: loss={given['loss']!r} is not known; there are: {', '.join(losses)}")
    try:
        return plugin(**given)
    except TypeError as error:
        raise InputError(f"{kind} {name}: {error}") from error


def _no_option(kind: Kind, name: str, plugin: Any, key: str, value: Any) -> str:
    """What to say of an option that a plugin lacks: which it has, and which solvers have this one."""
    known = options(plugin)
    what, has = key, f"it has {', '.join(known)}" if known else "it has none"
    able: list[str] = []
    if kind == "solver" and key == "loss" and hasattr(plugin, "losses"):
        what, has = f"loss={value}", f"its loss is {' or '.join(plugin.losses)}"
        able = solvers_where(lambda solver: value in getattr(solver, "losses", ()))
    elif kind == "solver":
        able = solvers_where(lambda solver: key in options(solver))
    others = f"; with {what}: {', '.join(able)}" if able and name not in able else ""
    return f"{kind} {name} has no option {key!r}; {has}{others}"


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
