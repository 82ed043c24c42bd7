"""The data sets that scikit-learn ships, read from its files without importing it, which would take a second."""

from __future__ import annotations

import gzip
from importlib.util import find_spec
from pathlib import Path

import numpy as np

# name -> file in sklearn/datasets/data, whether its first line is "rows,columns,class names..."
_CLASSES: dict[str, tuple[str, bool]] = {
    "breast_cancer": ("breast_cancer.csv", True),
    "digits": ("digits.csv.gz", False),
    "iris": ("iris.csv", True),
    "wine": ("wine_data.csv", True),
}
_DIABETES = "diabetes_data_raw.csv.gz", "diabetes_target.csv.gz"  # features and targets, divided by blanks

BUILTIN = (*_CLASSES, "diabetes")


def load_builtin(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the features and labels of a built-in set, equal to those of scikit-learn's own loader. That loader is
    used if the file is not in its usual place. Labels are names of classes, digits as int64, or the float64 targets of
    diabetes.
    """
    if name == "diabetes":
        return _diabetes()
    path = _find_packaged(_CLASSES[name][0])
    if path is None:
        return _from_sklearn(name)
    has_names, lines = _CLASSES[name][1], _lines(path)
    table = np.loadtxt(lines[has_names:], delimiter=",", dtype=np.float64, ndmin=2)
    X, codes = np.ascontiguousarray(table[:, :-1]), table[:, -1].astype(np.int64)
    if not has_names:
        return X, codes
    return X, np.array(lines[0].split(",")[2:])[codes]


def _diabetes() -> tuple[np.ndarray, np.ndarray]:
    """Return the 442 patients of Efron et al. (2004), each feature centred and of norm 1, as in scikit-learn."""
    paths = [path for path in map(_find_packaged, _DIABETES) if path is not None]
    if len(paths) < len(_DIABETES):
        return _from_sklearn("diabetes")
    X, targets = (np.loadtxt(_lines(path), dtype=np.float64) for path in paths)
    X = (X - X.mean(axis=0)) / X.std(axis=0) / np.sqrt(len(X))
    return np.ascontiguousarray(X), targets


def _lines(path: Path) -> list[str]:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8").splitlines()


def _find_packaged(file: str) -> Path | None:
    spec = find_spec("sklearn")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder) / "datasets" / "data" / file
        if path.is_file():
            return path
    return None


def _from_sklearn(name: str) -> tuple[np.ndarray, np.ndarray]:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    if name == "diabetes":
        return np.ascontiguousarray(bunch.data, dtype=np.float64), np.asarray(bunch.target, dtype=np.float64)
    codes = np.asarray(bunch.target, dtype=np.int64)
    labels = np.asarray(bunch.target_names)[codes] if _CLASSES[name][1] else codes
    return np.ascontiguousarray(bunch.data, dtype=np.float64), labels
