"""Imputing that is stored with a model: scikit-learn learns the values, and numpy fills the holes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from svmkit.data.prepare.features import Features, is_sparse
from svmkit.errors import InputError

KINDS = ("median", "most_frequent", "indicator")

_CHUNK = 1 << 22  # entries whose statistics are computed together, since scikit-learn copies them several times


@dataclass(frozen=True, eq=False)
class Imputing:
    """A value for the holes (NaN) of each feature, and the features whose holes are marked.

    Attributes
    ----------
    kind : {"median", "most_frequent", "indicator"}
        How a hole is filled: by the median or the most frequent value of the feature (the smallest in a tie) in the
        training samples; "indicator" uses the median and adds a 0/1 feature for each feature in `holed`.
    statistics : float64 ndarray of shape (n_features,)
        The values for the holes of each feature, including features without holes in training; in the units of the
        features.
    holed : int64 ndarray of shape (n_holed,)
        The features that had holes in training, ascending; empty unless the kind is "indicator". Feature
        ``n_features + k`` of the result is 1 where feature ``holed[k]`` has a hole, else 0.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.data import Imputing
    >>> imputing = Imputing.fit("median", np.array([[1.0, 5.0], [3.0, np.nan], [4.0, 7.0]]))
    >>> imputing.apply(np.array([[np.nan, 2.0]])).tolist()
    [[3.0, 2.0]]
    """

    kind: str
    statistics: np.ndarray
    holed: np.ndarray

    @classmethod
    def fit(cls, kind: str, X: Features) -> Imputing:
        """Learn the values for holes from the training samples, as scikit-learn's SimpleImputer does.

        Parameters
        ----------
        kind : {"median", "most_frequent", "indicator"}
        X : ndarray or scipy CSR of shape (n_samples, n_features), float32 or float64
            At least one row; a hole is NaN, and stored explicitly in CSR, whose absent entries are 0.

        Raises
        ------
        InputError
            The kind is unknown, or a feature has no value in any row.
        """
        require_kind(kind)
        require_values(X)
        from sklearn.impute import SimpleImputer  # here: prediction must not need it

        A = X.tocsc() if is_sparse(X) else X
        strategy = "most_frequent" if kind == "most_frequent" else "median"
        step = max(1, _CHUNK // X.shape[0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the median of values whose mean overflows is refused below
            parts = [SimpleImputer(strategy=strategy).fit(A[:, lo : lo + step]) for lo in range(0, X.shape[1], step)]
        statistics = np.concatenate([part.statistics_ for part in parts]).astype(np.float64)
        if not np.isfinite(statistics).all():
            column = int(np.argmin(np.isfinite(statistics)))
            raise InputError(f"column {column + 1} (counted from 1) spans more than float64 holds: rescale it")
        holed = np.flatnonzero(_holes(X)) if kind == "indicator" else np.empty(0, dtype=np.int64)
        return cls(kind, statistics, holed.astype(np.int64))

    @property
    def n_added(self) -> int:
        """The number of features that are appended."""
        return len(self.holed)

    def apply(self, X: Features) -> Features:
        """Return X with its holes filled, and with the added features appended.

        Parameters
        ----------
        X : ndarray or scipy CSR of shape (n_samples, n_features)
            Rows with or without holes.

        Returns
        -------
        ndarray or CSR of shape (n_samples, n_features + n_added)
            Of X's dtype; X itself if there is nothing to fill and nothing to add.

        Raises
        ------
        InputError
            The number of columns differs from that at `fit`.
        """
        if X.shape[1] != len(self.statistics):
            raise InputError(
                f"X has {X.shape[1]} features, but the imputing ({self.kind}) was fitted on {len(self.statistics)}: "
                "pass the columns that it was fitted on"
            )
        if is_sparse(X):
            return self._filled_sparse(X)
        holes = np.isnan(X)
        if not self.n_added and not holes.any():
            return X
        out = np.empty((X.shape[0], X.shape[1] + self.n_added), dtype=X.dtype)
        out[:, : X.shape[1]] = X
        np.copyto(out[:, : X.shape[1]], self.statistics.astype(X.dtype), where=holes)
        out[:, X.shape[1] :] = holes[:, self.holed]
        return out

    def undo(self, X: Features) -> Features:
        """Return rows without the added features; in dense rows, holes that these mark are NaN again."""
        d = len(self.statistics)
        if not self.n_added:
            return X
        out = X[:, :d]
        if not is_sparse(X):
            out = np.array(out)
            out[:, self.holed] = np.where(X[:, d:] > 0.5, np.nan, out[:, self.holed])
        return out

    def _filled_sparse(self, X: Any) -> Any:
        holes = np.isnan(X.data)
        if not self.n_added and not holes.any():
            return X
        from scipy import sparse

        data = np.where(holes, self.statistics.astype(X.dtype)[X.indices], X.data)
        filled = type(X)((data, X.indices, X.indptr), shape=X.shape, copy=False)
        if not self.n_added:
            return filled
        place = np.full(X.shape[1], -1, dtype=X.indices.dtype)
        place[self.holed] = np.arange(self.n_added)
        rows = np.repeat(np.arange(X.shape[0], dtype=X.indices.dtype), np.diff(X.indptr))[holes]
        columns = place[X.indices[holes]]
        marked = columns >= 0
        ones = np.ones(int(marked.sum()), dtype=X.dtype)
        added = type(X)((ones, (rows[marked], columns[marked])), shape=(X.shape[0], self.n_added))
        return sparse.hstack([filled, added], format="csr")

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the two arrays that a model file stores, ``statistics`` and ``holed``."""
        return {"statistics": self.statistics, "holed": self.holed}

    @classmethod
    def from_arrays(cls, kind: str, arrays: Mapping[str, np.ndarray]) -> Imputing:
        """Return the Imputing that `to_arrays` has converted, after checks.

        Raises
        ------
        InputError
            If the kind is unknown, an array is missing, or `fit` cannot have made the numbers.
        """
        require_kind(kind)
        if not {"statistics", "holed"} <= set(arrays):
            raise InputError("the stored imputing lacks its statistics or its holes: the model file is damaged")
        statistics, holed = arrays["statistics"], arrays["holed"]
        sound = statistics.dtype == np.float64 and statistics.ndim == 1 and bool(np.isfinite(statistics).all())
        sound = sound and holed.dtype == np.int64 and holed.ndim == 1 and (kind == "indicator" or not len(holed))
        # compared, not subtracted: a difference of two int64 may wrap
        sound = sound and bool((holed[1:] > holed[:-1]).all())
        if not sound or (len(holed) and not 0 <= holed[0] <= holed[-1] < len(statistics)):
            raise InputError("the stored imputing holds impossible numbers: the model file is damaged; save it again")
        return cls(kind, statistics, holed)


def require_kind(kind: Any) -> None:
    """Raise InputError unless this is a kind of imputing."""
    if kind not in KINDS:
        raise InputError(f"no imputing is called {kind!r}: use one of {', '.join(KINDS)}")


def require_values(X: Features, names: Sequence[str] | None = None) -> None:
    """Raise InputError if a feature, by name or number, has no value in any row from which to fill its holes."""
    empty = np.flatnonzero(_holes(X) == X.shape[0])
    if not len(empty):
        return
    shown = [f"{j + 1} (counted from 1)" if names is None else repr(names[j]) for j in empty[:8].tolist()]
    more = f" and {len(empty) - 8} more" if len(empty) > 8 else ""
    raise InputError(
        f"column{'s' * (len(empty) > 1)} {', '.join(shown)}{more}: no value in any training row, so nothing to impute "
        "from: leave out what is empty"
    )


def _holes(X: Features) -> np.ndarray:
    """Return the number of holes of each feature: int64, shape (n_features,)."""
    if is_sparse(X):
        return np.bincount(X.indices[np.isnan(X.data)], minlength=X.shape[1])
    return np.isnan(X).sum(axis=0)
