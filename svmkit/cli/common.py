"""Functions that several commands share: messages, JSON, models by file or registry name, labels of a test set."""

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
STRICT = typer.Option(False, "--strict", help="Refuse an svmlight file with features that training does not have.")
TRACKING_URI = typer.Option(None, "--tracking-uri", help="MLflow store; default sqlite:///mlflow.db here.")


def _load_plugins(files: list[str]) -> list[str]:
    """Load the files of --plugin before the command looks up a name; return them."""
    from svmkit.plugins import load_files

    load_files(files)
    return files


PLUGIN = typer.Option(
    [],
    "--plugin",
    metavar="FILE.py",
    callback=_load_plugins,
    help="Solvers, kernels, losses or samplers of your own; repeatable. The file is code and runs with your rights; it "
    "is never loaded unless it is named.",
)


def note(message: str) -> None:
    """Print one line on stderr."""
    print(f"svmkit: {message}", file=sys.stderr)


def emit(value: Any) -> None:
    """Print one JSON line on stdout; NaN and infinity, which JSON does not have, become null."""
    from svmkit.runtime.jsonable import plain

    print(json.dumps(plain(value), allow_nan=False))


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Print each warning of svmkit as one line on stderr, without Python's file and line number."""
    from svmkit.errors import SvmkitWarning

    def _show(message, category, filename, lineno, file=None, line=None):
        if issubclass(category, SvmkitWarning):
            note(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always", SvmkitWarning)
        warnings.showwarning = _show
        yield


def require_model_name(name: str) -> str:
    """Return the name of a model when both the registry and a file can have it.

    Raises
    ------
    InputError
        The name has other characters, or more than 200 bytes.
    """
    if not re.fullmatch(r"\w([\w. -]*\w)?", name) or len(name.encode()) > 200:
        raise InputError(
            f"{name[:80]!r} cannot be the name of a model: use letters, digits, '_', '-', '.' and blanks inside, "
            "200 bytes at most"
        )
    return name


def load_model(source: str, tracking_uri: str | None) -> SVMModel:
    """Load a model from a file or from the registry.

    Parameters
    ----------
    source : str
        Path of a file, or an address such as models:/name@alias.
    tracking_uri : str or None
        The store; None is the tracker's default.

    Raises
    ------
    InputError
        There is no such model, or the file is damaged.
    SvmkitError
        The store failed.
    """
    from svmkit.model.model import SVMModel

    if "://" not in source and not source.startswith(("models:/", "runs:/")):
        return SVMModel.load(source)
    from svmkit.tracking import tracker

    with tempfile.TemporaryDirectory() as folder:
        return SVMModel.load(tracker(tracking_uri).fetch(source, folder))


def load_for(model: SVMModel, source: str, *, labelled: bool = True, strict: bool = False) -> Dataset:
    """Load data in the form that `model` was trained on: its columns, and with holes if it fills them.

    Parameters
    ----------
    model : SVMModel
        The model.
    source : str
        A file, or the name of a set.
    labelled : bool, default=True
        Whether labels are required.
    strict : bool, default=False
        Refuse an svmlight file with features that the model does not know. Otherwise the data have these features,
        with a warning, and `SVMModel.widened` gives the model for them.
    """
    from svmkit.data import load

    holes = model.preprocessing.takes_holes
    return load(
        source,
        n_features=model.n_features,
        wider=not (strict or holes or model.encoding),
        encoding=model.encoding,
        labelled=labelled,
        holes=holes,
    )


def labels_of(data: Dataset) -> np.ndarray:
    """Return the labels of a data set that was loaded with labels."""
    assert data.y is not None
    return data.y


def where(uri: Any) -> str:
    """Return how to view the runs of a store: an address, or a command."""
    return str(uri) if str(uri).startswith("http") else f"mlflow ui --backend-store-uri {uri}"


def rows(pairs: list[tuple[str, Any]]) -> None:
    """Print aligned `name  value` lines on stdout; values that are None are left out."""
    shown = [(name, value) for name, value in pairs if value is not None]
    width = max(len(name) for name, _ in shown)
    for name, value in shown:
        print(f"{name:<{width}}  {value}")
