"""A comparison in MLflow's own pages: a server on loopback, a headless Chromium, three solvers."""

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from support.browser import chromium, shots  # noqa: F401  fixtures
from support.cli import svmlight
from support.compare import run_cells_here
from support.scripts import run_here

import svmkit

pytestmark = [pytest.mark.browser, pytest.mark.slow]
SOLVERS = ("swap2o", "fcsmo", "libsvm")
MAIN = Path(svmkit.__file__).with_name("__main__.py")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The address of an MLflow server with a store of its own."""
    folder = tmp_path_factory.mktemp("server")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    store = ["--backend-store-uri", f"sqlite:///{folder / 'store.db'}", "--artifacts-destination", str(folder / "kept")]
    call = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), *store]
    quiet = os.environ | {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
    with (folder / "log.txt").open("w") as log:
        running = subprocess.Popen([*call, "--workers", "1"], cwd=folder, env=quiet, stdout=log, stderr=log)
        address = f"http://127.0.0.1:{port}"
        try:
            _wait(address, running)
            yield address
        finally:
            running.terminate()
            running.wait(30)


def _wait(address, running):
    for _ in range(240):
        assert running.poll() is None, "the server ended"
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=2):
                return
        except OSError:
            time.sleep(0.5)
    pytest.fail("the server does not answer")


@pytest.fixture(scope="module")
def compared(server, tmp_path_factory):
    """The server after `svmkit compare` of three solvers: (address, experiment id, {solver: run})."""
    from mlflow import MlflowClient

    folder = tmp_path_factory.mktemp("compared")
    here = os.getcwd()
    os.chdir(folder)
    try:
        path = svmlight(n=200, spread=2.0)
        where = ["--experiment", "side by side", "--tracking-uri", server]
        with pytest.MonkeyPatch.context() as patch:
            run_cells_here(patch)
            done = run_here(MAIN, "compare", path, "--solvers", ",".join(SOLVERS), "--test-size", "0.3", *where)
    finally:
        os.chdir(here)
    assert done.returncode == 0, done.stderr
    client = MlflowClient(server)
    experiment = client.get_experiment_by_name("side by side").experiment_id
    runs = client.search_runs([experiment])
    (parent,) = [run for run in runs if "mlflow.parentRunId" not in run.data.tags]
    nested = {run.data.params["solver"]: run for run in runs if run is not parent}
    assert {run.data.tags["mlflow.parentRunId"] for run in nested.values()} == {parent.info.run_id}
    kept = {entry.path for entry in client.list_artifacts(parent.info.run_id)}
    assert {"report.html", "results.jsonl", "compare-time-gap.png"} <= kept
    assert sorted(nested) == sorted(SOLVERS)
    return server, experiment, nested


def test_the_experiment_lists_the_comparison_and_its_solvers(compared, chromium, shots):  # noqa: F811
    address, experiment, _ = compared
    page = chromium.new_page(viewport={"width": 1500, "height": 900})
    page.goto(f"{address}/#/experiments/{experiment}/runs")
    page.get_by_text("compare comparison").first.wait_for()
    page.get_by_role("gridcell").filter(has_text="compare comparison").get_by_role("button").first.click()
    for solver in SOLVERS:
        page.get_by_text(re.compile(f"^{solver} ")).first.wait_for()
    page.screenshot(path=shots / "mlflow-experiment.png")
    page.close()


def test_the_comparison_page_shows_solvers_and_values(compared, chromium, shots):  # noqa: F811
    address, experiment, runs = compared
    page = chromium.new_page(viewport={"width": 1700, "height": 1000})
    ids = json.dumps([runs[solver].info.run_id for solver in SOLVERS])
    page.goto(f"{address}/#/compare-runs?runs={ids}&experiments={json.dumps([experiment])}")
    page.get_by_text("Comparing 3 Runs").wait_for()
    plot = page.locator(".js-plotly-plot").first
    plot.wait_for()
    page.locator(".js-plotly-plot .y-axis, .js-plotly-plot .axis-title").first.wait_for(state="attached")
    drawn = plot.text_content()
    assert "solver" in drawn and "time/fit_s" in drawn  # at once, with nothing chosen
    assert all(solver in drawn for solver in SOLVERS), drawn
    page.screenshot(path=shots / "mlflow-parallel.png")
    text = page.inner_text("body")
    for solver in SOLVERS:
        assert f"{solver} clouds.svm" in text or re.search(rf"{solver} \S*clouds", text), text[:2000]
        values = runs[solver].data.metrics
        assert f"{values['model/n_support']:.0f}" in text
        assert f"{values['test/accuracy']:.3f}".rstrip("0") in text
    page.get_by_text("Scatter Plot").click()
    page.locator(".js-plotly-plot .xtitle").first.wait_for(state="attached")
    page.wait_for_timeout(500)  # its points are drawn on a canvas
    page.screenshot(path=shots / "mlflow-scatter.png")
    page.close()


def test_the_curves_of_all_solvers_are_in_one_chart(compared, chromium, shots):  # noqa: F811
    address, experiment, runs = compared
    page = chromium.new_page(viewport={"width": 1700, "height": 900})
    ids = json.dumps([runs[solver].info.run_id for solver in SOLVERS])
    keys = 'metric="curve/gap"&plot_metric_keys=["curve/gap"]&plot_layout={}&x_axis=step&y_axis_scale=log'
    page.goto(f"{address}/#/metric?runs={ids}&{keys}&experiments={json.dumps([experiment])}")
    page.locator(".js-plotly-plot .scatterlayer .trace").nth(len(SOLVERS) - 1).wait_for(state="attached")
    for solver in SOLVERS:
        page.get_by_text(re.compile(f"^{solver} .*curve/gap")).first.wait_for()
    page.screenshot(path=shots / "mlflow-curves.png")
    page.close()
