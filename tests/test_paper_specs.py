"""The papers' comparison specs and what runs them: examples/papers."""

import itertools
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy import stats as scipy_stats

import svmkit
from svmkit.errors import InputError
from svmkit.kernels import resolve_gamma

PAPERS = Path(__file__).parents[1] / "examples" / "papers"
sys.path.insert(0, str(PAPERS))

import reproduce  # noqa: E402
from comparison import cells, stats  # noqa: E402
from comparison.spec import Spec, load_spec  # noqa: E402

SPECS = ["sfw", "partan", "swap"]


def published(name: str) -> Spec:
    return load_spec(PAPERS / f"{name}.yaml")


# --- the files


@pytest.mark.parametrize("name", SPECS)
def test_every_spec_loads(name):
    spec = published(name)
    assert spec.cells() and spec.tables and spec.figure
    assert len({cell.key for cell in spec.cells()}) == len(spec.cells())


def test_sfw_prints_what_the_paper_prints():
    assert "sampler" not in published("sfw").solvers["sfw"]  # its own: full would be the order of the file
    found = published("sfw").published
    assert found["a9a"]["sfw"]["2 epochs"] == {"accuracy": 84.69, "support": 16743, "seconds": 1178.7}
    assert found["svmguide1"]["msfw"]["1 epoch"] == {"accuracy": 97.00, "support": 672, "seconds": 0.30}
    assert found["ijcnn1"]["msfw"]["2 epochs"] == {"accuracy": 98.55, "support": 3724, "seconds": 78.51}


def test_partan_prints_what_the_paper_prints():
    found = published("partan").published
    assert found["w8a"]["swap"]["1e-6"] == {"iterations": 346_000, "seconds": 8630}
    at = {name: {solver: by_stop["1e-4"] for solver, by_stop in found[name].items()} for name in found}
    assert at["ijcnn1"]["partan"] == {"iterations": 5480, "seconds": 19.8, "accuracy": 98.36, "support": 2730}
    assert at["a9a"]["mfw-194"] == {"iterations": 19_800, "seconds": 163, "accuracy": 83.86, "support": 12400}
    ratios = [at[name]["fw"]["seconds"] / at[name]["partan"]["seconds"] for name in ("a9a", "w8a", "ijcnn1")]
    others = [1.98e3 / 7.38e2, 7.02e2 / 1.89e2, 1.37e4 / 1.23e4]  # its sets that are not here
    assert np.mean(ratios + others) == pytest.approx(2.52, abs=0.005)


def test_swap_prints_what_the_paper_prints():
    by_kind = {table["kind"]: table for table in published("swap").tables}
    p = {(pair["metric"], pair["first"], pair["second"]): float(pair["p"]) for pair in by_kind["wilcoxon"]["pairs"]}
    assert len(p) == 16
    assert p["seconds", "swap", "fw"] == 0.03757
    assert p["seconds", "swap2o", "cvm"] == 4.47e-8
    assert p["accuracy", "swap2o", "swap"] == 1.418e-3
    large = next(group for group in by_kind["ratios"]["groups"] if group["name"] == "large")
    assert large["published"] == {"fw": 27.3, "mfw": 15.0, "swap": 30.7, "swap2o": 29.5}


# --- refusals

TINY = """
name: tiny
data:
  breast_cancer:
    {test: {hold_out: 0.3, seed: 0}, kernel: {name: rbf, gamma: msd}, C: 1, scale: standard}
solvers: {fw: {}, swap: {}, fw-59: {solver: fw, sampler: "uniform:59", stops: ["1e-2"], repeats: 2}}
stop: {"1e-2": "abs:2e-2", "1e-3": "abs:2e-3 | iter:500"}
published: {breast_cancer: {fw: {"1e-2": {accuracy: 96.5, support: 100}, "1e-3": {iterations: 250}}}}
tables:
  - kind: cells
    title: Cells
    data: [breast_cancer]
    solvers: [fw, swap, fw-59]
    stops: ["1e-2", "1e-3"]
    compare: {accuracy: best, support: mean}
    show: [iterations range]
    within: {accuracy: {"1e-2": 5}, support: {"1e-2": 1%}}
  - {kind: ratios, title: R, metric: iterations, data: [breast_cancer], solvers: [swap], stops: ["1e-3"], over: fw}
figure: {kind: curves, data: [breast_cancer], solvers: [fw, swap]}
"""


def write(tmp_path, *path, **change):
    """TINY with `change` applied at the map that `path` leads to, as a file."""
    file, spec = tmp_path / "tiny.yaml", yaml.safe_load(TINY)
    at = spec
    for key in path:
        at = at[key]
    at.update(change)
    file.write_text(yaml.safe_dump(spec))
    return file


@pytest.mark.parametrize(
    ("path", "change", "message"),
    [
        ((), {"sovlers": {}}, "unknown key sovlers"),
        (("data", "breast_cancer"), {"gamma": 1}, "data.breast_cancer: unknown key gamma"),
        (("data", "breast_cancer"), {"rows": "35000"}, 'write "first 35000"'),
        (("data", "breast_cancer"), {"test": {"hold_out": 0.3}}, "lacks seed"),
        (("data", "breast_cancer", "test"), {"hold_out": 30}, "between 0 and 1"),
        (("data", "breast_cancer", "kernel"), {"sigma": 2}, "both gamma and sigma"),
        (("solvers", "fw"), {"stops": ["1e-9"]}, "unknown name 1e-9; known: 1e-2, 1e-3"),
        (("stop",), {"1e-9": "delta:3"}, "is not a rule"),
        (("published", "breast_cancer", "fw", "1e-2"), {"acc": 1}, "unknown name acc"),
        (("published", "breast_cancer", "fw", "1e-2"), {"support": "many"}, "should be a number"),
        (("tables", 0), {"kind": "cell"}, "unknown name cell; known: cells"),
        (("tables", 0), {"show": ["support median"]}, "unknown name median"),
        (("tables", 0), {"within": {"support": {"1e-2": "ten"}}}, "should be a number"),
        (("tables", 1), {"over": "cvm"}, "unknown name cvm"),
        (("figure",), {"x": "support"}, "figure: unknown key x"),
        ((), {"seeds": 0}, "seeds should be a whole number"),
    ],
)
def test_what_is_wrong_is_named_in_one_line(tmp_path, path, change, message):
    file = write(tmp_path, *path, **change)
    with pytest.raises(InputError) as caught:
        load_spec(file)
    text = str(caught.value)
    assert message in text and text.startswith(str(file)) and "\n" not in text


def test_a_wrong_spec_ends_with_2_and_one_line(tmp_path, capsys):
    assert reproduce.main([str(write(tmp_path, colour=1)), "--out", str(tmp_path / "out")]) == 2
    assert reproduce.main([str(write(tmp_path)), "--out", str(tmp_path / "out"), "--only", "a9a"]) == 2
    assert reproduce.main([str(write(tmp_path, "solvers", fw={"solver": "fww"})), "--out", str(tmp_path / "out")]) == 2
    shown = capsys.readouterr()
    assert shown.err.count("\n") == 3 and shown.out == "" and "did you mean" in shown.err


# --- statistics

# Demsar 2006, Table 6: AUC of C4.5, C4.5+m, C4.5+cf, C4.5+m+cf on 14 sets; 975.01 is printed as 0.975, ranked above it
DEMSAR = """763 768 771 798  599 591 590 569  954 971 968 967  628 661 654 657  882 888 886 898  936 931 916 931
            661 668 609 685  583 583 563 625  775 838 866 875  1000 1000 1000 1000  940 962 965 962  619 666 614 669
            972 981 975.01 975  957 978 946 970"""


def test_friedman_is_demsars_example():
    found = stats.friedman(-np.array(DEMSAR.split(), dtype=float).reshape(14, 4))
    np.testing.assert_allclose(found.ranks, [3.143, 2.000, 2.893, 1.964], atol=5e-4)
    assert (round(found.chi2, 2), round(found.F, 2)) == (9.28, 3.69)
    assert 0.01 < found.p < 0.05  # F(3, 39): 2.85 at 5 %, 4.33 at 1 %
    values = np.random.default_rng(0).normal(size=(9, 5))  # no ties: as scipy has it
    assert stats.friedman(values).chi2 == pytest.approx(scipy_stats.friedmanchisquare(*values.T).statistic)


def test_wilcoxon_by_hand_and_by_scipy():
    first, second = np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 4.0, 6.0, 3.9])
    # ranks of the differences: -2 -3 -4 +1, so W+ = 1: two of 16 sign patterns give no more, 15 no less
    assert stats.wilcoxon(first, second, "less") == pytest.approx(2 / 16)
    assert stats.wilcoxon(first, second, "greater") == pytest.approx(15 / 16)
    assert stats.wilcoxon(first, second, "two-sided") == pytest.approx(4 / 16)
    assert stats.wilcoxon(first, first, "two-sided") == 1.0
    first, second = np.random.default_rng(1).normal(size=(2, 12))
    expected = scipy_stats.wilcoxon(first, second, alternative="less", method="exact").pvalue
    assert stats.wilcoxon(first, second, "less") == pytest.approx(expected)


@pytest.mark.parametrize("alternative", ["less", "greater", "two-sided"])
def test_wilcoxon_counts_ties_and_zeros_as_pratt_does(alternative):
    first, second = np.array([5, 3, 8, 4, 4, 9, 1]), np.array([4, 4, 6, 4, 2, 5, 2])
    ranks = scipy_stats.rankdata(np.abs(first - second))
    signs = np.sign(first - second)
    seen = ranks[signs > 0].sum()
    at_random = [np.dot(ranks[signs != 0], pick) for pick in itertools.product((0, 1), repeat=int((signs != 0).sum()))]
    less, greater = np.mean(np.array(at_random) <= seen), np.mean(np.array(at_random) >= seen)
    by_hand = {"less": less, "greater": greater, "two-sided": min(1, 2 * min(less, greater))}
    assert stats.wilcoxon(first, second, alternative) == pytest.approx(by_hand[alternative])


# --- cells and their store


@pytest.fixture
def counted(monkeypatch):
    """The cells that are really run; compiling everything is left out."""
    ran, run = [], cells.run

    def watched(cell, *args):
        ran.append((cell.solver, cell.stop, cell.seed))
        return run(cell, *args)

    monkeypatch.setattr(cells, "run", watched)
    monkeypatch.setattr(cells, "warm", lambda todo: None)
    return ran


def test_a_spec_from_end_to_end_and_again(alone, tmp_path, counted, capsys):
    spec, out = str(write(tmp_path, seeds=1)), "results/tiny"
    assert reproduce.main([spec, "--out", out, "--solvers", "swap,fw-59"]) == 0
    assert counted == [("swap", "1e-2", 0), ("swap", "1e-3", 0), ("fw-59", "1e-2", 0), ("fw-59", "1e-2", 1)]
    assert reproduce.main([spec, "--out", out]) == 0
    assert counted[4:] == [("fw", "1e-2", 0), ("fw", "1e-3", 0)]
    capsys.readouterr()
    assert reproduce.main([spec, "--out", out, "--limit", "1000"]) == 0
    assert len(counted) == 6
    report = Path(f"{out}.md").read_text()
    assert capsys.readouterr().out.strip() == report.strip()
    assert Path(f"{out}.png").stat().st_size > 5000
    rows = [line.split(" | ") for line in report.splitlines() if line.startswith("| breast_cancer | fw | ")]
    assert rows[0][3] == "96.50" and rows[0][-2].startswith(("pass", "FAIL")) and rows[1][-2] == ""
    assert "fw/swap, published" in report and "of 1 marks pass" in report


def test_a_change_of_the_spec_runs_only_what_it_touches(alone, tmp_path, counted):
    args = ["--out", "out", "--solvers", "swap"]
    assert reproduce.main([str(write(tmp_path)), *args]) == 0
    assert reproduce.main([str(write(tmp_path, "stop", **{"1e-3": "abs:4e-3"})), *args]) == 0
    assert counted[2:] == [("swap", "1e-3", 0)]
    assert reproduce.main([str(write(tmp_path, "data", "breast_cancer", C=2)), *args]) == 0 and len(counted) == 5


def test_a_cell_that_ran_out_is_marked_and_repeated_for_a_longer_limit(alone, tmp_path, counted, capsys):
    args = [str(write(tmp_path, stop={"1e-2": "abs:2e-2", "1e-3": "abs:1e-14"})), "--out", "out"]
    args += ["--solvers", "fw,swap"]
    assert reproduce.main([*args, "--limit", "0.05"]) == 0
    report = capsys.readouterr().out
    assert "| time_limit |" in report and any(mark in report for mark in ("≥", "≤", "? "))
    for limit, ran in (("0.05", 4), ("0.1", 6)):  # only those that ran out, and only for a longer limit
        reproduce.main([*args, "--limit", limit])
        assert len(counted) == ran


def test_a_line_cut_short_is_dropped_and_its_cell_run_again(alone, tmp_path, counted):
    args = [str(write(tmp_path)), "--out", "out", "--solvers", "swap"]
    assert reproduce.main(args) == 0
    store = Path("out.jsonl")
    store.write_text(store.read_text()[:-40])
    assert reproduce.main(args) == 0 and len(counted) == 3
    assert [json.loads(line)["cell"][2] for line in store.read_text().splitlines()] == ["1e-2", "1e-3"]


def test_a_cell_that_fails_is_told_and_stops_no_other(alone, tmp_path, counted, monkeypatch, capsys):
    fit = svmkit.fit

    def refusing(X, y, *, solver, **how):
        if solver.name == "fw":
            raise InputError("not this one")
        return fit(X, y, solver=solver, **how)

    monkeypatch.setattr(svmkit, "fit", refusing)
    args = [str(write(tmp_path)), "--out", "out", "--solvers", "fw,swap", "--decades", "1"]
    assert reproduce.main(args) == 1
    shown = capsys.readouterr()
    assert "failed: not this one" in shown.err and "| failed |" in shown.out and "| converged |" in shown.out
    monkeypatch.setattr(svmkit, "fit", fit)
    assert reproduce.main(args) == 0
    assert counted == [("fw", "1e-2", 0), ("swap", "1e-2", 0), ("fw", "1e-2", 0)]


def test_an_interrupted_cell_is_not_kept(alone, tmp_path, counted, monkeypatch, capsys):
    monkeypatch.setattr(cells, "run", lambda *args: None)
    assert reproduce.main([str(write(tmp_path)), "--out", "out"]) == 130
    assert not Path("out.jsonl").exists()
    assert "not run" in Path("out.md").read_text()


# --- data


def test_hold_out_scale_and_positive(alone):
    entry = {"source": "iris", "positive": "setosa", "rows": "first 100", "scale": "maxabs", "C": 1.0}
    entry |= {"test": {"hold_out": 0.2, "seed": 3}, "kernel": {"name": "poly", "gamma": "2 * msd", "degree": 2}}
    sets = cells.prepare(entry)
    assert (sets.X.shape, sets.X_test.shape) == ((80, 4), (20, 4))
    assert set(sets.y) == set(sets.y_test) == {-1, 1}
    assert sets.kernel.gamma == pytest.approx(2 * resolve_gamma("msd", sets.X / np.abs(sets.X).max(axis=0)))
    assert np.array_equal(cells.prepare(entry).y_test, sets.y_test)


@pytest.mark.data
def test_the_papers_sets_load(real):
    if not all(any(real.glob(f"{name}*")) for name in ("svmguide1.", "svmguide1.t", "a1a.", "a1a.t")):
        pytest.skip("needs svmguide1, a1a and their test files in $SVMKIT_DATA")
    sets = cells.prepare(published("sfw").data["svmguide1"])
    assert (len(sets.y), len(sets.y_test)) == (3089, 4000)
    assert sets.kernel.gamma == pytest.approx(1 / 800)
    sets = cells.prepare(published("swap").data["a1a"])
    assert (sets.X.shape, sets.X_test.shape) == ((1605, 123), (30956, 123))


def test_delta_of_a_curve_ends_at_the_tolerance(alone, tmp_path, counted):
    assert reproduce.main([str(write(tmp_path)), "--out", "out", "--solvers", "swap"]) == 0
    first = json.loads(Path("out.jsonl").read_text().splitlines()[0])
    assert first["history"][-1][2] <= 1e-2 < first["history"][-2][2]
    assert first["history"][-1][0] == first["iterations"]
