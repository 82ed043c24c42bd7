"""The encoding of a table's columns as features, so that later tables are read in the same way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from svmkit.errors import InputError


@dataclass(frozen=True)
class Encoding:
    """The encoding of the columns that training has learnt from a table.

    Attributes
    ----------
    columns : tuple of str
        Feature columns in order, without the label; ``column1``, ``column2``, ... when there was no header.
    categories : tuple of (tuple of str or None)
        For each column its categories in sorted order, each of which is one 0/1 feature; None for numbers.
        An empty cell of a text column is the category "".
    header : bool
        Whether the names come from a header; columns are then matched by name, else by position.
    label : str or None
        The label column's name; None when the training table had no labels.
    label_index : int or None
        Its position in the training table, from 0.
    label_text : bool
        Whether the labels are text (so that labels that look like numbers stay text).
    """

    columns: tuple[str, ...]
    categories: tuple[tuple[str, ...] | None, ...]
    header: bool
    label: str | None
    label_index: int | None
    label_text: bool

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Whether each column holds numbers."""
        return tuple(found is None for found in self.categories)

    @property
    def n_features(self) -> int:
        """Number of features after encoding."""
        return sum(1 if found is None else len(found) for found in self.categories)

    @property
    def feature_names(self) -> list[str]:
        """The name of each feature: the name of its column, or ``column=category``."""
        names: list[str] = []
        for column, found in zip(self.columns, self.categories, strict=True):
            names += [column] if found is None else [f"{column}={category}" for category in found]
        return names

    def to_json(self) -> dict[str, Any]:
        """Return the encoding in JSON types, for the header of a model file."""
        return {
            "columns": list(self.columns),
            "categories": [None if found is None else list(found) for found in self.categories],
            "header": self.header,
            "label": self.label,
            "label_index": self.label_index,
            "label_text": self.label_text,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Encoding:
        """Return the Encoding that `to_json` has converted, after checks.

        Raises
        ------
        InputError
            If an entry is missing or has the wrong type.
        """
        try:
            columns, categories = (
                tuple(stored["columns"]),
                tuple(None if found is None else tuple(found) for found in stored["categories"]),
            )
            header, label = stored["header"], stored["label"]
            index, label_text = stored["label_index"], stored["label_text"]
        except (KeyError, TypeError) as err:
            raise InputError(f"the stored column encoding is incomplete ({err!r}): the model file is damaged") from err
        texts = [*columns, *(text for found in categories if found is not None for text in found)]
        sound = len(columns) == len(categories) and all(isinstance(text, str) for text in texts)
        sound = sound and isinstance(header, bool) and isinstance(label_text, bool)
        sound = sound and isinstance(label, str | None) and isinstance(index, int | None)
        if not sound:
            raise InputError(
                "the stored column encoding does not fit together: the model file is damaged; save it again"
            )
        return cls(columns, categories, header, label, index, label_text)
