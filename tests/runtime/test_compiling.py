"""Compilation is counted: each function once, with its inner ones, and only in the block; the cache is not believed."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from numba import njit

from svmkit.runtime import compiling


def test_functions_are_counted_with_those_that_they_call():
    @njit
    def inner(x):
        return x + 1.0

    @njit
    def outer(x):
        return 2.0 * inner(x)

    with compiling.count_compilations() as counts:
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

    with compiling.count_compilations() as around:
        with compiling.count_compilations() as within:
            double(1)
        double(1.0)
    assert within.functions == ["double"] and around.functions == ["double", "double"]
    assert 0.0 < within.seconds < around.seconds


def test_a_cache_that_names_a_type_that_has_moved_is_compiled_anew(tmp_path):
    pair = "from typing import NamedTuple\nclass Pair(NamedTuple):\n    a: float\n    b: float\n"
    (tmp_path / "old_place.py").write_text(pair)
    (tmp_path / "adder.py").write_text(
        "from svmkit.runtime.compiling import njit\n@njit(cache=True)\ndef add(pair):\n    return pair.a + pair.b\n"
    )
    run = "import adder, {0}\nprint(adder.add({0}.Pair(1.0, 2.0)))"
    for place in ("old_place", "new_place"):
        answer = subprocess.run([sys.executable, "-c", run.format(place)], cwd=tmp_path, capture_output=True, text=True)
        assert answer.stdout == "3.0\n", answer.stderr
        (tmp_path / f"{place}.py").rename(tmp_path / "new_place.py")


def test_a_function_has_the_arithmetic_of_its_own_whoever_calls_it_first():
    @compiling.njit
    def lost_digits(a, b):
        return b - ((a + b) - a)

    @compiling.njit(fastmath={"nsz", "reassoc"})
    def caller(a, b):
        return lost_digits(a, b)

    assert caller(1.0, 1e-17) == 1e-17  # sums in any order would make it 0.0
    assert lost_digits(1.0, 1e-17) == 1e-17


RACY = """
from svmkit.runtime.compiling import njit

@njit(cache=True)
def first(x):
    return x[0]
"""


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_code_that_is_cached_under_other_types_is_not_called(tmp_path):
    """What two processes leave that compile a function for different types at once: numba reads halves as integers."""
    path = tmp_path / "racy.py"
    path.write_text(RACY)

    def load():
        spec = importlib.util.spec_from_file_location("racy", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.first

    whole, halves = np.ones(2, np.int64), np.full(2, 0.5)
    first = load()
    assert (first(whole), first(halves)) == (1, 0.5)
    one, two = sorted(Path(first.stats.cache_path).glob("racy.first-*.nbc"))
    two.write_bytes(one.read_bytes())
    mended = load()
    assert mended(halves) == 0.5 and not mended.stats.cache_hits
    again = load()
    assert (again(whole), again(halves)) == (1, 0.5) and len(again.stats.cache_hits) == 2
