"""svmperf, bmrm and ocas: optima and certificates against LIBLINEAR and quadprog, on plain and on ugly data."""

import numpy as np
import pytest
import scipy.sparse as sp
from support.cutting_plane import both, every, primal, started
from support.liblinear import liblinear
from support.problems import blobs, make, posed

from svmkit.errors import InputError
from svmkit.kernels.functions import Linear
from svmkit.kernels.gram import Gram
from svmkit.problems.risks.linear_risk import LinearRisk
from svmkit.solver.loop.solve import solve
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations

# --- optima


@pytest.mark.parametrize("bias", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("C", [1e-2, 1.0, 30.0])
@both
@every
def test_reaches_liblinears_optimum(name, loss, C, bias):
    X, y = blobs(150, 5, seed=3, share=0.3)
    solver = make(name, loss=loss, bias=bias)
    problem = posed(solver, X, y, C)
    solution = solve(problem, solver, stop=Gap(1e-6))
    assert solution.status is Status.CONVERGED and solution.certificate.gap <= 1e-6
    theirs = primal(problem, liblinear(X, y, C, loss, bias))
    assert primal(problem, solution.point) == pytest.approx(theirs, rel=2e-6)
    assert solution.certificate.dual <= theirs * (1.0 + 1e-9)
    assert solution.details["lower_bound"] <= theirs * (1.0 + 1e-9)
    assert solution.details["upper_bound"] == pytest.approx(solution.certificate.primal, rel=1e-12)


@both
@every
def test_costs_of_its_own_for_each_sample(name, loss):
    X, y = blobs(120, 4, seed=5)
    C = np.random.default_rng(0).uniform(0.01, 5.0, size=120)
    solver = make(name, loss=loss)
    problem = posed(solver, X, y, C)
    solution = solve(problem, solver, stop=Gap(1e-6))
    assert solution.certificate.primal == pytest.approx(primal(problem, liblinear(X, y, C, loss, 1.0)), rel=2e-6)


@both
@every
def test_the_bounds_close_on_quadprogs_optimum(name, loss):
    quadprog = pytest.importorskip("quadprog", reason="needs the trusted QP solver quadprog (extra `test`)")
    X, y = blobs(25, 30, seed=7, shift=0.1)  # more columns than rows: quadprog needs a matrix of full rank
    C = 0.02
    Z = y[:, None] * np.column_stack([X, np.ones(25)])
    box = np.hstack([np.eye(25), -np.eye(25)]) if loss == "hinge" else np.eye(25)
    low = np.r_[np.zeros(25), np.full(25, -C)] if loss == "hinge" else np.zeros(25)
    Q = Z @ Z.T + (0.0 if loss == "hinge" else 1.0 / (2.0 * C)) * np.eye(25)
    best = -quadprog.solve_qp(Q, np.ones(25), box, low)[1]
    solver, problem, state = started(name, X, y, C, loss=loss)
    for _ in range(300):
        info = solver.step(state)
        about = solver.details(state)
        assert about["lower_bound"] <= best * (1.0 + 1e-10) <= about["upper_bound"] * (1.0 + 2e-10)
        assert info.gap_abs == pytest.approx(about["upper_bound"] - about["lower_bound"], abs=1e-12)
        if info.gap < 1e-7:
            break
    assert info.gap < 1e-7
    assert problem.certificate(solver.solution(state)).primal == pytest.approx(best, rel=1e-6)


@both
def test_a_named_inner_solver_finds_the_same(loss):
    X, y = blobs(200, 6, seed=2)
    values = []
    for inner in ("face", "swap2o"):
        solver = make("ocas", loss=loss, inner=inner)
        solution = solve(posed(solver, X, y, 3.0), solver, stop=Gap(1e-5))
        assert solution.status is Status.CONVERGED
        values.append(solution.certificate.primal)
    assert values[0] == pytest.approx(values[1], rel=1e-5)


# --- starts, storages, ugly data


@both
@every
def test_goes_on_from_a_start(name, loss):
    X, y = blobs(150, 5, seed=14)
    solver = make(name, loss=loss)
    cold = solve(posed(solver, X, y), solver, stop=Gap(1e-4))
    warm = solve(posed(solver, X, y), solver, stop=Gap(1e-4), start=cold.point)
    assert warm.n_iter <= cold.n_iter
    assert warm.history[0].objective <= cold.certificate.primal * (1.0 + 1e-12)
    assert warm.certificate.gap <= 1e-4


def ugly(storage):
    rng = np.random.default_rng(15)
    y = np.where(np.arange(200) < 6, 1.0, -1.0)  # 97:3
    X = np.column_stack([rng.normal(size=(200, 3)) + y[:, None], np.full(200, 3.0), np.zeros(200)])
    X[:3], X[100:110] = X[0], X[100]
    X[rng.random(X.shape) < 0.3] = 0.0
    X = X.astype(np.float32).astype(np.float64)
    if storage == "float32":
        return X.astype(np.float32), y
    if storage == "csr":
        wide = sp.csr_array(np.where(X == 0.0, 1.0, X))  # every place stored
        wide.data[X.ravel() == 0.0] = 0.0
        wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
        return wide, y
    if storage == "read-only":
        X.flags.writeable = y.flags.writeable = False
    return X, y


@both
@every
def test_storages_agree(name, loss):
    values = []
    for storage in ("dense", "read-only", "float32", "csr"):
        solver = make(name, loss=loss)
        values.append(solve(posed(solver, *ugly(storage)), solver, stop=Gap(1e-6)).certificate.primal)
    np.testing.assert_allclose(values, values[0], rtol=1e-6)


@pytest.mark.parametrize("C", [1e-4, 1e-2, 1.0, 1e2, 1e4, 1e6])
@both
@every
def test_any_C_on_ugly_data(name, loss, C):
    X, y = ugly("dense")
    solver = make(name, loss=loss)
    problem = posed(solver, X, y, C)
    solution = solve(problem, solver, stop=Gap(1e-5))
    assert solution.status is Status.CONVERGED
    assert -1e-9 <= solution.certificate.gap <= 1e-5
    assert np.isfinite(solution.point).all()
    assert solution.certificate.primal == pytest.approx(primal(problem, solution.point), rel=1e-12)
    assert solution.certificate.dual >= solution.details["lower_bound"] * (1.0 - 1e-6)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("ocas", {"mu": 0.0}, "mu must be > 0 and at most 1, not 0.0"),
        ("ocas", {"mu": 1.5}, "mu must be > 0 and at most 1, not 1.5"),
        ("svmperf", {"inactive": -1}, "inactive must be a whole number of rounds >= 0"),
        ("svmperf", {"inactive": 2.5}, "solver svmperf: inactive=2.5 should be a whole number"),
        ("bmrm", {"inner_gap": 0.0}, "inner_gap must be between 0 and 1, not 0.0"),
        ("bmrm", {"inner_gap": 1.0}, "inner_gap must be between 0 and 1, not 1.0"),
        ("bmrm", {"inner": "smo"}, "inner='smo' does not solve the inner problem; there are: face"),
    ],
)
def test_options_out_of_range(name, options, words):
    with pytest.raises(InputError) as refused:
        make(name, **options)
    assert str(refused.value).startswith(words) and "\n" not in str(refused.value)


@every
def test_other_penalties_are_refused(name):
    X, y = blobs(30)
    with pytest.raises(InputError, match=f"^solver {name} needs the l2 penalty, not l1$"):
        solve(LinearRisk(Gram(Linear(), X), y, 1.0, penalty="l1"), make(name), stop=Iterations(3))
