"""LIBSVM's text model: read into an `SVMModel`."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

import numpy as np

from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Kernel, Linear, Poly, Precomputed, Sigmoid
from svmkit.model import calibration
from svmkit.model.exchange.text import LARGEST_INDEX, Header, feature_rows, read_rows
from svmkit.model.layout import outlier_parts, regression_parts, sort_classes
from svmkit.model.model import SVMModel

CLASSIFIERS, REGRESSION = ("c_svc", "nu_svc"), ("epsilon_svr", "nu_svr")
SVM_TYPES = (*CLASSIFIERS, "one_class", *REGRESSION)
KERNEL_TYPES = ("linear", "polynomial", "rbf", "sigmoid", "precomputed")
MARKS = 10  # of the decisions of a one-class model, from which LIBSVM derives a probability
WORDS = (
    "svm_type", "kernel_type", "degree", "gamma", "coef0", "nr_class", "total_sv", "rho", "label", "probA", "probB",
    "prob_density_marks", "nr_sv",
)  # fmt: skip


def read(path: Path, stream: IO[bytes], n_features: int | None) -> SVMModel:
    """Read a model that LIBSVM's `svm_save_model` wrote, of any type and kernel.

    Parameters
    ----------
    path : Path
        The file, for messages.
    stream : binary file
        Its content.
    n_features : int or None
        The number of columns, at least; None takes the largest index of a vector, which is the last column that is not
        0 in all of them.

    Returns
    -------
    SVMModel
        Its decisions are LIBSVM's, with the classes in sorted order. `probA` and `probB` become its calibration.

    Raises
    ------
    InputError
        The file is no such model, or it is damaged.
    """
    header = Header(path, stream, WORDS, "SV")
    about: dict[str, Any]
    svm_type = header.word("svm_type", SVM_TYPES)
    kernel = _kernel(header)
    n_sv = header.whole_number("total_sv", 1)
    is_classifier = svm_type in CLASSIFIERS
    k = header.whole_number("nr_class", 1)
    if k != 2 and not is_classifier:
        header.refuse(f"nr_class of a {svm_type} model is 2, not {k:,}", "nr_class")
    if k < 2:
        header.refuse("a model of one class decides nothing: train it on data of two classes or more", "nr_class")
    labels = n_support = None
    if is_classifier:
        labels = header.whole_numbers("label", k, -(2**53))
        if len(np.unique(labels)) < k:
            header.refuse("two classes have the same label", "label")
        n_support = header.whole_numbers("nr_sv", k, 0)
        if sum(n_support.tolist()) != n_sv:
            header.refuse(f"nr_sv adds up to {sum(n_support.tolist()):,}, but total_sv is {n_sv:,}", "nr_sv")
    rho = header.numbers("rho", k * (k - 1) // 2)
    numbers, indices, data, indptr = read_rows(header, stream, n_sv, k - 1, features=True)
    if isinstance(kernel, Precomputed):
        vectors = _serial_numbers(header, indices, data, indptr)
        width = max(int(vectors.max()) + 1, n_features or 1)
    else:
        vectors = feature_rows(indices, data, indptr, n_features)
        width = vectors.shape[1]
    parts: dict[str, Any] = {"kernel": kernel, "n_features": width, "vectors": vectors}
    parts["about"] = about = {"imported_from": "LIBSVM", "svm_type": svm_type}
    if svm_type in REGRESSION and "probA" in header:
        about["laplace_scale"] = header.number("probA")
    if svm_type == "one_class" and "prob_density_marks" in header:
        about["prob_density_marks"] = header.numbers("prob_density_marks", MARKS).tolist()
    if labels is not None and n_support is not None:
        found = sort_classes(labels, n_support, numbers.T)
        intercept = 0.0 - found.signs * rho[found.columns]
        parts |= {"classes": found.classes, "vectors": vectors[found.rows], "n_support": found.n_support}
        if "probA" in header or "probB" in header:  # our decision is -h, whose positive side has -B for B
            A, B = (header.numbers(word, len(rho))[found.columns] for word in ("probA", "probB"))
            parts["calibration"] = calibration.Sigmoid(A, found.signs * B)
        return SVMModel(**parts, coef=found.coef, intercept=intercept)
    parts |= {"coef": np.ascontiguousarray(numbers.T), "intercept": 0.0 - rho}
    return SVMModel(**parts, **(outlier_parts if svm_type == "one_class" else regression_parts)(n_sv))


def _kernel(header: Header) -> Kernel:
    kind = header.word("kernel_type", KERNEL_TYPES)
    if kind == "linear":
        return Linear()
    if kind == "precomputed":
        return Precomputed()
    gamma = header.number("gamma")
    try:
        if kind == "rbf":
            return RBF(gamma)
        coef0 = header.number("coef0")
        return Sigmoid(gamma, coef0) if kind == "sigmoid" else Poly(gamma, header.number("degree"), coef0)  # type: ignore[arg-type]
    except InputError as error:
        if str(error).startswith(f"{header.path}:"):
            raise
        header.refuse(str(error), "degree" if "degree" in str(error) else "gamma")


def _serial_numbers(header: Header, indices: np.ndarray, data: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """Return the rows of the kernel matrix, counted from 0, of vectors that are given as `0:serial number`."""
    first = header.line - len(indptr) + 2
    single = np.diff(indptr) == 1
    if not single.all():
        header.refuse("a vector of a precomputed kernel is 0:NUMBER", first + int(np.argmin(single)))
    sound = (indices == 0) & (data >= 1) & (data <= LARGEST_INDEX) & (data % 1 == 0)
    if not sound.all():
        at = int(np.argmin(sound))
        header.refuse("a vector of a precomputed kernel is 0:NUMBER, the number of its row, from 1", first + at)
    return data.astype(np.int64) - 1
