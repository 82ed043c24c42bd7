"""svmkit train PARTS --scheduler: the same answer and report as on one machine, refusals, signals and checkpoints."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from support.cli import Marked, wait_for
from support.parts import three_classes

pytest.importorskip("distributed")
from support.dask import Processes

X, Y = three_classes(240)
CLASSIFY = ("--no-track", "--gamma", "0.3", "-o", "first=30")


def written(folder, X, y, n=4):
    """Write rows as NPZ parts, and return the pattern that names them."""
    folder.mkdir()
    for p, at in enumerate(np.array_split(np.arange(len(y)), n)):
        np.savez(folder / f"{p}.npz", X=X[at], y=y[at])
    return str(folder / "*.npz")


@pytest.fixture
def parts(alone, tmp_path):
    return written(tmp_path / "parts", X, Y)


@pytest.fixture
def long(alone, tmp_path):
    """Parts that take minutes to train to a tiny gap."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 6)), rng.integers(0, 2, 20_000)
    return written(tmp_path / "long", X, y)


@pytest.fixture
def processes(tmp_path):
    """A scheduler without workers."""
    made = Processes(tmp_path)
    yield made
    made.end()


@pytest.mark.slow
def test_parts_of_a_cluster_and_one_file_give_the_same(svmkit, parts, tmp_path):
    np.savez(tmp_path / "whole.npz", X=X, y=Y)
    options = [*CLASSIFY, "--scale", "standard", "--class-weight", "balanced", "--json"]
    one = svmkit("train", "whole.npz", "--solver", "dfcsmo", *options).json
    run = svmkit("train", parts, "--scheduler", "local:2", "--test", "whole.npz", "--out", "m.svmkit", *options)
    found = run.json
    assert set(found) - {"cluster"} == set(one) and found["cluster"]["parts"] == 4
    assert (found["solver"], found["status"], found["data"]) == ("dfcsmo", "converged", parts)
    for key in ("n_samples", "n_features", "classes", "multiclass", "formulation"):
        assert found[key] == one[key], key
    assert found["gap"] <= 1e-3 and found["objective"] == pytest.approx(one["objective"], rel=2e-3)
    assert found["train_accuracy"] == found["test_accuracy"] and found["metric"]["train"] == found["metric"]["test"]
    assert found["train_scores"] == found["test_scores"]
    checked = svmkit("evaluate", "m.svmkit", "whole.npz", "--json").json
    assert checked["test_accuracy"] == found["train_accuracy"]
    shown = svmkit("show", "m.svmkit", "--json").json
    assert shown["about"]["n_samples"] == 240


@pytest.mark.slow
def test_a_linear_kernel_on_a_cluster_is_newtons_method_as_on_one_machine(svmkit, parts, tmp_path):
    np.savez(tmp_path / "whole.npz", X=X, y=Y)
    options = ["--kernel", "linear", "--no-track", "--tol", "1e-5"]
    one = svmkit("train", "whole.npz", "--solver", "newton", "-o", "bias=free", *options, "--json").json
    found = svmkit("train", parts, "--scheduler", "local:2", *options, "--json").json
    assert (found["solver"], found["status"], found["n_support"]) == ("dnewton", "converged", 0)
    assert found["formulation"] == one["formulation"] and found["cluster"]["rounds"] > 0
    assert found["dual_objective"] <= one["objective"] and one["dual_objective"] <= found["objective"]
    assert found["train_accuracy"] == pytest.approx(one["train_accuracy"], abs=0.02)


@pytest.mark.slow
def test_what_a_cluster_cannot_do_is_refused_before_it_is_reached(refused, parts):
    nobody = ("train", parts, "--scheduler", "tcp://127.0.0.1:1", "--no-track")
    refused(["smo", "dfcsmo"], *nobody, "--solver", "smo")
    refused(["--test FILE"], *nobody, "--test-size", "0.2")
    refused(["--calibrate"], *nobody, "--calibrate", "sigmoid")
    refused(["--impute"], *nobody, "--impute", "median")
    refused(["--checkpoint"], *nobody, "--resume", "--out", "m.svmkit")
    refused(["--task outliers"], *nobody, "--task", "outliers")
    refused(["stream"], "train", "-", *nobody[2:])
    refused(["ovo, ovr"], *nobody, "--multiclass", "crammer_singer", "--kernel", "linear")
    refused(["tcp://HOST:PORT"], "train", parts, "--scheduler", "somewhere")
    refused(["tcp://127.0.0.1:1", "reached"], *nobody)


@pytest.mark.slow
def test_regression_on_a_cluster_and_in_one_process_are_the_same(svmkit, refused, alone, tmp_path):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(240, 3))
    t = np.sin(rows[:, 0]) + 0.2 * rng.normal(size=240) + 7.0
    parts = written(tmp_path / "targets", rows, t)
    np.savez(tmp_path / "whole.npz", X=rows, y=t)
    options = [*CLASSIFY, "--task", "regress", "--epsilon", "0.05", "--json"]
    one = svmkit("train", "whole.npz", "--solver", "dfcsmo", *options).json
    found = svmkit("train", parts, "--scheduler", "local:1", "--test", "whole.npz", "--out", "m.svmkit", *options).json
    assert set(found) - {"cluster"} == set(one) and found["cluster"]["parts"] == 4
    for key in ("problem", "formulation", "task", "n_samples", "classes", "status"):
        assert found[key] == one[key], key
    assert found["dual_objective"] <= one["objective"] and one["dual_objective"] <= found["objective"]
    assert found["train_r2"] == pytest.approx(found["test_r2"]) == pytest.approx(one["train_r2"], abs=0.01)
    assert found["metric"]["train"] == found["train_r2"]
    checked = svmkit("evaluate", "m.svmkit", "whole.npz", "--json").json
    assert checked["test_r2"] == pytest.approx(found["train_r2"])
    refused(
        ["--class-weight", "classes"], "train", parts, "--scheduler", "local:1", *options, "--class-weight", "balanced"
    )


@pytest.mark.slow
def test_without_dask_it_says_what_to_install(parts):
    lacking = "import sys; sys.modules['distributed'] = None; from svmkit.cli import main; main()"

    def run(*args):
        return subprocess.run([sys.executable, "-c", lacking, *args], capture_output=True, text=True, timeout=120)

    done = run("train", parts, "--scheduler", "local:2")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "dfcsmo" in done.stderr and "pip install 'svmkit[dask]'" in done.stderr
    (row,) = (row for row in json.loads(run("plugins", "--json").stdout) if row["name"] == "dfcsmo")
    assert row["status"] == "unavailable" and "svmkit[dask]" in row["error"] and row["options"]["parts"] == 4


@pytest.mark.slow
def test_parts_that_do_not_belong_together_are_refused(refused, parts, tmp_path):
    def given(name, X, y):
        np.savez(tmp_path / "parts" / name, X=X, y=y)
        return ["train", parts, "--scheduler", "local:1", *CLASSIFY]

    refused(["9.npz", "4 feature columns", "0.npz", "3"], *given("9.npz", np.ones((2, 4)), Y[:2]))
    refused(["labels are text", "numbers in", "9.npz"], *given("9.npz", X[:2], np.array([1, 2])))
    refused(["9.npz", "NaN"], *given("9.npz", np.full((2, 3), np.nan), Y[:2]))
    (tmp_path / "parts" / "9.npz").write_bytes(b"PK\x03\x04 broken")
    refused(["9.npz"], "train", parts, "--scheduler", "local:1", *CLASSIFY)
    refused(["no file matches"], "train", "nowhere/*.npz", "--scheduler", "local:1", *CLASSIFY)


@pytest.mark.slow
def test_a_driver_that_is_killed_resumes_and_an_interrupted_one_writes_its_model(svmkit, long):
    common = ["train", long, "--no-track", "--scheduler", "local:2", "-C", "100", "--gamma", "0.5", "--json"]
    common += ["--checkpoint", "c", "--every", "0.2s"]
    first = Marked(*common, "--tol", "1e-9", "--out", "killed.svmkit")
    try:
        wait_for(lambda: os.path.exists("c") or first.child.poll() is not None, 240)
        os.kill(first.child.pid, signal.SIGKILL)
        first.child.wait(60)
        wait_for(lambda: not first.family(), 60)  # its workers have ended, too
    finally:
        first.end()
    assert not os.path.exists("killed.svmkit")
    written = os.stat("c").st_mtime_ns
    again = Marked(*common, "--tol", "1e-9", "--resume", "--out", "again.svmkit")
    try:
        wait_for(lambda: os.stat("c").st_mtime_ns != written or again.child.poll() is not None, 240)
        os.kill(again.child.pid, signal.SIGINT)
        done = again.finish(240)
        wait_for(lambda: not again.family(), 60)
    finally:
        again.end()
    found = json.loads(done.out)
    assert (done.code, found["status"]) == (0, "interrupted") and 0.0 < found["gap"] < 2.0
    assert svmkit("evaluate", "again.svmkit", f"{os.path.dirname(long)}/0.npz", "--json").code == 0


@pytest.mark.slow
def test_a_scheduler_that_goes_away_leaves_the_best_model(svmkit, long, processes):
    processes.worker()
    processes.worker()
    run = Marked(
        *("train", long, "--no-track", "--scheduler", processes.address, "-C", "100", "--gamma", "0.5", "--json"),
        *("--tol", "1e-9", "--checkpoint", "c", "--every", "0.2s", "--out", "m.svmkit"),
    )
    try:
        wait_for(lambda: os.path.exists("c") or run.child.poll() is not None, 240)
        processes.end()
        done = run.finish(240)
    finally:
        run.end()
    found = json.loads(done.out)
    assert (done.code, found["status"], found["gap"]) == (0, "interrupted", None)
    assert found["flaw"] and found["flaw"] in done.err and "best so far" in done.err
    assert svmkit("show", "m.svmkit").code == 0
