"""SMO with second-order working sets."""

from __future__ import annotations

from dataclasses import dataclass

from svmkit_decomposition.decomposition import Pairwise


@dataclass(frozen=True)
class SMO(Pairwise):
    """SMO with second-order working sets (Fan, Chen, Lin 2005, WSS 2), LIBSVM's method, with shrinking.

    Parameters
    ----------
    loss : str, default="hinge"
        "hinge" or "squared_hinge".
    shrinking : bool, default=True
        Whether points are left out while their weights stay at a bound.
    """

    name = "smo"
    paper = "Fan, Chen, Lin 2005"

    loss: str = "hinge"
    shrinking: bool = True
