"""`fit`: from features and labels to a certified model."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from svmkit.kernels.engines import device_for
from svmkit.kernels.functions import Kernel
from svmkit.losses.base import Loss
from svmkit.runtime.garbage import MANY, collecting_seldom
from svmkit.scoring.metric import Metric
from svmkit.solver.base import Solver
from svmkit.solver.sampler import Sampler
from svmkit.solver.stopping import Criterion, Stop
from svmkit.training.calibration.conformal import train_with_sets
from svmkit.training.calibration.folds import fit_calibrated
from svmkit.training.callbacks import BeforeSolve, Callbacks, as_callbacks, make_display, write_end
from svmkit.training.checkpoint import Checkpoint
from svmkit.training.computation import computation
from svmkit.training.data import TrainingData
from svmkit.training.relevance import train_with_relevance
from svmkit.training.result import Fit
from svmkit.training.settings import Method, Settings, resolve
from svmkit.training.subproblems.one import Start
from svmkit.training.subproblems.trainer import Trainer
from svmkit.training.subproblems.validation import Held


def fit(
    X,
    y,
    *,
    solver: str | Solver = "auto",
    task: str = "classify",
    kernel: Kernel,
    C: float = 1.0,
    loss: str | Loss | None = None,
    penalty: str | None = None,
    l1_ratio: float = 0.5,
    penalty_groups: str | Sequence[int] | None = None,
    epsilon: float = 0.1,
    nu: float | None = None,
    multiclass: str = "ovo",
    sampler: str | Sampler | None = None,
    stop: str | Criterion | Stop | None = None,
    class_weight: str | dict | None = None,
    sample_weight: np.ndarray | None = None,
    impute: str | None = None,
    scale: str | None = None,
    relevance: str | None = None,
    flags: np.ndarray | None = None,
    memory: str | int = "1GB",
    seed: int = 0,
    n_threads: int | None = None,
    device: str | None = None,
    start: Start | None = None,
    validation: Held | None = None,
    watch: BeforeSolve | Callbacks | None = None,
    checkpoint: Checkpoint | None = None,
    calibration: str | None = None,
    thresholds: bool = False,
    conformal: float | None = None,
    conformal_by: str | None = None,
    conformal_folds: int | None = None,
    verbose: int = 0,
) -> Fit:
    """Train a classifier for two classes or more, or a regression function.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features), float32 or float64
        The training samples, dense or CSR; NaN is a hole, which `impute` fills. For a precomputed kernel, the kernel
        values (n_samples, n_samples).
    y : array-like of shape (n_samples,)
        The labels, numbers or text; in regression the targets, finite numbers that are not all the same.
    solver : str or Solver, default="auto"
        The solver, by name or as an instance.
    task : {"classify", "regress", "outliers", "rank"}, default="classify"
        What is learnt: classes, targets, which samples are outliers, or an order within groups. For outliers y may be
        None; for ranking it may be `svmkit.data.Ranks`, with groups.
    kernel : Kernel
        The kernel. Parameters such as gamma="scale" are computed from X after scaling.
    C : float, default=1.0
        The weight of the summed losses, > 0. The weight C_i of a sample is C times its class weight times its sample
        weight.
    loss : str or Loss, default=None
        The loss, by name or as an instance such as `svmkit.losses.Quantile(tau=0.9)`; None is the default of the
        solver.
    penalty : {"l2", "l1", "elasticnet", "group"}, default=None
        For the linear kernel: 1/2 |w|^2; |w|_1 or l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2, which leave few columns with
        a weight; or sum_g sqrt(n_g) |w_g|, which leaves few groups of columns with weights. All but the first need a
        loss without a kink. None is the default of the solver, l2 for most.
    l1_ratio : float, default=0.5
        For penalty="elasticnet", from 0 to 1.
    penalty_groups : str or sequence of int, default=None
        For penalty="group", the numbers of columns of adjacent groups, such as (3, 1, 1) or "3+2*1"; each further
        column is a group.
    epsilon : float, default=0.1
        In regression, half the width of the tube within which an error costs nothing, >= 0, in units of y.
    nu : float, default=None
        Trains nu-SVC or nu-SVR instead, with a solver that supports it (smo, fcsmo, auto): an upper bound of the
        fraction of samples with a loss, and a lower bound of the fraction of support vectors. For two classes C has no
        effect, in regression epsilon has none.
    multiclass : {"ovo", "ovr", "crammer_singer", "multinomial"}, default="ovo"
        The problems of more than two classes: one for each class pair; one for each class against all others, where the
        largest decision gives the class; or, with the linear kernel, one problem of all classes: that of Crammer and
        Singer, by dcd or auto, or multinomial logistic regression, by newton or auto.
    sampler : str or Sampler, default=None
        The points that each step examines, such as "full" or "uniform:59". None is the default of the solver.
    stop : str, Criterion or Stop, default=Gap(1e-3)
        When to stop; text such as "abs:1e-6" is a rule, too. A limit in seconds applies to this call, whatever earlier
        calls it resumes have taken; the class pairs share it in proportion to their numbers of samples, unused time
        goes to the other pairs, and none begins after it. All other limits apply to each class pair: with three
        classes, Support(50) leaves up to 50 support vectors to each of the three class pairs.
    class_weight : {"balanced"} or dict of label to float, default=None
        The weight of each class, > 0; "balanced" gives all classes the same total weight.
    sample_weight : array-like of shape (n_samples,), default=None
        The weight of each sample, >= 0. A sample of weight 0 takes no part.
    impute : {"median", "most_frequent", "indicator"}, default=None
        How to fill the holes (NaN) of X; the values are learnt from X and kept with the model: the median or the most
        frequent value of the column; "indicator" is the median and a 0/1 column for each column with holes. None
        rejects holes.
    scale : {"standard", "minmax", "maxabs"}, default=None
        The scaling that is applied to X after imputing and kept with the model. On CSR, "standard" does not centre, and
        "minmax" is rejected.
    relevance : {"learned"}, default=None
        Weights of the columns, learnt from the gradients of the decision functions and kept with the scaling of the
        model (without `scale` standard, on CSR maxabs). They are 1 unless three folds show that others are better;
        training takes ten to twenty times as long. The certificate is for the problem with these weights.
    flags : boolean ndarray of shape (n_features,), default=None
        The 0/1 columns, such as `Dataset.flags`, which standard scaling leaves unchanged.
    memory : str or int, default="1GB"
        The memory limit for kernel rows, in bytes or as text.
    seed : int, default=0
        The seed of all random choices.
    n_threads : int, default=None
        The number of threads; None uses all.
    device : str, default=None
        Where kernel values are computed: "cpu", "auto", and with `svmkit[torch]` "cuda", "cuda:1", "xpu", "mps" or
        "torch:cpu". None is "cpu" unless `svmkit.kernels.engines.request_engine` requests another.
    start : sequence of ndarray or SVMModel, default=None
        The start of the training; it does not change the optimum. Either a point for each class pair, such as
        `Solution.point` of an earlier fit on the same X and y; or a model with the same classes and columns, whatever
        its C and kernel, some of whose support vectors are rows of X.
    validation : tuple (X, y) or Dataset, default=None
        Held-out samples; a data set may have features that are 0 in all training samples. Each history's `accuracy` is
        measured on the samples of its two classes, outside measured time, each time the number of iterations has grown
        by a fifth.
    watch : callable or Callbacks, default=None
        Called as watch(k, n_problems, "a vs b") before each class pair; returns the callbacks of this solve.
    checkpoint : Checkpoint, default=None
        Where progress is saved, and from which training resumes.
    calibration : {"sigmoid", "isotonic"}, default=None
        How decisions become probabilities (`SVMModel.predict_proba`): by a sigmoid or by a monotonic step function,
        fitted to decisions of models of five stratified folds on their held-out samples. None means no calibration.
    thresholds : bool, default=False
        For two classes: keep the cost of each threshold (`SVMModel.predict_for_cost`), estimated from decisions of
        models of five folds on their held-out samples, as a calibration does, but without one.
    conformal : float, default=None
        The share of new rows whose truth sets may miss, in (0, 1): `SVMModel.predict_sets` then returns sets of
        classes, or intervals, that contain the truth of the others. This holds a random quarter of the samples out of
        training.
    conformal_by : {"class"}, default=None
        Whether the share holds for the rows of each class.
    conformal_folds : int, default=None
        Holds out nothing: the model is trained on all samples, and sets are made by this number of further models, each
        trained without a fold (CV+). A set contains the truth with probability at least 1 - 2 conformal, usually about
        1 - conformal.
    verbose : int, default=0
        1 shows the progress on stderr: a live line on a terminal or in a notebook, else an occasional plain line, and a
        final line that stays. It changes nothing else, and shows no single solves if `watch` is given.

    Returns
    -------
    Fit
        The model, its certificates and its history. Ctrl-C returns the best model so far.

    Raises
    ------
    InputError
        The data or options are invalid; the message says in one line how to correct them.

    Examples
    --------
    >>> from svmkit import fit
    >>> from svmkit.kernels import RBF
    >>> fitted = fit([[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"], kernel=RBF(1.0))
    >>> str(fitted.status), fitted.model.predict([[0.5], [2.5]]).tolist()
    ('converged', ['low', 'high'])
    """
    settings = Settings(
        solver=solver,
        kernel=kernel,
        loss=loss,
        C=C,
        penalty=penalty,
        l1_ratio=l1_ratio,
        penalty_groups=penalty_groups,
        epsilon=epsilon,
        nu=nu,
        multiclass=multiclass,
        sampler=sampler,
        stop=stop,  # type: ignore[arg-type]  # text becomes a rule there
        class_weight=class_weight,
        impute=impute,
        scale=scale,
        relevance=relevance,
        memory=memory,
        seed=seed,
        n_threads=n_threads,
        device=device_for(device, X),
        calibration=calibration,
        thresholds=thresholds,
        conformal=conformal,
        conformal_by=conformal_by,
        conformal_folds=conformal_folds,
    )
    return train(
        X,
        y,
        resolve(settings, task),
        sample_weight=sample_weight,
        flags=flags,
        verbose=verbose,
        start=start,
        validation=validation,
        callbacks=watch,
        checkpoint=checkpoint,
    )


def train(
    X,
    y,
    method: Method,
    *,
    sample_weight: np.ndarray | None = None,
    flags: np.ndarray | None = None,
    groups: Any = None,
    verbose: int = 0,
    callbacks: BeforeSolve | Callbacks | None = None,
    **options,
) -> Fit:
    """Train as `fit` does, with resolved settings.

    Parameters
    ----------
    X, y, sample_weight, flags, verbose, callbacks : optional
        As for `fit`; `callbacks` is its `watch`.
    groups : array-like of shape (n_samples,), default=None
        The group of each sample; the folds of a calibration, of thresholds and of relevance keep groups together.
    method, **options : Method, object
        The task, solver, kernel and settings; start, validation, metric, checkpoint and fold of `fit_prepared`.
    """
    began = time.perf_counter()
    with make_display(verbose) as display:
        data = TrainingData.prepare(X, y, method, sample_weight=sample_weight, flags=flags, groups=groups)
        data.warn_of_constants()
        if display is not None:
            display.n_samples = data.X.shape[0]
        prepared = time.perf_counter() - began
        fitted = fit_prepared(data, method, callbacks=callbacks or display, prepared=prepared, **options)
    if display is not None:
        write_end(fitted)
    return fitted


def fit_prepared(
    data: TrainingData,
    method: Method | Settings,
    *,
    start: Start | None = None,
    validation: Held | None = None,
    metric: Metric | None = None,
    callbacks: BeforeSolve | Callbacks | None = None,
    checkpoint: Checkpoint | None = None,
    fold: np.ndarray | None = None,
    prepared: float = 0.0,
) -> Fit:
    """Train on data that have been checked, scaled and weighted.

    Parameters
    ----------
    data, method : TrainingData, Method or Settings
        Features, answers, weights and resolved kernel; the solver and the settings, which are resolved if necessary.
    start, validation, checkpoint, callbacks : optional
        As for `fit`; `callbacks` is its `watch`.
    metric : Metric, default=None
        The metric on the validation set besides accuracy.
    fold : ndarray of shape (n_samples,), int, default=None
        The folds of the calibration, as `fit_calibrated` takes them.
    prepared : float, default=0.0
        The seconds spent on preparing the data, which count as training.
    """
    began = time.perf_counter() - prepared
    if checkpoint is not None:
        checkpoint.start_clock()
    if isinstance(method, Settings):
        method = resolve(replace(method, kernel=data.kernel), data.task)
    settings, callbacks = method.settings, as_callbacks(callbacks)
    given: dict[str, Any] = {"validation": validation, "metric": metric, "callbacks": callbacks}
    if settings.conformal is not None or settings.relevance is not None:
        special = train_with_sets if settings.conformal is not None else train_with_relevance
        fitted = special(fit_prepared, data, method, start=start, checkpoint=checkpoint, fold=fold, **given)
        return replace(fitted, seconds=fitted.seconds + prepared)
    if settings.has_folds:
        plain = replace(method, settings=replace(settings, calibration=None, thresholds=False))
        whole = partial(fit_prepared, data, start=start, checkpoint=checkpoint, prepared=prepared, **given)
        return fit_calibrated(whole, fit_prepared, data, plain, settings.calibration, fold)
    trainer = Trainer(data, method, start=start, **given)
    if checkpoint is not None:
        checkpoint.bind(data.identity(method))
    seldom = collecting_seldom() if len(data.sizes) >= MANY else nullcontext()  # a small fit would be slower
    with computation(settings), seldom:
        return trainer.fit(trainer.run(settings.C, checkpoint), settings.C, began)
