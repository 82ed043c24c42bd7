"""Checks by the judge that the claims of a solver are true: on ordinary data of every kind, and on hostile data."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from svmkit.conformance.hostile.trial import run
from svmkit.conformance.judging.claims import Verdict
from svmkit.conformance.judging.judge import judge_fit, judge_regression
from svmkit.conformance.judging.ranking import judge_ranking
from svmkit.conformance.result import Check, check
from svmkit.conformance.solvers import EPSILON, TOL, curve, kernel_for, regresses, toy, with_losses
from svmkit.data import Ranks
from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Laplacian, Linear, Poly
from svmkit.solver.base import Solver
from svmkit.solver.stopping import Gap, Iterations, Seconds
from svmkit.training.train import fit

LIMIT = 0.15  # seconds for a run: its claims have to be true whenever it ends
HOSTILE = (
    "C=1e+08",
    "X + 1e+06",
    "two different rows",
    "weights 1e-12 to 1e12",
    "all rows twice, opposite labels",
    "m=2",
)
FEW = {"classify": ("CSR", "balanced, sample weights"), "regress": ("CSR", "sample weights", "targets + 1e6")}
"""The data for losses other than a solver's default."""


def ordinary(solver: Solver, task: str = "classify") -> dict[str, dict[str, Any]]:
    """Return arguments of trainings by name: kernels that the solver supports, storages, weights, labels or targets."""
    regress = task == "regress"
    X, y = curve() if regress else toy(m=60)
    plain: dict[str, Any] = {"X": X, "y": y, "kernel": kernel_for(solver), "C": 1.0, "sample_weight": None}
    plain |= {"epsilon": EPSILON} if regress else {"class_weight": None}
    weights = np.random.default_rng(1).integers(0, 4, len(y)).astype(np.float64)
    kept = [
        kernel
        for kernel in (Linear(), RBF(2.0), Laplacian(0.5), Poly(0.5, 2 if regress else 3, 1.0))
        if all(need.holds(kernel) for need in solver.requires)
        and (not regress or solver.regression_for(kernel) is not None)
    ]
    changes: dict[str, dict[str, Any]] = {f"{kernel.name} kernel": {"kernel": kernel} for kernel in kept}
    changes |= {"CSR": {"X": sp.csr_array(X * (np.abs(X) > 0.5))}, "float32": {"X": X.astype(np.float32)}}
    if regress:
        changes |= {
            "sample weights": {"sample_weight": weights, "C": 10.0},
            "epsilon = 0": {"epsilon": 0.0},
            "a tube that holds all targets": {"epsilon": 100.0},
            "C = 1e-4": {"C": 1e-4},
            "C = 1e6": {"C": 1e6},
            "targets of size 1e6": {"y": 1e6 * y, "epsilon": 1e5, "C": 1e6},
            "targets of size 1e-6": {"y": 1e-6 * y, "epsilon": 1e-7, "C": 1e-6},
            "targets + 1e6": {"y": y + 1e6},
            "two samples": {"X": X[2:4], "y": y[2:4]},
        }
    else:
        changes |= {
            "class weights": {"class_weight": {1.0: 5.0}, "C": 10.0},
            "balanced, sample weights": {"class_weight": "balanced", "sample_weight": weights},
            "three classes": {"y": np.where(np.arange(len(y)) % 5 == 0, 2.0, y)},
        }
    return {name: plain | change for name, change in changes.items()}


def false_claim(solver: Solver, cases: dict[str, dict[str, Any]], task: str = "classify") -> str | None:
    """Return a claim of a run on some of the `ordinary` data that is false, or None; one-line refusals are ignored."""
    for name, given in cases.items():
        X, y, kernel = given.pop("X"), given.pop("y"), given.pop("kernel")
        stop, verdicts = Gap(TOL) | Iterations(2000) | Seconds(LIMIT), list[Verdict]()
        try:
            done = fit(X, y, task=task, solver=solver, kernel=kernel, stop=stop, **given)
        except InputError:
            continue
        if task == "classify":
            verdicts = judge_fit(done, X, y, solver=solver, tol=TOL, **given)
        elif verdict := judge_regression(done, X, y, solver=solver, tol=TOL, **given):
            verdicts = [verdict]
        for verdict in verdicts:
            if verdict.false:
                return f"{name}: {verdict.false[0]}"
    return None


def judge_losses(solver: Solver, task: str) -> str | None:
    """Return a false claim of a run with a loss that the solver takes; those not its own are judged on few data."""
    for loss, variant in with_losses(solver, task).items():
        cases = ordinary(variant, task)
        said = false_claim(variant, cases if variant is solver else {name: cases[name] for name in FEW[task]}, task)
        if said is not None:
            return said if variant is solver else f"loss {loss}, {said}"
    return None


def _claims_are_true(solver: Solver) -> str | None:
    """The judge recomputes them in long double from the data and the coefficients, for every kernel that the solver
    takes, dense and sparse data, float32, weights and three classes.
    """
    return judge_losses(solver, "classify")


def _hostile(solver: Solver) -> str | None:
    """On data far from the origin, with extreme C and weights, with contradictions or with two samples, a run may end
    early or be refused in one line, but what it claims is true. `python -m svmkit.conformance.grid --solvers NAME` runs
    all hostile cases.
    """
    for case in HOSTILE:
        trial = run(case, solver, LIMIT)
        if trial.outcome in ("wrong", "traceback"):
            return f"{case}: {trial.said}"
    return None


def _regressions_are_true(solver: Solver) -> str | None:
    """The judge recomputes them in long double from the data and the coefficients, for every kernel that the solver
    takes, dense and sparse data, float32, weights, and targets of all sizes.
    """
    return judge_losses(solver, "regress") if regresses(solver) else None


def _rankings_are_true(solver: Solver) -> str | None:
    """The judge recomputes them from the list of all comparable pairs, for dense and sparse data, float32, groups with
    and without pairs, censored values, and extreme C. What the solver refuses in one line is left out.
    """
    if not any(problem.task == "rank" for problem in solver.further):
        return None
    X, y = curve()
    groups = np.arange(len(y)) % 7 * (np.arange(len(y)) > 2) + 1.0 * (np.arange(len(y)) == 0)
    plain: dict[str, Any] = {"X": X, "y": np.round(y), "groups": groups, "observed": y < 1.0, "C": 1.0}
    changes: dict[str, dict[str, Any]] = {
        "groups, equal values and censored ones": {},
        "one group": {"groups": None, "observed": None, "C": 0.01},
        "CSR": {"X": sp.csr_array(X * (np.abs(X) > 0.5))},
        "float32": {"X": X.astype(np.float32)},
        "C = 1e-4": {"C": 1e-4},
        "C = 1e6": {"C": 1e6},
    }
    for loss, variant in with_losses(solver, "classify").items():
        for name, change in changes.items():
            given = plain | change
            X, C, truth = given.pop("X"), given.pop("C"), Ranks(given["y"], given["groups"], given["observed"])
            stop = Gap(TOL) | Iterations(2000) | Seconds(LIMIT)
            try:
                done = fit(X, truth, task="rank", solver=variant, kernel=Linear(), C=C, stop=stop)
            except InputError:
                continue
            own = variant.loss_for(Linear(), "rank").name
            verdict = judge_ranking(done, X, **given, C=C, loss=own, tol=TOL)
            if verdict.false:
                return f"loss {loss}, {name}: {verdict.false[0]}"
    return None


SOLVER: dict[str, Check] = {
    "P, D, gap and decisions are those of its model, by an independent judge": check(
        _claims_are_true, "svmkit.conformance.judge_fit"
    ),
    "on hostile data nothing that it claims is false": check(_hostile, "svmkit.conformance.judge_fit"),
}
REGRESSION: dict[str, Check] = {
    "P, D, gap and predictions of its regressions are true, by the judge": check(
        _regressions_are_true, "svmkit.problems.Problem.from_loss"
    ),
}
RANKING: dict[str, Check] = {
    "P, D, gap and predictions of its rankings are true, by the judge": check(
        _rankings_are_true, "svmkit.problems.Problem.from_loss"
    ),
}
