"""What the columns of a table are taken for: numbers with either decimal mark, dates, texts, IDs, holes."""

import json

import numpy as np
import pytest
from support.data import dense, not_loaded
from support.problems import write

from svmkit.data import Encoding, Reading, load

pytestmark = pytest.mark.usefixtures("alone")


def csv(*rows: str, header: str = "a,y") -> str:
    """A table whose last column alternates between 0 and 1."""
    return header + "\n" + "".join(f"{row},{i % 2}\n" for i, row in enumerate(rows))


def column(text: str, **reading) -> list[float]:
    """The first feature of a table."""
    return dense(load(write("t.csv", text), reading=Reading(**reading), holes=True).X)[:, 0].tolist()


# --- decimal marks


@pytest.mark.parametrize(
    ("decimal", "cells", "numbers"),
    [
        (",", ["1,5", "-2", "1.234,56", "1.234.567"], [1.5, -2, 1234.56, 1234567]),
        (",", ["1 234,5", "1'000", ",5", "1,5e3"], [1234.5, 1000, 0.5, 1500]),
        (".", ["1,234.5", "12", "1,000,000"], [1234.5, 12, 1e6]),
    ],
)
def test_decimal_marks_and_groups_of_digits(decimal, cells, numbers):
    assert column(csv(*(f'"{cell}"' for cell in cells)), decimal=decimal) == numbers
    assert column("a;y\n" + "".join(f"{cell};{i % 2}\n" for i, cell in enumerate(cells)), decimal=decimal) == numbers


@pytest.mark.parametrize(
    ("cells", "match"),
    [
        (["1,5", "2,25"], "column 'a' holds numbers with a decimal comma .'1,5'.: --decimal , reads them"),
        (["1.234,5", "2"], "--decimal , reads them"),
        (["1,234.5", "2"], "--decimal . reads them"),
        (["1,234", "2,345"], "--decimal , if 1,234 means 1.234, --decimal . if it means 1234"),
    ],
)
def test_commas_in_numbers_are_refused_with_what_mends_them(cells, match):
    not_loaded(match, write("t.csv", "a;y\n" + "".join(f"{cell};{i % 2}\n" for i, cell in enumerate(cells))))


def test_all_columns_of_commas_are_refused_at_once_and_one_may_be_of_texts():
    path = write("t.csv", "a;b;c;y\n1,5;x;2,5;0\n3,5;x;4,5;1\n")
    not_loaded("columns 'a', 'c' hold", path)
    data = load(path, reading=Reading(categorical="a,c"))
    assert data.encoding.kinds == ("categories",) * 3 and data.n_features == 5


def test_a_point_in_a_file_of_commas():
    path = write("t.csv", "a;b;y\n1,5;1.5;0\n2,5;3;1\n")
    not_loaded("column 'b' holds .*but --decimal , was given: .*--drop b", path, reading=Reading(decimal=","))


def test_the_delimiter_of_a_file_with_decimal_commas_and_no_header():
    text = "1,5;2,5;0\n2,5;3,5;1\n"
    assert column(text, decimal=",") == [1.5, 2.5]
    not_loaded("columns 'column1', 'column2' hold .*--decimal ,", write("t.csv", text))
    assert column('a,y\n"1,5",0\n"2,5",1\n', decimal=",") == [1.5, 2.5]


# --- dates


@pytest.mark.parametrize(
    ("cells", "days"),
    [
        (["1970-01-02", "1969-12-31", "2024-02-29"], [1, -1, 19782]),
        (["1970-01-01T12:00:00", "1970-01-01 06:00"], [0.5, 0.25]),
        (["1970-01-01T02:00:00+02:00", "1970-01-02T00:00:00Z"], [0, 1]),
        (["1970-01-01T19:00:00-05:00", "1970-01-01 05:30 +0530", "1969-12-31T20:30-03:30"], [1, 0, 0]),
        (["02.01.1970", "31.12.1969"], [1, -1]),
        (["2/1/1970", "31/12/1969"], [1, -1]),
        (["1/2/1970", "12/31/1969"], [1, -1]),
        (["1/2/1970 6:00 PM", "1/31/1970 12:00 AM"], [1.75, 30]),
        (["1970/01/02", "", "9999-12-31"], [1, np.nan, 2932896]),
    ],
)
def test_dates_are_days_since_1970(cells, days):
    np.testing.assert_array_equal(column(csv(*cells, header="when,y")), days)
    data = load("t.csv", holes=True)
    assert data.encoding.kinds == ("date",) and data.encoding.feature_names == ["when"] and not data.flags.any()
    assert data.notes == ("column 'when' taken for dates: days since 1970-01-01",)


def test_a_date_column_with_holes_counts_them_with_those_of_numbers():
    path = write("t.csv", csv("2024-01-01,1", ",2", "NA,", header="when,n,y"))
    not_loaded("^t.csv:3: the first of 3 holes in 2 columns: when 2, n 1; --impute", path)


@pytest.mark.parametrize(
    ("cells", "match"),
    [
        (["1/2/2024", "3/4/2024"], "no cell shows whether the day or the month comes first .'1/2/2024'.*--drop a"),
        (["2024-01-01"] * 40 + ["2024-02-30"], r"t.csv:42: column 'a' is dates but for text \('2024-02-30'\)"),
        (["2024-01-01"] * 40 + ["0000-00-00"], r"t.csv:42: .*'0000-00-00'"),
        (["2024-01-01"] * 40 + ["99999-12-31"], r"t.csv:42: .*'99999-12-31'"),
        (["31.12.2024"] * 40 + ["2024-12-31"], r"t.csv:42: .*'2024-12-31'"),
    ],
)
def test_dates_that_cannot_be_read(cells, match):
    not_loaded(match, write("t.csv", csv(*cells)))


def test_dates_in_later_files_are_read_in_the_order_of_training():
    encoding = load(write("t.csv", csv("31/12/2023", "1/2/2024"))).encoding
    encoding = Encoding.from_json(json.loads(json.dumps(encoding.to_json())))
    later = write("u.csv", csv("1/2/2024", "3/4/2024"))
    assert dense(load(later, encoding=encoding).X)[:, 0].tolist() == [19754, 19816]
    not_loaded(
        r"u.csv:2: column 'a' holds text, but must hold dates .*'soon'", write("u.csv", csv("soon")), encoding=encoding
    )
    not_loaded("u.csv:2: 1 hole in 1 column: a 1; .*train the model with", write("u.csv", csv("")), encoding=encoding)


def test_dates_of_parquet():
    import datetime

    import pandas as pd

    when = pd.to_datetime(["1970-01-02 12:00", None, "2262-01-01 00:00"])
    day = [datetime.date(1970, 1, 3), None, datetime.date(9999, 12, 31)]
    zoned = pd.to_datetime(["1970-01-01T02:00+02:00"] * 3)
    pd.DataFrame({"when": when, "day": day, "zoned": zoned, "y": [0, 1, 0]}).to_parquet("t.parquet")
    data = load("t.parquet", holes=True)
    assert data.encoding.kinds == ("date",) * 3
    np.testing.assert_array_equal(data.X, [[1.5, 2, 0], [np.nan, np.nan, 0], [106651, 2932896, 0]])
    text = write("t.csv", "when,day,zoned,y\n1970-01-02 12:00,1970-01-03,1970-01-01,0\n")
    np.testing.assert_array_equal(load(text, encoding=data.encoding).X, [[1.5, 2, 0]])


# --- texts, IDs, empty columns


def test_texts_of_many_values_are_refused_at_once():
    rows = [f"n{i},{i % 3},m{i % 200},k{i % 20}" for i in range(300)]
    path = write("t.csv", csv(*rows, header="name,b,code name,kind,y"))
    message = not_loaded("texts in 300 rows: 'name' 300, 'code name' 200 [(]at most 20, or one for ten rows[)]; ", path)
    assert "--drop 'name,code name' leaves the columns out, --categorical 'name,code name'" in message
    assert load(path, reading=Reading(drop="name,code name")).n_features == 21
    assert load(path, reading=Reading(categorical=("name", "code name"))).n_features == 521


def test_a_tenth_of_the_rows_may_be_categories():
    rows = [f"k{i % 30}" for i in range(300)]
    assert load(write("t.csv", csv(*rows))).n_features == 30
    not_loaded("'a' 30 ", write("t.csv", csv(*rows[:299])))
    assert load(write("t.csv", csv(*rows[:20]))).n_features == 20


def test_numbers_with_a_mark_of_their_own_for_a_hole():
    rows = [str(i / 2) if i % 5 else "-" for i in range(300)]
    not_loaded("'a' 241: mostly numbers, but '-' .write a hole as an empty cell.", write("t.csv", csv(*rows)))


def test_numbers_as_categories_keep_their_text_in_files_of_any_kind():
    import pandas as pd

    path = write("t.csv", csv("01234,1", "05678,2", "01234,", header="zip,kind,y"))
    data = load(path, reading=Reading(categorical=["zip", "kind"]))
    assert data.encoding.feature_names == ["zip=01234", "zip=05678", "kind=", "kind=1", "kind=2"]
    again = load(path, encoding=data.encoding)
    np.testing.assert_array_equal(again.X, data.X)
    pd.DataFrame({"zip": ["01234"], "kind": [2.0], "y": [0]}).to_parquet("t.parquet")
    assert load("t.parquet", encoding=data.encoding).X.tolist() == [[1, 0, 0, 0, 1]]


def looks(name: str, cells) -> bool:
    notes = load(write("t.csv", csv(*map(str, cells), header=f"{name},y"))).notes
    assert all(f"column {name!r} looks like an ID: --drop {name}" == note for note in notes)
    return bool(notes)


def test_columns_that_look_like_an_id():
    rng = np.random.default_rng(0)
    mixed = rng.permutation(np.arange(1000, 100_000, 7))[:60]
    assert looks("a", range(100, 160)) and looks("a", rng.permutation(60)) and looks("a", sorted(mixed))
    assert looks("customer_id", mixed) and looks("customerId", mixed) and looks("Nr", mixed)
    assert not looks("income", mixed) and not looks("valid", mixed)
    assert not looks("id", range(49)) and not looks("id", [*range(59), 0]) and not looks("id", mixed + 0.5)


def test_empty_columns_are_left_out_and_said():
    path = write("t.csv", csv("1,,x", "2,NA,y", "3,,", header="n,void,c,y"))
    data = load(path)
    assert data.encoding.columns == ("n", "c")
    assert data.notes == ("column 'void': left out, since no row has a value there",)
    np.testing.assert_array_equal(load(path, encoding=data.encoding).X, data.X)
    not_loaded("no features: all others are empty", write("u.csv", csv("", "")))
    headless = write("t.csv", "1,,x,0\n2,,y,1\n")
    data = load(headless)
    np.testing.assert_array_equal(load(headless, encoding=data.encoding).X, data.X)
    assert load(write("u.csv", "5,,x\n"), encoding=data.encoding, labelled=False).X.tolist() == [[5, 1, 0]]


def test_flags_are_the_features_of_0_and_1():
    rows = ["1,0,True,x,2024-01-01,1", "2,1,False,y,2024-01-02,1", "3,,True,x,2024-01-03,1"]
    data = load(write("t.csv", csv(*rows, header="n,f,t,c,d,one,y")), holes=True)
    assert data.encoding.feature_names == ["n", "f", "t", "c=x", "c=y", "d", "one"]
    assert data.flags.tolist() == [False, True, True, True, True, False, True]
    assert load("t.csv", encoding=data.encoding, holes=True).flags is None and load("iris").flags is None


def test_a_table_of_few_features_is_dense():
    rng = np.random.default_rng(0)
    for values, is_dense in ((190, True), (260, False)):
        rows = [f"w{i % values:03}" for i in rng.permutation(3000)]
        assert isinstance(load(write("t.csv", csv(*rows))).X, np.ndarray) == is_dense
