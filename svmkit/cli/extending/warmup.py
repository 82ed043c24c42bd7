"""svmkit warmup: compile and cache the loops before the first real run."""

from __future__ import annotations

import typer

from svmkit.cli.common import JSON, PLUGIN

SOLVERS = typer.Argument(None, help="Only these solvers; default all.")


def warmup(
    solvers: list[str] = SOLVERS,
    plugin: list[str] = PLUGIN,
    json: bool = JSON,
) -> None:
    """Compile every loop for dense and sparse data in both precisions (a minute for all, once per installation)."""
    import sys
    import time

    from svmkit.cli.common import emit, note
    from svmkit.cli.extending.warming import performed, steps

    began = time.perf_counter()
    order = [name for name, _ in steps(solvers or ())]
    done = []
    for name, seconds in performed(solvers or ()):
        done.append({"step": name, "seconds": seconds})
        if sys.stderr.isatty():
            note(f"{name}: {seconds:.1f} s")
    done.sort(key=lambda step: order.index(str(step["step"])))
    seconds = time.perf_counter() - began
    if json:
        emit({"seconds": seconds, "steps": done})
    else:
        print(f"compiled and cached in {seconds:.1f} s")
