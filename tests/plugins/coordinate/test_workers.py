"""dcd with several workers: the same optimum as one, whatever the data, whichever threads do the work."""

import itertools

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from support.liblinear import every_loss, liblinear, primal
from support.problems import blobs, linear_dual, make
from support.storages import frozen
from svmkit_coordinate import dcd
from svmkit_coordinate.workers import FEW

from svmkit.errors import InputError
from svmkit.kernels.functions import Linear
from svmkit.runtime import threads
from svmkit.solver.loop.solve import solve
from svmkit.solver.sampler import Draws, Goal, Shuffled
from svmkit.solver.selection import by_name
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations, Violation
from svmkit.training.train import fit

pytestmark = pytest.mark.usefixtures("one_pool", "however_few")

TIGHT = Gap(1e-8) | Iterations(100_000)


@pytest.fixture
def however_few(monkeypatch):
    """Sets of a test's size are shared too."""
    monkeypatch.setattr(dcd, "WORTH", 0)


STORAGES = {
    "dense": np.asarray,
    "float32": lambda X: X.astype(np.float32),
    "by columns": np.asfortranarray,
    "csr": sp.csr_array,
    "csr, float32": lambda X: sp.csr_array(X.astype(np.float32)),
    "csr, read only": lambda X: frozen(sp.csr_array(X)),
}


def data(m=600, d=5, share=0.5, seed=0, shift=0.5):
    """Overlapping classes, a third of the values 0, equal rows of both classes and two rows of zeros."""
    X, y = blobs(m, d, seed=seed, share=share, shift=shift)
    X *= np.random.default_rng(seed).random(X.shape) > 0.33
    X[1], X[2], X[5], X[6], y[5], y[6] = X[0], X[0], 0.0, 0.0, 1.0, -1.0
    return X, y


def solved(X, y, K=2, C=1.0, loss="hinge", bias=1.0, stop=TIGHT, shrinking=True, n_threads=1, **others):
    """One thread finds the same as several, without waiting for others that a busy machine keeps."""
    solver = make("dcd", loss=loss, bias=bias, workers=K, shrinking=shrinking)
    return solve(linear_dual(X, y, C, loss=loss, bias=bias), solver, stop=stop, n_threads=n_threads, **others)


def optimum(X, y, C=1.0, loss="hinge", bias=1.0) -> float:
    """P at LIBLINEAR's optimum."""
    return primal(X, y, C, liblinear(X, y, C, loss, bias), loss, bias)


def same(solution, primal):
    assert solution.status is Status.CONVERGED
    assert solution.certificate.primal == pytest.approx(primal, rel=1e-6)
    assert solution.certificate.dual == pytest.approx(primal, rel=1e-6)


@pytest.mark.slow
@every_loss
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("storage", STORAGES.values(), ids=STORAGES)
def test_every_storage_gives_liblinears_optimum(storage, K, loss):
    X, y = data()
    stored = storage(X)
    same(solved(stored, y, K, 0.3, loss), optimum(stored, y, 0.3, loss))


@pytest.mark.slow
@every_loss
@pytest.mark.parametrize("bias", [0.0, 4.0])
@pytest.mark.parametrize("shrinking", [True, False])
def test_every_bias_with_and_without_shrinking(shrinking, bias, loss):
    X, y = data()
    same(solved(X, y, 2, 0.1, loss, bias, shrinking=shrinking), optimum(X, y, 0.1, loss, bias))


@every_loss
@pytest.mark.parametrize("C", [1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("share", [0.5, 0.03])
def test_every_C(C, share, loss):
    X, y = data(share=share)
    same(solved(X, y, 2, C, loss), optimum(X, y, C, loss))


@every_loss
@pytest.mark.parametrize("share", [0.5, 0.03])
def test_a_huge_C_takes_long_but_never_misleads(share, loss):
    X, y = data(share=share)
    found, at_one = solved(X, y, 2, 1e4, loss, stop=Gap(1e-3) | Iterations(500)), optimum(X, y, 1.0, loss)
    assert -1e-12 <= found.certificate.gap <= 1.0
    assert found.certificate.dual <= 1e4 * at_one  # P(C) <= C P(1)
    assert (found.status is Status.CONVERGED) == (found.certificate.gap <= 1e-3)


@every_loss
def test_one_feature(loss):
    X, y = data(d=1)
    same(solved(X, y, 2, 0.5, loss), optimum(X, y, 0.5, loss))


@every_loss
@pytest.mark.parametrize("K", [2, 4])
def test_all_rows_equal(K, loss):
    """The workers all do the same, and together far too much: what the line search is for."""
    X, y = np.full((1200, 3), 2.0), np.where(np.arange(1200) % 3, 1.0, -1.0)
    found = solved(X, y, K, 1.0, loss, stop=Gap(1e-6) | Iterations(5000))
    assert found.certificate.gap <= 1e-6
    assert found.certificate.primal == pytest.approx(solved(X, y, 1, 1.0, loss).certificate.primal, rel=1e-6)


@every_loss
def test_rows_of_zeros_alone(loss):
    y = np.where(np.arange(400) < 150, 1.0, -1.0)
    for bias in (0.0, 1.0):
        same(solved(np.zeros((400, 3)), y, 2, 1.0, loss, bias), optimum(np.zeros((400, 3)), y, 1.0, loss, bias))


@every_loss
@pytest.mark.parametrize("m", [2, 3, 30])
def test_fewer_rows_than_workers(m, loss):
    X, y = np.random.default_rng(1).normal(size=(m, 3)), np.where(np.arange(m) % 2, 1.0, -1.0)
    one, many = (solved(X, y, K, 0.5, loss) for K in (1, 40))
    np.testing.assert_array_equal(one.point, many.point)


def test_one_class_is_refused():
    with pytest.raises(InputError, match="class"):
        fit(np.ones((600, 2)), np.ones(600), solver=make("dcd", workers=2), kernel=Linear())


@pytest.mark.threads
@every_loss
@pytest.mark.parametrize("K", [2, 5])
@pytest.mark.parametrize("sampler", ["shuffled", "full"])
def test_threads_change_nothing(sampler, K, loss):
    X, y = data(3000, 20)
    runs = [
        solved(X, y, K, 1.0, loss, stop=Iterations(60), n_threads=n, sampler=by_name.sampler(sampler))
        for n in (1, numba.config.NUMBA_NUM_THREADS, None)
    ]
    for run in runs[1:]:
        np.testing.assert_array_equal(run.point, runs[0].point)


@every_loss
def test_as_good_as_one_worker(loss):
    X, y = data(3000, 20)
    one, two = (solved(X, y, K, 1.0, loss, stop=Gap(1e-6)) for K in (1, 2))
    assert two.certificate.dual == pytest.approx(one.certificate.dual, rel=2e-6)
    assert two.n_iter <= 2 * one.n_iter


@every_loss
def test_liblinears_rule(loss):
    found = solved(*data(2000), 2, 0.5, loss, stop=Violation(1e-3))
    assert found.status is Status.CONVERGED and found.certificate.gap <= 1e-3


@every_loss
@pytest.mark.parametrize("sampler", ["shuffled", "full"])
def test_what_a_step_reports(sampler, loss):
    problem = linear_dual(*data(2000, 20, shift=0.3), 3.0, loss=loss)
    solver = make("dcd", loss=loss, workers=2)
    state = solver.init(problem, None, Draws(by_name.sampler(sampler), problem.y, np.random.default_rng(0)))
    before, parts = 0.0, 0
    for _ in range(60):
        parts += state.n >= 2 * FEW
        info = solver.step(state)
        beta = solver.solution(state)
        assert problem.infeasible(beta) is None
        assert sorted(state.order.tolist()) == list(range(2000)) or state.n < 2000
        assert len(set(state.order[: state.n].tolist())) == state.n
        np.testing.assert_allclose(state.v, problem.weights(beta), atol=1e-9)
        assert info.objective == pytest.approx(problem.objective(beta), rel=1e-9)
        assert info.objective <= before
        assert info.n_support == np.count_nonzero(beta)
        assert 0.0 < info.epochs <= info.steps
        assert info.gap >= 0.0 and info.violation >= 0.0
        before = info.objective
    assert parts >= 5


@every_loss
@pytest.mark.slow
def test_the_model_is_the_sum_of_its_vectors(loss):
    X, y = data(1000)
    trained = fit(sp.csr_array(X), y, solver=make("dcd", loss=loss, workers=2), kernel=Linear(), stop=Gap(1e-3))
    beta = trained.solutions[0].point
    np.testing.assert_allclose(trained.model.weights[0], beta @ X, atol=1e-10)
    assert trained.model.intercept[0] == pytest.approx(float(beta.sum()), abs=1e-9)


@every_loss
def test_from_a_start(loss):
    X, y = data(1000)
    best = solved(X, y, 1, loss=loss)
    again = solved(X, y, 2, loss=loss, start=best.point, stop=Gap(1e-6))
    assert again.status is Status.CONVERGED and again.n_iter <= 10


def begun(X, y, workers, n_threads=2, sampler="shuffled", goal=None):
    problem = linear_dual(X, y)
    draws = Draws(by_name.sampler(sampler), problem.y, np.random.default_rng(0), goal=goal)
    with threads.using(n_threads):
        return make("dcd", workers=workers).init(problem, None, draws)


def test_two_workers_by_default_for_many_values_and_threads(monkeypatch):
    X, y = data(1000)
    for workers in ("auto", 1):
        assert begun(X, y, workers).shared is None
    monkeypatch.setattr(dcd, "PAYS", X.size)
    state = begun(X, y, "auto")
    assert state.shared is not None and len(state.shared.v) == 2
    assert begun(X[:-1], y[:-1], "auto").shared is None
    assert begun(X, y, "auto", n_threads=1).shared is None
    assert begun(X, y, "auto", sampler="uniform:20").shared is None
    assert begun(X, y, 1).shared is None


@every_loss
def test_the_default_is_deterministic_for_a_number_of_threads(loss, monkeypatch):
    monkeypatch.setattr(dcd, "PAYS", 0)
    X, y = data(2000, shift=0.2)
    for n_threads in (1, 2):
        how = {"loss": loss, "n_threads": n_threads, "stop": Gap(1e-4)}
        runs = [solved(X, y, "auto", **how), solved(X, y, "auto", **how), solved(X, y, n_threads, **how)]
        for run in runs:
            assert run.status is Status.CONVERGED and run.certificate.gap <= 1e-4
            np.testing.assert_array_equal(run.point, runs[0].point)


@pytest.mark.parametrize("workers", ["auto", 1, 2])
def test_workers_as_text(workers):
    assert make("dcd", workers=str(workers)) == make("dcd", workers=workers)


def test_wide_rows_are_shared_as_long_as_they_outweigh_the_columns():
    X, y = data(600)
    wide = sp.hstack([sp.csr_array(X), sp.csr_array((600, 5000))], format="csr")
    assert begun(X, y, 2).shared is not None
    assert begun(wide, y, 2).shared is None


def test_one_worker_makes_the_last_passes():
    state = begun(*data(2000, 20, shift=0.3), 2, goal=Goal(0.3, 1e9))
    solver, goal_seen = make("dcd", workers=2), False
    for _ in range(30):
        assert (state.shared is None) == goal_seen
        goal_seen |= solver.step(state).gap <= 0.3
    assert goal_seen


@pytest.mark.parametrize("K", [0, -1, 1.5, "two"])
def test_how_many_workers(K):
    with pytest.raises(InputError, match="workers"):
        make("dcd", workers=K)


@pytest.mark.parametrize(("m", "d", "shared"), [(1000, 60, False), (2000, 60, True), (200, 2000, False)])
def test_what_is_worth_sharing(m, d, shared, monkeypatch):
    monkeypatch.undo()
    problem = linear_dual(*blobs(m, d))
    state = make("dcd", workers=2).init(problem, None, Draws(Shuffled(), problem.y, np.random.default_rng(0)))
    assert (state.shared is not None) == shared


def test_drawn_points_are_no_work_to_share():
    with pytest.raises(InputError, match="sampler"):
        solved(*data(), 2, sampler=by_name.sampler("uniform:20"))


def test_same_seed_same_result():
    runs = [solved(*data(2000), 2, stop=Iterations(30), seed=seed).point for seed in (3, 3, 4)]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])


def test_small_passes_are_done_together_and_counted():
    problem = linear_dual(*data(6000, 10, shift=1.2), 5.0)
    solver = make("dcd", workers=2)
    state = solver.init(problem, None, Draws(Shuffled(), problem.y, np.random.default_rng(0)))
    infos = list(itertools.islice((solver.step(state) for _ in itertools.count()), 100))
    assert any(info.steps > 1 for info in infos)
    assert state.count == sum(info.steps for info in infos)
