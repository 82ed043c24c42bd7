"""What every plugin must satisfy: `svmkit check NAME`, and the tests of svmkit and of plugin packages.

    from svmkit.conformance import check_plugin
    assert not [r for r in check_plugin("mine") if r.problem]

Each check is a small function that returns None, or in words what does not hold, with a sentence on what is expected
and the place in the contract that says so.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from svmkit import plugins
from svmkit.conformance import manners, parts, solvers
from svmkit.conformance.words import Check, Result, outcome, told
from svmkit.errors import InputError, UnknownName

__all__ = ["KERNEL", "SAMPLER", "SOLVER", "Check", "Result", "check_plugin", "told"]

SOLVER = solvers.SOLVER | manners.SOLVER
KERNEL = parts.KERNEL | manners.KERNEL
SAMPLER = parts.SAMPLER | manners.SAMPLER
LONGEST = 10  # characters of a solver's name


def check_plugin(name: str, kind: str | None = None) -> list[Result]:
    """Run every check on the plugin `name` of `kind`, by default the first of solver, kernel, sampler that has it."""
    kinds = [kind] if kind else [k for k in ("solver", "kernel", "sampler") if name in plugins.names(k)]
    if not kinds:
        every = ", ".join(n for k in ("solver", "kernel", "sampler") for n in plugins.names(k))
        raise UnknownName(f"there is no solver, kernel or sampler {name!r}; there are: {every}")
    checks = {"solver": SOLVER, "kernel": KERNEL, "sampler": SAMPLER}
    if kinds[0] not in checks:
        raise InputError(f"--kind {kinds[0]!r} has no checks; there are: {', '.join(checks)}")
    plugin = plugins.build(kinds[0], name)  # type: ignore[arg-type]
    return [outcome(title, check, plugin) for title, check in (_called(name, kinds[0]) | checks[kinds[0]]).items()]


def _called(name: str, kind: str) -> dict[str, Check]:
    """The checks on what a plugin says of itself."""

    def named(plugin: Any) -> str | None:
        if plugin.name != name:
            return f"it calls itself {plugin.name!r} but is registered as {name!r}"
        if kind == "solver" and len(name) > LONGEST:
            return f"the name {name!r} has {len(name)} characters"
        return None

    short = f", of at most {LONGEST} characters: MLflow's comparison cuts longer ones" if kind == "solver" else ""
    base = f"svmkit.{kind}s.{kind.title()}" if kind == "kernel" else f"svmkit.{kind}.{kind.title()}"
    return {
        "its name is the one that it is registered under": Check(
            named, f"The class attribute `name` is the entry point's name{short}.", f"{base}.name"
        ),
        "it has a docstring": Check(
            _documented, "The first line of the class's docstring is what `svmkit plugins` shows.", base
        ),
        "its options are fields of a frozen dataclass, with plain values": Check(
            _plain,
            "The class is a @dataclass(frozen=True); defaults are numbers, text, booleans or None, since models, runs "
            "and comparisons store them as JSON.",
            base,
        ),
    }


def _documented(plugin: Any) -> str | None:
    doc = (type(plugin).__dict__.get("__doc__") or "").strip()
    generated = doc.startswith(f"{type(plugin).__name__}(")  # by dataclass
    return "it has no docstring of its own" if generated or not doc else None


def _plain(plugin: Any) -> str | None:
    settings = getattr(plugin, "__dataclass_params__", None)
    if settings is None or not settings.frozen:
        return "it is not a frozen dataclass"
    for field in dataclasses.fields(plugin):
        value = getattr(plugin, field.name)
        try:
            same = json.loads(json.dumps(value, allow_nan=False)) == value
        except (TypeError, ValueError):
            same = False
        if not same:
            return f"the option {field.name} is {value!r}, which JSON cannot keep"
    return None
