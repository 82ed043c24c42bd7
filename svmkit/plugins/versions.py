"""Whether the package of a plugin is written for the present version of the plugin interface.

`svmkit.plugins.INTERFACE` is the version of the interface that plugins are written against: the base classes (`Solver`,
`Kernel`, `Sampler`, ...), the objects that their methods receive (problem, Gram, draws) and the modules that both are
imported from. It rises when a plugin that passes `svmkit check` could stop doing so: when a method that svmkit calls,
an attribute that a plugin may read, or a name that it may import is removed, renamed or given another meaning.
Additions with a default do not count. A package declares in its metadata which version all its plugins are written for,
so that the version is known before anything of the package is imported; the name is the version, the value the package:

    [project.entry-points."svmkit.interface"]
    2 = "my_package"

Several lines mean that the package works with each of these versions. A package without a declaration counts as one of
version 1. docs/plugin_interface.md lists what each version changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import Distribution, EntryPoint

from svmkit._version import __version__
from svmkit.errors import InputError


def require_interface(kind: str, point: EntryPoint, current: int, upgrades: Mapping[int, str]) -> None:
    """Raise InputError when a plugin's package declares only other versions of the interface than the current one.

    Parameters
    ----------
    kind, point : str, EntryPoint
        The kind of plugin, and its entry point.
    current, upgrades : int, mapping of int to str
        `svmkit.plugins.INTERFACE` and `UPGRADES`.
    """
    package = point.dist
    if package is None:
        return
    declared = _declared_versions(package)
    versions = declared or ["1"]
    if str(current) in versions:
        return
    what = f"{kind} {point.name!r} of package {package.name} {package.version}"
    wrong = [version for version in versions if not (version.isascii() and version.isdigit() and len(version) < 10)]
    if wrong:
        raise InputError(f"{what} is broken: its svmkit.interface {wrong[0]!r} is not a version: write {current}")
    written = f"{what} is written for version {' or '.join(versions)} of the plugin interface"
    written += "" if declared else " (it declares no version, which counts as 1)"
    numbers = [int(version) for version in versions]
    if min(numbers) > current:
        raise InputError(f"{written}, but svmkit {__version__} has version {current}: {_upgrade('svmkit')}")
    newest = max(number for number in numbers if number < current)
    changes = ", ".join(change for version, change in upgrades.items() if newest <= version < current)
    raise InputError(
        f"{written}, but svmkit {__version__} has version {current}: {_upgrade(package.name)}, or as its author "
        f"{changes}, then declare {current}"
    )


@cache
def _declared_versions(package: Distribution) -> list[str]:
    """The versions of the interface that a package declares, sorted; its metadata are read from disk once."""
    return sorted(point.name for point in package.entry_points if point.group == "svmkit.interface")


def _upgrade(package: str) -> str:
    """The advice to upgrade a package."""
    return f"upgrade {package} (pip install --upgrade {package})"
