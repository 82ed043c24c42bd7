"""newton on more columns than `wide`, with directions by products and the iterate as the model, beside LIBLINEAR."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC
from support.problems import make

from svmkit import SVMClassifier, fit
from svmkit.kernels.functions import Linear
from svmkit.kernels.gram import Gram
from svmkit.solver.loop.solve import solve
from svmkit.solver.sampler import Draws, Full
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap

FIELDS = 13


def one_hot(m=3_000, d=9_000, seed=0):
    """Fields of 4 columns and more, each a 1 in one of its columns by Zipf's law, and noisy labels."""
    rng = np.random.default_rng(seed)
    sizes = np.geomspace(4.0, 0.4 * d, FIELDS)
    first = np.rint(np.append(0.0, np.cumsum(sizes)[:-1])).astype(int)
    columns = first + np.minimum(sizes ** rng.random((m, FIELDS)) - 1.0, sizes - 1.0).astype(int)
    ends = np.arange(0, m * FIELDS + 1, FIELDS, dtype=np.int32)
    X = sp.csr_array((np.ones(m * FIELDS), columns.astype(np.int32).ravel(), ends), shape=(m, d))
    return X, np.sign(X @ rng.normal(size=d) + 2.0 * rng.normal(size=m))


def optimum(X, y, C):
    """P of the squared hinge with the column 1 of the bias by LIBLINEAR, and the weights of its columns."""
    peer = LinearSVC(dual=False, C=C, tol=1e-9, max_iter=10**6).fit(X, y)
    w, bias = peer.coef_[0], peer.intercept_[0]
    slack = np.maximum(1.0 - y * (X @ w + bias), 0.0)
    return 0.5 * (w @ w + bias**2) + C * slack @ slack, w


@pytest.mark.parametrize("tol", [1e-3, 1e-8])
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_the_optimum_of_one_hot_columns_is_that_of_liblinear(C, tol):
    X, y = one_hot()
    best, w = optimum(X, y, C)
    fitted = fit(X, y, solver=make("newton", bias=1.0), kernel=Linear(), C=C, stop=Gap(tol))
    assert fitted.status == Status.CONVERGED and fitted.gap <= tol
    assert best * (1.0 - 1e-9) <= fitted.objective <= best * (1.0 + tol)
    machine = SVMClassifier(kernel="linear", solver="newton", C=C, tol=tol, solver_options={"bias": 1.0}).fit(X, y)
    assert np.linalg.norm(machine.coef_[0] - w) <= 2.0 * np.sqrt(2.0 * tol * best)  # P is strongly convex


@pytest.mark.parametrize("C, most", [(0.01, 60), (1.0, 400), (30.0, 3_000)])
def test_it_takes_few_passes(C, most):
    """With residuals of a tenth and less of the gradient it took 112, 1,024 and 9,692."""
    X, y = one_hot()
    solver = make("newton", bias=1.0)
    problem = solver.pose(Gram(Linear(), X), y, C)
    state = solver.init(problem, None, Draws(Full(), y, 0))
    passes = 0.0
    while state.gap > 1e-3 and passes < 3e4:
        passes += solver.step(state).epochs
    assert passes <= most


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("bias", [1.0, "free"])
def test_a_start_that_is_worse_than_zero_is_left_and_a_good_one_kept(loss, bias):
    X, y = one_hot()
    solver = make("newton", loss=loss, bias=bias)
    problem = solver.pose(Gram(Linear(), X), y, 100.0)
    dull = problem.balanced(problem.clip(50.0 * y))
    v = problem.weights(dull)
    h = np.zeros(len(y)) + (problem.best_bias(np.zeros(len(y))) if bias == "free" else 0.0)
    at_zero = problem.total_loss(h)
    far = problem.decision(v)
    far += problem.best_bias(far) if bias == "free" else 0.0
    assert problem.total_loss(far) > at_zero, "its image is a bad place"
    state = solver.init(problem, dull, Draws(Full(), y, 0))
    assert state.primal == pytest.approx(at_zero, rel=1e-9) and state.dual >= problem.dual(dull, v)
    found = solve(problem, solver, stop=Gap(1e-6))
    assert found.status == Status.CONVERGED
    again = solver.init(problem, found.point, Draws(Full(), y, 0))
    assert again.primal < 1.1 * found.certificate.primal < at_zero
