"""Searches on the workers of a cluster: the same scores bit for bit, progress, interrupts, and what is lost."""

import json
import os
import signal
from dataclasses import replace

import pytest
from support.cli import Marked, clouds, svmlight, wait_for
from support.dask import Processes
from support.problems import overlapping

from svmkit import tune
from svmkit.cluster import ClusterLost, connect
from svmkit.solver.stopping import Gap, Seconds

pytest.importorskip("distributed")
pytestmark = pytest.mark.slow

# the fits of the first gamma end at once, those of the second one do not
ENDLESS = {"solver": "smo", "C": 1e6, "grid": {"gamma": [10.0, 0.01]}, "cv": 2, "stop": Gap(1e-9) | Seconds(600)}
GRID = {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 1.0]}


@pytest.fixture(scope="module")
def pair():
    with connect("local:2", notify=print) as cluster:
        yield cluster


def facts_of(result):
    """All that a search finds but times."""
    return [replace(candidate, fit_s=0.0) for candidate in result.candidates]


@pytest.mark.parametrize("search", ["grid", "halving"])
def test_the_same_search_bit_for_bit(pair, search):
    X, y = overlapping(120)
    seen = []
    how = {"grid": GRID, "cv": 3, "search": search}
    found = tune.search(X, y, **how, cluster=pair, report=seen.append)
    expected = tune.search(X, y, **how, backend="threading")  # fold by fold, as on the cluster
    assert facts_of(found) == facts_of(expected) and found.n_fits == expected.n_fits
    if search == "grid":
        assert all(at.of == 18 and at.fits <= 18 for at in seen)


def test_a_scheduler_that_goes_away_ends_the_search(tmp_path):
    processes = Processes(tmp_path)
    try:
        processes.worker()
        X, y = clouds(400, spread=3.0)
        with connect(processes.address, notify=[].append) as cluster, pytest.raises(ClusterLost, match="has gone away"):
            tune.search(X, y, **ENDLESS, cluster=cluster, report=lambda at: at.fits and processes.scheduler.kill())
    finally:
        processes.end()


def test_an_interrupt_keeps_the_candidates_that_are_whole(pair):
    """They are known from what the workers have sent, and the fits that go on are told to end."""
    X, y = clouds(400, spread=3.0)
    pids = {pair.submit(os.getpid).result(60) for _ in range(8)}
    found = tune.search(X, y, **ENDLESS, cluster=pair, report=interrupt_once_after_two_fits())
    assert found.interrupted and [c.params for c in found.candidates] == [{"gamma": 10.0}]
    assert pids >= {pair.submit(os.getpid).result(60) for _ in range(4)}, "no worker had to end for it"


def interrupt_once_after_two_fits():
    sent = []  # a second signal would raise KeyboardInterrupt

    def report(at):
        if at.fits >= 2 and not sent:
            sent.append(at)
            os.kill(os.getpid(), signal.SIGINT)

    return report


def test_the_command_prints_the_same_and_leaves_no_process(alone):
    path, printed = svmlight(n=200), []
    for where in ((), ("--scheduler", "local:2")):
        grid = ("--solver", "smo", "--grid", "C=1,10", "--grid", "gamma=0.1,1")
        child = Marked("tune", path, *grid, "--no-track", "--json", *where)
        try:
            done = child.finish()
            assert (done.code, done.err) == (0, "")
            printed.append(json.loads(done.out))
            wait_for(lambda child=child: not child.family())
        finally:
            child.end()
    one, other = ([{k: v for k, v in c.items() if k != "fit_s"} for c in found["candidates"]] for found in printed)
    assert one == other and printed[0]["refit"]["objective"] == printed[1]["refit"]["objective"]


def test_jobs_and_backends_are_those_of_the_cluster(refused):
    what = ("tune", "iris", "--grid", "C=1", "--scheduler")
    refused(["--scheduler", "--jobs and --backend"], *what, "local:1", "--jobs", 2)
    refused(["'local:none'"], *what, "local:none")
