"""Fitted SVMs of scikit-learn as the parts of an `SVMModel`: their arrays, without retraining."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from svmkit.data.prepare.preprocessing import Preprocessing
from svmkit.data.prepare.scaling import Scaling
from svmkit.errors import InputError, one_line
from svmkit.kernels.functions import RBF, Kernel, Linear, Poly, Precomputed, Sigmoid
from svmkit.model import calibration
from svmkit.model.layout import linear_machine, outlier_parts, regression_parts, store_weights

KERNEL_MACHINES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")
LINEAR_MACHINES = ("LinearSVC", "LinearSVR")
SCALERS = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler")


def from_sklearn(estimator: Any) -> dict[str, Any]:
    """Return the attributes of the model of a fitted estimator of scikit-learn by name; see `SVMModel.from_sklearn`."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    machine, scaler = _steps(estimator)
    for step in (machine, scaler):
        try:
            if step is not None:
                check_is_fitted(step)
        except NotFittedError as error:
            raise InputError(f"{type(step).__name__} is not fitted: call fit first") from error
    kind = _kind(machine)
    parts = kernel_parts(machine, kind) if kind in KERNEL_MACHINES else weight_parts(machine)
    parts["about"] = {"imported_from": "scikit-learn", "estimator": kind} | {
        name: float(value) for name, value in machine.get_params(deep=False).items() if name in ("C", "nu", "epsilon")
    }
    if scaler is not None:
        parts["preprocessing"] = Preprocessing(scaling=_scaling(scaler))
    return {**parts, "n_features": int(machine.n_features_in_)}


def _kind(step: Any) -> str:
    """Return the name of the supported scikit-learn class of a step, subclasses included; "" if it is not supported."""
    known = (*KERNEL_MACHINES, *LINEAR_MACHINES, *SCALERS)
    for base in type(step).__mro__:
        if base.__module__.partition(".")[0] == "sklearn" and base.__name__ in known:
            return base.__name__
    return ""


def _steps(estimator: Any) -> tuple[Any, Any]:
    """Return the machine of an estimator or of a pipeline, and the scaler before it or None."""
    from sklearn.pipeline import Pipeline

    steps = [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
    scalers = [step for step in steps[:-1] if step is not None and step != "passthrough"]
    if _kind(steps[-1]) not in (*KERNEL_MACHINES, *LINEAR_MACHINES):
        raise InputError(
            f"cannot take a {type(steps[-1]).__name__} over: give a fitted "
            f"{', '.join((*KERNEL_MACHINES, *LINEAR_MACHINES))} of scikit-learn, or a Pipeline that ends with one"
            + ("; this estimator has its model in model_" if hasattr(estimator, "model_") else "")
        )
    if len(scalers) > 1 or any(_kind(step) not in SCALERS for step in scalers):
        names = ", ".join(type(step).__name__ for step in scalers)
        raise InputError(f"in front of it the pipeline may have one of {', '.join(SCALERS)}, not {names}")
    return steps[-1], scalers[0] if scalers else None


def read_scaling(estimator: Any) -> Scaling | None:
    """Return the steps of a fitted pipeline before its last one as a scaling; None if they do more."""
    scalers = [step for _, step in estimator.steps[:-1] if step is not None and step != "passthrough"]
    if len(scalers) != 1 or _kind(scalers[0]) not in SCALERS:
        return None
    try:
        return _scaling(scalers[0])
    except InputError:  # one that clips
        return None


def kernel_parts(machine: Any, kind: str) -> dict[str, Any]:
    """Return the parts of a machine of LIBSVM, whose layout and signs in scikit-learn are ours; `kind` is the class."""
    kernel, coef = _kernel(machine), machine.dual_coef_
    coef = coef.toarray() if sp.issparse(coef) else np.asarray(coef)
    parts = {
        "kernel": kernel,
        "vectors": machine.support_.astype(np.int64) if isinstance(kernel, Precomputed) else machine.support_vectors_,
        "coef": np.ascontiguousarray(coef, dtype=np.float64),
        "intercept": np.array(machine.intercept_, dtype=np.float64),
    }
    if sp.issparse(parts["vectors"]):
        parts["vectors"] = sp.csr_array(parts["vectors"])
    if not hasattr(machine, "classes_"):
        return parts | (outlier_parts if kind == "OneClassSVM" else regression_parts)(coef.shape[1])
    if len(machine._probA):  # for LIBSVM's decisions, whose sign scikit-learn changes if there are two classes
        sign = -1.0 if len(machine.classes_) == 2 else 1.0
        parts["calibration"] = calibration.Sigmoid(np.array(machine._probA), sign * machine._probB)
    return parts | {"classes": _labels(machine.classes_), "n_support": machine.n_support_.astype(np.int64)}


def weight_parts(machine: Any) -> dict[str, Any]:
    """Return the parts of a machine of LIBLINEAR, which has a weight for each column."""
    w = np.atleast_2d(np.asarray(machine.coef_, dtype=np.float64))
    intercept = np.broadcast_to(np.asarray(machine.intercept_, dtype=np.float64), (len(w),)).copy()
    parts = {"kernel": Linear(), "vectors": store_weights(w), "intercept": intercept}
    if not hasattr(machine, "classes_"):
        return parts | regression_parts(1) | {"coef": np.ones((1, 1))}
    mode = "ovr" if machine.multi_class == "ovr" else "crammer_singer"
    return parts | linear_machine(_labels(machine.classes_), w, intercept, mode)


def _kernel(machine: Any) -> Kernel:
    """Return the kernel with the numbers that it was fitted with."""
    name = machine.kernel
    if callable(name):
        raise InputError(
            "a callable kernel cannot be taken over: a model keeps the name of its kernel (docs/plugin_tutorial.md "
            "says how to register one)"
        )
    gamma = float(getattr(machine, "_gamma", 0.0))
    try:
        return {
            "linear": Linear,
            "precomputed": Precomputed,
            "rbf": lambda: RBF(gamma),
            "poly": lambda: Poly(gamma, machine.degree, float(machine.coef0)),
            "sigmoid": lambda: Sigmoid(gamma, float(machine.coef0)),
        }[name]()
    except InputError as error:
        raise InputError(f"the kernel of this {type(machine).__name__}: {one_line(error)}") from None


def _labels(classes: np.ndarray) -> np.ndarray:
    """Return labels as numbers or text, as an array that a model file can hold."""
    if classes.dtype.kind in "biufUS" or all(isinstance(label, str) for label in classes):
        return np.array(classes)
    return np.array([str(label) for label in classes])


def _scaling(scaler: Any) -> Scaling:
    """Return a fitted scaler as (x - center) / scale."""
    kind, n = _kind(scaler), int(scaler.n_features_in_)
    if getattr(scaler, "clip", False):
        raise InputError(f"{kind}(clip=True) cannot be taken over: our scaling does not clip")
    if kind == "StandardScaler":
        center, scale = getattr(scaler, "mean_", None), scaler.scale_
        center = np.zeros(n) if center is None or not scaler.with_mean else center
        return Scaling("standard", center, np.ones(n) if scale is None else scale)
    if kind == "MinMaxScaler":
        return Scaling("minmax", 0.0 - scaler.min_ / scaler.scale_, 1.0 / scaler.scale_)
    return Scaling("maxabs", np.zeros(n), np.array(scaler.scale_, dtype=np.float64))
