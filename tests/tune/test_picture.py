"""Pictures of a search: what is drawn over what, and files that cannot be."""

import math
from dataclasses import replace

import numpy as np
import pytest

from svmkit import plugins
from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Linear
from svmkit.scoring.metric import Metric
from svmkit.tune import Candidate, picture, plan

SMO = plugins.build("solver", "smo")
ACCURACY = Metric("accuracy", np.array([0, 1]))


def candidate(params, accuracy, gamma=0.1):
    C = params.get("C", 1.0)
    scores = accuracy, 0.01, accuracy, 0.01
    return Candidate(params, SMO, RBF(gamma), C, gamma, 100, *scores, 0.1, 10.0, 100.0, 5.0, True, True, None)


def grid(Cs=(0.1, 1.0, 10.0), gammas=(0.01, 0.1, 1.0)):
    made = [candidate({"C": C, "gamma": g}, 0.9 - 0.01 * abs(math.log10(C * g)), g) for C in Cs for g in gammas]
    return sorted(made, key=lambda c: -c.mean_accuracy)


@pytest.fixture
def drawn(tmp_path, monkeypatch):
    """drawn(candidates, name) -> (figure's axes, bytes of the file)"""
    from matplotlib.figure import Figure

    def run(candidates, name="p.png", metric=ACCURACY):
        figures = []
        save = Figure.savefig
        monkeypatch.setattr(Figure, "savefig", lambda self, *a, **k: (figures.append(self), save(self, *a, **k)))
        picture.draw(candidates, tmp_path / name, "title", metric)
        return figures[0].axes, (tmp_path / name).read_bytes()

    return run


@pytest.mark.parametrize("name, begins", [("p.png", b"\x89PNG"), ("p.svg", b"<?xml"), ("p.pdf", b"%PDF")])
def test_formats(drawn, name, begins):
    assert drawn(grid(), name)[1].startswith(begins)


@pytest.mark.parametrize("left_out", [0, 1], ids=["whole grid", "scattered"])
def test_two_numbers_are_a_contour_with_dots_and_the_best(drawn, left_out):
    candidates = grid()[: 9 - left_out]
    (axes, bar), _ = drawn(candidates)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("C  (log scale)", "gamma  (log scale)")
    assert "%" in bar.get_ylabel() and axes.get_title(loc="left") == "title"
    dots, star = axes.get_lines()
    places = sorted((math.log10(c.C), math.log10(c.gamma)) for c in candidates)
    np.testing.assert_allclose(sorted(map(tuple, dots.get_xydata())), places)
    best = candidates[0]
    assert tuple(star.get_xydata()[0]) == pytest.approx((math.log10(best.C), math.log10(best.gamma)))
    assert "best: 90.00 %" in star.get_label()


@pytest.mark.parametrize("candidates", [grid()[:2], grid((1.0, 1.0, 10.0), (0.01, 0.1))[:2]], ids=["two", "few"])
def test_no_area_is_drawn_as_dots(drawn, candidates):
    axes, _ = drawn([candidate({"C": 1.0, "gamma": 0.1}, 0.9), candidate({"C": 2.0, "gamma": 0.2}, 0.8, 0.2)])
    assert len(axes) == 2 and len(axes[0].collections) >= 1
    drawn(candidates)


def test_the_best_over_other_settings_is_drawn(drawn):
    both = [candidate({"C": c.C, "gamma": c.gamma, "loss": loss}, c.mean_accuracy - less, c.gamma)
            for c in grid() for loss, less in (("hinge", 0.0), ("squared_hinge", 0.3))]  # fmt: skip
    (axes, bar), _ = drawn(sorted(both, key=lambda c: -c.mean_accuracy))
    assert axes.get_legend().get_title().get_text() == "best over loss"
    assert bar.get_ylim()[0] > 85.0


def test_one_number_is_a_line_with_error_bars(drawn):
    losses = [candidate({"C": 10.0**k, "loss": loss}, 0.9 - 0.01 * k) for k in range(4) for loss in ("hinge", "other")]
    (axes,), _ = drawn(losses)
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert {"loss=hinge", "loss=other"} <= set(labels) and any(text.startswith("best: 90.00 %") for text in labels)
    assert len(axes.containers) == 2 and "standard deviation" in axes.get_ylabel()
    (axes,), _ = drawn([candidate({"degree": k}, 0.9) for k in range(1, 5)])
    assert axes.get_xlabel() == "degree" and all(tick == round(tick) for tick in axes.get_xticks())


def test_the_metric_is_named_and_only_shares_are_in_per_cent(drawn):
    (_, bar), _ = drawn(grid(), metric=Metric("balanced_accuracy", np.array([0, 1])))
    assert bar.get_ylabel() == "balanced accuracy in cross-validation, %"
    (axes, bar), _ = drawn(grid(), metric=Metric("matthews_corrcoef", np.array([0, 1])))
    assert bar.get_ylabel() == "matthews corrcoef in cross-validation" and bar.get_ylim()[1] <= 1.0
    assert "best: 0.9000 at" in axes.get_lines()[1].get_label()


def test_what_failed_is_left_out(drawn):
    candidates = [*grid(), candidate({"C": 1000.0, "gamma": 1.0}, math.nan)]
    (axes, _), _ = drawn(candidates)
    assert len(axes.get_lines()[0].get_xydata()) == 9


def test_files_and_searches_that_cannot_be_drawn(tmp_path):
    paths = plan(SMO, RBF(), {"C": [1, 2]})
    with pytest.raises(InputError, match=r"has to end in \.png"):
        picture.require_drawable("p.gif", paths)
    for grid_ in ({"C": [1]}, {"loss": ["hinge", "squared_hinge"]}, {"shrinking": [True, False], "C": [3]}):
        with pytest.raises(InputError, match="nothing to draw"):
            picture.require_drawable("p.png", plan(SMO, RBF(), grid_))
    for grid_ in ({"C": [1, 2]}, {"gamma": ["scale", "auto"]}, {"gamma": [1, 2], "loss": ["hinge"]}):
        picture.require_drawable("p.PNG", plan(SMO, RBF(), grid_))
    with pytest.raises(InputError, match="cannot write"):
        picture.draw(grid(), tmp_path / "nowhere" / "p.png", "title", ACCURACY)


def test_a_candidate_that_is_not_the_best_is_the_chosen_one(drawn):
    *rest, worst = grid()
    (axes, _), _ = drawn([worst, *rest])
    assert axes.get_lines()[1].get_label().startswith("chosen: ")


def test_kernels_are_named_with_a_gamma_that_is_not_searched():
    searched, fixed = candidate({"C": 1.0, "gamma": 0.1}, 0.9), candidate({"C": 1.0}, 0.8, 0.05)
    linear = replace(fixed, kernel=Linear(), gamma=None)
    assert picture.name_kernels([searched]) == "rbf kernel"
    assert picture.name_kernels([fixed, linear]) == "linear and rbf (gamma=0.05) kernels"
