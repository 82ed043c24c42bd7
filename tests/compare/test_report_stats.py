"""Tests over the sets: against published numbers, scipy, scikit-posthocs, and by hand."""

import itertools

import numpy as np
import pandas as pd
import pytest
import scikit_posthocs
from scipy import stats as scipy_stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm
from statsmodels.stats.multitest import multipletests
from support.report import failure, made

from svmkit.compare.report import stats

# Demsar 2006, Table 6: AUC of C4.5, C4.5+m, C4.5+cf, C4.5+m+cf on 14 sets; 975.01 is printed as 0.975, ranked above it
DEMSAR = """763 768 771 798  599 591 590 569  954 971 968 967  628 661 654 657  882 888 886 898  936 931 916 931
            661 668 609 685  583 583 563 625  775 838 866 875  1000 1000 1000 1000  940 962 965 962  619 666 614 669
            972 981 975.01 975  957 978 946 970"""


@pytest.fixture
def demsar():
    return -np.array(DEMSAR.split(), dtype=float).reshape(14, 4)


def test_friedman_and_nemenyi_are_demsars_example(demsar):
    found = stats.friedman(demsar)
    np.testing.assert_allclose(found.ranks, [3.143, 2.000, 2.893, 1.964], atol=5e-4)
    chi2 = found.chi2 * (1 - (60 + 3 * 6) / (60 * 14))  # his is not corrected for ties: of four and thrice of two
    assert (round(chi2, 2), round(13 * chi2 / (14 * 3 - chi2), 2)) == (9.28, 3.69)
    assert 0.01 < found.p < 0.05  # F(3, 39): 2.85 at 5 %, 4.33 at 1 %
    assert round(stats.critical_difference(14, 4), 2) == 1.25
    assert round(stats.critical_difference(14, 4, alpha=0.1), 2) == 1.12


def tied(n_sets, k, levels, seed):
    return np.random.default_rng(seed).integers(0, levels, size=(n_sets, k)).astype(float)


@pytest.mark.parametrize("levels", [2, 3, 10**9])
def test_friedman_is_scipys_with_ties_and_without(demsar, levels):
    for values in (demsar, tied(9, 5, levels, seed=levels)):
        assert stats.friedman(values).chi2 == pytest.approx(scipy_stats.friedmanchisquare(*values.T).statistic)


@pytest.mark.parametrize("levels", [2, 3, 10**9])
def test_iman_and_davenports_F_is_that_of_an_analysis_of_variance_of_ranks(levels):
    values = tied(9, 4, levels, seed=0)
    ranks = scipy_stats.rankdata(values, axis=1)
    sets, treatments = np.indices(ranks.shape)
    table = pd.DataFrame({"rank": ranks.ravel(), "set": sets.ravel(), "treatment": treatments.ravel()})
    expected = anova_lm(ols("rank ~ C(set) + C(treatment)", table).fit()).loc["C(treatment)"]
    found = stats.friedman(values)
    assert (found.F, found.p) == pytest.approx((expected["F"], expected["PR(>F)"]))


@pytest.mark.parametrize("levels", [2, 3, 10**9])
def test_no_p_by_permutations_is_below_the_least(levels):
    values = np.sort(tied(3, 3, levels, seed=1), axis=1)  # all sets agree as far as their ties let them
    orders = [sorted(set(itertools.permutations(row))) for row in values]
    chi2 = [stats.friedman(np.array(every)).chi2 for every in itertools.product(*orders)]
    exact = np.mean(np.array(chi2) >= stats.friedman(values).chi2 - 1e-9)
    assert 0 < stats.least_p(values) <= exact + 1e-12
    if levels > 3:
        assert stats.least_p(values) == pytest.approx(exact) == pytest.approx(1 / 36)


def test_differences_that_rounding_alone_tells_apart_are_ties():
    first, second = [0.9, 0.8, 0.7, 0.6, 0.95], [0.8, 0.7, 0.8, 0.5, 0.85]
    per_cent = [np.rint(100 * np.array(values)) for values in (first, second)]
    for alternative in ("two-sided", "less", "greater"):
        assert stats.wilcoxon(first, second, alternative) == stats.wilcoxon(*per_cent, alternative)
    assert stats.wilcoxon(first, second, "two-sided") == 0.375
    assert stats.wilcoxon([0.3], [0.1 + 0.2], "two-sided") == 1.0
    far = [1e6 + 1.0, 1e-3 + 1e-9, 1e-3 + 3e-9]  # each with the rounding of its own size
    assert stats.wilcoxon(far, [1e6, 1e-3, 1e-3 + 1e-9], "greater") == 0.125


def test_friedman_of_sets_that_all_agree_and_of_ties_alone():
    found = stats.friedman(np.tile([1.0, 2.0, 3.0], (4, 1)))
    assert (found.F, found.p) == (np.inf, 0.0)
    tied = stats.friedman(np.ones((4, 3)))
    assert tied.ranks.tolist() == [2, 2, 2] and (tied.F, tied.p) == pytest.approx((0.0, 1.0))


def test_nemenyi_is_that_of_scikit_posthocs(demsar):
    found = stats.nemenyi(stats.friedman(demsar).ranks, len(demsar))
    np.testing.assert_allclose(found, scikit_posthocs.posthoc_nemenyi_friedman(demsar), atol=1e-6)
    difference = np.abs(np.subtract.outer(ranks := stats.friedman(demsar).ranks, ranks))
    np.testing.assert_array_equal(found < 0.05, difference > stats.critical_difference(14, 4))


@pytest.mark.slow
@pytest.mark.parametrize("n_sets", [5, 12])
def test_pairwise_without_ties_is_that_of_scikit_posthocs(n_sets):
    values = np.random.default_rng(2).normal(size=(n_sets, 4)) + np.arange(4)
    expected = scikit_posthocs.posthoc_wilcoxon(values.T, zero_method="pratt", p_adjust="holm")
    np.testing.assert_allclose(stats.pairwise(values), expected)


@pytest.mark.parametrize("seed", range(5))
def test_holm_is_that_of_statsmodels(seed):
    p = np.random.default_rng(seed).uniform(size=12).round(1) * 0.2
    assert stats.correct_by_holm(p) == pytest.approx(multipletests(p, method="holm")[1], rel=1e-12)


def test_holm_by_hand():
    first = np.arange(1.0, 9.0)  # against it: always less, less but for the largest, and the same
    values = np.stack([first, first - np.arange(1, 9), np.r_[first[:-1] - np.arange(1, 8), first[-1] + 0.5]], axis=1)
    raw = {
        (i, j): scipy_stats.wilcoxon(values[:, i], values[:, j], zero_method="pratt", method="exact").pvalue
        for i, j in [(0, 1), (0, 2)]
    }
    raw[1, 2] = 1.0  # seven of eight are equal: one sign says nothing
    order = sorted(raw, key=lambda pair: raw[pair])
    expected, so_far = {}, 0.0
    for left, pair in zip((3, 2, 1), order, strict=True):
        so_far = max(so_far, min(1.0, left * raw[pair]))
        expected[pair] = so_far
    found = stats.pairwise(values)
    assert {pair: found[pair] for pair in raw} == pytest.approx(expected)
    np.testing.assert_array_equal(found, found.T)


@pytest.mark.parametrize("alternative", ["less", "greater", "two-sided"])
@pytest.mark.parametrize(
    "first, second", [([5, 3, 8, 4, 4, 9, 1], [4, 4, 6, 4, 2, 5, 2]), ([1, 1], [2, 0]), ([0], [1])]
)
def test_wilcoxon_counts_ties_and_zeros_as_pratt_does(alternative, first, second):
    difference = np.subtract(first, second)
    ranks = scipy_stats.rankdata(np.abs(difference))
    seen = ranks[difference > 0].sum()
    signs = itertools.product((0, 1), repeat=int((difference != 0).sum()))
    at_random = np.array([np.dot(ranks[difference != 0], pick) for pick in signs])
    less, greater = np.mean(at_random <= seen), np.mean(at_random >= seen)
    by_hand = {"less": less, "greater": greater, "two-sided": min(1, 2 * min(less, greater))}
    assert stats.wilcoxon(first, second, alternative) == pytest.approx(by_hand[alternative])


def test_wilcoxon_of_nothing_but_zeros_and_of_many_sets():
    assert stats.wilcoxon(np.ones(5), np.ones(5), "two-sided") == 1.0
    first, second = np.random.default_rng(3).normal(size=(2, 40))
    expected = scipy_stats.wilcoxon(first, second, method="exact").pvalue
    assert stats.wilcoxon(first, second, "two-sided") == pytest.approx(expected)


# --- over the sets of a comparison


@pytest.mark.slow
def test_the_best_has_rank_1_whichever_way_a_metric_goes():
    by_metric = {tests.metric: tests for tests in stats.over_sets(made(sets="abcd"))}
    assert list(by_metric) == [metric for metric in stats.METRICS if metric not in stats.OF_SOME]
    for metric in ("fit_s", "test_accuracy", "suboptimality"):
        tests = by_metric[metric]
        assert tests.sets == list("abcd") and tests.treatments == ["fw", "swap", "smo"]
        assert tests.friedman.ranks.tolist() == [1, 2, 3] and tests.freedom == (2, 6)
    assert by_metric["n_support"].friedman.ranks.tolist() == [2, 2, 2]


@pytest.mark.slow
@pytest.mark.parametrize("sets, solvers, p", [("ab", ("fw", "smo"), 1 / 2), ("abc", ("fw", "swap", "smo"), 1 / 36)])
def test_sets_that_all_agree_show_no_more_than_the_chance_of_it(sets, solvers, p):
    found = stats.tests(made(sets=sets, solvers=solvers), "fit_s").friedman
    assert (found.F, found.p) == (np.inf, pytest.approx(p))  # of k!^(n - 1) ways to rank, one


@pytest.mark.slow
def test_metrics_that_the_spec_leaves_out_are_not_tested():
    assert [tests.metric for tests in stats.over_sets(made(metrics=("gap", "fit_s")))] == ["fit_s"]


@pytest.mark.slow
def test_few_sets_are_said_in_words():
    notes = stats.tests(made(sets="abc"), "fit_s").notes
    assert notes == ("3 sets: Wilcoxon cannot go below p = 0.25, and Holm's correction for 3 pairs not below 0.75.",)
    notes = stats.tests(made(sets="abc", solvers=("fw", "smo")), "fit_s").notes
    assert notes == ("3 sets: Wilcoxon cannot go below p = 0.25.",)
    assert stats.tests(made(sets="abcdefg"), "fit_s").notes == ()


@pytest.mark.parametrize(
    "sets, solvers, said", [("a", ("fw", "smo"), "1 set and 2 solvers"), ("abc", ("fw",), "3 sets and 1 solver")]
)
def test_too_little_for_a_test(sets, solvers, said):
    tests = stats.tests(made(sets=sets, solvers=solvers), "fit_s")
    assert tests.friedman is tests.wilcoxon is tests.cd is tests.nemenyi is None
    assert tests.notes == (f"{said}: a test needs two of each.",)


def test_a_set_with_a_failed_run_is_dropped_and_said():
    def change(cell, record):
        if (cell.data, cell.solver, cell.seed) == ("b", "smo", 1):
            return failure(cell, "diverged")
        return None if cell.data == "c" else record

    tests = stats.tests(made(sets="abcd", seeds=2, change=change), "fit_s")
    assert tests.sets == ["a", "d"] and tests.friedman.ranks.tolist() == [1, 2, 3]
    assert tests.notes[0] == "b is left out: no value for all runs of smo (failed, stopped, not run or unknown)."
    assert tests.notes[1].startswith("c is left out: no value for all runs of fw and 2 more")


def test_a_solver_without_any_value_does_not_take_the_sets_with_it():
    tests = stats.tests(
        made(sets="abcd", change=lambda cell, r: r if cell.solver != "fw" else failure(cell, "no")), "gap"
    )
    assert tests.treatments == ["swap", "smo"] and len(tests.sets) == 4
    assert tests.notes[0] == "fw is left out: it has no value on any set."


@pytest.mark.slow
def test_runs_that_were_cut_count_and_it_is_said():
    def change(cell, record):
        return record | ({"status": "time_limit", "fit_s": 9.0} if (cell.data, cell.solver) == ("a", "fw") else {})

    results = made(sets="abcdef", solvers=("fw", "swap"), change=change)
    tests = stats.tests(results, "fit_s")
    assert tests.values[0].tolist() == [9.0, pytest.approx(0.8)]
    assert tests.notes == ("Runs that were cut by their time limit count with the time at which they were cut.",)
    assert stats.tests(results, "test_accuracy").notes == ()


def test_suboptimality_of_different_objectives_is_not_ranked():
    results = made(sets="ab", change=lambda cell, r: r | {"formulation": "squared" if cell.solver == "fw" else "hinge"})
    tests = stats.tests(results, "suboptimality")
    assert tests.sets == [] and tests.friedman is None
    assert tests.notes[0] == "Left out, since their solvers minimise different objectives: a, b."
    assert stats.tests(results, "fit_s").sets == ["a", "b"]


def test_nothing_known():
    results = made(change=lambda cell, record: record | {"test_accuracy": None})
    assert stats.tests(results, "test_accuracy").notes == ("No solver has a value on any set.",)
    assert stats.tests(made(change=lambda cell, record: None), "fit_s").friedman is None


def test_means_that_differ_by_rounding_are_ties():
    results = made(sets="abc", change=lambda cell, r: r | {"test_accuracy": 0.1 + 0.2 if cell.solver == "fw" else 0.3})
    assert stats.tests(results, "test_accuracy").friedman.ranks.tolist() == [2, 2, 2]
