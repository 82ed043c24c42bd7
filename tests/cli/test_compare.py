"""svmkit compare as it is called: refusals before any cell, JSON lines, tables, reports, runs."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from support.cli import lopsided, people, svmlight
from support.compare import misbehaving  # noqa: F401  a fixture
from support.problems import write

from svmkit.cli.comparing import comparison
from svmkit.compare.cells import runner, store

pytestmark = pytest.mark.usefixtures("alone")
KEYS = {
    "key", "set", "label", "stop", "split", "seed", "time_limit",
    "solver", "problem", "formulation", "kernel", "params", "data",
    "n_samples", "n_features", "classes", "status", "n_iter", "fit_s", "solve_s", "n_support", "objective",
    "dual_objective", "gap", "kernel_values", "untrained_pairs", "test_accuracy", "n_test", "details", "choice",
    "lower_bound", "suboptimality",
}  # fmt: skip


def lines(done):
    return [json.loads(line, parse_constant=pytest.fail) for line in done.out.splitlines()]


@pytest.fixture
def compare(svmkit, cells_here):
    return lambda *args: svmkit("compare", *args, "--no-track")


# --- refused before any cell has run


WRONG = [
    (["nothing to compare", "--solvers"], ["iris"]),
    (["nothing to compare", "--spec"], ["--solvers", "smo"]),
    (["nothing to compare"], ["iris", "--solvers", " , "]),
    (["dcd needs the linear kernel"], ["iris", "--solvers", "smo,dcd", "--kernel", "rbf"]),
    (["iris", "no test split", "accuracy"], ["iris", "--solvers", "smo", "--metrics", "time,accuracy"]),
    (["unknown metric speed"], ["iris", "--solvers", "smo", "--metrics", "speed"]),
    (["no solver 'smoo'"], ["iris", "--solvers", "smoo"]),
    (["no data set 'irish'", "iris"], ["irish", "--solvers", "smo"]),
    (["twice"], ["iris", "--solvers", "smo,smo"]),
    (["iris comes twice"], ["iris", "iris", "--solvers", "smo"]),
    (["--tol or --stop"], ["iris", "--solvers", "smo", "--tol", "1", "--stop", "abs:1"]),
    (["--tol must be"], ["iris", "--solvers", "smo", "--tol", "-1"]),
    (["--time-limit '0' is no time"], ["iris", "--solvers", "smo", "--time-limit", "0"]),
    (["--test is for a single"], ["iris", "wine", "--solvers", "smo", "--test", "iris"]),
    (["SOLVER.KEY=VALUE", "smo"], ["iris", "--solvers", "smo", "-o", "loss=hinge"]),
    (["no option 'eta'"], ["iris", "--solvers", "smo", "-o", "smo.eta=1"]),
    (["--jobs must be between"], ["iris", "--solvers", "smo", "--jobs", "2", "--threads", "1"]),
    (["not a record of a comparison"], ["iris", "--solvers", "smo", "--results", "notes.txt"]),
    (["cannot be written|no such|folder"], ["iris", "--solvers", "smo", "--report", "none/r.html"]),
    (["write it into", "-C"], ["--spec", "mine.yaml", "-C", "3"]),
    (["write it into", "DATA"], ["iris", "--spec", "mine.yaml"]),
    (["unknown name fw"], ["--spec", "mine.yaml", "--solvers", "fw"]),
    (["wrong.yaml", "unknown key colour"], ["--spec", "wrong.yaml"]),
    (["empty.yaml", "data is empty"], ["--spec", "empty.yaml"]),
]


@pytest.mark.parametrize(("words", "args"), WRONG)
def test_what_is_wrong_is_one_line_and_no_cell_runs(svmkit, monkeypatch, words, args):
    def never(*args):
        pytest.fail("a cell was begun")

    monkeypatch.setattr(runner, "run_cell", never)
    Path("notes.txt").write_text("my notes\n", encoding="utf-8")
    Path("mine.yaml").write_text("data: iris\nsolvers: smo\n", encoding="utf-8")
    Path("wrong.yaml").write_text("data: iris\nsolvers: smo\ncolour: red\n", encoding="utf-8")
    Path("empty.yaml").write_text("data: []\nsolvers: smo\n", encoding="utf-8")
    before = sorted(Path.cwd().iterdir())
    done = svmkit("compare", *args, "--no-track")
    assert (done.code, done.out) == (2, "") and done.err.count("\n") == 1, done
    for word in words:
        assert any(one.lower() in done.err.lower() for one in word.split("|")), done.err
    assert sorted(Path.cwd().iterdir()) == before


def test_a_folder_that_cannot_be_written_is_said_before_a_cell_runs(svmkit, monkeypatch):
    monkeypatch.setattr(runner, "run", lambda *args, **kwargs: pytest.fail("a cell was begun"))
    monkeypatch.setattr(store.os, "access", lambda place, mode: Path(place) != Path.cwd())  # root may write anywhere
    done = svmkit("compare", "iris", "--solvers", "smo", "--no-track")
    assert (done.code, done.out) == (2, "") and done.err.count("\n") == 1
    assert "cannot write svmkit-compare.jsonl" in done.err and "--results FILE" in done.err


# --- results


@pytest.mark.slow
def test_json_lines_one_a_cell_and_nothing_twice(compare):
    call = ["iris", "--solvers", "smo,swap2o", "--test-size", "0.3", "--repeat", "2", "--json"]
    first = compare(*call)
    assert first.code == 0
    found = lines(first)
    assert [(r["label"], r["seed"]) for r in found] == [("smo", 0), ("swap2o", 0), ("smo", 1), ("swap2o", 1)]
    assert all(set(r) >= KEYS and "history" not in r for r in found)
    assert first.err.count("converged") == 4
    again = compare(*call)
    assert lines(again) == found and "4 of 4 cells were finished before" in again.err
    more = compare(*call, "--fresh")
    assert [r["objective"] for r in lines(more)] == [
        r["objective"] for r in found
    ] and "finished before" not in more.err


@pytest.mark.slow
def test_wrong_tool_for_the_size_is_named_before_it_runs_and_in_the_report(compare):
    svmlight("set.svm", n=240)
    Path("mine.yaml").write_text("data: {set.svm: {memory: 1kB}}\nsolvers: [smo, fcsmo]\nstop: iter:3\n")
    done = compare("--spec", "mine.yaml", "--report", "r.html")
    said = [line for line in done.err.splitlines() if "single kernel rows" in line]
    assert len(said) == 1 and said[0].startswith("svmkit: smo on set.svm: ") and "fcsmo" in said[0]
    page = Path("r.html").read_text()
    assert page.count("its steps read single kernel rows") == 1
    assert "single kernel rows" not in compare("iris", "--solvers", "smo").err


@pytest.mark.slow
def test_options_of_solvers_and_kernels(compare):
    call = ["iris", "--solvers", "dcd,smo", "-o", "dcd.loss=squared_hinge", "-C", "0.5", "-C", "5", "--json"]
    found = lines(compare(*call))
    assert [(r["set"], r["label"]) for r in found] == [(f"iris C={C}", s) for C in ("0.5", "5") for s in ("dcd", "smo")]
    assert found[0]["formulation"] == "squared hinge, regularised bias" and found[0]["kernel"]["name"] == "linear"
    poly = lines(
        compare("iris", "--solvers", "smo", "--kernel", "poly", "--degree", "2", "-o", "kernel.coef0=1", "--json")
    )
    assert poly[0]["kernel"]["params"]["degree"] == 2 and poly[0]["kernel"]["params"]["coef0"] == 1.0


@pytest.mark.slow
def test_tables_for_a_reader(compare):
    done = compare("iris", "wine", "--solvers", "smo,swap2o,libsvm", "--scale", "standard", "--test-size", "0.25")
    assert done.code == 0
    for word in (
        "iris",
        "wine",
        "suboptimality",
        "accuracy",
        "average ranks",
        "Friedman",
        "Wilcoxon",
        "hinge, free bias",
    ):
        assert word in done.out, word
    assert "svmkit-compare.jsonl" in done.out and "\x1b" not in done.out


@pytest.mark.slow
def test_metrics_that_are_asked_for(compare):
    done = compare("iris", "--solvers", "smo,libsvm", "--metrics", "time,gap")
    assert "suboptimality" not in done.out and "gap" in done.out


@pytest.mark.slow
def test_a_table_with_text_columns_and_text_labels(compare):
    found = lines(compare(people("people.csv"), "--solvers", "smo", "--test-size", "0.25", "--json"))
    assert found[0]["classes"] == ["no", "yes"] and found[0]["n_test"] == 12


@pytest.mark.slow
def test_a_cell_that_fails_is_said_and_is_exit_1(compare, misbehaving):  # noqa: F811
    done = compare(svmlight(), "--solvers", "refuse,smo")
    assert done.code == 1 and "it is Monday" in done.out and "it is Monday" in done.err
    assert "converged" in done.out and "Traceback" not in done.err


@pytest.mark.slow
def test_a_report_and_a_spec_with_its_own_results(compare):
    spec = {"name": "mine & yours", "data": {"flowers": {"source": "iris", "test": 0.2}}, "solvers": ["smo", "fw"],
            "stop": {"loose": "gap:1e-1", "tight": "gap:1e-2"}}  # fmt: skip
    Path("mine.yaml").write_text(yaml.safe_dump(spec), encoding="utf-8")
    done = compare("--spec", "mine.yaml", "--report", "report.html", "--solvers", "smo")
    assert done.code == 0 and "smo loose" in done.out and "fw" not in done.out
    assert len(Path("mine.jsonl").read_text(encoding="utf-8").splitlines()) == 2
    page = Path("report.html").read_text(encoding="utf-8")
    assert "mine &amp; yours" in page and "smo tight" in page


# --- runs


@pytest.mark.slow
def test_cells_are_nested_runs_and_going_on_goes_on_with_the_same_parent(svmkit):
    from svmkit_registry import store

    call = ["compare", "iris", "--solvers", "smo,swap2o", "--test-size", "0.3", "--experiment", "trial"]
    assert svmkit(*call).code == 0
    done = svmkit(*call[:-4], "--test-size", "0.3", "--repeat", "2", "--experiment", "trial", "--json")
    assert done.code == 0, done.err
    found = lines(done)
    client = store.open_client(store.tracking_uri())
    runs = client.search_runs([client.get_experiment_by_name("trial").experiment_id])
    parents = [run for run in runs if "mlflow.parentRunId" not in run.data.tags]
    assert len(parents) == 1 and len(runs) == 5 and parents[0].info.status == "FINISHED"
    assert {r["parent_run_id"] for r in found} == {parents[0].info.run_id}
    assert parents[0].data.metrics["cells/finished"] == 4
    kept = {entry.path for entry in client.list_artifacts(parents[0].info.run_id)}
    assert {"report.html", "results.jsonl", "compare-time-gap.png"} <= kept
    by_id = {run.info.run_id: run for run in runs}
    for record in found:
        run = by_id[record["run_id"]]
        assert run.data.params["solver"] == record["solver"] and run.data.params["formulation"] == record["formulation"]
        assert run.data.metrics["test/accuracy"] == pytest.approx(record["test_accuracy"])
        assert run.data.metrics["final/gap"] == pytest.approx(record["gap"])
        assert run.inputs.dataset_inputs[0].dataset.name == "iris" and run.outputs.model_outputs
        assert "svmkit.options" in run.data.tags


@pytest.mark.slow
def test_a_store_that_is_down_costs_a_warning_and_no_cell(svmkit):
    done = svmkit("compare", "iris", "--solvers", "smo", "--tracking-uri", "http://127.0.0.1:9", "--json")
    assert done.code == 0 and lines(done)[0]["status"] == "converged"
    assert "MLflow" in done.err and "no server answers" in done.err and "Traceback" not in done.err


def test_the_command_in_a_report_names_no_folder(monkeypatch):
    monkeypatch.setattr("sys.argv", ["/somewhere/bin/svmkit", "compare", "a b"])
    assert comparison._command() == "svmkit compare 'a b'"


# --- the metric


def compared(svmkit, *args):
    done = svmkit("compare", *args, "--no-track", "--json")
    assert done.code == 0, done.err
    return done, [json.loads(line) for line in done.out.splitlines()]


@pytest.mark.slow
@pytest.mark.usefixtures("cells_here")
def test_a_rare_class_is_compared_by_balanced_accuracy(svmkit):
    done, found = compared(svmkit, lopsided(), "--solvers", "smo,swap", "--test-size", 0.25)
    for record in found:
        assert record["metric"]["name"] == "balanced_accuracy" and "5.0% of the rows" in record["metric"]["reason"]
        assert record["test_metric"] == pytest.approx(record["test_scores"]["balanced_accuracy"], abs=1e-12)
    assert done.err.count("--metric takes another") == 1 and "balanced accuracy, since class leave" in done.err
    again = svmkit("compare", "lopsided.csv", "--solvers", "smo,swap", "--test-size", 0.25, "--no-track")
    assert "balanced accuracy" in again.out and "accuracy" in again.out


@pytest.mark.slow
@pytest.mark.usefixtures("cells_here")
def test_a_metric_by_name(svmkit, refused):
    args = (lopsided(), "--solvers", "smo", "--test-size", 0.25)
    _, (found,) = compared(svmkit, *args, "--metric", "roc_auc")
    assert found["metric"] == {"name": "roc_auc", "positive": None, "reason": None} and 0.5 < found["test_metric"] <= 1
    _, (plain,) = compared(svmkit, *args, "--metric", "accuracy")
    assert plain["test_metric"] is None and plain["test_accuracy"] > 0.9 and plain["key"] != found["key"]
    refused(["f1_marco", "did you mean f1_macro"], "compare", *args, "--metric", "f1_marco")
    failed = svmkit("compare", "iris", "--solvers", "smo", "--test-size", 0.3, "--metric", "f1", "--no-track", "--json")
    assert failed.code == 1 and "f1_macro or f1_weighted" in json.loads(failed.out)["reason"]


@pytest.mark.slow
@pytest.mark.usefixtures("cells_here")
def test_a_spec_has_a_metric(svmkit, refused):
    lopsided()
    text = "data: {lopsided.csv: {test: 0.25, metric: f1}}\nsolvers: [smo]\n"
    Path("m.yaml").write_text(text)
    _, (found,) = compared(svmkit, "--spec", "m.yaml")
    assert (found["metric"]["name"], found["metric"]["positive"]) == ("f1", "leave")
    Path("m.yaml").write_text(text.replace("f1", "zzz"))
    refused(["m.yaml", "lopsided.csv.metric", "zzz"], "compare", "--spec", "m.yaml")


@pytest.mark.slow
@pytest.mark.usefixtures("cells_here")
def test_the_metric_has_a_spread_over_splits(svmkit):
    args = (lopsided(n=200, rare=20), "--solvers", "smo,swap", "--splits", 3, "--metric", "matthews_corrcoef")
    _, found = compared(svmkit, *args)
    assert len({record["split"] for record in found}) == 3 and all(-1 <= r["test_metric"] <= 1 for r in found)
    table = svmkit("compare", *args, "--no-track")
    line = next(line for line in table.out.splitlines() if line.startswith("smo"))
    values = [record["test_metric"] for record in found if record["label"] == "smo"]
    assert "matthews corrcoef" in table.out and f"{np.mean(values):.4f} ±{np.std(values, ddof=1):.4f}" in line


def test_data_that_train_refuses_is_refused_by_its_line_before_a_cell_runs(svmkit):
    """Holes, and quantities that a solver cannot learn: exit 2, the line of `svmkit train`, no results file."""
    holes = "".join(f"{'' if i % 5 == 0 else i},{i % 7},{'no' if i % 2 else 'yes'}\n" for i in range(60))
    prices = "".join(f"{i % 9},{i % 7},{i * 3.7}\n" for i in range(60))
    files = [write("holes.csv", f"a,b,c\n{holes}"), write("prices.csv", f"a,b,price\n{prices}")]
    files += [write("holes.svm", "".join(f"{1 - i % 2 * 2} 1:{'nan' if i % 5 else i}\n" for i in range(60)))]
    for file in files:
        line = svmkit("train", file, "--solver", "swap2o", "--no-track").err.splitlines()[-1]
        compare = ("compare", "iris", file, "--solvers", "smo,swap2o", "--no-track")
        for command in (compare, ("curve", file, "--solver", "swap2o")):
            done = svmkit(*command)
            assert (done.code, done.out) == (2, "") and done.err.splitlines()[-1] == line
        assert not Path("svmkit-compare.jsonl").exists()
