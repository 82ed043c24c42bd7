"""Compiled functions within compiled functions: optimised once, with their outermost caller, instead of at each level.

numba makes machine code, and a wrapper for callers in Python, of every function that it encounters, and links the code
into the caller, where LLVM optimises it again: a chain of five functions is optimised five times. Here a function that
is compiled because another one calls it stays in its lowered form. It is compiled by itself, and cached, once Python
calls it. Half of the names in this file are internals of numba: if a version of numba lacks one, `find_library` returns
None and functions are compiled in numba's way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial, wraps
from typing import Any, NamedTuple

STEPS = ("_optimize_functions", "_get_module_for_linking", "finalize", "get_pointer_to_function", "_unserialize")
FURTHER = ("_finalize_dynamic_globals", "_ensure_finalized", "_raise_if_finalized")


class Kinds(NamedTuple):
    """The classes of compiled code, derived from numba's: of inner functions, and of functions that Python calls."""

    inner: type
    whole: type


@cache
def find_library() -> Kinds | None:
    """Return the classes of the code of functions; None if numba's lack the methods that they rely on."""
    from numba.core import codegen

    usual: Any = getattr(codegen, "JITCodeLibrary", None)
    if usual is None or not all(hasattr(usual, name) for name in STEPS + FURTHER):
        return None
    return Kinds(type("Inner", (_Inner, usual), {}), type("Whole", (_Whole, usual), {}))


class _Cached:
    """Code that a cache may contain, which is optimised: code that is read has numba's class."""

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> Any:
        with using_library(codegen, None):
            return codegen._library_class._unserialize(codegen, state)


class _Inner(_Cached):
    """Code that is linked into its callers, and neither optimised nor made machine code by itself."""

    _linking_libraries: Any  # numba's attributes
    _final_module: Any
    _shared_module: Any

    def _optimize_functions(self: Any, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self: Any) -> None:
        self._raise_if_finalized()
        _inherit(self, self._linking_libraries)
        self._finalize_dynamic_globals()
        self._finalized = True

    def own_module(self: Any) -> Any:
        """Return the code of this function alone, whose functions another module may define, too."""
        self._ensure_finalized()
        share_functions(self._final_module)
        return self._final_module

    def _get_module_for_linking(self: Any) -> Any:
        """Return the code with all that it calls, for functions that are compiled in numba's way."""
        if self._shared_module is None:
            whole = self.own_module().clone()
            inner, others = collect_code(self._linking_libraries)
            for module in [one.own_module() for one in inner] + [one._get_module_for_linking() for one in others]:
                whole.link_in(module, preserve=True)
            self._shared_module = whole
        return self._shared_module

    def get_pointer_to_function(self: Any, name: str) -> int:
        self._ensure_finalized()
        return 0


class _Whole(_Cached):
    """Code that links each inner function once, whatever the number of functions on the way that call it."""

    _linking_libraries: Any
    _final_module: Any

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)  # type: ignore[call-arg]
        if _current:
            _current[-1].note_library(name)

    def finalize(self) -> None:
        inner, self._linking_libraries = collect_code(self._linking_libraries)
        _inherit(self, inner)
        for library in inner:
            self._final_module.link_in(library.own_module(), preserve=True)
        super().finalize()  # type: ignore[misc]


def share_functions(module: Any) -> None:
    """Allow other modules that are linked with this one to define its functions, too."""
    for function in module.functions:
        if not function.is_declaration and function.linkage.name == "external":
            function.linkage = "linkonce_odr"


def _inherit(library: Any, callees: list[Any]) -> None:
    """Make code read from a cache repeat the initialisation of its callees, if numba's version has any."""
    for callee in callees:
        if hasattr(callee, "_reload_init"):
            library._reload_init.update(callee._reload_init)


def collect_code(libraries: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return the inner code among these libraries and their callees, callers first, and all other code, without
    duplicates.
    """
    seen, waiting = dict.fromkeys(libraries), list(libraries)
    for library in waiting:
        if isinstance(library, _Inner):
            waiting.extend(one for one in library._linking_libraries if one not in seen)
            seen.update(dict.fromkeys(library._linking_libraries))
    inner = [library for library in seen if isinstance(library, _Inner)]
    return inner, [library for library in seen if not isinstance(library, _Inner)]


@contextmanager
def using_library(codegen: Any, kind: type | None) -> Iterator[None]:
    """Let numba's code generator make libraries of this class in the block, of its own class if it is None."""
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
    """Set an environment as numba does, unless the variable has no address yet, for lack of machine code."""
    if codegen._engine.get_global_value_address(name):
        type(codegen).set_env(codegen, name, environment)


class _Levels:
    """Numba's events of compilation while an outermost function is compiled: which level is inner code.

    Functions of other packages, which Python may call without passing through our code, are compiled in numba's way.
    """

    def __init__(self, dispatcher: Any, kinds: Kinds) -> None:
        self.context, self.codegen, self.kinds = dispatcher.targetctx, dispatcher.targetctx.codegen(), kinds
        self.name, self.levels = dispatcher.py_func.__qualname__, [False]
        self._put()

    def on_start(self, event: Any) -> None:
        self.levels.append(_may_be_inner(event.data["dispatcher"]))
        self._put()

    def on_end(self, event: Any) -> None:
        self.levels.pop()
        self._put()

    def note_library(self, name: str) -> None:
        """Note that there is a library of this name: what numba makes after the outermost function's is inner code."""
        if len(self.levels) == 1 and name == self.name:
            self.levels[0] = True
            self._put()

    def _put(self) -> None:
        _put_library(self.codegen, self.kinds.inner if self.levels[-1] else self.kinds.whole)
        vars(self.context).pop("create_cfunc_wrapper", None)
        if self.levels[-1]:
            self.context.create_cfunc_wrapper = _make_nothing

    def close(self) -> None:
        """Restore numba's own state."""
        _put_library(self.codegen, None)
        vars(self.context).pop("create_cfunc_wrapper", None)


def _make_nothing(*args: Any) -> None:
    """Replace numba's function that makes wrappers for callers in C, which inner code does not have."""


_current: list[_Levels] = []  # one or none: numba compiles in one thread at a time


def is_compiling() -> bool:
    """Return whether an outermost function is being compiled."""
    return bool(_current)


def is_ours(dispatcher: Any) -> bool:
    """Return whether functions of this dispatcher may be inner code."""
    return "add_overload" in vars(dispatcher)


def _may_be_inner(dispatcher: Any) -> bool:
    """Return whether a function is one of ours, one of numba, or one that Python cannot call, such as an `overload`."""
    is_numba = dispatcher.py_func.__module__.startswith("numba.")
    return is_ours(dispatcher) or is_numba or dispatcher.targetoptions.get("no_cpython_wrapper", False)


def _is_inner(compiled: Any) -> bool:
    return isinstance(compiled.library, _Inner)


@contextmanager
def _listening(dispatcher: Any, kinds: Kinds) -> Iterator[None]:
    """Keep the functions compiled in the block as inner code."""
    from numba.core import event

    levels = _Levels(dispatcher, kinds)
    listener = type("Listener", (event.Listener,), {"on_start": levels.on_start, "on_end": levels.on_end})()
    event.register("numba:compile", listener)
    _current.append(levels)
    try:
        yield
    finally:
        _current.pop()
        event.unregister("numba:compile", listener)
        levels.close()


def link_inner_code(dispatcher: Any) -> None:
    """Make numba's dispatcher of one of our functions link inner functions, and be one where another one calls it."""
    kinds = find_library()
    if kinds is None:
        return
    from numba.core.compiler_lock import global_compiler_lock

    compiler, cached = dispatcher._compiler, dispatcher._cache
    compile_types, customize = compiler.compile, compiler._customize_flags
    compile_signature, add, save = dispatcher.compile, dispatcher.add_overload, cached.save_overload

    @wraps(compile_types)
    def compile_level(*args: Any) -> Any:
        if _current:
            return compile_types(*args)
        with _listening(dispatcher, find_library() or kinds):
            return compile_types(*args)

    def drop_wrapper(flags: Any) -> Any:
        flags = customize(flags)
        if _current and _current[0].levels[-1]:
            flags.no_cpython_wrapper = True
            flags.release_gil = False  # numba compiles overloads anew for callers with other flags
        return flags

    @wraps(compile_signature)
    def compile_whole(signature: Any) -> Any:
        with global_compiler_lock:  # numba takes it, too: a compilation under way is in this thread
            if not _current:  # called from Python: inner code does not suffice
                _forget(dispatcher.overloads, signature)
            return compile_signature(signature)

    @wraps(add)
    def add_overload(compiled: Any) -> None:
        if _is_inner(compiled):
            dispatcher.overloads[tuple(compiled.signature.args)] = compiled  # for compiled callers
        else:
            add(compiled)

    compiler.compile, compiler._customize_flags = compile_level, drop_wrapper
    dispatcher.compile, dispatcher.add_overload = compile_whole, add_overload
    cached.save_overload = _unless_inner(save)


def _forget(overloads: dict, signature: Any) -> None:
    """Remove inner code for the types of a signature."""
    from numba.core import sigutils

    args, _ = sigutils.normalize_signature(signature)
    if (existing := overloads.get(tuple(args))) is not None and _is_inner(existing):
        del overloads[tuple(args)]


def _unless_inner(save: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    """Return the function that writes compiled code to the cache, restricted to complete code."""

    @wraps(save)
    def save_overload(signature: Any, compiled: Any) -> None:
        if not _is_inner(compiled):
            save(signature, compiled)

    return save_overload
