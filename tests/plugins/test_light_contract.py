"""The light contract: every registered solver, kernel and sampler, each on one tiny problem.

The sample of tests (see support/sample.py) runs it for all of them; all checks of the contract are those of `svmkit
check` in tests/conformance/.
"""

import numpy as np
import pytest
from sklearn.metrics import pairwise
from support import tiny

from svmkit import plugins
from svmkit.kernels.gram import Gram
from svmkit.solver.loop.solve import solve
from svmkit.solver.sampler import Draws
from svmkit.solver.selection import by_name
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap

pytestmark = [pytest.mark.usefixtures("one_pool"), pytest.mark.every_case]


@pytest.mark.parametrize("case", list(tiny.cases()), ids="-".join)
def test_a_solver_ends_at_a_feasible_point_with_a_certified_gap(case):
    solver, problem, solution = tiny.solved(*case)
    P, D, gap = solution.certificate.primal, solution.certificate.dual, solution.certificate.gap
    rounding = solution.certificate.rounding
    assert solution.status is Status.CONVERGED
    assert problem.infeasible(solution.point) is None
    assert D <= P and 0.0 <= gap - (P - D) / max(abs(P), abs(D)) <= 2.0 * rounding + 1e-15 <= 1e-9
    assert gap <= tiny.tolerance(solver)
    # again by a problem that has seen nothing of the solve
    fresh = tiny.pose(solver, *case[1:])
    again = fresh.certificate(solution.point)
    assert again.primal == pytest.approx(P, rel=1e-9) and again.dual <= P * (1 + 1e-9)
    # and its model tells the classes from each other
    X, y = tiny.classes()
    model = problem.decision_function(solution.point, solution.certificate)
    K = X @ X.T if case[1] == "linear" else pairwise.rbf_kernel(X, gamma=0.5)
    h = (X @ model.w if model.w is not None else K @ model.coef) + model.intercept
    assert np.mean(np.sign(h) == y) >= 0.8


KERNEL_VALUES = {
    "linear": lambda X: X @ X.T,
    "rbf": lambda X: pairwise.rbf_kernel(X, gamma=0.5),
    "laplacian": lambda X: pairwise.laplacian_kernel(X, gamma=0.5),
    "poly": lambda X: pairwise.polynomial_kernel(X, gamma=0.5, degree=3, coef0=1.0),
    "sigmoid": lambda X: pairwise.sigmoid_kernel(X, gamma=0.5, coef0=0.0),
}


@pytest.mark.parametrize("name", [*KERNEL_VALUES, "precomputed"])
def test_a_kernel_has_its_values_and_a_solver_certifies_with_it(name):
    X, y = tiny.classes(40)
    if name == "precomputed":
        data, K = KERNEL_VALUES["rbf"](X), KERNEL_VALUES["rbf"](X)
    else:
        data, K = X, KERNEL_VALUES[name](X)
    params = {k: v for k, v in {"gamma": 0.5, "degree": 3, "coef0": float(name == "poly")}.items()}
    kernel = by_name.kernel(name, params)
    gram = Gram(kernel.resolve(data), data)
    rows = np.arange(len(X))
    np.testing.assert_allclose(gram.block(rows, rows), K, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(gram.row(3), K[3], rtol=1e-6)
    np.testing.assert_allclose(gram.diag, np.diag(K), rtol=1e-9)
    if name != "sigmoid":  # which is indefinite, so that no gap bounds anything
        smo = plugins.build("solver", "smo")
        solution = solve(smo.pose(gram, y, 1.0), smo, stop=Gap(1e-3))
        assert solution.status is Status.CONVERGED and solution.certificate.gap <= 1e-3


@pytest.mark.parametrize("name", plugins.names("sampler"))
def test_a_sampler_draws_every_sample_and_a_solver_certifies_with_it(name):
    _, y = tiny.classes()
    sampler = by_name.sampler(name)
    draws = Draws(sampler, y, np.random.default_rng(0))
    seen = [draws() for _ in range(300)]
    assert all(draw.dtype.kind == "i" and draw.ndim == 1 and len(draw) for draw in seen)
    np.testing.assert_array_equal(np.unique(np.concatenate(seen)), np.arange(len(y)))
    swap = plugins.build("solver", "swap")
    solution = solve(tiny.pose(swap, "rbf", "dense"), swap, sampler=sampler, stop=Gap(1e-2))
    assert solution.status is Status.CONVERGED and solution.certificate.gap <= 1e-2


def test_no_kernel_is_forgotten():
    ours = {name for name, point in plugins.registered("kernel").items() if point.value.startswith("svmkit.")}
    assert ours == {*KERNEL_VALUES, "precomputed"}


def test_every_family_has_a_solver_that_stands_for_it():
    families = {point.value.partition(".")[0] for point in plugins.registered("solver").values()}
    ours = {family for family in families if family.startswith("svmkit_")}
    assert ours == set(tiny.ONE_A_FAMILY)
    for family, name in tiny.ONE_A_FAMILY.items():
        assert plugins.registered("solver")[name].value.startswith(family)
