"""The solvers and options that can learn from a stream, and the form into which its samples and labels are brought."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from svmkit import plugins
from svmkit.data.prepare.features import Features, pad_or_refuse_columns, require_finite
from svmkit.data.prepare.labels import as_labels
from svmkit.data.prepare.preprocessing import Preprocessing
from svmkit.data.prepare.scaling import Scaling
from svmkit.errors import InputError
from svmkit.kernels.functions import Kernel, Linear, Precomputed
from svmkit.model.model import SVMModel
from svmkit.problems.base import FREE
from svmkit.solver.base import Solver
from svmkit.solver.capabilities import LearnsFromStreams, LimitsSupport
from svmkit.solver.selection import by_name
from svmkit.training.settings import Method


def streaming_solver(solver: str | Solver, *, regresses: bool = False) -> LearnsFromStreams:
    """Return a solver, built if it is a name, that learns from streams, of targets if it `regresses`.

    Raises InputError, which lists the solvers that can, for any other solver.
    """

    def able(kind: Any) -> bool:
        return issubclass(kind, LearnsFromStreams) and not (regresses and kind.regression_for(Linear()) is None)

    solver = by_name.solver(solver)
    if not isinstance(solver, LearnsFromStreams) or not able(type(solver)):
        what = "streams of quantities" if regresses else "streams"
        known = ", ".join(plugins.solvers_where(able)) or "none"
        raise InputError(f"solver {solver.name} does not learn from {what}; these do: {known}")
    return solver


def require_streamable(method: Method, max_support: int | None = None) -> None:
    """Raise InputError for options that need more data than the samples that have arrived."""
    solver, class_weight = method.solver, method.settings.class_weight
    if isinstance(method.kernel, Precomputed):
        raise InputError("a precomputed kernel belongs to one training set: choose another one to learn from a stream")
    solver.check_kernel(method.kernel)
    method.require_one_output("a stream")
    if getattr(solver, "bias", None) == FREE:
        raise InputError("a free bias needs all samples: give bias a number to a stream")
    if isinstance(class_weight, str):
        raise InputError(f"class_weight={class_weight!r} needs all labels: give a weight for each label to a stream")
    if max_support is not None and not isinstance(solver, LimitsSupport):
        raise InputError(f"solver {solver.name} keeps to no budget of support vectors: leave max_support out")
    if max_support is not None and not max_support > 0:
        raise InputError(f"max_support must be > 0, not {max_support}")


def codes_among(classes: np.ndarray, y: Any, n_samples: int) -> np.ndarray:
    """Return the codes (n_samples,) of labels among the announced classes; raise InputError for any other label."""
    labels = as_labels(y, n_samples=n_samples)
    at = np.zeros(len(labels), dtype=np.int64)
    if labels.dtype.kind == "U" and classes.dtype.kind == "O":
        classes = classes.astype(np.str_)
    if (labels.dtype.kind in "SU") == (classes.dtype.kind in "SU"):
        at = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    unknown = np.flatnonzero(classes[at] != labels)
    if len(unknown):
        raise InputError(
            f"y holds {labels[unknown[0]]!s} at row {unknown[0] + 1} (counted from 1), which is not among the "
            f"classes announced: {', '.join(map(str, classes[:10]))}{', ...' * (len(classes) > 10)}"
        )
    return at


@dataclass(frozen=True)
class StreamInput:
    """The form into which the samples of a stream are brought, fixed by its first block; columns may be added.

    A block makes a new `StreamInput` (`after`), so that a rejected block changes nothing.
    """

    kernel: Kernel  # as given until a block has fixed it, resolved afterwards
    scale: str | None = None  # the kind of scaling to fit
    preprocessing: Preprocessing = field(default_factory=Preprocessing)  # the scaling; streams have no holes
    n_features: int = 0  # of the widest block so far
    sparse: bool = False  # whether samples are kept as CSR
    settled: bool = False  # whether a block or a model has fixed these fields

    @classmethod
    def from_model(cls, model: SVMModel) -> StreamInput:
        """Return the form of the data that a model was trained on; raise InputError for a model that imputes."""
        if model.preprocessing.takes_holes:
            raise InputError("a model that imputes cannot go on with a stream, which has no holes: start anew")
        sparse = sp.issparse(model.vectors)
        return cls(model.kernel, None, model.preprocessing, model.n_features, sparse, settled=True)

    @property
    def scaling(self) -> Scaling | None:
        """The scaling, once it is fitted."""
        return self.preprocessing.scaling

    def after(self, X: Features) -> StreamInput:
        """Return the form once the block X has arrived; raise InputError if it yields no scaling or gamma."""
        if not self.settled:
            preprocessing, features = Preprocessing.fit(X, scale=self.scale)
            return replace(
                self,
                kernel=self.kernel.resolve(features),
                preprocessing=preprocessing,
                n_features=X.shape[1],
                sparse=sp.issparse(X),
                settled=True,
            )
        return self.widen(X.shape[1])

    def widen(self, n_features: int) -> StreamInput:
        """Return the form with at least as many columns; new columns are zero in all earlier samples."""
        if n_features <= self.n_features:
            return self
        return replace(self, preprocessing=self.preprocessing.widen(n_features), n_features=n_features)

    def bring(self, X: Features) -> tuple[Features, Features]:
        """Return a block in this form, before and after scaling; raise InputError if scaling overflows."""
        X = pad_or_refuse_columns(X, self.n_features, pad=True)
        if sp.issparse(X) != self.sparse:
            X = sp.csr_array(X) if self.sparse else X.toarray()
        scaled = self.preprocessing.apply(X)
        require_finite(scaled, what="the scaled X")
        return X, scaled
