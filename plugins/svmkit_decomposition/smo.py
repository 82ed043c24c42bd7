"""SMO with second-order working sets."""

from __future__ import annotations

from dataclasses import dataclass

from svmkit.losses.base import Loss
from svmkit_decomposition.decomposition import Pairwise


@dataclass(frozen=True)
class SMO(Pairwise):
    """SMO with second-order working sets (Fan, Chen, Lin 2005, WSS 2), LIBSVM's method, with shrinking.

    Parameters
    ----------
    loss : str or Loss, default="hinge"
        Any piecewise linear-quadratic loss.
    shrinking : bool, default=True
        Whether points are left out while their weights stay at a bound.
    """

    name = "smo"
    shares_folds = True
    runs_on_device = True
    paper = "Fan, Chen, Lin 2005"

    loss: str | Loss = "hinge"
    shrinking: bool = True
