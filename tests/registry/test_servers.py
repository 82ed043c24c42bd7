"""The registry when many ask at once, on a tracking server, and on one that never answers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.cli import process, svmlight
from support.registered import silent_server, tracking_server
from svmkit_registry import models, store

from svmkit.model.model import SVMModel

pytestmark = [pytest.mark.usefixtures("alone"), pytest.mark.slow]


def start(*args: object) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "svmkit", *map(str, args)],
        env={key: value for key, value in os.environ.items() if not key.startswith("MLFLOW_")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_four_processes_on_a_cold_store(svmkit):
    data = svmlight()
    options = ("--solver", "smo", "--threads", "1", "--test-size", "0.25", "--register", "same", "--json")
    running = [start("train", data, *options, "--seed", seed) for seed in range(4)]
    outputs = [process.communicate(timeout=240) for process in running]
    assert [process.returncode for process in running] == [0] * 4, outputs
    assert [err for _, err in outputs] == [""] * 4
    found = models.show_model("same")["versions"]
    assert [version["version"] for version in found] == [4, 3, 2, 1]
    assert {version["params"]["seed"] for version in found} == set(range(4))
    assert len({version["run_id"] for version in found}) == 4
    assert all(version["test_accuracy"] is not None for version in found)
    assert {path.name for path in Path().iterdir()} == {data.name, "mlflow.db", "mlruns"}
    client = store.open_client(store.tracking_uri())
    assert all(client.get_run(version["run_id"]).info.status == "FINISHED" for version in found)
    for k in (1, 4):
        assert svmkit("evaluate", f"models:/same/{k}", data).code == 0


def test_on_a_tracking_server(svmkit, refused, tmp_path):
    data = svmlight()
    (tmp_path / "server").mkdir()
    with tracking_server(tmp_path / "server") as address:
        at = ("--tracking-uri", address)
        train = ("train", data, "--solver", "smo", "--test-size", "0.25", "--register", "clouds", *at, "--json")
        assert svmkit(*train).json["model"] == "models:/clouds/1"
        assert svmkit(*train, "--out", "m.svmkit").json["model"] == "m.svmkit"
        assert svmkit("models", "register", "m.svmkit", "--name", "clouds", *at, "--json").json["version"] == 3
        assert svmkit("models", "promote", "clouds", "3", "champion", *at).code == 0
        assert svmkit("models", "promote", "clouds", "2", "champion", *at).code == 0  # equal is not below
        (listed,) = svmkit("models", "list", *at, "--json").json
        assert listed["aliases"] == {"champion": 2} and listed["versions"] == 3
        assert listed["latest"]["test_accuracy"] is not None and listed["latest"]["version"] == 3
        shown = svmkit("models", "show", "clouds", *at, "--json").json["versions"]
        assert [version["aliases"] for version in shown] == [[], ["champion"], []]
        assert len({version["test_sha256"] for version in shown}) == 1 and shown[0]["params"]["solver"] == "smo"
        assert svmkit("models", "pull", "models:/clouds@champion", "--out", "p.svmkit", *at).code == 0
        assert Path("p.svmkit").read_bytes() == Path("m.svmkit").read_bytes()
        predicted = svmkit("predict", "models:/clouds@champion", data, *at)
        assert predicted.code == 0 and predicted.out == svmkit("predict", "m.svmkit", data).out
        refused(["no registered model 'a/b'", "registered: clouds"], "models", "show", "a/b", *at)
        refused(["no alias 'best'", "@champion (version 2)"], "predict", "models:/clouds@best", data, *at)
    assert not Path("mlflow.db").exists()  # nothing of this went to the default store


def test_a_server_that_never_answers_costs_a_warning_and_no_model():
    data = svmlight()
    quick = os.environ | {"MLFLOW_HTTP_REQUEST_TIMEOUT": "1", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1"}
    with silent_server() as address:
        at = ("--tracking-uri", address)
        done = process("train", data, "--solver", "smo", "--register", "clouds", *at, "--json", env=quick)
        assert done.json["model"] == "clouds.svmkit"
        assert "does not answer" in done.err and "svmkit models register clouds.svmkit --name clouds" in done.err
        assert SVMModel.load("clouds.svmkit").about["data_sha256"]
        for args in (("list",), ("register", "clouds.svmkit", "--name", "clouds")):
            asked = process("models", *args, *at, env=quick)
            assert asked.code == 1 and asked.err.count("\n") == 1 and "does not answer" in asked.err
