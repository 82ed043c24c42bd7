"""The work of `svmkit train`: read the data, hold out test rows, prepare, open a run, fit and finish."""

from __future__ import annotations

import time
from dataclasses import replace

from svmkit import tracking
from svmkit.cli import progress
from svmkit.cli.common import note
from svmkit.cli.evaluating import size_curve
from svmkit.cli.training.finish import Outcome, finish
from svmkit.cli.training.sets import Sets, advise_scaling, read
from svmkit.cli.training.tracked import tracked
from svmkit.cli.training.train_options import Method, TrainOptions
from svmkit.data.classes import REGRESS
from svmkit.model.model import SVMModel
from svmkit.problems.tube import TubeQP
from svmkit.runtime import compiling
from svmkit.scoring.metric import Metric
from svmkit.scoring.quantities import metric_for
from svmkit.tracking import Tracker
from svmkit.training.checkpoint import Checkpoint
from svmkit.training.choice import choices, in_words
from svmkit.training.data import TrainingData, solver_tasks
from svmkit.training.result import Fit
from svmkit.training.train import fit_prepared

FAR = 1.0  # times the spread of the targets that their mean may lie from 0 without a word


def run(options: TrainOptions) -> Outcome:
    """Train on a file or a named set; if the tracker fails, there is a warning and the model is not lost.

    Raises
    ------
    InputError
        The options or the data cannot be used.
    """
    method = Method.of(options)
    start = SVMModel.load(options.out) if options.out and options.starts_at_model else None
    sets = read(options)
    if sets.train.task == REGRESS:
        method = Method.of(options, REGRESS)
    advise_scaling(sets.train.X, options, method.kernel)
    saver = None
    if options.checkpoint:
        saver = Checkpoint(options.checkpoint, resume=options.resume, every=options.interval)
    data, seconds = prepare(options, method, sets)
    advise_bias(method, data)
    metric = metric_for(
        options.metric, data.classes, data.codes, method.class_weight, probabilities=bool(options.calibrate)
    )
    if metric.note and (options.metric or options.curve):
        note(metric.note)
    choice = in_words(choices(method.solver, solver_tasks(method.resolved(options, data.task), data), data.multiclass))
    params = method.params(data.kernel, sets.train, options) | ({"choice": choice} if choice else {})
    with tracked(
        options, f"{method.solver.name} {sets.train.name}", params, tracking.tags(method.solver), sets.train
    ) as tracker:
        return fit_and_finish(options, method, sets, data, seconds, tracker, metric, start=start, saver=saver)


def advise_bias(method: Method, data: TrainingData) -> None:
    """Say so on stderr if a bias that is regularised has a long way to the targets of a regression."""
    if not data.task.has_targets or method.solver.regression_for(data.kernel) is TubeQP:
        return
    targets = data.answers.targets
    assert targets is not None
    mean, spread = float(targets.mean()), float(targets.std())
    if abs(mean) > FAR * spread:
        note(
            f"the mean of the targets, {mean:.3g}, is {abs(mean) / spread:.1f} times their spread, and this problem "
            "regularises the bias: subtract the mean, or try --solver smo, whose bias is free"
        )


def prepare(options: TrainOptions, method: Method, sets: Sets) -> tuple[TrainingData, float]:
    """Return the training data, checked, preprocessed and with a number for gamma, and the seconds that this took."""
    began = time.perf_counter()
    data = TrainingData.of(
        sets.train.X, sets.train.y, method.resolved(options, sets.train.task), flags=sets.train.flags
    )
    return data, time.perf_counter() - began


def fit_and_finish(
    options: TrainOptions,
    method: Method,
    sets: Sets,
    data: TrainingData,
    seconds: float,
    tracker: Tracker,
    metric: Metric,
    *,
    start: SVMModel | None = None,
    saver: Checkpoint | None = None,
    search: str = "svmkit tune",
) -> Outcome:
    """Train on the data that `prepare` returned, and finish; on a terminal a live line shows the progress.

    Parameters
    ----------
    options, method, sets : TrainOptions, Method, Sets
        The options of the command, the method and the data sets.
    data, seconds : TrainingData, float
        The prepared data, and the seconds of the preparation, which count as a part of the fit.
    tracker : Tracker
        The tracker, with an open run.
    metric : Metric
        What is measured besides accuracy.
    start : SVMModel, default=None
        A model to start from.
    saver : Checkpoint, default=None
        Keeps the progress.
    search : str, default="svmkit tune"
        What finds better parameters, for the warning about a model that is no use.
    """
    measured = options.curve or options.max_support  # a limited model is measured as it grows
    validation = sets.test if measured else None
    with progress.shown(sets.n_samples) as watch, compiling.count_compilations() as compiled:
        fitted: Fit = fit_prepared(
            data,
            method.resolved(options, data.task),
            start=start,
            validation=validation,
            metric=None if metric.name == "accuracy" else metric,
            callbacks=watch,
            checkpoint=saver,
        )
        if fitted.choices:
            note(f"{method.solver.name}: {in_words(fitted.choices)}")
        fitted = replace(fitted, seconds=seconds + fitted.seconds)
        return finish(
            fitted,
            options,
            method,
            sets,
            tracker,
            metric,
            curve=size_curve.points(fitted),
            compile_s=compiled.seconds,
            search=search,
        )
