"""The scalar functions of the built-in kernels: one record for each, with all that svmkit knows about it.

Compiled loops take the number of a form, since numba caches only functions that are called by name. A further form is a
record here and a branch in `svmkit.kernels.loops.arithmetic.evaluate`; code that does not know it raises `UnknownForm`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, NamedTuple

import numpy as np

LINEAR, RBF, POLY, SIGMOID, LAPLACIAN = range(5)  # the numbers by which compiled loops know the forms
NO_FORM = -1
U = 2.0**-53  # unit roundoff of float64
TINY = 2.0**-1074  # what underflow can cost a product
EXP = 5 * U  # relative error of exp(-gamma t) with the rounding of gamma t, where t has none
TANH = 8 * U


class UnknownForm(ValueError):
    """A form of a kernel, or its argument, that the code does not know."""

    def __init__(self, what: object) -> None:
        super().__init__(f"{what!r} is no form of kernel that is known here: see svmkit.kernels.forms")


class Argument(Enum):
    """The argument of the scalar function of a kernel."""

    DOT = "x.z"
    SQUARE = "|x - z|^2"
    L1 = "|x - z|_1"


class Scalars(NamedTuple):
    """The parameters of a kernel as compiled loops take them; 1.0, 0.0 and 3 where its formula has none."""

    form: int  # the number of the form; `NO_FORM` for a kernel without one
    gamma: float
    coef0: float
    degree: int


@dataclass(frozen=True, eq=False)
class Form:
    """The scalar function of a kernel.

    Attributes
    ----------
    number : int
        The number of the form in compiled loops.
    name : str
        Name of the kernel of this form.
    argument : Argument
        The argument of the function.
    onnx : str
        The operator of ONNX that ends the computation of a value.
    apply : callable
        apply(t, scalars) replaces float64 arguments t, an array, by the values of the function, and returns t.
    slope : callable
        slope(t, scalars) is the derivative of the function by its argument, at arguments t, which it may overwrite.
    error : callable
        error(scalars, n, reach, l1) is a bound on the error of a computed value: see `svmkit.kernels.rounding`.
    largest : callable
        largest(scalars, reach) is a bound on the absolute value.
    entry_cost, value_cost : float
        How much longer an entry of a row takes than in a dot product, and additional nanoseconds per value.
    advice : str
        What helps, besides scaling, if values exceed float64.

    Examples
    --------
    >>> from svmkit.kernels import RBF, Form
    >>> RBF.form is Form.RBF
    True
    """

    number: int
    name: str
    argument: Argument
    onnx: str
    apply: Callable[[np.ndarray, Scalars], np.ndarray]
    slope: Callable[[np.ndarray, Scalars], np.ndarray]
    error: Callable[[Scalars, int, float, float | None], float]
    largest: Callable[[Scalars, float], float]
    entry_cost: float = 1.0
    value_cost: float = 0.0
    advice: str = ""

    LINEAR: ClassVar[Form]
    RBF: ClassVar[Form]
    POLY: ClassVar[Form]
    SIGMOID: ClassVar[Form]
    LAPLACIAN: ClassVar[Form]

    @property
    def is_radial(self) -> bool:
        """Whether values depend on x - z alone, so that no shift of the origin changes them."""
        if not isinstance(self.argument, Argument):
            raise UnknownForm(self.argument)
        return self.argument is not Argument.DOT

    def distance(self, d: int, reach: float) -> float:
        """Return a bound on the argument for a vector of d entries with |x|^2 <= reach and the origin; 0.0 for x.z."""
        match self.argument:
            case Argument.DOT:
                return 0.0
            case Argument.SQUARE:
                return reach
            case Argument.L1:
                return float(np.sqrt(d * reach))  # |x|_1 <= sqrt(d) |x|
        raise UnknownForm(self.argument)


def form_of(number: int) -> Form:
    """Return the form with this number."""
    if not 0 <= number < len(FORMS):
        raise UnknownForm(number)
    return FORMS[number]


def difference_error(scalars: Scalars, n: int) -> float:
    """Return the bound of `value_error` for a kernel of x - z whose distances are sums over n differences. A distance t
    is off by at most (n + 3) u t, wherever the data lie, and t exp(-t) <= 1/e.
    """
    off = (n + 3) * U
    return min(1.0, off / (math.e * (1.0 - off)) + scalars.gamma * n * TINY + EXP)


def _same(t: np.ndarray, scalars: Scalars) -> np.ndarray:
    return t


def _exponential(t: np.ndarray, scalars: Scalars) -> np.ndarray:
    t *= -scalars.gamma
    return np.exp(t, out=t)


def _power(t: np.ndarray, scalars: Scalars) -> np.ndarray:
    t *= scalars.gamma
    t += scalars.coef0
    return np.power(t, scalars.degree, out=t)


def _tanh(t: np.ndarray, scalars: Scalars) -> np.ndarray:
    t *= scalars.gamma
    t += scalars.coef0
    return np.tanh(t, out=t)


def _same_slope(t: np.ndarray, scalars: Scalars) -> np.ndarray:
    return np.ones_like(t)


def _exponential_slope(t: np.ndarray, scalars: Scalars) -> np.ndarray:
    return -scalars.gamma * _exponential(t, scalars)


def _power_slope(t: np.ndarray, scalars: Scalars) -> np.ndarray:
    lower = _power(t, scalars._replace(degree=scalars.degree - 1))
    return scalars.degree * scalars.gamma * lower


def _tanh_slope(t: np.ndarray, scalars: Scalars) -> np.ndarray:
    return scalars.gamma * (1.0 - np.square(_tanh(t, scalars)))


def _dot_error(n: int, reach: float) -> float:
    """Return a bound on the error of x.z."""
    return (n + 1) * U * reach + n * TINY


def _base(scalars: Scalars, reach: float) -> float:
    """Return a bound on |gamma x.z + coef0|."""
    return (scalars.gamma * reach + abs(scalars.coef0)) * (1.0 + 4 * U) + TINY


def _base_error(scalars: Scalars, n: int, reach: float) -> float:
    """Return a bound on the error of gamma x.z + coef0."""
    return scalars.gamma * _dot_error(n, reach) + 2 * U * _base(scalars, reach)


def _linear_error(scalars: Scalars, n: int, reach: float, l1: float | None) -> float:
    return _dot_error(n, reach)


def _sigmoid_error(scalars: Scalars, n: int, reach: float, l1: float | None) -> float:
    return min(2.0, _base_error(scalars, n, reach) + TANH)


def _rbf_error(scalars: Scalars, n: int, reach: float, l1: float | None) -> float:
    # the errors of 2 x.z and of two norms, two roundings of their sum, four of x less an origin
    return min(1.0, scalars.gamma * (2 * (2 * n + 8) * U * reach + 4 * n * TINY) + EXP)


def _laplacian_error(scalars: Scalars, n: int, reach: float, l1: float | None) -> float:
    if l1 is None:
        return difference_error(scalars, n)
    return min(1.0, scalars.gamma * (4 * (2 * n + 4) * U * l1 + n * TINY) + EXP)


def _poly_error(scalars: Scalars, n: int, reach: float, l1: float | None) -> float:
    shift, degree = _base_error(scalars, n, reach), scalars.degree
    with np.errstate(all="ignore"):
        high = np.float64(_base(scalars, reach) + shift)
        error = degree * high ** (degree - 1) * shift + degree * (U * high**degree + TINY)
    return math.inf if np.isnan(error) else float(error)


def _one(scalars: Scalars, reach: float) -> float:
    return 1.0


def _largest_poly(scalars: Scalars, reach: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.float64(_base(scalars, reach)) ** scalars.degree * (1.0 + 4 * U) + TINY)


Form.LINEAR = Form(
    LINEAR, "linear", Argument.DOT, "Identity", _same, _same_slope, _linear_error, lambda scalars, reach: reach
)
Form.RBF = Form(RBF, "rbf", Argument.SQUARE, "Exp", _exponential, _exponential_slope, _rbf_error, _one)
_advice = ", or take a lower degree"
Form.POLY = Form(POLY, "poly", Argument.DOT, "Pow", _power, _power_slope, _poly_error, _largest_poly, advice=_advice)
Form.SIGMOID = Form(SIGMOID, "sigmoid", Argument.DOT, "Tanh", _tanh, _tanh_slope, _sigmoid_error, _one, value_cost=10.0)
Form.LAPLACIAN = Form(
    LAPLACIAN, "laplacian", Argument.L1, "Exp", _exponential, _exponential_slope, _laplacian_error, _one, entry_cost=4.0
)
FORMS = (Form.LINEAR, Form.RBF, Form.POLY, Form.SIGMOID, Form.LAPLACIAN)
"""All forms, each at its number."""
