"""What `svmkit train --register` leaves in the registry, and with the caller when the store fails."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.cli import svmlight
from svmkit_registry import lineage, models
from svmkit_registry.tracker import MLflowTracker

from svmkit.model.model import SVMModel

pytestmark = pytest.mark.usefixtures("alone")


@pytest.mark.slow
def test_train_registers_and_its_lineage_is_in_model_and_version(svmkit):
    for words in (
        ("init", "-q"),
        ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"),
    ):
        subprocess.run(["git", *words], check=True)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    data = svmlight()
    options = ("--solver", "smo", "--test-size", "0.25", "--scale", "standard", "-C", "2", "--register", "clouds-svm")
    result = svmkit("train", data, *options, "--out", "m.svmkit", "--json").json
    (version,) = svmkit("models", "show", "clouds-svm", "--json").json["versions"]
    assert version["test_accuracy"] == result["test_accuracy"] and version["n_test"] == result["n_test"] == 16
    assert version["gap"] == result["gap"] and version["status"] == result["status"] == "converged"
    assert version["git_commit"] == commit and version["run_id"] == result["run_id"]
    assert len(version["data_sha256"]) == len(version["test_sha256"]) == 64
    assert version["data_sha256"] != version["test_sha256"]
    assert version["params"]["C"] == 2.0 and version["params"]["scale"] == "standard"
    assert version["params"]["gamma"] == result["kernel"]["params"]["gamma"]
    assert version["n_samples"] == result["n_samples"] and version["data"] == version["test_data"] == "clouds"
    told = {key: version[key] for key in lineage.FIELDS if version[key] is not None}
    assert lineage.model_origin(SVMModel.load("m.svmkit")) == told and told["metric"] == "accuracy"
    # the same test set again, however the model was made
    assert svmkit("train", data, *options, "--sampler", "full", "--json").json["model"] == "models:/clouds-svm/2"
    again = models.show_model("clouds-svm")["versions"][0]
    assert again["test_sha256"] == version["test_sha256"]
    assert svmkit("models", "promote", "clouds-svm", "1", "champion").code == 0

    source = "models:/clouds-svm@champion"
    from_file = svmkit("predict", "m.svmkit", data)
    assert svmkit("predict", source, data).out == from_file.out and from_file.out.count("\n") == 60
    scored = svmkit("evaluate", source, data, "--json").json
    assert scored["model"] == source and scored["n_test"] == 60
    assert scored["test_accuracy"] == svmkit("evaluate", "m.svmkit", data, "--json").json["test_accuracy"]


@pytest.mark.slow
def test_a_store_that_is_down_costs_a_warning_and_no_model(svmkit):
    data = svmlight()
    train = ("train", data, "--solver", "smo", "--test-size", "0.25", "--register", "clouds svm")
    down = ("--tracking-uri", "http://127.0.0.1:9")
    for name in ("clouds svm.svmkit", "clouds svm-2.svmkit"):  # what is there is never replaced
        done = svmkit(*train, *down, "--json")
        assert done.json["model"] == name and done.json["run_id"] is None
        assert "no server answers" in done.err and done.err.count("\n") == 2
        assert f"svmkit models register '{name}' --name 'clouds svm'" in done.err
    done = svmkit(*train, *down, "--out", "mine.svmkit", "--json")
    assert done.json["model"] == "mine.svmkit" and "svmkit models register mine.svmkit" in done.err
    assert len(list(Path().glob("*.svmkit"))) == 3

    assert svmkit("models", "register", "clouds svm.svmkit", "--name", "clouds svm").code == 0
    (version,) = models.show_model("clouds svm")["versions"]
    assert version["test_accuracy"] == done.json["test_accuracy"] and version["n_test"] == 16
    assert version["data_sha256"] and version["params"]["C"] == 1.0


def test_a_store_that_goes_down_while_training_costs_no_model(svmkit, monkeypatch):
    def gone(self, *args):
        raise ConnectionError("the server is gone")

    monkeypatch.setattr(MLflowTracker, "_register", gone)
    done = svmkit("train", svmlight(), "--solver", "smo", "--register", "clouds", "--json")
    assert done.json["model"] == "clouds.svmkit" and "the server is gone" in done.err
    assert SVMModel.load("clouds.svmkit").about["status"] == "converged"


def test_an_interrupt_while_registering_keeps_the_model(svmkit, monkeypatch):
    def interrupted(self, *args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(MLflowTracker, "model", interrupted)
    done = svmkit("train", svmlight(), "--solver", "smo", "--register", "clouds")
    assert done.code == 1 and "svmkit models register clouds.svmkit" in done.err
    assert SVMModel.load("clouds.svmkit").n_features == 3


def test_two_that_keep_their_model_at_once_keep_two(alone):
    from svmkit.cli.training.saving import claimed_file

    assert [claimed_file("m") for _ in range(3)] == ["m.svmkit", "m-2.svmkit", "m-3.svmkit"]
