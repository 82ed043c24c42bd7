"""Training with a calibration: the model of all samples, and those of five folds for decisions on unseen samples."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from svmkit.data.overlap import repeated_line
from svmkit.errors import InputError, SvmkitWarning
from svmkit.kernels.gram import parse_bytes
from svmkit.model.calibration import BY_SAMPLES, FOLDS, Calibration
from svmkit.model.model import SVMModel
from svmkit.model.one_vs_one import columns_of
from svmkit.runtime import interrupt, threads
from svmkit.runtime.mapping import is_mapped
from svmkit.scoring.metric import Metric
from svmkit.scoring.operating import Points
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Seconds
from svmkit.training.calibration.curves import fitted_calibration
from svmkit.training.computation import computation
from svmkit.training.data import TrainingData
from svmkit.training.division import AllClasses
from svmkit.training.result import Fit
from svmkit.training.settings import Method
from svmkit.training.splits import make_splits, require_classes

WORK = 1e9  # nanoseconds of training per fold, roughly, above which each fold gets a thread of its own
SHARE = 0.5  # share of a limit in seconds that the model of all samples may take
VALUES = 1 << 22  # decisions that are held in memory at a time

Train = Callable[..., Fit]
"""`svmkit.training.train.fit_prepared`, with the data bound or not."""


@dataclass(frozen=True)
class Folds:
    """Stratified folds of the samples of weight > 0: `fold` (n,) has the fold of each sample, -1 for weight 0."""

    data: TrainingData
    fold: np.ndarray

    @property
    def n_folds(self) -> int:
        """The number of folds."""
        return int(self.fold.max()) + 1

    @classmethod
    def take(cls, data: TrainingData, fold: np.ndarray) -> Folds:
        """Take the fold of each sample, int (n,), such as the folds of a search; -1 marks a sample in no fold.

        Raises InputError if all samples of a class are in one fold, or in none.
        """
        fold = np.where(data.weights > 0.0, fold, -1)
        if len(data.classes) and not (held := np.bincount(data.codes[fold >= 0], minlength=len(data.classes))).all():
            raise InputError(
                f"a calibration needs decisions on samples of each class, and no fold holds one of class "
                f"{data.classes[held.argmin()]}: add samples, or train without a calibration"
            )
        require_classes(data.answers, fold, data.weights > 0.0)
        return cls(data, fold)

    @classmethod
    def draw(cls, data: TrainingData, seed: int) -> Folds:
        """Draw the folds from each class in random order; raise InputError for a class of fewer samples than folds.

        Groups are kept together, in fewer folds if there are few groups or few samples of a class.
        """
        used = data.weights > 0.0
        if data.groups is not None:
            splits = make_splits(FOLDS, data.answers, data.task, seed, groups=data.groups, used=used)
            return cls.take(data, splits.numbers(len(used)))  # type: ignore[arg-type]  # no row is held out twice
        rows = np.bincount(data.codes[used], minlength=len(data.classes))
        if rows.min() < FOLDS:
            rare = data.classes[rows.argmin()]
            if not rows.min():
                raise InputError(f"sample weights are zero for all samples of class {rare}: training needs every class")
            raise InputError(
                f"a calibration takes {FOLDS} folds, and so {FOLDS} samples of each class, but class {rare} has "
                f"{rows.min()}: add samples, or train without a calibration"
            )
        fold, rng, first = np.full(len(data.codes), -1), np.random.default_rng(seed), 0
        for code, size in enumerate(rows.tolist()):
            members = rng.permutation(np.flatnonzero(used & (data.codes == code)))
            fold[members] = (first + np.arange(size)) % FOLDS
            first += size
        return cls(data, fold)

    def training(self, number: int) -> TrainingData:
        """Return the data in which the samples of a fold have weight 0, with the preparation learnt from the others."""
        return self.data.without(self.fold == number)


def warn_of_repeated(X: Any, fold: np.ndarray) -> None:
    """Warn if many samples are equal to one in another fold, whose decisions are then not on unseen samples; of samples
    on disk nothing is known without a pass.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_samples, n_features)
    fold : ndarray of shape (n_samples,), int
        The fold of each sample, -1 for none.
    """
    if is_mapped(X):
        return
    rows = np.flatnonzero(fold >= 0)
    said = repeated_line(X, rows, fold[rows], "probabilities and thresholds may be too sure")
    if said:
        warnings.warn(said, SvmkitWarning, stacklevel=3)


def fit_calibrated(
    whole: Train, train: Train, data: TrainingData, method: Method, kind: str | None, fold: np.ndarray | None = None
) -> Fit:
    """Train a model, and a calibration on the decisions of models that were trained without the samples they decide on.

    A fold starts at the model of all samples less its own, which takes fewer steps and does not move the optimum. Its
    imputing, scaling and the numbers of its kernel are learnt without its own samples.
    Class weights belong to the training: in the calibration samples count with their sample weights alone, so that its
    probabilities are those of the data. After Ctrl-C the calibration is that of the folds that were finished, and there
    is none without any.

    Parameters
    ----------
    whole, train : callable
        whole(method) trains the model of all samples, train(data, method, start=) that of the samples of weight > 0.
    data : TrainingData
        All samples; InputError is raised if they cannot be divided into folds.
    method : Method
        The solver and the settings of each training. A limit in seconds is that of all of them: the model of all
        samples may take half of it, and the folds share the rest.
    kind : {"sigmoid", "isotonic"} or None
        The kind of calibration; None keeps the operating points of two classes alone.
    fold : ndarray of shape (n_samples,), int, default=None
        The fold of each sample, such as those of a search; None draws them, of whole groups if there are groups, and
        warns otherwise if equal samples are in several.
    """
    settings = method.settings
    if kind is None and len(data.classes) != 2:
        raise InputError(f"thresholds are for two classes, and there are {len(data.classes)}: leave thresholds out")
    began, limit = time.perf_counter(), settings.rules.least(Seconds)
    if fold is None:
        folds = Folds.draw(data, settings.seed)
        if data.groups is None:
            warn_of_repeated(data.raw, folds.fold)
    else:
        folds = Folds.take(data, fold)
    method = replace(method, settings=replace(settings, n_threads=None))  # those of the next line
    with computation(settings) as flag:
        fitted = whole(method.limit(SHARE * limit))
        if flag or fitted.status is Status.INTERRUPTED:
            return fitted
        trained = time.perf_counter()
        held = _OutOfFold(folds, train, fitted, method, limit - (trained - began))
        held.train(flag)
        calibration = held.calibration(kind) if kind is not None else None
    values, seconds = fitted.kernel_values + held.kernel_values, time.perf_counter() - trained
    fitted = replace(fitted, kernel_values=values, seconds=fitted.seconds + seconds, calibration_s=seconds)
    if held.interrupted:
        solutions = [replace(solution, status=Status.INTERRUPTED) for solution in fitted.solutions]
        fitted = replace(fitted, solutions=solutions)
    if not held.decisions:
        return fitted
    if calibration is None:
        about = fitted.model.about | held.operating_points()
        return replace(fitted, model=replace(fitted.model, about=about))
    facts = {"kind": kind, "folds": len(held.decisions), "weights": BY_SAMPLES}
    about = fitted.model.about | {"calibration": facts} | held.operating_points()
    return replace(fitted, model=replace(fitted.model, calibration=calibration, about=about))


class _OutOfFold:
    """The decisions on the samples of each fold by the model of all others."""

    def __init__(self, folds: Folds, train: Train, start: Fit, method: Method, seconds: float) -> None:
        data = folds.data
        self.folds, self.method, self.left, self._train = folds, method, max(seconds, 0.0), train
        # compiled code trains many small class pairs at once, and Crammer and Singer's problem, from nothing
        cold = isinstance(data.division, AllClasses) or (len(data.pairs) > 1 and all(data.is_complete))
        self.start = None if cold else start
        # of each finished fold its samples (n,) and their decisions (n, n_columns); where class pairs of more than two
        # classes decide, those of a sample's own class, in the order of `columns_of` (n, n_classes - 1)
        self.decisions: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self.kernel_values, self.interrupted = 0, False
        self.by_pairs = len(data.classes) > 2 and data.has_class_pairs
        self._preparing = threading.Lock()  # one fold at a time: imputing turns warnings off, in all threads at once

    def train(self, flag: interrupt.Flag) -> None:
        """Train all folds, one after the other, or side by side where each of them would use one thread."""
        data, n_folds, began = self.folds.data, self.folds.n_folds, time.perf_counter()
        alone = len(data.pairs) == 1 and (data.is_complete[0] or data.kernel.name == "linear")

        def some(first: int, last: int) -> None:
            for number in range(first, last):
                left = self.left - (time.perf_counter() - began)
                rounds = -(-(n_folds - number) // at_once)
                if flag or (left <= 0.0 and self.decisions):
                    return
                self._fold(number, max(left, 1e-9) / rounds)

        at_once = min(threads.thread_count(), n_folds) if alone else 1
        if alone:  # there is to be memory for the kernel rows of all samples, too, and for the features of each fold
            rows = 0.0 if data.kernel.name == "linear" else 8.0 * float(data.sizes[0]) ** 2
            each = (1.0 - 1.0 / n_folds) ** 2 * rows + (0 if data.X is data.raw else data.X.data.nbytes)
            most = (parse_bytes(data.memory) - rows) / each if each else n_folds
            at_once = max(1, min(at_once, int(most)))
        if at_once > 1:
            with threads.using(at_once):
                threads.spread(some, n_folds, WORK)
        else:
            some(0, n_folds)
        self.interrupted |= bool(flag)

    def _fold(self, number: int, seconds: float) -> None:
        with self._preparing:
            part = self.folds.training(number)
        start = self.start
        if start is not None and (self.folds.fold[start.support] == number).all():
            start = None  # a fold without any of few support vectors has nothing to begin with
        fitted = self._train(part, self.method.limit(seconds), start=start and start.model)
        self.kernel_values += fitted.kernel_values
        if fitted.status is Status.INTERRUPTED:
            self.interrupted = True
            return
        held = np.flatnonzero(self.folds.fold == number)
        self.decisions[number] = held, self._decide(fitted.model, held)

    def _decide(self, model: SVMModel, held: np.ndarray) -> np.ndarray:
        data, k = self.folds.data, len(self.folds.data.classes)
        if not self.by_pairs:
            return model.decision_function(data.raw[held]).reshape(len(held), -1)
        decisions = np.empty((len(held), k - 1))
        step = max(1, VALUES // len(model.intercept))
        for lo in range(0, len(held), step):
            rows = held[lo : lo + step]
            decision = model.decision_function(data.raw[rows])
            for code in np.unique(data.codes[rows]).tolist():
                of_class = np.flatnonzero(data.codes[rows] == code)
                decisions[lo + of_class] = decision[of_class][:, columns_of(code, k)]
        return decisions

    def operating_points(self) -> dict[str, Any]:
        """Return what a model keeps of thresholds for costs; nothing for more than two classes."""
        data = self.folds.data
        if len(data.classes) != 2:
            return {}
        parts = [self.decisions[number] for number in sorted(self.decisions)]
        rows, decision = np.concatenate([at for at, _ in parts]), np.concatenate([values[:, 0] for _, values in parts])
        weights = (data.weights if data.own_weights is None else data.own_weights)[rows]
        counts = np.bincount(data.codes[rows], minlength=2)
        positive = Metric.from_name("average_precision", data.classes, counts).positive
        place = list(map(str, data.classes)).index(str(positive))
        points = Points.from_decisions(decision if place else -decision, data.codes[rows] == place, weights)
        return {"operating": {"positive": positive, "folds": len(parts), **points.plain()}}

    def calibration(self, kind: str) -> Calibration | None:
        """Return the calibration of the finished folds; None if there is none."""
        if not self.decisions:
            return None
        data, parts = self.folds.data, [self.decisions[number] for number in sorted(self.decisions)]
        rows, decision = np.concatenate([at for at, _ in parts]), np.concatenate([values for _, values in parts])
        k, codes = len(data.classes), data.codes[rows]
        weights = (data.weights if data.own_weights is None else data.own_weights)[rows]
        weights = weights * (len(weights) / weights.sum())  # so that their unit does not matter
        if not self.by_pairs:
            n, n_columns = decision.shape
            positive = codes == (np.arange(n_columns)[:, None] if n_columns > 1 else 1)
            every, ends = np.tile(weights, n_columns), n * np.arange(1, n_columns + 1)
            return fitted_calibration(kind, decision.T.ravel(), positive.ravel(), every, ends)
        columns = np.stack([columns_of(code, k) for code in range(k)])[codes].ravel()
        order = np.argsort(columns, kind="stable")
        positive = (codes[:, None] <= np.arange(k - 1)).ravel()  # a class is the first one of its last pairs
        ends = np.cumsum(np.bincount(columns, minlength=k * (k - 1) // 2))
        return fitted_calibration(
            kind, decision.ravel()[order], positive[order], np.repeat(weights, k - 1)[order], ends
        )
