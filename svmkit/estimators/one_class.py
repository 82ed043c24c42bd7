"""One-class support vector machine with squared slacks, over any solver of SimplexQP."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin

from svmkit.data.features import as_features, require_finite
from svmkit.errors import InputError
from svmkit.estimators.base import features_to_predict, seed_of, warn_unless_converged
from svmkit.kernels.functions import Precomputed
from svmkit.kernels.gram import Gram
from svmkit.model.model import SVMModel
from svmkit.problems.simplex import SimplexQP
from svmkit.solver import by_name
from svmkit.solver.loop import solve
from svmkit.solver.stopping import stop_rules
from svmkit.training.data import subset
from svmkit.training.weights import sample_weights


class SVMOneClass(OutlierMixin, BaseEstimator):
    """Outlier and novelty detection: the L2 one-class SVM, with a certificate.

    min 1/2 |w|^2 - rho + sum_i C_i xi_i^2 subject to w'phi(x_i) >= rho - xi_i, with C_i = w_i / (nu sum w) for sample
    weights w, 1 / (nu m) without: LIBSVM's objective (Schoelkopf et al. 2001) with its slacks squared. The multipliers
    alpha sum to 1 (from rho) and are 2 C_i xi_i, so its dual is min alpha'A alpha over the unit simplex with
    A = K + diag(1 / (2 C_i)) (L2-SVMs as enclosing balls: Tsang, Kwok, Cheung 2005), and
    w = sum_i alpha_i phi(x_i), rho = alpha'A alpha. The certified gap is the relative gap of that dual, and of the
    primal at rho = min (A alpha).

    `nu` is softness and no bound on the fraction of outliers: with squared slacks the mean shortfall of the training
    scores, mean max(0, rho - score), is nu / 2, in units of the kernel. Every support vector scores below rho, so with
    contamination "auto" they are the training outliers: about 40 % of them for nu = 0.01 and an rbf kernel, all of
    them for 0.5. `contamination` sets their fraction.

    Parameters
    ----------
    solver : name or Solver of the SimplexQP problem, default "swap2o"
    nu : number > 0, default 0.01
    contamination : "auto" (default): offset_ is rho; a number in (0, 0.5]: the score that parts the lowest training
        scores from the rest, as many as weigh at most this share
    kernel : name, Kernel or callable f(X, Z) -> (rows of X, rows of Z), default "rbf"
    gamma : "scale" (default), "auto", "msd" or a number; degree, coef0 : of the kernels that have them
    sampler : name such as "full" or "uniform:59", or Sampler; default the solver's own, mostly "full"
    tol : relative gap to reach, default 1e-3
    stop : rule instead of tol: text such as "abs:1e-6", or criteria joined with |
    max_iter, time_limit (seconds), max_support : budgets, default none
    memory : budget of the row cache, default "1GB"; n_threads : default all
    random_state : default 0

    Attributes
    ----------
    model_ : SVMModel of classes -1 and +1; `model_.save(path)`, then `SVMModel.load` or `svmkit predict`
    offset_ : decision_function is score_samples - offset_; rho_ : rho
    support_ : rows of X with alpha > 0; support_vectors_ (for a precomputed kernel their row numbers),
        dual_coef_ (1, n_support)
    n_features_in_, status_, n_iter_, certificate_, gap_, history_
    """

    def __init__(
        self,
        solver: Any = "swap2o",
        *,
        nu: float = 0.01,
        contamination: Any = "auto",
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        sampler: Any = None,
        tol: float = 1e-3,
        stop: Any = None,
        max_iter: int | None = None,
        time_limit: float | None = None,
        max_support: int | None = None,
        memory: Any = "1GB",
        n_threads: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.solver = solver
        self.nu = nu
        self.contamination = contamination
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.sampler = sampler
        self.tol = tol
        self.stop = stop
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.max_support = max_support
        self.memory = memory
        self.n_threads = n_threads
        self.random_state = random_state

    def fit(self, X, y=None, sample_weight=None) -> SVMOneClass:
        """Learn from X (n_samples, n_features), dense or CSR, float32 or float64; y is ignored.

        sample_weight : (n_samples,), >= 0, default ones; a sample of weight 0 takes no part. Raises InputError (a
        ValueError) for data or options that cannot be used. Ctrl-C keeps the best model so far.
        """
        from sklearn.utils.validation import _check_feature_names

        _check_feature_names(self, X, reset=True)
        X = as_features(X)
        require_finite(X)
        self._require_options()
        weights = sample_weights(sample_weight, X.shape[0])
        used = np.flatnonzero(weights)
        if not used.size:
            raise InputError("sample weights are zero for all samples: training needs at least one")
        weights = weights[used]
        solver = by_name.solver(self.solver)
        params = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        kernel = by_name.kernel(self.kernel, params).resolve(X)
        ridge = 0.5 * self.nu * weights.sum() / weights
        solution = solve(
            SimplexQP(Gram(kernel, subset(X, used, kernel), memory=self.memory), ridge=ridge),
            solver,
            sampler=by_name.sampler(self.sampler),
            stop=stop_rules(
                self.stop,
                self.tol,
                max_iter=self.max_iter,
                time_limit=self.time_limit,
                max_support=self.max_support,
            ),
            seed=seed_of(self.random_state),
            n_threads=self.n_threads,
        )
        certificate = solution.certificate
        active = np.flatnonzero(solution.point)
        self.support_ = used[active]
        self.rho_ = certificate.primal
        self.offset_ = self.rho_
        if self.contamination != "auto":
            shortfall = solution.point * ridge  # xi: training scores are A alpha less the part of the ridge
            self.offset_ = _cut(certificate.gradient - shortfall, weights, self.contamination)
        self.model_ = SVMModel(
            kernel=kernel,
            classes=np.array([-1, 1]),
            vectors=self.support_ if isinstance(kernel, Precomputed) else X[self.support_],
            n_support=np.array([0, len(active)]),
            coef=solution.point[None, active],
            intercept=np.array([-self.offset_]),
            n_features=X.shape[1],
            about={"solver": solver.name, "nu": float(self.nu), "n_samples": int(X.shape[0])},
        )
        self.n_features_in_ = X.shape[1]
        self.support_vectors_ = self.model_.vectors
        self.dual_coef_ = self.model_.coef
        self.certificate_, self.gap_ = certificate, certificate.gap
        self.status_, self.n_iter_, self.history_ = solution.status, solution.n_iter, solution.history
        if self.max_iter is None:
            remedy = "raise tol or nu, or take another solver"
            warn_unless_converged(solver.name, self.status_, self.gap_, remedy)
        return self

    def _require_options(self) -> None:
        nu, share = self.nu, self.contamination
        if not (isinstance(nu, int | float | np.number) and math.isfinite(nu) and nu > 0):
            raise InputError(f"nu must be a finite number > 0, not {nu!r}")
        if isinstance(share, str) and share == "auto":
            return
        if not (isinstance(share, int | float | np.number) and 0.0 < share <= 0.5):
            raise InputError(f"contamination must be auto or a number in (0, 0.5], not {share!r}")

    def score_samples(self, X) -> np.ndarray:
        """sum_i alpha_i k(x_i, x), (n_samples,): high for what is like the training data."""
        X = features_to_predict(self, X)
        # not the decision plus the offset: rounding would tie the scores of all that is far away
        return replace(self.model_, intercept=np.zeros(1)).decision_function(X, n_threads=self.n_threads)

    def decision_function(self, X) -> np.ndarray:
        """score_samples - offset_, (n_samples,): negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X) -> np.ndarray:
        """+1 for inliers, -1 for outliers, (n_samples,)."""
        return np.where(self.decision_function(X) < 0.0, -1, 1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed" or isinstance(self.kernel, Precomputed)
        return tags


def _cut(scores: np.ndarray, weights: np.ndarray, share: float) -> float:
    """The offset below which the lowest scores lie, as many as weigh at most `share` of all.

    It lies midway between two scores that differ by more than rounding, so that no training sample moves across it,
    and depends on weights as on repetitions.
    """
    size = float(np.abs(scores).max()) or 1.0
    values, place = np.unique(np.round(scores / size, 12), return_inverse=True)
    weight = np.cumsum(np.bincount(place, weights))
    k = int(np.searchsorted(weight, share * weight[-1] * (1.0 + 1e-9), side="right"))
    below = values[k - 1] if k else values[0] - 1e-9
    return float(0.5 * (below + values[k])) * size
