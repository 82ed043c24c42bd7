"""`svmkit evaluate`: the measures of scikit-learn, tables that stay readable, the picture, and odd test sets."""

from pathlib import Path

import numpy as np
import pytest
from sklearn import metrics
from support.cli import clouds, lopsided, people, svmlight
from support.problems import write

from svmkit.cli.evaluating import report
from svmkit.data import load
from svmkit.kernels.functions import RBF
from svmkit.model.model import SVMModel
from svmkit.scoring.evaluations import classes as tables
from svmkit.scoring.evaluations.classes import ClassEvaluation
from svmkit.scoring.scores import Scores

pytestmark = pytest.mark.usefixtures("alone")


@pytest.fixture
def evaluate(svmkit):
    """evaluate(...) -> the JSON of `svmkit evaluate`."""
    return lambda *args: svmkit("evaluate", *args, "--json").json


def test_two_classes(train, evaluate):
    path = lopsided()
    train(path, "--solver", "smo", "--class-weight", "balanced", "--out", "m.model")
    found, data, model = evaluate("m.model", path), load(path), SVMModel.load("m.model")
    predicted, decision = model.predict(data.X), model.decision_function(data.X)
    precision, recall, f1, rows = metrics.precision_recall_fscore_support(data.y, predicted, labels=["leave", "stay"])
    names = ("leave", "stay")
    for key, values in (("precision", precision), ("recall", recall), ("f1", f1), ("rows", rows)):
        assert found[key] == pytest.approx(dict(zip(names, values.tolist(), strict=True)))
    assert found["balanced_accuracy"] == pytest.approx(metrics.balanced_accuracy_score(data.y, predicted))
    assert (found["positive"], found["majority"], found["majority_share"]) == ("leave", "stay", 0.95)
    leaves = data.y == "leave"  # classes[0], for which a negative decision speaks
    assert found["roc_auc"] == pytest.approx(metrics.roc_auc_score(leaves, -decision))
    assert found["average_precision"] == pytest.approx(metrics.average_precision_score(leaves, -decision))
    matrix = metrics.confusion_matrix(data.y, predicted, labels=["leave", "stay"])
    assert found["confusion"] == {"labels": ["leave", "stay"], "matrix": matrix.tolist()}
    assert found["unknown_labels"] == found["never_predicted"] == [] and found["warning"] is None


@pytest.mark.parametrize("solver", ["dcd", "smo"])
def test_vectors_are_those_of_a_model_that_keeps_rows(svmkit, train, evaluate, solver):
    result = train("iris", "--solver", solver, "--kernel", "linear", "--out", "m.model")
    found, shown = evaluate("m.model", "iris"), svmkit("evaluate", "m.model", "iris").out
    about = svmkit("show", "m.model").out
    if solver == "smo":
        assert found["n_support"] == result["n_support"] and f"{result['n_support']} vectors" in shown
        assert "3 with their vectors: setosa (" in about
    else:
        assert found["n_support"] is None and "not known: the model holds weights of the columns" in shown
        assert "\nweights   " in about and "vectors" not in about


def test_many_classes(train, evaluate):
    train("iris", "--solver", "smo", "--out", "m.model")
    found, data, model = evaluate("m.model", "iris"), load("iris"), SVMModel.load("m.model")
    votes = model.scores(model.decision_function(data.X))
    truth = data.y[:, None] == model.classes
    assert found["positive"] is None
    assert found["roc_auc"] == pytest.approx(metrics.roc_auc_score(truth, votes))
    assert found["average_precision"] == pytest.approx(metrics.average_precision_score(truth, votes))
    assert np.sum(found["confusion"]["matrix"]) == 150 and list(found["recall"]) == found["confusion"]["labels"]


def test_for_a_reader(train, svmkit):
    train(lopsided(), "--solver", "smo", "-C", 0.5, "--gamma", 1000, "--out", "m.model")
    done = svmkit("evaluate", "m.model", "lopsided.csv")
    assert done.code == 0 and done.err.count("\n") == 1 and "class leave is never predicted" in done.err
    assert "95.00% (largest class 95.00%)" in done.out and "balanced accuracy" in done.out
    lines = [line.split() for line in done.out.splitlines()]
    assert ["class", "precision", "recall", "F1", "rows"] in lines
    assert ["leave", "-", "0.00%", "0.00%", "20"] in lines
    assert ["leave", "0", "20"] in lines and ["stay", "0", "380"] in lines


def test_one_class_only_has_no_areas(train, evaluate, svmkit):
    train(svmlight(), "--out", "m.model")
    X, side = clouds(40, seed=1)
    text = "".join(f"{y} 1:{x[0]:.4f} 2:{x[1]:.4f} 3:{x[2]:.4f}\n" for x, y in zip(X, side, strict=True) if y == 1)
    found = evaluate("m.model", write("one.svm", text))
    assert found["roc_auc"] is found["average_precision"] is None and set(found["recall"]) == {"1"}
    assert found["rows"] == {"-1": 0, "1": 20} and found["majority_share"] == 1.0
    done = svmkit("evaluate", "m.model", "one.svm", "--plot", "one.png")
    assert done.code == 0 and "not defined: rows of one class only" in done.out
    assert Path("one.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("known", [True, False], ids=["some", "none"])
def test_labels_that_the_model_does_not_know(train, svmkit, known):
    train(svmlight(), "--out", "m.model")
    labels = (1, -1, 7, 8) if known else (7, 8)
    write("other.svm", "".join(f"{labels[i % len(labels)]} 1:{i % 5 - 2} 2:1\n" for i in range(40)))
    done = svmkit("evaluate", "m.model", "other.svm", "--plot", "p.png", "--json")
    rows = 20 if known else 40
    assert done.err == f"svmkit: {rows} rows have labels that the model does not know (7, 8): they count as wrong\n"
    found = done.json
    assert found["unknown_labels"] == ["7", "8"] and found["confusion"]["labels"] == ["-1", "1", "7", "8"]
    assert (found["roc_auc"] is None) == (not known) and found["recall"]["7"] == 0.0
    assert sum(map(sum, found["confusion"]["matrix"])) == 40 and found["plot"] == "p.png"


def test_a_table_without_labels_is_refused(train, refused):
    train(people("train.csv"), "--label", "answer", "--out", "m.model")
    write("bare.csv", "age,city,score\n30,oslo,1.5\n31,rome,2.0\n")
    refused(["bare.csv"], "evaluate", "m.model", "bare.csv")


@pytest.mark.parametrize(("name", "begins"), [("p.png", b"\x89PNG"), ("p.svg", b"<?xml"), ("p.PDF", b"%PDF")])
def test_the_picture(train, svmkit, name, begins):
    train(svmlight(), "--out", "m.model")
    done = svmkit("evaluate", "m.model", "clouds.svm", "--plot", name)
    assert done.code == 0 and name in done.out and Path(name).read_bytes().startswith(begins)


@pytest.fixture
def drawn(monkeypatch):
    """drawn(Evaluation) -> the axes of its picture."""
    from matplotlib.figure import Figure

    def draw(evaluated):
        figures, save = [], Figure.savefig
        monkeypatch.setattr(Figure, "savefig", lambda self, *a, **k: (figures.append(self), save(self, *a, **k)))
        assert report.draw(evaluated, "p.png") is None
        return figures[0].axes

    return draw


def evaluation(n_classes, truth, votes, positive=None):
    """The evaluation of made-up votes (n, n_classes) for the classes 0, 1, ..."""
    classes, predicted = np.arange(n_classes), votes.argmax(axis=1)
    decision = votes[:, 1] - votes[:, 0] if n_classes == 2 else votes
    scores, pairs = Scores.from_predictions(predicted, truth, classes), n_classes * (n_classes - 1) // 2
    model = SVMModel(RBF(1.0), classes, np.zeros((1, 2)), np.ones(1), np.zeros((n_classes - 1, 1)), np.zeros(pairs), 2)
    return ClassEvaluation(model, "made up", scores, truth, predicted, decision, positive)


@pytest.mark.parametrize(("n_classes", "panels"), [(2, 4), (3, 1), (30, 2), (60, 2)])
@pytest.mark.slow
def test_what_is_drawn(drawn, n_classes, panels):
    """Two classes have curves; many classes have a bar of colours instead of numbers."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, n_classes, 600)
    votes = np.eye(n_classes)[truth] + rng.normal(scale=0.4, size=(600, n_classes))
    found = evaluation(n_classes, truth, votes, "1" if n_classes == 2 else None)
    axes = drawn(found)
    assert len(axes) == panels and (len(axes[0].texts) == n_classes**2) == (n_classes <= 20)
    if n_classes == 2:
        assert axes[0].texts[0].get_text().split()[0] == str(found.confusion()[0, 0])
        assert "area" in axes[1].get_legend().get_texts()[0].get_text()


@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("unknown", [0, 300])
def test_the_model_is_a_point_of_its_curves(drawn, positive, unknown):
    """All of them are about the rows whose label the model knows."""
    rng = np.random.default_rng(1)
    truth = (rng.random(400) < 0.3).astype(int)
    votes = np.eye(2)[np.append(truth, rng.integers(0, 2, unknown))]
    votes += rng.normal(scale=0.6, size=votes.shape)
    _, left, right, _ = drawn(evaluation(2, np.append(truth, np.full(unknown, 2)), votes, str(positive)))
    own, chosen = truth == positive, votes[: len(truth)].argmax(axis=1) == positive
    recall, precision = metrics.recall_score(own, chosen), metrics.precision_score(own, chosen)
    for axes, point, chance in (
        (left, (1.0 - metrics.recall_score(~own, ~chosen), recall), [(0.0, 0.0), (1.0, 1.0)]),
        (right, (recall, precision), [(0.0, own.mean()), (1.0, own.mean())]),
    ):
        curve, dashed, star = (line.get_xydata() for line in axes.get_lines())
        np.testing.assert_allclose(star, [point])
        np.testing.assert_allclose(dashed, chance)
    assert np.abs(curve - star).max(axis=1).min() < 1e-12  # the other curve is without points on straight lines


@pytest.mark.parametrize(("name", "words"), [("p.xyz", ["p.xyz", ".png"]), ("no/such/p.png", ["no/such"])])
def test_a_picture_that_cannot_be_is_refused_at_once(refused, name, words):
    refused(words, "evaluate", "nowhere.model", "iris", "--plot", name)


def test_the_tables_of_many_classes_stay_short():
    labels = [f"c{k}" for k in range(100)]
    matrix = (np.eye(100, dtype=int) * 9 + np.eye(100, k=1, dtype=int)).tolist()
    matrix[5][7] = 4
    shares = {name: 0.9 for name in labels} | {"c5": 0.1}
    result = {"confusion": {"labels": labels}, "precision": shares, "recall": shares, "f1": shares}
    lines = tables.by_class(result | {"rows": dict.fromkeys(labels, 10)})
    assert len(lines) == 11 and lines[0].startswith("worst of 100 classes") and lines[1].split()[0] == "c5"
    lines = tables.confusion(labels, matrix)
    assert len(lines) == 11 and lines[1].split() == ["c5", "c7", "4", "14"]
    assert tables.confusion(labels, (np.eye(100, dtype=int) * 9).tolist()) == ["no row was confused"]
