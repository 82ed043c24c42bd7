"""The compiled loop of `dcd`: passes over the points that take part, each in its own order, with shrinking."""

from __future__ import annotations

import numpy as np

from svmkit.problems.risks.coordinate_descent import coordinate_pass
from svmkit.runtime.compiling import njit


@njit(cache=True)
def passes(X, bias, points, order, n, beta, v, thresholds, shrinking, seed, room, most, below=None):
    """Make one pass over order[:n], and further passes within `room` points and `most` passes in total.

    Parameters
    ----------
    X, bias, points, order, n, beta, v, below
        As for `coordinate_pass`.
    thresholds, shrinking : ndarray of shape (2,), bool
        high and low of `coordinate_pass`. With `shrinking` they are replaced by the largest and the smallest projected
        gradient of each pass for the next pass (Hsieh et al. 2008, section 3.2).
    seed : uint64
        Seed of a fresh order for each pass, 0 to keep `order`.
    room, most : int
        Largest number of points visited and of passes; one pass is always made.

    Returns
    -------
    done : Pass
        The last pass.
    count, looks, gain, born : int, int, float, int
        Over all passes: their number, the points visited, the decrease of the objective, and the change of the number
        of non-zero weights.
    """
    count, looks, gain, born = 0, 0, 0.0, 0
    while True:
        if seed:
            seed = shuffle(order, n, seed)
        done = coordinate_pass(X, bias, points, order, n, beta, v, thresholds[0], thresholds[1], 1.0, below)
        count, looks, gain, born = count + 1, looks + n, gain + done.gain, born + done.born
        n = done.n
        if shrinking:
            thresholds[0] = done.top if done.top > 0.0 else np.inf
            thresholds[1] = done.low if done.low < 0.0 else -np.inf
        if n == 0 or looks + n > room or count >= most:
            return done, count, looks, gain, born


@njit(cache=True)
def shuffle(order, n, seed):
    """Put order[:n] into a random order (Fisher and Yates, numbers from splitmix64); return the next seed."""
    for k in range(n - 1, 0, -1):
        seed += np.uint64(0x9E3779B97F4A7C15)
        z = (seed ^ (seed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        j = (((z ^ (z >> np.uint64(31))) >> np.uint64(32)) * np.uint64(k + 1)) >> np.uint64(32)
        order[np.uint64(k)], order[j] = order[j], order[np.uint64(k)]
    return seed
