"""Solves whose certificate proves nothing, or no more than rounding errors allow: they never say `converged`."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from support.problems import blobs
from svmkit_decomposition.smo import SMO

from svmkit import SVMClassifier, plugins
from svmkit.kernels import RBF, Gram, Poly, Precomputed, Sigmoid
from svmkit.problems import BoxQP
from svmkit.problems.certificate import Certificate
from svmkit.problems.sums import Bounds
from svmkit.solver import Gap, Iterations, Status, Violation, solve

INDEFINITE = [Sigmoid(1.0, coef0=1.0), Poly(1.0, coef0=-2.0)]


def box(kernel, m=80, C=10.0):
    X, y = blobs(m)
    return BoxQP(Gram(kernel, X), y, C)


@pytest.mark.parametrize("kernel", INDEFINITE, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("name", ["smo", "smo1", "svmlight", "fcsmo", "libsvm"])
def test_no_solver_converges_on_an_indefinite_kernel(name, kernel):
    problem = box(kernel)
    solution = solve(problem, plugins.build("solver", name, {}), stop=Gap(1e-3) | Iterations(20_000))
    assert solution.status in (Status.NOT_CERTIFIED, Status.MAX_ITER)
    certificate = solution.certificate
    assert certificate.gap is None and certificate.dual is None
    assert certificate.flaw == f"the {kernel.name} kernel is not positive semidefinite on these data"
    assert np.isfinite(certificate.primal) and problem.infeasible(solution.point) is None


def test_another_rule_of_convergence_does_not_hide_the_flaw():
    solution = solve(box(INDEFINITE[0]), plugins.build("solver", "smo", {}), stop=Violation(1e-3) | Iterations(20_000))
    assert solution.status is Status.NOT_CERTIFIED


def test_an_indefinite_precomputed_matrix():
    X, y = blobs(80)
    K = np.tanh(X @ X.T + 1.0)
    with pytest.warns(UserWarning, match="not positive semidefinite"):
        model = SVMClassifier("smo", kernel="precomputed", C=10.0).fit(K, y)
    assert model.status_ is Status.NOT_CERTIFIED and model.gap_ is None and model.bound_ is None
    assert (model.predict(K) == y).mean() > 0.5


def test_rounding_that_allows_no_smaller_gap_ends_the_solve(monkeypatch):
    problem = box(RBF(0.5))
    monkeypatch.setattr(BoxQP, "_bounds", lambda self: Bounds(1e-4, 0.0, 1, 0.0, 2.0**-53))
    solution = solve(problem, plugins.build("solver", "smo", {}), stop=Gap(1e-6) | Iterations(100_000))
    certificate = solution.certificate
    assert solution.status is Status.STALLED and certificate.is_exhausted
    assert 1e-6 < certificate.rounding <= certificate.gap <= 2.0 * certificate.rounding
    assert solution.n_iter < 50_000


def test_numbers_that_are_not_finite_prove_nothing():
    for primal, dual, errors in (
        (np.inf, 1.0, (0, 0)),
        (1.0, np.nan, (0, 0)),
        (1.0, 0.5, (np.inf, 0)),
        (1.0, 0.5, (0, np.inf)),
    ):
        found = Certificate.from_values(primal, dual, errors=errors)
        assert found.gap is None and found.dual is None and found.flaw


def test_an_objective_below_its_lower_bound_proves_nothing():
    assert Certificate.from_values(1.0, 1.1).gap is None
    found = Certificate.from_values(1.0, 1.0 + 1e-12, errors=(1e-11, 1e-11))
    assert found.gap >= 0.0 and found.dual < 1.0


def test_a_certificate_without_a_dual_confirms_no_gap(monkeypatch):
    """A solver whose own estimate is small does not converge where the certificate has no gap and no flaw."""
    problem = box(RBF(0.5))
    real = BoxQP.certificate
    monkeypatch.setattr(BoxQP, "certificate", lambda self, point: replace(real(self, point), dual=None, gap=None))
    solution = solve(problem, plugins.build("solver", "smo", {}), stop=Gap(1e-3) | Iterations(2_000))
    assert solution.status in (Status.MAX_ITER, Status.STALLED)


def test_a_diagonal_that_is_too_small_is_a_flaw():
    y = blobs(40)[1]
    problem = BoxQP(Gram(Precomputed(), -np.eye(40)), y, 1.0)
    assert problem.certificate(np.full(40, 0.5)).flaw


@dataclass(frozen=True)
class Beyond(SMO):
    """Takes its answer from outside the bounds, as a solver with a mistake does; P there is still that of a model."""

    name = "beyond"
    factor: float = 1.1

    def solution(self, state):
        return self.factor * super().solution(state)


def test_the_certificate_of_a_point_outside_the_bounds_proves_nothing():
    problem = box(RBF(0.5), C=1.0)
    optimum = solve(problem, SMO(), stop=Gap(1e-8)).certificate.dual
    loose = Gap(2e-2) | Iterations(2_000)
    beyond = problem.certificate(1.1 * solve(problem, SMO(), stop=Gap(1e-8)).point)
    assert beyond.dual > optimum and beyond.gap < 2e-2  # so the numbers alone would have been believed
    for name, rule in (("a gap", loose), ("a budget", Iterations(50))):
        solution = solve(problem, Beyond(), stop=rule)
        certificate = solution.certificate
        assert (certificate.dual, certificate.gap) == (None, None), name
        assert certificate.flaw.startswith("beyond is at an infeasible point: the weight of row ")
        assert certificate.primal >= optimum
    assert solve(problem, Beyond(), stop=loose).status is Status.NOT_CERTIFIED
    assert solve(problem, Beyond(factor=1.0), stop=loose).status is Status.CONVERGED
