"""The interface of models that explaining requires."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from svmkit.data.prepare.features import is_sparse
from svmkit.data.prepare.preprocessing import Preprocessing
from svmkit.errors import InputError
from svmkit.kernels.functions import Kernel
from svmkit.tasks import task_named


class Decisions(Protocol):
    """The explained functions: one, or one for each class or output. `svmkit.model.machines` has them."""

    @property
    def coefficients(self) -> np.ndarray:
        """The coefficient of each vector in each decision, float64 (n_sv, n_decisions)."""

    @property
    def class_coefficients(self) -> np.ndarray:
        """The coefficient of each vector in each function, float64 (n_sv, n_functions)."""

    @property
    def class_weights(self) -> np.ndarray:
        """The weights of the columns in each function, float64 (n_functions, width), for the linear kernel."""

    def class_decisions(self, decision: np.ndarray) -> np.ndarray:
        """Return the functions (n_samples, n_functions) from the decisions (n_samples, n_decisions)."""


class Subject(Protocol):
    """A model: the attributes and methods of `svmkit.SVMModel` that are used here."""

    @property
    def kernel(self) -> Kernel: ...
    @property
    def classes(self) -> np.ndarray: ...
    @property
    def vectors(self) -> Any: ...
    @property
    def n_support(self) -> np.ndarray: ...
    @property
    def intercept(self) -> np.ndarray: ...
    @property
    def n_features(self) -> int: ...
    @property
    def preprocessing(self) -> Preprocessing: ...
    @property
    def task(self) -> str: ...
    @property
    def calibration(self) -> Any: ...
    @property
    def outputs(self) -> tuple[str, ...]: ...
    @property
    def regresses(self) -> bool: ...
    @property
    def finds_outliers(self) -> bool: ...
    @property
    def machine(self) -> Decisions: ...
    @property
    def holds_weights(self) -> bool: ...
    def as_rows(self, X: Any) -> Any:
        """Return rows, or a table with the columns of the model, as features before preprocessing."""

    def as_truth(self, y: Any, n_samples: int) -> np.ndarray:
        """Return the labels or targets of rows as an array without missing values."""

    def decision_function(self, X: Any, *, n_threads: int | None = None) -> np.ndarray:
        """Return the decisions."""

    def labels(self, decision: np.ndarray) -> np.ndarray:
        """Return the labels of decisions, or quantities."""

    def predict(self, X: Any, *, n_threads: int | None = None) -> np.ndarray:
        """Return labels or quantities."""


def function_names(model: Subject) -> tuple[str, ...]:
    """Return the names of the explained functions: of outputs or classes, or of the class of positive decisions."""
    if model.outputs:
        return model.outputs
    if model.finds_outliers:
        return ("inlier",)
    if not task_named(model.task).has_classes:
        return ("prediction",)
    return tuple(map(str, model.classes[1:] if len(model.classes) == 2 else model.classes))


def decide(model: Subject, X: Any, n_threads: int | None = None) -> np.ndarray:
    """Return the explained functions at each row of X, float64 (n_samples, n_functions)."""
    decision = model.decision_function(X, n_threads=n_threads)
    return model.machine.class_decisions(decision.reshape(len(decision), -1))


def require_columns(model: Subject) -> None:
    """Raise InputError for a model whose kernel has no columns."""
    if model.kernel.name == "precomputed":
        raise InputError(
            "a model with a precomputed kernel sees kernel values and no columns: nothing can be said of columns; "
            "train it on the columns (rbf, laplacian, linear, poly)"
        )


def store_alike(*parts: Any) -> list[Any]:
    """Return matrices in one storage, dense or CSR, that of the last one."""
    if is_sparse(parts[-1]):
        return [part if is_sparse(part) else sp.csr_array(part) for part in parts]
    return [part.toarray() if is_sparse(part) else part for part in parts]


def has_vectors(model: Subject) -> bool:
    """Whether the vectors of a model are training rows, rather than the weights of a linear model."""
    return model.vectors.ndim == 2 and not model.holds_weights
