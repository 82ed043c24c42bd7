"""Checked training data: the subproblems, a Gram for each of them, and the model that joins their solutions."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from svmkit.data.prepare.device_arrays import require_one_device, to_host
from svmkit.data.prepare.features import as_features, is_sparse, require_finite
from svmkit.data.prepare.preprocessing import Preprocessing
from svmkit.errors import InputError, SvmkitWarning
from svmkit.kernels.engines import with_int32_indices
from svmkit.kernels.functions import Kernel, Precomputed
from svmkit.kernels.gram import Grams, parse_bytes
from svmkit.losses.by_name import is_likelihood
from svmkit.model.calibration import OWN, odds_calibration
from svmkit.model.model import SVMModel
from svmkit.model.one_vs_one import class_slices, order_by_class
from svmkit.problems.base import DecisionFunction
from svmkit.runtime.mapping import examination_of, examine
from svmkit.solver.task import Task as SolverTask
from svmkit.tasks import Answers, Classification, Output, Task
from svmkit.training.checkpoint import Identity, arrays_of, digest
from svmkit.training.division import DIVISIONS, ClassPairs, Division, Joined, Subproblem
from svmkit.training.settings import Method
from svmkit.training.splits import number_groups
from svmkit.training.weights import sample_weights, training_weights

if TYPE_CHECKING:
    from svmkit.kernels.gram.complete import CompleteKernel

MANY = 1 << 16  # samples of a linear problem above which arrays over them are kept only if they are needed
FEW = 4  # classes up to which the rows of each are searched one class at a time, which is faster than sorting
CERTAIN = 40.0  # log-odds of a label that all or no samples have: larger ones would change no probability


@dataclass(frozen=True, eq=False)
class Preparation:
    """What training learns from features without labels: imputing, scaling and the parameters of the kernel.

    Attributes
    ----------
    kernel : Kernel
        The kernel, whose gamma may be a rule such as "scale".
    impute, scale, flags : str, str, ndarray, default=None
        As for `svmkit.fit`.
    weights : ndarray of shape (width,), default=None
        Weights of the columns after scaling, which do not affect the parameters of the kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.kernels import RBF
    >>> from svmkit.training.data import Preparation
    >>> preprocessing, X, kernel = Preparation(RBF("scale"), scale="maxabs").learn(np.array([[0.0], [4.0]]))
    >>> X.tolist(), kernel.gamma
    ([[0.0], [1.0]], 4.0)
    """

    kernel: Kernel
    impute: str | None = None
    scale: str | None = None
    flags: np.ndarray | None = None
    weights: np.ndarray | None = None

    def learn(self, raw: Any) -> tuple[Preprocessing, Any, Kernel]:
        """Return the preprocessing of raw features (n, d), the features it makes of them, and the kernel for these."""
        preprocessing, X = Preprocessing.fit(raw, impute=self.impute, scale=self.scale, flags=self.flags)
        kernel = self.kernel.resolve(X)
        if self.weights is None:
            return preprocessing, X, kernel
        if preprocessing.width(raw.shape[1]) != len(self.weights):
            raise InputError("imputing these rows gives other columns than those that have weights")
        preprocessing = preprocessing.weigh(self.weights)
        return preprocessing, preprocessing.apply(raw), kernel


@dataclass(frozen=True)
class TrainingData:
    """Training data that are ready for any solver and any C.

    Attributes
    ----------
    raw : ndarray or CSR matrix of shape (n, d)
        The features as they were given.
    X : ndarray or CSR matrix of shape (n, width)
        The features after preprocessing; without any, the values are shared with `raw`.
    answers : Answers
        The answer that is to be learnt for each sample.
    weights : ndarray of shape (n,), float64
        The products of class weight and sample weight.
    kernel : Kernel
        The kernel with all its parameters resolved on X.
    preprocessing : Preprocessing
        The imputing and the scaling that turned `raw` into `X`.
    memory : str or int
        The memory budget of kernel rows, such as "1GB" or a number of bytes.
    task : Task, default=Classification()
        The task.
    multiclass : {"ovo", "ovr", "crammer_singer", "multinomial"}, default="ovo"
        The problems of several classes; "ovr" becomes "ovo" for two classes.
    known : CompleteKernel, default=None
        Kernel rows of a larger set of samples that contains the samples of this data.
    own_weights : ndarray of shape (n,), float64, default=None
        The sample weights without class weights, used where class weights do not count; None takes `weights`.
    preparation : Preparation, default=None
        How `preprocessing` and `kernel` were learnt; None if they were given.
    outputs : tuple of Output, default=()
        What each output of a model with several outputs learns.
    non_crossing : bool, default=False
        Whether a model sorts its predictions in each row.
    is_linear : bool, default=False
        Whether the problems are linear, so that arrays over the samples are kept only if they are needed.
    groups : ndarray of shape (n,), int, default=None
        The group of each sample, which folds keep together.

    Examples
    --------
    >>> from svmkit.training import TrainingData
    >>> from svmkit.training.settings import Settings, resolve
    >>> method = resolve(Settings(solver="smo", kernel="rbf"))
    >>> TrainingData.prepare([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1], method).sizes.tolist()
    [4]
    """

    raw: Any
    X: Any
    answers: Answers
    weights: np.ndarray
    kernel: Kernel
    preprocessing: Preprocessing
    memory: str | int
    task: Task = field(default_factory=Classification)
    multiclass: str = "ovo"
    known: CompleteKernel | None = field(default=None, repr=False)
    own_weights: np.ndarray | None = field(default=None, repr=False)
    preparation: Preparation | None = field(default=None, repr=False)
    outputs: tuple[Output, ...] = ()
    non_crossing: bool = False
    is_linear: bool = False
    groups: np.ndarray | None = field(default=None, repr=False)

    @classmethod
    def prepare(
        cls,
        X,
        y,
        method: Method,
        *,
        sample_weight: np.ndarray | None = None,
        flags: np.ndarray | None = None,
        groups: Any = None,
    ) -> TrainingData:
        """Check and preprocess the data, and compute the weights of the samples.

        Parameters
        ----------
        X, y, sample_weight, flags, groups : optional
            As for `svmkit.fit`.
        method : Method
            The task, the kernel and the settings.

        Returns
        -------
        TrainingData
            The data, with the kernel resolved on the preprocessed features.

        Raises
        ------
        InputError
            The data or the options cannot be used.
        """
        require_one_device(X, y)
        raw, task, kernel, settings = as_features(X), method.task, method.kernel, method.settings
        answers, is_linear = task.encode(y, raw.shape[0]), method.problem_type().is_linear
        if is_linear and len(answers.classes) == 2 and raw.shape[0] > MANY:
            answers = answers._replace(codes=answers.codes.astype(np.int8))
        if settings.impute and isinstance(kernel, Precomputed):
            raise InputError("a precomputed kernel matrix has no columns to impute: compute it from data without holes")
        scaling = settings.scaling(sparse=is_sparse(raw))
        is_read_once = isinstance(kernel, Precomputed) and scaling is None and not is_sparse(raw)
        is_unread = is_linear and scaling in (None, "none") and settings.trains_once and examination_of(raw) is not None
        if not (is_read_once or is_unread):
            require_finite(raw, holes=bool(settings.impute))
        own = sample_weights(to_host(sample_weight, "sample_weight"), raw.shape[0])
        weights = own
        if settings.class_weight is not None:
            weights = training_weights(answers.codes, answers.classes, settings.class_weight, own)
        preparation = Preparation(kernel, settings.impute, scaling, flags)
        preprocessing, features, kernel = preparation.learn(raw)
        if is_read_once and not _is_known_finite(kernel, features):
            require_finite(raw)
        X = with_int32_indices(features)
        multiclass = task.division(settings.multiclass, len(answers.classes)) if task.has_classes else "ovo"
        outputs = task.outputs(answers, method)
        if settings.non_crossing and not any(output.loss for output in outputs):
            raise InputError("non_crossing sorts the predictions of several levels: give loss=quantile and several tau")
        given = raw, X, answers, weights, kernel, preprocessing, settings.memory, task, multiclass
        rest = own, preparation, outputs, settings.non_crossing, is_linear, number_groups(groups, raw.shape[0])
        return cls(*given, None, *rest)

    def warn_of_constants(self) -> None:
        """Warn of each label that all or no samples have: a search prepares many models, but warns once."""
        for output in self.division.outputs:
            if output.constant is not None:
                has = output.constant > 0.0
                what, so = ("all samples have", "every row") if has else ("no sample has", "no row")
                warnings.warn(f"{what} label {output.name}: so it is predicted for {so}", SvmkitWarning, stacklevel=4)

    @property
    def classes(self) -> np.ndarray:
        """The labels in ascending order; none in regression."""
        return self.answers.classes

    @property
    def codes(self) -> np.ndarray:
        """The class of each sample."""
        return self.answers.codes

    def identity(self, method: Method) -> Identity:
        """Return the identity of a training on these data by a method.

        Parameters
        ----------
        method : Method
            The solver and the settings.
        """
        X, answers, kernel, settings = self.X, self.answers, self.kernel, method.settings

        def earlier_key() -> str:
            costs, nu = settings.C * self.weights, "" if settings.nu is None else f"nu={settings.nu!r}"
            about = repr((kernel.name, kernel.params, X.shape))
            return digest(about, *arrays_of(X), self.task.identity(answers, settings), costs, nu)

        facts = method.facts(kernel) | {"multiclass": self.multiclass} | self._digests
        return Identity(facts, method.solver.name, earlier_key)

    @cached_property
    def _digests(self) -> dict[str, str]:
        """The hashes of the rows, their labels or targets, and their weights."""
        answers = self.answers
        labels = [each for each in (answers.codes.astype(np.int64), answers.targets) if each is not None]
        return {
            "data": digest(repr(self.X.shape), *arrays_of(self.X)),
            "labels": digest(*labels),
            "weights": digest(self.weights),
        }

    @cached_property
    def division(self) -> Division:
        """The division of the data into subproblems."""
        name = "outputs" if self.outputs else self.task.division(self.multiclass, len(self.classes))
        return DIVISIONS[name](self.classes, self.task.noun, self._divided_outputs, self.non_crossing)

    @property
    def _divided_outputs(self) -> tuple[Output, ...]:
        """The outputs; an output with the same answer in all samples of weight > 0 becomes a constant."""
        if self.task.has_targets or not self.outputs:
            return self.outputs
        used = self.answers.values[self.weights > 0]
        same = (used == used[:1]).all(axis=0)
        if not len(used) or same.all():
            raise InputError("each label is the same in all samples of weight > 0: there is nothing to learn")
        return tuple(
            output._replace(constant=float(used[0, j])) if same[j] else output for j, output in enumerate(self.outputs)
        )

    @property
    def has_class_pairs(self) -> bool:
        """Whether each problem is a problem of two classes."""
        return isinstance(self.division, ClassPairs)

    def without(self, held: np.ndarray) -> TrainingData:
        """Return the data in which the samples `held`, boolean (n,), take no part: their weight is 0.

        Imputing, scaling and the parameters of the kernel are learnt from the other samples; if these do not suffice,
        because a column has no value there, the ones learnt from all samples are kept. If they do not change, a
        computed kernel matrix is reused.
        """
        weights, learnt = np.where(held, 0.0, self.weights), self._learnt_without(held)
        if learnt is None:
            return replace(self, weights=weights, known=self.grams.computed)
        preprocessing, kernel = learnt
        X = with_int32_indices(preprocessing.apply(self.raw))
        return replace(self, weights=weights, X=X, kernel=kernel, preprocessing=preprocessing, known=None)

    def take(self, rows: np.ndarray) -> TrainingData:
        """Return the data of some rows, int (n,), with the preprocessing and the kernel of the whole data."""
        targets = self.answers.targets
        kept = {"codes": self.answers.codes[rows], "targets": None if targets is None else targets[rows]}
        answers = self.answers._replace(**kept)
        own = None if self.own_weights is None else self.own_weights[rows]
        parts = {"raw": self.raw[rows], "X": self.X[rows], "weights": self.weights[rows], "own_weights": own}
        parts["groups"] = None if self.groups is None else self.groups[rows]
        return replace(self, answers=answers, known=None, **parts)

    def weigh(self, weights: np.ndarray) -> TrainingData:
        """Return the data with scaled columns multiplied by weights (width,) > 0; the kernel keeps its parameters."""
        assert self.preparation is not None
        preparation, preprocessing = replace(self.preparation, weights=weights), self.preprocessing.weigh(weights)
        X = with_int32_indices(preprocessing.apply(self.raw))
        return replace(self, X=X, preprocessing=preprocessing, preparation=preparation, known=None)

    def _learnt_without(self, held: np.ndarray) -> tuple[Preprocessing, Kernel] | None:
        """Return the preprocessing and the kernel that the other samples give; None if both stay the same."""
        if self.preparation is None or isinstance(self.kernel, Precomputed):
            return None
        try:
            preprocessing, _, kernel = self.preparation.learn(self.raw[~held])
        except InputError:
            return None
        if preprocessing.imputing is not None or preprocessing.scaling is not None:
            return preprocessing, kernel
        ours, theirs = self.kernel.params, kernel.params if kernel is not self.kernel else {}
        same = all(np.array_equal(value, ours[name]) for name, value in theirs.items())
        return None if same else (preprocessing, kernel)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The codes of the classes of each subproblem, as in `Subproblem`."""
        return self.division.parts

    @cached_property
    def sizes(self) -> np.ndarray:
        """The number of samples of each subproblem, samples of weight 0 included: int64, shape (n_problems,)."""
        if "used" in vars(self) and sum(map(len, self._members)) == self.n_samples:
            return self.used
        return self.division.sizes(np.bincount(self.codes, minlength=len(self.classes)))

    @cached_property
    def used(self) -> np.ndarray:
        """The number of samples of each subproblem, without samples of weight 0: int64, shape (n_problems,)."""
        return self.division.sizes(np.array([len(rows) for rows in self._members], dtype=np.int64))

    def examine(self) -> None:
        """Look for NaN in all rows of X if that was left to the first pass over them."""
        examine(self.X)

    def subproblem(self, k: int, *, shared: bool = True, complete: bool = False) -> Subproblem:
        """Return a subproblem and its Gram.

        Parameters
        ----------
        k : int
            The number of the subproblem, from 0. Class pairs should be requested in ascending order: the kernel values
            of a class are dropped once a class pair after the last one of this class is requested. Subproblems that
            have all samples share one Gram.
        shared : bool, default=True
            With more than two classes, whether the class pairs share kernel values; the samples of class a then come
            before the samples of class b. If False, the samples stay in the order of the data and have their own Gram.
        complete : bool, default=False
            Whether the subproblem gets a `CompleteGram`; `CompleteKernel.holds` says whether there is room for it.

        Returns
        -------
        Subproblem
            The subproblem without its C.

        Raises
        ------
        InputError
            All sample weights of a class are zero.
        """
        (a, b), name = self.pairs[k], self.division.name(k)
        if self.has_class_pairs:
            if not (len(self._members[a]) and len(self._members[b])):
                raise InputError(f"{name}: sample weights are zero for all of a class; training needs two classes")
            rows, gram = self.grams.pair(a, b, shared=shared, complete=complete)
        else:
            labels = self.classes if self.task.has_classes else ()
            empty = [str(label) for label, rows in zip(labels, self._members, strict=False) if not len(rows)]
            if empty or not len(self.grams.rows):
                what = f"all of class {empty[0]}: each class needs one" if empty else "all samples: training needs one"
                raise InputError(f"sample weights are zero for {what} of weight > 0")
            rows, gram = self.grams.whole(complete=complete)
        target, loss = self.division.target(self.answers, rows, k), self.division.loss(k)
        is_whole = len(rows) == self.n_samples and bool((rows[1:] > rows[:-1]).all())
        weights = self.weights if is_whole else self.weights[rows]
        return Subproblem(k, name, a, b, rows, target, weights, gram, loss)

    @cached_property
    def grams(self) -> Grams:
        """The factory of the Grams of the subproblems."""
        # several subproblems share the rows, or one of several classes uses all of them
        one = self.task.has_classes or bool(self.outputs)
        pairs, several = self.has_class_pairs, bool(self.outputs)
        return Grams(self.kernel, self.X, self._members, self.memory, pairs, one, self.known, several)

    @cached_property
    def is_complete(self) -> list[bool]:
        """Whether the budget has room for all kernel rows, for each subproblem."""
        sizes = self.sizes.tolist()
        if sizes and self.grams.keeps(max(sizes)):  # smaller ones have room, too
            return [True] * len(sizes)
        keeps = {n: self.grams.keeps(n) for n in set(sizes)}  # few sizes, many class pairs
        return [keeps[n] for n in sizes]

    @cached_property
    def _members(self) -> list[np.ndarray]:
        """The rows of each class whose weight is > 0, ascending."""
        (used,) = (self.weights > 0).nonzero()
        if self.is_linear and len(self.classes) <= 2 and MANY < self.n_samples < 1 << 31:
            used = used.astype(np.int32)  # these arrays are never passed to compiled loops
        if len(self.classes) < 2 and not self.codes.any():
            return [used]
        codes = self.codes[used]
        if len(self.classes) <= FEW:
            return [used[codes == c] for c in range(len(self.classes))]
        order, sizes = used[order_by_class(codes)], np.bincount(codes, minlength=max(len(self.classes), 1))
        return [order[part] for part in class_slices(sizes)]

    def vectors(self, rows: np.ndarray):
        """Return rows of X in the form of a model or an engine: for a precomputed kernel the row numbers themselves."""
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
            The model. Its vectors are the union of all support vectors, sorted by class; for linear problems they are
            the weights of each problem, or of each class.
        support : ndarray of shape (n_support,), int
            The rows of X that are support vectors of at least one class pair, sorted by class.
        """
        parts = self.division.join(decisions, self.codes, self.X.shape[1])
        if parts.weights is None:
            parts = parts._replace(weights=self.vectors(parts.support))
        return model_of(self, parts, about), parts.support

    @property
    def has_weights(self) -> bool:
        """Whether some sample has a weight other than 1."""
        return bool((self.weights != 1.0).any())

    @property
    def n_samples(self) -> int:
        """The number of samples."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """The number of features as they were given."""
        return int(self.raw.shape[1])

    @property
    def width(self) -> int:
        """The number of features that solvers see."""
        return int(self.X.shape[1])


def _is_known_finite(kernel: Kernel, X: np.ndarray) -> bool:
    """Return whether the pass over a kernel matrix X that resolves the kernel has found only finite values."""
    found = kernel.reading.find(X) if isinstance(kernel, Precomputed) else None
    return found is not None and bool(np.isfinite(found.largest))


def model_of(data: Any, parts: Joined, about: dict[str, Any]) -> SVMModel:
    """Return the model of training data, wherever their rows are; its vectors are `parts.weights`. It has probabilities
    if its loss is a negative log-likelihood.
    """
    has_odds = is_likelihood(about.get("minimised", {}).get("loss"))
    about = about | ({"calibration": OWN} if has_odds else {})
    outputs, intercept = data.division.outputs, parts.intercept
    if has_odds and outputs:
        intercept = np.where([output.constant is not None for output in outputs], CERTAIN * intercept, intercept)
    return SVMModel(
        kernel=data.kernel,
        classes=data.classes,
        vectors=parts.weights,
        n_support=parts.n_support,
        coef=parts.coef,
        intercept=intercept,
        n_features=data.n_features,
        preprocessing=data.preprocessing,
        task=data.task.name,
        multiclass=data.division.scheme,
        calibration=odds_calibration(len(parts.intercept)) if has_odds else None,
        about=about | {"n_samples": data.n_samples},
        outputs=tuple(output.name for output in outputs),
        non_crossing=data.division.non_crossing,
    )


def solver_tasks(method: Method, data: TrainingData) -> list[SolverTask]:
    """Return the facts on which the choice of a solver may depend, for each subproblem."""
    problem = method.problem_type(data.kernel)
    used = data.used.tolist()
    memory, n_problems, d = parse_bytes(data.memory), len(used), data.width if problem.is_linear else 0
    n_outputs = max(len(data.division.outputs), 1)
    # few sizes, many class pairs
    tasks = {m: SolverTask(problem, data.kernel, m, memory, n_problems, d, n_outputs) for m in set(used)}
    return [tasks[m] for m in used]
