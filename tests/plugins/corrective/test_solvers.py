"""fcfw and fcsmo: the optimum of other solvers and of LIBSVM, squares of any precision, memory, hard cases."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC
from support.problems import blobs, dense_A, make, posed, problem_of, qp_optimum, state_of
from svmkit_corrective.rounds import Phase
from svmkit_corrective.working_set.square import Square

from svmkit.kernels.functions import RBF, Linear, Poly
from svmkit.kernels.gram import Gram
from svmkit.problems.box import BoxQP
from svmkit.problems.simplex import SimplexQP, SquaredHinge
from svmkit.solver.loop.solve import solve
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations, Seconds

pytestmark = pytest.mark.usefixtures("one_pool")
BOTH = pytest.mark.parametrize(("name", "options"), [("fcfw", {}), ("fcsmo", {}), ("fcsmo", {"loss": "squared_hinge"})])


def other(name, options):
    """A solver of the same problem that works in another way."""
    return make("swap2o") if name == "fcfw" else make("smo", **options)


def exact(gram, idx, signs, bias):
    return np.outer(signs[idx], signs[idx]) * (gram.block(idx, idx) + bias)


# --- the optimum


@BOTH
@pytest.mark.parametrize("first", [7, 1000])
@pytest.mark.parametrize("C", [1e-4, 1.0, 1e2])
def test_same_optimum_as_solvers_that_work_in_another_way(name, options, first, C):
    X, y = blobs(400, 3, seed=3)
    problem = posed(make(name, **options), X, y, C)
    a = solve(problem, make(name, first=first, **options), stop=Gap(1e-8))
    b = solve(problem, other(name, options), stop=Gap(1e-8))
    assert a.status is Status.CONVERGED
    assert a.certificate.dual == pytest.approx(b.certificate.dual, rel=1e-6)


@BOTH
@pytest.mark.parametrize("memory", ["9KB", "40KB", "1GB"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sets_that_do_not_fit_are_solved_in_turns(name, options, memory, dtype):
    X, y = blobs(500, 2, shift=0.3, seed=5)  # more vectors than the square has room for
    problem = posed(make(name, **options), X, y, 5.0, memory=memory, dtype=dtype)
    solution = solve(problem, make(name, first=20, **options), stop=Gap(1e-4))
    assert solution.status is Status.CONVERGED
    room = Square(Gram(RBF(0.5), X, memory=memory, dtype=dtype)).most
    if memory == "9KB":
        assert solution.n_support > room
    best = solve(posed(make(name, **options), X, y, 5.0), other(name, options), stop=Gap(1e-8)).certificate.dual
    assert best * (1.0 - 1e-4) <= solution.certificate.dual <= best * (1.0 + 1e-7)


@pytest.mark.float32
@BOTH
@pytest.mark.parametrize("kernel", [Linear(), Poly(0.5, 2, 1.0), RBF(20.0)], ids=lambda k: k.name)
def test_kernels_that_are_not_normalised_are_kept_as_they_are(name, options, kernel):
    X, y = blobs(300, 3, seed=7)
    X[::9] *= 4.0  # points whose values would take most of what 16 bits can hold
    problem = posed(make(name, **options), X, y, 0.01, kernel, dtype=np.float32)
    solution = solve(problem, make(name, **options), stop=Gap(1e-5) | Iterations(400_000))
    best = solve(
        posed(make(name, **options), X, y, 0.01, kernel), other(name, options), stop=Gap(1e-6) | Iterations(400_000)
    )
    assert solution.status is Status.CONVERGED
    assert solution.certificate.dual == pytest.approx(best.certificate.dual, rel=1e-4)


def test_fcfw_equals_the_trusted_qp_solver():
    X, y = blobs(80, 3, seed=9)
    problem = problem_of(X, y, 2.0)
    solution = solve(problem, make("fcfw", first=10), stop=Gap(1e-10))
    f = qp_optimum(dense_A(problem, X, RBF(0.5)))[1]
    assert problem.objective(solution.point) == pytest.approx(f, rel=1e-8)


@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.slow
def test_the_cone_has_the_minimum_of_the_simplex_and_takes_fewer_steps(bias):
    X, y = blobs(300, 3, seed=9)
    svm = problem_of(X, y, 1e3, bias=bias)  # solved over the cone
    plain = SimplexQP(svm.gram, y, bias=bias, ridge=svm.ridge)  # the same objective, solved over the simplex
    cone, simplex = (solve(p, make("fcfw", first=20), stop=Gap(1e-9) | Iterations(10**6)) for p in (svm, plain))
    assert svm.objective(cone.point) == pytest.approx(svm.objective(simplex.point), rel=1e-6)
    assert cone.n_iter < 0.5 * simplex.n_iter


def test_objectives_of_the_cone_are_those_of_its_points():
    X, y = blobs(300, 3, seed=9)
    problem, solver = problem_of(X, y, 10.0), make("fcfw", first=20)
    state, last = state_of(solver, problem), np.inf
    for _ in range(200):
        info = solver.step(state)
        assert info.objective == pytest.approx(problem.objective(solver.solution(state)), rel=1e-9)
        assert info.objective <= last * (1.0 + 1e-12)
        last = info.objective
        if info.gap < np.inf:
            alpha = solver.solution(state)
            g = problem.gradient(alpha)
            assert info.gap_abs == pytest.approx(2.0 * (alpha @ g - g.min()), rel=1e-6, abs=1e-12)
            assert info.gap == pytest.approx(problem.certificate(alpha).gap, rel=1e-5, abs=1e-9)  # with its rounding


# --- hard cases


@pytest.mark.float32
@BOTH
@pytest.mark.parametrize(
    "case",
    ["duplicates", "opposite duplicates", "one feature", "97:3", "C=1e4", "float32 data", "int64 csr", "read-only"],
)
def test_hard_cases(name, options, case):
    X, y = blobs(240, 1 if case == "one feature" else 3, seed=11, share=0.03 if case == "97:3" else 0.5)
    C = 1e4 if case == "C=1e4" else 10.0
    if "duplicates" in case:
        X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3) * (np.tile([1, -1, 1], 240) if "opposite" in case else 1)
    if case == "float32 data":
        X = X.astype(np.float32)
    if case == "int64 csr":
        X = sp.csr_array(X)
        X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    if case == "read-only":
        X.flags.writeable = y.flags.writeable = False
    for dtype in (np.float64, np.float32):
        problem = posed(make(name, **options), X, y, C, dtype=dtype)
        solution = solve(problem, make(name, first=30, **options), stop=Gap(1e-3) | Seconds(60))
        assert solution.status is Status.CONVERGED, dtype
        assert problem.infeasible(solution.point) is None
        assert solution.certificate.gap <= 1e-3


@pytest.mark.data
@BOTH
def test_large_C_on_unscaled_data(name, options, real_set):
    data = real_set("svmguide1")
    y = np.where(np.asarray(data.y) == 1, 1.0, -1.0)
    problem = posed(make(name, **options), data.X, y, 1e4, RBF(1.0 / 800.0))
    solution = solve(problem, make(name, **options), stop=Gap(1e-3))
    assert solution.status is Status.CONVERGED and solution.certificate.gap <= 1e-3


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize(("name", "C", "gamma"), [("a9a", 1.5, 0.005), ("w8a", 5.0, 1 / 44), ("ijcnn1", 5.0, 1 / 5.16)])
def test_same_objective_as_libsvm_on_real_data(name, C, gamma, real_set):
    data = real_set(name)
    X, y = data.X[:8000], np.where(np.asarray(data.y)[:8000] == 1, 1.0, -1.0)
    solution = solve(BoxQP(Gram(RBF(gamma), X, memory="50MB"), y, C), make("fcsmo"), stop=Gap(1e-4))
    fitted = SVC(C=C, gamma=gamma, cache_size=500).fit(X, y)
    beta = np.zeros(len(y))
    beta[fitted.support_] = np.abs(np.asarray(fitted.dual_coef_.todense() if sp.issparse(X) else fitted.dual_coef_))
    theirs = -BoxQP(Gram(RBF(gamma), X), y, C).objective(beta)
    assert solution.status is Status.CONVERGED
    assert solution.certificate.dual == pytest.approx(theirs, rel=1e-4)
    squared = SquaredHinge(Gram(RBF(gamma), X, memory="50MB"), y, C)
    a, b = (solve(squared, make(solver), stop=Gap(1e-5)) for solver in ("fcfw", "swap2o"))
    assert a.certificate.dual == pytest.approx(b.certificate.dual, rel=1e-4)


# --- what it stands on


@pytest.mark.parametrize(("dtype", "atol"), [(np.float32, 6e-5), (np.float64, 2e-15)])
@pytest.mark.parametrize("signed", [False, True])
def test_a_square_is_the_matrix_through_growth_and_packing(dtype, atol, signed):
    X, y = blobs(900, 4, seed=13)
    gram = Gram(RBF(0.3), X, dtype=dtype)
    signs, bias = (y, 1.0) if signed else (np.ones(900), 0.0)
    square, rng = Square(gram, y if signed else None, bias), np.random.default_rng(0)
    for size in (300, 1, 450):
        square.append(rng.permutation(np.setdiff1d(np.arange(900), square.idx))[:size])
        rows = square.rows
        values = rows.slab[: len(square.idx), : len(square.idx)] * (rows.quantum or 1.0)
        np.testing.assert_allclose(values, exact(gram, square.idx, signs, bias), rtol=0, atol=atol)
        slots = np.sort(rng.permutation(len(square.idx))[: len(square.idx) // 2])
        left = square.idx[slots]
        square.keep(slots)
        np.testing.assert_array_equal(square.idx, left)
        values = square.rows.slab[: len(left), : len(left)] * (rows.quantum or 1.0)
        np.testing.assert_allclose(values, exact(gram, left, signs, bias), rtol=0, atol=atol)


def test_a_square_goes_over_to_more_precision_until_there_is_none():
    X, _ = blobs(50)
    square = Square(Gram(RBF(0.5), X, dtype=np.float32))
    kinds = [square.rows.slab.dtype]
    while (finer := square.make_finer()) is not None:
        square = finer
        kinds.append(square.rows.slab.dtype)
    assert kinds == [np.dtype(np.int16), np.dtype(np.float32), np.dtype(np.float64)]
    assert Square(Gram(Linear(), X, dtype=np.float32)).rows.slab.dtype == np.float32


@BOTH
@pytest.mark.parametrize(("gap", "precise"), [(0.19, False), (0.21, True)])
def test_a_set_of_all_violators_that_was_not_solved_needs_more_precision(name, options, gap, precise):
    """The gap of all points is still twice the goal of the set, the second time that there is no point to add."""
    X, y = blobs(80)
    solver = make(name, **options)
    state = state_of(solver, posed(solver, X, y, 1.0, dtype=np.float32))
    state.grow(80, 1.0)
    state.gap, state.inner_goal = gap, 0.1
    kinds = []
    for _ in range(3):
        state.grow(80, 1.0)
        kinds.append(state.working.square.rows.slab.dtype)
    assert kinds == [np.int16, np.int16, np.float32 if precise else np.int16]


@pytest.mark.float32
@BOTH
def test_a_tolerance_beyond_16_bits_and_float32_is_reached(name, options):
    X, y = blobs(300, 3, seed=17)
    problem = posed(make(name, **options), X, y, 10.0, dtype=np.float32)
    solution = solve(problem, make(name, first=50, **options), stop=Gap(1e-10))
    assert solution.certificate.gap <= max(1e-10, 2.0 * solution.certificate.rounding) <= 1e-8


@pytest.mark.slow
@pytest.mark.threads
@BOTH
def test_threads_change_nothing(name, options):
    X, y = blobs(700, 4, seed=19)
    solver = make(name, first=60, **options)
    runs = [solve(posed(solver, X, y, 2.0, dtype=np.float32), solver, n_threads=threads) for threads in (1, None)]
    np.testing.assert_array_equal(runs[0].point, runs[1].point)


@BOTH
def test_a_solve_that_is_cut_short_is_feasible_and_goes_on(name, options):
    X, y = blobs(400, 3, seed=21)
    problem = posed(make(name, **options), X, y, 5.0)
    dual = -np.inf
    for most in (3, 30, 300):
        part = solve(problem, make(name, first=40, **options), stop=Gap(1e-9) | Iterations(most))
        assert problem.infeasible(part.point) is None and part.certificate.dual >= dual
        dual = part.certificate.dual
    rest = solve(problem, make(name, **options), stop=Gap(1e-8), start=part.point)
    whole = solve(problem, make(name, **options), stop=Gap(1e-8))
    assert rest.status is Status.CONVERGED
    assert rest.certificate.dual == pytest.approx(whole.certificate.dual, rel=1e-7)


@BOTH
@pytest.mark.parametrize("growth", [0.5, 2.0])
def test_a_round_admits_a_multiple_of_the_vectors(name, options, growth):
    """As long as that many points violate their conditions; `first` of them at least."""
    X, y = blobs(2000, 3, shift=0.4, seed=6)
    solver = make(name, first=20, growth=growth, **options)
    state = state_of(solver, posed(solver, X, y, 1.0))
    most, joined = [], []
    while len(joined) < 4:
        growing = state.phase is Phase.GROWING and len(state.working.idx) > 0
        before, n = state.working.idx, int(growth * state.n_support)
        solver.step(state)
        if growing:
            most.append(max(20, n))
            joined.append(len(np.setdiff1d(state.working.idx, before)))
    assert joined == most and max(most) > 20


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), [("fcfw", {}), ("fcsmo", {"loss": "squared_hinge"})])
def test_the_last_look_at_all_points_serves_the_certificate(name, options, monkeypatch):
    X, y = blobs(3000, 3, seed=24)
    problem = posed(make(name, **options), X, y, 1.0, dtype=np.float32)
    certify, values = type(problem).certificate, []

    def counted(self, point):
        values.append(self.gram.kernel_values)
        certificate = certify(self, point)
        values.append(self.gram.kernel_values)
        return certificate

    monkeypatch.setattr(type(problem), "certificate", counted)
    solution = solve(problem, make(name, **options), stop=Gap(1e-3))
    assert solution.status is Status.CONVERGED and solution.certificate.gap <= 1e-3
    assert len(values) == 2 and values[0] == values[1]


@pytest.mark.slow
@BOTH
def test_few_kernel_values_beside_those_of_the_vectors(name, options):
    """A set of some hundred vectors among many points: no row of any other point is computed whole."""
    X, y = blobs(6000, 2, shift=1.5, seed=23)
    problem = posed(make(name, **options), X, y, 10.0, dtype=np.float32)
    solution = solve(problem, make(name, first=200, **options), stop=Gap(1e-3))
    assert solution.status is Status.CONVERGED
    assert problem.gram.kernel_values < 8 * max(solution.n_support, 200) * problem.m
