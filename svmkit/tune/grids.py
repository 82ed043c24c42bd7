"""Grids as text, `--grid NAME=VALUES`: lists, steps even in log, linear steps, LIBSVM's powers, ranges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from svmkit.errors import InputError
from svmkit.tasks import task_named

MOST = 100_000  # limit on values and candidates: a larger grid is taken for a typing error
SPELLINGS = "0.1:1000:log5, 0:1:lin5, 2^-5:2^15:2, or a list as in 1,10,100"


@dataclass(frozen=True)
class Span:
    """The range from `low` to `high`, from which a random search draws evenly in log.

    Attributes
    ----------
    low, high : float
        0 < low < high < inf.

    Raises
    ------
    InputError
        The two numbers are not finite, positive and ascending.

    Examples
    --------
    >>> from svmkit.tune import Span
    >>> Span(0.1, 10.0)
    Span(low=0.1, high=10.0)
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not (0 < self.low < self.high and math.isfinite(self.high)):
            raise InputError(f"a range has to go from a number > 0 to a larger one, not from {self.low} to {self.high}")


Values = Sequence[Any] | Span

C_POWERS, GAMMA_POWERS = "2^-5:2^15:2", "2^-15:2^3:2"  # the grid of LIBSVM's grid.py
C_RANGE, GAMMA_RANGE = "2^-5:2^15", "2^-15:2^3"
C_POWERS_OF_PAIRS, C_RANGE_OF_PAIRS = "2^-19:2^1:2", "2^-19:2^1"
NU_POWERS, NU_RANGE = "2^-7:2^-1:1", "2^-7:2^-1"


def defaults(kernel_options: dict[str, Any], fixed: set[str], drawn: bool, task: str | None = None) -> list[str]:
    """Return the default grids: LIBSVM's over C, and over gamma if the kernel has a gamma that is not fixed.

    Parameters
    ----------
    kernel_options, fixed : dict of str to object, set of str
        Parameters of the kernel, and the names with fixed values.
    drawn : bool
        Ranges to draw from instead of steps.
    task : {"classify", "regress", "outliers", "rank"}, default=None
        The task. For outliers, nu is searched instead of C; for rankings, smaller C, since C multiplies all pairs.
    """
    if task_named(task).has_groups:
        texts = [f"C={C_RANGE_OF_PAIRS if drawn else C_POWERS_OF_PAIRS}"]
    elif task_named(task).is_supervised:
        texts = [f"C={C_RANGE if drawn else C_POWERS}"]
    else:
        texts = [f"nu={NU_RANGE if drawn else NU_POWERS}"]
    if "gamma" in kernel_options and "gamma" not in fixed:
        texts.append(f"gamma={GAMMA_RANGE if drawn else GAMMA_POWERS}")
    return texts


def parse(texts: Sequence[str]) -> dict[str, Values]:
    """Parse texts NAME=VALUES into values by name; raise InputError if one cannot be read or a name is given twice."""
    found: dict[str, Values] = {}
    for text in texts:
        name, equals, spelt = (part.strip() for part in text.partition("="))
        if not name or not equals or not spelt:
            raise InputError(f"--grid {text!r} is not NAME=VALUES; VALUES are {SPELLINGS}")
        if name in found:
            raise InputError(f"--grid {name} is given twice: give its values in one list")
        found[name] = _values(f"--grid {text}", spelt)
    return found


def _values(what: str, spelt: str) -> Values:
    parts = [part.strip() for part in spelt.split(":")]
    if len(parts) == 1:
        items = [item.strip() for item in spelt.split(",")]
        if not all(items):
            raise InputError(f"{what}: a value is missing between commas")
        return [_number(what, item) if "^" in item else item for item in items]  # items other than 2^-5 stay text
    if len(parts) > 3 or not all(parts):
        raise InputError(f"{what}: cannot be read; values are {SPELLINGS}")
    if len(parts) == 2:
        low, high = (_number(what, part) for part in parts)
        try:
            return Span(low, high)
        except InputError as error:
            raise InputError(f"{what}: {error}") from None
    if parts[2][:3] in ("log", "lin"):
        return _even(what, *parts)
    return _powers(what, *parts)


def _even(what: str, first: str, last: str, count: str) -> list[float]:
    """Return N values from first to last, both included; `count` is logN (evenly spaced in log) or linN."""
    low, high = _number(what, first), _number(what, last)
    if not count[3:].isdecimal() or not 2 <= int(count[3:]) <= MOST:
        raise InputError(f"{what}: {count!r} should be {count[:3]}N with N from 2 to {MOST:,}")
    n = int(count[3:])
    if low == high:
        raise InputError(f"{what}: {first} to {last} is one value: write {first} alone")
    if count.startswith("lin"):
        return _round(np.linspace(low, high, n))
    if not (low > 0 and high > 0):
        raise InputError(f"{what}: steps in log need ends > 0; write lin{n} for even steps")
    return _round(np.geomspace(low, high, n))


def _powers(what: str, first: str, last: str, step: str) -> list[float]:
    """Return the values of LIBSVM's base^first:base^last:step, where the step is in the exponents."""
    if "^" not in first or "^" not in last:
        raise InputError(
            f"{what}: a step of {step} is one in exponents: write 2^-5:2^15:2, or log5 or lin5 for 5 values"
        )
    (base, low), (other, high) = (_base_and_exponent(what, end) for end in (first, last))
    by = _number(what, step)
    if base != other:
        raise InputError(f"{what}: both ends need the same base, not {base:g} and {other:g}")
    if by == 0:
        raise InputError(f"{what}: the step must not be 0")
    if (high - low) * by < 0:
        raise InputError(f"{what}: a step of {step} does not lead from {first} to {last}: change its sign")
    n = math.floor((high - low) / by + 1e-9) + 1
    if n > MOST:
        raise InputError(f"{what}: {n:,} values are more than {MOST:,}: give a larger step")
    return [_pow(what, base, low + k * by) for k in range(n)]


def _base_and_exponent(what: str, text: str) -> tuple[float, float]:
    base, _, exponent = text.partition("^")
    found = _number(what, base), _number(what, exponent)
    if not found[0] > 0 or found[0] == 1:
        raise InputError(f"{what}: the base of {text} has to be > 0 and not 1")
    return found


def _pow(what: str, base: float, exponent: float) -> float:
    try:
        value = base**exponent
    except OverflowError:
        value = math.inf
    if not 0 < value < math.inf:
        raise InputError(f"{what}: {base:g}^{exponent:g} is out of the range of numbers")
    return value


def _number(what: str, text: str) -> float:
    if "^" in text:
        return _pow(what, *_base_and_exponent(what, text))
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{what}: {text!r} is not a number; values are {SPELLINGS}")
    return value


def _round(values: np.ndarray) -> list[float]:
    """Round the values to 12 digits, so that 10 is not 9.999999999999998."""
    return [float(f"{value:.12g}") for value in values]
