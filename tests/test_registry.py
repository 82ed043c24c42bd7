"""MLflow: the cold store, what a run holds, the model as a python function, the registry, and a store that fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import yaml
from svmkit_registry import fetching, loader, packing, store
from svmkit_registry.tracker import MLflowTracker

from svmkit import kernels
from svmkit.data import Dataset, Encoding
from svmkit.errors import InputError, SvmkitError, SvmkitWarning
from svmkit.history import Point
from svmkit.model import SVMModel

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
POINTS = [Point(i, 0.01 * i, 1.0 / i, None if i == 1 else 2.0 / i, i, 60 * i) for i in range(1, 700)]
SETTINGS = {"solver": "swap", "C": 1.0, "note": "x" * 9000}


def make_model(vectors=X[:10], classes=("no", "yes"), **kwargs) -> SVMModel:
    n_sv, labels = vectors.shape[0], np.array(classes)
    n_pairs = len(labels) * (len(labels) - 1) // 2
    return SVMModel(
        kernel=kernels.RBF(0.5),
        classes=labels,
        vectors=vectors,
        n_support=np.array([n_sv - len(labels) + 1] + [1] * (len(labels) - 1)),
        coef=np.random.default_rng(1).normal(size=(len(labels) - 1, n_sv)),
        intercept=np.full(n_pairs, 0.01),
        n_features=vectors.shape[1],
        **kwargs,
    )


@pytest.fixture(scope="module")
def uri(tmp_path_factory) -> str:
    # a space and a # in the path: artifact locations are URIs
    return str(tmp_path_factory.mktemp("a store #1") / "mlflow.db")


@pytest.fixture(scope="module")
def logged(uri) -> dict:
    """One complete run, its model registered twice, the first version under an alias."""
    tracker = MLflowTracker(uri, "trial")
    tracker.start("first", SETTINGS, {"kind": "test"}, Dataset(X, np.arange(60) % 2, "toy"))
    tracker.curve(POINTS)
    tracker.metrics({"time/fit_s": 0.25, "test/accuracy": None})
    model = make_model()
    uris = [tracker.model(model, X[:8], register="toy"), tracker.model(model, X[:8], register="toy")]
    tracker.metrics({"test/accuracy": 0.75})
    tracker.end()
    tracker.end("KILLED")  # the second call does nothing
    client = store.open_client(tracker.uri)
    client.set_registered_model_alias("toy", "champion", "1")
    return {"tracker": tracker, "client": client, "uris": uris, "model": model, "run": client.get_run(tracker.run_id)}


@pytest.fixture
def global_store(logged):
    import mlflow

    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(logged["tracker"].uri)
    yield mlflow
    mlflow.set_tracking_uri(before)


def python(code: str, folder: Path, *args: str) -> subprocess.Popen:
    env = {k: v for k, v in os.environ.items() if not k.startswith("MLFLOW_")} | {
        "PYTHONPATH": str(Path(__file__).parent)
    }
    return subprocess.Popen(
        [sys.executable, "-c", code, *args],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_six_processes_on_a_cold_store(tmp_path):
    code = """if True:
        import sys, test_registry as t
        tracker = t.MLflowTracker()
        tracker.start("run" + sys.argv[1], t.SETTINGS, {}, t.Dataset(t.X, None, "toy"))
        tracker.curve(t.POINTS)
        tracker.metrics({"time/fit_s": 1.0})
        tracker.model(t.make_model(), t.X[:3], register="shared")
        tracker.end()
    """
    running = [python(code, tmp_path, str(i)) for i in range(6)]
    outputs = [process.communicate(timeout=120) for process in running]
    assert [process.returncode for process in running] == [0] * 6, outputs
    assert outputs == [("", "")] * 6  # no warning, no migration log
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mlflow.db", "mlruns"]
    client = store.open_client(store.tracking_uri(str(tmp_path / "mlflow.db")))
    found = client.search_runs([client.get_experiment_by_name("svmkit").experiment_id])
    assert sorted(run.info.run_name for run in found) == [f"run{i}" for i in range(6)]
    for run in found:
        assert run.info.status == "FINISHED" and run.data.params["solver"] == "swap"
        assert len(client.get_metric_history(run.info.run_id, "curve/objective")) == len(POINTS)
    assert len(client.search_model_versions("name='shared'")) == 6


def test_a_kill_during_the_first_creation_leaves_nothing_broken(tmp_path):
    (tmp_path / "mlflow.db.part").write_bytes(b"half a database")
    (tmp_path / "mlflow.db").touch()
    tracker = MLflowTracker(str(tmp_path / "mlflow.db"))
    tracker.start("x", {}, {})
    tracker.end("KILLED")
    assert tracker.run_id and sorted(p.name for p in tmp_path.iterdir()) == ["mlflow.db"]


def test_the_lock_is_exclusive_and_gives_up(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "PATIENCE", 0.2)
    with (
        store._locked(tmp_path / "lock"),
        pytest.raises(TimeoutError, match="held by"),
        store._locked(tmp_path / "lock"),
    ):
        pass
    with store._locked(tmp_path / "lock"):
        pass


def failing(*errors: Exception | None):
    """A call that raises these in turn, the last one for ever; None: it returns its argument."""
    left = list(errors)

    def call(value=None):
        if error := left.pop(0) if len(left) > 1 else left[0]:
            raise error
        return value

    return call


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
    assert store.shown("http://me:secret@host:5000/x") == "http://host:5000/x"


def test_params_tags_curves_and_scalars(logged):
    run, client = logged["run"], logged["client"]
    assert run.info.run_name == "first" and run.info.status == "FINISHED"
    assert run.data.params == {"solver": "swap", "C": "1.0", "note": "x" * 6000}
    assert run.data.tags["kind"] == "test" and run.data.tags["mlflow.source.name"] == "svmkit"
    assert run.data.tags["svmkit.version"]
    assert run.data.metrics["time/fit_s"] == 0.25 and run.data.metrics["test/accuracy"] == 0.75
    history = client.get_metric_history(run.info.run_id, "curve/objective")
    assert [m.step for m in history] == [p.n_iter for p in POINTS]
    assert [m.value for m in history] == [p.objective for p in POINTS]
    assert history[99].timestamp - run.info.start_time == round(1000 * POINTS[99].seconds)
    assert len(client.get_metric_history(run.info.run_id, "curve/gap")) == len(POINTS) - 1  # None is skipped
    assert run.data.metrics["curve/n_support"] == 699 and run.data.metrics["curve/elapsed_s"] == pytest.approx(6.99)


def test_dataset_is_an_input(logged):
    (entry,) = logged["run"].inputs.dataset_inputs
    assert entry.dataset.name == "toy"
    assert Dataset(X, np.arange(60) % 2, "toy").fingerprint().startswith(entry.dataset.digest)
    assert len(entry.dataset.digest) == 36
    assert json.loads(entry.dataset.profile) == {"num_rows": 60, "num_features": 4, "sparse": False}
    assert [(tag.key, tag.value) for tag in entry.tags] == [("mlflow.data.context", "training")]


def test_logged_model_is_ready_and_carries_the_scores(logged):
    ids = [out.model_id for out in logged["run"].outputs.model_outputs]
    assert len(ids) == 2
    models = [logged["client"].get_logged_model(model_id) for model_id in ids]
    found = max(models, key=lambda model: model.creation_timestamp)
    assert found.status == "READY" and found.name == "model" and found.params["solver"] == "swap"
    assert {m.key: m.value for m in found.metrics} == {"time/fit_s": 0.25, "test/accuracy": 0.75}
    assert json.loads(found.tags["mlflow.modelVersions"])[0]["name"] == "toy"


def test_no_pickle_and_our_loader(logged):
    folder = Path(store.sqlite_path(logged["tracker"].uri)).parent / "mlruns"
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files and not [p for p in files if p.suffix in (".pkl", ".pickle", ".joblib", ".cloudpickle")]
    recipe = yaml.safe_load(next(p for p in files if p.name == "MLmodel").read_text())
    assert recipe["flavors"]["python_function"]["loader_module"] == "svmkit_registry.loader"
    assert recipe["signature"]["inputs"] and recipe["saved_input_example_info"]
    needs = next(p for p in files if p.name == "requirements.txt").read_text()
    assert "svmkit==" in needs and "scikit-learn" not in needs


def test_pyfunc_predicts_as_the_model_does(logged, global_store):
    model = logged["model"]
    expected = model.predict(X)
    assert set(expected) == {"no", "yes"}
    for uri in [*logged["uris"], "models:/toy@champion", f"runs:/{logged['run'].info.run_id}/model"]:
        loaded = global_store.pyfunc.load_model(uri)
        for rows in (X, X.astype(np.float32), pd.DataFrame(X, columns=list("abcd")), X.tolist()):
            assert np.array_equal(loaded.predict(rows), expected)
    assert np.array_equal(loaded.get_raw_model().decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_and_many_classes(tmp_path, dtype):
    import mlflow

    rows = sp.csr_array(np.where(X > 0.5, X, 0.0).astype(dtype))
    model = make_model(rows[:10], classes=(0, 1, 2))
    packing.write_folder(tmp_path / "m", model, rows[:7])
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "m"))
    expected = model.predict(rows)
    assert len(set(expected.tolist())) > 1 and expected.dtype.kind == "i"
    assert np.array_equal(loaded.predict(sp.csr_matrix(rows)), expected)
    assert np.array_equal(loaded.predict(rows.toarray()), expected)
    assert np.array_equal(loader._load_pyfunc(str(tmp_path / "m" / "data")).predict(rows), expected)


def test_table_with_text_columns(tmp_path):
    import mlflow

    encoding = Encoding(("age", "city", "size"), (None, ("Bonn", "Kiel"), None), True, "y", 3, True)
    rows = np.array([[1.0, 1, 0, 0.5], [-1.0, 0, 1, 2.0], [0.3, 0, 1, -1.0]])
    model = make_model(rows, encoding=encoding)
    packing.write_folder(tmp_path / "m", model, rows)
    table = pd.DataFrame({"size": [0.5, 2, -1], "y": [0, 0, 0], "city": ["Bonn", "Kiel", "Kiel"], "age": [1, -1, 0.3]})
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "m"))
    assert np.array_equal(loaded.predict(table.drop(columns="y")), model.predict(rows))
    assert loaded.input_schema.input_names() == ["age", "city", "size"]
    pd.testing.assert_frame_equal(packing.as_table(encoding, rows), table[["age", "city", "size"]], check_dtype=False)
    direct = loader.Predictor(model)
    for same in (table, table[["age", "city", "size"]].set_axis(range(3), axis=1), pd.DataFrame(rows), rows):
        assert np.array_equal(direct.predict(same), model.predict(rows))
    with pytest.raises(InputError, match="lacks the columns 'city'"):
        direct.predict(table.drop(columns="city"))
    with pytest.warns(SvmkitWarning, match="never saw"):
        direct.predict(table.assign(city="Rome"))


def test_numeric_columns_by_name(tmp_path):
    import mlflow

    encoding = Encoding(tuple("abcd"), (None,) * 4, True, None, None, False)
    model = make_model(encoding=encoding)
    packing.write_folder(tmp_path / "m", model, X)
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "m"))
    for rows in (pd.DataFrame(X, columns=list("abcd"))[list("dbca")], X):
        assert np.array_equal(loaded.predict(rows), model.predict(X))


def test_wide_models_take_a_tensor():
    signature, example = packing.describe(make_model(np.zeros((3, packing.WIDE))), np.zeros((9, packing.WIDE)))
    assert signature.inputs.is_tensor_spec() and example.shape == (5, packing.WIDE)


def test_fetch_by_alias_version_id_and_run(logged, tmp_path):
    tracker, run_id = logged["tracker"], logged["run"].info.run_id
    model_id = logged["run"].outputs.model_outputs[0].model_id
    assert logged["uris"] == ["models:/toy/1", "models:/toy/2"]
    for i, uri in enumerate(
        ["toy@champion", "toy/1", "toy/2", "toy/latest", "toy@latest", model_id, f"runs:/{run_id}/model"]
    ):
        path = tracker.fetch(uri if "runs" in uri else f"models:/{uri}", str(tmp_path / str(i)))
        assert Path(path).name == "model.svmkit" and Path(path).is_relative_to(tmp_path)
        assert np.array_equal(SVMModel.load(path).predict(X), logged["model"].predict(X))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("models:/nope@champion", "no registered model 'nope'.*registered: toy"),
        ("models:/nope/1", "registered: toy"),
        ("models:/toy@best", r"has no alias 'best': it has @champion \(version 1\); versions 1, 2"),
        ("models:/toy/9", "has no version '9': it has 1, 2"),
        ("models:/toy", "names no logged model.*registered: toy"),
        ("models:/m-0123", "names no logged model"),
        ("models:/a/b/c", "is no model: write models:/NAME@ALIAS"),
        ("file.svmkit", "is no model"),
        ("runs:/0123/model", "no run '0123'"),
        ("runs:/RUN", "write runs:/.*/model"),
        ("runs:/RUN/other", "holds no svmkit model"),
    ],
)
def test_unknown_names_list_the_known(logged, tmp_path, wrong, says):
    with pytest.raises(InputError, match=says) as caught:
        logged["tracker"].fetch(wrong.replace("RUN", logged["run"].info.run_id), str(tmp_path))
    assert "\n" not in str(caught.value)


def test_fetch_makes_no_store_and_says_when_one_fails(tmp_path):
    with pytest.raises(InputError, match="there is no store at"):
        MLflowTracker(str(tmp_path / "none.db")).fetch("models:/a/1", str(tmp_path))
    assert not list(tmp_path.iterdir())
    with pytest.raises(SvmkitError, match="no server answers there"):
        MLflowTracker("http://127.0.0.1:9").fetch("models:/a/1", str(tmp_path))


def test_an_empty_registry_says_how_to_fill_it(tmp_path):
    client = store.open_client(store.tracking_uri(str(tmp_path / "new.db")))
    with pytest.raises(InputError, match="none is registered yet"):
        fetching.location(client, "models:/a/1")


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
    assert time.perf_counter() - began < 8
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
