"""Checks on loss plugins: the record of numbers a sample against the definition, on random points and on ties."""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

import numpy as np

from svmkit.conformance.result import Check, check
from svmkit.errors import InputError
from svmkit.losses.base import Family, Loss
from svmkit.losses.terms import LogisticTerms, Terms, conjugates, dual_weights, loss_values
from svmkit.tasks import task_named

TOL = 1e-10  # tolerance of comparisons of values
TRIED = -1.0, 0.0, 1.0, 2.0, math.inf, math.nan, "wide"  # values of a numeric option


class Points(NamedTuple):
    """Samples at which a loss is examined; all arrays are (m,)."""

    target: np.ndarray
    h: np.ndarray  # decision values
    C: np.ndarray
    terms: Terms
    e: np.ndarray  # residuals: the target of the record less h
    values: np.ndarray  # the losses by their definition, including costs
    noise: np.ndarray  # rounding error of a value


def points(loss: Loss, m: int = 300, seed: int = 0) -> Points:
    """Return m random samples of all sizes, and residuals at each place where a piece of the loss ends."""
    rng = np.random.default_rng(seed)
    target = np.where(rng.random(m) < 0.5, 1.0, -1.0) if task_named(loss.task).has_classes else rng.normal(size=m)
    C = 10.0 ** rng.uniform(-3.0, 3.0, m)
    terms = loss.terms(target, C)
    with np.errstate(invalid="ignore", over="ignore"):
        reach_up, reach_down = terms.ridge_up * terms.upper, terms.ridge_down * -terms.lower
        ends = terms.kink_up, -terms.kink_down, terms.kink_up + reach_up, -terms.kink_down - reach_down, np.zeros(m)
    e = rng.normal(size=m) * 10.0 ** rng.choice([-3.0, 0.0, 0.0, 3.0], m)
    which = rng.integers(0, 2 * len(ends), m)
    for k, end in enumerate(ends):
        e = np.where((which == k) & np.isfinite(end), end, e)
    h = terms.target - e
    e = terms.target - h
    values = C * loss.value(target, h)
    noise = TOL * (np.abs(values) + np.abs(dual_weights(terms, e)) * (np.abs(target) + np.abs(h)))
    return Points(target, h, C, terms, e, values, noise + 1e-12 * C)


def _first(wrong: np.ndarray, at: Points, words: str, *numbers: np.ndarray) -> str | None:
    """Return words with its numbers for the first wrong sample; None if there is none."""
    if not wrong.any():
        return None
    i = int(np.argmax(wrong))
    said = words.format(*(number[i] for number in numbers))
    return f"target {at.target[i]:.6g}, h {at.h[i]:.6g}, C {at.C[i]:.6g}: {said}"


def _convex(loss: Loss) -> str | None:
    """value(target, h) is float64 of the shape of h, finite and >= 0, and no value lies above the line between two."""
    at = points(loss)
    value = loss.value(at.target, at.h)
    if value.shape != at.h.shape or value.dtype != np.float64:
        return f"value should be float64 of shape {at.h.shape}, not {value.dtype} of {value.shape}"
    if not (value >= 0.0).all() or not np.isfinite(value).all():
        return f"values should be finite and >= 0, not {value.min():g} to {value.max():g}"
    for seed in range(1, 20):
        rng = np.random.default_rng(seed)
        other, share = at.h + rng.normal(size=len(at.h)) * 10.0 ** rng.uniform(-3.0, 3.0), rng.random(len(at.h))
        ends = share * value + (1.0 - share) * loss.value(at.target, other)
        between = loss.value(at.target, share * at.h + (1.0 - share) * other)
        words = "between two h it is {:.9g}, above their line, {:.9g}"
        reason = _first(between > ends + TOL * (1.0 + ends), at, words, between, ends)
        if reason:
            return reason
    return None


def _well_formed(loss: Loss) -> str | None:
    """Each of the six numbers is float64 of the shape of the target, lower <= 0 <= upper, ridges are >= 0, a side
    without a bound has a ridge, and `family` says which of them there are.
    """
    at = points(loss)
    terms = at.terms
    is_logistic = isinstance(terms, LogisticTerms)
    if is_logistic is not (loss.family is Family.LOGISTIC):
        return f"its family is {loss.family.name}, and its record {type(terms).__name__}"
    for name, number in terms._asdict().items():
        if is_logistic and name.startswith("ridge"):
            continue
        if number.shape != at.h.shape or number.dtype != np.float64 or np.isnan(number).any():
            return f"{name} should be float64 of shape {at.h.shape} without nan"
    if not np.array_equal(terms.target, np.zeros(len(at.h)) if is_logistic else at.target):
        return "target is not 0, from which logistic losses count" if is_logistic else "target is not the given one"
    if (terms.lower > 0.0).any() or (terms.upper < 0.0).any():
        return "the bounds do not hold 0: lower <= 0 <= upper"
    if isinstance(terms, LogisticTerms):
        fits = (np.sign(terms.bound) == at.target) & (terms.lower * terms.upper == 0.0)
        return None if fits.all() else "a weight of a logistic loss has the sign of its label, and one bound"
    for side, most, ridge in (("up", terms.upper, terms.ridge_up), ("down", -terms.lower, terms.ridge_down)):
        used = most > 0.0
        if (ridge < 0.0).any():
            return f"ridge_{side} is below 0"
        bounded, ridged = np.isfinite(most[used]), ridge[used] > 0.0
        fits = {
            Family.BOUNDED: bounded & ~ridged,
            Family.RIDGED: ~bounded & ridged,
            Family.SMOOTH: bounded & ridged,
        }[loss.family]
        if not fits.all():
            return f"its family is {loss.family.name}, but bounds and ridge_{side} are of another one"
    return None


def _conjugate(loss: Loss) -> str | None:
    """The closed form of the record equals C times value, also where its pieces meet, and beta (t - h) is never above C
    value + phi(beta) (Fenchel and Young).
    """
    at = points(loss)
    values = loss_values(at.terms, at.e)
    words = "the record gives {:.9g}, C times value is {:.9g}"
    reason = _first(np.abs(values - at.values) > at.noise, at, words, values, at.values)
    for seed in range(20):
        if reason:
            return reason
        beta = _weights(at.terms, np.random.default_rng(seed))
        phi = conjugates(at.terms, beta)
        product = beta * at.e
        above = product - phi > at.values + at.noise + TOL * np.abs(product)
        words = "beta e = {:.9g} is above the loss {:.9g} + phi(beta) {:.9g}"
        reason = _first(above, at, words, product, at.values, phi)
    return reason


def _weights(terms: Terms, rng: np.random.Generator) -> np.ndarray:
    """Return random weights within their bounds, some of them at a bound or at 0."""
    m = len(terms.target)
    size = np.where(np.isfinite(terms.upper - terms.lower), terms.upper - terms.lower, 10.0 ** rng.uniform(-3, 3))
    return np.clip(rng.choice([0.0, 1.0], m, p=[0.1, 0.9]) * rng.normal(size=m) * size, terms.lower, terms.upper)


def _derivative(loss: Loss) -> str | None:
    """At every residual the maximiser beta* of beta e - phi(beta) is the slope of a line below the loss."""
    at = points(loss)
    beta = dual_weights(at.terms, at.e)
    for step in (-1.0, -1e-2, -1e-4, 1e-4, 1e-2, 1.0):
        moved = at.h - step  # e + step
        line, there = at.values + beta * (at.h - moved), at.C * loss.value(at.target, moved)
        words = "beta* = {:.9g} is no slope: " + f"{step:g} away in t - h " + "its line has {:.9g}, and the loss {:.9g}"
        reason = _first(line > there + at.noise + TOL * np.abs(there), at, words, beta, line, there)
        if reason:
            return reason
    return None


def _weak_duality(loss: Loss) -> str | None:
    """1/2 |w|^2 + sum C value at any w and bias is at least the dual value of any feasible weights."""
    for seed in range(60):
        at, rng = points(loss, 14, seed), np.random.default_rng(seed)
        X = rng.normal(size=(14, 3)) * 10.0 ** rng.uniform(-4, 1)
        K, bias = X @ X.T, rng.normal() if seed % 2 else 0.0
        for beta in (_weights(at.terms, rng), dual_weights(at.terms, at.terms.target - bias)):
            if bias:
                up, down = beta[beta > 0.0].sum(), -beta[beta < 0.0].sum()
                beta = beta * np.where(beta > 0.0, min(up, down) / (up or 1.0), min(up, down) / (down or 1.0))
            dual = at.terms.target @ beta - 0.5 * beta @ K @ beta - conjugates(at.terms, beta).sum()
            noise = TOL * (beta @ K @ beta + np.abs(beta) @ np.abs(at.target))
            for coef in (beta, rng.normal(size=14)):
                primal = 0.5 * coef @ K @ coef + at.C @ loss.value(at.target, K @ coef + bias)
                if dual > primal + noise + TOL * primal:
                    return f"on a problem of 14 samples (seed {seed}) D = {dual:.9g} is above P = {primal:.9g}"
    return None


def _separable(loss: Loss) -> str | None:
    """terms(target, s C) is the record of s times the loss, for s from 1e-12 to 1e12, and the numbers of a sample
    depend on its own target and cost only.
    """
    at = points(loss)
    some = np.arange(0, len(at.h), 7)
    part = loss.terms(at.target[some], at.C[some])
    if any(not np.array_equal(number[some], own, equal_nan=True) for number, own in zip(at.terms, part, strict=True)):
        return "the numbers of a sample change with the other samples"
    for scale in (1e-12, 3.0, 1e12):
        scaled = loss_values(loss.terms(at.target, scale * at.C), at.e)
        if (np.abs(scaled - scale * at.values) > scale * at.noise).any():
            return f"with C times {scale:g} the record gives other losses than {scale:g} times those of C"
    return None


def _extremes(loss: Loss) -> str | None:
    """For h up to 1e300, targets up to 1e150 and C from 1e-12 to 1e12 values and weights are no nan, and weights keep
    to their bounds; inf is the value that overflows.
    """
    target = np.repeat([1.0, -1.0] if task_named(loss.task).has_classes else [0.0, 1e-300, -1e150], 10)
    h = np.resize([0.0, 1.0, -1.0, 1e-300, -1e-300, 1e150, -1e150, 1e300, -1e300, 1e16], len(target))
    for cost in (1e-12, 1.0, 1e12):
        C = np.full(len(target), cost)
        with np.errstate(all="ignore"):
            value, terms = loss.value(target, h), loss.terms(target, C)
            beta = dual_weights(terms, terms.target - h)
            others = loss_values(terms, terms.target - h)
        if np.isnan(value).any() or np.isnan(beta).any() or np.isnan(others).any():
            i = int(np.argmax(np.isnan(value) | np.isnan(beta) | np.isnan(others)))
            return f"target {target[i]:g}, h {h[i]:g}, C {cost:g}: value {value[i]:g}, beta* {beta[i]:g}"
        if (beta < terms.lower).any() or (beta > terms.upper).any():
            return f"with C {cost:g} a weight leaves its bounds"
    return None


def _options(loss: Loss) -> str | None:
    """A number with which the loss would not be convex, nan, inf and text raise InputError, in one line that names the
    option, when the loss is made.
    """
    for field in dataclasses.fields(loss):
        if isinstance(field.default, bool) or not isinstance(field.default, int | float):
            continue
        for value in TRIED:
            try:
                other = dataclasses.replace(loss, **{field.name: value})
            except InputError as error:
                if "\n" in str(error) or field.name not in str(error):
                    return f"{field.name}={value!r} is refused without the name of the option: {error}"
                continue
            except Exception as error:
                return f"{field.name}={value!r} raises {type(error).__name__}, not InputError: {error}"
            for judge in (_convex, _well_formed, _conjugate, _derivative):
                reason = judge(other)
                if reason:
                    return f"{field.name}={value!r} is not refused, and then: {reason}"
    return None


LOSS: dict[str, Check] = {
    "its values are >= 0 and convex in h": check(_convex, "svmkit.losses.Loss.value"),
    "its record is that of a convex loss of its family": check(
        _well_formed, "svmkit.losses.Loss.terms, svmkit.losses.Family"
    ),
    "record and definition are a conjugate pair": check(_conjugate, "svmkit.losses.Loss.terms, svmkit.losses.Terms"),
    "the weights of the record are slopes of the definition": check(
        _derivative, "svmkit.losses.Loss.terms, svmkit.losses.dual_weights"
    ),
    "D is below P on random points of random problems": check(
        _weak_duality, "svmkit.losses.Loss.terms, svmkit.losses.conjugates"
    ),
    "costs scale it, and each sample stands alone": check(_separable, "svmkit.losses.Loss.terms"),
    "extreme numbers give no nan": check(_extremes, "svmkit.losses.Loss.value, svmkit.losses.Loss.terms"),
    "options out of their range are refused": check(_options, "svmkit.losses.Loss"),
}
