"""Small linear problems of one data set are trained in calls of compiled code, with the results of one at a time."""

import os
import signal
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from svmkit import Gram, fit, plugins
from svmkit.errors import InputError
from svmkit.kernels import Linear
from svmkit.losses.by_name import make_loss
from svmkit.problems import LinearDual
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap
from svmkit.training.callbacks import Callbacks
from svmkit.training.subproblems import many, trainer


def clouds(n_classes=4, n=240, d=5):
    rng = np.random.default_rng(0)
    y = rng.integers(n_classes, size=n)
    X = rng.normal(size=(n, d))
    X[np.arange(n), y] += 1.0
    return X, y


def one_by_one(monkeypatch, *args, **options):
    """A fit whose problems are trained by `solve`."""
    with monkeypatch.context() as patch:
        patch.setattr(trainer, "train_many", lambda *given: None)
        return fit(*args, kernel=Linear(), **options)


@pytest.fixture
def calls(monkeypatch):
    """The numbers of the problems that were trained by compiled code, a list for each call."""
    seen, run = [], many._Many.run
    monkeypatch.setattr(many._Many, "run", lambda self, *given: seen.append(self.ks) or run(self, *given))
    return seen


@pytest.mark.parametrize("storage", [np.float32, np.float64, "sparse"])
@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("bias", ["free", 1.0, 0.0])
@pytest.mark.parametrize("loss", ["squared_hinge", "smoothed_hinge", "hinge"])
def test_results_are_those_of_one_at_a_time(storage, multiclass, n_classes, bias, loss, calls, monkeypatch):
    """Points, models and histories agree, up to rounding, which may bring a loss with a kink to another iterate."""
    X, y = clouds(n_classes)
    X = sp.csr_array(np.where(X > 0.5, X, 0.0)) if storage == "sparse" else X.astype(storage)
    weights = np.random.default_rng(1).uniform(0.1, 2.0, len(y))
    weights[:10] = 0.0
    solver = plugins.build("solver", "newton", {"bias": bias, "loss": loss})
    options = {"solver": solver, "C": 3.0, "multiclass": multiclass, "sample_weight": weights}
    ours, theirs = fit(X, y, kernel=Linear(), **options), one_by_one(monkeypatch, X, y, **options)
    (ks,) = calls
    assert len(ks) == len(ours.solutions) == len(theirs.solutions)
    near = {"rtol": 0.1, "atol": 0.1} if loss == "hinge" else {"rtol": 1e-6, "atol": 1e-8}
    for one, other in zip(ours.solutions, theirs.solutions, strict=True):
        assert one.status is Status.CONVERGED and one.certificate.gap <= 1e-3
        if loss != "hinge":
            np.testing.assert_allclose(one.point, other.point, **near)
            np.testing.assert_allclose(one.certificate.gradient, other.certificate.gradient, **near)
            assert one.n_iter == other.n_iter == len(one.history)
            assert [p.n_support for p in one.history] == [p.n_support for p in other.history]
        assert one.certificate.primal == pytest.approx(other.certificate.primal, rel=2e-3)
    np.testing.assert_allclose(ours.model.weights, theirs.model.weights, **near)
    np.testing.assert_allclose(ours.model.intercept, theirs.model.intercept, **near)
    if loss != "hinge":
        np.testing.assert_array_equal(ours.support, theirs.support)


def test_each_certificate_is_that_of_its_problem_from_scratch(calls):
    X, y = clouds(3)
    fitted = fit(X, y, kernel=Linear(), C=2.0)
    assert calls == [[0, 1, 2]]
    for (a, b), solution in zip([(0, 1), (0, 2), (1, 2)], fitted.solutions, strict=True):
        rows = np.flatnonzero((y == a) | (y == b))
        target = np.where(y[rows] == a, 1.0, -1.0)
        problem = LinearDual(Gram(Linear(), X[rows]), target, 2.0, "squared_hinge", bias="free")
        assert problem.infeasible(solution.point) is None
        want, seen = problem.certificate(solution.point), solution.certificate
        assert (seen.primal, seen.dual) == pytest.approx((want.primal, want.dual), rel=1e-12)
        assert seen.bias == pytest.approx(want.bias, rel=1e-9) and seen.gap == pytest.approx(want.gap, rel=1e-6)
        np.testing.assert_allclose(seen.gradient, want.gradient, atol=1e-10)


@pytest.mark.parametrize("bias", ["free", 1.0, 0.0])
@pytest.mark.parametrize("loss", ["hinge", "epsilon_insensitive", "quantile", "absolute_error"])
def test_with_a_kink_the_primal_point_is_the_model(loss, bias, calls):
    """P is that of the model and D that of the point, both by their definitions; so the gap proves the model."""
    X, y = clouds(2, 60)
    task = "classify" if loss == "hinge" else "regress"
    y = np.where(y == 0, -1.0, 1.0) if loss == "hinge" else X.sum(axis=1) + np.random.default_rng(1).normal(size=60)
    C = np.random.default_rng(2).uniform(0.5, 2.0, 60)
    solver = plugins.build("solver", "newton", {"bias": bias, "loss": loss})
    fitted = fit(X, y, kernel=Linear(), solver=solver, task=task, sample_weight=C)
    assert calls == [[0]]
    (solution,), model = fitted.solutions, fitted.model
    w, b, beta, seen = model.weights[0], model.intercept[0], solution.point, solution.certificate
    values, terms = make_loss(loss, task), make_loss(loss, task).terms(y, C)
    penalised = bias not in ("free", 0.0)
    primal = 0.5 * (w @ w + (b * b if penalised else 0.0)) + C @ values.value(y, X @ w + b)
    v = beta @ X
    of_bias = beta.sum() ** 2 if penalised else 0.0
    dual = terms.target @ beta - dual_costs(terms, beta).sum() - 0.5 * (v @ v + of_bias)
    assert (seen.primal, seen.dual) == pytest.approx((primal, dual), rel=1e-10)
    assert seen.gap == pytest.approx((primal - dual) / primal, rel=1e-6) and seen.gap <= 1e-3
    assert (beta >= terms.lower).all() and (beta <= terms.upper).all()
    assert bias != "free" or abs(beta.sum()) <= 1e-12 * np.abs(beta).sum()
    if (loss, bias) in (("hinge", "free"), ("quantile", 1.0)):  # elsewhere the last step ends at the same weights
        assert np.abs(v - w).max() > 1e-3
    of_point = b if bias == "free" else beta.sum() * penalised
    np.testing.assert_allclose(seen.gradient, X @ v + of_point - terms.target, atol=1e-9)


def dual_costs(terms, beta):
    """phi of each weight."""
    up, down = np.maximum(beta, 0.0), np.maximum(-beta, 0.0)
    return terms.kink_up * up + terms.kink_down * down + 0.5 * (terms.ridge_up * up**2 + terms.ridge_down * down**2)


def test_a_problem_without_a_proof_is_trained_alone(calls, monkeypatch):
    X, y = clouds(3)
    code = plugins.build("solver", "newton").batch_code()._replace(most=1)  # too few steps for any of them
    monkeypatch.setattr(type(plugins.build("solver", "newton")), "batch_code", lambda self: code)
    fitted = fit(X, y, kernel=Linear(), stop=Gap(1e-9))
    assert calls == [[0, 1, 2]] and fitted.status is Status.CONVERGED and fitted.gap <= 1e-9
    assert min(solution.n_iter for solution in fitted.solutions) > 1


def test_large_problems_and_other_solvers_are_left_out(calls, monkeypatch):
    X, y = clouds(3)
    fit(X, y, kernel=Linear(), solver="dcd")
    assert not calls
    code = plugins.build("solver", "newton").batch_code()
    sizes = np.bincount(y)
    few = int(np.sort(sizes)[:2].sum())  # the smallest of the pairs
    monkeypatch.setattr(
        type(plugins.build("solver", "newton")),
        "batch_code",
        lambda self: code._replace(is_small=lambda m, w: m <= few),
    )
    fitted = fit(X, y, kernel=Linear())
    assert len(calls) == 1 and len(calls[0]) == 1 and fitted.status is Status.CONVERGED


@pytest.mark.posix
def test_a_signal_ends_the_training_after_a_call(monkeypatch):
    """What is trained is kept; no further problem begins."""
    X, y = clouds(4)

    class Looks(Callbacks):
        def on_trained(self, some, n_problems):
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(many, "PAUSE", 1.0)  # one problem a call
    fitted = fit(X, y, kernel=Linear(), watch=Looks())
    assert fitted.status is Status.INTERRUPTED and fitted.n_untrained == 5
    assert fitted.solutions[0].certificate.gap <= 1e-3


@pytest.mark.parametrize("bias", ["free", 1.0])
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive", "huber", "quantile"])
def test_a_regression_is_trained_by_the_same_code(loss, bias, calls, monkeypatch):
    """Targets far from zero count from their median, that of the samples that take part."""
    X, _ = clouds()
    rng = np.random.default_rng(2)
    y, weights = 1e4 + X @ rng.normal(size=5) + 0.3 * rng.normal(size=len(X)), rng.uniform(0.1, 2.0, len(X))
    y[:10], weights[:10] = -1e4, 0.0
    solver = plugins.build("solver", "newton", {"bias": bias, "loss": loss})
    options = {"solver": solver, "task": "regress", "sample_weight": weights, "C": 10.0}
    (ours,), (theirs,) = (
        train(X, y, **options).solutions for train in (partial(fit, kernel=Linear()), partial(one_by_one, monkeypatch))
    )
    assert calls == [[0]] and ours.status is Status.CONVERGED and ours.certificate.gap <= 1e-3
    assert ours.certificate.primal == pytest.approx(theirs.certificate.primal, rel=2e-3)
    if bias == "free":
        assert ours.certificate.bias == pytest.approx(theirs.certificate.bias, rel=1e-5)
    if loss in ("squared_epsilon_insensitive", "huber"):
        assert ours.n_iter == theirs.n_iter
        np.testing.assert_allclose(ours.point, theirs.point, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(ours.certificate.gradient, theirs.certificate.gradient, rtol=1e-5, atol=1e-7)


def test_numbers_beyond_float64_are_refused_as_ever():
    X, y = clouds(3)
    with pytest.raises(InputError, match="scale the columns"):
        fit(X * 1e200, y, kernel=Linear())
