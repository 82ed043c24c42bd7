"""The requirements on plugins of each kind, and the only place that checks what an entry point or a file provides.

Nothing is imported for the checks: base classes are identified by name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from inspect import isabstract
from typing import Any

LONGEST = 32  # characters of a name
NAME = re.compile(r"[A-Za-z][\w-]*", re.ASCII)
VALUE = re.compile(r"[\w.]+\s*:\s*[\w.]+\s*(\[.*\]\s*)?")  # importlib fails on others, with its own message


@dataclass(frozen=True)
class Contract:
    """The requirements on plugins of a kind.

    Attributes
    ----------
    module, base : str
        The module of the base class of plugins, and its name.
    methods : str, default=""
        What a plugin defines, in words; empty if the base class has defaults for everything.
    longest : int, default=32
        The largest number of characters of a name.
    in_files : bool, default=True
        Whether a plugin file (`svmkit.plugins.load_file`) may define plugins of the kind.
    is_instance : bool, default=False
        Whether a plugin is an object of the class instead of a class derived from it.
    """

    module: str
    base: str
    methods: str = ""
    longest: int = LONGEST
    in_files: bool = True
    is_instance: bool = False

    @property
    def wanted(self) -> str:
        """What a plugin is, in words."""
        if self.is_instance:
            return f"{self.module.partition('.')[0]}.{self.base}"
        return f"class that derives from svmkit's {self.base}"


CONTRACTS = {
    # MLflow's comparison truncates longer names of solvers
    "solver": Contract("svmkit.solver.base", "Solver", "init, step and solution", longest=10),
    "kernel": Contract("svmkit.kernels.functions", "Kernel", "block and diag"),
    "loss": Contract("svmkit.losses.base", "Loss", "value and terms"),
    "sampler": Contract("svmkit.solver.sampler", "Sampler", "draws"),
    "engine": Contract("svmkit.kernels.engines.contract", "Engine", "block, product, error and largest"),
    "tracker": Contract("svmkit.tracking.interface", "Tracker", in_files=False),
    "cluster": Contract("svmkit.cluster", "Cluster", "schemes, open, submit and the others", in_files=False),
    "command": Contract("typer.main", "Typer", in_files=False, is_instance=True),
}
"""The contracts by kind of plugin."""


def contract_of(cls: type) -> str | None:
    """Return the kind of plugin of a class, or of its objects; None for any other class."""
    bases = {(base.__module__, base.__qualname__) for base in cls.__mro__}
    return next((kind for kind, one in CONTRACTS.items() if (one.module, one.base) in bases), None)


def fault_of_name(kind: str, name: Any) -> str | None:
    """Return the problem of a plugin's name, in words that follow it, or None."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        return ": take letters, digits, _ and -, a letter first"
    longest = CONTRACTS[kind].longest
    return f" of {len(name)} characters: take {longest} at most" if len(name) > longest else None


def fault_of_point(kind: str, point: EntryPoint) -> str | None:
    """Return the problem of an entry point before loading it, in words that follow its place, or None."""
    if reason := fault_of_name(kind, point.name):
        return f"has a name{reason}"
    if not VALUE.fullmatch(point.value):
        return f"names nothing: write {point.name} = MODULE:{'APP' if CONTRACTS[kind].is_instance else 'CLASS'}"
    return None


def fault(kind: str, name: str, plugin: Any) -> str | None:
    """Return why the object registered as `name` is not a plugin of its kind, in words that follow its place, or None.

    Code that iterates over all plugins of a kind, to list suitable ones, relies on this for plugins that were not
    requested.
    """
    contract = CONTRACTS[kind]
    cls = type(plugin) if contract.is_instance else plugin
    if not isinstance(cls, type) or contract_of(cls) != kind:
        return f"is no {contract.wanted}"
    if contract.is_instance:
        return None
    found: Any = cls
    if hasattr(found, "fault") and (reason := found.fault()):  # further requirements of the base class
        return str(reason)
    if missing := _missing(kind, cls):
        return f"lacks {', '.join(missing)}: a {kind} defines {contract.methods}"
    if getattr(found, "name", name) != name:  # trackers and clusters have none
        return f"calls itself {found.name!r}: write name = {name!r} in it"
    return None


def fault_of_texts(cls: type, attribute: str, example: str) -> str | None:
    """Return why an attribute of a class is no tuple of texts, in words that follow the place of the class, or None."""
    given = getattr(cls, attribute, None)
    if isinstance(given, tuple | list) and given and all(isinstance(one, str) and one for one in given):
        return None
    return f"has {attribute} = {given!r}: write a tuple of texts, such as {attribute} = {example}"


def _missing(kind: str, plugin: Any) -> list[str]:
    """Return the methods that a class has to define and does not."""
    if kind == "kernel":  # a built-in form replaces both
        needed = [] if plugin.form is not None else ["block", "diag"]
        return [name for name in needed if getattr(plugin, name).__qualname__ == f"{CONTRACTS[kind].base}.{name}"]
    lacking = plugin.__abstractmethods__ if isabstract(plugin) else ()
    first = [name for name in ("init", "step", "solution", "draws", "value", "terms") if name in lacking]
    return first or sorted(lacking)
