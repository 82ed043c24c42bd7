"""The tool that mutates our modules (support/mutation), on a module that is made up."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.mutation.equivalent import EQUIVALENT, reason_of
from support.mutation.operators import Mutation, mutated, mutations
from support.mutation.rooms import ROOMS

module_name = pytest.importorskip("support.mutation.runner", reason="limits memory by the module resource").module_name

ROOT = Path(__file__).parents[2]
TOY = '''"""A docstring."""
from __future__ import annotations
import math
LIMIT = 3

def shorten(values: list[float], most: int = 0) -> list[float]:
    """Another one."""
    if not values or most < 0:
        raise ValueError(f"nothing above {most + 1}")
    total = 0.0
    for value in values:
        total += value * 2
    rest = divmod(total, 7)[1]
    total = total + rest
    return [v for v in values if v > LIMIT][:most] if total > 0 and most else values
'''


def texts(source):
    return [(m.where, f"{m.before} -> {m.after}") for m in mutations(source)]


def test_what_is_changed():
    found = texts(TOY)
    for change in (
        "values or most < 0 -> not (not values or most < 0)",
        "not values or most < 0 -> not values and most < 0",
        "not values -> values",
        "most < 0 -> most <= 0",
        "most < 0 -> most >= 0",
        "most < 0 -> most < 1",
        "total = 0.0 -> total = 1.0",
        "total += value * 2 -> pass",
        "total += value * 2 -> total -= value * 2",
        "value * 2 -> value / 2",
        "value * 2 -> value * 3",
        "total + rest -> total",
        "total + rest -> rest",
        "divmod(total, 7) -> divmod(7, total)",
        "v > LIMIT -> v >= LIMIT",
        "total > 0 and most -> total > 0 or most",
        "0 -> 1",  # the default
    ):
        assert any(where == "shorten" and text.endswith(change) for where, text in found), change
    assert ("", "LIMIT = 3 -> LIMIT = 4") in found
    told = " ".join(text for _, text in found)
    assert "docstring" not in told and "nothing above" not in told and "float" not in told and "import" not in told


def test_arguments_change_places_unless_a_function_is_symmetric():
    calls = ["divmod(a, b)", "max(a, b, key=abs)", "np.max(a, b)", "np.subtract(a, b)"]
    same = ["max(a, b)", "min(a, b, c)", "np.maximum(a, b)", "np.minimum(a, b, out=c)", "math.hypot(a, b)", "gcd(a, b)"]
    source = "".join(f"{call}\n" for call in calls + same)
    swapped = [m.before for m in mutations(source) if m.after == m.before.replace("a, b", "b, a")]
    assert swapped == calls


def test_changes_of_some_kinds_are_equivalent_wherever_they_are():
    source = (
        "np.ix_(rows, rows)\nnp.random.default_rng(3)\nexact_sum(a.b, -c)\nrng.choice(a, a + 1)\n"
        "exact_sum(f(a, b), c)\nnp.clip(a, low, high)"
    )
    reasons = {f"{m.before} -> {m.after}": reason_of("a.py", m) for m in mutations(source)}
    assert {text for text, reason in reasons.items() if reason} == {
        "np.ix_(rows, rows) -> np.ix_(rows, rows)",
        "np.random.default_rng(3) -> np.random.default_rng(4)",
        "exact_sum(a.b, -c) -> exact_sum(-c, a.b)",
        "np.clip(a, low, high) -> np.clip(low, a, high)",
    }


def test_every_change_is_one_change_that_compiles():
    names = {"of the list": 0}
    sources = {compile(mutated(TOY, m.number), "toy", "exec").co_code for m in mutations(TOY)}
    assert len(mutations(TOY)) > 20 and sources and names
    for mutation in mutations(TOY):
        told = mutations(TOY)[mutation.number]
        assert told == mutation and told.before != told.after


def test_a_sample_does_not_change_with_other_lines():
    more = TOY.replace("LIMIT = 3\n", "LIMIT = 3\n\n\ndef other(x):\n    return x + 1\n")
    known = {m.order(0): (m.before, m.after) for m in mutations(TOY)}
    later = {m.order(0): (m.before, m.after) for m in mutations(more)}
    assert known.items() <= later.items() and {m.order(1) for m in mutations(TOY)}.isdisjoint(known)


def test_compiled_functions_are_known():
    source = (
        "from numba import njit\nN = 1\n@njit(cache=True)\ndef f(x):\n    return x + 1\ndef g(x):\n    return x + 1\n"
    )
    assert [(m.where, m.compiled) for m in mutations(source) if m.after.startswith("x - 1")] == [
        ("f", True),
        ("g", False),
    ]
    assert mutations(source)[0].compiled  # a number of the module is part of what is compiled
    assert not any(isinstance(m, Mutation) and m.compiled for m in mutations(TOY))


def test_whoever_calls_what_a_module_overloads_is_compiled_anew(monkeypatch):
    spec = importlib.util.spec_from_file_location("mutants", ROOT / ".ci" / "mutants.py")
    mutants = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "mutants", mutants)
    spec.loader.exec_module(mutants)
    monkeypatch.chdir(ROOT)
    found = {path.as_posix() for path in mutants.callers("plugins/svmkit_corrective/working_set/sparse_loops.py")}
    assert "svmkit/solver/smo/steps.py" in found  # it imports svmkit.solver.smo.rows, not its overloads
    assert "svmkit/solver/smo/steps.py" not in {
        path.as_posix() for path in mutants.callers("plugins/svmkit_frank_wolfe/iterate/loops.py")
    }


def test_the_table_names_files_that_are_there():
    for room in ROOMS:
        assert (ROOT / room.path).is_file(), room.path
        for test in [*room.tests, *(room.compiled or [])]:
            file, _, name = test.partition("::")
            assert f"def {name}" in (ROOT / file).read_text() if name else (ROOT / file).is_file(), test
    assert module_name(Path("plugins/svmkit_frank_wolfe/steps/step.py")) == "svmkit_frank_wolfe.steps.step"
    assert module_name(Path("svmkit/solver/loop/solve.py")) == "svmkit.solver.loop.solve"


def test_what_is_equivalent_is_a_mutation_that_there_is():
    made = {
        (path, m.where, f"{m.before} -> {m.after}")
        for path in {path for path, _, _ in EQUIVALENT}
        for m in mutations((ROOT / path).read_text())
    }
    assert EQUIVALENT.keys() <= made, EQUIVALENT.keys() - made


SCRIPT = """
from support.mutation.__main__ import killed
from support.mutation.operators import mutations
from support.mutation.rooms import Room
from support.mutation import runner

runner.PATIENCE = 5.0, 1.0
runner.load_libraries()
room = Room("toy.py", ["test_toy.py"])
print("counted", killed(room, mutations(open("toy.py").read()), "log.txt"))
"""
TESTS = """
from toy import clipped

def test_clipped():
    assert [clipped(x) for x in (-3, 0, 2, 9)] == [0, 0, 2, 5]
"""


@pytest.mark.slow
def test_a_mutation_survives_if_no_test_notices_it(tmp_path):
    (tmp_path / "toy.py").write_text(
        "def clipped(x):\n    while x < 0:\n        x += 1\n    if x > 5:\n        return 5\n    return x\n"
    )
    (tmp_path / "test_toy.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    path = os.pathsep.join([str(ROOT / "tests"), str(tmp_path)])
    environment = {**os.environ, "PYTHONPATH": path + os.pathsep + os.environ.get("PYTHONPATH", "")}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    survived = [line.split(": ", 2)[2] for line in done.stdout.splitlines() if line.startswith("survived")]
    assert survived == ["x > 5  ->  x >= 5", "x > 5  ->  x > 6"], done.stdout + done.stderr
    assert "counted (10, 0, 8)" in done.stdout  # endless loops among the killed
