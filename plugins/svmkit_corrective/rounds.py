"""The interface between the driver of fully corrective methods and a state, for any geometry of the problem."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum, auto
from typing import Any

import numpy as np

from svmkit.problems.certificate import Certificate, relative_gap
from svmkit.solver.step_info import StepInfo

WORK = 300_000_000  # kernel values that one step may compute: a fraction of a second


class Phase(Enum):
    """The next step of a solve."""

    START = auto()  # add the weights of the start to v, then survey all points
    GROWING = auto()  # v belongs to the iterate: exchange points of the working set, then solve for the set
    SOLVING = auto()  # continue SMO on the working set
    SYNCING = auto()  # add changes of weights to v, and survey all points once v is complete


class Rounds(ABC):
    """The iterate of a fully corrective solve. v is the gradient of all points, in SMO's form."""

    problem: Any
    phase = Phase.START
    n_iter = 0  # SMO steps so far
    level = 0.0  # estimate of the value that v has at all points between their bounds at the optimum
    value = gap = 0.0  # objective of the problem, and absolute gap of all points at the last survey
    inner_goal = 0.0  # gap within the working set at which it counts as solved
    goal = 0.0  # the requested relative gap; 0.0 if it is not known
    relative = before = 1.0  # the relative gaps of all points at the last survey and at the one before

    @property
    @abstractmethod
    def point(self) -> np.ndarray:
        """The iterate as a point (m,) of the problem, a new array."""

    @property
    @abstractmethod
    def n_support(self) -> int:
        """Number of weights that are not 0."""

    # all points

    @property
    @abstractmethod
    def behind(self) -> bool:
        """Whether v lacks the effect of changes of weights."""

    @abstractmethod
    def sync(self) -> None:
        """Compute the effect of the next changes of weights on v, as much as one step may."""

    def rescale(self) -> None:  # noqa: B027  optional
        """Improve the iterate before a report if that costs nothing."""

    def report(self, info: StepInfo) -> StepInfo:
        """Return a report on the iterate in terms of the problem's own point."""
        return info

    @abstractmethod
    def violation(self) -> float:
        """Return the violation of the optimality conditions by the maximal violating pair of all points."""

    @abstractmethod
    def find_level(self) -> float:
        """Return `level` at a survey."""

    @abstractmethod
    def objective(self) -> float:
        """Return the problem's objective, from all points."""

    @abstractmethod
    def total_gap(self) -> float:
        """Return the absolute gap of all points at the best level; inf if it is unknown."""

    def relative_gap(self, gap: float) -> float:
        """Return the relative gap of all points from their absolute one."""
        return relative_gap(gap, -self.value)

    def make_up(self) -> bool:
        """Compute v from scratch if stored values omitted parts of it, once in a solve; return whether they did.

        Later changes are small, and so are their omitted parts.
        """
        return False

    @abstractmethod
    def take(self, certificate: Certificate) -> None:
        """Take over the certificate's exact gradient; note whether rounding errors of v limit the solve."""

    def details(self) -> dict[str, float]:
        """Return further facts about the result, by name."""
        return {}

    def spread(self) -> bool:
        """Move the weights of all points at once if that helps, before `sync`; return whether they moved."""
        return False

    # the working set

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of points in the range of an SMO step."""

    @abstractmethod
    def grow(self, first: int, growth: float) -> None:
        """Exchange points of the working set, and begin to solve for it; arguments as for `Corrective`."""

    @abstractmethod
    def inner_gap(self) -> float:
        """Return the gap within the working set while it is solved for."""

    @abstractmethod
    def advance(self, most: int) -> tuple[int, float, bool]:
        """Make up to `most` SMO steps; return their number, the change of the objective, and whether none is left."""

    @abstractmethod
    def leave(self) -> None:
        """Take over the working set's weights; v of all points lacks their effect until `sync` has added it."""
