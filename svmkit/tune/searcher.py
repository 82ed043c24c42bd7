"""The searches of scikit-learn over paths of C, their folds and the rounds of halving."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from sklearn.experimental import enable_halving_search_cv  # noqa: F401  enables the next import
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, KFold, StratifiedKFold

from svmkit.errors import InputError
from svmkit.tune.estimator import PathClassifier, PathRegressor, score
from svmkit.tune.space import Path

FEWEST = 5  # samples of the rarest class in the first round of halving, on average over its training folds


class _Halving(HalvingGridSearchCV):
    best_index_ = 0  # with several scores and no refit it is not set, but `fit` reads it


def searcher(
    estimator: PathClassifier | PathRegressor,
    paths: list[Path],
    codes: np.ndarray,
    search: str,
    factor: int,
    cv: int,
    seed: int,
) -> GridSearchCV | _Halving:
    """Return the search of scikit-learn over some paths, on shuffled folds; classes are stratified."""
    kind = StratifiedKFold if isinstance(estimator, PathClassifier) else KFold
    folds = kind(cv, shuffle=True, random_state=seed)
    if search != "halving":
        return GridSearchCV(estimator, {"path": paths}, scoring=score, cv=folds, refit=False)
    return _Halving(
        estimator,
        {"path": paths},
        scoring=score,
        cv=folds,
        refit=False,
        factor=factor,
        min_resources=_fewest_rows(len(paths), codes, factor, cv),
        random_state=seed,
        return_train_score=False,
    )


def require_folds(cv: int, classes: np.ndarray, codes: np.ndarray) -> None:
    """Raise InputError where the samples, or those of a class, are too few for so many folds."""
    if cv < 2:
        raise InputError(f"cv must be at least 2 folds, not {cv}")
    counts = np.bincount(codes)
    fewest = counts.min()
    if cv > fewest:
        mend = f"give --cv {fewest}" if fewest > 1 else "it cannot be cross-validated"
        if not len(classes):
            raise InputError(f"cv={cv} folds need as many samples, and there are {fewest}: {mend}")
        name = classes[counts.argmin()]
        raise InputError(f"cv={cv} folds need {cv} samples of each class, but class {name} has {fewest}: {mend}")


def divide(paths: Sequence[Path], pieces: int) -> list[Path]:
    """Divide each path into `pieces`, or into one for each C if it has fewer C; number the pieces from 0."""
    parts = []
    for path in paths:
        cut = np.array_split(np.arange(len(path.Cs)), min(pieces, len(path.Cs)))
        parts += [replace(path, Cs=path.Cs[at[0] : at[-1] + 1]) for at in cut]
    return [replace(part, number=k) for k, part in enumerate(parts)]


def _fewest_rows(n_paths: int, codes: np.ndarray, factor: int, cv: int) -> int:
    """Return the number of samples of the first round of halving, such that the last round has all samples.

    Unlike scikit-learn's "exhaust", it ensures that the first round has some samples of each class.
    """
    n, counts = len(codes), np.bincount(codes)
    rounds = math.floor(math.log(n_paths, factor) + 1e-9)
    needed = math.ceil(FEWEST * n / counts.min() * cv / (cv - 1))
    return min(n, max(n // factor**rounds, needed, 2 * cv * len(counts)))
