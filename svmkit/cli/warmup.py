"""svmkit warmup: compile and cache the loops before the first real run."""

from __future__ import annotations

import typer

from svmkit.cli.common import JSON

SOLVERS = typer.Argument(None, help="Only these solvers; default all.")


def warmup(
    solvers: list[str] = SOLVERS,
    json: bool = JSON,
) -> None:
    """Compile every loop for dense and sparse data in both precisions (two minutes for all, once per installation)."""
    import sys
    import time

    from svmkit.cli.common import emit, note
    from svmkit.cli.warming import steps

    began = time.perf_counter()
    done = []
    for name, work in steps(solvers or ()):
        at = time.perf_counter()
        work()
        done.append({"step": name, "seconds": time.perf_counter() - at})
        if sys.stderr.isatty():
            note(f"{name}: {done[-1]['seconds']:.1f} s")
    seconds = time.perf_counter() - began
    if json:
        emit({"seconds": seconds, "steps": done})
    else:
        print(f"compiled and cached in {seconds:.1f} s")
