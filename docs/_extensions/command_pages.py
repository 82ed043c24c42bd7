"""A page for each command, written from the typer application before Sphinx reads the sources."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import typer

from svmkit import plugins
from svmkit.cli import app as command_line

FOLDER = Path("generated", "commands")


def commands() -> dict[str, Any]:
    """Return every command that does something by its full name, those of plugins of our own included."""
    top = command_line.command()
    context = top.make_context("svmkit", [], resilient_parsing=True)
    found = {}
    for name in top.list_commands(context):
        command = top.get_command(context, name)
        if name in top.plugged:
            command = typer.main.get_command(plugins.load("command", name))
        inner = getattr(command, "commands", {})
        found |= {f"svmkit {name} {below}": inner[below] for below in inner} or {f"svmkit {name}": command}
    return found


def page(name: str, command: Any) -> str:
    """Return the page of a command as reStructuredText, with an anchor for each option."""
    context = command.make_context(name, [], resilient_parsing=True)
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    parts = [name, "=" * len(name), "", inspect.cleandoc(command.help or ""), "", "::", "", f"    {usage}", ""]
    parts += [f".. program:: {name}", ""]
    for title, parameters in _panels(command.get_params(context)).items():
        parts += [title, "-" * len(title), ""]
        for signature, text in filter(None, (parameter.get_help_record(context) for parameter in parameters)):
            parts += [f".. option:: {signature}", "", f"    {_plain(text)}", ""]
    return "\n".join(parts) + "\n"


def _panels(parameters: list[Any]) -> dict[str, list[Any]]:
    """Return the parameters by the heading that they have in `--help`: arguments first, what has none last."""
    panels: dict[str, list[Any]] = {"Arguments": []}
    for parameter in parameters:
        named = "Arguments" if parameter.param_type_name == "argument" else parameter.rich_help_panel or "Other options"
        panels.setdefault(named, []).append(parameter)
    panels["Other options"] = panels.pop("Other options", [])
    return {title: found for title, found in panels.items() if found}


def _plain(text: str) -> str:
    """Escape what reStructuredText would take for marks."""
    for mark in "\\*`|_":
        text = text.replace(mark, f"\\{mark}")
    return " ".join(text.split())


def write(app: Any) -> None:
    """Write the pages whose text has changed."""
    folder = Path(app.srcdir) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, command in commands().items():
        file, text = folder / f"{name.replace(' ', '_')}.rst", page(name, command)
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx to write the pages first."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
