"""ScatteredQP: BoxQP over parts, with a certificate whose sums the parts compute from scratch."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from svmkit.errors import InputError
from svmkit.kernels.engines import PANEL
from svmkit.kernels.rounding import U
from svmkit.problems.base import DecisionFunction, Problem
from svmkit.problems.box import BoxQP
from svmkit.problems.certificate import Certificate
from svmkit.problems.dual import DualQP
from svmkit.problems.rounding import exact_sum
from svmkit.problems.sums import Bounds, Sums, Totals, error_of_h, values_of
from svmkit.problems.tube import TubeQP
from svmkit_dask.driver.candidates import CandidateGram, CandidateSet
from svmkit_dask.driver.session import Session
from svmkit_dask.worker.answers import Message
from svmkit_dask.worker.rows import SampleQP

GRID = 33  # biases that are tried in one pass over the rows
PASSES = 64  # the largest number of passes
WIDER = 16.0


def bias_grid(centre: float, width: float, grid: int) -> np.ndarray:
    """Return the biases (grid,) that a pass of `least_loss` tries, fewer if they are indistinguishable in float64."""
    return np.unique(centre + width * np.linspace(-1.0, 1.0, grid))


def least_loss(
    losses: Callable[[np.ndarray], np.ndarray], around: float, width: float, tol: float = 1e-11, grid: int = GRID
) -> tuple[float, float]:
    """Return a bias with nearly the least total loss, and that loss.

    The total loss is convex in the bias. Each pass tries a grid, whose best point and its neighbours enclose the
    minimum; if the best point is at an end, the next grid is wider. An inexact bias costs a part of the gap, as any
    bias proves an upper bound.

    Parameters
    ----------
    losses : callable
        Returns the total loss at each of several biases (k,).
    around, width : float
        The probable place of the minimum, and its probable distance from there, > 0.
    tol : float, default=1e-11
        The passes end once no loss can be below the least one by more than this share of it.
    grid : int, default=33
        The number of biases that a pass tries, at least 5.
    """
    centre, best = around, (around, np.inf)
    for _ in range(PASSES):
        biases = bias_grid(centre, width, grid)
        totals = losses(biases)
        least = totals.min()
        ties = np.flatnonzero(totals == least)  # a flat minimum: its middle
        k = int(ties[len(ties) // 2])
        if least <= best[1]:
            best = float(biases[k]), float(least)
        lo, hi = max(0, int(ties[0]) - 1), min(len(biases) - 1, int(ties[-1]) + 1)
        flat = len(ties) > 2  # a convex function with the same value at three points is least there
        if len(biases) < grid or flat or least - _lower_bound(biases, totals, lo, hi) <= tol * least:
            break
        if ties[0] == 0 or ties[-1] == len(biases) - 1:
            width *= WIDER
            centre = float(biases[k])
        else:
            centre, width = 0.5 * float(biases[lo] + biases[hi]), 0.5 * float(biases[hi] - biases[lo])
    return best


def _lower_bound(x: np.ndarray, f: np.ndarray, lo: int, hi: int) -> float:
    """Return a lower bound on a convex function with the values f (k,) at x, ascending, between x[lo] and x[hi]."""
    if lo == 0 or hi == len(x) - 1:
        return -np.inf
    # slopes of the lines that enclose the minimum: outside of two neighbours, it is above the line through them
    into = (f[lo] - f[lo - 1]) / (x[lo] - x[lo - 1])
    out = (f[hi + 1] - f[hi]) / (x[hi + 1] - x[hi])
    if not (into < 0.0 < out):
        return -np.inf
    at = (f[hi] - f[lo] + into * x[lo] - out * x[hi]) / (into - out)
    return float(f[lo] + into * (at - x[lo]))


@dataclass(frozen=True, eq=False)
class OwnRows(DecisionFunction):
    """A decision function whose rows are those of all parts, with their features and classes."""

    X: Any = None
    codes: np.ndarray | None = None

    def restrict(self, rows: np.ndarray) -> OwnRows:
        return self


class ScatteredQP(Problem):
    """The problem of a BoxQP whose samples are the rows of parts; InputError if all have the same label.

    A point is an array (n, 2) of float64, the ascending numbers of the rows with weights, and the weights, so neither a
    point nor a message grows with the rows. `candidates` are the rows that the driver knows, and `budget` the bytes for
    the matrix of its working set.
    """

    whole: ClassVar[type[DualQP]] = BoxQP  # the problem of rows in one place
    name: ClassVar[str] = whole.name
    estimate: tuple[float, float] | None = None  # P and the best bias by the last round; it proves nothing
    bias_width: ClassVar[float] = 1.0  # how far the best bias of a certificate may be from the previous one,
    bias_tol: ClassVar[float] = 1e-11  # how much a better one may save, as a share of the losses,
    bias_grid: ClassVar[int] = GRID  # and how many biases are tried in one pass over the rows
    _mark, _last_bias = 0, 0.0

    def __init__(self, session: Session, budget: int) -> None:
        if not session.spec.has_targets and not session.counts.sum(axis=0).all():
            raise InputError("all parts hold one class only: training needs samples of two classes")
        self.session, self.candidates, self.loss = session, CandidateSet(session), session.spec.loss
        super().__init__(CandidateGram(self.candidates, budget), np.array([1.0, -1.0]))  # type: ignore[arg-type]

    @classmethod
    def formulation(cls, **terms: Any) -> str:
        return cls.whole.formulation(**terms)

    def beta(self, point: np.ndarray) -> np.ndarray:
        """Return the weights of all candidates, after adding rows of the point that are not among them."""
        return self.candidates.weights_at(point[:, 0].astype(np.int64), point[:, 1])

    def point(self, beta: np.ndarray) -> np.ndarray:
        """Return the point at which the first candidates have these weights."""
        order = np.argsort(self.candidates.number[: len(beta)], kind="stable")
        order = order[beta[order] != 0.0]
        return np.column_stack([self.candidates.number[order].astype(np.float64), beta[order]])

    def infeasible(self, point: np.ndarray) -> str | None:
        if point.ndim != 2 or point.shape[1] != 2 or point.dtype != np.float64:
            return f"it should be float64 of shape (n, 2), not {point.dtype} of shape {point.shape}"
        numbers, known = point[:, 0].astype(np.int64), self.candidates
        if not np.isfinite(point).all() or (np.diff(numbers) <= 0).any() or (known.slots(numbers) < 0).any():
            return "its rows are not rows of these parts, in ascending order"
        at = known.slots(numbers)
        qp = SampleQP(self.session.spec, known.answers[at], known.C[at], known.diag[at])
        return qp.infeasible(point[:, 1]) if len(at) else None

    def objective(self, point: np.ndarray) -> float:
        dual = self.certificate(point).dual
        return math.nan if dual is None else -dual

    def unproven(self) -> Certificate | None:
        """Return P and the bias by the last round once the parts are gone; None while they answer."""
        if self.session.gone is None or self.estimate is None:
            return None
        primal, bias = self.estimate
        return Certificate(primal, None, None, bias=bias, flaw=str(self.session.gone))

    def certificate(self, point: np.ndarray) -> Certificate:
        """Return the certificate; the parts compute the decision values anew, and only sums come back."""
        session = self.session
        if (unproven := self.unproven()) is not None:
            return unproven
        self._mark = mark = self._mark + 1
        own, change = self.candidates.weights(self.beta(point))

        def begin(parts: list[int]) -> list[Totals]:
            return session.ask(Message("measure", options={"mark": mark}), own, change, parts=parts)

        totals = Totals.join(begin(session.parts))
        error, size, panel = session.bounds
        of_h = float(error_of_h(totals, Bounds(error, size, max(panel, PANEL), self.gram.definiteness.shift, U)))
        bias, best, sums = self.add_up(begin, mark, of_h)
        values = values_of(totals, sums, best, of_h, U)
        flaw = self.gram.definiteness.flaw
        if values.norm < -2.0 * values.of_primal and flaw is None:
            flaw = f"the {self.gram.kernel.name} kernel is not positive semidefinite on these data"
        errors = values.of_primal, values.of_dual
        return Certificate.from_values(values.primal, values.dual, None, bias, errors=errors, flaw=flaw)

    def first_losses(self, mark: int) -> Message:
        """Return the message that asks for the losses of the first pass of `add_up`."""
        biases = bias_grid(self._last_bias, self.bias_width, self.bias_grid)
        return Message("losses", mark=mark, options={"biases": biases, "mark": mark})

    def add_up(
        self, begin: Callable[[list[int]], Any], mark: int, of_h: float, first: np.ndarray | None = None
    ) -> tuple[float, float, Sums]:
        """Return the bias of a begun certificate, the same for targets less their centre, and the sums.

        Parameters
        ----------
        begin, mark, of_h : callable, int, float
            Begins the certificate of some parts anew, its number, and a bound on the error of a decision value.
        first : ndarray, default=None
            The sum of the answers to `first_losses`, if they are known.
        """
        session, centre = self.session, self.session.spec.centre

        def losses(biases: np.ndarray) -> np.ndarray:
            nonlocal first
            known, first = first, None
            if known is not None:
                return known
            asked = Message("losses", mark=mark, options={"biases": biases, "mark": mark})
            return np.sum(session.ask(asked, restore=begin), axis=0)

        best, _ = least_loss(losses, self._last_bias, self.bias_width, self.bias_tol, self.bias_grid)
        self._last_bias = best
        bias, of_bias = exact_sum(centre, best)
        options = {"bias": best, "error": of_h + abs(of_bias)}
        sums = session.ask(Message("sums", mark=mark, options=options), restore=begin)
        return bias, best, Sums.join(sums)

    def bound(self, objective: float) -> Certificate:
        return Certificate(math.inf, -objective, None)

    def decision_function(self, point: np.ndarray, certificate: Certificate) -> OwnRows:
        if certificate.bias is None:  # `bound` does not know the bias
            certificate = self.certificate(point)
        known, numbers = self.candidates, point[:, 0].astype(np.int64)
        slots = known.slots(numbers)
        X = known.X[slots] if len(slots) else None
        codes = self.session.spec.codes(known.answers[slots])
        return OwnRows(point[:, 1] * known.qp.signs[slots], certificate.bias, None, numbers, X, codes)

    def start(self, coef: np.ndarray) -> np.ndarray | None:
        raise InputError("training on a cluster cannot start from a model: use --checkpoint and --resume")


class ScatteredTubeQP(ScatteredQP):
    """The problem of a TubeQP whose samples are the rows of parts."""

    whole: ClassVar[type[DualQP]] = TubeQP
    name: ClassVar[str] = whole.name
    task: ClassVar[str] = whole.task
