"""An independent judge of a run's claims: P, D and gap in long double, from the data and the model's numbers alone.

Nothing here uses a Gram, a Problem or the predictions of a model: a certificate and the judge can only agree if both
are right. What is minimised is known from the formulation of the solver, "hinge, free bias". Any dual weights in their
box prove a lower bound, so D is the best of those that the run gives and those that its slacks suggest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from svmkit.conformance.judging.exact import Exact, Values, is_indefinite
from svmkit.conformance.judging.truth import Objective, Pair
from svmkit.problems.certificate import Certificate
from svmkit.solver.base import Solver
from svmkit.solver.solution import Status
from svmkit.training.result import Fit

TINY = 1e-8  # relative: differences below it are not held against a claim
FEASIBLE = 1e-8  # relative: how far dual weights may violate their constraints
DECISION = 1e-6  # of a margin, in addition to the rounding of the sum in float64
ROUNDING = 1e3 * np.finfo(np.float64).eps
MOST = 700  # samples up to which a kernel's eigenvalues are computed


@dataclass
class Verdict:
    """The true numbers of one binary problem, and the claims that they contradict.

    Attributes
    ----------
    primal, dual, gap : float
        P at the model, the best proven D, and (P - D) / max(|P|, |D|).
    false : list of str
        The claims that do not hold, each with the numbers.
    """

    primal: float
    dual: float
    gap: float
    false: list[str] = field(default_factory=list)


def judge_pair(pair: Pair, objective: Objective, solution: Any, tol: float | None = None) -> Verdict:
    """Compare the claims of a solution with the true numbers.

    Parameters
    ----------
    pair : Pair
        The problem and its model.
    objective : Objective
        What is minimised.
    solution : Solution
        The claims: the status, and P, D and gap of the certificate. Dual weights that it holds may prove D.
    tol : float, default=None
        The gap that "converged" stands for; None if the solve had another rule.

    Returns
    -------
    Verdict
        P and D hold if they are right up to the larger of `TINY` and the claimed gap, and D only if it is below P.
    """
    claim = solution.certificate
    P, h, size = pair.primal(objective)
    found = [beta for beta in (claim.beta, solution.point) if _is_dual(beta, len(pair.y))]
    found += [] if pair.coef is None else [pair.y * pair.coef]
    candidates = [beta.astype(Exact) for beta in found] + [pair.suggested(objective, h)]
    D = max(pair.dual(objective, beta) for beta in candidates)
    gap = (P - D) / max(abs(P), abs(D)) if max(abs(P), abs(D)) > 0 else Exact(0)
    verdict = Verdict(float(P), float(D), float(gap))
    rounding = ROUNDING * float(size @ pair.C / max(abs(P), Exact(1e-300)))
    bounded = not (claim.dual is None and claim.gap is None)
    if bounded and _indefinite(pair, objective):
        verdict.false.append(
            f"dual_objective {claim.dual:.6g}, gap {claim.gap}: the kernel is indefinite, D is no bound"
        )
        return verdict
    _compare(verdict, (P, D, gap), claim, solution.status, tol, rounding)
    if objective.bias is None and pair.coef is not None:
        verdict.false += _infeasible(pair, objective, pair.y * pair.coef)
    return verdict


def _compare(verdict: Verdict, true: tuple, claim: Certificate, status: Status, tol: float | None, free: float) -> None:
    """Add the claims about P, D, gap and status that do not hold; without a gap P may be off by `free`, relatively."""
    (P, D, gap), false = true, verdict.false
    if any(math.isnan(x) for x in (claim.primal, claim.dual, claim.gap) if x is not None):
        false.append(f"objective {claim.primal}, dual_objective {claim.dual}, gap {claim.gap}: nan is no claim")
        return
    if not np.isfinite(P) and math.isfinite(claim.primal):
        false.append(f"objective {claim.primal:.9g}: the model has {float(P)}")
        return
    reach = min(max(TINY, free if claim.gap is None else claim.gap), 1.0) * abs(P)
    if P - reach > claim.primal:
        false.append(f"objective {claim.primal:.9g}: it is {float(P):.9g}")
    if claim.dual is not None and claim.dual > P + TINY * abs(P):
        false.append(f"dual_objective {claim.dual:.9g} is above P = {float(P):.9g} of its own model")
    elif claim.dual is not None and claim.dual > D + reach:
        false.append(f"dual_objective {claim.dual:.9g}: the dual weights prove {float(D):.9g}")
    if claim.gap is not None and gap > max(TINY, claim.gap + TINY):
        false.append(f"gap {claim.gap:.3g}: it is {float(gap):.3g}")
    if claim.gap is not None and status is Status.CONVERGED and tol is not None and gap > tol + TINY:
        false.append(f"converged at {tol:g}: the gap is {float(gap):.3g}")


def _is_dual(beta: Any, m: int) -> bool:
    return beta is not None and beta.shape == (m,) and bool(np.isfinite(beta).all())


def _indefinite(pair: Pair, objective: Objective) -> bool:
    values = pair.values
    suspect = values.kernel in ("sigmoid", "precomputed") or (values.kernel == "poly" and bool(values.coef0 < 0))
    if not suspect or len(pair.rows) > MOST:
        return False
    joined = (
        values(pair.rows, pair.rows) + Exact(objective.bias or 0.0) ** 2
    )  # the bias is part of w, unless it is free
    return is_indefinite(joined, centred=objective.bias is None)


def _infeasible(pair: Pair, objective: Objective, beta: np.ndarray) -> list[str]:
    """Say how dual weights violate their box or y'beta = 0."""
    beyond, off = pair.violation(objective, beta)
    if max(beyond, off) <= FEASIBLE:
        return []
    return [f"dual weights leave their box by {beyond:.2g}, and y'beta = {off:.2g} (relative)"]


def costs(y: np.ndarray, C: float, class_weight: Any = None, sample_weight: Any = None) -> np.ndarray:
    """Return C_i = C times class weight times sample weight, (n,), long double, by their definitions."""
    weights = np.ones(len(y), Exact) if sample_weight is None else np.asarray(sample_weight).astype(Exact)
    weights = np.broadcast_to(weights, y.shape)
    classes = np.unique(y)
    by_class = dict.fromkeys(classes.tolist(), Exact(1))
    if class_weight == "balanced":
        mass = {label: weights[y == label].sum() for label in by_class}
        by_class = {label: weights.sum() / (len(classes) * mass[label]) if mass[label] else Exact(0) for label in mass}
    elif class_weight is not None:
        by_class |= {label: Exact(weight) for label, weight in class_weight.items()}
    return Exact(C) * weights * np.array([by_class[label] for label in y.tolist()], dtype=Exact)


def judge_fit(
    fit: Fit,
    X: Any,
    y: Any,
    *,
    solver: Solver,
    C: float,
    class_weight: Any = None,
    sample_weight: Any = None,
    tol: float | None = None,
    values: Values | None = None,
) -> list[Verdict]:
    """Judge every class pair of a fit, its decisions and its labels on the training samples.

    Parameters
    ----------
    fit : Fit
        The result of `svmkit.fit`, trained without scaling.
    X : array-like or sparse matrix of shape (n, d)
        The training samples as they were given.
    y : array-like of shape (n,)
        The labels as they were given.
    solver : Solver
        The solver, which says what it minimises (`Solver.formulation`) and whether its models are weights of columns.
    C, class_weight, sample_weight : optional
        As they were given.
    tol : float, default=None
        The gap that was asked for.
    values : Values, default=None
        The kernel values of X where an earlier judgement has computed some; with the parameters of the model's kernel.

    Returns
    -------
    list of Verdict
        One for each class pair; empty if the judge does not know the objective. False claims of the whole, such as
        labels, are in the first one.
    """
    y, model = np.asarray(y), fit.model
    objective = Objective.of(solver.formulation(model.kernel))
    if objective is None:
        return []
    is_w = solver.problem_for(model.kernel).is_linear
    values = values or Values(model.kernel.name, model.kernel.params, X)
    cost, classes = costs(y, C, class_weight, sample_weight), np.unique(y)
    pairs = [(a, b) for a in range(len(classes)) for b in range(a + 1, len(classes))]
    decisions = model.decision_function(X).reshape(len(y), len(pairs))
    verdicts, true = [], np.zeros((len(y), len(pairs)), Exact)
    safe = np.ones(len(y), bool)
    for k, (a, b) in enumerate(pairs):
        pair = _pair(fit, values, y, cost, classes, k, (a, b), is_w)
        verdict = judge_pair(pair, objective, fit.solutions[k], tol)
        verdicts.append(verdict)
        true[:, k], size = pair.decisions(np.arange(len(y)))
        reach = (
            max(DECISION, fit.solutions[k].certificate.gap or 0.0) * np.maximum(1, np.abs(true[:, k])) + ROUNDING * size
        )
        same = decisions[:, k] == true[:, k].astype(np.float64)  # also where both are infinite as float64
        wrong = ~(same | (np.abs(decisions[:, k] - true[:, k]) <= reach))
        if wrong.any():
            i = int(np.argmax(wrong))
            verdict.false.append(
                f"{wrong.sum()} decisions of {len(y)}; row {i}: {decisions[i, k]:.9g} is {float(true[i, k]):.9g}"
            )
        safe &= np.abs(true[:, k]) > reach
    wrong = (model.predict(X) != classes[_votes(true, len(classes))]) & safe
    if wrong.any():
        verdicts[0].false.append(f"{wrong.sum()} labels of {len(y)}")
    verdicts[0].false += _whole(fit, verdicts)
    return verdicts


def _pair(fit, values, y, cost, classes, k, of, is_w) -> Pair:
    """The k-th class pair and its coefficients, in LIBSVM's layout."""
    (a, b), model = of, fit.model
    rows = np.flatnonzero(((y == classes[a]) | (y == classes[b])) & (cost > 0))
    plus = classes[b] if len(classes) == 2 else classes[a]
    signs = np.where(y[rows] == plus, Exact(1), Exact(-1))
    intercept = Exact(model.intercept[k])
    if is_w:
        w = np.asarray(model.vectors[k]).astype(Exact)
        return Pair(values, rows, signs, cost[rows], None, w, intercept)
    owner = np.repeat(np.arange(len(classes)), model.n_support)
    coef = np.zeros(len(y), Exact)
    for place, row in enumerate(fit.support):
        if owner[place] == a:
            coef[row] = model.coef[b - 1, place]
        elif owner[place] == b:
            coef[row] = model.coef[a, place]
    return Pair(values, rows, signs, cost[rows], coef[rows], None, intercept)


def _votes(decisions: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the code of the class with the most votes, of equal votes that with the largest sum of margins."""
    if n_classes == 2:
        return (decisions[:, 0] > 0).astype(int)
    votes, margins = np.zeros((2, len(decisions), n_classes), Exact)
    k = 0
    for a in range(n_classes):
        for b in range(a + 1, n_classes):
            votes[:, a] += decisions[:, k] > 0
            votes[:, b] += decisions[:, k] <= 0
            margins[:, a] += decisions[:, k]
            margins[:, b] -= decisions[:, k]
            k += 1
    best = votes == votes.max(axis=1, keepdims=True)
    return np.where(best, margins, -np.inf).argmax(axis=1)


def _whole(fit: Fit, verdicts: Sequence[Verdict]) -> list[str]:
    """Say which numbers of the whole fit are better than those of its class pairs."""
    gaps, gap = [v.gap for v in verdicts], fit.gap
    if gap is not None and len(verdicts) > 1 and not max(gaps) <= max(TINY, gap + TINY):
        return [f"gap {gap:.3g} of all class pairs: one has {max(gaps):.3g}"]
    return []


def judge_one_class(fitted: Any, X: Any, sample_weight: Any = None, tol: float | None = None) -> Verdict:
    """Judge a fitted `SVMOneClass`: min alpha'A alpha over the simplex, A = K + diag(nu sum w / (2 w_i)).

    Parameters
    ----------
    fitted : SVMOneClass
        The estimator.
    X : array-like or sparse matrix of shape (n, d)
        The training samples as they were given.
    sample_weight : array-like of shape (n,), default=None
        As it was given.
    tol : float, default=None
        The gap that "converged" stands for.

    Returns
    -------
    Verdict
        P = alpha'A alpha and D = 2 min A alpha - P at the weights alpha of the estimator.
    """
    model, claim = fitted.model_, fitted.certificate_
    values = Values(model.kernel.name, model.kernel.params, X)
    weights = np.ones(values.n, Exact) if sample_weight is None else np.asarray(sample_weight).astype(Exact)
    rows = np.flatnonzero(weights > 0)
    alpha = np.zeros(values.n, Exact)
    alpha[fitted.support_] = model.coef[0]
    every = np.arange(values.n)
    scores = values(every, fitted.support_) @ alpha[fitted.support_]
    g = scores[rows] + alpha[rows] * Exact(fitted.nu) * weights.sum() / (2 * weights[rows])
    P = alpha[rows] @ g
    D = 2 * g.min() - P
    gap = (P - D) / max(abs(P), abs(D)) if max(abs(P), abs(D)) > 0 else Exact(0)
    verdict = Verdict(float(P), float(D), float(gap))
    if alpha.min() < 0 or abs(alpha.sum() - 1) > FEASIBLE:
        verdict.false.append(f"weights from {float(alpha.min()):.3g} that sum to {float(alpha.sum()):.9g}")
    _compare(verdict, (P, D, gap), claim, fitted.status_, tol, ROUNDING)
    off = np.abs(fitted.score_samples(X) - scores) > DECISION * np.abs(scores) + ROUNDING * np.abs(scores).max()
    if off.any():
        verdict.false.append(f"{off.sum()} scores of {values.n}")
    return verdict
