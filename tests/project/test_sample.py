"""The rules of the sample, on stand-ins for pytest's items."""

from itertools import combinations, product
from types import SimpleNamespace

import pytest
from support.sample import left_out, rest


class Case:
    """A case of a test: the names of each `parametrize`, the parameters, and the marks of its own."""

    def __init__(self, names, params, *marks, test="tests/test_one.py::test_it"):
        self.nodeid = f"{test}[{'-'.join(str(value) for value in params.values())}]"
        self.callspec = SimpleNamespace(params=params, id=self.nodeid.partition("[")[2].rstrip("]"))
        self.names, self.marks = names, marks

    def iter_markers(self, name):
        return [pytest.mark.parametrize(names, []).mark for names in self.names]

    def get_closest_marker(self, name):
        return name if name in self.marks else None


def kept(cases):
    out = left_out(cases)
    return [case.callspec.params for case in cases if case not in out]


def grid(**values):
    names = list(values)
    return [Case(names, dict(zip(names, some, strict=True))) for some in product(*values.values())]


def test_the_first_case_runs_that_no_mark_leaves_out():
    assert kept(grid(loss=["hinge", "huber"], C=[0.1, 1.0])) == [{"loss": "hinge", "C": 0.1}]
    cases = [Case(["size"], {"size": size}, *marks) for size, marks in ((9, ["slow"]), (1, ()), (2, ()))]
    assert kept(cases) == [{"size": 1}] and kept(cases[:1]) == []


def test_every_case_runs_where_a_mark_says_so_but_slow_ones():
    cases = [Case(["size"], {"size": size}, "every_case") for size in (1, 2)]
    assert kept([*cases, Case(["size"], {"size": 9}, "every_case", "slow")]) == [{"size": 1}, {"size": 2}]


def test_the_rest_has_with_the_sample_every_two_values_that_some_case_has():
    cases = grid(loss=["hinge", "huber", "logistic"], C=[0.1, 1.0], kernel=["rbf", "poly"], seed=[0, 1])
    del cases[-1]  # some need not occur at all
    ran = [case for case in cases if case in rest(cases) or case not in left_out(cases)]
    pairs = [{pair for case in some for pair in combinations(case.callspec.params.items(), 2)} for some in (cases, ran)]
    assert pairs[0] == pairs[1] and len(ran) <= 12 and not rest(cases) & (set(cases) - left_out(cases))


def test_of_two_parameters_the_rest_has_all_that_the_sample_leaves_out():
    cases = grid(loss=["hinge", "huber", "logistic"], C=[0.1, 1.0, 10.0])
    assert rest(cases) == left_out(cases) and len(rest(cases)) == 8


def test_the_rest_has_what_is_slow():
    cases = [Case(["size", "C"], {"size": size, "C": 1.0}, *marks) for size, marks in ((1, ()), (2, ["slow"]))]
    assert rest(cases) == {cases[1]}
