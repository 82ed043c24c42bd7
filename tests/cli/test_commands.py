"""The other commands, what each command imports, and tracking."""

import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from support.cli import process

from svmkit import plugins
from svmkit.cli.app import command
from svmkit.cli.extending.warming import divide, steps

pytestmark = pytest.mark.usefixtures("alone")

# --- other commands


def test_plugins_lists_all_kinds(svmkit):
    rows = svmkit("plugins", "--json").json
    assert {"kind", "name", "package", "doc", "options", "error", "status"} <= set(rows[0])
    listed = {(row["kind"], row["name"]) for row in rows}
    assert {("solver", "swap2o"), ("kernel", "rbf"), ("sampler", "uniform"), ("tracker", "mlflow")} <= listed
    assert not [row for row in rows if row["status"] == "broken"]
    assert all(row["doc"] for row in rows)
    only = svmkit("plugins", "--kind", "kernel", "--json").json
    assert {row["kind"] for row in only} == {"kernel"}


def test_plugins_for_a_reader(svmkit):
    done = svmkit("plugins", "--kind", "sampler")
    assert done.code == 0
    for name in ("balanced", "cyclic", "full", "permuted", "uniform"):
        assert name in done.out


@pytest.mark.slow
@pytest.mark.parametrize("name", ["swap2o", "rbf", "uniform"])
def test_check_built_ins(svmkit, name):
    done = svmkit("check", name, "--json")
    assert done.json["passed"] and done.json["name"] == name
    assert all(set(check) == {"check", "problem", "expected", "where"} for check in done.json["checks"])


def test_check_for_a_reader(svmkit):
    done = svmkit("check", "full")
    assert done.code == 0 and "holds" in done.out and "full" in done.out.splitlines()[-1]


def test_datasets(svmkit):
    listed = svmkit("datasets", "list", "--json").json
    assert [row["name"] for row in listed if row["origin"] == "built-in"] == [
        "breast_cancer", "diabetes", "digits", "iris", "wine",
    ]  # fmt: skip
    assert svmkit("datasets", "list").out.split()[0] == "breast_cancer"
    about = svmkit("datasets", "info", "iris", "--json").json
    assert about["n_samples"] == 150 and about["classes"] == {"setosa": 50, "versicolor": 50, "virginica": 50}
    assert "setosa: 50" in svmkit("datasets", "info", "iris").out


@pytest.mark.data
def test_datasets_of_the_data_folder(real, svmkit):
    rows = svmkit("datasets", "list", "--json").json
    assert {"a1a", "a1a.t"} <= {row["name"] for row in rows if row["origin"] == "$SVMKIT_DATA"}


@pytest.mark.slow
def test_warmup(svmkit, refused):
    steps = [step["step"] for step in svmkit("warmup", "dcd", "smo", "--json").json["steps"]]
    assert steps[:2] == ["solver dcd", "solver smo"] and not any(step.startswith("solver") for step in steps[2:])
    assert {"regression, solver dcd", "regression, solver smo"} <= set(steps)
    refused(["solver", "'dcc'", "did you mean dcd"], "warmup", "dcc")


AFTER_A_WARM_UP = """
import gc
from numba.core.dispatcher import Dispatcher
from sklearn.datasets import load_diabetes, load_digits, load_iris
from svmkit import SVMClassifier, SVMRegressor
from svmkit.cli.extending import warming

for _, work in warming.steps(["smo"]):
    work()
forms = lambda: {f"{d.py_func.__module__}.{d.py_func.__name__}{s}" for d in dispatchers for s in d.overloads}
dispatchers = [one for one in gc.get_objects() if isinstance(one, Dispatcher)]
before = forms()
for X, y in (load_iris(return_X_y=True), load_digits(n_class=2, return_X_y=True), load_digits(return_X_y=True)):
    SVMClassifier("smo").fit(X, y)
SVMRegressor("smo").fit(*load_diabetes(return_X_y=True))
print(*sorted(forms() - before), sep="\\n")
"""


@pytest.mark.slow
def test_a_warm_up_leaves_nothing_to_compile_for_everyday_sets():
    done = subprocess.run([sys.executable, "-c", AFTER_A_WARM_UP], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_warmup_takes_every_solver_that_compiles():
    names = [name.removeprefix("solver ") for name, _ in steps() if name.startswith("solver ")]
    assert names == [name for name in plugins.names("solver") if name not in ("libsvm", "liblinear", "sklearnex")]


def test_warmup_takes_regression_where_a_solver_has_it_and_begins_with_what_takes_longest():
    rest = {name for name, _ in steps(["smo"])} - {"solver smo", "regression, solver smo"}
    found = divide(["dcd", "pegasos", "smo", "smol2", "mdm"])
    assert ["solver smo", "solver smol2", "regression, solver smo", "regression, solver smol2"] in found
    assert ["solver dcd", "regression, solver dcd"] in found and ["solver mdm"] in found
    assert rest <= {name for names in found for name in names} and ["explanations"] in found
    for names, kind in zip([*found[:2], *found[-2:]], ["sparse", "sparse", "dense", "dense"], strict=True):
        assert len(names) == 2 and all(name.startswith(f"{kind} float") for name in names)


# --- imports


def loaded_after(*args):
    """Top-level modules that a command has imported when it ends, and its exit code."""
    code = (
        "import sys\n"
        "from svmkit.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit as e: print(e.code, *{m.partition('.')[0] for m in sys.modules}, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, timeout=300)
    code, *modules = done.stderr.splitlines()[-1].split()
    assert code == "0", done.stderr
    return set(modules)


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["train", "--help"], ["datasets", "list"]])
def test_light_commands_import_nothing_heavy(args):
    heavy = {"numpy", "numba", "sklearn", "mlflow", "scipy", "pandas", "matplotlib"}
    if args[0] == "datasets":  # data sets are numpy's business
        heavy -= {"numpy"}
    if args == ["--help"]:
        heavy |= {"rich"}
    assert not heavy & loaded_after(*args)


@pytest.mark.slow
def test_training_untracked_imports_no_mlflow():
    loaded = loaded_after("train", "iris", "--no-track", "--json")
    assert not {"mlflow", "matplotlib", "svmkit_registry", "sklearn", "pandas"} & loaded


@pytest.mark.slow
def test_an_estimator_imports_numba_with_its_first_compiled_loop():
    code = "import sys; from svmkit import SVMClassifier; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert "sklearn.base" in done.stdout.split() and not {"numba", "llvmlite"} & set(done.stdout.split())


# --- tracking


@pytest.mark.slow
def test_tracked_run():
    Path("sub").mkdir()
    uri = f"sqlite:///{Path.cwd() / 'sub' / 'store.db'}"
    args = ("train", "iris", "--test-size", "0.3", "--tracking-uri", uri, "--experiment", "mine", "--out", "m.model")
    result = process(*args, "--json").json
    assert isinstance(result["run_id"], str) and Path("m.model").exists()
    assert sorted(p.name for p in Path.cwd().iterdir()) == ["m.model", "sub"]
    with sqlite3.connect("sub/store.db") as store:
        run = store.execute("SELECT status FROM runs WHERE run_uuid = ?", (result["run_id"],)).fetchall()
        params = dict(store.execute("SELECT key, value FROM params WHERE run_uuid = ?", (result["run_id"],)))
        metrics = {key for (key,) in store.execute("SELECT DISTINCT key FROM metrics")}
        experiments = {name for (name,) in store.execute("SELECT name FROM experiments")}
    assert run == [("FINISHED",)] and "mine" in experiments
    assert {"solver", "kernel", "C", "gamma", "tol", "seed", "data", "n", "d", "log10_C", "log10_gamma"} <= set(params)
    assert {
        "curve/objective", "curve/gap", "curve/n_support", "curve/elapsed_s", "time/fit_s", "time/predict_s",
        "model/n_support", "final/gap", "test/accuracy",
    } <= metrics  # fmt: skip


@pytest.mark.slow
def test_default_store_is_in_the_working_directory():
    assert process("train", "iris", "--json").json["run_id"]
    assert Path("mlflow.db").exists() and not Path("mlruns").is_file()


@pytest.mark.slow
def test_tracker_that_fails_costs_a_note_not_the_model():
    uri = f"sqlite:///{Path.cwd() / 'no' / 'such' / 'folder' / 'store.db'}"
    Path("no").write_text("a file where a folder should be")
    done = process("train", "iris", "--tracking-uri", uri, "--out", "m.model", "--json")
    assert done.json["status"] == "converged" and done.json["run_id"] is None
    assert Path("m.model").exists()
    assert done.err.startswith("svmkit: ") and "Traceback" not in done.err


def test_help_has_no_brackets_which_rich_takes_for_markup():
    """Of "svmkit[torch]" it printed "svmkit"."""
    for name, its in command().commands.items():
        for each in (its, *getattr(its, "commands", {}).values()):
            texts = [each.help or "", *(getattr(param, "help", None) or "" for param in each.params)]
            assert not any("[" in text for text in texts), (name, texts)


@pytest.mark.parametrize("call", ["", "train", "compare", "models", "models serve", "models delete"])
def test_help_names_types_in_plain_words_and_none_of_flags(svmkit, call):
    lines = [line.strip(" │") for line in svmkit(*call.split(), "--help").out.splitlines()]
    options = [line for line in lines if re.match(r"-", line)]
    assert options and not any(re.search(r"<(bool|str|int|float|list)\b", line) for line in options), options
    assert any(re.fullmatch(r"--help\s{3,}Show this message and exit\.", line) for line in options), options
