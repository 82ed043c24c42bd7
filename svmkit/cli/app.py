"""The typer app, one file a command; nothing heavy is imported before a command runs."""

from __future__ import annotations

from typing import Any

import typer

from svmkit import __version__
from svmkit.cli import check, compare, datasets, evaluate, export, plugins, predict, train, tune, warmup

app = typer.Typer(
    name="svmkit",
    help="Train, certify and compare support vector machines.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(show: bool) -> None:
    if show:
        print(f"svmkit {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Train, certify and compare support vector machines. Results on stdout, messages on stderr."""


for _name, _command in {
    "train": train.train,
    "compare": compare.compare,
    "evaluate": evaluate.evaluate,
    "tune": tune.tune,
    "predict": predict.predict,
    "export": export.export,
    "plugins": plugins.plugins,
    "check": check.check,
    "warmup": warmup.warmup,
}.items():
    app.command(_name)(_command)  # type: ignore[type-var]
app.add_typer(datasets.app, name="datasets")


def command() -> Any:
    """The click command behind the app."""
    return typer.main.get_command(app)
