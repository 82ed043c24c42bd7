"""The work of `svmkit tune`: read the data, search, refit the best candidate, then save, draw and log."""

from __future__ import annotations

import json
import math
import tempfile
from contextlib import ExitStack
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from svmkit import plugins, tracking, tune
from svmkit.cli import progress
from svmkit.cli.common import labels_of, note
from svmkit.cli.option_table import Options
from svmkit.cli.training.finish import Job, Outcome
from svmkit.cli.training.job import fit_and_finish, prepare
from svmkit.cli.training.sets import advise_scaling, read
from svmkit.cli.training.tracked import tracked
from svmkit.cli.training.train_options import TrainOptions
from svmkit.cli.tuning.candidates import SCORES, numbers, progress_line, row, text
from svmkit.cluster import connect, scheme_of
from svmkit.errors import InputError, SvmkitError, one_line
from svmkit.runtime import files
from svmkit.scoring.quantities import metric_for
from svmkit.tasks import task_named
from svmkit.tracking import Tracker
from svmkit.tune import backends, grids, picture


class TuneJob:
    """A search, whose options are all checked before any data is read.

    Parameters
    ----------
    options : Options
        The options of the command.

    Raises
    ------
    InputError
        An option or a value of the grid cannot be used.
    """

    def __init__(self, options: Options) -> None:
        C, grid, search, n_iter, factor = options.C, options.grid, options.search, options.n_iter, options.factor
        self.options = TrainOptions(**vars(options) | {"C": 1.0 if C is None else C, "scheduler": None})
        self.method = self.options.method()
        if n_iter is not None and search != "random":
            raise InputError(f"--n-iter is for --search random: leave it out of --search {search}")
        if factor is not None and search != "halving":
            raise InputError(f"--factor is for --search halving: leave it out of --search {search}")
        self.search, self.cv, self.jobs, self.plot = search, options.cv, options.jobs, options.plot
        self.factor, self.scheduler, self.backend = factor or 3, options.scheduler, options.backend
        if self.scheduler is not None:
            scheme_of(self.scheduler)
            if self.jobs != 1 or self.backend != "loky":
                raise InputError("--scheduler runs a fit a worker, with its threads: leave --jobs and --backend out")
        fixed = self._fix(C)
        of_kernel, drawn = self.method.kernel.params, search == "random"
        self.grids = grid or grids.defaults(of_kernel, fixed, drawn=drawn, task=options.task)
        parsed = grids.parse(self.grids)
        self.searched = {name.removeprefix("kernel.") for name in parsed}
        for name in self.searched & fixed:
            raise InputError(f"{name} is searched by --grid and has a value of its own: give one of the two")
        self.paths = tune.plan(
            self.method.solver,
            self.method.kernel,
            parsed,
            C=self.method.settings.C,
            search=search,
            n_iter=n_iter or 20,
            seed=self.options.seed,
            task=options.task,
        )
        backends.require(self.backend)
        if self.plot:
            picture.require_drawable(self.plot, self.paths)
            files.require_writable(self.plot)

    def _fix(self, C: float | None) -> set[str]:
        """Return the names that have a value on the command line."""
        named = {key for key in ("gamma", "degree", "coef0", "epsilon") if getattr(self.options, key) is not None}
        listed = {text.partition("=")[0].strip().removeprefix("kernel.") for text in self.options.option}
        return named | listed | ({"C"} if C is not None else set())

    @property
    def n_candidates(self) -> int:
        """The number of candidates of the whole search."""
        return sum(len(path.Cs) for path in self.paths)

    def run(self) -> Outcome:
        """Search, refit the best candidate on all rows, and finish; if the tracker fails, the model is not lost."""
        self.sets = read(self.options)
        self.method = self.options.method(self.sets.train.task)
        advise_scaling(self.sets.train.X, self.options, self.method.kernel)
        solver, name, task = self.method.solver, self.sets.train.name, task_named(self.sets.train.task)
        truth = task.encode_truth(self.sets.train.y, self.sets.train.n_samples)
        metric = self.options.metric or (None if task.is_supervised else task.metric)
        self.metric = metric_for(metric, truth.classes, truth.codes, self.method.settings.class_weight)
        if self.metric.note:
            note(self.metric.note)
        with tracked(
            self.options, f"tune {solver.name} {name}", self._params(), tracking.tags(solver), self.sets.train
        ) as tracker:
            try:
                self._search()
            except tune.Interrupted:
                tracker.end("KILLED")
                raise
            data, seconds = prepare(self.method, self.sets)
            job = Job(self.options, self.method, self.sets, self.metric, search="another --grid")
            outcome = fit_and_finish(job, data, seconds, tracker)
            if self.plot:
                try:
                    picture.draw(self.found.candidates, self.plot, self._caption(), self.metric)
                except InputError as error:  # the search and the model are not lost with the picture
                    self.plot, outcome = None, replace(outcome, failure=outcome.failure or SvmkitError(str(error)))
            if tracker.run_id:
                try:
                    self._log_search(tracker, outcome.result["fit_s"])
                except (OSError, SvmkitError) as error:
                    note(f"the search is not logged completely: {one_line(error)}")
        return outcome

    def _search(self) -> None:
        method = self.method
        with ExitStack() as end:
            cluster = None
            if self.scheduler:
                solvers = {path.solver.name for path in self.paths}
                cluster = end.enter_context(connect(self.scheduler, solvers=sorted(solvers), notify=note))
            show = end.enter_context(progress.live("searching (the first run compiles)"))
            self.found = tune.run(
                self.paths,
                self.sets.train.X,
                labels_of(self.sets.train),
                search=self.search,
                factor=self.factor,
                cv=self.cv,
                task=self.sets.train.task or "classify",
                metric=self.metric,
                flags=self.sets.train.flags,
                **self._shared_settings(),
                jobs=self.jobs,
                backend=self.backend,
                cluster=cluster,
                report=(lambda at: show(progress_line(at, self.metric))) if show else None,
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
        own: dict[str, Any] = {"solver": best.solver, "solver_options": None, "kernel": best.kernel, "C": best.C}
        own |= {name: best.params[name] for name in ("epsilon", "nu") if name in best.params}
        settings = replace(method.settings, **own)
        self.method = replace(method, settings=settings, solver=best.solver, kernel=best.kernel)

    def _shared_settings(self) -> dict[str, Any]:
        """Return the settings of every fit, by name, but for what a candidate has of its own."""
        settings = self.method.settings
        own = ("solver", "solver_options", "kernel", "kernel_params", "C", "calibration")
        shared = {field.name: getattr(settings, field.name) for field in fields(settings) if field.name not in own}
        return shared | {"sampler": self.method.sampler}

    def _caption(self) -> str:
        return f"{self.sets.train.name}: {self.method.solver.name}, {self.method.kernel.name} kernel, {self.cv} folds"

    def _params(self) -> dict[str, Any]:
        """Return the parameters of the search, without those that are searched."""
        method, data = self.method, self.sets.train
        given = ("tol", "seed", "impute", "scale", "memory", "class_weight")
        shown = (*given, "multiclass", "calibrate", "stop", "max_iter", "max_epochs", "time_limit")
        found = {"solver": method.solver.name, "kernel": method.kernel.name, "search": self.search, "cv": self.cv}
        found["metric"] = self.metric.name
        found |= {"grid": " ".join(self.grids), "n_candidates": self.n_candidates, "sampler": str(method.sampler)}
        found |= {key: value for key in shown if (value := getattr(self.options, key)) is not None}
        fixed = {"C": method.settings.C} | method.kernel.params
        if task_named(data.task).has_targets and "epsilon" not in self.searched and hasattr(method.loss, "epsilon"):
            found["epsilon"] = method.settings.epsilon
        found |= {key: value for key, value in fixed.items() if key not in self.searched}
        return found | {"data": data.name, "n": data.n_samples, "d": data.n_features}

    def _log_search(self, tracker: Tracker, fit_s: float) -> None:
        """Log the best candidate, the picture and a list of all candidates, and each candidate as a nested run."""
        best = self.found.best
        place = {"C": best.C, "log10_C": math.log10(best.C)}
        if best.gamma is not None:
            place |= {"gamma": best.gamma, "log10_gamma": math.log10(best.gamma)}
        of_best = {f"best/{name}": value for name, value in place.items()} | numbers(best, self.metric)
        tracker.metrics(tracking.scalars(of_best | {"search_s": self.found.seconds, "fit_s": fit_s}))
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder) / "candidates.json"
            table.write_text(json.dumps([row(c, self.search) for c in self.found.candidates], indent=1))
            tracker.artifact(table)
            drawn = Path(self.plot or Path(folder) / "accuracy.png")
            if not self.plot and picture.axes_of([c for c in self.found.candidates if not c.failed]):
                picture.draw(self.found.candidates, drawn, self._caption(), self.metric)
            if drawn.exists():
                tracker.artifact(drawn)
        assert tracker.run_id is not None
        self._log_candidates(tracker.run_id)

    def _log_candidates(self, parent: str) -> None:
        options, candidates = self.options, self.found.candidates
        with progress.live("logging the candidates") as show:
            for k, c in enumerate(candidates):
                if show:
                    show(f"logging candidate {k + 1:,} of {len(candidates):,}")
                if not self._log_candidate(c, tracking.tracker(options.tracking_uri, options.experiment), parent):
                    return

    def _log_candidate(self, c: tune.Candidate, tracker: Tracker, parent: str) -> bool:
        """Log a candidate; return False if the store failed, so that it does not warn again for each of the others."""
        kernel = plugins.build("kernel", c.kernel.name, c.kernel.params | ({"gamma": c.gamma} if c.gamma else {}))
        options, reason = self.options, {"svmkit.reason": c.reason} if c.reason else {}
        params = tracking.params(c.solver, kernel, c.C, self.sets.train, tol=options.tol, seed=options.seed, cv=self.cv)
        params = c.params | params  # searched options are logged even if they have their default values
        name = ", ".join(f"{k}={text(v)}" for k, v in c.params.items())
        tracker.start(name, params, tracking.tags(c.solver) | reason, parent=parent)
        if tracker.run_id is None:
            return False
        tracker.metrics(tracking.scalars(numbers(c, self.metric)))
        tracker.end("FAILED" if c.failed else "FINISHED")
        return True

    def summary(self, refit: dict[str, Any]) -> dict[str, Any]:
        """Return the keys and values of `svmkit tune --json`; `refit` is the result of the best candidate."""
        found = self.found
        return {
            "data": self.sets.train.name,
            "solver": self.method.solver.name,
            "kernel": {
                "name": self.method.kernel.name,
                "params": {k: v for k, v in refit["kernel"]["params"].items() if k not in self.searched},
            },
            "search": self.search,
            "cv": self.cv,
            "metric": self.metric.about(),
            "n_candidates": len(found.candidates),
            "n_fits": found.n_fits,
            "seconds": found.seconds,
            "interrupted": found.interrupted,
            "best": {key: row(found.best, self.search)[key] for key in ("params", *SCORES)},
            "candidates": [row(c, self.search) for c in found.candidates],
            "plot": self.plot,
            "model": refit["model"],
            "run_id": refit["run_id"],
            "refit": refit,
        }
