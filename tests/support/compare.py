"""What the tests of comparisons share: cells in this process, and solvers of a third party that misbehave."""

import pickle
import sys
from pathlib import Path

import pytest
from joblib.externals.loky.backend.reduction import dumps

from svmkit import plugins
from svmkit.compare.cells import lane, worker

MISBEHAVING = '''
import os, signal, time
from dataclasses import dataclass
from svmkit_decomposition.smo import SMO
from svmkit.errors import SvmkitError

KEPT = []


@dataclass(frozen=True)
class Crash(SMO):
    """Dies as the system's memory killer would have it."""
    name = "crash"
    def step(self, state):
        if state.problem.m > 130:  # not while it is warmed up
            os.kill(os.getpid(), signal.SIGKILL)
        return super().step(state)


@dataclass(frozen=True)
class Hang(SMO):
    """Never comes back."""
    name = "hang"
    def step(self, state):
        while state.problem.m > 130:
            time.sleep(0.1)
        return super().step(state)


@dataclass(frozen=True)
class Hoard(SMO):
    """Keeps 400 MB, for longer than loky waits between two looks at a worker's memory."""
    name = "hoard"
    def step(self, state):
        if state.problem.m > 130 and not KEPT:
            KEPT.append(b"1" * 400_000_000)
            time.sleep(1.5)
        return super().step(state)


@dataclass(frozen=True)
class Refuse(SMO):
    """Fails in words."""
    name = "refuse"
    def step(self, state):
        raise SvmkitError("it is\\nMonday")


@dataclass(frozen=True)
class Broken(SMO):
    """Fails with an error that is nobody's."""
    name = "broken"
    def step(self, state):
        raise KeyError("nobody's")
'''
NAMES = ("crash", "hang", "hoard", "refuse", "broken")


@pytest.fixture
def misbehaving(tmp_path, monkeypatch):
    """Solvers crash, hang, hoard, refuse and broken, in this process and in those that it starts."""
    folder = tmp_path / "misbehaving"
    info = folder / "misbehaving-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "misbehaving.py").write_text(MISBEHAVING, encoding="utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: misbehaving\nVersion: 1.0\n", encoding="utf-8")
    points = "".join(f"{name} = misbehaving:{name.capitalize()}\n" for name in NAMES)
    interface = f"[svmkit.interface]\n{plugins.INTERFACE} = misbehaving\n"
    (info / "entry_points.txt").write_text(f"{interface}[svmkit.solvers]\n{points}", encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", str(folder))
    plugins.registered.cache_clear()
    yield folder
    plugins.registered.cache_clear()
    sys.modules.pop("misbehaving", None)


def run_cells_here(monkeypatch):
    """Let cells run in this process, where a worker process would import everything first, for 3 s of the processor.
    What goes to a worker and comes back is pickled all the same.
    """

    def call(self, seconds, function, *args, patience=0.0):
        function, args = _pickled((function, args))
        return _pickled(function(*args))

    monkeypatch.setattr(worker, "_bench", worker.Bench())
    monkeypatch.setattr(lane.Lane, "start", lambda self: None)
    monkeypatch.setattr(lane.Lane, "call", call)


def _pickled(value):
    return pickle.loads(dumps(value))


def wide_test(folder: Path) -> tuple[Path, Path]:
    """An svmlight training file, and a test file with one more column."""
    rows = [f"{'+1' if k % 2 else '-1'} 1:{k % 7} 2:{1 + k % 3}" for k in range(40)]
    train, test = folder / "few_columns.svm", folder / "few_columns.svm.t"
    train.write_text("\n".join(rows) + "\n", encoding="utf-8")
    test.write_text("\n".join([*rows[:10], "+1 4:1"]) + "\n", encoding="utf-8")
    return train, test
