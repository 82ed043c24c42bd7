"""SVMClassifier: a scikit-learn classifier over any solver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from svmkit.data.prepare.device_arrays import to_host
from svmkit.errors import InputError
from svmkit.estimators.base import Lacking, column_or_1d, features_to_predict, has_columns, only_where, options_by_name
from svmkit.estimators.estimator import SVMEstimator, describe, require_stream
from svmkit.estimators.sklearn_bases import ClassifierMixin
from svmkit.losses.by_name import is_likelihood
from svmkit.model.model import SVMModel
from svmkit.problems.schemes import JOINT, SCHEMES
from svmkit.tasks import Classification, MultiLabel
from svmkit.training.result import Fit
from svmkit.training.settings import Method
from svmkit.training.stream.online import Online
from svmkit.training.weights import sample_weights, weights_of_classes


def _require_calibration(estimator: Any, name: str) -> None:
    """Raise an AttributeError that explains how to get probabilities unless the estimator has them."""
    options = estimator.solver_options if isinstance(estimator.solver_options, Mapping) else {}
    scheme = SCHEMES.get(str(getattr(estimator, "multiclass", None)), SCHEMES["ovo"])
    losses = estimator.loss, options.get("loss"), getattr(estimator.solver, "loss", None), scheme.loss
    if estimator.calibration is None and not any(is_likelihood(given) for given in losses):
        raise Lacking(
            f"no {name} without a calibration: {type(estimator).__name__}(calibration='sigmoid') has one, "
            "CalibratedClassifierCV(SVMClassifier(), ensemble=False) fits another, and loss='logistic' needs none"
        )


@describe
@options_by_name("C")
@dataclass(eq=False, repr=False)
class SVMClassifier(ClassifierMixin, SVMEstimator):
    """Support vector classifier with a certificate, for two classes or more.

    Parameters
    ----------
    loss : str or Loss, default=None
        The loss, one that the solver supports: "hinge", "squared_hinge", "smoothed_hinge", "logistic", ...; None is the
        default of the solver. "logistic" gives logistic regression: decisions are log-odds, and `predict_proba` needs
        no calibration.
    delta : float, default=None
        The option delta of a loss that is given by name and has one, > 0.
    penalty : {"l2", "l1", "elasticnet", "group"}, default=None
        With the linear kernel: |w|_1 ("l1"), l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2 ("elasticnet"), or sum_g sqrt(n_g)
        |w_g| over groups of n_g columns ("group") in place of 1/2 |w|^2. They leave many weights in `coef_` at exactly
        0, and need a loss without a kink; solver "auto" then uses cd, with the squared hinge unless a loss is given.
        None is the default of the solver.
    l1_ratio : float, default=0.5
        The share of |w|_1 with penalty="elasticnet", from 0 to 1.
    penalty_groups : str or sequence of int, default=None
        With penalty="group", the numbers of columns of adjacent groups, such as (3, 1, 1) or "3+2*1"; each further
        column is a group. None: each column of a table is a group, with all its categories.
    class_weight : {"balanced"} or dict of label to float, default=None
        The weight of each class, > 0.
    nu : float, default=None
        Trains nu-SVC instead: an upper bound of the fraction of samples inside the margin and a lower bound of the
        fraction of support vectors, with the hinge loss, by smo, fcsmo or auto. C has no effect. Values up to 2 min(n,
        m) / (n + m) are feasible for classes of n and m samples, counted with their weights.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        The columns of `decision_function` for more than two classes: one for each class, or, with multiclass="ovo", for
        each class pair.
    multiclass : {"ovo", "ovr", "crammer_singer", "multinomial"}, default="ovo"
        The problems of more than two classes: one for each class pair; one for each class against all others, where the
        largest decision gives the class; or, with the linear kernel, one problem of all classes: that of Crammer and
        Singer, by dcd or auto (LinearSVC's multi_class), or multinomial logistic regression, by newton or auto
        (LogisticRegression), whose decisions are log-probabilities.
    calibration : {"sigmoid", "isotonic"}, default=None
        How decisions become probabilities: `predict_proba` exists with a calibration, or with the logistic loss, and
        `predict` then returns the class of the highest probability. The calibration is fitted to the decisions on each
        fold of `cv` by a model of the other folds, so that training takes two to five times as long. Class weights
        change the models, but not the meaning of a probability: in the calibration samples count with their sample
        weights alone.
    thresholds : bool, default=False
        For two classes: keep the cost of thresholds, estimated out of fold on `cv`, for `model_.predict_for_cost`, as a
        calibration does.
    conformal : float, default=None
        The share of new samples whose label sets may miss, in (0, 1): `predict_sets` then exists, and returns sets of
        classes that contain the label of at least 1 - conformal of them. This holds a random quarter of the samples out
        of training.
    conformal_folds : int, default=None
        The folds of CV+: nothing is held out, and this number of further models make the sets, each trained without a
        fold. The guaranteed share is 1 - 2 conformal (`svmkit.fit`).
    conformal_by : {"class"}, default=None
        Whether the share holds for the samples of each class; a quarter of each class is then held out.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in sorted order.
    class_weight_ : ndarray of shape (n_classes,)
        The factor of C by class, from `class_weight`; missing if a row may have several labels.

    Examples
    --------
    >>> from svmkit import SVMClassifier
    >>> X, y = [[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]], ["left", "left", "right", "right"]
    >>> machine = SVMClassifier("fcsmo", C=10.0).fit(X, y)
    >>> machine.predict([[0.2, 0.5], [1.8, 0.5]]).tolist(), machine.gap_ < 1e-3
    (['left', 'right'], True)
    """

    task = Classification()

    solver: Any = "auto"
    _: KW_ONLY
    solver_options: Mapping[str, Any] | None = None
    C: float | Literal["cv"] = 1.0
    loss: Any = None
    delta: float | None = None
    penalty: str | None = None
    l1_ratio: float = 0.5
    penalty_groups: Any = None
    nu: float | None = None
    kernel: Any = None
    gamma: Any = "scale"
    degree: int = 3
    coef0: float = 0.0
    sampler: Any = None
    tol: float = 1e-3
    stop: Any = None
    max_iter: int | None = None
    max_epochs: float | None = None
    time_limit: float | None = None
    max_support: int | None = None
    class_weight: Any = None
    impute: str | None = None
    scale: str | None = None
    relevance: str | None = None
    memory: Any = "1GB"
    n_threads: int | None = None
    device: str | None = None
    random_state: Any = 0
    warm_start: bool = False
    decision_function_shape: str = "ovr"
    multiclass: str = "ovo"
    calibration: str | None = None
    thresholds: bool = False
    conformal: float | None = None
    conformal_folds: int | None = None
    conformal_by: str | None = None
    cv: Any = 5
    metric: Any = None
    verbose: int = 0

    def fit(self, X, y, sample_weight=None, validation=None, groups=None) -> SVMClassifier:
        """Train on labelled samples.

        Ctrl-C keeps the best model so far, with `status_` "interrupted" and a ConvergenceWarning. In a search over many
        fits it ends one of them; a second Ctrl-C, in the same fit or within ten seconds, raises KeyboardInterrupt.

        Parameters
        ----------
        X : array-like, sparse matrix or table of shape (n_samples, n_features), float32 or float64
            The training samples. For a precomputed kernel, the kernel values (n_samples, n_samples). Columns of a table
            (pandas, polars, pyarrow) become features as in `svmkit train`: each text a 0/1 feature, dates days.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            The labels, numbers or text; or a 0/1 matrix with a column for each of several labels, which a row may or
            may not have: one model learns all of them, on the same kernel rows, and predicts such a matrix.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight of each sample, >= 0.
        validation : tuple (X, y), default=None
            Held-out samples on which `history_` measures accuracy as the model grows.
        groups : array-like of shape (n_samples,), default=None
            Rows of the same group are in the same fold of the calibration, of the cost of thresholds, of learnt
            relevance, and of the search for parameters that are "cv".

        Returns
        -------
        SVMClassifier
            The fitted estimator.

        Raises
        ------
        InputError
            The data or parameters are invalid. It is a ValueError.
        """
        y = column_or_1d(y)
        task = MultiLabel() if has_columns(y) else None
        self._train(X, y, task=task, sample_weight=sample_weight, validation=validation, groups=groups)
        if task is None and self.class_weight is None:
            self.class_weight_ = np.ones(len(self.classes_))
        elif task is None:
            codes = np.searchsorted(self.classes_, np.asarray(to_host(y, "y")))
            weights = sample_weights(to_host(sample_weight, "sample_weight"), len(codes))
            self.class_weight_ = weights_of_classes(codes, self.classes_, self.class_weight, weights)
        return self

    @only_where(require_stream)
    def partial_fit(self, X, y, classes=None, sample_weight=None) -> SVMClassifier:
        """Learn from one more block of samples in one pass, with a solver that learns from streams (sfw, sgd, ...).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples, used for learning in their order.
        y : array-like of shape (n_samples,)
            The labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that may occur, needed at the first call.
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
            The block has another width or labels that are not announced; the model is unchanged.

        Notes
        -----
        The parameters of the first call apply to all calls. Its block fixes gamma and scaling. Of the limits only
        `max_support` applies, and `class_weight` must not be "balanced". After `fit`, or in a copy or pickle, learning
        continues from the support vectors of the model, which come first in `support_`.
        """
        if self.calibration is not None:
            raise InputError("a stream cannot be divided into the folds of a calibration: leave calibration out")
        if self.thresholds:
            raise InputError("a stream cannot be divided into folds that estimate thresholds: leave thresholds out")
        fitted = getattr(self, "model_", None)
        if fitted is None and classes is None:
            raise InputError("classes must be passed on the first call to partial_fit: all labels that may come")
        if fitted is not None and classes is not None and not np.array_equal(np.unique(classes), fitted.classes):
            raise InputError(f"classes differ from those of the first call: {', '.join(map(str, fitted.classes))}")
        if self.multiclass != "ovo":
            raise InputError(f"no partial_fit with multiclass={self.multiclass}: a stream trains class pairs (ovo)")
        if self.nu is not None:
            raise InputError("no partial_fit with nu: a stream has no fractions to bound; leave nu out")
        stream = partial(Online, classes if fitted is None else fitted.classes, class_weight=self.class_weight)
        self._learn(stream, X, column_or_1d(y), sample_weight)
        return self

    def _model_attributes(self, model: SVMModel) -> dict[str, Any]:
        classes = np.arange(len(model.outputs)) if model.outputs else model.classes
        return super()._model_attributes(model) | {"classes_": classes}

    def _take(self, trained: Fit, method: Method) -> None:
        super()._take(trained, method)
        vars(self).update(self._model_attributes(trained.model))

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
            decision of each class. With a calibration the log-odds of `classes_[1]`, or those of the probabilities of
            the classes ("ovr"), so that they agree with `predict`; `model_.decision_function` has the uncalibrated
            decisions.
        """
        X = self._ready(X)
        decision = self.model_.decision_function(X, n_threads=self.n_threads, device=self.device)
        if self.model_.calibration is not None and (len(self.classes_) == 2 or self.decision_function_shape == "ovr"):
            return self.model_.log_odds(decision)
        if len(self.classes_) == 2 or self.decision_function_shape == "ovo" or self.model_.outputs:
            return decision
        return self.model_.scores(decision)

    def predict(self, X) -> np.ndarray:
        """Predict the labels of samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples,), of the type of `classes_`; with several labels (n_samples, n_outputs), int64
            The labels, or whether each sample has each label: 0 or 1.
        """
        X = self._ready(X)
        return self.model_.predict(X, n_threads=self.n_threads, device=self.device)

    def _ready(self, X):
        X = features_to_predict(self, X)
        if self.decision_function_shape not in ("ovr", "ovo"):
            raise InputError(f"decision_function_shape must be ovr or ovo, not {self.decision_function_shape!r}")
        if self.decision_function_shape == "ovo" and self.model_.has_class_scores:
            raise InputError(
                f"decision_function_shape=ovo needs class pairs, and multiclass={self.multiclass} has none"
            )
        return X

    @only_where(_require_calibration)
    def predict_proba(self, X) -> np.ndarray:
        """Predict the probabilities of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            A column for each of `classes_`; rows sum to 1, and their largest entries are the labels that `predict`
            returns.

        Raises
        ------
        InputError
            Training was interrupted before there was a calibration.
        """
        X = features_to_predict(self, X)
        return self.model_.predict_proba(X, n_threads=self.n_threads, device=self.device)

    @only_where(_require_calibration)
    def predict_log_proba(self, X) -> np.ndarray:
        """Predict the logarithms of `predict_proba` (n_samples, n_classes)."""
        X = features_to_predict(self, X)
        return self.model_.predict_log_proba(X, n_threads=self.n_threads, device=self.device)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        others = self.multiclass in JOINT, *(getattr(self, name, None) is not None for name in MultiLabel.refuses)
        tags.classifier_tags.multi_label = not any(others)
        return tags
