"""NuBoxQP and NuTubeQP against NuSVC, NuSVR and a trusted QP solver; their levels, starts, fractions and refusals."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import NuSVC, NuSVR
from support.problems import blobs

from svmkit import InputError, Status, plugins
from svmkit.kernels.functions import RBF, Linear
from svmkit.kernels.gram import Gram
from svmkit.kernels.gram.complete import CompleteKernel
from svmkit.problems.nu_dual import NuBoxQP, NuQP, NuTubeQP
from svmkit.solver.loop.solve import solve
from svmkit.solver.selection import by_name
from svmkit.solver.stopping import Gap, Iterations

SOLVERS = [name for name in plugins.solvers_where(lambda solver: NuQP in solver.further) if name != "auto"]
C = 2.0


def weights_of(m, weighted):
    return np.random.default_rng(1).uniform(0.3, 2.0, m) if weighted else np.ones(m)


def two_classes(m=80, nu=0.5, *, weighted=False, complete=False, share=0.5):
    X, y = blobs(m, 3, share=share)
    kernel = RBF(0.5)
    gram = CompleteKernel(kernel, X, [np.arange(m)], 1 << 26).gram(0, 0) if complete else Gram(kernel, X)
    return X, y, NuBoxQP(gram, y, weights_of(m, weighted), nu)


def quantities(m=80, nu=0.5, *, weighted=False):
    X = blobs(m, 3)[0]
    t = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.3 * np.random.default_rng(4).normal(size=m) + 5.0
    return X, t, NuTubeQP(Gram(RBF(0.5), X), t, C * weights_of(m, weighted), nu)


def values(problem, solution):
    found = problem.decision_function(solution.point, solution.certificate)
    return problem.gram.matvec(found.coef, np.arange(problem.m)) + found.intercept


def optimum(problem):
    """The least value over (a, a') by quadprog."""
    quadprog = pytest.importorskip("quadprog", reason="needs the trusted QP solver quadprog (extra `test`)")
    m, K = problem.m, problem.gram.block(np.arange(problem.m), np.arange(problem.m))
    use = np.flatnonzero(np.r_[problem.over, problem.under])
    signs = np.r_[np.ones(m), -np.ones(m)][use]
    Q = signs[:, None] * K[np.ix_(use % m, use % m)] * signs + 1e-9 * np.eye(len(use))
    sums = np.stack([signs > 0.0, signs < 0.0], axis=1).astype(float)
    sides = np.hstack([sums, np.eye(len(use)), -np.eye(len(use))])
    bounds = np.r_[problem.half, problem.half, np.zeros(len(use)), -np.r_[problem.over, problem.under][use]]
    linear = signs * np.r_[problem.origin, problem.origin][use]
    return quadprog.solve_qp(Q, -linear, sides, bounds, 2)[1]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("nu", [0.3, 0.5, 0.8])
@pytest.mark.parametrize("name", SOLVERS)
def test_nu_svc_equals_scikit_learn(name, nu, weighted):
    X, y, problem = two_classes(nu=nu, weighted=weighted)
    found = solve(problem, by_name.solver(name), stop=Gap(1e-9))
    theirs = NuSVC(nu=nu, gamma=0.5, tol=1e-10).fit(X, y, sample_weight=problem.weights)
    assert found.status is Status.CONVERGED and found.certificate.gap <= 1e-9
    assert problem.infeasible(found.point) is None
    np.testing.assert_allclose(values(problem, found), theirs.decision_function(X), atol=1e-5)
    assert problem.objective(found.point) == pytest.approx(optimum(problem), rel=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("nu", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("name", SOLVERS)
def test_nu_svr_equals_scikit_learn(name, nu, weighted):
    X, t, problem = quantities(nu=nu, weighted=weighted)
    found = solve(problem, by_name.solver(name), stop=Gap(1e-9))
    theirs = NuSVR(nu=nu, C=C, gamma=0.5, tol=1e-10).fit(X, t, sample_weight=problem.C / C)
    assert found.status is Status.CONVERGED and found.certificate.gap <= 1e-9
    np.testing.assert_allclose(values(problem, found), theirs.predict(X), atol=1e-5)
    assert problem.objective(found.point) == pytest.approx(optimum(problem), rel=1e-6)


@pytest.mark.parametrize("name", SOLVERS)
def test_all_kernel_rows_at_hand_change_nothing(name):
    found = [
        solve(two_classes(complete=complete)[2], by_name.solver(name), stop=Gap(1e-9)) for complete in (False, True)
    ]
    np.testing.assert_allclose(found[0].point, found[1].point, atol=1e-6)


def test_the_certificate_is_that_of_c_svc_at_the_c_of_rho():
    X, y, problem = two_classes(nu=0.4)
    found = solve(problem, by_name.solver("smo"), stop=Gap(1e-2))
    model = problem.decision_function(found.point, found.certificate)
    K = rbf_kernel(X, gamma=0.5)
    cost = np.abs(model.coef).max()  # 1 / rho, as some samples are at their bounds
    slack = np.maximum(0.0, 1.0 - y * (K @ model.coef + model.intercept))
    primal = 0.5 * model.coef @ K @ model.coef + cost * slack.sum()
    assert found.certificate.primal == pytest.approx(primal, rel=1e-9)
    dual = np.abs(model.coef).sum() - 0.5 * model.coef @ K @ model.coef
    assert found.certificate.dual == pytest.approx(dual, rel=1e-9)
    assert 1e-9 < found.certificate.gap <= 1e-2


def test_the_certificate_is_that_of_the_svr_at_its_epsilon():
    X, t, problem = quantities(nu=0.4)
    found = solve(problem, by_name.solver("smo"), stop=Gap(1e-2))
    d, K = found.point, rbf_kernel(X, gamma=0.5)
    epsilon = problem.epsilon(found.certificate.gradient)
    over = np.maximum(0.0, np.abs(t - values(problem, found)) - epsilon)
    assert found.certificate.primal == pytest.approx(0.5 * d @ K @ d + C * over.sum(), rel=1e-9)
    assert found.certificate.dual == pytest.approx(t @ d - epsilon * np.abs(d).sum() - 0.5 * d @ K @ d, rel=1e-9)


@pytest.mark.parametrize("nu", [0.3, 0.6])
def test_nu_bounds_the_fractions(nu):
    _, y, problem = two_classes(100, nu)
    found = solve(problem, by_name.solver("smo"), stop=Gap(1e-9))
    inside = (y * values(problem, found) < 1.0 - 1e-6).mean()
    assert inside <= nu <= np.count_nonzero(found.point) / 100
    _, t, problem = quantities(100, nu)
    found = solve(problem, by_name.solver("smo"), stop=Gap(1e-9))
    outside = (np.abs(t - values(problem, found)) > problem.epsilon(found.certificate.gradient) + 1e-6).mean()
    assert outside <= nu <= np.count_nonzero(found.point) / 100


def test_a_tube_of_no_width():
    """Targets on a line: epsilon is 0 for every nu above a bound, and |d|_1 below nu sum C."""
    X = np.linspace(0.0, 1.0, 30)[:, None]
    problem = NuTubeQP(Gram(RBF(1.0), X), np.r_[np.zeros(15), np.ones(15)], 0.01, 1.0)
    found = solve(problem, by_name.solver("smo"), stop=Gap(1e-6))
    theirs = NuSVR(nu=1.0, C=0.01, gamma=1.0, tol=1e-10).fit(X, problem.t)
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(values(problem, found), theirs.predict(X), atol=1e-4)


@pytest.mark.parametrize("make", [two_classes, quantities])
def test_starts_are_feasible(make):
    problem = make(nu=0.4, weighted=True)[2]
    first = problem.first_point()
    assert problem.infeasible(first) is None
    a, b = problem.parts(first)
    np.testing.assert_allclose(a - b, first, atol=1e-12)
    assert a.sum() == pytest.approx(problem.half) and b.sum() == pytest.approx(problem.half)
    again = problem.start(3.0 * first)
    assert problem.infeasible(again) is None
    assert problem.start(np.abs(first)) is None  # nothing of the other sign
    found = solve(problem, by_name.solver("smo"), stop=Gap(1e-8))
    rest = solve(problem, by_name.solver("smo"), stop=Gap(1e-7), start=found.point)
    assert rest.n_iter == 0 and rest.status is Status.CONVERGED


@pytest.mark.parametrize(
    ("nu", "words"),
    [
        (0.5, "nu=0.5 is infeasible: the smaller class has 0.2 of the weight, so 0 < nu <= 0.4"),
        (0.0, "nu=0 is infeasible"),
        (-1.0, "nu=-1 is infeasible"),
    ],
)
def test_an_infeasible_nu_is_refused_with_its_range(nu, words):
    with pytest.raises(InputError, match=words):
        two_classes(100, nu, share=0.2)


def test_the_range_of_nu_is_not_empty_however_rare_a_class_is():
    y, weights = np.array([1.0, 1.0, -1.0]), np.array([3e4, 3e4, 1.0])
    with pytest.raises(InputError, match=r"0 < nu <= 3\.333e-05$"):
        NuBoxQP(Gram(Linear(), np.eye(3)), y, weights, 0.5)


def test_the_largest_nu_is_feasible():
    _, _, problem = two_classes(100, 0.4, share=0.2)
    found = solve(problem, by_name.solver("smo"), stop=Gap(1e-6))
    assert found.status is Status.CONVERGED
    for nu in (0.0, 1.1):
        with pytest.raises(InputError, match="in regression 0 < nu <= 1"):
            quantities(nu=nu)


def test_classes_without_a_margin_have_no_certificate():
    X = np.repeat(np.arange(6.0)[:, None], 2, axis=0)  # each sample in both classes
    problem = NuBoxQP(Gram(RBF(1.0), X), np.tile([1.0, -1.0], 6), 1.0, 1.0)
    found = solve(problem, by_name.solver("smo"))
    assert found.status is Status.NOT_CERTIFIED and "leaves no margin" in found.certificate.flaw


@pytest.mark.parametrize("kernel", [Linear(), RBF(0.5)])
@pytest.mark.parametrize("name", ["smo", "fcsmo"])
def test_classes_without_a_margin_end_soon(name, kernel):
    """The optimum is 0, near which relative gaps are never small."""
    X = np.tile(np.random.default_rng(0).normal(size=(100, 2)), (2, 1))
    problem = NuBoxQP(Gram(kernel, X), np.repeat([1.0, -1.0], 100), 1.0, 0.5)
    found = solve(problem, by_name.solver(name), stop=Gap(1e-3) | Iterations(2_000_000))
    assert found.status is Status.NOT_CERTIFIED  # and not that of the limit
    assert problem.objective(found.point) <= problem.resolution


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("make", [two_classes, quantities])
def test_the_parts_of_a_point_are_feasible_and_differ_by_it(make, seed):
    """What the sums lack is added to both, within the bounds of both."""
    problem = make(nu=0.5, weighted=True)[-1]
    rng = np.random.default_rng(seed)
    d = problem.first_point() * rng.uniform(0.2, 1.0)
    a, b = problem.parts(d)
    np.testing.assert_allclose(a - b, d, atol=1e-12)
    assert (a >= 0.0).all() and (b >= 0.0).all()
    assert (a <= problem.over + 1e-12).all() and (b <= problem.under + 1e-12).all()
    room = np.minimum(problem.over - np.maximum(d, 0.0), problem.under - np.maximum(-d, 0.0)).sum()
    sums = np.maximum(d, 0.0).sum(), np.maximum(-d, 0.0).sum()
    for found, own in zip((a.sum(), b.sum()), sums, strict=True):
        assert found == pytest.approx(own + min(max(problem.half - sums[0], 0.0), room), rel=1e-9)


@pytest.mark.parametrize("make", [two_classes, quantities])
def test_the_function_of_a_certified_point_takes_no_further_certificate(make, monkeypatch):
    problem = make(nu=0.4)[-1]
    found = solve(problem, plugins.build("solver", "smo"), stop=Gap(1e-3))
    with monkeypatch.context() as patch:
        patch.setattr(type(problem), "certificate", None)
        own = problem.decision_function(found.point, found.certificate)
    rough = problem.bound(problem.objective(found.point))  # which knows neither gradient nor bias
    again = problem.decision_function(found.point, rough)
    np.testing.assert_allclose(again.coef, own.coef, rtol=1e-9)
    assert again.intercept == pytest.approx(own.intercept, rel=1e-9)
    assert again.settled == pytest.approx(own.settled, rel=1e-9)
