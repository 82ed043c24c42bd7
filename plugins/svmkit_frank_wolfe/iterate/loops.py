"""The O(m) loops of an iteration, each of which is one pass over memory."""

from __future__ import annotations

import numpy as np

from svmkit.runtime.compiling import njit

FAST = {"contract", "nsz", "nnan", "reassoc", "arcp"}
BLOCK = 256
HUGE = 1e300
FRESH = 32  # steps until alpha'g is summed anew instead of updated
FAINT = 1e-60  # a smaller common factor of the weights is multiplied out
MOST, LEAST = np.int64(2**63 - 1), np.int64(-(2**63))


@njit(cache=True, fastmath=FAST)
def move(g, y, c, row_in, row_out, s, c_in, c_out, bias):
    """Set g = s g + (1 - s) c + y (c_in (row_in + bias) + c_out (row_out + bias)), with labels inside c_in, c_out."""
    shift = (c_in + c_out) * bias
    if c_out == 0.0:
        for r in range(g.size):
            g[r] = s * g[r] + y[r] * (c_in * row_in[r] + shift)
    elif c_in == 0.0:
        for r in range(g.size):
            g[r] = s * g[r] + y[r] * (c_out * row_out[r] + shift)
    else:
        for r in range(g.size):
            g[r] = s * g[r] + y[r] * (c_in * row_in[r] + c_out * row_out[r] + shift)
    if s != 1.0:
        for r in range(c.size):
            g[r] += (1.0 - s) * c[r]


@njit(cache=True, fastmath=FAST)
def gradient_at(row, w, y, bias):
    """Return sum_r w_r y_r (row_r + bias), the gradient of a new point up to its label and the scale of w."""
    total = 0.0
    for r in range(w.size):
        total += w[r] * y[r] * (row[r] + bias)
    return total


@njit(cache=True, fastmath=FAST)
def active_vertex(g, w):
    """Return argmin of g over w > 0."""
    i = -1
    best = HUGE
    for r in range(g.size):
        if w[r] > 0.0 and g[r] < best:
            best = g[r]
            i = r
    return i


@njit(cache=True, fastmath=FAST)
def exchange(g, w, y, diag, row, bias, scale, g_i, a_ii, y_i):
    """Return the active j whose weight is best moved to a point i outside, and the change of f; row = k_i."""
    j = -1
    best = HUGE
    for r in range(g.size):
        if w[r] > 0.0:
            alpha = scale * w[r]
            curvature = a_ii + diag[r] - 2.0 * y_i * y[r] * (row[r] + bias)
            change = alpha * (2.0 * (g_i - g[r]) + alpha * curvature)
            if change < best:
                best = change
                j = r
    return j, best


@njit(cache=True, fastmath=FAST)
def survey(g, w):
    """Return (w'g, number of w > 0)."""
    f = 0.0
    active = 0
    for r in range(g.size):
        f += w[r] * g[r]
        active += w[r] > 0.0
    return f, active


# The two searches below run in two stages, so that the long stage is a plain extremum, which vectorises: first the best
# block, then the best element of that block. Extrema of floats do not vectorise, extrema of integers do; `_key` keeps
# the order. Blocks are slices, since an index that might be negative does not vectorise either.


@njit(cache=True, inline="always")
def _key(x):
    """Map a float to an integer so that the order is kept."""
    bits = np.float64(x).view(np.int64)
    return bits ^ ((bits >> np.int64(63)) & MOST)


@njit(cache=True, fastmath=FAST)
def away_vertex(g, alpha):
    """Return argmax of g over alpha > 0."""
    best, at = LEAST, 0
    for lo in range(0, g.size, BLOCK):
        part, weights = g[lo : lo + BLOCK], alpha[lo : lo + BLOCK]
        top = LEAST
        for r in range(part.size):
            top = max(top, _key(part[r]) if weights[r] > 0.0 else LEAST)
        if top > best:
            best, at = top, lo
    return _first_highest(g, alpha, at)


@njit(cache=True)
def _first_highest(g, w, lo):
    """Return the first argmax of g over w > 0 in the block at `lo`; -1 if it has no such point."""
    j, highest = -1, -HUGE
    for r in range(lo, min(lo + BLOCK, g.size)):
        if w[r] > 0.0 and g[r] > highest:
            j, highest = r, g[r]
    return j


@njit(cache=True, fastmath=FAST)
def move_and_look(g, w, y, ridge, c, row_in, row_out, i, j, s, c_in, c_out, bias):
    """Move g as `move` does, with the ridges of i and j, in one pass with the searches for the next step.

    Returns the first argmin of g, and the first argmax of g over w > 0.
    """
    p_in, p_out = c_in * y[i], c_out * y[j]
    shift = (p_in + p_out) * bias
    low, high, at_low, at_high = MOST, LEAST, 0, 0
    for lo in range(0, g.size, BLOCK):
        part, weights, labels = g[lo : lo + BLOCK], w[lo : lo + BLOCK], y[lo : lo + BLOCK]
        plus, minus = row_in[lo : lo + BLOCK], row_out[lo : lo + BLOCK]
        for r in range(part.size):
            part[r] = s * part[r] + labels[r] * (p_in * plus[r] + p_out * minus[r] + shift)
        if s != 1.0:
            for r in range(lo, min(lo + BLOCK, c.size)):
                g[r] += (1.0 - s) * c[r]
        if lo <= i < lo + BLOCK:
            g[i] += c_in * ridge[i]
        if lo <= j < lo + BLOCK:
            g[j] += c_out * ridge[j]
        bottom, top = MOST, LEAST
        for r in range(part.size):
            key = _key(part[r])
            bottom = min(bottom, key)
            top = max(top, key if weights[r] > 0.0 else LEAST)
        if bottom < low:
            low, at_low = bottom, lo
        if top > high:
            high, at_high = top, lo
    best = at_low
    for r in range(at_low, min(at_low + BLOCK, g.size)):
        best = r if g[r] < g[best] else best
    return best, _first_highest(g, w, at_high)


@njit(cache=True, fastmath=FAST, error_model="numpy")
def second_order_away(g, alpha, y, diag, row, i, y_i, bias, tiny):
    """Return argmax over alpha_j > 0, g_j > g_i of (g_j - g_i)^2 / (A_ii - 2 A_ij + A_jj), or -1; row = k_i."""
    best, at = np.int64(0), 0
    g_i, a_ii, twice = g[i], diag[i], 2.0 * y_i
    for lo in range(0, g.size, BLOCK):
        part, weights, labels = g[lo : lo + BLOCK], alpha[lo : lo + BLOCK], y[lo : lo + BLOCK]
        diags, values = diag[lo : lo + BLOCK], row[lo : lo + BLOCK]
        top = np.int64(0)
        for r in range(part.size):
            slope = part[r] - g_i
            curvature = a_ii + diags[r] - twice * labels[r] * (values[r] + bias)
            gain = slope * slope / (curvature if curvature > tiny else tiny)
            gain = gain if weights[r] > 0.0 and slope > 0.0 else 0.0
            top = max(top, np.float64(gain).view(np.int64))  # bits of floats >= 0 have their order
        if top > best:
            best, at = top, lo
    j = -1
    if best == 0:
        return j
    most = 0.0
    for r in range(at, min(at + BLOCK, g.size)):
        slope = g[r] - g_i
        if alpha[r] > 0.0 and slope > 0.0 and r != i:
            curvature = a_ii + diag[r] - twice * y[r] * (row[r] + bias)
            gain = slope * slope / (curvature if curvature > tiny else tiny)
            if gain > most:
                most = gain
                j = r
    return j


@njit(cache=True, fastmath=FAST)
def secant(w, scale, g, w_0, scale_0, g_0):
    """Return (slope D'g, curvature D'A D, largest feasible step) from alpha along D = alpha - alpha_0; alpha = scale w.

    A slope within its rounding error counts as 0: a step along it would be long and enlarge the error of g.
    """
    slope = 0.0
    size = 0.0
    curvature = 0.0
    mu_max = 1e300
    for r in range(g.size):
        alpha = scale * w[r]
        d = alpha - scale_0 * w_0[r]
        size += alpha * abs(g[r])
        if abs(d) > 4e-16 * alpha:  # a fused product leaves a remainder where two weights are equal
            slope += d * g[r]
            curvature += d * (g[r] - g_0[r])
            if d < 0.0:
                mu_max = min(mu_max, -alpha / d)
    return slope if abs(slope) > 1e-12 * size else 0.0, curvature, mu_max


@njit(cache=True, fastmath=FAST)
def extrapolate(x, x_0, a, b):
    """Set x = a x - b x_0."""
    for r in range(x.size):
        x[r] = a * x[r] - b * x_0[r]


@njit(cache=True)
def drop_below(alpha, tiny):
    """Set every alpha < tiny to exactly 0."""
    for r in range(alpha.size):
        if alpha[r] < tiny:
            alpha[r] = 0.0
