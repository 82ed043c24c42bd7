"""What several commands share: messages, JSON, models by file or registry name, labels of a test set."""

from __future__ import annotations

import json
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from svmkit.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from svmkit.data import Dataset
    from svmkit.model.model import SVMModel

JSON = typer.Option(False, "--json", help="One JSON object on stdout and nothing else.")
THREADS = typer.Option(None, "--threads", min=1, help="Threads; default all.")
TRACKING_URI = typer.Option(None, "--tracking-uri", help="MLflow store; default sqlite:///mlflow.db here.")


def note(message: str) -> None:
    """One line on stderr."""
    print(f"svmkit: {message}", file=sys.stderr)


def emit(value: Any) -> None:
    """One JSON line on stdout; NaN and infinity do not occur in JSON and become null."""
    from svmkit.runtime.jsonable import plain

    print(json.dumps(plain(value), allow_nan=False))


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Our own warnings become one line on stderr, without Python's file and line number."""
    from svmkit.errors import SvmkitWarning

    def show(message, category, filename, lineno, file=None, line=None):
        if issubclass(category, SvmkitWarning):
            note(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always", SvmkitWarning)
        warnings.showwarning = show
        yield


def require_model_name(name: str) -> str:
    """`name`, when it can be that of a registered model, and of a file; InputError says what it may hold."""
    if not re.fullmatch(r"\w([\w. -]*\w)?", name) or len(name.encode()) > 200:
        raise InputError(
            f"{name[:80]!r} cannot be the name of a model: use letters, digits, '_', '-', '.' and blanks inside, "
            "200 bytes at most"
        )
    return name


def load_model(source: str, tracking_uri: str | None) -> SVMModel:
    """A model from a file, or from the registry by models:/name@alias."""
    from svmkit.model.model import SVMModel

    if "://" not in source and not source.startswith(("models:/", "runs:/")):
        return SVMModel.load(source)
    from svmkit.tracking import tracker

    with tempfile.TemporaryDirectory() as folder:
        return SVMModel.load(tracker(tracking_uri).fetch(source, folder))


def load_for(model: SVMModel, source: str, *, labelled: bool = True) -> Dataset:
    """Data in the form that `model` was trained on: its number of columns, its encoding of text columns."""
    from svmkit.data import load

    return load(source, n_features=model.n_features, encoding=model.encoding, labelled=labelled)


def labels_of(data: Dataset) -> np.ndarray:
    """The labels of a data set that was loaded as labelled."""
    assert data.y is not None
    return data.y


def where(uri: Any) -> str:
    """How to look at the runs of a store."""
    return str(uri) if str(uri).startswith("http") else f"mlflow ui --backend-store-uri {uri}"


def rows(pairs: list[tuple[str, Any]]) -> None:
    """Aligned `name  value` lines on stdout; None is left out."""
    shown = [(name, value) for name, value in pairs if value is not None]
    width = max(len(name) for name, _ in shown)
    for name, value in shown:
        print(f"{name:<{width}}  {value}")
