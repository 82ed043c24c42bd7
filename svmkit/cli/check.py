"""svmkit check: the conformance suite on one plugin."""

from __future__ import annotations

import typer

from svmkit.cli.common import JSON


def check(
    name: str = typer.Argument(help="Name of a solver, kernel or sampler."),
    kind: str = typer.Option(None, help="solver, kernel or sampler, where the name alone is not clear."),
    json: bool = JSON,
) -> None:
    """Run the conformance suite on a plugin; exit 1 when a check fails.

    Below a check that fails: what was found, what was expected, and where the contract says so.
    """
    from svmkit.cli.common import emit
    from svmkit.conformance import check_plugin, told

    results = check_plugin(name, kind)
    failed = [r for r in results if r.problem]
    if json:
        emit({"name": name, "passed": not failed, "checks": [r._asdict() for r in results]})
    else:
        print("\n".join(map(told, results)))
        print(f"{name}: {len(results) - len(failed)} of {len(results)} checks hold")
    if failed:
        raise typer.Exit(1)
