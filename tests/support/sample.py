"""Which tests a plain `pytest` runs: a sample of all of them, by five rules that `--full` switches off; and the rest.

1. Tests marked `slow` (more than about two seconds, with what they compile for themselves alone; among them servers and
   interrupted processes), `float32` (the loops are compiled for another precision), `browser`, `install` and `data`
   are left out.
2. Of a test that is parametrised over solvers, one solver of each family runs. Every solver, kernel and sampler runs
   through the light contract, tests/plugins/test_light_contract.py.
3. Of a test that is parametrised over precisions, storages or seeds, float64, dense and CSR, and the first seed run;
   each other storage is compiled for by itself.
4. scikit-learn's checks of estimators run for the first estimator of a file.
5. Of a test with several `parametrize`, which runs for each value of one with each value of the others, as few cases
   run as have every value that rules 1 to 4 leave. A list of tuples is one parameter: all of them run.

A rule that would leave nothing of a test keeps its first case. What is left out is deselected, never skipped.

`--rest` runs what the sample leaves out. Of a test with three `parametrize` and more it runs as few cases as have, with
those of the sample, every two values that some case has: every kernel with every storage, every loss with every solver,
but not each of the products of three. `--full` alone runs these.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import combinations
from typing import Any

import numpy as np
import pytest

FULL_ONLY = ("slow", "float32", "browser", "install", "data")
OTHER_STORAGES = re.compile("float32|int64|csr64|fortran|by columns|read only")
ONE_A_FAMILY = {
    "svmkit_frank_wolfe": "swap",
    "svmkit_decomposition": "smo",
    "svmkit_corrective": "fcfw",
    "svmkit_dask": "dfcsmo",
    "svmkit_coordinate": "dcd",
    "svmkit_stochastic": "sgd",
    "svmkit_cutting_plane": "ocas",
    "svmkit_newton": "newton",
    "svmkit_reference": "libsvm",
}


def left_out(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """The items that are not in the sample."""
    out: set[pytest.Item] = set()
    for cases in _by_test(items):
        kept = [case for case in cases if not any(case.get_closest_marker(mark) for mark in FULL_ONLY)]
        for others in (_other_solvers, _other_storages, _other_seeds):
            kept = _without(others, kept)
        kept = [case for case in kept if _estimator(case) == _estimator(kept[0])]
        out.update(set(cases) - set(_covering(kept, 1)))
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


def _without(others: Callable[[pytest.Item], tuple], cases: list[pytest.Item]) -> list[pytest.Item]:
    """The cases for which `others` finds nothing; where all have something, those that have the same as the first."""
    return [case for case in cases if not others(case)] or [case for case in cases if others(case) == others(cases[0])]


def _parameters(case: pytest.Item) -> dict[str, Any]:
    return case.callspec.params if hasattr(case, "callspec") else {}


def _other_solvers(case: pytest.Item) -> tuple:
    """Names of solvers that do not stand for their family."""
    from svmkit import plugins

    registered = plugins.registered("solver")
    named = [value for value in _parameters(case).values() if isinstance(value, str) and value in registered]
    families = {name: registered[name].value.partition(".")[0] for name in named}
    return tuple(name for name in named if ONE_A_FAMILY.get(families[name], name) != name)


def _other_storages(case: pytest.Item) -> tuple:
    """The parameters of single precision, and what the name of the case says of the storage."""
    if not hasattr(case, "callspec"):
        return ()
    single = [key for key, value in case.callspec.params.items() if value is np.float32]
    return (*single, *OTHER_STORAGES.findall(case.callspec.id))


def _estimator(case: pytest.Item) -> str:
    """The estimator that one of scikit-learn's checks is about; "" for any other test."""
    parameters = _parameters(case)
    return repr(parameters["estimator"]) if "check" in parameters and "estimator" in parameters else ""


def _other_seeds(case: pytest.Item) -> tuple:
    """The seed, where it is not 0."""
    return tuple(value for key, value in _parameters(case).items() if key == "seed" and value != 0)
