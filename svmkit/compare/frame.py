"""The records of a comparison as a table of pandas: a row for each run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svmkit.compare.cells.store import read_records
from svmkit.compare.metrics import TESTED
from svmkit.compare.results import Results, with_suboptimality
from svmkit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

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
    "lower_bound": NUMBER,
    "suboptimality": NUMBER,
    **dict.fromkeys(TESTED, NUMBER),
    "metric": TEXT,
    **dict.fromkeys(("train_outliers", "test_outliers"), NUMBER),
    "key": TEXT,
}
"""The columns of `results_frame` and their types; missing values are <NA> in counts and texts and NaN in numbers."""


def results_frame(records: str | Path | Results | Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Return the runs of a comparison as a table.

    Parameters
    ----------
    records : str, Path, Results or iterable of dict
        The file that `svmkit compare` or `svmkit curve` keeps its results in (`--results`, `--out`), or its records.

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
            What was minimised, the name of the kernel, and the weight of the losses.
        n_samples, n_features, n_test : Int64
            The training rows, their columns, and the test rows.
        fit_s, solve_s, predict_s : float64
            The seconds of training with checks and preprocessing, in the solver's loop, and of the prediction.
        n_iter, kernel_values, n_support : Int64
            Iterations, computed kernel values (missing for other software), support vectors.
        objective, dual_objective, gap : float64
            P, D, and the certified relative gap (P - D) / max(|P|, |D|).
        lower_bound, suboptimality : float64
            The largest D of any run of the same problem, and (P - that) / max of both.
        test_accuracy, test_r2, test_rmse, test_mae, test_log_loss, test_brier_score, test_metric : float64
            What was measured on the test rows, as far as it applies; accuracies are shares of 1.
        metric : string
            The name of `test_metric`.
        train_outliers, test_outliers : float64
            The shares of the training rows and of the test rows that a model of outliers calls outliers.
        key : string
            The hash of the run's settings.

    Raises
    ------
    InputError
        The file does not exist or is no file of records.

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
    try:
        runs = with_suboptimality(list(records))
        rows = [_row(record) for record in runs]
    except (KeyError, TypeError, AttributeError):
        raise InputError("these are no records of a comparison: give the file of --results, or Results") from None
    return pd.DataFrame({name: pd.Series([row[name] for row in rows], dtype=kind) for name, kind in COLUMNS.items()})


def _row(record: dict[str, Any]) -> dict[str, Any]:
    """Return what a record says in the columns of the table."""
    settings = record.get("settings", {}).get("data", {})
    kernel = record.get("kernel") or settings.get("kernel") or {}
    named = {"solver": record["label"], "kernel": kernel.get("name"), "C": settings.get("C")}
    row = record | named | {"metric": (record.get("metric") or {}).get("name")}
    types = {COUNT: int, NUMBER: float, TEXT: str}
    return {name: None if row.get(name) is None else types[kind](row[name]) for name, kind in COLUMNS.items()}
