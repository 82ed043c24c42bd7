"""The best bias of any loss: the minimum over b of a sum of losses of residuals, exact for piecewise quadratic ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from svmkit.losses.terms import curvatures, dual_weights
from svmkit.problems.sums import LogisticRecord, Record
from svmkit.runtime.compiling import njit

LEVEL = 1e-14  # share of the sizes of its terms that rounding may leave of a derivative
MANY = 1 << 16  # pieces from which on only those near the minimum are sorted
SAMPLE = 1 << 12  # pieces that suggest where the minimum is
NEAR = 32  # divisor: the sample's estimate may be off by this share of its ends
TOGETHER = 1 << 16  # pieces whose weights are summed together
ROUNDS = 60  # passes over all pieces that a search may take; mostly it takes five
LOGISTIC_ROUNDS = 200  # of Newton's method for logistic losses, at most


def best_bias(record: Record, residual: np.ndarray, total: float = 0.0) -> float:
    """Return the argmin over b of sum_i L_i(residual_i - b) + b total; of an interval, its middle.

    The residuals (m,) are targets less decision values without the bias, `total` is what the dual weights sum to. The
    derivative of L_i rises from a bound to the other one: it jumps at the kinks where there is no ridge, and is linear
    where there is one. As b grows, a loss of weights above 0 ends at residual - kink_up, and one of weights below 0
    begins at residual + kink_down. Logistic losses take Newton's method.
    """
    if isinstance(record, LogisticRecord):
        return _logistic_bias(record, residual)
    if not (np.count_nonzero(record.lower) or np.count_nonzero(record.ridge_up)):
        return float(select_bias(record.signs, residual - record.signs * record.kink_up, record.upper.copy(), total))
    ramps = np.empty((3, 2 * len(residual)))
    n = fill_ramps(*record, residual, ramps)
    if n:
        bias = find_zero(*ramps[:, :n], total)
        if bias == bias:  # NaN says that the search has not finished
            return float(bias)
    turned = record.signs < 0.0
    up: tuple[np.ndarray, ...] = record.kink_up, record.upper, record.ridge_up
    down: tuple[np.ndarray, ...] = record.kink_down, -record.lower, record.ridge_down
    if turned.any():
        up, down = (
            tuple(np.where(turned, b, a) for a, b in zip(up, down, strict=True)),
            tuple(np.where(turned, a, b) for a, b in zip(up, down, strict=True)),
        )
    ends, begins = residual - up[0], residual + down[0]
    if not (up[2].any() or down[2].any()):  # weights of both signs: what is turned has one
        sides, costs = np.repeat([1.0, -1.0], len(turned)), np.concatenate([up[1], down[1]])
        some = costs > 0.0
        return float(select_bias(sides[some], np.concatenate([ends, begins])[some], costs[some], total))
    pieces = _pieces(ends, up[1], up[2], begins, down[1], down[2])
    del turned, up, down, ends, begins  # for many samples they take much of the memory
    if len(pieces[0]) <= MANY:
        return _zero_of_slopes(pieces, total)
    level = LEVEL * _size_of(pieces, total)
    return _zero_of_slopes(*_narrow(pieces, total, level), level)


def _logistic_bias(record: LogisticRecord, residual: np.ndarray) -> float:
    """Return the b at which the weights of both signs have equal sums, by Newton's method in an interval that holds it.

    At 0 the weights of one sign are at most exp(b) times as large, beside their bounds, as those of the other one.
    """
    terms = record.terms
    up, down = terms.upper.sum(), -terms.lower.sum()
    if not (up > 0.0 and down > 0.0):
        return float(np.median(residual))
    ratio = float(np.log(up) - np.log(down))
    low, high = float(residual.min()) + ratio, float(residual.max()) + ratio
    b = 0.5 * (low + high)
    for _ in range(LOGISTIC_ROUNDS):
        beta = dual_weights(terms, residual - b)
        value, size = float(beta.sum()), float(np.abs(beta).sum())
        if abs(value) <= LEVEL * size:
            break
        low, high = (b, high) if value > 0.0 else (low, b)
        rate, before = float(curvatures(terms, residual - b).sum()), b
        b = b + value / rate if rate > 0.0 else np.inf
        if not low < b < high:
            b = 0.5 * (low + high)
        if b in (before, low, high):
            break
    return b


def weighted_quantile(values: np.ndarray, weights: np.ndarray, total: float) -> float:
    """Return the x that minimises sum_i weights_i max(0, x - values_i) - total x; of an interval, its middle.

    The weights (m,) are >= 0; values (m,) that weigh `total` at most, which their sum exceeds, lie below x.
    """
    some = weights > 0.0
    return -float(select_bias(np.ones(np.count_nonzero(some)), -values[some], weights[some], total))


def _pieces(ends, most, ridge, begins, least, ridge_down) -> tuple[np.ndarray, ...]:
    """Return the linear pieces of the weights as b grows: where each begins and ends, and its value at both ends.

    The weight of a loss above falls from its bound to 0, that of a loss below from 0 to minus its bound. A piece
    without a ridge is a jump.
    """
    up, down = most > 0.0, least > 0.0
    with np.errstate(invalid="ignore"):
        first = np.concatenate([(ends - ridge * most)[up], begins[down]])
        last = np.concatenate([ends[up], (begins + ridge_down * least)[down]])
    slopes = np.concatenate([ridge[up], ridge_down[down]])
    anchors = np.concatenate([ends[up], begins[down]])  # where the weight is 0
    bounds = np.concatenate([most[up], -least[down]])
    return first, last, slopes, anchors, bounds


def _lines(pieces: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """Return for each piece whether its weight is above 0, its bound or 0 without one, and rate and moment of its line:
    the weight is moment - rate b there.
    """
    _, _, ridges, anchors, bounds = pieces
    rates = np.where(ridges > 0.0, 1.0 / np.where(ridges > 0.0, ridges, 1.0), 0.0)
    return bounds > 0.0, np.where(np.isfinite(bounds), bounds, 0.0), rates, rates * anchors


def _cut(pieces: tuple[np.ndarray, ...]) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield the pieces in parts."""
    for lo in range(0, len(pieces[0]), TOGETHER):
        yield tuple(array[lo : lo + TOGETHER] for array in pieces)


def _size_of(pieces: tuple[np.ndarray, ...], total: float) -> float:
    """Return the sum of the sizes of all terms of the derivative, independent of the place of its zero."""
    size, farthest, rate = abs(total), 0.0, 0.0
    for part in _cut(pieces):
        _, fixed, rates, moments = _lines(part)
        size += float(np.abs(moments).sum() + np.abs(fixed).sum())
        rate += float(rates.sum())
        for ends in part[:2]:
            farthest = max(farthest, float(np.abs(ends[np.isfinite(ends)]).max(initial=0.0)))
    return size + farthest * rate


def _sum_at(pieces: tuple[np.ndarray, ...], b: float) -> float:
    """Return the sum of the weights at b."""
    value = 0.0
    for part in _cut(pieces):
        first, last = part[:2]
        above, fixed, rates, moments = _lines(part)
        within, beyond = (first < b) & (b < last), np.where(above, b <= first, b >= last)
        value += float((moments[within] - b * rates[within]).sum()) + float(fixed[beyond].sum())
    return value


def _clear(pieces, total: float, level: float, ends: np.ndarray, middle: int, side: int) -> float | None:
    """Return one of the `ends` (k,), on one side of the middle one, at which the sum of weights is clearly above the
    total (side -1) or below it (side 1); None if there is none.
    """
    away = len(ends) // NEAR + 1
    while True:
        at = min(max(middle + side * away, 0), len(ends) - 1)
        if side * (_sum_at(pieces, ends[at]) - total) < -level:
            return float(ends[at])
        if at in (0, len(ends) - 1):
            return None
        away *= 2


def _narrow(pieces: tuple[np.ndarray, ...], total: float, level: float) -> tuple[tuple[np.ndarray, ...], float]:
    """Return fewer pieces, and a total, whose sum of weights is the same near the b at which it passes `total`.

    Between two b at which the sum is clearly above and below the total, most pieces have one bound or one line; the
    bounds become part of the total, and the lines become one. Both b are ends of pieces of a sample, near the one that
    the sample suggests; if there are no such b, all pieces are returned.
    """
    n = len(pieces[0])
    some = np.random.default_rng(n).integers(n, size=SAMPLE)
    sample = tuple(array[some] for array in pieces)
    ends = np.concatenate(sample[:2])
    ends = np.unique(ends[np.isfinite(ends)])
    if not len(ends):
        return pieces, total
    middle = int(np.searchsorted(ends, _zero_of_slopes(sample, total * SAMPLE / n, level * SAMPLE / n)))
    begin, end = (_clear(pieces, total, level, ends, middle, side) for side in (-1, 1))
    if begin is None or end is None:
        return pieces, total
    begin, end = np.nextafter(begin, -np.inf), np.nextafter(end, np.inf)  # the pieces that end there stay
    kept: list[tuple[np.ndarray, ...]] = []
    rate = moment = 0.0
    for part in _cut(pieces):
        first, last = part[:2]
        above, fixed, rates, moments = _lines(part)
        before, after = last <= begin, first >= end
        whole = (first <= begin) & (last >= end) & ~before & ~after
        total -= float(fixed[before & ~above].sum()) + float(fixed[after & above].sum())
        rate, moment = rate + float(rates[whole].sum()), moment + float(moments[whole].sum())
        near = ~(before | after | whole)
        kept.append(tuple(array[near] for array in part))
    if rate > 0.0:
        line = (-np.inf, np.inf, 1.0 / rate, moment / rate, np.inf)
        kept.append(tuple(np.array([value]) for value in line))
    return tuple(np.concatenate(arrays) for arrays in zip(*kept, strict=True)), total


def _zero_of_slopes(pieces: tuple[np.ndarray, ...], total: float, level: float | None = None) -> float:
    """Return where the sum of the weights, which falls as b grows, passes `total`, up to rounding of `level`; None
    stands for the level of these pieces.
    """
    first, last = pieces[:2]
    above, fixed, rates, moments = _lines(pieces)
    begun, ended = np.isfinite(first), np.isfinite(last)
    # at the first end of a piece its bound, if it is above, is given up for a line; at the last one the reverse
    x = np.concatenate([first[begun], last[ended]])
    rate = np.concatenate([rates[begun], -rates[ended]])
    moment = np.concatenate([moments[begun], -moments[ended]])
    height = np.concatenate([np.where(above, -fixed, 0.0)[begun], np.where(above, 0.0, fixed)[ended]])
    order = np.argsort(x, kind="stable")
    x = x[order]
    start = float(rates[~begun].sum()), float(moments[~begun].sum()), float(fixed[begun & above].sum()) - total
    rate, moment, heights = (
        np.concatenate([[0.0], np.cumsum(values[order])]) + at
        for values, at in zip((rate, moment, height), start, strict=True)
    )
    right = moment[:-1] - x * rate[:-1] + heights[:-1]  # of each piece of the line but the last one, at its right end
    right = np.append(right, -np.inf)
    if level is None:
        level = LEVEL * (np.abs(moments).sum() + np.abs(x).max() * rates.sum() + np.abs(fixed).sum() + abs(total))

    def zero_in(j: int) -> float:
        lo = float(x[j - 1]) if j > 0 else float(x[0]) - 1.0
        hi = float(x[j]) if j < len(x) else float(x[-1]) + 1.0
        middle = 0.5 * (lo + hi)
        within, beyond = (first < middle) & (middle < last), np.where(above, middle <= first, middle >= last)
        rate, value = float(rates[within].sum()), float(moments[within].sum()) + float(fixed[beyond].sum()) - total
        if rate > 0.0:
            return float(np.clip(value / rate, lo if j > 0 else -np.inf, hi if j < len(x) else np.inf))
        return hi if (value > level and j < len(x)) or j == 0 else lo

    # they differ where the sum stays at the total
    return 0.5 * (zero_in(int(np.argmax(right <= level))) + zero_in(int(np.argmax(right < -level))))


@njit(nogil=True, cache=True, error_model="numpy")
def fill_ramps(signs, target, lower, upper, kink_up, kink_down, ridge_up, ridge_down, residual, ramps):
    """Fill the weights as b grows, if none of them jumps, and return their number; 0 if one does.

    A weight is sign min(max(sign (anchor - b) rate, 0), bound). Of each one, ramps (3, 2 m) receives the anchor, the
    rate with the sign and the bound.
    """
    n = 0
    for i in range(residual.size):
        for up in (True, False):
            if up == (signs[i] > 0.0):
                offset, bound, ridge = kink_up[i], upper[i], ridge_up[i]
            else:
                offset, bound, ridge = kink_down[i], -lower[i], ridge_down[i]
            if bound > 0.0:
                if not ridge > 0.0:
                    return 0
                ramps[0, n] = residual[i] - offset if up else residual[i] + offset
                ramps[1, n] = 1.0 / ridge if up else -1.0 / ridge
                ramps[2, n] = bound
                n += 1
    return n


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "nsz", "reassoc"})
def _sum_ramps(anchors, rates, bounds, b):
    """Return the sum of the weights at b, minus its derivative, and the sum of the sizes of all terms."""
    value, rate, size = 0.0, 0.0, 0.0
    for i in range(anchors.size):
        steep = abs(rates[i])
        along = (anchors[i] - b) * rates[i]
        weight = min(max(along, 0.0), bounds[i])
        is_within = weight == along  # without a branch, which would be unpredictable
        value += np.copysign(weight, rates[i])
        rate += steep if is_within else 0.0
        size += (abs(anchors[i]) + abs(b)) * steep if is_within else weight
    return value, rate, size


@njit(nogil=True, cache=True, error_model="numpy")
def _neighbours(anchors, rates, bounds, b):
    """Return the nearest ends of weights, to the left and to the right of b, at which their lines change."""
    left, right = -np.inf, np.inf
    for i in range(anchors.size):
        for end in (anchors[i], anchors[i] - bounds[i] / rates[i]):  # an infinite one is no neighbour
            if abs(end - b) > LEVEL * (abs(end) + abs(b)):
                if left < end < b:
                    left = end
                elif b < end < right:
                    right = end
    return left, right


@njit(nogil=True, cache=True, error_model="numpy")
def find_zero(anchors, rates, bounds, total):
    """Return the b at which the sum of weights, none of which jumps, is `total`: the middle of an interval, or its end
    if it is not bounded. NaN if it is not found.

    The sum never rises and is piecewise linear, so that Newton's method within the interval that holds the zero ends.
    """
    b, low, high, stride = 0.0, -np.inf, np.inf, 1.0
    for _ in range(ROUNDS):
        value, rate, size = _sum_ramps(anchors, rates, bounds, b)
        value -= total
        level = LEVEL * (size + abs(total))
        if abs(value) <= level:
            break
        if value > 0.0:
            low = b
        else:
            high = b
        step = value / rate if rate > 0.0 else np.copysign(stride, value)
        stride *= 2.0
        after = b + step
        if not low < after < high:
            after = 0.5 * (low + high) if high - low < np.inf else b + np.copysign(stride, value)
        if after == b or not low < after < high:
            return b  # neighbours among numbers
        b = after
    else:
        return np.nan
    # between two ends the sum is a line: where it is 0 at the next end as well, or somewhere beyond the last one, it is
    # 0 in between
    left, right = _neighbours(anchors, rates, bounds, b)
    far = 1.0 + abs(b)
    is_flat = abs(_sum_ramps(anchors, rates, bounds, max(left, b - far))[0] - total) <= level
    begin = left if is_flat else b
    is_flat = abs(_sum_ramps(anchors, rates, bounds, min(right, b + far))[0] - total) <= level
    end = right if is_flat else b
    if begin == -np.inf:
        begin = end if end < np.inf else b
    return 0.5 * (begin + end) if end < np.inf else begin


@njit(nogil=True, cache=True)
def select_bias(y, c, cost, total):
    """Return the argmin over b of the sum of losses without ridges, plus b total, as `best_bias`.

    A sample with y > 0 has a loss of slope `cost` for b below its c, one with y < 0 for b above its c. The arrays c and
    cost are reordered in place, which leaves no sums and copies of arrays to compile. The derivative rises by the cost
    at each c, from minus the costs of the positive samples and the total. The c at which it reaches 0 is selected as in
    quickselect, with a pivot that splits the costs.
    """
    n = y.size
    left, level = -total, 0.0  # the sum of costs up to the minimum, and its rounding error
    for i in range(n):
        level += 1e-12 * cost[i]
        if y[i] > 0.0:
            left += cost[i]
    lo, hi, beyond = 0, n, np.inf
    while True:
        pivot, a, b = c[(lo + hi) // 2], c[lo], c[hi - 1]
        a, b = (a, b) if a < b else (b, a)
        pivot = a if pivot < a else b if pivot > b else pivot
        below, at, r, of_below, of_same = lo, hi, lo, 0.0, 0.0
        while r < at:  # below the pivot | the pivot | above it
            value, weight, other = c[r], cost[r], r
            if value < pivot:
                of_below += weight
                other = below
                below += 1
            elif value > pivot:
                at -= 1
                other = at
            else:
                of_same += weight
            c[r], cost[r] = c[other], cost[other]
            c[other], cost[other] = value, weight
            r += not value > pivot
        if of_below >= left - level and below > lo:
            beyond, hi = pivot, below
            continue
        rise = of_below + of_same - left
        if rise >= -level or at == hi:
            if rise > level:
                return pivot
            for r in range(at, hi):
                beyond = c[r] if c[r] < beyond else beyond
            return 0.5 * (pivot + beyond) if beyond < np.inf else pivot
        left, lo = -rise, at
