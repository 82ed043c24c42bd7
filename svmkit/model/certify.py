"""Certificates of a trained model on any rows: P from the definition of the loss, D where dual weights are known."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from svmkit.errors import InputError
from svmkit.kernels.functions import Kernel, Linear, Precomputed
from svmkit.kernels.gram import Gram
from svmkit.kernels.rounding import U
from svmkit.losses.base import Loss
from svmkit.losses.residual import EpsilonInsensitive
from svmkit.losses.terms import LogisticTerms, Terms
from svmkit.model.machines import ClassFunctions, Machine, OneFunction
from svmkit.model.matching import match_rows
from svmkit.model.objective import Objective
from svmkit.model.one_vs_one import class_pairs, signs
from svmkit.problems.base import FREE
from svmkit.problems.bias import weighted_quantile
from svmkit.problems.certificate import Certificate
from svmkit.problems.one_class import OneClassQP
from svmkit.problems.risks.joint.multinomial import Multinomial
from svmkit.problems.risks.kernel_rank import KernelRankRisk
from svmkit.problems.risks.linear_risk import LinearRisk, LinearTubeRisk
from svmkit.problems.risks.points import dual_sums, make_points, total_loss_error
from svmkit.problems.risks.rank_risk import Plane, RankRisk
from svmkit.problems.rounding import bias_reach, dot_error, phi_error
from svmkit.problems.simplex import SimplexQP
from svmkit.problems.weights import reward_error
from svmkit.tasks import task_named


class Samples(NamedTuple):
    """Rows of data on which a model is certified."""

    X: Any  # (n_samples, width): preprocessed, or the kernel values with the training samples
    codes: np.ndarray  # classes; 0 in regression, 1 for outliers
    targets: np.ndarray  # of regression, else none
    C: np.ndarray  # > 0: the cost of a unit of loss of each row
    # (n_samples, n_decisions): signed dual weights, if they do not follow from the coefficients
    dual: np.ndarray | None = None


class Expansion(NamedTuple):
    """One decision function over points, with a coefficient each."""

    gram: Gram
    coef: np.ndarray
    at: np.ndarray  # which points are the samples
    intercept: float
    is_dual: bool  # whether all coefficients belong to samples, so that they may be dual weights


def certify(
    kernel: Kernel, machine: Machine, samples: Samples, objective: Objective, settled: Mapping[str, Any] | None
) -> list[Certificate]:
    """Return a certificate for each decision function of a classifier or a regression, in the order of the decisions.
    Raises InputError: a precomputed kernel without the rows of all support vectors, or an intercept although there is
    no bias.

    Parameters
    ----------
    kernel, machine, samples, objective : Kernel, Machine, Samples, Objective
    settled : mapping, what nu has settled: `rho`, by which costs are divided, or `epsilon`, a number or one for each
        decision. Where it does not say, as in earlier versions, they follow from the coefficients. None without nu.
    """
    support = _match(machine, samples)
    is_regression, out = task_named(objective.loss.task).has_targets, []
    levels = objective.loss.levels
    if is_regression and len(levels) not in (1, len(machine.intercept)):
        raise InputError(f"loss={objective.loss.words} has {len(levels)} levels, the model {len(machine.intercept)}")
    has_targets = is_regression or samples.targets.ndim == 2
    subproblems = _outputs(machine, samples.targets) if has_targets else _subproblems(machine, samples.codes)
    for k, rows, target in subproblems:
        C, loss = samples.C[rows], levels[k if len(levels) > 1 else 0]
        given = None if samples.dual is None else samples.dual[rows, k]
        if isinstance(kernel, Linear) and (support < 0).any():
            # the vectors are weights of the columns, or some are not among the rows: then only w is known
            weights = machine.weights[k], float(machine.intercept[k])
            own = objective._replace(loss=loss)
            of_weights = certify_weights(samples.X[rows], *weights, target, C, own, dual=given)
            if settled is None:
                out.append(of_weights)
                continue
            given = of_weights.beta if given is None else given
        expansion = _expand(kernel, machine, samples.X, support, k, rows)
        if settled is not None and not is_regression:
            rho = _read_settled(settled, "rho", k, least=math.ulp(0.0))
            C = settle_costs(expansion, C) if rho is None else C / rho
        if settled is not None and is_regression:
            epsilon = _read_settled(settled, "epsilon", k, least=0.0)
            loss = EpsilonInsensitive(settle_epsilon(expansion, target, C) if epsilon is None else epsilon)
        out.append(certify_expansion(expansion, target, C, objective._replace(loss=loss), given))
    return out


def settle_costs(expansion: Expansion, weights: np.ndarray) -> np.ndarray:
    """Return the costs (m,) of the C-SVC that a nu-SVC of sample weights (m,) has settled, from its coefficients: some
    sample is at its bound.
    """
    return weights * float(np.abs(expansion.coef[expansion.at] / weights).max())


def settle_epsilon(expansion: Expansion, target: np.ndarray, C: np.ndarray) -> float:
    """Return the epsilon that a nu-SVR has settled: the tube has the width w that minimises sum C max(0, |e| - w) +
    w |beta|_1. The targets and the costs are (m,).
    """
    h = _sums(expansion.gram, expansion.coef)[0][expansion.at]
    size, outside = np.abs(target - h - expansion.intercept), np.abs(expansion.coef).sum()
    return max(-weighted_quantile(-size, C, min(float(outside), float(C.sum()))), 0.0)


def certify_weights(
    X: Any,
    w: np.ndarray,
    intercept: float,
    target: np.ndarray,
    C: np.ndarray,
    objective: Objective,
    *,
    dual: np.ndarray | None = None,
) -> Certificate:
    """Return the certificate of a linear decision function, whose D its decisions suggest or `dual` proves; `beta` are
    the weights behind it.

    Parameters
    ----------
    X, w, intercept : ndarray or CSR of shape (m, d), ndarray of shape (d,), float
        The rows, the weights of the columns, and the intercept.
    target, C, objective : ndarray of shape (m,), ndarray of shape (m,), Objective
        Labels -1.0 and 1.0 or quantities, the cost of a unit of loss of each row, and what is minimised.
    dual : ndarray of shape (m,), default=None
        Signed dual weights, of a bias that is free and the penalty l2.
    """
    risk = LinearTubeRisk if objective.loss.task == "regress" else LinearRisk
    bias = FREE if objective.bias is None else objective.bias
    problem = risk(Gram(Linear(), X), target, C, objective.loss, bias=bias, penalty=objective.penalty)
    point = problem.start_weights(w, intercept)
    assert point is not None
    certificate = problem.certificate(point, intercept if objective.bias is None and objective.penalty.l1 else None)
    if objective.bias is not None or objective.penalty.l1:
        return certificate
    # P there is for the best bias, not for that of the model
    beta, row = certificate.beta if dual is None else dual, w[None, :]
    row = sp.csr_array(row) if sp.issparse(X) else row
    expansion = expand(Linear(), row, np.ones(1), intercept, np.full(1, -1), X)
    return replace(certify_expansion(expansion, target, C, objective, beta), beta=beta)


def certify_expansion(
    expansion: Expansion, target: np.ndarray, C: np.ndarray, objective: Objective, dual: np.ndarray | None = None
) -> Certificate:
    """Return the certificate of a kernel expansion. Its coefficients are the dual weights if all belong to samples.

    Parameters
    ----------
    expansion : Expansion
    target, C, objective, dual : as for `certify_weights`
    """
    expansion.gram.prove_definiteness()
    sums = _sums(expansion.gram, expansion.coef)
    return _certify_expansion(expansion, sums, target, C, objective, dual)


def _read_settled(settled: Mapping[str, Any], name: str, k: int, least: float) -> float | None:
    """Return what nu has settled in decision k, None if that is not known; InputError if it cannot be."""
    value = settled.get(name)
    if isinstance(value, list):
        value = value[k] if k < len(value) else None
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < math.inf:
        raise InputError(
            f"the model's {name} is {value!r}, not a number that training with nu can have found: "
            "give C=NUMBER, or train it anew"
        )
    return float(value)


def _outputs(machine: Machine, targets: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield the number, the rows and the targets of each output whose targets are not all the same."""
    for k in range(len(machine.intercept)):
        target = targets if targets.ndim == 1 else targets[:, k]
        if targets.ndim == 1 or (target != target[0]).any():
            yield k, np.arange(len(targets)), target


def _subproblems(machine: Machine, codes: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield the number, the rows and the targets -1.0 and 1.0 of each subproblem of classes."""
    n_classes = len(machine.n_support)
    if isinstance(machine, ClassFunctions):
        for c in range(n_classes):
            yield c, np.arange(len(codes)), np.where(codes == c, 1.0, -1.0)
    else:
        for k, (a, b) in enumerate(class_pairs(n_classes)):
            rows = np.flatnonzero((codes == a) | (codes == b))
            yield k, rows, signs(codes[rows], a, b, n_classes)


def _match(machine: Machine, samples: Samples) -> np.ndarray:
    """Return the row of each vector, -1 for a vector that is not among the rows."""
    owner = np.repeat(np.arange(len(machine.n_support)), machine.n_support)
    return match_rows(machine.vectors, owner, samples.X, samples.codes)


def _expand(kernel: Kernel, machine: Machine, X: Any, support: np.ndarray, k: int, rows: np.ndarray) -> Expansion:
    """Return decision function k over its samples alone, or over its vectors and the samples."""
    coef = machine.coefficients[:, k]
    used = np.flatnonzero(coef)
    place = np.full(X.shape[0], -1)
    place[rows] = np.arange(len(rows))
    at = np.where(support[used] >= 0, place[support[used]], -1)
    own = X[np.ix_(rows, rows)] if isinstance(kernel, Precomputed) else X[rows]
    return expand(kernel, machine.vectors[used], coef[used], float(machine.intercept[k]), at, own)


def expand(kernel: Kernel, vectors: Any, coef: np.ndarray, intercept: float, at: np.ndarray, X: Any) -> Expansion:
    """Return a decision function over the samples alone, or over its vectors and the samples.

    Parameters
    ----------
    kernel, vectors, coef, intercept : Kernel, ndarray or CSR of shape (n_sv, d), ndarray of shape (n_sv,), float
    at : ndarray of shape (n_sv,), int, the row of X that each vector is, -1 for one that is none
    X : ndarray or CSR of shape (m, d), the samples; of a precomputed kernel their values (m, m)
    """
    m = X.shape[0]
    if (at >= 0).all():
        weights = np.zeros(m)
        weights[at] = coef
        return Expansion(Gram(kernel, X), weights, np.arange(m), intercept, True)
    if isinstance(kernel, Precomputed):
        raise InputError("a model of a precomputed kernel is certified on its training rows, with all their values")
    stack = sp.vstack if sp.issparse(X) or sp.issparse(vectors) else np.concatenate
    points = stack([vectors, X])
    weights = np.concatenate([coef, np.zeros(m)])
    points = sp.csr_array(points) if sp.issparse(points) else points
    return Expansion(Gram(kernel, points), weights, np.arange(len(coef), len(weights)), intercept, False)


def _sums(gram: Gram, coef: np.ndarray) -> tuple[np.ndarray, float]:
    """Return K coef of all points, and a bound on the error of each of these numbers."""
    used = np.flatnonzero(coef)
    shift = gram.definiteness.shift * float(np.abs(coef).max(initial=0.0))
    return gram.matvec(coef[used], used), gram.product_error(coef[used]) + shift


def _certify_expansion(
    expansion: Expansion,
    sums: tuple[np.ndarray, float],
    target: np.ndarray,
    C: np.ndarray,
    objective: Objective,
    dual: np.ndarray | None,
) -> Certificate:
    """Return the certificate of a kernel expansion, given K coef of all points and the bound on their errors."""
    (own, of_own), (gram, coef, at, b, is_dual), column = sums, expansion, objective.bias
    if column == 0.0 and b != 0.0:
        raise InputError("the model has an intercept, and its problem no bias: give bias='free', or the column's value")
    terms, h = objective.loss.terms(target, C), own[at] + b
    norm, of_norm = float(coef @ own), float(np.abs(coef).sum()) * of_own + dot_error(coef * own)
    square = (b / column) ** 2 if column else 0.0
    primal = 0.5 * (norm + square) + float(C @ objective.loss.value(target, h))
    of_primal = 0.5 * of_norm + total_loss_error(*make_points(terms, np.zeros(len(h))), h, of_own + U * np.abs(h), U)
    of_primal += 4.0 * U * abs(primal)
    if dual is None and is_dual:
        dual = coef[at]
    if dual is None:
        return Certificate(primal, None, None, bias=b, rounding=float(of_primal / abs(primal)) if primal else 0.0)
    beta = _feasible(terms, dual, column is None)
    if not is_dual or not np.array_equal(beta, coef[at]):
        weights = np.zeros(len(coef))
        weights[at] = beta
        own, of_own = _sums(gram, weights)
        norm, of_norm = float(beta @ own[at]), float(np.abs(beta).sum()) * of_own + dot_error(beta * own[at])
    value, of_value = _dual_value(terms, beta, norm, of_norm, column)
    if column is None:  # a sum other than 0 moves D by its product with the bias of the optimum
        reach = bias_reach(terms, float(np.ptp(terms.target)))
        reach += float(np.sqrt(2.0 * max(primal, 0.0) * max(float(gram.diag.max()), 0.0)))
        of_value += (abs(float(beta.sum())) + dot_error(beta)) * reach
    flaw = gram.definiteness.flaw
    return Certificate.from_values(primal, float(value), None, b, errors=(float(of_primal), float(of_value)), flaw=flaw)


def _feasible(terms: Terms, beta: np.ndarray, free: bool) -> np.ndarray:
    """Clip dual weights to their bounds; with a free bias those of the sign with the larger sum shrink to sum 0."""
    beta = np.clip(beta, terms.lower, terms.upper)
    up, down = float(beta[beta > 0.0].sum()), -float(beta[beta < 0.0].sum())
    least, most = min(up, down), max(up, down)
    if not free or most - least <= 1e-12 * most:
        return beta
    return np.where(beta > 0.0, least / (up or 1.0), least / (down or 1.0)) * beta


def _dual_value(
    terms: Terms, beta: np.ndarray, norm: float, of_norm: float, column: float | None
) -> tuple[float, float]:
    """Return D at feasible weights with |w|^2 = norm, and a bound on its error. With a free bias targets count from the
    median; with another one a factor <= 1 makes D as large as possible.
    """
    if column is None:
        terms = terms._replace(target=terms.target - np.median(terms.target))
    total = float(beta.sum())
    square = (column * total) ** 2 if column else 0.0
    gain, ridged = dual_sums(*make_points(terms, np.zeros(len(beta))), beta)
    curvature = norm + square + ridged
    is_whole = column is None or curvature <= 0.0 or isinstance(terms, LogisticTerms)
    scale = 1.0 if is_whole else min(max(gain / curvature, 0.0), 1.0)
    of_square = 2.0 * column * abs(column * total) * dot_error(beta) if column else 0.0
    error = reward_error(terms, beta) + U * (float(np.abs(terms.target) @ np.abs(beta)) + 4.0 * abs(gain))
    error += 0.5 * (of_norm + of_square + phi_error(terms, beta)) + 4.0 * U * (2.0 * abs(norm) + abs(ridged) + square)
    return scale * gain - 0.5 * scale * scale * curvature, error


def _class_functions(machine: Machine) -> tuple[np.ndarray, np.ndarray]:
    """Return weights (k, d) and intercepts (k,) of all classes; of two, the shortest with the decision's difference."""
    w, b = machine.weights, machine.intercept
    if isinstance(machine, OneFunction):
        return np.concatenate([-0.5 * w, 0.5 * w]), np.concatenate([-0.5 * b, 0.5 * b])
    return w, b


def certify_crammer_singer(machine: Machine, samples: Samples, bias: float | None) -> Certificate:
    """Return the certificate of Crammer and Singer's machine, whose D the slacks suggest. P = 1/2 sum_c |w_c|^2 + sum_i
    C_i max(0, 1 + max_c h_c - h_y), c other than the class y of the row.

    Parameters
    ----------
    machine : Machine, of one function for each class, or of two classes their difference
    samples : Samples
    bias : float or None, the value of the column of the bias; 0.0 or None for none
    """
    (X, codes, _, C, _), (W, b), bias = samples, _class_functions(machine), bias or 0.0
    h, every = np.asarray(X @ W.T) + b, np.arange(len(codes))
    others = h.copy()
    others[every, codes] = -np.inf
    rival = others.argmax(axis=1)
    slack = 1.0 + others[every, rival] - h[every, codes]
    squares = np.append(W.ravel(), b / bias if bias else 0.0)
    primal = 0.5 * float(squares @ squares) + float(C @ np.maximum(slack, 0.0))
    sizes = np.sqrt((X.multiply(X) if sp.issparse(X) else X * X).sum(axis=1)) * np.linalg.norm(W, axis=1).max()
    of_slack = 2.0 * (W.shape[1] + 4) * U * (sizes + np.abs(b).max()) + 4.0 * U * (1.0 + np.abs(slack))
    of_primal = dot_error(squares * squares) + float(C @ of_slack) + dot_error(C * np.maximum(slack, 0.0))
    alpha = np.zeros(h.shape)
    weights = np.where(slack > 0.0, C, 0.0)
    alpha[every, rival], alpha[every, codes] = -weights, weights
    pull = np.append((X.T @ alpha).ravel(), bias * alpha.sum(axis=0))
    total, curvature = float(weights.sum()), float(pull @ pull)
    scale = min(1.0, total / curvature) if curvature > 0.0 else 1.0
    dual = scale * total - 0.5 * scale * scale * curvature
    of_dual = scale * dot_error(weights) + 2.0 * scale * scale * (len(C) + 4) * U * curvature
    return Certificate.from_values(primal, dual, errors=(of_primal, of_dual))


def certify_multinomial(machine: Machine, samples: Samples, bias: float | None) -> Certificate:
    """Return the certificate of multinomial logistic regression, with D from the probabilities of its decisions.

    Parameters
    ----------
    machine, samples : Machine, Samples
        As for `certify_crammer_singer`.
    bias : float or None
        The value of the column of the bias; 0.0 for none, None for free biases.
    """
    W, b = _class_functions(machine)
    if bias == 0.0 and b.any():
        raise InputError("the model has intercepts, and its problem no bias: give bias='free', or the column's value")
    gram = Gram(Linear(), samples.X)
    problem = Multinomial(gram, samples.codes, samples.C, bias=FREE if bias is None else bias)
    W = np.column_stack([W, b / bias]) if bias else W
    return problem.certify_weights(W, b if bias is None else np.zeros_like(b))


JOINT: dict[str, Callable[[Machine, Samples, float | None], Certificate]] = {
    "crammer_singer": certify_crammer_singer,
    "multinomial": certify_multinomial,
}
"""The certificate of a machine of each scheme of one problem of all classes."""


def certify_ranking(kernel: Kernel, machine: Machine, samples: Samples, loss: Loss) -> Certificate:
    """Return the certificate of a ranker, with D from the plane that touches the losses at its decisions.

    Parameters
    ----------
    kernel, machine, samples, loss : Kernel, Machine, Samples, Loss
        As for `certify`; the targets of the samples have three columns (`svmkit.tasks.Ranking`).
    """
    if kernel.name == "linear":
        problem = RankRisk(Gram(kernel, samples.X), samples.targets, samples.C, loss)
        return problem.certificate(machine.weights[0].astype(np.float64))
    expansion = _expand(kernel, machine, samples.X, _match(machine, samples), 0, np.arange(len(samples.C)))
    gram, coef = expansion.gram, expansion.coef
    rows = gram if expansion.is_dual else Gram(kernel, samples.X)
    problem = KernelRankRisk(rows, samples.targets, samples.C, loss)
    own, of_own = _sums(gram, coef)
    square, of_square = float(coef @ own), float(np.abs(coef).sum()) * of_own + dot_error(coef * own)
    centred = problem.order.centre(own[expansion.at])
    plane = problem.touch(centred)
    primal = 0.5 * square + problem.cost * max(plane.value, 0.0)
    of_primal = 0.5 * of_square + problem.loss_error(centred, plane, of_own + 2.0 * U * np.abs(centred))
    dual, of_dual = _value_of_plane(problem, plane)
    return Certificate.from_values(primal, dual, errors=(of_primal + 4.0 * U * abs(primal), of_dual))


def _value_of_plane(problem: KernelRankRisk, plane: Plane) -> tuple[float, float]:
    """Return the D that a plane proves with its best weight of at most 1, by the kernel values of all rows, and a bound
    on its error.
    """
    beta = problem.cost * problem.order.restore(plane.beta)
    pull, of_pull = _sums(problem.gram, beta)
    square, total = float(beta @ pull), problem.cost * plane.offset
    of_square = float(np.abs(beta).sum()) * of_pull + dot_error(beta * pull)
    # the weights of the plane itself differ from beta by rounding, and so does its vector in the kernel's space
    off = problem.cost * problem.order.restore(plane.error + 3.0 * U * plane.pulls)
    of_vector = float(off @ np.sqrt(problem.gram.diag))
    of_square += 2.0 * math.sqrt(max(square, 0.0) + of_square) * of_vector + of_vector * of_vector
    share = min(max(total / square, 0.0), 1.0) if square > 0.0 else 1.0
    error = share * (problem.cost * plane.offset_error + 4.0 * U * abs(total)) + 0.5 * share * share * of_square
    return share * total - 0.5 * share * share * square, error + 4.0 * U * share * share * abs(square)


def certify_one_class(kernel: Kernel, machine: Machine, samples: Samples, nu: float, loss: str) -> Certificate:
    """Return the certificate of a one-class model at the best rho for its scores; costs are the sample weights. It is
    that of `OneClassQP` or, with squared slacks, of `SimplexQP` where all vectors are rows; else P alone. Raises
    InputError: squared slacks on rows that lack support vectors.

    Parameters
    ----------
    kernel, machine, samples, nu : Kernel, Machine, Samples, float
    loss : {"hinge", "squared_hinge"}, of the slacks
    """
    support, every = _match(machine, samples), np.arange(len(samples.C))
    expansion = _expand(kernel, machine, samples.X, support, 0, every)
    gram, coef, weights = expansion.gram, expansion.coef, samples.C
    if loss != "hinge":
        if not expansion.is_dual:
            raise InputError("a one-class model with squared slacks is certified on its training rows")
        return SimplexQP(gram, ridge=0.5 * nu * weights.sum() / weights).certificate(coef / coef.sum())
    if expansion.is_dual:
        problem = OneClassQP(gram, nu, weights)
        point = problem.start(coef)
        assert point is not None
        return problem.certificate(point)
    own, of_own = _sums(gram, coef)
    h, total = own[expansion.at], nu * float(weights.sum())
    rho = weighted_quantile(h, weights, total)
    primal = 0.5 * float(coef @ own) - rho * total + float(weights @ np.maximum(rho - h, 0.0))
    of_primal = (0.5 * float(np.abs(coef).sum()) + float(weights.sum())) * of_own + 4.0 * U * abs(rho) * total
    return Certificate(primal, None, None, bias=-rho, rounding=of_primal / abs(primal) if primal else 0.0)
