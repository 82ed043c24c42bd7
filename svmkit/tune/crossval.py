"""Model selection by cross-validation: scikit-learn's searches over paths of C."""

from __future__ import annotations

import math
import tempfile
import time
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import numpy as np

from svmkit.cluster import Cluster
from svmkit.errors import InputError, SvmkitError
from svmkit.kernels.gram import parse_bytes
from svmkit.runtime import threads
from svmkit.scoring.metric import Metric
from svmkit.scoring.quantities import metric_for
from svmkit.solver.base import Solver
from svmkit.solver.sampler import Sampler
from svmkit.solver.selection import by_name
from svmkit.solver.stopping import Criterion, Stop
from svmkit.training.data import TrainingData
from svmkit.tune import backends
from svmkit.tune.estimator import PathClassifier, PathRegressor, Training
from svmkit.tune.grids import Values
from svmkit.tune.progress import Report, watched
from svmkit.tune.records import Records
from svmkit.tune.result import Result, Tried, from_records, from_results, ranked, reasons
from svmkit.tune.searcher import divided, require_folds, searcher
from svmkit.tune.space import Path, plan
from svmkit.tune.supervision import supervised


class Interrupted(SvmkitError):
    """A search was ended before any candidate had been tried in all folds.

    Examples
    --------
    >>> from svmkit import SvmkitError
    >>> from svmkit.tune import Interrupted
    >>> issubclass(Interrupted, SvmkitError)
    True
    """


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
        ``svmkit.fit(X, y, solver=best.solver, kernel=best.kernel, C=best.C)``.

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
    search: str = "grid",
    factor: int = 3,
    cv: int = 5,
    task: str = "classify",
    epsilon: float = 0.1,
    metric: str | Metric | None = None,
    sampler: str | Sampler | None = None,
    stop: Criterion | Stop | None = None,
    class_weight: str | dict | None = None,
    multiclass: str = "ovo",
    impute: str | None = None,
    scale: str | None = None,
    flags: np.ndarray | None = None,
    memory: str | int = "1GB",
    seed: int = 0,
    n_threads: int | None = None,
    jobs: int = 1,
    backend: str = "loky",
    cluster: Cluster | None = None,
    report: Report | None = None,
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
    search : {"grid", "random", "halving"}, default="grid"
        By halving, paths compete with their best C for the samples; a single path is divided into its values of C.
    factor : int, default=3
        By halving, 1 / factor of the candidates go on to the next round.
    cv : int, default=5
        Number of folds, shuffled; of classes stratified.
    task : {"classify", "regress"}, default="classify"
        What is learnt: classes or quantities.
    epsilon : float, default=0.1
        In regression, half the width of the tube within which an error costs nothing, where it is not searched.
    metric : str or Metric, default=None
        The name of a scorer of scikit-learn by which candidates are compared. None is accuracy, or balanced accuracy
        where `class_weight` is given or a class has less than a tenth of the samples; of quantities R2.
    memory : str or int, default="1GB"
        Budget of the row caches of all jobs together.
    n_threads : int, default=None
        Threads of all jobs together; None is all cores.
    jobs : int, default=1
        Fits at a time.
    backend : {"loky", "threading", "dask", "ray"}, default="loky"
    cluster : Cluster, default=None
        Fit on its workers in place of `jobs` and `backend`: one fit at a time on each, with the worker's threads and
        with a row cache of `memory`.
    report : callable, default=None
        Called now and then with the `Progress`, in a thread of its own.
    sampler, stop, class_weight, multiclass, impute, scale, flags, seed : optional
        As for `svmkit.fit`; imputing, scaling and weights are determined in each fold anew.

    Returns
    -------
    Result

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
    backends.require(backend)
    if jobs < 1:
        raise InputError(f"jobs must be at least 1, not {jobs}")
    if cluster is not None:
        jobs = max(cluster.n_workers, 1)
    # unusable data are refused here once, instead of in each fold
    data = TrainingData.of(
        X,
        y,
        kernel=paths[0].kernel,
        task=task,
        epsilon=epsilon,
        class_weight=class_weight,
        multiclass=multiclass,
        impute=impute,
        scale=scale,
        flags=flags,
        memory=memory,
    )
    if data.targets is None and paths[0].epsilon is not None:
        raise InputError("epsilon is for quantities, and the labels are classes: leave it out of the grid")
    X, classes, codes = data.raw, data.classes, data.codes
    require_folds(cv, classes, codes)
    metric = metric if isinstance(metric, Metric) else metric_for(metric, classes, codes, class_weight)
    if search == "halving" and factor < 2:
        raise InputError(f"factor must be at least 2, not {factor}")
    began = time.perf_counter()
    halving = search == "halving"
    if halving:  # if only C is searched, the values of C compete with each other
        paths = divided(paths, len(paths[0].Cs) if len(paths) == 1 else 1)
    else:
        paths = divided(paths, math.ceil(jobs / cv / len(paths)))
    # threads that have not yet noticed the end of the search may still write
    scratch = tempfile.TemporaryDirectory(prefix="svmkit-tune-", ignore_cleanup_errors=True)
    with threads.using(n_threads) as all_threads, scratch as folder:
        training = Training(
            width=max(len(path.Cs) for path in paths),
            folder=folder,
            metric=metric,
            task=task,
            epsilon=epsilon,
            sampler=sampler,
            stop=stop,
            class_weight=class_weight,
            multiclass=multiclass,
            impute=impute,
            scale=scale,
            flags=flags,
            memory=parse_bytes(memory) // (jobs if cluster is None else 1),
            seed=seed,
            n_threads=max(1, all_threads // jobs),
        )
        estimator = PathClassifier(training=training) if data.targets is None else PathRegressor(training=training)
        searches = searcher(estimator, paths, codes, search, factor, cv, seed)
        records = Records(folder)
        n_fits = None if halving else cv * sum(len(path.Cs) for path in paths)

        def work() -> list[Tried]:
            y = classes[codes] if data.targets is None else data.targets
            where = (
                backends.running(backend, jobs, training.n_threads)
                if cluster is None
                else backends.running_on(cluster, records, X, y)
            )
            with watched(records, cv, n_fits, report), where:
                _fit(searches, X, y)
            return from_results(searches.cv_results_, cv, X.shape[0])

        kill = backends.end_workers if jobs > 1 else None
        if cluster is not None:
            kill = cluster.cancel
        found = supervised(work, stop=records.stop, kill=kill)
        tried, interrupted = found or from_records(records.all(), cv), found is None
        why = reasons(records.all())
    candidates = ranked(paths, tried, why, data.X)
    if not candidates:
        raise Interrupted("interrupted before a candidate was tried in all folds")
    if candidates[0].failed:
        raise SvmkitError(f"every candidate failed; the first one: {candidates[0].reason}")
    n_fits = cv * sum(len(paths[t.path].Cs) for t in tried)
    return Result(candidates, metric, n_fits, time.perf_counter() - began, interrupted)


def _fit(searcher: Any, X: Any, y: np.ndarray) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="One or more of the .* scores are non-finite")
        try:
            searcher.fit(X, y)
        except BrokenProcessPool:
            raise SvmkitError(
                "a worker process was ended from outside (out of memory?): give fewer --jobs or a smaller --memory"
            ) from None
