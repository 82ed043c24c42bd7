"""The results of a comparison as tables: one for each set, with the best in bold, then the tests over the sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from svmkit.compare.metrics import BY_NAME
from svmkit.compare.results import Results, Row
from svmkit.runtime import terminal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from svmkit.compare.report.stats import Tests

WIDE = 160  # characters in a line if there is no terminal
GAP = 2  # characters between columns
PRIORITY = (
    *("fit_s", "gap", "suboptimality", "test_metric", "test_accuracy", "test_r2", "test_rmse", "test_mae"),
    "test_coverage",
    *("train_outliers", "test_outliers", "test_log_loss", "test_brier_score", "n_support", "n_iter", "kernel_values"),
    "objective",
)


def print_tables(results: Results) -> None:
    """Print all tables on stdout."""
    console = make_console()
    for name in results.sets:
        _one_set(console, results, name)
    _tests(console, results)


def make_console() -> Console:
    """Return stdout for tables, as wide as a terminal or `WIDE`."""
    console = terminal.console(highlight=False)
    if not console.is_terminal:
        console.width = WIDE
    return console


def _one_set(console: Console, results: Results, name: str) -> None:
    from rich.table import Table
    from rich.text import Text

    rows = [row for row in results.rows if row.set == name]
    metrics = [m for m in results.spec.metrics if any(row.mean(m) is not None for row in rows)]
    tested = results.tested_on(name)
    titles = results.titles | ({"test_accuracy": f"accuracy, {tested}", "test_r2": f"R2, {tested}"} if tested else {})
    fitting = _fitting(console.width, rows, metrics, titles)
    table = Table(title=Text(name), title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("solver", no_wrap=True)
    table.add_column("status", no_wrap=True)
    for metric in fitting:
        table.add_column(titles[metric], justify="right", no_wrap=True)
    best = {metric: results.best(name, metric) for metric in fitting}
    for row in rows:
        cells = [Text(_format(row, metric), "bold" if row in best[metric] else "") for metric in fitting]
        table.add_row(Text(row.treatment), Text(row.status), *cells)
    console.print(table)
    if len(fitting) < len(metrics):
        lacking = ", ".join(titles[metric] for metric in metrics if metric not in fitting)
        console.print(f"  in a wider terminal, --json and --report: {lacking}", markup=False, style="dim")
    objectives = list(dict.fromkeys(row.formulation for row in rows if row.formulation))
    for words in objectives if len(objectives) > 1 else ():
        who = ", ".join(dict.fromkeys(row.treatment for row in rows if row.formulation == words))
        console.print(f"  {words}: {who}", markup=False)
    without_model = {row.treatment for row in rows if not row.runs}
    for who, text in results.remarks(name):
        failed = who in without_model or (not who and len(without_model) == len(rows))
        console.print(f"  {who}: {text}" if who else f"  {text}", markup=False, style="red" if failed else "")
    console.print()


def _fitting(width: int, rows: list[Row], metrics: Sequence[str], titles: dict[str, str]) -> list[str]:
    """Return the metrics for which there is room, in their order; the most important ones take precedence."""
    wide = {m: max(len(titles[m]), *(len(_format(row, m)) for row in rows)) + GAP for m in metrics}
    left = width - max(6, *(len(row.treatment) for row in rows)) - max(6, *(len(row.status) for row in rows)) - GAP
    kept: list[str] = []
    for metric in sorted(metrics, key=PRIORITY.index):
        left -= wide[metric]
        if left >= 0 or not kept:
            kept.append(metric)
    return [metric for metric in metrics if metric in kept]


def _format(row: Row, metric: str) -> str:
    mean, spread = row.mean(metric), row.spread(metric)
    if mean is None:
        return ""
    how, text = BY_NAME[metric].spread, format_mean(metric, mean)
    return text if spread is None or not how else f"{text} ±{spread:{how}}"


def format_mean(metric: str, mean: float) -> str:
    """Return the mean of a metric as text."""
    return f"{mean:.3g}" if metric == "kernel_values" else f"{mean:{BY_NAME[metric].mean}}" + " s" * (metric == "fit_s")


def _tests(console: Console, results: Results) -> None:
    """Print average ranks and tests over the sets by metric; if no test is possible, the reason once."""
    from svmkit.compare.report.stats import over_sets

    if len(results.treatments) < 2:
        return
    every = over_sets(results)
    tested = [test for test in every if test.friedman is not None]
    if tested:
        console.print(_ranks(tested, results.treatments))
        verdicts: dict[tuple[str, ...], list[str]] = {}
        for test in tested:
            verdicts.setdefault((_verdict(test), *test.notes), []).append(test.title)
        for (verdict, *notes), titles in verdicts.items():
            console.print(f"{', '.join(titles)}: Wilcoxon with Holm's correction, by rank: {verdict}", markup=False)
            for note in notes:
                console.print(f"  {note}", markup=False)
    elif every:
        reason = every[0].notes[-1]
        console.print(f"no test of significance: {reason[0].lower()}{reason[1:]}", markup=False)
    console.print()


def _ranks(tested: list[Tests], treatments: list[str]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(title="average ranks", title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    for test in tested:
        table.add_column(test.title, justify="right", no_wrap=True)
    ranks = [dict(zip(test.treatments, test.friedman.ranks, strict=True)) for test in tested if test.friedman]
    for name in treatments:
        shown = [
            Text(f"{of[name]:.2f}", "bold" if of[name] == min(of.values()) else "") if name in of else ""
            for of in ranks
        ]
        table.add_row(Text(name), *shown)
    table.add_row("critical difference", *(f"{test.cd:.2f}" for test in tested), style="dim")
    table.add_row("Friedman's p", *(f"{test.friedman.p:.2g}" for test in tested if test.friedman), style="dim")
    table.add_row("sets", *(str(len(test.sets)) for test in tested), style="dim")
    return table


def _verdict(test: Tests) -> str:
    """Return in words which solvers differ by a test."""
    from svmkit.compare.report.stats import ALPHA
    from svmkit.compare.report.words import UNPROVEN

    assert test.wilcoxon is not None and test.friedman is not None
    better = sorted(range(len(test.treatments)), key=lambda t: test.friedman.ranks[t])  # type: ignore[union-attr]
    differing = [
        f"{test.treatments[i]} < {test.treatments[j]} (p = {test.wilcoxon[i, j]:.2g})"
        for at, i in enumerate(better)
        for j in better[at + 1 :]
        if test.wilcoxon[i, j] < ALPHA
    ]
    said = "; ".join(differing) or "no two solvers differ"
    if not differing and test.friedman.p < ALPHA:
        said += f", although Friedman's p is {test.friedman.p:.2g}: {UNPROVEN}"
    return said
