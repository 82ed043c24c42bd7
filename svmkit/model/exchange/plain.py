"""Parts of models that a text model cannot hold: columns of a table, imputing, scaling, labels other than integers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from svmkit.data.prepare.preprocessing import Preprocessing
from svmkit.data.prepare.scaling import Scaling
from svmkit.errors import InputError
from svmkit.kernels.functions import Linear, Poly, Sigmoid
from svmkit.model.model import SVMModel

NAMED = 5  # most labels in a message


def require_numbers(model: SVMModel, software: str) -> None:
    """Raise InputError unless X of the model is numbers without holes, which is all that a text model supports."""
    if model.outputs:
        raise InputError(f"models of {software} have one output, and this one has {len(model.outputs)}: use --onnx")
    encoding = model.encoding
    if encoding is not None and any(categories is not None for categories in encoding.categories):
        what = "encodes columns of text"
    elif model.imputing is not None:
        what = "fills holes"
    else:
        return
    raise InputError(
        f"the model {what}, which a text model of {software} cannot hold: export it with --onnx, or prepare the "
        "columns before training"
    )


def folds(model: SVMModel) -> bool:
    """Whether the scaling of a model, if any, can move into its vectors and intercept."""
    dots = isinstance(model.kernel, Poly | Sigmoid)
    return model.scaling is None or isinstance(model.kernel, Linear) or (dots and not model.scaling.moves_zeros)


def without_scaling(model: SVMModel) -> SVMModel:
    """Return a model that `folds` without its scaling, which moves into vectors and intercept. For the linear kernel,
    k((x - center) / scale, z) is x'(z / scale) less a constant, which the intercept absorbs; for the other kernels of
    x'z, this holds if center is 0.
    """
    scaling = model.scaling
    if scaling is None:
        return model
    factors = sp.diags_array(1.0 / scaling.scale)
    vectors = model.vectors @ factors if sp.issparse(model.vectors) else model.vectors / scaling.scale
    plain = replace(model, vectors=vectors, preprocessing=Preprocessing())
    if not scaling.moves_zeros:
        return plain
    shift = plain.decision_function(scaling.center[None, :]) - model.intercept
    return replace(plain, intercept=model.intercept - np.reshape(shift, model.intercept.shape))


def svm_scale_lines(scaling: Scaling) -> list[str]:
    """Return a scaling as the text that LIBSVM's `svm-scale -r` restores: center and center + scale become 0 and 1."""
    ends = np.column_stack([scaling.center, scaling.center + scaling.scale]).tolist()
    return ["x", "0 1", *(f"{j} {low!r} {high!r}" for j, (low, high) in enumerate(ends, start=1))]


def untrained_notes(model: SVMModel, instead: str) -> list[str]:
    """Return a note on decisions that were not trained, which our votes leave out, and what happens instead."""
    n = len(model.intercept) - len(model.trained_pairs)
    what = "classes" if model.has_class_scores else "class pairs"
    return [f"{n:,} {what} were not trained: {instead}"] if n else []


def whole_labels(classes: np.ndarray, software: str) -> tuple[list[int], str | None]:
    """Return a 32-bit integer for each class, and a line that says which if they are not the labels themselves."""
    values: list[Any] = classes.tolist()
    if classes.dtype.kind in "biuf" and all(value % 1 == 0 and abs(value) < 2**31 for value in values):
        return [int(value) for value in values], None
    named = ", ".join(f"{code} = {value!r}" for code, value in enumerate(values[:NAMED]))
    more = "" if len(values) <= NAMED else f" and {len(values) - NAMED:,} more"
    return list(range(len(values))), f"labels of {software} are whole numbers: {named}{more}, in sorted order"


def type_of(
    model: SVMModel, key: str, classifiers: tuple[str, ...], regressors: tuple[str, ...], detectors: tuple[str, ...]
) -> str:
    """Return the type that the model was imported with, or the first one of its task.

    Parameters
    ----------
    model : SVMModel
    key : str, by which `about` has the type of an imported model
    classifiers, regressors, detectors : tuple of str, the types of each task
    """
    fitting = regressors if model.regresses else detectors if model.finds_outliers else classifiers
    imported = model.about.get(key)
    return str(imported) if imported in fitting else fitting[0]
