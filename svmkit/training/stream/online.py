"""Learning from a stream: one model, trained on blocks of samples, each sample used once, in the order of arrival."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from svmkit import plugins
from svmkit.data.prepare.features import as_features, pad_or_refuse_columns, require_finite
from svmkit.data.prepare.labels import as_labels, as_strings_like, as_targets
from svmkit.errors import InputError, NotFinite, SvmkitWarning
from svmkit.kernels.functions import Kernel
from svmkit.kernels.gram import parse_bytes
from svmkit.model.model import SVMModel
from svmkit.model.one_vs_one import class_pairs, pair_coefficients, signed_pair
from svmkit.problems.base import DecisionFunction
from svmkit.solver.base import Solver
from svmkit.solver.history import History, HistoryPoint
from svmkit.solver.selection import defaults
from svmkit.solver.solution import Solution, Status
from svmkit.tasks import Answers, Classification, Regression, Task
from svmkit.training.computation import computation
from svmkit.training.data import TrainingData
from svmkit.training.result import Fit
from svmkit.training.settings import Method, Settings
from svmkit.training.stream.input import StreamInput, codes_among, require_streamable, streaming_solver
from svmkit.training.stream.subproblem import WAITING, OnlinePair, Rows, join
from svmkit.training.weights import training_weights


class Online:
    """A model that learns from blocks of samples, for two classes or by one-versus-one for more.

    Each sample is used once, in the order of arrival. The first block fixes gamma, the scaling, and whether samples are
    kept dense or as CSR.

    Parameters
    ----------
    classes : array-like of shape (n_classes,)
        All labels that may occur, two or more, numbers or text.
    solver : str or Solver, default="sfw"
        A solver that learns from streams: sfw, msfw, pegasos, norma, or with the linear kernel sgd, folos.
    kernel : Kernel
        The kernel; any except a precomputed one.
    C : float, default=1.0
        The weight of the summed losses, > 0.
    class_weight : dict of label to float, default=None
        The weight of each class, > 0.
    scale : {"standard", "minmax", "maxabs"}, default=None
        The scaling that is fitted to the first block. On CSR, "standard" does not centre, and "minmax" is refused.
    memory : str or int, default="1GB"
        The memory limit for kernel rows, in bytes or as text, shared by the class pairs.
    seed : int, default=0
        The seed of all random choices.
    max_support : int, default=None
        The largest number of support vectors of each class pair.
    n_threads : int, default=None
        The number of threads; None uses all.
    device : str, default=None
        Where kernel values are computed, as for `svmkit.fit`.
    start : SVMModel, default=None
        A model to continue from, with the same classes and the same kind of kernel. Its gamma and scaling are kept, and
        its support vectors count as the first samples, of weight 1; a linear solver continues from its weights.

    Attributes
    ----------
    samples : int
        The number of samples learned from so far, without those of `start`.
    seen : ndarray of shape (n_classes,), int
        The number of samples of each class so far.
    input : StreamInput
        The kernel and scaling after the first block, and the columns so far, which may increase.
    history : History
        Points at growing intervals, with the accuracy so far. The objective is nan for solvers that do not compute it.

    Raises
    ------
    InputError
        The solver does not learn from streams, or an option is invalid.

    Examples
    --------
    >>> from svmkit.kernels import Linear
    >>> from svmkit.training import Online
    >>> online = Online([0, 1], kernel=Linear())
    >>> for block in ([[0.0], [3.0]], [[1.0], [2.0]]):
    ...     _ = online.update(block, [0, 1])
    >>> online.samples, online.model().predict([[0.0], [3.0]]).tolist()
    (4, [0, 1])
    """

    task: ClassVar[Task] = Classification()
    _counts: ClassVar[tuple[str, ...]] = ("tested", "correct")  # of predictions on blocks before they are learned

    def __init__(
        self,
        classes,
        *,
        solver: str | Solver = defaults.STREAM,
        kernel: Kernel,
        C: float = 1.0,
        class_weight: dict | None = None,
        scale: str | None = None,
        memory: str | int = "1GB",
        seed: int = 0,
        max_support: int | None = None,
        n_threads: int | None = None,
        device: str | None = None,
        start: SVMModel | None = None,
    ) -> None:
        given = dict(C=C, class_weight=class_weight, scale=scale, memory=memory, seed=seed)
        given |= dict(n_threads=n_threads, device=device)
        self._set_up(classes, solver, kernel, max_support, start, **given)

    def _set_up(
        self, classes: Any, solver: Any, kernel: Kernel, max_support: int | None, start: SVMModel | None, **given: Any
    ) -> None:
        """Check the options, of which `given` are fields of `Settings`, and create the class pairs."""
        self.solver: Any = streaming_solver(solver, regresses=self.task.has_targets)
        settings = Settings(solver=self.solver, kernel=kernel, **given)
        self.method = Method(settings, self.task, self.solver, kernel, None)
        require_streamable(self.method, max_support)
        announced = np.empty(0)
        if self.task.has_classes:
            announced = as_strings_like(classes, np.unique(as_labels(classes, n_samples=np.size(classes))))
        if len(announced) == 1:
            raise InputError(f"classes must announce two labels or more, not {announced[0]} only")
        self.classes = announced
        training_weights(np.empty(0, dtype=np.int64), self.classes, settings.class_weight, None)
        self.input = StreamInput(kernel, settings.scale) if start is None else StreamInput.from_model(start)
        n_classes = len(self.classes)
        signed = [signed_pair(a, b, n_classes) for a, b in class_pairs(n_classes)] or [(0, 0)]
        memory = max(1, parse_bytes(settings.memory) // len(signed))
        self.pairs = [OnlinePair(*pair, self.method, memory=memory, max_support=max_support) for pair in signed]
        self.samples = self.before = self.received = self.tested = self.correct = 0
        self.seen = np.zeros(max(n_classes, 1), dtype=np.int64)
        self.history = History()
        self._warned = False
        if start is not None:
            self._begin(start)

    def _begin(self, model: SVMModel) -> None:
        """Continue from a model; its vectors count as the first samples. Raise InputError for one of another kind."""
        task, kernel = self.task.name, self.method.kernel.name
        if model.task != task:
            raise InputError(f"cannot go on from a model that was trained to {model.task}, to {task}")
        if not np.array_equal(model.classes, self.classes) or model.kernel.name != kernel:
            raise InputError(
                f"cannot go on from a model of the classes {', '.join(map(str, model.classes))} with the kernel "
                f"{model.kernel.name}: classes and kernel must be the same"
            )
        codes = np.repeat(np.arange(len(model.n_support)), model.n_support)
        self.before, self.received = int(model.about.get("n_samples", 0)), len(codes)
        seen = round(self.before * 2 / max(len(model.classes), 2))
        if self.solver.problem_of(self.input.kernel, model.task).is_linear:
            for pair, w, intercept in zip(self.pairs, model.weights, model.intercept, strict=True):
                pair.start, pair.seen = DecisionFunction(np.empty(0), float(intercept), w), max(seen, 1)
            self.seen = np.ones(len(self.seen), dtype=np.int64)
            return
        made = model.about.get("solver")
        if made in plugins.names("solver") and plugins.build("solver", made).problem_of(model.kernel, task).is_linear:
            raise InputError(
                f"cannot go on from a model of {made} with {self.solver.name}: it has weights of the columns and no "
                f"support vectors; go on with {made}, or start anew"
            )
        settings = self.method.settings
        weights = settings.C * training_weights(codes, model.classes, settings.class_weight, None)
        for (a, b), pair in zip(class_pairs(len(model.classes)), self.pairs, strict=True):
            at, coef = pair_coefficients(model.coef, codes, a, b)
            at, coef = at[coef != 0.0], coef[coef != 0.0]
            if len(at):
                rows = Rows(model.vectors[at], pair.signs(codes[at]), weights[at], at)
                pair.begin(rows, coef, self.input.kernel, seen)
        self.seen = model.n_support.astype(np.int64)

    def update(self, X, y, sample_weight=None, *, test: bool = True, until: Callable[[], bool] = lambda: False) -> int:
        """Learn from a block of samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples. New columns are zero in all earlier samples.
        y : array-like of shape (n_samples,)
            The labels, among the announced classes.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight of each sample, >= 0.
        test : bool, default=True
            Whether to predict the block first with the model so far, for `accuracy`; this excludes the first block.
        until : callable, default=lambda: False
            Called before each step. Once it returns True, or after Ctrl-C, the rest of the block is skipped, but not
            before samples of two classes were learned, since there would be no model.

        Returns
        -------
        int
            The number of samples learned, n_samples unless the block was cut short.

        Raises
        ------
        InputError
            The block has missing values, labels that are not announced, or invalid weights.

        Notes
        -----
        A block that raises an exception, even in the solver, leaves the model unchanged.
        """
        X = as_features(X)
        answers = self._answers(y, X.shape[0])
        codes = answers.codes
        with np.errstate(over="ignore"):
            class_weight = self.method.settings.class_weight
            weights = self.method.settings.C * training_weights(codes, self.classes, class_weight, sample_weight)
        if not np.isfinite(weights).all():
            raise InputError("C times class and sample weight must be finite for every sample: lower C or the weights")
        require_finite(X)
        settled = self.input.after(X)
        X, scaled = settled.bring(X)
        undo: list[Callable[[], None]] = [
            partial(vars(self).update, {name: getattr(self, name) for name in ("input", *self._counts)})
        ]
        self.input = settled  # only after the block has passed every check
        try:
            learned = self._learn(X, scaled, answers, weights, test, until, undo)
        except BaseException:  # no class pair keeps a block that others lack
            for restore in reversed(undo):
                restore()
            raise
        self.seen += np.bincount(codes[:learned], minlength=len(self.seen))
        self.samples += learned
        self.received += len(codes)  # so that numbers stay unique after an interrupt
        self._record()
        if any(pair.dropped for pair in self.pairs) and not self._warned:
            self._warned = True
            warnings.warn(
                f"samples of one class keep coming: only the last ones ({WAITING:,}, or a block) wait for another "
                "class, and those before are passed over; shuffle the stream",
                SvmkitWarning,
                stacklevel=2,
            )
        return learned

    def _learn(
        self,
        X,
        scaled,
        answers: Answers,
        weights: np.ndarray,
        test: bool,
        until: Callable[[], bool],
        undo: list[Callable[[], None]],
    ) -> int:
        """Learn from a block; return the number of samples learned, and add functions that revert it to `undo`."""
        with computation(self.method.settings) as flag:
            before, codes = bool(flag), answers.codes
            if test and self.received:
                self._test(self.model().predict(X), answers.values)
            learned = len(codes)
            for pair in self.pairs:
                at = np.flatnonzero(((codes == pair.plus) | (codes == pair.minus)) & (weights > 0))
                if len(at):
                    y = pair.signs(codes[at]) if self.task.has_classes else answers.values[at]
                    rows = Rows(scaled[at], y, weights[at], self.received + at)
                    undo.append(pair.restorer())
                    left = pair.learn(rows, self.input.kernel, lambda: (bool(flag) and not before) or until())
                    if left:
                        learned = int(at[-left])
                        break
        return learned

    def _answers(self, y: Any, n_samples: int) -> Answers:
        """Return the answers of a block."""
        return Answers(self.classes, codes_among(self.classes, y, n_samples))

    def _test(self, predicted: np.ndarray, values: np.ndarray) -> None:
        """Count the predictions of a block before it is learned."""
        self.tested += len(values)
        self.correct += int((predicted == values).sum())

    def widen(self, n_features: int) -> None:
        """Accept at least as many columns from now on; new columns are zero in all earlier samples."""
        self.input = self.input.widen(n_features)

    def _record(self) -> None:
        before = self.history[-1].n_iter if self.history else 0
        if self.n_iter >= max(1, before + before // 32):
            objective = sum(pair.info.objective for pair in self.pairs if pair.info)  # nan if unknown to a solver
            point = HistoryPoint(self.n_iter, self.seconds, objective, None, self.n_support, self.kernel_values)
            self.history.append(point._replace(accuracy=self.accuracy, score=self.score))

    @property
    def accuracy(self) -> float | None:
        """The accuracy of the predictions of each block before it is learned; None before the second block."""
        return self.correct / self.tested if self.tested else None

    @property
    def score(self) -> float | None:
        """Another metric of these predictions, in regression their R2; None for classes."""
        return None

    @property
    def bound(self) -> float | None:
        """A lower bound on the sum of the optima over all samples so far; None for a solver without a dual value."""
        duals = [pair.solution()[1].dual for pair in self.pairs]
        return None if None in duals else float(sum(duals))  # type: ignore[arg-type]

    @property
    def n_iter(self) -> int:
        """The number of steps, over all class pairs."""
        return sum(pair.n_iter for pair in self.pairs)

    @property
    def n_support(self) -> int:
        """The number of non-zero weights, over all class pairs."""
        return sum(pair.info.n_support for pair in self.pairs if pair.info)

    @property
    def n_working(self) -> int:
        """The number of samples that are kept, over all class pairs."""
        return sum(len(pair.members) for pair in self.pairs)

    @property
    def kernel_values(self) -> int:
        """The number of kernel values computed, excluding predictions."""
        return sum(pair.kernel_values for pair in self.pairs)

    @property
    def seconds(self) -> float:
        """The time spent learning."""
        return sum(pair.seconds for pair in self.pairs)

    def model(self) -> SVMModel:
        """Return the model so far, without a pass over the data; classes without samples lose against all others."""
        return self._join()[0]

    def to_fit(self, status: Status) -> Fit:
        """Return the model as a `Fit` of this status; gap and objective are unknown: None, and inf or nan."""
        model, support = self._join()
        solutions = []
        for pair in self.pairs:
            history = self.history if len(self.pairs) == 1 else History()
            point, certificate = pair.solution()
            solutions.append(Solution(point, status, pair.n_iter, pair.seconds, certificate, history))
        return Fit(model, solutions, support, self.seconds, self.kernel_values)

    def _join(self) -> tuple[SVMModel, np.ndarray]:
        """Return the model, and the numbers of its support vectors in the stream."""
        if not self.received:
            raise InputError("no samples have arrived: there is no model yet")
        rows, decisions = join(self.pairs)
        if rows is None:
            nothing = np.empty((0, self.input.n_features))
            empty = sp.csr_array(nothing) if self.input.sparse else nothing
            rows = Rows(empty, *[np.empty(0, dtype=np.int64)] * 3)
        form, settings = self.input, self.method.settings
        X = pad_or_refuse_columns(rows.X, form.n_features, pad=True)
        targets = np.zeros(len(rows.y)) if self.task.has_targets else None
        answers = Answers(self.classes, rows.y.astype(np.int64), targets)
        data = TrainingData(X, X, answers, rows.C, form.kernel, form.preprocessing, 0, self.task)
        parts = (part for d in decisions for part in (d.intercept, d.coef, d.w) if part is not None)
        if not all(np.isfinite(part).all() for part in parts):
            raise NotFinite(self.solver.name)
        objective = self.method.objective(data.kernel)
        about = {"solver": self.solver.name, "C": float(settings.C), "minimised": objective}
        model, support = data.model(decisions, about)
        return replace(model, about=model.about | {"n_samples": self.before + self.samples}), rows.ids[support]


class OnlineRegression(Online):
    """A regression function that learns from blocks of samples, each used once, in the order of arrival.

    The first block fixes the same as in `Online`, and the unit of the targets, on which the step size depends. The
    options are those of `Online`, without classes and their weights, plus `epsilon`, half the width of the tube within
    which an error costs nothing; the solver has to support regression: sgd, pegasos, folos. `score` is the R2 of
    predictions made before their samples were learned.
    """

    task: ClassVar[Task] = Regression()
    _counts: ClassVar[tuple[str, ...]] = ("tested", "_squares", "_mean", "_spread")

    def __init__(
        self,
        *,
        solver: str | Solver = defaults.STREAM_OF_TARGETS,
        kernel: Kernel,
        max_support: int | None = None,
        start: SVMModel | None = None,
        **given: Any,
    ) -> None:
        self._squares = self._mean = self._spread = 0.0  # of errors; of targets, with their mean (Welford)
        self._set_up((), solver, kernel, max_support, start, **given)

    def _answers(self, y: Any, n_samples: int) -> Answers:
        targets = as_targets(y, n_samples=n_samples, varied=False)
        return Answers(self.classes, np.zeros(n_samples, dtype=np.int64), targets)

    def _test(self, predicted: np.ndarray, targets: np.ndarray) -> None:
        n, mean = len(targets), float(targets.mean())
        total, step = self.tested + n, mean - self._mean
        self._squares += float(np.square(predicted - targets).sum())
        self._spread += float(np.square(targets - mean).sum()) + step * step * self.tested * n / total
        self._mean += step * n / total
        self.tested = total

    @property
    def accuracy(self) -> None:
        return None

    @property
    def score(self) -> float | None:
        return 1.0 - self._squares / self._spread if self._spread > 0.0 else None
