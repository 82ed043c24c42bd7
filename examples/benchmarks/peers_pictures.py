"""Time against certified gap and against test accuracy: curves of svmkit, ladders of tolerances of the peers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from peers_cells import Cell
from peers_remote import Store
from peers_tables import summary
from peers_targets import POINT, Runs, families, good, ladder, reference

LEAST = 1e-8  # gap that is drawn as such
BLANK = 0.99  # gap of the first iterates of a curve, which are left out
COLOURS = {"LIBSVM": "#7f7f7f", "intelex dense32": "#1f77b4", "intelex csr": "#17becf"}
OURS = ("#d62728", "#ff7f0e")


def draw(out: Path, cells: list[Cell], store: Store) -> list[tuple[str, Path]]:
    """Write OUT_gap.png and OUT_accuracy.png; (words, path) of each, none without measurements."""
    found = [(cell, good(summary(store, cell))) for cell in cells if cell.kind == "accuracy"]
    found = [(cell, runs) for cell, runs in found if runs]
    if not found:
        return []
    import matplotlib

    matplotlib.use("Agg")
    pictures, gap, accuracy = [], "Time against the certified gap", "Time against test accuracy"
    for name, words, paint in (("gap", gap, _gap), ("accuracy", accuracy, _accuracy)):
        pictures.append((words, out.with_name(f"{out.name}_{name}.png")))
        _picture(found, words, paint, pictures[-1][1])
    return pictures


def _picture(found: list[tuple[Cell, Runs]], words: str, paint, path: Path) -> None:
    import matplotlib.pyplot as plt

    columns = min(2, len(found))
    rows = -(-len(found) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(6 * columns, 4 * rows), squeeze=False, layout="constrained")
    for axis, (cell, runs) in zip(axes.ravel(), found, strict=False):
        paint(axis, runs)
        m = max(run.get("m", 0) for run in runs.values())
        axis.set_title(f"{cell.data}: {m:,} rows, C {cell.C:g}, gamma {cell.gamma:.3g}", fontsize=10)
        axis.set_xlabel("seconds")
        axis.set_xscale("log")
        axis.grid(alpha=0.3, which="major")
    for axis in axes.ravel()[len(found) :]:
        axis.axis("off")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    figure.suptitle(words, fontsize=12)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _series(runs: Runs, value) -> list[tuple[str, str, str, list[float], list[float]]]:
    """(label, colour, style, seconds, values) of every curve, and ladder without one."""
    found, ours = [], iter(OURS)
    for family in families(runs):
        curve = runs.get(f"{family} curve")
        if curve is not None:
            points = [(p[0], value(p[1], p[3])) for p in curve["curve"] if p[1] < BLANK]
            colour = next(ours)
            found.append((f"{family} (curve)", colour, "-", *_columns(points)))
        rungs = [runs[f"{family} @ {tol}"] for tol, *_ in ladder(runs, family)]
        points = [(r["seconds"], value(r["certified"], r.get("accuracy"))) for r in rungs]
        colour = colour if curve is not None else COLOURS.get(family, "#2ca02c")
        label = f"{family}, whole fits" if curve is not None else f"{family}, ladder of tolerances"
        found.append((label, colour, "o:" if curve is not None else "s--", *_columns(points)))
    return found


def _columns(points: list[tuple[float, Any]]) -> tuple[list[float], list[float]]:
    kept = [(x, y) for x, y in points if y is not None]
    return [x for x, _ in kept], [y for _, y in kept]


def _gap(axis, runs: Runs) -> None:
    for label, colour, style, x, y in _series(runs, lambda gap, _: None if gap is None else max(gap, LEAST)):
        axis.plot(x, y, style, color=colour, label=label, lw=1.4, ms=4)
    axis.set_yscale("log")
    axis.set_ylabel("certified relative gap")
    axis.axhline(1e-3, color="black", lw=0.8, alpha=0.5)


def _accuracy(axis, runs: Runs) -> None:
    best = reference(runs) or 0.0
    every = [run["accuracy"] for run in runs.values() if run.get("accuracy") is not None]
    for label, colour, style, x, y in _series(runs, lambda _, a: None if a is None else 100 * a):
        axis.plot(x, y, style, color=colour, label=label, lw=1.4, ms=4)
    axis.axhline(100 * (best - POINT), color="black", lw=0.8, alpha=0.5)
    axis.set_ylim(100 * best - 3.0, 100 * max(every) + 0.3)
    axis.set_ylabel("test accuracy, %")
