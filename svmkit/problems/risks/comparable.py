"""Comparable pairs of samples, counted without ever being listed: groups, levels, and one sweep in O(m log m).

A pair (i, j) is comparable if both are in one group, the value of j was observed (only censored times are not), and i
has the larger value, or an equal value that was not observed: a sample censored at a time outlived it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from svmkit.runtime.compiling import njit


class Order(NamedTuple):
    """The samples in the order of their groups, with the data that determine which pairs are comparable.

    Attributes
    ----------
    rows : ndarray of shape (m,), int64
        The samples, group by group.
    starts : ndarray of shape (n_groups + 1,), int64
        Where each group begins in `rows`, and m.
    level : ndarray of shape (m,), int64
        The rank of the value of each of `rows` among the different values of its group, from 0; censored values come
        right after observed ones that are as large.
    observed : ndarray of shape (m,), bool
        Whether the value of each of `rows` was observed, so that it can be the lower one of a pair.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.problems.risks.comparable import make_order
    >>> order = make_order(np.array([2.0, 5.0, 1.0]), np.array([1, 0, 1]))
    >>> order.rows.tolist(), order.starts.tolist(), order.level.tolist()
    ([1, 0, 2], [0, 1, 3], [0, 1, 0])
    """

    rows: np.ndarray
    starts: np.ndarray
    level: np.ndarray
    observed: np.ndarray

    def count_pairs(self, h: np.ndarray, reach: float) -> np.ndarray:
        """Count, for each sample, its comparable pairs (i, j) with h_i - h_j < reach, and sum h of the other samples.

        Parameters
        ----------
        h : ndarray of shape (m,), float64
            Decision values, in the order of `rows`.
        reach : float
            1.0 for the pairs within the margin, 0.0 for those in the wrong order, inf for all.

        Returns
        -------
        ndarray of shape (4, m), float64
            How often each sample, in the order of `rows`, is i in such a pair and how often it is j; and the sums of
            h_j, and of h_i, over these pairs.
        """
        out = np.zeros((4, len(h)))
        _count(self.starts, self.level, self.observed, h, reach, out)
        return out

    def centre(self, h: np.ndarray) -> np.ndarray:
        """Return decision values of all samples (m,) in the order of `rows`, less the median of their group."""
        h = h[self.rows]
        _centre(self.starts, h)
        return h

    def restore(self, values: np.ndarray) -> np.ndarray:
        """Return values given in the order of `rows` (m,) in the order of the samples."""
        out = np.empty(len(values))
        out[self.rows] = values
        return out


def make_order(values: np.ndarray, groups: np.ndarray, observed: np.ndarray | None = None) -> Order:
    """Return the order of samples by their groups.

    Parameters
    ----------
    values : ndarray of shape (m,)
        The values; larger ones should have larger decisions.
    groups : ndarray of shape (m,)
        Numbers of groups.
    observed : ndarray of shape (m,), bool, default=None
        Whether a value was observed; None for all.
    """
    seen = np.ones(len(values), dtype=bool) if observed is None else np.asarray(observed, dtype=bool)
    rows = np.lexsort((~seen, values, groups))
    ordered, of_group, known = values[rows], groups[rows], seen[rows]
    begins = np.append(True, of_group[1:] != of_group[:-1])
    starts = np.append(np.flatnonzero(begins), len(rows)).astype(np.int64)
    differs = (ordered[1:] != ordered[:-1]) | (known[1:] != known[:-1])
    steps = np.cumsum(np.append(False, differs) | begins)
    level = (steps - np.repeat(steps[starts[:-1]], np.diff(starts))).astype(np.int64)
    return Order(rows.astype(np.int64), starts, level, known)


@njit(nogil=True, cache=True)
def _centre(starts, h):
    """Subtract the median of each group from h, in place: a mean may be dominated by one value, and others lose
    digits.
    """
    for g in range(starts.size - 1):
        part = h[starts[g] : starts[g + 1]]
        part -= np.median(part)


@njit(nogil=True, cache=True)
def _count(starts, level, observed, h, reach, out):
    """Fill `out` (4, m) by two sweeps along h a group, over binary indexed trees of levels (Lee, Lin 2014)."""
    tree = np.zeros((2, np.diff(starts).max() + 1))
    for g in range(starts.size - 1):
        lo, hi = starts[g], starts[g + 1]
        if hi - lo < 2:
            continue
        order = np.argsort(h[lo:hi]) + lo
        n, most = order.size, level[hi - 1] + 1  # a group is sorted by its levels
        # the upper ones from the largest h down: ever more of the lower ones are within reach
        tree[:, : most + 1] = 0.0
        p = n - 1
        for q in range(n - 1, -1, -1):
            i = order[q]
            while p >= 0 and h[i] - h[order[p]] < reach:
                j = order[p]
                if observed[j]:
                    _insert(tree, level[j], most, h[j])
                p -= 1
            out[0, i], out[2, i] = _query(tree, level[i])
        # the lower ones from the smallest h up, of levels from above
        tree[:, : most + 1] = 0.0
        p = 0
        for q in range(n):
            j = order[q]
            while p < n and h[order[p]] - h[j] < reach:
                i = order[p]
                _insert(tree, most - 1 - level[i], most, h[i])
                p += 1
            if observed[j]:
                out[1, j], out[3, j] = _query(tree, most - 1 - level[j])


@njit(nogil=True, cache=True)
def _insert(tree, k, most, value):
    """Add 1 and `value` at place k of trees over `most` places."""
    k += 1
    while k <= most:
        tree[0, k] += 1.0
        tree[1, k] += value
        k += k & -k


@njit(nogil=True, cache=True)
def _query(tree, k):
    """Return the sums over the places below k."""
    count, total = 0.0, 0.0
    while k > 0:
        count += tree[0, k]
        total += tree[1, k]
        k -= k & -k
    return count, total
