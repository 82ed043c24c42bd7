"""One picture a report, a panel for each data set.

curves   Delta against iterations, log-log, from each solver's run to its tightest stop
scatter  metric x against metric y: every seed a dot, what was published a cross
bars     a metric of each solver on a log scale; hatched where the time limit ended the run
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

from comparison.cells import Results


def draw(spec, results: Results, path: Path) -> None:
    """Write the spec's figure to `path`, a PNG; panels of sets without results stay empty."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = spec.figure
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
    handles, labels = axes.flat[0].get_legend_handles_labels()
    if handles:
        axes.flat[0].legend(handles, labels, frameon=False, fontsize=8)
    canvas.savefig(path, dpi=110)
    plt.close(canvas)


def _curves(figure: dict, data: str, results: Results, axis) -> None:
    for k, solver in enumerate(figure["solvers"]):
        runs = [r for stop in results.spec.stop for r in results.records(data, solver, stop)[:1]]
        tightest = [r for r in runs if r.get("history")]
        if tightest:
            n_iter, _, delta = zip(*tightest[-1]["history"], strict=True)
            axis.loglog(n_iter, [max(d, 1e-12) for d in delta], color=f"C{k}", label=solver, lw=1.2)
    axis.set(xlabel="iterations", ylabel="Delta")


def _scatter(figure: dict, data: str, results: Results, axis) -> None:
    x, y = figure["x"], figure["y"]
    for k, (solver, stop) in enumerate(product(figure["solvers"], results.spec.stop)):
        points = [(r[x], r[y]) for r in results.records(data, solver, stop)]
        if points:
            axis.plot(*zip(*points, strict=True), ".", color=f"C{k}", label=f"{solver}, {stop}")
        published = [results.published(data, solver, stop, metric) for metric in (x, y)]
        if None not in published:
            axis.plot(*published, "x", color=f"C{k}", ms=9, mew=2)
    axis.set(xlabel=x, ylabel=y)


def _bars(figure: dict, data: str, results: Results, axis) -> None:
    stop = list(results.spec.stop)[-1]
    values = {solver: results.mean(data, solver, stop, figure["metric"]) for solver in figure["solvers"]}
    for k, (solver, value) in enumerate(values.items()):
        if value:
            axis.bar(k, value, color=f"C{k}", hatch="//" if results.cut(data, solver, stop) else "")
    axis.set_xticks(range(len(values)), list(values), fontsize=8)
    axis.set(yscale="log", ylabel=figure["metric"], ylim=(0.02, None))
