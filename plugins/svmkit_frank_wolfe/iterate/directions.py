"""The directions on the simplex among which the variants choose, towards the oracle's vertex i and away from j."""

from __future__ import annotations

from svmkit_frank_wolfe.iterate.line_search import Direction
from svmkit_frank_wolfe.iterate.state import SimplexState


def toward(state: SimplexState) -> Direction:
    """Return D = e_i - alpha, the Frank-Wolfe direction to the toward vertex i."""
    g_i, f = state.g[state.i], state.f
    curvature = state.tracked.diag[state.i] - 2.0 * state.image(state.i) + state.f - state.c_alpha
    return Direction(g_i - f, curvature, 1.0, -1.0, 1.0, 0.0)


def away(state: SimplexState, j: int) -> Direction:
    """Return D = alpha - e_j, away from the active vertex j; its step is 0 when j is the only active vertex."""
    g_j, f, weight = state.g[j], state.f, state.weight(j)
    lam_max = weight / (1.0 - weight) if weight < 1.0 else 0.0
    curvature = state.tracked.diag[j] - 2.0 * state.image(j) + f - state.c_alpha
    return Direction(f - g_j, curvature, lam_max, 1.0, 0.0, -1.0, j)


def toward_or_away(state: SimplexState) -> Direction:
    """Return the steeper of the two directions: toward i when f - g_i >= g_j - f, else away from j."""
    t, a = toward(state), away(state, state.j)
    return t if t.slope <= a.slope else a


def pairwise(state: SimplexState, j: int) -> Direction:
    """Return D = e_i - e_j, which moves weight from the active vertex j to the toward vertex i."""
    diag = state.tracked.diag
    curvature = diag[state.i] - 2.0 * state.entry(j) + diag[j]
    return Direction(state.g[state.i] - state.g[j], curvature, state.weight(j), 0.0, 1.0, -1.0, j)
