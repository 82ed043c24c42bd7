"""The driver's knowledge of the parts: facts of each that do not grow with its rows, and of all together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from hashlib import blake2b
from itertools import accumulate
from typing import Any

import numpy as np

from svmkit.data.formats.layout import integral
from svmkit.data.parts.layout import About, layout_of, require_columns
from svmkit.data.prepare.encoding import Encoding
from svmkit.data.prepare.features import Features, require_finite
from svmkit.data.prepare.labels import quantity_of_counts
from svmkit.data.prepare.moments import Moments
from svmkit.data.prepare.preprocessing import Preprocessing
from svmkit.data.prepare.scaling import Scaling
from svmkit.errors import InputError
from svmkit.kernels.functions import Kernel
from svmkit.kernels.gamma import gamma_of_moments
from svmkit_dask.parts.part import Part

MOST_LABELS = 100_000  # distinct labels beyond which they are not classes


@dataclass(frozen=True, eq=False)
class Answers:
    """A summary of the labels or targets of a part."""

    is_text: bool
    # the distinct answers, sorted, and their counts, as arrays (n_values,); None beyond `MOST_LABELS`
    values: np.ndarray | None
    counts: np.ndarray | None
    low: float  # least, largest and sum of numbers; NaN for text
    high: float
    total: float

    @classmethod
    def from_values(cls, answers: np.ndarray) -> Answers:
        """Return the summary of a part's answers."""
        values, counts = np.unique(answers, return_counts=True)
        is_text = answers.dtype.kind in "US"
        low, high, total = [np.nan] * 3 if is_text else [values[0], values[-1], answers.sum(dtype=np.float64)]
        kept = (values, counts) if len(values) <= MOST_LABELS else (None, None)
        return cls(is_text, *kept, float(low), float(high), float(total))


@dataclass(frozen=True, eq=False)
class Facts(About):
    """The driver's knowledge of a part."""

    digest: str  # a BLAKE2b hash of features, answers and weights, wherever the rows are held
    has_weights: bool  # whether some weight is not 1
    answers: Answers | None  # the labels or targets; None without rows
    moments: Moments


def facts_of(part: Part, name: str) -> Facts:
    """Return the facts of a part from its source, before `Summary.layout` is known; its rows are read once.

    A non-finite entry, answer or weight raises InputError, which names the part, row and column.
    """
    for what, values in (("label", part.answers), ("weight", part.weights)):
        if values is not None and values.dtype.kind == "f" and not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values)))
            raise InputError(f"{name}: the {what} of row {row + 1} (counted from 1) is {values[row]}: drop that row")
    if part.weights is not None and part.n_rows and part.weights.min() < 0:
        row = int(np.argmin(part.weights))
        raise InputError(f"{name}: the weight of row {row + 1} (counted from 1) is negative: give weights >= 0")
    d, stored = part.n_features, 0
    moments = Moments.empty(d)
    is_flag = np.ones(d, dtype=bool)
    is_table = part.written.encoding is not None
    digests = [blake2b(digest_size=32) for _ in range(3 if part.is_sparse else 1)]  # independent of the blocks
    for first, X in part.blocks():
        try:
            require_finite(X, what=name, first=first)
        except InputError as err:
            raise InputError(f"{err} (--impute is not available on a cluster)") from err
        _hash_rows(digests, X)
        moments = moments.merge(Moments.from_rows(X))
        stored += X.nnz if part.is_sparse else X.size
        if is_table:
            is_flag &= ((X == 0.0) | (X == 1.0)).all(axis=0)
    if is_table and part.n_rows:
        is_flag &= [order is None for order in part.written.encoding.dates]
    return Facts(
        name=name,
        n_rows=part.n_rows,
        n_features=part.n_features,
        n_stored=stored,
        is_sparse=part.is_sparse,
        dtype=np.dtype(part.dtype).name,
        written=part.written,
        digest=_hash(part, digests),
        has_weights=part.weights is not None and bool((part.weights != 1.0).any()),
        answers=Answers.from_values(part.answers) if part.n_rows else None,
        moments=moments,
        flags=is_flag if is_table else None,
    )


def _hash_rows(digests: Sequence[Any], X: Features) -> None:
    """Update the hashes of entries, columns and lengths of sparse rows, or the hash of dense rows."""
    arrays = [X] if len(digests) == 1 else [X.data, X.indices, np.diff(X.indptr).astype(np.int64)]
    for digest, array in zip(digests, arrays, strict=True):
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def _hash(part: Part, digests: Sequence[Any]) -> str:
    whole = blake2b(repr((part.n_rows, part.n_features, part.is_sparse, str(part.dtype))).encode(), digest_size=32)
    for digest in digests:
        whole.update(digest.digest())
    if part.answers.dtype.kind in "US":
        values, codes = np.unique(part.answers, return_inverse=True)
        whole.update(repr(values.tolist()).encode() + codes.astype(np.int64).tobytes())
    else:
        whole.update(part.answers.astype(np.float64).tobytes())
    if part.weights is not None:
        whole.update(np.ascontiguousarray(part.weights, dtype=np.float64).tobytes())
    return whole.hexdigest()


class Summary:
    """A summary of all parts; InputError names parts whose columns or labels do not fit together.

    Row r of part p has the number offsets[p] + r among all rows. `filled` are the parts with rows, by number; the
    others, which `notes` name, are ignored. All parts get the storage `layout`.
    """

    def __init__(self, facts: Sequence[Facts]) -> None:
        self.offsets = (0, *accumulate(one.n_rows for one in facts))
        self.n_rows = self.offsets[-1]
        self.filled = tuple(i for i, one in enumerate(facts) if one.n_rows)
        self._facts = [facts[i] for i in self.filled]
        empty = [one.name for one in facts if not one.n_rows]
        self.notes = tuple(f"{name}: has no rows and is left out" for name in empty)
        if not self.filled:
            named = ", ".join(empty[:3]) or "no part"
            raise InputError(f"{named}: no rows in any of {len(facts)} parts: check the data")
        require_columns(self._facts)
        first = self._facts[0]
        self._is_text = first.answers.is_text
        other = next((one for one in self._facts if one.answers.is_text != self._is_text), None)
        if other is not None:  # labels are text in some parts and numbers in others
            text, number = (first, other) if self._is_text else (other, first)
            raise InputError(
                f"{text.name}: its labels are text ({_example(text)}), but numbers in {number.name} "
                f"({_example(number)}): give all parts labels of one kind"
            )
        self.layout = layout_of(self._facts)
        self.n_features = self.layout.n_features

    @property
    def has_weights(self) -> bool:
        """Whether some row has a weight other than 1."""
        return any(one.has_weights for one in self._facts)

    @cached_property
    def classes(self) -> np.ndarray:
        """The labels of all parts, sorted as by `encode_labels`; InputError if they are not classes, or only one."""
        for one in self._facts:
            values = one.answers.values
            if values is not None and values.dtype.kind == "f" and (values != np.floor(values)).any():
                odd = values[values != np.floor(values)][0]
                raise InputError(
                    f"{one.name}: Unknown label type: continuous. A label is {odd}, no class label: use whole numbers "
                    "or text"
                )
        values = self._values
        if values is None or len(values[0]) > MOST_LABELS:
            raise InputError(
                f"there are more than {MOST_LABELS:,} different labels: that is a quantity, not classes: give "
                "--task regress, or choose another label"
            )
        if len(values[0]) < 2:
            raise InputError(
                f"y has only one class ({str(values[0][0])!r} in all {self.n_rows} samples of {len(self.filled)} parts)"
                ", need at least two: a classifier learns to tell classes apart"
            )
        return values[0]

    @property
    def class_counts(self) -> np.ndarray:
        """The number of rows of each class: int64, shape (n_classes,)."""
        return self._values[1]

    @cached_property
    def quantity(self) -> str | None:
        """Why the labels look like a quantity (`svmkit.data`), in a few words; None if they do not."""
        if self._is_text or self._values is None:
            return None if self._is_text else f"more than {MOST_LABELS:,} values in {self.n_rows:,} rows"
        return quantity_of_counts(*self._values) if self._values[0].dtype.kind in "iuf" else None

    @cached_property
    def targets(self) -> tuple[float, float, float]:
        """The least, the largest and the mean target; InputError if the targets are text, or all the same."""
        answers = [one.answers for one in self._facts]
        if self._is_text:
            raise InputError(
                f"{self._facts[0].name}: regression needs numbers as targets, y holds {_example(self._facts[0])}: for "
                "classes use task classify"
            )
        low, high = min(one.low for one in answers), max(one.high for one in answers)
        if low == high and self.n_rows > 1:
            raise InputError(f"y is {low:g} in all {self.n_rows} samples: there is nothing to learn from it")
        return low, high, sum(one.total for one in answers) / self.n_rows

    def resolve(self, kernel: Kernel, preprocessing: Preprocessing | None = None) -> Kernel:
        """Return a kernel with a number for its gamma; InputError if it needs all rows, or a number beyond float64."""
        if type(kernel).resolve is Kernel.resolve:
            return kernel
        if kernel.form is None:
            raise InputError(f"kernel {kernel.name!r} looks at all rows in one place: it cannot be used on a cluster")
        gamma = getattr(kernel, "gamma", None)
        if not isinstance(gamma, str):
            return kernel.resolve(np.empty((0, self.n_features)))  # numbers stay unchanged, whatever the rows
        moments = self._scale(None if preprocessing is None else preprocessing.scaling)
        number = gamma_of_moments(gamma, moments)
        return replace(kernel, gamma=number)  # type: ignore[call-arg]

    def preprocessing(self, scale: str | None) -> Preprocessing:
        """Return the scaling that `Preprocessing.fit` would learn from all rows; without an encoding."""
        if scale is None or scale == "none":
            return Preprocessing()
        flags = [one.flags for one in self._facts if one.flags is not None]  # the 0/1 columns, if all parts are tables
        common = np.logical_and.reduce(flags) if len(flags) == len(self._facts) else None
        is_sparse = self.layout.is_sparse
        return Preprocessing(scaling=Scaling.from_moments(scale, self._moments, sparse=is_sparse, flags=common))

    def mean(self, preprocessing: Preprocessing) -> np.ndarray:
        """Return the mean of each column of all rows after preprocessing: float64, shape (n_features,)."""
        return self._scale(preprocessing.scaling).mean

    @property
    def encoding(self) -> Encoding | None:
        """The encoding of table columns as features, for the model; None for other formats."""
        first = next((one.written.encoding for one in self._facts if one.written.encoding is not None), None)
        return first and replace(first, label_text=self._is_text)

    @property
    def digest(self) -> str:
        """A hash of the parts with rows, in order, and of their layout."""
        whole = blake2b(repr(self.layout).encode(), digest_size=32)
        for one in self._facts:
            whole.update(bytes.fromhex(one.digest))
        return whole.hexdigest()

    def _scale(self, scaling: Scaling | None) -> Moments:
        return self._moments if scaling is None else scaling.scale_moments(self._moments)

    @cached_property
    def _moments(self) -> Moments:
        shift = self.layout.shift
        return reduce(Moments.merge, (one.moments.widen(self.n_features, shift(one.written)) for one in self._facts))

    @cached_property
    def _values(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The distinct answers and their counts; None if there are too many."""
        answers = [one.answers for one in self._facts]
        if any(each.values is None for each in answers):
            return None
        kinds = {each.values.dtype.kind for each in answers}
        together = np.concatenate([each.values for each in answers])
        if "f" in kinds and len(kinds) > 1:
            together = integral(together)  # as if the labels had been read from one file
        values, place = np.unique(together, return_inverse=True)
        counts = np.bincount(place.ravel(), np.concatenate([each.counts for each in answers]))
        return values, counts.astype(np.int64)


def _example(one: Facts) -> str:
    """Return an example of a part's answers, for messages."""
    return f"{one.answers.low:g}" if one.answers.values is None else repr(one.answers.values[0].item())
