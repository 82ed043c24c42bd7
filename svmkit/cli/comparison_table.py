"""The answer of a comparison as tables: a set at a time, the best in bold; then the tests over the sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svmkit.compare.results import TITLES, Results, Row

if TYPE_CHECKING:
    from rich.console import Console

WIDE = 160  # columns where there is no terminal to ask
_SHOWN = {"fit_s": "{:.3g} s", "gap": "{:.1e}", "suboptimality": "{:.1e}", "objective": "{:.7g}", "n_iter": "{:,.0f}",
          "kernel_values": "{:.3g}", "n_support": "{:,.0f}", "test_accuracy": "{:.2%}"}  # fmt: skip
_SPREAD = {"fit_s": "{:.2g}", "test_accuracy": "{:.2%}", "n_support": "{:,.0f}"}


def print_tables(results: Results) -> None:
    """All tables on stdout."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDE
    for name in results.sets:
        _one_set(console, results, name)
    _tests(console, results)


def _one_set(console: Console, results: Results, name: str) -> None:
    from rich.table import Table
    from rich.text import Text

    rows = [row for row in results.rows if row.set == name]
    metrics = [m for m in results.spec.metrics if any(row.mean(m) is not None for row in rows)]
    objectives = list(dict.fromkeys(row.formulation for row in rows if row.formulation))
    table = Table(title=Text(name), title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("solver", no_wrap=True)
    table.add_column("status")
    for metric in metrics:
        table.add_column(TITLES[metric], justify="right", no_wrap=True)
    if len(objectives) > 1:
        table.add_column("objective of", no_wrap=True)
    best = {metric: results.best(name, metric) for metric in metrics}
    for row in rows:
        cells = [Text(_shown(row, metric), "bold" if row in best[metric] else "") for metric in metrics]
        also = [Text(row.formulation)] if len(objectives) > 1 else []
        table.add_row(Text(row.treatment), Text(row.status), *cells, *also)
    console.print(table)
    for row in rows:
        for reason in row.reasons:
            console.print(f"  {row.treatment}: {reason}", markup=False, style="red" if not row.runs else "")
    console.print()


def _shown(row: Row, metric: str) -> str:
    mean, spread = row.mean(metric), row.spread(metric)
    if mean is None:
        return ""
    text = _SHOWN[metric].format(mean)
    return text if spread is None or metric not in _SPREAD else f"{text} ±{_SPREAD[metric].format(spread)}"


def _tests(console: Console, results: Results) -> None:
    from rich.table import Table
    from rich.text import Text

    from svmkit.report.stats import tests

    if len(results.treatments) < 2:
        return
    for test in tests(results):
        console.print(Text(test.title, "bold"))
        if test.ranks is not None:
            table = Table(box=None, pad_edge=False)
            for column in ("", *results.treatments):
                table.add_column(column, justify="right")
            table.add_row("average rank", *(f"{rank:.2f}" for rank in test.ranks))
            console.print(table)
        for said in test.lines:
            console.print(said, markup=False)
        console.print()
