"""Runs tests with a module that has been changed, in a process that has all libraries but nothing of ours loaded."""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from support.mutation.operators import mutated

MEMORY = 8 << 30  # bytes that a process with a mutation may ask for
PATIENCE = 5.0, 5.0  # a mutation is killed when it takes (factor) times as long as the tests take without it, + seconds
LIBRARIES = [
    "numpy",
    "scipy.sparse",
    "scipy.optimize",
    "sklearn.svm",
    "sklearn.metrics",
    "numba",
    "pytest",
    "hypothesis",
]


@dataclass(frozen=True)
class Run:
    """One run of tests.

    Attributes
    ----------
    module : str
        Dotted name of the module to change.
    source : str
        Its source.
    number : int or None
        The mutation (`mutated`); None changes nothing.
    tests : sequence of str
        Arguments of pytest: files, or single tests of a file.
    interpreted : bool
        Run our compiled functions as plain Python, since a caller's compiled code holds its callee's.
    recompiled : sequence of str
        Modules whose functions are compiled anew instead, where plain Python cannot run them.
    """

    module: str
    source: str
    number: int | None
    tests: Sequence[str]
    interpreted: bool = False
    recompiled: Sequence[str] = ()


def load_libraries() -> None:
    """Import what takes most of a run's start, once for all runs, which are single-threaded."""
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):  # before numpy is imported
        os.environ[variable] = "1"
    for name in LIBRARIES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    ours = [name for name in sys.modules if name.startswith("svmkit")]
    assert not ours, f"a run could not change a module that is already loaded: {ours}"


def survives(run: Run, limit: float | None = None, log: str = os.devnull) -> tuple[bool, float]:
    """Run the tests in a process of their own.

    Parameters
    ----------
    run : Run
        What to run.
    limit : float, optional
        Seconds after which the process is killed, which counts as a failure.
    log : str, default=os.devnull
        File for the output.

    Returns
    -------
    passed : bool
        Whether all tests passed.
    seconds : float
        Time that it took.
    """
    began = time.monotonic()
    process = multiprocessing.get_context("fork").Process(target=_run, args=(run, log))
    process.start()
    process.join(limit)
    if process.exitcode is None:
        process.kill()
        process.join()
    return process.exitcode == 0, time.monotonic() - began


def limit_of(seconds: float) -> float:
    """Return the time that a run may take whose tests take so long without a mutation."""
    factor, more = PATIENCE
    return factor * seconds + more


def _run(run: Run, log: str) -> None:
    import numba
    import pytest

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(output, stream)
    if run.interpreted:
        os.environ["NUMBA_DISABLE_JIT"] = "1"
        numba.config.reload_config()
    _compile_anew(run.recompiled)
    if run.number is not None:
        sys.meta_path.insert(0, _Changed(run.module, run.source, run.number))
    code = pytest.main(["-x", "-q", "-p", "no:cacheprovider", "--tb=line", *run.tests])
    sys.stdout.flush()
    os._exit(int(code))


def _compile_anew(modules: Sequence[str]) -> None:
    from numba.core.dispatcher import Dispatcher

    keep = Dispatcher.enable_caching

    def enable_caching(self):
        if self.py_func.__module__ not in modules:
            keep(self)

    Dispatcher.enable_caching = enable_caching


class _Changed(importlib.abc.MetaPathFinder):
    """Finds one module, and has it loaded with a mutation."""

    def __init__(self, module: str, source: str, number: int) -> None:
        self.module, self.source, self.number = module, source, number

    def find_spec(self, name, path=None, target=None):
        if name != self.module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        spec.loader = _Loader(spec.origin, name, mutated(self.source, self.number))
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, path, name, tree):
        super().__init__(name, path)
        self.tree = tree

    def get_code(self, fullname):
        return compile(self.tree, self.path, "exec")


def module_name(path: Path) -> str:
    """Return the dotted name of a source file below the root, plugins/ or registry/."""
    parts = path.with_suffix("").parts
    return ".".join(parts[1:] if parts[0] in ("plugins", "registry") else parts)
