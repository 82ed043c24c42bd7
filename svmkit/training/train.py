"""`fit` for one C, and `c_path` for several, where each solve starts at the last solution on shared kernel rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from svmkit.errors import InputError
from svmkit.kernels.functions import Kernel
from svmkit.model.metric import Metric
from svmkit.runtime import interrupt, threads
from svmkit.solver.base import Solver
from svmkit.solver.sampler import Sampler
from svmkit.solver.stopping import Criterion, Stop
from svmkit.training.allowance import Allowance, rests
from svmkit.training.checkpoint import Checkpoint
from svmkit.training.data import TrainingData
from svmkit.training.part import Part
from svmkit.training.result import Fit
from svmkit.training.trainer import Start, Trainer, Watch
from svmkit.training.validation import Held
from svmkit.training.weights import require_C


def c_path(
    X,
    y,
    Cs: Sequence[float],
    *,
    solver: str | Solver = "auto",
    kernel: Kernel,
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
    solver, kernel, sampler, class_weight, sample_weight, impute, scale, flags, memory, seed, n_threads, validation
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
    """
    if not len(Cs):
        raise InputError("Cs is empty: give at least one C > 0")
    for C in Cs:
        require_C(C)
    data = TrainingData.of(
        X,
        y,
        kernel=kernel,
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


def fit(
    X,
    y,
    *,
    solver: str | Solver = "auto",
    kernel: Kernel,
    C: float = 1.0,
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
    checkpoint: Checkpoint | None = None,
) -> Fit:
    """Train a classifier for two classes, or by one-versus-one for more.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features), float32 or float64
        The training samples, dense or CSR; NaN is a hole, for `impute` to fill. For a precomputed kernel, the kernel
        values (n_samples, n_samples).
    y : array-like of shape (n_samples,)
        The labels, numbers or text.
    solver : str or Solver, default="auto"
        The solver, by name or as an instance.
    kernel : Kernel
        The kernel. Parameters such as gamma="scale" are computed from X after scaling.
    C : float, default=1.0
        The weight of the summed losses, > 0. The weight C_i of a sample is C times its class weight times its sample
        weight.
    sampler : str or Sampler, default=None
        Which points each step looks at, such as "full" or "uniform:59". None is the solver's own sampler.
    stop : Criterion or Stop, default=Gap(1e-3)
        When to stop. A limit in seconds is that of this call, whatever earlier calls took that it resumes; the class
        pairs share it according to their numbers of samples, those that need less leave the rest to the others, and
        none begins after it. All other limits hold for each class pair: with three classes, Support(50) leaves up to
        50 support vectors to each of the three class pairs.
    class_weight : {"balanced"} or dict of label to float, default=None
        The weight of each class, > 0; "balanced" makes all classes count the same.
    sample_weight : array-like of shape (n_samples,), default=None
        The weight of each sample, >= 0. A sample of weight 0 takes no part.
    impute : {"median", "most_frequent", "indicator"}, default=None
        What fills the holes (NaN) of X, learnt from X and kept with the model: the median or the most frequent value
        of the column; "indicator" is the median and a 0/1 column for each column with holes. None refuses holes.
    scale : {"standard", "minmax", "maxabs"}, default=None
        The scaling that is applied to X without holes and kept with the model. On CSR, "standard" does not centre, and
        "minmax" is refused.
    flags : boolean ndarray of shape (n_features,), default=None
        The 0/1 columns, such as `Dataset.flags`, which the standard scaling leaves alone.
    memory : str or int, default="1GB"
        The most memory for kernel rows, in bytes or as text.
    seed : int, default=0
        The seed of all random choices.
    n_threads : int, default=None
        The number of threads; None uses all.
    start : sequence of ndarray or SVMModel, default=None
        Where training begins; it does not change the optimum. Either a point for each class pair, such as
        `Solution.point` of an earlier fit on the same X and y; or a model of the same classes and columns, whatever
        its C and kernel, some of whose support vectors are rows of X.
    validation : tuple (X, y) or Dataset, default=None
        Held-out samples; a data set may have features that were 0 in all training samples. Each history's `accuracy` is
        measured on the samples of its two classes, off the clock, every time the number of iterations has grown by a
        fifth.
    watch : callable, default=None
        Called as watch(k, n_problems, "a vs b") before each class pair; it returns the callbacks of this solve.
    checkpoint : Checkpoint, default=None
        Where progress is saved, and from where training continues.

    Returns
    -------
    Fit
        The model, its certificates and its history. Ctrl-C returns the best model so far.

    Raises
    ------
    InputError
        The data or options cannot be used; the message says in one line how to correct them.
    """
    began = time.perf_counter()
    require_C(C)
    data = TrainingData.of(
        X,
        y,
        kernel=kernel,
        class_weight=class_weight,
        sample_weight=sample_weight,
        impute=impute,
        scale=scale,
        flags=flags,
        memory=memory,
    )
    prepared = time.perf_counter() - began
    fitted = fit_prepared(
        data,
        solver=solver,
        C=C,
        sampler=sampler,
        stop=stop,
        seed=seed,
        n_threads=n_threads,
        start=start,
        validation=validation,
        watch=watch,
        checkpoint=checkpoint,
    )
    return replace(fitted, seconds=prepared + fitted.seconds)


def fit_prepared(
    data: TrainingData,
    *,
    solver: str | Solver = "auto",
    C: float = 1.0,
    sampler: str | Sampler | None = None,
    stop: Criterion | Stop | None = None,
    seed: int = 0,
    n_threads: int | None = None,
    start: Start | None = None,
    validation: Held | None = None,
    metric: Metric | None = None,
    watch: Watch | None = None,
    checkpoint: Checkpoint | None = None,
) -> Fit:
    """Train a classifier on data that has been checked, scaled and weighed.

    Parameters
    ----------
    data : TrainingData
        Features, labels, weights and the resolved kernel.
    solver, C, sampler, stop, seed, n_threads, start, validation, watch, checkpoint
        As for `fit`.
    metric : Metric, default=None
        What is measured on the validation set besides accuracy.

    Returns
    -------
    Fit
        Its `seconds` leave out the preparation of `data`.

    Raises
    ------
    InputError
        An option cannot be used with these data.
    """
    began = time.perf_counter()
    require_C(C)
    trainer = Trainer(
        data,
        solver=solver,
        sampler=sampler,
        stop=stop,
        seed=seed,
        start=start,
        validation=validation,
        metric=metric,
        watch=watch,
    )
    if checkpoint is not None:
        checkpoint.bind(data.X, data.codes, C * data.weights, data.kernel)
    with threads.using(n_threads), interrupt.catching():
        fitted = trainer.joined(trainer.run(C, checkpoint), C)
    return replace(fitted, seconds=time.perf_counter() - trainer.measuring - began)
