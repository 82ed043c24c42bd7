"""Training with a calibration: folds, weights, seeds, limits, and probabilities as good as those of SVC."""

import os
import re
import signal
import threading
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import chi2
from sklearn.calibration import _SigmoidCalibration
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_classification
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss, pairwise
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from support.problems import blobs, zeros_and_ones
from support.training import prepared

from svmkit import SVMClassifier, fit, plugins
from svmkit.errors import InputError, SvmkitWarning
from svmkit.kernels.functions import RBF, Linear, Precomputed
from svmkit.solver.selection import by_name
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations, Seconds
from svmkit.training.calibration.curves import fitted_calibration
from svmkit.training.calibration.folds import Folds, fit_calibrated
from svmkit.training.settings import Settings, resolve
from svmkit.training.train import fit_prepared

SETS = {"iris": load_iris, "wine": load_wine, "breast_cancer": load_breast_cancer, "digits": load_digits}


def known(n, seed, linear=False):
    """Samples of two classes whose probability is known: a function of two features, smooth or even linear."""
    X = np.random.default_rng(seed).uniform(-2.0, 2.0, (n, 2))
    p = 1.0 / (1.0 + np.exp(-1.5 * (X[:, 0] if linear else np.sin(1.5 * X[:, 0])) - X[:, 1]))
    return X, (np.random.default_rng(seed + 1).random(n) < p).astype(int), p


def test_folds_are_stratified_and_belong_to_the_seed():
    y = np.repeat([0, 1, 2], [50, 23, 7])
    weights = np.where(np.arange(80) % 10 == 0, 0.0, 1.0)
    data = prepared(np.arange(160.0).reshape(80, 2), y, kernel=RBF(1.0), sample_weight=weights)
    fold = Folds.draw(data, 3).fold
    assert (fold[weights == 0.0] == -1).all() and set(fold[weights > 0.0].tolist()) == set(range(5))
    for code in range(3):
        sizes = np.bincount(fold[(y == code) & (weights > 0.0)], minlength=5)
        assert sizes.max() - sizes.min() <= 1
    np.testing.assert_array_equal(fold, Folds.draw(data, 3).fold)
    assert (fold != Folds.draw(data, 4).fold).any()
    held = Folds.draw(data, 3).training(2).weights
    np.testing.assert_array_equal(held, np.where(fold == 2, 0.0, weights))


def test_each_column_has_the_calibration_of_scikit_learn():
    rng = np.random.default_rng(0)
    decision = [rng.normal(size=200) * 10.0**k for k in range(3)]
    positive = [rng.random(200) < 1.0 / (1.0 + np.exp(-2.0 * h / 10.0**k - k)) for k, h in enumerate(decision)]
    joined = np.concatenate(decision), np.concatenate(positive), np.ones(600), np.array([200, 400, 600])
    sigmoid, isotonic = (fitted_calibration(kind, *joined) for kind in ("sigmoid", "isotonic"))
    for k, (h, pro) in enumerate(zip(decision, positive, strict=True)):
        theirs = _SigmoidCalibration().fit(h, pro.astype(int))
        assert (sigmoid.A[k], sigmoid.B[k]) == pytest.approx((theirs.a_, theirs.b_), rel=1e-5)
        targets = np.where(pro, (pro.sum() + 1) / (pro.sum() + 2), 1.0 / ((~pro).sum() + 2))
        regression = IsotonicRegression(out_of_bounds="clip").fit(h, targets)
        at = np.linspace(h.min() - 1.0, h.max() + 1.0, 300)
        found, edge = np.interp(at, *isotonic.knots(k)), 0.005 * np.maximum(1.0, np.abs(at) + 0.5)  # half of one
        assert (found >= regression.predict(at - edge) - 1e-12).all()
        assert (found <= regression.predict(at + edge) + 1e-12).all()
        assert np.median(np.abs(found - regression.predict(at))) < 1e-12


def test_weights_are_those_of_scikit_learn():
    rng = np.random.default_rng(3)
    h, weights = np.round(rng.normal(size=300), 1), rng.exponential(size=300)
    pro = rng.random(300) < 1.0 / (1.0 + np.exp(-h))
    found = fitted_calibration("isotonic", h, pro, weights, np.array([300]))
    N, M = weights[pro].sum(), weights[~pro].sum()
    theirs = IsotonicRegression().fit(h, np.where(pro, (N + 1) / (N + 2), 1 / (M + 2)), sample_weight=weights)
    np.testing.assert_allclose(found.probabilities(h[:, None])[:, 0], theirs.predict(h), atol=1e-12)
    sigmoid, a_b = fitted_calibration("sigmoid", h, pro, weights, np.array([300])), _SigmoidCalibration()
    a_b.fit(h, pro.astype(int), weights)
    assert (sigmoid.A[0], sigmoid.B[0]) == pytest.approx((a_b.a_, a_b.b_), abs=0.02)  # their targets differ a little


def test_a_weight_counts_like_repetitions():
    rng = np.random.default_rng(1)
    h, weights = rng.normal(size=60), rng.integers(1, 4, 60)
    positive = h + rng.normal(size=60) > 0.0
    for kind in ("sigmoid", "isotonic"):
        weighted = fitted_calibration(kind, h, positive, weights.astype(float), np.array([60]))
        n = int(weights.sum())
        repeated = fitted_calibration(kind, h.repeat(weights), positive.repeat(weights), np.ones(n), np.array([n]))
        at = np.linspace(-3.0, 3.0, 50)[:, None]
        np.testing.assert_allclose(weighted.probabilities(at), repeated.probabilities(at), atol=1e-7)


def test_decisions_that_speak_against_their_class_have_no_say():
    rng = np.random.default_rng(2)
    h = rng.normal(size=100)
    found = fitted_calibration("sigmoid", h, h < rng.normal(size=100), np.ones(100), np.array([100]))
    assert found.A.tolist() == [0.0]
    assert found.probabilities(np.zeros((1, 1)))[0, 0] == pytest.approx((h < 0).mean(), abs=0.1)
    nothing = fitted_calibration("isotonic", h, h > 0, np.ones(100), np.array([100, 100]))
    assert nothing.knots(1)[1].tolist() == [0.5]  # a column without samples


@pytest.mark.parametrize("kind", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("name", SETS)
@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
def test_the_log_loss_is_that_of_svc(name, kind):
    """Both depend on their folds: the mean over five seeds."""
    X, y = SETS[name](return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0, stratify=y, test_size=0.4)
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    gamma, losses = 1.0 / X.shape[1], []
    for seed in range(5 if len(y) < 300 else 1):
        theirs = SVC(probability=True, gamma=gamma, random_state=seed).fit(X, y)
        model = fit(X, y, kernel=RBF(gamma), seed=seed, calibration=kind).model
        losses.append([log_loss(y_test, found.predict_proba(X_test)) for found in (theirs, model)])
    theirs, ours = np.mean(losses, axis=0)
    assert ours < theirs + (0.01 if kind == "sigmoid" else 0.06)


def hosmer_lemeshow(found, hits):
    """The probability of so great differences between predictions and labels in tenths of the predictions, or greater.

    Hosmer, Lemeshow 1980, for samples that were not trained on: ten degrees of freedom.
    """
    tenths = np.digitize(found, np.quantile(found, np.linspace(0.1, 0.9, 9)))
    used = np.unique(tenths)
    rows, expected, seen = (np.array([values[tenths == k].sum() for k in used]) for values in (found**0, found, hits))
    return chi2.sf((np.square(seen - expected) / (expected * (1.0 - expected / rows))).sum(), len(used))


@pytest.mark.parametrize(("kind", "linear"), [("sigmoid", True), ("isotonic", True), ("isotonic", False)])
def test_probabilities_are_those_of_the_labels(kind, linear):
    """Decisions of noisy samples crowd at the margin, where only the isotonic calibration follows them.

    With the small C of a linear model they do not, and the sigmoid is the truth.
    """
    X, y, _ = known(6000 if linear else 3000, 10, linear)
    X_test, y_test, p = known(1000, 20, linear)
    kernel, C, solver = (Linear(), 1e-3, "dcd") if linear else (RBF(0.5), 1.0, "auto")
    model = fit(X, y, solver=solver, kernel=kernel, C=C, calibration=kind).model
    found = model.predict_proba(X_test)[:, 1]
    assert np.abs(found - p).mean() < (0.05 if linear else 0.08)
    assert hosmer_lemeshow(p, y_test) > 1e-3 and hosmer_lemeshow(found, y_test) > 1e-3
    uncalibrated = 1.0 / (1.0 + np.exp(-model.decision_function(X_test)))
    assert hosmer_lemeshow(uncalibrated, y_test) < 1e-6
    assert log_loss(y_test, found) < log_loss(y_test, uncalibrated)


def test_every_storage_and_kind_of_kernel_agree():
    X, y = blobs(120, 3)
    import scipy.sparse as sp

    K = pairwise.rbf_kernel(X, gamma=0.5)
    dense = fit(X, y, kernel=RBF(0.5), stop=Gap(1e-9), calibration="sigmoid").model.predict_proba(X)
    sparse = fit(sp.csr_array(X), y, kernel=RBF(0.5), stop=Gap(1e-9), calibration="sigmoid").model
    given = fit(K, y, kernel=Precomputed(), stop=Gap(1e-9), calibration="sigmoid").model
    np.testing.assert_allclose(sparse.predict_proba(sp.csr_array(X)), dense, atol=1e-4)
    np.testing.assert_allclose(given.predict_proba(K), dense, atol=1e-4)
    linear = [
        fit(X, y, kernel=Linear(), solver=name, stop=Gap(1e-8), calibration="sigmoid") for name in ("dcd", "ocas")
    ]
    np.testing.assert_allclose(linear[0].model.predict_proba(X), linear[1].model.predict_proba(X), atol=1e-3)


@pytest.mark.parametrize("solver", ["smo", "fcsmo", "fcfw", "dcd"])
def test_the_seed_and_not_the_threads_decide(solver):
    X, y = blobs(150, 3)
    kernel = Linear() if solver == "dcd" else RBF(0.5)
    one, two, other = (
        fit(X, y, kernel=kernel, solver=solver, calibration="sigmoid", seed=seed, n_threads=threads).model.calibration
        for seed, threads in ((1, 1), (1, 2), (2, 1))
    )
    assert one.A == two.A and one.B == two.B and one.A != other.A


@pytest.mark.parametrize("k", [2, 3])
def test_folds_share_the_kernel_values_of_the_model(k):
    """Rows of 300 columns and more are worth a matrix of all kernel values, which the folds are parts of."""
    rng = np.random.default_rng(0)
    y = np.arange(150) % k
    X = rng.normal(size=(150, 320)) + 0.3 * y[:, None]
    plain = fit(X, y, kernel=RBF(0.002))
    fitted = fit(X, y, kernel=RBF(0.002), calibration="sigmoid")
    assert plain.kernel_values > 0 and fitted.kernel_values == plain.kernel_values


@pytest.mark.parametrize(
    ("kernel", "options"),
    [
        (RBF(0.3), {}),
        (RBF("scale"), {}),
        (RBF("msd"), {"scale": "standard"}),
        (Linear(), {"scale": "minmax", "impute": "median"}),
        (RBF("scale"), {"scale": "standard", "impute": "indicator"}),
    ],
)
def test_decisions_are_those_of_models_of_the_other_folds(kernel, options):
    """Imputing, scaling and gamma are learnt from the other folds, too: a model of theirs has never seen the rest."""
    X, y = blobs(60, 3)
    X = X * [1.0, 10.0, 100.0]
    X[7] *= 20.0  # far out: it moves the scale of all columns
    if "impute" in options:
        X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    decision, options = np.empty(60), options | {"kernel": kernel, "stop": Gap(1e-9)}
    folds = Folds.draw(prepared(X, y, **options), 7)
    for number in range(5):
        held = folds.fold == number
        decision[held] = fit(X[~held], y[~held], **options).model.decision_function(X[held])
    by_hand = fitted_calibration("sigmoid", decision, y > 0, np.ones(60), np.array([60]))
    for threads in (1, 2):
        found = fit(X, y, seed=7, n_threads=threads, calibration="sigmoid", **options).model.calibration
        np.testing.assert_allclose([found.A, found.B], [by_hand.A, by_hand.B], atol=1e-4)


def test_a_column_without_values_outside_a_fold_is_imputed_as_in_all_rows():
    X, y = blobs(60, 3)
    X[1:, 2] = np.nan
    model = fit(X, y, kernel=RBF("scale"), impute="median", scale="standard", calibration="sigmoid").model
    assert log_loss(y, model.predict_proba(X)) < 0.6


@pytest.mark.parametrize("multiclass", ["ovr", "crammer_singer"])
def test_a_decision_for_each_class_is_calibrated_too(multiclass):
    X, y = load_iris(return_X_y=True)
    model = SVMClassifier(kernel="linear", multiclass=multiclass, calibration="sigmoid", scale="standard").fit(X, y)
    assert model.model_.calibration.n_columns == 3
    found = model.predict_proba(X)
    assert log_loss(y, found) < 0.35 and model.score(X, y) > 0.9
    np.testing.assert_array_equal(model.classes_[found.argmax(axis=1)], model.predict(X))
    np.testing.assert_array_equal(model.decision_function(X).argmax(axis=1), model.predict(X))
    chances = model.model_.calibration.probabilities(model.model_.decision_function(X))
    np.testing.assert_allclose(found, chances / chances.sum(axis=1, keepdims=True))


@pytest.mark.filterwarnings("ignore:.* rows are equal to one in another fold")
@pytest.mark.parametrize(("multiclass", "k", "tol"), [("ovo", 2, 1e-9), ("ovo", 3, 1e-3), ("ovr", 3, 1e-3)])
def test_a_row_has_one_probability_alone_and_among_others(multiclass, k, tol):
    """Rounding differs by the batch, and duplicate rows are knots of it where a step may be steep."""
    for seed in range(12):
        X, y = zeros_and_ones(seed, k)
        model = SVMClassifier(multiclass=multiclass, tol=tol, calibration="isotonic").fit(X, y)
        rows = np.unique(X, axis=0)
        alone = np.concatenate([model.predict_proba(row[None, :]) for row in rows])
        np.testing.assert_allclose(model.predict_proba(X[:150]), alone[_places(X[:150], rows)], rtol=0, atol=1e-11)
        labels = np.concatenate([model.predict(row[None, :]) for row in rows])
        np.testing.assert_array_equal(model.predict(X[:150]), labels[_places(X[:150], rows)])


def _places(X, rows):
    return (X[:, None, :] == rows).all(axis=2).argmax(axis=1)


def test_decisions_that_only_rounding_tells_apart_have_one_chance():
    rng = np.random.default_rng(0)
    for at, scale in ((-1.0, 1e-14), (1e8, 1e-7), (0.0, 1e-14), (0.0, 0.0)):
        h = at + scale * rng.integers(0, 5, 100)
        found = fitted_calibration("isotonic", h, rng.random(100) < 0.3, np.ones(100), np.array([100]))
        assert len(found.decisions) == 1 and 0.1 < found.shares[0] < 0.5
    for at, scale in ((0.0, 1e-8), (1.0, 1e-3)):  # a small C: close decisions are told apart where all lie so close
        h = at + scale * rng.normal(size=500)
        pro = rng.random(500) < 1.0 / (1.0 + np.exp(-3.0 * (h - at) / scale))
        found = fitted_calibration("isotonic", h, pro, np.ones(500), np.array([500]))
        assert np.ptp(found.probabilities(at + scale * np.array([[-2.0], [2.0]]))) > 0.9
        assert (np.diff(found.shares) / np.diff(found.decisions) <= 1.001e2 / np.ptp(h)).all()
    for extreme in (1e300, 1.7e308):  # whose difference is no number
        h = np.repeat([-extreme, extreme], 50)
        assert fitted_calibration("isotonic", h, h > 0, np.ones(100), np.array([100])).flaw() is None


@pytest.mark.filterwarnings("ignore:.* rows are equal to one in another fold")
@pytest.mark.parametrize("multiclass", ["ovo", "ovr", "crammer_singer"])
@pytest.mark.parametrize("kind", [None, "sigmoid", "isotonic"])
def test_labels_decisions_and_probabilities_agree(kind, multiclass):
    X, y = zeros_and_ones(3, 4)
    far = np.concatenate([X, 1e3 * X - 300.0, 1e6 * X])
    model = SVMClassifier(kernel="linear", multiclass=multiclass, calibration=kind).fit(X, y)
    labels = model.predict(far)
    np.testing.assert_array_equal(model.decision_function(far).argmax(axis=1), labels)
    if kind:
        found, logs = model.predict_proba(far), model.predict_log_proba(far)
        np.testing.assert_array_equal(found.argmax(axis=1), labels)
        np.testing.assert_array_equal(logs.argmax(axis=1), labels)
        np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
        assert np.isfinite(logs).all()


@pytest.mark.parametrize("kind", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("class_weight", [None, "balanced", {1: 30.0}, {"0": 0.05}])
def test_class_weights_leave_probabilities_those_of_the_data(class_weight, kind):
    """The mean probability is the share of the class, and the log loss is below that of this share."""
    X, y = make_classification(3000, 8, weights=[0.94], flip_y=0.02, random_state=0)
    half = np.arange(3000) < 1500
    model = SVMClassifier(class_weight=class_weight, calibration=kind).fit(X[half], y[half])
    found, share = model.predict_proba(X[~half])[:, 1], y[half].mean()
    assert abs(found.mean() - y[~half].mean()) < 0.02
    assert log_loss(y[~half], found) < 0.8 * log_loss(y[~half], np.full(1500, share))


@pytest.mark.parametrize("multiclass", ["ovo", "ovr", "crammer_singer"])
def test_class_weights_of_more_classes(multiclass):
    X, y = make_classification(2000, 8, n_informative=5, n_classes=3, weights=[0.75, 0.2], random_state=0)
    model = SVMClassifier(kernel="linear", multiclass=multiclass, class_weight="balanced", calibration="sigmoid")
    found = model.fit(X[::2], y[::2]).predict_proba(X[1::2])
    np.testing.assert_allclose(found.mean(axis=0), np.bincount(y[1::2]) / 1000, atol=0.035)


def test_sample_weights_move_the_probabilities():
    X, y, p = known(600, 30)
    plain = fit(X, y, kernel=RBF(0.5), calibration="sigmoid").model.predict_proba(X)[:, 1]
    nine = {"calibration": "sigmoid", "sample_weight": np.where(y == 1, 9.0, 1.0)}
    weighed = fit(X, y, kernel=RBF(0.5), **nine).model.predict_proba(X)[:, 1]
    assert abs(plain.mean() - p.mean()) < 0.05 and weighed.mean() > plain.mean() + 0.2
    # the same problem, and so the same decisions, by class weights that undo those of the samples
    undone = fit(X, y, kernel=RBF(0.5), class_weight={1: 1.0 / 9.0}, **nine).model.predict_proba(X)[:, 1]
    assert undone.mean() > plain.mean() + 0.2
    scaled = fit(X, y, kernel=RBF(0.5), C=10.0, calibration="sigmoid", sample_weight=np.full(600, 0.1)).model
    np.testing.assert_allclose(scaled.predict_proba(X)[:, 1], plain, atol=0.01)  # 10 times 0.1: only the product counts


def test_a_limit_in_seconds_is_that_of_all_models():
    X, y, _ = known(4000, 40)
    fitted = fit(X, y, kernel=RBF(50.0), C=1e5, stop=Gap(1e-12) | Seconds(1.0), calibration="sigmoid")
    assert fitted.status is Status.TIME_LIMIT and fitted.model.calibration is not None
    assert fitted.seconds < 8.0 and fitted.calibration_s < fitted.seconds


def test_the_folds_share_the_seconds_that_the_model_leaves(monkeypatch):
    """By a clock that is made up the model takes 40 of 100 seconds, and each fold 5."""
    X, y = blobs(60, 3)
    data, clock, limits = prepared(X, y), [1000.0], []
    method = resolve(Settings(kernel=data.kernel, stop=Gap(1e-3) | Seconds(100.0), n_threads=1), "classify")
    model = fit_prepared(data, method)
    clock_of = SimpleNamespace(perf_counter=lambda: clock[0])
    monkeypatch.setattr("svmkit.training.calibration.folds.time", clock_of)

    def take(seconds):
        def train(*given, start=None):
            limits.append(given[-1].settings.rules.least(Seconds))
            clock[0] += seconds
            return replace(model, seconds=seconds)

        return train

    fitted = fit_calibrated(take(40.0), take(5.0), data, method, "sigmoid")
    assert limits == pytest.approx([50.0, 60.0 / 5, 55.0 / 4, 50.0 / 3, 45.0 / 2, 40.0])
    assert (fitted.seconds, fitted.calibration_s, fitted.kernel_values) == (65.0, 25.0, 6 * model.kernel_values)


@pytest.mark.posix
def test_ctrl_c_leaves_the_model_and_the_finished_folds():
    X, y, _ = known(3000, 50)
    seen = []

    def watch(k, n, name):
        return [lambda point: seen.append(point) or (os.kill(os.getpid(), signal.SIGINT) if len(seen) == 1 else None)]

    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals reach the main thread")
    fitted = fit(X, y, kernel=RBF(20.0), C=1e4, stop=Gap(1e-12), calibration="sigmoid", watch=watch)
    assert fitted.status is Status.INTERRUPTED and fitted.model.calibration is None and fitted.calibration_s is None


@pytest.mark.parametrize("solver, kernel", [("auto", "rbf"), ("auto", "linear"), ("fw", "rbf")])
def test_few_support_vectors_may_all_be_in_one_fold(solver, kernel):
    X, y = blobs(60, seed=0)
    data, support = prepared(X, y), []
    for seed in range(8):  # a fold of five has both of two vectors for one seed in five
        model = SVMClassifier(solver, kernel=kernel, max_support=2, calibration="sigmoid", random_state=seed).fit(X, y)
        assert model.model_.about["calibration"]["folds"] == 5
        fold = Folds.draw(data, seed).fold
        support.append(len(set(fold[model.support_].tolist())) == 1)
    assert any(support)


def test_what_cannot_be_calibrated():
    X, y = blobs(60, 3)
    with pytest.raises(InputError, match="only a classifier has probabilities"):
        fit(X, X[:, 0], task="regress", kernel=RBF(0.5), calibration="sigmoid")
    with pytest.raises(InputError, match="'beta' is not known"):
        fit(X, y, kernel=RBF(0.5), calibration="beta")
    rare = np.where(np.arange(60) < 57, 0, 1)
    with pytest.raises(InputError, match=r"class 1 has 3: add samples, or train without a calibration$"):
        fit(X, rare, kernel=RBF(0.5), calibration="sigmoid")


@pytest.mark.parametrize("name", plugins.names("solver"))
def test_every_solver_of_classes_has_probabilities(name):
    pytest.importorskip("sklearnex" if name == "sklearnex" else "svmkit")
    X, y = blobs(80, 3)
    kernel = by_name.kernel(None, for_solver=by_name.solver(name))
    model = fit(X, y, solver=name, kernel=kernel, stop=Gap(1e-2) | Iterations(3000), calibration="sigmoid").model
    assert log_loss(y, model.predict_proba(X)) < 0.6


@pytest.mark.parametrize(
    "given",
    [
        {"calibration": "isotonic"},
        {"thresholds": True},
        {"calibration": "sigmoid", "cv": 4},
        {"calibration": "sigmoid", "conformal": 0.2, "conformal_folds": 4},
    ],
)
def test_rows_that_are_equal_across_folds_are_told_of_once(given):
    rng = np.random.default_rng(0)
    X, y, groups = np.repeat(rng.normal(size=(60, 5)), 5, axis=0), np.repeat(np.arange(60) % 2, 5), np.arange(300) // 5
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", SvmkitWarning)
        SVMClassifier(**given).fit(X, y)
    (said,) = [str(one.message) for one in seen]
    assert re.match(r"\d+ of 300 rows are equal to one in another fold.*too sure: .*groups=.*--groups COL", said)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SvmkitWarning)
        SVMClassifier(**given).fit(rng.normal(size=(300, 5)), y)
        if "conformal" not in given:
            SVMClassifier(**given).fit(X, y, groups=groups)
        SVMClassifier().fit(X, y)
    if "cv" not in given:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always", SvmkitWarning)
            SVMClassifier(C="cv", **given).fit(X, y)
        assert len([one for one in seen if "rows are equal to one in another" in str(one.message)]) == 1
