"""Runs whose process was killed: a training that resumes continues its run, others are marked as KILLED."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.cli import svmlight
from support.registered import tracking_server
from support.registry import X, python
from svmkit_registry import process, store
from svmkit_registry.tracker import MLflowTracker

from svmkit.data import Dataset
from svmkit.training.checkpoint import Checkpoint

pytestmark = [pytest.mark.posix, pytest.mark.usefixtures("alone")]
linux = pytest.mark.skipif(not process.identity(), reason="needs /proc to tell which processes live")

KILLED = """
import os, signal, sys
from svmkit.cli import main
from svmkit.training.checkpoint import Checkpoint
flush = Checkpoint.flush
def killed(self):
    flush(self)
    os.kill(os.getpid(), signal.SIGKILL)
Checkpoint.flush = killed
main(sys.argv[1:])
"""
OPENED = """
import os, signal, sys
from svmkit_registry.tracker import MLflowTracker
tracker = MLflowTracker(sys.argv[1], "trial", strict=True)
tracker.start("killed", {"C": 1.0}, {})
print(tracker.run_id, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
PARAMS = {"C": 1.0, "tol": 1e-3}
DATA = Dataset(X, np.arange(60) % 2, "toy")


def kill_training(*args: object) -> str:
    """Train in a process that is killed as soon as it has written its checkpoint; return the run that it leaves."""
    done = subprocess.run([sys.executable, "-c", KILLED, *map(str, args)], capture_output=True, text=True, timeout=600)
    assert done.returncode == -signal.SIGKILL, done.stderr
    run = Checkpoint("c.ckpt", resume=True).run
    assert run is not None
    return run["run_id"]


def train(data: Path, uri: str) -> tuple[object, ...]:
    at = ("--checkpoint", "c.ckpt", "--resume", "--every", "1e-6", "--tracking-uri", uri)
    return "train", data, "--solver", "smo", *at, "--json"


def check_one_run(svmkit, uri: str) -> None:
    """A training is killed and resumed: there is one run, with the curve and the seconds of both processes."""
    command = train(svmlight(), uri)
    run_id = kill_training(*command)
    client = store.open_client(store.tracking_uri(uri))
    assert client.get_run(run_id).info.status == "RUNNING"
    kept = Checkpoint("c.ckpt", resume=True)
    before = kept._contents[1]["problems"]["0"]["n_iter"]
    resumed = svmkit(*command)
    result = resumed.json
    assert result["run_id"] == run_id and "svmkit: run" not in resumed.err
    run = client.get_run(run_id)
    assert run.info.status == "FINISHED" and run.data.tags["svmkit.resumed"] == "1"
    assert run.data.metrics["time/fit_s"] == pytest.approx(kept.seconds + result["fit_s"])
    assert min(point.step for point in client.get_metric_history(run_id, "curve/objective")) >= before > 0
    assert len(client.search_runs([run.info.experiment_id])) == 1


@pytest.mark.slow
def test_a_resumed_training_continues_its_run(svmkit):
    check_one_run(svmkit, "mlflow.db")


@pytest.mark.slow
def test_a_resumed_training_continues_its_run_in_files(svmkit, monkeypatch, tmp_path):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    check_one_run(svmkit, (tmp_path / "runs").as_uri())


@pytest.mark.slow
def test_a_resumed_training_continues_its_run_on_a_server(svmkit, tmp_path):
    (tmp_path / "server").mkdir()
    with tracking_server(tmp_path / "server") as address:
        check_one_run(svmkit, address)


@pytest.mark.slow
def test_a_refused_checkpoint_opens_no_run(svmkit, refused):
    command = train(svmlight(), "sqlite:///mlflow.db")
    svmkit(*command)
    refused(["c.ckpt belongs to other C (1.0 there, 2.0 here)"], *command, "-C", 2)
    client = store.open_client(store.tracking_uri("sqlite:///mlflow.db"))
    runs = client.search_runs([one.experiment_id for one in client.search_experiments()])
    assert [run.info.status for run in runs] == ["FINISHED"]


@pytest.mark.slow
def test_a_run_that_is_not_there_is_named_in_one_line(svmkit):
    run_id = kill_training(*train(svmlight(), "mlflow.db"))
    resumed = svmkit(*train(Path("clouds.svm"), "other.db"))
    (line,) = [line for line in resumed.err.splitlines() if run_id in line]
    assert "mlflow.db is not continued, since the store does not have it" in line
    assert resumed.json["run_id"] not in (None, run_id)
    assert Checkpoint("c.ckpt", resume=True).run["run_id"] == resumed.json["run_id"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"params": PARAMS | {"tol": 1e-4}}, "its parameters differ: tol"),
        ({"params": PARAMS | {"loss": "squared"}}, "its parameters differ: loss"),
        ({"data": Dataset(X + 1.0, np.arange(60) % 2, "toy")}, "it was trained on other data"),
        ({"experiment": "another"}, "it belongs to another experiment"),
        ({"run_id": "0" * 32}, "the store does not have it"),
        ({"run_id": "../etc"}, "the store does not have it"),
        pytest.param({"ended": False}, "the process that logs it is at work", marks=linux),
        ({}, None),
    ],
)
def test_why_a_run_is_not_continued(change, says):
    first = MLflowTracker("mlflow.db", "trial", strict=True)
    first.start("first", PARAMS, {}, DATA)
    if change.get("ended", True):
        first.end()
    later = MLflowTracker("mlflow.db", change.get("experiment", "trial"), strict=True)
    why = later.resume(change.get("run_id", first.run_id), change.get("params", PARAMS), change.get("data", DATA))
    assert why == says and later.run_id == (None if says else first.run_id)
    run = store.open_client(first.uri).get_run(first.run_id)
    assert run.info.status == ("FINISHED" if says and change.get("ended", True) else "RUNNING")


@pytest.mark.slow
@linux
def test_runs_of_dead_processes_are_killed_and_others_left(tmp_path):
    """Eight processes at once are killed; the runs of a living process and of another host go on."""
    mine, theirs, later = (MLflowTracker("mlflow.db", "trial", strict=True) for _ in range(3))
    mine.start("at work", {}, {})
    theirs.start("of another host", {}, {process.HOST: "elsewhere", process.PROCESS: "1 1 boot"})
    running = [python(OPENED, tmp_path, "mlflow.db") for _ in range(8)]
    outputs = [child.communicate(timeout=600) for child in running]
    assert [child.returncode for child in running] == [-signal.SIGKILL] * 8, outputs
    dead = [out.strip() for out, _ in outputs]
    client = store.open_client(mine.uri)
    later.start("next", {}, {})
    assert {client.get_run(run_id).info.status for run_id in dead} == {"KILLED"}
    assert all(client.get_run(run_id).info.end_time is None for run_id in dead)
    assert [client.get_run(run.run_id).info.status for run in (mine, theirs, later)] == ["RUNNING"] * 3


@linux
@pytest.mark.parametrize(
    ("change", "alive"),
    [
        (lambda pid, began, boot: (pid, began, boot), True),
        (lambda pid, began, boot: (pid, str(int(began) + 1), boot), False),  # the number was given out again
        (lambda pid, began, boot: (pid, began, "before"), False),  # the host was switched off
        (lambda pid, began, boot: ("x", began, boot), None),
        (lambda pid, began, boot: (), None),
    ],
)
def test_which_process_lives(change, alive):
    ours = process.identity()
    told = ours | {process.PROCESS: " ".join(change(*ours[process.PROCESS].split(" ")))}
    assert process.is_alive(told) is alive
    assert process.is_alive(told | {process.HOST: "elsewhere"}) is None


@linux
def test_a_process_that_has_ended_is_dead_before_it_is_waited_for(tmp_path):
    child = python("print(open('/proc/self/stat').read())", tmp_path)
    began = child.stdout.read().rpartition(")")[2].split()[19]
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    ours = process.identity()
    told = ours | {process.PROCESS: f"{child.pid} {began} {ours[process.PROCESS].split(' ')[2]}"}
    assert process.is_alive(told) is False
    child.communicate()
    assert process.is_alive(told) is False
