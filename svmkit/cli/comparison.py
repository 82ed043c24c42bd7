"""One comparison of the command line: read the spec, run what is missing, show, report, log."""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

from svmkit.cli.common import emit, note, where
from svmkit.cli.options import class_weights, key_values
from svmkit.cli.progress import cells_shown
from svmkit.compare import runner
from svmkit.compare.results import Results, as_line
from svmkit.compare.spec import Spec, load_spec, read
from svmkit.compare.store import FAILED, Store
from svmkit.compare.worker import Tracking
from svmkit.errors import InputError
from svmkit.runtime import files
from svmkit.tracking import Tracker, tracker

RESULTS = "svmkit-compare.jsonl"
_OF_SPEC = (
    *("data", "test", "test_size", "C", "kernel", "gamma", "degree", "coef0", "scale", "class_weight"),
    *("tol", "stop", "memory", "option", "metrics"),
)


class Comparison:
    """The options of `svmkit compare`, all checked before a cell runs."""

    def __init__(self, **options: Any) -> None:
        self.options = o = options
        chosen = [name.strip() for name in (o["solvers"] or "").split(",") if name.strip()]
        if o["spec"]:
            self.spec = self._from_file()
            self.cells = self.spec.cells(solvers=chosen or None, seeds=o["repeat"])
        else:
            self.spec = self._from_options(chosen)
            self.cells = self.spec.cells()
        self.limit = self.spec.time_limit if o["time_limit"] is None else o["time_limit"]
        if not self.limit > 0:
            raise InputError(f"--time-limit must be > 0, not {self.limit}")
        for path in (o["report"], o["results"]):
            if path:
                files.require_writable(path)
        self.store = Store(o["results"] or (f"{Path(o['spec']).stem}.jsonl" if o["spec"] else RESULTS))
        if o["fresh"]:
            for cell in self.cells:
                self.store.records.pop(cell.key, None)
        self.tracker = Tracker()
        self.whole = False

    def _from_file(self) -> Spec:
        o = self.options
        given = [name for name in _OF_SPEC if o[name] not in (None, [], ())]
        if given:
            spelt = ", ".join(
                {"data": "DATA", "C": "-C", "option": "-o"}.get(n, f"--{n.replace('_', '-')}") for n in given
            )
            raise InputError(f"{spelt}: write it into {o['spec']}, or leave --spec out")
        return load_spec(o["spec"])

    def _from_options(self, solvers: list[str]) -> Spec:
        o = self.options
        if not o["data"] or not solvers:
            raise InputError("nothing to compare: give DATA... and --solvers a,b,c, or --spec FILE")
        if o["tol"] is not None and not 0 < o["tol"] < float("inf"):
            raise InputError(f"--tol must be a finite number > 0, not {o['tol']}")
        if o["tol"] is not None and o["stop"]:
            raise InputError("give --tol or --stop, not both")
        if o["test"] and (o["test_size"] is not None or len(o["data"]) > 1):
            raise InputError("--test is for a single DATA, without --test-size")
        own, kernel = self._own_options(solvers)
        raw: dict[str, Any] = {
            "name": "comparison",
            "data": [str(name) for name in o["data"]],
            "solvers": {name: {"options": own[name]} for name in solvers},
            "stop": o["stop"] or f"gap:{o['tol'] or 1e-3:g}",
            "seeds": o["repeat"] or 1,
        }
        if len(own) < len(solvers):
            raise InputError(
                f"--solvers {o['solvers']}: a name comes twice; a spec can run one with two sets of options"
            )
        named = {"gamma": list(o["gamma"] or ()), "C": list(o["C"] or ()), "scale": o["scale"], "memory": o["memory"],
                 "class_weight": class_weights(o["class_weight"]), "kernel": kernel,
                 "test": o["test"] if o["test_size"] is None else o["test_size"]}  # fmt: skip
        raw |= {key: value for key, value in named.items() if value not in (None, [])}
        if o["metrics"]:
            raw["metrics"] = [name.strip() for name in o["metrics"].split(",") if name.strip()]
        return read(raw)

    def _own_options(self, solvers: list[str]) -> tuple[dict[str, dict[str, str]], Any]:
        """Options by solver, and the kernel: a name, or a map with its parameters; None by default."""
        own: dict[str, dict[str, str]] = {name: {} for name in solvers}
        of_kernel = {key: self.options[key] for key in ("degree", "coef0") if self.options[key] is not None}
        for key, value in key_values(self.options["option"], "-o").items():
            solver, dot, name = key.partition(".")
            if not dot or solver not in (*own, "kernel"):
                raise InputError(
                    f"-o {key}={value}: write SOLVER.KEY=VALUE with one of {', '.join(own)}, or kernel.KEY"
                )
            (of_kernel if solver == "kernel" else own[solver])[name] = value
        kernel = self.options["kernel"]
        return own, {"name": kernel or "rbf", **of_kernel} if of_kernel else kernel

    def run(self) -> None:
        """Run the cells that are missing; a tracker that fails costs a warning, never a cell."""
        o, todo = self.options, [cell for cell in self.cells if not self.store.has(cell, self.limit)]
        if len(todo) < len(self.cells):
            note(f"{len(self.cells) - len(todo)} of {len(self.cells)} cells were finished before ({self.store.path})")
        tracking = self._open_run() if not o["no_track"] else None
        status = "FAILED"
        try:
            with cells_shown(len(todo)) as told:
                self.whole = runner.run(
                    self.cells,
                    self.store,
                    limit=self.limit,
                    jobs=o["jobs"],
                    threads=o["threads"],
                    curve=o["curve"],
                    tracking=tracking,
                    told=told,
                )
            self.results = Results(self.spec, self.cells, self.store.of(self.cells))
            self._keep()
            status = "FINISHED" if self.whole else "KILLED"
        finally:
            self.tracker.end(status)

    @property
    def failed(self) -> bool:
        """Whether a cell failed."""
        return any(record["status"] == FAILED for record in self.results.records)

    def _open_run(self) -> Tracking | None:
        """The run that cells are nested in: a new one, or that of the finished cells; None where the store fails."""
        o = self.options
        self.tracker = tracker(o["tracking_uri"], o["experiment"])
        before = {str(r["parent_run_id"]) for r in self.store.of(self.cells) if r.get("parent_run_id")}
        if len(before) != 1 or not self.tracker.reopen(before.pop()):
            params = {
                "sets": ",".join(self.spec.data),
                "solvers": ",".join(dict.fromkeys(cell.solver for cell in self.cells)),
                "stop": " / ".join(self.spec.stop.values()),
                "seeds": len({cell.seed for cell in self.cells}),
                "time_limit": self.limit,
                "cells": len(self.cells),
            }
            self.tracker.start(f"compare {self.spec.name}", params, {"svmkit.kind": "comparison"})
        if self.tracker.run_id is None:
            return None
        return Tracking(o["tracking_uri"], o["experiment"], self.tracker.run_id)

    def _keep(self) -> None:
        """The report, where it was asked for, and what goes with the run."""
        if self.options["report"] is None and self.tracker.run_id is None:
            return
        from svmkit.compare.report import html, pictures

        if self.options["report"]:
            html.write(self.results, self.options["report"], command=_command(), threads=self.options["threads"])
        if self.tracker.run_id is None:
            return
        with tempfile.TemporaryDirectory() as folder:
            page = Path(self.options["report"] or Path(folder) / "report.html")
            if not self.options["report"]:
                html.write(self.results, page, command=_command(), threads=self.options["threads"])
            lines = Path(folder) / "results.jsonl"
            lines.write_text("".join(json.dumps(as_line(r)) + "\n" for r in self.results.records), encoding="utf-8")
            for path in (page, lines, *pictures.draw(self.results, Path(folder), "compare")):
                self.tracker.artifact(path)
        done = [record["status"] for record in self.results.records]
        self.tracker.metrics({"cells/finished": float(len(done)), "cells/failed": float(done.count(FAILED))})

    def show(self, as_json: bool) -> None:
        """JSON lines, one a cell; or tables for a reader."""
        for line in self.results.disagreements():
            note(f"certificates disagree: {line}; please report it")
        if as_json:
            for record in self.results.records:
                emit(as_line(record))
        else:
            from svmkit.cli.comparison_table import print_tables

            print_tables(self.results)
            self._where()
        if not self.whole:
            note("interrupted: the same command goes on with the cells that are missing")

    def _where(self) -> None:
        print(f"results  {self.store.path}")
        if self.options["report"]:
            print(f"report   {self.options['report']}")
        if self.tracker.run_id:
            print(f"run      {self.tracker.run_id}  ({where(self.tracker.uri)})")


def _command() -> str:
    """The command line as it was given, the program by its name."""
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
