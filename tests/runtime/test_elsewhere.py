"""What only POSIX, or only Linux, has: where it is used, and what happens where it is absent."""

import builtins
import mmap
import os
import platform
import re
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from svmkit_dask.cluster import connect, wire
from svmkit_registry import store

from svmkit.compare.report import environment
from svmkit.conformance import isolation
from svmkit.data.places import fetching
from svmkit.runtime import mapping, threads, workers

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
ONLY_THERE = re.compile(
    r"\b(fcntl|resource|pwd|grp|termios|tty|pty)\.\w+\(|\bos\.(fork|forkpty|setsid|killpg|getpgid|getuid|geteuid|chown"
    r"|sched_\w+|mkfifo|posix_\w+|memfd_create|pread|pwrite|fchmod|uname|statvfs|nice|wait\w+)\b|\bsignal\.(SIGKILL"
    r"|SIGALRM|SIGHUP|SIGUSR\d|SIGSTOP|SIGCONT|setitimer|pthread_\w+)\b|\b(prctl)\(|\bmmap\.(MAP_\w+|PROT_\w+)|(MADV_\w+)"
    r"|\"(/proc/\w+)"
)


@pytest.fixture
def absent(monkeypatch):
    """absent(module, ...): these modules cannot be imported."""

    def hide(*names):
        for name in names:
            monkeypatch.setitem(sys.modules, name, None)

    return hide


def refuse(*args, **kwargs):
    raise FileNotFoundError(2, "No such file or directory")


def test_each_use_is_on_the_page():
    """A file that calls what only POSIX has is in the table of docs/testing.md, with what happens elsewhere."""
    used = set()
    for top in ("svmkit", "plugins", "registry"):
        for path in (ROOT / top).rglob("*.py"):
            code = "\n".join(line for line in path.read_text(encoding="utf-8").splitlines() if '"""' not in line)
            if ONLY_THERE.search(code):
                used.add(path.relative_to(ROOT).as_posix())
    table = PAGE.partition("## Where the tests have been run")[2]
    assert used == set(re.findall(r"^\| `((?:svmkit|plugins|registry)/[\w/]+\.py)` \|", table, re.M))
    assert len(used) >= 6


def test_a_download_without_locks_goes_on(absent, tmp_path):
    absent("fcntl")
    with fetching._alone(tmp_path / "lock", "a1a"), fetching._alone(tmp_path / "lock", "a1a"):
        assert (tmp_path / "lock").exists()


def test_the_store_is_locked_by_the_library_of_windows(absent, monkeypatch, tmp_path):
    class Library:
        LK_NBLCK = 2
        held = False

        @classmethod
        def locking(cls, descriptor, how, n):
            if cls.held:
                raise OSError(13, "Permission denied")
            cls.held = True

    absent("fcntl")
    monkeypatch.setitem(sys.modules, "msvcrt", Library)
    with open(tmp_path / "lock", "a+b") as file:
        assert [store._try_lock(file.fileno()), store._try_lock(file.fileno())] == [True, False]


def test_advice_on_memory_is_left_out(monkeypatch, tmp_path):
    np.save(tmp_path / "x.npy", np.arange(4096.0).reshape(512, 8))
    X = np.load(tmp_path / "x.npy", mmap_mode="r")
    for name in ("MADV_WILLNEED", "MADV_DONTNEED"):
        monkeypatch.delattr(mmap, name, raising=False)
    mapping.release(X, 0, 512)
    assert X.sum() == 4096 * 4095 / 2


def test_peak_memory_without_proc_and_without_resource(absent, monkeypatch):
    assert wire.peak_memory() > 1 << 20
    plain = builtins.open

    def open_elsewhere(path, *args, **kwargs):
        if str(path).startswith("/proc"):
            raise FileNotFoundError(2, "No such file or directory")
        return plain(path, *args, **kwargs)

    monkeypatch.setattr(builtins, "open", open_elsewhere)
    assert wire.peak_memory() > 1 << 20  # by resource
    absent("resource")
    assert wire.peak_memory() == 0  # not known


def test_a_check_without_timers_runs_without_a_limit(monkeypatch):
    for name in ("setitimer", "SIGALRM"):
        monkeypatch.delattr(signal, name, raising=False)
    with isolation._ending(0.0, "a step"):
        pass


def test_a_cluster_of_this_machine_starts_without_masks_of_signals(monkeypatch):
    monkeypatch.delattr(signal, "pthread_sigmask", raising=False)
    connect.leave_interrupts()


def test_processors_without_affinity(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert threads.cores() == os.cpu_count()


def test_the_processor_is_named_without_proc(monkeypatch):
    monkeypatch.setattr(Path, "read_text", refuse)
    monkeypatch.setattr(platform, "processor", lambda: "arm")
    assert environment._processor() == "arm"


def test_a_worker_elsewhere_looks_at_its_parent(monkeypatch):
    """Without prctl and SIGKILL a thread sees that the parent is gone."""
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.delattr(signal, "SIGKILL", raising=False)
    monkeypatch.setattr(workers.interrupt, "leave_to_parent", lambda: None)
    ended, parents = [], iter([7, 7, 7, 1])
    monkeypatch.setattr(os, "getppid", lambda: next(parents, 1))

    def end(code):
        ended.append(code)
        raise SystemExit

    monkeypatch.setattr(os, "_exit", end)
    monkeypatch.setattr(workers, "LOOK", 0.0)

    class Thread:
        def __init__(self, target, args, daemon):
            self.work = lambda: target(*args)

        def start(self):
            with pytest.raises(SystemExit):
                self.work()

    monkeypatch.setattr(workers.threading, "Thread", Thread)
    workers.end_with(7)
    assert ended == [1]
