"""SVMOneClass: the one-class SVM with hinge or squared slacks, over any solver of its problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from svmkit.estimators.base import features_to_predict, options_by_name
from svmkit.estimators.estimator import SVMEstimator, describe
from svmkit.estimators.sklearn_bases import OutlierMixin
from svmkit.model.model import SVMModel
from svmkit.scoring.evaluations.doubt import AROUND_ORIGIN
from svmkit.tasks import OneClass
from svmkit.training.result import Fit
from svmkit.training.settings import Method


@describe
@options_by_name("nu")
@dataclass(eq=False, repr=False)
class SVMOneClass(OutlierMixin, SVMEstimator):
    """Outlier and novelty detection: the one-class SVM with hinge or squared slacks, with a certificate.

    Parameters
    ----------
    solver : str or Solver, default="auto"
        A solver of the problem: OneClassQP for the hinge (smo, fcsmo, ...), SimplexQP for squared slacks (fcfw, swap,
        ...). "auto" chooses one by the number of samples (docs/choosing.md).
    solver_options : dict of str to object, default=None
        Options of a solver that is given by name, such as {"growth": 0.5}; `svmkit plugins` lists them.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        The loss of the slacks. "hinge" is the problem of LIBSVM and scikit-learn's OneClassSVM.
    nu : float, default=0.01
        How soft the boundary is, > 0, and an upper bound of the fraction of training outliers (with squared slacks, up
        to one half). With the hinge it is at most 1, and a lower bound of the fraction of support vectors.
    contamination : "auto" or float, default="auto"
        A number in (0, 0.5] sets `offset_` such that the training samples with the lowest scores are outliers, as many
        as weigh at most this share. "auto" is rho with the hinge, and nu, or 0.5 above it, with squared slacks.
    kernel : str, Kernel or callable, default="rbf"
        The kernel. A callable f(X, Z) returns the kernel values (rows of X, rows of Z).
    conformal : float, default=None
        The share of normal new samples that may be called outliers, in (0, 1): `predict_sets` then exists, and says
        which are. This holds a random quarter of the samples out of training.
    conformal_folds : int, default=None
        The folds of CV+: nothing is held out, and this number of further models make the sets, each trained without a
        fold. The guaranteed share is 1 - 2 conformal (`svmkit.fit`).

    Attributes
    ----------
    model_ : SVMModel
        A model of the classes -1 and +1, which can be saved; `svmkit predict` takes it.
    offset_ : float
        `decision_function` is `score_samples` minus this offset.
    rho_ : float
        The certified value of rho.
    support_ : ndarray of shape (n_support,), int
        The rows of X with alpha > 0.
    support_vectors_, n_support_, dual_coef_ : ndarray
        The support vectors, for a precomputed kernel their row numbers; their number among outliers and all others, and
        their weights alpha (1, n_support).
    certificate_ : Certificate
        The certificate.
    gap_ : float
        The certified relative duality gap.
    history_ : History
        The history of the solve.

    Notes
    -----
    With the hinge, the problem is min 1/2 |w|^2 - nu sum(w) rho + sum_i w_i xi_i subject to w'phi(x_i) >= rho - xi_i,
    xi_i >= 0, for sample weights w_i, in the scale of OneClassSVM: 0 <= alpha_i <= w_i, sum alpha = nu sum(w), and
    `score_samples`, `offset_` and `decision_function` are the same numbers as there.

    With squared slacks, the problem is min 1/2 |w|^2 - rho + sum_i C_i xi_i^2 subject to w'phi(x_i) >= rho - xi_i, and
    C_i = w_i / (nu sum w) for sample weights w, and 1 / (nu m) without: the objective of Schoelkopf et al. with its
    slacks squared. The multipliers alpha sum to 1 (from rho) and equal 2 C_i xi_i, so that the dual is
    min alpha'A alpha over the unit simplex with A = K + diag(1 / (2 C_i)) (Tsang, Kwok, Cheung), and
    w = sum_i alpha_i phi(x_i), rho = alpha'A alpha. The certified gap is the relative gap of this dual and of the
    primal value at rho = min (A alpha).

    With squared slacks, the mean shortfall of the training scores, mean max(0, rho - score), is nu / 2 in units of the
    kernel. Every support vector scores below rho: about 40 % of the samples for nu = 0.01 and an rbf kernel, all of
    them for nu = 0.5. So rho is not a suitable offset for outliers in that case, and the share nu of the samples is cut
    off.

    References
    ----------
    Schoelkopf, Platt, Shawe-Taylor, Smola, Williamson: Estimating the support of a high-dimensional distribution.
    Neural Computation 13, 2001.
    Tsang, Kwok, Cheung: Core vector machines. Journal of Machine Learning Research 6, 2005.

    Examples
    --------
    >>> from svmkit import SVMOneClass
    >>> machine = SVMOneClass(loss="hinge", nu=0.3, gamma=0.1).fit([[0.0], [1.0], [2.0], [3.0], [4.0]])
    >>> machine.predict([[2.0], [9.0]]).tolist()
    [1, -1]
    """

    task = OneClass()
    remedy = "raise tol or nu, or take another solver"
    exhausted = f"{AROUND_ORIGIN}: take the RBF kernel"

    solver: Any = "auto"
    _: KW_ONLY
    solver_options: Mapping[str, Any] | None = None
    loss: str = "squared_hinge"
    nu: float = 0.01
    contamination: Any = "auto"
    kernel: Any = "rbf"
    gamma: Any = "scale"
    degree: int = 3
    coef0: float = 0.0
    sampler: Any = None
    tol: float = 1e-3
    stop: Any = None
    max_iter: int | None = None
    time_limit: float | None = None
    max_support: int | None = None
    impute: str | None = None
    scale: str | None = None
    memory: Any = "1GB"
    n_threads: int | None = None
    device: str | None = None
    random_state: Any = 0
    conformal: float | None = None
    conformal_folds: int | None = None
    verbose: int = 0

    def fit(self, X, y=None, sample_weight=None) -> SVMOneClass:
        """Train on samples without labels. Ctrl-C keeps the best model so far.

        Parameters
        ----------
        X : array-like, sparse matrix or table of shape (n_samples, n_features), float32 or float64
            The training samples. For a precomputed kernel, the kernel values (n_samples, n_samples). Columns of a table
            (pandas, polars, pyarrow) become features as in `svmkit train`: each text a 0/1 feature, dates days.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight of each sample, >= 0. A sample of weight 0 takes no part.

        Returns
        -------
        SVMOneClass
            The fitted estimator.

        Raises
        ------
        InputError
            The data or parameters are invalid. It is a ValueError.
        """
        self._train(X, None, sample_weight=sample_weight)
        return self

    def _model_attributes(self, model: SVMModel) -> dict[str, Any]:
        return super()._model_attributes(model) | {"offset_": -float(model.intercept[0])}

    def _take(self, trained: Fit, method: Method) -> None:
        super()._take(trained, method)
        (solution,) = trained.solutions
        self.certificate_ = solution.certificate
        self.rho_ = self.task.rho(self.loss, solution.certificate)
        vars(self).update(self._model_attributes(trained.model))

    @cached_property
    def history_(self) -> Any:
        """The history."""
        (history,) = super().history_
        return history

    def score_samples(self, X) -> np.ndarray:
        """Compute sum_i alpha_i k(x_i, x), which is high for samples similar to the training data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples,), float64
            The scores.
        """
        X = features_to_predict(self, X)
        # not the decision plus the offset: rounding would tie the scores of all distant samples
        return replace(self.model_, intercept=np.zeros(1)).decision_function(
            X, n_threads=self.n_threads, device=self.device
        )

    def decision_function(self, X) -> np.ndarray:
        """Compute `score_samples` minus `offset_`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples,), float64
            The decisions, negative for outliers.
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X) -> np.ndarray:
        """Predict which samples are outliers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples,), int64
            -1 for outliers and +1 for inliers, whose decisions are >= 0.
        """
        return np.where(self.decision_function(X) < 0.0, -1, 1)
