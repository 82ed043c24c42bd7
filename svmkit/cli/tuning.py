"""One search of the command line: read, hold out, track, search, refit the best, score, save, draw, log."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from svmkit import plugins, tracking, tune
from svmkit.cli import progress
from svmkit.cli.common import labels_of, note
from svmkit.cli.job import Job
from svmkit.data import Dataset
from svmkit.errors import InputError
from svmkit.runtime import files
from svmkit.tracking import Tracker
from svmkit.training.result import Fit
from svmkit.tune import backends, grids, picture

_OF_TRAIN: dict[str, Any] = {"max_support": None, "register": None, "curve": False, "checkpoint": None, "resume": False}


class TuneJob(Job):
    """The options of `svmkit tune`, checked before any data is read."""

    def __init__(
        self,
        *,
        grid: list[str],
        search: str,
        n_iter: int | None,
        factor: int | None,
        cv: int,
        jobs: int,
        backend: str,
        plot: str | None,
        C: float | None,
        **options: Any,
    ) -> None:
        super().__init__(C=1.0 if C is None else C, **_OF_TRAIN, **options)
        if n_iter is not None and search != "random":
            raise InputError(f"--n-iter is for --search random: leave it out of --search {search}")
        if factor is not None and search != "halving":
            raise InputError(f"--factor is for --search halving: leave it out of --search {search}")
        self.search, self.cv, self.jobs, self.backend, self.plot = search, cv, jobs, backend, plot
        self.factor = factor or 3
        fixed = self._fixed(C, options["option"])
        self.grids = grid or grids.defaults(self.kernel.params, fixed, drawn=search == "random")
        parsed = grids.parse(self.grids)
        self.searched = {name.removeprefix("kernel.") for name in parsed}
        for name in self.searched & fixed:
            raise InputError(f"{name} is searched by --grid and has a value of its own: give one of the two")
        self.paths = tune.plan(
            self.solver,
            self.kernel,
            parsed,
            C=self.options["C"],
            search=search,
            n_iter=n_iter or 20,
            seed=options["seed"],
        )
        backends.require(backend)
        if plot:
            picture.require_drawable(plot, self.paths)
            files.require_writable(plot)

    def _fixed(self, C: float | None, option: list[str]) -> set[str]:
        """Names that have a value on the command line."""
        named = {key for key in ("gamma", "degree", "coef0") if self.options[key] is not None}
        listed = {text.partition("=")[0].strip().removeprefix("kernel.") for text in option}
        return named | listed | ({"C"} if C is not None else set())

    @property
    def n_candidates(self) -> int:
        """All that are to be tried."""
        return sum(len(path.Cs) for path in self.paths)

    @contextmanager
    def _tracked(self, data: Dataset | None) -> Iterator[None]:
        """The search is a part of the run, before the fit of the best."""
        with super()._tracked(data):
            try:
                self._search()
            except tune.Interrupted:
                self.tracker.end("KILLED")
                raise
            yield

    def _search(self) -> None:
        o = self.options
        with progress.live("searching (the first run compiles)") as show:
            self.found = tune.run(
                self.paths,
                self.data.X,
                labels_of(self.data),
                search=self.search,
                factor=self.factor,
                cv=self.cv,
                sampler=self.sampler,
                stop=self.rules,
                class_weight=self.class_weight,
                scale=o["scale"],
                memory=o["memory"],
                seed=o["seed"],
                n_threads=o["threads"],
                jobs=self.jobs,
                backend=self.backend,
                report=(lambda at: show(_line(at))) if show else None,
            )
        tried, best = self.found.candidates, self.found.best
        if self.found.interrupted:
            note(f"interrupted: {len(tried)} of {self.n_candidates} candidates are whole; refitting the best")
        failed = [c for c in tried if c.failed]
        if failed:
            note(f"{len(failed)} of {len(tried)} candidates failed, the first: {failed[0].reason}")
        slow = sum(not c.converged for c in tried) - len(failed)
        if slow:
            note(f"{slow} of {len(tried)} candidates did not converge in every fold: give more time or a larger --tol")
        self.solver, self.kernel, o["C"] = best.solver, best.kernel, best.C

    def _finish(self, fitted: Fit) -> None:
        super()._finish(fitted)
        if self.plot:
            picture.draw(self.found.candidates, self.plot, self._caption())
        if self.tracker.run_id:
            self._log_search(fitted)

    def _title(self) -> str:
        return f"tune {super()._title()}"

    def _caption(self) -> str:
        return f"{self.data.name}: {self.solver.name}, {self.kernel.name} kernel, {self.cv} folds"

    def _params(self) -> dict[str, Any]:
        """Those of the search: what is searched has no value yet."""
        o = self.options
        shown = ("tol", "seed", "scale", "memory", "class_weight", "stop", "max_iter", "max_epochs", "time_limit")
        found = {"solver": self.solver.name, "kernel": self.kernel.name, "search": self.search, "cv": self.cv}
        found |= {"grid": " ".join(self.grids), "n_candidates": self.n_candidates, "sampler": str(self.sampler)}
        found |= {key: o[key] for key in shown if o[key] is not None}
        fixed = {"C": o["C"]} | self.kernel.params
        found |= {key: value for key, value in fixed.items() if key not in self.searched}
        return found | {"data": self.data.name, "n": self.data.n_samples, "d": self.data.n_features}

    def _log_search(self, fitted: Fit) -> None:
        """The best one's numbers, the picture and all candidates with the run; each candidate as a run inside it."""
        best = self.found.best
        numbers = {"C": best.C, "log10_C": math.log10(best.C)}
        if best.gamma is not None:
            numbers |= {"gamma": best.gamma, "log10_gamma": math.log10(best.gamma)}
        self.tracker.metrics(
            {f"best/{name}": value for name, value in numbers.items()}
            | _metrics(best)
            | {"time/search_s": self.found.seconds, "time/fit_s": fitted.seconds}
        )
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder) / "candidates.json"
            table.write_text(json.dumps([_row(c, self.search) for c in self.found.candidates], indent=1))
            self.tracker.artifact(table)
            drawn = Path(self.plot or Path(folder) / "accuracy.png")
            if not self.plot and picture.axes_of([c for c in self.found.candidates if not c.failed]):
                picture.draw(self.found.candidates, drawn, self._caption())
            if drawn.exists():
                self.tracker.artifact(drawn)
        self._log_candidates()

    def _log_candidates(self) -> None:
        o = self.options
        candidates = self.found.candidates
        with progress.live("logging the candidates") as show:
            for k, c in enumerate(candidates):
                if show:
                    show(f"logging candidate {k + 1:,} of {len(candidates):,}")
                if not self._log_candidate(c, tracking.tracker(o["tracking_uri"], o["experiment"])):
                    return

    def _log_candidate(self, c: tune.Candidate, tracker: Tracker) -> bool:
        """Whether it worked: a store that failed has said so, and would say it again for each of the others."""
        kernel = plugins.build("kernel", c.kernel.name, c.kernel.params | ({"gamma": c.gamma} if c.gamma else {}))
        o, reason = self.options, {"svmkit.reason": c.reason} if c.reason else {}
        params = tracking.params(c.solver, kernel, c.C, self.data, tol=o["tol"], seed=o["seed"], cv=self.cv)
        params = c.params | params  # options that were searched, where they are as they are by default, too
        name = ", ".join(f"{k}={_text(v)}" for k, v in c.params.items())
        tracker.start(name, params, tracking.tags(c.solver) | reason, parent=self.tracker.run_id)
        if tracker.run_id is None:
            return False
        tracker.metrics(_metrics(c))
        tracker.end("FAILED" if c.failed else "FINISHED")
        return True

    def summary(self, fitted: Fit) -> dict[str, Any]:
        """The keys of `svmkit tune --json`."""
        refit = self.result(fitted)
        found = self.found
        return {
            "data": self.data.name,
            "solver": self.solver.name,
            "kernel": {
                "name": self.kernel.name,
                "params": {k: v for k, v in refit["kernel"]["params"].items() if k not in self.searched},
            },
            "search": self.search,
            "cv": self.cv,
            "n_candidates": len(found.candidates),
            "n_fits": found.n_fits,
            "seconds": found.seconds,
            "interrupted": found.interrupted,
            "best": {key: _row(found.best, self.search)[key] for key in ("params", "mean_accuracy", "std_accuracy")},
            "candidates": [_row(c, self.search) for c in found.candidates],
            "plot": self.plot,
            "model": refit["model"],
            "run_id": refit["run_id"],
            "refit": refit,
        }


def table(found: tune.Result, most: int) -> list[str]:
    """The best candidates as lines of aligned columns, best first."""
    names = list(found.best.params)
    halved = len({c.n_rows for c in found.candidates}) > 1
    head = ["", *names, "accuracy", *(["rows"] if halved else []), "support", "fit"]
    lines = [head]
    for k, c in enumerate(c for c in found.candidates[:most] if not c.failed):
        accuracy = f"{c.mean_accuracy:.2%} ± {100 * c.std_accuracy:.2f}"
        rest = [*([f"{c.n_rows:,}"] if halved else []), f"{c.n_support:,.0f}", f"{c.fit_s:.2f} s"]
        lines.append([str(k + 1), *(_text(c.params[name]) for name in names), accuracy, *rest])
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    return ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def _row(c: tune.Candidate, search: str) -> dict[str, Any]:
    number = {key: None if c.failed else getattr(c, key) for key in ("mean_accuracy", "std_accuracy")}
    row: dict[str, Any] = {"params": c.params, **number}
    if search == "halving":
        row["n_resources"] = c.n_rows
    return row | {"fit_s": None if c.failed else c.fit_s} | ({"reason": c.reason} if c.reason else {})


def _metrics(c: tune.Candidate) -> dict[str, float]:
    found = {"cv/mean_accuracy": c.mean_accuracy, "cv/std_accuracy": c.std_accuracy, "time/fit_s": c.fit_s}
    return found | {"model/n_support": c.n_support, "cv/n_rows": float(c.n_rows)}


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _line(at: tune.Progress) -> str:
    """How far the search is, in words."""
    if at.fits == 0:
        return "searching (the first run compiles)"
    best = "" if math.isnan(at.best) else f"  best so far {at.best:.2%}"
    if at.of is None:
        return f"{at.fits:,} fits{best}"
    left = at.seconds / at.fits * (at.of - at.fits)
    return f"{at.fits:,} of {at.of:,} fits{best}  about {left:,.0f} s left"
