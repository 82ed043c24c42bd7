"""Folds given in a file: the fold of each row."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from svmkit.errors import InputError, one_line

MOST = 10_000  # folds at most


def read_folds(path: str) -> np.ndarray:
    r"""Return the fold in which each row is held out (n_samples,), int64; -1 for rows that never are.

    Parameters
    ----------
    path : str
        A text file with a number in each line, or a NumPy array (.npy).

    Raises
    ------
    InputError
        The file cannot be read, or its numbers are not those of at least two folds, counted from 0.

    Examples
    --------
    >>> from pathlib import Path
    >>> from svmkit.compare.plan.given import read_folds
    >>> _ = Path("folds.txt").write_text("0\n1\n0\n-1\n")
    >>> read_folds("folds.txt").tolist()
    [0, 1, 0, -1]
    """
    if not Path(path).is_file():
        raise InputError(
            f"{path} is no number of folds, and no file with the fold of each row: give 5, time:5 or such a file"
        )
    try:
        is_array = path.endswith(".npy")
        folds = np.load(path, allow_pickle=False) if is_array else np.loadtxt(path, dtype=np.int64, ndmin=1)
    except (ValueError, OSError, EOFError) as error:
        raise InputError(
            f"{path}: is no list of folds ({one_line(error)}): write the number of the fold of each row"
        ) from None
    if folds.ndim != 1 or folds.dtype.kind not in "iu":
        raise InputError(f"{path}: holds {folds.dtype} of shape {folds.shape}: write a whole number for each row")
    folds = folds.astype(np.int64)
    n_folds = int(folds.max(initial=-1)) + 1
    if not 2 <= n_folds <= MOST or folds.min() < -1:
        raise InputError(
            f"{path}: has the folds {folds.min(initial=0)} to {n_folds - 1}: number 2 to {MOST:,} of them from 0, "
            "and -1 for rows that are never held out"
        )
    if len(empty := np.setdiff1d(np.arange(n_folds), folds)):
        raise InputError(f"{path}: no row is in fold {empty[0]}: number the folds 0 to K-1")
    return folds
