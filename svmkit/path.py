"""Training for several C: every solve starts at the last solution, on kernel rows that all of them share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from svmkit import interrupt, threads
from svmkit.errors import InputError
from svmkit.kernels import Kernel
from svmkit.prepared import Prepared
from svmkit.sampler import Sampler
from svmkit.solver import Solver
from svmkit.stopping import Criterion, Stop
from svmkit.training import Fit, Part, Start, Trainer, Watch, require_C


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

    From the smallest C to the largest: of 9 values from 0.01 to 100 that took 46,663 iterations on a1a and 149,050 on
    10,000 rows of ijcnn1, the other way 60,824 and 197,416, each on its own 66,907 and 235,624.

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
    data = Prepared.of(
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
