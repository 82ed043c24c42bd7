"""The texts of cells: which of them are numbers, and with which decimal mark."""

from __future__ import annotations

import re

import numpy as np

# an empty cell and what spreadsheets, R, pandas and the UCI archive write for one
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NAN", "null", "NULL", "None", "?")

_TRUTH = {"": np.nan, "True": 1.0, "False": 0.0, "TRUE": 1.0, "FALSE": 0.0, "true": 1.0, "false": 0.0}
# between groups of three digits, besides the other mark
_GROUPS = "'\N{RIGHT SINGLE QUOTATION MARK} \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"


def _written_with(mark: str, other: str) -> re.Pattern[str]:
    """Return the pattern of a number with this decimal mark, in groups of three digits perhaps."""
    whole = rf"\d{{1,3}}([{other}{_GROUPS}])\d{{3}}(\1\d{{3}})*|\d+|(?=[{mark}]\d)"
    return re.compile(rf"[+-]?({whole.replace(chr(92) + '1', chr(92) + '2')})([{mark}]\d*)?([eE][+-]?\d+)?", re.ASCII)


_WRITTEN = {".": _written_with(".", ","), ",": _written_with(",", ".")}
_AS_POINT: dict[str, dict[int, str | None]] = {
    ".": {ord(mark): None for mark in f",{_GROUPS}"},
    ",": {ord(mark): None for mark in f".{_GROUPS}"} | {ord(","): "."},
}


def is_number(text: str) -> bool:
    """Return whether a cell is a number with a decimal point. Python's digits with underscores are not."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def number(text: str, decimal: str | None) -> float | None:
    """Return the number in a cell: 0 or 1 for a truth value, NaN for an empty cell, None for any other text. Beside the
    mark `decimal`, the other one may stand between groups of three digits; None is a point and no groups, since 1,234
    could be either.
    """
    if text in _TRUTH:
        return _TRUTH[text]
    if is_number(text) and (decimal != "," or "." not in text):
        return float(text)
    if decimal is not None and _WRITTEN[decimal].fullmatch(text):
        return float(text.translate(_AS_POINT[decimal]))
    return None


def is_number_somehow(text: str) -> bool:
    """Return whether a cell is a number with either decimal mark."""
    return is_number(text) or any(pattern.fullmatch(text) for pattern in _WRITTEN.values())
