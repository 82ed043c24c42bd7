"""Compile the loops that the sample needs once, before workers start that would each compile them.

`python -m support.warming 0 2` does the first half. Half of the tiny problems need no kernel, so that two processes
rarely compile the same loop; what is compiled already costs a second.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIMIT = 600  # seconds; the tests compile what is then missing
PARTS = 2


def is_warm() -> bool:
    """Whether every source file with compiled loops has a cache that is younger than the file."""
    sources = [path for room in ("svmkit", "plugins") for path in (ROOT / room).rglob("*.py")]
    compiled = [path for path in sources if "cache=True" in path.read_text(encoding="utf-8")]
    return "NUMBA_CACHE_DIR" not in os.environ and all(_is_cached(path) for path in compiled)


def _is_cached(source: Path) -> bool:
    age = source.stat().st_mtime
    return any(index.stat().st_mtime > age for index in (source.parent / "__pycache__").glob(f"{source.stem}.*.nbi"))


def warm() -> None:
    """Start one process a part and wait for all; a failure is left for the tests to show."""
    paths = [str(ROOT / "tests"), os.environ.get("PYTHONPATH")]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "OMP_NUM_THREADS": "1"}
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "support.warming", str(part), str(PARTS)],
            env=env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for part in range(PARTS)
    ]
    try:
        for process in started:
            process.wait(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        pass
    finally:
        for process in started:
            process.kill()
            process.wait()


def main(part: int, parts: int) -> None:
    import numpy as np
    from support import tiny

    from svmkit import plugins
    from svmkit.kernels.engines import few

    few.ROWS = 0  # of so few rows numpy would compute the values
    cases = list(tiny.cases())
    linear = [case for case in cases if case[1] == "linear"]
    halves = [[case for case in cases if case not in linear], linear]
    if part == 0:
        for storage in ("dense", "sparse"):
            gram = tiny.pose(plugins.build("solver", "swap"), "rbf", storage).gram
            gram.block(np.arange(3), np.arange(2))
            gram.matvec(np.ones(4), np.arange(4), dtype=gram.dtype)
    else:
        from svmkit.explain.shapley import expansion_values
        from svmkit.kernels import RBF

        expansion_values(RBF(0.5), np.ones((1, 2)), np.zeros((1, 2)), np.eye(2), np.ones((2, 1)), np.arange(2))
    for case in halves[part % parts]:
        tiny.solved(*case)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
