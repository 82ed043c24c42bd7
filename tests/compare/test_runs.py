"""Cells in worker processes: results, failures, limits, interrupts, going on."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support import endless
from support.cli import clouds, svmlight, wait_until_solving
from support.compare import misbehaving  # noqa: F401  a fixture

import svmkit
from svmkit import plugins
from svmkit.compare.cells import lane, runner
from svmkit.compare.cells.store import Store
from svmkit.compare.plan.spec import read
from svmkit.compare.results import Results
from svmkit.errors import InputError
from svmkit.kernels.functions import RBF, Linear
from svmkit.solver.solution import Status

pytestmark = pytest.mark.usefixtures("alone")


def compare(raw, store=None, **how):
    spec, store = read(raw), store or Store(None)
    told = []
    callbacks = [lambda *said: told.append(said)]
    whole = runner.run(spec.cells(), store, limit=how.pop("limit", 60.0), callbacks=callbacks, **how)
    return Results(spec, spec.cells(), store.records_of(spec.cells())), told, whole


@pytest.mark.slow
def test_solvers_side_by_side_and_no_optimum_is_guessed():
    raw = {"data": ["breast_cancer"], "solvers": ["swap2o", "mfw", "smo", "libsvm"], "scale": "standard", "test": 0.25,
           "stop": "gap:1e-3", "seeds": 2}  # fmt: skip
    results, told, whole = compare(raw)
    assert whole and len(told) == 16 and not results.disagreements()
    rows = {row.label: row for row in results.rows}
    assert {row.status for row in rows.values()} == {"converged"} and all(row.runs == 2 for row in rows.values())
    for name, row in rows.items():
        assert 0 <= row.mean("suboptimality") <= row.mean("gap") + 1e-12
        assert row.mean("test_accuracy") > 0.9 and row.mean("fit_s") > 0, name
    assert rows["smo"].mean("objective") == pytest.approx(rows["libsvm"].mean("objective"), rel=2e-3)
    assert rows["swap2o"].formulation != rows["smo"].formulation
    for record in results.records:
        history = record["history"]
        assert len({len(column) for column in history.values()}) == 1
        json.dumps(record, allow_nan=False)
    measured = [record for record in results.records if record["label"] == "swap2o"]
    assert all(any(value is not None for value in record["history"]["accuracy"]) for record in measured)


@pytest.mark.slow
def test_many_classes_with_text_labels_and_two_lanes_find_the_same():
    raw = {"data": {"iris": {"test": 0.3}, "wine": {"scale": "standard"}}, "solvers": ["smo", "swap2o"]}
    one, _, _ = compare(raw)
    two, _, _ = compare(raw, jobs=2, threads=2)
    pairs = list(zip(one.records, two.records, strict=True))
    assert len(pairs) == 4
    for a, b in pairs:
        same = ("key", "objective", "n_support", "test_accuracy", "classes", "status")
        assert [a[k] for k in same] == [b[k] for k in same]
    assert one.records[0]["classes"] == ["setosa", "versicolor", "virginica"]


def test_more_jobs_than_threads_is_refused():
    with pytest.raises(InputError, match="--jobs must be between 1 and the 1 threads"):
        compare({"data": ["iris"], "solvers": ["smo"]}, jobs=2, threads=1)


@pytest.mark.slow
def test_a_finished_cell_is_not_run_again_and_one_that_ran_out_is_given_more(tmp_path):
    raw = {"data": ["iris"], "solvers": ["smo", "fw"], "stop": "gap:1e-9"}
    path = tmp_path / "cells.jsonl"
    _, told, _ = compare(raw, Store(path), limit=0.2)
    assert len(told) == 4
    first = {json.loads(line)["label"]: json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()}
    assert (first["smo"]["status"], first["fw"]["status"]) == ("converged", "time_limit")
    with path.open("a", encoding="utf-8") as file:
        file.write('{"key": "cut sho')
    _, told, _ = compare(raw, Store(path), limit=0.2)
    assert told == []
    _, told, _ = compare(raw, Store(path), limit=0.4)
    assert [cell.solver for cell, record in told if record] == ["fw"]
    other, told, _ = compare(raw | {"solvers": ["fw", "smo", "smo1"]}, Store(path), limit=0.4)
    assert [cell.solver for cell, record in told if record] == ["smo1"] and len(other.records) == 3


@pytest.mark.slow
def test_a_cell_that_fails_costs_only_itself(misbehaving, monkeypatch):  # noqa: F811
    monkeypatch.setattr(lane, "GRACE", 0.5)
    path = svmlight(n=200)
    names = ["refuse", "crash", "hang", "broken", "smo"]
    results, told, whole = compare({"data": str(path), "solvers": names}, limit=1.0)
    assert whole and len(told) == 10
    found = {record["label"]: record for record in results.records}
    assert {name: found[name]["status"] for name in names} == {
        "refuse": "failed", "crash": "failed", "hang": "timeout", "broken": "failed", "smo": "converged"
    }  # fmt: skip
    assert found["refuse"]["reason"] == "it is Monday"
    assert "killed" in found["crash"]["reason"] and "memory" in found["crash"]["reason"]
    assert "did not end" in found["hang"]["reason"] and "nobody's" in found["broken"]["reason"]
    assert results.row(str(path), "hang").reasons and results.row(str(path), "smo").runs == 1


@pytest.mark.slow
def test_a_solver_that_keeps_much_memory_keeps_its_accuracy(misbehaving):  # noqa: F811
    results, _, whole = compare({"data": str(svmlight(n=400)), "solvers": ["hoard"], "test": 0.25, "seeds": 2})
    assert whole and [record["status"] for record in results.records] == ["converged"] * 2
    for record in results.records:
        assert record["test_accuracy"] > 0.8 and record["predict_s"] > 0 and "notes" not in record


@pytest.mark.slow
def test_a_cell_without_its_accuracy_is_unfinished_and_tried_again(svmkit, monkeypatch):
    """The worker is lost after the fit: exit 1, and the same command runs the cell again."""
    command = ("compare", svmlight(), "--solvers", "smo", "--test-size", "0.3", "--no-track", "--json")
    call = lane.Lane.call

    def lost(self, seconds, function, *args, **how):
        if function is lane.worker.finish:
            self.renew()
        return call(self, seconds, function, *args, **how)

    with monkeypatch.context() as patch:
        patch.setattr(lane.Lane, "call", lost)
        done = svmkit(*command)
    (record,) = map(json.loads, done.out.splitlines())
    assert (done.code, record["status"]) == (1, "failed") and "prediction or logging failed" in record["reason"]
    again = svmkit(*command).json
    assert again["status"] == "converged" and again["test_accuracy"] > 0.8
    store = Path("svmkit-compare.jsonl")
    line = json.loads(store.read_text().splitlines()[-1])
    store.write_text(json.dumps(line | {"predict_s": None, "test_accuracy": None}) + "\n")  # as it was once kept
    assert svmkit(*command).json["test_accuracy"] == again["test_accuracy"]


@pytest.mark.slow
def test_failed_cells_are_run_again_timeouts_only_with_more_time(misbehaving, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr(lane, "GRACE", 0.5)
    raw = {"data": str(svmlight(n=200)), "solvers": ["refuse", "hang"]}
    store = Store(tmp_path / "cells.jsonl")
    compare(raw, store, limit=0.3)
    _, told, _ = compare(raw, Store(store.path), limit=0.3)
    assert [cell.solver for cell, record in told if record] == ["refuse"]


@pytest.mark.slow
@pytest.mark.parametrize("trouble", ["one class", "broken file"])
def test_data_that_cannot_be_used_is_a_failed_cell(tmp_path, trouble):
    path = tmp_path / "bad.svm"
    path.write_text("+1 1:1\n+1 1:2\n" if trouble == "one class" else "+1 1:1\n-1 1:x\n", encoding="utf-8")
    results, _, whole = compare({"data": {"bad": {"source": str(path)}, "iris": {}}, "solvers": ["smo", "libsvm"]})
    assert whole and [row.status for row in results.rows] == ["failed", "failed", "converged", "converged"]
    assert (
        ("one class" in results.rows[0].reasons[0])
        if trouble == "one class"
        else ("bad.svm:2" in results.rows[0].reasons[0])
    )


@pytest.mark.posix
@pytest.mark.slow
@pytest.mark.parametrize("how", ["group", "alone"])
def test_an_interrupt_keeps_what_is_finished_and_the_same_call_goes_on(tmp_path, how):
    """Ctrl-C reaches the workers too; SIGTERM the first process alone."""
    path = svmlight(n=400, spread=3.0)
    raw = [
        "compare",
        path,
        "--plugin",
        endless.__file__,
        "--solvers",
        "smo,endless",
        "--stop",
        "abs:1e-14",
        "--no-track",
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "svmkit", *raw, "--time-limit", "600", "--no-track"], text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | {"SVMKIT_CACHE": str(tmp_path)},
    )  # fmt: skip
    seen = ""
    while "smo seed 0" not in seen:
        seen = process.stderr.readline()
        assert seen, "it ended on its own"
    wait_until_solving(process)  # the next cell
    (os.killpg if how == "group" else os.kill)(process.pid, signal.SIGINT if how == "group" else signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "interrupted" in err and "not run" in out and "Traceback" not in err
    records = [json.loads(line) for line in Path("svmkit-compare.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [record["label"] for record in records] == ["smo"]


@pytest.mark.slow
def test_equal_formulations_are_equal_objectives():
    """Of every solver here: no objective lies below a lower bound of another one of the same words."""
    X, side = clouds(80, spread=2.0)
    for kernel in (Linear(), RBF(0.3)):
        bounds: dict[str, list[tuple[float, float, str]]] = {}
        solved = set()  # words of problems that a solver has solved in the time that a busy machine leaves it
        for row in plugins.working("solver"):
            solver = plugins.build("solver", row.name)
            for loss in row.plugin.loss_names("classify"):
                if not all(need.holds(kernel) for need in row.plugin.requires):
                    continue
                solver = plugins.build("solver", row.name, {"loss": loss} if "loss" in row.options else {})
                fitted = svmkit.fit(X, side, solver=solver, kernel=kernel, C=0.7, stop=svmkit_rules())
                D = -np.inf if fitted.dual_objective is None else fitted.dual_objective
                words = solver.formulation(kernel)
                bounds.setdefault(words, []).append((fitted.objective, D, row.name))
                if fitted.status is Status.CONVERGED:
                    solved.add(words)
        assert len(solved) >= 3
        for words, found in bounds.items():
            P, D = min(found), max(found, key=lambda one: one[1])
            assert P[0] >= D[1] * (1 - 1e-9), (words, P, D)
            assert words not in solved or P[0] <= D[1] * (1 + 2e-3), (words, P, D)


def svmkit_rules():
    from svmkit.solver.stopping import Gap, Seconds

    return Gap(1e-3) | Seconds(2.0)
