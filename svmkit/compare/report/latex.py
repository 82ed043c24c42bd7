"""The results of a comparison as a LaTeX table, for papers: booktabs, the best in bold, names escaped."""

from __future__ import annotations

import math
import re
from pathlib import Path

from svmkit.compare.metrics import TESTED, TITLES, as_shown, decimals
from svmkit.compare.report import stats
from svmkit.compare.report.profiles import TAUS, Profile, profiles
from svmkit.compare.results import Results, Row
from svmkit.errors import SvmkitError
from svmkit.runtime import files

_HEADS = {
    "fit_s": r"time (s)",
    "gap": r"gap",
    "suboptimality": r"suboptimality",
    "n_support": r"vectors",
    "test_accuracy": r"accuracy (\%)",
    "test_r2": r"$R^2$",
    "train_outliers": r"outliers (\%)",
    "test_outliers": r"test outliers (\%)",
    "test_coverage": r"coverage (\%)",
}
_PERCENT = ("test_accuracy", "train_outliers", "test_outliers", "test_coverage")
_METRICS = ("fit_s", "gap", "suboptimality", "n_support", *TESTED, *_PERCENT[1:])  # in the order of the columns
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    **{char: f"\\{char}" for char in "&%$#_{}"},
}


def write(results: Results, path: str | Path) -> None:
    """Write `table(results)`, and `share_table` below it, to a file. Raises SvmkitError: the file cannot be written."""
    try:
        files.write(path, "\n".join(filter(None, [table(results), share_table(results)])).encode())
    except OSError as error:
        raise SvmkitError(f"cannot write {path}: {error.strerror}") from None


def table(results: Results) -> str:
    """Return a LaTeX table with a row for each set and solver, and the mean ranks below.

    Values are means over the runs, with the standard deviation if the terminal tables have one. The best value of a set
    is bold, together with values that look equal (`Results.best`), and so is the best mean rank.
    """
    metrics = [m for m in _METRICS if m in results.spec.metrics and any(r.mean(m) is not None for r in results.rows)]
    heads = [_HEADS.get(metric, escape(results.titles[metric])) for metric in metrics]
    body = [_block(results, name, metrics) for name in results.sets]
    body += filter(None, [_rank_block(results, metrics)])
    return _float(_caption(results), _label(results), ["set", "solver", *heads], body)


def share_table(results: Results) -> str:
    """Return a LaTeX table with the shares of the problems that each solver solves within 1, 2, 10 times the best.

    "" if a report shows no profiles (`svmkit.compare.report.profiles`). The largest share of a column is bold.
    """
    found = profiles(results)
    if not found:
        return ""
    heads = ["cost", "solver", *(f"$\\tau = {tau:g}$" for tau in TAUS), "solved"]
    goals = ", ".join(f"{goal:g}" for goal in sorted({goal for one in found for goal in one.goals}))
    caption = (
        f"{escape(results.spec.name)}: shares (\\%) of the problems that a solver brings to a certified gap of {goals} "
        f"within $\\tau$ times the cost of the best solver, and at all. {_count_with_noun(found)}"
    )
    return _float(caption, f"{_label(results)}-profile", heads, [_share_block(one) for one in found])


def _share_block(one: Profile) -> str:
    """Return the lines of a profile."""
    columns = [*(one.share_within(tau) for tau in TAUS), one.solved]
    cells = [[(f"${100.0 * of[k]:.0f}$", of[k] == of.max() > 0.0) for of in columns] for k in range(len(one.solvers))]
    return _lines(TITLES[one.measure], list(zip(one.solvers, cells, strict=True)))


def _count_with_noun(found: list[Profile]) -> str:
    """Return the numbers of the problems in words."""
    counts = {len(one.problems) for one in found}
    each = ", ".join(f"{len(one.problems)} by {TITLES[one.measure]}" for one in found)
    return f"There are {counts.pop()} problems." if len(counts) == 1 else f"The numbers of problems are {each}."


def _label(results: Results) -> str:
    return re.sub("[^a-z0-9]+", "-", results.spec.name.lower()).strip("-") or "comparison"


def _float(caption: str, label: str, heads: list[str], body: list[str]) -> str:
    """Return a LaTeX table with its caption; its first two columns are text."""
    return "\n".join(
        [
            "% needs \\usepackage{booktabs}",
            r"\begin{table}",
            r"  \centering",
            f"  \\caption{{{caption}}}",
            f"  \\label{{tab:{label}}}",
            f"  \\begin{{tabular}}{{ll{'r' * (len(heads) - 2)}}}",
            r"    \toprule",
            f"    {' & '.join(heads)} \\\\",
            r"    \midrule",
            "\n    \\midrule\n".join(body),
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def escape(text: str) -> str:
    """Return a text in which no character is special in LaTeX, on one line."""
    return "".join(_SPECIAL.get(char, char) for char in " ".join(str(text).split()))


def _block(results: Results, name: str, metrics: list[str]) -> str:
    """Return the lines of a set."""
    best = {metric: results.best(name, metric) for metric in metrics}
    rows = results.rows_of(name)
    return _lines(name, [(row.treatment, [(_cell(row, m), row in best[m]) for m in metrics]) for row in rows])


def _rank_block(results: Results, metrics: list[str]) -> str:
    """Return the lines of the mean ranks over the sets; "" without a test."""
    ranks = {
        t.metric: {name: f"{rank:.2f}" for name, rank in zip(t.treatments, t.friedman.ranks, strict=True)}
        for t in stats.over_sets(results)
        if t.friedman and t.metric in metrics
    }
    least = {metric: min(of.values(), key=float) for metric, of in ranks.items()}
    rows = []
    for who in results.treatments if ranks else ():
        known = {m: ranks[m][who] for m in metrics if m in ranks and who in ranks[m]}
        rows.append((who, [(f"${known[m]}$", known[m] == least[m]) if m in known else ("--", False) for m in metrics]))
    return _lines("mean rank", rows)


def _lines(name: str, rows: list[tuple[str, list[tuple[str, bool]]]]) -> str:
    """Return lines of the table, each with a treatment and its cells, the best of which are bold."""
    lines = []
    for at, (treatment, cells) in enumerate(rows):
        shown = [f"{{\\boldmath{cell}}}" if best else cell for cell, best in cells]
        lines.append(f"    {' & '.join(['' if at else escape(name), escape(treatment), *shown])} \\\\")
    return "\n".join(lines)


def _cell(row: Row, metric: str) -> str:
    """Return a mean and its deviation as a formula; a dash for an unknown value."""
    mean, spread = row.mean(metric), row.spread(metric)
    if mean is None:
        return "--"
    if metric in ("gap", "suboptimality"):  # two digits and a power of ten
        factor, _, power = f"{as_shown(metric, mean):.1e}".partition("e")
        return "$0$" if mean == 0.0 else f"${factor} \\cdot 10^{{{int(power)}}}$" if math.isfinite(mean) else "--"
    percent = 100.0 if metric in _PERCENT else 1.0
    digits = 2 if metric in _PERCENT else decimals(mean) if metric == "fit_s" else 4 if metric in TESTED else 0
    text = f"{percent * mean:.{digits}f}"
    wide = metric in ("fit_s", "n_support", *TESTED, *_PERCENT)
    return f"${text} \\pm {percent * spread:.{digits}f}$" if wide and spread is not None else f"${text}$"


def _caption(results: Results) -> str:
    runs = {row.cells for row in results.rows}
    counted = f"{min(runs)} runs" if len(runs) == 1 and min(runs) > 1 else "all runs" if max(runs) > 1 else "one run"
    rules = " / ".join(results.spec.stop.values())
    said = f"{escape(results.spec.name)}: means over {counted}" if counted != "one run" else escape(results.spec.name)
    spread = ", with standard deviations" if max(runs) > 1 else ""
    tests = [tested for tested in dict.fromkeys(map(results.tested_on, results.sets)) if not tested.startswith("one")]
    tested = f"; tested on {escape(' / '.join(tests))}" if any(tests) else ""
    return (
        f"{said}{spread}{tested}; stop rule {escape(rules)}. The best value of a set is bold, with those that "
        "equal it as shown; times count where all runs reached the stop rule, suboptimality among solvers of one "
        "objective."
    )
