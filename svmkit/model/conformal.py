"""Conformal prediction: misfits of rows that were held out of training, whose quantiles make sets that cover."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from svmkit.errors import InputError

SLACK = 1e-9  # of a rank, which rounding may put just above a whole number


def require_alpha(alpha: Any) -> float:
    """Return the share of rows that sets may miss; raise InputError unless it is a number in (0, 1)."""
    if isinstance(alpha, int | float | np.number) and not isinstance(alpha, bool) and 0.0 < alpha < 1.0:
        return float(alpha)
    raise InputError(f"conformal={alpha!r} must be a number in (0, 1): the share of rows that sets may miss, as 0.1")


def least_rows(alpha: float) -> int:
    """Return how many held-out rows give sets that are smaller than all answers."""
    return max(math.ceil((1.0 - alpha) / alpha - SLACK), 1)


@dataclass(frozen=True)
class Conformal:
    """The misfits of held-out rows, such as |y - h|, from which sets are made that miss at most a share of new rows.

    Sets hold all answers whose misfit is at most the ceil((n + 1)(1 - alpha))-th smallest of n held-out ones. If
    held-out and new rows are exchangeable, they hold the true answer with a probability of at least 1 - alpha, whatever
    the model and the data are (Vovk, Gammerman, Shafer 2005, proposition 2.3; Lei et al. 2018, theorem 2).

    Attributes
    ----------
    alpha : float
        The share of rows that sets may miss, unless another one is asked for.
    by_class : bool
        Whether each class has misfits of its own, so that the share holds of the rows of each class.
    misfits : ndarray of shape (n,), float64
        Ascending within each group: all rows, or those of a class, or of an output.
    ends : ndarray of shape (n_groups,), int64
        Where the misfits of each group end.
    """

    alpha: float
    by_class: bool
    misfits: np.ndarray
    ends: np.ndarray

    @classmethod
    def from_groups(cls, alpha: float, by_class: bool, groups: list[np.ndarray]) -> Conformal:
        """Return what is to be kept.

        Parameters
        ----------
        alpha, by_class : float, bool
            The attributes of these names.
        groups : list of ndarray
            The misfits of each group, in any order.
        """
        ends = np.cumsum([len(group) for group in groups], dtype=np.int64)
        return cls(alpha, by_class, np.concatenate([np.sort(group) for group in groups]), ends)

    def radii(self, alpha: float | None = None) -> np.ndarray:
        """Return the largest misfit in a set, (n_groups,); inf where a group has too few rows for this alpha."""
        alpha = self.alpha if alpha is None else require_alpha(alpha)
        parts = np.split(self.misfits, self.ends[:-1])
        ranks = [math.ceil((len(part) + 1) * (1.0 - alpha) - SLACK) for part in parts]
        found = [part[rank - 1] if rank <= len(part) else np.inf for part, rank in zip(parts, ranks, strict=True)]
        return np.array(found, dtype=np.float64)

    def header(self) -> dict[str, Any]:
        """Return what a model file says in its header."""
        return {"conformal": {"alpha": self.alpha, "by_class": self.by_class}}

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays that a model file keeps, by name."""
        return {"conformal.misfits": self.misfits, "conformal.ends": self.ends}

    @classmethod
    def from_file(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Conformal | None:
        """Return what a file with this header and these arrays keeps, None for none; raise ValueError, KeyError or
        TypeError if it is damaged.
        """
        about = header.get("conformal")
        if about is None:
            return None
        alpha, by_class = about["alpha"], about["by_class"]
        misfits, ends = arrays["conformal.misfits"], arrays["conformal.ends"]
        if not isinstance(by_class, bool) or not isinstance(alpha, float) or not 0.0 < alpha < 1.0:
            raise ValueError("the share that its sets miss is not known")
        if ends.ndim != 1 or ends.dtype.kind != "i" or misfits.ndim != 1 or misfits.dtype != np.float64:
            raise ValueError("misfits of its sets are no numbers")
        known = [len(header["classes"])] if by_class else [1, len(header.get("outputs", ()))]
        if len(ends) not in known or (np.diff(ends, prepend=0) < 0).any() or ends[-1] != len(misfits):
            raise ValueError("misfits of its sets do not end where they should")
        if not np.isfinite(misfits).all() or any((np.diff(part) < 0.0).any() for part in np.split(misfits, ends[:-1])):
            raise ValueError("misfits of its sets are not finite, or not in order")
        return cls(alpha, by_class, misfits, ends)
