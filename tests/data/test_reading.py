"""The options with which a table is read, what an encoding keeps of them, and encodings of older models."""

import json

import numpy as np
import pytest
from support.churn import OPTIONS, churn
from support.data import TRAIN, dense, not_loaded
from support.problems import write
from support.refusals import refused

from svmkit.data import Encoding, Reading, load

pytestmark = pytest.mark.usefixtures("alone")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"decimal": ";"}, "--decimal ';': the decimal mark is . or ,"),
        ({"charset": "klingon"}, "--encoding 'klingon' is no character encoding"),
        ({"charset": "hex"}, "--encoding 'hex' is no character encoding"),
        ({"drop": "a", "only": "b"}, "--drop or --only, not both"),
    ],
)
def test_options_that_cannot_be(options, match):
    refused(match, Reading, **options)


def test_columns_by_name_position_and_list():
    path = write("t.csv", "a,b,c c,d,label\n1,2,3,4,0\n2,3,4,5,1\n")

    def taken(**options):
        return load(path, reading=Reading(**options)).encoding.columns

    assert taken(drop="a") == taken(drop=0) == taken(drop=["0"]) == ("b", "c c", "d")
    assert taken(drop="a, d") == taken(drop=["a", -2]) == ("b", "c c")
    assert taken(only="c c,a") == taken(only=[2, "a"]) == ("a", "c c")
    assert taken(only="a,label") == ("a",) and taken(drop="label") == ("a", "b", "c c")
    assert load(path, reading=Reading(drop="label")).encoding.label == "d"
    not_loaded("no column 'bb'.*did you mean b", path, reading=Reading(drop="bb"))
    not_loaded("no column 'bb'", path, reading=Reading(categorical="a,bb"))
    not_loaded("no column 9: it has 5", path, reading=Reading(only="9"))
    not_loaded("'label' is the label and is dropped, too", path, reading=Reading(label="label", drop="label"))
    not_loaded("no features: all others are left out", path, reading=Reading(drop="a,b,c c,d"))


def test_a_column_whose_name_has_a_comma():
    path = write("t.csv", '"net, EUR";b;y\n1;2;0\n2;3;1\n')
    assert load(path, reading=Reading(drop="net, EUR")).encoding.columns == ("b",)


def test_other_formats_take_none_of_the_options():
    write("t.svm", "1 1:1\n-1 1:2\n")
    np.savez("t.npz", X=np.eye(2), y=[0, 1])
    for name in ("iris", "t.svm", "t.npz"):
        not_loaded("--decimal, --drop: for CSV, TSV and Parquet only", name, reading=Reading(drop="a", decimal=","))
        not_loaded("--encoding: for CSV", name, reading=Reading(charset="latin-1"))


@pytest.mark.parametrize("charset", ["latin-1", "cp1252", "utf-16", "utf-8"])
def test_character_encodings_and_later_files(charset):
    text = "größe;farbe;label\r\n1;rot;ä\r\n2;grün;ö\r\n"
    path = write("t.csv", text.encode(charset))
    data = load(path, reading=Reading(charset=charset))
    assert data.encoding.feature_names == ["größe", "farbe=grün", "farbe=rot"] and list(data.y) == ["ä", "ö"]
    encoding = Encoding.from_json(json.loads(json.dumps(data.encoding.to_json())))
    np.testing.assert_array_equal(load(path, encoding=encoding).X, data.X)
    marked = write("u.csv", text.encode("utf-8-sig"))  # says itself that it is UTF-8
    np.testing.assert_array_equal(load(marked, encoding=encoding).X, data.X)


def test_bytes_that_are_not_utf_8_name_the_option():
    write("t.csv", "a,c,y\n1,x,0\n2,ü,1\n".encode("latin-1"))
    not_loaded(r"^t.csv:3: not UTF-8 text \(byte 0xfc\): --encoding latin-1 .* reads it", "t.csv")
    not_loaded(r"^t.csv:3: not ascii text", "t.csv", reading=Reading(charset="ascii"))
    not_loaded("UTF-16: .*--encoding utf-16 if it is a table", write("t.csv", "a,y\n1,0\n".encode("utf-16")))


def test_a_later_file_needs_no_option():
    reading = Reading("churned", ",", "latin-1", drop="customer,name")
    write("train.csv", churn(800))
    data = load("train.csv", reading=reading, holes=True)
    assert data.encoding.kinds == ("categories",) * 3 + ("date",) * 2 + ("number",) * 8
    assert data.n_features == len(data.flags) == 25 and data.X.shape == (800, 25)
    again = load("train.csv", encoding=Encoding.from_json(data.encoding.to_json()), holes=True)
    np.testing.assert_array_equal(again.X, data.X)
    np.testing.assert_array_equal(again.y, data.y)
    plain = write("plain.csv", churn(800, delimiter=",", decimal=".", charset="utf-8"))
    reading = Reading(drop="customer,name")
    np.testing.assert_array_equal(load(plain, reading=reading, holes=True).X, data.X)


def test_the_troubles_of_an_export_come_one_by_one(churn_csv):
    steps = {
        (): "--encoding latin-1",
        ("charset",): "columns 'income', 'balance' .* --decimal , reads them",
        ("charset", "decimal"): "in 6,000 rows: 'name' 6,000 [(]at most 20, or one for ten rows[)]; --drop name",
        (
            "charset",
            "decimal",
            "drop",
        ): "the first of 686 holes in 4 columns: last_order 201, age 117, income 310, visits 58",
    }
    mended = {"charset": "latin-1", "decimal": ",", "drop": "name"}
    for given, match in steps.items():
        not_loaded(match, churn_csv, reading=Reading(**{key: mended[key] for key in given}))
    data = load(churn_csv, reading=Reading(**mended), holes=True)
    assert "column 'customer' looks like an ID: --drop customer" in data.notes
    assert (data.y == 1).sum() == 276 and np.isnan(dense(data.X)).sum() == 686
    assert set(OPTIONS) >= {"--decimal", "latin-1", "--label"}


def test_an_older_encoding_is_read():
    encoding = load(write("t.csv", TRAIN)).encoding
    stored = encoding.to_json()
    for name in ("dates", "decimal", "charset", "positions", "width", "label_chosen"):
        del stored[name]
    old = Encoding.from_json(stored)
    assert old.dates == (None, None) and old.kinds == ("number", "categories")
    np.testing.assert_array_equal(load("t.csv", encoding=old).X, load("t.csv").X)


@pytest.mark.parametrize(
    "bad",
    [
        {"dates": ["ymd"]},
        {"dates": ["dym", None]},
        {"decimal": "x"},
        {"positions": [0, 1]},
        {"positions": [0, 9], "width": 3},
        {"positions": 3, "width": 3},
        {"charset": 3},
        {"label_chosen": 1},
        {"width": "3"},
    ],
)
def test_a_damaged_encoding_is_refused(bad):
    encoding = load(write("t.csv", TRAIN)).encoding
    refused("damaged", Encoding.from_json, encoding.to_json() | bad)


def test_files_without_a_header_keep_the_places_of_the_columns():
    encoding = load(write("t.csv", "1,a,9,0\n2,b,8,1\n3,a,7,0\n"), reading=Reading(drop=0)).encoding
    for text in ("5,b,8,1\n", "5,b,8\n", "b,8\n"):
        assert load(write("u.csv", text), encoding=encoding, labelled=False).X.tolist() == [[0, 1, 8]]
    not_loaded("has 5 columns, but the model was trained on 2 of 4", write("u.csv", "1,2,3,4,5\n"), encoding=encoding)


@pytest.mark.parametrize(
    ("text", "label", "words"),
    [
        ("a,y,b\n1,0,2\n2,1,3\n", None, "label column 'y' (by its name)"),
        ("a,b,c\n1,0,2\n2,1,3\n", None, "label column 'c' (last column)"),
        ("a,b,c\n1,0,2\n2,1,3\n", "b", "label column 'b' (given)"),
        ("1,0,2\n2,1,3\n", None, "label column 3, counted from 1 (last column)"),
        ("1,0,2\n2,1,3\n", "column2", "label column 2, counted from 1 (given)"),
    ],
)
def test_the_label_column_in_words(text, label, words):
    encoding = load(write("t.csv", text), label=label).encoding
    assert encoding.label_in_words == words and encoding.label_facts["position"] == encoding.label_index
    assert Encoding.from_json(encoding.to_json()) == encoding
