"""The round of all cutting-plane methods, and its plain form `bmrm`; other methods place cuts elsewhere, or drop
some.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from svmkit.errors import InputError
from svmkit.losses.base import PIECEWISE, Family, Loss
from svmkit.problems.base import NUMBER_OR_FREE, Problem
from svmkit.problems.certificate import Certificate
from svmkit.problems.risks.kernel_rank import KernelRankRisk
from svmkit.problems.risks.linear_risk import LinearRisk, LinearTubeRisk
from svmkit.problems.risks.rank_risk import RankRisk
from svmkit.solver.base import Solver
from svmkit.solver.requirements import Requires
from svmkit.solver.sampler import Draws
from svmkit.solver.step_info import StepInfo
from svmkit_cutting_plane import bundle_dual as dual
from svmkit_cutting_plane.bundle import Bundle

FIRST, MOST = 128, 512  # initial columns of a kernel's factor, and its largest growth; until then they double
BELOW = 1e-2  # share of the gap due to a factor's remainder: a round that lowers the gap further makes no more progress


class Point(NamedTuple):
    """A point w of shape (width,) with its decision values h (m,) and its primal objective P."""

    w: np.ndarray
    h: np.ndarray
    primal: float


class State:
    """State of a solve: the cuts, the best point so far, the decision values `query` (m,) of the next cut, the number
    of cuts made, and whether the problem was offered the dual weights behind the bundle's alpha.
    """

    def __init__(self, problem: LinearRisk | RankRisk, w: np.ndarray) -> None:
        self.problem, self.bundle = problem, Bundle(problem)
        self.best = self.look(w)
        self.query, self.cuts, self.offered = self.best.h, 0, False

    def look(self, w: np.ndarray) -> Point:
        """Return the point w with its decision values and P, in one pass over the data."""
        h = self.problem.decision(w)
        return Point(w, h, self.problem.primal(w, h))

    def keep(self, point: Point) -> None:
        """Make `point` the best one if its P is lower."""
        if point.primal < self.best.primal:
            self.best = point

    def widen(self, gap: float, moved: bool) -> tuple[float, bool]:
        """Return the gap P - D of the round including the model's remainder, and whether the round made progress."""
        return gap, moved


class GrowingState(State):
    """State of ranking with a kernel, whose factor, which replaces X, grows while its remainder is too large.

    The remainder costs a pass for each cut, so it is checked when the gap in the factor has halved.
    """

    def __init__(self, problem: KernelRankRisk, start: np.ndarray | None, over: Callable[[], bool]) -> None:
        w = np.zeros(1) if start is None else start
        problem.grow(max(FIRST, len(w)) - problem.design.width, over)
        super().__init__(problem, problem.restore(w)[: problem.design.width])
        self.over, self.left, self.looked = over, 0.0, np.inf

    def widen(self, gap: float, moved: bool) -> tuple[float, bool]:
        problem = self.problem
        assert isinstance(problem, KernelRankRisk)
        if gap <= 0.5 * self.looked:
            self.left, self.looked = max(self.bundle.D - self.bundle.offer(), 0.0), gap
            self.offered = True
            if self.left > gap and problem.grow(min(problem.design.width, MOST), self.over):
                self.bundle, self.looked, self.offered = self.bundle.renew(), np.inf, False
                self.best = self.best._replace(w=problem.restore(self.best.w))
                return gap + self.left, True
        return gap + self.left, moved and gap > BELOW * self.left


@dataclass(frozen=True)
class CuttingPlane(Solver):
    """Base of the family: a round makes a cut, solves the model's dual for alpha and w, and evaluates P at w.

    The iterate is the best w so far, so P never rises; neither does the gap to D, the minimum of the model. D is the
    objective of dual weights of the samples, which are offered to the problem before it certifies.

    Parameters
    ----------
    loss : str or Loss, default="hinge"
        Any piecewise linear-quadratic loss; svmperf and bmrm also support the logistic one.
    bias : float or "free", default=1.0
        Value of the column added for the bias, which is regularised; 0 for no bias. "free" for a bias that is not
        regularised, for which the solver works around a moving centre.
    inner : str, default="face"
        Method for the model's dual: "face" (`dual.py`) or the name of a SimplexQP solver such as swap2o.
    inner_gap : float, default=0.2
        Gap to which the model's dual is solved, as a share of the gap P - D, in (0, 1).

    Raises
    ------
    InputError
        If `inner` does not solve the model's dual or `inner_gap` is outside (0, 1).
    """

    problem: ClassVar[type[Problem]] = LinearRisk
    regression: ClassVar[type[Problem] | None] = LinearTubeRisk
    further: ClassVar[tuple[type[Problem], ...]] = (RankRisk, KernelRankRisk)
    terms = ("loss", "bias")
    losses: ClassVar[tuple[str | Family, ...]] = ("hinge", "squared_hinge", *PIECEWISE, Family.LOGISTIC)
    requires = (Requires.LINEAR_KERNEL,)
    monotone: ClassVar[bool] = True
    recheck: ClassVar[int] = 1

    loss: str | Loss = "hinge"
    bias: float | str = field(default=1.0, metadata=NUMBER_OR_FREE)
    inner: str = dual.OWN
    inner_gap: float = 0.2

    def __post_init__(self) -> None:
        dual.require(self.inner)
        if not 0.0 < self.inner_gap < 1.0:
            raise InputError(f"inner_gap must be between 0 and 1, not {self.inner_gap}: 0.1 is a tenth of the gap")

    def check(self, problem: Problem) -> None:
        if isinstance(problem, KernelRankRisk):  # whose factor replaces X of the linear kernel
            return
        super().check(problem)
        if isinstance(problem, LinearRisk) and problem.penalty.l1:
            raise InputError(f"solver {self.name} needs the l2 penalty, not {problem.penalty.name}")

    def patience(self, m: int) -> int:
        return 5000

    def init(self, problem: LinearRisk | RankRisk, start: np.ndarray | None, draws: Draws) -> State:
        """Return the state at `start` or at w = 0; ranking with a kernel uses a factor that grows.

        Parameters
        ----------
        problem, start, draws : LinearRisk or RankRisk, ndarray or None, Draws
            As for `Solver.init`.
        """
        if isinstance(problem, KernelRankRisk):
            return GrowingState(problem, start, draws.over)
        return State(problem, np.zeros(problem.design.width) if start is None else start.copy())

    def follow(self, state: State, reached: Point) -> None:
        """Update the best point after the model's minimum `reached`, and set the point of the next cut: `reached`."""
        state.keep(reached)
        state.query = reached.h

    def forget(self, bundle: Bundle) -> None:
        """Drop cuts that are no longer needed: none."""

    def step(self, state: State) -> StepInfo:
        bundle = state.bundle
        before = state.best.primal, bundle.D
        bundle.cut(state.query)
        bundle.solve(self.inner, state.best.primal, self.inner_gap)
        self.forget(bundle)
        state.cuts, state.offered = state.cuts + 1, False
        reached = state.look(bundle.w)
        self.follow(state, reached)
        best, risk = state.best, reached.primal - 0.5 * float(reached.w @ reached.w)
        moved = best.primal < before[0] or before[1] < bundle.D
        gap, moved = state.widen(max(best.primal - bundle.D, 0.0), moved)
        return StepInfo(
            best.primal,
            int(np.count_nonzero(best.w)),
            1.0,
            gap=gap / max(best.primal, abs(bundle.D), 1e-300),  # both may be 0 in regression
            gap_abs=gap,
            moved=moved,
            violation=(risk - bundle.height) * state.problem.lam,
        )

    def solution(self, state: State) -> np.ndarray:
        """Return the best w, and offer the problem the dual weights that prove the lower bound."""
        if not state.offered:
            state.bundle.offer()
            state.offered = True
        return state.best.w.copy()

    def resync(self, state: State, certificate: Certificate) -> None:
        assert certificate.gradient is not None
        state.best = Point(state.best.w, certificate.gradient, certificate.primal)

    def details(self, state: State) -> dict[str, float]:
        """Return both bounds on the optimum, and the numbers of cuts made, kept and with a weight above 0."""
        bundle = state.bundle
        return {
            "lower_bound": bundle.D,
            "upper_bound": state.best.primal,
            "cuts": state.cuts,
            "kept": bundle.n - 1,
            "active": int(np.count_nonzero(bundle.alpha[1:])),
        }


@dataclass(frozen=True)
class BMRM(CuttingPlane):
    """Bundle method for regularised risks, BMRM (Teo, Vishwanathan, Smola, Le 2010, JMLR 11).

    Each cut is made at the minimum w_t of the model and all cuts are kept. epsilon_t = min_i J(w_i) - J_t(w_t), the gap
    in units of the objective, never rises. The parameters are those of `CuttingPlane`.
    """

    name = "bmrm"
    paper = "Teo et al. 2010"
