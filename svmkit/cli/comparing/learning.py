"""The work of `svmkit curve`: train on more and more rows, and show, draw and keep the results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from svmkit.cli.common import emit, note
from svmkit.cli.comparing.compare_options import CompareOptions
from svmkit.cli.option_table import Options
from svmkit.cli.progress import cells_shown
from svmkit.compare.cells import runner
from svmkit.compare.cells.store import FAILED, Store
from svmkit.compare.learning import growth, learning_cells, plot_learning_curve, with_test
from svmkit.compare.report.plots import numbers
from svmkit.compare.results import as_line, results_frame
from svmkit.errors import InputError, SvmkitError
from svmkit.runtime import files

if TYPE_CHECKING:
    import pandas as pd

PICTURES = (".png", ".svg", ".pdf")
_OWN = ("data", "solver", "rows", "repeat", "out", "fresh", "plot")  # what it has besides options of `svmkit compare`
_SHOWN = {"fit_s": ("time", "{:.3g} s"), "gap": ("gap", "{:.1e}"), "test_accuracy": ("accuracy", "{:.2%}")}
_SHOWN |= {"test_r2": ("R2", "{:.4f}"), "n_support": ("support", "{:,.0f}")}


class Learning:
    """A learning curve, whose options are all checked before a fit.

    Parameters
    ----------
    options : Options
        The options of the command.

    Attributes
    ----------
    failure : SvmkitError or None
        A file that could not be written: it is raised once the results have been shown.

    Raises
    ------
    InputError
        A value cannot be used.
    """

    def __init__(self, options: Options) -> None:
        self.plot, self.out, self.threads = options.plot, options.out, options.threads
        plot, out = options.plot, options.out
        if plot and Path(plot).suffix.lower() not in PICTURES:
            raise InputError(f"--plot {plot}: give a name that ends with {', '.join(PICTURES)}")
        for path in (plot, out):
            if path:
                files.require_writable(path)
        given = {name: value for name, value in vars(options).items() if name not in _OWN}
        several = {name: [given[name]] if given[name] is not None else [] for name in ("C", "gamma")}
        comparison = CompareOptions(**given | several, data=[options.data], solvers=options.solver).comparison()
        spec = with_test(comparison)
        self.limit = options.time_limit or spec.time_limit
        self.cells = learning_cells(spec, _sizes(options.rows), options.repeat)
        self.store = Store(out)
        if options.fresh:
            for cell in self.cells:
                self.store.records.pop(cell.key, None)
        self.is_whole = False
        self.failure: SvmkitError | None = None

    def run(self) -> None:
        """Run what is missing; Ctrl-C ends with what is finished."""
        todo = [cell for cell in self.cells if not self.store.has(cell, self.limit)]
        if len(todo) < len(self.cells):
            note(f"{len(self.cells) - len(todo)} of {len(self.cells)} fits were finished before ({self.out})")
        with cells_shown(len(todo)) as show:
            self.is_whole = runner.run(
                self.cells, self.store, limit=self.limit, threads=self.threads, curve=False, callbacks=[show]
            )
        self.records = self.store.records_of(self.cells)
        self.frame = results_frame(self.records)
        if self.store.failure:
            self.failure = SvmkitError(self.store.failure)
        if self.plot and self.frame["fit_s"].notna().any():
            try:
                plot_learning_curve(self.frame).savefig(self.plot, dpi=150)
            except OSError as error:
                self.failure = SvmkitError(f"cannot write {self.plot}: {error.strerror}")

    @property
    def failed(self) -> bool:
        """Whether a fit failed."""
        return any(record["status"] == FAILED for record in self.records)

    def show(self, as_json: bool) -> None:
        """Print one JSON object, or a table and how fast times grow."""
        trends = growth(self.frame)
        if as_json:
            emit({
                "fits": [as_line(record) for record in self.records],
                "growth": [{k: getattr(g, k) for k in ("solver", "exponent", "low", "high", "sizes")} for g in trends],
                "is_whole": self.is_whole,
                "plot": self.plot,
            })  # fmt: skip
        else:
            print_table(self.frame)
            for line in trends:
                print(line)
            if self.out:
                print(f"results  {self.out}")
            if self.plot and self.frame["fit_s"].notna().any():
                print(f"picture  {self.plot}")
        if not self.is_whole:
            kept = "the same command goes on with what is missing" if self.out else "--out FILE keeps what is finished"
            note(f"interrupted: {kept}")


def _sizes(text: str | None) -> list[int] | None:
    """Return the numbers in --rows."""
    if text is None:
        return None
    try:
        return [int(part.replace("_", "")) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--rows {text}: give whole numbers joined by commas, such as 100,1000,10000") from None


def print_table(frame: pd.DataFrame) -> None:
    """Print the means over the repeats for each number of rows and solver, with the deviation of accuracies."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    known = [name for name in _SHOWN if frame[name].notna().any()]
    table = Table(box=None, pad_edge=False)
    for title in ("rows", "solver", "status", *(_SHOWN[name][0] for name in known)):
        table.add_column(title, justify="left" if title in ("solver", "status") else "right", no_wrap=True)
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 160
    for (name, solver), runs in frame.groupby(["set", "solver"], sort=False):
        values = {metric: numbers(runs[metric].dropna()) for metric in known}
        cells = [_cell(metric, values[metric]) for metric in known]
        rows = str(name).rsplit(" ", 2)[-2]
        statuses = ", ".join(dict.fromkeys(runs["status"]))
        table.add_row(f"{int(rows):,}", Text(str(solver)), statuses, *cells)
    console.print(table)
    for text in dict.fromkeys(frame["reason"].dropna()):
        console.print(f"  {text}", markup=False, style="red")


def _cell(metric: str, values: Any) -> str:
    if not len(values):
        return ""
    text = _SHOWN[metric][1].format(values.mean())
    spread = values.std(ddof=1) if len(values) > 1 and metric.startswith("test_") else None
    return text if spread is None else f"{text} ±{_SHOWN[metric][1].format(spread)}"
