"""The judge of rankings: by the list of all comparable pairs; as in `judge`."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmkit.conformance.judging.claims import ROUNDING, TINY, Verdict
from svmkit.conformance.judging.definitions import Exact, Values
from svmkit.conformance.judging.judge import DECISION, column_weights
from svmkit.solver.solution import Status
from svmkit.training.result import Fit

STEPS = 3000  # of the judge's own weights of pairs


class _Pairs:
    """All comparable pairs of a ranking, and the decisions of a model on their rows.

    Attributes
    ----------
    above, below : ndarray of int, shape (n_pairs,)
        The rows of each pair; the one in `above` should have the larger decision.
    differences : ndarray of float64, shape (n_pairs, k)
        Each pair's difference in coordinates whose inner products are the kernel values.
    h, size : ndarray of Exact, shape (n,)
        The decisions of the fitted model, and the sums of the magnitudes of their terms.
    square : Exact
        The squared norm of its w.
    """

    def __init__(self, fit: Fit, X: Any, y: np.ndarray, groups: np.ndarray, seen: np.ndarray) -> None:
        later = (y[:, None] > y) | ((y[:, None] == y) & ~seen[:, None])  # a censored time outlived an equal event
        self.above, self.below = np.argwhere((groups[:, None] == groups) & later & seen).T
        kernel, n = fit.model.kernel, len(y)
        values = Values(kernel.name, kernel.params, X)
        self._X: np.ndarray = values.X
        self._K: np.ndarray | None = None  # for kernels other than the linear one
        if kernel.name == "linear":
            rough, w = values.X.astype(np.float64), column_weights(fit.model, 0)[values.columns]
            self.h, self.square, self.size = values.X @ w, w @ w, np.abs(values.X) @ np.abs(w)
        else:  # in coordinates that span the kernel matrix
            w = np.zeros(n, Exact)
            w[fit.support] = fit.model.coef[0]
            K = self._K = values(np.arange(n), np.arange(n))
            spectrum, vectors = np.linalg.eigh(K.astype(np.float64))
            rough = vectors * np.sqrt(np.maximum(spectrum, 0.0))
            self.h, self.size = K @ w, np.abs(K) @ np.abs(w)
            self.square = w @ self.h
        self.differences = rough[self.above] - rough[self.below]

    def decide(self, a: np.ndarray) -> tuple[np.ndarray, Any]:
        """Return the decisions of the model with the weights a (n_pairs,) of pairs, and the squared norm of its w."""
        if self._K is None:
            w = (self._X[self.above] - self._X[self.below]).T @ a
            return self._X @ w, w @ w
        n, rough = len(self.h), a.astype(np.float64)
        coef = np.bincount(self.above, rough, n) - np.bincount(self.below, rough, n)
        h = self._K @ coef.astype(Exact)
        return h, coef @ h

    def primal(self, square: Any, h: np.ndarray, C: float, squared: bool) -> Any:
        """Return P of a model, in the judge's precision.

        Parameters
        ----------
        square, h : Exact, ndarray of Exact, shape (n,)
            The squared norm of the model's w, and its decisions.
        C, squared : float, bool
            The cost of a unit of loss, and whether the losses are squared.
        """
        slack = np.maximum(1 - (h[self.above] - h[self.below]), 0)
        return square / 2 + Exact(C) * (slack @ slack if squared else slack.sum())

    def weigh(self, ridge: float, most: float) -> np.ndarray:
        """Return weights of the pairs, near the best: max sum a - |Z'a|^2 / 2 - ridge |a|^2 / 2, 0 <= a <= most.

        By accelerated projected gradients (Beck, Teboulle 2009).
        """
        Z = self.differences
        a = ahead = np.zeros(len(Z))
        step, momentum = 1.0 / (np.linalg.norm(Z, 2) ** 2 + ridge), 1.0
        for _ in range(STEPS):
            new = np.clip(ahead - step * (Z @ (Z.T @ ahead) + ridge * ahead - 1.0), 0.0, most)
            momentum, before = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0, momentum
            ahead, a = new + (before - 1.0) / momentum * (new - a), new
        return a.astype(Exact)


def judge_ranking(
    fit: Fit, X: Any, y: Any, groups: Any = None, observed: Any = None, *, C: float, loss: str, tol: float | None = None
) -> Verdict:
    """Return the verdict on a ranking by the list of all its comparable pairs, for sufficiently small data.

    D of the verdict is that of weights of the pairs found here, and P of their model must not be below the claimed D.

    Parameters
    ----------
    fit, X, y, groups, observed, C, tol : Fit, object, object, object, object, float, float or None
        As given; y, groups and observed are arrays.
    loss : {"hinge", "squared_hinge"}
        The loss of the margin of a pair.
    """
    y = np.asarray(y, dtype=np.float64)
    groups = np.zeros(len(y)) if groups is None else np.asarray(groups)
    seen = np.ones(len(y), bool) if observed is None else np.asarray(observed, bool)
    pairs, squared = _Pairs(fit, X, y, groups, seen), loss == "squared_hinge"
    ridge = 1.0 / (2.0 * C) if squared else 0.0
    a = pairs.weigh(ridge, np.inf if squared else C)
    h_of_pairs, square_of_pairs = pairs.decide(a)
    P = pairs.primal(pairs.square, pairs.h, C, squared)
    dual = a.sum() - square_of_pairs / 2 - Exact(ridge) * (a @ a) / 2
    verdict, claim = Verdict.measure(P, dual), fit.solutions[0].certificate
    free = ROUNDING * float(pairs.size.max() * C * len(a) / max(P, Exact(1e-300)))
    if not abs(claim.primal - P) <= max(TINY, free) * abs(P):  # also catches nan
        verdict.false.append(f"objective {claim.primal:.9g}: it is {float(P):.9g}")
    least = min(P, pairs.primal(square_of_pairs, h_of_pairs, C, squared))
    if claim.dual is not None and not claim.dual <= least + TINY * abs(least):
        verdict.false.append(f"dual_objective {claim.dual:.9g} is above P = {float(least):.9g} of a model")
    true = float((P - claim.dual) / max(abs(P), Exact(1e-300))) if claim.dual is not None else np.inf
    if claim.gap is not None and not true <= max(claim.gap, TINY) * (1 + 1e-6):
        verdict.false.append(f"gap {claim.gap:.3g}: that of its P and D is {true:.3g}")
    if tol is not None and fit.status is Status.CONVERGED and true > tol + TINY:
        verdict.false.append(f"converged at {tol:g}: the gap is {true:.3g}")
    off = np.abs(fit.model.predict(X) - pairs.h) > DECISION * (1 + pairs.size)
    if off.any():
        verdict.false.append(f"{off.sum()} predictions of {len(y)}")
    return verdict
