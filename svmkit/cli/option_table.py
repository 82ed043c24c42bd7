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
from typer.models import OptionInfo

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
    "Fill missing values of number columns by the median, most_frequent, or indicator (the median, and a 0/1 feature "
    "for each column with missing values) of the training rows. By default, missing values are refused."
)
KERNEL = (
    "Name of the kernel; svmkit plugins --kind kernel lists all kernels; default rbf, or linear for a solver that "
    "needs it."
)
METRIC = (
    "Classification: a scorer of scikit-learn, such as f1 or roc_auc; default accuracy, or balanced_accuracy with "
    "--class-weight or if a class has less than a tenth of the rows. Regression: r2 (the default), rmse, mae or "
    "another scorer. Rankings: concordance (the default), ndcg, ndcg@5, kendall_tau or auc."
)
SCHEDULER = (
    "Run on the workers of a Dask cluster: tcp://HOST:PORT, a scheduler file, or local:N for N processes on this "
    "machine."
)
TEST = "Test set; the default is DATA.t if it exists."


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
    _row("curve", "rows", str, None, "Numbers of training rows, separated by commas; the default is six numbers in a "
         "geometric sequence, up to all rows."),
    Row("train tune compare evaluate predict explain report", "strict", bool, STRICT),
    Row("train tune evaluate predict explain report", "threads", int, THREADS),
    _row("train tune compare evaluate predict report", "device", str, None, "Device for kernel values: cpu (the "
         "default), auto (a GPU if there is one) or, with the extra torch, cuda, cuda:1, xpu, mps, torch:cpu."),
    _row("train tune", "option", list[str], [], "KEY=VALUE: an option of the solver, such as loss=squared_hinge; "
         "kernel.KEY=VALUE: a parameter of the kernel. Repeatable.", "-o"),
    _row("curve", "option", list[str], [], "SOLVER.KEY=VALUE: an option of a solver; kernel.KEY=VALUE: a parameter of "
         "the kernel; KEY=VALUE: an option of --loss. Repeatable.", "-o"),
    Row("train tune compare evaluate certify predict explain report show export", "tracking_uri", str, TRACKING_URI),
    _row("train", "config", str, None, "Read options from this YAML file; the command line takes precedence."),
    Row("train tune compare curve evaluate certify predict explain report show export plugins check warmup",
        "plugin", list[str], PLUGIN),
    Row("train tune compare curve evaluate certify predict explain report info list fetch show export import plugins "
        "new check warmup",
        "json", bool, JSON),
)  # fmt: skip
_WHAT = _panel(
    "What",
    _row("compare", "solvers", str, None, "Names of solvers, separated by commas; with --spec, only these solvers of "
         "the file are run."),
    _row("compare", "spec", str, None, "Read the comparison from this YAML file: data, splits, solvers with options, "
         "kernels, C, gamma, seeds, stopping rules."),
    _row("compare", "option", list[str], [], "SOLVER.KEY=VALUE: an option of a solver; kernel.KEY=VALUE: a parameter "
         "of the kernel; KEY=VALUE: an option of --loss. Repeatable.", "-o"),
    _row("compare", "test", str, None, "Test set, if there is one DATA; the default is DATA.t if it exists."),
    _row("compare", "test_size", Share, None, "Hold out this fraction of each set for testing instead."),
    _row("compare", "splits", int, None, "Number of random splits into training and test rows; --test-size is then "
         "0.25 by default.",
         min=1),
    _row("compare", "cv", str, None, "Number of folds, stratified by class, each of which is held out once; time:5 "
         "keeps the order of the rows and tests on those that follow; or a file with the fold number of each row."),
    _row("compare", "metrics", str, None, "Columns of the table, separated by commas: fit_s, gap, suboptimality, "
         "objective, n_iter, kernel_values, n_support, test_accuracy, test_r2, test_rmse, test_mae, test_log_loss and "
         "test_brier_score (with --calibrate), test_metric (with --metric), test_coverage (between the lowest and the "
         "highest tau), train_outliers and test_outliers (with --task outliers); default all."),
)  # fmt: skip
_SOLVING = _panel(
    "Solving",
    _row("train tune", "solver", str, "auto", "Name of the solver; svmkit plugins lists all solvers."),
    _row("curve", "solver", str, "auto", "Names of solvers, separated by commas; svmkit plugins lists all "
         "solvers.", "--solver", "--solvers"),
    _row("train tune", "sampler", str, None, "Rows at which a step looks: full, uniform:59, balanced:59, ...; the "
         "default is that of the solver. Some solvers, smo and fcsmo among them, look at all rows."),
    _row("train tune curve", "tol", float, None, "Relative duality gap to reach, which is "
         "certified.", show_default=f"{TOL:g}"),
    _row("train tune curve", "stop", str, None, "Stopping rule instead of --tol: kkt:1e-3 (LIBSVM's eps), rel:1e-3 or "
         "abs:1e-6 (the estimate of Frank-Wolfe methods), or several, as 'gap:1e-3|iter:1000'."),
    _row("train", "max_iter", int, None, "Largest number of iterations, for each pair of classes."),
    _row("train", "max_epochs", float, None, "Largest number of passes over the data."),
    _row("train", "time_limit", Seconds, None, "Longest time, as in 90s or 5m."),
    _row("train", "max_support", int, None, "Largest number of support vectors, for each pair of classes."),
    _row("tune", "max_iter", int, None, "Largest number of iterations of one fit, for each pair of classes."),
    _row("tune", "max_epochs", float, None, "Largest number of passes over the data in one fit."),
    _row("tune", "time_limit", Seconds, None, "Longest time of one fit, as in 90s or 5m."),
    _row("curve", "time_limit", Seconds, None, "Longest time of one fit, as in 90s or 5m; default 300 s."),
    _row("train", "memory", Size, "1GB", "Size of the cache of kernel rows."),
    _row("train", "dtype", str, None, "Data type of the features: float64, or float32, which takes half the memory; "
         "the default is that of the file."),
    _row("tune", "memory", Size, "1GB", "Total size of the caches of kernel rows of all jobs."),
    _row("curve", "memory", Size, None, "Size of the cache of kernel rows; default 1GB."),
    _row("train", "seed", int, 0, "Seed of all random choices.", min=0),
    _row("tune", "seed", int, 0, "Seed of all random choices, including the folds.", min=0),
)  # fmt: skip
_SEARCH = _panel(
    "Search",
    _row("tune", "grid", list[str], [], "NAME=VALUES, repeatable. NAME: C, gamma, degree, coef0, epsilon, nu, kernel, "
         "scale, impute, class_weight (none,balanced), multiclass or an option of the solver. VALUES: a list "
         "1,10,100; 0.1:1000:log5, five values in a geometric sequence; 0:1:lin5, in an arithmetic one; 2^-5:2^15:2 "
         "as in LIBSVM, with a step of 2 in the exponent; or, with --search random, a range 0.1:1000, from which the "
         "logarithm is drawn uniformly. The default is LIBSVM's grid, C=2^-5:2^15:2 and, for kernels with gamma, "
         "gamma=2^-15:2^3:2; with --search random, the same ranges."),
    _row("train", "tune", bool, False, "First choose C, gamma and, for regression, epsilon, unless they are given, by "
         "cross-validation over values suggested by the data. --time-limit then covers search and training."),
    _row("train", "cv", Folds, None, "Number of folds of --tune, which are shuffled and stratified by class, or loo "
         "(leave one out); default 5.", min=2),
    _row("tune", "search", str, "grid", "grid, random, halving or zoom. With zoom, as in train --tune, the data "
         "suggest the values, in rounds around the best one; there is no --grid, and --time-limit covers the whole "
         "search."),
    _row("tune", "n_iter", int, None, "Number of candidates of --search random; default 20.", min=1),
    _row("tune", "factor", int, None, "With --search halving, 1/factor of the candidates stay in each round; "
         "default 3.", min=2),
    _row("tune", "refine", str, "near", "Which candidates are solved to --tol: all, or near: slow fits with shared "
         "kernel values stop at a gap of 0.1 if their score is far from the best."),
    _row("tune", "cv", Folds, 5, "Number of folds, which are shuffled and stratified by class; loo leaves out one row "
         "at a time.", min=2),
    _row("tune", "nested", int, None, "Number of outer folds of nested cross-validation: search and training are "
         "repeated without each fold, and the model is tested on it.", min=2),
    _row("tune", "jobs", int, 1, "Number of fits that run at the same time; they share threads and memory.", min=1),
    _row("tune", "backend", str, "loky", "Backend of joblib: loky, threading, dask or ray."),
    _row("train", "plot", str, None, "Draw the results of --tune or --relevance to this file: .png, .svg or .pdf."),
    _row("tune", "plot", str, None, "Draw the metric of the candidates to this file: .png, .svg or .pdf."),
)  # fmt: skip
_RUN = _panel(
    "Run",
    _row("tune", "scheduler", str, None, SCHEDULER),
    _row("tune", "metric", str, None, METRIC),
    _row("curve", "repeat", int, 3, "Number of random samples of each size.", min=1),
    _row("train", "test", str, None, "Test set."),
    _row("tune", "test", str, None, "Test set for the best model."),
    _row("curve", "test", str, None, TEST),
    _row("train", "test_size", Share, None, "Fraction of DATA to hold out for testing."),
    _row("tune", "test_size", Share, None, "Fraction of DATA to hold out, before the search, for testing the best "
         "model."),
    _row("curve", "test_size", Share, None, "Fraction of DATA to hold out for testing instead; default 0.25 if there "
         "is no test set."),
    _row("train", "curve", bool, False, "Measure the test accuracy of the growing model; also with --max-support."),
    _row("train", "metric", str, None, METRIC),
    _row("train tune", "n_features", int, None, "Number of columns of an svmlight file, if the last ones may be "
         "empty.", min=1),
    _row("train tune compare curve certify info", "label", str, None, "Label column of a table: its name, or its "
         "position from 0 (-1 is the last); several, separated by commas, are several outputs."),
    _row("train tune compare curve certify info", "decimal", str, None, "Decimal mark of a table: . or ,"),
    _row("evaluate predict explain report", "decimal", str, None, "Decimal mark of a table: . or , (the default is "
         "that of the training file)."),
    _row("train tune compare curve certify info", "encoding", str, None, "Character encoding of a table; default "
         "utf-8."),
    _row("evaluate predict explain report", "encoding", str, None, "Character encoding of a table; the default is "
         "that of the training file."),
    _row("train tune compare curve certify info evaluate predict explain report", "na", list[str], [], "TEXT,...: "
         "contents of table cells that mean a missing value, besides empty cells, NA, NaN, null, None and ?; the "
         "model remembers them."),
    _row("evaluate explain report", "on_error", str, None, "If the model cannot read a cell: stop (the default), skip "
         "the row, or impute (for a model that fills missing values)."),
    _row("evaluate predict", "drift", str, None, "Compare DATA with this training file: the drift of columns and "
         "decisions (KS, PSI), and the share of rows outside its ranges; predict reports it on stderr."),
    _row("predict", "on_error", str, None, "If the model cannot read a cell: stop (the default), skip the row, whose "
         "prediction is then empty, or impute (for a model that fills missing values)."),
    _row("evaluate predict explain report", "allow_missing", bool, False, "Treat columns that are absent from the "
         "table as missing values."),
    _row("train tune compare curve certify info", "drop", list[str], [], "COL,...: columns of a table to leave out."),
    _row("train tune compare curve certify info", "only", list[str], [], "COL,...: columns of a table to use as "
         "features."),
    _row("train tune compare curve", "groups", str, None, "Column of a table (qid in svmlight, an array in .npz): "
         "rows with the same value stay together in folds, splits and --test-size, and --task rank orders rows within "
         "them. It is not used as a feature."),
    _row("train tune compare curve certify info", "categorical", list[str], [], "COL,...: columns whose values are "
         "categories, even if they are numbers."),
    _row("train tune compare curve certify info", "tidy", list[str], [], "COL,...: text columns in which values that "
         "differ only by case or blanks are the same category."),
    _row("evaluate report", "groups", str, None, "Column of a table: a ranking is judged among rows with the same "
         "value."),
    _row("train tune compare curve evaluate report", "event", str, None, "With --task rank, a column of the table: 1 "
         "if the label is the time of an event, 0 if it is censored."),
    _row("train tune compare curve", "task", str, None, "classify: each value of the label is a class; regress: the "
         "label is a quantity. By default, numbers with fractions or with many values are a quantity, and other "
         "labels are classes. rank: the label is an order within groups (qid in svmlight, --groups). outliers, in "
         "train and compare: a model of normal rows, without labels; --nu (0.1) is the largest fraction of training "
         "rows that are outliers."),
    _row("compare curve", "metric", str, None, METRIC),
    _row("evaluate", "metric", str, None, "Measure this, too: a scorer of scikit-learn, such as matthews_corrcoef or "
         "f1_macro; for rankings concordance, ndcg, ndcg@5, kendall_tau or auc."),
    _row("compare", "repeat", int, None, "Repeat with the seeds 0 to N-1; default 1.", min=1),
    _row("compare", "jobs", int, 1, "Number of cells that run at the same time; they slow each other down.", min=1),
    _row("compare", "threads", int, None, "Number of threads of all jobs together; default all cores.", min=1),
    _row("curve", "threads", int, None, "Number of threads; default all.", min=1),
    _row("train compare", "scheduler", str, None, SCHEDULER),
    _row("compare", "curve", bool, True, "Measure the test accuracy or R2 of growing models; the time of this is not "
         "counted.",
         "--curve/--no-curve"),
    _row("compare", "results", str, None, "Keep finished cells in this file; default svmkit-compare.jsonl, or the "
         "name of the spec."),
    _row("compare", "fresh", bool, False, "Run finished cells again."),
    _row("compare", "report", str, None, "Write an HTML report to this file."),
    _row("compare", "latex", str, None, "Write a LaTeX table (booktabs) to this file."),
    _row("train", "out", str, None, "Write the model to this file."),
    _row("tune", "out", str, None, "Write the best model to this file."),
    _row("curve", "out", str, None, "Keep finished fits in this file; the same command continues from it."),
    _row("curve", "fresh", bool, False, "Run finished fits again."),
    _row("curve", "plot", str, None, "Draw the curves to this file: .png, .svg or .pdf."),
    _row("train tune", "force", bool, False, "Replace --out without keeping the old file as FILE.bak."),
    _row("train tune", "register", str, None, "Register the model under this name in the model registry."),
    _row("train tune compare", "experiment", str, None, "MLflow experiment; default svmkit."),
    _row("train tune compare", "no_track", bool, False, "Do not log to MLflow."),
    _row("train", "checkpoint", str, None, "Keep the state of the training in this file."),
    _row("train", "every", Seconds, None, "Time between two writes of --checkpoint, as in 30s (the default) or 2m."),
    _row("train", "resume", bool, False, "Continue from --checkpoint or, without it, start from the model in --out."),
)  # fmt: skip
_MODEL = _panel(
    "Model",
    _row("train", "C", float, None, "Weight of the sum of losses; with --tune, C is then not "
         "searched.", "-C", show_default="1"),
    _row("tune", "C", float, None, "Weight of the sum of losses, if C is not searched; default 1.", "-C"),
    _row("compare", "C", list[float], None, "Weight of the sum of losses; repeatable, each value is another "
         "problem.", "-C"),
    _row("curve", "C", float, None, "Weight of the sum of losses; default 1.", "-C"),
    _row("train tune compare curve", "loss", str, None, "Loss, with its options as -o tau=0.9; svmkit plugins --kind "
         "loss lists all losses; the default is that of the solver."),
    _row("train tune compare curve", "penalty", str, None, "Penalty, with the linear kernel: l2; l1 or elasticnet, "
         "which make many weights exactly 0; or group, which does so for all weights of a table's column; the default "
         "is that of the solver."),
    _row("train tune compare curve", "penalty_groups", str, None, "With --penalty group: the sizes of groups of "
         "adjacent columns, as 3,1,2; the default is one group for all categories of a column of a table."),
    _row("train tune compare curve", "l1_ratio", float, None, "With --penalty elasticnet: the share of |w|_1, from 0 "
         "to 1.", show_default="0.5"),
    _row("train tune curve", "kernel", str, None, KERNEL),
    _row("compare", "kernel", str, None, "Name of the kernel; default rbf, or linear for a solver that needs it."),
    _row("train", "gamma", str, None, f"gamma of the kernel: {GAMMA}; with --tune, it is then not searched."),
    _row("curve", "gamma", str, None, f"gamma of the kernel: {GAMMA}."),
    _row("tune", "gamma", str, None, f"gamma of the kernel, which is then not searched: {GAMMA}."),
    _row("compare", "gamma", list[str], None, f"gamma of the kernel: {GAMMA}; repeatable, each value is "
         "another problem."),
    _row("train tune compare curve", "degree", str, None, "Degree of the poly kernel."),
    _row("train tune compare curve", "coef0", str, None, "Constant term of the poly and sigmoid kernels."),
    _row("compare curve", "impute", str, None, IMPUTE),
    _row("compare curve", "scale", str, None, f"Scaling of the columns: {SCALE}."),
    _row("train tune compare curve", "epsilon", float, None, "With regression, the size of errors that cost nothing, "
         "in units of the target.", show_default=f"{EPSILON:g}"),
    _row("compare", "nu", list[float], None, "nu of nu-SVC, nu-SVR and --task outliers; repeatable, each value is "
         "another problem."),
    _row("train tune", "non_crossing", bool, False, "Sort the predictions of several levels, as with --loss quantile "
         "-o tau=0.1,0.5,0.9, in each row, so that quantiles never cross."),
    _row("train", "nu", float, None, "Train a nu-SVC or nu-SVR (solvers smo, fcsmo, auto): the largest fraction of "
         "rows with a positive loss, and the smallest fraction of support vectors."),
    _row("train tune compare curve", "class_weight", str, None, "Weights of the classes: balanced, or "
         "LABEL=WEIGHT,..."),
    _row("train tune", "multiclass", str, None, "Division of more than two classes: "
         f"{'; '.join(scheme.choice for scheme in SCHEMES.values())}."),
    _row("train tune compare", "calibrate", str, None, "Add probabilities to the model, fitted to the decisions of "
         "five folds: sigmoid, or isotonic for many rows."),
    _row("train", "thresholds", bool, False, "For two classes, keep the decisions of five folds for evaluate --cost "
         "and predict --cost, without a calibration; --calibrate keeps them, too."),
    _row("train", "conformal", Share, None, "Share of new rows whose sets may miss the truth, as 0.1: predict --sets "
         "then prints sets of classes, or intervals. A quarter of the training rows is held out for this."),
    _row("train", "conformal_folds", int, None, "Number of folds for --conformal (CV+): the model is trained on all "
         "rows, and others without each fold; the guarantee falls from 1 - SHARE to a little less than 1 - 2 "
         "SHARE.", min=2),
    _row("train", "conformal_by", str, None, "class: the share of --conformal holds for each class by itself."),
    _row("train tune", "relevance", str, None, "learned: weight the columns by the gradients of the model, if this is "
         "better in three folds; tune does so for its best candidate. --scale is then standard by default, and maxabs "
         "for sparse data."),
    _row("compare", "multiclass", list[str], None, f"Division of more than two classes: {', '.join(SCHEMES)}; "
         "repeatable, each is another problem; default ovo."),
    _row("train tune", "impute", str, None, IMPUTE),
    _row("train", "scale", str, None, f"Scaling of the columns: {SCALE}. Default none; with --tune, the better one in "
         "the folds if the columns' scales differ much."),
    _row("tune", "scale", str, None, f"Scaling of the columns, which is fitted in each fold: {SCALE}. Default none; "
         "with --search zoom, the better one in the folds if the columns' scales differ much."),
)  # fmt: skip
_STREAMS = _panel(
    "Streams",
    _row("train", "classes", str, None, "Labels of all classes, as in -1,1; the default is the labels of the first "
         "block."),
    _row("train", "on_error", str, None, "If a line is faulty: stop (the default), or skip it."),
    _row("train", "block", int, None, "Number of samples in a block; default 1024.", min=1),
)  # fmt: skip
_CELLS = _panel(
    "Solving",
    _row("compare", "tol", float, None, "Relative duality gap to reach, which is certified; default 1e-3."),
    _row("compare", "stop", str, None, 'Stopping rule instead of --tol, such as "abs:1e-6 | epochs:5".'),
    _row("compare", "time_limit", Seconds, None, "Longest time of one cell, as in 90s or 5m; default 300 s."),
    _row("compare", "memory", Size, None, "Size of the cache of kernel rows; default 1GB."),
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
        info.parser, info.min = partial(READERS[row.type], what=what, **least), None
    if isinstance(info, OptionInfo) and info.metavar is None:
        info.metavar = SHOWN_AS.get(row.type)
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
