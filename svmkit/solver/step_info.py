"""The report of a step, from a solver to the loop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class StepInfo(NamedTuple):
    """The solver's report of a step: facts about the new iterate that the solver knows without extra work.

    Attributes
    ----------
    objective : float
        Objective of the problem at the new iterate; nan if the solver does not know it.
    n_support : int
        Number of non-zero weights.
    epochs : float
        Passes over the training set that the step was worth.
    gap : float, default=inf
        Estimate of the relative gap, as the certificate has it unless `in_own_units`; inf if unknown.
    gap_abs : float, default=inf
        Estimate of the gap in units of the objective; inf if unknown.
    sampled : bool, default=False
        The estimates come from a sample of the points, so they may be too small.
    moved : bool, default=True
        The step improved the iterate.
    full : bool, default=False
        The limit on support vectors keeps better points out, and the estimates are for the present support.
    done : bool, default=False
        The solver's own criterion holds, so the solve has converged.
    steps : int, default=1
        Iterations, as the method counts them.
    violation : float, default=inf
        Largest violation of the optimality conditions (the eps of LIBSVM and LIBLINEAR); inf if unknown.
    shrunk : bool, default=False
        Some points are left out, and the estimates are for the remaining points.
    in_own_units : bool, default=False
        `gap` is that of the solver's own objective, relative to it, such as 2 (f - min g) / f of the simplex. The loop
        uses it as the certificate's, or translates it if they differ (`Problem.is_gap_squared`).
    trail : ndarray of float64, shape (n, 5), default=None
        Earlier iterates of a step that took many iterations, for the history: iterations since the step began,
        objective, gap, number of support vectors, kernel values.

    Notes
    -----
    A solver that would need a pass over the data to know its objective reports nan. The loop then certifies the
    iterate from time to time, off the clock, and takes objective and gap from the certificate.

    Examples
    --------
    >>> from svmkit.solver import StepInfo
    >>> StepInfo(objective=1.5, n_support=3, epochs=0.1, gap=1e-2).moved
    True
    """

    objective: float
    n_support: int
    epochs: float
    gap: float = float("inf")
    gap_abs: float = float("inf")
    sampled: bool = False
    moved: bool = True
    full: bool = False
    done: bool = False
    steps: int = 1
    violation: float = float("inf")
    shrunk: bool = False
    in_own_units: bool = False
    trail: np.ndarray | None = None
