"""dcd as a solver: what it reports, points left out and taken back, budgets, starts, paths, several classes."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import blobs, make
from sklearn.datasets import load_wine
from sklearn.svm import LinearSVC

from svmkit import plugins
from svmkit.errors import InputError
from svmkit.gram import Gram
from svmkit.kernels import Linear
from svmkit.loop import solve
from svmkit.loss import Loss
from svmkit.model import SVMModel, pairs
from svmkit.path import c_path
from svmkit.risk import LinearDual
from svmkit.sampler import Draws, Full, Shuffled
from svmkit.solver import Status
from svmkit.stopping import Gap, Iterations, Violation
from svmkit.training import fit

pytestmark = pytest.mark.usefixtures("one_pool")

every_loss = pytest.mark.parametrize("loss", [*Loss], ids=str)
every_sampler = pytest.mark.parametrize("sampler", ["shuffled", "full", "uniform:9", "permuted:50"])


def dual(m=120, C=1.0, loss="hinge", seed=0, **data) -> LinearDual:
    X, y = blobs(m, 3, seed=seed, **data)
    return LinearDual(Gram(Linear(), X), y, C, loss=loss)


def steps(solver, problem, sampler=None, start=None, seed=0):
    """(state, infos without end)."""
    draws = Draws(sampler or Shuffled(), problem.y, np.random.default_rng(seed))
    state = solver.init(problem, start, draws)
    return state, (solver.step(state) for _ in itertools.count())


@every_sampler
@every_loss
def test_what_a_step_reports(loss, sampler):
    problem = dual(C=3.0, loss=loss)
    state, infos = steps(make("dcd", loss=loss), problem, plugins.sampler(sampler))
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
    problem = dual(400, loss=loss)
    state, infos = steps(make("dcd", loss=loss, shrinking=False), problem)
    for info in itertools.islice(infos, 2, 40):
        gap = problem.certificate(state.beta).gap
        assert 0.2 * gap <= info.gap <= 20.0 * gap


@every_loss
def test_points_are_left_out_and_taken_back(loss):
    problem = dual(300, loss=loss, apart=1.5)
    solver = make("dcd", loss=loss)
    state, infos = steps(solver, problem)
    info = next(info for info in itertools.islice(infos, 40) if info.epochs < 0.6 * info.steps)
    assert info.shrunk and state.n < 0.6 * problem.m
    solver.reactivate(state)
    info = next(infos)
    assert info.epochs == 1.0 and not info.shrunk


def test_points_that_were_left_out_too_early_are_found_again():
    """A start that is optimal for other labels: many points that looked settled have to move."""
    problem, other = dual(300, apart=1.0), dual(300, apart=1.0, seed=1)
    solver = make("dcd")
    start = np.where(np.random.default_rng(0).random(300) < 0.5, other.upper, 0.0)
    solution = solve(problem, solver, start=start, stop=Gap(1e-6) | Iterations(50_000))
    assert solution.status is Status.CONVERGED
    best = solve(problem, make("dcd", shrinking=False), stop=Gap(1e-6) | Iterations(50_000))
    assert solution.certificate.dual == pytest.approx(best.certificate.dual, rel=1e-6)


@every_loss
def test_without_shrinking_every_pass_looks_at_every_point(loss):
    _, infos = steps(make("dcd", loss=loss, shrinking=False), dual(loss=loss))
    assert all(info.epochs == 1.0 == info.steps and not info.shrunk for info in itertools.islice(infos, 50))


@every_loss
@pytest.mark.parametrize("eps", [1.0, 0.1, 1e-3])
def test_violation_is_liblinears_eps(eps, loss):
    """It ends there like LIBLINEAR: with no projected gradient far outside eps, for all points at the final weights."""
    problem = dual(300, C=0.5, loss=loss)
    solution = solve(problem, make("dcd", loss=loss), stop=Violation(eps))
    assert solution.status is Status.CONVERGED
    beta, slope = solution.point, solution.certificate.gradient
    inside = np.where(
        beta == 0.0, np.minimum(slope, 0.0), np.where(beta == problem.upper, np.maximum(slope, 0.0), slope)
    )
    assert np.ptp(np.append(inside, 0.0)) <= 3.0 * eps  # the others have moved since a point was looked at
    fitted = LinearSVC(C=0.5, loss=loss, dual=True, tol=eps, random_state=0).fit(problem.gram.engine.X, problem.y)
    assert solution.n_iter <= 3 * fitted.n_iter_ + 10


def test_an_iteration_budget_is_kept_to_within_a_sixteenth():
    problem = dual(2000, C=20.0, apart=1.0)
    for budget in (1, 10, 100, 1000):
        solution = solve(problem, make("dcd"), stop=Iterations(budget))
        assert budget <= solution.n_iter <= budget * 17 / 16 + 1


def test_small_passes_are_done_together_and_counted():
    state, infos = steps(make("dcd"), dual(3000, C=5.0, apart=1.2))
    many = [info for info in itertools.islice(infos, 400) if info.steps > 1]
    assert many and all(info.epochs <= 0.25 and info.shrunk for info in many)
    assert state.count > 400


def test_nothing_left_to_gain_ends_the_solve():
    """Far below what float64 can tell: it ends by itself, with the best there is."""
    problem = dual(60, C=0.5)
    solution = solve(problem, make("dcd"), stop=Gap(1e-30) | Iterations(1_000_000))
    assert solution.status in (Status.STALLED, Status.CONVERGED) and solution.n_iter < 100_000
    assert solution.certificate.gap <= 1e-9


@every_sampler
def test_same_seed_same_result(sampler):
    runs = [
        solve(dual(200), make("dcd"), stop=Iterations(80), seed=seed, sampler=plugins.sampler(sampler)).point
        for seed in (3, 3, 4)
    ]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert sampler == "full" or not np.array_equal(runs[0], runs[2])


def test_full_goes_through_the_data_in_their_order():
    problem = dual(50)
    state, infos = steps(make("dcd"), problem, Full())
    next(infos)
    beta, v, X = np.zeros(50), np.zeros(4), np.append(problem.gram.engine.X, np.ones((50, 1)), axis=1)
    for x, y, i in zip(X, problem.y, range(50), strict=True):
        beta[i] = np.clip((1.0 - y * (x @ v)) / (x @ x), 0.0, 1.0)
        v += beta[i] * y * x
    np.testing.assert_allclose(state.beta, beta, atol=1e-12)


def test_a_shuffled_pass_has_an_order_of_its_own():
    problem, firsts = dual(200, C=1e6), []
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


# Starts


def cold(problem, loss, tol=1e-3):
    return solve(problem, make("dcd", loss=loss), stop=Gap(tol))


@every_loss
def test_a_linear_model_is_a_good_start(loss):
    X, y = blobs(1500, 6, apart=0.4)
    options = {"solver": make("dcd", loss=loss), "kernel": Linear(), "C": 1.0}
    first = fit(X, y, stop=Gap(1e-5), **options)
    again = fit(X, y, stop=Gap(1e-3), start=first.model, **options)
    assert again.status is Status.CONVERGED and again.gap <= 1e-3
    assert again.n_iter <= 0.5 * fit(X, y, stop=Gap(1e-3), **options).n_iter


@every_loss
def test_a_model_of_support_vectors_is_a_good_start(loss):
    X, y = blobs(300, 6, apart=0.4)
    kernel = fit(X, y, solver="swap2o", kernel=Linear(), C=0.1, stop=Gap(1e-4)).model
    options = {"solver": make("dcd", loss=loss), "kernel": Linear(), "C": 0.1}
    warm = fit(X, y, start=kernel, stop=Gap(1e-3), **options)
    assert warm.status is Status.CONVERGED and warm.gap <= 1e-3
    if loss is Loss.SQUARED_HINGE:  # the same problem
        assert warm.n_iter <= 0.5 * fit(X, y, stop=Gap(1e-3), **options).n_iter


@every_loss
def test_start_weights_are_feasible_and_certified(loss):
    problem = dual(200, loss=loss)
    found = cold(problem, loss, 1e-6)
    w = problem.expansion(found.point, found.certificate)
    start = problem.start_weights(w.w, w.intercept)
    assert problem.infeasible(start) is None
    certificate = problem.certificate(start)
    assert certificate.dual >= 0.98 * found.certificate.dual
    nothing = problem.certificate(problem.start_weights(np.zeros(3), 0.0))
    assert 0.0 <= nothing.gap <= 1.0


def test_start_is_its_own_solution():
    problem = dual(200)
    found = cold(problem, "hinge", 1e-5)
    np.testing.assert_array_equal(problem.start(problem.y * found.point), found.point)
    again = solve(problem, make("dcd"), start=found.point, stop=Gap(1e-4))
    assert again.n_iter <= 3


@every_loss
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_a_path_is_certified_at_each_C(storage, loss):
    X, y = blobs(300, 4)
    Cs = [10.0, 0.01, 0.1, 1.0]
    path = c_path(storage(X), y, Cs, solver=make("dcd", loss=loss), kernel=Linear(), stop=Gap(1e-4))
    for C, fitted in zip(Cs, path, strict=True):
        alone = fit(storage(X), y, solver=make("dcd", loss=loss), kernel=Linear(), C=C, stop=Gap(1e-4))
        assert fitted.status is Status.CONVERGED and fitted.gap <= 1e-4
        assert fitted.objective == pytest.approx(alone.objective, rel=2e-4)
        assert fitted.model.about["C"] == C


# Several classes, and models


@every_loss
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_pairs_of_classes_are_liblinears(storage, loss, tmp_path):
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    names = np.array(["x", "y", "z"])[y]
    trained = fit(storage(X), names, solver=make("dcd", loss=loss), kernel=Linear(), C=0.1, stop=Gap(1e-9))
    decision = trained.model.decision_function(storage(X))
    np.testing.assert_allclose(X @ trained.model.weights.T + trained.model.intercept, decision, atol=1e-12)
    for k, (a, b) in enumerate(pairs(3)):
        rows = (y == a) | (y == b)
        pair = LinearSVC(C=0.1, loss=loss, tol=1e-10, max_iter=1_000_000, random_state=0).fit(X[rows], y[rows] == a)
        np.testing.assert_allclose(decision[:, k], pair.decision_function(X), atol=1e-3)
    trained.model.save(tmp_path / "model")
    again = SVMModel.load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(X), trained.model.decision_function(X))
    np.testing.assert_array_equal(again.predict(storage(X)), trained.model.predict(storage(X)))
    np.testing.assert_array_equal(again.weights, trained.model.weights)
    warm = fit(X, names, solver=make("dcd", loss=loss), kernel=Linear(), C=0.1, stop=Gap(1e-3), start=again)
    assert warm.n_iter < fit(X, names, solver=make("dcd", loss=loss), kernel=Linear(), C=0.1, stop=Gap(1e-3)).n_iter


def test_support_are_the_rows_with_weight():
    X, y = blobs(100)
    trained = fit(X, y, solver=make("dcd"), kernel=Linear())
    assert sorted(trained.support) == np.flatnonzero(trained.solutions[0].point).tolist()
    assert trained.model.vectors.shape == (1, 3)
