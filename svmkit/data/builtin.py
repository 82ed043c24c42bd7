"""The data sets that scikit-learn ships, read from its files without importing it, which would take a second."""

from __future__ import annotations

import gzip
from importlib.util import find_spec
from pathlib import Path

import numpy as np

# name -> file in sklearn/datasets/data, whether its first line is "rows,columns,class names..."
BUILTIN: dict[str, tuple[str, bool]] = {
    "breast_cancer": ("breast_cancer.csv", True),
    "digits": ("digits.csv.gz", False),
    "iris": ("iris.csv", True),
    "wine": ("wine_data.csv", True),
}


def load_builtin(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the features and labels of a built-in set, equal to those of scikit-learn's own loader.

    That loader is used if the file is not where it has been since 2010.

    Parameters
    ----------
    name : str
        A key of `BUILTIN`.

    Returns
    -------
    X : ndarray of float64, shape (n_samples, n_features)
        The features.
    y : ndarray of shape (n_samples,)
        Names of the classes, or digits as int64.
    """
    path = _packaged(BUILTIN[name][0])
    if path is None:
        return _from_sklearn(name)
    has_names = BUILTIN[name][1]
    data = path.read_bytes()
    lines = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8").splitlines()
    table = np.loadtxt(lines[has_names:], delimiter=",", dtype=np.float64, ndmin=2)
    X, codes = np.ascontiguousarray(table[:, :-1]), table[:, -1].astype(np.int64)
    if not has_names:
        return X, codes
    return X, np.array(lines[0].split(",")[2:])[codes]


def _packaged(file: str) -> Path | None:
    spec = find_spec("sklearn")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder) / "datasets" / "data" / file
        if path.is_file():
            return path
    return None


def _from_sklearn(name: str) -> tuple[np.ndarray, np.ndarray]:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    codes = np.asarray(bunch.target, dtype=np.int64)
    labels = np.asarray(bunch.target_names)[codes] if BUILTIN[name][1] else codes
    return np.ascontiguousarray(bunch.data, dtype=np.float64), labels
