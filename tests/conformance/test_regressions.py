"""Every registered solver that regresses, with every loss: its optimum, its certificate and its claims."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVR

from svmkit import plugins
from svmkit.conformance import honesty
from svmkit.conformance.judging.definitions import Exact, Values
from svmkit.conformance.judging.truth import Objective, Subproblem
from svmkit.conformance.solvers import REGRESSION, curve, kernel_for, with_losses
from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Linear
from svmkit.kernels.gram import Gram
from svmkit.losses import EpsilonInsensitive
from svmkit.solver import Gap, Iterations, solve

pytestmark = pytest.mark.usefixtures("one_pool")

CASES = [
    (name, loss, solver)
    for name in plugins.solvers_where(lambda solver: solver.regression_for(RBF(0.5)) or solver.regression_for(Linear()))
    for loss, solver in with_losses(plugins.build("solver", name), "regress").items()
]


@pytest.mark.slow
@pytest.mark.parametrize("solver", [case[2] for case in CASES], ids=[f"{name}-{loss}" for name, loss, _ in CASES])
def test_claims_of_regressions_are_true(solver):
    assert all(check.run(solver) is None for check in REGRESSION.values())
    assert honesty.false_claim(solver, honesty.ordinary(solver, "regress"), "regress") is None


@pytest.mark.slow
def test_solvers_of_one_objective_agree_within_their_gaps():
    X, t = curve()
    bounds: dict = {}
    for _, _, solver in CASES:
        kernel = kernel_for(solver)
        solution = solve(
            solver.pose_regression(Gram(kernel, X), t, 1.0, 0.1), solver, stop=Gap(1e-3) | Iterations(3000)
        )
        found = solution.certificate
        bounds.setdefault((solver.formulation(kernel, "regress"), kernel.name), []).append((found.dual, found.primal))
    assert len(bounds) >= 4
    for (formulation, kernel), found in bounds.items():
        highest = max(dual for dual, _ in found if dual is not None)
        assert highest <= min(primal for _, primal in found) * (1.0 + 1e-9), (formulation, kernel)


def test_the_judge_knows_libsvms_optimum():
    X, t = curve()
    K = rbf_kernel(X, gamma=0.5)
    fitted = SVR(C=1.0, kernel="precomputed", epsilon=0.1, tol=1e-10).fit(K, t)
    coef = np.zeros(len(t), Exact)
    coef[fitted.support_] = fitted.dual_coef_[0]
    values, ones = Values("rbf", {"gamma": 0.5}, X), np.ones(len(t), Exact)
    b = Exact(fitted.intercept_[0])
    tube = Subproblem(values, np.arange(len(t)), t.astype(Exact), ones, coef, None, b)
    objective = Objective.from_words("epsilon-insensitive, free bias", EpsilonInsensitive(epsilon=0.1))
    P, h, _ = tube.primal(objective)
    np.testing.assert_allclose(h.astype(float), fitted.predict(K), rtol=1e-9, atol=1e-9)
    assert float(tube.dual(objective, coef)) == pytest.approx(float(P), rel=1e-7)
    assert float(tube.dual(objective, 3.0 * coef)) <= float(P)  # outside its box, from which it is brought back
    assert max(tube.violation(objective, coef)) <= 1e-9 < min(tube.violation(objective, 1.0 + coef))
    assert 0.0 < float(tube.dual(objective, tube.suggest(objective, h))) <= float(P)


def test_a_solver_that_does_not_regress_names_those_that_do():
    X, t = curve()
    with pytest.raises(InputError, match=r"cannot regress; with the rbf kernel: .*smo"):
        plugins.build("solver", "swap").pose_regression(Gram(RBF(0.5), X), t, 1.0, 0.1)
