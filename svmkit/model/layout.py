"""The layouts of models from other software, and the order of classes: LIBSVM's by occurrence, ours sorted.

LIBSVM's decision for the classes i < j, in its order, means i if it is positive. Ours for the classes a < b, in sorted
order, means a, or b if there are only two classes. So a decision may change its sign with the order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from svmkit.data.formats.layout import densify
from svmkit.kernels.functions import Kernel
from svmkit.model.one_vs_one import class_slices, coefficient_row, pair_classes, pair_column, weight_coefficients

FEW_CLASSES = 4096


class Sorted(NamedTuple):
    """A one-versus-one machine with its classes in sorted order."""

    classes: np.ndarray
    rows: np.ndarray  # the vectors of the unsorted machine, by class
    n_support: np.ndarray
    coef: np.ndarray  # their coefficients
    columns: np.ndarray  # its class pairs in our order
    signs: np.ndarray  # -1.0 if our decision is minus LIBSVM's, else 1.0


def regression_parts(n_sv: int) -> dict[str, Any]:
    """Return the task, classes and n_support of a regression of so many vectors."""
    return {"task": "regress", "classes": np.empty(0), "n_support": np.array([n_sv])}


def outlier_parts(n_sv: int) -> dict[str, Any]:
    """Return the task, classes and n_support of a one-class model of so many vectors."""
    return {"task": "outliers", "classes": np.array([-1, 1]), "n_support": np.array([0, n_sv])}


def linear_machine(classes: np.ndarray, w: np.ndarray, intercept: np.ndarray, multiclass: str) -> dict[str, Any]:
    """Return the parts of a linear model of sorted classes.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
    w : ndarray of shape (n_decisions, n_features), one for each of more than two classes, else one for the second
    intercept : ndarray of shape (n_decisions,)
    multiclass : {"ovr", "crammer_singer", "multinomial"}, how a machine of more than two classes was trained
    """
    k, (n, d) = len(classes), w.shape
    parts: dict[str, Any] = {"classes": classes, "intercept": intercept}
    if k == 2:
        n_support, coef = weight_coefficients(2)
        return parts | {"n_support": n_support, "coef": coef, "vectors": store_weights(w)}
    parts |= {"multiclass": multiclass, "n_support": np.zeros(k, dtype=np.int64)}
    if k > max(d, FEW_CLASSES):  # an identity of many classes is large: there are fewer unit vectors
        parts["n_support"][0] = d
        return parts | {"coef": w, "vectors": sp.eye_array(d, format="csr")}
    parts["n_support"][:] = 1
    return parts | {"coef": np.eye(n), "vectors": store_weights(w)}


def store_weights(w: np.ndarray) -> Any:
    """Return weights as CSR if most of them are 0, else unchanged."""
    return densify(sp.csr_array(w))


def holds_weights(kernel: Kernel, vectors: Any, n_decisions: int) -> bool:
    """Return whether the vectors of a model are the weights of a linear one, at most one for each decision, rather than
    training rows.
    """
    return kernel.name == "linear" and vectors.shape[0] <= n_decisions


def sort_classes(labels: np.ndarray, n_support: np.ndarray, coef: np.ndarray) -> Sorted:
    """Return a machine of LIBSVM with its classes in sorted order and the signs of our decisions. `labels` are
    distinct, in LIBSVM's order, which is also the order of the vectors; there are `n_support` of each class, with the
    coefficients `coef` (n_classes - 1, n_sv).
    """
    k, order = len(labels), np.argsort(labels, kind="stable")
    at, all_classes = class_slices(n_support), np.arange(k)
    a, b = pair_classes(k)
    i, j = order[a], order[b]
    turned = -1.0 if k == 2 else 1.0
    ours = np.empty_like(coef)
    end = 0
    for c, of in enumerate(order.tolist()):
        others = np.delete(all_classes, c)
        signs = np.where((of < order[others]) == (c < others), turned, -turned)
        begin, end = end, end + at[of].stop - at[of].start
        ours[:, begin:end] = signs[:, None] * coef[coefficient_row(of, order[others]), at[of]]
    rows = np.concatenate([np.arange(at[of].start, at[of].stop) for of in order.tolist()])
    columns = pair_column(np.minimum(i, j), np.maximum(i, j), k)
    return Sorted(labels[order], rows, n_support[order], ours, columns, np.where(i < j, turned, -turned))
