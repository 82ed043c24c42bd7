"""`fit` for one C, and `c_path` for several, where each solve starts at the last solution on shared kernel rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from svmkit.errors import InputError
from svmkit.kernels.functions import Kernel
from svmkit.runtime import interrupt, threads
from svmkit.solver.base import Solver
from svmkit.solver.sampler import Sampler
from svmkit.solver.stopping import Criterion, Stop
from svmkit.training.checkpoint import Checkpoint
from svmkit.training.data import TrainingData
from svmkit.training.result import Fit
from svmkit.training.trainer import Part, Start, Trainer, Watch
from svmkit.training.weights import require_C


def c_path(
    X,
    y,
    Cs: Sequence[float],
    *,
    solver: str | Solver = "swap2o",
    kernel: Kernel,
    sampler: str | Sampler | None = None,
    stop: Criterion | Stop | None = None,
    class_weight: str | dict | None = None,
    sample_weight: np.ndarray | None = None,
    scale: str | None = None,
    memory: str | int = "1GB",
    seed: int = 0,
    n_threads: int | None = None,
    start: Start | None = None,
    validation: tuple[Any, Any] | None = None,
    watch: Watch | None = None,
) -> list[Fit]:
    """Train a classifier for each of several C, faster than one at a time.

    The values are trained from the smallest to the largest, which takes fewer iterations than the other way
    (docs/frank_wolfe.md, "Warm starts", has the figures).

    Parameters
    ----------
    Cs : values of C, each finite and > 0, in any order
    all others : as for `svmkit.fit`; stop holds for each C; start is for the first C that is trained; watch is told
        "a vs b, C=1" and counts every C of every pair

    Returns
    -------
    list of Fit, one for each of Cs in that order, each certified on its own. `kernel_values` are those computed for
    that C: rows that an earlier one left in the cache are free. `seconds` leave out what the path does only once.
    Ctrl-C ends the solve under way and all that follow, each with a certified model.

    Raises
    ------
    InputError as `svmkit.fit`, and for no C at all.
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
        scale=scale,
        memory=memory,
    )
    trainer = Trainer(
        data, solver=solver, sampler=sampler, stop=stop, seed=seed, start=start, validation=validation, watch=watch
    )
    order = np.argsort(np.asarray(Cs, dtype=np.float64), kind="stable").tolist()
    parts: list[list[Part]] = [[] for _ in Cs]
    n_pairs = len(data.sizes)
    with threads.using(n_threads), interrupt.catching():
        for k in range(n_pairs):  # pair by pair, so that there is one row cache at a time
            pair, point = trainer.pair(k), None
            for at, i in enumerate(order):
                watched = k * len(order) + at, n_pairs * len(order), f"{pair.name}, C={Cs[i]:g}"
                part = trainer.train(pair, Cs[i], parts[i], start=point, watched=watched)
                parts[i].append(part)
                point = part.solution.point
        return [trainer.joined(done, C) for done, C in zip(parts, Cs, strict=True)]


def fit(
    X,
    y,
    *,
    solver: str | Solver = "swap2o",
    kernel: Kernel,
    C: float = 1.0,
    sampler: str | Sampler | None = None,
    stop: Criterion | Stop | None = None,
    class_weight: str | dict | None = None,
    sample_weight: np.ndarray | None = None,
    scale: str | None = None,
    memory: str | int = "1GB",
    seed: int = 0,
    n_threads: int | None = None,
    start: Start | None = None,
    validation: tuple[Any, Any] | None = None,
    watch: Watch | None = None,
    checkpoint: Checkpoint | None = None,
) -> Fit:
    """Train a classifier.

    Parameters
    ----------
    X : (n_samples, n_features), dense or CSR, float32 or float64; y : (n_samples,) labels, numbers or text
    solver, sampler : names, or instances; sampler None is the solver's own, mostly "full"
    kernel : Kernel, gamma and the like resolved here
    C : weight of the summed losses, > 0; class_weight : None, "balanced" or {label: weight}; sample_weight :
        (n_samples,), >= 0; a sample of weight 0 takes no part. C_i is the product of the three.
    stop : default Gap(1e-3); budgets in seconds are shared by the pairs of classes by rows, others hold for each
        pair: of three classes, Support(50) leaves up to 50 vectors to each of the three pairs
    scale : None, standard, minmax or maxabs: applied to X and stored with the model
    memory : budget of the row cache; seed : of all random choices; n_threads : default all
    start : a point for each problem, as `Solution.point` of an earlier fit on the same X and y; or an SVMModel of
        the same classes and columns, whatever its C and kernel, that shares support vectors with X. A start changes
        where training begins, not where it ends.
    validation : (X, y) of held-out rows: each history's `accuracy` is measured on those of its classes, off the
        clock, every time the iterations have grown by a fifth

    Returns
    -------
    Fit

    Raises
    ------
    InputError for data or options that cannot be used, each with one line on how to mend it.
    """
    began = time.perf_counter()
    require_C(C)
    data = TrainingData.of(
        X,
        y,
        kernel=kernel,
        class_weight=class_weight,
        sample_weight=sample_weight,
        scale=scale,
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
    solver: str | Solver = "swap2o",
    C: float = 1.0,
    sampler: str | Sampler | None = None,
    stop: Criterion | Stop | None = None,
    seed: int = 0,
    n_threads: int | None = None,
    start: Start | None = None,
    validation: tuple[Any, Any] | None = None,
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
        data, solver=solver, sampler=sampler, stop=stop, seed=seed, start=start, validation=validation, watch=watch
    )
    if checkpoint is not None:
        checkpoint.bind(data.X, data.codes, C * data.weights, data.kernel)
    parts: list[Part] = []
    with threads.using(n_threads), interrupt.catching():
        for k in range(len(data.sizes)):
            slot = checkpoint.slot(k, trainer.solver.name) if checkpoint else None
            parts.append(trainer.train(trainer.pair(k), C, parts, slot=slot))
        fitted = trainer.joined(parts, C)
    return replace(fitted, seconds=time.perf_counter() - trainer.measuring - began)
