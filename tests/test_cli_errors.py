"""What the command line says when the call or its input is wrong: exit 2, one line, what and how to mend it."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from svmkit.cli import main


class Result(NamedTuple):
    code: int
    out: str
    err: str


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
def svmkit(capsys):
    """svmkit("train", ...) -> Result, in this process."""

    def run(*args):
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_:
            main([str(arg) for arg in args])
        return Result(exit_.value.code or 0, *capsys.readouterr())

    return run


@pytest.fixture
def refused(svmkit):
    """refused(words, *args): exit 2, nothing on stdout, one line on stderr that holds all the words."""

    def run(words, *args):
        done = svmkit(*args)
        assert (done.code, done.out) == (2, ""), done
        assert done.err.startswith("svmkit: ") and done.err.endswith("\n") and done.err.count("\n") == 1, done.err
        assert "Traceback" not in done.err
        missing = [word for word in words if word.lower() not in done.err.lower()]
        assert not missing, f"{missing} not in: {done.err}"
        return done.err

    return run


def write(name, content):
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


def rows(n=40, tail=" 3:1"):
    return [f"{1 if i % 2 else -1} 1:{i % 7 + 3 * (i % 2)} 2:{i % 5}{tail}\n" for i in range(n)]


def broken(line, text):
    lines = rows()
    lines[line - 1] = text + "\n"
    return "".join(lines)


def rubbish(n=5000, low=0):
    return bytes(np.random.default_rng(0).integers(low, 256, n, dtype=np.uint8))


@pytest.fixture
def files():
    """Good and bad files in the working directory."""
    write("good.svm", "".join(rows()))
    write("wide.svm", "".join(rows(tail=" 9:4")))
    write("broken.svm", broken(17, "1 1:abc 2:3"))
    write("descends.svm", broken(17, "1 2:1 1:3"))
    write("word.svm", broken(17, "spam 1:1"))
    write("nan.svm", broken(5, "1 1:nan 2:3"))
    write("inf.svm", broken(5, "1 1:2 2:inf"))
    write("one.svm", "".join(f"1 1:{i}\n" for i in range(9)))
    write("empty.svm", "")
    write("blank.svm", " \n\n")
    write("comment.svm", "# nothing here\n")
    write("nan.csv", "a,b,label\n1,2,x\n3,nan,y\n4,5,x\n")
    write("hole.csv", "a,b,label\n1,2,x\n3,,y\n4,5,x\n")
    write("inf.csv", "a,b,label\n1,2,x\n3,inf,y\n4,5,x\n")
    write("uneven.csv", "a,b,label\n1,2,x\n3,4,y,9\n4,5,x\n")
    write("header.csv", "a,b,label\n")
    write("good.csv", "a,b,label\n" + "".join(f"{i % 7},{i % 3},{'xy'[i % 2]}\n" for i in range(20)))
    write("lacks.csv", "a,label\n1,x\n2,y\n")
    X = np.arange(8.0).reshape(4, 2)
    X[2, 1] = np.nan
    np.savez("nan.npz", X=X, y=[0, 1, 0, 1])
    np.savez("noy.npz", X=np.eye(4))
    np.savez("pickle.npz", X=np.array([{}, []], dtype=object), y=[0, 1])


@pytest.fixture
def model(files, svmkit):
    assert svmkit("train", "good.svm", "--no-track", "--out", "m.model", "--checkpoint", "c.ckpt").code == 0
    return "m.model"


# --- names

NAMES = [
    ("solver", ["--solver", "swpa"], ["swpa", "did you mean swap", "fw", "mdm", "mfw", "partan", "swap2o"]),
    ("kernel", ["--kernel", "rfb"], ["rfb", "did you mean rbf", "laplacian", "linear", "poly", "sigmoid"]),
    ("sampler", ["--sampler", "unifrom:3"], ["unifrom", "did you mean uniform", "balanced", "cyclic", "full"]),
    ("solver of none", ["--solver", ""], ["solver", "swap2o"]),
    ("option", ["--solverr", "fw"], ["--solverr", "--solver"]),
    ("option of none", ["--frobnicate"], ["--frobnicate", "--help"]),
    ("scale", ["--scale", "std"], ["std", "none", "standard", "minmax", "maxabs"]),
    ("-o solver", ["-o", "eta=3"], ["eta", "swap2o"]),
    ("-o kernel", ["-o", "kernel.foo=3"], ["foo", "rbf", "gamma"]),
    ("-o poly", ["--kernel", "poly", "-o", "kernel.gama=3"], ["gama", "gamma", "degree", "coef0"]),
    ("-o no value", ["-o", "eta"], ["eta", "KEY=VALUE"]),
    ("-o no key", ["-o", "=3"], ["KEY=VALUE"]),
    ("too many", ["extra"], ["extra"]),
]


@pytest.mark.parametrize(("args", "words"), [case[1:] for case in NAMES], ids=[case[0] for case in NAMES])
def test_wrong_names(refused, args, words):
    refused(words, "train", "iris", "--no-track", *args)


def test_unknown_command(refused):
    refused(["trian", "--help"], "trian")


@pytest.mark.parametrize(("command", "word"), [("evaluate", "model"), ("predict", "model"), ("check", "name")])
def test_missing_argument(refused, command, word):
    refused(["missing", word], command)


def test_unknown_kind_of_plugin(refused):
    refused(["kernle", "solver", "kernel", "sampler"], "plugins", "--kind", "kernle")


def test_check_of_an_unknown_plugin(refused):
    refused(["swpa", "swap2o"], "check", "swpa", "--kind", "solver")
    refused(["swpa"], "check", "swpa")


# --- values

VALUES = [
    (["-C", "0"], ["-C", "> 0"]),
    (["-C", "-1"], ["-C", "> 0", "-1"]),
    (["-C", "nan"], ["-C", "nan"]),
    (["-C", "inf"], ["-C", "inf"]),
    (["-C", "much"], ["-C", "number"]),
    (["--gamma", "0"], ["gamma", "> 0", "scale"]),
    (["--gamma", "-1"], ["gamma", "> 0", "-1"]),
    (["--gamma", "foo"], ["gamma", "foo", "scale", "auto", "msd"]),
    (["--gamma", "nan"], ["gamma", "nan"]),
    (["-o", "kernel.gamma=0"], ["gamma", "> 0"]),
    (["--kernel", "poly", "--degree", "0"], ["degree", ">= 1"]),
    (["--kernel", "poly", "--degree", "2.5"], ["degree", "2.5", "whole"]),
    (["--kernel", "poly", "--coef0", "x"], ["coef0", "x", "number"]),
    (["--kernel", "linear", "--degree", "3"], ["linear", "degree"]),
    (["--kernel", "linear", "--gamma", "3"], ["linear", "gamma"]),
    (["--degree", "3"], ["rbf", "degree", "gamma"]),
    (["--tol", "0"], ["--tol", "> 0"]),
    (["--tol", "-1e-3"], ["--tol", "> 0"]),
    (["--tol", "nan"], ["--tol", "nan"]),
    (["--tol", "inf"], ["tol", "inf"]),
    (["--tol", "small"], ["--tol", "number"]),
    (["--stop", "foo"], ["foo", "gap:NUMBER", "abs:NUMBER"]),
    (["--stop", "abs:-1"], ["abs", "> 0", "-1"]),
    (["--stop", "abs:"], ["abs:", "NUMBER"]),
    (["--max-iter", "0"], ["--max-iter", "> 0"]),
    (["--max-iter", "abc"], ["--max-iter", "integer"]),
    (["--max-iter", "1.5"], ["--max-iter", "integer"]),
    (["--max-epochs", "0"], ["--max-epochs", "> 0"]),
    (["--time-limit", "0"], ["--time-limit", "> 0"]),
    (["--time-limit", "-3"], ["--time-limit", "> 0"]),
    (["--max-support", "0"], ["--max-support", "> 0"]),
    (["--test-size", "2"], ["--test-size", "between 0 and 1", "2"]),
    (["--test-size", "0"], ["--test-size", "between 0 and 1"]),
    (["--test-size", "nan"], ["--test-size", "nan"]),
    (["--test-size", "1e-9"], ["--test-size", "larger"]),
    (["--test-size", "0.2", "--test", "wine"], ["--test", "--test-size", "not both"]),
    (["--memory", "0"], ["memory", "1GB"]),
    (["--memory", "foo"], ["memory", "foo", "1GB"]),
    (["--memory", "-1GB"], ["memory", "-1GB"]),
    (["--threads", "0"], ["--threads", "1"]),
    (["--threads", "999"], ["threads", "999", "between 1 and"]),
    (["--sampler", "uniform:0"], ["size", ">= 1"]),
    (["--sampler", "uniform:x"], ["uniform", "x", "whole number"]),
    (["--sampler", "uniform:"], ["uniform:"]),
    (["--sampler", "full:3"], ["full", "full:3"]),
    (["--class-weight", "foo"], ["--class-weight", "foo", "balanced"]),
    (["--class-weight", "setosa=x"], ["--class-weight", "x", "number"]),
    (["--class-weight", "setosa=0"], ["class_weight", "> 0"]),
    (["--class-weight", "rose=2"], ["rose", "setosa", "versicolor", "virginica"]),
    (["--seed", "-1"], ["--seed", "0"]),
    (["--seed", "x"], ["--seed", "integer"]),
    (["--resume"], ["--resume", "--checkpoint"]),
    (["--register", "x"], ["--register", "--no-track"]),
    (["--kernel", "precomputed"], ["precomputed", "square", "150", "4"]),
    (["--label", "species"], ["label", "iris", "CSV"]),
]


@pytest.mark.parametrize(("args", "words"), VALUES, ids=[" ".join(args) for args, _ in VALUES])
def test_wrong_values(refused, args, words):
    refused(words, "train", "iris", "--no-track", *args)


@pytest.mark.parametrize(
    "args",
    [
        ("--memory", "foo"),
        ("--threads", "999"),
        ("--checkpoint", "no/such/c.ckpt"),
        ("--out", "no/such/m.model"),
        ("--out", "."),
    ],
    ids=" ".join,
)
def test_options_are_checked_before_the_work(refused, monkeypatch, args):
    """Nobody should train for an hour to hear that the folder of --out is not there, nor track such a run."""

    def never(*args, **kwargs):
        raise AssertionError("training began")

    monkeypatch.setattr("svmkit.cli.job.fit", never)
    refused([args[1]], "train", "iris", "--no-track", *args)


@pytest.mark.parametrize(
    ("args", "words"), [(["--out", "no/m.model"], ["no/m.model"]), (["--out", "."], ["cannot write"])]
)
def test_out_that_cannot_be_written(refused, args, words):
    refused(words, "train", "iris", "--no-track", *args)
    assert not list(Path.cwd().iterdir())


# --- data

DATA = [
    (["nofile.svm"], ["nofile.svm", "no data set"]),
    (["iriss"], ["iriss", "did you mean iris"]),
    (["./nofile.svm"], ["nofile.svm", "no such file"]),
    (["no/such.csv"], ["no/such.csv", "no such file"]),
    (["."], ["."]),
    (["./"], ["folder"]),
    (["broken.svm"], ["broken.svm:17", "1:abc", "index:value"]),
    (["descends.svm"], ["descends.svm:17", "ascend"]),
    (["word.svm"], ["word.svm:17", "spam"]),
    (["nan.svm"], ["nan.svm:5", "1:nan"]),
    (["inf.svm"], ["inf.svm:5", "2:inf"]),
    (["nan.csv"], ["nan.csv:3", "'b'"]),
    (["hole.csv"], ["hole.csv:3", "'b'", "missing"]),
    (["inf.csv"], ["inf.csv:3", "'b'", "inf"]),
    (["nan.npz"], ["nan.npz", "row 3", "column 2"]),
    (["noy.npz"], ["noy.npz", "y"]),
    (["pickle.npz"], ["pickle.npz", "never unpickled"]),
    (["uneven.csv"], ["uneven.csv:3", "4 fields", "3"]),
    (["header.csv"], ["header.csv"]),
    (["one.svm"], ["one class"]),
    (["empty.svm"], ["empty.svm", "empty"]),
    (["blank.svm"], ["blank.svm", "empty"]),
    (["comment.svm"], ["comment.svm", "no samples"]),
    (["good.svm", "--test", "wide.svm"], ["wide.svm", "9", "3"]),
    (["good.svm", "--test", "broken.svm"], ["broken.svm:17"]),
    (["good.svm", "--test", "nofile.svm"], ["nofile.svm"]),
    (["good.svm", "--test", "iris"], ["iris", "4 features", "3 features"]),
    (["good.csv", "--test", "lacks.csv"], ["lacks.csv", "'b'"]),
    (["good.csv", "--label", "nope"], ["nope", "'a'", "'b'", "'label'"]),
    (["good.csv", "--label", "7"], ["7", "3"]),
    (["good.svm", "--label", "a"], ["good.svm", "label", "CSV"]),
    (["good.svm", "--kernel", "precomputed"], ["precomputed", "square", "40 x 3"]),
]


@pytest.mark.parametrize(("args", "words"), DATA, ids=[" ".join(args) for args, _ in DATA])
def test_wrong_data(refused, files, args, words):
    refused(words, "train", *args, "--no-track")


@pytest.mark.parametrize(
    "name", ["r", "r.svm", "r.csv", "r.tsv", "r.npz", "r.parquet", "r.gz", "r.csv.bz2", "r.svm.xz"]
)
@pytest.mark.parametrize("low", [0, 1, 32])
def test_random_bytes(refused, name, low):
    """Rubbish of all bytes, without NUL, and printable or high ones: never a traceback, never a model."""
    refused([name], "train", write(name, rubbish(low=low)), "--no-track")


@pytest.mark.parametrize(
    "start", [b"PK\x03\x04", b"PAR1", b"\x1f\x8b\x08", b"BZh9", b"\xfd7zXZ\x00", b"\x89PNG\r\n\x1a\n"]
)
def test_random_bytes_after_a_known_start(refused, start):
    refused(["thing"], "train", write("thing", start + rubbish(500)), "--no-track")


@pytest.mark.data
def test_real_test_set_with_more_columns(alone, refused, monkeypatch):
    if not alone or not Path(alone).is_dir():
        pytest.skip("needs the real data sets: set SVMKIT_DATA to their folder")
    monkeypatch.setenv("SVMKIT_DATA", alone)
    refused(["a1a.t", "123", "119"], "train", "a1a", "--test", "a1a.t", "--no-track")


# --- models, predictions, checkpoints


def damage(kind, good):
    blob = Path(good).read_bytes()
    write(
        "bad.model",
        {
            "text": b"hello\nworld\n",
            "png": b"\x89PNG\r\n\x1a\n" + rubbish(),
            "empty": b"",
            "half": blob[: len(blob) // 2],
            "head": blob[:20],
            "tail": blob[:-1],
            "longer": blob + b"x",
            "huge header": b"\xff" * 8 + blob[8:],
            "no json": blob[:8] + b"x" * 100 + blob[108:],
            "random": rubbish(),
        }[kind],
    )
    return "bad.model"


KINDS = ["text", "png", "empty", "half", "head", "tail", "longer", "huge header", "no json", "random"]


@pytest.mark.parametrize("kind", KINDS)
def test_model_file_that_is_none(refused, model, kind):
    for command in ("evaluate", "predict"):
        refused(["bad.model"], command, damage(kind, model), "good.svm")


@pytest.mark.parametrize("kind", ["text", "png", "half", "empty"])
def test_checkpoint_that_is_none(refused, model, kind):
    args = ("train", "good.svm", "--no-track", "--resume", "--checkpoint", damage(kind, "c.ckpt"))
    refused(["bad.model", "checkpoint"], *args)


def test_model_and_checkpoint_are_told_apart(refused, model):
    refused(["c.ckpt", "not a svmkit model"], "evaluate", "c.ckpt", "good.svm")
    refused(
        ["m.model", "not a svmkit checkpoint"],
        *("train", "good.svm", "--no-track", "--checkpoint", "m.model", "--resume"),
    )


@pytest.mark.parametrize("source", ["nofile.model", "no/such.model", "."])
def test_model_that_is_not_there(refused, files, source):
    refused([source], "evaluate", source, "good.svm")


@pytest.mark.slow
@pytest.mark.parametrize("source", ["models:/nobody@best", "models:/nobody/1", "runs:/0/model"])
def test_registered_model_that_is_not_there(refused, files, source):
    refused([source], "evaluate", source, "good.svm")
    assert not Path("mlflow.db").exists()  # asking makes no store


def changed_model(model, **header):
    """The model file with entries of its JSON header replaced."""
    import json

    from safetensors import safe_open
    from safetensors.numpy import save_file

    with safe_open(model, framework="numpy") as file:
        meta = json.loads(file.metadata()["svmkit"]) | header
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    save_file(arrays, "bad.model", metadata={"svmkit": json.dumps(meta)})
    return "bad.model"


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ({"version": 99}, ["newer", "99", "upgrade"]),
        ({"kernel": {"name": "wavelet", "params": {}}}, ["wavelet", "install", "rbf"]),
        ({"kernel": {"name": "rbf", "params": {"gamma": -1}}}, ["gamma"]),
        ({"kernel": None}, ["kernel"]),
        ({"classes": [1, 2, 3]}, ["damaged"]),
        ({"n_features": 99}, ["damaged"]),
        ({"n_features": "many"}, ["damaged"]),
        ({"scaling": "standard"}, ["bad.model"]),
        ({"format": "other"}, ["not a svmkit model"]),
    ],
    ids=str,
)
def test_model_header_that_does_not_fit(refused, model, header, words):
    refused(["bad.model", *words], "evaluate", changed_model(model, **header), "good.svm")


def test_data_that_do_not_fit_the_model(refused, model):
    for command in ("evaluate", "predict"):
        refused(["wide.svm", "9", "3"], command, model, "wide.svm")
        refused(["iris", "4 features", "3 features"], command, model, "iris")
        refused(["nan.svm:5"], command, model, "nan.svm")
        refused(["nofile.svm"], command, model, "nofile.svm")
        refused(["--threads"], command, model, "good.svm", "--threads", "0")
        refused(["threads", "999"], command, model, "good.svm", "--threads", "999")


def test_predict_out_that_cannot_be_written(refused, model):
    before = sorted(Path.cwd().iterdir())
    refused(["no/such.txt"], "predict", model, "good.svm", "--out", "no/such.txt")
    refused(["path"], "predict", model, "good.svm", "--out", ".")
    assert sorted(Path.cwd().iterdir()) == before


@pytest.mark.parametrize(
    "args",
    [("one.csv",), ("good.svm", "-C", "2"), ("good.svm", "--kernel", "linear"), ("good.svm", "--scale", "maxabs")],
    ids=" ".join,
)
def test_resume_with_another_problem(refused, model, args):
    write("one.csv", "a,b,label\n" + "".join(f"{i},{i % 3},{'xy'[i % 2]}\n" for i in range(20)))
    refused(["c.ckpt", "--resume", "other"], "train", *args, "--no-track", "--checkpoint", "c.ckpt", "--resume")


# --- configuration files

CONFIGS = [
    ("solvr: fw\n", ["c.yaml", "solvr", "solver"]),
    ("config: other.yaml\n", ["c.yaml", "config"]),
    ("C: many\n", ["c.yaml", "C", "number"]),
    ("C: 0\n", ["-C", "> 0"]),
    ("max-iter: 1.5\n", ["c.yaml", "max-iter", "integer"]),
    ("solver: [fw, swap]\n", ["solver", "fw", "swap"]),
    ("threads: 0\n", ["c.yaml", "threads"]),
    ("seed: -1\n", ["c.yaml", "seed"]),
    ("test_size: 7\n", ["--test-size", "7"]),
    ("- solver\n- fw\n", ["c.yaml", "option: value"]),
    ("just words\n", ["c.yaml", "option: value"]),
    ("solver: fw\n  C: [1\n", ["c.yaml:", "YAML"]),
    ("solver: fw\nC: 1\nC: }\n", ["c.yaml:3", "YAML"]),
    (b"\xff\xfe\x00s", ["c.yaml"]),
    ("solver: !!python/object/apply:os.getcwd []\n", ["c.yaml:1"]),
]


@pytest.mark.parametrize(("text", "words"), CONFIGS, ids=[repr(text)[:30] for text, _ in CONFIGS])
def test_wrong_config(refused, text, words):
    refused(words, "train", "iris", "--no-track", "--config", write("c.yaml", text))


def test_config_that_is_not_there(refused):
    refused(["no.yaml", "path"], "train", "iris", "--config", "no.yaml")
    refused([".", "path"], "train", "iris", "--config", ".")


# --- the process


def process(*args, **kwargs):
    done = subprocess.run(
        [sys.executable, "-m", "svmkit", *args], capture_output=True, text=True, timeout=300, **kwargs
    )
    return Result(done.returncode, done.stdout, done.stderr)


def test_error_in_a_process(files):
    done = process("train", "broken.svm", "--no-track")
    assert (done.code, done.out) == (2, "") and done.err.startswith("svmkit: broken.svm:17: ")
    assert done.err.count("\n") == 1


def test_json_keeps_stdout_empty(files):
    done = process("train", "broken.svm", "--no-track", "--json")
    assert (done.code, done.out) == (2, "") and done.err.count("\n") == 1


@pytest.mark.parametrize("place", ["front", "back"])
def test_debug_shows_the_traceback(files, place):
    args = ["train", "broken.svm", "--no-track"]
    done = process(*(["--debug", *args] if place == "front" else [*args, "--debug"]))
    assert done.code != 0 and done.out == ""
    assert "Traceback" in done.err and "broken.svm:17" in done.err.splitlines()[-1]


def test_work_that_fails_is_exit_1(svmkit, monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("the machine is on fire\nand more")

    monkeypatch.setattr("svmkit.cli.job.fit", broken)
    done = svmkit("train", "iris", "--no-track")
    assert (done.code, done.out) == (1, "") and done.err.count("\n") == 1
    assert "RuntimeError" in done.err and "on fire" in done.err and "--debug" in done.err


def test_out_of_memory_is_exit_1(svmkit, monkeypatch):
    def full(*args, **kwargs):
        raise MemoryError

    monkeypatch.setattr("svmkit.cli.job.fit", full)
    done = svmkit("train", "iris", "--no-track")
    assert (done.code, done.out) == (1, "") and done.err.count("\n") == 1 and "memory" in done.err


def test_interrupt_before_the_work_is_exit_1(svmkit, monkeypatch):
    def stopped(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("svmkit.cli.job.fit", stopped)
    done = svmkit("train", "iris", "--no-track", "--out", "m.model")
    assert (done.code, done.out) == (1, "") and done.err.count("\n") == 1 and "interrupted" in done.err
    assert not Path("m.model").exists()


def test_indefinite_kernel_is_named(svmkit):
    """A matrix that is no kernel: an error or an uncertified result, never a wrong claim of convergence."""
    import json

    X = -10.0 * np.eye(10)
    np.savez("bad.npz", X=X, y=[0, 1] * 5)
    done = svmkit("train", "bad.npz", "--kernel", "precomputed", "-C", "100", "--no-track", "--json")
    if done.code == 0:
        assert json.loads(done.out)["status"] != "converged"
    else:
        assert done.code in (1, 2) and done.out == "" and done.err.count("\n") == 1
        assert "positive" in done.err and "Traceback" not in done.err
