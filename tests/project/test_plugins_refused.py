"""Packages whose plugins cannot be used: each is refused in one line that names the package, and harms no other."""

import pytest
from support.plugin import package  # noqa: F401  a fixture
from support.refusals import refused

from svmkit import plugins
from svmkit.cluster import connect
from svmkit.errors import SvmkitWarning, Unavailable
from svmkit.kernels.engines import require_device
from svmkit.kernels.functions import RBF
from svmkit.losses import loss_names, make_loss
from svmkit.plugins import contracts

SOURCE = """
from dataclasses import dataclass

import typer

from svmkit.cluster import Cluster
from svmkit.errors import Unavailable
from svmkit.kernels import RBF, Precomputed
from svmkit.kernels.engines.products import DenseEngine
from svmkit.losses import Family, Huber, Loss
from svmkit.solver import Solver
from svmkit.tracking import Tracker


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


class Centred(Precomputed):
    name = "centred"


class Halfway(Cluster):
    schemes = ("tcp",)


class OneText(Cluster):
    schemes = "tcp"


class Everywhere(DenseEngine):
    name = "everywhere"
    devices = "cuda"


class Faulty(DenseEngine):
    name = "faulty"
    devices = ("abacus",)

    @classmethod
    def class_on(cls, device):
        raise KeyError(device)

    present = class_on


class Long(RBF):
    name = "k" * 33


class Blank(RBF):
    name = "a b"


class Posed(Solver):
    init = step = solution = None

    @classmethod
    def problem_for(cls, kernel):
        if kernel.name == "rbf":
            raise KeyError("a kernel")
        return cls.problem


class Object(Posed):
    @classmethod
    def problem_for(cls, kernel):
        return None


class Targets(Posed):
    problem_for = Solver.problem_for
    regression = "TubeQP"


class Needs(Posed):
    requires = "linear"


app = typer.Typer()


def function():
    pass


def __getattr__(name):
    if name == "Absent":
        raise Unavailable("needs an abacus: pip install abacus")
    if name == "WrongAbsent":
        raise Unavailable("needs an abacus: pip install abacus", function)
    raise AttributeError(name)
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
    ("solver", "posed", "Posed", ["problem_for(rbf) with 'a kernel'", "a type of problem for every kernel"]),
    ("solver", "object", "Object", ["returns None from problem_for(linear)", "svmkit.problems.Problem"]),
    ("solver", "targets", "Targets", ["'TubeQP' from regression_for(linear)", "svmkit.problems.Problem or None"]),
    ("solver", "needs", "Needs", ["requires = 'linear'", "svmkit.solver.Requires"]),
    ("kernel", "centred", "Centred", ["derives from Precomputed", "svmkit.kernels.Kernel"]),
    ("kernel", "k" * 33, "Long", ["of 33 characters", "32 at most"]),
    ("kernel", "a b", "Blank", ["has a name: take letters"]),
    ("solver", "elevenchars", "Bare", ["of 11 characters", "10 at most"]),
    ("command", "c" * 33, "app", ["of 33 characters", "32 at most"]),
    ("cluster", "halfway", "Halfway", ["lacks cancel", "a cluster defines"]),
    ("cluster", "onetext", "OneText", ["schemes = 'tcp'", "write a tuple of texts"]),
    ("engine", "everywhere", "Everywhere", ["devices = 'cuda'", "write a tuple of texts"]),
    ("command", "klass", "Huber", ["is no typer.Typer"]),
    ("tracker", "lossy", "Bare", ["is no class that derives from svmkit's Tracker"]),
    ("engine", "wrong", "WrongAbsent", ["is no class that derives from svmkit's Engine"]),
    *((kind, "function", "function", ["is no"]) for kind in plugins.KINDS),
    *((kind, "empty", "gizmo_plugins:", ["names nothing", "empty = MODULE:"]) for kind in plugins.KINDS),
]


def test_each_kind_has_a_contract():
    assert tuple(contracts.CONTRACTS) == plugins.KINDS
    for kind in plugins.KINDS:
        rows = [row for row in plugins.working(kind) if row.name != "precomputed"]  # no other kernel is of its sort
        for row in rows:
            assert contracts.fault(kind, row.name, row.plugin) is None, row


@pytest.mark.parametrize(("kind", "name", "attribute", "words"), WRONG)
def test_refused_when_it_is_looked_up(package, kind, name, attribute, words):  # noqa: F811
    package(SOURCE, {kind: {name: attribute}}, HERE, name="gizmo")
    refused([f"{kind} {name!r} of package gizmo 1.0", *words], plugins.load, kind, name)
    row = next(row for row in plugins.describe(kind) if row.name == name)
    assert (row.status, row.package) == ("broken", "gizmo") and "\n" not in row.error


def test_the_others_are_found(package):  # noqa: F811
    """They walk over all losses, and over all solvers."""
    package(
        SOURCE,
        {"loss": {"bare": "Bare"}, "solver": {"lossy": "Bare", "posed": "Posed"}, "kernel": {"function": "function"}},
        HERE,
    )
    assert "huber" in loss_names("regress") and "bare" not in loss_names()
    refused(["'hubber'", "did you mean huber"], make_loss, "hubber", "regress")
    assert "smo" in plugins.solvers_where(lambda solver: "hinge" in solver.loss_names())


@pytest.mark.parametrize("attribute", ["Absent", "WrongAbsent", "function", "OneText", "gizmo_plugins:"])
def test_addresses_and_devices_are_found_past_faulty_clusters_and_engines(package, attribute):  # noqa: F811
    package(SOURCE, {"cluster": {"aaa": attribute}, "engine": {"aaa": attribute}}, HERE, name="gizmo")
    require_device("auto")
    refused(["no engine computes on device 'abacus'"], require_device, "abacus")
    with pytest.raises(Unavailable, match=r"scheduler ucx://here:1: .*(gizmo|abacus)"):
        connect("ucx://here:1")


def test_an_engine_that_fails_to_say_where_it_computes_is_left_out(package):  # noqa: F811
    package(SOURCE, {"engine": {"faulty": "Faulty"}}, HERE, name="gizmo")
    with pytest.warns(SvmkitWarning, match="engine 'faulty' of gizmo is left out, since its present failed"):
        require_device("auto")
    with pytest.warns(SvmkitWarning, match="left out") as told:
        refused(["no engine computes on device 'abacus'"], require_device, "abacus")
    assert "its class_on failed with KeyError: 'abacus'" in str(told[0].message)


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
