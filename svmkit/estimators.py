"""scikit-learn estimators over any solver."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from svmkit import checks
from svmkit.errors import InputError
from svmkit.kernels import Precomputed
from svmkit.model import scores
from svmkit.solver import Status
from svmkit.stopping import Criterion, Epochs, Gap, Iterations, Seconds, Stop, Support, parse_stop
from svmkit.training import as_kernel, fit


class SVMClassifier(ClassifierMixin, BaseEstimator):
    """Support vector classifier with a certificate; two classes, or more by one-versus-one.

    Parameters
    ----------
    solver : name or Solver, default "swap2o"; names: `svmkit plugins`
    C : float > 0, default 1.0, weight of the summed losses
    kernel : name, Kernel or callable f(X, Z) -> (rows of X, rows of Z), default "rbf"
    gamma : "scale" (default), "auto", "msd" or a number; degree, coef0 : of the kernels that have them
    sampler : name such as "full" or "uniform:59", or Sampler; default the solver's own, mostly "full"
    tol : relative duality gap to reach, default 1e-3
    stop : rule instead of tol: text such as "abs:1e-6", or criteria joined with |
    max_iter, max_epochs, time_limit (seconds, shared by the pairs), max_support : budgets, default none
    class_weight : None, "balanced" or {label: weight}
    scale : None, "standard", "minmax" or "maxabs": applied first and kept with the model
    memory : budget of the row cache, default "1GB"; n_threads : default all
    random_state : default 0
    warm_start : go on from the last fit, which must have been on the same samples
    decision_function_shape : "ovr" (default; (n_samples, n_classes)) or "ovo" ((n_samples, n_pairs))

    Attributes
    ----------
    model_ : SVMModel, with `save`; classes_, n_features_in_
    support_ : rows of X that are support vectors, sorted by class; support_vectors_, n_support_, dual_coef_, intercept_
    status_, n_iter_, certificate_ (one per pair), gap_ (the largest), history_ (one per pair)
    """

    def __init__(
        self,
        solver: Any = "swap2o",
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
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

    def fit(self, X, y, sample_weight=None) -> SVMClassifier:
        """Train on X (n_samples, n_features), dense or CSR, float32 or float64, and labels y (n_samples,).

        sample_weight : (n_samples,), >= 0, default ones. Raises InputError (a ValueError) for data that cannot be
        trained on. Ctrl-C keeps the best model so far, with `status_` "interrupted".
        """
        from sklearn.utils import check_random_state
        from sklearn.utils.validation import _check_feature_names

        _check_feature_names(self, X, reset=True)
        y = _column_or_1d(y)
        state = self.random_state
        trained = fit(
            X,
            y,
            solver=self.solver,
            kernel=as_kernel(self.kernel, {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}),
            C=self.C,
            sampler=self.sampler,
            stop=self._rules(),
            class_weight=self.class_weight,
            sample_weight=sample_weight,
            scale=self.scale,
            memory=self.memory,
            seed=int(state) if isinstance(state, Integral) else int(check_random_state(state).randint(2**31 - 1)),
            n_threads=self.n_threads,
            start=self._points if self.warm_start and hasattr(self, "_points") else None,
        )
        self.model_ = trained.model
        self.n_features_in_ = trained.model.n_features
        self.classes_ = trained.model.classes
        self.support_ = trained.support
        self.support_vectors_ = trained.model.vectors
        self.n_support_ = trained.model.n_support
        self.dual_coef_ = trained.model.coef
        self.intercept_ = trained.model.intercept
        self.n_iter_ = trained.n_iter
        self.status_ = trained.status
        self.gap_ = trained.gap
        self.certificate_ = [s.certificate for s in trained.solutions]
        self.history_ = [s.history for s in trained.solutions]
        self._points: list[np.ndarray] = [s.point for s in trained.solutions]
        if trained.status in (Status.MAX_ITER, Status.STALLED) and self.max_iter is None and self.max_epochs is None:
            from sklearn.exceptions import ConvergenceWarning

            warnings.warn(
                f"{trained.model.about['solver']} ended as {trained.status} at gap "
                f"{trained.gap:.2g}: raise tol, lower C, or take another solver",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _rules(self) -> Criterion | Stop:
        rules: Criterion | Stop = parse_stop(self.stop) if isinstance(self.stop, str) else (self.stop or Gap(self.tol))
        for kind, limit in (
            (Iterations, self.max_iter),
            (Epochs, self.max_epochs),
            (Seconds, self.time_limit),
            (Support, self.max_support),
        ):
            if limit is not None:
                rules = rules | kind(limit)
        return rules

    def decision_function(self, X) -> np.ndarray:
        """Margins at scale one: (n_samples,) for two classes, > 0 for classes_[1]; else by decision_function_shape."""
        decision = self._margins(X)
        if len(self.classes_) == 2 or self.decision_function_shape == "ovo":
            return decision
        return scores(decision, len(self.classes_))

    def predict(self, X) -> np.ndarray:
        """Labels (n_samples,) for X (n_samples, n_features)."""
        decision = self._margins(X)
        return self.model_.labels(decision)

    def _margins(self, X) -> np.ndarray:
        from sklearn.utils.validation import _check_feature_names

        check_is_fitted(self)
        if self.decision_function_shape not in ("ovr", "ovo"):
            raise InputError(f"decision_function_shape must be ovr or ovo, not {self.decision_function_shape!r}")
        _check_feature_names(self, X, reset=False)
        X = checks.as_features(X)
        if X.shape[1] != self.n_features_in_:
            checks.pad_or_refuse_columns(
                X.toarray()[:0] if hasattr(X, "toarray") else X, self.n_features_in_, name=type(self).__name__
            )
        return self.model_.decision_function(X, n_threads=self.n_threads)

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
