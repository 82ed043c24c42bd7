"""Learning curves: accuracy, time and gap of solvers against the number of training rows, and the growth of time.

The curve of `train --curve` is something else: accuracy against the size of one model as it grows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from svmkit.compare.cells import runner
from svmkit.compare.cells.store import Store
from svmkit.compare.plan.sets import prepare
from svmkit.compare.plan.spec import Cell, Spec, read
from svmkit.compare.plan.testing import HOLD_OUT
from svmkit.compare.report.plots import numbers, title
from svmkit.compare.results import Results, results_frame
from svmkit.data.classes import answers
from svmkit.errors import InputError
from svmkit.runtime.packages import require_installed
from svmkit.scoring.metric import MAE, RMSE
from svmkit.scoring.metric import title as scoring_title
from svmkit.tasks import task_named
from svmkit.training.settings import resolve

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

POINTS = 6  # sizes, if none are given
LEAST = 50  # training rows of the smallest default size
SLOW = 0.01  # seconds below which costs that do not depend on the rows are a large part of a time
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Growth:
    """How fast the training time of a solver grows: time ~ rows^exponent."""

    solver: str
    exponent: float  # the slope of the mean of log(time) over log(rows), by least squares over the sizes
    low: float  # its interval of 95% by Student's t, from the means of log(time) at the sizes
    high: float
    sizes: tuple[int, ...]  # the numbers of rows that count
    # whether only sizes with a mean time of at least `SLOW` seconds count, as they do if there are at least three;
    # otherwise constant costs bias the exponent downward
    is_slow: bool

    def __str__(self) -> str:
        text = (
            f"{self.solver}: time grows as rows^{self.exponent:.2f} (95% interval {self.low:.2f} to {self.high:.2f}; "
            f"{len(self.sizes)} sizes, {self.sizes[0]:,} to {self.sizes[-1]:,} rows)"
        )
        return text if self.is_slow else f"{text}, constant costs included: fits below {1e3 * SLOW:.0f} ms count too"


def learning_curve(
    source: str,
    solvers: Sequence[str] = ("auto",),
    *,
    sizes: Sequence[int] | None = None,
    repeats: int = 3,
    results: str | Path | None = None,
    time_limit: float = 300.0,
    threads: int | None = None,
    **settings: Any,
) -> pd.DataFrame:
    """Train solvers on increasing numbers of rows, and measure each model on the same test rows.

    Parameters
    ----------
    source : str
        A file, or the name of a set.
    solvers : sequence of str, default=("auto",)
        The names of the solvers.
    sizes : sequence of int, default=None
        The numbers of training rows; None gives six of them, up to all, in equal ratios.
    repeats : int, default=3
        The number of samples of each size. Samples with the same number are nested. For a ranking they consist of whole
        groups, except for the last of each.
    results : str or Path, default=None
        The file that stores finished runs, from which a later call continues; None stores none.
    time_limit : float, default=300.0
        Seconds for one run.
    threads : int, default=None
        The number of threads; None uses all cores.
    **settings : object
        Keys of a comparison's spec, such as test, kernel, C, gamma, scale, stop.

    Returns
    -------
    pandas.DataFrame
        As `results_frame`; n_samples is the number of training rows. Ctrl-C returns the finished runs.

    Raises
    ------
    InputError
        A name, size or setting is invalid.

    Examples
    --------
    >>> from svmkit.compare import learning_curve
    >>> frame = learning_curve("iris", ["libsvm"], sizes=[60], repeats=1, test=0.2)
    >>> frame["n_samples"].tolist()
    [60]
    """
    raw = {"name": "learning curve", "data": [source], "solvers": list(solvers), "time_limit": time_limit, **settings}
    spec = with_test(read(raw))
    cells, store = learning_cells(spec, sizes, repeats), Store(results)
    runner.run(cells, store, limit=spec.time_limit, threads=threads, curve=False)
    return results_frame(store.records_of(cells))


def with_test(spec: Spec) -> Spec:
    """Return the spec with a quarter of the rows held out if the data have no test set."""
    data = {
        name: about | ({"test": {"hold_out": HOLD_OUT, "seed": 0}} if about["test"] is None else {})
        for name, about in spec.data.items()
    }
    return replace(spec, data=data)


def learning_cells(spec: Spec, sizes: Sequence[int] | None, repeats: int) -> list[Cell]:
    """Return the cells of a learning curve, from few rows to many.

    Raises InputError: the spec has several problems, or a size is not between 2 and the number of training rows.
    """
    if len(spec.data) != 1 or len({cell.split for cell in spec.cells()}) != 1:
        raise InputError("a learning curve shows one problem: give one set, one C, one gamma, and no splits")
    if repeats < 1:
        raise InputError(f"repeats must be at least 1, not {repeats}")
    first, *_ = spec.cells()
    train = prepare(first.settings["data"]).train
    for cell in spec.cells(seeds=1):
        resolve(cell.training, train.task).problem_type()  # a solver that cannot learn it is refused before any fit
    of_all: dict[str, str] = {}
    if first.settings["data"].get("metric") is None and task_named(train.task).has_classes:
        metric = resolve(first.training, train.task).metric(None, *answers(train)).name  # few rows may differ
        of_all = {} if metric == "accuracy" else {"metric": metric}
    n = train.n_samples
    sizes = sorted(set(sizes)) if sizes else default_sizes(n)
    for size in sizes:
        if not 2 <= size <= n:
            raise InputError(f"{size:,} rows cannot be trained on: {first.data} has {n:,} training rows")
    cells = []
    for size in sizes:
        for at in range(repeats):
            for cell in spec.cells(seeds=1):
                data = cell.settings["data"] | {"sample": [int(size), at]} | of_all
                settings = cell.settings | {"data": data, "seed": at}
                cells.append(replace(cell, data=f"{cell.data} {size} rows", seed=at, settings=settings))
    return cells


def default_sizes(n: int) -> list[int]:
    """Return up to `POINTS` numbers of rows in equal ratios, from about a thirtieth of n to n."""
    least = min(n, max(LEAST, n // 32))
    return sorted({round(float(size)) for size in np.geomspace(least, n, POINTS)})


def growth(frame: pd.DataFrame) -> list[Growth]:
    """Return the growth of training time of each solver in a frame with at least three sizes.

    Only runs that converged count. Each size is one observation, whatever the number of its repeats: they share rows
    (all of them at the full size), and by how far the size lies off the line.
    """
    from scipy.stats import linregress, t

    slopes = []
    for solver in dict.fromkeys(frame["solver"]):
        runs = frame[(frame["solver"] == solver) & (frame["status"] == "converged")]
        rows, seconds = numbers(runs["n_samples"]), numbers(runs["fit_s"])
        sizes = np.unique(rows)
        fast = [size for size in sizes if seconds[rows == size].mean() < SLOW]
        slow = sizes[sizes > max(fast, default=0)]
        is_slow = len(slow) >= 3
        chosen = slow if is_slow else sizes
        if len(chosen) < 3:
            continue
        line = linregress(np.log(chosen), [np.log(seconds[rows == size]).mean() for size in chosen])
        room = float(t.ppf(0.5 + CONFIDENCE / 2, len(chosen) - 2)) * float(line.stderr)
        slope = float(line.slope)
        slopes.append(Growth(str(solver), slope, slope - room, slope + room, tuple(map(int, chosen)), is_slow))
    return slopes


def tested_columns(frame: pd.DataFrame) -> list[str]:
    """Return the columns of a frame that say how good models are on test rows: accuracy or R2, then another metric."""
    own = {RMSE: "test_rmse", MAE: "test_mae"}  # measured of all quantities, and shown where they are asked for
    asked = [own[name] for name in frame["metric"].dropna().unique() if name in own]
    return [name for name in ("test_accuracy", "test_r2", *asked, "test_metric") if frame[name].notna().any()]


def title_of_metric(frame: pd.DataFrame) -> str:
    """Return the title of the column `test_metric` of a frame of one problem."""
    return next((scoring_title(name) for name in frame["metric"].dropna()), "metric")


def plot_learning_curve(records: str | Path | Results | pd.DataFrame | Iterable[dict[str, Any]]) -> Figure:
    """Plot accuracy (or R2), the metric, training time and certified gap against the number of training rows.

    Lines are means over the repeats, shaded areas range from the smallest to the largest value; the legend has the
    exponents of `growth`. The metric is one besides accuracy or R2, or that of a ranking.

    Parameters
    ----------
    records : str, Path, Results, DataFrame or iterable of dict
        The result of `learning_curve`, or the file of `svmkit curve --out`.

    Returns
    -------
    matplotlib Figure
        A figure that pyplot does not manage; `figure.savefig("curve.png")` saves it.

    Raises
    ------
    InputError
        No run has a model.

    Examples
    --------
    >>> from svmkit.compare import plot_learning_curve
    >>> record = {"set": "iris", "label": "smo", "status": "converged", "gap": 1e-4}
    >>> records = [record | {"n_samples": m, "fit_s": m / 1000} for m in (100, 200, 400)]
    >>> [ax.get_ylabel() for ax in plot_learning_curve(records).axes]
    ['training time (s)', 'certified gap']
    """
    require_installed("pictures", "matplotlib")
    from matplotlib.figure import Figure

    from svmkit.compare.report.pictures import dress, style

    frame: Any = records if hasattr(records, "columns") else results_frame(records)
    frame = frame[frame["fit_s"].notna()]
    if not len(frame):
        raise InputError("nothing to draw: no run has a model")
    tested = tested_columns(frame)
    metrics = [*tested, *(name for name in ("fit_s", "gap") if frame[name].notna().any())]
    figure = Figure(figsize=(4.2 * len(metrics), 3.9), layout="constrained")
    exponents = {slope.solver: f"{slope.solver}, time ~ rows^{slope.exponent:.2f}" for slope in growth(frame)}
    looks = {name: style(k) for k, name in enumerate(dict.fromkeys(frame["solver"]))}
    for ax, metric in zip(figure.subplots(1, len(metrics), squeeze=False)[0], metrics, strict=True):
        for name, how in looks.items():
            runs = frame[(frame["solver"] == name) & frame[metric].notna()]
            rows, values = numbers(runs["n_samples"]), numbers(runs[metric])
            at = [values[rows == size] for size in np.unique(rows)]
            label = exponents.get(name, name)
            ax.plot(
                np.unique(rows),
                [of.mean() for of in at],
                label=label,
                markersize=5,
                markeredgecolor="white",
                **how.look,
            )
            ends = [of.min() for of in at], [of.max() for of in at]
            ax.fill_between(np.unique(rows), *ends, color=how.colour, alpha=0.15, linewidth=0)
        ax.set_xscale("log")
        if metric not in tested and (numbers(frame[metric].dropna()) > 0).all():
            ax.set_yscale("log")
        dress(ax, title("n_samples"), title_of_metric(frame) if metric == "test_metric" else title(metric))
    handles, words = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, words, loc="outside lower center", ncols=max(1, int(2 * len(metrics))), frameon=False)
    return figure
