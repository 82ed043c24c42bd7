"""The work of `svmkit curve`: train on increasing numbers of rows; show, draw and save the results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from svmkit.cli.common import cells_shown, emit, note
from svmkit.cli.comparing.comparison import CellsJob, CompareOptions
from svmkit.cli.comparing.comparison_table import format_mean, make_console
from svmkit.cli.option_table import Options
from svmkit.compare.cells import runner
from svmkit.compare.learning import (
    growth,
    learning_cells,
    plot_learning_curve,
    tested_columns,
    title_of_metric,
    with_test,
)
from svmkit.compare.report.plots import numbers
from svmkit.compare.results import as_line, results_frame
from svmkit.errors import InputError, SvmkitError
from svmkit.runtime import files, interrupt
from svmkit.runtime.packages import require_installed
from svmkit.runtime.terminal import say

if TYPE_CHECKING:
    import pandas as pd

PICTURES = (".png", ".svg", ".pdf")
_OWN = ("data", "solver", "rows", "repeat", "out", "fresh", "plot")  # its options besides those of `svmkit compare`
_TITLES = {"fit_s": "time", "gap": "gap", "test_accuracy": "accuracy", "test_r2": "R2", "test_metric": "metric"}
_TITLES |= {"test_rmse": "RMSE", "test_mae": "MAE", "n_support": "support"}


class Learning(CellsJob):
    """A learning curve, whose options are all checked before any fit."""

    noun = "fits"
    is_drawn = False  # whether the picture was written

    def __init__(self, options: Options) -> None:
        self.options, self.plot, self.out = options, options.plot, options.out
        plot, out = options.plot, options.out
        if plot and Path(plot).suffix.lower() not in PICTURES:
            raise InputError(f"--plot {plot}: give a name that ends with {', '.join(PICTURES)}")
        if plot:
            require_installed("pictures", "matplotlib")
        for path in (plot, out):
            if path:
                files.require_writable(path)
        given = {name: value for name, value in vars(options).items() if name not in _OWN}
        several = {name: [given[name]] if given[name] is not None else [] for name in ("C", "gamma")}
        spec = with_test(CompareOptions(**given | several, data=[options.data], solvers=options.solver).comparison())
        try:
            sizes = None if options.rows is None else [int(part.replace("_", "")) for part in options.rows.split(",")]
        except ValueError:
            example = "give whole numbers joined by commas, such as 100,1000,10000"
            raise InputError(f"--rows {options.rows}: {example}") from None
        cells = learning_cells(spec, sizes, options.repeat)
        super().__init__(cells, options.time_limit or spec.time_limit, out, fresh=options.fresh)

    def run(self) -> None:
        """Run the missing fits; Ctrl-C ends with the finished ones."""
        with interrupt.catching(to_end=True), cells_shown(len(self.list_missing())) as show:
            self.is_whole = runner.run(
                self.cells, self.store, limit=self.limit, threads=self.options.threads, curve=False, callbacks=[show]
            )
        self.records = self.store.records_of(self.cells)
        self.frame = results_frame(self.records)
        if self.store.failure:
            self.failure = SvmkitError(self.store.failure)
        self.draw()

    def draw(self) -> None:
        """Write the picture, if requested and if a fit has succeeded."""
        if self.plot and self.frame["fit_s"].notna().any():
            try:
                plot_learning_curve(self.frame).savefig(self.plot, dpi=150)
                self.is_drawn = True
            except OSError as error:
                self.failure = SvmkitError(f"cannot write {self.plot}: {error.strerror}")

    def show(self) -> None:
        """Print one JSON object, or a table and the growth of times."""
        trends = growth(self.frame)
        if self.options.json:
            emit({
                "fits": [as_line(record) for record in self.records],
                "growth": [{k: getattr(g, k) for k in ("solver", "exponent", "low", "high", "sizes")} for g in trends],
                "is_whole": self.is_whole,
                "plot": self.plot if self.is_drawn else None,
            })  # fmt: skip
        else:
            print_table(self.frame)
            for line in trends:
                say(line)
            if self.out:
                say(f"results  {self.out}")
            if self.is_drawn:
                say(f"picture  {self.plot}")
        if not self.is_whole:
            kept = "the same command goes on with what is missing" if self.out else "--out FILE keeps what is finished"
            note(f"interrupted: {kept}")


def print_table(frame: pd.DataFrame) -> None:
    """Print the means over the repeats for each number of rows and solver, with the deviation of accuracies."""
    from rich.table import Table
    from rich.text import Text

    known = [name for name in ("fit_s", "gap", *tested_columns(frame), "n_support") if frame[name].notna().any()]
    titles = _TITLES | {"test_metric": title_of_metric(frame)}
    table = Table(box=None, pad_edge=False)
    for title in ("rows", "solver", "status", *(titles[name] for name in known)):
        table.add_column(title, justify="left" if title in ("solver", "status") else "right", no_wrap=True)
    for (name, solver), runs in frame.groupby(["set", "solver"], sort=False):
        values = {metric: numbers(runs[metric].dropna()) for metric in known}
        cells = [_cell(metric, values[metric]) for metric in known]
        rows = str(name).rsplit(" ", 2)[-2]
        statuses = ", ".join(dict.fromkeys(runs["status"]))
        table.add_row(f"{int(rows):,}", Text(str(solver)), statuses, *cells)
    console = make_console()
    console.print(table)
    for text in dict.fromkeys(frame["reason"].dropna()):
        console.print(f"  {text}", markup=False, style="red")


def _cell(metric: str, values: Any) -> str:
    if not len(values):
        return ""
    text = format_mean(metric, values.mean())
    spread = values.std(ddof=1) if len(values) > 1 and metric.startswith("test_") else None
    return text if spread is None else f"{text} ±{format_mean(metric, spread)}"
