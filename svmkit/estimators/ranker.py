"""SVMRanker: a ranking SVM with scikit-learn's conventions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from svmkit.data.prepare.ranks import make_ranks
from svmkit.estimators.base import features_to_predict, options_by_name
from svmkit.estimators.estimator import SVMEstimator, describe
from svmkit.scoring.ranks import RankScores
from svmkit.tasks import Ranking


@describe
@options_by_name("C")
@dataclass(eq=False, repr=False)
class SVMRanker(SVMEstimator):
    """Ranking SVM with a certificate: the order of values within groups, and that of survival times.

    It minimises 1/2 |w|^2 + C sum of loss(1 - (h_i - h_j)) over all comparable pairs: i and j are in one group, y_j was
    observed, and y_i is larger, or equal and censored. Pairs are counted, never listed: a pass costs O(m log m) and
    memory O(m).

    Parameters
    ----------
    solver : str or Solver, default="auto"
        A solver for ranking: ocas, bmrm, svmperf; auto uses ocas.
    C : float or "cv", default=1.0
        The weight of the summed losses of all pairs, > 0. The number of pairs grows with the square of a group's size;
        the C of SVM-rank, which divides by it, is for all pairs together. "cv" chooses C by cross-validation over whole
        groups from values suggested by the data.
    kernel : str or Kernel, default=None
        "linear" (None), or a kernel that is known to be positive semidefinite: "rbf", "laplacian", or "poly" with
        coef0 >= 0. The rank of its matrix and `memory` bound the cost.
    loss : {"hinge", "squared_hinge"}, default=None
        The loss of a pair's margin h_i - h_j; None is the default of the solver, the squared hinge for auto.
    cv : int, splitter of scikit-learn, or sequence of (train, test), default=5
        The folds by which C="cv" is chosen, of whole groups if there are several.
    metric : str, default=None
        The metric by which values of C are compared: "concordance" (None), "auc", "kendall_tau", "ndcg", or "ndcg@5".

    Attributes
    ----------

    References
    ----------
    Joachims: Training linear SVMs in linear time. KDD 2006.
    Lee, Lin: Large-scale linear RankSVM. Neural Computation 26, 2014.
    Van Belle, Pelckmans, Suykens, Van Huffel: Support vector machines for survival analysis. CIMED 2007.

    Examples
    --------
    >>> from svmkit import SVMRanker
    >>> X, y, groups = [[0.0], [1.0], [2.0], [5.0], [6.0]], [1, 2, 3, 1, 2], ["a", "a", "a", "b", "b"]
    >>> ranker = SVMRanker(C=10.0).fit(X, y, groups)
    >>> ranker.predict([[0.5], [1.5]]).argsort().tolist(), ranker.score(X, y, groups)
    ([0, 1], 1.0)
    """

    task = Ranking()

    solver: Any = "auto"
    _: KW_ONLY
    solver_options: Mapping[str, Any] | None = None
    kernel: Any = None
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 0.0
    C: float | Literal["cv"] = 1.0
    loss: Any = None
    memory: str | int = "1GB"
    tol: float = 1e-3
    stop: Any = None
    max_iter: int | None = None
    time_limit: float | None = None
    impute: str | None = None
    scale: str | None = None
    n_threads: int | None = None
    random_state: Any = 0
    warm_start: bool = False
    cv: Any = 5
    metric: Any = None
    verbose: int = 0

    def fit(self, X, y, groups=None, validation=None) -> SVMRanker:
        """Train on samples with values. Ctrl-C keeps the best model so far, as for `SVMClassifier`.

        Parameters
        ----------
        X : array-like, sparse matrix or table of shape (n_samples, n_features), float32 or float64
            The training samples; tables as for `SVMClassifier`.
        y : array-like of shape (n_samples,), structured array, array-like of shape (n_samples, 2), or Ranks
            The values. Censored times are a structured array of a flag (bool) whether the event was observed and a
            time, as in scikit-survival, or these two as columns; the model then predicts larger numbers for longer
            times.
        groups : array-like of shape (n_samples,), default=None
            The group of each sample, such as its query; samples are compared within groups. None is one group.
        validation : tuple (X, y), default=None
            Held-out samples on which `history_` measures the concordance; y may be `svmkit.data.Ranks` with groups.

        Returns
        -------
        SVMRanker
            The fitted estimator.

        Raises
        ------
        InputError
            The data or parameters are invalid. It is a ValueError.
        """
        self._train(X, make_ranks(y, groups), validation=validation)
        return self

    def predict(self, X) -> np.ndarray:
        """Predict the order of samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples,), float64
            Numbers whose order is that of the values: larger is higher. They have no unit.
        """
        X = features_to_predict(self, X)
        return self.model_.predict(X, n_threads=self.n_threads)

    def decision_function(self, X) -> np.ndarray:
        """Compute the same as `predict`."""
        return self.predict(X)

    def score(self, X, y, groups=None) -> float:
        """Compute the concordance of predictions: the share of comparable pairs that are in order.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples.
        y, groups : array-like
            As for `fit`.

        Returns
        -------
        float
            From 0 to 1; ties count as half in order. For censored times it is Harrell's concordance index.
        """
        return RankScores.from_predictions(self.predict(X), make_ranks(y, groups)).concordance
