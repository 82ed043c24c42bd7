"""libsvm and liblinear in regression: SVR's and LinearSVR's own numbers through our door, certified."""

import numpy as np
import pytest
from sklearn.svm import SVR, LinearSVR
from support.liblinear import LOSSES, in_regression
from support.regression import quantities, regression
from svmkit_reference.liblinear import LIBLINEAR
from svmkit_reference.svc import LIBSVM

from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Laplacian
from svmkit.solver.loop.solve import solve
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Violation

SEED = int(np.random.default_rng(0).integers(2**31 - 1))  # what the loop's seed 0 becomes


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("bias", [1.0, 0.0, 4.0])
@pytest.mark.parametrize("m", [120, 8], ids=["rows", "columns"])
def test_the_same_weights_as_linear_svr(loss, bias, m):
    X, t, C = quantities(m, 9)
    theirs = LinearSVR(
        epsilon=0.2, loss=in_regression(loss), dual="auto", tol=1e-5, C=1.0, fit_intercept=bias > 0,
        intercept_scaling=bias or 1.0, max_iter=10_000, random_state=SEED,
    ).fit(X, t, sample_weight=C)  # fmt: skip
    solver = LIBLINEAR(eps=1e-5, loss=loss, bias=bias)
    ours = solve(regression(solver, X, t, C, 0.2), solver, stop=Violation(1e-5))
    assert ours.status is Status.CONVERGED and ours.n_iter == theirs.n_iter_
    np.testing.assert_array_equal(ours.point[:9], theirs.coef_)
    assert ours.point.size == 9 if not bias else ours.point[9] * bias == pytest.approx(theirs.intercept_[0], rel=1e-15)


def test_losses_by_their_names_in_regression():
    X, t, C = quantities()
    for loss in LOSSES:
        solver = LIBLINEAR(loss=in_regression(loss))
        solution = solve(regression(solver, X, t, C), solver, stop=Gap(1e-4))
        assert solution.certificate.gap <= 1e-4


def test_liblinear_has_no_regression_with_l1():
    X, t, C = quantities()
    solver = LIBLINEAR(loss="squared_hinge", penalty="l1")
    with pytest.raises(InputError, match="LIBLINEAR has no regression with penalty=l1"):
        solve(regression(solver, X, t, C), solver)


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_the_same_numbers_as_svr(epsilon):
    X, t, C = quantities()
    theirs = SVR(gamma=0.3, C=1.0, epsilon=epsilon, tol=1e-6).fit(X, t, sample_weight=C)
    solver = LIBSVM(eps=1e-6)
    ours = solve(regression(solver, X, t, C, epsilon, RBF(0.3)), solver, stop=Violation(1e-6))
    np.testing.assert_array_equal(ours.point[theirs.support_], theirs.dual_coef_[0])
    assert np.count_nonzero(ours.point) == theirs.support_.size and ours.n_iter == theirs.n_iter_
    assert ours.certificate.bias == pytest.approx(theirs.intercept_[0], abs=1e-4)
    assert 0.0 <= ours.certificate.gap <= 1e-5


def test_svr_with_a_kernel_that_it_lacks():
    X, t, C = quantities()
    solver = LIBSVM()
    solution = solve(regression(solver, X, t, C, 0.1, Laplacian(0.3)), solver, stop=Gap(1e-5))
    assert solution.status is Status.CONVERGED and solution.certificate.gap <= 1e-5
