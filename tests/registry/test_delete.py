"""svmkit models delete, and commands that read a store that is not there."""

import io
import os
import shutil

import pytest
from support.registered import scored
from support.registry import X
from svmkit_registry import models
from svmkit_registry.tracker import MLflowTracker

pytestmark = pytest.mark.usefixtures("alone")


@pytest.fixture(scope="module")
def versions(tmp_path_factory):
    """A store with three versions of `toy`, the second of which is the champion."""
    path = tmp_path_factory.mktemp("versions") / "mlflow.db"
    tracker = MLflowTracker(str(path), strict=True)
    tracker.start("first", {}, {})
    for accuracy in (0.8, 0.9, 0.7):
        tracker.model(scored(accuracy), X[:3], register="toy")
    tracker.end()
    models.promote("toy", "2", "champion", uri=str(path))
    return path


@pytest.fixture
def toy(versions):
    shutil.copy(versions, "mlflow.db")


@pytest.fixture
def answer(monkeypatch):
    """answer("y"): what a command reads from its input."""
    return lambda text: monkeypatch.setattr("sys.stdin", io.StringIO(text))


def left():
    return [found["version"] for found in models.show_model("toy")["versions"]]


@pytest.mark.slow
def test_a_version_is_deleted_after_a_question(svmkit, toy, answer):
    for said in ("", "\n", "n\n", "what?\n"):
        answer(said)
        done = svmkit("models", "delete", "toy", "--version", "1")
        assert done.code == 1 and done.out == "" and "delete toy version 1? [y/N]" in done.err
        assert left() == [3, 2, 1]
    answer("y\n")
    assert svmkit("models", "delete", "toy", "--version", "1").out == "toy version 1 is deleted\n"
    assert left() == [3, 2]


def test_a_version_with_an_alias_is_deleted_only_on_purpose(svmkit, toy, answer):
    answer("y\n")
    for which in ([], ["--version", "2"]):
        done = svmkit("models", "delete", "toy", *which)
        assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
        assert "@champion is version 2" in done.err and "--yes" in done.err
    found = svmkit("models", "delete", "toy", "--version", "2", "--yes", "--json").json
    assert found == {"name": "toy", "versions": [2], "aliases": {"champion": 2}}
    assert left() == [3, 1] and models.show_model("toy")["aliases"] == {}


def test_a_whole_model_is_deleted(svmkit, toy):
    assert svmkit("models", "delete", "toy", "--yes").out == "toy (3 versions) is deleted\n"
    assert models.list_models() == []


def test_what_is_not_there_cannot_be_deleted(refused, toy):
    refused(["no registered model 'no'", "toy"], "models", "delete", "no", "--yes")
    refused(["no version '7'", "1, 2, 3"], "models", "delete", "toy", "--version", "7", "--yes")
    assert left() == [3, 2, 1]


@pytest.mark.parametrize(
    "command",
    [
        ("models", "list"),
        ("models", "show", "x"),
        ("models", "promote", "x", "1", "champion"),
        ("models", "pull", "models:/x/1", "--out", "x.svmkit"),
        ("models", "delete", "x", "--yes"),
        ("show", "models:/x@champion"),
        ("predict", "models:/x/1", "iris"),
        ("evaluate", "models:/x/1", "iris"),
    ],
    ids=" ".join,
)
def test_a_command_that_reads_leaves_no_store_behind(refused, command):
    refused(["there is no store at", "mlflow.db", "--tracking-uri"], *command)
    assert os.listdir() == []
