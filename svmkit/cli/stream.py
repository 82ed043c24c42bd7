"""`svmkit train -`: svmlight samples from standard input, each looked at once, as they come."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import IO, Any

import numpy as np

from svmkit.cli import progress
from svmkit.cli.common import note
from svmkit.cli.job import Job
from svmkit.data import Dataset, load, scaling
from svmkit.data.features import pad_or_refuse_columns
from svmkit.data.layout import integral, settled
from svmkit.data.sources import find
from svmkit.data.stream import SvmlightStream
from svmkit.errors import InputError, SvmkitError
from svmkit.runtime import interrupt
from svmkit.runtime.interrupt import Flag
from svmkit.solver.history import HistoryPoint
from svmkit.solver.sampler import Cyclic
from svmkit.solver.solution import Status
from svmkit.training.online import Online
from svmkit.training.online_input import require_streamable, streaming_solver
from svmkit.training.result import Fit

NAME = "standard input"
BLOCK = 1024
CURVE_EVERY = 5.0  # seconds between two writes of the curve to the tracker

_REFUSED = {
    "test_size": "rows cannot be held out of a stream: give --test FILE",
    "checkpoint": "a stream cannot be taken up again: leave --checkpoint out",
    "curve": "the accuracy on a stream is measured ahead of learning: leave --curve out",
    "label": "the lines of a stream begin with their label: leave --label out",
    "sampler": "samples are looked at in the order of the stream: leave --sampler out",
    "stop": "how far from optimal the model of a stream is cannot be known: leave --stop out",
    "tol": "how far from optimal the model of a stream is cannot be known: leave --tol out",
    "max_iter": "a stream ends with its lines: cut it (head -n LINES), or give --time-limit",
}
_UNSET = {"curve": False, "tol": 1e-3}


class StreamJob(Job):
    """The options of `svmkit train -`, checked before anything is read.

    classes : "LABEL,LABEL,...", default those of the first block; on_error : "stop" (default) or "skip" at a line that
    cannot be used; block : samples that are taken together, default 1024; the first of these settle gamma and scaling
    """

    def __init__(self, *, classes: str | None, on_error: str | None, block: int | None, **options: Any) -> None:
        for name, reason in _REFUSED.items():
            if options[name] != _UNSET.get(name):
                raise InputError(reason)
        if options["max_epochs"] not in (None, 1):
            raise InputError("a stream is looked at once: leave --max-epochs out")
        super().__init__(**options | {"data": NAME})
        streaming_solver(self.solver)
        require_streamable(self.solver, self.kernel, self.class_weight, options["max_support"])
        if options["test"]:
            find(options["test"])
        if self.start is not None and any(options[name] is not None for name in ("gamma", "degree", "coef0")):
            raise InputError("--resume goes on with the kernel of the model: leave --gamma, --degree and --coef0 out")
        if self.start is not None and options["scale"] != "none":
            raise InputError("--resume goes on with the scaling of the model: leave --scale out")
        self.sampler = Cyclic(1)
        self.block = block or BLOCK
        self.classes = _labels(classes) if classes else None if self.start is None else self.start.classes
        self.stream = SvmlightStream(
            _standard_input(),
            name=NAME,
            n_features=options["n_features"],
            labels=None if self.classes is None else self.classes.tolist(),
            on_error=on_error or "stop",
        )
        self.ending: Status | None = None  # why the stream was left before its end
        self.logged, self.log_at = 0, 0.0  # points of the curve, and when the next ones are due

    def run(self) -> Fit:
        """Learn until the stream ends; then keep, measure and log the model."""
        with interrupt.catching() as flag, progress.live("waiting for the first samples") as show:
            until = self._until(flag)
            self._begin(*self._first(until))
            with self._tracked(None):
                try:
                    for X, y in self.stream.blocks(self.block, until=until):
                        self._learn(X, y, until)
                        self._log_curve()
                        if show:
                            show(self._line())
                except InputError as error:
                    self.failure = error
                self._require_two_classes()
                status = self.ending or (Status.INTERRUPTED if self.failure else Status.MAX_ITER)
                self._read_test()
                fitted = self.online.fitted(status)
                self._finish(fitted)
        if self.stream.first_skipped:
            note(f"skipped {self.stream.skipped:,} lines, the first: {self.stream.first_skipped}")
        return fitted

    def _until(self, flag: Flag) -> Callable[[], bool]:
        self.began = time.monotonic()
        limit = self.options["time_limit"] or math.inf

        def until() -> bool:
            if flag:
                self.ending = Status.INTERRUPTED
            elif time.monotonic() - self.began >= limit:
                self.ending = Status.TIME_LIMIT
            return self.ending is not None

        return until

    def _first(self, until: Callable[[], bool]) -> tuple[Any, np.ndarray]:
        """The first block, a full one however slowly it comes: what it settles must not depend on the clock."""
        block = next(self.stream.blocks(self.block, until=until, patience=math.inf), None)
        if block is None:
            lines, skipped = self.stream.lines, self.stream.first_skipped
            raise self._none("no sample" + (f" in {lines:,} lines; {skipped}" if skipped else ""))
        X, y = block
        if self.classes is None:
            self.classes = integral(np.unique(y))
            if len(self.classes) < 2:
                self._raise_pending()
                raise self._none(
                    f"the first {len(y):,} samples are all of class {self.classes[0]}: announce the classes "
                    "(--classes), or take more samples together (--block)"
                )
            self.stream.labels = self.classes.tolist()
            shown = ", ".join(map(str, self.classes))
            note(f"the classes are those of the first {len(y):,} samples: {shown} (--classes announces others)")
        return X, y

    def _begin(self, X: Any, y: np.ndarray) -> None:
        """Learn the first block, even when it was cut short: without it there is no model."""
        o = self.options
        X = settled(X)
        self.dense = isinstance(X, np.ndarray)
        unscaled = o["scale"] == "none" and self.start is None and self.kernel.form is not None
        hint = scaling.scale_hint(X) if unscaled else None
        if hint:
            note(hint)
        assert not isinstance(self.class_weight, str)
        self.online = Online(
            self.classes,
            solver=self.solver,
            kernel=self.kernel,
            C=o["C"],
            class_weight=self.class_weight,
            scale=o["scale"],
            memory=o["memory"],
            seed=o["seed"],
            max_support=o["max_support"],
            n_threads=o["threads"],
            start=self.start,
        )
        self._learn(X, y)
        self.kernel = self.online.input.kernel
        self.data = Dataset(X[:5], y[:5], NAME)

    def _learn(self, X: Any, y: np.ndarray, until: Callable[[], bool] = lambda: False) -> None:
        self.online.update(X.toarray() if self.dense and not isinstance(X, np.ndarray) else X, y, until=until)

    def _log_curve(self) -> None:
        points, now = self.online.history[self.logged :], time.monotonic()
        if points and now >= self.log_at:
            self.tracker.curve(_measured(points))
            self.logged, self.log_at = self.logged + len(points), now + CURVE_EVERY

    def _line(self) -> str:
        online, rate = self.online, self.stream.lines / max(time.monotonic() - self.began, 1e-9)
        ahead = "" if online.accuracy is None else f"  ahead of learning {online.accuracy:.2%}"
        kept = f"  working set {online.n_working:,}" if online.n_working else ""
        return f"{self.stream.lines:,} lines  {rate:,.0f}/s{kept}{ahead}"

    def _require_two_classes(self) -> None:
        seen, classes = self.online.seen > 0, self.online.classes
        if seen.sum() < 2:
            if self.failure:
                raise self.failure
            raise self._none(f"all {self.online.samples:,} samples are of class {', '.join(map(str, classes[seen]))}")
        if not seen.all():
            note(f"no sample of class {', '.join(map(str, classes[~seen]))} has arrived")

    def _none(self, what: str) -> SvmkitError:
        """There is no model: because of the stream, or because it was left too early."""
        if self.ending:
            return SvmkitError(f"{NAME}: {self.ending} with {what}: there is no model yet")
        return InputError(f"{NAME}: {what}: training needs samples of two classes")

    def _raise_pending(self) -> None:
        """The fault of the line that ended the first block, if one did."""
        next(self.stream.blocks(1, until=lambda: True), None)

    def _read_test(self) -> None:
        o, self.held_out = self.options, None
        if not o["test"]:
            return
        try:
            test = load(o["test"], n_features=o["n_features"])
            self.online.input.widen(test.n_features)
            if test.n_features < self.online.input.n_features:
                test = load(o["test"], n_features=self.online.input.n_features)
            self.held_out = test
        except InputError as error:
            self.failure = self.failure or error

    def _train_accuracy(self) -> float | None:
        return None

    def _scaled(self) -> Any:
        return self.data.X  # gamma is a number already

    def _params(self) -> dict[str, Any]:
        params = super()._params() | {"n": "stream", "d": self.online.input.n_features, "block": self.block}
        return {key: value for key, value in params.items() if key != "tol"}

    def _points(self, fitted: Fit) -> list[HistoryPoint]:
        return _measured(self.online.history[self.logged :])

    def _log(self, fitted: Fit) -> None:
        X = pad_or_refuse_columns(self.data.X, self.online.input.n_features, pad=True)
        self.data = Dataset(X, self.data.y, NAME)
        super()._log(fitted)
        facts = {"samples": self.online.samples, "skipped": self.stream.skipped, "accuracy": self.online.accuracy}
        bound = {"final/dual_objective": fitted.dual_objective}
        known = bound | {f"stream/{name}": value for name, value in facts.items()}
        self.tracker.metrics({name: float(value) for name, value in known.items() if value is not None})

    def result(self, fitted: Fit) -> dict[str, Any]:
        result = super().result(fitted)
        return result | {
            "params": result["params"] | {"tol": None},
            "n_samples": self.online.samples,
            "n_features": self.online.input.n_features,
            "progressive_accuracy": self.online.accuracy,
            "skipped": self.stream.skipped,
        }


def _measured(points: list[HistoryPoint]) -> list[HistoryPoint]:
    """Without objectives that the solver does not know: trackers leave None out."""
    unknown = {"objective": None}
    return [point._replace(**unknown) if math.isnan(point.objective) else point for point in points]  # type: ignore


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
