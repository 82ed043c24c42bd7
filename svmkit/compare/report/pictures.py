"""The curves of a comparison, and its static pictures: gaps, accuracies, reliability, profiles, mean ranks."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from svmkit.compare.metrics import BASE, TITLES
from svmkit.compare.report import stats
from svmkit.compare.report.profiles import Profile, profiles
from svmkit.compare.report.words import short_names
from svmkit.compare.results import NO_MODEL, Results
from svmkit.errors import SvmkitError
from svmkit.plotting import draw_reliability
from svmkit.runtime.packages import require_installed
from svmkit.scoring.probability_scores import Reliability
from svmkit.tasks import task_named

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours without yellow and black, which are invisible on a light or on a dark page
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")
DASHES = ("solid", "dash", "dot", "dashdot")  # 7 and 4 have no common factor: 28 solvers look different
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x")
_LINESTYLES = {"solid": "-", "dash": (0, (5, 2)), "dot": (0, (1, 1.4)), "dashdot": (0, (5, 1.5, 1, 1.5))}
_MARKERS = {"circle": "o", "square": "s", "diamond": "D", "triangle-up": "^", "x": "X"}
COLUMNS = ("seconds", "n_iter", "n_support", "gap", "accuracy")
_AXES = {
    "seconds": "training time (seconds)",
    "gap": "relative duality gap",
    "accuracy": "test accuracy (%)",
    "n_support": "support vectors",
}
_KINDS = {"time-gap": ("seconds", "gap"), "time-accuracy": ("seconds", "accuracy")} | {
    "support-accuracy": ("n_support", "accuracy")
}
_HOW = {
    "gap": "lines as estimated on the way, markers as certified at the end",
    "accuracy": "lines on the way, left out far below the results, markers at the end",
}
BELOW = 0.1  # accuracies are drawn down to this far below the worst result: early models can be arbitrarily bad


class Style(NamedTuple):
    """The style in which a treatment is drawn, with Plotly's names of the dash and of the marker."""

    colour: str
    dash: str
    symbol: str

    @property
    def look(self) -> dict[str, Any]:
        """The style as keywords of matplotlib."""
        return {"color": self.colour, "linestyle": _LINESTYLES[self.dash], "marker": _MARKERS[self.symbol]}


class Curve(NamedTuple):
    """The history of one run."""

    set: str
    treatment: str
    run: str  # its seed and split in words
    status: str  # how it ended
    end: dict[str, float | None]  # the `COLUMNS` at the end, with the certified gap
    measure: str  # what "accuracy" means, R2 for regression
    # the columns during the run, with the solver's own estimate of the gap: empty for more than two classes, whose many
    # problems are solved in sequence, and for software that does not report its progress
    columns: dict[str, list[float | None]]

    @property
    def ends(self) -> dict[str, list[float | None]]:
        """The end as columns of length 1."""
        return {name: [value] for name, value in self.end.items()}


def style(index: int) -> Style:
    """Return the style of the treatment with this index."""
    return Style(COLOURS[index % 7], DASHES[index % 4], SYMBOLS[index % 5])


def curves(results: Results) -> list[Curve]:
    """Return the curves of all runs that have a model, in the order of the records."""
    return [_curve(record) for record in results.records if record["status"] not in NO_MODEL]


def floor(values: Sequence[float | None]) -> float | None:
    """Return the place of values <= 0 on a log axis, a third of the least positive value; None without such values."""
    positive = [value for value in values if value is not None and value > 0]
    return min(positive) / 3.0 if positive and any(v is not None and v <= 0 for v in values) else None


def _curve(record: dict[str, Any]) -> Curve:
    history, evaluation = record.get("history") or {}, task_named(record.get("task")).evaluation
    if evaluation.grows in history:
        history = history | {"accuracy": history[evaluation.grows]}
    size = min((len(history.get(name, ())) for name in COLUMNS), default=0)
    binary = len(record.get("classes") or ()) <= 2
    columns = {name: [finite(v) for v in history[name][:size]] for name in COLUMNS} if size and binary else {}
    ends = ("fit_s", "n_iter", "n_support", "gap", evaluation.tested)
    end = {name: finite(record.get(key)) for name, key in zip(COLUMNS, ends, strict=True)}
    run = f"seed {record['seed']}" if record.get("split") is None else f"split {record['split']}, seed {record['seed']}"
    return Curve(record["set"], treatment(record), run, record["status"], end, evaluation.measured_of(record), columns)


def treatment(record: dict[str, Any]) -> str:
    """Return the solver of a record, with its stop rule if there are several (`Row.treatment`)."""
    return f"{record['label']} {record['stop']}" if record.get("stop") else str(record["label"])


def finite(value: Any) -> Any:
    """Return the value; None if it is missing or not finite."""
    return value if value is not None and math.isfinite(value) else None


def draw(results: Results, folder: str | Path, stem: str) -> list[Path]:
    """Write the pictures that have content, as STEM-KIND.png in a folder, and return their paths.

    The kinds are time-gap, time-accuracy and support-accuracy, with a panel for each set, and cd-METRIC, the diagram of
    critical differences of each tested metric (two sets and three treatments at least), reliability, and profiles
    (three sets at least). Raises SvmkitError: a file cannot be written.
    """
    drawn: dict[str, Figure | None] = {kind: panels(results, *axes) for kind, axes in _KINDS.items()}
    drawn["reliability"] = reliability(results)
    drawn["profiles"] = profile_panels(profiles(results))
    drawn |= {f"cd-{tests.metric}": difference_diagram(tests, results.treatments) for tests in stats.over_sets(results)}
    paths = []
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for kind, figure in drawn.items():
            if figure is not None:
                paths.append(Path(folder) / f"{stem}-{kind}.png")
                figure.savefig(paths[-1], dpi=150)
    except OSError as error:
        raise SvmkitError(f"cannot write pictures to {folder}: {error.strerror}") from None
    return paths


def panels(results: Results, x: str, y: str) -> Figure | None:
    """Draw a panel for each set, with a line for each run and a marker at its end; None if no run has both columns."""
    at = {name: k for k, name in enumerate(results.treatments)}
    ended = [curve for curve in curves(results) if len(_points(curve.ends, x, y))]
    sets = [name for name in results.sets if any(curve.set == name for curve in ended)]
    if not sets:
        return None
    measures = list(dict.fromkeys(curve.measure for curve in ended))
    named = " or ".join(_axis(y, measure) for measure in measures) if y == "accuracy" else _AXES[y]
    treatments = [t for t in results.treatments if any(curve.treatment == t for curve in ended)]

    def panel(ax: Axes, name: str) -> None:
        _panel(ax, [(curve, style(at[curve.treatment])) for curve in ended if curve.set == name], x, y)

    return grid(sets, {t: style(at[t]) for t in treatments}, f"{named} over {_AXES[x]}: {_HOW[y]}", panel)


def reliability(results: Results) -> Figure | None:
    """Draw for each set the calibration of its solvers' probabilities, over all runs; None without probabilities."""
    bins: dict[str, dict[str, list[dict[str, Any]]]] = {}
    titles: dict[str, str] = {}
    base: dict[str, list[float]] = {}
    for record in results.records:
        if measured := record.get("test_reliability"):
            bins.setdefault(record["set"], {}).setdefault(treatment(record), []).extend(measured["bins"])
            titles[record["set"]] = measured["of"]
            if record.get(BASE[0]) is not None:  # records of earlier versions have none
                base.setdefault(record["set"], []).append(record[BASE[0]])
    sets = [name for name in results.sets if name in bins]
    if not sets:
        return None
    looks = {t: style(k) for k, t in enumerate(results.treatments) if any(t in bins[name] for name in sets)}

    def panel(ax: Axes, name: str) -> None:
        lines = [(Reliability.from_plain(bins[name][t]), how.look) for t, how in looks.items() if t in bins[name]]
        draw_reliability(ax, [(line, look | {"markersize": 5, "linewidth": 1.3}) for line, look in lines])
        of_base = f"\nlog loss of the base rate: {np.mean(base[name]):.4f}" if name in base else ""
        ax.set_xlabel(f"predicted probability of the {titles[name]}{of_base}", fontsize=9, parse_math=False)

    return grid(sets, looks, "how often predictions come true: bars count them, the diagonal is perfect", panel)


def profile_panels(found: Sequence[Profile], kinds: Sequence[str] = ("performance", "data")) -> Figure | None:
    """Draw a panel for each profile and kind, with a line of steps for each solver; None without problems.

    If solvers have the same shares, the line and the markers of the one behind are wider.
    """
    titles = {f"{kind}: {TITLES[one.measure]}": (one, kind) for one in found for kind in kinds if one.problems}
    if not titles:
        return None
    solvers = list(dict.fromkeys(name for one, _ in titles.values() for name in one.solvers))
    looks = {name: style(k) for k, name in enumerate(solvers)}
    goals = " or ".join(f"{goal:g}" for goal in sorted({goal for one, _ in titles.values() for goal in one.goals}))
    about = f"share of the problems that a solver brings to the certified gap {goals} of its own problem"
    return grid(list(titles), looks, about, lambda ax, name: _profile_panel(ax, *titles[name], looks))


def _profile_panel(ax: Axes, one: Profile, kind: str, looks: dict[str, Style]) -> None:
    """Draw the lines of a profile across the axis, with markers where they increase."""
    lines = {name: one.steps(name, kind) for name in one.solvers}
    places = np.concatenate([at for at, _ in lines.values()])
    least = 1.0 if kind == "performance" or not places.size else float(places.min())
    right = 1.3 * float(places.max(initial=3.0 * least))
    left = least / (right / least) ** 0.03
    for (name, (at, share)), wide in zip(lines.items(), np.linspace(1.0, 0.4, len(lines)), strict=True):
        bare, dots = looks[name].look | {"marker": ""}, looks[name].look | {"linestyle": ""}
        ends = (np.r_[left, at, right], np.r_[0.0, share, share[-1:] if share.size else 0.0])
        ax.step(*ends, where="post", **bare, linewidth=3.2 * wide)
        ax.plot(at, share, **dots, markersize=3.5 + 2.5 * wide, markeredgecolor="white", markeredgewidth=0.5)
    ax.set_xscale("log")
    ax.set(xlim=(left, right), ylim=(-0.03, 1.04))
    ax.set_yticks([0.0, 0.25, 0.5, 0.75, 1.0], labels=["0 %", "25 %", "50 %", "75 %", "100 %"])
    title = _AXES["seconds"] if one.measure == "fit_s" else TITLES[one.measure]
    title = f"{TITLES[one.measure]} as a multiple of the best" if kind == "performance" else title
    dress(ax, title, f"share of {len(one.problems)} problem{'s' * (len(one.problems) > 1)}")


def grid(
    sets: list[str], looks: dict[str, Style], about: str, panel: Callable[[Axes, str], None], *, lines: bool = True
) -> Figure:
    """Return a figure with a panel for each set, which `panel(axes, set)` fills, and a legend of the treatments.

    Parameters
    ----------
    sets, looks, about, panel : list of str, dict of str to Style, str, callable
        The titles of the panels; the treatments, for the legend; the content of the figure; a function that draws a
        set.
    lines : bool, default=True
        Whether the legend has lines beside the markers.
    """
    require_installed("pictures", "matplotlib")
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    columns = 2 if len(sets) == 4 else min(len(sets), 3)
    rows = -(-len(sets) // columns)
    wide = max(4.6 * columns, 6.0)
    per_line = max(1, int(wide // 2.2))
    legend = 0.25 * -(-len(looks) // per_line) + 0.2
    figure = Figure(figsize=(wide, 3.5 * rows + legend), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    figure.suptitle("\n".join(textwrap.wrap(about, int(12 * wide))), fontsize=10)
    for ax, name, title in zip(axes, sets, short_names(sets), strict=False):
        panel(ax, name)
        ax.set_title(title, fontsize=10, parse_math=False)
    for ax in axes[len(sets) :]:
        ax.set_visible(False)
    shared: dict[str, Any] = {"linewidth": 1.5, "markersize": 5.5 if lines else 7, "markeredgecolor": "white"}
    bare = {} if lines else {"linestyle": ""}
    handles = [Line2D([], [], **shared, **(how.look | bare)) for how in looks.values()]
    box = figure.legend(handles, short_names(list(looks)), loc="outside lower center", ncols=per_line, frameon=False)
    for text in box.get_texts():
        text.set(parse_math=False, fontsize=9)
    return figure


def _panel(ax: Axes, lines: list[tuple[Curve, Style]], x: str, y: str) -> None:
    """Draw the runs of a set: gaps <= 0 at a separate place, no accuracies far below the results."""
    drawn = [(_points(curve.columns, x, y), _points(curve.ends, x, y)) for curve, _ in lines]
    low: float | None = min((end[0, 1] for _, end in drawn), default=BELOW) - BELOW
    if y == "gap":
        low = floor([b for parts in drawn for part in parts for b in part[:, 1]])
    alpha = 0.6 if len({curve.run for curve, _ in lines}) > 1 else 1.0
    for (curve, how), (line, end) in zip(lines, drawn, strict=True):
        for part in (line, end):
            if y == "accuracy":
                part[part[:, 1] < low, 1] = np.nan
                part[:, 1] *= 100.0 if curve.measure == "accuracy" else 1.0
            elif low is not None:
                part[part[:, 1] <= 0, 1] = low
        ax.plot(*line.T, **how.look | {"marker": ""}, linewidth=1.3, alpha=alpha)
        ax.plot(*end.T, **how.look | {"linestyle": ""}, markersize=5.5, markeredgecolor="white")
    ax.set_xscale("log")
    ax.margins(0.06)
    if y == "gap":
        ax.set_yscale("log")
    dress(ax, _AXES[x], _axis(y, lines[0][0].measure))


def dress(ax: Axes, x: str, y: str) -> None:
    """Set the labels, the grid, and the ticks of logarithmic axes: decades, or 1, 2 and 5 if there are few decades."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    for axis in (ax.xaxis, ax.yaxis):
        if axis.get_scale() != "log":
            continue
        low, high = axis.get_view_interval()
        if high / low < 100:
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.set_minor_formatter(NullFormatter())
    ax.set_xlabel(x, fontsize=9)
    ax.set_ylabel(y, fontsize=9)
    ax.tick_params(labelsize=8)
    ax.grid(color="0.9", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def _points(of: Mapping[str, Sequence[float | None]], x: str, y: str) -> np.ndarray:
    """Return the known points (n, 2) of two columns, with x > 0."""
    pairs = zip(of.get(x, ()), of.get(y, ()), strict=True)
    return np.array([(a, b) for a, b in pairs if a is not None and b is not None and a > 0], dtype=float).reshape(-1, 2)


def _axis(y: str, measure: str) -> str:
    """Return the title of an axis; the accuracy of a regression is R2."""
    return "test R2" if y == "accuracy" and measure == "R2" else _AXES[y]


def difference_diagram(tests: stats.Tests, treatments: list[str]) -> Figure | None:
    """Draw mean ranks on a line, the best on the left, with bars over ranks within Nemenyi's critical difference.

    The colours are those of all treatments of the comparison. None for fewer than two sets or three treatments.
    """
    if tests.friedman is None or tests.nemenyi is None or len(tests.treatments) < 3:
        return None
    import pandas as pd
    import scikit_posthocs
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    names, ranks = short_names(tests.treatments), tests.friedman.ranks
    colours = [style(treatments.index(name)).colour for name in tests.treatments]
    figure = Figure(figsize=(9.0, 1.6 + 0.3 * ((len(names) + 1) // 2 + 2)), layout="constrained")
    ax = figure.subplots()
    scikit_posthocs.critical_difference_diagram(
        pd.Series(ranks, index=names),
        pd.DataFrame(tests.nemenyi, index=names, columns=names),
        alpha=stats.ALPHA,
        ax=ax,
        label_fmt_left="{label}  {rank:.2f} ",
        label_fmt_right=" {rank:.2f}  {label}",
        label_props={"parse_math": False, "fontsize": 10},
        color_palette=dict(zip(names, colours, strict=True)),
        crossbar_props={"linewidth": 3},
        text_h_margin=0.03 * float(np.ptp(ranks)),
    )
    left, right = float(ranks.min()), float(ranks.min()) + float(tests.cd or 0.0)
    ax.errorbar([(left + right) / 2], [2.2], xerr=[(right - left) / 2], color="black", capsize=4)
    ax.text(right, 2.2, f"  CD = {tests.cd:.2f}", va="center", fontsize=10)
    ax.set_ylim(top=3.0)
    ax.set_xlim(1 - 0.02 * len(names), max(len(names), right) + 0.02 * len(names))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=10, steps=[1, 2, 5, 10]))
    ax.set_title(f"mean rank of {tests.title}, 1 is the best", fontsize=10)
    return figure


def caption(tests: stats.Tests) -> str:
    """Return the caption of a diagram of critical differences; "" without a test."""
    if tests.friedman is None:
        return ""
    return (
        f"Mean ranks of {tests.title} over {len(tests.sets)} sets, the best on the left. Solvers under one bar lie "
        f"within Nemenyi's critical difference CD = {tests.cd:.2f} at the {stats.ALPHA:.0%} level "
        f"(Friedman's test: p = {tests.friedman.p:.2g})."
    )
