"""svmkit compare: many solvers on many sets, side by side."""

from __future__ import annotations

import typer

from svmkit.cli.common import JSON, PLUGIN, STRICT, TRACKING_URI
from svmkit.cli.spelling import (
    CALIBRATE,
    CATEGORICAL,
    CHARSET,
    CLASS_WEIGHT,
    COEF0,
    DECIMAL,
    DEGREE,
    DROP,
    EPSILON,
    EXPERIMENT,
    IMPUTE,
    LABEL,
    METRIC,
    MODEL,
    NO_TRACK,
    ONLY,
    RUN,
    SCHEDULER,
    SOLVE,
    TASK,
)

WHAT = "What"


def compare(
    context: typer.Context,
    data: list[str] = typer.Argument(None, help="Files, or names of sets."),
    solvers: str = typer.Option(
        None, help="Names joined by commas; with --spec, a choice among its solvers.", rich_help_panel=WHAT
    ),
    spec: str = typer.Option(
        None,
        help="YAML file: data, splits, solvers with options, kernels, C, gamma, seeds, stop rules.",
        rich_help_panel=WHAT,
    ),
    option: list[str] = typer.Option([], "-o", help="SOLVER.KEY=VALUE, or kernel.KEY=VALUE.", rich_help_panel=WHAT),
    test: str = typer.Option(None, help="Test set of a single DATA; default DATA.t if any.", rich_help_panel=WHAT),
    test_size: float = typer.Option(None, help="Fraction of each set held out instead.", rich_help_panel=WHAT),
    label: str = LABEL,
    decimal: str = DECIMAL,
    encoding: str = CHARSET,
    drop: list[str] = DROP,
    only: list[str] = ONLY,
    categorical: list[str] = CATEGORICAL,
    task: str = TASK,
    splits: int = typer.Option(
        None, min=1, help="Hold out that often, with fresh seeds; --test-size is 0.25 by default.", rich_help_panel=WHAT
    ),
    cv: int = typer.Option(
        None, min=2, help="Hold out each of that many folds, stratified by class.", rich_help_panel=WHAT
    ),
    strict: bool = STRICT,
    metrics: str = typer.Option(
        None,
        help="Of fit_s, gap, suboptimality, objective, n_iter, kernel_values, n_support, test_accuracy, test_r2, "
        "test_rmse, test_mae, test_log_loss, test_brier_score (--calibrate), test_metric (--metric); default all.",
        rich_help_panel=WHAT,
    ),
    metric: str = METRIC,
    C: list[float] = typer.Option(
        None, "-C", help="Weight of the summed losses; several values make several problems.", rich_help_panel=MODEL
    ),
    kernel: str = typer.Option(None, help="Default rbf, or linear when a solver needs it.", rich_help_panel=MODEL),
    gamma: list[str] = typer.Option(
        None, help="scale, auto, msd or a number; several values make several problems.", rich_help_panel=MODEL
    ),
    degree: str = DEGREE,
    coef0: str = COEF0,
    impute: str = IMPUTE,
    scale: str = typer.Option(None, help="none, standard, minmax or maxabs.", rich_help_panel=MODEL),
    epsilon: float = EPSILON,
    class_weight: str = CLASS_WEIGHT,
    calibrate: str = CALIBRATE,
    multiclass: list[str] = typer.Option(
        None, help="ovo (default), ovr or crammer_singer; several make several problems.", rich_help_panel=MODEL
    ),
    tol: float = typer.Option(None, help="Relative duality gap to reach; default 1e-3.", rich_help_panel=SOLVE),
    stop: str = typer.Option(None, help='Rule instead of --tol, such as "abs:1e-6 | epochs:5".', rich_help_panel=SOLVE),
    time_limit: float = typer.Option(None, help="Seconds for one cell; default 300.", rich_help_panel=SOLVE),
    memory: str = typer.Option(None, help="Budget of a row cache; default 1GB.", rich_help_panel=SOLVE),
    repeat: int = typer.Option(None, min=1, help="Seeds 0 to N-1; default 1.", rich_help_panel=RUN),
    jobs: int = typer.Option(
        1, min=1, help="Cells side by side, which then disturb each other's times.", rich_help_panel=RUN
    ),
    threads: int = typer.Option(None, min=1, help="For all jobs together; default all cores.", rich_help_panel=RUN),
    scheduler: str = SCHEDULER,
    curve: bool = typer.Option(
        True,
        "--curve/--no-curve",
        help="Measure test accuracy or R2 as models grow, off the clock.",
        rich_help_panel=RUN,
    ),
    results: str = typer.Option(
        None, help="Keep finished cells here; default svmkit-compare.jsonl, or the spec's name.", rich_help_panel=RUN
    ),
    fresh: bool = typer.Option(
        False, "--fresh", help="Run the cells again that are finished there.", rich_help_panel=RUN
    ),
    report: str = typer.Option(None, help="Write an HTML report here.", rich_help_panel=RUN),
    latex: str = typer.Option(None, help="Write a table for papers here (booktabs).", rich_help_panel=RUN),
    experiment: str = EXPERIMENT,
    tracking_uri: str = TRACKING_URI,
    no_track: bool = NO_TRACK,
    plugin: list[str] = PLUGIN,
    json: bool = JSON,
) -> None:
    """Compare solvers: time, certified gap, suboptimality, accuracy or R2, and whether differences are significant.

    Each solver runs on each set in a process of its own; compilation is off the clock. Ctrl-C ends with the
    finished cells; the same command goes on from there. Exit 1 when a cell failed.
    """
    from svmkit.cli.common import warnings_as_notes
    from svmkit.cli.comparing.compare_options import CompareOptions
    from svmkit.cli.comparing.comparison import Comparison

    given = {name: value for name, value in context.params.items() if name not in ("json", "plugin")}
    with warnings_as_notes():
        job = Comparison(CompareOptions(**given))
        job.run()
        job.show(json)
    if job.failure:
        raise job.failure
    if job.failed:
        raise typer.Exit(1)
