"""The numbers of a model in source code, and bounds on the rounding errors of its decisions."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from svmkit.errors import InputError
from svmkit.kernels.forms import Argument, Form
from svmkit.model.machines import ClassPairs
from svmkit.model.model import SVMModel

ROUNDOFF = {"float32": 2.0**-24, "float64": 2.0**-53}
LIBRARY = 4  # units of roundoff by which exp and tanh may be off: libraries state 1 or 2
MARGIN = 1.01  # covers products of roundings, of which there are less than 1 / (200 u)
SPREAD = {"standard": 4.0}  # range of rows after scaling, if the vectors do not reach farther; else 1


class Numbers(NamedTuple):
    """The arrays of the code, float64: decisions are for rows (x - center) / scale; `reach` (width,) bounds the
    absolute values of rows after scaling for which the bound holds, `low` and `high` (n_features,) the columns of X.
    """

    vectors: np.ndarray  # (n_sv, width); the weights of the decisions for the linear kernel
    coef: np.ndarray | None  # as `SVMModel.coef`; None for the linear kernel
    intercept: np.ndarray
    center: np.ndarray | None
    scale: np.ndarray | None
    reach: np.ndarray
    fill: np.ndarray  # (width,), the sizes of the values that fill holes, after scaling
    low: np.ndarray
    high: np.ndarray


def collect_numbers(model: SVMModel) -> Numbers:
    """Return the arrays of a model with a form of kernel; the scaling of a linear model moves into its weights."""
    scaling, width, imputing = model.scaling, model.width, model.imputing
    floor = SPREAD.get(scaling.kind, 1.0) if scaling else 0.0
    center, scale = (scaling.center, scaling.scale) if scaling else (None, None)
    least, fill = np.zeros(width), np.zeros(width)
    if imputing:  # imputed values are within the bound, and so are marks of holes
        fill[: model.n_features] = np.abs(imputing.statistics)
        least[: model.n_features] = imputing.statistics
        marks = np.where(np.arange(width) < model.n_features, 0.0, 1.0)
        shift, by = (scaling.center, scaling.scale) if scaling else (np.zeros(width), np.ones(width))
        least = np.maximum(np.abs((least - shift) / by), np.abs((marks - shift) / by))
        fill = fill / by
    if model.kernel.form is Form.LINEAR:
        weights, intercept = model.weights, model.intercept
        reach = np.maximum(least, floor or 1.0)
        low, high = _limits(model, reach)
        if scaling:
            weights = weights / scaling.scale
            intercept = intercept - weights @ scaling.center
            reach = np.abs(scaling.center) + reach * scaling.scale
            fill = fill * scaling.scale
        return Numbers(weights, None, intercept, None, None, reach, fill, low, high)
    dense = model.vectors.toarray() if sp.issparse(model.vectors) else np.asarray(model.vectors)
    Z = dense.astype(np.float64)
    reach = np.maximum(np.maximum(np.abs(Z).max(axis=0, initial=0.0), floor), least)
    return Numbers(Z, model.coef, model.intercept, center, scale, reach, fill, *_limits(model, reach))


def _limits(model: SVMModel, reach: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest values of the columns of X whose absolute values are `reach` after scaling."""
    low, high = -reach, reach
    if model.scaling:
        low, high = model.scaling.center + low * model.scaling.scale, model.scaling.center + high * model.scaling.scale
    return low[: model.n_features], high[: model.n_features]


def decision_error(model: SVMModel, numbers: Numbers, dtype: str) -> np.ndarray:
    """Return a bound on |computed - exact| of each decision (n_decisions,), for rows whose columns do not exceed
    `reach` after scaling. Stored numbers are rounded once; sums of n terms are off by at most n u times the sum of
    their absolute values (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1), and kernel values of
    perturbed arguments differ by the kernel's Lipschitz constant.

    Raises
    ------
    InputError
        A number of the code, or of its arithmetic, may exceed the type.
    """
    u, least = ROUNDOFF[dtype], float(np.finfo(dtype).tiny)
    Z, width = np.abs(numbers.vectors), numbers.reach.size
    moved = u * numbers.fill  # error of a column after scaling
    if numbers.center is not None and numbers.scale is not None:
        moved = (
            moved
            + u * (np.abs(numbers.center) / numbers.scale + 4 * numbers.reach)
            + least * (1.0 + 1.0 / numbers.scale)
        )
    row = numbers.reach + moved
    with np.errstate(all="ignore"):
        if numbers.coef is None:
            sizes = np.abs(numbers.intercept) + Z @ row
            error = Z @ moved + (width + 4) * u * sizes + least * (width + row.sum() + 1.0)
            largest = float(sizes.max())
        else:
            value, most, largest = _value_error(model, Z, row, moved, u, least)
            coef = np.abs(model.machine.coefficients)
            sizes = np.abs(numbers.intercept) + coef.T @ (most + value)
            n = len(Z)
            error = coef.T @ value + (n + 4) * u * sizes + least * (n + 1.0 + (most + value).sum())
            largest = max(largest, float(sizes.max()))
    stored = [each for each in numbers if each is not None and each.size]
    highest = max(largest, *(float(np.abs(each).max()) for each in stored))
    small = (numbers.scale is not None and numbers.scale.min() < least) or model.kernel.scalars.gamma < least
    if not highest < float(np.finfo(dtype).max) / 4 or small or not np.isfinite(error).all():
        better = "export it with --dtype float64" if dtype == "float32" else "scale the columns and train anew"
        raise InputError(f"the model's numbers go beyond {dtype}: {better}")
    if (width + len(Z)) * u > 0.005:
        raise InputError(f"{width + len(Z):,} vectors and columns are too many for {dtype}: use --dtype float64")
    return np.asarray(MARGIN * error)


def _value_error(
    model: SVMModel, Z: np.ndarray, row: np.ndarray, moved: np.ndarray, u: float, least: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return bounds on the errors and the sizes of the kernel values of all vectors (n_sv,), and the largest
    intermediate number.

    Parameters
    ----------
    model : SVMModel
    Z, row : ndarray of shape (n_sv, width) and (width,), absolute values of the vectors and of rows
    moved : ndarray of shape (width,), the errors of rows
    u, least : float, the roundoff and the smallest normal number of the type
    """
    form, (_, gamma, coef0, degree) = model.kernel.form, model.kernel.scalars
    assert form is not None
    n, one, under = Z.shape[1], np.ones(len(Z)), gamma * (Z.shape[1] + 2) * least
    if form.argument is Argument.DOT:
        dot = Z @ row
        base = gamma * dot + abs(coef0)
        off = gamma * ((u * Z + least) @ row + Z @ moved) + (n + 4) * u * base + under + least
        if form is Form.SIGMOID:
            return np.minimum(2.0, off + LIBRARY * u), one, float(base.max())
        high = base + off
        error = degree * high ** (degree - 1) * off + degree * (u * high**degree + least)
        return error, high**degree, float(max(high.max(), (high**degree).max()))
    far, shift = Z + row, moved + u * Z + least
    if form.argument is Argument.SQUARE:  # |grad exp(-gamma |d|^2)| <= sqrt(2 gamma / e)
        lipschitz = math.sqrt(2 * gamma / math.e) * np.sqrt(np.square(shift).sum(axis=1))
        largest = np.square(far).sum(axis=1)
    else:
        lipschitz, largest = gamma * shift.sum(axis=1), far.sum(axis=1)
    relative = (n + 4) * u * MARGIN  # t exp(-t) <= 1/e
    value = lipschitz + relative / (math.e * (1.0 - relative)) + LIBRARY * u + under + least
    return np.minimum(1.0, value), one, float(max(largest.max(), gamma * largest.max()))


def is_pairwise(model: SVMModel) -> bool:
    """Whether the decisions are those of pairs of more than two classes."""
    return isinstance(model.machine, ClassPairs)
