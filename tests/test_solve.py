"""The outer loop: stopping, statuses, history, callbacks, interrupts, certificates, warm starts, checkpoints."""

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
import pytest
from helpers import SUBLINEAR, blobs, every_solver, make, problem_of

from svmkit.checkpoint import Checkpoint
from svmkit.errors import InputError
from svmkit.history import Clock, Schedule
from svmkit.kernels import Linear, Poly
from svmkit.loop import Progress, solve
from svmkit.problem import Problem
from svmkit.sampler import Uniform
from svmkit.solver import Requires, Solver, Status, StepInfo
from svmkit.stopping import Absolute, Epochs, Gap, Iterations, Seconds, Stop, Support, parse_stop

pytestmark = pytest.mark.usefixtures("one_pool")


def problem(m=80, C=1.0, seed=0, **kwargs):
    return problem_of(*blobs(m, 3, seed=seed), C, **kwargs)


# --- toy solvers


@dataclass(frozen=True)
class Replay(Solver):
    """Plays back points that it was given; what it claims about them is given too."""

    points: tuple = ()
    gap: float = float("inf")
    gap_abs: float = float("inf")
    sampled: bool = False
    moved: bool = True
    delay: float = 0.0

    name: ClassVar[str] = "replay"

    def init(self, problem, start, draws):
        values = [problem.objective(point) for point in self.points]
        return {"k": -1, "values": values}

    def step(self, state):
        if self.delay:
            time.sleep(self.delay)
        state["k"] += 1
        return StepInfo(
            state["values"][min(state["k"], len(self.points) - 1)],
            np.count_nonzero(self.solution(state)),
            0.25,
            self.gap,
            self.gap_abs,
            self.sampled,
            self.moved,
        )

    def solution(self, state):
        return self.points[min(max(state["k"], 0), len(self.points) - 1)].copy()


def path(p, n=6):
    """n feasible points on the way from bad to the optimum, the last one best."""
    best = solve(p, make("swap2o"), stop=Gap(1e-8)).point
    corner = np.eye(p.m)[0]
    return [(1 - t) * corner + t * best for t in np.linspace(0.5, 1.0, n)]


# --- criteria


def info(**kwargs):
    return StepInfo(**{"objective": 1.0, "n_support": 5, "epochs": 0.5} | kwargs)


@pytest.mark.parametrize(
    ("rule", "below", "at"),
    [
        (Gap(1e-3), {"info": info(gap=1.1e-3)}, {"info": info(gap=1e-3)}),
        (Absolute(1e-3), {"info": info(gap_abs=1.1e-3)}, {"info": info(gap_abs=1e-3)}),
        (Iterations(10), {"n_iter": 9}, {"n_iter": 10}),
        (Epochs(2), {"epochs": 1.9}, {"epochs": 2.0}),
        (Seconds(1.5), {"seconds": 1.4}, {"seconds": 1.5}),
        (Support(5), {"info": info(n_support=4)}, {"info": info(n_support=5)}),
    ],
    ids=lambda v: type(v).__name__ if isinstance(v, Stop | Gap) else "",
)
def test_criteria_hold_at_their_limit(rule, below, at):
    base = {"info": info(n_support=0), "n_iter": 0, "epochs": 0.0, "seconds": 0.0}
    assert (Stop(()) | rule).reached(**base | below) == []
    assert (Stop(()) | rule).reached(**base | at) == [rule]


def test_criteria_are_joined_in_order():
    a, b, c = Gap(1e-3), Iterations(10), Seconds(5)
    assert (a | b | c).criteria == (a | (b | c)).criteria == (a, b, c)
    assert (Stop((a,)) | Stop((b, c))).criteria == (a, b, c)
    assert (b | a).reached(info(gap=0.0), 10, 0.0, 0.0) == [b, a]


def test_criteria_from_text():
    for text, rule in (
        ("gap:1e-3", Gap(1e-3)),
        ("abs:1e-6", Absolute(1e-6)),
        ("iter:1000", Iterations(1000)),
        ("epochs:2", Epochs(2)),
        ("seconds:60", Seconds(60)),
        ("support:500", Support(500)),
    ):
        assert parse_stop(text) == rule and type(parse_stop(text)) is type(rule)


@pytest.mark.parametrize(
    "text", ["", "gap", "gap:", "gap:x", "1e-3", "gaps:1e-3", "gap:0", "gap:-1", "iter:nan", "iter:inf"]
)
def test_rules_that_are_none(text):
    with pytest.raises(InputError):
        parse_stop(text)


# --- statuses


@every_solver
def test_converged_is_certified(name):
    tol = 1e-2 if name in SUBLINEAR else 1e-5
    p = problem()
    solution = solve(p, make(name), stop=Gap(tol))
    assert solution.status is Status.CONVERGED
    assert solution.certificate.gap <= tol
    assert p.certificate(solution.point).gap == pytest.approx(solution.certificate.gap, abs=1e-12)
    assert solution.n_support == np.count_nonzero(solution.point)


@every_solver
def test_every_budget_ends_a_solve(name):
    tight = Gap(1e-14)
    for rule, status in (
        (Iterations(7), Status.MAX_ITER),
        (Epochs(5), Status.MAX_ITER),
        (Seconds(1e-9), Status.TIME_LIMIT),
        (Support(6), Status.MAX_SUPPORT),
    ):
        solution = solve(problem(C=10.0), make(name), stop=tight | rule)
        assert solution.status is status
        assert problem(C=10.0).infeasible(solution.point) is None
        assert 0 <= solution.certificate.gap <= 1
    assert solve(problem(C=10.0), make(name), stop=tight | Iterations(7)).n_iter == 7


def test_absolute_is_the_papers_epsilon():
    p = problem()
    solution = solve(p, make("mfw"), stop=Absolute(1e-4))
    g = p.gradient(solution.point)
    assert solution.status is Status.CONVERGED
    assert 2 * (solution.point @ g - g.min()) <= 1.0001e-4
    looser = solve(problem(), make("mfw"), stop=Absolute(1e-2))
    assert looser.n_iter < solution.n_iter
    g = p.gradient(looser.point)
    assert 2 * (looser.point @ g - g.min()) > 1e-4


def test_default_stop_is_a_gap_with_a_budget():
    p = problem()
    solution = solve(p, make("swap"))
    assert solution.status is Status.CONVERGED and solution.certificate.gap <= 1e-3
    never = Replay(points=(np.full(80, 1 / 80),))
    assert solve(problem(), never).n_iter == 100_000


def test_max_iter_that_has_converged_says_so():
    p = problem()
    best = solve(p, make("swap2o"), stop=Gap(1e-8)).point
    solution = solve(p, Replay(points=(best,)), stop=Gap(1e-3) | Iterations(5))
    assert solution.status is Status.CONVERGED and solution.certificate.gap <= 1e-3


def test_stalled_after_steps_without_progress():
    p = problem()
    stuck = Replay(points=(np.full(80, 1 / 80),), moved=False)
    solution = solve(p, stuck)
    assert solution.status is Status.STALLED
    assert 5 <= solution.n_iter <= 100
    assert solution.certificate.gap > 1e-3
    assert solution.history[-1].n_iter == solution.n_iter


def test_a_stall_at_the_optimum_is_convergence():
    p = problem()
    best = solve(p, make("swap2o"), stop=Gap(1e-6)).point
    assert solve(p, Replay(points=(best,), moved=False), stop=Gap(1e-3)).status is Status.CONVERGED
    tighter = Gap(0.1 * p.certificate(best).gap)
    assert solve(p, Replay(points=(best,), moved=False), stop=tighter).status is Status.STALLED


# --- solvers that are not monotone, or know no gap


def test_best_iterate_of_a_solver_that_is_not_monotone():
    p = problem()
    good, better, worse = (path(p)[k] for k in (2, 4, 0))
    points = (good, better, worse, worse, worse)
    solution = solve(p, Replay(points=points), stop=Gap(1e-6) | Iterations(5))
    np.testing.assert_array_equal(solution.point, better)
    assert solution.certificate.dual == pytest.approx(0.5 / p.objective(better), rel=1e-12)
    assert solution.status is Status.MAX_ITER


def test_converged_never_comes_with_a_gap_above_the_tolerance():
    """The iterate whose certificate was accepted is the answer, even if an earlier one had a lower objective."""
    p = problem(C=100.0)
    seen = []
    state = make("mfw").init(p, None, _draws(p))
    for _ in range(600):
        make("mfw").step(state)
        point = state.point()
        seen.append((p.objective(point), p.certificate(point).gap, point))
    # the objective falls along these; the gap does not: find a later iterate with a larger gap
    gaps = np.array([gap for _, gap, _ in seen])
    k = next(k for k in range(50, 500) if gaps[k + 1 :].max() > 1.5 * gaps[k])
    late = k + 1 + int(gaps[k + 1 :].argmax())
    tol = 1.1 * gaps[k]
    assert seen[late][0] < seen[k][0] and gaps[late] > tol
    # plays the lower objective with the larger gap first, then the higher one that meets the tolerance
    player = Replay(points=(seen[late][2], seen[k][2]), gap=0.0)
    solution = solve(p, player, stop=Iterations(50) | Gap(tol))
    assert solution.status is not Status.CONVERGED or solution.certificate.gap <= tol


def _draws(p, seed=0):
    from svmkit.sampler import Draws, Full

    return Draws(Full(), p.y, np.random.default_rng(seed))


def test_a_solver_without_an_estimate_runs_to_its_budget():
    p = problem()
    solution = solve(p, Replay(points=tuple(path(p))), stop=Gap(1e-3) | Iterations(20))
    assert solution.n_iter == 20
    assert {point.gap for point in solution.history} == {None}
    assert solution.status is Status.CONVERGED  # its last point is optimal, and the certificate says so


# --- what a gap has to go through


def test_a_sampled_gap_must_hold_three_times():
    p = problem()
    best = solve(p, make("swap2o"), stop=Gap(1e-8)).point
    for rule in (Gap(1e-3), Absolute(1e-3)):
        claims = {"gap": 1e-9, "gap_abs": 1e-9}
        assert solve(p, Replay(points=(best,), sampled=True, **claims), stop=rule).n_iter == 3
        assert solve(p, Replay(points=(best,), **claims), stop=rule).n_iter == 1


def test_a_refused_certificate_goes_on_and_resyncs():
    p = problem()
    points = tuple(path(p)[:1] * 20 + path(p)[-1:])
    solver = Replay(points=points, gap=9e-4)
    synced = []
    object.__setattr__(solver, "resync", lambda state, certificate: synced.append(certificate.gap))
    solution = solve(p, solver, stop=Gap(1e-3) | Iterations(1000))
    assert solution.status is Status.CONVERGED and solution.certificate.gap <= 1e-3
    assert solution.n_iter >= 21
    assert synced and min(synced) > 1e-3


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("budget", [Iterations(50), Epochs(50 / 4), Seconds(0.2)], ids=lambda b: type(b).__name__)
def test_a_gap_that_is_claimed_and_never_certified_does_not_outlast_the_budget(budget, sampled):
    """A solver that always claims gap 0: the budget holds although it stands behind the gap in the rules."""
    p = problem()
    liar = Replay(points=(np.full(80, 1 / 80),), gap=0.0, sampled=sampled, delay=1e-3)

    def fuse(point):
        return point.n_iter > 2000

    solution = solve(p, liar, stop=Gap(1e-6) | budget, callbacks=[fuse])
    assert solution.status is budget.status
    if not isinstance(budget, Seconds):
        assert solution.n_iter == 50


def test_certificates_are_not_asked_for_in_every_step():
    p = problem()
    asked = [0]
    certificate = p.certificate

    def counting(point):
        asked[0] += 1
        return certificate(point)

    p.certificate = counting
    solve(p, Replay(points=(np.full(80, 1 / 80),), gap=1e-7), stop=Iterations(300) | Gap(1e-6))
    assert 1 < asked[0] <= 40


# --- requirements


@dataclass(frozen=True)
class Picky(Replay):
    requires: ClassVar = (Requires.NORMALISED_KERNEL,)
    name: ClassVar[str] = "picky"


@dataclass(frozen=True)
class LinearOnly(Replay):
    requires: ClassVar = (Requires.LINEAR_KERNEL,)
    name: ClassVar[str] = "linonly"


def test_requirements_are_checked_with_the_reason():
    X, y = blobs(30)
    with pytest.raises(InputError, match=r"solver picky needs a kernel with constant k\(x, x\).* not poly"):
        solve(problem_of(X, y, 1.0, Poly(1.0)), Picky())
    with pytest.raises(InputError, match="solver linonly needs the linear kernel, not rbf"):
        solve(problem_of(X, y, 1.0), LinearOnly())
    point = (np.full(30, 1 / 30),)
    assert solve(problem_of(X, y, 1.0, Linear()), LinearOnly(points=point), stop=Iterations(1)).n_iter == 1


def test_the_problem_must_be_the_solvers():
    class Other(Problem):
        name = "Other"

    @dataclass(frozen=True)
    class ForOther(Replay):
        problem: ClassVar = Other
        name: ClassVar[str] = "forother"

    with pytest.raises(InputError, match="solver forother solves Other, not SimplexQP"):
        solve(problem(), ForOther())


# --- callbacks and the clock


def test_callbacks_are_off_the_clock():
    p = problem()
    solution = solve(
        p,
        Replay(points=(np.full(80, 1 / 80),)),
        stop=Iterations(10),
        callbacks=[lambda point: time.sleep(0.1)],
    )
    assert len(solution.history) >= 10
    assert solution.seconds < 0.5  # ten callbacks sleep for a second


def test_certificates_of_refused_gaps_are_on_the_clock_but_callbacks_see_every_point():
    seen = []
    solution = solve(problem(), make("swap"), callbacks=[seen.append])
    assert seen == list(solution.history)
    assert [point.seconds for point in seen] == sorted(point.seconds for point in seen)


def test_a_callback_that_returns_true_ends_the_solve():
    solution = solve(problem(), make("fw"), stop=Gap(1e-9), callbacks=[lambda p: p.n_iter >= 5, lambda p: None])
    assert solution.status is Status.INTERRUPTED
    assert solution.n_iter == 5
    assert problem().infeasible(solution.point) is None and solution.certificate.gap < 1


def test_a_callback_that_returns_something_else_does_not():
    solution = solve(problem(), make("swap"), callbacks=[lambda p: "yes", lambda p: 1])
    assert solution.status is Status.CONVERGED


def test_keyboard_interrupt_from_a_callback_returns_the_model():
    def quit_at(point):
        if point.n_iter == 4:
            raise KeyboardInterrupt

    p = problem()
    solution = solve(p, make("swap"), callbacks=[quit_at])
    assert solution.status is Status.INTERRUPTED and solution.n_iter == 4
    assert p.infeasible(solution.point) is None
    assert p.certificate(solution.point).gap == pytest.approx(solution.certificate.gap)


def test_an_error_in_a_callback_is_not_swallowed_and_handlers_come_back():
    def broken(point):
        raise RuntimeError("mine")

    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with pytest.raises(RuntimeError, match="mine"):
        solve(problem(), make("swap"), callbacks=[broken])
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    assert solve(problem(), make("swap")).status is Status.CONVERGED


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM], ids=lambda s: s.name)
def test_a_signal_returns_the_best_iterate(signum):
    def send(point):
        if point.n_iter == 6:
            os.kill(os.getpid(), signum)

    before = signal.getsignal(signum)
    solution = solve(problem(), make("fw"), stop=Gap(1e-12), callbacks=[send])
    assert solution.status is Status.INTERRUPTED
    assert 6 <= solution.n_iter <= 8
    assert signal.getsignal(signum) is before


def test_solving_works_outside_the_main_thread():
    found = []
    worker = threading.Thread(target=lambda: found.append(solve(problem(), make("swap"))))
    worker.start()
    worker.join()
    assert found[0].status is Status.CONVERGED


SCRIPT = """
import sys
sys.path.insert(0, {here!r})
from helpers import blobs, make, problem_of
from svmkit.loop import solve
from svmkit.stopping import Gap, Seconds
X, y = blobs(80, 3)
p = problem_of(X, y, 1000.0)
s = solve(p, make("fw"), stop=Gap(1e-12) | Seconds(60),
          callbacks=[lambda point: print("going", flush=True) if point.n_iter == 50 else None])
print(s.status, p.infeasible(s.point), 0 < s.certificate.gap < 1, s.n_iter >= 50, flush=True)
"""


def test_sigint_in_a_process_of_its_own(tmp_path):
    here = os.path.dirname(__file__)
    script = tmp_path / "run.py"
    script.write_text(SCRIPT.format(here=here))
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline().strip() == "going"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=50)
    finally:
        process.kill()
    assert process.returncode == 0, err
    assert out.strip() == "interrupted None True True"
    assert "Traceback" not in err


# --- seeds, history, schedule


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
    assert iterations[0] == 1 and iterations[-1] == solution.n_iter
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
    with clock.stopped():
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
    first = solve(p, make(name), stop=Iterations(45), saver=saver)
    assert [q.n_iter for q in saver.kept] == [10, 20, 30, 40, 45]
    last = saver.kept[-1]
    np.testing.assert_allclose(last.point, first.point, atol=1e-15)
    assert 0.0 < last.seconds <= first.seconds + 1e-3
    assert last.epochs > 0
    more = solve(problem(C=10.0), make(name), stop=Iterations(60), start=last)
    assert more.n_iter == 60
    assert more.history[0].n_iter == 46 and more.seconds >= last.seconds
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


@pytest.mark.parametrize("sampler", [None, Uniform(7)], ids=["full", "uniform"])
@every_solver
def test_a_checkpoint_file_goes_on_where_it_was(name, sampler, tmp_path):
    """Through the file: the same as through memory, bit for bit, random numbers included."""
    X, y = blobs(80, 3)
    p = problem_of(X, y, 10.0)
    bound = (X, (y > 0).astype(np.int64), p.C, p.gram.kernel)
    memory = Memory(10**9)
    solve(p, make(name), stop=Iterations(30), saver=memory, sampler=sampler)
    file = tmp_path / "run.ckpt"
    checkpoint = Checkpoint(file)
    checkpoint.bind(*bound)
    solve(p, make(name), stop=Iterations(30), saver=checkpoint.slot(0), sampler=sampler)
    back = Checkpoint(file, resume=True)
    back.bind(*bound)
    np.testing.assert_array_equal(back.progress(0).point, memory.kept[-1].point)
    assert back.progress(0).rng_state == memory.kept[-1].rng_state
    assert back.progress(1) is None
    a, b = (
        solve(problem_of(X, y, 10.0), make(name), stop=Iterations(70), start=start, sampler=sampler, seed=99)
        for start in (back.progress(0), memory.kept[-1])
    )
    assert a.n_iter == 70
    np.testing.assert_array_equal(a.point, b.point)


def test_a_checkpoint_refuses_other_data(tmp_path):
    X, y = blobs(40, 3)
    codes = (y > 0).astype(np.int64)
    weights = np.ones(40)
    p = problem_of(X, y)
    file = tmp_path / "run.ckpt"
    first = Checkpoint(file)
    first.bind(X, codes, weights, p.gram.kernel)
    first.put(0, Progress(np.full(40, 1 / 40), 5, 1.0, 0.5, None))
    same = Checkpoint(file, resume=True)
    same.bind(X.copy(), codes, weights, p.gram.kernel)
    assert same.progress(0).n_iter == 5 and same.progress(0).seconds == 0.5
    other = X.copy()
    other[3, 1] = np.nextafter(other[3, 1], 9)
    for changed in (
        (other, codes, weights, p.gram.kernel),
        (X, 1 - codes, weights, p.gram.kernel),
        (X, codes, 2 * weights, p.gram.kernel),
        (X, codes, weights, Linear()),
        (X[:-1], codes[:-1], weights[:-1], p.gram.kernel),
    ):
        with pytest.raises(InputError, match="belongs to other data"):
            Checkpoint(file, resume=True).bind(*changed)


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


def test_one_thread_and_all_reach_the_same():
    one, every = (solve(problem(), make("swap2o"), stop=Gap(1e-8), n_threads=n) for n in (1, None))
    assert one.certificate.dual == pytest.approx(every.certificate.dual, rel=1e-7)
