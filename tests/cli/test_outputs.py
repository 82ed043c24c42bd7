"""`--label A,B`: several targets or labels of a table, from training to evaluation, and what is refused."""

import numpy as np
import pytest

from svmkit import SVMModel

pytestmark = pytest.mark.usefixtures("alone")


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    scores = X @ rng.normal(size=(3, 2)) + 0.2 * rng.normal(size=(120, 2))
    columns = np.c_[X, np.tanh(scores), scores > 0.0]
    np.savetxt("two.csv", columns, delimiter=",", header="a,b,c,u,v,p,q", comments="", fmt="%.8g")
    np.savetxt("plain.csv", columns, delimiter=",", fmt="%.8g")
    return np.loadtxt("two.csv", delimiter=",", skiprows=1)


@pytest.mark.slow
@pytest.mark.parametrize(("label", "other", "task"), [("u,v", "p,q", "regress"), ("p,q", "u,v", "multilabel")])
def test_columns_become_outputs_with_their_names(svmkit, table, label, other, task):
    given = ("two.csv", "--label", label, "--drop", other, "--no-track")
    found = svmkit("train", *given, "--test-size", "0.25", "--out", "two.model", "--json").json
    assert found["task"] == task and found["outputs"] == label.split(",") and found["gap"] <= 1e-3
    model, truth = SVMModel.load("two.model"), table[:, 3:5] if task == "regress" else table[:, 5:]
    predicted = model.predict(table[:, :3])
    evaluated = svmkit("evaluate", "two.model", "two.csv", "--plot", "two.png", "--json").json
    if task == "regress":
        residual, around = ((truth - of) ** 2 for of in (predicted, truth.mean(axis=0)))
        r2 = (1.0 - residual.sum(axis=0) / around.sum(axis=0)).mean()
        assert evaluated["test_r2"] == pytest.approx(r2, rel=1e-6) and r2 > 0.9
    else:
        right = (truth == predicted).all(axis=1).mean()
        assert evaluated["test_accuracy"] == pytest.approx(right) and right > 0.85
        assert [of["label"] for of in evaluated["labels"]] == ["p", "q"]
        assert "of the rows all right" in svmkit("evaluate", "two.model", "two.csv").out
    lines = svmkit("predict", "two.model", "two.csv").out.splitlines()
    assert np.array([line.split(",") for line in lines], dtype=float) == pytest.approx(predicted, abs=1e-6)
    tuned = svmkit("tune", *given, "--grid", "C=0.01,10", "--gamma", "0.3", "--cv", "3", "--json").json
    assert tuned["best"]["params"]["C"] == 10.0


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("two.csv", "--label", "u,nope"), ["has no column 'nope'"]),
        (("two.csv", "--label", "u,u"), ["names a column twice"]),
        (("two.csv", "--label", "u,v", "--drop", "v"), ["is the label and is dropped"]),
        (("plain.csv", "--label", "3,4"), ["several label columns need a header"]),
        (("two.csv", "--label", "p,q", "--task", "classify"), ["several columns are --task regress or multilabel"]),
        (("two.csv", "--label", "u,v", "--task", "multilabel"), ["label u is", "each of several labels is 0 or 1"]),
        (("two.csv", "--label", "p,q", "--task", "multilabel", "--class-weight", "balanced"), ["one label a row"]),
        (("two.csv", "--label", "u,v", "--task", "regress", "--loss", "quantile", "-o", "tau=0.1,0.9"), ["2 levels"]),
        (("two.csv", "--label", "p,q", "--task", "multilabel", "--metric", "roc_auc"), ["does not measure several"]),
    ],
)
def test_what_does_not_fit_is_refused_in_a_line(refused, table, args, words):
    refused(words, "train", *args, "--no-track")


def test_text_formats_of_one_output_refuse_several(svmkit, refused, table):
    svmkit("train", "two.csv", "--label", "u,v", "--drop", "p,q", "--no-track", "--out", "two.model")
    refused(["LIBSVM have one output", "--onnx"], "export", "two.model", "--libsvm", "two.txt")
