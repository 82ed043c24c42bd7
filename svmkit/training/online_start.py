"""Learning from a stream that goes on from a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from svmkit import plugins
from svmkit.errors import InputError
from svmkit.model.model import SVMModel
from svmkit.model.one_vs_one import class_pairs, pair_coefficients
from svmkit.training.online_pair import Rows
from svmkit.training.weights import training_weights

if TYPE_CHECKING:
    from svmkit.training.online import Online


def begin(online: Online, model: SVMModel, name: str) -> None:
    """Let a stream go on from a model, whose kernel should have this name; raise InputError where it cannot."""
    if model.task != online.task:
        raise InputError(f"cannot go on from a model that was trained to {model.task}, to {online.task}")
    if not np.array_equal(model.classes, online.classes) or model.kernel.name != name:
        raise InputError(
            f"cannot go on from a model of the classes {', '.join(map(str, model.classes))} with the kernel "
            f"{model.kernel.name}: classes and kernel must be the same"
        )
    codes = np.repeat(np.arange(len(model.n_support)), model.n_support)
    online.before, online.received = int(model.about.get("n_samples", 0)), len(codes)
    seen = round(online.before * 2 / max(len(online.classes), 2))
    if online.solver.problem_of(online.input.kernel, online.task).is_linear:
        online.seen[:] = 1
        for pair, w, intercept in zip(online.pairs, model.weights, model.intercept, strict=True):
            pair.begin_weights(w, float(intercept), seen)
        return
    _require_vectors(online, model)
    online.seen = model.n_support.astype(np.int64)
    weights = online.C * training_weights(codes, online.classes, online.class_weight, None)
    for (a, b), pair in zip(class_pairs(len(online.classes)), online.pairs, strict=True):
        at, coef = pair_coefficients(model.coef, codes, a, b)
        at, coef = at[coef != 0.0], coef[coef != 0.0]
        if len(at):
            rows = Rows(model.vectors[at], pair.signs(codes[at]), weights[at], at)
            pair.begin(rows, coef, online.input.kernel, seen)


def _require_vectors(online: Online, model: SVMModel) -> None:
    """Raise InputError for a model whose vectors are weights of the columns: they are no samples."""
    made = model.about.get("solver")
    if (
        made in plugins.names("solver")
        and plugins.build("solver", made).problem_of(model.kernel, online.task).is_linear
    ):
        raise InputError(
            f"cannot go on from a model of {made} with {online.solver.name}: it has weights of the columns and no "
            f"support vectors; go on with {made}, or start anew"
        )
