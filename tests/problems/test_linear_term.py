"""The simplex problem with a linear term: values and optima against a trusted QP solver, steps against numpy."""

import numpy as np
import pytest
import scipy.sparse as sp
from support.problems import CLASSIC, FAMILY, blobs, make, over_simplex, state_of

from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Linear, Precomputed
from svmkit.kernels.gram import Gram
from svmkit.problems.simplex import SimplexQP
from svmkit.solver.loop.solve import solve
from svmkit.solver.selection import by_name
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Absolute, Gap, Iterations

pytestmark = pytest.mark.usefixtures("one_pool")

SLOW = {"fw", "partan", "sfw", "msfw"}
FREE = [name for name in FAMILY if name != "cvm"]  # take any c


def optimum(A: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, float]:
    """(alpha, minimum) of alpha'A alpha + 2 c'alpha over the simplex, for A psd: quadprog in proximal steps."""
    m = len(A)
    rho = 1e-3 * max(np.trace(A) / m, 1e-3)
    alpha = np.full(m, 1.0 / m)
    for _ in range(500):
        alpha = over_simplex(2 * (A + rho * np.eye(m)), 2 * (rho * alpha - c))
        g = A @ alpha + c
        if alpha @ g - g.min() <= 1e-13 * scale(A, c):
            break
    assert alpha @ g - g.min() <= 1e-9 * scale(A, c)
    return alpha, float(alpha @ (g + c))


def scale(A, c) -> float:
    return np.abs(A).max() + 2 * np.abs(c).max()


def random_psd(m: int, rank: int, seed: int) -> np.ndarray:
    B = np.random.default_rng(seed).normal(size=(m, rank))
    A = B @ B.T
    return (A + A.T) / 2


def whole(problem: SimplexQP) -> np.ndarray:
    """A of the problem, dense."""
    every = np.arange(problem.m)
    return problem.y[:, None] * problem.y * (problem.gram.block(every, every) + problem.bias) + np.diag(problem.ridge)


def dirichlet(m: int, seed: int, active: int | None = None) -> np.ndarray:
    rng = np.random.default_rng(seed)
    alpha = np.zeros(m)
    alpha[rng.permutation(m)[: active or m]] = rng.dirichlet(np.ones(active or m))
    return alpha


# --- values


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("kernel", [RBF(0.5), Linear()])
@pytest.mark.parametrize("seed", range(3))
def test_objective_and_gradient_are_those_of_the_definition(seed, kernel, storage):
    m = 70
    X, y = blobs(m, 4, seed=seed)
    rng = np.random.default_rng(seed)
    c, ridge = rng.normal(size=m), rng.uniform(0.0, 1.0, size=m)
    problem = SimplexQP(Gram(kernel, storage(X)), y, bias=0.7, ridge=ridge, linear_term=c)
    A = whole(problem)
    np.testing.assert_allclose(np.diag(A), problem.diag, rtol=1e-12)
    for active in (None, 5, 1):
        alpha = dirichlet(m, seed, active)
        np.testing.assert_allclose(problem.gradient(alpha), A @ alpha + c, rtol=1e-10, atol=1e-12)
        at = rng.integers(m, size=9)
        np.testing.assert_allclose(problem.gradient(alpha, at), (A @ alpha + c)[at], rtol=1e-10, atol=1e-12)
        assert problem.objective(alpha) == pytest.approx(alpha @ A @ alpha + 2 * c @ alpha, rel=1e-10)
        along = dirichlet(m, seed + 100) - alpha
        h = 1e-6
        slope = (problem.objective(alpha + h * along) - problem.objective(alpha - h * along)) / (2 * h)
        assert slope == pytest.approx(2 * problem.gradient(alpha) @ along, rel=1e-5, abs=1e-7)


def test_no_linear_term_is_one_of_zeros():
    X, y = blobs(50)
    alpha = dirichlet(50, 0)
    without, zeros = (SimplexQP(Gram(RBF(0.5), X), y, ridge=0.1, linear_term=c) for c in (None, np.zeros(50)))
    assert without.objective(alpha) == pytest.approx(zeros.objective(alpha), rel=1e-14)
    np.testing.assert_allclose(without.gradient(alpha), zeros.gradient(alpha), rtol=1e-14)
    assert without.certificate(alpha).dual == pytest.approx(zeros.certificate(alpha).dual, rel=1e-14)


@pytest.mark.parametrize("rank", [2, 8, 40])
@pytest.mark.parametrize("seed", range(4))
def test_the_certificate_bounds_the_optimum_from_both_sides(seed, rank):
    m = 40
    A, c = random_psd(m, rank, seed), np.random.default_rng(seed).normal(size=m) * 3
    problem = SimplexQP(Gram(Precomputed(), A), linear_term=c)
    best, minimum = optimum(A, c)
    for alpha in (dirichlet(m, seed), dirichlet(m, seed, 3), np.eye(m)[seed], 0.9 * best + 0.1 / m, best):
        given = problem.certificate(alpha)
        g = A @ alpha + c
        assert given.primal == pytest.approx(problem.objective(alpha), rel=1e-12)
        assert given.dual == pytest.approx(given.primal - 2 * (alpha @ g - g.min()), rel=1e-9, abs=1e-9)
        assert given.dual - 1e-9 * scale(A, c) <= minimum <= given.primal + 1e-9 * scale(A, c)
        assert given.gap == pytest.approx(
            (given.primal - given.dual) / max(abs(given.primal), abs(given.dual)), rel=1e-10, abs=given.rounding
        )
        np.testing.assert_allclose(given.gradient, g, rtol=1e-10, atol=1e-12)
    assert given.primal - given.dual <= 1e-8 * scale(A, c)
    assert problem.bound(1.5) == type(given)(1.5, None, None)


@pytest.mark.parametrize(
    "c",
    [np.zeros(9), np.zeros((10, 1)), np.zeros(()), np.r_[np.zeros(9), np.nan], np.r_[np.zeros(9), -np.inf]],
    ids=["short", "a column", "a number", "nan", "inf"],
)
def test_refuses_what_is_no_linear_term(c):
    X, y = blobs(10)
    with pytest.raises(InputError, match=r"^the linear term must be 10 finite numbers[^\n]*$"):
        SimplexQP(Gram(RBF(0.5), X), y, linear_term=c)


def test_takes_a_linear_term_of_any_number_type():
    X, y = blobs(10)
    alpha = dirichlet(10, 0)
    values = [SimplexQP(Gram(RBF(0.5), X), y, linear_term=c).objective(alpha) for c in (np.arange(10), list(range(10)))]
    values.append(SimplexQP(Gram(RBF(0.5), X), y, linear_term=np.arange(10, dtype=np.float32)).objective(alpha))
    assert values[0] == values[1] == values[2]


# --- optima


CASES = {  # rank of A, what is added to its diagonal, size of c
    "full rank": (40, 20.0, 3.0),
    "low rank": (5, 0.0, 1.0),
    "c decides": (8, 0.0, 100.0),
    "c hardly matters": (40, 20.0, 1e-3),
}


@pytest.mark.parametrize("draws", [None, "uniform:9"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", FREE)
def test_every_solver_reaches_the_trusted_optimum(name, case, draws):
    m, (rank, ridge, size) = 40, CASES[case]
    tol = 3e-3 if name in SLOW else 1e-8
    for seed in range(2):
        A, c = random_psd(m, rank, seed) + ridge * np.eye(m), size * np.random.default_rng(seed + 50).normal(size=m)
        problem = SimplexQP(Gram(Precomputed(), A), linear_term=c)
        _, minimum = optimum(A, c)
        stop = Gap(tol) | Iterations(60_000)
        solution = solve(problem, make(name), sampler=by_name.sampler(draws) if draws else None, stop=stop, seed=seed)
        assert solution.status is Status.CONVERGED
        assert problem.infeasible(solution.point) is None
        given = solution.certificate
        assert given.dual - 1e-9 * scale(A, c) <= minimum <= given.primal + 1e-9 * scale(A, c)
        assert given.primal - minimum <= tol * max(abs(given.primal), abs(given.dual)) + 1e-9 * scale(A, c)


@pytest.mark.parametrize("name", CLASSIC)
@pytest.mark.parametrize("level", [-1e3, -1.0, 0.0, 1e-6, 1.0, 1e3])
def test_an_optimum_of_any_sign_and_zero_is_found(name, level):
    """c + t 1 moves the objective by 2 t and no optimum: here to a minimum of `level`."""
    A, c = random_psd(30, 30, 3), np.random.default_rng(3).normal(size=30)
    best, minimum = optimum(A, c)
    problem = SimplexQP(Gram(Precomputed(), A), linear_term=c + (level - minimum) / 2)
    size = scale(A, c)
    tol = 1e-3 if name in SLOW else 1e-8
    solution = solve(problem, make(name), stop=Absolute(tol * size) | Iterations(60_000))
    assert solution.status is Status.CONVERGED
    assert -1e-10 * (size + abs(level)) <= solution.certificate.primal - level <= 1.01 * tol * size
    assert np.abs(solution.point - best).max() < (0.2 if name in SLOW else 1e-3)
    if abs(level) >= 1.0 and name not in SLOW:
        solution = solve(problem, make(name), stop=Gap(1e-6) | Iterations(60_000))
        assert solution.status is Status.CONVERGED and solution.certificate.gap <= 1e-6
        assert solution.certificate.primal == pytest.approx(level, rel=2e-6)


@pytest.mark.parametrize("name", CLASSIC)
def test_an_optimum_of_zero_ends_by_an_absolute_gap(name):
    """Points around the origin: the minimum is 0, where no relative gap can hold: an absolute one ends it."""
    P = np.random.default_rng(0).normal(size=(40, 2))
    problem = SimplexQP(Gram(Linear(), P), linear_term=np.zeros(40))
    solution = solve(problem, make(name), stop=Gap(1e-3) | Absolute(1e-6) | Iterations(60_000))
    assert solution.status is Status.CONVERGED
    assert 0.0 <= solution.certificate.primal + 1e-15 < 1e-6
    assert solution.certificate.dual <= 1e-15


@pytest.mark.parametrize("draws", ["full", "uniform:9"])
@pytest.mark.parametrize("seed", range(4))
def test_cvm_where_its_condition_holds(seed, draws):
    """A_ii + 2 c_i is the same for all: the smallest ball around points of any norm."""
    A = random_psd(40, 6, seed)
    for level in (0.0, 3.0, -2.0):
        c = (level - np.diag(A)) / 2
        problem = SimplexQP(Gram(Precomputed(), A), linear_term=c)
        _, minimum = optimum(A, c)
        stop = Gap(1e-8) | Iterations(20_000)
        solution = solve(problem, make("cvm"), sampler=by_name.sampler(draws), stop=stop, seed=seed)
        assert solution.status is Status.CONVERGED
        assert solution.certificate.primal == pytest.approx(minimum, abs=1e-7 * scale(A, c))
        assert solution.details["radius"] == pytest.approx(np.sqrt(level - minimum), rel=1e-6)
    with pytest.raises(InputError, match="cvm"):
        solve(SimplexQP(Gram(Precomputed(), A), linear_term=c + np.eye(40)[3] / 10), make("cvm"))


@pytest.mark.parametrize("name", FAMILY)
def test_a_term_of_zeros_takes_the_steps_of_none(name):
    X, y = blobs(60, 3, seed=5)
    solver, states = make(name), []
    start = dirichlet(60, 1, 5)
    for c in (None, np.zeros(60)):
        problem = SimplexQP(Gram(RBF(0.5), X), y, bias=1.0, ridge=0.5, linear_term=c)
        states.append(state_of(solver, problem, solver.sampler, start=start))
    for _ in range(60):
        infos = [solver.step(state) for state in states]
        np.testing.assert_allclose(states[0].point(), states[1].point(), rtol=0, atol=1e-10)
        assert infos[0].objective == pytest.approx(infos[1].objective, rel=1e-10)
        assert infos[0].n_support == infos[1].n_support


@pytest.mark.parametrize("name", FREE)
def test_a_constant_moves_the_objective_and_no_step(name):
    X, y = blobs(60, 3, seed=6)
    c = 0.1 * np.random.default_rng(1).normal(size=60)
    solver, states, start = make(name), [], dirichlet(60, 1, 5)
    for t in (0.0, 5.0):
        problem = SimplexQP(Gram(RBF(0.5), X), y, ridge=0.5, linear_term=c + t)
        states.append(state_of(solver, problem, solver.sampler, start=start))
    for _ in range(15):
        one, other = (solver.step(state) for state in states)
        np.testing.assert_allclose(states[0].point(), states[1].point(), rtol=0, atol=1e-8)
        assert other.objective - one.objective == pytest.approx(10.0, abs=1e-9)
        assert other.gap_abs == pytest.approx(one.gap_abs, abs=1e-7)


# --- every method, step by step, against itself in plain numpy


def _line(D, g, A, lam_max):
    """(gain of the free step, step that stays feasible)."""
    slope, curvature = D @ g, max(D @ A @ D, 1e-300)
    return (slope**2 / curvature, min(-slope / curvature, lam_max)) if slope < 0 else (0.0, 0.0)


def _near(values, tie=1e-10):
    """Positions of all values that are as good as the largest one: rounding decides between them."""
    return np.flatnonzero(values >= values.max() - tie)


def candidates(name, A, c, alpha, before):
    """Where math.md's method `name` may go from alpha, `before` being the iterate before it: one point, or several
    where two choices are equally good, as they are after a pairwise step on a support of two or three.
    """
    unit, g = np.eye(len(A)), A @ alpha + c
    f, active = alpha @ g, np.flatnonzero(alpha > 0)
    for i in _near(-g):
        toward = (unit[i] - alpha, 1.0)
        pairs = [(unit[i] - unit[j], alpha[j]) for j in active[_near(g[active])]]
        aways = [(alpha - unit[j], alpha[j] / (1 - alpha[j])) for j in active[_near(g[active])] if alpha[j] < 1]
        if name == "swap2o":
            all_pairs = [(unit[i] - unit[j], alpha[j]) for j in active if g[j] > g[i]]
            gains = np.array([_line(D, g, A, 1.0)[0] for D, _ in all_pairs])
            pairs = [all_pairs[k] for k in _near(gains)] if all_pairs else []
        directions = [toward]
        if name == "mdm":
            directions = pairs
        elif name == "mfw":
            better = (f - g[i]) - (g[active].max() - f)
            directions = [toward] * int(better >= -1e-10) + aways * int(better <= 1e-10)
        elif name in ("swap", "swap2o"):
            gain = _line(toward[0], g, A, 1.0)[0]
            better = [_line(D, g, A, 1.0)[0] - gain for D, _ in pairs]
            directions = [pair for pair, by in zip(pairs, better, strict=True) if by >= -1e-10]
            directions += [toward] * int(not pairs or min(better) <= 1e-10)
        for D, lam_max in directions:
            after = np.maximum(alpha + _line(D, g, A, lam_max)[1] * D, 0.0)
            if name == "partan":
                ahead = after - before
                ahead[np.abs(ahead) <= 1e-15] = 0.0
                down = ahead < 0
                mu_max = (-after[down] / ahead[down]).min() if down.any() else np.inf
                after = after + _line(ahead, A @ after + c, A, mu_max)[1] * ahead
            yield after


@pytest.mark.parametrize("size", [0.05, 1.0])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", CLASSIC)
def test_takes_the_steps_of_its_paper_with_a_linear_term(name, seed, size):
    m = 60
    X, y = blobs(m, 3, seed=seed)
    c = size * np.random.default_rng(seed).normal(size=m)
    problem, solver = SimplexQP(Gram(RBF(0.5), X), y, bias=0.4, ridge=0.3, linear_term=c), make(name)
    A = whole(problem)
    before = alpha = dirichlet(m, seed, 10)
    state = state_of(solver, problem, start=alpha)
    clear = 0
    for k in range(60):
        info = solver.step(state)
        point = solver.solution(state)
        ways = list(candidates(name, A, c, alpha, before))
        assert min(np.abs(point - way).max() for way in ways) <= 1e-9, f"step {k + 1}"
        clear += len(ways) == 1
        before, alpha = alpha, point
        g = A @ alpha + c
        slack = 2 * (alpha @ g - g.min())
        assert info.objective == pytest.approx(alpha @ (g + c), rel=1e-9, abs=1e-11)
        assert info.gap_abs == pytest.approx(slack, rel=1e-6, abs=1e-11)
        assert info.gap == pytest.approx(slack / abs(alpha @ (g + c)), rel=1e-5, abs=1e-9)
        assert info.n_support == np.count_nonzero(point)
        if slack < 1e-5:
            break
    assert clear > (8 if size < 1.0 else 0)


@pytest.mark.parametrize("draws", ["full", "uniform:5", "cyclic:5"])
@pytest.mark.parametrize("name", FREE)
def test_what_is_maintained_agrees_with_scratch_at_every_step(name, draws):
    m = 150
    X, y = blobs(m, 3, seed=18)
    c = 0.1 * np.random.default_rng(7).normal(size=m)
    problem, solver = SimplexQP(Gram(RBF(0.5), X), y, ridge=0.2, linear_term=c), make(name)
    A = whole(problem)
    state = state_of(solver, problem, by_name.sampler(draws), start=dirichlet(m, 3, 4))
    before = np.inf
    for _ in range(250):
        info = solver.step(state)
        idx = np.arange(m) if state.tracked.idx is None else state.tracked.idx
        point = solver.solution(state)
        truth = A @ point + c
        np.testing.assert_allclose(state.g, truth[idx], rtol=0, atol=1e-11)
        assert state.c_alpha == pytest.approx(c @ point, abs=1e-12)
        assert state.f == pytest.approx(point @ truth, abs=1e-12)
        assert info.objective == pytest.approx(point @ (truth + c), abs=1e-12)
        assert info.objective <= before + 1e-14
        before = info.objective
        assert problem.infeasible(point) is None
