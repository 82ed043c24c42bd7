"""dcd as a solver: what it reports, points left out and taken back, thresholds, orders, rules and budgets."""

import itertools

import numpy as np
import pytest
from sklearn.svm import LinearSVC
from support.liblinear import every_loss
from support.problems import blobs, dual_of_blobs, make
from svmkit_coordinate.passes import passes, shuffle

from svmkit.errors import InputError
from svmkit.kernels.functions import Linear
from svmkit.problems.risks.coordinate_descent import coordinate_pass
from svmkit.solver.loop.solve import solve
from svmkit.solver.sampler import Draws, Full, Shuffled
from svmkit.solver.selection import by_name
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations, Violation
from svmkit.training.train import fit

pytestmark = pytest.mark.usefixtures("one_pool")

every_sampler = pytest.mark.parametrize("sampler", ["shuffled", "full", "uniform:9", "permuted:50"])


def steps(solver, problem, sampler=None, start=None, seed=0):
    """(state, infos without end)."""
    draws = Draws(sampler or Shuffled(), problem.y, np.random.default_rng(seed))
    state = solver.init(problem, start, draws)
    return state, (solver.step(state) for _ in itertools.count())


@every_sampler
@every_loss
def test_what_a_step_reports(loss, sampler):
    problem = dual_of_blobs(C=3.0, loss=loss)
    state, infos = steps(make("dcd", loss=loss), problem, by_name.sampler(sampler))
    before, passes = 0.0, 0
    for info in itertools.islice(infos, 60):
        beta = make("dcd").solution(state)
        assert problem.infeasible(beta) is None
        assert info.objective == pytest.approx(problem.objective(beta), rel=1e-9)
        assert info.objective <= before
        assert info.n_support == np.count_nonzero(beta)
        assert 0.0 < info.epochs <= info.steps and info.steps >= 1
        assert info.shrunk is False or info.epochs < info.steps
        assert info.sampled == (sampler not in ("shuffled", "full"))
        assert info.gap >= 0.0 and info.gap_abs >= 0.0 and info.violation >= 0.0
        before, passes = info.objective, passes + info.steps
    assert passes >= 60


@every_loss
def test_estimate_of_a_pass_over_all_points_is_near_the_certified_gap(loss):
    """Each point's part is taken as it is met, the certificate is of the end: they agree within a factor, both ways."""
    problem = dual_of_blobs(400, loss=loss)
    state, infos = steps(make("dcd", loss=loss, shrinking=False), problem)
    for info in itertools.islice(infos, 2, 40):
        gap = problem.certificate(state.beta).gap
        assert 0.2 * gap <= info.gap <= 20.0 * gap


@every_loss
def test_estimates_from_samples_stand_for_all_points(loss):
    problem = dual_of_blobs(400, loss=loss)
    state, infos = steps(make("dcd", loss=loss), problem, by_name.sampler("uniform:40"))
    infos = list(itertools.islice(infos, 30))
    mean = np.mean([info.gap_abs for info in infos[-10:]])
    certificate = problem.certificate(state.beta)
    assert 0.2 <= mean / (certificate.primal - certificate.dual) <= 5.0


@every_loss
def test_points_are_left_out_and_taken_back(loss):
    problem = dual_of_blobs(300, loss=loss, shift=1.5)
    solver = make("dcd", loss=loss)
    state, infos = steps(solver, problem)
    info = next(info for info in itertools.islice(infos, 40) if info.epochs < 0.6 * info.steps)
    assert info.shrunk and state.n < 0.6 * problem.m
    solver.reactivate(state)
    info = next(infos)
    assert info.epochs == 1.0 and not info.shrunk


@pytest.mark.parametrize("stop", [Gap(1e-6) | Iterations(50_000), Iterations(20_000)], ids=["gap", "budget alone"])
def test_points_that_were_left_out_too_early_are_found_again(stop):
    """From a start that is far off, points that looked settled have to move, whatever would end the solve."""
    problem = dual_of_blobs(300, shift=1.0)
    start = np.where(np.random.default_rng(0).random(300) < 0.5, problem.terms.upper + problem.terms.lower, 0.0)
    solution = solve(problem, make("dcd"), start=start, stop=stop)
    best = solve(problem, make("dcd", shrinking=False), stop=Gap(1e-8) | Iterations(50_000))
    assert solution.certificate.gap <= 1e-6
    assert solution.certificate.dual == pytest.approx(best.certificate.dual, rel=1e-6)


@pytest.mark.parametrize("few", [0, 1, 10])
def test_when_those_that_take_part_have_nothing_to_gain_all_take_part(few):
    problem = dual_of_blobs(200)
    state, infos = steps(make("dcd"), problem)
    next(infos)
    state.order, state.n = np.arange(few), few
    assert any(info.epochs == info.steps == 1 for info in itertools.islice(infos, 1, 3000))
    for _ in itertools.islice(infos, 2000):
        pass
    assert problem.certificate(state.beta).gap <= 1e-6


@every_loss
def test_thresholds_are_the_extremes_of_the_last_pass(loss):
    problem = dual_of_blobs(200, loss=loss, shift=1.0)
    d, m = problem.design, problem.m
    beta, v, order, thresholds = np.zeros(m), np.zeros(d.width), np.arange(m), np.array([np.inf, -np.inf])
    n = m
    for _ in range(30):
        high, low = thresholds
        copies = order.copy(), beta.copy(), v.copy()
        one = coordinate_pass(d.rows, d.bias, problem.points.rows, copies[0], n, *copies[1:], high, low)
        done, *_ = passes(d.rows, d.bias, problem.points.rows, order, n, beta, v, thresholds, True, np.uint64(0), 0, 1)
        assert done == one
        assert thresholds[0] == (one.top if one.top > 0.0 else np.inf)
        assert thresholds[1] == (one.low if one.low < 0.0 else -np.inf)
        np.testing.assert_array_equal(beta, copies[1])
        n = one.n
    assert n < m


def test_every_order_is_as_likely_as_any_other():
    """Of four points: each of 24 orders about as often, and never a point twice."""
    order, seed, counts = np.arange(4), np.uint64(1), {}
    for _ in range(12_000):
        seed = np.uint64(shuffle(order, 4, seed))
        counts[tuple(order.tolist())] = counts.get(tuple(order.tolist()), 0) + 1
    assert len(counts) == 24 and all(sorted(key) == [0, 1, 2, 3] for key in counts)
    assert min(counts.values()) > 380 and max(counts.values()) < 620  # 500 each, standard deviation 22


@every_loss
def test_without_shrinking_every_pass_looks_at_every_point(loss):
    _, infos = steps(make("dcd", loss=loss, shrinking=False), dual_of_blobs(loss=loss))
    assert all(info.epochs == 1.0 == info.steps and not info.shrunk for info in itertools.islice(infos, 50))


@every_loss
@pytest.mark.parametrize("eps", [1.0, 0.1, 1e-3])
def test_violation_is_liblinears_eps(eps, loss):
    """It ends there like LIBLINEAR: with no projected gradient far outside eps, for all points at the final weights."""
    problem = dual_of_blobs(300, C=0.5, loss=loss)
    solution = solve(problem, make("dcd", loss=loss), stop=Violation(eps))
    assert solution.status is Status.CONVERGED
    beta, slope = problem.y * solution.point, problem.y * solution.certificate.gradient
    most = problem.terms.upper - problem.terms.lower
    inside = np.where(
        beta == 0.0,
        np.minimum(slope, 0.0),
        np.where(beta == most, np.maximum(slope, 0.0), slope),
    )
    assert np.ptp(np.append(inside, 0.0)) <= 3.0 * eps  # the others have moved since a point was looked at
    fitted = LinearSVC(C=0.5, loss=loss, dual=True, tol=eps, random_state=0).fit(problem.gram.engine.X, problem.y)
    assert solution.n_iter <= 3 * fitted.n_iter_ + 10


def test_an_iteration_budget_is_kept_to_within_a_sixteenth():
    problem = dual_of_blobs(3000, C=100.0, shift=2.0)  # few points take part after some passes
    for budget in (1, 10, 40, 100):
        solution = solve(problem, make("dcd"), stop=Iterations(budget))
        assert budget <= solution.n_iter <= budget * 17 / 16 + 1


def test_small_passes_are_done_together_and_counted():
    state, infos = steps(make("dcd"), dual_of_blobs(3000, C=5.0, shift=1.2))
    many = [info for info in itertools.islice(infos, 400) if info.steps > 1]
    assert many and all(info.epochs <= 8192 / 3000 and info.shrunk for info in many)
    assert state.count > 400


def test_nothing_left_to_gain_ends_the_solve():
    """Far below what float64 can tell: it ends by itself, with the best there is."""
    problem = dual_of_blobs(60, C=0.5)
    solution = solve(problem, make("dcd"), stop=Gap(1e-30) | Iterations(1_000_000))
    assert solution.status in (Status.STALLED, Status.CONVERGED) and solution.n_iter < 100_000
    assert solution.certificate.gap <= 1e-9


@every_sampler
def test_same_seed_same_result(sampler):
    runs = [
        solve(dual_of_blobs(200), make("dcd"), stop=Iterations(80), seed=seed, sampler=by_name.sampler(sampler)).point
        for seed in (3, 3, 4)
    ]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert sampler == "full" or not np.array_equal(runs[0], runs[2])


def test_full_goes_through_the_data_in_their_order():
    problem = dual_of_blobs(50)
    state, infos = steps(make("dcd"), problem, Full())
    next(infos)
    beta, v, X = np.zeros(50), np.zeros(4), np.append(problem.gram.engine.X, np.ones((50, 1)), axis=1)
    for x, y, i in zip(X, problem.y, range(50), strict=True):
        beta[i] = np.clip((1.0 - y * (x @ v)) / (x @ x), 0.0, 1.0)
        v += beta[i] * y * x
    np.testing.assert_allclose(state.beta, problem.y * beta, atol=1e-12)


def test_a_shuffled_pass_has_an_order_of_its_own():
    problem, firsts = dual_of_blobs(200, C=1e6), []
    for seed in range(2):
        state, infos = steps(make("dcd"), problem, seed=seed)
        next(infos)
        firsts.append(state.beta.copy())
        np.testing.assert_allclose(state.v, problem.weights(state.beta), atol=1e-9)
    assert not np.allclose(*firsts)


@pytest.mark.parametrize("option", [{"loss": "log"}, {"bias": -1.0}, {"bias": float("nan")}])
def test_options_out_of_range(option):
    X, y = blobs(20)
    with pytest.raises(InputError, match=next(iter(option))):
        fit(X, y, solver=make("dcd", **option), kernel=Linear())
