"""Data sets: formats, ugly files, names, built-in sets, and the real sets of $SVMKIT_DATA."""

import bz2
import gzip
import json
import lzma
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from svmkit.data import Encoding, available, cache_dir, load
from svmkit.errors import InputError, SvmkitWarning

PACK = {"": lambda b: b, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """A working directory, data folder and cache of the test's own; gives the real data folder, if any."""
    real = os.environ.get("SVMKIT_DATA")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SVMKIT_DATA", raising=False)
    monkeypatch.setenv("SVMKIT_CACHE", str(tmp_path / "cache"))
    return real


@pytest.fixture
def real(alone):
    if not alone or not Path(alone).is_dir():
        pytest.skip("needs the real data sets: set SVMKIT_DATA to their folder")
    os.environ["SVMKIT_DATA"] = alone  # undone with `alone`'s monkeypatch
    return Path(alone)


def write(name, text):
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return Path(name)


def dense(X):
    return X if isinstance(X, np.ndarray) else X.toarray()


def refused(match, *args, **kwargs):
    with pytest.raises(InputError, match=match) as caught:
        load(*args, **kwargs)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# --- built-in sets


@pytest.mark.parametrize("name", ["breast_cancer", "digits", "iris", "wine"])
@pytest.mark.parametrize("packaged", [True, False])
def test_builtin_equals_sklearn(name, packaged, monkeypatch):
    from sklearn import datasets

    if not packaged:
        monkeypatch.setattr("svmkit.data.builtin._packaged", lambda file: None)
    data, bunch = load(name), getattr(datasets, f"load_{name}")()
    np.testing.assert_array_equal(data.X, bunch.data)
    want = bunch.target if name == "digits" else bunch.target_names[bunch.target]
    np.testing.assert_array_equal(data.y, want)
    assert data.X.dtype == np.float64 and data.X.flags.c_contiguous and data.name == name
    assert data.y.dtype.kind == ("i" if name == "digits" else "U")


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
    message = refused("did you mean breast_cancer", "brest_cancer")
    assert str(tmp_path) in message and "$SVMKIT_DATA (not set)" in message and "cache" in message
    write("train.csv", "1,2\n")
    refused("no such file: did you mean train.csv", "./trian.csv")
    refused("no such file: check the path", "nowhere/x.csv")
    refused("is a folder", tmp_path)
    refused("names no data set", "")
    assert len(refused("no data set 'xxx", "x" * 5000)) < 1000
    refused("cannot be opened: File name too long", "./" + "x" * 5000)


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
    assert set(got) == {"breast_cancer", "digits", "iris", "wine", "a1a.t", "two", "two.svm"}
    assert got["two"].path.name == "two.csv" and got["two"].origin == "$SVMKIT_DATA"
    assert got["iris"].origin == "built-in" and got["iris"].path is None


# --- svmlight


@pytest.mark.parametrize("ending", PACK)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_svmlight_plain_and_packed(ending, newline):
    text = newline.join(["# made by hand", "+1 1:0.5 9:2 # note", "", "-1 qid:3 2:1e-3", "1 ", ""])
    data = load(write(f"t.svm{ending}", PACK[ending](text.encode())))
    want = np.zeros((3, 9))
    want[0, 0], want[0, 8], want[1, 1] = 0.5, 2, 1e-3
    np.testing.assert_array_equal(dense(data.X), want)
    assert data.X.format == "csr" and data.X.indices.dtype == data.X.indptr.dtype == np.int32
    assert isinstance(data.X, sp.csr_array) and data.X.has_sorted_indices
    np.testing.assert_array_equal(data.y, [1, -1, 1])
    assert data.y.dtype == np.int64 and data.name == "t"


def test_compression_is_told_by_content_too():
    assert load(write("packed", gzip.compress(b"1 1:2\n"))).X[0, 0] == 2


def test_svmlight_as_sklearn_writes_it():
    from sklearn.datasets import dump_svmlight_file

    rng = np.random.default_rng(0)
    for zero_based in (False, True):
        X = rng.normal(size=(40, 12)) * (rng.random((40, 12)) < 0.3)
        X[0, 0] = X[0, 11] = 1e-300
        y = rng.integers(0, 3, 40)
        dump_svmlight_file(X, y, "t.svm", zero_based=zero_based)
        data = load("t.svm")
        np.testing.assert_allclose(dense(data.X), X, rtol=1e-15)
        np.testing.assert_array_equal(data.y, y)


def test_index_base():
    assert load(write("one", "1 3:1\n0 4:1\n")).n_features == 4
    assert load(write("zero", "1 3:1\n0 0:1\n")).n_features == 4
    np.testing.assert_array_equal(dense(load("zero").X), [[0, 0, 0, 1], [1, 0, 0, 0]])
    np.testing.assert_array_equal(dense(load("one").X), [[0, 0, 1, 0], [0, 0, 0, 1]])


def test_n_features_pads_or_refuses():
    write("t", "1 2:1\n0 3:1\n")
    assert load("t", n_features=7).X.shape == (2, 7)
    assert load("t", n_features=3).X.shape == (2, 3)
    refused("has 3 features, but 2 are expected", "t", n_features=2)
    assert load(write("empty_rows", "1\n0\n"), n_features=4).X.shape == (2, 4)
    refused("labels but no features", "empty_rows")


def test_dense_from_half_full_and_explicit_zeros():
    data = load(write("d", "1 1:0 2:3\n-1 1:1\n"))
    assert isinstance(data.X, np.ndarray)
    np.testing.assert_array_equal(data.X, [[0, 3], [1, 0]])
    data = load(write("s", "1 1:0 9:3\n-1 1:1\n"))
    assert data.X.nnz == 3 and data.describe()["density"] == 2 / 18


def test_float_labels():
    y = load(write("t", "0.5 1:1\n1 1:1\n")).y
    assert y.dtype == np.float64 and list(y) == [0.5, 1]


GOOD = "1 1:1 5:2\n" * 16


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ("1 1:1 banana", "not svmlight: 'banana' is no index:value, expected 'label index:value ...'"),
        ("1 1:1 3:", "'3:'"),
        ("1 1:1 x:3", "'x:3'"),
        ("1 1:1 2:y", "'2:y'"),
        ("one 1:1", "'one' is no label"),
        ("1 3:1 2:1", "'2:1' comes after index 3"),
        ("1 3:1 3:1", "'3:1' comes after index 3"),
        ("1 -1:4", "'-1:4' has an index out of range"),
        ("1 99999999999999999999:1", "out of range"),
        ("1 4000000000:1", "out of range"),
        ("1,2 1:1", "several labels a sample"),
        ("nan 1:1", "the label is 'nan'"),
        ("inf 1:1", "the label is 'inf'"),
        ("1 1:1 2:nan", "the value of '2:nan' is not finite"),
        ("1 1:1 2:-inf", "the value of '2:-inf' is not finite"),
        ("1 1:" + "9" * 200 + "z", r"9\.\.\.'"),
    ],
)
@pytest.mark.parametrize("ending", PACK)
def test_broken_line_is_named(line, match, ending):
    path = write(f"t{ending}", PACK[ending](f"{GOOD}{line}\n{GOOD}".encode()))
    assert refused(match, path).startswith(f"{path}:17: ")


def test_broken_line_counts_comments_and_blanks():
    refused(r"^t:5: ", write("t", "# a\n\n1 1:1\n\n1 x\n"))


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"# only\n# comments\n", "no samples"),
        (b"\x00\x01\x02\xff" * 50, "binary, not text"),
        ("1,2\n".encode("utf-16"), "binary, not text"),
        (b"\xff\xfe\xfd 1:2\n", "t:1: not svmlight"),
        (b"1 2 3\n4 5 6\n", "t:1: not svmlight: '2'"),
    ],
)
def test_rubbish(content, match):
    refused(match, write("t", content))


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz"])
def test_damaged_compression(ending):
    lines = "".join(f"1 1:{value} 9:1\n" for value in np.random.default_rng(0).random(60_000))
    packed = PACK[ending](lines.encode())
    refused("compressed data is broken or cut short", write(f"cut{ending}", packed[: len(packed) // 2]))
    refused("compressed data is broken", write(f"fake{ending}", b"1 1:1\n"))
    refused("compressed data is broken", write(f"cut.csv{ending}", packed[: len(packed) // 2]))
    refused("is empty|cut short", write(f"none{ending}", b""))


def test_unreadable(tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    path = write("t", "1 1:1\n")
    path.chmod(0)
    refused("cannot be opened: Permission denied", path)


def test_label_column_is_for_tables_only():
    refused("CSV and Parquet only", write("t", "1 1:1\n"), label="y")
    refused("CSV and Parquet only", "iris", label=0)


# --- tables


def test_csv_with_header_text_quotes_and_label_by_name():
    write(
        "t.csv",
        'size,Class,colour,ok\r\n1.5,yes,"red, dark",True\r\n2,no,blue,False\r\n0,yes,"say ""x""",True\r\n',
    )
    data = load("t.csv")
    names = ["size", "colour=blue", "colour=red, dark", 'colour=say "x"', "ok"]
    assert data.encoding.feature_names == names
    np.testing.assert_array_equal(dense(data.X), [[1.5, 0, 1, 0, 1], [2, 1, 0, 0, 0], [0, 0, 0, 1, 1]])
    assert list(data.y) == ["yes", "no", "yes"] and data.y.dtype.kind == "U"
    assert data.encoding.numeric == (True, False, True) and data.encoding.label == "Class"


def test_csv_without_header_label_last():
    data = load(write("t.csv", "1,tcp,0\n2,udp,1\n3,tcp,1\n"))
    np.testing.assert_array_equal(dense(data.X), [[1, 1, 0], [2, 0, 1], [3, 1, 0]])
    assert list(data.y) == [0, 1, 1] and data.y.dtype == np.int64
    assert not data.encoding.header and data.encoding.columns == ("column1", "column2")


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a,b\nx,1\ny,2\n", 2),  # numbers below text
        ("p,x,s\ne,x,y\np,b,s\n", 3),  # all text, values recur: no header
        ("cap,odour,kind\np,x,s\ne,x,y\n", 2),  # all text, names unlike the values
        ("0,1,2,3,4\n5,1,2,3,0\n6,1,1,1,1\n", 2),  # what pandas writes for unnamed columns
        ("0,1,target\n5,1,0\n6,1,1\n", 2),
        ("0,1\n1,0\n", 2),  # too short to be told from data
        ("5.1,3.5,setosa\n4.9,3.0,other\n", 2),
        ("﻿a,b\n1,0\n2,1\n", 2),  # byte order mark
        ("\n\na,b\n\n1,0\n  \n2,1\n", 2),  # blank lines
    ],
)
def test_header_detection(text, rows):
    data = load(write("t.csv", text))
    assert data.n_samples == rows
    if text.startswith("﻿"):
        assert data.encoding.columns == ("a",)


@pytest.mark.parametrize("label", ["b", 1, -2, "1", "-2"])
def test_label_by_name_or_position(label):
    data = load(write("t.csv", "a,b,c\n1,0,3\n2,1,5\n"), label=label)
    assert list(data.y) == [0, 1] and data.encoding.columns == ("a", "c")


def test_wrong_label_column():
    write("t.csv", "apple,pear\n1,0\n2,1\n")
    refused("no column 'aple'.*did you mean apple", "t.csv", label="aple")
    refused("no column 7: it has 2, counted 0 to 1", "t.csv", label=7)


def test_delimiters_and_sniffing():
    np.testing.assert_array_equal(dense(load(write("t.tsv", "a\ty\n1,5\t0\n2,5\t1\n")).X), np.eye(2))
    assert load(write("semi.csv", "a;b;y\n1;2;0\n2;3;1\n")).n_features == 2
    assert load(write("raw.data", "1,2,0\n2,3,1\n")).n_features == 2
    assert load(write("raw.gz", gzip.compress(b"1,2,0\n2,3,1\n"))).n_features == 2
    assert load(write("a.t", "1 1:1\n")).encoding is None


def test_exact_numbers():
    values = np.random.default_rng(0).random(500) * 10.0 ** np.arange(-250, 250)
    write("t.csv", "a,y\n" + "".join(f"{v!r},{i % 2}\n" for i, v in enumerate(values.tolist())))
    np.testing.assert_array_equal(dense(load("t.csv").X)[:, 0], values)


ROWS = "".join(f"{i},{'red' if i % 3 else 'blue'},{i % 2}\n" for i in range(1, 30))


@pytest.mark.parametrize("header", ["a,colour,y\n", ""])
@pytest.mark.parametrize(
    ("row", "match"),
    [
        (",red,1", "has a missing value \\(''\\)"),
        ("NA,red,1", "has a missing value \\('NA'\\)"),
        ("?,red,1", "has a missing value"),
        ("nan,red,1", "has a missing value"),
        ("inf,red,1", "holds an infinite value"),
        ("1e999,red,1", "holds an infinite value"),
        ("abc,red,1", "is numbers but for text \\('abc'\\)"),
        ("1_000,red,1", "is numbers but for text"),
        ("5,red,", "has no label"),
        ("5,red,nan", "has no label"),
        ("5,red,inf", "label that is not finite"),
        ("5,red", "has 2 fields, but the first line has 3"),
        ("5,red,1,1", "has 4 fields, but the first line has 3"),
    ],
)
@pytest.mark.parametrize("far", [False, True])
def test_bad_cell_names_line_and_column(header, row, match, far):
    before = ROWS * (20 if far else 1)  # beyond the lines that are sampled, too
    path = write("t.csv", f"{header}{before}{row}\n{ROWS}")
    line = before.count("\n") + 1 + bool(header)
    message = refused(match, path)
    assert message.startswith(f"t.csv:{line}: ")
    if "fields" not in message:
        number = 3 if "label" in match else 1
        assert (
            f"column {['a', 'colour', 'y'][number - 1]!r}" if header else f"column {number} (counted from 1)"
        ) in message


def test_missing_text_is_a_category():
    data = load(write("t.csv", "a,c,y\n1,x,0\n2,,1\n3,NA,1\n"))
    assert data.encoding.feature_names == ["a", "c=", "c=x"]
    np.testing.assert_array_equal(dense(data.X), [[1, 0, 1], [2, 1, 0], [3, 1, 0]])


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "is empty"),
        (b"a,b,y\n", "no rows below"),
        (b"1\n2\n", "label column but no features"),
        (b"a,y\n1,0\n\xff\xfe,1\n", r"t.csv:3: not UTF-8"),
        (b"a,a,y\n1,2,0\n", "two columns are called 'a'"),
        (b"a,y\n1,0\n\x00,1\n", "binary"),
        (b"a,c,y\n" + b"1,x,0\n" * 400 + b"1,\xff,0\n", r"t.csv:402: not UTF-8"),
        (b'a,y\n1,0\n2,"1\n3,0\n', "t.csv:3: not CSV .*mend the quotes"),
    ],
)
def test_csv_rubbish(content, match):
    refused(match, write("t.csv", content))


TRAIN = "n,colour,y\n1,red,a\n2,blue,b\n3,green,a\n4,red,b\n"


@pytest.fixture
def encoding():
    return load(write("train.csv", TRAIN)).encoding


def test_encoding_matches_by_name_and_round_trips(encoding):
    again = Encoding.from_json(json.loads(json.dumps(encoding.to_json())))
    assert again == encoding and again.n_features == len(again.feature_names) == 4
    data = load(write("t.csv", "y,extra,colour,n\nb,0,green,7\n"), encoding=again)
    np.testing.assert_array_equal(dense(data.X), [[7, 0, 1, 0]])
    assert list(data.y) == ["b"] and data.encoding == encoding


def test_encoding_by_position_without_header(encoding):
    data = load(write("t.csv", "7,green,b\n8,red,a\n"), encoding=encoding)
    np.testing.assert_array_equal(dense(data.X), [[7, 0, 1, 0], [8, 0, 0, 1]])
    assert list(data.y) == ["b", "a"]


def test_damaged_encoding(encoding):
    stored = encoding.to_json()
    for bad in ({"columns": [1, 2]}, {"categories": [None]}, {"header": "yes"}, {"columns": 3}, {"label": 4}):
        with pytest.raises(InputError, match="damaged"):
            Encoding.from_json(stored | bad)
    with pytest.raises(InputError, match="incomplete"):
        Encoding.from_json({})


def test_unseen_categories_warn_once_and_count_as_zeros(encoding):
    write("t.csv", "n,colour,y\n1,pink,a\n2,red,b\n3,,a\n")
    with pytest.warns(SvmkitWarning, match=r"2 cells .*column 'colour': 'pink'") as caught:
        data = load("t.csv", encoding=encoding)
    assert len(caught) == 1
    np.testing.assert_array_equal(dense(data.X), [[1, 0, 0, 0], [2, 0, 0, 1], [3, 0, 0, 0]])


def test_label_may_be_absent_only_to_predict(encoding):
    for text in ("n,colour\n7,red\n", "7,red\n", "7,red\n8,blue\n", "colour,n\nred,7\n"):
        write("t.csv", text)
        data = load("t.csv", encoding=encoding, labelled=False)
        assert data.y is None and dense(data.X)[0].tolist() == [7, 0, 0, 1]
        refused("no label column", "t.csv", encoding=encoding)
    assert list(load(write("t.csv", "7,red,a\n"), encoding=encoding, labelled=False).y) == ["a"]
    assert load(write("t.csv", "n,colour,y\n7,red,\n"), encoding=encoding, labelled=False).y is None


def test_encoding_refuses_other_columns(encoding):
    refused("lacks column 'colour'", write("t.csv", "n,y\n1,a\n"), encoding=encoding)
    refused(
        "has 4 columns, but the model was trained on 2 and a label",
        write("u.csv", "1,2,3,4\n"),
        encoding=encoding,
    )


@pytest.mark.parametrize("header", ["n,colour,y\n", ""])
def test_text_in_a_number_column_at_test_time(header, encoding):
    line = 3 if header else 2
    path = write("t.csv", f"{header}1,red,a\nx7,red,a\n")
    refused(f"^t.csv:{line}: column .* holds text, but must hold numbers \\('x7'\\)", path, encoding=encoding)
    refused(f"^t.csv:{line}: .* missing", write("t.csv", f"{header}1,red,a\n,red,a\n"), encoding=encoding)


def test_number_like_text_stays_text():
    train = load(write("train.csv", "n,code,y\n1,7,1\n2,x,z\n3,x,1\n"))
    assert train.encoding.feature_names == ["n", "code=7", "code=x"]
    data = load(write("t.csv", "n,code,y\n1,7,1\n"), encoding=train.encoding)
    assert dense(data.X).tolist() == [[1, 1, 0]] and data.y.tolist() == ["1"]


def test_text_label_where_numbers_were_learnt():
    train = load(write("train.csv", "n,y\n1,0\n2,1\n"))
    write("t.csv", "n,y\n1,0\n2,spam\n")
    refused("^t.csv:3: .*'spam'", "t.csv", encoding=train.encoding)
    assert load("t.csv", encoding=train.encoding, labelled=False).y is None


def test_unlabelled_table_without_encoding():
    write("t.csv", "1,2\n3,4\n")
    assert load("t.csv", labelled=False).X.tolist() == [[1, 2], [3, 4]]
    assert load("t.csv", labelled=False, n_features=1).y.tolist() == [2, 4]
    refused("has 1 features, but the model is expecting 5", "t.csv", n_features=5)


def test_huge_integers_and_truth_values_are_numbers():
    write("t.csv", "a,b,y\n99999999999999999999999,True,0\n1,False,1\n-3,TRUE,0\n")
    np.testing.assert_array_equal(dense(load("t.csv").X), [[1e23, 1], [1, 0], [-3, 1]])
    train = load("t.csv").encoding
    refused("t.csv:2: column 'b' holds text", write("t.csv", "a,b,y\n1,maybe,0\n2,True,0\n"), encoding=train)


def test_last_feature_of_an_unlabelled_table_is_no_label():
    refused("^t.csv:2: column 2 .*missing value .'NA'", write("t.csv", "1,2\n3,NA\n"), labelled=False)


def test_wide_text_is_sparse_and_right():
    rng = np.random.default_rng(0)
    words, numbers = rng.integers(0, 50, 400), rng.integers(0, 2, 400)
    write(
        "t.csv",
        "n,w,y\n" + "".join(f"{n},w{w:02},{i % 2}\n" for i, (n, w) in enumerate(zip(numbers, words, strict=True))),
    )
    data = load("t.csv")
    assert data.X.format == "csr" and data.X.has_sorted_indices and data.X.indices.dtype == np.int32
    seen = np.unique(words)
    want = np.column_stack([numbers, words[:, None] == seen])
    np.testing.assert_array_equal(dense(data.X), want)
    assert data.X.nnz == np.count_nonzero(want)


def test_same_contents_whether_packed_or_not():
    prints = {load(write(f"t.csv{e}", pack(TRAIN.encode()))).fingerprint() for e, pack in PACK.items()}
    assert len(prints) == 1


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
    refused(r"row 2 .*column 'n' has a missing value", "t.parquet")
    pd.DataFrame({"b": pd.array([True, None], "boolean"), "y": [0, 1]}).to_parquet("t.parquet")
    refused(r"row 2 .*column 'b' has a missing value", "t.parquet")
    pd.DataFrame({"when": pd.to_datetime(["2020-01-01"] * 2), "y": [0, 1]}).to_parquet("t.parquet")
    refused("column 'when' has type datetime", "t.parquet")
    pd.DataFrame({"many": [[1], [2]], "y": [0, 1]}).to_parquet("t.parquet")
    refused("column 'many' holds ", "t.parquet")
    pd.DataFrame({"n": [], "y": []}).to_parquet("t.parquet")
    refused("no rows", "t.parquet")
    refused("is no Parquet file", write("bad.parquet", "hello"))
    refused("is empty", write("none.parquet", ""))


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
    refused("no array 'y'", "x.npz")
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
    refused("never unpickled", "t.npz")
    refused("never unpickled|no NPZ", write("p.npz", pickle.dumps(_Trap())))
    np.savez("u.npz", X=np.eye(2), y=np.array([_Trap(), 1], object))
    refused("never unpickled", "u.npz")
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
        refused("^t.npz: ", "t.npz")
    np.savez("t.npz", X=np.array([[1, np.nan]]), y=[1])
    refused(r"^t.npz: X contains NaN at row 1, column 2", "t.npz")
    np.savez("t.npz", X=np.eye(2), y=[1, 2, 3])
    refused("y has shape", "t.npz")
    np.savez("t.npz", X=np.eye(2), y=[1, np.nan])
    refused("y is nan at row 2", "t.npz")
    np.savez("t.npz", X=np.ones((0, 2)), y=[])
    refused("0 sample", "t.npz")
    np.savez("t.npz", Z=np.eye(2))
    refused("no array 'X' .it has Z", "t.npz")
    np.save("one.npy", np.eye(2))
    refused("one array", Path("one.npy").rename("one.npz"))
    refused("no NPZ", write("cut.npz", Path("t.npz").read_bytes()[:60]))


# --- the real sets


@pytest.mark.data
def test_a1a_and_its_test_half(real):
    train = load("a1a")
    assert train.X.shape == (1605, 119) and set(train.y.tolist()) == {-1, 1}
    test = load("a1a.t", n_features=123)
    assert test.X.shape == (30956, 123) and test.X.indices.dtype == np.int32
    # neither half uses index 0, so both count from 1: the columns agree
    refused("has 123 features, but 119 are expected", "a1a.t", n_features=train.n_features)


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
