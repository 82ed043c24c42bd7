"""The work of `svmkit train PARTS --scheduler ADDRESS`: training on a cluster, whose workers read the parts."""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace
from typing import Any

from svmkit import tracking
from svmkit.cli.common import closing, note, open_tracker, require_wanted, training_line
from svmkit.cli.options import NOT_OF_A_CLUSTER, refuse
from svmkit.cli.training.finish import Job, Outcome, finish
from svmkit.cli.training.saving import open_run, run_params
from svmkit.cli.training.sets import Sets, load_test
from svmkit.cli.training.train_options import TrainOptions
from svmkit.cluster import connect, scheme_of
from svmkit.data import Dataset
from svmkit.errors import Gone, InputError, SvmkitError
from svmkit.model.model import SVMModel
from svmkit.problems.schemes import JOINT
from svmkit.runtime.compiling import count_compilations
from svmkit.scoring.evaluations.base import Measurement
from svmkit.scoring.metric import Metric
from svmkit.scoring.quantities import QuantityMetric
from svmkit.solver.selection import defaults
from svmkit.tasks import task_named
from svmkit.training.settings import Method
from svmkit.training.train import fit_prepared

SOLVERS = (defaults.CLUSTER, defaults.CLUSTER_LINEAR)  # solvers for a cluster


def run(options: TrainOptions) -> Outcome:
    """Train on parts that the workers of a cluster read, and finish as for any other data.

    Raises InputError: an option or a part is invalid, or the scheduler cannot be reached; SvmkitError: the cluster is
    lost before there is a model.
    """
    method, saver = _method(options), options.saver()
    assert options.scheduler is not None
    began = time.perf_counter()
    with (
        connect(options.scheduler, solvers=[method.solver.name], notify=note) as cluster,
        contextlib.closing(cluster.training_data(options.data, method, options.reading)) as data,
    ):
        seconds = time.perf_counter() - began
        job = replace(_prepare(options, method, data), saver=saver)
        about = f"{data.n_parts:,} parts on {cluster.n_workers} workers"
        params = run_params(options, replace(method, kernel=data.kernel), job.sets.train)
        params |= {"n": data.n_samples, "d": data.n_features, "parts": data.n_parts}
        if saver is not None and saver.continues:
            saver.bind(data.identity(method))
        with closing(open_tracker(options)) as tracker:
            open_run(tracker, saver, f"{method.solver.name} {options.data}", params, tracking.tags(method.solver))
            require_wanted()
            with training_line(data.n_samples, about) as display, count_compilations() as compiled:
                fitted = fit_prepared(data, method, callbacks=display, checkpoint=saver)
            fitted = replace(fitted, seconds=seconds + fitted.seconds)
            train = _measure(data, fitted.model, job.metric)
            outcome = finish(job, tracker, fitted, train=train)
        facts = {"scheduler": options.scheduler, "parts": data.n_parts, **data.workers.counters.details()}
        return replace(outcome, result=outcome.result | {"compile_s": compiled.seconds, "cluster": facts})


def _method(options: TrainOptions) -> Method:
    """Return the method; raise InputError for an option or a solver that clusters do not support."""
    assert options.scheduler is not None
    scheme_of(options.scheduler)
    if options.is_stream or not task_named(options.task).is_supervised:
        what = "a stream is read here" if options.is_stream else f"--task {options.task} trains here"
        raise InputError(f"{what}: leave --scheduler out")
    refuse(options, NOT_OF_A_CLUSTER)
    if options.multiclass in JOINT:
        raise InputError(f"--multiclass {options.multiclass} is not available on a cluster; there are: ovo, ovr")
    solver = defaults.cluster_solver(options.solver, options.kernel)
    method = TrainOptions(**vars(options) | {"solver": solver}).method()
    if method.solver.name not in SOLVERS:
        able = " or ".join(SOLVERS)
        raise InputError(f"solver {method.solver.name} needs all rows in one place: with --scheduler, take {able}")
    return method


def _prepare(options: TrainOptions, method: Method, data: Any) -> Job:
    """Return the job on the data held by the workers: its first few rows represent all; the test set is read here."""
    for line in data.notes:
        note(line)
    if data.quantity is not None and options.task is None:
        raise InputError(
            f"the labels look like a quantity ({data.quantity}): --task regress learns it on a cluster, --task "
            "classify takes them as classes"
        )
    X, y = data.few(5)
    train = Dataset(X, y, options.data, data.encoding, task=method.task.name)
    test = load_test(options, train) if options.test else None
    if method.task.has_targets:
        metric: Metric = QuantityMetric.from_scorer(options.metric)
    else:
        metric = Metric.from_name(options.metric, data.classes, data.class_counts, method.settings.class_weight)
    if metric.note and options.metric:
        note(metric.note)
    return Job(options, method, Sets(train, test, data.n_samples, data.n_features), metric)


def _measure(data: Any, model: SVMModel, metric: Metric) -> Measurement:
    """Return the scores of the model on the training rows, computed by the workers, unless they are gone."""
    try:
        scores = data.scores(model)
    except Gone:
        return Measurement()
    except SvmkitError as error:
        note(f"the training accuracy is not known: {error}")
        return Measurement()
    return Measurement(scores, None if scores is None else metric.score_counts(scores))
