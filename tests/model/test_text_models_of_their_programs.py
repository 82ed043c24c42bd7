"""Decisions of LIBSVM's and LIBLINEAR's own packages, both ways, where libsvm-official and liblinear-official are."""

from ctypes import c_double

import numpy as np
import pytest
from sklearn.datasets import load_iris

from svmkit.kernels.functions import RBF, Linear
from svmkit.model.exchange import liblinear, libsvm
from svmkit.model.exchange.reading import read_text_model
from svmkit.training.train import fit

X, CODES = load_iris(return_X_y=True)
X, LABELS = X[::3], np.array([7, -2, 4])[CODES[::3]]
T = 2.0 * X[:, 0] + np.sin(X[:, 1])


def of_libsvm(model):
    """The decisions (n, n_columns) that LIBSVM computes with a model in its memory."""
    from libsvm.svm import gen_svm_nodearray, libsvm

    n = model.get_nr_class() * (model.get_nr_class() - 1) // 2
    values, out = (c_double * n)(), []
    for row in X:
        libsvm.svm_predict_values(model, gen_svm_nodearray(row)[0], values)
        out.append(values[:n])
    return np.array(out)


def of_liblinear(model):
    """The decisions (n, n_columns) that LIBLINEAR computes with a model in its memory."""
    from liblinear.liblinearutil import predict

    return np.array(predict([], X, model, "-q")[2])


def ours(model):
    return model.decision_function(X).reshape(len(X), -1)


@pytest.mark.parametrize("svm_type", range(5))
@pytest.mark.parametrize("kernel_type", range(4))
def test_models_of_libsvm(svm_type, kernel_type, tmp_path):
    svmutil = pytest.importorskip("libsvm.svmutil")
    options = f"-s {svm_type} -t {kernel_type} -g 0.1 -d 2 -r 1 -n 0.3 -q"
    theirs = svmutil.svm_train(LABELS if svm_type < 2 else T, X, options)
    svmutil.svm_save_model(str(tmp_path / "theirs"), theirs)
    model = read_text_model(tmp_path / "theirs")
    of_file = of_libsvm(svmutil.svm_load_model(str(tmp_path / "theirs")))
    if svm_type < 2:
        labels = theirs.get_labels()
        assert labels == [7, -2, 4]  # so that (7, -2), (7, 4), (-2, 4) stand for (-2, 4), (-2, 7), (4, 7)
        of_file = np.column_stack([of_file[:, 2], -of_file[:, 0], -of_file[:, 1]])
    np.testing.assert_allclose(ours(model), of_file, rtol=1e-6, atol=1e-6)
    libsvm.write(model, tmp_path / "ours")
    again = of_libsvm(svmutil.svm_load_model(str(tmp_path / "ours")))
    np.testing.assert_allclose(again, ours(model), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("task", ["classify", "two", "regress"])
@pytest.mark.parametrize("kernel", [RBF(0.5), Linear()])
def test_our_models_in_libsvm(task, kernel, tmp_path):
    svmutil = pytest.importorskip("libsvm.svmutil")
    y = {"classify": LABELS, "two": LABELS > 0, "regress": T}[task]
    of = "regress" if task == "regress" else "classify"
    model = fit(
        X, y, solver="smo", kernel=kernel, scale="standard" if kernel.name == "linear" else "none", task=of
    ).model
    libsvm.write(model, tmp_path / "ours")
    found = of_libsvm(svmutil.svm_load_model(str(tmp_path / "ours")))
    np.testing.assert_allclose(found, ours(model), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("solver_type", [0, 1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 21])
def test_models_of_liblinear(solver_type, tmp_path):
    linearutil = pytest.importorskip("liblinear.liblinearutil")
    y = LABELS if solver_type < 8 else T
    theirs = linearutil.train(y, X, f"-s {solver_type} -B {-1 if solver_type == 21 else 2} -q")
    linearutil.save_model(str(tmp_path / "theirs"), theirs)
    model = read_text_model(tmp_path / "theirs")
    of_file = of_liblinear(linearutil.load_model(str(tmp_path / "theirs")))
    if solver_type < 8:
        of_file = of_file[:, np.argsort(theirs.get_labels())]
    np.testing.assert_allclose(ours(model), of_file, rtol=1e-6, atol=1e-6)
    liblinear.write(model, tmp_path / "ours")
    again = of_liblinear(linearutil.load_model(str(tmp_path / "ours")))
    np.testing.assert_allclose(again, ours(model), rtol=1e-6, atol=1e-6)
