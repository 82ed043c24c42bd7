"""Pictures of explanations show the numbers of the explanation."""

import numpy as np
import pytest

from svmkit import InputError, fit, load
from svmkit.data import Preprocessing
from svmkit.model.model import SVMModel
from svmkit.plotting import plot_contributions, plot_dependence, plot_importance

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4)) * [1, 1, 1, 0.01]
Y = np.digitize(X[:, 0] + X[:, 1] ** 2, [0.0, 1.0])


def names_of(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def test_bars_are_mean_magnitudes():
    explanation = fit(X, Y).model.explain(X)
    ax = plot_importance(explanation, function="1", most=3)
    sizes = explanation.importance()[:, 1]
    order = np.argsort(-sizes)[:3]
    assert names_of(ax) == [f"column {j + 1}" for j in order]
    assert [bar.get_width() for bar in ax.patches] == pytest.approx(sizes[order].tolist())
    assert "3 of 4 columns" in ax.get_xlabel() and "decision for 1" in ax.get_xlabel()
    assert "all decisions" in plot_importance(explanation).get_xlabel()


def test_bars_of_a_row_lead_from_the_mean_to_the_decision():
    explanation = fit(X, Y > 0, calibration="sigmoid").model.explain(X)
    ax = plot_contributions(explanation, 3, most=3)
    starts, widths = zip(*((bar.get_x(), bar.get_width()) for bar in ax.patches), strict=True)
    ends = [*(min(a, a + w) if w > 0 else max(a, a + w) for a, w in zip(starts, widths, strict=True))]
    assert sum(widths) == pytest.approx(explanation.decision[3, 0] - explanation.base[0])
    assert ends[0] == pytest.approx(explanation.base[0]) and names_of(ax)[-1] == "2 other columns"
    low, high = ax.get_xlim()
    assert low < min(*starts, *(a + w for a, w in zip(starts, widths, strict=True))) < high
    assert "probability" in ax.get_title()


def test_dots_are_values_and_contributions():
    explanation = fit(X, X[:, 0] ** 2, task="regress").model.explain(X)
    ax = plot_dependence(explanation, "column 1")
    (dots,) = ax.collections
    np.testing.assert_allclose(dots.get_offsets(), np.column_stack([X[:, 0], explanation.values[:, 0]]))
    assert ax.get_ylabel() == "contribution to the prediction"


def test_categories_stand_side_by_side(tmp_path):
    rows = [f"{x:.2f},{['red', 'green', 'blue'][k % 3]},{int(x > 0 or k % 3 == 0)}" for k, x in enumerate(X[:, 0])]
    (tmp_path / "t.csv").write_text("\n".join(["size,colour,label", *rows]))
    data = load(tmp_path / "t.csv")
    model = fit(data.X, data.y).model
    model = SVMModel(**vars(model) | {"preprocessing": Preprocessing(data.encoding)})
    ax = plot_dependence(model.explain(data.X), "colour")
    assert [text.get_text() for text in ax.get_xticklabels()] == ["blue", "green", "red"]


def test_bad_input():
    explanation = fit(X, Y).model.explain(X, players={"both": [0, 1]})
    with pytest.raises(InputError, match="several numbers in a row"):
        plot_dependence(explanation, "both")
    with pytest.raises(InputError, match=r"no row 60: .* from 0 to 59"):
        plot_contributions(explanation, 60)
