"""What is made of records: lower bounds, means and spreads, the best, tests' matrices."""

from pathlib import Path

import numpy as np
import pytest

from svmkit.compare.cells.store import Store, names
from svmkit.compare.plan.spec import read
from svmkit.compare.results import Results, as_line, with_suboptimality
from svmkit.errors import InputError, SvmkitWarning

SPEC = {"data": ["iris", "wine"], "solvers": ["smo", "fw"], "seeds": 2}


def made(values, raw=SPEC):
    """Results of records that hold these values by (set, solver, seed); None for a cell that was not run."""
    spec = read(raw)
    records = []
    for cell in spec.cells():
        found = values.get((cell.data, cell.solver, cell.seed))
        if found is not None:
            base = {"status": "converged", "formulation": "f", "objective": 2.0, "dual_objective": 1.0, "fit_s": 1.0}
            records.append(names(cell) | base | found)
    return Results(spec, spec.cells(), records)


def every(**found):
    return {(data, solver, seed): dict(found) for data in SPEC["data"] for solver in SPEC["solvers"] for seed in (0, 1)}


def test_suboptimality_is_against_the_best_bound_of_the_same_objective():
    values = every()
    values["iris", "smo", 0] = {"objective": 10.0, "dual_objective": 9.0}
    values["iris", "smo", 1] = {"objective": 12.0, "dual_objective": None}
    values["iris", "fw", 0] = {"objective": 11.0, "dual_objective": 9.5}
    values["iris", "fw", 1] = {"objective": 5.0, "dual_objective": 4.0, "formulation": "other"}
    results = made(values)
    found = {(r["set"], r["label"], r["seed"]): r["suboptimality"] for r in results.records}
    assert found["iris", "smo", 0] == pytest.approx(0.5 / 10)
    assert found["iris", "smo", 1] == pytest.approx(2.5 / 12)
    assert found["iris", "fw", 1] == pytest.approx(0.2)
    assert not results.disagreements()


def test_no_bound_at_all_and_an_optimum_of_zero():
    (record,) = with_suboptimality([{"set": "a", "objective": 3.0, "dual_objective": None}])
    assert record["suboptimality"] is None and record["lower_bound"] is None
    (record,) = with_suboptimality([{"set": "a", "objective": 0.0, "dual_objective": 0.0}])
    assert record["suboptimality"] == 0.0


def test_a_certificate_that_cannot_be_is_reported():
    values = every()
    values["wine", "fw", 0] = {"objective": 0.9, "dual_objective": 0.8}
    (said,) = made(values).disagreements()
    assert "wine: fw is below" in said


def test_means_spreads_and_the_best():
    values = every()
    for seed, (quick, slow) in enumerate([(1.0, 5.0), (3.0, 7.0)]):
        values["iris", "smo", seed] = {"fit_s": quick, "test_accuracy": 0.9}
        values["iris", "fw", seed] = {"fit_s": slow, "test_accuracy": 0.9 + 0.02 * seed}
    results = made(values)
    row = results.row("iris", "smo")
    assert (row.mean("fit_s"), row.spread("fit_s"), row.mean("gap")) == (2.0, pytest.approx(np.sqrt(2)), None)
    assert [r.label for r in results.best("iris", "fit_s")] == ["smo"]
    assert [r.label for r in results.best("iris", "test_accuracy")] == ["fw"]
    assert len(results.best("wine", "fit_s")) == 2 and results.best("iris", "objective") == []


def test_time_of_a_run_that_was_cut_wins_nothing():
    values = every()
    for seed in (0, 1):
        values["iris", "smo", seed] = {"status": "time_limit", "fit_s": 0.1}
    results = made(values)
    assert [r.label for r in results.best("iris", "fit_s")] == []
    assert results.row("iris", "smo").status == "time_limit"


def test_suboptimality_of_two_objectives_has_no_winner():
    values = every()
    for seed in (0, 1):
        values["iris", "smo", seed] = {"formulation": "other"}
    assert made(values).best("iris", "suboptimality") == []
    assert len(made(every()).best("iris", "suboptimality")) == 2


def test_what_failed_and_what_was_not_run_is_counted():
    values = every()
    values["iris", "smo", 0] = {"status": "failed", "reason": "no"}
    values["iris", "smo", 1] = None
    results = made(values)
    row = results.row("iris", "smo")
    assert (row.status, row.runs, row.cells, row.reasons) == ("1 failed, 1 not run", 0, 2, ("no",))
    whole, matrix = results.matrix("fit_s")
    assert whole == ["wine"] and matrix.shape == (1, 2)


def test_stops_with_names_are_treatments_of_their_own():
    results = made({}, SPEC | {"stop": {"a": "gap:1e-1", "b": "gap:1e-2"}})
    assert results.treatments == ["smo a", "smo b", "fw a", "fw b"]


def test_a_line_of_json_has_no_history():
    line = as_line({"key": "k", "history": {}, "settings": {}, "gap": None})
    assert line == {"key": "k", "gap": None}


@pytest.mark.parametrize("text", ["{}\n", "[1]\n", "null\n", "no json\n", "\xff\n"])
def test_a_file_of_another_kind_is_not_touched(tmp_path, text):
    path = tmp_path / "notes.txt"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match="--results FILE"):
        Store(path)
    assert path.read_bytes() == text.encode("latin-1")


@pytest.mark.parametrize("width", [30, 60, 80, 100, 200])
def test_a_narrow_terminal_has_the_columns_that_matter_most_and_no_cell_is_cut(width, capsys):
    from rich.console import Console

    from svmkit.cli.comparing.comparison_table import _one_set

    results = made(every(fit_s=1.25, gap=1e-4, n_iter=123456, n_support=77, kernel_values=1e7, test_accuracy=0.9))
    console = Console(width=width, highlight=False)
    _one_set(console, results, "iris")
    shown = capsys.readouterr().out
    assert "…" not in shown and "converged" in shown and "1.25 s" in shown
    table = shown.split("in a wider terminal")[0]
    assert ("objective" in table) == (width == 200) and ("accuracy" in table) == (width >= 80)
    assert ("in a wider terminal" in shown) == (width < 200)


def test_the_face_of_the_room_hands_on_its_names():
    from svmkit import compare

    assert all(getattr(compare, name) is not None for name in compare.__all__)
    assert compare.Results is Results and compare.Store is Store


def test_records_that_cannot_be_written_are_kept_and_tried_again(tmp_path, monkeypatch):
    """A full disk costs one warning; a line that was cut short does not spoil those after it."""
    store = Store(tmp_path / "r.jsonl")
    store.add({"key": "a", "status": "converged"})
    real, room = Path.open, [False]

    class Full:
        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *exc):
            self.file.close()

        def write(self, text):
            self.file.write(text[:5])
            self.file.flush()
            raise OSError(28, "No space left on device")

    def opened(self, mode="r", **kwargs):
        file = real(self, mode, **kwargs)
        return file if room[0] or mode != "a" else Full(file)

    monkeypatch.setattr(Path, "open", opened)
    with pytest.warns(SvmkitWarning, match="cannot write .*No space left") as said:
        store.add({"key": "b", "status": "converged"})
        store.add({"key": "c", "status": "converged"})
    assert len(said) == 1 and "2 cells" in store.failure
    assert list(Store(tmp_path / "r.jsonl").records) == ["a"]
    room[0] = True
    store.add({"key": "d", "status": "converged"})
    assert store.failure is None and list(Store(tmp_path / "r.jsonl").records) == ["a", "b", "c", "d"]


def test_a_file_or_a_folder_that_is_read_only_is_refused_and_a_folder_that_is_not_there_is_made(tmp_path, monkeypatch):
    file, new = tmp_path / "r.jsonl", tmp_path / "new" / "folder" / "r.jsonl"
    for path in (None, file, new):
        Store(path).require_writable()
    for path, closed in ((file, tmp_path), (new, tmp_path)):
        with monkeypatch.context() as patch, pytest.raises(InputError, match=f"cannot write {path}"):
            patch.setattr("svmkit.compare.cells.store.os.access", lambda place, mode, closed=closed: place != closed)
            Store(path).require_writable()
    file.touch()
    monkeypatch.setattr("svmkit.compare.cells.store.os.access", lambda place, mode: place != file)
    with pytest.raises(InputError, match="cannot write"):
        Store(file).require_writable()
    Store(new).require_writable()
