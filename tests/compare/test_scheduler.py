"""Comparisons on the workers of a cluster: the same records, and what happens when something of it ends."""

import json
import os
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.cli import Marked, svmlight, wait_for
from support.compare import misbehaving  # noqa: F401  a fixture
from support.dask import Processes

from svmkit.cluster import connect
from svmkit.compare.cells import runner
from svmkit.compare.cells.store import Store
from svmkit.compare.plan.spec import read
from svmkit.compare.report import html

pytest.importorskip("distributed")
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("alone")]

ENDLESS = ("--stop", "abs:1e-14", "--time-limit", "600", "--no-track")  # of fw on these clouds
SAME = ("key", "status", "objective", "dual_objective", "gap", "n_iter", "n_support", "test_accuracy", "kernel_values")


@pytest.fixture(scope="module")
def pair():
    with connect("local:2", notify=print) as cluster:
        yield cluster


@pytest.fixture
def command():
    """command(*args): a `svmkit compare` in a process; its descendants end with the test."""
    made = []

    def start(*args):
        made.append(Marked("compare", *args))
        return made[-1]

    yield start
    for one in made:
        one.end()


@pytest.fixture
def processes(tmp_path):
    made = Processes(tmp_path)
    yield made
    made.end()


def records(cells, **how):
    store = Store(None)
    assert runner.run(cells, store, limit=how.pop("limit", 60.0), **how)
    return [store.records[cell.key] for cell in cells]


def test_the_same_records_which_name_the_worker(pair):
    cells = read({"data": ["iris", "wine"], "solvers": ["smo", "swap2o", "libsvm"], "test": 0.3}).cells()
    begun = []
    found = records(cells, cluster=pair, callbacks=[lambda cell, record: record or begun.append(cell)])
    expected = records(cells)
    assert [[a[k] for k in SAME] for a in found] == [[b[k] for k in SAME] for b in expected]
    assert {record["worker"] for record in found} <= set(pair.workers) and begun and len(begun) == len(cells)
    assert "1 thread a cell, on 2 workers" in html._ran_on(SimpleNamespace(records=found))["threads"]
    assert {record["worker_threads"] for record in found} == {1} and not any("worker" in record for record in expected)


def test_limits_and_crashes_are_those_of_a_cell(misbehaving, tmp_path, monkeypatch):  # noqa: F811
    """A cell runs in a process of its own, so that none of these costs a worker."""
    processes = Processes(tmp_path)
    try:
        processes.worker(path=misbehaving)
        told = []
        cells = read({"data": str(svmlight(n=200)), "solvers": ["refuse", "crash", "broken", "smo"]}).cells()
        with connect(processes.address, solvers=["crash"], notify=told.append) as cluster:
            found = {record["label"]: record for record in records(cells, cluster=cluster, limit=5.0)}
        assert {name: record["status"] for name, record in found.items()} == {
            "refuse": "failed", "crash": "failed", "broken": "failed", "smo": "converged"
        }  # fmt: skip
        assert found["refuse"]["reason"] == "it is Monday" and "killed" in found["crash"]["reason"]
        assert all("waiting" in line for line in told), "no worker was lost"
    finally:
        processes.end()


def test_a_file_that_a_worker_does_not_have(pair):
    path = svmlight(n=60)
    cells = read({"data": str(path), "solvers": "smo"}).cells()
    path.rename("elsewhere.svm")
    (gone,) = records(cells, cluster=pair)
    assert gone["status"] == "failed" and f"cannot read {path}" in gone["reason"]
    assert (
        gone["worker"] in gone["reason"]
        and gone["reason"].startswith("worker tcp://127.0.0.1:")
        and "same path on each worker" in gone["reason"]
    )
    path.write_text("+1 1:1\n-1 1:2\n", encoding="utf-8")
    (other,) = records(cells, cluster=pair)
    assert other["status"] == "failed" and f"has a {path} with other content" in other["reason"]


def test_a_worker_killed_in_mid_cell(command, processes):
    for _ in range(2):
        processes.worker()
    path = svmlight(n=400, spread=3.0)
    how = ("--solvers", "smo,fw", "--stop", "abs:1e-14", "--time-limit", "4", "--no-track")
    child = command(path, *how, "--scheduler", processes.address)
    wait_for(lambda: processes.cells())
    processes.kill_worker_of(processes.cells()[0])
    done = child.finish()
    assert done.code == 0, done.err
    found = {record["label"]: record for record in lines()}
    assert set(found) == {"smo", "fw"} and found["fw"]["status"] == "time_limit" and found["fw"]["fit_s"] >= 4
    lost = [line for line in done.err.splitlines() if "was lost" in line or "has left" in line]
    assert len(lost) == 1, done.err
    unexpected = [line for line in done.err.splitlines() if not line.startswith("svmkit: ")]
    assert not unexpected, unexpected


def test_a_scheduler_killed_in_mid_comparison(command, processes):
    processes.worker()
    child = command(svmlight(n=400, spread=3.0), "--solvers", "smo,fw", *ENDLESS, "--scheduler", processes.address)
    wait_for(lambda: "smo seed 0" in child.err.read_text())
    processes.scheduler.kill()
    done = child.finish()
    assert done.code == 1 and "Traceback" not in done.err
    assert f"the scheduler at {processes.address} has gone away" in done.err.splitlines()[-1]
    assert "the same command goes on" in done.err.splitlines()[-1]
    assert "smo " in done.out and "not run" in done.out and [record["label"] for record in lines()] == ["smo"]
    again = command(
        "clouds.svm", "--solvers", "smo,fw", *ENDLESS, "--time-limit", "1", "--scheduler", "local:1"
    ).finish()
    assert again.code == 0 and "1 of 2 cells were finished before" in again.err, again.err
    assert [record["label"] for record in lines()] == ["smo", "fw"]


@pytest.mark.parametrize("how", ["group", "alone"])
def test_an_interrupt_keeps_what_is_finished(command, how):
    child = command(svmlight(n=400, spread=3.0), "--solvers", "smo,fw", *ENDLESS, "--scheduler", "local:2")
    wait_for(lambda: "smo seed 0" in child.err.read_text())
    for pid in child.family() if how == "group" else [child.child.pid]:
        os.kill(pid, signal.SIGINT if how == "group" else signal.SIGTERM)
    done = child.finish()
    assert done.code == 0 and "interrupted: the same command goes on" in done.err, done.err
    assert all(line.startswith("svmkit: ") for line in done.err.splitlines()), done.err
    assert [record["label"] for record in lines()] == ["smo"]
    wait_for(lambda: not child.family())


def test_a_killed_command_leaves_no_process(command):
    child = command(svmlight(n=400, spread=3.0), "--solvers", "fw", *ENDLESS, "--scheduler", "local:2")
    wait_for(child.workers)
    child.child.kill()
    wait_for(lambda: not child.family())


def test_jobs_and_threads_are_those_of_the_cluster(refused):
    refused(
        ["--scheduler", "--jobs and --threads"],
        "compare",
        "iris",
        "--solvers",
        "smo",
        "--scheduler",
        "local:1",
        "--jobs",
        2,
    )
    refused(["'local:none'"], "compare", "iris", "--solvers", "smo", "--scheduler", "local:none")


def lines():
    path = Path("svmkit-compare.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
