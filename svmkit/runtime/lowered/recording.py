"""Makes the files of `svmkit.runtime.lowered.precompiled`: what a process compiles, lowered and as machine code."""

from __future__ import annotations

import gc
import hashlib
import itertools
import pickle
import platform
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from svmkit.runtime.lowered import inner_code
from svmkit.runtime.lowered.levels import LEVELS, generating_for
from svmkit.runtime.lowered.precompiled import (
    MANIFEST,
    Lowered,
    digest_source,
    file_name,
    function_key,
    function_name,
    machine_name,
    optimise,
)

APART = 1_000_000  # start of the numbers of functions, so that no process with them compiles one of the same name


class _Recorded:
    """Code that is optimised, and is also kept unoptimised."""

    _linking_libraries: Any

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)  # type: ignore[call-arg]
        self.own: list[bytes] = []
        self.linked: list[bytes] = []
        self.is_portable = True

    def add_llvm_module(self, module: Any) -> None:
        self.own.append(module.as_bitcode())
        super().add_llvm_module(module)  # type: ignore[misc]

    def finalize(self) -> None:
        from numba.core.runtime import rtsys

        inner, others = inner_code.collect_code(self._linking_libraries)
        self.linked = [one.own_module().as_bitcode() for one in inner]
        for other in others:
            if isinstance(other, _Recorded):  # also called from Python, so it is optimised for this processor
                self.linked += [_share(code) for code in other.own] + other.linked
                self.is_portable &= other.is_portable
            elif other is not rtsys.library:  # the reading process has its own
                self.is_portable = False
        super().finalize()  # type: ignore[misc]


def _share(code: bytes) -> bytes:
    """Return a module whose functions other modules may define, too."""
    from llvmlite.binding import parse_bitcode

    module = parse_bitcode(code)
    inner_code.share_functions(module)
    return module.as_bitcode()


@contextmanager
def record() -> Iterator[None]:
    """Keep the code of all functions called from Python and compiled in the block, which must come first."""
    from numba.core.bytecode import FunctionIdentity

    usual, kinds = inner_code.find_library, inner_code.find_library()
    if kinds is None:
        raise RuntimeError("this version of numba lacks what svmkit.runtime.lowered needs")
    FunctionIdentity._unique_ids = itertools.count(APART)
    recorded = kinds._replace(whole=type("Recorded", (_Recorded, kinds.whole), {}))
    inner_code.find_library = lambda: recorded  # type: ignore[assignment]
    try:
        yield
    finally:
        inner_code.find_library = usual


def write(folder: Path, packages: list[str]) -> Path:
    """Write the recorded functions of these packages to the file for these versions; return its path."""
    from numba.core.serialize import dumps

    path = folder / file_name()
    functions: dict[str, dict] = {}
    modules: dict[str, bytes] = {}
    for dispatcher in _dispatchers(packages):
        for args, compiled in dispatcher.overloads.items():
            library = compiled.library
            if not isinstance(library, _Recorded) or not dispatcher._cache._impl.check_cachable(compiled):
                continue
            if library.is_portable:
                entry = functions.setdefault(function_name(dispatcher), {})
                entry[function_key(dispatcher, args)] = _describe(compiled, modules)
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr(MANIFEST, pickle.dumps((packages, digest_source(packages))))
        for name, content in functions.items():
            archive.writestr(name, dumps(content))
        for digest, code in modules.items():
            archive.writestr(f"modules/{digest}", code)
        lowered = [Lowered(*described[0]) for content in functions.values() for described in content.values()]
        for level in LEVELS if platform.machine() == "x86_64" else ():
            for name, code in _make_machine_code(level, lowered, modules):
                archive.writestr(name, code)
    return path


def _make_machine_code(level: str, lowered: list[Lowered], modules: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield the member of each function, and its machine code for all processors of a level as in numba's cache."""
    from numba.core.compiler_lock import global_compiler_lock

    with generating_for(level) as codegen, global_compiler_lock:
        for one in lowered:
            state = optimise(codegen, one, modules).serialize_using_object_code()
            yield machine_name(level, one.digest), pickle.dumps(state)


def _dispatchers(packages: list[str]) -> list[Any]:
    """Return the dispatchers of our cached functions, in the order of their names."""
    from numba.core.dispatcher import Dispatcher

    ours: list[Any] = [
        one
        for one in gc.get_objects()
        if isinstance(one, Dispatcher)
        and one.py_func.__module__.partition(".")[0] in packages
        and hasattr(getattr(one, "_cache", None), "_index_key")
    ]
    return sorted(ours, key=function_name)


def _describe(compiled: Any, modules: dict[str, bytes]) -> tuple:
    """Return the arguments of `CompileResult._rebuild`, with lowered code, and add the modules of the code."""
    library = compiled.library
    digests = []
    for group in (library.own, library.linked):
        digests.append([hashlib.sha256(code).hexdigest()[:32] for code in group])
        modules.update(zip(digests[-1], group, strict=True))
    _, *described, _ = compiled._reduce()
    lowered = Lowered(library.name, *digests)
    return (tuple(lowered), *described, _environments([*library.own, *library.linked]))


def _environments(modules: list[bytes]) -> tuple:
    """Return the environments that code names, before optimisation removes any."""
    from llvmlite.binding import parse_bitcode
    from numba.core.compiler import lookup_environment

    variables = [one.name for code in modules for one in parse_bitcode(code).global_variables]
    found = {name: lookup_environment(name) for name in variables if name.startswith("_ZN08NumbaEnv")}
    return tuple(one for one in found.values() if one is not None and one.can_cache())
