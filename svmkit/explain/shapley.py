"""Exact interventional Shapley values of kernel expansions.

With the players of a coalition S from a row x and all others from a row z of the background, the value of S is
h(x_S, z_rest), and a player's Shapley value is its mean gain over all orders in which players join. For a kernel that
is a product of factors, one for each player, the mean over orders is an integral over t of a polynomial in t:

    phi_j = sum_i coef_i (integral over t in [0, 1] of (a_ij - b_ij) prod_{l != j} (t a_il + (1 - t) b_il) dt)

with the factors a_ij of x and b_ij of z. The degree is m - 1 for m players in which x and z differ, so that Gauss and
Legendre's rule of ceil(m / 2) nodes is exact; players in which they do not differ have the value 0. Of the kernel poly,
a power of a sum over players, the mean over orders is such an integral, too, of a degree less than that power.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from svmkit.data.prepare.features import is_sparse
from svmkit.errors import InputError
from svmkit.kernels.forms import Argument, Form
from svmkit.kernels.functions import Kernel
from svmkit.runtime.threads import spread

EXACT = 24  # nodes up to which the exact rule is used at once
FIRST = 8  # nodes of the first rule if there are more, at least
DIGITS = 1e-9  # share of the largest value: a change from one rule to the next below which the rules end
CACHE = 40_000  # bytes of the arrays of a pair of rows, which stay in the L1 cache
LANES = 32, 128  # fewest and most vectors of a block
HIGHEST = 16  # degree of poly
PART = 64 << 20  # bytes of a table of factors that are held at a time
VALUE, FACTOR = 0.6, 6.0  # nanoseconds per node of a player of a vector, and per factor


class Values(NamedTuple):
    """Shapley values, and how they were computed."""

    values: np.ndarray  # (n, n_players, n_functions), float64
    error: float  # a practical bound of the quadrature error of any value, 0.0 if the rule is exact
    nodes: int  # of the largest rule; 0 without quadrature


def expansion_values(
    kernel: Kernel, X: Any, Z: Any, vectors: Any, coef: np.ndarray, owner: np.ndarray, nodes: int | None = None
) -> Values:
    """Return the Shapley values of h(x) = sum_i coef_i k(x_i, x).

    Parameters
    ----------
    kernel : RBF, Laplacian or Poly
        A resolved kernel, a product over columns or a power of a sum over them.
    X, Z : ndarray or CSR of shapes (n, width) and (n_backgrounds, width)
        The rows to explain, and the background over which values are averaged; preprocessed.
    vectors : ndarray or CSR of shape (n_sv, width)
        The vectors x_i.
    coef : ndarray of shape (n_sv, n_functions), float64
        Their coefficients in each function.
    owner : ndarray of shape (width,), int
        The player of each column, from 0.
    nodes : int, default=None
        The largest number of nodes of quadrature. None uses as many as are exact, or, if these are more than 24,
        doubles max(8, sqrt(m)) until the values change by less than 1e-9 of the largest.

    Returns
    -------
    Values

    Notes
    -----
    The error is the largest difference between the values of the last rule and of the one with half as many nodes,
    whose own error is far larger, since rules converge geometrically.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.explain.shapley import expansion_values
    >>> from svmkit.kernels import RBF
    >>> x, z = np.ones((1, 2)), np.zeros((1, 2))
    >>> found = expansion_values(RBF(1.0), x, z, vectors=x, coef=np.ones((1, 1)), owner=np.arange(2))
    >>> found.values.ravel().round(4).tolist(), found.error
    ([0.4323, 0.4323], 0.0)
    """
    work = _Work.arrange(kernel, X, Z, vectors, coef, owner)
    needed = max(1, math.ceil(min(work.most_differing(), work.degree or math.inf) / 2))
    if nodes is not None:
        limit = min(nodes, needed)
        values = work.values(limit)
        error = 0.0 if limit == needed else _change(values, work.values(max(1, limit // 2)) if limit > 1 else 0.0)
        return Values(values, error, limit)
    if needed <= EXACT:
        return Values(work.values(needed), 0.0, needed)
    limit = max(FIRST, math.isqrt(2 * needed))  # the integrand is log-concave, and no narrower than 1 / sqrt(m)
    last = work.values(limit)
    while True:
        limit = min(2 * limit, needed)
        values = work.values(limit)
        error = _change(values, last)
        if limit == needed:
            return Values(values, 0.0, limit)
        if error <= DIGITS * float(np.abs(values).max()):
            return Values(values, error, limit)
        last = values


def linear_values(X: Any, Z: Any, weights: np.ndarray, owner: np.ndarray, n_players: int) -> Values:
    """Return the Shapley values of linear functions: w_j (x_j - mean z_j), summed over the columns of each player.

    Parameters
    ----------
    X, Z : ndarray or CSR of shapes (n, width) and (n_backgrounds, width)
    weights : ndarray of shape (n_functions, width)
    owner : ndarray of shape (width,), int, the player of each column
    n_players : int
    """
    width, mean = X.shape[1], np.asarray(Z.mean(axis=0), dtype=np.float64).reshape(1, -1)
    values = np.empty((X.shape[0], n_players, len(weights)))
    gaps = None if is_sparse(X) else X.astype(np.float64) - mean
    for k, w in enumerate(weights):
        to_players = sp.csr_array((w, owner, np.arange(width + 1)), shape=(width, n_players))
        of_rows = X.astype(np.float64) @ to_players if gaps is None else gaps @ to_players
        values[:, :, k] = of_rows.toarray() - mean @ to_players if gaps is None else of_rows
    return Values(values, 0.0, 0)


def has_factors(kernel: Kernel) -> bool:
    """Return whether exact Shapley values of the kernel are known: it is a product over columns or a power of a sum."""
    if kernel.form is Form.POLY:
        return kernel.scalars.degree <= HIGHEST
    return kernel.form in (Form.RBF, Form.LAPLACIAN, Form.LINEAR)


def require_factors(kernel: Kernel) -> None:
    """Raise InputError unless exact Shapley values of the kernel are known."""
    if not has_factors(kernel):
        raise InputError(
            f"exact contributions need the kernel rbf, laplacian, linear, or poly up to the degree {HIGHEST}, not "
            f"{kernel}"
        )


class _Work(NamedTuple):
    """Rows and vectors in the layout of the loops: only columns in which rows differ, sorted by player."""

    X: np.ndarray
    Z: np.ndarray
    blocks: np.ndarray  # (n_blocks, n_columns, width)
    coef: np.ndarray  # (n_blocks, n_functions, width), with the factors of all other columns
    starts: np.ndarray
    players: np.ndarray  # the index of each player that has columns here
    n_players: int
    gamma: float
    squares: bool
    degree: int  # for a power of a sum, else 0
    offset: np.ndarray  # (n_blocks, width), added to that sum

    @classmethod
    def arrange(cls, kernel: Kernel, X: Any, Z: Any, vectors: Any, coef: np.ndarray, owner: np.ndarray) -> _Work:
        """Return the work for rows, a background and vectors of an expansion.

        Parameters
        ----------
        kernel, X, Z, vectors, coef, owner : as for `expansion_values`
        """
        require_factors(kernel)
        assert kernel.form is not None
        squares, gamma = kernel.form.argument is Argument.SQUARE, kernel.scalars.gamma
        degree = kernel.scalars.degree if kernel.form is Form.POLY else 0
        used = np.flatnonzero(_varies(X, Z))
        used = used[np.argsort(owner[used], kind="stable")]
        players, starts = np.unique(owner[used], return_index=True)
        elsewhere = _argument_elsewhere(kernel.form.argument, X, vectors, used)
        n_sv, arrays = vectors.shape[0], max(len(players), 1) * max(degree, 1)
        width = int(np.clip(1 << max(0, int(math.log2(CACHE / (48 * arrays)))), *LANES))
        n_blocks = -(-n_sv // width)
        blocks = np.zeros((n_blocks * width, len(used)))
        blocks[:n_sv] = _dense(vectors[:, used])
        padded = np.zeros((n_blocks * width, coef.shape[1]))
        padded[:n_sv] = coef if degree else coef * np.exp(-gamma * elsewhere)[:, None]
        offset = np.zeros(n_blocks * width)
        offset[:n_sv] = kernel.scalars.coef0 + gamma * elsewhere if degree else 0.0
        return cls(
            _dense(X[:, used]),
            _dense(Z[:, used]),
            np.ascontiguousarray(blocks.reshape(n_blocks, width, len(used)).transpose(0, 2, 1)),
            np.ascontiguousarray(padded.reshape(n_blocks, width, coef.shape[1]).transpose(0, 2, 1)),
            np.append(starts, len(used)).astype(np.int64),
            players,
            int(owner.max()) + 1,
            float(gamma),
            squares,
            degree,
            offset.reshape(n_blocks, width),
        )

    def differing(self, rows: slice, backgrounds: slice) -> np.ndarray:
        """Return whether rows and backgrounds differ for each player, bool (n, n_backgrounds, n_players)."""
        columns = self.X[rows, None, :] != self.Z[None, backgrounds, :]
        return np.logical_or.reduceat(columns, self.starts[:-1], axis=2)

    def parts(self) -> Iterator[tuple[slice, slice]]:
        """Yield parts of the rows and of the background whose tables of factors take little memory."""
        row = 8 * len(self.players) * self.blocks.shape[2]
        step = max(8, min(256, PART // max(row, 1)))
        for lo in range(0, len(self.X), step):
            for first in range(0, len(self.Z), step):
                yield slice(lo, min(lo + step, len(self.X))), slice(first, min(first + step, len(self.Z)))

    def most_differing(self) -> int:
        """Return the largest number of players for which a row and a background differ."""
        if not len(self.players):
            return 0
        return max(int(self.differing(*part).sum(axis=2).max()) for part in self.parts())

    def values(self, limit: int) -> np.ndarray:
        """Return the values (n, n_players, n_functions) by rules of at most `limit` nodes."""
        out = np.zeros((len(self.X), self.n_players, self.coef.shape[1]))
        if not len(self.players):
            return out
        for rows, backgrounds in self.parts():
            out[rows, self.players] += self._part(rows, backgrounds, limit)
        return out / len(self.Z)

    def _part(self, rows: slice, backgrounds: slice, limit: int) -> np.ndarray:
        """Return the sums over some backgrounds of the values of some rows (n, players, n_functions)."""
        X, Z, differs = self.X[rows], self.Z[backgrounds], self.differing(rows, backgrounds)
        counts = np.bincount(differs.sum(axis=2).ravel(), minlength=len(self.players) + 1)
        rules = _rules(counts > 0, limit)
        n_players, n_functions, width = len(self.players), *self.coef.shape[1:]
        each = 8 * n_players * (width * (len(X) + len(Z)) + len(X) * n_functions)
        step = max(1, PART // each)
        total = np.zeros((len(X), n_players, n_functions))
        for lo in range(0, len(self.blocks), step):
            some = slice(lo, lo + step)
            n = len(self.blocks[some])
            A, B = (self._table(part, some) for part in (X, Z))
            out = np.zeros((n * len(X), n_players, n_functions))
            self._add(len(X), differs, A, B, rules, some, out)
            total += out.reshape(n, len(X), n_players, n_functions).sum(axis=0)
        return total

    def _table(self, X: np.ndarray, some: slice) -> np.ndarray:
        """Return the factors, or terms, of rows and some blocks of vectors, (n_blocks, n, players, width)."""
        from svmkit.explain.loops import fill_factors, fill_products  # here: they need numba

        blocks = self.blocks[some]
        out = np.empty((len(blocks), len(X), len(self.players), blocks.shape[2]))
        given = len(blocks) * len(X), FACTOR * out.shape[2] * out.shape[3], X, blocks, self.starts, self.gamma
        if self.degree:
            spread(fill_products, *given, out)
        else:
            spread(fill_factors, *given, self.squares, out)
        return out

    def _add(
        self, n: int, differs: np.ndarray, A: np.ndarray, B: np.ndarray, rules: tuple, some: slice, out: np.ndarray
    ) -> None:
        """Add the sums of `_part` for some blocks to out."""
        from svmkit.explain.loops import add_power_values, add_values

        most = math.ceil(len(self.players) / 2)
        work = VALUE * max(self.degree, 1) ** 2 * B.shape[1] * A.shape[2] * A.shape[3] * most
        given = n * len(A), work, differs, A, B, *rules, self.coef[some]
        if self.degree:
            spread(add_power_values, *given, self.offset[some], self.degree, out)
        else:
            spread(add_values, *given, out)


def _change(values: np.ndarray, last: np.ndarray | float) -> float:
    return float(np.abs(values - last).max())


def _rules(occurs: np.ndarray, limit: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rules on [0, 1] for each number m > 0 of differing players that occurs, as `add_values` takes them."""
    ends, rules = np.zeros(len(occurs), dtype=np.int64), []
    for m in range(1, len(occurs)):
        if occurs[m]:
            rules.append(_gauss(min(math.ceil(m / 2), limit)))
        ends[m] = ends[m - 1] + (len(rules[-1][0]) if occurs[m] else 0)
    nodes, weights = (np.concatenate([np.empty(0), *(rule[k] for rule in rules)]) for k in (0, 1))
    return ends, nodes, weights


@lru_cache(maxsize=256)
def _gauss(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes and weights of Gauss and Legendre's rule on [0, 1]."""
    from scipy.special import roots_legendre

    nodes, weights = roots_legendre(n)
    return 0.5 * (nodes + 1.0), 0.5 * weights


def _varies(X: Any, Z: Any) -> np.ndarray:
    """Return in which columns the rows of X and Z are not all equal; for sparse ones, those stored in a row."""
    if is_sparse(X):
        stored = np.zeros(X.shape[1], dtype=bool)
        stored[X.indices] = stored[Z.indices] = True
        return stored
    return np.not_equal(X, X[:1]).any(axis=0) | np.not_equal(Z, X[:1]).any(axis=0)


def _argument_elsewhere(argument: Argument, X: Any, vectors: Any, used: np.ndarray) -> np.ndarray:
    """Return |x - s|^2, |x - s|_1 or x.s of each vector over all columns but those used, where all rows are alike."""
    others = np.setdiff1d(np.arange(X.shape[1]), used)
    if is_sparse(vectors):  # rows have no entries there
        part = vectors[:, others]
        if argument is Argument.DOT:
            return np.zeros(part.shape[0])
        sums = part.multiply(part) if argument is Argument.SQUARE else abs(part)
        return np.asarray(sums.sum(axis=1), dtype=np.float64).ravel()
    s, x = vectors[:, others].astype(np.float64), _dense(X[:1])[:, others]
    if argument is Argument.DOT:
        return (s @ x.T)[:, 0]
    return np.square(s - x).sum(axis=1) if argument is Argument.SQUARE else np.abs(s - x).sum(axis=1)


def _dense(X: Any) -> np.ndarray:
    return np.ascontiguousarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
