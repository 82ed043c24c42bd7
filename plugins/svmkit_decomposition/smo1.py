"""SMO with the maximal violating pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from svmkit.losses.base import Loss
from svmkit_decomposition.decomposition import Pairwise


@dataclass(frozen=True)
class SMO1(Pairwise):
    """SMO with the maximal violating pair (Platt 1999; Keerthi, Shevade, Bhattacharyya, Murthy 2001), no shrinking.

    Parameters
    ----------
    loss : str or Loss, default="hinge"
        Any piecewise linear-quadratic loss.
    """

    name = "smo1"
    second: ClassVar[bool] = False
    paper = "Keerthi et al. 2001"

    loss: str | Loss = "hinge"
