"""Features in float32: the type that `Storage` names, whatever the format, and never a value that it does not hold."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file
from support.cli import process

from svmkit.data import Storage, load
from svmkit.errors import InputError
from svmkit.model.model import SVMModel

NARROW = Storage(dtype="float32")


def write(folder, kind, X, y):
    """Write X and y in a format, and return the path."""
    path = folder / f"rows.{kind.rpartition(' ')[2]}"
    if kind.endswith("svm"):
        dump_svmlight_file(X, y, str(path), zero_based=False)
    elif kind == "npz":
        np.savez(path, X=X, y=y)
    elif kind == "npy":
        np.save(folder / "Xrows.npy", X)
        np.save(folder / "yrows.npy", y)
        return folder / "Xrows.npy"
    else:
        lines = [",".join(map(repr, [*row, int(label)])) for row, label in zip(X.tolist(), y, strict=True)]
        path.write_text("\n".join(["a,b,c,y", *lines]) + "\n")
    return path


def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 3)), np.arange(40) % 2


def plain(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X)


@pytest.mark.parametrize("most", [None, 64])
@pytest.mark.parametrize("kind", ["svm", "sparse svm", "csv", "npz", "npy"])
def test_features_have_the_type_that_is_asked_for(kind, most, tmp_path):
    X, y = rows()
    if kind.startswith("sparse"):
        X = X * (np.arange(3) == np.arange(40)[:, None] % 3)
    path = write(tmp_path, kind, X, y)
    wide = load(path)
    data = load(path, storage=Storage(most=most, dtype="float32"))
    assert (wide.X.dtype, data.X.dtype) == (np.float64, np.float32)
    assert sp.issparse(data.X) == sp.issparse(wide.X) == kind.startswith("sparse")
    assert (plain(data.X) == plain(wide.X).astype(np.float32)).all()
    assert (data.y == wide.y).all()


def test_files_and_built_in_sets_have_it_too(tmp_path):
    X, y = rows()
    for number in range(2):
        write(tmp_path, "csv", X, y).rename(tmp_path / f"part{number}.csv")
    assert load(str(tmp_path / "part*.csv"), storage=NARROW).X.dtype == np.float32
    assert load("iris", storage=NARROW).X.dtype == np.float32


@pytest.mark.parametrize("most", [None, 64])
@pytest.mark.parametrize("kind", ["svm", "csv", "npz", "npy"])
def test_a_value_beyond_the_type_is_one_line(kind, most, tmp_path):
    X, y = rows()
    X[7, 1] = 1e39
    path = write(tmp_path, kind, X, y)
    with pytest.raises(InputError, match=r"rows.*the value 1e\+39 is beyond the range of float32: keep float64"):
        load(path, storage=Storage(most=most, dtype="float32"))


@pytest.mark.slow
def test_train_takes_it(tmp_path):
    X, y = rows()
    X[:, 0] += 2.0 * y
    path = write(tmp_path, "svm", X, y)
    found = []
    for name, more in (("wide", ()), ("narrow", ("--dtype", "float32"))):
        done = process("train", str(path), "--no-track", "--out", str(tmp_path / name), *more)
        assert done.code == 0, done.err
        found.append(SVMModel.load(tmp_path / name))
    assert [model.vectors.dtype for model in found] == [np.float64, np.float32]
    wide, narrow = (model.decision_function(X) for model in found)
    assert np.abs(wide - narrow).max() < 1e-3
    refused = process("train", str(path), "--no-track", "--dtype", "float16")
    assert refused.code == 2 and "float32, float64" in refused.err
