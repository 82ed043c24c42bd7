"""A model as LIBSVM's text, for svm-predict, its Python package and all that reads its models."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Kernel, Linear, Poly, Precomputed, Sigmoid
from svmkit.model import calibration
from svmkit.model.exchange.libsvm_text import CLASSIFIERS, MARKS, REGRESSION
from svmkit.model.exchange.plain import (
    folds,
    require_numbers,
    svm_scale_lines,
    untrained_notes,
    whole_labels,
    without_scaling,
)
from svmkit.model.model import SVMModel
from svmkit.model.one_vs_one import class_slices
from svmkit.runtime import files

_KINDS: dict[type[Kernel], str] = {
    Linear: "linear", Poly: "polynomial", RBF: "rbf", Sigmoid: "sigmoid", Precomputed: "precomputed",
}  # fmt: skip


class Written(NamedTuple):
    """A text model that was written.

    Attributes
    ----------
    kind : str
        LIBSVM's svm_type, or LIBLINEAR's solver_type.
    n_bytes : int
        The size of the file.
    notes : list of str
        What its user has to know, a line each.
    """

    kind: str
    n_bytes: int
    notes: list[str]


def write(model: SVMModel, path: str | os.PathLike) -> Written:
    """Write a model as LIBSVM's text, atomically.

    Decisions are those of the model, in the same order. Labels that are no whole numbers of 32 bits become the number
    of their class. Scaling goes into the vectors where the kernel allows it, else beside the model into PATH.range, for
    LIBSVM's `svm-scale -r`.

    Parameters
    ----------
    model : SVMModel
        A model with one of LIBSVM's kernels.
    path : str or path-like
        The file; an existing file is replaced.

    Raises
    ------
    InputError
        LIBSVM has no such kernel, the model prepares its columns in a way that the text cannot hold, or the file
        cannot be written.
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
    svm_type, scales = _svm_type(model), untrained_notes(model, "LIBSVM gives their votes to the second class")
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


def _svm_type(model: SVMModel) -> str:
    """Return the type that the model was imported with, or the first one of its task."""
    told = model.about.get("svm_type")
    fitting: tuple[str, ...] = CLASSIFIERS
    if model.regresses:
        fitting = REGRESSION
    elif model.finds_outliers:
        fitting = ("one_class",)
    return str(told) if told in fitting else fitting[0]


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
        order = slice(None, None, -1 if len(labels) == 2 else 1)  # a positive decision speaks for LIBSVM's first class
        lines += ["label " + " ".join(map(str, labels[order]))]
        if isinstance(model.calibration, calibration.Sigmoid):
            lines += [f"prob{name} {texts(getattr(model.calibration, name))}" for name in "AB"]
        elif model.calibration is not None:
            notes += [f"LIBSVM's probabilities are sigmoids: the {model.calibration.kind} calibration is left out"]
        lines += ["nr_sv " + " ".join(map(str, model.n_support.tolist()[order]))]
    if svm_type in REGRESSION:
        lines += _number_line(model, "laplace_scale", "probA", 1)
    elif not is_classifier:
        lines += _number_line(model, "prob_density_marks", "prob_density_marks", MARKS)
    return [*lines, "SV"], notes


def _number_line(model: SVMModel, key: str, word: str, count: int) -> list[str]:
    """Return the line of numbers that the model was imported with; its file may come from anybody."""
    told = model.about.get(key)
    values = told if isinstance(told, list) else [told]
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


def texts(values: Any) -> str:
    """Return numbers as text that gives the same float64 again."""
    return " ".join(map(repr, np.asarray(values, dtype=np.float64).tolist()))


def encode(*parts: Iterable[str]) -> Iterator[bytes]:
    """Yield lines as bytes, each with its line break."""
    for lines in parts:
        for line in lines:
            yield f"{line}\n".encode()
