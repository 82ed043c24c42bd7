"""The options that several commands share, and the panels of --help in which they appear."""

from __future__ import annotations

import typer

MODEL, SOLVE, RUN = "Model", "Solving", "Run"

KERNEL = typer.Option(
    None,
    help="See svmkit plugins --kind kernel; default rbf, or linear for a solver that needs it.",
    rich_help_panel=MODEL,
)
DEGREE = typer.Option(None, help="Of the poly kernel.", rich_help_panel=MODEL)
COEF0 = typer.Option(None, help="Of the poly and sigmoid kernels.", rich_help_panel=MODEL)
CLASS_WEIGHT = typer.Option(None, help="balanced, or LABEL=WEIGHT,...", rich_help_panel=MODEL)
IMPUTE = typer.Option(
    None,
    help="What fills the holes of number columns: median, most_frequent, or indicator (median, and a 0/1 feature for "
    "each column with holes); learnt from the training rows. Default: holes are refused.",
    rich_help_panel=MODEL,
)
SAMPLER = typer.Option(
    None, help="full, uniform:59, balanced:59, ...; default the solver's own.", rich_help_panel=SOLVE
)
SOLVER = typer.Option("auto", help="See svmkit plugins.", rich_help_panel=SOLVE)
TOL = typer.Option(None, help="Relative duality gap to reach.", show_default="0.001", rich_help_panel=SOLVE)
STOP = typer.Option(
    None, help="Rule instead of --tol: abs:1e-6, kkt:1e-3 (LIBSVM's eps), 'gap:1e-3|iter:1000'.", rich_help_panel=SOLVE
)
N_FEATURES = typer.Option(
    None, min=1, help="Columns of an svmlight set whose last ones may be empty.", rich_help_panel=RUN
)
LABEL = typer.Option(None, help="Label column of a table: name or position.", rich_help_panel=RUN)
DECIMAL = typer.Option(None, help="Decimal mark of a table: . or ,", rich_help_panel=RUN)
CHARSET = typer.Option(None, "--encoding", help="Character encoding of a table; default utf-8.", rich_help_panel=RUN)
DROP = typer.Option([], help="COL,...: columns of a table to leave out.", rich_help_panel=RUN)
ONLY = typer.Option([], help="COL,...: columns of a table to take as features.", rich_help_panel=RUN)
CATEGORICAL = typer.Option([], help="COL,...: columns of which each value is a category.", rich_help_panel=RUN)
TASK = typer.Option(
    None,
    help="classify: each value of the label is a class, however many; regress: the label is a quantity. Default: "
    "numbers with fractions or of many values are a quantity, other labels are classes. train alone: outliers, a model "
    "of normal rows without labels, of which --nu (0.1) is the fraction of outliers at most.",
    rich_help_panel=RUN,
)
MULTICLASS = typer.Option(
    None,
    help="Of more than two classes: ovo (default), a problem for each class pair; ovr, one for each class against the "
    "rest; crammer_singer, one for all (linear kernel).",
    rich_help_panel=MODEL,
)
CALIBRATE = typer.Option(
    None,
    help="Probabilities: sigmoid, or isotonic for many rows; fitted to decisions of five folds, and kept in the model.",
    rich_help_panel=MODEL,
)
EPSILON = typer.Option(
    None,
    help="Of regression: errors up to it, in units of the target, cost nothing.",
    show_default="0.1",
    rich_help_panel=MODEL,
)
NU = typer.Option(
    None,
    help="nu-SVC and nu-SVR (smo, fcsmo, auto): the fraction of rows with a loss at most, of support vectors at least.",
    rich_help_panel=MODEL,
)
EXPERIMENT = typer.Option(None, help="MLflow experiment; default svmkit.", rich_help_panel=RUN)
NO_TRACK = typer.Option(False, "--no-track", help="Do not log to MLflow.", rich_help_panel=RUN)
FORCE = typer.Option(
    False, "--force", help="Replace --out without keeping the old file as FILE.bak.", rich_help_panel=RUN
)
SCHEDULER = typer.Option(
    None,
    help="Run on the workers of a Dask cluster: tcp://HOST:PORT, a scheduler file, or local:N for N processes here.",
    rich_help_panel=RUN,
)
REGISTER = typer.Option(None, help="Name in the model registry.", rich_help_panel=RUN)
OPTIONS = typer.Option(
    [], "-o", help="KEY=VALUE of the solver, such as loss=squared_hinge where it has a choice; or kernel.KEY=VALUE."
)
METRIC = typer.Option(
    None,
    help="Scorer of scikit-learn, as f1 or roc_auc; default accuracy, or balanced_accuracy with --class-weight or if a "
    "class has less than a tenth of the rows. Of regression r2 (default), rmse, mae or another scorer of regression.",
    rich_help_panel=RUN,
)
