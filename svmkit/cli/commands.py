"""The commands whose work is done in folders: their options, and the calls of their implementations."""

from __future__ import annotations

import time
from typing import Any

import typer

from svmkit.cli.common import emit, load_model, note
from svmkit.cli.option_table import Options, argument, option, takes
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

    Ctrl-C (or SIGTERM) ends training with the best model so far. With - for DATA, svmlight lines are read from standard
    input and learned from once, as they arrive, by a solver that learns from streams (sfw, sgd, ...).
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

    The values of C of one setting are fitted on shared kernel rows, each from the last solution. Among equal metrics
    the smallest C wins, then the smallest gamma. Ctrl-C (or SIGTERM) ends the search: the candidates that were tried in
    all folds count.
    """
    _tune(options)


@takes("compare", argument("data", list[str], "Files, or names of sets.", None))
def compare(options: Options) -> None:
    """Compare solvers: time, certified gap, suboptimality, accuracy or R2, and whether differences are significant.

    Each solver runs on each set in a process of its own; compilation is off the clock. Ctrl-C ends with the
    finished cells; the same command goes on from there. Exit 1 when a cell failed.
    """
    from svmkit.cli.comparing.comparison import Comparison

    _run(Comparison(options))


@takes("curve", argument("data", str, "A file, or the name of a set.", "breast_cancer"))
def curve(options: Options) -> None:
    """Learning curves: accuracy, time and gap of solvers against the number of training rows.

    Says how fast the time of each solver grows. Test rows are the same for all. Fits run in a process of their own,
    compilation off the clock. Ctrl-C ends with the finished fits. (train --curve: the size of one model as it grows.)
    """
    from svmkit.cli.comparing.learning import Learning

    _run(Learning(options))


@takes("warmup", argument("solvers", list[str], "Only these solvers; default all.", None))
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
    argument("data", str, "Labelled data: file, or name of a set."),
    option(
        "plot",
        str,
        None,
        "Picture of the confusion matrix and, for two classes, the ROC and precision-recall curves; how reliable "
        "probabilities are; of quantities, predicted over true values and residuals.",
    ),
    option(
        "cost",
        str,
        None,
        "What errors cost, of two classes: fn=50,fp=1 for a positive row that is missed, and for "
        "another row that is taken for positive.",
    ),
    option(
        "threshold",
        str,
        None,
        "Labels are the positive class where its decision is above this number; best takes "
        "the one of least --cost out of the folds of --calibrate, not on DATA.",
    ),
)
def evaluate(options: Options) -> None:
    """Accuracy, precision, recall, F1, ROC AUC and the confusion matrix of MODEL on DATA; R2, RMSE and MAE.

    Of a model with a calibration the log loss and the Brier score, too; of a ranker the concordance, AUC, Kendall's tau
    and NDCG within groups.
    """
    from svmkit.cli.evaluating import report
    from svmkit.cli.evaluating.costs import apply_costs, cost_rows
    from svmkit.cli.evaluating.drift import drift_rows, drift_table, measure_drift
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
    if options.json:
        emit(result)
    else:
        report.show(evaluated, result, [*(cover.rows() if cover else ()), *cost_rows(costs), *drift_rows(drift)])
        say(*(drift_table(drift) if drift else ()))
    if failure:
        raise failure


@takes(
    "predict",
    argument("model", str, "Model file, or models:/name@alias."),
    argument("data", str, "Data, with labels or without: file, or name of a set."),
    option(
        "out", str, None, "Write here instead of stdout (-): .csv and .tsv with a header, .parquet, else plain lines."
    ),
    option("decision", bool, False, "Margins, tab-separated, instead of labels; of quantities the same."),
    option(
        "cost",
        str,
        None,
        "Labels by the threshold of least cost, as fn=50,fp=1, out of folds (train --thresholds, --calibrate).",
    ),
    option("sets", bool, False, "Sets of classes, or both ends of intervals, as CSV, of a model that has them."),
    option("alpha", float, None, "Share of the rows that --sets may miss; default that of training."),
    option("proba", bool, False, "Probabilities of the classes, tab-separated, of a model that has them."),
    option("keep", list[str], [], "COL,...: columns of DATA to write before the predictions, such as an ID, as CSV."),
    option("append", bool, False, "Write all columns of DATA before the predictions, as CSV."),
)
def predict(options: Options) -> None:
    """Predict DATA with MODEL: one label or number a line, or one of each output, as CSV, so that a label with a comma
    is in quotes.

    A file .csv, .tsv or .parquet has a header: prediction, or the names of the classes or outputs. With --keep or
    --append so has the CSV on stdout. A row that was skipped has an empty prediction.
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
    argument("data", str, "Rows to explain, with labels or without: file, or name of a set."),
    option("rows", str, None, "Rows of DATA, counted from 1: 3, 1-5, 2,7-9 or all; default the first five."),
    option("background", str, None, "File or set whose rows decisions are compared with; default all of DATA."),
    option("backgrounds", int, 100, "Most rows of it, drawn by --seed if there are more.", min=1),
    option("of", str, None, "Class or output whose decision is explained; default the predicted class of each row."),
    option("top", int, 10, "Columns that are shown.", min=1),
    option("vectors", int, 3, "Support vectors that are shown of each row.", min=0),
    option("flip", bool, False, "Find the nearest change of each row that gives it another label."),
    option("fix", list[str], [], "COL,...: columns that --flip leaves as they are; repeatable."),
    option("few", bool, False, "Have --flip change few columns, rather than stay near."),
    option("to", str, None, "The label that --flip is to reach."),
    option("shuffle", int, None, "Permutation importance, too: shuffle each column so often; needs labels.", min=1),
    option(
        "nodes", int, None, "Most nodes of quadrature; default as many as are exact, or lose less than 1e-9.", min=1
    ),
    option("rounds", int, 2, "Of kernels without exact values (sigmoid, plugins): orders drawn for each pair of rows."),
    option("seed", int, 0, "Seed of all that is drawn.", min=0),
    option("plot", str, None, "Picture of the columns that matter and of the first row: .png, .svg or .pdf."),
)
def explain(options: Options) -> None:
    """What each column of DATA contributes to the decisions of MODEL: Shapley values, exact (sampled for sigmoid).

    Of up to five rows each is shown, with the support vectors that decided; of more, the columns that matter over all.
    """
    from svmkit.cli.evaluating import explaining

    explaining.perform(options)


@takes(
    "report",
    argument("model", str, "Model file, or models:/name@alias."),
    argument("data", str, "Labelled data, best rows that were not trained on: file, or name of a set."),
    option("out", str, None, "Write the page here: REPORT.html."),
    option("card", str, None, "Write a model card in Markdown here: CARD.md."),
    option("seed", int, 0, "Seed of the rows that are drawn.", min=0),
)
def report(options: Options) -> None:
    """One page about MODEL for a reader who did not train it: quality on DATA with its spread, reasons, certificate.

    What was trained on what, measures beside the trivial model, the columns that matter, three rows explained, what is
    proven and what to be careful about. The page needs no network.
    """
    from svmkit.cli.evaluating.reporting import job

    job.perform(options)


@takes(
    "check",
    argument("name", str, "Name of a plugin; default all in the files of --plugin.", None),
    option("kind", str, None, "solver, kernel, loss, sampler or engine, where the name alone is not clear."),
)
def check(options: Options) -> None:
    """Run the conformance suite on a plugin; exit 1 when a check fails.

    Below a check that fails: what was found, what was expected, and where the contract says so.
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
