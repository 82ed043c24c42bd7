"""The result of a loader: features, labels and the encoding of the columns."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from svmkit.data.prepare.encoding import Encoding
from svmkit.data.prepare.ranks import Ranks
from svmkit.runtime.mapping import windows

CLASSIFY, REGRESS, RANK, MULTILABEL = "classify", "regress", "rank", "multilabel"

_CHUNK = 1 << 20


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples and labels.

    Attributes
    ----------
    X : float64 ndarray or scipy csr_array of shape (n_samples, n_features)
        Dense if at least half of the entries are stored; otherwise CSR with sorted indices, int32 if they fit. NaN
        marks a hole in a number column, if holes are allowed.
    y : ndarray of shape (n_samples,) or None
        int64, float64 or text labels as in the file; None if it has none.
    name : str
        The requested name, or the name of the file without its endings.
    encoding : Encoding or None
        How the columns of a table became features; None for every other format.
    flags : ndarray of bool, shape (n_features,), or None
        The features of a training table that are 0/1 indicators: categories, booleans, and number columns whose values
        are all 0 or 1. None for every other format, and for a table that was read with a given encoding.
    notes : tuple of str
        Notes for the user on how a training table was read: columns read as dates, columns that look like an ID, a
        label treated as a quantity.
    task : {"classify", "regress", "rank"} or None
        The task; None as long as it is undecided (`svmkit.data.classes.with_task`).
    groups : ndarray of shape (n_samples,) or None
        The group of each sample, numbers or text, from the column that `Reading.groups` names, or by
        `qid:` of an svmlight file (`svmkit.data.groups.add_groups`).
    observed : bool ndarray of shape (n_samples,) or None
        Whether the event of each sample was observed; otherwise its label is a censored time.
    kept : bool ndarray of shape (n_rows,) or None
        Which rows of the file are samples, if `Reading.on_error` left some out; None if all are.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit import Dataset
    >>> data = Dataset(np.eye(3), np.array(["a", "b", "a"]), "letters")
    >>> data.n_samples, data.n_features, data.describe()["classes"]
    (3, 3, {'a': 2, 'b': 1})
    """

    X: Any
    y: np.ndarray | None
    name: str
    encoding: Encoding | None = None
    flags: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    task: str | None = None
    groups: np.ndarray | None = None
    observed: np.ndarray | None = None
    kept: np.ndarray | None = None

    @property
    def truth(self) -> Any:
        """The answers to learn: the labels, for a ranking with groups and observed flags."""
        return Ranks(self.y, self.groups, self.observed) if self.task == RANK else self.y

    @property
    def n_samples(self) -> int:
        """Number of rows of X."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns of X."""
        return int(self.X.shape[1])

    @property
    def is_sparse(self) -> bool:
        """Whether X is CSR."""
        return not isinstance(self.X, np.ndarray)

    @property
    def has_targets(self) -> bool:
        """Whether the labels are known to be quantities."""
        return self.task in (REGRESS, RANK)

    def fingerprint(self) -> str:
        """Return the SHA-256 of the contents as 64 hex digits, independent of process and index width."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        digest = hashlib.sha256(repr(("svmkit-data-1", self.X.shape, self.is_sparse)).encode())
        if self.is_sparse:
            for part, kind in ((self.X.indptr, "<i8"), (self.X.indices, "<i8"), (self.X.data, "<f8")):
                _update(digest, part, kind)
        else:
            for first, last in windows(self.X):
                for row in range(first, last, 1024):
                    digest.update(np.ascontiguousarray(self.X[row : min(last, row + 1024)], dtype="<f8").data)
        if self.y is not None:
            digest.update(b"labels")
            if self.y.dtype.kind in "biuf":
                _update(digest, self.y, "<f8")
            else:
                for label in self.y.tolist():
                    text = str(label).encode()
                    digest.update(len(text).to_bytes(8, "little") + text)
        for part in (self.groups, self.observed):
            if part is not None:
                digest.update(b"groups" + "\n".join(map(str, part.tolist())).encode())
        return digest.hexdigest()

    def describe(self) -> dict[str, Any]:
        """Return facts about the data set as JSON types.

        Returns
        -------
        dict
            name, n_samples, n_features, density (share of entries that are not zero), sparse, dtype, and
            classes (label as text -> count, sorted by label; None without labels).
        """
        parts = [self.X.data] if self.is_sparse else (self.X[first:last] for first, last in windows(self.X))
        nonzero = sum(int(np.count_nonzero(part)) for part in parts)
        classes: dict[str, int] | None = None
        if self.y is not None:
            labels, counts = np.unique(self.y, return_counts=True)
            texts = [
                str(int(label) if isinstance(label, float) and label.is_integer() else label)
                for label in labels.tolist()
            ]
            classes = dict(zip(texts, counts.tolist(), strict=True))
        return {
            "name": self.name,
            "n_samples": self.n_samples,
            "n_features": self.n_features,
            "density": nonzero / max(1, self.n_samples * self.n_features),
            "sparse": self.is_sparse,
            "dtype": str(self.X.dtype),
            "classes": classes,
        }


def _update(digest: Any, part: np.ndarray, kind: str) -> None:
    for start in range(0, len(part), _CHUNK):
        digest.update(np.ascontiguousarray(part[start : start + _CHUNK], dtype=kind).data)
