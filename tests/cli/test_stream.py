"""svmkit train -: samples from standard input, in this process where no signal and no slow pipe is needed."""

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.cli import clouds, process, svmlight
from support.problems import write

from svmkit import SVMModel, load
from svmkit.cli.training import stream
from svmkit.kernels.functions import RBF
from svmkit.solver.sampler import Cyclic
from svmkit.solver.stopping import Epochs
from svmkit.training.train import fit

pytestmark = pytest.mark.usefixtures("alone")

SFW = ("--solver", "sfw", "--no-track", "--json")


@pytest.fixture
def piped(svmkit, monkeypatch):
    """piped(text, *options) -> Result of `svmkit train -` with that text on standard input."""

    def run(text, *args):
        content = text if isinstance(text, bytes) else text.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        return svmkit("train", "-", *args)

    return run


@pytest.fixture
def text():
    return svmlight(n=200).read_text()


def told(done, code=2):
    """The one JSON object of a run that ended with that code, and the last line on stderr."""
    assert done.code == code and done.out.count("\n") == 1 and "Traceback" not in done.err
    return json.loads(done.out), done.err.splitlines()[-1]


@pytest.mark.parametrize("block", [1, 37, 1024])
@pytest.mark.parametrize("solver", ["sfw", "msfw"])
def test_it_is_one_pass_in_order(piped, text, solver, block):
    options = ("--solver", solver, "--gamma", "0.5", "--classes", "-1,1", "--block", block, "--out", "m.model")
    result = piped(text, *options, "--no-track", "--json").json
    data = load("clouds.svm")
    start = np.zeros(200)
    start[0] = 1.0
    whole = fit(data.X, data.y, solver=solver, kernel=RBF(0.5), sampler=Cyclic(1), stop=Epochs(1), start=[start])
    assert result["dual_objective"] == pytest.approx(whole.dual_objective, rel=1e-9)
    assert result["n_support"] == len(whole.support) and result["n_iter"] == result["n_samples"] == 200
    assert (result["status"], result["gap"], result["objective"], result["train_accuracy"]) == (
        "max_iter", None, None, None,
    )  # fmt: skip
    assert (result["data"], result["classes"], result["skipped"]) == ("standard input", [-1, 1], 0)
    assert (result["progressive_accuracy"] is None) == (block == 1024)
    assert result["model"] == "m.model" and result["run_id"] is None and result["test_accuracy"] is None
    np.testing.assert_allclose(
        SVMModel.load("m.model").decision_function(data.X), whole.model.decision_function(data.X), rtol=1e-8
    )


def test_the_keys_are_those_of_any_training(piped, train, text):
    streamed, batch = piped(text, *SFW).json, train("clouds.svm", "--solver", "sfw", "--tol", "0.1")
    assert set(streamed) - set(batch) == {"progressive_accuracy", "skipped"} and set(batch) <= set(streamed)
    assert set(streamed["params"]) == set(batch["params"])


def test_for_a_reader(piped, text):
    done = piped(text, "--solver", "sfw", "--no-track", "--test", "clouds.svm", "--block", "50", "--on-error", "skip")
    lines = dict(line.split(maxsplit=1) for line in done.out.splitlines())
    assert lines["data"].startswith("standard input: 200 rows, 3 features, 2 classes")
    assert lines["status"] == "max_iter (one pass) after 200 iterations"
    assert lines["gap"].startswith("not known; the optimum is at least") and "objective" not in lines
    assert "ahead of learning" in lines["accuracy"] and "test (200 rows;" in lines["accuracy"]
    assert lines["balanced"].endswith("% test") and lines["recall"].endswith("% (test)")
    assert "inf" not in done.out and "nan" not in done.out
    done = piped(text + "x\n", "--solver", "sfw", "--no-track", "--on-error", "skip")
    assert "; 1 lines skipped" in done.out


def test_a_linear_model_has_no_vectors_to_count(piped, text):
    assert "support" not in piped(text, "--solver", "sgd", "--no-track").out
    assert "vectors" in piped(text, "--solver", "pegasos", "--kernel", "rbf", "--no-track").out


def test_labels_are_those_of_the_first_block_unless_announced(piped, text):
    done = piped(text, *SFW)
    assert "the classes are those of the first 200 samples: -1, 1" in done.err and done.err.count("\n") == 1
    done = piped(text, *SFW, "--classes", "-1,1,4")
    assert "no sample of class 4" in done.err and done.json["classes"] == [-1, 1, 4]
    result, line = told(piped(text + "7 1:1\n", *SFW, "--block", "100"))
    assert line.startswith("svmkit: standard input:201: the label '7' is not announced (-1, 1 are)")
    assert result["n_samples"] == 200


def test_three_classes(piped):
    rng = np.random.default_rng(0)
    y = rng.integers(1, 4, size=300)
    X = rng.normal(size=(300, 2)) * 0.3 + np.array([[0, 0], [0, 0], [2, 0], [0, 2]])[y]
    write("t.svm", "".join(f"{c} 1:{a:.5g} 2:{b:.5g}\n" for c, (a, b) in zip(y, X, strict=True)))
    result = piped(Path("t.svm").read_text(), *SFW, "--block", "40", "--test", "t.svm").json
    assert result["classes"] == [1, 2, 3] and result["test_accuracy"] > 0.95 < result["progressive_accuracy"]


BAD = {
    "malformed": ("+1 1:0.5 nonsense\n", "'nonsense' is no index:value"),
    "nan": ("+1 1:nan\n", "not finite"),
    "label": ("3 1:0.5\n", "the label '3' is not announced"),
    "wide": ("+1 4:0.5\n", "index 4 is beyond the 3 announced features"),
    "zero": ("+1 0:0.5\n", "index 0"),
    "descending": ("+1 3:1 2:1\n", "must ascend"),
}
ANNOUNCED = ("--classes", "-1,1", "--n-features", "3")


@pytest.mark.parametrize("case", BAD)
def test_a_bad_line_stops_with_the_model_so_far(piped, svmkit, text, case):
    bad, words = BAD[case]
    lines = text.splitlines(keepends=True)
    spoilt = "".join([*lines[:120], bad, *lines[120:]])
    done = piped(spoilt, *SFW, *ANNOUNCED, "--block", "50", "--out", "m.model")
    result, line = told(done)
    assert line.startswith("svmkit: standard input:121: ") and words in line and done.err.count("\n") == 1
    assert (result["n_samples"], result["status"], result["model"]) == (120, "interrupted", "m.model")
    whole = piped("".join(lines[:120]), *SFW, *ANNOUNCED, "--block", "50").json
    assert result["dual_objective"] == whole["dual_objective"]
    assert svmkit("evaluate", "m.model", "clouds.svm").code == 0


@pytest.mark.parametrize("case", BAD)
def test_or_it_is_skipped_and_counted(piped, text, case):
    bad, words = BAD[case]
    lines = text.splitlines(keepends=True)
    done = piped("".join([bad, *lines[:70], bad, *lines[70:], bad]), *SFW, *ANNOUNCED, "--on-error", "skip")
    assert done.json["skipped"] == 3 and done.json["n_samples"] == 200 and done.json["status"] == "max_iter"
    assert "skipped 3 lines, the first: standard input:1: " in done.err and words in done.err


def test_an_end_in_the_middle_of_a_line(piped, text):
    result, line = told(piped(text + "+1 1:0.5 2", *SFW))
    assert "standard input:201: the stream ends in the middle of a line" in line and result["n_samples"] == 200
    assert piped(text + "+1 1:0.5 2:1", *SFW).json["n_samples"] == 201


@pytest.mark.parametrize(
    ("given", "options", "words"),
    [
        ("", (), ["no sample", "two classes"]),
        ("\n# nothing\n\n", (), ["no sample"]),
        ("nonsense\n", (), ["standard input:1:", "no label"]),
        ("nonsense\n", ("--on-error", "skip"), ["no sample", "standard input:1:"]),
        ("+1 1:1\n" * 3, (), ["first 3 samples", "class 1", "--classes"]),
        ("+1 1:1\n+1 1:x\n", (), ["standard input:2:"]),
        ("+1 1:1\n" * 3, ("--classes", "-1,1"), ["all 3 samples are of class 1"]),
        ("+1 1:1\nx\n", ("--classes", "-1,1"), ["standard input:2:"]),
        ("0.5 1:1\n1 1:2\n", (), ["continuous"]),
    ],
)
def test_no_model_is_one_line(piped, given, options, words):
    done = piped(given, *SFW, *options, "--out", "m.model")
    assert (done.code, done.out) == (2, "") and "Traceback" not in done.err
    last = done.err.splitlines()[-1]
    assert last.startswith("svmkit: ") and all(word in last for word in words), last
    with pytest.raises(Exception, match=r"m\.model"):
        SVMModel.load("m.model")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--solver", "swap2o"), ["swap2o does not learn from streams", "msfw", "sfw"]),
        ((), ["auto does not learn from streams"]),
        (("--solver", "sfw", "--test-size", "0.2"), ["held out"]),
        (("--solver", "sfw", "--checkpoint", "c.ckpt"), ["--checkpoint"]),
        (("--solver", "sfw", "--max-epochs", "2"), ["once"]),
        (("--solver", "sfw", "--class-weight", "balanced"), ["all labels"]),
        (("--solver", "sfw", "--label", "y"), ["--label"]),
        (("--solver", "sfw", "--sampler", "uniform"), ["order of the stream"]),
        (("--solver", "sfw", "--stop", "abs:1"), ["--stop"]),
        (("--solver", "sfw", "--tol", "0.1"), ["--tol"]),
        (("--solver", "sfw", "--tol", "1e-3"), ["--tol"]),  # the default, but given
        (("--solver", "sfw", "--max-iter", "5"), ["head -n"]),
        (("--solver", "sfw", "--curve", "--test", "iris"), ["--curve"]),
        (("--solver", "sfw", "--kernel", "precomputed"), ["precomputed"]),
        (("--solver", "sfw", "--classes", "-1"), ["--classes", "two labels"]),
        (("--solver", "sfw", "--classes", "a,b"), ["--classes"]),
        (("--solver", "sfw", "--classes", "nan,1"), ["--classes"]),
        (("--solver", "sfw", "--on-error", "hide"), ["stop", "skip"]),
        (("--solver", "sfw", "--test", "nowhere.svm"), ["nowhere.svm"]),
        (("--solver", "sfw", "--scale", "odd"), ["--scale"]),
    ],
)
def test_refused_before_anything_is_read(refused, monkeypatch, options, words):
    class Untouched(io.BytesIO):
        def read(self, *args):
            raise AssertionError("read")

        read1 = readinto = read

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Untouched()))
    refused(words, "train", "-", *options)


@pytest.mark.parametrize("option", [("--classes", "-1,1"), ("--on-error", "skip"), ("--block", "9")])
def test_options_of_streams_are_for_streams(refused, option):
    refused([option[0], "train -"], "train", svmlight(), *option)


def test_without_standard_input(refused, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    refused(["standard input is closed"], "train", "-", "--solver", "sfw")


@pytest.mark.parametrize("announced", [True, False])
def test_a_test_set_of_another_width(piped, text, announced):
    write("wide.svm", "+1 1:1 5:2\n-1 1:-1 2:-1\n")
    options = ("--n-features", "3") if announced else ()
    done = piped(text, *SFW, *options, "--test", "wide.svm", "--out", "m.model")
    if announced:
        result, line = told(done)
        assert "wide.svm" in line and "5 features" in line and result["test_accuracy"] is None
        assert result["status"] == "max_iter"
    else:
        assert done.json["n_features"] == 5 and done.json["n_test"] == 2
    assert SVMModel.load("m.model").n_features == (3 if announced else 5)
    write("few_columns.svm", "+1 1:1\n-1 1:-1\n")
    assert piped(text, *SFW, "--test", "few_columns.svm").json["test_accuracy"] == 1.0


def test_options_reach_the_solver(piped, text):
    options = ("--max-support", "15", "--scale", "standard", "--class-weight", "1=3", "--block", "50")
    result = piped(text, *SFW, *options, "-C", "2", "--kernel", "laplacian", "--out", "m.model").json
    model = SVMModel.load("m.model")
    assert result["n_support"] <= 15 and model.scaling.kind == "standard" and model.kernel.name == "laplacian"
    assert model.about["C"] == 2.0 and model.about["n_samples"] == 200 and model.about["gap"] is None
    away = piped(text, "--solver", "msfw", "-o", "away=support", "--no-track", "--json").json
    assert away["params"]["away"] == "support"


def test_going_on_with_a_model(piped, refused, text, monkeypatch):
    lines = text.splitlines(keepends=True)
    whole = piped(text, *SFW, "--gamma", "0.5").json
    piped("".join(lines[:90]), *SFW, "--gamma", "0.5", "--out", "m.model")
    result = piped("".join(lines[90:]), *SFW, "--resume", "--out", "m.model", "--block", "30").json
    assert result["dual_objective"] == pytest.approx(whole["dual_objective"], rel=0.01)
    assert result["n_samples"] == 110 and result["kernel"]["params"]["gamma"] == 0.5
    for option in ("--gamma", "1"), ("--scale", "standard"):
        refused(["--resume", option[0]], "train", "-", *SFW, "--resume", "--out", "m.model", *option)


def test_time_limit(piped, text):
    result = piped(text, *SFW, "--classes", "-1,1", "--block", "20", "--time-limit", "1e-9")
    assert result.code == 1 and "time_limit" in result.err and "no model" in result.err
    long = text * 200
    result = piped(long, *SFW, "--classes", "-1,1", "--block", "20", "--time-limit", "0.5").json
    assert result["status"] == "time_limit" and 20 <= result["n_samples"] < 40_000


@pytest.mark.slow
def test_it_is_logged(piped, svmkit, text, tmp_path):
    pytest.importorskip("mlflow", reason="needs mlflow")
    from mlflow import MlflowClient

    options = ("--solver", "msfw", "--json", "--block", "40", "--test", "clouds.svm", "--register", "streamed")
    result = piped(text, *options).json
    client = MlflowClient(f"sqlite:///{tmp_path}/mlflow.db")
    run = client.get_run(result["run_id"])
    assert run.info.status == "FINISHED"
    params, metrics = run.data.params, run.data.metrics
    assert params["solver"] == "msfw" and params["n"] == "stream" and params["d"] == "3" and "tol" not in params
    assert float(params["gamma"]) == pytest.approx(result["kernel"]["params"]["gamma"])
    assert metrics["test/accuracy"] == result["test_accuracy"] and "final/objective" not in metrics
    assert metrics["stream/samples"] == 200 and metrics["stream/accuracy"] == result["progressive_accuracy"]
    assert metrics["final/dual_objective"] == result["dual_objective"]
    steps = [point.step for point in client.get_metric_history(result["run_id"], "curve/n_support")]
    assert steps == [40, 80, 120, 160, 200]
    assert svmkit("evaluate", "models:/streamed/1", "clouds.svm").code == 0


@pytest.mark.slow
def test_it_reads_a_pipe():
    X, y = clouds(300)
    lines = "".join(f"{c:+d} 1:{a:.5g} 2:{b:.5g} 3:{d:.5g}\n" for c, (a, b, d) in zip(y, X, strict=True))
    done = process("train", "-", *SFW, "--block", "64", input=lines)
    assert done.json["n_samples"] == 300 and done.json["progressive_accuracy"] > 0.8
    done = process("train", "-", *SFW, input=lines + "oops\n")
    result, line = told(done)
    assert line.startswith("svmkit: standard input:301:") and result["n_samples"] == 300


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["sfw", "msfw"])
def test_a9a(real, svmkit, monkeypatch, solver):
    import bz2

    with bz2.open(real / "a9a.bz2") as stream:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
        options = ("-C", "0.5", "--gamma", "0.005", "--test", "a9a.t")
        result = svmkit("train", "-", "--solver", solver, *options, "--no-track", "--json").json
    assert result["n_samples"] == 32561 and result["test_accuracy"] > 0.8


@pytest.mark.parametrize(("width", "loads"), [(3, [None]), (5, [None]), (2, [None, 3])])
def test_a_test_set_is_read_again_only_where_it_lacks_columns(width, loads, monkeypatch):
    """It may be a pipe, which cannot be read twice."""
    asked, widened = [], []

    def read(source, n_features=None):
        asked.append(n_features)
        return SimpleNamespace(n_features=n_features or width)

    monkeypatch.setattr(stream, "load", read)
    online = SimpleNamespace(widen=widened.append, input=SimpleNamespace(n_features=3))
    job = SimpleNamespace(options=SimpleNamespace(test="t", n_features=None), online=online, failure=None)
    found = stream.StreamJob._test(job)
    assert asked == loads and widened == [width] and found.n_features == max(width, 3) and job.failure is None
    job.options.test = None
    assert stream.StreamJob._test(job) is None and asked == loads
