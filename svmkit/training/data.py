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
from svmkit.model.one_vs_one import pairs
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
        return [int(counts[a] + counts[b]) for a, b in pairs(len(self.classes))]

    def positive(self, a: int, b: int) -> int:
        """Which of the two is +1: of two classes the second, of more the first of the pair, as in scikit-learn."""
        return b if len(self.classes) == 2 else a

    def pair(self, k: int, *, shared: bool = True) -> Pair:
        """The k-th pair and its Gram; InputError when all weights of a class are zero.

        Of more than two classes the pairs share kernel values, and the rows of a pair are those of a, then those of b.
        They are best asked for in ascending order: what is kept for a class is dropped once a pair above its last one
        is asked for. shared=False leaves the rows in the order of the data, with a Gram of their own.
        """
        a, b = pairs(len(self.classes))[k]
        name = f"{self.classes[a]} vs {self.classes[b]}"
        used = self.weights > 0
        if not (used[self.codes == a].any() and used[self.codes == b].any()):
            raise InputError(f"{name}: sample weights are zero for all of a class; training needs two classes")
        if shared and len(self.classes) > 2 and not isinstance(self.kernel, Precomputed):
            of_pair = self._by_class.gram(a, b)
            gram: Gram = of_pair
            rows = of_pair.pair.rows
        else:
            rows = np.flatnonzero(((self.codes == a) | (self.codes == b)) & used)
            gram = Gram(self.kernel, subset(self.X, rows, self.kernel), memory=self.memory)
        y = np.where(self.codes[rows] == self.positive(a, b), 1.0, -1.0)
        return Pair(k, name, a, b, rows, y, self.weights[rows], gram)

    @cached_property
    def _by_class(self) -> SharedKernel:
        members = [np.flatnonzero((self.codes == c) & (self.weights > 0)) for c in range(len(self.classes))]
        return SharedKernel(self.kernel, self.X, members, parse_bytes(self.memory))

    def vectors(self, rows: np.ndarray):
        """These rows as a model or an engine takes them: their numbers where kernel values are given."""
        return rows if isinstance(self.kernel, Precomputed) else self.X[rows]

    def model(self, models: list[DecisionFunction], about: dict[str, Any]) -> tuple[SVMModel, np.ndarray]:
        """The model over the union of all pairs' support vectors, sorted by class; and their rows.

        Linear problems leave weights instead: the vectors are then w of each pair (a, b), a < b, with coefficient 1.
        """
        codes, n_classes = self.codes, len(self.classes)
        support = np.unique(np.concatenate([m.rows for m in models if m.rows is not None]))
        support = support[np.argsort(codes[support], kind="stable")]
        if all(m.w is not None for m in models):
            return self._linear_model(models, about), support
        place = np.full(self.X.shape[0], -1, dtype=np.int64)
        place[support] = np.arange(len(support))
        coef = np.zeros((n_classes - 1, len(support)))
        for (a, b), decision in zip(pairs(n_classes), models, strict=True):
            assert decision.rows is not None
            coef[np.where(codes[decision.rows] == a, b - 1, a), place[decision.rows]] = decision.coef
        n_support = np.bincount(codes[support], minlength=n_classes)
        return self._assembled(self.vectors(support), n_support, coef, models, about), support

    def _linear_model(self, models: list[DecisionFunction], about: dict[str, Any]) -> SVMModel:
        of_pair = np.array(pairs(len(self.classes)))
        coef = np.zeros((len(self.classes) - 1, len(models)))
        coef[of_pair[:, 1] - 1, np.arange(len(models))] = 1.0
        n_support = np.bincount(of_pair[:, 0], minlength=len(self.classes))
        vectors = np.zeros((len(models), self.X.shape[1]))
        for row, model in zip(vectors, models, strict=True):
            assert model.w is not None
            row[: len(model.w)] = model.w  # a stream may have grown columns that the pair has not seen
        return self._assembled(vectors, n_support, coef, models, about)

    def _assembled(self, vectors, n_support, coef, models: list[DecisionFunction], about: dict[str, Any]) -> SVMModel:
        return SVMModel(
            kernel=self.kernel,
            classes=self.classes,
            vectors=vectors,
            n_support=n_support,
            coef=coef,
            intercept=np.array([m.intercept for m in models]),
            n_features=self.X.shape[1],
            scaling=self.scaling,
            about=about | {"n_samples": int(self.X.shape[0])},
        )


def subset(X: Features, rows: np.ndarray, kernel: Kernel) -> Features:
    """Those rows of X (for a precomputed kernel those columns too), without a copy when these are all of them."""
    if len(rows) == X.shape[0]:
        return X
    return X[rows][:, rows] if isinstance(kernel, Precomputed) else X[rows]
