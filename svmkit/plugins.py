"""Plugin discovery through entry points: built-in and third-party plugins use the same mechanism.

Listing plugins reads package metadata only. A plugin is imported when it is asked for; one that fails to import, or
that lacks the software it needs, is reported with its error and does not affect the others.

INTERFACE is the version of the interface that plugins are written against: the base classes (`Solver`, `Kernel`,
`Sampler`, ...), the objects that their methods receive (problem, Gram, draws) and the modules that both are imported
from. It rises when a plugin that passes `svmkit check` could stop doing so: when a method that svmkit calls, an
attribute that a plugin may read, or a name that it may import is removed, renamed or given another meaning. Additions
with a default do not count. A package declares in its metadata which version all its plugins are written for, so that
the version is known before anything of the package is imported; the name is the version, the value the package:

    [project.entry-points."svmkit.interface"]
    2 = "my_package"

Several lines mean that the package works with each of these versions. A package without a declaration counts as one of
version 1. docs/plugin_interface.md lists what each version changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.metadata import Distribution, EntryPoint, entry_points
from numbers import Integral, Real
from typing import Any, Literal

from svmkit._version import __version__
from svmkit.errors import InputError, Unavailable, UnknownName, meant

INTERFACE = 2
UPGRADES = {
    1: "import Solver, StepInfo, SimplexQP, Sampler, ... from svmkit.solver and kernels from svmkit.kernels "
    "(docs/plugin_interface.md lists all changes)"
}
"""What an author changes in a plugin written for this version of the interface to bring it to the next version."""

Kind = Literal["solver", "kernel", "sampler", "tracker", "command"]
Works = Literal["ok", "unavailable", "broken"]
KINDS: tuple[Kind, ...] = ("solver", "kernel", "sampler", "tracker", "command")
_SHOULD_BE = {bool: "true or false", int: "a whole number", float: "a number"}

_loaded: dict[tuple[Kind, str], tuple[EntryPoint, Any]] = {}  # what `load` has imported


@cache
def registered(kind: Kind) -> Mapping[str, EntryPoint]:
    """The entry points of all plugins of a kind; nothing is imported.

    Parameters
    ----------
    kind : {"solver", "kernel", "sampler", "tracker", "command"}
        The kind of plugin.

    Returns
    -------
    mapping of str to importlib.metadata.EntryPoint
        Entry points by plugin name, sorted by name.
    """
    return {point.name: point for point in sorted(entry_points(group=f"svmkit.{kind}s"), key=lambda p: p.name)}


def names(kind: Kind) -> list[str]:
    """Names of all registered plugins of a kind, sorted; nothing is imported."""
    return list(registered(kind))


def requirement(kind: Kind, name: str) -> str | None:
    """The distribution that registers a plugin, as package==version; None when it is not known."""
    point = registered(kind).get(name)
    return f"{point.dist.name}=={point.dist.version}" if point and point.dist else None


def load(kind: Kind, name: str) -> Any:
    """Import the class that is registered as `name`.

    Parameters
    ----------
    kind : {"solver", "kernel", "sampler", "tracker", "command"}
        The kind of plugin.
    name : str
        The name under which the plugin is registered.

    Returns
    -------
    type
        The plugin's class; for a command, its typer.Typer.

    Raises
    ------
    UnknownName
        If no plugin of this kind has that name; the message lists the registered names.
    Unavailable
        If the plugin needs software that is not installed.
    InputError
        If the plugin is written for another version of the interface, or if its import fails.
    """
    found = registered(kind)
    point, plugin = _loaded.get((kind, name), (None, None))
    if point is not None and point is found.get(name):
        return plugin
    if name not in found:
        raise UnknownName(f"there is no {kind} {name!r}{meant(name, found)}; there are: {', '.join(found) or 'none'}")
    _require_interface(kind, found[name])
    try:
        plugin = found[name].load()
    except Unavailable as error:
        raise Unavailable(f"{kind} {name} is not available here: {error}", error.plugin) from error
    except (Exception, SystemExit) as error:
        raise InputError(f"{kind} {name!r} ({found[name].value}) is broken: {type(error).__name__}: {error}") from error
    _loaded[kind, name] = found[name], plugin
    return plugin


def _require_interface(kind: Kind, point: EntryPoint) -> None:
    """Raise InputError when a plugin's package declares only other versions of the interface than INTERFACE."""
    package = point.dist
    if package is None:
        return
    declared = _declared(package)
    versions = declared or ["1"]
    if str(INTERFACE) in versions:
        return
    what = f"{kind} {point.name!r} of package {package.name} {package.version}"
    wrong = [version for version in versions if not (version.isascii() and version.isdigit() and len(version) < 10)]
    if wrong:
        raise InputError(f"{what} is broken: its svmkit.interface {wrong[0]!r} is not a version: write {INTERFACE}")
    written = f"{what} is written for version {' or '.join(versions)} of the plugin interface"
    written += "" if declared else " (it declares no version, which counts as 1)"
    numbers = [int(version) for version in versions]
    if min(numbers) > INTERFACE:
        raise InputError(f"{written}, but svmkit {__version__} has version {INTERFACE}: {_upgrade('svmkit')}")
    newest = max(number for number in numbers if number < INTERFACE)
    changes = ", ".join(change for version, change in UPGRADES.items() if newest <= version < INTERFACE)
    raise InputError(
        f"{written}, but svmkit {__version__} has version {INTERFACE}: {_upgrade(package.name)}, or as its author "
        f"{changes}, then declare {INTERFACE}"
    )


@cache
def _declared(package: Distribution) -> list[str]:
    """The versions of the interface that a package declares, sorted; its metadata are read from disk once."""
    return sorted(found.name for found in package.entry_points if found.group == "svmkit.interface")


def _upgrade(package: str) -> str:
    """The advice to upgrade a package."""
    return f"upgrade {package} (pip install --upgrade {package})"


@dataclass(frozen=True)
class Listed:
    """One row of `svmkit plugins`.

    Attributes
    ----------
    kind : {"solver", "kernel", "sampler", "tracker", "command"}
        The kind of plugin.
    name : str
        The name under which it is registered.
    package : str
        The distribution that registers it, "?" when that is not known.
    doc : str
        The first line of its docstring; of a command, its help.
    options : dict of str to Any
        Its hyperparameters with their defaults.
    error : str or None
        Why it does not work here; None for a plugin that works.
    status : {"ok", "unavailable", "broken"}, default="ok"
        "unavailable" for a plugin that needs software that is not installed, "broken" for one that fails to import or
        is written for another version of the interface.
    plugin : type or None, default=None
        The class; None for a plugin that is broken.
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
    """All plugins of a kind, each imported on its own; a plugin that does not work here carries its error."""
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
    text = getattr(getattr(plugin, "info", None), "help", None) if kind == "command" else getattr(plugin, "__doc__", "")
    doc = (text if isinstance(text, str) else "").strip().split("\n")[0]
    return Listed(kind, name, package, doc, options(plugin), error, status, plugin)


def working(kind: Kind) -> list[Listed]:
    """The plugins of `describe` that can be used here."""
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
    """Make an instance of a plugin.

    Parameters
    ----------
    kind : {"solver", "kernel", "sampler", "tracker", "command"}
        The kind of plugin.
    name : str
        The name under which the plugin is registered.
    values : dict of str to Any, default=None
        Values of its options. Text is converted to the type of the option's default.

    Returns
    -------
    object
        The instance.

    Raises
    ------
    InputError
        If the plugin cannot be loaded (see `load`), if it has no option of that name (the message lists its options and
        the solvers that have the option), or if a value is not valid.
    """
    plugin = load(kind, name)
    known = options(plugin)
    given = dict(values or {})
    for key, value in given.items():
        if key not in known:
            raise InputError(_no_option(kind, name, plugin, key, value))
        if isinstance(value, str) and not isinstance(known[key], str):
            given[key] = _convert(f"{kind} {name}: {key}", value, type(known[key]))
        elif kind == "solver":
            given[key] = _typed(f"solver {name}: {key}", value, type(known[key]))
    losses: tuple[str, ...] = getattr(plugin, "losses", ())
    if kind == "solver" and given.get("loss", losses) not in (losses, *losses, known.get("loss")):
        close = meant(given["loss"], losses)
        raise InputError(f"solver {name}: loss={given['loss']!r} is not known{close}; there are: {', '.join(losses)}")
    try:
        return plugin(**given)
    except TypeError as error:
        raise InputError(f"{kind} {name}: {error}") from error


def _no_option(kind: Kind, name: str, plugin: Any, key: str, value: Any) -> str:
    """The error for an option that a plugin lacks: the options that it has, and the solvers that have this one."""
    known = options(plugin)
    what, has = key, f"it has {', '.join(known)}" if known else "it has none"
    able: list[str] = []
    if kind == "solver" and key == "loss" and hasattr(plugin, "losses"):
        what, has = f"loss={value}", f"its loss is {' or '.join(plugin.losses)}"
        able = solvers_where(lambda solver: value in getattr(solver, "losses", ()))
    elif kind == "solver":
        able = solvers_where(lambda solver: key in options(solver))
    others = f"; with {what}: {', '.join(able)}" if able and name not in able else ""
    return f"{kind} {name} has no option {key!r}{meant(key, known)}; {has}{others}"


def _convert(what: str, text: str, kind: type) -> Any:
    """An option's text as a value of the type of its default."""
    if kind is bool:
        if text.lower() in ("true", "yes", "1", "on", "false", "no", "0", "off"):
            return text.lower() in ("true", "yes", "1", "on")
        raise InputError(f"{what}={text!r} should be {_SHOULD_BE[bool]}")
    if kind not in (int, float):
        return text
    try:
        return kind(text)
    except ValueError:
        raise InputError(f"{what}={text!r} should be {_SHOULD_BE[kind]}") from None


def _typed(what: str, value: Any, kind: type) -> Any:
    """Return a value that is no text, without numpy's types; raise InputError if the default's type is another one."""
    truth = type(value).__name__ in ("bool", "bool_")  # bool_ is numpy's before its version 2
    fits = {bool: truth, int: isinstance(value, Integral), float: isinstance(value, Real)}
    if not fits.get(kind, True) or (truth and kind in (int, float)):
        raise InputError(f"{what}={value!r} should be {_SHOULD_BE[kind]}")
    return value.item() if kind in fits and hasattr(value, "item") else value
