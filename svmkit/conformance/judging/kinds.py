"""Judges of other kinds of machines: with nu, of all classes at once, and of probabilities; as in `judge`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from svmkit.conformance.judging.claims import FEASIBLE, ROUNDING, Verdict, compare_numbers
from svmkit.conformance.judging.definitions import Exact, Values
from svmkit.conformance.judging.judge import DECISION, costs, judge_fit, judge_regression
from svmkit.solver.base import Solver
from svmkit.tasks import task_named
from svmkit.training.result import Fit


def judge_nu(fit: Fit, X: Any, y: Any, nu: float, *, solver: Solver, C: float, sample_weight: Any, tol: float):
    """Return the verdicts on a fit with nu, for two classes or regression, none if it has no D. Its numbers are those
    of the problem whose cost, or tube, nu has determined: the weights sum to nu sum w, and D gives the width of the
    tube.

    Parameters
    ----------
    fit, X, y, nu, solver, C, sample_weight, tol : Fit, object, object, float, Solver, float, object, float
        As for `judge_fit` and as given; C is for regression.
    """
    weights = np.ones(len(y), Exact) if sample_weight is None else np.asarray(sample_weight).astype(Exact)
    coef = np.zeros(len(y), Exact)
    coef[fit.support] = fit.model.coef[0]
    size, claim = np.abs(coef).sum(), fit.solutions[0].certificate
    if claim.dual is None or not size > 0:
        return []
    given: dict[str, Any] = {"solver": solver, "sample_weight": sample_weight, "tol": tol}
    if fit.model.classes is not None and len(fit.model.classes):
        return judge_fit(fit, X, y, C=size / (Exact(nu) * weights.sum()), **given)
    values = Values(fit.model.kernel.name, fit.model.kernel.params, X)
    norm = coef @ values(np.arange(len(y)), np.arange(len(y))) @ coef
    epsilon = (np.asarray(y).astype(Exact) @ coef - norm / 2 - claim.dual) / size
    verdict = judge_regression(fit, X, y, C=C, epsilon=max(float(epsilon), 0.0), **given)
    assert verdict is not None
    most = Exact(nu) * C * weights.sum()  # each sign has half of it, or both lack the same: rounding is relative to it
    verdict.false = [said for said in verdict.false if not said.startswith("dual weights leave their bounds by 0,")]
    if size > most * (1 + FEASIBLE) or abs(coef.sum()) > most * FEASIBLE:
        verdict.false.append(f"weights of {float(size):.9g} that sum to {float(coef.sum()):.3g}; nu allows {most:.9g}")
    return [verdict]


def _linear_scores(model: Any, values: Values) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return weights, biases, the scores (m, k) of all classes, and the sums of the sizes of their terms."""
    W, b = model.coef.astype(Exact) @ np.asarray(model.vectors).astype(Exact), model.intercept.astype(Exact)
    h = values.X @ W[:, values.columns].T + b
    return W, b, h, np.abs(values.X) @ np.abs(W[:, values.columns]).T + np.abs(b)


def _judge_scores(verdict: Verdict, found: np.ndarray, h: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Add false scores to a verdict; return the allowed error of each."""
    reach = DECISION * np.maximum(1, np.abs(h)) + ROUNDING * size
    if (off := np.abs(found - h) > reach).any():
        verdict.false.append(f"{off.sum()} decisions of {off.size}")
    return reach


def judge_all_classes(
    fit: Fit, X: Any, y: Any, *, C: float, class_weight: Any = None, sample_weight: Any = None, tol: float | None = None
) -> list[Verdict]:
    """Return the verdict on Crammer and Singer's machine of more than two classes, with a bias column of 1.

    Parameters
    ----------
    fit, X, y, C, class_weight, sample_weight, tol : Fit, object, object, float, object, object, float or None
        As for `judge_fit`.
    """
    y, model, solution = np.asarray(y), fit.model, fit.solutions[0]
    classes, codes = np.unique(y, return_inverse=True)
    cost, values = costs(y, C, class_weight, sample_weight), Values("linear", {}, X)
    W, b, h, size = _linear_scores(model, values)
    rows = np.flatnonzero(cost > 0)
    every, own, C_i = np.arange(len(rows)), codes[rows], cost[rows]
    rival = h[rows]
    rival[every, own] = -np.inf
    slack = 1 + rival.max(axis=1) - h[rows, own]
    P = ((W * W).sum() + b @ b) / 2 + C_i @ np.maximum(slack, 0)

    def prove(off: np.ndarray) -> np.longdouble:
        """D of the weights against other classes (m, k), within the costs and at the best factor."""
        off = np.minimum(np.where(np.isfinite(off), off, 0), 0)
        off[every, own] = 0
        off *= np.minimum(1, C_i / np.maximum(-off.sum(axis=1), Exact(1e-300)))[:, None]
        totals = -off.sum(axis=1)
        off[every, own] = totals
        curvature = np.square(off.T @ values.X[rows]).sum() + np.square(off.sum(axis=0)).sum()
        s = min(Exact(1), totals.sum() / curvature) if curvature > 0 else Exact(1)
        return s * totals.sum() - s * s * curvature / 2

    suggested = np.zeros((len(rows), len(classes)), Exact)
    suggested[every, rival.argmax(axis=1)] = np.where(slack > 0, -C_i, 0)
    points = [solution.point.astype(Exact)] if solution.point.shape == suggested.shape else []
    verdict = Verdict.measure(P, max(prove(off) for off in (suggested, *points)))
    free = ROUNDING * float(size[rows].max(axis=1) @ C_i / max(P, Exact(1e-300)))
    compare_numbers(verdict, solution.certificate, solution.status, tol, free)
    reach = _judge_scores(verdict, model.decision_function(X), h, size)
    clear = np.diff(np.sort(h, axis=1)[:, -2:], axis=1)[:, 0] > 2 * reach.max(axis=1)
    if (wrong := (model.predict(X) != classes[h.argmax(axis=1)]) & clear).any():
        verdict.false.append(f"{wrong.sum()} labels of {len(y)}")
    return [verdict]


def judge_multinomial(
    fit: Fit,
    X: Any,
    y: Any,
    *,
    bias: float | None,
    C: float,
    class_weight: Any = None,
    sample_weight: Any = None,
    tol: float | None = None,
) -> list[Verdict]:
    """Return the verdict on multinomial logistic regression of more than two classes, and on its probabilities.

    D is computed from the probabilities given by the point of the fit and by its decisions; for free biases they are
    scaled by classes and samples in turn to the sums of their classes (Deming, Stephan 1940).

    Parameters
    ----------
    bias : float or None
        The value of the column of the bias, 0 for none; None if the biases are free.
    fit, X, y, C, class_weight, sample_weight, tol : Fit, object, object, float, object, object, float or None
        As for `judge_fit`.
    """
    y, model, solution = np.asarray(y), fit.model, fit.solutions[0]
    classes, codes = np.unique(y, return_inverse=True)
    cost, values = costs(y, C, class_weight, sample_weight), Values("linear", {}, X)
    W, b, h, size = _linear_scores(model, values)
    rows = np.flatnonzero(cost > 0)
    own, C_i, at = np.eye(len(classes), dtype=Exact)[codes[rows]], cost[rows], values.X[rows]
    level = h - h.max(axis=1, keepdims=True)
    shares = np.exp(level) / np.exp(level).sum(axis=1, keepdims=True)
    loss = np.log(np.exp(level).sum(axis=1)) - (level * np.eye(len(classes), dtype=Exact)[codes]).sum(axis=1)
    of_bias = b @ b / Exact(bias) ** 2 if bias else Exact(0)
    P = ((W * W).sum() + of_bias) / 2 + C_i @ loss[rows]

    def prove(p: np.ndarray) -> np.longdouble:
        """D of probabilities (m, k)."""
        p = np.clip(np.where(np.isfinite(p), p, 0), np.finfo(Exact).tiny, 1)
        p /= p.sum(axis=1, keepdims=True)
        for _ in range(200 if bias is None else 0):
            p *= (C_i @ own) / (C_i @ p)
            p /= p.sum(axis=1, keepdims=True)
        off = C_i[:, None] * (own - p)
        square = np.square(off.T @ at).sum() + (Exact(bias or 0) ** 2) * np.square(off.sum(axis=0)).sum()
        D = -square / 2 - C_i @ (p * np.log(p)).sum(axis=1)
        reach = np.abs(b).max() + np.abs(level).max()  # bound of biases, if sums could not be scaled to their goals
        return D - np.abs(off.sum(axis=0)).sum() * reach if bias is None else D

    points = [own - solution.point.astype(Exact) / C_i[:, None]] if solution.point.shape == own.shape else []
    with np.errstate(all="ignore"):
        verdict = Verdict.measure(P, max(prove(p) for p in (shares[rows], own, *points)))
    free = ROUNDING * float(size[rows].max(axis=1) @ C_i / max(P, Exact(1e-300)))
    compare_numbers(verdict, solution.certificate, solution.status, tol, free)
    reach = _judge_scores(verdict, model.decision_function(X), h, size)
    if (off := np.abs(model.predict_proba(X) - shares) > 2 * reach.max(axis=1)[:, None]).any():
        verdict.false.append(f"{off.sum()} probabilities of {off.size}")
    verdict.false.extend(false_probabilities(fit, X))
    return [verdict]


def judge_outputs(
    fit: Fit, X: Any, y: Any, *, solver: Solver, C: float, epsilon: float, tol: float | None = None
) -> list[Verdict]:
    """Return the verdicts on the outputs of a model with several, each as on a separate fit: targets, levels or labels.

    Parameters
    ----------
    fit, X, solver, C, epsilon, tol : Fit, object, Solver, float, float, float or None
        As for `judge_regression`; for labels as for `judge_fit`, without weights.
    y : array-like of shape (m,), or (m, n_outputs)
        Targets, one column for all levels of a loss; or labels, 0 and 1.
    """
    model, y = fit.model, np.asarray(y)
    given: dict[str, Any] = {"C": C, "tol": tol}
    losses = model.levels or (None,) * len(model.outputs)
    verdicts, solutions = list[Verdict](), iter(fit.solutions)
    is_linear = solver.problem_of(model.kernel, task_named(model.task).loss_task).is_linear
    for k, loss in enumerate(losses):
        column = y if y.ndim == 1 else y[:, k]
        if model.task == "multilabel" and np.ptp(column) == 0:  # nothing was learnt
            if (model.predict(X)[:, k] != column).any():
                verdicts.append(Verdict(0.0, 0.0, 0.0, [f"a label that is {column[0]} in all rows is not predicted"]))
            continue
        part = slice(k, k + 1)
        own = replace(
            model,
            vectors=model.vectors[part] if is_linear else model.vectors,
            coef=np.ones((1, 1)) if is_linear else model.coef[part],
            intercept=model.intercept[part],
            n_support=np.ones(1, np.int64) if is_linear else model.n_support,
            outputs=(),
        )
        if model.task == "multilabel":
            own = replace(own, task="classify", classes=np.array([-1, 1]))
        one = replace(fit, model=own, solutions=[next(solutions)])
        if model.task == "multilabel":
            verdicts += judge_fit(one, X, 2 * column - 1, solver=solver, **given)
        else:
            with_loss = solver if loss is None else replace(solver, loss=loss)  # type: ignore[call-arg]
            verdict = judge_regression(one, X, column, solver=with_loss, epsilon=epsilon, **given)
            verdicts += [verdict] if verdict else []
    return verdicts


def false_probabilities(fit: Fit, X: Any) -> list[str]:
    """Return false claims about the probabilities of a calibrated fit, computed from its decisions and labels."""
    model, false = fit.model, list[str]()
    proba, decisions = model.predict_proba(X), model.decision_function(X)
    if not ((proba >= 0.0) & (proba <= 1.0)).all() or (np.abs(proba.sum(axis=1) - 1.0) > 1e-12).any():
        return [f"probabilities from {proba.min()} to {proba.max()}, whose sums are up to {proba.sum(axis=1).max()}"]
    clear = np.diff(np.sort(proba, axis=1)[:, -2:], axis=1)[:, 0] > 1e-9
    if (model.predict(X) != model.classes[proba.argmax(axis=1)])[clear].any():
        false.append("a label is not that of the largest probability")
    if proba.shape[1] == 2:
        steps = np.diff(proba[np.argsort(decisions.ravel(), kind="stable"), 1])
        if (steps > 1e-12).any() and (steps < -1e-12).any():
            false.append("the probabilities do not follow the decisions")
    return false
