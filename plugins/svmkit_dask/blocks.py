"""Parallel block minimisation: each part solves for rows of its own, while all other rows stay as they are.

The driver then finds the best step along the sum of all changes (Hsieh, Si, Dhillon 2016, arXiv 1608.02010).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from svmkit_corrective.working_set.growth import violations
from svmkit_corrective.working_set.square import Square

from svmkit.kernels.engines import engine_for
from svmkit.kernels.gram import Gram
from svmkit.solver.smo import box as smo_box
from svmkit.solver.smo.box import Box
from svmkit_dask.rows import Rows

BETWEEN = 256  # SMO steps between two evaluations of the gap of the block
MOST_STEPS = 20  # times the rows of the block that its steps may number


class Block(NamedTuple):
    """What a part has found for its own rows.

    Attributes
    ----------
    positions : ndarray of int64, shape (k,)
        The rows whose weights change, ascending.
    values : ndarray of float64, shape (k,)
        The changes.
    steps : int
        The SMO steps that this took.
    """

    positions: np.ndarray
    values: np.ndarray
    steps: int


def block(rows: Rows, own, level: float, most: int, memory: int, inner: float) -> Block:
    """Solve for rows of this part alone: those that violate their condition most, and those between their bounds.

    Parameters
    ----------
    rows : Rows
        The rows.
    own : Own
        Without meaning here.
    level : float
        Estimate of v at the points between their bounds.
    most : int
        Largest number of rows of the block.
    memory : int
        Bytes for the matrix of the block.
    inner : float
        Gap of the block at which it is solved, as a fraction of the gap that it had at first.

    Returns
    -------
    Block
    """
    at = _chosen(rows, level, most)
    if not len(at):
        return Block(at, np.empty(0), 0)
    square = _square(rows, at, memory)
    at = at[: len(square.idx)]
    box = Box(*(values[at] for values in rows.box))
    before = box.beta.copy()
    i, k = smo_box.extremes(box.v, box.side)
    steps, table = 0, square.rows
    if min(i, k) < 0:
        return Block(at[:0], before[:0], 0)
    goal = inner * _gap(rows, box, i, k)
    while steps < MOST_STEPS * len(at):
        done, i, k, _, _ = square.steps(box, table, i, k, True, BETWEEN, 0.0, None)
        steps += done
        if done < BETWEEN or _gap(rows, box, i, k) <= goal:
            break
    moved = np.flatnonzero(box.beta != before)
    order = np.argsort(at[moved])
    return Block(at[moved][order], (box.beta - before)[moved][order], steps)


def _chosen(rows: Rows, level: float, most: int) -> np.ndarray:
    """Return the rows of the block, those first that violate their condition most."""
    box = rows.box
    depths = violations(box, level)
    free = box.side == smo_box.UP | smo_box.LOW
    wanted = np.flatnonzero((depths > 0.0) | free)
    return wanted[np.argsort(-depths[wanted], kind="stable")][:most]


def _square(rows: Rows, at: np.ndarray, memory: int) -> Square:
    """Return the matrix of as many of these rows as there is room for."""
    space = rows.features.space
    X = rows.features.take(rows.at[at])
    gram = Gram(space.kernel, X, memory=memory, dtype=rows.spec.dtype, engine=engine_for(space.kernel, X, space.extent))
    square = Square(gram)
    square.append(np.arange(min(len(at), square.most)))
    rows.kernel_values += gram.kernel_values
    return square


def _gap(rows: Rows, box: Box, i: int, k: int) -> float:
    """Return the gap of the block at the middle of its maximal violating pair."""
    return float(smo_box.gap(box, rows.squared, -0.5 * float(box.v[i] + box.v[k]))) if min(i, k) >= 0 else 0.0
