"""On hostile data no solver claims what is not true or fails with a traceback; the processes and the file of the grid.

The sample runs every third trial of one solver of each family on some of the cases; `python -m svmkit.conformance.grid`
runs all of them, for a second each where these take a quarter of one.
"""

import json
import sys
from dataclasses import asdict

import numpy as np
import pytest
from support.tiny import ONE_A_FAMILY

from svmkit import plugins
from svmkit.conformance import grid
from svmkit.conformance.hostile.cases import CASES
from svmkit.conformance.hostile.trial import OUTCOMES, Trial, run_named, trials

SAMPLE = [
    "C=1e+08",
    "X * 1e+160, gamma=1",
    "X + 1e+08",
    "timestamps, gamma=100",
    "columns of 1e-8, 1 and 1e8",
    "CSR + 1e6",
    "weights 1e-300",
    "weights 1e300",
    "weights 1e-12 to 1e12",
    "all rows twice, opposite labels",
    "m=2",
    "sigmoid, gamma=0.5, coef0=-1, C=10000",
    "precomputed, random",
    "three classes, X + 1e8",
    "one-class, X + 1e8",
    "targets: t + 1e8",
    "targets: -1 and 1",
    "nu=0.5: X + 1e+08",
    "ovr: three classes, X + 1e8",
    "Crammer-Singer: three classes",
    "multinomial: three classes, X + 1e8",
    "group: columns of 1e-8, 1 and 1e8",
    "l1: X + 1e+08",
    "multinomial: three classes, weights 1e-12 to 1e12",
    "isotonic: all rows twice, opposite labels",
    "text: three classes",
    "ranks: X + 1e+08",
    "ranks: one row at 1e12",
    "ranks: half of the values censored",
    "outputs: t and t * 1e8",
    "outputs: levels",
    "labels: one that all have",
]
SOLVERS = plugins.solvers_where(lambda solver: True)
LONG = {name for name in SOLVERS if not plugins.load("solver", name).certified}  # they take all of their time limit
CHOSEN = [job for job in trials() if job[0] in SAMPLE]
QUICK = {"auto", *ONE_A_FAMILY.values()} - LONG
OF_CASES = [[job for job in CHOSEN if job[0] == case and job[1] in QUICK] for case in SAMPLE]
# all of them take a quarter of a minute
THIRD = [job for k, own in enumerate(OF_CASES) if own for job in own[k % min(3, len(own)) :: 3]]


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("case", "name", "loss"),
    [pytest.param(*job, id=" - ".join(job), marks=[] if job in THIRD else [pytest.mark.slow]) for job in CHOSEN],
)
def test_what_is_claimed_on_hostile_data_is_true(case, name, loss):
    trial = run_named(case, name, loss, 0.25)
    assert trial.outcome not in ("wrong", "traceback"), trial.said


@pytest.mark.slow
def test_there_are_cases_of_every_kind_for_every_solver():
    assert set(SAMPLE) <= set(CASES)
    assert {case.group for case in CASES.values()} == {
        "C", "gamma", "scale", "offset", "imbalance", "weights", "duplicates", "shape", "storage", "indefinite",
        "classes", "one-class", "regression", "nu", "ovr", "Crammer-Singer", "multinomial", "penalties",
        "calibration", "text", "ranking", "outputs",
    }  # fmt: skip
    jobs = trials()
    assert len(set(jobs)) == len(jobs) > 1500 and {name for _, name, _ in jobs} == set(SOLVERS)
    for task in ("classify", "regress"):
        own = {job[2] for job in jobs if job[1] == "dcd" and CASES[job[0]].task == task}
        assert own == set(plugins.load("solver", "dcd").loss_names(task))


SPREAD = {
    "weights 1e-12 to 1e12": (-12, 12),
    "weights 1e-300 to 1e300": (-300, 300),
    "one-class, weights": (-12, 12),
    "targets: weights 1e-12 to 1e12": (-12, 12),
}
VALUES = {
    "weights 1e-300": ([1e-300], 1.0),
    "weights 1e300": ([1e300], 1.0),
    "weights 1e-300 and 1": ([1e-300, 1.0], 0.5),
    "weights 1e300 and 1": ([1.0, 1e300], 0.9),
    "weights 0 for half": ([0.0, 1.0], 0.5),
    "targets: weights 0 for half": ([0.0, 1.0], 0.5),
}


@pytest.mark.parametrize("name", [*SPREAD, *VALUES])
def test_the_weights_are_those_of_the_name(name):
    weights = CASES[name].make().sample_weight
    if name in SPREAD:  # their logarithms are uniform between these
        low, high = SPREAD[name]
        np.testing.assert_allclose(np.log10(weights), np.random.default_rng(1).uniform(low, high, weights.size))
    else:
        values, share = VALUES[name]
        assert np.unique(weights).tolist() == values and np.mean(weights == values[0]) == pytest.approx(share, abs=0.2)


def test_the_sample_of_solvers_is_one_a_family():
    assert set(ONE_A_FAMILY.values()) <= set(SOLVERS)
    assert {name for _, name, _ in THIRD} == QUICK & set(SOLVERS)
    for part in (0, 2):  # nor is a case left out, nor a loss
        assert {job[part] for job in THIRD} == {job[part] for job in CHOSEN if job[1] in QUICK}


def ran(case="m=2", solver="swap", loss="squared_hinge", **found):
    return asdict(Trial(case, solver, loss, **({"outcome": "converged"} | found)))


def test_a_process_that_dies_is_one_row():
    worker = grid.Worker([sys.executable, "-c", "raise SystemExit(3)"])
    row = worker.run(("m=2", "swap", "squared_hinge"))
    assert row["outcome"] == "traceback" and row["said"] == "the process died with code 3" and worker.process is None


def test_a_process_that_hangs_is_killed_and_is_one_row(monkeypatch):
    monkeypatch.setattr(grid, "HANG", 0.2)
    worker = grid.Worker([sys.executable, "-c", "import time; time.sleep(600)"])
    row = worker.run(("m=2", "swap", "squared_hinge"))
    assert row["outcome"] == "over" and worker.process is None


def test_a_worker_runs_one_trial_after_the_other():
    worker = grid.Worker()
    try:
        rows = [worker.run(("m=2", name, "squared_hinge")) for name in ("swap", "swap2o")]
    finally:
        worker.end()
    assert [row["solver"] for row in rows] == ["swap", "swap2o"]
    assert {row["outcome"] for row in rows} == {"converged"} and all(row["true"] for row in rows)


def test_a_file_is_continued_and_what_was_late_is_run_once_more(tmp_path, monkeypatch):
    jobs = [("m=2", name, "squared_hinge") for name in ("swap", "swap2o", "mdm")]
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(ran()) + "\n")
    asked = []

    def answer(self, job):
        asked.append(job)
        late = job[1] == "mdm" and asked.count(job) == 1
        return ran(*job, outcome="over" if late else "honest", seconds=3.0 if late else 1.0)

    monkeypatch.setattr(grid.Worker, "run", answer)
    rows = grid.run_all(jobs, path)
    assert [row["outcome"] for row in rows] == ["converged", "honest", "honest"]
    assert asked == [jobs[1], jobs[2], jobs[2]]
    assert grid.run_all(jobs, path) == rows and len(asked) == 3
    assert len(path.read_text().splitlines()) == 4


def test_a_bound_above_the_objective_of_another_model_is_wrong():
    rows = [
        ran(solver="swap", dual=0.9, true=[[1.0, 0.9, 0.1]], objective="hinge"),
        ran(solver="mdm", dual=1.1, true=[[1.2, 1.1, 0.1]], objective="hinge"),
        ran(solver="fw", dual=1.1, true=[[1.2, 1.1, 0.1]], objective="squared hinge"),
        ran(solver="smo", outcome="refused"),
    ]
    found = grid.find_contradictions(rows)
    assert [row["outcome"] for row in found] == ["converged", "wrong", "converged", "refused"]
    assert found[1]["said"].startswith("dual_objective 1.1 is above P = 1 of another model")


def test_the_table_counts_outcomes_by_solver_and_by_group():
    text = grid.table([ran(), ran(outcome="wrong"), ran("C=1", "smo", "hinge", outcome="refused")])
    assert (
        "| smo | 1 | 0 | 0 | 1 | 0 | 0 | 0 |\n| swap | 2 | 1 | 0 | 0 | 1 | 0 | 0 |\n| all | 3 | 1 | 0 | 1 | 1 | 0 | 0 |"
        in text
    )
    assert "| shape | 2 | 1 | 0 | 0 | 1 | 0 | 0 |" in text
    assert len(OUTCOMES) == 6


@pytest.mark.slow
def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        grid.Worker, "run", lambda self, job: ran(*job, outcome="wrong" if job[1] == "smo" else "honest", said="no")
    )
    arguments = ["grid", "--out", str(tmp_path / "rows"), "--cases", "m=2", "--solvers"]
    monkeypatch.setattr(sys, "argv", [*arguments, "swap"])
    grid.main()
    assert "| swap | 2 | 0 | 2 |" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", [*arguments, "swap,smo"])
    with pytest.raises(SystemExit) as ended:
        grid.main()
    assert ended.value.code == 1 and "wrong: smo (hinge) on m=2: no" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", [*arguments, "nobody"])
    with pytest.raises(SystemExit) as ended:
        grid.main()
    assert ended.value.code == 2
