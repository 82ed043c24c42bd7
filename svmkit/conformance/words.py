"""What a check is, and how its outcome is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Check(NamedTuple):
    """run : from a plugin to None, or to what was found instead; expected : what holds of a plugin that passes, in
    words for its author; where : the part of the contract that says so, as "svmkit.solver.StepInfo"."""

    run: Callable[[Any], str | None]
    expected: str
    where: str


class Result(NamedTuple):
    """One check: `problem` is None when it holds, else what was found; expected, where : as of `Check`."""

    check: str
    problem: str | None
    expected: str
    where: str


def outcome(sentence: str, check: Check, plugin: Any) -> Result:
    """The check done on a plugin; an error of the plugin's own is what was found."""
    try:
        found = check.run(plugin)
    except Exception as error:
        found = f"{type(error).__name__}: {' '.join(str(error).split())}"
    source = f"{check.run.__module__}.{check.run.__name__}"
    return Result(sentence, found, check.expected, f"{check.where}; the check itself: {source}")


def told(result: Result) -> str:
    """A line, and below one that fails what was found, what was expected and where that is written."""
    if result.problem is None:
        return f"holds  {result.check}"
    lines = [f"FAILS  {result.check}", f"found: {result.problem}", f"expected: {result.expected}"]
    return "\n       ".join([*lines, f"look at: {result.where}"])
