"""Addresses that lead nowhere, workers that do not fit, and what a cluster does with calls."""

import asyncio
import contextlib
import http.server
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing

import joblib
import numpy as np
import pytest
from support.cli import family_of, wait_for
from support.dask import die, die_once, fail, fail_oddly, is_whole, square, wait_until_unwanted
from support.plugin import package  # noqa: F401  a fixture
from support.refusals import refused

from svmkit import plugins
from svmkit._version import __version__
from svmkit.cluster import ClusterLost, WorkerLost, connect, here
from svmkit.errors import InputError, SvmkitError, Unavailable

pytest.importorskip("distributed")

WITHIN = 10.0  # seconds in which an address that leads nowhere is refused


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """A cluster of two processes on this machine, and the lines that it told."""
    told = []
    with connect("local:2", solvers=["smo"], notify=told.append) as cluster:
        yield cluster, told


# --- addresses


@pytest.mark.parametrize("address", ["local:0", "local:two", "local:1.5", "local:-1", "local:", "local:9999"])
def test_a_local_cluster_has_a_whole_number_of_processes(address):
    refused([repr(address), "a whole number N from 1 to"], connect, address)


@pytest.mark.parametrize("address", ["tcp://host", "tcp://:8786", "tcp://host:port", "tcp://host:99999", "tcp://h:1:2"])
def test_an_address_has_host_and_port(address):
    refused([repr(address), "tcp://HOST:PORT"], connect, address)


@pytest.mark.parametrize("address", ["", "nowhere.json", "10.0.0.5:8786"])
def test_text_that_is_no_address(address):
    refused([repr(address), "tcp://HOST:PORT", "scheduler file", "local:N"], connect, address)


def test_a_kind_of_address_that_no_cluster_takes():
    refused(["ucx://host:1", "no cluster takes", "dask"], connect, "ucx://host:1")


@pytest.mark.parametrize("text", ["{}", "[1]", "not JSON"])
def test_a_file_that_is_no_scheduler_file(tmp_path, text):
    path = tmp_path / "scheduler.json"
    path.write_text(text, encoding="utf-8")
    refused([str(path), "no scheduler file"], connect, str(path))


def test_without_dask(monkeypatch, alone, refused):
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "svmkit_dask.cluster.connect", raising=False)
    monkeypatch.setattr(plugins, "_loaded", {})
    (row,) = (row for row in plugins.describe("cluster") if row.name == "dask")
    assert (row.status, row.error) == ("unavailable", "needs Dask: pip install 'svmkit[dask]'") and row.doc
    with pytest.raises(Unavailable, match=r"pip install 'svmkit\[dask\]'"):
        connect("local:1")
    words = ["scheduler local:1", "pip install 'svmkit[dask]'"]
    refused(words, "compare", "iris", "--solvers", "smo", "--no-track", "--scheduler", "local:1")
    refused(words, "tune", "iris", "--grid", "C=1", "--no-track", "--scheduler", "local:1")


@pytest.mark.slow
def test_nobody_listens():
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    _refused_in_time(["cannot be reached", "Connection refused", "dask scheduler"], address)


@pytest.mark.slow
def test_another_server_listens():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        _refused_in_time(["did not answer like a scheduler", "check the port"], f"tcp://127.0.0.1:{server.server_port}")
        server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.mark.slow
def test_packets_are_dropped():
    """Linux drops those of a connection for which the listener's queue has no room."""
    with closing(socket.socket()) as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        _refused_in_time(["cannot be reached", "nobody answers"], f"tcp://127.0.0.1:{full.getsockname()[1]}")
        for one in waiting:
            one.close()


def test_a_greeting_of_another_protocol():
    """The first bytes of a greeting of Dask are a length, of which these would make petabytes."""
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        met = []

        def greet():
            met.append(listener.accept()[0])
            met[0].sendall(b"SSH-2.0-OpenSSH_9.2\r\n" * 4)

        threading.Thread(target=greet, daemon=True).start()
        _refused_in_time(["no scheduler of Dask", "check the port"], f"tcp://127.0.0.1:{listener.getsockname()[1]}")
        met[0].close()


def _refused_in_time(words, address):
    began = time.monotonic()
    refused([address, *words], connect, address)
    assert time.monotonic() - began < WITHIN


# --- workers that do not fit


def test_another_version_of_python():
    from svmkit_dask.cluster.watch import python_fault

    minor = ".".join(map(str, sys.version_info[:2]))
    assert python_fault({"host": {"python": sys.version.split()[0]}}) is None
    found = python_fault({"host": {"python": "3.99.1.final.0"}})
    assert "Python 3.99" in found and minor in found
    assert "does not answer" in python_fault(OSError("closed"))


def test_only_workers_of_the_same_python_are_asked_for_their_packages():
    from svmkit_dask.cluster.watch import faults

    here = {"host": {"python": sys.version.split()[0]}}
    asked = []

    class Scheduler:
        async def broadcast(self, **message):
            return {"a": here, "b": {"host": {"python": "3.99.1"}}, "c": here}

    class Crew:
        scheduler = Scheduler()

        async def run(self, function, workers, **options):
            asked.extend(workers)
            return {"a": function(), "c": {"svmkit": None}}

    found = asyncio.run(faults(Crew(), ["a", "b", "c"], ["smo"]))
    assert asked == ["a", "c"] and list(found) == ["b", "c"]
    assert "Python 3.99" in found["b"] and "has no svmkit" in found["c"]


@pytest.mark.slow
def test_workers_that_do_not_fit_are_named_before_any_work(processes, tmp_path):
    old, none = tmp_path / "old", tmp_path / "none"
    for folder, text in ((old, ""), (none, "raise ImportError('removed')\n")):
        (folder / "svmkit").mkdir(parents=True)
        (folder / "svmkit" / "__init__.py").write_text(text, encoding="utf-8")
    (old / "svmkit" / "_version.py").write_text('__version__ = "0.0.1"\n', encoding="utf-8")
    first = processes.worker(path=old)
    told: list[str] = []
    how = {"notify": told.append}
    words = ["worker tcp://127.0.0.1:", "has svmkit 0.0.1", f"here it is {__version__}"]
    refused(words, connect, processes.address, **how)
    first.kill()
    first.wait(60)
    processes.worker(path=none)
    words = ["worker tcp://127.0.0.1:", "has no svmkit", f"'svmkit[dask]=={__version__}'"]
    refused(words, connect, str(processes.file), **how)
    assert all("waiting" in line for line in told)


@pytest.mark.slow
def test_a_solver_that_workers_lack_and_a_worker_that_comes_later(processes, tmp_path, package):  # noqa: F811
    source = "from svmkit_decomposition.smo import SMO\n\nclass Ours(SMO):\n    'Ours.'\n    name = 'ours'\n"
    processes.worker()
    package(source, {"solver": {"ours": "Ours"}}, interface=("3",), name="strange", version="1.5")
    refused(["has no solver ours", "strange==1.5"], connect, processes.address, solvers=["ours"], notify=print)
    (tmp_path / "old" / "svmkit").mkdir(parents=True)
    (tmp_path / "old" / "svmkit" / "__init__.py").write_text("", encoding="utf-8")
    (tmp_path / "old" / "svmkit" / "_version.py").write_text('__version__ = "0.0.1"\n', encoding="utf-8")
    told = []
    with connect(processes.address, solvers=["smo"], notify=told.append) as cluster:
        assert cluster.n_workers == 1
        processes.worker()
        wait_for(lambda: cluster.n_workers == 2)
        processes.worker(path=tmp_path / "old")
        wait_for(lambda: told)
        assert cluster.n_workers == 2
    assert len(told) == 1 and "has svmkit 0.0.1" in told[0] and "gets no work" in told[0]


@pytest.mark.slow
def test_no_workers(processes):
    told = []
    with pytest.raises(ClusterLost, match="has had no workers for") as caught:
        connect(processes.address, wait=1.0, notify=told.append)
    assert "dask worker" in str(caught.value)
    assert len(told) == 1 and "has no workers: waiting up to 1 s" in told[0]
    threading.Timer(1.0, processes.worker).start()
    with connect(processes.address, notify=told.append) as cluster:
        assert cluster.n_workers == 1 and len(told) == 2


# --- calls


@pytest.mark.slow
def test_calls_are_spread_and_their_errors_come_back(pair):
    cluster, told = pair
    assert cluster.n_workers == 2 and set(cluster.workers.values()) == {1}
    begun = []
    ended = {k: call.result() for k, call in cluster.map(square, range(6), began=lambda k, worker: begun.append(k))}
    assert {k: value[0] for k, value in ended.items()} == {k: k * k for k in range(6)}
    assert {value[2] for value in ended.values()} == set(cluster.workers) and sorted(begun) == list(range(6))
    assert os.getpid() not in {value[1] for value in ended.values()} and here() is None
    with pytest.raises(InputError, match="seven is none"):
        cluster.submit(fail, "seven").result(60)
    with pytest.raises(SvmkitError, match="Odd: seven"):
        cluster.submit(fail_oddly, "seven").result(60)
    assert told == []


@pytest.mark.slow
def test_shared_objects_travel_once_and_values_are_sent_back(pair, monkeypatch):
    from svmkit_dask.cluster import wire

    cluster, _ = pair
    X = np.arange(50_000.0)
    sizes, pack = [], wire.pack

    def counted(*args):
        body, numbers = pack(*args)
        sizes.append(len(body))
        return body, numbers

    monkeypatch.setattr(wire, "pack", counted)
    sent = []
    with cluster.sharing(X):
        calls = [cluster.submit(is_whole, X, sent=sent.append) for _ in range(4)]
        assert [call.result(60) for call in calls] == [X.shape] * 4
    wait_for(lambda: len(sent) == 4)
    assert sent == [{"sum": X.sum()}] * 4 and max(sizes) < 2_000
    cluster.submit(is_whole, X).result(60)
    assert sizes[-1] > X.nbytes, "outside of the block it travels with the call"


@pytest.mark.slow
def test_joblib_runs_on_a_single_worker(processes):
    """joblib itself would do the tasks of a backend that takes one at a time."""
    processes.worker()
    with connect(processes.address, notify=print) as cluster, cluster.parallel_backend():
        found = joblib.Parallel()(joblib.delayed(square)(k) for k in range(3))
    assert os.getpid() not in {value[1] for value in found}


@pytest.mark.slow
def test_joblib_runs_on_the_workers(pair):
    cluster, _ = pair
    with cluster.parallel_backend():
        found = joblib.Parallel()(joblib.delayed(square)(k) for k in range(5))
        assert [value[0] for value in found] == [0, 1, 4, 9, 16] and os.getpid() not in {value[1] for value in found}
        with pytest.raises(InputError, match="3 is none"):
            joblib.Parallel()(joblib.delayed(fail)(k) for k in (3, 3))


@pytest.mark.slow
def test_a_cancelled_call_learns_of_it(pair, tmp_path):
    cluster, _ = pair
    call = cluster.submit(wait_until_unwanted, tmp_path / "call")
    wait_for((tmp_path / "call").is_file)
    assert call.cancel()
    wait_for((tmp_path / "call.unwanted").is_file)
    flag = []
    for _ in cluster.map(
        wait_until_unwanted, [tmp_path / "a", tmp_path / "b"], began=lambda *_: flag.append(1), stop=flag
    ):
        pytest.fail("none of them ends by itself")
    assert cluster.submit(abs, -1).result(60) == 1, "the workers are free again"


@pytest.mark.slow
def test_a_lost_worker_costs_a_try(tmp_path, monkeypatch):
    from svmkit_dask.cluster import connect as of_dask

    assert of_dask.TRIES == 3
    monkeypatch.setattr(of_dask, "TRIES", 2)  # a process starts for each
    told, X = [], np.arange(1000.0)
    with connect("local:2", notify=told.append) as cluster, cluster.sharing(X):
        assert cluster.submit(is_whole, X).result(60) == X.shape
        ended = cluster.submit(die_once, tmp_path / "pid").result(120)
        assert ended != int((tmp_path / "pid").read_text(encoding="utf-8"))
        assert len(told) == 1 and "was lost; its work goes to another one" in told[0]
        with pytest.raises(WorkerLost, match="its workers ended under it 2 times") as caught:
            cluster.submit(die, 0).result(120)
        assert str(caught.value).count("tcp://") == 2 and len(told) == 2
        assert cluster.submit(is_whole, X).result(120) == X.shape, "its data are sent anew"


@pytest.mark.slow
def test_a_scheduler_that_goes_away_fails_all_calls(processes, tmp_path):
    processes.worker()
    with connect(processes.address, notify=lambda line: None) as cluster:
        calls = [cluster.submit(wait_until_unwanted, tmp_path / name) for name in "ab"]
        wait_for((tmp_path / "a").is_file)
        processes.scheduler.kill()
        for call in calls:
            with pytest.raises(ClusterLost, match=f"the scheduler at {processes.address} has gone away"):
                call.result(60)
        with pytest.raises(ClusterLost):
            cluster.submit(abs, 1).result(60)


# --- processes of local:N

DRIVER = """
import signal, sys, time
from svmkit.cluster import connect
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which who started the tests may ignore
    cluster = connect("local:2")
    print(cluster.n_workers, flush=True)
    if sys.argv[1] == "raise":
        raise RuntimeError("on purpose")
    if sys.argv[1] == "return":
        sys.exit(0)
    cluster.submit(time.sleep, 600)
    time.sleep(600)
"""


@pytest.mark.slow
@pytest.mark.parametrize("end", ["raise", "return", signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_local_processes_end_with_their_driver(tmp_path, end):
    """None of these drivers closes its cluster."""
    (tmp_path / "driver.py").write_text(DRIVER, encoding="utf-8")
    mark, out = "SVMKIT_TEST_LOCAL", tmp_path / "out"
    with out.open("wb") as file:
        child = subprocess.Popen(
            [sys.executable, tmp_path / "driver.py", str(end)],
            stdout=file, stderr=subprocess.DEVNULL, env=os.environ | {mark: str(tmp_path)},
        )  # fmt: skip
    wait_for(lambda: out.read_text() == "2\n")
    if not isinstance(end, str):
        child.send_signal(end)
    child.wait(120)
    wait_for(lambda: not family_of(mark, tmp_path), 60)


@pytest.mark.slow
def test_a_local_cluster_says_nothing_and_needs_no_port(tmp_path):
    """Not even where the port of Dask's dashboard is taken."""
    (tmp_path / "driver.py").write_text(DRIVER.replace("sys.exit(0)", "cluster.close()\n        sys.exit(0)"))
    out, err = tmp_path / "out", tmp_path / "err"
    with closing(socket.socket()) as taken, out.open("wb") as to, err.open("wb") as errors:
        if taken.connect_ex(("127.0.0.1", 8787)):  # nobody has it
            with contextlib.suppress(OSError):
                taken.bind(("127.0.0.1", 8787))
                taken.listen()
        program = [sys.executable, tmp_path / "driver.py", "return"]
        done = subprocess.run(program, stdout=to, stderr=errors, timeout=120)
    assert (done.returncode, out.read_text(), err.read_text()) == (0, "2\n", "")
