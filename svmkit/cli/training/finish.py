"""From a fitted model to its report: save, measure and log it, after a fit, a stream or a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from svmkit.cli.common import describe_run, note
from svmkit.cli.training.saving import Keeper, origin
from svmkit.cli.training.sets import Sets
from svmkit.cli.training.train_options import TrainOptions
from svmkit.errors import SvmkitError
from svmkit.model.model import SVMModel
from svmkit.runtime.jsonable import plain
from svmkit.scoring.evaluations.base import Measurement
from svmkit.scoring.evaluations.doubt import Trained
from svmkit.scoring.metric import COUNTED, R2, Metric
from svmkit.solver.history import HistoryPoint
from svmkit.solver.solution import Status
from svmkit.tasks import OneClass
from svmkit.tracking import RunRecord, Tracker
from svmkit.training.checkpoint import Checkpoint
from svmkit.training.result import Fit
from svmkit.training.settings import Method


@dataclass(frozen=True)
class Outcome:
    """The outcome of a training command."""

    result: dict[str, Any]  # the keys and values of `svmkit train --json`
    is_linear: bool
    run: str | None  # the logged run, and how to view it
    failure: SvmkitError | None = None  # an error that spares the model, as of an unwritable file; raised last


@dataclass(frozen=True)
class Job:
    """What a command trains, on which data, and from which model."""

    options: TrainOptions
    method: Method
    sets: Sets
    metric: Metric
    search: str = "svmkit tune"  # the command that finds better parameters, for a warning
    start: SVMModel | None = None
    seconds: float = 0.0  # seconds of the fit spent on preparing the data
    facts: Mapping[str, Any] = field(default_factory=dict)  # further facts for the model
    saver: Checkpoint | None = None
    fold: Any = None  # the fold of each row, for a calibration on the folds of a search


def finish(
    job: Job,
    tracker: Tracker,
    fitted: Fit,
    *,
    points: Sequence[HistoryPoint] | None = None,
    more: Mapping[str, float | None] | None = None,
    train: Measurement | None = None,
) -> Outcome:
    """Save the model, measure it and log it; the model is saved first, so that no later failure loses it.

    If the model file cannot be written, this becomes the `failure` of the outcome, and the model is written elsewhere.

    Parameters
    ----------
    job, tracker, fitted : Job, Tracker, Fit
        The options, the method, the data and the metric; the tracker, with an open run; the model and how it was found.
    points : sequence of HistoryPoint, default=None
        The points of the history that have not been logged yet; None means all points.
    more : mapping of str to float, default=None
        Scalars to log besides those of every run.
    train : Measurement, default=None
        The scores on the training rows of a cluster, which are not available here.
    """
    options, method, sets = job.options, job.method, job.sets
    data, keeper = sets.train, Keeper(options)
    record = RunRecord(method.solver, method.kernel, fitted, data.name, sets.n_samples, sets.n_features)
    about: dict[str, Any] = {"seed": options.seed, **job.facts}
    if options.is_kept:
        about |= origin(options, replace(method, kernel=fitted.model.kernel), sets)
    model, logged = record.model(data.encoding, about), None
    keeper.save(model)
    if fitted.status is Status.INTERRUPTED and fitted.flaw is not None:
        note(f"{fitted.flaw}; the model is the best so far")
    try:
        parts = _measure(job, model, train)
        on_train, on_test = (parts.get(name, Measurement()) for name in ("train", "test"))
        seconds = on_train.seconds if on_test.seconds is None else on_test.seconds
        record = replace(record, train_scores=on_train.scores, test_scores=on_test.scores, predict_s=seconds)
        shares = {f"{name}_outliers": part.outliers for name, part in parts.items() if part.outliers is not None}
        facts = shares | (_test_facts(job, parts["test"]) if sets.test is not None else {})
        if facts and options.is_kept:
            model = replace(model, about=model.about | facts)
            keeper.save(model)
        scalars = dict(more or {}) | _scalars(job, fitted, parts) | shares
        logged = record.log(tracker, model, data.X[:5], points=points, more=scalars, register=options.register)
    finally:
        if options.register and logged is None:
            keeper.keep_for_later(model, options.register)
    is_linear = method.problem_type().is_linear
    warning = _doubt(job, fitted, record, is_linear)
    if warning:
        note(warning)
    result = _result(job, fitted, record, parts) | {
        "warning": warning,
        "relevance": _relevance(model),
        **({"conformal": model.about["conformal"]} if "conformal" in model.about else {}),
        "compile_s": 0.0,  # replaced by callers that know more, like the next
        "curve": None,
        "model": keeper.out or (logged if options.register else None),
        "run_id": tracker.run_id,
    }
    failure = _draw_relevance(model, options.plot) if options.plot else None
    result |= {"plot": options.plot} if options.plot and not failure else {}
    return Outcome(result, is_linear, describe_run(tracker), keeper.failure or failure)


def _scalars(job: Job, fitted: Fit, parts: Mapping[str, Measurement]) -> dict[str, float | None]:
    """Return the scalars to log for this training besides those of every run."""
    scalars: dict[str, float | None] = {}
    if job.saver and job.saver.seconds:
        scalars["fit_s"] = job.saver.seconds + fitted.seconds  # a run is one training, by one or several processes
    for name, part in parts.items():  # accuracy, balanced accuracy and R2 are logged in any case
        scalars |= {} if job.metric.name in (*COUNTED, R2) else {f"{name}/{job.metric.name}": part.value}
        measured = {} if part.probabilities is None else part.probabilities.summary()
        scalars |= {f"{name}/{key}": value for key, value in measured.items()}
    if one_class := _outlier_scores(job.method, fitted):
        scalars |= {f"model/{key}": one_class[key] for key in ("rho", "offset")}
        scalars |= {"dual_objective": fitted.dual_objective}
    return scalars


def _measure(job: Job, model: SVMModel, train: Measurement | None) -> dict[str, Measurement]:
    """Return the scores of a model on the training rows, if they are available here, and on the test rows."""
    options, sets, evaluation = job.options, job.sets, job.method.task.evaluation
    parts = {} if train is None else {"train": train}
    if train is None and not (options.is_stream or options.scheduler):
        parts["train"] = evaluation.measure(model, sets.train, job.metric, options.threads)
    if sets.test is not None:
        parts["test"] = evaluation.measure(model, sets.test, job.metric, options.threads)
    return parts


def _test_facts(job: Job, part: Measurement) -> dict[str, Any]:
    """Return the facts about the test for the model: the data, the measures, and the class that the metric is about."""
    data, metric, scores = job.sets.test, job.metric, part.scores
    assert data is not None
    about = {"test_data": data.name, "test_sha256": data.fingerprint(), "n_test": data.n_samples}
    if scores is None:
        return about
    measured = {f"test_{name}": value for name, value in scores.kept.items()}
    named = {"metric": metric.name, "positive": metric.positive, "test_metric": part.value}
    return {key: value for key, value in named.items() if value is not None} | measured | about


def _relevance(model: SVMModel) -> dict[str, Any] | None:
    """Return the facts about learnt relevance, with the weights of the columns by name, the largest first."""
    about = model.about.get("relevance")
    if about is None:
        return None
    names = model.preprocessing.feature_names(model.n_features)
    weights = [1.0] * model.width if model.relevance is None else model.relevance.tolist()
    ordered = sorted(zip(names, weights, strict=True), key=lambda item: -item[1])
    return about | {"weights": [{"column": name, "weight": weight} for name, weight in ordered]}


def _draw_relevance(model: SVMModel, path: str) -> SvmkitError | None:
    """Write the picture of the weights of the columns; return the error if that fails."""
    from svmkit.plotting import plot_relevance

    try:
        plot_relevance(model).figure.savefig(path, dpi=150)  # type: ignore[union-attr]
    except OSError as error:
        return SvmkitError(f"cannot write {path}: {error.strerror or error}; the model is whole without it")
    return None


def _outlier_scores(method: Method, fitted: Fit) -> dict[str, Any]:
    """Return the facts specific to a one-class model: its loss, the certified rho, and the offset of its scores."""
    if not isinstance(method.task, OneClass):
        return {}
    loss = fitted.model.about["loss"]
    rho = method.task.rho(loss, fitted.solutions[0].certificate)
    return {"loss": loss, "rho": rho, "offset": -float(fitted.model.intercept[0])}


def _doubt(job: Job, fitted: Fit, record: RunRecord, is_linear: bool) -> str | None:
    """Return one line that says why the model is useless; None if nothing indicates it."""
    options, model, n_samples, share = job.options, fitted.model, job.sets.n_samples, None
    if not (is_linear or options.is_stream):  # the rows of a problem, averaged over the problems
        of_each_row = (
            len(fitted.solutions) if model.has_class_scores or model.outputs else max(len(model.classes) - 1, 1)
        )
        share = sum(solution.n_support for solution in fitted.solutions) / (of_each_row * n_samples)
    return job.method.task.evaluation.judge(
        Trained(
            model,
            train=record.train_scores,
            test=record.test_scores,
            status=fitted.status,
            share=share,
            gap=fitted.gap,
            n_samples=n_samples,
            weighted=options.class_weight is not None,
            streamed=options.is_stream,
            search=job.search,
        )
    )


def _result(job: Job, fitted: Fit, record: RunRecord, parts: Mapping[str, Measurement]) -> dict[str, Any]:
    """Return the facts of the fit and of its predictions under the names of `svmkit train --json`."""
    method, sets = job.method, job.sets
    train, test = (parts.get(name, Measurement()) for name in ("train", "test"))
    about = method.task.about(method, method.settings.C)
    settings = {key: value for key, value in about.items() if key != "loss"}
    settings |= {"tol": job.options.tol, "seed": job.options.seed, "sampler": str(method.sampler)}
    one_class = _outlier_scores(method, fitted)
    if one_class:
        one_class |= {"train_outliers": train.outliers, "test_outliers": test.outliers}
        one_class |= {"problem": method.problem_type().name, "formulation": method.formulation}
    calibration = None
    if fitted.model.calibration is not None:
        of_parts = {"train": train.probabilities, "test": test.probabilities}
        calibration = {**fitted.model.about["calibration"], "seconds": fitted.calibration_s}
        calibration |= {name: None if scores is None else scores.summary() for name, scores in of_parts.items()}
    return record.result() | one_class | {
        "params": settings | method.solver.params,
        "train_accuracy": record.train_accuracy,
        "test_accuracy": record.test_accuracy,
        **record.quantity_scores,
        "metric": job.metric.about() | {"train": train.value, "test": test.value},
        "calibration": calibration,
        "train_scores": None if record.train_scores is None else plain(record.train_scores.summary()),
        "test_scores": None if record.test_scores is None else plain(record.test_scores.summary()),
        "n_test": 0 if sets.test is None else sets.test.n_samples,
        "details": record.details,
        "label": sets.train.encoding.label_facts if sets.train.encoding else None,
    }  # fmt: skip
