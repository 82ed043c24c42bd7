"""Kernels and losses for the judge, in long double: from their definitions, with independent formulas.

A loss l is one of the residual e = t - h, for C = 1; a dual weight is beta = C b with b a slope of l, and its share of
the dual value is C l*(b), l* the conjugate. Losses of classification are written with s = 1 - y h = y e and a = y b.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from svmkit.errors import InputError
from svmkit.losses.base import Loss

Exact = np.longdouble  # 64 bits of mantissa and 15 of exponent on x86; if it is a double, the judge is less precise
PART = 1 << 21  # differences that are held in memory at a time
INF = np.inf
STEPS = 100  # steps of a search: each leaves 0.62 of an interval
FAR = 1e6, 1e9  # residuals whose slopes show whether a third-party loss grows linearly


class Values:
    """The kernel values of n samples X, computed column by column on demand, and cached.

    Distances are computed from the differences of the samples, so that nothing cancels far from the origin. `X` has the
    numeric columns, for dense data all of them, in long double, and `columns` their positions. Raises InputError if the
    definition of the named kernel is not known here.
    """

    def __init__(self, kernel: str, params: Mapping[str, Any], X: Any) -> None:
        if kernel not in ("linear", "rbf", "laplacian", "poly", "sigmoid", "precomputed"):
            raise InputError(f"the judge does not know the definition of the kernel {kernel!r}")
        self.kernel = kernel
        self.gamma, self.coef0 = Exact(params.get("gamma", 1.0)), Exact(params.get("coef0", 0.0))
        self.degree = int(params.get("degree", 3))
        if sp.issparse(X):
            X = sp.csc_array(X)
            self.columns = np.flatnonzero(np.diff(X.indptr))
            X = X[:, self.columns].toarray()
        else:
            X = np.asarray(X)
            self.columns = np.arange(X.shape[1])
        self.X = X.astype(Exact)
        self.n = len(self.X)
        self._place = np.full(self.n, -1)
        self._kept = np.empty((self.n, 0), Exact)

    def __call__(self, rows: np.ndarray, at: np.ndarray) -> np.ndarray:
        """Return k(x_r, x_a) for each of `rows` and `at`, shape (len(rows), len(at)), long double."""
        missing = at[self._place[at] < 0]
        if missing.size:
            self._place[missing] = self._kept.shape[1] + np.arange(len(missing))
            step = max(1, PART // self.X.size)
            parts = [self._compute(missing[lo : lo + step]) for lo in range(0, len(missing), step)]
            self._kept = np.concatenate([self._kept, *parts], axis=1)
        return self._kept[np.ix_(rows, self._place[at])]

    def _compute(self, at: np.ndarray) -> np.ndarray:
        if self.kernel == "precomputed":
            return self.X[:, at]
        if self.kernel in ("rbf", "laplacian"):
            difference = self.X[:, None, :] - self.X[None, at, :]
            power = np.square(difference) if self.kernel == "rbf" else np.abs(difference)
            return np.exp(-self.gamma * power.sum(axis=2))
        product = (self.X[:, None, :] * self.X[None, at, :]).sum(axis=2)
        if self.kernel == "linear":
            return product
        inner = self.gamma * product + self.coef0
        return np.tanh(inner) if self.kernel == "sigmoid" else inner**self.degree


def is_indefinite(K: np.ndarray, centred: bool) -> bool:
    """Return whether K (m, m) has an eigenvalue below 0 by more than rounding, so that no dual value is a bound.
    `centred` restricts this to weights that sum to 0, as for a free bias.
    """
    largest = np.abs(K).max(initial=0.0)
    if not largest:
        return False
    K = K / largest
    if centred:
        K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    spectrum = np.linalg.eigvalsh(K.astype(np.float64))
    return bool(spectrum[0] < -1e-9 * len(K))


@dataclass(frozen=True)
class Closed:
    """A built-in loss by its formulas: functions of s and a = y b, or of e and b, and the bounds of a or b."""

    of_residual: Callable[[Any], Any]
    slope_at: Callable[[Any], Any]
    conjugate_at: Callable[[Any], Any]
    ends: tuple[Any, Any]
    of_margin: bool = False

    def _residual(self, t: np.ndarray, h: np.ndarray) -> np.ndarray:
        return 1 - t * h if self.of_margin else t - h

    def value(self, t: np.ndarray, h: np.ndarray) -> np.ndarray:
        return self.of_residual(self._residual(t, h))

    def slope(self, t: np.ndarray, h: np.ndarray) -> np.ndarray:
        slope = self.slope_at(self._residual(t, h))
        return t * slope if self.of_margin else slope

    def conjugate(self, t: np.ndarray, b: np.ndarray) -> np.ndarray:
        return self.conjugate_at(t * b if self.of_margin else b)

    def bounds(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        least, most = (np.full(len(t), bound, Exact) for bound in self.ends)
        if not self.of_margin:
            return least, most
        return np.where(t > 0, least, -most), np.where(t > 0, most, -least)


@dataclass(frozen=True)
class Searched:
    """A third-party loss, by its values alone: slopes are differences, and a search finds the conjugate."""

    loss: Loss

    def value(self, t: np.ndarray, h: np.ndarray) -> np.ndarray:
        return self.loss.value(t.astype(np.float64), h.astype(np.float64)).astype(Exact)

    def slope(self, t: np.ndarray, h: np.ndarray) -> np.ndarray:
        step = 1e-6 * (1 + np.abs(t - h))
        return (self.value(t, h - step) - self.value(t, h + step)) / (2 * step)

    def conjugate(self, t: np.ndarray, b: np.ndarray) -> np.ndarray:
        def reward(e: np.ndarray) -> np.ndarray:
            return b * e - self.value(t, t - e)

        reach = np.ones(len(t), Exact)
        for side in (-1, 1):
            for _ in range(40):
                gain = reward(2 * side * reach) - reward(side * reach)
                reach = np.where(gain > 1e-12 * np.abs(b) * reach, 2 * reach, reach)
        return reward(find_maximum(reward, -2 * reach, 2 * reach))

    def bounds(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        ends = []
        for side in (-1, 1):
            near, far = (side * (self.value(t, t - 2 * side * e) - self.value(t, t - side * e)) / e for e in FAR)
            ends.append(np.where(np.abs(far) > 1.5 * np.abs(near), side * INF, far))
        return ends[0], ends[1]


Definition = Closed | Searched
"""What the judge asks a loss, for C = 1 and arrays (m,) of long double: its value at h, a slope by the residual t - h,
the conjugate at slopes b within their bounds, and these bounds, the lowest and the highest slope."""


def _plus(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, Exact(0))


def _choose_side(x: np.ndarray, below: Any, above: Any) -> np.ndarray:
    return np.where(x < 0, below, above)


def _times_log(x: np.ndarray) -> np.ndarray:
    return x * np.log(np.where(x > 0, x, 1))


def _beyond(e: np.ndarray, epsilon: Any) -> np.ndarray:
    return np.sign(e) * _plus(np.abs(e) - epsilon)


FORMULAS: dict[str, Callable[..., Closed]] = {
    "hinge": lambda: Closed(_plus, lambda s: (s > 0) * Exact(1), lambda a: 0 * a, (0, 1), True),
    "squared_hinge": lambda: Closed(
        lambda s: _plus(s) ** 2, lambda s: 2 * _plus(s), lambda a: a * a / 4, (0, INF), True
    ),
    "smoothed_hinge": lambda delta: Closed(
        lambda s: np.where(s < delta, _plus(s) ** 2 / (2 * delta), s - delta / 2),
        lambda s: np.clip(s / delta, Exact(0), Exact(1)),
        lambda a: delta * a * a / 2,
        (0, 1),
        True,
    ),
    "logistic": lambda: Closed(
        lambda s: _plus(s - 1) + np.log1p(np.exp(-np.abs(s - 1))),  # s - 1 = -y h
        lambda s: 1 / (1 + np.exp(1 - s)),
        lambda a: (
            a + _times_log(a) + (1 - a) * np.log1p(-np.where(a < 1, a, 0))
        ),  # a is the slope by s, for which log(1 + exp(s - 1)) adds a
        (0, 1),
        True,
    ),
    "epsilon_insensitive": lambda epsilon: Closed(
        lambda e: _plus(np.abs(e) - epsilon),
        lambda e: np.sign(_beyond(e, epsilon)),
        lambda b: epsilon * np.abs(b),
        (-1, 1),
    ),
    "squared_epsilon_insensitive": lambda epsilon: Closed(
        lambda e: _plus(np.abs(e) - epsilon) ** 2,
        lambda e: 2 * _beyond(e, epsilon),
        lambda b: epsilon * np.abs(b) + b * b / 4,
        (-INF, INF),
    ),
    "absolute_error": lambda: Closed(np.abs, np.sign, lambda b: 0 * b, (-1, 1)),
    "squared_error": lambda: Closed(lambda e: e * e, lambda e: 2 * e, lambda b: b * b / 4, (-INF, INF)),
    "huber": lambda delta: Closed(
        lambda e: np.where(np.abs(e) < delta, e * e, 2 * delta * np.abs(e) - delta * delta),
        lambda e: 2 * np.clip(e, -delta, delta),
        lambda b: b * b / 4,
        (-2 * delta, 2 * delta),
    ),
    "quantile": lambda tau: Closed(
        lambda e: _choose_side(e, (tau - 1) * e, tau * e),
        lambda e: _choose_side(e, tau - 1, tau),
        lambda b: 0 * b,
        (tau - 1, tau),
    ),
    "expectile": lambda tau: Closed(
        lambda e: _choose_side(e, 1 - tau, tau) * e * e,
        lambda e: 2 * _choose_side(e, 1 - tau, tau) * e,
        lambda b: b * b / (4 * _choose_side(b, 1 - tau, tau)),
        (-INF, INF),
    ),
}


def define(loss: Loss) -> Definition:
    """Return the definition of a loss: the judge's own formula for a built-in one, else one based on `Loss.value`."""
    formula = FORMULAS.get(loss.name)
    if formula is None or not type(loss).__module__.startswith("svmkit.losses."):
        return Searched(loss)
    return formula(**{name: Exact(value) for name, value in loss.params.items()})


def find_maximum(f: Callable[[Any], Any], low: Any, high: Any) -> Any:
    """Return where a concave function, of a number or of each entry of an array, is largest, by golden sections."""
    ratio = (np.sqrt(Exact(5)) - 1) / 2
    for _ in range(STEPS):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        rises = f(left) < f(right)
        low, high = np.where(rises, left, low), np.where(rises, high, right)
    return (low + high) / 2
