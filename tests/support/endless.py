"""A plugin file: Frank-Wolfe, which leaves a file in the working directory as soon as it has taken a step."""

from dataclasses import dataclass
from pathlib import Path

from svmkit_frank_wolfe.fw import FW

STEPPED = "stepped"  # the file
ENDLESS = ("--plugin", __file__, "--solver", "endless", "--tol", "1e-9", "--max-iter", "100000000", "--no-track")


@dataclass(frozen=True)
class Endless(FW):
    """Frank-Wolfe, whose gap falls like O(1/k): a tolerance of 1e-9 keeps it busy for ever."""

    name = "endless"

    def step(self, state):
        info = super().step(state)
        Path(STEPPED).touch()
        return info
