"""One cell of a comparison: a worker that dies, and what is logged once it has ended."""

import pickle
import time
from concurrent.futures import Future
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from svmkit.compare.cells import lane, runner, worker
from svmkit.compare.cells.store import Store
from svmkit.compare.plan.spec import read
from svmkit.errors import InputError
from svmkit.tracking import Tracker

pytestmark = pytest.mark.usefixtures("alone")


class Late:
    """A flag that is raised after some seconds."""

    def __init__(self, seconds):
        self.at = time.monotonic() + seconds

    def __bool__(self):
        return time.monotonic() >= self.at


@pytest.mark.parametrize(
    ("seconds", "error", "raised", "words"),
    [
        (0.1, "SIGKILL", lane.Stopped, None),
        (1e9, "exit code SIGKILL(-9)", lane.WorkerLost, "probably for its memory"),
        (1e9, "it is\ngone", lane.WorkerLost, "its process died: it is gone"),
    ],
)
def test_a_worker_that_dies_is_lost_unless_a_signal_comes_right_after(seconds, error, raised, words, monkeypatch):
    """A signal to the whole group of processes may end the worker before it reaches its parent."""
    monkeypatch.setattr(lane, "_LOOK", 0.05)
    died = Future()
    died.set_exception(lane.BrokenProcessPool(error))
    own = lane.Lane(1, Late(seconds))
    own.executor = SimpleNamespace(submit=lambda *args: died, shutdown=lambda **how: None)
    with pytest.raises(raised, match=words):
        own.call(10.0, len, "text")
    assert own.executor is None


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (InputError("one class"), "one class"),
        (ValueError("no\nnumber"), "ValueError: no number"),
        (lane.WorkerLost("it is gone"), "it is gone"),
    ],
)
def test_a_cell_that_cannot_be_prepared_has_failed_with_the_reason(error, reason):
    def call(*args, **how):
        raise error

    cell = SimpleNamespace(settings={"solver": {"solver": "smo"}})
    job = SimpleNamespace(cell=cell, limit=1.0, bare={"key": "k"}, curve=True, tracking=None)
    record = lane.run_cell(SimpleNamespace(call=call), job)
    assert record == {"key": "k", "status": "failed", "reason": reason}


@pytest.mark.parametrize("jobs", [1, 2])
def test_workers_start_while_the_run_is_opened(jobs, monkeypatch):
    """Which is opened once, also where no cell is left."""
    steps, place = [], worker.Tracking("store", "experiment", "parent")
    idle = SimpleNamespace(start=lambda: steps.append("start"))
    monkeypatch.setattr(runner, "Lane", lambda threads, flag: nullcontext(idle))
    monkeypatch.setattr(runner, "run_cell", lambda at, job: steps.append(job.tracking) or job.bare | {"status": "ok"})
    cells, store = read({"data": ["iris"], "solvers": ["smo", "fw", "mfw"]}).cells(), Store(None)
    how = {"limit": 1.0, "jobs": jobs, "threads": 2, "tracking": lambda: steps.append("opened") or place}
    assert runner.run(cells, store, **how)
    assert steps[0] == "start" and steps.count("opened") == 1 and steps.count(place) == 3
    assert steps.index("opened") < steps.index(place)
    steps.clear()
    assert runner.run(cells, store, **how) and steps == ["opened"]


class Diary(Tracker):
    """A tracker that notes what it is told, and cannot keep models."""

    said: ClassVar[list] = []

    def start(self, name, params, tags, data=None, parent=None):
        self.run_id = "run 7"
        self.said.append((name, params["solver"], data, parent))

    def model(self, model, example, register=None):
        self.said.append((model, example))
        self.warn("no room for the model")

    def end(self, status="FINISHED"):
        self.said.append(status)


@pytest.mark.parametrize("scheme", ["dense", "sparse"])
def test_a_cell_is_logged_by_the_process_that_waits_for_it(scheme, monkeypatch):
    """With all that its worker knows, which holds no rows; what the tracker says joins the notes of the cell."""
    monkeypatch.setattr(worker, "_bench", worker.Bench())
    monkeypatch.setattr(worker.tracking, "tracker", lambda uri, experiment, name: Diary(uri, experiment))
    monkeypatch.setattr(Diary, "said", [])
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6)) * (rng.random((80, 6)) < (1.0 if scheme == "dense" else 0.3))
    rows = [" ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row) if v) for row in X.tolist()]
    Path("rows.svm").write_text("".join(f"{2 * (k % 2) - 1} {row}\n" for k, row in enumerate(rows)), encoding="utf-8")
    (cell,) = read({"data": {"rows.svm": {"test": 0.25}}, "solvers": ["smo"]}).cells()
    where = worker.Tracking("store", "experiment", "parent")
    worker.get_ready(cell)
    record = worker.run(cell, 10.0, False) | {"notes": ["early"]}
    alone, nothing = worker.finish(dict(record), cell, None)
    assert nothing is None and "run_id" not in alone
    assert worker.finish(record | {"status": "interrupted"}, cell, where)[1] is None
    found, recorder = pickle.loads(pickle.dumps(worker.finish(dict(record), cell, where)))
    assert not Diary.said and found["test_accuracy"] == alone["test_accuracy"]
    logged = worker.log(found, recorder, where)
    assert logged == found | {"run_id": "run 7", "parent_run_id": "parent", "notes": ["early", "no room for the model"]}
    (title, solver, data, parent), (model, example), status = Diary.said
    rows = worker._bench.sets.train
    assert (title, solver, parent, status) == ("smo rows.svm 0", "smo", "parent", "FINISHED")
    assert (data.name, data.X.shape, data.X.dtype, data.is_sparse) == (
        "rows",
        rows.X.shape,
        rows.X.dtype,
        rows.is_sparse,
    )
    assert data.is_sparse == (scheme == "sparse") and data.y.dtype == rows.y.dtype
    assert data.fingerprint() == rows.fingerprint() and data.describe()["density"] == 0.0
    np.testing.assert_array_equal(model.predict(example), model.predict(rows.X[:5]))
