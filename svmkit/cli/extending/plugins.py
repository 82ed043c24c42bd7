"""svmkit plugins: the installed plugins by kind."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from svmkit.cli.option_table import Options, option, takes

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from svmkit.losses.base import Loss
    from svmkit.plugins import Listed

FACTS = ("method", "problem", "regression", "loss", "kernels", "sparse", "streaming", "certificate", "paper")
OF_LOSSES = ("task", "linear", "kernels", "core", "penalties", "streams")
_FORMATS = ("text", "markdown")
_COLUMNS = {"problem": "problem", "loss": "loss", "kernels": "kernels", "certificate": "D", "streaming": "streams"}
_BRACKETS = re.compile(r"\s*\(((?:[^()]|\([^()]*\))*)\)")
_SOURCE = re.compile(r"\b(?:19|20)\d\d\b|\bpaper\b")


@takes(
    "plugins",
    option(
        "kind",
        str,
        None,
        "Kind of plugin: solver, kernel, loss, sampler, engine, tracker, cluster or command; default all.",
    ),
    option("package", str, None, "Only the plugins of this package, such as svmkit."),
    option("format", str, "text", "text, or markdown, a table of all facts."),
)
def plugins(options: Options) -> None:
    """List solvers, kernels, losses, samplers, engines and more; what does not work here is listed with the reason.

    With --kind solver: also the source of the certificate, papers and options. With --format markdown, of losses: the
    solvers with a dual of their own, linear and with kernels, those whose certificate is the core's, those with
    penalties and those of streams.
    """
    import sys

    from svmkit.cli.common import emit
    from svmkit.errors import InputError
    from svmkit.plugins import KINDS, describe
    from svmkit.runtime.terminal import console, say

    kind, package, format = options.kind, options.package, options.format
    if kind is not None and kind not in KINDS:
        raise InputError(f"--kind {kind!r} is not known; there are: {', '.join(KINDS)}")
    if format not in _FORMATS:
        raise InputError(f"--format {format!r} is not known; there are: {', '.join(_FORMATS)}")
    every = [row for k in KINDS if kind in (None, k) for row in describe(k)]
    listed = [row for row in every if package in (None, row.package)]
    if not listed and package is not None:
        raise InputError(
            f"package {package!r} has no such plugins; these have: {', '.join(sorted({r.package for r in every}))}"
        )
    if options.json:
        emit([as_dict(row) for row in listed])
    elif format == "markdown":
        say(*"\n\n".join(markdown(rows) for rows in _by_kind(listed)).split("\n"))
    elif sys.stdout.isatty():
        for rows in _by_kind(listed):
            console().print(table(rows, detailed=kind == "solver"), "")
    else:
        say(*lines(listed))


def as_dict(row: Listed) -> dict[str, Any]:
    """Return all facts about a plugin, by name."""
    keys = ("kind", "name", "package", "doc", "options", "error", "status")
    nothing = dict.fromkeys({"solver": FACTS, "loss": OF_LOSSES}.get(row.kind, ()))
    return {key: getattr(row, key) for key in keys} | nothing | facts(row)


def facts(row: Listed) -> dict[str, Any]:
    """Return the `FACTS` of a solver that are known without running it, or `OF_LOSSES`; empty for other plugins.

    Names of problems begin with that of the linear kernel, names of losses with the default; the paper is the source,
    or else the citation in the summary of the docstring, which is then cut from the method.
    """
    from svmkit.kernels.functions import RBF, Linear
    from svmkit.losses.base import Loss
    from svmkit.losses.by_name import LIBLINEAR_NAMES
    from svmkit.solver.base import Solver
    from svmkit.solver.capabilities import LearnsFromStreams
    from svmkit.solver.requirements import Requires
    from svmkit.tasks import TASKS

    solver = row.plugin
    if isinstance(solver, type) and issubclass(solver, Loss):
        return _facts_of_loss(solver)
    if not (isinstance(solver, type) and issubclass(solver, Solver)):
        return {}
    taken = [kernel for kernel in (Linear(), RBF(1.0)) if all(need.holds(kernel) for need in solver.requires)]
    problems = [solver.problem_for(kernel).name for kernel in taken]
    regressions = [problem.name for kernel in taken if (problem := solver.regression_for(kernel)) is not None]
    kernels = {Requires.LINEAR_KERNEL: "linear", Requires.NORMALISED_KERNEL: "normalised"}
    cited = [inside for inside in _BRACKETS.findall(row.doc) if _SOURCE.search(inside)]
    names = [name for task in TASKS.values() if task.is_supervised for name in solver.loss_names(task.name)]
    return {
        "method": _BRACKETS.sub(lambda match: "" if match[1] in cited else match[0], row.doc).rstrip("."),
        "problem": list(dict.fromkeys(problems)),
        "regression": list(dict.fromkeys(regressions)),
        "loss": list(dict.fromkeys(LIBLINEAR_NAMES.get(name, name) for name in names)),
        "kernels": next((kernels[need] for need in solver.requires), "any"),
        "sparse": True,  # rows are accessed through Gram and Design, which hide the storage from solvers
        "streaming": issubclass(solver, LearnsFromStreams),
        "certificate": "own dual" if solver.certified else "from core",
        "paper": solver.paper or "; ".join(cited),
    }


def _facts_of_loss(loss: type[Loss]) -> dict[str, Any]:
    """Return the task of a loss and the names of its solvers, by kernel and by source of the certificate."""
    from svmkit.kernels.functions import RBF, Linear
    from svmkit.plugins import working
    from svmkit.solver.capabilities import LearnsFromStreams

    found: dict[str, Any] = {"task": loss.task} | {name: [] for name in OF_LOSSES[1:]}
    for row in working("solver"):
        solver: Any = row.plugin
        fits = [
            kernel
            for kernel in (Linear(), RBF(1.0))
            if all(need.holds(kernel) for need in solver.requires)
            and (loss.task != "regress" or solver.regression_for(kernel) is not None)
        ]
        if not solver.takes_loss(loss) or not fits:
            continue
        for kernel in fits if solver.certified else ():
            found["linear" if kernel.name == "linear" else "kernels"].append(row.name)
        whether = {
            "core": not solver.certified,
            "penalties": _has_penalty(row.name, solver, loss),
            "streams": issubclass(solver, LearnsFromStreams),
        }
        for name in (name for name, holds in whether.items() if holds):
            found[name].append(row.name)
    return found


def _has_penalty(name: str, solver: Any, loss: type[Loss]) -> bool:
    """Return whether a solver has a penalty of absolute values together with a loss."""
    from contextlib import suppress

    from svmkit.errors import InputError
    from svmkit.plugins import build, options

    if "penalty" in options(solver):
        with suppress(InputError):
            build("solver", name, {"penalty": "l1", "loss": solver.loss_option(loss.name)})
            return True
    return False


def _by_kind(listed: list[Listed]) -> list[list[Listed]]:
    return [[row for row in listed if row.kind == kind] for kind in dict.fromkeys(row.kind for row in listed)]


def lines(listed: list[Listed]) -> list[str]:
    """Return one line for each plugin, for pipes."""
    width = max((len(row.name) for row in listed), default=0)
    out = []
    for row in listed:
        options = f" [{_options(row)}]" if row.options else ""
        foreign = "" if row.package == "svmkit" else f" ({row.package})"
        out.append(f"{row.kind:<7}  {row.name:<{width}}  {_trouble(row) or row.doc + options}{foreign}")
    return out


def _trouble(row: Listed) -> str:
    return {"broken": f"BROKEN: {row.error}", "unavailable": f"unavailable: {row.error}"}.get(row.status, "")


def _options(row: Listed) -> str:
    return ", ".join(f"{key}={value}" for key, value in row.options.items())


def table(rows: list[Listed], *, detailed: bool) -> Table:
    """Return a table for a terminal of 100 columns; for solvers with their problems or, if `detailed`, all facts."""
    from rich.table import Table

    of_solvers = rows[0].kind == "solver"
    columns = dict(list(_COLUMNS.items())[: None if detailed else 3]) if of_solvers else {}
    kind = rows[0].kind
    plural = f"{kind}es" if kind.endswith("s") else f"{kind}s"
    shown = Table("id", box=None, padding=(0, 2, 0, 0), title=plural, title_justify="left")
    shown.columns[0].no_wrap = True
    shown.add_column("method" if of_solvers else "what", ratio=1)
    for header in columns.values():
        shown.add_column(header)
    for row in rows:
        known = facts(row)
        cells = (_cell(known.get(name), "\n") for name in columns)
        shown.add_row(row.name, _method(row, known, detailed or not of_solvers), *cells)
    return shown


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
    """Return a Markdown table of all facts about plugins of one kind, including those that do not work here."""
    names = {"solver": FACTS, "loss": ("what", *OF_LOSSES)}.get(rows[0].kind, ("what",))
    out = [("id", *names, "options"), ("---",) * (len(names) + 2)]
    for row in rows:
        known = {names[0]: row.doc or _trouble(row)} | facts(row)
        options = ", ".join(f"`{key}={value}`" for key, value in row.options.items())
        out.append((f"`{row.name}`", *(_cell(known.get(name)) for name in names), options))
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |" for cells in out)
