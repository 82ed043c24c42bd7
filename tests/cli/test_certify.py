"""svmkit certify: what it prints, its exit code, and the model that it polishes."""

from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.svm import SVC, LinearSVC
from support.cli import svmlight

from svmkit.data import load
from svmkit.model.model import SVMModel

pytestmark = pytest.mark.usefixtures("alone")


@pytest.fixture
def rows():
    svmlight("rows.svm", 80, 4)
    return load("rows.svm")


def test_a_pickle_needs_trust(svmkit, rows):
    joblib.dump(SVC(C=5.0).fit(rows.X, rows.y), "its.joblib")
    refused = svmkit("certify", "its.joblib", "rows.svm")
    assert refused.code == 2 and refused.err.count("\n") == 1 and "give --trust if you know who wrote it" in refused.err
    done = svmkit("certify", "its.joblib", "rows.svm", "--trust")
    assert done.code == 0 and done.out.startswith("software  scikit-learn SVC\nproblem   hinge, free bias, C=5, rbf")
    assert [line.split()[0] for line in done.out.splitlines()][:4] == ["software", "problem", "P", "D"]
    assert "fit_status_ 0" in done.out


def test_a_tolerance_that_is_not_met_is_exit_1(svmkit, rows):
    joblib.dump(SVC(C=50.0, tol=0.5).fit(rows.X, rows.y), "its.joblib")
    missed = svmkit("certify", "its.joblib", "rows.svm", "--trust", "--tol", "1e-7")
    assert missed.code == 1 and "(above 1e-07)" in missed.out
    met = svmkit("certify", "its.joblib", "rows.svm", "--trust", "--tol", "0.9")
    assert met.code == 0 and "(within 0.9)" in met.out
    sigmoid = SVC(kernel="sigmoid", gamma=3.0).fit(rows.X, rows.y)
    joblib.dump(sigmoid, "its.joblib")
    unknown = svmkit("certify", "its.joblib", "rows.svm", "--trust", "--tol", "0.9")
    assert unknown.code == 1 and "not known: the sigmoid kernel is not positive semidefinite" in unknown.out


def test_a_polished_model_is_a_model_of_svmkit(svmkit, rows):
    joblib.dump(SVC(C=50.0, tol=0.5).fit(rows.X, rows.y), "its.joblib")
    done = svmkit("certify", "its.joblib", "rows.svm", "--trust", "--polish", "ours.svmkit", "--json").json
    assert done["polished"] == "ours.svmkit" and 0.0 < done["gain"] <= done["gap"]
    (decision,) = done["decisions"]
    assert decision["polished_gap"] <= 1e-6 and decision["status"] == "converged"
    ours = SVMModel.load("ours.svmkit")
    assert ours.certify(rows.X, rows.y)[0].primal == pytest.approx(decision["polished_objective"], rel=1e-6)
    again = svmkit("certify", "ours.svmkit", "rows.svm", "--tol", "1e-5", "--json")
    assert again.json["software"] == "svmkit auto" and again.json["gap"] <= 1e-5


@pytest.mark.parametrize(("limit", "improves"), [("90s", True), ("5", True), ("0", False)])
def test_the_time_for_the_bound(svmkit, rows, limit, improves):
    joblib.dump(LinearSVC(tol=0.1).fit(rows.X, rows.y), "its.joblib")
    done = svmkit("certify", "its.joblib", "rows.svm", "--trust", "--time-limit", limit)
    assert done.code == 0 and ("gains" in done.out) == improves, done


def test_a_text_model_and_a_model_of_svmkit(svmkit, rows):
    svmkit("train", "rows.svm", "--solver", "smo", "--tol", "1e-7", "--no-track", "--out", "m.svmkit")
    assert svmkit("certify", "m.svmkit", "rows.svm", "--tol", "1e-6").code == 0
    svmkit("export", "m.svmkit", "--libsvm", "its.model")
    done = svmkit("certify", "its.model", "rows.svm", "--json", "-C", "1").json
    assert done["software"] == "LIBSVM c_svc" and done["gap"] <= 1e-6
    svmkit("train", "rows.svm", "--solver", "dcd", "--tol", "1e-7", "--no-track", "--out", "l.svmkit")
    svmkit("export", "l.svmkit", "--liblinear", "its.model")
    asked = svmkit("certify", "its.model", "rows.svm")
    assert asked.code == 2 and "does not say its C" in asked.err
    done = svmkit("certify", "its.model", "rows.svm", "--json", "-C", "1", "--loss", "hinge", "--bias", "1").json
    assert done["gap"] <= 1e-5


def test_what_is_told_is_checked(svmkit, rows):
    joblib.dump(LinearSVC().fit(rows.X, rows.y), "its.joblib")
    for options, says in (
        (("--bias", "some"), "--bias 'some' is not known: give free"),
        (("--loss", "some"), "loss='some' is not known"),
        (("--class-weight", "some"), "--class-weight 'some' is not known"),
        (("--time-limit", "-1"), "--time-limit '-1' is no time"),
        (("--time-limit", "soon"), "--time-limit 'soon' is no time"),
        (("--memory", "1"), "--memory 1 is a number of bytes"),
    ):
        told = svmkit("certify", "its.joblib", "rows.svm", "--trust", *options)
        assert told.code == 2 and says in told.err and told.err.count("\n") == 1
    Path("its.joblib").write_bytes(b"\x80\x04nothing")
    told = svmkit("certify", "its.joblib", "rows.svm", "--trust")
    assert told.code == 2 and "its.joblib: cannot be unpickled" in told.err and told.err.count("\n") == 1


def test_more_classes_have_a_line_each(svmkit):
    data = load("iris")
    joblib.dump(SVC().fit(data.X, data.y), "its.joblib")
    done = svmkit("certify", "its.joblib", "iris", "--trust")
    names = [f"{a} vs {b}" for a, b in (("setosa", "versicolor"), ("setosa", "virginica"), ("versicolor", "virginica"))]
    assert all(name in done.out for name in names) and np.isfinite(float(done.out.split("gap")[1].split()[0]))
