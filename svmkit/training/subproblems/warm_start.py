"""Starting points from a model: its support vectors are looked up among the rows of the data."""

from __future__ import annotations

import numpy as np

from svmkit.errors import InputError
from svmkit.kernels.functions import Precomputed
from svmkit.losses.terms import Terms
from svmkit.model.matching import match_rows
from svmkit.model.model import SVMModel
from svmkit.model.one_vs_one import pair_coefficients
from svmkit.problems.base import Problem
from svmkit.training.data import TrainingData
from svmkit.training.division import Subproblem


class ModelStart:
    """The coefficients of a model on the rows of training data, whatever its C and kernel parameters.

    If the problem is `linear`, training starts from the model's weights of the columns. Otherwise, a support vector
    matches a row of its own class and of weight > 0 if the two are equal bit for bit after the model's preprocessing of
    the row (in the lower of the two precisions). Each row matches at most one vector, so that repeated vectors match
    repeated rows. Vectors without a matching row are dropped. With a precomputed kernel the vectors are already row
    numbers. InputError is raised if the classes, the columns or the kinds of kernel differ, or no support vector is a
    row of the data.
    """

    def __init__(self, model: SVMModel, data: TrainingData, linear: bool = False) -> None:
        given = isinstance(data.kernel, Precomputed)
        if model.multiclass != data.multiclass:
            theirs, ours = model.multiclass, data.multiclass
            raise InputError(f"cannot start from the model: it was trained with multiclass={theirs}, not {ours}")
        if model.task != data.task.name:
            raise InputError(f"cannot start from the model: it was trained to {model.task}, not to {data.task.name}")
        outputs = [output.name for output in data.division.outputs]
        if list(model.outputs) != outputs:
            theirs, ours = ", ".join(model.outputs) or "one", ", ".join(outputs) or "one"
            raise InputError(f"cannot start from the model: its outputs are {theirs}, those of the data {ours}")
        if not np.array_equal(model.classes, data.classes):
            ours, theirs = (", ".join(map(str, c)) for c in (data.classes, model.classes))
            raise InputError(f"cannot start from the model: its classes are {theirs}, those of the data {ours}")
        if given != isinstance(model.kernel, Precomputed):
            raise InputError("cannot start from the model: either both or none of the two have a precomputed kernel")
        if not given and model.n_features != data.raw.shape[1]:
            raise InputError(
                f"cannot start from the model: it has {model.n_features} features, the data {data.raw.shape[1]}"
            )
        if linear and model.kernel.name != "linear":
            raise InputError(
                f"cannot start from the model: it has the {model.kernel.name} kernel, and a linear problem starts from "
                "weights of the columns; start without it"
            )
        self._model, self._data = model, data
        self._weights = model.weights if linear else None
        if linear:
            return
        owner = np.repeat(np.arange(len(model.n_support)), model.n_support)
        free = np.where(data.weights > 0, data.codes, -1)
        X = data.raw if given else model.preprocessing.apply(data.raw)
        self._rows = match_rows(model.vectors, owner, X, free)
        if (self._rows < 0).all():
            known = int((match_rows(model.vectors, np.zeros_like(owner), X, np.minimum(free, 0)) >= 0).sum())
            if known:
                raise InputError(
                    f"cannot start from the model: {known:,} of its {len(owner):,} support vectors are rows of these "
                    "data, each with another label there: the labels were exchanged; correct them, or start without it"
                )
            raise InputError(
                "cannot start from the model: none of its support vectors is a row of these data; start without it"
            )

    def point(self, pair: Subproblem, problem: Problem) -> np.ndarray | None:
        """Return the point from which `problem` of `pair` starts; None if the model has no weight on its rows."""
        model, data = self._model, self._data
        if self._weights is not None:
            return problem.start_weights(self._weights[pair.k], float(model.intercept[pair.k]))
        owner = np.repeat(np.arange(len(model.n_support)), model.n_support)
        if not data.has_class_pairs:
            at, values = np.arange(len(owner)), model.coef[pair.k]
        else:
            at, values = pair_coefficients(model.coef, owner, pair.a, pair.b)
        found = self._rows[at] >= 0
        coef = np.zeros(data.X.shape[0])
        coef[self._rows[at[found]]] = values[found]
        return problem.start(coef[pair.rows])


def move_weights(beta: np.ndarray, before: Terms, after: Terms, gradient: np.ndarray | None) -> np.ndarray:
    """Convert dual weights of one level of a loss to another level, preserving their sum.

    Each weight keeps its relative position between its bounds, so that all of them increase or all decrease. Then as
    many samples change sides as lie between the two levels, those nearest to the curve first. Without bounds, weights
    follow the slope of the new loss at the old residuals.

    Parameters
    ----------
    beta : ndarray of float64, shape (m,), signed weights
    before, after : Terms, of the two levels, both with bounds or both with ridges
    gradient : ndarray of float64, shape (m,), or None, K beta - t, which orders the residuals; None if it is not known
    """
    bounds = before.lower, before.upper, after.lower, after.upper
    if not all(np.isfinite(bound).all() for bound in bounds):
        slope_up, slope_down = before.ridge_up / after.ridge_up, before.ridge_down / after.ridge_down
        return beta * np.where(beta > 0.0, slope_up, slope_down)
    share = (beta - before.lower) / (before.upper - before.lower)
    moved = after.lower + share * (after.upper - after.lower)
    excess = float(moved.sum() - beta.sum())
    if gradient is None or excess == 0.0:
        return moved
    # residuals are minus the gradient, up to the bias: those just above the curve move below it, or the reverse
    order = np.argsort(-gradient if excess > 0.0 else gradient, kind="stable")
    room = np.abs(moved - (after.lower if excess > 0.0 else after.upper))[order]
    taken = np.clip(abs(excess) - (np.cumsum(room) - room), 0.0, room)
    moved[order] -= np.sign(excess) * taken
    return moved
