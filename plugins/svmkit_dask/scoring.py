"""What a part answers about its classes and about a model's predictions for its rows."""

from __future__ import annotations

import numpy as np

from svmkit.model.model import SVMModel
from svmkit_dask.rows import Change, Rows


def tally(rows: Rows, own: object, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the number and the summed weight of the rows of each class, of those that take part."""
    return np.bincount(rows.codes, minlength=n_classes), np.bincount(rows.codes, rows.C, minlength=n_classes)


def hits(rows: Rows, own: object, change: Change) -> np.ndarray:
    """Return how the predictions of a model compare with the classes of the rows that take part.

    Parameters
    ----------
    rows : Rows
        The rows.
    own : object
        Nothing.
    change : Change
        The model, in the place of vectors.

    Returns
    -------
    ndarray of int64, shape (3, n_classes)
        For each class the number of its rows, of predictions of it, and of rows where both agree.
    """
    model: SVMModel = change.X
    n_classes = len(model.classes)
    found = np.zeros((3, n_classes), dtype=np.int64)
    for first, X in rows.features.part.blocks():
        lo, hi = np.searchsorted(rows.at, [first, first + X.shape[0]])
        sel = rows.at[lo:hi] - first
        if not len(sel):
            continue
        predicted = np.searchsorted(model.classes, model.predict(X if len(sel) == X.shape[0] else X[sel]))
        truth = rows.codes[lo:hi]
        found += [np.bincount(codes, minlength=n_classes) for codes in (truth, predicted, truth[truth == predicted])]
    return found
