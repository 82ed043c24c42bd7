"""svmkit warmup: compile and cache the loops before the first real run."""

from __future__ import annotations

from svmkit.cli.option_table import Options, argument, takes


@takes("warmup", argument("solvers", list[str], "Only these solvers; default all.", None))
def warmup(options: Options) -> None:
    """Compile every loop for dense and sparse data in both precisions (a minute for all, once per installation)."""
    import sys
    import time

    from svmkit.cli.common import emit, note
    from svmkit.cli.extending.warming import perform, steps

    solvers, began = options.solvers or (), time.perf_counter()
    order = [name for name, _ in steps(solvers)]
    done = []
    for name, seconds in perform(solvers):
        done.append({"step": name, "seconds": seconds})
        if sys.stderr.isatty():
            note(f"{name}: {seconds:.1f} s")
    done.sort(key=lambda step: order.index(str(step["step"])))
    seconds = time.perf_counter() - began
    if options.json:
        emit({"seconds": seconds, "steps": done})
    else:
        print(f"compiled and cached in {seconds:.1f} s")
