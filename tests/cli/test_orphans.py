"""Workers of `tune` and `compare` end with the command, however and whenever it ends, and on SIGTERM."""

import os
import signal
from pathlib import Path

import pytest
from support.cli import Marked, catches, wait_for

pytestmark = [
    pytest.mark.usefixtures("alone"),
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc to find the processes"),
]

ENDLESS = ("--stop", "gap:1e-12|iter:1000000000", "--no-track", "--jobs", 2)
COMMANDS = {
    "tune": ("tune", "--solver", "fw", "--grid", "C=1,2,3,4", *ENDLESS),
    "compare": ("compare", "breast_cancer", "--solvers", "fw,mfw", "--threads", 2, "--time-limit", 900, *ENDLESS),
}


@pytest.fixture
def command():
    """command(name) -> the command as a `Marked`; whatever happens, no process of it is left."""
    started = []

    def start(name):
        started.append(Marked(*COMMANDS[name]))
        return started[-1]

    yield start
    for marked in started:
        marked.end()


def is_working(pid):
    """Whether a worker has been bound to its parent: from then on it ignores Ctrl-C."""
    ignored = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigIgn"))
    return bool(int(ignored.split()[1], 16) >> (signal.SIGINT - 1) & 1)


MOMENTS = {
    "listening": lambda marked: catches(marked.child.pid, signal.SIGTERM),
    "starting": lambda marked: marked.workers(),
    "working": lambda marked: len(marked.workers()) == 2 and all(map(is_working, marked.workers())),
}


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda s: s.name)
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("name", COMMANDS)
def test_workers_end_with_the_command(command, name, moment, signum):
    marked = command(name)
    wait_for(lambda: MOMENTS[moment](marked))
    marked.child.send_signal(signum)
    done = marked.finish()
    wait_for(lambda: not marked.family(), 60)
    assert "Traceback" not in done.err
    if signum == signal.SIGKILL:
        assert done.code == -signal.SIGKILL
    elif moment == "listening" and done.code == 1:  # before there is anything to search or to run
        assert done.out == "" and done.err.splitlines()[-1].startswith("svmkit: interrupted")
    else:
        what = "a candidate was tried in all folds" if name == "tune" else "one of 2 cells was finished"
        assert (done.code, done.out) == (1, "")
        assert done.err.splitlines()[-1] == f"svmkit: interrupted before {what}"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_worker_ends_on_a_SIGTERM_of_its_own(command, name):
    marked = command(name)
    wait_for(lambda: MOMENTS["working"](marked))
    first = marked.workers()[0]
    os.kill(first, signal.SIGTERM)
    wait_for(lambda: first not in marked.family(), 30)
