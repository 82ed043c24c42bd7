"""MLflow: the cold store, its lock, runs side by side, and a store that fails."""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import pytest
from support.registry import POINTS, X, failing, make_model, python
from svmkit_registry import store
from svmkit_registry.tracker import MLflowTracker

from svmkit import kernels
from svmkit.errors import SvmkitWarning
from svmkit.model.model import SVMModel


@pytest.mark.slow
def test_four_processes_on_a_cold_store(tmp_path):
    code = """if True:
        import sys
        from support import registry as t
        from svmkit.data import Dataset
        from svmkit_registry.tracker import MLflowTracker
        tracker = MLflowTracker()
        tracker.start("run" + sys.argv[1], t.SETTINGS, {}, Dataset(t.X, None, "toy"))
        tracker.curve(t.POINTS)
        tracker.metrics({"time/fit_s": 1.0})
        tracker.model(t.make_model(), t.X[:3], register="shared")
        tracker.end()
    """
    running = [python(code, tmp_path, str(i)) for i in range(4)]
    outputs = [process.communicate(timeout=120) for process in running]
    assert [process.returncode for process in running] == [0] * 4, outputs
    assert outputs == [("", "")] * 4  # no warning, no migration log
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mlflow.db", "mlruns"]
    client = store.open_client(store.tracking_uri(str(tmp_path / "mlflow.db")))
    found = client.search_runs([client.get_experiment_by_name("svmkit").experiment_id])
    assert sorted(run.info.run_name for run in found) == [f"run{i}" for i in range(4)]
    for run in found:
        assert run.info.status == "FINISHED" and run.data.params["solver"] == "swap"
        assert len(client.get_metric_history(run.info.run_id, "curve/objective")) == len(POINTS)
    assert len(client.search_model_versions("name='shared'")) == 4


def test_a_kill_during_the_first_creation_leaves_nothing_broken(tmp_path):
    (tmp_path / "mlflow.db.part").write_bytes(b"half a database")
    (tmp_path / "mlflow.db").touch()
    tracker = MLflowTracker(str(tmp_path / "mlflow.db"))
    tracker.start("x", {}, {})
    tracker.end("KILLED")
    assert tracker.run_id and sorted(p.name for p in tmp_path.iterdir()) == ["mlflow.db"]


def test_a_full_disk_during_the_first_creation_leaves_no_half_database(tmp_path, monkeypatch):
    def fill(self, uri, artifacts):
        Path(uri.removeprefix("sqlite:///")).write_bytes(b"half a database")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mlflow.store.tracking.sqlalchemy_store.SqlAlchemyStore.__init__", fill)
    tracker = MLflowTracker(str(tmp_path / "mlflow.db"))
    with pytest.warns(SvmkitWarning, match="No space left"):
        tracker.start("x", {}, {})
    # the lock stays: a process that waits for it may hold it next
    assert tracker.run_id is None and [path.name for path in tmp_path.iterdir()] == ["mlflow.db.lock"]


def test_the_lock_is_exclusive_and_gives_up(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "PATIENCE", 0.2)
    with (
        store._lock(tmp_path / "lock"),
        pytest.raises(TimeoutError, match="held by"),
        store._lock(tmp_path / "lock"),
    ):
        pass
    with store._lock(tmp_path / "lock"):
        pass


def test_a_call_in_another_ones_way_is_made_again(monkeypatch):
    locked, collided = OSError("database is locked"), OSError("(sqlite3.IntegrityError) UNIQUE constraint failed")
    assert store.patiently(failing(locked, collided, locked, None), 3) == 3
    with pytest.raises(OSError, match="disk full"):
        store.patiently(failing(locked, OSError("disk full")))
    monkeypatch.setattr(store.time, "sleep", lambda seconds: None)
    with pytest.raises(OSError, match="UNIQUE"):
        store.patiently(failing(collided))
    monkeypatch.setattr(store, "PATIENCE", 0.0)
    with pytest.raises(OSError, match="locked"):
        store.patiently(failing(locked))


def test_where_the_store_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert store.tracking_uri() == f"sqlite:///{tmp_path}/mlflow.db"
    assert store.tracking_uri("sqlite:///a/b.db") == f"sqlite:///{tmp_path}/a/b.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://host:5000")
    assert store.tracking_uri() == "http://host:5000" and store.artifact_root("http://host:5000") is None
    assert store.tracking_uri("runs.db") == f"sqlite:///{tmp_path}/runs.db"


def drive(tracker: MLflowTracker) -> list[str]:
    """All calls of a run; the warnings they give."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tracker.start("x", {}, {})
        tracker.curve(POINTS)
        tracker.metrics({"a": 1.0})
        assert tracker.model(make_model(), X[:2]) is None
        tracker.end()
    return [str(w.message) for w in caught if issubclass(w.category, SvmkitWarning)]


def test_dead_server_costs_one_warning_and_seconds(capfd):
    began = time.perf_counter()
    (said,) = drive(MLflowTracker("http://127.0.0.1:9"))
    assert time.perf_counter() - began < 30  # mlflow itself would try for minutes
    assert "http://127.0.0.1:9" in said and "no server answers" in said and "--no-track" in said and "\n" not in said
    assert capfd.readouterr() == ("", "")


def test_stores_that_cannot_be_opened_cost_one_warning(tmp_path):
    (tmp_path / "bad.db").write_text("no database " * 1000)
    (tmp_path / "file").touch()
    for bad in (str(tmp_path / "bad.db"), str(tmp_path / "file" / "x.db"), "gopher://x/y"):
        (said,) = drive(MLflowTracker(bad))
        assert "--no-track" in said and "\n" not in said and len(said) < 500


def test_a_store_that_fails_half_way_costs_one_warning(tmp_path, monkeypatch):
    tracker = MLflowTracker(str(tmp_path / "mlflow.db"))
    tracker.start("x", {}, {})
    monkeypatch.setattr(tracker._client, "log_batch", lambda *a, **k: failing(OSError("disk full"))())
    with pytest.warns(SvmkitWarning, match="curve failed.*disk full") as caught:
        tracker.curve(POINTS)
        tracker.metrics({"a": 1.0})
        tracker.end()
    assert len(caught) == 1 and tracker.run_id


def test_interrupt_passes_and_the_run_ends_killed(tmp_path, monkeypatch):
    tracker = MLflowTracker(str(tmp_path / "mlflow.db"))
    tracker.start("x", {}, {})

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(tracker._client, "log_batch", interrupted)
        with pytest.raises(KeyboardInterrupt):
            tracker.curve(POINTS)
    tracker.end("KILLED")
    assert store.open_client(tracker.uri).get_run(tracker.run_id).info.status == "KILLED"


@pytest.mark.slow
def test_a_model_that_cannot_be_saved_leaves_the_run_open(tmp_path):
    class Odd(kernels.RBF):
        name = "odd"

    tracker = MLflowTracker(str(tmp_path / "mlflow.db"))
    tracker.start("x", {}, {})
    odd = make_model()
    object.__setattr__(odd, "kernel", Odd(0.5))
    with pytest.warns(SvmkitWarning, match="'odd' cannot be saved"):
        assert tracker.model(odd, X[:2]) is None
    tracker.metrics({"a": 1.0})
    tracker.end()
    run = store.open_client(tracker.uri).get_run(tracker.run_id)
    assert run.info.status == "FINISHED" and run.data.metrics == {"a": 1.0}


def test_a_deleted_experiment_is_named(tmp_path):
    client = store.open_client(store.tracking_uri(str(tmp_path / "mlflow.db")))
    client.delete_experiment(store.experiment_id(client, "gone"))
    with pytest.warns(SvmkitWarning, match="'gone' was deleted"):
        MLflowTracker(str(tmp_path / "mlflow.db"), "gone").start("x", {}, {})


@pytest.mark.slow
def test_two_runs_open_at_once_in_two_stores(tmp_path):
    one, two = (MLflowTracker(str(tmp_path / name / "mlflow.db")) for name in ("one", "two"))
    for tracker in (one, two):
        tracker.start("x", {}, {})
    for tracker, value in ((two, 2.0), (one, 1.0)):
        tracker.metrics({"a": value})
        assert tracker.model(make_model(), X[:2], register="same") == "models:/same/1"
        tracker.end()
    for tracker, value in ((one, 1.0), (two, 2.0)):
        assert store.open_client(tracker.uri).get_run(tracker.run_id).data.metrics == {"a": value}
        path = tracker.fetch("models:/same@latest", str(tmp_path / "out" / str(value)))
        assert SVMModel.load(path).n_features == 4


def test_importing_the_tracker_does_not_import_mlflow(tmp_path):
    code = "import sys, svmkit_registry.tracker as t; t.MLflowTracker(); sys.exit('mlflow' in sys.modules)"
    assert python(code, tmp_path).wait(timeout=60) == 0
    assert not list(tmp_path.iterdir())


def test_log_levels_come_back():
    import logging

    levels = [logging.getLogger(name).level for name in store._NOISY]
    with store.quiet(), store.quiet():
        assert not logging.getLogger("alembic.runtime").isEnabledFor(logging.ERROR)
    assert [logging.getLogger(name).level for name in store._NOISY] == levels
