"""An independent judge of a run's claims: P, D and gap in long double, from the data and the model's numbers alone.

Nothing here uses a Gram, a Problem, the record of a loss or the predictions of a model: a certificate and the judge can
only agree if both are right. The objective follows from the formulation of the solver, such as "hinge, free bias". Any
dual weights within their bounds prove a lower bound, so D is the best one of the run's own weights and of those
suggested by the slopes of the loss.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from svmkit.conformance.judging.claims import FEASIBLE, ROUNDING, TINY, Verdict, compare_numbers, judge_claims
from svmkit.conformance.judging.definitions import Exact, Values, find_maximum
from svmkit.conformance.judging.truth import Objective, Subproblem
from svmkit.solver.base import Solver
from svmkit.training.result import Fit

DECISION = 1e-6  # of a margin, in addition to the rounding of the sum in float64
SURE = 1e-6  # lead of the largest probability of a row that makes its label independent of rounding


def costs(y: np.ndarray, C: float, class_weight: Any, sample_weight: Any) -> np.ndarray:
    """Return C_i = C times class weight times sample weight, (n,), long double, by their definitions.

    Parameters
    ----------
    y, C : ndarray of shape (n,), float
        The labels, and the cost of a unit of loss.
    class_weight, sample_weight : "balanced", dict or None, array-like of shape (n,) or None
        The weights of classes, 1 for missing ones, and of samples.
    """
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
    multiclass: str = "ovo",
) -> list[Verdict]:
    """Judge every class pair of a fit, or every class against the rest, its decisions and its labels on the training
    samples.

    Parameters
    ----------
    fit : Fit
        The result of `svmkit.fit`, trained without scaling.
    X : array-like or sparse matrix of shape (n, d)
        The training samples as given.
    y : array-like of shape (n,)
        The labels as given.
    solver : Solver
        The solver, which defines the objective (`Solver.formulation`) and whether its models are weights of columns.
    C, class_weight, sample_weight : optional
        As given.
    tol : float, default=None
        The requested gap.
    values : Values, default=None
        The kernel values of X if an earlier judgement has computed some, with the parameters of the model's kernel.
    multiclass : {"ovo", "ovr"}, default="ovo"
        As given.

    Returns
    -------
    list of Verdict
        One for each class pair, or class; empty if the judge does not know the objective. False claims about the whole
        fit, such as labels, are in the first one.

    Examples
    --------
    >>> from svmkit import fit, plugins
    >>> from svmkit.conformance import judge_fit
    >>> from svmkit.kernels import RBF
    >>> X, y, smo = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1], plugins.build("solver", "smo")
    >>> (verdict,) = judge_fit(fit(X, y, solver=smo, kernel=RBF(1.0)), X, y, solver=smo, C=1.0)
    >>> verdict.false
    []
    """
    y, model = np.asarray(y), fit.model
    objective = Objective.from_words(solver.formulation(model.kernel), solver.loss_for(model.kernel))
    if objective is None:
        return []
    is_w = solver.problem_for(model.kernel).is_linear
    values = values or Values(model.kernel.name, model.kernel.params, X)
    cost, classes = costs(y, C, class_weight, sample_weight), np.unique(y)
    pairs: list[tuple[int, int | None]] = [(a, b) for a in range(len(classes)) for b in range(a + 1, len(classes))]
    if rest := multiclass == "ovr" and len(classes) > 2:
        pairs = [(a, None) for a in range(len(classes))]
    decisions = model.decision_function(X).reshape(len(y), len(pairs))
    verdicts, true = [], np.zeros((len(y), len(pairs)), Exact)
    safe, widest = np.ones(len(y), bool), np.zeros(len(y), Exact)
    for k, (a, b) in enumerate(pairs):
        pair = _pair(fit, values, y, cost, classes, k, (a, b), is_w)
        verdict = judge_claims(pair, objective, fit.solutions[k], tol)
        verdicts.append(verdict)
        true[:, k], size = pair.decisions(np.arange(len(y)))
        gap = max(DECISION, fit.solutions[k].certificate.gap or 0.0)
        reach = gap * np.maximum(1, np.abs(true[:, k])) + ROUNDING * size
        same = decisions[:, k] == true[:, k].astype(np.float64)  # also if both are infinite in float64
        wrong = ~(same | (np.abs(decisions[:, k] - true[:, k]) <= reach))
        if wrong.any():
            i = int(np.argmax(wrong))
            verdict.false.append(
                f"{wrong.sum()} decisions of {len(y)}; row {i}: {decisions[i, k]:.9g} is {float(true[i, k]):.9g}"
            )
        safe, widest = safe & (np.abs(true[:, k]) > reach), np.maximum(widest, reach)
    if rest:
        safe = np.diff(np.sort(true, axis=1)[:, -2:], axis=1)[:, 0] > 2 * widest
    is_coupled = model.calibration is not None and len(pairs) > 1 and not rest  # decisions are log-odds
    if is_coupled:
        likely = couple(true.astype(np.float64), len(classes))
        expected, safe = likely.argmax(axis=1), np.diff(np.sort(likely, axis=1)[:, -2:], axis=1)[:, 0] > SURE + widest
    else:
        expected = true.argmax(axis=1) if rest else _votes(true, len(classes))
    wrong = (model.predict(X) != classes[expected]) & safe
    if wrong.any():
        verdicts[0].false.append(f"{wrong.sum()} labels of {len(y)}")
    worst = max(verdict.gap for verdict in verdicts)
    if fit.gap is not None and len(verdicts) > 1 and not worst <= max(TINY, fit.gap + TINY):
        verdicts[0].false.append(f"gap {fit.gap:.3g} of all class pairs: one has {worst:.3g}")
    return verdicts


def _pair(fit, values, y, cost, classes, k, of, is_w) -> Subproblem:
    """The k-th class pair and its coefficients, in LIBSVM's layout; or the k-th class and all others (b is None)."""
    (a, b), model = of, fit.model
    rows = np.flatnonzero(((y == classes[a]) | (b is None) | (y == classes[b or 0])) & (cost > 0))
    plus = classes[b] if len(classes) == 2 else classes[a]
    signs = np.where(y[rows] == plus, Exact(1), Exact(-1))
    intercept = Exact(model.intercept[k])
    if is_w:
        w = column_weights(model, k)
        return Subproblem(values, rows, signs, cost[rows], None, w, intercept)
    owner = np.repeat(np.arange(len(classes)), model.n_support)
    coef = np.zeros(len(y), Exact)
    for place, row in enumerate(fit.support):
        if b is None:
            coef[row] = model.coef[k, place]
        elif owner[place] == a:
            coef[row] = model.coef[b - 1, place]
        elif owner[place] == b:
            coef[row] = model.coef[a, place]
    return Subproblem(values, rows, signs, cost[rows], coef[rows], None, intercept)


def column_weights(model: Any, k: int) -> np.ndarray:
    """Return the k-th vector of a linear model, which has coefficient 1."""
    row = model.vectors[[k]]
    return (row.toarray() if hasattr(row, "toarray") else np.asarray(row))[0].astype(Exact)


def couple(decisions: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the coupled probabilities (m, n_classes) for log-odds of class pairs (m, n_pairs).

    Wu, Lin, Weng 2004, equation 21: min p'Q p with sum p = 1, as a linear system for each row.
    """
    m, (a, b) = len(decisions), np.triu_indices(n_classes, 1)
    r = np.zeros((m, n_classes, n_classes))
    with np.errstate(over="ignore"):
        r[:, a, b], r[:, b, a] = 1.0 / (1.0 + np.exp(-decisions)), 1.0 / (1.0 + np.exp(decisions))
    system = np.ones((m, n_classes + 1, n_classes + 1))
    system[:, :-1, :-1] = -r * r.transpose(0, 2, 1)
    every = np.arange(n_classes)
    system[:, every, every] = np.square(r).sum(axis=1)
    system[:, -1, -1] = 0.0
    right = np.zeros((m, n_classes + 1, 1))
    right[:, -1] = 1.0
    return np.linalg.solve(system, right)[:, :-1, 0]


def _votes(decisions: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the code of the class with the most votes, with ties broken by the largest sum of margins."""
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
        The training samples as given.
    t : array-like of shape (n,)
        The targets as given.
    solver : Solver
        The solver, which defines the objective (`Solver.formulation`).
    C, epsilon : float
        As given.
    sample_weight : array-like of shape (n,), default=None
        As given.
    tol : float, default=None
        The requested gap.

    Returns
    -------
    Verdict or None
        None if the judge does not know the objective.

    Examples
    --------
    >>> from svmkit import fit, plugins
    >>> from svmkit.conformance import judge_regression
    >>> from svmkit.kernels import RBF
    >>> X, y, smo = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.5], plugins.build("solver", "smo")
    >>> fitted = fit(X, y, solver=smo, kernel=RBF(1.0), task="regress", epsilon=0.1)
    >>> judge_regression(fitted, X, y, solver=smo, C=1.0, epsilon=0.1).false
    []
    """
    model = fit.model
    loss = solver.loss_for(model.kernel, "regress", epsilon)
    objective = Objective.from_words(solver.formulation(model.kernel, "regress"), loss)
    if objective is None:
        return None
    targets = np.asarray(t).astype(Exact)
    weights = np.ones(len(targets), Exact) if sample_weight is None else np.asarray(sample_weight).astype(Exact)
    rows = np.flatnonzero(weights > 0)
    coef, w = np.zeros(len(targets), Exact), None
    if solver.problem_of(model.kernel, "regress").is_linear:
        w = column_weights(model, 0)
    else:
        coef[fit.support] = model.coef[0]
    given = Subproblem(
        Values(model.kernel.name, model.kernel.params, X),
        rows,
        targets[rows],
        (Exact(C) * weights)[rows],
        None if w is not None else coef[rows],
        w,
        Exact(model.intercept[0]),
    )
    verdict = judge_claims(given, objective, fit.solutions[0], tol)
    h, size = given.decisions(np.arange(len(targets)))
    predicted = model.predict(X)
    off = np.abs(predicted - h) > DECISION * np.maximum(np.abs(h), np.abs(targets).max()) + ROUNDING * size
    if off.any():
        i = int(np.argmax(off))
        verdict.false.append(f"{off.sum()} predictions of {len(h)}; row {i}: {predicted[i]:.9g} is {float(h[i]):.9g}")
    return verdict


def judge_one_class(fitted: Any, X: Any, sample_weight: Any = None, tol: float | None = None) -> Verdict:
    """Judge a fitted `SVMOneClass`: min alpha'A alpha over the simplex, A = K + diag(nu sum w / (2 w_i)).

    Parameters
    ----------
    fitted : SVMOneClass
        The estimator.
    X : array-like or sparse matrix of shape (n, d)
        The training samples as given.
    sample_weight : array-like of shape (n,), default=None
        As given.
    tol : float, default=None
        The gap implied by "converged".

    Returns
    -------
    Verdict
        P = alpha'A alpha, and D = max over rho of 2 rho - alpha'K alpha - sum max(0, rho - (K alpha)_i)^2 / ridge_i, at
        the weights alpha of the estimator.

    Examples
    --------
    >>> from svmkit import SVMOneClass
    >>> from svmkit.conformance import judge_one_class
    >>> X = [[0.0], [0.1], [0.2], [0.1], [0.0], [0.2]]
    >>> judge_one_class(SVMOneClass(nu=0.5, gamma=1.0).fit(X), X).false
    []
    """
    model, claim = fitted.model_, fitted.certificate_
    values = Values(model.kernel.name, model.kernel.params, X)
    weights = np.ones(values.n, Exact) if sample_weight is None else np.asarray(sample_weight).astype(Exact)
    rows = np.flatnonzero(weights > 0)
    alpha = np.zeros(values.n, Exact)
    alpha[fitted.support_] = model.coef[0]
    every = np.arange(values.n)
    scores = values(every, fitted.support_) @ alpha[fitted.support_]
    own, ridge = scores[rows], Exact(fitted.nu) * weights.sum() / (2 * weights[rows])
    P = alpha[rows] @ (own + ridge * alpha[rows])

    def dual(rho: Any) -> Any:
        return 2 * rho - alpha[rows] @ own - (np.square(np.maximum(0, rho - own)) / ridge).sum()

    # the best rho is at most that of the excess of any single point; ridges have the range of the weights
    D = dual(find_maximum(dual, own.min(), (own + ridge).min()))
    verdict = Verdict.measure(P, D)
    if alpha.min() < 0 or abs(alpha.sum() - 1) > FEASIBLE:
        verdict.false.append(f"weights from {float(alpha.min()):.3g} that sum to {float(alpha.sum()):.9g}")
    compare_numbers(verdict, claim, fitted.status_, tol, ROUNDING)
    off = np.abs(fitted.score_samples(X) - scores) > DECISION * np.abs(scores) + ROUNDING * np.abs(scores).max()
    if off.any():
        verdict.false.append(f"{off.sum()} scores of {values.n}")
    return verdict
