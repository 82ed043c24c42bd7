"""The base of the stochastic solvers: one draw of the sampler a step, and the time at which a solve begins."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from svmkit.errors import InputError
from svmkit.losses.base import PIECEWISE, Family, Loss
from svmkit.problems.base import NUMBER_OR_FREE, Problem
from svmkit.problems.risks.risk import Risk
from svmkit.solver.base import Solver
from svmkit.solver.capabilities import LearnsFromStreams
from svmkit.solver.sampler import Draws, Sampler, Shuffled
from svmkit.solver.step_info import StepInfo
from svmkit_stochastic.steps import CLOCK, LATE, Weights

MEANS = {"none": -1.0, "mean": 0.0, "late": LATE}
PACE = 1.0  # rough relative gap after the first epoch; it falls like 1 / t


@dataclass(frozen=True)
class Stochastic(Solver):
    """Base of the family: a solver goes through the samples of a draw one after the other, or in mini-batches.

    Parameters
    ----------
    loss : str or Loss, default="hinge"
        Any piecewise linear-quadratic loss; linear solvers also support the logistic one.
    bias : float or "free", default=1.0
        Value of the column added for the bias, which is regularised; 0 for no bias. "free" for a bias that is not
        regularised, with the linear kernel, for which the solver works around a moving centre.
    average : str, default="late"
        The solution: "late" for a mean that weights the last iterates most (Shamir, Zhang 2013), "mean" for the mean of
        all iterates, "none" for the last iterate.

    Raises
    ------
    InputError
        If a parameter is not one of these values.
    """

    problem: ClassVar[type[Problem]] = Risk
    terms: ClassVar[tuple[str, ...]] = ("loss", "bias")
    losses: ClassVar[tuple[str | Family, ...]] = ("hinge", "squared_hinge", *PIECEWISE)
    sampler: ClassVar[Sampler] = Shuffled()
    certified: ClassVar[bool] = False
    epochs: ClassVar[int] = 300  # default limit of epochs, higher for small sets

    loss: str | Loss = "hinge"
    bias: float | str = field(default=1.0, metadata=NUMBER_OR_FREE)
    average: str = "late"

    def __post_init__(self) -> None:
        self.loss_option(self.loss)
        require(self.average in MEANS, f"average must be one of {', '.join(MEANS)}", self.average)

    def patience(self, m: int) -> int:
        return max(self.epochs, 1000 * self.epochs // m)

    @abstractmethod
    def walk(self, state: Any, order: np.ndarray) -> None:
        """Learn from the samples `order` of the problem, in this order."""

    def step(self, state: Any) -> StepInfo:
        drawn = state.draws()
        self.walk(state, state.whole_batches(drawn))
        return StepInfo(float("nan"), int(np.count_nonzero(state.w.point)), drawn.size / state.problem.m)

    def solution(self, state: Any) -> np.ndarray:
        return state.w.point


class Streaming(LearnsFromStreams):
    """A stochastic solver whose state passes from block to block; its beginning does not depend on all samples."""

    def members(self, state: Any) -> np.ndarray:
        return state.members

    def renew(self, state: Any, problem: Problem, draws: Draws) -> None:
        """Continue on the problem of the next block, by the state's own `renew`.

        Parameters
        ----------
        state, problem, draws : object, Problem, Draws
            As for `LearnsFromStreams.renew`.
        """
        state.renew(problem, draws)


class State:
    """State of a solve: the problem, the order of its samples, and samples that wait for a complete mini-batch."""

    w: Weights  # the iterate, or the mean of the iterates

    def __init__(self, problem: Risk, draws: Draws, batch: int) -> None:
        self.batch, self.waiting = batch, np.empty(0, dtype=np.int64)
        self.bind(problem, draws)

    def bind(self, problem: Risk, draws: Draws) -> None:
        self.problem, self.draws = problem, draws
        self.C = np.array(problem.C)  # loops are compiled for each layout

    def clock(self, start: np.ndarray | None, average: str) -> np.ndarray:
        """Return the time at which a solve begins, CLOCK (1,): the better the start by its certified gap, the later.

        A start without a gap counts as the iterate after an epoch: nothing indicates that it is better.
        """
        array, problem, before = np.zeros(1, CLOCK), self.problem, self.draws.before
        now = array[0]
        now["eta"] = now["power"] = now["scale"] = 1.0
        now["late"], now["stream"], now["unit"] = MEANS[average], before is not None, problem.unit
        if before is not None:
            now["t"] = now["n"] = before
            now["total"] = before * problem.C.mean()
            return array
        now["n"], now["total"] = problem.m, problem.C.sum()
        if start is not None:
            gap = problem.certificate(start).gap
            now["t"] = problem.m * PACE / (1.0 if gap is None else min(max(gap, 1e-6), 1.0))
        return array

    def whole_batches(self, drawn: np.ndarray) -> np.ndarray:
        """Return the waiting and the drawn samples, in order, up to the last complete mini-batch; the others wait."""
        order = np.concatenate([self.waiting, drawn]) if self.waiting.size else drawn
        end = order.size - order.size % self.batch
        self.waiting = order[end:].copy()
        return order[:end]


def require(holds: bool, rule: str, value: Any) -> None:
    """Raise InputError with a rule and the value that violates it, unless it holds."""
    if not holds:
        raise InputError(f"{rule}, not {value!r}")
