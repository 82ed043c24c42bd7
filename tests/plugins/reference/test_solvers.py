"""libsvm: SVC's own solution through our door, certified; what it cannot do is said."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import pairwise
from sklearn.svm import SVC
from support.problems import blobs, make
from svmkit_reference.reference import Fitted
from svmkit_reference.svc import LIBSVM

from svmkit import plugins
from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, FromFunction, Laplacian, Linear, Poly, Precomputed, Sigmoid
from svmkit.kernels.gram import Gram
from svmkit.problems.box import BoxQP
from svmkit.problems.tube import TubeQP
from svmkit.solver.loop.solve import solve
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations, Violation

KERNELS = {
    "linear": (Linear(), {"kernel": "linear"}, pairwise.linear_kernel),
    "rbf": (RBF(0.5), {"kernel": "rbf", "gamma": 0.5}, lambda A: pairwise.rbf_kernel(A, gamma=0.5)),
    "poly": (
        Poly(0.25, 2, 1.0),
        {"kernel": "poly", "gamma": 0.25, "degree": 2, "coef0": 1.0},
        lambda A: pairwise.polynomial_kernel(A, gamma=0.25, degree=2, coef0=1.0),
    ),
    "sigmoid": (
        Sigmoid(0.01, 0.5),
        {"kernel": "sigmoid", "gamma": 0.01, "coef0": 0.5},
        lambda A: pairwise.sigmoid_kernel(A, gamma=0.01, coef0=0.5),
    ),
}


def data(m=90, seed=0):
    X, y = blobs(m, 3, seed=seed, share=0.4)
    return X, y, np.random.default_rng(seed).uniform(0.2, 3.0, m)


def values(model: SVC, K, y, C):
    """(P, D) of a fitted SVC by plain matrix products."""
    beta_y = np.zeros(len(y))
    coef = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
    beta_y[model.support_] = coef[0]
    h = K @ beta_y
    loss = C @ np.maximum(0.0, 1.0 - y * (h + model.intercept_[0]))
    return 0.5 * beta_y @ h + loss, np.abs(beta_y).sum() - 0.5 * beta_y @ h


def weights(model: SVC, m):
    beta = np.zeros(m)
    coef = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
    beta[model.support_] = np.abs(coef[0])
    return beta


@pytest.mark.parametrize("name", KERNELS)
def test_the_same_numbers_as_svc(name):
    kernel, params, matrix = KERNELS[name]
    X, y, C = data()
    theirs = SVC(C=1.0, tol=1e-6, **params).fit(X, y, sample_weight=C)
    ours = solve(BoxQP(Gram(kernel, X), y, C), LIBSVM(eps=1e-6), stop=Violation(1e-6))
    np.testing.assert_array_equal(ours.point, weights(theirs, len(y)))
    primal, dual = values(theirs, matrix(X), y, C)
    indefinite = bool(np.linalg.eigvalsh(matrix(X))[0] < -1e-6)
    assert (ours.certificate.flaw is not None) is (ours.certificate.dual is None) is indefinite
    assert indefinite or ours.certificate.dual == pytest.approx(dual, rel=1e-9)
    assert ours.certificate.primal == pytest.approx(primal, rel=1e-6)
    assert ours.certificate.primal <= primal * (1 + 1e-12)  # our bias is the best one, theirs a mean
    assert ours.certificate.bias == pytest.approx(theirs.intercept_[0], abs=1e-4)
    assert ours.n_iter == theirs.n_iter_[0]
    assert ours.status is (Status.NOT_CERTIFIED if indefinite else Status.CONVERGED)


def test_kernels_that_svc_lacks_go_as_a_matrix():
    X, y, C = data()
    K = pairwise.laplacian_kernel(X, gamma=0.5)
    theirs = SVC(kernel="precomputed", C=1.0, tol=1e-6).fit(K, y, sample_weight=C)
    for kernel, given in (
        (Laplacian(0.5), X),
        (Precomputed(), K),
        (FromFunction(lambda A, B: pairwise.laplacian_kernel(A, B, gamma=0.5)), X),
    ):
        gram = Gram(kernel, given)
        ours = solve(BoxQP(gram, y, C), LIBSVM(eps=1e-6), stop=Violation(1e-6))
        np.testing.assert_allclose(ours.point, weights(theirs, len(y)), atol=1e-4)
        assert ours.certificate.gap < 1e-5 and gram.kernel_values >= len(y) ** 2


def test_a_matrix_that_does_not_fit_is_refused():
    X, y, _ = data(200)
    problem = BoxQP(Gram(Laplacian(0.5), X, memory="100KB"), y, 1.0)
    with pytest.raises(InputError, match=r"all 200 x 200 values of the laplacian kernel, 0 MB, more than the memory"):
        solve(problem, LIBSVM())
    assert solve(BoxQP(Gram(RBF(0.5), X, memory="100KB"), y, 1.0), LIBSVM()).status is Status.CONVERGED


def _read_only(X):
    X.setflags(write=False)
    return X


@pytest.mark.parametrize(
    "stored",
    [
        lambda X: X.astype(np.float32),
        np.asfortranarray,
        _read_only,
        sp.csr_array,
        lambda X: sp.csr_array(X.astype(np.float32)),
        lambda X: sp.csr_array(
            (sp.csr_array(X).data, sp.csr_array(X).indices.astype(np.int64), sp.csr_array(X).indptr.astype(np.int64)),
            shape=X.shape,
        ),
    ],
    ids=["float32", "fortran", "read-only", "csr", "csr float32", "csr int64"],
)
def test_every_storage(stored):
    X, y, C = data()
    X[np.abs(X) < 0.3] = 0.0
    given = stored(X.copy())
    before = given.indices.copy() if sp.issparse(given) else given.copy()
    ours = solve(BoxQP(Gram(RBF(0.5), given), y, C), LIBSVM(), stop=Gap(1e-4))
    want = solve(BoxQP(Gram(RBF(0.5), X), y, C), LIBSVM(), stop=Gap(1e-4))
    np.testing.assert_allclose(ours.point, want.point, atol=1e-3)
    assert ours.certificate.gap <= 1e-4
    np.testing.assert_array_equal(given.indices if sp.issparse(given) else given, before)


def test_a_point_within_its_box_whatever_rounding_says():
    X, y, _ = data()
    C = np.full(len(y), 0.1 + 1e-9)
    for scale in (1e-4, 1.0, 1e6):
        problem = BoxQP(Gram(RBF(0.5), X), y, C * scale)
        point = solve(problem, LIBSVM()).point
        assert problem.infeasible(point) is None and (scale > 1.0 or (point == C * scale).any())


def test_weights_that_are_off_are_brought_back():
    from svmkit_reference.svc import _make_feasible

    X, y, _ = data(40)
    problem = BoxQP(Gram(RBF(0.5), X), y, 1.0)
    rough = np.where(y > 0, 1.0 + 1e-7, 0.5).astype(np.float32)
    point = _make_feasible(problem, y * rough)
    assert problem.infeasible(point) is None and np.abs(point - rough).max() < 0.4
    assert problem.infeasible(_make_feasible(problem, np.where(y > 0, 1.0, 0.0))) is None
    tube = TubeQP(Gram(RBF(0.5), X), X[:, 0], 1.0, 0.1)
    point = _make_feasible(tube, y * rough)
    assert tube.infeasible(point) is None and np.abs(point - y * rough).max() < 0.4
    assert tube.infeasible(_make_feasible(tube, np.ones(40))) is None


def test_it_fits_again_until_the_certificate_holds():
    X, y, C = data(200)
    problem = BoxQP(Gram(RBF(0.5), X), y, 10 * C)
    solution = solve(problem, LIBSVM(eps=1.0), stop=Gap(1e-5))
    gaps = [point.gap for point in solution.history]
    assert solution.status is Status.CONVERGED and solution.certificate.gap <= 1e-5
    assert len(gaps) > 2 and gaps[0] > 1e-2 and gaps == sorted(gaps, reverse=True)
    assert solve(problem, LIBSVM(eps=1.0), stop=Gap(0.9)).n_iter < solution.n_iter


def test_what_it_cannot_reach_is_stalled_not_converged():
    """LIBSVM's kernel rows are float32: no eps takes the gap below what that resolves."""
    X, y, C = data(200)
    solution = solve(BoxQP(Gram(RBF(0.5), X), y, 1000 * C), LIBSVM(), stop=Gap(1e-15))
    assert solution.status is Status.STALLED and 1e-15 < solution.certificate.gap < 1e-2


class Hasty(LIBSVM):
    def patience(self, m):
        return 20


@pytest.mark.parametrize(("stop", "status"), [(Gap(1e-6), Status.MAX_ITER), (Gap(1e-6) | Iterations(10), "max_iter")])
def test_out_of_iterations_is_said_in_the_status_alone(stop, status):
    X, y, C = data(200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = solve(BoxQP(Gram(RBF(0.5), X), y, 100 * C), Hasty(), stop=stop)
    assert solution.status == status and solution.n_iter == 20 and 1e-6 < solution.certificate.gap <= 1.0


def test_a_start_is_left_aside():
    X, y, C = data()
    problem = BoxQP(Gram(RBF(0.5), X), y, C)
    cold = solve(problem, LIBSVM())
    warm = solve(problem, LIBSVM(), start=cold.point)
    np.testing.assert_array_equal(warm.point, cold.point)
    assert warm.n_iter == cold.n_iter


@pytest.mark.parametrize("eps", [0.0, -1.0, np.nan, np.inf])
def test_eps_out_of_range(eps):
    with pytest.raises(InputError, match="eps must be a finite number > 0"):
        LIBSVM(eps=eps)


def test_shrinking_and_memory_do_not_change_the_result():
    X, y, C = data(150)
    want = solve(BoxQP(Gram(RBF(0.5), X), y, C), LIBSVM(eps=1e-5), stop=Gap(1e-4))
    for solver, memory in ((LIBSVM(eps=1e-5, shrinking=False), "1GB"), (LIBSVM(eps=1e-5), "20KB")):
        other = solve(BoxQP(Gram(RBF(0.5), X, memory=memory), y, C), solver, stop=Gap(1e-4))
        assert other.certificate.dual == pytest.approx(want.certificate.dual, rel=1e-7)


# --- scikit-learn-intelex, where it is installed


@pytest.mark.parametrize("name", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array, np.float32], ids=["dense", "csr", "float32"])
def test_sklearnex_agrees_with_libsvm(name, stored):
    pytest.importorskip("sklearnex", reason="needs scikit-learn-intelex")
    X, y, C = data(300)
    problem = BoxQP(Gram(KERNELS[name][0], stored(X)), y, C)
    ours, theirs = (solve(problem, make(solver), stop=Gap(1e-3)) for solver in ("sklearnex", "libsvm"))
    assert ours.status is Status.CONVERGED and ours.certificate.gap <= 1e-3
    assert problem.infeasible(ours.point) is None
    assert ours.certificate.dual == pytest.approx(theirs.certificate.dual, rel=1e-3)
    assert ours.certificate.primal == pytest.approx(theirs.certificate.primal, rel=1e-3)


@pytest.mark.parametrize("name", ["libsvm", "liblinear"])
def test_a_first_eps_below_the_finest_one_is_fitted_once(name, monkeypatch):
    """A tenth of an eps is pointless below 1e-9, but the eps that was asked for is not."""
    solver, asked = plugins.build("solver", name, {"eps": 1e-10}), []

    def fit_once(self, problem, eps, seed, over):
        asked.append(eps)
        return Fitted(self.zero(problem), 7, False)

    monkeypatch.setattr(type(solver), "fit_once", fit_once)
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    problem = solver.pose(Gram(Linear(), X), y, 1.0)
    solution = solve(problem, solver, stop=Gap(1e-6) | Iterations(100))
    assert asked == [1e-10] and solution.n_iter == 7
