"""Decomposition with working sets of q points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmkit.errors import InputError
from svmkit_decomposition.decomposition import Decomposition
from svmkit_decomposition.sets import sets
from svmkit_decomposition.state import BoxState


@dataclass(frozen=True)
class SVMLight(Decomposition):
    """Decomposition with working sets of q points (Joachims 1999), SVMlight's method.

    A working set are q/2 points on each side of the steepest feasible direction (section 3.2); the others are fixed
    while SMO solves for these. An iteration is a working set.

    q : their size, even, at most half the rows that fit the cache; loss : hinge or squared_hinge; shrinking : leave
    points out whose weights stay at a bound
    """

    name = "svmlight"
    paper = "Joachims 1999"

    q: int = 10
    loss: str = "hinge"
    shrinking: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.q, int) or self.q < 2 or self.q % 2:
            raise InputError(f"q must be an even number >= 2, the size of a working set, not {self.q!r}")

    def advance(self, state: BoxState, most: int, target: float) -> tuple[int, float, bool]:
        rows = state.source.row_table
        chosen = np.empty(max(2, min(self.q, len(rows.slab) // 4 * 2)), dtype=np.int64)
        done, state.i, state.k, change, missing = sets(state.box, rows, state.i, state.k, chosen, most, target)
        state.source.bring(chosen[:missing])
        return done, change, missing == 0
