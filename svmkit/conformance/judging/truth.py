"""The true P and D of one binary problem, from kernel values in long double."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmkit.conformance.judging.exact import Exact, Values


@dataclass(frozen=True)
class Objective:
    """What is minimised: 1/2 |w|^2 + sum_i C_i loss_i, the bias free, part of w, or absent.

    Attributes
    ----------
    squared : bool
        Whether the loss is the squared hinge.
    bias : float or None
        The value of the column of the bias; 0 for no bias, None for a free one.
    l1 : bool, default=False
        Whether the penalty is |w|_1 instead of 1/2 |w|^2.
    """

    squared: bool
    bias: float | None
    l1: bool = False

    @classmethod
    def of(cls, formulation: str) -> Objective | None:
        """Read what `Solver.formulation` says; None for an objective that the judge does not know."""
        loss, bias, *more = formulation.split(", ")
        column = {"free bias": None, "regularised bias": 1.0, "no bias": 0.0}
        known = bias in column or bias.startswith("regularised bias of ")
        if loss not in ("hinge", "squared hinge") or not known or more not in ([], ["l1 penalty"]):
            return None
        size = column[bias] if bias in column else float(bias.rpartition(" ")[2])
        return cls(loss.startswith("squared"), size, bool(more))


@dataclass(frozen=True)
class Pair:
    """One binary problem over some rows of the data, and the model that was found for it.

    Attributes
    ----------
    values : Values
        The kernel of all samples.
    rows : ndarray of shape (m,), int
        The rows that take part.
    y, C : ndarray of shape (m,)
        Signs, and costs in long double.
    coef : ndarray of shape (m,), long double, or None
        The coefficients of the model; None for a model that is w.
    w : ndarray of long double, or None
        The weights of the model, of all columns.
    intercept : long double
        The intercept.
    """

    values: Values
    rows: np.ndarray
    y: np.ndarray
    C: np.ndarray
    coef: np.ndarray | None
    w: np.ndarray | None
    intercept: np.longdouble

    def norm(self, coef: np.ndarray) -> np.longdouble:
        """Return |w|^2 = c'K c of the coefficients c (m,)."""
        at = np.flatnonzero(coef)
        if self.values.kernel == "linear":
            v = coef[at] @ self.values.X[self.rows[at]]
            return v @ v
        return coef[at] @ self.values(self.rows[at], self.rows[at]) @ coef[at]

    def primal(self, objective: Objective) -> tuple[np.longdouble, np.ndarray, np.ndarray]:
        """Return P at the model, h (m,) with the intercept, and the size (m,) of what is summed for h."""
        if self.w is not None:
            norm = np.abs(self.w).sum() if objective.l1 else Exact(0.5) * (self.w @ self.w)
        else:
            assert self.coef is not None
            norm = Exact(0.5) * self.norm(self.coef)
        h, size = self.decisions(self.rows)
        if objective.bias:
            b = self.intercept / Exact(objective.bias)
            norm = norm + (abs(b) if objective.l1 else Exact(0.5) * b * b)
        slack = self.slack(h)
        loss = self.C @ (slack * slack if objective.squared else slack)
        return norm + loss, h, size

    def slack(self, h: np.ndarray) -> np.ndarray:
        """Return what the loss is taken of (m,), which is never below 0."""
        return np.maximum(Exact(0), 1 - self.y * h)

    def violation(self, objective: Objective, beta: np.ndarray) -> tuple[float, float]:
        """Return, relatively, by how much beta leaves 0 <= beta_i <= C_i, and y'beta."""
        below = float((-beta / np.maximum(beta.max(), Exact(1e-300))).max())
        above = 0.0 if objective.squared else float((beta / self.C).max()) - 1.0
        return max(below, above), float(abs(self.y @ beta)) / max(1.0, float(np.abs(beta).sum()))

    def decisions(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return h of any rows, and the size of what is summed for it, which its rounding depends on."""
        if self.w is not None:
            X, w = self.values.X[rows], self.w[self.values.columns]
            return X @ w + self.intercept, np.abs(X) @ np.abs(w) + abs(self.intercept)
        assert self.coef is not None
        at = np.flatnonzero(self.coef)
        K, coef = self.values(rows, self.rows[at]), self.coef[at]
        return K @ coef + self.intercept, np.abs(K) @ np.abs(coef) + abs(self.intercept)

    def dual(self, objective: Objective, beta: np.ndarray) -> np.longdouble:
        """Return the largest D that the direction of beta (m,) proves, after a projection to the constraints."""
        beta = np.maximum(beta, Exact(0))
        if not objective.squared:
            beta = np.minimum(beta, self.C)
        if objective.bias is None:
            plus = self.y > 0
            sums = beta[plus].sum(), beta[~plus].sum()
            if min(sums) <= 0:
                return Exact(0)
            beta = beta * np.where(plus, min(sums) / sums[0], min(sums) / sums[1])
        total = beta.sum()
        if not (total > 0 and np.isfinite(total)):
            return Exact(0)
        coef = self.y * beta
        shift = Exact(objective.bias or 0.0)
        ridge = (beta * beta / (2 * self.C)).sum() if objective.squared else Exact(0)
        used = beta > 0
        most = Exact(np.inf) if objective.squared else (self.C[used] / beta[used]).min()
        if objective.l1:
            pulls = np.abs(coef @ self.values.X[self.rows])
            largest = max(pulls.max(initial=Exact(0)), shift * abs(coef.sum()))
            most, curvature = min(most, 1 / largest if largest > 0 else Exact(np.inf)), ridge
        else:
            curvature = self.norm(coef) + (shift * coef.sum()) ** 2 + ridge
        best = min(total / curvature if curvature > 0 else Exact(np.inf), most)
        return best * total - Exact(0.5) * best * best * curvature if np.isfinite(best) else Exact(0)

    def suggested(self, objective: Objective, h: np.ndarray) -> np.ndarray:
        """Return dual weights (m,) that the slacks suggest."""
        slack = self.slack(h)
        return self.C * (2 * slack if objective.squared else (slack > 0))
