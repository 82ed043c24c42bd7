"""minimize_simplex: against quadprog, A in every form, rows on demand, the smallest ball, and what is refused."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from support.problems import FAMILY, SUBLINEAR, make

from svmkit import Gram, InputError, Status, minimize_simplex
from svmkit.kernels.functions import RBF, Linear
from svmkit.solver.stopping import Gap

pytestmark = pytest.mark.usefixtures("one_pool")
every_member = pytest.mark.parametrize("name", FAMILY)


def fast(name):
    """The solver as it converges fastest, and the gap that it can be asked for."""
    return make(name, **({"away": "support"} if name == "msfw" else {})), 1e-3 if name in SUBLINEAR else 1e-7


def matrix(m=40, d=6, seed=0):
    """A positive definite (m, m), and c (m,)."""
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(m, d))
    return B @ B.T + 2.0 * np.eye(m), rng.normal(size=m)


def qp(A, c):
    """(alpha, minimum) by quadprog."""
    quadprog = pytest.importorskip("quadprog", reason="needs the trusted QP solver quadprog (extra `test`)")
    m, size = len(A), np.trace(A) / len(A)
    simplex = np.hstack([np.ones((m, 1)), np.eye(m)])
    alpha = quadprog.solve_qp(A / size, -c / size, simplex, np.eye(m + 1)[0], 1)[0]
    alpha = np.maximum(alpha, 0.0) / np.maximum(alpha, 0.0).sum()
    return alpha, float(alpha @ A @ alpha + 2 * c @ alpha)


def ball(X):
    """(center, radius) of the smallest ball by quadprog: min c'c + t subject to t >= |x|^2 - 2 c'x."""
    quadprog = pytest.importorskip("quadprog", reason="needs the trusted QP solver quadprog (extra `test`)")
    m, d = X.shape
    squared = np.square(X).sum(axis=1)
    rows = np.column_stack([2.0 * X, np.ones(m)])
    center = quadprog.solve_qp(np.diag(np.r_[np.full(d, 2.0), 1e-9]), np.r_[np.zeros(d), -1.0], rows.T, squared)[0][:d]
    return center, np.sqrt(np.square(X - center).sum(axis=1).max())


class Counted:
    """Rows of A, and which of them were asked for."""

    def __init__(self, A):
        self.A, self.asked = A, []

    def __call__(self, idx):
        self.asked += idx.tolist()
        return self.A[idx]


@every_member
@pytest.mark.parametrize("linear", ["none", "random", "ball"])
def test_equals_quadprog(name, linear):
    A, c = matrix()
    c = {"none": np.zeros(40), "random": c, "ball": -np.diag(A) / 2}[linear]
    solver, tol = fast(name)
    if name == "cvm" and linear != "ball":
        c = 3.0 - np.diag(A) / 2
    best, minimum = qp(A, c)
    found = minimize_simplex(A, None if not c.any() else c, solver=solver, tol=tol)
    assert found.status is Status.CONVERGED and found.certificate.gap <= tol
    value = found.point @ A @ found.point + 2 * c @ found.point
    assert found.certificate.primal == pytest.approx(value, rel=1e-9)
    assert found.certificate.dual - 1e-9 <= minimum <= value + 1e-9
    assert found.point.min() >= 0.0 and found.point.sum() == pytest.approx(1.0, abs=1e-12)
    if name not in SUBLINEAR:
        np.testing.assert_allclose(found.point, best, atol=1e-3)


def test_A_in_every_form_is_the_same_problem():
    X = np.random.default_rng(1).normal(size=(60, 4))
    A = X @ X.T
    c, d = -np.diag(A) / 2, np.diag(A)
    want = minimize_simplex(A, c)
    forms = {
        "list": (A.tolist(), {}),
        "columns": (np.asfortranarray(A), {}),
        "csr": (sp.csr_array(A), {}),
        "csc": (sp.csc_matrix(A), {}),
        "pair": (("linear", X), {}),
        "kernel": ((Linear(), sp.csr_array(X)), {}),
        "function": ((lambda P, Q: P @ Q.T, X), {}),
        "precomputed": (("precomputed", A), {}),
        "gram": (Gram(Linear(), X), {}),
        "rows": (lambda idx: A[idx], {"diag": d}),
        "sparse rows": (lambda idx: sp.csr_array(A[idx]), {"diag": d}),
        "few rows": (lambda idx: A[idx], {"diag": d, "memory": 60 * 8 * 6}),
    }
    for name, (form, options) in forms.items():
        found = minimize_simplex(form, c, **options)
        assert found.status is Status.CONVERGED, name
        np.testing.assert_allclose(found.point, want.point, atol=1e-6, err_msg=name)
    for form, options in ((A.astype(np.float32), {}), (lambda idx: A[idx].astype(np.float32), {"diag": d})):
        found = minimize_simplex(form, c, **options)
        np.testing.assert_allclose(found.point, want.point, atol=1e-4)


@every_member
def test_the_smallest_ball(name):
    X = np.random.default_rng(2).normal(size=(150, 3))
    center, radius = ball(X)
    solver, tol = fast(name)
    found = minimize_simplex(("linear", X), -np.square(X).sum(axis=1) / 2, solver=solver, tol=tol)
    assert np.sqrt(-found.certificate.primal) == pytest.approx(radius, rel=tol)
    distance = np.linalg.norm(X - found.point @ X, axis=1)
    assert distance.max() <= radius * (1 + tol)
    if name not in SUBLINEAR:
        np.testing.assert_allclose(found.point @ X, center, atol=1e-3)
        np.testing.assert_allclose(distance[found.point > 1e-3], radius, rtol=1e-3)


def _twice(X):
    return np.repeat(X, 2, axis=0)


def _constant(X):
    return np.column_stack([np.full(len(X), 3.0), X, np.zeros(len(X))])


@pytest.mark.parametrize("change", [_twice, _constant, lambda X: X[np.random.default_rng(5).permutation(len(X))]])
def test_a_ball_of_the_same_points(change):
    X = np.random.default_rng(3).normal(size=(80, 3))
    _, radius = ball(X)
    other = change(X)
    found = minimize_simplex(("linear", other), -np.square(other).sum(axis=1) / 2)
    assert found.status is Status.CONVERGED
    assert np.sqrt(-found.certificate.primal) == pytest.approx(radius, rel=1e-6)


@pytest.mark.parametrize("X", [np.ones((1, 3)), np.full((5, 2), 0.3)], ids=["one point", "one point five times"])
def test_a_ball_of_radius_zero(X):
    found = minimize_simplex(X @ X.T, -np.square(X).sum(axis=1) / 2)
    assert found.status is Status.CONVERGED and abs(found.certificate.primal) < 1e-14


def test_a_minimum_of_zero_is_reached():
    X = np.random.default_rng(4).normal(size=(200, 3))  # the origin is inside: no relative gap can hold
    found = minimize_simplex(X @ X.T)
    assert found.status is Status.CONVERGED
    assert abs(found.certificate.primal) < 1e-12 and found.certificate.primal - found.certificate.dual < 1e-11


@every_member
def test_no_row_is_asked_for_twice_while_memory_lasts(name):
    A, _ = matrix(300, 5)
    rows = Counted(A)
    solver, tol = fast(name)
    minimize_simplex(rows, -np.diag(A) / 2, diag=np.diag(A), solver=solver, tol=tol, sampler="full", max_iter=2000)
    assert len(rows.asked) == len(set(rows.asked))
    if name not in ("sfw", "msfw", "cvm"):  # which look at all samples as they arrive
        assert len(rows.asked) < 60


def test_only_rows_of_vertices_are_asked_for():
    A, _ = matrix(300, 5)
    rows = Counted(A)
    found = minimize_simplex(rows, -np.diag(A) / 2, diag=np.diag(A), solver="fw", max_iter=30)
    assert len(set(rows.asked) - set(np.flatnonzero(found.point).tolist())) <= 1  # the next vertex


def test_little_memory_costs_questions_and_no_accuracy():
    m, rng = 2000, np.random.default_rng(6)
    X = rng.normal(size=(m, 40))
    squared = np.square(X).sum(axis=1)
    asked = []

    def rows(idx):
        asked.extend(idx.tolist())
        return X[idx] @ X.T

    want = minimize_simplex(("linear", X), -squared / 2)
    tracemalloc.start()
    found = minimize_simplex(rows, -squared / 2, diag=squared, memory="200KB")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.certificate.primal == pytest.approx(want.certificate.primal, rel=2e-6)
    assert peak < 2 << 20  # all of A: 32 MB
    assert len(asked) > len(set(asked))


def _with(A, i, j, value):
    A = A.copy()
    A[i, j] = value
    return A


A0, C0 = matrix(12)
REFUSED = {
    "not square": (A0[:, :5], {}, "A has to be square, not 12 x 5"),
    "one dimension": (A0[0], {}, "Expected 2D array"),
    "text": ([["a", "b"], ["b", "c"]], {}, "not numbers"),
    "nan": (_with(A0, 3, 4, np.nan), {}, "A contains NaN at row 4, column 5"),
    "infinite csr": (sp.csr_array(_with(A0, 3, 4, np.inf)), {}, "A contains infinity"),
    "asymmetric": (_with(A0, 3, 4, 9.0), {}, r"not symmetric: A\[3, 4\] is 9 and"),
    "asymmetric csr": (sp.csr_array(_with(A0, 3, 4, 9.0)), {}, r"not symmetric: A\["),
    "not psd": (-A0, {}, "not positive semidefinite: x'A x = -"),
    "not psd csr": (sp.csr_array(-A0), {}, "not positive semidefinite"),
    "not psd precomputed": (("precomputed", -A0), {}, "not positive semidefinite"),
    "no diag": (lambda idx: A0[idx], {}, "needs the diagonal too: give diag"),
    "needless diag": (A0, {"diag": np.diag(A0)}, "diag belongs to a function"),
    "bad diag": (lambda idx: A0[idx], {"diag": [np.nan] * 12}, "diag must be 12 finite numbers"),
    "c too short": (A0, {"c": C0[:5]}, "c must be 12 finite numbers"),
    "c infinite": (A0, {"c": np.full(12, np.inf)}, "c must be 12 finite numbers"),
    "c text": (A0, {"c": ["x"] * 12}, "c must be 12 finite numbers"),
    "start short": (A0, {"start": np.ones(3) / 3}, "start must be 12 finite numbers"),
    "start off": (A0, {"start": np.ones(12)}, "start is infeasible on the unit simplex: weights should sum to 1"),
    "tol": (A0, {"tol": 0.0}, "needs a number > 0"),
    "stop": (A0, {"stop": "soon"}, "is not a rule"),
    "solver": (A0, {"solver": "simplex"}, "there is no solver"),
    "cvm": (A0, {"solver": "cvm"}, "cvm needs a kernel with constant"),
    "memory": (A0, {"memory": "much"}, "is not a size"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case):
    A, options, words = REFUSED[case]
    with pytest.raises(InputError, match=words) as refusal:
        minimize_simplex(A, **options)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("A", "words"),
    [
        (np.triu(A0) + np.eye(12), r"A\[\d+, \d+\] is"),
        (np.triu(A0), "not symmetric"),
        (np.where(np.eye(12, k=1) + np.eye(12, k=-1), np.nan, A0), "rows of A must be finite"),
        (-A0, "not positive semidefinite"),
        (A0[:, :5], r"returned shape \(\d+, 5\) for \d+ row numbers; it has to return \(\d+, 12\)"),
        (A0 + 1e-3 * np.eye(12), "in its row and"),
    ],
    ids=["both", "asymmetric", "nan", "not psd", "shape", "another diagonal"],
)
def test_rows_are_looked_at_as_they_come(A, words):
    start = np.eye(12)[0]
    with pytest.raises(InputError, match=words):
        minimize_simplex(
            lambda idx: A[idx], diag=-np.diag(A0) if words.startswith("not pos") else np.diag(A0), start=start
        )


def test_the_certificate_shows_negative_curvature():
    """A centre at distance 1 from three points at distances 2: two such points are possible, three are not."""
    squared = np.full((4, 4), 4.0)
    squared[0], squared[:, 0] = 1.0, 1.0
    np.fill_diagonal(squared, 0.0)
    with pytest.raises(InputError, match=r"not positive semidefinite: x'A x = -0\.333333 for x = alpha - e_0"):
        minimize_simplex(-squared / 2, np.array([10.0, 0.0, 0.0, 0.0]))
    found = minimize_simplex(-squared[1:, 1:] / 2)  # negative, but not for weights of sum zero
    np.testing.assert_allclose(found.point, 1 / 3, atol=1e-6)


def test_options_reach_the_solve():
    A, c = matrix(200, 20)
    best = minimize_simplex(A, c, tol=1e-9)
    again = minimize_simplex(A, c, start=best.point)
    assert again.n_iter <= 2
    seen = []
    short = minimize_simplex(A, c, solver="fw", max_iter=7, callbacks=[seen.append])
    assert short.status is Status.MAX_ITER and short.n_iter == 7 and seen[-1].n_iter == 7
    assert minimize_simplex(A, c, solver="fw", tol=1e-12, time_limit=0.05).status is Status.TIME_LIMIT
    assert minimize_simplex(A, c, stop="abs:1e-2").n_iter < best.n_iter
    assert minimize_simplex(A, c, stop=Gap(1e-2)).certificate.gap <= 1e-2
    sampled = minimize_simplex(A, c, sampler="uniform:20", seed=3)
    assert sampled.certificate.primal == pytest.approx(best.certificate.primal, rel=2e-6)
    same = minimize_simplex(A, c, sampler="uniform:20", seed=3)
    np.testing.assert_array_equal(same.point, sampled.point)


def test_a_kernel_with_a_linear_term():
    X = np.random.default_rng(7).normal(size=(50, 2))
    A = Gram(RBF(0.5), X, dtype=np.float64).block(np.arange(50), np.arange(50))
    c = np.random.default_rng(8).normal(size=50) / 10
    found = minimize_simplex((RBF(0.5), X), c)
    np.testing.assert_allclose(found.point, minimize_simplex(A, c).point, atol=1e-6)
