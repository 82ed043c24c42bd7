"""Plugin discovery through entry points: built-in and third-party plugins use the same mechanism.

Listing plugins reads package metadata only. A plugin is imported when it is requested; one that fails to import, or
that lacks required software, is reported with its error and does not affect the others.

`load_file` adds the plugins of a Python file that the user names; they are then found by name like all others, in this
process. Such a file is code and runs with the user's rights; none is ever loaded unless it is named.

INTERFACE is the version of the interface that plugins are written against.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.metadata import Distribution, EntryPoint, entry_points
from numbers import Integral, Real
from typing import Any, Literal

from svmkit._version import __version__
from svmkit.errors import InputError, Unavailable, UnknownName, meant, one_line
from svmkit.plugins import plugin_file
from svmkit.plugins.contracts import fault, fault_of_point
from svmkit.plugins.plugin_file import PluginFile

__all__ = [
    "Listed",
    "PluginFile",
    "build",
    "describe",
    "files",
    "files_of",
    "load",
    "load_file",
    "load_files",
    "names",
    "options",
    "package_name",
    "registered",
    "requirement",
    "solvers_where",
    "working",
]

INTERFACE = 3
"""The version of the interface that plugins are written against: the base classes (`Solver`, `Kernel`, `Sampler`, ...),
the objects that their methods receive (problem, Gram, draws) and the modules that both are imported from. It rises when
a plugin that passes `svmkit check` could stop doing so: when a method that svmkit calls, an attribute that a plugin may
read, or a name that it may import is removed, renamed or given another meaning. Additions with a default do not count.

A package declares in its metadata which versions all its plugins are written for, so that they are known before it is
imported: `2 = "my_package"` in the entry-point group svmkit.interface. Without a declaration it is version 1.
docs/plugin_interface.md lists what each version changed.
"""
UPGRADES = {
    1: "import Solver, StepInfo, SimplexQP, Sampler, ... from svmkit.solver and kernels from svmkit.kernels "
    "(docs/plugin_interface.md lists all changes)",
    2: "take losses from svmkit.losses, and let `pose` take `loss`",
}
"""What an author changes in a plugin written for this version of the interface to bring it to the next version."""

Kind = Literal["solver", "kernel", "loss", "sampler", "engine", "tracker", "cluster", "command"]
KINDS: tuple[Kind, ...] = ("solver", "kernel", "loss", "sampler", "engine", "tracker", "cluster", "command")

OWN = ("svmkit", "svmkit-core")
"""The packages that bring svmkit's own plugins; `.ci/distributions.py` makes the second one."""

_SHOULD_BE = {bool: "true or false", int: "a whole number", float: "a number"}
_loaded: dict[tuple[Kind, str], tuple[EntryPoint, Any]] = {}  # what `load` has imported
_rivals: dict[str, dict[str, list[EntryPoint]]] = {}  # by kind and name: the entry points behind a registered one


@dataclass(frozen=True)
class Listed:
    """One row of `svmkit plugins`.

    Attributes
    ----------
    kind : str
        The kind of plugin.
    name : str
        The name under which it is registered.
    package : str
        The distribution that registers it, or the name of the file (`load_file`); "?" when neither is known.
    doc : str
        The summary of its docstring, which is the first paragraph, on one line; of a command, its help.
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

    kind: str
    name: str
    package: str
    doc: str
    options: dict[str, Any]
    error: str | None
    status: Literal["ok", "unavailable", "broken"] = "ok"
    plugin: Any = field(default=None, repr=False, compare=False)


@cache
def registered(kind: Kind) -> Mapping[str, EntryPoint]:
    """Return the entry points of all plugins of a kind by name, sorted; nothing is imported.

    Where several packages register one name, svmkit's own plugin is there. Where none of them is svmkit's own, `load`
    refuses the name, so that no plugin depends on the order in which packages are found.
    """
    claims: dict[str, list[EntryPoint]] = {}
    found = [*entry_points(group=plugin_file.group(kind)), *plugin_file.points(kind)]
    for point in sorted(found, key=lambda p: p.name):
        claims.setdefault(point.name, []).append(point)
    several = {name: sorted(points, key=_own_first) for name, points in claims.items() if len(points) > 1}
    _rivals[kind] = {name: points[1:] for name, points in several.items()}
    return {name: several.get(name, points)[0] for name, points in claims.items()}


def _own_first(point: EntryPoint) -> tuple[bool, str]:
    package = package_name(point)
    return package != OWN[0], package


def names(kind: Kind) -> list[str]:
    """Names of all registered plugins of a kind, sorted; nothing is imported."""
    return list(registered(kind))


def load_file(path: str | os.PathLike | PluginFile) -> list[str]:
    """Run a Python file, and register the solvers, kernels and other plugins that it defines, for this process.

    Every class of the file that has a `name` of its own and derives from `svmkit.solver.Solver`,
    `svmkit.solver.Sampler`, `svmkit.kernels.Kernel`, `svmkit.kernels.Engine` or `svmkit.losses.Loss` is registered;
    classes that it imports are not. The file is code and runs with your rights. A file that is loaded already is not
    run again, unless it has changed: then its new version replaces the earlier one. A `PluginFile` of `files()` is
    loaded as it was read. Returns the names of the plugins, in the order of the file. Raises InputError: the file is
    missing, is not Python, raises an exception or defines no plugin; a class lacks a method; a name is longer than 10
    characters (a loss: 32), or another plugin has it. The message is one line, with the line of the
    file.
    """
    file = path if isinstance(path, PluginFile) else PluginFile.read(path)
    names = plugin_file.add(file, registered)
    registered.cache_clear()
    return names


def load_files(files: Iterable[str | os.PathLike | PluginFile]) -> list[str]:
    """Load several files, as `load_file` does; ``load_files(files())`` in a worker repeats what its parent did."""
    return [name for file in files for name in load_file(file)]


def files() -> tuple[PluginFile, ...]:
    """Return the files that this process has loaded, in that order; they can be pickled for another process."""
    return plugin_file.loaded_files()


def files_of(**plugins: str | None) -> tuple[PluginFile, ...]:
    """Return the files that bring these plugins, each once: ``files_of(solver="mine", kernel="rbf")``."""
    owners = (plugin_file.file_of(kind, name) for kind, name in plugins.items() if name)
    return tuple(dict.fromkeys(file for file in owners if file is not None))


def requirement(kind: Kind, name: str) -> str | None:
    """The distribution that registers a plugin, as package==version; None when it is not known."""
    point = registered(kind).get(name)
    return f"{point.dist.name}=={point.dist.version}" if point and point.dist else None


def load(kind: Kind, name: str) -> Any:
    """Import the class that is registered as `name`.

    Parameters
    ----------
    kind : {"solver", "kernel", "loss", "sampler", "engine", "tracker", "cluster", "command"}
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
        If the plugin is written for another version of the interface, if its import fails, if what it names is no
        plugin of this kind, or if several packages register the name.
    """
    points = registered(kind)
    point, plugin = _loaded.get((kind, name), (None, None))
    if point is not None and point is points.get(name):
        return plugin
    if name not in points:
        known, here = ", ".join(points) or "none", name.isidentifier() and os.path.isfile(f"{name}.py")
        hint = f" (to load {name}.py: --plugin {name}.py)" if here else ""  # it is only looked for
        raise UnknownName(f"there is no {kind} {name!r}{meant(name, points)}{hint}; there are: {known}")
    plugin = _import(kind, points[name])
    _loaded[kind, name] = points[name], plugin
    return plugin


def _import(kind: Kind, point: EntryPoint) -> Any:
    """Import what an entry point gives, and raise the errors of `load` about it, in one line that says where it is."""
    _require_single(kind, point)
    _require_interface(kind, point)
    foreign = point.dist is not None and package_name(point) != OWN[0]  # files have been looked at
    if foreign and (reason := fault_of_point(kind, point)):
        raise InputError(f"{_place(kind, point)} {reason}")
    missing: Unavailable | None = None
    try:
        plugin = point.load()
    except Unavailable as error:
        missing, plugin = error, error.plugin
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {one_line(error)}"
        raise InputError(f"{_place(kind, point)} is broken: {reason}") from error
    if foreign and not (missing and plugin is None) and (reason := fault(kind, point.name, plugin)):
        raise InputError(f"{_place(kind, point)} {reason}") from missing
    if missing:
        raise Unavailable(f"{kind} {point.name} is not available here: {missing}", plugin) from missing
    return plugin


def _require_single(kind: Kind, point: EntryPoint) -> None:
    """Raise InputError when other packages register the name, too, and the plugin is not svmkit's own."""
    others = _rivals.get(kind, {}).get(point.name, ())
    if others and package_name(point) != OWN[0]:
        packages = ", ".join(package_name(one) for one in (point, *others))
        raise InputError(
            f"{kind} {point.name!r} is registered by {1 + len(others)} packages, {packages}: uninstall all but one"
        )


def _place(kind: Kind, point: EntryPoint) -> str:
    """A plugin, its package with the version where that is known, and its entry point, for a message."""
    package = f" of package {point.dist.name} {point.dist.version}" if point.dist else ""
    return f"{kind} {point.name!r}{package} ({point.value})"


def _require_interface(kind: Kind, point: EntryPoint) -> None:
    """Raise InputError when a plugin's package declares only other versions of the interface than the current one."""
    package = point.dist
    if package is None:
        return
    declared, upgrade = _declared_versions(package), "upgrade {0} (pip install --upgrade {0})"
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
        raise InputError(f"{written}, but svmkit {__version__} has version {INTERFACE}: {upgrade.format('svmkit')}")
    newest = max(number for number in numbers if number < INTERFACE)
    changes = ", ".join(change for version, change in UPGRADES.items() if newest <= version < INTERFACE)
    written += f", but svmkit {__version__} has version {INTERFACE}"
    raise InputError(f"{written}: {upgrade.format(package.name)}, or as its author {changes}, then declare {INTERFACE}")


@cache
def _declared_versions(package: Distribution) -> list[str]:
    """The versions of the interface that a package declares, sorted; its metadata are read from disk once."""
    return sorted(point.name for point in package.entry_points if point.group == "svmkit.interface")


def package_name(point: EntryPoint) -> str:
    """The package that registers a plugin, "svmkit" for all of svmkit's own; "?" when it is not known."""
    name = _package_name(point.dist) if point.dist else "?"
    return OWN[0] if name in OWN else name


@cache
def _package_name(package: Distribution) -> str:
    """The name of a package; importlib parses all of its metadata for it, the README among them."""
    return package.name


def describe(kind: Kind) -> list[Listed]:
    """All plugins of a kind, each imported on its own; a plugin that does not work here carries its error."""
    rows = [_describe(kind, name, point) for name, point in registered(kind).items()]
    own = {row.name for row in rows if row.package == OWN[0]}
    behind = [point for name, points in _rivals.get(kind, {}).items() if name in own for point in points]
    hidden = [_hidden(kind, point) for point in behind if package_name(point) != OWN[0]]
    return sorted([*rows, *hidden], key=lambda row: row.name) if hidden else rows


def _hidden(kind: Kind, point: EntryPoint) -> Listed:
    """The row of a plugin that has the name of one of svmkit's own."""
    error = f"{_place(kind, point)} has the name of svmkit's own, which is used: its author has to give it another one"
    return Listed(kind, point.name, package_name(point), "", {}, error, "broken")


def _describe(kind: Kind, name: str, point: EntryPoint) -> Listed:
    file = plugin_file.file_of(kind, name)
    package = file.name if file else package_name(point)
    plugin, error, status = None, None, "ok"
    try:
        plugin = load(kind, name)
    except Unavailable as missing:
        error, status, plugin = str(missing.__cause__), "unavailable", missing.plugin
    except InputError as failure:
        error, status = str(failure), "broken"
    text = getattr(getattr(plugin, "info", None), "help", None) if kind == "command" else getattr(plugin, "__doc__", "")
    doc = " ".join((text if isinstance(text, str) else "").strip().partition("\n\n")[0].split())
    return Listed(kind, name, package, doc, options(plugin), error, status, plugin)  # type: ignore[arg-type]


def working(kind: Kind) -> list[Listed]:
    """The plugins of `describe` that can be used here."""
    return [row for row in describe(kind) if row.status == "ok"]


def solvers_where(able: Callable[[Any], bool]) -> list[str]:
    """Names of the registered solvers that work here and for whose class `able` holds."""
    return [row.name for row in working("solver") if able(row.plugin)]


@cache
def options(plugin: Any) -> dict[str, Any]:
    """Names and defaults of a plugin's hyperparameters (its dataclass fields)."""
    return {f.name: f.default for f in fields(plugin)} if hasattr(plugin, "__dataclass_fields__") else {}


@cache
def _types(plugin: Any) -> dict[str, tuple[type, tuple[str, ...]]]:
    """The type of each option, that of its default unless its field says otherwise, and the words that it may be."""
    own = {f.name: f.metadata for f in fields(plugin)} if hasattr(plugin, "__dataclass_fields__") else {}
    return {k: (own[k].get("type", type(v)), own[k].get("words", ())) for k, v in options(plugin).items()}


def build(kind: Kind, name: str, values: dict[str, Any] | None = None) -> Any:
    """Make an instance of a plugin, of its kind and registered name, with values of its options.

    Text is converted to the type of the option's default; the metadata of a field may name another `type`, and `words`
    that stand beside its values. Raises InputError if the plugin cannot be loaded (see
    `load`), if it has no option of that name (the message lists its options and the solvers that have the option), or
    if a value is not valid.
    """
    plugin = load(kind, name)
    known = options(plugin)
    given = dict(values or {})
    for key, value in given.items():
        if key not in known:
            raise InputError(_no_option(kind, name, plugin, key, value))
        kept, words = _types(plugin)[key]
        if isinstance(value, str) and (value in words or kept is str):
            continue
        try:
            if isinstance(value, str):
                given[key] = _convert(f"{kind} {name}: {key}", value, kept)
            elif kind == "solver":
                given[key] = _convert_value(f"solver {name}: {key}", value, kept)
        except InputError as error:
            raise InputError(" or ".join([str(error), *words])) from None
    if kind == "solver" and given.get("loss", known.get("loss")) != known.get("loss"):
        given["loss"] = plugin.loss_option(given["loss"])
    try:
        return plugin(**given)
    except TypeError as error:
        raise InputError(f"{kind} {name}: {error}") from error


def _convert(what: str, text: str, kind: type) -> Any:
    """Return an option's text as a value of the type of its default; raise InputError, about `what`, for other text."""
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


def _convert_value(what: str, value: Any, kind: type) -> Any:
    """Return a value that is no text, without numpy's types; raise InputError if the default's type is another one."""
    truth = type(value).__name__ in ("bool", "bool_")  # bool_ is numpy's before its version 2
    fits = {bool: truth, int: isinstance(value, Integral), float: isinstance(value, Real)}
    if not fits.get(kind, True) or (truth and kind in (int, float)):
        raise InputError(f"{what}={value!r} should be {_SHOULD_BE[kind]}")
    return value.item() if kind in fits and hasattr(value, "item") else value


def _no_option(kind: Kind, name: str, plugin: Any, key: str, value: Any) -> str:
    """The error for an option that a plugin lacks: the options that it has, and the solvers that have this one."""
    known = options(plugin)
    what, has = key, f"it has {', '.join(known)}" if known else "it has none"
    able: list[str] = []
    if kind == "solver" and key == "loss":
        what, has = f"loss={value}", f"its loss is {' or '.join(plugin.loss_names('classify'))}"
        able = solvers_where(lambda solver: value in solver.loss_names())
    elif kind == "solver":
        able = solvers_where(lambda solver: key in options(solver))
    others = f"; with {what}: {', '.join(able)}" if able and name not in able else ""
    return f"{kind} {name} has no option {key!r}{meant(key, known)}; {has}{others}"
