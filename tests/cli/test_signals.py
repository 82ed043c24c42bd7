"""A signal at each stage of a command, sent from within it: exit code, standard output, the run and the registry."""

import contextlib
import json
import os
import signal
import sqlite3
import tempfile
from importlib import import_module
from pathlib import Path

import pytest
from support.cli import svmlight

from svmkit.model.model import SVMModel

pytestmark = [pytest.mark.posix, pytest.mark.usefixtures("alone")]

TRACKER = "svmkit_registry.tracker.MLflowTracker"
TRAIN = ("train", "clouds.svm", "--solver", "smo", "--register", "clouds", "--json")
TUNE = ("tune", "clouds.svm", "--solver", "smo", "--grid", "C=1,10", "--cv", "2", "--out", "m.svmkit", "--json")
COMPARE = ("compare", "clouds.svm", "--solvers", "smo,libsvm", "--test-size", "0.3", "--json")
CURVE = ("curve", "clouds.svm", "--solver", "smo", "--rows", "20,30", "--repeat", "1", "--plot", "c.png", "--json")
REGISTER = ("models", "register", "m.svmkit", "--name", "clouds", "--json")

SIGNALS = pytest.mark.parametrize("signum", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])


@pytest.fixture(autouse=True)
def stores(alone, monkeypatch, tmp_path):
    """A small set, no store of anybody else, and a SIGTERM that nobody answers fails the test, not its process."""
    svmlight()
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))

    def unanswered(signum, frame):
        raise AssertionError("the command does not answer SIGTERM")

    before = signal.signal(signal.SIGTERM, unanswered)
    yield
    assert signal.getsignal(signal.SIGTERM) is unanswered
    signal.signal(signal.SIGTERM, before)
    assert not os.listdir("scratch")


@pytest.fixture
def struck(svmkit, monkeypatch):
    """struck(place, signum, *command) -> Result of a command that gets a signal when it first calls a function."""

    def run(place, signum, *command):
        owner, _, name = place.rpartition(".")
        try:
            at = import_module(owner)
        except ModuleNotFoundError:
            module, _, of = owner.rpartition(".")
            at = getattr(import_module(module), of)
        original, sent = getattr(at, name), []

        def called(*args, **kwargs):
            if not sent:
                sent.append(signum)
                os.kill(os.getpid(), signum)
            return original(*args, **kwargs)

        called.__name__ = name
        with monkeypatch.context() as patch:
            patch.setattr(at, name, called)
            done = svmkit(*command)
        assert sent, f"the stage was never reached: {done}"
        assert "Traceback" not in done.err
        return done

    return run


def asked_of_store(query):
    """The rows of a query on the store of the working directory; none where there is no store."""
    if not Path("mlflow.db").exists():
        return []
    with contextlib.closing(sqlite3.connect("mlflow.db")) as store:
        return store.execute(query).fetchall()


def statuses():
    return sorted(status for (status,) in asked_of_store("SELECT status FROM runs"))


def versions():
    return [status for (status,) in asked_of_store("SELECT status FROM model_versions")]


@SIGNALS
@pytest.mark.parametrize(
    ("place", "command"),
    [
        ("svmkit.cli.training.job.read", TRAIN),
        ("svmkit.cli.tuning.search.read", TUNE),
        ("svmkit.cli.comparing.comparison._look_at_data", COMPARE),
        ("svmkit.cli.comparing.learning.learning_cells", CURVE),
        ("svmkit.cli.evaluating.predictions.load_model", ("predict", "m.svmkit", "clouds.svm")),
        ("svmkit_registry.models.require_model_name", REGISTER),
    ],
    ids=lambda of: of[0] if isinstance(of, tuple) else "",
)
def test_before_there_is_anything_to_keep(struck, place, command, signum):
    done = struck(place, signum, *command)
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[-1] == "svmkit: interrupted"
    assert statuses() == [] and not Path("m.svmkit").exists()


@SIGNALS
@pytest.mark.parametrize("command", [TRAIN, TUNE], ids=["train", "tune"])
def test_while_the_run_is_opened(struck, command, signum):
    done = struck(f"{TRACKER}.start", signum, *command)
    assert (done.code, done.out) == (1, "") and "svmkit: interrupted" in done.err
    assert statuses() == ["KILLED"] and versions() == []


@SIGNALS
@pytest.mark.parametrize(
    "place",
    [
        "svmkit.cli.training.job.fit_prepared",
        "svmkit.cli.training.finish._measure",
        f"{TRACKER}.model",
        f"{TRACKER}._register",
        f"{TRACKER}.end",
        "svmkit.cli.training.report.emit",
    ],
    ids=["fit", "measure", "log", "register", "end", "print"],
)
def test_from_the_fit_to_the_last_line_of_a_training(struck, place, signum):
    found = struck(place, signum, *TRAIN, "--out", "m.svmkit").json
    fitting = place.endswith("fit_prepared")
    assert found["status"] == ("interrupted" if fitting else "converged") and found["test_accuracy"] is None
    assert SVMModel.load("m.svmkit").about["status"] == found["status"]
    assert statuses() == ["FINISHED"] and versions() == ["READY"]


@pytest.mark.slow
@SIGNALS
@pytest.mark.parametrize(
    "place",
    ["svmkit.cli.tuning.search.fit_and_finish", "svmkit.cli.tuning.search.picture.draw", f"{TRACKER}.artifact"],
    ids=["refit", "draw", "log"],
)
def test_a_search_that_has_ended_is_refitted_logged_and_shown(struck, place, signum):
    found = struck(place, signum, *TUNE).json
    assert len(found["candidates"]) == 2 and not found["interrupted"] and Path("m.svmkit").exists()
    assert statuses() == ["FINISHED"] * 3


@pytest.mark.slow
@SIGNALS
@pytest.mark.parametrize("place", ["svmkit.compare.report.html.write", "svmkit.cli.comparing.comparison.emit"])
def test_a_comparison_whose_cells_have_ended_is_shown(struck, place, signum):
    done = struck(place, signum, *COMPARE)
    assert done.code == 0 and [json.loads(line)["status"] for line in done.out.splitlines()] == ["converged"] * 2
    assert statuses() == ["FINISHED"] * 3


@pytest.mark.slow
@SIGNALS
def test_a_cell_that_is_being_logged_is_kept_and_the_same_command_goes_on(svmkit, struck, signum):
    done = struck(f"{TRACKER}.end", signum, *COMPARE)
    assert done.code == 0 and [json.loads(line)["status"] for line in done.out.splitlines()] == ["converged"]
    assert "the same command goes on" in done.err and statuses() == ["FINISHED", "KILLED"]
    done = svmkit(*COMPARE)
    assert [json.loads(line)["status"] for line in done.out.splitlines()] == ["converged"] * 2


@pytest.mark.slow
@SIGNALS
def test_a_learning_curve_whose_fits_have_ended_is_drawn_and_shown(struck, signum):
    found = struck("svmkit.cli.comparing.learning.plot_learning_curve", signum, *CURVE).json
    assert found["is_whole"] and len(found["fits"]) == 2 and Path("c.png").exists()


@SIGNALS
@pytest.mark.parametrize("method", ["start", "model", "_register", "end"])
def test_a_model_file_is_registered_whole(svmkit, struck, method, signum):
    svmkit("train", "clouds.svm", "--solver", "smo", "--no-track", "--out", "m.svmkit")
    found = struck(f"{TRACKER}.{method}", signum, *REGISTER).json
    assert found["uri"] == "models:/clouds/1" and statuses() == ["FINISHED"] and versions() == ["READY"]


@SIGNALS
def test_a_second_signal_breaks_off_and_the_run_is_killed(struck, signum, monkeypatch):
    from svmkit_registry.tracker import MLflowTracker

    monkeypatch.setattr(MLflowTracker, "metrics", lambda self, values: os.kill(os.getpid(), signum))
    done = struck("svmkit.cli.training.finish._measure", signum, *TRAIN[:4], "--out", "m.svmkit", "--json")
    assert (done.code, done.out) == (1, "") and done.err.splitlines()[-1] == "svmkit: interrupted"
    assert statuses() == ["KILLED"] and SVMModel.load("m.svmkit").about["status"] == "converged"


def test_an_interrupt_that_a_library_turns_into_another_error_is_one_all_the_same(svmkit, monkeypatch):
    def swallow(options, **given):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        except KeyboardInterrupt:
            raise ImportError("numpy.core.multiarray failed to import") from None

    monkeypatch.setattr("svmkit.cli.training.job.read", swallow)
    done = svmkit(*TRAIN)
    assert (done.code, done.out, done.err) == (1, "", "svmkit: interrupted\n")


def test_an_interrupt_that_a_library_swallows_ends_the_command_before_the_fit(svmkit, monkeypatch):
    from svmkit.cli.training import job

    original = job.read

    def swallow(options, **given):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        except KeyboardInterrupt:
            return original(options)

    monkeypatch.setattr(job, "read", swallow)
    done = svmkit(*TRAIN)
    assert (done.code, done.out) == (1, "") and done.err.splitlines()[-1] == "svmkit: interrupted"
    assert statuses() == ["KILLED"]
