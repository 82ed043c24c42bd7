"""Full conformal prediction: the training rows with a new row and each label in turn, from the solution without it.

The misfit of a row is minus the least of its margins, y f, over the class pairs of its class. Let w be a point whose
gap is g: its h is within sqrt(2 g k(x, x)) of h at the optimum, and the optimal bias is where the weights that the
losses imply sum to 0, which is known as far as h is. So each misfit is known within bounds, and a row counts as fitting
no better than the new one if it may: p-values are at least those of the optimum, whatever the gap.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from svmkit.errors import InputError
from svmkit.kernels.engines import with_int32_indices
from svmkit.kernels.gram import parse_bytes
from svmkit.model.one_vs_one import signs
from svmkit.problems.dual import DualQP
from svmkit.runtime.compiling import njit
from svmkit.solver.base import libsvm_patience
from svmkit.solver.smo.box import TINIEST, l1_part
from svmkit.training.data import TrainingData
from svmkit.training.settings import Method
from svmkit.training.weights import training_weights
from svmkit.tune.shared.active import ActiveSets, Solved
from svmkit.tune.shared.matrix import SharedMatrix

GAP = 1e-11  # relative gap of each refit
HALVINGS = 100  # of a range of biases, at most
TINY = 1e-12  # share of the sum of weights that may be due to rounding
COPIES, VALUE = 3, 8  # copies of all kernel values, with the memory of a round of a solve, and the bytes of a value


class Bounds(NamedTuple):
    """Bounds of the misfits of the rows of a class pair at the optimum, (n,)."""

    low: np.ndarray
    high: np.ndarray


class Additions:
    """Adds new rows to training data, one at a time, with each label.

    Parameters
    ----------
    data, method : TrainingData, Method
        The training rows, and the method of a machine, one for each class pair.
    by_class : bool
        Whether a row is compared only with rows of its label.
    """

    def __init__(self, data: TrainingData, method: Method, *, by_class: bool) -> None:
        self.data, self.method, self.by_class, self.n = data, method, by_class, data.n_samples
        memory, needed = parse_bytes(method.settings.memory), COPIES * VALUE * (self.n + 1) ** 2
        if needed > memory:
            raise InputError(
                f"full conformal prediction of {self.n:,} rows needs their kernel values, {needed / 1e9:.1f} GB, and "
                f"memory is {memory / 1e9:.1f} GB: give more memory, fewer rows, or conformal_folds=5"
            )
        self.rows = [np.flatnonzero(data.division.takes_part(data.codes, k)) for k in range(len(data.pairs))]
        self.points = [np.zeros(len(rows)) for rows in self.rows]

    def p_values(self, row: Any) -> np.ndarray:
        """Return the p-value of each label (n_classes,) for one row (1, n_features)."""
        raw, n_classes = self.data.raw, len(self.data.classes)
        assert self.data.preparation is not None
        every = sp.vstack([raw, row]).tocsr() if sp.issparse(raw) else np.concatenate([raw, row])
        _, X, kernel = self.data.preparation.learn(every)  # symmetric in the rows, the new one among them
        shared = SharedMatrix(kernel, with_int32_indices(X), parse_bytes(self.method.settings.memory))
        high = np.full((self.n, n_classes), -np.inf)  # of each row against each other class
        sets = [ActiveSets(shared, np.append(rows, self.n), self.n + 1, _never) for rows in self.rows]
        for k, rows in enumerate(self.rows):
            solved, bounds = self._solve(ActiveSets(shared, rows, self.n, _never), k, None)
            self.points[k] = solved.point
            high[rows, self._rivals(k, rows)] = bounds.high
        return np.array([self._p_value(sets, high, label) for label in range(n_classes)])

    def _p_value(self, sets: list[ActiveSets], high: np.ndarray, label: int) -> float:
        """Return the p-value of a label, given the bounds of misfits without the new row."""
        high, own = high.copy(), -math.inf
        for k, pair in enumerate(self.data.pairs):
            if label in pair:
                _, bounds = self._solve(sets[k], k, label)
                high[self.rows[k], self._rivals(k, self.rows[k])] = bounds.high[:-1]
                own = max(own, float(bounds.low[-1]))
        is_compared = self.data.codes == label if self.by_class else np.ones(self.n, np.bool_)
        worse = np.count_nonzero(high.max(axis=1)[is_compared] >= own)
        return float(1 + worse) / float(1 + np.count_nonzero(is_compared))

    def _rivals(self, k: int, rows: np.ndarray) -> np.ndarray:
        """Return the other class of the pair k for each of its rows."""
        return sum(self.data.pairs[k]) - self.data.codes[rows]

    def _solve(self, sets: ActiveSets, k: int, label: int | None) -> tuple[Solved, Bounds]:
        """Return the solution of a class pair, with a new row of a label or without it, and bounds of the misfits."""
        codes, settings, point = self.data.codes, self.method.settings, self.points[k]
        if label is not None:
            codes, point = np.append(codes, label), np.append(point, 0.0)
        weights = training_weights(codes, self.data.classes, settings.class_weight, None)[sets.at]
        target = signs(codes[sets.at], *self.data.pairs[k], len(self.data.classes))
        problem = self.method.pose(self.method.solver, sets.gram, target, settings.C * weights)
        assert isinstance(problem, DualQP) and l1_part(problem) is None
        sets.begin(problem, point, settings.C)
        solved = sets.solve(problem, settings.C, GAP, libsvm_patience(len(sets.at)))
        return solved, misfit_bounds(problem, solved, sets.at)


def misfit_bounds(problem: DualQP, solved: Solved, at: np.ndarray) -> Bounds:
    """Return bounds of the misfits of the rows `at` of a solved problem of two classes, at its optimum.

    Parameters
    ----------
    problem, solved, at : DualQP, Solved, ndarray of int
        The problem, its solution, and the places of its rows in the kernel matrix.
    """
    y, certificate, h = problem.signs, solved.certificate, solved.h[at]
    if certificate.gap is None or certificate.dual is None:
        return Bounds(np.full(len(at), -np.inf), np.full(len(at), np.inf))
    size = max(abs(certificate.primal), abs(certificate.dual))
    gap = max(certificate.primal - certificate.dual, certificate.gap * size)
    off = np.sqrt(2.0 * gap * problem.gram.diag)
    most = float(off.max())
    u = y * problem.gradient_from(h, solved.point) - y * problem.ridge * solved.point
    low, high = bias_range(y, u, problem.lower, problem.upper, problem.ridge)
    off = off + most + 0.5 * (high - low)
    misfits = -y * (h + 0.5 * (low + high))
    return Bounds(misfits - off, misfits + off)


@njit(nogil=True, cache=True)
def bias_range(y, u, lower, upper, ridge):
    """Return the ends of the range of biases at which the weights that the losses imply sum to 0.

    Parameters
    ----------
    y, u, lower, upper, ridge : ndarray of shape (n,)
        As in `Box`, and v without the ridge.
    """
    least, most = -np.max(u) - 1.0, -np.min(u) + 1.0
    ends = np.empty(2)
    for end in range(2):
        below, above = least, most
        for _ in range(HALVINGS):
            b, total, sizes = 0.5 * (below + above), 0.0, 0.0
            for r in range(y.size):
                residual = -y[r] * (u[r] + b)
                if ridge[r] > TINIEST:
                    best = min(max(residual / ridge[r], lower[r]), upper[r])
                else:
                    best = upper[r] if residual > 0.0 else lower[r]
                total += y[r] * best
                sizes += abs(best)
            # the sum falls as the bias rises: one end is the first bias at which it is 0, the other one the last
            if total > TINY * sizes if end == 0 else total >= -TINY * sizes:
                below = b
            else:
                above = b
        ends[end] = below if end == 0 else above
    return ends[0], ends[1]


def _never() -> bool:
    return False
