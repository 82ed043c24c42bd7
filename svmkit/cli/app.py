"""The typer app with all commands; nothing heavy is imported before a command runs.

A package adds a command by an entry point in the group ``svmkit.commands`` that names a `typer.Typer`. The name of the
entry point is the name of the command; a built-in command of that name takes precedence.
"""

from __future__ import annotations

import os
from importlib.metadata import EntryPoint
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from svmkit import plugins as plugin_registry
from svmkit._version import __version__
from svmkit.cli import certifying, commands, datasets, exchange, show
from svmkit.cli.extending import new, plugins
from svmkit.errors import InputError
from svmkit.runtime.terminal import say


class Commands(TyperGroup):
    """The built-in commands and the commands of plugins, which are imported when called, not when listed."""

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        self.plugged = {
            name: p for name, p in plugin_registry.registered("command").items() if name not in self.commands
        }
        for name in self.plugged:
            self.add_command(TyperCommand(name), name)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of a name with the line that the help page shows."""
        command = super().get_command(ctx, cmd_name)
        if command and not command.help and cmd_name in self.plugged:
            command.help = _line(self.plugged[cmd_name])
        if command and command.help:
            paragraphs = [" ".join(each.split()) for each in command.help.split("\n\n")]  # rich keeps ends of lines
            command.help = "\n\n".join(paragraphs)
            command.short_help = command.short_help or paragraphs[0]  # otherwise click truncates it
        for each in (command, *getattr(command, "commands", {}).values()) if command else ():
            _hide_types_of_flags([*each.params, each.get_help_option(ctx)])
        return command

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands as plain text, since rich takes as long to import as everything else."""
        super(TyperGroup, self).format_help(ctx, formatter)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command to call, and the rest of `args`."""
        if args[0] in self.plugged:
            self.add_command(typer.main.get_command(plugin_registry.load("command", args[0])), args[0])
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            _require_values(command, rest, f"svmkit {args[0]}")
        return name, command, rest


def _hide_types_of_flags(parameters: list[Any]) -> None:
    """Have `--help` show nothing behind the name of a flag, where typer shows <bool>."""
    for each in parameters:
        if each is not None and each.param_type_name == "option" and each.is_flag and each.metavar is None:
            each.metavar = ""


def _require_values(command: Any, args: list[str], call: str) -> None:
    """Raise InputError if an option has no value; click takes the option behind it, or an empty text, for one.

    Parameters
    ----------
    command, args, call : click.Command, list of str, str
        The command, or a group such as models; what follows it; and how it is called, as svmkit train.
    """
    if args and (further := getattr(command, "commands", {}).get(args[0])):
        _require_values(further, args[1:], f"{call} {args[0]}")
        return
    options = [each for each in command.params if each.param_type_name == "option"]
    names = {name for each in options for name in (*each.opts, *each.secondary_opts)} | {"--help"}
    valued = {name for each in options if not (each.is_flag or each.count) and each.nargs == 1 for name in each.opts}
    following = iter(args)
    for each in following:
        if each == "--":
            return
        name, equals, value = each.partition("=")
        if name not in valued:
            continue
        found = value if equals else next(following, None)
        if not found or (found in names and not equals):
            what = {None: "", "": ", and its text is empty"}.get(found, f", and {found} follows it")
            raise InputError(f"{name} needs a value{what}; see {call} --help")


def _line(point: EntryPoint) -> str:
    """Return one line of help: the text of our own command, or the summary of a third party's package."""
    package = plugin_registry.package_name(point)
    if package != "svmkit":
        summary = point.dist.metadata["Summary"] if point.dist else None
        return f"{summary} ({package})" if summary else f"From the package {package}."
    try:
        return str(plugin_registry.load("command", point.name).info.help)
    except InputError as error:
        return str(error)


app = typer.Typer(
    name="svmkit",
    cls=Commands,
    help="Train, certify and compare support vector machines.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(show: bool) -> None:
    if show:
        say(f"svmkit {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
    log: str = typer.Option(
        "text", "--log", metavar="<text>", help="json: messages on stderr as JSON objects, one a line."
    ),
) -> None:
    """Train, certify and compare support vector machines. Results on stdout, messages on stderr."""
    try:
        os.getcwd()
    except FileNotFoundError:
        raise InputError("the working folder has been deleted: change to a folder that exists") from None


for _command in (
    *(commands.train, commands.compare, commands.curve, commands.evaluate, commands.tune, commands.predict),
    certifying.certify,
    *(commands.explain, commands.report),
    *(show.show, exchange.export, exchange.import_model, plugins.plugins, new.new, commands.check, commands.warmup),
):
    app.command(_command.__name__.removesuffix("_model"))(_command)
app.add_typer(datasets.app, name="datasets")


def command() -> Any:
    """Return the click command behind the app."""
    return typer.main.get_command(app)
