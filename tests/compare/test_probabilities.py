"""A comparison with calibrated probabilities: log loss, Brier score and the picture of their reliability."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn import metrics
from support.report import made

import svmkit as package
from svmkit.cli.comparing.comparison_table import print_tables
from svmkit.compare.plan.sets import prepare
from svmkit.compare.plan.spec import read
from svmkit.compare.report import html, pictures, stats, words
from svmkit.errors import InputError
from svmkit.scoring.probability_scores import ProbabilityScores, Reliability
from svmkit.solver.stopping import Gap

pytestmark = pytest.mark.usefixtures("alone", "cells_here")
BINS = [{"predicted": 0.15, "observed": 0.1, "rows": 60}, {"predicted": 0.8, "observed": 0.9, "rows": 40}]


def sure(cell, record):
    """The record of a cell with probabilities; the later a solver, the worse they are."""
    loss = {"fw": 0.1, "swap": 0.2}.get(cell.solver, 0.3) + 0.01 * cell.seed
    found = {"test_log_loss": loss, "test_brier_score": loss / 4}
    return record | found | {"test_reliability": {"of": "class spam", "bins": BINS}}


def of_solvers(raw):
    return {cell.solver: cell.settings["solver"].get("calibrate") for cell in read(raw).cells()}


def test_a_calibration_of_all_solvers_of_a_set_or_of_one():
    raw = {"data": ["iris"], "solvers": {"smo": {}, "fcsmo": {"calibrate": "isotonic"}, "fw": {"calibrate": "none"}}}
    assert of_solvers(raw) == {"smo": None, "fcsmo": "isotonic", "fw": None}
    assert of_solvers(raw | {"calibrate": "sigmoid"}) == {"smo": "sigmoid", "fcsmo": "isotonic", "fw": None}
    assert of_solvers(raw | {"data": {"iris": {"calibrate": "sigmoid"}}})["smo"] == "sigmoid"
    plain, calibrated = (read(raw | more).cells() for more in ({}, {"calibrate": "sigmoid"}))
    same = [cell.key == other.key for cell, other in zip(plain, calibrated, strict=True)]
    assert same == [False, True, True]  # a finished cell without a calibration is not taken for one with it
    assert plain[2].key == read(raw | {"solvers": ["fw"]}).cells()[0].key


def test_what_is_refused(refused):
    raw = {"data": ["iris"], "solvers": ["smo"]}
    with pytest.raises(InputError, match=r"data.iris, solvers.smo.calibrate: .*'platt' is not known: give sigmoid or"):
        read(raw | {"calibrate": "platt"})
    with pytest.raises(InputError, match="quantities have no probabilities: leave calibrate out"):
        read(raw | {"calibrate": "sigmoid", "task": "regress"})
    with pytest.raises(InputError, match="no test split and log loss is asked for"):
        read(raw | {"calibrate": "sigmoid", "metrics": ["log_loss"]})
    common = ("--solvers", "smo", "--no-track", "--calibrate")
    refused(["--calibrate 'platt'", "sigmoid, isotonic"], "compare", "iris", *common, "platt")
    refused(["quantities", "--calibrate"], "compare", "diabetes", "--task", "regress", *common, "sigmoid")
    refused(["data set '-'"], "compare", "-", *common, "sigmoid")


@pytest.mark.slow
def test_tables_tests_and_the_report_have_the_scores(capsys):
    results = made(sets=("a", "b", "c"), seeds=2, change=sure)
    assert [row.treatment for row in results.best("a", "test_log_loss")] == ["fw"]
    table = words.describe_set(results, "a")
    at = table.heads.index("log loss")
    assert table.rows[0][at].best and table.rows[0][at].text == "0.1050" and "Brier score" in table.heads
    ranks = {test.metric: test for test in stats.over_sets(results)}["test_log_loss"].friedman.ranks
    assert ranks.tolist() == [1, 2, 3]
    print_tables(results)
    assert "Brier score" in capsys.readouterr().out
    one = {"sets": ("a",), "solvers": ("fw", "smo")}
    assert "<h3>Reliability</h3>" in html.render(made(**one, change=sure))
    assert "Reliability" not in html.render(made(**one)) and pictures.reliability(made()) is None
    assert "test_log_loss" not in [test.metric for test in stats.over_sets(made())]


def test_the_picture_has_a_line_for_each_solver_with_probabilities():
    def some(cell, record):
        return record if cell.solver == "swap" else sure(cell, record)

    figure = pictures.reliability(made(sets=("a", "b"), seeds=3, change=some))
    first, second = (ax for ax in figure.axes if ax.get_title())
    assert (first.get_title(), second.get_title()) == ("a", "b") and "class spam" in first.get_xlabel()
    drawn = [line.get_xydata() for line in first.lines]
    assert len(drawn) == 3 and drawn[0].tolist() == [[0, 0], [1, 1]]  # the diagonal
    for points in drawn[1:]:
        np.testing.assert_allclose(points, [[0.15, 0.1], [0.8, 0.9]])
    counted = sorted(bar.get_height() for ax in figure.axes if not ax.get_title() for bar in ax.patches)
    assert counted == [120] * 4 + [180] * 4  # three runs of two solvers on two sets


@pytest.mark.slow
def test_the_picture_is_one_of_those_that_are_kept(tmp_path):
    names = [path.name for path in pictures.draw(made(("a",), ("fw", "smo"), change=sure), tmp_path, "c")]
    assert "c-reliability.png" in names


def test_bins_of_several_runs_are_joined():
    rng = np.random.default_rng(0)
    chances, hits = rng.random(500), rng.random(500) < 0.4
    chances[:40] = 0.3  # their mean may be a little less
    parts = [
        Reliability.from_probabilities(chances[part], hits[part]).plain() for part in (slice(0, 100), slice(100, 500))
    ]
    for found, whole in zip(
        Reliability.from_plain(parts[0] + parts[1]), Reliability.from_probabilities(chances, hits), strict=True
    ):
        np.testing.assert_allclose(found, whole)


def test_probabilities_of_predicted_labels():
    chances = np.array([[0.7, 0.2, 0.1], [0.1, 0.15, 0.75], [0.4, 0.35, 0.25]])
    found = ProbabilityScores.from_predictions(
        chances, np.array(["a", "b", "c"]), np.array(["a", "b", "a"])
    ).reliability_of_labels()
    assert found.rows.tolist() == [1, 2] and found.observed.tolist() == [1.0, 0.5]
    np.testing.assert_allclose(found.predicted, [0.4, 0.725])


def scores_by_hand(cell):
    """Log loss and Brier score of the cell's fit in this process, by scikit-learn."""
    sets, kind = prepare(cell.settings["data"]), cell.settings["solver"]["calibrate"]
    how = {"scale": "standard", "calibration": kind, "stop": Gap(1e-3)}
    model = package.fit(sets.train.X, sets.train.y, solver=cell.solver, kernel=sets.kernel, **how).model
    chances, truth = model.predict_proba(sets.test.X), sets.test.y[:, None] == model.classes
    loss, squares = metrics.log_loss(sets.test.y, chances), np.square(chances - truth).sum(axis=1).mean()
    return loss, squares if len(model.classes) > 2 else squares / 2


@pytest.mark.slow
def test_cells_have_the_scores_of_their_test_rows_and_go_on(svmkit):
    from svmkit_registry import store

    spec = {
        "data": {"breast_cancer": {"solvers": ["smo"]}, "iris": {}},
        "solvers": {"smo": {}, "fw": {"calibrate": "none"}},
        "scale": "standard",
    }
    spec |= {"test": 0.3, "calibrate": "sigmoid"}
    Path("c.yaml").write_text(json.dumps(spec), encoding="utf-8")
    done = svmkit("compare", "--spec", "c.yaml", "--report", "r.html", "--json", "--experiment", "sure")
    assert done.code == 0, done.err
    lines = {(line["set"], line["label"]): line for line in map(json.loads, done.out.splitlines())}
    for cell in read(spec).cells():
        found = lines[cell.data, cell.solver]
        if cell.solver == "fw":
            assert found["calibration"] is found["test_log_loss"] is found["test_reliability"] is None
            continue
        assert (found["calibration"]["kind"], found["calibration"]["folds"]) == ("sigmoid", 5)
        assert (found["test_log_loss"], found["test_brier_score"]) == pytest.approx(scores_by_hand(cell), rel=1e-6)
        bins = found["test_reliability"]
        assert bins["of"] == ("predicted label" if cell.data == "iris" else "class malignant")
        assert sum(entry["rows"] for entry in bins["bins"]) == found["n_test"]
    assert "<h3>Reliability</h3>" in Path("r.html").read_text(encoding="utf-8")
    client = store.open_client(store.tracking_uri())
    experiment = client.get_experiment_by_name("sure").experiment_id
    runs = {run.info.run_id: run for run in client.search_runs([experiment])}
    of = lines["iris", "smo"]
    assert runs[of["run_id"]].data.metrics["test/log_loss"] == pytest.approx(of["test_log_loss"])
    assert runs[of["run_id"]].data.params["calibrate"] == "sigmoid"
    assert "test/brier_score" not in runs[lines["iris", "fw"]["run_id"]].data.metrics
    kept = Path("c.jsonl").read_text(encoding="utf-8").splitlines()
    Path("c.jsonl").write_text("\n".join(kept[:2]) + "\n" + kept[2][:200], encoding="utf-8")  # as a kill leaves it
    again = svmkit("compare", "--spec", "c.yaml", "--no-track")
    assert "2 of 3 cells were finished before" in again.err and "log loss" in again.out and again.code == 0


@pytest.mark.slow
def test_quantities_and_rare_classes_fail_in_one_line(svmkit):
    rows = "".join(f"{1 + (k > 56)} 1:{k}\n" for k in range(60))
    Path("rare.svm").write_text(rows, encoding="utf-8")
    calibrated = ("--solvers", "smo", "--calibrate", "isotonic", "--no-track", "--json")
    quantities = svmkit("compare", "diabetes", *calibrated)
    assert (quantities.code, quantities.out) == (2, "") and "only a classifier has probabilities" in quantities.err
    rare = svmkit("compare", "rare.svm", *calibrated)
    reason = json.loads(rare.out)["reason"]
    assert rare.code == 1 and "class 2 has 3" in reason and "\n" not in reason
