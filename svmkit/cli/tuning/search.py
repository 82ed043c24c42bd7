"""The work of `svmkit tune`: read the data, search, refit the best candidate, then save, draw and log."""

from __future__ import annotations

import copy
import json
import math
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from svmkit import plugins, tracking, tune
from svmkit.choice.one_call import NAMES, Choice, Chosen, choosable_names, choose
from svmkit.choice.scales import SCALE
from svmkit.choice.zoom import DOUBT
from svmkit.cli.common import closing, emit, labels_of, note, open_tracker
from svmkit.cli.option_table import LOGGED, OF_MODEL, Options, defaults
from svmkit.cli.options import LOO, flag
from svmkit.cli.training.finish import Job, Outcome
from svmkit.cli.training.job import fit_and_finish, prepare
from svmkit.cli.training.report import report
from svmkit.cli.training.saving import tube
from svmkit.cli.training.sets import advise_scaling, read
from svmkit.cli.training.train_options import TrainOptions
from svmkit.cli.tuning.nested import Nested, OuterFold, format_param
from svmkit.cluster import connect, scheme_of
from svmkit.data.splitting import part
from svmkit.errors import InputError, SvmkitError, one_line
from svmkit.problems.risks.penalty import make_penalty
from svmkit.runtime import files
from svmkit.runtime.progress import live
from svmkit.runtime.terminal import align, say
from svmkit.scoring.metric import Metric
from svmkit.solver.selection.with_penalty import with_penalty
from svmkit.solver.solution import Status
from svmkit.tasks import Answers, Task, task_named
from svmkit.tracking import Tracker
from svmkit.training.splits import Pair, make_splits
from svmkit.training.train import fit_prepared
from svmkit.tune import backends, grids, picture
from svmkit.tune.ranking import with_gap
from svmkit.tune.records import progress_line
from svmkit.tune.shared.near import ROUGH
from svmkit.tune.space import NONE, WORDS, settings_of

SCORES = ("mean_accuracy", "std_accuracy", "mean_score", "std_score")
SHOWN = 10  # candidates in the table
ZOOM = "zoom"  # the search without a grid, whose values are derived from the data
FAR = 0.02  # how far the score of a refit on its own rows may be below that of the folds
REMEDIES = {  # the remedy for a refit that is worse, by its status
    str(Status.CONVERGED): "give a smaller --tol",
    str(Status.TIME_LIMIT): "the time limit ended its fit: give more time",
    str(Status.INTERRUPTED): "its fit was interrupted",
}


class TuneJob:
    """A search, whose options and grid are all checked before any data is read; also used by svmkit train --tune."""

    chosen: Chosen  # by a search that zooms
    nested: Nested | None = None  # the result of --nested
    result: Any  # tune.Result; None if time ended the search before a candidate was tried in all folds

    def __init__(self, options: Options) -> None:
        self.trains = not hasattr(options, "search")  # whether it is svmkit train --tune
        if self.trains:
            options = Options(**defaults("tune") | vars(options) | {"search": ZOOM, "cv": options.cv or 5})
        C, search, self.given, self.cv, self.plot = options.C, options.search, options, options.cv, options.plot
        own = {"C": 1.0 if C is None else C, "scheduler": None, "plot": None, "tune": True}
        self.options = TrainOptions(**vars(options) | own)
        self.method = self.options.method()
        for name, its_search in (("n_iter", "random"), ("factor", "halving")):
            if options.has(name) and search != its_search:
                raise InputError(f"{flag(name)} is for --search {its_search}: leave it out of --search {search}")
        if options.scheduler is not None:
            scheme_of(options.scheduler)
            if options.jobs != 1 or options.backend != "loky":
                raise InputError("--scheduler runs a fit a worker, with its threads: leave --jobs and --backend out")
        fixed = {key for key in ("C", *OF_MODEL) if options.has(key) and getattr(options, key) != NONE}
        fixed |= {text.partition("=")[0].strip().removeprefix("kernel.") for text in options.option}
        if options.nested is not None and not task_named(options.task).is_supervised:
            raise InputError("--nested needs labels to measure by: leave it out with --task outliers")
        drawn = search == "random"
        self.zooms, self.fixed, self.result = search == ZOOM, fixed, None
        if self.zooms:
            self._require_of_zoom()
            return
        self.grids = options.grid or grids.defaults(self.method.kernel.params, fixed, drawn=drawn, task=options.task)
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
            n_iter=options.n_iter or 20,
            seed=self.options.seed,
            task=options.task,
        )
        backends.require(options.backend)
        if self.plot:
            picture.require_drawable(self.plot, self.paths)
            files.require_writable(self.plot)

    def _require_of_zoom(self) -> None:
        """Check the requirements of a search without a grid; its choices depend on the data, too."""
        given = self.given
        if given.grid:
            raise InputError("--search zoom takes its values from the data: leave --grid out, or give --search grid")
        if given.scheduler:
            raise InputError("--search zoom runs here: leave --scheduler out, or give --search grid")
        if not task_named(given.task).is_supervised:
            raise InputError("a search needs labels to compare candidates by: leave --tune out with --task outliers")
        self.grids, self.paths, self.searched = [], [], set()
        backends.require(given.backend)
        if self.plot:
            picture.require_format(self.plot)
            files.require_writable(self.plot)

    @property
    def n_candidates(self) -> int:
        """The number of candidates of the whole search."""
        return sum(len(path.Cs) for path in self.paths)

    def run(self) -> Outcome:
        """Search, refit the best candidate on all rows, and finish; if the tracker fails, the model is not lost."""
        in_grid = bool(self.paths) and all(path.settings.get("impute") for path in self.paths)
        self.sets = read(self.options, imputes=in_grid)
        self.method = self.options.method(self.sets.train.task)
        grouped = self.method.with_groups(self.sets.train.encoding.group_sizes if self.sets.train.encoding else None)
        if grouped is not self.method:
            penalty = make_penalty("group", groups=grouped.settings.penalty_groups)
            self.paths = [replace(path, solver=with_penalty(path.solver, penalty)) for path in self.paths]
            self.method = grouped
        if self.zooms:
            self.searched = set(choosable_names(self.method)) - self.fixed
            if self.given.scale is not None:  # "none" is a choice, too
                self.searched -= {SCALE}
            if not self.searched - {SCALE}:
                raise InputError("there is nothing to choose: leave -C or --gamma out")
        if SCALE not in self.searched:
            advise_scaling(self.sets.train.X, self.options, self.method.kernel)
        solver, name, task = self.method.solver, self.sets.train.name, task_named(self.sets.train.task)
        truth = task.encode_truth(self.sets.train.y, self.sets.train.n_samples)
        metric = self.options.metric or (None if task.is_supervised else task.metric)
        self.metric = self.method.metric(metric, truth.classes, truth.codes)
        if self.metric.note:
            note(self.metric.note)
        with closing(open_tracker(self.options)) as tracker:
            untouched, pairs = copy.copy(self), self._outer_folds(truth, task)
            tracker.start(f"tune {solver.name} {name}", self._params(), tracking.tags(solver), self.sets.train)
            try:
                self._search()
            except tune.Interrupted:
                tracker.end("KILLED")
                raise
            if self.result is not None:
                self._note_flaws(self.result)
                chosen = self.result.best.params
                vars(self.options).update({name: chosen[name] for name in WORDS if name in chosen})  # as logged
            data, seconds = prepare(self.method, self.sets)
            job = Job(self.options, self.method, self.sets, self.metric, search="another --grid", seconds=seconds)
            if self.zooms:
                job = replace(job, search="another kernel", facts={"search": self.chosen.facts}, fold=self.chosen.fold)
            outcome = fit_and_finish(job, data, tracker)
            if self.result is None:  # the time limit ended the search
                self.plot = None
                return outcome
            said = describe_doubt(self.result.best, self.metric, outcome.result)
            if said is not None:
                note(said)
            self.nested = untouched._search_in_folds(() if self.result.interrupted else pairs)
            if self.plot:
                try:
                    picture.draw(self.result.candidates, self.plot, self._caption(), self.metric)
                except InputError as error:  # a failed picture must not lose the search and the model
                    self.plot, outcome = None, replace(outcome, failure=outcome.failure or SvmkitError(str(error)))
            if tracker.run_id:
                try:
                    self._log_search(tracker, outcome.result["fit_s"])
                except (OSError, SvmkitError) as error:
                    note(f"the search is not logged completely: {one_line(error)}")
        return outcome

    def _outer_folds(self, truth: Answers, task: Task) -> tuple[Pair, ...]:
        """Return the rows of the folds of --nested; none without it."""
        if self.given.nested is None:
            return ()
        splits = make_splits(self.given.nested, truth, task, self.options.seed, groups=self.sets.train.groups)
        for line in splits.notes:
            note(f"nested: {line}")
        return splits.pairs

    def _search_in_folds(self, pairs: Sequence[Pair]) -> Nested | None:
        """Repeat the search, and the training of its best candidate, without each outer fold, and measure on the fold.

        Returns None if there is no fold, or a search was cut short before the first one.
        """
        found = list[OuterFold]()
        for k, (train, held) in enumerate(pairs):
            try:
                fold = self._outer_fold(train, held)
            except (tune.Interrupted, KeyboardInterrupt):
                fold = None
            if fold is None:
                note(f"nested: the search without outer fold {k + 1} of {len(pairs)} was cut short, and is left out")
                break
            found.append(fold)
        return Nested(tuple(found), self.metric) if found else None

    def _outer_fold(self, train: np.ndarray, held: np.ndarray) -> OuterFold | None:
        """Search on the rows `train`, and score on the held-out rows; None if it was cut short."""
        inner, whole = copy.copy(self), self.sets.train
        inner.sets = replace(self.sets, train=part(whole, train))
        inner._search()
        if inner.result is None or inner.result.interrupted:
            return None
        fitted = fit_prepared(prepare(inner.method, inner.sets)[0], inner.method)
        if fitted.status is Status.INTERRUPTED:
            return None
        evaluation = inner.method.task.evaluation
        measured = evaluation.measure(fitted.model, part(whole, held), self.metric, self.options.threads)
        return OuterFold(inner.result.best, math.nan if measured.value is None else float(measured.value))

    def _zoom(self) -> None:
        """Choose among values suggested by the data, and use the method of the best ones."""
        data, given, began = self.sets.train, self.given, time.perf_counter()
        with live("searching (the first run compiles)") as show:
            how = Choice(
                names=tuple(name for name in NAMES if name in self.searched),
                cv=self.cv,
                metric=self.metric,
                groups=data.groups,
                jobs=given.jobs,
                backend=given.backend,
                report=(lambda at: show(progress_line(at, self.metric))) if show else None,
            )
            self.chosen = choose(data.X, labels_of(data), self.method, how, flags=data.flags)
        self.result = self.chosen.result
        if scores := self.chosen.facts.get("scale_scores"):
            taken, *others = (f"{self.metric.format(score)} with --scale {kind}" for kind, score in scores.items())
            beside = f" ({others[0]})" if others else ""
            note(f"the features' scales differ much: {self.metric.title} is {taken}, which is taken{beside}")
        self.method = self.chosen.shorten(time.perf_counter() - began)
        self.cv = self.chosen.facts["cv"]

    def _search(self) -> None:
        if self.zooms:
            self._zoom()
            return
        method, data, given = self.method, self.sets.train, self.given
        shared = {field.name: getattr(method.settings, field.name) for field in fields(method.settings)}
        for name in ("solver", "solver_options", "kernel", "kernel_params", "C", "calibration"):
            del shared[name]  # each candidate has its own value
        with ExitStack() as end:
            cluster = None
            if given.scheduler:
                solvers = {path.solver.name for path in self.paths}
                cluster = end.enter_context(connect(given.scheduler, solvers=sorted(solvers), notify=note))
            show = end.enter_context(live("searching (the first run compiles)"))
            self.result = tune.run(
                self.paths,
                data.X,
                labels_of(data),
                search=given.search,
                factor=given.factor or 3,
                cv=self.cv,
                task=data.task or "classify",
                metric=self.metric,
                flags=data.flags,
                groups=data.groups,
                **shared | {"sampler": method.sampler},
                jobs=given.jobs,
                backend=given.backend,
                refine=given.refine,
                cluster=cluster,
                report=(lambda at: show(progress_line(at, self.metric))) if show else None,
            )
        best = self.result.best
        if self.cv != LOO:
            self.cv = len(best.scores)  # fewer than requested if a class or the groups are small
        own: dict[str, Any] = {"solver": best.solver, "solver_options": None, "kernel": best.kernel, "C": best.C}
        own |= settings_of(best.params)
        if best.tol is not None:
            own["stop"] = with_gap(method.settings.stop, best.tol)
        self.method = replace(method, settings=replace(method.settings, **own), solver=best.solver, kernel=best.kernel)

    def _note_flaws(self, result: tune.Result) -> None:
        """Print a note if the search was cut short, for each flaw of the candidates, and for a tolerance of the refit.

        Searches without an outer fold are not mentioned, since their models are not used.
        """
        tried, best = result.candidates, result.best
        if result.interrupted and not self.zooms:
            note(f"interrupted: {len(tried)} of {self.n_candidates} candidates are whole; refitting the best")
        failed = [c for c in tried if c.failed]
        if failed:
            note(f"{len(failed)} of {len(tried)} candidates failed, the first: {failed[0].reason}")
        slow = sum(not c.converged for c in tried) - len(failed) - sum(map(_is_rough, tried))
        if slow:
            note(f"{slow} of {len(tried)} candidates did not converge in every fold: give more time or a larger --tol")
        unknown = sum(not c.determined for c in tried) - len(failed)
        if unknown:
            note(
                f"{unknown} of {len(tried)} candidates are ranked last: the order of their decisions is not determined "
                "at the gap that they reached, and the metric is about nothing else"
            )
        if best.tol is not None:
            note(f"the refit goes to a gap of {best.tol:.1e}, as its folds did, for the order of its decisions")

    def _folds(self) -> str:
        return "leave-one-out" if self.cv == LOO else f"{self.cv} folds"

    def _caption(self) -> str:
        kernels = picture.name_kernels(self.result.candidates)
        return f"{self.sets.train.name}: {self.method.solver.name}, {kernels}, {self._folds()}"

    def _params(self) -> dict[str, Any]:
        """Return the parameters of the search, without those that are searched."""
        method, data, given = self.method, self.sets.train, self.given
        params = {"solver": method.solver.name, "kernel": method.kernel.name, "search": given.search, "cv": given.cv}
        params["metric"] = self.metric.name
        if not self.zooms:
            params |= {"grid": " ".join(self.grids), "n_candidates": self.n_candidates}
        params["sampler"] = str(method.sampler)
        logged = (name for name in LOGGED if name not in ("label", "decimal", "encoding"))
        params |= {name: value for name in logged if (value := getattr(self.options, name)) is not None}
        fixed = tube(method) | {"C": method.settings.C} | method.kernel.params
        params |= {key: value for key, value in fixed.items() if key not in self.searched}
        return params | {"data": data.name, "n": data.n_samples, "d": data.n_features}

    def _log_search(self, tracker: Tracker, fit_s: float) -> None:
        """Log the best candidate, the picture and a list of all candidates, and each candidate as a nested run."""
        best = self.result.best
        place = {"C": best.C, "log10_C": math.log10(best.C)}
        if best.gamma is not None:
            place |= {"gamma": best.gamma, "log10_gamma": math.log10(best.gamma)}
        of_folds = _numbers(best, self.metric)
        of_folds["cv/n_support"] = of_folds.pop("n_support")  # the model logged here has its own value
        of_best = {f"best/{name}": value for name, value in place.items()} | of_folds
        if self.nested is not None:
            about = self.nested.about()
            of_best |= {f"nested/{name}": about[name] for name in ("mean_score", "std_score", "inner_mean_score")}
        tracker.metrics(tracking.scalars(of_best | {"search_s": self.result.seconds, "fit_s": fit_s}))
        with tempfile.TemporaryDirectory() as folder:
            candidates = Path(folder) / "candidates.json"
            candidates.write_text(json.dumps([_row(c, self.given.search) for c in self.result.candidates], indent=1))
            tracker.artifact(candidates)
            drawn = Path(self.plot or Path(folder) / "accuracy.png")
            if not self.plot and picture.axes_of([c for c in self.result.candidates if not c.failed]):
                picture.draw(self.result.candidates, drawn, self._caption(), self.metric)
            if drawn.exists():
                tracker.artifact(drawn)
        assert tracker.run_id is not None
        self._log_candidates(tracker.run_id)

    def _log_candidates(self, parent: str) -> None:
        """Log each candidate; stop when the store fails, to avoid a warning for each of the others."""
        options, candidates = self.options, self.result.candidates
        with live("logging the candidates") as show:
            for k, c in enumerate(candidates):
                if show:
                    show(f"logging candidate {k + 1:,} of {len(candidates):,}")
                gamma = {"gamma": c.gamma} if c.gamma else {}
                kernel = plugins.build("kernel", c.kernel.name, c.kernel.params | gamma)
                own = {"tol": options.tol, "seed": options.seed, "cv": self.cv}
                # searched options are logged even if they have their default values
                params = c.params | tracking.params(c.solver, kernel, c.C, self.sets.train, **own)
                tags = tracking.tags(c.solver) | ({"svmkit.reason": c.reason} if c.reason else {})
                with closing(tracking.tracker(options.tracking_uri, options.experiment)) as run:
                    run.start(
                        ", ".join(f"{k}={format_param(v)}" for k, v in c.params.items()), params, tags, parent=parent
                    )
                    if run.run_id is None:
                        return
                    run.metrics(tracking.scalars(_numbers(c, self.metric)))
                    if c.failed:
                        run.end("FAILED")

    def show(self, outcome: Outcome) -> None:
        """Print the best candidates and the model of the best one, or one JSON object."""
        result, given = self.result, self.given
        if given.json:
            emit(outcome.result | {"search": self._about_search()} if self.trains else self._summary(outcome.result))
            return
        if result is None:
            report(outcome, False)
            return
        say(
            f"{given.search} search over {', '.join(result.best.params)}: {len(result.candidates):,} candidates, "
            f"{self._folds()}, {result.n_fits:,} fits in {result.seconds:.2f} s, by {self.metric.title}"
        )
        say(*_table(result, SHOWN))
        if self.zooms and self.chosen.facts["keeps_default"]:
            say(f"the first one is the default: no candidate is better by {DOUBT:g} standard errors over the folds")
        if self.nested is not None:
            say(*self.nested.lines())
        if self.plot:
            say(f"picture: {self.plot}")
        say("")
        report(outcome, False)

    def _summary(self, refit: dict[str, Any]) -> dict[str, Any]:
        """Return the keys and values of `svmkit tune --json`; `refit` is the result of the best candidate."""
        kernel = {k: v for k, v in refit["kernel"]["params"].items() if k not in self.searched}
        about = {
            "data": self.sets.train.name,
            "solver": self.method.solver.name,
            "kernel": {"name": self.method.kernel.name, "params": kernel},
        }
        return about | self._about_search() | {"model": refit["model"], "run_id": refit["run_id"], "refit": refit}

    def _about_search(self) -> dict[str, Any]:
        """Return the facts of the search; there are no candidates if the time limit ended it first."""
        result, search = self.result, self.given.search
        candidates: list[dict[str, Any]] = [] if result is None else [_row(c, search) for c in result.candidates]
        best = None if result is None else {key: candidates[0][key] for key in ("params", *SCORES)}
        return {
            "search": search,
            "cv": self.cv,
            "metric": self.metric.about(),
            "n_candidates": len(candidates),
            "n_fits": 0 if result is None else result.n_fits,
            "seconds": 0.0 if result is None else result.seconds,
            "interrupted": result is None or result.interrupted,
            "best": best,
            "candidates": candidates,
            "plot": self.plot,
        } | ({} if self.nested is None else {"nested": self.nested.about()})


def _table(result: tune.Result, most: int) -> list[str]:
    """Return the best candidates as lines of aligned columns, best first."""
    names = list(dict.fromkeys(name for c in result.candidates for name in c.params))
    halved = len({c.n_rows for c in result.candidates}) > 1
    metric = result.metric
    other = [] if metric.name == "accuracy" or math.isnan(result.best.mean_accuracy) else ["accuracy"]
    shown = [c for c in result.candidates[:most] if not c.failed]
    has_rough = any(map(_is_rough, shown))
    head = ["", *names, metric.title, *other, *(["rows"] if halved else []), "support", "fit"]
    lines = [head + ["gap"] * has_rough]
    for k, c in enumerate(shown):
        spread = f"{100 * c.std_score:.2f}" if metric.is_share else f"{c.std_score:.4f}"
        score = [f"{metric.format(c.mean_score)} ± {spread}", *(f"{c.mean_accuracy:.2%}" for _ in other)]
        rest = [*([f"{c.n_rows:,}"] if halved else []), f"{c.n_support:,.0f}", f"{c.fit_s:.2f} s"]
        rest += ["-" if c.gap is None else f"{c.gap:.1e}"] * has_rough
        lines.append([str(k + 1), *(format_param(c.params.get(name, "-")) for name in names), *score, *rest])
    return align(lines)


def _is_rough(c: tune.Candidate) -> bool:
    """Return whether hard fits of a candidate have ended at a rough gap because other candidates are far better."""
    return not c.converged and c.gap is not None and c.gap <= ROUGH


def _row(c: tune.Candidate, search: str) -> dict[str, Any]:
    number = {key: None if c.failed else getattr(c, key) for key in SCORES}
    resources = {"n_resources": c.n_rows} if search == "halving" else {}
    seconds = {"fit_s": None if c.failed else c.fit_s, "determined": c.determined, "tol": c.tol, "gap": c.gap}
    return {"params": c.params, **number, **resources, **seconds} | ({"reason": c.reason} if c.reason else {})


def _numbers(c: tune.Candidate, metric: Metric) -> dict[str, float]:
    """Return the numbers that are logged for a candidate, by the names of `tracking.METRICS`, or the full names."""
    values = {key: getattr(c, key) for key in ("mean_accuracy", "std_accuracy", "fit_s", "n_support", "n_rows")}
    if metric.name != "accuracy":
        values |= {f"cv/mean_{metric.name}": c.mean_score, f"cv/std_{metric.name}": c.std_score}
    return values


def describe_doubt(best: Any, metric: Metric, result: dict[str, Any]) -> str | None:
    """Return a line if a refit scores worse on its own rows than the folds did on held-out rows, else None.

    `best` is the candidate that was refitted, and `result` the output of `svmkit train --json` for the refit.
    """
    on_train, least = result["metric"]["train"], FAR if metric.is_share else 0.0
    if on_train is None or on_train >= best.mean_score - max(least, 3.0 * best.std_score):
        return None
    remedy = REMEDIES.get(result["status"], "it did not converge: give it more steps")
    return (
        f"the model has {metric.title} {metric.format(on_train)} on the rows that it was trained on, and "
        f"{metric.format(best.mean_score)} in the folds: the search says nothing about it; {remedy}"
    )
