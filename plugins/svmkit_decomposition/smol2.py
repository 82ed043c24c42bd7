"""SMO for the squared hinge loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from svmkit.losses.base import Family, Loss
from svmkit.problems.base import Problem
from svmkit_decomposition.decomposition import Pairwise


@dataclass(frozen=True)
class SMOL2(Pairwise):
    """SMO for the squared hinge (Fan, Chen, Lin 2005, WSS 2, no upper bounds, 1/(2C) on the diagonal).

    This is the SMO-L2 of the SFW paper.

    Parameters
    ----------
    loss : str or Loss, default="squared_hinge"
        Any loss whose dual has a ridge.
    shrinking : bool, default=True
        Whether points are left out while their weights stay at 0.
    """

    name = "smol2"
    further: ClassVar[tuple[type[Problem], ...]] = ()
    losses = ("squared_hinge", Family.RIDGED, Family.SMOOTH)
    paper = "Fan, Chen, Lin 2005"

    loss: str | Loss = "squared_hinge"
    shrinking: bool = True
