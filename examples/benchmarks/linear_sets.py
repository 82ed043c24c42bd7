"""Generated sets for the benchmarks of linear models, seeded, in blocks of rows: a set may be larger than memory.

Each generator yields (X, y) of BLOCK rows at a time, the last block with the rest; block k is drawn from a seed of its
own. `collect` makes one set of the blocks, `write` files, and `read` reads them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

BLOCK = 50_000  # rows
FIELDS = 39  # of a click
Data = tuple[Any, np.ndarray]
Blocks = Iterator[Data]


def gaussians(
    m: int,
    d: int,
    far: float,
    classes: int = 2,
    rare: float | None = None,
    dtype: type = np.float64,
    unit: bool = False,
) -> Blocks:
    """Yield rows of spheres whose centres are about `far` apart, one of them with a share of `rare` of the rows.

    unit : divide each row by its length
    """
    shares = np.full(classes, 1.0) if rare is None else np.r_[np.full(classes - 1, (1.0 - rare) / (classes - 1)), rare]
    centres = (far / math.sqrt(2.0 * d) * np.random.default_rng(0).normal(size=(classes, d))).astype(dtype)
    for rng, rows in _blocks(m):
        y = rng.choice(classes, rows, p=shares / shares.sum())
        X = rng.standard_normal((rows, d), dtype=dtype)
        X += centres[y]
        if unit:
            X /= np.linalg.norm(X, axis=1, keepdims=True)
        yield X, y


def texts(m: int, d: int, words: int) -> Blocks:
    """Yield rows of words by Zipf's law, each row of length 1, and classes by a fifth of the words."""
    rng = np.random.default_rng(0)
    weights = np.where(rng.random(d) < 0.2, rng.normal(size=d), 0.0)
    spread = 0.0
    for rng, rows in _blocks(m):
        columns = np.minimum((d ** rng.random(rows * words) - 1.0).astype(np.int64), d - 1)
        X = sp.csr_array((np.ones(rows * words), columns, np.arange(0, rows * words + 1, words)), shape=(rows, d))
        X.sum_duplicates()
        X.data = np.log1p(X.data) * np.log(d / (1.0 + X.indices))
        lengths = np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1]))
        X.data /= np.repeat(np.maximum(lengths, 1e-12), np.diff(X.indptr))
        h = X @ weights
        spread = spread or float(h.std())
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # scikit-learn takes no others
        yield X, (h + 0.3 * spread * rng.normal(size=rows) > 0.0).astype(int)


def clicks(m: int, d: int) -> Blocks:
    """Yield rows of 39 fields in float32, each a 1 in one of its columns by Zipf's law; one row in four is a click.

    A field has 4 columns and more, up to a quarter of all d.
    """
    sizes = np.geomspace(4.0, 0.27 * d, FIELDS)
    edges = np.rint(np.r_[0.0, np.cumsum(sizes)] * d / sizes.sum()).astype(np.int32)
    first, sizes = edges[:-1], np.diff(edges).astype(np.float32)
    weights, least = np.random.default_rng(0).normal(size=d).astype(np.float32), None
    for rng, rows in _blocks(m):
        at = (sizes ** rng.random((rows, FIELDS), dtype=np.float32) - 1.0).astype(np.int32)
        columns = first + np.minimum(at, np.diff(edges) - 1)
        h = weights[columns].sum(axis=1) + 3.0 * rng.standard_normal(rows, dtype=np.float32)
        least = np.quantile(h, 0.75) if least is None else least
        ends = np.arange(0, rows * FIELDS + 1, FIELDS, dtype=np.int32)
        X = sp.csr_array((np.ones(rows * FIELDS, dtype=np.float32), columns.ravel(), ends), shape=(rows, d))
        yield X, (h > least).astype(int)


def coins(m: int, d: int) -> Blocks:
    """Yield uniform values in float32, with classes that have nothing to do with them."""
    for rng, rows in _blocks(m):
        yield rng.random((rows, d), dtype=np.float32), rng.integers(0, 2, rows)


def _blocks(m: int) -> Iterator[tuple[np.random.Generator, int]]:
    for k, first in enumerate(range(0, m, BLOCK)):
        yield np.random.default_rng([1, k]), min(BLOCK, m - first)


def collect(blocks: Blocks) -> Data:
    """Return all rows of the blocks."""
    parts, labels = zip(*blocks, strict=True)
    X = sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)
    return X, np.concatenate(labels)


def write(folder: Path, blocks: Blocks, train: int) -> None:
    """Write the first `train` rows, and all others to be predicted, with signs for labels."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("train", "test"):
        for file in folder.glob(f"{part}.*"):
            file.unlink()
    ends = {"train": 0, "test": 0}
    for X, y in blocks:
        for part, rows in (("train", slice(0, train)), ("test", slice(train, None))):
            if len(y[rows]):
                ends[part] = _append(folder, part, X[rows], np.where(y[rows] > 0, 1.0, -1.0), ends[part])
        train = max(0, train - len(y))


def _append(folder: Path, part: str, X, y: np.ndarray, end: int) -> int:
    """Append rows to the files of a part, which has `end` entries so far; return how many it has then."""
    arrays = {"data": X, "y": y}
    if sp.issparse(X):
        indptr = X.indptr.astype(np.int64) + end
        arrays |= {"data": X.data, "indices": X.indices, "indptr": indptr[1:] if end else indptr}
        end = int(indptr[-1])
    for name, array in arrays.items():
        with (folder / f"{part}.{name}.{array.dtype}").open("ab") as file:
            np.ascontiguousarray(array).tofile(file)
    return end


def read(folder: Path, part: str, d: int) -> Data:
    """Return X of d columns and y of a part: a dense array or CSR, as it was written."""
    arrays = {}
    for file in folder.glob(f"{part}.*"):
        _, name, dtype = file.name.split(".")
        arrays[name] = np.fromfile(file, dtype=dtype)
    y, data = arrays["y"], arrays["data"]
    if "indptr" not in arrays:
        return data.reshape(len(y), d), y
    indptr = arrays["indptr"]
    if indptr[-1] <= np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)
    return sp.csr_matrix((data, arrays["indices"], indptr), shape=(len(y), d)), y
