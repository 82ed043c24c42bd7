"""The rows on which candidates are tried: all of them, or first a few, on which a search takes a fraction of the time.

Successive halving (Jamieson, Talwalkar: Non-stochastic best arm identification and hyperparameter optimization.
AISTATS, 2016) with the rows as the resource: many candidates on few rows, the best of them on more, and the remaining
ones on all. Folds of few rows are parts of the folds of all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from svmkit.training.splits import Pair, Splits

SIZES = (500, 2000)  # rows of the first stages
LARGER = 2.0  # ratio of all rows to those of a stage, at least: otherwise there is no such stage
FEWEST = 2  # rows of each class in each fold


class Stage(NamedTuple):
    """The rows on which candidates are tried.

    Attributes
    ----------
    rows : ndarray of int
        The rows of the data, ascending.
    pairs : tuple of (ndarray, ndarray)
        The folds, as positions among them.
    """

    rows: np.ndarray
    pairs: tuple[Pair, ...]

    def part_of(self, X: Any, *, is_square: bool = False) -> Any:
        """Return these rows of X (n, d); of a matrix of kernel values (n, n), also only these columns."""
        part = X[self.rows]
        if not is_square:
            return part
        return part[:, self.rows] if sp.issparse(part) else np.ascontiguousarray(part[:, self.rows])

    def restrict(
        self,
        given: Mapping[str, Any],
        raw: Any,
        values: np.ndarray,
        weights: np.ndarray | None,
        is_square: bool = False,
    ) -> dict[str, Any]:
        """Return the arguments of a search on these rows, given its arguments for all rows.

        Parameters
        ----------
        given : mapping
            The arguments of `svmkit.tune.run`, by name.
        raw, values, weights : ndarray or CSR, ndarray, ndarray or None
            The features, labels and sample weights of all rows.
        is_square : bool, default=False
            As for `part_of`.
        """
        some = {"X": self.part_of(raw, is_square=is_square), "y": values[self.rows], "cv": Splits(self.pairs)}
        return {**given, **some, "sample_weight": None if weights is None else weights[self.rows]}


def make_stages(pairs: Sequence[Pair], codes: np.ndarray, seed: int) -> list[Stage]:
    """Return the stages before the stage of all rows, ascending; none if there are few rows.

    In each fold, each class has the same share of a stage as of all rows, or at least two rows.

    Parameters
    ----------
    pairs : sequence of (ndarray, ndarray)
        The folds of all rows.
    codes : ndarray of shape (n,), int
        The class of each row.
    seed : int
        Seed of the draws.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.choice.stages import make_stages
    >>> folds = np.arange(3000) % 3
    >>> pairs = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(3)]
    >>> stages = make_stages(pairs, np.zeros(3000, int), seed=0)
    >>> [len(stage.rows) for stage in stages], [len(held) for _, held in stages[0].pairs]
    ([501], [167, 167, 167])
    """
    n, stages = len(codes), list[Stage]()
    is_used, fold = np.zeros(n, np.bool_), np.zeros(n, np.int64)
    for k, (train, held) in enumerate(pairs):
        is_used[train] = is_used[held] = True
        fold[held] = k
    used = np.random.default_rng(seed).permutation(np.flatnonzero(is_used))
    group = fold[used] * (int(codes.max()) + 1) + codes[used]
    order = np.argsort(group, kind="stable")
    _, first, counts = np.unique(group[order], return_index=True, return_counts=True)
    place, of_group = np.empty(len(used), np.int64), np.repeat(np.arange(len(first)), counts)
    place[order] = np.arange(len(used)) - first[of_group]  # among the rows of its group, in the order of the draw
    size_of = np.empty(len(used), np.int64)
    size_of[order] = counts[of_group]
    for size in SIZES:
        quota = np.maximum(FEWEST, np.ceil(size_of * (size / len(used))))
        rows = np.sort(used[place < quota])
        if len(used) < LARGER * size or len(used) < LARGER * len(rows):
            break
        if (stage := _restrict(pairs, rows, codes)) is not None:
            stages.append(stage)
    return stages


def _restrict(pairs: Sequence[Pair], rows: np.ndarray, codes: np.ndarray) -> Stage | None:
    """Return folds of some rows; None if one would lack rows, or a class that it has among all rows."""
    where, own = np.full(len(codes), -1), []
    where[rows] = np.arange(len(rows))
    for train, held in pairs:
        few, out = where[train], where[held]
        few, out = few[few >= 0], out[out >= 0]
        if not len(out) or len(np.unique(codes[rows[few]])) < len(np.unique(codes[train])):
            return None
        own.append((few, out))
    return Stage(rows, tuple(own))
