"""The result of a solve on the device, and a profile of its time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import torch

from svmkit.problems.base import Problem
from svmkit.problems.certificate import Certificate


@dataclass(frozen=True)
class Answer:
    """The point (m,) of a problem, its certificate, the numbers of SMO steps and of spectral steps, the decision values
    (n,) of all rows without the bias, if requested, and the problem, if it was posed.
    """

    beta: np.ndarray
    certificate: Certificate
    steps: int
    spectral: int
    decision: np.ndarray | None = None
    problem: Problem | None = None


@dataclass
class Profile:
    """Seconds and counts of the parts of a solve, by name; with `exact`, timing waits for the device."""

    device: torch.device
    exact: bool = False
    seconds: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    rounds: list[tuple[float, int]] = field(default_factory=list)  # relative gap and size of the set before

    @contextmanager
    def timing(self, name: str) -> Iterator[None]:
        """Add the time of the block to the seconds of `name`."""
        self._wait()
        began = time.perf_counter()
        try:
            yield
        finally:
            self._wait()
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - began

    def count(self, name: str, n: int) -> None:
        """Add n to the count of `name`."""
        self.counts[name] = self.counts.get(name, 0) + n

    def _wait(self) -> None:
        if self.exact and self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
