"""Where the fits of a search run: threads, processes, dask and ray find the same as one after the other."""

import contextlib
import os
import threading
import time

import numpy as np
import pytest
from support.cli import wait_for
from support.problems import overlapping

from svmkit import plugins, tune
from svmkit.errors import InputError
from svmkit.kernels.functions import RBF
from svmkit.solver.stopping import Gap
from svmkit.tune import Path, backends, crossval
from svmkit.tune.records import Records, scratch

CS, GAMMAS = [0.1, 1.0, 10.0], [0.1, 1.0]


def scores_of(result):
    return {(c.C, c.params.get("gamma")): c.mean_accuracy for c in result.candidates}


@pytest.mark.parametrize("jobs", [1, 3])
def test_parallel_jobs_find_the_same(jobs):
    X, y = overlapping(90)
    expected = tune.search(X, y, grid={"C": CS}, kernel=RBF(0.5), cv=3, stop=Gap(1e-6))
    found = tune.search(X, y, grid={"C": CS}, kernel=RBF(0.5), cv=3, stop=Gap(1e-6), jobs=jobs, backend="threading")
    assert scores_of(found) == scores_of(expected)


@pytest.mark.slow
def test_processes_find_the_same():
    X, y = overlapping(90)
    expected = tune.search(X, y, grid={"C": CS, "gamma": GAMMAS}, cv=3)
    found = tune.search(X, y, grid={"C": CS, "gamma": GAMMAS}, cv=3, jobs=2, backend="loky")
    assert scores_of(found) == scores_of(expected)
    assert [c.params for c in found.candidates] == [c.params for c in expected.candidates]


@pytest.mark.parametrize("pieces", range(1, 8))
def test_paths_are_divided_evenly_and_numbered(pieces):
    paths = [Path(0, plugins.build("solver", "smo"), RBF(1.0), tuple(range(1, n + 1))) for n in (5, 2)]
    parts = crossval._divide(paths, pieces, 3)
    expected = [at + 1 for path in paths for at in np.array_split(np.arange(len(path.Cs)), min(pieces, len(path.Cs)))]
    assert [part.Cs for part in parts] == [tuple(Cs.tolist()) for Cs in expected]
    assert [part.number for part in parts] == list(range(3, 3 + len(parts)))


def test_more_jobs_than_paths_and_folds_cut_the_paths():
    X, y = overlapping(60)
    seen = []
    found = tune.search(X, y, grid={"C": CS}, cv=2, jobs=4, backend="threading", report=seen.append)
    assert len(found.candidates) == 3 and found.n_fits == 6
    assert sum(c.kernel_values for c in found.candidates) > 0 and all(at.of == 6 for at in seen)


@pytest.mark.parametrize("backend, pip", [("dask", "pip install 'dask[distributed]'"), ("ray", "pip install ray")])
def test_a_backend_that_is_not_installed(monkeypatch, backend, pip):
    import sys

    for name in ("distributed", "ray"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match="is not installed") as caught:
        tune.search(*overlapping(40), grid={"C": CS}, cv=3, backend=backend)
    assert pip in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["dask", "ray"])
def test_backends_where_installed(backend):
    pytest.importorskip({"dask": "distributed", "ray": "ray"}[backend])
    X, y = overlapping(90)
    found = tune.search(X, y, grid={"C": CS, "gamma": GAMMAS}, cv=3, jobs=2, backend=backend)
    assert scores_of(found) == scores_of(tune.search(X, y, grid={"C": CS, "gamma": GAMMAS}, cv=3))


def test_threads_leave_a_search_that_was_left(tmp_path):
    from svmkit.tune.records import LOOK

    (tmp_path / "a").mkdir()
    ours, elsewhere = Records(str(tmp_path / "a")), Records(str(tmp_path / "b"))
    assert not ours.stopped and not elsewhere.stopped
    elsewhere.stop()
    elsewhere.add({"path": 0})
    assert not elsewhere.stopped and elsewhere.all() == []
    ours.add({"path": 1})
    assert ours.all() == [{"path": 1}]
    other = Records(str(tmp_path / "a"))
    assert not other.stopped
    ours.stop()
    time.sleep(2 * LOOK)
    assert other.stopped, "it looks at the folder again, though not at every call"
    assert ours.stopped and Records(str(tmp_path / "a")).stopped
    for file in (tmp_path / "a").iterdir():
        file.unlink()
    (tmp_path / "a").rmdir()
    assert ours.stopped


@pytest.mark.slow
def test_nothing_is_left_of_a_search_whose_threads_still_write():
    """Their last records must not keep the folder from being removed."""
    for _ in range(20):
        over = threading.Event()
        with scratch() as folder:
            records = Records(folder)

            def write(records=records, over=over):
                while not over.is_set():
                    records.add({"path": 0})

            writers = [threading.Thread(target=write) for _ in range(4)]
            for writer in writers:
                writer.start()
            wait_for(lambda folder=folder: len(os.listdir(folder)) >= 20)
        over.set()
        for writer in writers:
            writer.join()
        assert not os.path.exists(os.path.dirname(folder))


class Late:
    """A flag that is raised some time after it was made."""

    def __init__(self):
        self.at, self.raised = time.monotonic() + 0.3, True

    def __bool__(self):
        return self.raised and time.monotonic() >= self.at


@pytest.mark.parametrize("late", [60.0, 0.0])
def test_a_failure_right_before_a_signal_is_the_signals(late, monkeypatch):
    """A signal to the whole group of processes may end a worker before it reaches its parent."""
    flag, stopped = Late(), []
    monkeypatch.setattr(backends, "LATE", late)
    monkeypatch.setattr(backends.interrupt, "catching", lambda: contextlib.nullcontext(flag))

    def work():
        raise RuntimeError("a worker ended")

    if late:
        assert backends.supervise(work, stop=lambda: stopped.append(1), kill=None) is None
        assert stopped and not flag.raised
    else:
        with pytest.raises(RuntimeError, match="a worker ended"):
            backends.supervise(work, stop=lambda: stopped.append(1), kill=None)
