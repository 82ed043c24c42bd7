"""The loop with solvers that do not know their objective, leave points out, or take many iterations in a step."""

import math
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from support.problems import blobs
from support.solve import Replay, problem

from svmkit.kernels.functions import Linear
from svmkit.kernels.gram import Gram
from svmkit.problems.base import Problem
from svmkit.problems.risks.linear_risk import LinearRisk
from svmkit.solver import history
from svmkit.solver.base import Solver
from svmkit.solver.loop.solve import solve
from svmkit.solver.solution import Status
from svmkit.solver.step_info import StepInfo
from svmkit.solver.stopping import Epochs, Gap, Iterations, Seconds, Violation, parse_stop

NAN = float("nan")


def risk(m=60, **terms):
    X, y = blobs(m, 3)
    return LinearRisk(Gram(Linear(), X), y, 1.0, **terms)


@dataclass(frozen=True)
class Blind(Solver):
    """Goes from point to point, `part` of an epoch a step, and knows nothing of them."""

    points: tuple = ()
    part: float = 1.0

    name: ClassVar[str] = "blind"
    problem: ClassVar[type[Problem]] = LinearRisk

    def init(self, problem, start, draws):
        return {"k": -1}

    def step(self, state):
        state["k"] += 1
        return StepInfo(NAN, 3, self.part)

    def solution(self, state):
        return self.points[min(max(state["k"], 0), len(self.points) - 1)].copy()


def walk(*lengths):
    """Points on a line through a good w of `risk()`."""
    good = np.append(risk().design.pull(risk().y)[:3] / 60.0, 0.0)
    return tuple(length * good for length in lengths)


def test_history_has_what_the_certificate_says():
    points = walk(0.5, 1.0, 2.0)
    solution = solve(risk(), Blind(points), stop=Iterations(3))
    assert [p.objective for p in solution.history] == [risk().objective(point) for point in points]
    assert all(0.0 <= p.gap <= 1.0 for p in solution.history)
    assert not any(math.isnan(p.objective) for p in solution.history)


def test_the_best_iterate_is_returned():
    points = walk(1.0, 0.9, 30.0)
    solution = solve(risk(), Blind(points), stop=Iterations(3))
    values = [risk().objective(point) for point in points]
    assert values.index(min(values)) < 2
    np.testing.assert_array_equal(solution.point, points[values.index(min(values))])
    assert solution.certificate.primal == min(values) and solution.status is Status.MAX_ITER


def test_the_last_iterate_is_looked_at_too():
    points = walk(*[30.0] * 9, 1.0)
    solution = solve(risk(), Blind(points, part=0.05), stop=Iterations(10))
    np.testing.assert_array_equal(solution.point, points[-1])


def test_certified_about_once_an_epoch():
    seen = []
    p = risk()
    certificate = p.certificate
    p.certificate = lambda point: seen.append(1) or certificate(point)
    solution = solve(p, Blind(walk(30.0), part=0.1), stop=Epochs(6))
    assert solution.n_iter == 60 and 5 <= len(seen) <= 9


def test_ends_when_the_certificate_says_so():
    p = risk(loss="squared_hinge")
    good = solve_well(p)
    solution = solve(p, Blind((*walk(0.0, 9.0), good)), stop=Gap(1e-6) | Iterations(50))
    assert solution.status is Status.CONVERGED and solution.n_iter == 3
    assert solution.certificate.gap <= 1e-6
    np.testing.assert_array_equal(solution.point, good)


def solve_well(p):
    from sklearn.svm import LinearSVC

    X, y = blobs(60, 3)
    fitted = LinearSVC(C=1.0, loss="squared_hinge", tol=1e-12, max_iter=1_000_000).fit(X, y)
    return np.append(fitted.coef_[0], fitted.intercept_[0])


def test_a_callback_ends_it_with_the_best():
    points = walk(30.0, 1.0, 30.0)
    solution = solve(risk(), Blind(points), callbacks=[lambda point: point.n_iter == 3])
    assert solution.status is Status.INTERRUPTED
    np.testing.assert_array_equal(solution.point, points[1])


@dataclass(frozen=True)
class Interrupting(Blind):
    def step(self, state):
        if state["k"] == 1:
            raise KeyboardInterrupt
        return super().step(state)


def test_ctrl_c_between_two_looks():
    points = walk(30.0, 1.0)
    solution = solve(risk(), Interrupting(points, part=0.2))
    assert solution.status is Status.INTERRUPTED
    np.testing.assert_array_equal(solution.point, points[1])
    assert not any(math.isnan(p.objective) for p in solution.history)


# --- points left out, many iterations in a step, the optimality conditions


@dataclass(frozen=True)
class Shrinking(Replay):
    """Claims a small violation on the points that it kept; the truth shows once it looks at all of them."""

    asked: list = field(default_factory=list, compare=False)

    def init(self, problem, start, draws):
        return super().init(problem, start, draws) | {"shrunk": True}

    def step(self, state):
        violation = 1e-9 if state["shrunk"] or state["k"] >= 5 else 1.0
        return super().step(state)._replace(violation=violation, shrunk=state["shrunk"], steps=7)

    def reactivate(self, state):
        self.asked.append(state["k"])
        state["shrunk"] = False


def test_a_rule_has_to_hold_on_all_points():
    p = problem()
    solver = Shrinking((np.full(p.m, 1.0 / p.m),))
    solution = solve(p, solver, stop=Violation(1e-3) | Iterations(7000))
    assert solver.asked == [0] and solution.status is Status.CONVERGED
    assert solution.n_iter == 7 * 7


def test_iterations_are_counted_as_the_method_counts_them():
    p = problem()
    solver = Shrinking((np.full(p.m, 1.0 / p.m),))
    assert solve(p, solver, stop=Iterations(20)).n_iter == 21


def test_the_rule_is_spelt_kkt():
    assert parse_stop("kkt:1e-3") == Violation(1e-3)


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_lower_bounds_rise_and_stay_below(loss, penalty):
    """D of LinearRisk goes on from the certificates that it was told of, whatever points are asked for."""
    p = risk(loss=loss, penalty=penalty)
    found = []
    for point in walk(0.3, 3.0, 0.0, 1.0, -1.0, 1.0):
        found.append(p.certificate(point))
        p.raise_bound(found[-1])
    duals = [c.dual for c in found]
    assert duals == sorted(duals)
    assert duals[-1] <= min(c.primal for c in found)


def test_the_loop_raises_the_bound_from_look_to_look():
    p = risk(loss="squared_hinge")
    once = p.certificate(walk(0.3)[0])
    solution = solve(p, Blind(walk(0.3)), stop=Iterations(20))
    assert solution.certificate.primal == once.primal and solution.certificate.dual > 1.5 * once.dual
    assert p.certificate(solution.point) == solution.certificate  # and whoever asks again gets the same answer


@pytest.mark.parametrize(("limit", "looks"), [(10.0, 3), (0.4, 2)])
def test_certificates_count_towards_a_limit_in_seconds_but_for_half_a_second(monkeypatch, limit, looks):
    """Certificates of 5 s each, off the clock, after steps that take no time."""
    now, seen = [0.0], [0]
    monkeypatch.setattr(history, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    slow = risk()
    right = slow.certificate

    def certificate(point):
        now[0] += 5.0
        seen[0] += 1
        return right(point)

    monkeypatch.setattr(slow, "certificate", certificate)
    solution = solve(slow, Blind(walk(1.0)), stop=Seconds(limit) | Iterations(1000))
    assert solution.status is Status.TIME_LIMIT and solution.seconds == 0.0
    assert seen[0] <= looks + 1  # and one for the answer
