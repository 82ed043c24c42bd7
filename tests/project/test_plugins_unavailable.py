"""Plugins that need software which is not installed; and options that only other solvers have."""

import importlib.util
from dataclasses import dataclass
from importlib.metadata import EntryPoint

import pytest
from support.refusals import refused

from svmkit import plugins
from svmkit.errors import Unavailable

FAST = """
from dataclasses import dataclass
from svmkit.errors import Unavailable

@dataclass(frozen=True)
class Fast:
    '''The fast one.'''
    cores: int = 4

raise Unavailable("needs fastlib: pip install fastlib", Fast)
"""


@dataclass(frozen=True)
class Sound:
    """Works."""


@pytest.fixture
def lacking(tmp_path, monkeypatch):
    """A solver that needs software which is not installed, one that is broken, and one that works."""
    (tmp_path / "tests_lacking.py").write_text(FAST)
    (tmp_path / "tests_bare.py").write_text(FAST.replace(", Fast)", ")"))
    (tmp_path / "tests_importing.py").write_text("import no_such_package_at_all\n")
    monkeypatch.syspath_prepend(tmp_path)
    modules = {"bare": "tests_bare:Fast", "fast": "tests_lacking:Fast", "wrong": "tests_importing:Thing"}
    found = {n: EntryPoint(n, v, "svmkit.solvers") for n, v in (modules | {"sound": f"{__name__}:Sound"}).items()}
    monkeypatch.setattr(plugins, "registered", lambda kind: found if kind == "solver" else {})


def test_unavailable_is_not_broken(lacking):
    rows = {row.name: row for row in plugins.describe("solver")}
    status = {name: row.status for name, row in rows.items()}
    assert status == {"bare": "unavailable", "fast": "unavailable", "wrong": "broken", "sound": "ok"}
    fast = rows["fast"]
    assert fast.error == "needs fastlib: pip install fastlib" == rows["bare"].error
    assert (fast.doc, fast.options) == ("The fast one.", {"cores": 4})  # known all the same
    assert (rows["bare"].doc, rows["bare"].plugin) == ("", None)
    assert rows["wrong"].plugin is None and "ModuleNotFoundError" in rows["wrong"].error


def test_unavailable_says_how_to_get_it(lacking):
    words = ["solver fast", "not available here", "needs fastlib: pip install fastlib"]
    assert isinstance(refused(words, plugins.load, "solver", "fast"), Unavailable)
    refused(words, plugins.build, "solver", "fast", {"cores": "2"})


def test_what_walks_over_solvers_leaves_it_out(lacking):
    assert [row.name for row in plugins.working("solver")] == ["sound"]
    assert plugins.solvers_where(lambda solver: True) == ["sound"]


def test_sklearnex_is_listed_wherever_it_can_be_used():
    (row,) = (row for row in plugins.describe("solver") if row.name == "sklearnex")
    assert row.plugin.name == "sklearnex" and row.options == {"eps": 1e-3, "shrinking": True}
    if importlib.util.find_spec("sklearnex"):
        assert row.status == "ok"
    else:
        assert row.status == "unavailable" and "pip install scikit-learn-intelex" in row.error


# --- options of other solvers


def test_an_option_that_others_have_names_them():
    words = ["dcd", "'penalty'", "it has loss", "with penalty: ", "folos", "liblinear"]
    refused(words, plugins.build, "solver", "dcd", {"penalty": "l1"})
    words = ["swap2o", "'loss'", "its loss is squared_hinge", "with loss=hinge: ", "dcd", "libsvm", "smo"]
    message = str(refused(words, plugins.build, "solver", "swap2o", {"loss": "hinge"}))
    assert "fw" not in message
    refused(["fw", "'frobnicate'", "it has none"], plugins.build, "solver", "fw", {"frobnicate": "3"})
    message = str(refused(["kernel rbf", "'eta'", "it has gamma"], plugins.build, "kernel", "rbf", {"eta": "3"}))
    assert "with eta" not in message


@pytest.mark.parametrize("name", ["dcd", "liblinear", "smo"])
def test_a_loss_that_is_none(name):
    refused([name, "loss='log'", "hinge, squared_hinge"], plugins.build, "solver", name, {"loss": "log"})
    assert plugins.build("solver", name, {"loss": "squared_hinge"}).loss == "squared_hinge"
