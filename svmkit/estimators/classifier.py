"""scikit-learn estimators over any solver."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import MethodType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from svmkit import plugins
from svmkit.data.features import as_features
from svmkit.errors import InputError
from svmkit.estimators.base import features_to_predict, seed_of, warn_unless_converged
from svmkit.kernels.functions import Kernel, Precomputed
from svmkit.model.model import SVMModel
from svmkit.model.one_vs_one import scores
from svmkit.solver import by_name
from svmkit.solver.solution import Status
from svmkit.solver.stopping import stop_rules
from svmkit.training.online import Online
from svmkit.training.online_input import streaming_solver
from svmkit.training.result import Fit
from svmkit.training.train import fit


class NoStream(InputError, AttributeError):
    """The estimator's solver does not learn from streams."""


class _Streaming:
    """A method of estimators whose solver learns from streams; others lack it, and the error names those solvers."""

    def __init__(self, method: Callable) -> None:
        self.method = method
        self.__doc__ = method.__doc__

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        if estimator is None:
            return self.method
        try:
            streaming_solver(estimator.solver)
        except InputError as error:
            raise NoStream(f"no partial_fit: {error}") from None
        return MethodType(self.method, estimator)


class SVMClassifier(ClassifierMixin, BaseEstimator):
    """Support vector classifier with a certificate; two classes, or more by one-versus-one.

    Parameters
    ----------
    solver : name or Solver, default "swap2o"; names: `svmkit plugins`
    C : float > 0, default 1.0, weight of the summed losses
    kernel : name, Kernel or callable f(X, Z) -> (rows of X, rows of Z); default None: "rbf", or "linear" where the
        solver needs it
    gamma : "scale" (default), "auto", "msd" or a number; degree, coef0 : of the kernels that have them
    sampler : name such as "full" or "uniform:59", or Sampler; default the solver's own, mostly "full"
    tol : relative duality gap to reach, default 1e-3
    stop : rule instead of tol: text such as "abs:1e-6", or criteria joined with |
    max_iter, max_epochs, time_limit (seconds, shared by the pairs), max_support (for each pair of classes) : budgets,
        default none
    class_weight : None, "balanced" or {label: weight}
    scale : None, "standard", "minmax" or "maxabs": applied first and kept with the model
    memory : budget of the row cache, default "1GB"; n_threads : default all
    random_state : default 0
    warm_start : start at the support vectors of the last model that are among the samples, which may have changed or
        become more; classes and columns must be the same
    decision_function_shape : "ovr" (default; (n_samples, n_classes)) or "ovo" ((n_samples, n_pairs))

    Attributes
    ----------
    model_ : SVMModel, with `save`; classes_, n_features_in_
    support_ : rows of X that have a part in the model, sorted by class; intercept_
    support_vectors_, n_support_, dual_coef_ : of a model of support vectors; a linear solver keeps weights instead
    coef_ : (n_classes * (n_classes - 1) / 2, n_features) weights of the columns, scaled where `scale` is given, of a
        model with the linear kernel, whatever the solver
    status_, n_iter_, certificate_ (one per pair), gap_ (the largest), bound_ (sum of the dual values),
    history_ (one per pair)
    """

    def __init__(
        self,
        solver: Any = "swap2o",
        *,
        C: float = 1.0,
        kernel: Any = None,
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        sampler: Any = None,
        tol: float = 1e-3,
        stop: Any = None,
        max_iter: int | None = None,
        max_epochs: float | None = None,
        time_limit: float | None = None,
        max_support: int | None = None,
        class_weight: Any = None,
        scale: str | None = None,
        memory: Any = "1GB",
        n_threads: int | None = None,
        random_state: Any = 0,
        warm_start: bool = False,
        decision_function_shape: str = "ovr",
    ) -> None:
        self.solver = solver
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.sampler = sampler
        self.tol = tol
        self.stop = stop
        self.max_iter = max_iter
        self.max_epochs = max_epochs
        self.time_limit = time_limit
        self.max_support = max_support
        self.class_weight = class_weight
        self.scale = scale
        self.memory = memory
        self.n_threads = n_threads
        self.random_state = random_state
        self.warm_start = warm_start
        self.decision_function_shape = decision_function_shape

    def fit(self, X, y, sample_weight=None, validation=None) -> SVMClassifier:
        """Train on X (n_samples, n_features), dense or CSR, float32 or float64, and labels y (n_samples,).

        sample_weight : (n_samples,), >= 0, default ones. validation : (X, y) of held-out rows on which `history_`
        measures accuracy as the model grows, default none. Raises InputError (a ValueError) for data that cannot be
        trained on. Ctrl-C keeps the best model so far, with `status_` "interrupted".
        """
        from sklearn.utils.validation import _check_feature_names

        _check_feature_names(self, X, reset=True)
        y = _column_or_1d(y)
        trained = fit(
            X,
            y,
            solver=self.solver,
            kernel=self._kernel(),
            C=self.C,
            sampler=self.sampler,
            stop=stop_rules(
                self.stop,
                self.tol,
                max_iter=self.max_iter,
                max_epochs=self.max_epochs,
                time_limit=self.time_limit,
                max_support=self.max_support,
            ),
            class_weight=self.class_weight,
            sample_weight=sample_weight,
            scale=self.scale,
            memory=self.memory,
            seed=seed_of(self.random_state),
            n_threads=self.n_threads,
            start=getattr(self, "model_", None) if self.warm_start else None,
            validation=validation,
        )
        self._online: Online | None = None
        self._take(trained)
        if self.max_iter is None and self.max_epochs is None:
            remedy = "raise tol, lower C, or take another solver"
            warn_unless_converged(trained.model.about["solver"], trained.status, trained.gap, remedy)
        return self

    @_Streaming
    def partial_fit(self, X, y, classes=None, sample_weight=None) -> SVMClassifier:
        """Learn from one more block of samples in one pass, in its order, with a solver that streams (sfw, sgd, ...).

        classes : all labels that may come, needed at the first call; the others as for `fit`. The parameters of the
        first call hold for all; of the budgets max_support does, and class_weight must not be "balanced". gamma and
        scale are settled by the first block. After fit, or in a copy or pickle, it goes on from the support vectors
        of the model. Afterwards support_ counts the samples of all calls (the support vectors that it went on from come
        first), gap_ is None, and bound_ is a lower bound on the optimum over all these samples.
        Raises InputError for another width or labels not announced, with the model as it was.
        """
        from sklearn.utils.validation import _check_feature_names

        online = getattr(self, "_online", None)
        fitted = getattr(self, "model_", None)
        if fitted is None and classes is None:
            raise InputError("classes must be passed on the first call to partial_fit: all labels that may come")
        if fitted is not None and classes is not None and not np.array_equal(np.unique(classes), fitted.classes):
            raise InputError(f"classes differ from those of the first call: {', '.join(map(str, fitted.classes))}")
        y = _column_or_1d(y)
        if fitted is None:
            _check_feature_names(self, X, reset=True)
        X = as_features(X) if fitted is None else features_to_predict(self, X)
        if online is None:
            online = Online(
                classes if fitted is None else fitted.classes,
                solver=self.solver,
                kernel=self._kernel(),
                C=self.C,
                class_weight=self.class_weight,
                scale=self.scale,
                memory=self.memory,
                seed=seed_of(self.random_state),
                max_support=self.max_support,
                n_threads=self.n_threads,
                start=fitted,
            )
        learned = online.update(X, y, sample_weight, test=False)
        self._online = online
        self._take(online.fitted(Status.MAX_ITER if learned == X.shape[0] else Status.INTERRUPTED))
        return self

    def _kernel(self) -> Kernel:
        return by_name.kernel(
            self.kernel, {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}, self.solver
        )

    def _take(self, trained: Fit) -> None:
        """The fitted attributes."""
        self.model_ = trained.model
        solver = plugins.load("solver", self.solver) if isinstance(self.solver, str) else self.solver
        self._weights_only = solver.problem_for(trained.model.kernel).is_linear
        self.n_features_in_ = trained.model.n_features
        self.classes_ = trained.model.classes
        self.support_ = trained.support
        self.intercept_ = trained.model.intercept
        self.n_iter_ = trained.n_iter
        self.status_ = trained.status
        self.gap_ = trained.gap
        self.bound_ = trained.dual_objective
        self.certificate_ = [s.certificate for s in trained.solutions]
        self.history_ = [s.history for s in trained.solutions]

    def _vectors(self, name: str) -> SVMModel:
        """The model, for its attribute `name`; AttributeError for one that is all weights, and before `fit`."""
        model = getattr(self, "model_", None)
        if model is None or self._weights_only:
            why = "it is not fitted" if model is None else f"solver {model.about['solver']} leaves weights, in coef_"
            raise AttributeError(f"no {name}: {why}")
        return model

    @property
    def support_vectors_(self) -> Any:
        """Dense or CSR (n_sv, n_features), as the model keeps them; of a precomputed kernel their row numbers."""
        return self._vectors("support_vectors_").vectors

    @property
    def n_support_(self) -> np.ndarray:
        """(n_classes,) support vectors of each class."""
        return self._vectors("n_support_").n_support

    @property
    def dual_coef_(self) -> np.ndarray:
        """(n_classes - 1, n_sv), in scikit-learn's order."""
        return self._vectors("dual_coef_").coef

    @property
    def coef_(self) -> np.ndarray:
        """(n_classes * (n_classes - 1) / 2, n_features), a row for each pair; AttributeError without linear kernel."""
        model = getattr(self, "model_", None)
        if model is None or model.kernel.name != "linear":
            why = "it is not fitted" if model is None else f"that needs the linear kernel, not {model.kernel.name}"
            raise AttributeError(f"no coef_: {why}")
        return model.weights

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in super().__getstate__().items() if key != "_online"}

    def decision_function(self, X) -> np.ndarray:
        """Margins at scale one: (n_samples,) for two classes, > 0 for classes_[1]; else by decision_function_shape."""
        X = self._ready(X)
        decision = self.model_.decision_function(X, n_threads=self.n_threads)
        if len(self.classes_) == 2 or self.decision_function_shape == "ovo":
            return decision
        return scores(decision, len(self.classes_))

    def predict(self, X) -> np.ndarray:
        """Labels (n_samples,) for X (n_samples, n_features)."""
        X = self._ready(X)
        return self.model_.predict(X, n_threads=self.n_threads)

    def _ready(self, X):
        X = features_to_predict(self, X)
        if self.decision_function_shape not in ("ovr", "ovo"):
            raise InputError(f"decision_function_shape must be ovr or ovo, not {self.decision_function_shape!r}")
        return X

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed" or isinstance(self.kernel, Precomputed)
        return tags


def _column_or_1d(y):
    """y as it is; a column vector is flattened with scikit-learn's warning."""
    shape = getattr(y, "shape", None)
    if shape is None or len(shape) != 2 or shape[1] != 1:
        return y
    from sklearn.exceptions import DataConversionWarning

    warnings.warn(
        "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples, ).",
        DataConversionWarning,
        stacklevel=3,
    )
    return np.asarray(y).ravel()
