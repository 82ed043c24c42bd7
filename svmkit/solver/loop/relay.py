"""A relay of two solvers of a problem: if the first is slow, the second takes over, and gives back if it is slow,
too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from svmkit.problems.base import Problem
from svmkit.problems.certificate import Certificate
from svmkit.solver.base import Solver
from svmkit.solver.sampler import Draws, Goal
from svmkit.solver.step_info import StepInfo

FACTS = "paper monotone recheck sampler certified"
METHODS = "check check_kernel pose loss_for problem_for regression_for problem_of formulation takes_loss"
NEAR = 1e-3  # the gap whose time is predicted if none is requested
FEWEST = 2.0  # passes of the first solver before it is judged
EARLY, KNOWN, AHEAD = 14.0, 3.5, 20.0  # passes that it may still need, before and after so many: slow solves show later
JUMP = 4.0  # factor by which P - D grows when the first solver restarts around another bias
LONGEST = 100.0  # passes of a step of the second solver, and of all of its steps, in its first turn; each turn
MOST = 250.0  # has twice as many
WORTH = 0.5  # passes of the first solver that take as long as one pass of the second


@dataclass(frozen=True)
class Relay(Solver):
    """A solver that is `first` until it would need many more passes over the data, and then `second`.

    The need is predicted from how fast the distance of P from D, in units of D, has fallen in the latter half of the
    passes so far: that shows how fast D rises even if P, and so the relative gap, is far off. The turn of the second
    solver lasts until a step takes many passes, or all of its steps together do; then the first one continues for at
    least as long, and each later turn of the second is twice as long. Both minimise the same problem, and each begins
    at the point of the other. The second determines how the problem is posed and checked.
    """

    first: Solver
    second: Solver
    cost: float = 1.0  # of a pass of the first solver, in units of one with a piecewise loss
    frees_bias: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for names, solver in ((FACTS, self.first), (METHODS, self.second)):  # which come from the one or the other
            for own in names.split():
                object.__setattr__(self, own, getattr(solver, own))
        object.__setattr__(self, "name", f"{self.first.name}+{self.second.name}")

    @property
    def params(self) -> dict[str, Any]:
        return self.first.params

    def patience(self, m: int) -> int:
        return max(self.first.patience(m), self.second.patience(m))

    def init(self, problem: Problem, start: np.ndarray | None, draws: Draws) -> _Run:
        """Return the state of a run that begins with the first solver.

        Parameters
        ----------
        problem, start, draws : Problem, ndarray or None, Draws
            As for `Solver.init`.
        """
        return _Run(self, problem, start, draws)

    def step(self, state: _Run) -> StepInfo:
        if state.is_due():
            state.hand_over()
        info = state.solver.step(state.state)
        state.note(info)
        return info

    def solution(self, state: _Run) -> np.ndarray:
        return state.solver.solution(state.state)

    def resync(self, state: _Run, certificate: Certificate) -> None:
        state.solver.resync(state.state, certificate)

    def reactivate(self, state: _Run) -> None:
        state.solver.reactivate(state.state)

    def carry(self, state: _Run) -> dict[str, Any]:
        turn = {"turn": state.turn, "passes": state.passes[-1], "fewest": state.fewest, "counts": state.counts}
        return turn | {"own": state.solver.carry(state.state)}

    def details(self, state: _Run) -> dict[str, float]:
        return {f"{name}_iterations": float(count) for name, count in state.counts.items()}


class _Run:
    """State of a relay: the active solver with its state, and the work of both so far.

    `passes` and `excess`, (P - D) / D, are recorded at the end of each step of this turn, and `turn` counts from 0. The
    first solver is judged by the steps since step `since`, and not before it has made `fewest` passes; the second one
    has `longest` and `most`. A continued solve begins with the turn in which the earlier one ended.
    """

    def __init__(self, relay: Relay, problem: Problem, start: np.ndarray | None, draws: Draws) -> None:
        self.relay, self.problem, self.draws, self.given = relay, problem, draws, draws.goal
        self.goal = _excess((draws.goal.gap if draws.goal else 0.0) or NEAR)
        earlier = _read_carried(draws.carried)
        self.turn, self.fewest = earlier["turn"], earlier["fewest"]
        self.counts: dict[str, int] = earlier["counts"]
        draws.carried = earlier["own"]
        self._begin(start)
        self.passes[0] = earlier["passes"]

    def _begin(self, start: np.ndarray | None) -> None:
        """Start the solver whose turn it is."""
        self.longest, self.most = (2.0 ** (self.turn // 2) * limit for limit in (LONGEST, MOST))
        self.passes: list[float] = [0.0]
        self.excess: list[float] = [math.inf]
        self.since = 0
        self.solver, self.draws.goal = self.relay.first, self.given
        if self.turn % 2:
            self.solver = self.relay.second
            self.draws.goal = (self.given or Goal(0.0, 1.0))._replace(passes=self.longest)
        self.state = self.solver.init(self.problem, start, self.draws)

    def note(self, info: StepInfo) -> None:
        """Record the passes of a step, and the distance of P and D at its end."""
        if _excess(info.gap) > JUMP * self.excess[-1]:
            self.since = len(self.passes)
        self.passes.append(self.passes[-1] + info.epochs)
        self.excess.append(_excess(info.gap))
        self.counts[self.solver.name] = self.counts.get(self.solver.name, 0) + info.steps

    def is_due(self) -> bool:
        """Return whether it is the turn of the other solver."""
        passes = self.passes[-1]
        if self.turn % 2:
            return passes >= self.most or passes - self.passes[-2:][0] >= self.longest
        judged = passes - self.passes[self.since]
        fewest = max(self.fewest, KNOWN) if self.since else self.fewest
        is_known = judged >= fewest and self.excess[-1] > self.goal
        ahead = AHEAD if judged >= KNOWN else EARLY
        return self.draws.every and is_known and self.relay.cost * self.predict() > ahead

    def predict(self) -> float:
        """Return how many more passes are needed if P - D keeps falling as in the latter half of the passes so far."""
        passes, excess = self.passes[-1], self.excess[-1]
        middle = 0.5 * (passes + self.passes[self.since])
        k = int(np.searchsorted(self.passes, middle, side="right")) - 1
        fall = math.log(self.excess[k] / excess) if 0.0 < excess < self.excess[k] < math.inf else 0.0
        return (passes - self.passes[k]) * math.log(excess / self.goal) / fall if fall else math.inf

    def hand_over(self) -> None:
        """Start the other solver at the point of this one."""
        point, passes = self.solver.solution(self.state), self.passes[-1]
        self.state = None  # otherwise both states would determine the peak memory of a fit
        self.turn += 1
        if self.turn % 2 == 0:
            self.fewest = max(WORTH * passes / self.relay.cost, FEWEST)
        self._begin(point)


def _read_carried(carried: dict | None) -> dict[str, Any]:
    """Return the data of an earlier relay, perhaps from a file; the initial data if there is none of a relay."""
    try:
        given = carried or {"turn": 0, "passes": 0.0, "fewest": FEWEST, "counts": {}}
        counts = {str(name): int(count) for name, count in given["counts"].items()}
        turn, passes, fewest = abs(int(given["turn"])), float(given["passes"]), float(given["fewest"])
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return _read_carried(None)
    own = given.get("own")  # files of earlier versions have none
    return {"turn": turn, "passes": passes, "fewest": fewest, "counts": counts, "own": own}


def _excess(gap: float) -> float:
    """Return (P - D) / D for a relative gap; inf if D is not above 0."""
    return gap / (1.0 - gap) if gap < 1.0 else math.inf
