"""The truth that a model is compared with, where it is more than a label."""

from __future__ import annotations

from typing import Any

from svmkit.data import Dataset
from svmkit.data.classes import with_task
from svmkit.data.groups import add_groups
from svmkit.data.prepare.reading import Reading
from svmkit.errors import InputError
from svmkit.model.model import SVMModel
from svmkit.tasks import task_named


def add_truth(test: Dataset, model: SVMModel, options: Any) -> Dataset:
    """Return the data for a ranker with their groups and events, whose columns the model knows unless they are given.

    Raises InputError: the data have no such column, or the options are not of such a model.
    """
    given = {"groups": options.groups, "event": options.event}
    if not task_named(model.task).has_groups:
        for name, column in given.items():
            if column is not None:
                raise InputError(f"--{name} is for a ranker, and {options.model} is none: leave it out")
        return test
    trained = model.about.get("params", {})
    columns = {name: trained.get(name) if column is None else column for name, column in given.items()}
    encoding = model.encoding
    reading = None if encoding is None else Reading(decimal=encoding.decimal, charset=encoding.charset)
    return with_task(add_groups(test, options.data, **columns, reading=reading), model.task)
