"""svmkit tune: search by cross-validation -> the best model, refitted, certified and saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from svmkit.cli.common import JSON, PLUGIN, STRICT, THREADS, TRACKING_URI
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
    FORCE,
    IMPUTE,
    KERNEL,
    LABEL,
    METRIC,
    MODEL,
    MULTICLASS,
    N_FEATURES,
    NO_TRACK,
    ONLY,
    OPTIONS,
    REGISTER,
    RUN,
    SAMPLER,
    SCHEDULER,
    SOLVE,
    SOLVER,
    STOP,
    TASK,
    TOL,
)

if TYPE_CHECKING:
    from svmkit.cli.training.finish import Outcome
    from svmkit.cli.tuning.search import TuneJob

SEARCH = "Search"
SHOWN = 10  # candidates in the table

GRID = typer.Option(
    [],
    help="NAME=VALUES, repeatable. NAME: C, gamma, degree, coef0, epsilon or an option of the solver. VALUES: a list "
    "1,10,100, 0.1:1000:log5 (5 values, even in log), 0:1:lin5, LIBSVM's 2^-5:2^15:2 (a step in exponents), or, for "
    "--search random, a range (0.1:1000, drawn even in log). Default: LIBSVM's grid, C=2^-5:2^15:2 and, for kernels "
    "with gamma, gamma=2^-15:2^3:2; for --search random the same as ranges.",
    rich_help_panel=SEARCH,
)


def tune(
    context: typer.Context,
    data: str = typer.Argument("breast_cancer", help="File, or name of a set (svmkit datasets list)."),
    solver: str = SOLVER,
    grid: list[str] = GRID,
    search: str = typer.Option("grid", help="grid, random or halving.", rich_help_panel=SEARCH),
    n_iter: int = typer.Option(None, min=1, help="Points of --search random; default 20.", rich_help_panel=SEARCH),
    factor: int = typer.Option(
        None, min=2, help="By --search halving 1/factor of the candidates go on; default 3.", rich_help_panel=SEARCH
    ),
    cv: int = typer.Option(5, min=2, help="Folds, shuffled, and stratified by class.", rich_help_panel=SEARCH),
    jobs: int = typer.Option(1, min=1, help="Fits at a time, which share threads and memory.", rich_help_panel=SEARCH),
    backend: str = typer.Option("loky", help="loky, threading, dask or ray (joblib).", rich_help_panel=SEARCH),
    scheduler: str = SCHEDULER,
    metric: str = METRIC,
    plot: str = typer.Option(None, help="Picture of the metric: .png, .svg or .pdf.", rich_help_panel=SEARCH),
    test: str = typer.Option(None, help="Test set of the best model.", rich_help_panel=RUN),
    test_size: float = typer.Option(
        None, help="Fraction of DATA held out to test the best model, before the search.", rich_help_panel=RUN
    ),
    C: float = typer.Option(
        None, "-C", help="Weight of the summed losses where it is not searched; default 1.", rich_help_panel=MODEL
    ),
    kernel: str = KERNEL,
    gamma: str = typer.Option(None, help="scale, auto, msd or a number: not searched.", rich_help_panel=MODEL),
    degree: str = DEGREE,
    coef0: str = COEF0,
    sampler: str = SAMPLER,
    tol: float = TOL,
    stop: str = STOP,
    max_iter: int = typer.Option(None, help="Budget of steps of one fit.", rich_help_panel=SOLVE),
    max_epochs: float = typer.Option(None, help="Budget of passes over the data of one fit.", rich_help_panel=SOLVE),
    time_limit: float = typer.Option(None, help="Budget in seconds of one fit.", rich_help_panel=SOLVE),
    epsilon: float = EPSILON,
    class_weight: str = CLASS_WEIGHT,
    multiclass: str = MULTICLASS,
    calibrate: str = CALIBRATE,
    impute: str = IMPUTE,
    scale: str = typer.Option(
        "none", help="none, standard, minmax or maxabs, fitted in each fold.", rich_help_panel=MODEL
    ),
    n_features: int = N_FEATURES,
    strict: bool = STRICT,
    label: str = LABEL,
    decimal: str = DECIMAL,
    encoding: str = CHARSET,
    drop: list[str] = DROP,
    only: list[str] = ONLY,
    categorical: list[str] = CATEGORICAL,
    task: str = TASK,
    memory: str = typer.Option("1GB", help="Budget of the row caches of all jobs.", rich_help_panel=SOLVE),
    threads: int = THREADS,
    seed: int = typer.Option(0, min=0, help="Seed of all random choices and of the folds.", rich_help_panel=SOLVE),
    option: list[str] = OPTIONS,
    out: str = typer.Option(None, help="Write the best model here.", rich_help_panel=RUN),
    force: bool = FORCE,
    register: str = REGISTER,
    experiment: str = EXPERIMENT,
    tracking_uri: str = TRACKING_URI,
    no_track: bool = NO_TRACK,
    plugin: list[str] = PLUGIN,
    json: bool = JSON,
) -> None:
    """Search for C, gamma and solver options by cross-validation; refit the best on all rows, certify and save it.

    The values of C of one setting are fitted on shared kernel rows, each from the last solution. Among equal metrics
    the smallest C wins, then the smallest gamma. Ctrl-C (or SIGTERM) ends the search: the candidates that were tried in
    all folds count.
    """
    from svmkit.cli.common import emit, warnings_as_notes
    from svmkit.cli.tuning.search import TuneJob

    with warnings_as_notes():
        job = TuneJob(**{k: v for k, v in context.params.items() if k not in ("json", "plugin")})
        outcome = job.run()
        if json:
            emit(job.summary(outcome.result))
        else:
            report(job, outcome)
    if outcome.failure:
        raise outcome.failure


def report(job: TuneJob, outcome: Outcome) -> None:
    """Print the best candidates, then the model of the best one as `svmkit train` prints it."""
    from svmkit.cli.training.train import report as report_model
    from svmkit.cli.tuning.candidates import table

    found = job.found
    print(
        f"{job.search} search over {', '.join(found.best.params)}: {len(found.candidates):,} candidates, "
        f"{job.cv} folds, {found.n_fits:,} fits in {found.seconds:.2f} s, by {job.metric.title}"
    )
    print("\n".join(table(found, SHOWN)))
    if job.plot:
        print(f"picture: {job.plot}")
    print()
    report_model(outcome, False)
