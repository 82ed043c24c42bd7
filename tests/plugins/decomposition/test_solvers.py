"""smo1, smo, smol2 and svmlight reach the optimum that LIBSVM and quadprog find, whatever the data look like."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from support.decomposition import ALL, every_hinge, every_solver, margins, pose, squared
from support.problems import blobs, make

from svmkit.errors import InputError, SvmkitError
from svmkit.kernels.functions import RBF, Linear, Poly, Sigmoid
from svmkit.kernels.gram import Gram
from svmkit.problems.box import BoxQP
from svmkit.solver.loop.solve import solve
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations, Violation
from svmkit.training.train import fit

pytestmark = pytest.mark.usefixtures("one_pool")


@pytest.fixture(scope="module")
def cancer():
    X, target = load_breast_cancer(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), np.where(target > 0, 1.0, -1.0)


def libsvm(X, y, C=1.0, weights=None, tol=1e-3, **kernel):
    """(SVC, its dual weights (m,))."""
    fitted = SVC(C=C, tol=tol, **(kernel or {"gamma": 0.1})).fit(X, y, sample_weight=weights)
    beta = np.zeros(len(y))
    beta[fitted.support_] = np.abs(fitted.dual_coef_.toarray() if sp.issparse(fitted.dual_coef_) else fitted.dual_coef_)
    return fitted, beta


# --- the optimum


@every_hinge
def test_same_objective_vectors_and_bias_as_libsvm(name, cancer):
    X, y = cancer
    fitted, beta = libsvm(X, y, tol=1e-10)
    solver = make(name)
    problem = pose(solver, X, y)
    solution = solve(problem, solver, stop=Gap(1e-9))  # rounding errors allow 4e-10
    assert solution.status is Status.CONVERGED
    assert solution.certificate.dual == pytest.approx(-problem.objective(beta), rel=1e-9)
    assert np.flatnonzero(solution.point > 1e-7).tolist() == np.flatnonzero(beta > 1e-7).tolist()
    np.testing.assert_allclose(solution.point, beta, rtol=0, atol=1e-3)
    found = problem.decision_function(solution.point, solution.certificate)
    assert found.intercept == pytest.approx(fitted.intercept_[0], abs=1e-5)
    h = rbf_kernel(X, X, gamma=0.1) @ found.coef + found.intercept
    np.testing.assert_allclose(h, fitted.decision_function(X), atol=1e-5)


@every_hinge
@pytest.mark.parametrize(("C", "gamma"), [(1.0, 0.1), (100.0, 0.02), (0.01, 1.0)])
def test_stopped_by_the_violation_it_is_where_libsvm_stops(name, cancer, C, gamma):
    X, y = cancer
    fitted, beta = libsvm(X, y, C, gamma=gamma)
    solver = make(name)
    problem = pose(solver, X, y, C, RBF(gamma))
    solution = solve(problem, solver, stop=Violation(1e-3))
    assert solution.status is Status.CONVERGED
    assert solution.certificate.dual == pytest.approx(-problem.objective(beta), rel=1e-4)
    assert abs(solution.n_support - len(fitted.support_)) <= max(1, 0.01 * len(fitted.support_))
    if name == "smo":
        assert solution.n_iter <= 1.3 * fitted.n_iter_[0]
    low, high = margins(problem, solution.point)
    assert high - low <= 1e-3 * (1.0 + 1e-9)


@every_hinge
def test_sample_weights_are_upper_bounds(name, cancer):
    X, y = cancer[0][:200], cancer[1][:200]
    weights = np.random.default_rng(0).uniform(0.1, 5.0, size=len(y))
    _, beta = libsvm(X, y, 2.0, weights, tol=1e-9)
    solver = make(name)
    problem = pose(solver, X, y, 2.0 * weights)
    solution = solve(problem, solver, stop=Gap(1e-9))
    assert solution.certificate.dual == pytest.approx(-problem.objective(beta), rel=1e-8)
    assert (solution.point == problem.upper).sum() == (beta >= problem.upper).sum() > 3


def exact(problem, K):
    """The largest D, by quadprog."""
    quadprog = pytest.importorskip("quadprog", reason="needs the trusted QP solver quadprog (extra `test`)")
    m, y = problem.m, problem.y
    Q = np.outer(y, y) * K + np.diag(problem.ridge)
    bounded = np.isfinite(problem.upper)
    constraints = np.hstack([y[:, None], np.eye(m), -np.eye(m)[:, bounded]])
    sides = np.concatenate([np.zeros(m + 1), -problem.upper[bounded]])
    return -quadprog.solve_qp(Q + 1e-10 * np.trace(Q) / m * np.eye(m), np.ones(m), constraints, sides, 1)[1]


@every_solver
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("seed", range(3))
def test_tiny_problems_as_quadprog_solves_them(name, loss, seed):
    if name == "smol2" and loss == "hinge":
        return
    X, y = blobs(24, 2, seed=seed, share=0.3)
    X[5], y[5] = X[4], -y[4]
    C = np.random.default_rng(seed).uniform(0.2, 3.0, size=24)
    solver = squared(name) if loss == "squared_hinge" else make(name)
    problem = pose(solver, X, y, C, RBF(0.5))
    solution = solve(problem, solver, stop=Gap(1e-10))
    assert solution.certificate.dual == pytest.approx(exact(problem, rbf_kernel(X, gamma=0.5)), rel=2e-6)
    assert 0.0 <= solution.certificate.gap <= 1e-10
    assert problem.infeasible(solution.point) is None


def test_squared_hinge_by_every_name_is_one_problem(cancer):
    X, y = cancer
    duals = {name: solve(pose(squared(name), X, y), squared(name), stop=Gap(1e-8)) for name in ALL}
    best = max(solution.certificate.dual for solution in duals.values())
    for name, solution in duals.items():
        assert solution.certificate.dual == pytest.approx(best, rel=1e-7), name
        assert solution.point.max() > 1.0  # no upper bound at C
    alike = duals["smo"], duals["smol2"]
    np.testing.assert_array_equal(alike[0].point, alike[1].point)


# --- sets that are hard


def ugly():
    """(name, X, y) of a data set as nobody would want it."""
    X, y = blobs(80, 3, share=0.4)
    yield "plain", X, y
    yield "copies", X[np.arange(80) // 8], y
    yield "constant", np.column_stack([X, np.full(80, 7.0)]), y
    yield "all alike", np.ones((80, 2)), y
    rare = np.where(np.arange(80) < 2, 1.0, -1.0)
    yield "97:3", X, rare
    stored = sp.csr_array(np.where(np.abs(X) < 0.5, 0.0, X))
    stored.data[::7] = 0.0
    yield "explicit zeros", stored, y
    wide = sp.csr_array((stored.data, stored.indices.astype(np.int64), stored.indptr.astype(np.int64)), stored.shape)
    yield "int64 indices", wide, y
    yield "float32", X.astype(np.float32), y
    X = X.copy()
    X.flags.writeable = False
    yield "read-only", X, y


@every_solver
@pytest.mark.parametrize(("X", "y"), [case[1:] for case in ugly()], ids=[case[0] for case in ugly()])
def test_ugly_data(name, X, y):
    for C in (1e-4, 1.0, 1e6 if name in ("smo", "smol2") else 1e3):  # by the first order, millions of iterations
        solver = make(name)
        problem = pose(solver, X, y, C)
        solution = solve(problem, solver, stop=Gap(1e-3))
        assert solution.status is Status.CONVERGED and -1e-9 <= solution.certificate.gap <= 1e-3, C
        assert problem.infeasible(solution.point) is None
        at_bound = np.minimum(solution.point, problem.upper - solution.point)
        assert ((at_bound == 0.0) | (at_bound > 1e-12 * C)).all()


@every_solver
def test_one_class_is_refused(name):
    X, y = blobs(20)
    with pytest.raises(InputError, match="one class only"):
        pose(make(name), X, np.ones_like(y))


@every_hinge
def test_an_indefinite_kernel_ends_where_libsvm_does(name):
    X, y = blobs(120, 3, shift=0.4)
    kernel = {"kernel": "sigmoid", "gamma": 0.5, "coef0": -1.0}
    _, beta = libsvm(X, y, 1.0, tol=1e-6, **kernel)
    solver = make(name)
    problem = pose(solver, X, y, 1.0, Sigmoid(0.5, -1.0))
    assert np.linalg.eigvalsh(problem.gram.block(np.arange(120), np.arange(120)))[0] < -0.1
    solution = solve(problem, solver, stop=Violation(1e-6) | Iterations(100_000))
    assert solution.status is Status.NOT_CERTIFIED
    low, high = margins(problem, solution.point)
    assert high - low <= 1.1e-6
    assert problem.objective(solution.point) == pytest.approx(problem.objective(beta), rel=0.05)


@every_solver
def test_a_dual_without_bound_is_an_error(name):
    X, y = blobs(60, 3)
    solver = squared(name)
    with pytest.raises(SvmkitError, match="sigmoid kernel is not positive semidefinite"):
        solve(pose(solver, X, y, 1e6, Sigmoid(0.5, -1.0)), solver, stop=Gap(1e-3) | Iterations(100_000))


@pytest.mark.parametrize("kernel", [Linear(), Poly(0.5, 2, 1.0)], ids=lambda k: k.name)
def test_a_million_iterations_take_a_moment(kernel):
    X, y = blobs(60, 2, shift=0.5)
    problem = pose(make("smo"), X, y, 1e4, kernel)
    solution = solve(problem, make("smo"), stop=Violation(1e-3))
    assert solution.status is Status.CONVERGED and solution.n_iter > 10_000
    assert 0.0 <= solution.certificate.gap < 1e-2


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize(("name", "C", "gamma"), [("svmguide1", 1.0, 1 / 800), ("a9a", 1.5, 1 / 200)])
def test_real_sets_as_libsvm_has_them(name, C, gamma, real_set):
    data, test = real_set(name), real_set(f"{name}.t")
    X, y = data.X[:6000], data.y[:6000]
    fitted, beta = libsvm(sp.csr_matrix(X), y, C, gamma=gamma)
    ours = fit(X, y, solver="smo", kernel=RBF(gamma), C=C, stop=Violation(1e-3))
    problem = BoxQP(Gram(RBF(gamma), X), np.where(y == y.max(), 1.0, -1.0), C)
    assert ours.dual_objective == pytest.approx(-problem.objective(beta), rel=1e-4)
    assert abs(len(ours.support) - len(fitted.support_)) <= 0.01 * len(fitted.support_)
    assert ours.n_iter <= 1.3 * fitted.n_iter_[0]
    held = sp.csr_matrix(test.X)
    held.resize(held.shape[0], X.shape[1])  # a9a.t has no column 123
    theirs = np.mean(fitted.predict(held) == test.y)
    assert abs(np.mean(ours.model.predict(held) == test.y) - theirs) <= 5e-4
