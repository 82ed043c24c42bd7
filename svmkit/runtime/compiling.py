"""The compilation of loops, and its time: a first run takes seconds, later ones load compiled code."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any

from svmkit.runtime.garbage import collecting_seldom
from svmkit.runtime.lowered.inner_code import link_inner_code
from svmkit.runtime.lowered.precompiled import use_precompiled

INLINED: dict[str, Any] = {"forceinline": True}  # options of `njit`


def compiles_nothing() -> bool:
    """Return whether numba is set, by NUMBA_DISABLE_JIT or its configuration file, to run all code as plain Python."""
    from numba import config

    return bool(vars(config)["DISABLE_JIT"])


def njit(function: Callable | None = None, **options: Any) -> Any:
    """Compile a function by numba's `njit` without a wrapper for callers in C, which do not exist; or decorate one.

    The wrapper would take a sixth of the time. With `INLINED` a function is copied into its callers by LLVM, and
    compiled once for all of them; `inline="always"` compiles it anew for each call. Conditions and loops compile faster
    than `min`, `max` and assignments to slices, each of which is a separate function.

    A function without `fastmath` has exact arithmetic, whatever function calls it. numba would give it the flags of the
    caller for which it is compiled first, so that sums would depend on what has run before in the process.
    """
    import numba

    if function is None:
        return partial(njit, **options)
    options.setdefault("fastmath", False)
    compiled = numba.njit(function, no_cfunc_wrapper=True, **options)  # type: ignore[call-overload]
    if hasattr(compiled, "_compiler"):  # missing if nothing is compiled
        compiled._compiler.compile = _collecting_seldom(compiled._compiler.compile)
    index = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if index is not None:
        index._load_index = partial(_overloads, index._load_index)
        compiled._cache.load_overload = _require_types(compiled._cache.load_overload)
    if hasattr(compiled, "_compiler"):
        link_inner_code(compiled)
        use_precompiled(compiled)
    if index is not None:  # on the first call numba imports all its overloads
        compiled._cache.load_overload = _collecting_seldom(compiled._cache.load_overload)
    return compiled


def _collecting_seldom(function: Callable) -> Callable:
    """Return numba's function that compiles or loads, a sixth faster by fewer garbage collections."""

    @wraps(function)
    def call(*args: Any) -> Any:
        with collecting_seldom():
            return function(*args)

    return call


def _require_types(load: Callable) -> Callable:
    """Return numba's function that loads code for some types, restricted to code for exactly these types.

    Two processes that compile a function for different types at the same time choose the same file for both, so that
    the code of one may be stored under the types of the other, and numba would call it with these.
    """
    from numba.core import sigutils

    @wraps(load)
    def load_overload(signature: Any, context: Any) -> Any:
        found = load(signature, context)
        args, _ = sigutils.normalize_signature(signature)
        return found if found is None or tuple(found.signature.args) == tuple(args) else None

    return load_overload


def _overloads(load: Callable[[], dict]) -> dict:
    """Return the contents of a cache of compiled code; empty if written by another version, with types that moved."""
    try:
        return load()
    except (ImportError, AttributeError):
        return {}


class Compiling:
    """Seconds of compilation and names of the compiled functions since counting began, without inner ones."""

    def __init__(self) -> None:
        self.seconds, self.functions = 0.0, list[str]()
        self._began: list[float] = []  # numba compiles in one thread at a time

    def on_start(self, event: Any) -> None:
        """Note that numba begins a function."""
        self._began.append(time.perf_counter())

    def on_end(self, event: Any) -> None:
        """Add the seconds of a function that numba has finished, unless it was compiled for another one."""
        began = self._began.pop()
        if not self._began:
            self.seconds += time.perf_counter() - began
            self.functions.append(event.data["dispatcher"].py_func.__name__)


@contextmanager
def count_compilations() -> Iterator[Compiling]:
    """Yield a `Compiling` that counts the compilations of numba in the block, in all threads."""
    from numba.core import event

    counts = Compiling()
    listener = type("Listener", (event.Listener,), {"on_start": counts.on_start, "on_end": counts.on_end})()
    event.register("numba:compile", listener)
    try:
        yield counts
    finally:
        event.unregister("numba:compile", listener)
