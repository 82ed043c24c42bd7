"""A package says for which version of the plugin interface it is written; another version is refused in words."""

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
POINTS = {kind: {"theirs": kind.title()} for kind in ("solver", "kernel", "sampler")}


def row(kind):
    return next(row for row in plugins.describe(kind) if row.name == "theirs")


@pytest.mark.parametrize("said", [(), (str(plugins.INTERFACE),), ("7", str(plugins.INTERFACE))])
@pytest.mark.parametrize("kind", POINTS)
def test_this_version_works(package, kind, said):  # noqa: F811
    package(SOURCE, POINTS, said)
    assert row(kind).status == "ok" and plugins.load(kind, "theirs").name == "theirs"


@pytest.mark.parametrize("kind", POINTS)
def test_a_newer_version_asks_for_svmkit(package, kind):  # noqa: F811
    package("raise RuntimeError('must not be imported')", POINTS, ["2", "10"], name="gizmo", version="3.4")
    found = row(kind)
    assert (found.status, found.plugin, found.package) == ("broken", None, "gizmo") and "\n" not in found.error
    words = (f"{kind} 'theirs' of package gizmo 3.4", "version 10 or 2 of", "has version 1", "--upgrade svmkit")
    assert all(word in found.error for word in words), found.error
    with pytest.raises(InputError, match="gizmo"):
        plugins.build(kind, "theirs")
    assert "theirs" not in {row.name for row in plugins.working(kind)}


@pytest.mark.parametrize("said", [(), ("1",)])
def test_an_older_version_asks_for_the_package(package, monkeypatch, said):  # noqa: F811
    """A package that declares nothing is one of version 1."""
    package(SOURCE, POINTS, said, name="gizmo")
    monkeypatch.setattr(plugins, "INTERFACE", 2)
    assert "version 1 of" in row("solver").error and "pip install --upgrade gizmo" in row("solver").error


def test_a_version_that_is_none(package):  # noqa: F811
    package(SOURCE, POINTS, ["one"])
    assert "'one' is no version: write 1" in row("kernel").error


def test_the_command_line_says_so(svmkit, refused, package, alone):  # noqa: F811
    package(SOURCE, POINTS, ["2"], name="gizmo")
    listed = svmkit("plugins", "--kind", "solver")
    line = next(line for line in listed.out.splitlines() if "theirs" in line)
    assert "BROKEN" in line and "gizmo 1.0" in line and "upgrade svmkit" in line
    refused(["gizmo", "version 2", "upgrade svmkit"], "check", "theirs")
    refused(["gizmo", "version 2", "upgrade svmkit"], "train", "iris", "--solver", "theirs", "--no-track")
