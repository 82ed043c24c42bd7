"""The steps of a cell in its worker process: preparation, the timed fit, then measurements and logging.

Steps are module-level functions that a worker calls by name; `Bench` holds what one step leaves for the next.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import svmkit
from svmkit import tracking
from svmkit.compare.cells.store import FAILED, names
from svmkit.compare.plan import advice, calibration
from svmkit.compare.plan.entries import build_solver
from svmkit.compare.plan.sets import Sets, prepare
from svmkit.compare.plan.spec import Cell, sampler_of
from svmkit.data.classes import answers
from svmkit.data.prepare.scaling import standard_note
from svmkit.errors import InputError, SvmkitError, SvmkitWarning
from svmkit.model.calibration import FOLDS
from svmkit.plugins import PluginFile, load_files
from svmkit.runtime.jsonable import plain
from svmkit.scoring.metric import COUNTED, OF_QUANTITIES, Metric
from svmkit.scoring.quantities import QuantityScores, metric_for, scores_of
from svmkit.solver.history import History
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Iterations, Seconds, Stop, Support, parse_stop
from svmkit.tasks import task_named
from svmkit.tracking import RunRecord
from svmkit.training.settings import Method, Settings, resolve
from svmkit.training.train import train

WARM_ROWS, WARM_STEPS, WARM_SECONDS = 120, 200, 5.0
EPSILON = 0.1  # half the width of the tube of regression where the comparison gives none
CURVE = 150  # points of a history that are kept, besides those with a measured accuracy


@dataclass
class Bench:
    """The state that a worker keeps between two steps.

    Attributes
    ----------
    of : dict or None
        The data settings of the last cell.
    sets : Sets or None
        The data of the last cell.
    warm : set of str or None
        Solvers whose loops have been compiled on these data.
    trained : RunRecord or None
        The last run.
    notes : list of str
        What the data had to say when they were loaded.
    metric : Metric or None
        What is measured on the test set besides accuracy.
    """

    of: Any = None
    sets: Sets | None = None
    warm: set[str] | None = None
    trained: RunRecord | None = None
    notes: list[str] = field(default_factory=list)
    metric: Metric | None = None


_bench = Bench()


@dataclass(frozen=True)
class Tracking:
    """The place where cells are logged.

    Attributes
    ----------
    uri, experiment : str or None
        The store and the experiment of the tracker.
    parent : str or None
        The run in which the runs of the cells are nested.
    """

    uri: str | None
    experiment: str | None
    parent: str | None


def get_ready(cell: Cell, files: tuple[PluginFile, ...] = ()) -> None:
    """Load the plugin files and the sets, and compile the loops of the fit on a few of their rows."""
    load_files(files)
    data = cell.settings["data"]
    if _bench.of != data:
        _bench.trained, _bench.sets = None, None  # frees their memory before the next sets are loaded
        with _collect_notes() as notes:
            _bench.of, _bench.sets, _bench.warm = data, prepare(data), set()
        _bench.notes = notes
    try:
        method = _method(cell)
    except InputError:
        return  # the fit itself reports it
    key = repr((method.solver, method.sampler, method.settings.calibration))
    assert _bench.sets is not None and _bench.warm is not None
    if key not in _bench.warm:
        _warm(_bench.sets, cell)
        _bench.warm.add(key)


def run(cell: Cell, limit: float, curve: bool) -> dict[str, Any]:
    """Fit a cell.

    Parameters
    ----------
    cell : Cell
        The cell that `get_ready` was called for.
    limit : float
        Budget in seconds.
    curve : bool
        Whether test accuracy is measured as the model grows.

    Returns
    -------
    dict of str to object
        The record so far; a fit that is refused or fails has status "failed" and a reason.
    """
    record = names(cell) | {"time_limit": limit, "svmkit": svmkit.__version__, "settings": cell.settings}
    sets, data = _bench.sets, cell.settings["data"]
    assert sets is not None
    try:
        method = _method(cell, stop=_rules(cell) | Seconds(limit))
        solver, kernel = method.solver, method.kernel
        classes, codes = answers(sets.train)
        _bench.metric = metric_for(data.get("metric"), classes, codes, data.get("class_weight"))
        with _collect_notes() as notes:
            fitted = train(
                sets.train.X,
                sets.train.y,
                method,
                flags=sets.train.flags,
                validation=sets.test if curve else None,
            )
    except Exception as error:  # a third party's solver may raise anything
        return failure(record, error)
    rows = sets.train
    _bench.trained = RunRecord(solver, kernel, fitted, rows.name, rows.n_samples, rows.n_features)
    advised = [advice.advise(cell, sets), standard_note(data["scale"], rows.X)]
    taken = (
        rows.notes[-1:] if task_named(rows.task).has_targets and data.get("task") is None else ()
    )  # the label as a quantity
    notes = [*_bench.notes, *taken, *filter(None, advised), *notes]
    return record | plain(_result(_bench.trained, sets)) | ({"notes": notes} if notes else {})


def finish(record: dict[str, Any], cell: Cell, tracking: Tracking | None) -> dict[str, Any]:
    """Return the record with the accuracy on the test rows, and log the cell as a run unless `tracking` is None."""
    trained, sets = _bench.trained, _bench.sets
    assert trained is not None and sets is not None
    if sets.test is not None:
        assert sets.test.y is not None
        began = time.perf_counter()
        model, metric = trained.fitted.model.widened(sets.test.n_features), _bench.metric
        predicted = model.predict(sets.test.X)
        record["predict_s"] = time.perf_counter() - began
        scores = scores_of(model, predicted, sets.test.y)
        record |= {"test_accuracy": scores.accuracy, "test_scores": plain(scores.summary())}
        if isinstance(scores, QuantityScores):
            record |= plain({"test_r2": scores.r2, "test_rmse": scores.rmse, "test_mae": scores.mae})
        record |= plain(calibration.test_scores(model, sets.test, sets.train))
        if metric is not None and metric.name not in ("accuracy", *OF_QUANTITIES):
            record["test_metric"] = metric.score_model(model, sets.test.X, sets.test.y)
        trained = replace(trained, test_scores=scores, predict_s=record["predict_s"])
    if tracking is not None and record["status"] != Status.INTERRUPTED:
        with _collect_notes() as notes:
            record |= {"run_id": _log(record, cell, trained, sets, tracking), "parent_run_id": tracking.parent}
        if notes:
            record["notes"] = [*record.get("notes", []), *notes]
    return record


def failure(record: dict[str, Any], error: BaseException | str) -> dict[str, Any]:
    """Return the record of a cell that has no model, with the reason in one line."""
    reason = str(error)
    if isinstance(error, BaseException) and not isinstance(error, SvmkitError):
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, MemoryError):
        reason = "out of memory: give a smaller memory, or fewer rows"
    return record | {"status": FAILED, "reason": " ".join(reason.split())}


def _result(trained: RunRecord, sets: Sets) -> dict[str, Any]:
    """Return the record of a cell without its name: the outcome of the run and its history."""
    fitted, solver = trained.fitted, trained.solver
    return trained.result() | {
        "classes": [str(label) for label in fitted.model.classes],
        "label_column": sets.train.encoding.label_facts if sets.train.encoding else None,
        "solve_s": sum(solution.seconds for solution in fitted.solutions),
        "kernel_values": None if solver.external else fitted.kernel_values,  # unknown for other software
        "test_accuracy": None,
        "test_scores": None,
        **dict.fromkeys(("test_r2", "test_rmse", "test_mae")),
        **calibration.UNKNOWN | {"calibration": calibration.calibration_facts(fitted)},
        "metric": None if _bench.metric is None else _bench.metric.about(),
        "test_metric": None,
        "n_test": 0 if sets.test is None else sets.test.n_samples,
        "history": _thin(History(trained.history())),
        "details": trained.details,
    }


def _method(cell: Cell, **changes: Any) -> Method:
    """Return the method of a cell, with changes of its settings."""
    how, data = cell.settings["solver"], cell.settings["data"]
    assert _bench.sets is not None
    settings = Settings(
        solver=build_solver(f"solvers.{cell.solver}", how),
        kernel=_bench.sets.kernel,
        C=data["C"],
        epsilon=data.get("epsilon", EPSILON),
        multiclass=data.get("multiclass", "ovo"),
        class_weight=data.get("class_weight"),
        impute=data.get("impute"),
        scale=data["scale"],
        memory=data["memory"],
        calibration=how.get("calibrate"),
        stop=_rules(cell),
        sampler=sampler_of(how),
        seed=cell.seed,
    )
    return resolve(replace(settings, **changes), _bench.sets.train.task)


def _rules(cell: Cell) -> Stop:
    return Stop(()) | parse_stop(cell.settings["stop"])


def _warm(sets: Sets, cell: Cell) -> None:
    """Take a few steps on a few samples of each class, with float64 kernel rows (small sets) and float32 rows."""
    y = sets.train.y
    assert y is not None
    rows = np.arange(min(len(y), WARM_ROWS))
    if not task_named(sets.train.task).has_targets:
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            return  # the fit itself reports it
        few = [np.flatnonzero(codes == c)[: max(FOLDS, WARM_ROWS // len(classes))] for c in range(min(len(classes), 3))]
        rows = np.sort(np.concatenate(few))
    test = sets.test
    for memory in ("1GB", 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                stop = _budgets_of(cell) | Iterations(WARM_STEPS) | Seconds(WARM_SECONDS)
                method = _method(cell, stop=stop, memory=memory, class_weight=None, seed=0)
                fitted = train(sets.train.X[rows], y[rows], method, flags=sets.train.flags)
                if test is not None:
                    fitted.model.widened(test.n_features).predict(test.X[:WARM_ROWS])
            except Exception:
                return  # the fit itself reports the fault


def _budgets_of(cell: Cell) -> Stop:
    """Return the limits on support vectors of a cell, which its solver applies in compiled code of its own."""
    return Stop(tuple(rule for rule in _rules(cell).criteria if isinstance(rule, Support)))


def _log(record: dict[str, Any], cell: Cell, trained: RunRecord, sets: Sets, parent: Tracking) -> str | None:
    """Log the cell as a run of its own; return its id, or None if the store failed."""
    data, solver, fitted = cell.settings["data"], trained.solver, trained.fitted
    regresses = task_named(sets.train.task).has_targets
    params = tracking.params(
        solver,
        fitted.model.kernel,
        data["C"],
        sets.train,
        stop=cell.settings["stop"],
        seed=cell.seed,
        sampler=str(sampler_of(cell.settings["solver"]) or solver.sampler_for(fitted.model.kernel)),
        impute=data.get("impute"),
        scale=data["scale"],
        memory=data["memory"],
        time_limit=record["time_limit"],
        class_weight=data.get("class_weight"),
        task=sets.train.task if regresses else None,
        epsilon=data.get("epsilon", EPSILON) if regresses else None,
        calibrate=cell.settings["solver"].get("calibrate"),
        multiclass=data.get("multiclass"),
    )
    tags = (
        tracking.tags(solver)
        | {
            "svmkit.set": cell.data,
            "svmkit.label": cell.solver,
            "svmkit.status": record["status"],
        }
        | ({} if cell.split is None else {"svmkit.split": str(cell.split)})
    )
    tracker = tracking.tracker(parent.uri, parent.experiment)
    split = None if cell.split is None else f"split {cell.split}"
    title = " ".join(filter(None, [cell.solver, cell.data, cell.stop, split, str(cell.seed)]))
    tracker.start(title, params, tags, sets.train, parent=parent.parent)
    counted = {"n_iter": fitted.n_iter} | ({} if solver.external else {"kernel_values": fitted.kernel_values})
    counted |= {key: record[key] for key in calibration.SCORES}
    if record["test_metric"] is not None and record["metric"]["name"] not in COUNTED:
        counted[f"test/{record['metric']['name']}"] = record["test_metric"]
    trained.log(tracker, trained.model(sets.train.encoding), sets.train.X[:5], more=counted)
    tracker.end()
    return tracker.run_id


def _thin(history: History) -> dict[str, list]:
    """Return columns of about `CURVE` evenly spaced points and of the points with a measured accuracy."""
    picked = set(np.linspace(0, len(history) - 1, CURVE).round().astype(int).tolist()) if history else set()
    measured = {k for k, point in enumerate(history) if point.is_measured}
    chosen = History(history[k] for k in sorted(picked | measured))
    columns = chosen.columns()
    if not any(point.accuracy is None and point.score is not None for point in chosen):
        del columns["score"]  # quantities have no accuracy, and the score is what was measured
    return {name: [_short(value) for value in values] for name, values in columns.items()}


def _short(value: Any) -> Any:
    return float(f"{value:.6g}") if isinstance(value, float) else value


@contextmanager
def _collect_notes() -> Iterator[list[str]]:
    """Yield a list that collects the warnings of svmkit as texts; all other warnings are dropped."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    notes += [str(warning.message) for warning in caught if issubclass(warning.category, SvmkitWarning)]
