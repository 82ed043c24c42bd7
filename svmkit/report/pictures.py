"""Static pictures of a comparison: gaps and accuracies as PNG, and diagrams of critical differences."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svmkit.compare.results import Results
from svmkit.report import stats
from svmkit.report.curves import Curve, Style, curves, floor, style
from svmkit.report.environment import without_places

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DASHES = {"solid": "-", "dash": (0, (5, 2)), "dot": (0, (1, 1.4)), "dashdot": (0, (5, 1.5, 1, 1.5))}
_SYMBOLS = {"circle": "o", "square": "s", "diamond": "D", "triangle-up": "^", "x": "X"}
_AXES = {
    "seconds": "training time (seconds)",
    "gap": "relative duality gap",
    "accuracy": "test accuracy (%)",
    "n_support": "support vectors",
}
_KINDS = {"time-gap": ("seconds", "gap"), "time-accuracy": ("seconds", "accuracy")} | {
    "support-accuracy": ("n_support", "accuracy")
}
_LONG = 32  # characters of a name in a picture


def draw(results: Results, folder: str | Path, stem: str) -> list[Path]:
    """PNGs named STEM-KIND.png in the folder, which is made: those for which there is something to draw.

    time-gap, time-accuracy, support-accuracy : a panel a set; cd-METRIC : a critical-difference diagram of each tested
    metric, for two sets and three treatments at least
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    drawn: dict[str, Figure | None] = {kind: panels(results, *axes) for kind, axes in _KINDS.items()}
    drawn |= {f"cd-{tests.metric}": difference_diagram(tests) for tests in stats.over_sets(results)}
    paths = []
    for kind, figure in drawn.items():
        if figure is not None:
            paths.append(folder / f"{stem}-{kind}.png")
            figure.savefig(paths[-1], dpi=150)
    return paths


def panels(results: Results, x: str, y: str) -> Figure | None:
    """One panel a set, one line a run, a marker where it ended; None when no run has both."""
    from matplotlib.figure import Figure

    at = {name: k for k, name in enumerate(results.treatments)}
    found = [curve for curve in curves(results) if _points(curve, x, y)]
    sets = [name for name in results.sets if any(curve.set == name for curve in found)]
    if not sets:
        return None
    columns = min(len(sets), 3)
    rows = -(-len(sets) // columns)
    treatments = [t for t in results.treatments if any(curve.treatment == t for curve in found)]
    wide = max(4.6 * columns, 6.0)
    per_line = max(1, int(wide // 2.2))
    legend = 0.25 * -(-len(treatments) // per_line) + 0.2
    figure = Figure(figsize=(wide, 3.5 * rows + legend), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax, name in zip(axes, sets, strict=False):
        _panel(ax, [(curve, style(at[curve.treatment])) for curve in found if curve.set == name], x, y)
        ax.set_title(shortened(name), fontsize=10, parse_math=False)
    for ax in axes[len(sets) :]:
        ax.set_visible(False)
    handles = [_handle(style(at[t])) for t in treatments]
    box = figure.legend(
        handles, [shortened(t) for t in treatments], loc="outside lower center", ncols=per_line, frameon=False
    )
    for text in box.get_texts():
        text.set(parse_math=False, fontsize=9)
    return figure


def _panel(ax: Axes, found: list[tuple[Curve, Style]], x: str, y: str) -> None:
    low = {axis: floor([p[k] for curve, _ in found for p in _points(curve, x, y)]) for k, axis in enumerate((x, y))}
    for curve, how in found:
        line, end = _line(curve, x, y), (curve.end[x], curve.end[y])
        alpha = 0.5 if len({other.seed for other, _ in found}) > 1 else 1.0
        if line:
            xs, ys = zip(*(_shown(point, (x, y), low) for point in line), strict=True)
            ax.plot(xs, ys, color=how.colour, linestyle=_DASHES[how.dash], linewidth=1.3, alpha=alpha)
        if None not in end:
            px, py = _shown(end, (x, y), low)
            ax.plot(px, py, _SYMBOLS[how.symbol], color=how.colour, markersize=5.5, markeredgecolor="white")
    ax.set_xscale("log")
    if y == "gap":
        ax.set_yscale("log")
    ax.set_xlabel(_AXES[x], fontsize=9)
    ax.set_ylabel(_AXES[y], fontsize=9)
    ax.tick_params(labelsize=8)
    ax.grid(color="0.9", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    if any(value is not None and axis != "accuracy" for axis, value in low.items()):
        ax.annotate("0 and below at the edge", (0.01, 0.01), xycoords="axes fraction", fontsize=7, color="0.4")


def _line(curve: Curve, x: str, y: str) -> list[tuple[float, float]]:
    pairs = zip(curve.columns.get(x, []), curve.columns.get(y, []), strict=True)
    return [(a, b) for a, b in pairs if a is not None and b is not None]


def _points(curve: Curve, x: str, y: str) -> list[tuple[float, float]]:
    a, b = curve.end[x], curve.end[y]
    return _line(curve, x, y) + ([(a, b)] if a is not None and b is not None else [])


def _shown(point: Any, axes: tuple[str, str], low: dict[str, float | None]) -> tuple[float, float]:
    """Where a point is drawn: accuracies in percent, the rest above the floor of its logarithmic axis."""
    values = []
    for axis, value in zip(axes, point, strict=True):
        at = low[axis]
        values.append(100.0 * value if axis == "accuracy" else value if value > 0 or at is None else at)
    return values[0], values[1]


def _handle(how: Style) -> Any:
    from matplotlib.lines import Line2D

    look = {"color": how.colour, "linestyle": _DASHES[how.dash], "marker": _SYMBOLS[how.symbol]}
    return Line2D([], [], linewidth=1.5, markersize=5.5, markeredgecolor="white", **look)  # type: ignore[arg-type]


def difference_diagram(tests: stats.Tests) -> Figure | None:
    """Mean ranks on a line, the best left, bars over those within Nemenyi's critical difference; None below 2 x 3."""
    if tests.friedman is None or tests.nemenyi is None or len(tests.treatments) < 3:
        return None
    import pandas as pd
    import scikit_posthocs
    from matplotlib.figure import Figure

    names = [shortened(name) for name in tests.treatments]
    tall = 1.0 + 0.32 * ((len(names) + 1) // 2 + 2)
    figure = Figure(figsize=(9.0, tall), layout="constrained")
    ax = figure.subplots()
    scikit_posthocs.critical_difference_diagram(
        pd.Series(tests.friedman.ranks, index=names),
        pd.DataFrame(tests.nemenyi, index=names, columns=names),
        cd=tests.cd,
        alpha=stats.ALPHA,
        ax=ax,
        label_fmt_left="{label}  {rank:.2f}",
        label_fmt_right="{rank:.2f}  {label}",
        label_props={"parse_math": False, "fontsize": 10},
        color_palette={name: style(k).colour for k, name in enumerate(names)},
        crossbar_props={"linewidth": 3},
        text_h_margin=0.05,
    )
    ax.set_xlabel(f"mean rank of {tests.title}, 1 is the best", fontsize=10)
    ax.xaxis.set_label_position("top")
    return figure


def caption(tests: stats.Tests) -> str:
    """What a diagram of critical differences shows, in a sentence; "" without a test."""
    if tests.friedman is None:
        return ""
    return (
        f"Mean ranks of {tests.title} over {len(tests.sets)} sets, the best on the left. Solvers under one bar lie "
        f"within Nemenyi's critical difference CD = {tests.cd:.2f} at the {stats.ALPHA:.0%} level "
        f"(Friedman's test: p = {tests.friedman.p:.2g})."
    )


def svg(figure: Figure) -> bytes:
    """The figure as SVG, text as outlines."""
    file = BytesIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()


def shortened(name: str) -> str:
    """A name that fits into a picture."""
    name = without_places(name)
    return name if len(name) <= _LONG else f"{name[: _LONG - 8]}...{name[-5:]}"
