"""The result of training one subproblem, and the saver of its progress."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from svmkit.problems.base import DecisionFunction
from svmkit.solver.history import History
from svmkit.solver.loop.iterate import Progress
from svmkit.solver.solution import Solution
from svmkit.training.checkpoint import Slot


class Part(NamedTuple):
    """The result of training one subproblem.

    Attributes
    ----------
    solution : Solution
        How the solve ended, with its certificate.
    decision : DecisionFunction
        The decision function over the rows of X that are support vectors.
    kernel_values : int
        The number of kernel values that were computed.
    seconds : float
        The time of training, measurements on held-out rows excluded.
    around : float, default=0.0
        The part of `seconds` that was not spent on steps.
    progress : Progress or None, default=None
        What another solve needs to continue; None unless the limit in seconds ended this one.
    """

    solution: Solution
    decision: DecisionFunction
    kernel_values: int
    seconds: float
    around: float = 0.0
    progress: Progress | None = None

    def continued(self, later: Part) -> Part:
        """Return this result continued by `later`: the better of the two, and the effort of both."""
        first, last = self.solution, later.solution
        gaps = first.certificate.gap, last.certificate.gap
        kept = self if None not in gaps and gaps[0] < gaps[1] else later  # type: ignore[operator]
        solution = replace(
            last,
            point=kept.solution.point,
            certificate=kept.solution.certificate,
            history=History([*first.history, *last.history]),
        )
        values, seconds = self.kernel_values + later.kernel_values, self.seconds + later.seconds
        return Part(solution, kept.decision, values, seconds, later.around, later.progress)


class Saved:
    """The saver of one solve: it keeps the last progress, and passes it on to a checkpoint if there is one."""

    def __init__(self, slot: Slot | None) -> None:
        self.slot, self.last = slot, slot.progress if slot else None

    def due(self, seconds: float) -> bool:
        """Return whether it is time to write to the checkpoint."""
        return self.slot is not None and self.slot.due(seconds)

    def save(self, progress: Progress) -> None:
        """Keep the progress."""
        self.last = progress
        if self.slot is not None:
            self.slot.save(progress)
