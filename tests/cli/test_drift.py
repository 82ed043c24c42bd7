"""`--drift`: columns, decisions and rows beyond the ranges of training."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ks_2samp
from support.cli import lopsided, people

from svmkit.data import load
from svmkit.model.model import SVMModel
from svmkit.scoring.drift import compare_categories, compare_numbers

pytestmark = pytest.mark.usefixtures("alone")


@pytest.mark.parametrize("seed", range(5))
def test_statistics_are_those_of_scipy_and_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    then, now = np.round(rng.normal(size=300), 1), np.round(rng.normal(loc=0.1 * seed, size=200), 1)
    found = compare_numbers(then, now)
    assert found.ks == pytest.approx(ks_2samp(then, now).statistic)
    edges = np.concatenate([[-np.inf], np.unique(np.quantile(then, np.linspace(0.1, 0.9, 9))), [np.inf]])
    p, q = (np.array([((a < x) & (x <= b)).mean() for a, b in itertools.pairwise(edges)]) for x in (then, now))
    assert found.psi == pytest.approx(((q - p) * np.log(q / p)).sum())
    assert found.beyond == ((now < then.min()) | (now > then.max())).mean()


@pytest.mark.parametrize("other", [3.0, 7.0, np.nextafter(5.0, 0.0), np.nextafter(5.0, 9.0)])
@pytest.mark.parametrize("rare", [[], [3.0], [7.0]])
def test_a_column_of_one_number_moves_to_either_side(rare, other):
    then, now = np.append(np.full(200, 5.0), rare), np.full(100, other)
    found, p, q = compare_numbers(then, now), (200.0, 0.5) / np.float64(len(then)), (0.5, 100.0) / np.float64(100.0)
    assert found.moved and found.ks >= 0.99 and not compare_numbers(then, then).moved
    if not rare:
        assert found.psi == pytest.approx(((q - p) * np.log(q / p)).sum())


@pytest.mark.parametrize("n_then", [60, 150])
def test_chance_is_seldom_called_drift(n_then):
    rng, over = np.random.default_rng(0), 0
    for _ in range(1000):
        found = compare_numbers(rng.normal(size=n_then), rng.normal(size=100))
        over += found.psi > found.noise
    assert over <= 2  # 1 on average; by the quantile of chi-squared 3 and 4


@pytest.mark.parametrize(("n_then", "n_now", "power"), [(100, 1000, 1.0), (150, 100, 1.0), (500, 150, 0.0)])
def test_categories_that_training_happens_to_lack_are_no_drift(n_then, n_now, power):
    n_categories = 50 if power else 150
    rng, shares = np.random.default_rng(0), np.arange(1.0, n_categories + 1) ** -power
    for _ in range(6):
        then, now = (rng.choice(n_categories, size=n, p=shares / shares.sum()) for n in (n_then, n_now))
        known = np.unique(then)
        place = np.full(n_categories, len(known))
        place[known] = np.arange(len(known))
        found = compare_categories(place[then], place[now], len(known))
        assert not found.moved and found.beyond == np.mean(~np.isin(now, known))
        assert compare_categories(place[then], np.full(n_now, len(known)), len(known)).moved


def test_holes_and_categories_have_bins():
    x = np.random.default_rng(0).normal(size=500)
    holes = np.where(np.arange(500) < 150, np.nan, x)
    assert compare_numbers(x, holes).moved and not compare_numbers(x, x).moved
    assert compare_numbers(x, np.full(10, np.nan)).ks is None
    found = compare_categories(np.arange(300) % 3, np.append(np.zeros(80, dtype=int), np.full(20, 3)), 3)
    assert found.moved and found.beyond == 0.2 and found.ks is None


def test_evaluate_and_predict_say_what_moved(svmkit, refused):
    svmkit("train", lopsided("a.csv"), "--solver", "smo", "--no-track", "--out", "m.model")
    lopsided("b.csv", seed=1)
    lines = Path("b.csv").read_text().splitlines()
    shifted = [lines[0], *(f"{float(line.split(',')[0]) + 3},{line.split(',', 1)[1]}" for line in lines[1:])]
    Path("c.csv").write_text("\n".join(shifted) + "\n")
    same, far = (
        svmkit("evaluate", "m.model", f, "--drift", "a.csv", "--json").json["drift"] for f in ("b.csv", "c.csv")
    )
    assert same["moved"] == [] and far["moved"] == ["a"] and far["outside"] > 0.3 > same["outside"]
    model, then, now = SVMModel.load("m.model"), load("a.csv"), load("c.csv")
    ks = ks_2samp(model.decision_function(then.X), model.decision_function(now.X)).statistic
    assert far["decisions"]["stay"]["ks"] == pytest.approx(ks)
    said = svmkit("evaluate", "m.model", "c.csv", "--drift", "a.csv").out
    assert "1 of 3 columns have moved from a: a" in said and "by chance" in said
    done = svmkit("predict", "m.model", "c.csv", "--drift", "a.csv")
    assert "1 of 3 columns have moved" in done.err and len(done.out.split()) == 400
    assert svmkit("predict", "m.model", "c.csv", "--drift", "a.csv", "--json").json["drift"]["moved"] == ["a"]
    refused(["nothing.csv"], "evaluate", "m.model", "c.csv", "--drift", "nothing.csv")


def test_drift_is_reported_beside_sets(svmkit):
    svmkit("train", lopsided("a.csv"), "--solver", "smo", "--conformal", 0.2, "--no-track", "--out", "m.model")
    args = ("predict", "m.model", lopsided("b.csv", seed=1), "--drift", "a.csv")
    drift = svmkit(*args, "--json").json["drift"]
    assert svmkit(*args, "--sets", "--json").json["drift"] == drift
    said, plain = svmkit(*args, "--sets"), svmkit(*args)
    assert len(said.out.splitlines()) == 400 and said.err == plain.err and "of 3 columns have moved" in said.err


def test_categories_of_a_table_are_one_column(svmkit):
    path = people("people.csv")
    svmkit("train", path, "--label", "answer", "--no-track", "--out", "m.model")
    lines = Path(path).read_text().splitlines()
    city = lines[1].split(",")[1]
    Path("new.csv").write_text("\n".join(lines).replace(f",{city},", ",Atlantis,") + "\n")
    found = svmkit("evaluate", "m.model", "new.csv", "--drift", path, "--json").json["drift"]
    share = np.mean([line.split(",")[1] == city for line in lines[1:]])
    assert list(found["columns"]) == ["age", "city", "score"] and found["columns"]["city"]["ks"] is None
    assert found["columns"]["city"]["beyond"] == pytest.approx(share) == found["outside"]
