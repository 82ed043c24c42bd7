"""NumPy archives: ``X`` and ``y``, or a matrix saved by scipy.sparse.save_npz with an optional ``y``."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from svmkit.data.formats.files import open_data
from svmkit.data.formats.layout import csr, densify, integral, require_sound
from svmkit.data.prepare.features import as_features
from svmkit.errors import InputError, one_line

# the exceptions of numpy and zipfile for a damaged, encrypted or mislabelled archive
_UNREADABLE = (ValueError, KeyError, TypeError, RuntimeError, MemoryError, EOFError, zipfile.BadZipFile)


def read_npz(path: Path, labelled: bool) -> tuple[Any, np.ndarray | None]:
    """Read samples and labels from an NPZ file, without unpickling; `labelled` requires the array ``y``.

    X is float64: a stored dense matrix stays dense, a sparse one becomes dense if at least half full. y is int64,
    float64 or text. Raises InputError if it is not an NPZ file, contains object arrays, lacks X, or has inconsistent
    shapes.
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

    Raises InputError: the array is missing or does not fit X.
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


class Pieces(NamedTuple):
    """The rows of an archive, which are read piece by piece."""

    n_features: int
    is_sparse: bool
    rows: Iterator[tuple[Any, np.ndarray]]  # pairs of features, float64, and labels


def read_pieces(path: Path, nbytes: int) -> Pieces | None:
    """Return the rows of an archive in pieces of at most about `nbytes` bytes; None if it has to be read as a whole.

    Besides a piece, the labels are in memory, and the row pointers of a sparse matrix. A dense matrix is read in pieces
    if it is stored by rows, a sparse one if it is CSR. InputError as for `read_npz`.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = {name.removesuffix(".npy") for name in archive.namelist()}
            if "y" not in names or not ("X" in names or {"format", "data", "indices", "indptr", "shape"} <= names):
                return None
            own = [name for name in ("y", "format", "shape", "indptr") if name in names]
            small = {name: np.load(_extract(archive, name), allow_pickle=False) for name in own}
            large = ["data", "indices"] if "format" in names else ["X"]
            kinds = {name: _describe(archive, name) for name in large}
    except (OSError, *_UNREADABLE):  # the reader of whole files reports any problem
        return None
    if any(by_columns or dtype.kind not in "biuf" for _, by_columns, dtype in kinds.values()):
        return None
    if "format" not in names:
        shape = kinds["X"][0]
        if len(shape) != 2 or not shape[1]:
            return None
        y = check_labels(path, small["y"], shape[0])
        return Pieces(shape[1], False, _read_rows(path, shape, y, nbytes))
    indptr, shape = small["indptr"], tuple(small["shape"].tolist())
    is_csr = small["format"].item() in ("csr", b"csr") and indptr.dtype.kind in "iu" and len(shape) == 2
    if not is_csr or indptr.shape != (shape[0] + 1,) or indptr[0] or (np.diff(indptr) < 0).any():
        return None
    if any(kind[0] != (indptr[-1],) for kind in kinds.values()) or kinds["indices"][2].kind not in "iu":
        return None
    y = check_labels(path, small["y"], shape[0])
    return Pieces(shape[1], True, _read_sparse_rows(path, indptr.astype(np.int64), shape[1], y, nbytes))


def _extract(archive: zipfile.ZipFile, name: str) -> io.BytesIO:
    return io.BytesIO(archive.read(f"{name}.npy"))


def _describe(archive: zipfile.ZipFile, name: str) -> tuple[tuple[int, ...], bool, np.dtype]:
    with archive.open(f"{name}.npy") as stream:
        return _read_header(stream)


def _read_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Return the shape of an array, whether it is stored by columns, and its type; the stream is then at its values."""
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"version {version}")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    return read(stream)


class _Values:
    """The values of an array of an archive, in order."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self._stream = archive.open(f"{name}.npy")
        self._dtype = _read_header(self._stream)[2]

    def take(self, count: int) -> np.ndarray:
        """Return the next values."""
        raw = self._stream.read(count * self._dtype.itemsize)
        if len(raw) < count * self._dtype.itemsize:
            raise EOFError("an array is cut short")
        return np.frombuffer(raw, self._dtype)


@contextmanager
def _open_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (zipfile.BadZipFile, EOFError, zlib.error, OSError) as err:
        raise InputError(f"{path}: its data is broken or cut short ({one_line(err)}): copy or save it again") from err


def _read_rows(path: Path, shape: tuple[int, ...], y: np.ndarray, nbytes: int) -> Iterator[tuple[Any, np.ndarray]]:
    step = max(1, nbytes // (8 * shape[1]))
    with _open_archive(path) as archive:
        values = _Values(archive, "X")
        for lo in range(0, shape[0], step):
            hi = min(shape[0], lo + step)
            X = values.take((hi - lo) * shape[1]).reshape(hi - lo, shape[1])
            yield X.astype(np.float64), y[lo:hi]


def _read_sparse_rows(
    path: Path, indptr: np.ndarray, width: int, y: np.ndarray, nbytes: int
) -> Iterator[tuple[Any, np.ndarray]]:
    from scipy import sparse

    lo, most = 0, nbytes // 16
    with _open_archive(path) as archive:
        data, indices = _Values(archive, "data"), _Values(archive, "indices")
        while lo < len(y):
            hi = int(np.searchsorted(indptr, indptr[lo] + most, side="right")) - 1
            hi = min(max(hi, lo + 1), lo + max(most, 1), len(y))
            count = int(indptr[hi] - indptr[lo])
            given = data.take(count).astype(np.float64), indices.take(count).astype(np.int64), indptr[lo : hi + 1]
            try:
                X = sparse.csr_array((*given[:2], given[2] - indptr[lo]), shape=(hi - lo, width))
                require_sound(X)
                X = as_features(X, what="X")
            except (ValueError, InputError) as err:
                raise InputError(f"{path}: {one_line(err)} (rows {lo + 1:,} to {hi:,})") from err
            yield X, y[lo:hi]
            lo = hi


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
    """Return the labels y of a file for this number of rows of X: int64, float64 or text."""
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
