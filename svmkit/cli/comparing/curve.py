"""svmkit curve: accuracy, time and gap against the number of training rows.

The curve of `svmkit train --curve`, accuracy against the size of one model, is in `size_curve`.
"""

from __future__ import annotations

import typer

from svmkit.cli.option_table import Options, takes


@takes("curve")
def curve(options: Options) -> None:
    """Learning curves: accuracy, time and gap of solvers against the number of training rows.

    Says how fast the time of each solver grows. Test rows are the same for all. Fits run in a process of their own,
    compilation off the clock. Ctrl-C ends with the finished fits. (train --curve: the size of one model as it grows.)
    """
    from svmkit.cli.comparing.learning import Learning

    job = Learning(options)
    job.run()
    job.show(options.json)
    if job.failure:
        raise job.failure
    if job.failed:
        raise typer.Exit(1)
