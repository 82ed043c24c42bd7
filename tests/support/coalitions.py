"""Shapley values by their definition."""

import itertools
import math

import numpy as np


def enumerate_coalitions(h, x, Z, owner):
    """The interventional Shapley values by their definition: all coalitions, for every row of the background."""
    n = int(owner.max()) + 1
    values = np.zeros((n, h(x[None]).shape[1]))
    coalitions = np.array(list(itertools.product([False, True], repeat=n)))
    for z in Z:
        worth = h(np.where(coalitions[:, owner], x, z))
        place = {tuple(row): k for k, row in enumerate(coalitions.tolist())}
        for k, row in enumerate(coalitions.tolist()):
            size = sum(row)
            for j in range(n):
                if not row[j]:
                    joined = place[tuple([*row[:j], True, *row[j + 1 :]])]
                    share = math.factorial(size) * math.factorial(n - size - 1) / math.factorial(n)
                    values[j] += share * (worth[joined] - worth[k]) / len(Z)
    return values
