"""fit: with the linear kernel and bias=1 the problem is LIBLINEAR's."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC
from support.liblinear import liblinear
from support.problems import SOLVERS, SUBLINEAR, every_fast, make, overlapping

from svmkit.kernels.functions import Linear
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations
from svmkit.training.train import fit

TIGHT = Gap(1e-12) | Iterations(400_000)


def optimum(X, y, C, class_weight=None, sample_weight=None):
    each = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if class_weight == "balanced":  # scikit-learn counts rows by their weight in newer versions only
        class_weight = {c: each.sum() / (2 * each[y == c].sum()) for c in (-1, 1)}
    weights = np.array([(class_weight or {}).get(c, 1.0) for c in y]) * each
    return liblinear(X, y, C * weights, "squared_hinge", tol=1e-12, dual=False)


def hyperplane(model):
    w = model.coef[0] @ (model.vectors.toarray() if sp.issparse(model.vectors) else model.vectors)
    return np.r_[w, model.intercept]


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("C", [1e-2, 1.0, 10.0])
@every_fast
def test_linear_equals_liblinear(name, C, storage):
    X, y = overlapping()
    trained = fit(storage(X), y, solver=name, kernel=Linear(), C=C, stop=TIGHT)
    np.testing.assert_allclose(hyperplane(trained.model), optimum(X, y, C), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", sorted(SUBLINEAR & set(SOLVERS)))
def test_linear_equals_liblinear_within_the_gap(name):
    """P is strongly convex: |(w, b) - (w*, b*)|^2 <= 2 (P - D), which is all that gap 1e-3 promises."""
    X, y = overlapping()
    trained = fit(X, y, solver=name, kernel=Linear(), C=1e-2, stop=Gap(1e-3) | Iterations(300_000))
    assert trained.status is Status.CONVERGED
    difference = hyperplane(trained.model) - optimum(X, y, 1e-2)
    assert difference @ difference <= 2.0 * (trained.objective - trained.dual_objective)
    assert np.abs(difference).max() < 0.02


def test_liblinears_two_algorithms_agree_with_us():
    X, y = overlapping(seed=5)
    dual = LinearSVC(C=0.1, intercept_scaling=1, dual=True, tol=1e-9, max_iter=5_000_000, random_state=0).fit(X, y)
    ours = hyperplane(fit(X, y, solver=make("auto", bias=1.0), kernel=Linear(), C=0.1, stop=TIGHT).model)
    np.testing.assert_allclose(np.r_[dual.coef_[0], dual.intercept_], ours, atol=1e-6)
    np.testing.assert_allclose(optimum(X, y, 0.1), ours, atol=1e-6)


@pytest.mark.parametrize("class_weight", [None, {-1: 3.0, 1: 0.5}, "balanced"], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_weights_equal_liblinears(weighted, class_weight):
    X, y = overlapping(share=0.2)
    sample_weight = np.random.default_rng(1).uniform(0.1, 3.0, len(y)) if weighted else None
    weights = {"class_weight": class_weight, "sample_weight": sample_weight}
    trained = fit(X, y, solver=make("auto", bias=1.0), kernel=Linear(), C=0.7, stop=TIGHT, **weights)
    want = optimum(X, y, 0.7, class_weight, sample_weight)
    np.testing.assert_allclose(hyperplane(trained.model), want, rtol=1e-6, atol=1e-6)
    plain = optimum(X, y, 0.7)
    assert weighted or class_weight or np.allclose(want, plain)
    assert not (weighted or class_weight) or np.abs(want - plain).max() > 1e-2
