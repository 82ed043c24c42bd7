"""The outer loop: solvers that are not monotone or know no gap, certificates, requirements."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from support.problems import blobs, make, problem_of
from support.solve import Replay, problem

from svmkit.errors import InputError
from svmkit.kernels.functions import Linear, Poly
from svmkit.problems.base import Problem
from svmkit.solver.loop.solve import solve
from svmkit.solver.requirements import Requires
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Absolute, Epochs, Gap, Iterations, Seconds

pytestmark = pytest.mark.usefixtures("one_pool")


def path(p, n=6):
    """n feasible points on the way from bad to the optimum, the last one best."""
    best = solve(p, make("swap2o"), stop=Gap(1e-8)).point
    corner = np.eye(p.m)[0]
    return [(1 - t) * corner + t * best for t in np.linspace(0.5, 1.0, n)]


# --- solvers that are not monotone, or know no gap


def test_best_iterate_of_a_solver_that_is_not_monotone():
    p = problem()
    good, better, worse = (path(p)[k] for k in (2, 4, 0))
    points = (good, better, worse, worse, worse)
    solution = solve(p, Replay(points=points), stop=Gap(1e-6) | Iterations(5))
    np.testing.assert_array_equal(solution.point, better)
    assert solution.certificate.dual == pytest.approx(0.5 / p.objective(better), rel=1e-10)  # lowered by its rounding
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
    from svmkit.solver.sampler import Draws, Full

    return Draws(Full(), p.y, np.random.default_rng(seed))


def test_a_solver_without_an_estimate_runs_to_its_budget():
    p = problem()
    solution = solve(p, Replay(points=tuple(path(p))), stop=Gap(1e-3) | Iterations(20))
    assert solution.n_iter == 20
    assert {point.gap for point in solution.history} == {None}
    assert solution.status is Status.CONVERGED  # its last point is optimal, and the certificate says so


# --- what a gap has to go through


def test_a_sampled_gap_must_hold_three_times_and_over_enough_points():
    p = problem()
    best = solve(p, make("swap2o"), stop=Gap(1e-8)).point
    for rule in (Gap(1e-3), Absolute(1e-3)):
        claims = {"gap": 1e-9, "gap_abs": 1e-9}
        for looked, looks in ((1.0, 3), (0.25, 4), (1 / 80, 80)):  # of the points, in a step
            replay = Replay(points=(best,), sampled=True, looked=looked, **claims)
            assert solve(p, replay, stop=rule).n_iter == looks
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
