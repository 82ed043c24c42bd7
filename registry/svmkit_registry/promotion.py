"""The rule by which a version takes an alias from another: a comparable test accuracy that is not lower."""

from __future__ import annotations

from typing import Any


def objection(ours: dict[str, Any], theirs: dict[str, Any], we: str, they: str) -> str | None:
    """The reason why a candidate must not replace the version that has the alias.

    Parameters
    ----------
    ours, theirs : dict of str to object
        Lineage of the candidate and of that version.
    we, they : str
        The names of the two in the message.

    Returns
    -------
    str or None
        None when the candidate may replace it.
    """
    unknown = [name for name, its in ((we, ours), (they, theirs)) if its.get("test_accuracy") is None]
    if unknown:
        return f"the test accuracy of {' and '.join(unknown)} is not known (train with --test or --test-size)"
    mine, other = ours["test_accuracy"], theirs["test_accuracy"]
    differs = _difference(ours, theirs)
    if differs:
        return f"its test accuracy {mine:.2%} and the {other:.2%} of {they} are of different test sets: {differs}"
    if mine < other:
        digits = 2 if f"{mine:.2%}" != f"{other:.2%}" else 6
        return f"its test accuracy {mine:.{digits}%} is below the {other:.{digits}%} of {they}"
    return None


def _difference(ours: dict[str, Any], theirs: dict[str, Any]) -> str | None:
    """The difference of the two test sets: of their contents when both are known, else of names and rows."""
    mine, other = ours.get("test_sha256"), theirs.get("test_sha256")
    if mine and other and mine == other:
        return None
    names = ours.get("test_data"), theirs.get("test_data")
    rows = ours.get("n_test"), theirs.get("n_test")
    sets = [
        f"{name or 'unnamed'} ({n if n is not None else 'unknown'} rows)" for name, n in zip(names, rows, strict=True)
    ]
    if names[0] != names[1] or rows[0] != rows[1]:
        return " and ".join(sets)
    if mine and other:
        return f"{sets[0]} of other contents (SHA-256 {mine[:12]} and {other[:12]})"
    return None if names[0] and rows[0] else "which ones is not known"
