"""Ctrl-C and a closed pipe, each in a process of its own."""

import json
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from support.cli import Result, wait_until_solving
from support.endless import ENDLESS, STEPPED

from svmkit.model.model import SVMModel

pytestmark = [pytest.mark.posix, pytest.mark.usefixtures("alone")]


@pytest.fixture
def endless():
    """start(*args) -> a `svmkit train` that will not end by itself, once it is solving."""
    started = []

    def start(*args):
        command = [sys.executable, "-m", "svmkit", "train", *ENDLESS, "--json", *args]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        wait_until_solving(started[-1])
        return started[-1]

    yield start
    for child in started:
        if child.poll() is None:
            child.kill()
        child.communicate()


def finish(child):
    out, err = child.communicate(timeout=60)
    return Result(child.returncode, out, err)


@pytest.mark.slow
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_keeps_the_model(endless, svmkit, signum):
    child = endless("--out", "m.model", "--checkpoint", "c.ckpt")
    child.send_signal(signum)
    done = finish(child)
    result = done.json
    assert result["status"] == "interrupted" and result["n_iter"] > 0 and result["model"] == "m.model"
    assert "Traceback" not in done.err
    assert svmkit("evaluate", "m.model", "breast_cancer", "--json").json["test_accuracy"] == result["train_accuracy"]
    budget = ("--max-iter", result["n_iter"] + 5)  # the last one given counts
    resumed = svmkit("train", *ENDLESS, "--json", *budget, "--checkpoint", "c.ckpt", "--resume").json
    assert resumed["n_iter"] == result["n_iter"] + 5


@pytest.mark.slow
def test_interrupt_of_several_pairs_ends_all(svmkit):
    command = [sys.executable, "-m", "svmkit", "train", "digits", *ENDLESS, "--json", "--out", "m.model"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_until_solving(child)
        child.send_signal(signal.SIGINT)
        result = finish(child).json
    finally:
        child.kill()
        child.communicate()
    assert result["status"] == "interrupted" and len(result["classes"]) == 10
    assert len(svmkit("predict", "m.model", "digits").out.split()) == 1797


@pytest.mark.slow
@pytest.mark.parametrize("pause", [0.0, 0.05])
def test_interrupt_twice_is_quick_and_clean(endless, svmkit, pause):
    child = endless("--out", "m.model")
    child.send_signal(signal.SIGINT)
    time.sleep(pause)
    child.send_signal(signal.SIGINT)
    done = finish(child)
    assert "Traceback" not in done.err
    assert not list(Path.cwd().glob("*.part")) and not list(Path.cwd().glob(".*.part"))
    if done.code in (0, -signal.SIGINT):  # the first one was served, and the second came late or too late
        assert json.loads(done.out)["status"] == "interrupted" and Path("m.model").exists()
    else:
        assert done.code == 1 and done.out == ""
        assert done.err.splitlines()[-1].startswith("svmkit: interrupted")
    if Path("m.model").exists():
        assert svmkit("evaluate", "m.model", "breast_cancer").code == 0


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_closed_pipe_is_no_error(monkeypatch, unbuffered):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    child = subprocess.Popen(
        [sys.executable, "-m", "svmkit", "datasets", "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    child.stdout.close()
    err = child.stderr.read()
    child.stderr.close()
    assert child.wait(60) == 0 and err == b""


@pytest.mark.parametrize(
    ("closed", "call", "code"),
    [("stdout", "datasets list", 0), ("stderr", "show nothing", 2), ("stdout", "show nothing", 2)],
)
def test_a_stream_that_the_caller_has_closed_takes_what_is_written_to_it(closed, call, code):
    redirected = {"stdout": ">&-", "stderr": "2>&-"}[closed]
    command = f"exec {shlex.quote(sys.executable)} -m svmkit {call} {redirected}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=120)
    assert done.returncode == code and done.stdout == ""
    assert done.stderr.count("\n") == (code == 2 and closed == "stdout") and "failed with" not in done.stderr


FOLDS = f"""
import sys
from dataclasses import replace
from pathlib import Path
from svmkit.cli import main
from svmkit.solver.stopping import Gap, Iterations, Stop
from svmkit.training.calibration import folds as calibrate

begun = calibrate._OutOfFold._fold


def endless(self, number, seconds):
    stop = Stop((Gap(1e-15), Iterations(10**9)))
    self.method = replace(self.method, settings=replace(self.method.settings, stop=stop))
    Path("{STEPPED}").unlink(missing_ok=True)  # that of the model of all samples
    sys.stderr.write("a fold begins\\n")  # a line in one piece, as folds begin side by side
    begun(self, number, seconds)


calibrate._OutOfFold._fold = endless
main(sys.argv[1:])
"""


@pytest.mark.slow
@pytest.mark.parametrize("data", ["breast_cancer", "iris"])  # folds side by side, and one after the other
def test_interrupt_during_the_folds_of_a_calibration_keeps_the_model_without_one(svmkit, refused, data):
    """The command in a process of its own, in which the folds never end and say when they begin."""
    known = (*ENDLESS, "--max-iter", "5", "--scale", "standard", "--json")
    plain = svmkit("train", data, *known, "--out", "plain.model").json
    command = [sys.executable, "-c", FOLDS, "train", data, *known, "--calibrate", "sigmoid", "--out", "m.model"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    guard = threading.Timer(120, child.kill)
    guard.start()
    try:
        assert "a fold begins\n" in child.stderr
        wait_until_solving(child)
        child.send_signal(signal.SIGINT)
        done = finish(child)
    finally:
        guard.cancel()
        child.kill()
        child.communicate()
    found = done.json
    assert found["status"] == "interrupted" and found["calibration"] is None and "Traceback" not in done.err
    assert (found["objective"], found["n_support"]) == (plain["objective"], plain["n_support"])
    model = SVMModel.load("m.model")
    assert model.calibration is None and "calibration" not in model.about
    assert svmkit("predict", "m.model", data).out == svmkit("predict", "plain.model", data).out
    refused(["no probabilities"], "predict", "m.model", data, "--proba")
