"""LIBSVM's text model, read into an `SVMModel` and written for svm-predict and other readers of its models."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from svmkit.data.formats.layout import csr, densify
from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Kernel, Linear, Poly, Precomputed, Sigmoid
from svmkit.model import calibration
from svmkit.model.exchange.plain import (
    folds,
    require_numbers,
    svm_scale_lines,
    type_of,
    untrained_notes,
    whole_labels,
    without_scaling,
)
from svmkit.model.exchange.text import LARGEST_INDEX, Header, Written, encode, read_rows, texts
from svmkit.model.layout import outlier_parts, regression_parts, sort_classes
from svmkit.model.model import SVMModel
from svmkit.model.one_vs_one import class_slices
from svmkit.runtime import files

CLASSIFIERS, SVR_TYPES = ("c_svc", "nu_svc"), ("epsilon_svr", "nu_svr")
SVM_TYPES = (*CLASSIFIERS, "one_class", *SVR_TYPES)
KERNEL_TYPES = ("linear", "polynomial", "rbf", "sigmoid", "precomputed")
MARKS = 10  # of the decisions of a one-class model, from which LIBSVM derives a probability
WORDS = (
    "svm_type", "kernel_type", "degree", "gamma", "coef0", "nr_class", "total_sv", "rho", "label", "probA", "probB",
    "prob_density_marks", "nr_sv",
)  # fmt: skip


def read(path: Path, stream: IO[bytes], n_features: int | None) -> SVMModel:
    """Read a model that LIBSVM's `svm_save_model` wrote, of any type and kernel; `path` is for messages.

    Its decisions are LIBSVM's, with the classes in sorted order. `probA` and `probB` become its calibration. There are
    at least `n_features` columns; None takes the largest index in a vector, that is, the last column that is not 0 in
    all of them. Raises InputError: the file is no such model, or it is damaged.
    """
    header = Header(path, stream, WORDS, "SV")
    about: dict[str, Any]
    svm_type = header.word("svm_type", SVM_TYPES)
    kernel = _kernel(header)
    n_sv = header.whole_number("total_sv", 1)
    is_classifier = svm_type in CLASSIFIERS
    k = header.class_count(svm_type, is_classifier)
    labels = n_support = None
    if is_classifier:
        labels = header.labels(k)
        n_support = header.whole_numbers("nr_sv", k, 0)
        if sum(n_support.tolist()) != n_sv:
            header.refuse(f"nr_sv adds up to {sum(n_support.tolist()):,}, but total_sv is {n_sv:,}", "nr_sv")
    rho = header.numbers("rho", k * (k - 1) // 2)
    numbers, indices, data, indptr = read_rows(header, stream, n_sv, k - 1, features=True)
    if isinstance(kernel, Precomputed):
        vectors = _serial_numbers(header, indices, data, indptr)
        width = max(int(vectors.max()) + 1, n_features or 1)
    else:
        first = int(indices.min(initial=1) > 0)  # indices count from 1, or from 0 if a 0 occurs
        width = max(int(indices.max(initial=0)) + 1 - first, n_features or 1)
        vectors = densify(csr(data, indices - first, indptr, (n_sv, width)))
    parts: dict[str, Any] = {"kernel": kernel, "n_features": width, "vectors": vectors}
    parts["about"] = about = {"imported_from": "LIBSVM", "svm_type": svm_type}
    if svm_type in SVR_TYPES and "probA" in header:
        about["laplace_scale"] = header.number("probA")
    if svm_type == "one_class" and "prob_density_marks" in header:
        about["prob_density_marks"] = header.numbers("prob_density_marks", MARKS).tolist()
    if labels is not None and n_support is not None:
        found = sort_classes(labels, n_support, numbers.T)
        intercept = 0.0 - found.signs * rho[found.columns]
        parts |= {"classes": found.classes, "vectors": vectors[found.rows], "n_support": found.n_support}
        if "probA" in header or "probB" in header:  # our decision is -h, whose positive side has -B instead of B
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


_KINDS: dict[type[Kernel], str] = {
    Linear: "linear", Poly: "polynomial", RBF: "rbf", Sigmoid: "sigmoid", Precomputed: "precomputed",
}  # fmt: skip


def write(model: SVMModel, path: str | os.PathLike) -> Written:
    """Write a model with one of LIBSVM's kernels as LIBSVM's text, atomically.

    Decisions are those of the model, in the same order. Labels that are not 32-bit integers become the number of their
    class. Scaling goes into the vectors if the kernel allows it, else into PATH.range next to the model, for LIBSVM's
    `svm-scale -r`. Raises InputError: LIBSVM has no such kernel, the model prepares its columns in a way that the text
    cannot hold, or the file cannot be written.
    """
    require_numbers(model, "LIBSVM")
    if type(model.kernel) not in _KINDS:
        raise InputError(
            f"LIBSVM has no kernel {model.kernel.name!r}: it has {', '.join(_KINDS.values())}; save the model as it is"
        )
    if model.has_class_scores:
        raise InputError(
            "LIBSVM's models of more than two classes are one-versus-one, and this one has a decision for each class: "
            f"use {'--liblinear' if model.kernel.name == 'linear' else '--onnx'}"
        )
    svm_type = type_of(model, "svm_type", CLASSIFIERS, SVR_TYPES, ("one_class",))
    scales = untrained_notes(model, "LIBSVM gives their votes to the second class")
    plain = without_scaling(model) if folds(model) else model
    if plain.scaling is not None:
        ranges = f"{os.fspath(path)}.range"
        files.write_parts(ranges, encode(svm_scale_lines(plain.scaling)))
        scales += [
            f"the model scales its columns ({plain.scaling.kind}): svm-scale -r {ranges} DATA does so for LIBSVM"
        ]
    lines, notes = _header(plain, svm_type)
    n_bytes = files.write_parts(path, encode(lines, _rows(plain, svm_type)))
    return Written(svm_type, n_bytes, scales + notes)


def _header(model: SVMModel, svm_type: str) -> tuple[list[str], list[str]]:
    kernel, notes = model.kernel, []
    lines = [f"svm_type {svm_type}", f"kernel_type {_KINDS[type(kernel)]}"]
    lines += [f"degree {kernel.params['degree']}"] if "degree" in kernel.params else []
    lines += [f"{name} {texts([kernel.params[name]])}" for name in ("gamma", "coef0") if name in kernel.params]
    is_classifier = svm_type in CLASSIFIERS
    lines += [f"nr_class {len(model.classes) if is_classifier else 2}", f"total_sv {model.coef.shape[1]}"]
    lines += ["rho " + texts(0.0 - model.intercept)]
    if is_classifier:
        labels, note = whole_labels(model.classes, "LIBSVM")
        notes += [note] if note else []
        order = slice(None, None, -1 if len(labels) == 2 else 1)  # a positive decision means LIBSVM's first class
        lines += ["label " + " ".join(map(str, labels[order]))]
        if isinstance(model.calibration, calibration.Sigmoid):
            lines += [f"prob{name} {texts(getattr(model.calibration, name))}" for name in "AB"]
        elif model.calibration is not None:
            notes += [f"LIBSVM's probabilities are sigmoids: the {model.calibration.kind} calibration is left out"]
        lines += ["nr_sv " + " ".join(map(str, model.n_support.tolist()[order]))]
    if svm_type in SVR_TYPES:
        lines += _number_line(model, "laplace_scale", "probA", 1)
    elif not is_classifier:
        lines += _number_line(model, "prob_density_marks", "prob_density_marks", MARKS)
    return [*lines, "SV"], notes


def _number_line(model: SVMModel, key: str, word: str, count: int) -> list[str]:
    """Return the line of numbers that the model was imported with; its file may be untrusted."""
    imported = model.about.get(key)
    values = imported if isinstance(imported, list) else [imported]
    sound = len(values) == count and all(isinstance(value, float) and math.isfinite(value) for value in values)
    return [f"{word} {texts(values)}"] if sound else []


def _rows(model: SVMModel, svm_type: str) -> Iterator[str]:
    """Yield the line of each vector: its coefficients and its features, counted from 1."""
    slices = class_slices(model.n_support)
    turned = len(slices) == 2 and svm_type in CLASSIFIERS
    vectors, is_sparse = model.vectors, sp.issparse(model.vectors)
    for at in reversed(slices) if turned else slices:
        for i in range(at.start, at.stop):
            if isinstance(model.kernel, Precomputed):
                features = f"0:{int(vectors[i]) + 1}"
            elif is_sparse:
                stored = slice(vectors.indptr[i], vectors.indptr[i + 1])
                features = _pairs(vectors.indices[stored], vectors.data[stored])
            else:
                features = _pairs(np.flatnonzero(vectors[i]), vectors[i][vectors[i] != 0.0])
            yield f"{texts(model.coef[:, i])} {features}"


def _pairs(indices: np.ndarray, values: np.ndarray) -> str:
    return " ".join(
        f"{j + 1}:{value!r}" for j, value in zip(indices.tolist(), values.astype(np.float64).tolist(), strict=True)
    )
