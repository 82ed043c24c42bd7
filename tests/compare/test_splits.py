"""Several splits of a set, folds, and what is said of accuracies on one split only."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import KFold, StratifiedKFold
from support.cli import svmlight
from support.refusals import refused as said

from svmkit.compare.cells.store import names
from svmkit.compare.plan.sets import prepare
from svmkit.compare.plan.spec import read
from svmkit.compare.report import words
from svmkit.compare.results import Results
from svmkit.data import Dataset, load
from svmkit.data.splitting import fold, split

pytestmark = pytest.mark.usefixtures("alone", "cells_here")
BASE = {"data": "iris", "solvers": ["smo"]}


def spec(**more):
    return read(BASE | more)


def held_out(found):
    return [cell.settings["data"]["test"] for cell in found.cells()]


def results(found, accuracy):
    """Results in which accuracy(cell) is that of each cell; P depends on the split, as it does on real rows."""
    records = []
    for cell in found.cells():
        base = {"status": "converged", "formulation": "f", "fit_s": 1.0, "test_accuracy": accuracy(cell)}
        size = 10.0 * (1 + (cell.split or 0))
        records.append(names(cell) | base | {"objective": size, "dual_objective": 0.99 * size})
    return Results(found, found.cells(), records)


def test_splits_have_seeds_of_their_own_and_a_quarter_of_the_rows():
    found = spec(splits=3, seeds=2)
    assert [(cell.split, cell.seed) for cell in found.cells()] == [(k, seed) for k in range(3) for seed in range(2)]
    assert held_out(spec(splits=3)) == [{"seed": k, "hold_out": 0.25} for k in range(3)]
    assert held_out(spec(splits=2, test={"hold_out": 0.5, "seed": 7, "stratify": False})) == [
        {"seed": 7 + k, "hold_out": 0.5, "stratify": False} for k in range(2)
    ]
    first, second = (prepare(cell.settings["data"]) for cell in spec(splits=2).cells())
    assert first.test.n_samples == second.test.n_samples == 36 and first.test.fingerprint() != second.test.fingerprint()
    assert np.unique(first.test.y, return_counts=True)[1].tolist() == [12, 12, 12]


def test_the_first_split_is_the_cell_of_a_comparison_without_splits():
    assert spec(splits=3, test=0.3).cells()[0].key == spec(test=0.3).cells()[0].key
    keys = [cell.key for cell in spec(splits=3).cells()]
    assert keys == [cell.key for cell in spec(splits=5).cells()][:3] and len(set(keys)) == 3


def test_folds_are_stratified_and_each_row_is_held_out_once():
    sets = [prepare(cell.settings["data"]) for cell in spec(cv=5).cells()]
    assert all(np.unique(found.test.y, return_counts=True)[1].tolist() == [10, 10, 10] for found in sets)
    assert all(found.train.n_samples == 120 for found in sets)
    held = np.vstack([found.test.X for found in sets])
    whole = load("iris").X
    assert np.array_equal(held[np.lexsort(held.T)], whole[np.lexsort(whole.T)])


def test_a_class_that_is_too_small_for_the_folds():
    Path("few.svm").write_text("".join(f"{k % 2} 1:{k}\n" for k in range(8)) + "2 1:1\n2 1:2\n")
    said("class 2 of few has 2 rows, too few for 3 folds", fold, load("few.svm"), 0, 3, 0)
    train, test = fold(load("few.svm"), 0, 2, 0)
    assert (train.n_samples, test.n_samples) == (5, 5)
    assert split(load("few.svm"), 0.5, 0)[1].n_samples == 5


def test_a_set_s_own_way_to_test_replaces_the_shared_one():
    svmlight("own.svm")
    svmlight("own.svm.t", seed=1)
    own = {"iris": {}, "wine": {"cv": 3}, "digits": {"test": 0.5}, "own.svm": {"test": "own.svm.t"}}
    found = read({"data": own, "solvers": ["smo"], "splits": 2, "test": 0.1})
    count = {name: len([cell for cell in found.cells() if cell.data == name]) for name in own}
    assert count == {"iris": 2, "wine": 3, "digits": 2, "own.svm": 1}
    assert found.data["own.svm"]["test"] == "own.svm.t" and found.data["digits"]["test"]["hold_out"] == 0.5
    assert read({"data": {"iris": {"splits": 4}}, "solvers": ["smo"], "cv": 3}).data["iris"]["test"]["splits"] == 4


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"splits": 0}, ["data.iris.splits should be a whole number >= 1"]),
        ({"cv": 1}, ["data.iris.cv should be a whole number >= 2"]),
        ({"cv": True}, ["data.iris.cv"]),
        ({"cv": 3, "splits": 2}, ["both splits and cv"]),
        ({"cv": 3, "test": 0.5}, ["both cv and test"]),
        ({"splits": 3, "test": "wine"}, ["splits and the test set 'wine'", "share of the rows"]),
        ({"splits": 3, "test": "none"}, ["splits and the test set 'none'"]),
        ({"splits": 3, "test": 1.5}, ["hold_out must lie between"]),
        ({"splits": 200_000}, ["splits"]),
        ({"splits": 9_000, "seeds": 20}, ["180000 cells"]),
        ({"strict": 1}, ["strict should be true or false"]),
    ],
)
def test_wrong_splits(more, words):
    said(words, read, BASE | more)


# --- what is made of them


def test_bounds_of_other_splits_are_bounds_of_other_problems():
    found = results(spec(splits=3), lambda cell: 0.9)
    assert not found.disagreements()
    assert [record["suboptimality"] for record in found.records] == pytest.approx([0.01] * 3)


def test_the_spread_of_accuracy_is_that_over_splits():
    accuracy = [0.90, 0.94, 0.98]
    found = results(spec(splits=3, seeds=2), lambda cell: accuracy[cell.split] + 0.005 * cell.seed)
    row = found.row("iris", "smo")
    assert row.mean("test_accuracy") == pytest.approx(0.9425) and row.spread("test_accuracy") == pytest.approx(0.04)
    assert words.value(row, "test_accuracy") == "94.25 ± 4.00" and row.spread("fit_s") == 0.0
    assert found.tested_on("iris") == "3 splits"
    assert results(spec(cv=4), lambda cell: 0.9).tested_on("iris") == "4 folds"


def test_one_split_has_no_spread_and_it_is_said():
    found = results(spec(test=0.3, seeds=3), lambda cell: 0.7565)
    assert words.value(found.row("iris", "smo"), "test_accuracy") == "75.65"
    table = words.describe_set(found, "iris")
    assert "accuracy (%), one split" in table.heads and any(words.ONE_SPLIT in note for note in table.notes)
    many = words.describe_set(results(spec(splits=3), lambda cell: 0.9), "iris")
    assert "accuracy (%), 3 splits" in many.heads and not any(words.ONE_SPLIT in note for note in many.notes)
    assert results(spec(), lambda cell: None).tested_on("iris") == ""


@pytest.mark.slow
def test_a_comparison_with_splits_runs_resumes_and_shows_its_spread(svmkit):
    args = ("compare", "iris", "--solvers", "smo,swap2o", "--no-track", "--threads", "1")
    done = svmkit(*args, "--splits", "2", "--report", "r.html")
    assert done.code == 0 and "accuracy, 2 splits" in done.out and "±" in done.out
    page = Path("r.html").read_text(encoding="utf-8")
    assert "accuracy (%), 2 splits" in page and "split 1, seed 0" in page
    more = svmkit(*args, "--splits", "3", "--json")
    assert "4 of 6 cells were finished before" in more.err
    lines = [json.loads(line) for line in more.out.splitlines()]
    assert [line["split"] for line in lines] == [0, 0, 1, 1, 2, 2] and len({line["key"] for line in lines}) == 6
    one = svmkit(*args, "--test-size", "0.25")
    assert "2 of 2 cells were finished before" in one.err and "accuracy, one split" in one.out
    folds = svmkit(*args, "--cv", "3")
    assert folds.code == 0 and "accuracy, 3 folds" in folds.out


def test_options_that_contradict_each_other(refused):
    base = ("compare", "iris", "--solvers", "smo")
    refused(["--cv", "leave --test"], *base, "--cv", "3", "--splits", "2")
    refused(["--cv", "leave --test"], *base, "--cv", "3", "--test-size", "0.2")
    refused(["--splits", "leave --test out"], *base, "--splits", "3", "--test", "wine")
    Path("mine.yaml").write_text("data: iris\nsolvers: smo\n")
    refused(
        ["--splits, --strict: write it into mine.yaml"], "compare", "--spec", "mine.yaml", "--splits", "2", "--strict"
    )


@pytest.mark.parametrize("n_folds", [2, 3, 7])
def test_folds_are_those_of_scikit_learn(n_folds):
    """Which are found without importing it."""
    rng = np.random.default_rng(0)
    for seed in range(5):
        n, classes = int(rng.integers(60, 200)), int(rng.integers(2, 5))
        codes = rng.permutation(np.r_[np.arange(classes).repeat(n_folds), rng.integers(0, classes, n)])
        for y in (codes, np.array(["d", "a", "c", "b"])[codes], codes * 0.5 - 1):
            data = Dataset(np.arange(len(y))[:, None], y, "rows")
            for kind, stratify in ((StratifiedKFold, True), (KFold, False)):
                pairs = kind(n_folds, shuffle=True, random_state=seed).split(data.X, codes if stratify else y)
                for number, (train, test) in enumerate(pairs):
                    found = fold(data, number, n_folds, seed, stratify=stratify)
                    assert [part.X[:, 0].tolist() for part in found] == [train.tolist(), test.tolist()]
