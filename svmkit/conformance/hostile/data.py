"""The data of the hostile cases, each made by a function without arguments or by a function that returns one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

Maker = Callable[[], "Data"]


class Data(NamedTuple):
    """Samples (m, d), labels (m,) and sample weights (m,) or None."""

    X: Any
    y: np.ndarray
    sample_weight: np.ndarray | None = None


def base(m: int = 60, d: int = 3, seed: int = 0, share: float = 0.5, shift: float = 0.7) -> Data:
    """Two overlapping classes of unit spread, in random order.

    Parameters
    ----------
    m, d : int
        Numbers of samples and columns.
    seed : int
        Seed of the random generator.
    share : float
        Share of the positive class, of which there is at least one sample.
    shift : float
        Where the means are, plus and minus, in each column.

    Returns
    -------
    Data
    """
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(m) < max(1, round(share * m)), 1, -1)
    rng.shuffle(y)
    return Data(rng.normal(size=(m, d)) + shift * y[:, None], y)


def transform(change: Callable[[np.ndarray], Any], **data: Any) -> Maker:
    """A maker of `base` data whose X is changed."""

    def make() -> Data:
        X, y, weights = base(**data)
        return Data(change(X), y, weights)

    return make


def weigh(weights: Callable[[np.random.Generator, np.ndarray], np.ndarray], **data: Any) -> Maker:
    """A maker of `base` data with sample weights."""

    def make() -> Data:
        X, y, _ = base(**data)
        return Data(X, y, weights(np.random.default_rng(1), y))

    return make


def times(scale: float) -> Maker:
    return transform(lambda X: X * scale)


def plus(offset: float, **data: Any) -> Maker:
    return transform(lambda X: X + offset, **data)


def timestamps() -> Data:
    """Seconds since 1970 with a step of a millisecond, the two classes in stretches of ten."""
    t = 1.7e9 + 1e-3 * np.arange(120)
    return Data(t[:, None], np.where(np.arange(120) // 10 % 2, 1, -1))


def two_places() -> Data:
    """Two clusters that no single shift brings near the origin."""
    X, y, _ = base()
    return Data(X + 1e8 * (np.arange(len(y)) % 2)[:, None], y)


def one_far() -> Data:
    X, y, _ = base()
    X[0] = 1e12
    return Data(X, y)


def stamped_columns() -> Data:
    """A column of timestamps beside columns of unit spread."""
    X, y, _ = base()
    return Data(np.column_stack([X, 1.7e9 + np.arange(len(y))]), y)


def contradicting(share: float) -> Maker:
    """A share of the samples occurs once more with the opposite label."""

    def make() -> Data:
        X, y, _ = base()
        n = round(share * len(y))
        return Data(np.vstack([X, X[:n]]), np.concatenate([y, -y[:n]]))

    return make


def two_rows() -> Data:
    return Data(np.repeat([[1.0, 2.0], [2.0, 1.0]], 20, axis=0), np.repeat([1, -1], 20))


def sparse(d: int, **form: Any) -> Maker:
    """Sparse samples of 20 values each, some of them empty."""

    def make() -> Data:
        rng = np.random.default_rng(0)
        y = np.where(np.arange(60) % 2, 1, -1)
        row = np.repeat(np.arange(60), 20)
        column = rng.integers(0, d, size=row.size)
        X = sp.csr_array((rng.normal(size=row.size) + 0.3 * y[row], (row, column)), shape=(60, d))
        X = sp.csr_array(sp.diags_array(np.where(np.arange(60) % 15 == 7, 0.0, 1.0)) @ X)
        X.eliminate_zeros()
        if form.get("indices") is not None:
            X.indices, X.indptr = X.indices.astype(form["indices"]), X.indptr.astype(form["indices"])
        if form.get("dtype") is not None:
            X = X.astype(form["dtype"])
        if form.get("scale") is not None:
            X.data *= form["scale"]
        if form.get("plus") is not None:
            X.data += form["plus"]
        return Data(getattr(X, form.get("to", "tocsr"))(), y)

    return make


def as_integers(dtype: type) -> Maker:
    return transform(lambda X: np.round(10.0 * X + 100.0).clip(0, 200).astype(dtype))


def read_only(X: np.ndarray) -> np.ndarray:
    X.flags.writeable = False
    return X


def stride(X: np.ndarray) -> np.ndarray:
    wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]))
    wide[::2, ::3] = X
    return wide[::2, ::3]


def matrix(kind: str) -> Maker:
    """A kernel matrix: of rbf values, those less a constant, with random signs, or negative."""

    def make() -> Data:
        X, y, _ = base()
        K = np.exp(-0.5 * np.square(X[:, None] - X[None]).sum(axis=2))
        if kind == "shifted":
            K = K - 0.5
        if kind == "random":
            signs = np.random.default_rng(2).normal(size=K.shape)
            K = signs + signs.T
        if kind == "negative":
            K = -K
        if kind == "float32":
            K = K.astype(np.float32)
        if kind == "unsymmetric":
            K = K + np.triu(np.ones_like(K))
        return Data(K, y)

    return make


def three(offset: float = 0.0) -> Maker:
    """Three classes with text for labels, the third one small."""

    def make() -> Data:
        X, y, _ = base(m=70)
        names = np.where(y > 0, "a", "b")
        names[:10] = "c, too"
        return Data(X + offset, names)

    return make


def spoilt(value: float) -> Maker:
    def make() -> Data:
        X, y, _ = base()
        X[3, 1] = value
        return Data(X, y)

    return make
