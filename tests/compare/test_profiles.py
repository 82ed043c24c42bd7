"""Performance and data profiles: by hand on small tables, and what must hold of every table."""

import numpy as np
import pytest
from support.report import failure, made

from svmkit import plot_comparison
from svmkit.compare import results_frame
from svmkit.compare.metrics import METRICS
from svmkit.compare.report import html, latex, pictures
from svmkit.compare.report.profiles import Profile, profile, profiles
from svmkit.compare.results import goal_of
from svmkit.errors import InputError


def run(solver, name, seconds, **changes):
    found = {"set": name, "solver": solver, "stop": "", "status": "converged", "formulation": "hinge"}
    return found | {"goal": 1e-3, "gap": 1e-4, "fit_s": seconds, "kernel_values": 1000, "n_iter": 10} | changes


def test_a_table_by_hand():
    """Columns a, b: a tie, a factor of 2, of exactly 10, one that b does not solve, one that nobody solves."""
    runs = [run("a", "tie", 3.0), run("b", "tie", 3.0), run("a", "two", 4.0), run("b", "two", 2.0)]
    runs += [run("a", "ten", 1.0), run("b", "ten", 10.0), run("a", "one", 7.0), run("b", "one", 1.0, gap=2e-3)]
    runs += [run("a", "none", 1.0, status="timeout", gap=None), run("b", "none", 1.0, status="failed", gap=None)]
    found = profile(runs)
    never = np.inf
    np.testing.assert_array_equal(found.costs, [[3, 3], [4, 2], [1, 10], [7, never], [never, never]])
    np.testing.assert_array_equal(found.ratios, [[1, 1], [2, 1], [1, 10], [1, never], [never, never]])
    shares = [found.share_within(tau).tolist() for tau in (1.0, 1.9, 2.0, 9.9, 10.0, 1e9)]
    assert shares == [[0.6, 0.4], [0.6, 0.4], [0.8, 0.4], [0.8, 0.4], [0.8, 0.6], [0.8, 0.6]]
    assert found.solved.tolist() == [0.8, 0.6] and found.goals == (1e-3,) and found.notes == ()
    for kind, at, share in (("performance", [1, 10], [0.4, 0.6]), ("data", [2, 3, 10], [0.2, 0.4, 0.6])):
        np.testing.assert_array_equal(found.steps("b", kind)[0], at)
        np.testing.assert_allclose(found.steps("b", kind)[1], share)


def test_what_counts_as_solved():
    def solved(*of, **options):
        return profile(of, **options).solved.tolist()

    assert solved(run("a", "s", 1.0, gap=1e-3)) == [1.0]  # at the goal
    assert solved(run("a", "s", 1.0, gap=1.1e-3)) == [0.0]
    assert solved(run("a", "s", 1.0, gap=1.1e-3), goal=2e-3) == [1.0]
    assert solved(run("a", "s", 1.0, gap=1.1e-3, suboptimality=1e-5)) == [1.0]  # another run's bound proves it
    assert solved(run("a", "s", 1.0, gap=1e-4, status="time_limit")) == [1.0]  # the model so far is proven
    assert solved(run("a", "s", 1.0, gap=np.nan)) == [0.0]
    assert solved(run("a", "s", 1.0, gap=None)) == [0.0]
    assert solved(run("a", "s", 1.0, seed=0), run("a", "s", 1.0, seed=1, gap=1.0)) == [0.0]  # one of two seeds


def test_seeds_are_averaged_and_stop_rules_are_problems():
    runs = [run("a", "s", 1.0), run("a", "s", 3.0), run("a", "s", 9.0, stop="tight", goal=1e-5, gap=1e-6)]
    found = profile(runs)
    assert found.problems == ["s", "s tight"] and found.costs.tolist() == [[2.0], [9.0]]
    assert found.goals == (1e-5, 1e-3) and found.share_within(1.0).tolist() == [1.0]


def test_problems_on_which_somebody_did_not_run_are_left_out():
    runs = [run("a", "s", 1.0), run("b", "s", 2.0), run("a", "t", 1.0), run("a", "u", 1.0)]
    runs += [run("b", "u", 1.0, status="interrupted")]
    found = profile(runs)
    assert found.problems == ["s"] and found.notes == ("Left out, since not every solver has run there: t, u.",)
    assert profile([run("a", "s", 1.0), run("b", "t", 1.0)]).problems == []


def test_solvers_whose_cost_nobody_counts_are_left_out():
    runs = [run("a", "s", 1.0), run("other", "s", 1.0, kernel_values=None), run("linear", "s", 1.0, kernel_values=0)]
    found = profile([*runs, run("fails", "s", None, status="failed", gap=None, kernel_values=None)], "kernel_values")
    assert found.solvers == ["a", "fails"] and found.solved.tolist() == [1.0, 0.0]
    assert [note.split(" ")[0] for note in found.notes] == ["other", "linear"]


def test_different_objectives_are_named():
    assert profile([run("a", "s", 1.0), run("b", "s", 1.0)]).notes == ()
    (note,) = profile([run("a", "s", 1.0), run("b", "s", 1.0, formulation="squared hinge")]).notes
    assert "own problem: hinge (a); squared hinge (b)" in note


@pytest.mark.parametrize("kind", ["performance", "data"])
def test_profiles_rise_to_the_share_solved_whatever_the_unit(kind):
    rng = np.random.default_rng(3)
    for shape in ((1, 1), (7, 1), (1, 4), (30, 5)):
        costs = np.where(rng.random(shape) < 0.3, np.inf, rng.integers(1, 9, shape) * 0.25)
        names = [str(k) for k in range(shape[1])]
        rows = [str(k) for k in range(shape[0])]
        found, other = (Profile("fit_s", names, rows, unit * costs, (1e-3,), ()) for unit in (1.0, 1024.0))
        np.testing.assert_array_equal(found.ratios, other.ratios)
        for k, name in enumerate(names):
            at, share = found.steps(name, kind)
            assert (np.diff(at) > 0).all() and (np.diff(share) > 0).all()
            assert (share[-1] if len(share) else 0.0) == pytest.approx(found.solved[k])
            column = (found.ratios if kind == "performance" else costs)[:, k]
            for x in (*at, *(at + 0.1)):  # brute force
                assert share[at <= x][-1] == pytest.approx(np.mean(column <= x))
        solved = np.isfinite(costs).any(axis=1)
        assert found.share_within(1.0).sum() >= solved.mean() - 1e-12  # each solved problem has a best solver


@pytest.mark.parametrize(
    "rule, goal",
    [("gap:1e-4", 1e-4), ("epochs:3 | gap:1e-2", 1e-2), ("abs:1e-6", 1e-3), ("gap:1e-3|gap:1e-2", 1e-2)],
)
def test_the_goal_is_that_of_the_stop_rule(rule, goal):
    assert goal_of({"settings": {"stop": rule}}) == goal


def slow_or_failed(cell, record):
    if cell.solver == "smo" and cell.data == "two":
        return failure(cell, "out of memory")
    return record | {"gap": 1e-2, "suboptimality": None, "dual_objective": None} if cell.solver == "swap" else record


@pytest.mark.slow
def test_reports_and_pictures_show_the_same_profiles(tmp_path):
    results = made(sets=("one", "two", "three"), seeds=2, change=slow_or_failed)
    time, values = profiles(results)
    assert (time.measure, values.measure) == ("fit_s", "kernel_values")
    from_frame = profile(results_frame(results).astype(object).to_dict("records"))
    np.testing.assert_allclose(from_frame.costs, time.costs)
    text = latex.share_table(results)
    third = 100 / 3
    assert "time & fw & {\\boldmath$100$}" in text and f" & smo & $0$ & $0$ & ${2 * third:.0f}$" in text
    assert text.count(r"\toprule") == 1 and r"\label{tab:made-up-profile}" in text
    latex.write(results, tmp_path / "t.tex")
    assert (tmp_path / "t.tex").read_text() == latex.table(results) + "\n" + text
    figure = plot_comparison(results, kind="performance")
    (ax,) = figure.axes
    assert ax.get_xscale() == "log" and ax.get_title() == "performance: time" and ax.get_xlim()[1] > 3.0
    ends = [line.get_ydata()[-1] for line in ax.lines if line.get_drawstyle() == "steps-post"]
    assert ends == pytest.approx(time.solved.tolist())


@pytest.mark.slow
def test_the_page_says_what_is_compared():
    text = html.render(made(sets=("one", "two", "three"), change=slow_or_failed)).split("<script")[0]
    assert '<section id="profiles">' in text and "Share of 3 problems, by time" in text and "at most 0.001 for" in text
    few = html.render(made()).split("<script")[0]
    assert 'id="profiles"' not in few and "#profiles" not in few


def test_there_are_profiles_of_three_sets_and_two_solvers():
    three = ("one", "two", "three")
    assert profiles(made()) == [] and profiles(made(sets=three, solvers=("smo",))) == []
    assert latex.share_table(made()) == "" and pictures.profile_panels([]) is None
    asked = tuple(metric for metric in METRICS if metric != "kernel_values")
    assert [one.measure for one in profiles(made(sets=three, metrics=asked))] == ["fit_s", "n_iter"]
    one = plot_comparison(made(sets=("one",), solvers=("smo",)), kind="data", x="n_iter")  # one set, one solver
    assert one.axes[0].get_xlabel() == "iterations"
    nobody = made(sets=three, change=lambda cell, record: failure(cell, "no"))
    assert profiles(nobody) == [] and len(plot_comparison(nobody, kind="data").axes) == 1


@pytest.mark.parametrize(
    "options, message",
    [
        ({"kind": "speed"}, "'speed' is not a kind"),
        ({"kind": "data", "x": "gap"}, "'gap' is not a cost"),
        ({"kind": "data", "y": "gap"}, "has no y"),
        ({"goal": 1e-3}, "goal is for profiles"),
        ({"kind": "data", "goal": 0.0}, "gap > 0"),
        ({"kind": "data", "sets": "four"}, "no set 'four'"),
    ],
)
def test_what_cannot_be_drawn_is_said(options, message):
    with pytest.raises(InputError, match=message):
        plot_comparison(made(), **options)
