"""Problems whose optimum is 0: a tube that holds all samples, so that P = D = 0, where no relative gap is defined."""

from fractions import Fraction

import numpy as np
import pytest

from svmkit import SVMRegressor, plugins, solve
from svmkit.kernels import RBF, Gram, Linear
from svmkit.losses import EpsilonInsensitive
from svmkit.problems import LinearTubeRisk, NuTubeQP
from svmkit.problems.certificate import Certificate
from svmkit.problems.risks.points import make_points, total_loss, total_loss_error
from svmkit.solver.stopping import Gap, Iterations

X = np.random.default_rng(0).normal(size=(20, 2))
SIGNS = np.where(np.arange(20) % 2, 1.0, -1.0)
LINEAR = ["dcd", "ocas", "bmrm", "svmperf", "sgd", "sgdqn", "pegasos", "folos", "norma", "auto", "smo", "fcsmo"]


@pytest.mark.parametrize("solver", LINEAR)
@pytest.mark.parametrize("targets", [SIGNS, 0.3 * SIGNS, X[:, 0] / np.abs(X[:, 0]).max()], ids=["edge", "in", "any"])
def test_a_tube_that_holds_all_targets_has_gap_0(solver, targets):
    model = SVMRegressor(kernel="linear", epsilon=1.0, solver=solver, max_iter=100).fit(X, targets)
    assert (model.status_, model.gap_) == ("converged", 0.0)
    assert (model.certificate_[0].primal, model.certificate_[0].dual) == (0.0, 0.0)
    assert np.abs(targets - model.predict(X)).max() <= 1.0


def test_zero_up_to_rounding_errors_is_all_rounding():
    for errors, gap, rounding in (((1e-15, 0.0), 1.0, 1.0), ((0.0, 1e-15), 2.0, 1.0), ((0.0, 0.0), 0.0, 0.0)):
        certificate = Certificate.from_values(0.0, 0.0, errors=errors)
        assert (certificate.gap, certificate.rounding) == (gap, rounding)
        assert certificate.is_exhausted == (gap > 0.0)


def test_the_error_of_losses_at_the_kink_covers_exact_sums():
    rng = np.random.default_rng(1)
    h = rng.choice([0.0, 0.1, 0.3, 1.0 / 3.0, 1e-17, 2.0**-53, 1.0], size=400)
    t = h + rng.choice([-0.1, 0.1], size=400) + rng.choice([0.0, 1e-17, 2.0**-54, -(2.0**-53)], size=400)
    terms = EpsilonInsensitive(0.1).terms(t, np.ones(400))
    for i in range(400):
        own = type(terms)(*(np.asarray(part)[i : i + 1] for part in terms))
        points = make_points(own, np.zeros(1))
        exact = max(Fraction(0), abs(Fraction(t[i]) - Fraction(h[i])) - Fraction(0.1))
        off = total_loss_error(*points, h[i : i + 1], np.zeros(1), 2.0**-53)
        assert abs(Fraction(total_loss(*points, h[i : i + 1])) - exact) <= Fraction(off)


def test_a_free_bias_far_from_0_keeps_the_proof():
    """The targets lose nothing when their median is subtracted, so that the best bias is exact."""
    problem = LinearTubeRisk(Gram(Linear(), X), SIGNS + 1024.0, 1.0, EpsilonInsensitive(1.0), bias="free")
    certificate = problem.certificate(np.zeros(problem.shape))
    assert (certificate.primal, certificate.gap) == (0.0, 0.0)


@pytest.mark.parametrize("solver", ["smo", "smo1", "fcsmo"])
@pytest.mark.parametrize("nu", [0.05, 0.5])
@pytest.mark.parametrize("targets", [SIGNS, 0.1 * SIGNS + 0.3], ids=["exact", "rounded"])
def test_nu_regression_ends_at_the_constant(solver, nu, targets):
    """1.5 million steps had a gap of 2.0: the dual weights are not 0, but K d is."""
    problem = NuTubeQP(Gram(Linear(), X), targets, 1.0, nu)
    solution = solve(problem, plugins.build("solver", solver), stop=Gap(1e-3) | Iterations(1000))
    certificate = solution.certificate
    assert (solution.status, certificate.gap, certificate.primal) == ("converged", 0.0, 0.0)
    decision = problem.decision_function(solution.point, certificate)
    assert not decision.coef.any()
    assert certificate.bias == pytest.approx(np.median(targets), abs=1e-15)


def test_nu_regression_is_no_constant_where_weights_do_better():
    for kernel, nu in ((Linear(), 1.0), (RBF(1.0), 0.1)):
        problem = NuTubeQP(Gram(kernel, X), SIGNS, 1.0, nu)
        solution = solve(problem, plugins.build("solver", "smo"), stop=Gap(1e-6) | Iterations(100_000))
        assert solution.certificate.primal > 0.0 and solution.certificate.gap <= 1e-6
        assert problem.decision_function(solution.point, solution.certificate).coef.any()
