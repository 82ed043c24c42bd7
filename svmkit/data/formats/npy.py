"""NumPy arrays: ``X*.npy``, with the labels in ``y*.npy`` beside it. X is mapped to memory, not read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from svmkit.data.formats.npz import check_labels
from svmkit.errors import InputError, one_line

STORED = (np.dtype(np.float32), np.dtype(np.float64))  # types that are used as stored


def map_npy(path: Path, labelled: bool) -> tuple[np.ndarray, np.ndarray | None]:
    """Return X (n, d) of a file as stored, mapped to memory and read-only, and its labels (n,).

    The labels of ``X_train.npy`` are in ``y_train.npy``: int64, float64 or text. Nothing is unpickled.

    Raises
    ------
    InputError
        The file is not a two-dimensional array of numbers, or lacks labels although they are required (`labelled`).
    """
    X = _open(path)
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise InputError(
            f"{path}: is an array of {X.dtype} in {X.ndim} dimensions: save numbers, a row for each sample"
        )
    beside = path.with_name("y" + path.name[1:])
    if path.name[0] not in "Xx" or not beside.exists():
        if labelled:
            name = beside.name if path.name[0] in "Xx" else "y" + path.name
            named = "" if path.name[0] in "Xx" else f" (and call this file X{path.name})"
            raise InputError(f"{path}: has no labels: save them as {name} beside it{named}")
        return X, None
    return X, check_labels(beside, _open(beside, whole=True), X.shape[0])


def _open(path: Path, *, whole: bool = False) -> Any:
    try:
        return np.load(path, mmap_mode=None if whole else "r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as err:
        fact = "holds Python objects, which are never unpickled" if "bject" in str(err) else "is no NPY file"
        raise InputError(f"{path}: {fact} ({one_line(err)}): save numbers and text arrays with numpy.save") from err
