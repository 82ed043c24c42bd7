"""A linear model as LIBLINEAR's text, for its predict, its Python package and all that reads its models."""

from __future__ import annotations

import os

import numpy as np

from svmkit.errors import InputError
from svmkit.model.exchange.liblinear_text import CLASSIFIERS, CRAMMER_SINGER, LOGISTIC, ONE_CLASS, REGRESSION
from svmkit.model.exchange.libsvm_writer import Written, encode, texts
from svmkit.model.exchange.plain import require_numbers, untrained_notes, whole_labels, without_scaling
from svmkit.model.model import SVMModel
from svmkit.runtime import files

MACHINES = (*CLASSIFIERS, *LOGISTIC)


def write(model: SVMModel, path: str | os.PathLike) -> Written:
    """Write a linear model as LIBLINEAR's text, atomically.

    Scaling goes into the weights. The intercept becomes the weight of a last feature of 1 (`bias 1`). The solver type
    is the one that the model was imported with, or the first one of its task: LIBLINEAR decides alike for all of them.

    Parameters
    ----------
    model : SVMModel
        A model with the linear kernel.
    path : str or path-like
        The file; an existing file is replaced.

    Raises
    ------
    InputError
        LIBLINEAR has no such model, or the file cannot be written.
    """
    require_numbers(model, "LIBLINEAR")
    if model.kernel.name != "linear":
        raise InputError(
            f"LIBLINEAR's models are linear, and this one has the kernel {model.kernel.name}: use --libsvm"
        )
    if len(model.classes) > 2 and not model.has_class_scores:
        raise InputError(
            "LIBLINEAR's models have a decision for each of more than two classes, and this one is one-versus-one: use "
            "--libsvm, or train it one-versus-rest"
        )
    plain = without_scaling(model)
    kind, notes = _solver_type(model), untrained_notes(model, "LIBLINEAR takes 0 for their decision")
    w, intercept = plain.weights, plain.intercept
    lines = [f"solver_type {kind}", f"nr_class {len(model.classes) or 2}"]
    if kind in (*MACHINES, CRAMMER_SINGER):
        labels, note = whole_labels(model.classes, "LIBLINEAR")
        notes += [note] if note else []
        order = slice(None, None, -1 if len(labels) == 2 else 1)  # one w speaks for LIBLINEAR's first class
        lines += ["label " + " ".join(map(str, labels[order]))]
    if model.calibration is not None and kind not in LOGISTIC:
        notes += ["LIBLINEAR has probabilities of logistic regression only: the calibration is left out"]
    biased = kind != ONE_CLASS and bool(intercept.any())
    lines += [f"nr_feature {w.shape[1]}", f"bias {1.0 if biased else -1.0}"]
    lines += [f"rho {texts(0.0 - intercept)}"] if kind == ONE_CLASS else []
    rows = np.column_stack([w, intercept]) if biased else w
    n_bytes = files.write_parts(path, encode([*lines, "w"], (texts(column) for column in rows.T)))
    return Written(kind, n_bytes, notes)


def _solver_type(model: SVMModel) -> str:
    """Return the solver type that the model was imported with, or the first one of its task."""
    told = model.about.get("solver_type")
    fitting: tuple[str, ...] = MACHINES
    if model.regresses:
        fitting = REGRESSION
    elif model.finds_outliers:
        fitting = (ONE_CLASS,)
    elif model.has_class_scores and model.multiclass == "crammer_singer":
        fitting = (CRAMMER_SINGER,)
    return str(told) if told in fitting else fitting[0]
