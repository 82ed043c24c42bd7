"""A comparison as text: sentences, and table cells with the numbers for sorting."""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple

from svmkit.compare.cells.store import FAILED, TIMEOUT
from svmkit.compare.metrics import BY_NAME, METRICS, TITLES, decimals
from svmkit.compare.report.environment import without_places
from svmkit.compare.report.profiles import TAUS, Profile
from svmkit.compare.report.stats import ALPHA, Tests
from svmkit.compare.results import Results, Row
from svmkit.solver.solution import Status

NONE = "n/a"
ONE_SPLIT = "is of one split: how much it depends on the rows is not known (--splits N or --cv K shows it)."
UNPROVEN = (
    "the order of ranks is more regular than chance explains, but these sets are too few, or too close, to say which "
    "solver is better than which"
)
_LONG = 32  # characters of a name if space is limited
_HEADS = TITLES | {
    "fit_s": "time (s)",
    "gap": "relative gap",
    "n_support": "support vectors",
    "test_accuracy": "accuracy (%)",
}
_WINS = {"fit_s": "Fastest", "test_accuracy": "Most accurate", "test_r2": "Highest R2"}
_WINS |= {"suboptimality": "Nearest to the optimum"}
_MAIN = {"test_accuracy": "Accuracy", "test_r2": "R2"}  # the main measure of predictions, for classes and for targets
_ENDED = {
    Status.CONVERGED: "converged",
    Status.TIME_LIMIT: "cut by the time limit",
    Status.MAX_ITER: "out of iterations",
    Status.MAX_SUPPORT: "full of support vectors",
    Status.NOT_CERTIFIED: "not certified",
    TIMEOUT: "stopped without a model",
    FAILED: "failed",
}


class Entry(NamedTuple):
    """One cell of a table; rows are sorted by `key`, where None is unknown and comes last."""

    text: str
    key: float | str | None
    best: bool = False


class Table(NamedTuple):
    """A table of the report, with sentences about its rows."""

    heads: list[str]
    rows: list[list[Entry]]
    notes: list[str]


def shown_names(names: list[str]) -> dict[str, str]:
    """Return the names to show: paths without their folders, unless two names would be equal."""
    short = {name: without_places(name) for name in names}
    return {name: short[name] if list(short.values()).count(short[name]) == 1 else name for name in names}


def short_names(names: list[str]) -> list[str]:
    """Return different names that are short enough for a picture or a table head."""
    short = [
        name if len(name) <= _LONG else f"{name[: _LONG - 8]}...{name[-5:]}" for name in map(without_places, names)
    ]
    return [f"{name} ({k + 1})" if short.count(name) > 1 else name for k, name in enumerate(short)]


def summary(results: Results) -> list[str]:
    """Return sentences on how the runs ended and which solver was best on each set."""
    missing = len(results.cells) - len(results.records)
    ended = [record["status"] for record in results.records]
    order = [*map(str, _ENDED), *sorted(ended, key=ended.index)]
    kinds = [f"{ended.count(kind)} {_ENDED.get(kind, kind)}" for kind in dict.fromkeys(order) if kind in ended]
    kinds += [f"{missing} not run"] if missing else []
    runs, sets, problems = len(results.cells), len(results.data_sets), len(results.sets)
    where = _count(sets, "set") + (f" ({problems} problems)" if problems > sets else "")
    said = [
        f"{_count(len(results.treatments), 'solver')} on {where}: "
        f"{_count(runs, 'run')}{', ' if kinds else ''}{', '.join(kinds)}."
    ]
    for metric, what in _WINS.items():
        won = [tuple(row.treatment for row in results.best(name, metric)) for name in results.sets]
        counts = Counter(best for best in won if best)
        times = {best: _count(n, "problem" if problems > sets else "set") for best, n in counts.most_common()}
        alone = ", ".join(f"{best[0]} on {n}" for best, n in times.items() if len(best) == 1)
        ties = [f"{', '.join(best[:-1])} and {best[-1]} tie on {n}" for best, n in times.items() if len(best) > 1]
        if times:
            said.append(f"{what}: {'; '.join(filter(None, [alone, *ties]))}.")
    return said


def describe_set(results: Results, name: str) -> Table:
    """Return the table of a set: solver, status, and each metric for which some row has a value."""
    rows = results.rows_of(name)
    heads = _HEADS | {"test_metric": results.titles["test_metric"]}
    metrics = [m for m in METRICS if m in results.spec.metrics and any(row.mean(m) is not None for row in rows)]
    best = {metric: [row.treatment for row in results.best(name, metric)] for metric in metrics}
    body = [
        [
            Entry(row.treatment, row.treatment),
            Entry(row.status.replace("_", " "), row.status),
            *(Entry(value(row, m), row.mean(m), row.treatment in best[m]) for m in metrics),
        ]
        for row in rows
    ]
    tested = results.tested_on(name)
    notes = [without_places(f"{who}: {text}" if who else text) for who, text in results.remarks(name)]
    if tested.startswith("one"):
        notes += [f"{title} {ONE_SPLIT}" for metric, title in _MAIN.items() if metric in metrics]
    objectives = results.objectives(name)
    if len(objectives) > 1:
        notes.append(
            "Objectives differ and are not to be compared with each other: "
            + "; ".join(f"{formulation} ({', '.join(who)})" for formulation, who in objectives.items())
        )
    heads |= {metric: _HEADS[metric] + (f", {tested}" if tested else "") for metric in _MAIN}
    return Table(["solver", "status", *(heads[metric] for metric in metrics)], body, notes)


def value(row: Row, metric: str) -> str:
    """Format the mean of a metric and, for several runs, its spread."""
    mean, spread = row.mean(metric), row.spread(metric)
    if mean is None:
        return NONE
    how = BY_NAME[metric]
    if metric == "test_accuracy":
        return f"{100 * mean:.2f}" + (f" ± {100 * spread:.2f}" if spread is not None else "")
    if metric == "fit_s":
        return number(mean) + (f" ± {spread:.{decimals(mean)}f}" if spread is not None else "")
    shows = spread is not None and how.spread and metric != "n_support"
    return f"{mean:{how.mean}}" + (f" ± {spread:{how.spread}}" if shows else "")


def number(seconds: float) -> str:
    """Format seconds with three significant digits, at most to a tenth of a millisecond."""
    return f"{seconds:,.{decimals(seconds)}f}"


def p_value(p: float) -> str:
    """Format a p-value as papers print it."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def verdict(tests: Tests) -> str:
    """Return Friedman's test in a sentence; "" without a test."""
    if tests.friedman is None or tests.cd is None:
        return ""
    test, (a, b) = tests.friedman, tests.freedom
    F = "infinite (all sets agree)" if math.isinf(test.F) else f"{test.F:.2f}"
    differs = f"no difference is shown at the {ALPHA:.0%} level."
    if test.p < ALPHA:
        pairs = "The pairs of solvers that differ are in bold below."
        if not tests.shows_pairs:
            pairs = f"But Wilcoxon's test with Holm's correction shows no pair of solvers that differs: {UNPROVEN}."
        differs = f"the mean ranks differ at the {ALPHA:.0%} level. {pairs}"
    return (
        f"Friedman's test over {_count(len(tests.sets), 'set')} and {_count(len(tests.treatments), 'solver')}: "
        f"chi-squared {test.chi2:.2f}, with Iman and Davenport's correction F({a}, {b}) = {F}, "
        f"p {p_value(test.p) if test.p < 0.001 else '= ' + p_value(test.p)}: {differs} "
        f"Nemenyi's critical difference of mean ranks is {tests.cd:.2f}."
    )


def ranking(tests: Tests) -> Table:
    """Return mean ranks, the best first, and Holm-corrected Wilcoxon p of each two solvers in the same order."""
    assert tests.friedman is not None and tests.wilcoxon is not None
    ranks = tests.friedman.ranks
    order = sorted(range(len(ranks)), key=lambda k: (ranks[k], k))
    body = []
    for place, k in enumerate(order):
        entries = [
            Entry(tests.treatments[k], tests.treatments[k]),
            Entry(f"{ranks[k]:.2f}", float(ranks[k]), place == 0),
        ]
        for other in order:
            p = float(tests.wilcoxon[k, other])
            entries.append(Entry("", None) if k == other else Entry(p_value(p), p, p < ALPHA))
        body.append(entries)
    return Table(["solver", "mean rank", *short_names([tests.treatments[k] for k in order])], body, [])


def shares(one: Profile) -> Table:
    """Return the shares of the problems that each solver solves within some multiples of the best cost, and at all."""
    columns = [*(one.share_within(tau) for tau in TAUS), one.solved]
    heads = ["best", *(f"within {tau:g} times the best" for tau in TAUS[1:]), "solved"]
    body = [
        [Entry(who, who), *(Entry(f"{of[k]:.0%}", float(of[k]), of[k] == of.max() > 0.0) for of in columns)]
        for k, who in enumerate(one.solvers)
    ]
    return Table(["solver", *heads], body, list(one.notes))


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'s' * (n != 1)}"
