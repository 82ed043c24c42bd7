"""One training run of the command line: read, hold out, prepare, track, fit, finish."""

from __future__ import annotations

import time
from dataclasses import replace

from svmkit import tracking
from svmkit.cli import curve, progress
from svmkit.cli.common import labels_of
from svmkit.cli.finish import Outcome, finish
from svmkit.cli.sets import Sets, advise_scaling, read
from svmkit.cli.tracked import tracked
from svmkit.cli.train_options import Method, TrainOptions
from svmkit.model.model import SVMModel
from svmkit.tracking import Tracker
from svmkit.training.checkpoint import Checkpoint
from svmkit.training.data import TrainingData
from svmkit.training.result import Fit
from svmkit.training.train import fit_prepared


def run(options: TrainOptions) -> Outcome:
    """Do the work of `svmkit train` on a file or a named set; a tracker that fails costs a warning, never the model.

    Raises
    ------
    InputError
        The options or the data cannot be used.
    """
    method = Method.of(options)
    start = SVMModel.load(options.out) if options.out and options.starts_at_model else None
    sets = read(options)
    advise_scaling(sets.train.X, options, method.kernel)
    saver = Checkpoint(options.checkpoint, resume=options.resume) if options.checkpoint else None
    data, seconds = prepare(options, method, sets)
    params = method.params(data.kernel, sets.train, options)
    with tracked(
        options, f"{method.solver.name} {sets.train.name}", params, tracking.tags(method.solver), sets.train
    ) as tracker:
        return fit_and_finish(options, method, sets, data, seconds, tracker, start=start, saver=saver)


def prepare(options: TrainOptions, method: Method, sets: Sets) -> tuple[TrainingData, float]:
    """The training data checked, scaled and weighed, gamma a number; and the seconds that this took."""
    began = time.perf_counter()
    data = TrainingData.of(
        sets.train.X,
        sets.train.y,
        kernel=method.kernel,
        class_weight=method.class_weight,
        scale=options.scale,
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
    *,
    start: SVMModel | None = None,
    saver: Checkpoint | None = None,
) -> Outcome:
    """Fit what `prepare` returned, and finish; on a terminal with a live line.

    Parameters
    ----------
    options, method, sets : TrainOptions, Method, Sets
        What was asked for.
    data, seconds : TrainingData, float
        The prepared data; their seconds count as a part of the fit.
    tracker : Tracker
        Its run is open.
    start : SVMModel, default=None
        Where training begins.
    saver : Checkpoint, default=None
        Where progress is kept.
    """
    measured = options.curve or options.max_support  # a model that may not grow for ever is measured as it grows
    validation = (sets.test.X, labels_of(sets.test)) if sets.test is not None and measured else None
    with progress.shown(sets.n_samples) as watch:
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
            watch=watch,
            checkpoint=saver,
        )
        fitted = replace(fitted, seconds=seconds + fitted.seconds)
        return finish(fitted, options, method, sets, tracker, curve=curve.points(fitted))
