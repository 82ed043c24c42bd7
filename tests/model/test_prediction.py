"""Decisions are the plain formula, whatever part, tile or thread computes them, in memory that does not grow."""

import tracemalloc
from dataclasses import replace

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import pairwise

from svmkit.data.prepare.preprocessing import Preprocessing
from svmkit.data.prepare.scaling import Scaling
from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, FromFunction, Laplacian, Linear, Poly, Precomputed, Sigmoid
from svmkit.model import model as module
from svmkit.model.model import SVMModel
from svmkit.model.one_vs_one import class_pairs

pytestmark = pytest.mark.usefixtures("one_pool")
FORMULAS = {
    "linear": (Linear(), lambda X, Z: X @ Z.T),
    "rbf": (RBF(0.3), lambda X, Z: np.exp(-0.3 * ((X[:, None] - Z) ** 2).sum(axis=2))),
    "laplacian": (Laplacian(0.3), lambda X, Z: np.exp(-0.3 * np.abs(X[:, None] - Z).sum(axis=2))),
    "poly": (Poly(0.2, 3, 1.0), lambda X, Z: (0.2 * X @ Z.T + 1.0) ** 3),
    "sigmoid": (Sigmoid(0.1, -0.2), lambda X, Z: np.tanh(0.1 * X @ Z.T - 0.2)),
    "callable": (FromFunction(lambda X, Z: pairwise.cosine_similarity(X, Z)), pairwise.cosine_similarity),
}


def model_of(n_classes, kernel=FORMULAS["rbf"][0], *, n_sv=300, d=7, seed=0, **changes) -> SVMModel:
    """Random vectors and coefficients of 0 to 120 % of an even share of the vectors for each class."""
    rng = np.random.default_rng(seed)
    owner = np.sort(rng.integers(n_classes, size=n_sv))
    model = SVMModel(
        kernel=kernel,
        classes=np.array([f"class {c:02}" for c in range(n_classes)]),
        vectors=rng.normal(size=(n_sv, d)) * (rng.random((n_sv, d)) < 0.6),
        n_support=np.bincount(owner, minlength=n_classes),
        coef=rng.normal(size=(n_classes - 1, n_sv)) * (rng.random((n_classes - 1, n_sv)) < 0.7),
        intercept=rng.normal(size=n_classes * (n_classes - 1) // 2),
        n_features=d,
    )
    return replace(model, **changes)


def rows_of(n, d=7, seed=1):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)


def by_formula(model: SVMModel, K: np.ndarray) -> np.ndarray:
    """Decisions (n, n_pairs) from kernel values with the vectors, (n, n_sv)."""
    owner = np.repeat(np.arange(len(model.classes)), model.n_support)
    columns = []
    for column, (a, b) in enumerate(class_pairs(len(model.classes))):
        coef = np.where(owner == a, model.coef[b - 1], np.where(owner == b, model.coef[a], 0.0))
        columns.append(K @ coef + model.intercept[column])
    return np.array(columns).T


@pytest.fixture(params=["one part", "many parts"])
def parts(request, monkeypatch):
    if request.param == "many parts":
        monkeypatch.setattr(module, "ROWS", (100, 10))
        monkeypatch.setattr(module, "PART_BYTES", 2000)


@pytest.mark.parametrize("n_classes", [2, 3, 12])
@pytest.mark.parametrize("kernel", FORMULAS)
def test_decisions_are_the_formula(kernel, n_classes, parts):
    kind, formula = FORMULAS[kernel]
    model, X = model_of(n_classes, kind), rows_of(310)
    want = by_formula(model, formula(X, model.vectors))
    for vectors in (model.vectors, sp.csr_array(model.vectors)):
        for rows in (X, sp.csr_array(X), np.asfortranarray(X)):
            got = replace(model, vectors=vectors).decision_function(rows).reshape(310, -1)
            np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_decisions_of_given_values_and_of_scaled_rows(n_classes, parts):
    X, K = rows_of(310), rows_of(310, 50)
    given = model_of(n_classes, Precomputed(), vectors=np.random.default_rng(2).integers(50, size=300), n_features=50)
    scaled = model_of(n_classes, preprocessing=Preprocessing(scaling=Scaling.fit("standard", 3.0 * X + 1.0)))
    for model, rows, values in (
        (given, K, K[:, given.vectors]),
        (given, sp.csr_array(K), K[:, given.vectors]),
        (scaled, X, FORMULAS["rbf"][1](scaled.scaling.apply(X), scaled.vectors)),
    ):
        got = model.decision_function(rows).reshape(310, -1)
        np.testing.assert_allclose(got, by_formula(model, values), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_neither_parts_nor_threads_change_a_decision(storage, n_classes, monkeypatch):
    model, X = model_of(n_classes), storage(rows_of(3000))
    want = model.decision_function(X)
    for threads in range(1, numba.config.NUMBA_NUM_THREADS + 1):
        np.testing.assert_array_equal(model.decision_function(X, n_threads=threads), want)
    for rows in ((1, 1), (256, 256), (1000, 7)):
        monkeypatch.setattr(module, "ROWS", rows)
        some = X[:: max(1, 300 // rows[0])][:300]
        whole = want[:: max(1, 300 // rows[0])][:300]
        np.testing.assert_allclose(model.decision_function(some), whole, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
def test_rows_are_predicted_in_parts_that_take_little_memory():
    """As many rows as fit into 32 MiB with their decisions, from 256 to 16384; a sparse entry counts twice."""

    def parts(model, X):
        return [(part.start, part.stop) for part in model._parts(X, len(model.intercept))]

    narrow = model_of(2)
    for X in (np.zeros((40_000, 7)), sp.csr_array((40_000, 7))):
        assert parts(narrow, X) == [(0, 16_384), (16_384, 32_768), (32_768, 40_000)]
    assert parts(narrow, np.zeros((16_384, 7))) == [(0, 16_384)] and parts(narrow, np.zeros((0, 7))) == []
    assert parts(narrow, np.zeros((2049, 2048))) == [(0, 2048), (2048, 2049)]
    few = sp.csr_array((np.ones(600), np.arange(600), np.array([0, 600, 600])), shape=(2, 4_000_000))
    assert parts(narrow, sp.vstack([few] * 4000, format="csr"))[0] == (0, (32 << 20) // (8 * 600))
    assert parts(narrow, sp.csr_array(np.ones((300, 40_000))))[0] == (0, 256)
    assert parts(model_of(100), np.zeros((900, 7)))[0] == (0, 847)  # 4950 decisions of a row


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_the_weights_of_a_linear_model(n_classes, storage):
    model, X = model_of(n_classes, Linear(), n_sv=20), rows_of(9)
    stored = replace(model, vectors=storage(model.vectors))
    want = model.decision_function(X).reshape(9, -1)
    assert stored.weights.shape == (len(model.intercept), 7)
    np.testing.assert_allclose(X @ stored.weights.T + model.intercept, want, rtol=1e-12, atol=1e-12)
    with pytest.raises(InputError, match="only a model with the linear kernel has weights of the columns, not rbf"):
        model_of(n_classes).weights  # noqa: B018


def test_a_decision_of_exactly_zero_is_for_the_first_of_two_classes():
    model = model_of(2, Linear(), intercept=np.zeros(1))
    assert model.labels(np.array([0.0, -0.0, 1e-300, -1e-300])).tolist() == [f"class {c:02}" for c in (0, 0, 1, 0)]
    assert model.predict(np.zeros((2, 7))).tolist() == ["class 00"] * 2  # all kernel values are 0
    nothing = replace(model, coef=np.zeros_like(model.coef))  # and here all coefficients
    assert nothing.predict(rows_of(3)).tolist() == ["class 00"] * 3


def test_one_decision_that_overflows_is_refused_with_its_row():
    model = model_of(3, Linear())
    model.coef[:], model.vectors[:] = 0.0, 0.0
    model.coef[0, 0], model.vectors[0, 0] = 1e308, 1e10  # the first class against the second
    model.coef[1, -1], model.vectors[-1, 1] = 1.0, 1.0
    with pytest.raises(InputError, match="the decision of row 2 of X is not finite"):
        model.predict(np.eye(7)[[1, 0, 2]])
    assert len(model.predict(np.eye(7)[[1, 2]])) == 2


@pytest.mark.parametrize("n_classes", [2, 3, 9])
def test_labels_are_those_of_the_decisions(n_classes, parts):
    model, X = model_of(n_classes), rows_of(1500)
    labels = model.predict(X)
    np.testing.assert_array_equal(labels, model.labels(model.decision_function(X)))
    assert labels.dtype == model.classes.dtype and len(np.unique(labels)) > 1
    assert model.predict(X[:1]).tolist() == labels[:1].tolist()


def test_the_scores_of_two_classes_are_the_decision_and_its_opposite():
    model, h = model_of(2), np.array([-2.0, 0.0, 3.0])
    np.testing.assert_array_equal(model.scores(h), [[2.0, -2.0], [0.0, 0.0], [-3.0, 3.0]])
    np.testing.assert_array_equal(model.classes[model.scores(h).argmax(axis=1)], model.labels(h))


def test_each_value_is_computed_once_for_all_pairs(monkeypatch):
    model, X, seen = model_of(9), rows_of(700), []

    def engine_for(kernel, rows, extent):
        engine = ENGINE(kernel, rows, extent)
        product = engine.product

        def counting(Z, coef, *args):
            seen.append((rows.shape[0] * Z.shape[0], Z.shape[0] * coef.shape[1]))
            return product(Z, coef, *args)

        engine.product = counting
        return engine

    monkeypatch.setattr(module, "engine_for", engine_for)
    model.decision_function(X)
    values, coefficients = np.sum(seen, axis=0)
    assert values == 700 * 300 and coefficients == 300 * 8  # of 36 pairs, a vector has a part in 8


ENGINE = module.engine_for


def peak(action) -> int:
    """Bytes allocated at most by `action()` beyond what was there."""
    tracemalloc.start()
    try:
        base = tracemalloc.get_traced_memory()[0]
        action()
        return tracemalloc.get_traced_memory()[1] - base
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array, np.asfortranarray])
@pytest.mark.parametrize(("n", "n_classes", "n_sv"), [(60_000, 2, 300), (4_000, 2, 6_000), (20_000, 40, 400)])
def test_memory_does_not_grow_with_rows_vectors_or_pairs(n, n_classes, n_sv, storage, monkeypatch):
    monkeypatch.setattr(module, "PART_BYTES", 1 << 19)
    model, X = model_of(n_classes, n_sv=n_sv), storage(rows_of(n))
    model.predict(X[:300])  # compile outside the measurement
    # values of all rows and vectors take 64 MB or more; decisions of all pairs, of 40 classes 125 MB
    assert peak(lambda: model.predict(X)) < n * model.classes.dtype.itemsize + (12 << 20)
    assert peak(lambda: model.decision_function(X)) < 8 * n * len(model.intercept) + (12 << 20)
