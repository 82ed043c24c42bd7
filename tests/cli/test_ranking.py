"""Ranking at the command line: qid of svmlight, columns of groups and events, metrics, and refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import ndcg_score
from sklearn.model_selection import GroupKFold
from typer.testing import CliRunner

from svmkit import SVMModel, SVMRanker, load
from svmkit.cli.app import app
from svmkit.data import Ranks, Reading
from svmkit.data.splitting import sample
from svmkit.errors import InputError
from svmkit.scoring.ranks import RankScores


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch) -> None:
    """Write rows of 40 queries to an svmlight file and to a table, and survival times to a table."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), 5)
    X = rng.normal(size=(200, 3)).round(3)
    y = np.round(X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=200)).clip(-2, 2).astype(int) + 2
    lines = [
        f"{label} qid:{g + 7} " + " ".join(f"{k + 1}:{v}" for k, v in enumerate(x)) + f" # row of {g}\n"
        for x, label, g in zip(X, y, groups, strict=True)
    ]
    Path("q.svm").write_text("# a comment\n\n" + "".join(lines))
    rows = [f"q{g},{','.join(map(str, x))},{label}\n" for x, label, g in zip(X, y, groups, strict=True)]
    Path("q.csv").write_text("query,a,b,c,label\n" + "".join(rows))
    days, died = np.exp(X[:, 0] + rng.gumbel(size=200)).round(2), rng.random(200) < 0.6
    rows = [f"{','.join(map(str, x))},{int(d)},{t}\n" for x, d, t in zip(X, died, days, strict=True)]
    Path("life.csv").write_text("a,b,c,died,days\n" + "".join(rows))
    np.savez("arrays.npz", X=X, y=y, groups=groups, days=days, died=died)


def run(*args: str) -> dict:
    """Call svmkit with --json and return its object; InputError passes through."""
    result = CliRunner().invoke(app, [*args, "--json"], catch_exceptions=True)
    if result.exception is not None:
        raise result.exception
    return json.loads(result.stdout)


def train(data: str, *args: str) -> dict:
    return run("train", data, "--task", "rank", "--no-track", *args)


def test_qid_and_a_column_of_groups_are_the_same_problem_as_in_python():
    arrays = np.load("arrays.npz")
    found = [train("q.svm", "--out", "a.model"), train("q.csv", "--groups", "query", "--out", "b.model")]
    ranker = SVMRanker().fit(arrays["X"], arrays["y"], arrays["groups"])
    for name, result in zip("ab", found, strict=True):
        assert (result["problem"], result["formulation"]) == ("RankRisk", "pairwise squared hinge, no bias")
        assert (result["n_features"], result["status"]) == (3, "converged")
        assert result["objective"] == pytest.approx(ranker.certificate_[0].primal, rel=1e-3)
        assert result["metric"]["name"] == "concordance"
        model = SVMModel.load(f"{name}.model")
        scores = RankScores.from_predictions(model.predict(arrays["X"]), Ranks(arrays["y"], arrays["groups"]))
        assert result["train_scores"]["concordance"] == pytest.approx(scores.concordance)
        assert result["train_scores"]["ndcg"] == pytest.approx(scores.ndcg)


def test_evaluate_knows_the_columns_of_training():
    trained = train("q.csv", "--groups", "query", "--out", "q.model")
    evaluated = run("evaluate", "q.model", "q.csv")
    for key in ("concordance", "auc", "kendall_tau", "ndcg", "pairs", "groups"):
        assert evaluated[key] == pytest.approx(trained["train_scores"][key])
    assert run("evaluate", "q.model", "q.csv", "--groups", "a")["groups"] > 40
    with pytest.raises(InputError, match="no picture of orders"):
        run("evaluate", "q.model", "q.csv", "--plot", "q.png")


def test_test_rows_are_whole_groups():
    result = train("q.csv", "--groups", "query", "--test-size", "0.25", "--metric", "ndcg@3")
    assert (result["n_test"], result["test_scores"]["groups"], result["train_scores"]["groups"]) == (50, 10, 30)
    assert 0.5 < result["metric"]["test"] <= 1.0
    report = CliRunner().invoke(app, ["train", "q.csv", "--task", "rank", "--groups", "query", "--no-track"])
    assert "pairs in 40 groups" in report.stdout
    assert "concordance  0." in report.stdout


def test_censored_times_of_two_columns():
    arrays = np.load("arrays.npz")
    result = train("life.csv", "--label", "days", "--event", "died", "--out", "life.model")
    assert result["n_features"] == 3
    model = SVMModel.load("life.model")
    truth = Ranks(arrays["days"], observed=arrays["died"])
    expected = RankScores.from_predictions(model.predict(arrays["X"]), truth).concordance
    assert result["train_scores"]["concordance"] == pytest.approx(expected)
    assert result["train_scores"]["kendall_tau"] is None
    assert run("evaluate", "life.model", "life.csv")["concordance"] == pytest.approx(expected)


@pytest.mark.parametrize(
    "args, words",
    [
        (("q.csv", "--groups", "nobody"), "has no column 'nobody'"),
        (("q.svm", "--groups", "query"), "says its groups by qid:"),
        (("life.csv", "--label", "days", "--event", "a"), "no flag: give 1 where the event was observed"),
        (("q.csv", "--groups", "query", "--kernel", "sigmoid"), "positive semidefinite, not sigmoid"),
        (("q.csv", "--groups", "query", "--solver", "smo"), "cannot rank; those that can: auto, bmrm, ocas, svmperf"),
        (
            ("q.csv", "--groups", "query", "--kernel", "rbf", "--max-support", "20"),
            "support vectors is for classes, qu",
        ),
        (("q.csv", "--groups", "query", "--max-support", "20"), "support vectors is for classes, quantities and outl"),
        (("q.csv", "--groups", "query", "--metric", "r2"), "give one of concordance, auc, kendall_tau, ndcg"),
        (("q.csv", "--groups", "query", "--calibrate", "sigmoid"), "--calibrate is for classes"),
        (("q.csv", "--groups", "query", "--epsilon", "0.1"), "--epsilon is for quantities"),
        (("-",), "needs a file"),
        (("iris",), "holds text .*, and ranking needs numbers"),
    ],
)
def test_what_cannot_be_ranked_is_said_in_one_line(args, words):
    with pytest.raises(InputError, match=words) as told:
        train(*args)
    assert "\n" not in str(told.value)


def tune(data: str, *args: str) -> dict:
    return run("tune", data, "--task", "rank", "--no-track", *args)


def test_tune_compares_by_orders_of_whole_groups():
    given = "--grid", "C=0.001,0.1", "--cv", "4", "--metric", "ndcg@3"
    found = [tune("q.svm", *given), tune("q.csv", "--groups", "query", *given)]
    arrays = np.load("arrays.npz")
    X, y, numbers = (arrays[name] for name in ("X", "y", "groups"))
    for result, groups in zip(found, (numbers, np.char.add("q", numbers.astype(str))), strict=True):
        assert result["metric"]["name"] == "ndcg@3" and result["refit"]["task"] == "rank"
        for C in (0.001, 0.1):
            scores = []
            for rows, held in GroupKFold(4, shuffle=True, random_state=0).split(X, y, groups):
                ranker = SVMRanker(C=C).fit(X[rows], y[rows], groups[rows])
                h, kept = ranker.predict(X), [g for g in np.unique(groups[held]) if np.ptp(y[groups == g])]
                scores.append(np.mean([ndcg_score([y[groups == g]], [h[groups == g]], k=3) for g in kept]))
            (own,) = [c for c in result["candidates"] if c["params"] == {"C": C}]
            assert own["mean_score"] == pytest.approx(np.mean(scores), rel=1e-9)


def test_tune_chooses_values_of_C_itself():
    assert {c["params"]["C"] for c in tune("q.csv", "--groups", "query")["candidates"]} <= {
        2.0**k for k in range(-19, 2)
    }
    result = run("train", "q.svm", "--task", "rank", "--tune", "--no-track")
    assert result["search"]["metric"]["name"] == "concordance" and result["search"]["n_candidates"] >= 5


@pytest.mark.slow
@pytest.mark.usefixtures("cells_here")
def test_a_named_solver_is_searched_and_compared_with_a_kernel():
    given = "--solver", "ocas", "--grid", "kernel=linear,rbf", "--grid", "gamma=0.1,1", "-C", "0.1"
    found = {c["params"]["kernel"] for c in tune("q.csv", "--groups", "query", *given)["candidates"]}
    assert found == {"linear", "rbf"}
    own = "--task", "rank", "--groups", "query", "--kernel", "rbf", "--gamma", "0.3", "--no-track", "--no-curve"
    args = ["compare", "q.csv", *own, "--solvers", "ocas,bmrm", "-C", "0.1", "--json"]
    records = [json.loads(line) for line in CliRunner().invoke(app, args, catch_exceptions=False).stdout.splitlines()]
    assert [record["problem"] for record in records] == ["KernelRankRisk"] * 2
    for how in (
        ["tune", "q.csv", *own[:4], "--solver", "ocas", "--grid", "kernel=linear,sigmoid"],
        [*args, "--solvers", "smo"],
    ):
        with pytest.raises(InputError, match=r"positive semidefinite, not sigmoid|smo cannot rank") as told:
            run(*how)
        assert "\n" not in str(told.value)


def test_folds_are_as_many_as_there_are_groups():
    Path("few.svm").write_text("".join(f"{k % 3} qid:{k // 6} 1:{k % 5} 2:{k % 7}\n" for k in range(18)))
    result = tune("few.svm", "--grid", "C=0.1")
    assert (result["cv"], result["n_fits"]) == (3, 3)


@pytest.mark.usefixtures("cells_here")
def test_tune_and_curve_of_censored_times():
    own = ("--label", "days", "--event", "died")
    result = tune("life.csv", *own, "--grid", "C=0.001,0.1", "--search", "halving")
    assert 0.6 < result["best"]["mean_score"] < 1.0
    result = run("curve", "life.csv", "--task", "rank", *own, "--rows", "40,100", "--repeat", "1")
    assert [fit["n_samples"] for fit in result["fits"]] == [40, 100]
    assert all(0.5 < fit["test_metric"] <= 1.0 and fit["status"] == "converged" for fit in result["fits"])


@pytest.mark.parametrize(
    "args, words",
    [
        (("q.svm", "--search", "halving"), "give cv a number of folds, and no groups"),
        (("q.svm", "--cv", "loo"), "leaves out single samples"),
        (("life.csv", "--label", "days", "--event", "died", "--cv", "loo"), "single rows, which have no order"),
        (("q.svm", "--metric", "accuracy"), "does not measure orders"),
        (("one.svm",), "a fold has no pair to rank"),
    ],
)
def test_what_a_search_cannot_rank_is_said_in_one_line(args, words):
    Path("one.svm").write_text("".join(f"{k % 3 * (k < 6)} qid:{k // 6} 1:{k % 5} 2:{k % 7}\n" for k in range(18)))
    with pytest.raises(InputError, match=words) as told:
        tune(*args)
    assert "\n" not in str(told.value)


@pytest.mark.slow
@pytest.mark.usefixtures("cells_here")
def test_curve_trains_on_more_and_more_groups(capfd):
    own = ("--groups", "query", "--rows", "33,100", "--repeat", "2", "--metric", "kendall_tau")
    result = run("curve", "q.csv", "--task", "rank", *own, "--plot", "c.png")
    fits = result["fits"]
    assert [fit["n_samples"] for fit in fits] == [33, 33, 100, 100] and Path("c.png").exists()
    assert all(fit["metric"]["name"] == "kendall_tau" and 0.0 < fit["test_metric"] <= 1.0 for fit in fits)
    assert {fit["test_scores"]["groups"] for fit in fits} == {10}
    shown = CliRunner().invoke(app, ["curve", "q.csv", "--task", "rank", *own]).stdout
    assert "kendall tau" in shown.splitlines()[0]


def test_a_sample_is_whole_groups_but_for_the_last():
    data = replace(load("q.csv", reading=Reading(groups="query")), task="rank")
    small, large = (sample(data, n, seed=3) for n in (33, 104))
    for part, n in ((small, 33), (large, 104)):
        sizes = np.unique(part.groups, return_counts=True)[1]
        assert part.n_samples == n and sorted(sizes) == [n % 5, *[5] * (n // 5)]
    assert {tuple(x) for x in small.X} <= {tuple(x) for x in large.X}


@pytest.mark.slow
@pytest.mark.usefixtures("cells_here")
def test_compare_measures_orders_of_whole_groups():
    own = ("--task", "rank", "--solvers", "ocas,svmperf", "--no-track", "--no-curve", "-C", "0.1", "--scale", "none")
    given = ["compare", "q.csv", "--groups", "query", "--cv", "4", "--metric", "ndcg@3", *own, "--json"]
    records = [json.loads(line) for line in CliRunner().invoke(app, given).stdout.splitlines()]
    assert len(records) == 8
    for record in records:
        assert (record["status"], record["problem"], record["n_test"]) == ("converged", "RankRisk", 50)
        assert record["test_scores"]["groups"] == 10
        assert 0.5 < record["test_metric"] <= 1.0


def test_curve_of_a_model_measures_within_groups():
    result = train("q.csv", "--groups", "query", "--test-size", "0.25", "--curve")
    assert result["curve"][-1]["score"] == pytest.approx(result["test_scores"]["concordance"])


def test_options_of_ranks_are_refused_without_them():
    with pytest.raises(InputError, match="give --task rank"):
        run("train", "life.csv", "--label", "days", "--event", "died", "--no-track")
    run("train", "breast_cancer", "--no-track", "--out", "c.model")
    with pytest.raises(InputError, match="--groups is for a ranker"):
        run("evaluate", "c.model", "breast_cancer", "--groups", "a")


@pytest.mark.parametrize(
    "text, words",
    [
        ("1 qid:1 1:1\n2 1:2\n", "f.svm:2: has no qid:"),
        ("1 1:1\n2 qid:1 1:2\n", "f.svm:1: has no qid:"),
        ("1 qid:one 1:1\n2 qid:1 1:2\n", "f.svm:1"),
        ("1 qid:1 1:1\n2 qid:2 1:2\n", "each group has one row"),
        ("1 qid:1 1:1\n1 qid:1 1:2\n", "all values are equal"),
    ],
)
def test_files_without_groups_or_pairs(text, words):
    Path("f.svm").write_text(text)
    with pytest.raises(InputError, match=words):
        train("f.svm")


def test_test_rows_without_a_pair_are_no_reason_to_lose_a_model():
    Path("single.svm").write_text("1 qid:1 1:1 2:0 3:1\n2 qid:2 1:2\n")
    result = train("q.svm", "--test", "single.svm", "--out", "kept.model")
    assert result["test_scores"]["concordance"] is None and result["test_scores"]["pairs"] == 0
    assert result["metric"]["test"] is None and result["warning"] is None
    assert run("evaluate", "kept.model", "single.svm")["ndcg"] is None
    for command in (["evaluate", "kept.model"], ["train", "--task", "rank", "--no-track", "q.svm", "--test"]):
        assert CliRunner().invoke(app, [*command, "single.svm"]).exit_code == 0
