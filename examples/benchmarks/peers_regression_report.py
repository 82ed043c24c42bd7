"""The regression cells as a table, a picture, and lines of the table of targets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from peers_regression import INTELEX, LIBSVM, OURS, TIGHT
from peers_regression_sets import SETS
from peers_remote import Store
from peers_tables import days, markdown, number

HEAD = (
    "set | rows x columns | storage | `SVR`, s | intelex, s | `SVMRegressor()`, s | gap | to the faster peer | "
    "kkt 1e-3, s | D, to the best peer | to the faster peer | SVs | R2, to the best peer | prediction, s | ratio"
)
LIMIT = 0.67  # of the time of the faster peer
SAME = 1e-3  # relative difference of optima that counts as none
COLOURS = {OURS: "#d62728", TIGHT: "#1f77b4"}
STORAGES = {"dense": "o", "float32": "s", "sparse": "D"}  # marks
Entry = dict[str, Any]


def measured(store: Store) -> list[Entry]:
    """One entry for each set and storage: its facts, and by contender the best times and what the first fit reached."""
    found = []
    for name, kind in SETS.items():
        for storage in kind.storages:
            runs = store.find(cell=f"regression_{name}", storage=storage, what="run")
            sides: dict[str, dict[str, float]] = {}
            for side in dict.fromkeys(r["contender"] for r in runs if "error" not in r):
                own = [r for r in runs if r["contender"] == side and "error" not in r]
                sides[side] = {**own[0], **{key: min(r[key] for r in own) for key in ("seconds", "predict_s")}}
            if {OURS, TIGHT} <= set(sides) and {LIBSVM, INTELEX} & set(sides):
                found.append({"name": name, "storage": storage, "sides": sides, **{k: runs[0][k] for k in ("m", "d")}})
    return found


def _peers(entry: Entry) -> list[dict[str, float]]:
    return [entry["sides"][side] for side in (LIBSVM, INTELEX) if side in entry["sides"]]


def against(entry: Entry, side: str, what: str = "seconds") -> float:
    """Time of one of ours in units of that of the faster peer."""
    return entry["sides"][side][what] / min(peer[what] for peer in _peers(entry))


def difference(entry: Entry, side: str) -> float:
    """Relative difference of D to that of the best peer: above 0 where ours is the better one."""
    theirs = max(peer["D"] for peer in _peers(entry))
    return (entry["sides"][side]["D"] - theirs) / abs(theirs)


def mean(entries: list[Entry], side: str, what: str = "seconds") -> float:
    """Geometric mean of the ratios to the faster peer."""
    return float(np.exp(np.mean([np.log(against(entry, side, what)) for entry in entries])))


def section(store: Store) -> list[str]:
    """The table; nothing without measurements."""
    entries = measured(store)
    if not entries:
        return []
    rows = [_row(entry) for entry in entries]
    means = [f"**{mean(entries, side):.2f}**" for side in (OURS, TIGHT)]
    ratio = f"**{mean(entries, OURS, 'predict_s'):.2f}**"
    rows.append(["geometric mean", *[""] * 6, means[0], "", "", means[1], "", "", "", ratio])
    made = days([r for r in store.find(what="run") if r["cell"].startswith("regression_")])
    return ["### Regression", "", made, "", *markdown(HEAD, rows), ""]


def _row(entry: Entry) -> list[str]:
    sides = entry["sides"]
    ours, tight = sides[OURS], sides[TIGHT]
    peers = [number(sides[side]["seconds"]) if side in sides else "" for side in (LIBSVM, INTELEX)]
    return [
        entry["name"],
        f"{entry['m']:,} x {entry['d']:,}",
        entry["storage"],
        *peers,
        number(ours["seconds"]),
        f"{max(0.0, ours['P'] - ours['D']) / max(abs(ours['P']), abs(ours['D'])):.1e}",
        number(against(entry, OURS), ".2f"),
        number(tight["seconds"]),
        f"{difference(entry, TIGHT):+.1e}",
        number(against(entry, TIGHT), ".2f"),
        f"{ours['n_support']:,.0f}",
        f"{ours['r2'] - max(peer['r2'] for peer in _peers(entry)):+.1e}",
        number(ours["predict_s"]),
        number(against(entry, OURS, "predict_s"), ".2f"),
    ]


def targets(store: Store) -> list[list[str]]:
    """Lines of the table of targets: what, on, measured, compared with, ratio, at most, verdict."""
    entries = measured(store)
    if not entries:
        return []
    rows = []
    for side, label in ((OURS, "regression, gap 1e-3"), (TIGHT, "regression, kkt 1e-3")):
        for entry in entries:
            ratio = against(entry, side)
            base = f"the faster peer {number(min(peer['seconds'] for peer in _peers(entry)))} s"
            verdict = "met" if ratio <= LIMIT else "**missed**"
            on, ours = f"{entry['name']}, {entry['storage']}", f"{number(entry['sides'][side]['seconds'])} s"
            rows.append([label, on, ours, base, f"{ratio:.2f}", f"{LIMIT:g}", verdict])
    worst = max(entries, key=lambda entry: abs(difference(entry, OURS)))
    off = abs(difference(worst, OURS))
    on = f"{worst['name']}, {worst['storage']} (the worst)"
    verdict = "met" if off <= SAME else "**missed**"
    return [*rows, ["regression: same optimum", on, f"{off:.1e}", "the best peer's D", "", f"{SAME:g}", verdict]]


def draw(store: Store, path: Path) -> bool:
    """Write the picture of the ratios of times; return whether there were any."""
    entries = measured(store)
    if not entries:
        return False
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    order = list(dict.fromkeys(entry["name"] for entry in entries))
    figure, axis = plt.subplots(figsize=(8, 0.32 * len(order) + 1.8), layout="constrained")
    for side, colour in COLOURS.items():
        for storage, marker in STORAGES.items():
            at = [(against(e, side), order.index(e["name"])) for e in entries if e["storage"] == storage]
            if at:
                fill = "none" if storage == "sparse" else colour
                label = f"{side}, {storage}"
                axis.plot(*zip(*at, strict=True), marker, ls="", color=colour, mfc=fill, label=label, ms=6)
    axis.axvline(LIMIT, color="black", lw=0.8, ls="--", label=f"{LIMIT:g}")
    axis.set_xscale("log")
    axis.set_title("time of training, in units of that of the faster peer", fontsize=10)
    axis.grid(alpha=0.3, which="major")
    axis.set_yticks(range(len(order)), order)
    axis.invert_yaxis()
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return True
