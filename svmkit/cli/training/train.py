"""svmkit train: data -> certified model -> run in MLflow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from svmkit.cli.option_table import Options, takes

if TYPE_CHECKING:
    from svmkit.cli.training.finish import Outcome
    from svmkit.cli.training.train_options import TrainOptions


@takes("train")
def train(options: Options) -> None:
    """Train a classifier or a regression, certify how far from optimal it is, log it, and save it.

    Ctrl-C (or SIGTERM) ends training with the best model so far. With - for DATA, svmlight lines are read from standard
    input and learned from once, as they arrive, by a solver that learns from streams (sfw, sgd, ...).
    """
    from svmkit.cli.training.train_options import TrainOptions

    outcome = _run(TrainOptions(**vars(options)))
    report(outcome, options.json)
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
