"""Solvers, kernels and samplers from the text that names them: wherever a name is taken, an instance is too."""

from __future__ import annotations

from typing import Any

from svmkit import plugins
from svmkit.errors import InputError
from svmkit.kernels.functions import FromFunction, Kernel
from svmkit.solver.base import Requires, Solver
from svmkit.solver.sampler import Sampler


def solver(given: str | Solver) -> Solver:
    """The solver of that name with its default options; an instance is returned as it is.

    Raises
    ------
    InputError
        No solver has that name, or it cannot be used here; the message lists those that can.
    """
    return plugins.build("solver", given) if isinstance(given, str) else given


def kernel(given: Any, params: dict[str, Any] | None = None, for_solver: str | Solver | None = None) -> Kernel:
    """The kernel of that name with those of `params` that it has.

    Parameters
    ----------
    given : str, callable, Kernel or None
        A callable f(X, Z) becomes a `FromFunction`; None is linear `for_solver` if that one needs it, else rbf.
    params : dict, default=None
        Values of gamma, degree, coef0 and the like, used only where a name is given.
    for_solver : str or Solver, default=None
        The solver that has to work with the kernel.

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
    """The sampler that "full" or "uniform:59" spells, its first option after the colon.

    An instance is returned as it is, and so is None, which stands for the solver's own sampler.

    Raises
    ------
    InputError
        No sampler has that name, a size is missing, or there is one too many.
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
