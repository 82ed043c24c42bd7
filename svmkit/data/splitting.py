"""Splits of a data set into training and test samples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from svmkit.data.dataset import RANK, Dataset
from svmkit.errors import InputError
from svmkit.runtime.mapping import take


def split(data: Dataset, fraction: float, seed: int, *, stratify: bool = True) -> tuple[Dataset, Dataset]:
    """Hold out random samples for testing; return train and test, both in the order of the data. Raises InputError if
    no sample is held out, or the data have no labels by which to stratify.

    Parameters
    ----------
    data, seed : Dataset, int
    fraction : float, the share of the samples to hold out
    stratify : bool, whether it is the share of each class, at least one sample of which is kept; data with groups are
        divided between groups, whatever their classes
    """
    rng = np.random.default_rng(seed)
    if data.groups is not None:
        test = _whole_groups(data.groups, fraction, rng)
    elif stratify:
        y = _labels(data)
        held: list[np.ndarray] = []
        for label in np.unique(y):
            members = rng.permutation(np.flatnonzero(y == label))
            held.append(members[: min(round(fraction * len(members)), len(members) - 1)])
        test = np.sort(np.concatenate(held))
    else:
        order = rng.permutation(data.n_samples)
        test = np.sort(order[: min(round(fraction * data.n_samples), data.n_samples - 1)])
    if not len(test):
        raise InputError(f"a test size of {fraction} holds no row of {data.name} out: give a larger one")
    train = np.setdiff1d(np.arange(data.n_samples), test)
    return part(data, train), part(data, test)


def _whole_groups(groups: np.ndarray, fraction: float, rng: np.random.Generator) -> np.ndarray:
    """Return the rows of some groups, at least one and not all, with about this share of the rows."""
    _, number, counts = np.unique(groups, return_inverse=True, return_counts=True)
    order = rng.permutation(len(counts))
    held = np.cumsum(counts[order]) <= fraction * len(groups) + counts.mean() / 2
    held[0], held[-1] = len(counts) > 1, False
    return np.flatnonzero(np.isin(number, order[held]))


def fold(data: Dataset, number: int, n_folds: int, seed: int, *, stratify: bool = True) -> tuple[Dataset, Dataset]:
    """Hold out one of several folds, which together are all samples; return train and test, both in the order of the
    data. Raises InputError: a class, or without `stratify` the data, has fewer samples than there are folds, or the
    data have no labels by which to stratify.

    Parameters
    ----------
    data : Dataset
    number, n_folds : int, the number of the fold, from 0, and of all folds, at least 2
    seed : int; folds of the same seed partition the samples
    stratify : bool, whether each fold has the same share of each class
    """
    if not stratify:
        if data.n_samples < n_folds:
            raise InputError(f"{data.name} has {data.n_samples} rows, too few for {n_folds} folds: give fewer folds")
    else:
        labels, counts = np.unique(_labels(data), return_counts=True)
        if counts.min() < n_folds:
            rows = f"class {labels[counts.argmin()]} of {data.name} has {counts.min()} rows"
            raise InputError(f"{rows}, too few for {n_folds} folds: give fewer folds")
    fold_of = _number_folds(data.n_samples, _labels(data) if stratify else None, n_folds, seed)
    return part(data, np.flatnonzero(fold_of != number)), part(data, np.flatnonzero(fold_of == number))


def _number_folds(n: int, y: np.ndarray | None, n_folds: int, seed: int) -> np.ndarray:
    """Return the fold of each row (n,): that of scikit-learn's KFold, or of StratifiedKFold for labels y, with
    shuffle=True; importing them takes a second.
    """
    rng, folds = np.random.RandomState(seed), np.arange(n_folds)
    fold_of = np.empty(n, dtype=np.int64)
    if y is None:
        order = np.arange(n)
        rng.shuffle(order)
        fold_of[order] = folds.repeat(n // n_folds + (folds < n % n_folds))
        return fold_of
    _, first, inverse = np.unique(y, return_index=True, return_inverse=True)
    code = np.argsort(np.argsort(first))[inverse]  # in order of the first appearance of the classes
    ascending = np.sort(code)
    counts = np.array([np.bincount(ascending[k::n_folds], minlength=len(first)) for k in range(n_folds)])
    for k in range(len(first)):
        own = folds.repeat(counts[:, k])
        rng.shuffle(own)
        fold_of[code == k] = own
    return fold_of


def sample(data: Dataset, n_rows: int, seed: int) -> Dataset:
    """Return random rows, in the order of the data; of two samples with one seed, the smaller is part of the larger.
    Classes have about their shares, and at least one row each if there are as many rows as classes. Groups that are
    ranked are taken one after the other, whole except for the last.
    """
    rng = np.random.default_rng(seed)
    place, y = rng.random(data.n_samples), data.y
    if data.groups is not None and data.task == RANK:
        _, number = np.unique(data.groups, return_inverse=True)
        place += rng.permutation(int(number.max()) + 1)[number]
    elif y is not None and not data.has_targets:
        for label in np.unique(y):
            members = np.flatnonzero(y == label)
            ranks = rng.permutation(len(members))  # the first row of each class precedes all others
            place[members] = ranks / len(members) + 1e-9 * place[members]
    return part(data, np.sort(np.argsort(place, kind="stable")[:n_rows]))


def _labels(data: Dataset) -> np.ndarray:
    """Return the labels, which are needed to hold out rows."""
    if data.y is None:
        raise InputError(f"{data.name} has no labels: rows cannot be held out to test on")
    return data.y


def part(data: Dataset, rows: np.ndarray | slice) -> Dataset:
    """Return some rows of a data set as a data set of the same name."""
    X = take(data.X, rows) if isinstance(rows, np.ndarray) else data.X[rows]
    y, groups, observed = (None if of is None else of[rows] for of in (data.y, data.groups, data.observed))
    return replace(data, X=X, y=y, groups=groups, observed=observed)
