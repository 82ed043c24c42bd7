"""The core vector machine: what its eps promises, measured on the dense matrix, and smallest balls of plain points."""

import numpy as np
import pytest
from support.problems import FAMILY, blobs, dense_A, make, problem_of, qp_optimum, state_of

from svmkit import plugins
from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Laplacian, Linear
from svmkit.kernels.gram import Gram
from svmkit.problems.simplex import SimplexQP
from svmkit.solver.loop.solve import solve
from svmkit.solver.sampler import Draws
from svmkit.solver.selection import by_name
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations, Seconds

pytestmark = pytest.mark.usefixtures("one_pool")

ROUNDS = Iterations(3000)  # no gap among the rules: eps alone ends the solve
EPS = [1e-1, 1e-2, 1e-3]
SLOW = {"fw", "sfw", "msfw", "partan"}


def radii(A, alpha):
    """(distance of each point from the center, radius) of the ball with center sum alpha_i phi_i in the space of A."""
    g = A @ alpha
    f = alpha @ g
    return np.sqrt(np.maximum(np.diag(A) - 2 * g + f, 0.0)), np.sqrt(A[0, 0] - f)


def around(P: np.ndarray) -> SimplexQP:
    """The smallest ball around the rows of P: its squared radius is minus the minimum."""
    gram = Gram(Linear(), P)
    return SimplexQP(gram, linear_term=-gram.diag / 2)


def smallest_ball(P: np.ndarray) -> tuple[np.ndarray, float]:
    """(center, radius) by quadprog: min |c|^2 + s over s >= |p|^2 - 2 p'c, made strictly convex by proximal steps."""
    quadprog = pytest.importorskip("quadprog", reason="needs the trusted QP solver quadprog (extra `test`)")
    origin = P.mean(axis=0)
    P = P - origin
    d, s = P.shape[1], 0.0
    for _ in range(200):
        constraints = np.vstack([2 * P.T, np.ones(len(P))])
        x = quadprog.solve_qp(np.diag([2.0] * d + [1.0]), np.r_[np.zeros(d), s - 1], constraints, (P**2).sum(axis=1))[0]
        if abs(x[-1] - s) < 1e-14:
            break
        s = x[-1]
    radius = np.sqrt(max(0.0, x[-1] + x[:-1] @ x[:-1]))
    assert np.linalg.norm(P - x[:-1], axis=1).max() == pytest.approx(radius, rel=1e-6, abs=1e-7)
    return x[:-1] + origin, radius


# --- what eps promises


@pytest.mark.parametrize("sampler", ["full", "uniform:59"])
@pytest.mark.parametrize("eps", EPS)
@pytest.mark.parametrize(("C", "gamma"), [(1.0, 0.5), (1.0, 0.05), (100.0, 5.0), (100.0, 0.05)])
def test_the_ball_is_within_eps_of_the_smallest_one(C, gamma, eps, sampler):
    m = 200
    for seed in range(3):
        X, y = blobs(m, 3, seed=seed)
        problem = problem_of(X, y, C, RBF(gamma))
        A = y[:, None] * y * (problem.gram.block(np.arange(m), np.arange(m)) + 1.0) + np.eye(m) / (2 * C)
        solution = solve(problem, make("cvm", eps=eps), sampler=by_name.sampler(sampler), stop=ROUNDS, seed=seed)
        assert solution.status is Status.CONVERGED
        distances, radius = radii(A, solution.point)
        exact = np.sqrt(A[0, 0] - qp_optimum(A)[1])
        assert solution.details["radius"] == pytest.approx(radius, rel=1e-9)
        assert exact / (1 + eps) * (1 - 1e-9) <= radius <= exact * (1 + 1e-9)
        outside = np.mean(distances > (1 + eps) * radius * (1 + 1e-9))
        if sampler == "full":
            assert outside == 0.0
        else:  # 177 draws met none: more than 5% outside have a chance of 1e-4
            assert outside <= 0.05


@pytest.mark.parametrize("sampler", ["full", "uniform:59"])
@pytest.mark.parametrize("eps", EPS)
@pytest.mark.parametrize(("C", "gamma"), [(1.0, 0.5), (100.0, 0.05)])
def test_the_core_set_is_small(C, gamma, eps, sampler):
    """Badoiu and Clarkson: 2 / eps points hold a core set, whatever the dimension; the start adds up to two."""
    X, y = blobs(300, 3, seed=4)
    solution = solve(
        problem_of(X, y, C, RBF(gamma)), make("cvm", eps=eps), sampler=by_name.sampler(sampler), stop=ROUNDS
    )
    assert solution.n_support <= solution.details["core_set"] <= 2 / eps + 2
    assert solution.details["core_set"] <= solution.n_iter + 2


def test_the_core_set_does_not_grow_with_the_data():
    sizes = [
        solve(problem_of(*blobs(m, 3, seed=5)), make("cvm", eps=0.02), stop=ROUNDS).details["core_set"]
        for m in (200, 2000)
    ]
    assert sizes[1] < 1.5 * sizes[0] < 150


def test_a_smaller_eps_gives_a_larger_ball():
    X, y = blobs(200, 3, seed=6)
    details = [
        solve(problem_of(X, y), make("cvm", eps=eps), sampler=by_name.sampler("full"), stop=ROUNDS).details
        for eps in EPS
    ]
    assert details[0]["radius"] < details[1]["radius"] < details[2]["radius"]
    assert details[0]["core_set"] < details[1]["core_set"] < details[2]["core_set"]


@pytest.mark.parametrize(("sampler", "looks"), [("uniform:59", 3), ("full", 1)])
def test_three_samples_in_a_row_end_it_or_one_of_all_points(sampler, looks):
    X, y = blobs(200, 3, seed=7)
    solver, problem, sampler = make("cvm", eps=0.05), problem_of(X, y), by_name.sampler(sampler)
    A = dense_A(problem, X, RBF(0.5))
    state = state_of(solver, problem, sampler, seed=1, start=np.eye(200)[0])
    twin = Draws(sampler, y, np.random.default_rng(1))  # a given start draws nothing: these are the solver's samples
    misses = 0
    for _ in range(500):
        distances, radius = radii(A, state.point())
        info = solver.step(state)
        misses = misses + 1 if (distances[twin()] <= 1.05 * radius).all() else 0
        assert info.done == (misses >= looks)
        if info.done:
            break
    assert info.done
    assert radii(A, state.point())[1] == radius  # the ball that was looked at, not another one


@pytest.mark.parametrize("sampler", ["full", "uniform:59", "cyclic:20"])
def test_each_round_solves_the_core_set(sampler):
    X, y = blobs(150, 3, seed=8)
    problem, solver = problem_of(X, y, 5.0), make("cvm")
    A = dense_A(problem, X, RBF(0.5))
    state = state_of(solver, problem, by_name.sampler(sampler))
    size, f, grew = state.tracked.n, np.inf, 0
    for _ in range(60):
        info = solver.step(state)
        assert size <= state.tracked.n <= size + 1
        grew += state.tracked.n > size
        size = state.tracked.n
        point = solver.solution(state)
        truth = A @ point
        np.testing.assert_allclose(state.g, truth[state.tracked.idx], rtol=0, atol=1e-10 * np.abs(truth).max())
        assert info.objective == pytest.approx(point @ truth, rel=1e-9) and info.objective <= f * (1 + 1e-13)
        f = info.objective
        assert 2 * (f - truth[state.tracked.idx].min()) <= max(0.1 * info.gap_abs, 1e-12)
        assert info.n_support == np.count_nonzero(point) <= size
    assert grew > 15


@pytest.mark.parametrize("sampler", ["full", "uniform:59"])
@pytest.mark.parametrize("kernel", [RBF(0.5), Laplacian(0.5)])
def test_without_eps_the_gap_decides(kernel, sampler):
    X, y = blobs(150, 3, seed=9)
    problem = problem_of(X, y, 2.0, kernel)
    solution = solve(problem, make("cvm"), sampler=by_name.sampler(sampler), stop=Gap(1e-6) | Seconds(20))
    assert solution.status is Status.CONVERGED and solution.certificate.gap <= 1e-6


# --- what it refuses


@pytest.mark.parametrize(("kernel", "named"), [(Linear(), "linear"), (plugins.build("kernel", "poly"), "poly")])
def test_refuses_kernels_whose_points_lie_on_no_sphere(kernel, named):
    X, y = blobs(30)
    with pytest.raises(InputError) as error:
        solve(problem_of(X, y, 1.0, kernel), make("cvm"))
    line = str(error.value)
    assert "\n" not in line and all(word in line for word in ("cvm", named, "rbf"))


@pytest.mark.parametrize("given", ["classes", "samples"])
def test_refuses_unequal_C(given):
    X, y = blobs(30)
    C = np.where(y > 0, 2.0, 1.0) if given == "classes" else np.r_[np.ones(29), 1.001]
    with pytest.raises(InputError, match=r"^solver cvm needs one C for all samples: [^\n]*weights[^\n]*$"):
        solve(problem_of(X, y, C), make("cvm"))
    solve(problem_of(X, y, np.full(30, 2.0)), make("cvm"), stop=Iterations(2))


def test_refuses_a_linear_term_that_is_not_that_of_a_ball():
    X, _ = blobs(30)
    gram = Gram(Linear(), X)
    with pytest.raises(InputError, match="cvm"):
        solve(SimplexQP(gram, linear_term=np.zeros(30)), make("cvm"))
    with pytest.raises(InputError, match="cvm"):
        solve(SimplexQP(Gram(RBF(1.0), X), linear_term=np.arange(30.0)), make("cvm"))
    solve(
        SimplexQP(gram, linear_term=0.7 - gram.diag / 2), make("cvm"), stop=Iterations(2)
    )  # a constant moves no optimum


def test_refuses_another_problem_by_name():
    class Other:
        name, task = "BoxQP", "classify"
        has_targets = staticmethod(lambda: False)

    with pytest.raises(InputError, match="solver cvm solves SimplexQP, not BoxQP"):
        make("cvm").check(Other())


@pytest.mark.parametrize("eps", [-1.0, -1e-9, "-0.1", float("nan"), float("inf"), "much"])
def test_refuses_an_eps_that_is_no_length(eps):
    with pytest.raises(InputError, match=r"^(solver )?cvm: eps[^\n]*number[^\n]*$"):
        make("cvm", eps=eps)


def test_takes_eps_as_text():
    assert make("cvm", eps="1e-2").eps == 0.01


# --- the smallest ball around plain points


def _points(case: str, d: int) -> np.ndarray:
    P = np.random.default_rng(d).normal(size=(60, d))
    return {
        "points": P,
        "each twice": np.vstack([P, P]),
        "far away": P + 100.0,
        "on a line": P[:, :1] * np.arange(1.0, d + 1),
        "two": P[:2],
        "a corner": np.vstack([np.eye(d), np.zeros(d)]),
    }[case]


@pytest.mark.parametrize("case", ["points", "each twice", "far away", "on a line", "two", "a corner"])
@pytest.mark.parametrize("d", [2, 3, 4, 5])
@pytest.mark.parametrize("name", FAMILY)
def test_smallest_ball_in_the_plane_and_above(name, d, case):
    P = _points(case, d)
    tol = 3e-3 if name in SLOW else 1e-8
    problem = around(P)
    solution = solve(problem, make(name), sampler=by_name.sampler("full"), stop=Gap(tol) | Iterations(50_000))
    assert solution.status is Status.CONVERGED and solution.certificate.gap <= tol
    center, radius = smallest_ball(P)
    squared = -solution.certificate.primal
    assert radius**2 * (1 - tol) - 1e-10 <= squared <= radius**2 * (1 + 1e-9) + 1e-10
    # the objective grows with the squared distance from the center
    assert np.linalg.norm(solution.point @ P - center) <= np.sqrt(tol) * radius + 1e-6
    if name == "cvm":
        assert solution.details["radius"] == pytest.approx(radius, rel=1e-7)
        assert solution.details["core_set"] <= d + 20


@pytest.mark.parametrize("eps", EPS)
@pytest.mark.parametrize("d", [2, 3, 4, 5])
def test_eps_holds_for_plain_points(d, eps):
    for seed in range(3):
        P = np.random.default_rng(10 * d + seed).standard_t(4, size=(100, d))
        solution = solve(around(P), make("cvm", eps=eps), sampler=by_name.sampler("full"), stop=ROUNDS, seed=seed)
        assert solution.status is Status.CONVERGED
        _, exact = smallest_ball(P)
        radius = solution.details["radius"]
        assert exact / (1 + eps) * (1 - 1e-9) <= radius <= exact * (1 + 1e-9)
        assert np.linalg.norm(P - solution.point @ P, axis=1).max() <= (1 + eps) * radius * (1 + 1e-9)
        assert solution.details["core_set"] <= 2 / eps + 2


@pytest.mark.parametrize("value", [0.0, 1.7, -1e3])
@pytest.mark.parametrize(("name", "options"), [*((name, {}) for name in FAMILY), ("cvm", {"eps": 0.01})])
def test_one_point_many_times_is_a_ball_of_radius_zero(name, options, value):
    P = np.full((9, 3), value)
    solution = solve(around(P), make(name, **options), stop=Gap(1e-3) | Iterations(500))
    assert -solution.certificate.primal == pytest.approx(0.0, abs=1e-12 * (1 + value**2))
    np.testing.assert_allclose(solution.point @ P, P[0], rtol=1e-12)
    assert solution.details.get("radius", 0.0) <= 1e-6 * (1 + abs(value))
