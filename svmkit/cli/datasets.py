"""svmkit datasets: the data sets that can be named, and those that can be fetched."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from svmkit.cli.common import JSON
from svmkit.cli.option_table import Options, takes

if TYPE_CHECKING:
    from svmkit.data.places.download import Progress

NAMES = typer.Argument(help="Sets such as a9a; the test half (a9a.t) comes with it.")

app = typer.Typer(help="Data sets that can be named.", no_args_is_help=True)


@app.command("list")
def list_(json: bool = JSON) -> None:
    """Names of the built-in sets, of files in $SVMKIT_DATA and of the download cache, and of what can be fetched."""
    from svmkit.cli.common import emit
    from svmkit.data import available
    from svmkit.data.places.remote import REMOTE

    here = [(e.name, e.origin, e.path and str(e.path)) for e in available()]
    names = {name for name, _, _ in here}
    entries = here + [(name, "fetch", None) for name in REMOTE if name not in names]
    if json:
        emit([{"name": name, "origin": origin, "path": path} for name, origin, path in entries])
        return
    width = max(len(name) for name, _, _ in entries)
    for name, origin, path in entries:
        print(f"{name:<{width}}  {origin:<12}  {path or ''}".rstrip())


@app.command()
@takes("info")
def info(options: Options) -> None:
    """Size and classes of a data set; what train takes each column of a table for, and what it would refuse."""
    from svmkit.cli.columns import report
    from svmkit.cli.common import emit
    from svmkit.cli.options import reading
    from svmkit.data.survey import survey

    about = survey(options.name, reading(options))
    if options.json:
        emit(about)
    else:
        report(about)


@app.command()
def fetch(
    names: list[str] = NAMES,
    mirror: str = typer.Option(
        None, "--mirror", metavar="URL", help="Folder with the files, packed or not; default $SVMKIT_MIRROR."
    ),
    json: bool = JSON,
) -> None:
    """Download sets into the cache ($SVMKIT_CACHE) and verify them; an interrupted transfer is resumed."""
    from svmkit.cli.common import emit, warnings_as_notes
    from svmkit.data.places import fetching

    wanted = fetching.names_to_fetch(names)
    width = max(len(name) for name in wanted)
    done = []
    with warnings_as_notes():
        for name in wanted:
            with _bar(name) as progress:
                found = fetching.fetch(name, mirror=mirror, progress=progress)
            done.append(asdict(found) | {"path": str(found.path)})
            if not json:
                how = "fetched" if found.fetched else "was here"
                print(f"{name:<{width}}  {how:<8}  {found.bytes:>13,} bytes  {found.path}", flush=True)
    if json:
        emit(done)


@contextmanager
def _bar(name: str) -> Iterator[Progress | None]:
    """Show a bar on stderr for one transfer; yield None when stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
