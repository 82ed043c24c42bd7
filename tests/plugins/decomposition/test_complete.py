"""SMO in compiled slices on class pairs all of whose kernel rows are kept: many in a call, or side by side."""

import math
import signal

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from svmkit_decomposition import complete as slices
from svmkit_decomposition.pairs import solve_pairs
from svmkit_decomposition.smo import SMO

from svmkit.kernels.functions import RBF
from svmkit.kernels.gram import complete
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations, Seconds, Violation
from svmkit.training.path import c_path
from svmkit.training.subproblems import at_once
from svmkit.training.train import fit

LOSSES = ["hinge", "squared_hinge"]
SETS = {"iris": load_iris, "wine": load_wine, "breast_cancer": load_breast_cancer}


def standardised(load):
    X, y = load(return_X_y=True)
    return (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-9), y


def trained(X, y, solver="smo", **options):
    return fit(X, y, solver=solver, kernel=RBF(0.1), **options)


@pytest.fixture(autouse=True, params=[True, False], ids=["at_once", "one_by_one"])
def only_slices(request, monkeypatch):
    """Every class pair of these tests goes through the slices, with and without the code for many of them."""
    seen = []
    for owner in (slices.CompleteState, at_once.AtOnce):

        def noticed(self, *args, init=owner.__init__, **options):
            seen.append(type(self))
            init(self, *args, **options)

        monkeypatch.setattr(owner, "__init__", noticed)
    if not request.param:
        monkeypatch.setattr(SMO, "for_pairs", lambda self: None)
    yield seen
    assert seen and (request.param or at_once.AtOnce not in seen)


def by_hand(K, y, C, solution):
    """P and D of a solution of the hinge, in plain numpy."""
    beta = solution.point
    h = K @ (y * beta)
    norm = (y * beta) @ h
    slack = np.maximum(0.0, 1.0 - y * (h + solution.certificate.bias))
    assert (beta >= 0.0).all() and (beta <= C).all() and abs(y @ beta) <= 1e-9 * beta.sum()
    return 0.5 * norm + C * slack.sum(), beta.sum() - 0.5 * norm


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("C", [1e-4, 1.0, 1e4])
def test_certificates_by_hand(name, C):
    X, y = standardised(SETS[name])
    found = trained(X, y, C=C)
    assert found.status is Status.CONVERGED and found.gap <= 1e-3
    n = len(found.model.classes)
    pairs = [(a, b) for a in range(n) for b in range(a + 1, n)]
    for (a, b), solution in zip(pairs, found.solutions, strict=True):
        rows = np.flatnonzero((y == a) | (y == b))
        if n > 2:
            rows = rows[np.argsort(y[rows], kind="stable")]
        signs = np.where(y[rows] == (b if n == 2 else a), 1.0, -1.0)
        P, D = by_hand(rbf_kernel(X[rows], gamma=0.1), signs, C, solution)
        assert solution.certificate.primal == pytest.approx(P, rel=1e-9)
        assert solution.certificate.dual == pytest.approx(D, rel=1e-9)


@pytest.mark.parametrize("stored", [np.array, np.float32, sp.csr_array], ids=["dense", "float32", "csr"])
def test_the_optimum_of_libsvm(stored):
    X, y = standardised(load_breast_cancer)
    X = stored(X)
    found = trained(X, y, C=2.0, stop=Gap(1e-7))
    peer = SVC(C=2.0, gamma=0.1, tol=1e-6).fit(X, y)
    assert found.gap <= 1e-7
    np.testing.assert_allclose(found.model.intercept, peer.intercept_, atol=1e-3)
    assert found.model.n_support.tolist() == pytest.approx(peer.n_support_.tolist(), abs=2)
    assert found.dual_objective == pytest.approx(trained(X, y, "fcsmo", C=2.0, stop=Gap(1e-7)).dual_objective, rel=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("wide", [1, 10**9], ids=["matrix", "rows"])
@pytest.mark.slow
def test_any_number_of_threads_gives_the_same(loss, wide, monkeypatch):
    monkeypatch.setattr(complete, "WIDE", wide)
    monkeypatch.setattr(at_once, "WORK", 1e6)  # worth a thread
    X, y = load_digits(return_X_y=True)
    X, y = X[:600] / 16.0, y[:600]
    one, two = (trained(X, y, SMO(loss=loss), n_threads=n) for n in (1, 2))
    assert one.status is Status.CONVERGED and len(one.solutions) == 45
    assert one.objective == two.objective and one.n_iter == two.n_iter
    np.testing.assert_array_equal(one.model.coef, two.model.coef)
    assert one.kernel_values == two.kernel_values > 0


def test_weights_and_samples_without_one():
    X, y = standardised(load_wine)
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    kept = weight > 0
    weighted = trained(X, y, sample_weight=weight, class_weight={0: 2.0}, stop=Gap(1e-7))
    repeated = np.repeat(np.flatnonzero(kept), weight[kept].astype(int))
    plain = trained(X[repeated], y[repeated], class_weight={0: 2.0}, stop=Gap(1e-7))
    assert weighted.objective == pytest.approx(plain.objective, rel=1e-5)
    assert not set(weighted.support) & set(np.flatnonzero(~kept))


def test_the_history_goes_through_a_slice():
    X, y = standardised(load_breast_cancer)
    found = trained(X, y, C=100.0, stop=Gap(1e-6))
    history = found.solutions[0].history
    assert len(history) > 5 and history[0].n_iter == 0
    for column in ("n_iter", "seconds", "kernel_values"):
        assert np.all(np.diff([getattr(point, column) for point in history]) >= 0)
    assert np.all(np.diff([point.objective for point in history]) <= 0.0)
    assert history[-1].n_iter == found.n_iter and history[-1].gap <= 1e-6
    assert history[0].gap == 1.0 and history[0].objective == 0.0 and history[0].n_support == 0


@pytest.mark.parametrize("C", [1.0, 1e4])
def test_who_watches_changes_nothing(C):
    X, y = standardised(load_breast_cancer)
    alone = trained(X, y, C=C, stop=Gap(1e-6))
    heard = []
    watched = trained(X, y, C=C, stop=Gap(1e-6), watch=lambda *_: [heard.append], validation=(X, y))
    assert alone.n_iter == watched.n_iter and alone.objective == watched.objective
    points = [{p.n_iter for p in found.solutions[0].history} for found in (alone, watched)]
    assert points[1] <= points[0] and len(points[0] - points[1]) <= 3  # ends of slices


def test_a_callback_sees_many_iterates_and_ends_the_training():
    X, y = standardised(load_breast_cancer)
    heard = []
    trained(X, y, watch=lambda *_: [heard.append])
    assert len(heard) > 8 and [point.n_iter for point in heard[:2]] == [0, slices.OFTEN]
    found = trained(X, y, stop=Gap(1e-9), watch=lambda *_: [lambda point: point.n_iter > 20])
    assert found.status is Status.INTERRUPTED and math.isfinite(found.gap)


@pytest.mark.parametrize("most", [1, 7, 100])
@pytest.mark.slow
def test_a_budget_of_iterations_is_kept(most):
    X, y = standardised(load_iris)
    found = trained(X, y, stop=Gap(1e-12) | Iterations(most))
    assert all(s.n_iter <= most for s in found.solutions) and max(s.n_iter for s in found.solutions) == most
    assert found.status is Status.MAX_ITER and found.gap > 1e-12


def test_a_rule_that_no_gap_stands_for_sees_many_iterates():
    X, y = standardised(load_breast_cancer)
    loose, tight = (trained(X, y, stop=Violation(limit)) for limit in (0.5, 1e-3))
    assert loose.status is tight.status is Status.CONVERGED
    assert loose.n_iter < 0.7 * tight.n_iter


def test_a_limit_in_seconds_leaves_no_pair_without_a_bound():
    X, y = load_digits(return_X_y=True)
    found = trained(X, y, C=1e6, stop=Gap(1e-9) | Seconds(1e-3))
    begun = [s for s in found.solutions if len(s.point)]
    assert found.status is Status.TIME_LIMIT and begun
    assert all(s.certificate.gap is not None for s in begun)


def test_a_start_and_a_path():
    X, y = standardised(load_wine)
    cold = trained(X, y, C=10.0, stop=Gap(1e-6))
    warm = trained(X, y, C=10.0, stop=Gap(1e-6), start=[s.point for s in cold.solutions])
    assert warm.n_iter == 0 and warm.objective == pytest.approx(cold.objective, rel=1e-9)
    path = c_path(X, y, [1.0, 10.0], solver="smo", kernel=RBF(0.1), stop=Gap(1e-6))
    assert path[1].objective == pytest.approx(cold.objective, rel=1e-5)


def test_without_progress_it_stalls_with_a_true_gap():
    X, y = standardised(load_breast_cancer)
    found = trained(X * 1e-6, y, C=1e6, stop=Gap(1e-300))
    assert found.status in (Status.STALLED, Status.CONVERGED) and (found.gap > 0.0 or found.objective > 0.0)


def test_an_exception_in_a_thread_comes_through(monkeypatch):
    X, y = standardised(load_wine)
    monkeypatch.setattr(at_once, "WORK", 1e6)
    monkeypatch.setattr(slices.CompleteState, "step", lambda self, method: 1 / 0)
    monkeypatch.setattr(at_once.AtOnce, "_keep", lambda *args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        trained(X, y)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("budget", [1.0, 1e9], ids=["interrupted often", "one call"])
@pytest.mark.parametrize("wide", [1, 10**9], ids=["matrix", "rows"])
def test_code_for_many_pairs_finds_the_same_bits(name, budget, wide, monkeypatch):
    X, y = standardised(SETS[name])
    monkeypatch.setattr(at_once, "BUDGET", budget)
    monkeypatch.setattr(complete, "WIDE", wide)
    monkeypatch.setattr(complete, "MIRRORED", 0)
    many = trained(X, y, C=10.0, class_weight="balanced")
    with monkeypatch.context() as alone:
        alone.setattr(SMO, "for_pairs", lambda self: None)
        single = trained(X, y, C=10.0, class_weight="balanced")
    for ours, theirs in zip(many.solutions, single.solutions, strict=True):
        assert ours.certificate == theirs.certificate and ours.n_iter == theirs.n_iter
        np.testing.assert_array_equal(ours.point, theirs.point)
        np.testing.assert_array_equal(ours.certificate.gradient, theirs.certificate.gradient)
        assert [p.n_iter for p in ours.history] == [p.n_iter for p in theirs.history]
        assert [p.gap for p in ours.history] == [p.gap for p in theirs.history]
        for column in ("objective", "n_support"):
            assert [getattr(p, column) for p in ours.history] == [getattr(p, column) for p in theirs.history], column
    np.testing.assert_array_equal(many.model.coef, single.model.coef)
    assert many.kernel_values == single.kernel_values


@pytest.mark.parametrize("guard", [10**12, -(10**12)])
def test_a_call_solves_pairs_until_its_work_exceeds_the_budget(guard, monkeypatch, only_slices):
    """Entries of v that steps read, kernel values, and a pass: what a call did before its last pair was less."""
    if SMO().for_pairs() is None:
        only_slices.append(None)
        return
    calls, budget, make = [], 200_000.0, at_once.Room.make.__func__

    def solve(pairs, bounds, answers, room, at, budget, hurry):
        upto, lines = solve_pairs(pairs, bounds, answers, room, at, budget, hurry, second=True)
        n, (steps, values) = pairs.where[:, 1] + pairs.where[:, 3], answers.counts.T
        assert (room.trail[:lines, 4] >= 0).all() and (room.trail[:lines, 4] <= n.max() ** 2).all()  # kernel values
        calls.append(((2.0 * n * steps + 4.0 * values + n)[at:upto], upto == len(n)))
        return upto, lines

    def guarded(cls, n, rows, done):  # what lies behind the counts is none of them
        return make(cls, n, rows, np.array([0, 0, guard])[:2])

    monkeypatch.setattr(at_once, "BUDGET", budget)
    monkeypatch.setattr(at_once.Room, "make", classmethod(guarded))
    monkeypatch.setattr(SMO, "for_pairs", lambda self: solve)
    X, y = load_digits(return_X_y=True)
    trained(X[:300], y[:300], C=1.0, n_threads=1)
    largest = max(work.max() for work, _ in calls if len(work))
    assert 4 < len(calls) < 20 and 4.0 * largest < budget
    for work, ended in calls:  # a call may have begun with what another one had left, and leave a pair itself
        assert work[1:].sum() < budget and (work.sum() + largest >= budget or ended)


def test_a_signal_ends_it_with_a_bound(monkeypatch):
    X, y = load_digits(return_X_y=True)
    calls = []

    def solve(*args, **options):
        calls.append(args)
        if len(calls) == 3:
            signal.raise_signal(signal.SIGINT)
        return solve_pairs(*args, second=True, **options)

    monkeypatch.setattr(at_once, "BUDGET", 1e5)
    if SMO().for_pairs() is None:
        X, y = X[:200], y[:200]
        found = trained(X, y, C=1e6, stop=Gap(1e-12), watch=lambda *_: [lambda point: point.n_iter > 20])
    else:
        monkeypatch.setattr(SMO, "for_pairs", lambda self: solve)
        found = trained(X, y, C=1e6, stop=Gap(1e-12), n_threads=1)
    begun = [s for s in found.solutions if len(s.point)]
    assert found.status is Status.INTERRUPTED and 0 < len(begun) < 45 and found.n_untrained == 45 - len(begun)
    assert all(s.certificate.gap is not None for s in begun)
