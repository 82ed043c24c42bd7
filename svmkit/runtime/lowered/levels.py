"""Levels of instruction sets of x86-64 processors: machine code for a level runs on any processor that has it.

The levels are those of the x86-64 psABI, with LLVM's names of processors and features.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SSE = ["cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"]  # and SSE2, which all processors have
AVX2 = frozenset([*SSE, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"])
AVX512 = AVX2.union(["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"])
LEVELS = {"x86-64-v4": AVX512, "x86-64-v3": AVX2}  # best first


def find_level(codegen: Any) -> str | None:
    """Return the best level whose instructions numba's code generator may use; None if there is none."""
    usable = {name[1:] for name in codegen._tm_features.split(",") if name.startswith("+")}
    return next((level for level, needed in LEVELS.items() if needed <= usable), None)


@contextmanager
def generating_for(level: str) -> Iterator[Any]:
    """Yield a code generator of numba's for all processors of a level, whose code need not run here."""
    import numba
    from numba.core.codegen import JITCPUCodegen

    config: Any = numba.core.config
    before = config.CPU_NAME, config.CPU_FEATURES
    config.CPU_NAME, config.CPU_FEATURES = level, ",".join(f"+{name}" for name in sorted(LEVELS[level]))
    try:
        yield JITCPUCodegen(level)
    finally:
        config.CPU_NAME, config.CPU_FEATURES = before
