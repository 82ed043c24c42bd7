"""LIBSVM's text models: its decisions whatever the order of the classes, written and read again."""

import gzip
import itertools
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.svm import SVC
from support import text_models
from support.refusals import refused
from support.text_models import ROWS, libsvm_text

from svmkit.kernels.functions import RBF, Laplacian, Linear, Poly, Sigmoid
from svmkit.model.calibration import Isotonic
from svmkit.model.exchange import liblinear, libsvm
from svmkit.model.exchange.plain import whole_labels
from svmkit.training.train import fit

X, CODES = load_iris(return_X_y=True)


@pytest.fixture
def write():
    return libsvm.write


def test_the_decisions_of_three_classes_are_those_of_libsvm(read):
    model = read(text_models.C_SVC)
    want = text_models.C_SVC_DECISIONS
    assert model.classes.tolist() == [1, 2, 3] and model.kernel == Poly(0.5, 2, 1.0)
    ours = np.column_stack([want[:, 2], -want[:, 0], -want[:, 1]])  # (1, 2), (1, 3), (2, 3)
    np.testing.assert_allclose(model.decision_function(ROWS), ours, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(model.predict(ROWS), text_models.C_SVC_LABELS)
    assert model.about == {"imported_from": "LIBSVM", "svm_type": "c_svc"}


def test_of_two_classes_a_positive_decision_speaks_for_the_larger_label(read):
    model, want = read(text_models.BINARY), text_models.BINARY_DECISIONS
    assert model.classes.tolist() == [-1, 4]
    np.testing.assert_allclose(model.decision_function(ROWS), want, rtol=0, atol=1e-12)
    turned = read(text_models.BINARY.replace("label 4 -1", "label -1 4"))
    np.testing.assert_allclose(turned.decision_function(ROWS), -want, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(turned.predict(ROWS), np.where(want > 0, -1, 4))


def test_regression_and_its_noise(read, again):
    model = read(text_models.SVR)
    np.testing.assert_allclose(model.predict(ROWS), text_models.SVR_PREDICTIONS, rtol=0, atol=1e-12)
    assert model.task == "regress" and model.about["laplace_scale"] == 1.847928676661065
    second = again(model)
    np.testing.assert_array_equal(second.predict(ROWS), model.predict(ROWS))
    assert second.about == model.about


def test_outliers(read, again):
    model = read(text_models.ONE_CLASS)
    near, far = np.array([[0.5, 1.0]]), np.array([[9.0, 9.0]])
    assert model.task == "outliers" and model.predict(near) == [1] and model.predict(far) == [-1]
    assert model.decision_function(near)[0] == pytest.approx(1 + 0.25 * np.exp(-0.5 * 3.25) - 0.5, abs=1e-15)
    np.testing.assert_array_equal(again(model).decision_function(near), model.decision_function(near))


def test_the_density_marks_of_outliers_are_kept(read, again):
    marks = np.linspace(-1.0, 1.0, 10).tolist()
    line = f"prob_density_marks {' '.join(map(repr, marks))}"
    model = again(read(changed("\nSV", f"\n{line}\nSV", text_models.ONE_CLASS)))
    assert model.about == {"imported_from": "LIBSVM", "svm_type": "one_class", "prob_density_marks": marks}
    model.about["prob_density_marks"] = ["x", [1.0]]  # as a file of anybody may say
    assert "prob_density_marks" not in again(model).about


@pytest.mark.parametrize("labels", ["4 -1", "-1 4"])
def test_probabilities_of_two_classes(labels, read, again):
    text = changed("label 4 -1", f"label {labels}\nprobA -1.5\nprobB 0.25")
    model = read(text)
    of_first = 1.0 / (1.0 + np.exp(-1.5 * text_models.BINARY_DECISIONS + 0.25))
    want = np.column_stack([1.0 - of_first, of_first])[:, [1, 0] if labels == "-1 4" else [0, 1]]
    np.testing.assert_allclose(model.predict_proba(ROWS), want, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(again(model).predict_proba(ROWS), model.predict_proba(ROWS))


def test_probabilities_of_three_classes(read, again, tmp_path):
    A, B = np.array([-2.0, -1.0, -0.5]), np.array([0.5, -0.25, 0.125])  # of (3, 1), (3, 2), (1, 2)
    lines = [f"prob{name} {' '.join(map(repr, values.tolist()))}" for name, values in (("A", A), ("B", B))]
    text = changed("nr_sv", "\n".join([*lines, "nr_sv"]), text_models.C_SVC)
    model = read(text)
    chances = 1.0 / (1.0 + np.exp(A * text_models.C_SVC_DECISIONS + B))
    ours = np.column_stack([chances[:, 2], 1.0 - chances[:, 0], 1.0 - chances[:, 1]])  # (1, 2), (1, 3), (2, 3)
    np.testing.assert_allclose(model.calibration.probabilities(model.decision_function(ROWS)), ours, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(model.predict(ROWS), model.classes[model.predict_proba(ROWS).argmax(axis=1)])
    np.testing.assert_array_equal(again(model).predict_proba(ROWS), model.predict_proba(ROWS))
    isotonic = Isotonic(np.zeros(3), np.full(3, 0.5), np.array([1, 2, 3]))
    assert libsvm.write(replace(model, calibration=isotonic), tmp_path / "t").notes == [
        "LIBSVM's probabilities are sigmoids: the isotonic calibration is left out"
    ]
    assert again(replace(model, calibration=isotonic)).calibration is None


def test_a_precomputed_kernel_keeps_the_numbers_of_its_rows(read, again):
    model = read(text_models.PRECOMPUTED)
    K = np.array([[1.0, 2.0, 4.0], [0.5, 0.0, -1.0]])
    want = -(0.5 * K[:, 2] - 0.5 * K[:, 0] - 0.25)
    np.testing.assert_array_equal(model.decision_function(K), want)
    assert read(text_models.PRECOMPUTED, 7).n_features == 7
    np.testing.assert_array_equal(again(model).decision_function(K), want)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid", "precomputed"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_kernel_in_every_order_of_the_classes(kernel, n_classes, read, again):
    rows, codes = X[n_classes > CODES][::3], CODES[n_classes > CODES][::3]
    K = rows @ rows.T if kernel == "precomputed" else rows
    machine = SVC(kernel=kernel, coef0=0.5, decision_function_shape="ovo").fit(K, codes)
    theirs = machine.decision_function(K).reshape(len(K), -1)
    pairs = [(a, b) for a in range(n_classes) for b in range(a + 1, n_classes)]
    for labels in itertools.permutations((5, -3, 8)[:n_classes]):
        model = read(libsvm_text(machine, labels), K.shape[1])
        found = model.decision_function(K).reshape(len(K), -1)
        for column, (a, b) in enumerate(pairs):
            i, j = labels.index(sorted(labels)[a]), labels.index(sorted(labels)[b])
            want = theirs[:, pairs.index((min(i, j), max(i, j)))] * (1 if i < j else -1)
            np.testing.assert_allclose(found[:, column], want, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(model.predict(K), np.array(labels)[machine.predict(K)])
        np.testing.assert_array_equal(again(model).decision_function(K), model.decision_function(K))


def test_text_labels_become_numbers_and_are_told(tmp_path, again):
    model = fit(X[::3], np.array(["setosa", "versicolor", "virginica"])[CODES[::3]], kernel=Linear()).model
    assert libsvm.write(model, tmp_path / "t").notes == [
        "labels of LIBSVM are whole numbers: 0 = 'setosa', 1 = 'versicolor', 2 = 'virginica', in sorted order"
    ]
    second = again(model)
    assert second.classes.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(second.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize(
    ("kernel", "kind"),
    [(Linear(), "standard"), (Linear(), "maxabs"), (Poly(0.5), "maxabs"), (Sigmoid(0.1), "maxabs")],
)
def test_scaling_goes_into_vectors_and_intercept(kernel, kind, again):
    model = fit(X[::3], CODES[::3], kernel=kernel, scale=kind).model
    second = again(model)
    assert second.scaling is None
    np.testing.assert_allclose(second.decision_function(X), model.decision_function(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["standard", "minmax", "maxabs"])
def test_scaling_of_other_kernels_is_written_for_svm_scale(kind, tmp_path, again):
    model = fit(1e3 * X[::3] - 50, CODES[::3], kernel=RBF(0.5), scale=kind).model
    notes = libsvm.write(model, tmp_path / "t").notes
    assert len(notes) == 1 and f"scales its columns ({kind}): svm-scale -r {tmp_path / 't'}.range DATA" in notes[0]
    lines = (tmp_path / "t.range").read_text().splitlines()
    assert lines[0] == "x"
    lower, upper = map(float, lines[1].split())
    columns, low, high = np.array([line.split() for line in lines[2:]], dtype=float).T
    assert columns.tolist() == [1, 2, 3, 4]
    raw = 1e3 * X - 50
    scaled = lower + (upper - lower) * (raw - low) / (high - low)  # as svm-scale.c has it
    np.testing.assert_allclose(again(model).decision_function(scaled), model.decision_function(raw), rtol=0, atol=1e-9)


def test_what_libsvm_does_not_have(tmp_path):
    model = fit(X[::3], CODES[::3], kernel=Laplacian(0.5)).model
    refused(["no kernel 'laplacian'", "polynomial"], libsvm.write, model, tmp_path / "t")
    holed = np.where(X[::3] > 7, np.nan, X[::3])
    model = fit(holed, CODES[::3], kernel=Linear(), impute="median").model
    refused(["fills holes", "--onnx"], libsvm.write, model, tmp_path / "t")
    assert not (tmp_path / "t").exists()


def test_other_line_ends_blank_ends_orders_and_compressed_files(read):
    want = read(text_models.BINARY).decision_function(ROWS)
    lines = text_models.BINARY.splitlines()
    header = [*reversed(lines[1:8]), "gamma 0.5"]
    texts = [text_models.BINARY.replace("\n", "\r\n"), text_models.BINARY + "\n \n"]
    texts += [
        "\n".join([lines[0], *header[:5], *header[5:7], *lines[8:]]) + "\n",
        text_models.BINARY.replace(" ", "\t"),
    ]
    for text in (*texts, gzip.compress(text_models.BINARY.encode())):
        np.testing.assert_array_equal(read(text).decision_function(ROWS), want)


def test_more_columns_than_the_vectors_have(read):
    wide = np.column_stack([ROWS, np.ones(8)])
    model = read(text_models.BINARY, 4)
    np.testing.assert_array_equal(
        model.decision_function(wide), read(text_models.BINARY).widened(4).decision_function(wide)
    )
    refused("has 3 features, not 2", read, text_models.BINARY, 2)


def test_sparse_vectors_stay_sparse_and_count_from_0_where_a_0_occurs(read):
    text = text_models.ONE_CLASS.replace("2:1", "100000:1")
    assert read(text).n_features == 100000 and read(text).vectors.nnz == 3
    text = text_models.ONE_CLASS.replace("1:0.5 2:1", "0:0.5 1:1").replace("1:-1", "0:-1")
    np.testing.assert_array_equal(read(text).vectors, read(text_models.ONE_CLASS).vectors)


def changed(old, new, where=text_models.BINARY):
    assert old in where
    return where.replace(old, new, 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (changed("c_svc", "d_svc"), [":1:", "'d_svc' is not known", "nu_svc"]),
        (changed("rbf", "laplacian"), [":2:", "kernel_type", "precomputed"]),
        (changed("gamma 0.5\n", ""), ["no line 'gamma'"]),
        (changed("gamma 0.5", "gamma nan"), [":3:", "finite", "'nan'"]),
        (changed("gamma 0.5", "gamma 1e999"), [":3:", "finite"]),
        (changed("gamma 0.5", "gamma 1_0"), [":3:", "'1_0'"]),
        (changed("gamma 0.5", "gamma -1"), [":3:", "gamma must be"]),
        (changed("gamma 0.5", "gamma 1 2"), [":3:", "needs 1 values, not 2"]),
        (changed("gamma 0.5", "gamma 1\ngamma 1"), [":4:", "stands in line 3 already"]),
        (changed("gamma", "gama"), [":3:", "'gama'", "did you mean gamma?"]),
        (changed("nr_class 2", "nr_class 1"), [":4:", "one class"]),
        (changed("nr_class 2", "nr_class -2"), [":4:", "from 1 on"]),
        (changed("nr_class 2", "nr_class 2.0"), [":4:", "whole numbers"]),
        (changed("nr_class 2", "nr_class 999999999"), [":7:", "label needs 999,999,999 values, not 2"]),
        (changed("nr_class 2", "nr_class " + "9" * 400), [":4:", "whole numbers"]),
        (changed("nr_class 2", "nr_class 3", text_models.SVR), [":5:", "is 2, not 3"]),
        (changed("total_sv 8", "total_sv 999999999999"), [":8:", "nr_sv adds up to 8"]),
        (changed("total_sv 8", "total_sv 999999999999", text_models.SVR), [":17:", "ends after 8 of the 999,999"]),
        (changed("total_sv 8", "total_sv 7", text_models.SVR), [":17:", "more than the 7"]),
        (changed("label 4 -1", "label 4 4"), [":7:", "same label"]),
        (changed("label 4 -1", "label 4 b"), [":7:", "'b'"]),
        (changed("label 4 -1\n", ""), ["no line 'label'"]),
        (changed("nr_sv 4 4", "nr_sv 9 -1"), [":8:", "from 0 on"]),
        (changed("rho 0.46394538305404887", "rho 1 2"), [":6:", "needs 1 values, not 2"]),
        (changed("rho 0.46394538305404887", "rho"), [":6:", "needs 1 values, not 0"]),
        (changed("\nSV\n", "\n"), [":9:", "'1'"]),
        (text_models.BINARY.partition("SV\n")[0], [":9:", "without 'SV'", "cut short"]),
        (text_models.BINARY.partition("nr_sv")[0][:-3], [":7:", "without 'SV'", "cut short"]),
        (text_models.BINARY.rpartition("3:-1")[0], [":17:", "no line break", "cut short"]),
        (text_models.BINARY.rpartition("-0.5144")[0], [":16:", "ends after 7 of the 8 rows"]),
        (changed("1:0.5 2:1", "2:0.5 1:1"), [":10:", "index 1 does not ascend"]),
        (changed("1:0.5 2:1", "1:0.5 1:1"), [":10:", "index 1 does not ascend"]),
        (changed("1:0.5 2:1", "-1:0.5 2:1"), [":10:", "'-1:0.5'"]),
        (changed("1:0.5 2:1", "1:0.5 2"), [":10:", "'2'"]),
        (changed("1:0.5 2:1", "1:0.5 2:"), [":10:", "'2:'"]),
        (changed("1:0.5 2:1", "1:0.5:2"), [":10:", "'1:0.5:2'"]),
        (changed("1:0.5 2:1", "1:0.5 # 2:1"), [":10:", "'#'"]),
        (changed("1:0.5 2:1", "1:0.5 3000000000:1"), [":10:", "index 3000000000 is above 2147483646"]),
        (changed("-1 2:2", "-1 3000000000:2"), [":15:", "index 3000000000 is above 2147483646"]),
        (changed("label 4 -1", "label 4 -1\nprobA -1"), ["no line 'probB'"]),
        (changed("label 4 -1", "label 4 -1\nprobA -1\nprobB inf"), [":9:", "finite"]),
        (changed("label 4 -1", "label 4 -1\nprobA -1\nprobB 1 2"), [":9:", "needs 1 values, not 2"]),
        (changed("-1 2:2", "-1 2:nan"), [":15:", "'2:nan'"]),
        (changed("-1 2:2", "-1 2:1e999"), [":15:", "not finite"]),
        (changed("-1 2:2", "inf 2:1"), [":15:", "'inf'"]),
        (changed("-1 2:2", "2:2"), [":15:", "begins with 0 numbers"]),
        (changed("-1 2:2", "1 -1 2:2"), [":15:", "begins with 2 numbers"]),
        (changed("-1 2:2", ""), [":15:", "begins with 0 numbers"]),
        (changed("0:3", "1:3", text_models.PRECOMPUTED), [":9:", "0:NUMBER"]),
        (changed("0:3", "0:0", text_models.PRECOMPUTED), [":9:", "0:NUMBER"]),
        (changed("0:1", "0:1.5", text_models.PRECOMPUTED), [":10:", "0:NUMBER"]),
        (changed("0:1", "", text_models.PRECOMPUTED), [":10:", "0:NUMBER"]),
        (changed("degree 2", "degree 1e9", text_models.C_SVC), [":3:", "degree must be at most"]),
        ("1 1:1\n", ["no text model of LIBSVM or LIBLINEAR", "svm_type"]),
        (b"\x80\x04.pickled", ["no text model", "from_sklearn"]),
        ("", ["is empty"]),
    ],
    ids=lambda value: "",
)
def test_what_is_wrong_is_told_with_its_line(read, text, words):
    refused(words, read, text)


@pytest.mark.parametrize(
    "kernel", ["linear", "rbf\ngamma 0.5", "polynomial\ndegree 2\ngamma 0.5\ncoef0 1", "sigmoid\ngamma 0.1\ncoef0 0"]
)
def test_a_far_column_costs_no_memory(read, kernel, tmp_path):
    """A file of some hundred bytes names column 2,147,483,645, of which dense rows and weights would be 16 GiB each."""
    text = "svm_type c_svc\nkernel_type {}\nnr_class 2\ntotal_sv 2\nrho 0.25\nlabel 1 -1\nnr_sv 1 1\nSV\n{}"
    near, far = (read(text.format(kernel, f"1 1:1 {last}:1\n-1 2:1\n")) for last in (5, 2147483645))
    rows = sp.csr_array(([1.0, 2.0, 1.0, 1.0], [0, 2, 1, 4], [0, 2, 4]), shape=(2, 5))
    places = np.where(rows.indices == 4, far.n_features - 1, rows.indices)
    wide = sp.csr_array((rows.data, places, rows.indptr), shape=(2, far.n_features))
    near.predict(rows)  # whatever is compiled and imported
    tracemalloc.start()
    np.testing.assert_array_equal(far.decision_function(wide), near.decision_function(rows))
    if kernel == "linear":
        refused("2,147,483,645 columns would take 16.0 GiB", liblinear.write, far, tmp_path / "out")
    assert tracemalloc.get_traced_memory()[1] < 10 << 20
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("classes", "numbers"),
    [
        ([1.0, 2.0], [1, 2]),
        ([-1, 2**31 - 1], [-1, 2**31 - 1]),
        ([False, True], [0, 1]),
        ([0.5, 2.0], None),
        ([1.0, 2.0**31], None),
        ([1, -(2**31)], None),
        (["a", "b"], None),
        (["1", "2"], None),
    ],
)
def test_labels_of_other_programs_are_whole_numbers_of_32_bits(classes, numbers):
    found, note = whole_labels(np.array(classes), "LIBSVM")
    assert found == (numbers or [0, 1]) and all(type(value) is int for value in found)
    assert (note is None) == (numbers is not None)
    if note:
        first, second = np.array(classes).tolist()
        assert note == f"labels of LIBSVM are whole numbers: 0 = {first!r}, 1 = {second!r}, in sorted order"
