"""The rules of the sample, on stand-ins for pytest's items."""

from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
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


def test_each_value_of_each_parameter_runs_in_as_few_cases_as_have_them():
    ran = kept(grid(loss=["hinge", "huber", "logistic"], C=[0.1, 1.0], kernel=["rbf", "poly"]))
    assert len(ran) == 3 and ran[0] == {"loss": "hinge", "C": 0.1, "kernel": "rbf"}
    assert {one["loss"] for one in ran} == {"hinge", "huber", "logistic"}
    assert {one["C"] for one in ran} == {0.1, 1.0} and {one["kernel"] for one in ran} == {"rbf", "poly"}


def test_a_case_that_alone_has_a_value_runs():
    cases = grid(rows=[10, 20], columns=[1, 2])
    cases.append(Case(["rows", "columns"], {"rows": 10, "columns": 3}))
    assert {one["columns"] for one in kept(cases)} == {1, 2, 3}
    assert len(kept(cases)) == 3


@pytest.mark.parametrize("names", ["loss,C", ("loss", "C")])
def test_all_tuples_of_one_list_run(names):
    pairs = product(["hinge", "huber"], [0.1, 1.0])
    assert len(kept([Case([names], {"loss": loss, "C": C}) for loss, C in pairs])) == 4


def test_values_of_any_type_are_told_apart():
    arrays = [np.zeros(2), np.zeros(2)]
    assert len(kept(grid(array=arrays, other=[[1], [1], {}]))) == 3
    assert len(kept(grid(flag=[True, 1, 1.0], other=["a", "b"]))) == 3


def test_values_of_cases_that_are_left_out_do_not_count():
    names = ["size", "seed"]
    cases = [Case(names, {"size": size, "seed": seed}) for size in (1, 2) for seed in range(3)]
    cases += [Case(names, {"size": 9, "seed": 0}, "slow")]
    assert kept(cases) == [{"size": 1, "seed": 0}, {"size": 2, "seed": 0}]


def test_the_rest_has_with_the_sample_every_two_values_that_some_case_has():
    cases = grid(loss=["hinge", "huber", "logistic"], C=[0.1, 1.0], kernel=["rbf", "poly"], seed=[0, 1])
    del cases[-1]  # some need not occur at all
    ran = [case for case in cases if case in rest(cases) or case not in left_out(cases)]
    pairs = [{pair for case in some for pair in combinations(case.callspec.params.items(), 2)} for some in (cases, ran)]
    assert pairs[0] == pairs[1] and len(ran) <= 12 and not rest(cases) & (set(cases) - left_out(cases))


def test_of_two_parameters_the_rest_has_all_that_the_sample_leaves_out():
    cases = grid(loss=["hinge", "huber", "logistic"], C=[0.1, 1.0, 10.0])
    assert rest(cases) == left_out(cases) and len(rest(cases)) == 6


def test_the_rest_has_what_is_slow():
    cases = [Case(["size", "C"], {"size": size, "C": 1.0}, *marks) for size, marks in ((1, ()), (2, ["slow"]))]
    assert rest(cases) == {cases[1]}
