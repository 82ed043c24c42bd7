"""Models by their matrix over columns by rows, and the start from a sample: the optima stay those of LIBLINEAR."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Lasso
from support.liblinear import liblinear, primal
from svmkit_coordinate import rows as rows_of_columns
from svmkit_coordinate.columns import take_columns
from svmkit_coordinate.primal_state import FEW, MANY, State
from svmkit_coordinate.rows import Model, Rows, Separate

from svmkit import plugins
from svmkit.kernels.functions import Linear
from svmkit.kernels.gram import Gram
from svmkit.losses import Logistic, SquaredError, SquaredHinge
from svmkit.problems.risks.design import Design
from svmkit.solver.loop.solve import solve
from svmkit.solver.sampler import Draws, Full
from svmkit.solver.stopping import Gap, Iterations


def thin(m=300, d=40, seed=0):
    """Sparse X with explicit zeros, a constant column and an empty one, and labels, 97 of 100 of which are -1."""
    rng = np.random.default_rng(seed)
    X = sp.random(m, d, 0.1, format="csr", rng=rng)
    X.data[::7] = 0.0
    X = sp.hstack([X, np.ones((m, 1)), np.zeros((m, 1))], format="csr")
    score = X @ rng.normal(size=d + 2) + 0.1 * rng.normal(size=m)
    return X, np.where(score > np.quantile(score, 0.97), 1.0, -1.0)


def pose(X, y, C, loss, **options):
    solver = plugins.build("solver", "cd", {"loss": loss, **options})
    return solver.pose(Gram(Linear(), X), y, C, loss), solver


@pytest.mark.parametrize("bias", [0.0, 2.0])
@pytest.mark.parametrize("chosen", [[0, 3, 40], list(range(42)), []])
@pytest.mark.parametrize("kind", [np.float64, np.float32, None], ids=["float64", "float32", "dense"])
@pytest.mark.parametrize("room", [1, 1 << 22])
def test_products_are_those_of_the_columns(room, chosen, bias, kind, monkeypatch):
    monkeypatch.setattr(rows_of_columns, "ROOM", room)
    X, _ = thin()
    design = Design(Gram(Linear(), X.toarray() if kind is None else X.astype(kind)), bias)
    rows = Rows.take(design, np.array(chosen, dtype=np.int64), True)
    if kind is None and len(chosen) < 42:
        assert rows is None
        return
    A = X.toarray()[:, chosen]
    A = np.hstack([A, np.ones((300, 1))]) if bias else A
    rng = np.random.default_rng(1)
    beta, step, curvature = rng.normal(size=300), rng.normal(size=A.shape[1]), rng.random(300)
    curvature[::5] = 0.0
    near = {"rtol": 1e-5, "atol": 1e-6} if kind is np.float32 else {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(rows.pulls(beta), A.T @ beta, **near)
    np.testing.assert_allclose(rows.change(step), A @ step, **near)

    z, l1, l2 = np.zeros(A.shape[1]), np.full(A.shape[1], 0.5), np.full(A.shape[1], 0.1)
    rows.minimise(Model(curvature, beta, A.T @ beta, z, Separate(l1, l2)), 1e-10, lambda: False)
    slope = A.T @ (curvature * (A @ z)) + l2 * z - A.T @ beta
    assert np.all(np.where(z != 0.0, np.abs(slope + l1 * np.sign(z)), np.abs(slope) - l1) <= 1e-4)


def test_thick_rows_are_left_to_passes_over_columns():
    X = sp.csr_array(np.ones((50, 100)))
    assert Rows.take(Design(Gram(Linear(), X), 0.0), np.arange(100), False) is None


def test_squares_on_few_dense_columns_take_one_step():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 100))
    t = X[:, :9].sum(axis=1) + rng.normal(size=500)
    problem, solver = pose(X, t, 0.01, SquaredError(), bias=0.0)
    solution = solve(problem, solver, stop=Gap(1e-9))
    assert solution.n_iter == 1 and solution.certificate.gap <= 1e-9
    peer = Lasso(1.0 / (2.0 * 500 * 0.01), fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X, t)
    np.testing.assert_allclose(solution.point, peer.coef_, atol=1e-7)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("bias", [0.0, 2.0])
def test_equal_curvatures_of_dense_rows(bias, kind):
    X = np.random.default_rng(0).normal(size=(rows_of_columns.CHUNK + 7, 5)).astype(kind)
    rows = Rows.take(Design(Gram(Linear(), X), bias), np.arange(5), True)
    A = np.hstack([X, np.ones((len(X), int(bias > 0.0)))]).astype(np.float64)
    H = rows._matrix(np.full(len(X), 0.3), np.arange(A.shape[1]))
    np.testing.assert_allclose(H, 0.3 * A.T @ A, rtol=1e-12, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("loss", [SquaredHinge(), Logistic()], ids=["squared hinge", "logistic"])
@pytest.mark.parametrize("bias", [0.0, 1.0, "free"])
def test_rare_classes_and_any_C(bias, loss):
    X, y = thin(m=FEW * MANY + 3, d=20)
    wide = X.copy()
    wide.indices, wide.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    for C in (1e-4, 0.1, 10.0, 1e6):
        optima = []
        for kind in (X, wide, X.toarray()):
            problem, solver = pose(kind, y, C, loss, bias=bias)
            certificate = solve(problem, solver, stop=Gap(1e-5) | Iterations(300)).certificate
            assert certificate.flaw is None and certificate.dual <= certificate.primal
            optima.append((certificate.dual, certificate.primal))
            assert certificate.gap <= 1e-5 or C > 1e3
        assert max(low for low, _ in optima) <= min(high for _, high in optima)
        if loss.name == "squared_hinge" and bias != "free" and C <= 10.0:
            theirs = primal(X, y, C, liblinear(X, y, C, "squared_hinge", bias, "l1", tol=1e-6), loss.name, bias, "l1")
            assert optima[0][0] <= theirs * (1.0 + 1e-12) and optima[0][1] <= theirs * (1.0 + 1e-5)


def test_many_rows_begin_where_a_sample_ends():
    X, y = thin(m=FEW * MANY, d=20)
    problem, _ = pose(X, y, 1.0, SquaredHinge(), bias=1.0)
    state = State(problem, None, Draws(Full(), problem.y, 0))
    assert state.w.any() and state.primal < 0.8 * problem.total_loss(np.zeros(problem.m))
    part = problem.sample(np.arange(0, problem.m, FEW))
    h = np.zeros(part.m)
    assert part.total_loss(h) == pytest.approx(problem.total_loss(np.zeros(problem.m)), rel=1e-12)

    y = np.full(problem.m, -1.0)
    y[1::FEW] = 1.0  # none of which is in the sample
    problem, _ = pose(X, y, 1.0, SquaredHinge(), bias="free")
    assert not State(problem, None, Draws(Full(), problem.y, 0)).w[:-1].any()


@pytest.mark.parametrize("bias", [0.0, 2.0])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_columns_that_were_taken_are_copied(kind, bias):
    X = np.random.default_rng(0).normal(size=(30, 9)).astype(kind)
    design = Design(Gram(Linear(), X), bias)
    before = np.array([1, 4, 5, 8])
    A = take_columns(design, before)
    for chosen in ([0, 4, 7, 8], [1, 4, 5, 8], [2, 3], []):
        taken = take_columns(design, np.array(chosen, dtype=np.int64), before, A)
        np.testing.assert_array_equal(taken[: len(chosen)], X[:, chosen].T)
        assert len(taken) == len(chosen) + (bias > 0.0) and (taken[len(chosen) :] == 1.0).all()
