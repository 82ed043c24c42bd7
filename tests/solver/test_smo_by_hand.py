"""SMO's compiled functions on a few points, number by number; they may run as plain Python too."""

import math

import numpy as np
import pytest

from svmkit.errors import SvmkitError
from svmkit.kernels import Sigmoid
from svmkit.kernels.loops.row_loops import in_order
from svmkit.kernels.loops.row_table import RowTable
from svmkit.solver.smo import box as smo_box
from svmkit.solver.smo import steps as smo_steps
from svmkit.solver.smo.box import LOW, UP, Box

BOTH = UP | LOW
INF = np.inf


def second_of(*given):
    """The partner of a point, by arguments of the types that the loop gives: there is nothing to compile for others."""
    return smo_steps.second_order(*given, 1.0, smo_steps.TAU, None)


def box(y, beta, upper, v, ridge=0.0, diag=1.0):
    """A Box of n points, their sides set."""
    n = len(y)
    full = [
        np.broadcast_to(np.asarray(x, dtype=np.float64), (n,)).copy() for x in (y, 0.0, upper, ridge, diag, beta, v)
    ]
    made = Box(*full, np.zeros(n, np.uint8))
    smo_box.take_sides(made, None)
    return made


def run(b, rows, i, k, second, most, target, epsilon=None):
    """Steps of one box: (steps, the maximal violating pair at the end, change, missing)."""
    pairs = np.array([[i, k]])
    steps, change, missing = smo_steps.take_steps((b,), rows, pairs, second, most, target, epsilon, 0.0)
    return steps, *pairs[0].tolist(), change, missing


def table(K, missing=(), quantum=0.0):
    """All rows of K, but for those that are missing."""
    rows = in_order(np.ascontiguousarray(K), len(K), quantum)
    rows.slot_of[list(missing)] = -1
    return rows


# --- which points have room


@pytest.mark.parametrize(
    ("y", "beta", "side"),
    [(1.0, 0.0, UP), (1.0, 0.5, BOTH), (1.0, 1.0, LOW), (-1.0, 0.0, LOW), (-1.0, 0.5, BOTH), (-1.0, 1.0, UP)],
)
def test_room_above_and_below(y, beta, side):
    assert smo_box.side_of(y, beta, 0.0, 1.0) == side
    assert box([y], [beta], 1.0, [0.0]).side.tolist() == [side]
    assert smo_box.side_of(y, beta, 0.0, INF) == (side if beta < 1.0 else BOTH)


def extremes_of(v, side):
    """As the definition has them: the first lowest of UP, the first highest of LOW."""
    up, low = np.flatnonzero(side & UP), np.flatnonzero(side & LOW)
    return (int(up[np.argmin(v[up])]) if up.size else -1, int(low[np.argmax(v[low])]) if low.size else -1)


@pytest.mark.parametrize("n", [1, 2, 5, 256, 257, 600])
def test_extremes(n):
    rng = np.random.default_rng(n)
    for scale in (1e-300, 1.0, 1e300):
        for shift in (-3.0, 0.0, 3.0):  # all below 0, both signs, all above 0
            v, side = scale * (rng.uniform(-1.0, 1.0, n) + shift) / 4.0, rng.integers(0, 4, n).astype(np.uint8)
            assert smo_box.extremes(v, side, None) == extremes_of(v, side)
    v = rng.uniform(-1.0, 1.0, n)
    for side in (0, UP, LOW):
        sides = np.full(n, side, np.uint8)
        assert smo_box.extremes(v, sides, None) == extremes_of(v, sides)
    v[:] = 0.5  # of equal ones, the first
    assert smo_box.extremes(v, np.full(n, BOTH, np.uint8), None) == (0, 0)


def test_extremes_of_several_blocks():
    n = 3 * smo_box.BLOCK
    side = np.full(n, BOTH, np.uint8)
    for at in (0, smo_box.BLOCK - 1, smo_box.BLOCK, 2 * smo_box.BLOCK - 1, 2 * smo_box.BLOCK, n - 1):
        v = np.zeros(n)
        v[at], v[(at + smo_box.BLOCK + 44) % n] = -1.0, 1.0
        assert smo_box.extremes(v, side, None) == (at, (at + smo_box.BLOCK + 44) % n)
        side[at] = LOW  # out of UP: the first of the others is as low
        assert smo_box.extremes(v, side, None) == (1 if at == 0 else 0, (at + smo_box.BLOCK + 44) % n)
        side[at] = BOTH


@pytest.mark.parametrize("n", [3, 300])
@pytest.mark.parametrize("t", [0.25, -2.0])
def test_a_move(n, t):
    rng = np.random.default_rng(n)
    v, rows, side = rng.normal(size=n), rng.normal(size=(2, n)), rng.integers(0, 4, n).astype(np.uint8)
    want = v + t * (rows[0] - rows[1])
    found = smo_box.move(v, side, rows[0], rows[1], t, None)
    np.testing.assert_allclose(v, want, rtol=1e-14, atol=1e-15)
    assert found == extremes_of(v, side) == smo_box.extremes(v, side, None)
    still = v.copy()
    assert smo_box.move(v, np.zeros(n, np.uint8), rows[0], rows[1], 0.0, None) == (-1, -1)
    np.testing.assert_array_equal(v, still)


def test_who_stays_when_points_are_left_out():
    v = np.array([0.0, 1.0, 2.0, 3.0, 0.0, 1.0, 2.0, 3.0, 1.5, -9.0, 9.0, 1.5])
    side = np.array([UP] * 4 + [LOW] * 4 + [BOTH] * 3 + [0], np.uint8)
    assert smo_box.stay(v, side, 1.0, 2.0, None).tolist() == [0, 1, 2, 5, 6, 7, 8, 9, 10]
    assert smo_box.stay(v, side, 2.5, -1.0, None).tolist() == [7, 9, 10]


# --- the gap


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("b", [-0.75, 0.0, 0.5])
def test_the_gap_is_p_minus_d(squared, b):
    rng = np.random.default_rng(0)
    y = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0])
    C = np.array([0.5, 4.0, 1.0, 0.25, 2.0, 8.0, 1.0])
    X = rng.normal(size=(7, 3))
    K = X @ X.T
    ridge, upper = (1.0 / (2.0 * C), np.full(7, INF)) if squared else (np.zeros(7), C)
    for share in (0.0, 0.3, 1.0):
        beta = share * np.minimum(C, 1.0) * rng.random(7)
        beta[6] = 0.0  # y'beta = 0 with the weight of one point of each class
        beta[5], beta[4] = 0.0, 0.0
        off = float(y @ beta)
        beta[5 if off > 0.0 else 4] = abs(off)
        gradient = y * (K @ (y * beta)) + ridge * beta - 1.0
        slack = np.maximum(0.0, 1.0 - y * (K @ (y * beta) + b))
        norm = (y * beta) @ K @ (y * beta)
        primal = 0.5 * norm + (C @ slack**2 if squared else C @ slack)
        dual = beta.sum() - 0.5 * norm - 0.5 * ridge @ beta**2
        assert smo_box.gap(box(y, beta, upper, y * gradient, ridge), squared, b, None) == pytest.approx(
            primal - dual, rel=1e-12
        )


# --- the partner


def partner_of(v, side, diag, row, i, unit=1.0, floor=smo_steps.TAU):
    violation = v - v[i]
    gain = violation**2 / np.maximum(diag[i] + diag - 2.0 * unit * row, floor)
    gain[(side & LOW == 0) | (violation <= 0.0)] = 0.0
    return int(np.argmax(gain)) if gain.any() else -1


@pytest.mark.parametrize("n", [2, 7, 256, 300])
@pytest.mark.parametrize("unit", [1.0, 0.25])
def test_the_partner_has_the_largest_gain(n, unit):
    rng = np.random.default_rng(n)
    for floor in (smo_steps.TAU, 0.5, 4.0):
        v, side = rng.normal(size=n), rng.integers(0, 4, n).astype(np.uint8)
        diag, row = rng.uniform(0.5, 2.0, n), rng.uniform(-1.0, 1.0, n) / unit
        for i in (0, n // 2, n - 1):
            want = partner_of(v, side, diag, row, i, unit, floor)
            assert smo_steps.second_order(v, side, diag, row, i, unit, floor, None) == want


def test_the_partner_of_a_curvature_of_nothing():
    """Copies of point i: the floor makes their gain large, and 1 by 1e-12 it is."""
    v, side = np.array([0.0, 1.0, 1e-5, 2.0]), np.full(4, BOTH, np.uint8)
    assert second_of(v, side, np.ones(4), np.array([1.0, -1.0, 1.0, -1.0]), 0) == 2  # 1e-10 / 1e-12 > 1
    v[2] = 1e-6
    assert second_of(v, side, np.ones(4), np.array([1.0, 0.0, 1.0, -1.0]), 0) == 2  # 1, and 1/2
    v[2] = 0.9e-6
    assert second_of(v, side, np.ones(4), np.array([1.0, 0.0, 1.0, -1.0]), 0) == 3  # 0.81, and 4/4


@pytest.mark.parametrize(("first", "second"), [(5, 9), (5, 400), (300, 310), (0, 511)])
def test_of_equal_gains_the_first_is_taken(first, second):
    v, side = np.zeros(600), np.full(600, BOTH, np.uint8)
    v[[first, second]], v[599] = 1.0, -0.5
    assert second_of(v, side, np.ones(600), np.zeros(600), 599) == first


def test_nobody_violates_with_the_highest_point():
    v = np.array([0.0, 3.0, 3.0, 1.0])
    assert second_of(v, np.full(4, BOTH, np.uint8), np.ones(4), np.zeros(4), 1) == -1
    assert second_of(v, np.full(4, UP, np.uint8), np.ones(4), np.zeros(4), 0) == -1


# --- a step


def test_a_free_step():
    """v falls by 2 along the pair and the curvature is 1 + 2 - 2 * 0.5 + 0.25 in the diagonal: t = 2 / 2.25."""
    b = box([1.0, -1.0], [0.5, 0.5], 9.0, [-1.0, 1.0], ridge=[0.25, 0.0], diag=[1.25, 2.0])
    t, change = smo_steps.step(b, 0, 1, 0.5)
    assert t == pytest.approx(2.0 / 2.25, rel=1e-15)
    assert change == pytest.approx(0.5 * 2.25 * t**2 - 2.0 * t, rel=1e-15)
    np.testing.assert_allclose(b.beta, [0.5 + t, 0.5 + t], rtol=1e-15)
    assert b.side.tolist() == [BOTH, BOTH] and b.v.tolist() == [-1.0 + 0.25 * t, 1.0]


@pytest.mark.parametrize(
    ("y", "beta", "t", "after", "sides"),
    [
        ([1.0, 1.0], [0.75, 1.0], 0.25, [1.0, 0.75], [LOW, BOTH]),
        ([1.0, 1.0], [0.25, 0.5], 0.5, [0.75, 0.0], [BOTH, UP]),
        ([-1.0, -1.0], [0.5, 0.25], 0.5, [0.0, 0.75], [LOW, BOTH]),
        ([-1.0, -1.0], [1.0, 0.75], 0.25, [0.75, 1.0], [BOTH, UP]),
        ([1.0, -1.0], [0.5, 0.75], 0.25, [0.75, 1.0], [BOTH, UP]),
        ([-1.0, 1.0], [0.25, 0.5], 0.25, [0.0, 0.25], [LOW, BOTH]),
        ([1.0, 1.0], [0.5, 0.5], 0.5, [1.0, 0.0], [LOW, UP]),
    ],
)
def test_a_step_that_ends_at_a_bound(y, beta, t, after, sides):
    b = box(y, beta, 1.0, [-100.0, 100.0])
    assert smo_steps.step(b, 0, 1, 0.0) == (t, t * (t - 200.0))
    assert b.beta.tolist() == after and b.side.tolist() == sides


def test_a_step_too_short_to_change_a_weight_is_none():
    b = box([1.0, 1.0], [1.0, 1.0], 9.0, [0.0, 1e-17])
    assert smo_steps.step(b, 0, 1, 0.0) == (0.0, 0.0) and b.beta.tolist() == [1.0, 1.0]
    b = box([1.0, 1.0], [1e-17, 1.0], 9.0, [0.0, 1e-17])  # one of the two weights does change
    t, change = smo_steps.step(b, 0, 1, 0.0)
    assert t == 5e-18 and change < 0.0 and b.beta[0] == 1.5e-17


def test_curvatures_have_the_floor_of_rounding_and_of_the_ridge():
    b = box([1.0, 1.0], [0.0, 1.0], INF, [0.0, 1e-13])
    assert smo_steps.step(b, 0, 1, 1.0)[0] == pytest.approx(1e-13 / smo_steps.TAU, rel=1e-12)
    b = box([1.0, 1.0], [0.0, 1.0], INF, [0.0, 1e-3])
    assert smo_steps.step(b, 0, 1, 1.0, 0.25)[0] == pytest.approx(4e-3, rel=1e-12)
    b = box([1.0, 1.0], [0.0, 1.0], INF, [0.0, 1e-3], ridge=[0.25, 0.5], diag=[1.25, 1.5])
    assert smo_steps.step(b, 0, 1, 1.5)[0] == pytest.approx(1e-3 / 0.75, rel=1e-12)  # 2.75 - 3 is below the ridge


def test_a_negative_curvature_without_a_bound_is_an_unbounded_step():
    rounding = 1e-5

    def step(k_ik, y=(1.0, -1.0), upper=INF):
        b = box(y, [0.0, 0.0], upper, [-1.0, 1.0])
        found = smo_steps.step(b, 0, 1, k_ik)
        assert math.isfinite(found[0]) or b.beta.tolist() == [0.0, 0.0]
        return found

    assert step(1.0 + 1.01 * rounding) == (INF, -INF)  # below -1e-5 times 2
    assert step(1.0 + 0.99 * rounding)[0] == pytest.approx(2.0 / smo_steps.TAU)
    assert step(3.0, upper=7.0)[0] == 7.0
    assert step(3.0, upper=[INF, 7.0])[0] == 7.0 and step(3.0, upper=[7.0, INF])[0] == 7.0
    smo_steps.require_bound(-1e300, Sigmoid(1.0))
    with pytest.raises(SvmkitError, match="the dual has no bound: the sigmoid kernel is not positive semidefinite"):
        smo_steps.require_bound(-INF, Sigmoid(1.0))
    with pytest.raises(SvmkitError, match="the dual is nan: the sigmoid kernel has values that are not finite"):
        smo_steps.require_bound(math.nan, Sigmoid(1.0))


# --- many steps


def plain_smo(K, y, C, second, most, target):
    """SMO in numpy: (beta, v, steps, change)."""
    n = len(y)
    beta, v, change = np.zeros(n), -y.copy(), 0.0
    for k in range(most + 1):
        up, low = np.where(y > 0, beta < C, beta > 0.0), np.where(y > 0, beta > 0.0, beta < C)
        i, j = int(np.argmin(np.where(up, v, INF))), int(np.argmax(np.where(low, v, -INF)))
        if v[j] - v[i] <= target or k == most:
            return beta, v, k, change, (i, j)
        if second:
            j = partner_of(v, (low * LOW).astype(np.uint8), np.diag(K), K[i], i)
        curvature = K[i, i] + K[j, j] - 2.0 * K[i, j]
        t = min((v[j] - v[i]) / curvature, C - beta[i] if y[i] > 0 else beta[i], beta[j] if y[j] > 0 else C - beta[j])
        change += t * (0.5 * t * curvature - (v[j] - v[i]))
        beta[i] += t * y[i]
        beta[j] -= t * y[j]
        v += t * (K[i] - K[j])


def overlapping(m=12):
    rng = np.random.default_rng(4)
    y = np.where(np.arange(m) % 3 == 0, 1.0, -1.0)
    X = rng.normal(size=(m, 3)) + 0.5 * y[:, None]
    return np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2)), y


@pytest.mark.parametrize("second", [True, False])
@pytest.mark.parametrize("most", [1, 2, 3, 4])
def test_steps_are_those_of_smo(second, most):
    K, y = overlapping()
    b = box(y, 0.0, 1.0, -y)
    found = run(b, table(K), *smo_box.extremes(b.v, b.side, None), second, most, 1e-9)
    beta, v, steps, fell, pair = plain_smo(K, y, 1.0, second, most, 1e-9)
    assert found == (steps, *pair, pytest.approx(fell, rel=1e-12), -1) and steps == most
    np.testing.assert_allclose(b.beta, beta, rtol=1e-12)
    np.testing.assert_allclose(b.v, v, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("second", [True, False])
@pytest.mark.parametrize("target", [0.5, 1e-6])
def test_a_run_ends_at_its_target(second, target):
    K, y = overlapping()
    b = box(y, 0.0, 1.0, -y)
    steps, i, k, change, missing = run(b, table(K), *smo_box.extremes(b.v, b.side, None), second, 1000, target)
    assert 0 < steps < 1000 and missing == -1 and (i, k) == extremes_of(b.v, b.side)
    assert b.v[k] - b.v[i] <= target
    coef = y * b.beta
    assert coef.sum() == pytest.approx(0.0, abs=1e-12)
    assert change == pytest.approx(0.5 * coef @ K @ coef - b.beta.sum(), rel=1e-9)
    np.testing.assert_allclose(b.v, K @ coef - y, atol=1e-12)
    if target == 1e-6:
        np.testing.assert_allclose(b.beta, plain_smo(K, y, 1.0, True, 1000, 1e-9)[0], atol=1e-5)


def test_the_ridge_is_part_of_the_move():
    """Squared hinge: v changes by the kernel rows, and by the ridge at the two points themselves."""
    y, ridge = np.array([1.0, -1.0, 1.0]), np.array([0.5, 0.25, 1.0])
    K = np.array([[1.0, 0.5, 0.25], [0.5, 1.0, 0.0], [0.25, 0.0, 1.0]])
    b = box(y, 0.0, INF, -y, ridge, 1.0 + ridge)
    steps, *_ = run(b, table(K), 0, 1, True, 50, 1e-10)
    Q = np.outer(y, y) * K + np.diag(ridge)
    assert steps > 2 and (b.beta > 0.0).all()
    np.testing.assert_allclose(y * b.v, Q @ b.beta - 1.0, atol=1e-9)
    np.testing.assert_allclose(b.v, b.v[0], atol=1e-9)  # optimal: all free points at one level


def test_rows_in_multiples_of_a_quantum():
    """Whole numbers of 1 / 64: the same steps as with the values, and a floor of two quanta."""
    rng = np.random.default_rng(5)
    y = np.where(np.arange(8) % 2, 1.0, -1.0)
    X = rng.normal(size=(8, 2)) + 0.3 * y[:, None]
    K = np.round(64.0 * np.exp(-((X[:, None] - X) ** 2).sum(axis=2))) / 64.0
    boxes = [box(y, 0.0, 1.0, -y) for _ in range(2)]
    ends = [
        run(b, rows, *smo_box.extremes(b.v, b.side, None), True, 5, 1e-6)
        for b, rows in zip(boxes, (table(K), table(64.0 * K, quantum=1.0 / 64.0)), strict=True)
    ]
    assert ends[0] == pytest.approx(ends[1], rel=1e-12)
    np.testing.assert_allclose(boxes[0].beta, boxes[1].beta, rtol=1e-12)
    np.testing.assert_allclose(boxes[0].v, boxes[1].v, rtol=1e-12, atol=1e-14)
    near = np.array([[1.0, 63.5 / 64.0], [63.5 / 64.0, 1.0]])  # a curvature of 1/64, floor 2/64
    b = box([1.0, 1.0], [0.0, 4.0], INF, [0.0, 1.0])
    run(b, table(64.0 * near, quantum=1.0 / 64.0), 0, 1, True, 1, 0.0)
    assert b.beta.tolist() == [4.0, 0.0]  # 32, and not 64, is clipped: see the next one
    b = box([1.0, 1.0], [0.0, 50.0], INF, [0.0, 1.0])
    run(b, table(64.0 * near, quantum=1.0 / 64.0), 0, 1, True, 1, 0.0)
    assert b.beta.tolist() == [32.0, 18.0]


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_missing_row_ends_the_run_and_is_named(missing):
    K = np.eye(3)
    b = box([1.0, -1.0, -1.0], 0.0, 1.0, [-3.0, 1.0, 2.0])
    rows = table(K, missing=[missing])
    found = run(b, rows, 0, 2, True, 9, 1e-3)
    if missing == 1:  # not needed by the first step
        assert found[0] >= 1 and found[4] in (1, -1)
    else:
        assert found == (0, 0, 2, 0.0, missing) and (b.beta == 0.0).all()


def test_runs_that_have_nothing_to_do():
    b = box([1.0, -1.0], 0.0, 1.0, [-1.0, 1.0])
    rows = table(np.eye(2))
    for i, k, most, target in ((-1, 1, 9, 0.0), (0, -1, 9, 0.0), (0, 1, 0, 0.0), (0, 1, 9, 2.0)):
        assert run(b, rows, i, k, True, most, target) == (0, i, k, 0.0, -1)
    assert (b.beta == 0.0).all()


def test_the_second_order_rule_may_choose_the_first_point():
    K = np.array([[1.0, 0.0, 0.9], [0.0, 1.0, 0.0], [0.9, 0.0, 1.0]])
    b = box([1.0, 1.0, 1.0], [1.0, 1.0, 0.0], 9.0, [0.9, 1.0, -1.0])
    assert run(b, table(K), 2, 1, True, 1, 0.0)[0] == 1
    assert b.beta[1] == 1.0 and b.beta[0] < 1.0


def test_an_unbounded_step_ends_the_run():
    b = box([1.0, -1.0], 0.0, INF, [-1.0, 1.0])
    found = run(b, table(np.array([[1.0, 3.0], [3.0, 1.0]])), 0, 1, True, 9, 0.0)
    assert found == (1, 0, 1, -INF, -2) and (b.beta == 0.0).all()


def test_without_a_partner_of_the_second_order_the_pair_is_taken():
    """A point of LOW that is as low as i: no gain, but a run that was begun on it ends at once."""
    b = box([1.0, 1.0], [0.5, 0.5], 1.0, [0.0, 0.0])
    assert run(b, table(np.eye(2)), 0, 1, True, 9, -1.0)[0] == 1
    assert isinstance(table(np.eye(2)), RowTable)
