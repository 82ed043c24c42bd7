"""Feature scaling that is stored with a model: standard, min-max and max-abs; and a hint if it is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from svmkit.data.prepare.features import is_sparse
from svmkit.data.prepare.moments import Moments
from svmkit.errors import InputError
from svmkit.runtime import mapping

KINDS = ("standard", "minmax", "maxabs")

_CHUNK = 1 << 20  # entries processed together: statistics in float64 without a float64 copy of float32 data
_HINT_FOLD = 100.0  # ratio of standard deviations from which a hint is given
_RANGE_FOLD = 10.0  # ... unless the ranges agree: 0/1 columns differ in frequency only, and need no scaling


@dataclass(frozen=True, eq=False)
class Scaling:
    """An affine map of each feature, ``(x - center) / scale``.

    Attributes
    ----------
    kind : {"standard", "minmax", "maxabs"}
        Zero mean and unit variance, except for 0/1 features; the range [0, 1]; the largest magnitude 1.
    center, scale : float64 ndarray of shape (n_features,)
        In the units of the features. A constant feature keeps scale 1. The center is 0 for maxabs, and for standard
        fitted to CSR, whose zeros stay zeros.
    weights : float64 ndarray of shape (n_features,) or None, default=None
        Weights of the columns, by which `scale` has been divided (`weigh`); None without any.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.data import Scaling
    >>> scaling = Scaling.fit("standard", np.array([[1.0], [3.0]]))
    >>> scaling.center.tolist(), scaling.scale.tolist(), scaling.apply(np.array([[5.0]])).tolist()
    ([2.0], [1.0], [[3.0]])
    """

    kind: str
    center: np.ndarray
    scale: np.ndarray
    weights: np.ndarray | None = None

    @classmethod
    def fit(cls, kind: str, X: Any, flags: np.ndarray | None = None) -> Scaling:
        """Learn the map from the training samples.

        Parameters
        ----------
        kind : {"standard", "minmax", "maxabs"}
        X : ndarray of shape (n_samples, n_features), float32 or float64; or scipy CSR (standard and maxabs)
            Finite; at least one row.
        flags : boolean ndarray of shape (n_features,), default=None
            The 0/1 features, which standard scaling leaves unchanged; None means there are none.

        Raises
        ------
        InputError
            The kind is unknown, would fill in the zeros of a CSR matrix, or a spread overflows.
        """
        _require_kind(kind, sparse=is_sparse(X))
        return cls.from_moments(kind, Moments.from_rows(X), sparse=is_sparse(X), flags=flags)

    @classmethod
    def from_moments(cls, kind: str, moments: Moments, *, sparse: bool, flags: np.ndarray | None = None) -> Scaling:
        """Return the map that `fit` learns from samples with these moments, dense or CSR.

        Parameters
        ----------
        kind : {"standard", "minmax", "maxabs"}
            As for `fit`.
        moments : Moments
            The moments of the training samples.
        sparse : bool
            Whether the samples are CSR.
        flags : boolean ndarray of shape (n_features,), default=None
            As for `fit`.

        Raises
        ------
        InputError
            As for `fit`.
        """
        _require_kind(kind, sparse=sparse)
        if kind == "standard":
            center, scale = _standard(moments, sparse)
        else:
            center, scale = moments.low if kind == "minmax" else np.zeros(len(moments.low)), _spread(moments, kind)
        if not (np.isfinite(center).all() and np.isfinite(scale).all()):
            column = int(np.argmin(np.isfinite(center) & np.isfinite(scale)))
            raise InputError(f"column {column + 1} (counted from 1) spans more than float64 holds: rescale it")
        if kind == "standard" and flags is not None:
            center, scale = np.where(flags, 0.0, center), np.where(flags, 1.0, scale)
        return cls(kind, center, np.where(scale == 0.0, 1.0, scale))

    @property
    def moves_zeros(self) -> bool:
        """Whether scaling turns zeros into other numbers, so that scaled data are dense."""
        return bool(self.center.any())

    def apply(self, X: Any) -> Any:
        """Return a scaled copy of X.

        Parameters
        ----------
        X : ndarray or scipy CSR of shape (n_samples, n_features)
            Rows in the units of the training rows.

        Returns
        -------
        ndarray of X's float dtype, or CSR that shares X's index arrays
            A CSR becomes an ndarray if `moves_zeros`: the scaling was then fitted to dense data of the same width.

        Raises
        ------
        InputError
            The number of columns differs from that at `fit`.
        """
        if X.shape[1] != len(self.scale):
            raise InputError(
                f"X has {X.shape[1]} features, but the {self.kind} scaling was fitted on {len(self.scale)}: "
                "pass the columns that it was fitted on"
            )
        if is_sparse(X) and self.moves_zeros:
            X = X.toarray()
        if mapping.is_mapped(X):
            return self._write(X)
        if is_sparse(X):
            data = np.empty(len(X.data), X.dtype)
            for part in _parts(X):  # all at once would need float64 copies
                data[part] = X.data[part] / self.scale[X.indices[part]]
            return type(X)((data, X.indices, X.indptr), shape=X.shape, copy=False)
        out = np.empty(X.shape, dtype=X.dtype if X.dtype.kind == "f" else np.float64, order="C")
        for rows in _row_chunks(X):
            # in float64: a float32 difference of close numbers would lose significant digits
            out[rows] = (X[rows].astype(np.float64, copy=False) - self.center) / self.scale
        return out

    def undo(self, X: Any) -> Any:
        """Return scaled rows in their original units, ndarray or CSR of float64 (n_samples, n_features)."""
        if is_sparse(X):
            data = X.data.astype(np.float64) * self.scale[X.indices]
            X = type(X)((data, X.indices, X.indptr), shape=X.shape, copy=False)
            return X.toarray() + self.center if self.moves_zeros else X
        return X.astype(np.float64) * self.scale + self.center

    def scale_moments(self, moments: Moments) -> Moments:
        """Return the moments of rows after scaling, from their moments before.

        Parameters
        ----------
        moments : Moments
            The moments of as many columns as the scaling has.
        """
        low, high, mean = ((each - self.center) / self.scale for each in (moments.low, moments.high, moments.mean))
        # the mean of a constant column has no rounding error, just as in the scaled data
        return Moments(moments.n, np.where(low == high, low, mean), moments.squares / np.square(self.scale), low, high)

    def _write(self, X: Any) -> Any:
        """Return a scaled copy of mapped X on local disk."""
        if is_sparse(X):
            data = mapping.write_blocks(X.dtype, (X.data[at] / self.scale[X.indices[at]] for at in _parts(X)))
            return mapping.with_arrays(X, data, X.indices, X.indptr)
        scaled = ((X[rows].astype(np.float64, copy=False) - self.center) / self.scale for rows in _row_chunks(X))
        return mapping.write_blocks(X.dtype, scaled).reshape(X.shape)

    def widen(self, n_features: int) -> Scaling:
        """Return the scaling with additional features up to this number, which it leaves unchanged."""
        missing = n_features - len(self.scale)
        scale = np.pad(self.scale, (0, missing), constant_values=1.0)
        weights = None if self.weights is None else np.pad(self.weights, (0, missing), constant_values=1.0)
        return Scaling(self.kind, np.pad(self.center, (0, missing)), scale, weights)

    def weigh(self, weights: np.ndarray) -> Scaling:
        """Return the scaling that also multiplies the columns by weights (n_features,), each finite and > 0."""
        with np.errstate(over="ignore"):
            scale = np.minimum(self.scale / weights, np.finfo(np.float64).max)
        return replace(self, scale=scale, weights=weights if self.weights is None else self.weights * weights)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays that a model file stores: ``center``, ``scale`` and, if there are any, ``weights``."""
        stored = {"center": self.center, "scale": self.scale}
        return stored if self.weights is None else stored | {"weights": self.weights}

    @classmethod
    def from_arrays(cls, kind: str, arrays: Mapping[str, np.ndarray]) -> Scaling:
        """Return the Scaling that `to_arrays` has converted, after checks.

        Raises
        ------
        InputError
            If the kind is unknown, an array is missing, lengths differ, or `fit` cannot have made the numbers.
        """
        _require_kind(kind)
        if not {"center", "scale"} <= set(arrays):
            raise InputError(
                "the stored scaling lacks its center or its scale: the model file is damaged; save it again"
            )
        center = np.asarray(arrays["center"], dtype=np.float64)
        scale = np.asarray(arrays["scale"], dtype=np.float64)
        weights = np.asarray(arrays["weights"], dtype=np.float64) if "weights" in arrays else None
        factors = [scale] if weights is None else [scale, weights]
        finite = all(bool(np.isfinite(each).all()) for each in (center, *factors))
        same = center.ndim == 1 and all(each.shape == center.shape for each in factors)
        if not (same and finite and all((each > 0).all() for each in factors)):
            raise InputError("the stored scaling holds impossible numbers: the model file is damaged; save it again")
        return cls(kind, center, scale, weights)


class Unevenness(NamedTuple):
    """Scales of columns that differ widely: the scaling that helps, the least and the largest standard deviation."""

    kind: str
    small: float
    large: float


def compare_scales(X: Any) -> Unevenness | None:
    """Return how the scales of the features differ, if at least 100-fold. CSR is not made dense.

    Constant features are ignored; holes (NaN) count as the median. The ranges must differ as well, 10-fold: standard
    deviations also differ because features are rare (0/1 columns), and scaling would not help then.
    """
    sparse = is_sparse(X)
    moments = Moments.from_rows(X)
    if np.isnan(moments.low).any():
        from svmkit.data.prepare.imputing import Imputing  # here: only data with holes need it

        moments = Moments.from_rows(Imputing.fit("median", X).apply(X))
    deviation, spread = _standard(moments, sparse)[1], _spread(moments, "maxabs" if sparse else "minmax")
    varies = (deviation > 0) & (spread > 0) & np.isfinite(deviation)
    if np.count_nonzero(varies) < 2:
        return None
    small, large = float(deviation[varies].min()), float(deviation[varies].max())
    if large < _HINT_FOLD * small or spread[varies].max() < _RANGE_FOLD * spread[varies].min():
        return None
    return Unevenness("maxabs" if sparse else "standard", small, large)


def scale_hint(X: Any, remedy: str = "--scale {kind}") -> str | None:
    """Return one line of advice if the scales of the features differ widely (`compare_scales`), else None; `remedy` is
    the suggestion.
    """
    uneven = compare_scales(X)
    if uneven is None:
        return None
    return (
        f"the features' scales differ {uneven.large / uneven.small:.3g}-fold "
        f"(standard deviations from {uneven.small:.3g} to {uneven.large:.3g}): try {remedy.format(kind=uneven.kind)}"
    )


def standard_note(kind: str, X: Any) -> str | None:
    """Return a note on the effect of standard scaling on sparse data; None for other kinds and dense data."""
    if kind != "standard" or not is_sparse(X):
        return None
    return (
        "the data are sparse: --scale standard divides by the standard deviation and does not centre, "
        "so that zeros stay zeros"
    )


def _require_kind(kind: str, *, sparse: bool = False) -> None:
    if kind not in KINDS:
        raise InputError(f"no scaling is called {kind!r}: use one of {', '.join(KINDS)}")
    if sparse and kind == "minmax":
        raise InputError("minmax scaling would fill in the zeros of sparse data: give scale=maxabs")


def _row_chunks(X: Any) -> Iterator[slice]:
    step = max(1, _CHUNK // max(1, X.shape[1]))
    for start in range(0, X.shape[0], step):
        yield slice(start, min(start + step, X.shape[0]))


def _parts(X: Any) -> Iterator[slice]:
    """Yield ranges of the entries of a CSR: several per column, so that sums over columns add little cost."""
    size, step = len(X.data), max(_CHUNK, X.shape[1])
    for start in range(0, size, step):
        yield slice(start, min(start + step, size))


def _standard(moments: Moments, sparse: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return center and standard deviation; the deviation is 0 for a column that is constant up to rounding."""
    low, high, mean = moments.low, moments.high, moments.mean
    with np.errstate(over="ignore", invalid="ignore"):
        variance = moments.variance
        if sparse:
            deviation = np.sqrt(variance)
            # a column that stores one value in every row is constant, whatever the rounding
            return np.zeros(len(mean)), np.where(deviation <= 1e-12 * np.abs(mean), 0.0, deviation)
        # the rounding error of a constant feature's variance (Chan, Golub, LeVeque 1983), as in scikit-learn
        n, eps = moments.n, np.finfo(np.float64).eps
        constant = (low == high) | (np.isfinite(variance) & (variance <= n * eps * variance + (n * mean * eps) ** 2))
    return np.where(low == high, low, mean), np.where(constant, 0.0, np.sqrt(variance))


def _spread(moments: Moments, kind: str) -> np.ndarray:
    """Return the ranges of the columns, or for "maxabs" their largest magnitudes."""
    low, high = moments.low, moments.high
    with np.errstate(over="ignore", invalid="ignore"):
        return high - low if kind == "minmax" else np.maximum(np.abs(low), np.abs(high))
