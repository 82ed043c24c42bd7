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
    """Return the solver of a name.

    Parameters
    ----------
    given : str or Solver
        A name; an instance is returned unchanged.
    options : mapping of str to object, default=None
        Values of the options of a solver that is given by its name; the others keep their defaults.
    limited : bool, default=False
        Whether support vectors are limited, for which a solver may hand over to another one (`Solver.within_support`).

    Returns
    -------
    Solver
        The solver.

    Raises
    ------
    InputError
        No solver has that name, or the solver cannot be used here; the message lists the usable solvers. Or an option
        is unknown, has a wrong value, or is given beside an instance.
    """
    if not isinstance(given, str | Solver):
        raise InputError(f"solver must be a name or an instance of a solver, not {given!r}")
    if not isinstance(options, Mapping | None):
        raise InputError(f'the options of a solver are a dict such as {{"loss": "hinge"}}, not {options!r}')
    if options and not isinstance(given, str):
        raise InputError(f"{given!r} has its options already: give it alone, or its name {given.name!r} with options")
    found = plugins.build("solver", given, dict(options or {})) if isinstance(given, str) else given
    return found.within_support() if limited else found


def of_all_classes(given: Solver) -> Solver:
    """Return the solver of Crammer and Singer's problem, as an option `multiclass="crammer_singer"` asks for it.

    Parameters
    ----------
    given : Solver
        A solver of class pairs; a solver of the problem itself is returned unchanged.

    Returns
    -------
    Solver
        What its `crammer_singer` makes.

    Raises
    ------
    InputError
        The solver has no such problem; the message lists those that have.
    """
    found = given.crammer_singer()
    if found is None:
        able = plugins.solvers_where(lambda one: one.crammer_singer is not Solver.crammer_singer)
        raise InputError(f"solver {given.name} has no multiclass=crammer_singer; those that have: {', '.join(able)}")
    return found


def kernel(given: Any, params: dict[str, Any] | None = None, for_solver: str | Solver | None = None) -> Kernel:
    """Return the kernel of a name, with the parameters in `params` that it has.

    Parameters
    ----------
    given : str, callable, Kernel or None
        A callable f(X, Z) becomes a `FromFunction`. None is the linear kernel if `for_solver` needs it, and rbf
        otherwise.
    params : dict, default=None
        Values of gamma, degree, coef0 and the like, used only where a name is given.
    for_solver : str or Solver, default=None
        The solver that has to work with the kernel.

    Returns
    -------
    Kernel
        The kernel; its gamma may still be a rule such as "scale".

    Raises
    ------
    InputError
        No kernel has that name, a parameter is out of range, or the solver cannot take the kernel.
    """
    taker = None if for_solver is None else solver(for_solver)
    if given is None:
        given = "linear" if taker is not None and Requires.LINEAR_KERNEL in taker.requires else "rbf"
    if isinstance(given, str):
        known = plugins.options(plugins.load("kernel", given))
        given = plugins.build("kernel", given, {k: v for k, v in (params or {}).items() if k in known})
    found = given if isinstance(given, Kernel) else FromFunction(given)
    if taker is not None:
        taker.check_kernel(found)
    return found


def sampler(given: str | Sampler | None) -> Sampler | None:
    """Return the sampler that a text such as "full" or "uniform:59" describes.

    Parameters
    ----------
    given : str, Sampler or None
        A name, with the value of the sampler's first option after a colon. An instance is returned unchanged, and so is
        None, which stands for the solver's own sampler.

    Returns
    -------
    Sampler or None
        The sampler.

    Raises
    ------
    InputError
        No sampler has that name, or a size is missing or not accepted.
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
