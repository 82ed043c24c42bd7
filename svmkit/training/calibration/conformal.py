"""Training with some rows held out, whose nonconformity scores determine the size of sets (split conformal)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from svmkit.errors import InputError
from svmkit.model.conformal import Conformal, CrossConformal, least_rows
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Seconds
from svmkit.tasks import Answers
from svmkit.training.calibration.folds import Folds
from svmkit.training.computation import computation
from svmkit.training.data import TrainingData
from svmkit.training.result import Fit
from svmkit.training.settings import Method

SHARE = 0.25  # share of the rows that are held out


def train_with_sets(train: Callable[..., Fit], data: TrainingData, method: Method, **options: Any) -> Fit:
    """Train on three quarters of the samples, and keep the nonconformity scores of the others with the model.

    Imputing, scaling and the parameters of the kernel are learnt without the held-out samples, too, as is a
    calibration.

    Parameters
    ----------
    train, data, method : callable, TrainingData, Method
        `fit_prepared`, all samples, and the method, whose settings have the share of rows that sets may miss.
    **options : object
        Further arguments of `fit_prepared`.
    """
    settings, sets = method.settings, method.task.sets
    assert sets is not None and settings.conformal is not None
    if settings.conformal_folds is not None:
        return _train_folds(train, data, method, settings.conformal_folds, **options)
    by_class = settings.conformal_by == "class"
    held = draw_held(data, settings.conformal, settings.seed, by_class=by_class)
    plain = replace(method, settings=replace(settings, conformal=None, conformal_by=None))
    fitted = train(data.without(held), plain, **options)
    rows = np.flatnonzero(held)
    answers = _take(data.answers, rows)
    misfits = sets.misfits(fitted.model, fitted.model.decision_function(data.raw[rows]), answers)
    if by_class:
        groups = [misfits[answers.codes == code] for code in range(len(answers.classes))]
    else:
        groups = list(misfits.reshape(len(rows), -1).T)
    conformal = Conformal.from_groups(settings.conformal, by_class, groups)
    facts = {"alpha": conformal.alpha, "by": settings.conformal_by, "rows": len(rows)}
    about = fitted.model.about | {"conformal": facts}
    return replace(fitted, model=replace(fitted.model, conformal=conformal, about=about))


def _take(answers: Answers, rows: np.ndarray) -> Answers:
    """Return the answers of some rows."""
    targets = answers.targets
    return Answers(answers.classes, answers.codes[rows], None if targets is None else targets[rows])


def _train_folds(train: Callable[..., Fit], data: TrainingData, method: Method, n_folds: int, **options: Any) -> Fit:
    """Train on all samples, and once without each fold, whose samples then give nonconformity scores (CV+).

    A limit in seconds is shared by all trainings. An interrupt leaves the model of all samples without sets.
    """
    settings, sets = method.settings, method.task.sets
    assert sets is not None and settings.conformal is not None
    by_class, limit = settings.conformal_by == "class", settings.rules.least(Seconds)
    folds = draw_folds(data, settings.conformal, n_folds, settings.seed, by_class=by_class)
    plain = replace(settings, conformal=None, conformal_by=None, conformal_folds=None)
    each = replace(method, settings=plain).limit(limit / (n_folds + 1))
    models, found = [], []
    with computation(settings) as flag:
        fitted = train(data, each, **options)
        if flag or fitted.status is Status.INTERRUPTED:
            return fitted
        trained = time.perf_counter()
        for number in range(n_folds):
            part, fold = data.without(folds == number), options.get("fold")
            if fold is None and plain.has_folds:
                fold = Folds.draw(part, plain.seed).fold  # the training on all samples has warned already
            of_fold = train(part, each, fold=fold)
            if flag or of_fold.status is Status.INTERRUPTED:
                solutions = [replace(solution, status=Status.INTERRUPTED) for solution in fitted.solutions]
                return replace(fitted, solutions=solutions)
            rows = np.flatnonzero(folds == number)
            decision = of_fold.model.decision_function(data.raw[rows])
            found.append((rows, sets.misfits(of_fold.model, decision, _take(data.answers, rows))))
            models.append(of_fold.model)
    rows, misfits = (np.concatenate(parts) for parts in zip(*found, strict=True))
    codes = data.answers.codes[rows].astype(np.int64) if by_class else np.zeros(len(rows), dtype=np.int64)
    conformal = CrossConformal(settings.conformal, by_class, tuple(models), misfits, folds[rows], codes)
    facts = {"alpha": conformal.alpha, "by": settings.conformal_by, "rows": len(rows), "folds": n_folds}
    facts["guaranteed"] = conformal.promise()
    model = replace(fitted.model, conformal=conformal, about=fitted.model.about | {"conformal": facts})
    return replace(fitted, model=model, seconds=fitted.seconds + time.perf_counter() - trained)


def draw_folds(data: TrainingData, alpha: float, n_folds: int, seed: int, *, by_class: bool) -> np.ndarray:
    """Return the fold of each sample, int64 (n,), -1 for weight 0: drawn at random, or at random within each class.

    Parameters
    ----------
    data, alpha, n_folds, seed, by_class : TrainingData, float, int, int, bool
        As for `draw_held`; `n_folds` is the number of folds.

    Raises
    ------
    InputError
        There are too few samples, or a fold contains all samples of a class.
    """
    used, rng, least = np.flatnonzero(data.weights > 0.0), np.random.default_rng(seed), least_rows(alpha)
    folds, classes = np.full(len(data.weights), -1, dtype=np.int64), data.answers.classes
    n_classes = len(classes) if data.task.has_classes else 0
    codes = data.answers.codes[used] if n_classes else np.zeros(len(used), dtype=np.int64)
    rows = np.bincount(codes, minlength=max(n_classes, 1))
    few = int(rows.min()) if by_class else len(used)
    if few < max(least, n_folds):
        of = f" of each class, and class {classes[rows.argmin()]} has {few}" if by_class else f", and there are {few}"
        raise InputError(
            f"conformal={alpha:g} with {n_folds} folds needs {max(least, n_folds)} rows{of}: add rows, or give a "
            "larger share or fewer folds"
        )
    order = rng.permutation(len(used))  # not stratified: held-out rows have to be exchangeable with new ones
    if by_class:
        order = order[np.argsort(codes[order], kind="stable")]
    folds[used[order]] = np.arange(len(used)) % n_folds
    for code in range(n_classes):
        if len(np.unique(folds[used[codes == code]])) < 2:
            raise InputError(f"one of {n_folds} folds has all rows of class {classes[code]}: add rows of it")
    return folds


def draw_held(data: TrainingData, alpha: float, seed: int, *, by_class: bool) -> np.ndarray:
    """Return which samples are held out, bool (n,): a random quarter of the samples of weight > 0, or of each class.

    Parameters
    ----------
    data, alpha, seed : TrainingData, float, int
        The samples, the share of rows that sets may miss, and the seed.
    by_class : bool
        Whether a quarter of each class is held out.

    Raises
    ------
    InputError
        There are too few samples, or all samples of a class would be held out.
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
