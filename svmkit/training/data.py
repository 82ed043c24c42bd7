"""Training data after every check: the class pairs, a Gram for each of them, and the way from solutions to a model."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from svmkit.data.prepare.features import Features, as_features, require_finite
from svmkit.data.prepare.labels import encode_labels
from svmkit.data.prepare.preprocessing import Preprocessing
from svmkit.data.prepare.targets import as_targets, require_epsilon
from svmkit.errors import InputError
from svmkit.kernels.engines import with_int32_indices
from svmkit.kernels.functions import Kernel, Precomputed
from svmkit.kernels.gram import Gram, parse_bytes
from svmkit.kernels.gram.by_class import SharedKernel
from svmkit.model.model import SVMModel
from svmkit.model.one_vs_one import class_pairs, class_slices, pair_classes, signs
from svmkit.model.one_vs_rest import MODES
from svmkit.problems.base import DecisionFunction
from svmkit.training.class_pair import REST, ClassPair, require_multiclass
from svmkit.training.joined import joined
from svmkit.training.weights import training_weights

if TYPE_CHECKING:
    from svmkit.kernels.gram.complete import CompleteKernel
    from svmkit.training.checkpoint import Checkpoint


TASKS = "classify", "regress"


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
        The labels in ascending order; none in regression.
    codes : ndarray of shape (n,), int
        The classes of the samples: `classes[codes]` are the labels. In regression all samples have code 0.
    weights : ndarray of shape (n,), float64
        The products of class weight and sample weight.
    kernel : Kernel
        The kernel with all its parameters resolved on X.
    preprocessing : Preprocessing
        The imputing and the scaling that turned `raw` into `X`.
    memory : str or int
        The budget of kernel rows, such as "1GB" or a number of bytes.
    targets : ndarray of shape (n,), float64, or None, default=None
        The targets of regression; None for classes.
    epsilon : float, default=0.1
        Half the width of the tube of regression.
    multiclass : {"ovo", "ovr", "crammer_singer"}, default="ovo"
        The problems of several classes; "ovo" for two classes unless it is "crammer_singer".
    known : CompleteKernel, default=None
        Kernel rows of more samples, of which those of this data are a part.
    """

    raw: Any
    X: Any
    classes: np.ndarray
    codes: np.ndarray
    weights: np.ndarray
    kernel: Kernel
    preprocessing: Preprocessing
    memory: str | int
    targets: np.ndarray | None = None
    epsilon: float = 0.1
    multiclass: str = "ovo"
    known: CompleteKernel | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        X,
        y,
        *,
        kernel: Kernel,
        task: str = "classify",
        epsilon: float = 0.1,
        multiclass: str = "ovo",
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
        X, y, kernel, task, epsilon, multiclass, class_weight, sample_weight, impute, scale, flags, memory : as there
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
        targets = None
        require_multiclass(multiclass, task, kernel)
        if task == "regress":
            require_epsilon(epsilon)
            targets = as_targets(y, n_samples=raw.shape[0])
            classes, codes = np.empty(0), np.zeros(raw.shape[0], dtype=np.int64)
            if class_weight is not None:
                raise InputError("class_weight is for classes: quantities take sample_weight")
        elif task == "classify":
            classes, codes = encode_labels(y, n_samples=raw.shape[0])
        else:
            raise InputError(f"task={task!r} is not known; there are: {', '.join(TASKS)}")
        if impute and isinstance(kernel, Precomputed):
            raise InputError("a precomputed kernel matrix has no columns to impute: compute it from data without holes")
        require_finite(raw, holes=bool(impute))
        parse_bytes(memory)
        weights = training_weights(codes, classes, class_weight, sample_weight)
        preprocessing, features = Preprocessing.fit(raw, impute=impute, scale=scale, flags=flags)
        X = with_int32_indices(features)
        if multiclass == "ovr" and len(classes) == 2:
            multiclass = "ovo"  # the same problem, and scikit-learn's sign of its decisions
        kernel = kernel.resolve(X)
        return cls(
            raw, X, classes, codes, weights, kernel, preprocessing, memory, targets, float(epsilon), multiclass
        )  # fmt: skip

    @property
    def task(self) -> str:
        """What is learnt, "classify" or "regress"."""
        return TASKS[0] if self.targets is None else TASKS[1]

    @property
    def answers(self) -> np.ndarray:
        """What is to be learnt of the samples, for comparisons: the codes, or the targets and epsilon."""
        if self.targets is not None:
            return np.append(self.targets, self.epsilon)
        return self.codes if self.has_class_pairs else np.append(self.codes, -MODES.index(self.multiclass))

    def bind(self, checkpoint: Checkpoint, C: float, nu: float | None = None) -> None:
        """Tie a checkpoint to these data and to C and nu, as `Checkpoint.bind` says."""
        checkpoint.bind(self.X, self.answers, C * self.weights, self.kernel, nu)

    @property
    def has_class_pairs(self) -> bool:
        """Whether each problem is that of two classes."""
        return self.targets is None and self.multiclass == "ovo"

    def with_weights(self, weights: np.ndarray) -> TrainingData:
        """Return the same data with other weights (n,) of the samples; one of weight 0 takes no part.

        Kernel values that were computed as a whole are known there, so that none may take part that does not here.
        """
        return replace(self, weights=weights, known=vars(self).get("complete"))

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """The codes of the classes of each class pair, with `REST` where it stands for others; (0, 0) in regression."""
        if self.targets is not None:
            return [(0, 0)]
        if self.multiclass == "ovr":
            return [(c, REST) for c in range(len(self.classes))]
        return class_pairs(len(self.classes)) if self.has_class_pairs else [(REST, REST)]

    @cached_property
    def sizes(self) -> np.ndarray:
        """The number of samples of each class pair, samples of weight 0 included: int64, shape (n_pairs,)."""
        return self._pair_sizes(np.bincount(self.codes, minlength=len(self.classes)))

    @property
    def used(self) -> np.ndarray:
        """The number of samples of each class pair, without samples of weight 0: int64, shape (n_pairs,)."""
        return self._pair_sizes(np.array([len(rows) for rows in self._members], dtype=np.int64))

    def _pair_sizes(self, counts: np.ndarray) -> np.ndarray:
        """Return the sizes of the class pairs from those of the classes; in regression all samples are one class."""
        if not self.has_class_pairs:
            return np.full(len(self.pairs), counts.sum())
        a, b = pair_classes(len(self.classes))
        return counts[a] + counts[b]

    def pair(self, k: int, *, shared: bool = True, complete: bool = False) -> ClassPair:
        """Return a class pair and its Gram.

        Parameters
        ----------
        k : int
            The number of the class pair, from 0. The class pairs should be requested in ascending order: the kernel
            values of a class are dropped once a class pair after the last one of this class is requested. The problems
            of a class and the rest have all samples, and share one Gram.
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
        if not self.has_class_pairs:
            return self._of_all(k, a, b, complete)
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

    def _of_all(self, k: int, a: int, b: int, complete: bool) -> ClassPair:
        """Return the problem that all samples take part in."""
        empty = [str(label) for label, rows in zip(self.classes, self._members, strict=False) if not len(rows)]
        if empty or not len(self._together):
            what = f"all of class {empty[0]}: each class needs one" if empty else "all samples: training needs one"
            raise InputError(f"sample weights are zero for {what} of weight > 0")
        rows, gram = self._together, self._complete_gram if complete else self._gram
        weights = self.weights[rows]
        if self.targets is not None:
            return ClassPair(k, "regression", a, b, rows, self.targets[rows], weights, gram, self.epsilon)
        codes = self.codes[rows]
        if a == REST:
            return ClassPair(k, "all classes", a, b, rows, codes.astype(np.float64), weights, gram)
        y = np.where(codes == a, 1.0, -1.0)
        return ClassPair(k, f"{self.classes[a]} vs rest", a, b, rows, y, weights, gram)

    @cached_property
    def _together(self) -> np.ndarray:
        """The rows of weight > 0, ascending."""
        return np.flatnonzero(self.weights > 0)

    @cached_property
    def _complete_gram(self) -> Gram:
        return self.complete.gram(0, 0)

    @cached_property
    def _gram(self) -> Gram:
        return Gram(self.kernel, subset(self.X, self._together, self.kernel), memory=self.memory)

    @cached_property
    def _by_class(self) -> SharedKernel:
        return SharedKernel(self.kernel, self.X, self._members, parse_bytes(self.memory))

    @cached_property
    def is_complete(self) -> list[bool]:
        """Whether all kernel rows of a class pair may be kept, for each class pair."""
        from svmkit.kernels.gram.complete import has_room  # here: it needs numba

        memory, sizes = parse_bytes(self.memory), self.sizes.tolist()
        return [has_room(n, memory) and self.complete.holds(n) for n in sizes]

    @cached_property
    def complete(self) -> CompleteKernel:
        """The kernel rows of class pairs that are small enough to be kept as a whole."""
        from svmkit.kernels.gram.complete import CompleteKernel

        if self.has_class_pairs:
            return CompleteKernel(self.kernel, self.X, self._members, parse_bytes(self.memory), known=self.known)
        one = self.targets is None
        return CompleteKernel(
            self.kernel, self.X, [self._together], parse_bytes(self.memory), one=one, known=self.known
        )

    @cached_property
    def _members(self) -> list[np.ndarray]:
        """The rows of each class whose weight is > 0, ascending."""
        used = np.flatnonzero(self.weights > 0)
        codes = self.codes[used]
        order, sizes = used[np.argsort(codes, kind="stable")], np.bincount(codes, minlength=max(len(self.classes), 1))
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
            weights of each problem, or of each class.
        support : ndarray of shape (n_support,), int
            The rows of X that are support vectors of at least one class pair, sorted by class.
        """
        parts = joined(
            decisions, self.codes, len(self.classes), self.X.shape[1], class_pairs=self.has_class_pairs
        )  # fmt: skip
        model = SVMModel(
            kernel=self.kernel,
            classes=self.classes,
            vectors=self.vectors(parts.support) if parts.weights is None else parts.weights,
            n_support=parts.n_support,
            coef=parts.coef,
            intercept=parts.intercept,
            n_features=self.raw.shape[1],
            preprocessing=self.preprocessing,
            task=self.task,
            multiclass=self.multiclass,
            about=about | {"n_samples": int(self.X.shape[0])},
        )
        return model, parts.support


def subset(X: Features, rows: np.ndarray, kernel: Kernel) -> Features:
    """Return rows of X, and for a precomputed kernel the same columns; without a copy if all rows are given."""
    if len(rows) == X.shape[0]:
        return X
    return X[rows][:, rows] if isinstance(kernel, Precomputed) else X[rows]
