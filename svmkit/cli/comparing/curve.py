"""svmkit curve: accuracy, time and gap against the number of training rows.

The curve of `svmkit train --curve`, accuracy against the size of one model, is in `size_curve`.
"""

from __future__ import annotations

import typer

from svmkit.cli.common import JSON, PLUGIN
from svmkit.cli.spelling import (
    CATEGORICAL,
    CHARSET,
    CLASS_WEIGHT,
    COEF0,
    DECIMAL,
    DEGREE,
    DROP,
    EPSILON,
    IMPUTE,
    KERNEL,
    LABEL,
    MODEL,
    ONLY,
    RUN,
    SOLVE,
    STOP,
    TASK,
    TOL,
)


def curve(
    context: typer.Context,
    data: str = typer.Argument("breast_cancer", help="A file, or the name of a set."),
    solver: str = typer.Option(
        "auto", "--solver", "--solvers", help="Names joined by commas; see svmkit plugins.", rich_help_panel=SOLVE
    ),
    rows: str = typer.Option(
        None, help="Numbers of training rows joined by commas; default six up to all, in equal ratios."
    ),
    repeat: int = typer.Option(3, min=1, help="Samples of each number of rows.", rich_help_panel=RUN),
    option: list[str] = typer.Option([], "-o", help="SOLVER.KEY=VALUE, or kernel.KEY=VALUE."),
    test: str = typer.Option(None, help="Test set; default DATA.t if any.", rich_help_panel=RUN),
    test_size: float = typer.Option(
        None, help="Fraction held out instead; default 0.25 without a test set.", rich_help_panel=RUN
    ),
    label: str = LABEL,
    decimal: str = DECIMAL,
    encoding: str = CHARSET,
    drop: list[str] = DROP,
    only: list[str] = ONLY,
    categorical: list[str] = CATEGORICAL,
    task: str = TASK,
    C: float = typer.Option(None, "-C", help="Weight of the summed losses; default 1.", rich_help_panel=MODEL),
    kernel: str = KERNEL,
    gamma: str = typer.Option(None, help="scale, auto, msd or a number.", rich_help_panel=MODEL),
    degree: str = DEGREE,
    coef0: str = COEF0,
    impute: str = IMPUTE,
    scale: str = typer.Option(None, help="none, standard, minmax or maxabs.", rich_help_panel=MODEL),
    epsilon: float = EPSILON,
    class_weight: str = CLASS_WEIGHT,
    tol: float = TOL,
    stop: str = STOP,
    time_limit: float = typer.Option(None, help="Seconds for one fit; default 300.", rich_help_panel=SOLVE),
    memory: str = typer.Option(None, help="Budget of a row cache; default 1GB.", rich_help_panel=SOLVE),
    threads: int = typer.Option(None, "--threads", min=1, help="Threads; default all.", rich_help_panel=RUN),
    out: str = typer.Option(
        None, help="Keep finished fits here, from which the same command goes on.", rich_help_panel=RUN
    ),
    fresh: bool = typer.Option(False, "--fresh", help="Run again what is finished there.", rich_help_panel=RUN),
    plot: str = typer.Option(None, help="Write a picture here (.png, .svg, .pdf).", rich_help_panel=RUN),
    plugin: list[str] = PLUGIN,
    json: bool = JSON,
) -> None:
    """Learning curves: accuracy, time and gap of solvers against the number of training rows.

    Says how fast the time of each solver grows. Test rows are the same for all. Fits run in a process of their own,
    compilation off the clock. Ctrl-C ends with the finished fits. (train --curve: the size of one model as it grows.)
    """
    from svmkit.cli.common import warnings_as_notes
    from svmkit.cli.comparing.learning import Learning

    given = {name: value for name, value in context.params.items() if name not in ("json", "plugin")}
    with warnings_as_notes():
        job = Learning(**given)
        job.run()
        job.show(json)
    if job.failure:
        raise job.failure
    if job.failed:
        raise typer.Exit(1)
