"""The texts of cells: which are numbers, and with which decimal mark."""

from __future__ import annotations

import re

import numpy as np

# an empty cell, and the texts that spreadsheets, R, pandas and the UCI archive write for one
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NAN", "null", "NULL", "None", "?")

_TRUTH = {"": np.nan, "True": 1.0, "False": 0.0, "TRUE": 1.0, "FALSE": 0.0, "true": 1.0, "false": 0.0}
# possible separators between groups of three digits, besides the other mark
_GROUPS = "'\N{RIGHT SINGLE QUOTATION MARK} \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"


def _written_with(mark: str, other: str) -> re.Pattern[str]:
    """Return the pattern of a number with this decimal mark, possibly with groups of three digits."""
    whole = rf"\d{{1,3}}([{other}{_GROUPS}])\d{{3}}(\1\d{{3}})*|\d+|(?=[{mark}]\d)"
    return re.compile(rf"[+-]?({whole.replace(chr(92) + '1', chr(92) + '2')})([{mark}]\d*)?([eE][+-]?\d+)?", re.ASCII)


_WRITTEN = {".": _written_with(".", ","), ",": _written_with(",", ".")}
_AS_POINT: dict[str, dict[int, str | None]] = {
    ".": {ord(mark): None for mark in f",{_GROUPS}"},
    ",": {ord(mark): None for mark in f".{_GROUPS}"} | {ord(","): "."},
}


def is_number(text: str) -> bool:
    """Return whether a cell is a number with a decimal point. Digits with underscores, as in Python, are rejected."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def number(text: str, decimal: str | None) -> float | None:
    """Return the number in a cell: 0 or 1 for a boolean, NaN for an empty cell, None for any other text. With
    `decimal`, the other mark may separate groups of three digits; None means a decimal point and no groups, since 1,234
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


_UNITS = "%|[$€£¥]|USD|EUR|GBP|CHF|JPY"
_AMOUNT = re.compile(rf"(?P<sign>[+-]?) ?(?P<before>{_UNITS})? ?(?P<number>[^\s%$€£¥A-Z]+?) ?(?P<after>{_UNITS})?")
_CODE = re.compile(r"0\d+", re.ASCII)


def unit(text: str) -> str | None:
    """Return the percent sign or the currency of a cell such as "25%" or "$1,650.88"; None for any other text."""
    match = _AMOUNT.fullmatch(text)
    return None if match is None or (match["before"] and match["after"]) else match["before"] or match["after"]


def amount(text: str, mark: str) -> float | None:
    """Return the number in a cell with or without a unit: 0.25 for "25%", NaN for an empty cell, None for other text.

    Parameters
    ----------
    text : str
    mark : {".", ","}, the decimal mark; the other one may stand between groups of three digits
    """
    if text == "":
        return np.nan
    match = _AMOUNT.fullmatch(text)
    value = None if match is None else number(match["sign"] + match["number"], mark)
    if match is None or value is None or (match["before"] and match["after"]):
        return None
    return value / 100.0 if "%" in (match["before"], match["after"]) else value


def has_zeros(text: str) -> bool:
    """Return whether a cell is a whole number with leading zeros, such as a postal code: "01067"."""
    return _CODE.fullmatch(text) is not None
