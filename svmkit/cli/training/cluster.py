"""The work of `svmkit train PARTS --scheduler ADDRESS`: training on a cluster, whose workers read the parts."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from typing import Any

from svmkit import tracking
from svmkit.cli import progress
from svmkit.cli.common import note
from svmkit.cli.evaluating.measurement import Measurement
from svmkit.cli.training.finish import Job, Outcome, finish
from svmkit.cli.training.sets import Sets
from svmkit.cli.training.tracked import run_params, tracked
from svmkit.cli.training.train_options import TrainOptions
from svmkit.cluster import Cluster, connect, scheme_of
from svmkit.data import Dataset, load
from svmkit.data.classes import with_labels_like
from svmkit.errors import Gone, InputError, SvmkitError
from svmkit.model.model import SVMModel
from svmkit.runtime import compiling
from svmkit.scoring.metric import Metric
from svmkit.scoring.quantities import QuantityMetric
from svmkit.solver.selection import defaults
from svmkit.solver.solution import Status
from svmkit.tasks import task_named
from svmkit.tracking import Tracker
from svmkit.training.checkpoint import Checkpoint
from svmkit.training.settings import Method
from svmkit.training.train import fit_prepared

SOLVER = defaults.CLUSTER  # what `auto` is on a cluster
_ELSEWHERE = {
    "test_size": "rows cannot be held out of parts: give --test FILE, or leave a part out",
    "curve": "the model on the way is not measured on a cluster: leave --curve out",
    "max_support": "support vectors are not limited on a cluster: leave --max-support out",
    "calibrate": "a calibration is not available on a cluster: leave --calibrate out",
    "impute": "holes are not filled on a cluster: fill them in the parts, and leave --impute out",
    "nu": "nu-SVC is not available on a cluster: leave --nu out",
    "n_features": "the columns of all parts are counted: leave --n-features out",
}


def run(options: TrainOptions) -> Outcome:
    """Train on parts that the workers of a cluster read, and finish as for any other data.

    Raises
    ------
    InputError
        An option or a part cannot be used, or the scheduler cannot be reached.
    SvmkitError
        The cluster is gone before there is a model.
    """
    method, saver = _method(options), options.saver()
    assert options.scheduler is not None
    began = time.perf_counter()
    with connect(options.scheduler, solvers=[method.solver.name], notify=note) as cluster:
        dealt = cluster.training_data(
            options.data,
            reading=options.reading,
            kernel=method.kernel,
            scale=options.scale,
            task=method.task,
            class_weight=method.settings.class_weight,
            multiclass=options.multiclass or "ovo",
            memory=options.memory,
        )
        with closing(dealt) as data:
            return _Run(options, method, cluster, data, time.perf_counter() - began).outcome(saver)


def _method(options: TrainOptions) -> Method:
    """Return the method; raise InputError for an option or a solver that a cluster does not have."""
    assert options.scheduler is not None
    scheme_of(options.scheduler)
    if options.is_stream or not task_named(options.task).is_supervised:
        what = "a stream is read here" if options.is_stream else f"--task {options.task} trains here"
        raise InputError(f"{what}: leave --scheduler out")
    for name, reason in _ELSEWHERE.items():
        if options.has(name):
            raise InputError(reason)
    if options.starts_at_model:
        raise InputError("training on a cluster cannot start at a model: --resume needs --checkpoint FILE")
    if options.multiclass == "crammer_singer":
        raise InputError("--multiclass crammer_singer is not available on a cluster; there are: ovo, ovr")
    method = (options.replace(solver=SOLVER) if options.solver == "auto" else options).method()
    if method.solver.name != SOLVER:
        raise InputError(f"solver {method.solver.name} needs all rows in one place: with --scheduler, take {SOLVER}")
    return method


class _Run:
    """One training on a cluster, with the data that its workers hold."""

    def __init__(self, options: TrainOptions, method: Method, cluster: Cluster, data: Any, seconds: float) -> None:
        self.options, self.method, self.cluster, self.data, self.seconds = options, method, cluster, data, seconds
        for line in data.notes:
            note(line)
        if data.quantity is not None and options.task is None:
            raise InputError(
                f"the labels look like a quantity ({data.quantity}): --task regress learns it on a cluster, --task "
                "classify takes them as classes"
            )

    def outcome(self, saver: Checkpoint | None) -> Outcome:
        """Train, measure, save and log."""
        options, method, data = self.options, self.method, self.data
        sets = self._sets()
        if method.task.has_targets:
            metric: Metric = QuantityMetric.from_scorer(options.metric)
        else:
            weights = method.settings.class_weight
            metric = Metric.from_name(options.metric, data.classes, data.tally.rows, weights)
        if metric.note and options.metric:
            note(metric.note)
        title = f"{method.solver.name} {options.data}"
        with tracked(options, title, self._params(sets), tracking.tags(method.solver)) as tracker:
            return self._train(Job(options, method, sets, metric), tracker, saver)

    def _sets(self) -> Sets:
        """Return the first few rows, which stand for all parts, and the test set, which is read here."""
        options, data = self.options, self.data
        X, y = data.few(5)
        train, test = Dataset(X, y, options.data, data.encoding, task=self.method.task.name), None
        if options.test:
            wider = not (options.strict or data.encoding)
            test = load(options.test, n_features=data.n_features, wider=wider, encoding=data.encoding)
            test = with_labels_like(test, train)
        return Sets(train, test, data.n_samples, data.n_features)

    def _params(self, sets: Sets) -> dict[str, Any]:
        data = self.data
        params = run_params(self.options, self.method, data.kernel, sets.train)
        return params | {"n": data.n_samples, "d": data.n_features, "parts": data.n_parts}

    def _train(self, job: Job, tracker: Tracker, saver: Checkpoint | None) -> Outcome:
        data = self.data
        about = f"{data.n_parts:,} parts on {self.cluster.n_workers} workers"
        with progress.training_line(data.n_samples, about) as display, compiling.count_compilations() as compiled:
            fitted = fit_prepared(data, job.method, callbacks=display, checkpoint=saver)
        if fitted.status is Status.INTERRUPTED and fitted.flaw is not None:
            note(f"{fitted.flaw}; the model is the best so far")
        fitted = replace(fitted, seconds=self.seconds + fitted.seconds)
        train = self._measure(fitted.model, job.metric)
        outcome = finish(job, tracker, fitted, compile_s=compiled.seconds, train=train)
        cluster = {"scheduler": job.options.scheduler, "parts": data.n_parts, **data.workers.details()}
        return replace(outcome, result=outcome.result | {"cluster": cluster})

    def _measure(self, model: SVMModel, metric: Metric) -> Measurement:
        """Return what the model is worth on the training rows, as the workers count, unless they are gone."""
        try:
            scores = self.data.scores(model)
        except Gone:
            scores = None
        except SvmkitError as error:
            note(f"the training accuracy is not known: {error}")
            scores = None
        return Measurement(scores, None if scores is None else metric.score_counts(scores), None)
