"""Imputing against scikit-learn's imputers, and the object of all steps before the kernel."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.preprocessing import StandardScaler
from support.refusals import refused

from svmkit.data.prepare.imputing import KINDS, Imputing, require_values
from svmkit.data.prepare.preprocessing import Preprocessing
from svmkit.errors import InputError


def holed(dtype=np.float64, *, sparse=False):
    """60 rows of 7 columns: ties, mostly zeros, no holes in columns 2 and 6, 0/1 in column 6."""
    rng = np.random.default_rng(3)
    X = np.column_stack([
        rng.normal(size=60), rng.integers(0, 3, 60), rng.integers(0, 5, 60), rng.normal(size=60) * 100,
        rng.normal(size=60) * (rng.random(60) < 0.3), rng.integers(-2, 2, 60), rng.integers(0, 2, 60),
    ]).astype(dtype)  # fmt: skip
    holes = rng.random(X.shape) < 0.2
    holes[:, [2, 6]] = False
    X[holes] = np.nan
    return sp.csr_array(X) if sparse else X


def theirs(kind, X):
    strategy = "most_frequent" if kind == "most_frequent" else "median"
    return SimpleImputer(strategy=strategy, add_indicator=kind == "indicator").fit(X)


def dense(X):
    return X.toarray() if sp.issparse(X) else X


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_imputing_is_that_of_scikit_learn(kind, sparse, dtype):
    X = holed(dtype, sparse=sparse)
    before = X.copy()
    imputing, imputer = Imputing.fit(kind, X), theirs(kind, X)
    new = X[:25].copy()
    values = new.data if sparse else new
    values[:] = np.where(np.random.default_rng(0).random(values.shape) < 0.3, np.nan, values)  # holes where none were
    for rows in (X, new):
        got = imputing.apply(rows)
        assert sp.issparse(got) == sparse and got.dtype == dtype
        np.testing.assert_array_equal(dense(got), dense(imputer.transform(rows)))
    np.testing.assert_array_equal(dense(X), dense(before))
    told = MissingIndicator(error_on_new=False).fit(X).features_
    np.testing.assert_array_equal(imputing.holed, told if kind == "indicator" else [])


@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_read_a_few_at_a_time(kind, monkeypatch):
    monkeypatch.setattr("svmkit.data.prepare.imputing._CHUNK", 150)
    for X in (holed(), holed(sparse=True)):
        np.testing.assert_array_equal(dense(Imputing.fit(kind, X).apply(X)), dense(theirs(kind, X).transform(X)))


def test_csr_with_holes_among_many_rows_has_sorted_indices():
    got = Imputing.fit("indicator", holed(sparse=True)).apply(holed(sparse=True))
    assert got.format == "csr" and got.has_sorted_indices and got.indices.dtype == np.int32


def test_data_without_holes_pass_unless_something_is_added():
    X = np.nan_to_num(holed())
    for rows in (X, sp.csr_array(X)):
        assert Imputing.fit("median", rows).apply(rows) is rows
        assert Imputing.fit("indicator", rows).apply(rows) is rows
    added = Imputing.fit("indicator", holed()).apply(X)
    assert added.shape == (60, 12) and not added[:, 7:].any()


def test_what_cannot_be_imputed_is_refused():
    X = holed()
    X[:, [1, 4]] = np.nan
    refused(
        r"columns 2 \(counted from 1\), 5 \(counted from 1\): no value in any training row", Imputing.fit, "median", X
    )
    refused("columns 'b', 'e': no value", require_values, sp.csr_array(X), list("abcdefg"))
    refused("'mean'.*median, most_frequent, indicator", Imputing.fit, "mean", holed())
    refused("X has 3 features.*fitted on 7", Imputing.fit("median", holed()).apply, holed()[:, :3])
    big = np.array([[1.7e308], [1.7e308], [np.nan]])
    refused("column 1 .*more than float64", Imputing.fit, "median", big)


# --- Preprocessing


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_imputing_then_standard_scaling_is_scikit_learns_pipeline_but_for_flags(kind, sparse):
    X, flags = holed(sparse=sparse), np.arange(7) == 6
    preprocessing, got = Preprocessing.fit(X, impute=kind, scale="standard", flags=flags)
    filled = dense(theirs(kind, X).transform(X))
    want = StandardScaler(with_mean=not sparse).fit_transform(filled)
    want[:, 6:] = filled[:, 6:]  # the 0/1 column and those that tell holes
    np.testing.assert_allclose(dense(got), want, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(dense(preprocessing.apply(X)), dense(got))
    assert preprocessing.width(7) == got.shape[1] == (12 if kind == "indicator" else 7) and preprocessing.takes_holes
    np.testing.assert_array_equal(dense(preprocessing.apply(X[:1])), dense(got)[:1])


def test_no_step_is_no_copy():
    X = np.ones((3, 2))
    preprocessing, features = Preprocessing.fit(X, scale="none")
    assert features is X and preprocessing.apply(X) is X and preprocessing.width(2) == 2
    assert preprocessing.header() == {"scaling": None, "encoding": None} and preprocessing.arrays() == {}


@pytest.mark.parametrize("flags", [np.ones(6, bool), np.ones(7), np.ones((7, 1), bool)])
def test_flags_of_other_columns_are_refused(flags):
    refused("flags must be 7 truth values", Preprocessing.fit, holed(), impute="median", flags=flags)


def test_widening():
    X = np.nan_to_num(holed())
    wide = Preprocessing.fit(X, scale="maxabs")[0].widen(9)
    assert wide.apply(np.ones((1, 9)))[0, 7:].tolist() == [1.0, 1.0]
    assert Preprocessing().widen(9).width(9) == 9
    refused("imputes", Preprocessing.fit(X, impute="median")[0].widen, 9)


def stored(**options):
    preprocessing, _ = Preprocessing.fit(holed(), **options)
    return preprocessing.header(), preprocessing.arrays()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [None, "standard"])
def test_header_and_arrays_round_trip(kind, scale):
    header, arrays = stored(impute=kind, scale=scale)
    again = Preprocessing.from_file(header, arrays, 7)
    want = Preprocessing.fit(holed(), impute=kind, scale=scale)[1]
    np.testing.assert_array_equal(again.apply(holed()), want)
    assert (again.header(), again.encoding) == (header, None)


BAD = {
    "imputing.statistics": [
        np.zeros(6), np.zeros(8), np.zeros((7, 1)), np.full(7, np.nan), np.full(7, np.inf), np.zeros(7, np.float32),
        np.zeros(7, np.int64), None,
    ],
    "imputing.holed": [
        np.array([1, 0]), np.array([1, 1]), np.array([-1]), np.array([7]), np.array([0.0]), np.array([[0]]),
        np.array([0, 3], np.int32), np.array([2**63 - 1, -(2**63)]), np.array([-(2**63), 2**63 - 1]),
        np.array([0]),  # one feature fewer than were scaled
        None,
    ],
    "scaling.scale": [np.ones(7), np.zeros(12), None],
    "scaling.center": [np.zeros(7), None],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "array"),
    [(name, array) for name, arrays in BAD.items() for array in arrays],
    ids=lambda value: value if isinstance(value, str) else repr(value),
)
def test_damaged_arrays_are_refused(name, array):
    header, arrays = stored(impute="indicator", scale="standard")
    assert Preprocessing.from_file(header, arrays, 7).width(7) == 12
    arrays.pop(name) if array is None else arrays.update({name: array})
    refused("damaged", Preprocessing.from_file, header, arrays, 7)


@pytest.mark.parametrize("kind", ["mean", "", 1, True, ["median"], {"median": 1}])
def test_unknown_kinds_in_a_header_are_refused(kind):
    header, arrays = stored(impute="median")
    refused("no imputing is called", Preprocessing.from_file, header | {"imputing": kind}, arrays, 7)


def test_only_the_kind_that_tells_holes_may_list_them():
    header, arrays = stored(impute="indicator")
    for kind in ("median", "most_frequent"):
        with pytest.raises(InputError, match="impossible"):
            Preprocessing.from_file(header | {"imputing": kind}, arrays, 7)


@pytest.mark.parametrize("scale", ["none", "standard", "minmax", "maxabs"])
@pytest.mark.parametrize("impute", [None, "median", "indicator"])
def test_steps_are_undone(impute, scale):
    X = np.random.default_rng(0).normal(size=(20, 3)) * [1.0, 100.0, 1e-3] + 5.0
    if impute:
        X[::4, 1] = np.nan
    preprocessing, A = Preprocessing.fit(X, impute=impute, scale=scale)
    expected = np.where(np.isnan(X), np.nanmedian(X, axis=0), X) if impute == "median" else X
    np.testing.assert_allclose(preprocessing.undo(A), expected, rtol=1e-12)


def test_sparse_steps_are_undone():
    X = sp.csr_array(np.where(np.arange(100).reshape(20, 5) % 3, 0.0, np.arange(100).reshape(20, 5)))
    preprocessing, A = Preprocessing.fit(X, scale="maxabs")
    np.testing.assert_allclose(preprocessing.undo(A).toarray(), X.toarray(), rtol=1e-12)
