"""A description of a data set, column by column, whether or not training would accept it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from svmkit.data.classes import with_task
from svmkit.data.dataset import CLASSIFY, Dataset
from svmkit.data.formats.files import split_endings
from svmkit.data.formats.kinds import TABLES, kind_of
from svmkit.data.loading import load
from svmkit.data.places.sources import find
from svmkit.data.prepare.dates import YEAR_FIRST, text_of
from svmkit.data.prepare.labels import encode_labels
from svmkit.data.prepare.reading import Reading
from svmkit.data.tables import alone, label_column, onehot, refusals
from svmkit.data.tables.columns import Column, Trouble
from svmkit.data.tables.readers import Learnt, learn
from svmkit.data.tables.table import as_option
from svmkit.errors import InputError

_OFTEN = 3  # the most frequent texts of a column that are listed


def survey(source: str | os.PathLike[str], reading: Reading | None = None) -> dict[str, Any]:
    """Describe a data set as JSON types; holes, texts of many values and labels other than classes are not errors.

    To the facts of `Dataset.describe`, where n_features, density and sparse describe the matrix for training, it adds
    label, columns (as in `_facts`), notes, task ("classify" or "regress", as training would decide), target (distinct
    values, range, mean of the quantities), and refusal, the message with which training would refuse the data; these
    are None if they do not apply. Raises InputError: there is no such set, or it cannot be read.
    """
    reading = reading or Reading()
    place = find(source)
    kind = None if isinstance(place, str) else kind_of(place, reading.charset)
    if isinstance(place, str) or kind not in TABLES:
        data = load(source, reading=reading, labelled=False, holes=True)
        return data.describe() | {"label": None, "columns": None, "notes": []} | _label_facts(data)
    learnt = learn(place, str(kind), reading=reading)
    rows = len(learnt.table.frame)
    y, missing = _labels(learnt)
    encoding = learnt.encoding(is_text=False)
    data = Dataset(onehot.assemble(learnt.columns, rows), y, split_endings(place.name)[0], encoding)
    every = sorted((*learnt.columns, *learnt.empty), key=lambda column: column.position)
    about = _label_facts(data)
    strength = _strengths(learnt, y, about["task"])
    about["refusal"] = str(missing) if missing else about["refusal"]
    try:
        learnt.require_usable(holes=False)
    except InputError as error:
        about["refusal"] = str(error)
    return (
        data.describe()
        | {
            "label": encoding.label_facts,
            "columns": [_facts(learnt, column) | strength(column) for column in every],
            "notes": list(learnt.notes),
        }
        | about
    )


def _facts(learnt: Learnt, column: Column) -> dict[str, Any]:
    """Return the kind of a column, its number of values and holes, its range or most frequent texts."""
    table, rows = learnt.table, len(column.values)
    about: dict[str, Any] = {"column": table.names[column.position], "position": column.position}
    if column.categories is None:
        known = column.values[~np.isnan(column.values)]
        kind = "date" if column.order else "flag" if column.is_flag else "number" if len(known) else "empty"
        ends = [known.min(), known.max()] if len(known) else []
        about |= {"kind": kind, "distinct": len(np.unique(known)), "holes": rows - len(known), "most": None}
        about["range"] = [text_of(end, YEAR_FIRST) if column.order else float(end) for end in ends] or None
    else:
        counts = np.bincount(column.values, minlength=len(column.categories))
        holes = int(counts[column.categories.index("")]) if "" in column.categories else 0
        most = [i for i in np.argsort(-counts, kind="stable") if column.categories[i]][:_OFTEN]
        kind = "empty" if column.is_empty else "categories" if column.trouble is None else "text"
        about |= {"kind": kind, "distinct": len(column.categories) - (holes > 0), "holes": holes, "range": None}
        about["most"] = {column.categories[i]: int(counts[i]) for i in most}
    return about | {"remark": _remark(learnt, column)}


def _strengths(learnt: Learnt, y: np.ndarray | None, task: str | None) -> Callable[[Column], dict[str, Any]]:
    """Return a function that measures how well a column alone predicts the label, with a remark if it decides it."""
    there = None
    if y is not None and learnt.label is not None and len(y) != len(learnt.table.frame):
        there = learnt.table.frame[learnt.label].notna().to_numpy()

    def strength(column: Column) -> dict[str, Any]:
        facts: dict[str, Any] = {"roc_auc": None, "rank_correlation": None}
        if y is None or y.ndim > 1 or task is None or column.is_empty:
            return facts
        cut = column if there is None else replace(column, values=column.values[there], wrong=None)
        if task == "regress":
            return facts | {"rank_correlation": alone.correlation(cut, np.asarray(y, dtype=np.float64))}
        facts["roc_auc"] = area = alone.area(cut, y)
        if area is not None and area >= alone.DECIDES and len(y) >= alone.FEWEST:
            option = as_option([learnt.table.names[column.position]])
            facts["remark"] = f"alone decides the label: known only afterwards? --drop {option}"
        return facts

    return strength


def _remark(learnt: Learnt, column: Column) -> str | None:
    """Return a remark on a problem of a column, in a few words."""
    name = learnt.table.names[column.position]
    option = as_option([name])
    if column.trouble == Trouble.MANY:
        return f"too many texts: --drop {option}, or --categorical {option}"
    if column.trouble == Trouble.MARK:
        return f"numbers with other marks ({column.example}): --decimal"
    if column.trouble == Trouble.DAY:
        return f"day or month first? --drop {option}"
    if column.trouble == Trouble.SLIP:
        return str(column.slip).partition(f"{name!r} ")[2] or str(column.slip)
    if column.is_empty:
        return "left out: no row has a value"
    return "; ".join(_hints(column, name, option)) or None


def _hints(column: Column, name: str, option: str) -> Iterator[str]:
    """Return the notes of training on a column that it accepts: its treatment, and the option that changes it."""
    if refusals.looks_like_id(name, column):
        yield f"looks like an ID: --drop {option}"
    if column.amount is not None:
        yield f"read without its unit ({column.example}): --categorical {option} keeps the texts"
    if column.zeros:
        yield f"leading zeros ({column.zeros}), codes perhaps: --categorical {option} keeps them"
    if alike := refusals.cite_alike(column):
        yield f"differ by case or blanks only ({alike}): --tidy {option} joins them"
    if slips := refusals.cite_slip(column):
        yield f"misspelt perhaps ({slips})"


def _labels(learnt: Learnt) -> tuple[np.ndarray | None, InputError | None]:
    """Return the labels, without the rows that lack one, and the error for the first of these rows."""
    if learnt.label is None:
        return None, None
    try:
        return label_column.labels(learnt.table, learnt.label, None, True, learnt.reading.decimal), None
    except InputError as error:
        there = learnt.table.frame[learnt.table.frame[learnt.label].notna()].reset_index(drop=True)
        if not len(there):
            return None, error
        labelled = learnt.table.with_frame(there)
        return label_column.labels(labelled, learnt.label, None, False, learnt.reading.decimal), error


def _label_facts(data: Dataset) -> dict[str, Any]:
    """Return the task of labels, a summary of quantities, and the message with which training would refuse them."""
    about: dict[str, Any] = {"task": None, "target": None, "refusal": None}
    if data.y is None:
        return about
    try:
        decided = with_task(data, None)
    except InputError as error:
        return about | {"refusal": str(error)}
    if decided.has_targets:
        y = np.asarray(decided.y)
        about["target"] = {
            "distinct": len(np.unique(y)),
            "range": [float(y.min()), float(y.max())],
            "mean": float(y.mean()),
        }
    elif decided.task == CLASSIFY:
        try:
            encode_labels(decided.y, n_samples=len(data.y))
        except InputError as error:
            about["refusal"] = str(error)
    return about | {"task": decided.task}
