"""What is added to the losses of a linear model: a mixture of |w|_1 and 1/2 |w|^2, its conjugate, and what D asks for.

With Omega(w) = l1 |w|_1 + 1/2 l2 |w|^2 the dual of min Omega(w) + sum L_i(target_i - x_i'w) is

    max  target'beta - sum phi_i(beta_i) - Omega*(X'beta),   Omega*(v) = 1/2 |soft(v, l1)|^2 / l2

where soft(v, l1) = sign(v) max(|v| - l1, 0), and Omega*(v) is 0 for |v|_inf <= l1 and infinite elsewhere if l2 = 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from svmkit.errors import InputError, meant

L1_RATIO = 0.5  # share of |w|_1 in the elastic net unless it is given; as in scikit-learn
NAMES = ("l2", "l1", "elasticnet")


class Penalty(NamedTuple):
    """l1 |w|_1 + 1/2 l2 |w|^2 (elastic net: Zou, Hastie 2005); of the three penalties l1 + l2 = 1.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.problems import make_penalty
    >>> make_penalty("elasticnet", 0.25).value(np.array([1.0, -2.0]))
    2.625
    """

    name: str
    l1: float
    l2: float

    @property
    def words(self) -> str:
        """The penalty in words, empty for 1/2 |w|^2."""
        words = {"l2": "", "l1": "l1 penalty"}
        return words.get(self.name, f"elasticnet penalty l1_ratio={self.l1!r}")

    @property
    def params(self) -> dict[str, Any]:
        """The name and, of the elastic net, the ratio, as plain values."""
        return {"penalty": self.name} | ({"l1_ratio": self.l1} if self.name == "elasticnet" else {})

    def value(self, w: np.ndarray) -> float:
        """Return the penalty of weights w (n,)."""
        size = self.l1 * float(np.abs(w).sum()) if self.l1 else 0.0
        return size + (0.5 * self.l2 * float(w @ w) if self.l2 else 0.0)

    def image(self, v: np.ndarray) -> np.ndarray:
        """Return the vector whose 1/2 |.|^2 is Omega*(v), for feasible v (n,): v itself with the penalty l2."""
        if self.l1 == 0.0:
            return v / math.sqrt(self.l2)
        if self.l2 == 0.0:
            return np.zeros(1)
        return np.maximum(np.abs(v) - self.l1, 0.0) / math.sqrt(self.l2)

    def best_scale(self, linear: float, ridged: float, v: np.ndarray, most: float = math.inf) -> float:
        """Return the argmax over 0 <= s <= most of s linear - 1/2 s^2 ridged - Omega*(s v).

        Parameters
        ----------
        linear, ridged : float
            What `dual_sums` returns for dual weights.
        v : ndarray of shape (n,)
            X'beta of the same weights.
        most : float, default=inf
            1.0 where the weights have bounds.
        """
        if not linear > 0.0:
            return 0.0
        s = min(linear / ridged if ridged > 0.0 else math.inf, most)
        sizes = np.abs(v)
        if self.l2 == 0.0:
            largest = float(sizes.max(initial=0.0))
            s = min(s, self.l1 / largest if largest > 0.0 else math.inf)
            return s if s < math.inf else 1.0
        sizes = sizes[sizes > 0.0]
        if s == math.inf:  # without a ridge: a place beyond the maximum
            square = float(sizes @ sizes)
            if square == 0.0:
                return 1.0
            s = linear * self.l2 / square + self.l1 * float(sizes.sum()) / square
        for _ in range(100):  # the slope is concave and falls, so that Newton's method comes down to the maximum
            beyond = s * sizes - self.l1
            sizes, beyond = sizes[beyond > 0.0], beyond[beyond > 0.0]
            slope = linear - s * ridged - float(sizes @ beyond) / self.l2
            bend = ridged + float(sizes @ sizes) / self.l2
            if slope >= 0.0 or bend <= 0.0 or (lower := s + slope / bend) >= s:
                break
            s = max(lower, 0.0)
        return s

    def farthest(self, value: float) -> float:
        """Return a bound on |w| of weights whose penalty is at most `value`."""
        bounds = [value / self.l1 if self.l1 else math.inf, math.sqrt(2.0 * value / self.l2) if self.l2 else math.inf]
        return min(bounds)


def make_penalty(name: str | Penalty = "l2", l1_ratio: float = L1_RATIO) -> Penalty:
    """Return a penalty by its name.

    Parameters
    ----------
    name : {"l2", "l1", "elasticnet"} or Penalty, default="l2"
        1/2 |w|^2, |w|_1, or l1_ratio |w|_1 + (1 - l1_ratio) / 2 |w|^2.
    l1_ratio : float, default=0.5
        Of the elastic net, from 0 to 1.

    Raises
    ------
    InputError
        The name is not known, or the ratio is no number from 0 to 1.

    Examples
    --------
    >>> from svmkit.problems import make_penalty
    >>> make_penalty("l1").words
    'l1 penalty'
    """
    if isinstance(name, Penalty):
        return name
    name = "elasticnet" if name == "elastic_net" else name
    if name not in NAMES:
        raise InputError(f"penalty={name!r} is not known{meant(str(name), NAMES)}; there are: {', '.join(NAMES)}")
    if isinstance(l1_ratio, bool) or not (isinstance(l1_ratio, int | float | np.number) and 0.0 <= l1_ratio <= 1.0):
        raise InputError(f"l1_ratio must be a number from 0 to 1, the share of |w|_1, not {l1_ratio!r}")
    share = {"l2": 0.0, "l1": 1.0}.get(name, float(l1_ratio))
    return Penalty(name, share, 1.0 - share)


def penalty_in(words: str) -> Penalty:
    """Return the penalty that a formulation in words ends with; 1/2 |w|^2 where it names none."""
    last = words.rpartition(", ")[2]
    name, _, rest = last.partition(" penalty")
    if name not in NAMES:
        return make_penalty()
    return make_penalty(name, float(rest.partition("=")[2] or L1_RATIO))


def read_penalty(described: Mapping[str, Any]) -> Penalty:
    """Return the penalty that `Penalty.params` describes; 1/2 |w|^2 where nothing does."""
    return make_penalty(described.get("penalty", "l2"), described.get("l1_ratio", L1_RATIO))
