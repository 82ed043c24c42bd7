"""A signal at a random moment of a command, first to last: exit code, standard output, MLflow, leftovers.

The full set strikes the first seven commands once. On demand all of them, and more often, with the figures on the
terminal:

    SVMKIT_SOAK_SIGNALS=200 pytest -s tests/project/test_soak_signals.py
"""

import contextlib
import json
import os
import random
import signal
import sqlite3
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from support.cli import Marked, catches, svmlight, wait_for

from svmkit.model.model import SVMModel

SIGNALS = int(os.environ.get("SVMKIT_SOAK_SIGNALS", "7"))
SEED = int(os.environ.get("SVMKIT_SOAK_SEED", "0"))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.posix,
    pytest.mark.usefixtures("alone"),
    pytest.mark.timeout(120 + 60 * SIGNALS),
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to see when a handler is in place"),
]

COMMANDS = {
    "train": ("train", "clouds.svm", "--solver", "smo", "--register", "clouds", "--out", "m.svmkit", "--force"),
    "tune": ("tune", "clouds.svm", "--solver", "smo", "--grid", "C=1,10", "--cv", "2", "--out", "m.svmkit", "--force"),
    "compare": ("compare", "clouds.svm", "--solvers", "smo,libsvm", "--test-size", "0.3", "--fresh"),
    "curve": ("curve", "clouds.svm", "--solver", "smo", "--rows", "20,30", "--repeat", "1", "--plot", "c.png"),
    "register": ("models", "register", "kept.svmkit", "--name", "clouds"),
    "dask": ("train", "parts/*.npz", "--scheduler", "local:1", "--register", "clouds", "--out", "m.svmkit", "--force"),
    "predict": ("predict", "kept.svmkit", "clouds.svm"),
    "evaluate": ("evaluate", "kept.svmkit", "clouds.svm"),
    "explain": ("explain", "kept.svmkit", "clouds.svm"),
    "certify": ("certify", "kept.svmkit", "clouds.svm"),
    "report": ("report", "kept.svmkit", "clouds.svm", "--out", "r.html"),
    "export": ("export", "kept.svmkit", "--onnx", "kept.onnx"),
    "nested": ("tune", "clouds.svm", "--solver", "smo", "--grid", "C=1,10", "--cv", "2", "--nested", "2", "--no-track"),
}
READERS = ("predict", "evaluate", "explain", "certify", "report", "export")  # of a model that is there
DASK = {"dask-scratch-space", "global.lock", "purge.lock"}  # which Dask leaves after any run


def rows(query):
    """The rows of a query on the store of the working directory."""
    if not Path("mlflow.db").exists():
        return []
    with contextlib.closing(sqlite3.connect("mlflow.db")) as store:
        return store.execute(query).fetchall()


def check_leftovers(scratch):
    """Nothing runs on in MLflow, nothing is registered by half, no temporary file is left."""
    assert {status for (status,) in rows("SELECT status FROM runs")} <= {"FINISHED", "KILLED"}
    assert {status for (status,) in rows("SELECT status FROM model_versions")} <= {"READY"}
    assert len(rows("SELECT name FROM registered_models")) <= len(rows("SELECT DISTINCT name FROM model_versions"))
    assert {file.name for file in scratch.glob("**/*")} <= DASK
    assert not list(Path().glob("**/*.part"))


def strike(name, kind, delay):
    """Run a command, send the signal `delay` seconds after it can answer, and return its exit code and its times."""
    Path("m.svmkit").unlink(missing_ok=True)
    command = Marked(*COMMANDS[name], "--json")
    try:
        wait_for(lambda: catches(command.child.pid, signal.SIGTERM) or command.child.poll() is not None)
        began = time.monotonic()
        if kind is not None:
            time.sleep(delay)  # the moment, which the seed chooses: nothing is hoped of it
            if command.child.poll() is None:
                command.child.send_signal(kind)
        done = command.finish(180)
        seconds = time.monotonic() - began
        wait_for(lambda: not command.family(), 60)
    finally:
        command.end()
    assert "Traceback" not in done.err, f"after {delay:.2f} s:\n{done.err}"
    if done.code == 0:
        found = [json.loads(line) for line in done.out.splitlines()]
        assert found or name == "compare", done  # which may have no cell yet
        if name in ("train", "tune", "dask"):
            assert SVMModel.load("m.svmkit").about["status"] in ("converged", "interrupted")
        if name == "register":
            assert found[0]["uri"].startswith("models:/clouds/")
    else:
        assert (done.code, done.out) == (1, ""), (delay, done)
        assert any(line.startswith("svmkit: interrupted") for line in done.err.splitlines()), (delay, done.err)
        assert name in (*READERS, "register") or not Path("m.svmkit").exists() or "not registered" in done.err
    return done.code, seconds


def test_a_signal_at_a_random_moment_of_each_command(tmp_path, monkeypatch, svmkit, capsys):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    svmlight()
    os.mkdir("parts")
    rng = np.random.default_rng(0)
    for k in range(2):
        y = np.where(np.arange(60) % 2, 1, -1)
        np.savez(f"parts/{k}.npz", X=rng.normal(size=(60, 3)) + y[:, None], y=y)
    svmkit("train", "clouds.svm", "--solver", "smo", "--no-track", "--out", "kept.svmkit")
    random_, found, lasts = random.Random(SEED), Counter(), {}
    for k in range(SIGNALS):
        name = list(COMMANDS)[k % len(COMMANDS)]
        if name not in lasts:
            code, lasts[name] = strike(name, None, 0.0)
            assert code == 0
        kind = random_.choice((signal.SIGTERM, signal.SIGINT))
        delay = random_.uniform(0.0, 1.05 * lasts[name])
        code, _ = strike(name, kind, delay)
        with capsys.disabled():  # with -s too, the fixture `svmkit` keeps all that is printed
            print(f"{k + 1}: {name} {kind.name} after {delay:.2f} s of {lasts[name]:.2f}: exit {code}", flush=True)
        found[name, kind.name, code] += 1
        check_leftovers(scratch)
    with capsys.disabled():
        print(*(f"{' '.join(map(str, key))}: {n}" for key, n in sorted(found.items())), sep="\n")
