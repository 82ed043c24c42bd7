"""The unit of the tests is the data set, ties are shared, and a verdict says what it means."""

from pathlib import Path

import numpy as np
import pytest
from support.cli import svmlight
from support.report import made

from svmkit.compare.cells.store import names
from svmkit.compare.plan.spec import read
from svmkit.compare.report import stats, words
from svmkit.compare.results import Results

pytestmark = pytest.mark.usefixtures("alone")


def results(raw, value=lambda cell: {}):
    spec = read(raw)
    base = {"status": "converged", "formulation": "f", "objective": 2.0, "dual_objective": 2.0}
    return Results(spec, spec.cells(), [names(cell) | base | value(cell) for cell in spec.cells()])


def timed(cell):
    """fw takes ten times as long as smo, more for a larger C."""
    return {"fit_s": (10.0 if cell.solver == "fw" else 1.0) * cell.settings["data"]["C"]}


def test_one_file_at_several_C_gammas_and_kernels_is_one_set():
    data = {"iris": {"C": [1, 10], "gamma": [0.1, 1]}, "wine": {"scale": "standard"}, "again": {"source": "wine"}}
    found = results({"data": data, "solvers": ["smo", "fw"]}, timed)
    assert len(found.sets) == 6
    assert {name: len(of) for name, of in found.data_sets.items()} == {"iris": 4, "wine": 2}
    tests = stats.tests(found, "fit_s")
    assert tests.sets == ["iris", "wine"] and tests.friedman is not None
    np.testing.assert_allclose(tests.values, [[5.5, 55.0], [1.0, 10.0]])  # the mean over C = 1 and 10
    assert "6 problems of 2 sets: a set counts once, by the mean over its problems." in tests.notes


def test_copies_of_a_file_are_one_set_and_other_labels_are_another():
    svmlight("a.svm")
    Path("b.svm").write_bytes(Path("a.svm").read_bytes())
    svmlight("c.svm", seed=1)
    data = {"a.svm": {}, "b.svm": {"C": 2}, "c.svm": {}, "first": {"source": "c.svm", "rows": "first 30"}}
    found = results({"data": data, "solvers": ["smo"]})
    assert list(found.data_sets.values()) == [["a.svm", "b.svm"], ["c.svm"], ["first"]]
    data = {f"iris {label}": {"source": "iris", "positive": label} for label in ("setosa", "virginica")}
    assert len(results({"data": data, "solvers": ["smo"]}).data_sets) == 2


def test_two_C_of_one_set_are_no_two_sets_for_a_test():
    found = results({"data": ["iris"], "C": [1, 2], "solvers": ["smo", "fw"]}, timed)
    tests = stats.tests(found, "fit_s")
    assert tests.friedman is None and tests.sets == ["iris"]
    assert tests.notes[-1] == "1 set and 2 solvers: a test needs two of each."


def test_a_problem_that_is_lacking_takes_no_other_one_with_it():
    def value(cell):
        lacking = cell.solver == "fw" and cell.data == "iris C=10"
        return {"status": "failed", "reason": "no"} if lacking else timed(cell)

    found = results({"data": ["iris", "wine"], "C": [1, 10], "solvers": ["smo", "fw"]}, value)
    tests = stats.tests(found, "fit_s")
    np.testing.assert_allclose(tests.values, [[1.0, 10.0], [5.5, 55.0]])
    assert tests.notes[0].startswith("iris C=10 is left out") and tests.sets == ["iris", "wine"]


# --- verdicts


def ranked(rows):
    """Results of three solvers with these times, a row for each set."""
    table = {f"s{k}": dict(zip(("fw", "swap", "smo"), row, strict=True)) for k, row in enumerate(rows)}
    return made(sets=tuple(table), change=lambda cell, r: r | {"fit_s": table[cell.data][cell.solver]})


def test_no_verdict_that_solvers_differ_when_no_pair_does():
    tests = stats.tests(ranked([(1.0, 2.0, 3.0)] * 4), "fit_s")
    assert tests.friedman.p < stats.ALPHA and not tests.shows_pairs
    said = words.verdict(tests)
    assert "the solvers differ" not in said and "mean ranks differ at the 5% level" in said
    assert "no pair of solvers that differs" in said and "too few, or too close" in said
    assert any("Wilcoxon cannot go below" in note for note in tests.notes)


def test_a_verdict_with_pairs_points_to_them():
    rows = [(1.0 + k, 20.0 + 2 * k, 50.0 + 4 * k) for k in range(9)]
    tests = stats.tests(ranked(rows), "fit_s")
    assert tests.shows_pairs and "pairs of solvers that differ are in bold" in words.verdict(tests)
    said = words.verdict(stats.tests(ranked([(1.0, 2.0, 3.0), (3.0, 2.0, 1.0)] * 3), "fit_s"))
    assert "no difference is shown at the 5% level" in said


@pytest.mark.slow
def test_the_command_line_says_what_a_small_p_without_a_pair_means(capsys):
    from svmkit.cli.comparing.comparison_table import print_tables

    print_tables(ranked([(1.0, 2.0, 3.0)] * 4))
    out = " ".join(capsys.readouterr().out.split())
    assert "no two solvers differ, although Friedman's p is" in out and words.UNPROVEN in out


# --- ties


def test_values_that_are_equal_as_shown_share_ranks_and_wins():
    accuracy = {"fw": 0.95001, "swap": 0.95004, "smo": 0.9}
    found = made(sets="abc", change=lambda cell, r: r | {"test_accuracy": accuracy[cell.solver]})
    assert stats.tests(found, "test_accuracy").friedman.ranks.tolist() == [1.5, 1.5, 3.0]
    assert [row.label for row in found.best("a", "test_accuracy")] == ["fw", "swap"]
    assert "Most accurate: fw and swap tie on 3 sets." in words.summary(found)


def test_wins_come_first_and_ties_are_nobody_s():
    def change(cell, record):
        tied = cell.data in "cd" and cell.solver == "swap"
        return record | ({"fit_s": 0.4, "test_accuracy": 0.94} if tied else {})

    found = made(sets="abcd", change=change)
    assert "Fastest: fw on 2 sets; fw and swap tie on 2 sets." in words.summary(found)


def test_the_summary_counts_problems_where_a_set_has_several():
    found = results({"data": ["iris", "wine"], "C": [1, 10], "solvers": ["smo", "fw"]}, timed)
    first, *others = words.summary(found)
    assert first.startswith("2 solvers on 2 sets (4 problems): 8 runs")
    assert "Fastest: smo on 4 problems." in others


def test_a_remark_of_all_rows_is_made_once():
    def value(cell):
        return {"notes": ["of the data", *(["of fw"] if cell.solver == "fw" else [])]}

    found = results({"data": ["iris"], "solvers": ["smo", "fw"]}, value)
    assert found.remarks("iris") == [("", "of the data"), ("fw", "of fw")]
