"""What every plugin must satisfy: `svmkit check NAME`, and the tests of svmkit and of plugin packages.

    from svmkit.conformance import check_plugin
    assert not [r for r in check_plugin("mine") if r.problem]

Each check is a small function that returns None, or in words what does not hold.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any, NamedTuple

from svmkit import plugins
from svmkit.conformance.parts import KERNEL, SAMPLER
from svmkit.conformance.solvers import SOLVER
from svmkit.errors import InputError, UnknownName


class Result(NamedTuple):
    """One check: `problem` is None when it holds."""

    check: str
    problem: str | None


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
    named = {"named, documented, plain options": lambda plugin: _named(plugin, name, kinds[0])}
    return [Result(title, _run(check, plugin)) for title, check in (named | checks[kinds[0]]).items()]


def _run(check: Callable[[Any], str | None], plugin: Any) -> str | None:
    try:
        return check(plugin)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _named(plugin: Any, name: str, kind: str) -> str | None:
    if plugin.name != name:
        return f"it calls itself {plugin.name!r} but is registered as {name!r}"
    if kind == "solver" and len(name) > 10:
        return "the name is longer than 10 characters, where MLflow's comparison cuts it"
    if not (type(plugin).__doc__ or "").strip():
        return "it has no docstring"
    settings = getattr(plugin, "__dataclass_params__", None)
    if settings is None or not settings.frozen:
        return "it is not a frozen dataclass"
    json.dumps({f.name: getattr(plugin, f.name) for f in dataclasses.fields(plugin)})
    return None
