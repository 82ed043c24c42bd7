"""What the command line says of wrong names, values and configuration files: exit 2, one line."""

from pathlib import Path

import pytest
from support.problems import write

pytestmark = pytest.mark.usefixtures("alone")

# --- names

NAMES = [
    ("solver", ["--solver", "swpa"], ["swpa", "did you mean swap", "fw", "mdm", "mfw", "partan", "swap2o"]),
    ("kernel", ["--kernel", "rfb"], ["rfb", "did you mean rbf", "laplacian", "linear", "poly", "sigmoid"]),
    ("sampler", ["--sampler", "unifrom:3"], ["unifrom", "did you mean uniform", "balanced", "cyclic", "full"]),
    ("solver of none", ["--solver", ""], ["--solver needs a value", "is empty", "svmkit train --help"]),
    ("out of an unset variable", ["--out="], ["--out needs a value", "is empty"]),
    (
        "another option for a value",
        ["--calibrate", "--out", "m.svmkit"],
        ["--calibrate needs a value", "--out"],
    ),
    ("a short option for a value", ["--kernel", "-C", "3"], ["--kernel needs a value", "-C follows it"]),
    ("no value at the end", ["--label"], ["--label needs a value; see svmkit train --help"]),
    ("the name of an option as a value", ["--label=-C"], ["label column ('-C')"]),
    ("option", ["--solverr", "fw"], ["--solverr", "--solver"]),
    ("option of none", ["--frobnicate"], ["--frobnicate", "--help"]),
    ("scale", ["--scale", "std"], ["std", "none", "standard", "minmax", "maxabs"]),
    ("-o solver", ["-o", "eta=3"], ["eta", "auto", "it has loss"]),
    ("-o kernel", ["-o", "kernel.foo=3"], ["foo", "rbf", "gamma"]),
    ("-o poly", ["--kernel", "poly", "-o", "kernel.gama=3"], ["gama", "gamma", "degree", "coef0"]),
    (
        "-o loss",
        ["--solver", "swap2o", "-o", "loss=hinge"],
        ["swap2o", "'loss'", "squared_hinge", "with loss=hinge", "dcd", "libsvm", "smo"],
    ),
    ("-o loss of none", ["--solver", "dcd", "-o", "loss=log"], ["dcd", "loss='log'", "hinge, squared_hinge"]),
    ("-o penalty", ["--solver", "dcd", "-o", "penalty=l1"], ["dcd", "'penalty'", "folos", "liblinear"]),
    ("-o penalty of none", ["--solver", "liblinear", "-o", "penalty=l3"], ["penalty='l3'", "l2, l1"]),
    ("--penalty of none", ["--penalty", "l3"], ["penalty='l3'", "l2, l1, elasticnet"]),
    ("--penalty with rbf", ["--penalty", "l1", "--kernel", "rbf"], ["penalty=l1", "kernel=linear", "not rbf"]),
    ("--penalty with a kink", ["--penalty", "l1", "--loss", "hinge"], ["without a kink", "squared_hinge", "huber"]),
    ("--penalty of others", ["--penalty", "l1", "--solver", "dcd"], ["dcd has no penalty=l1", "cd, folos, liblinear"]),
    ("--l1-ratio beyond 1", ["--penalty", "elasticnet", "--l1-ratio", "2"], ["l1_ratio", "from 0 to 1", "2"]),
    ("--l1-ratio of l1", ["--penalty", "l1", "--l1-ratio", "0.3"], ["--l1-ratio is for --penalty elasticnet"]),
    ("--l1-ratio alone", ["--l1-ratio", "0.3"], ["--l1-ratio is for --penalty elasticnet"]),
    ("--conformal-folds alone", ["--conformal-folds", "5"], ["--conformal-folds is about the sets of --conformal"]),
    ("--conformal-by alone", ["--conformal-by", "class"], ["--conformal-by is about the sets of --conformal"]),
    ("-o l1 hinge", ["--solver", "liblinear", "-o", "penalty=l1"], ["l1", "loss=squared_hinge"]),
    ("kernel for linear", ["--solver", "dcd", "--kernel", "rbf"], ["dcd", "linear kernel", "rbf", "swap2o", "libsvm"]),
    ("kernel for liblinear", ["--solver", "liblinear", "--kernel", "poly"], ["liblinear", "linear", "poly", "smo"]),
    ("matrix for linear", ["--solver", "sgd", "--kernel", "precomputed"], ["sgd", "precomputed", "swap2o", "libsvm"]),
    ("gamma for linear", ["--solver", "dcd", "--gamma", "3"], ["linear", "gamma"]),
    ("-o no value", ["-o", "eta"], ["eta", "KEY=VALUE"]),
    ("-o no key", ["-o", "=3"], ["KEY=VALUE"]),
    ("too many", ["extra"], ["extra"]),
]


@pytest.mark.parametrize(("args", "words"), [case[1:] for case in NAMES], ids=[case[0] for case in NAMES])
def test_wrong_names(refused, args, words):
    refused(words, "train", "iris", "--no-track", *args)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["datasets", "info", "iris", "--label"], ["--label needs a value", "svmkit datasets info --help"]),
        (["datasets", "info", "iris", "--drop", "--json"], ["--drop needs a value", "--json follows it"]),
        (["datasets", "fetch", "a9a", "--mirror="], ["--mirror needs a value", "is empty"]),
        (["models", "list", "--tracking-uri", ""], ["is empty", "svmkit models list --help"]),
        (["models", "pull", "models:/a/1", "--out", "--force"], ["--out needs a value", "svmkit models pull --help"]),
    ],
)
def test_options_of_sub_commands_need_values(refused, args, words):
    refused(words, *args)


@pytest.mark.parametrize("args", [[], ["datasets"], ["models"]], ids=["svmkit", "datasets", "models"])
def test_a_call_without_a_command_shows_the_help_page(svmkit, args):
    done = svmkit(*args)
    assert (done.code, done.err) == (2, "") and done.out.count("Usage: svmkit") == 1 and done.out.count("\n") > 10


def test_unknown_command(refused):
    refused(["trian", "--help"], "trian")


@pytest.mark.parametrize(("command", "word"), [("evaluate", "model"), ("predict", "model")])
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
    (["-C", "much"], ["-C 'much'", "no number"]),
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
    (["--tol", "small"], ["--tol 'small'", "no number"]),
    (["--stop", "foo"], ["foo", "gap:NUMBER", "abs:NUMBER"]),
    (["--stop", "abs:-1"], ["abs", "> 0", "-1"]),
    (["--stop", "abs:"], ["abs:", "NUMBER"]),
    (["--max-iter", "0"], ["--max-iter", "> 0"]),
    (["--max-iter", "abc"], ["--max-iter", "no whole number"]),
    (["--max-iter", "1.5"], ["--max-iter", "no whole number"]),
    (["--max-epochs", "0"], ["--max-epochs", "> 0"]),
    (["--time-limit", "0"], ["--time-limit", "> 0"]),
    (["--time-limit", "-3"], ["--time-limit", "> 0"]),
    (["--max-support", "0"], ["--max-support", "> 0"]),
    (["--test-size", "2"], ["--test-size", "between 0 and 1", "2"]),
    (["--test-size", "0"], ["--test-size", "between 0 and 1"]),
    (["--test-size", "nan"], ["--test-size", "nan"]),
    (["--test-size", "1e-9"], ["test size of 1e-09", "larger"]),
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
    (["--seed", "x"], ["--seed", "no whole number"]),
    (["--resume"], ["--resume", "--checkpoint"]),
    (["--register", "x"], ["--register", "--no-track"]),
    (["--kernel", "precomputed"], ["precomputed", "square", "150", "4"]),
    (["--solver", "libsvm", "-o", "eps=0"], ["eps", "> 0"]),
    (["--solver", "liblinear", "-o", "passes=0"], ["passes", ">= 1"]),
    (["--solver", "dcd", "-o", "bias=-1"], ["bias", ">= 0", "-1"]),
    (["--solver", "libsvm", "--kernel", "laplacian", "--memory", "10KB"], ["laplacian", "100 x 100", "memory"]),
    (["--solver", "pegasos", "-o", "batch=0"], ["batch", ">= 1"]),
    (["--solver", "pegasos", "-o", "batch=x"], ["batch", "x", "whole number"]),
    (["--solver", "norma", "-o", "tau=-1"], ["tau", ">= 0"]),
    (["--label", "species"], ["label", "iris", "CSV"]),
]


@pytest.mark.parametrize(("args", "words"), VALUES, ids=[" ".join(args) for args, _ in VALUES])
@pytest.mark.slow
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

    monkeypatch.setattr("svmkit.cli.training.job.fit_prepared", never)
    refused([args[1]], "train", "iris", "--no-track", *args)


@pytest.mark.parametrize(
    ("args", "words"), [(["--out", "no/m.model"], ["no/m.model"]), (["--out", "."], ["cannot write"])]
)
def test_out_that_cannot_be_written(refused, args, words):
    refused(words, "train", "iris", "--no-track", *args)
    assert not list(Path.cwd().iterdir())


# --- configuration files

CONFIGS = [
    ("solvr: fw\n", ["c.yaml", "solvr", "solver"]),
    ("config: other.yaml\n", ["c.yaml", "config"]),
    ("C: many\n", ["c.yaml", "C", "no number"]),
    ("C: 0\n", ["-C", "> 0"]),
    ("max-iter: 1.5\n", ["c.yaml", "max-iter", "no whole number"]),
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
