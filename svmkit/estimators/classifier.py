"""SVMClassifier: a scikit-learn classifier over any solver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from svmkit.data.features import as_features
from svmkit.errors import InputError
from svmkit.estimators.base import (
    OnlyStreaming,
    check_names,
    column_or_1d,
    features_to_predict,
    options_by_name,
    seed_of,
    warn_unless_converged,
)
from svmkit.estimators.fitted import ModelAttributes
from svmkit.kernels.functions import Kernel, Precomputed
from svmkit.solver import by_name
from svmkit.solver.base import Solver
from svmkit.solver.solution import Status
from svmkit.solver.stopping import is_limited, stop_rules
from svmkit.training.online import Online
from svmkit.training.result import Fit
from svmkit.training.train import fit


class SVMClassifier(ModelAttributes, ClassifierMixin, BaseEstimator):
    """Support vector classifier with a certificate, for two classes or by one-versus-one for more.

    Parameters
    ----------
    solver : str or Solver, default="auto"
        The solver; `svmkit plugins` lists their names.
    solver_options : dict of str to object, default=None
        Options of a solver that is given by its name, such as {"loss": "squared_hinge"}; `svmkit plugins` lists them.
    C : float, default=1.0
        The weight of the summed losses, > 0.
    kernel : str, Kernel or callable, default=None
        The kernel. A callable f(X, Z) returns the kernel values (rows of X, rows of Z). None is "rbf", or "linear" for
        a solver that needs it.
    gamma : {"scale", "auto", "msd"} or float, default="scale"
        The parameter gamma of the kernels that have it.
    degree : int, default=3
        The degree of the polynomial kernel.
    coef0 : float, default=0.0
        The constant of the polynomial and sigmoid kernels.
    sampler : str or Sampler, default=None
        Which points each step looks at, such as "full" or "uniform:59". None is the solver's own sampler.
    tol : float, default=1e-3
        The relative duality gap to reach.
    stop : str, Criterion or Stop, default=None
        A rule that replaces `tol`: text such as "abs:1e-6", or criteria joined with |.
    max_iter : int, default=None
        The most iterations for each class pair.
    max_epochs : float, default=None
        The most passes over the training samples for each class pair.
    time_limit : float, default=None
        The most seconds, shared by the class pairs.
    max_support : int, default=None
        The most support vectors for each class pair.
    class_weight : {"balanced"} or dict of label to float, default=None
        The weight of each class, > 0.
    scale : {"standard", "minmax", "maxabs"}, default=None
        The scaling that is applied to X first and kept with the model. On CSR, "standard" divides by the standard
        deviation and does not centre, and "minmax" is refused.
    memory : str or int, default="1GB"
        The most memory for kernel rows, in bytes or as text.
    n_threads : int, default=None
        The number of threads; None uses all.
    random_state : int, RandomState or None, default=0
        The seed of all random choices.
    warm_start : bool, default=False
        Whether `fit` starts at the support vectors of the last model that are among the samples. Samples may have
        changed or been added; classes and columns must be the same.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        The columns of `decision_function` among more than two classes: one for each class, or for each class pair.

    Attributes
    ----------
    model_ : SVMModel
        The model, which can be saved.
    classes_ : ndarray of shape (n_classes,)
        The labels in sorted order.
    n_features_in_ : int
        The number of columns of X.
    support_ : ndarray of shape (n_support,), int
        The rows of X that have a part in the model, sorted by class.
    support_vectors_, n_support_, dual_coef_ : ndarray
        The support vectors, their number in each class, and their coefficients. Linear solvers keep weights instead.
    coef_ : ndarray of shape (n_pairs, n_features)
        The weights of the columns, after scaling, of a model with the linear kernel, whatever the solver.
    intercept_ : ndarray of shape (n_pairs,)
        The intercept of each class pair.
    status_ : Status
        How training ended.
    n_iter_ : int
        The iterations of all class pairs.
    gap_ : float or None
        The largest certified relative duality gap of any class pair.
    bound_ : float or None
        The sum of the dual values, a lower bound on the sum of the optima.
    certificate_ : list of Certificate
        The certificate of each class pair.
    history_ : list of History
        The history of each class pair.
    """

    @options_by_name("C")
    def __init__(
        self,
        solver: Any = "auto",
        *,
        solver_options: Mapping[str, Any] | None = None,
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
        self.solver_options = solver_options
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
        """Train on labelled samples.

        Ctrl-C keeps the best model so far, with `status_` "interrupted" and a ConvergenceWarning. In a search over many
        fits it ends one of them; a second Ctrl-C, in the same fit or within ten seconds, raises KeyboardInterrupt.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), float32 or float64
            The training samples. For a precomputed kernel, the kernel values (n_samples, n_samples).
        y : array-like of shape (n_samples,)
            The labels, numbers or text.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight of each sample, >= 0.
        validation : tuple (X, y), default=None
            Held-out samples on which `history_` measures accuracy as the model grows.

        Returns
        -------
        SVMClassifier
            The fitted estimator.

        Raises
        ------
        InputError
            The data or parameters cannot be used. It is a ValueError.
        """
        check_names(self, X, reset=True)
        y = column_or_1d(y)
        rules = stop_rules(
            self.stop,
            self.tol,
            max_iter=self.max_iter,
            max_epochs=self.max_epochs,
            time_limit=self.time_limit,
            max_support=self.max_support,
        )
        solver = by_name.solver(self.solver, self.solver_options, limited=is_limited(rules))
        trained = fit(
            X,
            y,
            solver=solver,
            kernel=self._kernel(solver),
            C=self.C,
            sampler=self.sampler,
            stop=rules,
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
        self._take(trained, solver)
        warn_unless_converged(
            trained.model.about["solver"],
            trained.status,
            trained.gap,
            "raise tol, lower C, or take another solver",
            rounding=trained.rounding,
            flaw=trained.flaw,
            budgeted=self.max_iter is not None or self.max_epochs is not None,
        )
        return self

    @OnlyStreaming
    def partial_fit(self, X, y, classes=None, sample_weight=None) -> SVMClassifier:
        """Learn from one more block of samples in one pass, with a solver that learns from streams (sfw, sgd, ...).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples, learned from in their order.
        y : array-like of shape (n_samples,)
            The labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that may come, needed at the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight of each sample, >= 0.

        Returns
        -------
        SVMClassifier
            The estimator, fitted to all samples so far. `gap_` is None, `bound_` is a lower bound on the optimum over
            all these samples, and `support_` counts the samples of all calls.

        Raises
        ------
        InputError
            The block has another width or labels that are not announced; the model stays as it was.

        Notes
        -----
        The parameters of the first call hold for all calls. Its block settles gamma and scaling. Of the limits only
        `max_support` applies, and `class_weight` must not be "balanced". After `fit`, or in a copy or pickle, learning
        continues from the support vectors of the model, which come first in `support_`.
        """
        online = getattr(self, "_online", None)
        fitted = getattr(self, "model_", None)
        if fitted is None and classes is None:
            raise InputError("classes must be passed on the first call to partial_fit: all labels that may come")
        if fitted is not None and classes is not None and not np.array_equal(np.unique(classes), fitted.classes):
            raise InputError(f"classes differ from those of the first call: {', '.join(map(str, fitted.classes))}")
        y = column_or_1d(y)
        if fitted is None:
            check_names(self, X, reset=True)
        X = as_features(X) if fitted is None else features_to_predict(self, X)
        solver = by_name.solver(self.solver, self.solver_options)
        if online is None:
            online = Online(
                classes if fitted is None else fitted.classes,
                solver=solver,
                kernel=self._kernel(solver),
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
        cut_short = learned != X.shape[0]
        self._take(online.fitted(Status.INTERRUPTED if cut_short else Status.MAX_ITER), solver)
        if cut_short:
            warn_unless_converged(online.solver.name, Status.INTERRUPTED, None, "")
        return self

    def _kernel(self, solver: Solver) -> Kernel:
        return by_name.kernel(self.kernel, {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}, solver)

    def _take(self, trained: Fit, solver: Solver) -> None:
        """Set the fitted attributes."""
        self.model_ = trained.model
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

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in super().__getstate__().items() if key != "_online"}

    def decision_function(self, X) -> np.ndarray:
        """Compute the decisions, at margins of -1 and +1.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes) or (n_samples, n_pairs)
            For two classes, > 0 means `classes_[1]`. For more, votes with the squashed sum of margins ("ovr") or the
            decision of each class pair ("ovo"), by `decision_function_shape`.
        """
        X = self._ready(X)
        decision = self.model_.decision_function(X, n_threads=self.n_threads)
        if len(self.classes_) == 2 or self.decision_function_shape == "ovo":
            return decision
        return self.model_.scores(decision)

    def predict(self, X) -> np.ndarray:
        """Predict the labels (n_samples,) of samples X (n_samples, n_features)."""
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
