"""Signals that come while Python is in code where an exception would be lost."""

import os
import signal
import sys
import time
import weakref

import pytest

from svmkit.runtime import interrupt


class Dying:
    """An object in whose destructor a signal comes."""

    def __init__(self, signum):
        self.signum = signum

    def __del__(self):
        os.kill(os.getpid(), self.signum)
        time.sleep(0)  # the handler has been called at the latest now


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_a_signal_in_a_destructor_is_not_lost(signum):
    """Python prints what a destructor raises, and goes on."""
    with interrupt.command(), pytest.raises(interrupt.Interrupted):
        Dying(signum)
        time.sleep(60)
    assert not interrupt.broke_off()


class Watched:
    """An object that a weak reference may have."""


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_a_signal_in_a_callback_is_not_lost(signum):
    """Each import has a weak reference to its lock, whose callback is called as the import ends."""

    def come(reference):
        os.kill(os.getpid(), signum)
        time.sleep(0)

    hook, watched = sys.unraisablehook, Watched()
    reference = weakref.ref(watched, come)
    with interrupt.command(), pytest.raises(interrupt.Interrupted):
        del watched
        time.sleep(60)
    assert reference() is None
    assert sys.unraisablehook is hook


def test_other_errors_of_destructors_are_printed():
    class Failing:
        def __del__(self):
            raise ValueError("of a destructor")

    shown = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.unraisablehook", shown.append)
        with interrupt.command():
            with pytest.raises(interrupt.Interrupted):
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(60)
            Failing()
    assert [type(each.exc_value) for each in shown] == [ValueError]


def test_nothing_is_begun_after_a_signal_that_a_library_has_swallowed():
    with interrupt.command():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)
        except interrupt.Interrupted:
            pass
        with interrupt.catching() as flag:
            assert flag
    with interrupt.catching() as flag:
        assert not flag


def test_the_second_of_two_signals_may_come_in_a_destructor():
    with interrupt.command(), interrupt.catching() as flag, pytest.raises(interrupt.Interrupted):
        Dying(signal.SIGINT)
        assert flag.raised
        Dying(signal.SIGINT)
        time.sleep(60)
