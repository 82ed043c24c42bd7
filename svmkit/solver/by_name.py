"""Solvers, kernels and samplers from the text that names them."""

from __future__ import annotations

from typing import Any

from svmkit import plugins
from svmkit.kernels.functions import FromFunction, Kernel
from svmkit.solver.base import Requires, Solver


def as_kernel(kernel: Any, params: dict[str, Any] | None = None, solver: str | Solver | None = None) -> Kernel:
    """A kernel from its name and those of `params` that it has, a callable f(X, Z), or a Kernel as it is.

    None : linear for a `solver` that needs it, else rbf. Raises InputError for a kernel that the solver cannot take.
    """
    solver = plugins.build("solver", solver) if isinstance(solver, str) else solver
    if kernel is None:
        kernel = "linear" if solver is not None and Requires.LINEAR_KERNEL in solver.requires else "rbf"
    if isinstance(kernel, str):
        known = plugins.options(plugins.load("kernel", kernel))
        kernel = plugins.build("kernel", kernel, {k: v for k, v in (params or {}).items() if k in known})
    found = kernel if isinstance(kernel, Kernel) else FromFunction(kernel)
    if solver is not None:
        solver.check_kernel(found)
    return found
