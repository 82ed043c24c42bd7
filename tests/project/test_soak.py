"""Many fits in one process, and many signals at random moments: nothing grows, no run is lost, no file is half.

The full set runs a small sample. On demand, more of it, with the figures on the terminal:

    SVMKIT_SOAK_FITS=500 SVMKIT_SOAK_SIGNALS=200 pytest -s tests/project/test_soak.py
"""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from support.cli import svmlight
from support.problems import blobs

from svmkit.kernels.functions import RBF, Linear
from svmkit.model import file as model_file
from svmkit.model.model import SVMModel
from svmkit.solver.stopping import Gap, Iterations
from svmkit.training.train import fit

FITS = int(os.environ.get("SVMKIT_SOAK_FITS", "60"))
SIGNALS = int(os.environ.get("SVMKIT_SOAK_SIGNALS", "6"))
SEED = int(os.environ.get("SVMKIT_SOAK_SEED", "0"))
SOLVERS = ("swap2o", "smo", "fcfw", "fcsmo", "svmlight", "msfw", "cvm", "dcd", "sgd", "pegasos", "ocas", "libsvm")
KINDS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
GROWTH = 64 << 20  # bytes: pages that an allocator keeps for one more thread; a leak of each fit's data is more

NO_PROC = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc to see what a process holds")
pytestmark = [NO_PROC, pytest.mark.slow, pytest.mark.usefixtures("alone")]


def held() -> tuple[int, int, int]:
    """Resident bytes, open file handles and threads of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE"), len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))


def test_fits_in_four_threads_leave_nothing_behind():
    X, y = blobs(400, 5)
    many = np.arange(400) % 3

    def one(k: int) -> float | None:
        solver = SOLVERS[k % len(SOLVERS)]
        kernel = Linear() if solver in ("dcd", "sgd", "ocas") else RBF(0.3)
        rules = Gap(1e-2) | Iterations(30 if solver == "pegasos" else 3000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return fit(X, y if k % 5 else many, solver=solver, kernel=kernel, seed=k, stop=rules).gap

    with ThreadPoolExecutor(4) as pool:
        warm = max(len(SOLVERS) * 2, FITS // 5)
        first = list(pool.map(one, range(warm)))
        before = held()
        gaps = first + list(pool.map(one, range(warm, FITS)))
        after = held()
    print(f"\n{FITS} fits: memory {before[0] >> 20} -> {after[0] >> 20} MB, files {before[1]} -> {after[1]}, "
          f"threads {before[2]} -> {after[2]}")  # fmt: skip
    assert all(gap is not None and gap <= 1.0 for gap in gaps)
    assert after[0] - before[0] < GROWTH
    assert after[1] <= before[1] + 4  # two pipes of a process of other software that the last fits may have taken
    assert after[2] <= before[2] + (os.cpu_count() or 1)  # threads of compiled loops start when they are first needed


def started(*args) -> subprocess.Popen:
    """The command in a process group of its own, its output in files, so that no child of it holds a pipe."""
    command = [sys.executable, "-m", "svmkit", *map(str, args)]
    with open("out.txt", "wb") as out, open("err.txt", "wb") as err:
        return subprocess.Popen(command, stdout=out, stderr=err, start_new_session=True)


def ended(child: subprocess.Popen) -> int:
    try:
        return child.wait(timeout=240)
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def struck(random_: random.Random, longest: float, *args) -> tuple[signal.Signals, int]:
    """Run the command, send one random signal at a random moment, and return the signal and the exit code."""
    kind, delay = random_.choice(KINDS), random_.uniform(0.0, longest)
    child = started(*args)
    timer = threading.Timer(delay, child.send_signal, (kind,))
    timer.start()
    try:
        code = ended(child)
    finally:
        timer.cancel()
        timer.join()
    assert code in (0, 1, 130, -kind), (kind, delay, code, Path("err.txt").read_text())
    assert "Traceback" not in Path("err.txt").read_text() or code != 0, Path("err.txt").read_text()
    return kind, code


def test_signals_to_a_training_with_a_checkpoint():
    """Each is followed by the same command; the last one runs to its end, at the gap of a run without signals."""
    random_ = random.Random(SEED)
    data = svmlight()
    train = ("train", data, "--solver", "fw", "--gamma", "0.5", "--tol", "3e-4", "--max-iter", "10000000")
    train += ("--no-track", "--json")
    assert ended(started(*train, "--out", "whole.model")) == 0
    whole = json.loads(Path("out.txt").read_text())
    kept = ("--checkpoint", "c.ckpt", "--every", "0.1s", "--resume", "--out", "m.model")
    codes = []
    for _ in range(SIGNALS):
        if random_.random() < 0.3:  # a finished run resumes at its end: begin anew now and then
            Path("c.ckpt").unlink(missing_ok=True)
        codes.append(struck(random_, 12.0, *train, *kept))
        if Path("c.ckpt").exists():
            model_file.read("c.ckpt", "checkpoint")
        if Path("m.model").exists():
            SVMModel.load("m.model")
    assert ended(started(*train, *kept)) == 0, Path("err.txt").read_text()
    last = json.loads(Path("out.txt").read_text())
    print(f"\ntrain: {codes}")
    assert last["status"] == whole["status"] == "converged" and last["gap"] <= 3e-4
    assert last["objective"] == pytest.approx(whole["objective"], rel=3e-4)
    assert SVMModel.load("m.model").classes.tolist() == SVMModel.load("whole.model").classes.tolist()


def test_signals_to_a_comparison():
    random_ = random.Random(SEED + 1)
    data = svmlight()
    compare = ("compare", data, "--solvers", "smo,swap2o,fcfw", "--test-size", "0.3", "--repeat", "2", "--no-track")
    assert ended(started(*compare, "--results", "whole", "--json")) == 0
    whole = [json.loads(line) for line in Path("out.txt").read_text().splitlines()]
    codes = [struck(random_, 20.0, *compare, "--results", "kept", "--json") for _ in range(max(1, SIGNALS // 3))]
    assert ended(started(*compare, "--results", "kept", "--json")) == 0, Path("err.txt").read_text()
    last = [json.loads(line) for line in Path("out.txt").read_text().splitlines()]
    print(f"\ncompare: {codes}")
    assert [(r["label"], r["seed"]) for r in last] == [(r["label"], r["seed"]) for r in whole]
    for ours, theirs in zip(last, whole, strict=True):
        assert ours["gap"] == pytest.approx(theirs["gap"], abs=1e-6)
