"""Training data after every check: the class pairs, a Gram for each of them, and the way from solutions to a model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from svmkit.data.features import Features, as_features, require_finite
from svmkit.data.labels import encode_labels
from svmkit.data.preprocessing import Preprocessing
from svmkit.errors import InputError
from svmkit.kernels.by_class import SharedKernel
from svmkit.kernels.engine import with_int32_indices
from svmkit.kernels.functions import Kernel, Precomputed
from svmkit.kernels.gram import Gram, parse_bytes
from svmkit.model.model import SVMModel
from svmkit.model.one_vs_one import class_pairs, class_slices, merge_support, pair_classes, signs, weight_coefficients
from svmkit.problems.base import DecisionFunction, Problem
from svmkit.solver.base import Solver
from svmkit.training.weights import training_weights

if TYPE_CHECKING:
    from svmkit.kernels.complete import CompleteKernel


class ClassPair(NamedTuple):
    """The binary problem of two classes, with kernel values that serve every C.

    Attributes
    ----------
    k : int
        The number of the class pair, from 0.
    name : str
        "a vs b", with the labels of the two classes.
    a, b : int
        The codes of the two classes.
    rows : ndarray of shape (m,), int
        The rows of X that take part.
    y : ndarray of shape (m,), float64
        The labels -1.0 and +1.0.
    weights : ndarray of shape (m,), float64
        The products of class weight and sample weight.
    gram : Gram
        The kernel values of `rows`.
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
        """Return the problem that `solver` solves for this C."""
        return solver.pose(self.gram, self.y, C * self.weights)


@dataclass(frozen=True)
class TrainingData:
    """Training data that are ready for any solver and any C.

    Attributes
    ----------
    raw : ndarray or CSR matrix of shape (n, d)
        The features as they were given.
    X : ndarray or CSR matrix of shape (n, width)
        The features after preprocessing; where that does nothing it shares its values with `raw`.
    classes : ndarray of shape (n_classes,)
        The labels in ascending order.
    codes : ndarray of shape (n,), int
        The classes of the samples: `classes[codes]` are the labels.
    weights : ndarray of shape (n,), float64
        The products of class weight and sample weight.
    kernel : Kernel
        The kernel with all its parameters resolved on X.
    preprocessing : Preprocessing
        The imputing and the scaling that turned `raw` into `X`.
    memory : str or int
        The budget of kernel rows, such as "1GB" or a number of bytes.
    """

    raw: Any
    X: Any
    classes: np.ndarray
    codes: np.ndarray
    weights: np.ndarray
    kernel: Kernel
    preprocessing: Preprocessing
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
        impute: str | None = None,
        scale: str | None = None,
        flags: np.ndarray | None = None,
        memory: str | int = "1GB",
    ) -> TrainingData:
        """Check and preprocess the data, and compute the weights of the samples.

        Parameters
        ----------
        X, y, kernel, class_weight, sample_weight, impute, scale, flags, memory
            As for `svmkit.fit`.

        Returns
        -------
        TrainingData
            The data, with the kernel resolved on the preprocessed features.

        Raises
        ------
        InputError
            The data or the options cannot be used.
        """
        raw = as_features(X)
        classes, codes = encode_labels(y, n_samples=raw.shape[0])
        if impute and isinstance(kernel, Precomputed):
            raise InputError("a precomputed kernel matrix has no columns to impute: compute it from data without holes")
        require_finite(raw, holes=bool(impute))
        parse_bytes(memory)
        weights = training_weights(codes, classes, class_weight, sample_weight)
        preprocessing, features = Preprocessing.fit(raw, impute=impute, scale=scale, flags=flags)
        X = with_int32_indices(features)
        return cls(raw, X, classes, codes, weights, kernel.resolve(X), preprocessing, memory)

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """The codes of the classes of each class pair."""
        return class_pairs(len(self.classes))

    @cached_property
    def sizes(self) -> np.ndarray:
        """The number of samples of each class pair, samples of weight 0 included: int64, shape (n_pairs,)."""
        counts = np.bincount(self.codes, minlength=len(self.classes))
        a, b = pair_classes(len(self.classes))
        return counts[a] + counts[b]

    @property
    def used(self) -> np.ndarray:
        """The number of samples of each class pair, without samples of weight 0: int64, shape (n_pairs,)."""
        counts = np.array([len(rows) for rows in self._members], dtype=np.int64)
        a, b = pair_classes(len(self.classes))
        return counts[a] + counts[b]

    def pair(self, k: int, *, shared: bool = True, complete: bool = False) -> ClassPair:
        """Return a class pair and its Gram.

        Parameters
        ----------
        k : int
            The number of the class pair, from 0. The class pairs should be requested in ascending order: the kernel
            values of a class are dropped once a class pair after the last one of this class is requested.
        shared : bool, default=True
            With more than two classes, whether the class pairs share kernel values; the samples of class a then come
            before the samples of class b. If False, the samples stay in the order of the data and have their own Gram.
        complete : bool, default=False
            Whether the class pair gets a `CompleteGram`; `CompleteKernel.holds` says whether there is room for it.

        Returns
        -------
        ClassPair
            The binary problem without its C.

        Raises
        ------
        InputError
            All sample weights of one of the two classes are zero.
        """
        a, b = self.pairs[k]
        name = f"{self.classes[a]} vs {self.classes[b]}"
        if not (len(self._members[a]) and len(self._members[b])):
            raise InputError(f"{name}: sample weights are zero for all of a class; training needs two classes")
        if complete:
            whole = self.complete.gram(a, b)
            gram: Gram = whole
            rows = whole.class_pair.rows
        elif shared and len(self.classes) > 2 and not isinstance(self.kernel, Precomputed):
            of_pair = self._by_class.gram(a, b)
            gram = of_pair
            rows = of_pair.class_pair.rows
        else:
            rows = np.sort(np.concatenate([self._members[a], self._members[b]]))
            gram = Gram(self.kernel, subset(self.X, rows, self.kernel), memory=self.memory)
        y = signs(self.codes[rows], a, b, len(self.classes))
        return ClassPair(k, name, a, b, rows, y, self.weights[rows], gram)

    @cached_property
    def _by_class(self) -> SharedKernel:
        return SharedKernel(self.kernel, self.X, self._members, parse_bytes(self.memory))

    @cached_property
    def is_complete(self) -> list[bool]:
        """Whether all kernel rows of a class pair may be kept, for each class pair."""
        from svmkit.kernels.complete import has_room  # here: it needs numba

        memory, sizes = parse_bytes(self.memory), self.sizes.tolist()
        return [has_room(n, memory) and self.complete.holds(n) for n in sizes]

    @cached_property
    def complete(self) -> CompleteKernel:
        """The kernel rows of class pairs that are small enough to be kept as a whole."""
        from svmkit.kernels.complete import CompleteKernel

        return CompleteKernel(self.kernel, self.X, self._members, parse_bytes(self.memory))

    @cached_property
    def _members(self) -> list[np.ndarray]:
        """The rows of each class whose weight is > 0, ascending."""
        used = np.flatnonzero(self.weights > 0)
        codes = self.codes[used]
        order, sizes = used[np.argsort(codes, kind="stable")], np.bincount(codes, minlength=len(self.classes))
        return [order[part] for part in class_slices(sizes)]

    def vectors(self, rows: np.ndarray):
        """Return rows of X as a model or an engine takes them: for a precomputed kernel the row numbers themselves."""
        return rows if isinstance(self.kernel, Precomputed) else self.X[rows]

    def model(self, decisions: list[DecisionFunction], about: dict[str, Any]) -> tuple[SVMModel, np.ndarray]:
        """Join the decision functions of all class pairs, each over rows of X, into a model.

        Parameters
        ----------
        decisions : list of DecisionFunction
            One for each class pair, in order, with `rows`.
        about : dict
            Plain values that are stored with the model.

        Returns
        -------
        model : SVMModel
            Its vectors are the union of all support vectors, sorted by class; for linear problems its vectors are the
            weights of each class pair.
        support : ndarray of shape (n_support,), int
            The rows of X that are support vectors of at least one class pair, sorted by class.
        """
        rows = [decision.rows for decision in decisions if decision.rows is not None]
        support, n_support, coef = merge_support(rows, [d.coef for d in decisions], self.codes, len(self.classes))
        weights = [decision.w for decision in decisions if decision.w is not None]
        if len(weights) == len(decisions):
            n_support, coef = weight_coefficients(len(self.classes))
            vectors = np.zeros((len(weights), self.X.shape[1]))
            for row, w in zip(vectors, weights, strict=True):
                row[: len(w)] = w  # a stream may have grown columns that this class pair has not seen
            coef[:, [k for k, w in enumerate(weights) if not len(w)]] = 0.0
        else:
            vectors = self.vectors(support)
        model = SVMModel(
            kernel=self.kernel,
            classes=self.classes,
            vectors=vectors,
            n_support=n_support,
            coef=coef,
            intercept=np.array([decision.intercept for decision in decisions]),
            n_features=self.raw.shape[1],
            preprocessing=self.preprocessing,
            about=about | {"n_samples": int(self.X.shape[0])},
        )
        return model, support


def subset(X: Features, rows: np.ndarray, kernel: Kernel) -> Features:
    """Return rows of X, and for a precomputed kernel the same columns; without a copy if all rows are given."""
    if len(rows) == X.shape[0]:
        return X
    return X[rows][:, rows] if isinstance(kernel, Precomputed) else X[rows]
