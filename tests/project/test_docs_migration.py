"""Every line of docs/migration.md: what it says of another program and what it says of svmkit predict the same."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn import linear_model, svm
from sklearn.base import is_outlier_detector, is_regressor
from sklearn.datasets import dump_svmlight_file, load_breast_cancer, load_svmlight_file
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from svmkit import SVMClassifier, SVMOneClass, SVMRegressor
from svmkit.model.model import SVMModel

PAGE = (Path(__file__).parents[2] / "docs" / "migration.md").read_text(encoding="utf-8")
LINES = re.findall(r"^\| `(.+?)` \| `(.+?)` \|$", PAGE, re.MULTILINE)
X, Y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)[:, :10]
T = X @ np.linspace(-1.0, 1.0, 10) + np.sin(X[:, 0])
OURS = {each.__name__: each for each in (SVMClassifier, SVMOneClass, SVMRegressor, StandardScaler, make_pipeline)}
# the l1 penalty of logistic regression, whose name scikit-learn 1.8 gave up
L1 = {"l1_ratio": 1} if linear_model.LogisticRegression().penalty == "deprecated" else {"penalty": "l1"}
TRAIN, TEST = np.arange(300), np.arange(300, 569)
PEERS = {**vars(svm), **vars(linear_model), "cuml": SimpleNamespace(svm=svm), "thundersvm": svm}
pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::sklearn.exceptions.ConvergenceWarning"),
]


def sides(start):
    return [pytest.param(*line, id=line[0]) for line in LINES if re.match(start, line[0])]


def predicted(estimator):
    if is_outlier_detector(estimator):
        return estimator.fit(X[TRAIN]).predict(X[TEST])
    answers = T if is_regressor(estimator) else Y
    return estimator.fit(X[TRAIN], answers[TRAIN]).predict(X[TEST])


def check_alike(ours, theirs, text):
    if len(np.unique(theirs)) > 20:
        assert np.corrcoef(ours, theirs)[0, 1] > 0.999, text
        assert np.abs(ours - theirs).mean() < 0.02 * np.std(theirs), text
    else:
        stochastic = "SGD" in text or "probability" in text
        assert (ours == theirs).mean() >= (0.95 if stochastic else 0.985), text


def test_the_page_has_all_programs():
    assert len(LINES) > 45 and {"SVC", "LinearSVC", "cuml", "thundersvm", "svm-train", "train", "svm"} <= {
        re.match(r"[\w-]+", theirs)[0] for theirs, _ in LINES
    }


@pytest.mark.parametrize(("theirs", "ours"), sides("[A-Z]|cuml|thunder"))
def test_python(theirs, ours):
    check_alike(predicted(eval(ours, OURS, {"X": X[TRAIN]})), predicted(eval(theirs, PEERS)), theirs)


@pytest.mark.parametrize(("theirs", "ours"), sides(r"svm\("))
def test_r(theirs, ours):
    """There is no R here: the line of svmkit is run, beside the estimator of scikit-learn on LIBSVM's own terms."""
    named = dict(re.findall(r"(\w+) = ([^,)]+)", theirs))
    kinds = {"nu-classification": svm.NuSVC, "eps-regression": svm.SVR, "one-classification": svm.OneClassSVM}
    options = {"C" if k == "cost" else k: float(v) for k, v in named.items() if k in ("cost", "gamma", "nu", "epsilon")}
    peer = kinds.get(named.get("type", "").strip('"'), svm.SVC)
    options |= {"kernel": named["kernel"].strip('"')} if "kernel" in named else {}
    rows = X if named.get("scale") == "FALSE" else StandardScaler().fit(X[TRAIN]).transform(X)
    estimator = peer(**({"gamma": 1 / X.shape[1]} | options))
    answers = {"y": T[TRAIN] if peer is svm.SVR else Y[TRAIN]} if peer is not svm.OneClassSVM else {}
    expected = estimator.fit(rows[TRAIN], **answers).predict(rows[TEST])
    check_alike(predicted(eval(ours, OURS, {"X": X})), expected, theirs)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(regresses):
        answers = T if regresses else np.where(Y == 1, 1, -1)
        dump_svmlight_file(X[TRAIN], answers[TRAIN], "train.svm", zero_based=False)
        dump_svmlight_file(X[TEST], answers[TEST], "test.svm", zero_based=False)

    return write


@pytest.mark.skipif(not shutil.which("svm-train"), reason="needs LIBSVM's programs (Debian: libsvm-tools)")
@pytest.mark.parametrize(("theirs", "ours"), sides("svm-train"))
def test_libsvm(theirs, ours, files, svmkit):
    files("-s 3" in theirs or "-s 4" in theirs)
    for command in (theirs, f"svm-predict{' -b 1' * ('-b 1' in theirs)} test.svm m out"):
        subprocess.run(shlex.split(command), check=True, capture_output=True)
    lines = Path("out").read_text(encoding="utf-8").splitlines()
    expected = np.array([float(line.split()[0]) for line in lines[len(lines) - len(TEST) :]])
    done = svmkit(*shlex.split(ours)[1:], "--no-track")
    assert done.code == 0, done.err
    model = SVMModel.load("m.svmkit")
    found = model.predict(load_svmlight_file("test.svm", n_features=10)[0])
    text = "probability" if "-b 1" in theirs else theirs
    check_alike(found.astype(float), expected, text)


@pytest.mark.parametrize(("theirs", "ours"), sides("train "))
def test_liblinear(theirs, ours, files, svmkit):
    """scikit-learn carries LIBLINEAR: the same numbers of its types."""
    kind, regresses = int(re.search(r"-s (\d+)", theirs)[1]), "-p" in theirs
    files(regresses)
    more = {"fit_intercept": False, "tol": 1e-6, "max_iter": 100_000, "C": 0.5}
    peer = {
        0: lambda: linear_model.LogisticRegression(solver="liblinear", **more),
        1: lambda: svm.LinearSVC(dual=True, **more),
        2: lambda: svm.LinearSVC(dual=False, **more),
        3: lambda: svm.LinearSVC(loss="hinge", **more),
        5: lambda: svm.LinearSVC(penalty="l1", dual=False, **more),
        6: lambda: linear_model.LogisticRegression(solver="liblinear", **L1, **more),
        7: lambda: linear_model.LogisticRegression(solver="liblinear", dual=True, **more),
        11: lambda: svm.LinearSVR(loss="squared_epsilon_insensitive", dual=False, epsilon=0.1, **more),
        13: lambda: svm.LinearSVR(epsilon=0.1, **more),
    }[kind]()
    rows, answers = load_svmlight_file("train.svm", n_features=10)
    peer.fit(rows.toarray(), answers)
    done = svmkit(*shlex.split(ours)[1:], "--no-track", "--tol", "1e-6")
    assert done.code == 0, done.err
    model = SVMModel.load("m.svmkit")
    test = load_svmlight_file("test.svm", n_features=10)[0]
    check_alike(model.predict(test).astype(float), peer.predict(test.toarray()), theirs)
    np.testing.assert_allclose(np.abs(model.weights), np.abs(peer.coef_.reshape(1, -1)), rtol=0.02, atol=0.02)
    assert os.path.exists("m.svmkit")
