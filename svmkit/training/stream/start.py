"""Learning from a stream that goes on from a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from svmkit import plugins
from svmkit.errors import InputError
from svmkit.model.model import SVMModel
from svmkit.model.one_vs_one import class_pairs, pair_coefficients
from svmkit.solver.base import Solver
from svmkit.training.stream.input import StreamInput
from svmkit.training.stream.subproblem import OnlinePair, Rows
from svmkit.training.weights import training_weights


class Begun(NamedTuple):
    """What a stream that goes on from a model has behind it.

    Attributes
    ----------
    before : int
        The number of samples that the model has learned from.
    received : int
        The number of its vectors, which count as the first samples.
    seen : ndarray of shape (n_classes,), int
        Their number in each class; 1 where a linear model has none.
    """

    before: int
    received: int
    seen: np.ndarray


def require_kind(model: SVMModel, task: str, classes: np.ndarray, kernel: str) -> None:
    """Raise InputError unless a model has this task, these classes (n_classes,) and a kernel of this name."""
    if model.task != task:
        raise InputError(f"cannot go on from a model that was trained to {model.task}, to {task}")
    if not np.array_equal(model.classes, classes) or model.kernel.name != kernel:
        raise InputError(
            f"cannot go on from a model of the classes {', '.join(map(str, model.classes))} with the kernel "
            f"{model.kernel.name}: classes and kernel must be the same"
        )


def begin(
    pairs: Sequence[OnlinePair],
    model: SVMModel,
    solver: Solver,
    given: StreamInput,
    C: float,
    class_weight: dict | None,
) -> Begun:
    """Let the class pairs of a stream begin with a model, of their classes and kernel.

    Parameters
    ----------
    pairs : sequence of OnlinePair
        The class pairs, before their first samples.
    model : SVMModel
        The model.
    solver : Solver
        The solver of the stream.
    given : StreamInput
        The kernel and scaling of the model.
    C : float
        The weight of the summed losses.
    class_weight : dict of label to float or None
        The weight of each class.

    Raises
    ------
    InputError
        The solver keeps samples, and the model has none.
    """
    n_classes = len(model.classes)
    codes = np.repeat(np.arange(len(model.n_support)), model.n_support)
    before = int(model.about.get("n_samples", 0))
    seen = round(before * 2 / max(n_classes, 2))
    if solver.problem_of(given.kernel, model.task).is_linear:
        for pair, w, intercept in zip(pairs, model.weights, model.intercept, strict=True):
            pair.begin_weights(w, float(intercept), seen)
        return Begun(before, len(codes), np.ones(max(n_classes, 1), dtype=np.int64))
    _require_vectors(model, solver)
    weights = C * training_weights(codes, model.classes, class_weight, None)
    for (a, b), pair in zip(class_pairs(n_classes), pairs, strict=True):
        at, coef = pair_coefficients(model.coef, codes, a, b)
        at, coef = at[coef != 0.0], coef[coef != 0.0]
        if len(at):
            rows = Rows(model.vectors[at], pair.signs(codes[at]), weights[at], at)
            pair.begin(rows, coef, given.kernel, seen)
    return Begun(before, len(codes), model.n_support.astype(np.int64))


def _require_vectors(model: SVMModel, solver: Solver) -> None:
    """Raise InputError for a model whose vectors are weights of the columns: they are no samples."""
    made = model.about.get("solver")
    if made in plugins.names("solver") and plugins.build("solver", made).problem_of(model.kernel, model.task).is_linear:
        raise InputError(
            f"cannot go on from a model of {made} with {solver.name}: it has weights of the columns and no "
            f"support vectors; go on with {made}, or start anew"
        )
