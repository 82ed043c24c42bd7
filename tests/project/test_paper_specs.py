"""The papers' comparison specs and what runs them: examples/papers."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from svmkit.compare.cells import lane, runner, worker
from svmkit.compare.plan.sets import prepare
from svmkit.compare.plan.spec import read
from svmkit.data import load
from svmkit.errors import InputError
from svmkit.kernels.gamma import resolve_gamma

ROOT = Path(__file__).parents[2]
PAPERS, RECORDS = ROOT / "examples" / "papers", ROOT / "docs" / "papers"
sys.path.insert(0, str(PAPERS))

import reproduce  # noqa: E402
from comparison.figures import deltas  # noqa: E402
from comparison.spec import Paper, load_paper  # noqa: E402

SPECS = ["sfw", "partan", "swap"]


@pytest.fixture
def published(alone, tmp_path, monkeypatch):
    """published(name) -> Paper, with an empty file in place of each set that it names."""
    folder = tmp_path / "sets"
    folder.mkdir()
    monkeypatch.setenv("SVMKIT_DATA", str(folder))

    def load(name: str) -> Paper:
        path = PAPERS / f"{name}.yaml"
        for key, entry in yaml.safe_load(path.read_text(encoding="utf-8"))["data"].items():
            for source in (entry.get("source", key), entry["test"]):
                if isinstance(source, str):
                    (folder / source).touch()
        return load_paper(path)

    return load


# --- the files


@pytest.mark.parametrize("name", SPECS)
def test_every_spec_loads(name, published):
    paper = published(name)
    assert paper.cells() and paper.tables and paper.figure
    assert len({cell.key for cell in paper.cells()}) == len(paper.cells())


@pytest.mark.parametrize("name", SPECS)
def test_the_records_kept_are_of_all_cells_of_the_spec_as_it_is(name, published):
    wanted = {(c.data, c.solver, c.stop, c.seed): c for c in published(name).cells()}
    lines = (RECORDS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    kept = {(r["set"], r["label"], r["stop"], r["seed"]): r for r in map(json.loads, lines)}
    assert set(kept) == set(wanted) and len(kept) == len(lines)
    for at, record in kept.items():
        assert _without_files(record["settings"]) == _without_files(wanted[at].settings)
        files = record["settings"]["data"]["files"]
        assert set(files) == set(wanted[at].settings["data"]["files"]) and len(set(files.values())) == len(files)


def _without_files(settings):
    return settings | {"data": {key: value for key, value in settings["data"].items() if key != "files"}}


def test_sfw_prints_what_the_paper_prints(published):
    assert "sampler" not in published("sfw").comparison.solvers["sfw"]  # its own: full would be the order of the file
    found = published("sfw").published
    assert found["a9a"]["sfw"]["2 epochs"] == {"test_accuracy": 84.69, "n_support": 16743, "solve_s": 1178.7}
    assert found["svmguide1"]["msfw"]["1 epoch"] == {"test_accuracy": 97.00, "n_support": 672, "solve_s": 0.30}
    assert found["ijcnn1"]["msfw"]["2 epochs"] == {"test_accuracy": 98.55, "n_support": 3724, "solve_s": 78.51}


def test_partan_prints_what_the_paper_prints(published):
    found = published("partan").published
    assert found["w8a"]["swap"]["1e-6"] == {"n_iter": 346_000, "solve_s": 8630}
    at = {name: {solver: by_stop["1e-4"] for solver, by_stop in found[name].items()} for name in found}
    assert at["ijcnn1"]["partan"] == {"n_iter": 5480, "solve_s": 19.8, "test_accuracy": 98.36, "n_support": 2730}
    assert at["a9a"]["mfw-194"] == {"n_iter": 19_800, "solve_s": 163, "test_accuracy": 83.86, "n_support": 12400}
    ratios = [at[name]["fw"]["solve_s"] / at[name]["partan"]["solve_s"] for name in ("a9a", "w8a", "ijcnn1")]
    others = [1.98e3 / 7.38e2, 7.02e2 / 1.89e2, 1.37e4 / 1.23e4]  # its sets that are not here
    assert np.mean(ratios + others) == pytest.approx(2.52, abs=0.005)


def test_swap_prints_what_the_paper_prints(published):
    by_kind = {table["kind"]: table for table in published("swap").tables}
    p = {(pair["metric"], pair["first"], pair["second"]): float(pair["p"]) for pair in by_kind["wilcoxon"]["pairs"]}
    assert len(p) == 16
    assert p["solve_s", "swap", "fw"] == 0.03757
    assert p["solve_s", "swap2o", "cvm"] == 4.47e-8
    assert p["test_accuracy", "swap2o", "swap"] == 1.418e-3
    large = next(group for group in by_kind["ratios"]["groups"] if group["name"] == "large")
    assert large["published"] == {"fw": 27.3, "mfw": 15.0, "swap": 30.7, "swap2o": 29.5}


# --- refusals

TINY = """
name: tiny
data:
  breast_cancer:
    {test: {hold_out: 0.3}, kernel: {name: rbf, gamma: msd}, C: 1, scale: standard}
solvers: {fw: {}, swap: {}, fw-59: {solver: fw, sampler: "uniform:59", stops: ["1e-2"], repeats: 2}}
stop: {"1e-2": "abs:2e-2", "1e-3": "abs:2e-3 | iter:500"}
published: {breast_cancer: {fw: {"1e-2": {test_accuracy: 96.5, n_support: 100}, "1e-3": {n_iter: 250}}}}
tables:
  - kind: cells
    title: Cells
    data: [breast_cancer]
    solvers: [fw, swap, fw-59]
    stops: ["1e-2", "1e-3"]
    compare: {test_accuracy: best, n_support: mean}
    show: [n_iter range]
    within: {test_accuracy: {"1e-2": 5}, n_support: {"1e-2": 1%}}
  - {kind: ratios, title: R, metric: n_iter, data: [breast_cancer], solvers: [swap], stops: ["1e-3"], over: fw}
figure: {kind: curves, data: [breast_cancer], solvers: [fw, swap]}
"""


def write(tmp_path, *path, **change):
    """TINY with `change` applied at the map that `path` leads to, as a file."""
    file, spec = tmp_path / "tiny.yaml", yaml.safe_load(TINY)
    at = spec
    for key in path:
        at = at[key]
    at.update(change)
    file.write_text(yaml.safe_dump(spec, sort_keys=False), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("path", "change", "message"),
    [
        ((), {"publish": {}}, "unknown key publish (did you mean published?)"),
        (("data", "breast_cancer"), {"features": 9}, "data.breast_cancer: unknown key features"),
        ((), {"decades": 0}, "decades should be a whole number >= 1"),
        (("published", "breast_cancer"), {"cvm": {}}, "published.breast_cancer: unknown name cvm"),
        (("published", "breast_cancer", "fw"), {"1e-9": {}}, "unknown name 1e-9 (did you mean 1e-3?)"),
        (("published", "breast_cancer", "fw", "1e-2"), {"acc": 1}, "unknown metric acc"),
        (("published", "breast_cancer", "fw", "1e-2"), {"n_support": "many"}, "should be a number"),
        (("published",), {"breast_cancer": [1]}, "should be a map of names"),
        (("tables", 0), {"kind": "cell"}, "unknown name cell (did you mean cells?)"),
        (("tables", 0), {"show": ["n_support median"]}, "unknown name median"),
        (("tables", 0), {"within": {"n_support": {"1e-2": "ten"}}}, "should be a number"),
        (("tables", 0), {"data": ["a9a"]}, "tables[0].data: unknown name a9a"),
        (("tables", 1), {"over": "cvm"}, "unknown name cvm"),
        (("tables", 1), {"metric": "speed"}, "unknown metric speed"),
        (("figure",), {"x": "n_support"}, "figure: unknown key x"),
    ],
)
def test_what_is_wrong_is_named_in_one_line(alone, tmp_path, path, change, message):
    file = write(tmp_path, *path, **change)
    with pytest.raises(InputError) as caught:
        load_paper(file)
    text = str(caught.value)
    assert message in text and text.startswith(str(file)) and "\n" not in text


def test_a_wrong_spec_ends_with_2_and_one_line(alone, tmp_path, capsys):
    assert reproduce.main([str(write(tmp_path, colour=1)), "--out", str(tmp_path / "out")]) == 2
    assert reproduce.main([str(write(tmp_path)), "--out", str(tmp_path / "out"), "--only", "a9a"]) == 2
    assert reproduce.main([str(write(tmp_path, "solvers", fw={"solver": "fww"})), "--out", str(tmp_path / "out")]) == 2
    shown = capsys.readouterr()
    assert shown.err.count("\n") == 3 and shown.out == "" and "did you mean" in shown.err
    assert reproduce.main([str(write(tmp_path)), "--out", str(tmp_path / "out"), "--jobs", "2", "--threads", "1"]) == 2
    assert "--jobs must be between 1 and the 1 threads" in capsys.readouterr().err
    assert not list(tmp_path.glob("out*"))


# --- what it runs and writes


@pytest.fixture
def counted(alone, monkeypatch):
    """The cells that are run, here instead of in a worker process."""
    ran, run = [], worker.run

    def watched(cell, *args):
        ran.append((cell.solver, cell.stop, cell.seed))
        return run(cell, *args)

    monkeypatch.setattr(worker, "run", watched)
    monkeypatch.setattr(worker, "WARM_STEPS", 1)
    monkeypatch.setattr(worker, "_bench", worker.Bench())
    monkeypatch.setattr(lane.Lane, "call", lambda self, seconds, function, *args, patience=0.0: function(*args))
    return ran


@pytest.mark.slow
def test_a_spec_in_worker_processes(alone, tmp_path, capsys):
    args = [str(write(tmp_path)), "--out", "out", "--solvers", "fw-59", "--threads", "1"]
    assert reproduce.main(args) == 0
    shown = capsys.readouterr()
    assert shown.err.startswith("tiny: 2 cells, 0 of them finished before\nbreast_cancer fw-59 1e-2 seed 0: ")
    assert shown.err.count("converged") == 2 and "| converged |" in shown.out


def test_a_spec_from_end_to_end_and_again(tmp_path, counted, capsys):
    spec, out = str(write(tmp_path)), "results/tiny"
    assert reproduce.main([spec, "--out", out, "--solvers", "swap,fw-59"]) == 0
    assert counted == [("swap", "1e-2", 0), ("swap", "1e-3", 0), ("fw-59", "1e-2", 0), ("fw-59", "1e-2", 1)]
    assert reproduce.main([spec, "--out", out]) == 0
    assert counted[4:] == [("fw", "1e-2", 0), ("fw", "1e-3", 0)]
    capsys.readouterr()
    assert reproduce.main([spec, "--out", out, "--time-limit", "1000"]) == 0
    assert len(counted) == 6
    report = Path(f"{out}.md").read_text(encoding="utf-8")
    assert capsys.readouterr().out.strip() == report.strip()
    assert Path(f"{out}.png").stat().st_size > 5000
    rows = [line.split(" | ") for line in report.splitlines() if line.startswith("| breast_cancer | fw | ")]
    assert rows[0][3] == "96.50" and rows[0][-2].startswith(("pass", "FAIL")) and rows[1][-2] == ""
    assert 90 < float(rows[0][4]) <= 100  # per cent, as published
    assert "fw/swap, published" in report and "of 1 marks pass" in report


def test_a_change_of_the_spec_runs_only_what_it_touches(tmp_path, counted):
    args = ["--out", "out", "--solvers", "swap"]
    assert reproduce.main([str(write(tmp_path)), *args]) == 0
    assert reproduce.main([str(write(tmp_path, "stop", **{"1e-3": "abs:4e-3"})), *args]) == 0
    assert counted[2:] == [("swap", "1e-3", 0)]
    assert reproduce.main([str(write(tmp_path, "data", "breast_cancer", C=2)), *args]) == 0 and len(counted) == 5


@pytest.mark.slow
def test_a_cell_that_ran_out_is_marked_and_repeated_for_a_longer_limit(tmp_path, counted, capsys):
    args = [str(write(tmp_path, stop={"1e-2": "abs:1e3", "1e-3": "abs:1e-14"})), "--out", "out"]
    args += ["--solvers", "fw,swap"]
    assert reproduce.main([*args, "--time-limit", "0.05"]) == 0
    report = capsys.readouterr().out
    assert "| time_limit |" in report and any(mark in report for mark in ("≥", "≤", "? "))
    for limit, ran in (("0.05", 4), ("0.1", 6)):  # only those that ran out, and only for a longer limit
        reproduce.main([*args, "--time-limit", limit])
        assert len(counted) == ran


def test_a_cell_that_fails_is_told_and_stops_no_other(tmp_path, counted, monkeypatch, capsys):
    train = worker.train

    def refusing(X, y, method, **how):
        if method.solver.name == "fw":
            raise InputError("not this one")
        return train(X, y, method, **how)

    monkeypatch.setattr(worker, "train", refusing)
    args = [str(write(tmp_path)), "--out", "out", "--solvers", "fw,swap", "--decades", "1"]
    assert reproduce.main(args) == 1
    shown = capsys.readouterr()
    assert "failed: not this one" in shown.err and "| failed |" in shown.out and "| converged |" in shown.out
    monkeypatch.setattr(worker, "train", train)
    assert reproduce.main(args) == 0
    assert counted == [("fw", "1e-2", 0), ("swap", "1e-2", 0), ("fw", "1e-2", 0)]


def test_an_interrupted_run_is_reported_as_far_as_it_came(tmp_path, counted, monkeypatch):
    monkeypatch.setattr(runner, "run", lambda *args, **how: False)
    assert reproduce.main([str(write(tmp_path)), "--out", "out"]) == 130
    assert not Path("out.jsonl").exists()
    assert "not run" in Path("out.md").read_text(encoding="utf-8")


def test_delta_of_a_curve_ends_at_the_tolerance(tmp_path, counted):
    assert reproduce.main([str(write(tmp_path)), "--out", "out", "--solvers", "swap"]) == 0
    first = json.loads(Path("out.jsonl").read_text(encoding="utf-8").splitlines()[0])
    curve = deltas(first["history"])
    assert curve[-1][1] <= 1e-2 < curve[-2][1]
    assert curve[-1][0] == first["n_iter"]


def test_delta_of_the_records_that_hold_it_themselves():
    assert deltas({"n_iter": [1, 5], "seconds": [0.1, 0.2], "delta": [0.5, 0.25]}) == [(1, 0.5), (5, 0.25)]
    assert deltas({"n_iter": [1, 5], "gap": [None, 0.5], "objective": [4.0, 3.0]}) == [(5, 0.75)]
    assert deltas({}) == []


# --- data


def test_rows_held_out_are_those_of_the_records(alone):
    entry = {"source": "iris", "positive": "setosa", "rows": "first 100", "scale": "maxabs", "C": 1.0}
    entry |= {"test": {"hold_out": 0.2, "seed": 3, "stratify": False}}
    sets = prepare(entry | {"kernel": {"name": "poly", "gamma": "2 * msd", "degree": 2}})
    whole = load("iris").X[:100]
    held = np.sort(np.random.default_rng(3).permutation(100)[:20])
    np.testing.assert_array_equal(sets.test.X, whole[held])
    np.testing.assert_array_equal(sets.train.X, np.delete(whole, held, axis=0))
    scaled = sets.train.X / np.abs(sets.train.X).max(axis=0)
    assert sets.kernel.gamma == pytest.approx(2 * resolve_gamma("msd", scaled))


@pytest.mark.data
def test_the_papers_sets_load(real):
    if not all(any(real.glob(f"{name}*")) for name in ("svmguide1.", "svmguide1.t", "a1a.", "a1a.t")):
        pytest.skip("needs svmguide1, a1a and their test files in $SVMKIT_DATA")
    sets = prepare(_entry("sfw", "svmguide1"))
    assert (sets.train.n_samples, sets.test.n_samples) == (3089, 4000)
    assert sets.kernel.gamma == pytest.approx(1 / 800)
    sets = prepare(_entry("swap", "a1a"))
    assert (sets.train.X.shape, sets.test.X.shape) == ((1605, 123), (30956, 123))


def _entry(name, data):
    """The settings of a set, read without the others of the paper."""
    raw = yaml.safe_load((PAPERS / f"{name}.yaml").read_text(encoding="utf-8"))
    return read({"data": {data: raw["data"][data]}, "solvers": ["fw"]}).data[data]
