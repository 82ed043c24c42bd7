"""Scaling against scikit-learn's scalers."""

import tracemalloc
import warnings
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from support.refusals import refused

from svmkit.data.prepare import moments
from svmkit.data.prepare.moments import Moments
from svmkit.data.prepare.scaling import Scaling, _row_chunks, scale_hint, standard_note

SKLEARN = {"standard": StandardScaler, "minmax": MinMaxScaler, "maxabs": MaxAbsScaler}


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return rng.normal(size=(200, 6)) * [1, 10, 1e-3, 1e6, 0, 3] + [0, 5, 0, 1e7, 0.1, -2]


# --- Scaling


@pytest.mark.parametrize("kind", SKLEARN)
@pytest.mark.parametrize("order", ["C", "F"])
def test_agrees_with_sklearn(kind, order, X):
    X = np.asarray(X, order=order)
    before = X.copy()
    got = Scaling.fit(kind, X).apply(X)
    np.testing.assert_allclose(got, SKLEARN[kind]().fit_transform(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("kind", SKLEARN)
def test_constant_feature_keeps_scale_one(kind):
    X = np.column_stack([np.full(7, 0.0), np.arange(7.0), np.full(7, 0.1)])
    scaling = Scaling.fit(kind, X)
    assert scaling.scale[0] == 1.0
    assert np.isfinite(scaling.apply(X)).all()
    if kind != "maxabs":
        np.testing.assert_array_equal(scaling.scale[[0, 2]], 1.0)
        np.testing.assert_array_equal(scaling.apply(X)[:, [0, 2]], 0.0)


def test_a_spread_that_rounding_explains_is_none():
    """As for scikit-learn; of equal numbers whose sum overflows it is none, either."""
    near = np.array([[1e16], [1e16 + 2.0]])
    assert StandardScaler().fit(near).scale_[0] == Scaling.fit("standard", near).scale[0] == 1.0
    large = Scaling.fit("standard", np.full((3, 1), 1e308))
    assert (large.center[0], large.scale[0]) == (1e308, 1.0)


@pytest.mark.parametrize("shape", [(5, 1 << 19), (3 << 20, 1), (2, 3 << 20), (4, 0)])
def test_rows_are_worked_on_in_parts_of_a_million_numbers(shape):
    X = np.broadcast_to(0.0, shape)
    parts = [X[rows].shape[0] for rows in _row_chunks(X)]
    assert sum(parts) == shape[0] and max(parts) == max(1, min(shape[0], (1 << 20) // max(shape[1], 1)))


def test_minmax_reaches_exactly_zero_and_one(X):
    got = Scaling.fit("minmax", X).apply(X)[:, [0, 1, 2, 3, 5]]
    np.testing.assert_array_equal(got.min(axis=0), 0.0)
    np.testing.assert_array_equal(got.max(axis=0), 1.0)


def test_float32_stays_float32_and_keeps_digits():
    X = (np.arange(1000, dtype=np.float32)[:, None] * 8 + np.float32(2**24)).astype(np.float32)
    got = Scaling.fit("standard", X).apply(X)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, StandardScaler().fit_transform(X.astype(float)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_maxabs(dtype):
    X = sp.random_array((50, 9), density=0.3, format="csr", rng=1, dtype=np.float64).astype(dtype) * dtype(-4)
    before = X.copy()
    got = Scaling.fit("maxabs", X).apply(X)
    assert got.format == "csr" and got.dtype == dtype
    np.testing.assert_allclose(got.toarray(), MaxAbsScaler().fit_transform(X).toarray(), rtol=1e-6)
    np.testing.assert_array_equal(X.data, before.data)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_standard_divides_and_does_not_centre(dtype):
    X = sp.random_array((50, 9), density=0.3, format="csr", rng=1, dtype=np.float64).astype(dtype) * dtype(-4)
    X = sp.hstack([X, sp.csr_array(np.full((50, 1), 7.0, dtype))], format="csr")
    scaling = Scaling.fit("standard", X)
    got = scaling.apply(X)
    assert got.format == "csr" and got.dtype == dtype and scaling.scale[9] == 1.0 and not scaling.moves_zeros
    want = StandardScaler(with_mean=False).fit_transform(X).toarray()
    np.testing.assert_allclose(got.toarray(), want, rtol=1e-6)
    np.testing.assert_allclose(scaling.apply(X.toarray()), want, rtol=1e-6)
    assert "does not centre" in standard_note("standard", X)
    assert standard_note("standard", X.toarray()) is None and standard_note("maxabs", X) is None


def test_sparse_refuses_minmax():
    refused("scale=maxabs", Scaling.fit, "minmax", sp.csr_array(np.eye(3)))


@pytest.mark.parametrize("kind", SKLEARN)
def test_sparse_rows_are_scaled_as_dense_ones(kind, X):
    scaling = Scaling.fit(kind, X)
    rows = np.where(np.random.default_rng(1).random(X.shape) < 0.2, X, 0.0)
    got = scaling.apply(sp.csr_array(rows))
    assert sp.issparse(got) == (kind == "maxabs")
    np.testing.assert_allclose(got.toarray() if kind == "maxabs" else got, scaling.apply(rows), rtol=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
def test_standard_leaves_flags_alone(sparse, X):
    flags = np.array([False, True, False, False, True, False])
    X[:, flags] = X[:, flags] > 5.0
    stored = sp.csr_array(X) if sparse else X
    got = Scaling.fit("standard", stored, flags).apply(stored)
    got = got.toarray() if sparse else got
    np.testing.assert_array_equal(got[:, flags], X[:, flags])
    want = StandardScaler(with_mean=not sparse).fit_transform(X)
    np.testing.assert_allclose(got[:, ~flags], want[:, ~flags], rtol=1e-9, atol=1e-9)


def test_widened_scaling_leaves_new_features_alone(X):
    scaling = Scaling.fit("standard", X)
    got = scaling.widen(8).apply(np.hstack([X, X[:, :2]]))
    np.testing.assert_array_equal(got, np.hstack([scaling.apply(X), X[:, :2]]))


def test_scaling_refusals(X):
    refused("'robust'.*standard, minmax, maxabs", Scaling.fit, "robust", X)
    refused("X has 2 features.* fitted on 6", Scaling.fit("maxabs", X).apply, X[:, :2])
    refused("column 1 .*more than float64", Scaling.fit, "minmax", np.array([[1.7e308], [-1.7e308]]))


def test_arrays_round_trip_and_damage(X):
    scaling = Scaling.fit("standard", X)
    again = Scaling.from_arrays("standard", scaling.to_arrays())
    np.testing.assert_array_equal(again.apply(X), scaling.apply(X))
    arrays = scaling.to_arrays()
    refused("lacks", Scaling.from_arrays, "standard", {"center": arrays["center"]})
    for bad in (-1.0, 0.0, np.nan):
        refused("impossible", Scaling.from_arrays, "standard", arrays | {"scale": np.full(6, bad)})
    refused("impossible", Scaling.from_arrays, "standard", arrays | {"scale": np.ones(5)})


# --- moments


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("chunks", [None, 3])
@pytest.mark.parametrize("compiled", [False, True])
def test_moments_of_sparse_rows_are_those_of_dense_ones(dtype, chunks, compiled, monkeypatch):
    """Columns of positive and negative numbers with zeros among them, without any, and with zeros alone."""
    if compiled:
        monkeypatch.setattr(moments, "_MANY", 0)
    if chunks:
        monkeypatch.setattr(moments, "_CHUNK", 1)
        monkeypatch.setattr(moments, "_FEWEST", chunks)
    rng = np.random.default_rng(0)
    size, sign = rng.uniform(1.0, 2.0, (50, 8)), np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 0.0, 1.0])
    X = (sign * size * np.where(np.arange(8) < 4, 1.0, rng.random((50, 8)) < 0.4)).astype(dtype)
    X[:, 7] = np.where(np.arange(50) % 2, 3.0, -2.0)
    dense, sparse = Moments.from_rows(X), Moments.from_rows(sp.csr_array(X))
    assert dense.n == sparse.n == 50
    np.testing.assert_array_equal([sparse.low, sparse.high], [X.min(axis=0), X.max(axis=0)])
    np.testing.assert_array_equal([dense.low, dense.high], [X.min(axis=0), X.max(axis=0)])
    wide = X.astype(np.float64)
    for found in (dense, sparse, Moments.from_rows(X[:20]).merge(Moments.from_rows(X[20:]))):
        np.testing.assert_allclose(found.mean, wide.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(found.variance, wide.var(axis=0), rtol=1e-12)


# --- scale_hint


def test_hint_names_the_remedy():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)) * [1, 2, 500, 0]
    assert "--scale standard" in scale_hint(X)
    assert "--scale maxabs" in scale_hint(sp.csr_array(X * (rng.random(X.shape) < 0.3)))


@pytest.mark.parametrize("sparse", [False, True])
def test_the_hint_is_that_of_the_data_without_holes(sparse):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) * [1, 2, 500]
    X[rng.random(X.shape) < 0.1] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "--scale" in scale_hint(sp.csr_array(X) if sparse else X)


@pytest.mark.parametrize(("large", "told"), [(100.0, True), (99.0, False)])
def test_the_hint_begins_at_deviations_that_differ_a_hundredfold(large, told):
    assert (scale_hint(np.array([[-1.0, -large], [1.0, large]])) is not None) == told


@pytest.mark.parametrize(("large", "told"), [(10.0, True), (9.9, False)])
def test_the_hint_begins_at_ranges_that_differ_tenfold(large, told):
    """A column that is 1 once, and one whose deviation is more than a hundred times as large."""
    X = np.zeros((4000, 2))
    X[0, 0], X[::2, 1] = 1.0, large
    assert X[:, 1].std() > 100.0 * X[:, 0].std()
    assert (scale_hint(X) is not None) == told


def test_no_hint_for_like_scales_constants_or_rare_flags():
    rng = np.random.default_rng(0)
    assert scale_hint(rng.normal(size=(300, 3)) * [1, 20, 0]) is None
    assert scale_hint(np.ones((5, 3))) is None
    rare = np.zeros((40_000, 2))
    rare[::2, 0] = 1
    rare[0, 1] = 1
    assert scale_hint(rare) is None
    assert scale_hint(sp.csr_array(rare)) is None


def _apply(X):
    Scaling("maxabs", np.zeros(X.shape[1]), np.ones(X.shape[1])).apply(X)


@pytest.mark.parametrize(("work", "share"), [(scale_hint, 0.5), (partial(Scaling.fit, "standard"), 0.5), (_apply, 1.0)])
def test_statistics_of_sparse_columns_take_little_memory_beside_the_data(work, share):
    rows, entries = 200_000, 20
    indices = np.tile(np.arange(entries, dtype=np.int32), rows)
    X = sp.csr_array((np.ones(rows * entries), indices, np.arange(0, rows * entries + 1, entries)), (rows, entries))
    tracemalloc.start()
    try:
        work(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < share * (X.data.nbytes + X.indices.nbytes)
