"""From measurements to docs: the table of targets, a table for every cell, what was left out."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

import peers_everyday_report
import peers_pictures
import peers_regression_report
import peers_targets
from peers_cells import Cell
from peers_remote import Store
from peers_tables import insert, markdown, number, summary

MARKS = "<!-- measured by peers.py: begin -->", "<!-- measured by peers.py: end -->"
HEADS = {
    "hinge": "side | s | CPU s | s / intelex | D, to the best | gap | SVs | test % | D within 1e-4, s | memory, MB",
    "squared": "side | s | CPU s | s / floor | values / needed | D | gap | SVs | test % | memory, MB",
    "large": "side | s | CPU s | s / floor | values / needed | D | gap | SVs | test % | memory, MB",
    "accuracy": "side | tolerance that does | s | test % there | test % at the tightest | s / intelex",
    "predict": "side | s | CPU s | s / intelex | s / LIBSVM | SVs | test %",
    "linear": "side | s | CPU s | s / LIBLINEAR | P, relative to the best | gap | test % | memory, MB",
}
TITLES = {
    "hinge": "Hinge, RBF kernel",
    "squared": "Squared hinge, RBF kernel, to a certified gap of 1e-3",
    "large": "A large set, to a certified gap of 1e-3",
    "accuracy": "Time to within 0.1 point of the best test accuracy",
    "predict": "Prediction",
    "linear": "Linear",
}


def write(out: Path, cells: list[Cell], store: Store, growth: Path) -> None:
    """OUT.md between its marks, and the pictures."""
    pictures = peers_pictures.draw(out, cells, store)
    everyday = out.with_name(f"{out.name}_everyday.png")
    if peers_everyday_report.draw(store, everyday):
        pictures.insert(0, ("Everyday sets: times in units of those of the peers", everyday))
    regression = out.with_name(f"{out.name}_regression.png")
    if peers_regression_report.draw(store, regression):
        pictures.insert(1, ("Regression: times in units of those of the faster peer", regression))
    before = [*peers_everyday_report.targets(store), *peers_regression_report.targets(store)]
    text = "\n".join(
        [
            *_about(store),
            "",
            *peers_everyday_report.section(store),
            *peers_regression_report.section(store),
            "### Targets",
            "",
            *peers_targets.table(cells, store, growth, before),
            "",
            *[f"![{words}]({path.name})\n" for words, path in pictures],
            *_tables(cells, store),
            *_starts(store),
            "",
            *_compiling(store),
        ]
    )
    insert(out.with_suffix(".md"), text, MARKS)


def _about(store: Store) -> list[str]:
    s = store.settings
    lines = []
    if s["rows"]:
        lines += [f"**A quick trial on {s['rows']:,} rows of each set: these figures say nothing.**", ""]
    versions = ", ".join(f"{r['side']} ({r['package']} {r['version']})" for r in store.find(what="side"))
    processors = " and ".join(sorted({r["processor"] for r in store.records}))
    where = f"{processors}, {s['threads']} cores for every side"
    waits = [r["pressure"] for r in store.find(what="run") if "pressure" in r and r["seconds"] > 0.1]
    lines.append(f"{where}. Sides: {versions}.")
    if waits:
        told = f"median {median(waits):.2f}, worst {max(waits):.2f}"
        lines.append(f"Share of a run of more than 0.1 s in which some process waited for a core: {told}.")
    return lines


def _tables(cells: list[Cell], store: Store) -> list[str]:
    lines = []
    for kind, title in TITLES.items():
        measured = [(cell, summary(store, cell)) for cell in cells if cell.kind == kind]
        if not any(runs for _, runs in measured):
            continue
        lines += [f"### {title}", ""]
        for cell, runs in measured:
            if runs:
                gamma = f", gamma {cell.gamma:.4g}" if cell.gamma else ""
                m = next(iter(runs.values())).get("m", 0)
                told = f"`{cell.name}`: {cell.data}, {m:,} rows, {cell.loss}, C {cell.C:g}{gamma}"
                lines += [f"{told}. {_dates(runs)}", ""]
                lines += [*markdown(HEADS[kind], ROWS[kind](cell, runs, store)), ""]
    return lines


def _dates(runs: dict[str, dict[str, Any]]) -> str:
    """When the last runs were made, and which sides were measured on another day."""
    by_day: dict[tuple[str, str], list[str]] = {}
    for name, run in runs.items():
        by_day.setdefault((run["date"], run["processor"]), []).append(name)
    newest = max(by_day)
    older = [
        f"{', '.join(names)} on {day} ({cpu})" for (day, cpu), names in sorted(by_day.items()) if (day, cpu) != newest
    ]
    kept = f"; kept from before: {'; '.join(older)}" if older else ""
    return f"Measured on {newest[0]} ({newest[1]}){kept}."


def _percent(run: dict[str, Any]) -> str:
    return number(100.0 * run["accuracy"], ".2f") if run.get("accuracy") is not None else ""


def _failed(name: str, run: dict[str, Any], width: int) -> list[str]:
    return [name, run["error"].replace("|", "/")[:80], *[""] * (width - 2)]


def _rows(cell: Cell, runs: dict[str, dict[str, Any]], row) -> list[list[str]]:
    width = HEADS[cell.kind].count("|") + 1
    return [_failed(name, run, width) if "error" in run else row(name, run) for name, run in runs.items()]


def _hinge(cell, runs, store):
    good = {name: run for name, run in runs.items() if "error" not in run}
    best = max((run["D"] for run in good.values()), default=0.0)
    base = peers_targets.fastest(good, "intelex")

    def row(name, run):
        arrives = peers_targets.arrival(run, best)
        return [
            name,
            number(run["seconds"]),
            number(run["cpu"]),
            number(peers_targets.ratio(run, base), ".2f"),
            number((run["D"] - best) / best, "+.1e"),
            number(run["certified"], ".1e"),
            f"{run['n_support']:,}",
            _percent(run),
            number(arrives),
            number(run["peak_mb"], ",.0f"),
        ]

    return _rows(cell, runs, row)


def _squared(cell, runs, store):
    floor = peers_targets.floor(cell, runs, store)

    def row(name, run):
        times = run["seconds"] / floor if floor else None
        return [
            name,
            *(number(x) for x in (run["seconds"], run["cpu"])),
            number(times, ".2f"),
            number(run["kernel_values"] / (run["n_support"] * run["m"]), ".2f"),
            number(run["D"], ".6g"),
            number(run["certified"], ".1e"),
            f"{run['n_support']:,}",
            _percent(run),
            number(run["peak_mb"], ",.0f"),
        ]

    rows = _rows(cell, runs, row)
    ns = store.find(cell=cell.name, what="kernel")
    if floor and ns:
        ways = ", ".join(f"{way} {value:.2f}" for way, value in ns[-1]["ns"].items())
        rows.append([f"floor ({ways} ns a value)", number(floor), *[""] * 8])
    return rows


def _accuracy(cell, runs, store):
    base = peers_targets.settled(runs, "intelex")
    rows = []
    for family in peers_targets.families(runs):
        found = peers_targets.settled(runs, family)
        last = f"{100 * peers_targets.ladder(runs, family)[-1][2]:.2f}"
        if found is None:
            rows.append([family, "none", "", "", last, ""])
            continue
        times = found[1] / base[1] if base else None
        rows.append([family, found[0], number(found[1]), f"{100 * found[2]:.2f}", last, number(times, ".2f")])
    return rows


def _predict(cell, runs, store):
    good = {name: run for name, run in runs.items() if "error" not in run}
    intelex, svc = peers_targets.fastest(good, "intelex"), peers_targets.fastest(good, "svc")

    def row(name, run):
        ratios = [number(peers_targets.ratio(run, base), ".2f") for base in (intelex, svc)]
        return [name, number(run["seconds"]), number(run["cpu"]), *ratios, f"{run['n_support']:,}", _percent(run)]

    return _rows(cell, runs, row)


def _linear(cell, runs, store):
    good = {name: run for name, run in runs.items() if "error" not in run}
    best, base = min((run["P"] for run in good.values()), default=1.0), peers_targets.liblinear(good)

    def row(name, run):
        return [
            name,
            *(number(x) for x in (run["seconds"], run["cpu"])),
            number(peers_targets.ratio(run, base), ".2f"),
            number((run["P"] - best) / best, "+.1e"),
            number(run["certified"], ".1e"),
            _percent(run),
            number(run["peak_mb"], ",.0f"),
        ]

    return _rows(cell, runs, row)


ROWS = {
    "hinge": _hinge,
    "squared": _squared,
    "large": _squared,
    "accuracy": _accuracy,
    "predict": _predict,
    "linear": _linear,
}


def _starts(store: Store) -> list[str]:
    runs = [r for r in store.find(cell="start") if "error" not in r]
    if not runs:
        return []
    helps, trains = ([r["seconds"] for r in runs if r["what"] == what] for what in ("help", "train"))
    later = f"; later ones {min(trains[1:]):.2f} to {max(trains[1:]):.2f} s" if len(trains) > 1 else ""
    return [
        "### Start",
        "",
        f"`svmkit --help`: {min(helps):.2f} to {max(helps):.2f} s. `svmkit train --no-track` (427 rows): the first, "
        f"with nothing compiled, {trains[0]:.1f} s{later}.",
    ]


def _compiling(store: Store) -> list[str]:
    """The time of first fits beyond that of later fits of the same size, worst case by side."""
    worst: dict[str, tuple[float, str]] = {}
    for r in store.find(what="first"):
        label = r["solver"] or r["side"]
        worst[label] = max(worst.get(label, (0.0, "")), (r["seconds"], r["cell"]))
    cases = ", ".join(f"{label} {seconds:.2f} s ({cell})" for label, (seconds, cell) in sorted(worst.items()))
    return [
        "What first fits took beyond later ones of the same size (compiling, loading, or memory that was touched for "
        f"the first time), worst case: {cases}."
    ]
