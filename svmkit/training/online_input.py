"""What can learn from a stream, and the form that its samples and labels are brought into."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from svmkit import plugins
from svmkit.data.features import pad_or_refuse_columns, require_finite
from svmkit.data.labels import as_labels
from svmkit.data.scaling import Scaling
from svmkit.errors import InputError
from svmkit.kernels.functions import Kernel, Precomputed
from svmkit.model.model import SVMModel
from svmkit.solver import by_name
from svmkit.solver.base import Solver
from svmkit.solver.capabilities import LearnsFromStreams, LimitsSupport


def streaming_solver(solver: str | Solver) -> LearnsFromStreams:
    """`solver`, built when it is a name; InputError naming those that learn from streams when it does not."""
    solver = by_name.solver(solver)
    if not isinstance(solver, LearnsFromStreams):
        able = plugins.solvers_where(lambda solver: issubclass(solver, LearnsFromStreams))
        raise InputError(f"solver {solver.name} does not learn from streams; these do: {', '.join(able) or 'none'}")
    return solver


def require_streamable(
    solver: Solver, kernel: Kernel, class_weight: str | dict | None = None, max_support: int | None = None
) -> None:
    """InputError for what needs more of the data than the samples that have arrived."""
    if isinstance(kernel, Precomputed):
        raise InputError("a precomputed kernel belongs to one training set: choose another one to learn from a stream")
    solver.check_kernel(kernel)
    if isinstance(class_weight, str):
        raise InputError(f"class_weight={class_weight!r} needs all labels: give a weight for each label to a stream")
    if max_support is not None and not isinstance(solver, LimitsSupport):
        raise InputError(f"solver {solver.name} keeps to no budget of support vectors: leave max_support out")
    if max_support is not None and not max_support > 0:
        raise InputError(f"max_support must be > 0, not {max_support}")


def codes_among(classes: np.ndarray, y: Any, n_samples: int) -> np.ndarray:
    """Which of the classes each label is, (n_samples,); InputError for labels that are none of them."""
    labels = as_labels(y, n_samples=n_samples)
    at = np.zeros(len(labels), dtype=np.int64)
    if (labels.dtype.kind in "SU") == (classes.dtype.kind in "SU"):
        at = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    strange = np.flatnonzero(classes[at] != labels)
    if len(strange):
        raise InputError(
            f"y holds {labels[strange[0]]!s} at row {strange[0] + 1} (counted from 1), which is not among the "
            f"classes announced: {', '.join(map(str, classes[:10]))}{', ...' * (len(classes) > 10)}"
        )
    return at


class StreamInput:
    """What the first block settles for all: gamma, scaling, dense or CSR. Columns may grow.

    kernel : as given, resolved from the first block on; scale : kind of scaling, or None
    start : model that has settled all of it already, or None
    """

    def __init__(self, kernel: Kernel, scale: str | None, start: SVMModel | None) -> None:
        self.kernel, self._scale = kernel, None if scale == "none" else scale
        self.scaling: Scaling | None = None
        self.n_features, self._sparse, self._settled = 0, False, start is not None
        if start is not None:
            self.kernel, self.scaling, self.n_features = start.kernel, start.scaling, start.n_features
            self._sparse = sp.issparse(start.vectors)

    def take(self, X: Any) -> tuple[Any, Any]:
        """(X, scaled X) as wide as any block so far; InputError when scaling overflows, or does not do for X."""
        if not self._settled:
            self.scaling = Scaling.fit(self._scale, X) if self._scale else None
            self.kernel = self.kernel.resolve(self.scaling.apply(X) if self.scaling else X)
            self._sparse, self._settled = sp.issparse(X), True
        self.widen(X.shape[1])
        X = pad_or_refuse_columns(X, self.n_features, pad=True)
        if sp.issparse(X) != self._sparse:
            X = sp.csr_array(X) if self._sparse else X.toarray()
        scaled = self.scaling.apply(X) if self.scaling else X
        require_finite(scaled, what="the scaled X")
        return X, scaled

    def widen(self, n_features: int) -> None:
        """From now on at least as many columns, those that are new with zeros in all samples before."""
        more = max(0, n_features - self.n_features)
        self.n_features += more
        if self.scaling and more:
            missing = n_features - len(self.scaling.scale)
            scale = np.pad(self.scaling.scale, (0, missing), constant_values=1.0)
            self.scaling = replace(self.scaling, center=np.pad(self.scaling.center, (0, missing)), scale=scale)

    def no_rows(self) -> Any:
        """A matrix of no samples."""
        empty = np.empty((0, self.n_features))
        return sp.csr_array(empty) if self._sparse else empty
