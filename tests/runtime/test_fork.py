"""Forked processes: they train as their parent does, and signals reach them."""

import json
import os
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="no fork, or none that is safe beside threads")

FIT = """if True:
    import json, multiprocessing, os, signal, sys, threading
    import numpy as np
    from svmkit import fit
    from svmkit.kernels import RBF
    from svmkit.runtime import threads
    from svmkit.solver import Gap

    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 20))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=1500) > 0, 1, -1)

    def trained(solver, **how):
        found = fit(X, y, kernel=RBF(0.05), C=1.0, solver=solver, **how)
        return str(found.status), found.gap, found.objective

    def forked(work):
        # the exit status of a child that calls work(), and what it printed
        sys.stdout.flush()
        pid = os.fork()
        if not pid:
            work()
            sys.stdout.flush()
            os._exit(0)
        return os.waitpid(pid, 0)[1]
"""


def run(code):
    # Python 3.12 and newer warn of every fork beside threads; joblib forks from 3.14 on only if it is told to
    command = [sys.executable, "-W", "ignore:This process:DeprecationWarning", "-c", FIT + code]
    env = os.environ | {"JOBLIB_START_METHOD": "fork"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, env=env)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.threads
@pytest.mark.parametrize("solver", ["fcsmo", "svmlight"])
def test_a_forked_process_trains_as_its_parent(solver):
    """By os.fork, by multiprocessing and by joblib, after the parent has trained with all its threads."""
    lines = run(f"""
    import joblib
    parent = trained({solver!r})
    assert threads._pool.executor or threads.most() == 1, "the parent has not used its pool"
    print(json.dumps(parent))
    assert forked(lambda: print(json.dumps(trained({solver!r})))) == 0
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for each in pool.map(trained, [{solver!r}] * 2):
            print(json.dumps(each))
    for each in joblib.Parallel(2, backend="multiprocessing")(joblib.delayed(trained)({solver!r}) for _ in range(2)):
        print(json.dumps(each))
    print(json.dumps(trained({solver!r})))
    """)
    status, gap, _ = json.loads(lines[0])
    assert status == "converged" and gap <= 1e-3
    assert len(lines) == 7 and set(lines) == {lines[0]}


def test_a_process_forked_while_threads_compute():
    """Neither the threads nor their hold on BLAS exist in the child."""
    lines = run("""
    from threadpoolctl import threadpool_info
    def blas():
        return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]
    before, inside, leave = None, threading.Event(), threading.Event()
    def other():
        with threads.using():
            inside.set()
            leave.wait(60)
    import scipy.linalg
    before = blas()
    thread = threading.Thread(target=other)
    thread.start()
    inside.wait(60)
    assert set(blas()) == {1}
    def child():
        assert blas() == before, blas()
        with threads.using():
            assert set(blas()) == {1}
            counts = np.zeros(8)
            def loop(first, last):
                counts[first:last] += 1
            threads.spread(loop, 8, 1e9)
            assert (counts == 1).all()
        assert blas() == before, blas()
        print("right")
    assert forked(child) == 0
    leave.set()
    thread.join()
    assert blas() == before
    with threads.using():
        def held():
            assert set(blas()) == {1}
            print("held")
        assert forked(held) == 0
    """)
    assert lines == ["right", "held"]


@pytest.mark.slow
@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT], ids=lambda s: s.name)
def test_a_signal_interrupts_a_fit_in_a_forked_process(signum):
    lines = run(f"""
    trained("smo")
    def child():
        def signalled(*_):
            os.kill(os.getpid(), {int(signum)})
        print(trained("smo", stop=Gap(1e-12), watch=lambda *about: [signalled])[0])
    assert forked(child) == 0
    """)
    assert lines == ["interrupted"]


@pytest.mark.slow
def test_a_process_forked_during_a_fit_ends_by_sigterm():
    """multiprocessing ends the workers of a pool by SIGTERM, which the flag of the parent's fit must not swallow."""
    lines = run("""
    statuses = []
    def watched(*_):
        if not statuses:
            statuses.append(forked(lambda: (os.kill(os.getpid(), signal.SIGTERM), print("alive"))))
    print(*trained("smo", watch=lambda *about: [watched])[:1])
    print(os.WTERMSIG(statuses[0]) == signal.SIGTERM)
    """)
    assert lines == ["converged", "True"]
