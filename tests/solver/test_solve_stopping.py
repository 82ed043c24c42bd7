"""The outer loop: stopping criteria and the status of a solve."""

import numpy as np
import pytest
from support.problems import SUBLINEAR, every_solver, make
from support.solve import Replay, problem

from svmkit import plugins
from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Linear
from svmkit.solver.loop.solve import solve
from svmkit.solver.solution import Status
from svmkit.solver.step_info import StepInfo
from svmkit.solver.stopping import (
    Absolute,
    Epochs,
    Gap,
    Iterations,
    Relative,
    Seconds,
    Stop,
    Support,
    Violation,
    parse_stop,
)
from svmkit.training.train import fit

pytestmark = pytest.mark.usefixtures("one_pool")

# --- criteria


def info(**kwargs):
    return StepInfo(**{"objective": 1.0, "n_support": 5, "epochs": 0.5} | kwargs)


@pytest.mark.parametrize(
    ("rule", "below", "at"),
    [
        (Gap(1e-3), {"info": info(gap=1.1e-3)}, {"info": info(gap=1e-3)}),
        (Absolute(1e-3), {"info": info(gap_abs=1.1e-3)}, {"info": info(gap_abs=1e-3)}),
        (Relative(1e-3), {"info": info(gap_abs=2.1e-3, objective=-2.0)}, {"info": info(gap_abs=2e-3, objective=-2.0)}),
        (Violation(1e-3), {"info": info(violation=1.1e-3)}, {"info": info(violation=1e-3)}),
        (Iterations(10), {"n_iter": 9}, {"n_iter": 10}),
        (Epochs(2), {"epochs": 1.9}, {"epochs": 2.0}),
        (Epochs(2), {"epochs": 2.0 - 3e-9}, {"epochs": 2.0 - 1.8e-9}),  # m times 1 / m sum to nearly 1
        (Seconds(1.5), {"seconds": 1.4}, {"seconds": 1.5}),
        (Support(5), {"info": info(n_support=5)}, {"info": info(n_support=6)}),
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
        ("rel:1e-3", Relative(1e-3)),
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


@pytest.mark.parametrize("n", [2, 8])
@pytest.mark.parametrize("name", plugins.solvers_where(lambda kind: not kind.external))
@pytest.mark.slow
def test_a_handful_of_samples_and_a_budget_of_iterations_alone(name, n):
    """At the exact optimum no step is taken any more: the solve must end all the same, whatever room there is."""
    rng = np.random.default_rng(n)
    X, y = rng.normal(size=(n, 3)), np.where(np.arange(n) % 2, 1, -1)
    solver = plugins.build("solver", name)
    for kernel in (RBF(0.5), Linear()):
        if all(need.holds(kernel) for need in solver.requires):
            for memory in ("1GB", 1):
                rules = Iterations(2000) | Seconds(120)
                done = fit(X, y, solver=solver, kernel=kernel, C=32.0, stop=rules, memory=memory)
                assert done.status is not Status.TIME_LIMIT and done.objective < 32.0 * n
