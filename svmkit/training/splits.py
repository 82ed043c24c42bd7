"""Folds: as many as the rows allow, with groups kept together, or as a splitter of scikit-learn makes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from svmkit.data.overlap import repeated_line
from svmkit.errors import InputError, one_line
from svmkit.tasks import Answers, Task

Pair = tuple[np.ndarray, np.ndarray]
"""The rows on which the models of a fold are trained, and the rows on which they are scored."""


@dataclass(frozen=True)
class Splits:
    """The folds of a search.

    Attributes
    ----------
    pairs : tuple of (ndarray, ndarray)
        For each fold the indices of the rows for training and of the held-out rows.
    notes : tuple of str
        Notes for the user, a line each: fewer folds than requested, rows that are in several folds.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.tasks import task_named
    >>> from svmkit.training.splits import make_splits
    >>> task = task_named("classify")
    >>> splits = make_splits(5, task.encode(["a", "b"] * 3, 6), task, seed=0)
    >>> len(splits.pairs), splits.notes
    (3, ('class a has 3 samples: 3 folds in place of 5',))
    """

    pairs: tuple[Pair, ...]
    notes: tuple[str, ...] = ()

    def numbers(self, n_samples: int) -> np.ndarray | None:
        """Return the fold of each row (n_samples,), -1 if it is never held out; None if a row is held out twice."""
        fold = np.full(n_samples, -1)
        for k, (_, held) in enumerate(self.pairs):
            if (fold[held] >= 0).any():
                return None
            fold[held] = k
        return fold


def make_splits(
    cv: Any,
    truth: Answers,
    task: Task,
    seed: int,
    *,
    groups: Any = None,
    used: np.ndarray | None = None,
    X: Any = None,
) -> Splits:
    """Return the folds of a search; fewer than requested, with a note, if a class has or there are too few groups.

    Parameters
    ----------
    cv : int, splitter of scikit-learn, or sequence of (train, test)
        The number of folds, which are shuffled and, for classes, stratified; or a splitter; or the rows of each fold.
    truth, task : Answers, Task
        The classes or the targets, and the task.
    seed : int
        Seed of the shuffling.
    groups : array-like of shape (n_samples,), default=None
        Rows of the same group are in the same fold; None are the groups of a ranking, if there are several.
    used : boolean ndarray of shape (n_samples,), default=None
        The rows that take part; None takes all.
    X : ndarray or CSR matrix of shape (n_samples, n_features), default=None
        The rows, for a check for equal rows in different folds.

    Raises
    ------
    InputError
        There are fewer than two samples of a class, or fewer than two groups; or `cv` or `groups` cannot be used, or
        separates a group of a ranking, or leaves a fold without a pair to rank.
    """
    n = len(truth.codes)
    rows = np.arange(n) if used is None else np.flatnonzero(used)
    _require_used(truth, task, rows)
    groups, own = number_groups(groups, n), task.groups(truth)
    if groups is None:
        groups = own
    notes: list[str] = []
    alone = rows[:0]
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        if groups is None and task.has_classes:
            rows, alone = _part_single(truth, rows, notes)
        folds = _n_folds(int(cv), truth, task, rows, groups, notes)
        splitter = _kind_of_folds(task.has_classes, groups is not None)(folds, shuffle=True, random_state=seed)
    else:
        splitter = _splitter_of(cv)
    try:
        if isinstance(cv, int | np.integer) or hasattr(cv, "split"):  # it divides the rows that take part
            parts = splitter.split(rows, truth.values[rows], None if groups is None else groups[rows])
            pairs = tuple((np.sort(np.append(rows[train], alone)), rows[test]) for train, test in parts)
        else:  # indices among all rows
            takes_part = np.isin(np.arange(n), rows)
            pairs = tuple(
                (_keep_used(train, takes_part), _keep_used(test, takes_part)) for train, test in splitter.split()
            )
    except (ValueError, TypeError, IndexError) as error:
        raise InputError(f"cv cannot split the data: {one_line(error)}") from None
    if not pairs or not all(len(train) and len(test) for train, test in pairs):
        raise InputError("cv gives folds without rows: give a number of folds, such as 5")
    if own is not None:
        _require_whole(own, pairs)
    if not all(task.can_measure(truth, part) for pair in pairs for part in pair):
        raise InputError(f"a fold has no pair to rank among {len(pairs)} folds: give fewer folds, or larger groups")
    if X is not None:
        held = np.concatenate([test for _, test in pairs])
        fold = np.repeat(np.arange(len(pairs)), [len(test) for _, test in pairs])
        said = repeated_line(X, held, fold, "scores may be too high")
        notes += [said] if said else []
    return Splits(pairs, tuple(notes))


def _require_whole(groups: np.ndarray, pairs: Sequence[Pair]) -> None:
    """Raise InputError if a fold separates the rows of a ranked group."""
    for train, test in pairs:
        if np.isin(groups[test], groups[train]).any():
            raise InputError(
                "the folds divide groups that are ranked: give cv a number of folds or GroupKFold, and groups that "
                "hold those of the ranking, or none"
            )


def _keep_used(numbers: Any, takes_part: np.ndarray) -> np.ndarray:
    """Return the rows that take part among given row indices, or among the rows of a mask."""
    rows = np.arange(len(takes_part))[np.asarray(numbers)]
    return rows[takes_part[rows]]


def _kind_of_folds(stratified: bool, grouped: bool) -> Any:
    """Return scikit-learn's class of splitters."""
    from sklearn import model_selection  # the import takes a tenth of a second, and fits without folds do not need it

    if stratified:
        return model_selection.StratifiedGroupKFold if grouped else model_selection.StratifiedKFold
    return model_selection.GroupKFold if grouped else model_selection.KFold


def _splitter_of(cv: Any) -> Any:
    from sklearn.model_selection import check_cv

    if cv is None or isinstance(cv, bool | str | float):
        raise InputError(f"cv must be a number of folds, a splitter of scikit-learn or pairs of rows, not {cv!r}")
    try:
        return check_cv(cv)
    except (ValueError, TypeError) as error:
        raise InputError(f"cv={cv!r} is no way to split data: {one_line(error)}") from None


def require_classes(truth: Answers, fold: np.ndarray, used: np.ndarray) -> None:
    """Raise InputError if all samples of a class are in one fold.

    Parameters
    ----------
    truth : Answers
        The classes.
    fold : ndarray of shape (n,), int
        The fold of each sample, -1 for none.
    used : ndarray of shape (n,), bool
        The samples on which models are trained.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.tasks import task_named
    >>> from svmkit.training.splits import require_classes
    >>> truth = task_named("classify").encode(["a", "b", "a", "b"], 4)
    >>> require_classes(truth, np.array([0, 0, 1, 1]), np.ones(4, bool))
    """
    for number in range(int(fold.max()) + 1):
        left = np.bincount(truth.codes[used & (fold != number)], minlength=len(truth.classes))
        if not left.min():
            rare = truth.classes[left.argmin()]
            raise InputError(f"fold {number + 1} has all samples of class {rare}: nothing can be learnt without it")


def number_groups(groups: Any, n: int) -> np.ndarray | None:
    """Return the number of the group of each row, int (n,); None without groups, and InputError for another shape.

    Parameters
    ----------
    groups : array-like of shape (n,) or None
        A number or a name for each row.
    n : int
        The number of rows.

    Examples
    --------
    >>> from svmkit.training.splits import number_groups
    >>> number_groups(["b", "a", "b"], 3).tolist()
    [1, 0, 1]
    """
    if groups is None:
        return None
    given = np.asarray(groups)
    if given.shape != (n,):
        raise InputError(f"groups must be {n} values, one for each sample, not of shape {given.shape}")
    return np.unique(given if given.dtype != object else given.astype(str), return_inverse=True)[1]


def _require_used(truth: Answers, task: Task, rows: np.ndarray) -> None:
    """Raise InputError if no row takes part, or no row of a class."""
    if not len(rows):
        raise InputError("sample weights are zero for all samples: training needs one of weight > 0")
    if task.has_classes:
        counts = np.bincount(truth.codes[rows], minlength=len(truth.classes))
        if not counts.min():
            lost = truth.classes[counts.argmin()]
            raise InputError(f"sample weights are zero for all of class {lost}: training needs every class")


def _part_single(truth: Answers, rows: np.ndarray, notes: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Separate the rows that are divided into folds from the rows of single-row classes, on which every fold trains.

    A note reports this. If fewer than two other classes remain, no row is separated.
    """
    codes = truth.codes[rows]
    counts = np.bincount(codes, minlength=len(truth.classes))
    single = counts == 1
    if not single.any() or (counts > 1).sum() < 2:
        return rows, rows[:0]
    first, more = truth.classes[single.argmax()], int(single.sum()) - 1
    who = f"class {first} has" if not more else f"class {first} and {more} more have"
    notes.append(f"{who} 1 sample: every fold trains on it, and none measures it")
    return rows[~single[codes]], rows[single[codes]]


def _n_folds(
    wanted: int, truth: Answers, task: Task, rows: np.ndarray, groups: np.ndarray | None, notes: list[str]
) -> int:
    """Return the number of folds that the rows allow; a note gives the reason if it is smaller than requested."""
    if wanted < 2:
        raise InputError(f"cv must be at least 2 folds, not {wanted}")
    folds, why, codes = wanted, "", truth.codes[rows]
    if task.has_classes:
        present, counts = np.unique(codes, return_counts=True)
        rare, fewest = truth.classes[present[counts.argmin()]], int(counts.min())
        if fewest < folds:
            folds, why = fewest, f"class {rare} has {fewest:,} sample{'s' if fewest != 1 else ''}"
    elif len(rows) // 2 < folds:  # R2 needs two rows
        folds, why = len(rows) // 2, f"there are {len(rows):,} samples"
    if groups is not None and (n_groups := len(np.unique(groups[rows]))) < folds:
        folds, why = n_groups, f"there {'are' if n_groups != 1 else 'is'} {n_groups:,} group{'s' * (n_groups != 1)}"
    if folds < 2:
        raise InputError(f"{why}: that cannot be cross-validated; give numbers in place of 'cv', or add samples")
    if folds < wanted:
        notes.append(f"{why}: {folds} folds in place of {wanted}")
    return folds
