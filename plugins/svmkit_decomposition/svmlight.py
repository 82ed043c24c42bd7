"""Decomposition with working sets of q points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmkit.errors import InputError
from svmkit.losses.base import Loss
from svmkit_decomposition.decomposition import Decomposition
from svmkit_decomposition.decomposition_state import BoxState
from svmkit_decomposition.sets import solve_sets


@dataclass(frozen=True)
class SVMLight(Decomposition):
    """Decomposition with working sets of q points (Joachims 1999), SVMlight's method.

    A working set has q/2 points on each side of the steepest feasible direction (section 3.2). SMO solves for them
    while the other points are fixed. An iteration is a working set.

    Parameters
    ----------
    q : int, default=10
        Size of a working set, even; it is reduced to half the number of kernel rows that the cache holds.
    loss : str or Loss, default="hinge"
        Any piecewise linear-quadratic loss.
    shrinking : bool, default=True
        Whether points are left out while their weights stay at a bound.

    Raises
    ------
    InputError
        If `q` is not an even integer >= 2.
    """

    name = "svmlight"
    paper = "Joachims 1999"

    q: int = 10
    loss: str | Loss = "hinge"
    shrinking: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.q, int) or self.q < 2 or self.q % 2:
            raise InputError(f"q must be an even number >= 2, the size of a working set, not {self.q!r}")

    def advance(self, state: BoxState, most: int, target: float) -> tuple[int, float, bool]:
        """Solve for up to `most` working sets; missing kernel rows are fetched and end the call.

        Parameters
        ----------
        state, most, target : BoxState, int, float
            As for `Decomposition.advance`.
        """
        rows = state.source.row_table
        chosen = np.empty(max(2, min(self.q, len(rows.slab) // 4 * 2)), dtype=np.int64)
        done, change, missing = solve_sets(state.box, rows, state.pairs, chosen, most, target, state.kinks)
        state.source.bring(chosen[:missing])
        return done, change, missing == 0
