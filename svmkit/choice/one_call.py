"""`choose` finds C, gamma and epsilon by cross-validation; `train_chosen` and `fit` train the best model."""

from __future__ import annotations

import inspect
import math
import re
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import numpy as np

from svmkit.choice.ranges import Ranges
from svmkit.choice.scales import SCALE, advise_scaling, require_scalable, score_scales
from svmkit.choice.stages import make_stages
from svmkit.choice.zoom import Zoom, point_of
from svmkit.data.tables.in_memory import encode_samples
from svmkit.errors import InputError, SvmkitError, SvmkitWarning
from svmkit.kernels.functions import Precomputed
from svmkit.losses.base import Loss
from svmkit.runtime import interrupt, progress, threads
from svmkit.scoring.metric import Metric
from svmkit.solver.selection import by_name
from svmkit.solver.stopping import Seconds, Stop
from svmkit.tasks import Answers
from svmkit.training import train as training
from svmkit.training.data import TrainingData
from svmkit.training.result import Fit
from svmkit.training.settings import CHOSEN, Method, Settings, resolve
from svmkit.training.splits import Splits, make_splits
from svmkit.tune.crossval import Interrupted, Trials
from svmkit.tune.folds import NO_FOLDS, draw_folds
from svmkit.tune.ranking import with_gap
from svmkit.tune.records import Progress, Report, progress_line
from svmkit.tune.result import Candidate, Result, sort_candidates
from svmkit.tune.shared.leave_one_out import LOO, is_loo
from svmkit.tune.space import ALL, EPSILON, Path

NAMES = ("C", "gamma", EPSILON, SCALE)
SHARE = 0.75  # of a limit in seconds that the search may take: the rest is for the model of all rows
DELAY = 0.5  # seconds after which a live line appears


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What is chosen by cross-validation, and how.

    Attributes
    ----------
    names : tuple of str
        What is chosen, of C, gamma, epsilon and scale.
    cv : int, "loo", splitter of scikit-learn, or sequence of (train, test), default=5
        The folds; a number of them is shuffled with the seed of the settings and, of classes, stratified. "loo" leaves
        out one sample at a time.
    metric : str or Metric, default=None
        As for `svmkit.tune.run`.
    groups : array-like of shape (n_samples,), default=None
        Rows of the same group are in the same fold.
    preparation : {"once", "each"}, default="once"
        Whether imputing and scaling are learnt once from all rows, without labels, so that folds share kernel values,
        or in each fold anew.
    jobs, backend : int, str, default=1, "loky"
        The fits at a time, and where they run, as for `svmkit.tune.run`.
    report : callable, default=None
        Called now and then with the `svmkit.tune.Progress`, in a thread of its own.

    Examples
    --------
    >>> from svmkit.choice import Choice
    >>> Choice(names=("C",), cv=3).cv
    3
    """

    names: tuple[str, ...]
    cv: Any = 5
    metric: str | Metric | None = None
    groups: Any = None
    preparation: str = "once"
    jobs: int = 1
    backend: str = "loky"
    report: Report | None = None


@dataclass(frozen=True)
class Chosen:
    """What a search has chosen.

    Attributes
    ----------
    method : Method
        The method of the best candidate, for all rows.
    result : Result or None
        The candidates, best first; None where time, or a signal, ended the search before one was tried in all folds.
    fold : ndarray of shape (n_samples,), int, or None
        The fold in which each row was held out; None where a row was held out more than once.
    facts : dict
        What a model records of its search, as plain values.
    """

    method: Method
    result: Result | None
    fold: np.ndarray | None
    facts: dict[str, Any] = field(default_factory=dict)

    def shorten(self, seconds: float) -> Method:
        """Return the method with the time that a search has left, or with a quarter of the limit if that is more, so
        that a step that overran the share of the search does not shorten the training of the model.

        Parameters
        ----------
        seconds : float
            The seconds that the search has taken.
        """
        limit = self.method.settings.rules.least(Seconds)
        return self.method.limit(max(limit - seconds, (1.0 - SHARE) * limit))


@dataclass(frozen=True)
class ChosenFit(Fit):
    """A trained model whose C, gamma or epsilon were chosen by cross-validation.

    Attributes
    ----------
    chosen : Chosen
        The candidates and the best one.

    Examples
    --------
    >>> from svmkit import fit, load
    >>> iris = load("iris")
    >>> fitted = fit(iris.X, iris.y, C="cv", gamma="cv")
    >>> fitted.chosen.result.best.params.keys() == {"C", "gamma"}, fitted.gap < 1e-3
    (True, True)
    """

    chosen: Chosen = field(kw_only=True)


def names_to_choose(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the parameters among these values that are "cv"; raise InputError if one of them cannot be chosen."""
    asked = [name for name, value in values.items() if isinstance(value, str) and value == CHOSEN]
    for name in asked:
        if name not in NAMES:
            raise InputError(f"{name}='cv': only {', '.join(NAMES)} are chosen by cross-validation; give a value")
    return tuple(name for name in NAMES if name in asked)


def choosable_names(method: Method) -> tuple[str, ...]:
    """Return what cross-validation can choose for a method, of C, gamma, epsilon and scale."""
    found = []
    for name in NAMES:
        try:
            require_choosable((name,), method)
        except InputError:
            continue
        found.append(name)
    return tuple(found)


def require_choosable(names: tuple[str, ...], method: Method) -> None:
    """Raise InputError, in one line, for a parameter that the method does not have."""
    settings, task, kernel = method.settings, method.task, method.kernel
    if not task.is_supervised:
        raise InputError(f"{names[0]}='cv' needs labels: {task.noun} has none to compare candidates by")
    if "gamma" in names and "gamma" not in kernel.params:
        raise InputError(f"gamma='cv': the {kernel.name} kernel has no gamma: leave gamma out, or give another kernel")
    if EPSILON in names:
        if not task.has_targets:
            raise InputError("epsilon='cv' is for quantities, and the labels are classes: leave epsilon out")
        if settings.nu is not None:
            raise InputError("epsilon='cv' with nu: training finds epsilon itself; leave one of the two out")
        if getattr(method.loss, EPSILON, None) is None:
            raise InputError(f"epsilon='cv': the loss {method.loss.name} has no epsilon: leave epsilon out")
    if SCALE in names:
        require_scalable(method)
    if "C" in names and settings.nu is not None and not task.has_targets:
        raise InputError("C='cv' with nu: C has no effect on nu-SVC; leave C out, or nu")


def choose(
    X,
    y,
    method: Method,
    how: Choice,
    *,
    sample_weight: np.ndarray | None = None,
    flags: np.ndarray | None = None,
) -> Chosen:
    """Choose parameters by cross-validation, from candidates that the data suggest.

    Parameters
    ----------
    X, y, sample_weight, flags : optional
        As for `svmkit.fit`.
    method : Method
        The settings; parameters that are chosen have their defaults there. A limit in seconds among the stop rules
        covers the search and the training that follows; the search takes at most three quarters of it.
    how : Choice
        What is chosen, and how.

    Returns
    -------
    Chosen
        The best candidate; the method unchanged, after a warning, if none was tried in all folds.

    Raises
    ------
    InputError
        The data or an option cannot be used.
    SvmkitError
        Every candidate failed.

    Examples
    --------
    >>> from svmkit import load
    >>> from svmkit.choice import Choice, choose
    >>> from svmkit.training.settings import Settings, resolve
    >>> iris = load("iris")
    >>> chosen = choose(iris.X, iris.y, resolve(Settings()), Choice(names=("C",), cv=3))
    >>> chosen.method.settings.C == chosen.result.best.C, chosen.facts["names"]
    (True, ['C'])
    """
    began, settings = time.perf_counter(), method.settings
    require_choosable(how.names, method)
    plain = replace(method, settings=replace(settings, calibration=None, stop=_without_seconds(settings)))
    given: dict[str, Any] = {"sample_weight": sample_weight, "flags": flags}
    data = TrainingData.prepare(X, y, plain, **given)
    truth = method.task.encode_truth(y, data.n_samples)
    splits = _draw_splits(how, truth, data, method)
    metric = how.metric if isinstance(how.metric, Metric) else method.metric(how.metric, truth.classes, truth.codes)
    whole = {"X": X, "y": y, **given} | _run_options(how, plain, metric, splits)
    rounds = _Rounds(metric, how.report, began + SHARE * settings.rules.least(Seconds))
    facts: dict[str, Any] = {"names": list(how.names), "cv": LOO if splits is None else len(splits.pairs)}
    scores = score_scales(plain, whole, data.raw, truth, rounds.seconds_left) if SCALE in how.names else {}
    if scores:
        kind = next(iter(scores))
        facts |= {SCALE: kind, "scale_scores": scores}
        whole[SCALE] = kind
        method, plain = (replace(each, settings=replace(each.settings, scale=kind)) for each in (method, plain))
        data = TrainingData.prepare(X, y, plain, **given)
    elif SCALE not in how.names and (hint := advise_scaling(plain, data.raw)):
        warnings.warn(hint, SvmkitWarning, stacklevel=2)
    whole["data"] = data
    zoom = Zoom(plain, how.names, Ranges(data, settings.seed))
    small = [] if splits is None else _small_runs(whole, data, truth, settings.seed)
    with threads.using(settings.n_threads):
        result = rounds.search(zoom, [*small, whole])
    fold = None if splits is None else splits.numbers(data.n_samples)
    facts |= {"metric": metric.name, "ended": rounds.ended, "n_candidates": len(result.candidates) if result else 0}
    if rounds.ended is not None:
        warnings.warn(_describe_end(how, rounds.ended, facts["n_candidates"]), SvmkitWarning, stacklevel=2)
    if result is None:
        return Chosen(method, None, fold, facts)
    return _take_best(result, zoom, method, fold, facts)


def _draw_splits(how: Choice, truth: Answers, data: TrainingData, method: Method) -> Splits | None:
    """Return the splits of all runs of a search, with a warning for each of their notes; None for leave-one-out."""
    if is_loo(how.cv):
        return None
    used, seed = data.weights > 0.0, method.settings.seed
    splits = make_splits(how.cv, truth, method.task, seed, groups=how.groups, used=used, X=data.raw)
    for line in splits.notes:
        warnings.warn(line, SvmkitWarning, stacklevel=3)
    return splits


def _run_options(how: Choice, plain: Method, metric: Metric, splits: Splits | None) -> dict[str, Any]:
    """Return the options that all runs of a search share, without the data."""
    return {
        "task": plain.task,
        "metric": metric,
        "cv": LOO if splits is None else splits,
        "groups": how.groups if splits is None else None,
        "preparation": how.preparation,
        "refine": ALL,  # candidates of several runs are compared
        "jobs": how.jobs,
        "backend": how.backend,
    } | _shared_settings(plain, how.names)


def _describe_end(how: Choice, ended: str, n_candidates: int) -> str:
    """Return one line on a search that was cut short."""
    rest = "the best so far is trained" if n_candidates else ", ".join(how.names) + " keep their defaults"
    tried = f"{n_candidates:,} candidates were" if n_candidates else "a candidate was"
    what = "interrupted" if ended == "interrupted" else "the time limit ended the search"
    return f"{what} {'after' if n_candidates else 'before'} {tried} tried in all folds: {rest}"


def _take_best(result: Result, zoom: Zoom, method: Method, fold: np.ndarray | None, facts: dict[str, Any]) -> Chosen:
    """Return what is chosen of the candidates, with the facts of the search."""
    candidates = zoom.choose(result.candidates)
    facts["keeps_default"] = candidates[0] is not result.best
    if SCALE in facts:
        candidates = [replace(each, params=each.params | {SCALE: facts[SCALE]}) for each in candidates]
    result = replace(result, candidates=candidates)
    facts |= {"params": dict(result.best.params), "score": result.best.mean_score, "std": result.best.std_score}
    facts |= {"n_fits": result.n_fits, "seconds": result.seconds}
    return Chosen(_method_of(result, method), result, fold, facts)


def _small_runs(whole: Mapping[str, Any], data: TrainingData, truth: Answers, seed: int) -> list[dict[str, Any]]:
    """Return the arguments of `Trials` for the rounds on few rows, from those for all rows."""
    if data.task.has_labels or data.task.has_groups:  # whose rare combinations, or pairs, no draw keeps
        return []
    given, raw = dict(whole) | {"data": None}, data.raw
    if given["preparation"] == "once":  # it is learnt from all rows
        raw, given = data.X, given | {"flags": None, "impute": None, "scale": None}
    weights = None if whole["sample_weight"] is None else data.own_weights
    rest = raw, truth.values, weights, isinstance(data.kernel, Precomputed)
    return [stage.restrict(given, *rest) for stage in make_stages(given["cv"].pairs, truth.codes, seed)]


def _method_of(result: Result, method: Method) -> Method:
    """Return the method of the best candidate for all rows, with the calibration and the limits of the caller."""
    best, settings = result.best, method.settings
    own: dict[str, Any] = {"kernel": best.kernel, "kernel_params": None, "C": best.C}
    if EPSILON in best.params:
        own[EPSILON] = best.params[EPSILON]
        if isinstance(settings.loss, Loss):  # which has its own
            own["loss"] = replace(settings.loss, **{EPSILON: best.params[EPSILON]})
    if best.tol is not None:  # the order of the decisions is known there
        own["stop"] = with_gap(settings.stop, best.tol)
    return replace(method, settings=replace(settings, **own), kernel=best.kernel)


def _without_seconds(settings: Settings) -> Stop | None:
    """Return the stop rules of a fit of the search, without the limit in seconds, which covers all fits together."""
    if settings.stop is None:
        return None
    return Stop(tuple(rule for rule in settings.rules.criteria if not isinstance(rule, Seconds)))


def _shared_settings(method: Method, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the settings that all candidates share, as `Trials` take them."""
    shared = {field.name: getattr(method.settings, field.name) for field in fields(method.settings)}
    for name in ("solver", "solver_options", "kernel", "kernel_params", "C", "calibration"):
        del shared[name]  # candidates have their own
    if EPSILON in names:  # a loss would have an epsilon of its own; its name is known to the solver
        shared |= {"loss": None, "loss_options": None}
    elif isinstance(shared["loss"], Loss):  # it has its options
        shared["loss_options"] = None
    return shared | {"sampler": method.sampler}


class _Rounds:
    """The rounds of a search on the same folds, joined to one result; `ended` says what has ended it early."""

    def __init__(self, metric: Metric, report: Report | None, last: float) -> None:
        self.ended: str | None = None
        self._metric, self._listener, self._last = metric, report, last
        self._best, self._n_fits = math.nan, 0

    def search(self, zoom: Zoom, stages: Sequence[Mapping[str, Any]]) -> Result | None:
        """Return the candidates of all rounds, best first; None if not one was tried in all folds.

        `stages` holds the arguments of `Trials` for each number of rows, ascending.
        """
        began, found = time.perf_counter(), list[Candidate]()
        with interrupt.catching() as flag:
            for stage in stages:
                if self.ended is not None:
                    break
                is_last = stage is stages[-1]
                paths = zoom.later_paths(found, is_last=is_last) if found else zoom.first_paths(is_last=is_last)
                try:
                    own = self._stage(zoom, paths, stage, flag)
                except SvmkitError:
                    if is_last:
                        raise
                    continue  # the rows may have been too few
                known = set(map(point_of, own))
                found = [*own, *(candidate for candidate in found if point_of(candidate) not in known)]
        seconds = time.perf_counter() - began
        return Result(found, self._metric, self._n_fits, seconds, self.ended is not None) if found else None

    def _stage(self, zoom: Zoom, paths: list[Path], stage: Mapping[str, Any], flag: interrupt.Flag) -> list[Candidate]:
        """Return the candidates of the rounds on the rows of a stage, best first."""
        found: list[Candidate] = []
        trials: Trials | None = None
        while paths and self.ended is None:
            left = self.seconds_left()
            if flag or left <= 0.0:
                self.ended, flag.raised = "interrupted" if flag else "time_limit", False
                break
            try:
                with warnings.catch_warnings():
                    if self._n_fits:  # the note on the metric of leave-one-out is given once
                        warnings.filterwarnings("ignore", message="cv='loo'", category=SvmkitWarning)
                    trials = trials or Trials(paths[0], **stage)
                    result = trials.run(paths, seconds=left, report=self._listener and self._report)
            except Interrupted:
                self.ended = self._why()
                break
            self.ended = self._why() if result.interrupted else None
            self._n_fits += result.n_fits
            found = sort_candidates([*found, *result.candidates])
            paths = zoom.next_paths(found)
        return found

    def seconds_left(self) -> float:
        """Return the seconds that the search may still take."""
        return self._last - time.perf_counter()

    def _why(self) -> str:
        return "interrupted" if time.perf_counter() < self._last else "time_limit"

    def _report(self, at: Progress) -> None:
        """Report the progress of a round as that of the search, whose number of fits is not known yet."""
        assert self._listener is not None
        known = [best for best in (self._best, at.best) if not math.isnan(best)]
        self._best = max(known, default=math.nan)
        self._listener(replace(at, fits=self._n_fits + at.fits, of=None, best=self._best))


def train_chosen(
    X,
    y,
    method: Method,
    how: Choice,
    *,
    sample_weight: np.ndarray | None = None,
    flags: np.ndarray | None = None,
    verbose: int = 0,
    **options: Any,
) -> ChosenFit:
    """Choose parameters by cross-validation, and train the model of the best ones on all rows.

    Parameters
    ----------
    X, y, sample_weight, flags, verbose : optional
        As for `svmkit.fit`.
    method, how : Method, Choice
        As for `choose`. A calibration takes the folds of the search.
    **options
        As for `svmkit.training.train.train`.

    Examples
    --------
    >>> from svmkit import load
    >>> from svmkit.choice import Choice
    >>> from svmkit.choice.one_call import train_chosen
    >>> from svmkit.training.settings import Settings, resolve
    >>> iris = load("iris")
    >>> fitted = train_chosen(iris.X, iris.y, resolve(Settings()), Choice(names=("C",), cv=3))
    >>> fitted.model.about["search"]["metric"]
    'accuracy'
    """
    began = time.perf_counter()
    given: dict[str, Any] = {"sample_weight": sample_weight, "flags": flags}
    live = progress.live("searching (the first run compiles)", delay=DELAY, lines=True)
    with live if verbose else nullcontext() as show:
        if show is not None:
            how = replace(how, report=lambda at: show(f"svmkit: {progress_line(at)}"))
        chosen = choose(X, y, method, how, **given)
    searched = time.perf_counter() - began
    best = chosen.shorten(searched)
    fold = chosen.fold if best.settings.has_folds else None
    fitted = training.train(X, y, best, verbose=verbose, fold=fold, groups=how.groups, **given, **options)
    model = replace(fitted.model, about=fitted.model.about | {"search": chosen.facts})
    own = {field.name: getattr(fitted, field.name) for field in fields(Fit)}
    own |= {"model": model, "seconds": searched + fitted.seconds}
    return ChosenFit(**own, chosen=replace(chosen, method=best))


def _complete(function: Callable[..., Fit]) -> Callable[..., Fit]:
    """Decorate `fit`: complete its signature and its docstring from `svmkit.training.fit`."""
    own, base = inspect.signature(function), inspect.signature(training.fit)
    named = {name: one for name, one in own.parameters.items() if one.kind is not inspect.Parameter.VAR_KEYWORD}
    every = [named.get(name, one) for name, one in base.parameters.items()]
    every += [one for name, one in named.items() if name not in base.parameters]
    vars(function)["__signature__"] = own.replace(parameters=every)
    text, base_text = (inspect.cleandoc(each.__doc__ or "") for each in (function, training.fit))
    entries = re.split(r"\n(?=\S)", base_text.partition("----------\n")[2].partition("\n\n")[0])
    lacking = "\n".join(entry for entry in entries if entry.partition(" :")[0] not in named)
    function.__doc__ = re.sub(r"\*\*options\n.*\n", lambda _: lacking + "\n", text)
    return function


@_complete
def fit(
    X,
    y,
    *,
    kernel: Any = None,
    C: float | Literal["cv"] = 1.0,
    gamma: float | str | None = None,
    epsilon: float | Literal["cv"] = 0.1,
    cv: Any = 5,
    metric: str | Metric | None = None,
    groups: Any = None,
    **options: Any,
) -> Fit:
    """Train a classifier for two classes or more, or a regression function; parameters that are "cv" are chosen first.

    Parameters
    ----------
    X : array-like, sparse matrix or table of shape (n_samples, n_features), float32 or float64
        The training samples, dense or CSR; NaN is a hole, for `impute` to fill. For a precomputed kernel, the kernel
        values (n_samples, n_samples). Columns of a table (pandas, polars, pyarrow) become features as in `svmkit train`
        (docs/tables.md), and the model keeps how: texts a 0/1 feature for each, dates days.
    y : array-like of shape (n_samples,)
        The labels, numbers or text; in regression the targets, finite numbers that are not all the same.
    kernel : Kernel, str or callable, default=None
        The kernel. Parameters such as gamma="scale" are computed from X after scaling. None is rbf, or linear for a
        solver that needs it.
    C : float or "cv", default=1.0
        The weight of the summed losses, > 0. The weight C_i of a sample is C times its class weight times its sample
        weight. "cv" chooses it by cross-validation from values that the data suggest (docs/tune.md, "One call").
    gamma : float, {"scale", "auto", "msd"} or "cv", default=None
        The gamma of a kernel that is given by its name; "cv" chooses it, of any kernel that has one. None is that of
        the kernel.
    epsilon : float or "cv", default=0.1
        In regression, half the width of the tube within which an error costs nothing, >= 0, in units of y; or "cv".
    cv : int, "loo", splitter of scikit-learn, or sequence of (train, test), default=5
        The folds by which parameters are chosen; a calibration takes them, too. "loo" leaves out one sample at a time,
        and a calibration has folds of its own then.
    metric : str or Metric, default=None
        The scorer of scikit-learn by which candidates are compared, as for `svmkit.tune.run`.
    groups : array-like of shape (n_samples,), default=None
        Rows of the same group are in the same fold.
    **options
        The others are those of `svmkit.training.fit`:

    Returns
    -------
    Fit
        The model, its certificates and its history. Ctrl-C returns the best model so far. It is a `ChosenFit`, with the
        candidates, where something was chosen.

    Raises
    ------
    InputError
        The data or options cannot be used; the message says in one line how to correct them.

    Examples
    --------
    >>> from svmkit import fit
    >>> from svmkit.kernels import RBF
    >>> fitted = fit([[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"], kernel=RBF(1.0))
    >>> str(fitted.status), fitted.model.predict([[0.5], [2.5]]).tolist()
    ('converged', ['low', 'high'])
    """
    numbers: dict[str, Any] = {"C": C, EPSILON: epsilon}
    names = names_to_choose({**numbers, "gamma": gamma, "nu": options.get("nu"), SCALE: options.get(SCALE)})
    if SCALE in names:
        options = options | {SCALE: None}
    own = {} if gamma is None or "gamma" in names else {"gamma": gamma}
    if own and not isinstance(kernel, str | None):
        raise InputError(f"gamma={gamma!r} is for a kernel that is given by its name: give {kernel!r} its own")
    kernel = by_name.kernel(kernel, own, options.get("solver", "auto") if kernel is None else None)
    encoding = None
    if not isinstance(kernel, Precomputed):
        X, encoding, options = encode_samples(X, y, options, holes=bool(options.get("impute")), stacklevel=3)
    if names or groups is not None:
        how = Choice(names=names, cv=cv, metric=metric, groups=groups)
        fitted: Fit = _fit_in_folds(X, y, kernel, numbers, how, options)
    else:
        fitted = training.fit(X, y, kernel=kernel, **numbers, **options)
    return fitted if encoding is None else replace(fitted, model=fitted.model.attach_encoding(encoding))


def _fit_in_folds(X: Any, y: Any, kernel: Any, numbers: Mapping[str, Any], how: Choice, options: dict[str, Any]) -> Fit:
    """Choose parameters, if any, and train with the best ones, on folds of whole groups if there are groups.

    `numbers` are C and epsilon, `options` those of `fit`.
    """
    inspect.signature(training.fit).bind(X, y, kernel=kernel, **options)  # raises TypeError for unknown options
    known = {field.name for field in fields(Settings)}
    numbers = {name: value for name, value in numbers.items() if name not in how.names}
    settings = Settings(kernel=kernel, **numbers, **{name: value for name, value in options.items() if name in known})
    rest = {name: value for name, value in options.items() if name not in known}
    task, rest["callbacks"] = rest.pop("task", "classify"), rest.pop("watch", None)
    method = resolve(settings, task)
    if how.names:
        return train_chosen(X, y, method, how, **rest)
    if not settings.uses_groups:
        raise InputError(NO_FOLDS)
    fold = None
    if settings.has_folds:
        fold = draw_folds(how.cv, y, method, groups=how.groups, sample_weight=rest.get("sample_weight"))
    return training.train(X, y, method, fold=fold, groups=how.groups, **rest)
