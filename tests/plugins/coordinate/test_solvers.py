"""dcd: its optimum is LIBLINEAR's, whatever the storage, the weights, the bias, C and the order of the points."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC
from support.liblinear import every_loss, liblinear, primal, total
from support.problems import blobs, make
from support.storages import frozen, int64

from svmkit.kernels.functions import Linear
from svmkit.kernels.gram import Gram
from svmkit.solver.loop.solve import solve
from svmkit.solver.selection.by_name import sampler
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations
from svmkit.training.train import fit

pytestmark = pytest.mark.usefixtures("one_pool")

TIGHT = Gap(1e-9) | Iterations(100_000)


def explicit_zeros(X):
    S = sp.csr_array(X)
    S.data[::3] = 0.0
    return S


def twice(X):
    """Each value in two parts: entries of a CSR that have to be summed."""
    S = sp.csr_array(X)
    data = np.concatenate([np.append(0.25 * part, 0.75 * part) for part in np.split(S.data, S.indptr[1:-1])])
    indices = np.concatenate([np.append(part, part) for part in np.split(S.indices, S.indptr[1:-1])])
    return sp.csr_array((data, indices, 2 * S.indptr), shape=S.shape)


STORAGES = {
    "dense": np.asarray,
    "float32": lambda X: X.astype(np.float32),
    "by columns": np.asfortranarray,
    "csr": sp.csr_array,
    "csr, int64": int64,
    "csr, float32": lambda X: sp.csr_array(X.astype(np.float32)),
    "csr, explicit zeros": explicit_zeros,
    "csr, read only": lambda X: frozen(sp.csr_array(X)),
    "csr, entries to be summed": twice,
}


def ugly(m=90, share=0.4, seed=0):
    """Overlapping classes with a constant column, equal rows of both classes and two rows of zeros."""
    X, y = blobs(m, 4, seed=seed, share=share, shift=0.5)
    X[:, -1] = 3.0
    X[1], X[2] = X[0], X[0]
    X[5], X[6], y[5], y[6] = 0.0, 0.0, 1.0, -1.0
    return X, y


def optimum(X, y, C=1.0, loss="hinge", bias=1.0) -> tuple[np.ndarray, float]:
    """(w with the weight of the bias column behind it, P) of LIBLINEAR."""
    w = liblinear(X, y, C, loss, bias)
    return w if bias else np.append(w, 0.0), primal(X, y, C, w, loss, bias)


def dcd(X, y, C=1.0, loss="hinge", bias=1.0, stop=TIGHT, **others):
    return fit(X, y, solver=make("dcd", loss=loss, bias=bias), kernel=Linear(), C=C, stop=stop, **others)


def same(trained, reference):
    """P is strongly convex: |w - w*|^2 <= 2 (P - P*) <= 2 (P - D)."""
    w, primal = reference
    assert trained.objective == pytest.approx(primal, rel=1e-6)
    assert trained.dual_objective <= primal * (1.0 + 1e-9)
    distance = np.linalg.norm(trained.model.weights[0] - w[:-1])
    assert distance <= np.sqrt(2.0 * max(trained.objective - trained.dual_objective, 0.0)) + 1e-5 * np.linalg.norm(w)


@every_loss
@pytest.mark.parametrize("storage", STORAGES.values(), ids=STORAGES)
def test_every_storage_gives_liblinears_optimum(storage, loss):
    X, y = ugly()
    stored = storage(X)
    same(dcd(stored, y, 0.3, loss), optimum(stored, y, 0.3, loss))


@every_loss
@pytest.mark.parametrize("bias", [0.0, 1.0, 4.0])
def test_bias_is_a_column(bias, loss):
    X, y = ugly()
    y[:20] = 1.0
    trained = dcd(X, y, 0.3, loss, bias)
    w, P = optimum(X, y, 0.3, loss, bias)
    same(trained, (w, P))
    assert trained.model.intercept[0] == pytest.approx(bias * w[-1], abs=1e-4)
    assert bias > 0.0 or trained.model.intercept[0] == 0.0


@every_loss
def test_weights_of_samples_are_costs(loss):
    X, y = ugly()
    weights = np.random.default_rng(3).uniform(0.05, 4.0, len(y))
    weights[::7] = 0.0
    same(dcd(X, y, 0.5, loss, sample_weight=weights), optimum(X, y, 0.5 * weights, loss))


@every_loss
@pytest.mark.parametrize("C", [1e-4, 1e-2, 1.0, 30.0])
@pytest.mark.parametrize("share", [0.5, 0.03])
def test_every_C(C, share, loss):
    X, y = ugly(share=share)
    reference = optimum(X, y, C, loss)
    same(dcd(X, y, C, loss), reference)


@every_loss
@pytest.mark.parametrize("C", [1e4, 1e6])
@pytest.mark.parametrize("share", [0.5, 0.03])
def test_a_huge_C_takes_long_but_never_misleads(C, share, loss):
    X, y = ugly(share=share)
    trained = dcd(X, y, C, loss, stop=Gap(1e-3) | Iterations(500))
    assert -1e-12 <= trained.gap <= 1.0
    _, P = optimum(X, y, 1.0, loss)
    assert trained.dual_objective <= C * P  # P(C) <= C P(1)
    assert (trained.status is Status.CONVERGED) == (trained.gap <= 1e-3)


@every_loss
@pytest.mark.parametrize("shape", [(30, 90), (60, 1), (2, 3)], ids=str)
def test_every_shape(shape, loss):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=shape), np.where(np.arange(shape[0]) % 3, 1.0, -1.0)
    for bias in (0.0, 1.0):
        same(dcd(X, y, 0.5, loss, bias), optimum(X, y, 0.5, loss, bias))


@every_loss
@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_no_information_at_all(bias, loss):
    y = np.where(np.arange(20) < 8, 1.0, -1.0)
    trained = dcd(np.zeros((20, 3)), y, 1.0, loss, bias)
    assert trained.gap <= 1e-9 and (trained.model.weights == 0.0).all()
    assert trained.objective == pytest.approx(optimum(np.zeros((20, 3)), y, 1.0, loss, bias)[1], rel=1e-8)


@every_loss
def test_the_same_rows_with_both_labels(loss):
    X, _ = blobs(25, 3)
    X, y = np.vstack([X, X]), np.repeat([1.0, -1.0], 25)
    trained = dcd(X, y, 1.0, loss)
    assert trained.objective == pytest.approx(50.0, rel=1e-6)
    np.testing.assert_allclose(trained.model.weights, 0.0, atol=1e-5)


@every_loss
@pytest.mark.parametrize("order", ["shuffled", "full", "uniform:20", "permuted:7", "balanced:30", "cyclic:11"])
@pytest.mark.parametrize("shrinking", [True, False])
def test_every_order_leads_to_the_same_optimum(order, shrinking, loss):
    X, y = ugly()
    solver = make("dcd", loss=loss, shrinking=shrinking)
    problem = solver.pose(Gram(Linear(), X), y, 0.1)
    solution = solve(problem, solver, sampler=sampler(order), stop=Gap(1e-7) | Iterations(100_000))
    assert solution.status is Status.CONVERGED
    assert solution.certificate.primal == pytest.approx(optimum(X, y, 0.1, loss)[1], rel=1e-6)


@pytest.mark.data
@every_loss
@pytest.mark.parametrize("name", ["a9a", "w8a"])
def test_real_sets(real_set, name, loss):
    data = real_set(name)
    X, y = data.X[:8000].astype(np.float64), np.where(data.y[:8000] > 0, 1.0, -1.0)
    X = sp.csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
    tight = 1e-5 if loss == "hinge" else 1e-7
    trained = dcd(X, y, 0.1, loss, stop=Gap(tight))
    model = LinearSVC(C=0.1, loss=loss, dual=True, tol=1e-4, max_iter=100_000, random_state=0).fit(X, y)
    w = np.append(model.coef_[0], model.intercept_)
    primal = 0.5 * float(w @ w) + total(loss, 1.0 - y * model.decision_function(X), np.full(len(y), 0.1))
    assert trained.status is Status.CONVERGED
    assert trained.dual_objective <= primal and trained.objective <= primal * (1.0 + 2.0 * tight)
