"""LIBLINEAR's text models: its decisions, written and read again."""

from dataclasses import replace

import numpy as np
import pytest
from support import text_models
from support.refusals import refused
from support.text_models import ROWS

from svmkit.kernels.functions import RBF, Linear
from svmkit.model import layout
from svmkit.model.calibration import Sigmoid
from svmkit.model.exchange import liblinear, libsvm
from svmkit.training.train import fit

W, BIAS = np.array([0.5, -0.25, 0.0]), 2 * 0.125


@pytest.fixture
def write():
    return liblinear.write


def of(solver_type, text=text_models.LIBLINEAR):
    return text.replace("L2R_L2LOSS_SVC_DUAL", solver_type)


CLASSIFIERS = ["L2R_LR", "L1R_LR", "L2R_LR_DUAL", "L2R_L2LOSS_SVC_DUAL", "L2R_L2LOSS_SVC", "L1R_L2LOSS_SVC"]


@pytest.mark.parametrize("solver_type", [*CLASSIFIERS, "L2R_L1LOSS_SVC_DUAL"])
def test_one_w_speaks_for_the_first_label(solver_type, read, again):
    model = read(of(solver_type))
    h = ROWS @ W + BIAS
    np.testing.assert_allclose(model.decision_function(ROWS), -h, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(model.predict(ROWS), np.where(h > 0, -1, 1))
    turned = read(of(solver_type).replace("label -1 1", "label 1 -1"))
    np.testing.assert_allclose(turned.decision_function(ROWS), h, rtol=0, atol=1e-15)
    if solver_type.endswith(("LR", "LR_DUAL")):
        of_the_first = 1.0 / (1.0 + np.exp(-h))
        np.testing.assert_allclose(model.predict_proba(ROWS)[:, 0], of_the_first, rtol=0, atol=1e-12)
        np.testing.assert_allclose(turned.predict_proba(ROWS)[:, 1], of_the_first, rtol=0, atol=1e-12)
    for one in (model, turned):
        np.testing.assert_array_equal(again(one).decision_function(ROWS), one.decision_function(ROWS))


def test_without_a_bias(read, again):
    model = read(text_models.LIBLINEAR.replace("bias 2", "bias -1").replace("0.125 \n", ""))
    np.testing.assert_allclose(model.decision_function(ROWS), -ROWS @ W, rtol=0, atol=1e-15)
    assert model.intercept == [0.0]
    np.testing.assert_array_equal(again(model).decision_function(ROWS), model.decision_function(ROWS))


@pytest.mark.parametrize("solver_type", ["L2R_L2LOSS_SVR", "L2R_L2LOSS_SVR_DUAL", "L2R_L1LOSS_SVR_DUAL"])
def test_regression(solver_type, read, again):
    model = read(of(solver_type).replace("label -1 1\n", ""))
    np.testing.assert_allclose(model.predict(ROWS), ROWS @ W + BIAS, rtol=0, atol=1e-15)
    second = again(model)
    assert model.task == second.task == "regress" and second.about["solver_type"] == solver_type
    np.testing.assert_array_equal(second.predict(ROWS), model.predict(ROWS))


def test_outliers(read, again):
    text = of("ONECLASS_SVM").replace("label -1 1\n", "").replace("bias 2", "bias -1\nrho 0.375")
    model = read(text.replace("0.125 \n", ""))
    h = ROWS @ W - 0.375
    np.testing.assert_allclose(model.decision_function(ROWS), h, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(model.predict(ROWS), np.where(h > 0, 1, -1))
    assert model.task == "outliers"
    np.testing.assert_array_equal(again(model).decision_function(ROWS), model.decision_function(ROWS))


CRAMMER_SINGER = """solver_type MCSVM_CS
nr_class 2
label 7 3
nr_feature 3
bias 1
w
0.5 -0.5
0.25 1
0 2
-0.125 0.125
"""


def test_crammer_and_singer_of_two_classes(read, again):
    model = read(CRAMMER_SINGER)
    first, second = ROWS @ [0.5, 0.25, 0] - 0.125, ROWS @ [-0.5, 1, 2] + 0.125
    np.testing.assert_allclose(model.decision_function(ROWS), first - second, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(model.predict(ROWS), np.where(first > second, 7, 3))
    np.testing.assert_array_equal(again(model).decision_function(ROWS), model.decision_function(ROWS))


@pytest.mark.parametrize("solver_type", ["L2R_L2LOSS_SVC", "MCSVM_CS", "L2R_LR"])
@pytest.mark.parametrize("few", [4096, 2])
def test_a_decision_for_each_of_more_classes(solver_type, few, read, again, monkeypatch):
    monkeypatch.setattr(layout, "FEW_CLASSES", few)  # more classes than columns and than these: in another layout
    rng = np.random.default_rng(3)
    labels, W, b = [9, 2, -4, 5], rng.normal(size=(3, 4)), rng.normal(size=4)
    rows = "\n".join(" ".join(map(repr, row)) for row in [*W.tolist(), b.tolist()])
    header = f"solver_type {solver_type}\nnr_class 4\nlabel 9 2 -4 5\nnr_feature 3\nbias 1"
    model = read(f"{header}\nw\n{rows}\n")
    want = ROWS @ W + b
    assert model.classes.tolist() == [-4, 2, 5, 9]
    assert model.multiclass == ("crammer_singer" if solver_type == "MCSVM_CS" else "ovr")
    assert model.vectors.shape[0] == (3 if few == 2 else 4)
    np.testing.assert_allclose(model.decision_function(ROWS), want[:, [2, 1, 3, 0]], rtol=0, atol=1e-14)
    np.testing.assert_array_equal(model.predict(ROWS), np.array(labels)[want.argmax(axis=1)])
    assert (model.calibration is not None) == (solver_type == "L2R_LR")
    if model.calibration is not None:
        chances = 1.0 / (1.0 + np.exp(-want[:, [2, 1, 3, 0]]))
        probabilities = chances / chances.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(model.predict_proba(ROWS), probabilities, rtol=0, atol=1e-12)
    second = again(model)
    assert (second.calibration is None) == (model.calibration is None)
    np.testing.assert_allclose(second.decision_function(ROWS), model.decision_function(ROWS), rtol=0, atol=1e-14)
    assert second.multiclass == model.multiclass and second.about["solver_type"] == solver_type
    refused(["one-versus-one", "--liblinear"], libsvm.write, model, "t")


def test_weights_that_are_mostly_0_are_sparse(read):
    rows = "0 \n" * 50 + "1.5 \n" + "0 \n" * 49
    text = text_models.LIBLINEAR.partition("w\n")[0].replace("nr_feature 3", "nr_feature 99") + "w\n" + rows
    model = read(text, 120)
    assert model.vectors.nnz == 1 and model.n_features == 120
    assert model.decision_function(np.eye(120)[50:51]) == [-1.5]


@pytest.mark.parametrize("scale", ["none", "standard", "minmax", "maxabs"])
def test_ours_with_its_scaling(scale, again):
    y = np.where(ROWS[:, 0] > ROWS[:, 1], "yes", "no")
    model = fit(ROWS, y, kernel=Linear(), scale=scale).model
    second = again(model)
    assert second.classes.tolist() == [0, 1]
    np.testing.assert_allclose(second.decision_function(ROWS), model.decision_function(ROWS), rtol=0, atol=1e-12)


def test_what_liblinear_does_not_have(read, tmp_path):
    model = replace(read(text_models.LIBLINEAR), calibration=Sigmoid(np.array([-2.0]), np.array([0.5])))
    assert "the calibration is left out" in liblinear.write(model, tmp_path / "t").notes[0]
    y = np.arange(8) % 3
    refused(["kernel rbf", "--libsvm"], liblinear.write, fit(ROWS, y, kernel=RBF(1.0)).model, tmp_path / "t")
    refused(["one-versus-one", "--libsvm"], liblinear.write, fit(ROWS, y, kernel=Linear()).model, tmp_path / "t")


def changed(old, new, where=text_models.LIBLINEAR):
    assert old in where
    return where.replace(old, new, 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (changed("L2R_L2LOSS_SVC_DUAL", "L3R"), [":1:", "'L3R' is not known", "MCSVM_CS"]),
        (changed("nr_class 2", "nr_class 1"), [":2:", "one class"]),
        (changed("nr_class 2", "nr_class 9999999999"), [":3:", "label needs 9,999,999,999 values, not 2"]),
        (changed("label -1 1", "label 1 1"), [":3:", "same label"]),
        (changed("label -1 1\n", ""), ["no line 'label'"]),
        (changed("nr_feature 3", "nr_feature 0"), [":4:", "from 1 on"]),
        (changed("nr_feature 3", "nr_feature 2147483647"), [":4:", "above 2147483646"]),
        (changed("nr_feature 3", "nr_feature 2147483646"), [":10:", "after 4 of the 2,147,483,647 rows"]),
        (changed("bias 2", "bias nan"), [":5:", "finite"]),
        (changed("bias 2", "bias -1"), [":10:", "a row more than the 3"]),
        (changed("bias 2", "bias 1e308").replace("0.125", "1e308"), [":10:", "more than float64 holds"]),
        (changed("w\n", ""), [":6:", "'0.5'"]),
        (changed("-0.25", "-0.25 1"), [":8:", "begins with 2 numbers"]),
        (changed("-0.25", "0x1"), [":8:", "1 finite numbers, not '0x1'"]),
        (changed("-0.25", "1:2"), [":8:"]),
        (changed("-0.25", "-nan"), [":8:", "'-nan'"]),
        (changed("-0.25", "1e400"), [":8:", "not finite"]),
        (changed("0.125 \n", "0.1"), [":10:", "no line break"]),
        (changed("0.125 \n", ""), [":9:", "after 3 of the 4 rows"]),
        (of("ONECLASS_SVM").replace("label -1 1\n", ""), ["no line 'rho'"]),
        (changed("0.25 1\n", "0.25\n", CRAMMER_SINGER), [":8:", "begins with 1 numbers"]),
    ],
    ids=lambda value: "",
)
def test_what_is_wrong_is_told_with_its_line(read, text, words):
    refused(words, read, text)
