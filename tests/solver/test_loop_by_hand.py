"""The outer loop, step by step, with a made-up solver and a made-up clock."""

import math
import signal
from dataclasses import dataclass
from itertools import pairwise
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from support.solve import problem

from svmkit.errors import InputError, SvmkitWarning
from svmkit.solver.base import Solver
from svmkit.solver.loop.iterate import Progress
from svmkit.solver.loop.recorder import Journal
from svmkit.solver.loop.solve import OVERTIME, solve
from svmkit.solver.requirements import Requires
from svmkit.solver.sampler import Uniform
from svmkit.solver.solution import Status
from svmkit.solver.step_info import StepInfo
from svmkit.solver.stopping import Absolute, Epochs, Gap, Iterations, Seconds, Stop, Support

M = 80
UNIFORM, CORNER = np.full(M, 1 / M), np.eye(M)[0]


@dataclass(frozen=True)
class Tape(Solver):
    """Reports what is on the tape, the last entry for ever; it records what the loop gives it."""

    tape: tuple = ({},)
    seen: object = None
    act: object = None
    name: ClassVar[str] = "tape"

    def patience(self, m):
        return 7

    def init(self, problem, start, draws):
        self.seen.draws, self.seen.start, self.seen.random = draws, start, draws.rng.random()
        self.seen.problem = problem
        return {"k": -1}

    def step(self, state):
        state["k"] += 1
        if self.act is not None:
            self.act(state["k"])
        point, facts = self.solution(state), dict(self.tape[min(state["k"], len(self.tape) - 1)])
        facts.pop("point", None)
        objective = facts.pop("objective", self.seen.problem.objective(point))
        return StepInfo(**{"objective": objective, "n_support": 5, "epochs": 0.25} | facts)

    def solution(self, state):
        return self.tape[min(max(state["k"], 0), len(self.tape) - 1)].get("point", UNIFORM).copy()


def tape(*entries, act=None):
    return Tape(tape=entries or ({},), seen=SimpleNamespace(), act=act)


@pytest.fixture
def seconds(monkeypatch):
    """seconds[0] is the time."""
    now = [0.0]
    monkeypatch.setattr("svmkit.solver.history.time", SimpleNamespace(perf_counter=lambda: now[0]))
    return now


def ticking(now, by=1.0):
    def act(k):
        now[0] += by

    return act


# --- what is given


def test_the_seed_is_0_by_default():
    found = [
        (s := tape(), solve(problem(), s, stop=Iterations(1), **seed))[0] for seed in ({}, {"seed": 0}, {"seed": 1})
    ]
    first, zero, one = (solver.seen.random for solver in found)
    assert first == zero != one


def test_the_sampler_is_the_solvers_own_by_default():
    solve(problem(), own := tape(), stop=Iterations(1))
    with pytest.warns(SvmkitWarning, match="looks at all points: the sampler uniform:3 has no effect"):
        solve(problem(), given := tape(), stop=Iterations(1), sampler=Uniform(3))  # it draws nothing itself
    assert (len(own.seen.draws()), len(given.seen.draws())) == (M, 3)


def test_requirements_are_checked():
    class Picky(Tape):
        requires = (Requires.LINEAR_KERNEL,)

    with pytest.raises(InputError, match="needs the linear kernel"):
        solve(problem(), Picky(seen=SimpleNamespace()))


def test_a_start_is_a_point_or_the_progress_of_an_earlier_solve(seconds):
    solve(problem(), none := tape(), stop=Iterations(3))
    found = solve(problem(), point := tape(), stop=Iterations(3), start=CORNER)
    assert none.seen.start is None and point.seen.start is CORNER and found.n_iter == 3
    earlier = Progress(CORNER, n_iter=2, epochs=7.0, seconds=40.0)
    found = solve(problem(), progress := tape(act=ticking(seconds)), stop=Iterations(3), start=earlier)
    assert progress.seen.start is CORNER and (found.n_iter, found.seconds) == (3, 41.0)
    assert solve(problem(), tape(act=ticking(seconds)), stop=Iterations(3)).seconds == 3.0


# --- rules


def test_without_a_budget_patience_is_one():
    """A gap, or another rule that may never hold; a budget of seconds, iterations or epochs is one."""
    for rules in (None, Gap(1e-6), Gap(1e-6) | Support(50), Absolute(1e-9)):
        found = solve(problem(), tape(), stop=rules)
        assert found.n_iter == 7 and found.status is Status.MAX_ITER
    for rules, n_iter in ((Iterations(9), 9), (Epochs(3), 12), (Gap(1e-6) | Iterations(9), 9)):
        assert solve(problem(), tape(), stop=rules).n_iter == n_iter
    fuse = [lambda point: point.n_iter >= 20]
    found = solve(problem(), tape(), stop=Gap(1e-6) | Seconds(1e9), callbacks=fuse)
    assert found.n_iter == 20 and found.status is Status.INTERRUPTED


def test_the_rule_is_a_gap_of_a_thousandth_by_default():
    gap = problem().certificate(UNIFORM).gap
    for claim, ends in ((1e-3, True), (1.1e-3, False)):
        asked = []
        p = problem()
        certificate = p.certificate
        p.certificate = lambda point: asked.append(1) or certificate(point)  # noqa: B023
        solve(p, tape({"gap": claim}))
        assert len(asked) == (2 if ends else 1)  # when the claim is looked at, and at the end
    assert gap > 1e-3


def test_a_certificate_of_the_asked_gap_is_convergence_whatever_ended_the_solve(seconds):
    p = problem()
    gap = p.certificate(UNIFORM).gap
    for budget in (Iterations(3), Seconds(3.0)):
        solver = tape(act=ticking(seconds))
        assert solve(p, solver, stop=Gap(1.01 * gap) | budget).status is Status.CONVERGED
        assert solve(p, solver, stop=Gap(0.99 * gap) | budget).status is budget.status
        assert solve(p, solver, stop=budget).status is budget.status


def test_an_interrupted_solve_is_no_convergence():
    p = problem()
    rules = Gap(1.01 * p.certificate(UNIFORM).gap)
    assert solve(p, tape(), stop=rules, callbacks=[lambda point: True]).status is Status.INTERRUPTED


# --- time


def test_time_is_that_of_the_steps(seconds):
    found = solve(problem(), tape(act=ticking(seconds)), stop=Seconds(5.0))
    assert (found.status, found.n_iter, found.seconds) == (Status.TIME_LIMIT, 5, 5.0)
    found = solve(problem(), tape(act=ticking(seconds)), stop=Seconds(5.0) | Seconds(3.0))
    assert found.n_iter == 3


def slowly_certified(seconds, cost):
    p = problem()
    certificate = p.certificate

    def slow(point):
        seconds[0] += cost
        return certificate(point)

    p.certificate = slow
    return p


def test_measuring_is_off_the_clock_and_within_bounds_of_a_limit(seconds):
    """A solver that does not know its objective is measured at once; the measure may last OVERTIME times a second."""
    unknown = {"objective": math.nan}
    assert OVERTIME > 0.0
    found = solve(slowly_certified(seconds, 100.0), tape(unknown, act=ticking(seconds)), stop=Iterations(3))
    assert (found.n_iter, found.seconds) == (3, 3.0)
    for limit, cost, n_iter in (
        (50.0, 0.99 * OVERTIME, 50),
        (50.0, 100.0, 1),
        (50.0, OVERTIME + 48.9, 2),
        (50.0, OVERTIME + 49.1, 1),
    ):
        p = slowly_certified(seconds, cost)
        found = solve(p, tape(unknown, {"objective": 1.0}, act=ticking(seconds)), stop=Seconds(limit))
        assert (found.status, found.n_iter, found.seconds) == (Status.TIME_LIMIT, n_iter, float(n_iter))
    p = slowly_certified(seconds, 0.5 * OVERTIME)  # half a second may take half of it
    found = solve(p, tape(unknown, {"objective": 1.0}, act=ticking(seconds, 0.125)), stop=Seconds(0.5))
    assert found.n_iter == 4
    p = slowly_certified(seconds, 0.5 * OVERTIME + 0.3)
    found = solve(p, tape(unknown, {"objective": 1.0}, act=ticking(seconds, 0.125)), stop=Seconds(0.5))
    assert found.n_iter == 2


def test_a_solver_may_ask_whether_it_is_over(seconds):
    answers = []

    def ask(rules, by=1.0):
        def act(k):
            seconds[0] += by
            answers.append(solver.seen.draws.over())

        answers.clear()
        solver = tape(act=act)
        solve(problem(), solver, stop=rules)
        return answers

    assert ask(Iterations(3)) == [False] * 3 and ask(Gap(1e-9) | Iterations(2)) == [False] * 2
    assert ask(Seconds(3.0)) == [False, False, True] and ask(Seconds(9.0) | Seconds(2.0)) == [False, True]


def test_a_signal_ends_the_solve_and_what_asks_is_told():
    told = []

    def act(k):
        if k == 2:
            signal.raise_signal(signal.SIGINT)
        told.append(solver.seen.draws.over())

    solver = tape(act=act)
    found = solve(problem(), solver, stop=Iterations(9))
    assert told == [False, False, True] and (found.status, found.n_iter) == (Status.INTERRUPTED, 3)
    p = problem()
    rules = Gap(1.01 * p.certificate(UNIFORM).gap) | Seconds(1e9)
    twice = tape(act=lambda k: [signal.raise_signal(signal.SIGINT) for _ in range(2)])
    found = solve(p, twice, stop=rules)
    assert (found.status, found.n_iter) == (Status.INTERRUPTED, 0)
    np.testing.assert_array_equal(found.point, UNIFORM)


# --- the history and the answer


def test_every_early_step_is_in_the_history():
    found = solve(problem(), tape(), stop=Iterations(5))
    assert [point.n_iter for point in found.history] == [1, 2, 3, 4, 5]


def test_the_progress_is_saved_at_the_end():
    saved = []
    saver = SimpleNamespace(due=lambda seconds: False, save=saved.append)
    solve(problem(), tape({"point": CORNER}), stop=Iterations(4), journal=Journal(saver))
    assert [progress.n_iter for progress in saved] == [4]
    np.testing.assert_array_equal(saved[0].point, CORNER)


def test_the_score_is_that_of_the_answer():
    found = solve(
        problem(),
        tape({"point": UNIFORM}, {"point": CORNER}),
        stop=Iterations(2),
        journal=Journal(score=lambda point, certificate: float(point[0])),
    )
    np.testing.assert_array_equal(found.point, UNIFORM)
    assert found.history[-1].accuracy == UNIFORM[0]


def test_looks_at_a_solver_that_does_not_know_its_objective():
    """At once, then after a pass, later after an eighth of the passes so far."""
    p, asked = problem(), []
    certificate = p.certificate
    p.certificate = lambda point: asked.append(found_so_far[0]) or certificate(point)
    found_so_far = [0]

    def act(k):
        found_so_far[0] = k + 1

    solve(p, tape({"objective": math.nan}, act=act), stop=Iterations(80))
    assert asked[:8] == [1, 5, 9, 13, 17, 21, 25, 29]  # quarters of a pass
    later = [b - a for a, b in pairwise(asked) if a >= 40 and b < 80]
    assert later and all(5 <= step <= 10 for step in later)


def test_the_last_iterate_of_such_a_solver_is_measured():
    unknown = {"objective": math.nan}
    found = solve(problem(), tape(*[unknown | {"point": CORNER}] * 3, unknown), stop=Iterations(4))
    np.testing.assert_array_equal(found.point, UNIFORM)  # the better one, seen after the last look only
    assert found.history[-1].n_iter == 4 and found.history[-1].objective == pytest.approx(found.certificate.primal)


def test_the_last_iterate_before_a_signal_is_measured():
    unknown = {"objective": math.nan}
    act = lambda k: signal.raise_signal(signal.SIGINT) if k == 2 else None
    found = solve(problem(), tape(*[unknown | {"point": CORNER}] * 2, unknown, act=act), stop=Iterations(9))
    assert (found.status, found.n_iter) == (Status.INTERRUPTED, 3)
    np.testing.assert_array_equal(found.point, UNIFORM)
    assert found.history[-1].n_iter == 3 and found.history[-1].objective == pytest.approx(found.certificate.primal)


def test_rules_are_a_stop_whatever_was_given():
    assert solve(problem(), tape(), stop=Stop((Iterations(2),))).n_iter == 2
