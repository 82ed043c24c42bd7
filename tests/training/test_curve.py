"""The accuracy of a growing model on held-out rows: in histories, on the command line, in the estimator."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.metrics import pairwise
from support.cli import svmlight
from support.problems import FAMILY, overlapping

from svmkit import SVMClassifier
from svmkit.cli.training.report import curve_lines as lines
from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, FromFunction, Linear, Precomputed
from svmkit.solver.stopping import Gap, Iterations, Support
from svmkit.training.train import fit


def held_out(names=(-1, 1), seed=7):
    return overlapping(80, seed=seed, names=names)


def measured(fitted, k=0):
    return {p.n_iter: p.accuracy for p in fitted.solutions[k].history if p.accuracy is not None}


@pytest.mark.parametrize("name", FAMILY)
def test_the_accuracy_is_that_of_the_model_at_that_iteration(name):
    X, y = overlapping()
    X_val, y_val = held_out()
    common = {"solver": name, "kernel": RBF(0.5), "C": 0.3}
    curve = measured(fit(X, y, **common, stop=Iterations(60), validation=(X_val, y_val)))
    assert 10 <= len(curve) <= 30 and max(curve) == 60
    for n_iter in (2, 7, *list(curve)[-3:]):
        model = fit(X, y, **common, stop=Iterations(n_iter)).model
        assert curve.get(n_iter) in (None, pytest.approx((model.predict(X_val) == y_val).mean(), abs=1e-12))
    assert curve[60] == pytest.approx((model.predict(X_val) == y_val).mean(), abs=1e-12)


def test_measuring_changes_nothing_else():
    X, y = overlapping()
    plain, watched = (fit(X, y, kernel=RBF(0.5), C=3.0, validation=v) for v in (None, held_out()))
    assert plain.n_iter == watched.n_iter and plain.kernel_values == watched.kernel_values
    np.testing.assert_array_equal(plain.model.coef, watched.model.coef)
    assert not measured(plain)
    assert [p._replace(seconds=0, accuracy=None) for p in watched.solutions[0].history] == [
        p._replace(seconds=0) for p in plain.solutions[0].history
    ]


@pytest.mark.parametrize("scale", [None, "maxabs"])
@pytest.mark.parametrize(("train_as", "test_as"), [(np.asarray, sp.csr_array), (sp.csr_array, np.asarray)])
def test_storage_scaling_and_zeros_that_are_stored(train_as, test_as, scale):
    X, y = overlapping()
    X[::3, 1] = 0.0
    X_val, y_val = held_out()
    stored = test_as(X_val.astype(np.float32))
    if sp.issparse(stored):
        stored.data[::5] = 0.0
        X_val = stored.toarray()
    fitted = fit(train_as(X), y, kernel=RBF(0.5), scale=scale, validation=(stored, y_val))
    assert measured(fitted)[fitted.n_iter] == (fitted.model.predict(X_val.astype(np.float32)) == y_val).mean()


@pytest.mark.parametrize(
    ("classes", "told"),
    [
        (("no", "yes"), ("no", "yes")),
        ((0, 1), (0.0, 1.0)),
        ((0, 1), ("0", "1")),
        (("1", "2"), (1, 2)),
        ((False, True), (0, 1)),
    ],
    ids=str,
)
def test_labels_of_every_kind(classes, told):
    X, y = overlapping(names=classes)
    X_val, codes = held_out((0, 1))
    fitted = fit(X, y, kernel=RBF(0.5), validation=(X_val, np.array(told)[codes][:, None]))
    right = fitted.model.predict(X_val) == np.array(classes)[codes]
    assert measured(fitted)[fitted.n_iter] == right.mean()


def test_each_pair_is_measured_on_its_own_classes():
    X, codes = load_iris(return_X_y=True)
    y = np.array(["a", "b", "c"])[codes]
    weights = np.where(np.arange(150) % 10, 1.0, 0.0)
    rows = np.r_[0:10, 50:75, 145:150, 0:3]
    labels = y[rows]
    labels[-3:] = "unheard of"
    fitted = fit(X, y, kernel=RBF(0.5), C=0.2, sample_weight=weights, validation=(X[rows], labels))
    decision = fitted.model.decision_function(X[rows])
    for k, (a, b) in enumerate(("ab", "ac", "bc")):
        of_pair = (labels == a) | (labels == b)
        want = np.where(decision[of_pair, k] > 0, a, b) == labels[of_pair]
        assert fitted.solutions[k].history[-1].accuracy == want.mean()
    one = fit(X, y, kernel=RBF(0.5), validation=(X[:5], y[:5]))
    assert [s.history[-1].accuracy is None for s in one.solutions] == [False, False, True]


def test_a_precomputed_and_a_function_kernel():
    X, y = overlapping()
    X_val, y_val = held_out()
    want = measured(fit(X, y, kernel=RBF(0.5), C=0.3, validation=(X_val, y_val)))
    K, K_val = pairwise.rbf_kernel(X, gamma=0.5), pairwise.rbf_kernel(X_val, X, gamma=0.5)
    given = measured(fit(K, y, kernel=Precomputed(), C=0.3, validation=(K_val, y_val)))
    function = FromFunction(lambda A, B: pairwise.rbf_kernel(A, B, gamma=0.5))
    called = measured(fit(X, y, kernel=function, C=0.3, validation=(X_val, y_val)))
    assert list(given.values())[-1] == list(called.values())[-1] == list(want.values())[-1]


@pytest.mark.parametrize(
    ("X", "y", "match"),
    [
        (np.ones((4, 2)), [1, -1, 1, -1], "validation X has 2 features, but fit is expecting 3"),
        (np.ones((4, 3)), [1, -1, 1], "one label for each of its 4 rows"),
        (np.full((4, 3), np.nan), [1, -1, 1, -1], "validation X contains NaN"),
        (np.ones((4, 3)), [5, 5, 5, 5], "none of the classes trained on: -1, 1"),
        (np.ones((0, 3)), [], "0 sample"),
    ],
    ids=["width", "labels", "nan", "classes", "empty"],
)
def test_bad_validation_sets(X, y, match):
    with pytest.raises(InputError, match=match) as caught:
        fit(*overlapping(), kernel=RBF(0.5), validation=(X, y))
    assert "\n" not in str(caught.value)


def test_the_estimator_takes_a_validation_set():
    X, y = overlapping(names=("no", "yes"))
    model = SVMClassifier(max_support=10).fit(X, y, validation=held_out(("no", "yes")))
    assert model.history_[0][-1].accuracy == model.score(*held_out(("no", "yes")))
    assert len(model.support_) <= 10
    assert SVMClassifier().fit(X, y, np.ones(len(y))).history_[0][-1].accuracy is None


@pytest.mark.parametrize("name", FAMILY)
def test_a_support_budget_holds_for_each_pair(name):
    X, y = load_iris(return_X_y=True)
    fitted = fit(X, y, solver=name, kernel=RBF(0.5), C=0.1, stop=Gap(1e-3) | Support(4) | Iterations(3000))
    assert [s.n_support <= 4 for s in fitted.solutions] == [True] * 3
    assert 4 < len(fitted.support) <= 12


# --- the command line


@pytest.fixture
def sets(alone):
    return svmlight("train.svm", 90, spread=1.5), svmlight("test.svm", 40, seed=1, spread=1.5)


def test_json_has_the_curve(sets, train):
    data, test = sets
    result = train(data, "--test", test, "--curve")
    curve = result["curve"]
    assert {tuple(point) for point in curve} == {("n_iter", "seconds", "n_support", "objective", "accuracy")}
    assert curve[-1]["accuracy"] == result["test_accuracy"] and curve[-1]["n_iter"] == result["n_iter"]
    assert train(data, "--test", test)["curve"] is None and train(data)["curve"] is None
    limited = train(data, "--test-size", "0.3", "--max-support", "8")
    assert limited["curve"][-1]["n_support"] == limited["n_support"] <= 8
    assert train("iris", "--test-size", "0.3", "--curve")["curve"] is None  # three curves side by side say little


def test_the_table(sets, svmkit):
    data, test = sets
    done = svmkit("train", data, "--test", test, "--curve", "--no-track", "--solver", "swap2o")
    assert done.code == 0 and done.err == ""
    shown = [line for line in done.out.splitlines() if " vectors  " in line]
    assert 3 <= len(shown) <= 8 and shown[0].startswith("curve") and all(line[:5] == "     " for line in shown[1:])
    sizes = [int(line.split(" vectors")[0].split()[-1]) for line in shown]
    assert sizes == sorted(sizes) and sizes[0] <= 3
    assert "curve" not in svmkit("train", "iris", "--test-size", "0.3", "--curve", "--no-track").out


def test_the_table_is_short_whatever_the_size():
    def point(n):
        return {"n_support": n, "accuracy": 0.5}

    shown = lines([point(n) for n in range(1, 60_000, 7)])
    assert len(shown) == 8
    assert shown[0] == "     1 vectors  50.00% test" and shown[-1].startswith("59,998 vectors")
    assert lines([point(1)]) == ["1 vectors  50.00% test"]
    assert [line.split()[0] for line in lines([point(n) for n in (2, 3, 6, 8, 4)])] == ["2", "4"]


def test_a_curve_needs_rows_to_measure_on(sets, refused):
    refused(["--curve", "--test-size"], "train", sets[0], "--curve", "--no-track")


def test_kernels_without_products(sets, train):
    assert train(sets[0], "--test", sets[1], "--kernel", Linear().name, "--curve")["curve"]


@pytest.mark.parametrize("name", ["swap2o", "smo", "fcsmo", "norma"])
def test_measuring_costs_the_solve_no_kernel_values(name):
    X, y = overlapping()
    plain, curved = (
        fit(X, y, solver=name, kernel=RBF(0.5), stop=Iterations(60), validation=validation)
        for validation in (None, held_out())
    )
    assert curved.kernel_values == plain.kernel_values
    assert any(p.accuracy is not None for p in curved.solutions[0].history)
