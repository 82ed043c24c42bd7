"""fcsmo where nearly all kernel values are small: rows that keep the others, and what ends up in the certificate."""

import numpy as np
import pytest
from support.problems import make, posed, state_of
from svmkit_corrective.rounds import Phase
from svmkit_corrective.working_set import sparse
from svmkit_corrective.working_set.sparse import SparseSquare
from svmkit_corrective.working_set.square import Square

from svmkit.kernels.functions import RBF, Linear
from svmkit.kernels.gram import Gram
from svmkit.solver.loop.solve import solve
from svmkit.solver.smo import box as smo_box
from svmkit.solver.smo.box import Box
from svmkit.solver.smo.steps import take_steps
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap

pytestmark = pytest.mark.usefixtures("one_pool")
M = 1500  # more points than the sample takes


def scattered(m=M, d=8, seed=0):
    """Points of which each has few others near it, and labels that are nearly random."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    return X, np.where(X[:, 0] + rng.normal(size=m) > 0.0, 1.0, -1.0)


def fcsmo_problem(X, y, C=10.0, gamma=3.0, loss="hinge", **gram):
    return posed(make("fcsmo", loss=loss), X, y, C, RBF(gamma), **{"dtype": np.float32, **gram})


def dense(square):
    """The stored values as a matrix (n, m)."""
    rows, out = square.rows, np.zeros((len(square.idx), square.gram.m))
    for s in range(len(out)):
        here = slice(rows.starts[s], rows.starts[s + 1])
        assert len(np.unique(rows.indices[here])) == here.stop - here.start
        out[s, rows.indices[here]] = rows.values[here]
    return out


def filled(gram, sizes=(400, 1, 300), seed=0):
    square, order = SparseSquare(gram), np.random.default_rng(seed).permutation(gram.m)
    for size in sizes:
        square.append(order[len(square.idx) :][:size])
    return square


# --- what it stands on


@pytest.mark.slow
@pytest.mark.parametrize("budget", ["1GB", "700KB"])
def test_rows_hold_every_value_above_the_threshold_with_all_points(budget):
    X, _ = scattered()
    gram = Gram(RBF(3.0), X, dtype=np.float32, memory=budget)
    square = filled(gram)
    exact, stored = gram.block(square.idx, np.arange(M)), dense(square)
    clear = np.abs(exact - square.least) > 1e-3 * square.least
    np.testing.assert_array_equal((stored > 0.0)[clear], (exact > square.least)[clear])
    np.testing.assert_allclose(stored[stored > 0.0], exact[stored > 0.0], rtol=5e-4)
    weights = np.random.default_rng(1).normal(size=300)
    product = square.product(square.idx[100:400], weights)
    np.testing.assert_allclose(product, weights @ stored[100:400], atol=1e-12)
    left_out = np.abs(product - weights @ exact[100:400]).max()
    assert left_out <= square.least * np.abs(weights).sum() + 5e-4 * (np.abs(weights) @ exact[100:400]).max()


def test_a_value_of_two_points_is_computed_once():
    X, _ = scattered()
    gram = Gram(RBF(3.0), X, dtype=np.float32)
    filled(gram, (700, 400, 300))
    assert gram.kernel_values == 700 * M + 400 * (M - 700) + 300 * (M - 1100)


def test_points_outside_the_set_have_no_product():
    X, _ = scattered()
    square = filled(Gram(RBF(3.0), X, dtype=np.float32))
    outside = np.setdiff1d(np.arange(M), square.idx)[:3]
    assert square.product(np.append(square.idx[:5], outside), np.ones(8)) is None


@pytest.mark.slow
@pytest.mark.parametrize("ridge", [0.0, 0.05])
@pytest.mark.parametrize("second", [True, False])
def test_steps_are_those_of_smo_on_the_same_matrix(ridge, second):
    X, y = scattered()
    square = filled(Gram(RBF(3.0), X, dtype=np.float32))
    idx = square.idx
    n, K = len(idx), dense(square)[:, square.idx]
    boxes = []
    for _ in range(2):
        arrays = y[idx], np.zeros(n), np.full(n, 2.0), np.full(n, ridge), np.full(n, 1.0 + ridge), np.zeros(n), -y[idx]
        box = Box(*arrays, np.empty(n, np.uint8))
        smo_box.take_sides(box, None)
        boxes.append(box)
    pairs = [np.array([smo_box.extremes(box.v, box.side, None)]) for box in boxes]
    plain = Square(Gram(RBF(3.0), X[idx], dtype=np.float64))
    plain.append(np.arange(n))
    table = plain.rows
    table.slab[:n, :n] = K
    ours = take_steps((boxes[0],), square.rows, pairs[0], second, 200, 0.0, None, 0.0)
    theirs = take_steps((boxes[1],), table, pairs[1], second, 200, 0.0, None, 0.0)
    assert ours[0] == theirs[0] == 200 and ours[1] == pytest.approx(theirs[1], rel=1e-9)
    np.testing.assert_allclose(boxes[0].beta, boxes[1].beta, atol=1e-9)
    np.testing.assert_allclose(boxes[0].v, boxes[1].v, atol=1e-9)


# --- when it is used


def test_dense_values_keep_the_square():
    X, _y = scattered()
    gram = Gram(RBF(0.01), X, dtype=np.float32)
    assert SparseSquare.fitting(gram) is None
    assert gram.kernel_values == 64 * 1024  # all that the question costs


@pytest.mark.parametrize(
    ("kernel", "options"), [(Linear(), {}), (RBF(3.0), {"dtype": np.float64}), (RBF(3.0), {"memory": "100KB"})]
)
def test_other_kernels_and_small_budgets_keep_the_square(kernel, options):
    X, _ = scattered()
    assert SparseSquare.fitting(Gram(kernel, X, **{"dtype": np.float32, **options})) is None


def test_a_sample_of_few_points_is_all_of_them():
    X, _ = scattered(m=100)
    gram = Gram(RBF(30.0), X, dtype=np.float32)
    assert SparseSquare.fitting(gram) is not None
    assert gram.kernel_values == 6 * 94


# --- the solve


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_optimum_and_the_certificate_are_exact(loss):
    X, y = scattered()
    problem, solver = fcsmo_problem(X, y, loss=loss), make("fcsmo", first=100, loss=loss)
    assert SparseSquare.fitting(problem.gram) is not None
    solution = solve(problem, solver, stop=Gap(1e-4))
    assert solution.status is Status.CONVERGED
    fresh = fcsmo_problem(X, y, loss=loss, dtype=np.float64)
    again, found = fresh.certificate(solution.point), solution.certificate
    assert (found.primal, found.dual, found.gap) == (again.primal, again.dual, again.gap)
    best = solve(fresh, make("smo", loss=loss), stop=Gap(1e-8)).certificate.dual
    assert best * (1.0 - 1e-4) <= found.dual <= best * (1.0 + 1e-9)


@pytest.mark.slow
def test_values_are_computed_once_for_the_rows_once_in_between_and_once_for_the_certificate():
    X, y = scattered(m=3000)
    problem = fcsmo_problem(X, y, memory="4MB")  # a square of 1,400 points
    solution = solve(problem, make("fcsmo", first=100), stop=Gap(1e-3))
    assert solution.status is Status.CONVERGED and solution.n_support > 2000
    assert problem.gram.kernel_values < 2.1 * solution.n_support * problem.m


def test_what_was_left_out_of_the_gradient_is_made_up_for_near_the_optimum():
    X, y = scattered()
    problem, solver = fcsmo_problem(X, y), make("fcsmo", first=100)
    state, gap = state_of(solver, problem), np.inf
    while gap > 1e-3:
        info = solver.step(state)
        gap = info.gap
        if state.phase is Phase.GROWING and state.box.beta.any():
            error = np.abs(state.box.v - y * problem.gradient(state.box.beta)).max()
            if state.working.square.lossy:
                lost = error
    assert not state.working.square.lossy
    assert error < 0.1 * lost


@pytest.mark.slow
def test_a_tolerance_beyond_the_threshold_is_reached():
    X, y = scattered()
    problem = fcsmo_problem(X, y)
    solution = solve(problem, make("fcsmo", first=100), stop=Gap(1e-9))
    assert solution.certificate.gap <= max(1e-9, 2.0 * solution.certificate.rounding) <= 1e-7


def test_rows_that_outgrow_the_budget_give_way_to_the_square(monkeypatch):
    X, y = scattered()
    X[300:700] *= 0.3  # as if the sample had missed them
    monkeypatch.setattr(sparse, "DENSE", 1.0)
    monkeypatch.setattr(sparse, "SPARE", 100.0)
    problem = fcsmo_problem(X, y, memory="1MB")
    used = SparseSquare.fitting(problem.gram)
    used.append(np.arange(M))
    assert used.full and 0 < len(used.idx) < M
    solution = solve(problem, make("fcsmo", first=100), stop=Gap(1e-3))
    assert solution.status is Status.CONVERGED
    best = solve(fcsmo_problem(X, y, dtype=np.float64), make("smo"), stop=Gap(1e-8)).certificate.dual
    assert best * (1.0 - 1e-3) <= solution.certificate.dual <= best * (1.0 + 1e-9)


@pytest.mark.slow
def test_a_warm_start_with_many_weights():
    X, y = scattered()
    rough = solve(fcsmo_problem(X, y), make("fcsmo"), stop=Gap(1e-2))
    solution = solve(fcsmo_problem(X, y), make("fcsmo", first=100), stop=Gap(1e-5), start=rough.point)
    assert solution.status is Status.CONVERGED and solution.certificate.gap <= 1e-5


@pytest.mark.threads
def test_threads_change_nothing():
    X, y = scattered(m=3000)
    solver = make("fcsmo", first=200)
    runs = [solve(fcsmo_problem(X, y), solver, n_threads=threads) for threads in (1, None)]
    np.testing.assert_array_equal(runs[0].point, runs[1].point)
