"""The work of `svmkit compare`: read the spec, run the missing cells, and show, report and log the results."""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
import warnings
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path

from svmkit.cli.common import emit, note, where
from svmkit.cli.comparing.compare_options import CompareOptions
from svmkit.cli.progress import cells_shown
from svmkit.cli.training.tracked import closing
from svmkit.cluster import Cluster, ClusterLost, connect
from svmkit.compare.cells import runner
from svmkit.compare.cells.store import FAILED, Store
from svmkit.compare.cells.worker import Tracking
from svmkit.compare.plan import advice
from svmkit.compare.plan.sets import label_of, prepare
from svmkit.compare.plan.spec import Cell
from svmkit.compare.results import Results, as_line
from svmkit.errors import SvmkitError, SvmkitWarning, one_line
from svmkit.scoring.metric import title
from svmkit.tracking import Tracker, tracker


class Comparison:
    """A comparison, whose options are all checked before a cell runs.

    Parameters
    ----------
    options : CompareOptions
        The options of the command.

    Attributes
    ----------
    is_whole : bool
        Whether all cells have been run, without an interruption.
    failure : SvmkitError or None
        A file that could not be written: it is raised once the results have been shown.

    Raises
    ------
    InputError
        The spec or the results file cannot be used.
    """

    def __init__(self, options: CompareOptions) -> None:
        self.options = options
        self.spec = options.comparison()
        self.cells = self.spec.cells(solvers=options.names, seeds=options.repeat) if options.spec else self.spec.cells()
        self.limit = self.spec.time_limit if options.time_limit is None else options.time_limit
        self.store = Store(options.store)
        if options.fresh:
            for cell in self.cells:
                self.store.records.pop(cell.key, None)
        self.tracker = Tracker()
        self.is_whole = False
        self.failure: SvmkitError | None = None

    def run(self) -> None:
        """Run the missing cells; if the tracker fails, there is a warning and no cell is lost."""
        options, todo = self.options, [cell for cell in self.cells if not self.store.has(cell, self.limit)]
        if len(todo) < len(self.cells):
            note(f"{len(self.cells) - len(todo)} of {len(self.cells)} cells were finished before ({self.store.path})")
        for name, n in self.store.changed_plugins(todo).items():
            note(f"{n} cells in {self.store.path} are of another version of {name}'s file: they are run again")
        self._name_labels(todo)
        self._advise(todo)
        with ExitStack() as end:
            cluster = None
            if options.scheduler and todo:
                cluster = end.enter_context(self._cluster(todo))
            self._run(todo, cluster)

    def _cluster(self, todo: list[Cell]) -> Cluster:
        assert self.options.scheduler is not None
        solvers = dict.fromkeys(cell.settings["solver"]["solver"] for cell in todo)
        return connect(self.options.scheduler, solvers=list(solvers), notify=note)

    def _run(self, todo: list[Cell], cluster: Cluster | None) -> None:
        options = self.options
        tracking = self._open_run() if not options.no_track else None
        with closing(self.tracker), cells_shown(len(todo)) as show:
            try:
                self.is_whole = runner.run(
                    self.cells,
                    self.store,
                    limit=self.limit,
                    jobs=options.jobs,
                    threads=options.threads,
                    curve=options.curve,
                    tracking=tracking,
                    callbacks=[show],
                    cluster=cluster,
                )
            except ClusterLost as error:  # the finished cells are shown all the same
                self._fail(f"{error}; the same command goes on with the cells that are missing")
            if self.store.failure:
                self._fail(self.store.failure)
            self.results = Results(self.spec, self.cells, self.store.records_of(self.cells))
            try:
                self._keep()
            except (OSError, SvmkitError) as error:  # the results are shown all the same
                self._fail(f"{one_line(error)}; the results are complete without it")
            if not self.is_whole:
                self.tracker.end("KILLED")

    @staticmethod
    def _name_labels(todo: list[Cell]) -> None:
        """Say which column of each table is the label; a table that does not load fails in its cells."""
        lines = []
        for data, _ in groupby(todo, key=lambda cell: cell.settings["data"]):
            try:
                label = label_of(data)
            except SvmkitError:
                continue
            lines += [f"{data['source']}: {label}"] if label else []
        for line in dict.fromkeys(lines):
            note(line)

    @staticmethod
    def _advise(todo: list[Cell]) -> None:
        """Say where a solver is the wrong tool for the size; a set that does not load fails in its cells."""
        printed: set[str] = set()
        asked = [cell for cell in todo if not cell.split and advice.may_have(cell)]  # all splits have one size
        for data, cells in groupby(asked, key=lambda cell: cell.settings["data"]):
            try:
                with warnings.catch_warnings():  # the cells tell what the data have to say
                    warnings.simplefilter("ignore", SvmkitWarning)
                    sets = prepare(data)
            except SvmkitError:
                continue
            for cell in cells:
                words = advice.advise(cell, sets)
                line = f"{cell.solver} on {cell.settings['data']['source']}: {words}"
                if words and line not in printed:
                    printed.add(line)
                    note(line)

    def _fail(self, message: str) -> None:
        self.failure = self.failure or SvmkitError(message)

    @property
    def failed(self) -> bool:
        """Whether a cell failed."""
        return any(record["status"] == FAILED for record in self.results.records)

    def _open_run(self) -> Tracking | None:
        """Open the run in which cells are nested, or reopen that of the finished cells; None if the store fails."""
        options = self.options
        self.tracker = tracker(options.tracking_uri, options.experiment)
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
        return Tracking(uri, options.experiment, self.tracker.run_id)

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

    def show(self, as_json: bool) -> None:
        """Print JSON lines, one for each cell, or tables for a reader."""
        for line in self.results.disagreements():
            note(f"certificates disagree: {line}; please report it")
        self._tell_metric()
        if as_json:
            for record in self.results.records:
                emit(as_line(record))
        else:
            from svmkit.cli.comparing.comparison_table import print_tables

            print_tables(self.results)
            self._where()
        if not self.is_whole and not self.failure:
            note("interrupted: the same command goes on with the cells that are missing")

    def _tell_metric(self) -> None:
        """Say which metric was taken, and why, where the command did not name one."""
        sets_of: dict[str, list[str]] = {}
        for record in self.results.records:
            metric = record.get("metric") or {}
            if metric.get("reason") and record["n_test"]:
                sets_of.setdefault(f"{title(metric['name'])}, since {metric['reason']}", []).append(record["set"])
        words = [f"{what} ({', '.join(dict.fromkeys(sets))})" for what, sets in sets_of.items()]
        if words:
            note(f"the metric on test rows besides accuracy is {'; '.join(words)}; --metric takes another")

    def _where(self) -> None:
        print(f"results  {self.store.path}")
        if self.options.report and Path(self.options.report).exists():
            print(f"report   {self.options.report}")
        if self.options.latex and Path(self.options.latex).exists():
            print(f"table    {self.options.latex}")
        if self.tracker.run_id:
            print(f"run      {self.tracker.run_id}  ({where(self.tracker.uri)})")


def _command() -> str:
    """Return the command line as it was given, without the folder of the program."""
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
