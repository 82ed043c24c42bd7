"""Tables in memory become the features that the same table in a file becomes."""

from __future__ import annotations

import importlib.util

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from svmkit import fit
from svmkit.data import load
from svmkit.data.tables.in_memory import as_frame, encode_frame, learn_frame
from svmkit.errors import InputError, SvmkitWarning
from svmkit.kernels import RBF

ROWS = 60


def people() -> pd.DataFrame:
    """Numbers, texts, dates as text, truth values, whole numbers, and holes in two columns."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, ROWS),
            "city": rng.choice(["Bonn", "Kiel", "Rom"], ROWS),
            "since": pd.date_range("2020-01-01", periods=ROWS).strftime("%d.%m.%Y"),
            "member": rng.random(ROWS) < 0.5,
            "score": rng.normal(size=ROWS),
        }
    )
    frame.loc[3, "score"], frame.loc[5, "city"] = np.nan, None
    return frame


def containers() -> list:
    makers = [
        pd.DataFrame.convert_dtypes,
        pa.Table.from_pandas,
        lambda frame: pa.Table.from_pandas(frame).to_batches()[0],
    ]
    makers.append(lambda frame: frame.astype({"city": "category"}))
    if importlib.util.find_spec("polars"):
        import polars as pl

        makers += [pl.from_pandas, lambda frame: pl.from_pandas(frame).lazy()]
        if int(pa.__version__.split(".")[0]) >= 18:  # which turns codes without a sign into pandas
            makers.append(lambda frame: pl.from_pandas(frame.astype({"city": "category"})))
    return makers


def test_a_frame_is_learnt_as_its_file_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame, y = people(), np.arange(ROWS) % 2
    frame.assign(label=y).to_csv("people.csv", index=False)
    file, data = load("people.csv", holes=True), learn_frame(frame, holes=True)
    np.testing.assert_array_equal(data.X, file.X)
    assert np.array_equal(data.flags, file.flags) and data.encoding.columns == file.encoding.columns
    assert data.encoding.categories == file.encoding.categories and data.encoding.dates == file.encoding.dates
    np.testing.assert_array_equal(encode_frame(frame, file.encoding, holes=True), file.X)


@pytest.mark.parametrize("make", containers())
def test_all_kinds_of_tables_have_the_same_features(make):
    frame = people()
    data = learn_frame(frame, holes=True)
    other = as_frame(make(frame))
    np.testing.assert_array_equal(encode_frame(other, data.encoding, holes=True), data.X)
    np.testing.assert_array_equal(learn_frame(other, holes=True).X, data.X)


def test_dates_of_a_type_of_dates():
    days = pd.date_range("2020-01-01", periods=3, freq="D")
    frame = pd.DataFrame({"when": days, "x": [1.0, 2.0, 3.0]})
    data = learn_frame(frame)
    assert data.X[:, 0].tolist() == [18262.0, 18263.0, 18264.0] and not data.notes
    np.testing.assert_array_equal(encode_frame(as_frame(pa.Table.from_pandas(frame)), data.encoding), data.X)
    text = frame.assign(when=days.strftime("%Y-%m-%d"))
    np.testing.assert_array_equal(encode_frame(text, data.encoding), data.X)


def test_columns_by_name_by_position_or_encoded_already():
    frame = people()
    data = learn_frame(frame, holes=True)
    for same in (
        frame[frame.columns[::-1]],
        frame.assign(more="x"),
        frame.set_axis(range(5), axis=1),
        pd.DataFrame(data.X),
        pd.DataFrame(data.X, columns=data.encoding.feature_names),
    ):
        np.testing.assert_array_equal(encode_frame(same, data.encoding, holes=True), data.X)


def test_numbers_keep_their_precision_and_an_empty_column_is_left_out():
    frame = pd.DataFrame({"a": [1.5, 2.5], "b": [0, 1]}, dtype=np.float32)
    data = learn_frame(frame)
    assert data.X.dtype == np.float32 and data.flags.tolist() == [False, True]
    data = learn_frame(frame.assign(c=np.nan))
    assert data.encoding.columns == ("a", "b") and data.encoding.positions == (0, 1)
    assert encode_frame(frame.assign(c=7.0), data.encoding).tolist() == [[1.5, 0.0], [2.5, 1.0]]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda frame: frame.drop(columns="city"), "X: lacks column 'city', which the model was trained on"),
        (lambda frame: pd.concat([frame, frame], axis=1), "X: two columns are called 'age'"),
        (lambda frame: frame.assign(score="high"), "row 1 .* column 'score' holds text, but must hold numbers"),
        (lambda frame: frame, "row 4 .* 1 hole in 1 column: score 1; fill them in, or .* impute='median'"),
        (lambda frame: frame.iloc[:0], "Found array with 0 sample"),
        (lambda frame: frame[[]], "Found array with 0 feature"),
        (lambda frame: frame.set_axis(range(5), axis=1).iloc[:, :4], "has 4 columns, but the model was trained on 5"),
    ],
)
def test_a_table_that_does_not_fit_is_refused_in_one_line(change, words):
    frame = people()
    with pytest.raises(InputError, match=words) as caught:
        encode_frame(change(frame), learn_frame(frame, holes=True).encoding)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ([f"text {i}" for i in range(ROWS)], r"X.drop\(columns=\['new'\]\).*X.astype\({'new': 'category'}\)"),
        (["1,5"] * ROWS, "decimal comma .*: convert them to numbers"),
        (["01/02/2024"] * ROWS, "day or the month comes first"),
        ([[1]] * ROWS, "'new' holds list"),
        ([1.0] * (ROWS - 1) + [np.inf], "holds an infinite value"),
        ([1.0] * (ROWS - 1) + [np.nan], r"1 hole in 1 column: new 1; impute='median' fills them"),
    ],
)
def test_a_column_that_cannot_be_learnt_is_refused_in_words_of_python(column, words):
    frame = people().drop(columns=["city", "score"]).assign(new=pd.Series(column), city="Bonn")
    with pytest.raises(InputError, match=words) as caught:
        learn_frame(frame)
    assert "\n" not in str(caught.value) and "--" not in str(caught.value)


@pytest.mark.parametrize("is_object", [False, True])
def test_a_hole_in_numbers_of_polars_has_its_remedy(is_object):
    polars = pytest.importorskip("polars")
    column = polars.Series([1.0] * (ROWS - 1) + [None], dtype=polars.Object if is_object else None)
    frame = as_frame(polars.DataFrame({"new": column, "other": range(ROWS)}))
    with pytest.raises(InputError, match=r"row 60 .*1 hole in 1 column: new 1; impute='median' fills them"):
        learn_frame(frame)
    assert np.isnan(learn_frame(frame, holes=True).X[-1, 0])


def test_objects_of_polars_are_what_they_are_in_pandas():
    polars = pytest.importorskip("polars")
    mixed = polars.DataFrame({"city": polars.Series(["Bonn", 7, None, "Bonn"], dtype=polars.Object)})
    assert as_frame(mixed)["city"].tolist()[:2] == ["Bonn", 7]


def test_a_type_of_categories_makes_a_feature_of_each_value():
    codes = pd.Series(np.arange(ROWS) % 30).astype("category")
    data = learn_frame(pd.DataFrame({"code": codes, "text": [f"t{i}" for i in range(ROWS)]}).astype("category"))
    assert data.n_features == 30 + ROWS and data.encoding.categories[0][:3] == ("0", "1", "10")
    with pytest.warns(SvmkitWarning, match="1 cell holds a category that training never saw"):
        row = pd.DataFrame({"code": pd.Categorical([99], [99, 3]), "text": ["t0"]})
        assert encode_frame(row, data.encoding).sum() == 1.0


def test_what_is_no_table():
    for X in (np.eye(2), [[1.0]], pd.Series([1.0]), pa.chunked_array([[1.0]]), "text", None):
        assert as_frame(X) is None


def test_fit_and_its_model_take_tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame, y = people(), pd.Series(np.arange(ROWS) % 2, name="churned").map({0: "no", 1: "yes"})
    fitted = fit(frame, y, kernel=RBF(0.5), impute="indicator", scale="standard", validation=(frame, y))
    frame.assign(churned=y).to_csv("people.csv", index=False)
    data = load("people.csv", label="churned", holes=True)
    same = fit(data.X, data.y, kernel=RBF(0.5), impute="indicator", scale="standard", flags=data.flags)
    np.testing.assert_array_equal(fitted.model.decision_function(frame), same.model.decision_function(data.X))
    assert fitted.model.encoding.label == "churned" and fitted.model.encoding.label_text
    again = load("people.csv", encoding=fitted.model.encoding, holes=True)
    assert again.y.tolist() == y.tolist()
    np.testing.assert_array_equal(fitted.model.predict(again.X), fitted.model.predict(frame))
    answers = y.to_numpy()
    assert fitted.model.certify(frame, answers)[0].gap == pytest.approx(same.model.certify(data.X, answers)[0].gap)


def test_what_a_caller_should_know_is_a_warning():
    frame = pd.DataFrame({"number": np.arange(ROWS), "x": np.arange(ROWS) % 7, "none": np.nan})
    with pytest.warns(SvmkitWarning) as caught:
        fit(frame, np.arange(ROWS) % 2, kernel=RBF(0.5))
    assert [str(one.message) for one in caught] == [
        "X: column 'number' looks like an ID: X.drop(columns=['number'])",
        "X: column 'none': left out, since no row has a value there",
    ]
    assert {one.filename for one in caught} == {__file__}


def test_kernel_values_in_a_frame_stay_what_they_are():
    X = np.random.default_rng(1).normal(size=(20, 2))
    K, y = pd.DataFrame(X @ X.T).add_prefix("row "), np.arange(20) % 2
    model = fit(K, y, kernel="precomputed").model
    assert model.encoding is None
    np.testing.assert_array_equal(model.predict(K), model.predict(K.to_numpy()))


def test_a_model_without_columns_takes_numbers_of_any_type():
    X = np.random.default_rng(1).integers(0, 9, size=(20, 2))
    model = fit(X, X[:, 0] > 4, kernel=RBF(0.5)).model
    frame = pd.DataFrame(X, columns=["a", "b"])
    for table in (frame, frame.convert_dtypes(), frame.astype(object), pa.Table.from_pandas(frame)):
        np.testing.assert_array_equal(model.predict(table), model.predict(X))
    with pytest.raises(InputError, match="no number"):
        model.predict(frame.assign(a="x"))


def test_nothing_is_written_to_a_frame():
    frame = people()
    before = frame.copy(deep=True)
    learn_frame(frame, holes=True)
    pd.testing.assert_frame_equal(frame, before)
