"""Plugin discovery: lazy, complete, one at a time, and a wrong name or option lists the right ones."""

import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import EntryPoint

import pytest
from support.refusals import refused

from svmkit import plugins
from svmkit.errors import InputError, UnknownName
from svmkit.kernels.functions import Kernel
from svmkit.solver.base import Solver
from svmkit.solver.requirements import Requires
from svmkit.solver.sampler import Sampler
from svmkit.solver.selection import by_name

BUILT_IN = {
    "solver": {
        "auto", "bmrm", "cvm", "dcd", "folos", "fw", "liblinear", "libsvm", "mdm", "mfw", "msfw", "newton", "norma",
        "ocas", "partan", "pegasos", "sfw", "sgd", "sgdqn", "sklearnex", "smo", "smo1", "smol2", "svmlight", "svmperf",
        "swap", "swap2o",
    },
    "kernel": {"laplacian", "linear", "poly", "precomputed", "rbf", "sigmoid"},
    "sampler": {"balanced", "cyclic", "full", "permuted", "shuffled", "uniform"},
    "tracker": {"mlflow"},
}  # fmt: skip


@dataclass(frozen=True)
class Knobs:
    """Something with every kind of option.

    More about it.
    """

    rate: float = 0.5
    rounds: int = 3
    eager: bool = False
    rule: str = "best"

    def __post_init__(self):
        if self.rounds < 0:
            raise InputError(f"rounds must be >= 0, not {self.rounds}")


class Bare:
    pass


NO_NUMBER = 3


@pytest.fixture
def registered(monkeypatch):
    """registered(kind, name="module:attr", ...): these entry points instead of the installed ones."""

    def register(kind, **points):
        found = {n: EntryPoint(n, value, f"svmkit.{kind}s") for n, value in sorted(points.items())}
        monkeypatch.setattr(plugins, "registered", lambda k: found if k == kind else {})

    return register


# --- names


@pytest.mark.parametrize("kind", BUILT_IN)
def test_built_ins_are_found_sorted(kind):
    names = plugins.names(kind)
    assert set(names) >= BUILT_IN[kind] and names == sorted(names)


def test_kind_without_plugins():
    assert plugins.names("nothing") == []


def test_names_agree_with_the_classes():
    for kind, base in (("solver", Solver), ("kernel", Kernel), ("sampler", Sampler)):
        for row in plugins.describe(kind):
            assert issubclass(row.plugin, base) and row.plugin.name == row.name and row.doc
            assert kind != "solver" or len(row.name) <= 10


def test_solvers_say_what_they_need():
    for row in plugins.working("solver"):
        solver = plugins.build("solver", row.name)
        assert all(isinstance(need, Requires) for need in solver.requires)
        assert solver.params == plugins.options(type(solver)) == row.options


def test_metadata_are_parsed_once(monkeypatch):
    rows = plugins.describe("loss")
    assert {row.package for row in rows} == {"svmkit"}
    package = plugins.registered("loss")["hinge"].dist  # of importlib, or of its backport where that was imported first
    kind, parsed = type(package), []
    metadata = kind.metadata.fget
    monkeypatch.setattr(kind, "metadata", property(lambda package: parsed.append(package) or metadata(package)))
    assert package.name == "svmkit" and len(parsed) == 1
    assert plugins.describe("loss") == rows and len(parsed) == 1


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_listing_imports_no_plugin():
    code = (
        "import sys; from svmkit import plugins\n"
        "for kind in plugins.KINDS: plugins.names(kind)\n"
        "print(*{m for m in sys.modules if m.startswith('svmkit')}, *{m.partition('.')[0] for m in sys.modules})"
    )
    loaded = set(run(code))
    assert "svmkit.plugins" in loaded
    assert not {m for m in loaded if m.startswith("svmkit_")}
    assert not loaded & {"mlflow", "numpy", "numba", "sklearn", "svmkit.kernels", "svmkit.solver"}


def test_loading_one_imports_no_other():
    code = (
        "import sys; from svmkit import plugins; plugins.load('solver', 'mdm')\n"
        "print(*{m for m in sys.modules if m.startswith('svmkit_')}, 'mlflow' in sys.modules)"
    )
    loaded = run(code)
    assert "svmkit_frank_wolfe.mdm" in loaded and "False" in loaded
    assert not {"svmkit_frank_wolfe.fw", "svmkit_frank_wolfe.partan"} & set(loaded)
    assert not [m for m in loaded if m.startswith("svmkit_registry")]


# --- wrong names


@pytest.mark.parametrize(
    ("kind", "wrong", "meant"),
    [
        ("solver", "swpa", "swap"),
        ("kernel", "rfb", "rbf"),
        ("sampler", "unifrom", "uniform"),
        ("tracker", "mlfow", "mlflow"),
    ],
)
def test_wrong_name_lists_the_right_ones(kind, wrong, meant):
    error = refused([kind, repr(wrong), f"did you mean {meant}", *BUILT_IN[kind]], plugins.load, kind, wrong)
    assert isinstance(error, UnknownName) and isinstance(error, ValueError)


def test_name_that_is_like_none():
    error = refused(["zzzzzz", "swap2o"], plugins.load, "solver", "zzzzzz")
    assert "did you mean" not in str(error)


def test_no_plugins_at_all(registered):
    registered("solver")
    refused(["none"], plugins.load, "solver", "swap2o")


# --- broken ones

BROKEN = {
    "absent": "no_such_package_at_all:Thing",
    "lacking": "tests_lack:Missing",
    "syntax": "tests_syntax:Thing",
    "raising": "tests_raising:Thing",
    "sound": f"{__name__}:Knobs",
    "bare": f"{__name__}:Bare",
}


@pytest.fixture
def broken(registered, tmp_path, monkeypatch):
    (tmp_path / "tests_lack.py").write_text("x = 1\n")
    (tmp_path / "tests_syntax.py").write_text("def (:\n")
    (tmp_path / "tests_raising.py").write_text("raise RuntimeError('needs a GPU\\nand more')\n")
    monkeypatch.syspath_prepend(tmp_path)
    registered("solver", **BROKEN)


def test_describe_carries_errors(broken):
    rows = {row.name: row for row in plugins.describe("solver")}
    assert list(rows) == sorted(BROKEN)
    assert rows["sound"].error is None and rows["bare"].error is None
    for name, word in {
        "absent": "ModuleNotFoundError",
        "lacking": "Missing",
        "syntax": "SyntaxError",
        "raising": "needs a GPU",
    }.items():
        assert word in rows[name].error and name in rows[name].error and rows[name].options == {}
    assert rows["sound"].doc == "Something with every kind of option."
    assert rows["sound"].options == {"rate": 0.5, "rounds": 3, "eager": False, "rule": "best"}
    assert rows["bare"].doc == "" and rows["bare"].options == {}


def test_a_broken_one_stops_nobody_else(broken):
    assert plugins.names("solver") == sorted(BROKEN)
    assert plugins.build("solver", "sound") == Knobs()
    with pytest.raises(InputError, match=r"'absent' \(no_such_package_at_all:Thing\) is broken: ModuleNotFoundError"):
        plugins.load("solver", "absent")


def test_errors_of_a_broken_one_keep_their_cause(broken):
    with pytest.raises(InputError) as caught:
        plugins.load("solver", "raising")
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_exit_during_import_is_a_broken_plugin(registered, tmp_path, monkeypatch):
    """A script registered by mistake must not end the listing."""
    (tmp_path / "tests_exiting.py").write_text("raise SystemExit(3)\n")
    monkeypatch.syspath_prepend(tmp_path)
    registered("solver", exiting="tests_exiting:Thing", sound=f"{__name__}:Knobs")
    rows = {row.name: row for row in plugins.describe("solver")}
    assert rows["exiting"].error and rows["sound"].error is None


def test_describe_built_ins():
    for kind in ("solver", "kernel", "sampler"):
        for row in plugins.describe(kind):
            assert row.kind == kind and row.doc and row.package == "svmkit"
            assert row.status == "ok" or (row.name, row.status) == ("sklearnex", "unavailable"), row.error


# --- options


@pytest.fixture
def knobs(registered):
    registered("solver", knobs=f"{__name__}:Knobs", bare=f"{__name__}:Bare")
    return lambda **values: plugins.build("solver", "knobs", values)


def test_build_with_defaults_and_values(knobs):
    assert knobs() == Knobs()
    assert plugins.build("solver", "knobs", None) == Knobs()
    assert knobs(rate=2.0, rounds=7, eager=True, rule="first") == Knobs(2.0, 7, True, "first")


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ({"rate": "1e-3"}, 1e-3),
        ({"rate": "2"}, 2.0),
        ({"rounds": "12"}, 12),
        ({"rule": "12"}, "12"),
        *(({"eager": text}, True) for text in ("true", "True", "yes", "1", "on")),
        *(({"eager": text}, False) for text in ("false", "FALSE", "no", "0", "off")),
    ],
)
def test_text_becomes_the_type_of_the_default(knobs, given, value):
    (key,) = given
    built = getattr(knobs(**given), key)
    assert built == value and type(built) is type(value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"rate": "fast"}, ["knobs", "rate", "fast", "a number"]),
        ({"rounds": "1.5"}, ["knobs", "rounds", "1.5", "a whole number"]),
        ({"rounds": ""}, ["rounds"]),
        ({"eager": "perhaps"}, ["eager", "perhaps", "true or false"]),
        ({"rat": "1"}, ["knobs", "'rat'", "rate, rounds, eager, rule"]),
        ({"rounds": "-1"}, ["rounds must be >= 0, not -1"]),
    ],
)
def test_wrong_options(knobs, given, words):
    refused(words, plugins.build, "solver", "knobs", given)


def test_plugin_without_options(knobs):
    assert isinstance(plugins.build("solver", "bare"), Bare)
    refused(["bare", "'rate'", "none"], plugins.build, "solver", "bare", {"rate": "1"})


def test_given_values_are_not_changed(knobs):
    values = {"rate": "0.25"}
    plugins.build("solver", "knobs", values)
    assert values == {"rate": "0.25"}


def test_kernel_parameters_of_the_command_line_and_of_a_model_file():
    assert plugins.build("kernel", "rbf", {"gamma": "0.5"}).gamma == 0.5
    assert plugins.build("kernel", "rbf", {"gamma": 0.5}).gamma == 0.5
    assert plugins.build("kernel", "rbf", {"gamma": "msd"}).gamma == "msd"
    poly = plugins.build("kernel", "poly", {"degree": "2", "coef0": "1"})
    assert (poly.degree, poly.coef0) == (2, 1.0) and isinstance(poly.degree, int)


# --- samplers


def test_sampler_with_size():
    sampler = by_name.sampler("uniform:59")
    assert sampler.name == "uniform" and sampler.size == 59 and sampler.every is False
    assert by_name.sampler("uniform") == by_name.sampler("uniform:59")
    assert by_name.sampler("balanced:8").size == 8
    assert by_name.sampler("full").every is True


def test_sampler_that_is_one_already():
    sampler = by_name.sampler("cyclic:5")
    assert by_name.sampler(sampler) is sampler


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("uniform:0", [">= 1", "0"]),
        ("uniform:-3", [">= 1", "-3"]),
        ("uniform:many", ["uniform", "many", "whole number"]),
        ("uniform:1.5", ["1.5", "whole number"]),
        ("uniform:5:6", ["5:6", "whole number"]),
        ("uniform:", ["uniform"]),
        ("full:3", ["full", "full:3"]),
        ("unifrom:3", ["unifrom", "uniform"]),
        ("", ["sampler"]),
        (":3", ["sampler"]),
    ],
)
def test_wrong_samplers(text, words):
    refused(words, by_name.sampler, text)
