"""From a fitted model to its report: save it, measure it and log it, after a fit, a stream or a search."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from svmkit.cli.common import note, where
from svmkit.cli.evaluating import probabilities, quality
from svmkit.cli.evaluating.measurement import Measurement, measure
from svmkit.cli.training import lineage
from svmkit.cli.training.sets import Sets
from svmkit.cli.training.tracked import run_params
from svmkit.cli.training.train_options import TrainOptions
from svmkit.errors import InputError, SvmkitError
from svmkit.model.model import SVMModel
from svmkit.runtime import files
from svmkit.scoring.metric import COUNTED, R2, Metric
from svmkit.solver.history import HistoryPoint
from svmkit.tasks import OneClass
from svmkit.tracking import RunRecord, Tracker
from svmkit.training.result import Fit
from svmkit.training.settings import Method


@dataclass(frozen=True)
class Outcome:
    """What a training command has done.

    Attributes
    ----------
    result : dict of str to object
        The keys and values of `svmkit train --json`.
    is_linear : bool
        Whether the model is a weight vector for each class pair.
    where : str
        How to view the run of the tracker: an address, or a command.
    failure : SvmkitError or None
        What went wrong and left the model whole, such as a file that cannot be written: it is raised once the model
        has been reported.
    """

    result: dict[str, Any]
    is_linear: bool
    where: str
    failure: SvmkitError | None = None


@dataclass(frozen=True)
class Job:
    """What a command trains, and on what.

    Attributes
    ----------
    options : TrainOptions
        The options of the command.
    method : Method
        The solver, the kernel and the settings.
    sets : Sets
        The data; the accuracy on the training rows is not known for a stream.
    metric : Metric
        What is measured besides accuracy and balanced accuracy.
    search : str, default="svmkit tune"
        What finds better parameters, for the warning about a model that is no use.
    """

    options: TrainOptions
    method: Method
    sets: Sets
    metric: Metric
    search: str = "svmkit tune"


def finish(
    job: Job,
    tracker: Tracker,
    fitted: Fit,
    *,
    curve: list[dict[str, Any]] | None = None,
    points: Sequence[HistoryPoint] | None = None,
    more: Mapping[str, float | None] | None = None,
    compile_s: float = 0.0,
    train: Measurement | None = None,
) -> Outcome:
    """Save the model, measure it and log it; the model is saved first, so that no later failure loses it.

    A model file that cannot be written becomes the `failure` of the outcome, and the model is written elsewhere.

    Parameters
    ----------
    job : Job
        The options, the method, the data and the metric.
    tracker : Tracker
        The tracker, with an open run.
    fitted : Fit
        The model and how it was found.
    curve : list of dict, default=None
        Accuracy by size for the report (`svmkit.cli.evaluating.size_curve.points`).
    points : sequence of HistoryPoint, default=None
        The points of the history that have not been logged yet; None stands for all points.
    more : mapping of str to float, default=None
        Scalars to log besides those of every run.
    compile_s : float, default=0.0
        Seconds of the fit in which numba compiled.
    train : Measurement, default=None
        What predictions are worth on the training rows of a cluster, which are not here.
    """
    options, method, sets = job.options, job.method, job.sets
    data, keeper = sets.train, Keeper(options)
    record = RunRecord(method.solver, method.kernel, fitted, data.name, sets.n_samples, sets.n_features)
    about: dict[str, Any] = {"seed": options.seed}
    if options.is_kept:
        about |= lineage.of_training(run_params(options, method, fitted.model.kernel, data), sets.sha256)
    model, logged = record.model(data.encoding, about), None
    keeper.save(model)
    try:
        parts = _measure(job, model, train)
        record = _with_scores(record, parts)
        facts: dict[str, Any] = _shares(parts)
        if sets.test is not None:
            facts |= lineage.of_test(sets.test, parts["test"].scores, job.metric, parts["test"].value)
        if facts and options.is_kept:
            model = replace(model, about=model.about | facts)
            keeper.save(model)
        one_class = _outlier_scores(method, fitted)
        scalars = {f"model/{key}": one_class[key] for key in ("rho", "offset") if one_class}
        scalars |= {"dual_objective": fitted.dual_objective} if one_class else {}
        logged = record.log(
            tracker,
            model,
            data.X[:5],
            points=points,
            more={**(more or {}), **_scalars(job.metric, parts), **_shares(parts), **scalars},
            register=options.register,
        )
    finally:
        if options.register and logged is None:
            keeper.keep_for_later(model, options.register)
    is_linear = method.problem_type().is_linear
    warning = _doubt(job, fitted, record, is_linear)
    if warning:
        note(warning)
    result = _result(job, fitted, record, parts) | {
        "warning": warning,
        "compile_s": compile_s,
        "curve": curve,
        "model": keeper.out or (logged if options.register else None),
        "run_id": tracker.run_id,
    }
    return Outcome(result, is_linear, where(tracker.uri), keeper.failure)


def _measure(job: Job, model: SVMModel, train: Measurement | None) -> dict[str, Measurement]:
    """Return what the predictions of a model are worth on the rows for training, if they are here, and for the test."""
    options, sets = job.options, job.sets
    parts = {} if train is None else {"train": train}
    if train is None and not (options.is_stream or options.scheduler):
        parts["train"] = measure(model, sets.train, job.metric, options.threads)
    if sets.test is not None:
        parts["test"] = measure(model, sets.test, job.metric, options.threads)
    return parts


def _with_scores(record: RunRecord, parts: Mapping[str, Measurement]) -> RunRecord:
    train, test = parts.get("train"), parts.get("test")
    return replace(
        record,
        train_scores=None if train is None else train.scores,
        test_scores=None if test is None else test.scores,
        predict_s=next((part.seconds for part in (test, train) if part and part.seconds is not None), None),
    )


def _shares(parts: Mapping[str, Measurement]) -> dict[str, float]:
    """Return the shares of outliers, by the names of the tracker's metrics."""
    return {f"{name}_outliers": part.outliers for name, part in parts.items() if part.outliers is not None}


def _scalars(metric: Metric, parts: Mapping[str, Measurement]) -> dict[str, float | None]:
    """Return metric, log loss and Brier score by full names; accuracy, its balanced one and R2 are logged anyway."""
    values = {} if metric.name in (*COUNTED, R2) else {f"{name}/{metric.name}": of.value for name, of in parts.items()}
    return values | probabilities.scalars({name: part.probabilities for name, part in parts.items()})


def _outlier_scores(method: Method, fitted: Fit) -> dict[str, Any]:
    """Return what only a model of one class has: its loss, the certified rho, and the offset of its scores."""
    if not isinstance(method.task, OneClass):
        return {}
    loss = fitted.model.about["loss"]
    rho = method.task.rho(loss, fitted.solutions[0].certificate)
    return {"loss": loss, "rho": rho, "offset": -float(fitted.model.intercept[0])}


def _doubt(job: Job, fitted: Fit, record: RunRecord, is_linear: bool) -> str | None:
    """Return one line that says why the model is no use; None if nothing speaks against it."""
    if not job.method.task.is_supervised:
        return None
    options, n_samples = job.options, job.sets.n_samples
    return quality.doubt(
        fitted.model,
        train=record.train_scores,
        test=record.test_scores,
        status=fitted.status,
        share=None if is_linear or options.is_stream else quality.vector_share(fitted, n_samples),
        n_samples=n_samples,
        weighted=options.class_weight is not None,
        streamed=options.is_stream,
        search=job.search,
    )


def _result(job: Job, fitted: Fit, record: RunRecord, parts: Mapping[str, Measurement]) -> dict[str, Any]:
    """Return the facts of the fit and of its predictions under the names of `svmkit train --json`."""
    method, sets, none = job.method, job.sets, Measurement(None, None, None)
    about = method.task.about(method, method.settings.C)
    settings = {key: value for key, value in about.items() if key != "loss"}
    settings |= {"tol": job.options.tol, "seed": job.options.seed, "sampler": str(method.sampler)}
    one_class = _outlier_scores(method, fitted)
    if one_class:
        one_class |= {f"{name}_outliers": parts.get(name, none).outliers for name in ("train", "test")}
        one_class |= {"problem": method.problem_type().name, "formulation": method.formulation}
    return record.result() | one_class | {
        "params": settings | method.solver.params,
        "train_accuracy": record.train_accuracy,
        "test_accuracy": record.test_accuracy,
        **record.quantity_scores,
        "metric": job.metric.about() | {name: parts.get(name, none).value for name in ("train", "test")},
        "calibration": probabilities.result(fitted, {name: part.probabilities for name, part in parts.items()}),
        "train_scores": quality.summary(record.train_scores),
        "test_scores": quality.summary(record.test_scores),
        "n_test": 0 if sets.test is None else sets.test.n_samples,
        "details": record.details,
        "label": sets.train.encoding.label_facts if sets.train.encoding else None,
    }  # fmt: skip


class Keeper:
    """Writes the model to the requested file. The first write of a run keeps the old file, unless by --force.

    Attributes
    ----------
    out : str or None
        The file; None as long as there is none.
    failure : SvmkitError or None
        Why the requested file could not be written.
    """

    def __init__(self, options: TrainOptions) -> None:
        self.out = options.out
        self.failure: SvmkitError | None = None
        self._keeps_old = not options.force

    def save(self, model: SVMModel) -> None:
        """Write the model if a file was requested; if that fails, to a file in the folder of temporary files."""
        if not self.out:
            return
        try:
            self._keep_old(self.out)
            model.save(self.out)
        except InputError as error:
            if self.failure is not None:
                return
            reason = str(error).rpartition(";")[0] or str(error)
            self.out = _rescue(model, Path(self.out).name)
            kept = f"the model is in {self.out}" if self.out else "nor is there room in the folder of temporary files"
            self.failure = SvmkitError(f"{reason}; {kept}")

    def _keep_old(self, out: str) -> None:
        """Keep the file of an earlier run; what a later write of this run replaces is its own."""
        keeps, self._keeps_old = self._keeps_old, False
        if keeps and (kept := files.keep_old(out)):
            note(f"{out} was there: the old file is kept as {kept} (--force keeps none)")

    def keep_for_later(self, model: SVMModel, name: str) -> None:
        """Write the model to a file and say how to register it later, since the store did not take it."""
        if not self.out:
            self.out = lineage.claimed_file(name)
            self.save(model)
        file = shlex.quote(self.out)
        note(
            f"not registered; the model is in {self.out}, for later: "
            f"svmkit models register {file} --name {shlex.quote(name)}"
        )


def _rescue(model: SVMModel, name: str) -> str | None:
    """Write a model that its own file could not take to the folder of temporary files; None if that fails too."""
    try:
        folder = tempfile.mkdtemp(prefix="svmkit-model-")
        model.save(Path(folder) / name)
        return str(Path(folder) / name)
    except (InputError, OSError):
        return None
