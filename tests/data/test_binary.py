"""Parquet and NPZ files, and those that are none."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from support.data import TRAIN, dense, not_loaded
from support.problems import write

from svmkit.data import Reading, load

pytestmark = pytest.mark.usefixtures("alone")

# --- Parquet


def test_parquet_equals_csv():
    import pandas as pd

    frame = pd.DataFrame({"n": [1, 2, 3, 4], "colour": ["red", "blue", "green", "red"], "y": list("abab")})
    frame.to_parquet("t.parquet")
    frame.astype({"colour": "category"}).to_parquet("c.parquet")
    csv = load(write("t.csv", TRAIN))
    for name in ("t.parquet", "c.parquet"):
        data = load(name)
        assert data.fingerprint() == csv.fingerprint() and data.encoding == csv.encoding
    assert load("t.parquet", encoding=csv.encoding).fingerprint() == csv.fingerprint()
    frame.drop(columns="y").to_parquet("u.parquet")
    assert load("u.parquet", encoding=csv.encoding, labelled=False).y is None


def test_parquet_refusals():
    import pandas as pd

    pd.DataFrame({"n": [1.0, None], "y": [0, 1]}).to_parquet("t.parquet")
    not_loaded(r"row 2 .*1 hole in 1 column: n 1", "t.parquet")
    pd.DataFrame({"b": pd.array([True, None], "boolean"), "y": [0, 1]}).to_parquet("t.parquet")
    not_loaded(r"row 2 .*1 hole in 1 column: b 1", "t.parquet")
    pd.DataFrame({"took": pd.to_timedelta([1, 2], unit="h"), "y": [0, 1]}).to_parquet("t.parquet")
    not_loaded("column 'took' has type timedelta.*--drop took", "t.parquet")
    not_loaded("--encoding is for CSV", "t.parquet", reading=Reading(charset="latin-1"))
    pd.DataFrame({"many": [[1], [2]], "y": [0, 1]}).to_parquet("t.parquet")
    not_loaded("column 'many' holds ", "t.parquet")
    pd.DataFrame({"n": [], "y": []}).to_parquet("t.parquet")
    not_loaded("no rows", "t.parquet")
    not_loaded("is no Parquet file", write("bad.parquet", "hello"))
    not_loaded("is empty", write("none.parquet", ""))


# --- NPZ


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, bool])
def test_npz_dense(dtype):
    np.savez("t.npz", X=np.eye(3).astype(dtype), y=np.array(["a", "b", "a"]))
    data = load("t.npz")
    assert data.X.dtype == np.float64 and data.y.tolist() == ["a", "b", "a"]
    np.testing.assert_array_equal(data.X, np.eye(3))


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr"])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_npz_sparse(form, kind):
    X = kind(sp.random_array((20, 30), density=0.1, rng=0, format="csr")).asformat(form)
    sp.save_npz("x.npz", X)
    not_loaded("no array 'y'", "x.npz")
    data = load("x.npz", labelled=False, n_features=40)
    assert data.y is None and data.X.format == "csr" and data.X.shape == (20, 40)
    with np.load("x.npz") as stored:
        np.savez("xy.npz", y=np.arange(20) % 2, **stored)
    data = load("xy.npz")
    np.testing.assert_array_equal(dense(data.X), X.toarray())
    assert data.y.dtype == np.int64


def test_npz_with_int64_indices():
    X = sp.csr_array(np.eye(4)[:, :3])
    np.savez("t.npz", data=X.data, indices=X.indices.astype(np.int64), indptr=X.indptr.astype(np.int64),
             shape=(4, 90), format=b"csr", y=np.arange(4))  # fmt: skip
    data = load("t.npz")
    assert data.X.indices.dtype == np.int32 and data.X.shape == (4, 90)


class _Trap:
    def __reduce__(self):
        return (os.mkdir, ("sprung",))


def test_npz_never_unpickles():
    np.savez("t.npz", X=np.array([[_Trap()]], object), y=np.zeros(1))
    not_loaded("never unpickled", "t.npz")
    not_loaded("never unpickled|no NPZ", write("p.npz", pickle.dumps(_Trap())))
    np.savez("u.npz", X=np.eye(2), y=np.array([_Trap(), 1], object))
    not_loaded("never unpickled", "u.npz")
    assert not Path("sprung").exists()


def test_npz_refusals():
    X = sp.csr_array(np.eye(3))
    parts = {
        "data": X.data,
        "indices": X.indices,
        "indptr": X.indptr,
        "shape": X.shape,
        "format": b"csr",
        "y": np.arange(3),
    }
    for bad in (
        {"indices": np.array([0, 1, 9])},
        {"indices": np.array([0, -1, 2])},
        {"shape": (3,)},
        {"format": b"xyz"},
    ):
        np.savez("t.npz", **(parts | bad))
        not_loaded("^t.npz: ", "t.npz")
    np.savez("t.npz", X=np.array([[1, np.nan]]), y=[1])
    not_loaded(r"^t.npz: X contains NaN at row 1, column 2", "t.npz")
    np.savez("t.npz", X=np.eye(2), y=[1, 2, 3])
    not_loaded("y has shape", "t.npz")
    np.savez("t.npz", X=np.eye(2), y=[1, np.nan])
    not_loaded("y is nan at row 2", "t.npz")
    np.savez("t.npz", X=np.ones((0, 2)), y=[])
    not_loaded("0 sample", "t.npz")
    np.savez("t.npz", Z=np.eye(2))
    not_loaded("no array 'X' .it has Z", "t.npz")
    np.save("one.npy", np.eye(2))
    not_loaded("one array", Path("one.npy").rename("one.npz"))
    not_loaded("no NPZ", write("cut.npz", Path("t.npz").read_bytes()[:60]))


def test_labels_beyond_int64_stay_apart():
    y = np.array([2**63 + 1, 2**63 + 2], dtype=np.uint64)
    np.savez("t.npz", X=np.eye(2), y=y)
    assert load("t.npz").y.tolist() == y.tolist()
