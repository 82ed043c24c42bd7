"""MLflow: what a run holds, the model as a python function, and the registry."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import yaml
from support.registry import POINTS, SETTINGS, X, make_model
from svmkit_registry import fetching, loader, packing, store
from svmkit_registry.tracker import MLflowTracker

from svmkit import __version__, fit
from svmkit.data import Dataset, Encoding, Preprocessing, load
from svmkit.errors import InputError, SvmkitError, SvmkitWarning
from svmkit.kernels.functions import RBF
from svmkit.model.model import SVMModel


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


@pytest.mark.slow
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
    assert len(client.get_metric_history(run.info.run_id, "curve/accuracy")) == 6  # where it was measured
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
    model = make_model(rows, preprocessing=Preprocessing(encoding))
    packing.write_folder(tmp_path / "m", model, rows)
    table = pd.DataFrame({"size": [0.5, 2, -1], "y": [0, 0, 0], "city": ["Bonn", "Kiel", "Kiel"], "age": [1, -1, 0.3]})
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "m"))
    assert np.array_equal(loaded.predict(table.drop(columns="y")), model.predict(rows))
    whole = table.assign(age=[1, -1, 0]).convert_dtypes()
    assert np.array_equal(loaded.get_raw_model().predict(whole), model.predict(table.assign(age=[1.0, -1.0, 0.0])))
    assert loaded.input_schema.input_names() == ["age", "city", "size"]
    pd.testing.assert_frame_equal(packing.as_table(encoding, rows), table[["age", "city", "size"]], check_dtype=False)
    direct = loader.Predictor(model)
    for same in (table, table[["age", "city", "size"]].set_axis(range(3), axis=1), pd.DataFrame(rows), rows):
        assert np.array_equal(direct.predict(same), model.predict(rows))
    with pytest.raises(InputError, match="lacks column 'city'"):
        direct.predict(table.drop(columns="city"))
    with pytest.warns(SvmkitWarning, match="never saw"):
        direct.predict(table.assign(city="Rome"))


HOLED = """age,since,city,size,y
31,2024-02-28,Bonn,,0
,2023-11-30,Kiel,1.5,1
44,,Kiel,2.5,0
,2024-01-15 06:30,,0.5,1
25,2022-07-01,Bonn,,1
29,2021-03-09,Kiel,3.5,0
"""


@pytest.mark.parametrize("impute", ["median", "indicator"])
def test_a_model_that_imputes_takes_tables_with_holes(tmp_path, alone, impute):
    """Number columns, text and dates; by the order of its columns, by name, as numbers, and a row that is all holes."""
    import mlflow

    (tmp_path / "t.csv").write_text(HOLED)
    data = load("t.csv", holes=True)
    model = fit(data.X, data.y, kernel=RBF(0.5), impute=impute, scale="standard", flags=data.flags).model
    model = replace(model, preprocessing=replace(model.preprocessing, encoding=data.encoding))
    packing.write_folder(tmp_path / "m", model, data.X)
    frame = pd.read_csv("t.csv").drop(columns="y")
    decoded = packing.as_table(data.encoding, data.X)
    assert decoded["since"].tolist() == [
        "2024-02-28",
        "2023-11-30",
        "",
        "2024-01-15 06:30:00",
        "2022-07-01",
        "2021-03-09",
    ]
    pd.testing.assert_frame_equal(decoded[["age", "size"]], frame[["age", "size"]])
    for predict in (mlflow.pyfunc.load_model(str(tmp_path / "m")).predict, loader.Predictor(model).predict):
        for table in (frame, decoded, frame[["size", "city", "since", "age"]]):
            np.testing.assert_array_equal(predict(table), model.predict(data.X))
    np.testing.assert_array_equal(loader.Predictor(model).predict(pd.DataFrame(data.X)), model.predict(data.X))
    empty = pd.DataFrame({"age": [np.nan], "since": [None], "city": ["Kiel"], "size": [np.nan]})
    (shown,) = [column for column in range(data.n_features) if data.encoding.feature_names[column] == "city=Kiel"]
    row = np.full((1, data.n_features), np.nan)
    row[0, data.flags] = 0.0
    row[0, shown] = 1.0
    np.testing.assert_array_equal(loader.Predictor(model).predict(empty), model.predict(row))


@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array])
def test_a_model_of_numbers_that_imputes(tmp_path, stored):
    import mlflow

    rows = np.where(np.random.default_rng(2).random(X.shape) < 0.2, np.nan, X)
    model = fit(stored(rows), np.arange(len(X)) % 2, kernel=RBF(0.5), impute="indicator").model
    packing.write_folder(tmp_path / "m", model, stored(rows))
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "m"))
    np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))
    assert loader.Predictor(model).predict([[1.0, None, 3.0, np.nan]]).shape == (1,)


def test_numeric_columns_by_name(tmp_path):
    import mlflow

    encoding = Encoding(tuple("abcd"), (None,) * 4, True, None, None, False)
    model = make_model(preprocessing=Preprocessing(encoding))
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


def test_a_run_within_a_run_and_going_on_with_one(tmp_path):
    uri = str(tmp_path / "mlflow.db")
    outer, inner, later = (MLflowTracker(uri, "trial") for _ in range(3))
    outer.start("comparison", {"solvers": "a,b"}, {})
    inner.start("a", {}, {}, parent=outer.run_id)
    inner.end()
    outer.end("KILLED")
    assert not later.reopen("0" * 32)
    assert later.reopen(outer.run_id)
    (tmp_path / "report.html").write_text("<p>", encoding="utf-8")
    later.artifact(tmp_path / "report.html", "report")
    later.metrics({"cells/finished": 1.0})
    later.end()
    client = store.open_client(store.tracking_uri(uri))
    assert client.get_run(inner.run_id).data.tags["mlflow.parentRunId"] == outer.run_id
    run = client.get_run(outer.run_id)
    assert (run.info.status, run.data.metrics) == ("FINISHED", {"cells/finished": 1.0})
    assert [entry.path for entry in client.list_artifacts(outer.run_id, "report")] == ["report/report.html"]
    client.delete_run(outer.run_id)
    assert not MLflowTracker(uri, "trial").reopen(outer.run_id)


def test_a_plugins_kernel_brings_its_package_along(monkeypatch):
    model = make_model()
    (own,) = packing.requirements(model)
    assert own == f"svmkit=={__version__}"
    monkeypatch.setattr(packing.plugins, "requirement", lambda kind, name: f"svmkit-{name}==1.2")
    assert packing.requirements(model) == [own, f"svmkit-{model.kernel.name}==1.2"]
