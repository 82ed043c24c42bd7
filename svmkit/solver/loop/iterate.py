"""The iterate of a solve: the solver's state, the effort spent so far, and the last certificate."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from svmkit.errors import InputError
from svmkit.problems.base import Problem
from svmkit.problems.certificate import Certificate
from svmkit.solver.base import Solver
from svmkit.solver.loop.estimate import Estimate
from svmkit.solver.sampler import Draws
from svmkit.solver.step_info import StepInfo


class Progress(NamedTuple):
    """The data that a solve needs to continue an earlier solve.

    Attributes
    ----------
    point : ndarray
        The iterate, a feasible point of the problem.
    n_iter : int, default=0
        Iterations so far.
    epochs : float, default=0.0
        Passes over the training set so far.
    seconds : float, default=0.0
        Time in the loop so far, evaluation excluded.
    rng_state : dict or None, default=None
        State of NumPy's bit generator; None starts from the seed.
    carried : dict or None, default=None
        The data that the solver needs besides the point (`Solver.carry`).

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit.solver import Progress
    >>> Progress(np.zeros(3), n_iter=10).epochs
    0.0
    """

    point: np.ndarray
    n_iter: int = 0
    epochs: float = 0.0
    seconds: float = 0.0
    rng_state: dict | None = None
    carried: dict | None = None


class Iterate:
    """The current iterate of one solver on one problem, whose random choices come from `draws`.

    `n_iter` and `epochs` include those of an earlier solve, `start`. `gap` is the requested certified gap, inf for
    none. InputError if the random state of the start is damaged.
    """

    def __init__(
        self, problem: Problem, solver: Solver, draws: Draws, start: Progress | None = None, gap: float = math.inf
    ) -> None:
        self.problem, self.solver, self._draws = problem, solver, draws
        self.n_iter, self.epochs = (start.n_iter, start.epochs) if start else (0, 0.0)
        self._estimate = Estimate(problem, solver, gap, self.n_iter)
        self.measured: Certificate | None = None  # what `measure` computed at this iterate; the next step discards it
        # where a solve ends that has exceeded a limit on support vectors, instead of the solver's own point
        self.fallen_back: np.ndarray | None = None
        self._point: np.ndarray | None = None  # the solver's point, once it has been requested
        self.is_cut_short = False  # whether a signal has interrupted a certificate
        if start and start.rng_state:
            try:
                self._draws.rng.bit_generator.state = start.rng_state
            except (TypeError, ValueError, KeyError, OverflowError) as error:
                raise InputError(f"the state of the random generator is damaged ({error}): do not resume") from None
        draws.carried = start.carried if start else None
        self.state: Any = self.begin(start.point if start else None)
        draws.carried = None  # data of the earlier solve does not fit another start

    def begin(self, start: np.ndarray | None) -> Any:
        """Return a new state of the solver, at this point of the problem or at the solver's own choice."""
        return self.solver.init(self.problem, start, self._draws)

    def step(self) -> StepInfo:
        self.measured = self._point = None
        info = self.solver.step(self.state)
        self.n_iter += info.steps
        self.epochs += info.epochs
        return self._estimate.refine(info, self.state, self.n_iter)

    def point(self) -> np.ndarray:
        """The iterate as a point of the problem, an array that no step changes."""
        if self.fallen_back is not None:
            return self.fallen_back
        if self._point is None:
            self._point = self.solver.solution(self.state)
        return self._point

    def certify(self) -> Certificate:
        """The certificate of the iterate, computed from scratch on all samples."""
        try:
            certificate = self._certificate_at(self.point())
        except KeyboardInterrupt:
            self.is_cut_short = True
            raise
        self._estimate.learn(certificate)
        return certificate

    def certificate_at_end(self, point: np.ndarray, objective: float) -> Certificate:
        """The certificate of a point of this objective, at which a solve ends.

        Nothing is proven if a signal has interrupted a certificate, unless the objective is not known.
        """
        if not self.is_cut_short:
            try:
                return self._certificate_at(point)
            except KeyboardInterrupt:
                self.is_cut_short = True
        if math.isnan(objective):
            self.is_cut_short = False
            return self._certificate_at(point)
        return self.problem.rough_certificate(point, objective)

    def _certificate_at(self, point: np.ndarray) -> Certificate:
        """The certificate of a point; that of an infeasible one has no D, which would bound nothing."""
        certificate = self.problem.certificate(point)
        reason = self.problem.infeasible(point) if certificate.dual is not None else None
        if reason is None:
            return certificate
        flaw = f"{self.solver.name} is at an infeasible point: {reason}"
        return replace(certificate, dual=None, gap=None, rounding=0.0, flaw=flaw)

    def measure(self, info: StepInfo) -> StepInfo:
        """Complete the report of a solver that does not know its objective, from a certificate."""
        self.measured = certificate = self.certify()
        self.problem.raise_bound(certificate)
        P, D, gap = certificate.primal, certificate.dual, certificate.gap
        info = info._replace(objective=P)
        return info if gap is None or D is None else info._replace(gap=gap, gap_abs=P - D)

    def progress(self, seconds: float) -> Progress:
        """Return a snapshot from which another solve can continue."""
        carried = self.solver.carry(self.state)
        return Progress(self.point(), self.n_iter, self.epochs, seconds, self._draws.rng_state, carried)
