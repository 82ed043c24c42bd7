"""--multiclass: one-versus-rest and Crammer and Singer's machine on the command line, from training to export."""

import numpy as np
import pytest

from svmkit.data import load
from svmkit.model.model import SVMModel

pytestmark = pytest.mark.usefixtures("alone")


@pytest.mark.parametrize(
    ("multiclass", "n_decisions"), [("ovr", 3), ("crammer_singer", 3), ("multinomial", 3), ("ovo", 3)]
)
@pytest.mark.slow
def test_train_keeps_what_was_asked_for(train, svmkit, multiclass, n_decisions):
    result = train("iris", "--multiclass", multiclass, "--out", "m.model", "--test-size", "0.3")
    assert result["multiclass"] == multiclass and result["status"] == "converged" and result["test_accuracy"] > 0.9
    problems = {"crammer_singer": "CrammerSinger", "multinomial": "Multinomial"}
    assert result["problem"] == problems.get(multiclass, "BoxQP")
    model = SVMModel.load("m.model")
    assert model.multiclass == multiclass and model.decision_function(load("iris").X).shape == (150, n_decisions)
    shown = svmkit("show", "m.model", "--json").json
    assert shown["multiclass"] == multiclass and shown["about"]["params"].get("multiclass") == multiclass
    assert (
        f"{np.mean(model.predict(load('iris').X) == load('iris').y):.2%}" in svmkit("evaluate", "m.model", "iris").out
    )


def test_without_the_option_it_is_one_versus_one(train):
    assert train("iris")["multiclass"] == "ovo"


def test_the_report_names_what_was_not_trained(svmkit):
    said = svmkit("train", "iris", "--multiclass", "ovr", "--solver", "swap2o", "--time-limit", "1e-9", "--no-track")
    assert "2 of 3 classes were not trained" in said.out


def test_a_search(svmkit):
    done = svmkit("tune", "iris", "--multiclass", "ovr", "--solver", "smo", "--grid", "C=1,10", "--out", "m.model",
                  "--no-track")  # fmt: skip
    assert done.code == 0 and SVMModel.load("m.model").multiclass == "ovr"
    done = svmkit("tune", "iris", "--multiclass", "multinomial", "--grid", "C=1,10", "--metric", "neg_log_loss",
                  "--out", "n.model", "--no-track")  # fmt: skip
    assert done.code == 0 and SVMModel.load("n.model").multiclass == "multinomial", done.err


def test_training_goes_on_from_the_model(train):
    first = train("iris", "--multiclass", "ovr", "--solver", "swap2o", "--out", "m.model")
    again = train("iris", "--multiclass", "ovr", "--solver", "swap2o", "--out", "m.model", "--resume")
    assert again["n_iter"] < first["n_iter"]


@pytest.mark.parametrize(
    ("given", "word"),
    [
        (["--multiclass", "all"], "ovo, ovr, crammer_singer"),
        (["--multiclass", "crammer_singer", "--kernel", "rbf"], "linear kernel"),
        (["--multiclass", "crammer_singer", "--solver", "sgd"], "auto, dcd"),
        (["--multiclass", "multinomial", "--solver", "sgd"], "auto, newton"),
        (["--multiclass", "multinomial", "--kernel", "rbf"], "linear kernel"),
    ],
)
def test_bad_options_are_one_line(refused, given, word):
    refused([word], "train", "iris", *given, "--no-track")


def test_a_stream_trains_class_pairs(refused):
    refused(["leave --multiclass out"], "train", "-", "--solver", "sgd", "--multiclass", "ovr", "--no-track")
