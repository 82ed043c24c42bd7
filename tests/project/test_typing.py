"""What a type checker sees of the package in a user's script."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import svmkit

ROOT = Path(svmkit.__file__).parents[1]
RIGHT = """
from svmkit import Dataset, SVMClassifier, SVMOneClass, load

data: Dataset = load("iris")
model: SVMClassifier = SVMClassifier(solver="fcsmo", solver_options={"loss": "squared_hinge"}, C=10).fit(data.X, data.y)
gap: float | None = model.gap_
machine = SVMClassifier(loss="squared_hinge")
outliers = SVMOneClass(nu=0.1).fit(data.X).predict(data.X)
"""
WRONG = """
from svmkit import SVMClassifier, SVMOneClass, no_such_name

SVMClassifier(epsilon=0.1)
SVMClassifier(C="many")
SVMOneClass(nu=[0.1])
"""


def check(folder, **scripts):
    """Return the lines of mypy's errors in each of a user's scripts, without its file, and the number of all."""
    for name, script in scripts.items():
        (folder / f"{name}.py").write_text(script)
    # mypy finds an installed package by itself, and refuses site-packages in its path
    env = os.environ | ({} if ROOT.name == "site-packages" else {"MYPYPATH": str(ROOT)})
    options = ["--cache-dir", os.devnull, "--follow-imports=silent", "--ignore-missing-imports"]
    command = [sys.executable, "-m", "mypy", *options, *(f"{name}.py" for name in scripts)]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=280)
    assert done.returncode == 1, done.stderr
    lines = [line.split(":", 1) for line in done.stdout.splitlines() if ": error: " in line]
    return {name: [text for file, text in lines if file == f"{name}.py"] for name in scripts}, len(lines)


@pytest.mark.slow
def test_a_script_is_checked_against_the_signatures(tmp_path):
    errors, number = check(tmp_path, right=RIGHT, wrong=WRONG)
    found = errors["wrong"]
    assert errors["right"] == [] and number == len(found)
    assert [line.partition(":")[0] for line in found] == ["2", "4", "5", "6"], found
    for line, words in zip(found, ('"no_such_name"', '"epsilon" for "SVMClassifier"', '"C"', '"nu"'), strict=True):
        assert words in line


def test_the_package_says_that_it_is_typed():
    found = importlib.util.find_spec("svmkit")
    assert found is not None and (Path(found.submodule_search_locations[0]) / "py.typed").is_file()
