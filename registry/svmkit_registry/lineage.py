"""The origin of a model version as tags `svmkit.*` of the version, and back."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from svmkit.model.model import SVMModel
from svmkit.runtime.jsonable import plain

PREFIX = "svmkit."
LONGEST = 5000  # characters of a tag that every store of mlflow accepts


def _words(value: Any) -> str:
    if not isinstance(value, str) or not value or not value.isprintable():
        raise ValueError("no line of text")
    return value


def _count(value: Any) -> int:
    if isinstance(value, bool) or int(value) != float(value) or int(value) < 0:
        raise ValueError("no count")
    return int(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not math.isfinite(float(value)):
        raise ValueError("no number")
    return float(value)


def _share(value: Any) -> float:
    if not 0 <= _number(value) <= 1:
        raise ValueError("no share")
    return _number(value)


def _settings(value: Any) -> dict[str, Any]:
    settings = json.loads(value) if isinstance(value, str) else plain(value)
    if not isinstance(settings, dict):
        raise ValueError("no settings")
    plainly = {key: its for key, its in settings.items() if isinstance(its, int | float) or str(its).isprintable()}
    if not plainly or not all(map(str.isprintable, plainly)):
        raise ValueError("no settings")
    return plainly


FIELDS: dict[str, Callable[[Any], Any]] = {
    "data": _words,
    "data_sha256": _words,
    "n_samples": _count,
    "params": _settings,
    "status": _words,
    "gap": _number,
    "test_accuracy": _share,
    "test_balanced_accuracy": _share,
    "test_r2": _number,
    "test_rmse": _number,
    "test_mae": _number,
    "train_outliers": _share,
    "test_outliers": _share,
    "metric": _words,
    "test_metric": _number,
    "positive": _words,
    "n_test": _count,
    "test_data": _words,
    "test_sha256": _words,
    "svmkit_version": _words,
    "git_commit": _words,
}


def valid_entries(values: dict[str, Any]) -> dict[str, Any]:
    """The valid entries of `values` among `FIELDS`, since a file or a tag may contain anything."""
    valid = {}
    for name, read in FIELDS.items():
        try:
            valid[name] = read(values[name])
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
            continue
    return valid


def model_origin(model: SVMModel) -> dict[str, Any]:
    """The origin recorded in a model; for a model saved without its settings, the settings that can be derived."""
    about = model.about if isinstance(model.about, dict) else {}
    kernel = {"solver": about.get("solver"), "C": about.get("C"), "kernel": model.kernel.name} | model.kernel.params
    return valid_entries({"params": {k: v for k, v in kernel.items() if v is not None}} | about)


def version_origin(version: Any) -> dict[str, Any]:
    """The origin in the tags of a ModelVersion, by the names of `FIELDS`."""
    own = {key.removeprefix(PREFIX): value for key, value in version.tags.items() if key.startswith(PREFIX)}
    return valid_entries(own)


def tags_of(model: SVMModel) -> dict[str, str]:
    """Tags for a version of this model; values that are too long are omitted, not truncated."""
    texts = {key: json.dumps(v) if isinstance(v, dict) else str(v) for key, v in model_origin(model).items()}
    return {PREFIX + key: text for key, text in texts.items() if len(text) <= LONGEST}
