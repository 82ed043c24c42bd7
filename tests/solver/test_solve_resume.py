"""The outer loop: seeds, history, schedule, warm starts, checkpoints, threads."""

import time
from itertools import pairwise

import numpy as np
import pytest
from support.problems import SUBLINEAR, blobs, every_solver, make, problem_of
from support.solve import problem

from svmkit.errors import InputError
from svmkit.solver.history import Clock, Schedule
from svmkit.solver.loop.iterate import Progress
from svmkit.solver.loop.recorder import Journal
from svmkit.solver.loop.solve import solve
from svmkit.solver.sampler import Uniform
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Epochs, Gap, Iterations, Seconds
from svmkit.training.checkpoint import Checkpoint, Identity, digest

pytestmark = pytest.mark.usefixtures("one_pool")

# --- seeds, history, schedule


@pytest.mark.filterwarnings("ignore:.*sampler .* has no effect")
@every_solver
def test_a_seed_is_a_result(name):
    def run(seed):
        return solve(problem(m=300), make(name), sampler=Uniform(9), stop=Iterations(80), seed=seed)

    a, b, other = run(3), run(3), run(4)
    np.testing.assert_array_equal(a.point, b.point)
    assert [q._replace(seconds=0) for q in a.history] == [q._replace(seconds=0) for q in b.history]
    assert not np.array_equal(a.point, other.point)


@pytest.mark.parametrize("stop", [Gap(1e-4), Iterations(7), Iterations(777), Gap(1e-3) | Iterations(12345)], ids=str)
@every_solver
def test_history_is_in_order_and_ends_with_the_last_iterate(name, stop):
    if name in SUBLINEAR and stop == Gap(1e-4):
        stop = Gap(1e-2)
    solution = solve(problem(C=0.1), make(name), stop=stop)
    points = solution.history
    iterations = [point.n_iter for point in points]
    looks = 0 if name == "fcfw" else 1  # which looks at all points before it takes a step
    assert iterations[0] == looks and iterations[-1] == solution.n_iter
    assert all(b > a for a, b in pairwise(iterations))  # no point twice
    assert all(b.seconds >= a.seconds for a, b in pairwise(points))
    assert all(b.kernel_values >= a.kernel_values for a, b in pairwise(points))
    assert points[-1].n_support == solution.n_support
    assert points[-1].objective == pytest.approx(0.5 / solution.certificate.dual, rel=1e-6)
    assert points.columns()["n_iter"] == iterations


def test_the_schedule_thins_out():
    schedule = Schedule()
    due = [k for k in range(1, 100_001) if schedule.due(k, 0.0)]
    assert due[:60] == list(range(1, 61))
    assert 200 < len(due) < 600
    assert all(b - a <= max(1, a // 32) for a, b in pairwise(due))
    slow = Schedule(1000)
    assert slow.due(1001, 0.0) and not slow.due(1002, 0.4) and slow.due(1003, 0.6)


def test_the_clock_stops():
    clock = Clock(100.0)
    with clock.pause():
        time.sleep(0.05)
    assert 100.0 <= clock() < 100.05


# --- going on from somewhere


@every_solver
def test_a_warm_start_needs_fewer_iterations(name):
    stop = Gap(1e-3)
    cold = solve(problem(C=0.5), make(name), stop=stop)
    warm = solve(problem(C=0.55), make(name), stop=stop, start=cold.point)
    again = solve(problem(C=0.55), make(name), stop=stop)
    assert warm.status is Status.CONVERGED and warm.certificate.gap <= 1e-3
    assert warm.n_iter < again.n_iter


class Memory:
    """A saver that keeps everything."""

    def __init__(self, every):
        self.every, self.kept, self.steps = every, [], 0

    def due(self, seconds):
        self.steps += 1
        return self.steps % self.every == 0

    def save(self, progress):
        self.kept.append(progress)


@every_solver
def test_the_saver_gets_progress_and_a_solve_goes_on_from_it(name):
    saver = Memory(10)
    p = problem(C=10.0)
    first = solve(p, make(name), stop=Iterations(45), journal=Journal(saver))
    first_look = 1 if name == "fcfw" else 0  # at all points, before its first step
    assert [q.n_iter for q in saver.kept] == [*(10 * k - first_look for k in range(1, 5)), 45]
    last = saver.kept[-1]
    np.testing.assert_allclose(last.point, first.point, atol=1e-15)
    assert 0.0 < last.seconds <= first.seconds + 1e-3
    assert last.epochs > 0
    more = solve(problem(C=10.0), make(name), stop=Iterations(60), start=last)
    assert more.n_iter == 60
    assert more.history[0].n_iter == 46 - first_look and more.seconds >= last.seconds
    assert more.certificate.dual >= first.certificate.dual * (1 - 1e-12)


def test_budgets_count_what_was_done_before():
    start = Progress(np.full(80, 1 / 80), n_iter=100, epochs=50.0, seconds=10.0)
    for rule, status in (
        (Iterations(100), Status.MAX_ITER),
        (Epochs(50), Status.MAX_ITER),
        (Seconds(10), Status.TIME_LIMIT),
    ):
        solution = solve(problem(), make("swap"), stop=rule, start=start)
        assert solution.status is status and solution.n_iter == 101


@pytest.mark.filterwarnings("ignore:.*sampler .* has no effect")
@pytest.mark.parametrize("sampler", [None, Uniform(7)], ids=["full", "uniform"])
@every_solver
def test_a_checkpoint_file_goes_on_where_it_was(name, sampler, tmp_path):
    """Through the file: the same as through memory, bit for bit, random numbers included."""
    X, y = blobs(80, 3)
    p = problem_of(X, y, 10.0)
    bound = Identity({"data": digest(X, y)}, name, lambda: "")
    memory = Memory(10**9)
    solve(p, make(name), stop=Iterations(30), journal=Journal(memory), sampler=sampler)
    file = tmp_path / "run.ckpt"
    checkpoint = Checkpoint(file)
    checkpoint.bind(bound)
    solve(p, make(name), stop=Iterations(30), journal=Journal(checkpoint.slot(0, name)), sampler=sampler)
    back = Checkpoint(file, resume=True)
    back.bind(bound)
    np.testing.assert_array_equal(back.progress(0).point, memory.kept[-1].point)
    assert back.progress(0).rng_state == memory.kept[-1].rng_state
    assert back.progress(1) is None
    a, b = (
        solve(problem_of(X, y, 10.0), make(name), stop=Iterations(70), start=start, sampler=sampler, seed=99)
        for start in (back.progress(0), memory.kept[-1])
    )
    assert a.n_iter == 70
    np.testing.assert_array_equal(a.point, b.point)


def test_a_checkpoint_refuses_another_training(tmp_path):
    X, y = blobs(40, 3)
    file, ours = tmp_path / "run.ckpt", {"C": "1.0", "data": digest(X), "labels": digest(y)}

    def resumed(**other):
        again = Checkpoint(file, resume=True)
        again.bind(Identity(ours | other, "swap2o", lambda: ""))
        return again

    first = Checkpoint(file)
    first.bind(Identity(ours, "swap2o", lambda: ""))
    first.put(0, Progress(np.full(40, 1 / 40), 5, 1.0, 0.5, None), "swap2o")
    first.flush()
    same = resumed(data=digest(X.copy()))
    assert same.progress(0).n_iter == 5 and same.progress(0).seconds == 0.5
    other = X.copy()
    other[3, 1] = np.nextafter(other[3, 1], 9)
    for changed, words in (
        ({"data": digest(other)}, "other data: train"),
        ({"data": digest(X[:-1]), "labels": digest(y[:-1])}, "other data and labels: train"),
        ({"C": "2.0"}, r"other C \(1.0 there, 2.0 here\): train"),
    ):
        with pytest.raises(InputError, match=words):
            resumed(**changed)


def test_checkpoint_files_that_are_none(tmp_path):
    file = tmp_path / "run.ckpt"
    file.write_bytes(b"garbage")
    with pytest.raises(InputError, match="not a svmkit checkpoint"):
        Checkpoint(file, resume=True)
    with pytest.raises(InputError, match="folder is not there"):
        Checkpoint(tmp_path / "nowhere" / "run.ckpt")
    assert Checkpoint(tmp_path / "new.ckpt", resume=True).progress(0) is None


@pytest.mark.parametrize("n_threads", [0, -1, 10_000])
def test_impossible_numbers_of_threads(n_threads):
    with pytest.raises(InputError, match="threads"):
        solve(problem(), make("swap"), n_threads=n_threads)


@pytest.mark.threads
def test_one_thread_and_all_reach_the_same():
    one, every = (solve(problem(), make("swap2o"), stop=Gap(1e-8), n_threads=n) for n in (1, None))
    assert one.certificate.dual == pytest.approx(every.certificate.dual, rel=1e-7)
