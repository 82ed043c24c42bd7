"""Functions that compiled code calls are linked as they were lowered, and complete once Python calls them."""

import os
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager

import numba
import numpy as np
import pytest
from llvmlite.binding.module import ModuleRef
from numba.core import event
from numba.core.codegen import CPUCodeLibrary
from numba.extending import overload

from svmkit.runtime.compiling import njit
from svmkit.runtime.lowered import inner_code

CACHED = """
from svmkit.runtime.compiling import njit

@njit(cache=True)
def add_one(x):
    return x + 1.0

@njit(cache=True)
def twice(x):
    return 2.0 * add_one(x)

@njit(cache=True)
def thrice(x):
    return twice(x) + add_one(x)
"""


MEANWHILE = """
import sys, threading, traceback
from numba.core import event
from svmkit.runtime.compiling import njit

@njit
def add_one(x):
    return x + 1.0

@njit
def twice(x):
    return 2.0 * add_one(x)

def waits(thread):
    frame = sys._current_frames().get(thread.ident)
    return frame and any("compiler_lock" in one.f_code.co_filename for one, _ in traceback.walk_stack(frame))

class Listener(event.Listener):
    def on_start(self, event):
        pass

    def on_end(self, event):
        if event.data["dispatcher"] is add_one and not threads:
            threads.append(threading.Thread(target=lambda: found.append(add_one(2.0))))
            threads[0].start()
            while not waits(threads[0]):
                pass

threads, found = [], []
event.register("numba:compile", Listener())
assert twice(3.0) == 8.0
threads[0].join()
assert found == [3.0]
"""


@njit
def halve(x):
    return x / 2.0


@njit
def quarter(x):
    return halve(halve(x))


@njit(error_model="python")
def divide(x, y):
    return x / y


@njit
def divide_all(values, y):
    out = np.zeros(values.size)
    for i in range(values.size):
        out[i] = divide(values[i], y)
    return out


def add_one(x):
    raise NotImplementedError


def add_two(x):
    raise NotImplementedError


@overload(add_one)
def _add_one(x):
    return lambda x: x + 1.0


@overload(add_two)
def _add_two(x):
    return lambda x: add_one(add_one(x))


@contextmanager
def _watching(tell):
    """Call `tell` with each library of code that numba optimises in the block."""
    usual = CPUCodeLibrary._optimize_final_module
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CPUCodeLibrary, "_optimize_final_module", lambda self: tell(self) or usual(self))
        yield


def _is_inner(dispatcher):
    return [isinstance(found.library, inner_code.find_library().inner) for found in dispatcher.overloads.values()]


def test_a_function_that_compiled_code_calls_becomes_whole_once_python_calls_it():
    assert inner_code.find_library() is not None
    assert quarter(8.0) == 2.0
    assert _is_inner(quarter) == [False] and _is_inner(halve) == [True]
    assert halve(8.0) == 4.0 and halve(3.0) == 1.5
    assert _is_inner(halve) == [False]
    assert quarter(2.0) == 0.5 and quarter(8) == 2.0
    assert len(halve.signatures) == 2  # of an integer too, for the latter


def test_an_error_within_inner_code_reaches_python():
    with pytest.raises(ZeroDivisionError):
        divide_all(np.ones(3), 0.0)
    np.testing.assert_array_equal(divide_all(np.ones(3), 2.0), [0.5, 0.5, 0.5])


def test_functions_of_others_are_never_inner_code():
    @numba.njit
    def theirs(x):
        return halve(x) + 1.0

    @njit
    def ours(x):
        return theirs(x)

    @numba.njit
    def outermost(x):
        return quarter(x)

    assert ours(np.float32(4.0)) == 3.0 and theirs(np.float32(4.0)) == 3.0
    assert _is_inner(theirs) == [False] and theirs(8.0) == 5.0
    assert outermost(np.float32(8.0)) == 2.0 and quarter(np.float32(8.0)) == 2.0


def test_an_overload_is_inner_code_that_functions_of_others_may_link():
    @njit
    def ours(x):
        return add_two(x) * 2.0

    @numba.njit
    def theirs(x):
        return add_two(x)

    optimised = []
    with _watching(lambda library: optimised.append(library.name)):
        assert ours(1.0) == 6.0
    assert [name for name in optimised if name != "nrt"] == [
        "test_an_overload_is_inner_code_that_functions_of_others_may_link.<locals>.ours"
    ]
    assert theirs(1.0) == 3.0  # which links what has been kept as inner code, with all that this calls


def test_an_inner_function_is_linked_once_however_many_call_it(monkeypatch):
    @njit
    def first(x):
        return x + 1.0

    @njit
    def second(x):
        return first(x) + first(x + 1.0)

    @njit
    def third(x):
        return first(x) * second(x)

    @njit
    def outermost(x):
        return first(x) + second(x) + third(x)

    linked, usual = [], ModuleRef.link_in
    monkeypatch.setattr(ModuleRef, "link_in", lambda *args, **options: linked.append(args) or usual(*args, **options))
    assert outermost(1.0) == 2.0 + 5.0 + 10.0
    own, links = Counter(id(owner) for owner, _ in linked), len({id(owner) for owner, _ in linked})
    assert links == 4 and sorted(own.values())[:3] == [1, 1, 1]  # inner code holds nothing but itself


def test_what_numba_overloads_is_compiled_once_for_callers_with_and_without_the_lock():
    def doubled(n):
        raise AssertionError("compiled code alone calls it")

    @overload(doubled)  # one of the test's own: what other tests have compiled is not compiled again
    def _doubled(n):
        return lambda n: n + n

    @njit(nogil=True)
    def without(n):
        return doubled(n)

    @njit
    def with_it(n):
        return doubled(n)

    @njit
    def outermost(n):
        return without(n) + with_it(n)

    compiled = []

    class Listener(event.Listener):
        def on_start(self, event):
            compiled.append((event.data["dispatcher"].py_func.__code__, event.data["args"]))

        def on_end(self, event):
            pass

    with event.install_listener("numba:compile", Listener()):
        assert outermost(np.int64(3)) == 12
    assert len(compiled) > 3 and len(compiled) == len(set(compiled))


def test_what_failed_to_compile_leaves_numba_as_it_was():
    @njit
    def refuse(x):
        return x.no_such_thing

    @njit
    def call(x):
        return refuse(x)

    codegen = call.targetctx.codegen()
    with pytest.raises(numba.TypingError):
        call(1.0)
    assert not inner_code._current and "_library_class" not in vars(codegen) and "set_env" not in vars(codegen)
    assert quarter(np.int32(8)) == 2.0


@pytest.mark.slow
def test_inner_code_is_not_cached_and_whole_code_is(tmp_path):
    (tmp_path / "functions.py").write_text(CACHED)
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run(code):
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=200
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split(), sorted(path.name.split("-")[0] for path in tmp_path.rglob("*.nbi"))

    hits = "print(sum(functions.{0}.stats.cache_hits.values()))"
    twice = "import functions\nprint(functions.twice(1.0))\n" + hits.format("twice")
    assert run(twice) == (["4.0", "0"], ["functions.twice"])
    assert run(twice) == (["4.0", "1"], ["functions.twice"])
    one = "import functions\nprint(functions.add_one(1.0))\n" + hits.format("add_one")
    assert run(one) == (["2.0", "0"], ["functions.add_one", "functions.twice"])
    whole_within = one + "\nprint(functions.twice(2))\nprint(functions.add_one(2), functions.add_one(1.0))"
    assert run(whole_within)[0] == ["2.0", "1", "6.0", "3.0", "2.0"]
    from_cache = "import functions\nprint(functions.thrice(3.0))\nprint(functions.add_one(3.0))"
    (tmp_path / "cache").rename(tmp_path / "old")
    assert run(one)[0] == ["2.0", "0"]
    assert run(from_cache)[0] == ["12.0", "4.0"]  # add_one was read while twice was lowered


def test_without_the_methods_of_numba_functions_are_compiled_as_numba_does(monkeypatch):
    monkeypatch.setattr(inner_code, "STEPS", ("no_such_method",))
    assert inner_code.find_library.__wrapped__() is None
    monkeypatch.setattr(inner_code, "find_library", lambda: None)

    @njit
    def plain(x):
        return x + 1.0

    assert plain(1.0) == 2.0 and not inner_code.is_ours(plain)


def test_a_thread_that_asks_for_a_function_while_another_one_compiles_its_caller():
    done = subprocess.run([sys.executable, "-c", MEANWHILE], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
