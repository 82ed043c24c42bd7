"""One picture a report, a panel for each data set.

curves   Delta against iterations, log-log, from each solver's run to its tightest stop
scatter  metric x against metric y: every seed a dot, what was published a cross
bars     a metric of each solver on a log scale; hatched where the time limit ended the run
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

from comparison.results import TITLE, Results


def draw(results: Results, path: Path) -> None:
    """Write the paper's figure to `path`, a PNG; panels of sets without results stay empty."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = results.paper.figure
    assert figure is not None
    columns = min(4, len(figure["data"]))
    rows = -(-len(figure["data"]) // columns)
    canvas, axes = plt.subplots(rows, columns, figsize=(4 * columns, 3.2 * rows), squeeze=False, layout="constrained")
    panel = {"curves": _curves, "scatter": _scatter, "bars": _bars}[figure["kind"]]
    for data, axis in zip(figure["data"], axes.flat, strict=False):
        panel(figure, data, results, axis)
        axis.set_title(data, fontsize=10)
        axis.grid(alpha=0.3)
    for axis in list(axes.flat)[len(figure["data"]) :]:
        axis.axis("off")
    named = next((axis for axis in axes.flat if axis.get_legend_handles_labels()[0]), None)
    if named is not None:
        named.legend(frameon=False, fontsize=8)
    canvas.savefig(path, dpi=110)
    plt.close(canvas)


def _curves(figure: dict, data: str, results: Results, axis) -> None:
    for k, solver in enumerate(figure["solvers"]):
        stops = results.paper.comparison.stop
        runs = [r for stop in stops for r in results.records(data, solver, stop)[:1]]
        curves = [curve for r in runs if (curve := deltas(r.get("history", {})))]
        if curves:
            n_iter, delta = zip(*curves[-1], strict=True)
            axis.loglog(n_iter, [max(d, 1e-12) for d in delta], color=f"C{k}", label=solver, lw=1.2)
    axis.set(xlabel="iterations", ylabel="Delta")


def deltas(history: dict[str, list]) -> list[tuple[int, float]]:
    """(n_iter, Delta) wherever the gap is known; Delta = alpha'g - min g as in the PARTAN paper, half of svmkit's abs.

    Older records have Delta itself, in place of the gap and the objective; some have no history.
    """
    if "delta" in history:
        return list(zip(history["n_iter"], history["delta"], strict=True))
    points = zip(*(history.get(name, []) for name in ("n_iter", "gap", "objective")), strict=True)
    return [(n_iter, 0.5 * gap * objective) for n_iter, gap, objective in points if gap is not None]


def _scatter(figure: dict, data: str, results: Results, axis) -> None:
    x, y = figure["x"], figure["y"]
    for k, (solver, stop) in enumerate(product(figure["solvers"], results.paper.comparison.stop)):
        runs = results.records(data, solver, stop)
        if runs:
            axis.plot([r.get(x) for r in runs], [r.get(y) for r in runs], ".", color=f"C{k}", label=f"{solver}, {stop}")
        published = [results.published(data, solver, stop, metric) for metric in (x, y)]
        if None not in published:
            axis.plot(*published, "x", color=f"C{k}", ms=9, mew=2)
    axis.set(xlabel=TITLE[x], ylabel=TITLE[y])


def _bars(figure: dict, data: str, results: Results, axis) -> None:
    stop = list(results.paper.comparison.stop)[-1]
    values = {solver: results.mean(data, solver, stop, figure["metric"]) for solver in figure["solvers"]}
    for k, (solver, value) in enumerate(values.items()):
        if value:
            axis.bar(k, value, color=f"C{k}", hatch="//" if results.cut(data, solver, stop) else "")
    axis.set_xticks(range(len(values)), list(values), fontsize=8)
    axis.set(yscale="log", ylabel=TITLE[figure["metric"]], ylim=(0.02, None))
