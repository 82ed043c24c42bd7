"""The options of the commands: one row for each, from which the signatures for typer are made.

A row names the commands that have the option. If the default or the text differs between commands, each has a row.
Within a panel, `--help` lists the options in the order of the rows, and the panels in the order of their first rows.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial, wraps
from typing import Any, NamedTuple

import typer

from svmkit.cli.common import JSON, PLUGIN, STRICT, THREADS, TRACKING_URI, warnings_as_notes
from svmkit.cli.options import READERS, SHOWN_AS, Folds, Options, Seconds, Share, Size, merge_file
from svmkit.problems.schemes import SCHEMES

TOL = 1e-3  # default of --tol
EPSILON = 0.1  # default of --epsilon; as in LIBSVM and scikit-learn
OF_MODEL = ("gamma", "degree", "coef0", "epsilon", "kernel", "scale", "impute", "class_weight", "multiclass", "nu")
"""The keys of a grid besides C and options of the solver."""
LOGGED = (
    *("tol", "seed", "impute", "scale", "memory", "class_weight", "stop", "max_iter", "max_epochs", "time_limit"),
    *("max_support", "label", "decimal", "encoding", "multiclass", "calibrate", "relevance", "device"),
)
"""The options that are parameters of a run, by the same names."""
GAMMA, SCALE = "scale, auto, msd or a number", "none, standard, minmax or maxabs"
IMPUTE = (
    "What fills the holes of number columns: median, most_frequent, or indicator (median, and a 0/1 feature for each "
    "column with holes); learnt from the training rows. Default: holes are refused."
)
KERNEL = "See svmkit plugins --kind kernel; default rbf, or linear for a solver that needs it."
METRIC = (
    "Scorer of scikit-learn, as f1 or roc_auc; default accuracy, or balanced_accuracy with --class-weight or if a "
    "class has less than a tenth of the rows. Of regression r2 (default), rmse, mae or another scorer of regression. "
    "Of rankings concordance (default), ndcg, ndcg@5, kendall_tau or auc."
)
SCHEDULER = "Run on the workers of a Dask cluster: tcp://HOST:PORT, a scheduler file, or local:N for N processes here."
TEST = "Test set; default DATA.t if any."


class Row(NamedTuple):
    """An option of some commands."""

    commands: str  # their names, separated by blanks
    name: str  # `--` and the name, with `-` for `_`, is the option unless `info` says otherwise
    type: Any
    info: Any  # has the default and the text of `--help`


def option(name: str, kind: Any, default: Any, text: str, *flags: str, **more: Any) -> Row:
    """Return the row of an option of a single command.

    Parameters
    ----------
    name, kind, default, text : str, type, object, str
        The name of the value, its type, its default, and the text of `--help`.
    *flags, **more : str, object
        The options, such as -C, if they are not `--` and the name; further arguments of typer, such as min.
    """
    if default is False and not flags:
        flags = (f"--{name.replace('_', '-')}",)  # without --no-...
    return Row("", name, kind, typer.Option(default, *flags, help=text, **more))


def argument(name: str, kind: Any, text: str, default: Any = ...) -> Row:
    """Return the row of an argument.

    Parameters
    ----------
    name, kind, text, default : str, object, str, object
        As for `option`; an argument without a default is required.
    """
    return Row("", name, kind, typer.Argument(default, help=text))


def _row(commands: str, *about: Any, **more: Any) -> Row:
    """Return the row of an option of several commands; the other parameters are as for `option`."""
    return option(*about, **more)._replace(commands=commands)


def _panel(title: str, *rows: Row) -> Iterator[Row]:
    """Put options under a heading of `--help`."""
    for row in rows:
        row.info.rich_help_panel = title
        yield row


_PANELLESS = (
    _row("curve", "rows", str, None, "Numbers of training rows joined by commas; default six up to all, in equal "
         "ratios."),
    Row("train tune compare evaluate predict explain report", "strict", bool, STRICT),
    Row("train tune evaluate predict explain report", "threads", int, THREADS),
    _row("train tune compare evaluate predict report", "device", str, None, "Where kernel values are computed: cpu, "
         "auto (a GPU if there is one), and with svmkit[torch] cuda, cuda:1, xpu, mps, torch:cpu; default cpu."),
    _row("train tune", "option", list[str], [], "KEY=VALUE of the solver, such as loss=squared_hinge where it has a "
         "choice; or kernel.KEY=VALUE.", "-o"),
    _row("curve", "option", list[str], [], "SOLVER.KEY=VALUE, kernel.KEY=VALUE, or KEY=VALUE of --loss.", "-o"),
    Row("train tune compare evaluate certify predict explain report show export", "tracking_uri", str, TRACKING_URI),
    _row("train", "config", str, None, "YAML file of these options; the command line takes precedence."),
    Row("train tune compare curve evaluate certify predict explain report show export plugins check warmup",
        "plugin", list[str], PLUGIN),
    Row("train tune compare curve evaluate certify predict explain report info list fetch show export import plugins "
        "new check warmup",
        "json", bool, JSON),
)  # fmt: skip
_WHAT = _panel(
    "What",
    _row("compare", "solvers", str, None, "Names joined by commas; with --spec, a choice among its solvers."),
    _row("compare", "spec", str, None, "YAML file: data, splits, solvers with options, kernels, C, gamma, seeds, stop "
         "rules."),
    _row("compare", "option", list[str], [], "SOLVER.KEY=VALUE, kernel.KEY=VALUE, or KEY=VALUE of --loss.", "-o"),
    _row("compare", "test", str, None, "Test set of a single DATA; default DATA.t if any."),
    _row("compare", "test_size", Share, None, "Fraction of each set held out instead."),
    _row("compare", "splits", int, None, "Hold out that often, with fresh seeds; --test-size is 0.25 by default.",
         min=1),
    _row("compare", "cv", str, None, "Hold out each of that many folds, stratified by class; time:5 tests on the rows "
         "that follow, in their order; a file has the number of the fold of each row."),
    _row("compare", "metrics", str, None, "Of fit_s, gap, suboptimality, objective, n_iter, kernel_values, n_support, "
         "test_accuracy, test_r2, test_rmse, test_mae, test_log_loss, test_brier_score (--calibrate), test_metric "
         "(--metric), test_coverage (of the outermost two of several tau), train_outliers, test_outliers (--task "
         "outliers); default all."),
)  # fmt: skip
_SOLVING = _panel(
    "Solving",
    _row("train tune", "solver", str, "auto", "See svmkit plugins."),
    _row("curve", "solver", str, "auto", "Names joined by commas; see svmkit plugins.", "--solver", "--solvers"),
    _row("train tune", "sampler", str, None, "full, uniform:59, balanced:59, ...; default the solver's own."),
    _row("train tune curve", "tol", float, None, "Certified relative duality gap to reach.", show_default=f"{TOL:g}"),
    _row("train tune curve", "stop", str, None, "Rule instead of --tol: kkt:1e-3 (LIBSVM's eps), "
         "rel:1e-3 and abs:1e-6 (Frank-Wolfe's own estimate), 'gap:1e-3|iter:1000'."),
    _row("train", "max_iter", int, None, "Budget of steps."),
    _row("train", "max_epochs", float, None, "Budget of passes over the data."),
    _row("train", "time_limit", Seconds, None, "Budget in seconds."),
    _row("train", "max_support", int, None, "Budget of support vectors, for each class pair."),
    _row("tune", "max_iter", int, None, "Budget of steps of one fit."),
    _row("tune", "max_epochs", float, None, "Budget of passes over the data of one fit."),
    _row("tune", "time_limit", Seconds, None, "Budget in seconds of one fit."),
    _row("curve", "time_limit", Seconds, None, "Seconds for one fit; default 300."),
    _row("train", "memory", Size, "1GB", "Budget of the row cache."),
    _row("train", "dtype", str, None, "Type of features: float32 takes half of the memory; default the file's."),
    _row("tune", "memory", Size, "1GB", "Budget of the row caches of all jobs."),
    _row("curve", "memory", Size, None, "Budget of a row cache; default 1GB."),
    _row("train", "seed", int, 0, "Seed of all random choices.", min=0),
    _row("tune", "seed", int, 0, "Seed of all random choices and of the folds.", min=0),
)  # fmt: skip
_SEARCH = _panel(
    "Search",
    _row("tune", "grid", list[str], [], "NAME=VALUES, repeatable. NAME: C, gamma, degree, coef0, epsilon, nu, "
         "kernel, scale, impute, class_weight (none,balanced), multiclass or an option of the solver. VALUES: "
         "a list 1,10,100, 0.1:1000:log5 (5 values, even in log), 0:1:lin5, LIBSVM's "
         "2^-5:2^15:2 (a step in exponents), or, for --search random, a range (0.1:1000, drawn even in log). Default: "
         "LIBSVM's grid, C=2^-5:2^15:2 and, for kernels with gamma, gamma=2^-15:2^3:2; for --search random the same as "
         "ranges."),
    _row("train", "tune", bool, False, "Choose C, gamma and, of regression, epsilon first, if they are not given, by "
         "cross-validation over values that the data suggest. --time-limit is that of both."),
    _row("train", "cv", Folds, None, "Folds of --tune, shuffled, and stratified by class, or loo; default 5.", min=2),
    _row("tune", "search", str, "grid", "grid, random, halving, or zoom: values come from the data, in rounds around "
         "the best, without --grid (as train --tune); --time-limit is then that of all."),
    _row("tune", "n_iter", int, None, "Points of --search random; default 20.", min=1),
    _row("tune", "factor", int, None, "By --search halving 1/factor of the candidates go on; default 3.", min=2),
    _row("tune", "refine", str, "near", "near or all: the candidates that are solved to --tol. Hard fits that share "
         "kernel values end at a gap of 0.1 where the score is not near the best."),
    _row("tune", "cv", Folds, 5, "Folds, shuffled, and stratified by class; loo leaves out one row at a time.", min=2),
    _row("tune", "nested", int, None, "Repeat search and training without each of so many outer folds, and measure on "
         "its rows: what the search is worth.", min=2),
    _row("tune", "jobs", int, 1, "Fits at a time, which share threads and memory.", min=1),
    _row("tune", "backend", str, "loky", "loky, threading, dask or ray (joblib)."),
    _row("train", "plot", str, None, "Picture of what --tune or --relevance found: .png, .svg or .pdf."),
    _row("tune", "plot", str, None, "Picture of the metric: .png, .svg or .pdf."),
)  # fmt: skip
_RUN = _panel(
    "Run",
    _row("tune", "scheduler", str, None, SCHEDULER),
    _row("tune", "metric", str, None, METRIC),
    _row("curve", "repeat", int, 3, "Samples of each number of rows.", min=1),
    _row("train", "test", str, None, "Test set."),
    _row("tune", "test", str, None, "Test set of the best model."),
    _row("curve", "test", str, None, TEST),
    _row("train", "test_size", Share, None, "Fraction of DATA held out to test."),
    _row("tune", "test_size", Share, None, "Fraction of DATA held out to test the best model, before the search."),
    _row("curve", "test_size", Share, None, "Fraction held out instead; default 0.25 without a test set."),
    _row("train", "curve", bool, False, "Measure test accuracy as the model grows; also with --max-support."),
    _row("train", "metric", str, None, METRIC),
    _row("train tune", "n_features", int, None, "Columns of an svmlight set whose last ones may be empty.", min=1),
    _row("train tune compare curve certify info", "label", str, None, "Label column of a table: name or position."),
    _row("train tune compare curve certify info", "decimal", str, None, "Decimal mark of a table: . or ,"),
    _row("evaluate predict explain report", "decimal", str, None, "Decimal mark of a table: . or , (default: that of "
         "training)."),
    _row("train tune compare curve certify info", "encoding", str, None, "Character encoding of a table; default "
         "utf-8."),
    _row("evaluate predict explain report", "encoding", str, None, "Character encoding of a table; default: as in "
         "training."),
    _row("train tune compare curve certify info evaluate predict explain report", "na", list[str], [], "TEXT,...: "
         "cells of a table without a value, besides empty ones, NA, NaN, null, None and ?; a model remembers them."),
    _row("evaluate explain report", "on_error", str, None, "At a cell that the model cannot read: stop (default), skip "
         "the row, or impute (of a model that fills holes)."),
    _row("evaluate predict", "drift", str, None, "Training file: how far columns and decisions of DATA are from it "
         "(KS, PSI), and how many rows lie beyond its ranges; predict says so on stderr."),
    _row("predict", "on_error", str, None, "At a cell that the model cannot read: stop (default), skip the row, whose "
         "prediction is empty, or impute (of a model that fills holes)."),
    _row("evaluate predict explain report", "allow_missing", bool, False, "Take columns that a table lacks as holes."),
    _row("train tune compare curve certify info", "drop", list[str], [], "COL,...: columns of a table to leave out."),
    _row("train tune compare curve certify info", "only", list[str], [], "COL,...: columns of a table to take as "
         "features."),
    _row("train tune compare curve", "groups", str, None, "Column of a table (qid of svmlight, an array of .npz) whose "
         "rows of the same value stay together, in folds, splits and --test-size, and are ranked among themselves; no "
         "feature."),
    _row("train tune compare curve certify info", "categorical", list[str], [], "COL,...: columns of which each value "
         "is a category."),
    _row("train tune compare curve certify info", "tidy", list[str], [], "COL,...: columns of texts of which those "
         "that differ by case or blanks only are one category."),
    _row("evaluate report", "groups", str, None, "Column of a table whose rows are ranked among "
         "themselves."),
    _row("train tune compare curve evaluate report", "event", str, None, "Column of a table of --task rank: 1 where "
         "the label is the time of an event, 0 where it is censored."),
    _row("train tune compare curve", "task", str, None, "classify: each value of the label is a class, however many; "
         "regress: the label is a quantity. Default: numbers with fractions or of many values are a quantity, other "
         "labels are classes. rank: an order within groups (qid: of svmlight, --groups). train and compare: outliers, "
         "a model of normal rows without labels, of which --nu (0.1) is the fraction of outliers at most."),
    _row("compare curve", "metric", str, None, METRIC),
    _row("compare", "repeat", int, None, "Seeds 0 to N-1; default 1.", min=1),
    _row("compare", "jobs", int, 1, "Cells side by side, which then disturb each other's times.", min=1),
    _row("compare", "threads", int, None, "For all jobs together; default all cores.", min=1),
    _row("curve", "threads", int, None, "Threads; default all.", min=1),
    _row("train compare", "scheduler", str, None, SCHEDULER),
    _row("compare", "curve", bool, True, "Measure test accuracy or R2 as models grow, off the clock.",
         "--curve/--no-curve"),
    _row("compare", "results", str, None, "Keep finished cells here; default svmkit-compare.jsonl, or the spec's "
         "name."),
    _row("compare", "fresh", bool, False, "Run the cells again that are finished there."),
    _row("compare", "report", str, None, "Write an HTML report here."),
    _row("compare", "latex", str, None, "Write a table for papers here (booktabs)."),
    _row("train", "out", str, None, "Write the model here."),
    _row("tune", "out", str, None, "Write the best model here."),
    _row("curve", "out", str, None, "Keep finished fits here, from which the same command goes on."),
    _row("curve", "fresh", bool, False, "Run again what is finished there."),
    _row("curve", "plot", str, None, "Write a picture here (.png, .svg, .pdf)."),
    _row("train tune", "force", bool, False, "Replace --out without keeping the old file as FILE.bak."),
    _row("train tune", "register", str, None, "Name in the model registry."),
    _row("train tune compare", "experiment", str, None, "MLflow experiment; default svmkit."),
    _row("train tune compare", "no_track", bool, False, "Do not log to MLflow."),
    _row("train", "checkpoint", str, None, "Keep progress in this file."),
    _row("train", "every", Seconds, None, "Write --checkpoint that often, as in 30s (the default) or 2m."),
    _row("train", "resume", bool, False, "Resume from --checkpoint, else start at the model --out."),
)  # fmt: skip
_MODEL = _panel(
    "Model",
    _row("train", "C", float, None, "Weight of the summed losses; with --tune not searched.", "-C", show_default="1"),
    _row("tune", "C", float, None, "Weight of the summed losses where it is not searched; default 1.", "-C"),
    _row("compare", "C", list[float], None, "Weight of the summed losses; several values make several problems.", "-C"),
    _row("curve", "C", float, None, "Weight of the summed losses; default 1.", "-C"),
    _row("train tune compare curve", "loss", str, None, "See svmkit plugins --kind loss; its options by -o, as "
         "tau=0.9; default the solver's."),
    _row("train tune compare curve", "penalty", str, None, "Of the linear kernel: l2, l1 or elasticnet, which leave "
         "few columns with a weight, or group, of whole columns of a table; default the solver's."),
    _row("train tune compare curve", "penalty_groups", str, None, "Of --penalty group: the numbers of columns of "
         "groups that stand side by side, as 3,1,2; default the categories of each column of a table."),
    _row("train tune compare curve", "l1_ratio", float, None, "Of --penalty elasticnet: the share of |w|_1, from 0 to "
         "1.", show_default="0.5"),
    _row("train tune curve", "kernel", str, None, KERNEL),
    _row("compare", "kernel", str, None, "Default rbf, or linear when a solver needs it."),
    _row("train", "gamma", str, None, f"{GAMMA}; with --tune not searched."),
    _row("curve", "gamma", str, None, f"{GAMMA}."),
    _row("tune", "gamma", str, None, f"{GAMMA}: not searched."),
    _row("compare", "gamma", list[str], None, f"{GAMMA}; several values make several problems."),
    _row("train tune compare curve", "degree", str, None, "Of the poly kernel."),
    _row("train tune compare curve", "coef0", str, None, "Of the poly and sigmoid kernels."),
    _row("compare curve", "impute", str, None, IMPUTE),
    _row("compare curve", "scale", str, None, f"{SCALE}."),
    _row("train tune compare curve", "epsilon", float, None, "Of regression: errors up to it, in units of the target, "
         "cost nothing.", show_default=f"{EPSILON:g}"),
    _row("compare", "nu", list[float], None, "Of nu-SVC, nu-SVR and outliers; several values make several problems."),
    _row("train tune", "non_crossing", bool, False, "Sort the predictions of several levels, as of --loss quantile "
         "-o tau=0.1,0.5,0.9, in each row: no quantile lies above a later one."),
    _row("train", "nu", float, None, "nu-SVC and nu-SVR (smo, fcsmo, auto): the fraction of rows with a loss at most, "
         "of support vectors at least."),
    _row("train tune compare curve", "class_weight", str, None, "balanced, or LABEL=WEIGHT,..."),
    _row("train tune", "multiclass", str, None, "Of more than two classes: "
         f"{'; '.join(scheme.choice for scheme in SCHEMES.values())}."),
    _row("train tune compare", "calibrate", str, None, "Probabilities: sigmoid, or isotonic for many rows; fitted to "
         "decisions of five folds, and kept in the model."),
    _row("train", "thresholds", bool, False, "Keep what thresholds would cost out of five folds of two classes, for "
         "evaluate and predict --cost, as --calibrate does, without a calibration."),
    _row("train", "conformal", float, None, "Share of new rows that sets may miss, as 0.1: predict --sets prints sets "
         "of classes, or intervals; a quarter of the rows is held out of training for it."),
    _row("train", "conformal_folds", int, None, "Train on all rows, and once without each of so many folds, for the "
         "sets of --conformal (CV+): at least 1 - 2 SHARE is guaranteed.", min=2),
    _row("train", "conformal_by", str, None, "class: the share holds of the rows of each class."),
    _row("train tune", "relevance", str, None, "learned: weights of the columns from the gradients of the model, where "
         "three folds find them better; tune learns them for its best candidate. Without --scale: standard, "
         "of sparse data maxabs."),
    _row("compare", "multiclass", list[str], None, f"{', '.join(SCHEMES)}; several make several problems. Default: "
         "ovo."),
    _row("train tune", "impute", str, None, IMPUTE),
    _row("train", "scale", str, None, f"{SCALE}. Default: none; with --tune, what the folds find better where scales "
         "differ much."),
    _row("tune", "scale", str, None, f"{SCALE}, fitted in each fold. Default: none; with --search zoom, what the folds "
         "find better where scales differ much."),
)  # fmt: skip
_STREAMS = _panel(
    "Streams",
    _row("train", "classes", str, None, "Labels to expect, as in -1,1; default: the labels of the first block."),
    _row("train", "on_error", str, None, "At a bad line: stop (default) or skip."),
    _row("train", "block", int, None, "Samples taken together; default 1024.", min=1),
)  # fmt: skip
_CELLS = _panel(
    "Solving",
    _row("compare", "tol", float, None, "Certified relative duality gap to reach; default 1e-3."),
    _row("compare", "stop", str, None, 'Rule instead of --tol, such as "abs:1e-6 | epochs:5".'),
    _row("compare", "time_limit", Seconds, None, "Seconds for one cell; default 300."),
    _row("compare", "memory", Size, None, "Budget of a row cache; default 1GB."),
)
TABLE = (*_PANELLESS, *_WHAT, *_SOLVING, *_SEARCH, *_RUN, *_MODEL, *_STREAMS, *_CELLS)


def _on_device(options: Options) -> AbstractContextManager[None]:
    """Return the context for the device of a command that has one; it includes predictions."""
    if getattr(options, "device", None) is None:
        return nullcontext()
    from svmkit.kernels.engines import on_device  # most commands need no engine

    return on_device(options.device)


def defaults(command: str) -> dict[str, Any]:
    """Return the values of the options of a command that is called without any."""
    return {row.name: row.info.default for row in TABLE if command in row.commands.split()}


def _read_in_our_words(row: Row) -> Any:
    """Return the typer option, whose texts are read by `READERS` if its type is one of theirs."""
    info = row.info
    if row.type in READERS and info.parser is None:
        what = next(iter(info.param_decls or ()), f"--{row.name.replace('_', '-')}")
        least = {} if info.min is None else {"least": info.min}
        info.parser, info.min, info.metavar = partial(READERS[row.type], what=what, **least), None, SHOWN_AS[row.type]
    return info


def takes(command: str, *own: Row) -> Callable[[Callable[[Options], None]], Callable[..., None]]:
    """Give a function the signature of a command, and call it with one object that has the values of all options.

    The command has its `own` rows, followed by the rows of the table that name it. A command with `config` takes
    options from that file, too. Warnings of svmkit become lines on stderr.
    """
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter("context", keyword, annotation=typer.Context)]
    parameters += [
        inspect.Parameter(row.name, keyword, annotation=row.type, default=_read_in_our_words(row))
        for row in (*own, *(row for row in TABLE if command in row.commands.split()))
    ]

    def decorate(function: Callable[[Options], None]) -> Callable[..., None]:
        @wraps(function)
        def call(context: typer.Context, **values: Any) -> None:
            with warnings_as_notes():
                options = Options(**merge_file(context, values))
                with _on_device(options):
                    function(options)

        vars(call)["__signature__"] = inspect.Signature(parameters)
        call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return call

    return decorate
