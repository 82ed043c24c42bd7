"""Other software in a process of its own: limits and signals end it, and it ends with svmkit."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from support.problems import blobs
from svmkit_reference import outside
from svmkit_reference.svc import LIBSVM

from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Poly
from svmkit.kernels.gram import Gram
from svmkit.problems.box import BoxQP
from svmkit.solver.loop.solve import solve
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations, Seconds


def endless():
    """A problem on which LIBSVM takes its ten million iterations: minutes."""
    X, y = blobs(1500, 3, shift=0.02)
    return LIBSVM(eps=1e-9).pose(Gram(Poly(5.0, 5, 1.0), X), y, 1e7)


def running() -> list[int]:
    """The processes of this one in which other software works."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as stat:
                    parent = int(stat.read().rsplit(")", 1)[1].split()[1])
                with open(f"/proc/{entry}/cmdline", "rb") as line:
                    if parent == os.getpid() and b"svmkit_reference.worker" in line.read():
                        found.append(int(entry))
            except OSError:
                continue
    return found


@pytest.fixture(autouse=True)
def no_processes_of_other_tests():
    while outside._idle:
        outside._kill(outside._idle.pop())


@pytest.mark.slow
def test_a_limit_in_seconds_ends_a_fit():
    problem = endless()
    solution = solve(problem, LIBSVM(eps=1e-9), stop=Gap(1e-9) | Seconds(0.3))
    assert solution.status is Status.TIME_LIMIT
    assert solution.seconds < 60.0  # the fit alone takes minutes
    assert solution.certificate.primal == problem.certificate(solution.point).primal
    assert not running()


@pytest.mark.posix
@pytest.mark.slow
def test_a_signal_ends_a_fit():
    problem = endless()

    def press():
        while not running():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    solution = solve(problem, LIBSVM(eps=1e-9), stop=Gap(1e-9) | Seconds(500))
    thread.join()
    assert solution.status is Status.INTERRUPTED and not running()


@pytest.mark.posix
def test_the_answer_of_an_ended_fit_is_the_last_complete_one(monkeypatch):
    X, y = blobs(80, 3)
    problem = LIBSVM().pose(Gram(RBF(0.5), X), y, 1.0)
    once = solve(problem, LIBSVM(eps=0.1), stop=Gap(0.5))
    fits = []

    def ended(*args):
        fits.append(args)
        if len(fits) == 1:
            return original(*args)
        os.kill(os.getpid(), signal.SIGINT)
        return None

    original = outside.fit
    monkeypatch.setattr(outside, "fit", ended)
    solution = solve(problem, LIBSVM(eps=0.1), stop=Gap(1e-14))
    assert solution.status is Status.INTERRUPTED
    np.testing.assert_array_equal(solution.point, once.point)


def test_one_process_serves_fit_after_fit():
    X, y = blobs(60, 3)
    problem = LIBSVM().pose(Gram(RBF(0.5), X), y, 1.0)
    before = running()
    for _ in range(3):
        solve(problem, LIBSVM(), stop=Gap(1e-3))
    assert running() == before and len(before) == 1


@pytest.mark.posix
def test_fits_side_by_side_leave_their_processes_to_the_next():
    """All but one were killed, so that each calibration of LIBSVM paid for starts, seconds in a fit of milliseconds."""
    first, second = outside._take("sklearn.svm"), outside._take("sklearn.svm")
    outside._give(first)
    outside._give(second)
    assert len(running()) == 2
    assert {outside._take("sklearn.svm"), outside._take("sklearn.svm")} == {first, second}
    outside._give(first)
    first.kill()
    first.wait()
    outside._give(second)
    assert outside._idle == [second]


@pytest.mark.posix
def test_a_process_that_was_killed_is_replaced():
    X, y = blobs(60, 3)
    problem = LIBSVM().pose(Gram(RBF(0.5), X), y, 1.0)
    for pid in running():
        os.kill(pid, signal.SIGKILL)
    assert solve(problem, LIBSVM(), stop=Gap(1e-3)).status is Status.CONVERGED


def test_what_the_software_refuses_is_one_line():
    """It was a traceback of scikit-learn's ValueError."""
    X, y = blobs(40, 3)
    problem = BoxQP(Gram(RBF(0.5), X), y, 1.0)
    with pytest.raises(InputError, match=r"SVC of sklearn.svm failed on these data: .*C") as caught:
        outside.fit("sklearn.svm", "SVC", {"C": -1.0}, X, y, problem.C, ("support_",), lambda: False)
    assert "\n" not in str(caught.value)


@pytest.mark.posix
@pytest.mark.slow
def test_the_process_ends_with_its_parent():
    """Also when the parent is killed in the middle of a fit."""
    code = """
import os, signal, sys, threading, time
sys.path[:0] = [sys.argv[1]]
from test_outside import endless, running
from svmkit.solver.loop.solve import solve
from svmkit_reference.svc import LIBSVM
problem = endless()
print(*running(), flush=True)
threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
solve(problem, LIBSVM(eps=1e-9))
"""
    here = os.path.dirname(__file__)
    support = os.path.dirname(os.path.dirname(here))
    env = os.environ | {"PYTHONPATH": os.pathsep.join([support, *filter(None, sys.path)])}
    done = subprocess.run(
        [sys.executable, "-c", code, here], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, timeout=120
    )
    assert done.returncode == -signal.SIGKILL
    pid = int(done.stdout.split()[0])
    give_up = time.monotonic() + 60
    while alive(pid):
        assert time.monotonic() < give_up, "the process outlives its parent"
        time.sleep(0.05)


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_iterations_still_end_a_solve():
    X, y = blobs(60, 3)
    problem = LIBSVM().pose(Gram(RBF(0.5), X), y, 1.0)
    assert solve(problem, LIBSVM(eps=0.1), stop=Gap(1e-14) | Iterations(1)).status is Status.MAX_ITER
