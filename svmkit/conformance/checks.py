"""All checks by kind of plugin, the function that runs them, and the checks on what a plugin says of itself.

Each check is a small function that returns None, or a sentence about the violated requirement. Its docstring states
what is expected; it comes with the names of the parts of the contract that require it.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from svmkit import plugins
from svmkit.conformance import engines, honesty, isolation, kernels, losses, samplers, solvers
from svmkit.conformance.result import Check, Result, check, outcome
from svmkit.errors import InputError, UnknownName
from svmkit.plugins.contracts import CONTRACTS, fault_of_name

SOLVER = solvers.SOLVER | isolation.SOLVER | honesty.SOLVER | solvers.REGRESSION | honesty.REGRESSION | honesty.RANKING
KERNEL = kernels.KERNEL | isolation.KERNEL
SAMPLER = samplers.SAMPLER | isolation.SAMPLER
CHECKS = {"solver": SOLVER, "kernel": KERNEL, "loss": losses.LOSS, "sampler": SAMPLER, "engine": engines.ENGINE}
"""The checks of each kind of plugin that has some, by the sentence that each tests."""
BASE = {
    "solver": "svmkit.solver.Solver",
    "kernel": "svmkit.kernels.Kernel",
    "loss": "svmkit.losses.Loss",
    "sampler": "svmkit.solver.Sampler",
    "engine": "svmkit.kernels.Engine",
}


def check_plugin(name: str, kind: str | None = None) -> list[Result]:
    """Run every check on a registered plugin.

    Parameters
    ----------
    name : str
        The name under which the plugin is registered.
    kind : {"solver", "kernel", "loss", "sampler", "engine"}, default=None
        The kind of plugin; None for the first kind that has a plugin of that name.

    Returns
    -------
    list of Result
        One result for each check, in a fixed order.

    Raises
    ------
    UnknownName
        If no plugin has that name.
    InputError
        If the plugin cannot be loaded, or if there are no checks for its kind.

    Examples
    --------
    >>> from svmkit.conformance import check_plugin
    >>> [result.check for result in check_plugin("uniform") if result.problem is not None]
    []
    """
    every = {k: plugins.names(k) for k in CHECKS}  # type: ignore[arg-type]
    kind = kind or next((k for k, names in every.items() if name in names), None)
    if kind is None:
        *others, last = CHECKS
        known = ", ".join(one for names in every.values() for one in names)
        raise UnknownName(f"there is no {', '.join(others)} or {last} {name!r}; there are: {known}")
    if kind not in CHECKS:
        raise InputError(f"--kind {kind!r} has no checks; there are: {', '.join(CHECKS)}")
    plugin = plugins.load("engine", name) if kind == "engine" else plugins.build(kind, name)  # type: ignore[arg-type]
    return [outcome(sentence, check, plugin) for sentence, check in (description(name, kind) | CHECKS[kind]).items()]


def description(name: str, kind: str) -> dict[str, Check]:
    """The checks on what a plugin of this kind that is registered as `name` says of itself; engines have no options."""

    def has_name(plugin: Any) -> str | None:
        if plugin.name != name:
            return f"it calls itself {plugin.name!r} but is registered as {name!r}"
        reason = fault_of_name(kind, name)
        return f"it has the name {name!r}{reason}" if reason else None

    short = f", of at most {CONTRACTS[kind].longest} characters"
    expected = f"The class attribute `name` is the entry point's name{short}."
    checks = {
        "its name is the one that it is registered under": Check(has_name, expected, f"{BASE[kind]}.name"),
        "it has a docstring": check(_has_docstring, BASE[kind]),
    }
    options = {"its options are fields of a frozen dataclass, with plain values": check(_has_plain_options, BASE[kind])}
    return checks if kind == "engine" else checks | options


def _has_docstring(plugin: Any) -> str | None:
    """The summary of the class's docstring is what `svmkit plugins` shows."""
    own = plugin if isinstance(plugin, type) else type(plugin)
    doc = (own.__dict__.get("__doc__") or "").strip()
    generated = doc.startswith(f"{own.__name__}(")  # by dataclass
    return "it has no docstring of its own" if generated or not doc else None


def _has_plain_options(plugin: Any) -> str | None:
    """The class is a @dataclass(frozen=True); defaults are numbers, text, booleans or None, since models, runs and
    comparisons store them as JSON.
    """
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
            return f"the option {field.name} is {value!r}, which JSON cannot represent"
    return None
