"""Functions that several commands share: messages, JSON, progress on stderr, models by file or registry name."""

from __future__ import annotations

import json
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from svmkit.errors import InputError, Unavailable
from svmkit.runtime import interrupt
from svmkit.runtime.terminal import console, say, shows_progress, tell

if TYPE_CHECKING:
    from svmkit.data import Dataset
    from svmkit.data.prepare.reading import Reading
    from svmkit.model.model import SVMModel
    from svmkit.tracking import Tracker
    from svmkit.training.callbacks import Display

JSON = typer.Option(False, "--json", help="Print the result as JSON on stdout, and nothing else.")
THREADS = typer.Option(None, "--threads", min=1, help="Number of threads; default all.")
STRICT = typer.Option(
    False, "--strict", help="Refuse an svmlight file with features that are not in the training data."
)
TRACKING_URI = typer.Option(
    None, "--tracking-uri", metavar="<text>", help="MLflow store; default sqlite:///mlflow.db in the working folder."
)


def _load_plugins(files: list[str]) -> list[str]:
    """Load the files of --plugin before the command looks up names; return them."""
    from svmkit.plugins import load_files

    load_files(files)
    return files


PLUGIN = typer.Option(
    [],
    "--plugin",
    metavar="FILE.py",
    callback=_load_plugins,
    help="Python file with solvers, kernels, losses or samplers of your own; repeatable. It is code that runs with "
    "your rights, and is loaded only if it is named here.",
)


def note(message: str) -> None:
    """Print one line on stderr."""
    tell(message)


def emit(value: Any) -> None:
    """Print one JSON line on stdout; NaN and infinity, which JSON lacks, become null."""
    from svmkit.runtime.jsonable import plain

    print(json.dumps(plain(value), allow_nan=False))


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Print each warning of svmkit once, as one line on stderr, without Python's file and line number."""
    from svmkit.errors import SvmkitWarning

    seen = set()  # pairs of classes may give the same one

    def _show(message, category, filename, lineno, file=None, line=None):
        if issubclass(category, SvmkitWarning) and str(message) not in seen:
            seen.add(str(message))
            note(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always", SvmkitWarning)
        warnings.showwarning = _show
        yield


def require_model_name(name: str) -> str:
    """Return the name of a model; raise InputError unless it is valid for both the registry and a file."""
    if not re.fullmatch(r"\w([\w. -]*\w)?", name) or len(name.encode()) > 200:
        raise InputError(
            f"{name[:80]!r} cannot be the name of a model: use letters, digits, '_', '-', '.' and blanks inside, "
            "200 bytes at most"
        )
    return name


def load_model(source: str, tracking_uri: str | None) -> SVMModel:
    """Load a model from a file, or from the registry by an address such as models:/name@alias.

    Raises InputError: there is no such model, or the file is damaged; SvmkitError: the store failed.
    """
    from svmkit.model.model import SVMModel

    if "://" not in source and not source.startswith(("models:/", "runs:/")):
        return SVMModel.load(source)
    from svmkit.tracking import tracker

    with tempfile.TemporaryDirectory() as folder:
        return SVMModel.load(tracker(tracking_uri).fetch(source, folder))


def load_for(model: SVMModel, options: Any, *, labelled: bool = True, reading: Reading | None = None) -> Dataset:
    """Load the data of a command in the form of a model's training data: its columns, with holes if it fills them.

    Under --strict, an svmlight file with features unknown to the model is refused; otherwise the data have these
    features, with a warning, and `SVMModel.widened` gives the model for them.

    Parameters
    ----------
    model, options : SVMModel, Options
        The model, and the options of the command.
    labelled, reading : bool, Reading
        As for `svmkit.load`.
    """
    from svmkit.data import load

    holes = model.preprocessing.takes_holes
    return load(
        options.data,
        n_features=model.n_features,
        wider=not (options.strict or holes or model.encoding),
        encoding=model.encoding,
        labelled=labelled,
        reading=reading or options.reading_of_model,
        holes=holes,
    )


def labels_of(data: Dataset) -> Any:
    """Return the answers of a data set that was loaded with labels."""
    assert data.y is not None
    return data.truth


def open_tracker(options: Any) -> Tracker:
    """Return the tracker named by the options, which logs nothing under --no-track.

    If no tracker is installed, as with svmkit-core alone, a note says so, and a command that needs a store or a
    registered model is refused.
    """
    from svmkit.tracking import Tracker, tracker

    if options.no_track:
        return Tracker()
    try:
        return tracker(options.tracking_uri, options.experiment)
    except Unavailable as missing:
        if options.tracking_uri or getattr(options, "register", None):
            raise
        note(f"nothing is logged: {missing}; --no-track says that this is meant")
        return Tracker()


@contextmanager
def closing(run: Tracker) -> Iterator[Tracker]:
    """Close the run at the end of the block as FINISHED, KILLED (Ctrl-C) or FAILED; a closed run is unchanged.

    The run is opened in the block. From then on a first Ctrl-C or SIGTERM ends a fit, and the result so far is still
    saved, logged and shown; a second one aborts.
    """
    status = "FAILED"
    with interrupt.catching(to_end=True):
        try:
            yield run
            status = "FINISHED"
        except KeyboardInterrupt:
            status = "KILLED"
            raise
        finally:
            run.end(status)


def require_wanted() -> None:
    """Raise KeyboardInterrupt if a signal has come before there is a result to keep."""
    if interrupt.asked():
        raise KeyboardInterrupt


def describe_run(run: Tracker) -> str | None:
    """Return the id of the run that is open or was closed last and how to view it; None if nothing was logged."""
    if not run.run_id:
        return None
    place = run.where()
    return f"{run.run_id}  ({place})" if place else run.run_id


def rows(pairs: list[tuple[str, Any]]) -> None:
    """Print aligned `name  value` lines on stdout; values that are None are omitted."""
    shown = [(name, value) for name, value in pairs if value is not None]
    width = max(len(name) for name, _ in shown)
    for name, value in shown:
        say(f"{name:<{width}}  {value}")


@contextmanager
def training_line(n_samples: int, about: str = "") -> Iterator[Display | None]:
    """Yield callbacks of a training that draw a live line ending with `about`; None if stderr is not a terminal."""
    from svmkit.runtime.progress import live
    from svmkit.training.callbacks import Display

    with live("preparing (the first run compiles)") as show:
        behind = f"  {about}" if about else ""
        yield None if show is None else Display(lambda text: show(text + behind), n_samples)


@contextmanager
def cells_shown(todo: int) -> Iterator[Callable[[Any, dict[str, Any] | None], None]]:
    """Yield a callback of `svmkit.compare.run`: a line for each cell and, on a terminal, a bar with the time to go."""
    if not (shows_progress() and todo):
        yield lambda cell, record: None if record is None else note(cell_line(cell, record))
        return
    from rich import progress

    counts = (progress.BarColumn(), progress.MofNCompleteColumn(), progress.TimeElapsedColumn())
    left = (progress.TextColumn("left"), progress.TimeRemainingColumn())
    running = progress.TextColumn("{task.description}", markup=False)
    with progress.Progress(*counts, *left, running, console=console(stderr=True), transient=True) as bar:
        task, under_way = bar.add_task("loading, compiling", total=todo), []

        def show_cell(cell: Any, record: dict[str, Any] | None) -> None:
            if record is None:
                under_way.append(cell.name)
            else:
                under_way.remove(cell.name)
                bar.console.print(cell_line(cell, record), highlight=False, markup=False)
                bar.advance(task)
            bar.update(task, description=", ".join(under_way))

        yield show_cell


def cell_line(cell: Any, record: dict[str, Any]) -> str:
    """Return a finished cell of a comparison in words."""
    if "fit_s" not in record:
        return f"{cell.name}: {record['status']}: {record['reason']}"
    gap = "gap not known" if record["gap"] is None else f"gap {record['gap']:.1e}"
    tested = "" if record["test_accuracy"] is None else f", {record['test_accuracy']:.2%}"
    tested += "" if record.get("test_r2") is None else f", R2 {record['test_r2']:.4f}"
    return f"{cell.name}: {record['status']}, {gap}, {record['fit_s']:.2f} s, {record['n_support']:,} vectors{tested}"
