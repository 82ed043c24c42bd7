"""A comparison as one offline HTML file: sortable tables, charts with one legend, tests, environment."""

from __future__ import annotations

import base64
import secrets
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import svmkit
from svmkit.compare.metrics import TITLES
from svmkit.compare.report import environment, pictures, stats, words
from svmkit.compare.report.pictures import curves, floor, style
from svmkit.compare.report.profiles import profiles
from svmkit.compare.results import Results
from svmkit.errors import SvmkitError
from svmkit.runtime import files
from svmkit.runtime.packages import require_installed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FOLDER = Path(__file__).parent


def write(results: Results, path: str | Path, *, command: str = "", threads: int | None = None) -> None:
    """Write the report of a comparison to a file, whose folder is created if missing.

    The page contains plotly's JavaScript (5 MB), fetches nothing, and forbids fetching by its own policy. Names of sets
    and solvers may contain any characters. Raises SvmkitError: the file cannot be written.

    Parameters
    ----------
    results, path, command, threads : Results, str or Path, str, int or None
        The comparison; the file; the command line, shown without folders and addresses; the threads of the runs.
    """
    text = render(results, command=command, threads=threads)
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write(path, text.encode())
    except OSError as error:
        raise SvmkitError(f"cannot write the report {path}: {error.strerror}") from None


def require_drawable() -> None:
    """Raise Unavailable unless the software for the page, and for the pictures logged with it, is installed."""
    require_installed("reports", "jinja2", "plotly", "matplotlib", "scikit_posthocs")


def render(results: Results, *, command: str = "", threads: int | None = None) -> str:
    """Return the page as text; the arguments are those of `write`."""
    require_drawable()
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from plotly.offline import get_plotlyjs

    jinja = Environment(loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    jinja.policies["json.dumps_kwargs"] = {"allow_nan": False}
    found = profiles(results)
    names, measures = words.shown_names(results.sets), {curve.measure for curve in curves(results)} or {"accuracy"}
    return jinja.get_template("template.html").render(
        name=results.spec.name,
        about=results.spec.about,
        summary=words.summary(results),
        disagreements=results.disagreements(),
        sets=[(names[name], words.describe_set(results, name)) for name in results.sets],
        tests=[_show(tests, results.treatments) for tests in stats.over_sets(results)],
        environment=environment.describe(command, threads) | _ran_on(results),
        measure="Accuracy" if measures == {"accuracy"} else " or ".join(sorted(measures)),
        chart=chart_data(results),
        reliability=_inline(pictures.reliability(results)),
        profiles=[(TITLES[one.measure], words.shares(one), len(one.problems)) for one in found],
        profile_picture=_inline(pictures.profile_panels(found)),
        goals=" or ".join(f"{goal:g}" for goal in sorted({goal for one in found for goal in one.goals})),
        nonce=secrets.token_urlsafe(16),
        css=(_FOLDER / "report.css").read_text(encoding="utf-8"),
        js=(_FOLDER / "report.js").read_text(encoding="utf-8"),
        plotly=get_plotlyjs(),
    )


def chart_data(results: Results) -> dict[str, Any]:
    """The data for report.js: {sets: [{name, floor, measure, runs}], solvers: [{name, colour, dash, symbol}]}.

    `floor` is the place of gaps <= 0 on a logarithmic axis, None if there are no such gaps; `measure` is accuracy or
    R2.
    """
    lines, names = curves(results), words.shown_names(results.sets)
    at = {name: k for k, name in enumerate(results.treatments)}
    sets = []
    for name in results.sets:
        of = [curve for curve in lines if curve.set == name]
        gaps = [gap for curve in of for gap in (*curve.columns.get("gap", []), curve.end["gap"])]
        runs = [
            {"solver": at[curve.treatment], "run": curve.run, "status": curve.status.replace("_", " ")}
            | {"end": curve.end, "columns": curve.columns}
            for curve in of
        ]
        measure = next((curve.measure for curve in of), "accuracy")
        sets.append({"name": names[name], "floor": floor(gaps), "measure": measure, "runs": runs})
    solvers = [{"name": name} | style(k)._asdict() for name, k in at.items()]
    return {"sets": sets, "solvers": solvers}


def _ran_on(results: Results) -> dict[str, str]:
    """Return the workers of a cluster on which cells ran, and other versions of svmkit, as facts of the environment."""
    facts = {}
    threads = {record["worker"]: record["worker_threads"] for record in results.records if "worker" in record}
    if threads:
        counts = " or ".join(sorted({f"{n} thread{'s' * (n > 1)}" for n in threads.values()}))
        workers = "a worker" if len(threads) == 1 else f"{len(threads)} workers"
        facts["threads"] = f"{counts} a cell, on {workers} of a cluster; the processor is that of this page"
    versions = {str(record["svmkit"]) for record in results.records if "svmkit" in record}
    if versions - {svmkit.__version__}:
        facts["svmkit of the runs"] = ", ".join(sorted(versions))
    return facts


def _inline(figure: Figure | None) -> str:
    """Return a picture as text for the page, an SVG with outlined text; "" without one."""
    file = BytesIO()
    if figure is not None:
        figure.savefig(file, format="svg", metadata={"Date": None})
    return base64.b64encode(file.getvalue()).decode()


def _show(tests: stats.Tests, treatments: list[str]) -> dict[str, Any]:
    """Return the tests of a metric in the form of the template."""
    return {
        "title": tests.title,
        "verdict": words.verdict(tests),
        "table": words.ranking(tests) if tests.friedman is not None else None,
        "notes": tests.notes,
        "picture": _inline(pictures.difference_diagram(tests, treatments)),
        "caption": pictures.caption(tests),
    }
