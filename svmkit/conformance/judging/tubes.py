"""The true P and D of a regression, from kernel values in long double, and the judge of what a fit claims."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from svmkit.conformance.judging.exact import Exact, Values
from svmkit.conformance.judging.judge import DECISION, ROUNDING, Verdict, judge_pair
from svmkit.conformance.judging.truth import Objective, Pair
from svmkit.solver.base import Solver
from svmkit.training.result import Fit


@dataclass(frozen=True)
class Tube(Pair):
    """A regression over some rows of the data, and the model that was found for it. Its signs y are 1.

    Attributes
    ----------
    t : ndarray of shape (m,), long double
        The targets.
    epsilon : long double
        Half the width of the tube without loss.
    """

    t: np.ndarray
    epsilon: np.longdouble

    def slack(self, h: np.ndarray) -> np.ndarray:
        return np.maximum(Exact(0), np.abs(self.t - h) - self.epsilon)

    def dual(self, objective: Objective, beta: np.ndarray) -> np.longdouble:
        d = beta if objective.squared else np.clip(beta, -self.C, self.C)
        t = self.t
        if objective.bias is None:  # the targets less a constant are the same problem
            t, plus = t - np.median(t), d > 0
            sums = d[plus].sum(), -d[~plus].sum()
            if min(sums) <= 0:
                return Exact(0)
            d = d * np.where(plus, min(sums) / sums[0], min(sums) / sums[1])
        total = t @ d - self.epsilon * np.abs(d).sum()
        if not (total > 0 and np.isfinite(total)):
            return Exact(0)
        used = d != 0
        most = Exact(np.inf) if objective.squared else (self.C[used] / np.abs(d[used])).min()
        ridge = (d * d / (2 * self.C)).sum() if objective.squared else Exact(0)
        curvature = self.norm(d) + (Exact(objective.bias or 0.0) * d.sum()) ** 2 + ridge
        best = min(total / curvature if curvature > 0 else Exact(np.inf), most)
        return best * total - Exact(0.5) * best * best * curvature if np.isfinite(best) else Exact(0)

    def suggested(self, objective: Objective, h: np.ndarray) -> np.ndarray:
        slack = self.slack(h)
        return np.sign(self.t - h) * self.C * (2 * slack if objective.squared else (slack > 0))

    def violation(self, objective: Objective, beta: np.ndarray) -> tuple[float, float]:
        beyond = 0.0 if objective.squared else max(0.0, float((np.abs(beta) / self.C).max()) - 1.0)
        return beyond, float(abs(beta.sum())) / max(1.0, float(np.abs(beta).sum()))


def tube_objective(formulation: str) -> Objective | None:
    """Read what `Solver.formulation` says of a regression; None for an objective that the judge does not know."""
    squared, known, rest = formulation.partition("epsilon-insensitive")
    found = Objective.of(f"{squared}hinge{rest}") if known else None
    return None if found is None or found.l1 else found


def judge_regression(
    fit: Fit,
    X: Any,
    t: Any,
    *,
    solver: Solver,
    C: float,
    epsilon: float,
    sample_weight: Any = None,
    tol: float | None = None,
) -> Verdict | None:
    """Judge a regression and its predictions on the training samples.

    Parameters
    ----------
    fit : Fit
        The result of `svmkit.fit` with task="regress", trained without scaling.
    X : array-like or sparse matrix of shape (n, d)
        The training samples as they were given.
    t : array-like of shape (n,)
        The targets as they were given.
    solver : Solver
        The solver, which says what it minimises (`Solver.formulation`).
    C, epsilon, sample_weight
        As they were given.
    tol : float, default=None
        The gap that was asked for.

    Returns
    -------
    Verdict or None
        None if the judge does not know the objective.
    """
    model = fit.model
    objective = tube_objective(solver.formulation(model.kernel, "regress"))
    if objective is None:
        return None
    targets = np.asarray(t).astype(Exact)
    weights = np.ones(len(targets), Exact) if sample_weight is None else np.asarray(sample_weight).astype(Exact)
    rows = np.flatnonzero(weights > 0)
    coef, w = np.zeros(len(targets), Exact), None
    if solver.problem_of(model.kernel, "regress").is_linear:
        w = np.asarray(model.vectors[0]).astype(Exact)
    else:
        coef[fit.support] = model.coef[0]
    tube = Tube(
        Values(model.kernel.name, model.kernel.params, X),
        rows,
        np.ones(len(rows), Exact),
        (Exact(C) * weights)[rows],
        None if w is not None else coef[rows],
        w,
        Exact(model.intercept[0]),
        targets[rows],
        Exact(epsilon),
    )
    verdict = judge_pair(tube, objective, fit.solutions[0], tol)
    h, size = tube.decisions(np.arange(len(targets)))
    found = model.predict(X)
    off = np.abs(found - h) > DECISION * np.maximum(np.abs(h), np.abs(targets).max()) + ROUNDING * size
    if off.any():
        i = int(np.argmax(off))
        verdict.false.append(f"{off.sum()} predictions of {len(h)}; row {i}: {found[i]:.9g} is {float(h[i]):.9g}")
    return verdict
