"""Signals that come while Python is in code where an exception would be lost."""

import os
import signal
import time

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


def test_the_second_of_two_signals_may_come_in_a_destructor():
    with interrupt.command(), interrupt.catching() as flag, pytest.raises(interrupt.Interrupted):
        Dying(signal.SIGINT)
        assert flag.raised
        Dying(signal.SIGINT)
        time.sleep(60)
