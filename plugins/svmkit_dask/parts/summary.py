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
from svmkit.data.prepare.encoding import Encoding
from svmkit.data.prepare.preprocessing import Preprocessing
from svmkit.data.prepare.scaling import Scaling
from svmkit.data.tables.table import name_columns
from svmkit.errors import InputError
from svmkit.kernels.functions import Kernel
from svmkit.kernels.gamma import gamma_of_moments
from svmkit_dask.parts.facts import MOST_LABELS, Answers, Facts, Moments
from svmkit_dask.parts.part import Layout


def answers_of(one: Facts) -> Answers:
    """Return the summary of the answers of a part that has rows."""
    assert one.answers is not None
    return one.answers


def example_of(one: Facts) -> str:
    """Return an answer of a part, for messages."""
    answers = answers_of(one)
    return f"{answers.low:g}" if answers.values is None else repr(answers.values[0].item())


def require_one_kind(facts: Sequence[Facts]) -> None:
    """Refuse labels that are text in some parts and numbers in others."""
    first = facts[0]
    other = next((one for one in facts if answers_of(one).is_text != answers_of(first).is_text), None)
    if other is None:
        return
    text, number = (first, other) if answers_of(first).is_text else (other, first)
    raise InputError(
        f"{text.name}: its labels are text ({example_of(text)}), but numbers in {number.name} ({example_of(number)}): "
        "give all parts labels of one kind"
    )


def require_columns(facts: Sequence[Facts]) -> None:
    """Refuse parts whose columns are not those of the first part; sparse rows may lack the last columns."""
    fixed = [one for one in facts if not one.is_sparse]
    if not fixed:
        return
    first = fixed[0]
    for one in facts:
        wrong = one.n_features > first.n_features if one.is_sparse else one.n_features != first.n_features
        if wrong:
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
    assert mine is not None and other is not None
    mend = "give all parts the same columns in one order"
    if mine.header and other.header:
        if mine.columns != other.columns:
            odd = [name for name in mine.columns if name not in other.columns]
            what = (
                f"{name_columns(odd)}, which {first.name} lacks"
                if odd
                else f"its columns in another order than {first.name}"
            )
            raise InputError(f"{one.name}: has {what}: {mend}")
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


def shift(one: Facts, layout: Layout) -> int:
    """Return the number of columns that the layout puts in front of those of a part."""
    return int(layout.from_zero and one.written.from_zero is False)


def layout_of(facts: Sequence[Facts]) -> Layout:
    """Return the storage that one machine would give to all rows."""
    from_zero = any(one.written.from_zero for one in facts)
    width = max(one.n_features + (from_zero and one.written.from_zero is False) for one in facts)
    sparse = [one for one in facts if one.is_sparse]
    stored = sum(one.n_stored for one in facts)
    cells = sum(one.n_rows for one in facts) * width
    is_sparse = any(not one.written.by_density for one in sparse) or (bool(sparse) and stored < DENSE_FROM * cells)
    dtype: Any = np.result_type(*(np.dtype(one.dtype) for one in facts))
    return Layout(width, is_sparse, dtype.name, from_zero)


class Summary:
    """The whole of the parts.

    Parameters
    ----------
    facts : sequence of Facts
        Of each part, in order, as `facts_of` gives them before the layout is known.
    classes : ndarray, default=None
        The classes that are known already, sorted; a part with another label is refused. By default the labels of all
        parts are the classes.

    Attributes
    ----------
    names : tuple of str
        The parts in messages.
    offsets : tuple of int
        The number of the first row of each part among all rows, and behind the last part the number of rows.
    filled : tuple of int
        The parts with rows, by their place in `facts`; parts without rows take part in nothing.
    notes : tuple of str
        What a user should know: the parts without rows.
    n_rows, n_features : int
        Number of rows and columns.
    layout : Layout
        The storage that all parts get, with `Part.laid_out` or `Source.laid_out`.

    Raises
    ------
    InputError
        No part has rows; dense parts have different columns; some parts have text as labels and others numbers; or a
        label is none of `classes`. The message names the parts.
    """

    def __init__(self, facts: Sequence[Facts], classes: np.ndarray | None = None) -> None:
        self.names = tuple(one.name for one in facts)
        self.offsets = (0, *accumulate(one.n_rows for one in facts))
        self.n_rows = self.offsets[-1]
        self.filled = tuple(i for i, one in enumerate(facts) if one.n_rows)
        self._facts = [facts[i] for i in self.filled]
        empty = [one.name for one in facts if not one.n_rows]
        self.notes = tuple(f"{name}: has no rows and is left out" for name in empty)
        if not self.filled:
            raise InputError(
                f"{', '.join(empty[:3]) or 'no part'}: no rows in any of {len(facts)} parts: check the data"
            )
        require_columns(self._facts)
        require_one_kind(self._facts)
        self.layout = layout_of(self._facts)
        self.n_features = self.layout.n_features
        self._classes = classes
        if classes is not None:
            for one in self._facts:
                self._require_known(one, classes)

    @cached_property
    def classes(self) -> np.ndarray:
        """The labels of all parts, sorted as `svmkit.data.prepare.labels.encode_labels` sorts them.

        Raises
        ------
        InputError
            The labels are no classes: fractions, more than 100,000 different ones, or a single one.
        """
        if self._classes is not None:
            return self._classes
        for one in self._facts:
            _require_discrete(one)
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
        assert self._values is not None or self._classes is not None
        counts = np.zeros(len(self.classes), dtype=np.int64)
        for one in self._facts:
            assert one.answers is not None and one.answers.values is not None
            counts[self.codes_of(one.answers.values)] += one.answers.counts
        return counts

    def codes_of(self, answers: np.ndarray) -> np.ndarray:
        """Return the class of each label as its place in `classes`: int64.

        Raises
        ------
        InputError
            A label is none of the classes.
        """
        codes = places(self.classes, answers)
        if (codes < 0).any():
            raise InputError(_unknown(str(answers[np.argmax(codes < 0)]), self.classes))
        return codes

    @cached_property
    def quantity(self) -> str | None:
        """Why the labels look like a quantity (`svmkit.data.classes.quantity`), in a few words; None if they do not."""
        if self._is_text or self._values is None:
            return None if self._is_text else f"more than {MOST_LABELS:,} values in {self.n_rows:,} rows"
        return quantity_of_counts(*self._values) if self._values[0].dtype.kind in "iuf" else None

    @cached_property
    def targets(self) -> tuple[float, float, float]:
        """The least, the largest and the mean target of a regression.

        Raises
        ------
        InputError
            The targets are text, or all the same.
        """
        found = [answers_of(one) for one in self._facts]
        if self._is_text:
            assert found[0].values is not None
            raise InputError(
                f"{self._facts[0].name}: regression needs numbers as targets, y holds {str(found[0].values[0])!r}: for "
                "classes use task classify"
            )
        low, high = min(one.low for one in found), max(one.high for one in found)
        if low == high and self.n_rows > 1:
            raise InputError(f"y is {low:g} in all {self.n_rows} samples: there is nothing to learn from it")
        return low, high, sum(one.total for one in found) / self.n_rows

    @property
    def weight(self) -> float:
        """The sum of the rows' weights."""
        return sum(one.n_rows if one.weights is None else one.weights[0] for one in self._facts)

    def resolve(self, kernel: Kernel, preprocessing: Preprocessing | None = None) -> Kernel:
        """Return a kernel with a number for its gamma, as `Kernel.resolve` would on all rows in one place.

        Parameters
        ----------
        kernel : Kernel
            The kernel.
        preprocessing : Preprocessing, default=None
            What is done to the rows before the kernel.

        Raises
        ------
        InputError
            The kernel needs all rows in one place, or gamma is beyond float64.
        """
        if type(kernel).resolve is Kernel.resolve:
            return kernel
        if kernel.form is None:
            raise InputError(f"kernel {kernel.name!r} looks at all rows in one place: it cannot be used on a cluster")
        gamma = getattr(kernel, "gamma", None)
        if not isinstance(gamma, str):
            return kernel.resolve(np.empty((0, self.n_features)))  # numbers stay what they are, whatever the rows
        moments = self._moments.scaled(None if preprocessing is None else preprocessing.scaling)
        number = gamma_of_moments(gamma, moments.n, moments.mean, moments.variance, moments.is_constant)
        return replace(kernel, gamma=number)  # type: ignore[call-arg]

    def preprocessing(self, scale: str | None) -> Preprocessing:
        """Return the scaling that `Preprocessing.fit` would learn from all rows; without an encoding.

        Parameters
        ----------
        scale : {"none", "standard", "minmax", "maxabs"} or None
            The kind of scaling.
        """
        if scale is None or scale == "none":
            return Preprocessing()
        moments = self._moments.for_scaling()
        return Preprocessing(
            scaling=Scaling.from_moments(scale, moments, sparse=self.layout.is_sparse, flags=self.flags)
        )

    def mean(self, preprocessing: Preprocessing) -> np.ndarray:
        """Return the mean of each column of all rows after preprocessing: float64, shape (n_features,)."""
        return self._moments.scaled(preprocessing.scaling).mean

    @cached_property
    def flags(self) -> np.ndarray | None:
        """The 0/1 columns of a table, which standard scaling leaves alone; None unless all parts are tables."""
        found = [one.flags for one in self._facts if one.flags is not None]
        return np.logical_and.reduce(found) if len(found) == len(self._facts) else None

    @property
    def encoding(self) -> Encoding | None:
        """How the columns of the tables became features, for the model; None for other formats."""
        first = next((one.written.encoding for one in self._facts if one.written.encoding is not None), None)
        return first and replace(first, label_text=self._is_text)

    @property
    def digest(self) -> str:
        """A hash of the parts with rows, in order, and of their layout."""
        found = blake2b(repr(self.layout).encode(), digest_size=32)
        for one in self._facts:
            found.update(bytes.fromhex(one.digest))
        return found.hexdigest()

    @cached_property
    def _moments(self) -> Moments:
        wide = (one.moments.widened(self.n_features, shift(one, self.layout)) for one in self._facts)
        return reduce(Moments.merged, wide)

    @property
    def _is_text(self) -> bool:
        return answers_of(self._facts[0]).is_text

    @cached_property
    def _values(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The different answers and how often each occurs; None if there are too many."""
        found = [answers_of(one) for one in self._facts]
        if any(one.values is None for one in found):
            return None
        kinds = {one.values.dtype.kind for one in found if one.values is not None}
        together = np.concatenate([one.values for one in found if one.values is not None])
        if "f" in kinds and len(kinds) > 1:
            together = integral(together)  # as if the labels had been read from one file
        values, place = np.unique(together, return_inverse=True)
        counts = np.bincount(place.ravel(), np.concatenate([one.counts for one in found if one.counts is not None]))
        return values, counts.astype(np.int64)

    def _require_known(self, one: Facts, classes: np.ndarray) -> None:
        answers = answers_of(one)
        if answers.values is None or answers.is_text != (classes.dtype.kind in "US"):
            raise InputError(f"{one.name}: its labels ({example_of(one)}) are of another kind than {_shown(classes)}")
        unknown = places(classes, answers.values) < 0
        if unknown.any():
            raise InputError(f"{one.name}: {_unknown(str(answers.values[np.argmax(unknown)]), classes)}")


def places(classes: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """Return the place of each answer in the sorted classes, -1 of those that are none of them."""
    if (classes.dtype.kind in "US") != (answers.dtype.kind in "US"):
        return np.full(len(answers), -1)
    at = np.minimum(np.searchsorted(classes, answers), len(classes) - 1).astype(np.int64)
    return np.where(classes[at] == answers, at, -1)


def _unknown(label: str, classes: np.ndarray) -> str:
    return f"label {label!r} is none of the known ones ({_shown(classes)}): mend it, or drop its rows"


def _shown(classes: np.ndarray) -> str:
    return ", ".join(map(str, classes[:8])) + (f" and {len(classes) - 8:,} more" if len(classes) > 8 else "")


def _require_discrete(one: Facts) -> None:
    values = answers_of(one).values
    if values is None or values.dtype.kind != "f" or (values == np.floor(values)).all():
        return
    found = values[values != np.floor(values)][0]
    raise InputError(
        f"{one.name}: Unknown label type: continuous. A label is {found}, no class label: use whole numbers or text"
    )
