"""A limit in seconds that several subproblems share."""

from __future__ import annotations

import math

import numpy as np

from svmkit.solver.stopping import Criterion, Seconds, Stop


class TimeBudget:
    """The seconds that one call with these stop rules may take; `left` is inf without a limit.

    Each class pair gets a share of the remaining time in proportion to its size, so that time left by easy pairs goes
    to the pairs after them, and then to those that had to stop (`Trainer.run`).
    """

    def __init__(self, stop: Criterion | Stop | None) -> None:
        rules = Stop(()) if stop is None else stop if isinstance(stop, Stop) else Stop((stop,))
        self._rules, self.left = None if stop is None else rules.criteria, rules.least(Seconds)

    def take(self, seconds: float) -> None:
        """Subtract seconds spent."""
        self.left -= seconds

    def rules(self, share: float, spent: float = 0.0) -> Criterion | Stop | None:
        """Return the stop rules of a class pair that may take `share` seconds after `spent` in earlier calls."""
        if self._rules is None or math.isinf(self.left):
            return None if self._rules is None else Stop(self._rules)
        seconds = Seconds(spent + max(share, 1e-9))
        return Stop(tuple(seconds if isinstance(rule, Seconds) else rule for rule in self._rules))


def rests(sizes: np.ndarray) -> np.ndarray:
    """Return the sum of the sizes from each position to the end."""
    return sizes[::-1].cumsum()[::-1]
