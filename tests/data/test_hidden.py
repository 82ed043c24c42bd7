"""What a table hides: units, codes, a header that stands again, categories that may be one, a column that decides."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score
from support.problems import write

from svmkit.data import Encoding, Reading, load
from svmkit.data.classes import with_task
from svmkit.data.formats.cells import amount, unit
from svmkit.data.survey import survey
from svmkit.data.tables import alone
from svmkit.data.tables.columns import Column
from svmkit.data.tables.in_memory import encode_frame, learn_frame
from svmkit.errors import InputError, SvmkitWarning

pytestmark = pytest.mark.usefixtures("alone")
ROWS = 240


def table(**columns) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=ROWS), **columns, "label": rng.integers(0, 2, ROWS)})
    frame.to_csv("t.csv", index=False)
    return frame


def notes(**reading) -> list[str]:
    return list(load("t.csv", reading=Reading(**reading)).notes)


@pytest.mark.parametrize(
    ("text", "mark", "value"),
    [
        ("25%", ".", 0.25), ("-2.5 %", ".", -0.025), ("$1,650.88", ".", 1650.88), ("1.650,88 €", ",", 1650.88),
        ("-$3", ".", -3.0), ("EUR 5", ".", 5.0), ("£1,000,000", ".", 1e6), ("12", ".", 12.0),
        ("$5%", ".", None), ("five $", ".", None), ("$1,65", ".", None), ("5 apples", ".", None),
    ],
)  # fmt: skip
def test_amounts(text, mark, value):
    assert amount(text, mark) == (value if value is None else pytest.approx(value, rel=1e-15))
    assert value is not None or text != "$5%" or unit(text) is None


def test_units_are_read_and_remembered():
    rng = np.random.default_rng(1)
    rate, price = rng.integers(0, 100, ROWS), rng.uniform(100, 9000, ROWS).round(2)
    euro = [f"{value:,.2f} €".translate({44: ".", 46: ","}) for value in price]
    frame = table(rate=[f"{value}%" for value in rate], price=[f"${value:,.2f}" for value in price], euro=euro)
    data = load("t.csv")
    np.testing.assert_allclose(data.X[:, 1:], np.c_[rate / 100, price, price], rtol=1e-15)
    assert data.encoding.amounts == (None, ".", ".", ",") and data.n_features == 4
    (line,) = data.notes
    assert (
        "columns 'rate', 'price', 'euro' hold numbers with a unit" in line and "--categorical rate,price,euro" in line
    )
    encoding = Encoding.from_json(data.encoding.to_json())
    np.testing.assert_array_equal(load("t.csv", encoding=encoding).X, data.X)
    np.testing.assert_array_equal(encode_frame(frame, encoding), data.X)
    np.testing.assert_array_equal(encode_frame(frame.assign(price=price), encoding)[:, 2], price)
    frame.assign(price="free").to_csv("t.csv", index=False)
    with pytest.raises(InputError, match=r"t.csv:2: column 'price' holds text, but must hold numbers \('free'\)"):
        load("t.csv", encoding=encoding)


def test_units_that_are_no_amounts():
    table(price=[f"${value},650" for value in range(1, ROWS + 1)])
    with pytest.raises(InputError, match=r"--decimal , if 1,234 means 1.234, --decimal \. if it means 1234"):
        load("t.csv")
    assert load("t.csv", reading=Reading(decimal=".")).X[0, 1] == 1650.0
    table(price=["$5", "€5"] * (ROWS // 2), share=["5%", "5"] * (ROWS // 2))
    assert load("t.csv").encoding.feature_names == ["x", "price=$5", "price=€5", "share=5", "share=5%"]


def test_numbers_with_leading_zeros_are_named():
    frame = table(zip=[("01067", "10115", "99084")[i % 3] for i in range(ROWS)])
    (line,) = notes()
    assert "column 'zip' holds numbers with leading zeros ('01067')" in line and "--categorical zip" in line
    assert load("t.csv", reading=Reading(categorical="zip")).encoding.categories[1] == ("01067", "10115", "99084")
    (line,) = learn_frame(frame.drop(columns="label")).notes
    assert "X.astype({'zip': 'category'})" in line


def test_a_header_that_stands_again_is_left_out():
    table(city=["Bonn", "Kiel"] * (ROWS // 2))
    whole, lines = load("t.csv"), Path("t.csv").read_text().splitlines()
    for at in ([101], [3], [101, 220]):
        joined = list(lines)
        for place in sorted(at, reverse=True):
            joined.insert(place, lines[0])
        Path("joined.csv").write_text("\n".join(joined))
        data = load("joined.csv")
        np.testing.assert_array_equal(data.X, whole.X)
        assert data.y.tolist() == whole.y.tolist() and data.encoding == whole.encoding
        assert f"the header stands again in line {at[0] + 1}" in data.notes[0]
        with pytest.warns(SvmkitWarning, match="the header stands again"):
            np.testing.assert_array_equal(load("joined.csv", encoding=whole.encoding).X, whole.X)
    joined[-1] = "x,Bonn,1"
    Path("joined.csv").write_text("\n".join(joined))
    with pytest.raises(InputError, match=rf"joined.csv:{len(joined)}: column 'x'"):
        load("joined.csv")


def test_categories_that_may_be_one():
    city = np.array(["Bonn", "Kiel", "Ulm"] * (ROWS // 3), dtype=object)
    city[3], city[5], city[8] = "bonn", "Bonn ", "Keil"
    frame = table(city=city)
    alike, slip = notes()
    assert "('Bonn' 79, 'Bonn ' 1, 'bonn' 1)" in alike and "--tidy city joins them" in alike
    assert "may be misspelt ('Keil' 1, beside 'Kiel' 80)" in slip
    data = load("t.csv", reading=Reading(tidy="city"))
    assert data.encoding.categories[1] == ("Bonn", "Keil", "Kiel", "Ulm") and len(data.notes) == 1
    assert data.X[3, 1] == data.X[5, 1] == 1.0
    encoding = Encoding.from_json(data.encoding.to_json())
    row = encode_frame(pd.DataFrame({"x": [0.0], "city": [" BONN"]}), encoding)
    assert row.tolist() == [[0.0, 1.0, 0.0, 0.0, 0.0]]
    np.testing.assert_array_equal(load("t.csv", encoding=encoding).X, data.X)
    lines = learn_frame(frame.drop(columns="label")).notes
    assert "X['city'].str.strip().str.lower() joins them" in lines[0]


def test_many_categories_get_a_line():
    frame = pd.DataFrame({"text": [f"words {i % 60}" for i in range(600)], "label": np.arange(600) % 2})
    frame.to_csv("t.csv", index=False)
    (line,) = notes()
    assert "a 0/1 feature for each text: 'text' for 60; --drop text leaves it out" in line
    assert notes(categorical="text") == []


def test_areas_are_those_of_scikit_learn():
    rng = np.random.default_rng(2)
    y, x = rng.integers(0, 2, 500), rng.integers(0, 30, 500).astype(float)
    x += 5.0 * y
    expected = roc_auc_score(y, x)
    assert alone.area(Column(0, x), y) == pytest.approx(expected, abs=1e-12)
    assert alone.area(Column(0, -x), y) == pytest.approx(expected, abs=1e-12)
    holed = np.where(rng.random(500) < 0.2, np.nan, x)
    known = ~np.isnan(holed)
    assert alone.area(Column(0, holed), y) == pytest.approx(roc_auc_score(y[known], x[known]), abs=1e-12)
    three = rng.integers(0, 3, 500)
    each = [max(a, 1 - a) for a in (roc_auc_score(three == k, x) for k in range(3))]
    assert alone.area(Column(0, x), three) == pytest.approx(np.average(each, weights=np.bincount(three)), abs=1e-12)
    noise = Column(0, np.arange(500, dtype=np.int32), tuple(map(str, range(500))))
    assert alone.area(noise, y) == 0.5  # a text of one row says nothing of others
    assert alone.area(Column(0, y.astype(np.int32), ("no", "yes")), y) == 1.0
    assert alone.area(Column(0, np.ones(500)), y) is None and alone.area(Column(0, x), np.zeros(500)) is None
    assert alone.correlation(Column(0, x), y.astype(float)) == pytest.approx(
        pd.Series(x).corr(pd.Series(y), method="spearman"), abs=1e-12
    )


def test_a_column_that_decides_is_named():
    frame = table()
    frame.assign(leak=frame["label"] * 2.0 + frame["x"] * 0.01).to_csv("t.csv", index=False)
    (line,) = notes(label="label")
    assert "column 'leak' alone decides the label (ROC AUC 1.0000)" in line and "--drop leak" in line
    about = {column["column"]: column for column in survey("t.csv", Reading(label="label"))["columns"]}
    assert about["leak"]["roc_auc"] == 1.0 and "--drop leak" in about["leak"]["remark"]
    assert 0.5 <= about["x"]["roc_auc"] < 0.7 and about["x"]["remark"] is None
    about = survey("t.csv", Reading(label="x"))["columns"]
    assert {column["roc_auc"] for column in about} == {None} and about[0]["rank_correlation"] < 0.3
    frame.iloc[:100].assign(leak=frame["label"]).to_csv("t.csv", index=False)
    assert notes(label="label") == []  # too few rows to say so


def days_table(name, dates):
    rows = [f"{k % 7},{k % 5},{date}" for k, date in enumerate(dates)]
    return write(name, "\n".join(["a,b,day", *rows]) + "\n")


def test_dates_are_no_classes_and_may_be_targets():
    dates = np.datetime64("2020-01-01") + np.arange(300) // 4
    data = load(days_table("days.csv", dates), reading=Reading(label="day"))
    with pytest.raises(InputError, match=r"holds dates \(75 in 300 rows\), which are no classes.*--task regress"):
        with_task(data, None)
    assert with_task(data, "classify").y.dtype.kind == "U"
    np.testing.assert_array_equal(with_task(data, "regress").y, dates.astype(np.int64))
    few = load(days_table("few.csv", dates[:40]), reading=Reading(label="day"))
    assert with_task(few, None).task == "classify"
    either = [f"{day:02}/{month:02}/2020" for month in range(1, 13) for day in range(1, 13)]
    with pytest.raises(InputError, match="of which the day may be either number"):
        with_task(load(days_table("either.csv", either), reading=Reading(label="day")), "regress")


def test_texts_that_are_shared_by_few_rows_are_no_classes():
    data = load(days_table("names.csv", [f"name {k // 2}" for k in range(200)]), reading=Reading(label="day"))
    with pytest.raises(InputError, match="100 values in 200 rows, and 0 of them in one row only, too many for classes"):
        with_task(data, None)
