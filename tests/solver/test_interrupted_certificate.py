"""Ctrl-C while a certificate is computed: the first one waits for it, the second one does not."""

import os
import signal

import numpy as np
import pytest
from support.problems import blobs, dual_of_blobs, problem_of

import svmkit
from svmkit import Gram
from svmkit.kernels import RBF, Linear
from svmkit.problems import BoxQP, dual
from svmkit.problems.base import Problem
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations

pytestmark = pytest.mark.posix
KERNEL_SOLVERS = ("fcfw", "fcsmo", "smo", "swap2o", "mfw")
X, Y = blobs(400, 3)


def all_kinds(kind=Problem):
    """Yield a class and all that derive from it."""
    yield kind
    for derived in kind.__subclasses__():
        yield from all_kinds(derived)


@pytest.fixture
def press(monkeypatch):
    """A function that sets how often Ctrl-C is pressed in the first certificate; it returns a list of all of them."""
    begun = []

    def press_times(times):
        def with_signals(whole):
            def certificate(self, point):
                begun.append(point)
                for _ in range(times if len(begun) == 1 else 0):
                    os.kill(os.getpid(), signal.SIGINT)
                return whole(self, point)

            return certificate

        for kind in {*all_kinds()}:
            if "certificate" in vars(kind):
                monkeypatch.setattr(kind, "certificate", with_signals(kind.certificate))
        return begun

    return press_times


def fit(solver):
    return svmkit.fit(X, Y, solver=solver, kernel=RBF(0.5), C=1.0)


@pytest.mark.parametrize("solver", KERNEL_SOLVERS)
def test_a_second_signal_ends_a_certificate(solver, press):
    certified = fit(solver)
    begun = press(2)
    cut = fit(solver)
    assert cut.status is Status.INTERRUPTED and cut.gap is None and "second signal" in cut.flaw
    assert len(begun) == 1  # none is begun after the one that was cut short
    decisions = certified.model.decision_function(X), cut.model.decision_function(X)
    assert np.abs(decisions[0] - decisions[1]).max() < 0.1 * np.abs(decisions[0]).max()


@pytest.mark.parametrize("solver", KERNEL_SOLVERS)
def test_one_signal_waits_for_the_certificate(solver, press):
    press(1)
    kept = fit(solver)
    assert kept.status in (Status.INTERRUPTED, Status.CONVERGED) and kept.flaw is None and kept.gap is not None


@pytest.mark.parametrize("solver", ["dcd", "ocas", "pegasos", "smo"])
def test_short_certificates_are_computed_all_the_same(solver, press):
    """Those of linear problems take one pass, and the decision function of a nu-SVM needs one."""
    press(2)
    nu = 0.5 if solver == "smo" else None
    cut = svmkit.fit(X, Y, solver=solver, kernel=Linear(), nu=nu, stop=Gap(1e-3) | Iterations(2000))
    assert cut.status is Status.INTERRUPTED and cut.flaw is None and cut.gap is not None


def test_the_bias_of_some_samples_is_close_to_the_best_one(monkeypatch):
    solution = svmkit.fit(X, Y, solver="smo", kernel=RBF(0.5)).solutions[0]
    problem = BoxQP(Gram(RBF(0.5), X), np.where(Y > 0, 1.0, -1.0), 1.0)
    best = problem.certificate(solution.point).bias
    assert problem.rough_certificate(solution.point, -1.0).bias == pytest.approx(best, abs=1e-9)
    monkeypatch.setattr(dual, "ROUGH", 200)  # of 400: before, all were taken
    assert problem.rough_certificate(solution.point, -1.0).bias == pytest.approx(best, abs=0.1)
    assert problem.rough_certificate(solution.point, -1.0).gap is None


@pytest.mark.parametrize("m", [2, 5])
def test_the_bias_of_few_samples_is_that_of_all_of_them(m):
    X, y = np.arange(5.0)[:m, None] ** 2, np.array([-1.0, 1.0, -1.0, 1.0, 1.0])[:m]
    problem = BoxQP(Gram(RBF(0.5), X), y, 1.0, loss="squared_hinge")
    point = problem.start(y * np.arange(5.0, 5.0 + m))
    best = problem.certificate(point).bias
    assert problem.rough_certificate(point, -1.0).bias == pytest.approx(best, abs=1e-9)


def test_bounds_that_are_not_proven_say_so():
    squared = problem_of(X, Y)
    point = np.full(squared.m, 1.0 / squared.m)
    assert squared.rough_certificate(point, squared.objective(point)).flaw is not None
    linear = dual_of_blobs()
    assert linear.rough_certificate(np.zeros(linear.m), 0.0).flaw is None
