"""The work of `svmkit train`: read the data, hold out test rows, prepare, open a run, fit and finish."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from svmkit import tracking
from svmkit.cli import progress
from svmkit.cli.common import note
from svmkit.cli.evaluating import size_curve
from svmkit.cli.training.finish import Job, Outcome, finish
from svmkit.cli.training.sets import Sets, advise_scaling, read
from svmkit.cli.training.tracked import run_params, tracked
from svmkit.cli.training.train_options import TrainOptions
from svmkit.errors import InputError
from svmkit.kernels.gram import Gram
from svmkit.model.model import SVMModel
from svmkit.problems.tube import TubeQP
from svmkit.runtime import compiling
from svmkit.scoring.metric import Metric
from svmkit.scoring.quantities import metric_for
from svmkit.tasks import task_named
from svmkit.tracking import Tracker
from svmkit.training.checkpoint import Checkpoint
from svmkit.training.data import TrainingData, solver_tasks
from svmkit.training.result import choices, in_words
from svmkit.training.settings import Method
from svmkit.training.train import fit_prepared

_NOT_OF_OUTLIERS = {
    "epsilon": "is for quantities",
    "class_weight": "is for classes",
    "multiclass": "is for classes",
    "calibrate": "is for classes",
    "metric": "needs labels: svmkit evaluate measures a model",
    "test_size": "holds out labelled rows: give --test FILE",
    "curve": "needs labelled rows",
}
FAR = 1.0  # times the spread of the targets that their mean may lie from 0 without a word


def run(options: TrainOptions) -> Outcome:
    """Train on a file or a named set; if the tracker fails, there is a warning and the model is not lost.

    Raises
    ------
    InputError
        The options or the data cannot be used.
    """
    if not task_named(options.task).is_supervised:
        _require_of_outliers(options)
    method = options.method()
    start = SVMModel.load(options.out) if options.out and options.starts_at_model else None
    sets = read(options)
    method = options.method(sets.train.task)
    advise_scaling(sets.train.X, options, method.kernel)
    data, seconds = prepare(method, sets)
    advise_bias(method, data)
    metric = metric_of(options, method, data)
    if metric.note and (options.metric or options.curve):
        note(metric.note)
    job = Job(options, method, sets, metric)
    choice = in_words(choices(method.solver, solver_tasks(method, data), data.has_class_pairs))
    params = run_params(options, method, data.kernel, sets.train) | ({"choice": choice} if choice else {})
    with tracked(
        options, f"{method.solver.name} {sets.train.name}", params, tracking.tags(method.solver), sets.train
    ) as tracker:
        return fit_and_finish(job, data, seconds, tracker, start=start, saver=options.saver())


def _require_of_outliers(options: TrainOptions) -> None:
    for name, reason in _NOT_OF_OUTLIERS.items():
        if getattr(options, name):
            raise InputError(f"--{name.replace('_', '-')} {reason}: leave it out with --task {options.task}")


def metric_of(options: TrainOptions, method: Method, data: TrainingData) -> Metric:
    """Return what is measured besides accuracy; without labels to learn from nothing is."""
    name = options.metric or (None if method.task.is_supervised else "accuracy")
    weights = method.settings.class_weight
    return metric_for(name, data.classes, data.codes, weights, probabilities=bool(options.calibrate))


def advise_bias(method: Method, data: TrainingData) -> None:
    """Say so on stderr if a bias that is regularised has a long way to the targets of a regression."""
    targets = data.answers.targets
    if not method.task.has_targets or targets is None or method.problem_type(data.kernel) is TubeQP:
        return
    mean, spread = float(targets.mean()), float(targets.std())
    if abs(mean) > FAR * spread:
        note(
            f"the mean of the targets, {mean:.3g}, is {abs(mean) / spread:.1f} times their spread, and this problem "
            "regularises the bias: subtract the mean, or try --solver smo, whose bias is free"
        )


def prepare(method: Method, sets: Sets) -> tuple[TrainingData, float]:
    """Return the training data, checked, preprocessed and with a number for gamma, and the seconds that this took.

    Raises
    ------
    InputError
        The data cannot be used, or the solver does not take the problem.
    """
    began = time.perf_counter()
    data = TrainingData.of(sets.train.X, sets.train.y, method, flags=sets.train.flags)
    if not method.task.is_supervised:  # the problem of one row tells before a run is opened
        method.solver.check(method.pose(method.solver, Gram(data.kernel, data.X[:1]), np.zeros(1), np.ones(1)))
    return data, time.perf_counter() - began


def fit_and_finish(
    job: Job,
    data: TrainingData,
    seconds: float,
    tracker: Tracker,
    *,
    start: SVMModel | None = None,
    saver: Checkpoint | None = None,
) -> Outcome:
    """Train on the data that `prepare` returned, and finish; on a terminal a live line shows the progress.

    Parameters
    ----------
    job : Job
        The options, the method, the data sets and the metric.
    data, seconds : TrainingData, float
        The prepared data, and the seconds of the preparation, which count as a part of the fit.
    tracker : Tracker
        The tracker, with an open run.
    start : SVMModel, default=None
        A model to start from.
    saver : Checkpoint, default=None
        Keeps the progress.
    """
    options, solver = job.options, job.method.solver
    measured = options.curve or (options.max_support and job.method.task.is_supervised)  # a limited model, as it grows
    with progress.training_line(job.sets.n_samples) as display, compiling.count_compilations() as compiled:
        fitted = fit_prepared(
            data,
            job.method,
            start=start,
            validation=job.sets.test if measured else None,
            metric=None if job.metric.name == "accuracy" else job.metric,
            callbacks=display,
            checkpoint=saver,
        )
        if fitted.choices:
            note(f"{solver.name}: {in_words(fitted.choices)}")
        fitted = replace(fitted, seconds=seconds + fitted.seconds)
        return finish(job, tracker, fitted, curve=size_curve.points(fitted), compile_s=compiled.seconds)
