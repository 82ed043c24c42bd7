"""svmkit train --tune, and svmkit tune --search zoom: what is chosen, saved, logged and refused."""

from pathlib import Path

import pytest
from support.cli import svmlight

from svmkit.model.model import SVMModel

pytestmark = pytest.mark.usefixtures("alone")


@pytest.fixture
def tune(svmkit):
    """tune(...) -> the JSON of an untracked `svmkit train --tune`."""
    return lambda *args: svmkit("train", *args, "--tune", "--no-track", "--json").json


@pytest.mark.slow
def test_the_json_is_that_of_train_with_a_search(tune, train):
    given = ("--test-size", 0.25, "--tol", "1e-4", "--cv", 3)
    found = tune(svmlight(), *given, "--out", "m.svmkit", "--plot", "p.png")
    search, best = found.pop("search"), found["params"]["C"]
    again = train(svmlight(), "-C", best, "--gamma", found["kernel"]["params"]["gamma"], *given[:4])
    assert list(found) == list(again)
    for key in set(again) - {"fit_s", "model", "compile_s"}:
        assert found[key] == again[key], key
    assert search["best"]["params"] == {"C": best, "gamma": found["kernel"]["params"]["gamma"]}
    assert (search["search"], search["cv"], search["interrupted"], search["plot"]) == ("zoom", 3, False, "p.png")
    assert search["n_candidates"] == len(search["candidates"]) > 10 and search["n_fits"] == 3 * search["n_candidates"]
    assert Path("p.png").read_bytes().startswith(b"\x89PNG")
    model = SVMModel.load("m.svmkit")
    assert model.about["search"]["params"] == search["best"]["params"] and model.about["C"] == best


def test_what_is_given_is_not_searched(tune):
    assert set(tune(svmlight(), "-C", 3, "--cv", 2)["search"]["best"]["params"]) == {"gamma"}
    assert tune(svmlight(), "-C", 3, "--cv", 2)["params"]["C"] == 3.0
    assert set(tune(svmlight(), "--gamma", 0.5, "--cv", 2)["search"]["best"]["params"]) == {"C"}
    assert set(tune(svmlight(), "--solver", "dcd", "--cv", 2)["search"]["best"]["params"]) == {"C"}
    assert set(tune(svmlight(), "-o", "kernel.gamma=0.5", "--cv", 2)["search"]["best"]["params"]) == {"C"}


def test_a_calibration_takes_the_folds_of_the_search(tune):
    found = tune(svmlight(), "--calibrate", "sigmoid", "--cv", 3, "--metric", "balanced_accuracy")
    assert found["calibration"]["folds"] == 3 and found["search"]["metric"]["name"] == "balanced_accuracy"


def test_a_regression_chooses_epsilon_too(tune):
    found = tune("diabetes", "--scale", "standard", "--cv", 2)
    assert set(found["search"]["best"]["params"]) == {"C", "gamma", "epsilon"}
    assert found["params"]["epsilon"] == found["search"]["best"]["params"]["epsilon"] and found["train_r2"] > 0.4
    assert set(tune("diabetes", "--epsilon", 5, "--gamma", 0.1, "--cv", 2)["search"]["best"]["params"]) == {"C"}


def test_a_default_that_stays_is_said_to(svmkit):
    given = ("train", "breast_cancer", "--scale", "standard", "--tune", "--cv", 3, "--no-track")
    out = svmkit(*given).out
    first, second = (float(line.split("%")[0].split()[-1]) for line in out.splitlines()[2:4])
    assert first < second and "the first one is the default: no candidate is better by 2 standard errors" in out


def test_the_words(svmkit):
    done = svmkit("train", svmlight(), "--tune", "--no-track", "--cv", 2)
    assert done.out.startswith("zoom search over C, gamma: ") and " 2 folds, " in done.out and "by accuracy" in done.out
    assert "certified relative duality gap" in done.out and done.code == 0
    same = svmkit("tune", svmlight(), "--search", "zoom", "--no-track", "--json", "--cv", 2).json
    assert same["search"] == "zoom" and same["best"]["params"]["C"] == same["refit"]["params"]["C"]


@pytest.mark.slow
def test_runs_in_mlflow(svmkit):
    from mlflow import MlflowClient

    found = svmkit("train", svmlight(), "--tune", "--cv", 2, "--tracking-uri", "sqlite:///m.db", "--json").json
    client = MlflowClient("sqlite:///m.db")
    parent = client.get_run(found["run_id"])
    assert parent.data.params["search"] == "zoom" and parent.data.metrics["best/C"] == found["params"]["C"]
    runs = client.search_runs([parent.info.experiment_id], f"tags.mlflow.parentRunId = '{parent.info.run_id}'")
    assert len(runs) == found["search"]["n_candidates"]
    assert {file.path for file in client.list_artifacts(found["run_id"])} >= {"candidates.json", "accuracy.png"}


def test_a_limit_that_ends_before_the_first_candidate_gives_the_default_model(svmkit):
    done = svmkit("train", svmlight(), "--tune", "--time-limit", "0.0001", "--no-track", "--json", "--plot", "p.png")
    assert "the time limit ended the search before a candidate was tried in all folds" in done.err and done.code == 0
    found = done.json
    assert found["params"]["C"] == 1.0 and found["search"]["best"] is None and found["search"]["candidates"] == []
    assert found["search"]["plot"] is None and not Path("p.png").exists()
    words = svmkit("train", svmlight(), "--tune", "--time-limit", "0.0001", "--no-track").out
    assert words.startswith("data ")


def test_a_file_of_options(svmkit):
    Path("c.yaml").write_text("tune: true\ncv: 2\nno-track: true\nC: 2\n")
    found = svmkit("train", svmlight(), "--config", "c.yaml", "--json").json
    assert set(found["search"]["best"]["params"]) == {"gamma"} and found["params"]["C"] == 2.0


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--tune", "-C", 1, "--gamma", 1), "there is nothing to choose: leave -C or --gamma out"),
        (("--cv", 3), "--cv belongs to a search: give --tune, too"),
        (("--plot", "p.png"), "--plot draws what --tune or --relevance learned found: give one of the two, too"),
        (("--tune", "--checkpoint", "c"), "a search cannot be taken up again: leave --checkpoint out"),
        (("--tune", "--resume", "--out", "m"), "a search cannot start at a model: leave --resume out"),
        (("--tune", "--task", "outliers"), "a search needs labels"),
        (("--tune", "--plot", "p.txt"), "the name has to end in .png, .svg, .pdf"),
        (("--tune", "--scheduler", "local:2"), "parts are not divided into folds"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_does_not_go_together_is_one_line(svmkit, args, message):
    done = svmkit("train", svmlight(), "--no-track", *args)
    assert done.code == 2 and message in done.err and done.err.count("\n") == 1


def test_a_stream_and_a_grid_are_refused(svmkit):
    done = svmkit("train", "-", "--tune", "--no-track")
    assert done.code == 2 and "a stream cannot be divided into folds" in done.err
    done = svmkit("tune", svmlight(), "--search", "zoom", "--grid", "C=1,2", "--no-track")
    assert done.code == 2 and "--search zoom takes its values from the data" in done.err


def test_a_class_of_few_rows_lowers_the_number_of_folds(svmkit):
    rows = [f"{1 if k < 3 else 2} 1:{k % 7} 2:{k % 3 + 5 * (k < 3)}\n" for k in range(40)]
    Path("few.svm").write_text("".join(rows))
    done = svmkit("train", "few.svm", "--tune", "--no-track", "--json", "-C", 1)
    assert "class 1 has 3 samples: 3 folds in place of 5" in done.err and done.json["search"]["cv"] == 3
