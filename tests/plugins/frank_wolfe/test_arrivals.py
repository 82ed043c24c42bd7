"""Solvers whose samples arrive one at a time: against the paper's steps in plain numpy, and what always holds."""

import numpy as np
import pytest
from support.arrival import METHODS, From, check_against, every_method, uneven, vertex
from support.problems import blobs, dense_A, make, problem_of, state_of
from svmkit_frank_wolfe import sfw

from svmkit import plugins
from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Linear, Precomputed
from svmkit.kernels.gram import Gram
from svmkit.problems.simplex import SimplexQP
from svmkit.solver.loop.solve import solve
from svmkit.solver.selection import by_name
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Epochs, Gap, Iterations

pytestmark = pytest.mark.usefixtures("one_pool")

# --- the papers' steps


@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize(("start", "size"), [(0, 1), (17, 8), (149, 64)])
@every_method
def test_takes_the_steps_of_algorithms_1_to_4(name, options, C, start, size):
    X, y = blobs(150, 3, seed=21)
    problem = problem_of(X, y, uneven(C, 150))
    state = check_against(name, options, problem, dense_A(problem, X, RBF(0.5)), start=start, size=size, epochs=3)
    assert 5 < state.tracked.n <= 150


@pytest.mark.parametrize(
    "kernel", [Linear(), plugins.build("kernel", "poly", {"gamma": 0.5, "degree": 2, "coef0": 1.0})]
)
@every_method
def test_takes_the_same_steps_with_other_kernels(name, options, kernel):
    X, y = blobs(80, 2, seed=3)
    problem = problem_of(X, y, uneven(0.5, 80), kernel)
    check_against(name, options, problem, dense_A(problem, X, kernel))


@pytest.mark.parametrize("seed", range(4))
@every_method
def test_takes_the_same_steps_with_a_linear_term(name, options, seed):
    X, y = blobs(90, 3, seed=seed)
    c = np.random.default_rng(seed).normal(size=90)
    problem = SimplexQP(Gram(RBF(0.5), X), y, bias=0.3, ridge=0.1, linear_term=c)
    A = y[:, None] * y * (problem.gram.block(np.arange(90), np.arange(90)) + 0.3) + 0.1 * np.eye(90)
    check_against(name, options, problem, A, c=c, start=seed, size=16)


@pytest.mark.parametrize(("off", "joins"), [(-1e-9, True), (0.0, True), (1e-9, False)])
@every_method
def test_a_sample_joins_when_it_is_as_good_as_the_best_inside(name, options, off, joins):
    K = np.array([[1.0, 1.5 + off, 3.0], [1.5 + off, 9.0, 0.0], [3.0, 0.0, 9.0]])
    problem = SimplexQP(Gram(Precomputed(), K), ridge=0.5)  # g is (1.5, 1.5 + off, 3) at the first vertex
    solver = make(name, **options)
    state = state_of(solver, problem, From(1), start=vertex(3, 0))
    solver.step(state)
    assert state.tracked.idx.tolist() == ([0, 1] if joins else [0])
    solver.step(state)
    assert 2 not in state.tracked.idx


@every_method
def test_takes_one_step_an_arrival(name, options):
    """The weights move along one direction to or from one vertex of the working set, never along two."""
    X, y = blobs(120, 3, seed=5)
    problem, solver = problem_of(X, y, 5.0), make(name, **options)
    state = state_of(solver, problem)
    moved = 0
    for _ in range(400):
        before = solver.solution(state)
        solver.step(state)
        after = solver.solution(state)
        ratio = after[before > 0] / before[before > 0]
        common = np.median(ratio)
        changed = np.flatnonzero(np.abs(after - common * before) > 1e-12)
        assert len(changed) <= 1
        assert np.isin(changed, state.tracked.idx).all()
        moved += len(changed)
    assert moved > 100


@every_method
def test_duplicates_and_members_that_come_again_join_once(name, options):
    X, y = blobs(40, 3, seed=2)
    X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3)  # each point three times: its twins are points of their own
    problem = problem_of(X, y, 2.0)
    A = dense_A(problem, X, RBF(0.5))
    solver = make(name, **options)
    state = state_of(solver, problem, by_name.sampler("uniform:9"), seed=1)
    f = np.inf
    for _ in range(1500):
        info = solver.step(state)
        assert len(np.unique(state.tracked.idx)) == state.tracked.n
        assert info.objective <= f * (1 + 1e-13)
        f = info.objective
    np.testing.assert_allclose(state.g, (A @ state.point())[state.tracked.idx], atol=1e-10 * np.abs(state.g).max())
    assert solve(problem, solver, stop=Gap(1e-2), seed=1).status is Status.CONVERGED


# --- what holds at every step


@pytest.mark.parametrize("sampler", [None, "permuted:7", "uniform:5", "balanced:6", "cyclic:11", "full"])
@every_method
def test_invariants_of_the_working_set(name, options, sampler):
    m = 200
    X, y = blobs(m, 3, seed=9)
    problem, solver = problem_of(X, y, 3.0), make(name, **options)
    A = dense_A(problem, X, RBF(0.5))
    state = state_of(solver, problem, by_name.sampler(sampler) if sampler else solver.sampler, seed=4)
    assert state.tracked.n == 1
    size, f = 1, np.inf
    for k in range(3 * m):
        info = solver.step(state)
        idx, alpha = state.tracked.idx, state.alpha
        assert size <= state.tracked.n <= size + 1 and state.tracked.n <= k + 2
        size = state.tracked.n
        assert len(np.unique(idx)) == size == len(alpha) == len(state.g)
        np.testing.assert_array_equal(state.tracked.position[idx], np.arange(size))
        assert np.count_nonzero(state.tracked.position >= 0) == size
        assert alpha.min() >= 0.0 and alpha.sum() == pytest.approx(1.0, abs=1e-12)
        point = solver.solution(state)
        assert problem.infeasible(point) is None
        truth = A @ point
        np.testing.assert_allclose(state.g, truth[idx], rtol=0, atol=1e-11 * np.abs(truth).max())
        assert info.objective == pytest.approx(point @ truth, rel=1e-10)
        assert info.objective <= f * (1 + 1e-13)
        assert info.n_support == np.count_nonzero(point) == np.count_nonzero(alpha) <= size
        f = info.objective
    assert 10 < size < m
    np.testing.assert_array_equal(solver.members(state), idx)


@pytest.mark.parametrize("sampler", [None, "permuted:7", "uniform:5", "balanced:6", "cyclic:11", "full"])
@every_method
def test_every_sampler_leads_to_the_optimum(name, options, sampler):
    X, y = blobs(80, 3, seed=10)
    solution = solve(problem_of(X, y, 1.0), make(name, **options), sampler=by_name.sampler(sampler), stop=Gap(1e-2))
    assert solution.status is Status.CONVERGED and solution.certificate.gap <= 1e-2


@pytest.mark.parametrize(("sampler", "seed"), [("permuted:64", 0), ("uniform:59", 3)])
@every_method
def test_batches_ahead_change_nothing(name, options, sampler, seed, monkeypatch):
    X, y = blobs(150, 3, seed=6)
    solver, runs = make(name, **options), []
    for batch in (1, 5, 64):
        monkeypatch.setattr(sfw, "BATCH", batch)
        state = state_of(solver, problem_of(X, y, 2.0), by_name.sampler(sampler), seed)
        runs.append([(solver.step(state), solver.solution(state), state.tracked.idx.tolist())[1:] for _ in range(400)])
    for step in zip(*runs, strict=True):
        for point, idx in step[1:]:
            np.testing.assert_allclose(point, step[0][0], rtol=0, atol=1e-12)
            assert idx == step[0][1]


@pytest.mark.parametrize("memory", ["1GB", "12KB", "1KB"])
@every_method
def test_memory_changes_nothing(name, options, memory):
    X, y = blobs(150, 3, seed=6)
    problem = problem_of(X, y, uneven(2.0, 150), memory=memory, dtype=np.float64)
    check_against(name, options, problem, dense_A(problem, X, RBF(0.5)), size=10)


@every_method
def test_a_full_step_forgets_all_other_points(name, options):
    """lam = 1: the common factor of the weights becomes 0 and is multiplied out."""
    X = np.array([[10.0], [5.0], [4.9], [1.0], [-0.5], [3.0]])
    solver = make(name, **options)
    state = state_of(solver, SimplexQP(Gram(Linear(), X)), From(1), start=vertex(6, 0))
    for expected in (1, 2, 3):
        info = solver.step(state)
        assert (info.n_support, state.active, state.scales[0]) == (1, 1, 1.0)
        np.testing.assert_array_equal(solver.solution(state), vertex(6, expected))
        np.testing.assert_array_equal(state.g, (X @ X[expected])[state.tracked.idx])
    info = solver.step(state)  # on to the optimum, the origin between 1 and -0.5
    assert info.n_support == 2 and info.objective == pytest.approx(0.0, abs=1e-15)
    np.testing.assert_allclose(solver.solution(state), [0, 0, 0, 1 / 3, 2 / 3, 0], atol=1e-15)


@every_method
def test_weights_survive_that_their_common_factor_becomes_tiny(name, options):
    """Each arrival takes 99% of the weight: the factor falls below 1e-110, all weights stay right."""
    d = 100.0 ** -np.arange(60)
    problem = SimplexQP(Gram(Precomputed(), np.diag(d)))
    solver = make(name, **options)
    state = state_of(solver, problem, From(1), start=vertex(60, 0))
    f, smallest = 1.0, 1.0
    for k in range(1, 60):
        info = solver.step(state)
        f = f * d[k] / (f + d[k])
        assert info.objective == pytest.approx(f, rel=1e-10)
        want = np.where(np.arange(60) <= k, f / d, 0.0)  # the optimum on the points so far: alpha ~ 1 / d
        np.testing.assert_allclose(solver.solution(state), want, rtol=1e-10)
        assert info.n_support == k + 1
        smallest = min(smallest, want[0])
        assert 1e-61 < state.scales[0] <= 1.0
    assert smallest < 1e-110


# --- epochs


@pytest.mark.parametrize("epochs", [1, 2])
@pytest.mark.parametrize("m", [2, 3, 7, 64, 65, 150, 3089])
@pytest.mark.parametrize("name", ["sfw", "msfw"])
def test_an_epoch_is_m_arrivals(name, m, epochs):
    X, y = blobs(m, 2, seed=1)
    solution = solve(problem_of(X, y, 1.0), make(name), stop=Epochs(epochs))
    assert (solution.n_iter, solution.status) == (epochs * m, Status.MAX_ITER)
    assert solution.n_support <= epochs * m + 1


@pytest.mark.parametrize("sampler", ["permuted:9", "cyclic:64", "full"])
@every_method
def test_each_epoch_sees_every_sample_once(name, options, sampler, monkeypatch):
    m, seen = 100, []
    given = sfw.ArrivalState.next_sample

    def spy(*args):
        seen.append(given(*args))
        return seen[-1]

    monkeypatch.setattr(sfw.ArrivalState, "next_sample", spy)
    X, y = blobs(m, 2, seed=1)
    solve(problem_of(X, y, 1.0), make(name, **options), sampler=by_name.sampler(sampler), stop=Epochs(3))
    assert len(seen) == 3 * m
    for epoch in range(3):
        assert sorted(seen[epoch * m : (epoch + 1) * m]) == list(range(m))


# --- away steps


def test_msfw_drops_points_and_sfw_none():
    X, y = blobs(300, 3, seed=8, shift=1.0)
    drops = {}
    for (name, options), key in zip(METHODS, ("sfw", "set", "support"), strict=True):
        solver = make(name, **options)
        state = state_of(solver, problem_of(X, y, 10.0), solver.sampler, seed=0)
        counts, zeros = [1], 0
        for _ in range(1800):
            was = state.alpha > 0
            counts.append(solver.step(state).n_support)
            zeros += int((state.alpha[: len(was)][was] == 0.0).sum())
        drops[key] = int((np.diff(counts) < 0).sum()), zeros, counts[-1]
    assert drops["sfw"][:2] == (0, 0)
    assert drops["support"][0] > 5 and drops["support"][1] > 5
    assert drops["set"][0] > 0 and drops["set"][1] > 0
    assert drops["support"][2] <= drops["set"][2] <= drops["sfw"][2] and drops["support"][2] < drops["sfw"][2]


def test_a_dropped_point_stays_in_the_working_set_and_can_come_back():
    X, y = blobs(300, 3, seed=8, shift=1.0)
    solver = make("msfw", away="support")
    state = state_of(solver, problem_of(X, y, 10.0), solver.sampler)
    gone, back = set(), 0
    for _ in range(3000):
        solver.step(state)
        active = set(state.tracked.idx[state.w > 0].tolist())
        back += len(gone & active)
        gone = set(state.tracked.idx[state.w == 0.0].tolist())
    assert gone and back > 0


@pytest.mark.parametrize("away", ["", "Set", "everything"])
def test_msfw_refuses_another_place_for_the_away_vertex(away):
    with pytest.raises(InputError, match="away must be set or support"):
        make("msfw", away=away)


@every_method
def test_same_seed_same_iterates_and_another_seed_others(name, options):
    X, y = blobs(100, 3, seed=35)
    points = [
        solve(problem_of(X, y), make(name, **options), stop=Iterations(150), seed=seed).point for seed in (1, 1, 2)
    ]
    np.testing.assert_array_equal(points[0], points[1])
    assert np.abs(points[0] - points[2]).max() > 1e-6
