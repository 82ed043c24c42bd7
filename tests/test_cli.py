"""The command line: what each command prints, writes and exits with; in-process unless the process matters."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from svmkit.cli import main

KEYS = {
    "solver", "problem", "kernel", "params", "data", "n_samples", "n_features", "classes", "status", "n_iter", "fit_s",
    "n_support", "objective", "dual_objective", "gap", "kernel_values", "train_accuracy", "test_accuracy", "n_test",
    "model", "run_id",
}  # fmt: skip
STATUSES = {"converged", "max_iter", "time_limit", "max_support", "interrupted", "stalled"}


class Result(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self):
        """The one JSON object on stdout; anything else there is an error."""
        assert self.code == 0, self.err
        assert self.out.count("\n") == 1 and self.out.endswith("\n")
        return json.loads(self.out, parse_constant=lambda text: pytest.fail(f"{text} is not JSON"))


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """A working directory and cache of the test's own; gives the real data folder, if any."""
    real = os.environ.get("SVMKIT_DATA")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SVMKIT_DATA", raising=False)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setenv("SVMKIT_CACHE", str(tmp_path / "cache"))
    return real


@pytest.fixture
def real(alone, monkeypatch):
    if not alone or not Path(alone).is_dir():
        pytest.skip("needs the real data sets: set SVMKIT_DATA to their folder")
    monkeypatch.setenv("SVMKIT_DATA", alone)
    return Path(alone)


@pytest.fixture
def svmkit(capsys):
    """svmkit("train", ...) -> Result, in this process."""

    def run(*args):
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_:
            main([str(arg) for arg in args])
        return Result(exit_.value.code or 0, *capsys.readouterr())

    return run


@pytest.fixture
def train(svmkit):
    """train(...) -> the JSON of an untracked `svmkit train`."""
    return lambda *args: svmkit("train", *args, "--no-track", "--json").json


def process(*args, **kwargs):
    done = subprocess.run(
        [sys.executable, "-m", "svmkit", *map(str, args)], capture_output=True, text=True, timeout=300, **kwargs
    )
    return Result(done.returncode, done.stdout, done.stderr)


def write(name, text):
    Path(name).write_text(text, encoding="utf-8")
    return name


def clouds(n=60, seed=0, spread=1.0):
    """Features (n, 3) around +1 and -1, and the side of each."""
    rng = np.random.default_rng(seed)
    side = np.where(np.arange(n) % 2, 1, -1)
    return rng.normal(size=(n, 3)) * spread + side[:, None], side


def svmlight(name="clouds.svm", n=60, seed=0, spread=1.0):
    X, y = clouds(n, seed, spread)
    rows = (" ".join(f"{j + 1}:{v:.6g}" for j, v in enumerate(x)) for x in X)
    return write(name, "".join(f"{label:+d} {row}\n" for label, row in zip(y, rows, strict=True)))


PEOPLE = [
    (25 + i % 30 + 20 * (i % 2), ("berlin", "oslo", "rome")[i % 3], 1.5 * (i % 7), ("no", "yes")[i % 2])
    for i in range(48)
]


def people(name, order=("age", "city", "score", "answer"), rows=PEOPLE):
    """A table with a text feature and text labels, its columns in this order."""
    places = [("age", "city", "score", "answer").index(column) for column in order]
    lines = [",".join(order), *(",".join(str(row[i]) for i in places) for row in rows)]
    return write(name, "\n".join(lines) + "\n")


# --- train: output


def test_default_data_offline(svmkit):
    result = svmkit("train", "--no-track", "--json", "--scale", "standard").json
    assert set(result) == KEYS
    assert result["data"] == "breast_cancer" and (result["n_samples"], result["n_features"]) == (569, 30)
    assert result["classes"] == ["benign", "malignant"]
    assert result["status"] == "converged" and 0 <= result["gap"] <= 1e-3
    assert result["objective"] >= result["dual_objective"] > 0
    assert result["train_accuracy"] > 0.95
    assert result["test_accuracy"] is None and result["n_test"] == 0
    assert result["model"] is None and result["run_id"] is None
    assert result["kernel"]["name"] == "rbf" and result["kernel"]["params"]["gamma"] > 0
    assert result["params"]["C"] == 1.0 and result["problem"] == "SimplexQP"
    assert 0 < result["n_support"] <= 569 and result["kernel_values"] > 0 and result["fit_s"] > 0


def test_human_output(svmkit):
    done = svmkit("train", "--no-track", "--scale", "standard", "--test-size", "0.25", "--out", "m.model")
    assert done.code == 0 and done.err == ""
    lines = dict(line.split("  ", 1) for line in done.out.splitlines())
    assert {"data", "solver", "status", "gap", "objective", "support", "time", "accuracy", "model"} == set(lines)
    assert "breast_cancer" in lines["data"] and "converged" in lines["status"] and "test" in lines["accuracy"]
    assert "\x1b" not in done.out


def test_scale_hint_goes_to_stderr(svmkit):
    done = svmkit("train", "--no-track", "--json", "--max-iter", "5")
    assert done.json["status"] == "max_iter"
    assert done.err.count("\n") == 1 and "--scale standard" in done.err


def test_stdout_of_a_process_is_pure():
    done = process("train", "--no-track", "--json")
    assert set(done.json) == KEYS
    assert "Traceback" not in done.err


def test_version_and_help(svmkit):
    from svmkit import __version__

    assert svmkit("--version") == (0, f"svmkit {__version__}\n", "")
    assert svmkit("train", "--help").out.count("--") > 20


# --- train: data and labels


def test_test_size_holds_out(train):
    result = train("iris", "--test-size", "0.2")
    assert result["n_test"] == 30 and result["n_samples"] == 120
    assert result["test_accuracy"] > 0.85
    assert train("iris", "--test-size", "0.2", "--seed", "1")["n_test"] == 30


def test_test_file(train):
    result = train(svmlight(), "--test", svmlight("test.svm", 30, seed=1))
    assert result["n_test"] == 30 and result["test_accuracy"] > 0.8
    assert result["data"] == "clouds" and result["classes"] == [-1, 1]


@pytest.mark.parametrize(("name", "classes", "least"), [("iris", 3, 0.93), ("digits", 10, 0.95), ("wine", 3, 0.9)])
def test_multiclass(train, svmkit, name, classes, least):
    result = train(name, "--scale", "maxabs", "--test-size", "0.3", "--out", "m.model", "-C", "10")
    assert len(result["classes"]) == classes and result["status"] == "converged"
    assert result["test_accuracy"] > least
    scored = svmkit("evaluate", "m.model", name, "--json").json
    assert scored["test_accuracy"] > least and set(scored["recall"]) == {str(c) for c in result["classes"]}
    margins = svmkit("predict", "m.model", name, "--decision").out.splitlines()
    assert {line.count("\t") + 1 for line in margins} == {classes * (classes - 1) // 2}


def test_string_labels(train, svmkit):
    result = train(people("train.csv"), "--out", "m.model")
    assert result["classes"] == ["no", "yes"]
    assert set(svmkit("predict", "m.model", "train.csv").out.split()) <= {"no", "yes"}


def test_table_with_other_column_order(train, svmkit):
    people("train.csv")
    people("test.csv", order=("answer", "score", "age", "city"), rows=PEOPLE[::-1])
    result = train("train.csv", "--label", "answer", "--scale", "standard", "--test", "test.csv", "--out", "m.model")
    assert result["n_features"] == 5
    assert result["test_accuracy"] == result["train_accuracy"] > 0.85
    assert svmkit("evaluate", "m.model", "test.csv", "--json").json["test_accuracy"] == result["test_accuracy"]
    same, turned = (svmkit("predict", "m.model", f"{n}.csv", "--decision").out.split() for n in ("train", "test"))
    assert same == turned[::-1]


@pytest.mark.parametrize("label", ["0", "answer", "-4"])
def test_label_by_name_or_position(train, label):
    people("train.csv", order=("answer", "score", "age", "city"))
    assert train("train.csv", "--label", label)["classes"] == ["no", "yes"]


def test_predicts_a_table_without_labels(train, svmkit):
    train(people("train.csv"), "--out", "m.model")
    people("bare.csv", order=("score", "age", "city"))
    assert svmkit("predict", "m.model", "bare.csv").out == svmkit("predict", "m.model", "train.csv").out


def test_unknown_category_is_one_note(train, svmkit):
    train(people("train.csv"), "--out", "m.model")
    people("new.csv", rows=[(30, "lima", 1.0, "no"), (61, "oslo", 1.0, "yes")])
    done = svmkit("predict", "m.model", "new.csv")
    assert done.code == 0 and len(done.out.split()) == 2
    assert done.err.count("\n") == 1 and "lima" in done.err and "Warning" not in done.err


def test_fewer_columns_are_padded(train, svmkit):
    write("train.svm", "".join(f"{1 if i % 2 else -1} 1:{i % 7 + 3 * (i % 2)} 2:{i % 5} 3:1\n" for i in range(40)))
    write("narrow.svm", "".join(f"{1 if i % 2 else -1} 1:{i % 7 + 3 * (i % 2)}\n" for i in range(10)))
    assert train("train.svm", "--test", "narrow.svm", "--out", "m.model")["n_test"] == 10
    assert svmkit("evaluate", "m.model", "narrow.svm", "--json").json["n_test"] == 10
    assert len(svmkit("predict", "m.model", "narrow.svm").out.split()) == 10


def test_precomputed(train, svmkit):
    X, y = clouds()
    np.savez("square.npz", X=X @ X.T, y=y)
    np.savez("plain.npz", X=X, y=y)
    given = train("square.npz", "--kernel", "precomputed", "--out", "m.model")
    linear = train("plain.npz", "--kernel", "linear")
    assert given["status"] == "converged"
    assert given["dual_objective"] == pytest.approx(linear["dual_objective"], rel=2e-3)
    assert svmkit("evaluate", "m.model", "square.npz", "--json").json["test_accuracy"] == given["train_accuracy"]


@pytest.mark.data
def test_real_set_by_name(real, train):
    result = train("a1a", "--max-iter", "300", "--test-size", "0.2")
    assert result["data"] == "a1a" and result["n_samples"] + result["n_test"] == 1605
    assert result["n_features"] == 119


@pytest.mark.data
def test_real_set_with_narrower_test(real, train):
    result = train("a9a", "--test", "a9a.t", "--max-iter", "20")
    assert result["n_features"] == 123 and result["n_test"] == 16281  # a9a.t has 122


# --- train: the model and what is done with it


def test_out_evaluate_predict(train, svmkit):
    result = train("iris", "--test-size", "0.3", "--out", "m.model")
    assert result["model"] == "m.model" and Path("m.model").stat().st_size > 500
    scored = svmkit("evaluate", "m.model", "iris", "--json").json
    assert set(scored) == {
        "model", "data", "n_test", "test_accuracy", "recall", "balanced_accuracy", "n_support", "predict_s",
    }  # fmt: skip
    assert scored["n_test"] == 150 and scored["n_support"] == result["n_support"]
    weighted = (result["n_samples"] * result["train_accuracy"] + result["n_test"] * result["test_accuracy"]) / 150
    assert scored["test_accuracy"] == pytest.approx(weighted)

    human = svmkit("evaluate", "m.model", "iris")
    assert human.code == 0 and f"{scored['test_accuracy']:.2%}" in human.out and "recall setosa" in human.out

    labels = svmkit("predict", "m.model", "iris").out.split()
    assert len(labels) == 150 and labels.count("setosa") == 50
    as_json = svmkit("predict", "m.model", "iris", "--json").json
    assert as_json["labels"] == labels and as_json["n"] == 150

    to_file = svmkit("predict", "m.model", "iris", "--out", "labels.txt")
    assert to_file.code == 0 and to_file.out == "" and "labels.txt" in to_file.err
    assert Path("labels.txt").read_text().split() == labels
    both = svmkit("predict", "m.model", "iris", "--decision", "--out", "margins.txt", "--json").json
    assert np.array(both["decision"]).shape == (150, 3)
    np.testing.assert_array_equal(np.loadtxt("margins.txt"), np.array(both["decision"]))
    assert not list(Path.cwd().glob("*.part"))


def test_binary_decision_sign(train, svmkit):
    train(svmlight(), "--out", "m.model")
    labels = np.array(svmkit("predict", "m.model", "clouds.svm").out.split(), dtype=int)
    margins = np.array(svmkit("predict", "m.model", "clouds.svm", "--decision").out.split(), dtype=float)
    np.testing.assert_array_equal(labels, np.where(margins > 0, 1, -1))


@pytest.mark.parametrize("kind", ["standard", "minmax", "maxabs"])
def test_scaling_is_kept_in_the_model(train, svmkit, kind):
    result = train("wine", "--scale", kind, "--out", "m.model")
    assert result["train_accuracy"] > 0.95
    assert svmkit("evaluate", "m.model", "wine", "--json").json["test_accuracy"] == result["train_accuracy"]


def test_scaling_learns_from_the_training_part_only(train, svmkit):
    train(svmlight("a.svm"), "--scale", "standard", "--out", "a.model")
    train("a.svm", "--scale", "standard", "--test", svmlight("far.svm", 20, 3, spread=50.0), "--out", "b.model")
    a, b = (svmkit("predict", f"{m}.model", "a.svm", "--decision").out for m in "ab")
    assert a == b


def test_model_file_is_replaced_whole(train):
    write("m.model", "old")
    train("iris", "--out", "m.model")
    assert Path("m.model").read_bytes() != b"old"
    assert sorted(p.name for p in Path.cwd().iterdir()) == ["m.model"]


# --- train: options


def test_config_file_and_command_line(train):
    write("c.yaml", "solver: mfw\ntol: 1e-3\nC: 5e-1\nmax-iter: 7\nscale: standard\noption:\n  kernel.gamma: 0.25\n")
    result = train("--config", "c.yaml", "-C", "2")
    assert result["solver"] == "mfw" and result["params"]["C"] == 2.0 and result["params"]["tol"] == 1e-3
    assert result["n_iter"] == 7 and result["kernel"]["params"]["gamma"] == 0.25
    assert train("--config", "c.yaml")["params"]["C"] == 0.5


def test_command_line_wins_even_with_the_default(train):
    write("c.yaml", "solver: mfw\nC: 7\nmax_iter: 3\n")
    result = train("iris", "--config", "c.yaml", "-C", "1.0", "--solver", "swap2o")
    assert result["solver"] == "swap2o" and result["params"]["C"] == 1.0
    assert result["n_iter"] == 9  # three pairs of classes


def test_config_data_flags_and_lists(train):
    write("c.yaml", "data: iris\ntest_size: 0.2\noption: [kernel.gamma=0.5]\nclass-weight: balanced\nout: m.model\n")
    result = train("--config", "c.yaml")
    assert result["data"] == "iris" and result["n_test"] == 30 and result["kernel"]["params"] == {"gamma": 0.5}
    assert Path("m.model").exists()
    assert train("wine", "--config", "c.yaml")["data"] == "wine"


def test_config_no_track(svmkit):
    write("c.yaml", "no_track: true\n")
    assert svmkit("train", "iris", "--config", "c.yaml", "--json").json["run_id"] is None
    assert not Path("mlflow.db").exists()


@pytest.mark.parametrize("text", ["", "# nothing\n", "test:\nstop: null\n"])
def test_config_that_says_nothing(train, text):
    assert train("iris", "--config", write("c.yaml", text))["status"] == "converged"


def test_config_takes_numbers_where_the_command_line_takes_text(train):
    people("train.csv", order=("answer", "score", "age", "city"))
    write("c.yaml", "gamma: 0.25\nlabel: 0\nmemory: 1000000\nseed: 3\ntol: 1e-2\nC: 2\ntime-limit: 60\n")
    result = train("train.csv", "--config", "c.yaml")
    assert result["kernel"]["params"] == {"gamma": 0.25} and result["params"]["C"] == 2.0
    assert result["params"]["seed"] == 3 and result["classes"] == ["no", "yes"]


def test_kernel_option(train):
    a = train("iris", "--kernel", "poly", "-o", "kernel.degree=2", "-o", "kernel.gamma=0.1", "-o", "kernel.coef0=1")
    b = train("iris", "--kernel", "poly", "--degree", "2", "--gamma", "0.1", "--coef0", "1")
    assert a["kernel"] == b["kernel"] == {"name": "poly", "params": {"gamma": 0.1, "degree": 2, "coef0": 1.0}}
    assert a["objective"] == b["objective"]


def test_solver_option(train, monkeypatch):
    """-o KEY=VALUE reaches the solver, with the type of its default."""
    from dataclasses import dataclass

    from svmkit import plugins

    swap2o = plugins.load("solver", "swap2o")

    @dataclass(frozen=True)
    class Tuned(swap2o):
        """SWAP with options."""

        eta: float = 0.5
        rounds: int = 2
        eager: bool = False

    load = plugins.load
    monkeypatch.setattr(plugins, "load", lambda kind, name: Tuned if name == "tuned" else load(kind, name))
    params = train("iris", "--solver", "tuned", "-o", "eta=1e-3", "-o", "rounds=9", "-o", "eager=yes")["params"]
    assert (params["eta"], params["rounds"], params["eager"]) == (1e-3, 9, True)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "laplacian"])
def test_kernels(train, svmkit, kernel):
    result = train("iris", "--kernel", kernel, "--out", "m.model")
    assert result["kernel"]["name"] == kernel and result["status"] == "converged" and result["gap"] <= 1e-3
    assert result["train_accuracy"] > 0.9
    assert svmkit("evaluate", "m.model", "iris", "--json").json["test_accuracy"] == result["train_accuracy"]


def test_sigmoid_kernel(train):
    result = train("wine", "--scale", "standard", "--kernel", "sigmoid", "--gamma", "0.01", "--coef0", "0", "-C", "0.1")
    assert result["status"] in STATUSES and result["train_accuracy"] > 0.9


@pytest.mark.parametrize("gamma", ["scale", "auto", "msd", "0.125", "1e-1"])
def test_gamma(train, gamma):
    value = train("iris", "--gamma", gamma)["kernel"]["params"]["gamma"]
    assert value == {"0.125": 0.125, "1e-1": 0.1, "auto": 0.25}.get(gamma, value) and value > 0


@pytest.mark.parametrize("sampler", ["full", "uniform:7", "uniform", "balanced:8", "cyclic:5", "permuted:5"])
def test_samplers(train, sampler):
    result = train(svmlight(), "--sampler", sampler)
    assert result["status"] == "converged" and result["gap"] <= 1e-3
    assert result["params"]["sampler"] == sampler


@pytest.mark.parametrize("solver", ["fw", "mfw", "swap", "swap2o", "partan", "mdm"])
def test_solvers_agree(train, solver):
    best = train(svmlight(), "--solver", "swap2o", "--tol", "1e-6")["dual_objective"]
    result = train("clouds.svm", "--solver", solver, "--tol", "1e-2")
    assert result["solver"] == solver and result["status"] == "converged"
    assert result["dual_objective"] <= best * (1 + 1e-9) <= result["objective"] * (1 + 1e-6)


@pytest.mark.parametrize(
    ("budget", "status"),
    [
        (("--max-iter", "20"), "max_iter"),
        (("--max-epochs", "15"), "max_iter"),
        (("--time-limit", "0.05"), "time_limit"),
        (("--max-support", "10"), "max_support"),
    ],
)
def test_budgets_end_with_a_model(train, svmkit, budget, status):
    slow = ("--solver", "fw", "--tol", "1e-9", "--scale", "standard")
    result = train(*slow, *budget, "--out", "m.model")
    assert result["status"] == status and result["gap"] > 0 and result["n_support"] > 0
    if status == "max_iter":
        assert result["n_iter"] == int(budget[1])
    assert svmkit("evaluate", "m.model", "breast_cancer", "--json").json["n_test"] == 569


def test_first_of_several_budgets(train):
    assert train("--solver", "fw", "--tol", "1e-9", "--max-iter", "30", "--max-support", "500")["status"] == "max_iter"


def test_stop_absolute(train):
    loose, tight = (train(svmlight(), "--stop", f"abs:{eps}") for eps in ("1e-2", "1e-6"))
    assert loose["status"] == tight["status"] == "converged"
    assert loose["n_iter"] < tight["n_iter"] and loose["gap"] > tight["gap"]
    assert train("clouds.svm", "--stop", "iter:4")["n_iter"] == 4


def test_class_weight(train):
    plain, balanced, named, ones = (
        train("breast_cancer", "--scale", "standard", *w)["dual_objective"]
        for w in (
            (),
            ("--class-weight", "balanced"),
            ("--class-weight", "benign=5,malignant=0.5"),
            ("--class-weight", "benign=1"),
        )
    )
    assert plain == ones and len({plain, balanced, named}) == 3


def test_class_weight_of_numbers(train):
    assert train(svmlight(), "--class-weight", "-1=3,1=1")["status"] == "converged"


def test_memory_and_threads_do_not_change_the_result(train):
    much, little, one = (train("--scale", "standard", *more) for more in ((), ("--memory", "1MB"), ("--threads", "1")))
    for other in (little, one):
        assert other["status"] == "converged"
        assert other["dual_objective"] == pytest.approx(much["dual_objective"], rel=2e-3)


@pytest.mark.parametrize("sampler", ["full", "uniform:7"])
def test_seed_makes_it_reproducible(train, sampler):
    def run(seed):
        result = train("wine", "--scale", "standard", "--test-size", "0.3", "--seed", seed, "--sampler", sampler)
        return {key: value for key, value in result.items() if key != "fit_s"}

    assert run(3) == run(3)
    assert run(3)["objective"] != run(4)["objective"]


def test_checkpoint_and_resume(train):
    slow = ("--solver", "fw", "--tol", "1e-9", "--scale", "standard", "--checkpoint", "c.ckpt")
    first = train(*slow, "--max-iter", "40")
    assert Path("c.ckpt").exists() and first["n_iter"] == 40
    step = train(*slow, "--max-iter", "41", "--resume")
    assert step["n_iter"] == 41 and step["dual_objective"] >= first["dual_objective"]
    second = train(*slow, "--max-iter", "100", "--resume")
    straight = train(*slow[:-2], "--max-iter", "100")
    assert second["n_iter"] == 100 and second["dual_objective"] > step["dual_objective"]
    assert second["dual_objective"] == pytest.approx(straight["dual_objective"], rel=1e-6)
    fresh = train(*slow, "--max-iter", "10")  # without --resume the file is begun anew
    assert fresh["n_iter"] == 10 and fresh["dual_objective"] < first["dual_objective"]


def test_resume_without_a_file_begins(train):
    assert train("iris", "--checkpoint", "c.ckpt", "--resume")["status"] == "converged"


def test_resume_of_a_finished_run_stays_converged(train):
    first = train("iris", "--checkpoint", "c.ckpt")
    again = train("iris", "--checkpoint", "c.ckpt", "--resume")
    assert again["status"] == "converged" and again["n_iter"] >= first["n_iter"]
    assert again["n_iter"] <= first["n_iter"] + 60


def test_resume_with_a_sampler(train):
    args = (svmlight(), "--sampler", "uniform:5", "--tol", "1e-7", "--checkpoint", "c.ckpt")
    first = train(*args, "--max-iter", "20")
    assert train(*args, "--max-iter", "60", "--resume")["n_iter"] > first["n_iter"] == 20


# --- other commands


def test_plugins_lists_all_kinds(svmkit):
    rows = svmkit("plugins", "--json").json
    assert {"kind", "name", "package", "doc", "options", "error"} == set(rows[0])
    listed = {(row["kind"], row["name"]) for row in rows}
    assert {("solver", "swap2o"), ("kernel", "rbf"), ("sampler", "uniform"), ("tracker", "mlflow")} <= listed
    broken = [row for row in rows if row["error"]]
    assert not broken
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
    assert all(set(check) == {"check", "problem"} for check in done.json["checks"])


def test_check_for_a_reader(svmkit):
    done = svmkit("check", "full")
    assert done.code == 0 and "holds" in done.out and "full" in done.out.splitlines()[-1]


def test_datasets(svmkit):
    names = [row["name"] for row in svmkit("datasets", "list", "--json").json]
    assert names == ["breast_cancer", "digits", "iris", "wine"]
    assert svmkit("datasets", "list").out.split()[0] == "breast_cancer"
    about = svmkit("datasets", "info", "iris", "--json").json
    assert about["n_samples"] == 150 and about["classes"] == {"setosa": 50, "versicolor": 50, "virginica": 50}
    assert "setosa: 50" in svmkit("datasets", "info", "iris").out


@pytest.mark.data
def test_datasets_of_the_data_folder(real, svmkit):
    rows = svmkit("datasets", "list", "--json").json
    assert {"a1a", "a1a.t"} <= {row["name"] for row in rows if row["origin"] == "$SVMKIT_DATA"}


@pytest.mark.slow
def test_warmup(svmkit):
    assert svmkit("warmup", "--json").json["steps"]


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
    assert not heavy & loaded_after(*args)


def test_training_untracked_imports_no_mlflow():
    assert not {"mlflow", "matplotlib", "svmkit_registry"} & loaded_after("train", "iris", "--no-track", "--json")


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


# --- Ctrl-C

ENDLESS = ("--solver", "fw", "--tol", "1e-9", "--max-iter", "100000000", "--no-track", "--json")


@pytest.fixture
def endless():
    """start(*args) -> a `svmkit train` that will not end by itself, once it is solving."""
    started = []

    def start(*args):
        # the unscaled default data earn a hint on stderr just before the solve begins
        command = [sys.executable, "-m", "svmkit", "train", *ENDLESS, *map(str, args)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(child)
        guard = threading.Timer(120, child.kill)
        guard.start()
        line = child.stderr.readline()
        guard.cancel()
        assert "--scale" in line
        time.sleep(3)
        assert child.poll() is None
        return child

    yield start
    for child in started:
        if child.poll() is None:
            child.kill()
        child.communicate()


def finish(child):
    out, err = child.communicate(timeout=60)
    return Result(child.returncode, out, err)


@pytest.mark.slow
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_keeps_the_model(endless, svmkit, signum):
    child = endless("--out", "m.model", "--checkpoint", "c.ckpt")
    child.send_signal(signum)
    done = finish(child)
    result = done.json
    assert result["status"] == "interrupted" and result["n_iter"] > 0 and result["model"] == "m.model"
    assert "Traceback" not in done.err
    assert svmkit("evaluate", "m.model", "breast_cancer", "--json").json["test_accuracy"] == result["train_accuracy"]
    budget = ("--max-iter", result["n_iter"] + 5)  # the last one given counts
    resumed = svmkit("train", *ENDLESS, *budget, "--checkpoint", "c.ckpt", "--resume").json
    assert resumed["n_iter"] == result["n_iter"] + 5


@pytest.mark.slow
def test_interrupt_of_several_pairs_ends_all(svmkit):
    command = [sys.executable, "-m", "svmkit", "train", "digits", *ENDLESS, "--out", "m.model"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        time.sleep(8)
        assert child.poll() is None
        child.send_signal(signal.SIGINT)
        result = finish(child).json
    finally:
        child.kill()
        child.communicate()
    assert result["status"] == "interrupted" and len(result["classes"]) == 10
    assert len(svmkit("predict", "m.model", "digits").out.split()) == 1797


@pytest.mark.slow
@pytest.mark.parametrize("apart", [0.0, 0.05])
def test_interrupt_twice_is_quick_and_clean(endless, svmkit, apart):
    child = endless("--out", "m.model")
    child.send_signal(signal.SIGINT)
    time.sleep(apart)
    child.send_signal(signal.SIGINT)
    done = finish(child)
    assert "Traceback" not in done.err
    assert not list(Path.cwd().glob("*.part")) and not list(Path.cwd().glob(".*.part"))
    if done.code in (0, -signal.SIGINT):  # the first one was served, and the second came late or too late
        assert json.loads(done.out)["status"] == "interrupted" and Path("m.model").exists()
    else:
        assert done.code == 1 and done.out == ""
        assert done.err.splitlines()[-1].startswith("svmkit: interrupted")
    if Path("m.model").exists():
        assert svmkit("evaluate", "m.model", "breast_cancer").code == 0


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_closed_pipe_is_no_error(monkeypatch, unbuffered):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    child = subprocess.Popen(
        [sys.executable, "-m", "svmkit", "datasets", "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    child.stdout.close()
    err = child.stderr.read()
    child.stderr.close()
    assert child.wait(60) == 0 and err == b""
