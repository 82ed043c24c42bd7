"""svmkit train: data -> certified model -> run in MLflow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
    NU,
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
    from svmkit.cli.training.train_options import TrainOptions

STREAM = "Streams"


def train(
    context: typer.Context,
    data: str = typer.Argument(
        "breast_cancer", help="File, name of a set (svmkit datasets list), or - for a stream; with --scheduler, PARTS."
    ),
    solver: str = SOLVER,
    test: str = typer.Option(None, help="Test set.", rich_help_panel=RUN),
    test_size: float = typer.Option(None, help="Fraction of DATA held out to test.", rich_help_panel=RUN),
    curve: bool = typer.Option(
        False, "--curve", help="Measure test accuracy as the model grows; also with --max-support.", rich_help_panel=RUN
    ),
    metric: str = METRIC,
    C: float = typer.Option(1.0, "-C", help="Weight of the summed losses.", rich_help_panel=MODEL),
    kernel: str = KERNEL,
    gamma: str = typer.Option(None, help="scale, auto, msd or a number.", rich_help_panel=MODEL),
    degree: str = DEGREE,
    coef0: str = COEF0,
    sampler: str = SAMPLER,
    tol: float = TOL,
    stop: str = STOP,
    max_iter: int = typer.Option(None, help="Budget of steps.", rich_help_panel=SOLVE),
    max_epochs: float = typer.Option(None, help="Budget of passes over the data.", rich_help_panel=SOLVE),
    time_limit: float = typer.Option(None, help="Budget in seconds.", rich_help_panel=SOLVE),
    max_support: int = typer.Option(
        None, help="Budget of support vectors, for each class pair.", rich_help_panel=SOLVE
    ),
    epsilon: float = EPSILON,
    nu: float = NU,
    class_weight: str = CLASS_WEIGHT,
    multiclass: str = MULTICLASS,
    calibrate: str = CALIBRATE,
    impute: str = IMPUTE,
    scale: str = typer.Option("none", help="none, standard, minmax or maxabs.", rich_help_panel=MODEL),
    n_features: int = N_FEATURES,
    strict: bool = STRICT,
    label: str = LABEL,
    decimal: str = DECIMAL,
    encoding: str = CHARSET,
    drop: list[str] = DROP,
    only: list[str] = ONLY,
    categorical: list[str] = CATEGORICAL,
    task: str = TASK,
    memory: str = typer.Option("1GB", help="Budget of the row cache.", rich_help_panel=SOLVE),
    threads: int = THREADS,
    seed: int = typer.Option(0, min=0, help="Seed of all random choices.", rich_help_panel=SOLVE),
    option: list[str] = OPTIONS,
    scheduler: str = SCHEDULER,
    out: str = typer.Option(None, help="Write the model here.", rich_help_panel=RUN),
    force: bool = FORCE,
    register: str = REGISTER,
    experiment: str = EXPERIMENT,
    tracking_uri: str = TRACKING_URI,
    no_track: bool = NO_TRACK,
    checkpoint: str = typer.Option(None, help="Keep progress in this file.", rich_help_panel=RUN),
    every: str = typer.Option(
        None, help="Write --checkpoint that often, as in 30s (the default) or 2m.", rich_help_panel=RUN
    ),
    resume: bool = typer.Option(
        False, "--resume", help="Resume from --checkpoint, else start at the model --out.", rich_help_panel=RUN
    ),
    classes: str = typer.Option(
        None, help="Labels to expect, as in -1,1; default: the labels of the first block.", rich_help_panel=STREAM
    ),
    on_error: str = typer.Option(None, help="At a bad line: stop (default) or skip.", rich_help_panel=STREAM),
    block: int = typer.Option(None, min=1, help="Samples taken together; default 1024.", rich_help_panel=STREAM),
    config: str = typer.Option(None, help="YAML file of these options; the command line takes precedence."),
    plugin: list[str] = PLUGIN,
    json: bool = JSON,
) -> None:
    """Train a classifier or a regression, certify how far from optimal it is, log it, and save it.

    Ctrl-C (or SIGTERM) ends training with the best model so far. With - for DATA, svmlight lines are read from standard
    input and learned from once, as they arrive, by a solver that learns from streams (sfw, sgd, ...).
    """
    from svmkit.cli.common import warnings_as_notes
    from svmkit.cli.options import merged
    from svmkit.cli.training.train_options import TrainOptions

    given = {k: v for k, v in context.params.items() if k not in ("config", "json")}
    with warnings_as_notes():
        named = merged(context, given, config)
        named.pop("plugin")  # loaded by now, from the command line or from the file
        options = TrainOptions(**named)
        outcome = _run(options)
        report(outcome, json)
    if outcome.failure:
        raise outcome.failure


def _run(options: TrainOptions) -> Outcome:
    from svmkit.errors import InputError

    if options.scheduler is not None:
        from svmkit.cli.training import cluster

        return cluster.run(options)
    if options.is_stream:
        if options.task == "outliers":
            raise InputError("--task outliers needs a file: a stream is learnt from by its labels")
        from svmkit.cli.training.stream import StreamJob

        return StreamJob(options).run()
    if options.task == "outliers":
        from svmkit.cli.training import outliers

        return outliers.run(options)
    from svmkit.cli.training import job

    return job.run(options)


def report(outcome: Outcome, as_json: bool) -> None:
    """Print the result, as one JSON object or as lines for a reader."""
    from svmkit.cli.common import emit, rows
    from svmkit.cli.evaluating import probabilities, quality
    from svmkit.cli.training.words import certified, taken

    result = outcome.result
    if as_json:
        emit(result)
        return
    if result["task"] == "outliers":
        from svmkit.cli.training import outliers

        return outliers.show(outcome)
    kernel = result["kernel"]
    params = ", ".join(f"{k}={v:.6g}" if isinstance(v, float) else f"{k}={v}" for k, v in kernel["params"].items())
    gap, dual = result["gap"], result["dual_objective"]
    streamed, linear = "skipped" in result, outcome.is_linear
    known = "no dual point: not known"
    if streamed and dual is not None:
        known = f"not known; the optimum is at least {dual:.8g}"
    if result["flaw"]:
        known = f"not certified: {result['flaw']}"
    regression = result["task"] == "regress"
    learnt = "a quantity" if regression else f"{len(result['classes'])} classes"
    k, lacking, each = len(result["classes"]), result["untrained_pairs"], result["multiclass"] == "ovo"
    problems = f"{k * (k - 1) // 2:,} class pairs" if each else f"{k:,} classes"
    if lacking:
        known = "not known"
    passed = " (one pass)" if streamed and result["status"] == "max_iter" else ""
    skipped = f"; {result['skipped']:,} lines skipped" if result.get("skipped") else ""
    chosen = f" ({', '.join(choice['solver'] for choice in result['choice'])})" if result["choice"] else ""
    counted = f"{result['n_support']:,} " + ("rows have a part in the weights" if linear else "vectors")
    rows(
        [
            ("data", f"{result['data']}: {result['n_samples']:,} rows, {result['n_features']:,} features, {learnt}"
                     + labelled(result.get("label"))),
            ("solver", f"{result['solver']}{chosen} on {result['problem']}, {kernel['name']} kernel"
                       + (f" ({params})" if params else "") + f", C={result['params']['C']:g}"
                       + (f", epsilon={result['params']['epsilon']:g}" if "epsilon" in result["params"] else "")
                       + (f", nu={result['params']['nu']:g}" if "nu" in result["params"] else "")),
            ("status", f"{result['status']}{passed} after {result['n_iter']:,} iterations{skipped}"
                       + (f"; {lacking:,} of {problems} were not trained" if lacking else "")),
            ("gap", known if gap is None else certified(gap, result["rounding"])),
            ("objective", None if streamed or lacking else f"{result['objective']:.8g}"
                          + ("" if gap is None else f"  (dual {dual:.8g})")),
            ("support", None if streamed and linear else counted),  # a linear model of a stream keeps no rows
            *((name.replace("_", " "), f"{value:.6g}") for name, value in result["details"].items()),
            ("time", taken(result["fit_s"], result["compile_s"])
                     + ("" if linear else f", {result['kernel_values']:,} kernel values")),
            *quality.rows_of(result),
            *probabilities.rows_of(result["calibration"]),
            *curve_rows(result["curve"], result["metric"]["name"]),
            ("cluster", cluster_in_words(result.get("cluster"))),
            ("model", result["model"]),
            ("run", result["run_id"] and f"{result['run_id']}  ({outcome.where})"),
        ]
    )  # fmt: skip


def cluster_in_words(found: dict[str, Any] | None) -> str | None:
    """Return what the training on a cluster took; None without a cluster."""
    if found is None:
        return None
    sent, received = (found[key] / 1e6 for key in ("sent", "received"))
    return (
        f"{found['parts']:,} parts on {len(found['workers'])} workers, {found['rounds']:,} rounds, "
        f"{sent:,.1f} MB sent, {received:,.1f} MB received"
    )


def labelled(label: dict[str, Any] | None) -> str:
    """Return the label column of a table and how it was chosen, in words; nothing for data without columns."""
    if label is None:
        return ""
    name = repr(label["column"]) if label["column"] is not None else f"{label['position'] + 1}, counted from 1"
    return f", label column {name} ({label['chosen']})"


def curve_rows(curve: list[dict[str, Any]] | None, metric: str) -> list[tuple[str, str]]:
    """Return rows with the metric on the test rows at several numbers of support vectors."""
    from svmkit.cli.evaluating.size_curve import lines

    return [("" if k else "curve", line) for k, line in enumerate(lines(curve, metric) if curve else [])]
