"""The figures behind the targets: ratios of times taken in turns, floors, and times to an accuracy."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

import growth
from peers_cells import MEMORY, Cell
from peers_measure import SAME
from peers_remote import Store
from peers_tables import markdown, summary

from svmkit.kernels.gram import parse_bytes

TO_GAP, SAME_D = 0.33, 0.5  # of the time of intelex, for the hinge
POINT = 1e-3  # a tenth of a percentage point
Runs = dict[str, dict[str, Any]]


def good(runs: Runs) -> Runs:
    return {name: run for name, run in runs.items() if "error" not in run}


def fastest(runs: Runs, side: str) -> dict[str, Any] | None:
    """The run of this side, in whatever storage, with the smallest median."""
    found = [run for run in good(runs).values() if run["side"] == side]
    return min(found, key=lambda run: run["seconds"]) if found else None


def liblinear(runs: Runs) -> dict[str, Any] | None:
    """LIBLINEAR in one thread, by scikit-learn or its authors: the faster one."""
    found = [f for side in ("linearsvc", "liblinear-official") if (f := fastest(runs, side))]
    return min(found, key=lambda run: run["seconds"]) if found else None


def ratio(run: dict[str, Any] | None, base: dict[str, Any] | None) -> float | None:
    """Median of the ratios of runs within the same turn."""
    if run is None or base is None:
        return None
    return median(a / b for a, b in zip(run["all"], base["all"], strict=False))


def arrival(run: dict[str, Any], best: float) -> float | None:
    """Seconds of a fit until D was within SAME of `best`: the work outside the loop and the history up to then."""
    limit = best * (1.0 - SAME)
    for seconds, objective, *_ in run.get("history", ()):
        if -objective >= limit:
            return run["all"][-1] - run["loop"] + seconds
    return None


def floor(cell: Cell, runs: Runs, store: Store) -> float | None:
    """n_SV * m kernel values, of our own optimum, at the speed that the micro-benchmark measured."""
    kernel, ours = store.find(cell=cell.name, what="kernel"), [r for r in good(runs).values() if r["side"] == "svmkit"]
    if not kernel or not ours:
        return None
    return ours[0]["n_support"] * ours[0]["m"] * min(kernel[-1]["ns"].values()) * 1e-9


def families(runs: Runs) -> list[str]:
    """The families with a series of tolerances in an accuracy cell."""
    named = [name.split(" @ ")[0] for name, run in good(runs).items() if " @ " in name and "accuracy" in run]
    return list(dict.fromkeys(named))


def ladder(runs: Runs, family: str) -> list[tuple[str, float, float]]:
    """(tolerance, seconds, accuracy) of all fits, the tightest last."""
    named = [(name.partition(" @ "), run) for name, run in good(runs).items()]
    found = [(tol, run["seconds"], run["accuracy"]) for (who, _, tol), run in named if tol and who == family]
    return sorted(found, key=lambda rung: -float(rung[0]))


def reference(runs: Runs) -> float | None:
    """The best final test accuracy of the peers, at their tightest tolerance."""
    sides = {name.split(" @ ")[0]: run["side"] for name, run in good(runs).items()}
    return max((ladder(runs, each)[-1][2] for each in families(runs) if sides[each] != "svmkit"), default=None)


def settled(runs: Runs, family: str) -> tuple[str, float, float] | None:
    """(tolerance, seconds, accuracy) of the fastest fit from which on a series stays within 0.1 point of `reference`.

    `family` may be a prefix: the fastest of several storages.
    """
    best, found = reference(runs), []
    for each in families(runs):
        if best is None or not each.startswith(family):
            continue
        staying: list[tuple[str, float, float]] = []
        for rung in reversed(ladder(runs, each)):
            if rung[2] < best - POINT - 1e-12:
                break
            staying.append(rung)
        found += [min(staying, key=lambda rung: rung[1])] if staying else []
    return min(found, key=lambda rung: rung[1]) if found else None


def table(cells: list[Cell], store: Store, grown: Path, before: list[list[str]]) -> list[str]:
    """A line for each target and set that is missed, and one for all sets that meet a target; first those `before`."""
    hinge, squared = store.settings["hinge"], store.settings["squared"]
    rows = list(before)
    for cell in cells:
        runs = good(summary(store, cell))
        if runs:
            rows += LINES[cell.kind](cell, runs, store, hinge, squared)
    rows += _memory(cells, store) + _growth(grown) + _starts(store)
    return markdown("target | on | measured | compared with | ratio | at most | met", shorten(rows))


def shorten(rows: list[list[str]]) -> list[list[str]]:
    """Return the rows, of those that meet the same target at the same limit only the one with the largest ratio."""
    met: dict[tuple[str, str], list[list[str]]] = {}
    for row in rows:
        if row[-1] == "met":
            met.setdefault((row[0], row[-2]), []).append(row)
    short = []
    for row in rows:
        alike = met[row[0], row[-2]] if row[-1] == "met" else [row]
        if len(alike) > 1 and row is alike[0]:
            worst = max(alike, key=lambda one: float(one[4] or 0.0))
            short.append([worst[0], f"{worst[1]} (the worst of {len(alike)})", *worst[2:-1], f"{len(alike)} met"])
        elif len(alike) == 1:
            short.append(row)
    return short


def line(
    what, on, measured: float | None, base: tuple[str, float] | None, found: float | None, limit, spec=".3g", unit="s"
):
    """Cells of one row; found : the ratio that has to be at most `limit`."""
    if measured is None or found is None:
        return [what, on, "not measured", "", "", f"{limit:g}", ""]
    shown = f"{base[0]} {base[1]:{spec}} {unit}" if base else ""
    verdict = "met" if found <= limit else "**missed**"
    return [what, on, f"{measured:{spec}} {unit}", shown, f"{found:.2f}", f"{limit:g}", verdict]


def _same(cell, runs, store, hinge, squared):
    rows = []
    if cell.data == "svmguide1":  # no target: too small to time the solver alone
        return rows
    intelex, svc, on = fastest(runs, "intelex"), fastest(runs, "svc"), cell.name.removesuffix("_hinge")
    base = ("intelex", intelex["seconds"]) if intelex else None
    for name, limit in (("gap 1e-3", TO_GAP), ("same D", SAME_D)):
        run = runs.get(f"{hinge}, {name}")
        seconds = run["seconds"] if run else None
        rows.append(line(f"hinge, {name}: `{hinge}`", on, seconds, base, ratio(run, intelex), limit))
    if cell.data == "a9a":
        rows.append(line(f"hinge, same D: `{hinge}`", on, seconds, ("LIBSVM", svc["seconds"]), ratio(run, svc), 0.1))
    return rows


def _to_gap(cell, runs, store, hinge, squared):
    solver, limit, loss = (hinge, 3.0, "hinge") if cell.kind == "large" else (squared, 5.0, "squared hinge")
    run, least = runs.get(f"{solver}, gap 1e-3"), floor(cell, runs, store)
    seconds = run["seconds"] if run else None
    on = cell.name.removesuffix("_squared").removesuffix("_large")
    found = seconds / least if seconds and least else None
    base = ("floor", least) if least else None
    rows = [line(f"{loss}, gap 1e-3: `{solver}`", on, seconds, base, found, limit)]
    twin = runs.get(f"{hinge}, squared hinge, gap 1e-3")
    if twin:
        base = (hinge, twin["seconds"])
        rows.append(line(f"{loss}, gap 1e-3: `{solver}`", on, seconds, base, ratio(run, twin), 1.0))
    return rows


def _to_accuracy(cell, runs, store, hinge, squared):
    ours = [f for name in (hinge, squared) if (f := settled(runs, f"{name}"))]
    best, theirs = min(ours, key=lambda f: f[1], default=None), settled(runs, "intelex")
    found = best[1] / theirs[1] if best and theirs else None
    base = ("intelex", theirs[1]) if theirs else None
    on = cell.name.removesuffix("_accuracy")
    return [line("within 0.1 point of the best accuracy", on, best[1] if best else None, base, found, 0.5)]


def _predicting(cell, runs, store, hinge, squared):
    run, on = runs.get(hinge), cell.name.removesuffix("_predict")
    rows = []
    for side, label, limit in (("intelex", "intelex", 0.7), ("svc", "LIBSVM", 0.15)):
        base = fastest(runs, side)
        shown = (label, base["seconds"]) if base else None
        rows.append(line("prediction", on, run["seconds"] if run else None, shown, ratio(run, base), limit))
    return rows


def _coordinate(cell, runs, store, hinge, squared):
    run, rows = runs.get("dcd, same D"), []
    for side, label in (("linearsvc", "LIBLINEAR in scikit-learn"), ("liblinear-official", "LIBLINEAR")):
        base = fastest(runs, side)
        shown = (label, base["seconds"]) if base else None
        seconds = run["seconds"] if run else None
        rows.append(line("linear, same objective: `dcd`", cell.name, seconds, shown, ratio(run, base), 1.0))
    return rows


LINES = {
    "hinge": _same,
    "squared": _to_gap,
    "large": _to_gap,
    "accuracy": _to_accuracy,
    "predict": _predicting,
    "linear": _coordinate,
}


def _memory(cells: list[Cell], store: Store) -> list[list[str]]:
    """The largest peak of our kernel solvers above the data, against the budget."""
    kinds = {cell.name: cell.kind for cell in cells}
    runs = [r for r in store.find(what="run", side="svmkit") if kinds.get(r["cell"]) in ("hinge", "squared")]
    worst = max((r for r in runs if r.get("peak_mb")), key=lambda r: r["peak_mb"], default=None)
    budget = parse_bytes(MEMORY) / 2**20
    if worst is None:
        return [line("memory above the data", "all", None, None, None, 1.0)]
    on, peak = f"{worst['cell']}, {worst['contender']}", worst["peak_mb"]
    return [line("memory above the data, worst case", on, peak, ("budget", budget), peak / budget, 1.0, ",.0f", "MB")]


def _growth(path: Path) -> list[list[str]]:
    """Exponents and the memory of kddcup, from the measurements of growth.py."""
    if not path.exists():
        return [["growth", "10k to 494k rows", "not measured", "", "", f"{growth.EXPONENT:g}", ""]]

    rows = []
    records = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]
    for data, solver, runs in growth.curves(records):
        slope = growth.exponent(runs)
        if slope is not None and solver not in growth.PEERS:
            name = f"growth: exponent of time, `{solver}`"
            verdict = "met" if slope <= growth.EXPONENT else "**missed**"
            rows.append([name, data, f"{slope:.2f}", "", f"{slope:.2f}", f"{growth.EXPONENT:g}", verdict])
        last = max(runs, key=lambda r: r["m"])
        if data == "kddcup" and solver not in growth.PEERS:
            budget, whole = parse_bytes(last["memory"]) / 2**20, f"{last['m']:,} rows, {last['status']}, `{solver}`"
            peak, shown = last["peak_mb"], ("budget", budget)
            rows.append(line("kddcup with a budget of 1 GB", whole, peak, shown, peak / budget, 1.0, ",.0f", "MB"))
    return rows


def _starts(store: Store) -> list[list[str]]:
    runs = [r for r in store.find(cell="start") if "error" not in r]
    helps, trains = ([r["seconds"] for r in runs if r["what"] == what] for what in ("help", "train"))
    found = []
    for what, on, seconds, limit in (
        ("`svmkit --help`", "start", median(helps) if helps else None, 0.2),
        ("second small `svmkit train --no-track`", "start", median(trains[1:]) if trains[1:] else None, 1.0),
        ("first small `svmkit train`, compiling", "start", trains[0] if trains else None, 5.0),
    ):
        found.append(line(what, on, seconds, None, seconds / limit if seconds else None, 1.0))
        found[-1][5] = f"{limit:g} s"
    return found
