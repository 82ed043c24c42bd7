"""LIBLINEAR's text model: read into an `SVMModel` with the linear kernel."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

import numpy as np

from svmkit.kernels.functions import Linear
from svmkit.model.calibration import Sigmoid
from svmkit.model.exchange.text import LARGEST_INDEX, Header, read_rows
from svmkit.model.layout import linear_machine, outlier_parts, regression_parts, store_weights
from svmkit.model.model import SVMModel

LOGISTIC = ("L2R_LR", "L1R_LR", "L2R_LR_DUAL")
CLASSIFIERS = ("L2R_L2LOSS_SVC_DUAL", "L2R_L2LOSS_SVC", "L2R_L1LOSS_SVC_DUAL", "L1R_L2LOSS_SVC")
REGRESSION = ("L2R_L2LOSS_SVR_DUAL", "L2R_L2LOSS_SVR", "L2R_L1LOSS_SVR_DUAL")
CRAMMER_SINGER, ONE_CLASS = "MCSVM_CS", "ONECLASS_SVM"
SOLVER_TYPES = (*LOGISTIC, *CLASSIFIERS, CRAMMER_SINGER, *REGRESSION, ONE_CLASS)
WORDS = ("solver_type", "nr_class", "label", "nr_feature", "bias", "rho")


def read(path: Path, stream: IO[bytes], n_features: int | None) -> SVMModel:
    """Read a model that LIBLINEAR's `save_model` wrote, of any solver type.

    Parameters
    ----------
    path : Path
        The file, for messages.
    stream : binary file
        Its content.
    n_features : int or None
        The number of columns, at least; None takes that of the file.

    Returns
    -------
    SVMModel
        Its decisions are LIBLINEAR's, with the classes in sorted order; a bias is in the intercept. That of
        logistic regression has its probabilities, too.

    Raises
    ------
    InputError
        The file is no such model, or it is damaged.
    """
    header = Header(path, stream, WORDS, "w")
    solver_type = header.word("solver_type", SOLVER_TYPES)
    width, bias = header.whole_number("nr_feature", 1), header.number("bias")
    if width > LARGEST_INDEX:
        header.refuse(f"nr_feature is above {LARGEST_INDEX}", "nr_feature")
    is_classifier = solver_type != ONE_CLASS and solver_type not in REGRESSION
    k = header.whole_number("nr_class", 1)
    if k != 2 and not is_classifier:
        header.refuse(f"nr_class of a {solver_type} model is 2, not {k:,}", "nr_class")
    if k < 2:
        header.refuse("a model of one class decides nothing: train it on data of two classes or more", "nr_class")
    labels = None
    if is_classifier:
        labels = header.whole_numbers("label", k, -(2**53))
        if len(np.unique(labels)) < k:
            header.refuse("two classes have the same label", "label")
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
    if solver_type == ONE_CLASS:
        intercept = intercept - header.number("rho")
    if labels is None:
        parts |= outlier_parts(1) if solver_type == ONE_CLASS else regression_parts(1)
        return SVMModel(**parts, coef=np.ones((1, 1)), vectors=store_weights(w), intercept=intercept)
    order = np.argsort(labels)
    if k == 2:
        # of one w a positive decision speaks for the first label; of two (Crammer and Singer) the larger one wins
        w, intercept = (w[:1], intercept[:1]) if n_columns == 1 else (w[:1] - w[1:], intercept[:1] - intercept[1:])
        if order[1] == 1:
            w, intercept = -w, -intercept
    else:
        w, intercept = w[order], intercept[order]
    mode = "crammer_singer" if solver_type == CRAMMER_SINGER else "ovr"
    if solver_type in LOGISTIC:  # a decision is the logarithm of the odds
        parts["calibration"] = Sigmoid(np.full(len(w), -1.0), np.zeros(len(w)))
    return SVMModel(**parts, **linear_machine(labels[order], w, intercept, mode))
