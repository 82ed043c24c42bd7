"""The start of rounds on all points of a SimplexQP: the solution for a low-rank kernel matrix from landmarks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from svmkit.kernels.extent import fits_float32_rows
from svmkit.problems.one_class import pick_evenly
from svmkit.problems.simplex import SimplexQP, level_of
from svmkit_corrective.descent import move, propose

ALL, LEAST, SHARE, LARGEST = 600, 200, 10, 400  # up to ALL points, all are landmarks; else m / SHARE, within limits
CHECKED = 32  # further points that show the error of the landmarks
JITTER = 1e-4  # of the largest k(x, x), added to the landmarks' own matrix, whose values are float32
ROUNDS, COARSE = 30, 1e-4  # most steps, and the relative gap beyond which float32 values suffice
PART = 1 / 8  # relative to the requested gap: the gap of the solution for the landmarks' matrix

Image = Callable[[np.ndarray], np.ndarray]


class Start(NamedTuple):
    """A point of the simplex, and the expected relative gap there."""

    point: np.ndarray
    gap: float


class _Matrix(NamedTuple):
    """A matrix given by its product with weights (m,), and the part of the kernel matrix's diagonal that it lacks."""

    image: Image
    missing: float


def find_start(problem: SimplexQP, goal: float) -> Start:
    """Return the solution of a problem with a ridge on each point, with its kernel matrix approximated by landmarks.

    The matrix is K_mn K_nn^-1 K_nm for n landmarks (Williams, Seeger 2001), and the mean of its error on the diagonal
    joins the ridge. The remaining error is mostly small compared with the ridge.

    Parameters
    ----------
    problem : SimplexQP
        The problem, whose ridge is above 0 everywhere.
    goal : float
        The requested relative gap; 0.0 if it is not known.
    """
    m, ridge = problem.m, problem.ridge
    c = np.zeros(m) if problem.linear_term is None else problem.linear_term
    if m <= ALL:
        return _descend(_take_signs(problem, problem.gram.keep().__matmul__), ridge, c, PART * goal)
    n = min(max(LEAST, m // SHARE), LARGEST)
    at = pick_evenly(m, n)
    others = np.delete(np.arange(m), at)
    checked = others[pick_evenly(len(others), min(CHECKED, len(others)))]
    matrix = _low_rank(problem, at, checked)
    if matrix is None:  # the kernel is not positive semidefinite
        return Start(weights_at(c, ridge), math.inf)
    full = ridge + matrix.missing
    image = _take_signs(problem, matrix.image)
    point, gap = _descend(image, full, c, max(PART * goal, COARSE))
    h = image(point) + c + matrix.missing * point
    return Start(point, gap + _missed_gap(problem, point, h, checked))


def weights_at(h: np.ndarray, ridge: np.ndarray) -> np.ndarray:
    """Return the weights (m,) of the simplex that minimise sum 2 h_i a_i + ridge_i a_i^2."""
    weights = np.maximum(level_of(h, ridge) - h, 0.0) / ridge
    return weights / weights.sum()


def _take_signs(problem: SimplexQP, image: Image) -> Image:
    """Return the products with A without its ridge, given the products with the kernel matrix."""
    y, bias = problem.y, problem.bias
    if not bias and (y == 1.0).all():
        return image

    def multiply(weights: np.ndarray) -> np.ndarray:
        weights = y * weights
        return y * (image(weights) + bias * weights.sum())

    return multiply


def _low_rank(problem: SimplexQP, at: np.ndarray, checked: np.ndarray) -> _Matrix | None:
    """Return the matrix of the landmarks `at`, or None if their own is not positive definite."""
    from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs

    gram, n = problem.gram, len(at)
    dtype = np.float32 if fits_float32_rows(gram.engine.largest) else np.float64
    values = gram.block(at, np.arange(gram.m), np.empty((n, gram.m), dtype))
    own = values[:, at].astype(np.float64)
    own.flat[:: n + 1] += JITTER * float(np.abs(gram.diag).max())
    factor, failed = dpotrf(own, lower=1, overwrite_a=1)
    if failed:
        return None

    def image(weights: np.ndarray) -> np.ndarray:
        inside = dpotrs(factor, values @ weights.astype(dtype), lower=1)[0]
        return (inside.astype(dtype) @ values).astype(np.float64)

    part = values[:, checked].astype(np.float64)
    half = dtrtrs(factor, part, lower=1)[0]
    known = np.einsum("ij,ij->j", half, half)
    return _Matrix(image, max(float((gram.diag[checked] - known).mean()), 0.0))


def _descend(image: Image, ridge: np.ndarray, c: np.ndarray, goal: float) -> Start:
    """Return the weights (m,) reached by proximal steps, and a bound on their relative gap, which should be `goal`.

    Parameters
    ----------
    image, ridge, c : Image, ndarray, ndarray
        Products with A without the ridge, the ridge, and the linear term, of min a'A a + 2 c'a.
    goal : float
        As above.
    """
    alpha, change = weights_at(c, ridge), np.empty(len(c))
    h = image(alpha) + c
    gap = math.inf
    for _ in range(ROUNDS):
        slope, product = propose(alpha, h, ridge, change)  # the gap is between -slope and -2 slope
        gap = -2.0 * slope / abs(product)
        if gap > goal:
            move(alpha, h, ridge, change, image(change), slope)
            continue
        leaves = (alpha > 0.0) & (alpha + change <= 0.0)
        if not leaves.any():
            break
        alpha[leaves] = 0.0  # partial steps leave weights that should be 0
        alpha /= alpha.sum()
        h = image(alpha) + c
    return Start(alpha, gap)


def _missed_gap(problem: SimplexQP, alpha: np.ndarray, known: np.ndarray, checked: np.ndarray) -> float:
    """Return the expected relative gap of the `known` h (m,), from its errors at the checked points."""
    ridge = problem.ridge
    exact = problem.gradient(alpha, checked) - ridge[checked] * alpha[checked]
    inside = alpha > 0.0
    error = float(np.var(exact - known[checked])) * float((1.0 / ridge[inside]).sum())
    return 2.0 * error / abs(float(alpha @ (known + ridge * alpha)))
