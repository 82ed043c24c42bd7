"""Certificate: bounds on the distance of a point from the optimum, with the rounding errors of P and D."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np


@dataclass(frozen=True)
class Certificate:
    """Bounds on the distance of a point from the optimum, computed from scratch.

    Attributes
    ----------
    primal : float
        P, the primal value of the model.
    dual : float or None
        D, a lower bound on the optimum; None if no dual point is known.
    gap : float or None
        The relative duality gap (P - D) / max(|P|, |D|); None if there is no D. It is never smaller than what the
        rounding errors of P and D allow.
    gradient : ndarray of float64, shape (m,), or None
        The gradient, or for a linear risk the margins, from which a solver can continue with exact values.
    bias : float or None
        The best bias at the point, for problems that leave the bias free.
    beta : ndarray of float64, shape (m,), or None
        The dual weights that prove D, for problems whose solvers have no dual point (`Problem.raise_bound`).
    rounding : float
        The part of the gap that bounds the rounding errors of P and D.
    flaw : str or None
        Why no D can be proven although the problem has a dual, such as a kernel that is not positive semidefinite.

    Examples
    --------
    >>> from svmkit import fit
    >>> from svmkit.kernels import Linear
    >>> certificate = fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1], kernel=Linear()).solutions[0].certificate
    >>> certificate.dual <= certificate.primal
    True
    """

    primal: float
    dual: float | None
    gap: float | None
    gradient: np.ndarray | None = field(default=None, repr=False, compare=False)
    bias: float | None = None
    beta: np.ndarray | None = field(default=None, repr=False, compare=False)
    rounding: float = 0.0
    flaw: str | None = None

    @classmethod
    def from_values(
        cls,
        primal: float,
        dual: float,
        gradient: np.ndarray | None = None,
        bias: float | None = None,
        *,
        errors: tuple[float, float] = (0.0, 0.0),
        flaw: str | None = None,
    ) -> Certificate:
        """Return the certificate of P and D from their computed values.

        Parameters
        ----------
        primal, dual : float
            P and D.
        gradient : ndarray of float64, shape (m,), default=None
            The gradient or the margins.
        bias : float, default=None
            The best bias.
        errors : tuple of two floats, default=(0.0, 0.0)
            Bounds on the rounding errors of P, which the gap includes, and of D, which is lowered by it.
        flaw : str, default=None
            Why D is not a lower bound.

        Returns
        -------
        Certificate
            Without D and gap if there is a flaw, if a number is not finite, or if P lies below D by more than the
            errors. The gap is the largest one that P and D can have within the errors, 0.0 where both are 0.
        """
        of_primal, of_dual = errors
        least = max(abs(primal) - of_primal, abs(dual) - of_dual)  # of max(|P|, |D|)
        dual -= of_dual
        if flaw is None:
            flaw = _flaw(primal, dual, of_primal)
        if flaw is not None:
            return cls(primal, None, None, gradient, bias, flaw=flaw)
        difference = primal + of_primal - dual
        if difference <= 0.0:
            return cls(primal, dual, 0.0, gradient, bias)
        most = 1.0 if dual >= 0.0 else 2.0  # of (P - D) / max(|P|, |D|)
        gap = min(most, difference / least) if least > 0.0 else most
        size = max(abs(primal), abs(dual))
        rounding = min(gap, (of_primal + of_dual) / size) if size > 0.0 else gap  # P = D = 0: all of it is rounding
        return cls(primal, dual, gap, gradient, bias, rounding=rounding)

    @classmethod
    def from_many(cls, values: np.ndarray, gradients: list[np.ndarray], biases: list[float]) -> list[Certificate]:
        """Return the result of `from_values` for each of many points, in a fraction of the time.

        Parameters
        ----------
        values : ndarray of shape (n, 4), float64
            P and D as computed, and bounds on their rounding errors.
        gradients, biases : list of ndarray, list of float
            The gradient and the best bias of each point.
        """
        made = list[Certificate]()
        for k, (primal, dual, of_primal, of_dual) in enumerate(values.tolist()):
            P, D, proven = abs(primal), abs(dual), dual - of_dual
            least, difference = max(P - of_primal, D - of_dual), primal + of_primal - proven
            if 0.0 < difference < math.inf and 0.0 < least < math.inf:
                one = object.__new__(cls)  # the constructor of a frozen class takes as long as all the rest
                gap = min(1.0 if proven >= 0.0 else 2.0, difference / least)
                rounding = min(gap, (of_primal + of_dual) / max(P, abs(proven)))
                fields = {"primal": primal, "dual": proven, "gap": gap, "gradient": gradients[k], "bias": biases[k]}
                vars(one).update(fields, beta=None, rounding=rounding, flaw=None)
            else:
                one = cls.from_values(primal, dual, gradients[k], biases[k], errors=(of_primal, of_dual))
            made.append(one)
        return made

    @property
    def is_exhausted(self) -> bool:
        """Whether rounding errors make up most of the gap, so that no further step can lower it much."""
        return self.gap is not None and is_rounding(self.gap, self.rounding)


def is_rounding(gap: float, rounding: float) -> bool:
    """Return whether at least half of a gap > 0 bounds rounding errors."""
    return 0.0 < gap <= 2.0 * rounding


def _flaw(primal: float, dual: float, of_primal: float) -> str | None:
    """Return why these values prove nothing, or None if they do."""
    if not math.isfinite(primal):
        return "the objective overflows; scale the features or choose a smaller C"
    if not math.isfinite(dual) or not math.isfinite(of_primal):
        return "rounding errors exceed all bounds; scale the features or choose a smaller C"
    if dual > primal + of_primal:
        return "the objective lies below its lower bound, so the kernel is not positive semidefinite on these data"
    return None


def relative_gap(gap: float, dual: float) -> float:
    """Return the relative gap (P - D) / max(|P|, |D|) of an estimate of P - D, and D; inf for an unknown gap."""
    return gap / max(abs(dual), abs(gap + dual), 1e-300) if gap < math.inf else math.inf


class Bound(NamedTuple):
    """A computed lower bound on the optimum, a bound on its rounding error, and the dual weights (m,) behind it."""

    dual: float
    beta: np.ndarray
    error: float = 0.0

    @property
    def proven(self) -> float:
        """The lower bound on the optimum."""
        return self.dual - self.error
