"""SMO's compiled functions on regression, whose objective has kinks where a weight passes 0, against plain numpy."""

import numpy as np
import pytest
from numba import njit

from svmkit.kernels.loops.row_loops import in_order
from svmkit.solver.smo import box as smo_box
from svmkit.solver.smo import steps as smo_steps
from svmkit.solver.smo.box import LOW, OVER, UNDER, UP, Box

EPS = 0.3


def box(d, v, upper=1.0, ridge=0.0, diag=1.0):
    """A Box of a regression, its sides set."""
    n = len(d)
    full = [
        np.broadcast_to(np.asarray(x, dtype=np.float64), (n,)).copy() for x in (1.0, -upper, upper, ridge, diag, d, v)
    ]
    made = Box(*full, np.zeros(n, np.uint8))
    smo_box.take_sides(made, EPS)
    return made


def run(b, rows, i, k, second, most, target, epsilon=None):
    """Steps of one box: (steps, the maximal violating pair at the end, change, missing)."""
    pairs = np.array([[i, k]])
    steps, change, missing = smo_steps.take_steps((b,), rows, pairs, second, most, target, epsilon, 0.0)
    return steps, *pairs[0].tolist(), change, missing


def slopes(b, epsilon=EPS):
    """As the definition has them: (slope of a rise, slope of a fall), inf where there is no room."""
    rise = np.where(b.beta >= 0.0, b.v + epsilon, b.v - epsilon)
    fall = np.where(b.beta > 0.0, b.v + epsilon, b.v - epsilon)
    return np.where(b.beta < b.upper, rise, np.inf), np.where(b.beta > -b.upper, fall, -np.inf)


@njit
def among(kinks, at):
    return smo_box.l1_among(kinks, at)


def test_kinks_of_some_points_are_the_same_in_compiled_code():
    at, part = np.array([3, 0]), smo_box.L1Part(np.arange(4.0), np.arange(4.0) ** 2)
    for found in (among(part, at), smo_box.l1_among(part, at)):
        assert isinstance(found, smo_box.L1Part)
        assert (found.width.tolist(), found.ridge_down.tolist()) == ([3.0, 0.0], [9.0, 0.0])
    for kinks in (None, 0.3):
        assert among(kinks, at) == smo_box.l1_among(kinks, at) == kinks


def any_box(n, seed=0, upper=1.0, ridge=0.0):
    rng = np.random.default_rng(seed)
    d = np.clip(np.round(rng.normal(0.0, 1.0, n), 1), -upper, upper)  # some at 0, some at the bounds
    return box(np.where(rng.random(n) < 0.4, 0.0, d), np.round(rng.normal(0.0, 1.0, n), 2), upper, ridge)


@pytest.mark.parametrize(
    ("d", "side"),
    [(0.0, UP | LOW), (0.5, UP | LOW | OVER), (1.0, LOW | OVER), (-0.5, UP | LOW | UNDER), (-1.0, UP | UNDER)],
)
def test_room_and_sign(d, side):
    assert smo_box.side_of(1.0, d, -1.0, 1.0, EPS) == side
    assert box([d], [0.0]).side.tolist() == [side]


def test_slopes_on_both_sides_of_a_kink():
    b = box([0.0, 0.5, -0.5], [2.0, 2.0, 2.0])
    assert smo_box.slopes(b, 0, 0, EPS) == (2.3, 1.7)
    assert smo_box.slopes(b, 1, 1, EPS) == (2.3, 2.3)
    assert smo_box.slopes(b, 2, 2, EPS) == (1.7, 1.7)
    assert smo_box.slopes(b, 2, 1, None) == (2.0, 2.0)


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 600])
def test_extremes_are_those_of_the_slopes(n):
    for seed in range(10):
        b = any_box(n, seed)
        rise, fall = slopes(b)
        i, k = smo_box.extremes(b.v, b.side, EPS)
        assert i == (np.argmin(rise) if (rise < np.inf).any() else -1)
        assert k == (np.argmax(fall) if (fall > -np.inf).any() else -1)
    assert smo_box.extremes(b.v, np.zeros(n, np.uint8), EPS) == (-1, -1)


@pytest.mark.parametrize("n", [2, 65, 300])
@pytest.mark.parametrize("t", [0.0, 0.7, -1e-3])
def test_move_returns_the_extremes_of_the_new_slopes(n, t):
    rng = np.random.default_rng(n)
    for dtype in (np.float32, np.float64):
        b, rows = any_box(n), rng.normal(size=(2, n)).astype(dtype)
        want = b.v + t * (rows[0].astype(float) - rows[1])
        found = smo_box.move(b.v, b.side, rows[0], rows[1], t, EPS)
        np.testing.assert_allclose(b.v, want, rtol=1e-14, atol=1e-15)
        rise, fall = slopes(b)
        assert (rise[found[0]], fall[found[1]]) == (rise.min(), fall.max())
        assert found == smo_box.extremes(b.v, b.side, EPS)


def test_partner_has_the_largest_gain():
    for seed in range(20):
        b, row = any_box(200, seed), np.random.default_rng(seed).uniform(-0.9, 0.9, 200)
        rise, fall = slopes(b)
        i = int(np.argmin(rise))
        gain = np.maximum(fall - rise[i], 0.0) ** 2 / (2.0 - 2.0 * row)
        assert smo_steps.second_order(b.v, b.side, b.diag, row, i, 1.0, smo_steps.TAU, EPS) == np.argmax(gain)
    flat = box([0.0, 0.0], [0.1, -0.1])  # within the kink: 0.1 + 0.1 < 2 epsilon
    assert smo_steps.second_order(flat.v, flat.side, flat.diag, np.zeros(2), 1, 1.0, smo_steps.TAU, EPS) == -1


def objective(d, v, d0, ridge, K):
    """The change of the objective from d0, where the smooth part has the gradient v."""
    move = d - d0
    return v @ move + 0.5 * move @ K @ move + EPS * (np.abs(d) - np.abs(d0)).sum()


@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_a_step_is_the_best_up_to_the_kink(ridge):
    """The line between two points is searched on a fine grid, up to where one of them reaches a bound or 0."""
    for seed in range(40):
        b = any_box(2, seed, np.inf if ridge else 1.0, ridge)
        K = np.array([[1.0 + ridge, 0.4], [0.4, 1.0 + ridge]])
        b.diag[:] = 1.0 + ridge
        i, k = smo_box.extremes(b.v, b.side, EPS)
        rise, fall = slopes(b)
        if i == k or fall[k] <= rise[i]:
            continue
        before, v, upper = b.beta.copy(), b.v.copy(), b.upper.copy()
        t, change = smo_steps.step(b, i, k, 0.4, smo_steps.TAU, EPS)
        room_i = -before[i] if before[i] < 0.0 else upper[i] - before[i]
        room_k = before[k] if before[k] > 0.0 else upper[k] + before[k]
        grid = np.append(np.linspace(0.0, min(room_i, room_k, 20.0), 2001), t)
        lines = np.repeat(before[None], len(grid), axis=0)
        lines[:, i] += grid
        lines[:, k] -= grid
        values = [objective(line, v, before, ridge, K) for line in lines]
        assert values[-1] == pytest.approx(change, abs=1e-12) and change <= min(values) + 1e-12
        assert 0.0 < t <= min(room_i, room_k)
        assert b.beta.tolist() == pytest.approx(lines[-1].tolist())
        if t == room_i:
            assert b.beta[i] == (0.0 if before[i] < 0.0 else upper[i])
        if t == room_k:
            assert b.beta[k] == (0.0 if before[k] > 0.0 else -upper[k])
        for r in range(2):
            assert b.side[r] == smo_box.side_of(1.0, b.beta[r], b.lower[r], b.upper[r], EPS)


def test_stay_keeps_whoever_can_still_step():
    b = any_box(300)
    rise, fall = slopes(b)
    found = smo_box.stay(b.v, b.side, -0.2, 0.4, EPS)
    assert found.tolist() == np.flatnonzero((rise <= 0.4) | (fall >= -0.2)).tolist() and len(found) < 300


def curve(m=40, seed=3):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (m, 2))
    return np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2)), np.sin(2.0 * X[:, 0]) + 0.2 * rng.normal(size=m)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("b", [-0.4, 0.0, 0.3])
def test_gap_is_primal_less_dual(squared, b):
    K, t = curve()
    C = 0.7
    ridge = 1.0 / (2.0 * C) if squared else 0.0
    for seed in range(5):
        d = any_box(len(t), seed).beta * C
        d[-1] -= d.sum()
        upper = np.inf if squared else max(C, abs(d[-1]))
        cost = np.full(len(t), C)
        if not squared:
            cost[:] = upper
        made = box(d, K @ d - t + ridge * d, upper, ridge)
        slack = np.maximum(np.abs(t - K @ d - b) - EPS, 0.0)
        primal = 0.5 * d @ K @ d + cost @ (slack**2 if squared else slack)
        dual = t @ d - EPS * np.abs(d).sum() - 0.5 * d @ K @ d - 0.5 * ridge * d @ d
        assert smo_box.gap(made, squared, b, EPS) == pytest.approx(primal - dual, rel=1e-12)


@pytest.mark.parametrize("second", [True, False])
@pytest.mark.parametrize("ridge", [0.0, 0.25])
def test_a_run_ends_at_the_optimum(second, ridge):
    K, t = curve()
    n, upper = len(t), np.inf if ridge else 2.0
    b = box(np.zeros(n), -t, upper, ridge, 1.0 + ridge)
    i, k = smo_box.extremes(b.v, b.side, EPS)
    steps, i, k, change, missing = run(b, in_order(K, n, 0.0), i, k, second, 10_000, 1e-9, EPS)
    assert 5 < steps < 10_000 and missing == -1
    rise, fall = slopes(b)
    assert fall.max() - rise.min() <= 1e-9
    np.testing.assert_allclose(b.v, K @ b.beta + ridge * b.beta - t, atol=1e-12)
    assert abs(b.beta.sum()) <= 1e-12 and 3 < np.count_nonzero(b.beta) < n
    value = 0.5 * b.beta @ (K @ b.beta + ridge * b.beta) - t @ b.beta + EPS * np.abs(b.beta).sum()
    assert change == pytest.approx(value, rel=1e-12)
    assert smo_box.gap(b, ridge > 0.0, -0.5 * (rise.min() + fall.max()), EPS) <= 1e-7


def test_a_weight_changes_its_sign_in_two_steps():
    b = box([-0.5, 0.0], [-4.0, 4.0], upper=10.0)
    K = np.eye(2)
    assert run(b, in_order(K, 2, 0.0), 0, 1, True, 1, 0.0, EPS)[0] == 1
    assert b.beta.tolist() == [0.0, -0.5]
    steps, *_ = run(b, in_order(K, 2, 0.0), 0, 1, True, 9, 1e-12, EPS)
    assert steps == 1 and b.beta[0] > 0.0 and slopes(b)[1].max() - slopes(b)[0].min() <= 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("second", [True, False])
@pytest.mark.parametrize(("ridge", "below"), [(0.25, 0.25), (0.1, 2.0), (3.0, 0.0)])
def test_widths_and_ridges_of_their_own(second, ridge, below):
    """P from a grid of conjugates equals D at the end. Without a ridge below 0, weights are bounded there."""
    K, t = curve()
    n, rng = len(t), np.random.default_rng(2)
    epsilon = smo_box.L1Part(rng.uniform(0.0, 0.4, n), np.full(n, below))
    lower, upper = -2.0 if below == 0.0 else -np.inf, np.inf
    full = [np.full(n, x) for x in (1.0, lower, upper, ridge, 1.0 + ridge)]
    b = Box(*full, np.zeros(n), -t, np.zeros(n, np.uint8))
    smo_box.take_sides(b, epsilon)
    steps, _i, _k, change, _ = run(
        b, in_order(K, n, 0.0), *smo_box.extremes(b.v, b.side, epsilon), second, 100_000, 1e-10, epsilon
    )
    ridges = np.where(b.beta > 0.0, ridge, below)
    np.testing.assert_allclose(b.v, K @ b.beta + ridges * b.beta - t, atol=1e-9)
    phi = epsilon.width @ np.abs(b.beta) + 0.5 * ridges @ b.beta**2
    assert 5 < steps < 100_000 and change == pytest.approx(0.5 * b.beta @ K @ b.beta - t @ b.beta + phi, rel=1e-9)
    bias = -0.5 * sum(smo_box.slopes(b, *smo_box.extremes(b.v, b.side, epsilon), epsilon))
    residual = t - K @ b.beta - bias  # P at this point, by the conjugate of each side
    grid = np.linspace(max(lower, -30.0), 30.0, 600_001)
    loss = [
        (grid * e - width * np.abs(grid) - 0.5 * np.where(grid > 0.0, ridge, below) * grid**2).max()
        for e, width in zip(residual, epsilon.width, strict=True)
    ]
    assert 0.5 * b.beta @ K @ b.beta + np.sum(loss) == pytest.approx(-change, rel=1e-6)
    assert smo_box.gap(b, True, bias, epsilon) <= 1e-8
