"""The results of a comparison: each set and solver over its repeats, with suboptimality against certified bounds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from svmkit.compare.cells.store import FAILED, TIMEOUT, read_records
from svmkit.compare.metrics import HIGHER, TESTED, TITLES, as_shown
from svmkit.compare.plan.spec import Cell, Spec
from svmkit.compare.plan.testing import way_of
from svmkit.errors import InputError
from svmkit.scoring.metric import title
from svmkit.solver.stopping import Gap, Stop, parse_stop

if TYPE_CHECKING:
    import pandas as pd

NO_MODEL = (FAILED, TIMEOUT)
_BEST = ("fit_s", "suboptimality", *TESTED)  # metrics whose best row in a set is marked
_DISAGREE = 1e-6
_GOAL = 1e-3
TEXT, COUNT, NUMBER = "string", "Int64", "float64"
COLUMNS = {
    "set": TEXT,
    "solver": TEXT,
    "stop": TEXT,
    "split": COUNT,
    "seed": COUNT,
    "status": TEXT,
    "reason": TEXT,
    "formulation": TEXT,
    "kernel": TEXT,
    "C": NUMBER,
    "n_samples": COUNT,
    "n_features": COUNT,
    "n_test": COUNT,
    "fit_s": NUMBER,
    "solve_s": NUMBER,
    "predict_s": NUMBER,
    "n_iter": COUNT,
    "kernel_values": COUNT,
    "n_support": COUNT,
    "objective": NUMBER,
    "dual_objective": NUMBER,
    "gap": NUMBER,
    "goal": NUMBER,
    "lower_bound": NUMBER,
    "suboptimality": NUMBER,
    **dict.fromkeys(TESTED, NUMBER),
    "metric": TEXT,
    **dict.fromkeys(("train_outliers", "test_outliers", "test_coverage"), NUMBER),
    "key": TEXT,
}
"""The columns of `results_frame` and their types; missing values are <NA> in counts and texts and NaN in numbers."""


@dataclass(frozen=True)
class Row:
    """One solver on one set at one stop rule, over its repeats.

    Attributes
    ----------
    set, label, stop : str
        The data set, the solver's entry and the stop rule, as the spec names them.
    status : str
        How the runs ended: "converged", or "2 converged, 1 time_limit".
    runs : int
        Runs with a model.
    cells : int
        Requested runs.
    formulation : str
        The objective of the solver.
    values : dict of str to ndarray of shape (runs,)
        The known values of each metric.
    splits : dict of str to dict of int or None to ndarray of shape (runs of the split,)
        The known values of each of `TESTED` by the number of the split; None for a fixed test.
    reasons : tuple of str
        Reasons of failures, and notes.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.compare import Row
    >>> row = Row("iris", "smo", "", "converged", 2, 2, "hinge, free bias", {"fit_s": np.array([1.0, 3.0])}, {}, ())
    >>> row.mean("fit_s"), round(row.spread("fit_s"), 3)
    (2.0, 1.414)
    """

    set: str
    label: str
    stop: str
    status: str
    runs: int
    cells: int
    formulation: str
    values: dict[str, np.ndarray]
    splits: dict[str, dict[int | None, np.ndarray]]
    reasons: tuple[str, ...]

    @property
    def treatment(self) -> str:
        """The solver, with its stop rule if there are several."""
        return f"{self.label} {self.stop}" if self.stop else self.label

    def mean(self, metric: str) -> float | None:
        """Return the mean over the repeats; None if the metric is unknown."""
        values = self.values.get(metric)
        return float(values.mean()) if values is not None and values.size else None

    def spread(self, metric: str) -> float | None:
        """Return the standard deviation (n - 1): of a metric on test rows over the splits, otherwise over runs.

        None for fewer than two. Repeats on one split say nothing about other rows, so accuracy then has no spread.
        """
        values = self.values.get(metric)
        if metric in TESTED:
            values = np.array([of_split.mean() for of_split in self.splits[metric].values()])
        return float(values.std(ddof=1)) if values is not None and values.size > 1 else None


class Results:
    """The records of a comparison's cells, reduced to rows.

    Parameters
    ----------
    spec : Spec
        The comparison.
    cells : iterable of Cell
        The requested cells.
    records : iterable of dict
        The records of the finished cells.

    Attributes
    ----------
    rows : list of Row
        By set, solver and stop rule, in the order of the spec.
    records : list of dict
        The records, each with its `suboptimality` and `lower_bound`.
    sets, treatments : list of str
        Names of the problems (sets with their kernel and C), and of the solvers with their stop rules.
    data_sets : dict of str to list of str
        The problems of each data set: the same rows and labels are one set, whatever kernel, C, scaling and test.

    Notes
    -----
    Suboptimality is (P - L) / max(|P|, |L|), where L is the largest certified lower bound of any run on the same set,
    split, kernel, C and objective. It bounds the loss against the optimum, whichever run found L.

    Examples
    --------
    >>> from svmkit.compare import Results, Store
    >>> from svmkit.compare.plan.spec import read
    >>> spec = read({"data": ["iris"], "solvers": ["smo"]})
    >>> Results(spec, spec.cells(), Store(None).records_of(spec.cells())).row("iris", "smo").status
    'not run'
    """

    def __init__(self, spec: Spec, cells: Iterable[Cell], records: Iterable[dict[str, Any]]) -> None:
        self.spec, self.cells = spec, list(cells)
        self.records = with_suboptimality(list(records))
        by_key = {record["key"]: record for record in self.records}
        grouped: dict[tuple[str, str, str], list[Cell]] = {}
        for cell in self.cells:
            grouped.setdefault((cell.data, cell.solver, cell.stop), []).append(cell)
        self.rows = [_row(where, of, by_key) for where, of in grouped.items()]
        self.sets = list(dict.fromkeys(row.set for row in self.rows))
        self.treatments = list(dict.fromkeys(row.treatment for row in self.rows))
        self.data_sets = _data_sets(self.cells)

    @property
    def titles(self) -> dict[str, str]:
        """The titles of the metrics, with the name of the metric on the test set if all cells have the same."""
        names = {record["metric"]["name"] for record in self.records if record.get("test_metric") is not None}
        return TITLES | ({"test_metric": title(names.pop())} if len(names) == 1 else {})

    def row(self, name: str, treatment: str) -> Row | None:
        """Return the row of a set and a treatment; None if the solver does not run on the set."""
        return next((row for row in self.rows if (row.set, row.treatment) == (name, treatment)), None)

    def rows_of(self, name: str) -> list[Row]:
        """Return the rows of a set."""
        return [row for row in self.rows if row.set == name]

    def objectives(self, name: str) -> dict[str, list[str]]:
        """Return the objectives on a set, in words, with the solvers that minimise them and have a model."""
        objectives: dict[str, list[str]] = {}
        for row in self.rows_of(name):
            if row.runs:
                objectives.setdefault(row.formulation, []).append(row.treatment)
        return objectives

    def best(self, name: str, metric: str) -> list[Row]:
        """Return the rows of a set whose mean is best as shown, ties included; none for metrics without a winner.

        Times count only if all runs reached their stop rule, suboptimality only among rows with one objective.
        """
        if metric not in _BEST:
            return []
        rows = [row for row in self.rows if row.set == name and row.mean(metric) is not None]
        if metric == "fit_s":
            rows = [row for row in rows if row.status == "converged"]
        if metric == "suboptimality" and len({row.formulation for row in rows}) > 1:
            return []
        sign = -1.0 if metric in HIGHER else 1.0
        means = [sign * as_shown(metric, row.values[metric].mean()) for row in rows]
        return [row for row, mean in zip(rows, means, strict=True) if mean <= min(means)] if len(rows) > 1 else []

    def tested_on(self, name: str) -> str:
        """Return in words how the accuracies of a set were measured: "one split", "10 splits", "5 folds of whole
        groups"; "" if there are none.
        """
        cells = {cell.split: cell for cell in self.cells if cell.data == name}
        about = next(iter(cells.values())).settings.get("data") or {}
        test = about.get("test", "")
        if test is None:
            return ""
        what = "fold" if isinstance(test, dict) and "cv" in test else "split"
        return f"one {what}" if len(cells) == 1 else f"{len(cells)} {what}s{way_of(about)}"

    def remarks(self, name: str) -> list[tuple[str, str]]:
        """Return the reasons and notes of a set's rows, each with its solver; "" for those common to all rows."""
        rows = [row for row in self.rows if row.set == name]
        shared = [text for text in rows[0].reasons if len(rows) > 1 and all(text in row.reasons for row in rows)]
        own = [(row.treatment, text) for row in rows for text in row.reasons if text not in shared]
        return [("", text) for text in shared] + own

    def matrix(self, metric: str) -> tuple[list[str], np.ndarray]:
        """Return the sets on which every treatment has a value, and the means (n_sets, n_treatments)."""
        whole, values = [], []
        for name in self.sets:
            means = [row.mean(metric) if row else None for row in (self.row(name, t) for t in self.treatments)]
            if None not in means:
                whole.append(name)
                values.append(means)
        return whole, np.array(values, dtype=float).reshape(-1, len(self.treatments))

    def disagreements(self) -> list[str]:
        """Report sets where an objective lies below another run's lower bound: one of the certificates is wrong."""
        return sorted(
            {
                f"{record['set']}: {record['label']} is below a lower bound by {-record['suboptimality']:.1e}"
                for record in self.records
                if (record.get("suboptimality") or 0.0) < -_DISAGREE
            }
        )


def with_suboptimality(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the records with `suboptimality` and `lower_bound`, None if no run of the same objective has a bound."""
    bounds: dict[tuple, float] = {}
    same = [(record["set"], record.get("split"), record.get("formulation")) for record in records]
    for where, record in zip(same, records, strict=True):
        if record.get("dual_objective") is not None:
            bounds[where] = max(bounds.get(where, -np.inf), record["dual_objective"])
    done = []
    for where, record in zip(same, records, strict=True):
        P, L = record.get("objective"), bounds.get(where)
        known = P is not None and L is not None
        size = max(abs(P), abs(L)) if known else 0.0  # type: ignore[arg-type]
        lost = ((P - L) / size if size else 0.0) if known else None  # type: ignore[operator]
        done.append(record | {"lower_bound": L, "suboptimality": lost})
    return done


def goal_of(record: dict[str, Any]) -> float:
    """Return the relative gap that the stop rule of a record requests; 1e-3 if it names none."""
    rules = Stop(()) | parse_stop(record.get("settings", {}).get("stop") or f"gap:{_GOAL}")
    return max((rule.limit for rule in rules.criteria if isinstance(rule, Gap)), default=_GOAL)


def _row(where: tuple[str, str, str], cells: list[Cell], by_key: dict[str, dict]) -> Row:
    records = [by_key[cell.key] for cell in cells if cell.key in by_key]
    with_model = [record for record in records if record["status"] not in NO_MODEL]
    values = {
        metric: np.array([r[metric] for r in with_model if r.get(metric) is not None], dtype=float)
        for metric in (*TITLES, "predict_s", "solve_s")
    }
    statuses = [record["status"] for record in records] + ["not run"] * (len(cells) - len(records))
    kinds = list(dict.fromkeys(statuses))
    status = kinds[0] if len(kinds) == 1 else ", ".join(f"{statuses.count(kind)} {kind}" for kind in kinds)
    reasons = [record["reason"] for record in records if "reason" in record]
    reasons += [note for record in records for note in record.get("notes", [])]
    formulation = next((record.get("formulation", "") for record in with_model), "")
    by_split: dict[str, dict[int | None, np.ndarray]] = {}
    for metric in TESTED:
        known: dict[int | None, list[float]] = {}
        for record in with_model:
            if record.get(metric) is not None:
                known.setdefault(record.get("split"), []).append(record[metric])
        by_split[metric] = {split: np.array(of) for split, of in known.items()}
    unique = tuple(dict.fromkeys(reasons))
    return Row(*where, status, len(with_model), len(cells), formulation, values, by_split, unique)


def _data_sets(cells: list[Cell]) -> dict[str, list[str]]:
    """Return the problems of each data set, named by the common first words of its problems."""
    groups: dict[str, list[str]] = {}
    for cell in cells:
        data = cell.settings.get("data") or {"source": cell.data}
        same = [data.get("files", {}).get(data["source"], data["source"])]
        same += [data.get(key) for key in ("rows", "label", "positive")]
        problems = groups.setdefault(repr(same), [])
        if cell.data not in problems:
            problems.append(cell.data)
    named = {_beginning(of): of for of in groups.values()}
    return named if len(named) == len(groups) else {of[0]: of for of in groups.values()}


def _beginning(names: list[str]) -> str:
    """Return the common first words of several names; the first name if there are none."""
    places = zip(*(name.split(" ") for name in names), strict=False)
    return " ".join(of[0] for of in takewhile(lambda of: len(set(of)) == 1, places)) or names[0]


def as_line(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record as `svmkit compare --json` prints it: without its history and its settings."""
    return {key: value for key, value in record.items() if key not in ("history", "settings", "svmkit")}


def results_frame(records: str | Path | Results | Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Return the runs of a comparison as a table.

    Parameters
    ----------
    records : str, Path, Results or iterable of dict
        The results file of `svmkit compare` or `svmkit curve` (`--results`, `--out`), or its records.

    Returns
    -------
    pandas.DataFrame
        A row for each run, in the order of the file, with these columns:

        set, solver, stop : string
            The problem, the solver's entry and the stop rule, as the comparison names them.
        split, seed : Int64
            The number of the split or fold, missing for one fixed test; the seed.
        status, reason : string
            How the run ended ("converged", "time_limit", "failed", ...), and why it failed.
        formulation, kernel, C : string, string, float64
            The objective, the name of the kernel, and the weight of the losses.
        n_samples, n_features, n_test : Int64
            The training rows, their columns, and the test rows.
        fit_s, solve_s, predict_s : float64
            The seconds of training with checks and preprocessing, in the solver's loop, and of the prediction.
        n_iter, kernel_values, n_support : Int64
            Iterations, computed kernel values (missing for other software), support vectors.
        objective, dual_objective, gap : float64
            P, D, and the certified relative gap (P - D) / max(|P|, |D|).
        goal : float64
            The gap that the stop rule requests; 1e-3 if it names none.
        lower_bound, suboptimality : float64
            The largest D of any run of the same problem, and (P - that) / max of both.
        test_accuracy, test_r2, test_rmse, test_mae, test_log_loss, test_brier_score, test_metric : float64
            The measures on the test rows that apply; accuracies are shares of 1.
        metric : string
            The name of `test_metric`.
        train_outliers, test_outliers : float64
            The shares of the training rows and of the test rows that a one-class model calls outliers.
        test_coverage : float64
            The share of the test rows between the outermost two of several levels.
        key : string
            The hash of the run's settings.

    Raises
    ------
    InputError
        The file does not exist or is not a file of records.

    Examples
    --------
    >>> from svmkit.compare import results_frame
    >>> record = {"set": "iris", "label": "smo", "status": "converged", "fit_s": 0.25}
    >>> results_frame([record])[["set", "solver", "status", "fit_s"]].values.tolist()
    [['iris', 'smo', 'converged', 0.25]]
    """
    import pandas as pd

    if isinstance(records, str | Path):
        records = read_records(records)
    elif isinstance(records, Results):
        records = records.records
    rows = []
    types = {COUNT: int, NUMBER: float, TEXT: str}
    try:
        for record in with_suboptimality(list(records)):
            about = record.get("settings", {}).get("data", {})
            kernel = (record.get("kernel") or about.get("kernel") or {}).get("name")
            named = {"solver": record["label"], "kernel": kernel, "C": about.get("C")}
            row = record | named | {"metric": (record.get("metric") or {}).get("name"), "goal": goal_of(record)}
            rows.append([None if row.get(name) is None else types[kind](row[name]) for name, kind in COLUMNS.items()])
    except (KeyError, TypeError, AttributeError):
        raise InputError("these are no records of a comparison: give the file of --results, or Results") from None
    columns = zip(*rows, strict=True) if rows else [()] * len(COLUMNS)
    series = zip(COLUMNS.items(), columns, strict=True)
    return pd.DataFrame({name: pd.Series(list(values), dtype=kind) for (name, kind), values in series})
