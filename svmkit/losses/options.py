"""Checks of the options of losses."""

from __future__ import annotations

import math
from typing import Any

from svmkit.errors import InputError


def require_positive(loss: Any, option: str) -> None:
    """Raise InputError unless the option of the loss is a finite number > 0."""
    _require(loss, option, 0.0 < _number(loss, option) < math.inf, "a finite number > 0")


def require_at_least_zero(loss: Any, option: str) -> None:
    """Raise InputError unless the option of the loss is a finite number >= 0."""
    words = "a finite number >= 0, in units of the targets"
    _require(loss, option, 0.0 <= _number(loss, option) < math.inf, words)


def require_between_zero_and_one(loss: Any, option: str) -> None:
    """Raise InputError unless the option of the loss is a number between 0 and 1."""
    _require(loss, option, 0.0 < _number(loss, option) < 1.0, f"a number with 0 < {option} < 1")


def _number(loss: Any, option: str) -> float:
    """Return the option as a float; nan, of which nothing holds, for what is no number."""
    value = getattr(loss, option)
    try:
        return math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return math.nan


def _require(loss: Any, option: str, holds: bool, words: str) -> None:
    if not holds:
        value = getattr(loss, option)
        shown = f"{value:g}" if isinstance(value, float) else repr(value)
        raise InputError(f"{option} must be {words}, not {shown}")
    object.__setattr__(loss, option, _number(loss, option))
