"""Folds of whole groups, in the order of the rows and given in a file; kernel matrices, of which folds take rows and
columns.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import (
    GroupKFold,
    PredefinedSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_score,
)
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from support.cli import svmlight
from support.refusals import refused as said

from svmkit import SVMClassifier
from svmkit.compare import Results, Store, run
from svmkit.compare.cells import worker
from svmkit.compare.plan.sets import prepare
from svmkit.compare.plan.spec import read
from svmkit.compare.report import latex, words
from svmkit.data import load

pytestmark = pytest.mark.usefixtures("alone")


def wine():
    """Wine, scaled, in an order that is not that of its classes, a group of three rows each, and its kernel matrix."""
    data, order = load("wine"), np.random.default_rng(3).permutation(178)
    X, y, groups = StandardScaler().fit_transform(data.X)[order], data.y[order], np.arange(178) // 3 * 7
    return X, y, groups, rbf_kernel(X, gamma=0.05)


def archives():
    """K.npz with the kernel matrix, X.npz with the rows, both with the groups, and folds.txt."""
    X, y, groups, K = wine()
    np.savez("K.npz", X=K, y=y, patient=groups)
    np.savez("X.npz", X=X, y=y, patient=groups)
    np.savetxt("folds.txt", np.arange(178) % 4 - (np.arange(178) < 20), fmt="%d")
    return X, y, groups, K


def table():
    """A table of quantities, whose rows of one patient belong together."""
    rng = np.random.default_rng(0)
    X, who = rng.normal(size=(90, 2)), np.arange(90) // 4
    lines = [f"{a:.6f},no{k},{b:.6f},{a - b + 0.1 * k:.4f}" for (a, b), k in zip(X, who, strict=True)]
    Path("q.csv").write_text("dose,who,age,target\n" + "\n".join(lines) + "\n")
    return np.array([f"no{k}" for k in who])


def spec(**more):
    return read({"solvers": ["smo"], "C": 10.0} | more)


def divisions(found):
    return [prepare(cell.settings["data"]) for cell in found.cells()]


def same_rows(sets, X, pairs):
    pairs = list(pairs)
    assert len(sets) == len(pairs)
    for one, (train, held) in zip(sets, pairs, strict=True):
        assert np.array_equal(one.train.X, X[train]) and np.array_equal(one.test.X, X[held])


def test_folds_are_those_of_scikit_learn():
    X, y, groups, _ = archives()
    by_groups = StratifiedGroupKFold(5, shuffle=True, random_state=0).split(X, y, groups)
    same_rows(divisions(spec(data="X.npz", cv=5, groups="patient")), X, by_groups)
    same_rows(divisions(spec(data="X.npz", cv="time:4")), X, TimeSeriesSplit(4).split(X))
    folds = np.loadtxt("folds.txt", dtype=int)
    same_rows(divisions(spec(data="X.npz", cv="folds.txt")), X, PredefinedSplit(folds).split())
    np.save("folds.npy", folds)
    same_rows(divisions(spec(data="X.npz", cv="folds.npy")), X, PredefinedSplit(folds).split())


def test_quantities_in_folds_of_whole_groups():
    who = table()
    X = np.loadtxt("q.csv", delimiter=",", skiprows=1, usecols=(0, 2))
    folds = GroupKFold(4, shuffle=True, random_state=0).split(X, groups=who)
    same_rows(divisions(spec(data={"q.csv": {"label": "target", "groups": "who"}}, cv=4, task="regress")), X, folds)


def test_splits_hold_whole_groups_out_and_groups_of_svmlight_are_its_qid():
    svmlight("q.svm", n=40)
    lines = Path("q.svm").read_text().splitlines()
    Path("q.svm").write_text("\n".join(line.replace(" ", f" qid:{k // 4} ", 1) for k, line in enumerate(lines)) + "\n")
    for more in ({"splits": 3}, {"cv": 3}):
        for one in divisions(spec(data="q.svm", groups="qid", **more)):
            assert one.train.n_samples + one.test.n_samples == len(lines)
            assert not set(one.train.groups) & set(one.test.groups)
    said("so write --groups qid", prepare, spec(data="q.svm", groups="who", cv=3).cells()[0].settings["data"])
    svmlight("plain.svm")
    said("no line of it has qid:", prepare, spec(data="plain.svm", groups="qid", cv=3).cells()[0].settings["data"])


def test_a_calibration_in_a_cell_keeps_groups_together():
    archives()
    cell = spec(data="X.npz", cv=3, groups="patient", calibrate="sigmoid", gamma=0.05).cells()[0]
    worker.get_ready(cell)
    assert worker.run(cell, 60.0, False)["status"] == "converged"
    rows = prepare(cell.settings["data"]).train
    machine = SVMClassifier("smo", C=10.0, gamma=0.05, calibration="sigmoid")
    expected = machine.fit(rows.X, rows.y, groups=rows.groups).model_.calibration.A
    np.testing.assert_allclose(worker._bench.trained.fitted.model.calibration.A, expected)
    assert not np.allclose(machine.fit(rows.X, rows.y).model_.calibration.A, expected, rtol=0.01)


def test_cells_of_other_folds_are_other_cells():
    archives()
    found = [spec(data="X.npz", **more) for more in ({"cv": 4}, {"cv": "4", "groups": "patient"}, {"cv": "time:4"})]
    found += [spec(data="X.npz", cv="folds.txt")]
    keys = [{cell.key for cell in one.cells()} for one in found]
    assert all(len(one) == 4 for one in keys) and len(set.union(*keys)) == 16
    before = keys[-1]
    np.savetxt("folds.txt", np.arange(178) % 4, fmt="%d")
    assert not before & {cell.key for cell in spec(data="X.npz", cv="folds.txt").cells()}  # the file has changed


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"groups": "doctor", "cv": 3}, "has no array 'doctor' (it has X, y, patient)"),
        ({"groups": "X", "cv": 3}, "save a number or text for each of the 178 rows"),
        ({"groups": "patient", "cv": 50}, "folds in place of 50: give fewer folds"),
        ({"cv": "short.txt"}, "short.txt has 3 folds for 178 rows"),
    ],
)
def test_rows_that_cannot_be_divided(more, message):
    archives()
    Path("short.txt").write_text("0\n1\n0\n")
    said([message], prepare, spec(data={"K.npz": {"rows": "first 178"}}, **more).cells()[0].settings["data"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0\n2\n", "no row is in fold 1"),
        ("a\n", "no list of folds"),
        ("0 1\n1 0\n", "int64 of shape"),
        ("0\n0\n", "0 to 0"),
    ],
)
def test_files_of_folds_that_are_none(text, message):
    Path("bad.txt").write_text(text)
    said([message], read, {"data": "iris", "solvers": ["smo"], "cv": "bad.txt"})


def test_a_kernel_matrix_is_divided_by_rows_and_columns():
    _, y, groups, K = archives()
    pairs = list(StratifiedGroupKFold(5, shuffle=True, random_state=0).split(K, y, groups))
    found = divisions(spec(data="K.npz", kernel="precomputed", groups="patient", cv=5))
    for one, (train, held) in zip(found, pairs, strict=True):
        assert np.array_equal(one.train.X, K[np.ix_(train, train)])
        assert np.array_equal(one.test.X, K[np.ix_(held, train)])
    (first,) = divisions(spec(data={"K.npz": {"rows": "first 100"}}, kernel="precomputed", test=0.3))
    assert first.train.X.shape == (70, 70) and first.test.X.shape == (30, 70)
    sampled = spec(data="K.npz", kernel="precomputed", test=0.25).cells()[0].settings["data"] | {"sample": [50, 0]}
    assert prepare(sampled).train.X.shape == (50, 50) and prepare(sampled).test.X.shape == (45, 50)


def test_what_is_no_kernel_matrix_is_refused_before_a_cell_runs(svmkit):
    _, y, _, K = archives()
    np.savez("odd.npz", X=K + np.triu(np.ones_like(K)), y=y)
    base = ("compare", "--solvers", "smo", "--kernel", "precomputed", "--cv", "3", "--no-track")
    for name, message in (("X.npz", "has to be square, not 178 x 13"), ("odd.npz", "has to be symmetric")):
        done = svmkit(*base, name)
        assert done.code == 2 and message in done.err and done.err.count("\n") == 1
        assert not Path("svmkit-compare.jsonl").exists()


@pytest.mark.slow
@pytest.mark.parametrize("how", ["stratified", "groups", "given"])
@pytest.mark.usefixtures("cells_here")
def test_matrices_are_scored_as_by_scikit_learn(svmkit, how):
    _, y, groups, K = archives()
    cv, more = {
        "stratified": (StratifiedKFold(4, shuffle=True, random_state=0), ["--cv", "4"]),
        "groups": (StratifiedGroupKFold(4, shuffle=True, random_state=0), ["--cv", "4", "--groups", "patient"]),
        "given": (PredefinedSplit(np.loadtxt("folds.txt", dtype=int)), ["--cv", "folds.txt"]),
    }[how]
    theirs = cross_val_score(
        SVC(kernel="precomputed", C=10.0, tol=1e-8), K, y, cv=cv, groups=groups if how == "groups" else None
    )
    args = ("compare", "K.npz", "--solvers", "smo,fcsmo", "--kernel", "precomputed", "-C", "10", "--tol", "1e-8")
    done = svmkit(*args, *more, "--no-track", "--json", "--report", "r.html", "--latex", "t.tex")
    assert done.code == 0
    lines = [json.loads(line) for line in done.out.splitlines()]
    for solver in ("smo", "fcsmo"):
        ours = [line["test_accuracy"] for line in lines if line["solver"] == solver]
        assert np.array_equal(ours, theirs)
    words_of = {"stratified": "4 folds", "groups": "4 folds of whole groups", "given": "4 folds of folds.txt"}[how]
    assert words_of in Path("r.html").read_text(encoding="utf-8") and words_of in Path("t.tex").read_text()


@pytest.mark.slow
def test_a_matrix_from_python():
    _, y, _, K = archives()
    found = read({"data": "K.npz", "kernel": "precomputed", "solvers": ["smo"], "C": 10.0, "cv": "time:3"})
    store = Store("done.jsonl")
    assert run(found.cells(), store, limit=60.0)
    results = Results(found, found.cells(), store.records_of(found.cells()))
    theirs = cross_val_score(SVC(kernel="precomputed", C=10.0), K, y, cv=TimeSeriesSplit(3))
    assert np.allclose(results.rows[0].values["test_accuracy"], theirs)
    assert "3 folds in the order of the rows" in latex.table(results)
    assert any("in the order of the rows" in head for head in words.describe_set(results, "K.npz").heads)


def test_loops_are_compiled_once_for_all_splits_of_a_set(monkeypatch):
    warmed = []
    monkeypatch.setattr(worker, "_bench", worker.Bench())
    monkeypatch.setattr(worker, "_warm", lambda sets, cell: warmed.append((cell.data, cell.split)))
    for cell in read({"data": "iris", "solvers": ["smo", "fcsmo"], "cv": 3, "C": [1, 10]}).cells():
        worker.get_ready(cell)
    assert warmed == [("iris C=1", 0)] * 2 + [("iris C=10", 0)] * 2
