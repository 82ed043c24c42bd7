"""Tables in markdown: published | ours | difference.

    cells     a row for each data set, solver and stop; compare: {metric: best | mean} sets ours beside what was
              published, show: ["metric best | mean | range", ...] is ours alone, within: {metric: {stop: 0.3 | 10%}}
              marks pass or FAIL
    ratios    how many times less of a metric a solver needs than `over` does, and a summary of it for groups of sets
    growth    by what factor a metric grows from each stop to the next
    friedman  mean ranks and the test that all methods are alike
    wilcoxon  signed-rank tests of pairs of methods

A number of a run that its time limit ended is marked, never left out.
"""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np

from comparison.results import TITLE, Results
from svmkit.compare.metrics import HIGHER
from svmkit.compare.report import stats

DIGITS = {"test_accuracy": ".2f", "n_support": ",.0f", "n_iter": ",.0f", "solve_s": ",.2f", "fit_s": ",.2f"}


def render(results: Results) -> str:
    """The whole report but for the picture."""
    paper = results.paper
    parts = [f"# {paper.comparison.name}", paper.comparison.about]
    for table in paper.tables:
        lines = {"cells": _cells, "ratios": _ratios, "growth": _growth, "friedman": _friedman, "wilcoxon": _wilcoxon}
        parts += [f"## {table['title']}", *([table["note"]] if "note" in table else [])]
        parts += ["\n".join(lines[table["kind"]](table, results))]
    return "\n\n".join(part for part in parts if part) + "\n"


def _grid(header: list[str], rows: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in [header, ["---"] * len(header), *rows]]


def _text(metric: str, value: float | None) -> str:
    return "" if value is None else format(value, DIGITS.get(metric, ".2e"))


def _reduced(values: np.ndarray, metric: str, how: str) -> str:
    if not values.size:
        return ""
    if how == "range":
        return f"{_text(metric, values.min())} to {_text(metric, values.max())}"
    return _text(metric, _number(values, metric, how))


def _number(values: np.ndarray, metric: str, how: str) -> float | None:
    if not values.size:
        return None
    if how == "mean":
        return float(values.mean())
    return float(values.max() if metric in HIGHER else values.min())


def _difference(metric: str, published: float | None, ours: float | None) -> str:
    """Ours against the paper's: points of accuracy, per cent of all else."""
    if published is None or ours is None:
        return ""
    return f"{ours - published:+.2f}" if metric in HIGHER else f"{100 * (ours / published - 1):+.1f} %"


def _outside(limit: float | str, published: float, ours: float) -> bool:
    share = str(limit).removesuffix("%")
    allowed = float(share) * (abs(published) / 100 if share != str(limit) else 1)
    return abs(ours - published) > allowed + 1e-9


def _rows(table: dict, results: Results):
    """(data, solver, stop) of the table that the spec has a cell or a published number for."""
    spec = results.paper.comparison
    for at in product(table["data"], table["solvers"], table["stops"]):
        data, solver, stop = at
        wanted = solver in spec.data[data].get("solvers", spec.solvers)
        if wanted and stop in spec.solvers[solver].get("stops", spec.stop):
            yield at


def _cells(table: dict, results: Results) -> list[str]:
    compare, within = table.get("compare", {}), table.get("within", {})
    show = [tuple(shown.split()) for shown in table.get("show", [])]
    header = ["data", "solver", "stop"]
    for metric, how in compare.items():
        header += [f"{TITLE[metric]}, published", f"ours, {how}", "difference"]
    header += [f"{TITLE[metric]}, {how}" for metric, how in show]
    header += ["mark"] * bool(within) + ["ended"]
    rows, marks = [], []
    for at in _rows(table, results):
        row, failed, judged = list(at), [], False
        for metric, how in compare.items():
            published, ours = results.published(*at, metric), _number(results.values(*at, metric), metric, how)
            row += [_text(metric, published), _text(metric, ours), _difference(metric, published, ours)]
            limit = within.get(metric, {}).get(at[2])
            if limit is not None and published is not None and ours is not None:
                judged = True
                failed += [TITLE[metric]] if _outside(limit, published, ours) else []
        row += [_reduced(results.values(*at, metric), metric, how) for metric, how in show]
        mark = ("FAIL: " + ", ".join(failed) if failed else "pass") if judged else ""
        rows.append([*row, *([mark] if within else []), results.status(*at)])
        marks += [mark] if judged else []
    tally = ["", f"{marks.count('pass')} of {len(marks)} marks pass."] if within else []
    return _grid(header, rows) + tally


def _ratio(results: Results, data: str, over: str, solver: str, stop: str, metric: str) -> tuple[float | None, str]:
    """How many times more `over` needs than `solver`, and what a time limit makes of it: at least, at most, unknown."""
    top, bottom = (results.mean(data, name, stop, metric) for name in (over, solver))
    if not top or not bottom:
        return None, ""
    cut = (results.cut(data, over, stop), results.cut(data, solver, stop))
    return top / bottom, {(True, False): "≥ ", (False, True): "≤ ", (True, True): "? "}.get(cut, "")


def _ratios(table: dict, results: Results) -> list[str]:
    metric, over, solvers = table["metric"], table["over"], table["solvers"]
    groups = table.get("groups", [{"name": "all", "data": table["data"], "summary": "mean"}])
    lines: list[str] = []
    marked = False
    for stop in table["stops"]:
        header, rows, ours, theirs = ["data"], [], {}, {}
        for solver in solvers:
            header += [f"{over}/{solver}, published", "ours"]
        for data in table["data"]:
            row = [data]
            for solver in solvers:
                published = [results.published(data, name, stop, metric) for name in (over, solver)]
                theirs[data, solver] = published[0] / published[1] if all(published) else None
                ours[data, solver] = _ratio(results, data, over, solver, stop, metric)
                value, mark = ours[data, solver]
                row += [_fold(theirs[data, solver]), mark + _fold(value)]
                marked |= bool(mark)
            rows.append(row)
        for group in groups:
            row = [f"{group['name']}, {group['summary']}"]
            for solver in solvers:
                here = [ours[data, solver] for data in group["data"] if ours[data, solver][0] is not None]
                printed = group.get("published", {}).get(solver)
                if printed is None and "groups" not in table:
                    printed = _summary("mean", [theirs[data, solver] for data in group["data"]])
                value = _summary(group["summary"], [value for value, _ in here])
                row += [printed if isinstance(printed, str) else _fold(printed)]
                row += [_fold(value) + "*" * any(mark for _, mark in here)]
            rows.append(row)
        lines += [*([""] if lines else []), f"{TITLE[metric]}, stop {stop}:", "", *_grid(header, rows)]
    note = "≥, ≤, ?: a time limit ended the dividend, the divisor, both; * a summary over such numbers."
    return [*lines, "", note] if marked else lines


def _fold(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _summary(how: str, values: list) -> float | None:
    found = [value for value in values if value is not None]
    return float({"mean": np.mean, "median": np.median, "max": np.max}[how](found)) if found else None


def _growth(table: dict, results: Results) -> list[str]:
    header, rows = ["data", "solver"], []
    for first, second in pairwise(table["stops"]):
        header += [f"{first} to {second}, published", "ours"]
    for data, solver in product(table["data"], table["solvers"]):
        row = [data, solver]
        for first, second in pairwise(table["stops"]):
            published = [results.published(data, solver, stop, table["metric"]) for stop in (first, second)]
            before, after = (results.mean(data, solver, stop, table["metric"]) for stop in (first, second))
            mark = "≥ " if results.cut(data, solver, second) else ""
            row += [_fold(published[1] / published[0] if all(published) else None)]
            row += [mark + _fold(after / before) if before and after else ""]
        rows.append(row)
    return _grid(header, rows)


def _matrix(table: dict, results: Results, metric: str, solvers: list[str]) -> tuple[list[str], np.ndarray]:
    """The sets on which every solver has a value, and the values, (sets, solvers), at the table's stop."""
    means = {data: [results.mean(data, s, table["stops"][0], metric) for s in solvers] for data in table["data"]}
    whole = [data for data, values in means.items() if None not in values]
    return whole, np.array([means[data] for data in whole], dtype=float).reshape(-1, len(solvers))


def _cut(table: dict, results: Results, solvers: list[str]) -> list[str]:
    """Which runs count with the time at which they were stopped."""
    at = product(table["data"], solvers, table["stops"][:1])
    found = [f"{data} {solver}" for data, solver, stop in at if results.cut(data, solver, stop)]
    return ["", f"Ended by the time limit, and counted as they stood: {', '.join(found)}."] if found else []


def _friedman(table: dict, results: Results) -> list[str]:
    solvers, rows = table["solvers"], []
    for metric in table["metrics"]:
        whole, values = _matrix(table, results, metric, solvers)
        if len(whole) < 2:
            rows.append([TITLE[metric], str(len(whole)), *[""] * (len(solvers) + 3)])
            continue
        test = stats.friedman(-values if metric in HIGHER else values)
        ranks = [f"{rank:.2f}" for rank in test.ranks]
        rows.append([TITLE[metric], str(len(whole)), *ranks, f"{test.chi2:.2f}", f"{test.F:.2f}", f"{test.p:.2g}"])
    header = ["metric", "sets", *[f"mean rank, {s}" for s in solvers], "chi2_F", "F_F", "p"]
    return _grid(header, rows) + _cut(table, results, solvers)


def _wilcoxon(table: dict, results: Results) -> list[str]:
    rows, solvers = [], []
    words = {"less": "<", "greater": ">", "two-sided": "differs from"}
    for pair in table["pairs"]:
        both = [pair["first"], pair["second"]]
        solvers += [s for s in both if s not in solvers]
        whole, values = _matrix(table, results, pair["metric"], both)
        p = f"{stats.wilcoxon(*values.T, pair['alternative']):.4g}" if len(whole) else ""
        claim = f"{both[0]} {words[pair['alternative']]} {both[1]}"
        rows.append([TITLE[pair["metric"]], claim, f"{float(pair['p']):.4g}", p, str(len(whole))])
    return _grid(["metric", "alternative", "p, published", "p, ours", "sets"], rows) + _cut(table, results, solvers)
