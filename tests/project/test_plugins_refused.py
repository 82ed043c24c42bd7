"""Packages whose plugins cannot be used: each is refused in one line that names the package, and harms no other."""

import pytest
from support.plugin import package  # noqa: F401  a fixture
from support.refusals import refused

from svmkit import plugins
from svmkit.kernels.functions import RBF
from svmkit.losses import loss_names, make_loss

SOURCE = """
from dataclasses import dataclass

from svmkit.kernels import RBF
from svmkit.losses import Family, Huber, Loss


@dataclass(frozen=True)
class Bare(Loss):
    "A loss that says nothing of its family."
    name = "bare"
    task = "regress"

    def value(self, target, h):
        return abs(target - h)

    def terms(self, target, C):
        raise NotImplementedError


class Text(Bare):
    name = "text"
    family = "BOUNDED"


class Task(Bare):
    name = "task"
    family = Family.BOUNDED
    task = "regression"


class Half(Loss):
    name = "half"
    family = Family.BOUNDED


class Nameless(Huber):
    pass


class Theirs(RBF):
    name = "twin"


def function():
    pass
"""
HERE = (str(plugins.INTERFACE),)
WRONG = [
    ("loss", "bare", "Bare", ["lacks family", "Family.BOUNDED", "svmkit.losses.Family"]),
    ("loss", "text", "Text", ["family 'BOUNDED'", "Family.BOUNDED"]),
    ("loss", "task", "Task", ["task 'regression'", "classify or regress"]),
    ("loss", "half", "Half", ["lacks value, terms"]),
    ("loss", "nameless", "Nameless", ["calls itself 'huber'", "name = 'nameless'"]),
    ("solver", "nobody", "no_such_module:Thing", ["ModuleNotFoundError", "no_such_module"]),
    ("solver", "gone", "Gone", ["AttributeError", "Gone"]),
    ("solver", "lossy", "Bare", ["is no class that derives from svmkit's Solver"]),
    *((kind, "function", "function", ["is no class"]) for kind in ("solver", "kernel", "loss", "sampler", "engine")),
]


@pytest.mark.parametrize(("kind", "name", "attribute", "words"), WRONG)
def test_refused_when_it_is_looked_up(package, kind, name, attribute, words):  # noqa: F811
    package(SOURCE, {kind: {name: attribute}}, HERE, name="gizmo")
    refused([f"{kind} {name!r} of package gizmo 1.0", *words], plugins.load, kind, name)
    row = next(row for row in plugins.describe(kind) if row.name == name)
    assert (row.status, row.package) == ("broken", "gizmo") and "\n" not in row.error


def test_the_others_are_found(package):  # noqa: F811
    """They walk over all losses, and over all solvers."""
    package(SOURCE, {"loss": {"bare": "Bare"}, "solver": {"lossy": "Bare"}, "kernel": {"function": "function"}}, HERE)
    assert "huber" in loss_names("regress") and "bare" not in loss_names()
    refused(["'hubber'", "did you mean huber"], make_loss, "hubber", "regress")
    assert "smo" in plugins.solvers_where(lambda solver: "hinge" in solver.loss_names())


def test_a_file_is_told_the_same(svmkit, refused, tmp_path):
    (tmp_path / "lossy.py").write_text(SOURCE)
    refused(["lossy.py: class Bare (loss 'bare') lacks family"], "check", "--plugin", str(tmp_path / "lossy.py"))


def test_the_name_of_a_built_in_one_stays_ours(package):  # noqa: F811
    package(SOURCE, {"kernel": {"rbf": "Theirs"}}, HERE, name="gizmo")
    assert plugins.load("kernel", "rbf") is RBF and plugins.names("kernel").count("rbf") == 1
    ours, theirs = (row for row in plugins.describe("kernel") if row.name == "rbf")
    assert (ours.package, ours.status, theirs.package, theirs.status) == ("svmkit", "ok", "gizmo", "broken")
    assert "kernel 'rbf' of package gizmo 1.0" in theirs.error and "svmkit's own" in theirs.error


def test_two_packages_with_one_name(package):  # noqa: F811
    for name in ("widget", "gizmo"):
        package(SOURCE, {"kernel": {"twin": "Theirs"}}, HERE, name=name)
    refused(["kernel 'twin'", "2 packages", "gizmo, widget", "uninstall"], plugins.load, "kernel", "twin")
    assert [row.status for row in plugins.describe("kernel") if row.name == "twin"] == ["broken"]


def test_all_of_ours_is_listed_as_svmkit_in_the_smaller_distribution(package):  # noqa: F811
    package("", {"kernel": {"core": "function"}}, HERE, name="svmkit-core")
    assert plugins.package_name(plugins.registered("kernel")["core"]) == "svmkit"
