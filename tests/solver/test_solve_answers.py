"""Which iterate a solve returns, and whose certificate comes with it."""

from dataclasses import dataclass

import numpy as np
import pytest
from support.problems import make
from support.solve import Replay, problem

from svmkit.solver import Gap, Iterations, Status, solve

UNIFORM = np.full(80, 1 / 80)


@pytest.fixture
def optimum():
    return solve(problem(), make("swap2o"), stop=Gap(1e-8)).point


@dataclass(frozen=True)
class Forgetful(Replay):
    """Does not know the objective of its first iterate; claims a gap of 0 of all others."""

    def step(self, state):
        info = super().step(state)
        return info._replace(objective=float("nan")) if state["k"] == 0 else info._replace(gap=0.0)


def test_the_certificate_of_an_older_iterate_confirms_no_gap():
    """Measured at the first iterate, it says nothing of the second, whose own certificate refuses the claim."""
    p = problem()
    solution = solve(p, Forgetful(points=(UNIFORM, np.eye(80)[0])), stop=Gap(1e-3) | Iterations(50))
    assert solution.status is Status.MAX_ITER and solution.n_iter == 50
    assert solution.certificate == p.certificate(solution.point)


def test_a_gap_that_is_claimed_after_a_look_is_certified_anew(optimum):
    p = problem()
    solution = solve(p, Forgetful(points=(UNIFORM, optimum)), stop=Gap(1e-3) | Iterations(50))
    assert solution.status is Status.CONVERGED and solution.n_iter == 2
    np.testing.assert_array_equal(solution.point, optimum)
    assert solution.certificate == p.certificate(optimum) and solution.certificate.gap <= 1e-3


def test_a_stalled_solve_returns_its_best_iterate():
    p = problem()
    worse = np.eye(80)[0]
    assert p.objective(UNIFORM) < p.objective(worse)
    solution = solve(p, Replay(points=(worse, UNIFORM, worse), moved=False), stop=Gap(1e-6))
    assert solution.status is Status.STALLED
    np.testing.assert_array_equal(solution.point, UNIFORM)
    assert solution.certificate == p.certificate(UNIFORM)


def test_a_stall_whose_best_iterate_is_optimal_is_convergence(optimum):
    p = problem()
    solution = solve(p, Replay(points=(optimum, UNIFORM), moved=False), stop=Gap(1e-3))
    assert solution.status is Status.CONVERGED and solution.certificate.gap <= 1e-3
    np.testing.assert_array_equal(solution.point, optimum)


def test_a_stall_at_the_best_iterate_costs_no_further_certificate():
    p = problem()
    asked = []
    certificate = p.certificate
    p.certificate = lambda point: asked.append(1) or certificate(point)
    solution = solve(p, Replay(points=(UNIFORM,), moved=False), stop=Gap(1e-6))
    assert solution.status is Status.STALLED and len(asked) == 4  # three that the solver went on from, and the last
