"""The penalty of a linear model: a mixture of |w|_1 and 1/2 |w|^2, or norms of groups; and its part in D.

With Omega(w) = l1 |w|_1 + 1/2 l2 |w|^2 the dual of min Omega(w) + sum L_i(target_i - x_i'w) is

    max  target'beta - sum phi_i(beta_i) - Omega*(X'beta),   Omega*(v) = 1/2 |soft(v, l1)|^2 / l2

where soft(v, l1) = sign(v) max(|v| - l1, 0), and Omega*(v) is 0 for |v|_inf <= l1 and infinite elsewhere if l2 = 0.
Of groups g of n_g columns, Omega(w) = sum_g sqrt(n_g) |w_g|, and Omega*(v) is 0 where all |v_g| <= sqrt(n_g).
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from svmkit.errors import InputError, meant

L1_RATIO = 0.5  # share of |w|_1 in the elastic net unless it is given; as in scikit-learn
NAMES = ("l2", "l1", "elasticnet", "group")


class Penalty(NamedTuple):
    """l1 |w|_1 + 1/2 l2 |w|^2 (elastic net: Zou, Hastie 2005), l1 + l2 = 1; or sum_g sqrt(n_g) |w_g| (Yuan, Lin 2006).

    `groups` are the numbers of columns of groups of adjacent columns; further columns are groups of their own. With the
    penalty "group" l1 is 1.

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
    groups: tuple[int, ...] = ()

    @property
    def has_groups(self) -> bool:
        """Whether weights become 0 by groups of columns."""
        return self.name == "group"

    @property
    def words(self) -> str:
        """The penalty in words, empty for 1/2 |w|^2."""
        words = {"l2": "", "l1": "l1 penalty", "group": f"group penalty groups={write_groups(self.groups)}"}
        return words.get(self.name, f"elasticnet penalty l1_ratio={self.l1!r}")

    @property
    def params(self) -> dict[str, Any]:
        """The name and, for the elastic net, the ratio, as plain values."""
        more: dict[str, dict[str, Any]] = {
            "elasticnet": {"l1_ratio": self.l1},
            "group": {"groups": write_groups(self.groups)},
        }
        return {"penalty": self.name, **more.get(self.name, {})}

    def sizes(self, n: int) -> np.ndarray:
        """Return the numbers of columns of all groups of n columns, int64."""
        rest = n - sum(self.groups)
        return np.array([*self.groups, *[1] * rest] if rest >= 0 else [n], dtype=np.int64)

    def norms(self, v: np.ndarray) -> np.ndarray:
        """Return |v_g| / sqrt(n_g) of all groups (n_groups,) of a vector v (n,)."""
        sizes = self.sizes(v.size)
        if not sizes.size:
            return np.zeros(0)
        starts = np.cumsum(sizes) - sizes
        most = float(np.abs(v).max())
        if not 0.0 < most < math.inf:
            return np.full(sizes.size, most)
        return most * np.sqrt(np.add.reduceat(np.square(v / most), starts) / sizes)

    def largest(self, v: np.ndarray) -> float:
        """Return the least l1 for which a vector v (n,) is feasible, where l2 = 0."""
        return float((self.norms(v) if self.has_groups else np.abs(v)).max(initial=0.0))

    def value(self, w: np.ndarray) -> float:
        """Return the penalty of weights w (n,)."""
        if self.has_groups:
            return float(self.sizes(w.size) @ self.norms(w))
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
            The results of `dual_sums` for dual weights.
        v : ndarray of shape (n,)
            X'beta of the same weights.
        most : float, default=inf
            1.0 if the weights have bounds.
        """
        if not linear > 0.0:
            return 0.0
        s = min(linear / ridged if ridged > 0.0 else math.inf, most)
        sizes = np.abs(v)
        if self.l2 == 0.0:
            largest = self.largest(v)
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


def make_penalty(
    name: str | Penalty = "l2", l1_ratio: float = L1_RATIO, groups: str | Sequence[int] | None = None
) -> Penalty:
    """Return a penalty by its name.

    Parameters
    ----------
    name : {"l2", "l1", "elasticnet", "group"} or Penalty, default="l2"
        1/2 |w|^2, |w|_1, l1_ratio |w|_1 + (1 - l1_ratio) / 2 |w|^2, or sum_g sqrt(n_g) |w_g|.
    l1_ratio : float, default=0.5
        Of the elastic net, from 0 to 1.
    groups : str or sequence of int, default=None
        For the penalty "group", the numbers of columns of groups of adjacent columns, as (3, 1, 1) or "3+2*1";
        further columns are groups of their own.

    Raises
    ------
    InputError
        The name is not known, the ratio is no number from 0 to 1, or a group has no column.

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
    if name == "group":
        return Penalty(name, 1.0, 0.0, read_groups(groups))
    share = {"l2": 0.0, "l1": 1.0}.get(name, float(l1_ratio))
    return Penalty(name, share, 1.0 - share)


def read_groups(given: str | Sequence[int] | None) -> tuple[int, ...]:
    """Return the numbers of columns of groups, given as "3+2*1", "3,1,1" or a sequence; raise InputError if they are
    invalid.
    """
    if given is None:
        return ()
    try:
        if not isinstance(given, str):
            sizes = [operator.index(size) for size in given]
        else:
            parts = [part.rpartition("*") for part in given.replace(",", "+").split("+") if part.strip()]
            sizes = [int(size) for times, _, size in parts for _ in range(int(times or 1))]
    except (TypeError, ValueError):
        sizes = [0]
    if any(size < 1 for size in sizes):
        raise InputError(f"groups={given!r}: give the numbers of columns of groups that stand side by side, as 3,1,2")
    return tuple(sizes)


def write_groups(sizes: Sequence[int]) -> str:
    """Return the numbers of columns of groups as a short text that `read_groups` reads."""
    runs = [(size, len(list(run))) for size, run in itertools.groupby(sizes)]
    return "+".join(f"{times}*{size}" if times > 1 else str(size) for size, times in runs)


@lru_cache(maxsize=64)  # without the cache, a small fit takes noticeably longer
def penalty_in(words: str) -> Penalty:
    """Return the penalty at the end of a formulation in words; 1/2 |w|^2 if it names none."""
    last = words.rpartition(", ")[2]
    name, _, rest = last.partition(" penalty")
    if name not in NAMES:
        return make_penalty()
    value = rest.partition("=")[2]
    return make_penalty(name, groups=value) if name == "group" else make_penalty(name, float(value or L1_RATIO))


def read_penalty(described: Mapping[str, Any]) -> Penalty:
    """Return the penalty that `Penalty.params` describes; 1/2 |w|^2 if the description is empty."""
    return make_penalty(described.get("penalty", "l2"), described.get("l1_ratio", L1_RATIO), described.get("groups"))
