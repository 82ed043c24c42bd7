"""What the tests of the command line share: a result, a process, and data files to train on."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from support.endless import STEPPED
from support.problems import write


class Result(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self):
        """The one JSON object on stdout; anything else there is an error."""
        assert self.code == 0, self.err
        assert self.out.count("\n") == 1 and self.out.endswith("\n")
        return json.loads(self.out, parse_constant=lambda text: pytest.fail(f"{text} is not JSON"))


def process(*args, **kwargs):
    done = subprocess.run(
        [sys.executable, "-m", "svmkit", *map(str, args)], capture_output=True, text=True, timeout=300, **kwargs
    )
    return Result(done.returncode, done.stdout, done.stderr)


def wait_for(condition, seconds=120):
    """Wait until the condition holds; an AssertionError after so many seconds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def catches(pid, signum):
    """Whether the process has a handler for the signal, as /proc tells."""
    mask = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigCgt"))
    return bool(int(mask.split()[1], 16) >> (signum - 1) & 1)


def wait_until_solving(child):
    """Wait until a command that trains by the solver of `support.endless` has taken a step; it runs in this folder."""
    wait_for(lambda: Path(STEPPED).exists() or child.poll() is not None, 240)
    assert child.poll() is None


def family_of(mark, value):
    """The processes that have a mark in their environment and live, zombies not counted, and their command lines."""
    found, wanted = {}, f"{mark}={value}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                found[int(folder.name)] = (folder / "cmdline").read_bytes()
    return found


class Marked:
    """A command in a process whose descendants can be told from all others, whoever their parent is by then.

    Its output goes to files: a pipe would be held open by a grandchild. `end` leaves no process behind.
    """

    MARK = "SVMKIT_TEST_FAMILY"

    def __init__(self, *args):
        self.mark = uuid.uuid4().hex
        self.out, self.err = Path(f"{self.mark}.out"), Path(f"{self.mark}.err")
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self.child = subprocess.Popen(
                [sys.executable, "-m", "svmkit", *map(str, args)],
                stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=os.environ | {self.MARK: self.mark},
            )  # fmt: skip

    def family(self):
        """The processes that live, zombies not counted, and their command lines."""
        return family_of(self.MARK, self.mark)

    def workers(self):
        """The processes of its pools that live."""
        return [pid for pid, line in self.family().items() if b"loky.backend.popen" in line]

    def finish(self, seconds=120):
        """Wait for the command, but not for its descendants, and return its Result."""
        code = self.child.wait(seconds)
        return Result(code, self.out.read_text(), self.err.read_text())

    def end(self):
        """Kill all of its processes."""
        while family := self.family():
            for pid in family:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.child.poll()
            time.sleep(0.02)
        self.child.wait(60)


def clouds(n=60, seed=0, spread=1.0):
    """Features (n, 3) around +1 and -1, and the side of each."""
    rng = np.random.default_rng(seed)
    side = np.where(np.arange(n) % 2, 1, -1)
    return rng.normal(size=(n, 3)) * spread + side[:, None], side


def svmlight(name="clouds.svm", n=60, seed=0, spread=1.0):
    X, y = clouds(n, seed, spread)
    rows = (" ".join(f"{j + 1}:{v:.6g}" for j, v in enumerate(x)) for x in X)
    return write(name, "".join(f"{label:+d} {row}\n" for label, row in zip(y, rows, strict=True)))


PEOPLE = [
    (25 + i % 30 + 20 * (i % 2), ("berlin", "oslo", "rome")[i % 3], 1.5 * (i % 7), ("no", "yes")[i % 2])
    for i in range(48)
]

HOLED = [
    ("" if i % 5 == 0 else age, city, "" if i % 7 == 3 else score, answer)
    for i, (age, city, score, answer) in enumerate(PEOPLE)
]


def people(name, order=("age", "city", "score", "answer"), rows=PEOPLE):
    """A table with a text feature and text labels, its columns in this order."""
    places = [("age", "city", "score", "answer").index(column) for column in order]
    lines = [",".join(order), *(",".join(str(row[i]) for i in places) for row in rows)]
    return write(name, "\n".join(lines) + "\n")


def lopsided(name="lopsided.csv", n=400, rare=20, shift=1.6, seed=0):
    """A table of two overlapping classes, "stay" and "leave", the second one rare; the label is the last column."""
    rng = np.random.default_rng(seed)
    leaves = np.arange(n) % (n // rare) == 0
    X = rng.normal(size=(n, 3)) + shift * leaves[:, None]
    answers = np.where(leaves, "leave", "stay")
    lines = [f"{a:.5f},{b:.5f},{c:.5f},{answer}" for (a, b, c), answer in zip(X, answers, strict=True)]
    return write(name, "a,b,c,answer\n" + "\n".join(lines) + "\n")
