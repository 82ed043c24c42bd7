"""Every registered plugin keeps its contract; what `svmkit check` says of one that does not."""

import importlib

import pytest

from svmkit import plugins
from svmkit.conformance import CHECKS, SOLVER, check_plugin, report
from svmkit.conformance.checks import description
from svmkit.conformance.result import Result
from svmkit.errors import Unavailable

CASES = [(kind, name) for kind in CHECKS for name in plugins.names(kind)]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), CASES, ids=[f"{k}-{n}" for k, n in CASES])
def test_conforms(kind, name):
    try:
        plugins.load(kind, name)
    except Unavailable as missing:
        pytest.skip(str(missing))
    results = check_plugin(name, kind)
    assert len(results) == len(description(name, kind)) + len(CHECKS[kind])
    assert not [report(r) for r in results if r.problem]


EVERY = {
    f"{kind}: {sentence}": check
    for kind, checks in CHECKS.items()
    for sentence, check in (description("any", kind) | checks).items()
}


@pytest.mark.parametrize("check", EVERY.values(), ids=EVERY)
def test_every_check_says_what_is_expected_and_where(check):
    """The places of the contract that it names exist, each reached from the face of its room."""
    assert check.expected.endswith(".") and len(check.expected.split()) > 5
    for place in check.where.split(", "):
        package, room, *names = place.split(".")
        found = importlib.import_module(f"{package}.{room}")
        assert names and names[0] in found.__all__, f"{place} is not a public name"
        for name in names:
            found = getattr(found, name)


def test_there_are_twenty_one_checks_on_what_a_solver_does():
    assert not set(SOLVER) & {""} and len(SOLVER) == 21


def test_what_fails_is_told_in_four_lines():
    assert report(Result("it swims", None, "It swims.", "a.b")) == "holds  it swims"
    lines = report(Result("it swims", "it sank", "It swims.", "a.b")).splitlines()
    assert lines == ["FAILS  it swims", "       found: it sank", "       expected: It swims.", "       look at: a.b"]


def test_the_command_line(svmkit, alone):
    done = svmkit("check", "cyclic")
    assert done.code == 0 and done.out.splitlines()[-1] == "cyclic: 7 of 7 checks hold"
    rows = svmkit("check", "linear", "--json").json
    assert rows["passed"] and {"check", "problem", "expected", "where"} == set(rows["checks"][0])
