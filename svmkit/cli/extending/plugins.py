"""svmkit plugins: the installed plugins by kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from svmkit.cli.option_table import Options, option, takes

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from svmkit.plugins import Listed

_FORMATS = ("text", "markdown")
_COLUMNS = {"problem": "problem", "loss": "loss", "kernels": "kernels", "certificate": "D", "streaming": "streams"}


@takes(
    "plugins",
    option("kind", str, None, "solver, kernel, loss, sampler, engine, tracker, cluster or command; default all."),
    option("package", str, None, "Only those that this package brings, such as svmkit."),
    option("format", str, "text", "text, or markdown: a table of all facts."),
)
def plugins(options: Options) -> None:
    """List solvers, kernels, losses, samplers, engines and more; what does not work here is listed with the reason.

    With --kind solver: also the source of the certificate, papers and options.
    """
    import sys

    from svmkit.cli.common import emit
    from svmkit.errors import InputError
    from svmkit.plugins import KINDS, describe

    kind, package, format = options.kind, options.package, options.format
    if kind is not None and kind not in KINDS:
        raise InputError(f"--kind {kind!r} is not known; there are: {', '.join(KINDS)}")
    if format not in _FORMATS:
        raise InputError(f"--format {format!r} is not known; there are: {', '.join(_FORMATS)}")
    every = [row for k in KINDS if kind in (None, k) for row in describe(k)]
    listed = [row for row in every if package in (None, row.package)]
    if not listed and package is not None:
        raise InputError(f"package {package!r} brings none; these do: {', '.join(sorted({r.package for r in every}))}")
    if options.json:
        emit([as_dict(row) for row in listed])
    elif format == "markdown":
        print("\n\n".join(markdown(rows) for rows in _by_kind(listed)))
    elif sys.stdout.isatty():
        from rich.console import Console

        for rows in _by_kind(listed):
            Console().print(table(rows, detailed=kind == "solver"), "")
    else:
        print("\n".join(lines(listed)))


def as_dict(row: Listed) -> dict[str, Any]:
    """Return all facts about a plugin, by name."""
    from svmkit.cli.extending.solver_table import FACTS

    keys = ("kind", "name", "package", "doc", "options", "error", "status")
    nothing = dict.fromkeys(FACTS) if row.kind == "solver" else {}
    return {key: getattr(row, key) for key in keys} | nothing | _facts(row)


def _facts(row: Listed) -> dict[str, Any]:
    from svmkit.cli.extending.solver_table import facts

    return facts(row) if row.kind == "solver" else {}


def _by_kind(listed: list[Listed]) -> list[list[Listed]]:
    return [[row for row in listed if row.kind == kind] for kind in dict.fromkeys(row.kind for row in listed)]


def lines(listed: list[Listed]) -> list[str]:
    """Return one line for each plugin, for pipes."""
    width = max((len(row.name) for row in listed), default=0)
    return [f"{row.kind:<7}  {row.name:<{width}}  {_what(row)}" for row in listed]


def _what(row: Listed) -> str:
    options = f" [{_options(row)}]" if row.options else ""
    foreign = "" if row.package == "svmkit" else f" ({row.package})"
    return (_trouble(row) or row.doc + options) + foreign


def _trouble(row: Listed) -> str:
    return {"broken": f"BROKEN: {row.error}", "unavailable": f"unavailable: {row.error}"}.get(row.status, "")


def _options(row: Listed) -> str:
    return ", ".join(f"{key}={value}" for key, value in row.options.items())


def table(rows: list[Listed], *, detailed: bool) -> Table:
    """Return a table for a terminal of 100 columns; for solvers with their problems or, if `detailed`, all facts."""
    from rich.table import Table

    of_solvers = rows[0].kind == "solver"
    columns = dict(list(_COLUMNS.items())[: None if detailed else 3]) if of_solvers else {}
    shown = Table("id", box=None, padding=(0, 2, 0, 0), title=_plural(rows[0].kind), title_justify="left")
    shown.columns[0].no_wrap = True
    shown.add_column("method" if of_solvers else "what", ratio=1)
    for header in columns.values():
        shown.add_column(header)
    for row in rows:
        known = _facts(row)
        facts = (_cell(known.get(name), "\n") for name in columns)
        shown.add_row(row.name, _method(row, known, detailed or not of_solvers), *facts)
    return shown


def _plural(kind: str) -> str:
    return f"{kind}es" if kind.endswith("s") else f"{kind}s"


def _method(row: Listed, known: dict[str, Any], detailed: bool) -> Text:
    """Return the method, and below it its source, its options, and the reason why it does not work here."""
    from rich.text import Text

    notes = [known.get("paper", ""), _options(row)] if detailed else []
    notes.append("" if row.package == "svmkit" else f"from {row.package}")
    parts = [(known.get("method", row.doc), ""), *((note, "dim") for note in notes), (_trouble(row), "red")]
    return Text("\n").join(Text(text, style) for text, style in parts if text)


def _cell(value: Any, between: str = ", ") -> str:
    """Return a fact as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return between.join(value) if isinstance(value, list) else str(value or "")


def markdown(rows: list[Listed]) -> str:
    """Return a Markdown table of all facts about plugins of one kind, whether they work here or not."""
    from svmkit.cli.extending.solver_table import FACTS

    names = FACTS if rows[0].kind == "solver" else ("what",)
    out = [("id", *names, "options"), ("---",) * (len(names) + 2)]
    for row in rows:
        known = _facts(row) or {names[0]: row.doc or _trouble(row)}
        options = ", ".join(f"`{key}={value}`" for key, value in row.options.items())
        out.append((f"`{row.name}`", *(_cell(known.get(name)) for name in names), options))
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |" for cells in out)
