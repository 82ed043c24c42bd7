"""svmkit datasets: the data sets with names, and the ones that can be fetched."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from svmkit.cli.common import emit, rows
from svmkit.cli.option_table import Options, argument, option, takes
from svmkit.runtime.terminal import align, console, say, shows_progress

if TYPE_CHECKING:
    from svmkit.data.places.download import Progress

CLASSES = 20  # classes that are listed, at most
WIDE = 40  # characters of a cell, at most

app = typer.Typer(help="List, describe and download data sets that have names.", no_args_is_help=True)


@app.command("list")
@takes("list")
def list_(options: Options) -> None:
    """List the built-in sets, files in $SVMKIT_DATA and in the download cache, and sets that can be fetched."""
    from svmkit.data import available
    from svmkit.data.places.remote import REMOTE

    here = [(e.name, e.origin, e.path and str(e.path)) for e in available()]
    names = {name for name, _, _ in here}
    entries = here + [(name, "fetch", None) for name in REMOTE if name not in names]
    if options.json:
        emit([{"name": name, "origin": origin, "path": path} for name, origin, path in entries])
        return
    width = max(len(name) for name, _, _ in entries)
    for name, origin, path in entries:
        say(f"{name:<{width}}  {origin:<12}  {path or ''}".rstrip())


@app.command()
@takes("info", argument("name", str, "A file, or the name of a set."))
def info(options: Options) -> None:
    """Show size and classes of a data set, how train treats each column of a table, and what it would refuse."""
    from svmkit.data.survey import survey

    about = survey(options.name, options.reading)
    if options.json:
        emit(about)
    else:
        _report(about)


@app.command()
@takes(
    "fetch",
    argument("names", list[str], "Names of sets, such as a9a; the test set (a9a.t) is fetched, too."),
    option(
        "mirror",
        str,
        None,
        "Address of a folder with the files, compressed or not; default $SVMKIT_MIRROR.",
        metavar="URL",
    ),
)
def fetch(options: Options) -> None:
    """Download sets into the cache ($SVMKIT_CACHE) and verify them; an interrupted transfer is resumed."""
    from svmkit.data.places import fetching

    wanted = fetching.names_to_fetch(options.names)
    width = max(len(name) for name in wanted)
    done = []
    for name in wanted:
        with _bar(name) as progress:
            fetched = fetching.fetch(name, mirror=options.mirror, progress=progress)
        done.append(asdict(fetched) | {"path": str(fetched.path)})
        if not options.json:
            how = "fetched" if fetched.fetched else "was here"
            say(f"{name:<{width}}  {how:<8}  {fetched.bytes:>13,} bytes  {fetched.path}")
    if options.json:
        emit(done)


@contextmanager
def _bar(name: str) -> Iterator[Progress | None]:
    """Show a bar on stderr for one transfer; yield None if stderr is not a terminal."""
    if not shows_progress():
        yield None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _report(about: dict[str, Any]) -> None:
    """Print the result of `svmkit.data.survey.survey`."""
    size = {key: about[key] for key in ("name", "n_samples", "n_features", "density", "sparse", "dtype")}
    label, target, classes, words = about["label"], about["target"], about["classes"], None
    named = label and f"{label['column'] or 'column' + str(label['position'] + 1)} ({label['chosen']})"
    if target is not None:
        low, high = target["range"]
        words = f"a quantity: {target['distinct']:,} values from {low:.6g} to {high:.6g}, mean {target['mean']:.6g}"
    elif classes is not None:
        n = sum(classes.values())
        shown = [f"{label}: {count:,} ({count / n:.1%})" for label, count in list(classes.items())[:CLASSES]]
        shown += [f"and {len(classes) - CLASSES:,} more"] if len(classes) > CLASSES else []
        shown += [f"no label: {about['n_samples'] - n:,}"] if n < about["n_samples"] else []
        classes = ", ".join(shown)
    rows([*size.items(), ("label", named), ("target", words), ("classes", None if target else classes)])
    if about["columns"]:
        say("", *_table(about["columns"]))
    if about["refusal"]:
        say("", f"train would refuse this: {about['refusal']}")


def _table(columns: list[dict[str, Any]]) -> list[str]:
    """Return the columns as lines: the range of numbers or dates, or the most frequent texts with their rows, and how
    well each alone predicts the label: the area under its ROC curve, or its rank correlation with a quantity.
    """
    measure, heading = "roc_auc", "AUC"
    if any(column["rank_correlation"] is not None for column in columns):
        measure, heading = "rank_correlation", "rank corr."
    lines = [["column", "taken for", "values", "holes", heading, "range or most frequent", ""]]
    for column in columns:
        if column["range"] is not None:
            spread = " to ".join(end if isinstance(end, str) else f"{end:.6g}" for end in column["range"])
        else:
            spread = ", ".join(f"{_cut(text, 20)}: {count:,}" for text, count in (column["most"] or {}).items())
        numbers = [f"{column[key]:,}" for key in ("distinct", "holes")]
        alone = "" if column[measure] is None else f"{column[measure]:.3f}"
        lines.append([_cut(column["column"]), column["kind"], *numbers, alone, spread, column["remark"] or ""])
    return align(lines, left=[0, 1, 5, 6])


def _cut(text: str, width: int = WIDE) -> str:
    text = " ".join(text.split())
    return text if len(text) <= width else f"{text[: width - 3]}..."
