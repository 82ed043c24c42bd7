"""LIBLINEAR's text model, read into an `SVMModel` with the linear kernel, and written for its predict."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, Any

import numpy as np

from svmkit.errors import InputError
from svmkit.kernels.functions import Linear
from svmkit.model.calibration import OWN, odds_calibration
from svmkit.model.exchange.plain import (
    require_numbers,
    type_of,
    untrained_notes,
    whole_labels,
    without_scaling,
)
from svmkit.model.exchange.text import LARGEST_INDEX, Header, Written, encode, read_rows, texts
from svmkit.model.layout import linear_machine, outlier_parts, regression_parts, store_weights
from svmkit.model.model import SVMModel
from svmkit.runtime import files

LOGISTIC = ("L2R_LR", "L1R_LR", "L2R_LR_DUAL")
CLASSIFIERS = ("L2R_L2LOSS_SVC_DUAL", "L2R_L2LOSS_SVC", "L2R_L1LOSS_SVC_DUAL", "L1R_L2LOSS_SVC")
SVR_TYPES = ("L2R_L2LOSS_SVR_DUAL", "L2R_L2LOSS_SVR", "L2R_L1LOSS_SVR_DUAL")
CRAMMER_SINGER, ONE_CLASS = "MCSVM_CS", "ONECLASS_SVM"
SOLVER_TYPES = (*LOGISTIC, *CLASSIFIERS, CRAMMER_SINGER, *SVR_TYPES, ONE_CLASS)
MINIMISED = {  # loss and penalty of each type, except for outliers, whose nu is not in the file
    **dict.fromkeys(("L2R_LR", "L2R_LR_DUAL"), ("logistic", "l2")),
    "L1R_LR": ("logistic", "l1"),
    **dict.fromkeys(("L2R_L2LOSS_SVC_DUAL", "L2R_L2LOSS_SVC"), ("squared_hinge", "l2")),
    "L2R_L1LOSS_SVC_DUAL": ("hinge", "l2"),
    "L1R_L2LOSS_SVC": ("squared_hinge", "l1"),
    CRAMMER_SINGER: ("hinge", "l2"),
    **dict.fromkeys(("L2R_L2LOSS_SVR_DUAL", "L2R_L2LOSS_SVR"), ("squared_epsilon_insensitive", "l2")),
    "L2R_L1LOSS_SVR_DUAL": ("epsilon_insensitive", "l2"),
}
WORDS = ("solver_type", "nr_class", "label", "nr_feature", "bias", "rho")


def read(path: Path, stream: IO[bytes], n_features: int | None) -> SVMModel:
    """Read a model that LIBLINEAR's `save_model` wrote, of any solver type; `path` is for messages.

    Its decisions are LIBLINEAR's, with the classes in sorted order; a bias is in the intercept. A model of logistic
    regression has its probabilities, too. There are at least `n_features` columns; None takes the number in the file.
    Raises InputError: the file is no such model, or it is damaged.
    """
    header = Header(path, stream, WORDS, "w")
    solver_type = header.word("solver_type", SOLVER_TYPES)
    width, bias = header.whole_number("nr_feature", 1), header.number("bias")
    if width > LARGEST_INDEX:
        header.refuse(f"nr_feature is above {LARGEST_INDEX}", "nr_feature")
    is_classifier = solver_type != ONE_CLASS and solver_type not in SVR_TYPES
    k = header.class_count(solver_type, is_classifier)
    labels = header.labels(k) if is_classifier else None
    n_columns = k if k > 2 or solver_type == CRAMMER_SINGER else 1
    columns, *_ = read_rows(header, stream, width + (bias >= 0), n_columns, features=False)
    w = np.zeros((n_columns, max(width, n_features or 0)))
    w[:, :width] = columns[:width].T
    with np.errstate(over="ignore"):
        intercept = bias * columns[width] if bias >= 0 else np.zeros(n_columns)
    if not np.isfinite(intercept).all():
        header.refuse("bias times its weight is more than float64 holds", header.line)
    parts: dict[str, Any] = {"kernel": Linear(), "n_features": w.shape[1]}
    parts["about"] = {"imported_from": "LIBLINEAR", "solver_type": solver_type}
    if solver_type in MINIMISED:
        loss, penalty = MINIMISED[solver_type]
        described = {"loss": loss, "options": {}, "bias": max(bias, 0.0)}
        parts["about"]["minimised"] = described | ({"penalty": penalty} if penalty != "l2" else {})
    if solver_type == ONE_CLASS:
        intercept = intercept - header.number("rho")
    if labels is None:
        parts |= outlier_parts(1) if solver_type == ONE_CLASS else regression_parts(1)
        return SVMModel(**parts, coef=np.ones((1, 1)), vectors=store_weights(w), intercept=intercept)
    order = np.argsort(labels)
    if k == 2:
        # with one w, a positive decision means the first label; with two (Crammer and Singer) the larger one wins
        w, intercept = (w[:1], intercept[:1]) if n_columns == 1 else (w[:1] - w[1:], intercept[:1] - intercept[1:])
        if order[1] == 1:
            w, intercept = -w, -intercept
    else:
        w, intercept = w[order], intercept[order]
    mode = "crammer_singer" if solver_type == CRAMMER_SINGER else "ovr"
    if solver_type in LOGISTIC:  # a decision is the logarithm of the odds
        parts["calibration"] = odds_calibration(len(w))
    return SVMModel(**parts, **linear_machine(labels[order], w, intercept, mode))


MACHINES = (*CLASSIFIERS, *LOGISTIC)


def write(model: SVMModel, path: str | os.PathLike) -> Written:
    """Write a model with the linear kernel as LIBLINEAR's text, atomically.

    Scaling goes into the weights. The intercept becomes the weight of a last feature of 1 (`bias 1`). The solver type
    is the one that the model was imported with, or the first one of its task: LIBLINEAR decides alike for all of them,
    and has probabilities for types of logistic regression. Raises InputError: LIBLINEAR has no such model, or the file
    cannot be written.
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
    is_joint = model.has_class_scores and model.is_joint
    classifiers: tuple[str, ...] = (CRAMMER_SINGER,) if is_joint else MACHINES
    if model.about.get("calibration") == OWN and not is_joint:
        classifiers = LOGISTIC
    kind = type_of(model, "solver_type", classifiers, SVR_TYPES, (ONE_CLASS,))
    notes = untrained_notes(model, "LIBLINEAR takes 0 for their decision")
    w, intercept = plain.weights, plain.intercept
    lines = [f"solver_type {kind}", f"nr_class {len(model.classes) or 2}"]
    if kind in (*MACHINES, CRAMMER_SINGER):
        labels, note = whole_labels(model.classes, "LIBLINEAR")
        notes += [note] if note else []
        order = slice(None, None, -1 if len(labels) == 2 else 1)  # one w speaks for LIBLINEAR's first class
        lines += ["label " + " ".join(map(str, labels[order]))]
    if model.calibration is not None and kind not in LOGISTIC:
        notes += ["LIBLINEAR has probabilities of binary logistic regression only: the calibration is left out"]
    biased = kind != ONE_CLASS and bool(intercept.any())
    lines += [f"nr_feature {w.shape[1]}", f"bias {1.0 if biased else -1.0}"]
    lines += [f"rho {texts(0.0 - intercept)}"] if kind == ONE_CLASS else []
    rows = np.column_stack([w, intercept]) if biased else w
    n_bytes = files.write_parts(path, encode([*lines, "w"], (texts(column) for column in rows.T)))
    return Written(kind, n_bytes, notes)
