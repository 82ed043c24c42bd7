"""Models of ours as LIBSVM's program svm-predict reads them: labels, predictions, decisions and probabilities.

The program is in Debian's package libsvm-tools, and is built from LIBSVM's own sources by `make`.
"""

import re
import shutil
import subprocess
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.preprocessing import scale

from svmkit import SVMClassifier, SVMOneClass, SVMRegressor
from svmkit.kernels.functions import RBF, Kernel, Linear, Poly, Sigmoid
from svmkit.model.exchange import libsvm

PROGRAM = shutil.which("svm-predict")
pytestmark = [
    pytest.mark.skipif(PROGRAM is None, reason="needs LIBSVM's svm-predict (Debian: libsvm-tools)"),
    pytest.mark.filterwarnings("ignore:.*not_certified"),  # the sigmoid kernel
]
KERNELS = [Linear(), RBF(0.02), Poly(0.05, 2, 1.0), Sigmoid(0.01, -0.5)]
named = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)


def svm_predict(text: str, X, tmp_path, *options: str) -> list[str]:
    """The lines that svm-predict writes for the rows of X and the text of a model."""
    model, rows, out = tmp_path / "model", tmp_path / "rows", tmp_path / "out"
    model.write_text(text)
    X = sp.csr_array(X)
    with rows.open("w") as file:
        for i in range(X.shape[0]):
            at = slice(X.indptr[i], X.indptr[i + 1])
            pairs = zip(X.indices[at] + 1, X.data[at].tolist(), strict=True)
            file.write("0 " + " ".join(f"{j}:{value!r}" for j, value in pairs) + "\n")
    subprocess.run([PROGRAM, *options, rows, model, out], check=True, stdout=subprocess.DEVNULL, timeout=120)
    return out.read_text().splitlines()


def written(model, tmp_path) -> str:
    libsvm.write(model, tmp_path / "ours")
    return (tmp_path / "ours").read_text()


def as_regression(text: str) -> str:
    """The text of two classes as that of a regression, of which svm-predict prints the sums themselves."""
    text = re.sub(r"^(label|nr_sv|prob[AB]) .*\n", "", text, flags=re.M)
    return text.replace("svm_type c_svc", "svm_type epsilon_svr")


def fitted(kernel: Kernel, X, y, **options):
    return SVMClassifier("smo", kernel=kernel, C=2.0, scale="none", **options).fit(X, y)


@named
def test_decisions_and_labels_of_two_classes(kernel, tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    machine = fitted(kernel, X[::2], np.where(y[::2], 7, -2))
    text = written(machine.model_, tmp_path)
    labels = [int(line) for line in svm_predict(text, X, tmp_path)]
    assert labels == machine.predict(X).tolist() and set(labels) == {7, -2}
    found = np.array([float(line) for line in svm_predict(as_regression(text), X, tmp_path)])
    ours = machine.decision_function(X)
    np.testing.assert_allclose(found, ours, rtol=0.0, atol=1e-6 * max(1.0, float(np.abs(ours).max())))


def require_labels(labels, machine, X) -> None:
    """Labels are the same, but for rows whose classes have equally many votes: LIBSVM takes the first one of these."""
    decisions, k = machine.model_.decision_function(X), len(machine.classes_)
    votes = np.zeros((len(decisions), k), dtype=int)
    for column, (a, b) in enumerate(combinations(range(k), 2)):
        np.add.at(votes, (np.arange(len(votes)), np.where(decisions[:, column] > 0.0, a, b)), 1)
    tied = (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) > 1
    assert tied.mean() < 0.1
    assert (labels[~tied] == machine.predict(X)[~tied]).all()
    assert (labels[tied] == machine.classes_[votes[tied].argmax(axis=1)]).all()


@pytest.mark.parametrize("data", [load_wine, load_digits])
@named
def test_labels_of_many_classes(kernel, data, tmp_path):
    X, y = data(return_X_y=True)
    X = scale(X) if data is load_wine else X / 4.0
    machine = fitted(kernel, X[::3], y[::3])
    labels = np.array([int(line) for line in svm_predict(written(machine.model_, tmp_path), X, tmp_path)])
    require_labels(labels, machine, X)


@pytest.mark.parametrize(("data", "off"), [(load_breast_cancer, 2e-6), (load_wine, 5e-3)], ids=["two", "three"])
def test_probabilities_and_their_labels(data, off, tmp_path):
    """It prints six digits, and ends the iteration that couples three classes early."""
    X, y = data(return_X_y=True)
    X = scale(X)
    machine = fitted(RBF(0.02), X[::2], y[::2], calibration="sigmoid")
    head, *lines = svm_predict(written(machine.model_, tmp_path), X, tmp_path, "-b", "1")
    order = [int(word) for word in head.split()[1:]]
    rows = np.array([[float(word) for word in line.split()] for line in lines])
    ours = machine.predict_proba(X)
    np.testing.assert_allclose(rows[:, 1:], ours[:, order], rtol=0.0, atol=off)
    clear = np.diff(np.sort(ours, axis=1)[:, -2:], axis=1)[:, 0] > 2.0 * off
    assert clear.mean() > 0.9 and (rows[clear, 0] == machine.predict(X)[clear]).all()


@named
def test_predictions_of_a_regression(kernel, tmp_path):
    X, t = load_diabetes(return_X_y=True)
    X = scale(X)
    machine = SVMRegressor("smo", kernel=kernel, C=2.0, epsilon=5.0, scale="none").fit(X[::2], t[::2])
    found = [float(line) for line in svm_predict(written(machine.model_, tmp_path), X, tmp_path)]
    ours = machine.predict(X)
    np.testing.assert_allclose(found, ours, rtol=0.0, atol=1e-6 * max(1.0, float(np.abs(ours).max())))


def test_labels_of_outliers(tmp_path):
    X = scale(load_wine().data)
    machine = SVMOneClass(nu=0.2, kernel=RBF(0.05), loss="hinge").fit(X[::2])
    labels = [int(line) for line in svm_predict(written(machine.model_, tmp_path), X, tmp_path)]
    sure = np.abs(machine.decision_function(X)) > 1e-9  # vectors on the border are on either side of it
    assert sure.mean() > 0.8 and (np.array(labels)[sure] == machine.predict(X)[sure]).all()


@pytest.mark.data
@pytest.mark.parametrize("name", ["w1a", "a1a", "pendigits"])
def test_real_sets(name, real_set, tmp_path):
    """Sparse rows of two classes, and ten classes."""
    data = real_set(name)
    X, y = data.X[:2000], data.y[:2000]
    machine = SVMClassifier("smo", kernel=RBF(), C=4.0).fit(X, y)
    text = written(machine.model_, tmp_path)
    labels = np.array([float(line) for line in svm_predict(text, X, tmp_path)])
    if len(machine.classes_) > 2:
        return require_labels(labels, machine, X)
    assert (labels == machine.predict(X)).all()
    found = [float(line) for line in svm_predict(as_regression(text), X, tmp_path)]
    np.testing.assert_allclose(found, machine.decision_function(X), rtol=0.0, atol=1e-6)
