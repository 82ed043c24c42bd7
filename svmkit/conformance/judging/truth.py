"""The true P and D of one subproblem, from kernel values and losses in long double."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from svmkit.conformance.judging.definitions import Definition, Exact, Values, define
from svmkit.losses.base import Loss


@dataclass(frozen=True)
class Objective:
    """The objective: r |w|_1 + (1 - r)/2 |w|^2 + sum_i C_i loss_i, with a free bias, one that is part of w, or none; or
    norms of groups of columns in place of |w|_1, times the square roots of their sizes.
    """

    loss: Definition
    bias: float | None  # the value of the column of the bias: 0 for no bias, None for a free one
    ratio: float = 0.0  # r, the share of |w|_1 in the penalty
    ends: tuple[int, ...] | None = None  # the ends of groups of columns; later columns are separate groups

    @classmethod
    def from_words(cls, formulation: str, loss: Loss) -> Objective | None:
        """Read the result of `Solver.formulation` for a loss; None for an objective unknown to the judge."""
        words, _, rest = formulation.partition(", ")
        bias, *more = rest.split(", ")
        column = {"free bias": None, "regularised bias": 1.0, "no bias": 0.0}
        known = bias in column or bias.startswith("regularised bias of ")
        last = more[0] if len(more) == 1 else ""
        ends = None
        if last.startswith("group penalty groups="):
            parts = [part.rpartition("*") for part in last.partition("=")[2].split("+") if part]
            ends = tuple(np.cumsum([int(n) for times, _, n in parts for _ in range(int(times or 1))]).tolist())
            ratio = 1.0
        elif last.startswith("elasticnet penalty l1_ratio="):
            ratio = float(last.partition("=")[2])
        else:
            ratio = 1.0 if last == "l1 penalty" else 0.0
        if words != loss.words or not known or bool(more) != (ratio > 0.0):
            return None
        return cls(define(loss), column[bias] if bias in column else float(bias.rpartition(" ")[2]), ratio, ends)

    def penalty(self, w: np.ndarray) -> np.longdouble:
        """Return the penalty of weights w (n,)."""
        if self.ends is not None:
            return sum((np.sqrt(Exact(len(part))) * np.sqrt(part @ part) for part in self.groups(w)), Exact(0))
        return Exact(self.ratio) * np.abs(w).sum() + Exact(0.5) * (1 - Exact(self.ratio)) * (w @ w)

    def groups(self, w: np.ndarray) -> list[np.ndarray]:
        """Return the groups of a vector (n,)."""
        assert self.ends is not None
        first = [part for part in np.split(w, [end for end in self.ends if end <= len(w)])[:-1] if len(part)]
        return first + [w[[j]] for j in range(max([0, *(end for end in self.ends if end <= len(w))]), len(w))]


@dataclass(frozen=True)
class Subproblem:
    """One problem over some rows of the data, and the model found for it, in long double."""

    values: Values
    rows: np.ndarray  # (m,): the rows of `values` that take part
    t: np.ndarray  # (m,): labels -1 or +1, or targets
    C: np.ndarray  # (m,): costs
    coef: np.ndarray | None  # (m,): the coefficients, which define the model
    w: np.ndarray | None  # or the weights of all columns
    intercept: np.longdouble

    def norm(self, coef: np.ndarray) -> np.longdouble:
        """Return |w|^2 = c'K c of the coefficients c (m,)."""
        at = np.flatnonzero(coef)
        if self.values.kernel == "linear":
            v = coef[at] @ self.values.X[self.rows[at]]
            return v @ v
        return coef[at] @ self.values(self.rows[at], self.rows[at]) @ coef[at]

    def primal(self, objective: Objective) -> tuple[np.longdouble, np.ndarray, np.ndarray]:
        """Return P at the model, h (m,) with the intercept, and the magnitude (m,) of the terms of h."""
        if self.w is not None:
            norm = objective.penalty(self.w)
        else:
            assert self.coef is not None
            norm = Exact(0.5) * self.norm(self.coef)
        h, size = self.decisions(self.rows)
        if objective.bias:
            norm = norm + objective.penalty(np.array([self.intercept / Exact(objective.bias)]))
        return norm + self.C @ objective.loss.value(self.t, h), h, size

    def violation(self, objective: Objective, beta: np.ndarray) -> tuple[float, float]:
        """Return the relative violation of the bounds by signed dual weights beta (m,), and their sum."""
        b, (lower, upper) = beta / self.C, objective.loss.bounds(self.t)
        size = np.maximum(np.abs(b).max(), Exact(1e-300))
        above = np.where(upper > 0, b / np.where(upper > 0, upper, 1) - 1, b / size)
        below = np.where(lower < 0, b / np.where(lower < 0, lower, 1) - 1, -b / size)
        beyond = max(0.0, float(above.max()), float(below.max()))
        return beyond, float(abs(beta.sum())) / max(1.0, float(np.abs(beta).sum()))

    def decisions(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return h of any rows, and the magnitude of its terms, on which its rounding depends."""
        if self.w is not None:
            X, w = self.values.X[rows], self.w[self.values.columns]
            return X @ w + self.intercept, np.abs(X) @ np.abs(w) + abs(self.intercept)
        assert self.coef is not None
        at = np.flatnonzero(self.coef)
        K, coef = self.values(rows, self.rows[at]), self.coef[at]
        return K @ coef + self.intercept, np.abs(K) @ np.abs(coef) + abs(self.intercept)

    def dual(self, objective: Objective, beta: np.ndarray) -> np.longdouble:
        """Return the largest D that the direction of signed weights (m,) proves, after a projection to the bounds."""
        t, loss = self.t, objective.loss
        lower, upper = loss.bounds(t)
        beta = np.clip(beta, self.C * lower, self.C * upper)
        up, down = beta[beta > 0].sum(), -beta[beta < 0].sum()
        if objective.bias is None:  # subtracting a constant from the targets gives the same problem
            centre = np.median(t)
            if min(up, down) <= 0:
                return Exact(0)
            beta = beta * np.where(beta > 0, min(up, down) / up, min(up, down) / down)
        else:
            centre = Exact(0)
        used = beta != 0
        gain, C = (t - centre) @ beta, self.C[used]
        if not (gain > 0 and np.isfinite(gain)):
            return Exact(0)
        most = (np.where(beta > 0, upper, lower)[used] * C / beta[used]).min()
        shift = Exact(objective.bias or 0.0) * beta.sum()
        pulls: Any = Exact(0)
        if objective.ratio:
            pulls = np.abs(np.append(beta @ self.values.X[self.rows], shift))
            curvature = Exact(0)
        if objective.ends is not None:
            width = max(*objective.ends[-1:], int(self.values.columns.max(initial=-1)) + 1, 0)
            own = np.zeros(width, Exact)
            own[self.values.columns] = np.abs(beta @ self.values.X[self.rows])
            pulls = np.array([*(np.sqrt(part @ part / len(part)) for part in objective.groups(own)), np.abs(shift)])
        if objective.ratio == 1.0:
            most = min(most, 1 / pulls.max() if pulls.max() > 0 else most)
        elif not objective.ratio:
            curvature = self.norm(beta) + shift * shift

        def value(scale: np.longdouble) -> np.longdouble:
            return scale * gain - Exact(0.5) * scale * scale * curvature - beyond(scale) - conjugate(scale)

        def beyond(scale: np.longdouble) -> np.longdouble:
            """Return the cost of correlations beyond r with an elastic net."""
            if not 0.0 < objective.ratio < 1.0:
                return Exact(0)
            over = np.maximum(scale * pulls - Exact(objective.ratio), 0)
            return Exact(0.5) * (over @ over) / (1 - Exact(objective.ratio))

        def conjugate(scale: np.longdouble) -> np.longdouble:
            return C @ loss.conjugate(t[used], scale * beta[used] / C)

        whole, half = conjugate(Exact(1)), conjugate(Exact(0.5))  # for all built-in losses linear s + quadratic s^2
        linear, quadratic = 4 * half - whole, 2 * (whole - 2 * half)
        slope, bend = gain - linear, curvature + 2 * quadratic
        best = min(slope / bend if bend > 0 else most, most) if slope > 0 else Exact(0)
        if 0.0 < objective.ratio < 1.0:
            best = _largest(value, best if np.isfinite(best) else Exact(1))
        return max(Exact(0), *(value(scale) for scale in (best, min(Exact(1), most)) if np.isfinite(scale)))

    def suggest(self, objective: Objective, h: np.ndarray) -> np.ndarray:
        """Return the signed dual weights (m,) that the slopes of the loss suggest."""
        return self.C * objective.loss.slope(self.t, h)


def _largest(value: Callable[[np.longdouble], np.longdouble], high: np.longdouble) -> np.longdouble:
    """Return the argmax over 0 <= s <= high of a concave function of s, by halving its steps."""
    low = Exact(0)
    for _ in range(200):
        third = (high - low) / 3
        if value(low + third) < value(high - third):
            low = low + third
        else:
            high = high - third
    return low
