"""The gallery of cases: each run that can be repeated here gets the verdict that its row says."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "referee"
QUICK = {
    "SVC at its defaults",
    "SVC, sigmoid kernel",
    "NuSVC, nu that no fit can have",
    "SGDClassifier at its defaults",
}
KEYS = {"name", "peer", "package", "command", "options", "data", "issue", "told", "expect"}

pytestmark = pytest.mark.usefixtures("one_pool")


def load_module(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


gallery = load_module(FOLDER / "gallery.py", "referee_gallery")
CASES = gallery.read_cases()


def marked(case):
    return pytest.param(case, id=case["name"], marks=[] if case["name"] in QUICK else [pytest.mark.slow])


@pytest.mark.parametrize("case", [marked(case) for case in CASES])
def test_a_run_gets_the_verdict_of_its_row(case):
    row, expect = gallery.judge(case), case["expect"]
    if row.status == "not installed":
        pytest.skip(f"{case['name']}: not installed")
    assert row.status == ("failed" if "fails" in expect else "judged"), row.note
    assert expect.get("fails", "") in row.note
    if "no_bound" in expect:
        assert row.gap is None and "not positive semidefinite" in row.note
    assert "gap_above" not in expect or row.gap >= expect["gap_above"]
    assert "gap_below" not in expect or row.gap <= expect["gap_below"]
    assert "converged" not in expect or (row.said == "converged") is expect["converged"]


def test_rows_are_of_several_packages_and_of_ours():
    assert len(CASES) >= 25 and all(set(case) <= KEYS and case["expect"] for case in CASES)
    assert len({case["name"] for case in CASES}) == len(CASES)
    peers = {case.get("package") or case.get("peer") or case["command"].split()[0] for case in CASES}
    packages = {peer.partition(".")[0] for peer in peers}
    assert {"sklearn", "sklearnex", "snapml", "torchkm", "liblinear", "svm-train", "svmkit"} <= packages
    issues = [case["issue"] for case in CASES if "issue" in case]
    assert len(issues) >= 8 and all(issue.startswith("https://github.com/") for issue in issues)


def test_the_page_has_a_row_for_each_run():
    page = (ROOT / "docs" / "referee.md").read_text(encoding="utf-8")
    table = page.partition("| run |")[2].partition("\n\n")[0]
    assert [line.split(" | ")[0].removeprefix("| ") for line in table.splitlines()[2:]] == [
        one["name"] for one in CASES
    ]


def test_a_peer_that_is_missing_is_named(capsys, monkeypatch):
    case = {"name": "some", "peer": "no_such_package.SVC", "data": "iris", "expect": {"gap_below": 1.0}}
    monkeypatch.setattr(gallery, "read_cases", lambda: [case])
    monkeypatch.setattr(sys, "argv", ["gallery.py", "--markdown"])
    gallery.main()
    out = capsys.readouterr().out
    assert "| some | not installed |" in out and "0 of 1 runs judged, 1 not installed" in out


def test_the_solvers_of_the_benchmark_pose_one_problem(monkeypatch):
    """benchopt itself may be missing: its bases hold no more than the parameters."""
    base = type("Base", (), {})
    stub = ModuleType("benchopt")
    stub.BaseObjective = stub.BaseSolver = stub.BaseDataset = base
    monkeypatch.setitem(sys.modules, "benchopt", stub)
    folder = ROOT / "examples" / "benchopt"
    objective = load_module(folder / "objective.py", "benchopt_objective").Objective()
    objective.C, objective.gamma = 1.0, "scale"
    data = load_module(folder / "datasets" / "simulated.py", "benchopt_simulated").Dataset()
    data.n_samples, data.n_features = 60, 3
    objective.set_data(**data.get_data())
    found = []
    for name in ("svmkit", "scikit_learn", "libsvm", "sklearnex"):
        try:
            solver = load_module(folder / "solvers" / f"{name}.py", f"benchopt_{name}").Solver()
        except ImportError:
            continue
        solver.solver = "smo"
        solver.set_objective(**objective.get_objective())
        solver.run(1e-7)
        found.append(objective.evaluate_result(**solver.get_result()))
    assert len(found) >= 2 and max(result["gap"] for result in found) <= 1e-5
    assert np.ptp([result["value"] for result in found]) <= 1e-5 * found[0]["value"]
    assert objective.evaluate_result(**objective.get_one_result())["gap"] > 0.01
