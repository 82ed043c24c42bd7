"""Compiled slices of steps: however many steps a slice has, iterates, reports and solves are those of single steps."""

import numpy as np
import pytest
from support.problems import CLASSIC, blobs, make, problem_of
from svmkit_frank_wolfe.iterate import loops
from svmkit_frank_wolfe.steps import slices

from svmkit.problems.simplex import SimplexQP
from svmkit.solver.loop.iterate import Progress
from svmkit.solver.loop.solve import solve
from svmkit.solver.sampler import Draws, Full, Goal
from svmkit.solver.stopping import Gap, Iterations

pytestmark = pytest.mark.usefixtures("one_pool")

every_rule = pytest.mark.parametrize("name", [name for name in CLASSIC if make(name).rule is not None])


@pytest.fixture(autouse=True)
def of_few_points(monkeypatch):
    monkeypatch.setattr(slices, "SMALL", 0)


def begun(name, problem, goal):
    return make(name).init(problem, None, Draws(Full(), problem.y, 0, goal=goal))


def lines(history):
    """Points of a history without their times; those that are due by time alone are not the same in two runs."""
    return [point._replace(seconds=0.0) for point in history]


@pytest.mark.parametrize("memory", ["1GB", 1], ids=["every row fits", "five rows fit"])
@pytest.mark.parametrize("C", [0.1, 1000.0])
@every_rule
@pytest.mark.slow
def test_a_slice_takes_the_steps_that_single_steps_take(name, C, memory):
    X, y = blobs(700, 3, seed=11)
    together, apart, python = (
        begun(name, problem_of(X, y, C, memory=memory, dtype=np.float32), goal)
        for goal in (Goal(1e-12, np.inf), None, None)
    )
    solver, most = make(name), 0
    while together.n_iter < 700:
        info = solver.step(together)
        most = max(most, info.steps)
        for _ in range(info.steps):
            single = solver.step(apart)
        assert single == info._replace(steps=1, epochs=1.0)
        np.testing.assert_array_equal(together.point(), apart.point())
        np.testing.assert_array_equal(together.g, apart.g)
    assert most >= 20
    assert together.problem.gram.kernel_values == apart.problem.gram.kernel_values
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slices, "apply", lambda state: False)
        while python.n_iter < apart.n_iter:
            solver.step(python)
    np.testing.assert_allclose(python.point(), apart.point(), rtol=0, atol=1e-12)  # fused products round differently
    assert python.i == apart.i


@pytest.mark.slow
@pytest.mark.parametrize("limit", [None, 70, 333, 1501])
@every_rule
def test_a_solve_by_slices_is_the_one_by_single_steps(name, limit, monkeypatch):
    X, y = blobs(300, 3, seed=12)
    stop = Gap(1e-5) | Iterations(limit or 20_000)
    by_slices = solve(problem_of(X, y, 10.0), make(name), stop=stop)
    assert by_slices.n_iter == limit or by_slices.n_iter < (limit or 20_001)
    monkeypatch.setattr(slices, "_most", lambda state: 1)
    single = solve(problem_of(X, y, 10.0), make(name), stop=stop)
    np.testing.assert_array_equal(by_slices.point, single.point)
    assert (by_slices.n_iter, by_slices.status) == (single.n_iter, single.status)
    assert by_slices.certificate == single.certificate
    assert lines(by_slices.history) == lines(single.history)


@every_rule
def test_a_budget_holds_when_a_solve_is_continued(name):
    X, y = blobs(300, 3, seed=12)
    first = solve(problem_of(X, y, 100.0), make(name), stop=Iterations(401))
    start = Progress(first.point, first.n_iter)
    second = solve(problem_of(X, y, 100.0), make(name), stop=Iterations(733), start=start)
    assert (first.n_iter, second.n_iter) == (401, 733)


@every_rule
def test_slices_with_a_linear_term(name):
    m = 200
    X, y = blobs(m, 3, seed=43)
    c = np.random.default_rng(5).normal(size=m)
    gram = problem_of(X, y).gram
    problem = SimplexQP(gram, y, ridge=0.1, linear_term=c)
    A = y[:, None] * y * gram.block(np.arange(m), np.arange(m)) + 0.1 * np.eye(m)
    state = begun(name, problem, Goal(1e-12, np.inf))
    while state.n_iter < 300:
        info = make(name).step(state)
        point = state.point()
        np.testing.assert_allclose(state.g, A @ point + c, rtol=0, atol=1e-10)
        assert info.objective == pytest.approx(point @ (A @ point + 2 * c), abs=1e-10)
        assert info.n_support == np.count_nonzero(point)


@pytest.mark.parametrize("m", [1, 255, 256, 1000])
def test_the_move_finds_what_the_searches_find(m):
    rng = np.random.default_rng(m)
    for s, c_in, c_out in ((1.0, 0.3, -0.3), (0.9, 0.1, 0.0), (1.1, 0.0, -0.1)):
        g = np.round(rng.normal(size=m), 1)  # many ties
        w = np.maximum(rng.normal(size=m), 0.0)
        w[rng.integers(m)] = 1.0
        y, ridge, c = np.sign(rng.normal(size=m)), rng.uniform(size=m), rng.normal(size=m)
        plus, minus = (np.round(rng.uniform(size=m), 1).astype(np.float32) for _ in range(2))
        i, j = (int(r) for r in rng.integers(m, size=2))
        want = s * g + (1 - s) * c + y * (c_in * y[i] * (plus + 1.0) + c_out * y[j] * (minus + 1.0))
        want[i] += c_in * ridge[i]
        want[j] += c_out * ridge[j]
        found = loops.move_and_look(g, w, y, ridge, c, plus, minus, i, j, s, c_in, c_out, 1.0)
        np.testing.assert_allclose(g, want, rtol=0, atol=1e-6)
        assert found == (np.argmin(g), np.argmax(np.where(w > 0.0, g, -np.inf)))
