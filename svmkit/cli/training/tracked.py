"""The run of the tracker that a command opens: its parameters, and how it is closed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from svmkit import tracking
from svmkit.cli.training.train_options import TrainOptions
from svmkit.data import Dataset
from svmkit.kernels.functions import Kernel
from svmkit.tracking import Tracker, tracker
from svmkit.training.settings import Method


@contextmanager
def tracked(
    options: TrainOptions, name: str, params: dict[str, Any], tags: dict[str, str], data: Dataset | None = None
) -> Iterator[Tracker]:
    """Open a run for the block and yield its tracker, which logs nothing under --no-track."""
    run = Tracker() if options.no_track else tracker(options.tracking_uri, options.experiment)
    run.start(name, params, tags, data)
    with closing(run):
        yield run


@contextmanager
def closing(run: Tracker) -> Iterator[None]:
    """Close the run at the end of the block as FINISHED, KILLED (Ctrl-C) or FAILED; a closed run stays as it is."""
    status = "FAILED"
    try:
        yield
        status = "FINISHED"
    except KeyboardInterrupt:
        status = "KILLED"
        raise
    finally:
        run.end(status)


def run_params(options: TrainOptions, method: Method, kernel: Kernel, data: Dataset) -> dict[str, Any]:
    """Return the parameters of a run.

    Parameters
    ----------
    options : TrainOptions
        The options of the command.
    method : Method
        The solver and the settings.
    kernel : Kernel
        The kernel, gamma as a number.
    data : Dataset
        The training data.
    """
    task, C = method.task, method.settings.C
    first = ("tol", "seed", "impute", "scale", "memory", "class_weight")
    rest = ("stop", *options.budgets, "label", "decimal", "encoding", "multiclass", "calibrate")
    given = {key: getattr(options, key) for key in first} | {"sampler": str(method.sampler)}
    given |= {key: getattr(options, key) for key in rest}
    given["task"] = task.name if task.has_targets else options.task
    given |= {key: ",".join(getattr(options, key)) or None for key in ("drop", "only", "categorical")}
    given["epsilon"] = getattr(method.loss, "epsilon", None) if task.has_targets else None
    if task.is_supervised:
        return tracking.params(method.solver, kernel, C, data, **given)
    params = tracking.params(method.solver, kernel, C, replace(data, task=None), **given)
    nu = task.about(method, C)["nu"]
    shown = {"solver": params["solver"], "kernel": params["kernel"], "nu": nu}  # first in comparisons of runs
    return shown | {k: v for k, v in params.items() if k not in ("C", "log10_C")} | {"formulation": method.formulation}
