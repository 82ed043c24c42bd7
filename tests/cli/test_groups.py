"""--groups COL: rows of the same value stay together, in folds and in what is held out, and are no feature."""

from pathlib import Path

import numpy as np
import pytest

from svmkit import SVMClassifier, SVMModel, fit, load
from svmkit.data import Reading
from svmkit.data.splitting import split
from svmkit.solver.stopping import Gap

pytestmark = pytest.mark.usefixtures("alone")


def patients(name="p.csv", n=60, gap=None):
    """A table of visits, three for each patient, whose label belongs to the patient; a row may lack its patient."""
    rng = np.random.default_rng(0)
    lines = ["age,patient,dose,ill"]
    for k in range(n):
        x = rng.normal(size=2) + 2 * (k % 2)
        for visit in range(3):
            who = "" if gap == 3 * k + visit else f"no{k}"
            lines.append(f"{x[0]:.4f},{who},{x[1] + 0.01 * visit:.4f},{'yes' if k % 2 else 'no'}")
    Path(name).write_text("\n".join(lines) + "\n")
    return name


def test_the_column_is_read_and_is_no_feature():
    data = load(patients(), reading=Reading(groups="patient"))
    assert data.X.shape == (180, 2) and data.groups.tolist()[:4] == ["no0", "no0", "no0", "no1"]
    assert data.encoding.columns == ("age", "dose") and load(patients(), reading=Reading(drop="patient")).groups is None
    for seed in range(5):
        train, test = split(data, 0.25, seed)
        assert not set(train.groups) & set(test.groups) and len(train.groups) == train.n_samples
        assert 0.15 < test.n_samples / 180 < 0.35


def test_folds_keep_groups_together(svmkit, monkeypatch):
    from svmkit.choice import one_call
    from svmkit.tune import crossval

    seen, make = [], crossval.make_splits
    for module in (one_call, crossval):
        monkeypatch.setattr(module, "make_splits", lambda *args, **given: seen.append(make(*args, **given)) or seen[-1])
    rows = load(patients(), reading=Reading(groups="patient")).groups
    given = ("--groups", "patient", "--no-track", "--json", "--cv", 3)
    done = svmkit("train", patients(), "--tune", *given, "--calibrate", "sigmoid")
    assert done.code == 0 and done.json["n_features"] == 2 and "are equal to one in another fold" not in done.err
    assert svmkit("tune", patients(), *given, "--grid", "C=1,10").code == 0
    folds = [splits.pairs for splits in seen]
    assert len(folds) >= 2 and all(len(pairs) == 3 for pairs in folds)
    for pairs in folds:
        for train, held in pairs:
            assert not set(rows[train]) & set(rows[held])
    held_out = svmkit("train", patients(), "--groups", "patient", "--test-size", 0.3, "--no-track", "--json").json
    assert held_out["n_test"] % 3 == 0 and held_out["n_features"] == 2


WAYS = [("train",), ("tune", "--grid", "C=1", "--cv", "3"), ("train", "--relevance", "learned")]


@pytest.mark.parametrize("command", WAYS, ids=" ".join)
def test_the_folds_of_a_calibration_keep_groups_together(svmkit, command):
    """The probabilities and thresholds are those of the estimator with the same groups, and not those without."""
    name, *options = command
    given = (patients(), "--groups", "patient", "--gamma", 2, "--tol", 1e-6, "--no-track")
    done = svmkit(name, *given, *options, "--calibrate", "sigmoid", "--out", "p.model")
    assert done.code == 0, done.err
    model = SVMModel.load("p.model")
    data = load("p.csv", reading=Reading(groups="patient"))
    plain = {"gamma": 2, "tol": 1e-6, "relevance": "learned" if "learned" in options else None}
    grouped, free = (
        SVMClassifier(calibration="sigmoid", **plain).fit(data.X, data.y, groups=groups).model_
        for groups in (data.groups, None)
    )
    kept, lost = (each.about["operating"] for each in (grouped, free))
    assert model.about["operating"] == kept != lost
    np.testing.assert_allclose(model.calibration.A, grouped.calibration.A, rtol=1e-6)
    if "learned" not in options:  # whose weights of the columns are chosen anew in each fold: A says nothing then
        assert abs(free.calibration.A[0]) > 1.05 * abs(model.calibration.A[0])  # near twins were in other folds


def test_the_folds_of_thresholds_keep_groups_together(svmkit):
    given = (patients(), "--groups", "patient", "--gamma", 2, "--tol", 1e-6, "--no-track")
    assert svmkit("train", *given, "--thresholds", "--out", "t.model").code == 0
    data, known = load("p.csv", reading=Reading(groups="patient")), SVMModel.load("t.model").about["operating"]
    machine = SVMClassifier(gamma=2, tol=1e-6, thresholds=True).fit(data.X, data.y, groups=data.groups)
    assert machine.model_.about["operating"] == known
    chosen = SVMClassifier(C="cv", gamma=2, thresholds=True, cv=3).fit(data.X, data.y, groups=data.groups)
    assert chosen.model_.about["operating"]["folds"] == 3
    for calibration in ("sigmoid", None):
        options = {"calibration": calibration, "thresholds": True, "kernel": "rbf", "gamma": 2.0, "stop": Gap(1e-6)}
        fitted = fit(data.X, data.y, groups=data.groups, **options)
        assert fitted.model.about["operating"] == known


def test_nested_folds_calibrate_on_whole_groups(svmkit, monkeypatch):
    from svmkit.training.calibration import folds

    drawn, of = [], folds.Folds.draw
    monkeypatch.setattr(folds.Folds, "draw", lambda data, seed: drawn.append(of(data, seed)) or drawn[-1])
    given = ("--groups", "patient", "--grid", "C=1,10", "--cv", 3, "--nested", 3, "--no-track", "--json")
    done = svmkit("tune", patients(), *given, "--calibrate", "sigmoid")
    assert done.code == 0, done.err
    assert [len(each.fold) for each in drawn] == [180, 120, 120, 120]
    for each in drawn:
        of_group = each.fold.reshape(-1, 3)
        assert (of_group == of_group[:, :1]).all()


def test_a_ranked_table_is_read_once(svmkit, monkeypatch):
    from svmkit.data.tables import readers

    reads, read = [], readers.csv_frames
    monkeypatch.setattr(readers, "csv_frames", lambda *args, **given: reads.append(args[0]) or read(*args, **given))
    lines = [f"{k % 7},{k % 5},q{k % 3},{k % 4 > 0:d}" for k in range(60)]
    Path("r.csv").write_text("y,a,query,seen\n" + "\n".join(lines) + "\n")
    columns = ("--groups", "query", "--event", "seen")
    done = svmkit("train", "r.csv", "--label", "y", "--task", "rank", *columns, "--no-track", "--out", "r.model")
    assert done.code == 0 and len(reads) == 1
    found = svmkit("evaluate", "r.model", "r.csv", "--json").json
    assert len(reads) == 2 and found["groups"] == 3 and found["kendall_tau"] is None  # some values are censored


@pytest.mark.parametrize(
    ("make", "column", "message"),
    [
        (patients, "who", "who"),
        (lambda: patients(gap=7), "patient", "has no group"),
        (lambda: "iris", "patient", "--groups"),
    ],
    ids=["unknown", "missing", "no table"],
)
def test_what_cannot_be_used_is_one_line(svmkit, make, column, message):
    done = svmkit("train", make(), "--tune", "--groups", column, "--no-track")
    assert done.code == 2 and message in done.err and done.err.count("\n") == 1
