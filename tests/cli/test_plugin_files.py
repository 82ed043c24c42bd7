"""Plugins in one file: how it is loaded, what is refused, and every command that takes --plugin."""

import json
import os
import pickle
import sys
from hashlib import sha256
from pathlib import Path

import pytest
from support.plugin import HEAD, MINE, unloaded  # noqa: F401  a fixture

from svmkit import SVMClassifier, plugins
from svmkit.cli.app import command
from svmkit.errors import InputError
from svmkit.model.model import SVMModel
from svmkit.plugins import PluginFile

pytestmark = pytest.mark.usefixtures("alone", "unloaded")

KERNEL = """
import numpy as np
from dataclasses import dataclass
from numba import njit
from svmkit.kernels import Kernel

@njit
def overlaps(X, Z):
    values = np.empty((X.shape[0], Z.shape[0]))
    for i in range(X.shape[0]):
        for j in range(Z.shape[0]):
            values[i, j] = np.minimum(X[i], Z[j]).sum()
    return values

@dataclass(frozen=True)
class Overlap(Kernel):
    '''k(x, z) = sum min(x, z), compiled.'''
    name = "overlap"
    def block(self, X, Z):
        return overlaps(np.asarray(X, dtype=np.float64), np.asarray(Z, dtype=np.float64))
    def diag(self, X):
        return np.asarray(X, dtype=np.float64).sum(axis=1)
"""


def wrote(name, text):
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def digest(path):
    return sha256(Path(path).read_bytes()).hexdigest()


# --- what is registered


def test_the_classes_of_a_file_with_a_name_and_no_others():
    text = MINE + (
        "class Base(Solver): 'has no name, and is abstract'\n"
        "Alias = Mine\n"
        "class Further(Mine):\n    'further'\n    name = 'further'\n"
        "class Own(RBF):\n    'a kernel'\n    name = 'mine'\n"
        "class Some(Uniform):\n    'a sampler'\n    name = 'some'\n"
    )
    before = {kind: plugins.names(kind) for kind in plugins.KINDS}
    assert plugins.load_file(wrote("mine.py", text)) == ["mine", "further", "mine", "some"]
    new = {kind: sorted(set(plugins.names(kind)) - set(before[kind])) for kind in plugins.KINDS}
    assert {kind: names for kind, names in new.items() if names} == {
        "solver": ["further", "mine"], "kernel": ["mine"], "sampler": ["some"]
    }  # fmt: skip
    (row,) = (row for row in plugins.describe("solver") if row.name == "mine")
    assert (row.package, row.status, row.doc) == ("mine.py", "ok", "SMO by another name.")
    for names in ({"solver": "mine", "kernel": "mine"}, {"solver": "swap2o", "sampler": "some"}):
        assert SVMClassifier(**names).fit([[0.0], [1.0]], [0, 1]).gap_ <= 1e-3


@pytest.mark.posix  # links
def test_a_file_is_one_module_however_it_is_named_and_runs_once():
    path = wrote("sub/mine.py", MINE + "from pathlib import Path\nPath('runs').open('a').write('x')\n")
    Path("link.py").symlink_to(path)
    for name in (path, str(path.resolve()), "sub/../sub/mine.py", "link.py"):
        assert plugins.load_file(name) == ["mine"]
    assert Path("runs").read_text() == "x" and len(plugins.files()) == 1


def test_two_files_of_one_stem():
    wrote("a/mine.py", MINE)
    wrote("b/mine.py", MINE.replace('"mine"', '"other"'))
    assert plugins.load_files(["a/mine.py", "b/mine.py"]) == ["mine", "other"]
    mine, other = plugins.load("solver", "mine"), plugins.load("solver", "other")
    assert mine is not other and mine.__module__ != other.__module__
    assert [file.path for file in plugins.files()] == [str(Path(f"{x}/mine.py").resolve()) for x in "ab"]


def test_a_changed_file_replaces_its_earlier_version_and_a_broken_one_does_not():
    path = wrote("mine.py", MINE)
    plugins.load_file(path)
    first = plugins.load("solver", "mine")
    wrote("mine.py", MINE + "1 / 0\n")
    with pytest.raises(InputError, match=r"mine\.py:12: ZeroDivisionError"):
        plugins.load_file(path)
    assert plugins.load("solver", "mine") is first and sys.modules[first.__module__].Mine is first
    wrote("mine.py", MINE.replace('"mine"', '"newer"'))
    assert plugins.load_file(path) == ["newer"] and "mine" not in plugins.names("solver")


def test_another_process_loads_what_was_read_even_when_the_file_is_gone(monkeypatch):
    path = wrote("mine.py", MINE + "import numba\n@numba.njit\ndef one():\n    return 1\n")
    plugins.load_file(path)
    solver, files = pickle.dumps(plugins.build("solver", "mine")), pickle.dumps(plugins.files())
    path.unlink()
    module = plugins.load("solver", "mine").__module__
    monkeypatch.delitem(sys.modules, module)  # as in a worker
    monkeypatch.setattr("svmkit.plugins.plugin_file._loaded", {})
    plugins.registered.cache_clear()
    assert plugins.load_files(pickle.loads(files)) == ["mine"]
    assert pickle.loads(solver) == plugins.build("solver", "mine") and sys.modules[module].one() == 1


def test_an_instance_needs_no_name():
    plugins.load_file(wrote("mine.py", MINE))
    solver = plugins.load("solver", "mine")()
    assert SVMClassifier(solver=solver).fit([[0.0], [1.0]], [0, 1]).status_ == "converged"


# --- what is refused, in one line


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\ndef (:\n", ["mine.py:2: SyntaxError: invalid syntax"]),
        (b"\0\1\2", ["mine.py: SyntaxError", "null bytes"]),
        ("s = 'é'".encode("latin-1"), ["mine.py:1: SyntaxError", "utf-8"]),
        ("def f():\n    raise RuntimeError('no\\nGPU')\nf()\n", ["mine.py:2: RuntimeError: no GPU"]),
        ("import json\njson.loads('{')\n", ["mine.py:2: JSONDecodeError"]),
        ("import nowhere_at_all\n", ["mine.py:1: ModuleNotFoundError", "nowhere_at_all"]),
        ("raise SystemExit(3)\n", ["mine.py:1: SystemExit: 3"]),
        ("", ["mine.py defines no plugin", "svmkit.solver.Solver", "svmkit new solver"]),
        (HEAD, ["mine.py defines no plugin"]),
        (HEAD + "class A(SMO): ...\n", ["class A has no name of its own", 'name = "..."']),
        (HEAD + "class A(SMO):\n    name = 'elevenchars'\n", ["class A", "'elevenchars' of 11 characters", "10"]),
        (HEAD + "class A(SMO):\n    name = 'a b'\n", ["class A", "'a b'", "letters, digits, _ and -"]),
        (HEAD + "class A(SMO):\n    name = 3\n", ["class A has the name 3"]),
        (
            HEAD + "class A(Solver):\n    name = 'a'\n    def init(self, *a): ...\n",
            ["solver 'a'", "lacks step, solution"],
        ),
        (HEAD + "class A(Sampler):\n    name = 'a'\n", ["sampler 'a'", "lacks draws"]),
        (HEAD + "class A(Kernel):\n    name = 'a'\n    def diag(self, X): ...\n", ["kernel 'a'", "lacks block:"]),
        (HEAD + "class A(SMO):\n    name = 'swap'\n", ["class A", "solver 'swap' already (package svmkit)"]),
        (MINE + "class A(SMO):\n    name = 'mine'\n", ["classes Mine and A are both solver 'mine'"]),
    ],
)
def test_a_file_that_cannot_be_used(refused, text, words):
    wrote("mine.py", text)
    refused(words, "plugins", "--plugin", "mine.py")
    assert plugins.files() == () and not [name for name in sys.modules if name.startswith("plugin_file_mine")]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("none.py", ["none.py is not there"]),
        (".", ["'.'", "no regular file"]),
        (os.devnull, ["no regular file"]),
        ("a\0b", ["null byte"]),
    ],
)
def test_a_file_that_cannot_be_read(refused, name, words):
    refused(words, "train", "iris", "--plugin", name)


def test_a_name_of_another_file(refused):
    wrote("a.py", MINE)
    wrote("b.py", MINE)
    refused(
        ["b.py: class Mine", "solver 'mine' already (file a.py)"], "plugins", "--plugin", "a.py", "--plugin", "b.py"
    )


def test_nothing_is_loaded_unless_it_is_named(svmkit, refused):
    wrote("mine.py", MINE + "raise SystemExit('it ran')\n")
    assert svmkit("plugins").code == 0 and svmkit("train", "--plugin", "mine.py", "--help").code == 0
    refused(
        ["no solver 'mine'", "to load mine.py: --plugin mine.py"], "train", "iris", "--solver", "mine", "--no-track"
    )


TAKERS = {"train", "tune", "compare", "check", "warmup", "plugins", "predict", "evaluate", "show", "export"}


def test_the_commands_that_take_it_say_that_it_is_code(svmkit):
    options = {name: {o for p in its.params for o in p.opts} for name, its in command().commands.items()}
    assert {name for name, has in options.items() if "--plugin" in has} >= TAKERS
    told = " ".join(svmkit("show", "--help").out.replace("│", " ").split())
    assert "It is code that runs with your rights, and is loaded only if it is named here" in told


# --- the commands


def test_train_keeps_stdout_for_results_and_records_the_file(svmkit):
    path = wrote("mine.py", MINE + "print('a word')\n")
    done = svmkit(
        "train", "iris", "--plugin", "mine.py", "--solver", "mine", "--no-track", "--json", "--out", "m.svmkit"
    )
    assert done.json["solver"] == "mine" and done.json["status"] == "converged" and "a word" in done.err
    params = SVMModel.load("m.svmkit").about["params"]
    assert (params["plugin"], params["plugin_sha256"]) == ("mine.py", digest(path))
    assert "plugin=mine.py" in svmkit("show", "m.svmkit").out  # a model with a built-in kernel needs no file
    wrote("train.yaml", "plugin: mine.py\nsolver: mine\n")
    assert svmkit("train", "iris", "--config", "train.yaml", "--no-track", "--json").json["solver"] == "mine"


def test_a_model_with_a_kernel_of_a_file(svmkit, refused, monkeypatch):
    path = wrote("own.py", KERNEL)
    given = ("--plugin", "own.py")
    fitted = svmkit("train", "iris", *given, "--kernel", "overlap", "--no-track", "--json", "--out", "m.svmkit").json
    labels = svmkit("predict", *given, "m.svmkit", "iris").out
    measured = svmkit("evaluate", *given, "m.svmkit", "iris", "--json").json
    assert measured["test_accuracy"] == fitted["train_accuracy"] > 0.9
    refused(["ONNX cannot hold"], "export", *given, "m.svmkit", "--onnx", "m.onnx")
    wrote("own.py", KERNEL + "# changed\n")
    done = svmkit("predict", *given, "m.svmkit", "iris")
    assert done.out == labels and "trained with another version of own.py" in done.err
    monkeypatch.setattr("svmkit.plugins.plugin_file._loaded", {})
    plugins.registered.cache_clear()
    refused(["needs the kernel 'overlap'", "plugin file 'own.py'", "--plugin FILE.py"], "predict", "m.svmkit", "iris")
    assert path.exists()


def test_check_takes_all_plugins_of_a_file(svmkit, refused):
    wrote("own.py", HEAD + "class Good(RBF):\n    'rbf'\n    name = 'good'\nclass Bad(RBF):\n    name = 'bad'\n")
    done = svmkit("check", "--plugin", "own.py", "--json")
    found = json.loads(done.out)
    assert done.code == 1 and found["passed"] is False
    assert {each["name"]: each["passed"] for each in found["plugins"]} == {"good": True, "bad": False}
    one = svmkit("check", "good", "--plugin", "own.py", "--json").json
    assert (one["name"], one["passed"]) == ("good", True)
    refused(["name a solver, kernel, loss, sampler or engine", "--plugin FILE.py"], "check")
    refused(["own.py", "no solver"], "check", "--plugin", "own.py", "--kind", "solver")


@pytest.mark.slow
def test_a_comparison_loads_it_in_workers_and_notices_a_change(svmkit):
    wrote("in/mine.py", MINE + KERNEL)
    text = "plugins: [mine.py]\ndata: {iris: {kernel: [overlap, rbf]}}\nsolvers: [mine, smo]\n"
    wrote("in/spec.yaml", text)
    run = ("compare", "--spec", "in/spec.yaml", "--no-track", "--json")

    def ran(done):
        assert done.code == 0, done.err
        records = [json.loads(line) for line in done.out.splitlines()]
        assert {record["status"] for record in records} == {"converged"}
        return done.err.count("converged")

    assert ran(svmkit(*run)) == 4
    before = digest("in/mine.py")
    lines = [json.loads(line) for line in Path("spec.jsonl").read_text().splitlines()]
    used = [line["settings"].get("plugins", {}) for line in lines]
    assert sorted(map(len, used)) == [0, 1, 1, 2]  # smo with rbf is of no file
    assert {its for cell in used for its in cell.values()} == {before}
    assert {name for cell in used for name in cell} == {"solver mine", "kernel overlap"}
    assert ran(svmkit(*run)) == 0
    wrote("in/mine.py", MINE + KERNEL + "# changed\n")
    done = svmkit(*run)
    assert ran(done) == 3
    assert "2 cells in spec.jsonl are of another version of solver mine's file: they are run again" in done.err


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "dask"])
def test_a_search_loads_it_in_workers(svmkit, backend):
    if backend == "dask":
        pytest.importorskip("distributed")
    wrote("mine.py", MINE)
    args = ("--plugin", "mine.py", "--solver", "mine", "--grid", "C=1,10", "--grid", "gamma=0.1,1", "--cv", "2")
    done = svmkit("tune", "iris", *args, "--jobs", "2", "--backend", backend, "--no-track", "--json").json
    assert done["solver"] == "mine" and done["n_candidates"] == 4 and done["best"]["mean_accuracy"] > 0.9
    assert all(candidate["mean_accuracy"] for candidate in done["candidates"])


def test_ray_is_refused(monkeypatch):
    from svmkit.tune import backends

    plugins.load_file(wrote("mine.py", MINE))
    with pytest.raises(InputError, match="cannot go to workers of ray"), backends.running("ray", 2, 1):
        raise AssertionError


@pytest.mark.parametrize("named", ["{a: 3}", "[3]"])
def test_a_spec_that_names_no_files(refused, named):
    wrote("spec.yaml", f"plugins: {named}\ndata: iris\nsolvers: [smo]\n")
    refused(["spec.yaml", "plugins should be Python files"], "compare", "--spec", "spec.yaml")


def test_a_plugin_file_is_small_to_pickle():
    file = PluginFile.read(wrote("mine.py", MINE))
    assert len(pickle.dumps(file)) < len(MINE) + 500 and pickle.loads(pickle.dumps(file)) == file
