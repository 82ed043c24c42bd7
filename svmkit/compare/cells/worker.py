"""The steps of a cell in its worker process: preparation, the timed fit, then measurements and logging.

Steps are module-level functions that a worker calls by name; `Bench` holds the results of one step for the next.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

import svmkit
from svmkit import tracking
from svmkit.compare.cells.store import FAILED, names
from svmkit.compare.metrics import BASE, SCORES
from svmkit.compare.plan import advice
from svmkit.compare.plan.division import part_of
from svmkit.compare.plan.entries import OBJECTIVE, OPTIONS, PENALTY
from svmkit.compare.plan.sets import Sets, prepare
from svmkit.compare.plan.spec import Cell
from svmkit.compare.plan.whole_sets import WholeSets
from svmkit.data.classes import answers
from svmkit.data.prepare.scaling import standard_note
from svmkit.data.splitting import part
from svmkit.errors import InputError, SvmkitError, SvmkitWarning
from svmkit.kernels.engines import on_device
from svmkit.model.calibration import FOLDS
from svmkit.model.model import SVMModel
from svmkit.plugins import PluginFile, load_files
from svmkit.runtime.jsonable import plain
from svmkit.scoring.metric import COUNTED, OF_QUANTITIES, Metric
from svmkit.scoring.probability_scores import ProbabilityScores
from svmkit.solver.history import History
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Iterations, Seconds, Stop, Support
from svmkit.tasks import task_named
from svmkit.tracking import Recorder, RunRecord
from svmkit.training.settings import Method, resolve
from svmkit.training.train import train

CellCallback = Callable[[Cell, dict[str, Any] | None], None]
"""Called with a cell and None when it begins, and with its record when it has ended; from any thread, one at a time."""

WARM_ROWS, WARM_STEPS, WARM_SECONDS = 120, 200, 5.0
CURVE = 150  # points of a history that are stored, besides those with a measured accuracy


@dataclass
class Bench:
    """The state of a worker between two steps of the last cell."""

    of: Any = None  # the settings of the data
    sets: Sets | None = None
    whole: WholeSets = field(default_factory=WholeSets)
    warm: set[str] = field(default_factory=set)  # the solvers whose loops have been compiled on these data
    trained: RunRecord | None = None
    notes: list[str] = field(default_factory=list)  # on the data
    metric: Metric | None = None  # metric besides accuracy


_bench = Bench()


@dataclass(frozen=True)
class Tracking:
    """The store and the experiment in which cells are logged, the parent run, and the name of the tracker."""

    uri: str | None
    experiment: str | None
    parent: str | None
    tracker: str | None = None


class Job(NamedTuple):
    """A cell to run, for `limit` seconds of fitting; `curve` measures accuracy as the model grows."""

    cell: Cell
    limit: float
    curve: bool = True
    tracking: Tracking | None = None

    @property
    def bare(self) -> dict[str, Any]:
        """The record of the cell before it has been run."""
        return names(self.cell) | {"time_limit": self.limit, "settings": self.cell.settings}


def wake() -> None:
    """Do nothing: a worker that calls this has imported the module."""


def get_ready(cell: Cell, files: tuple[PluginFile, ...] = ()) -> None:
    """Load the plugin files and the sets, and compile the loops of the fit on a few of their rows."""
    load_files(files)
    data = cell.settings["data"]
    if _bench.of != data:
        _bench.trained, _bench.sets = None, None  # frees their memory before the next sets are loaded
        with _collect_notes() as notes:
            warm = _bench.warm if _bench.of and _without_split(_bench.of) == _without_split(data) else set()
            _bench.of, _bench.sets, _bench.warm = data, prepare(data, _bench.whole), warm
        _bench.notes = notes
    try:
        method = _method(cell)
    except InputError:
        return  # the fit itself reports it
    key = repr((method.solver, method.sampler, method.settings.calibration))
    assert _bench.sets is not None
    if key not in _bench.warm:
        _warm(_bench.sets, cell)
        _bench.warm.add(key)


def run(cell: Cell, limit: float, curve: bool) -> dict[str, Any]:
    """Fit the cell for which `get_ready` was called, for `limit` seconds, and return its record so far.

    With `curve`, test accuracy is measured as the model grows. A fit that is refused or fails has status "failed".
    """
    record = Job(cell, limit).bare | {"svmkit": svmkit.__version__}
    sets, data = _bench.sets, cell.settings["data"]
    assert sets is not None
    rows = sets.train
    try:
        method = _method(cell, stop=cell.training.rules | Seconds(limit))
        _bench.metric = _metric(method, sets, data.get("metric"))
        validation = sets.test if curve and method.task.is_supervised else None
        with _collect_notes() as notes:
            flags, groups = rows.flags, rows.groups
            fitted = train(rows.X, rows.truth, method, flags=flags, groups=groups, validation=validation)
    except Exception as error:  # a third party's solver may raise any exception
        return failure(record, error)
    _bench.trained = RunRecord(method.solver, method.kernel, fitted, rows.name, rows.n_samples, rows.n_features)
    advised = [advice.advise(cell, sets), standard_note(data["scale"], rows.X)]
    taken = rows.notes[-1:] if method.task.has_targets and data.get("task") is None else ()  # the label as a quantity
    notes = [*_bench.notes, *taken, *filter(None, advised), *notes]
    return record | plain(_result(_bench.trained, sets, method)) | ({"notes": notes} if notes else {})


def _without_split(data: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of the data without those that differ between splits: the loops are compiled for all."""
    test = data["test"]
    same = (
        {key: value for key, value in test.items() if key not in ("fold", "seed")} if isinstance(test, dict) else test
    )
    return data | {"test": same}


def _metric(method: Method, sets: Sets, name: str | None) -> Metric | None:
    """Return the metric on the test rows besides accuracy; None without labels for comparison."""
    if method.task.is_supervised:
        return method.metric(name, *answers(sets.train))
    if sets.test is None:
        return None
    if sets.test.y is not None:
        truth = method.task.encode_truth(sets.test.y, sets.test.n_samples)
        return method.task.evaluation.metric(name or method.task.metric, truth.classes, truth.codes)
    if name is not None:
        raise InputError(f"metric {name} needs labels of -1 for an outlier and 1 for all others: leave it out")
    return None


def finish(record: dict[str, Any], cell: Cell, tracking: Tracking | None) -> tuple[dict[str, Any], Recorder | None]:
    """Return the record with the accuracy on the test rows, and the data to log; None if nothing is logged.

    The process that waits for the cell logs them (`log`), so that a worker need not import the tracker.
    """
    with on_device(cell.training.device):
        return _finish(record, cell, tracking)


def _finish(record: dict[str, Any], cell: Cell, tracking: Tracking | None) -> tuple[dict[str, Any], Recorder | None]:
    """As `finish`, on the device of the process."""
    trained, sets = _bench.trained, _bench.sets
    assert trained is not None and sets is not None
    model = trained.fitted.model
    if model.finds_outliers:
        record["train_outliers"] = float(np.mean(model.predict(sets.train.X) < 0))
    if sets.test is not None:
        began = time.perf_counter()
        model = model.widened(sets.test.n_features)
        decision = model.decision_function(sets.test.X) if model.levels else None
        predicted = model.predict(sets.test.X) if decision is None else model.labels(decision)
        record["predict_s"] = time.perf_counter() - began
        if model.finds_outliers:
            record["test_outliers"] = float(np.mean(predicted < 0))
        scores = None
        if sets.test.y is not None:
            scores = task_named(model.task).evaluation.count(model, predicted, sets.test.truth, decision)
            known: dict[str, Any] = {"test_accuracy": scores.accuracy, "test_scores": scores.summary()}
            known |= {f"test_{name}": value for name, value in scores.columns.items()}
            known |= _probabilities(model, sets)
            metric = _bench.metric
            if metric is not None and metric.name not in ("accuracy", *OF_QUANTITIES):
                known["test_metric"] = metric.score_model(model, sets.test.X, sets.test.truth)
            record |= plain(known)
        trained = replace(trained, test_scores=scores, predict_s=record["predict_s"])
    if tracking is None or record["status"] == Status.INTERRUPTED:
        return record, None
    return record, _record_run(record, cell, trained, sets, tracking)


def log(record: dict[str, Any], recorder: Recorder, where: Tracking) -> dict[str, Any]:
    """Log a finished cell as a run of its own, in the process that waited for it.

    Returns the record with the run's id, which is None if the store failed, and with the messages of the tracker.
    """
    notes: list[str] = []
    tracker = tracking.tracker(where.uri, where.experiment, where.tracker)
    tracker.notify = notes.append
    recorder.repeat(tracker)
    record = record | {"run_id": tracker.run_id, "parent_run_id": where.parent}
    return record | ({"notes": [*record.get("notes", []), *notes]} if notes else {})


def failure(record: dict[str, Any], error: BaseException | str) -> dict[str, Any]:
    """Return the record of a cell that has no model, with the reason in one line."""
    reason = str(error)
    if isinstance(error, BaseException) and not isinstance(error, SvmkitError):
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, MemoryError):
        reason = "out of memory: give a smaller memory, or fewer rows"
    return record | {"status": FAILED, "reason": " ".join(reason.split())}


def _result(trained: RunRecord, sets: Sets, method: Method) -> dict[str, Any]:
    """Return the record of a cell without its name: the outcome of the run and its history."""
    fitted = trained.fitted
    calibration = None
    if fitted.model.calibration is not None:
        calibration = {**fitted.model.about["calibration"], "seconds": fitted.calibration_s}
    outliers = {} if method.task.is_supervised else {"train_outliers": None, "test_outliers": None}
    return trained.result() | {
        "problem": method.problem_type().name,
        "formulation": method.formulation,
        "classes": [str(label) for label in fitted.model.classes],
        "label_column": sets.train.encoding.label_facts if sets.train.encoding else None,
        "solve_s": sum(solution.seconds for solution in fitted.solutions),
        "kernel_values": None if trained.solver.external else fitted.kernel_values,  # unknown for other software
        "test_accuracy": None,
        "test_scores": None,
        **dict.fromkeys(("test_r2", "test_rmse", "test_mae")),
        **outliers,
        "calibration": calibration,
        **dict.fromkeys((*SCORES, *BASE, "test_reliability")),
        "metric": None if _bench.metric is None else _bench.metric.about(),
        "test_metric": None,
        "test_coverage": None,
        "n_test": 0 if sets.test is None else sets.test.n_samples,
        "history": _thin(History(trained.history())),
        "details": trained.details,
    }


def _method(cell: Cell, **changes: Any) -> Method:
    """Return the method of a cell, with changes of its settings."""
    assert _bench.sets is not None
    method = resolve(replace(cell.training, kernel=_bench.sets.kernel, **changes), _bench.sets.train.task)
    return method.with_groups(_bench.sets.train.encoding.group_sizes if _bench.sets.train.encoding else None)


def _warm(sets: Sets, cell: Cell) -> None:
    """Take a few steps on a few samples of each class, with float64 kernel rows (small sets) and float32 rows."""
    rows, train_rows, test = np.arange(min(sets.train.n_samples, WARM_ROWS)), sets.train, sets.test
    if task_named(train_rows.task).has_classes:
        assert train_rows.y is not None
        classes, codes = np.unique(train_rows.y, return_inverse=True)
        if len(classes) < 2:
            return  # the fit itself reports it
        few = [np.flatnonzero(codes == c)[: max(FOLDS, WARM_ROWS // len(classes))] for c in range(min(len(classes), 3))]
        rows = np.sort(np.concatenate(few))
    y = None if train_rows.y is None else part(train_rows, rows).truth
    # limits on support vectors, which a solver applies in separate compiled code
    limits = Stop(tuple(rule for rule in cell.training.rules.criteria if isinstance(rule, Support)))
    stop = limits | Iterations(WARM_STEPS) | Seconds(WARM_SECONDS)
    for memory in ("1GB", 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                method = _method(cell, stop=stop, memory=memory, class_weight=None, seed=0)
                columns = rows if sets.kernel.name == "precomputed" else None
                first = part_of(train_rows, rows, columns)
                fitted = train(first.X, y, method, flags=train_rows.flags)
                if test is not None:
                    some = part_of(test, slice(WARM_ROWS), columns)
                    fitted.model.widened(some.n_features).predict(some.X)
            except Exception:
                return  # the fit itself reports the fault


def _record_run(record: dict[str, Any], cell: Cell, trained: RunRecord, sets: Sets, where: Tracking) -> Recorder:
    """Return the data to log for the cell."""
    solver, fitted, method = trained.solver, trained.fitted, _method(cell)
    kernel, settings, data = fitted.model.kernel, cell.settings, sets.train
    about = method.task.about(method, method.settings.C)
    given = {key: settings["data"].get(key) for key in OPTIONS if key not in (*OBJECTIVE, *PENALTY)}
    params = tracking.params(
        solver,
        kernel,
        method.settings.C,
        replace(data, task=data.task if method.task.is_supervised else None),
        stop=settings["stop"],
        seed=cell.seed,
        sampler=str(method.sampler or solver.sampler_for(kernel)),
        time_limit=record["time_limit"],
        task=None if method.task.has_classes else method.task.name,
        calibrate=settings["solver"].get("calibrate"),
        **given,
        **{key: value for key, value in about.items() if key not in ("C", "loss")},
    )
    params |= {"formulation": method.formulation}
    tags = tracking.tags(solver) | {
        "svmkit.set": cell.data,
        "svmkit.label": cell.solver,
        "svmkit.status": record["status"],
    }
    tags |= {} if cell.split is None else {"svmkit.split": str(cell.split)}
    recorder = Recorder()
    split = None if cell.split is None else f"split {cell.split}"
    title = " ".join(filter(None, [cell.solver, cell.data, cell.stop, split, str(cell.seed)]))
    recorder.start(title, params, tags, data, where.parent)
    counted: dict[str, Any] = {"n_iter": fitted.n_iter}
    counted |= {} if solver.external else {"kernel_values": fitted.kernel_values}
    counted |= {key: record.get(key) for key in (*SCORES, *BASE, "train_outliers", "test_outliers")}
    if record["test_metric"] is not None and record["metric"]["name"] not in COUNTED:
        counted[f"test/{record['metric']['name']}"] = record["test_metric"]
    trained.log(recorder, trained.model(data.encoding), data.X[:5], more=counted)
    recorder.end()
    return recorder


def _thin(history: History) -> dict[str, list]:
    """Return columns of about `CURVE` evenly spaced points and of the points with a measured accuracy."""
    picked = set(np.linspace(0, len(history) - 1, CURVE).round().astype(int).tolist()) if history else set()
    measured = {k for k, point in enumerate(history) if point.is_measured}
    chosen = History(history[k] for k in sorted(picked | measured))
    columns = chosen.columns()
    if not any(point.accuracy is None and point.score is not None for point in chosen):
        del columns["score"]  # regressions have no accuracy, and the score was measured instead
    return {key: [float(f"{v:.6g}") if isinstance(v, float) else v for v in of] for key, of in columns.items()}


def _probabilities(model: SVMModel, sets: Sets) -> dict[str, Any]:
    """Return the scores of probabilities on the test rows, and their reliability; {} for a model without them.

    In test_reliability "of" names the class whose probabilities are examined, the positive one of the training rows as
    in `svmkit evaluate`, or it is "predicted label" for more than two classes; "bins" are as in `svmkit evaluate`.
    """
    assert sets.test is not None and sets.test.y is not None
    if model.calibration is None:
        return {}
    quality = ProbabilityScores.from_predictions(model.predict_proba(sets.test.X), model.classes, sets.test.y)
    if quality is None:
        return {}
    of, reliability = "predicted label", quality.reliability_of_labels()
    if len(model.classes) == 2:
        counts = np.bincount(answers(sets.train)[1])
        positive = Metric.from_name("average_precision", model.classes, counts).positive
        of = f"class {positive}"
        reliability = quality.reliability(list(map(str, model.classes)).index(str(positive)))
    scores = {f"test_{name}": value for name, value in quality.summary().items()}
    return {**scores, "test_reliability": {"of": of, "bins": reliability.plain()}}


@contextmanager
def _collect_notes() -> Iterator[list[str]]:
    """Yield a list that collects the warnings of svmkit as texts; all other warnings are dropped."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    notes += [str(warning.message) for warning in caught if issubclass(warning.category, SvmkitWarning)]
