"""Garbage is collected seldom in imports, compilations and commands, and as before afterwards."""

import gc
import subprocess
import sys

import numba
import pytest

import svmkit
from svmkit import cli
from svmkit.kernels.loops import row_loops
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


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is loaded")
def test_compiled_code_is_loaded_with_few_looks_for_garbage(monkeypatch):
    seen, before, loop = [], gc.get_threshold(), row_loops.in_order
    monkeypatch.setattr(loop._cache, "_load_overload", lambda *args: seen.append(gc.get_threshold()))
    assert loop._cache.load_overload((), loop.targetctx) is None
    assert [threshold[0] >= YOUNG for threshold in seen] == [True]
    assert gc.get_threshold() == before


@pytest.mark.parametrize(("module", "name"), [(svmkit, "_import"), (cli, "_run")])
def test_names_are_imported_and_commands_run_with_few_looks_for_garbage(module, name, monkeypatch):
    seen, before = [], gc.get_threshold()
    monkeypatch.setattr(module, name, lambda *args: seen.append(gc.get_threshold()))
    if module is cli:
        with pytest.raises(SystemExit):
            cli.main(["--version"])
    else:
        assert svmkit.__getattr__("SVMClassifier") is None
    assert [threshold[0] >= YOUNG for threshold in seen] == [True]
    assert gc.get_threshold() == before


def test_a_process_ends_without_a_look_at_what_the_command_has_made():
    show = "import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count() > 1000))"
    command = [sys.executable, "-c", f"{show}; from svmkit.cli import main; main()", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "True"), done.stderr
