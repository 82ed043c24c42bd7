"""svmkit compare: many solvers on many sets, side by side."""

from __future__ import annotations

import typer

from svmkit.cli.option_table import Options, takes


@takes("compare")
def compare(options: Options) -> None:
    """Compare solvers: time, certified gap, suboptimality, accuracy or R2, and whether differences are significant.

    Each solver runs on each set in a process of its own; compilation is off the clock. Ctrl-C ends with the
    finished cells; the same command goes on from there. Exit 1 when a cell failed.
    """
    from svmkit.cli.comparing.compare_options import CompareOptions
    from svmkit.cli.comparing.comparison import Comparison

    job = Comparison(CompareOptions(**vars(options)))
    job.run()
    job.show(options.json)
    if job.failure:
        raise job.failure
    if job.failed:
        raise typer.Exit(1)
