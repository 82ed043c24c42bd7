"""Compiled functions within compiled functions: optimised once, with their outermost caller, instead of at each level.

numba makes machine code, and a function for callers in Python, of every function that it meets on its way, and links
the code into the caller, where LLVM optimises it again: a chain of five functions is optimised five times. Here a
function that is compiled because another one calls it stays as it was lowered. It is compiled by itself, and cached,
once Python calls it. Half of the names in this file are numba's own affairs: where a version of numba lacks one,
`find_library` returns None and functions are compiled as numba does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial, wraps
from typing import Any

STEPS = ("_optimize_functions", "_optimize_final_module", "_finalize_final_module", "get_pointer_to_function")
FURTHER = ("_finalize_dynamic_globals", "_ensure_finalized", "_unserialize")


@cache
def find_library() -> type | None:
    """Return the class of the code of an inner function, derived from numba's; None if numba's has other methods."""
    from numba.core import codegen

    usual: Any = getattr(codegen, "JITCodeLibrary", None)
    if usual is None or not all(hasattr(usual, name) for name in STEPS + FURTHER):
        return None

    class Inner(usual):
        """Code that is linked into its callers, and neither optimised nor made machine code by itself."""

        def _optimize_functions(self, ll_module: Any) -> None:
            ll_module.data_layout = self._codegen._data_layout

        def _optimize_final_module(self) -> None:
            pass

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()
            self._finalized = True

        def get_pointer_to_function(self, name: str) -> int:
            self._ensure_finalized()
            return 0

        @classmethod
        def _unserialize(cls, codegen: Any, state: Any) -> Any:
            """Read code from a cache, which holds optimised code only."""
            with _set_library(codegen, None):
                return usual._unserialize(codegen, state)

    return Inner


@contextmanager
def _set_library(codegen: Any, kind: type | None) -> Iterator[None]:
    """Let numba's code generator make libraries of this class in the block, of its own one where it is None."""
    before = vars(codegen).get("_library_class")
    _put_library(codegen, kind)
    try:
        yield
    finally:
        _put_library(codegen, before)


def _put_library(codegen: Any, kind: type | None) -> None:
    for name in ("_library_class", "set_env"):
        vars(codegen).pop(name, None)
    if kind is not None:
        codegen._library_class = kind
        codegen.set_env = partial(_set_environment, codegen)


def _set_environment(codegen: Any, name: str, environment: Any) -> None:
    """Do what numba does, unless the variable has no address: it has none before there is machine code."""
    if codegen._engine.get_global_value_address(name):
        type(codegen).set_env(codegen, name, environment)


class _Levels:
    """Numba's events of compilation while an outermost function is compiled: which level is inner code.

    Inner are our functions and those of numba. Functions of others may be called from Python with no word to us.
    """

    def __init__(self, codegen: Any, kind: type) -> None:
        self.codegen, self.kind, self.levels = codegen, kind, [False]

    def on_start(self, event: Any) -> None:
        dispatcher = event.data["dispatcher"]
        self.levels.append(is_ours(dispatcher) or dispatcher.py_func.__module__.startswith("numba."))
        self._put()

    def on_end(self, event: Any) -> None:
        self.levels.pop()
        self._put()

    def _put(self) -> None:
        _put_library(self.codegen, self.kind if self.levels[-1] else None)


_current: list[_Levels] = []  # one or none: numba compiles in one thread at a time


def is_ours(dispatcher: Any) -> bool:
    """Return whether functions of this dispatcher may be inner code."""
    return "add_overload" in vars(dispatcher)


def _is_inner(compiled: Any) -> bool:
    kind = find_library()
    return kind is not None and isinstance(compiled.library, kind)


@contextmanager
def _listening(dispatcher: Any, kind: type) -> Iterator[None]:
    """Keep the functions that are compiled in the block as inner code."""
    from numba.core import event

    levels = _Levels(dispatcher.targetctx.codegen(), kind)
    listener = type("Listener", (event.Listener,), {"on_start": levels.on_start, "on_end": levels.on_end})()
    event.register("numba:compile", listener)
    _current.append(levels)
    try:
        yield
    finally:
        _current.pop()
        event.unregister("numba:compile", listener)
        _put_library(levels.codegen, None)


def link_inner_code(dispatcher: Any) -> None:
    """Make numba's dispatcher of one of our functions link inner functions, and be one where another one calls it."""
    kind = find_library()
    if kind is None:
        return
    from numba.core.compiler_lock import global_compiler_lock

    compiler, cached = dispatcher._compiler, dispatcher._cache
    compile_types, customize = compiler.compile, compiler._customize_flags
    compile_signature, add, save = dispatcher.compile, dispatcher.add_overload, cached.save_overload

    @wraps(compile_types)
    def compile_level(*args: Any) -> Any:
        if _current:
            return compile_types(*args)
        with _listening(dispatcher, kind):
            return compile_types(*args)

    def drop_wrapper(flags: Any) -> Any:
        flags = customize(flags)
        if _current and _current[0].levels[-1]:
            flags.no_cpython_wrapper = True
        return flags

    @wraps(compile_signature)
    def compile_whole(signature: Any) -> Any:
        with global_compiler_lock:  # which numba takes, too: what is being compiled is being so in this thread
            if not _current:  # Python asks: inner code will not do
                _forget(dispatcher.overloads, signature)
            return compile_signature(signature)

    @wraps(add)
    def add_overload(compiled: Any) -> None:
        if _is_inner(compiled):
            dispatcher.overloads[tuple(compiled.signature.args)] = compiled  # for callers that are compiled
        else:
            add(compiled)

    compiler.compile, compiler._customize_flags = compile_level, drop_wrapper
    dispatcher.compile, dispatcher.add_overload = compile_whole, add_overload
    cached.save_overload = _unless_inner(save)


def _forget(overloads: dict, signature: Any) -> None:
    """Remove what is inner code for the types of a signature."""
    from numba.core import sigutils

    args, _ = sigutils.normalize_signature(signature)
    if (existing := overloads.get(tuple(args))) is not None and _is_inner(existing):
        del overloads[tuple(args)]


def _unless_inner(save: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    """Return the function that writes compiled code to the cache, for code that is complete only."""

    @wraps(save)
    def save_overload(signature: Any, compiled: Any) -> None:
        if not _is_inner(compiled):
            save(signature, compiled)

    return save_overload
