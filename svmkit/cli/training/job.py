"""The work of `svmkit train`: read the data, hold out test rows, prepare, open a run, fit and finish."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from svmkit import tracking
from svmkit.cli.common import closing, note, open_tracker, require_wanted, training_line
from svmkit.cli.options import NOT_OF_OUTLIERS, refuse
from svmkit.cli.training.finish import Job, Outcome, finish
from svmkit.cli.training.saving import open_run, run_params
from svmkit.cli.training.sets import Sets, advise_scaling, read
from svmkit.cli.training.train_options import TrainOptions
from svmkit.data import Dataset
from svmkit.kernels.gram import Gram
from svmkit.model.model import SVMModel
from svmkit.runtime import compiling
from svmkit.tasks import task_named
from svmkit.tracking import Tracker
from svmkit.training.data import TrainingData, solver_tasks
from svmkit.training.result import Fit, choices, describe_choices
from svmkit.training.settings import Method
from svmkit.training.train import fit_prepared

OF_POINT = ("n_iter", "seconds", "n_support", "objective", "accuracy")
FAR = 1.0  # ratio of the mean of the targets to their spread up to which no advice is given


def run(options: TrainOptions) -> Outcome:
    """Train on a file or a named set; if the tracker fails, there is a warning and the model is not lost.

    Raises InputError: the options or the data cannot be used.
    """
    if not task_named(options.task).is_supervised:
        refuse(options, NOT_OF_OUTLIERS)
    method = options.method()
    start = SVMModel.load(options.out) if options.out and options.starts_at_model else None
    sets = read(options, is_linear=method.problem_type().is_linear)
    method = options.method(sets.train.task)
    method = method.with_groups(sets.train.encoding.group_sizes if sets.train.encoding else None)
    advise_scaling(sets.train.X, options, method.kernel)
    data, seconds = prepare(method, sets)
    _advise_bias(method, data)
    if options.conformal is not None and sets.train.groups is not None:
        note(
            "--conformal holds out rows and not whole groups: what sets promise is for new rows of these groups, "
            "and not of others"
        )
    name = options.metric or (None if method.task.is_supervised else "accuracy")  # the only metric without labels
    metric = method.metric(name, data.classes, data.codes, probabilities=bool(options.calibrate))
    if metric.note and (options.metric or options.curve):
        note(metric.note)
    saver = options.saver()
    job = Job(options, method, sets, metric, start=start, seconds=seconds, saver=saver)
    choice = describe_choices(choices(method.solver, solver_tasks(method, data), data.division.many))
    params = run_params(options, replace(method, kernel=data.kernel), sets.train)
    if saver is not None and saver.continues and method.settings.trains_once:
        saver.bind(data.identity(method))  # a file of another training is refused before a run is opened
    with closing(open_tracker(options)) as tracker:
        title, tags = f"{method.solver.name} {sets.train.name}", tracking.tags(method.solver)
        open_run(tracker, saver, title, params | ({"choice": choice} if choice else {}), tags, sets.train)
        require_wanted()
        return fit_and_finish(job, data, tracker)


def _advise_bias(method: Method, data: TrainingData) -> None:
    """Advise on stderr if a regularised bias has a long way to the targets of a regression."""
    if not method.task.has_targets or "regularised" not in method.formulation:
        return
    targets = data.answers.targets
    assert targets is not None
    if targets.ndim == 2:
        return
    mean, spread = float(targets.mean()), float(targets.std())
    if abs(mean) > FAR * spread:
        note(
            f"the mean of the targets, {mean:.3g}, is {abs(mean) / spread:.1f} times their spread, and this problem "
            "regularises the bias: subtract the mean, or leave the bias free"
        )


def prepare(method: Method, sets: Sets) -> tuple[TrainingData, float]:
    """Return the training data, checked, preprocessed and with a number for gamma, and the seconds spent on it."""
    began = time.perf_counter()
    data = TrainingData.prepare(
        sets.train.X, _name_columns(sets.train), method, flags=sets.train.flags, groups=sets.train.groups
    )
    data.warn_of_constants()
    if not method.task.is_supervised:  # the one-row problem raises its errors before a run is opened
        method.solver.check(method.pose(method.solver, Gram(data.kernel, data.X[:1]), np.zeros(1), np.ones(1)))
    return data, time.perf_counter() - began


def _name_columns(train: Dataset) -> Any:
    """Return the answers; labels of several columns as a table with their names, which outputs have, too."""
    names = train.encoding.label_names if train.encoding else ()
    if not names:
        return train.truth
    from pandas import DataFrame

    return DataFrame(train.y, columns=list(names))


def fit_and_finish(job: Job, data: TrainingData, tracker: Tracker) -> Outcome:
    """Train on the data from `prepare`, and finish; on a terminal a live line shows the progress."""
    options, solver = job.options, job.method.solver
    measured = options.curve or (options.max_support and job.method.task.is_supervised)  # limited models: as they grow
    with training_line(job.sets.n_samples) as display, compiling.count_compilations() as compiled:
        fitted = fit_prepared(
            data,
            job.method,
            start=job.start,
            validation=job.sets.test if measured else None,
            metric=None if job.metric.name == "accuracy" else job.metric,
            callbacks=display,
            checkpoint=job.saver,
            fold=job.fold,
        )
        if fitted.choices:
            note(f"{solver.name}: {describe_choices(fitted.choices)}")
        facts = {"compile_s": compiled.seconds, "curve": _size_curve(fitted)}  # of the fit alone
        outcome = finish(job, tracker, replace(fitted, seconds=job.seconds + fitted.seconds))
    return replace(outcome, result=outcome.result | facts)


def _size_curve(fitted: Fit) -> list[dict[str, Any]] | None:
    """Return the points of a binary problem at which a test score was measured; None if there are none."""
    if len(fitted.solutions) != 1:
        return None
    measured = [p for p in fitted.solutions[0].history if p.is_measured]
    score = [{} if p.score is None else {"score": p.score} for p in measured]
    return [{key: getattr(p, key) for key in OF_POINT} | of for p, of in zip(measured, score, strict=True)] or None
