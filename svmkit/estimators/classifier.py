"""SVMClassifier: a scikit-learn classifier over any solver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from svmkit.data.prepare.features import as_features
from svmkit.errors import InputError
from svmkit.estimators.base import (
    OnlyStreaming,
    check_names,
    column_or_1d,
    features_to_predict,
    options_by_name,
)
from svmkit.estimators.estimator import SVMEstimator
from svmkit.estimators.probabilities import Probabilities
from svmkit.model.model import SVMModel
from svmkit.tasks import Classification
from svmkit.training.result import Fit
from svmkit.training.settings import Method, resolve
from svmkit.training.stream.online import Online


class SVMClassifier(Probabilities, ClassifierMixin, SVMEstimator):
    """Support vector classifier with a certificate, for two classes or more.

    Parameters
    ----------
    solver : str or Solver, default="auto"
        The solver; `svmkit plugins` lists their names.
    solver_options : dict of str to object, default=None
        Options of a solver that is given by its name, such as {"loss": "squared_hinge"}; `svmkit plugins` lists them.
    C : float, default=1.0
        The weight of the summed losses, > 0.
    loss : str or Loss, default=None
        The loss, one of those that the solver takes: "hinge", "squared_hinge", "smoothed_hinge", ...; None is that of
        the solver.
    delta : float, default=None
        The option delta of a loss that is given by its name and has one, > 0.
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
    nu : float, default=None
        Trains nu-SVC instead: an upper bound of the fraction of samples inside the margin and a lower bound of that of
        support vectors, with the hinge loss, by smo, fcsmo or auto. C has no effect. The feasible nu are those up to
        2 min(n, m) / (n + m) for classes of n and m samples, counted with their weights.
    warm_start : bool, default=False
        Whether `fit` starts at the support vectors of the last model that are among the samples. Samples may have
        changed or been added; classes and columns must be the same.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        The columns of `decision_function` among more than two classes: one for each class, or, with multiclass="ovo",
        for each class pair.
    multiclass : {"ovo", "ovr", "crammer_singer"}, default="ovo"
        The problems of more than two classes: one for each class pair; one for each class against all others, whose
        largest decision names the class; or Crammer and Singer's one problem of all classes, which solver dcd or auto
        solves with the linear kernel (LinearSVC's multi_class).
    calibration : {"sigmoid", "isotonic"}, default=None
        How decisions become probabilities: `predict_proba` exists with a calibration only, and `predict` then returns
        the class of the highest probability. It is fitted to the decisions of five stratified folds, each by a model
        of the others, so that training takes some two to five times as long. Samples count with their weights, class
        weights included: leave `class_weight` out for probabilities of the data as they are.
    verbose : int, default=0
        1 shows the progress of `fit` on stderr: a live line on a terminal or in a notebook, plain lines elsewhere.

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
    coef_ : ndarray of shape (n_decisions, n_features)
        The weights of the columns, after scaling, of a model with the linear kernel, whatever the solver.
    intercept_ : ndarray of shape (n_decisions,)
        The intercept of each decision, of a class pair or a class.
    status_ : Status
        How training ended.
    n_iter_ : int
        The iterations of all class pairs.
    seconds_ : float
        The seconds of training, checks of the data included.
    gap_ : float or None
        The largest certified relative duality gap of any class pair.
    bound_ : float or None
        The sum of the dual values, a lower bound on the sum of the optima.
    certificate_ : list of Certificate
        The certificate of each class pair.
    history_ : list of History
        The history of each class pair.

    Examples
    --------
    >>> from svmkit import SVMClassifier
    >>> X, y = [[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]], ["left", "left", "right", "right"]
    >>> machine = SVMClassifier("fcsmo", C=10.0).fit(X, y)
    >>> machine.predict([[0.2, 0.5], [1.8, 0.5]]).tolist(), machine.gap_ < 1e-3
    (['left', 'right'], True)
    """

    task = Classification()

    @options_by_name("C")
    def __init__(
        self,
        solver: Any = "auto",
        *,
        solver_options: Mapping[str, Any] | None = None,
        C: float = 1.0,
        loss: Any = None,
        delta: float | None = None,
        nu: float | None = None,
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
        multiclass: str = "ovo",
        calibration: str | None = None,
        verbose: int = 0,
    ) -> None:
        self.solver = solver
        self.solver_options = solver_options
        self.C = C
        self.loss = loss
        self.delta = delta
        self.nu = nu
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
        self.multiclass = multiclass
        self.calibration = calibration
        self.verbose = verbose

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
        self._train(X, column_or_1d(y), sample_weight=sample_weight, validation=validation)
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
        if self.calibration is not None:
            raise InputError("a stream cannot be divided into the folds of a calibration: leave calibration out")
        online = getattr(self, "_online", None)
        fitted = getattr(self, "model_", None)
        if fitted is None and classes is None:
            raise InputError("classes must be passed on the first call to partial_fit: all labels that may come")
        if fitted is not None and classes is not None and not np.array_equal(np.unique(classes), fitted.classes):
            raise InputError(f"classes differ from those of the first call: {', '.join(map(str, fitted.classes))}")
        if self.multiclass != "ovo":
            raise InputError(f"no partial_fit with multiclass={self.multiclass}: a stream trains class pairs (ovo)")
        if self.nu is not None:
            raise InputError("no partial_fit with nu: a stream has no fractions to bound; leave nu out")
        y = column_or_1d(y)
        if fitted is None:
            check_names(self, X, reset=True)
        X = as_features(X) if fitted is None else features_to_predict(self, X)
        method = resolve(self._settings(), self.task)
        if online is None:
            online = Online(
                classes if fitted is None else fitted.classes,
                solver=method.solver,
                kernel=method.kernel,
                C=self.C,
                class_weight=self.class_weight,
                scale=self.scale,
                memory=self.memory,
                seed=method.settings.seed,
                max_support=self.max_support,
                n_threads=self.n_threads,
                start=fitted,
            )
        self._learn(online, X, y, sample_weight, method)
        return self

    def _model_attributes(self, model: SVMModel) -> dict[str, Any]:
        return super()._model_attributes(model) | {"classes_": model.classes}

    def _take(self, trained: Fit, method: Method) -> None:
        super()._take(trained, method)
        self.classes_ = trained.model.classes

    def decision_function(self, X) -> np.ndarray:
        """Compute the decisions, at margins of -1 and +1.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes) or (n_samples, n_pairs)
            For two classes, > 0 means `classes_[1]`. For more, with multiclass="ovo", votes with the squashed sum of
            margins ("ovr") or the decision of each class pair ("ovo"), by `decision_function_shape`; otherwise the
            decision of each class. With a calibration the logarithm of the odds of `classes_[1]`, or those of the
            probabilities of the classes ("ovr"), so that they agree with `predict`; `model_.decision_function` has the
            decisions themselves.
        """
        X = self._ready(X)
        decision = self.model_.decision_function(X, n_threads=self.n_threads)
        if self.model_.calibration is not None and (len(self.classes_) == 2 or self.decision_function_shape == "ovr"):
            return self.model_.log_odds(decision)
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
        if self.decision_function_shape == "ovo" and self.model_.has_class_scores:
            raise InputError(
                f"decision_function_shape=ovo needs class pairs, and multiclass={self.multiclass} has none"
            )
        return X
