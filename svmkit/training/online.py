"""Learning from a stream: one model, blocks of samples, each sample looked at once, in the order of arrival."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from svmkit import plugins
from svmkit.data.features import as_features, pad_or_refuse_columns, require_finite
from svmkit.data.labels import as_labels
from svmkit.errors import InputError, SvmkitWarning
from svmkit.kernels.functions import Kernel
from svmkit.kernels.gram import parse_bytes
from svmkit.model.model import SVMModel
from svmkit.model.one_vs_one import class_pairs, pair_coefficients, signed_pair
from svmkit.runtime import interrupt, threads
from svmkit.solver.base import Solver
from svmkit.solver.history import History, HistoryPoint
from svmkit.solver.solution import Solution, Status
from svmkit.training.data import TrainingData
from svmkit.training.online_input import StreamInput, codes_among, require_streamable, streaming_solver
from svmkit.training.online_pair import WAITING, OnlinePair, Rows, joined
from svmkit.training.result import Fit
from svmkit.training.weights import require_C, training_weights


class Online:
    """A model that learns from blocks of samples; two classes, or more by one-versus-one.

    Parameters
    ----------
    classes : labels, two or more, numbers or text
    solver : name or Solver that streams (sfw, msfw; sgd, folos with the linear kernel; pegasos, norma)
    kernel : Kernel; "scale" and the like are resolved on the first block and kept, as is the scaling
    C : > 0, weight of the summed losses; class_weight : None or {label: weight}
    scale : None, standard, minmax or maxabs
    memory : budget of the kept kernel rows, shared by the pairs; seed : of all random choices
    max_support : support vectors of each pair at most; n_threads : default all
    start : SVMModel of the same classes and the same kind of kernel to go on from: its kernel, with its gamma, and its
        scaling are kept, and its support vectors count as the first samples, of weight 1; a solver of weights of the
        columns goes on from those

    Attributes
    ----------
    samples : learned from so far, those of `start` excluded; seen (n_classes,) : samples of each class
    input : kernel and scaling as settled, and the columns so far, which may grow
    history : one HistoryPoint now and then, ever more seldom, with the accuracy so far; its objective is nan of
        solvers that do not know theirs
    """

    def __init__(
        self,
        classes,
        *,
        solver: str | Solver = "sfw",
        kernel: Kernel,
        C: float = 1.0,
        class_weight: dict | None = None,
        scale: str | None = None,
        memory: str | int = "1GB",
        seed: int = 0,
        max_support: int | None = None,
        n_threads: int | None = None,
        start: SVMModel | None = None,
    ) -> None:
        self.solver = streaming_solver(solver)
        require_streamable(self.solver, kernel, class_weight, max_support)
        require_C(C)
        self.classes = np.unique(as_labels(classes, n_samples=np.size(classes)))
        if len(self.classes) < 2:
            raise InputError(f"classes must announce two labels or more, not {self.classes[0]} only")
        training_weights(np.empty(0, dtype=np.int64), self.classes, class_weight, None)
        self.C, self.class_weight = C, class_weight
        self.input = StreamInput(kernel, scale) if start is None else StreamInput.of_model(start)
        pairs = class_pairs(len(self.classes))
        share = max(1, parse_bytes(memory) // len(pairs))
        signed = [signed_pair(a, b, len(self.classes)) for a, b in pairs]
        self.pairs = [
            OnlinePair(plus, minus, self.solver, memory=share, seed=seed, max_support=max_support)
            for plus, minus in signed
        ]
        self.n_threads = n_threads
        self.samples = self.before = self.received = self.tested = self.correct = 0
        self.seen = np.zeros(len(self.classes), dtype=np.int64)
        self.history = History()
        self._warned = False
        if start is not None:
            self._begin(start, kernel.name)

    def _begin(self, model: SVMModel, name: str) -> None:
        if not np.array_equal(model.classes, self.classes) or model.kernel.name != name:
            raise InputError(
                f"cannot go on from a model of the classes {', '.join(map(str, model.classes))} with the kernel "
                f"{model.kernel.name}: classes and kernel must be the same"
            )
        codes = np.repeat(np.arange(len(self.classes)), model.n_support)
        self.before, self.received = int(model.about.get("n_samples", 0)), len(codes)
        seen = round(self.before * 2 / len(self.classes))
        if self.solver.problem_for(self.input.kernel).is_linear:
            self.seen[:] = 1
            for pair, w, intercept in zip(self.pairs, model.weights, model.intercept, strict=True):
                pair.begin_weights(w, float(intercept), seen)
            return
        self._require_vectors(model)
        self.seen = model.n_support.astype(np.int64)
        weights = self.C * training_weights(codes, self.classes, self.class_weight, None)
        for (a, b), pair in zip(class_pairs(len(self.classes)), self.pairs, strict=True):
            at, coef = pair_coefficients(model.coef, codes, a, b)
            at, coef = at[coef != 0.0], coef[coef != 0.0]
            if len(at):
                rows = Rows(model.vectors[at], pair.signs(codes[at]), weights[at], at)
                pair.begin(rows, coef, self.input.kernel, seen)

    def _require_vectors(self, model: SVMModel) -> None:
        """InputError for a model whose only vectors are weights of the columns: they are no samples."""
        made = model.about.get("solver")
        if made in plugins.names("solver") and plugins.load("solver", made).problem_for(model.kernel).is_linear:
            raise InputError(
                f"cannot go on from a model of {made} with {self.solver.name}: it has weights of the columns and no "
                f"support vectors; go on with {made}, or start anew"
            )

    def update(self, X, y, sample_weight=None, *, test: bool = True, until: Callable[[], bool] = lambda: False) -> int:
        """Learn from a block: X (n, d), dense or CSR, y (n,) of announced labels, sample_weight (n,) >= 0.

        test : predict the block first, with the model so far; the first block cannot be
        until : asked before each step; once true (or after Ctrl-C meanwhile) the rest of the block is passed over

        Returns how many samples were learned from: n unless it was cut short.
        Raises InputError, with the model as it was, for NaN, for labels that are not announced, and for weights that
        cannot be used. Columns that are new count as zeros in all rows before.
        """
        X = as_features(X)
        codes = codes_among(self.classes, y, X.shape[0])
        with np.errstate(over="ignore"):
            weights = self.C * training_weights(codes, self.classes, self.class_weight, sample_weight)
        if not np.isfinite(weights).all():
            raise InputError("C times class and sample weight must be finite for every sample: lower C or the weights")
        require_finite(X)
        settled = self.input.after(X)
        X, scaled = settled.bring(X)
        self.input = settled  # not before the block has passed every check
        with threads.using(self.n_threads), interrupt.catching() as flag:
            before = bool(flag)
            if test and self.received:
                self.tested += len(codes)
                self.correct += int((self.model().predict(X) == self.classes[codes]).sum())
            learned = len(codes)
            for pair in self.pairs:
                at = np.flatnonzero(((codes == pair.plus) | (codes == pair.minus)) & (weights > 0))
                if len(at):
                    rows = Rows(scaled[at], pair.signs(codes[at]), weights[at], self.received + at)
                    left = pair.learn(rows, self.input.kernel, lambda: (bool(flag) and not before) or until())
                    if left:
                        learned = int(at[-left])
                        break
        self.seen += np.bincount(codes[:learned], minlength=len(self.classes))
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

    def widen(self, n_features: int) -> None:
        """Take at least as many columns from now on; new columns count as zeros in all samples before."""
        self.input = self.input.widen(n_features)

    def _record(self) -> None:
        before = self.history[-1].n_iter if self.history else 0
        if self.n_iter >= max(1, before + before // 32):
            objective = sum(pair.info.objective for pair in self.pairs if pair.info)  # nan where solvers do not know
            point = HistoryPoint(self.n_iter, self.seconds, objective, None, self.n_support, self.kernel_values)
            self.history.append(point._replace(accuracy=self.accuracy))

    @property
    def accuracy(self) -> float | None:
        """Of predictions for each block made before learning from it; None before the second block."""
        return self.correct / self.tested if self.tested else None

    @property
    def bound(self) -> float | None:
        """Lower bound on the sum of the optima over all samples so far; None for a solver that has none."""
        duals = [pair.solution()[1].dual for pair in self.pairs]
        return None if None in duals else float(sum(duals))  # type: ignore[arg-type]

    @property
    def n_iter(self) -> int:
        """Steps, over all pairs."""
        return sum(pair.n_iter for pair in self.pairs)

    @property
    def n_support(self) -> int:
        """Non-zero weights, over all pairs."""
        return sum(pair.info.n_support for pair in self.pairs if pair.info)

    @property
    def n_working(self) -> int:
        """Rows that are kept, over all pairs."""
        return sum(len(pair.members) for pair in self.pairs)

    @property
    def kernel_values(self) -> int:
        """How many were computed, predictions excluded."""
        return sum(pair.kernel_values for pair in self.pairs)

    @property
    def seconds(self) -> float:
        """Time spent learning."""
        return sum(pair.seconds for pair in self.pairs)

    def model(self) -> SVMModel:
        """The model so far, without a pass over the data. Classes not seen yet lose against those that were."""
        return self._joined()[0]

    def fitted(self, status: Status) -> Fit:
        """The model and how it came about, as `svmkit.fit` tells it: gap None, primal value inf or nan (not known)."""
        model, support = self._joined()
        solutions = []
        for pair in self.pairs:
            history = self.history if len(self.pairs) == 1 else History()
            point, certificate = pair.solution()
            solutions.append(Solution(point, status, pair.n_iter, pair.seconds, certificate, history))
        return Fit(model, solutions, support, self.seconds, self.kernel_values)

    def _joined(self) -> tuple[SVMModel, np.ndarray]:
        """The model, and the numbers of its support vectors in the stream."""
        if not self.received:
            raise InputError("no samples have arrived: there is no model yet")
        rows, models = joined(self.pairs)
        if rows is None:
            rows = Rows(self.input.no_rows(), *[np.empty(0, dtype=np.int64)] * 3)
        X = pad_or_refuse_columns(rows.X, self.input.n_features, pad=True)
        data = TrainingData(X, X, self.classes, rows.y, rows.C, self.input.kernel, self.input.scaling, 0)
        model, support = data.model(models, {"solver": self.solver.name, "C": float(self.C)})
        return replace(model, about=model.about | {"n_samples": self.before + self.samples}), rows.ids[support]
