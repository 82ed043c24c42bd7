"""The work of `svmkit compare`: its options, the missing cells, and results that are shown, reported and logged."""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from svmkit.cli.common import cells_shown, closing, describe_run, emit, note, open_tracker
from svmkit.cli.option_table import Options, defaults
from svmkit.cli.options import (
    class_weights,
    flag,
    key_values,
    require_known,
    require_of_task,
)
from svmkit.cluster import ClusterLost, connect, scheme_of
from svmkit.compare.cells import runner
from svmkit.compare.cells.store import FAILED, Store
from svmkit.compare.cells.worker import Tracking
from svmkit.compare.plan import advice
from svmkit.compare.plan.entries import SHARED
from svmkit.compare.plan.sets import prepare
from svmkit.compare.plan.spec import Cell, Spec, load_spec, read
from svmkit.compare.plan.whole_sets import WholeSets
from svmkit.compare.results import Results, as_line
from svmkit.errors import InputError, SvmkitError, SvmkitWarning, one_line
from svmkit.model.calibration import KINDS
from svmkit.plugins import registered
from svmkit.runtime import files
from svmkit.runtime.terminal import say
from svmkit.scoring.metric import title
from svmkit.scoring.ranks import require_any_metric
from svmkit.tasks import TASKS, task_named
from svmkit.tracking import Tracker, tracker_name
from svmkit.training.settings import resolve

RESULTS = "svmkit-compare.jsonl"
_OF_SPEC = ("data", "test_size", *SHARED, "degree", "coef0", "tol", "stop", "option", "metrics")
_SPELT = {"data": "DATA", "C": "-C", "option": "-o"}


class CompareOptions(Options):
    """The options of `svmkit compare`, named as on the command line; an option that was not given is None or empty.

    Raises InputError: a value is invalid, or two options contradict each other.
    """

    def __init__(self, **given: Any) -> None:
        super().__init__(**(defaults("compare") | given))
        if self.spec:
            named = [_SPELT.get(name, flag(name)) for name in _OF_SPEC if self.has(name)]
            if named:
                raise InputError(f"{', '.join(named)}: write it into {self.spec}, or leave --spec out")
        else:
            names = self.names
            if not self.data or not names:
                raise InputError("nothing to compare: give DATA... and --solvers a,b,c, or --spec FILE")
            if self.tol is not None and not 0 < self.tol < float("inf"):
                raise InputError(f"--tol must be a finite number > 0, not {self.tol}")
            if self.tol is not None and self.stop:
                raise InputError("give --tol or --stop, not both")
            if self.test and (self.test_size is not None or len(self.data) > 1):
                raise InputError("--test is for a single DATA, without --test-size")
            if self.cv and (self.test or self.test_size is not None or self.splits):
                raise InputError("--cv tests on its folds: leave --test, --test-size and --splits out")
            if self.splits and self.test:
                raise InputError("--splits holds rows out of DATA: leave --test out, or give --test-size")
            if stray := [name for name in self.data if name in registered("solver") and not Path(name).exists()]:
                joined = ",".join([*names, *stray])
                raise InputError(f"{stray[0]} is a solver and no data: join the names by commas, --solvers {joined}")
            if len(set(names)) < len(names):
                raise InputError(
                    f"--solvers {self.solvers}: a name comes twice; a spec can run one with two sets of options"
                )
        if self.scheduler is not None:
            scheme_of(self.scheduler)
            if self.jobs != 1 or self.threads is not None:
                raise InputError("--scheduler runs a cell a worker, with its threads: leave --jobs and --threads out")
        require_known(self, task=TASKS, calibrate=KINDS)
        require_of_task(self, self.task)
        if self.time_limit is not None and not self.time_limit > 0:
            raise InputError(f"--time-limit must be > 0, not {self.time_limit}")
        if self.report:
            from svmkit.compare.report.html import require_drawable

            require_drawable()
        for path in (self.report, self.latex, self.results):
            if path:
                files.require_writable(path)

    @property
    def names(self) -> list[str]:
        """The names in --solvers."""
        return _split(self.solvers)

    def comparison(self) -> Spec:
        """Return the comparison in the file of --spec, or the one that the other options describe.

        Raises InputError: the spec cannot be read, or a name in it does not exist.
        """
        if self.spec:
            return load_spec(self.spec)
        own: dict[str, dict[str, Any]] = {name: {} for name in self.names}
        of_kernel = {key: getattr(self, key) for key in ("degree", "coef0") if getattr(self, key) is not None}
        of_loss: dict[str, Any] = {}
        places = {"kernel": of_kernel, **({} if self.loss is None else {"": of_loss}), **own}
        for key, value in key_values(self.option, "-o").items():
            place, _, name = key.rpartition(".")
            if place not in places:
                alone = "" if self.loss is None else ", or KEY of --loss"
                raise InputError(
                    f"-o {key}={value}: write SOLVER.KEY=VALUE with one of {', '.join(own)}, or kernel.KEY{alone}"
                )
            places[place][name] = value
        raw = {
            "name": "comparison",
            "data": [str(name) for name in self.data or ()],
            "solvers": {name: {"options": options} for name, options in own.items()},
            "stop": self.stop or f"gap:{self.tol or 1e-3:g}",
            "seeds": self.repeat or 1,
        }
        kernel = self.kernel or task_named(self.task).kernel
        shared = {name: getattr(self, name, None) for name in SHARED} | {
            "kernel": {"name": kernel or "rbf", **of_kernel} if of_kernel else kernel,
            "loss": {"name": self.loss, **of_loss} if of_loss else self.loss,
            "metric": None if self.metric is None else require_any_metric(self.metric),
            "class_weight": class_weights(self.class_weight),
            "test": self.test if self.test_size is None else self.test_size,
            "label": self.label,
            "strict": self.strict or None,
        }
        raw |= {name: value for name, value in shared.items() if value not in (None, [], ())}
        return read(raw | ({"metrics": _split(self.metrics)} if self.metrics else {}))


def _split(text: str | None) -> list[str]:
    """Return the names in a text of names separated by commas."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


class CellsJob:
    """The cells of a command and the file of the finished ones."""

    noun = "cells"

    def __init__(self, cells: list[Cell], limit: float, file: str | None, *, fresh: bool) -> None:
        self.cells, self.limit, self.store = cells, limit, Store(file)
        if fresh:
            for cell in cells:
                self.store.records.pop(cell.key, None)
        self.is_whole = False  # whether all cells have run, without an interruption
        self.failure: SvmkitError | None = None  # a file that could not be written; raised after the results are shown

    def list_missing(self) -> list[Cell]:
        """Return the cells to run, and report how many are already finished."""
        missing = [cell for cell in self.cells if not self.store.has(cell, self.limit)]
        n = len(self.cells)
        if len(missing) < n:
            note(f"{n - len(missing)} of {n} {self.noun} were finished before ({self.store.path})")
        return missing

    def require_results(self) -> None:
        """Raise SvmkitError if an interruption has left no cells to show."""
        if not (self.is_whole or self.failure or self.store.records_of(self.cells)):
            raise SvmkitError(f"interrupted before one of {len(self.cells)} {self.noun} was finished")

    @property
    def failed(self) -> bool:
        """Whether a cell failed."""
        return any(record["status"] == FAILED for record in self.store.records_of(self.cells))


class Comparison(CellsJob):
    """A comparison, whose options are all checked before any cell runs.

    Raises InputError: the spec or the results file is invalid.
    """

    def __init__(self, given: Options) -> None:
        self.options = options = CompareOptions(**vars(given))
        self.spec = spec = options.comparison()
        cells = spec.cells(solvers=options.names, seeds=options.repeat) if options.spec else spec.cells()
        limit = spec.time_limit if options.time_limit is None else options.time_limit
        file = options.results or (f"{Path(options.spec).stem}.jsonl" if options.spec else RESULTS)
        super().__init__(cells, limit, file, fresh=options.fresh)
        self.tracker = Tracker()

    def run(self) -> None:
        """Run the missing cells; if the tracker fails, a warning is issued and no cell is lost.

        Raises InputError before any cell runs: the results cannot be written, or a set is invalid.
        """
        options, todo = self.options, self.list_missing()
        for name, n in self.store.changed_plugins(todo).items():
            note(f"{n} cells in {self.store.path} are of another version of {name}'s file: they are run again")
        if todo:
            self.store.require_writable()
        _look_at_data(todo)
        with ExitStack() as end:
            cluster = None
            if options.scheduler and todo:
                solvers = dict.fromkeys(cell.settings["solver"]["solver"] for cell in todo)
                cluster = end.enter_context(connect(options.scheduler, solvers=list(solvers), notify=note))
            self.tracker = end.enter_context(closing(open_tracker(options)))
            show = end.enter_context(cells_shown(len(todo)))
            try:
                self.is_whole = runner.run(
                    self.cells,
                    self.store,
                    limit=self.limit,
                    jobs=options.jobs,
                    threads=options.threads,
                    curve=options.curve,
                    tracking=self._open_run,
                    callbacks=[show],
                    cluster=cluster,
                )
            except ClusterLost as error:  # the finished cells are still shown
                self._fail(f"{error}; the same command goes on with the cells that are missing")
            if self.store.failure:
                self._fail(self.store.failure)
            self.results = Results(self.spec, self.cells, self.store.records_of(self.cells))
            try:
                if self.results.records:  # an empty report must not replace an earlier one
                    self._keep()
            except (OSError, SvmkitError) as error:  # the results are still shown
                self._fail(f"{one_line(error)}; the results are complete without it")
            if not self.is_whole:
                self.tracker.end("KILLED")

    def _fail(self, message: str) -> None:
        self.failure = self.failure or SvmkitError(message)

    def _open_run(self) -> Tracking | None:
        """Open the run in which cells are nested, or reopen that of the finished cells; None if the store fails."""
        options = self.options
        before = {str(r["parent_run_id"]) for r in self.store.records_of(self.cells) if r.get("parent_run_id")}
        if len(before) != 1 or not self.tracker.reopen(before.pop()):
            params = {
                "sets": ",".join(self.spec.data),
                "solvers": ",".join(dict.fromkeys(cell.solver for cell in self.cells)),
                "stop": " / ".join(self.spec.stop.values()),
                "seeds": len({cell.seed for cell in self.cells}),
                "splits": len({cell.split for cell in self.cells}),
                "time_limit": self.limit,
                "cells": len(self.cells),
            }
            self.tracker.start(f"compare {self.spec.name}", params, {"svmkit.kind": "comparison"})
        if self.tracker.run_id is None:
            return None
        # the environment of a cluster's worker may name another store
        uri = self.tracker.uri if options.scheduler else options.tracking_uri
        return Tracking(uri, options.experiment, self.tracker.run_id, tracker_name())

    def _keep(self) -> None:
        """Write the table and the report if they are requested; log the report, the pictures and the results."""
        if self.options.latex:
            from svmkit.compare.report import latex

            latex.write(self.results, self.options.latex)
        asked = self.options.report
        if asked is None and self.tracker.run_id is None:
            return
        from svmkit.compare.report import html, pictures

        with tempfile.TemporaryDirectory() as folder:
            page = Path(asked or Path(folder) / "report.html")
            html.write(self.results, page, command=_command(), threads=self.options.threads)
            if self.tracker.run_id is None:
                return
            lines = Path(folder) / "results.jsonl"
            lines.write_text("".join(json.dumps(as_line(r)) + "\n" for r in self.results.records), encoding="utf-8")
            for path in (page, lines, *pictures.draw(self.results, Path(folder), "compare")):
                self.tracker.artifact(path)
        done = [record["status"] for record in self.results.records]
        self.tracker.metrics({"cells/finished": float(len(done)), "cells/failed": float(done.count(FAILED))})

    def show(self) -> None:
        """Print JSON lines, one for each cell, or tables."""
        for line in self.results.disagreements():
            note(f"certificates disagree: {line}; please report it")
        sets_of: dict[str, list[str]] = {}
        for record in self.results.records:  # the chosen metric, and the reason, if the command did not name one
            metric = record.get("metric") or {}
            if metric.get("reason") and record["n_test"]:
                sets_of.setdefault(f"{title(metric['name'])}, since {metric['reason']}", []).append(record["set"])
        words = [f"{what} ({', '.join(dict.fromkeys(sets))})" for what, sets in sets_of.items()]
        if words:
            note(f"the metric on test rows besides accuracy is {'; '.join(words)}; --metric takes another")
        if self.options.json:
            for record in self.results.records:
                emit(as_line(record))
        else:
            from svmkit.cli.comparing.comparison_table import print_tables

            print_tables(self.results)
            say(f"results  {self.store.path}")
            for what, path in (("report", self.options.report), ("table", self.options.latex)):
                if path and Path(path).exists():
                    say(f"{what:<7}  {path}")
            if run := describe_run(self.tracker):
                say(f"run      {run}")
        if not self.is_whole and not self.failure:
            note("interrupted: the same command goes on with the cells that are missing")


def _look_at_data(todo: list[Cell]) -> None:
    """Report which column of a table is the label, and whether a solver is unsuitable for the size.

    Raises InputError: a set is invalid, or a solver cannot learn from it; then no cell runs.
    """
    by_set: dict[str, list[Cell]] = {}
    for cell in todo:
        if not cell.split:  # all splits are of one set
            by_set.setdefault(json.dumps(cell.settings["data"] | {"kernel": None}, sort_keys=True), []).append(cell)
    printed: set[str] = set()
    whole = WholeSets()

    def say(line: str) -> None:
        if line not in printed:
            printed.add(line)
            note(line)

    for cells in by_set.values():
        with warnings.catch_warnings():  # the cells report the warnings about the data
            warnings.simplefilter("ignore", SvmkitWarning)
            sets = prepare(cells[0].settings["data"], whole)
        source, encoding = cells[0].settings["data"]["source"], sets.train.encoding
        if encoding is not None and encoding.label_in_words:
            say(f"{source}: {encoding.label_in_words}")
        for cell in cells:
            resolve(cell.training, sets.train.task).problem_type()
            if words := advice.advise(cell, sets):
                say(f"{cell.solver} on {source}: {words}")


def _command() -> str:
    """Return the command line as given, without the folder of the program."""
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
