"""Checks on what a plugin says of itself: its name, its docstring and its options."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from svmkit.conformance.result import Check

LONGEST = 10  # characters of a solver's name
BASE = {
    "solver": "svmkit.solver.Solver",
    "kernel": "svmkit.kernels.Kernel",
    "loss": "svmkit.losses.Loss",
    "sampler": "svmkit.solver.Sampler",
    "engine": "svmkit.kernels.Engine",
}


def description(name: str, kind: str) -> dict[str, Check]:
    """The checks on the plugin of this kind that is registered as `name`."""

    def has_name(plugin: Any) -> str | None:
        if plugin.name != name:
            return f"it calls itself {plugin.name!r} but is registered as {name!r}"
        if kind == "solver" and len(name) > LONGEST:
            return f"the name {name!r} has {len(name)} characters"
        return None

    short = f", of at most {LONGEST} characters: MLflow's comparison cuts longer ones" if kind == "solver" else ""
    checks = {
        "its name is the one that it is registered under": Check(
            has_name, f"The class attribute `name` is the entry point's name{short}.", f"{BASE[kind]}.name"
        ),
        "it has a docstring": Check(
            _has_docstring, "The first line of the class's docstring is what `svmkit plugins` shows.", BASE[kind]
        ),
        "its options are fields of a frozen dataclass, with plain values": Check(
            _plain,
            "The class is a @dataclass(frozen=True); defaults are numbers, text, booleans or None, since models, runs "
            "and comparisons store them as JSON.",
            BASE[kind],
        ),
    }
    return dict(list(checks.items())[:2]) if kind == "engine" else checks  # engines have no options


def _has_docstring(plugin: Any) -> str | None:
    own = plugin if isinstance(plugin, type) else type(plugin)
    doc = (own.__dict__.get("__doc__") or "").strip()
    generated = doc.startswith(f"{own.__name__}(")  # by dataclass
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
            return f"the option {field.name} is {value!r}, which JSON cannot represent"
    return None
