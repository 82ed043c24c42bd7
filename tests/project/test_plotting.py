"""Histories as DataFrames and as pictures."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from support.problems import blobs
from support.refusals import refused

import svmkit
from svmkit import SVMClassifier, SVMOneClass, plot_history, plot_relevance
from svmkit.errors import SvmkitWarning
from svmkit.kernels.functions import RBF
from svmkit.plotting import COLOURS, STYLES, WORDS
from svmkit.plotting.reliability import draw_reliability
from svmkit.solver.history import History, HistoryPoint
from svmkit.solver.loop.minimize import minimize_simplex

CURVE = History(
    [
        HistoryPoint(1, 0.0, 4.0, None, 2, 10),
        HistoryPoint(2, 0.5, 3.0, 0.5, 3, 20, 0.75),
        HistoryPoint(4, 1.0, 2.0, 0.1, 4, 40),
        HistoryPoint(8, 2.0, 1.0, 0.0, 0, 80, 1.0),
    ]
)


def drawn(ax):
    """{label: (x, y)} of the lines; those without a label under their place."""
    found = {}
    for k, line in enumerate(ax.get_lines()):
        label = line.get_label()
        found[k if label.startswith("_") else label] = tuple(np.asarray(v).tolist() for v in line.get_data())
    return found


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.fixture(scope="module")
def models():
    X, y = blobs(60, seed=1)
    return {name: SVMClassifier(name, tol=1e-3).fit(X, y, validation=(X, y)) for name in ("swap2o", "smo", "fcfw")}


@pytest.fixture(scope="module")
def digits():
    """Three classes, so three pairs."""
    X, y = blobs(60, seed=2)
    return SVMClassifier("swap2o", tol=1e-2).fit(X, np.where(X[:, 0] > 1.0, 2.0, y))


# --- to_frame


def test_a_frame_has_a_row_a_point():
    frame = CURVE.to_frame()
    want = pd.DataFrame(
        {
            "n_iter": [1, 2, 4, 8],
            "seconds": [0.0, 0.5, 1.0, 2.0],
            "objective": [4.0, 3.0, 2.0, 1.0],
            "gap": [np.nan, 0.5, 0.1, 0.0],
            "n_support": [2, 3, 4, 0],
            "kernel_values": [10, 20, 40, 80],
            "accuracy": [np.nan, 0.75, np.nan, 1.0],
            "score": [np.nan] * 4,
        }
    )
    pd.testing.assert_frame_equal(frame, want)
    assert tuple(frame.columns) == HistoryPoint._fields
    empty = History().to_frame()
    assert len(empty) == 0 and (empty.dtypes == frame.dtypes).all()


def test_the_frame_of_a_solve(models):
    history = models["swap2o"].history_[0]
    frame = history.to_frame()
    assert len(frame) == len(history) > 3 and frame["n_iter"].is_monotonic_increasing
    assert frame["gap"].iloc[-1] == history[-1].gap and frame["accuracy"].notna().any()


# --- what is drawn


def test_missing_values_and_those_that_a_logarithm_cannot_show_are_left_out():
    assert drawn(plot_history(CURVE))["solve"] == ([0.5, 1.0], [0.5, 0.1])
    assert drawn(plot_history(CURVE, x="n_iter"))["solve"] == ([2, 4], [0.5, 0.1])
    assert drawn(plot_history(CURVE, y="n_support"))["solve"] == ([0.5, 1.0], [3, 4])
    assert drawn(plot_history(CURVE, x="n_support", y="accuracy"))["solve"] == ([3], [0.75])
    assert drawn(plot_history(CURVE, x="n_iter", y="objective"))["solve"] == ([1, 2, 4, 8], [4, 3, 2, 1])
    strange = History([HistoryPoint(1, 1.0, np.inf, np.inf, 1, 1), HistoryPoint(2, 2.0, np.nan, 0.5, 1, 1)])
    assert drawn(plot_history(strange))["solve"] == ([2.0], [0.5])


@pytest.mark.parametrize("x", list(WORDS))
@pytest.mark.parametrize("y", list(WORDS))
def test_every_pair_of_columns(x, y):
    ax = plot_history(CURVE, x=x, y=y)
    assert (ax.get_xlabel(), ax.get_ylabel()) == (WORDS[x], WORDS[y])
    assert ax.get_xscale() == ("linear" if x == "accuracy" else "log")
    assert ax.get_yscale() == ("linear" if y == "accuracy" else "log")
    assert len(drawn(ax)["solve"][0]) >= 1


def test_an_objective_below_zero_has_a_linear_axis():
    below = History([HistoryPoint(1, 0.1, -1.0, 0.5, 1, 1), HistoryPoint(2, 0.2, -2.0, 0.1, 1, 1)])
    ax = plot_history([CURVE, below], y="objective")
    assert ax.get_yscale() == "linear"
    assert drawn(ax)["solve (2)"] == ([0.1, 0.2], [-1.0, -2.0])


def test_ticks_between_powers_of_ten_have_labels_on_a_short_axis_only():
    def between(*seconds):
        ax = plot_history(History([HistoryPoint(1, s, 1.0, 0.1, 1, 1) for s in seconds]))
        ax.figure.canvas.draw()
        low, high = ax.get_xlim()
        ticks = [tick for tick in ax.get_xticklabels(minor=True) if low <= tick.get_position()[0] <= high]
        return [text for tick in ticks if (text := tick.get_text())]

    assert between(0.5, 1.0) == ["0.5", "0.7"]
    assert between(0.05, 50.0) == []


def test_a_single_point_has_a_marker(models):
    assert plot_history(CURVE).get_lines()[0].get_marker() in ("", "None")
    assert plot_history(History(CURVE[1:2])).get_lines()[0].get_marker() == "o"


# --- items


def test_every_kind_of_item(models):
    X, y = blobs(40, seed=3)
    fitted = svmkit.fit(X, y, solver="mdm", kernel=RBF(0.5))
    outliers = SVMOneClass(nu=0.1).fit(X)
    solution = minimize_simplex(X @ X.T + np.eye(40))
    items = [models["smo"], outliers, fitted, CURVE, CURVE.to_frame(), solution]
    ax = plot_history(items)
    names = ["smo", "auto", "mdm", "solve", "solve (2)", "solve (3)"]
    assert legend(ax) == names and list(drawn(ax)) == names
    for item, name in zip(items, names, strict=True):
        assert drawn(plot_history(item)) == {name.partition(" ")[0]: drawn(ax)[name]}
    assert drawn(ax)["mdm"][1] == [p.gap for p in fitted.solutions[0].history if p.gap and p.seconds > 0]


def test_a_dict_names_its_items_and_labels_go_before(models):
    assert legend(plot_history(models)) == ["swap2o", "smo", "fcfw"]
    assert legend(plot_history({1: CURVE, "b": models["smo"]})) == ["1", "b"]
    assert legend(plot_history(models, labels=["a", "b", "c"])) == ["a", "b", "c"]
    assert legend(plot_history(CURVE, labels="mine")) == ["mine"]
    assert legend(plot_history([CURVE] * 3, labels=["a", "a", "a (2)"])) == ["a", "a (2)", "a (2) (2)"]


def test_one_solver_at_several_C_is_labelled_by_C():
    X, y = blobs(40, seed=4)
    path = svmkit.c_path(X, y, [0.1, 10.0], kernel=RBF(0.5))
    assert legend(plot_history(path)) == ["auto, C = 0.1", "auto, C = 10"]


def test_pairs_of_classes_look_alike(digits, models):
    assert len(digits.history_) == 3
    ax = plot_history([digits, models["smo"]])
    lines = ax.get_lines()
    assert legend(ax) == ["swap2o", "smo"] and len(lines) == 4
    assert len({(line.get_color(), line.get_linestyle()) for line in lines[:3]}) == 1
    assert lines[3].get_color() != lines[0].get_color()
    assert [len(line.get_xdata()) for line in lines[:3]] == [
        sum(bool(p.gap and p.gap > 0 and p.seconds > 0) for p in history) for history in digits.history_
    ]


def test_many_curves_differ_in_colour_or_style_and_their_legend_is_beside():
    ax = plot_history([CURVE] * 28)
    looks = {(line.get_color(), line.get_linestyle()) for line in ax.get_lines()}
    assert len(looks) == len(COLOURS) * len(STYLES) == 28
    ax.figure.canvas.draw()
    assert ax.get_legend().get_window_extent().x0 > ax.get_window_extent().x1


def test_a_second_call_goes_on_with_the_colours(models):
    ax = plot_history(models["smo"])
    assert plot_history(models["swap2o"], ax=ax) is ax
    assert legend(ax) == ["smo", "swap2o"] and [line.get_color() for line in ax.get_lines()] == list(COLOURS[:2])


# --- where it is drawn


def test_pyplot_keeps_nothing(models, tmp_path, monkeypatch):
    from matplotlib import pyplot

    monkeypatch.setattr(pyplot, "show", lambda *args, **kwargs: pytest.fail("show() was called"))
    before = pyplot.get_fignums()
    plot_history(models).figure.savefig(tmp_path / "gap.png")
    assert pyplot.get_fignums() == before
    assert (tmp_path / "gap.png").read_bytes().startswith(b"\x89PNG")


def test_importing_svmkit_imports_no_matplotlib():
    code = "import svmkit, sys; svmkit.plot_history; print([m for m in ('matplotlib', 'pandas') if m in sys.modules])"
    env = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_the_example_writes_a_picture(tmp_path):
    example = Path(__file__).parents[2] / "examples" / "plot_history.py"
    command = [sys.executable, example, "--tol", "1e-2", "--solvers", "swap2o", "fcfw", "--out", tmp_path / "h.png"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert (tmp_path / "h.png").read_bytes().startswith(b"\x89PNG")
    assert [line.split()[0] for line in done.stdout.splitlines()[1:3]] == ["swap2o", "fcfw"]


# --- bad input


def test_bad_input(models):
    refused("x must be one of n_iter, seconds.*not 'time'", plot_history, CURVE, x="time")
    refused("y must be one of", plot_history, CURVE, y=None)
    for nothing in ([], {}, ()):
        refused("nothing to draw: give", plot_history, nothing)
    refused("SVMClassifier has no history; call fit first", plot_history, SVMClassifier())
    refused("int has no history: give", plot_history, [CURVE, 3])
    refused("str has no history", plot_history, "swap2o")
    refused("NoneType has no history", plot_history, None)
    refused("list has no history", plot_history, [[1, 2]])
    refused("it lacks n_iter, seconds", plot_history, pd.DataFrame({"gap": [1.0]}))
    refused("column gap of the DataFrame is not numeric", plot_history, CURVE.to_frame().assign(gap="small"))
    refused("labels must be one for each of the 2 items, not 1", plot_history, [CURVE, CURVE], labels=["a"])
    refused("labels must be one for each of the 2 items, not 1", plot_history, [CURVE, CURVE], labels="ab")
    refused("no point has both seconds and gap", plot_history, History())
    refused(
        "no point has both n_iter and accuracy .fit with validation",
        plot_history,
        History(CURVE[:1]),
        x="n_iter",
        y="accuracy",
    )


def test_an_item_without_points_is_left_out_with_a_warning(models):
    with pytest.warns(SvmkitWarning, match="left out, no point has both seconds and accuracy .*: none"):
        ax = plot_history({"none": History(CURVE[:1]), "some": CURVE}, y="accuracy")
    assert legend(ax) == ["some"]


def test_the_curve_of_a_reliability_lies_over_its_bars():
    ax = Figure().subplots()
    bins = np.array([0.15, 0.85]), np.array([0.1, 0.9]), np.array([10, 30])
    draw_reliability(ax, [(bins, {"fmt": "o", "color": "black", "label": "observed"})])
    (counts,) = [other for other in ax.figure.axes if other is not ax]
    assert ax.get_zorder() > counts.get_zorder() and not ax.patch.get_visible()
    assert [bar.get_height() for bar in counts.patches] == [10, 30]
    assert [bar.get_x() + bar.get_width() / 2 for bar in counts.patches] == pytest.approx([0.15, 0.85])
    (line,) = [line for line in ax.lines if line.get_marker() == "o"]
    assert line.get_xdata().tolist() == [0.15, 0.85] and line.get_ydata().tolist() == [0.1, 0.9]


@pytest.mark.parametrize(("turn", "weights"), [(0, None), (2, np.array([0.5, 1.0, 0.0]))])
def test_learnt_weights_that_were_not_better_are_said_to_be_so(turn, weights):
    names = SimpleNamespace(feature_names=lambda n: [f"column {j}" for j in range(1, n + 1)])
    model = SimpleNamespace(
        about={"relevance": {"round": turn}}, relevance=weights, width=3, n_features=3, preprocessing=names
    )
    ax = plot_relevance(model)
    assert ax.get_title() == ("" if turn else "learnt weights were not better: all columns alike")
    assert [bar.get_width() for bar in ax.patches] == ([1.0, 0.5, 0.0] if turn else [1.0, 1.0, 1.0])
    assert [text.get_text() for text in ax.get_yticklabels()] == [
        f"column {j}" for j in ((2, 1, 3) if turn else (1, 2, 3))
    ]
