"""The commands whose work is done in folders: their options, and the calls of their implementations."""

from __future__ import annotations

import time
from typing import Any

import typer

from svmkit.cli.common import emit, load_model, note
from svmkit.cli.option_table import Options, argument, option, takes
from svmkit.cli.options import Share
from svmkit.errors import InputError
from svmkit.runtime.terminal import say, shows_progress


@takes(
    "train",
    argument(
        "data",
        str,
        "File, name of a set (svmkit datasets list), folder or pattern of parts, or - for a stream.",
        "breast_cancer",
    ),
)
def train(options: Options) -> None:
    """Train a classifier or a regression, certify how far from optimal it is, log it, and save it.

    Ctrl-C (or SIGTERM) ends training with the best model so far. If DATA is -, a solver for streams (sfw, sgd, ...)
    reads svmlight lines from standard input and learns from each of them once, as it arrives.
    """
    from svmkit.cli.training import job
    from svmkit.cli.training.report import report
    from svmkit.cli.training.train_options import TrainOptions

    wanted = TrainOptions(**vars(options))
    if wanted.tune:
        _tune(options)
        return
    if wanted.scheduler is not None:
        from svmkit.cli.training import cluster

        outcome = cluster.run(wanted)
    elif wanted.is_stream:
        from svmkit.cli.training.stream import StreamJob

        outcome = StreamJob(wanted).run()
    else:
        outcome = job.run(wanted)
    report(outcome, options.json)
    if outcome.failure:
        raise outcome.failure


@takes("tune", argument("data", str, "File, or name of a set (svmkit datasets list).", "breast_cancer"))
def tune(options: Options) -> None:
    """Search for C, gamma and solver options by cross-validation; refit the best on all rows, certify and save it.

    Fits that differ only in C share kernel rows, and each starts from the solution of the last. Among candidates with
    equal metrics, the smallest C wins, then the smallest gamma. Ctrl-C (or SIGTERM) ends the search; candidates that
    were tried in all folds count.
    """
    _tune(options)


@takes("compare", argument("data", list[str], "Files, or names of sets.", None))
def compare(options: Options) -> None:
    """Compare solvers: time, certified gap, suboptimality, accuracy or R2, and whether differences are significant.

    Each solver runs on each set in a process of its own, and compilation is not timed. Ctrl-C ends with the finished
    cells, and the same command continues from there. Exit 1 if a cell failed.
    """
    from svmkit.cli.comparing.comparison import Comparison

    _run(Comparison(options))


@takes("curve", argument("data", str, "A file, or the name of a set.", "breast_cancer"))
def curve(options: Options) -> None:
    """Compute learning curves: accuracy, time and gap of solvers against the number of training rows.

    Also estimates how fast the time of each solver grows. All fits have the same test rows and run in a process of
    their own, and compilation is not timed. Ctrl-C ends with the finished fits. (train --curve follows a single model.)
    """
    from svmkit.cli.comparing.learning import Learning

    _run(Learning(options))


@takes("warmup", argument("solvers", list[str], "Compile only these solvers; default all.", None))
def warmup(options: Options) -> None:
    """Compile every loop for dense and sparse data in both precisions (a minute for all, once per installation)."""
    from svmkit.cli.extending.warming import perform, steps

    solvers, began = options.solvers or (), time.perf_counter()
    order = [name for name, _ in steps(solvers)]
    done = []
    for name, seconds in perform(solvers):
        done.append({"step": name, "seconds": seconds})
        if shows_progress():
            note(f"{name}: {seconds:.1f} s")
    done.sort(key=lambda step: order.index(str(step["step"])))
    seconds = time.perf_counter() - began
    if options.json:
        emit({"seconds": seconds, "steps": done})
    else:
        say(f"compiled and cached in {seconds:.1f} s")


@takes(
    "evaluate",
    argument("model", str, "Model file, or models:/name@alias."),
    argument("data", str, "Labelled data: a file, or the name of a set."),
    option(
        "plot",
        str,
        None,
        "Draw to this file the confusion matrix and, for two classes, the ROC and precision-recall curves; the "
        "reliability of probabilities; for quantities, predicted against true values, and residuals.",
    ),
    option(
        "cost",
        str,
        None,
        "Costs of the errors between two classes: fn=50,fp=1 for a false negative and a false positive.",
    ),
    option(
        "threshold",
        str,
        None,
        "Predict the positive class if the decision is above this number; best is the threshold with the least --cost "
        "in the folds of the training (train --calibrate or --thresholds), not on DATA.",
    ),
)
def evaluate(options: Options) -> None:
    """Measure MODEL on DATA: accuracy, precision, recall, F1, ROC AUC, the confusion matrix; or R2, RMSE and MAE.

    For a model with probabilities, also the log loss and the Brier score; for a ranking model, concordance, AUC,
    Kendall's tau and NDCG within groups.
    """
    from svmkit.cli.evaluating import report
    from svmkit.cli.evaluating.costs import apply_costs, cost_rows
    from svmkit.cli.evaluating.drift import drift_rows, drift_table, measure_drift
    from svmkit.cli.evaluating.further import measure
    from svmkit.cli.evaluating.truth import load_truth
    from svmkit.tasks import task_named

    plot = options.plot
    if plot:
        report.require_drawable(plot)
    model = load_model(options.model, options.tracking_uri)
    test = load_truth(model, options)
    model = model.widened(test.n_features)
    drift = measure_drift(model, test, options)
    evaluated = task_named(model.task).evaluate(model, test, options.threads)
    evaluated, costs = apply_costs(evaluated, options)
    metric, metric_row = measure(evaluated, options.metric)
    for line in evaluated.notes:
        note(line)
    failure = report.draw(evaluated, plot) if plot else None
    result = {"model": options.model, **evaluated.result()}
    result["n_support"] = None if model.holds_weights else int(model.n_support.sum())
    result |= {"predict_s": evaluated.seconds, "plot": None if failure else plot}
    cover = task_named(model.task).cover(model, test, options.threads)
    result |= {} if cover is None else {"sets": cover.result()}
    result |= {} if costs is None else {"cost": costs}
    result |= {} if drift is None else {"drift": drift}
    result |= {} if metric is None else {"metric": metric}
    if options.json:
        emit(result)
    else:
        further = [*metric_row, *(cover.rows() if cover else ()), *cost_rows(costs), *drift_rows(drift)]
        report.show(evaluated, result, further)
        say(*(drift_table(drift) if drift else ()))
    if failure:
        raise failure


@takes(
    "predict",
    argument("model", str, "Model file, or models:/name@alias."),
    argument("data", str, "Data, with or without labels: a file, or the name of a set."),
    option(
        "out",
        str,
        None,
        "Write to this file instead of stdout (-): .csv and .tsv with a header, .parquet, otherwise plain lines.",
    ),
    option(
        "decision",
        bool,
        False,
        "Print decision values, separated by tabs, instead of labels; for quantities, this changes nothing.",
    ),
    option(
        "cost",
        str,
        None,
        "Predict by the threshold with the least cost, as fn=50,fp=1, in the folds of the training (train "
        "--thresholds or --calibrate).",
    ),
    option(
        "sets",
        bool,
        False,
        "Print sets of classes, or both ends of intervals, as CSV without a header (for models trained with "
        "--conformal).",
    ),
    option("alpha", Share, None, "Share of rows whose --sets may miss the truth; the default is that of the training."),
    option(
        "proba",
        bool,
        False,
        "Print probabilities of the classes, separated by tabs (for models trained with "
        "--calibrate or a loss with probabilities).",
    ),
    option("keep", list[str], [], "COL,...: columns of DATA, such as an ID, to write as CSV before the predictions."),
    option("append", bool, False, "Write all columns of DATA as CSV before the predictions."),
)
def predict(options: Options) -> None:
    """Predict DATA with MODEL: a line for each row, with a label or a number, or one for each output.

    Lines are CSV: a label with a comma is quoted. A .csv, .tsv or .parquet file has a header, which is prediction or
    the names of the classes or outputs, except with --sets; so has the CSV on stdout with --keep or --append. The
    prediction of a row that was skipped is empty.
    """
    ways = [options.sets, options.cost is not None, options.decision or options.proba]
    if sum(ways) > 1:
        raise InputError("give --decision, --proba, --sets or --cost, one of them")
    if options.alpha is not None and not options.sets:
        raise InputError("--alpha is the share of the rows that sets may miss: give --sets, too")
    if options.sets:
        from svmkit.cli.evaluating.sets import predict_sets

        predict_sets(options)
        return
    from svmkit.cli.evaluating import predictions

    predictions.run(options)


@takes(
    "explain",
    argument("model", str, "Model file, or models:/name@alias."),
    argument("data", str, "Rows to explain, with or without labels: a file, or the name of a set."),
    option("rows", str, None, "Rows of DATA, counted from 1: 3, 1-5, 2,7-9 or all; default the first five."),
    option(
        "background",
        str,
        None,
        "File or set with the background rows, with which decisions are compared; default all of DATA.",
    ),
    option("backgrounds", int, 100, "Largest number of background rows; --seed draws them if there are more.", min=1),
    option("of", str, None, "Class or output to explain; the default is the predicted class of each row."),
    option("top", int, 10, "Number of columns to show.", min=1),
    option("vectors", int, 3, "Number of support vectors to show for each row.", min=0),
    option("flip", bool, False, "Find the nearest change of each row that changes its label."),
    option("fix", list[str], [], "COL,...: columns that --flip must not change; repeatable."),
    option("few", bool, False, "Let --flip change as few columns as possible, even if the change is larger."),
    option("to", str, None, "Label that --flip should reach."),
    option(
        "shuffle",
        int,
        None,
        "Also compute permutation importance with this number of shuffles of each column; needs labels.",
        min=1,
    ),
    option(
        "nodes",
        int,
        None,
        "Largest number of quadrature nodes; by default, enough for exact values or an error below 1e-9.",
        min=1,
    ),
    option(
        "rounds",
        int,
        2,
        "For kernels without exact values (sigmoid, plugins): the number of column orders that "
        "are drawn for each pair of rows.",
    ),
    option("seed", int, 0, "Seed of all random choices.", min=0),
    option("plot", str, None, "Draw the most important columns and the first row to this file: .png, .svg or .pdf."),
)
def explain(options: Options) -> None:
    """Explain decisions of MODEL by what each column of DATA contributes: exact Shapley values (sampled for sigmoid).

    For up to five rows, each is shown with its most important support vectors; for more rows, the most important
    columns of all.
    """
    from svmkit.cli.evaluating import explaining

    explaining.perform(options)


@takes(
    "report",
    argument("model", str, "Model file, or models:/name@alias."),
    argument("data", str, "Labelled data, preferably not the training rows: a file, or the name of a set."),
    option("out", str, None, "Write the page to this file, as REPORT.html."),
    option("card", str, None, "Write a model card in Markdown to this file, as CARD.md."),
    option("seed", int, 0, "Seed of the random choice of rows.", min=0),
)
def report(options: Options) -> None:
    """Write a page about MODEL for a reader who did not train it: quality on DATA, explanations, certificate.

    It says what was trained on which data, compares MODEL with the trivial model, shows the most important columns,
    explains three rows, and says what is proven and where to be careful. The page needs no network.
    """
    from svmkit.cli.evaluating.reporting import job

    job.perform(options)


@takes(
    "check",
    argument("name", str, "Name of a plugin; the default is all plugins in the files of --plugin.", None),
    option(
        "kind", str, None, "Kind of the plugin, if several have this name: solver, kernel, loss, sampler or engine."
    ),
)
def check(options: Options) -> None:
    """Run the conformance suite on a plugin; exit 1 when a check fails.

    For a check that fails, it prints what was found, what was expected, and where the contract says so.
    """
    from svmkit.conformance import check_plugin, report
    from svmkit.plugins import plugin_file

    done: list[dict[str, Any]] = []
    kind, files = options.kind, options.plugin
    if options.name is None and not files:
        raise InputError("name a solver, kernel, loss, sampler or engine to check, or your own file: --plugin FILE.py")
    brought = [pair for file in files for pair in plugin_file.brought_by(file) if kind in (None, pair[1])]
    if options.name is None and not brought:
        raise InputError(f"{', '.join(files)}: there is no {kind} in it")
    for one, its_kind in dict.fromkeys(brought) if options.name is None else [(options.name, kind)]:
        results = check_plugin(one, its_kind)
        passed = not any(r.problem for r in results)
        done.append({"name": one, "passed": passed, "checks": [r._asdict() for r in results]})
        if not options.json:
            say(*"\n".join(map(report, results)).split("\n"))
            say(f"{one}: {sum(not r.problem for r in results)} of {len(results)} checks hold")
    if options.json:
        emit(done[0] if len(done) == 1 else {"passed": all(d["passed"] for d in done), "plugins": done})
    if not all(d["passed"] for d in done):
        raise typer.Exit(1)


def _tune(options: Options) -> None:
    """Search, refit and show the result, even if a file could not be written."""
    from svmkit.cli.tuning.search import TuneJob

    job = TuneJob(options)
    outcome = job.run()
    job.show(outcome)
    if outcome.failure:
        raise outcome.failure


def _run(job: Any) -> None:
    """Run cells and show their results, even if a file could not be written; exit 1 if a cell failed."""
    job.run()
    job.require_results()
    job.show()
    if job.failure:
        raise job.failure
    if job.failed:
        raise typer.Exit(1)
