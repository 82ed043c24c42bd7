"""All checks by kind of plugin, and the function that runs them.

Each check is a small function that returns None, or a sentence that says which requirement does not hold. It comes
with a sentence on what is expected and with the names of the parts of the contract that require it.
"""

from __future__ import annotations

from svmkit import plugins
from svmkit.conformance import honesty, isolation, kernels, regression, samplers, solvers
from svmkit.conformance.description import description
from svmkit.conformance.result import Result, outcome
from svmkit.errors import InputError, UnknownName

SOLVER = solvers.SOLVER | isolation.SOLVER | honesty.SOLVER | regression.SOLVER
KERNEL = kernels.KERNEL | isolation.KERNEL
SAMPLER = samplers.SAMPLER | isolation.SAMPLER


def check_plugin(name: str, kind: str | None = None) -> list[Result]:
    """Run every check on a registered plugin.

    Parameters
    ----------
    name : str
        The name under which the plugin is registered.
    kind : {"solver", "kernel", "sampler"}, default=None
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
    """
    kinds = [kind] if kind else [k for k in ("solver", "kernel", "sampler") if name in plugins.names(k)]
    if not kinds:
        every = ", ".join(n for k in ("solver", "kernel", "sampler") for n in plugins.names(k))
        raise UnknownName(f"there is no solver, kernel or sampler {name!r}; there are: {every}")
    checks = {"solver": SOLVER, "kernel": KERNEL, "sampler": SAMPLER}
    if kinds[0] not in checks:
        raise InputError(f"--kind {kinds[0]!r} has no checks; there are: {', '.join(checks)}")
    plugin = plugins.build(kinds[0], name)  # type: ignore[arg-type]
    every_check = description(name, kinds[0]) | checks[kinds[0]]
    return [outcome(sentence, check, plugin) for sentence, check in every_check.items()]
