"""Files that cannot be written: the result is printed all the same, one line says what is missing, exit code 1."""

import json
from pathlib import Path

import pytest

from svmkit.errors import InputError
from svmkit.model.model import SVMModel
from svmkit.runtime import files
from svmkit.training.checkpoint import Checkpoint

pytestmark = pytest.mark.usefixtures("alone")
QUICK = ("breast_cancer", "--solver", "swap2o", "--scale", "standard", "--no-track", "--json")


@pytest.fixture
def full(monkeypatch):
    """full(name): from now on there is no room for files of this name in the working directory."""
    write, names = files.write, set()

    def refuse(path, content):
        if Path(path).name in names and not Path(path).is_absolute():
            raise InputError(f"cannot write {path}: No space left on device; give another path")
        write(path, content)

    monkeypatch.setattr(files, "write", refuse)
    return names.add


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30.0), ("2m", 120.0), ("1.5min", 90.0), ("1h", 3600.0), ("45", 45.0), ("0.5", 0.5), ("500ms", 0.5)],
)
def test_the_interval_of_the_checkpoint(svmkit, monkeypatch, text, seconds):
    seen = []
    init = Checkpoint.__init__
    monkeypatch.setattr(Checkpoint, "__init__", lambda self, *a, **k: (seen.append(k["every"]), init(self, *a, **k))[1])
    assert svmkit("train", *QUICK, "--checkpoint", "c.ckpt", "--every", text).code == 0
    assert seen == [pytest.approx(seconds)]


@pytest.mark.parametrize("text", ["0", "-1", "0s", "soon", "3 weeks", "nan", "inf", "1e3s", "٣s"])
def test_an_interval_that_is_none(refused, text):
    refused(["--every", "30s"], "train", *QUICK, "--checkpoint", "c.ckpt", "--every", text)


def test_an_interval_needs_a_checkpoint(refused):
    refused(["--every needs --checkpoint"], "train", *QUICK, "--every", "30s")


def test_a_checkpoint_is_not_the_model(refused):
    refused(
        ["--checkpoint and --out are the same file"], "train", *QUICK, "--checkpoint", "./m.model", "--out", "m.model"
    )


def test_a_checkpoint_costs_one_line(svmkit, full):
    full("c.ckpt")
    done = svmkit("train", *QUICK, "--checkpoint", "c.ckpt", "--every", "1ms", "--out", "m.model")
    assert done.json["status"] == "converged" and done.json["model"] == "m.model"
    assert done.err.count("\n") == 1 and "cannot write c.ckpt" in done.err and "training goes on" in done.err


def test_a_model_file_that_cannot_be_written_is_a_failure_that_loses_nothing(svmkit, full):
    full("m.model")
    done = svmkit("train", *QUICK, "--out", "m.model")
    assert done.code == 1 and done.err.count("\n") == 1 and "cannot write m.model" in done.err
    result = json.loads(done.out)
    assert result["status"] == "converged" and result["model"] in done.err
    assert SVMModel.load(result["model"]).about["gap"] == result["gap"]
    Path(result["model"]).unlink()
    Path(result["model"]).parent.rmdir()


@pytest.mark.parametrize("search", [("--grid", "C=1,10"), ("--grid", "C=1,10", "--search", "halving")], ids=str)
def test_a_picture_that_cannot_be_written_loses_no_search(svmkit, monkeypatch, search):
    from matplotlib.figure import Figure

    def no_room(self, *args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", no_room)
    done = svmkit("tune", *QUICK, *search, "--cv", 2, "--plot", "p.png", "--out", "m.model")
    assert done.code == 1 and done.err.splitlines()[-1].startswith("svmkit: cannot write p.png: No space left")
    found = json.loads(done.out)
    assert found["model"] == "m.model" and found["plot"] is None and SVMModel.load("m.model")


def test_a_curve_names_no_picture_that_could_not_be_written(svmkit, monkeypatch):
    from matplotlib.figure import Figure

    def no_room(self, *args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", no_room)
    ask = ["curve", "iris", "--solver", "smo", "--rows", "20,40", "--repeat", 1, "--plot", "p.png", "--out", "c.jsonl"]
    done = svmkit(*ask)
    assert done.code == 1 and "picture" not in done.out
    assert done.err.splitlines()[-1].startswith("svmkit: cannot write p.png: No space left")
    again = svmkit(*ask, "--json")
    assert again.code == 1 and json.loads(again.out)["plot"] is None


def test_a_report_that_cannot_be_written_loses_no_results(svmkit, full):
    full("r.html")
    done = svmkit("compare", "breast_cancer", "--solvers", "swap2o", "--no-track", "--json", "--report", "r.html")
    assert done.code == 1 and "cannot write r.html" in done.err.splitlines()[-1]
    assert json.loads(done.out)["status"] == "converged"
    assert len(Path("svmkit-compare.jsonl").read_text().splitlines()) == 1
