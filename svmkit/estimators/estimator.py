"""The base of all estimators: their parameters as settings, the attributes of a fit, and their display."""

from __future__ import annotations

import inspect
import math
import re
import warnings
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache, cached_property
from html import escape
from operator import itemgetter
from typing import Any, Self, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_regressor

from svmkit import plugins
from svmkit.data.prepare.encoding import Encoding
from svmkit.data.prepare.features import as_features
from svmkit.data.tables.in_memory import encode_samples
from svmkit.errors import InputError, SvmkitWarning
from svmkit.estimators.base import (
    Lacking,
    check_names,
    features_to_predict,
    frame_of,
    only_where,
    seed_of,
    warn_unless_converged,
)
from svmkit.estimators.callbacks import FitTasks, require_callbacks, run_with_tasks
from svmkit.estimators.other_names import require_own_options
from svmkit.estimators.sklearn_bases import BaseEstimator
from svmkit.kernels.engines import device_for
from svmkit.kernels.functions import Precomputed
from svmkit.losses.by_name import is_likelihood
from svmkit.model.calibration import FOLDS
from svmkit.model.model import SVMModel
from svmkit.solver.solution import Status
from svmkit.solver.stopping import stop_rules
from svmkit.tasks import Task
from svmkit.training.result import Fit
from svmkit.training.settings import CHOSEN, Method, Settings, resolve
from svmkit.training.stream.input import streaming_solver
from svmkit.training.stream.online import Online
from svmkit.training.train import train
from svmkit.tune.folds import NO_FOLDS, draw_folds

T = TypeVar("T", bound="type[SVMEstimator]")

_SETTINGS = [
    field.name for field in fields(Settings) if field.name not in ("kernel_params", "loss_options", "stop", "seed")
]
OF_SEARCH = ("best_params_", "best_score_", "cv_results_")
_LIMITS = ("max_iter", "max_epochs", "time_limit", "max_support")

KEPT = 64  # number of methods that are cached
_PLAIN = frozenset({str, int, float, bool, type(None)})
_methods: dict[Any, tuple[Any, Method]] = {}  # by the values of parameters, with the solvers registered then

# colours are taken from the page, so that the block is readable on a dark background, too
STYLE = (
    "margin:.4em 0 .2em;padding:.35em .7em;display:inline-grid;grid-template-columns:auto auto;gap:0 1em;"
    "font:.85em/1.5 ui-sans-serif,system-ui,sans-serif;color:inherit;background:transparent;"
    "border:1px solid currentColor;border-radius:4px;opacity:.85"
)


_OF_TASK = {"classify": "SVMClassifier", "regress": "SVMRegressor", "outliers": "SVMOneClass", "rank": "SVMRanker"}


def _params_of(model: SVMModel) -> dict[str, Any]:
    """Return the parameters of an estimator that a model records about its training."""
    about, minimised = model.about, model.about.get("minimised", {})
    steps, stated = model.preprocessing, ("C", "nu", "epsilon", "loss")
    known: dict[str, Any] = {name: about[name] for name in stated if about.get(name) is not None}
    known |= {name: step.kind for name, step in (("impute", steps.imputing), ("scale", steps.scaling)) if step}
    if about.get("solver") in plugins.names("solver"):
        known["solver"] = about["solver"]
    if is_likelihood(minimised.get("loss")):
        known["loss"] = minimised["loss"]
    elif model.calibration is not None:
        known["calibration"] = model.calibration.kind
    return known | {"kernel": model.kernel, "multiclass": model.multiclass, "non_crossing": model.non_crossing}


@cache
def _values_of(cls: Any) -> Callable[[dict[str, Any]], tuple[Any, ...]]:
    """Return a function that reads the parameters of an estimator from its attributes."""
    return itemgetter(*(field.name for field in fields(cls)))


@cache
def _param_names(cls: Any) -> tuple[str, ...]:
    """Return the names of the parameters of an estimator, as scikit-learn reads them from the constructor."""
    return tuple(super(SVMEstimator, cls)._get_param_names())


def _holds_weights(model: SVMModel) -> bool:
    """Return whether the vectors of a model are weights, one for each decision."""
    given = model.coef[model.coef != 0.0]
    is_linear = model.kernel.name == "linear" and len(model.vectors) == len(model.trained_pairs)
    return is_linear and bool((given == 1.0).all())


def require_stream(estimator: Any, name: str) -> None:
    """Raise an AttributeError that lists the solvers for streams, unless the estimator's solver is one."""
    try:
        streaming_solver(estimator.solver, regresses=is_regressor(estimator))
    except InputError as error:
        raise Lacking(f"no {name}: {error}") from None


def _require_conformal(estimator: Any, name: str) -> None:
    """Raise an AttributeError that explains how to get sets unless the estimator has them."""
    if getattr(estimator, "conformal", None) is None:
        raise Lacking(f"no {name} without a share of samples that sets may miss: give conformal=0.1")


def _require_linear(estimator: Any, name: str) -> None:
    """Raise an AttributeError unless the kernel, of the model if there is one, is linear."""
    model = getattr(estimator, "model_", None)
    kernel = estimator.kernel if model is None else model.kernel
    if getattr(kernel, "name", kernel) != "linear":
        raise Lacking(f"no {name}: that needs kernel='linear', not {getattr(kernel, 'name', kernel or 'rbf')}")


class SVMEstimator(BaseEstimator):
    """Base of all estimators, which are dataclasses of their parameters; `task` says what they learn.

    `describe` adds these texts to the docstrings of its subclasses.

    Parameters
    ----------
    solver : str or Solver, default="auto"
        The solver; `svmkit plugins` lists their names.
    solver_options : dict of str to object, default=None
        Options of a solver that is given by name, such as {"loss": "squared_hinge"}; `svmkit plugins` lists them.
    C : float or "cv", default=1.0
        The weight of the summed losses, > 0. "cv" chooses it by cross-validation from values suggested by the data;
        then the model of all samples is trained with the best one and certified. A limit in seconds covers both.
    kernel : str, Kernel or callable, default=None
        The kernel. A callable f(X, Z) returns the kernel values (rows of X, rows of Z). None is "rbf", or "linear" for
        a solver that needs it.
    gamma : {"scale", "auto", "msd"}, float or "cv", default="scale"
        The parameter gamma of the kernels that have it; "cv" as for C.
    degree : int, default=3
        The degree of the polynomial kernel.
    coef0 : float, default=0.0
        The constant of the polynomial and sigmoid kernels.
    sampler : str or Sampler, default=None
        The points that each step examines, such as "full" or "uniform:59". None is the default of the solver.
    tol : float, default=1e-3
        The certified relative duality gap to reach, the same for every solver.
    stop : str, Criterion or Stop, default=None
        A rule that replaces `tol`: text such as "abs:1e-6" or "rel:1e-3", or criteria joined with |.
    max_iter : int, default=None
        The largest number of iterations, for each class pair if there are several.
    max_epochs : float, default=None
        The largest number of passes over the training samples, for each class pair if there are several.
    time_limit : float, default=None
        The time limit in seconds, shared by the class pairs if there are several.
    max_support : int, default=None
        The largest number of support vectors, for each class pair if there are several.
    impute : {"median", "most_frequent", "indicator"}, default=None
        How to fill the holes of X; the values are learnt from X and kept with the model: the median or the most
        frequent value of the column; "indicator" is the median and a 0/1 column for each column with holes. None
        rejects holes.
    scale : {"none", "standard", "minmax", "maxabs", "cv"}, default=None
        The scaling that is applied to X first and kept with the model. On CSR, "standard" divides by the standard
        deviation without centring, and "minmax" is rejected. "cv" chooses between "none" and "standard", on CSR
        "maxabs", if the scales of the columns differ 100-fold. None is "none", with a warning in a search.
    relevance : {"learned"}, default=None
        Weights of the columns, learnt from the gradients of the decision functions and kept with the scaling of the
        model, which is "standard", or "maxabs" on CSR, if `scale` is None. They are 1 unless three folds show that
        others are better. The certificate is for the problem with these weights.
    memory : str or int, default="1GB"
        The memory limit for kernel rows, in bytes or as text.
    n_threads : int, default=None
        The number of threads; None uses all.
    device : str, default=None
        Where kernel values are computed: "cpu", "auto", and with `svmkit[torch]` "cuda", "cuda:1", "xpu", "mps" or
        "torch:cpu". None is "cpu" unless `svmkit.kernels.engines.request_engine` requests another.
    random_state : int, RandomState or None, default=0
        The seed of all random choices.
    warm_start : bool, default=False
        Whether `fit` starts at the support vectors of the last model that are among the samples. Samples may change or
        be added; columns, and classes if there are any, must be the same, and so must `multiclass`. A linear problem
        starts from a model with the linear kernel.
    cv : int, "loo", splitter of scikit-learn, or sequence of (train, test), default=5
        The folds for choosing parameters that are "cv", and for a calibration. A number of folds is shuffled with
        `random_state` and, for classes, stratified; it is reduced if a class has fewer samples. "loo" leaves out one
        sample at a time to choose parameters; a calibration then has five folds.
    metric : str, default=None
        The scorer of scikit-learn by which candidates are compared. None is accuracy, or balanced accuracy if
        `class_weight` is given or a class has less than a tenth of the samples; for regression R2.
    verbose : int, default=0
        1 shows the progress of `fit` on stderr: a live line on a terminal or in a notebook, plain lines elsewhere.

    Attributes
    ----------
    model_ : SVMModel
        The model, which can be saved.
    n_features_in_ : int
        The number of columns of X.
    support_ : ndarray of shape (n_support,), int
        The rows of X that contribute to the model, sorted by class if there are classes.
    support_vectors_, n_support_, dual_coef_ : ndarray
        The support vectors, their number in each class, and their coefficients, (1, n_support) without classes. Linear
        solvers keep weights instead.
    coef_ : ndarray of shape (n_decisions, n_features)
        The weights of the columns, after scaling, of a model with the linear kernel, whatever the solver.
    intercept_ : ndarray of shape (n_decisions,)
        The intercept of each decision.
    relevance_ : ndarray of shape (n_features,)
        With `relevance="learned"`: the weights of the columns after scaling, the largest of which is 1; all are 1 if
        learnt ones were not better. Includes the 0/1 columns that imputing adds.
    status_ : Status
        How training ended.
    fit_status_ : {0, 1}
        0 if `status_` is "converged", else 1, as in scikit-learn's SVC.
    shape_fit_ : tuple of int
        The shape of X in `fit`.
    n_iter_ : int
        The number of iterations, over all class pairs.
    n_iter_by_problem_ : ndarray of int, shape (n_problems,)
        The number of iterations of each class pair, like `n_iter_` of SVC.
    seconds_ : float
        The seconds of training, including checks of the data.
    gap_ : float or None
        The certified relative duality gap, the largest one of several class pairs.
    bound_ : float or None
        The dual value, a lower bound on the optimum; the sum over all class pairs.
    certificate_ : list of Certificate
        The certificate of each class pair, or the only one.
    history_ : list of History
        The history of each class pair, or the only one.
    best_params_, best_score_ : dict, float
        The values chosen for the parameters that are "cv", and the mean of the metric over the folds; nan if time or
        Ctrl-C ended the search before a candidate was tried in all folds. They exist only after a search.
    cv_results_ : dict of str to ndarray
        The candidates of the search, best first, in the form of scikit-learn's searches.
    """

    task: Task
    remedy = "raise tol, lower C, or take another solver"
    exhausted = "centre and scale the features, or lower C"

    model_: SVMModel
    _online: Online | None
    _encoding: Encoding | None = None  # of the columns of a table
    _n_columns: int | None = None  # of the table
    _weights_only: bool
    _is_sparse: bool
    solver: Any
    kernel: Any
    stop: Any
    tol: float
    max_support: int | None
    random_state: Any
    verbose: int

    def _settings(self, names: tuple[str, ...] | None = None) -> Settings:
        """Return the settings that the parameters describe; `names` are those of `_names_to_choose`, if known."""
        require_own_options(self.solver, getattr(self, "solver_options", None))
        own, names = vars(self), self._names_to_choose() if names is None else names
        if names:
            kind: Any = type(self)
            own = own | {field.name: field.default for field in fields(kind) if field.name in names}
        return Settings(
            **{name: own[name] for name in _SETTINGS if name in own},
            loss_options={name: own[name] for name in ("tau", "delta") if own.get(name) is not None},
            kernel_params={name: own[name] for name in ("gamma", "degree", "coef0") if name in own},
            stop=stop_rules(self.stop, self.tol, **{name: own[name] for name in _LIMITS if name in own}),
            seed=seed_of(self.random_state),
        )

    @classmethod
    def _get_param_names(cls) -> list[str]:  # a search calls this three times in each fit
        kind: Any = cls
        return list(_param_names(kind))

    def _names_to_choose(self) -> tuple[str, ...]:
        """Return the parameters that cross-validation chooses."""
        if CHOSEN not in [value for value in vars(self).values() if isinstance(value, str)]:  # fast, for small fits
            return ()
        from svmkit.choice.one_call import names_to_choose

        values = {name: value for name, value in vars(self).items() if name not in ("solver", "kernel", "cv")}
        return names_to_choose({name: values[name] for name in self.get_params(deep=False) if name in values})

    def _resolve(self, X: Any, task: Task | None) -> tuple[Method, tuple[str, ...]]:
        """Return the method of the parameters and of the device of X, for the task of the estimator unless another one
        is given, and the parameters that cross-validation chooses. The next fit with the same values gets it again.
        """
        kind: Any = type(self)
        values = _values_of(kind)(vars(self))
        key, known = (kind, values, *map(type, values)), plugins.registered("solver")  # 1 is not True
        is_plain = task is None and self.random_state is not None and _PLAIN.issuperset(key[2:])
        registered, method = _methods.get(key, (None, None)) if is_plain else (None, None)
        if method is not None and registered is known and device_for(method.settings.device, X) is None:
            return method, ()
        names = self._names_to_choose()
        settings = self._settings(names)
        if (device := device_for(settings.device, X)) != settings.device:
            settings = replace(settings, device=device)
        method = resolve(settings, task or self.task)
        if is_plain and not names and device is None:
            if len(_methods) >= KEPT:
                _methods.clear()
            _methods[key] = known, method  # until another plugin is registered
        return method, names

    def _fit_chosen(self, X: Any, y: Any, method: Method, *, groups: Any, **options: Any) -> Fit:
        """Train with the parameters that cross-validation chooses, and set the attributes of the search."""
        from svmkit.choice.one_call import Choice, train_chosen

        names = self._names_to_choose()
        how = Choice(names=names, cv=getattr(self, "cv", 5), metric=getattr(self, "metric", None), groups=groups)
        trained = train_chosen(X, y, method, how, **options)
        result = trained.chosen.result
        self.best_params_ = {} if result is None else dict(result.best.params)
        self.best_score_ = math.nan if result is None else result.best.mean_score
        self.cv_results_ = {} if result is None else result.cv_results_
        return trained

    def _train(self, X: Any, y: Any, *, task: Task | None = None, groups: Any = None, **options: Any) -> None:
        """Train on samples, with further options of `svmkit.training.train.train`, and set the fitted attributes; a
        task of None is the task of the estimator.
        """
        method, names = self._resolve(X, task)
        settings = method.settings
        for name in OF_SEARCH:
            vars(self).pop(name, None)  # from an earlier fit
        if groups is not None and not names and not settings.uses_groups:
            raise InputError(NO_FOLDS)
        X, options = self._read(X, y, method, options)
        method = method.with_groups(None if self._encoding is None else self._encoding.group_sizes)
        if settings.has_folds and not names:
            cv, weights = getattr(self, "cv", FOLDS), options.get("sample_weight")
            options["fold"] = draw_folds(cv, y, method, groups=groups, sample_weight=weights, X=X)
        if getattr(self, "warm_start", False):
            options["start"] = getattr(self, "model_", None)
        trained: Fit

        def work(tasks: FitTasks | None) -> None:
            nonlocal trained
            options["callbacks"], options["verbose"] = tasks, self.verbose
            trained = (
                self._fit_chosen(X, y, method, groups=groups, **options)
                if names
                else train(X, y, method, groups=groups, **options)
            )
            self._online = None
            self._take(trained, method)
            self.n_iter_ = max(trained.n_iter, 1)  # scikit-learn also counts a start that was the solution
            self.shape_fit_ = (X if hasattr(X, "shape") else np.asarray(X)).shape[0], self.n_features_in_

        weights, with_models = options.get("sample_weight"), settings.calibration is None and self.task.is_supervised
        if run_with_tasks(self, lambda: FitTasks(self, X, y, weights, with_models), work):
            return
        warn_unless_converged(
            trained, self.remedy, exhausted=self.exhausted, budgeted=self._is_budgeted(), stacklevel=4
        )

    def _read(self, X: Any, y: Any, method: Method, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Return training samples as features, keeping their names, and the options of a training with the information
        from the columns of a table.
        """
        frame = frame_of(X)
        check_names(self, X if frame is None else frame, reset=True)
        self._encoding, self._n_columns = None, None
        if frame is None or isinstance(method.kernel, Precomputed):
            return X, options
        holes = method.settings.impute is not None
        X, self._encoding, options = encode_samples(frame, y, options, holes=holes, stacklevel=6)
        self._n_columns = frame.shape[1]
        return X, options

    def _is_budgeted(self) -> bool:
        """Return whether the caller chose a budget of iterations."""
        return getattr(self, "max_iter", None) is not None or getattr(self, "max_epochs", None) is not None

    def _learn(self, stream: Callable[..., Online], X: Any, y: Any, sample_weight: Any) -> None:
        """Learn from one more block of samples; `stream` creates the learner for the first one."""
        if names := self._names_to_choose():
            raise InputError(
                f"no partial_fit with {names[0]}='cv': a stream cannot be divided into folds; give a value"
            )
        fitted, online = getattr(self, "model_", None), getattr(self, "_online", None)
        method = resolve(self._settings(), self.task)
        settings = method.settings
        if settings.conformal is not None:
            raise InputError("rows cannot be held out of a stream: leave conformal out")
        if settings.impute is not None and fitted is None:
            raise InputError("a stream has no fill values, which are learnt from all rows: leave impute out")
        X = as_features(self._read(X, y, method, {})[0] if fitted is None else features_to_predict(self, X))
        if settings.relevance is not None:
            raise InputError("a stream cannot be divided into folds that choose a relevance: leave relevance out")
        if online is None:
            online = stream(
                solver=method.solver,
                kernel=method.kernel,
                C=settings.C,
                scale=settings.scale,
                memory=settings.memory,
                seed=settings.seed,
                max_support=self.max_support,
                n_threads=settings.n_threads,
                device=settings.device,
                start=fitted,
            )
            if method.sampler is not None:
                why = f"a stream is learnt in its order: the sampler {method.sampler} has no effect"
                warnings.warn(why, SvmkitWarning, stacklevel=3)
        learned = online.update(X, y, sample_weight, test=False)
        self._online = online
        cut_short = learned != X.shape[0]
        trained = online.to_fit(Status.INTERRUPTED if cut_short else Status.MAX_ITER)
        self._take(trained, method)
        if cut_short:
            warn_unless_converged(trained, "", stacklevel=4)

    def _take(self, trained: Fit, method: Method) -> None:
        """Set the fitted attributes."""
        self.model_ = model = self._attach_encoding(trained.model)
        self._weights_only, self._is_sparse = method.problem_type(model.kernel).is_linear, False
        self.n_features_in_ = self._n_columns or model.n_features
        self.support_ = trained.support
        self.intercept_ = model.intercept
        self.n_iter_ = trained.n_iter
        self.n_iter_by_problem_: Any = np.array([s.n_iter for s in trained.solutions])
        self.seconds_ = trained.seconds
        self.status_ = trained.status
        self.fit_status_ = int(trained.status is not Status.CONVERGED)
        self.gap_ = trained.gap
        self.bound_ = trained.dual_objective
        self.certificate_: Any = [s.certificate for s in trained.solutions]
        vars(self).pop("history_", None)
        self._solutions = trained.solutions

    @cached_property
    def history_(self) -> Any:
        """The history of each class pair, or the only one."""
        if "_solutions" not in vars(self):
            raise AttributeError("no history_: there is one of a training, after `fit`")
        return [s.history for s in vars(self).pop("_solutions")]

    @only_where(_require_conformal)
    def predict_sets(self, X, *, alpha: float | None = None) -> np.ndarray:
        """Predict sets that contain the truth of new samples, as `SVMModel.predict_sets` does.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples.
        alpha : float, default=None
            The share of the samples whose truth sets may miss; None is `conformal`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), bool; of quantities (n_samples, 2) or (n_samples, n_outputs, 2)
            Which classes are in the set, or both ends of an interval.
        """
        X = features_to_predict(self, X)
        return self.model_.predict_sets(X, alpha=alpha, n_threads=self.n_threads)

    @only_where(require_callbacks)
    def set_callbacks(self, *callbacks: Any) -> Any:
        """Set the callbacks of `fit`; none removes them.

        Parameters
        ----------
        *callbacks : objects with the protocol of scikit-learn's `FitCallback`
            Such as `sklearn.callback.ProgressBar()`.

        Returns
        -------
        estimator
            The estimator itself.

        Raises
        ------
        TypeError
            An object does not have the protocol.
        """
        from sklearn.callback import CallbackSupportMixin

        return CallbackSupportMixin.set_callbacks(self, *callbacks)

    def _model_attributes(self, model: SVMModel) -> dict[str, Any]:
        """Return the fitted attributes that predictions need."""
        return {"model_": self._attach_encoding(model), "n_features_in_": self._n_columns or model.n_features}

    def _attach_encoding(self, model: SVMModel) -> SVMModel:
        """Return a model with the encoding of the table to which the estimator was fitted."""
        return model if self._encoding is None else model.attach_encoding(self._encoding)

    @classmethod
    def from_model(cls, model: SVMModel, **params: Any) -> Self:
        """Return a fitted estimator for a model that was loaded, imported or trained elsewhere.

        Parameters
        ----------
        model : SVMModel
            The model, with the task of the estimator.
        **params : object
            Parameters of the estimator. Missing ones are taken from the model's record of its training (solver, C, nu,
            kernel, loss, multiclass, calibration), otherwise their defaults.

        Returns
        -------
        estimator
            It predicts, scores and works in pipelines as after `fit`, but lacks `support_`, `history_` and
            `certificate_`, which a model does not contain.

        Raises
        ------
        InputError
            The model is no SVMModel, or is for another task.

        Examples
        --------
        >>> from svmkit import SVMClassifier, fit
        >>> model = fit([[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"], C=10.0).model
        >>> machine = SVMClassifier.from_model(model)
        >>> machine.C, machine.predict([[0.5], [2.5]]).tolist()
        (10.0, ['low', 'high'])
        """
        if not isinstance(model, SVMModel):
            raise InputError(f"{cls.__name__}.from_model takes an SVMModel: make one by SVMModel.from_sklearn(model)")
        task = "outliers" if model.finds_outliers else "classify" if model.task == "multilabel" else model.task
        if task != cls.task.name:
            raise InputError(f"{cls.__name__}.from_model: the model is one of task {task}: take {_OF_TASK[task]}")
        known = _params_of(model)
        own = inspect.signature(cls).parameters
        self = cls(**{name: value for name, value in known.items() if name in own} | params)
        self._encoding, self._online, self._is_sparse = model.encoding, None, False
        self._weights_only = _holds_weights(model)
        if model.encoding is not None:
            self._n_columns = len(model.encoding.columns)
            if model.encoding.header:
                vars(self)["feature_names_in_"] = np.array(model.encoding.columns, dtype=object)
        ended = {"status_": model.about.get("status"), "gap_": model.about.get("gap")}
        vars(self).update(self._model_attributes(model), intercept_=model.intercept, **ended)
        return self

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the features after preprocessing, (n_features,), text: the columns of `coef_`.

        Parameters
        ----------
        input_features : sequence of str, default=None
            The names of the columns of an array; None gives "x0", "x1", ... A table has its own names.

        Examples
        --------
        >>> import pandas as pd
        >>> from svmkit import SVMClassifier
        >>> table = pd.DataFrame({"age": [31, 44, 25, 58], "city": ["Bonn", "Kiel", "Bonn", "Kiel"]})
        >>> SVMClassifier().fit(table, [0, 1, 0, 1]).get_feature_names_out().tolist()
        ['age', 'city=Bonn', 'city=Kiel']
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "model_")
        width = self.model_.n_features
        names = [f"x{j}" for j in range(width)] if input_features is None else [str(name) for name in input_features]
        if self.model_.encoding is None and len(names) != width:
            raise InputError(f"input_features names {len(names)} columns, and X had {width}: name each of them")
        return np.array(self.model_.preprocessing.feature_names(width, names), dtype=object)

    def _vectors(self, name: str) -> SVMModel:
        """Return the model, for its attribute `name`; raise AttributeError before `fit` and for a model of weights."""
        model = getattr(self, "model_", None)
        if model is None or self._weights_only:
            leaves = "leaves weights, in coef_ (smo has both)"
            why = "it is not fitted" if model is None else f"solver {model.about.get('solver')} {leaves}"
            raise AttributeError(f"no {name}: {why}")
        return model

    @property
    def support_vectors_(self) -> Any:
        """The support vectors (n_sv, n_features), dense or CSR; for a precomputed kernel their row numbers."""
        return self._vectors("support_vectors_").vectors

    @property
    def n_support_(self) -> np.ndarray:
        """The number of support vectors of each class, (n_classes,)."""
        return self._vectors("n_support_").n_support

    @property
    def dual_coef_(self) -> np.ndarray:
        """The coefficients of the vectors, (n_classes - 1, n_sv) in scikit-learn's order, or (n_classes, n_sv)."""
        return self._vectors("dual_coef_").coef

    @property
    def coef_(self) -> np.ndarray:
        """The weights of the columns for each decision (n_decisions, n_features), with the linear kernel."""
        model = getattr(self, "model_", None)
        if model is None or model.kernel.name != "linear":
            why = "it is not fitted" if model is None else f"that needs the linear kernel, not {model.kernel.name}"
            raise AttributeError(f"no coef_: {why}")
        return sp.csr_array(model.weights) if getattr(self, "_is_sparse", False) else model.weights

    @only_where(_require_linear)
    def sparsify(self) -> Self:
        """Make `coef_` a sparse array, for models most of whose weights are 0; return the estimator.

        It requires the linear kernel. Predictions do not change; `densify` reverts it.
        """
        return self._keep_coef(True)

    @only_where(_require_linear)
    def densify(self) -> Self:
        """Make `coef_` a dense array again; return the estimator."""
        return self._keep_coef(False)

    def _keep_coef(self, is_sparse: bool) -> Self:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "model_")
        self._is_sparse = is_sparse
        return self

    @property
    def relevance_(self) -> np.ndarray:
        """The learnt weights of the columns after scaling (n_features,), the largest of which is 1."""
        model = getattr(self, "model_", None)
        if model is None or "relevance" not in model.about:
            why = "it is not fitted" if model is None else "it was fitted without relevance='learned'"
            raise AttributeError(f"no relevance_: {why}")
        return np.ones(model.width) if model.relevance is None else model.relevance

    def _html_with(self, diagram: str) -> str:
        """Return scikit-learn's diagram followed by a block on how training ended; unchanged before `fit`."""
        model = getattr(self, "model_", None)
        if model is None:
            return diagram
        solver, choice = str(model.about.get("solver", "not known")), model.about.get("choice")
        facts = {
            "solver": f"{solver}: {choice}" if choice else solver,
            "status": str(self.status_),
            "certified gap": "none" if self.gap_ is None else f"{self.gap_:.2g}",
        }
        if hasattr(self, "support_"):  # missing in an estimator from a model
            facts |= {"support vectors": f"{len(self.support_):,}", "iterations": f"{self.n_iter_:,}"}
            facts |= {"training time": f"{self.seconds_:.3g} s"}
        rows = "".join(f"<span>{escape(name)}</span><b>{escape(value)}</b>" for name, value in facts.items())
        return f'{diagram}<div class="svmkit-fit" style="{STYLE}">{rows}</div>'

    def _repr_html_inner(self) -> str:
        return self._html_with(super()._repr_html_inner())

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = self._html_with(bundle["text/html"])
        return bundle

    def __getstate__(self) -> dict[str, Any]:
        if "_solutions" in vars(self):
            _ = self.history_  # computed from solutions that are not pickled
        return {key: value for key, value in super().__getstate__().items() if key not in ("_online", "_solutions")}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = getattr(self, "impute", None) is not None
        kernel = getattr(self, "kernel", None)
        tags.input_tags.pairwise = kernel == "precomputed" or isinstance(kernel, Precomputed)
        return tags


def describe(cls: T) -> T:
    """Decorate an estimator: add the Parameters and Attributes of `SVMEstimator` to its docstring."""
    text, base = (inspect.cleandoc(each.__doc__ or "") for each in (cls, SVMEstimator))
    for section in ("Parameters", "Attributes") if text else ():  # there are no docstrings under -OO
        own = _entries(text, section)
        entries = _entries(base, section) | own
        if section == "Parameters":  # in the order of the signature, own texts taking precedence over those of the base
            by_name = {name: entry for names, entry in entries.items() for name in names.split(", ")}
            taken = list(dict.fromkeys(by_name[name] for name in inspect.signature(cls).parameters))
        else:
            taken = list(entries.values())  # with all attributes of the base
        text = text.replace("\n".join(own.values()), "\n".join(taken))
    cls.__doc__ = text
    return cls


def _entries(text: str, section: str) -> dict[str, str]:
    """Return the entries of a section of a docstring by name, such as "tau, delta"."""
    lines = text.partition(f"\n{section}\n{'-' * len(section)}\n")[2].partition("\n\n")[0]
    return {entry.partition(" :")[0]: entry for entry in re.split(r"\n(?=\S)", lines)}
