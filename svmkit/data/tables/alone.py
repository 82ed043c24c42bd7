"""How well a column of a table alone predicts the label: a column that decides it may leak the answer."""

from __future__ import annotations

import numpy as np

from svmkit.data.tables.columns import Column

DECIDES = 0.9995  # area from which a column alone decides
FEWEST = 200  # rows below which such an area means little
MOST_COLUMNS = 500  # more columns are not examined before each training
_ROWS = 5_000  # number of evenly spaced rows that are examined
_CLASSES = 20  # number of classes that are examined, the most frequent ones


def area(column: Column, y: np.ndarray) -> float | None:
    """Return the area under the ROC curve (0.5 to 1) of a column, ascending or descending, as the decision for a class.

    For more than two classes it is the mean over the classes against the rest. A category counts as the share of the
    class among the rows of the category in the other half of the table. None if the column has one value, or the label
    one class.

    Parameters
    ----------
    column : Column of n_samples cells; rows with a hole do not count
    y : ndarray of shape (n_samples,), the classes
    """
    known = np.flatnonzero(~column.holes)
    known = known[:: max(1, len(known) // _ROWS)]
    values, (classes, codes) = column.values[known], np.unique(y[known], return_inverse=True)
    if len(classes) < 2 or len(np.unique(values)) < 2:
        return None
    counts = np.bincount(codes)
    likely = np.argsort(-counts, kind="stable")[: 1 if len(classes) == 2 else _CLASSES]
    areas = [_area_of_class(values, codes == k, column.categories is not None) for k in likely]
    return float(np.average(areas, weights=counts[likely]))


def correlation(column: Column, y: np.ndarray) -> float | None:
    """Return the absolute rank correlation (Spearman) of a column of numbers or dates with a quantity, 0 to 1; None for
    categories, and if one of the two is constant.

    Parameters
    ----------
    column : Column of n_samples cells; rows with a hole do not count
    y : ndarray of shape (n_samples,), the quantities
    """
    if column.categories is not None:
        return None
    known = np.flatnonzero(~column.holes)
    known = known[:: max(1, len(known) // _ROWS)]
    ours, theirs = _ranks(column.values[known]), _ranks(y[known])
    spread = ours.std() * theirs.std() if len(known) else 0.0
    return None if spread == 0.0 else float(abs(((ours - ours.mean()) * (theirs - theirs.mean())).mean() / spread))


def _area_of_class(values: np.ndarray, positive: np.ndarray, are_categories: bool) -> float:
    """Return the area of numbers, or of categories by their shares in the other half of the rows."""
    if not are_categories:
        one = _area(values, positive)
        return max(one, 1.0 - one)
    half, n = np.arange(len(values)) % 2 == 0, int(values.max()) + 1
    shares, overall = np.empty(len(values)), positive.mean()
    for here in (half, ~half):
        of_each = np.bincount(values[~here], minlength=n)
        hits = np.bincount(values[~here], weights=positive[~here], minlength=n)
        # a category without rows there has the overall share
        shares[here] = ((hits + overall) / (of_each + 1.0))[values[here]]
    return max(0.5, _area(shares, positive))


def _area(values: np.ndarray, positive: np.ndarray) -> float:
    """Return the share of pairs of a positive and another row that are in order, plus half of the ties."""
    n, m = int(positive.sum()), int((~positive).sum())
    return 0.5 if not (n and m) else float((_ranks(values)[positive].sum() - n * (n + 1) / 2) / (n * m))


def _ranks(values: np.ndarray) -> np.ndarray:
    """Return the ranks from 1, equal values having the mean of theirs."""
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[codes]
