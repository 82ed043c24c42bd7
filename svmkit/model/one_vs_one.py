"""One-versus-one: the class pairs in their order, and the votes that their decisions cast."""

from __future__ import annotations

import numpy as np


def pairs(n_classes: int) -> list[tuple[int, int]]:
    """Class pairs (a, b), a < b, in the order of the decision columns."""
    return [(a, b) for a in range(n_classes) for b in range(a + 1, n_classes)]


def scores(decision: np.ndarray, n_classes: int) -> np.ndarray:
    """Votes per class, with the squashed sum of margins (in (-1/3, 1/3)) to break ties: (n_samples, n_classes)."""
    votes = np.zeros((len(decision), n_classes))
    margins = np.zeros_like(votes)
    for c, (a, b) in enumerate(pairs(n_classes)):
        for_a = decision[:, c] > 0
        votes[:, a] += for_a
        votes[:, b] += ~for_a
        margins[:, a] += decision[:, c]
        margins[:, b] -= decision[:, c]
    return votes + margins / (3.0 * (np.abs(margins) + 1.0))
