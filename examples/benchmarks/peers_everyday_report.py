"""The everyday sets as a table, a picture, and lines of the table of targets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from peers_everyday import FIXED, SETS, STORAGES
from peers_remote import Store
from peers_tables import days, markdown, number

HEAD = (
    "set | rows x columns | classes | storage | `SVC()`, s | `SVMClassifier()`, s | ratio | to intelex | "
    "D, to SVC's | gap | prediction, s | ratio | to intelex"
)
SAME = 1e-3  # relative difference of optima that counts as none
MANY = 10  # classes
LIMITS = {"each set": 1.0, "geometric mean": 0.4, "each set of ten classes or more": 0.5, "intelex": 0.67}
COSTS = {
    "fit": "fit of 20 samples x 2 features",
    "predict": "prediction of one row",
    "search": "GridSearchCV, 500 small fits",
}
MOST = {"fit": 1e-3, "predict": 1e-4}  # seconds
Side = dict[str, float]


def measured(store: Store) -> list[dict[str, Any]]:
    """One entry for each set and storage: its facts, and by side the best times and what the first fit reached."""
    found = []
    for name in SETS:
        for storage in STORAGES:
            like = {"cell": f"everyday_{name}", "storage": storage}
            runs = [r for r in store.find(**like, what="run") if "error" not in r]
            sides: dict[str, Side] = {}
            for side in dict.fromkeys(r["contender"] for r in runs):
                own = [r for r in runs if r["contender"] == side]
                sides[side] = {**own[0], **{key: min(r[key] for r in own) for key in ("seconds", "predict_s")}}
            if {"svc", "svmkit"} <= set(sides):
                about = {key: sides["svc"][key] for key in ("m", "d", "classes")}
                found.append({"name": name, "storage": storage, "sides": sides, **about})
    return found


def against(entry: dict[str, Any], side: str, what: str = "seconds") -> float | None:
    """Our time in units of that of another side."""
    sides = entry["sides"]
    return sides["svmkit"][what] / sides[side][what] if side in sides else None


def mean(entries: list[dict[str, Any]], side: str, what: str = "seconds") -> float | None:
    """Geometric mean of the ratios."""
    ratios = [ratio for entry in entries if (ratio := against(entry, side, what)) is not None]
    return float(np.exp(np.log(ratios).mean())) if ratios else None


def difference(entry: dict[str, Any]) -> float:
    """Relative difference of the dual objectives: above 0 where ours is the better one."""
    ours, theirs = entry["sides"]["svmkit"]["D"], entry["sides"]["svc"]["D"]
    return (ours - theirs) / abs(theirs)


def section(store: Store) -> list[str]:
    """The table of the sets and that of fixed costs; nothing without measurements."""
    entries, costs = measured(store), _costs(store)
    lines = ["### Everyday sets", ""] if entries or costs else []
    if entries:
        lines += [days([r for r in store.find(what="run") if r["cell"].startswith("everyday_")]), ""]
        rows = [_row(entry) for entry in entries]
        means = [mean(entries, side, what) for what in ("seconds", "predict_s") for side in ("svc", "intelex")]
        shown = [f"**{number(value, '.2f')}**" if value else "" for value in means]
        rows.append(["geometric mean", "", "", "", "", "", *shown[:2], "", "", "", *shown[2:]])
        lines += [*markdown(HEAD, rows), ""]
    if costs:
        rows = []
        for what, sides in costs.items():
            ours, theirs = sides["svmkit"], sides.get("intelex")
            times = [_shown(value) for value in (sides["svc"], ours, theirs)]
            rows.append([COSTS[what], *times, number(ours / sides["svc"], ".2f")])
        lines += [*markdown("fixed cost | `SVC()` | `SVMClassifier()` | intelex | ratio to SVC", rows), ""]
    return lines


def _row(entry: dict[str, Any]) -> list[str]:
    svc, ours = entry["sides"]["svc"], entry["sides"]["svmkit"]
    gap = max(0.0, ours["P"] - ours["D"]) / max(abs(ours["P"]), abs(ours["D"]))
    return [
        entry["name"],
        f"{entry['m']:,} x {entry['d']:,}",
        str(entry["classes"]),
        entry["storage"],
        *(number(side["seconds"]) for side in (svc, ours)),
        *(number(against(entry, side), ".2f") for side in ("svc", "intelex")),
        f"{difference(entry):+.1e}",
        f"{gap:.1e}",
        number(ours["predict_s"]),
        *(number(against(entry, side, "predict_s"), ".2f") for side in ("svc", "intelex")),
    ]


def _shown(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds:.3g} s" if seconds >= 1.0 else f"{1e3 * seconds:.3g} ms"


def _costs(store: Store) -> dict[str, Side]:
    """Best seconds of each fixed cost by side."""
    found: dict[str, Side] = {}
    for what in FIXED:
        for record in store.find(cell="fixed", what=what):
            sides = found.setdefault(what, {})
            sides[record["contender"]] = min(record["seconds"], sides.get(record["contender"], np.inf))
    return {what: sides for what, sides in found.items() if {"svc", "svmkit"} <= set(sides)}


def targets(store: Store) -> list[list[str]]:
    """Lines of the table of targets: what, on, measured, compared with, ratio, at most, verdict."""
    entries, costs = measured(store), _costs(store)
    if not entries and not costs:
        return []
    many = [entry for entry in entries if entry["classes"] >= MANY]
    rows = []
    for label, some in (("each set", entries), ("each set of ten classes or more", many)):
        worst = max(some, key=lambda entry: against(entry, "svc") or 0.0, default=None)
        if worst:
            on = f"{worst['name']}, {worst['storage']} (the worst)"
            rows.append(_line(label, on, "SVC", against(worst, "svc"), LIMITS[label]))
    for label, side in (("geometric mean", "svc"), ("intelex", "intelex")):
        found = mean(entries, side)
        if found is not None:
            on = f"{len(entries)} sets and storages, geometric mean"
            rows.append(_line("fit", on, "SVC" if side == "svc" else side, found, LIMITS[label]))
    if entries:
        worst = max(entries, key=lambda entry: abs(difference(entry)))
        off = abs(difference(worst))
        verdict = "met" if off <= SAME else "**missed**"
        on = f"{worst['name']}, {worst['storage']} (the worst)"
        rows.append(["everyday sets: same optimum", on, f"{off:.1e}", "SVC's D", "", f"{SAME:g}", verdict])
    for what, sides in costs.items():
        limit, seconds = MOST.get(what), sides["svmkit"]
        ratio, most = (seconds / sides["svc"], 1.0) if limit is None else (seconds / limit, limit)
        verdict = "met" if ratio <= 1.0 else "**missed**"
        shown = f"SVC {_shown(sides['svc'])}", f"{ratio:.2f}", f"{most:g}" if limit is None else f"{limit:g} s"
        rows.append([COSTS[what], "fixed cost", _shown(seconds), *shown, verdict])
    return rows


def _line(label: str, on: str, base: str, ratio: float | None, limit: float) -> list[str]:
    assert ratio is not None
    verdict = "met" if ratio <= limit else "**missed**"
    return [f"everyday sets: {label}", on, "", base, f"{ratio:.2f}", f"{limit:g}", verdict]


def draw(store: Store, path: Path) -> bool:
    """Write the picture of the ratios of times; return whether there were any."""
    entries = measured(store)
    if not entries:
        return False
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    order = [name for name in SETS if any(entry["name"] == name for entry in entries)]
    figure, axes = plt.subplots(1, 2, figsize=(11, 0.32 * len(order) + 1.6), sharey=True, layout="constrained")
    for axis, what, title in zip(axes, ("seconds", "predict_s"), ("training", "prediction"), strict=True):
        for side, colour in (("svc", "#d62728"), ("intelex", "#1f77b4")):
            for storage, marker in (("dense", "o"), ("sparse", "D")):
                at = [(against(e, side, what), order.index(e["name"])) for e in entries if e["storage"] == storage]
                known = [(x, y) for x, y in at if x is not None]
                if known:
                    label = f"to {'SVC' if side == 'svc' else 'scikit-learn-intelex'}, {storage}"
                    fill = colour if storage == "dense" else "none"
                    axis.plot(*zip(*known, strict=True), marker, ls="", color=colour, mfc=fill, label=label, ms=6)
        axis.axvline(1.0, color="black", lw=0.8)
        axis.set_xscale("log")
        axis.set_title(f"time of {title}, SVMClassifier() / peer", fontsize=10)
        axis.grid(alpha=0.3, which="major")
    axes[0].set_yticks(range(len(order)), order)
    axes[0].invert_yaxis()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return True
