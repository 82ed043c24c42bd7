"""SVMRegressor: a scikit-learn regressor over any solver for regression."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from svmkit.data.prepare.labels import as_targets
from svmkit.errors import InputError
from svmkit.estimators.base import column_or_1d, features_to_predict, only_where, options_by_name
from svmkit.estimators.estimator import SVMEstimator, describe, require_stream
from svmkit.estimators.sklearn_bases import RegressorMixin
from svmkit.losses.base import Loss
from svmkit.tasks import Regression
from svmkit.training.stream.online import OnlineRegression


@describe
@options_by_name("C")
@dataclass(eq=False, repr=False)
class SVMRegressor(RegressorMixin, SVMEstimator):
    """Support vector regression with a certificate: epsilon-SVR.

    It minimises 1/2 |w|^2 + C sum_i loss(max(0, |y_i - h(x_i)| - epsilon)). The bias is free by default; the solvers of
    LIBLINEAR's problem, if requested by name, regularise it unless `solver_options={"bias": "free"}`.

    Parameters
    ----------
    epsilon : float or "cv", default=0.1
        Half the width of the tube within which an error costs nothing, >= 0, in units of y; "cv" as for C.
    loss : str or Loss, default=None
        The loss, one that the solver supports: "epsilon_insensitive", "squared_epsilon_insensitive" (or "hinge",
        "squared_hinge"), "absolute_error", "squared_error", "huber", "quantile", "expectile", ...; None is the default
        of the solver.
    tau : float or sequence of float, default=None
        The level of a quantile or expectile loss that is given by name, 0 < tau < 1; several, ascending, become the
        outputs of one model, which are trained on the same kernel rows.
    delta : float, default=None
        The option of a loss that is given by name and has it, such as Huber's.
    non_crossing : bool, default=False
        Whether `predict` sorts the outputs of several levels in each row, so that no quantile lies above a later one.
    penalty : {"l2", "l1", "elasticnet", "group"}, default=None
        With the linear kernel: |w|_1 ("l1"), l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2 ("elasticnet"), or sum_g sqrt(n_g)
        |w_g| over groups of n_g columns ("group") in place of 1/2 |w|^2. They leave many weights in `coef_` at exactly
        0, and need a loss without a kink; solver "auto" then uses cd, with the squared epsilon-insensitive loss unless
        a loss is given. None is the default of the solver.
    l1_ratio : float, default=0.5
        The share of |w|_1 with penalty="elasticnet", from 0 to 1.
    penalty_groups : str or sequence of int, default=None
        With penalty="group", the numbers of columns of adjacent groups, such as (3, 1, 1) or "3+2*1"; each further
        column is a group. None: each column of a table is a group, with all its categories.
    nu : float, default=None
        Trains nu-SVR instead, by smo, fcsmo or auto: an upper bound of the fraction of samples outside the tube, and a
        lower bound of the fraction of support vectors, 0 < nu <= 1. Training determines epsilon; the parameter epsilon
        has no effect.
    conformal : float, default=None
        The share of new samples whose target sets may miss, in (0, 1): `predict_sets` then exists, and returns
        intervals that contain the target of at least 1 - conformal of them. This holds a random quarter of the samples
        out of training.
    conformal_folds : int, default=None
        The folds of CV+: nothing is held out, and this number of further models make the sets, each trained without a
        fold. The guaranteed share is 1 - 2 conformal (`svmkit.fit`).

    Attributes
    ----------

    References
    ----------
    Chang, Lin: LIBSVM, a library for support vector machines. ACM TIST 2, 2011, section 2.4.
    Ho, Lin: Large-scale linear support vector regression. Journal of Machine Learning Research 13, 2012.
    Takeuchi, Le, Sears, Smola: Nonparametric quantile estimation. Journal of Machine Learning Research 7, 2006.
    Chernozhukov, Fernandez-Val, Galichon: Quantile and probability curves without crossing. Econometrica 78, 2010.

    Examples
    --------
    >>> from svmkit import SVMRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0]
    >>> SVMRegressor(kernel="linear", C=100.0, epsilon=0.01).fit(X, y).predict([[1.5]]).round(2).tolist()
    [1.5]
    """

    task = Regression()

    solver: Any = "auto"
    _: KW_ONLY
    solver_options: Mapping[str, Any] | None = None
    C: float | Literal["cv"] = 1.0
    epsilon: float | Literal["cv"] = 0.1
    loss: Any = None
    tau: Any = None
    delta: float | None = None
    non_crossing: bool = False
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
    impute: str | None = None
    scale: str | None = None
    relevance: str | None = None
    memory: Any = "1GB"
    n_threads: int | None = None
    device: str | None = None
    random_state: Any = 0
    warm_start: bool = False
    conformal: float | None = None
    conformal_folds: int | None = None
    cv: Any = 5
    metric: Any = None
    verbose: int = 0

    def fit(self, X, y, sample_weight=None, validation=None, groups=None) -> SVMRegressor:
        """Train on samples with targets. Ctrl-C keeps the best model so far, as for `SVMClassifier`.

        Parameters
        ----------
        X : array-like, sparse matrix or table of shape (n_samples, n_features), float32 or float64
            The training samples. For a precomputed kernel, the kernel values (n_samples, n_samples). Columns of a table
            (pandas, polars, pyarrow) become features as in `svmkit train`: each text a 0/1 feature, dates days.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The targets, finite numbers; with several columns one model learns all, on the same kernel rows.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight of each sample, >= 0.
        validation : tuple (X, y), default=None
            Held-out samples on which `history_` measures R2 as the model grows.
        groups : array-like of shape (n_samples,), default=None
            Rows of the same group are in the same fold of the search for parameters that are "cv".

        Returns
        -------
        SVMRegressor
            The fitted estimator.

        Raises
        ------
        InputError
            The data or parameters are invalid. It is a ValueError.
        """
        self._train(X, column_or_1d(y), sample_weight=sample_weight, validation=validation, groups=groups)
        return self

    @only_where(require_stream)
    def partial_fit(self, X, y, sample_weight=None) -> SVMRegressor:
        """Learn from one more block of samples in one pass, with a solver that learns from streams (sgd, folos, ...).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples, used for learning in their order.
        y : array-like of shape (n_samples,)
            The targets.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight of each sample, >= 0.

        Returns
        -------
        SVMRegressor
            The estimator, fitted to all samples so far; `gap_` is None.

        Raises
        ------
        InputError
            The block has another width or targets that are not finite; the model is unchanged.

        Notes
        -----
        The parameters of the first call apply to all calls. Its block fixes gamma and scaling. Of the limits only
        `max_support` applies. After `fit`, or in a copy or pickle, learning continues from the model.
        """
        if self.nu is not None:
            raise InputError("no partial_fit with nu: a stream has no fractions to bound; leave nu out")
        self._learn(partial(OnlineRegression, epsilon=self._settings().epsilon), X, column_or_1d(y), sample_weight)
        return self

    def predict(self, X) -> np.ndarray:
        """Predict the targets of samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples,), with several outputs (n_samples, n_outputs), float64
            The targets, or the levels.
        """
        X = features_to_predict(self, X)
        return self.model_.predict(X, n_threads=self.n_threads, device=self.device)

    def score(self, X, y, sample_weight=None) -> float:
        """Return R2, or for several levels minus the mean of their losses: for quantiles the pinball loss.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets; with several columns R2 is the mean over them.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight of each sample.

        Returns
        -------
        float
            The larger the better.
        """
        predicted = self.predict(X)
        if not (levels := self.model_.levels):
            from sklearn.metrics import r2_score

            return float(r2_score(y, predicted, sample_weight=sample_weight))
        targets = as_targets(y, n_samples=len(predicted), varied=False)
        losses = [loss.value(targets, h) for loss, h in zip(levels, predicted.T, strict=True)]
        return -float(np.average(np.mean(losses, axis=0), weights=sample_weight))

    @property
    def _n_levels(self) -> int:
        """The number of levels of the loss, each of which is an output."""
        return max(np.size(self.tau), len(self.loss.levels) if isinstance(self.loss, Loss) else 1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._n_levels == 1  # levels or columns of y are outputs, not both
        return tags
