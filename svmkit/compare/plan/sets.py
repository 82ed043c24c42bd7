"""The data of a cell: training and test rows, and the kernel with its parameters."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from svmkit.compare.plan.division import divide, draw, part_of, require_matrix
from svmkit.compare.plan.entries import build_kernel, first_rows
from svmkit.compare.plan.testing import GROUPS, TIME
from svmkit.compare.plan.whole_sets import WholeSets
from svmkit.data import Dataset
from svmkit.data.classes import CLASSIFY, with_labels_like, with_task
from svmkit.data.places.sources import find
from svmkit.data.prepare.imputing import require_values
from svmkit.data.prepare.preprocessing import Preprocessing
from svmkit.data.prepare.reading import Reading
from svmkit.errors import InputError
from svmkit.kernels.functions import Kernel
from svmkit.kernels.gamma import resolve_gamma
from svmkit.kernels.gram.gram import parse_bytes
from svmkit.tasks import task_named


class Sets(NamedTuple):
    """The data of a cell."""

    train: Dataset
    test: Dataset | None  # an svmlight file may have features that the training data lack
    kernel: Kernel  # with sigma and "2 * msd" as numbers


def prepare(settings: dict[str, Any], whole: WholeSets | None = None) -> Sets:
    """Return the sets of a cell's data settings; raise InputError if a file is missing or does not fit.

    Parameters
    ----------
    settings : dict
        The data settings of a cell.
    whole : WholeSets, default=None
        The sets read by earlier cells, and kept for later ones; None keeps nothing.
    """
    whole = whole or WholeSets()
    where = f"data.{settings['source']}"
    task, reading = settings.get("task"), Reading.from_options(settings)
    how: dict[str, Any] = {"holes": "impute" in settings, "labelled": task_named(task).is_supervised}
    of_whole = how | {"memory": parse_bytes(settings.get("memory", "1GB"))}
    ranked, is_matrix = task_named(task).has_groups, settings["kernel"]["name"] == "precomputed"
    columns = settings.get("n_features")
    train = whole.load("train", settings["source"], reading, ranked=ranked, n_features=columns, **of_whole)
    if how["labelled"]:
        train = with_task(train, CLASSIFY if "positive" in settings else task)
    else:
        train = replace(train, task=task)
    if is_matrix:
        require_matrix(train)
    first = first_rows(where, settings)
    train = part_of(train, first, first if is_matrix else None)
    held, test = None, settings["test"]
    if isinstance(test, dict):
        rows, held_rows = divide(train, test)
        columns = rows if is_matrix else None
        train, held = part_of(train, rows, columns), part_of(train, held_rows, columns)
    elif test is not None:
        held = _load_test(settings, train, reading, whole, ranked=ranked, how=of_whole)
    if "sample" in settings:  # for a learning curve: the test rows stay the same
        rows = draw(train, *settings["sample"])
        train = part_of(train, rows, rows if is_matrix else None)
        if held is not None and is_matrix:
            held = part_of(held, slice(None), rows)
    if "positive" in settings:
        train = _one_against_rest(train, settings["positive"])
        held = held and _one_against_rest(held, settings["positive"], must=False)
    if not how["labelled"]:
        train, held = _with_known_labels(train), held and _with_known_labels(held)
    if how["holes"]:
        require_values(train.X, train.encoding.feature_names if train.encoding else None)
    return Sets(train, held, _kernel(where, settings, train))


def _load_test(
    settings: dict[str, Any], train: Dataset, reading: Reading, whole: WholeSets, *, ranked: bool, how: Any
) -> Dataset:
    """Return the test set, with the columns and labels of the training data, read with the options `how`."""
    name = settings["test"]
    wider = not (settings.get("strict", False) or how["holes"] or train.encoding)
    related = Reading(groups=reading.groups, event=reading.event) if ranked else Reading()
    columns: dict[str, Any] = {"n_features": train.n_features, "wider": wider, "encoding": train.encoding}
    held = whole.load("test", name, related, ranked=ranked, **columns, **how)
    return with_labels_like(held, train)


def digests(settings: dict[str, Any]) -> dict[str, str]:
    """Return the SHA-256 of each file in the settings, so that a changed file changes the cell; no built-in sets."""
    test = settings["test"]
    given = test.get("by") if isinstance(test, dict) else test
    named = [settings["source"], *([] if given in (TIME, GROUPS) else [given])]
    paths = {name: find(name) for name in named if isinstance(name, str)}
    return {name: _digest(str(path), path.stat().st_mtime_ns) for name, path in paths.items() if isinstance(path, Path)}


@lru_cache(maxsize=256)
def _digest(path: str, modified: int) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:16]
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}; check the path") from None


def _one_against_rest(data: Dataset, positive: Any, must: bool = True) -> Dataset:
    if data.y is None:
        raise InputError(f"{data.name} has no labels for positive to name: leave positive out")
    chosen = data.y.astype(str) == str(positive)
    if must and not chosen.any():
        raise InputError(f"{data.name} has no label {positive!r}; it has {', '.join(map(str, np.unique(data.y)[:20]))}")
    return replace(data, y=np.where(chosen, 1, -1))


def _with_known_labels(data: Dataset) -> Dataset:
    """Return one-class data without labels other than -1, for outliers, and 1, for all others."""
    try:
        task_named(data.task).encode_truth(data.y, data.n_samples)
    except InputError:
        return replace(data, y=None)
    return data


def _kernel(where: str, settings: dict[str, Any], train: Dataset) -> Kernel:
    _, times, rule = str(settings["kernel"].get("gamma", "")).partition("*")
    if not times:
        return build_kernel(where, settings["kernel"])
    impute, scale = settings.get("impute"), settings["scale"]
    _, features = Preprocessing.fit(train.X, impute=impute, scale=scale, flags=train.flags)
    return build_kernel(where, settings["kernel"], resolve_gamma(rule.strip(), features))
