"""ScatteredQP: BoxQP over parts, with a certificate whose sums the parts compute from scratch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar, NamedTuple

import numpy as np

from svmkit.errors import InputError
from svmkit.kernels.engines import PANEL
from svmkit.kernels.functions import Kernel
from svmkit.kernels.gram.semidefinite import Definiteness
from svmkit.kernels.rounding import U
from svmkit.losses.base import Loss
from svmkit.problems.base import DecisionFunction, Problem
from svmkit.problems.box import BoxQP
from svmkit.problems.certificate import Certificate
from svmkit.problems.dual import infeasible_in_box
from svmkit.problems.sums import Bounds, Sums, Totals, error_of_h, values_of
from svmkit_dask.driver.candidates import CandidateSet
from svmkit_dask.driver.session import Session
from svmkit_dask.worker.answers import Message
from svmkit_dask.worker.rows import record_of

GRID = 33  # biases that are tried in one pass over the rows
WIDER = 16.0


def least_loss(
    losses: Callable[[np.ndarray], np.ndarray], around: float, width: float, *, passes: int = 64, tol: float = 1e-11
) -> tuple[float, float]:
    """Return a bias of nearly the least summed loss, and that loss.

    The summed loss is convex in the bias. Each pass tries a grid, whose best point and neighbours enclose the minimum;
    a minimum at the end of the grid asks for a wider one. Any bias proves an upper bound, so that an inexact one costs
    nothing but a part of the gap.

    Parameters
    ----------
    losses : callable
        Returns the summed loss at each of several biases (k,).
    around, width : float
        Where the minimum probably is, and how far it may be from there, > 0.
    passes, tol : int, float
        The most passes; the last one is that after which no loss is below the least one by more than this part of it.
    """
    centre, best = around, (around, np.inf)
    for _ in range(passes):
        biases = np.unique(centre + width * np.linspace(-1.0, 1.0, GRID))
        found = losses(biases)
        least = found.min()
        ties = np.flatnonzero(found == least)  # a flat minimum: its middle
        k = int(ties[len(ties) // 2])
        if least <= best[1]:
            best = float(biases[k]), float(least)
        lo, hi = max(0, int(ties[0]) - 1), min(len(biases) - 1, int(ties[-1]) + 1)
        flat = len(ties) > 2  # a convex function that is the same at three points is least there
        if len(biases) < GRID or flat or least - _lower_bound(biases, found, lo, hi) <= tol * least:
            break
        if ties[0] == 0 or ties[-1] == len(biases) - 1:
            width *= WIDER
            centre = float(biases[k])
        else:
            centre, width = 0.5 * float(biases[lo] + biases[hi]), 0.5 * float(biases[hi] - biases[lo])
    return best


def _lower_bound(x: np.ndarray, f: np.ndarray, lo: int, hi: int) -> float:
    """Return what a convex function with the values f (k,) at x, ascending, is at least between x[lo] and x[hi].

    Left of each pair of neighbours, and right of it, the function is above the line through them.
    """
    if lo == 0 or hi == len(x) - 1:
        return -np.inf
    into = (f[lo] - f[lo - 1]) / (x[lo] - x[lo - 1])  # slopes of the lines that enclose the minimum
    out = (f[hi + 1] - f[hi]) / (x[hi + 1] - x[hi])
    if not (into < 0.0 < out):
        return -np.inf
    at = (f[hi] - f[lo] + into * x[lo] - out * x[hi]) / (into - out)
    return float(f[lo] + into * (at - x[lo]))


BALANCED = 1e-9  # as for a BoxQP


class Point(NamedTuple):
    """A point of a ScatteredQP: the rows that have weights, and the weights. The loop keeps it as an array (n, 2)."""

    numbers: np.ndarray
    weights: np.ndarray

    @classmethod
    def from_array(cls, point: np.ndarray) -> Point:
        """Return the point that an array (n, 2) of float64 holds."""
        return cls(point[:, 0].astype(np.int64), point[:, 1])

    def to_array(self) -> np.ndarray:
        """Return the array (n, 2) of the rows whose weights are not 0, in ascending order."""
        order = np.argsort(self.numbers, kind="stable")
        order = order[self.weights[order] != 0.0]
        return np.column_stack([self.numbers[order].astype(np.float64), self.weights[order]])


class Estimate(NamedTuple):
    """What the last round says of P and of the best bias; it proves nothing."""

    primal: float
    bias: float


class ScatteredGram:
    """What the loop asks of a Gram, of kernel values that parts compute; those of certificates are not counted."""

    def __init__(self, session: Session, budget: int) -> None:
        self.kernel, self.m, self.budget = session.workers.space.kernel, session.m, budget
        self.kernel_values = 0

    @contextmanager
    def pause_counting(self) -> Iterator[None]:
        """Do not count the products inside the block."""
        before = self.kernel_values
        try:
            yield
        finally:
            self.kernel_values = before

    @property
    def definiteness(self) -> Definiteness:
        """What is known of the kernel: nobody factorises a matrix of rows that are not in one place."""
        return known_of(self.kernel)


def known_of(kernel: Kernel) -> Definiteness:
    """Return what is known about matrices of the kernel, without looking at the data."""
    if kernel.semidefinite:
        return Definiteness()
    return Definiteness(0.0, f"the {kernel.name} kernel need not be positive semidefinite, and no cluster proves it")


class ScatteredQP(Problem):
    """The problem of a BoxQP whose samples are the rows of parts; InputError if all have the same label.

    A point is an array (n, 2) of float64, see `Point`, so that neither a point nor a message grows with the rows.
    `candidates` are the rows that the driver knows, and `budget` the bytes for the matrix of its working set.
    """

    name: ClassVar[str] = "BoxQP"
    formulation = BoxQP.formulation

    def __init__(self, session: Session, budget: int) -> None:
        plus, minus = session.counts.sum(axis=0).tolist()
        if not (plus and minus):
            raise InputError("all parts hold one class only: training needs samples of two classes")
        super().__init__(ScatteredGram(session, budget), np.array([1.0, -1.0]))  # type: ignore[arg-type]
        self.session, self.candidates, self._mark = session, CandidateSet(session), 0

    @property
    def loss(self) -> Loss:
        """The loss."""
        return self.session.spec.loss

    def beta(self, point: np.ndarray) -> np.ndarray:
        """Return the weights of all rows of the candidates, which gets those of the point that it lacks."""
        found = Point.from_array(point)
        slots = self.candidates.slots(found.numbers)
        beta = np.zeros(len(self.candidates))
        beta[slots] = found.weights
        return beta

    def point(self, beta: np.ndarray) -> np.ndarray:
        """Return the point at which the first rows of the candidates have these weights."""
        return Point(self.candidates.number[: len(beta)], beta).to_array()

    def infeasible(self, point: np.ndarray) -> str | None:
        if point.ndim != 2 or point.shape[1] != 2 or point.dtype != np.float64:
            return f"it should be float64 of shape (n, 2), not {point.dtype} of shape {point.shape}"
        numbers = Point.from_array(point).numbers
        if not np.isfinite(point).all() or (np.diff(numbers) <= 0).any() or (self.candidates.slots(numbers) < 0).any():
            return "its rows are not rows of these parts, in ascending order"
        slots, weights = self.candidates.slots(numbers), Point.from_array(point).weights
        if not len(weights):
            return None
        y, C = self.candidates.y[slots], self.candidates.C[slots]
        reason = infeasible_in_box(weights, record_of(self.loss, y, C).upper)
        balance = float(self.candidates.y[slots] @ weights)
        if reason is None and abs(balance) > BALANCED * max(1.0, float(weights.sum())):
            return f"y'beta should be 0, not {balance:g}"
        return reason

    def objective(self, point: np.ndarray) -> float:
        dual = self.certificate(point).dual
        return math.nan if dual is None else -dual

    estimate: Estimate | None = None

    def certificate(self, point: np.ndarray) -> Certificate:
        """Return the certificate; the parts compute the decision values anew, and only sums come back.

        Once the workers is gone, the values are the estimates of the last round, and nothing is proven.
        """
        gone, estimate = self.session.gone, self.estimate
        if gone is None or estimate is None:
            return self._certificate(point)
        return Certificate(estimate.primal, None, None, bias=estimate.bias, flaw=str(gone))

    def _certificate(self, point: np.ndarray) -> Certificate:
        session, mark = self.session, self._mark + 1
        self._mark = mark
        weights = self.candidates.weights(self.beta(point))

        def begin(parts: list[int]) -> list[Totals]:
            return session.ask(Message("measure", options={"mark": mark}), weights[1], weights[0], parts=parts)

        def again(parts: list[int]) -> None:
            begin(parts)

        totals = merge_totals(begin(session.parts))
        bounds = self._bounds()
        of_h = float(error_of_h(totals, bounds))

        def losses(biases: np.ndarray) -> np.ndarray:
            asked = Message("losses", mark=mark, options={"biases": biases, "mark": mark})
            return np.sum(session.ask(asked, mend=again), axis=0)

        bias, _ = least_loss(losses, self._last_bias, 1.0)
        self._last_bias = bias
        found = session.ask(Message("terms", mark=mark, options={"bias": bias, "of_h": of_h}), mend=again)
        sums = Sums(*(math.fsum(values) for values in zip(*found, strict=True)))
        values = values_of(totals, sums, bias, of_h, U)
        flaw = self.gram.definiteness.flaw
        if values.norm < -2.0 * values.of_primal and flaw is None:
            flaw = f"the {self.gram.kernel.name} kernel is not positive semidefinite on these data"
        errors = values.of_primal, values.of_dual
        return Certificate.from_values(values.primal, values.dual, None, bias, errors=errors, flaw=flaw)

    _last_bias = 0.0

    def _bounds(self) -> Bounds:
        """Return what the rounding errors of a certificate depend on."""
        error, largest, panel = self.session.bounds
        return Bounds(error, largest, max(panel, PANEL), self.gram.definiteness.shift, U)

    def bound(self, objective: float) -> Certificate:
        return Certificate(math.inf, -objective, None)

    def decision_function(self, point: np.ndarray, certificate: Certificate) -> DecisionFunction:
        if certificate.bias is None:  # `bound` does not know the bias
            certificate = self.certificate(point)
        assert certificate.bias is not None
        found = Point.from_array(point)
        return DecisionFunction(
            found.weights * self.candidates.y[self.candidates.slots(found.numbers)], certificate.bias
        )

    def start(self, coef: np.ndarray) -> np.ndarray | None:
        raise InputError("training on a cluster cannot start from a model: use --checkpoint and --resume")


def merge_totals(totals: list[Totals]) -> Totals:
    """Return the totals of several parts as those of all rows."""
    m, support, total, *largest = zip(*totals, strict=True)
    return Totals(sum(m), sum(support), math.fsum(total), *(max(values) for values in largest))
