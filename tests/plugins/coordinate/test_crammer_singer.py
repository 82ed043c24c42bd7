"""Crammer and Singer's machine by `dcd`: the optimum of LinearSVC and of a general solver, in any number of steps."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from svmkit_coordinate import crammer_singer as module
from svmkit_coordinate.dcd import DCD

from svmkit.errors import InputError
from svmkit.kernels.functions import Linear
from svmkit.kernels.gram import Gram
from svmkit.problems import CrammerSinger
from svmkit.solver import Draws, Full, Gap, Iterations, Progress, Status, Uniform, Violation, solve


def data(n=240, d=8, k=5, seed=0, rare=False):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) < 0.97 * n, 0, 1 + np.arange(n) % (k - 1)) if rare else np.arange(n) % k
    X = rng.normal(size=(n, d)) + 1.5 * rng.normal(size=(k, d))[y]
    return X * (rng.uniform(size=X.shape) < 0.6), y, rng.uniform(0.2, 2.0, n)


def linearsvc(X, y, C, bias=1.0):
    """P of scikit-learn's machine, whose bias is regularised."""
    model = LinearSVC(
        multi_class="crammer_singer", C=1.0, tol=1e-9, max_iter=20_000, random_state=0,
        fit_intercept=bias > 0.0, intercept_scaling=bias or 1.0,
    )  # fmt: skip
    with warnings.catch_warnings():
        # rounding may keep it from its tolerance, in older releases always: what is compared is P, not its word
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y, sample_weight=C)
    scores = X @ model.coef_.T + (model.intercept_ if bias else 0.0)
    every = np.arange(len(y))
    loss = np.maximum(0.0, (scores + (np.arange(scores.shape[1]) != y[:, None])).max(axis=1) - scores[every, y])
    size = (model.coef_**2).sum() + ((model.intercept_ / bias) ** 2).sum() if bias else (model.coef_**2).sum()
    return 0.5 * size + C @ loss


def solved(X, y, C, bias=1.0, solver=None, **options):
    problem = CrammerSinger(Gram(Linear(), X), y, C, bias=bias)
    solver = (solver or DCD(bias=bias)).joint_solver("crammer_singer")
    return problem, solve(problem, solver, **({"stop": Gap(1e-8)} | options))


def test_steps_go_over_all_samples_in_turn():
    """First of all tests: where a step goes nowhere, a solve does not end."""
    X, y, C = data()
    solver = DCD().joint_solver("crammer_singer")
    state = solver.init(CrammerSinger(Gram(Linear(), X), y, C), None, Draws(Full(), y, np.random.default_rng(0)))
    state.chunk, order = 70, state.order.copy()
    for at in (70, 140, 210):
        info = solver.step(state)
        assert (info.steps, state.at) == (0, at) and info.epochs == pytest.approx(70 / 240)
        assert state.alpha[order[at - 70 : at]].any() and not state.alpha[order[at:]].any()
    info = solver.step(state)
    assert (info.steps, state.at) == (1, 0) and info.epochs == pytest.approx(30 / 240)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("bias", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("rare", [False, True])
@pytest.mark.slow
def test_the_optimum_is_that_of_linearsvc(storage, bias, rare):
    X, y, C = data(rare=rare)
    problem, found = solved(storage(X), y, C, bias)
    assert found.status is Status.CONVERGED and problem.infeasible(found.point) is None
    assert found.certificate.primal == pytest.approx(linearsvc(X, y, C, bias), rel=1e-6)
    assert found.certificate.gap <= 1e-8


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_without_shrinking_it_is_the_same_optimum(dtype):
    X, y, C = data()
    X = X.astype(dtype)
    assert solved(X, y, C, solver=DCD(shrinking=False))[1].certificate.primal == pytest.approx(
        solved(X, y, C)[1].certificate.primal, rel=2e-8
    )


def test_the_optimum_is_that_of_a_general_solver():
    X, y, C = data(n=12, d=2, k=3)
    problem, found = solved(X, y, C)
    others = np.arange(3) != y[:, None]

    def value(flat):
        alpha = np.zeros(problem.shape)
        alpha[others] = -flat
        alpha[~others] = flat.reshape(12, 2).sum(axis=1)
        return problem.objective(alpha)

    within = {"type": "ineq", "fun": lambda flat: C - flat.reshape(12, 2).sum(axis=1)}
    best = minimize(value, np.zeros(24), method="SLSQP", bounds=[(0, None)] * 24, constraints=within, tol=1e-12)
    assert best.success and -best.fun == pytest.approx(found.certificate.dual, rel=1e-5)


def test_a_row_of_zeros_has_all_of_its_weight():
    X, y, C = data()
    X[:3] = 0.0
    problem, found = solved(X, y, C, bias=0.0)
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(problem.totals(found.point)[:3], C[:3])


def test_a_pass_in_many_steps_is_the_same_pass(monkeypatch):
    X, y, C = data()
    _, whole = solved(X, y, C, stop=Gap(1e-6))
    monkeypatch.setattr(module, "WORK", 100.0)
    _, parts = solved(X, y, C, stop=Gap(1e-6))
    np.testing.assert_array_equal(whole.point, parts.point)
    assert whole.n_iter == parts.n_iter


def test_it_continues_where_another_solve_ended():
    X, y, C = data()
    _, first = solved(X, y, C, stop=Gap(1e-12) | Iterations(5))
    assert first.status is Status.MAX_ITER and first.n_iter == 5
    _, rest = solved(X, y, C, start=Progress(first.point, first.n_iter))
    _, again = solved(X, y, C, start=rest.point)
    assert rest.status is Status.CONVERGED and again.n_iter < 10 < rest.n_iter


def test_history_falls_and_counts_samples_with_weight():
    X, y, C = data()
    problem, found = solved(X, y, C)
    values = [point.objective for point in found.history]
    assert np.all(np.diff(values) <= 1e-9 * abs(values[-1])) and values[-1] == pytest.approx(-found.certificate.dual)
    assert found.history[-1].n_support == np.count_nonzero(problem.totals(found.point)) == found.n_support


def test_samples_that_lose_their_weight_are_counted_off():
    X, y, C = data()
    solver, problem = module.ClassDescent(), CrammerSinger(Gram(Linear(), X), y, C)
    state = solver.init(problem, None, Draws(solver.sampler, y, 0))
    counts = []
    for _ in range(12):
        counts.append(solver.step(state).n_support)
        assert counts[-1] == np.count_nonzero(state.alpha.any(axis=1))
    assert min(counts) < counts[0]  # some have lost it


def test_liblinears_tolerance_is_the_violation():
    X, y, C = data()
    _, found = solved(X, y, C, stop=Violation(1e-3))
    assert found.status is Status.CONVERGED and found.certificate.gap < 1e-3


def test_what_does_not_go_with_it_is_refused():
    X, y, C = data()
    for solver, word in [(DCD(loss="squared_hinge"), "squared_hinge"), (DCD(workers=2), "workers=2")]:
        with pytest.raises(InputError, match=word):
            solver.joint_solver("crammer_singer")
    with pytest.raises(InputError, match="sampler"):
        solved(X, y, C, sampler=Uniform(5))
