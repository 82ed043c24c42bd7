"""What leaves a comparison: a table of pandas, a table for papers, a picture; and learning curves."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from support.report import made

from svmkit import plot_comparison
from svmkit.cli.comparing.learning import print_table
from svmkit.compare import learning_curve, plot_learning_curve, results_frame
from svmkit.compare.learning import default_sizes, growth, learning_cells, with_test
from svmkit.compare.plan.spec import read
from svmkit.compare.report import latex
from svmkit.compare.report.pictures import dress
from svmkit.compare.results import COLUMNS
from svmkit.data import load
from svmkit.data.splitting import sample
from svmkit.errors import InputError


@pytest.fixture(scope="module")
def results():
    return made(sets=("one", "two", "three"), seeds=2)


def test_a_frame_has_a_row_for_each_run_in_the_documented_types(results, tmp_path):
    frame = results_frame(results)
    assert dict(frame.dtypes.astype(str)) == COLUMNS and len(frame) == 3 * 3 * 2
    assert frame["suboptimality"].tolist() == [record["suboptimality"] for record in results.records]
    path = tmp_path / "results.jsonl"
    lines = [json.dumps(record) + "\n" for record in results.records]
    path.write_text("".join(lines) + '{"key": "cut sh', encoding="utf-8")
    before = path.read_bytes()
    pd.testing.assert_frame_equal(results_frame(path), frame)
    assert path.read_bytes() == before  # a comparison may be writing to it
    for name in COLUMNS:
        assert f"{name}" in results_frame.__doc__


def test_a_failed_run_has_missing_values():
    cell = {"key": "k", "set": "one", "label": "smo", "stop": "", "seed": 0, "status": "failed", "reason": "no"}
    (row,) = results_frame([cell]).to_dict("records")
    assert row["reason"] == "no" and pd.isna(row["n_iter"]) and np.isnan(row["fit_s"])
    for wrong in ([{"a": 1}], [3]):
        with pytest.raises(InputError, match="no records of a comparison"):
            results_frame(wrong)
    with pytest.raises(InputError, match="cannot be read"):
        results_frame("nowhere.jsonl")


def test_a_picture_has_a_panel_for_each_set_and_one_of_ranks(results):
    figure = plot_comparison(results)
    assert [ax.get_title() for ax in figure.axes] == ["one", "two", "three", "mean ranks"]
    first = figure.axes[0]
    assert (first.get_xlabel(), first.get_ylabel()) == ("training time (s)", "test accuracy")
    times = [float(bars[0].get_xdata()[0]) for bars in first.containers]
    assert times == pytest.approx([results.row("one", name).mean("fit_s") for name in ("fw", "swap", "smo")])
    last = figure.axes[-1]
    ranks = [(float(line.get_ydata()[0]), float(line.get_xdata()[0])) for line in last.lines]
    assert ranks == [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3)]
    for at, limits in zip(np.transpose(ranks), (last.get_ylim(), last.get_xlim()), strict=True):
        assert min(limits) < at.min() and at.max() < max(limits)
    one = plot_comparison(results_frame(results), y="gap", sets="two")
    assert [ax.get_title() for ax in one.axes] == ["two"] and one.axes[0].get_yscale() == "log"


def test_means_that_round_above_the_largest_value_are_drawn():
    same = 0.9590643274853801  # the mean of three of them is not this number
    assert np.mean([same] * 3) != same or np.mean([0.1] * 3) > 0.1
    results = made(seeds=3, change=lambda cell, record: record | {"test_accuracy": same, "fit_s": 0.1})
    assert len(plot_comparison(results).axes) == 3


@pytest.mark.parametrize(
    "options, message",
    [
        ({"y": "speed"}, "'speed' is not a measure"),
        ({"sets": ["four"]}, "no set 'four'"),
        ({"y": "test_r2"}, "nothing"),
    ],
)
def test_what_a_picture_cannot_show_is_said(results, options, message):
    with pytest.raises(InputError, match=message):
        plot_comparison(results, **options)


def test_axes_that_are_not_logarithmic_keep_their_ticks():
    axes = Figure().subplots(1, 2)
    for ax in axes:
        ax.set(xlim=(2.0, 9.0), ylim=(0.3, 0.7))
    dress(axes[0], "x", "y")
    for dressed, plain in zip(*((ax.xaxis, ax.yaxis) for ax in axes), strict=True):
        np.testing.assert_array_equal(dressed.get_ticklocs(), plain.get_ticklocs())


@pytest.mark.slow
def test_a_table_for_papers_marks_the_best_as_the_report_does():
    def change(cell, record):  # two that are equal as shown
        return record | {"test_accuracy": 0.9, "fit_s": 0.5 if cell.solver == "fw" else 2.0}

    results = made(sets=("a_b & c%", "x<y^2~{\\}"), solvers=("fw", "smo_1", "swap"), change=change)
    text = latex.table(results)
    rows = [line.strip().removesuffix(r"\\").split(" & ") for line in text.splitlines() if line.endswith(r"\\")]
    width = len(rows[0])
    assert {len(re.split(r"(?<!\\) & ", line)) for line in text.splitlines() if line.endswith(r"\\")} == {width}
    assert r"a\_b \& c\%" in text and r"x\textless{}y\textasciicircum{}2\textasciitilde{}\{\textbackslash{}\}" in text
    assert text.count(r"{\boldmath$90.00$}") == 6 and text.count(r"{\boldmath$0.500$}") == 2
    assert r"smo\_1" in text and r"\label{tab:made-up}" in text and "mean rank" in text
    assert text.count(r"\toprule") == text.count(r"\bottomrule") == 1 and text.count("{") == text.count("}")


@pytest.mark.slow
def test_many_solvers_have_their_best_rank_in_bold():
    text = latex.table(made(sets=("a", "b"), solvers=tuple("abcdefghijkl")))
    assert r"{\boldmath$1.00$}" in text and r"\boldmath$10.00$" not in text


def test_samples_of_rows_are_part_of_each_other_and_have_every_class():
    data = load("iris")
    rows = {n: {row.tobytes() for row in sample(data, n, 3).X} for n in (3, 10, 60, 150)}
    assert rows[3] < rows[10] < rows[60] < rows[150]
    assert sorted(sample(data, 3, 0).y) == sorted(set(data.y))
    counts = np.unique(sample(data, 60, 0).y, return_counts=True)[1]
    assert counts.tolist() == [20, 20, 20]


def test_exponents_are_those_of_the_times():
    rng = np.random.default_rng(0)
    rows = np.repeat([100, 200, 400, 800, 1600], 3)
    frame = pd.DataFrame({"solver": "smo", "status": "converged", "n_samples": rows})
    for shared in (0.0, 0.05):  # the part of a deviation that the repeats at a size have in common
        hit = 0
        for _ in range(200):
            noise = 0.05 * rng.normal(size=len(rows)) + np.repeat(shared * rng.normal(size=5), 3)
            frame["fit_s"] = 1e-5 * rows**1.7 * np.exp(noise)
            (found,) = growth(frame)
            hit += found.low < 1.7 < found.high
        assert 180 <= hit <= 199  # of intervals of 95%
    assert found.is_slow and found.sizes == (100, 200, 400, 800, 1600)
    assert re.match(r"smo: time grows as rows\^1\.[67]\d \(95% interval ", str(found))
    (fast,) = growth(frame.assign(fit_s=frame["fit_s"] / 1e4))
    assert fast.exponent == pytest.approx(found.exponent) and "constant costs included" in str(fast)
    assert growth(frame[frame["n_samples"] < 400]) == []  # two sizes are a line through anything
    assert default_sizes(32_000)[::5] == [1000, 32_000] and default_sizes(40) == [40]


def test_a_curve_is_of_one_problem():
    for wrong, message in (
        ({"data": ["iris", "wine"]}, "one problem"),
        ({"C": [1, 2]}, "one problem"),
        ({}, "150 rows cannot be trained on: iris has 114"),
    ):
        with pytest.raises(InputError, match=message):
            learning_cells(with_test(read({"data": ["iris"], "solvers": ["smo"]} | wrong)), [10, 150], 1)


@pytest.mark.slow
@pytest.mark.usefixtures("cells_here")
def test_a_learning_curve_from_python_goes_on_from_its_file(tmp_path):
    path = tmp_path / "curve.jsonl"
    frame = learning_curve("breast_cancer", ["smo", "fcfw"], sizes=[40, 100, 300], repeats=2, results=path)
    assert len(frame) == 12 and frame["n_samples"].tolist() == [40] * 4 + [100] * 4 + [300] * 4
    assert (frame["gap"] <= 1e-3).all() and frame["n_test"].nunique() == 1
    again = learning_curve("breast_cancer", ["smo", "fcfw"], sizes=[40, 100, 300], repeats=2, results=path)
    pd.testing.assert_frame_equal(frame, again)
    figure = plot_learning_curve(path)
    assert [ax.get_ylabel() for ax in figure.axes] == ["test accuracy", "training time (s)", "certified gap"]
    assert figure.axes[0].lines[0].get_xdata().tolist() == [40, 100, 300]


@pytest.mark.parametrize(
    ("tested", "metric", "labels"),
    [
        ({"test_accuracy": 0.9, "test_metric": 0.8}, "f1_macro", ["test accuracy", "f1 macro"]),
        ({"test_r2": 0.4, "test_mae": 3.0, "test_rmse": 4.0}, "neg_mean_absolute_error", ["test R2", "MAE"]),
        ({"test_r2": 0.4, "test_mae": 3.0, "test_rmse": 4.0}, "r2", ["test R2"]),
    ],
)
def test_a_curve_shows_the_metric_that_was_asked_for(capsys, tested, metric, labels):
    common = {"set": "a 40 rows", "label": "smo", "status": "converged", "fit_s": 0.1, "metric": {"name": metric}}
    frame = results_frame([common | tested | {"n_samples": m} for m in (40, 80)])
    assert [ax.get_ylabel() for ax in plot_learning_curve(frame).axes] == [*labels, "training time (s)"]
    print_table(frame)
    shown = capsys.readouterr().out
    assert all(label.removeprefix("test ") in shown for label in labels) and ("MAE" in shown) == ("MAE" in labels)


def test_each_measure_with_a_head_of_its_own_is_a_column():
    assert set(latex._HEADS) <= set(latex._METRICS) and len(set(latex._METRICS)) == len(latex._METRICS)
