"""The data of the hostile cases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp


class Data(NamedTuple):
    """Samples (m, d), labels (m,) and sample weights (m,) or None."""

    X: Any
    y: np.ndarray
    sample_weight: np.ndarray | None = None


def clouds(m: int = 60, d: int = 3, *, share: float = 0.5, shift: float = 0.7) -> Data:
    """Two overlapping classes of unit spread, in random order.

    Parameters
    ----------
    m, d : int
        Numbers of samples and columns.
    share, shift : float
        Share of the positive class, of which there is at least one sample; the means, plus and minus, in each column.
    """
    rng = np.random.default_rng(0)
    y = np.where(np.arange(m) < max(1, round(share * m)), 1, -1)
    rng.shuffle(y)
    return Data(rng.normal(size=(m, d)) + shift * y[:, None], y)


def transform(change: Callable[[np.ndarray], Any]) -> Data:
    X, y, _ = clouds()
    return Data(change(X), y)


def weigh(weights: Callable[[np.random.Generator, np.ndarray], np.ndarray]) -> Data:
    X, y, _ = clouds()
    return Data(X, y, weights(np.random.default_rng(1), y))


def timestamps() -> Data:
    """Seconds since 1970 with a step of a millisecond, the two classes in stretches of ten."""
    t = 1.7e9 + 1e-3 * np.arange(120)
    return Data(t[:, None], np.where(np.arange(120) // 10 % 2, 1, -1))


def contradict(share: float) -> Data:
    """A share of the samples occurs once more with the opposite label."""
    X, y, _ = clouds()
    n = round(share * len(y))
    return Data(np.vstack([X, X[:n]]), np.concatenate([y, -y[:n]]))


def sparse(d: int, **form: Any) -> Data:
    """Sparse samples of 20 values each, some of them empty; `form` has scale, plus, dtype, indices (their type), to."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(60) % 2, 1, -1)
    row = np.repeat(np.arange(60), 20)
    column = rng.integers(0, d, size=row.size)
    X = sp.csr_array((rng.normal(size=row.size) + 0.3 * y[row], (row, column)), shape=(60, d))
    X = sp.csr_array(sp.diags_array(np.where(np.arange(60) % 15 == 7, 0.0, 1.0)) @ X)
    X.eliminate_zeros()
    index = form.get("indices", X.indices.dtype)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    X = X.astype(form.get("dtype", X.dtype))
    X.data *= form.get("scale", 1.0)
    X.data += form.get("plus", 0.0)
    return Data(getattr(X, form.get("to", "tocsr"))(), y)


def replace_number(X: np.ndarray, at: Any, value: float) -> np.ndarray:
    """A number, or the numbers of a row, is another one."""
    X[at] = value
    return X


def make_read_only(X: np.ndarray) -> np.ndarray:
    X.flags.writeable = False
    return X


def stride(X: np.ndarray) -> np.ndarray:
    wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]))
    wide[::2, ::3] = X
    return wide[::2, ::3]


MATRICES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "rbf": lambda K: K,
    "float32": lambda K: K.astype(np.float32),
    "unsymmetric": lambda K: K + np.triu(np.ones_like(K)),
    "shifted": lambda K: K - 0.5,
    "random": lambda K: (signs := np.random.default_rng(2).normal(size=K.shape)) + signs.T,
    "negative": lambda K: -K,
}


def matrix(kind: str) -> Data:
    """A kernel matrix: of rbf values, those less a constant, with random signs, or negative."""
    X, y, _ = clouds()
    return Data(MATRICES[kind](np.exp(-0.5 * np.square(X[:, None] - X[None]).sum(axis=2))), y)


def three(offset: float = 0.0) -> Data:
    """Three classes with text for labels, the third one small."""
    X, y, _ = clouds(70)
    names = np.where(y > 0, "a", "b")
    names[:10] = "c, too"
    return Data(X + offset, names)
