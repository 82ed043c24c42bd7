"""The checks on features and labels."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from support.refusals import refused

from svmkit.data.prepare.features import as_features, pad_or_refuse_columns, require_finite
from svmkit.data.prepare.labels import as_targets, encode_labels


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return rng.normal(size=(200, 6)) * [1, 10, 1e-3, 1e6, 0, 3] + [0, 5, 0, 1e7, 0.1, -2]


# --- as_features


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_floats_pass_without_copy(dtype, order):
    X = np.ones((3, 2), dtype=dtype, order=order)
    X.flags.writeable = False
    assert as_features(X) is X


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, bool, np.float16, ">f8", object, np.longdouble])
def test_other_numbers_become_float64(dtype):
    got = as_features(np.array([[1, 0], [0, 1]]).astype(dtype))
    assert got.dtype == np.float64 and got.dtype.isnative
    np.testing.assert_array_equal(got, np.eye(2))


def test_strided_lists_and_frames():
    import pandas as pd

    got = as_features(np.arange(12.0).reshape(3, 4)[:, ::2])
    assert got.flags.c_contiguous
    np.testing.assert_array_equal(got, [[0, 2], [4, 6], [8, 10]])
    np.testing.assert_array_equal(as_features([[1, 2], [3, 4]]), [[1, 2], [3, 4]])
    np.testing.assert_array_equal(as_features(pd.DataFrame({"a": [1, 2], "b": [0.5, 1]})), [[1, 0.5], [2, 1]])


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_csr_passes_with_either_index_width(index, kind):
    X = kind(np.array([[0, 1.5], [2, 0]]))
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    X.data[0] = 0.0  # an explicit zero stays
    assert as_features(X) is X
    assert X.indices.dtype == index and X.nnz == 2


@pytest.mark.parametrize("form", ["csc", "coo", "lil", "dok", "bsr", "dia"])
def test_other_sparse_formats_become_csr(form):
    got = as_features(sp.csr_array([[0, 1], [2, 0], [0, 3]]).asformat(form))
    assert got.format == "csr" and got.dtype == np.float64 and got.has_sorted_indices
    np.testing.assert_array_equal(got.toarray(), [[0, 1], [2, 0], [0, 3]])


def test_unsorted_and_duplicate_indices_are_mended_on_a_copy():
    data, indices, indptr = np.array([1.0, 2.0, 3.0]), np.array([1, 0, 1]), np.array([0, 3])
    X = sp.csr_array((data, indices, indptr), shape=(1, 2))
    for array in (data, indices, indptr, X.data, X.indices, X.indptr):
        array.flags.writeable = False
    got = as_features(X)
    np.testing.assert_array_equal(got.toarray(), [[2, 4]])
    assert got.nnz == 2 and list(got.indices) == [0, 1]
    np.testing.assert_array_equal(X.indices, [1, 0, 1])


@pytest.mark.parametrize("bad", [5, -1])
def test_csr_with_indices_out_of_bounds_is_refused(bad):
    X = sp.csr_array(np.eye(3))
    X.indices[1] = bad
    refused("broken CSR", as_features, X)


def test_more_columns_than_memory_is_there_for_are_refused():
    X = sp.csr_array((np.ones(2), np.array([0, 2**39]), np.arange(3)), shape=(2, 2**40))
    refused(r"X has 1,099,511,627,776 columns.*numpy.unique\(X.indices, return_inverse=True\)", as_features, X)
    used, indices = np.unique(X.indices, return_inverse=True)
    assert as_features(sp.csr_array((X.data, indices, X.indptr), shape=(2, len(used)))).nnz == 2


def test_csr_with_room_behind_its_end():
    X = sp.csr_array(np.eye(2))
    X.data, X.indices = np.append(X.data, np.nan), np.append(X.indices, 9).astype(np.int32)
    got = as_features(X)
    assert len(got.data) == len(got.indices) == 2
    require_finite(got)


@pytest.mark.parametrize(
    ("X", "match"),
    [
        ([1.0, 2.0], "Expected 2D array, got 1D array instead.*Reshape your data"),
        (3.0, "Expected 2D array, got scalar array"),
        (np.ones((2, 2, 2)), "dim 3"),
        (np.ones((0, 3)), r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required"),
        (np.ones((3, 0)), r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required"),
        (sp.csr_array((0, 3)), r"0 sample\(s\)"),
        (np.ones((2, 2), complex), "Complex data not supported"),
        (sp.csr_array(np.ones((2, 2), complex)), "Complex data not supported"),
        (np.array([[1, 1j]], object), "Complex data not supported"),
        ([["a", "b"]], "not numbers"),
        (np.array([["1", "x"]], object), "no number"),
        ([[1, 2], [3]], "same length"),
        (np.array([["2020-01-01"]], "M8[D]"), "not numbers"),
        (np.ma.masked_array(np.ones((2, 2)), [[0, 1], [0, 0]]), "masked"),
    ],
)
def test_as_features_refuses(X, match):
    refused(match, as_features, X)


def test_a_thing_that_is_no_number_is_a_type_error_too():
    with pytest.raises(TypeError, match=r"argument must be .* string.* number"):
        as_features(np.array([[{"a": 1}, 2.0]], object))


# --- require_finite


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
@pytest.mark.parametrize("sparse", [False, True])
def test_first_bad_entry_is_named(dtype, value, word, sparse):
    X = np.ones((30, 5), dtype=dtype)
    X[16, 2] = X[20, 0] = value
    X = sp.csr_array(X) if sparse else X
    assert "T contains" in str(refused(f"{word}.* at row 17, column 3 ", require_finite, X, what="T"))


def test_bad_entry_far_down_and_opposite_infinities():
    X = np.zeros((1500, 1000), order="F")
    X[1400, 999], X[1401, 0] = np.inf, -np.inf
    refused("row 1401, column 1000", require_finite, X)


def test_finite_passes_even_when_its_sum_overflows():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        require_finite(np.full((4, 4), 1.7e308))
        require_finite(np.full((4, 4), 3e38, np.float32))
        require_finite(sp.csr_array((3, 3)))


# --- pad_or_refuse_columns


def test_sparse_is_padded_without_copying_data():
    X = sp.csr_array(np.eye(3))
    got = pad_or_refuse_columns(X, 5)
    assert got.shape == (3, 5) and np.shares_memory(got.data, X.data) and X.shape == (3, 3)
    assert pad_or_refuse_columns(X, 3) is X


def test_dense_is_padded_only_on_request():
    X = np.ones((2, 3))
    message = "X has 3 features, but SVMClassifier is expecting 4 features as input"
    refused(message, pad_or_refuse_columns, X, 4, name="SVMClassifier")
    np.testing.assert_array_equal(pad_or_refuse_columns(X, 4, pad=True), [[1, 1, 1, 0]] * 2)


@pytest.mark.parametrize("X", [np.ones((2, 5)), sp.csr_array(np.ones((2, 5)))])
def test_more_columns_are_refused(X):
    refused("X has 5 features, but SVMModel is expecting 4", pad_or_refuse_columns, X, 4, pad=True)


# --- encode_labels


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        ([3, 1, 3], [1, 3]),
        ([1.0, -1.0, 1.0], [-1.0, 1.0]),
        (["b", "a", "b"], ["a", "b"]),
        (np.array(["b", "a", "b"], object), ["a", "b"]),
        (np.array([2, 1, 2], object), [1, 2]),
        ([True, False, True], [False, True]),
        (np.array([[7], [5], [7]]), [5, 7]),
    ],
)
def test_labels_round_trip(y, classes):
    got, codes = encode_labels(y, n_samples=3)
    np.testing.assert_array_equal(got, classes)
    np.testing.assert_array_equal(codes, [1, 0, 1])
    assert codes.dtype == np.int64 and codes.shape == (3,)
    assert (got.dtype == object) == (isinstance(y, np.ndarray) and isinstance(y.flat[0], str))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int64, np.uint64, np.float32, np.float64])
@pytest.mark.parametrize("span", [2, 7, 255, 30_000])
def test_classes_are_those_that_sorting_finds(dtype, span):
    low = 0 if np.dtype(dtype).kind == "u" else -3 if span < 255 else -128
    y = np.random.default_rng(0).integers(low, low + span, 2000).astype(dtype)
    classes, codes = encode_labels(y, n_samples=2000)
    expected = np.unique(y, return_inverse=True)
    assert classes.dtype == dtype and np.array_equal(classes, expected[0]) and np.array_equal(codes, expected[1])


def test_labels_far_apart_are_sorted():
    for y in (np.array([2**63 + 5, 2**63], np.uint64), np.array([-(2**63), 2**63 - 1]), np.array([1e300, 1.0])):
        classes, codes = encode_labels(y, n_samples=2)
        assert np.array_equal(classes, np.unique(y)) and np.array_equal(classes[codes], y)


@pytest.mark.parametrize(
    ("y", "match"),
    [
        (None, "requires y to be passed, but the target y is None"),
        ([1, 2], "y has 2 labels, but X has 3 samples"),
        ([1, 1, 1], "only one class .*'1'.*need at least two"),
        ([0.5, 1.0, 2.0], "Unknown label type: continuous"),
        ([1.0, np.nan, 2.0], "NaN at row 2"),
        ([1.0, np.inf, 2.0], "infinity .* row 2"),
        (np.array(["a", None, "b"], object), "row 2"),
        (np.array(["a", float("nan"), "b"], object), "NaN .*row 2"),
        (np.array(["a", 1, "b"], object), "mixes"),
        (np.ones((3, 2)), r"1d array, got an array of shape \(3, 2\)"),
        ([1j, 2, 3], "Unknown label type"),
        ([2**70, 2**71, 2**70], r"whole numbers beyond 64 bits; pass them as text"),
        (np.array([2**70, 2, 3], object), r"whole numbers beyond 64 bits"),
        (np.array(["2020-01-01"] * 3, "M8[D]"), "Unknown label type"),
        ([], "empty"),
        (sp.csr_array(np.ones((3, 1))), "sparse"),
    ],
)
def test_labels_refused(y, match):
    refused(match, encode_labels, y, n_samples=3)


def test_missing_pandas_label():
    import pandas as pd

    refused("row 2", encode_labels, pd.Series(["a", pd.NA, "b"], dtype="string"), n_samples=3)
    classes, _ = encode_labels(pd.Series(["a", "b", "a"], dtype="category"), n_samples=3)
    assert list(classes) == ["a", "b"]


# --- as_targets


@pytest.mark.parametrize("dtype", [object, np.int64, np.float32, bool])
def test_targets_are_numbers_in_whatever_array(dtype):
    found = as_targets(np.array([1, 0, 1], dtype), n_samples=3)
    assert found.dtype == np.float64 and found.tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("y", "match"),
    [
        (np.array([1.0, "b", 2.0], object), "needs numbers as targets, y holds 'b'"),
        (np.array(["1", "2", "3"], object), "needs numbers as targets, y holds '1'"),
        (["1", "2", "3"], "needs numbers as targets, y holds '1'"),
        (np.array([1.0, None, 2.0], object), "NaN .* row 2"),
        (np.array([1.0, [2.0], 2.0], object), "needs numbers as targets, y holds '1.0'"),
        ([1j, 2, 3], "Complex data"),
    ],
)
def test_targets_refused(y, match):
    refused(match, as_targets, y, n_samples=3)
