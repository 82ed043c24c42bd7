"""Solves that are continued until they rank other rows as the optimum does, wherever they began.

P(w) - P(w*) is at least |w - w*|^2 / 2, so a certificate bounds how far w is from the optimum: |w - w*|^2 <= 2 (P - D).
If C is small, the loss makes up nearly all of P: a relative gap of 1e-3 then leaves the direction of w undetermined.
The predicted labels, all of the larger class, do not depend on the direction, but the order of the decisions depends on
nothing else.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from svmkit.kernels.engines import engine_for
from svmkit.kernels.extent import Extent
from svmkit.model.model import SVMModel
from svmkit.scoring.metric import Metric
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Criterion, Gap, Iterations, Seconds, Stop, Support
from svmkit.training.data import TrainingData
from svmkit.training.path import path_prepared
from svmkit.training.result import Fit
from svmkit.training.settings import Method
from svmkit.training.subproblems.one import Callbacks

ERROR = 0.1  # error of w relative to |w|: differences of decisions are known within this share of their largest value
LEAST = 1e-11  # smallest gap that a solve is asked for: rounding is not far below
TRIES = 4  # solves, each to a smaller gap


def is_ranked(data: TrainingData, metric: Metric, method: Method) -> bool:
    """Return whether a metric depends on the order of the decisions, for a problem with |w|^2 / 2 in its objective."""
    has_square = method.solver.params.get("penalty") != "l1"
    return len(data.sizes) == 1 and data.task.has_classes and metric.needs_decisions and has_square


class Carried(NamedTuple):
    """A fit, and the gap to which it was continued."""

    fit: Fit
    n_iter: int  # in all
    tol: float = math.inf  # the gap to which it was continued; inf if that was not needed
    determined: bool = True  # whether w is known up to `ERROR` |w|


def carry_on(fitted: Fit, data: TrainingData, C: float, method: Method, callbacks: Callbacks | None = None) -> Carried:
    """Return a fit of one problem, continued until w is known up to `ERROR` |w|, or `TRIES` times.

    Parameters
    ----------
    fitted, data, C, method : Fit, TrainingData, float, Method
        The fit, and the data, C and method of its training; a fit that was ended by a limit is returned unchanged.
    callbacks : Callbacks, default=None
        As for `path_prepared`.
    """
    n_iter, tol = fitted.n_iter, math.inf
    for _ in range(TRIES):
        needed = _gap_needed(fitted, data)
        if fitted.gap is None or not LEAST < needed < fitted.gap or fitted.status is not Status.CONVERGED:
            break
        tol = needed / 2  # |w| changes with the gap
        further = replace(method, settings=replace(method.settings, stop=with_gap(method.settings.stop, tol)))
        (found,) = path_prepared(data, (C,), further, start=[fitted.solutions[0].point], callbacks=callbacks)
        n_iter += found.n_iter
        spent = fitted.seconds + found.seconds, fitted.kernel_values + found.kernel_values
        fitted = replace(found, seconds=spent[0], kernel_values=spent[1])
    return Carried(fitted, n_iter, tol, fitted.gap is not None and fitted.gap <= _gap_needed(fitted, data))


def with_gap(stop: Criterion | Stop | None, tol: float) -> Stop:
    """Return the stop rules of a fit: a certified gap, with the limits among some stop rules."""
    rules = () if stop is None else (Stop(()) | stop).criteria
    return Stop((Gap(tol), *(rule for rule in rules if isinstance(rule, Iterations | Seconds | Support))))


def _gap_needed(fitted: Fit, data: TrainingData) -> float:
    """Return the relative gap at which |w - w*| is at most `ERROR` |w|; 0 if w says nothing about the order.

    The component of w in the direction of the rows' mean is left out: it adds nearly the same to all decisions.
    """
    model, P = fitted.model, abs(fitted.objective)
    coef = model.machine.coefficients[:, :1]
    if not len(fitted.support) or not P > 0.0:
        return 0.0
    rows = data.X[fitted.support]
    equal = np.full((len(fitted.support), 1), 1.0 / len(fitted.support))
    values = _product(model, rows, model.vectors, coef)
    size = _product(model, model.vectors, model.vectors, coef) if model.kernel.name == "linear" else values
    mean = _product(model, rows, rows, equal).mean()
    square = float((coef * size).sum() - (values.mean() ** 2 / mean if mean > 0.0 else 0.0))
    return ERROR**2 / 2 * max(square, 0.0) / P


def _product(model: SVMModel, X: Any, vectors: Any, coef: np.ndarray) -> np.ndarray:
    return engine_for(model.kernel, X, Extent.measure(model.kernel, vectors)).product(vectors, coef)
