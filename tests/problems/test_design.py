"""Rows of X in compiled code, X with its bias column as a whole, and one pass of dual coordinate descent."""

import numpy as np
import pytest
import scipy.sparse as sp
from numba import njit
from support.storages import frozen, int64

from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Linear
from svmkit.kernels.gram import Gram
from svmkit.losses import Hinge, SquaredHinge
from svmkit.losses.terms import Terms
from svmkit.problems.risks.coordinate_descent import coordinate_pass
from svmkit.problems.risks.design import Design, fetch_row, row_add, row_dot
from svmkit.problems.risks.linear_risk import PairSums
from svmkit.problems.risks.points import Side, excess_of, loss_beyond, make_points

pytestmark = pytest.mark.usefixtures("one_pool")
NEVER = np.inf, -np.inf


STORAGES = {
    "dense": np.asarray,
    "dense, by columns": np.asfortranarray,
    "dense, read only": frozen,
    "csr": sp.csr_array,
    "csr, int64": int64,
    "csr, read only": lambda X: frozen(sp.csr_array(X)),
}
every_storage = pytest.mark.parametrize("storage", STORAGES.values(), ids=STORAGES)


def table(m=23, d=19, seed=0, dtype=np.float64):
    """Two thirds zeros, a row and a column of zeros, two equal rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d)) * (rng.random((m, d)) < 0.35)
    X[3], X[:, 2], X[5] = 0.0, 0.0, X[4]
    return X.astype(dtype)


def design(X, bias=1.0) -> Design:
    return Design(Gram(Linear(), X), bias)


@njit
def dots(X, w, out):
    for i in range(out.size):
        fetch_row(X, i)
        out[i] = row_dot(X, i, w)


@njit
def adds(X, a, w):
    for i in range(a.size):
        row_add(X, i, a[i], w)


@every_storage
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_those_of_x(storage, dtype):
    X = table(dtype=dtype)
    rng = np.random.default_rng(1)
    w, a, out = rng.normal(size=X.shape[1] + 1), rng.normal(size=len(X)), np.empty(len(X))
    rows = design(storage(X)).rows
    dots(rows, w, out)
    np.testing.assert_allclose(out, X.astype(np.float64) @ w[:-1], atol=1e-13)
    before = w.copy()
    adds(rows, a, w)
    np.testing.assert_allclose(w[:-1] - before[:-1], a @ X.astype(np.float64), atol=1e-12)
    assert w[-1] == before[-1]  # the bias column is the caller's


@pytest.mark.parametrize("word", [row_dot, row_add, fetch_row])
def test_rows_are_for_compiled_code(word):
    with pytest.raises(TypeError, match="compiled code"):
        word(*[None] * word.__code__.co_argcount)


@every_storage
@pytest.mark.parametrize("bias", [0.0, 1.0, 2.5])
def test_design_is_x_with_its_bias_column(storage, bias):
    X = table()
    full = np.column_stack([X, np.full(len(X), bias)]) if bias else X
    d = design(storage(X), bias)
    rng = np.random.default_rng(2)
    w, v = rng.normal(size=full.shape[1]), rng.normal(size=len(X)) * (rng.random(len(X)) < 0.5)
    assert (d.m, d.d, d.width) == (*X.shape, full.shape[1])
    np.testing.assert_allclose(d.margins(w), full @ w, atol=1e-12)
    np.testing.assert_allclose(d.pull(v), full.T @ v, atol=1e-12)
    np.testing.assert_allclose(d.sq, np.square(full).sum(axis=1), rtol=1e-12)
    columns, intercept = d.split(w)
    np.testing.assert_array_equal(columns, w[: X.shape[1]])
    assert intercept == (bias * w[-1] if bias else 0.0)
    np.testing.assert_allclose(d.join(columns, intercept), w)


def test_split_is_a_copy():
    d, w = design(table()), np.ones(20)
    d.split(w)[0][:] = 5.0
    assert (w == 1.0).all()


def test_one_row_and_one_column():
    d = design(np.array([[2.0]]))
    np.testing.assert_array_equal(d.margins(np.array([3.0, 1.0])), [7.0])
    np.testing.assert_array_equal(d.pull(np.array([2.0])), [4.0, 2.0])


def test_more_columns_than_rows_and_more_threads_than_rows():
    X = np.random.default_rng(0).normal(size=(2, 300))
    d = design(sp.csr_array(X))
    np.testing.assert_allclose(d.pull(np.array([1.0, -2.0]))[:-1], X[0] - 2.0 * X[1])


def pair(storage, bias):
    X = table()
    full = np.column_stack([X, np.full(len(X), bias)]) if bias else X
    d, rng = design(storage(X), bias), np.random.default_rng(2)
    w, beta = rng.normal(size=full.shape[1]), rng.normal(size=len(X)) * (rng.random(len(X)) < 0.7)
    return full, PairSums(d, w), w, beta


def added(sums, beta, ends):
    for lo, hi in ends:
        sums.beta[lo:hi] = beta[lo:hi]
        sums.add(lo, hi)
    return sums


@every_storage
@pytest.mark.parametrize("bias", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("is_balanced", [False, True])
def test_sums_of_a_pair_are_the_products_of_its_weights(storage, bias, is_balanced):
    full, sums, w, beta = pair(storage, bias)
    added(sums, beta, [(0, 7), (7, 8), (8, len(full))])
    point = sums.balance() if is_balanced else sums.beta
    if is_balanced:
        assert abs(point.sum()) < 1e-13 and np.abs(point - beta).max() > 0.01
        ratio = point[beta != 0.0] / beta[beta != 0.0]
        assert ratio.max() == 1.0 and len(np.unique(ratio.round(12))) == 2
    v, h = sums.take(point, w.copy())
    np.testing.assert_allclose(h, full @ w, atol=1e-12)
    np.testing.assert_allclose(v, full.T @ point, atol=1e-12)
    assert sums.take(point, w) is None  # they are given out once


@pytest.mark.parametrize("lo, hi", [(0, 7), (6, 9), (8, 12), (7, 7), (7, 24)], ids=str)
def test_sums_of_a_pair_take_each_row_once_in_order(lo, hi):
    _, sums, _, beta = pair(np.asarray, 1.0)
    added(sums, beta, [(0, 7)])
    with pytest.raises(ValueError, match="were added after 7 of 23"):
        sums.add(lo, hi)


def _change(sums, w):
    sums.beta[3] += 1e-9
    return sums.beta, w


CHANGES = {
    "dual weights changed": _change,
    "two dual weights swapped": lambda sums, w: (sums.beta.__setitem__([0, 1], sums.beta[[1, 0]]), (sums.beta, w))[1],
    "another array": lambda sums, w: (sums.beta.copy(), w),
    "other weights": lambda sums, w: (sums.beta, w + 1e-9),
    "dropped": lambda sums, w: (sums.drop(), (sums.beta, w))[1],
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("is_balanced", [False, True])
def test_sums_of_a_pair_are_for_these_weights_alone(change, is_balanced):
    _, sums, w, beta = pair(np.asarray, 1.0)
    added(sums, beta, [(0, 20), (20, 23)])
    if is_balanced:
        sums.balance()
    assert sums.take(*change(sums, w)) is None


@pytest.mark.parametrize("is_balanced", [False, True])
def test_sums_of_a_pair_without_all_rows_are_none(is_balanced):
    _, sums, w, beta = pair(np.asarray, 1.0)
    added(sums, beta, [(0, 20)])
    sums.beta[20:] = 0.0
    if is_balanced:
        assert abs(sums.balance().sum()) < 1e-13
    assert sums.take(sums.beta, w) is None


def test_dual_weights_that_change_before_they_are_balanced_have_no_sums():
    _, sums, w, beta = pair(np.asarray, 1.0)
    added(sums, beta, [(0, 23)])
    sums.beta[3] *= 2.0
    assert abs(sums.balance().sum()) < 1e-13 and sums.take(sums.beta, w) is None


def test_other_kernels_are_refused():
    with pytest.raises(InputError, match="linear kernel, not rbf"):
        Design(Gram(RBF(0.5), table()), 1.0)


def plain_pass(X, y, upper, ridge, order, beta, v, high, low):
    """Algorithm 3 of Hsieh et al. 2008 as it is printed, X with its bias column; (points kept, projected gradients)."""
    kept, projected = [], []
    for i in order:
        slope = y[i] * (X[i] @ v) - 1.0 + ridge[i] * beta[i]
        if (beta[i] == 0.0 and slope > high) or (beta[i] == upper[i] and slope < low):
            continue
        inside = min(slope, 0.0) if beta[i] == 0.0 else max(slope, 0.0) if beta[i] == upper[i] else slope
        kept.append(i)
        projected.append(inside)
        if inside != 0.0:
            old = beta[i]
            beta[i] = min(max(old - slope / (X[i] @ X[i] + ridge[i]), 0.0), upper[i])
            v += (beta[i] - old) * y[i] * X[i]
    return kept, projected


def value(beta, v, ridge):
    return 0.5 * (v @ v + ridge @ beta**2) - beta.sum()


@every_storage
@pytest.mark.parametrize("bias", [0.0, 2.0])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.slow
def test_a_pass_is_hsiehs(storage, bias, loss):
    X = table(40, 7)
    X[:, 0] = 1.0  # a row of zeros has no curvature without a bias: a test of its own
    rng = np.random.default_rng(3)
    y, C, m = np.where(rng.random(40) < 0.4, 1.0, -1.0), rng.uniform(0.1, 2.0, 40), 40
    upper, ridge = (C, np.zeros(m)) if loss == "hinge" else (np.full(m, np.inf), 0.5 / C)
    full = np.column_stack([X, np.full(m, bias)]) if bias else X
    d = design(storage(X), bias)
    terms = (Hinge() if loss == "hinge" else SquaredHinge()).terms(y, C)
    points = make_points(terms, d.sq).rows
    beta = np.where(rng.random(m) < 0.3, np.minimum(upper, 1.0), 0.0)
    v = full.T @ (y * beta)
    theirs, their_v = beta.copy(), v.copy()
    for high, low in (NEVER, (0.02, -0.02)):
        order = rng.permutation(m)[:35]
        before, support, parts = value(beta, v, ridge), np.count_nonzero(beta), []
        ours = order.copy()
        # the parts of P - D, point by point, from the definition: loss, minus what D counts
        step_beta, step_v = beta.copy(), v.copy()
        for i in order:
            slack = 1.0 - y[i] * (full[i] @ step_v)
            cost = C[i] * max(slack, 0.0) ** (1 if loss == "hinge" else 2)
            parts.append(cost - step_beta[i] * slack + 0.5 * ridge[i] * step_beta[i] ** 2)
            plain_pass(full, y, upper, ridge, [i], step_beta, step_v, high, low)
        signed = y * beta
        done = coordinate_pass(d.rows, d.bias, points, ours, len(ours), signed, v, high, low)
        beta = y * signed
        kept, projected = plain_pass(full, y, upper, ridge, order, theirs, their_v, high, low)
        np.testing.assert_allclose(beta, theirs, atol=1e-12)
        np.testing.assert_allclose(v, their_v, atol=1e-11)
        np.testing.assert_array_equal(ours[: done.n], kept)
        assert (done.top, done.low) == (pytest.approx(max(projected)), pytest.approx(min(projected)))
        assert done.gain == pytest.approx(before - value(theirs, their_v, ridge), rel=1e-9)
        assert done.gap == pytest.approx(sum(parts), rel=1e-9)
        assert done.born == np.count_nonzero(theirs) - support
    assert done.n < 35, "nothing was left out"


TWO_SIGNS = {
    "absolute error": {"lower": -0.5, "upper": 0.5},
    "tube": {"lower": -2.0, "upper": 2.0, "kink_up": 0.3, "kink_down": 0.3},
    "quantile": {"lower": -0.2, "upper": 0.8},
    "expectile": {"lower": -np.inf, "upper": np.inf, "ridge_up": 0.25, "ridge_down": 2.0},
    "all of it": {"lower": -1.0, "upper": 2.0, "kink_up": 0.5, "kink_down": 0.2, "ridge_up": 0.3, "ridge_down": 3.0},
}


@pytest.mark.parametrize("loss", TWO_SIGNS)
def test_a_step_on_a_weight_of_either_sign_goes_to_its_minimum(loss):
    """Of the objective along the weight, whose decrease is the gain; P - D has the part loss - e beta + phi(beta)."""
    rng, X, given = np.random.default_rng(4), table(40, 7), TWO_SIGNS[loss]
    full, target = np.column_stack([X, np.ones(40)]), rng.normal(size=40)
    terms = Terms.fill(target, **given)
    d = design(X, 1.0)
    points = make_points(terms, d.sq)
    beta = np.clip(rng.normal(size=40), terms.lower, terms.upper) * (rng.random(40) < 0.8)
    v, crossed = full.T @ beta, 0

    def phi(b):
        up, down = np.maximum(b, 0.0), np.maximum(-b, 0.0)
        kinks = up * given.get("kink_up", 0.0) + down * given.get("kink_down", 0.0)
        return kinks + 0.5 * (up**2 * given.get("ridge_up", 0.0) + down**2 * given.get("ridge_down", 0.0))

    for i in rng.integers(40, size=300):
        old, e = beta[i], target[i] - full[i] @ v

        def along(b, i=i, old=old, e=e):
            return 0.5 * (full[i] @ full[i]) * (b - old) ** 2 - e * (b - old) + phi(b)

        done = coordinate_pass(d.rows, 1.0, points.rows, np.array([i]), 1, beta, v, *NEVER, 1.0, points.below)
        tried = np.append(np.clip(np.linspace(-3.0, 3.0, 601), terms.lower[i], terms.upper[i]), 0.0)
        assert along(beta[i]) <= along(tried).min() + 1e-12
        assert done.gain == pytest.approx(along(old) - along(beta[i]), abs=1e-12)
        wide = np.clip(np.linspace(-200.0, 200.0, 40_001), terms.lower[i], terms.upper[i])
        assert done.gap == pytest.approx((e * wide - phi(wide)).max() - e * old + phi(old), abs=1e-4)
        crossed += beta[i] * old < 0.0
    np.testing.assert_allclose(v, full.T @ beta, atol=1e-11)
    assert crossed > 3


def test_rows_of_zeros_go_to_their_bound():
    X, y, C = np.zeros((3, 2)), np.array([1.0, -1.0, 1.0]), np.array([0.5, 2.0, 1e6])
    d = design(X, 0.0)
    beta, v = np.zeros(3), np.zeros(2)
    done = coordinate_pass(d.rows, 0.0, make_points(Hinge().terms(y, C), d.sq).rows, np.arange(3), 3, beta, v, *NEVER)
    np.testing.assert_array_equal(beta, y * C)
    assert done.gain == pytest.approx(C.sum())
    beta = np.zeros(3)
    coordinate_pass(d.rows, 0.0, make_points(SquaredHinge().terms(y, C), d.sq).rows, np.arange(3), 3, beta, v, *NEVER)
    np.testing.assert_allclose(beta, 2.0 * y * C)


@pytest.mark.parametrize("m", [1, 2, 7, 8, 9, 30])
def test_passes_over_few_points(m):
    """Rows are asked for some steps ahead: never beyond the last one."""
    X = table(max(m, 6), 5)[:m]
    y = np.where(np.arange(m) % 2, 1.0, -1.0)
    d = design(sp.csr_array(X))
    beta, v = np.zeros(m), np.zeros(6)
    points = make_points(Hinge().terms(y, np.ones(m)), d.sq).rows
    for _ in range(50):
        done = coordinate_pass(d.rows, 1.0, points, np.arange(m), m, beta, v, *NEVER)
    np.testing.assert_allclose(v, np.append(X, np.ones((m, 1)), axis=1).T @ beta, atol=1e-12)
    assert done.n == m and done.gain >= 0.0


def test_duplicate_draws_are_steps_of_their_own():
    X, y = table(), np.where(np.arange(23) % 2, 1.0, -1.0)
    d = design(X)
    order = np.random.default_rng(0).integers(23, size=60)
    full = np.append(X, np.ones((23, 1)), axis=1)
    beta, v, theirs, their_v = np.zeros(23), np.zeros(20), np.zeros(23), np.zeros(20)
    points = make_points(Hinge().terms(y, np.ones(23)), d.sq).rows
    done = coordinate_pass(d.rows, 1.0, points, order.copy(), 60, beta, v, *NEVER)
    _, projected = plain_pass(full, y, np.ones(23), np.zeros(23), order, theirs, their_v, *NEVER)
    np.testing.assert_allclose(y * beta, theirs, atol=1e-13)
    assert (done.top, done.low) == (pytest.approx(max(projected)), pytest.approx(min(projected)))


@pytest.mark.parametrize("ridge", [0.0, 0.5, 2.0])
def test_the_excess_of_a_sample_is_what_fenchel_and_young_leave(ridge):
    """The largest of held s - ridge held^2 / 2 over weights up to the bound is the loss; the excess is the rest."""
    bound, weights = 3.0, np.linspace(0.0, 3.0, 1201)
    side = Side(1.0, ridge, 1.0, bound, 0.0)
    for slack in np.arange(-8, 33) * 0.25:
        loss = (weights * slack - 0.5 * ridge * weights**2).max()
        assert loss_beyond(slack, side) == pytest.approx(loss, abs=1e-12)
        for held in (0.0, 0.5, 1.25, 3.0):
            excess = loss - held * slack + 0.5 * ridge * held**2
            assert excess_of(slack, held, side) == pytest.approx(excess, abs=1e-5) and excess >= 0.0
