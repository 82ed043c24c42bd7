"""The answer of a comparison as tables: a set at a time, the best in bold; then the tests over the sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svmkit.compare.results import TITLES, Results, Row

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from svmkit.report.stats import Tests

ALPHA = 0.05
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
    """Average ranks and tests over the sets, metric by metric; what keeps all of them from being made, once."""
    from svmkit.report.stats import over_sets

    if len(results.treatments) < 2:
        return
    found = over_sets(results)
    tested = [test for test in found if test.friedman is not None]
    if tested:
        console.print(_ranks(tested, results.treatments))
        for test in tested:
            _one_test(console, test)
    elif found:
        console.print(f"no test of significance: {found[0].notes[-1]}", markup=False)
    console.print()


def _ranks(tested: list[Tests], treatments: list[str]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(title="average ranks", title_justify="left", title_style="bold", box=None, pad_edge=False)
    for column in ("", "sets", *treatments, "Friedman's p", "critical difference"):
        table.add_column(column, justify="right" if column else "left", no_wrap=True)
    for test in tested:
        assert test.friedman is not None
        rank = dict(zip(test.treatments, test.friedman.ranks, strict=True))
        best = min(rank.values())
        shown = [Text(f"{rank[t]:.2f}", "bold" if rank[t] == best else "") if t in rank else "" for t in treatments]
        table.add_row(test.title, str(len(test.sets)), *shown, f"{test.friedman.p:.2g}", f"{test.cd:.2f}")
    return table


def _one_test(console: Console, test: Tests) -> None:
    assert test.wilcoxon is not None and test.friedman is not None
    better = sorted(range(len(test.treatments)), key=lambda t: test.friedman.ranks[t])  # type: ignore[union-attr]
    pairs = [
        f"{test.treatments[i]} < {test.treatments[j]} (p = {test.wilcoxon[i, j]:.2g})"
        for at, i in enumerate(better)
        for j in better[at + 1 :]
        if test.wilcoxon[i, j] <= ALPHA
    ]
    said = "; ".join(pairs) or "no pair differs"
    console.print(f"{test.title}: Wilcoxon with Holm's correction, by rank: {said}", markup=False)
    for note in test.notes:
        console.print(f"  {note}", markup=False)
