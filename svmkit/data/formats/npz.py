"""NumPy archives: ``X`` and ``y``, or a matrix saved by scipy.sparse.save_npz with an optional ``y``."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from svmkit.data.formats.files import open_data
from svmkit.data.formats.layout import csr, densify, integral, require_sound
from svmkit.data.prepare.features import as_features
from svmkit.errors import InputError, one_line

# what numpy and zipfile end in on a damaged, encrypted or mislabelled archive
_UNREADABLE = (ValueError, KeyError, TypeError, RuntimeError, MemoryError, EOFError, zipfile.BadZipFile)


def read_npz(path: Path, labelled: bool) -> tuple[Any, np.ndarray | None]:
    """Read samples and labels from an NPZ file, of which nothing is unpickled; `labelled` requires the array ``y``.

    X is float64: a stored dense matrix stays dense, a sparse one becomes dense when at least half full. y is int64,
    float64 or text. Raises InputError if it is no NPZ file, holds object arrays, has no X, or has shapes that do not
    match.
    """
    arrays = _arrays(path)
    X = _sparse(path, arrays) if "format" in arrays else _dense(path, arrays)
    if "y" not in arrays:
        if labelled:
            raise InputError(f"{path}: has no array 'y' (it has {_names(arrays)}): save the labels as y")
        return X, None
    return X, check_labels(path, arrays["y"], X.shape[0])


def read_groups(path: Path, name: str, n_samples: int) -> np.ndarray:
    """Return the group of each sample (n_samples,), numbers or text, from an array of an NPZ file.

    Raises InputError: there is no such array, or it does not fit X.
    """
    arrays = _arrays(path)
    if name not in arrays:
        raise InputError(f"{path}: has no array {name!r} (it has {_names(arrays)}): save the groups under that name")
    groups = arrays[name]
    if groups.shape != (n_samples,) or groups.dtype.kind not in "biufU":
        raise InputError(
            f"{path}: {name!r} is an array of {groups.dtype} of shape {groups.shape}: save a number or text for "
            f"each of the {n_samples:,} rows"
        )
    return groups


def _arrays(path: Path) -> dict[str, np.ndarray]:
    with open_data(path) as stream:
        try:
            archive = np.load(stream, allow_pickle=False)
            if isinstance(archive, np.ndarray):
                raise InputError(f"{path}: is one array (.npy), not an archive: use numpy.savez(file, X=..., y=...)")
            return {name: archive[name] for name in archive.files}
        except InputError:
            raise
        except _UNREADABLE as err:
            fact = "holds Python objects, which are never unpickled" if "pickle" in str(err) else "is no NPZ file"
            raise InputError(
                f"{path}: {fact} ({one_line(err)}): save numbers and text arrays with numpy.savez"
            ) from err


def _dense(path: Path, arrays: dict[str, np.ndarray]) -> np.ndarray:
    if "X" not in arrays:
        raise InputError(f"{path}: has no array 'X' (it has {_names(arrays)}): save the samples as X")
    try:
        return as_features(arrays["X"], what="X").astype(np.float64, copy=False)
    except InputError as err:
        raise InputError(f"{path}: {err}") from err


def _sparse(path: Path, arrays: dict[str, np.ndarray]) -> Any:
    from scipy import sparse

    kind = arrays["format"].item()
    kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else kind
    try:
        shape = tuple(int(n) for n in arrays["shape"])
        if kind in ("csr", "csc", "bsr"):
            build = getattr(sparse, f"{kind}_array")
            stored = build((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
            require_sound(stored)  # conversions trust the index arrays
        elif kind == "coo":
            place = arrays["coords"] if "coords" in arrays else (arrays["row"], arrays["col"])
            stored = sparse.coo_array((arrays["data"], tuple(place)), shape=shape)
        else:
            raise InputError(f"its sparse format is {kind!r}: save it as CSR")
        X = as_features(sparse.csr_array(stored), what="X")
    except (ValueError, KeyError, TypeError, OverflowError) as err:
        raise InputError(f"{path}: {one_line(err)}") from err
    return densify(csr(X.data.astype(np.float64, copy=False), X.indices, X.indptr, X.shape))


def check_labels(path: Path, y: np.ndarray, rows: int) -> np.ndarray:
    """Return the labels y of a file for so many rows of X: int64, float64 or text; InputError if they are none."""
    if y.ndim == 2 and y.shape[1] == 1:
        y = y.ravel()
    if y.shape != (rows,):
        raise InputError(f"{path}: y has shape {y.shape}, but X has {rows} rows: save one label a row")
    if y.dtype.kind == "U":
        return y
    if y.dtype.kind not in "biuf":
        raise InputError(f"{path}: y has dtype {y.dtype}: save whole numbers or text")
    if not np.isfinite(y).all():
        row = int(np.argmin(np.isfinite(y))) + 1
        raise InputError(f"{path}: y is {y[row - 1]} at row {row} (counted from 1): drop that row or label it")
    return integral(y)


def _names(arrays: dict[str, np.ndarray]) -> str:
    return ", ".join(arrays) or "no arrays"
