"""Code shipped in a wheel, as machine code and in lowered form: a first call compiles nothing.

Three quarters of the time of a compilation are spent in numba, in Python, and end with LLVM's intermediate code, which
is the same for all processors of a kind. A file of `FOLDER` contains this code for many functions, for one version of
Python, numba, llvmlite and numpy and one state of our source; if anything differs, functions are compiled without it.
It also contains LLVM's machine code for each of `LEVELS`; on other processors a first call optimises the intermediate
code. The files are installed with the package, and contain pickles like numba's own cache: whoever can write there can
also change the package. `svmkit.runtime.lowered.recording` makes them.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
import sysconfig
import zipfile
import zlib
from collections.abc import Iterable
from functools import cache, wraps
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from svmkit.runtime.lowered.inner_code import find_library, is_compiling, using_library
from svmkit.runtime.lowered.levels import find_level

FOLDER = Path(__file__).parents[2] / "precompiled"  # of an installed package; a source tree has none
MANIFEST = "manifest"  # the member with the packages of the code, and the state of their source
OPTIONS = ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LLVM_REFPRUNE_PASS")  # options of numba that change lowered code
FAILURES: tuple[type[Exception], ...] = (
    *(AttributeError, EOFError, ImportError, LookupError, OSError, RuntimeError, TypeError, ValueError),
    *(pickle.UnpicklingError, zipfile.BadZipFile, zlib.error),
)  # of reading a file that is damaged, or that another version wrote


class Lowered(NamedTuple):
    """The code of a function as digests of modules: its own, which LLVM optimises one by one, and what it calls."""

    name: str
    own: list[str]
    linked: list[str]

    @property
    def digest(self) -> str:
        """What distinguishes it from all other code of the file."""
        return hashlib.sha256(repr(tuple(self)).encode()).hexdigest()[:32]


def file_name() -> str:
    """Return the name of the file for these versions of Python and of the other dependencies of lowered code."""
    import llvmlite
    import numba
    import numpy as np
    from numba.core import config

    numpy = ".".join(np.__version__.split(".")[:2])  # numba looks up numpy's functions by these two numbers
    versions = f"numba{numba.__version__}-llvmlite{llvmlite.__version__}-numpy{numpy}"
    options = [getattr(config, name, None) for name in OPTIONS]
    digest = hashlib.sha256(repr(options).encode()).hexdigest()[:8]
    return f"{sys.implementation.cache_tag}-{sysconfig.get_platform()}-{versions}-{digest}.zip"


def digest_source(packages: Iterable[str]) -> str:
    """Return a digest of all Python files of these packages, which need not be imported."""
    digest = hashlib.sha256()
    for package in packages:
        spec = find_spec(package)
        for folder in map(Path, spec.submodule_search_locations or () if spec else ()):
            for path in sorted(folder.rglob("*.py")):
                content = path.read_bytes()
                digest.update(f"{package} {path.relative_to(folder)} {len(content)}\n".encode())
                digest.update(content)
    return digest.hexdigest()


@cache
def find_file() -> Path | None:
    """Return the file for these versions and this source, or None."""
    path = FOLDER / file_name()
    if find_library() is None or not path.is_file():
        return None
    try:
        with zipfile.ZipFile(path) as archive:
            packages, digest = pickle.loads(archive.read(MANIFEST))
    except FAILURES:
        return None
    return path if digest_source(packages) == digest else None


def function_key(dispatcher: Any, args: tuple) -> tuple:
    """Return what distinguishes the code of a function for types of arguments from all other code of its name."""
    _, _, code = dispatcher._cache._index_key(args, dispatcher.targetctx.codegen())
    return args, code


def function_name(dispatcher: Any) -> str:
    """Return the name of the member with the code of a function."""
    return f"functions/{dispatcher.py_func.__module__}.{dispatcher.py_func.__qualname__}"


def machine_name(level: str, digest: str) -> str:
    """Return the name of the member with the machine code of a function for a level of processors."""
    return f"{level}/{digest}"


def read_code(dispatcher: Any, args: tuple) -> tuple | None:
    """Return the code of a function and numba's description of it; None if there is none.

    It is machine code if the file has some for the available instructions, otherwise lowered code with its modules.
    """
    path, level = find_file(), find_level(dispatcher.targetctx.codegen())
    if path is None:
        return None
    try:
        with zipfile.ZipFile(path) as archive:
            stored = pickle.loads(archive.read(function_name(dispatcher)))[function_key(dispatcher, args)]
            lowered = Lowered(*stored[0])
            if level is not None:
                return pickle.loads(archive.read(machine_name(level, lowered.digest))), stored[1:]
            modules = {digest: archive.read(f"modules/{digest}") for digest in {*lowered.own, *lowered.linked}}
    except FAILURES:
        return None
    return (lowered, modules), stored[1:]


def rebuild(context: Any, code: tuple, described: tuple) -> Any:
    """Return the result that numba's compiler would return."""
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import CompileResult

    kind = type("Precompiled", (_Precompiled, JITCodeLibrary), {})
    with using_library(context.codegen(), kind):
        return CompileResult._rebuild(context, code, *described)


def optimise(codegen: Any, lowered: Lowered, modules: dict[str, bytes]) -> Any:
    """Return the library of a lowered function, of numba's own class."""
    from llvmlite.binding import parse_bitcode
    from numba.core.runtime import rtsys

    library = codegen.create_library(lowered.name)
    library.enable_object_caching()
    for digest in lowered.own:
        library.add_llvm_module(parse_bitcode(modules[digest]))
    for digest in lowered.linked:
        library._final_module.link_in(parse_bitcode(modules[digest]), preserve=True)
    library.add_linking_library(rtsys.library)
    library.finalize()
    return library


class _Precompiled:
    """Reads the code of a file: machine code, as numba's class does, or lowered code."""

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> Any:
        with using_library(codegen, None):
            if isinstance(state[0], Lowered):
                return optimise(codegen, *state)
            library = codegen._library_class._unserialize(codegen, state)
        library._compiled_object = state[2][0]  # LLVM has taken it, and numba's cache needs it
        return library


def use_precompiled(dispatcher: Any) -> None:
    """Make numba's dispatcher look for the code of a wheel if its cache has none, and cache the result."""
    cached = dispatcher._cache
    if find_library() is None or not hasattr(cached, "_index_key"):  # no cache
        return
    load, save = cached.load_overload, cached.save_overload

    @wraps(load)
    def load_overload(signature: Any, context: Any) -> Any:
        found = load(signature, context)
        if found is not None or is_compiling() or not isinstance(signature, tuple):
            return found
        read = read_code(dispatcher, signature)
        if read is None:
            return None
        from numba.core import event

        details = {"dispatcher": dispatcher, "args": signature, "return_type": None}
        with event.trigger_event("numba:compile", data=details):  # its time counts as compilation
            found = rebuild(context, *read)
        save(signature, found)
        return found

    cached.load_overload = load_overload
