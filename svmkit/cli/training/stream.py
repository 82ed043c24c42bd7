"""`svmkit train -`: svmlight samples from standard input, each used once for learning, as they arrive."""

from __future__ import annotations

import math
import sys
import time
from dataclasses import replace
from typing import IO, Any

import numpy as np

from svmkit import tracking
from svmkit.cli.common import closing, note, open_tracker
from svmkit.cli.training.finish import Job, Outcome, finish
from svmkit.cli.training.saving import run_params
from svmkit.cli.training.sets import Sets, advise_scaling
from svmkit.cli.training.train_options import TrainOptions
from svmkit.data import Dataset, load
from svmkit.data.formats.layout import densify, integral
from svmkit.data.formats.stream import SvmlightStream
from svmkit.data.places.sources import find
from svmkit.data.prepare.features import pad_or_refuse_columns
from svmkit.errors import InputError, SvmkitError
from svmkit.model.model import SVMModel
from svmkit.runtime import interrupt
from svmkit.runtime.progress import live
from svmkit.scoring.metric import Metric
from svmkit.solver.history import HistoryPoint
from svmkit.solver.sampler import Cyclic
from svmkit.solver.solution import Status
from svmkit.tasks import task_named
from svmkit.tracking import Tracker
from svmkit.training.stream.input import require_streamable, streaming_solver
from svmkit.training.stream.online import Online

NAME = "standard input"
BLOCK = 1024
CURVE_EVERY = 5.0  # seconds between two updates of the curve in the tracker


class StreamJob:
    """One pass over standard input; as much as possible is checked before reading.

    The classes are by default those of the first block, which also fixes gamma and the scaling. Raises InputError: the
    method cannot learn from a stream, or an option is invalid.
    """

    def __init__(self, options: TrainOptions) -> None:
        task = task_named(options.task)
        if not task.is_supervised:
            raise InputError(f"--task {options.task} needs a file: a stream is learnt from by its labels")
        if task.has_targets:
            raise InputError(
                f"--task {options.task} needs a file: to learn targets from a stream, use SVMRegressor.partial_fit"
            )
        method = options.method()
        self.options = options
        self.start = SVMModel.load(options.out) if options.out and options.starts_at_model else None
        streaming_solver(method.solver)
        require_streamable(method, options.max_support)
        if options.test:
            find(options.test)
        if self.start is not None and any(v is not None for v in (options.gamma, options.degree, options.coef0)):
            raise InputError("--resume goes on with the kernel of the model: leave --gamma, --degree and --coef0 out")
        if self.start is not None and options.scale != "none":
            raise InputError("--resume goes on with the scaling of the model: leave --scale out")
        self.method = replace(method, sampler=Cyclic(1))
        self.block = options.block or BLOCK
        self.classes = _labels(options.classes) if options.classes else None
        if self.start is not None and self.classes is None:
            self.classes = self.start.classes
        self.stream = SvmlightStream(
            _standard_input(),
            name=NAME,
            n_features=options.n_features,
            labels=None if self.classes is None else self.classes.tolist(),
            on_error=options.on_error or "stop",
        )
        self.ending: Status | None = None  # why reading ended before the end of the stream
        self.failure: InputError | None = None  # an error of the input, raised after the model has been reported
        self.logged = 0  # points of the curve that have been logged

    def run(self) -> Outcome:
        """Learn until the stream ends; then save, measure and log the model."""
        with interrupt.catching(to_end=True) as self.flag, live("waiting for the first samples") as show:
            self.began = time.monotonic()
            self._begin(*self._first())
            # the number of samples is unknown, and there is no tolerance
            params = run_params(self.options, self.method, self.few)
            params |= {"n": "stream", "d": self.online.input.n_features, "block": self.block}
            params.pop("tol", None)
            with closing(open_tracker(self.options)) as tracker:
                solver, log_at = self.method.solver, 0.0
                tracker.start(f"{solver.name} {NAME}", params, tracking.tags(solver))
                try:
                    for X, y in self.stream.blocks(self.block, until=self._is_over):
                        X = X.toarray() if self.dense and not isinstance(X, np.ndarray) else X
                        self.online.update(X, y, until=self._is_over)
                        points, now = self._new_points(), time.monotonic()
                        if points and now >= log_at:
                            tracker.curve(points)
                            self.logged, log_at = self.logged + len(points), now + CURVE_EVERY
                        if show:
                            show(self._line())
                except InputError as error:
                    self.failure = error
                outcome = self._finish(tracker)
        if self.stream.first_skipped:
            note(f"skipped {self.stream.skipped:,} lines, the first: {self.stream.first_skipped}")
        return outcome

    def _finish(self, tracker: Tracker) -> Outcome:
        """Return the outcome, with the facts specific to a stream."""
        online, stream = self.online, self.stream
        seen, classes = online.seen > 0, online.classes
        if seen.sum() < 2:
            raise self.failure or self._none(
                f"all {online.samples:,} samples are of class {', '.join(map(str, classes[seen]))}"
            )
        if not seen.all():
            note(f"no sample of class {', '.join(map(str, classes[~seen]))} has arrived")
        status = self.ending or (Status.INTERRUPTED if self.failure else Status.MAX_ITER)
        test = self._test()
        fitted = online.to_fit(status)
        example = Dataset(pad_or_refuse_columns(self.few.X, online.input.n_features, pad=True), self.few.y, NAME)
        facts = {"samples": online.samples, "skipped": stream.skipped, "accuracy": online.accuracy}
        sets = Sets(example, test, online.samples, online.input.n_features)
        metric = Metric.from_name(self.options.metric, online.classes, online.seen, self.method.settings.class_weight)
        outcome = finish(
            Job(self.options, self.method, sets, metric),
            tracker,
            fitted,
            points=self._new_points(),
            more={"dual_objective": fitted.dual_objective} | {f"stream/{key}": fact for key, fact in facts.items()},
        )
        of_stream = {"progressive_accuracy": online.accuracy, "skipped": stream.skipped}
        params = outcome.result["params"] | {"tol": None}
        return replace(
            outcome, result=outcome.result | {"params": params} | of_stream, failure=self.failure or outcome.failure
        )

    def _is_over(self) -> bool:
        """Return whether reading has to end before the end of the stream."""
        if self.flag:
            self.ending = Status.INTERRUPTED
        elif time.monotonic() - self.began >= (self.options.time_limit or math.inf):
            self.ending = Status.TIME_LIMIT
        return self.ending is not None

    def _first(self) -> tuple[Any, np.ndarray]:
        """Return the first block, full however slowly it arrives: gamma and scaling must not depend on timing."""
        block = next(self.stream.blocks(self.block, until=self._is_over, patience=math.inf), None)
        if block is None:
            lines, skipped = self.stream.lines, self.stream.first_skipped
            raise self._none("no sample" + (f" in {lines:,} lines; {skipped}" if skipped else ""))
        X, y = block
        if self.classes is None:
            self.classes = integral(np.unique(y))
            if len(self.classes) < 2:
                next(self.stream.blocks(1, until=lambda: True), None)  # raises the error of a line that ended the block
                raise self._none(
                    f"the first {len(y):,} samples are all of class {self.classes[0]}: announce the classes "
                    "(--classes), or take more samples together (--block)"
                )
            self.stream.labels = self.classes.tolist()
            shown = ", ".join(map(str, self.classes))
            note(f"the classes are those of the first {len(y):,} samples: {shown} (--classes announces others)")
        return X, y

    def _begin(self, X: Any, y: np.ndarray) -> None:
        """Learn from the first block, even if it is incomplete, since there is no model without it."""
        options, method = self.options, self.method
        X = densify(X)
        self.dense = isinstance(X, np.ndarray)
        if self.start is None:
            advise_scaling(X, options, method.kernel)
        shared = ("C", "class_weight", "scale", "memory", "seed", "n_threads", "device")
        given = {name: getattr(method.settings, name) for name in shared}
        given |= {"solver": method.solver, "kernel": method.kernel, "max_support": options.max_support}
        self.online = Online(self.classes, **given, start=self.start)
        Metric.from_name(options.metric, self.online.classes, self.online.seen + 1)  # the metric may be unsuitable
        self.online.update(X, y, until=lambda: False)
        self.method = replace(method, kernel=self.online.input.kernel)
        self.few = Dataset(X[:5], y[:5], NAME)

    def _new_points(self) -> list[HistoryPoint]:
        """Return the points not yet logged, unknown objectives as None, which trackers omit."""
        unknown: dict[str, Any] = {"objective": None}
        points = self.online.history[self.logged :]
        return [point._replace(**unknown) if math.isnan(point.objective) else point for point in points]

    def _line(self) -> str:
        online, rate = self.online, self.stream.lines / max(time.monotonic() - self.began, 1e-9)
        ahead = "" if online.accuracy is None else f"  ahead of learning {online.accuracy:.2%}"
        kept = f"  working set {online.n_working:,}" if online.n_working else ""
        return f"{self.stream.lines:,} lines  {rate:,.0f}/s{kept}{ahead}"

    def _none(self, what: str) -> SvmkitError:
        """Return the error for a run without a model: the stream had too few samples, or reading ended too early."""
        if self.ending:
            return SvmkitError(f"{NAME}: {self.ending} with {what}: there is no model yet")
        return InputError(f"{NAME}: {what}: training needs samples of two classes")

    def _test(self) -> Dataset | None:
        """Return the test set with the columns of the stream; an unusable one becomes the `failure` of the job."""
        options = self.options
        if not options.test:
            return None
        try:
            test = load(options.test, n_features=options.n_features)
            self.online.widen(test.n_features)
            if test.n_features < self.online.input.n_features:
                test = load(options.test, n_features=self.online.input.n_features)
            return test
        except InputError as error:
            self.failure = self.failure or error
            return None


def _standard_input() -> IO[bytes]:
    if sys.stdin is None:
        raise InputError(f"{NAME} is closed: pipe svmlight lines into svmkit train -")
    if sys.stdin.isatty():
        note("reading svmlight lines from the terminal; Ctrl-D ends them")
    return sys.stdin.buffer


def _labels(text: str) -> np.ndarray:
    try:
        labels = integral(np.unique([float(part) for part in text.split(",")]))
    except ValueError:
        labels = np.empty(0)
    if len(labels) < 2 or labels.dtype.kind == "f":
        raise InputError(f"--classes {text!r}: name two labels or more, whole numbers, as in -1,1")
    return labels
