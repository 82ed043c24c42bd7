"""The picture of a search: its metric as a contour over two numbers, or as lines with error bars over one."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from svmkit.errors import InputError
from svmkit.runtime.packages import require_installed
from svmkit.scoring.metric import Metric
from svmkit.tune.result import Candidate
from svmkit.tune.space import Path as Setting

KINDS = (".png", ".svg", ".pdf")
LEVELS = 12  # number of colour levels
LEAST = 0.5  # per cent that the colours span at least
BELOW = (2.0, 0.5)  # per cent below the best at which lines are drawn: a plateau has one colour
LINES = 8  # at most in one picture; with more settings, only the best at each place is drawn
CHARACTERS = 100  # in a line of the legend, at most
STAR: dict[str, Any] = {"color": "crimson", "markeredgecolor": "white", "markersize": 17, "zorder": 5}  # the best
WIDE = 20.0  # ratio of the largest to the smallest value above which an axis is logarithmic


def require_format(path: str) -> None:
    """Raise InputError unless the file extension is a known format and the plotting library is installed."""
    require_installed("pictures", "matplotlib")
    if Path(path).suffix.lower() not in KINDS:
        raise InputError(f"cannot draw {path}: the name has to end in {', '.join(KINDS)}")


def require_drawable(path: str, among: Sequence[Setting]) -> None:
    """Raise InputError unless the file extension is a known format and a number differs among the settings."""
    require_format(path)
    for name in among[0].values:
        values = {p.values[name] for p in among if name in p.values}
        if len(values) > 1 and (name == "gamma" or not any(isinstance(v, bool | str) for v in values)):
            return
    if not any(len(p.Cs) > 1 for p in among):
        raise InputError("there is nothing to draw: search C, gamma or another number at more than one value")


def axes_of(candidates: Sequence[Candidate]) -> list[str]:
    """Return the names of the numbers that differ among the candidates, C and gamma first."""
    names = ["C", "gamma", *(name for name in candidates[0].params if name not in ("C", "gamma"))]
    # a number that only some kernels have is not an axis
    values = {name: {value(c, name) for c in candidates} for name in names}
    return [name for name in names if len(values[name]) > 1 and None not in values[name]]


def name_kernels(candidates: Sequence[Candidate]) -> str:
    """Return the kernels that were tried, each with its gamma unless that is searched."""
    named = dict[str, None]()
    for c in candidates:
        rule = c.kernel.params.get("gamma")
        shown = rule if isinstance(rule, str) or rule is None else f"{rule:.4g}"
        is_fixed = shown is not None and "gamma" not in c.params
        named[f"{c.kernel.name} (gamma={shown})" if is_fixed else c.kernel.name] = None
    *first, last = sorted(named)
    return f"{', '.join(first)} and {last} kernels" if first else f"{last} kernel"


def value(candidate: Candidate, name: str) -> float | None:
    """Return the value of `name` as a number, also for gamma="scale"; None if it is not a number."""
    if name in ("C", "gamma"):
        return getattr(candidate, name)
    found = candidate.params.get(name)
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def draw(candidates: Sequence[Candidate], path: str | Path, title: str, metric: Metric) -> None:
    """Write the picture of the candidates to a file; raise InputError if it cannot be written.

    Parameters
    ----------
    candidates : sequence of Candidate
        Best first; at least one number differs among them (see `axes_of`).
    path, title : str or Path, str
        The file, whose ending gives the format, and the title of the picture.
    metric : Metric
        The metric of the comparison; a share is drawn in per cent.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    tried = [c for c in candidates if not c.failed]
    names = axes_of(tried) or ["C"]
    figure = Figure(figsize=(7.5, 5.6) if len(names) > 1 else (7.5, 4.8), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    if len(names) > 1:
        _contour(figure, axes, tried, names, metric)
    else:
        _lines(axes, tried, names[0], metric)
    axes.set_title(title, fontsize=11, loc="left")
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}; give another path") from None


def _contour(figure: Any, axes: Any, tried: Sequence[Candidate], names: Sequence[str], metric: Metric) -> None:
    scale = 100.0 if metric.is_share else 1.0
    (to_x, to_y), best = [_axis(axes, tried, name, k) for k, name in enumerate(names[:2])], tried[0]
    top: dict[tuple[float, float], float] = {}  # over all other searched options
    for c in tried:
        at = to_x(value(c, names[0])), to_y(value(c, names[1]))
        top[at] = max(top.get(at, -math.inf), scale * c.mean_score)
    x, y = np.array(list(top)).T
    z = np.array(list(top.values()))
    drawn = _fill(axes, x, y, z, scale)
    axes.use_sticky_edges = False
    axes.margins(0.03)
    axes.plot(x, y, ".", color="0.15", markersize=4, label="tried")
    at = to_x(value(best, names[0])), to_y(value(best, names[1]))
    axes.plot(*at, "*", label=_name(tried, names, metric), **STAR)
    figure.colorbar(drawn, ax=axes, label=_title(metric))
    others = [name for name in tried[0].params if name not in names[:2]]
    note = f"best over {', '.join(others)}" if others else None
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2, frameon=False, title=note)


def _fill(axes: Any, x: np.ndarray, y: np.ndarray, z: np.ndarray, scale: float) -> Any:
    """Draw filled contours of a complete grid, else of a triangulation; draw dots if the points span no area."""
    from matplotlib.ticker import MaxNLocator

    levels = MaxNLocator(LEVELS).tick_values(z.min(), max(z.max(), z.min() + LEAST * scale / 100))
    xs, ys = np.unique(x), np.unique(y)
    whole = len(z) == len(xs) * len(ys)
    fill, lines, data = axes.tricontourf, axes.tricontour, (x, y, z)
    if whole:
        table = np.empty((len(ys), len(xs)))
        table[np.searchsorted(ys, y), np.searchsorted(xs, x)] = z
        fill, lines, data = axes.contourf, axes.contour, (xs, ys, table)
    try:
        drawn = fill(*data, levels=levels, cmap="viridis")
    except (ValueError, RuntimeError):  # fewer than three points, or all on one line
        return axes.scatter(x, y, c=z, s=160, cmap="viridis", vmin=levels[0], vmax=levels[-1])
    below = [at for points in BELOW if (at := z.max() - points * scale / 100) > z.min()]
    if below:
        digits = "%.1f" if scale > 1 else "%.3f"
        axes.clabel(lines(*data, levels=below, colors="black", linewidths=0.7), fmt=digits, fontsize=8)
    return drawn


def _lines(axes: Any, tried: Sequence[Candidate], name: str, metric: Metric) -> None:
    to_x, best, scale = _axis(axes, tried, name, 0), tried[0], 100.0 if metric.is_share else 1.0
    lines = defaultdict(list)
    for c in tried:
        lines[", ".join(f"{k}={v}" for k, v in c.params.items() if k != name)].append(c)
    if len(lines) > LINES:
        best_at = {value(c, name): c for c in reversed(tried)}  # the best comes first among the candidates
        lines = {f"best of {len(lines)} settings": list(best_at.values())}  # type: ignore[assignment]
    for label, points in lines.items() if len(lines) > 1 else [("", tried)]:
        points = sorted(points, key=lambda c: value(c, name) or 0.0)
        x = [to_x(value(c, name)) for c in points]
        mean, std = (scale * np.array([getattr(c, k) for c in points]) for k in ("mean_score", "std_score"))
        axes.errorbar(x, mean, std, fmt="o-", markersize=4, capsize=3, linewidth=1.3, label=label or None)
    axes.plot(to_x(value(best, name)), scale * best.mean_score, "*", label=_name(tried, [name], metric), **STAR)
    axes.set_ylabel(f"{_title(metric)}\n(bars: standard deviation over the folds)")
    axes.grid(alpha=0.3)
    widest = max(len(text) for text in axes.get_legend_handles_labels()[1])
    columns = min(3, max(1, CHARACTERS // (widest + 6)))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=columns, frameon=False)


def _axis(axes: Any, tried: Sequence[Candidate], name: str, k: int) -> Callable[[Any], float]:
    """Label the k-th axis, and return the function from a value to its place on the axis."""
    values = [value(c, name) or 0.0 for c in tried]
    logarithmic = min(values) > 0 and (name in ("C", "gamma") or max(values) / min(values) > WIDE)
    axis = (axes.xaxis, axes.yaxis)[k]
    axis.set_label_text(f"{name}  (log scale)" if logarithmic else name)
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

    if not logarithmic:
        axis.set_major_locator(MaxNLocator(8, integer=all(at == round(at) for at in values)))
        return float
    # places on log axes are log10 of the values, marked 10^k: contours are then straight between neighbours
    low, high = math.log10(min(values)), math.log10(max(values))
    marks = [math.log10(m) + k for k in range(math.floor(low) - 1, math.ceil(high) + 1) for m in range(1, 10)]
    axis.set_minor_locator(FixedLocator(marks))
    if high - low >= 1.5:
        axis.set_major_locator(MaxNLocator(8, integer=True))
        axis.set_major_formatter(FuncFormatter(lambda at, _: f"$10^{{{at:.0f}}}$"))
    else:
        if high - low > 0.5:
            axis.set_major_locator(FixedLocator(sorted(at for k in (0, 1, 4) for at in marks[k::9])))
        axis.set_major_formatter(FuncFormatter(lambda at, _: f"{10**at:.3g}"))
    return math.log10


def _title(metric: Metric) -> str:
    return f"{metric.title} in cross-validation{', %' if metric.is_share else ''}"


def _name(tried: Sequence[Candidate], names: Sequence[str], metric: Metric) -> str:
    """Return the note on the first candidate, which is not always the one with the highest score."""
    best, highest = tried[0], max(c.mean_score for c in tried)
    known = {name: value(best, name) for name in names} | {k: v for k, v in best.params.items() if k not in names}
    shown = ", ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in known.items())
    value_text = f"{100 * best.mean_score:.2f} %" if metric.is_share else f"{best.mean_score:.4f}"
    return f"{'best' if best.mean_score >= highest else 'chosen'}: {value_text} at {shown}"
