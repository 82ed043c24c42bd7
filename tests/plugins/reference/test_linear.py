"""liblinear: LinearSVC's own weights through our door; and the dual weights that are found for its certificate."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC
from support.problems import blobs, posed
from svmkit_coordinate.dcd import DCD
from svmkit_reference.liblinear import LIBLINEAR

from svmkit.errors import InputError
from svmkit.kernels.functions import Linear
from svmkit.kernels.gram import Gram
from svmkit.problems.risks.linear_risk import LinearDual, LinearRisk
from svmkit.problems.risks.near_margin import weights_near_margin
from svmkit.solver.loop.solve import solve
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations, Violation

SEED = int(np.random.default_rng(0).integers(2**31 - 1))  # what the loop's seed 0 becomes
KINDS = [("hinge", "l2"), ("squared_hinge", "l2"), ("squared_hinge", "l1")]


def data(m=90, d=4, seed=0):
    X, y = blobs(m, d, seed=seed, share=0.4)
    return X, y, np.random.default_rng(seed).uniform(0.2, 3.0, m)


@pytest.mark.parametrize(("loss", "penalty"), KINDS)
@pytest.mark.parametrize("bias", [1.0, 0.0, 4.0])
@pytest.mark.parametrize("m", [90, 6], ids=["rows", "columns"])
def test_the_same_weights_as_linear_svc(loss, penalty, bias, m):
    X, y, C = data(m, 8)
    theirs = LinearSVC(
        loss=loss, penalty=penalty, tol=1e-5, C=1.0, fit_intercept=bias > 0, intercept_scaling=bias or 1.0,
        max_iter=10_000, random_state=SEED,
    ).fit(X, y, sample_weight=C)  # fmt: skip
    solver = LIBLINEAR(eps=1e-5, loss=loss, penalty=penalty, bias=bias)
    ours = solve(posed(solver, X, y, C), solver, stop=Violation(1e-5))
    assert ours.status is Status.CONVERGED and ours.n_iter == theirs.n_iter_
    np.testing.assert_array_equal(ours.point[:8], theirs.coef_[0])
    if bias:
        assert ours.point[8] * bias == theirs.intercept_[0]
    else:
        assert ours.point.shape == (8,)


@pytest.mark.parametrize(
    "stored",
    [
        lambda X: X.astype(np.float32),
        sp.csr_array,
        lambda X: sp.csr_array(
            (sp.csr_array(X).data, sp.csr_array(X).indices.astype(np.int64), sp.csr_array(X).indptr.astype(np.int64)),
            shape=X.shape,
        ),
    ],
    ids=["float32", "csr", "csr int64"],
)
def test_every_storage(stored):
    X, y, C = data()
    solver = LIBLINEAR(eps=1e-5)
    want = solve(posed(solver, X, y, C), solver, stop=Gap(1e-4))
    ours = solve(posed(solver, stored(X), y, C), solver, stop=Gap(1e-4))
    assert ours.certificate.gap <= 1e-4
    np.testing.assert_allclose(ours.point, want.point, atol=1e-2)


@pytest.mark.parametrize(("loss", "penalty"), KINDS)
@pytest.mark.parametrize("C", [1e-3, 1.0, 10.0])
def test_certified(loss, penalty, C):
    X, y, weights = data(200)
    solver = LIBLINEAR(loss=loss, penalty=penalty)
    solution = solve(posed(solver, X, y, C * weights), solver, stop=Gap(1e-3))
    assert solution.status is Status.CONVERGED and -1e-12 <= solution.certificate.gap <= 1e-3
    if penalty == "l2":
        best = solve(LinearDual(Gram(Linear(), X), y, C * weights, loss=loss), DCD(loss=loss), stop=Gap(1e-7))
        assert solution.certificate.primal == pytest.approx(best.certificate.primal, rel=1e-3)
        assert solution.certificate.dual <= best.certificate.primal * (1 + 1e-9)


def test_l1_leaves_columns_out():
    X, y, _ = data(200, 4)
    noise = np.random.default_rng(1).normal(size=(200, 30))
    solver = LIBLINEAR(loss="squared_hinge", penalty="l1")
    solution = solve(posed(solver, np.hstack([X, noise]), y, 0.05), solver)
    assert solution.status is Status.CONVERGED and solution.certificate.gap <= 1e-3
    assert (solution.point[:4] != 0.0).all() and (solution.point[4:] != 0.0).sum() < 15


def test_out_of_passes_is_said_in_the_status_alone():
    X, y, _ = data(200)
    solver = LIBLINEAR(eps=1e-9, passes=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = solve(posed(solver, X, y, 100.0), solver, stop=Gap(1e-9))
        shorter = solve(posed(solver, X, y, 100.0), solver, stop=Gap(1e-9) | Iterations(2))
    assert solution.status is Status.MAX_ITER and solution.n_iter == 3 and 0 < solution.certificate.gap <= 1
    assert shorter.status is Status.MAX_ITER and shorter.n_iter == 3  # a fit cannot be stopped inside


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"penalty": "l1"}, "penalty=l1 goes with loss=squared_hinge only"),
        ({"penalty": "l3"}, "penalty='l3' is not known; there are: l2, l1"),
        ({"passes": 0}, "passes must be >= 1, not 0"),
        ({"eps": 0.0}, "eps must be a finite number > 0, not 0"),
    ],
)
def test_wrong_options(options, words):
    with pytest.raises(InputError, match=words):
        LIBLINEAR(**options)


# --- dual weights from slacks


@pytest.mark.parametrize("m", [3, 10, 90, 2000])
@pytest.mark.parametrize("C", [1e-3, 1.0, 10.0])
def test_weights_near_the_margin_prove_what_the_model_is_worth(m, C):
    X, y, spread = data(m)
    problem = LinearRisk(Gram(Linear(), X), y, C * spread)
    best = solve(LinearDual(Gram(Linear(), X), y, C * spread), DCD(), stop=Gap(1e-9))
    w = problem.design.pull(best.point)
    beta = weights_near_margin(problem, problem.decision(w))
    assert (y * beta >= 0.0).all() and (y * beta <= problem.C).all()
    dual = problem.offer(beta)
    assert dual <= best.certificate.primal * (1 + 1e-9)
    assert dual >= best.certificate.dual * (1 - 2e-3)


@pytest.mark.parametrize("off", [0.3, 0.03])
def test_a_model_that_is_off_gets_a_bound_that_is_off_no_more(off):
    X, y, C = data(2000)
    problem = LinearRisk(Gram(Linear(), X), y, C)
    w = problem.design.pull(solve(LinearDual(Gram(Linear(), X), y, C), DCD(), stop=Gap(1e-9)).point)
    best = problem.objective(w)
    w = w * (1 + off * np.random.default_rng(1).normal(size=w.size))
    dual = problem.offer(weights_near_margin(problem, problem.decision(w)))
    assert best - dual <= max(problem.objective(w) - best, 1e-3 * best)
