"""Every step-th point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from svmkit.solver import InputError, Sampler


@dataclass(frozen=True)
class Stride(Sampler):
    """Every `step`-th point from a moving offset: `stride:7` has looked at all points after seven draws."""

    name: ClassVar[str] = "stride"

    step: int = 7

    def __post_init__(self) -> None:
        if not isinstance(self.step, int) or self.step < 1:
            raise InputError(f"stride's step must be a whole number >= 1, not {self.step!r}")

    def draws(self, y, rng):
        offsets = min(self.step, len(y))
        offset = int(rng.integers(offsets))
        while True:
            yield np.arange(offset, len(y), self.step)
            offset = (offset + 1) % offsets
