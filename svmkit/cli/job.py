"""The work of `svmkit train`: read the data, hold out test rows, prepare, open a run, fit and finish."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from svmkit import tracking
from svmkit.cli import curve, progress
from svmkit.cli.common import note
from svmkit.cli.finish import Outcome, finish
from svmkit.cli.sets import Sets, advise_scaling, read
from svmkit.cli.tracked import tracked
from svmkit.cli.train_options import Method, TrainOptions
from svmkit.model.metric import Metric
from svmkit.model.model import SVMModel
from svmkit.runtime import compiling
from svmkit.tracking import Tracker
from svmkit.training.checkpoint import Checkpoint
from svmkit.training.choice import choices, in_words, tasks
from svmkit.training.data import TrainingData
from svmkit.training.result import Fit
from svmkit.training.train import fit_prepared


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
    advise_scaling(sets.train.X, options, method.kernel)
    saver = None
    if options.checkpoint:
        saver = Checkpoint(options.checkpoint, resume=options.resume, every=options.interval)
    data, seconds = prepare(options, method, sets)
    metric = Metric.of(options.metric, data.classes, np.bincount(data.codes), method.class_weight)
    if metric.note and (options.metric or options.curve):
        note(metric.note)
    choice = in_words(choices(method.solver, tasks(method.solver, data)))
    params = method.params(data.kernel, sets.train, options) | ({"choice": choice} if choice else {})
    with tracked(
        options, f"{method.solver.name} {sets.train.name}", params, tracking.tags(method.solver), sets.train
    ) as tracker:
        return fit_and_finish(options, method, sets, data, seconds, tracker, metric, start=start, saver=saver)


def prepare(options: TrainOptions, method: Method, sets: Sets) -> tuple[TrainingData, float]:
    """Return the training data, checked, preprocessed and with a number for gamma, and the seconds that this took."""
    began = time.perf_counter()
    data = TrainingData.of(
        sets.train.X,
        sets.train.y,
        kernel=method.kernel,
        class_weight=method.class_weight,
        impute=options.impute,
        scale=options.scale,
        flags=sets.train.flags,
        memory=options.memory,
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
    with progress.shown(sets.n_samples) as watch, compiling.counted() as compiled:
        fitted: Fit = fit_prepared(
            data,
            solver=method.solver,
            C=method.C,
            sampler=method.sampler,
            stop=method.stop,
            seed=options.seed,
            n_threads=options.threads,
            start=start,
            validation=validation,
            metric=None if metric.name == "accuracy" else metric,
            watch=watch,
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
            curve=curve.points(fitted),
            compile_s=compiled.seconds,
            search=search,
        )
