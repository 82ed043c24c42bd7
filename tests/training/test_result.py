"""What a fit says of all of its class pairs together."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris
from support.training import prepared, trainer

from svmkit.kernels.functions import RBF
from svmkit.problems.certificate import Certificate
from svmkit.solver.history import History, HistoryPoint
from svmkit.solver.solution import Solution, Status
from svmkit.training.callbacks import Display, line
from svmkit.training.result import Fit
from svmkit.training.subproblems.one import Part
from svmkit.training.train import fit


def of(*pairs, status=Status.CONVERGED, n_iter=1):
    """A Fit whose class pairs have these (P, D, gap)."""
    solutions = [
        Solution(None, status, n_iter, 0.0, Certificate(primal, dual, gap), [], {}) for primal, dual, gap in pairs
    ]
    return Fit(None, solutions, None, 0.0, 0)


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0), (2, 0, 1)])
def test_the_gap_is_the_largest_of_any_class_pair(order):
    pairs = [(2.0, 1.0, 0.5), (4.0, 3.0, 0.25), (8.0, 7.9, 0.0125)]
    assert of(*(pairs[k] for k in order)).gap == 0.5


def test_the_objectives_are_sums():
    fit = of((2.0, 1.0, 0.5), (4.0, 3.5, 0.125), n_iter=7)
    assert (fit.objective, fit.dual_objective, fit.n_iter) == (6.0, 4.5, 14)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_one_class_pair_without_a_dual_leaves_all_without_a_gap(order):
    pairs = [(2.0, 1.0, 0.5), (4.0, None, None)]
    fit = of(*(pairs[k] for k in order))
    assert fit.objective == 6.0 and fit.dual_objective is None and fit.gap is None


def test_the_status_is_the_worst():
    worst_first = [
        Status.INTERRUPTED,
        Status.TIME_LIMIT,
        Status.MAX_ITER,
        Status.STALLED,
        Status.MAX_SUPPORT,
        Status.CONVERGED,
    ]
    for k, status in enumerate(worst_first):
        fit = Fit(None, [*of((1.0, 1.0, 0.0)).solutions] * 2, None, 0.0, 0)
        fit.solutions.extend(s for other in worst_first[k:] for s in of((1.0, 1.0, 0.0), status=other).solutions)
        assert fit.status is status


def test_the_rounding_is_the_largest_part_of_a_gap_and_the_flaw_the_first():
    def fit(*certificates):
        solutions = [Solution(None, Status.CONVERGED, 1, 0.0, certificate, [], {}) for certificate in certificates]
        return Fit(None, solutions, None, 0.0, 0)

    good = [Certificate(1.0, 0.5, 0.5, rounding=rounding) for rounding in (0.125, 0.25, 0.0)]
    assert (fit(*good).rounding, fit(*good).flaw) == (0.25, None)
    flawed = [Certificate(1.0, None, None, flaw=words) for words in ("one", "two")]
    found = fit(good[0], *flawed)
    assert (found.flaw, found.gap, found.rounding, found.dual_objective) == ("one", None, None, None)


def test_class_pairs_that_did_not_begin_are_counted():
    points = (np.zeros(3), np.empty(0), np.empty(0))
    certificate = Certificate(1.0, 0.5, 0.5)
    solutions = [Solution(point, Status.TIME_LIMIT, 0, 0.0, certificate, [], {}) for point in points]
    assert Fit(None, solutions, None, 0.0, 0).n_untrained == 2


def test_a_part_that_is_continued_has_the_effort_of_both_and_the_better_point():
    def part(gap, values, seconds, around):
        history = History([HistoryPoint(1, seconds, 1.0, gap, 1, values)])
        certificate = Certificate(1.0, 1.0 - gap, gap)
        return Part(
            Solution(np.full(2, gap), Status.MAX_ITER, 3, seconds, certificate, history), None, values, seconds, around
        )

    for gaps in ((0.5, 0.1), (0.1, 0.5)):
        first, later = part(gaps[0], 5, 1.0, 0.25), part(gaps[1], 7, 2.0, 0.5)
        both = first.continue_with(later)
        assert (both.kernel_values, both.seconds, both.around) == (12, 3.0, 0.5)
        assert both.solution.certificate.gap == both.solution.point[0] == 0.1
        assert [*both.solution.history] == [*first.solution.history, *later.solution.history]


def test_the_rounding_is_the_largest_of_all_problems_and_unknown_without_a_gap():
    X, y = load_iris(return_X_y=True)
    done = fit(X, y, solver="smo", kernel=RBF(0.5))
    own = [solution.certificate.rounding for solution in done.solutions]
    assert len(own) == 3 and done.rounding == max(own) > min(own)
    first = done.solutions[0]
    lost = replace(
        done, solutions=[replace(first, certificate=replace(first.certificate, gap=None)), *done.solutions[1:]]
    )
    assert lost.gap is None and lost.rounding is None


@pytest.mark.parametrize(("n_problems", "prefix"), [(3, "2/3 a vs b: "), (1, "")])
def test_the_display_says_which_problem_it_is_of_several(n_problems, prefix):
    shown, point = [], HistoryPoint(7, 0.5, 3.0, 0.25, 4, 100)
    display = Display(shown.append, n_samples=50)
    (look,) = display.on_begin(1, n_problems, "a vs b")
    look(point)
    look(point)  # too soon
    assert shown == [prefix + line(point, 50)]
    display.on_trained(2, n_problems)
    assert shown[1:] == [f"2/{n_problems} problems"]


def test_the_time_around_the_steps_is_that_of_a_part_less_its_steps():
    data = prepared(*load_iris(return_X_y=True))
    one = trainer(data, solver="smo")
    part = one.train(one.subproblem(1), 1.0)
    assert part.around > 0.0 and part.seconds == pytest.approx(part.around + part.solution.seconds)
