"""A package says for which version of the plugin interface it is written; another version is refused in words."""

import importlib
import re
import tomllib
from pathlib import Path

import pytest
from support.plugin import package  # noqa: F401  a fixture

from svmkit import plugins
from svmkit.errors import InputError

SOURCE = """
from svmkit.kernels import RBF
from svmkit.solver import Uniform
from svmkit_decomposition.smo import SMO

class Solver(SMO):
    "Theirs."
    name = "theirs"

class Kernel(RBF):
    "Theirs."
    name = "theirs"

class Sampler(Uniform):
    "Theirs."
    name = "theirs"
"""
ROOT = Path(__file__).parents[2]
HERE = plugins.INTERFACE
POINTS = {kind: {"theirs": kind.title()} for kind in ("solver", "kernel", "sampler")}


def row(kind):
    return next(row for row in plugins.describe(kind) if row.name == "theirs")


@pytest.mark.parametrize("said", [(str(HERE),), ("7", str(HERE)), ("1", str(HERE))])
@pytest.mark.parametrize("kind", POINTS)
def test_this_version_works(package, kind, said):  # noqa: F811
    package(SOURCE, POINTS, said)
    assert row(kind).status == "ok" and plugins.load(kind, "theirs").name == "theirs"


@pytest.mark.parametrize("kind", POINTS)
def test_a_newer_version_asks_for_svmkit(package, kind):  # noqa: F811
    package("raise RuntimeError('must not be imported')", POINTS, ["7", "10"], name="gizmo", version="3.4")
    found = row(kind)
    assert (found.status, found.plugin, found.package) == ("broken", None, "gizmo") and "\n" not in found.error
    words = (f"{kind} 'theirs' of package gizmo 3.4", "version 10 or 7 of", f"has version {HERE}", "--upgrade svmkit")
    assert all(word in found.error for word in words), found.error
    with pytest.raises(InputError, match="gizmo"):
        plugins.build(kind, "theirs")
    assert "theirs" not in {row.name for row in plugins.working(kind)}


@pytest.mark.parametrize("said", [(), ("1",), ("1", "7")])
@pytest.mark.parametrize("kind", POINTS)
def test_version_1_is_listed_with_what_to_change(package, kind, said):  # noqa: F811
    """The modules that it imports may be gone, so it is told before anything of it is imported."""
    package("from svmkit.sampler import Draws", POINTS, said, name="gizmo")
    found = row(kind)
    assert (found.status, found.plugin) == ("broken", None) and "\n" not in found.error
    words = ("written for version 1", "pip install --upgrade gizmo", "from svmkit.solver", "svmkit.kernels")
    assert all(word in found.error for word in words), found.error
    assert found.error.endswith(f"then declare {HERE}")
    assert ("declares no version, which counts as 1" in found.error) == (not said)


def test_an_older_version_names_every_change_since(package, monkeypatch):  # noqa: F811
    package(SOURCE, POINTS, ["2"], name="gizmo")
    monkeypatch.setattr(plugins, "INTERFACE", 4)
    monkeypatch.setattr(plugins, "UPGRADES", {1: "turn left", 2: "turn right", 3: "stop"})
    assert "as its author turn right, stop, then declare 4" in row("solver").error


def test_every_version_before_this_one_says_what_changed():
    assert list(plugins.UPGRADES) == list(range(1, plugins.INTERFACE))
    document = (ROOT / "docs" / "plugin_interface.md").read_text(encoding="utf-8")
    for version in plugins.UPGRADES:
        assert f"## From version {version} to {version + 1}" in document


def test_the_new_paths_of_the_document_are_there():
    """Each row of the table: a path of version 1, and where its names live now."""
    document = (ROOT / "docs" / "plugin_interface.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(svmkit\.[\w.]+)` \| `(svmkit[\w.]*)` \| (.+?) \|$", document, re.MULTILINE)
    assert len(rows) > 10
    for _, new, listed in rows:
        module = importlib.import_module(new)
        for name in re.findall(r"`(\w+)`", listed):
            assert hasattr(module, name), f"{new} has no {name}"


def test_a_version_that_is_none(package):  # noqa: F811
    package(SOURCE, POINTS, ["one"])
    assert f"'one' is not a version: write {HERE}" in row("kernel").error


def test_svmkit_declares_the_version_of_its_own_plugins():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["svmkit.interface"] == {str(HERE): "svmkit"}


def test_the_command_line_says_so(svmkit, refused, package, alone):  # noqa: F811
    package(SOURCE, POINTS, ["7"], name="gizmo")
    listed = svmkit("plugins", "--kind", "solver")
    line = next(line for line in listed.out.splitlines() if "theirs" in line)
    assert "BROKEN" in line and "gizmo 1.0" in line and "upgrade svmkit" in line
    refused(["gizmo", "version 7", "upgrade svmkit"], "check", "theirs")
    refused(["gizmo", "version 7", "upgrade svmkit"], "train", "iris", "--solver", "theirs", "--no-track")
