"""Dual coordinate descent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from svmkit.errors import InputError
from svmkit.losses.base import PIECEWISE, Family, Loss
from svmkit.problems.base import FREE, NUMBER_OR_FREE, Problem
from svmkit.problems.certificate import Certificate, relative_gap
from svmkit.problems.risks.linear_risk import LinearDual, LinearTubeDual
from svmkit.runtime.threads import thread_count
from svmkit.solver.base import Solver
from svmkit.solver.requirements import Requires
from svmkit.solver.sampler import Draws, Sampler, Shuffled
from svmkit.solver.step_info import StepInfo
from svmkit_coordinate.blocks import Blocks
from svmkit_coordinate.passes import passes
from svmkit_coordinate.workers import Shared, few_points, number_type, shared_passes

ROOM = 4  # a call makes several small passes, until they have visited a quarter of the points
LEAST = 8192  # or this number, for which a call takes longer than its overhead,
MORE = 16  # but no more than a sixteenth of the passes so far, so that a budget of passes is kept
WORTH = 100_000  # values of X in a call below which other threads take longer to wake up than to help
AUTO = "auto"  # for `workers`: MOST if X has PAYS values or more and there are enough threads; else one
MOST = 2  # four need 1.5 to 1.8 times the visits of two
PAYS = 2_000_000  # values of X; below, two workers gain little on free cores and lose a lot on busy ones


class State:
    """State of a solve, which owns beta (m,): v (width,) = sum_i beta_i x_i, and order[:n], the points that take part.

    `values` is the mean number of stored values in a row of X. `thresholds` are the projected gradients beyond which a
    point at a bound is left out, see `passes`. `shared` is None where one worker makes the passes, all of them or
    those since the estimated gap has reached `goal`.
    """

    def __init__(self, problem: LinearDual, beta: np.ndarray, draws: Draws, workers: int | str) -> None:
        self.problem, self.beta, self.draws = problem, beta, draws
        m, entries = problem.m, problem.design.entries
        self.values = entries / m
        self.blocks = Blocks.make(problem) if draws.every else None
        if isinstance(workers, str):
            workers = min(MOST, thread_count()) if draws.every and entries >= PAYS else 1
        worth = workers > 1 and self.blocks is None and entries >= WORTH
        worth = worth and m >= few_points(problem.design, workers) and not problem.is_logistic
        self.shared = Shared.allocate(problem, workers) if worth else None
        # all points, in a random order; drawn several times, since a few points may accidentally be in the order of the
        # data
        self.shuffled = draws.every and any((np.diff(draws()) < 0).any() for _ in range(8))
        self.count, self.goal = 0, draws.goal.gap if draws.goal else 0.0
        self.anew()

    def anew(self) -> None:
        """Compute v and the objective from scratch."""
        self.v = self.problem.weights(self.beta)
        self.objective = -self.problem.dual(self.beta, self.v)
        self.n_support = int(np.count_nonzero(self.beta))
        self.all()

    def all(self) -> None:
        """Make all points take part."""
        m = self.problem.m
        self.order, self.n = np.arange(m, dtype=number_type(m) if self.shared else np.int64), m
        if self.shared and self.shuffled:
            self.draws.rng.shuffle(self.order)
        self.thresholds = np.array([np.inf, -np.inf])


@dataclass(frozen=True)
class DCD(Solver):
    """Dual coordinate descent (Hsieh, Chang, Lin, Keerthi, Sundararajan 2008, Algorithm 3), LIBLINEAR's method.

    Regression is Algorithm 4 of Ho, Lin (2012), with one signed weight a sample.

    An iteration is a pass over the points that take part, each in a fresh random order, or over the points drawn by
    another sampler. With `--sampler full` the order is that of the data, which can take a hundred times as many passes.

    Parameters
    ----------
    loss : str or Loss, default="hinge"
        Any piecewise linear-quadratic loss, or the logistic one.
    bias : float or "free", default=1.0
        Value of the column added for the bias, which is regularised; 0 for no bias. "free" for a bias that is not
        regularised, for which the solver works around a moving centre.
    shrinking : bool, default=True
        Whether points are left out while their weights stay at a bound.
    workers : int or "auto", default="auto"
        Number of workers that share a pass, each with its own part of the points (CoCoA+, Ma et al. 2015;
        `svmkit_coordinate.workers`). The iterates depend on this number, but not on the number of threads. "auto" is 2
        if X has two million values or more, with two threads or more and no sampler, else 1.

    Raises
    ------
    InputError
        If `workers` is neither an integer >= 1 nor "auto".
    """

    name = "dcd"
    problem: ClassVar[type[Problem]] = LinearDual
    regression: ClassVar[type[Problem] | None] = LinearTubeDual
    joint = ("crammer_singer",)
    terms = ("loss", "bias")
    losses = ("hinge", "squared_hinge", *PIECEWISE, Family.LOGISTIC)
    requires = (Requires.LINEAR_KERNEL,)
    monotone: ClassVar[bool] = True
    sampler: ClassVar[Sampler] = Shuffled()
    recheck: ClassVar[int] = 1
    paper = "Hsieh et al. 2008"

    loss: str | Loss = "hinge"
    bias: float | str = field(default=1.0, metadata=NUMBER_OR_FREE)
    shrinking: bool = True
    workers: int | str = field(default=AUTO, metadata={"type": int, "words": (AUTO,)})

    def __post_init__(self) -> None:
        if self.workers != AUTO and (not isinstance(self.workers, int) or self.workers < 1):
            raise InputError(f"workers must be a whole number >= 1 or {AUTO}, not {self.workers!r}")

    def patience(self, m: int) -> int:
        return 20_000

    def joint_solver(self, scheme: str) -> Solver | None:
        if scheme not in self.joint:
            return None
        from svmkit_coordinate.crammer_singer import ClassDescent

        if self.loss != "hinge" or self.workers not in (1, AUTO):
            given = f"loss={self.loss}" if self.loss != "hinge" else f"workers={self.workers}"
            raise InputError(f"Crammer and Singer's problem has the hinge loss and one worker: leave out {given}")
        if self.bias == FREE:
            raise InputError("Crammer and Singer's problem regularises the biases: give bias a number, 0 for none")
        return ClassDescent(bias=self.bias, shrinking=self.shrinking)

    def init(self, problem: LinearDual, start: np.ndarray | None, draws: Draws) -> State:
        """Return the state at `start`, or with all dual weights 0.

        Parameters
        ----------
        problem, start, draws : LinearDual, ndarray or None, Draws
            As for `Solver.init`.

        Raises
        ------
        InputError
            If several workers are requested and the loss is logistic, or a sampler draws only some of the points.
        """
        if self.workers not in (1, AUTO) and problem.is_logistic:
            raise InputError("workers share passes with piecewise losses, not with the logistic one: set workers=1")
        if self.workers not in (1, AUTO) and not draws.every:
            raise InputError("workers share passes over all points: leave out the sampler, or set workers=1")
        return State(problem, np.zeros(problem.m) if start is None else start.copy(), draws, self.workers)

    def step(self, state: State) -> StepInfo:
        p, d, every = state.problem, state.problem.design, state.draws.every
        if not every:
            state.order = state.draws().copy()
            state.n = state.order.size
        n, shared = state.n, state.shared
        shrunk = every and n < p.m
        room, most = (max(p.m // ROOM, LEAST), 1 + state.count // MORE) if shrunk else (0, 1)
        given = state.beta, state.v, state.thresholds, self.shrinking and every
        rng = state.draws.rng
        if state.blocks is not None:
            made = state.blocks.passes(state.order, n, *given, rng if state.shuffled else None, (room, most))
        elif shared and n >= shared.few and max(n, room) * state.values >= WORTH:
            shared.seeds[:] = rng.integers(1, 2**63, len(shared.seeds)) if state.shuffled else 0
            made = shared_passes(d, state.order, n, *given, (room, most), shared)
        else:
            seed = np.uint64(rng.integers(1, 2**63) if state.shuffled else 0)
            points = p.points  # several workers use a form of their own
            state.order = state.order[:n].astype(np.int64, copy=False)  # several workers store it differently
            made = passes(d.rows, d.bias, points.rows, state.order, n, *given, seed, room, most, points.below)
        last, count, looks, gain, born = made
        state.n, state.count = last.n, state.count + count
        state.objective -= gain
        state.n_support += born
        gap = last.gap if every else last.gap * p.m / n
        relative = relative_gap(gap, -state.objective)
        if relative <= state.goal:
            state.shared = None  # at the end of a pass of several workers P exceeds the estimate, and would be refused
        moved = gain > 0.0
        if state.n == 0 or (shrunk and not moved):
            state.all()
        return StepInfo(
            state.objective,
            state.n_support,
            looks / p.m,
            gap=relative,
            gap_abs=gap,
            sampled=not every,
            moved=moved,
            steps=count,
            violation=max(last.top - last.low, 0.0),
            shrunk=shrunk,
        )

    def solution(self, state: State) -> np.ndarray:
        return state.beta.copy()

    def reactivate(self, state: State) -> None:
        state.all()

    def resync(self, state: State, certificate: Certificate) -> None:
        state.anew()
