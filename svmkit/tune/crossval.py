"""Model selection by cross-validation: scikit-learn's searches over paths of C."""

from __future__ import annotations

import math
import threading
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from sklearn.experimental import enable_halving_search_cv  # noqa: F401  enables the next import
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, KFold, StratifiedKFold

from svmkit.cluster import Cluster
from svmkit.errors import InputError, SvmkitError, SvmkitWarning, meant
from svmkit.kernels.engines import on_device
from svmkit.kernels.gram import parse_bytes
from svmkit.runtime import threads
from svmkit.scoring.metric import Metric
from svmkit.solver.base import Solver
from svmkit.solver.selection import by_name
from svmkit.tasks import Answers, Task, task_named
from svmkit.training.data import TrainingData
from svmkit.training.settings import Settings, resolve
from svmkit.training.splits import Pair, Splits, make_splits
from svmkit.tune import backends
from svmkit.tune.estimator import MANY, PathClassifier, PathRegressor, Training, score
from svmkit.tune.grids import Values
from svmkit.tune.records import Progress, Records, Report, scratch
from svmkit.tune.result import Result, Tried, from_records, from_results, rank, reasons
from svmkit.tune.shared import sharing
from svmkit.tune.shared.engine import SharedSearch
from svmkit.tune.shared.leave_one_out import PARTS, LeaveOneOut, can_share, is_loo, note_of, require_rows
from svmkit.tune.space import ALL, EPSILON, NEAR, Path, plan

REPORT = 0.3  # seconds between two reports of progress
SHARED = "loky"  # the backend that threads of this process replace where fits share kernel values
PREPARATIONS = ("each", "once")
FEWEST = 5  # samples of the rarest class in the first round of halving, on average over its training folds


class Interrupted(SvmkitError):
    """A search was ended before any candidate had been tried in all folds.

    Examples
    --------
    >>> from svmkit import SvmkitError
    >>> from svmkit.tune import Interrupted
    >>> issubclass(Interrupted, SvmkitError)
    True
    """


@dataclass(frozen=True, kw_only=True)
class Search:
    """How candidates are tried; with halving, paths compete for samples by their best C, or the values of C of one path
    do.
    """

    search: str = "grid"
    factor: int = 3  # by halving, 1 / `factor` of the candidates go on to the next round, with more samples
    # folds, shuffled, of classes stratified; or "loo", a splitter of scikit-learn, pairs of rows, or checked `Splits`
    cv: Any = 5
    groups: Any = None  # (n_samples,): rows of the same group are in the same fold
    seconds: float = math.inf  # the limit of the whole search; candidates that were tried until then count
    jobs: int = 1  # fits that run at a time on the backend
    backend: str = "loky"
    preparation: str = "each"  # whether imputing, scaling and rules of gamma are learnt in "each" fold or "once" of all
    # which candidates are solved to the gap that is asked for: "all", or those whose score is "near" the best; where
    # kernel values are shared, hard fits of others end at a rough gap
    refine: str = NEAR
    cluster: Cluster | None = None  # a fit at a time on each worker, with its threads and a row cache of `memory`
    report: Report | None = None  # called now and then with the `Progress`, in a thread of its own

    def __post_init__(self) -> None:
        backends.require(self.backend)
        if self.jobs < 1:
            raise InputError(f"jobs must be at least 1, not {self.jobs}")
        if self.preparation not in PREPARATIONS:
            known = ", ".join(PREPARATIONS)
            raise InputError(f"preparation={self.preparation!r} is not known; there are: {known}")
        if self.refine not in (NEAR, ALL):
            raise InputError(f"refine={self.refine!r} is not known; there are: {NEAR}, {ALL}")
        if self.halves and (self.groups is not None or not isinstance(self.cv, int | np.integer)):
            raise InputError("search=halving draws its own rows: give cv a number of folds, and no groups")
        if self.leaves_one_out and self.groups is not None:
            raise InputError(
                "cv='loo' leaves out single samples: give cv a number of folds, which keep groups together"
            )
        if self.leaves_one_out and self.cluster is not None:
            raise InputError("cv='loo' runs on this machine: leave the cluster out, or give cv a number of folds")
        if self.halves and self.factor < 2:
            raise InputError(f"factor must be at least 2, not {self.factor}")

    @property
    def halves(self) -> bool:
        """Whether candidates compete for the samples."""
        return self.search == "halving"

    @property
    def n_folds(self) -> int:
        """The number of folds, or of the records of a path by leave-one-out."""
        if self.leaves_one_out:
            return PARTS
        return int(self.cv) if isinstance(self.cv, int | np.integer) else len(self.cv)

    @property
    def leaves_one_out(self) -> bool:
        """Whether each sample is held out alone."""
        return is_loo(self.cv)

    @property
    def n_workers(self) -> int:
        """The fits at a time."""
        return self.jobs if self.cluster is None else max(self.cluster.n_workers, 1)


_SEARCH = [field.name for field in fields(Search)]
_SETTINGS = [field.name for field in fields(Settings)]
OTHER_NAMES = {
    "scoring": "write metric='f1'",
    "n_jobs": "write jobs=2",
    "param_grid": "write grid={'C': [1, 10]}",
    "random_state": "write seed=0",
    "tol": "write stop=svmkit.solver.Gap(1e-4)",
    "refit": "svmkit.fit trains the best one",
}
"""What to write here, by the name in scikit-learn."""


def _require_known(options: Mapping[str, Any]) -> None:
    """Raise InputError, with the right name, for an option that a search does not have."""
    for name in options:
        if name not in _SEARCH and name not in _SETTINGS:
            known = [*_SEARCH, *_SETTINGS, "metric", "grid", "flags", "sample_weight"]
            said = f": {OTHER_NAMES[name]}" if name in OTHER_NAMES else meant(name, known)
            raise InputError(f"a search has no option {name!r}{said}")


def search(
    X,
    y,
    *,
    solver: str | Solver = "auto",
    kernel: Any = None,
    grid: Mapping[str, Values],
    C: float = 1.0,
    search: str = "grid",
    n_iter: int = 20,
    seed: int = 0,
    **options: Any,
) -> Result:
    """Search for the best C, kernel parameters and solver options by cross-validation.

    Parameters
    ----------
    X : array-like or CSR of shape (n_samples, n_features)
        Features, float32 or float64.
    y : array-like of shape (n_samples,)
        Labels, numbers or text.
    solver : str or Solver, default="auto"
        As for `SVMClassifier`.
    kernel : str, Kernel or callable, default=None
        As for `SVMClassifier`; None is rbf, or linear for a solver that needs it.
    grid : mapping of str to sequence or Span
        Values by name, as for `svmkit.tune.plan`: ``{"C": [1, 10], "gamma": Span(1e-3, 1)}``.
    C : float, default=1.0
        Weight of the summed losses where it is not searched.
    search : {"grid", "random", "halving"}, default="grid"
    n_iter : int, default=20
        Points of a random search.
    seed : int, default=0
        Seed of the draws and of the folds.
    **options : object
        As for `svmkit.tune.run`.

    Returns
    -------
    Result
        The candidates. With `best = result.best`, train the best one by
        ``svmkit.fit(X, y, solver=best.solver, kernel=best.kernel, C=best.C, **best.settings)``.

    Raises
    ------
    InputError
        An option cannot be used; raised before any fit.
    SvmkitError
        Every candidate failed.
    Interrupted
        The search was ended before any candidate had been tried in all folds.

    Examples
    --------
    >>> from svmkit import load
    >>> from svmkit.tune import search
    >>> iris = load("iris")
    >>> search(iris.X, iris.y, solver="smo", grid={"C": [0.1, 10.0]}, cv=3).best.params
    {'C': 10.0}
    """
    built = by_name.solver(solver)
    paths = plan(built, by_name.kernel(kernel, for_solver=built), grid, C=C, search=search, n_iter=n_iter, seed=seed)
    return run(paths, X, y, search=search, seed=seed, **options)


def run(
    paths: Sequence[Path],
    X,
    y,
    *,
    task: str | Task = "classify",
    metric: str | Metric | None = None,
    flags: np.ndarray | None = None,
    sample_weight: np.ndarray | None = None,
    **options: Any,
) -> Result:
    """Try the candidates of `plan` by stratified cross-validation.

    The values of C of a path are trained one after the other in each fold, each from the last solution, on shared
    kernel rows. Ctrl-C and SIGTERM end the search; the candidates that have been tried in all folds count.

    Parameters
    ----------
    paths : sequence of Path
        The candidates.
    X : array-like or CSR of shape (n_samples, n_features)
        Features, as for `search`.
    y : array-like of shape (n_samples,)
        Labels, as for `search`.
    task : {"classify", "regress", "outliers", "rank"}, default="classify"
        What is learnt. For outliers y holds -1 for an outlier and 1 for all others, by which candidates are compared.
        A ranking takes `svmkit.data.Ranks` for y; folds keep its groups whole.
    metric : str or Metric, default=None
        The name of a scorer of scikit-learn by which candidates are compared. None is accuracy, or balanced accuracy
        where `class_weight` is given or a class has less than a tenth of the samples; of quantities R2; of a ranking
        the concordance, or "ndcg", "ndcg@5", "kendall_tau", "auc".
    flags : boolean ndarray of shape (n_features,), default=None
        As for `svmkit.fit`.
    sample_weight : array-like of shape (n_samples,), default=None
        The weight of each sample in training, >= 0; held-out samples count alike, but those of weight 0 do not.
    **options : object
        The fields of `Search`, and settings as for `svmkit.fit`, of which memory and n_threads are those of all jobs
        together. Weights are determined in each fold anew, and with preparation="each", the default, so are imputing,
        scaling and a rule such as gamma="scale". With "once" they are learnt, without labels, from all rows, so that
        all folds share kernel values; the scores may differ a little from those of fresh fits then.

    Raises
    ------
    InputError
        The data or an option cannot be used; raised before any fit.
    SvmkitError
        Every candidate failed, a worker process was ended from outside, or the cluster has gone away.
    Interrupted
        The search was ended before any candidate had been tried in all folds.

    Examples
    --------
    >>> from svmkit import load, plugins
    >>> from svmkit.kernels import RBF
    >>> from svmkit.tune import plan, run
    >>> iris = load("iris")
    >>> paths = plan(plugins.build("solver", "smo"), RBF("scale"), {"C": [0.1, 10.0]})
    >>> run(paths, iris.X, iris.y, cv=3).best.params
    {'C': 10.0}
    """
    return Trials(paths[0], X, y, task=task, metric=metric, flags=flags, sample_weight=sample_weight, **options).run(
        paths
    )


class Trials:
    """What paths are tried on, checked once: rows, answers, folds, metric and settings.

    Parameters
    ----------
    first : Path
        A path, by whose solver and kernel the settings are checked.
    X, y, task, metric, flags, sample_weight, **options : optional
        As for `run`.
    data : TrainingData, default=None
        X and y after the checks and the preprocessing of the settings, if they are known.

    Examples
    --------
    >>> from svmkit import load, plugins
    >>> from svmkit.kernels import RBF
    >>> from svmkit.tune import plan
    >>> from svmkit.tune.crossval import Trials
    >>> iris = load("iris")
    >>> paths = plan(plugins.build("solver", "smo"), RBF("scale"), {"C": [0.1, 10.0]})
    >>> Trials(paths[0], iris.X, iris.y, cv=3).run(paths).best.params
    {'C': 10.0}
    """

    def __init__(
        self,
        first: Path,
        X,
        y,
        *,
        task: str | Task = "classify",
        metric: str | Metric | None = None,
        flags: np.ndarray | None = None,
        sample_weight: np.ndarray | None = None,
        data: TrainingData | None = None,
        **options: Any,
    ) -> None:
        _require_known(options)
        how = Search(**{name: options.pop(name) for name in _SEARCH if name in options})
        settings, task = Settings(solver=first.solver, kernel=first.kernel, **options), task_named(task)
        # unusable data are refused here once, instead of in each fold
        method = resolve(replace(settings, **first.settings), task)
        if data is None:
            data = TrainingData.prepare(X, y, method, sample_weight=sample_weight, flags=flags)
        if not task.has_targets and EPSILON in first.settings:
            raise InputError("epsilon is for quantities, and the labels are classes: leave it out of the grid")
        truth = task.encode_truth(y, data.raw.shape[0])
        counts = data.weights > 0.0
        if not isinstance(metric, Metric):
            metric = method.metric(metric, truth.classes, truth.codes)
        self.how = _with_folds(how, truth, task, settings.seed, counts, metric)
        self.settings, self.task, self.data, self.truth, self.counts, self.metric = (
            settings,
            task,
            data,
            truth,
            counts,
            metric,
        )
        self.flags, self.weights = flags, None if sample_weight is None else data.own_weights
        self._shared: SharedSearch | None = None  # of all paths so far

    def run(self, paths: Sequence[Path], *, seconds: float | None = None, report: Report | None = None) -> Result:
        """Try paths.

        Parameters
        ----------
        paths, seconds, report : sequence of Path, float or None, callable or None
            The candidates, and fields of `Search` that are others for these.
        """
        how, data, task, metric = self.how, self.data, self.task, self.metric
        if seconds is not None:
            how = replace(how, seconds=seconds, report=report)
        began, jobs = time.perf_counter(), how.n_workers
        X, flags, ready, learnt = data.raw, self.flags, list(paths), self.settings
        if how.preparation == "once" and {"scale", "impute"} & paths[0].settings.keys():
            raise InputError("preparation='once' learns scaling and imputing of all rows: leave them out of the grid")
        if how.preparation == "once":
            X, flags, learnt = data.X, None, replace(learnt, impute=None, scale=None)
            ready = [replace(path, kernel=path.kernel.resolve(X)) for path in paths]
        n_shared = 0
        if how.halves:  # if only C is searched, the values of C compete with each other
            paths, ready = (_divide(some, len(paths[0].Cs) if len(paths) == 1 else 1) for some in (paths, ready))
        else:
            alone = self.weights is not None or bool(data.outputs) or len(data.pairs) > MANY
            shares = [not alone and _shares(path, learnt, task, metric, how, X) for path in ready]
            n_shared = sum(len(path.Cs) for path, its in zip(paths, shares, strict=True) if its)
            paths, ready = (_cut(some, shares, jobs, how.n_folds) for some in (paths, ready))
        place = scratch() if n_shared < len(paths) else nullcontext("")  # only other processes need a folder
        with on_device(learnt.device), threads.using(learnt.n_threads) as all_threads, place as folder:
            share = (
                1 if how.cluster is not None else jobs
            )  # of the memory, which workers of a cluster have of their own
            each = replace(learnt, memory=parse_bytes(learnt.memory) // share, n_threads=max(1, all_threads // jobs))
            training = Training(max(len(path.Cs) for path in paths), folder, metric, each, task, flags, how.refine)
            tried, why, interrupted = self._try_all(ready, n_shared, X, how, training)
        candidates = rank(paths, tried, why, data.X)
        if not candidates:
            raise Interrupted("interrupted before a candidate was tried in all folds")
        if candidates[0].failed:
            raise SvmkitError(f"every candidate failed; the first one: {candidates[0].reason}")
        n_fits = _n_models(how, self.counts) * sum(len(paths[t.path].Cs) for t in tried)
        return Result(candidates, metric, n_fits, time.perf_counter() - began, interrupted)

    def _try_all(
        self, paths: Sequence[Path], n_shared: int, X: Any, how: Search, training: Training
    ) -> tuple[list[Tried], dict[tuple[int, int], str], bool]:
        """Fit all paths, of which the first `n_shared` share kernel values, in all folds.

        Their scores are returned, the reasons of failures, and whether a signal ended it.
        """
        truth, weights, records = self.truth, self.weights, Records(training.folder)
        rows = np.flatnonzero(self.counts)
        together, others = paths[:n_shared], paths[n_shared:]
        alone, searches = how.leaves_one_out, None
        if others and not alone:
            searches = _searcher(training, list(others), truth.codes, how)
        n_fits = None if how.halves else (len(rows) if alone else how.n_folds) * sum(len(path.Cs) for path in paths)

        def work() -> list[Tried]:
            tried: list[Tried] = []
            with _watch(records, how, n_fits):
                if alone:
                    own = training, records, how.jobs, how.backend
                    LeaveOneOut(X, truth, rows, *own, weights).run(together, others)
                    return from_records(records.all(), how.n_folds)
                if together:
                    if self._shared is None:
                        folds = _pairs(training, how, X, truth)
                        self._shared = SharedSearch(X, truth, folds, training, records, how.jobs)
                    else:
                        self._shared.resume(training, records)
                    self._shared.run(together)
                    tried += from_records(records.all(), how.n_folds)
                if searches is not None:
                    tried += _search_on_backend(searches, records, X, truth.values, how, training, weights)
            return tried

        ends = bool(others) and how.n_workers > 1
        kill = how.cluster.cancel if how.cluster is not None else backends.end_workers if ends else None
        tried = backends.supervise(work, stop=records.stop, kill=kill, seconds=how.seconds)
        every = records.all()
        return tried or from_records(every, how.n_folds), reasons(every), tried is None


def _with_folds(how: Search, truth: Answers, task: Task, seed: int, counts: np.ndarray, metric: Metric) -> Search:
    """Return how candidates are tried, with the folds of the rows of weight > 0; raise InputError if there are none."""
    _require_folds_of(task, truth, how)
    if how.leaves_one_out:
        require_rows(truth, task, np.flatnonzero(counts))
        if said := note_of(metric):
            warnings.warn(said, SvmkitWarning, stacklevel=4)
    elif isinstance(how.cv, Splits):  # which are checked
        return replace(how, cv=how.cv.pairs, groups=None)
    elif not how.halves and (
        how.groups is not None
        or task.has_groups
        or not isinstance(how.cv, int | np.integer)
        or not counts.all()
        or (task.has_classes and np.bincount(truth.codes).min() == 1)
    ):
        splits = make_splits(how.cv, truth, task, seed, groups=how.groups, used=counts)
        for line in splits.notes:
            warnings.warn(line, SvmkitWarning, stacklevel=4)
        return replace(how, cv=splits.pairs, groups=None)
    else:
        _require_folds(int(how.cv), truth.classes, truth.codes)
    return how


def _require_folds_of(task: Task, truth: Answers, how: Search) -> None:
    """Raise InputError for folds that cannot be used for a ranking."""
    if task.has_groups and how.leaves_one_out:
        raise InputError("cv='loo' leaves out single rows, which have no order: give cv a number of folds")
    if how.halves and task.groups(truth) is not None:
        raise InputError(
            "search=halving draws rows, which would divide groups that are ranked: give search grid or random"
        )


def _n_models(how: Search, counts: np.ndarray) -> int:
    """Return how many models a candidate has in all folds."""
    return int(np.count_nonzero(counts)) if how.leaves_one_out else how.n_folds


def _shares(path: Path, settings: Settings, task: Task, metric: Metric, how: Search, X: Any) -> bool:
    """Return whether the fits of a path share the kernel values of all rows, in threads of this process."""
    if how.cluster is not None or how.backend != SHARED:
        return False
    if how.leaves_one_out:
        return can_share(path, settings, task, X.shape[0], how.preparation == "each")
    if not sharing.can_share(path, settings, task, metric, how.preparation == "each"):
        return False
    with on_device(settings.device):
        if settings.device and sharing.engine_solves(path, path.kernel.resolve(X), X, settings, task):
            return True
    return sharing.most_of_a_round(X.shape[0], settings, how.jobs) > 0


def _cut(paths: Sequence[Path], shares: Sequence[bool], jobs: int, cv: int) -> list[Path]:
    """Return the paths that share kernel values, cut into single Cs, and the others, cut into pieces for all jobs."""
    together = [path for path, its in zip(paths, shares, strict=True) if its]
    others = [path for path, its in zip(paths, shares, strict=True) if not its]
    cut = _divide(together, max((len(path.Cs) for path in together), default=1))
    return cut + _divide(others, math.ceil(jobs / cv / len(others)), len(cut)) if others else cut


def _search_on_backend(
    searches: Any,
    records: Records,
    X: Any,
    y: np.ndarray,
    how: Search,
    training: Training,
    weights: np.ndarray | None,
) -> list[Tried]:
    """Run a search of scikit-learn where the fits are to run, and return the scores of its paths."""
    if how.cluster is None:
        where = backends.running(how.backend, how.n_workers, training.settings.n_threads or 1)
    else:
        where = backends.running_on(how.cluster, records, X, y)
    more = {} if weights is None else {"sample_weight": weights}
    quiet = np.errstate(invalid="ignore")  # a tolerance may be infinite
    with where, quiet, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="One or more of the .* scores are non-finite")
        # rows that are held out count alike
        warnings.filterwarnings("ignore", message="The scoring .* does not support sample_weight")
        try:
            searches.fit(X, y, **more)
        except BrokenProcessPool:
            raise SvmkitError(
                "a worker process was ended from outside (out of memory?): give fewer --jobs or a smaller --memory"
            ) from None
    return from_results(searches.cv_results_, how.n_folds, X.shape[0])


class _Halving(HalvingGridSearchCV):
    best_index_ = 0  # with several scores and no refit it is not set, but `fit` reads it


def _folds(training: Training, how: Search) -> StratifiedKFold | KFold | tuple[Pair, ...]:
    """Return the folds, or what makes them: shuffled, and of classes stratified."""
    if not isinstance(how.cv, int | np.integer):
        return how.cv
    kind = StratifiedKFold if training.has_one_label else KFold
    return kind(how.cv, shuffle=True, random_state=training.settings.seed)


def _pairs(training: Training, how: Search, X: Any, truth: Answers) -> list[Pair]:
    folds = _folds(training, how)
    return list(folds) if isinstance(folds, tuple) else list(folds.split(X, truth.values))


def _searcher(training: Training, paths: list[Path], codes: np.ndarray, how: Search) -> GridSearchCV | _Halving:
    """Return the search of scikit-learn over some paths, on shuffled folds; classes are stratified."""
    estimator = (PathClassifier if training.has_one_label else PathRegressor)(training=training)
    folds, seed = _folds(training, how), training.settings.seed
    shared: dict[str, Any] = {"param_grid": {"path": paths}, "scoring": score, "cv": folds, "refit": False}
    if not how.halves:
        return GridSearchCV(estimator, **shared)
    # the samples of the first round, such that the last one has all; unlike by scikit-learn's "exhaust", some of them
    # are of each class
    n, counts, factor = len(codes), np.bincount(codes), how.factor
    rounds = math.floor(math.log(len(paths), factor) + 1e-9)
    needed = math.ceil(FEWEST * n / counts.min() * how.cv / (how.cv - 1))
    rows = min(n, max(n // factor**rounds, needed, 2 * how.cv * len(counts)))
    return _Halving(estimator, **shared, factor=factor, min_resources=rows, random_state=seed, return_train_score=False)


def _require_folds(cv: int, classes: np.ndarray, codes: np.ndarray) -> None:
    """Raise InputError where the samples, or those of a class, are too few for so many folds."""
    if cv < 2:
        raise InputError(f"cv must be at least 2 folds, not {cv}")
    counts = np.bincount(codes)
    fewest = counts.min()
    if cv > fewest:
        advice = f"give --cv {fewest}" if fewest > 1 else "add samples, or leave it out"
        if not len(classes):
            raise InputError(f"cv={cv} folds need as many samples, and there are {fewest}: {advice}")
        name = classes[counts.argmin()]
        raise InputError(f"cv={cv} folds need {cv} samples of each class, but class {name} has {fewest}: {advice}")


def _divide(paths: Sequence[Path], pieces: int, first: int = 0) -> list[Path]:
    """Divide each path into `pieces`, or into one for each C if it has fewer C; number the pieces from `first`."""
    parts = list[Path]()
    for path in paths:
        each, more = divmod(len(path.Cs), min(pieces, len(path.Cs)))
        lo = 0
        while lo < len(path.Cs):
            hi = lo + each + (more > 0)  # the first ones have one more
            parts.append(replace(path, number=first + len(parts), Cs=path.Cs[lo:hi]))
            lo, more = hi, more - 1
    return parts


@contextmanager
def _watch(records: Records, how: Search, n_fits: int | None) -> Iterator[None]:
    """Start a thread that reports the progress towards `n_fits` while the block runs."""
    if how.report is None:
        yield
        return
    report, over, began = how.report, threading.Event(), time.perf_counter()

    def look() -> None:
        while not over.wait(REPORT):
            done = records.all()
            tried = from_records(done, how.n_folds)
            means = [fact.mean() for t in tried for k, fact in t.scores.items() if k == "score"]
            known = [mean for mean in means if not math.isnan(mean)]
            fits, seconds = sum(record["n_fits"] for record in done), time.perf_counter() - began
            report(Progress(fits, n_fits, seconds, max(known, default=math.nan)))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
