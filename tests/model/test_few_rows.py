"""Decisions of few rows are computed without an engine, are those of an engine, and refuse what it refuses."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from svmkit.data.prepare import device_arrays
from svmkit.data.prepare.preprocessing import Preprocessing
from svmkit.data.prepare.scaling import Scaling
from svmkit.errors import InputError
from svmkit.kernels.engines import few, request_engine
from svmkit.kernels.functions import RBF, FromFunction, Laplacian, Linear, Poly, Precomputed, Sigmoid
from svmkit.model import model as module
from svmkit.model.model import SVMModel

pytestmark = pytest.mark.usefixtures("one_pool")
NUMPY = {"linear": Linear(), "rbf": RBF(0.3), "poly": Poly(0.2, 3, 1.0), "sigmoid": Sigmoid(0.1, -0.2)}
OTHERS = {"laplacian": Laplacian(0.3), "function": FromFunction(lambda X, Z: X @ Z.T)}
STORAGES = {"dense": np.asarray, "csr": sp.csr_array, "csr_matrix": sp.csr_matrix, "fortran": np.asfortranarray}
SCHEMES = {"two": (2, "ovo"), "pairs": (4, "ovo"), "rest": (4, "ovr")}


def rows_of(n, d=5, seed=1):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)


def model_of(kernel, n_classes=2, multiclass="ovo", **changes) -> SVMModel:
    rng, n_sv = np.random.default_rng(0), 24
    owner = np.sort(rng.integers(n_classes, size=n_sv))
    ovo = multiclass == "ovo"
    model = SVMModel(
        kernel=kernel,
        classes=np.array([f"class {c}" for c in range(n_classes)]),
        vectors=rows_of(n_sv, seed=2),
        n_support=np.bincount(owner, minlength=n_classes),
        coef=rng.normal(size=(n_classes - 1 if ovo else n_classes, n_sv)),
        intercept=rng.normal(size=n_classes * (n_classes - 1) // 2 if ovo else n_classes),
        n_features=5,
        multiclass=multiclass,
    )
    return replace(model, **changes)


@pytest.fixture
def engines(monkeypatch):
    """The numbers of rows for which engines are made."""
    made, engine_for = [], module.engine_for

    def counting(kernel, X, extent):
        made.append(X.shape[0])
        return engine_for(kernel, X, extent)

    monkeypatch.setattr(module, "engine_for", counting)
    return made


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("kernel", NUMPY)
def test_decisions_and_labels_are_those_of_an_engine(kernel, scheme, dtype, storage, engines):
    model, X = model_of(NUMPY[kernel], *SCHEMES[scheme]), STORAGES[storage](rows_of(9).astype(dtype))
    for vectors in (model.vectors, model.vectors.astype(np.float32), sp.csr_array(model.vectors)):
        model = replace(model, vectors=vectors)
        decision, labels = model.decision_function(X), model.predict(X)
        assert not engines and decision.dtype == np.float64
        with request_engine(device="cpu"):
            want, named = model.decision_function(X), model.predict(X)
        assert engines == [9, 9]
        engines.clear()
        size = np.abs(model.coef).sum() * max(1.0, np.abs(want).max())
        np.testing.assert_allclose(decision, want, rtol=0.0, atol=1e-13 * size)
        assert labels.tolist() == named.tolist()
        alone = np.array([model.decision_function(X[i : i + 1])[0] for i in range(9)])
        np.testing.assert_allclose(alone, decision, rtol=0.0, atol=1e-13 * size)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_decisions_of_few_dense_rows_have_the_bits_of_the_engine_that_uses_numpy(n_classes):
    model, X = model_of(RBF(0.3), n_classes), rows_of(9)
    with request_engine(device="cpu"):
        want = model.decision_function(X)
    np.testing.assert_array_equal(model.decision_function(X), want)


def test_decisions_that_were_not_trained_are_0_and_have_no_vote(engines):
    model = model_of(RBF(0.3), 3)
    model.coef[1, : model.n_support[0]] = model.coef[0, len(model.vectors) - model.n_support[2] :] = 0.0
    model.intercept[1] = 0.0  # the first class against the last
    X = rows_of(9)
    decision, labels = model.decision_function(X), model.predict(X)
    assert not engines and not decision[:, 1].any() and decision[:, [0, 2]].all()
    with request_engine(device="cpu"):
        np.testing.assert_allclose(decision, model.decision_function(X), rtol=0.0, atol=1e-12)
        assert labels.tolist() == model.predict(X).tolist()


@pytest.mark.parametrize("kernel", OTHERS)
def test_other_kernels_have_engines(kernel, engines):
    model = model_of(OTHERS[kernel])
    model.predict(rows_of(3))
    given = model_of(Precomputed(), vectors=np.arange(24), n_features=24)
    given.predict(rows_of(3, 24))
    assert engines == [3, 3]


def test_an_engine_that_is_asked_for_computes_and_so_does_that_of_a_device(engines, monkeypatch):
    model, X = model_of(RBF(0.3)), rows_of(3)
    for options in ({"n_threads": 1}, {"device": "cpu"}):
        model.predict(X, **options)
    assert engines == [3, 3]
    monkeypatch.setattr(device_arrays, "_sources", {id(X): (lambda: X, [[0.0]])})
    model.predict(X)
    assert engines == [3, 3, 3]
    with pytest.raises(InputError, match="threads must be between 1 and"):
        model.predict(X, n_threads=100_000)


def test_rows_that_are_scaled_have_an_engine(engines):
    steps = Preprocessing(scaling=Scaling.fit("standard", rows_of(30)))
    model_of(RBF(0.3), preprocessing=steps).predict(rows_of(3))
    assert engines == [3]


def test_rows_far_from_the_origin_keep_their_digits(engines):
    model, X = model_of(RBF(0.3)), rows_of(3)
    far = replace(model, vectors=model.vectors + 1e7)
    np.testing.assert_allclose(far.decision_function(X + 1e7), model.decision_function(X), rtol=1e-6)
    assert engines == [3]


def test_only_few_rows_need_no_engine(engines):
    work, stored = few.ALONE
    model = model_of(RBF(0.3))
    most = work // (24 * few.EXP)
    for n, used in ((most, []), (most + 1, [most + 1])):
        model.predict(rows_of(n))
        assert engines == used
    engines.clear()
    wide = stored // 25  # of one row and 24 vectors
    for d, used in ((wide, []), (wide + 1, [1])):
        model_of(RBF(0.001), vectors=rows_of(24, d), n_features=d).predict(rows_of(1, d))
        assert engines == used
    assert not few.has_product(RBF(1.0), 0, 24, 5, 1) and not few.has_product(RBF(1.0), 3, 0, 5, 1)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("wrong", ["nan", "inf", "-inf", "wide", "no rows", "huge"])
def test_what_an_engine_refuses_is_refused_in_the_same_words(wrong, storage):
    X = rows_of(3)
    X[1, 2] = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf, "huge": 1e200}.get(wrong, 1.0)
    X = {"wide": np.ones((3, 6)), "no rows": X[:0]}.get(wrong, X)
    said = []
    for options in ({}, {"n_threads": 1}):
        with pytest.raises(InputError) as refused:
            model_of(Poly(1.0, 3)).predict(storage(X), **options)
        said.append(str(refused.value))
    assert said[0] == said[1]


def test_numbers_that_an_engine_refuses_are_refused_although_the_decision_is_finite():
    model, X = model_of(RBF(1e-308)), np.full((1, 5), 5e153)  # 4 |x|^2 overflows
    with pytest.raises(InputError, match="float64 cannot hold the numbers that the rbf kernel is computed from"):
        model.predict(X)


def test_a_row_whose_kernel_values_vanish_is_no_error():
    X = np.full((1, 5), 1e200)  # |x|^2 overflows
    model = model_of(RBF(0.3))
    np.testing.assert_array_equal(model.decision_function(X), model.intercept)


def test_sparse_rows_are_checked_and_their_duplicates_summed():
    model = model_of(RBF(0.3))
    parts = np.array([1.0, 2.0, 0.5]), np.array([3, 0, 3]), np.array([0, 3])
    twice = sp.csr_array(parts, shape=(1, 5))
    np.testing.assert_array_equal(model.decision_function(twice), model.decision_function([[2.0, 0.0, 0.0, 1.5, 0.0]]))
    assert twice.indices.tolist() == [3, 0, 3]  # the caller's matrix stays as it is
    for broken in (5, -1):
        bad = sp.csr_array((np.ones(2), np.array([0, 1]), np.array([0, 2])), shape=(1, 5))
        bad.indices[1] = broken
        with pytest.raises(InputError, match="X is a broken CSR matrix"):
            model.predict(bad)


def test_decisions_near_the_largest_float_are_finite_or_refused():
    model = model_of(Linear(), intercept=np.zeros(1))
    model.coef[:], model.vectors[:] = 1e300, 1.0
    assert model.machine.decide_few(model.kernel, np.full((2, 5), 1e10)) is None
    with pytest.raises(InputError, match="the decision of row 1 of X is not finite"):
        model.predict(np.full((2, 5), 1e10))
