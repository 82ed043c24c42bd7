"""svmkit plugins: what is installed, by kind."""

from __future__ import annotations

import typer

from svmkit.cli.common import JSON


def plugins(
    kind: str = typer.Option(None, help="solver, kernel, sampler or tracker; default all."),
    json: bool = JSON,
) -> None:
    """List solvers, kernels, samplers and trackers, broken ones with their error."""
    from svmkit.cli.common import emit
    from svmkit.errors import InputError
    from svmkit.plugins import KINDS, describe

    if kind is not None and kind not in KINDS:
        raise InputError(f"--kind {kind!r} is not known; there are: {', '.join(KINDS)}")
    listed = [row for k in KINDS if kind in (None, k) for row in describe(k)]
    if json:
        emit(
            [
                {"kind": r.kind, "name": r.name, "package": r.package, "doc": r.doc, "options": r.options,
                 "error": r.error}
                for r in listed
            ]
        )  # fmt: skip
        return
    width = max(len(row.name) for row in listed)
    for row in listed:
        options = ", ".join(f"{k}={v}" for k, v in row.options.items())
        what = f"BROKEN: {row.error}" if row.error else row.doc + (f" [{options}]" if options else "")
        foreign = "" if row.package == "svmkit" else f" ({row.package})"
        print(f"{row.kind:<7}  {row.name:<{width}}  {what}{foreign}")
