"""Tables: CSV with and without a header, text columns, and what an encoding keeps of them."""

import gzip
import json
from cProfile import Profile
from pstats import Stats

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.data import PACK, TRAIN, dense, not_loaded
from support.problems import write
from support.refusals import refused

from svmkit.data import Encoding, Reading, load
from svmkit.data.survey import survey
from svmkit.data.tables.readers import learn_pieces
from svmkit.errors import InputError, SvmkitWarning

pytestmark = pytest.mark.usefixtures("alone")
PIECES = {"reading": Reading(), "cells": 10}


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
    not_loaded("no column 'aple'.*did you mean apple", "t.csv", label="aple")
    not_loaded("no column 7: it has 2, counted 0 to 1", "t.csv", label=7)


def test_delimiters_and_sniffing():
    np.testing.assert_array_equal(dense(load(write("t.tsv", "a\ty\nx,5\t0\ny,5\t1\n")).X), np.eye(2))
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
        (",red,1", "1 hole in 1 column: .*1; --impute median .*--drop COL"),
        ("NA,red,1", "1 hole in 1 column"),
        ("?,red,1", "1 hole in 1 column"),
        ("nan,red,1", "1 hole in 1 column"),
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
    message = not_loaded(match, path)
    assert message.startswith(f"t.csv:{line}: ")
    if "fields" not in message and "hole" not in message:
        number = 3 if "label" in match else 1
        assert (
            f"column {['a', 'colour', 'y'][number - 1]!r}" if header else f"column {number} (counted from 1)"
        ) in message


def test_holes_of_all_columns_are_counted_at_once():
    path = write("t.csv", "a,b,c,f,y\n1,2,x,0,0\n,3,y,1,1\n2,NA,,0,0\n,?,x,,1\n")
    message = not_loaded("^t.csv:3: the first of 5 holes in 3 columns: a 2, b 2, f 1; --impute", path)
    assert message.count("\n") == 0
    data = load(path, holes=True)
    nan = np.nan
    np.testing.assert_array_equal(
        dense(data.X), [[1, 2, 0, 1, 0, 0], [nan, 3, 0, 0, 1, 1], [2, nan, 1, 0, 0, 0], [nan, nan, 0, 1, 0, nan]]
    )
    assert data.flags.tolist() == [False, False, True, True, True, True]
    again = load(path, encoding=data.encoding, holes=True)
    np.testing.assert_array_equal(dense(again.X), dense(data.X))
    not_loaded("5 holes in 3 columns", path, encoding=data.encoding)
    not_loaded("infinite value", write("t.csv", "a,y\n,0\n1,1\ninf,0\n"), holes=True)


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
        (b'a,y\n1,0\n2,"1\n3,0\n', "t.csv:3: not CSV .*correct the quotes"),
    ],
)
def test_csv_rubbish(content, match):
    not_loaded(match, write("t.csv", content))


def test_a_wide_header_alone_is_refused_before_pandas_prepares_its_columns():
    path = write("t.csv", "," * 4000 + "\n")
    calls = Profile()
    with calls:
        not_loaded("no rows below", path)
    assert Stats(calls).total_calls < 60 * 4000


def test_labels_that_look_like_holes_are_kept_in_each_piece():
    """The label has its own list of holes, though one list is enough to read all columns of most files."""
    rows = [("1", "b"), ("2", "c"), ("3", "NA"), ("4", "b"), ("", "c"), ("NA", "None"), ("7", "b")] * 3
    path = write("t.csv", "a,y\n" + "".join(f"{a},{y}\n" for a, y in rows))
    assert load(path, holes=True).y.tolist() == [y for _, y in rows]
    pieces = list(learn_pieces(path, "table", reading=Reading(), cells=4, text_labels=True))
    assert len(pieces) == 11
    assert [y for piece in pieces for y in piece.table.frame[1]] == [y for _, y in rows]
    holes = np.concatenate([piece.table.frame[0].isna() for piece in pieces])
    assert np.flatnonzero(holes).tolist() == [i for i, (a, _) in enumerate(rows) if a in ("", "NA")]


@pytest.mark.parametrize("read", [load, survey, lambda path: list(learn_pieces(path, "parquet", **PIECES))])
def test_two_columns_of_one_name_in_parquet(read, tmp_path):
    table = pa.table([[1.0, 2.0], [2.0, 1.0], [0, 1]], names=["a", "a", "label"])
    pq.write_table(table, tmp_path / "t.parquet")
    refused(r"t\.parquet: two columns are called 'a': rename one of them$", read, tmp_path / "t.parquet")


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
        not_loaded("no label column", "t.csv", encoding=encoding)
    assert list(load(write("t.csv", "7,red,a\n"), encoding=encoding, labelled=False).y) == ["a"]
    assert load(write("t.csv", "n,colour,y\n7,red,\n"), encoding=encoding, labelled=False).y is None


def test_encoding_refuses_other_columns(encoding):
    not_loaded("lacks column 'colour'", write("t.csv", "n,y\n1,a\n"), encoding=encoding)
    not_loaded(
        "has 4 columns, but the model was trained on 2 and a label",
        write("u.csv", "1,2,3,4\n"),
        encoding=encoding,
    )


@pytest.mark.parametrize("header", ["n,colour,y\n", ""])
def test_text_in_a_number_column_at_test_time(header, encoding):
    line = 3 if header else 2
    path = write("t.csv", f"{header}1,red,a\nx7,red,a\n")
    not_loaded(f"^t.csv:{line}: column .* holds text, but must hold numbers \\('x7'\\)", path, encoding=encoding)
    not_loaded(f"^t.csv:{line}: 1 hole in 1 column", write("t.csv", f"{header}1,red,a\n,red,a\n"), encoding=encoding)


def test_number_like_text_stays_text():
    train = load(write("train.csv", "n,code,y\n1,7,1\n2,x,z\n3,x,1\n"))
    assert train.encoding.feature_names == ["n", "code=7", "code=x"]
    data = load(write("t.csv", "n,code,y\n1,7,1\n"), encoding=train.encoding)
    assert dense(data.X).tolist() == [[1, 1, 0]] and data.y.tolist() == ["1"]


def test_text_label_where_numbers_were_learnt():
    train = load(write("train.csv", "n,y\n1,0\n2,1\n"))
    write("t.csv", "n,y\n1,0\n2,spam\n")
    not_loaded("^t.csv:3: .*'spam'", "t.csv", encoding=train.encoding)
    assert load("t.csv", encoding=train.encoding, labelled=False).y is None


def test_unlabelled_table_without_encoding():
    write("t.csv", "1,2\n3,4\n")
    assert load("t.csv", labelled=False).X.tolist() == [[1, 2], [3, 4]]
    assert load("t.csv", labelled=False, n_features=1).y.tolist() == [2, 4]
    not_loaded("has 1 features, but the model is expecting 5", "t.csv", n_features=5)


def test_huge_integers_and_truth_values_are_numbers():
    write("t.csv", "a,b,y\n99999999999999999999999,True,0\n1,False,1\n-3,TRUE,0\n")
    np.testing.assert_array_equal(dense(load("t.csv").X), [[1e23, 1], [1, 0], [-3, 1]])
    train = load("t.csv").encoding
    not_loaded("t.csv:2: column 'b' holds text", write("t.csv", "a,b,y\n1,maybe,0\n2,True,0\n"), encoding=train)


def test_last_feature_of_an_unlabelled_table_is_no_label():
    not_loaded("^t.csv:2: 1 hole in 1 column: column2 1", write("t.csv", "1,2\n3,NA\n"), labelled=False)


def test_wide_text_is_sparse_and_right():
    rng = np.random.default_rng(0)
    words, numbers = rng.integers(0, 600, 400), rng.integers(0, 2, 400)
    write(
        "t.csv",
        "n,w,y\n" + "".join(f"{n},w{w:03},{i % 2}\n" for i, (n, w) in enumerate(zip(numbers, words, strict=True))),
    )
    not_loaded("^t.csv: too many different texts in 400 rows: 'w' [0-9]+ .*; --drop w leaves the column out", "t.csv")
    data = load("t.csv", reading=Reading(categorical="w"))
    assert data.X.format == "csr" and data.X.has_sorted_indices and data.X.indices.dtype == np.int32
    seen = np.unique(words)
    want = np.column_stack([numbers, words[:, None] == seen])
    np.testing.assert_array_equal(dense(data.X), want)
    assert data.X.nnz == np.count_nonzero(want)


def test_same_contents_whether_packed_or_not():
    prints = {load(write(f"t.csv{e}", pack(TRAIN.encode()))).fingerprint() for e, pack in PACK.items()}
    assert len(prints) == 1
