"""Compilation is counted: each function once, with the functions that it calls, and only in the block."""

from numba import njit

from svmkit.runtime import compiling


def test_functions_are_counted_with_those_that_they_call():
    @njit
    def inner(x):
        return x + 1.0

    @njit
    def outer(x):
        return 2.0 * inner(x)

    with compiling.counted() as counts:
        assert outer(1.0) == 4.0
        seconds = counts.seconds
        assert seconds > 0.0 and counts.functions == ["outer"]
        outer(2.0)
    assert counts.seconds == seconds and counts.functions == ["outer"]
    outer(1)  # another type is compiled anew, and not counted any more
    assert counts.seconds == seconds and len(outer.signatures) == 2


def test_counts_may_be_nested():
    @njit
    def double(x):
        return 2 * x

    with compiling.counted() as around:
        with compiling.counted() as within:
            double(1)
        double(1.0)
    assert within.functions == ["double"] and around.functions == ["double", "double"]
    assert 0.0 < within.seconds < around.seconds
