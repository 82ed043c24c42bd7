"""svmkit datasets: what can be trained on by name."""

from __future__ import annotations

import typer

from svmkit.cli.common import JSON

app = typer.Typer(help="Data sets that can be named.", no_args_is_help=True)


@app.command("list")
def list_(json: bool = JSON) -> None:
    """Names of the built-in sets, of files in $SVMKIT_DATA and of the download cache."""
    from svmkit.cli.common import emit
    from svmkit.data import available

    entries = available()
    if json:
        emit([{"name": e.name, "origin": e.origin, "path": e.path and str(e.path)} for e in entries])
        return
    width = max(len(e.name) for e in entries)
    for e in entries:
        print(f"{e.name:<{width}}  {e.origin:<12}  {e.path or ''}".rstrip())


@app.command()
def info(
    name: str = typer.Argument(help="File, or name of a set."),
    json: bool = JSON,
) -> None:
    """Size, classes and density of a data set."""
    from svmkit.cli.common import emit, rows, warnings_as_notes
    from svmkit.data import load

    with warnings_as_notes():
        about = load(name, labelled=False).describe()
    if json:
        emit(about)
        return
    rows([(k, ", ".join(f"{a}: {b}" for a, b in v.items()) if isinstance(v, dict) else v) for k, v in about.items()])
