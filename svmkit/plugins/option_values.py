"""Values of plugins' options: text or values of a file as the type of the option's default."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from svmkit.errors import InputError

_SHOULD_BE = {bool: "true or false", int: "a whole number", float: "a number"}


def convert(what: str, text: str, kind: type) -> Any:
    """Return an option's text as a value of the type of its default; raise InputError, about `what`, for other text."""
    if kind is bool:
        if text.lower() in ("true", "yes", "1", "on", "false", "no", "0", "off"):
            return text.lower() in ("true", "yes", "1", "on")
        raise InputError(f"{what}={text!r} should be {_SHOULD_BE[bool]}")
    if kind not in (int, float):
        return text
    try:
        return kind(text)
    except ValueError:
        raise InputError(f"{what}={text!r} should be {_SHOULD_BE[kind]}") from None


def convert_value(what: str, value: Any, kind: type) -> Any:
    """Return a value that is no text, without numpy's types; raise InputError if the default's type is another one."""
    truth = type(value).__name__ in ("bool", "bool_")  # bool_ is numpy's before its version 2
    fits = {bool: truth, int: isinstance(value, Integral), float: isinstance(value, Real)}
    if not fits.get(kind, True) or (truth and kind in (int, float)):
        raise InputError(f"{what}={value!r} should be {_SHOULD_BE[kind]}")
    return value.item() if kind in fits and hasattr(value, "item") else value
