"""Garbage is collected seldom while a function is compiled, and as before afterwards."""

import gc

import numba
import pytest

from svmkit.runtime.compiling import njit
from svmkit.runtime.garbage import YOUNG, collecting_seldom


@pytest.fixture(autouse=True)
def as_python_has_it():
    """Python's own thresholds; the tests run with higher ones."""
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_thresholds_come_back_after_a_failure():
    before = gc.get_threshold()
    with pytest.raises(ZeroDivisionError), collecting_seldom():
        assert gc.get_threshold()[0] >= YOUNG
        raise ZeroDivisionError
    assert gc.get_threshold() == before


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_a_compilation_collects_seldom():
    seen, before = [], gc.get_threshold()

    @njit
    def add(a, b):
        return a + b

    compile_core = add._compiler._compile_core
    add._compiler._compile_core = lambda *args: seen.append(gc.get_threshold()) or compile_core(*args)
    assert add(1, 2) == 3
    assert [threshold[0] >= YOUNG for threshold in seen] == [True]
    assert gc.get_threshold() == before
