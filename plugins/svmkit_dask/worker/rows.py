"""The rows of one part in one problem: their weights and their gradient, which can be computed anew at any time."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from svmkit.losses.base import Loss
from svmkit.model.one_vs_one import signs
from svmkit.problems.dual import DualQP
from svmkit.solver.smo import box as smo_box
from svmkit.training.division import REST
from svmkit_dask.parts.part import Part, places
from svmkit_dask.worker.features import Features, Space


class _Diagonal(NamedTuple):
    """What is asked of a Gram of samples whose kernel values are computed elsewhere."""

    m: int
    diag: np.ndarray


class SampleQP(DualQP):
    """The losses, bounds and ridges of some samples of a DualQP, without the kernel among them."""

    name: ClassVar[str] = "SampleQP"

    def __init__(self, spec: Spec, answers: np.ndarray, C: np.ndarray, diag: np.ndarray) -> None:
        self._given = spec, answers, C, diag
        target = spec.targets(answers)
        y = np.where(target > spec.centre, 1.0, -1.0)
        super().__init__(_Diagonal(len(C), diag), y, C, spec.loss.terms(target, C), centre=spec.centre)  # type: ignore[arg-type]
        self.l1 = smo_box.l1_part(self)

    def among(self, at: np.ndarray) -> SampleQP:
        """Return those of the samples `at`."""
        spec, *arrays = self._given
        return SampleQP(spec, *(array[at] for array in arrays))

    def shift(self, beta: np.ndarray) -> np.ndarray:
        """Return what v exceeds the decision values without the bias by, at the weights beta (m,)."""
        return self.signs * (self.ridge_terms(beta) + self.origin)

    def kinks(self, before: np.ndarray, after: np.ndarray, at: np.ndarray) -> float:
        """Return by how much the kinks of the objective grow as the weights of the samples `at` change."""
        grown = np.abs(after) - np.abs(before)
        return float(self.width[at] @ grown) if np.ndim(self.width) else float(self.width * grown.sum())


class Spec(NamedTuple):
    """What a part has to know of a problem, besides its own rows."""

    a: int  # the codes of the two classes; `b` may be REST, and is `a` where rows have targets in place of classes
    b: int
    C: float  # the weight of the summed losses
    class_weights: np.ndarray  # float64 (n_classes,): the weight of each class; (1,) of targets
    loss: Loss  # the loss
    dtype: np.dtype  # precision of the kernel values that are summed up in a round; those of a certificate are float64
    centre: float = 0.0  # what is subtracted from all targets

    @property
    def has_targets(self) -> bool:
        """Whether the rows have targets in place of classes."""
        return self.a == self.b

    def choose(self, answers: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the rows of a part that take part, int64, ascending: those of the two classes whose weight is > 0."""
        used = weights > 0.0
        everybody = self.b == REST or self.has_targets
        return np.flatnonzero(used if everybody else used & ((answers == self.a) | (answers == self.b)))

    def targets(self, answers: np.ndarray) -> np.ndarray:
        """Return -1.0 or +1.0 for the codes of rows that take part; targets as they are."""
        if self.has_targets:
            return answers
        if self.b == REST:
            return np.where(answers == self.a, 1.0, -1.0)
        return signs(answers, self.a, self.b, len(self.class_weights))

    def codes(self, answers: np.ndarray) -> np.ndarray:
        """Return the classes of rows; 0 for all that have targets."""
        return np.zeros(len(answers), dtype=np.int64) if self.has_targets else answers


class Change(NamedTuple):
    """Vectors whose weights change, or all vectors with their weights."""

    X: Any  # (q, width): the vectors
    coef: np.ndarray  # float64 (q,): y_i times the change of beta_i


class Rows:
    """The rows of one part, with their answers and weights, that take part in one problem.

    Attributes
    ----------
    at : ndarray of int64, shape (n,)
        The rows of the part that take part, ascending. All other arrays follow their order.
    qp : SampleQP
        Their losses.
    box : Box
        SMO's state; `v` is y times the gradient at `beta`.
    stamp : int
        The number of changes of the weights so far: a message says to which state it belongs.
    ahead : ndarray of float64, shape (n,), or None
        What a proposed change adds to v; without that of its ridges if these differ above and below 0.
    h, measured : ndarray of float64, shape (n,)
        The decision values of the last certificate, without the bias, and its weights; h is None before there is one.
    mark : int
        The number of that certificate.
    """

    def __init__(self, portion: Portion, spec: Spec) -> None:
        self.features, answers, weights = portion
        self.spec, self.at = spec, spec.choose(answers, weights)
        self.answers = answers[self.at]
        self.codes = spec.codes(self.answers)
        C = spec.C * spec.class_weights[self.codes] * weights[self.at]
        self.qp = qp = SampleQP(spec, self.answers, C, self.features.diag(self.at))
        self.box = smo_box.box_of(qp, np.zeros(len(self.at)), qp.origin)
        smo_box.take_sides(self.box, qp.l1)
        self.stamp, self.kernel_values, self.mark = 0, 0, 0
        self.ahead: np.ndarray | None = None
        self.h: np.ndarray | None = None
        self.measured = np.zeros(len(self.at))

    def product(self, change: Change, dtype) -> np.ndarray:
        """Return what vectors with these coefficients add to the decision values, float64 (n,)."""
        product, computed = self.features.product(self.at, change.X, change.coef, dtype)
        self.kernel_values += computed
        return product

    def decisions(self) -> np.ndarray:
        """Return the decision values without the bias that belong to v, float64 (n,)."""
        return self.box.v - self.qp.shift(self.box.beta)

    def propose(self, change: Change, at: np.ndarray, values: np.ndarray) -> tuple[float, float]:
        """Keep what a change of weights adds to v; return slope and curvature of the objective, of rows `at`."""
        qp, box = self.qp, self.box
        self.ahead = self.product(change, self.spec.dtype)
        signed, before = box.y[at] * values, box.beta[at]
        if qp.ridge_down is qp.ridge:
            self.ahead[at] += qp.ridge[at] * signed
            ridged = 0.0
        else:
            ridged = float(values @ (qp.ridge_terms(before + values, at) - qp.ridge_terms(before, at)))
        slope = float(signed @ box.v[at])
        if qp.l1 is not None:
            slope += qp.kinks(before, before + values, at)
        return slope, float(signed @ self.ahead[at]) + ridged

    def follow(self, at: np.ndarray, weights: np.ndarray, portion: float) -> None:
        """Follow the proposed change up to this portion, which leads to these weights of the rows `at`."""
        qp, box = self.qp, self.box
        assert self.ahead is not None
        if qp.ridge_down is qp.ridge:
            box.beta[at] = weights
            box.v[:] += portion * self.ahead
        else:
            h = self.decisions() + portion * self.ahead
            box.beta[at] = weights
            box.v[:] = h + qp.shift(box.beta)
        smo_box.take_sides(box, qp.l1)
        self.stamp, self.ahead = self.stamp + 1, None

    def begin_anew(self, stamp: int, change: Change, own: np.ndarray, beta: np.ndarray) -> None:
        """Compute v from scratch, from all vectors that have weights and those weights that are of these rows.

        Parameters
        ----------
        stamp : int
            The state that this is.
        change : Change
            All vectors that have weights.
        own, beta : ndarray of shape (k,)
            Positions of rows that have weights, and their weights.
        """
        self.box.beta[:] = 0.0
        self.box.beta[own] = beta
        self.take(stamp, self.product(change, np.float64))

    def take(self, stamp: int, h: np.ndarray) -> None:
        """Let v follow from decision values without the bias that belong to the weights."""
        self.box.v[:] = h + self.qp.shift(self.box.beta)
        smo_box.take_sides(self.box, self.qp.l1)
        self.stamp, self.ahead = stamp, None


class Portion(NamedTuple):
    """A part as its worker holds it: features, and the answer (a class's code, or a target) and weight of each row."""

    features: Features
    answers: np.ndarray
    weights: np.ndarray

    @classmethod
    def from_part(cls, part: Part, space: Space, classes: np.ndarray | None) -> Portion:
        """Return a part with the places of its labels among the classes, -1 of others; without classes with targets."""
        if classes is None:
            answers = part.answers.astype(np.float64)
        else:
            answers = places(classes, part.answers) if part.n_rows else np.empty(0, dtype=np.int64)
        return cls(Features(part, space), answers, np.ones(part.n_rows) if part.weights is None else part.weights)
