"""`c_path`: training for several values of C, each warm-started from the previous solution on shared kernel rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from svmkit.errors import InputError
from svmkit.kernels.functions import Kernel
from svmkit.tasks import Task
from svmkit.training.callbacks import BeforeSolve, Callbacks, as_callbacks
from svmkit.training.computation import computation
from svmkit.training.data import TrainingData
from svmkit.training.result import Fit
from svmkit.training.settings import Method, Settings, resolve
from svmkit.training.subproblems.one import Part, Start
from svmkit.training.subproblems.time_budget import TimeBudget, rests
from svmkit.training.subproblems.trainer import Trainer
from svmkit.training.subproblems.validation import Held
from svmkit.training.weights import require_C


def c_path(
    X,
    y,
    Cs: Sequence[float],
    *,
    task: str | Task = "classify",
    kernel: Kernel,
    sample_weight: np.ndarray | None = None,
    flags: np.ndarray | None = None,
    watch: BeforeSolve | Callbacks | None = None,
    **options: Any,
) -> list[Fit]:
    """Train a classifier for each of several values of C, faster than separately.

    The values are trained in ascending order, each from the solution of the previous one and on the same kernel rows.
    This order takes fewer iterations than the opposite one (docs/frank_wolfe.md, "Warm starts", has figures).

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The training samples, as for `fit`.
    y : array-like of shape (n_samples,)
        The labels, as for `fit`.
    Cs : sequence of float
        The values of C, each finite and > 0, in any order.
    task, kernel, sample_weight, flags : optional
        As for `fit`.
    watch : callable, default=None
        As for `fit`; it is called with "a vs b, C=1", and counts each C of each class pair.
    **options : object
        As for `fit`, except for checkpoint and verbose, and for what is learnt for one C: relevance, calibration,
        thresholds and conformal sets. The stop rules apply to each C separately, and `start` to the smallest.

    Returns
    -------
    list of Fit
        One for each of `Cs`, in their order, each with its own certificate. `kernel_values` counts the values that were
        computed for this C: rows that an earlier C left in the cache are free. `seconds` excludes work that the path
        does only once. Ctrl-C ends the current solve and all later ones, each with a certified model.

    Raises
    ------
    InputError
        `Cs` is empty, the task has no C, or the data or options cannot be used.

    Examples
    --------
    >>> from svmkit import c_path
    >>> from svmkit.kernels import RBF
    >>> fits = c_path([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1], [0.1, 1.0, 10.0], kernel=RBF(1.0))
    >>> [fitted.model.about["C"] for fitted in fits]
    [0.1, 1.0, 10.0]
    """
    given = {name: options.pop(name, None) for name in ("start", "validation")}
    method = resolve(Settings(kernel=kernel, **options), task)
    _require_path(method, Cs)
    data = TrainingData.prepare(X, y, method, sample_weight=sample_weight, flags=flags)
    return path_prepared(data, Cs, method, callbacks=as_callbacks(watch), **given)


def _require_path(method: Method, Cs: Any) -> None:
    """Raise InputError for values that are no sequence, a task without C, and options that a path does not have."""
    if np.ndim(Cs) != 1:
        raise InputError(f"Cs must be a sequence of numbers > 0, such as [0.1, 1, 10], not {Cs!r}")
    if not method.task.is_supervised:
        raise InputError(f"C has no effect on {method.task.noun}, whose softness is nu: train each nu by svmkit.fit")
    settings = method.settings
    for name in ("relevance", "calibration", "thresholds", "conformal"):
        if getattr(settings, name) not in (None, False):
            raise InputError(f"{name} is learnt for one C: train by svmkit.fit, or leave {name} out")


def path_prepared(
    data: TrainingData,
    Cs: Sequence[float],
    method: Method,
    *,
    start: Start | None = None,
    validation: Held | None = None,
    callbacks: Callbacks | None = None,
) -> list[Fit]:
    """Train as `c_path` does, on data that have been checked, scaled and weighted.

    Parameters
    ----------
    data, Cs, method : TrainingData, sequence of float, Method
        The data, the values of C, in any order, and the solver and the settings, whose C has no effect.
    start, validation, callbacks : optional
        As for `svmkit.training.train.fit_prepared`.
    """
    if not len(Cs):
        raise InputError("Cs is empty: give at least one C > 0")
    for C in Cs:
        require_C(C)
    trainer = Trainer(data, method, start=start, validation=validation, callbacks=callbacks)
    one, order = trainer.one, np.argsort(np.asarray(Cs, dtype=np.float64), kind="stable").tolist()
    n_problems, weights = len(data.sizes), data.sizes / rests(data.sizes)
    parts: list[list[Part | None]] = [[None] * n_problems for _ in Cs]
    budgets = [TimeBudget(one.stop) for _ in Cs]
    with computation(method.settings) as flag:
        for k in range(n_problems):  # one subproblem after the other, so that there is one row cache at a time
            open_ = [i for i in order if budgets[i].left > 0.0 or k == 0]
            if not open_:
                break
            pair, point = one.subproblem(k), None
            for i in open_:
                place = k * len(order) + order.index(i), n_problems * len(order), f"{pair.name}, C={Cs[i]:g}"
                seconds = budgets[i].left * float(weights[k])
                part = one.train(pair, Cs[i], budget=budgets[i], seconds=seconds, start=point, place=place)
                budgets[i].take(part.seconds)
                parts[i][k], point = part, part.solution.point
                one.note_end(part, flag)
            if one.interrupted:
                break
        for i in order:
            trainer.resume(parts[i], Cs[i], budgets[i], flag)
        return [trainer.fit(done, C) for done, C in zip(parts, Cs, strict=True)]
