"""The rows of a set for training and testing: random hold-out, folds, whole groups, in order, or given."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from svmkit.compare.plan.given import read_folds
from svmkit.compare.plan.testing import GROUPS, TIME
from svmkit.data.dataset import Dataset
from svmkit.data.groups import fold_groups, split_groups
from svmkit.data.splitting import fold, part, sample, split
from svmkit.errors import InputError
from svmkit.kernels.functions import Precomputed
from svmkit.tasks import task_named


def divide(data: Dataset, test: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows for training and for testing, in order.

    Parameters
    ----------
    data : Dataset
        The set, with its task.
    test : dict
        How it is tested, in the settings of a cell: {hold_out, seed, stratify}, or {cv, seed, fold, by}.

    Raises
    ------
    InputError
        There are too few rows, or they cannot be divided in this way.
    """
    task, numbered = task_named(data.task), number_rows(data)
    stratify = data.y is not None and data.y.ndim == 1 and not task.has_targets
    if "cv" not in test:
        if task.has_groups:
            return split_groups(data, float(test["hold_out"]), test["seed"])
        parts = split(numbered, float(test["hold_out"]), test["seed"], stratify=test.get("stratify", stratify))
    elif "by" in test:
        return _pairs(data, test)[test["fold"]]
    elif task.has_groups:
        return fold_groups(data, test["fold"], test["cv"], test["seed"])
    else:
        parts = fold(numbered, test["fold"], test["cv"], test["seed"], stratify=stratify)
    return numbers(parts[0]), numbers(parts[1])


def _pairs(data: Dataset, test: dict[str, Any]) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """Return the rows of all folds, as in a search."""
    from sklearn.model_selection import PredefinedSplit, TimeSeriesSplit

    from svmkit.training.splits import make_splits

    groups, cv, n_folds = None, test["cv"], test["cv"]
    if test["by"] == GROUPS:
        groups = data.groups
        if groups is None:
            raise InputError(f"{data.name} has no groups by which to divide it: leave groups out")
    elif test["by"] == TIME:
        cv = TimeSeriesSplit(n_folds)
    else:
        folds = read_folds(test["by"])
        if len(folds) != data.n_samples:
            raise InputError(
                f"{test['by']} has {len(folds):,} folds for {data.n_samples:,} rows: write one for each row"
            )
        cv = PredefinedSplit(folds)
    task = task_named(data.task)
    splits = make_splits(cv, task.encode_truth(data.y, data.n_samples), task, test["seed"], groups=groups)
    if len(splits.pairs) != n_folds:
        raise InputError(f"{data.name}: {'; '.join(splits.notes)}: give fewer folds")
    return splits.pairs


def number_rows(data: Dataset) -> Dataset:
    """Return the set with row numbers in place of features, so that dividing it copies no features."""
    return replace(data, X=np.arange(data.n_samples)[:, None])


def numbers(data: Dataset) -> np.ndarray:
    """Return the row numbers in a part of a result of `number_rows`."""
    return data.X[:, 0]


def draw(data: Dataset, n_rows: int, seed: int) -> np.ndarray:
    """Return the rows of a sample, in order; parameters as for `svmkit.data.splitting.sample`."""
    return numbers(sample(number_rows(data), n_rows, seed))


def require_matrix(data: Dataset) -> None:
    """Raise InputError unless the features of a set are a kernel matrix: square and symmetric."""
    try:
        Precomputed().resolve(data.X)
    except InputError as error:
        raise InputError(f"{data.name}: {error}") from None


def part_of(data: Dataset, rows: np.ndarray | slice, columns: np.ndarray | slice | None = None) -> Dataset:
    """Return some rows of a set; for a kernel matrix also its `columns`, those of the training rows."""
    chosen = part(data, rows)
    return chosen if columns is None else replace(chosen, X=chosen.X[:, columns])
