"""Faults of a cluster, for real: each solve ends certified, or says why it does not, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager

import numpy as np
import pytest
from distributed import Client, LocalCluster
from support.crew import (
    Deadly,
    dask_crew,
    killing_once,
    local_crew,
    of_all_rows,
    posed,
    rows,
    written,
)
from svmkit_dask.cluster import workers
from svmkit_dask.cluster.executor import DaskExecutor
from svmkit_dask.cluster.watch import Watch
from svmkit_dask.dfcsmo import DFCSMO

from svmkit.errors import Gone, InputError
from svmkit.solver import Gap, Status, solve

pytestmark = pytest.mark.slow
CUTS = (100, 101, 300, 420)
GOAL = Gap(1e-5)
X, Y = rows()


def until(true, seconds=120.0):
    """Wait for a condition."""
    end = time.monotonic() + seconds
    while not (found := true()) and time.monotonic() < end:
        time.sleep(0.05)
    assert found
    return found


@pytest.fixture(scope="module")
def alone():
    """The solution of a crew in this process."""
    return solve(posed(local_crew(X, Y, CUTS)), DFCSMO(first=30), stop=GOAL)


@pytest.fixture
def cluster():
    """Two workers of one thread in processes of their own, each with a nanny that starts it again."""
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with Client(cluster) as client:
        yield client


class At:
    """Something that happens before a message of a crew: the n-th one of a kind, from 1."""

    def __init__(self, crew, faults):
        self.crew, self.faults, self.seen, self.ask = crew, dict(faults), {}, crew.ask
        crew.ask = self

    def __call__(self, problem, message, own, change, parts):
        self.seen[message.do] = n = self.seen.get(message.do, 0) + 1
        fault = self.faults.pop((message.do, n), None)
        if fault is not None:
            fault()
        return self.ask(problem, message, own, change, parts)


def pids(client):
    """The process of each worker, by address."""
    return client.run(os.getpid)


def held(dask_worker):
    """On a worker: whether it holds something for a driver."""
    from svmkit_dask.cluster.wire import Held

    return any(isinstance(one, Held) for one in dict(dask_worker.data).values())


def solved(client, folder, faults, alone, **options):
    """Solve while these faults happen; the solution, certified like the one of one process, and the counters."""
    with dask_crew(client, folder, X, Y, CUTS, **options) as crew:
        at = At(crew, faults)
        problem = posed(crew)
        found = solve(problem, DFCSMO(first=30), stop=GOAL)
        assert not at.faults
        assert found.status is Status.CONVERGED
        same = of_all_rows(problem, X, Y, found.point)
        assert same.gap <= 1.01e-5
        assert found.certificate.primal == pytest.approx(same.primal, rel=1e-9)
        slack = 1e-9 * same.primal
        assert same.dual <= alone.certificate.primal + slack
        assert alone.certificate.dual <= same.primal + slack
    until(lambda: not any(client.run(held).values()))
    return found, crew.counters.details()


def kill(client, which=0):
    """SIGKILL one of the workers, of which the nanny starts another one."""
    pid = sorted(pids(client).values())[which]
    os.kill(pid, signal.SIGKILL)
    return pid


@pytest.mark.parametrize("inside", [32 << 10, 0])
def test_a_worker_that_is_killed_in_mid_round(client, tmp_path, alone, monkeypatch, inside):
    monkeypatch.setattr(workers, "INSIDE", inside)  # at 0 each change is a task of its own, which may be lost too
    # its parts have computed the change of the round, and not yet followed it
    _, details = solved(client, tmp_path, {("settle", 2): lambda: kill(client)}, alone)
    assert details["reloads"] >= 1 and details["brings"] >= 1


def test_all_workers_started_again_one_after_the_other(client, tmp_path, alone):
    gone = []

    def next_one():
        until(lambda: len(client.nthreads()) == 2)
        old = next(address for address in pids(client) if address not in gone and address in first)
        gone.append(old)
        os.kill(pids(client)[old], signal.SIGKILL)

    first = set(client.nthreads())
    _, details = solved(client, tmp_path, {("settle", 2): next_one, ("propose", 4): next_one}, alone)
    assert set(gone) == first
    assert details["reloads"] >= 5


def test_parts_are_read_on_where_a_worker_is_killed_meanwhile(client, tmp_path):
    sources = written(tmp_path, X, Y, CUTS)
    assert DaskExecutor(Watch(client)).map(killing_once, sources, tmp_path / "mark") == [100, 1, 199, 120, 180]


def test_a_worker_that_joins_gets_parts(client, cluster, tmp_path, alone):
    cluster.scale(1)
    until(lambda: len(client.nthreads()) == 1)

    def join():
        cluster.scale(2)
        until(lambda: len(client.nthreads()) == 2)
        watch = crews[0].queue.watch
        until(lambda: (watch.wait(watch.look()), len(crews[0].queue.usable()) == 2)[1])

    crews = []
    with dask_crew(client, tmp_path, X, Y, CUTS) as crew:
        crews.append(crew)
        At(crew, {("settle", 2): join})
        found = solve(posed(crew), DFCSMO(first=30), stop=GOAL)
    details = crew.counters.details()
    assert found.status is Status.CONVERGED
    assert found.certificate.dual <= alone.certificate.primal and alone.certificate.dual <= found.certificate.primal
    assert details["moves"] >= 1 and details["brings"] == details["moves"] == details["reloads"]
    assert len(details["workers"]) == 2


def test_a_worker_that_stands_still_for_ten_seconds_is_waited_for(client, tmp_path, alone):
    pid = next(iter(pids(client).values()))
    timer = threading.Timer(10.0, os.kill, (pid, signal.SIGCONT))

    def stop():
        os.kill(pid, signal.SIGSTOP)
        timer.start()

    _, details = solved(client, tmp_path, {("settle", 2): stop}, alone, patience=240.0)
    assert details["reloads"] == details["brings"] == 0


def test_the_parts_of_a_slow_worker_are_done_elsewhere_and_its_late_answers_do_no_harm(client, tmp_path, alone):
    pid = next(iter(pids(client).values()))
    faults = {
        ("settle", 2): lambda: os.kill(pid, signal.SIGSTOP),
        ("settle", 4): lambda: os.kill(pid, signal.SIGCONT),
    }
    _, details = solved(client, tmp_path, faults, alone, patience=12.0)
    assert details["reloads"] >= 1 and details["brings"] >= 1


def test_a_part_that_cannot_be_read_again_ends_the_solve_with_its_name(client, tmp_path):
    def lose():
        for file in tmp_path.glob("part*.npz"):
            file.unlink()
        kill(client)

    with dask_crew(client, tmp_path, X, Y, CUTS) as crew:
        At(crew, {("settle", 2): lose})
        with pytest.raises(InputError, match=r"part\d\.npz: .*no such file.* \(worker tcp://"):
            solve(posed(crew), DFCSMO(first=30), stop=GOAL)


def test_a_part_under_which_workers_end_is_given_up(client, tmp_path):
    np.savez(tmp_path / "part.npz", X=X, y=Y)
    with (
        dask_crew(client, tmp_path, X, Y, (), sources=[Deadly(str(tmp_path / "part.npz"))]) as crew,
        pytest.raises(Gone, match=r"part\.npz: its workers ended under it \d times"),
    ):
        posed(crew)


def test_an_interrupt_ends_a_solve_with_a_certified_point(client, tmp_path):
    with dask_crew(client, tmp_path, X, Y, CUTS) as crew:
        At(crew, {("settle", 3): lambda: os.kill(os.getpid(), signal.SIGINT)})
        problem = posed(crew)
        found = solve(problem, DFCSMO(first=30), stop=GOAL)
        assert found.status is Status.INTERRUPTED
        same = of_all_rows(problem, X, Y, found.point)
        assert found.certificate.gap == pytest.approx(same.gap, rel=1e-6)


def test_an_interrupt_ends_a_solve_soon_where_no_worker_answers(client, tmp_path):
    stopped = list(pids(client).values())

    def stop():
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGINT)

    try:
        with dask_crew(client, tmp_path, X, Y, CUTS, patience=3600.0) as crew:
            At(crew, {("settle", 3): stop})
            found = solve(posed(crew), DFCSMO(first=30), stop=GOAL)
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
    assert found.status is Status.INTERRUPTED and len(found.point)
    assert found.certificate.gap is None
    assert "was last seen" in found.certificate.flaw


@contextmanager
def processes(folder):
    """A scheduler and a worker that are no children of a cluster object; their client, and the scheduler's process."""
    file = folder / "scheduler.json"
    with ExitStack() as end:

        def started(*command):
            log = end.enter_context(open(folder / f"{command[0]}.log", "w"))
            process = subprocess.Popen([sys.executable, "-m", "distributed.cli.dask_" + command[0], *command[1:]],
                                       stdout=log, stderr=log, stdin=subprocess.DEVNULL)  # fmt: skip
            end.callback(process.wait)
            end.callback(process.kill)
            return process

        scheduler = started("scheduler", "--host", "127.0.0.1", "--port", "0", "--dashboard-address", ":0",
                            "--scheduler-file", str(file))  # fmt: skip
        until(file.exists)
        started("worker", "--scheduler-file", str(file), "--nthreads", "1", "--no-nanny", "--no-dashboard",
                "--local-directory", str(folder))  # fmt: skip
        client = end.enter_context(Client(scheduler_file=str(file), timeout=10, set_as_default=False))
        client.wait_for_workers(1, timeout=120)
        yield client, scheduler


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_scheduler_that_goes_away_leaves_the_best_point_so_far(tmp_path, how):
    with processes(tmp_path) as (client, scheduler), dask_crew(client, tmp_path, X, Y, CUTS, patience=8.0) as crew:
        At(crew, {("settle", 3): lambda: os.kill(scheduler.pid, how)})
        found = solve(posed(crew), DFCSMO(first=30), stop=GOAL)
        assert found.status is Status.INTERRUPTED and len(found.point)
        assert found.certificate.gap is None and np.isfinite(found.certificate.primal)
        assert "the scheduler of the cluster has" in found.certificate.flaw
        if how is signal.SIGSTOP:
            os.kill(scheduler.pid, signal.SIGCONT)
