"""Runs that are logged by the tracker of another package, which $SVMKIT_TRACKER names."""

import json
from pathlib import Path

import pytest
from support.plugin import package  # noqa: F401  a fixture

from svmkit.errors import UnknownName
from svmkit.tracking import TRACKER, Tracker, tracker, tracker_name

pytestmark = pytest.mark.usefixtures("alone")

DIARY = """
import json
from svmkit.tracking import Tracker


class Diary(Tracker):
    def start(self, name, params, tags, data=None, parent=None):
        self.run_id = f"{name} of {parent}" if parent else name
        self._write("start", solver=params.get("solver"), uri=self.uri, experiment=self.experiment)

    def metrics(self, values):
        self._write("metrics", names=sorted(values))

    def model(self, model, example, register=None):
        self._write("model", rows=len(example), register=register)
        return f"diary://{register}" if register else None

    def end(self, status="FINISHED"):
        self._write("end", status=status)

    def fetch(self, uri, folder):
        return "kept.svmkit"

    def _write(self, what, **facts):
        with open("diary.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps({"what": what, "run": self.run_id} | facts) + "\\n")
"""


@pytest.fixture
def diary(package, monkeypatch):  # noqa: F811
    """Log to the tracker of a package; diary() -> what it has written so far."""
    package(DIARY, {"tracker": {"diary": "Diary"}}, interface=("3",))
    monkeypatch.setenv("SVMKIT_TRACKER", "diary")
    return lambda: [json.loads(line) for line in Path("diary.jsonl").read_text(encoding="utf-8").splitlines()]


def test_a_training_is_logged_by_the_tracker_that_is_named(diary, svmkit):
    done = svmkit("train", "iris", "--solver", "smo", "--tracking-uri", "shelf", "--experiment", "flowers")
    start, *rest = diary()
    assert start == {"what": "start", "run": start["run"], "solver": "smo", "uri": "shelf", "experiment": "flowers"}
    assert [line["what"] for line in rest].count("model") == 1 and rest[-1] == {
        "what": "end",
        "run": start["run"],
        "status": "FINISHED",
    }
    assert any("time/fit_s" in line.get("names", ()) for line in rest)
    assert f"{start['run']}  (shelf)" in done.out and not Path("mlflow.db").exists()


def test_a_run_without_a_store_is_named_alone(diary, svmkit):
    done = svmkit("train", "iris", "--solver", "smo")
    assert f"{diary()[0]['run']}\n" in done.out and "()" not in done.out


def test_its_models_are_loaded_and_registered(diary, svmkit):
    trained = svmkit("train", "iris", "--solver", "smo", "--register", "lily", "--out", "kept.svmkit", "--json").json
    assert trained["model"] == "kept.svmkit" and diary()[-2]["register"] == "lily"
    assert svmkit("evaluate", "models:/lily@best", "iris", "--json").json["test_accuracy"] > 0.9


def test_candidates_of_a_search_are_logged_by_it(diary, svmkit):
    svmkit("tune", "iris", "--grid", "C=1,10", "--cv", "2")
    starts = [line["run"] for line in diary() if line["what"] == "start"]
    assert len(starts) == 3 and all(run.endswith(f" of {starts[0]}") for run in starts[1:])


@pytest.mark.slow
def test_cells_of_a_comparison_are_logged_by_it(diary, svmkit, cells_here):
    svmkit("compare", "iris", "--solvers", "smo,fw", "--tracking-uri", "shelf")
    whole, *cells = [line for line in diary() if line["what"] == "start"]
    assert [(line["solver"], line["uri"], line["run"].endswith(f" of {whole['run']}")) for line in cells] == [
        ("smo", "shelf", True),
        ("fw", "shelf", True),
    ]


def test_a_resumed_training_gets_a_run_of_its_own_from_a_tracker_that_continues_none(diary, svmkit):
    """The default of `Tracker.resume` is a reason, except for the tracker that logs nothing."""
    call = ["train", "iris", "--solver", "smo", "--checkpoint", "half.npz"]
    svmkit(*call, "--max-iter", "1")
    done = svmkit(*call, "--resume", "--max-iter", "1")
    assert "is not continued, since its tracker continues no runs" in done.err
    assert [line["what"] for line in diary()].count("start") == 2
    assert Tracker().resume("a run", {}) is None


def test_a_name_that_nothing_registers(refused, monkeypatch):
    monkeypatch.setenv("SVMKIT_TRACKER", "dairy")
    refused(["$SVMKIT_TRACKER", "there is no tracker 'dairy'", "mlflow"], "train", "iris")
    with pytest.raises(UnknownName, match=r"^there is no tracker 'other'"):
        tracker(name="other")


def test_without_a_name_it_is_mlflow(monkeypatch):
    monkeypatch.delenv("SVMKIT_TRACKER", raising=False)
    assert tracker_name() == TRACKER == "mlflow"
    monkeypatch.setenv("SVMKIT_TRACKER", "")
    assert tracker_name() == "mlflow"
