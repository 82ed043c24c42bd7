"""SMO for the squared hinge loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from svmkit.problems.base import Problem
from svmkit_decomposition.decomposition import Pairwise


@dataclass(frozen=True)
class SMOL2(Pairwise):
    """SMO for the squared hinge (Fan, Chen, Lin 2005, WSS 2, no upper bounds, 1/(2C) on the diagonal).

    This is the SMO-L2 of the SFW paper.

    Parameters
    ----------
    shrinking : bool, default=True
        Whether points are left out while their weights stay at 0.
    """

    name = "smol2"
    further: ClassVar[tuple[type[Problem], ...]] = ()
    losses = ("squared_hinge",)
    paper = "Fan, Chen, Lin 2005"
    loss: ClassVar[str] = "squared_hinge"

    shrinking: bool = True
