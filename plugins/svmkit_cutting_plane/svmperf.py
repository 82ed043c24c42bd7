"""SVMperf's cutting plane."""

from __future__ import annotations

from dataclasses import dataclass

from svmkit.errors import InputError
from svmkit_cutting_plane.bundle import Bundle
from svmkit_cutting_plane.cutting_plane import CuttingPlane


@dataclass(frozen=True)
class SVMPerf(CuttingPlane):
    """SVMperf, 1-slack cutting plane (Joachims 2006, Training linear SVMs in linear time, Algorithm 1).

    A round adds the most violated of the 2^m constraints, c_i = 1 where y_i h(x_i) < 1, of the structural form with one
    slack xi for all samples. `--stop kkt:1e-3` ends by the violation of that constraint, as the paper does. The other
    parameters are those of `CuttingPlane`.

    Parameters
    ----------
    inactive : int, default=50
        A constraint that was not active for more than this number of rounds is removed, as in SVMperf; 0 keeps all.

    Raises
    ------
    InputError
        If `inactive` is not an integer >= 0.
    """

    name = "svmperf"
    paper = "Joachims 2006"

    inactive: int = 50

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.inactive, int) or self.inactive < 0:
            raise InputError(f"inactive must be a whole number of rounds >= 0 (0: never), not {self.inactive!r}")

    def forget(self, bundle: Bundle) -> None:
        if self.inactive:
            bundle.forget(self.inactive)
