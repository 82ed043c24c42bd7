"""`loss="logistic"`: probabilities of the loss itself, among two classes and more, in files and in ONNX."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.multiclass import OneVsRestClassifier

from svmkit import InputError, SVMClassifier, c_path
from svmkit.errors import SvmkitWarning
from svmkit.kernels import Linear
from svmkit.model.calibration import Sigmoid
from svmkit.model.exchange import liblinear
from svmkit.model.exchange.reading import read_text_model
from svmkit.model.model import SVMModel
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap

X, Y = load_iris(return_X_y=True)
TWO = Y > 0


def test_two_classes_have_the_probabilities_of_scikit_learn():
    ours = SVMClassifier(kernel="linear", loss="logistic", tol=1e-9).fit(X[TWO], Y[TWO])
    theirs = LogisticRegression(solver="newton-cholesky", tol=1e-10).fit(X[TWO], Y[TWO])
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    odds = ours.decision_function(X)
    np.testing.assert_allclose(ours.predict_proba(X)[:, 1], 1.0 / (1.0 + np.exp(-odds)), atol=1e-12)


def test_classes_against_the_rest_have_those_of_scikit_learn():
    ours = SVMClassifier(kernel="linear", loss="logistic", tol=1e-9, multiclass="ovr").fit(X, Y)
    theirs = OneVsRestClassifier(LogisticRegression(solver="newton-cholesky", tol=1e-10)).fit(X, Y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_class_pairs_are_coupled(kernel):
    machine = SVMClassifier(kernel=kernel, loss="logistic").fit(X, Y)
    P = machine.predict_proba(X)
    assert P.shape == (150, 3) and np.abs(P.sum(axis=1) - 1.0).max() < 1e-12
    assert (P.argmax(axis=1) == machine.predict(X)).all() and machine.score(X, Y) > 0.9


def test_a_file_keeps_the_loss_and_the_probabilities(tmp_path):
    machine = SVMClassifier(loss="logistic").fit(X, Y)
    machine.model_.save(tmp_path / "m.svmkit")
    model = SVMModel.load(tmp_path / "m.svmkit")
    assert model.about["loss"] == "logistic" and model.about["calibration"]["kind"] == "logistic loss"
    np.testing.assert_array_equal(model.predict_proba(X), machine.predict_proba(X))
    certificate = SVMClassifier(loss="logistic").fit(X[TWO], Y[TWO]).model_.certify(X[TWO], Y[TWO])[0]
    assert certificate.gap <= 1e-3


def test_liblinear_reads_it_as_logistic_regression(tmp_path):
    model = SVMClassifier(kernel="linear", loss="logistic", multiclass="ovr").fit(X, Y).model_
    written = liblinear.write(model, tmp_path / "m")
    back = read_text_model(tmp_path / "m", 4)
    assert written.kind == "L2R_LR" and not written.notes
    np.testing.assert_allclose(back.predict_proba(X), model.predict_proba(X), atol=1e-12)


def test_a_calibration_wins():
    machine = SVMClassifier(loss="logistic", calibration="sigmoid").fit(X[TWO], Y[TWO])
    assert isinstance(machine.model_.calibration, Sigmoid) and machine.model_.calibration.A[0] != -1.0
    assert machine.model_.about["calibration"]["folds"] == 5


def test_probabilities_of_other_losses_are_refused():
    assert not hasattr(SVMClassifier(), "predict_proba") and hasattr(SVMClassifier(loss="logistic"), "predict_proba")
    with pytest.raises(InputError, match="logistic"):
        SVMClassifier().fit(X, Y).model_.predict_proba(X)


def test_a_stream_has_probabilities():
    machine = SVMClassifier("sgd", kernel="linear", loss="logistic")
    for rows in np.array_split(np.random.default_rng(0).permutation(100), 4):
        machine.partial_fit(X[TWO][rows], Y[TWO][rows], classes=[1, 2])
    assert machine.model_.calibration is not None and machine.predict_proba(X[TWO]).max() < 1.0


def test_class_weights_move_the_odds():
    plain = SVMClassifier(kernel="linear", loss="logistic", C=1e-6, tol=1e-6).fit(X[TWO], Y[TWO])
    weighted = SVMClassifier(kernel="linear", loss="logistic", C=1e-6, tol=1e-6, class_weight={1: 3.0})
    assert plain.predict_proba(X[TWO])[:, 1].mean() == pytest.approx(0.5, abs=1e-3)
    assert weighted.fit(X[TWO], Y[TWO]).predict_proba(X[TWO])[:, 0].mean() == pytest.approx(0.75, abs=1e-3)


def test_each_of_several_labels_has_its_probability(tmp_path):
    labels = np.c_[Y == 0, Y == 1, Y == 2, Y >= 0].astype(int)
    with pytest.warns(SvmkitWarning, match="all samples have label 3"):
        ours = SVMClassifier(loss="logistic", kernel="linear", tol=1e-8).fit(X, labels)
    p = ours.predict_proba(X)
    for k in range(3):
        peer = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit(X, labels[:, k])
        np.testing.assert_allclose(p[:, k], peer.predict_proba(X)[:, 1], atol=1e-5)
    assert (p[:, 3] == 1.0).all() and np.array_equal(p > 0.5, ours.predict(X))
    ours.model_.save(tmp_path / "labels.svmkit")
    np.testing.assert_array_equal(SVMModel.load(tmp_path / "labels.svmkit").predict_proba(X), p)


@pytest.mark.filterwarnings("ignore:.* rows are equal to one in another fold")
def test_a_search_takes_the_metrics_of_probabilities(svmkit):
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    ours = SVMClassifier(kernel="linear", loss="logistic", C="cv", cv=folds, metric="neg_log_loss", tol=1e-7)
    ours.fit(X[TWO], Y[TWO])
    for row in range(len(ours.cv_results_["params"])):
        C = ours.cv_results_["params"][row]["C"]
        peer = LogisticRegression(C=C, tol=1e-9, max_iter=100_000)
        theirs = cross_val_score(peer, X[TWO], Y[TWO], cv=folds, scoring="neg_log_loss").mean()
        assert ours.cv_results_["mean_test_score"][row] == pytest.approx(theirs, abs=1e-3)
    given = ("iris", "--loss", "logistic", "--metric", "neg_log_loss", "--cv", 3, "--no-track", "--json")
    assert svmkit("tune", *given, "--grid", "C=1,10").json["best"]["mean_score"] < 0.0


@pytest.mark.parametrize("Cs", [(224.0, 708.0), (1e-3, 1e6), (1e6, 1e-3)])
def test_a_start_far_out_of_the_flat_ends_of_the_losses_converges(Cs):
    """There Newton's step along the bias would go nowhere: slopes of 1e-10 change by 1e-20."""
    rows = next(iter(StratifiedKFold(3, shuffle=True, random_state=0).split(X[TWO], Y[TWO])))[0]
    fits = c_path(X[TWO][rows], Y[TWO][rows], Cs, kernel=Linear(), loss="logistic", stop=Gap(1e-6))
    assert all(fitted.status is Status.CONVERGED for fitted in fits), [fitted.gap for fitted in fits]
