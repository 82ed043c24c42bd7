"""Seconds and gaps in words, for the reports of training."""

from __future__ import annotations


def taken(seconds: float, compiling: float) -> str:
    """Return the seconds of a fit in words, with those of compilation if they are a hundredth or more."""
    return f"{seconds:.2f} s" + (f", of which {compiling:.2f} s compiling" if compiling >= 0.005 else "")


def certified(gap: float, rounding: float) -> str:
    """Return a gap in words, with a remark if rounding errors make up most of it."""
    from svmkit.problems.certificate import is_rounding

    remark = "; rounding errors allow no smaller one" if is_rounding(gap, rounding) else ""
    return f"{gap:.2e}  (certified relative duality gap{remark})"
