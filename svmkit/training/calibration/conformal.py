"""Training with a part of the rows held out, whose misfits say how large sets have to be (split conformal)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from svmkit.errors import InputError
from svmkit.model.conformal import Conformal, least_rows
from svmkit.tasks import Answers
from svmkit.training.data import TrainingData
from svmkit.training.result import Fit
from svmkit.training.settings import Method

SHARE = 0.25  # of the rows that are held out


def train_with_sets(train: Callable[..., Fit], data: TrainingData, method: Method, **options: Any) -> Fit:
    """Train on three quarters of the samples, and keep the misfits of the others with the model.

    Imputing, scaling and the numbers of the kernel are learnt without the held-out samples, too, as is a calibration.

    Parameters
    ----------
    train, data, method : callable, TrainingData, Method
        `fit_prepared`, all samples, and the method, whose settings say the share that sets may miss.
    **options
        What `fit_prepared` takes besides.
    """
    settings, sets = method.settings, method.task.sets
    assert sets is not None and settings.conformal is not None
    by_class = settings.conformal_by == "class"
    held = draw_held(data, settings.conformal, settings.seed, by_class=by_class)
    plain = replace(method, settings=replace(settings, conformal=None, conformal_by=None))
    fitted = train(data.without(held), plain, **options)
    rows = np.flatnonzero(held)
    targets = data.answers.targets
    answers = Answers(data.answers.classes, data.answers.codes[rows], None if targets is None else targets[rows])
    misfits = sets.misfits(fitted.model, fitted.model.decision_function(data.raw[rows]), answers)
    if by_class:
        groups = [misfits[answers.codes == code] for code in range(len(answers.classes))]
    else:
        groups = list(misfits.reshape(len(rows), -1).T)
    conformal = Conformal.from_groups(settings.conformal, by_class, groups)
    facts = {"alpha": conformal.alpha, "by": settings.conformal_by, "rows": len(rows)}
    about = fitted.model.about | {"conformal": facts}
    return replace(fitted, model=replace(fitted.model, conformal=conformal, about=about))


def draw_held(data: TrainingData, alpha: float, seed: int, *, by_class: bool) -> np.ndarray:
    """Return which samples are held out, bool (n,): a random quarter of those of weight > 0, or of those of each class.

    Parameters
    ----------
    data, alpha, seed : TrainingData, float, int
        The samples, the share that sets may miss, and the seed.
    by_class : bool
        Whether each class is held out on its own.

    Raises
    ------
    InputError
        There are too few samples, or all of a class would be held out.
    """
    used, rng, least = np.flatnonzero(data.weights > 0.0), np.random.default_rng(seed), least_rows(alpha)
    held, n_classes = np.zeros(len(data.weights), dtype=np.bool_), len(data.answers.classes)
    codes = data.answers.codes
    for code in range(n_classes if by_class else 1):
        rows = used[codes[used] == code] if by_class else used
        n = round(SHARE * len(rows))
        if n < least:
            of = f" of each class, and class {data.answers.classes[code]} has {len(rows)} rows" if by_class else ""
            raise InputError(
                f"conformal={alpha:g} needs {least} rows to hold out, a quarter of all{of}: add rows, or give a larger "
                "share"
            )
        held[rng.permutation(rows)[:n]] = True
    left = np.bincount(codes[used[~held[used]]], minlength=n_classes)
    if n_classes > 1 and data.task.has_classes and not left.min():
        rare = data.answers.classes[left.argmin()]
        raise InputError(f"all rows of class {rare} were held out: give conformal_by=class, or add rows of it")
    return held
