"""dcd from a start, along a path of C, for several classes, and the models that it leaves."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_wine
from sklearn.svm import LinearSVC
from support.liblinear import every_loss
from support.problems import blobs, dual_of_blobs, make

from svmkit.kernels.functions import Linear
from svmkit.model.model import SVMModel
from svmkit.model.one_vs_one import class_pairs
from svmkit.solver.loop.solve import solve
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap
from svmkit.training.path import c_path
from svmkit.training.train import fit

pytestmark = pytest.mark.usefixtures("one_pool")


def cold(problem, loss, tol=1e-3):
    return solve(problem, make("dcd", loss=loss), stop=Gap(tol))


@every_loss
def test_a_linear_model_is_a_good_start(loss):
    X, y = blobs(1500, 60, shift=0.1)
    options = {"solver": make("dcd", loss=loss), "kernel": Linear(), "C": 1.0}
    first = fit(X, y, stop=Gap(1e-5), **options)
    again = fit(X, y, stop=Gap(1e-3), start=first.model, **options)
    assert again.status is Status.CONVERGED and again.gap <= 1e-3
    assert again.n_iter <= 0.5 * fit(X, y, stop=Gap(1e-3), **options).n_iter


@every_loss
def test_a_model_of_support_vectors_is_a_good_start(loss):
    X, y = blobs(300, 6, shift=0.4)
    kernel = fit(X, y, solver="swap2o", kernel=Linear(), C=0.1, stop=Gap(1e-4)).model
    options = {"solver": make("dcd", loss=loss), "kernel": Linear(), "C": 0.1}
    warm = fit(X, y, start=kernel, stop=Gap(1e-3), **options)
    assert warm.status is Status.CONVERGED and warm.gap <= 1e-3
    if loss == "squared_hinge":  # the same problem
        assert warm.n_iter <= 0.5 * fit(X, y, stop=Gap(1e-3), **options).n_iter


@every_loss
def test_start_weights_are_feasible_and_certified(loss):
    problem = dual_of_blobs(400, loss=loss, d=60, shift=0.1)  # dozens of points on the margin
    found = cold(problem, loss, 1e-6)
    w = problem.decision_function(found.point, found.certificate)
    start = problem.start_weights(w.w, w.intercept)
    assert problem.infeasible(start) is None
    certificate = problem.certificate(start)
    assert certificate.dual >= 0.98 * found.certificate.dual
    nothing = problem.certificate(problem.start_weights(np.zeros(60), 0.0))
    assert 0.0 <= nothing.gap <= 1.0


def test_start_is_its_own_solution():
    problem = dual_of_blobs(200)
    found = cold(problem, "hinge", 1e-5)
    np.testing.assert_array_equal(problem.start(found.point), found.point)
    assert problem.infeasible(problem.start(3.0 * found.point)) is None  # of a model with a larger C
    again = solve(problem, make("dcd"), start=found.point, stop=Gap(1e-4))
    assert again.n_iter <= 3


@every_loss
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_a_path_is_certified_at_each_C(storage, loss):
    X, y = blobs(300, 4)
    Cs = [10.0, 0.01, 0.1, 1.0]
    path = c_path(storage(X), y, Cs, solver=make("dcd", loss=loss), kernel=Linear(), stop=Gap(1e-4))
    for C, fitted in zip(Cs, path, strict=True):
        alone = fit(storage(X), y, solver=make("dcd", loss=loss), kernel=Linear(), C=C, stop=Gap(1e-4))
        assert fitted.status is Status.CONVERGED and fitted.gap <= 1e-4
        assert fitted.objective == pytest.approx(alone.objective, rel=2e-4)
        assert fitted.model.about["C"] == C


@every_loss
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_pairs_of_classes_are_liblinears(storage, loss, tmp_path):
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    names = np.array(["x", "y", "z"])[y]
    trained = fit(storage(X), names, solver=make("dcd", loss=loss), kernel=Linear(), C=0.1, stop=Gap(1e-9))
    decision = trained.model.decision_function(storage(X))
    np.testing.assert_allclose(X @ trained.model.weights.T + trained.model.intercept, decision, atol=1e-12)
    for k, (a, b) in enumerate(class_pairs(3)):
        rows = (y == a) | (y == b)
        pair = LinearSVC(C=0.1, loss=loss, tol=1e-10, max_iter=1_000_000, random_state=0).fit(X[rows], y[rows] == a)
        np.testing.assert_allclose(decision[:, k], pair.decision_function(X), atol=1e-3)
    trained.model.save(tmp_path / "model")
    again = SVMModel.load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(X), trained.model.decision_function(X))
    np.testing.assert_array_equal(again.predict(storage(X)), trained.model.predict(storage(X)))
    np.testing.assert_array_equal(again.weights, trained.model.weights)
    warm = fit(X, names, solver=make("dcd", loss=loss), kernel=Linear(), C=0.1, stop=Gap(1e-3), start=again)
    assert warm.n_iter < fit(X, names, solver=make("dcd", loss=loss), kernel=Linear(), C=0.1, stop=Gap(1e-3)).n_iter


def test_support_are_the_rows_with_weight():
    X, y = blobs(100)
    trained = fit(X, y, solver=make("dcd"), kernel=Linear())
    assert sorted(trained.support) == np.flatnonzero(trained.solutions[0].point).tolist()
    assert trained.model.vectors.shape == (1, 3)
