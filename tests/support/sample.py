"""Which tests a plain `pytest` runs: a sample of all of them, by two rules that `--full` switches off; and the rest.

1. Tests marked `slow` (more than about two seconds, with what they compile for themselves alone; among them servers and
   interrupted processes), `float32` (the loops are compiled for another precision), `browser`, `install` and `data`
   are left out.
2. Of a test with parameters, the first case runs that rule 1 leaves; of a test marked `every_case` all of them. Every
   solver, kernel and sampler runs through the light contract, tests/plugins/test_light_contract.py, which is one.

What is left out is deselected, never skipped.

`--rest` runs what the sample leaves out. Of a test with three `parametrize` and more it runs as few cases as have, with
those of the sample, every two values that some case has: every kernel with every storage, every loss with every solver,
but not each of the products of three. `--full` alone runs these.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import combinations
from typing import Any

import pytest

FULL_ONLY = ("slow", "float32", "browser", "install", "data")


def left_out(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """The items that are not in the sample."""
    out: set[pytest.Item] = set()
    for cases in _by_test(items):
        kept = [case for case in cases if not any(case.get_closest_marker(mark) for mark in FULL_ONLY)]
        out.update(set(cases) - set(kept if cases[0].get_closest_marker("every_case") else kept[:1]))
    return out


def rest(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """The items that `--rest` runs."""
    items = list(items)
    out, chosen = left_out(items), set[pytest.Item]()
    for cases in _by_test(items):
        begun = [case for case in cases if case not in out]
        chosen.update(_covering([case for case in cases if case in out], 2, begun))
    return chosen


def _by_test(items: Iterable[pytest.Item]) -> Iterable[list[pytest.Item]]:
    tests = defaultdict(list)
    for item in items:
        tests[item.nodeid.partition("[")[0]].append(item)
    return tests.values()


def _covering(cases: list[pytest.Item], size: int, begun: Iterable[pytest.Item] = ()) -> list[pytest.Item]:
    """Cases that have, with those that have begun, all that `size` parameters are at once in any of the cases.

    Chosen is, again and again, the one with most of what lacks.
    """
    values = {case: _values(case) for case in cases}
    if all(len(own) <= size for own in values.values()):
        return cases
    together = {case: set(combinations(own, size)) for case, own in values.items()}
    missing, kept = set().union(*together.values()), list[pytest.Item]()
    missing.difference_update(*(combinations(_values(case), size) for case in begun))
    while missing:
        kept.append(max(cases, key=lambda case: len(together[case] & missing)))  # the first of several
        missing -= together[kept[-1]]
    return kept


def _values(case: pytest.Item) -> tuple[tuple, ...]:
    """What each `parametrize` and each fixture with parameters gives the case, as hashable as it can be had."""
    parameters = _parameters(case)
    marks = [mark.args[0] for mark in case.iter_markers("parametrize") if mark.args]
    groups = [tuple(names.replace(",", " ").split() if isinstance(names, str) else names) for names in marks]
    alone = parameters.keys() - {name for group in groups for name in group}
    return tuple(
        (group, *(_identity(parameters[name]) for name in group if name in parameters))
        for group in [*groups, *((name,) for name in sorted(alone))]
    )


def _identity(value: Any) -> Any:
    """The value, with its type, or the address of what cannot be hashed: objects of a list are those of all cases."""
    try:
        hash(value)
    except TypeError:
        return id(value)
    return type(value), value


def _parameters(case: pytest.Item) -> dict[str, Any]:
    return case.callspec.params if hasattr(case, "callspec") else {}
