"""One training run of the command line: read, hold out, track, fit, score, save."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from svmkit import plugins, tracking
from svmkit.cli import curve, lineage, progress
from svmkit.cli.common import accuracy, labels_of, note, require_model_name, where
from svmkit.cli.options import class_weights, key_values, stop_rules
from svmkit.data import Dataset, load, scaling
from svmkit.data.splitting import split
from svmkit.errors import InputError
from svmkit.kernels.functions import Kernel
from svmkit.kernels.gram import parse_bytes
from svmkit.model.model import SVMModel
from svmkit.runtime import files, threads
from svmkit.solver import by_name
from svmkit.solver.history import HistoryPoint
from svmkit.tracking import Tracker
from svmkit.training.checkpoint import Checkpoint
from svmkit.training.result import Fit
from svmkit.training.train import fit


class Job:
    """The options of `svmkit train`, checked before any data is read."""

    def __init__(self, *, data: str, option: list[str], **options: Any) -> None:
        self.source, self.options = data, options
        o = options
        values = key_values(option, "-o")
        self.solver = plugins.build(
            "solver", o["solver"], {k: v for k, v in values.items() if not k.startswith("kernel.")}
        )
        named = {k: o[k] for k in ("gamma", "degree", "coef0") if o[k] is not None}
        named |= {k.removeprefix("kernel."): v for k, v in values.items() if k.startswith("kernel.")}
        name = by_name.kernel(None, for_solver=self.solver).name if o["kernel"] is None else o["kernel"]
        self.kernel = plugins.build("kernel", name, named)
        self.solver.check_kernel(self.kernel)
        self.sampler = by_name.sampler(o["sampler"]) or self.solver.sampler
        self.rules = stop_rules(
            o["tol"], o["stop"], {k: o[k] for k in ("max_iter", "max_epochs", "time_limit", "max_support")}
        )
        self.class_weight = class_weights(o["class_weight"])
        if o["test"] and o["test_size"] is not None:
            raise InputError("give --test or --test-size, not both")
        if o["test_size"] is not None and not 0 < o["test_size"] < 1:
            raise InputError(f"--test-size must be between 0 and 1, not {o['test_size']}")
        if o["resume"] and not (o["checkpoint"] or o["out"]):
            raise InputError("--resume needs --checkpoint FILE, or --out MODEL to start from")
        if o["curve"] and not o["test"] and o["test_size"] is None:
            raise InputError("--curve needs --test or --test-size to measure on")
        if not (o["C"] > 0 and np.isfinite(o["C"])):
            raise InputError(f"-C must be a finite number > 0, not {o['C']}")
        scaling_kinds = ("none", *scaling.KINDS)
        if o["scale"] not in scaling_kinds:
            raise InputError(f"--scale {o['scale']!r} is not known; there are: {', '.join(scaling_kinds)}")
        if o["register"] is not None and o["no_track"]:
            raise InputError("--register needs the tracker: leave --no-track out")
        if o["register"] is not None:
            require_model_name(o["register"])
        parse_bytes(o["memory"])
        with threads.using(o["threads"]):
            pass
        for path in (o["out"], o["checkpoint"]):
            if path:
                files.require_writable(path)
        self.start = SVMModel.load(o["out"]) if o["resume"] and not o["checkpoint"] else None
        self.tracker = Tracker()
        self.scores: dict[str, Any] = {}
        self.predict_s: float | None = None
        self.curve: list[dict[str, Any]] | None = None
        self.data_sha256: str | None = None
        self.logged_as: str | None = None  # where the tracker has the model
        self.failure: InputError | None = None  # of the input, once there is a model to report

    def run(self) -> Fit:
        """Do the work; a tracker that fails costs a warning, never the model."""
        o = self.options
        self._read()
        saver = Checkpoint(o["checkpoint"], resume=o["resume"]) if o["checkpoint"] else None
        with self._tracked(self.data), progress.shown(self.data.n_samples) as watch:
            fitted = fit(
                self.data.X,
                self.data.y,
                solver=self.solver,
                kernel=self.kernel,
                C=o["C"],
                sampler=self.sampler,
                stop=self.rules,
                class_weight=self.class_weight,
                scale=o["scale"],
                memory=o["memory"],
                seed=o["seed"],
                n_threads=o["threads"],
                start=self.start,
                validation=self._validation(),
                watch=watch,
                checkpoint=saver,
            )
            self.curve = curve.points(fitted)
            self._finish(fitted)
        return fitted

    def _finish(self, fitted: Fit) -> None:
        """Keep the model, measure it, log it: whatever ends this early, the model is kept first."""
        self.model = self._described(fitted)
        self._save()
        try:
            self._score(fitted)
            if self.held_out is not None and self._kept:
                measured = lineage.of_test(self.held_out, self.scores["test_accuracy"])
                self.model = replace(self.model, about=self.model.about | measured)
                self._save()
            self._log(fitted)
        finally:
            if self.options["register"] and self.logged_as is None:
                self._keep_for_later()

    @property
    def _kept(self) -> bool:
        """Whether anybody will see the model after this process."""
        return bool(self.options["out"]) or not self.options["no_track"]

    def _save(self) -> None:
        if self.options["out"]:
            self.model.save(self.options["out"])

    def _keep_for_later(self) -> None:
        """The model in a file and how to register it, when the store did not take it."""
        o = self.options
        if not o["out"]:
            o["out"] = lineage.claimed_file(o["register"])
            self._save()
        name, file = shlex.quote(o["register"]), shlex.quote(o["out"])
        note(f"not registered; the model is in {o['out']}, for later: svmkit models register {file} --name {name}")

    @contextmanager
    def _tracked(self, data: Dataset | None) -> Iterator[None]:
        """What happens inside is a run of the tracker: FINISHED, KILLED by Ctrl-C, or FAILED."""
        o, status = self.options, "FAILED"
        if not o["no_track"]:
            self.tracker = tracking.tracker(o["tracking_uri"], o["experiment"])
            self.tracker.start(self._title(), self._params(), tracking.tags(self.solver), data)
        try:
            yield
            status = "FINISHED"
        except KeyboardInterrupt:
            status = "KILLED"
            raise
        finally:
            self.tracker.end(status)

    def _read(self) -> None:
        o = self.options
        label = int(o["label"]) if o["label"] and o["label"].lstrip("-").isdigit() else o["label"]
        self.data = load(self.source, label=label, n_features=o["n_features"])
        self.held_out: Dataset | None = None
        if o["test"]:
            d = self.data
            self.held_out = load(o["test"], n_features=d.n_features, encoding=d.encoding)
        elif o["test_size"]:
            self.data, self.held_out = split(self.data, o["test_size"], o["seed"])
        if self._kept:
            self.data_sha256 = self.data.fingerprint()
        hint = scaling.scale_hint(self.data.X) if o["scale"] == "none" and self.kernel.form is not None else None
        if hint:
            note(hint)

    def _validation(self) -> tuple[Any, np.ndarray] | None:
        """Test rows to measure the growing model on, where that was asked for or the model may not grow for ever."""
        o = self.options
        if self.held_out is None or not (o["curve"] or o["max_support"]):
            return None
        return self.held_out.X, labels_of(self.held_out)

    def _described(self, fitted: Fit) -> SVMModel:
        """The model with what it was made from: how to read its tables, its certificate, its lineage."""
        about = fitted.model.about | {
            "data": self.data.name,
            "gap": fitted.gap,
            "status": str(fitted.status),
            "objective": fitted.objective,
            "seed": self.options["seed"],
        }
        if self._kept:
            about |= lineage.of_training(self._settings(fitted.model.kernel), self.data_sha256)
        return replace(fitted.model, encoding=self.data.encoding, about=about)

    def _score(self, fitted: Fit) -> None:
        self.scores = {"train_accuracy": self._train_accuracy(), "test_accuracy": None, "n_test": 0}
        if self.held_out is not None:
            self.scores["test_accuracy"] = self._accuracy(self.held_out)
            self.scores["n_test"] = self.held_out.n_samples

    def _train_accuracy(self) -> float | None:
        return self._accuracy(self.data)

    def _accuracy(self, data: Dataset) -> float:
        """Accuracy on `data`; `predict_s` is the time that the last of these took."""
        began = time.perf_counter()
        predicted = self.model.predict(data.X, n_threads=self.options["threads"])
        self.predict_s = time.perf_counter() - began
        return accuracy(predicted, labels_of(data))

    def _title(self) -> str:
        """Of the run."""
        return f"{self.solver.name} {self.data.name}"

    def _params(self) -> dict[str, Any]:
        """Of the run."""
        return self._settings(self.kernel.resolve(self._scaled()) if "gamma" in self.kernel.params else self.kernel)

    def _settings(self, kernel: Kernel) -> dict[str, Any]:
        o = self.options
        budgets = {key: o[key] for key in ("stop", "max_iter", "max_epochs", "time_limit", "max_support")}
        return tracking.params(
            self.solver,
            kernel,
            o["C"],
            self.data,
            **{key: o[key] for key in ("tol", "seed", "scale", "memory", "class_weight")},
            sampler=str(self.sampler),
            **budgets,
        )

    def _scaled(self) -> Any:
        kind = self.options["scale"]
        return self.data.X if kind == "none" else scaling.Scaling.fit(kind, self.data.X).apply(self.data.X)

    def _log(self, fitted: Fit) -> None:
        accuracies = {key: self.scores[key] for key in ("train_accuracy", "test_accuracy")}
        self.tracker.metrics(tracking.metrics(fitted, predict_s=self.predict_s, **accuracies))
        self.tracker.curve(self._points(fitted))
        self.logged_as = self.tracker.model(self.model, self.data.X[:5], self.options["register"])

    def _points(self, fitted: Fit) -> list[HistoryPoint]:
        return tracking.curve(fitted)

    def result(self, fitted: Fit) -> dict[str, Any]:
        """The keys of `svmkit train --json`."""
        o = self.options
        return {
            "solver": self.solver.name,
            "problem": self.solver.problem_for(self.kernel).name,
            "kernel": {"name": self.model.kernel.name, "params": self.model.kernel.params},
            "params": {"C": o["C"], "tol": o["tol"], "seed": o["seed"], "sampler": str(self.sampler)}
            | self.solver.params,
            "data": self.data.name,
            "n_samples": self.data.n_samples,
            "n_features": self.data.n_features,
            "classes": self.model.classes,
            "status": str(fitted.status),
            "n_iter": fitted.n_iter,
            "fit_s": fitted.seconds,
            "n_support": len(fitted.support),
            "objective": fitted.objective,
            "dual_objective": fitted.dual_objective,
            "gap": fitted.gap,
            "kernel_values": fitted.kernel_values,
            "train_accuracy": self.scores["train_accuracy"],
            "test_accuracy": self.scores["test_accuracy"],
            "n_test": self.scores["n_test"],
            "curve": self.curve,
            "details": tracking.details(fitted),
            "model": o["out"] or (self.logged_as if o["register"] else None),
            "run_id": self.tracker.run_id,
        }

    def where(self) -> str:
        """How to look at the run."""
        return where(self.tracker.uri)
