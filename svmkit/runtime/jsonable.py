"""JSON's own types for whatever a result holds."""

from __future__ import annotations

import math
from typing import Any


def plain(value: Any) -> Any:
    """`value` with arrays as lists, numpy's scalars as Python's, text keys, and None for NaN and infinity."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
