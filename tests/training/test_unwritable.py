"""A checkpoint that cannot be written costs one warning and no model; its interval is the most that a kill costs."""

import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from support.problems import overlapping

from svmkit.errors import InputError, SvmkitWarning
from svmkit.kernels.functions import RBF
from svmkit.model import file as model_file
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations
from svmkit.training.checkpoint import Checkpoint
from svmkit.training.train import fit

pytestmark = pytest.mark.usefixtures("alone")


def train(checkpoint, limit=40, **options):
    X, y = overlapping()
    return fit(X, y, solver="fw", kernel=RBF(0.5), stop=Gap(1e-9) | Iterations(limit), checkpoint=checkpoint, **options)


def told(run):
    """What `run` returns, and the warnings of svmkit meanwhile."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = run()
    return found, [str(w.message) for w in caught if issubclass(w.category, SvmkitWarning)]


def gone():
    """A file in a folder that disappears once training has begun."""
    Path("folder").mkdir()
    checkpoint = Checkpoint("folder/run.ckpt", every=0.0)
    return checkpoint, lambda *told: Path("folder").rmdir() or [] if Path("folder").exists() else []


def full():
    checkpoint = Checkpoint("/dev/full", every=0.0)
    return checkpoint, lambda *told: []


@pytest.mark.parametrize("place", [gone, pytest.param(full, marks=pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="needs /dev/full"))])  # fmt: skip
@pytest.mark.parametrize("classes", [2, 3])
def test_one_warning_and_the_same_model(place, classes):
    X, y = overlapping()
    labels = np.arange(len(y)) % 3 if classes == 3 else y
    options = {"solver": "fw", "kernel": RBF(0.5), "stop": Gap(1e-9) | Iterations(40)}
    plain = fit(X, labels, **options)
    checkpoint, watch = place()
    found, said = told(lambda: fit(X, labels, checkpoint=checkpoint, watch=watch, **options))
    assert len(said) == 1 and "cannot write" in said[0] and "training goes on" in said[0] and "\n" not in said[0]
    np.testing.assert_array_equal(found.model.coef, plain.model.coef)
    assert found.status is Status.MAX_ITER


def test_what_was_in_the_file_stays_and_it_is_tried_again(monkeypatch):
    train(Checkpoint("run.ckpt", every=0.0))
    before, write, tried = Path("run.ckpt").read_bytes(), model_file.write, []

    def fails_three_times(*args):
        tried.append(args)
        if len(tried) <= 3:
            assert Path("run.ckpt").read_bytes() == before
            raise InputError("cannot write run.ckpt: No space left on device; give another path")
        write(*args)

    with monkeypatch.context() as patched:
        patched.setattr(model_file, "write", fails_three_times)
        second, said = told(lambda: train(Checkpoint("run.ckpt", resume=True, every=0.0), 80))
    assert len(said) == 1 and len(tried) > 3
    third = train(Checkpoint("run.ckpt", resume=True), second.n_iter + 5)
    assert third.solutions[0].history[0].n_iter > second.n_iter >= 80


@pytest.mark.parametrize("every", [-1.0, np.nan, np.inf, "30s", None])
def test_an_interval_is_a_number_of_seconds(every):
    with pytest.raises(InputError, match="every must be a finite number of seconds"):
        Checkpoint("run.ckpt", every=every)


@pytest.mark.parametrize(("every", "writes"), [(0.0, range(10, 10**6)), (1e6, range(1, 2))], ids=["often", "once"])
def test_the_interval_is_the_time_between_two_writes(monkeypatch, every, writes):
    write, count = model_file.write, []
    monkeypatch.setattr(model_file, "write", lambda *args: (count.append(1), write(*args)))
    train(Checkpoint("run.ckpt", every=every))
    assert len(count) in writes


KILLED = """
import os, signal, sys
import numpy as np
from svmkit.kernels.functions import RBF
from svmkit.solver.stopping import Gap, Iterations
from svmkit.training.checkpoint import Checkpoint
from svmkit.training.train import fit
sys.path.insert(0, sys.argv[1])
from support.problems import overlapping
X, y = overlapping()
signum = getattr(signal, sys.argv[2])
watch = lambda *told: [lambda point: os.kill(os.getpid(), signum) if point.n_iter >= 25 else None]
found = fit(X, y, solver="fw", kernel=RBF(0.5), stop=Gap(1e-9) | Iterations(10**6), watch=watch,
            checkpoint=Checkpoint("run.ckpt", every=float(sys.argv[3])))
print(found.n_iter)
"""


SLOW = pytest.mark.slow


@pytest.mark.posix
@pytest.mark.parametrize(
    ("signum", "every"),
    [("SIGKILL", 0.0), pytest.param("SIGTERM", 1e6, marks=SLOW), pytest.param("SIGINT", 1e6, marks=SLOW)],
)
@pytest.mark.slow
def test_progress_of_a_binary_problem_outlives_a_signal(signum, every):
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(Path(__file__).parents[1]), signum, str(every)],
        capture_output=True, text=True, timeout=200, env=os.environ,
    )  # fmt: skip
    assert done.returncode == (-signal.SIGKILL if signum == "SIGKILL" else 0), done.stderr
    (progress,) = model_file.read("run.ckpt", "checkpoint")[1]["problems"].values()
    assert progress["n_iter"] >= 24
    resumed = train(Checkpoint("run.ckpt", resume=True), progress["n_iter"] + 5)
    assert resumed.solutions[0].history[0].n_iter > progress["n_iter"]
