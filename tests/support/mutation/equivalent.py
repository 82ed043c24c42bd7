"""Mutations that change nothing a test could see, each with the reason; they count neither as made nor as killed."""

from __future__ import annotations

import re

from support.mutation.operators import Mutation

EQUIVALENT: list[tuple[str, str, str, str]] = []
"""(path, where, part of the text before, reason)"""

BY_LABELS = re.compile(r" / (self\.)?y(\[[\w:]+\])?")


def reason_of(path: str, mutation: Mutation) -> str | None:
    """Return why the mutation is equivalent, or None if it is to be killed."""
    if BY_LABELS.search(mutation.after) and mutation.after.replace(" / ", " * ") == mutation.before:
        return "labels are -1 or +1: a product with them is a quotient"
    for of_path, where, before, reason in EQUIVALENT:
        if of_path == path and where == mutation.where and before in mutation.before:
            return reason
    return None
