"""`c_path`: training for several values of C, each from the last solution on shared kernel rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from svmkit.errors import InputError
from svmkit.kernels.functions import Kernel
from svmkit.runtime import interrupt, threads
from svmkit.solver.base import Solver
from svmkit.solver.sampler import Sampler
from svmkit.solver.stopping import Criterion, Stop
from svmkit.training.data import TrainingData
from svmkit.training.result import Fit
from svmkit.training.subproblems.allowance import Allowance, rests
from svmkit.training.subproblems.pair_trainer import Start, Watch
from svmkit.training.subproblems.part import Part
from svmkit.training.subproblems.trainer import Trainer
from svmkit.training.subproblems.validation import Held
from svmkit.training.weights import require_C


def c_path(
    X,
    y,
    Cs: Sequence[float],
    *,
    solver: str | Solver = "auto",
    task: str = "classify",
    kernel: Kernel,
    epsilon: float = 0.1,
    multiclass: str = "ovo",
    sampler: str | Sampler | None = None,
    stop: Criterion | Stop | None = None,
    class_weight: str | dict | None = None,
    sample_weight: np.ndarray | None = None,
    impute: str | None = None,
    scale: str | None = None,
    flags: np.ndarray | None = None,
    memory: str | int = "1GB",
    seed: int = 0,
    n_threads: int | None = None,
    start: Start | None = None,
    validation: Held | None = None,
    watch: Watch | None = None,
) -> list[Fit]:
    """Train a classifier for each of several values of C, faster than one at a time.

    The values are trained from the smallest to the largest, each from the solution of the one before and on the same
    kernel rows. This order takes fewer iterations than the other (docs/frank_wolfe.md, "Warm starts", has figures).

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The training samples, as for `fit`.
    y : array-like of shape (n_samples,)
        The labels, as for `fit`.
    Cs : sequence of float
        The values of C, each finite and > 0, in any order.
    stop : Criterion or Stop, default=Gap(1e-3)
        When to stop, for each C on its own.
    start : sequence of ndarray or SVMModel, default=None
        Where training begins for the smallest C.
    watch : callable, default=None
        As for `fit`; it is told "a vs b, C=1", and counts every C of every class pair.
    solver, task, kernel, epsilon, multiclass, sampler, class_weight, sample_weight : optional
        As for `fit`.
    impute, scale, flags, memory, seed, n_threads, validation : optional
        As for `fit`.

    Returns
    -------
    list of Fit
        One for each of `Cs`, in their order, each with a certificate of its own. Its `kernel_values` are those that
        were computed for this C: rows that an earlier C left in the cache are free. Its `seconds` leave out what the
        path does only once. Ctrl-C ends the current solve and all that follow, each with a certified model.

    Raises
    ------
    InputError
        `Cs` is empty, or the data or options cannot be used.

    Examples
    --------
    >>> from svmkit import c_path
    >>> from svmkit.kernels import RBF
    >>> fits = c_path([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1], [0.1, 1.0, 10.0], kernel=RBF(1.0))
    >>> [fitted.model.about["C"] for fitted in fits]
    [0.1, 1.0, 10.0]
    """
    if not len(Cs):
        raise InputError("Cs is empty: give at least one C > 0")
    for C in Cs:
        require_C(C)
    data = TrainingData.of(
        X,
        y,
        kernel=kernel,
        task=task,
        epsilon=epsilon,
        multiclass=multiclass,
        class_weight=class_weight,
        sample_weight=sample_weight,
        impute=impute,
        scale=scale,
        flags=flags,
        memory=memory,
    )
    trainer = Trainer(
        data, solver=solver, sampler=sampler, stop=stop, seed=seed, start=start, validation=validation, watch=watch
    )
    order = np.argsort(np.asarray(Cs, dtype=np.float64), kind="stable").tolist()
    n_pairs, weights = len(data.sizes), data.sizes / rests(data.sizes)
    parts: list[list[Part | None]] = [[None] * n_pairs for _ in Cs]
    allowances = [Allowance(stop) for _ in Cs]
    with threads.using(n_threads), interrupt.catching() as flag:
        for k in range(n_pairs):  # one class pair after the other, so that there is one row cache at a time
            open_ = [i for i in order if allowances[i].left > 0.0 or k == 0]
            if not open_:
                break
            pair, point = trainer.pair(k), None
            for i in open_:
                watched = k * len(order) + order.index(i), n_pairs * len(order), f"{pair.name}, C={Cs[i]:g}"
                part = trainer.train(
                    pair,
                    Cs[i],
                    allowance=allowances[i],
                    seconds=allowances[i].left * float(weights[k]),
                    start=point,
                    watched=watched,
                )
                allowances[i].take(part.seconds)
                parts[i][k], point = part, part.solution.point
                trainer.heed(part, flag)
            if trainer.interrupted:
                break
        for i in order:
            trainer.resume(parts[i], Cs[i], allowances[i], flag)
        return [trainer.joined(done, C) for done, C in zip(parts, Cs, strict=True)]
