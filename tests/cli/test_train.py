"""`svmkit train`: what it prints, the data and labels it takes, and the model it writes."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from support.cli import PEOPLE, clouds, people, process, svmlight
from support.problems import write

from svmkit.kernels.functions import RBF
from svmkit.training.train import fit

pytestmark = pytest.mark.usefixtures("alone")

KEYS = {
    "solver", "problem", "kernel", "params", "data", "n_samples", "n_features", "classes", "status", "n_iter", "fit_s",
    "compile_s", "n_support", "n_columns", "objective", "dual_objective", "gap", "kernel_values", "untrained_pairs",
    "task", "train_r2", "train_rmse", "train_mae", "test_r2", "test_rmse", "test_mae",
    "train_accuracy", "flaw", "rounding", "test_accuracy", "n_test", "curve", "details", "model", "run_id", "choice",
    "formulation", "train_scores", "test_scores", "warning", "label", "metric", "calibration", "multiclass", "outputs",
    "relevance",
}  # fmt: skip


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
    assert result["params"]["C"] == 1.0 and result["problem"] == "BoxQP"
    assert 0 < result["n_support"] <= 569 and result["kernel_values"] > 0 and result["fit_s"] > 0


def test_human_output(svmkit):
    done = svmkit("train", "--no-track", "--scale", "standard", "--test-size", "0.25", "--out", "m.model")
    assert done.code == 0 and done.err == "svmkit: auto: smo for 427 samples (the kernel matrix fits)\n"
    lines = dict(line.split("  ", 1) for line in done.out.splitlines())
    assert set(lines) == {
        "data", "solver", "status", "gap", "objective", "support", "time", "accuracy", "balanced", "recall", "model",
    }  # fmt: skip
    assert "breast_cancer" in lines["data"] and "converged" in lines["status"] and "test" in lines["accuracy"]
    assert "\x1b" not in done.out


def test_the_training_matrix_is_scaled_once(svmkit, monkeypatch):
    """Also when gamma of the scaled data is logged as the run begins; the model scales what it predicts on its own."""
    from svmkit.cli.training import job
    from svmkit.data.prepare.scaling import Scaling
    from svmkit.tracking import Tracker

    scaled, before, params, apply, finish = [], [], {}, Scaling.apply, job.finish

    class Recorder(Tracker):
        def start(self, name, values, tags, data=None, parent=None):
            params.update(values)

    def counted(self, X):
        scaled.append(X.shape)
        return apply(self, X)

    def finished(*args, **kwargs):
        before.append(len(scaled))
        return finish(*args, **kwargs)

    monkeypatch.setattr(Scaling, "apply", counted)
    monkeypatch.setattr(job, "finish", finished)
    monkeypatch.setattr("svmkit.tracking.tracker", Recorder)
    result = svmkit("train", "wine", "--scale", "standard", "--json").json
    assert before == [1] and scaled == [(178, 13)] * 2
    assert params["gamma"] == result["kernel"]["params"]["gamma"] > 0


def test_scale_hint_goes_to_stderr(svmkit):
    done = svmkit("train", "--no-track", "--json", "--max-iter", "5")
    assert done.json["status"] == "max_iter"
    hint, choice = done.err.splitlines()
    assert "--scale standard" in hint and "auto: smo" in choice


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
    write("few_columns.svm", "".join(f"{1 if i % 2 else -1} 1:{i % 7 + 3 * (i % 2)}\n" for i in range(10)))
    assert train("train.svm", "--test", "few_columns.svm", "--out", "m.model")["n_test"] == 10
    assert svmkit("evaluate", "m.model", "few_columns.svm", "--json").json["n_test"] == 10
    assert len(svmkit("predict", "m.model", "few_columns.svm").out.split()) == 10


def test_precomputed(train, svmkit):
    X, y = clouds()
    np.savez("square.npz", X=X @ X.T, y=y)
    np.savez("plain.npz", X=X, y=y)
    given = train("square.npz", "--kernel", "precomputed", "--out", "m.model")
    linear = train("plain.npz", "--kernel", "linear", "--solver", "smo")
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
        "majority", "majority_share", "precision", "f1", "rows", "never_predicted", "unknown_labels", "positive",
        "roc_auc", "average_precision", "confusion", "warning", "plot", "task", "test_r2", "test_rmse", "test_mae",
        "log_loss", "brier_score", "base_log_loss", "base_brier_score", "reliability", "gain",
    }  # fmt: skip
    assert scored["n_test"] == 150 and scored["n_support"] == result["n_support"]
    weighted = (result["n_samples"] * result["train_accuracy"] + result["n_test"] * result["test_accuracy"]) / 150
    assert scored["test_accuracy"] == pytest.approx(weighted)

    human = svmkit("evaluate", "m.model", "iris")
    assert human.code == 0 and f"{scored['test_accuracy']:.2%}" in human.out and "true \\ predicted" in human.out

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
    assert Path("m.model").read_bytes() != b"old" and Path("m.model.bak").read_bytes() == b"old"
    assert sorted(p.name for p in Path.cwd().iterdir()) == ["m.model", "m.model.bak"]


def test_what_a_method_is_known_for_is_told(train, svmkit):
    details = train("--solver", "cvm", "--scale", "standard")["details"]
    assert details["radius"] > 0 and details["core_set"] >= 2
    assert "core set" in svmkit("train", "--solver", "cvm", "--scale", "standard", "--no-track").out
    assert train("--solver", "swap", "--scale", "standard")["details"] == {}


LABELS = ("a,b", "line\nbreak", 'a "quoted" one', " spaces ", "semi;colon", "tab\there", "plain", "cr\rlf\r\n")


@pytest.mark.parametrize("out", [None, "labels.txt", "labels.csv"])
def test_predictions_of_any_text_are_read_back(svmkit, out):
    X, codes = np.random.default_rng(0).normal(size=(80, 2)), np.arange(80) % len(LABELS)
    X += 30.0 * np.c_[codes % 3, codes // 3]
    y = np.array(LABELS)[codes]
    fit(X, y, kernel=RBF(0.1)).model.save("m.model")
    np.savez("new.npz", X=X)
    done = svmkit("predict", "m.model", "new.npz", *(("--out", out) if out else ()))
    assert done.code == 0
    text = Path(out).read_bytes().decode() if out else done.out
    read = list(csv.reader(io.StringIO(text, newline="")))
    assert read == ([["prediction"]] if out == "labels.csv" else []) + [[label] for label in y]
    assert "\nplain\n" in text  # no quotes without need


def test_a_penalty_leaves_few_columns(svmkit):
    given = "train", "breast_cancer", "--no-track", "--scale", "standard", "-C", "0.05"
    result = svmkit(*given, "--penalty", "l1", "--json").json
    assert result["solver"] == "cd" and result["formulation"] == "squared hinge, free bias, l1 penalty"
    assert result["gap"] <= 1e-3 and 0 < result["n_columns"] < 20
    assert f"columns    {result['n_columns']} of 30 have a weight" in svmkit(*given, "--penalty", "l1").out
    net = svmkit(*given, "--penalty", "elasticnet", "--l1-ratio", "0.1", "--json").json
    assert net["params"]["l1_ratio"] == 0.1 and net["n_columns"] > result["n_columns"]
    assert svmkit(*given, "--json").json["n_columns"] is None


def test_a_grid_names_the_ratio(svmkit):
    grid = "--grid", "l1_ratio=0.2,0.8", "--grid", "C=0.05"
    found = svmkit(
        "tune", "breast_cancer", "--no-track", "--scale", "standard", "--penalty", "elasticnet", *grid, "--json"
    )
    assert [candidate["params"]["l1_ratio"] for candidate in found.json["candidates"]] in ([0.2, 0.8], [0.8, 0.2])
