"""What the tests of clusters share: a scheduler and workers of Dask in processes of their own, on the loopback."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

from support.cli import family_of, wait_for

from svmkit.cluster import here
from svmkit.errors import InputError


class Processes:
    """Scheduler and workers, as `dask scheduler` and `dask worker` start them; `end` leaves none behind.

    Their messages go to files of the folder: a pipe would be held open by a grandchild.
    """

    MARK = "SVMKIT_TEST_CLUSTER"

    def __init__(self, folder):
        self.folder, self.mark = Path(folder), uuid.uuid4().hex
        self.children = []
        place = self.folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", place)
        wait_for(place.is_file)
        wait_for(place.read_text)
        self.file, self.address = place, json.loads(place.read_text())["address"]

    def worker(self, *args, path=None):
        """Start a worker process of one thread; `path` comes first among the places of its modules."""
        places = [str(path)] if path else []
        env = {"PYTHONPATH": os.pathsep.join([*places, *filter(None, sys.path)])}
        return self._start("worker", self.address, "--nthreads", "1", *(args or ["--no-nanny"]), **env)

    def _start(self, command, *args, **env):
        log = self.folder / f"{len(self.children)}-{command}.log"
        with log.open("wb") as out:
            child = subprocess.Popen(
                [sys.executable, "-m", "dask", command, *map(str, args), "--no-dashboard"],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=self.folder, start_new_session=True,
                env=os.environ | {self.MARK: self.mark} | env,
            )  # fmt: skip
        self.children.append(child)
        return child

    def cells(self):
        """The processes of loky that workers have started, for cells of a comparison."""
        return [pid for pid, line in family_of(self.MARK, self.mark).items() if b"loky.backend.popen" in line]

    def kill_worker_of(self, cell):
        """Kill the worker that has started the process of a cell."""
        stat = Path(f"/proc/{cell}/stat").read_text(encoding="utf-8")
        os.kill(int(stat.rpartition(")")[2].split()[1]), signal.SIGKILL)

    def end(self):
        """Kill all of the processes, and those that they have started."""
        while family := family_of(self.MARK, self.mark):
            for pid in family:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for child in self.children:
                child.poll()
        for child in self.children:
            child.wait(60)


# --- functions for workers


def square(x):
    return x * x, os.getpid(), here().worker


def fail(x):
    raise InputError(f"{x} is none")


class Odd(Exception):
    def __init__(self, one, two):
        super().__init__(one)


def fail_oddly(x):
    raise Odd(x, x)


def is_whole(X):
    here().send({"sum": float(X.sum())})
    return X.shape


def wait_until_unwanted(path):
    path.touch()
    end = time.monotonic() + 120
    while here().wanted and time.monotonic() < end:
        time.sleep(0.01)
    path.with_suffix(".left" if here().wanted else ".unwanted").touch()


def die_once(path):
    if not path.exists():
        path.write_text(str(os.getpid()), encoding="utf-8")
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()


def die(_):
    os.kill(os.getpid(), signal.SIGKILL)
