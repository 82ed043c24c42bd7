"""Built-in sets, the look-up of names, and the real sets of $SVMKIT_DATA."""

import bz2
import gzip
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from support.data import not_loaded
from support.problems import write

from svmkit.data import available, cache_dir, load
from svmkit.data.classes import _require_repeated
from svmkit.errors import InputError

pytestmark = pytest.mark.usefixtures("alone")

# --- built-in sets


@pytest.mark.parametrize("name", ["breast_cancer", "digits", "iris", "wine"])
@pytest.mark.parametrize("packaged", [True, False])
def test_builtin_equals_sklearn(name, packaged, monkeypatch):
    from sklearn import datasets

    if not packaged:
        monkeypatch.setattr("svmkit.data.places.builtin._find_packaged", lambda file: None)
    data, bunch = load(name), getattr(datasets, f"load_{name}")()
    np.testing.assert_array_equal(data.X, bunch.data)
    want = bunch.target if name == "digits" else bunch.target_names[bunch.target]
    np.testing.assert_array_equal(data.y, want)
    assert data.X.dtype == np.float64 and data.X.flags.c_contiguous and data.name == name
    assert data.y.dtype.kind == ("i" if name == "digits" else "U")


@pytest.mark.parametrize("packaged", [True, False])
def test_diabetes_equals_sklearn(packaged, monkeypatch):
    from sklearn.datasets import load_diabetes

    if not packaged:
        monkeypatch.setattr("svmkit.data.places.builtin._find_packaged", lambda file: None)
    data, bunch = load("diabetes"), load_diabetes()
    np.testing.assert_array_equal(data.X, bunch.data)
    np.testing.assert_array_equal(data.y, bunch.target)
    assert data.X.flags.c_contiguous and data.y.dtype == np.float64


def test_builtin_imports_nothing_heavy():
    code = (
        "import sys; from svmkit.data import load; d = load('breast_cancer'); print(d.fingerprint());"
        "print([m for m in ('sklearn', 'pandas', 'pyarrow', 'scipy') if m in sys.modules])"
    )
    env = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    assert out.stdout.split() == [load("breast_cancer").fingerprint(), "[]"]


def test_describe_and_fingerprint():
    iris = load("iris")
    facts = iris.describe()
    assert facts["classes"] == {"setosa": 50, "versicolor": 50, "virginica": 50}
    assert (facts["n_samples"], facts["n_features"], facts["sparse"], facts["density"]) == (
        150,
        4,
        False,
        1.0,
    )
    json.dumps(facts)
    assert len(iris.fingerprint()) == 64 and iris.fingerprint() != load("wine").fingerprint()
    write("a", "1 1:1 9:2\n-1 3:1\n")
    write("b", "1 1:1 9:2\n-1 3:2\n")
    a, again, b = load("a"), load("a"), load("b")
    again.X.indices, again.X.indptr = again.X.indices.astype(np.int64), again.X.indptr.astype(np.int64)
    assert a.fingerprint() == again.fingerprint() != b.fingerprint()
    assert a.describe()["classes"] == {"-1": 1, "1": 1}


# --- names


def test_close_names_and_where_it_looked(tmp_path):
    message = not_loaded("did you mean breast_cancer", "brest_cancer")
    assert str(tmp_path) in message and "$SVMKIT_DATA (not set)" in message and "cache" in message
    write("train.csv", "1,2\n")
    not_loaded("no such file: did you mean train.csv", "./trian.csv")
    not_loaded("no such file: check the path", "nowhere/x.csv")
    os.mkdir("empty")
    not_loaded("is a folder without data files", "empty")
    not_loaded("names no data set", "")
    assert len(not_loaded("no data set 'xxx", "x" * 5000)) < 1000
    not_loaded("cannot be opened: File name too long", "./" + "x" * 5000)


def test_order_of_lookup(tmp_path, monkeypatch):
    for folder in ("data", "cache"):
        Path(folder).mkdir()
    monkeypatch.setenv("SVMKIT_DATA", str(tmp_path / "data"))
    write("cache/one.svm", "1 1:3\n")
    assert load("one").X[0, 0] == 3
    write("data/one.csv.gz", gzip.compress(b"2,1\n2,0\n"))
    assert load("one").X[0, 0] == 2
    write("data/one.bz2", bz2.compress(b"1 1:4\n"))
    assert load("one").X[0, 0] == 4
    write("data/iris", "1 1:7\n")
    assert load("iris").n_samples == 150
    write("iris", "1 1:8\n")
    assert load("iris").X[0, 0] == 8
    assert cache_dir() == tmp_path / "cache"


def test_available_lists_what_load_finds(tmp_path, monkeypatch):
    Path("data").mkdir()
    monkeypatch.setenv("SVMKIT_DATA", str(tmp_path / "data"))
    for name in ("a1a.t.bz2", "two.csv", "two.svm", "README.md", "readme", ".hidden", "x.part"):
        write(f"data/{name}", "x")
    got = {entry.name: entry for entry in available()}
    assert set(got) == {"breast_cancer", "diabetes", "digits", "iris", "wine", "a1a.t", "two", "two.svm"}
    assert got["two"].path.name == "two.csv" and got["two"].origin == "$SVMKIT_DATA"
    assert got["iris"].origin == "built-in" and got["iris"].path is None


# --- the real sets


@pytest.mark.data
def test_a1a_and_its_test_half(real):
    train = load("a1a")
    assert train.X.shape == (1605, 119) and set(train.y.tolist()) == {-1, 1}
    test = load("a1a.t", n_features=123)
    assert test.X.shape == (30956, 123) and test.X.indices.dtype == np.int32
    # neither half uses index 0, so both count from 1: the columns agree
    not_loaded("has 123 features, but 119 are expected", "a1a.t", n_features=train.n_features)


@pytest.mark.data
def test_svmguide1_is_dense(real):
    data = load("svmguide1")
    assert isinstance(data.X, np.ndarray) and data.X.shape == (3089, 4)


@pytest.mark.data
def test_every_real_set_is_listed(real):
    names = {entry.name for entry in available() if entry.origin == "$SVMKIT_DATA"}
    assert {"a1a", "a1a.t", "kddcup.data_10_percent", "letter.scale.t"} <= names and "README" not in names


@pytest.mark.data
@pytest.mark.slow
def test_kddcup(real):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = load("kddcup.data_10_percent")
    facts = data.describe()
    assert data.X.shape[0] == 494_021 and facts["sparse"] and facts["classes"]["normal."] == 97_278
    assert len(facts["classes"]) == 23 and sum(not n for n in data.encoding.numeric) == 3
    assert "column2=tcp" in data.encoding.feature_names


def test_names_and_numbers_with_a_few_texts_are_no_classes():
    numbers = np.array([str(k + 0.5) for k in range(200)])
    few = numbers.copy()
    few[7] = "oops"
    with pytest.raises(
        InputError, match=r"holds numbers, but text in 1 of 200 rows, first 'oops' in row 8: correct them"
    ):
        _require_repeated(few, "y")
    for names in (np.array([f"name {k}" for k in range(200)]), numbers):
        with pytest.raises(InputError, match=r"y has 200 values in 200 rows, and 200 of them in one row only"):
            _require_repeated(names, "y")
    _require_repeated(np.repeat(["a", "b"], 100), "y")
