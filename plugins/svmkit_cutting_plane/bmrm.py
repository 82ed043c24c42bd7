"""The bundle method for regularised risk minimisation."""

from __future__ import annotations

from dataclasses import dataclass

from svmkit_cutting_plane.cutting_plane import CuttingPlane


@dataclass(frozen=True)
class BMRM(CuttingPlane):
    """Bundle method for regularised risks, BMRM (Teo, Vishwanathan, Smola, Le 2010, JMLR 11).

    Each cut is made at the minimum w_t of the model and all cuts are kept. epsilon_t = min_i J(w_i) - J_t(w_t), the gap
    in units of the objective, never rises. The parameters are those of `CuttingPlane`.
    """

    name = "bmrm"
    paper = "Teo et al. 2010"
