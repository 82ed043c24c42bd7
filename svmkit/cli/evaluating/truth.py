"""The data with which a model is compared, whose truth may be more than a label."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from svmkit.cli.common import load_for
from svmkit.data import Dataset
from svmkit.data.classes import with_task
from svmkit.data.groups import add_groups, require_columns
from svmkit.errors import InputError
from svmkit.model.model import SVMModel
from svmkit.tasks import task_named


def load_truth(model: SVMModel, options: Any) -> Dataset:
    """Load labelled data for a model, for a ranker with groups and events, whose columns the model knows unless they
    are given.

    Raises InputError: the data lack such a column, or the options do not apply to the model.
    """
    given = {"groups": options.groups, "event": options.event}
    if not task_named(model.task).has_groups:
        data = load_for(model, options)
        for name, column in given.items():
            if column is not None:
                raise InputError(f"--{name} is for a ranker, and {options.model} is none: leave it out")
        return data
    trained = model.about.get("params", {})
    columns = {name: trained.get(name) if column is None else column for name, column in given.items()}
    reading = replace(options.reading_of_model, **columns)
    require_columns(options.data, reading)
    return with_task(add_groups(load_for(model, options, reading=reading), options.data), model.task)
