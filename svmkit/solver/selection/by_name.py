"""Solvers, kernels and samplers by name; wherever a name is accepted, an instance is accepted too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svmkit import plugins
from svmkit.errors import InputError
from svmkit.kernels.functions import FromFunction, Kernel
from svmkit.solver.base import Solver
from svmkit.solver.requirements import Requires
from svmkit.solver.sampler import Sampler


def solver(given: str | Solver, options: Mapping[str, Any] | None = None, *, limited: bool = False) -> Solver:
    """Return the solver with this name and these values of its options.

    `limited` says whether support vectors are limited, for which a solver may delegate to another one
    (`Solver.within_support`). An InputError lists the usable solvers, or says which option is unknown, has a wrong
    value, or is given together with an instance.
    """
    if not isinstance(given, str | Solver):
        raise InputError(f"solver must be a name or an instance of a solver, not {given!r}")
    if not isinstance(options, Mapping | None):
        raise InputError(f'the options of a solver are a dict such as {{"loss": "hinge"}}, not {options!r}')
    if options and not isinstance(given, str):
        raise InputError(f"{given!r} has its options already: give it alone, or its name {given.name!r} with options")
    made = plugins.build("solver", given, dict(options or {})) if isinstance(given, str) else given
    return made.within_support() if limited else made


def kernel(given: Any, params: dict[str, Any] | None = None, for_solver: str | Solver | None = None) -> Kernel:
    """Return the kernel with this name and its parameters among `params`; its gamma may still be a rule.

    A callable f(X, Z) becomes a `FromFunction`. None is the linear kernel if `for_solver`, which has to work with the
    kernel, needs it, and rbf otherwise. InputError if no kernel has that name, a parameter is out of range, or the
    solver cannot take the kernel.
    """
    taker = None if for_solver is None else solver(for_solver)
    if given is None:
        given = "linear" if taker is not None and Requires.LINEAR_KERNEL in taker.requires else "rbf"
    if isinstance(given, str):
        known = plugins.options(plugins.load("kernel", given))
        given = plugins.build("kernel", given, {k: v for k, v in (params or {}).items() if k in known})
    if not isinstance(given, Kernel) and not callable(given):
        raise InputError(f"kernel must be a name, a Kernel or a function f(X, Z), not {given!r}")
    made = given if isinstance(given, Kernel) else FromFunction(given)
    if taker is not None:
        taker.check_kernel(made)
    return made


def sampler(given: str | Sampler | None) -> Sampler | None:
    """Return the sampler that a text such as "full" or "uniform:59" describes: a name, and its first option.

    None stands for the solver's own sampler. InputError if no sampler has that name, or a size is missing or refused.
    """
    if not isinstance(given, str):
        return given
    name, colon, size = given.partition(":")
    if colon and not size:
        raise InputError(f"sampler {given!r} lacks its size: write {name} or {name}:59")
    first = next(iter(plugins.options(plugins.load("sampler", name))), None)
    if size and first is None:
        raise InputError(f"sampler {name} takes no size: write {name}, not {given}")
    return plugins.build("sampler", name, {first: size} if size and first else {})
