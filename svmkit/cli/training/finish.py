"""From a fitted model to its report: save it, measure it and log it, after a fit, a stream or a search."""

from __future__ import annotations

import shlex
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from svmkit.cli.common import labels_of, note, where
from svmkit.cli.evaluating import probabilities, quality
from svmkit.cli.training import lineage
from svmkit.cli.training.sets import Sets
from svmkit.cli.training.train_options import Method, TrainOptions
from svmkit.data import Dataset
from svmkit.data.classes import REGRESS
from svmkit.errors import InputError, SvmkitError
from svmkit.model.model import SVMModel
from svmkit.model.predictions import predict_with_scores
from svmkit.runtime import files
from svmkit.scoring.metric import COUNTED, OF_PROBABILITIES, R2, Metric
from svmkit.scoring.probability_scores import ProbabilityScores
from svmkit.scoring.quantities import QuantityScores, scores_of
from svmkit.scoring.scores import Scores
from svmkit.solver.history import HistoryPoint
from svmkit.tracking import RunRecord, Tracker
from svmkit.training.result import Fit


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


def finish(
    fitted: Fit,
    options: TrainOptions,
    method: Method,
    sets: Sets,
    tracker: Tracker,
    metric: Metric,
    *,
    curve: list[dict[str, Any]] | None = None,
    points: Sequence[HistoryPoint] | None = None,
    more: Mapping[str, float | None] | None = None,
    compile_s: float = 0.0,
    search: str = "svmkit tune",
    train_scores: Scores | None = None,
) -> Outcome:
    """Save the model, measure it and log it; the model is saved first, so that no later failure loses it.

    A model file that cannot be written becomes the `failure` of the outcome, and the model is written elsewhere.

    Parameters
    ----------
    fitted : Fit
        The model and how it was found.
    options : TrainOptions
        The options of the command.
    method : Method
        The method that was used.
    sets : Sets
        The data; the accuracy on the training rows is not known for a stream.
    tracker : Tracker
        The tracker, with an open run.
    metric : Metric
        What is measured besides accuracy and balanced accuracy.
    curve : list of dict, default=None
        Accuracy by size for the report (`svmkit.cli.evaluating.size_curve.points`).
    points : sequence of HistoryPoint, default=None
        The points of the history that have not been logged yet; None stands for all points.
    more : mapping of str to float, default=None
        Scalars to log besides those of every run.
    compile_s : float, default=0.0
        Seconds of the fit in which numba compiled.
    search : str, default="svmkit tune"
        What finds better parameters, for the warning about a model that is no use.
    train_scores : Scores, default=None
        What predictions are worth on the training rows of a cluster, which are not here.
    """
    data, keeper = sets.train, Keeper(options)
    record = RunRecord(method.solver, method.kernel, fitted, data.name, sets.n_samples, sets.n_features)
    about: dict[str, Any] = {"seed": options.seed}
    if options.is_kept:
        about |= lineage.of_training(method.params(fitted.model.kernel, data, options), sets.sha256)
    model, logged = record.model(data.encoding, about), None
    keeper.save(model)
    try:
        record, values, of_probabilities = _measured(record, model, sets, options, metric, train_scores)
        if sets.test is not None and record.test_scores is not None and options.is_kept:
            model = replace(
                model, about=model.about | lineage.of_test(sets.test, record.test_scores, metric, values.get("test"))
            )
            keeper.save(model)
        logged = record.log(
            tracker,
            model,
            data.X[:5],
            points=points,
            more={**(more or {}), **_scalars(metric, values), **probabilities.scalars(of_probabilities)},
            register=options.register,
        )
    finally:
        if options.register and logged is None:
            keeper.keep_for_later(model, options.register)
    is_linear = method.solver.problem_of(method.kernel, fitted.model.task).is_linear
    warning = quality.doubt(
        fitted.model,
        train=record.train_scores,
        test=record.test_scores,
        status=fitted.status,
        share=None if is_linear or options.is_stream else quality.vector_share(fitted, sets.n_samples),
        n_samples=sets.n_samples,
        weighted=method.class_weight is not None,
        streamed=options.is_stream,
        search=search,
    )
    if warning:
        note(warning)
    settings = {"C": method.C, "tol": options.tol, "seed": options.seed, "sampler": str(method.sampler)}
    settings |= {"epsilon": method.epsilon} if fitted.model.task == REGRESS and options.nu is None else {}
    result = record.result() | {
        "params": settings | method.solver.params,
        "train_accuracy": record.train_accuracy,
        "test_accuracy": record.test_accuracy,
        **record.quantity_scores,
        "metric": metric.about() | {"train": values.get("train"), "test": values.get("test")},
        "calibration": probabilities.result(fitted, of_probabilities),
        "train_scores": quality.summary(record.train_scores),
        "test_scores": quality.summary(record.test_scores),
        "warning": warning,
        "compile_s": compile_s,
        "n_test": 0 if sets.test is None else sets.test.n_samples,
        "curve": curve,
        "details": record.details,
        "label": data.encoding.label_facts if data.encoding else None,
        "model": keeper.out or (logged if options.register else None),
        "run_id": tracker.run_id,
    }
    return Outcome(result, is_linear, where(tracker.uri), keeper.failure)


def _measured(
    record: RunRecord,
    model: SVMModel,
    sets: Sets,
    options: TrainOptions,
    metric: Metric,
    train_scores: Scores | None,
) -> tuple[RunRecord, dict[str, float | None], dict[str, ProbabilityScores | None]]:
    """Return the record with the scores of predictions and the seconds of the last one, the metric by set and more.

    The third are the scores of probabilities by set, empty for a model without them.
    """
    values: dict[str, float | None] = {}
    found_probabilities: dict[str, ProbabilityScores | None] = {}

    def of(data: Dataset, name: str) -> tuple[Scores | QuantityScores, float]:
        began, decision = time.perf_counter(), None
        wide = model.widened(data.n_features)
        if model.calibration is not None:
            chances = wide.predict_proba(data.X, n_threads=options.threads)
            predicted = model.classes[chances.argmax(axis=1)]
            found_probabilities[name] = ProbabilityScores.from_predictions(chances, model.classes, labels_of(data))
            if metric.needs_decisions:
                decision = predict_with_scores(wide, data.X, options.threads)[1]
        elif metric.needs_decisions:
            predicted, decision = predict_with_scores(wide, data.X, options.threads)
        else:
            predicted = wide.predict(data.X, n_threads=options.threads)
        seconds = time.perf_counter() - began
        if metric.name in OF_PROBABILITIES:
            values[name] = metric.score_probabilities(found_probabilities.get(name))
        else:
            values[name] = metric.score_predictions(predicted, labels_of(data), decision)
        return scores_of(model, predicted, labels_of(data)), seconds

    if train_scores is not None:
        record = replace(record, train_scores=train_scores)
        values["train"] = {key: getattr(train_scores, key) for key in COUNTED}.get(metric.name)
    elif not (options.is_stream or options.scheduler):
        found, seconds = of(sets.train, "train")
        record = replace(record, train_scores=found, predict_s=seconds)
    if sets.test is not None:
        found, seconds = of(sets.test, "test")
        record = replace(record, test_scores=found, predict_s=seconds)
    return record, values, found_probabilities


def _scalars(metric: Metric, values: Mapping[str, float | None]) -> dict[str, float | None]:
    """Return the metric by full names of the tracker; accuracy, balanced accuracy and R2 are logged in any case."""
    return {} if metric.name in (*COUNTED, R2) else {f"{name}/{metric.name}": value for name, value in values.items()}


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
            self.out = _rescued(model, Path(self.out).name)
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


def _rescued(model: SVMModel, name: str) -> str | None:
    """Write a model that its own file could not take to the folder of temporary files; None if that fails too."""
    try:
        folder = tempfile.mkdtemp(prefix="svmkit-model-")
        model.save(Path(folder) / name)
        return str(Path(folder) / name)
    except (InputError, OSError):
        return None
