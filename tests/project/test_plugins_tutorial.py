"""docs/plugin_tutorial.md: its snippets are the example package's files, and what it prints is what is printed."""

import re
import shlex
from pathlib import Path

import pytest
from support.plugin import package, unloaded  # noqa: F401  fixtures

from svmkit import plugins
from svmkit.cli.extending.new import Template

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "examples" / "third_party_plugin"
DOC = (ROOT / "docs" / "plugin_tutorial.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"<!-- (\S+\.(?:py|toml)) -->\n```\w+\n(.*?)\n```\n", DOC, re.DOTALL)
RUN = re.findall(r"<!-- run -->\n```(console|python)\n(.*?)\n```\n", DOC, re.DOTALL)
PRINTED = dict(re.findall(r"<!-- check (\w+) -->\n```text\n(.*?)\n```\n", DOC, re.DOTALL))
FILES = sorted(str(p.relative_to(PACKAGE)) for end in ("*.py", "*.toml") for p in PACKAGE.rglob(end))
SOURCE = """
import sys
sys.path.insert(0, {src!r})
import numpy as np
from svmkit_example.kernel import Cauchy
from svmkit_example.sampler import Stride
from svmkit_example.solver import Coordinate

class Gambler(Coordinate):
    "Pairwise coordinate descent."
    def step(self, state):
        np.random.rand()
        return super().step(state)
"""


@pytest.fixture
def example(package, monkeypatch):  # noqa: F811
    """The package, its solver made by the class of that name; nothing of it stays imported."""
    monkeypatch.setattr("sys.path", [*__import__("sys").path])

    def make(solver="Coordinate"):
        points = {"solver": {"coord": solver}, "kernel": {"cauchy": "Cauchy"}, "sampler": {"stride": "Stride"}}
        package(SOURCE.format(src=str(PACKAGE / "src")), points, [str(plugins.INTERFACE)], name="example")

    return make


@pytest.mark.parametrize("file", FILES)
def test_snippets_are_the_file_in_order_and_in_full(file):
    parts = [text for name, text in SNIPPETS if name == file]
    written = [line for line in (PACKAGE / file).read_text(encoding="utf-8").splitlines() if line.strip()]
    assert parts and [line for part in parts for line in part.splitlines() if line.strip()] == written


def test_snippets_are_of_files_that_are_there():
    assert {name for name, _ in SNIPPETS} == {*FILES, "mine.py"}


def test_the_step_that_is_shown_is_the_template():
    (shown,) = (text for name, text in SNIPPETS if name == "mine.py")
    assert "def step(self" in shown and shown in Template("solver", "mine", as_package=False).files()["mine.py"]


@pytest.mark.slow
@pytest.mark.usefixtures("alone", "unloaded")
def test_the_commands_of_the_first_section_print_what_is_shown(svmkit):
    assert [kind for kind, _ in RUN] == ["console", "console", "python"]
    ran = []
    for kind, text in RUN:
        if kind == "python":
            exec(text, {})
            continue
        for command, shown in re.findall(r"^\$ svmkit (.*)\n?((?:(?!\$ ).*\n?)*)", text, re.MULTILINE):
            ran.append(command)
            done = svmkit(*shlex.split(command))
            assert done.code == 0, done.err
            printed = {_shape(line) for line in done.out.splitlines()}
            assert not [line for line in shown.splitlines() if _shape(line) not in printed], done.out
    assert [command.split()[0] for command in ran] == ["new", "train", "check", "compare", "tune"]


def _shape(line):
    """A line without its numbers, and without the seconds, of which some may be of compilation."""
    return re.sub(r"\d[\d.,]*(e[+-]?\d+)?", "#", " ".join(line.partition("time  ")[0].split()))


@pytest.mark.parametrize(("shown", "solver"), [("coord", "Coordinate"), ("gambler", "Gambler")])
@pytest.mark.slow
def test_what_check_prints(svmkit, example, alone, shown, solver):
    example(solver)
    done = svmkit("check", "coord")
    assert done.code == (solver == "Gambler")
    assert PRINTED[shown].splitlines() == done.out.splitlines()


@pytest.mark.parametrize(("file", "place"), [("solver", "solver"), ("sampler", "solver"), ("kernel", "kernels")])
def test_a_plugin_imports_from_one_place(file, place):
    source = (PACKAGE / "src" / "svmkit_example" / f"{file}.py").read_text(encoding="utf-8")
    assert re.findall(r"^(?:from|import) (svmkit\S*)", source, re.MULTILINE) == [f"svmkit.{place}"]


def test_the_package_is_written_for_this_interface():
    assert f"{plugins.INTERFACE} = " in (PACKAGE / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.slow
def test_compare_and_warmup_take_it(svmkit, example, alone, monkeypatch):
    example()
    report = svmkit("compare", "iris", "--solvers", "coord,swap2o", "--no-track", "--json")
    assert report.code == 0 and "coord" in report.out
    from svmkit.cli.extending.warming import steps

    assert "solver coord" in {name for name, _ in steps()}
