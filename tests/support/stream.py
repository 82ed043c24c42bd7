"""What the tests of learning from blocks share."""

import numpy as np


def feed(online, X, y, size, **options):
    for lo in range(0, len(y), size):
        online.update(X[lo : lo + size], y[lo : lo + size], **options)
    return online


def weights(online, m, k=0):
    """alpha of a pair over all m samples."""
    pair = online.pairs[k]
    alpha = np.zeros(m)
    alpha[pair.rows.ids] = pair.solution()[0]
    return alpha
