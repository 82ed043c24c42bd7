"""Excel files, which openpyxl reads if it is installed."""

from __future__ import annotations

import datetime
import importlib.util
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from svmkit.data import Reading, load
from svmkit.errors import InputError, SvmkitWarning

pytestmark = pytest.mark.usefixtures("alone")
needs_openpyxl = pytest.mark.skipif(
    importlib.util.find_spec("openpyxl") is None, reason="needs openpyxl (extra `test`)"
)


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    days = [datetime.datetime(2024, 1, 1) + datetime.timedelta(days=i) for i in range(40)]
    columns = {"age": rng.integers(18, 80, 40), "city": ["Bonn", "Kiel"] * 20, "since": days, "label": [0, 1] * 20}
    return pd.DataFrame(columns | {"score": rng.normal(size=40).round(3)})


def write(frame: pd.DataFrame, path: str = "t.xlsx", change=None) -> str:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    for row in [list(frame.columns), *frame.astype(object).to_numpy().tolist()]:
        sheet.append([None if cell != cell else cell for cell in row])
    if change:
        change(book, sheet)
    book.save(path)
    return path


@needs_openpyxl
def test_a_sheet_is_read_as_its_csv_is():
    frame = table()
    frame.loc[3, "score"] = np.nan
    frame.to_csv("t.csv", index=False)
    data, same = load(write(frame), holes=True), load("t.csv", holes=True)
    np.testing.assert_array_equal(data.X, same.X)
    assert data.y.tolist() == same.y.tolist() and data.encoding == same.encoding
    np.testing.assert_array_equal(load("t.csv", encoding=data.encoding, holes=True).X, data.X)
    np.testing.assert_array_equal(load("t.xlsx", encoding=same.encoding, holes=True).X, data.X)
    with pytest.raises(InputError, match=r"t.xlsx: row 4 .* 1 hole in 1 column: score 1"):
        load("t.xlsx")


@needs_openpyxl
def test_what_a_workbook_has_besides():
    frame = table()
    whole = load(write(frame)).X
    with pytest.warns(SvmkitWarning, match="sheet 'Sheet' is read, 1 other is not"):
        load(write(frame, change=lambda book, sheet: book.create_sheet("more")))

    def push(book, sheet):
        sheet.insert_rows(1)
        sheet.insert_cols(1)
        sheet.append([None, None])

    np.testing.assert_array_equal(load(write(frame, change=push)).X, whole)
    bad = write(frame.astype({"score": object}), change=lambda book, sheet: sheet.__setitem__("E5", "#DIV/0!"))
    assert np.isnan(load(bad, holes=True).X).sum() == 1


@needs_openpyxl
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda book, sheet: sheet.merge_cells("A1:B1"), r"header of sheet 'Sheet' has merged cells \(A1:B1\)"),
        (lambda book, sheet: sheet.__setitem__("B1", "age"), "two columns are called 'age'"),
        (lambda book, sheet: sheet.delete_rows(1, 50), "has no cells"),
    ],
)
def test_a_sheet_that_is_refused(change, words):
    with pytest.raises(InputError, match=words) as caught:
        load(write(table(), change=change))
    assert "\n" not in str(caught.value)


@needs_openpyxl
def test_a_file_that_is_no_workbook():
    Path("t.xlsx").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="is no Excel workbook"):
        load("t.xlsx")
    with zipfile.ZipFile("t.xlsx", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/workbook.xml", b"0" * (80 << 20))
    with pytest.raises(InputError, match="would unpack to 83,886,080 bytes"):
        load("t.xlsx")
    with pytest.raises(InputError, match="--encoding is for CSV and TSV"):
        load(write(table()), reading=Reading(charset="latin-1"))


def test_without_openpyxl_and_in_the_older_format(monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    for path, words in (("t.xlsx", r"pip install 'svmkit\[excel\]'"), ("t.xls", "save it as .xlsx or as CSV")):
        Path(path).write_bytes(b"PK\x03\x04")
        with pytest.raises(InputError, match=words):
            load(path)


def test_a_database_gets_the_way():
    with pytest.raises(InputError, match=r"sqlite://...: a database is not read.*pandas.read_sql\(QUERY, URL\)"):
        load("sqlite:///shop.db")
    with pytest.raises(InputError, match="a database is not read") as caught:
        load("postgresql+psycopg://user:secret@host/shop")
    assert "secret" not in str(caught.value)
