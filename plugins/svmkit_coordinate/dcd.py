"""Dual coordinate descent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from svmkit.linear import coordinate_pass
from svmkit.problem import Certificate, Problem
from svmkit.risk import LinearDual
from svmkit.sampler import Draws, Sampler, Shuffled
from svmkit.solver import Requires, Solver, StepInfo


class State:
    """beta (m,), v = sum beta y x (width,), and which points still take part."""

    def __init__(self, problem: LinearDual, beta: np.ndarray, draws: Draws) -> None:
        self.problem, self.beta, self.draws = problem, beta, draws
        self.v = problem.weights(beta)
        self.all()

    def all(self) -> None:
        self.active, self.n, self.low, self.high = np.ones(self.problem.m, dtype=bool), self.problem.m, -np.inf, np.inf


@dataclass(frozen=True)
class DCD(Solver):
    """Dual coordinate descent (Hsieh, Chang, Lin, Keerthi, Sundararajan 2008, Algorithm 3), LIBLINEAR's method.

    An iteration is a pass over the points that take part, in an order of its own (`--sampler full`: that of the data).

    loss : hinge or squared_hinge; bias : value of the column added for the bias, which is regularised, 0 for none;
    shrinking : leave points out whose weights stay at a bound
    """

    name = "dcd"
    problem: ClassVar[type[Problem]] = LinearDual
    terms = ("loss", "bias")
    losses = ("hinge", "squared_hinge")
    requires = (Requires.LINEAR_KERNEL,)
    monotone: ClassVar[bool] = True
    sampler: ClassVar[Sampler] = Shuffled()
    recheck: ClassVar[int] = 1
    paper = "Hsieh et al. 2008"

    loss: str = "hinge"
    bias: float = 1.0
    shrinking: bool = True

    def patience(self, m: int) -> int:
        return 1000

    def init(self, problem: LinearDual, start: np.ndarray | None, draws: Draws) -> State:
        return State(problem, np.zeros(problem.m) if start is None else start.copy(), draws)

    def step(self, state: State) -> StepInfo:
        p, d, drawn = state.problem, state.problem.design, state.draws()
        order = drawn[state.active[drawn]]
        whole = drawn.size == p.m and order.size == p.m
        n, top, low, apart = coordinate_pass(
            d.rows, d.bias, p.y, p.upper, p.ridge, d.sq, order, state.beta, state.v, state.low, state.high
        )
        if self.shrinking and state.draws.every:
            state.active[order[n:]] = False
            state.low, state.high = low if low < 0.0 else -np.inf, top if top > 0.0 else np.inf
        ridge = float(np.square(state.beta) @ p.ridge)
        objective = 0.5 * (float(state.v @ state.v) + ridge) - float(state.beta.sum())
        size = max(abs(objective), abs(apart - objective), 1e-300)
        return StepInfo(
            objective,
            int(np.count_nonzero(state.beta)),
            order.size / p.m,
            gap=apart / size,
            gap_abs=apart,
            sampled=drawn.size < p.m,
            violation=top - low,
            shrunk=not whole,
        )

    def solution(self, state: State) -> np.ndarray:
        return state.beta.copy()

    def reactivate(self, state: State) -> None:
        state.all()

    def resync(self, state: State, certificate: Certificate) -> None:
        state.v = state.problem.weights(state.beta)
        state.all()
