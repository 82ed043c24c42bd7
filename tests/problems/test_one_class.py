"""OneClassQP against a trusted QP solver, LIBSVM and its own definition; its best rho, starts and refusals."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import OneClassSVM
from support.problems import blobs

from svmkit import InputError, Status, plugins
from svmkit.kernels.functions import RBF, Linear
from svmkit.kernels.gram import Gram
from svmkit.kernels.gram.complete import CompleteKernel
from svmkit.problems.one_class import OneClassQP, pick_evenly
from svmkit.problems.simplex import SimplexQP
from svmkit.solver.loop.solve import solve
from svmkit.solver.selection import by_name
from svmkit.solver.stopping import Gap

SOLVERS = [name for name in plugins.solvers_where(lambda solver: OneClassQP in solver.further) if name != "auto"]


def posed(m=60, nu=0.3, *, weighted=False, kernel=None, complete=False, seed=0):
    X = blobs(m, 3, seed=seed)[0] + 3.0
    weights = np.random.default_rng(seed).uniform(0.2, 3.0, m) if weighted else None
    kernel = kernel or RBF(0.5)
    gram = CompleteKernel(kernel, X, [np.arange(m)], 1 << 26).gram(0, 0) if complete else Gram(kernel, X)
    return X, OneClassQP(gram, nu, weights)


def optimum(K, upper, total):
    """The least alpha'K alpha / 2 by quadprog."""
    quadprog = pytest.importorskip("quadprog", reason="needs the trusted QP solver quadprog (extra `test`)")
    m = len(K)
    if total >= upper.sum() * (1.0 - 1e-12):
        return 0.5 * upper @ K @ upper  # the only feasible point
    sides = np.hstack([np.ones((m, 1)), np.eye(m), -np.eye(m)])
    return quadprog.solve_qp(K + 1e-12 * np.eye(m), np.zeros(m), sides, np.r_[total, np.zeros(m), -upper], 1)[1]


def primal(problem, K, alpha, rho):
    slack = np.maximum(0.0, rho - K @ alpha)
    return 0.5 * alpha @ K @ alpha - problem.total * rho + problem.upper @ slack


@pytest.mark.parametrize("complete", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("nu", [0.05, 0.3, 0.8, 1.0])
@pytest.mark.parametrize("name", SOLVERS)
def test_every_solver_finds_the_optimum_and_certifies_it(name, nu, weighted, complete):
    X, problem = posed(nu=nu, weighted=weighted, complete=complete)
    K = rbf_kernel(X, gamma=0.5)
    best = -optimum(K, problem.upper, problem.total)
    found = solve(problem, by_name.solver(name), stop=Gap(1e-9))
    certificate = found.certificate
    assert found.status is Status.CONVERGED and problem.infeasible(found.point) is None
    slack = 1e-8 * abs(best)  # of the reference
    assert certificate.dual - slack <= best <= certificate.primal + slack
    assert certificate.primal == pytest.approx(primal(problem, K, found.point, -certificate.bias), rel=1e-9)
    assert certificate.primal - certificate.dual <= 1e-9 * abs(best) + slack


@pytest.mark.parametrize("name", SOLVERS)
def test_a_loose_gap_bounds_the_suboptimality(name):
    X, problem = posed(80, 0.4, kernel=Linear())
    found = solve(problem, by_name.solver(name), stop=Gap(0.05)).certificate
    best = -optimum(X @ X.T, problem.upper, problem.total)
    assert found.dual - 1e-6 <= best <= found.primal + 1e-6
    assert found.primal - best <= found.gap * max(abs(found.primal), abs(found.dual)) + 1e-6


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("nu", [0.1, 0.5, 0.9])
def test_the_best_rho_is_a_weighted_quantile(nu, weighted):
    X, problem = posed(50, nu, weighted=weighted)
    alpha = problem.fill(np.random.default_rng(3).permutation(50))
    v = problem.gradient(alpha)
    rho = -problem.best_bias(v, alpha)
    K = rbf_kernel(X, gamma=0.5)
    for other in np.r_[v, rho - 1e-3, rho + 1e-3]:
        assert primal(problem, K, alpha, rho) <= primal(problem, K, alpha, other) + 1e-12
    assert problem.upper[v < rho].sum() <= problem.total * (1.0 + 1e-12) <= problem.upper[v <= rho].sum() * (1 + 2e-12)


def test_libsvms_solution_is_certified():
    X, problem = posed(100, 0.25)
    fitted = OneClassSVM(nu=0.25, gamma=0.5, tol=1e-10).fit(X)
    alpha = np.zeros(100)
    alpha[fitted.support_] = fitted.dual_coef_[0]
    certificate = problem.certificate(np.minimum(alpha, 1.0))
    assert certificate.gap <= 1e-5  # LIBSVM keeps kernel rows in float32
    assert -certificate.bias == pytest.approx(float(fitted.offset_[0]), rel=1e-5)


def test_the_gradient_is_that_of_the_objective():
    _, problem = posed(20)
    alpha = problem.first_point()
    numeric = np.empty(20)
    for i in range(20):
        step = np.zeros(20)
        step[i] = 1e-5
        numeric[i] = (problem.objective(alpha + step) - problem.objective(alpha - step)) / 2e-5
    np.testing.assert_allclose(problem.gradient(alpha), numeric, atol=1e-6)
    np.testing.assert_allclose(problem.image(alpha[[2, 5]], np.array([2, 5])), rbf_kernel(
        problem.gram.engine.X, problem.gram.engine.X[[2, 5]], gamma=0.5) @ alpha[[2, 5]], atol=1e-12)  # fmt: skip


def around_the_origin():
    """A problem whose optimum is 0, for its samples are centred, and a point of it."""
    X = blobs(80, 6, seed=1)[0] * 10.0 ** np.linspace(0.0, 2.0, 6)
    problem = OneClassQP(Gram(Linear(), X - X.mean(axis=0)), 0.5)
    return problem, np.full(80, 0.5)


@pytest.mark.parametrize("name", SOLVERS)
def test_where_the_optimum_is_0_a_solve_ends_with_a_gap_that_is_rounding(name):
    problem, optimal = around_the_origin()
    found = solve(problem, by_name.solver(name), stop=Gap(1e-3))
    certificate, size = found.certificate, 40.0**2 * problem.diag.max()
    assert found.status is Status.STALLED and certificate.is_exhausted and certificate.gap >= 1.0
    assert certificate.primal >= 0.0 >= certificate.dual >= -1e-12 * size  # P of the constant 0 is 0
    assert problem.objective(optimal) <= 1e-16 * size


def test_no_step_proves_more_where_rounding_is_all_that_keeps_the_dual_from_0():
    problem, optimal = around_the_origin()
    away = problem.first_point() - optimal
    for t, is_rounding in ((1e-3, False), (1e-5, False), (1e-9, True), (1e-10, True)):
        point = optimal + t * away
        certificate, f = problem.certificate(point), problem.objective(point)
        of_dual = -f - certificate.dual
        assert certificate.primal > 20.0 * of_dual, "P is far from its own rounding"
        assert certificate.is_exhausted is is_rounding is (of_dual > f)


@pytest.mark.parametrize(("m", "some"), [(15, 15), (90, 50), (700, 70), (2_100, 200)])
def test_the_start_is_where_few_samples_are_by_the_kernel_values_of_some(m, some):
    X, problem = posed(m, 0.1)
    first = problem.first_point()
    assert problem.gram.kernel_values == some * m
    sums = rbf_kernel(X, gamma=0.5).sum(axis=1)
    assert sums[first > 0.0].mean() < 0.8 * sums.mean()


@pytest.mark.parametrize("weighted", [False, True])
def test_starts_are_feasible(weighted):
    _, problem = posed(50, 0.3, weighted=weighted)
    rng = np.random.default_rng(0)
    assert problem.infeasible(problem.first_point()) is None
    for scale in (0.01, 1.0, 100.0):
        coef = scale * rng.random(50)
        coef[:10] = 0.0
        point = problem.start(coef)
        assert problem.infeasible(point) is None and not point[:10].any()
    few = np.zeros(50)
    few[:3] = 1.0
    assert problem.start(few) is None  # three samples cannot hold so much
    again = problem.start(2.0 * problem.first_point())
    np.testing.assert_allclose(again, problem.first_point(), atol=1e-9)


@pytest.mark.parametrize("complete", [False, True])
def test_a_start_at_the_optimum_stays_there(complete):
    _, problem = posed(50, 0.3, complete=complete)
    first = solve(problem, by_name.solver("smo"), stop=Gap(1e-8))
    for name in ("smo", "fcsmo"):
        again = solve(problem, by_name.solver(name), stop=Gap(1e-7), start=first.point)
        assert again.n_iter == 0 and again.status is Status.CONVERGED


@pytest.mark.parametrize(
    ("nu", "weights", "words"),
    [
        (0.0, None, "nu=0 is infeasible: the one-class SVM needs 0 < nu <= 1"),
        (1.5, None, "nu=1.5 is infeasible"),
        (0.5, np.zeros(60), "weights must be 60 finite numbers > 0"),
        (0.5, np.ones(3), "weights must be 60"),
    ],
)
def test_what_is_refused(nu, weights, words):
    with pytest.raises(InputError, match=words):
        OneClassQP(Gram(RBF(0.5), blobs(60, 3)[0]), nu, weights)


def test_solvers_of_other_problems_name_those_that_can():
    _, problem = posed()
    with pytest.raises(InputError, match="solver fcfw solves SimplexQP, not OneClassQP; OneClassQP: auto, fcsmo, smo"):
        solve(problem, by_name.solver("fcfw"))
    with pytest.raises(InputError, match="solver smo solves BoxQP, not SimplexQP; SimplexQP: auto, "):
        solve(SimplexQP(problem.gram), by_name.solver("smo"))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda a: a + 1e-3, "at most 1"),
        (lambda a: 0.5 * a, "weights should sum to 18, not 9"),
        (lambda a: -a, ">= 0"),
        (lambda a: a[1:], "shape"),
    ],
)
def test_infeasible_points_are_told_apart(change, reason):
    _, problem = posed()
    assert reason in problem.infeasible(change(problem.first_point()))


def test_some_samples_are_picked_from_the_first_to_the_last():
    assert pick_evenly(1001, 3).tolist() == [0, 500, 1000]
    assert pick_evenly(3, 200).tolist() == [0, 1, 2] and pick_evenly(1, 200).tolist() == [0]
