"""SMO on a growing working set."""

from __future__ import annotations

from dataclasses import dataclass

from svmkit.losses.base import PIECEWISE, Loss
from svmkit.problems.box import BoxQP
from svmkit.problems.nu_dual import NuQP
from svmkit.problems.one_class import OneClassQP
from svmkit.problems.tube import TubeQP
from svmkit.solver.smo import box as smo_box
from svmkit_corrective.corrective_state import CorrectiveState, StandardForm
from svmkit_corrective.driver import Corrective
from svmkit_corrective.nu_rounds import NuRounds
from svmkit_corrective.rounds import Rounds


@dataclass(frozen=True)
class FCSMO(Corrective):
    """Fully corrective SMO, on a working set that grows by many points a round (Fan, Chen, Lin 2005, WSS 2).

    Parameters
    ----------
    loss : str or Loss, default="hinge"
        Any piecewise linear-quadratic loss.
    growth : float, default=0.3
        As for `Corrective`.
    first, inner : optional
        As for `Corrective`.
    """

    name = "fcsmo"
    problem = BoxQP
    further = (OneClassQP, NuQP)
    regression = TubeQP
    terms = ("loss",)
    losses = ("hinge", "squared_hinge", *PIECEWISE)
    shares_folds = True
    runs_on_device = True
    paper = "Fan, Chen, Lin 2005"

    loss: str | Loss = "hinge"
    growth: float = 0.3

    def begin(self, problem, start, draws) -> Rounds:
        """Return the state at `start`, or at the first feasible point of the problem.

        Parameters
        ----------
        problem, start, draws : Problem, ndarray or None, Draws
            As for `Solver.init`.
        """
        point = problem.first_point() if start is None else start.copy()
        if isinstance(problem, NuQP):
            return NuRounds(problem, point)
        given = problem.signs, problem.lower, problem.upper, problem.origin
        form = StandardForm(*given, None, 0.0, 1.0, kinks=smo_box.l1_part(problem))
        return CorrectiveState(problem, form, point, draws)
