"""What train says beyond accuracy: the largest class, balanced accuracy, recall, and one warning of a useless model."""

import numpy as np
import pytest
from support.cli import lopsided
from support.problems import write

from svmkit.kernels.functions import RBF
from svmkit.model.model import SVMModel
from svmkit.scoring.evaluations.classes import FEW, ClassEvaluation
from svmkit.scoring.evaluations.doubt import Trained, doubt_classes
from svmkit.scoring.scores import Scores
from svmkit.solver.solution import Status

pytestmark = pytest.mark.usefixtures("alone")

LONELY = ("--solver", "smo", "-C", 0.5, "--gamma", 1000)  # each row knows itself only


def lines_of(text):
    return dict(line.split(maxsplit=1) for line in text.splitlines())


def test_the_majority_model_is_told_by_the_numbers_and_one_line(svmkit):
    done = svmkit("train", lopsided(), *LONELY, "--test-size", 0.25, "--no-track")
    assert done.code == 0
    lines = lines_of(done.out)
    assert lines["accuracy"] == "95.00% train, 95.00% test (100 rows; largest class 95.00%)"
    assert lines["balanced"] == "50.00% train, 50.00% test"
    assert lines["recall"] == "leave: 0.00%, stay: 100.00% (test)"
    warnings = [line for line in done.err.splitlines() if "never" in line or "vectors" in line]
    assert len(warnings) == 1
    assert "class leave is never predicted and 100.0% of the rows are support vectors" in warnings[0]
    assert "gamma is likely too large" in warnings[0] and "--scale standard" in warnings[0]


def test_the_json_has_the_same(train):
    found = train(lopsided(), *LONELY, "--test-size", 0.25)
    assert found["test_accuracy"] == 0.95 == found["test_scores"]["majority_share"]
    assert found["test_scores"] == {
        "balanced_accuracy": 0.5, "majority": "stay", "majority_share": 0.95, "recall": {"leave": 0.0, "stay": 1.0},
        "never_predicted": ["leave"],
    }  # fmt: skip
    assert found["train_scores"]["never_predicted"] == ["leave"] and "never predicted" in found["warning"]
    good = train(lopsided(), "--solver", "smo", "--class-weight", "balanced")
    assert good["warning"] is None and good["test_scores"] is None and good["train_scores"]["never_predicted"] == []
    assert good["train_scores"]["balanced_accuracy"] > 0.8


def test_of_many_classes_the_worst_are_shown(svmkit):
    rng = np.random.default_rng(0)
    cells = [(k, k % 3 + rng.normal(scale=0.4), k // 3 + rng.normal(scale=0.4)) for k in [*range(9)] * 12]
    rows = "".join(f"{label},{a:.3f},{b:.3f}\n" for label, a, b in cells)
    done = svmkit("train", write("nine.csv", "label,a,b\n" + rows), "--no-track")
    recall = lines_of(done.out)["recall"]
    assert recall.startswith("worst of 9 classes: ") and recall.count("%") == 3 and "(test)" not in recall


def test_another_metric_is_measured_and_named(svmkit, train):
    args = (lopsided(), "--solver", "smo", "--class-weight", "balanced", "--test-size", 0.5, "--metric")
    done = svmkit("train", *args, "average_precision", "--no-track")
    assert "svmkit: the metric is average precision of class leave, the rarer one" in done.err
    line = next(line for line in done.out.splitlines() if line.startswith("average precision  "))
    assert line.count("%") == 2 and line.endswith(" test (class leave)")
    found = train(*args, "f1")["metric"]
    assert (found["name"], found["positive"]) == ("f1", "leave") and 0 < found["test"] < 1 and 0 < found["train"] <= 1
    found = train(*args[:-1])  # weights of classes
    assert found["metric"]["name"] == "balanced_accuracy"
    assert found["metric"]["test"] == pytest.approx(found["test_scores"]["balanced_accuracy"], abs=1e-12)


def test_the_metric_is_kept_in_the_model(train):
    args = (lopsided(), "--solver", "smo", "--test-size", 0.5, "--metric", "f1", "--out", "m.model")
    found, about = train(*args), SVMModel.load("m.model").about
    assert (about["metric"], about["positive"]) == ("f1", "leave") and about["test_metric"] == found["metric"]["test"]
    assert about["test_balanced_accuracy"] == found["test_scores"]["balanced_accuracy"]


def test_a_metric_that_does_not_suit_is_refused(refused):
    refused(["f1_marco", "f1_macro"], "train", "nowhere.csv", "--metric", "f1_marco")
    refused(["f1", "there are 3", "f1_weighted"], "train", "iris", "--metric", "f1", "--no-track")


def test_the_curve_has_the_metric(svmkit):
    args = ("train", lopsided(), "--solver", "swap", "--test-size", 0.5, "--curve", "--no-track", "--metric", "roc_auc")
    found = svmkit(*args, "--json").json
    last = found["curve"][-1]
    assert last["score"] == pytest.approx(found["metric"]["test"]) and last["accuracy"] == found["test_accuracy"]
    done = svmkit(*args)
    shown = [line for line in done.out.splitlines() if " vectors  " in line]
    assert shown and all("% test roc auc, " in line and line.endswith("% accuracy") for line in shown[1:])


# --- the warning, by the counts that lead to it


def model(gamma=0.5, n=120, d=2, scaled=False, kernel=None):
    rng = np.random.default_rng(0)
    return SVMModel(
        kernel or RBF(gamma), np.array(["no", "yes"]), rng.normal(size=(n, d)), np.array([n - 10, 10]),
        np.ones((1, n)), np.zeros(1), d,
    )  # fmt: skip


def scores(no, yes, guessed=0):
    """Scores of `no` and `yes` rows, of which `guessed` are predicted as yes, rightly."""
    truth = np.array(["no"] * no + ["yes"] * yes)
    predicted = np.array(["no"] * (no + yes - guessed) + ["yes"] * guessed)
    return Scores.from_predictions(predicted, truth, np.array(["no", "yes"]))


def said(*, of=None, **facts):
    usual = {"train": scores(190, 10), "test": None, "status": Status.CONVERGED, "share": 0.3, "n_samples": 200}
    return doubt_classes(Trained(of or model(), **usual | facts))


def test_a_class_that_is_never_predicted():
    assert said() == (
        "class yes is never predicted: what helps is --class-weight balanced, --scale standard or svmkit tune"
    )
    assert "--class-weight" not in said(weighted=True) and said(search="another --grid").endswith("another --grid")
    assert said(train=scores(190, 10, 3)) is None
    assert "never" in said(train=scores(190, 10, 3), test=scores(90, 12))


def test_several_classes_that_are_never_predicted():
    labels = np.repeat(list("abcdef"), 20)
    found = said(train=Scores.from_predictions(np.full(120, "a"), labels, np.array(list("abcdef"))))
    assert found.startswith("classes b, c, d and 2 more are never predicted: ")


@pytest.mark.parametrize(
    "facts",
    [
        {"train": scores(190, 9)},  # few rows of the class
        {"train": scores(190, 10, 10), "test": scores(1, 0)},
        {"train": scores(190, 10, 10), "test": scores(0, 1)},  # one row
        {"status": Status.TIME_LIMIT},
        {"status": Status.INTERRUPTED},
        {"status": Status.MAX_ITER},
        {"train": scores(190, 10, 10), "share": 0.9},
        {"train": scores(190, 10, 10), "share": 1.0, "n_samples": 99},  # a small set
        {"train": scores(190, 10, 10), "share": 1.0, "of": model(d=200)},  # more features than rows
        {"train": scores(190, 10, 10), "share": None},  # weights of features
        {"train": None},
    ],
    ids=str,
)
def test_where_nothing_is_to_be_said(facts):
    assert said(**facts) is None


def test_a_stream_ends_with_its_lines_and_not_too_early():
    assert "never" in said(status=Status.MAX_ITER, streamed=True)
    assert said(status=Status.TIME_LIMIT, streamed=True) is None


def test_vectors_everywhere_blame_gamma_only_where_the_kernel_tells():
    good = scores(190, 10, 10)
    found = said(train=good, share=0.97, of=model(gamma=500.0))
    assert found.startswith("97.0% of the rows are support vectors: gamma is likely too large; ")
    assert "a smaller --gamma" in found and "--class-weight" not in found
    mild = said(train=good, share=0.97)
    assert "gamma" not in mild and mild.startswith("97.0% of the rows are support vectors: what helps is --scale")
    assert said(share=0.97).startswith("class yes is never predicted and 97.0% of the rows are support vectors: ")


def test_scalars_for_the_tracker():
    assert scores(95, 5).logged == {
        "balanced_accuracy": 0.5, "majority_share": 0.95, "recall_no": 1.0, "recall_yes": 0.0,
    }  # fmt: skip
    odd = Scores.from_predictions(np.array(["a%", "b"]), np.array(["a%", "b"]), np.array(["a%", "b"]))
    assert "recall_a_" in odd.logged
    for labels in (["a%", "a$"], list(map(str, range(11)))):  # equal names, and too many
        many = Scores.from_predictions(np.array(labels), np.array(labels), np.array(sorted(labels)))
        assert [name for name in many.logged if "recall" in name] == ["lowest_recall"]


@pytest.mark.parametrize("n", [2, FEW, FEW + 1])
def test_accuracies_in_rows_with_the_recall_of_each_class_or_the_worst(n):
    recall = {f"class {k}": 1.0 - 0.1 * k for k in range(n)}
    scores = {"balanced_accuracy": 0.5, "recall": recall, "majority_share": 0.6}
    metric = {"name": "accuracy", "positive": None, "train": None, "test": None}
    result = {"metric": metric, "train_accuracy": 0.9, "test_accuracy": 0.8, "n_test": 30}
    result |= {"train_scores": scores, "test_scores": scores}
    rows = dict(ClassEvaluation.training_rows(result))
    assert set(rows) == {"accuracy", "balanced", "recall"}
    assert rows["accuracy"].startswith("90.00% train, 80.00% test (30 rows; ")
    assert rows["balanced"] == "50.00% train, 50.00% test"
    shown = list(recall.items()) if n <= FEW else sorted(recall.items(), key=lambda item: item[1])[:3]
    words = ", ".join(f"{label}: {share:.2%}" for label, share in shown)
    assert rows["recall"] == ("" if n <= FEW else f"worst of {n} classes: ") + words + " (test)"
