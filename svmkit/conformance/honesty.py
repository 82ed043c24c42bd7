"""Checks that what a solver's runs claim is true, by the judge: on ordinary data of every kind, and on hostile data."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from svmkit.conformance.hostile.trial import run
from svmkit.conformance.judging.judge import judge_fit
from svmkit.conformance.result import Check
from svmkit.conformance.solvers import TOL, toy, with_losses
from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Kernel, Laplacian, Linear, Poly
from svmkit.solver.base import Solver
from svmkit.solver.requirements import Requires
from svmkit.solver.stopping import Gap, Iterations, Seconds
from svmkit.training.train import fit

HOSTILE = (
    "C=1e+08",
    "X + 1e+06",
    "two different rows",
    "weights 1e-12 to 1e12",
    "all rows twice, opposite labels",
    "m=2",
)


def ordinary(solver: Solver) -> dict[str, dict[str, Any]]:
    """Return the arguments of trainings by name: kernels, storages, weights and numbers of classes.

    Parameters
    ----------
    solver : Solver
        The solver, whose requirements of the kernel are kept.

    Returns
    -------
    dict of str to dict
        X, y, kernel, C, class_weight and sample_weight of `svmkit.fit`.
    """
    X, y = toy(m=60)
    own: Kernel = Linear() if Requires.LINEAR_KERNEL in solver.requires else RBF(0.5)
    plain = {"X": X, "y": y, "kernel": own, "C": 1.0, "class_weight": None, "sample_weight": None}
    weights = np.random.default_rng(1).integers(0, 4, len(y)).astype(np.float64)
    kernels = (Linear(), RBF(2.0), Laplacian(0.5), Poly(0.5, 3, 1.0))
    kept = [kernel for kernel in kernels if all(need.holds(kernel) for need in solver.requires)]
    return {
        **{f"{kernel.name} kernel": plain | {"kernel": kernel} for kernel in kept},
        "CSR": plain | {"X": sp.csr_array(X * (np.abs(X) > 0.5))},
        "float32": plain | {"X": X.astype(np.float32)},
        "class weights": plain | {"class_weight": {1.0: 5.0}, "C": 10.0},
        "balanced, sample weights": plain | {"class_weight": "balanced", "sample_weight": weights},
        "three classes": plain | {"y": np.where(np.arange(len(y)) % 5 == 0, 2.0, y)},
    }


def judge_losses(solver: Solver) -> str | None:
    """Return a false claim of a run on ordinary data, or None; what a solver refuses in one line is left out.

    All losses of classes that the solver takes are judged, those that are not its own on two sets of data.
    """
    for loss, variant in with_losses(solver, "classify").items():
        every = ordinary(variant)
        chosen = every if variant is solver else {name: every[name] for name in ("CSR", "balanced, sample weights")}
        said = false_claim(variant, chosen)
        if said is not None:
            return said if variant is solver else f"loss {loss}, {said}"
    return None


def false_claim(solver: Solver, every: dict[str, dict[str, Any]]) -> str | None:
    """Return a claim of a run on some of the `ordinary` data that the judge finds false, or None."""
    for name, given in every.items():
        X, y, kernel = given.pop("X"), given.pop("y"), given.pop("kernel")
        try:
            done = fit(X, y, solver=solver, kernel=kernel, stop=Gap(TOL) | Iterations(2000) | Seconds(0.3), **given)
        except InputError:
            continue
        for verdict in judge_fit(done, X, y, solver=solver, tol=TOL, **given):
            if verdict.false:
                return f"{name}: {verdict.false[0]}"
    return None


def _hostile(solver: Solver) -> str | None:
    for case in HOSTILE:
        trial = run(case, solver)
        if trial.outcome in ("wrong", "traceback"):
            return f"{case}: {trial.said}"
    return None


SOLVER: dict[str, Check] = {
    "P, D, gap and decisions are those of its model, by an independent judge": Check(
        judge_losses,
        "The judge recomputes them in long double from the data and the coefficients, for every kernel that the solver "
        "takes, dense and sparse data, float32, weights and three classes.",
        "svmkit.conformance.judge_fit",
    ),
    "on hostile data nothing that it claims is false": Check(
        _hostile,
        "On data far from the origin, with extreme C and weights, with contradictions or with two samples, a run may "
        "end early or be refused in one line, but what it claims is true. `python -m svmkit.conformance.grid --solvers "
        "NAME` runs all hostile cases.",
        "svmkit.conformance.judge_fit",
    ),
}
