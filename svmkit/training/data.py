"""Training data after every check: the pairs of classes, a Gram for each, and the way from solutions to a model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from svmkit.data.features import Features, as_features, require_finite
from svmkit.data.labels import encode_labels
from svmkit.data.scaling import Scaling
from svmkit.errors import InputError
from svmkit.kernels.by_class import SharedKernel
from svmkit.kernels.engine import with_int32_indices
from svmkit.kernels.functions import Kernel, Precomputed
from svmkit.kernels.gram import Gram, parse_bytes
from svmkit.model.model import SVMModel
from svmkit.model.one_vs_one import class_pairs, merge_support, signs, weight_coefficients
from svmkit.problems.base import DecisionFunction, Problem
from svmkit.solver.base import Solver
from svmkit.training.weights import training_weights


class Pair(NamedTuple):
    """One binary problem, and its kernel values for whatever C.

    k : its number among the pairs; name : "a vs b"; a, b : codes of its classes; rows (m,) : which rows of X take
    part; y (m,) : -1.0 and +1.0; weights (m,) : class times sample weight; gram : of these rows
    """

    k: int
    name: str
    a: int
    b: int
    rows: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    gram: Gram

    def problem(self, solver: Solver, C: float) -> Problem:
        """What `solver` solves for this C."""
        return solver.pose(self.gram, self.y, C * self.weights)


@dataclass(frozen=True)
class TrainingData:
    """Data ready for any solver and C.

    raw, X : features (n, d) before and after scaling, one object without scaling; classes : (n_classes,) sorted;
    codes : (n,), classes[codes] are the labels; weights : (n,) class times sample weight; kernel : resolved on X
    """

    raw: Any
    X: Any
    classes: np.ndarray
    codes: np.ndarray
    weights: np.ndarray
    kernel: Kernel
    scaling: Scaling | None
    memory: str | int

    @classmethod
    def of(
        cls,
        X,
        y,
        *,
        kernel: Kernel,
        class_weight: str | dict | None = None,
        sample_weight: np.ndarray | None = None,
        scale: str | None = None,
        memory: str | int = "1GB",
    ) -> TrainingData:
        """Check, scale and weigh; parameters as for `svmkit.fit`. Raises InputError for what cannot be used."""
        raw = as_features(X)
        classes, codes = encode_labels(y, n_samples=raw.shape[0])
        require_finite(raw)
        parse_bytes(memory)
        weights = training_weights(codes, classes, class_weight, sample_weight)
        scaling = Scaling.fit(scale, raw) if scale and scale != "none" else None
        X = with_int32_indices(scaling.apply(raw) if scaling else raw)
        return cls(raw, X, classes, codes, weights, kernel.resolve(X), scaling, memory)

    @property
    def sizes(self) -> list[int]:
        """Rows of each pair, those of weight 0 included."""
        counts = np.bincount(self.codes, minlength=len(self.classes))
        return [int(counts[a] + counts[b]) for a, b in class_pairs(len(self.classes))]

    def pair(self, k: int, *, shared: bool = True) -> Pair:
        """The k-th pair and its Gram; InputError when all weights of a class are zero.

        Of more than two classes the pairs share kernel values, and the rows of a pair are those of a, then those of b.
        They are best asked for in ascending order: what is kept for a class is dropped once a pair above its last one
        is asked for. shared=False leaves the rows in the order of the data, with a Gram of their own.
        """
        a, b = class_pairs(len(self.classes))[k]
        name = f"{self.classes[a]} vs {self.classes[b]}"
        used = self.weights > 0
        if not (used[self.codes == a].any() and used[self.codes == b].any()):
            raise InputError(f"{name}: sample weights are zero for all of a class; training needs two classes")
        if shared and len(self.classes) > 2 and not isinstance(self.kernel, Precomputed):
            of_pair = self._by_class.gram(a, b)
            gram: Gram = of_pair
            rows = of_pair.class_pair.rows
        else:
            rows = np.flatnonzero(((self.codes == a) | (self.codes == b)) & used)
            gram = Gram(self.kernel, subset(self.X, rows, self.kernel), memory=self.memory)
        y = signs(self.codes[rows], a, b, len(self.classes))
        return Pair(k, name, a, b, rows, y, self.weights[rows], gram)

    @cached_property
    def _by_class(self) -> SharedKernel:
        members = [np.flatnonzero((self.codes == c) & (self.weights > 0)) for c in range(len(self.classes))]
        return SharedKernel(self.kernel, self.X, members, parse_bytes(self.memory))

    def vectors(self, rows: np.ndarray):
        """These rows as a model or an engine takes them: their numbers where kernel values are given."""
        return rows if isinstance(self.kernel, Precomputed) else self.X[rows]

    def model(self, decisions: list[DecisionFunction], about: dict[str, Any]) -> tuple[SVMModel, np.ndarray]:
        """Join the decision functions of all class pairs, each over rows of X, into a model.

        Parameters
        ----------
        decisions : list of DecisionFunction
            One for each class pair, in order, with `rows`.
        about : dict
            Plain values to keep with the model.

        Returns
        -------
        model : SVMModel
            Its vectors are the union of all support vectors, sorted by class; of linear problems the weights of each
            class pair instead.
        support : ndarray of shape (n_support,), int
            The rows of X that are a support vector of any class pair, sorted by class.
        """
        rows = [decision.rows for decision in decisions if decision.rows is not None]
        support, n_support, coef = merge_support(rows, [d.coef for d in decisions], self.codes, len(self.classes))
        weights = [decision.w for decision in decisions if decision.w is not None]
        if len(weights) == len(decisions):
            n_support, coef = weight_coefficients(len(self.classes))
            vectors = np.zeros((len(weights), self.X.shape[1]))
            for row, w in zip(vectors, weights, strict=True):
                row[: len(w)] = w  # a stream may have grown columns that this class pair has not seen
        else:
            vectors = self.vectors(support)
        model = SVMModel(
            kernel=self.kernel,
            classes=self.classes,
            vectors=vectors,
            n_support=n_support,
            coef=coef,
            intercept=np.array([decision.intercept for decision in decisions]),
            n_features=self.X.shape[1],
            scaling=self.scaling,
            about=about | {"n_samples": int(self.X.shape[0])},
        )
        return model, support


def subset(X: Features, rows: np.ndarray, kernel: Kernel) -> Features:
    """Those rows of X (for a precomputed kernel those columns too), without a copy when these are all of them."""
    if len(rows) == X.shape[0]:
        return X
    return X[rows][:, rows] if isinstance(kernel, Precomputed) else X[rows]
