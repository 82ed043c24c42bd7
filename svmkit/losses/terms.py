"""Six numbers per sample: every piecewise linear-quadratic loss, its conjugate and its derivatives in closed form.

With one signed weight beta_i per sample and residuals e_i = target_i - h_i, the dual of min 1/2 |w|^2 + sum L_i(e_i) is

    min  1/2 beta'K beta - target'beta + sum phi_i(beta_i)  over  lower_i <= beta_i <= upper_i
    phi(beta) = kink_up beta_+ + kink_down beta_- + 1/2 ridge_up beta_+^2 + 1/2 ridge_down beta_-^2

with sum beta = 0 if the bias is free. The loss is the conjugate of phi: L(e) = max over beta of beta e - phi(beta). The
maximiser is the derivative of L and the weight that a primal point suggests. The logistic loss has an entropy as phi
(`LogisticTerms`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Terms(NamedTuple):
    """The dual of a loss on m samples, costs included: arrays of float64, shape (m,).

    Attributes
    ----------
    target : ndarray
        The labels -1.0 or +1.0, or the targets of regression; 0 for logistic losses.
    lower, upper : ndarray
        Bounds of the signed weight, lower <= 0 <= upper; -inf and inf where there is none.
    kink_up, kink_down : ndarray
        Slopes of phi beside beta = 0, in units of the target: upwards and downwards.
    ridge_up, ridge_down : ndarray
        Curvatures of phi above and below beta = 0, >= 0. A side without a bound has a ridge > 0.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.losses import Quantile
    >>> Quantile(tau=0.9).terms(np.array([2.0]), np.array([10.0])).upper
    array([9.])
    """

    target: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    kink_up: np.ndarray
    kink_down: np.ndarray
    ridge_up: np.ndarray
    ridge_down: np.ndarray

    @classmethod
    def fill(cls, target, *, lower, upper, kink_up=0.0, kink_down=0.0, ridge_up=0.0, ridge_down=0.0) -> Terms:
        """Return terms for a target (m,), with numbers repeated for all samples.

        Parameters
        ----------
        target : ndarray of float64, shape (m,)
            The targets.
        lower, upper, kink_up, kink_down, ridge_up, ridge_down : float or ndarray of shape (m,)
            As the attributes; an omitted kink or ridge is 0.
        """
        m = len(target)
        up, ridge = _column(kink_up, m), _column(ridge_up, m)
        down = up if kink_down is kink_up else _column(kink_down, m)  # one array for both says that they are equal
        below = ridge if ridge_down is ridge_up else _column(ridge_down, m)
        return cls(target, _column(lower, m), _column(upper, m), up, down, ridge, below)


class LogisticTerms(Terms):
    """The dual of a logistic loss U log(1 + exp(s e)): its phi is an entropy, without ridge and kink.

    A weight beta = s a has the sign s of its bound U, which is `upper` or -`lower`, the other one being 0, and

        phi(beta) = a log(a / U) + (U - a) log((U - a) / U),  0 <= a <= U

    (Yu, Huang, Lin 2011, equation 4). The ridges are nan, so that code which treats phi as quadratic gets no number.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.losses import Logistic, loss_values
    >>> terms = Logistic().terms(np.array([1.0, -1.0]), np.array([2.0, 2.0]))
    >>> terms.lower.tolist(), terms.upper.tolist(), loss_values(terms, np.zeros(2)).round(4).tolist()
    ([0.0, -2.0], [2.0, 0.0], [1.3863, 1.3863])
    """

    __slots__ = ()

    @classmethod
    def from_bound(cls, bound: np.ndarray) -> LogisticTerms:
        """Return the terms for bounds (m,) with the signs of the weights, and targets of 0."""
        nothing = np.full(len(bound), np.nan)
        given = {"lower": np.minimum(bound, 0.0), "upper": np.maximum(bound, 0.0)}
        return cls.fill(np.zeros(len(bound)), **given, ridge_up=nothing, ridge_down=nothing)  # type: ignore[return-value]

    @property
    def bound(self) -> np.ndarray:
        """The bound of each weight with its sign, shape (m,)."""
        return self.upper + self.lower


def _column(number: float | np.ndarray, m: int) -> np.ndarray:
    if isinstance(number, np.ndarray) and number.shape == (m,):
        return number.astype(np.float64, copy=False)
    if isinstance(number, float):
        if number == 0.0:
            return np.zeros(m)  # whose pages the system allocates when they are read
        column = np.empty(m)
        column.fill(number)
        return column
    return np.full(m, number, dtype=np.float64)


def dual_weights(terms: Terms, e: np.ndarray) -> np.ndarray:
    """Return the weights (m,) that maximise beta e - phi(beta), which are the derivatives of the losses at e (m,).

    Parameters
    ----------
    terms : Terms
        The terms of m samples.
    e : ndarray of float64, shape (m,)
        The residuals, target - h.

    Returns
    -------
    ndarray of float64, shape (m,)
        0 if e lies between the kinks; the bound if a side without a ridge is entered.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.losses import Huber, dual_weights
    >>> terms = Huber(delta=1.0).terms(np.zeros(3), np.ones(3))
    >>> dual_weights(terms, np.array([-5.0, 0.25, 5.0]))
    array([-2. ,  0.5,  2. ])
    """
    if isinstance(terms, LogisticTerms):
        small = np.exp(-np.abs(e))
        return terms.bound * np.where(np.sign(terms.bound) * e < 0.0, small, 1.0) / (1.0 + small)
    above, below = np.maximum(e - terms.kink_up, 0.0), np.maximum(-e - terms.kink_down, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.where(above > 0.0, np.minimum(above / terms.ridge_up, terms.upper), 0.0)
        down = np.where(below > 0.0, np.minimum(below / terms.ridge_down, -terms.lower), 0.0)
    return up - down


def curvatures(terms: Terms, e: np.ndarray) -> np.ndarray:
    """Return the second derivatives of the losses, float64 (m,), at the residuals e (m,).

    Parameters
    ----------
    terms : Terms
        The terms of m samples.
    e : ndarray of float64, shape (m,)
        The residuals, target - h.

    Returns
    -------
    ndarray of float64, shape (m,)
        1 / ridge if the weight that e suggests is not 0 and lies between its bounds, else 0: also at a jump of the
        derivative, where no second derivative exists.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.losses import Huber, curvatures
    >>> curvatures(Huber(delta=1.0).terms(np.zeros(3), np.ones(3)), np.array([-5.0, 0.25, 5.0]))
    array([0., 2., 0.])
    """
    if isinstance(terms, LogisticTerms):
        small = np.exp(-np.abs(e))
        return np.abs(terms.bound) * small / np.square(1.0 + small)
    beta = dual_weights(terms, e)
    ridge = np.where(beta > 0.0, terms.ridge_up, terms.ridge_down)
    inside = (beta != 0.0) & (beta > terms.lower) & (beta < terms.upper) & (ridge > 0.0)
    return np.divide(1.0, ridge, where=inside, out=np.zeros(len(beta)))


def loss_values(terms: Terms, e: np.ndarray) -> np.ndarray:
    """Return the losses, float64 (m,), costs included, at the residuals e (m,).

    Parameters
    ----------
    terms : Terms
        The terms of m samples.
    e : ndarray of float64, shape (m,)
        The residuals, target - h.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.losses import Hinge, loss_values
    >>> y, h = np.array([1.0, -1.0]), np.array([0.25, -3.0])
    >>> loss_values(Hinge().terms(y, np.array([2.0, 2.0])), y - h)
    array([1.5, 0. ])
    """
    if isinstance(terms, LogisticTerms):
        slack = np.sign(terms.bound) * e
        return np.abs(terms.bound) * (np.maximum(slack, 0.0) + np.log1p(np.exp(-np.abs(slack))))
    beta = dual_weights(terms, e)
    above, below = np.maximum(e - terms.kink_up, 0.0), np.maximum(-e - terms.kink_down, 0.0)
    up, down = np.maximum(beta, 0.0), np.maximum(-beta, 0.0)
    return up * (above - 0.5 * terms.ridge_up * up) + down * (below - 0.5 * terms.ridge_down * down)


def conjugates(terms: Terms, beta: np.ndarray) -> np.ndarray:
    """Return phi, float64 (m,), at the weights beta (m,); inf outside of the bounds.

    Parameters
    ----------
    terms : Terms
        The terms of m samples.
    beta : ndarray of float64, shape (m,)
        Signed dual weights.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.losses import EpsilonInsensitive, conjugates
    >>> terms = EpsilonInsensitive(0.5).terms(np.zeros(2), np.ones(2))
    >>> conjugates(terms, np.array([-1.0, 2.0]))
    array([0.5, inf])
    """
    if isinstance(terms, LogisticTerms):
        return np.where((beta >= terms.lower) & (beta <= terms.upper), entropies(terms, beta), np.inf)
    up, down = np.maximum(beta, 0.0), np.maximum(-beta, 0.0)
    phi = up * (terms.kink_up + 0.5 * terms.ridge_up * up) + down * (terms.kink_down + 0.5 * terms.ridge_down * down)
    return np.where((beta >= terms.lower) & (beta <= terms.upper), phi, np.inf)


def entropies(terms: LogisticTerms, beta: np.ndarray) -> np.ndarray:
    """Return the entropies phi <= 0 (m,) of weights beta (m,) within their bounds, with small relative errors."""
    bound = np.abs(terms.bound)
    size = np.clip(np.abs(beta), 0.0, bound)
    less = np.minimum(size, bound - size)
    share = np.divide(less, bound, where=bound > 0.0, out=np.zeros(len(bound)))
    log = np.log(share, where=share > 0.0, out=np.zeros(len(bound)))
    return less * log + (bound - less) * np.log1p(-share)
