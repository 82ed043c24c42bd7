"""One cell of a comparison: a worker that dies, and what is logged once it has ended."""

import time
import warnings
from concurrent.futures import Future
from types import SimpleNamespace

import pytest

from svmkit.compare.cells import lane, worker
from svmkit.errors import InputError, SvmkitWarning


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


def test_a_cell_is_logged_with_its_record(monkeypatch):
    """Unless there is no run to log it to, or it was interrupted; what is noted meanwhile joins its notes."""
    logged = []

    def log(record, cell, trained, sets, tracking):
        logged.append((record["key"], cell, trained, sets, tracking.parent))
        warnings.warn("a remark", SvmkitWarning, stacklevel=2)
        return "run 7"

    sets, cell = SimpleNamespace(test=None), SimpleNamespace(training=SimpleNamespace(device=None))
    trained = SimpleNamespace(fitted=SimpleNamespace(model=SimpleNamespace(finds_outliers=False)))
    monkeypatch.setattr(worker, "_log", log)
    monkeypatch.setattr(worker._bench, "trained", trained, raising=False)
    monkeypatch.setattr(worker._bench, "sets", sets, raising=False)
    record, tracking = {"key": "k", "status": "converged", "notes": ["early"]}, SimpleNamespace(parent="p")
    assert worker.finish(dict(record), cell, None) == record
    assert worker.finish(record | {"status": "interrupted"}, cell, tracking) == record | {"status": "interrupted"}
    assert not logged
    found = worker.finish(dict(record), cell, tracking)
    assert logged == [("k", cell, trained, sets, "p")]
    assert found == record | {"run_id": "run 7", "parent_run_id": "p", "notes": ["early", "a remark"]}
