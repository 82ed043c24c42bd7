"""What `svmkit compare` and `svmkit curve` print at the end: the files that were written, and those alone."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from support.report import failure, made, record

from svmkit.cli.comparing.comparison import Comparison
from svmkit.cli.comparing.learning import Learning
from svmkit.compare.results import results_frame
from svmkit.tracking import Tracker

pytestmark = pytest.mark.usefixtures("alone")


def a_job(**options):
    results = made(change=lambda cell, found: found | {"n_test": 50})
    about = {"json": False, "report": None, "latex": None} | options
    tracker = Tracker("sqlite:///runs.db")
    store = SimpleNamespace(path="results.jsonl")
    own = {"results": results, "options": SimpleNamespace(**about), "tracker": tracker, "store": store}
    return SimpleNamespace(**own, is_whole=True, failure=None)


def test_a_comparison_names_the_files_that_are_there(capsys):
    Path("table.tex").write_text("")
    for report, latex, run_id in ((None, None, None), ("gone.html", "table.tex", "7"), (None, "table.tex", None)):
        job = a_job(report=report, latex=latex)
        job.tracker.run_id = run_id
        Comparison.show(job)
        out = capsys.readouterr().out
        assert "results  results.jsonl" in out and "report" not in out
        assert ("table    table.tex" in out) == (latex is not None) and ("run      7" in out) == (run_id is not None)


@pytest.mark.parametrize("is_whole", [True, False])
def test_an_interrupted_comparison_says_that_it_goes_on(is_whole, capsys):
    job = a_job()
    job.is_whole = is_whole
    Comparison.show(job)
    assert ("interrupted: the same command goes on" in capsys.readouterr().err) == (not is_whole)


@pytest.mark.parametrize(
    "call",
    [
        ("compare", "iris", "--solvers", "smo,libsvm", "--report", "r.html", "--latex", "t.tex", "--no-track"),
        ("curve", "iris", "--rows", "50,100", "--repeat", "1", "--json"),
    ],
    ids=lambda call: call[0],
)
def test_cells_that_an_interruption_leaves_none_of_are_exit_1(svmkit, monkeypatch, call):
    monkeypatch.setattr("svmkit.compare.cells.runner.run", lambda *args, **kwargs: False)
    done = svmkit(*call)
    what = "cells" if call[0] == "compare" else "fits"
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[-1] == f"svmkit: interrupted before one of 2 {what} was finished"
    assert not Path("r.html").exists() and not Path("t.tex").exists()


@pytest.mark.parametrize("failed", [0, 1, 3])
def test_a_curve_with_a_fit_that_failed_has_a_picture_and_one_without_any_has_none(failed, capsys, tmp_path):
    cells = made(sets=("iris 20 rows", "iris 40 rows", "iris 80 rows"), solvers=("smo",)).cells
    records = [failure(cell, "no") if k < failed else record(cell, n_samples=20 * 2**k) for k, cell in enumerate(cells)]
    options = SimpleNamespace(json=False)
    own = {"records": records, "frame": results_frame(records), "options": options, "out": None, "is_drawn": False}
    job, picture = SimpleNamespace(**own, is_whole=True, plot=str(tmp_path / "c.png")), tmp_path / "c.png"
    Learning.draw(job)
    Learning.show(job)
    out = capsys.readouterr().out
    assert (f"picture  {picture}" in out) == picture.exists() == (failed < 3) and "results" not in out
    assert [line.split()[0] for line in out.splitlines()[1:4]] == ["20", "40", "80"]
