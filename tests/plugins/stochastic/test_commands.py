"""Stochastic solvers behind SVMClassifier.partial_fit and `svmkit train -`."""

import copy
import io
import json
import pickle
import sys

import numpy as np
import pytest
from support.cli import svmlight
from support.problems import blobs
from support.stream import feed

from svmkit import SVMClassifier, SVMModel, load
from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Linear
from svmkit.training.stream.online import Online


def test_partial_fit():
    X, y = blobs(300, 3)
    for name, kernel in (("sgd", "linear"), ("pegasos", "linear"), ("pegasos", "rbf"), ("norma", "rbf")):
        model = SVMClassifier(name, kernel=kernel, gamma=0.5, max_epochs=5)
        for lo in range(0, 300, 60):
            model.partial_fit(X[lo : lo + 60], y[lo : lo + 60], classes=[-1, 1])
        want = feed(Online([-1, 1], solver=name, kernel=Linear() if kernel == "linear" else RBF(0.5)), X, y, 300)
        np.testing.assert_allclose(model.decision_function(X), want.model().decision_function(X), rtol=1e-7, atol=1e-9)
        assert model.gap_ is None and model.bound_ is None and model.score(X, y) > 0.8
        for double in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), model.fit(X, y)):
            assert double.partial_fit(X, y).score(X, y) > 0.8
    with pytest.raises(InputError, match=r"sgdqn does not learn from streams; these do: .*pegasos.*sgd"):
        SVMClassifier("sgdqn").partial_fit(X, y, classes=[-1, 1])


@pytest.fixture
def piped(svmkit, alone, monkeypatch):
    def run(*args, text=None):
        content = svmlight(n=200).read_text() if text is None else text
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
        return svmkit("train", "-", "--json", *args)

    return run


@pytest.mark.parametrize("options", [("sgd", "--kernel", "linear"), ("norma", "--gamma", "0.5", "-o", "tau=40")])
def test_train_from_a_stream(piped, svmkit, options):
    done = piped("--solver", *options, "--no-track", "--block", "64", "--out", "m.model", "--test", "clouds.svm")
    assert "NaN" not in done.out
    result = json.loads(done.out)
    assert (result["status"], result["n_samples"], result["objective"], result["gap"]) == ("max_iter", 200, None, None)
    assert result["dual_objective"] is None and result["test_accuracy"] > 0.85 < result["progressive_accuracy"]
    model, data = SVMModel.load("m.model"), load("clouds.svm")
    assert (model.predict(data.X) == data.y).mean() == result["test_accuracy"]
    again = (
        piped("--solver", *options[:3], "--no-track", "--out", "m.model", "--resume") if "linear" in options else done
    )
    assert again.code == 0


@pytest.mark.parametrize("solver", [("sgd", "--kernel", "linear"), ("norma", "--gamma", "0.5")])
def test_a_stream_takes_the_loss(piped, solver):
    done = piped("--solver", *solver, "--loss", "smoothed_hinge", "-o", "delta=0.5", "--no-track", "--out", "m.model")
    assert json.loads(done.out)["formulation"] == "smoothed hinge delta=0.5, regularised bias"
    model = SVMModel.load("m.model")
    assert model.about["minimised"] == {"loss": "smoothed_hinge", "options": {"delta": 0.5}, "bias": 1.0}
    data = load(svmlight(n=200))
    assert model.certify(data.X, data.y)[0].gap < 1.0
    done = piped("--solver", *solver, "--loss", "huber", "--task", "regress", "--no-track")
    assert done.code == 2 and done.err.count("\n") == 1 and "SVMRegressor.partial_fit" in done.err


@pytest.mark.slow
def test_an_option_of_solver_and_loss_says_whose_it_is(svmkit, alone):
    data = svmlight(n=60)
    given = ("train", data, "--task", "regress", "--solver", "norma", "--loss", "quantile", "--no-track", "--json")
    done = svmkit(*given, "-o", "tau=0.9")
    assert done.code == 2 and "of solver norma and of loss quantile: give the loss's as loss.tau" in done.err
    own = ("-o", "loss.tau=0.9", "-o", "tau=50", "--max-epochs", "2", "--out", "m.model")
    assert json.loads(svmkit(*given, *own).out)["formulation"] == "quantile tau=0.9, regularised bias"
    model, rows = SVMModel.load("m.model"), load(data)
    assert len(model.vectors) == 50 and model.certify(rows.X, rows.y)[0].gap > 0.0


def test_other_kernels_are_refused_in_one_line(piped):
    done = piped("--solver", "sgd", "--kernel", "rbf", "--no-track")
    assert done.code == 2 and done.out == "" and done.err.count("\n") == 1
    assert "sgd needs the linear kernel, not rbf" in done.err and "pegasos" in done.err


@pytest.mark.slow
def test_what_is_not_known_is_not_logged(piped, tmp_path):
    pytest.importorskip("mlflow", reason="needs mlflow")
    from mlflow import MlflowClient

    result = piped("--solver", "sgd", "--kernel", "linear", "--block", "40").json
    client = MlflowClient(f"sqlite:///{tmp_path}/mlflow.db")
    metrics = client.get_run(result["run_id"]).data.metrics
    assert not any(np.isnan(value) for value in metrics.values())
    assert "final/objective" not in metrics and "curve/objective" not in metrics
    assert metrics["stream/samples"] == 200
    assert len(client.get_metric_history(result["run_id"], "curve/n_support")) == 5
