"""Plugins in a user's own file: it is read, run as a module and searched for classes of plugins.

A plugin file is code: it runs with the rights of the user who loads it. Nothing here looks for files, and
`svmkit.plugins` loads only a file that was named to it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import EntryPoint
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Any

from svmkit.errors import InputError, one_line
from svmkit.plugins.contracts import CONTRACTS, contract_of, fault, fault_of_name

_loaded: dict[tuple[str, str], tuple[EntryPoint, PluginFile]] = {}  # by kind and name of the plugin


def add(file: PluginFile, registered: Callable[[Any], Mapping[str, EntryPoint]]) -> list[str]:
    """Register the plugins of a file, replacing those of its earlier version; return their names in its order.

    A loaded file is not run again. `registered` returns the entry points of a kind, whose names are taken. Raises
    InputError as `PluginFile.load` does, or if a name is taken.
    """

    def require_free(kind: str, name: str, cls: str) -> None:
        point, other = registered(kind).get(name), file_of(kind, name)
        if point is None or (other is not None and other.path == file.path):
            return
        owner = f"package {point.dist.name}" if point.dist else f"file {other.shown}" if other else point.value
        raise InputError(
            f"{file.shown}: class {cls}: there is a {kind} {name!r} already ({owner}): give the class another name, or "
            "leave the file out"
        )

    if file not in loaded_files():
        classes = file.load(require_free)
        for key in [key for key, (_, other) in _loaded.items() if other.path == file.path]:
            del _loaded[key]
        for (kind, name), cls in classes.items():
            _loaded[kind, name] = EntryPoint(name, f"{file.module}:{cls}", group(kind)), file
    return [name for (_, name), (_, other) in _loaded.items() if other == file]


def group(kind: str) -> str:
    """Return the name of the entry-point group of a kind of plugin."""
    return "svmkit.losses" if kind == "loss" else f"svmkit.{kind}s"


def points(kind: str) -> list[EntryPoint]:
    """Return the entry points of a kind that files provide."""
    return [point for (of, _), (point, _) in _loaded.items() if of == kind]


def file_of(kind: str, name: str) -> PluginFile | None:
    """Return the file that provides a plugin; None for the plugin of a package, and for none."""
    return _loaded.get((kind, name), (None, None))[1]


def brought_by(path: str | os.PathLike) -> list[tuple[str, str]]:
    """Return name and kind of each plugin of a loaded file."""
    real = os.path.realpath(path)
    return [(name, kind) for (kind, name), (_, file) in _loaded.items() if file.path == real]


def loaded_files() -> tuple[PluginFile, ...]:
    """Return the loaded files, in the order of loading."""
    return tuple(dict.fromkeys(file for _, file in _loaded.values()))


@dataclass(frozen=True)
class PluginFile:
    """A plugin file as it was read. It can be pickled, so that a worker process loads the same text, from memory."""

    path: str  # absolute, without symbolic links
    source: bytes = field(repr=False)

    @classmethod
    def read(cls, path: str | os.PathLike) -> PluginFile:
        """Read a file; raise InputError if it is missing, is not a regular file or cannot be read."""
        target = Path(path)
        try:
            if target.exists() and not target.is_file():
                raise OSError(0, "it is no regular file")
            return cls(os.path.realpath(target), target.read_bytes())
        except FileNotFoundError:
            raise InputError(f"plugin file {target} is not there: check the path") from None
        except (OSError, ValueError) as error:  # ValueError: a null byte in the path
            reason = getattr(error, "strerror", None) or one_line(error)
            raise InputError(f"plugin file {str(path)!r} cannot be read: {reason}") from None

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return os.path.basename(self.path)

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of its contents, in hexadecimal digits."""
        return _digest(self.source)

    @property
    def module(self) -> str:
        """The name of its module, which is the same in every process and unique for each path."""
        stem = re.sub(r"\W", "_", Path(self.path).stem)
        return f"plugin_file_{stem}_{_digest(os.fsencode(self.path))[:12]}"

    @property
    def shown(self) -> str:
        """Its path in messages: relative to the working directory, if it is inside."""
        try:
            here = os.path.relpath(self.path)
        except (OSError, ValueError):  # no working directory, or another drive
            return self.path
        return self.path if here.startswith("..") else here

    def load(self, require_free: Callable[[str, str, str], None]) -> dict[tuple[str, str], str]:
        """Run the file as a module, and return the names of its classes by kind and name of the plugin, in its order.

        `require_free` is called with kind, name and class of each plugin, and raises InputError if the name is taken.
        Also raises InputError if the file is not Python, raises an exception or defines no plugin, or a class cannot be
        a plugin. Then the module of an earlier version is kept.
        """
        before = sys.modules.get(self.module)
        try:
            classes: dict[tuple[str, str], str] = {}
            for kind, plugin in self._classes(self._run()):
                name = self._require_name(kind, plugin)
                if (kind, name) in classes:
                    raise InputError(
                        f"{self.shown}: classes {classes[kind, name]} and {plugin.__name__} are both {kind} {name!r}: "
                        "give one another name"
                    )
                require_free(kind, name, plugin.__name__)
                classes[kind, name] = plugin.__name__
            return classes
        except BaseException:
            sys.modules.pop(self.module, None)
            if before is not None:
                sys.modules[self.module] = before
            raise

    def _run(self) -> ModuleType:
        module = ModuleType(self.module)
        module.__file__ = self.path
        sys.modules[self.module] = module
        where = self._place()
        try:
            with redirect_stdout(sys.stderr):  # stdout is for results
                exec(compile(self.source, where, "exec", dont_inherit=True), vars(module))
        except (Exception, SystemExit) as error:
            line = _line(error, where)
            place = f"{self.shown}:{line}" if line else self.shown
            reason = error.msg if isinstance(error, SyntaxError) else one_line(error)
            raise InputError(f"{place}: {type(error).__name__}: {reason}") from error
        return module

    def _place(self) -> str:
        """Return its path, or a name that is not a path if the text there has changed meanwhile: numba's `cache=True`
        takes the date of the file for that of the code, and would store this code as that of the new file.
        """
        with suppress(OSError):
            if Path(self.path).read_bytes() == self.source:
                return self.path
        return f"<{self.path}, as it was>"

    def _classes(self, module: ModuleType) -> list[tuple[str, type]]:
        """Return the plugins that the module itself defines, each with its kind."""
        own = [value for value in vars(module).values() if isinstance(value, type) and value.__module__ == self.module]
        kinds = [(kind, cls) for cls in dict.fromkeys(own) if (kind := contract_of(cls)) and CONTRACTS[kind].in_files]
        named = [(kind, cls) for kind, cls in kinds if vars(cls).get("name")]
        if named:
            return named
        if kinds:
            raise InputError(
                f"{self.shown} defines no plugin: class {kinds[0][1].__name__} has no name of its own: write "
                f'name = "..." in it'
            )
        raise InputError(
            f"{self.shown} defines no plugin: it needs a class with a name that derives from svmkit.solver.Solver, "
            "svmkit.solver.Sampler, svmkit.kernels.Kernel or svmkit.losses.Loss (svmkit new solver NAME writes one)"
        )

    def _require_name(self, kind: str, plugin: type) -> str:
        """Return the name of a plugin if it is valid."""
        name, where = vars(plugin)["name"], f"{self.shown}: class {plugin.__name__}"
        if reason := fault_of_name(kind, name):
            raise InputError(f"{where} has the name {name!r}{reason}")
        if reason := fault(kind, name, plugin):
            raise InputError(f"{where} ({kind} {name!r}) {reason}")
        return name


def _digest(content: bytes) -> str:
    from hashlib import sha256  # takes longer to import than the rest of the registry

    return sha256(content).hexdigest()


def _line(error: BaseException, where: str) -> int | None:
    """Return the line of the file `where` at which an exception was raised; None if there is none."""
    if isinstance(error, SyntaxError) and error.filename == where:
        return error.lineno
    lines = [line for frame, line in walk_tb(error.__traceback__) if frame.f_code.co_filename == where]
    return lines[-1] if lines else None
