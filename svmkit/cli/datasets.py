"""svmkit datasets: the data sets that can be named, and those that can be fetched."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from svmkit.cli.option_table import Options, argument, option, takes

if TYPE_CHECKING:
    from svmkit.data.places.download import Progress

app = typer.Typer(help="Data sets that can be named.", no_args_is_help=True)


@app.command("list")
@takes("list")
def list_(options: Options) -> None:
    """Names of the built-in sets, of files in $SVMKIT_DATA and of the download cache, and of what can be fetched."""
    from svmkit.cli.common import emit
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
        print(f"{name:<{width}}  {origin:<12}  {path or ''}".rstrip())


@app.command()
@takes("info", argument("name", str, "File, or name of a set."))
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
@takes(
    "fetch",
    argument("names", list[str], "Sets such as a9a; the test half (a9a.t) comes with it."),
    option("mirror", str, None, "Folder with the files, packed or not; default $SVMKIT_MIRROR.", metavar="URL"),
)
def fetch(options: Options) -> None:
    """Download sets into the cache ($SVMKIT_CACHE) and verify them; an interrupted transfer is resumed."""
    from svmkit.cli.common import emit
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
            print(f"{name:<{width}}  {how:<8}  {fetched.bytes:>13,} bytes  {fetched.path}", flush=True)
    if options.json:
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
