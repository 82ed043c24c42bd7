"""Conversion of results to the types of JSON."""

from __future__ import annotations

import math
from typing import Any


def plain(value: Any) -> Any:
    """Return JSON types: arrays and tuples become lists, numpy scalars numbers, keys text, NaN and infinity None."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
