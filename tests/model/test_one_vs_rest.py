"""One decision for each class: the layout of coefficients, labels, untrained classes, the file and ONNX."""

import json
from dataclasses import replace

import numpy as np
import pytest
from safetensors import safe_open
from support.exact import exact_values

from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Linear
from svmkit.model import file, machines
from svmkit.model.machines import ClassFunctions
from svmkit.model.model import SVMModel
from svmkit.model.one_vs_rest import merge_rest
from svmkit.model.onnx import export as onnx_export

CLASSES = np.array(["a", "b", "c", "d"])


def a_model(kernel=None, untrained=(), multiclass="ovr", seed=0):
    rng = np.random.default_rng(seed)
    n_support = np.array([3, 0, 2, 4])
    coef, intercept = rng.normal(size=(4, 9)), rng.normal(size=4)
    coef[list(untrained)] = intercept[list(untrained)] = 0.0
    vectors = rng.normal(size=(9, 3))
    return SVMModel(kernel or RBF(0.3), CLASSES, vectors, n_support, coef, intercept, 3, multiclass=multiclass)


def test_support_vectors_of_all_classes_are_merged():
    codes = np.array([2, 0, 1, 0, 2, 1])
    rows = [np.array([1, 4]), np.array([], dtype=int), np.array([5, 4, 0])]
    values = [np.array([1.0, 2.0]), np.array([]), np.array([3.0, 4.0, 5.0])]
    support, n_support, coef = merge_rest(rows, values, codes, 3)
    assert support.tolist() == [1, 5, 0, 4] and n_support.tolist() == [1, 1, 2]
    np.testing.assert_array_equal(coef, [[1.0, 0.0, 0.0, 2.0], [0.0, 0.0, 0.0, 0.0], [0.0, 3.0, 5.0, 4.0]])


def test_classes_that_were_not_trained_come_last():
    decision = np.array([[-3.0, 0.0, -2.0], [1.0, 0.0, -5.0]])
    machine = ClassFunctions(None, None, np.array([[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]]), np.array([0.0, 0.0, 2.0]))
    assert machine.trained.tolist() == [0, 2]
    np.testing.assert_array_equal(machine.scores(decision[:, [0, 2]]), [[-3.0, -4.0, -2.0], [1.0, -6.0, -5.0]])
    assert ClassFunctions(None, None, np.eye(3), np.zeros(3)).scores(decision) is decision


@pytest.mark.parametrize("kernel", [RBF(0.3), Linear()])
@pytest.mark.parametrize("untrained", [(), (0, 2)])
def test_decisions_and_labels(kernel, untrained):
    model, X = a_model(kernel, untrained), np.random.default_rng(1).normal(size=(50, 3))
    expected = exact_values(kernel, X, model.vectors).astype(float) @ model.coef.T + model.intercept
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-12)
    left = [c for c in range(4) if c not in untrained]
    labels = CLASSES[np.array(left)[expected[:, left].argmax(axis=1)]]
    np.testing.assert_array_equal(model.predict(X), labels)
    np.testing.assert_array_equal(model.labels(model.decision_function(X)), labels)
    scores = model.scores(model.decision_function(X))
    assert scores.shape == (50, 4) and np.isfinite(scores).all()
    if kernel.name == "linear":
        np.testing.assert_allclose(X @ model.weights.T + model.intercept, expected, atol=1e-12)


@pytest.mark.parametrize("multiclass", ["ovr", "crammer_singer", "multinomial"])
def test_the_file_keeps_it(multiclass, tmp_path):
    model = a_model(multiclass=multiclass)
    model.save(tmp_path / "a.model")
    loaded = SVMModel.load(tmp_path / "a.model")
    assert loaded.multiclass == multiclass and loaded.has_class_scores
    X = np.random.default_rng(1).normal(size=(20, 3))
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    with safe_open(tmp_path / "a.model", framework="numpy") as opened:
        header = json.loads(opened.metadata()["svmkit"])
    assert header["version"] == 2  # an earlier svmkit says that it is too old


def test_the_file_of_two_classes_has_their_one_decision(tmp_path):
    rng = np.random.default_rng(0)
    given = CLASSES[:2], rng.normal(size=(5, 3)), np.array([3, 2]), rng.normal(size=(1, 5)), rng.normal(size=1)
    model = SVMModel(RBF(0.3), *given, 3, multiclass="crammer_singer")
    model.save(tmp_path / "a.model")
    loaded, X = SVMModel.load(tmp_path / "a.model"), rng.normal(size=(20, 3))
    assert loaded.multiclass == "crammer_singer"
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("change", [{"multiclass": "all"}, {"multiclass": "ovo"}, {"task": "outliers"}])
def test_a_file_whose_arrays_do_not_fit_is_refused(change, tmp_path):
    model = a_model()
    file.save_model(tmp_path / "a.model", vars(model) | change)
    with pytest.raises(InputError, match="damaged"):
        SVMModel.load(tmp_path / "a.model")


@pytest.mark.parametrize("kernel", [RBF(0.3), Linear()])
@pytest.mark.parametrize("untrained", [(), (1,)])
def test_onnx_says_the_same(kernel, untrained, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    model, X = a_model(kernel, untrained), np.random.default_rng(2).normal(size=(40, 3))
    onnx_export.write(model, tmp_path / "a.onnx")
    label, decision = onnxruntime.InferenceSession(str(tmp_path / "a.onnx")).run(None, {"X": X})
    np.testing.assert_array_equal(label, model.predict(X))
    np.testing.assert_allclose(decision, model.scores(model.decision_function(X)), atol=1e-10)


def test_a_model_without_any_trained_class_names_the_first_one():
    model = a_model()
    model = replace(model, coef=0.0 * model.coef, intercept=0.0 * model.intercept)
    assert model.predict(np.ones((2, 3))).tolist() == [CLASSES[0]] * 2


def crowded(k=60, per=25, seed=0):
    """A model of many classes, each of which has few coefficients."""
    rng = np.random.default_rng(seed)
    coef = np.where(rng.uniform(size=(k, k * per)) < 0.02, rng.normal(size=(k, k * per)), 0.0)
    vectors, n_support = rng.normal(size=(k * per, 4)), np.full(k, per)
    return SVMModel(RBF(0.3), np.arange(k), vectors, n_support, coef, rng.normal(size=k), 4, multiclass="ovr")


def test_few_coefficients_take_little_room(tmp_path, monkeypatch):
    model, X = crowded(), np.random.default_rng(1).normal(size=(300, 4))
    assert model.machine._sparse is not None
    expected = exact_values(model.kernel, X, model.vectors).astype(float) @ model.coef.T + model.intercept
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-12)
    monkeypatch.setattr(machines, "VALUES", 1000)  # many parts of the vectors
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-12)
    model.save(tmp_path / "a.model")
    loaded = SVMModel.load(tmp_path / "a.model")
    np.testing.assert_array_equal(loaded.coef, model.coef)
    assert (tmp_path / "a.model").stat().st_size < model.coef.nbytes / 4


@pytest.mark.parametrize(
    "change",
    [
        {"coef.at": np.array([-1])},
        {"coef.at": np.array([10**9])},
        {"coef.at": np.array([3, 3]), "coef.values": np.ones(2)},
        {"coef.n": np.array([2**40])},
        {"coef.n": np.array([-1])},
        {"coef.n": np.array([7])},
        {"coef.values": np.array([np.nan])},
        {"coef.values": np.array([1.0], dtype=np.float32)},
    ],
)
def test_places_of_coefficients_that_do_not_fit_are_refused(change, tmp_path, monkeypatch):
    model = crowded()
    given = {"coef.at": np.array([5]), "coef.values": np.ones(1), "coef.n": np.array([model.coef.shape[1]])} | change
    monkeypatch.setattr(file, "_coefficients", lambda coef, parts: given)
    model.save(tmp_path / "a.model")
    with pytest.raises(InputError, match="damaged"):
        SVMModel.load(tmp_path / "a.model")
