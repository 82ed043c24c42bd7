"""The benchmark beside the peers and the growth curve, end to end on tiny data: what they promise is there."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from support.problems import blobs
from support.scripts import run_here

FOLDER = Path(__file__).parents[2] / "examples" / "benchmarks"
sys.path.append(str(FOLDER))

import growth  # noqa: E402
import peers_everyday_report  # noqa: E402
import peers_regression_report  # noqa: E402
import peers_regression_sets  # noqa: E402
import peers_targets  # noqa: E402
from peers_cells import cells  # noqa: E402
from peers_remote import Failed, Remote, Store  # noqa: E402
from peers_tables import insert, summary  # noqa: E402

CELLS = "a9a_hinge,a9a_squared,a9a_accuracy,a9a_predict,a9a_linear_l1_0.1"


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    """A folder with small sets under the names of real ones."""
    folder = tmp_path_factory.mktemp("sets")
    for seed, (name, m) in enumerate({"a9a": 240, "a9a.t": 80, "ijcnn1": 200, "ijcnn1.t": 100}.items()):
        X, y = blobs(m, 4, seed=seed)
        dump_svmlight_file(X, y, str(folder / name), zero_based=False)
    return folder


def run(script, sets, *args):
    return run_here(FOLDER / script, *args, SVMKIT_DATA=sets)


@pytest.fixture(scope="module")
def measured(sets, tmp_path_factory):
    """(the path given as --out, what the run said) of all kinds of cells on tiny data."""
    out = tmp_path_factory.mktemp("peers") / "benchmark"
    out.with_suffix(".md").write_text("Words before.\n\nWords after.\n")
    done = run("peers.py", sets, "--out", out, "--cells", CELLS, "--repeat", 2)
    assert done.returncode == 0, done.stderr
    return out, done


def records(out):
    return [json.loads(line) for line in out.with_suffix(".jsonl").read_text().splitlines()]


@pytest.fixture
def few_turns(monkeypatch):
    """Let no fit be made up to fifteen times because it is short."""
    monkeypatch.setattr("peers_turns.SHORT", (0.1, 3))


@pytest.mark.slow
def test_every_side_is_measured_as_often_as_asked_and_certified(measured):
    runs = [r for r in records(measured[0]) if r.get("what") == "run"]
    assert {r["cell"] for r in runs} == set(CELLS.split(","))
    hinge = [r for r in runs if r["cell"] == "a9a_hinge"]
    names = [r["contender"] for r in hinge]
    assert names.count("LIBSVM (scikit-learn)") == 2 == names.count("fcsmo, gap 1e-3")
    assert names[: len(names) // 2] == names[len(names) // 2 :], "in turns"
    best = max(r["D"] for r in hinge)
    for r in hinge:
        assert r["seconds"] > 0.0 and 0.0 <= r["accuracy"] <= 1.0 and r["n_support"] > 0
        assert r["P"] >= r["D"] > 0.0 and r["certified"] < 1e-2
        assert r["D"] == pytest.approx(best, rel=2e-3)
    same = [r for r in hinge if r["contender"] == "fcsmo, same D"]
    theirs = max(r["D"] for r in hinge if r["side"] != "svmkit")
    assert same and all(r["D"] >= theirs * (1.0 - 1.01e-4) for r in same)


@pytest.mark.slow
def test_judged_accuracy_is_what_a_side_itself_predicts(measured):
    runs = records(measured[0])
    fits = {r["contender"]: r for r in runs if r.get("cell") == "a9a_hinge" and r["what"] == "run"}
    predictions = {r["contender"]: r for r in runs if r.get("cell") == "a9a_predict" and r["what"] == "run"}
    name = "LIBSVM (scikit-learn)"
    assert predictions[name]["accuracy"] == fits[name]["accuracy"]
    assert predictions[name]["n_support"] == fits[name]["n_support"]
    assert predictions["fcsmo"]["accuracy"] == fits["fcsmo, gap 1e-3"]["accuracy"]


@pytest.mark.slow
def test_dual_value_that_liblinear_prints_is_read(measured):
    runs = [r for r in records(measured[0]) if r.get("cell", "").startswith("a9a_linear") and r["what"] == "run"]
    named = {r["contender"]: r for r in runs}
    theirs, ours = named["LIBLINEAR (LinearSVC)"], named["dcd, same D"]
    assert theirs["P"] >= theirs["D"] > 0.0
    assert ours["D"] >= theirs["D"] * (1 - 1e-9) and ours["P"] == pytest.approx(theirs["P"], rel=0.05)


@pytest.mark.slow
def test_curves_are_certified_and_reach_the_gap(measured):
    curves = [r for r in records(measured[0]) if "curve" in r]
    assert {r["contender"] for r in curves} == {"fcsmo curve", "fcfw curve"}
    for r in curves:
        seconds, gaps, _, accuracies, _ = zip(*r["curve"], strict=True)
        assert list(seconds) == sorted(seconds) and gaps[-1] <= 1e-3
        assert all(0.0 <= a <= 1.0 for a in accuracies)


@pytest.mark.slow
def test_sides_that_are_not_installed_are_named_and_left_out(measured):
    out, done = measured
    measured_sides = {r["side"] for r in records(out) if r.get("what") == "side"}
    assert {"svc", "linearsvc"} <= measured_sides
    for side in ("libsvm-official", "intelex", "snapml"):
        assert (side in measured_sides) != (f"{side} is left out" in done.stderr)


@pytest.mark.slow
def test_table_and_pictures_are_written_around_the_words_of_the_page(measured):
    out, _ = measured
    text = out.with_suffix(".md").read_text()
    assert text.startswith("Words before.\n\nWords after.\n")
    for part in (
        "### Targets",
        "fcsmo, same D",
        "floor",
        "LIBLINEAR",
        "benchmark_gap.png",
        "Squared",
    ):
        assert part in text
    for name in ("gap", "accuracy"):
        assert out.with_name(f"benchmark_{name}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_second_run_measures_nothing_again_and_keeps_other_settings_separate(measured, sets):
    out, _ = measured
    before = out.with_suffix(".jsonl").read_text()
    again = run("peers.py", sets, "--out", out, "--cells", CELLS, "--repeat", 2)
    assert again.returncode == 0, again.stderr
    assert out.with_suffix(".jsonl").read_text() == before
    assert Store(out.with_suffix(".jsonl"), {"rows": 100, "threads": 2}).records == []


@pytest.mark.slow
@pytest.mark.usefixtures("few_turns")
def test_everyday_sets_are_measured_beside_svc_in_turns_and_judged_by_their_objective(sets, tmp_path):
    out = tmp_path / "b"
    args = ("--out", out, "--cells", "everyday_iris,everyday_a9a,fixed", "--repeat", 1, "--everyday", "smo")
    done = run("peers.py", sets, *args)
    assert done.returncode == 0, done.stderr
    store = Store(out.with_suffix(".jsonl"), {"rows": None, "threads": 2, "hinge": "fcsmo", "squared": "fcfw"})
    entries = peers_everyday_report.measured(store)
    assert [(e["name"], e["storage"]) for e in entries] == [
        (n, s) for n in ("iris", "a9a") for s in ("dense", "sparse")
    ]
    for entry in entries:
        ours, theirs = entry["sides"]["svmkit"], entry["sides"]["svc"]
        assert abs(peers_everyday_report.difference(entry)) < 1e-3
        for side in (ours, theirs):
            assert side["D"] <= side["P"] * (1.0 + 1e-12) and side["P"] - side["D"] < 2e-3 * side["P"]
        assert ours["accuracy"] == pytest.approx(theirs["accuracy"], abs=0.05)
        assert entry["m"] == {"iris": 112, "a9a": 180}[entry["name"]]
    text = out.with_suffix(".md").read_text()
    assert "everyday sets: each set" in text and "500 small fits" in text
    assert out.with_name("b_everyday.png").read_bytes().startswith(b"\x89PNG")
    before = records(out)
    assert run("peers.py", sets, *args).returncode == 0
    assert records(out) == before
    again = run("peers.py", sets, *args[:2], "--cells", "everyday_iris", *args[4:], "--again", "svmkit")
    assert again.returncode == 0, again.stderr
    earlier, later = ([r for r in found if "cell" in r] for found in (before, records(out)))
    iris = [[r for r in found if r["cell"] == "everyday_iris"] for found in (earlier, later)]
    assert [r for r in earlier if r not in iris[0]] == [r for r in later if r not in iris[1]]
    kinds = [{(r["storage"], r["what"], r.get("contender")) for r in found} for found in iris]
    assert iris[0] != iris[1] and kinds[0] == kinds[1]


@pytest.mark.slow
@pytest.mark.usefixtures("few_turns")
def test_regression_is_measured_beside_svr_and_judged_by_its_objective(sets, tmp_path):
    out = tmp_path / "b"
    done = run("peers.py", sets, "--out", out, "--cells", "regression_diabetes,regression_wage", "--repeat", 2)
    assert done.returncode == 0, done.stderr
    assert "regression_wage is left out: --packages names no folder with ISLP" in done.stderr
    store = Store(out.with_suffix(".jsonl"), {"rows": None, "threads": 2, "hinge": "fcsmo", "squared": "fcfw"})
    (entry,) = peers_regression_report.measured(store)
    assert (entry["name"], entry["m"], entry["d"]) == ("diabetes", 331, 10)
    for side, facts in entry["sides"].items():
        assert facts["D"] <= facts["P"] * (1.0 + 1e-12) and facts["P"] - facts["D"] < 2e-3 * facts["P"]
        assert abs(peers_regression_report.difference(entry, side)) < 1e-3
        assert facts["r2"] == pytest.approx(entry["sides"]["SVR"]["r2"], abs=0.01) and facts["r2"] > 0.2
    text = out.with_suffix(".md").read_text()
    assert "### Regression" in text and "| regression, gap 1e-3 | diabetes, dense |" in text
    assert out.with_name("b_regression.png").read_bytes().startswith(b"\x89PNG")


def test_a_table_of_a_package_becomes_numbers(tmp_path):
    rows = ["a,b,kind,t", "1,7,x,1.0", "2,8,y,2.718281828459045", "3,9,x,7.389056098930650", "4,,y,1.0"]
    (tmp_path / "t.csv").write_text("\n".join(rows))
    X, t = peers_regression_sets.Table("t.csv", "t", drop=("b",), log=True).load(tmp_path)
    assert X.shape == (4, 3) and X[:, 1:].toarray().tolist() == [[1, 0], [0, 1], [1, 0], [0, 1]]
    np.testing.assert_allclose(X[:, 0].toarray()[:, 0], (np.arange(4) - 1.5) / np.std(range(4)))
    np.testing.assert_allclose(t, (np.array([0, 1, 2, 0]) - 0.75) / np.std([0, 1, 2, 0]))
    without = peers_regression_sets.Table("t.csv", "t").load(tmp_path)[0]
    assert without.shape == (3, 4), "rows with gaps are left out"


def everyday(name, storage, seconds, classes=2, D=1.0):
    return {
        "name": name,
        "storage": storage,
        "classes": classes,
        "sides": {"svc": {"seconds": 1.0, "D": 1.0}, "svmkit": {"seconds": seconds, "D": D}},
    }


def test_ratios_of_everyday_sets_are_averaged_as_ratios():
    entries = [everyday("a", "dense", 0.25), everyday("b", "dense", 4.0), everyday("c", "sparse", 1.0)]
    assert peers_everyday_report.mean(entries, "svc") == pytest.approx(1.0)
    assert peers_everyday_report.mean(entries, "intelex") is None
    assert peers_everyday_report.difference(everyday("a", "dense", 1.0, D=0.999)) == pytest.approx(-1e-3)


def test_only_the_records_of_the_sides_that_are_measured_again_are_forgotten(tmp_path):
    path, settings = tmp_path / "x.jsonl", {"rows": None}
    store, other = Store(path, settings), Store(path, {"rows": 5})
    for side in ("svc", "svmkit"):
        store.add(cell="a9a_hinge", what="run", side=side, seconds=1.0)
    other.add(cell="a9a_hinge", what="run", side="svmkit", seconds=9.0)
    store.forget(lambda record: record["side"] == "svmkit")
    assert [r["side"] for r in store.records] == ["svc"] == [r["side"] for r in Store(path, settings).records]
    assert [r["seconds"] for r in Store(path, {"rows": 5}).records] == [9.0]


def test_peers_run_slow_fits_once(tmp_path):
    from argparse import Namespace

    from peers_measure import Measuring

    cell = next(cell for cell in cells("fcsmo", "fcfw") if cell.name == "a9a_hinge")
    store = Store(tmp_path / "x.jsonl", {"rows": None})
    measuring = Measuring(cell, store, Namespace(repeat=3, slow=5.0))
    slow, fast, ours = (cell.contenders[k] for k in (0, 2, -1))
    for contender, seconds in ((slow, 30.0), (fast, 2.0), (ours, 30.0)):
        assert measuring._left(contender)
        store.add(cell=cell.name, what="run", contender=contender.name, side=contender.side, seconds=seconds)
    assert [measuring._left(contender) for contender in (slow, fast, ours)] == [False, True, True]


@pytest.mark.slow
def test_unknown_solver_is_refused_before_anything_is_measured(sets, tmp_path):
    done = run("peers.py", sets, "--out", tmp_path / "b", "--hinge", "fcmso")
    assert done.returncode != 0 and "fcmso" in done.stderr and not (tmp_path / "b.jsonl").exists()


def test_side_that_cannot_work_says_why():
    with pytest.raises(Failed, match="no side 'nonsense'"):
        Remote(sys.executable, "nonsense", 1)


@pytest.mark.slow
def test_growth_measures_nested_subsets_and_fits_the_exponent(sets, tmp_path):
    out = tmp_path / "growth"
    args = ("--out", out, "--data", "ijcnn1", "--sizes", "100,200", "--repeat", 1, "--solvers", "fcsmo")
    done = run("growth.py", sets, *args)
    assert done.returncode == 0, done.stderr
    runs = records(out)
    assert [(r["solver"], r["m"]) for r in runs] == [(s, m) for m in (100, 200, 300) for s in ("fcsmo", "svc")]
    ours = [r for r in runs if r["solver"] == "fcsmo"]
    assert all(r["status"] == "converged" and r["gap"] <= 1e-3 and r["kernel_values"] > 0 for r in ours)
    assert out.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    assert "exponent" in out.with_suffix(".md").read_text()
    run("growth.py", sets, *args)
    assert records(out) == runs


def test_exponent_is_the_slope_of_the_fits_that_converged():
    runs = [{"m": m, "seconds": 3e-6 * m**1.25, "status": "converged"} for m in (100, 1000, 5000)]
    slow = {"m": 10_000, "seconds": 600.0, "status": "time_limit"}
    assert growth.exponent([*runs, slow]) == pytest.approx(1.25)
    assert growth.exponent(runs[:1]) is None


def test_accuracy_has_to_stay_within_a_tenth_of_a_point():
    def rung(seconds, accuracy, side):
        return {"seconds": seconds, "accuracy": accuracy, "side": side}

    runs = {
        "intelex csr @ 1": rung(1.0, 0.8500, "intelex"),  # good by luck, and then not
        "intelex csr @ 0.1": rung(2.0, 0.8400, "intelex"),
        "intelex csr @ 0.01": rung(4.0, 0.8495, "intelex"),
        "intelex csr @ 0.001": rung(8.0, 0.8500, "intelex"),
        "fcsmo @ 0.1": rung(1.5, 0.8491, "svmkit"),
        "fcsmo @ 0.001": rung(3.0, 0.8600, "svmkit"),
    }
    assert peers_targets.reference(runs) == 0.8500
    assert peers_targets.settled(runs, "intelex") == ("0.01", 4.0, 0.8495)
    assert peers_targets.settled(runs, "fcsmo") == ("0.1", 1.5, 0.8491)


def test_arrival_is_the_time_outside_the_loop_and_the_history_up_to_there():
    run = {"history": [[0.1, -5.0], [0.4, -9.9995], [0.9, -10.0]], "loop": 1.0, "all": [9.0, 1.25]}
    assert peers_targets.arrival(run, 10.0) == pytest.approx(0.25 + 0.4)
    assert peers_targets.arrival(run, 11.0) is None


def test_summaries_take_medians_and_keep_what_failed(tmp_path):
    cell = next(cell for cell in cells("fcsmo", "fcfw") if cell.name == "a9a_hinge")
    store = Store(tmp_path / "x.jsonl", {"rows": None})
    for k, seconds in enumerate((3.0, 1.0, 2.0)):
        store.add(cell=cell.name, what="run", contender="intelex csr", repeat=k, seconds=seconds, side="intelex")
    store.add(cell=cell.name, what="run", contender="intelex dense32", repeat=0, error="no memory", side="intelex")
    found = summary(store, cell)
    assert found["intelex csr"]["seconds"] == 2.0 and found["intelex dense32"]["error"] == "no memory"
    assert peers_targets.fastest(found, "intelex") is found["intelex csr"]
    assert np.isclose(peers_targets.ratio(found["intelex csr"], {"all": [6.0, 4.0, 4.0]}), 0.5)
    assert len(Store(tmp_path / "x.jsonl", {"rows": None}).records) == 3, "what failed is tried again"


def test_text_between_the_marks_is_replaced(tmp_path):
    page, marks = tmp_path / "page.md", ("<!-- a -->", "<!-- b -->")
    page.write_text("Before.\n<!-- a -->\nold\n<!-- b -->\nAfter.\n")
    insert(page, "new", marks)
    assert page.read_text() == "Before.\n<!-- a -->\nnew\n<!-- b -->\nAfter.\n"


@pytest.mark.slow
def test_memory_stays_within_budget_result_and_spare(tmp_path):
    """The measuring script on small work: what passes its limit ends it with 1."""
    page = tmp_path / "memory.md"
    page.write_text("Words before.\n")
    args = "--solvers", "fcsmo,swap2o", "--memory", "20MB", "--limit", "1", "--rows", "100000", "--file", "20MB"
    done = run("memory.py", tmp_path, *args, "--out", page)
    assert done.returncode == 0, done.stderr
    assert done.stdout in page.read_text() and page.read_text().startswith("Words before.")
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines()[2:]]
    assert [row[0].split()[-1] for row in rows] == ["`fcsmo`", "`swap2o`", "classes", "classes", "20MB"]
    for name, *numbers, share, _ in rows:
        budget, result, peak, allowed = (float(number.replace(",", "")) for number in numbers)
        assert 0.0 <= peak <= allowed and abs(allowed - (budget + result + 150.0)) <= 1.0 and 0.0 <= float(share) <= 1.0
        assert (budget > 0.0) == name.startswith("fit")
