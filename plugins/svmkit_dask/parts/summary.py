"""The data that all parts make up together, known from their facts alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, reduce
from hashlib import blake2b
from itertools import accumulate
from typing import Any

import numpy as np

from svmkit.data.classes import quantity_of_counts
from svmkit.data.formats.layout import DENSE_FROM, integral
from svmkit.data.prepare import scaling
from svmkit.data.prepare.encoding import Encoding
from svmkit.data.prepare.preprocessing import Preprocessing
from svmkit.data.prepare.scaling import Scaling
from svmkit.data.tables.table import name_columns
from svmkit.errors import InputError
from svmkit.kernels.functions import Kernel
from svmkit.kernels.gamma import gamma_of_moments
from svmkit_dask.parts.facts import MOST_LABELS, Facts, Moments
from svmkit_dask.parts.part import Layout


class Summary:
    """The whole of the parts, from the facts of each of them before the layout is known.

    InputError names the parts that do not belong together: dense ones of different columns, or labels of two kinds.
    Row r of part p has the number offsets[p] + r among all rows. `filled` are the parts with rows, by number; the
    others, which `notes` name, take part in nothing. All parts get the storage `layout`.
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
        _require_columns(self._facts)
        first = self._facts[0]
        other = next((one for one in self._facts if one.answers.is_text != self._is_text), None)
        if other is not None:  # labels are text in some parts and numbers in others
            text, number = (first, other) if self._is_text else (other, first)
            raise InputError(
                f"{text.name}: its labels are text ({_example(text)}), but numbers in {number.name} "
                f"({_example(number)}): give all parts labels of one kind"
            )
        self.layout = _layout(self._facts)
        self.n_features = self.layout.n_features

    @cached_property
    def classes(self) -> np.ndarray:
        """The labels of all parts, as `encode_labels` sorts them; InputError if they are no classes, or only one."""
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
        """Return a kernel with a number for its gamma, as `Kernel.resolve` would on all preprocessed rows.

        A kernel that needs all rows in one place, and a gamma beyond float64, raise InputError.
        """
        if type(kernel).resolve is Kernel.resolve:
            return kernel
        if kernel.form is None:
            raise InputError(f"kernel {kernel.name!r} looks at all rows in one place: it cannot be used on a cluster")
        gamma = getattr(kernel, "gamma", None)
        if not isinstance(gamma, str):
            return kernel.resolve(np.empty((0, self.n_features)))  # numbers stay what they are, whatever the rows
        moments = self._moments.scale(None if preprocessing is None else preprocessing.scaling)
        number = gamma_of_moments(gamma, moments.n, moments.mean, moments.variance, moments.is_constant)
        return replace(kernel, gamma=number)  # type: ignore[call-arg]

    def preprocessing(self, scale: str | None) -> Preprocessing:
        """Return the scaling that `Preprocessing.fit` would learn from all rows; without an encoding."""
        if scale is None or scale == "none":
            return Preprocessing()
        flags = [one.flags for one in self._facts if one.flags is not None]  # the 0/1 columns, if all parts are tables
        common = np.logical_and.reduce(flags) if len(flags) == len(self._facts) else None
        m, is_sparse = self._moments, self.layout.is_sparse
        moments = scaling.Moments(m.n, m.low, m.high, m.mean, m.variance)
        return Preprocessing(scaling=Scaling.from_moments(scale, moments, sparse=is_sparse, flags=common))

    def mean(self, preprocessing: Preprocessing) -> np.ndarray:
        """Return the mean of each column of all rows after preprocessing: float64, shape (n_features,)."""
        return self._moments.scale(preprocessing.scaling).mean

    @property
    def encoding(self) -> Encoding | None:
        """How the columns of the tables became features, for the model; None for other formats."""
        first = next((one.written.encoding for one in self._facts if one.written.encoding is not None), None)
        return first and replace(first, label_text=self._is_text)

    @property
    def digest(self) -> str:
        """A hash of the parts with rows, in order, and of their layout."""
        whole = blake2b(repr(self.layout).encode(), digest_size=32)
        for one in self._facts:
            whole.update(bytes.fromhex(one.digest))
        return whole.hexdigest()

    @cached_property
    def _moments(self) -> Moments:
        shift = self.layout.shift
        return reduce(Moments.merge, (one.moments.widen(self.n_features, shift(one.written)) for one in self._facts))

    @property
    def _is_text(self) -> bool:
        return self._facts[0].answers.is_text

    @cached_property
    def _values(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The different answers and how often each occurs; None if there are too many."""
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
    """Return an answer of a part, for messages."""
    return f"{one.answers.low:g}" if one.answers.values is None else repr(one.answers.values[0].item())


def _require_columns(facts: Sequence[Facts]) -> None:
    """Refuse parts whose columns are not those of the first part; sparse rows may lack the last columns."""
    fixed = [one for one in facts if not one.is_sparse]
    for one in facts if fixed else ():
        first = fixed[0]
        if one.n_features > first.n_features or (one.n_features < first.n_features and not one.is_sparse):
            raise InputError(
                f"{one.name}: has {one.n_features:,} feature columns, but {first.name} has {first.n_features:,}: "
                "give all parts the same columns"
            )
    tables = [one for one in fixed if one.written.encoding is not None]
    for one in tables[1:]:
        _require_same_table(tables[0], one)


def _require_same_table(first: Facts, one: Facts) -> None:
    """Refuse a table whose columns have other names, another order or other dates than those of the first table."""
    mine, other = one.written.encoding, first.written.encoding
    if mine.header and other.header:
        if mine.columns != other.columns:
            odd = [name for name in mine.columns if name not in other.columns]
            order = f"its columns in another order than {first.name}"
            what = f"{name_columns(odd)}, which {first.name} lacks" if odd else order
            raise InputError(f"{one.name}: has {what}: give all parts the same columns in one order")
        if mine.label != other.label:
            raise InputError(
                f"{one.name}: its label is column {mine.label!r}, but {other.label!r} in {first.name}: name it with "
                "--label COL"
            )
    elif mine.label_index != other.label_index:
        raise InputError(
            f"{one.name}: its label is column {mine.label_index}, but column {other.label_index} in {first.name} "
            "(counted from 0): name it with --label COL"
        )
    if mine.dates != other.dates:
        at = next(i for i, (a, b) in enumerate(zip(mine.dates, other.dates, strict=True)) if a != b)
        raise InputError(
            f"{one.name}: {name_columns([mine.columns[at]])} holds {mine.dates[at] or 'numbers'}, but "
            f"{other.dates[at] or 'numbers'} in {first.name}: write dates as 2024-12-31 in all parts"
        )


def _layout(facts: Sequence[Facts]) -> Layout:
    """Return the storage that one machine would give to all rows."""
    from_zero = any(one.written.from_zero for one in facts)
    width = max(one.n_features + (from_zero and one.written.from_zero is False) for one in facts)
    sparse = [one for one in facts if one.is_sparse]
    stored, cells = sum(one.n_stored for one in facts), sum(one.n_rows for one in facts) * width
    is_sparse = any(not one.written.by_density for one in sparse) or (bool(sparse) and stored < DENSE_FROM * cells)
    dtype: Any = np.result_type(*(np.dtype(one.dtype) for one in facts))
    return Layout(width, is_sparse, dtype.name, from_zero)
