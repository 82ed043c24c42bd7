"""P, D and their rounding errors for the certificate of any loss: of piecewise linear-quadratic ones in compiled sums.

The sums are over samples, so that sums over parts of the samples, on the workers of a cluster say, can be added.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from svmkit.kernels.rounding import TINY, product_error
from svmkit.losses.terms import LogisticTerms, Terms, dual_weights, entropies, loss_values
from svmkit.problems.rounding import bias_of_bounds, entropy_error
from svmkit.problems.rounding import exact_sum as _exact_sum
from svmkit.runtime.compiling import INLINED, njit

ROUNDINGS = 6.0  # of a loss from its residual, at most
exact_sum = njit(**INLINED)(_exact_sum)


@njit(**INLINED)
def softplus(z, small):
    """Return log(1 + exp(z)), the logistic loss at a slack z, for `small` = exp(-|z|)."""
    return max(z, 0.0) + math.log1p(small)


@njit(**INLINED)
def sigmoid(z, small):
    """Return 1 / (1 + exp(-z)), the derivative of `softplus`, for `small` = exp(-|z|)."""
    return (1.0 if z >= 0.0 else small) / (1.0 + small)


class Record(NamedTuple):
    """`svmkit.losses.Terms` of m samples for weights that are turned: a weight is signs_i times the signed one.

    Weights that may have one sign only are turned to be >= 0, as in C-SVC; the target is not turned. Arrays of float64,
    shape (m,).
    """

    signs: np.ndarray
    target: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    kink_up: np.ndarray
    kink_down: np.ndarray
    ridge_up: np.ndarray
    ridge_down: np.ndarray

    @classmethod
    def from_terms(cls, terms: Terms) -> Record:
        """Return the record of a loss; it turns weights if each may have one sign only."""
        turned = terms.lower < 0.0
        # `any` takes three times as long, which matters in a fit of a millisecond
        if isinstance(terms, LogisticTerms):
            cls = LogisticRecord
        if not np.count_nonzero(turned) or np.count_nonzero(turned & (terms.upper > 0.0)):
            return cls(np.ones(len(terms.target)), *terms)
        signs, lower, upper = 1.0 - 2.0 * turned, np.zeros(len(turned)), terms.upper - terms.lower  # one of them is 0
        kinks = _turn(turned, terms.kink_up, terms.kink_down)
        return cls(signs, terms.target, lower, upper, *kinks, *_turn(turned, terms.ridge_up, terms.ridge_down))

    def totals(self, beta: np.ndarray, diag: np.ndarray, centre: float) -> Totals:
        """Return the totals of a point.

        Parameters
        ----------
        beta, diag, centre : ndarray, ndarray, float
            As for `values_at`.
        """
        return Totals(*_totals_of(self, beta, diag, centre))

    def losses(self, h: np.ndarray, centre: float, biases: np.ndarray) -> np.ndarray:
        """Return the sum of the losses for each of some biases, float64 (k,).

        Parameters
        ----------
        h : ndarray of float64, shape (m,)
            The decision values without a bias.
        centre : float
            What is subtracted from all targets.
        biases : ndarray of float64, shape (k,)
            The biases.
        """
        return _losses_at(self, h, centre, biases)

    def sums(self, h: np.ndarray, beta: np.ndarray, *, centre: float, bias: float, error: float, unit: float) -> Sums:
        """Return the sums of a point.

        Parameters
        ----------
        h, beta, centre, bias, error, unit : ndarray, ndarray, float, float, float, float
            As for `values_at`; h and bias together have errors of at most `error`.
        """
        return Sums(*_sums_of(self, h, beta, centre, bias, error, unit))


class LogisticRecord(Record):
    """`svmkit.losses.LogisticTerms` of m samples, whose weights are turned such that they are >= 0."""

    __slots__ = ()

    @property
    def terms(self) -> LogisticTerms:
        """The terms of the weights with their signs."""
        return LogisticTerms.from_bound(self.signs * (self.upper + self.lower))._replace(target=self.target)

    def totals(self, beta: np.ndarray, diag: np.ndarray, centre: float) -> Totals:
        """Return the totals of a point, with the summed bounds of the weights above 0 and below.

        Parameters
        ----------
        beta, diag, centre : ndarray, ndarray, float
            As for `Record.totals`.
        """
        terms = self.terms
        return super().totals(beta, diag, centre)._replace(up=float(terms.upper.sum()), down=-float(terms.lower.sum()))

    def losses(self, h: np.ndarray, centre: float, biases: np.ndarray) -> np.ndarray:
        """Return the sum of the logistic losses for each of some biases, float64 (k,).

        Parameters
        ----------
        h, centre, biases : ndarray, float, ndarray
            As for `Record.losses`.
        """
        return _logistic_losses_at(self.signs * (self.upper + self.lower), self.target - centre - h, biases)

    def sums(self, h: np.ndarray, beta: np.ndarray, *, centre: float, bias: float, error: float, unit: float) -> Sums:
        """Return the sums of a point, with the entropies of its weights in place of kinks and ridges.

        Parameters
        ----------
        h, beta, centre, bias, error, unit : ndarray, ndarray, float, float, float, float
            As for `Record.sums`.
        """
        terms, signed = self.terms, self.signs * beta
        target, of_target = _exact_sum(terms.target, -centre)
        e, of_e = _exact_sum(target, -h - bias)
        error = error + np.abs(of_target) + np.abs(of_e) + unit * np.abs(h + bias)
        toward = np.where(terms.bound > 0.0, error, -error)  # where the loss is larger
        loss, phi, reach = float(loss_values(terms, e).sum()), entropies(terms, signed), target * signed
        return Sums(
            norm=float(signed @ h),
            size=float(np.abs(signed) @ np.abs(h)),
            reach=float(reach.sum()),
            reach_size=float(np.abs(reach).sum()),
            ridged=2.0 * float(phi.sum()),
            balance=float(signed.sum()),
            loss=loss,
            off=float(np.abs(dual_weights(terms, e + toward)) @ error) + ROUNDINGS * unit * loss,
            of_phi=2.0 * entropy_error(phi),  # of terms that are below 0
        )


def _turn(turned: np.ndarray, up: np.ndarray, down: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the values above and below 0 after some weights are turned; one array if they are equal."""
    return (up, up) if up is down else (np.where(turned, down, up), np.where(turned, up, down))


class Bounds(NamedTuple):
    """The facts about a Gram and float64 on which the rounding errors of a certificate depend."""

    value: float  # a bound on the error of a kernel value
    largest: float  # a bound on the absolute value of a kernel value
    panel: int  # number of products that are summed together, as for `svmkit.kernels.rounding.product_error`
    shift: float  # `svmkit.kernels.gram.semidefinite.Definiteness.shift`
    unit: float  # the unit roundoff


class Values(NamedTuple):
    """The contents of a certificate before it is known whether the kernel is positive semidefinite."""

    primal: float  # P and D as computed
    dual: float
    of_primal: float  # bounds on their rounding errors, that of the equality constraint included
    of_dual: float
    norm: float  # sum beta_i h_i, which is |w|^2


_product_error = njit(**INLINED)(product_error)


@njit(**INLINED)
def _sum_error(m, size, unit):
    """Return `svmkit.problems.rounding.dot_error` of m products whose absolute values have the sum `size`."""
    return (m + 1) * (unit * size + TINY) if size != 0.0 else 0.0


class Totals(NamedTuple):
    """Facts about a point that bound the error of each decision value; those of parts of the samples can be joined."""

    m: int
    support: int  # number of weights that are not 0
    total: float  # the sum and the largest of the absolute values of the weights
    most: float
    widest: float  # the largest k(x, x)
    farthest: float  # the largest absolute value of a target less the centre, and its kink
    up: float = 0.0  # of logistic losses, the summed bounds of the weights above 0, and below
    down: float = 0.0

    @classmethod
    def join(cls, parts: Sequence[Totals]) -> Totals:
        """Return the totals of all samples from those of parts."""
        m, support, total, most, widest, farthest, up, down = zip(*parts, strict=True)
        largest = max(most), max(widest), max(farthest)
        return cls(sum(m), sum(support), math.fsum(total), *largest, math.fsum(up), math.fsum(down))

    @property
    def reach(self) -> float:
        """A bound on the best free bias of decisions that are 0, `svmkit.problems.rounding.bias_reach`."""
        return self.farthest + (bias_of_bounds(self.up, self.down) if self.up and self.down else 0.0)


class Sums(NamedTuple):
    """Sums over samples from which P, D and their errors follow; sums over parts of the samples can be added."""

    norm: float  # sum beta_i h_i, and the sum of the absolute values of its terms
    size: float
    reach: float  # sum target_i beta_i less the kinks, and the sum of the absolute values of its terms
    reach_size: float
    ridged: float  # sum ridge_i beta_i^2
    balance: float  # sum beta_i
    loss: float  # the summed losses, and a bound on their errors that come from those of the residuals
    off: float
    of_phi: float = 0.0  # a bound on the errors of phi, of logistic losses, beside those of a sum of squares

    @classmethod
    def join(cls, parts: Sequence[Sums]) -> Sums:
        """Return the sums over all samples from those over parts."""
        return cls(*(math.fsum(terms) for terms in zip(*parts, strict=True)))


@njit(**INLINED)
def _totals(record, beta, diag, centre):
    m, support, total, most, widest, farthest = beta.size, 0, 0.0, 0.0, 0.0, 0.0
    for i in range(m):
        weight = abs(beta[i])
        total += weight
        most = weight if weight > most else most
        support += weight != 0.0
        widest = diag[i] if diag[i] > widest else widest
        offset = record.kink_up[i] if record.kink_up[i] > record.kink_down[i] else record.kink_down[i]
        far = abs(record.target[i] - centre) + offset
        farthest = far if far > farthest else farthest
    return m, support, total, most, widest, farthest


@njit(**INLINED)
def _error_of_h(support, total, most, bounds):
    # for the nearest kernel matrix that is positive semidefinite
    return _product_error(bounds.value, bounds.largest, bounds.panel, support, total) + bounds.shift * most


@njit(**INLINED)
def _one_side(residual, error, offset, ridge, limit):
    """Return the loss of one side of a sample and a bound on its error, for a residual with an error."""
    over, last = exact_sum(residual, -offset)
    error = (error + abs(last)) * (1.0 + 1e-15)
    loss = moved = 0.0
    if not over <= 0.0:  # a residual that is not a number remains
        best = limit if not over < ridge * limit else over / ridge
        loss = best * (over - 0.5 * ridge * best)
    if limit > 0.0 and not over <= -error:
        above = (over if over > 0.0 else 0.0) + error
        moved = error * (limit if not above < ridge * limit else above / ridge)
    return loss, moved


@njit(**INLINED)
def _sums(record, h, beta, centre, bias, of_e, unit):
    norm = size = reach = reach_size = ridged = balance = loss = off = 0.0
    for i in range(beta.size):
        sign, image, weight = record.signs[i], h[i], beta[i]
        target, e1 = exact_sum(record.target[i], -centre)
        value, e2 = exact_sum(image, bias)
        residual, e3 = exact_sum(target, -value)
        error = of_e + abs(e1) + abs(e2) + abs(e3)
        own, moved = _one_side(sign * residual, error, record.kink_up[i], record.ridge_up[i], record.upper[i])
        loss += own
        off += moved
        if record.lower[i] < 0.0:
            own, moved = _one_side(-sign * residual, error, record.kink_down[i], record.ridge_down[i], -record.lower[i])
            loss += own
            off += moved
        if weight != 0.0:
            norm += weight * sign * image
            size += abs(weight * image)
            offset, ridge = record.kink_up[i], record.ridge_up[i]
            if weight < 0.0:
                offset, ridge = record.kink_down[i], record.ridge_down[i]
            reach += weight * (sign * target) - offset * abs(weight)
            reach_size += abs(weight) * (abs(target) + offset)
            ridged += weight * (weight * ridge)
            balance += sign * weight
    return norm, size, reach, reach_size, ridged, balance, loss, off


@njit(**INLINED)
def _values(totals, sums, bias, total, is_free, of_h, unit):
    m, _, weights, _, widest, farthest = totals
    norm, size, reach, reach_size, ridged, balance, loss, off = sums
    shift = bias * total  # of the one-class SVM, whose weights sum to `total`
    primal = 0.5 * norm + loss + shift
    dual = reach - 0.5 * (norm + ridged)
    of_norm, of_sum = weights * of_h + _sum_error(m, size, unit), _sum_error(m, weights, unit)
    of_loss = _sum_error(m, loss, unit) + ROUNDINGS * unit * loss
    of_primal = 0.5 * of_norm + off + of_loss + 4.0 * unit * (abs(primal) + abs(shift))
    of_dual = 0.5 * of_norm + 2.0 * _sum_error(m, reach_size, unit) + _sum_error(m, ridged, unit)
    of_dual += 4.0 * unit * (abs(norm) + ridged + abs(dual))
    if is_free:
        # a sum of weights other than `total` moves D by its product with the bias of the optimum: some residual is
        # within the kinks from above and one from below, and |h| is at most |w| max |phi| there
        least = 2.0 * (primal if primal > 0.0 else 0.0) if total == 0.0 else 4.0 * (norm if norm > 0.0 else 0.0)
        largest = farthest + math.sqrt(least * widest)
        of_dual += (abs(balance - total) + of_sum + 4.0 * unit * total) * largest
    else:
        square = 0.5 * balance * balance
        primal, dual = primal + square, dual - square
        of_square = 2.0 * unit * square + of_sum * (abs(balance) + of_sum)
        of_primal += 2.0 * of_square  # the bias of the model is the same sum in another order
        of_dual += of_square
    return primal, dual, of_primal, of_dual, norm


@njit(nogil=True, cache=True)
def values_at(record, h, beta, diag, centre, bias, of_bias, total, is_free, bounds):
    """Return the fields of the `Values` of a point from h without the bias, beta and the diagonal of K, each (m,).

    `centre` is subtracted from all targets; the bias, with an error of at most `of_bias`, is that for such targets. The
    signed weights sum to `total` where the bias is free, that is not regularised.
    """
    totals = _totals(record, beta, diag, centre)
    of_h = _error_of_h(totals[1], totals[2], totals[3], bounds)
    sums = _sums(record, h, beta, centre, bias, of_h + of_bias, bounds.unit)
    return _values(totals, sums, bias, total, is_free, of_h, bounds.unit)


@njit(nogil=True, cache=True)
def _totals_of(record, beta, diag, centre):
    return _totals(record, beta, diag, centre)


@njit(nogil=True, cache=True)
def error_of_h(totals, bounds):
    """Return a bound on the error of each decision value, from the `Totals` of all samples and the `Bounds`."""
    return _error_of_h(totals.support, totals.total, totals.most, bounds)


@njit(nogil=True, cache=True)
def _sums_of(record, h, beta, centre, bias, of_e, unit):
    return _sums(record, h, beta, centre, bias, of_e, unit)


def values_of(totals: Totals, sums: Sums, bias: float, of_h: float, unit: float, *, total=0.0, is_free=True) -> Values:
    """Return the `Values` of a point from the totals of all samples, and from their sums, added up in any order.

    Parameters
    ----------
    totals, sums, bias, of_h, unit, total, is_free
        Those of all samples, what `error_of_h` returns, the unit roundoff; the others as for `values_at`.
    """
    values = getattr(_values, "py_func", _values)  # itself where nothing is compiled
    facts = totals.m, totals.support, totals.total, totals.most, totals.widest, totals.reach
    known = Values(*values(facts, tuple(sums)[:-1], bias, total, is_free, of_h, unit))
    return known._replace(of_dual=known.of_dual + sums.of_phi)


@njit(nogil=True, cache=True)
def _losses_at(record, h, centre, biases):
    out = np.zeros(biases.size)
    for i in range(h.size):  # each sample is read once, since reading takes longer than its losses
        sign, distance = record.signs[i], record.target[i] - centre - h[i]
        offset, ridge, limit, below = record.kink_up[i], record.ridge_up[i], record.upper[i], -record.lower[i]
        for k in range(biases.size):
            residual = sign * (distance - biases[k])
            out[k] += _one_side(residual, 0.0, offset, ridge, limit)[0]
            if below > 0.0:
                out[k] += _one_side(-residual, 0.0, record.kink_down[i], record.ridge_down[i], below)[0]
    return out


@njit(nogil=True, cache=True)
def _logistic_losses_at(bound, away, biases):
    """Return the sums of logistic losses with these signed bounds at the residuals `away` (m,) less each bias (k,)."""
    out = np.zeros(biases.size)
    for i in range(away.size):
        for k in range(biases.size):
            e = away[i] - biases[k]
            out[k] += abs(bound[i]) * softplus(e if bound[i] > 0.0 else -e, math.exp(-abs(e)))
    return out


def logistic_values(record: LogisticRecord, h, beta, diag, bias, of_bias, is_free, bounds: Bounds) -> Values:
    """Return the `Values` of a point with logistic losses.

    Parameters
    ----------
    record, h, beta, diag, bias, of_bias, is_free, bounds
        As for `values_at`; targets do not count from a centre.
    """
    totals = record.totals(beta, diag, 0.0)
    of_h = error_of_h(totals, bounds)
    sums = record.sums(h, beta, centre=0.0, bias=bias, error=of_h + of_bias, unit=bounds.unit)
    return values_of(totals, sums, bias, of_h, bounds.unit, is_free=is_free)


@njit(cache=True, nogil=True, error_model="numpy")
def find_level(h, ridge):
    """Return what `svmkit.problems.simplex.level_of` does."""
    n, level = h.size + 1, 0.0
    while True:  # Newton's method from above: points leave, and none comes back
        inside, total, weighted = 0, 0.0, 1.0
        for i in range(h.size):
            if n > h.size or h[i] < level:
                inverse = 1.0 / ridge[i]
                total += inverse
                weighted += inverse * h[i]
                inside += 1
        if not 0 < inside < n:
            return level
        n, level = inside, weighted / total
