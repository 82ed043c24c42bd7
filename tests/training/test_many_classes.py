"""Many class pairs and a limit: no pair begins after it, and time that easy pairs leave is given to the others."""

import math
import os
import signal

import numpy as np
import pytest
from support.problems import overlapping

from svmkit.kernels.functions import RBF, Linear
from svmkit.model.model import SVMModel
from svmkit.problems.certificate import Certificate
from svmkit.solver.loop.iterate import Iterate
from svmkit.solver.selection import by_name
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Criterion, Gap, Iterations, Seconds
from svmkit.tracking import RunRecord
from svmkit.training.checkpoint import Checkpoint
from svmkit.training.division import ClassPairs
from svmkit.training.path import c_path
from svmkit.training.result import Fit, make_untrained
from svmkit.training.subproblems import at_once
from svmkit.training.train import fit

CLASSES = 40


def many(n_classes=CLASSES, n=200):
    rng = np.random.default_rng(0)
    y = np.arange(n) % n_classes
    return rng.normal(size=(n, 3)) + rng.normal(size=(n_classes, 3))[y], y


def first_pairs_only(n_pairs):
    """A `watch` that asks to stop at the end of the given number of class pairs."""
    begun = []

    def watch(k, n_problems, name):
        begun.append(k)
        return [lambda point: len(begun) >= n_pairs]

    return watch, begun


@pytest.mark.parametrize(("solver", "kernel"), [("swap2o", RBF(0.5)), ("smo", RBF(0.5)), ("dcd", Linear())])
def test_no_pair_begins_after_the_limit(solver, kernel, tmp_path):
    X, y = many()
    n_pairs = CLASSES * (CLASSES - 1) // 2
    fitted = fit(X, y, solver=solver, kernel=kernel, stop=Gap(1e-3) | Seconds(1e-9))
    assert fitted.n_untrained == n_pairs - 1 and fitted.status is Status.TIME_LIMIT
    assert fitted.gap is None and math.isinf(fitted.objective)
    assert len(fitted.solutions) == len(fitted.model.intercept) == n_pairs
    assert not fitted.model.decision_function(X)[:, 1:].any()
    assert set(fitted.model.predict(X)) <= {0, 1}  # all other pairs vote for nobody
    fitted.model.save(tmp_path / "m.model")
    loaded = SVMModel.load(tmp_path / "m.model")
    np.testing.assert_array_equal(loaded.predict(X), fitted.model.predict(X))


@pytest.mark.posix
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_no_pair_begins_after_a_signal(signum):
    X, y = many()
    begun = []

    def watch(k, n_problems, name):
        begun.append(k)
        if len(begun) == 5:
            os.kill(os.getpid(), signum)
        return []

    fitted = fit(X, y, kernel=RBF(0.5), watch=watch)
    assert begun == [0, 1, 2, 3, 4]
    assert fitted.status is Status.INTERRUPTED and fitted.n_untrained == len(fitted.solutions) - 5
    assert fitted.solutions[-1].status is Status.INTERRUPTED


def test_a_thread_may_end_before_the_first_pair(monkeypatch):
    X, y = many(4, 80)
    expected, spread = fit(X, y, kernel=RBF(0.5)), at_once.spread

    def without_the_first(loop, n, work, *args):
        if hasattr(loop, "__self__"):  # of many pairs in compiled code
            loop(1, n, *args)
        else:
            spread(loop, n, work, *args)

    monkeypatch.setattr(at_once, "spread", without_the_first)
    fitted = fit(X, y, kernel=RBF(0.5))
    assert fitted.n_untrained == 0
    np.testing.assert_allclose(fitted.model.decision_function(X), expected.model.decision_function(X), atol=1e-3)


def test_no_pair_begins_after_a_callback_asks_to_stop():
    X, y = many()
    watch, begun = first_pairs_only(3)
    fitted = fit(X, y, kernel=RBF(0.5), stop=Gap(1e-9) | Seconds(1e6), watch=watch)
    assert begun == [0, 1, 2] and fitted.status is Status.INTERRUPTED
    assert fitted.n_untrained == len(fitted.solutions) - 3
    watch, begun = first_pairs_only(4)
    paths = c_path(X, y, [1.0, 10.0], kernel=RBF(0.5), watch=watch, stop=Gap(1e-9))
    assert begun == [0, 1, 2, 3] and {found.n_untrained for found in paths} == {len(fitted.solutions) - 2}


def test_a_path_ends_at_the_limit_for_each_C():
    X, y = many()
    found = c_path(X, y, [1.0, 10.0], kernel=RBF(0.5), stop=Gap(1e-3) | Seconds(1e-9))
    assert [fitted.n_untrained for fitted in found] == [len(found[0].solutions) - 1] * 2


@pytest.fixture
def a_second_a_step(monkeypatch):
    """Seconds are counted in steps of solvers, in place of those that pass."""
    now, step = [0.0], Iterate.step

    def tick(self):
        now[0] += 1.0
        return step(self)

    monkeypatch.setattr(Iterate, "step", tick)
    monkeypatch.setattr("time.perf_counter", lambda: now[0])


@pytest.mark.usefixtures("a_second_a_step")
def test_time_that_easy_pairs_leave_is_given_to_the_others():
    """The first pair is hard and stops at its share; the others are easy; then the first goes on until it converges."""
    rng = np.random.default_rng(0)
    hard = rng.normal(size=(120, 2))
    X = np.r_[hard, rng.normal(size=(60, 2)) + 30.0]
    y = np.r_[np.arange(120) % 2, np.full(60, 2)]
    begun = []

    def watch(k, n_problems, name):
        begun.append(k)
        return []

    options = {"solver": "swap2o", "kernel": RBF(0.5), "C": 10.0, "watch": watch}
    alone = fit(X, y, stop=Gap(1e-3), **options)
    needed = alone.solutions[0].seconds
    assert needed > 3 * sum(s.seconds for s in alone.solutions[1:])
    begun.clear()
    fitted = fit(X, y, stop=Gap(1e-3) | Seconds(1.5 * needed), **options)
    assert begun[:3] == [0, 1, 2] and len(begun) > 3 and set(begun[3:]) == {0}
    assert fitted.status is Status.CONVERGED and fitted.gap <= 1e-3
    first = [point.n_iter for point in fitted.solutions[0].history]
    assert first == sorted(first) and fitted.solutions[0].n_iter == first[-1]
    assert fitted.objective == pytest.approx(alone.objective, rel=2e-3)


@pytest.mark.usefixtures("a_second_a_step")
def test_a_limit_is_that_of_the_call_that_resumes(tmp_path):
    X, y = overlapping()
    path = tmp_path / "run.ckpt"
    options = {"solver": "fw", "kernel": RBF(0.5), "stop": Gap(1e-12) | Seconds(20.0)}
    iterations = []
    for resume in (False, True, True):
        found = fit(X, y, checkpoint=Checkpoint(path, resume=resume), **options)
        assert found.status is Status.TIME_LIMIT
        iterations.append(found.n_iter)
    assert iterations[1] >= iterations[0] + 15 and iterations[2] >= iterations[1] + 15


def test_pairs_without_progress_come_first_when_training_resumes(tmp_path):
    X, y = many(6, 60)
    path = tmp_path / "run.ckpt"
    watch, _ = first_pairs_only(4)
    first = fit(X, y, kernel=RBF(0.5), checkpoint=Checkpoint(path), watch=watch)
    assert first.n_untrained == 11
    watch, begun = first_pairs_only(100)
    whole = fit(X, y, kernel=RBF(0.5), checkpoint=Checkpoint(path, resume=True), watch=watch)
    assert begun == [*range(4, 15), *range(4)] and whole.status is Status.CONVERGED and not whole.n_untrained
    straight = fit(X, y, kernel=RBF(0.5))
    assert whole.objective == pytest.approx(straight.objective, rel=2e-3)


@pytest.mark.parametrize("gaps", [[1e-5, math.nan], [math.nan, 1e-5], [1e-5, None], [None, 1e-5]], ids=str)
def test_a_gap_that_is_not_known_makes_that_of_the_fit_unknown(gaps):
    X, y = many(3, 30)
    fitted = fit(X, y, kernel=RBF(0.5), stop=Iterations(5))
    solutions = [
        type(s)(s.point, s.status, s.n_iter, s.seconds, Certificate(1.0, gap and 1.0 - gap, gap), s.history)
        for s, gap in zip(fitted.solutions, [*gaps, 1e-6], strict=True)
    ]
    found = Fit(fitted.model, solutions, fitted.support, 0.0, 0)
    assert found.gap is None and found.dual_objective is None
    assert Fit(fitted.model, [solutions[-1]] * 2, fitted.support, 0.0, 0).gap == 1e-6


def test_the_history_of_many_pairs_is_thinned():
    X, y = many(3, 30)
    fitted = fit(X, y, kernel=RBF(0.5), stop=Iterations(5))
    solutions = [fitted.solutions[0]] * 2500 + [make_untrained(Status.TIME_LIMIT)] * 2500
    record = RunRecord(
        by_name.solver("smo"), RBF(0.5), Fit(fitted.model, solutions, fitted.support, 0.0, 0), "d", 30, 3
    )
    points = record.history()
    assert 100 < len(points) <= 1000 and points[-1].n_iter <= 2500


class Over(Criterion):
    """A rule of a caller's own by which time is over after two iterations."""

    status = Status.TIME_LIMIT

    def holds(self, info, n_iter, epochs, seconds):
        return n_iter >= 2


def test_neighbours_are_looked_for_once(monkeypatch):
    """Not once for each pair: 100 classes have 4,950 pairs, and their square is 24 million."""
    asked = []
    monkeypatch.setattr(ClassPairs, "neighbour", lambda self, k: asked.append(k))
    X, y = many(10, 60)
    assert len(fit(X, y, kernel=RBF(0.5)).solutions) == 45
    assert len(asked) <= 2 * 45


def test_a_rule_of_the_callers_own_that_ends_by_time_is_not_asked_again():
    X, y = overlapping()
    found = fit(X, y, solver="swap2o", kernel=RBF(0.5), stop=Gap(1e-12) | Over(1e6) | Seconds(1e5))
    assert found.status is Status.TIME_LIMIT and found.n_iter == 2
