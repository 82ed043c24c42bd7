"""A picture of a comparison: the results of each solver against time on each set and its mean ranks, or profiles."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from svmkit.compare.metrics import HIGHER, TITLES, as_shown
from svmkit.compare.results import Results, results_frame
from svmkit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from svmkit.compare.report.pictures import Style

_KINDS = ("means", "performance", "data")
NEAR = 0.1  # difference of mean ranks below which markers are drawn one below the other
RANKS = "mean ranks"  # the title of the last panel
_LOG = ("fit_s", "gap", "suboptimality", "n_iter", "kernel_values", "n_support")

_AXES = {"fit_s": "training time (s)", "gap": "certified gap", "n_support": "support vectors"}
_AXES |= {"n_samples": "training rows", "test_accuracy": "test accuracy", "test_r2": "test R2"}


def plot_comparison(
    records: str | Path | Results | pd.DataFrame | Iterable[dict[str, Any]],
    *,
    y: str | None = None,
    x: str = "fit_s",
    sets: Iterable[str] | None = None,
    kind: str = "means",
    goal: float | None = None,
) -> Figure:
    """Plot the result of each solver on each set against its time, and its mean ranks over the sets.

    A panel for each set has a marker for each solver, at the means over its runs, with lines to the smallest and the
    largest value. With two sets or more the last panel shows the mean ranks in both measures; 1 is the best.
    Alternatively, plot the share of the sets that each solver solves against the cost (`kind`).

    Parameters
    ----------
    records : str, Path, Results, DataFrame or iterable of dict
        The file of `svmkit compare --results`, its records, or the result of `results_frame`.
    y : str, default=None
        The measure, a column of `results_frame`: "gap", "test_accuracy", "test_r2", "suboptimality", "n_support", ...
        None is test_accuracy, test_r2 or gap, the first that is known.
    x : str, default="fit_s"
        The other measure.
    sets : iterable of str, default=None
        The sets to show; None shows all.
    kind : str, default="means"
        "means" as described; "performance" is the performance profile, the share of the problems that each solver
        solves within a multiple of the best solver's `x` ("fit_s", "kernel_values" or "n_iter"); "data" is the data
        profile, the share that it solves within an amount of `x`.
    goal : float, default=None
        The certified gap, or suboptimality, at which profiles count a problem as solved; None uses that of its stop
        rule.

    Returns
    -------
    matplotlib Figure
        A figure that pyplot does not manage; `figure.savefig("comparison.png")` saves it.

    Raises
    ------
    InputError
        A measure, set or kind is unknown, no run has both measures, or there is no problem on which every solver ran.

    Examples
    --------
    >>> from svmkit import plot_comparison
    >>> record = {"set": "iris", "status": "converged", "fit_s": 0.1, "gap": 1e-4}
    >>> figure = plot_comparison([record | {"label": "smo"}, record | {"label": "fcsmo", "fit_s": 0.2}])
    >>> figure.axes[0].get_title()
    'iris'
    """
    from svmkit.compare.report.pictures import grid, style

    frame: Any = records if hasattr(records, "columns") else results_frame(records)
    if kind not in _KINDS:
        raise InputError(f"{kind!r} is not a kind of picture of a comparison; known: {', '.join(_KINDS)}")
    if kind != "means":
        if y is not None:
            raise InputError(f"kind={kind!r} has no y: give the cost as x, and goal=GAP")
        return _profile(frame if sets is None else frame[frame["set"].isin(_known_sets(frame, sets))], x, kind, goal)
    if goal is not None:
        raise InputError("goal is for profiles: give kind='performance' or kind='data'")
    y = y or next((name for name in ("test_accuracy", "test_r2") if frame[name].notna().any()), "gap")
    for name in (x, y):
        if name not in TITLES or name not in frame.columns:
            raise InputError(f"{name!r} is not a measure of a comparison; known: {', '.join(TITLES)}")
    several = frame["stop"].nunique() > 1  # a solver with each of its stop rules
    pairs = zip(frame["solver"], frame["stop"].fillna(""), strict=True)
    frame = frame.assign(treatment=[f"{who} {stop}".strip() if several else str(who) for who, stop in pairs])
    treatments = list(dict.fromkeys(frame["treatment"]))
    order = list(dict.fromkeys(frame["set"])) if sets is None else _known_sets(frame, sets)
    usable = frame[np.isfinite(numbers(frame[x])) & np.isfinite(numbers(frame[y]))]
    shown = [name for name in order if (usable["set"] == name).any()]
    if not shown:
        raise InputError(f"nothing to draw: no run has both {x} and {y}")
    looks = {name: style(k) for k, name in enumerate(treatments) if (usable["treatment"] == name).any()}
    ranks = {name: _ranks(usable, shown, list(looks), name) for name in (x, y)}
    panels = [*shown, RANKS] if ranks[x] is not None and ranks[y] is not None else shown

    def panel(ax: Axes, name: str) -> None:
        if name == RANKS and name not in shown:
            _draw_ranks(ax, {title(key): of for key, of in ranks.items()}, looks)
        else:
            _draw_set(ax, usable[usable["set"] == name], looks, x, y)

    about = f"{title(y)} against {title(x)}: means of the runs, lines from the least to the largest"
    return grid(panels, looks, about, panel, lines=False)


def _known_sets(frame: pd.DataFrame, sets: Iterable[str]) -> list[str]:
    """Return the names of sets as a list, raising an error unless the runs have all of them."""
    sets, order = [sets] if isinstance(sets, str) else list(sets), list(dict.fromkeys(frame["set"]))
    if missing := [name for name in sets if name not in order]:
        raise InputError(f"there is no set {missing[0]!r} among the records; they have {', '.join(order)}")
    return sets


def _profile(frame: pd.DataFrame, x: str, kind: str, goal: float | None) -> Figure:
    """Return the picture of a profile."""
    from svmkit.compare.report.pictures import profile_panels
    from svmkit.compare.report.profiles import MEASURES, profile

    if x not in MEASURES:
        raise InputError(f"{x!r} is not a cost of a profile; known: {', '.join(MEASURES)}")
    if goal is not None and not goal > 0:
        raise InputError(f"goal needs a gap > 0, not {goal}")
    found = profile(frame.astype(object).where(frame.notna(), None).to_dict("records"), x, goal=goal)
    figure = profile_panels([found], [kind])
    if figure is None:
        raise InputError(f"nothing to draw: there is no set on which every solver has run and its {x} is known")
    return figure


def title(metric: str) -> str:
    """Return the title of an axis."""
    return _AXES.get(metric, TITLES.get(metric, metric))


def numbers(column: pd.Series) -> np.ndarray:
    """Return a column as float64, with nan for missing values."""
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _draw_set(ax: Axes, frame: pd.DataFrame, looks: dict[str, Style], x: str, y: str) -> None:
    from svmkit.compare.report.pictures import dress

    for name, how in looks.items():
        runs = frame[frame["treatment"] == name]
        if not len(runs):
            continue
        points = np.array([numbers(runs[x]), numbers(runs[y])])
        means = points.mean(axis=1, keepdims=True)
        spans = np.maximum([means - points.min(axis=1, keepdims=True), points.max(axis=1, keepdims=True) - means], 0.0)
        look = how.look | {"linestyle": "", "markersize": 7, "markeredgecolor": "white", "elinewidth": 1.0}
        ax.errorbar(means[0], means[1], yerr=spans[:, 1], xerr=spans[:, 0], **look)  # rounding may make a span < 0
    for metric, scale in ((x, ax.set_xscale), (y, ax.set_yscale)):
        if metric in _LOG and (numbers(frame[metric]) > 0).all():
            scale("log")
    ax.margins(0.15)
    if np.ptp(numbers(frame[y])) == 0.0 and ax.get_yscale() == "linear":
        middle = float(numbers(frame[y])[0])
        ax.set_ylim(middle - 0.01, middle + 0.01)
    dress(ax, title(x), title(y))


def _ranks(frame: pd.DataFrame, sets: list[str], treatments: list[str], metric: str) -> dict[str, float] | None:
    """Return the mean rank of each solver over the sets on which all have a value; None for fewer than two of each."""
    from scipy.stats import rankdata

    sign = -1.0 if metric in HIGHER else 1.0
    means = frame.assign(value=numbers(frame[metric])).groupby(["set", "treatment"])["value"].mean()
    rows = [[means.get((name, who), np.nan) for who in treatments] for name in sets]
    whole = [[sign * as_shown(metric, float(v)) for v in row] for row in rows if np.isfinite(row).all()]
    if len(whole) < 2 or len(treatments) < 2:
        return None
    return dict(zip(treatments, rankdata(whole, axis=1).mean(axis=0).tolist(), strict=True))


def _draw_ranks(ax: Axes, ranks: dict[str, dict[str, float] | None], looks: dict[str, Style]) -> None:
    """Draw a line of markers for each measure, at the mean ranks of the solvers."""
    for row, of in enumerate(ranks.values()):
        drawn: list[float] = []
        for name, rank in (of or {}).items():
            look = looks[name].look | {"linestyle": "", "markersize": 8, "markeredgecolor": "white"}
            ties = sum(abs(rank - other) < NEAR for other in drawn)  # markers that would overlap
            ax.plot([rank], [row + 0.12 * ties], **look)
            drawn.append(rank)
    ax.set(ylim=(len(ranks) - 0.5, -0.5), xlim=(0.7, len(looks) + 0.3))
    ax.set_yticks(range(len(ranks)), labels=list(ranks), fontsize=9)
    ax.set_xlabel("mean rank, 1 is the best", fontsize=9)
    ax.tick_params(labelsize=8)
    ax.grid(axis="x", color="0.9", linewidth=0.6)
    ax.spines[["top", "right", "left"]].set_visible(False)
