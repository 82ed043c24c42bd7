"""Dates and times as numbers: the days since 1970-01-01, with the fraction of the day."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

YEAR_FIRST, DAY_FIRST, MONTH_FIRST = "ymd", "dmy", "mdy"
ORDERS = (YEAR_FIRST, DAY_FIRST, MONTH_FIRST)

_EPOCH = datetime.date(1970, 1, 1).toordinal()
_TIME = (
    r"(?:[T ]+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:[.,]\d{1,9})?))?"
    r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?(?: ?(?P<zone>Z|UTC|[+-]\d{2}:?\d{2}))?)?"
)
_PATTERNS = {
    YEAR_FIRST: re.compile(r"(?P<y>\d{4})(?P<mark>[-/.])(?P<m>\d{1,2})(?P=mark)(?P<d>\d{1,2})" + _TIME, re.ASCII),
    DAY_FIRST: re.compile(r"(?P<d>\d{1,2})(?P<mark>[./-])(?P<m>\d{1,2})(?P=mark)(?P<y>\d{4})" + _TIME, re.ASCII),
    MONTH_FIRST: re.compile(r"(?P<m>\d{1,2})(?P<mark>[/-])(?P<d>\d{1,2})(?P=mark)(?P<y>\d{4})" + _TIME, re.ASCII),
}


def days(text: str, order: str) -> float | None:
    """Return a date in days since 1970-01-01, a time as a fraction of the day; None for any other text. A date is
    written as 2024-12-31 ("ymd"), 31.12.2024 ("dmy") or 12/31/2024 ("mdy"), optionally followed by a time. With a time
    zone it is converted to UTC; without one it is unchanged.
    """
    match = _PATTERNS[order].fullmatch(text)
    if match is None:
        return None
    try:
        day = datetime.date(int(match["y"]), int(match["m"]), int(match["d"])).toordinal() - _EPOCH
    except ValueError:  # the 30th of February, the month 13, the year 0
        return None
    if match["hour"] is None:
        return float(day)
    hour, minute, second = int(match["hour"]), int(match["minute"]), float((match["second"] or "0").replace(",", "."))
    if match["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (match["half"] in "Pp")
    if hour > 23 or minute > 59 or second >= 61.0:  # 60 is a leap second
        return None
    zone, ahead = match["zone"], 0  # seconds by which the time zone is ahead of UTC
    if zone not in (None, "Z", "UTC"):
        ahead = (-1 if zone[0] == "-" else 1) * (3600 * int(zone[1:3]) + 60 * int(zone[-2:]))
    return day + (3600 * hour + 60 * minute + second - ahead) / 86400.0


def text_of(value: float, order: str) -> str:
    """Return days since 1970-01-01, to the second, as a text that `days` reads in this order; "" for NaN."""
    if math.isnan(value):
        return ""
    at = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=round(86400.0 * value))
    day = {
        YEAR_FIRST: f"{at.year:04}-{at.month:02}-{at.day:02}",
        DAY_FIRST: f"{at.day:02}.{at.month:02}.{at.year:04}",
        MONTH_FIRST: f"{at.month:02}/{at.day:02}/{at.year:04}",
    }[order]
    return f"{day} {at.time()}" if value % 1.0 else day


def order_of(texts: Sequence[str], counts: Sequence[int]) -> tuple[str, ...]:
    """Return the orders in which most cells are dates, from texts and their counts: none, one, or two that tie."""
    likely = [order for order in ORDERS if any(_PATTERNS[order].fullmatch(text) for text in texts[:50])]
    cells = {
        order: sum(count for text, count in zip(texts, counts, strict=True) if days(text, order) is not None)
        for order in likely
    }
    most = max(cells.values(), default=0)
    return tuple(order for order, count in cells.items() if count == most > 0)


def is_date(text: str) -> bool:
    """Return whether a text is a date in any order."""
    return any(days(text, order) is not None for order in ORDERS)


def days_of(series: Any) -> np.ndarray:
    """Return a column of pandas' datetimes in days since 1970-01-01 UTC: float64, NaN where missing."""
    if series.dt.tz is not None:
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
    return (series.to_numpy() - np.datetime64(0, "D")) / np.timedelta64(1, "D")
