"""The rows of one part in one problem: their weights and their gradient, which can be computed anew at any time."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from svmkit.losses.base import Family, Loss
from svmkit.model.one_vs_one import signs
from svmkit.problems.sums import Record
from svmkit.solver.smo import box as smo_box
from svmkit.solver.smo.box import Box
from svmkit.training.division import REST
from svmkit_dask.worker.features import Features


class Spec(NamedTuple):
    """What a part has to know of a problem, besides its own rows."""

    a: int  # the codes of the two classes; `b` may be `svmkit.training.division.REST`
    b: int
    n_classes: int  # the number of classes of all parts
    C: float  # the weight of the summed losses
    class_weights: np.ndarray  # float64 (n_classes,): the weight of each class
    loss: Loss  # the loss
    dtype: np.dtype  # precision of the kernel values that are summed up in a round; those of a certificate are float64

    def chosen(self, codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the rows of a part that take part, int64, ascending: those of the two classes whose weight is > 0."""
        used = weights > 0.0
        return np.flatnonzero(used if self.b == REST else used & ((codes == self.a) | (codes == self.b)))

    @property
    def is_ridged(self) -> bool:
        """Whether the dual of the loss has a ridge."""
        return self.loss.family is not Family.BOUNDED

    def labels(self, codes: np.ndarray) -> np.ndarray:
        """Return -1.0 or +1.0 for the codes of rows that take part."""
        if self.b == REST:
            return np.where(codes == self.a, 1.0, -1.0)
        return signs(codes, self.a, self.b, self.n_classes)


def record_of(loss: Loss, y: np.ndarray, C: np.ndarray) -> Record:
    """Return the record of a loss of classes for labels (n,) and costs (n,)."""
    return Record.from_terms(loss.terms(y, C))


class Change(NamedTuple):
    """Vectors whose weights change, or all vectors with their weights."""

    X: Any  # (q, width): the vectors
    coef: np.ndarray  # float64 (q,): y_i times the change of beta_i


class Rows:
    """The rows of one part, with their classes and weights, that take part in one problem.

    Attributes
    ----------
    at : ndarray of int64, shape (n,)
        The rows of the part that take part, ascending. All other arrays follow their order.
    record : Record
        The losses.
    box : Box
        SMO's state; `v` is y times the gradient at `beta`.
    stamp : int
        The number of changes of the weights so far: a message says to which state it belongs.
    ahead : ndarray of float64, shape (n,), or None
        What a proposed change adds to v.
    h, measured : ndarray of float64, shape (n,)
        The decision values of the last certificate, without the bias, and its weights; h is None before there is one.
    mark : int
        The number of that certificate.
    """

    def __init__(self, features: Features, codes: np.ndarray, weights: np.ndarray, spec: Spec) -> None:
        self.features, self.spec = features, spec
        self.at = spec.chosen(codes, weights)
        y = spec.labels(codes[self.at])
        self.C = spec.C * spec.class_weights[codes[self.at]] * weights[self.at]
        self.codes = codes[self.at]
        self.record = record_of(spec.loss, y, self.C)
        n, diag, ridge, zeros = len(self.at), self.features.diag(self.at), self.record.ridge_up, np.zeros(len(self.at))
        given = y, self.record.lower, self.record.upper, ridge, diag + ridge
        self.box = Box(*given, zeros, -y, np.empty(n, np.uint8))
        smo_box.take_sides(self.box, None)
        self.stamp, self.ahead, self.kernel_values = 0, None, 0
        self.h: np.ndarray | None = None
        self.measured, self.mark = zeros, 0

    def product(self, change: Change, dtype) -> np.ndarray:
        """Return what vectors with these coefficients add to the decision values, float64 (n,)."""
        product, computed = self.features.product(self.at, change.X, change.coef, dtype)
        self.kernel_values += computed
        return product

    def decisions(self) -> np.ndarray:
        """Return the decision values without the bias that belong to v, float64 (n,)."""
        box = self.box
        return box.v + box.y * (1.0 - box.ridge * box.beta)

    def begin_anew(self, stamp: int, change: Change, own: np.ndarray, beta: np.ndarray) -> None:
        """Compute v from scratch, from all vectors that have weights and those weights that are of these rows."""
        self.box.beta[:] = 0.0
        self.box.beta[own] = beta
        self.take(stamp, self.product(change, np.float64))

    def take(self, stamp: int, h: np.ndarray) -> None:
        """Let v follow from decision values without the bias that belong to the weights."""
        box = self.box
        box.v[:] = h - box.y * (1.0 - box.ridge * box.beta)
        smo_box.take_sides(box, None)
        self.stamp, self.ahead = stamp, None


class Portion(NamedTuple):
    """A part as its worker holds it: features, and the code and the weight of each row."""

    features: Features
    codes: np.ndarray
    weights: np.ndarray

    def rows(self, spec: Spec) -> Rows:
        """Return the rows of a problem at weights of 0."""
        return Rows(self.features, self.codes, self.weights, spec)
