"""Compile the loops that the sample needs once, before workers start that would each compile them.

Two processes share the tiny problems: one takes them from the front, where all need a kernel, and the other from the
back, where none does, so that they rarely compile the same loop, and end together.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIMIT = 600  # seconds; the tests compile what is then missing
STAMP = Path(__file__).parent / "__pycache__" / "warmed.txt"  # written after a warming: the caches that there are
ENDS = ("front", "back")  # of the list of jobs, at which the two processes begin


def is_warm() -> bool:
    """Whether nothing was changed since the last warming: no source file with compiled loops, and no cache is missing.

    Not every such file has a cache of its own: some loops are only copied into others.
    """
    sources = [path for path in _files(".py") if "cache=True" in path.read_text(encoding="utf-8")]
    if not sources:  # beside a copy of the tests
        return True
    if "NUMBA_CACHE_DIR" in os.environ or not STAMP.is_file():
        return False
    written = STAMP.stat().st_mtime
    return all(path.stat().st_mtime < written for path in sources) and all(
        (ROOT / name).is_file() for name in STAMP.read_text(encoding="utf-8").splitlines()
    )


def _files(ending: str) -> list[Path]:
    """The files of ours, and their caches, whose names have this ending."""
    return [path for room in ("svmkit", "plugins") for path in (ROOT / room).rglob(f"*{ending}")]


def warm() -> None:
    """Start a process for each end of the jobs, wait for both, and write which caches there are; a failure is left for
    the tests to show.
    """
    paths = [str(ROOT / "tests"), os.environ.get("PYTHONPATH")]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as claims:
        started = [
            subprocess.Popen(
                [sys.executable, "-m", "support.warming", end, claims],
                env=env,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for end in ENDS
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
    if not any(process.returncode for process in started):
        with suppress(OSError):  # of a folder that cannot be written to
            write_stamp()


def write_stamp() -> None:
    """Write which caches there are."""
    STAMP.parent.mkdir(exist_ok=True)
    STAMP.write_text("".join(f"{path.relative_to(ROOT)}\n" for path in _files(".nbi")), encoding="utf-8")


def main(end: str, claims: Path) -> None:
    """Do jobs from one end of their list until all have been claimed."""
    todo = list(enumerate(jobs()))
    for number, job in todo if end == "front" else reversed(todo):
        if claim(claims / str(number)):
            job()


def claim(path: Path) -> bool:
    """Return whether the file was not there and is now: of two processes one makes it."""
    try:
        path.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def jobs() -> list[Callable[[], object]]:
    """Return what compiles loops: what needs a kernel first, then what needs none."""
    from support import tiny

    from svmkit.kernels.engines import few

    few.ROWS = 0  # of so few rows numpy would compute the values
    cases = sorted(tiny.cases(), key=lambda case: case[1] == "linear")
    solves = [partial(tiny.solved, *case) for case in cases]
    return [partial(_multiply, "dense"), partial(_multiply, "sparse"), *solves, _explain]


def _multiply(storage: str) -> None:
    import numpy as np
    from support import tiny

    from svmkit import plugins

    gram = tiny.pose(plugins.build("solver", "swap"), "rbf", storage).gram
    gram.block(np.arange(3), np.arange(2))
    gram.matvec(np.ones(4), np.arange(4), dtype=gram.dtype)


def _explain() -> None:
    import numpy as np

    from svmkit.explain.shapley import expansion_values
    from svmkit.kernels import RBF

    expansion_values(RBF(0.5), np.ones((1, 2)), np.zeros((1, 2)), np.eye(2), np.ones((2, 1)), np.arange(2))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
