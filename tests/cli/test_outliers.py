"""`svmkit train --task outliers` and `--nu`: tables and svmlight files, labels that are ignored, refusals."""

from pathlib import Path

import numpy as np
import pytest
from support.problems import write

pytestmark = pytest.mark.usefixtures("alone")


@pytest.fixture
def files():
    rng = np.random.default_rng(0)
    normal, odd = rng.normal(size=(100, 2)), rng.uniform(-9, 9, size=(30, 2))
    write("normal.csv", "a,b\n" + "".join(f"{a:.4f},{b:.4f}\n" for a, b in normal))
    rows = [(*row, 1) for row in normal[:40]] + [(*row, -1) for row in odd]
    write("both.csv", "a,b,label\n" + "".join(f"{a:.4f},{b:.4f},{label}\n" for a, b, label in rows))
    write("normal.svm", "".join(f"7 1:{a:.4f} 2:{b:.4f}\n" for a, b in normal))


def test_train_predict_and_evaluate(svmkit, files):
    found = svmkit(
        "train", "normal.csv", "--task", "outliers", "--no-track", "--test", "both.csv", "--out", "m", "--json"
    ).json
    assert found["task"] == "outliers" and found["problem"] == "OneClassQP" and found["classes"] == [-1, 1]
    assert found["gap"] <= 1e-3 and found["params"]["nu"] == 0.1 and found["n_features"] == 2
    assert found["train_outliers"] <= 0.1 and found["train_accuracy"] is None
    assert found["test_accuracy"] > 0.8 and found["n_test"] == 70 and found["run_id"] is None
    labels = svmkit("predict", "m", "both.csv").out.split()
    assert set(labels) == {"-1", "1"} and len(labels) == 70
    told = svmkit("evaluate", "m", "both.csv").out
    assert f"{found['test_accuracy']:.2%}" in told.splitlines()[1]
    about = svmkit("show", "m", "--json").json["about"]
    assert about["test_accuracy"] == found["test_accuracy"] and about["train_outliers"] == found["train_outliers"]
    assert about["params"]["nu"] == 0.1 and "C" not in about["params"]
    assert "outliers" in next(line for line in svmkit("show", "m").out.splitlines() if line.startswith("task"))


def test_quantities_in_the_label_column_are_no_task(svmkit, files):
    write("price.csv", "a,b,y\n" + "".join(f"{i % 7},{i % 11},{i / 3:.3f}\n" for i in range(60)))
    found = svmkit("train", "price.csv", "--task", "outliers", "--no-track", "--solver", "fcfw", "--out", "m", "--json")
    assert found.json["train_accuracy"] is None and found.json["n_features"] == 2
    params = svmkit("show", "m", "--json").json["about"]["params"]
    assert params["formulation"] == "one class, squared hinge" and params["task"] == "outliers"


def test_labels_of_a_file_are_ignored(svmkit, files):
    table = svmkit("train", "normal.csv", "--task", "outliers", "--no-track", "--nu", "0.3", "--json").json
    other = svmkit("train", "normal.svm", "--task", "outliers", "--no-track", "--nu", "0.3", "--json").json
    assert table["objective"] == pytest.approx(other["objective"], rel=1e-6)
    told = svmkit("train", "both.csv", "--task", "outliers", "--no-track", "--solver", "fcfw", "--scale", "standard")
    assert "SimplexQP" in told.out and "of the labels -1 and 1" in told.out


def test_scores_that_are_rounding_errors_are_said(svmkit):
    """Around the origin no plane keeps the samples from it: the best decision is the constant 0."""
    words = "no plane in the kernel's space may keep the samples from the origin, so that scores are"
    centred = ("train", "breast_cancer", "--task", "outliers", "--kernel", "linear", "--scale", "standard")
    found = svmkit(*centred, "--no-track", "--out", "m")
    assert words in found.err and "stalled" in found.out and "rounding errors allow no smaller one" in found.out
    assert words in svmkit("train", *centred[1:], "--no-track", "--json").json["warning"]
    write("l.svm", "".join(f"{sign} 1:{row}\n" for row, sign in enumerate([1, -1] * 10)))
    assert words in svmkit("evaluate", "m", "l.svm").err
    assert svmkit("train", "breast_cancer", "--task", "outliers", "--no-track", "--json").json["warning"] is None


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--nu", "1.5"], "nu=1.5 is infeasible"),
        (["--class-weight", "balanced"], "--class-weight is for classes: leave it out with --task outliers"),
        (["--test-size", "0.2"], "--test-size holds out labelled rows"),
        (["--nu", "0.5", "--max-support", "20"], "needs at least 50 support vectors"),
        (["--solver", "sgd"], "solver sgd"),
    ],
)
def test_what_is_refused(svmkit, files, more, words):
    result = svmkit("train", "normal.csv", "--task", "outliers", "--no-track", *more)
    assert result.code == 2 and words in result.err and result.out == ""


def test_a_solver_that_cannot_opens_no_run(svmkit, files):
    assert svmkit("train", "normal.csv", "--task", "outliers", "--solver", "sgd").code == 2
    assert not Path("mlflow.db").exists()


@pytest.mark.slow
def test_a_checkpoint_belongs_to_its_nu(svmkit, refused):
    def args(*more):
        return ("train", "iris", *more, "--tol", "1e-9", "--no-track", "--checkpoint", "c.ckpt")

    first = svmkit(*args("--nu", "0.3"), "--max-iter", "2", "--json").json
    resumed = svmkit(*args("--nu", "0.3"), "--time-limit", "60", "--resume", "--json").json
    straight = svmkit(*args("--nu", "0.3")[:-2], "--json").json
    assert first["status"] == "max_iter" and resumed["status"] == "converged" and resumed["n_iter"] > first["n_iter"]
    assert resumed["objective"] == pytest.approx(straight["objective"], rel=1e-6)
    for other in (("--nu", "0.2"), ()):
        refused(["c.ckpt", "other", "nu", "--resume"], *args(*other), "--resume")
    svmkit(*args())
    refused(["c.ckpt", "other", "nu", "--resume"], *args("--nu", "0.3"), "--resume")


def test_a_search_compares_nu_by_labels(svmkit, files, refused):
    grid = ("--grid", "nu=0.05,0.4", "--grid", "gamma=0.01,0.1", "--cv", "3", "--no-track")
    found = svmkit("tune", "both.csv", "--task", "outliers", *grid, "--out", "m", "--json").json
    assert found["metric"]["name"] == "balanced_accuracy" and found["n_candidates"] == 4
    assert found["best"]["params"]["nu"] == 0.4 == found["refit"]["params"]["nu"]  # 30 of the 70 rows are outliers
    assert 0.35 <= found["refit"]["train_outliers"] <= 0.4 and found["refit"]["train_accuracy"] > 0.9
    refused(["nu", "--grid C"], "tune", "both.csv", "--task", "outliers", "--grid", "C=1,10", "--no-track")
    refused(["y should be -1 for an outlier and 1"], "tune", "normal.csv", "--task", "outliers", *grid)


@pytest.mark.parametrize("more", [[], ["--solver", "fcfw"]])
def test_a_checkpoint_is_resumed(svmkit, files, refused, more):
    def args(*limits):
        given = ("--tol", "1e-9", "--checkpoint", "c.ckpt", "--no-track", "--json")
        return ("train", "normal.csv", "--task", "outliers", *more, *given, *limits)

    nu = "0.003" if more else "0.3"  # fcfw begins at the solution where nu is large
    first = svmkit(*args("--max-iter", "2", "--nu", nu)).json
    resumed = svmkit(*args("--nu", nu, "--resume")).json
    straight = svmkit(*args("--nu", nu)).json
    assert first["status"] == "max_iter" and resumed["status"] == straight["status"] and first["gap"] > resumed["gap"]
    assert resumed["objective"] == pytest.approx(straight["objective"], rel=1e-6)
    refused(["c.ckpt", "--resume"], *args("--nu", "0.002", "--resume"))


def test_a_training_starts_at_its_model(svmkit, files):
    args = ("train", "normal.csv", "--task", "outliers", "--no-track", "--solver", "smo", "--tol", "1e-8", "--out", "m")
    first = svmkit(*args, "--json").json
    again = svmkit(*args, "--resume", "--json").json
    assert again["n_iter"] < first["n_iter"] and again["rho"] == pytest.approx(first["rho"], rel=1e-6)


def test_a_stream_has_no_outliers(svmkit):
    result = svmkit("train", "-", "--task", "outliers")
    assert result.code == 2 and "--task outliers needs a file" in result.err


@pytest.mark.slow
def test_nu_of_classes_and_quantities(svmkit):
    found = svmkit("train", "iris", "--nu", "0.3", "--no-track", "--json").json
    assert found["problem"] == "NuBoxQP" and found["params"]["nu"] == 0.3 and found["gap"] <= 1e-3
    told = svmkit("train", "diabetes", "--nu", "0.3", "--no-track")
    assert "NuTubeQP" in told.out and "epsilon" in told.out and "nu=0.3" in told.out
    refused = svmkit("train", "breast_cancer", "--nu", "0.9", "--no-track")
    assert refused.code == 2 and "benign vs malignant: nu=0.9 is infeasible" in refused.err
