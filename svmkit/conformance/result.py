"""A check and its result, and the text that reports the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Check(NamedTuple):
    """One requirement of the plugin contract.

    Attributes
    ----------
    run : callable
        Takes the plugin and returns None if the requirement holds, or else a sentence about the finding.
    expected : str
        What holds for a plugin that passes, written for its author.
    where : str
        The parts of the contract that require it, as dotted names separated by ", ": "svmkit.solver.StepInfo".

    Examples
    --------
    >>> from svmkit.conformance import SOLVER
    >>> next(iter(SOLVER))
    'it reaches the tolerance, and the certificate confirms it'
    """

    run: Callable[[Any], str | None]
    expected: str
    where: str


class Result(NamedTuple):
    """The result of one check.

    Attributes
    ----------
    check : str
        The sentence that the check tests.
    problem : str or None
        The finding; None if the check holds.
    expected : str
        What holds for a plugin that passes.
    where : str
        The parts of the contract that require it, and the function that checks it.

    Examples
    --------
    >>> from svmkit.conformance import Result
    >>> Result("it draws indices", "it draws -1", "indices lie within 0, ..., m - 1", "Sampler.draws").problem
    'it draws -1'
    """

    check: str
    problem: str | None
    expected: str
    where: str


def check(run: Callable[[Any], str | None], where: str) -> Check:
    """A `Check` of a function whose docstring states what is expected."""
    return Check(run, " ".join((run.__doc__ or "").split()), where)


def outcome(sentence: str, check: Check, plugin: Any) -> Result:
    """Run a check, which tests a sentence, on a plugin; an exception that it raises counts as a failure."""
    try:
        problem = check.run(plugin)
    except Exception as error:
        problem = f"{type(error).__name__}: {' '.join(str(error).split())}"
    source = f"{check.run.__module__}.{check.run.__name__}"
    return Result(sentence, problem, check.expected, f"{check.where}; the check itself: {source}")


def report(result: Result) -> str:
    """Return the report on a result: one line; for a failed check also the finding, the expectation and its source.

    Parameters
    ----------
    result : Result
        A result of `check_plugin`.

    Examples
    --------
    >>> from svmkit.conformance import Result, report
    >>> report(Result("it draws indices", None, "indices lie within 0, ..., m - 1", "Sampler.draws"))
    'holds  it draws indices'
    """
    if result.problem is None:
        return f"holds  {result.check}"
    lines = [f"FAILS  {result.check}", f"found: {result.problem}", f"expected: {result.expected}"]
    return "\n       ".join([*lines, f"look at: {result.where}"])
