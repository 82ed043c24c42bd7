"""fit: labels, pairs of classes, weights."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import pairwise
from support.problems import FAST, make, overlapping, problem_of

from svmkit.kernels.functions import RBF
from svmkit.model.one_vs_one import class_pairs
from svmkit.solver.loop.solve import solve
from svmkit.solver.stopping import Gap, Iterations
from svmkit.training.train import fit

# --- labels and classes


@pytest.mark.parametrize(
    "names", [(-1, 1), (0, 1), (1, 2), (-1.0, 1.0), (False, True), ("no", "yes"), ("10", "9"), (7, 300)], ids=str
)
def test_labels_of_every_kind(names):
    X, y = overlapping()
    low, high = sorted(names)
    labels = np.where(y > 0, high, low)
    trained = fit(X, labels, kernel=RBF(0.5), C=5.0)
    base = fit(X, y, kernel=RBF(0.5), C=5.0)
    assert trained.model.classes.tolist() == [low, high]
    np.testing.assert_array_equal(trained.model.decision_function(X), base.model.decision_function(X))
    predicted = trained.model.predict(X)
    assert predicted.dtype.kind == labels.dtype.kind
    np.testing.assert_array_equal(predicted == high, base.model.decision_function(X) > 0)
    assert (predicted == labels).mean() > 0.8


@pytest.mark.parametrize("name", ["swap2o", "mfw"])
@pytest.mark.parametrize("data", ["iris", "digits"])
def test_one_versus_one_is_a_binary_model_for_each_pair(data, name):
    X, y = {"iris": load_iris, "digits": load_digits}[data](return_X_y=True)
    if data == "digits":
        X, y = X[:400], y[:400]
    names = np.array([f"class {c}" for c in range(10)])
    kernel = RBF("scale").resolve(X)
    trained = fit(X, names[y], solver=name, kernel=kernel, C=3.0)
    decision = trained.model.decision_function(X)
    k = len(np.unique(y))
    assert decision.shape == (len(X), k * (k - 1) // 2) and len(trained.solutions) == decision.shape[1]
    votes = np.zeros((len(X), k))
    for column, (a, b) in enumerate(class_pairs(k)):
        rows = np.flatnonzero((y == a) | (y == b))
        problem = problem_of(X[rows], np.where(y[rows] == a, 1.0, -1.0), 3.0, kernel)
        solution = solve(problem, make(name))
        found = problem.decision_function(solution.point, solution.certificate)
        want = pairwise.rbf_kernel(X, X[rows], gamma=kernel.gamma) @ found.coef + found.intercept
        np.testing.assert_allclose(decision[:, column], want, atol=1e-9)
        assert trained.model.intercept[column] == pytest.approx(found.intercept, abs=1e-12)
        votes[np.arange(len(X)), np.where(want > 0, a, b)] += 1
    predicted = trained.model.predict(X)
    clear = votes.max(axis=1) > np.partition(votes, -2, axis=1)[:, -2]
    np.testing.assert_array_equal(predicted[clear], names[votes.argmax(axis=1)][clear])
    assert (predicted == names[y]).mean() > 0.95
    assert trained.model.n_support.sum() == len(trained.support) == trained.model.vectors.shape[0]
    np.testing.assert_array_equal(X[trained.support], trained.model.vectors)
    assert trained.model.n_support.tolist() == np.bincount(y[trained.support], minlength=k).tolist()


def test_support_vectors_are_those_with_a_weight():
    X, y = overlapping()
    trained = fit(X, y, kernel=RBF(0.5), C=1.0)
    solution = trained.solutions[0]
    assert sorted(trained.support) == np.flatnonzero(solution.point).tolist()
    assert (np.diff(y[trained.support]) >= 0).all()  # sorted by class
    assert (np.sign(trained.model.coef[0]) == y[trained.support]).all()


@pytest.mark.data
def test_letters(real_set):
    """26 classes labelled 1 to 26: 325 pairs."""
    data = real_set("letter.scale")
    X, y = data.X[:2000], data.y[:2000]
    trained = fit(X, y, kernel=RBF(1.0), C=8.0, stop=Gap(1e-2))
    assert trained.model.classes.tolist() == list(range(1, 27))
    assert len(trained.solutions) == 325 and trained.gap <= 1e-2
    assert trained.model.decision_function(X[:5]).shape == (5, 325)
    assert (trained.model.predict(X) == y).mean() > 0.95
    assert (trained.model.predict(data.X[2000:4000]) == data.y[2000:4000]).mean() > 0.8


# --- weights


@pytest.mark.parametrize("class_weight", [None, {1: 3.0}, "balanced"], ids=str)
@pytest.mark.parametrize("name", FAST)
def test_a_weight_of_zero_is_a_removal(name, class_weight):
    X, y = overlapping(150)
    keep = np.random.default_rng(2).random(150) < np.where(y > 0, 0.9, 0.4)
    weights = np.where(keep, 1.3, 0.0)
    common = {"solver": name, "kernel": RBF(0.5), "C": 2.0, "class_weight": class_weight}
    zeroed = fit(X, y, **common, sample_weight=weights)
    removed = fit(X[keep], y[keep], **common, sample_weight=weights[keep])
    a, b = zeroed.model.decision_function(X), removed.model.decision_function(X)
    np.testing.assert_allclose(a, b, rtol=0.0, atol=1e-10 if class_weight == "balanced" else 0.0)
    assert keep[zeroed.support].all()


def test_an_integer_weight_is_a_repetition():
    X, y = overlapping(60)
    weights = np.random.default_rng(3).integers(1, 4, 60)
    stop = Gap(1e-10) | Iterations(400_000)
    weighted = fit(X, y, kernel=RBF(0.5), C=0.3, sample_weight=weights, stop=stop)
    repeated = fit(np.repeat(X, weights, 0), np.repeat(y, weights), kernel=RBF(0.5), C=0.3, stop=stop)
    np.testing.assert_allclose(weighted.model.decision_function(X), repeated.model.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("labels", [(0, 1, 2), (-1.0, 0.0, 5.0), ("a", "b", "c")], ids=str)
def test_class_weights_are_sample_weights(labels):
    X, codes = load_iris(return_X_y=True)
    y = np.array(labels)[codes]
    per_class = {labels[0]: 2.0, labels[2]: 0.25}
    by_class = fit(X, y, kernel=RBF(0.5), C=1.0, class_weight=per_class)
    by_sample = fit(X, y, kernel=RBF(0.5), C=1.0, sample_weight=np.array([2.0, 1.0, 0.25])[codes])
    np.testing.assert_array_equal(by_class.model.decision_function(X), by_sample.model.decision_function(X))
    plain = fit(X, y, kernel=RBF(0.5), C=1.0)
    assert np.abs(plain.model.decision_function(X) - by_class.model.decision_function(X)).max() > 1e-2


def test_class_weights_of_float_labels_may_be_spelt_as_whole_numbers():
    """Labels of svmlight files are floats; scikit-learn takes {1: 2, -1: 1} for them."""
    X, y = overlapping()
    a = fit(X, y.astype(np.float64), kernel=RBF(0.5), class_weight={1: 2.0, -1: 0.5})
    b = fit(X, y, kernel=RBF(0.5), class_weight={1: 2.0, -1: 0.5})
    np.testing.assert_array_equal(a.model.coef, b.model.coef)


def test_balanced_weighs_by_the_inverse_frequency():
    X, y = overlapping(share=0.1)
    counts = {-1: (y < 0).sum(), 1: (y > 0).sum()}
    balanced = fit(X, y, kernel=RBF(0.5), class_weight="balanced")
    by_hand = fit(X, y, kernel=RBF(0.5), class_weight={c: len(y) / (2 * n) for c, n in counts.items()})
    np.testing.assert_array_equal(balanced.model.decision_function(X), by_hand.model.decision_function(X))
