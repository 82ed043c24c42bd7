"""Loops on the pool of threads: what is called, what fails, who waits, and the number of threads of BLAS."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from numba import njit
from threadpoolctl import threadpool_info

from svmkit import fit
from svmkit.errors import InputError
from svmkit.kernels import RBF
from svmkit.runtime import threads

LONG = threads.LEAST * 100  # nanoseconds an item that justify any number of threads

pytestmark = pytest.mark.threads


@pytest.fixture(autouse=True)
def four(monkeypatch):
    """Four threads, however many cores there are."""
    monkeypatch.setattr(threads, "most", lambda: 4)
    monkeypatch.setattr(threads, "_pool", threads._Pool())


@njit(nogil=True)
def add_one(first, last, counts):
    for i in range(first, last):
        counts[i] += 1


def blas():
    return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]


@pytest.mark.parametrize("work", [0.0, 1.0, 1e3, LONG])
@pytest.mark.parametrize("number", [1, 2, 4])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 1000])
def test_every_item_is_visited_once(n, number, work):
    counts = np.zeros(n, dtype=np.int64)
    with threads.using(number):
        threads.spread(add_one, n, work, counts)
    assert (counts == 1).all()


def test_the_number_of_threads_and_little_work():
    def ranges(number, n, work):
        calls = []
        with threads.using(number):
            threads.spread(lambda first, last: calls.append((first, last)), n, work)
        return sorted(calls)

    assert ranges(1, 100, LONG) == [(0, 100)]
    assert ranges(4, 100, threads.LEAST / 100) == [(0, 100)]
    assert ranges(4, 2, threads.LEAST) == [(0, 1), (1, 2)]
    assert len(ranges(2, 100, threads.LEAST)) == 2 * threads.SHARES
    assert len(ranges(2, 100, threads.MOST)) == 100  # signals and errors are seen between two calls


def test_threads_work_at_once():
    """Four calls meet, which takes four threads that are in them at the same time."""
    meeting, seen = threading.Barrier(4, timeout=60), set()

    def loop(first, last):
        if first < 4:
            meeting.wait()
        seen.add(threading.get_ident())

    with threads.using(4):
        threads.spread(loop, 4, LONG)
    assert len(seen) == 4 and threading.get_ident() in seen


def test_callers_do_not_wait_for_each_other():
    """Eight callers, more than there are threads in the pool, are in their loops at the same time."""
    meeting, found = threading.Barrier(8, timeout=60), []

    def loop(first, last, caller):
        if threading.current_thread() is caller and first == 0:
            meeting.wait()

    def call():
        caller = threading.current_thread()
        with threads.using(1):
            threads.spread(loop, 50, LONG, caller)
        found.append(caller)

    callers = [threading.Thread(target=call) for _ in range(8)]
    for each in callers:
        each.start()
    for each in callers:
        each.join()
    assert len(found) == 8


def test_many_callers_and_many_jobs():
    def call(k):
        for _ in range(50):
            counts = np.zeros(100 + k, dtype=np.int64)
            with threads.using(1 + k % 4):
                threads.spread(add_one, len(counts), LONG, counts)
            wrong.extend(np.flatnonzero(counts != 1))

    wrong: list = []
    callers = [threading.Thread(target=call, args=(k,)) for k in range(8)]
    for each in callers:
        each.start()
    for each in callers:
        each.join()
    assert not wrong


@pytest.mark.parametrize("where", ["caller", "helper"])
def test_the_first_error_travels_and_nothing_runs_after_it(where):
    main, meeting = threading.current_thread(), threading.Barrier(2, timeout=60)
    here, running, lock = threading.local(), [0], threading.Lock()

    def loop(first, last):
        if not hasattr(here, "met"):
            here.met = meeting.wait()
        with lock:
            running[0] += 1
        try:
            if (threading.current_thread() is main) == (where == "caller"):
                raise ZeroDivisionError(first)
        finally:
            with lock:
                running[0] -= 1

    with threads.using(2), pytest.raises(ZeroDivisionError):
        threads.spread(loop, 1000, LONG)
    assert running == [0]
    counts = np.zeros(50, dtype=np.int64)
    with threads.using(4):
        threads.spread(add_one, 50, LONG, counts)  # the pool is as before
    assert (counts == 1).all()


def test_ctrl_c_waits_for_the_threads_at_work():
    """KeyboardInterrupt while the caller waits: it comes out when no call is running."""
    main, at_work, go_on, ended = threading.current_thread(), threading.Event(), threading.Event(), []

    def loop(first, last):
        if threading.current_thread() is main:
            assert at_work.wait(60)
            raise KeyboardInterrupt
        at_work.set()
        assert go_on.wait(60)
        ended.append(first)

    threading.Timer(0.05, go_on.set).start()
    with threads.using(2), pytest.raises(KeyboardInterrupt):
        threads.spread(loop, 8, LONG)
    assert len(ended) == 1


def test_a_loop_in_a_loop_is_serial():
    inner, numbers = [], []

    def loop(first, last):
        numbers.append(threads.thread_count())
        threads.spread(lambda a, b: inner.append((a, b)), 100, LONG)

    with threads.using(4):
        threads.spread(loop, 4, LONG)
        assert threads.thread_count() == 4
    assert numbers == [1] * 4 and inner == [(0, 100)] * 4


def test_the_number_of_threads_is_the_callers_own():
    found = {}

    def call():
        found["other"] = threads.thread_count()

    with threads.using(2) as number:
        other = threading.Thread(target=call)
        other.start()
        other.join()
        with threads.using() as inner, threads.using(1) as innermost:
            found["inside"] = threads.thread_count()
        assert (number, inner, innermost, threads.thread_count()) == (2, 2, 1, 2)
    assert found == {"other": 4, "inside": 1} and threads.thread_count() == 4
    for wrong in (0, 5, -1):
        with pytest.raises(InputError, match=f"between 1 and 4 on this machine, not {wrong}"), threads.using(wrong):
            pass


def test_blas_comes_back_when_the_last_block_ends():
    """Blocks that overlap, in threads, and end in the order in which they began."""
    code = """if True:
        import threading
        from threadpoolctl import threadpool_info
        import scipy.linalg
        from svmkit.runtime import threads
        def blas():
            return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}
        before, steps = blas(), [threading.Event() for _ in range(3)]
        def second():
            steps[0].wait(60)
            with threads.using():
                steps[1].set()
                steps[2].wait(60)
                held.append(blas())
            after.append(blas())
        held, after = [], []
        other = threading.Thread(target=second)
        other.start()
        with threads.using():
            held.append(blas())
            steps[0].set()
            steps[1].wait(60)
        held.append(blas())
        steps[2].set()
        other.join()
        assert held == [{1}] * 3, held
        assert after == [before] and blas() == before, (before, after, blas())
        with threads.using():
            assert blas() == {1}
        assert blas() == before
    """
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"OPENBLAS_NUM_THREADS": "2"}, capture_output=True, timeout=120
    )
    assert done.returncode == 0, done.stderr.decode()


def test_fits_at_once_are_those_that_run_alone():
    """Four fits that begin together; BLAS has its threads again at the end, and each result is that of a lone fit."""
    import scipy.linalg  # noqa: F401  its BLAS, too

    def fitted(k, watch=None):
        found = fit(X, y, kernel=RBF(0.1), C=1.0 + k, solver=("smo", "swap", "fcsmo", "cvm")[k], watch=watch)
        return found.status, found.gap, found.objective

    def call(k):
        waiting = [meeting.wait]
        results[k] = fitted(k, lambda *about: [lambda *_: waiting.pop()() if waiting else None])

    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 10))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=600) > 0, 1, -1)
    before, alone = blas(), [fitted(k) for k in range(4)]
    meeting, results = threading.Barrier(4, timeout=60), {}
    callers = [threading.Thread(target=call, args=(k,)) for k in range(4)]
    for each in callers:
        each.start()
    for each in callers:
        each.join()
    assert [results[k] for k in range(4)] == alone
    assert blas() == before
