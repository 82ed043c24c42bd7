"""Signals and pipes that stay open: the stream ends with the model so far, and soon."""

import contextlib
import itertools
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from support.cli import Result, catches, clouds, wait_for

from svmkit import SVMModel

fcntl, termios = pytest.importorskip("fcntl"), pytest.importorskip("termios")

pytestmark = [
    pytest.mark.usefixtures("alone"),
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to see when a handler is in place"),
]

OPTIONS = ("--solver", "sfw", "--no-track", "--json", "--out", "m.model", "--memory", "50MB")


def lines():
    """Samples without end."""
    X, y = clouds(5000)
    return itertools.cycle([f"{c:+d} 1:{a:.5g} 2:{b:.5g} 3:{d:.5g}\n" for c, (a, b, d) in zip(y, X, strict=True)])


FOR_EVER = 10**9
AHEAD = 20_000  # lines, some 500 kB: more than the pipe and the reader hold, which is at most 64 KiB each


@pytest.fixture
def fed():
    """fed(at_once, pause, *args) -> `svmkit train -` in a process: so many lines, then one each `pause` seconds.

    It has read the lines that it got at once; of lines for ever it has learned from some.
    """
    started = []

    def start(at_once, pause, *args):
        command = [sys.executable, "-m", "svmkit", "train", "-", *OPTIONS, *map(str, args)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        child = subprocess.Popen(command, text=True, **pipes)
        over, fed_at_once, flooded = threading.Event(), threading.Event(), threading.Event()

        def write():
            try:
                for count, line in enumerate(lines()):
                    child.stdin.write(line)
                    if count == AHEAD:
                        flooded.set()
                    if count >= at_once:
                        child.stdin.flush()
                        fed_at_once.set()
                        if over.wait(pause):
                            return
            except (BrokenPipeError, ValueError):
                return

        writer = threading.Thread(target=write)
        writer.start()
        started.append((child, writer, over))
        wait_for(lambda: catches(child.pid, signal.SIGTERM))
        if at_once == FOR_EVER:
            wait_for(flooded.is_set)
        else:
            wait_for(lambda: fed_at_once.is_set() and not unread(child.stdin))
        return child

    yield start
    for child, writer, over in started:
        child.kill()
        over.set()
        writer.join(60)
        for pipe in (child.stdout, child.stderr):
            pipe.close()
        with contextlib.suppress(BrokenPipeError):
            child.stdin.close()
        child.wait()


def unread(pipe):
    """How many bytes lie in a pipe."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def ended(child):
    """Result, and the seconds that the process took to end; its standard input stays open."""
    began = time.monotonic()
    out, err = child.stdout.read(), child.stderr.read()
    return Result(child.wait(60), out, err), time.monotonic() - began


@pytest.mark.slow
@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize(
    ("at_once", "pause", "block", "within"),
    [(300, 0.2, 100, 10.0), (40, 3600.0, 1024, 30.0), (FOR_EVER, 0.0, 256, 10.0)],
    ids=["slow", "first block", "flood"],  # compiled loops are loaded with the first block
)
def test_a_signal_ends_the_stream_with_the_model(fed, signum, at_once, pause, block, within):
    child = fed(at_once, pause, "--block", block)
    child.send_signal(signum)
    done, seconds = ended(child)
    result = done.json
    assert seconds < within
    assert result["status"] == "interrupted" and "Traceback" not in done.err
    # a block may be cut short while compiled loops are loaded for it
    assert result["n_samples"] >= (1 if at_once == 300 else 40)
    assert SVMModel.load("m.model").about["n_samples"] == result["n_samples"]


@pytest.mark.slow
def test_a_signal_before_two_classes_leaves_no_model(fed):
    child = fed(0, 3600.0, "--classes", "-1,1", "--block", "1")
    child.send_signal(signal.SIGTERM)
    done, seconds = ended(child)
    assert done.code == 1 and done.out == "" and seconds < 20.0
    assert done.err.splitlines()[-1].startswith("svmkit: standard input: interrupted with ")
    assert not Path("m.model").exists()


@pytest.mark.slow
def test_time_limit_of_a_silent_pipe(fed):
    child = fed(150, 3600.0, "--block", "64", "--time-limit", "15")
    done, _ = ended(child)
    assert done.json["status"] == "time_limit" and done.json["n_samples"] >= 128
