"""All checks by kind of plugin, and the function that runs them.

Each check is a small function that returns None, or a sentence that says which requirement does not hold. It comes
with a sentence on what is expected and with the names of the parts of the contract that require it.
"""

from __future__ import annotations

from svmkit import plugins
from svmkit.conformance import engines, honesty, isolation, kernels, losses, regression, samplers, solvers
from svmkit.conformance.description import description
from svmkit.conformance.result import Result, outcome
from svmkit.errors import InputError, UnknownName

SOLVER = solvers.SOLVER | isolation.SOLVER | honesty.SOLVER | regression.SOLVER
KERNEL = kernels.KERNEL | isolation.KERNEL
SAMPLER = samplers.SAMPLER | isolation.SAMPLER
CHECKS = {"solver": SOLVER, "kernel": KERNEL, "loss": losses.LOSS, "sampler": SAMPLER, "engine": engines.ENGINE}
"""The checks of each kind of plugin that has some, by the sentence that each tests."""


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
