"""Estimators that a signal or a limit in seconds cuts short: a warning, and an end of searches at the second signal."""

import os
import signal
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from support.problems import blobs

from svmkit.estimators import base
from svmkit.estimators.classifier import SVMClassifier
from svmkit.estimators.one_class import SVMOneClass
from svmkit.solver.loop import recorder
from svmkit.solver.solution import Status
from svmkit.training.subproblems import trainer

pytestmark = pytest.mark.posix

X, Y = blobs(60, 3)


@pytest.fixture(autouse=True)
def no_signal_before(monkeypatch):
    monkeypatch.setattr(base, "_interrupted", -np.inf)


@pytest.fixture
def signals(monkeypatch):
    """A function that sets in which fits, counted from 1, Ctrl-C is pressed, and how often; it returns the counter."""
    fits, plan, counted = [0], {}, [SVMClassifier]

    def pressing(estimator, original):
        def press(*args):
            if estimator in counted:
                fits[0] += 1
                for _ in range(plan.get(fits[0], 0)):
                    os.kill(os.getpid(), signal.SIGINT)
            return original(*args)

        return press

    # what each of them calls once in a fit, before the first step
    monkeypatch.setattr(trainer, "TimeBudget", pressing(SVMClassifier, trainer.TimeBudget))
    monkeypatch.setattr(recorder.Recorder, "__init__", pressing(SVMOneClass, recorder.Recorder.__init__))

    def planned(estimator=SVMClassifier, **at):
        counted[:] = [estimator]
        plan.update({int(key[1:]): count for key, count in at.items()})
        return fits

    return planned


@pytest.mark.parametrize(
    ("estimator", "more"), [(SVMClassifier, {}), (SVMOneClass, {}), (SVMOneClass, {"loss": "hinge", "nu": 0.3})]
)
def test_one_signal_keeps_the_best_model_and_says_so(signals, estimator, more):
    signals(estimator, f1=1)
    with pytest.warns(ConvergenceWarning, match=r"auto ended as interrupted.*another Ctrl-C soon ends all"):
        model = estimator(tol=1e-9, **more).fit(X, Y)
    assert model.status_ is Status.INTERRUPTED
    assert model.predict(X).shape == (60,)


@pytest.mark.parametrize("estimator", [SVMClassifier, SVMOneClass])
def test_a_time_limit_says_how_far_it_got(estimator):
    with pytest.warns(ConvergenceWarning, match=r"ended as time_limit at gap .*: give more time"):
        model = estimator("swap2o", tol=1e-12, time_limit=1e-9).fit(X, Y)
    assert model.status_ is Status.TIME_LIMIT


def test_a_chosen_budget_of_iterations_is_no_news_but_its_interrupt_is(signals):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SVMClassifier(tol=1e-9, max_iter=2).fit(X, Y)
    signals(f2=1)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        SVMClassifier(tol=1e-9, max_iter=200).fit(X, Y)


def search():
    return GridSearchCV(SVMClassifier(tol=1e-9), {"C": [0.1, 1.0, 10.0]}, cv=2, refit=False)


def test_a_search_goes_on_after_one_signal_with_a_warning(signals):
    fits = signals(f2=1)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        search().fit(X, Y)
    assert fits[0] == 6


def test_a_second_signal_soon_after_ends_the_search(signals):
    """In a later fit of the search: one signal ends one fit, and was swallowed as often as it was sent."""
    fits = signals(f2=1, f4=1)
    with pytest.raises(KeyboardInterrupt), pytest.warns(ConvergenceWarning, match="interrupted"):
        search().fit(X, Y)
    assert fits[0] == 4


def test_a_second_signal_much_later_is_a_first_one_again(signals, monkeypatch):
    monkeypatch.setattr(base, "AGAIN", 0.0)
    fits = signals(f2=1, f4=1)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        search().fit(X, Y)
    assert fits[0] == 6


def test_two_signals_in_one_fit_end_the_search(signals):
    fits = signals(f2=2)
    with pytest.raises(KeyboardInterrupt):
        search().fit(X, Y)
    assert fits[0] == 2
