"""The outer loop: callbacks, the clock and interrupts."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from support.problems import make
from support.solve import Replay, problem

from svmkit.solver.loop.solve import solve
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations

pytestmark = pytest.mark.usefixtures("one_pool")


def test_callbacks_are_off_the_clock():
    p = problem()
    solution = solve(
        p,
        Replay(points=(np.full(80, 1 / 80),)),
        stop=Iterations(10),
        callbacks=[lambda point: time.sleep(0.1)],
    )
    assert len(solution.history) >= 10
    assert solution.seconds < 0.5  # ten callbacks sleep for a second


def test_certificates_of_refused_gaps_are_on_the_clock_but_callbacks_see_every_point():
    seen = []
    solution = solve(problem(), make("swap"), callbacks=[seen.append])
    assert seen == list(solution.history)
    assert [point.seconds for point in seen] == sorted(point.seconds for point in seen)


def test_a_callback_that_returns_true_ends_the_solve():
    solution = solve(problem(), make("fw"), stop=Gap(1e-9), callbacks=[lambda p: p.n_iter >= 5, lambda p: None])
    assert solution.status is Status.INTERRUPTED
    assert solution.n_iter == 5
    assert problem().infeasible(solution.point) is None and solution.certificate.gap < 1


def test_a_callback_that_returns_something_else_does_not():
    solution = solve(problem(), make("swap"), callbacks=[lambda p: "yes", lambda p: 1])
    assert solution.status is Status.CONVERGED


def test_keyboard_interrupt_from_a_callback_returns_the_model():
    def quit_at(point):
        if point.n_iter == 4:
            raise KeyboardInterrupt

    p = problem()
    solution = solve(p, make("swap"), callbacks=[quit_at])
    assert solution.status is Status.INTERRUPTED and solution.n_iter == 4
    assert p.infeasible(solution.point) is None
    assert p.certificate(solution.point).gap == pytest.approx(solution.certificate.gap)


def test_an_error_in_a_callback_is_not_swallowed_and_handlers_come_back():
    def broken(point):
        raise RuntimeError("mine")

    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with pytest.raises(RuntimeError, match="mine"):
        solve(problem(), make("swap"), callbacks=[broken])
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    assert solve(problem(), make("swap")).status is Status.CONVERGED


@pytest.mark.posix
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM], ids=lambda s: s.name)
def test_a_signal_returns_the_best_iterate(signum):
    def send(point):
        if point.n_iter == 6:
            os.kill(os.getpid(), signum)

    before = signal.getsignal(signum)
    solution = solve(problem(), make("fw"), stop=Gap(1e-12), callbacks=[send])
    assert solution.status is Status.INTERRUPTED
    assert 6 <= solution.n_iter <= 8
    assert signal.getsignal(signum) is before


def test_solving_works_outside_the_main_thread():
    found = []
    worker = threading.Thread(target=lambda: found.append(solve(problem(), make("swap"))))
    worker.start()
    worker.join()
    assert found[0].status is Status.CONVERGED


SCRIPT = """
import sys
sys.path.insert(0, {here!r})
from support.problems import blobs, make, problem_of
from svmkit.solver import Gap, Seconds, solve
X, y = blobs(80, 3)
p = problem_of(X, y, 1000.0)
s = solve(p, make("fw"), stop=Gap(1e-12) | Seconds(60),
          callbacks=[lambda point: print("going", flush=True) if point.n_iter == 50 else None])
print(s.status, p.infeasible(s.point), 0 < s.certificate.gap < 1, s.n_iter >= 50, flush=True)
"""


@pytest.mark.posix
@pytest.mark.slow
def test_sigint_in_a_process_of_its_own(tmp_path):
    here = os.path.dirname(os.path.dirname(__file__))
    script = tmp_path / "run.py"
    script.write_text(SCRIPT.format(here=here))
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline().strip() == "going"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=50)
    finally:
        process.kill()
    assert process.returncode == 0, err
    assert out.strip() == "interrupted None True True"
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "answer, stops", [(True, True), (np.True_, True), (np.False_, False), (1, False), ("x", False)]
)
def test_true_ends_a_solve_also_numpys_and_nothing_else_does(answer, stops):
    solution = solve(problem(), make("swap"), stop=Iterations(50), callbacks=[lambda point: answer])
    assert (solution.status is Status.INTERRUPTED) == stops
