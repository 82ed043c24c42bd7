"""svmkit check: the conformance suite on plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from svmkit.cli.option_table import Options, argument, option, takes

if TYPE_CHECKING:
    from svmkit.conformance.result import Result


@takes(
    "check",
    argument("name", str, "Name of a plugin; default all in the files of --plugin.", None),
    option("kind", str, None, "solver, kernel, loss, sampler or engine, where the name alone is not clear."),
)
def check(options: Options) -> None:
    """Run the conformance suite on a plugin; exit 1 when a check fails.

    Below a check that fails: what was found, what was expected, and where the contract says so.
    """
    from svmkit.cli.common import emit
    from svmkit.conformance import check_plugin, report

    done: list[dict[str, Any]] = []
    name, kind = options.name, options.kind
    for one, its_kind in [(name, kind)] if name is not None else _brought_by(options.plugin, kind):
        results = check_plugin(one, its_kind)
        done.append(_summary(one, results))
        if not options.json:
            print("\n".join(map(report, results)))
            print(f"{one}: {sum(not r.problem for r in results)} of {len(results)} checks hold")
    if options.json:
        emit(done[0] if len(done) == 1 else {"passed": all(d["passed"] for d in done), "plugins": done})
    if not all(d["passed"] for d in done):
        raise typer.Exit(1)


def _brought_by(files: list[str], kind: str | None) -> list[tuple[str, str | None]]:
    """Return name and kind of each plugin in these files; of one kind alone if it is given."""
    from svmkit.errors import InputError
    from svmkit.plugins import plugin_file

    if not files:
        raise InputError("name a solver, kernel, loss, sampler or engine to check, or your own file: --plugin FILE.py")
    brought = [pair for file in files for pair in plugin_file.brought_by(file) if kind in (None, pair[1])]
    if not brought:
        raise InputError(f"{', '.join(files)}: there is no {kind} in it")
    return list(dict.fromkeys(brought))


def _summary(name: str, results: list[Result]) -> dict[str, Any]:
    return {
        "name": name,
        "passed": not any(r.problem for r in results),
        "checks": [r._asdict() for r in results],
    }
